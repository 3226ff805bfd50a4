/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The ends of the provider in software: states, resets, numbers, paths that go, and what is too much. */
#include <errno.h>

#include <rte_mbuf.h>

#include "lib/roce/net/net.h"
#include "lib/roce/soft/sw.h"
#include "pair.h"

static const struct qp_conf rc = {.type = IBV_QPT_RC}, ud = {.type = IBV_QPT_UD};

static void
destroy(struct ibv_qp *a, struct ibv_qp *b)
{
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* --- queue pairs ---------------------------------------------------------------------------------------------------- */

static uint8_t kept[2048];
static uint32_t kept_len;

/* Keeps the last frame over IPv4 of node 1 instead of carrying it. */
static unsigned int
keep(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	if (from != 1 || f[12] != 0x08 || f[13] != 0x00 || m->data_len > sizeof(kept))
		return 1;
	kept_len = m->data_len;
	memcpy(kept, f, kept_len);
	return 0;
}

/* It fails while the application changes it: nothing but reset and error is left, and both are open. */
static void
failed_meanwhile(void **state)
{
	struct ibv_qp_attr to = {.qp_state = IBV_QPS_SQD};
	struct pair *p = *state;
	struct rte_mempool *pool = troce_dev_of(p->n[0].ctx)->conf.pool;

	for (unsigned int reset = 0; reset < 2; reset++) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 8, 0);
		struct ibv_qp *a, *b;
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
		struct ibv_wc wc;

		pair_qps(p, &rc, &a, &b);
		wr.wr.rdma.rkey ^= 1;
		p->wire = keep;
		kept_len = 0;
		pair_post(a, &wr);
		/* The peer's NAK */
		while (kept_len == 0)
			pair_step(p);
		assert_non_null(m);
		memcpy(rte_pktmbuf_append(m, (uint16_t)kept_len), kept, kept_len);
		assert_int_equal(tp_roce_input(p->n[0].ctx, &m, 1), 0);
		assert_int_equal(a->state, IBV_QPS_RTS); /* as its owner knows */
		to.qp_state = IBV_QPS_SQD;
		assert_int_equal(tp_roce_modify_qp(a, &to, IBV_QP_STATE), EINVAL);
		to.qp_state = reset != 0 ? IBV_QPS_RESET : IBV_QPS_ERR;
		assert_int_equal(tp_roce_modify_qp(a, &to, IBV_QP_STATE), 0);
		assert_int_equal(pair_state(a), to.qp_state);
		pair_wait(p, p->n[0].cq, 1, &wc);
		assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
		pair_event(p, 1, IBV_EVENT_QP_ACCESS_ERR);
		p->wire = NULL;
		destroy(a, b);
	}
}

/* A shared queue's owner hears once that a queue pair takes no more of it: when it goes to error, not when it stays there. */
static void
last_of_shared(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct pair *p = *state;
	struct ibv_srq *srq = tp_roce_create_srq(p->n[1].pd, &init);
	const struct qp_conf with = {.type = IBV_QPT_RC, .srq = srq};
	struct ibv_qp *plain = pair_qp(p, 1, &rc), *b = pair_qp(p, 1, &with);

	assert_non_null(srq);
	pair_to_error(plain);
	pair_no_event(p, 1);
	pair_to_error(b);
	assert_ptr_equal(pair_event(p, 1, IBV_EVENT_QP_LAST_WQE_REACHED), b);
	pair_to_error(b);
	pair_run(p, 1);
	pair_no_event(p, 1);
	destroy(plain, b);
	assert_int_equal(tp_roce_destroy_srq(srq), 0);
}

