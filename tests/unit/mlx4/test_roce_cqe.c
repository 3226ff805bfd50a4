/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Completions as a card writes them, byte by byte from the reference, and what the application is told: every syndrome, every
 * kind of receive, where datagrams came from; arming; and the entries of a queue pair that goes away.
 */
#include "ib_rig.h"
#include "roce_cqe.h"

#define SEND 0x40u /* [DP 6.2] of byte 0x1f, beside the opcode */
#define ERROR 0x1eu
#define UNKNOWN_QPN 0x7ffu

/* What a poll left in the consumer record [DP 2.3]. */
static uint32_t
consumer(struct ibv_cq *cq)
{
	return be32toh(cq_of(cq)->dbrec[0]);
}

/* --- errors ------------------------------------------------------------------------------------------------------ */

static const struct {
	uint8_t syndrome;
	enum ibv_wc_status status;
} syndromes[] = {
	{0x01, IBV_WC_LOC_LEN_ERR},    {0x02, IBV_WC_LOC_QP_OP_ERR},   {0x04, IBV_WC_LOC_PROT_ERR},
	{0x05, IBV_WC_WR_FLUSH_ERR},   {0x06, IBV_WC_MW_BIND_ERR},     {0x10, IBV_WC_BAD_RESP_ERR},
	{0x11, IBV_WC_LOC_ACCESS_ERR}, {0x12, IBV_WC_REM_INV_REQ_ERR}, {0x13, IBV_WC_REM_ACCESS_ERR},
	{0x14, IBV_WC_REM_OP_ERR},     {0x15, IBV_WC_RETRY_EXC_ERR},   {0x16, IBV_WC_RNR_RETRY_EXC_ERR},
	{0x22, IBV_WC_REM_ABORT_ERR},  {0x03, IBV_WC_GENERAL_ERR},     {0x24, IBV_WC_GENERAL_ERR},
};

static void
test_syndromes(void **state)
{
	struct entry e = {.op = ERROR, .vendor = 0x9a};
	unsigned int i, send;
	struct ibv_wc wc;
	struct rr_end a;

	open_end(&a, IBV_QPT_RC);
	e.qpn = a.qp->qp_num;
	for (send = 0; send < 2; send++)
		for (i = 0; i < RTE_DIM(syndromes); i++) {
			memset(&wc, 0x5a, sizeof(wc));
			e.op = (uint8_t)(ERROR | (send != 0 ? SEND : 0));
			e.syndrome = syndromes[i].syndrome;
			e.index = (uint16_t)i;
			qp_of(a.qp)->rq_wrid[i] = 100 + i;
			qp_of(a.qp)->slots[i].done.wr_id = 200 + i;
			write_entry(a.cq, 0, &e);
			assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 1);
			assert_int_equal(wc.status, syndromes[i].status);
			assert_int_equal(wc.vendor_err, 0x9a);
			assert_int_equal(wc.wr_id, send != 0 ? 200 + i : 100 + i);
			assert_int_equal(wc.opcode, send != 0 ? IBV_WC_SEND : IBV_WC_RECV);
			assert_int_equal(wc.qp_num, a.qp->qp_num);
			assert_int_equal(wc.wc_flags | wc.byte_len, 0);
		}
	rr_end_free(&a);
}

