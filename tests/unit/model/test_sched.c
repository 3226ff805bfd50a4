/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The transmit scheduler in virtual time: link rate, strict groups, shares, limits of classes and of queues. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* By path: the tests' rig follows it. */
#include "model/cmd/cmd.h"
#include "model/qos/qos.h"

#include "qos_rig.h"

#define MS UINT64_C(1000000)

/* a is b within 1 % */
#define assert_about(a, b) assert_in_range((a), (uint64_t)(b)*99 / 100, (uint64_t)(b)*101 / 100)

static int
up(void **state)
{
	*state = calloc(1, sizeof(struct qos_rig));
	return *state == NULL ? -1 : 0;
}

static int
down(void **state)
{
	struct qos_rig *x = *state;

	rig_close(&x->r);
	free(x);
	return 0;
}

/* While frames wait for their time the card sleeps shortly (thread.c), and no longer than that. */
static void
waits_are_told(void **state)
{
	struct qos_rig *x = *state;

	assert_int_equal(qos_up(x, 1000), 0);
	qos_queue(x, 0, 60, 0);
	qos_time(x, x->now + 1000000);
	assert_false(x->r.m->waits);
	qos_post(x, 0, 4);
	qos_time(x, x->now + 1);
	assert_int_equal(x->tap.n, 1);
	assert_true(x->r.m->waits);
	qos_time(x, x->now + 1000000);
	assert_int_equal(x->tap.n, 4);
	qos_time(x, x->now + 1000000);
	assert_false(x->r.m->waits);
}

/* 60 bytes take 60 + 4 + 20 octets of the wire: 16.8 ns at 40 Gb/s. */
static void
link_rate(void **state)
{
	struct qos_rig *x = *state;
	uint64_t start;

	assert_int_equal(qos_up(x, 40000), 0);
	qos_queue(x, 0, 60, 0);
	assert_true(x->r.m->port[0].tx_managed);
	start = x->now;
	qos_run(x, 16800, 10, 1);
	/* The one that leaves at the beginning, and a thousand. */
	assert_in_range(x->tap.n, 1000, 1001);
	for (uint32_t i = 1; i < 1000; i++)
		assert_in_range(x->tap.log[i].t, start + i * 168 / 10, start + i * 168 / 10 + 20);
	/* Seldom steps do not change it. */
	x->tap.n = 0;
	for (unsigned int i = 0; i < 100; i++) {
		qos_post(x, 0, 256);
		qos_time(x, x->now + 1680);
	}
	assert_in_range(x->tap.n, 9999, 10001);
}

/* What QUERY_PORT says of a port with a rate: codes of the reference, 40 Gb/s for what has none. */
static void
speed(void **state)
{
	static const struct {
		uint32_t mbps;
		uint8_t code;
	} t[] = {{0, 0x40},   {40000, 0x40}, {10000, 0x01}, {1000, 0x02},
		 {100, 0x04}, {20000, 0x08}, {56000, 0x20}, {2500, 0x40}};
	uint8_t out[MLX4_MAILBOX_SIZE];
	struct tpm_cmd c = {.out = out, .in_modifier = 2};
	struct qos_rig *x = *state;

	assert_int_equal(qos_up(x, 0), 0);
	for (unsigned int i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		x->r.m->cfg.rate_mbps[1] = t[i].mbps;
		assert_int_equal(tpm_cmd_query_port(x->r.m, &c), MLX4_STAT_OK);
		assert_int_equal(out[5] & 0x6f, t[i].code & 0x6f);
	}
}