/* What was posted before a reset is not sent after it, and what was received does not count. */
static void
reset_forgets(void **state)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
	int mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;
	struct pair *p = *state;
	struct ibv_qp *q[2];
	struct ibv_wc wc;

	pair_qps(p, &rc, &q[0], &q[1]);
	for (unsigned int i = 0; i < 3; i++) {
		pair_recv(p, 1, q[1], i, 0, 10);
		pair_send(p, 0, q[0], i, 0, 10);
	}
	pair_wait(p, p->n[0].cq, 3, NULL);
	pair_wait(p, p->n[1].cq, 3, NULL);
	pair_recv(p, 1, q[1], 7, 0, 10);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(tp_roce_modify_qp(q[i], &a, IBV_QP_STATE), 0);
		assert_int_equal(tp_roce_modify_qp(q[i], &init, mask), 0);
	}
	pair_recv(p, 1, q[1], 8, 0, 10);
	pair_recv(p, 1, q[1], 9, 0, 10);
	pair_connect(p, q[0], q[1], &rc);
	pair_run(p, 1);
	assert_int_equal(ibv_poll_cq(p->n[1].cq, 1, &wc), 0);
	pair_send(p, 0, q[0], 10, 0, 10);
	pair_wait(p, p->n[0].cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, 10);
	pair_wait(p, p->n[1].cq, 1, &wc);
	assert_int_equal(wc.wr_id, 8);
	pair_run(p, 1);
	assert_int_equal(ibv_poll_cq(p->n[0].cq, 1, &wc), 0);
	assert_int_equal(ibv_poll_cq(p->n[1].cq, 1, &wc), 0);
	destroy(q[0], q[1]);
}

/* A queue that overran fails those who use it, for sending or receiving, and nobody else. */
static void
overrun_spares_others(void **state)
{
	struct pair *p = *state;
	struct ibv_cq *small = tp_roce_create_cq(p->n[0].ctx, 2, NULL, NULL, 0);
	const struct qp_conf sends = {.type = IBV_QPT_RC, .scq = small}, receives = {.type = IBV_QPT_RC, .rcq = small};
	struct ibv_qp *a = pair_qp(p, 0, &sends), *b = pair_qp(p, 1, &rc), *other, *peer,
		      *idle = pair_qp(p, 0, &receives);
	struct ibv_async_event e;
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 8, 0);

	pair_connect(p, a, b, &rc);
	pair_qps(p, &rc, &other, &peer);
	for (int i = 0; i < small->cqe + 1; i++)
		pair_post(a, &wr);
	pair_run(p, 2);
	assert_int_equal(pair_state(a), IBV_QPS_ERR);
	assert_int_equal(pair_state(idle), IBV_QPS_ERR);
	assert_int_equal(pair_state(other), IBV_QPS_RTS);
	pair_post(other, &wr);
	pair_wait(p, p->n[0].cq, 1, NULL);
	while (tp_roce_get_async_event(p->n[0].ctx, &e) == 0)
		tp_roce_ack_async_event(&e);
	destroy(a, b);
	destroy(other, peer);
	assert_int_equal(tp_roce_destroy_qp(idle), 0);
	assert_int_equal(tp_roce_destroy_cq(small), 0);
}

/* A queue pair that is drained says so when it was asked to, once for each time. */
static void
drained_once(void **state)
{
	struct ibv_qp_attr sqd = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1}, rts = {.qp_state = IBV_QPS_RTS};
	const int notify = IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY;
	struct pair *p = *state;
	struct ibv_qp *a, *b;

	pair_qps(p, &rc, &a, &b);
	assert_int_equal(tp_roce_modify_qp(a, &sqd, notify), 0);
	pair_run(p, 1);
	assert_ptr_equal(pair_event(p, 0, IBV_EVENT_SQ_DRAINED), a);
	assert_int_equal(tp_roce_modify_qp(a, &rts, IBV_QP_STATE), 0);
	assert_int_equal(tp_roce_modify_qp(a, &sqd, IBV_QP_STATE), 0);
	pair_run(p, 1);
	pair_no_event(p, 0);
	assert_int_equal(tp_roce_modify_qp(a, &rts, IBV_QP_STATE), 0);
	sqd.en_sqd_async_notify = 0;
	assert_int_equal(tp_roce_modify_qp(a, &sqd, notify), 0);
	pair_run(p, 1);
	pair_no_event(p, 0);
	destroy(a, b);
}

