/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Work requests of every kind on the card's queue pairs: what they carry, and what their completions say. */
#include "roce_rig.h"

static void
exchange(struct rr_end *a, struct rr_end *b, uint32_t len, unsigned int flags)
{
	uint32_t head = b->qp->qp_type == IBV_QPT_UD ? 40 : 0;
	struct ibv_wc wc;

	rr_fill(a->mem, len, (uint8_t)len);
	memset(b->mem + 8192, 0, head + len + 1);
	assert_int_equal(rr_recv(b, 8192, head + len), 0);
	if (a->qp->qp_type == IBV_QPT_UD) {
		struct ibv_sge sge = {.addr = (uintptr_t)a->mem, .length = len, .lkey = a->mr->lkey};
		struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = flags};

		wr.wr.ud.ah = a->ah;
		wr.wr.ud.remote_qpn = b->qp->qp_num;
		wr.wr.ud.remote_qkey = RR_QKEY;
		assert_int_equal(rr_post(a, &wr), 0);
	} else {
		assert_int_equal(rr_send(a, 0, len, flags), 0);
	}
	rr_run();
	rr_expect(a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	wc = rr_expect(b, IBV_WC_SUCCESS, IBV_WC_RECV, 8192);
	assert_int_equal(wc.byte_len, head + len);
	assert_int_equal(wc.wc_flags, head != 0 ? IBV_WC_GRH : 0);
	if (head != 0)
		assert_int_equal(wc.src_qp, a->qp->qp_num);
	assert_memory_equal(b->mem + 8192 + head, a->mem, len);
	assert_int_equal(b->mem[8192 + head + len], 0);
	rr_no_wc(a);
	rr_no_wc(b);
}

static void
test_send(void **state)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
	static const uint32_t lengths[] = {1, 3, 17, 64, 1000, 1024, 1025, 5000};
	struct rr_end a, b;
	unsigned int t, i, g;

	for (t = 0; t < RTE_DIM(types); t++)
		for (g = 0; g < RR_GIDS; g++) {
			rr_pair(&a, &b, types[t], g);
			for (i = 0; i < RTE_DIM(lengths); i++) {
				if (types[t] == IBV_QPT_UD && lengths[i] > 1024)
					break;
				exchange(&a, &b, lengths[i], 0);
				exchange(&b, &a, lengths[i], 0);
			}
			rr_end_free(&a);
			rr_end_free(&b);
		}
}

/* --- lists and inline ----------------------------------------------------------------------------------------- */

static void
check_inline(uint32_t len, unsigned int pieces)
{
	const struct ibv_qp_cap caps = {
		.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 8, .max_recv_sge = 8, .max_inline_data = len};
	struct ibv_sge sge[8];
	struct ibv_send_wr wr = {.sg_list = sge, .num_sge = (int)pieces, .send_flags = IBV_SEND_INLINE};
	struct rr_end a, b;
	unsigned int i;

	rr_end(&a, 0);
	rr_end(&b, 1);
	rr_qp(&a, IBV_QPT_RC, &caps);
	rr_qp(&b, IBV_QPT_RC, &caps);
	rr_init(&a);
	rr_init(&b);
	rr_rtr(&a, &b, RR_IPV4_V2);
	rr_rtr(&b, &a, RR_IPV4_V2);
	rr_rts(&a);
	rr_rts(&b);
	rr_fill(a.mem, len, 5);
	/* No key: the card never looks at what lies in the WQE. */
	for (i = 0; i < pieces; i++)
		sge[i] = (struct ibv_sge){.addr = (uintptr_t)a.mem + len * i / pieces,
					  .length = len * (i + 1) / pieces - len * i / pieces,
					  .lkey = UINT32_MAX};
	for (i = 0; i < 9; i++) { /* once round the ring */
		memset(b.mem, 0, len + 1);
		assert_int_equal(rr_recv(&b, 0, len + 1), 0);
		wr.opcode = i % 2 == 0 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE_WITH_IMM;
		wr.wr.rdma.remote_addr = (uintptr_t)b.mem;
		wr.wr.rdma.rkey = b.mr->rkey;
		assert_int_equal(rr_post(&a, &wr), 0);
		rr_run();
		assert_int_equal(rr_poll(&a).status, IBV_WC_SUCCESS);
		assert_int_equal(rr_poll(&b).byte_len, len);
		assert_memory_equal(b.mem, a.mem, len);
		assert_int_equal(b.mem[len], 0);
	}
	rr_end_free(&a);
	rr_end_free(&b);
}

