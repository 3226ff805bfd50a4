/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Shares and limits of a port under load, as the other end of a link of 1 Gb/s receives them, and counters of priorities
 * beside those of the switch in between. All queues always have something to send; time is virtual.
 */
#include "fabric_rig.h"

#define QUEUES 4u
#define MS UINT64_C(1000000)
#define LINK_MBPS 1000.0
#define FROM 0
#define TO 1

static struct fabric fabric;

static int
setup(void **state)
{
	uint16_t q;

	fabric = (struct fabric){.step = 50000, .now = 1000 * MS};
	fabric_add(&fabric, "rate0=1000,wire0=switch:sw", 1, QUEUES);
	fabric_add(&fabric, "rate0=1000,wire0=switch:sw", 1, 1);
	fabric_start(&fabric);
	for (q = 0; q < QUEUES; q++) {
		fabric_prio(FROM, q, (uint8_t)q);
		fabric_flow(&fabric, FROM, q, TO, NULL);
	}
	return 0;
}

static int
teardown(void **state)
{
	fabric_close(&fabric);
	return 0;
}

/* Runs and says what share of the link each flow had, in percent of its time with preamble and gap. */
static void
run(unsigned int ms, double share[QUEUES])
{
	uint64_t end = fabric.now + ms * MS;
	uint32_t before[QUEUES];
	unsigned int i;

	for (i = 0; i < QUEUES; i++)
		before[i] = fabric.flow[i].got;
	while (fabric.now < end) {
		fabric_tick(&fabric);
		fabric_take(&fabric, TO, 0, UINT32_MAX);
	}
	for (i = 0; i < QUEUES; i++)
		share[i] = 100.0 * (fabric.flow[i].got - before[i]) * (FABRIC_LINE - (i == 0 ? 4 : 0)) * 8 /
			   (ms * LINK_MBPS * 1000);
}

static void
assert_shares(const double share[QUEUES], double s0, double s1, double s2, double s3)
{
	const double wanted[QUEUES] = {s0, s1, s2, s3};
	unsigned int i;

	for (i = 0; i < QUEUES; i++)
		if (share[i] < wanted[i] * 0.98 || share[i] > wanted[i] * 1.02)
			fail_msg("flow %u has %.2f %% of the link, wanted %.2f", i, share[i], wanted[i]);
}

static void
on(bool f0, bool f1, bool f2, bool f3)
{
	const bool want[QUEUES] = {f0, f1, f2, f3};
	double share[QUEUES];
	unsigned int i;

	for (i = 0; i < QUEUES; i++)
		fabric.flow[i].on = want[i];
	/* What was posted before leaves. */
	run(50, share);
}

static void
test_ets(void **state)
{
	double share[QUEUES];

	fabric_qos(FROM, "prio-tc=0,1,2,3,0,0,0,0 tc=0:ets:50 tc=1:ets:30 tc=2:ets:20");
	on(true, true, true, false);
	run(1000, share);
	assert_shares(share, 50, 30, 20, 0);
	/* Who has nothing to send leaves its share to the others, in their proportion. */
	on(true, false, true, false);
	run(1000, share);
	assert_shares(share, 500 / 7.0, 0, 200 / 7.0, 0);
	/* Live, under load. */
	on(true, true, true, false);
	fabric_qos(FROM, "prio-tc=0,1,2,3,0,0,0,0 tc=0:ets:20 tc=1:ets:30 tc=2:ets:50");
	run(1000, share);
	assert_shares(share, 20, 30, 50, 0);
	assert_int_equal(fabric.flow[0].out_of + fabric.flow[1].out_of + fabric.flow[2].out_of, 0);
}