/* In RESET nothing can be posted, of either kind. */
static void
nothing_in_reset(void **state)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};
	struct pair *p = *state;
	struct ibv_qp *qp = pair_qp(p, 0, &rc);
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_SEND, &sge, 0, 8, 0), *bad = NULL;
	struct ibv_recv_wr rr = {.sg_list = &sge, .num_sge = 1}, *rbad = NULL;
	uint64_t refused = pair_stat(p, 0, "refused_work_requests");

	assert_int_equal(tp_roce_modify_qp(qp, &a, IBV_QP_STATE), 0);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	assert_int_equal(ibv_post_recv(qp, &rr, &rbad), EINVAL);
	assert_ptr_equal(rbad, &rr);
	assert_int_equal(pair_stat(p, 0, "refused_work_requests"), refused + 2);
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
}

/* --- completion queues ------------------------------------------------------------------------------------------------ */

/* A small queue that is polled takes any number of completions. One that overran takes none, however it is polled. */
static void
small_queue(void **state)
{
	struct pair *p = *state;
	struct ibv_cq *small = tp_roce_create_cq(p->n[0].ctx, 2, NULL, NULL, 0);
	const struct qp_conf c = {.type = IBV_QPT_RC, .scq = small};
	struct ibv_qp *a = pair_qp(p, 0, &c), *b = pair_qp(p, 1, &rc);
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 8, 0);
	struct ibv_async_event e;
	struct ibv_wc wc[4];

	pair_connect(p, a, b, &rc);
	for (uint64_t i = 0; i < 9; i++) {
		wr.wr_id = i;
		pair_post(a, &wr);
		pair_wait(p, small, 1, wc);
		assert_int_equal(wc[0].wr_id, i);
	}
	assert_int_equal(pair_stat(p, 0, "cq_overflows"), 0);
	for (int i = 0; i < small->cqe + 1; i++)
		pair_post(a, &wr);
	pair_run(p, 2);
	assert_int_equal(pair_stat(p, 0, "cq_overflows"), 1);
	assert_int_equal(ibv_poll_cq(small, 4, wc), small->cqe);
	pair_post(a, &wr);
	pair_run(p, 1);
	assert_true(ibv_poll_cq(small, 4, wc) < 0);
	assert_int_equal(pair_stat(p, 0, "cq_overflows"), 1);
	while (tp_roce_get_async_event(p->n[0].ctx, &e) == 0)
		tp_roce_ack_async_event(&e);
	destroy(a, b);
	assert_int_equal(tp_roce_destroy_cq(small), 0);
}

/* --- paths ---------------------------------------------------------------------------------------------------------- */

static void
move_address(struct pair *p, uint16_t vlan)
{
	struct sockaddr_in a = {.sin_family = AF_INET};

	assert_int_equal(inet_pton(AF_INET, "198.51.100.1", &a.sin_addr), 1);
	assert_int_equal(tp_roce_addr_del(p->n[0].ctx, (struct sockaddr *)&a), 0);
	assert_int_equal(tp_roce_addr_add(p->n[0].ctx, (struct sockaddr *)&a, 24, vlan), 0);
}