/* Sent frames are counted at the priority of their tag, wherever their queue is. */
static void
counters(void **state)
{
	struct qos_rig *x = *state;

	assert_int_equal(qos_up(x, 0), 0);
	qos_queue(x, 6, 96, 0);
	tpm_store16(x->q[0].bufs + 12, TPM_ETYPE_CVLAN);
	tpm_store16(x->q[0].bufs + 14, 3u << 13 | 5);
	qos_post(x, 0, 7);
	qos_time(x, x->now);
	tpm_store16(x->q[0].bufs + 12, 0x88b5);
	qos_post(x, 0, 5);
	qos_time(x, x->now);
	assert_int_equal(qos_counter(x, 1, 0, MLX4_STATS_TX_FRAMES(3)), 7);
	assert_int_equal(qos_counter(x, 1, 0, MLX4_STATS_TX_TAGGED(3)), 7);
	assert_int_equal(qos_counter(x, 1, 0, MLX4_STATS_TX_OCT_GOOD(3)), 700);
	assert_int_equal(qos_counter(x, 1, 0, MLX4_STATS_TX_FRAMES(6)), 0);
	assert_int_equal(qos_counter(x, 1, 0, MLX4_STATS_TX_FRAMES(MLX4_STATS_NOVLAN)), 5);
	/* What cannot leave is a discard. */
	tp_model_cable(x->r.m, 1, false);
	qos_post(x, 0, 4);
	qos_time(x, x->now);
	assert_int_equal(qos_counter(x, 1, 0, MLX4_STATS_TX_DROP - 4) & UINT32_MAX, 4);
	assert_int_equal(qos_counter(x, 1, 0, MLX4_STATS_TX_FRAMES(MLX4_STATS_NOVLAN)), 5);
}

/* A link that had nothing to send does not make up for it. */
static void
idle_earns_nothing(void **state)
{
	struct qos_rig *x = *state;

	assert_int_equal(qos_up(x, 1000), 0);
	qos_queue(x, 0, 1230, 0); /* 1254 octets: 10032 ns */
	qos_time(x, 10 * MS);
	qos_post(x, 0, 100);
	qos_time(x, x->now);
	assert_int_equal(x->tap.n, 1);
	qos_time(x, x->now + 10032 * 10);
	assert_int_equal(x->tap.n, 11);
}

static void
strict_order(void **state)
{
	/* class 0 in group 2, class 1 in group 0, class 2 in group 1 */
	static const struct qos_entry e[] = {{2, 100, 4, 0xff}, {0, 100, 4, 0xff}, {1, 100, 4, 0xff}};
	static const uint8_t order[] = {1, 2, 0};
	struct qos_rig *x = *state;

	assert_int_equal(qos_up(x, 0), 0);
	assert_int_equal(qos_scheduler(x, e, 3), 0);
	assert_false(x->r.m->port[0].tx_managed);
	assert_int_equal(qos_prio2tc(x), 0);
	assert_true(x->r.m->port[0].tx_managed);
	for (unsigned int i = 0; i < 3; i++)
		qos_queue(x, i, 100, 0);
	for (unsigned int i = 0; i < 3; i++)
		qos_post(x, i, 50);
	qos_time(x, x->now + 1);
	assert_int_equal(x->tap.n, 150);
	for (unsigned int i = 0; i < 150; i++)
		assert_int_equal(x->tap.log[i].id, order[i / 50]);
	assert_int_equal(tp_model_violations_total(x->r.m), 0);
}

/* On a paced link a lower group gets only what the higher ones leave. */
static void
strict_starves(void **state)
{
	static const struct qos_entry e[] = {{7, 60, 4, 0xff}, {7, 40, 4, 0xff}, {0, 100, 4, 2}};
	struct qos_rig *x = *state;

	assert_int_equal(qos_up(x, 10000), 0);
	assert_int_equal(qos_scheduler(x, e, 3), 0);
	assert_int_equal(qos_prio2tc(x), 0);
	for (unsigned int i = 0; i < 3; i++)
		qos_queue(x, i, 1000, 0);
	qos_run(x, 10 * MS, 5000, 7);
	/* 2 Gb/s of octets with FCS; the link's 10 Gb/s are 9.8047 of them, as each frame of 1004 takes 1024. */
	assert_about(x->tap.octets[2], 2500000);
	assert_about(x->tap.octets[0], (12255859 - 2500000) * 60 / 100);
	assert_about(x->tap.octets[1], (12255859 - 2500000) * 40 / 100);
	/* Without the limit the strict class takes everything. */
	assert_int_equal(
		qos_scheduler(x, (const struct qos_entry[]){{7, 60, 4, 0xff}, {7, 40, 4, 0xff}, {0, 100, 4, 0xff}}, 3),
		0);
	memset(x->tap.octets, 0, sizeof(x->tap.octets));
	qos_run(x, 10 * MS, 5000, 7);
	assert_about(x->tap.octets[2], 12255859);
	assert_int_equal(x->tap.octets[0] + x->tap.octets[1], 0);
}

