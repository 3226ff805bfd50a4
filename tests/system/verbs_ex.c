/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * verbs_ex DEVICE DEVICE GID_INDEX: extended verbs between two ports: completions that are read field by field, requests that are
 * told piece by piece. It is linked with Debian's libibverbs and knows nothing of the libraries here.
 */
#include "verbs_ends.h"

/* --- completions --- */

/* Each field of a datagram's completion and of the second of two in one poll; queues may be used between the polls. */
static const char *
fields(struct end *a, struct end *b)
{
	struct ibv_ah_attr av = av_of(a, b);
	struct ibv_ah *ah = need(ibv_create_ah(a->pd, &av), "address");
	struct ibv_qp_ex *x = a->udx;
	const char *why = NULL;

	memset(a->mem + 100, 0x55, 60);
	post_recv(b, b->ud, 0, GRH + 100, 7);
	post_recv(b, b->ud, 1000, GRH + 100, 8);
	ibv_wr_start(x);
	x->wr_id = 1;
	x->wr_flags = 0;
	ibv_wr_send_imm(x, htobe32(IMM));
	ibv_wr_set_ud_addr(x, ah, b->ud->qp_num, QKEY);
	ibv_wr_set_sge(x, a->mr->lkey, (uintptr_t)a->mem, 100);
	x->wr_id = 2;
	ibv_wr_send(x);
	/* In the other order, and inline. */
	ibv_wr_set_inline_data(x, a->mem + 100, 60);
	ibv_wr_set_ud_addr(x, ah, b->ud->qp_num, QKEY);
	/* Inline data was taken when it was told. */
	for (unsigned int i = 0; i < 200; i++)
		a->mem[i] = (uint8_t)(i + 1);
	if (ibv_wr_complete(x) != 0)
		return "wr_complete";
	for (uint64_t id = 1; id <= 2 && why == NULL; id++)
		why = completed(a, IBV_WC_SEND, id);
	if (why != NULL)
		return why;
	if (!polled(b))
		return "no completion";
	if (b->cq->wr_id != 7 || b->cq->status != IBV_WC_SUCCESS || ibv_wc_read_opcode(b->cq) != IBV_WC_RECV)
		why = "wr_id, status or opcode";
	else if (ibv_wc_read_byte_len(b->cq) != GRH + 100 || be32toh(ibv_wc_read_imm_data(b->cq)) != IMM)
		why = "byte_len or imm_data";
	else if (ibv_wc_read_qp_num(b->cq) != b->ud->qp_num || ibv_wc_read_src_qp(b->cq) != a->ud->qp_num)
		why = "qp_num or src_qp";
	else if (ibv_wc_read_wc_flags(b->cq) != (IBV_WC_GRH | IBV_WC_WITH_IMM) || ibv_wc_read_vendor_err(b->cq) != 0)
		why = "wc_flags or vendor_err";
	else if (ibv_wc_read_slid(b->cq) != 0 || ibv_wc_read_sl(b->cq) != 0 || ibv_wc_read_dlid_path_bits(b->cq) != 0)
		why = "slid, sl or dlid_path_bits";
	if (why == NULL && ibv_req_notify_cq(ibv_cq_ex_to_cq(b->cq), 0) != 0)
		why = "req_notify_cq in a poll";
	for (time_t end = time(NULL) + LIMIT_S; why == NULL && ibv_next_poll(b->cq) == ENOENT;)
		why = time(NULL) > end ? "no second completion" : NULL;
	if (why == NULL &&
	    (b->cq->wr_id != 8 || ibv_wc_read_byte_len(b->cq) != GRH + 60 || ibv_wc_read_wc_flags(b->cq) != IBV_WC_GRH))
		why = "the second completion";
	if (why == NULL && ibv_next_poll(b->cq) != ENOENT)
		why = "a third completion";
	ibv_end_poll(b->cq);
	for (unsigned int i = 0; i < 100 && why == NULL; i++)
		if (b->mem[GRH + i] != (uint8_t)(i + 1) || (i < 60 && b->mem[1000 + GRH + i] != 0x55))
			why = "data";
	done(ibv_destroy_ah(ah), "destroy_ah");
	return why;
}