/* Where an error leaves its queue pair (10.3.1): sends that nobody acknowledges can go on, others cannot. */
static void
test_states(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		enum ibv_qp_state from;
		bool send;
		uint8_t syndrome;
		enum ibv_qp_state to;
	} t[] = {
		{IBV_QPT_RC, IBV_QPS_RTS, true, 0x04, IBV_QPS_ERR},
		{IBV_QPT_RC, IBV_QPS_RTS, false, 0x01, IBV_QPS_ERR},
		{IBV_QPT_UC, IBV_QPS_RTS, true, 0x04, IBV_QPS_SQE},
		{IBV_QPT_UC, IBV_QPS_RTS, false, 0x01, IBV_QPS_ERR},
		{IBV_QPT_UD, IBV_QPS_RTS, true, 0x02, IBV_QPS_SQE},
		{IBV_QPT_UD, IBV_QPS_RTS, false, 0x01, IBV_QPS_ERR},
		{IBV_QPT_UD, IBV_QPS_SQD, true, 0x02, IBV_QPS_ERR},
		{IBV_QPT_UD, IBV_QPS_RTS, true, 0x05, IBV_QPS_RTS},
		{IBV_QPT_RC, IBV_QPS_RTS, false, 0x05, IBV_QPS_RTS},
		{IBV_QPT_UD, IBV_QPS_ERR, true, 0x02, IBV_QPS_ERR},
		{IBV_QPT_UD, IBV_QPS_RESET, true, 0x02, IBV_QPS_RESET},
	};
	struct entry e = {0};
	struct ibv_wc wc;
	struct rr_end a;
	unsigned int i;

	for (i = 0; i < RTE_DIM(t); i++) {
		open_end(&a, t[i].type);
		a.qp->state = t[i].from;
		e.qpn = a.qp->qp_num;
		e.op = (uint8_t)(ERROR | (t[i].send ? SEND : 0));
		e.syndrome = t[i].syndrome;
		write_entry(a.cq, 0, &e);
		assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 1);
		if (a.qp->state != t[i].to)
			fail_msg("row %u: state %d", i, a.qp->state);
		rr_end_free(&a);
	}
}

/* --- what went well ---------------------------------------------------------------------------------------------- */

static void
test_receives(void **state)
{
	static const struct {
		uint8_t op;
		enum ibv_wc_opcode opcode;
		unsigned int flags;
	} t[] = {{1, IBV_WC_RECV, 0},
		 {0, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM},
		 {2, IBV_WC_RECV, IBV_WC_WITH_IMM},
		 {3, IBV_WC_RECV, IBV_WC_WITH_INV}};
	struct entry e = {.imm = 0x01020304, .len = 0x12345, .from = 0x80000000};
	struct ibv_wc wc[4];
	struct rr_end a;
	unsigned int i;

	open_end(&a, IBV_QPT_RC);
	e.qpn = a.qp->qp_num;
	for (i = 0; i < RTE_DIM(t); i++) {
		e.op = t[i].op;
		qp_of(a.qp)->rq_wrid[i] = 0x1000 + i;
		write_entry(a.cq, i, &e);
	}
	memset(wc, 0x5a, sizeof(wc));
	assert_int_equal(ibv_poll_cq(a.cq, 4, wc), 4);
	for (i = 0; i < RTE_DIM(t); i++) {
		assert_int_equal(wc[i].wr_id, 0x1000 + i);
		assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
		assert_int_equal(wc[i].opcode, t[i].opcode);
		assert_int_equal(wc[i].vendor_err, 0);
		assert_int_equal(wc[i].byte_len, 0x12345);
		assert_int_equal(wc[i].qp_num, a.qp->qp_num);
		assert_int_equal(wc[i].wc_flags, t[i].flags);
		/* Immediate data as it came, a key as a number */
		if (t[i].flags == IBV_WC_WITH_IMM)
			assert_int_equal(wc[i].imm_data, htobe32(0x01020304));
		if (t[i].flags == IBV_WC_WITH_INV)
			assert_int_equal(wc[i].invalidated_rkey, 0x01020304);
	}
	rr_end_free(&a);
}

/* Datagrams on Ethernet: the priority of the tag, and none of InfiniBand's fields, which have the sender's address. */
static void
test_ethernet_datagrams(void **state)
{
	struct entry e = {.from = 0xff123456, .sl_vid = 0xa7ff, .rlid = 0x0102, .status = 0xffff, .l4 = 0xff, .op = 1};
	struct ibv_wc wc;
	struct rr_end a;

	open_end(&a, IBV_QPT_UD);
	e.qpn = a.qp->qp_num;
	write_entry(a.cq, 0, &e);
	memset(&wc, 0x5a, sizeof(wc));
	assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 1);
	assert_int_equal(wc.src_qp, 0x123456);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH);
	assert_int_equal(wc.sl, 5);
	assert_int_equal(wc.pkey_index | wc.slid | wc.dlid_path_bits, 0);
	e.from = 0x7f123456;
	e.op = 2;
	write_entry(a.cq, 0, &e);
	assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 1);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	rr_end_free(&a);
}