static void
shares(void **state)
{
	static const struct qos_entry e[] = {{7, 50, 4, 0xff}, {7, 30, 4, 0xff}, {7, 20, 4, 0xff}};
	struct qos_rig *x = *state;
	uint64_t sum;

	assert_int_equal(qos_up(x, 10000), 0);
	assert_int_equal(qos_scheduler(x, e, 3), 0);
	assert_int_equal(qos_prio2tc(x), 0);
	/* Shares are of bytes, whatever the size of the frames. */
	qos_queue(x, 0, 1514, 0);
	qos_queue(x, 1, 300, 0);
	qos_queue(x, 2, 124, 0);
	qos_run(x, 10 * MS, 5000, 7);
	sum = x->tap.octets[0] + x->tap.octets[1] + x->tap.octets[2];
	assert_about(x->tap.octets[0], sum * 50 / 100);
	assert_about(x->tap.octets[1], sum * 30 / 100);
	assert_about(x->tap.octets[2], sum * 20 / 100);
	/* The link was never idle and never too fast: 12.5 MB of the wire. */
	assert_about(sum + 20ull * (x->tap.frames[0] + x->tap.frames[1] + x->tap.frames[2]), 12500000);
	/* What one does not use the others have by their shares: 50 to 20. */
	memset(x->tap.octets, 0, sizeof(x->tap.octets));
	qos_run(x, MS, 5000, 5);
	qos_run(x, 9 * MS, 5000, 5);
	assert_about(x->tap.octets[0] * 2, x->tap.octets[2] * 5);
	/* Back again it gets its share, and not what it missed. */
	memset(x->tap.octets, 0, sizeof(x->tap.octets));
	qos_run(x, 10 * MS, 5000, 7);
	sum = x->tap.octets[0] + x->tap.octets[1] + x->tap.octets[2];
	assert_about(x->tap.octets[1], sum * 30 / 100);
}

/* Unpaced the order alone matters: of any stretch in which all have work, each has its share. */
static void
shares_unpaced(void **state)
{
	static const struct qos_entry e[] = {{7, 75, 4, 0xff}, {7, 25, 4, 0xff}};
	struct qos_rig *x = *state;
	uint32_t n[2] = {0};

	assert_int_equal(qos_up(x, 0), 0);
	assert_int_equal(qos_scheduler(x, e, 2), 0);
	assert_int_equal(qos_prio2tc(x), 0);
	qos_queue(x, 0, 500, 0);
	qos_queue(x, 1, 500, 0);
	qos_post(x, 0, 240);
	qos_post(x, 1, 240);
	qos_time(x, x->now + 1);
	assert_int_equal(x->tap.n, 480);
	for (unsigned int i = 0; i < 240; i++)
		n[x->tap.log[i].id]++;
	assert_in_range(n[0], 172, 188);
	assert_in_range(n[1], 52, 68);
}

static void
class_limits(void **state)
{
	/* 400 Mb/s, 3 Gb/s, no limit */
	static const struct qos_entry e[] = {{7, 40, 3, 4}, {7, 40, 4, 3}, {7, 20, 4, 0xff}};
	struct qos_rig *x = *state;

	assert_int_equal(qos_up(x, 10000), 0);
	assert_int_equal(qos_scheduler(x, e, 3), 0);
	assert_int_equal(qos_prio2tc(x), 0);
	for (unsigned int i = 0; i < 3; i++)
		qos_queue(x, i, 996, 0);
	for (unsigned int k = 0; k < 2; k++) {
		memset(x->tap.octets, 0, sizeof(x->tap.octets));
		/* With fine and with coarse steps; 1000 octets of each 1020 on the wire count. */
		qos_run(x, 20 * MS, k == 0 ? 1000 : 100000, 7);
		assert_about(x->tap.octets[0], 1000000);
		assert_about(x->tap.octets[1], 7500000);
		assert_about(x->tap.octets[2], 24509804 - 8500000);
	}
}