/* A request that fails; the queue pair goes on when it was reset. */
static const char *
remote_error(struct end *a, struct end *b)
{
	const char *why = NULL;

	ibv_wr_start(a->rcx);
	a->rcx->wr_id = 5;
	a->rcx->wr_flags = 0;
	ibv_wr_rdma_write(a->rcx, b->mr->rkey ^ 0x100, (uintptr_t)b->mem);
	ibv_wr_set_sge(a->rcx, a->mr->lkey, (uintptr_t)a->mem, 64);
	if (ibv_wr_complete(a->rcx) != 0)
		return "wr_complete";
	if (!polled(a))
		return "no completion";
	if (a->cq->status != IBV_WC_REM_ACCESS_ERR || a->cq->wr_id != 5)
		why = ibv_wc_status_str(a->cq->status);
	ibv_end_poll(a->cq);
	again(a, b);
	return why;
}

/* --- requests -------------------------------------------------------------------------------------------------------- */

static const char *
messages(struct end *a, struct end *b)
{
	struct ibv_sge list[3] = {{(uintptr_t)a->mem, 10, a->mr->lkey},
				  {(uintptr_t)a->mem + 100, 20, a->mr->lkey},
				  {(uintptr_t)a->mem + 200, 30, a->mr->lkey}};
	struct ibv_data_buf bufs[6];
	struct ibv_qp_ex *x = a->rcx;
	const char *why = NULL;

	fill(a, b);
	for (unsigned int i = 0; i < 6; i++)
		bufs[i] = (struct ibv_data_buf){a->mem + i * 50, 25};
	post_recv(b, b->rc, 0, 1000, 20);
	post_recv(b, b->rc, 1000, 1000, 21);
	post_recv(b, b->rc, 2000, 1000, 22);
	ibv_wr_start(x);
	x->wr_flags = 0;
	x->wr_id = 10;
	ibv_wr_send(x);
	ibv_wr_set_sge_list(x, 3, list);
	x->wr_id = 11;
	ibv_wr_send_imm(x, htobe32(IMM));
	ibv_wr_set_inline_data_list(x, 6, bufs); /* more pieces than a list may have */
	x->wr_id = 12;
	ibv_wr_send(x);
	ibv_wr_set_sge_list(x, 0, NULL);
	if (ibv_wr_complete(x) != 0)
		return "wr_complete";
	for (uint64_t id = 10; id <= 12 && why == NULL; id++)
		why = completed(a, IBV_WC_SEND, id);
	for (uint64_t id = 20; id <= 22 && why == NULL; id++)
		why = completed(b, IBV_WC_RECV, id);
	if (why != NULL)
		return why;
	if (memcmp(b->mem, a->mem, 10) != 0 || memcmp(b->mem + 10, a->mem + 100, 20) != 0 ||
	    memcmp(b->mem + 30, a->mem + 200, 30) != 0 || b->mem[60] != 0)
		return "data of a list";
	for (unsigned int i = 0; i < 6; i++)
		if (memcmp(b->mem + 1000 + i * 25, a->mem + i * 50, 25) != 0)
			return "inline data of a list";
	return b->mem[1150] == 0 && b->mem[2000] == 0 ? NULL : "more data than was sent";
}