/* On InfiniBand: LIDs, service level; and good checksums, which take three facts [DP 6.3]. */
static void
test_infiniband_datagrams(void **state)
{
	static const struct {
		uint32_t from;
		uint16_t status;
		uint8_t l4;
		unsigned int flags;
	} t[] = {
		{0x80000000, 0x1040, 0x04, IBV_WC_GRH | IBV_WC_IP_CSUM_OK},
		{0, 0x1440, 0x04, IBV_WC_IP_CSUM_OK},
		{0, 0x0040, 0x04, 0},
		{0, 0x1000, 0x04, 0},
		{0, 0x1040, 0x00, 0},
		{0, 0x1140, 0xfb, 0},
	};
	struct ir_end a;
	struct ibv_wc wc;
	unsigned int i;

	ir_set_pkey(0, 3, 0x8123);
	ir_end(&a, 0, IBV_QPT_UD);
	ir_rts(&a, 3, NULL, 0);
	for (i = 0; i < RTE_DIM(t); i++) {
		const struct entry e = {.qpn = a.qp->qp_num,
					.from = t[i].from | 0x55000abc,
					.sl_vid = 0xb123,
					.rlid = 0x4321,
					.status = t[i].status,
					.l4 = t[i].l4,
					.op = 1};

		memset(&wc, 0x5a, sizeof(wc));
		write_entry(a.cq, 0, &e);
		assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 1);
		assert_int_equal(wc.wc_flags, t[i].flags);
		assert_int_equal(wc.src_qp, 0xabc);
		assert_int_equal(wc.sl, 11);
		assert_int_equal(wc.slid, 0x4321);
		assert_int_equal(wc.dlid_path_bits, 0x55);
		assert_int_equal(wc.pkey_index, 3);
	}
	ir_end_free(&a);
}

/* --- polling ----------------------------------------------------------------------------------------------------- */

/*
 * No more than asked for, in their order, whatever kinds follow each other; those of queue pairs that are gone are passed over.
 * The record says how far the poll came.
 */
static void
test_polls(void **state)
{
	static const struct {
		uint8_t op;
		bool unknown;
	} t[] = {{SEND | 0x0a, false}, {1, false},           {1, true},
		 {2, false},           {SEND | 0x10, false}, {SEND | ERROR, false},
		 {SEND | 0x08, true},  {SEND | 0x1b, false}, {1, false}};
	struct ibv_wc wc[16];
	unsigned int i, want, max;
	struct rr_end a;
	uint32_t begin;
	int n, sum;

	open_end(&a, IBV_QPT_RC);
	for (i = 0; i < 16; i++) {
		qp_of(a.qp)->slots[i].done = (struct mlx4_roce_done){i, IBV_WC_SUCCESS, IBV_WC_SEND};
		qp_of(a.qp)->rq_wrid[i] = i;
	}
	for (max = 1; max < 12; max++) {
		begin = cq_of(a.cq)->ci;
		qp_of(a.qp)->rq_tail = 0;
		for (i = 0, want = 0; i < RTE_DIM(t); i++) {
			const struct entry e = {.qpn = t[i].unknown ? UNKNOWN_QPN : a.qp->qp_num,
						.index = (uint16_t)want,
						.op = t[i].op,
						.len = i};

			want += !t[i].unknown;
			write_entry(a.cq, i, &e);
		}
		assert_int_equal(ibv_poll_cq(a.cq, 0, wc), 0);
		assert_int_equal(consumer(a.cq), begin);
		for (sum = 0; (n = ibv_poll_cq(a.cq, (int)max, wc + sum)) != 0; sum += n)
			assert_true(n == (int)max || sum + n == (int)want);
		assert_int_equal(sum, want);
		assert_int_equal(consumer(a.cq), begin + RTE_DIM(t));
		for (i = 0; i < want; i++) {
			static const uint32_t len[] = {0, 1, 3, 4, 0, 7, 8};
			static const uint64_t id[] = {0, 0, 1, 3, 4, 5, 2};

			assert_int_equal(wc[i].byte_len, len[i]);
			assert_int_equal(wc[i].wr_id, id[i]);
		}
	}
	rr_end_free(&a);
}