static void
queue_limits(void **state)
{
	struct qos_rig *x = *state;

	assert_int_equal(qos_up(x, 0), 0);
	qos_queue(x, 0, 1000, 0);
	assert_false(x->r.m->port[0].tx_managed);
	qos_queue(x, 0, 1000, 100000); /* 100 Mb/s */
	qos_queue(x, 5, 60, 1500);     /* 1.5 Mb/s */
	assert_true(x->r.m->port[0].tx_managed);
	qos_run(x, 100 * MS, 10000, 6);
	assert_about(x->tap.octets[1], 1250000);
	assert_about(x->tap.octets[2], 18750);
	/* A queue without a limit is not held back by the others. */
	qos_post(x, 0, 200);
	qos_time(x, x->now);
	assert_int_equal(x->tap.frames[0], 200);
	/* The limits go, the port is as before, and nothing was lost. */
	for (unsigned int i = 1; i < 3; i++) {
		x->q[i].qp->rate_kbps = 0;
		tpm_sched_qp(x->r.m, x->q[i].qp);
	}
	assert_false(x->r.m->port[0].tx_managed);
	qos_time(x, x->now);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(x->tap.frames[i], x->q[i].prod);
}

/* Queues of one class take turns, also with one frame at a time. */
static void
queues_take_turns(void **state)
{
	struct qos_rig *x = *state;

	assert_int_equal(qos_up(x, 1000), 0);
	for (unsigned int i = 0; i < 4; i++)
		qos_queue(x, i / 2, 1230, 0);
	for (unsigned int i = 0; i < 4; i++)
		qos_post(x, i, 100);
	for (unsigned int i = 0; i < 80; i++)
		qos_time(x, x->now + 10032);
	for (unsigned int i = 0; i < 4; i++)
		assert_in_range(x->tap.frames[i], 19, 21);
}

/* What a SCHEDULER may say [CP 4.3]. */
static void
settings(void **state)
{
	struct qos_rig *x = *state;
	struct qos_entry e[8];

	assert_int_equal(qos_up(x, 0), 0);
	/* As Linux sets a port up: eight classes of 100 % in one group. */
	for (unsigned int i = 0; i < 8; i++)
		e[i] = (struct qos_entry){0, 100, 4, 0xff};
	assert_int_equal(qos_scheduler(x, e, 8), 0);
	/* ... and for shares of 60 and 40: the six others have 1 % each. */
	for (unsigned int i = 0; i < 8; i++)
		e[i] = (struct qos_entry){7, i == 0 ? 60 : i == 1 ? 40 : 1, 4, 0xff};
	assert_int_equal(qos_scheduler(x, e, 8), 0);
	assert_int_equal(tp_model_violations_total(x->r.m), 0);
	assert_int_equal(qos_scheduler(x, (const struct qos_entry[]){{7, 60, 4, 0xff}, {7, 39, 4, 0xff}}, 2),
			 MLX4_STAT_BAD_PARAM);
	assert_int_equal(qos_scheduler(x, (const struct qos_entry[]){{7, 60, 4, 0xff}, {7, 41, 4, 0xff}}, 2),
			 MLX4_STAT_BAD_PARAM);
	assert_int_equal(rig_violations(&x->r, "scheduler-shares"), 2);
	assert_int_equal(qos_scheduler(x, (const struct qos_entry[]){{16, 100, 4, 0xff}}, 1), MLX4_STAT_BAD_PARAM);
	assert_int_equal(qos_scheduler(x, (const struct qos_entry[]){{0, 101, 4, 0xff}}, 1), MLX4_STAT_BAD_PARAM);
	assert_int_equal(qos_scheduler(x, (const struct qos_entry[]){{0, 100, 5, 1}}, 1), MLX4_STAT_BAD_PARAM);
	assert_int_equal(rig_violations(&x->r, "cmd-param"), 3);
	/* A refused setting changes nothing. */
	assert_int_equal(x->r.m->port[0].qos->tc[0].weight, 60);
	assert_int_equal(x->r.m->port[0].qos->tc[0].group, 7);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)
	const struct CMUnitTest tests[] = {T(link_rate),         T(waits_are_told), T(idle_earns_nothing),
					   T(strict_order),      T(strict_starves), T(shares),
					   T(shares_unpaced),    T(class_limits),   T(queue_limits),
					   T(queues_take_turns), T(settings),       T(speed),
					   T(counters)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