/* Lengths at which a block of the WQE, or a segment in it, is just full. */
static void
test_inline(void **state)
{
	static const uint32_t lengths[] = {1, 15, 16, 28, 29, 43, 44, 45, 64, 88, 89, 104, 105, 164, 400, 884};
	unsigned int i;

	for (i = 0; i < RTE_DIM(lengths); i++) {
		check_inline(lengths[i], 1);
		if (lengths[i] >= 8)
			check_inline(lengths[i], 8);
	}
}

static void
test_lists(void **state)
{
	struct rr_end a, b;
	struct ibv_sge from[2], to[2];
	struct ibv_send_wr wr = {.sg_list = from, .num_sge = 2, .opcode = IBV_WR_SEND_WITH_IMM};
	struct ibv_recv_wr rwr = {.wr_id = 9, .sg_list = to, .num_sge = 2}, *bad;
	struct ibv_wc wc;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV6_V2);
	rr_fill(a.mem, 3000, 1);
	from[0] = (struct ibv_sge){.addr = (uintptr_t)a.mem, .length = 1000, .lkey = a.mr->lkey};
	from[1] = (struct ibv_sge){.addr = (uintptr_t)a.mem + 1000, .length = 2000, .lkey = a.mr->lkey};
	to[0] = (struct ibv_sge){.addr = (uintptr_t)b.mem + 3, .length = 1500, .lkey = b.mr->lkey};
	to[1] = (struct ibv_sge){.addr = (uintptr_t)b.mem + 8192, .length = 4000, .lkey = b.mr->lkey};
	wr.imm_data = htobe32(0x12345678);
	assert_int_equal(ibv_post_recv(b.qp, &rwr, &bad), 0);
	assert_int_equal(rr_post(&a, &wr), 0);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	wc = rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_RECV, 9);
	assert_int_equal(wc.byte_len, 3000);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(wc.imm_data, htobe32(0x12345678));
	assert_memory_equal(b.mem + 3, a.mem, 1500);
	assert_memory_equal(b.mem + 8192, a.mem + 1500, 1500);
	/* Elements without bytes, and no bytes at all */
	from[0].length = to[0].length = 0;
	assert_int_equal(ibv_post_recv(b.qp, &rwr, &bad), 0);
	assert_int_equal(rr_post(&a, &wr), 0);
	wr.num_sge = 0;
	rwr.num_sge = 0;
	assert_int_equal(ibv_post_recv(b.qp, &rwr, &bad), 0);
	assert_int_equal(rr_post(&a, &wr), 0);
	rr_run();
	assert_int_equal(rr_poll(&b).byte_len, 2000);
	assert_int_equal(rr_poll(&b).byte_len, 0);
	assert_memory_equal(b.mem + 8192, a.mem + 1000, 2000);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* Several requests in one call, most of them unsignalled; more than the ring holds at a time. */
static void
test_chains(void **state)
{
	struct rr_end a, b;
	struct ibv_send_wr wr[8], *bad;
	struct ibv_recv_wr rwr[8], *rbad;
	struct ibv_sge sge[8], rsge[8];
	struct ibv_wc wc[16];
	unsigned int round, i;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	for (round = 0; round < 40; round++) {
		for (i = 0; i < 8; i++) {
			a.mem[i] = (uint8_t)(round * 8 + i);
			sge[i] = (struct ibv_sge){.addr = (uintptr_t)a.mem + i, .length = 1, .lkey = a.mr->lkey};
			rsge[i] = (struct ibv_sge){.addr = (uintptr_t)b.mem + i, .length = 1, .lkey = b.mr->lkey};
			wr[i] = (struct ibv_send_wr){.wr_id = round * 8 + i,
						     .next = i == 7 ? NULL : &wr[i + 1],
						     .sg_list = &sge[i],
						     .num_sge = 1,
						     .opcode = IBV_WR_SEND,
						     .send_flags = i == 7 ? IBV_SEND_SIGNALED : 0};
			rwr[i] = (struct ibv_recv_wr){.wr_id = round * 8 + i,
						      .next = i == 7 ? NULL : &rwr[i + 1],
						      .sg_list = &rsge[i],
						      .num_sge = 1};
		}
		assert_int_equal(ibv_post_recv(b.qp, rwr, &rbad), 0);
		assert_int_equal(ibv_post_send(a.qp, wr, &bad), 0);
		rr_run();
		assert_int_equal(ibv_poll_cq(a.cq, 16, wc), 1);
		assert_int_equal(wc[0].wr_id, round * 8 + 7);
		assert_int_equal(ibv_poll_cq(b.cq, 16, wc), 8);
		for (i = 0; i < 8; i++)
			assert_int_equal(wc[i].wr_id, round * 8 + i);
		assert_memory_equal(b.mem, a.mem, 8);
	}
	rr_end_free(&a);
	rr_end_free(&b);
}

