/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Many completions of one kind in a row, which are polled at once: each kind of message, each kind of receive queue. */
#include "roce_cqe.h"

#define RUN 15u /* entries of one kind in a row */

static struct entry
message(const struct rr_end *a, uint8_t op, uint32_t i)
{
	return (struct entry){.qpn = a->qp->qp_num,
			      .imm = 0x81020304 + i * 0x01000001,
			      .from = (i % 2) << 31 | (0x7f000000 & i << 24) | (0xabcdef - i),
			      .sl_vid = (uint16_t)(i << 13 | 0xfff),
			      .rlid = 0x0102,
			      .status = 0xffff,
			      .l4 = 0xff,
			      .index = (uint16_t)(i * 7 % RUN),
			      .len = 0x12345678 + i * 0x101,
			      .op = op};
}

static void
expect_message(const struct rr_end *a, const struct entry *e, bool datagram, const struct ibv_wc *wc)
{
	static const unsigned int flags[] = {IBV_WC_WITH_IMM, 0, IBV_WC_WITH_IMM, IBV_WC_WITH_INV};

	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	assert_int_equal(wc->opcode, e->op == 0 ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
	assert_int_equal(wc->vendor_err, 0);
	assert_int_equal(wc->byte_len, e->len);
	assert_int_equal(wc->qp_num, a->qp->qp_num);
	if (e->op == 3)
		assert_int_equal(wc->invalidated_rkey, e->imm);
	else if (e->op != 1)
		assert_int_equal(wc->imm_data, htobe32(e->imm));
	assert_int_equal(wc->wc_flags, flags[e->op] | (datagram && e->from >> 31 != 0 ? IBV_WC_GRH : 0));
	if (!datagram)
		return;
	assert_int_equal(wc->src_qp, e->from & 0xffffff);
	assert_int_equal(wc->sl, e->sl_vid >> 13);
	assert_int_equal(wc->pkey_index | wc->slid | wc->dlid_path_bits, 0);
}

/* Many of one kind at once: each has its own length, data and origin, also where they go over the ring's end. */
static void
test_runs(void **state)
{
	struct ibv_wc wc[2 * RUN];
	unsigned int ud, round, i;
	struct entry e;
	struct rr_end a;

	for (ud = 0; ud < 2; ud++) {
		open_end(&a, ud != 0 ? IBV_QPT_UD : IBV_QPT_RC);
		for (round = 0; round < 40; round++) {
			for (i = 0; i < 2 * RUN; i++) {
				e = message(&a, (uint8_t)((round + i / RUN) % 4), i);
				qp_of(a.qp)->rq_wrid[(qp_of(a.qp)->rq_tail + i) & qp_of(a.qp)->rq_mask] = 500 + i;
				write_entry(a.cq, i, &e);
			}
			memset(wc, 0x5a, sizeof(wc));
			assert_int_equal(ibv_poll_cq(a.cq, 2 * RUN, wc), 2 * RUN);
			for (i = 0; i < 2 * RUN; i++) {
				e = message(&a, (uint8_t)((round + i / RUN) % 4), i);
				assert_int_equal(wc[i].wr_id, 500 + i);
				expect_message(&a, &e, ud != 0, &wc[i]);
			}
			assert_int_equal(ibv_poll_cq(a.cq, RUN, wc), 0);
		}
		rr_end_free(&a);
	}
}

/* The same of a shared receive queue, whose entries are free again in the order in which they are polled. */
static void
test_shared_runs(void **state)
{
	static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UD};
	struct ibv_srq_init_attr init = {.attr = {.max_wr = RUN, .max_sge = 1}};
	const struct mlx4_roce_srq *s;
	struct ibv_wc wc[RUN];
	unsigned int t, i, op;
	struct entry e;
	struct rr_end a;
	uint32_t at;

	for (t = 0; t < RTE_DIM(types); t++)
		for (op = 0; op < 4; op++) {
			rr_end(&a, 0);
			a.srq = tp_roce_create_srq(rr_pd[0], &init);
			assert_non_null(a.srq);
			s = (const struct mlx4_roce_srq *)(const void *)a.srq;
			rr_qp(&a, types[t], NULL);
			rr_init(&a);
			assert_int_equal(init.attr.max_wr, RUN);
			for (i = 0; i < RUN; i++) {
				assert_int_equal(rr_recv(&a, 64 * i, 64), 0);
				s->wrid[i] = 700 + i;
				e = message(&a, (uint8_t)op, i);
				write_entry(a.cq, i, &e);
			}
			assert_int_equal(rr_recv(&a, 0, 64), ENOMEM);
			at = s->tail;
			memset(wc, 0x5a, sizeof(wc));
			assert_int_equal(ibv_poll_cq(a.cq, RUN, wc), RUN);
			for (i = 0; i < RUN; i++) {
				uint8_t *next = s->wqes + ((size_t)at << s->lg_stride) + 2;

				e = message(&a, (uint8_t)op, i);
				assert_int_equal(wc[i].wr_id, 700 + e.index);
				expect_message(&a, &e, types[t] == IBV_QPT_UD, &wc[i]);
				at = (uint32_t)next[0] << 8 | next[1];
				assert_int_equal(at, e.index);
			}
			for (i = 0; i < RUN; i++)
				assert_int_equal(rr_recv(&a, 64 * i, 64), 0);
			assert_int_equal(rr_recv(&a, 0, 64), ENOMEM);
			rr_end_free(&a);
		}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rr_setup, rr_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {TEST(test_runs), TEST(test_shared_runs)};

	if (rig_eal("mlx4_roce_runs", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-roce-runs", tests, NULL, NULL);
}
