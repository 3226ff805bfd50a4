/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Wires: cross, loopback, none, the cable, and what a bad wire does to frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dp_pair.h"

static void
send_n(struct fix *f, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		rig_data(&f->tx, 1, f->tx.bufs, 60);
		rig_post(&f->tx, MLX4_OP_SEND, 2, MLX4_CTRL_NO_ICRC);
	}
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 64);
}

/* Frames that arrive out of n that are sent, taken out of the receive queue as they come. */
static unsigned int
through(struct fix *f, unsigned int n)
{
	unsigned int got = 0;

	for (unsigned int i = 0; i < n; i++) {
		send_n(f, 1);
		while (rig_poll(f->rx.rcq, 64, &f->rx.rci, f->rx.rcq_rec) != NULL)
			got++;
		*f->rx.dbrec = rte_cpu_to_be_32((64 + f->rx.rci) & 0xffff);
	}
	return got;
}

static void
impair(struct fix *f, struct tp_impair imp)
{
	imp.seed = 42;
	assert_int_equal(tp_model_impair(f->r.m, 2, &imp), 0);
}

/* Within four standard deviations of 2000 tosses of 0.1 (200 +- 54). */
static void
rates(void **state)
{
	struct fix *f = *state;
	struct tp_model_stats st;
	unsigned int got;

	impair(f, (struct tp_impair){.drop_ppm = 100000});
	got = through(f, 2000);
	assert_in_range(got, 2000 - 254, 2000 - 146);
	tp_model_get_stats(f->r.m, &st);
	assert_int_equal(st.port[1].impair_drops, 2000 - got);
	/* The same seed drops the same frames. */
	impair(f, (struct tp_impair){.drop_ppm = 100000});
	assert_int_equal(through(f, 2000), got);
	impair(f, (struct tp_impair){.dup_ppm = 100000});
	assert_in_range(through(f, 2000), 2146, 2254);
	impair(f, (struct tp_impair){.corrupt_ppm = 100000});
	got = through(f, 2000);
	assert_in_range(got, 2000 - 254, 2000 - 146);
	assert_int_equal(f->r.m->port[1].rx_bad_fcs, 2000 - got);
	impair(f, (struct tp_impair){.symbol_ppm = 100000});
	got = through(f, 2000);
	assert_in_range(got, 2000 - 254, 2000 - 146);
	assert_int_equal(f->r.m->port[1].c.rx_pcs, 2000 - got);
	impair(f, (struct tp_impair){.short_ppm = 100000});
	got = through(f, 2000);
	assert_in_range(got, 2000 - 254, 2000 - 146);
	assert_int_equal(f->r.m->port[1].c.rx_short, 2000 - got);
	impair(f, (struct tp_impair){.short_ppm = 1000000, .corrupt_ppm = 100000});
	assert_int_equal(through(f, 2000), 0);
	assert_in_range(f->r.m->port[1].c.rx_runt, 146, 254);
	assert_int_equal(f->r.m->port[1].c.rx_runt + f->r.m->port[1].c.rx_short, 2000 - got + 2000);
	impair(f, (struct tp_impair){0});
	assert_int_equal(through(f, 100), 100);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

static void
reorder_and_delay(void **state)
{
	struct fix *f = *state;

	impair(f, (struct tp_impair){.reorder_ppm = 1000000});
	f->tx.bufs[20] = 1;
	send_n(f, 1);
	assert_null(rig_poll(f->rx.rcq, 64, &f->rx.rci, f->rx.rcq_rec));
	f->tx.bufs[20] = 2;
	send_n(f, 1);
	assert_int_equal(f->rx.bufs[20], 2);
	assert_int_equal(f->rx.bufs[RIG_BUF + 20], 1);
	impair(f, (struct tp_impair){.delay_us = 100});
	send_n(f, 1);
	assert_int_equal(f->rx.qp->rcq->pi, 2);
	tp_model_set_time(f->r.m, 1000 + 99999);
	tp_model_step(f->r.m, 8);
	assert_int_equal(f->rx.qp->rcq->pi, 2);
	tp_model_set_time(f->r.m, 1000 + 100000);
	tp_model_step(f->r.m, 8);
	assert_int_equal(f->rx.qp->rcq->pi, 3);
}

static void
ranges(void **state)
{
	struct fix *f = *state;

	assert_int_equal(tp_model_impair(f->r.m, 3, &(struct tp_impair){0}), -EINVAL);
	assert_int_equal(tp_model_impair(f->r.m, 1, &(struct tp_impair){.drop_ppm = 1000001}), -EINVAL);
	assert_int_equal(tp_model_impair(f->r.m, 1, &(struct tp_impair){.symbol_ppm = 1000001}), -EINVAL);
	assert_int_equal(tp_model_impair(f->r.m, 1, &(struct tp_impair){.short_ppm = 1000001}), -EINVAL);
	assert_int_equal(tp_model_wire_loopback(f->r.m, 0), -EINVAL);
	assert_int_equal(tp_model_cable(f->r.m, 3, true), -EINVAL);
}

static void
links(void **state)
{
	struct fix *f = *state;
	struct tp_model *m = f->r.m;

	assert_true(m->port[0].link && m->port[1].link);
	tp_model_cable(m, 2, false);
	assert_false(m->port[0].link);
	assert_false(m->port[1].link);
	assert_int_equal(through(f, 3), 0);
	assert_int_equal(m->port[0].c.tx_drop, 3);
	tp_model_cable(m, 2, true);
	assert_int_equal(through(f, 3), 3);
	/* One end of a cross wire alone has no partner. */
	tp_model_wire_none(m, 2);
	assert_false(m->port[0].link);
	tp_model_wire_loopback(m, 1);
	assert_true(m->port[0].link);
	assert_int_equal(rig_rule(&f->r, 1, mac2, 9, &f->rule), MLX4_STAT_OK);
	assert_int_equal(through(f, 5), 5);
}

/* Counters as DUMP_ETH_STATS shows them: sizes with FCS. */
static void
counters(void **state)
{
	struct fix *f = *state;
	struct tpm_port_counters *a = &f->r.m->port[0].c, *b = &f->r.m->port[1].c;

	assert_int_equal(through(f, 10), 10);
	assert_int_equal(a->tx_size[0][MLX4_STATS_NOVLAN], 10);
	assert_int_equal(a->tx_frames[MLX4_STATS_NOVLAN], 10);
	assert_int_equal(a->tx_ucast[MLX4_STATS_NOVLAN], 10);
	assert_int_equal(a->tx_oct[MLX4_STATS_NOVLAN], 640);
	assert_int_equal(b->rx_size[0][MLX4_STATS_NOVLAN], 10);
	assert_int_equal(b->rx_frames[MLX4_STATS_NOVLAN], 10);
	assert_int_equal(b->rx_oct[MLX4_STATS_NOVLAN], 640);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)
	const struct CMUnitTest tests[] = {T(rates), T(reorder_and_delay), T(ranges), T(links), T(counters)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