static const char *
remote_memory(struct end *a, struct end *b)
{
	uint64_t there = (uintptr_t)b->mem, word;
	struct ibv_qp_ex *x = a->rcx;
	const char *why = NULL;

	fill(a, b);
	post_recv(b, b->rc, 4000, 100, 30);
	ibv_wr_start(x);
	x->wr_flags = 0;
	x->wr_id = 40;
	ibv_wr_rdma_write(x, b->mr->rkey, there);
	ibv_wr_set_sge(x, a->mr->lkey, (uintptr_t)a->mem, 3000);
	x->wr_id = 41;
	ibv_wr_rdma_write_imm(x, b->mr->rkey, there + 3000, htobe32(IMM));
	ibv_wr_set_inline_data(x, a->mem + 3000, 150);
	x->wr_id = 42;
	ibv_wr_rdma_read(x, b->mr->rkey, there);
	ibv_wr_set_sge(x, a->mr->lkey, (uintptr_t)a->mem + 4000, 3150);
	if (ibv_wr_complete(x) != 0)
		return "wr_complete";
	why = completed(a, IBV_WC_RDMA_WRITE, 40);
	if (why == NULL)
		why = completed(a, IBV_WC_RDMA_WRITE, 41);
	if (why == NULL)
		why = completed(a, IBV_WC_RDMA_READ, 42);
	if (why == NULL)
		why = completed(b, IBV_WC_RECV_RDMA_WITH_IMM, 30);
	if (why != NULL)
		return why;
	if (memcmp(a->mem, b->mem, 3150) != 0 || memcmp(a->mem, a->mem + 4000, 3150) != 0 || b->mem[3150] != 0)
		return "data";

	word = 1000;
	memcpy(b->mem, &word, 8);
	ibv_wr_start(x);
	x->wr_id = 50;
	ibv_wr_atomic_fetch_add(x, b->mr->rkey, there, 34);
	ibv_wr_set_sge(x, a->mr->lkey, (uintptr_t)a->mem, 8);
	x->wr_id = 51;
	ibv_wr_atomic_cmp_swp(x, b->mr->rkey, there, 1034, 7);
	ibv_wr_set_sge(x, a->mr->lkey, (uintptr_t)a->mem + 8, 8);
	if (ibv_wr_complete(x) != 0)
		return "wr_complete of atomics";
	why = completed(a, IBV_WC_FETCH_ADD, 50);
	if (why == NULL)
		why = completed(a, IBV_WC_COMP_SWAP, 51);
	if (why != NULL)
		return why;
	memcpy(&word, a->mem, 8);
	if (word != 1000)
		return "what fetch and add found";
	memcpy(&word, a->mem + 8, 8);
	if (word != 1034)
		return "what compare and swap found";
	memcpy(&word, b->mem, 8);
	return word == 7 ? NULL : "what compare and swap left";
}

/* --- what is taken back, and what is refused ------------------------------------------------------------------------- */

static void
tell_one(struct end *a, uint64_t id, uint32_t len)
{
	a->rcx->wr_id = id;
	a->rcx->wr_flags = 0;
	ibv_wr_send(a->rcx);
	ibv_wr_set_inline_data(a->rcx, a->mem, len);
}

/* More than once around the ring, so that what was taken back is written over. */
static const char *
taken_back(struct end *a, struct end *b)
{
	const char *why = NULL;

	fill(a, b);
	for (unsigned int i = 0; i < 5 * DEPTH && why == NULL; i++) {
		ibv_wr_start(a->rcx);
		tell_one(a, 1, 200);
		tell_one(a, 2, 200);
		if (i % 2 == 0) {
			ibv_wr_abort(a->rcx);
		} else {
			ibv_wr_send(a->rcx); /* without data */
			if (ibv_wr_complete(a->rcx) != EINVAL)
				return "a request without data";
		}
		post_recv(b, b->rc, 0, 300, i);
		ibv_wr_start(a->rcx);
		tell_one(a, i, 4 + i);
		if (ibv_wr_complete(a->rcx) != 0)
			return "wr_complete";
		why = completed(a, IBV_WC_SEND, i);
		if (why == NULL)
			why = completed(b, IBV_WC_RECV, i);
		if (why == NULL && (memcmp(a->mem, b->mem, 4 + i) != 0 || b->mem[4 + i] != 0))
			why = "data";
		memset(b->mem, 0, 300);
	}
	if (why != NULL)
		return why;
	return is_idle(a) && is_idle(b) ? NULL : "a completion of what was taken back";
}

static int
one_of(struct end *a, void (*fill_it)(struct end *))
{
	ibv_wr_start(a->rcx);
	a->rcx->wr_id = 1;
	a->rcx->wr_flags = 0;
	fill_it(a);
	return ibv_wr_complete(a->rcx);
}

static void
too_long_inline(struct end *a)
{
	ibv_wr_send(a->rcx);
	ibv_wr_set_inline_data(a->rcx, a->mem, 5000);
}

static void
huge_inline(struct end *a)
{
	ibv_wr_send(a->rcx);
	ibv_wr_set_inline_data(a->rcx, a->mem, (UINT64_C(1) << 32) + 4);
}

static void
long_inline_list(struct end *a)
{
	struct ibv_data_buf bufs[2] = {{a->mem, 900}, {a->mem, 900}};

	ibv_wr_send(a->rcx);
	ibv_wr_set_inline_data_list(a->rcx, 2, bufs);
}

static void
long_list(struct end *a)
{
	struct ibv_sge list[64] = {{0}};

	ibv_wr_send(a->rcx);
	ibv_wr_set_sge_list(a->rcx, 64, list);
}