/* --- one-sided ------------------------------------------------------------------------------------------------ */

static void
test_write(void **state)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC};
	struct rr_end a, b;
	struct ibv_wc wc;
	unsigned int t;

	for (t = 0; t < RTE_DIM(types); t++) {
		rr_pair(&a, &b, types[t], RR_IPV4_V2);
		rr_fill(a.mem, 9000, 3);
		assert_int_equal(rr_rdma(&a, IBV_WR_RDMA_WRITE, 0, 9000, &b, 11), 0);
		rr_run();
		rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, 0);
		assert_memory_equal(b.mem + 11, a.mem, 9000);
		rr_no_wc(&b);
		assert_int_equal(rr_recv(&b, 60000, 1), 0);
		assert_int_equal(rr_rdma(&a, IBV_WR_RDMA_WRITE_WITH_IMM, 100, 2000, &b, 20000), 0);
		rr_run();
		rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, 100);
		wc = rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM, 60000);
		assert_int_equal(wc.byte_len, 2000);
		assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
		assert_memory_equal(b.mem + 20000, a.mem + 100, 2000);
		rr_end_free(&a);
		rr_end_free(&b);
	}
}

static void
test_read(void **state)
{
	struct rr_end a, b;
	unsigned int i;

	rr_pair(&a, &b, IBV_QPT_RC, RR_VLAN_V2);
	rr_fill(b.mem, 20000, 17);
	for (i = 0; i < 10; i++) /* more than may be under way */
		assert_int_equal(rr_rdma(&a, IBV_WR_RDMA_READ, i * 2000, 2000, &b, i * 2000), 0);
	rr_run();
	for (i = 0; i < 10; i++)
		assert_int_equal(rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RDMA_READ, i * 2000).byte_len, 2000);
	assert_memory_equal(a.mem, b.mem, 20000);
	rr_end_free(&a);
	rr_end_free(&b);
}

static void
test_atomics(void **state)
{
	struct rr_end a, b;
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1};
	uint64_t *word, *old;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV6_V1);
	word = (uint64_t *)(void *)b.mem;
	old = (uint64_t *)(void *)a.mem;
	*word = 41;
	sge = (struct ibv_sge){.addr = (uintptr_t)a.mem, .length = 8, .lkey = a.mr->lkey};
	wr.wr.atomic.remote_addr = (uintptr_t)b.mem;
	wr.wr.atomic.rkey = b.mr->rkey;
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.wr.atomic.compare_add = 1;
	assert_int_equal(rr_post(&a, &wr), 0);
	rr_run();
	assert_int_equal(rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_FETCH_ADD, 0).byte_len, 8);
	assert_int_equal(*old, 41);
	assert_int_equal(*word, 42);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.swap = 100;
	wr.wr.atomic.compare_add = 41;
	assert_int_equal(rr_post(&a, &wr), 0);
	wr.wr.atomic.compare_add = 42;
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_COMP_SWAP, 0);
	assert_int_equal(*word, 42);
	assert_int_equal(rr_post(&a, &wr), 0);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_COMP_SWAP, 0);
	assert_int_equal(*old, 42);
	assert_int_equal(*word, 100);
	/* Nothing but eight bytes */
	sge.length = 4;
	assert_int_equal(rr_post(&a, &wr), EINVAL);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* A fence holds back what follows until what was read is there. */
static void
test_fence(void **state)
{
	struct rr_end a, b;
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_FENCE};

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	rr_fill(b.mem, 4096, 99);
	assert_int_equal(rr_recv(&b, 8192, 4096), 0);
	assert_int_equal(rr_rdma(&a, IBV_WR_RDMA_READ, 0, 4096, &b, 0), 0);
	sge = (struct ibv_sge){.addr = (uintptr_t)a.mem, .length = 4096, .lkey = a.mr->lkey};
	assert_int_equal(rr_post(&a, &wr), 0);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_RDMA_READ, 0);
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	assert_memory_equal(b.mem + 8192, b.mem, 4096);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* --- shared receive queues ------------------------------------------------------------------------------------ */