/* The strict class goes first; its limit leaves 60 % to the shares of the others. */
static void
test_strict(void **state)
{
	double share[QUEUES];

	fabric_qos(FROM, "prio-tc=0,1,2,3,0,0,0,0 tc=0:ets:50 tc=1:ets:30 tc=2:ets:20 tc=3:strict tc-rate=3:400");
	on(true, true, true, true);
	run(1000, share);
	/* A limit counts frames with FCS, not preamble and gap. */
	assert_shares(share, 0.5 * (100 - share[3]), 0.3 * (100 - share[3]), 0.2 * (100 - share[3]),
		      40.0 * FABRIC_LINE / (FABRIC_LINE - 20));
	fabric_qos(FROM, "prio-tc=0,1,2,3,0,0,0,0 tc=0:ets:50 tc=1:ets:30 tc=2:ets:20 tc=3:strict");
	run(50, share);
	run(1000, share);
	assert_shares(share, 0, 0, 0, 100);
}

static void
test_rate(void **state)
{
	const double extra = FABRIC_LINE / (FABRIC_LINE - 20.0);
	double share[QUEUES];

	assert_int_equal(rte_eth_set_queue_rate_limit(FROM, 1, 250), 0);
	assert_int_equal(rte_eth_set_queue_rate_limit(FROM, 2, 75), 0);
	on(false, true, true, false);
	run(2000, share);
	assert_shares(share, 0, 25 * extra, 7.5 * extra, 0);
	assert_int_equal(rte_eth_set_queue_rate_limit(FROM, 1, 0), 0);
	assert_int_equal(rte_eth_set_queue_rate_limit(FROM, 2, 0), 0);
	fabric_qos(FROM, "prio-tc=0,1,2,3,0,0,0,0 tc-rate=1:300 tc-rate=2:100");
	run(50, share);
	run(2000, share);
	assert_shares(share, 0, 30 * extra, 10 * extra, 0);
}

/* What the port counts of a priority is what the switch counts there, and what the other port counts. */
static void
test_counters(void **state)
{
	struct tp_qos_prio_stats from[TP_PRIOS], to[TP_PRIOS];
	struct tp_switch_port_stats in, out;
	double share[QUEUES];
	char name[32];
	unsigned int i;

	fabric_qos(FROM, "prio-tc=0,1,2,3,0,0,0,0 tc=0:ets:50 tc=1:ets:30 tc=2:ets:20");
	assert_int_equal(rte_eth_stats_reset(FROM), 0);
	assert_int_equal(rte_eth_stats_reset(TO), 0);
	in = fabric_switch_stats("sw", FROM + 1);
	out = fabric_switch_stats("sw", TO + 1);
	on(true, true, true, false);
	on(false, false, false, true);
	on(false, false, false, false);
	run(100, share);
	assert_int_equal(rte_pmd_mlx4_qos_stats(FROM, from), 0);
	assert_int_equal(rte_pmd_mlx4_qos_stats(TO, to), 0);
	for (i = 0; i < TP_PRIOS; i++) {
		const struct tp_switch_port_stats in_now = fabric_switch_stats("sw", FROM + 1);
		const struct tp_switch_port_stats out_now = fabric_switch_stats("sw", TO + 1);
		uint64_t frames = in_now.prio[i].rx_frames - in.prio[i].rx_frames;
		uint64_t bytes = in_now.prio[i].rx_bytes - in.prio[i].rx_bytes;

		assert_int_equal(frames, i < QUEUES ? fabric.flow[i].got : 0);
		assert_int_equal(from[i].tx_frames, frames);
		/* The card's octets are with FCS, the switch's without. */
		assert_int_equal(from[i].tx_bytes, bytes + 4 * frames);
		assert_int_equal(to[i].rx_frames, out_now.prio[i].tx_frames - out.prio[i].tx_frames);
		assert_int_equal(to[i].rx_frames, frames);
		assert_int_equal(to[i].rx_bytes, bytes + 4 * frames);
		snprintf(name, sizeof(name), "tx_prio%u_packets", i);
		assert_int_equal(rig_xstat(FROM, name), frames);
		snprintf(name, sizeof(name), "rx_prio%u_bytes", i);
		assert_int_equal(rig_xstat(TO, name), bytes + 4 * frames);
	}
	for (i = 0; i < QUEUES; i++)
		assert_true(fabric.flow[i].got > 100 && fabric.flow[i].got == fabric.flow[i].sent);
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {T(test_ets), T(test_strict), T(test_rate), T(test_counters)};

	if (rig_eal("test_shares", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