static void
data_twice(struct end *a)
{
	tell_one(a, 1, 4);
	ibv_wr_set_inline_data(a->rcx, a->mem, 4);
}

static void
atomic_of_four(struct end *a)
{
	ibv_wr_atomic_fetch_add(a->rcx, 1, 0, 1);
	ibv_wr_set_sge(a->rcx, a->mr->lkey, (uintptr_t)a->mem, 4);
}

static void
address_of_a_connection(struct end *a)
{
	tell_one(a, 1, 4);
	ibv_wr_set_ud_addr(a->rcx, NULL, 1, 1);
}

static const char *
refused_requests(struct end *a, struct end *b)
{
	static void (*const wrong[])(struct end *) = {
		too_long_inline, huge_inline,    long_inline_list,       long_list,
		data_twice,      atomic_of_four, address_of_a_connection};
	static char text[40];

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		int err = one_of(a, wrong[i]);

		snprintf(text, sizeof(text), "request %u: %s", i, strerror(err));
		if (err != EINVAL)
			return text;
	}
	/* The ring is full, and what did not fit took the rest along. */
	ibv_wr_start(a->rcx);
	for (unsigned int i = 0; i < 1000; i++)
		tell_one(a, i, 4);
	if (ibv_wr_complete(a->rcx) != ENOMEM)
		return "a full queue";
	return is_idle(a) && is_idle(b) ? NULL : "a completion of what was refused";
}

static const char *
refused_queues(struct end *a)
{
	struct ibv_cq_init_attr_ex cq = {.cqe = 16, .wc_flags = FIELDS};
	struct ibv_qp_init_attr_ex qp = {
		.send_cq = ibv_cq_ex_to_cq(a->cq),
		.recv_cq = ibv_cq_ex_to_cq(a->cq),
		.cap = {1, 1, 1, 1, 0},
		.qp_type = IBV_QPT_UD,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = a->pd,
	};
	static const uint64_t fields[] = {IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, IBV_WC_EX_WITH_CVLAN,
					  IBV_WC_EX_WITH_FLOW_TAG, IBV_WC_EX_WITH_TM_INFO,
					  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK};
	static const uint64_t ops[] = {IBV_QP_EX_WITH_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_READ, IBV_QP_EX_WITH_BIND_MW,
				       IBV_QP_EX_WITH_TSO, 1u << 12};
	struct ibv_poll_cq_attr attr = {.comp_mask = 1};

	for (unsigned int i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		cq.wc_flags = FIELDS | fields[i];
		if (ibv_create_cq_ex(a->ctx, &cq) != NULL || errno != EOPNOTSUPP)
			return "a field that there is not";
	}
	cq.wc_flags = FIELDS;
	cq.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	cq.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	if (ibv_create_cq_ex(a->ctx, &cq) != NULL || errno != EOPNOTSUPP)
		return "a queue that ignores overruns";
	cq.comp_mask = 0;
	cq.cqe = UINT32_MAX;
	if (ibv_create_cq_ex(a->ctx, &cq) != NULL || errno != EINVAL)
		return "a queue that is too long";
	for (unsigned int i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		qp.send_ops_flags = IBV_QP_EX_WITH_SEND | ops[i];
		if (ibv_create_qp_ex(a->ctx, &qp) != NULL || errno != EOPNOTSUPP)
			return "an operation that datagrams have not";
	}
	qp.send_ops_flags = 0;
	qp.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	if (ibv_create_qp_ex(a->ctx, &qp) != NULL || errno != EINVAL)
		return "no protection domain";
	qp.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE;
	if (ibv_create_qp_ex(a->ctx, &qp) != NULL || errno != EOPNOTSUPP)
		return "a table of queues";
	return ibv_start_poll(a->cq, &attr) == EINVAL ? NULL : "an unknown attribute of a poll";
}

/* --- questions --------------------------------------------------------------------------------------------------------- */