static void
test_srq(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 10, .max_sge = 3}};
	struct ibv_srq_attr limit = {.srq_limit = 3}, now;
	struct rr_end a[2], b[2];
	unsigned int i;

	rr_pair(&a[0], &b[0], IBV_QPT_RC, RR_IPV4_V2);
	rr_end(&a[1], 0);
	rr_end(&b[1], 1);
	b[1].srq = tp_roce_create_srq(rr_pd[1], &init);
	assert_non_null(b[1].srq);
	assert_in_range(init.attr.max_wr, 10, 100);
	rr_qp(&a[1], IBV_QPT_UC, NULL);
	rr_qp(&b[1], IBV_QPT_UC, NULL);
	rr_init(&a[1]);
	rr_init(&b[1]);
	rr_rtr(&a[1], &b[1], RR_IPV4_V2);
	rr_rtr(&b[1], &a[1], RR_IPV4_V2);
	rr_rts(&a[1]);
	rr_rts(&b[1]);
	assert_int_equal(tp_roce_modify_srq(b[1].srq, &limit, IBV_SRQ_LIMIT), 0);
	/* Three times round, in an order of entries that is not that of the ring. */
	for (i = 0; i < 48; i++) {
		if (i % 4 == 0) {
			unsigned int k;

			for (k = 0; k < 4; k++)
				assert_int_equal(rr_recv(&b[1], (i + k) * 64, 64), 0);
		}
		a[1].mem[0] = (uint8_t)i;
		assert_int_equal(rr_send(&a[1], 0, 64, 0), 0);
		rr_run();
		rr_expect(&a[1], IBV_WC_SUCCESS, IBV_WC_SEND, 0);
		rr_expect(&b[1], IBV_WC_SUCCESS, IBV_WC_RECV, i * 64);
		assert_int_equal(b[1].mem[i * 64], i);
	}
	rr_expect_event(1, IBV_EVENT_SRQ_LIMIT_REACHED, b[1].srq);
	assert_int_equal(tp_roce_query_srq(b[1].srq, &now), 0);
	assert_int_equal(now.srq_limit, 0); /* once */
	/* As many as there is room for */
	for (i = 0; i < init.attr.max_wr; i++)
		assert_int_equal(rr_recv(&b[1], 0, 64), 0);
	assert_int_equal(rr_recv(&b[1], 0, 64), ENOMEM);
	for (i = 0; i < 2; i++) {
		rr_end_free(&a[i]);
		rr_end_free(&b[i]);
	}
}

/* --- datagrams ------------------------------------------------------------------------------------------------ */

static void
test_multicast(void **state)
{
	struct ibv_ah_attr at = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = RR_IPV4_V2, .hop_limit = 1}};
	union ibv_gid group = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct ibv_ah *ah;
	struct rr_end a, b, c;
	unsigned int i;

	rr_pair(&a, &b, IBV_QPT_UD, RR_IPV4_V2);
	rr_end(&c, 1);
	rr_qp(&c, IBV_QPT_UD, NULL);
	rr_init(&c);
	rr_rtr(&c, &a, RR_IPV4_V2);
	at.grh.dgid = group;
	ah = tp_roce_create_ah(rr_pd[0], &at);
	assert_non_null(ah);
	sge = (struct ibv_sge){.addr = (uintptr_t)a.mem, .length = 50, .lkey = a.mr->lkey};
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = RR_QKEY;
	for (i = 0; i < 4; i++) { /* members: none, b, b and c, c */
		if (i == 1)
			assert_int_equal(tp_roce_attach_mcast(b.qp, &group, 0), 0);
		if (i == 2)
			assert_int_equal(tp_roce_attach_mcast(c.qp, &group, 0), 0);
		if (i == 3)
			assert_int_equal(tp_roce_detach_mcast(b.qp, &group, 0), 0);
		assert_int_equal(rr_recv(&b, 0, 90), 0);
		assert_int_equal(rr_recv(&c, 0, 90), 0);
		assert_int_equal(rr_post(&a, &wr), 0);
		rr_run();
		rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
		if (i == 1 || i == 2)
			assert_int_equal(rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_RECV, 0).byte_len, 90);
		if (i >= 2)
			rr_expect(&c, IBV_WC_SUCCESS, IBV_WC_RECV, 0);
		rr_no_wc(&b);
		rr_no_wc(&c);
	}
	assert_int_equal(tp_roce_detach_mcast(c.qp, &group, 0), 0);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	rr_end_free(&a);
	rr_end_free(&b);
	rr_end_free(&c);
}

