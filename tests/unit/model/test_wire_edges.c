/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Frames on the wire at their edges: a checksum that comes out as 0, bad wires that hold back what has no successor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dp_pair.h"
#include "frames.h"

static const uint8_t *
received(struct fix *f, uint32_t *len)
{
	uint32_t i = f->rx.rci & 63;
	const struct mlx4_cqe *c = rig_poll(f->rx.rcq, 64, &f->rx.rci, f->rx.rcq_rec);

	*len = c == NULL ? 0 : rte_be_to_cpu_32(c->byte_cnt);
	return c == NULL ? NULL : f->rx.bufs + (size_t)i * RIG_BUF;
}

static void
send_it(struct fix *f, uint32_t len, uint32_t flags)
{
	rig_data(&f->tx, 1, f->tx.bufs, len);
	rig_post(&f->tx, MLX4_OP_SEND, 2, MLX4_CTRL_NO_ICRC | MLX4_CTRL_CQE | flags);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
}

/* A UDP sum of 0 would say that there is none: it goes as 0xffff (RFC 768). */
static void
udp_sum_of_nothing(void **state)
{
	struct fix *f = *state;
	uint8_t *p = f->tx.bufs;
	const uint8_t *d;
	uint16_t sum;
	uint32_t len;

	memcpy(p, frame_udp4, sizeof(frame_udp4));
	tpm_store16(p + 40, 0);
	tpm_store16(p + 42, 0);
	/* What the first word must be for the sum of all to be 0xffff. */
	sum = (uint16_t)~plain_sum(17 + 23, p + 26, 8 + 23);
	tpm_store16(p + 42, sum);
	send_it(f, sizeof(frame_udp4), MLX4_CTRL_L4_CSUM);
	d = received(f, &len);
	assert_non_null(d);
	assert_int_equal(tpm_load16(d + 40), 0xffff);
	/* One off, and it is 1 less than nothing. */
	tpm_store16(p + 42, (uint16_t)(sum - 1));
	send_it(f, sizeof(frame_udp4), MLX4_CTRL_L4_CSUM);
	d = received(f, &len);
	assert_non_null(d);
	assert_int_equal(tpm_load16(d + 40), 1);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* A frame that is to change places with its successor waits a millisecond for one, and then no longer. */
static void
swapped_with_nobody(void **state)
{
	const struct tp_impair imp = {.reorder_ppm = 1000000, .seed = 1};
	struct fix *f = *state;
	uint32_t len;

	assert_int_equal(tp_model_impair(f->r.m, 2, &imp), 0);
	send_it(f, 100, 0);
	assert_null(received(f, &len));
	tp_model_set_time(f->r.m, 1000 + 999999);
	tp_model_step(f->r.m, 32);
	assert_null(received(f, &len));
	tp_model_set_time(f->r.m, 1000 + 1000000);
	tp_model_step(f->r.m, 32);
	assert_non_null(received(f, &len));
	assert_int_equal(len, 100);
	/* With one they change places at once. */
	send_it(f, 101, 0);
	send_it(f, 102, 0);
	assert_non_null(received(f, &len));
	assert_int_equal(len, 102);
	assert_non_null(received(f, &len));
	assert_int_equal(len, 101);
}

/* Each frame that is damaged is counted, by what was done to it. */
static void
damage_is_counted(void **state)
{
	struct tp_impair imp = {.corrupt_ppm = 1000000, .seed = 1};
	struct fix *f = *state;
	struct tp_model_stats st;
	uint32_t len;

	assert_int_equal(tp_model_impair(f->r.m, 2, &imp), 0);
	for (unsigned int i = 0; i < 3; i++)
		send_it(f, 100, 0);
	assert_null(received(f, &len));
	tp_model_get_stats(f->r.m, &st);
	assert_int_equal(st.port[1].impair_corrupts, 3);
	assert_int_equal(st.port[1].impair_drops + st.port[1].impair_dups + st.port[1].impair_reorders, 0);
	imp = (struct tp_impair){.drop_ppm = 1000000, .corrupt_ppm = 1000000, .dup_ppm = 1000000, .seed = 1};
	assert_int_equal(tp_model_impair(f->r.m, 2, &imp), 0);
	send_it(f, 100, 0);
	tp_model_get_stats(f->r.m, &st);
	assert_int_equal(st.port[1].impair_corrupts, 3);
	assert_int_equal(st.port[1].impair_drops, 1);
	assert_int_equal(st.port[1].impair_dups, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(udp_sum_of_nothing, up, down),
		cmocka_unit_test_setup_teardown(swapped_with_nobody, up, down),
		cmocka_unit_test_setup_teardown(damage_is_counted, up, down),
	};

	return cmocka_run_group_tests_name("wire_edges", tests, NULL, NULL);
}