static const char *
device(struct end *a)
{
	struct ibv_device_attr_ex x;
	struct ibv_device_attr old;

	memset(&x, 0xff, sizeof(x));
	done(ibv_query_device(a->ctx, &old), "query_device");
	done(ibv_query_device_ex(a->ctx, NULL, &x), "query_device_ex");
	if (memcmp(&x.orig_attr, &old, sizeof(old)) != 0 || x.device_cap_flags_ex != old.device_cap_flags)
		return "what ibv_query_device() says, too";
	if (x.phys_port_cnt_ex != 1 || x.cq_mod_caps.max_cq_period != UINT16_MAX)
		return "ports or moderation";
	/* Where the card makes segments, it does of raw packets. */
	if (x.tso_caps.supported_qpts != (x.tso_caps.max_tso == 0 ? 0 : 1u << IBV_QPT_RAW_PACKET))
		return "large sends";
	return x.comp_mask == 0 && x.completion_timestamp_mask == 0 && x.odp_caps.general_caps == 0
		       ? NULL
		       : "there is something that there is not";
}

/* Where a neighbour is; and the way back to whom a datagram came from, which its completion and its header tell. */
static const char *
addresses(struct end *a, struct end *b)
{
	struct ibv_ah_attr av = av_of(a, b), back;
	union ibv_gid link_local;
	uint8_t mac[ETHERNET_LL_SIZE];
	struct ibv_ah *ah;
	struct ibv_wc wc = {0};
	const char *why;
	uint16_t vid = 0;

	/* The first GID of a port has its MAC address (RFC 4291, appendix A). */
	done(ibv_query_gid(b->ctx, 1, 0, &link_local), "GID 0");
	if (ibv_resolve_eth_l2_from_gid(a->ctx, &av, mac, &vid) != 0)
		return "ibv_resolve_eth_l2_from_gid";
	if (vid != 0xffff || mac[0] != (link_local.raw[8] ^ 2) || memcmp(mac + 1, link_local.raw + 9, 2) != 0 ||
	    memcmp(mac + 3, link_local.raw + 13, 3) != 0)
		return "the MAC address of the peer";
	av.grh.sgid_index = 99;
	if (ibv_resolve_eth_l2_from_gid(a->ctx, &av, mac, &vid) != -EINVAL)
		return "a GID index that there is not";
	why = fields(a, b);
	if (why != NULL)
		return why;
	wc.wc_flags = IBV_WC_GRH;
	wc.src_qp = a->ud->qp_num;
	done(ibv_init_ah_from_wc(b->ctx, 1, &wc, (struct ibv_grh *)(void *)b->mem, &back), "init_ah_from_wc");
	if (memcmp(&back.grh.dgid, &a->gid, sizeof(a->gid)) != 0 || back.grh.sgid_index != b->index)
		return "the way back";
	ah = need(ibv_create_ah_from_wc(b->pd, &wc, (struct ibv_grh *)(void *)b->mem, 1), "create_ah_from_wc");
	post_recv(a, a->ud, 3000, GRH + 10, 70);
	ibv_wr_start(b->udx);
	b->udx->wr_id = 71;
	b->udx->wr_flags = 0;
	ibv_wr_send(b->udx);
	ibv_wr_set_ud_addr(b->udx, ah, wc.src_qp, QKEY);
	ibv_wr_set_inline_data(b->udx, b->mem, 10);
	if (ibv_wr_complete(b->udx) != 0)
		return "wr_complete";
	why = completed(b, IBV_WC_SEND, 71);
	if (why == NULL)
		why = completed(a, IBV_WC_RECV, 70);
	done(ibv_destroy_ah(ah), "destroy_ah");
	return why;
}

int
main(int argc, char **argv)
{
	struct end a = {0}, b = {0};
	const char *why = NULL;
	unsigned int i;

	if (argc != 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_end(&a, argv[1], atoi(argv[3]), 0);
	/* One thread: no lock. */
	open_end(&b, argv[2], atoi(argv[3]), IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	ud_up(a.ud);
	ud_up(b.ud);
	rc_up(&a, &b);
	rc_up(&b, &a);
	say("device", device(&a));
	say("fields", fields(&a, &b));
	say("fields-back", fields(&b, &a));
	say("addresses", addresses(&a, &b));
	say("messages", messages(&a, &b));
	say("remote-memory", remote_memory(&a, &b));
	say("taken-back", taken_back(&a, &b));
	say("refused-requests", refused_requests(&a, &b));
	say("refused-queues", refused_queues(&a));
	for (i = 0; i < 50 && why == NULL; i++)
		why = remote_error(&a, &b);
	say("remote-errors", why);
	say("messages-after", messages(&b, &a));
	close_end(&a);
	close_end(&b);
	say("closed", NULL);
	return failed != 0;
}