/* Two queue pairs of one port: the card loops what is for its own address back. */
static void
test_own_port(void **state)
{
	struct rr_end a, b;

	rr_end(&a, 0);
	rr_end(&b, 0);
	rr_qp(&a, IBV_QPT_RC, NULL);
	rr_qp(&b, IBV_QPT_RC, NULL);
	rr_init(&a);
	rr_init(&b);
	rr_rtr(&a, &b, RR_IPV4_V2);
	rr_rtr(&b, &a, RR_IPV4_V2);
	rr_rts(&a);
	rr_rts(&b);
	/* one sequence of numbers for both ends of a port */
	exchange(&a, &b, 3000, 0);
	exchange(&b, &a, 3000, 0);
	rr_end_free(&a);
	rr_end_free(&b);
}

/* The same with the WQE in the BlueFlame register. */
static void
test_blueflame(void **state)
{
	struct rr_end a, b;
	uint32_t len;

	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	assert_int_equal(rr_ctx[0]->num_comp_vectors, 1);
	for (len = 1; len <= 64; len += 9)
		exchange(&a, &b, len, IBV_SEND_INLINE);
	rr_end_free(&a);
	rr_end_free(&b);
}

static int
setup_bf(void **state)
{
	rr_open("bf=1", NULL);
	return 0;
}

static int
setup_cx3(void **state)
{
	const struct tp_roce_conf v2 = {.mode = TP_ROCE_V2};

	rr_open("type=cx3", &v2);
	return 0;
}

/* A card without version 2 uses what it has. */
static void
test_version1_card(void **state)
{
	struct ibv_gid_entry g;
	struct rr_end a, b;
	unsigned int i;

	assert_int_equal(tp_roce_mode_get(rr_ctx[0]), TP_ROCE_V1);
	for (i = 0; tp_roce_query_gid_ex(rr_ctx[0], 1, i, &g) == 0; i++)
		assert_int_equal(g.gid_type, IBV_GID_TYPE_ROCE_V1);
	assert_in_range(i, 3, 4);
	for (; i-- > 0;) {
		rr_pair(&a, &b, IBV_QPT_RC, i);
		exchange(&a, &b, 1000, 0);
		rr_end_free(&a);
		rr_end_free(&b);
	}
}

/* A transmit queue has the last packets until it comes to them, and reads them at its stop: their pool is there until then. */
static void
test_packets_left(void **state)
{
	struct rte_mempool *mp = rte_mempool_lookup("tp_roce_0");

	assert_non_null(mp);
	assert_true(rte_mempool_in_use_count(mp) > 0);
	rr_close_ports();
	assert_ptr_equal(rte_mempool_lookup("tp_roce_0"), mp);
	assert_true(rte_mempool_in_use_count(mp) > 0);
	assert_int_equal(rte_eth_dev_stop(0) | rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_mempool_in_use_count(mp), 0);
	rig_start(0, 1, NULL);
	rig_start(1, 1, NULL);
	/* Whoever comes next to one of these calls takes away what nobody waits for. */
	rr_open_ports(NULL);
	assert_int_equal(rte_eth_dev_stop(0) | rte_eth_dev_stop(1), 0);
	rr_close_ports();
	assert_null(rte_mempool_lookup("tp_roce_0"));
	assert_null(rte_mempool_lookup("tp_roce_1"));
	rig_start(0, 1, NULL);
	rig_start(1, 1, NULL);
	rr_open_ports(NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rr_setup, rr_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_send),
		TEST(test_inline),
		TEST(test_lists),
		TEST(test_chains),
		TEST(test_write),
		TEST(test_read),
		TEST(test_atomics),
		TEST(test_fence),
		TEST(test_srq),
		TEST(test_multicast),
		TEST(test_own_port),
		TEST(test_packets_left),
		cmocka_unit_test_setup_teardown(test_blueflame, setup_bf, rr_teardown),
		cmocka_unit_test_setup_teardown(test_version1_card, setup_cx3, rr_teardown),
	};

	if (rig_eal("mlx4_roce_ops", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