/* A path begins at an address on its VLAN: the same one on another VLAN is another source. */
static void
address_moves(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_UD, .net = PAIR_VLAN};
	struct pair *p = *state;
	union ibv_gid gid = pair_gid(p, 1, PAIR_VLAN);
	struct ibv_ah *ah = pair_ah(p, 0, &gid, PAIR_VLAN);
	struct ibv_gid_entry e;
	struct ibv_qp *a, *b;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	pair_qps(p, &c, &a, &b);
	wr = pair_wr(p, 0, IBV_WR_SEND, &sge, 0, 8, 0);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = b->qp_num;
	wr.wr.ud.remote_qkey = 0x1234;
	pair_recv(p, 1, b, 1, 0, 48);
	pair_post(a, &wr);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
	assert_int_equal(pair_stat(p, 0, "no_source_address"), 0);
	move_address(p, 101);
	pair_step(p);
	/* It has the place in the table that it had. */
	assert_int_equal(tp_roce_query_gid_ex(p->n[0].ctx, 1, (uint32_t)p->gid[0][PAIR_VLAN], &e), 0);
	assert_int_equal(e.gid.raw[15], 1);
	assert_int_equal(e.gid.raw[12], 198);
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, NULL);
	assert_int_equal(pair_stat(p, 0, "no_source_address"), 1);
	move_address(p, 100);
	pair_recv(p, 1, b, 2, 0, 48);
	pair_post(a, &wr);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
	assert_int_equal(pair_stat(p, 0, "no_source_address"), 1);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	destroy(a, b);
}

static uint16_t tag;

static unsigned int
see_tag(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	if (from == 0 && ib_get16(f + 12) == 0x8100 && ib_get16(f + 16) == 0x0800)
		tag = ib_get16(f + 14);
	return 1;
}

/* The highest VLAN there is, with the highest priority. */
static void
highest_vlan(void **state)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = RTE_BE32(0xcb007101)};
	union ibv_gid gid = {.raw = {[10] = 0xff, 0xff, 203, 0, 113, 2}};
	struct pair *p = *state;
	struct ibv_ah_attr av = {.is_global = 1, .port_num = 1, .sl = 7};
	struct ibv_qp *a, *b;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_ah *ah;
	uint8_t mac[6];
	int i, rc2;

	assert_int_equal(tp_roce_addr_add(p->n[0].ctx, (struct sockaddr *)&addr, 24, 4094), 0);
	addr.sin_addr.s_addr = RTE_BE32(0xcb007102);
	assert_int_equal(tp_roce_addr_add(p->n[1].ctx, (struct sockaddr *)&addr, 24, 4094), 0);
	for (i = 0; i < (int)TP_ROCE_GIDS; i++) {
		struct ibv_gid_entry e;

		if (tp_roce_query_gid_ex(p->n[0].ctx, 1, (uint32_t)i, &e) == 0 && e.gid.raw[12] == 203 &&
		    e.gid_type == IBV_GID_TYPE_ROCE_V2)
			break;
	}
	assert_true(i < (int)TP_ROCE_GIDS);
	while ((rc2 = tp_roce_resolve(p->n[0].ctx, (uint32_t)i, &gid, mac)) == EINPROGRESS)
		pair_step(p);
	assert_int_equal(rc2, 0);
	av.grh.dgid = gid;
	av.grh.sgid_index = (uint8_t)i;
	ah = tp_roce_create_ah(p->n[0].pd, &av);
	assert_non_null(ah);
	pair_qps(p, &ud, &a, &b);
	wr = pair_wr(p, 0, IBV_WR_SEND, &sge, 0, 8, 0);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = b->qp_num;
	wr.wr.ud.remote_qkey = 0x1234;
	pair_recv(p, 1, b, 1, 0, 48);
	tag = 0;
	p->wire = see_tag;
	pair_post(a, &wr);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
	p->wire = NULL;
	assert_int_equal(tag, 0xeffe);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	destroy(a, b);
}

/* --- the shortest frames ------------------------------------------------------------------------------------------------ */

