/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The lifetime of frames at the head of a paused class, case by case: whose lifetime holds, what has none, what ends a row of
 * losses, and what a stalled class, a stopped port and a card that refuses do. Times are looked at by hand.
 */
#include <errno.h>
#include <stdlib.h>

#include "card_trace.h"
#include "drivers/mlx4/qos/qos.h"
#include "qos_tx_rig.h"

#define MS UINT64_C(1000)
#define PRIO 3

static uint64_t now;

static struct mlx4_eth *
eth(void)
{
	return rte_eth_devices[0].data->dev_private;
}

/* Priorities 3 and 4 are class 3, and paused by PFC; lifetime of 5 ms, two in a row stall. */
static struct tp_qos_port
paused(void)
{
	struct tp_qos_port q = defaults();

	q.rx_pfc = 1u << 3 | 1u << 4;
	q.prio_tc[3] = q.prio_tc[4] = 3;
	q.hol_lifetime_us = 5000;
	q.hol_stall_count = 2;
	return q;
}

static int
setup(void **state)
{
	rig_open("");
	rig_start(0, 2, NULL);
	rig_start(1, 1, NULL);
	tp_model_set_time(rig_model(0), 0);
	now = 1000;
	return 0;
}

static void
begin(const struct tp_qos_port *q)
{
	declare(q);
	queue_prio(0, PRIO);
	queue_prio(1, 4);
	/* The alarm looks by the machine's clock. */
	mlx4_watch_stop(eth());
}

static void
pause(uint8_t prios, uint16_t quanta)
{
	static const struct rte_ether_addr mac = {{0x01, 0x80, 0xc2, 0, 0, 1}};
	struct rte_mbuf *m = rig_frame(&mac, 60);
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
	unsigned int i;

	memset(p + 12, 0, 48);
	memcpy(p + 12, "\x88\x08\x01\x01\x00", 5);
	p[17] = prios;
	for (i = 0; i < 8; i++) {
		p[18 + 2 * i] = (uint8_t)(quanta >> 8);
		p[19 + 2 * i] = (uint8_t)quanta;
	}
	rig_send(1, m);
}

static void
look(uint64_t ms)
{
	now += ms;
	mlx4_qos_lock(eth());
	mlx4_hol_look(eth(), now * MS);
	mlx4_qos_unlock(eth());
}

static void
offer(uint16_t queue, unsigned int n)
{
	struct rte_mbuf *m;

	while (n-- != 0) {
		m = udp(7);
		assert_int_equal(rte_eth_tx_burst(0, queue, &m, 1), 1);
	}
	rig_run(0);
}

static struct rte_pmd_mlx4_stalls
stalls(void)
{
	struct rte_pmd_mlx4_stalls st;

	assert_int_equal(rte_pmd_mlx4_stalls_get(0, &st), 0);
	return st;
}

static void
own_lifetime(uint16_t queue, uint32_t us)
{
	char err[TP_ERR_LEN];

	mlx4_qos_lock(eth());
	assert_int_equal(mlx4_txq_hol(eth()->txqs[queue], us, err), 0);
	mlx4_qos_unlock(eth());
	mlx4_watch_stop(eth());
}

/* A queue's own lifetime, whether it is longer or shorter than the port's. */
static void
test_own(void **state)
{
	struct tp_qos_port q = paused();

	begin(&q);
	own_lifetime(0, 9000);
	pause(0x18, 0xffff);
	look(0);
	offer(0, 4);
	offer(1, 2);
	look(1);
	look(6);
	assert_int_equal(stalls().tc_drops[3], 2); /* queue 1's */
	look(3);                                   /* 9 ms */
	assert_int_equal(stalls().tc_drops[3], 2);
	look(1);
	assert_int_equal(stalls().tc_drops[3], 6);
	assert_int_equal(rig_xstat(0, "tx_prio3_discards"), 4);
	assert_int_equal(rig_xstat(0, "tx_prio4_discards"), 2);
	assert_int_equal(rig_xstat(0, "tx_q0_packets"), 0);
	assert_int_equal(rig_drain(1, 0), 0);
}

/* Without a lifetime, or where pause frames hold nothing back, what waits may wait. */
static void
test_none(void **state)
{
	struct tp_qos_port q = paused();
	struct rte_eth_link link;

	q.hol_lifetime_us = 0;
	begin(&q);
	pause(0x18, 0xffff);
	offer(0, 4);
	look(0);
	look(1000);
	assert_int_equal(stalls().tc_drops[3], 0);
	pause(0x18, 0);
	rig_run(0);
	assert_int_equal(rig_drain(1, 0), 4);
	/* A queue of 1 Mb/s in a port that is not paused: its frames wait for their rate. */
	q = paused();
	q.rx_pfc = 0;
	begin(&q);
	assert_int_equal(rte_eth_link_get_nowait(0, &link), 0);
	assert_int_equal(rte_eth_set_queue_rate_limit(0, 0, 1), 0);
	offer(0, 200);
	look(1);
	look(100);
	look(100);
	assert_int_equal(stalls().tc_drops[3], 0);
	/* As soon as it can be paused they have a lifetime, from then on; pause of the whole port does as well. */
	q.rx_pause = true;
	begin(&q);
	look(1);
	look(5);
	assert_int_equal(stalls().tc_drops[3], 0);
	look(1);
	assert_in_range(stalls().tc_drops[3], 1, 200);
	rig_drain(1, 0);
}