/* A send completion frees all requests up to its own: counted modulo 65536 [DP 4.6]. */
static void
test_sends_free_room(void **state)
{
	struct entry e = {.op = SEND | 0x0a};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr at;
	struct ibv_wc wc;
	struct rr_end a;
	unsigned int i, k;
	uint32_t cap;

	open_end(&a, IBV_QPT_UC);
	assert_int_equal(tp_roce_query_qp(a.qp, &at, 0, &init), 0);
	cap = init.cap.max_send_wr;
	e.qpn = a.qp->qp_num;
	qp_of(a.qp)->sq_head = 65530;
	qp_of(a.qp)->sq_tail = 65530;
	for (i = 0; i < 4; i++) {
		for (k = 0; k < (i == 0 ? cap : 3); k++)
			assert_int_equal(rr_send(&a, 0, 8, 0), 0);
		assert_int_equal(rr_send(&a, 0, 8, 0), ENOMEM);
		/* Three of them */
		e.index = (uint16_t)(65532 + 3 * i);
		write_entry(a.cq, 0, &e);
		assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 1);
	}
	/* The card is not to look at what it never had. */
	*qp_of(a.qp)->db = 0;
	rr_state(&a, IBV_QPS_RESET);
	rr_end_free(&a);
}

/* --- arming ------------------------------------------------------------------------------------------------------ */

static void
test_arming(void **state)
{
	struct entry e = {.op = 1};
	struct mlx4_roce_cq *c;
	const uint8_t *door, *rec;
	struct ibv_wc wc;
	struct rr_end a;
	unsigned int sn, solicited;

	open_end(&a, IBV_QPT_RC);
	c = cq_of(a.cq);
	e.qpn = a.qp->qp_num;
	for (sn = 0; sn < 3; sn++) {
		write_entry(a.cq, 0, &e);
		assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 1);
	}
	door = (const uint8_t *)(uintptr_t)mlx4_uar_addr(c->home->hca, c->uar) + 0x20;
	rec = (const uint8_t *)(uintptr_t)c->dbrec;
	for (sn = 1; sn < 6; sn++)
		for (solicited = 0; solicited < 2; solicited++) {
			uint32_t head = (sn & 3) << 28 | (solicited != 0 ? 1u : 2u) << 24;

			atomic_store(&c->arm_sn, sn);
			assert_int_equal(ibv_req_notify_cq(a.cq, (int)solicited), 0);
			assert_int_equal(be32toh(*(const uint32_t *)(const void *)(rec + 4)), head | 3);
			assert_int_equal(be32toh(*(const uint32_t *)(const void *)door), head | c->hw.cqn);
			assert_int_equal(be32toh(*(const uint32_t *)(const void *)(door + 4)), 3);
		}
	/* A sequence number is of the events that came; what a test made up is not the card's. */
	memset((uint8_t *)(uintptr_t)rec + 4, 0, 4);
	memset((uint8_t *)(uintptr_t)door, 0, 8);
	rr_end_free(&a);
}

/* --- entries of a queue pair that is gone ------------------------------------------------------------------------ */

/* Two queue pairs of one queue, from each place of a small ring: the entries of one stay, in their order. */
static void
test_clean(void **state)
{
	struct rr_end a, b;
	struct ibv_wc wc;
	unsigned int at, i, lives;

	for (at = 0; at < 17; at++)
		for (lives = 0; lives < 2; lives++) {
			struct entry e = {.op = 1};

			rr_end(&a, 0);
			assert_int_equal(tp_roce_destroy_cq(a.cq), 0);
			a.cq = tp_roce_create_cq(rr_ctx[0], 7, NULL, NULL, 0);
			assert_non_null(a.cq);
			rr_qp(&a, IBV_QPT_RC, NULL);
			b = a;
			rr_qp(&b, IBV_QPT_RC, NULL);
			rr_init(&a);
			rr_init(&b);
			for (i = 0; i < at; i++) {
				e.qpn = b.qp->qp_num;
				write_entry(a.cq, 0, &e);
				assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 1);
			}
			/* b, a, a, b, b, a, b */
			for (i = 0; i < 7; i++) {
				static const bool is_a[] = {0, 1, 1, 0, 0, 1, 0};

				e.qpn = is_a[i] ? a.qp->qp_num : b.qp->qp_num;
				e.len = 10 + i;
				write_entry(a.cq, i, &e);
			}
			if (lives != 0)
				rr_state(&a, IBV_QPS_RESET);
			else
				assert_int_equal(tp_roce_destroy_qp(a.qp), 0);
			assert_int_equal(consumer(a.cq), at + 3);
			for (i = 0; i < 4; i++) {
				static const uint32_t len[] = {10, 13, 14, 16};

				assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 1);
				assert_int_equal(wc.byte_len, len[i]);
				assert_int_equal(wc.qp_num, b.qp->qp_num);
			}
			assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 0);
			/* The card goes on behind them. */
			e.qpn = b.qp->qp_num;
			write_entry(a.cq, 0, &e);
			assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 1);
			assert_int_equal(tp_roce_destroy_qp(b.qp), 0);
			if (lives == 0)
				a.qp = NULL;
			rr_end_free(&a);
		}
}