/* From which length on a frame is taken for one of RoCE, and from which on for a whole one. */
static void
shortest(void **state)
{
	static const struct {
		uint16_t etype;
		uint32_t len;
		const char *counter; /* NULL: it is left to others */
		uint16_t part;       /* flags and offset of a fragment */
	} t[] = {
		/* The first part of a packet says what it is, others do not. */
		{0x0800, 14 + 28 + 16, "ip_fragments", 0x2000},
		{0x0800, 14 + 28 + 16, NULL, 0x2001},
		{0x0800, 14 + 28 + 16, NULL, 0x1000},
		/* A UDP header is there, and behind it not enough. */
		{0x0800, 14 + 27, NULL},
		{0x0800, 14 + 28, "malformed"},
		{0x0800, 14 + 28 + 15, "malformed"},
		{0x0800, 14 + 28 + 16, "invalid_qp"},
		{0x86dd, 14 + 47, NULL},
		{0x86dd, 14 + 48, "malformed"},
		{0x86dd, 14 + 48 + 15, "malformed"},
		{0x86dd, 14 + 48 + 16, "invalid_qp"},
		/* This type is RoCE's alone. */
		{0x8915, 17, NULL},
		{0x8915, 18, "malformed"},
		{0x8915, 14 + 40 + 15, "malformed"},
		{0x8915, 14 + 40 + 16, "invalid_qp"},
	};
	const struct pair_conf pc = {.mtu = 1024, .app_rx = true};
	struct pair *p = pair_open(&pc);
	struct rte_mempool *pool = troce_dev_of(p->n[1].ctx)->conf.pool;
	const union ibv_gid v6 = pair_gid(p, 1, PAIR_V6), v1 = pair_gid(p, 1, PAIR_V1);

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		uint8_t f[128] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}, *ip = f + 14;
		uint64_t before = t[i].counter == NULL ? 0 : pair_stat(p, 1, t[i].counter);
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
		uint32_t sum = 0;
		uint16_t left;

		ib_put16(f + 12, t[i].etype);
		if (t[i].etype == 0x0800) {
			memcpy(ip, "\x45\0\0\0\0\0\x40\0\x09\x11\0\0\xc0\0\2\1\xc0\0\2\2", 20);
			ib_put16(ip + 2, (uint16_t)(t[i].len - 14));
			ib_put16(ip + 6, t[i].part);
			for (unsigned int k = 0; k < 20; k += 2)
				sum += ib_get16(ip + k);
			sum = (sum & 0xffff) + (sum >> 16);
			ib_put16(ip + 10, (uint16_t)~sum);
			ib_put16(ip + 22, 4791);
			ib_put16(ip + 24, (uint16_t)(t[i].len - 34));
		} else {
			ip[0] = 0x60;
			ip[6] = t[i].etype == 0x86dd ? 17 : 0x1b;
			ib_put16(ip + 4, (uint16_t)(t[i].len - 54));
			memcpy(ip + 24, t[i].etype == 0x86dd ? &v6 : &v1, 16);
			if (t[i].etype == 0x86dd) {
				ib_put16(ip + 42, 4791);
				ib_put16(ip + 44, (uint16_t)(t[i].len - 54));
			}
		}
		assert_non_null(m);
		memcpy(rte_pktmbuf_append(m, (uint16_t)t[i].len), f, t[i].len);
		left = tp_roce_input(p->n[1].ctx, &m, 1);
		if (left != (t[i].counter == NULL))
			fail_msg("row %u: %u left", i, left);
		if (left != 0)
			rte_pktmbuf_free(m);
		else if (pair_stat(p, 1, t[i].counter) != before + 1)
			fail_msg("row %u: not %s", i, t[i].counter);
	}
	pair_close(p);
}

/* Packets and octets of a message of three packets, and of the answer to it. */
static void
counted(void **state)
{
	/* Nothing is sent twice on a machine that lets the test wait. */
	const struct qp_conf patient = {.type = IBV_QPT_RC, .timeout = 20};
	struct pair *p = *state;
	struct ibv_qp *a, *b;
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 2500, 0);

	pair_qps(p, &patient, &a, &b);
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, NULL);
	assert_int_equal(pair_stat(p, 0, "tx_packets"), 3);
	assert_int_equal(pair_stat(p, 1, "rx_packets"), 3);
	assert_int_equal(pair_stat(p, 1, "tx_packets"), pair_stat(p, 0, "rx_packets"));
	assert_true(pair_stat(p, 1, "tx_packets") >= 1);
	destroy(a, b);
}

/* --- datagrams ------------------------------------------------------------------------------------------------------ */

static uint32_t psns[4];
static unsigned int num_psns;

