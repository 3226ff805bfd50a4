/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Received pause frames: what they stop, for how long, and how they are counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* By path: the tests' rig follows it. */
#include "model/qos/qos.h"

#include "qos_rig.h"

#define US UINT64_C(1000)
#define FLOW(prio, what) ((prio)*MLX4_FLOW_ENTRY + (what))

/*
 * scapy: Ether(dst="01:80:c2:00:00:01", src="02:00:00:00:00:01", type=0x8808) / MACControlPause(pause_time=1000) and
 * MACControlClassBasedFlowControl(c3_enabled=1, c3_pause_time=500), padded to 60 bytes
 */
static const uint8_t global_1000[60] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00,
					0x00, 0x00, 0x01, 0x88, 0x08, 0x00, 0x01, 0x03, 0xe8};
static const uint8_t pfc3_500[60] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x88,
				     0x08, 0x01, 0x01, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xf4};

static int
up(void **state)
{
	struct qos_rig *x = calloc(1, sizeof(*x));

	*state = x;
	/* 10 Gb/s: a quantum is 51.2 ns. Frames of 1230 bytes take 1003.2 ns. */
	if (x == NULL || qos_up(x, 10000) != 0)
		return -1;
	qos_queue(x, 0, 1230, 0);
	qos_queue(x, 3, 1230, 0);
	return 0;
}

static int
down(void **state)
{
	struct qos_rig *x = *state;

	rig_close(&x->r);
	free(x);
	return 0;
}

/* Frames of a sender that left in (from, to]. */
static uint32_t
between(const struct qos_rig *x, uint8_t id, uint64_t from, uint64_t to)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->tap.n; i++)
		n += x->tap.log[i].id == id && x->tap.log[i].t > from && x->tap.log[i].t <= to;
	return n;
}

static void
arrive(struct qos_rig *x, const uint8_t *proto, uint16_t quanta)
{
	uint8_t b[60];

	memcpy(b, proto, sizeof(b));
	tpm_store16(b + (proto == global_1000 ? 16 : 24), quanta);
	qos_arrive(x, 1, b, sizeof(b));
}

static void
global(void **state)
{
	struct qos_rig *x = *state;
	uint64_t t;

	assert_int_equal(qos_general(x, 1, false, 0, true, 0), 0);
	qos_run(x, 100 * US, 100, 3);
	assert_in_range(x->tap.n, 99, 101);
	t = x->now;
	qos_arrive(x, 1, global_1000, sizeof(global_1000));
	assert_int_equal(x->r.m->port[0].qos->paused, 0xff);
	qos_run(x, 100 * US, 100, 3);
	/* 1000 quanta: 51200 ns. Then the link is as busy as before: 48800 ns hold 48 or 49 frames. */
	assert_int_equal(between(x, 0, t, t + 51100) + between(x, 1, t, t + 51100), 0);
	assert_in_range(between(x, 0, t, x->now) + between(x, 1, t, x->now), 48, 50);
	assert_in_range(between(x, 0, t + 51100, t + 51300) + between(x, 1, t + 51100, t + 51300), 1, 1);
	assert_int_equal(qos_counter(x, 1, 0, MLX4_STATS_RX_CONTROL), 1);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(0, MLX4_FLOW_RX_PAUSE)), 1);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(0, MLX4_FLOW_RX_DURATION)), 51);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(0, MLX4_FLOW_RX_TRANSITION)), 1);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(3, MLX4_FLOW_RX_PAUSE)), 0);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(3, MLX4_FLOW_RX_DURATION)), 0);
	/* A control frame is nobody's data. */
	assert_int_equal(qos_counter(x, 1, 0, MLX4_STATS_RX_FRAMES(MLX4_STATS_NOVLAN)), 0);
}

static void
by_priority(void **state)
{
	struct qos_rig *x = *state;
	uint64_t t;

	assert_int_equal(qos_general(x, 1, false, 0, false, 1u << 3), 0);
	qos_run(x, 10 * US, 100, 3);
	t = x->now;
	qos_arrive(x, 1, pfc3_500, sizeof(pfc3_500));
	assert_int_equal(x->r.m->port[0].qos->paused, 1u << 3);
	qos_run(x, 50 * US, 100, 3);
	/* 500 quanta: 25600 ns, in which the other priority has the whole link. */
	assert_int_equal(between(x, 1, t, t + 25500), 0);
	assert_in_range(between(x, 0, t, t + 25500), 25, 26);
	assert_in_range(between(x, 1, t + 25500, x->now), 11, 13);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(3, MLX4_FLOW_RX_PAUSE)), 1);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(3, MLX4_FLOW_RX_DURATION)), 25);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(0, MLX4_FLOW_RX_PAUSE)), 0);
	/* What was held back stays posted: in the end everything went out, once and in order. */
	qos_time(x, x->now + 1000 * US);
	assert_int_equal(x->tap.frames[1], x->q[1].prod);
	assert_int_equal(x->tap.frames[0], x->q[0].prod);
}