/* One frame that leaves ends the row: losses with progress between them are no stall. */
static void
test_row(void **state)
{
	struct tp_qos_port q = paused();
	unsigned int i;

	begin(&q);
	for (i = 0; i < 3; i++) {
		pause(0x18, 0xffff);
		look(0);
		offer(0, 3);
		look(1);
		look(6);
		assert_int_equal(stalls().tc_drops[3], 3 * (i + 1));
		assert_int_equal(eth()->qos->hol[3].in_a_row, 1);
		pause(0x18, 0);
		offer(0, 1);
		assert_int_equal(rig_drain(1, 0), 1);
		look(1);
		assert_int_equal(eth()->qos->hol[3].in_a_row, 0);
	}
	assert_int_equal(stalls().tc_stalls[3], 0);
}

/* A class that stalls discards frames of all of its priorities, for eight lifetimes, or until the port stops. */
static void
test_stalled(void **state)
{
	struct tp_qos_port q = paused();
	unsigned int i, stop;

	begin(&q);
	for (stop = 0; stop < 2; stop++) {
		pause(0x18, 0xffff);
		look(0);
		for (i = 0; i < 2; i++) {
			assert_int_equal(stalls().tc_stalled, 0);
			offer(0, 3);
			look(1);
			look(6);
		}
		assert_int_equal(stalls().tc_stalled, 1u << 3);
		assert_int_equal(stalls().tc_stalls[3], 1 + stop);
		offer(0, 5);
		offer(1, 6);
		assert_int_equal(rig_xstat(0, "tx_prio3_discards"), (stop + 1) * (6 + 5));
		assert_int_equal(rig_xstat(0, "tx_prio4_discards"), (stop + 1) * 6);
		pause(0x18, 0);
		if (stop == 0) {
			look(39);
			assert_int_equal(stalls().tc_stalled, 1u << 3);
			look(1);
		} else {
			assert_int_equal(rte_eth_dev_stop(0), 0);
			assert_int_equal(rte_eth_dev_start(0), 0);
			mlx4_watch_stop(eth());
			rig_run(0);
		}
		assert_int_equal(stalls().tc_stalled, 0);
		assert_int_equal(eth()->qos->hol[3].in_a_row, 0);
		offer(0, 2);
		offer(1, 2);
		assert_int_equal(rig_drain(1, 0), 4);
		look(1);
	}
}

/* The card keeps what waits: that is no loss, and said; the next look tries again. */
static void
test_kept(void **state)
{
	struct tp_qos_port q = paused();
	unsigned int lines;
	char *text;

	begin(&q);
	pause(0x18, 0xffff);
	look(0);
	offer(0, 4);
	look(1);
	tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_2ERR_QP, 1, MLX4_STAT_BAD_PARAM);
	rig_log_begin();
	look(6);
	text = rig_log_end(&lines);
	assert_non_null(strstr(text, "what waits at priority 3 could not be taken back"));
	free(text);
	assert_int_equal(stalls().tc_drops[3], 0);
	assert_int_equal(rig_xstat(0, "tx_q0_packets"), 4);
	look(1);
	assert_int_equal(stalls().tc_drops[3], 4);
	assert_int_equal(rig_xstat(0, "tx_q0_packets"), 0);
}

/* A pair that has sent everything is not asked about. */
static void
test_idle(void **state)
{
	struct tp_qos_port q = paused();
	struct card_trace t;

	begin(&q);
	offer(0, 3);
	assert_int_equal(rig_drain(1, 0), 3);
	look(1);
	look(1);
	card_trace_begin(&t, rig_model(0));
	look(1);
	card_trace_end(&t);
	assert_int_equal(card_trace_count(&t, "QUERY_QP"), 0);
	card_trace_free(&t);
	offer(0, 1);
	card_trace_begin(&t, rig_model(0));
	look(1);
	card_trace_end(&t);
	assert_int_equal(card_trace_count(&t, "QUERY_QP"), 1);
	card_trace_free(&t);
	rig_drain(1, 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {T(test_own),     T(test_none), T(test_row),
					   T(test_stalled), T(test_kept), T(test_idle)};

	if (rig_eal("mlx4hol", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