static unsigned int
take_psn(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *bth = rte_pktmbuf_mtod(m, uint8_t *) + 42;

	if (from == 0 && m->data_len > 300 && num_psns < RTE_DIM(psns))
		psns[num_psns++] = ib_get24(bth + 9);
	return 1;
}

/* Packet numbers of management datagrams are of 24 bits. */
static void
mad_psn_wraps(void **state)
{
	struct pair *p = *state;
	struct troce_dev *dev = troce_dev_of(p->n[0].ctx);
	struct ibv_ah_attr av = {.is_global = 1, .port_num = 1};
	struct troce_mad mad = {.remote_qpn = 1};

	av.grh.dgid = pair_gid(p, 1, PAIR_V4);
	av.grh.sgid_index = (uint8_t)p->gid[0][PAIR_V4];
	assert_int_equal(troce_path_resolve(dev, &av, 0, 0, &mad.path), 0);
	atomic_store(&((struct rsw_dev *)dev->home)->mad_psn, 0xfffffe);
	num_psns = 0;
	p->wire = take_psn;
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(dev->prov->mad_send(dev, &mad), 0);
		pair_run(p, 1);
	}
	p->wire = NULL;
	assert_int_equal(num_psns, 3);
	assert_int_equal(psns[0], 0xfffffe);
	assert_int_equal(psns[1], 0xffffff);
	assert_int_equal(psns[2], 0);
	assert_int_equal(p->n[1].num_mads, 3);
}

/* A port that has more for itself than it can hold waits with what is for itself, and with nothing else. */
static void
much_for_itself(void **state)
{
	const union ibv_gid gid = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};
	struct pair *p = *state;
	struct rsw_dev *d = troce_dev_of(p->n[0].ctx)->home;
	struct ibv_ah *ah = pair_ah(p, 0, &gid, PAIR_V4);
	struct ibv_qp *a = pair_qp(p, 0, &ud), *peer = pair_qp(p, 1, &ud);
	uint64_t looped = pair_stat(p, 0, "looped"), heard = pair_stat(p, 1, "multicast_received");
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	uint32_t was;

	pair_connect(p, a, peer, &ud);
	assert_int_equal(tp_roce_attach_mcast(peer, &gid, 0), 0);
	wr = pair_wr(p, 0, IBV_WR_SEND, &sge, 0, 8, 0);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = 0x1234;
	/* Without a member of its own the port keeps no copy. */
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, NULL);
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 0, "looped"), looped);
	assert_int_equal(pair_stat(p, 0, "bad_multicast"), 0);
	assert_int_equal(pair_stat(p, 1, "multicast_received"), ++heard);
	assert_int_equal(tp_roce_attach_mcast(a, &gid, 0), 0);
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, NULL);
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 0, "looped"), looped + 1);
	assert_int_equal(pair_stat(p, 1, "multicast_received"), heard + 1);
	/* Full: the copy for the port itself is lost, as datagrams may be; the wire's is not. */
	was = d->loop_tail;
	d->loop_tail = d->loop_head + RSW_LOOP;
	pair_post(a, &wr);
	d->loop_tail = was;
	pair_wait(p, p->n[0].cq, 1, NULL);
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 0, "looped"), looped + 1);
	assert_int_equal(pair_stat(p, 1, "multicast_received"), heard + 2);
	assert_int_equal(tp_roce_detach_mcast(a, &gid, 0), 0);
	assert_int_equal(tp_roce_detach_mcast(peer, &gid, 0), 0);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	destroy(a, peer);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		T(failed_meanwhile), T(last_of_shared),        T(reset_forgets),
		T(mad_psn_wraps),    T(overrun_spares_others), T(drained_once),
		T(nothing_in_reset), T(address_moves),         T(counted),
		T(small_queue),      T(highest_vlan),          cmocka_unit_test(shortest),
		T(much_for_itself),
	};

	return cmocka_run_group_tests_name("roce_sw_ends", tests, NULL, NULL);
}