/* A new time replaces the old one; 0 is the end; what runs is counted as far as it came. */
static void
timers(void **state)
{
	struct qos_rig *x = *state;
	uint64_t t;

	assert_int_equal(qos_general(x, 1, false, 0, false, 0xff), 0);
	t = x->now;
	arrive(x, pfc3_500, 0xffff); /* 3355.392 us */
	qos_run(x, 1000 * US, 1000, 2);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(3, MLX4_FLOW_RX_DURATION)), 1000);
	arrive(x, pfc3_500, 0xffff);
	qos_run(x, 3355 * US, 1000, 2);
	assert_int_equal(between(x, 1, t, x->now), 0);
	qos_run(x, 2 * US, 1000, 2);
	assert_in_range(between(x, 1, t, x->now), 2, 3);
	arrive(x, pfc3_500, 0xffff);
	arrive(x, pfc3_500, 100); /* shorter: 5.12 us */
	t = x->now;
	qos_run(x, 10 * US, 10, 2);
	assert_int_equal(between(x, 1, t, t + 5110), 0);
	assert_in_range(between(x, 1, t, x->now), 4, 6);
	arrive(x, pfc3_500, 0xffff);
	qos_run(x, 10 * US, 10, 2);
	t = x->now;
	arrive(x, pfc3_500, 0);
	qos_time(x, x->now);
	assert_int_equal(between(x, 1, t - 10 * US, t - 1), 0);
	qos_run(x, 10 * US, 10, 2);
	assert_in_range(between(x, 1, t - 1, x->now), 10, 11);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(3, MLX4_FLOW_RX_PAUSE)), 6);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(3, MLX4_FLOW_RX_TRANSITION)), 3);
	/* 1000 + 3355.392, then 5.12, then 10 us */
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW | MLX4_STATS_RESET, FLOW(3, MLX4_FLOW_RX_DURATION)),
			 4370);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(3, MLX4_FLOW_RX_DURATION)), 0);
}

static void
not_honoured(void **state)
{
	struct qos_rig *x = *state;
	uint8_t bad[60];

	/* Nothing is on: counted, no more. */
	arrive(x, global_1000, 1000);
	arrive(x, pfc3_500, 1000);
	assert_int_equal(x->r.m->port[0].qos->paused, 0);
	/* PFC for another priority; then global frames under PFC and PFC frames under global pause. */
	assert_int_equal(qos_general(x, 1, false, 0, false, 1u << 4), 0);
	arrive(x, pfc3_500, 1000);
	arrive(x, global_1000, 1000);
	assert_int_equal(x->r.m->port[0].qos->paused, 0);
	assert_int_equal(qos_general(x, 1, false, 0, true, 0), 0);
	arrive(x, pfc3_500, 1000);
	assert_int_equal(x->r.m->port[0].qos->paused, 0);
	/* Another opcode, and frames that end before their timers. */
	memcpy(bad, global_1000, sizeof(bad));
	bad[15] = 2;
	qos_arrive(x, 1, bad, sizeof(bad));
	qos_arrive(x, 1, global_1000, 17);
	qos_arrive(x, 1, pfc3_500, 30);
	assert_int_equal(x->r.m->port[0].qos->paused, 0);
	assert_int_equal(qos_counter(x, 1, 0, MLX4_STATS_RX_CONTROL), 8);
	/* Being told not to honour any more ends a pause. */
	arrive(x, global_1000, 0xffff);
	assert_int_equal(x->r.m->port[0].qos->paused, 0xff);
	assert_int_equal(qos_general(x, 1, false, 0, false, 0), 0);
	assert_int_equal(x->r.m->port[0].qos->paused, 0);
	qos_post(x, 0, 1);
	qos_time(x, x->now);
	assert_int_equal(x->tap.n, 1);
}

