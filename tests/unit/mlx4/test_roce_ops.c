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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_send, rr_setup, rr_teardown),
	};

	if (rig_eal("mlx4_roce_ops", "0@0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