/* All entries of a full ring, and none. */
static void
test_clean_all(void **state)
{
	struct entry e = {.op = SEND | 0x0a};
	struct ibv_wc wc;
	struct rr_end a, b;
	unsigned int full, i;

	for (full = 0; full < 2; full++) {
		rr_end(&a, 0);
		assert_int_equal(tp_roce_destroy_cq(a.cq), 0);
		a.cq = tp_roce_create_cq(rr_ctx[0], 3, NULL, NULL, 0);
		rr_qp(&a, IBV_QPT_RC, NULL);
		b = a;
		rr_qp(&b, IBV_QPT_RC, NULL);
		e.qpn = a.qp->qp_num;
		for (i = 0; full != 0 && i < 4; i++)
			write_entry(a.cq, i, &e);
		cq_of(a.cq)->dbrec[0] = htobe32(0x777);
		assert_int_equal(tp_roce_destroy_qp(a.qp), 0);
		assert_int_equal(consumer(a.cq), full != 0 ? 4 : 0x777);
		cq_of(a.cq)->dbrec[0] = htobe32(full != 0 ? 4 : 0);
		assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 0);
		e.qpn = b.qp->qp_num;
		write_entry(a.cq, 0, &e);
		assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 1);
		assert_int_equal(tp_roce_destroy_qp(b.qp), 0);
		a.qp = NULL;
		rr_end_free(&a);
	}
}

/* An entry of a shared queue that nobody polls is free again; a send's index is no entry of it. */
static void
test_clean_shared(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 3, .max_sge = 1}};
	struct entry e = {.index = 1};
	struct rr_end a;
	unsigned int i, send;

	for (send = 0; send < 2; send++) {
		rr_end(&a, 0);
		a.srq = tp_roce_create_srq(rr_pd[0], &init);
		assert_non_null(a.srq);
		rr_qp(&a, IBV_QPT_RC, NULL);
		rr_init(&a);
		for (i = 0; i < init.attr.max_wr; i++)
			assert_int_equal(rr_recv(&a, 64 * i, 64), 0);
		assert_int_equal(rr_recv(&a, 0, 64), ENOMEM);
		e.qpn = a.qp->qp_num;
		e.op = send != 0 ? SEND | 0x0a : 1;
		write_entry(a.cq, 0, &e);
		assert_int_equal(tp_roce_destroy_qp(a.qp), 0);
		a.qp = NULL;
		assert_int_equal(rr_recv(&a, 0, 64), send != 0 ? ENOMEM : 0);
		assert_int_equal(rr_recv(&a, 0, 64), ENOMEM);
		rr_end_free(&a);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rr_setup, rr_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_syndromes),
		TEST(test_states),
		TEST(test_receives),
		TEST(test_ethernet_datagrams),
		cmocka_unit_test_setup_teardown(test_infiniband_datagrams, ir_setup_active, ir_teardown),
		TEST(test_polls),
		TEST(test_sends_free_room),
		TEST(test_arming),
		TEST(test_clean),
		TEST(test_clean_all),
		TEST(test_clean_shared),
	};

	if (rig_eal("mlx4_roce_cqe", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-roce-cqe", tests, NULL, NULL);
}