/* Nobody gets a control frame, also not who wants everything. */
static void
never_delivered(void **state)
{
	struct qos_rig *x = *state;
	struct rig_q rx;
	uint64_t id;
	uint8_t data[60];

	rig_qp(&x->r, &rx, 40, 1, 64, true);
	assert_int_equal(rig_rule(&x->r, 1, NULL, 40, &id), 0);
	arrive(x, global_1000, 1000);
	arrive(x, pfc3_500, 1000);
	assert_null(rig_poll(rx.rcq, 64, &rx.rci, rx.rcq_rec));
	/* The same address with another type is data. */
	memcpy(data, global_1000, sizeof(data));
	tpm_store16(data + 12, 0x88b5);
	qos_arrive(x, 1, data, sizeof(data));
	assert_non_null(rig_poll(rx.rcq, 64, &rx.rci, rx.rcq_rec));
}

/* A pause by priority goes on under settings that honour it still, and is counted as one only while it is one. */
static void
settings_change(void **state)
{
	struct qos_rig *x = *state;
	uint8_t pfc4[60];

	memcpy(pfc4, pfc3_500, sizeof(pfc4));
	pfc4[17] = 1 << 4;
	memcpy(pfc4 + 26, "\xff\xff", 2); /* 3355 us */
	assert_int_equal(qos_general(x, 1, false, 0, false, 1u << 3 | 1u << 4), 0);
	arrive(x, pfc3_500, 0xffff);
	qos_arrive(x, 1, pfc4, sizeof(pfc4));
	qos_time(x, x->now + 10 * US);
	/* The same once more, then without one of them. */
	assert_int_equal(qos_general(x, 1, false, 0, false, 1u << 3 | 1u << 4), 0);
	assert_int_equal(x->r.m->port[0].qos->paused, 1u << 3 | 1u << 4);
	qos_time(x, x->now + 10 * US);
	assert_int_equal(qos_general(x, 1, false, 0, false, 1u << 3), 0);
	assert_int_equal(x->r.m->port[0].qos->paused, 1u << 3);
	qos_time(x, x->now + 10 * US);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(3, MLX4_FLOW_RX_DURATION)), 30);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(4, MLX4_FLOW_RX_DURATION)), 20);
	/* Under global pause it is held as long as it was to be, and counted as nothing of priority 3's. */
	assert_int_equal(qos_general(x, 1, false, 0, true, 0), 0);
	assert_int_equal(x->r.m->port[0].qos->paused, 1u << 3);
	qos_time(x, x->now + 10 * US);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(3, MLX4_FLOW_RX_DURATION)), 30);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(3, MLX4_FLOW_RX_TRANSITION)), 1);
	/* A global pause goes on under the same settings, too, in the first priority's counters. */
	arrive(x, global_1000, 0xffff);
	qos_time(x, x->now + 10 * US);
	assert_int_equal(qos_general(x, 1, false, 0, true, 0), 0);
	qos_time(x, x->now + 10 * US);
	assert_int_equal(x->r.m->port[0].qos->paused, 0xff);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(0, MLX4_FLOW_RX_DURATION)), 20);
	assert_int_equal(qos_counter(x, 1, MLX4_STATS_MOD_FLOW, FLOW(3, MLX4_FLOW_RX_DURATION)), 30);
}

/* A port that is not paced is managed only while it is paused; the pause comes in the middle of a burst's answer. */
static void
unpaced(void **state)
{
	struct qos_rig *x = *state;
	struct tpm_port *p = &x->r.m->port[0];
	struct tp_model_qos s;

	p->qos->rate_kbps = 0;
	tpm_sched_update(x->r.m, p);
	assert_false(p->tx_managed);
	assert_int_equal(qos_general(x, 1, false, 0, true, 0), 0);
	assert_false(p->tx_managed);
	qos_post(x, 0, 100);
	arrive(x, global_1000, 1000); /* 12.8 us at 40 Gb/s */
	assert_true(p->tx_managed);
	qos_time(x, x->now + 12790);
	assert_int_equal(x->tap.n, 0);
	assert_int_equal(tp_model_get_qos(x->r.m, 1, &s), 0);
	assert_int_equal(s.tx_paused, 0xff);
	assert_int_equal(s.tx_queues[0], 1);
	assert_int_equal(s.rx_pause[0].frames, 1);
	assert_int_equal(s.rx_pause[0].paused_us, 12);
	qos_time(x, x->now + 10);
	qos_time(x, x->now);
	assert_false(p->tx_managed);
	assert_int_equal(x->tap.n, 100);
	assert_int_equal(tp_model_get_qos(x->r.m, 3, &s), -EINVAL);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)
	const struct CMUnitTest tests[] = {T(global),          T(by_priority),     T(timers), T(not_honoured),
					   T(never_delivered), T(settings_change), T(unpaced)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
