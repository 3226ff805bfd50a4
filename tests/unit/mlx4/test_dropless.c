/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Receive queues that drop nothing, and the watch over a receive path that stands still: on a stepped card in virtual time,
 * counting every frame.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "card_trace.h"
#include "drivers/mlx4/qos/qos.h"
#include "drivers/mlx4/rx/queue.h"
#include "drivers/mlx4/rx/sides.h"
#include "rig.h"

#define NS_PER_MS UINT64_C(1000000)
#define REFILL 32 /* buffers that a queue is given at a time: after multiples of it the ring is full again */
#define WAIT_US 10000
#define WAITS 3000

static struct {
	unsigned int n;
	char text[8][TP_ERR_LEN];
	enum rte_pmd_mlx4_qos_event event[8];
	uint16_t index[8];
} seen;

static void
on_event(uint16_t port, enum rte_pmd_mlx4_qos_event event, uint16_t index, const char *text, void *arg)
{
	unsigned int i = seen.n;

	assert_int_equal(port, 1);
	assert_ptr_equal(arg, &seen);
	/* Values that somebody set are not what happens to a queue. */
	if (i == RTE_DIM(seen.text) || event >= RTE_PMD_MLX4_EVENT_PORT_SETTING)
		return;
	snprintf(seen.text[i], sizeof(seen.text[i]), "%s", text);
	seen.event[i] = event;
	seen.index[i] = index;
	__atomic_store_n(&seen.n, i + 1, __ATOMIC_RELEASE);
}

/* The card's events come by the interrupt thread. */
static void
wait_events(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < WAITS && __atomic_load_n(&seen.n, __ATOMIC_ACQUIRE) < n; i++)
		usleep(WAIT_US);
	assert_int_equal(__atomic_load_n(&seen.n, __ATOMIC_ACQUIRE), n);
}

static void
open_with(const char *args)
{
	rig_open(args);
	tp_model_set_time(rig_model(0), NS_PER_MS);
	memset(&seen, 0, sizeof(seen));
}

static int
setup(void **state)
{
	open_with("");
	rig_start(0, 1, NULL);
	rig_start(1, 1, NULL);
	assert_int_equal(rte_pmd_mlx4_qos_on_event(1, on_event, &seen), 0);
	return 0;
}

static int
setup_small_buffer(void **state)
{
	open_with("rxbuf=16384");
	rig_start(0, 1, NULL);
	rig_start(1, 1, NULL);
	assert_int_equal(rte_pmd_mlx4_qos_on_event(1, on_event, &seen), 0);
	return 0;
}

static void
time_is(uint64_t ms)
{
	tp_model_set_time(rig_model(0), ms * NS_PER_MS);
	rig_run(0);
}

static void
send_many(unsigned int n)
{
	struct rte_ether_addr dst = rig_mac(1);

	while (n-- != 0)
		rig_send(0, rig_frame(&dst, RIG_FRAME));
}

/* Takes what there is, giving the card new buffers, until nothing more comes. */
static unsigned int
take_all(void)
{
	unsigned int n, sum = 0;

	do {
		n = rig_drain(1, 0);
		sum += n;
		rig_run(0);
	} while (n != 0);
	return sum;
}

static void
set_ok(uint32_t units)
{
	char err[TP_ERR_LEN];

	if (rte_pmd_mlx4_dropless_set(1, 0, units, err) != 0)
		fail_msg("%s", err);
}

static uint64_t
missed(void)
{
	struct rte_eth_stats st;

	assert_int_equal(rte_eth_stats_get(1, &st), 0);
	return st.imissed;
}

/* More frames than buffers wait; on the expiry of their time they go, and the queue drops until it is armed again. */
static void
test_life(void **state)
{
	enum rte_pmd_mlx4_dropless st;
	uint32_t units;

	rig_log_begin();
	set_ok(50);
	free(rig_log_end(&(unsigned int){0}));
	assert_int_equal(rte_pmd_mlx4_dropless_get(1, 0, &units, &st), 0);
	assert_int_equal(units, 50);
	assert_int_equal(st, RTE_PMD_MLX4_DROPLESS_ON);
	wait_events(1);
	assert_string_equal(seen.text[0], "dropless mode entered on port 1");
	assert_int_equal(seen.event[0], RTE_PMD_MLX4_EVENT_DROPLESS_ENTERED);
	send_many(RIG_DESC + REFILL);
	time_is(5); /* 4 of the 5 ms */
	assert_int_equal(take_all(), RIG_DESC + REFILL);
	assert_int_equal(missed(), 0);
	send_many(RIG_DESC + REFILL);
	time_is(5 + 6);
	wait_events(3);
	assert_string_equal(seen.text[1], "delay-drop timeout occurred on port 1 / queue 0, drop mode entered");
	assert_int_equal(seen.event[1], RTE_PMD_MLX4_EVENT_DROPLESS_TIMEOUT);
	assert_string_equal(seen.text[2], "dropless mode exited on port 1");
	assert_int_equal(rte_pmd_mlx4_dropless_get(1, 0, &units, &st), 0);
	assert_int_equal(units, 50);
	assert_int_equal(st, RTE_PMD_MLX4_DROPLESS_EXPIRED);
	assert_int_equal(take_all(), RIG_DESC);
	assert_int_equal(missed(), REFILL);
	send_many(RIG_DESC + 7);
	assert_int_equal(take_all(), RIG_DESC);
	assert_int_equal(missed(), REFILL + 7);
	/* For ever: a day later they are still there. */
	rig_log_begin();
	set_ok(RTE_PMD_MLX4_DROPLESS_FOREVER);
	free(rig_log_end(&(unsigned int){0}));
	wait_events(4);
	assert_string_equal(seen.text[3], "dropless mode entered on port 1");
	send_many(RIG_DESC + 9);
	time_is(86400000);
	assert_int_equal(take_all(), RIG_DESC + 9);
	assert_int_equal(missed(), REFILL + 7);
	set_ok(0);
	wait_events(5);
	assert_string_equal(seen.text[4], "dropless mode exited on port 1");
	assert_int_equal(rte_pmd_mlx4_dropless_get(1, 0, NULL, &st), 0);
	assert_int_equal(st, RTE_PMD_MLX4_DROPLESS_OFF);
}

/* Without pause frames senders are not stopped: that is said, once, and only then. */
static void
test_warning(void **state)
{
	struct rte_eth_fc_conf fc = {.mode = RTE_ETH_FC_TX_PAUSE};
	unsigned int lines;
	char *text;

	rig_log_begin();
	set_ok(10);
	text = rig_log_end(&lines);
	assert_non_null(strstr(text, "without flow control"));
	free(text);
	set_ok(0);
	assert_int_equal(rte_eth_dev_flow_ctrl_set(1, &fc), 0);
	rig_log_begin();
	set_ok(10);
	text = rig_log_end(&lines);
	assert_null(strstr(text, "flow control"));
	free(text);
}

/* How long frames wait at all rings of a queue, as the card has it. */
static void
rings_wait(const struct mlx4_rx_set *s, uint32_t units)
{
	struct mlx4_eth *eth = rte_eth_devices[1].data->dev_private;
	uint8_t box[MLX4_QP_MBOX_CTX + MLX4_QPC_SIZE];
	unsigned int i;

	for (i = 0; i < s->num_rings; i++) {
		assert_int_equal(mlx4_cmd(eth->hca, MLX4_CMD_QUERY_QP, 0, s->ring[i].qp.qpn, NULL, 0, box, sizeof(box)),
				 0);
		assert_int_equal(prm_get(box + MLX4_QP_MBOX_CTX, MLX4_QPC_DELAY_DROP), units);
	}
}

/* Rings that a live change of the indirection table makes are dropless, too; a card that refuses one of many keeps none. */
static void
test_many_rings(void **state)
{
	struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
				    .rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_UDP};
	struct rte_eth_rss_reta_entry64 reta[2] = {{.mask = 1, .reta = {1}}};
	struct mlx4_eth *eth = rte_eth_devices[1].data->dev_private;
	char err[TP_ERR_LEN];
	const struct mlx4_rx_set *s;
	enum rte_pmd_mlx4_dropless st;
	struct card_trace t;
	unsigned int lines;

	assert_int_equal(rte_eth_dev_stop(1), 0);
	rig_start(1, 3, &conf);
	assert_true(eth->rxqs[0]->set->num_rings > 2);
	assert_int_equal(tp_model_fault(rig_model(1), TP_FAULT_STATUS, MLX4_CMD_UPDATE_QP, 3, MLX4_STAT_BAD_PARAM), 0);
	rig_log_begin();
	card_trace_begin(&t, rig_model(1));
	assert_int_not_equal(rte_pmd_mlx4_dropless_set(1, 0, 5, err), 0);
	card_trace_end(&t);
	free(rig_log_end(&lines));
	assert_non_null(strstr(err, "the card refused"));
	/* Two went through and are taken back; the one that failed is in no trace. */
	assert_int_equal(card_trace_count(&t, "UPDATE_QP"), 4);
	card_trace_free(&t);
	assert_int_equal(rte_pmd_mlx4_dropless_get(1, 0, NULL, &st), 0);
	assert_int_equal(st, RTE_PMD_MLX4_DROPLESS_OFF);
	s = eth->rxqs[0]->set;
	rings_wait(s, 0);
	rig_log_begin();
	set_ok(5);
	free(rig_log_end(&lines));
	rings_wait(s, 5);
	assert_int_equal(rte_eth_dev_rss_reta_update(1, reta, 128), 0);
	rig_drain(1, 0);
	rings_wait(eth->rxqs[0]->set, 5);
	rings_wait(eth->rxqs[1]->set, 0);
}

/* Of two dropless queues the second one's time is over: it is named, and the first one stays as it is. */
static void
test_which_queue(void **state)
{
	const struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
					  .rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_UDP};
	struct rte_eth_rss_reta_entry64 reta[2] = {{.mask = UINT64_MAX}, {.mask = UINT64_MAX}};
	enum rte_pmd_mlx4_dropless st;
	char err[TP_ERR_LEN];
	unsigned int i;

	assert_int_equal(rte_eth_dev_stop(1), 0);
	rig_start(1, 2, &conf);
	for (i = 0; i < 128; i++)
		reta[i / 64].reta[i % 64] = 1;
	assert_int_equal(rte_eth_dev_rss_reta_update(1, reta, 128), 0);
	rig_drain(1, 0);
	rig_drain(1, 1);
	rig_log_begin();
	set_ok(50);
	assert_int_equal(rte_pmd_mlx4_dropless_set(1, 1, 50, err), 0);
	wait_events(1);
	send_many(RIG_DESC + REFILL);
	time_is(5 + 6);
	wait_events(2);
	free(rig_log_end(&i));
	assert_int_equal(seen.event[1], RTE_PMD_MLX4_EVENT_DROPLESS_TIMEOUT);
	assert_int_equal(seen.index[1], 1);
	assert_int_equal(rte_pmd_mlx4_dropless_get(1, 0, NULL, &st), 0);
	assert_int_equal(st, RTE_PMD_MLX4_DROPLESS_ON);
	assert_int_equal(rte_pmd_mlx4_dropless_get(1, 1, NULL, &st), 0);
	assert_int_equal(st, RTE_PMD_MLX4_DROPLESS_EXPIRED);
	assert_int_equal(rig_drain(1, 1), RIG_DESC);
}

/* What was set for a queue's number holds for the queue that a new configuration makes, on the card, too. */
static void
test_configured_again(void **state)
{
	struct mlx4_eth *eth = rte_eth_devices[1].data->dev_private;
	uint32_t units;

	rig_log_begin();
	set_ok(50);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	rig_start(1, 2, NULL);
	free(rig_log_end(&(unsigned int){0}));
	assert_int_equal(rte_pmd_mlx4_dropless_get(1, 0, &units, NULL), 0);
	assert_int_equal(units, 50);
	rings_wait(eth->rxqs[0]->set, 50);
	assert_int_equal(rte_pmd_mlx4_dropless_get(1, 1, &units, NULL), 0);
	assert_int_equal(units, 0);
	send_many(RIG_DESC + REFILL);
	time_is(5); /* 4 of the 5 ms */
	assert_int_equal(take_all(), RIG_DESC + REFILL);
	assert_int_equal(missed(), 0);
	set_ok(0);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	rig_start(1, 1, NULL);
	assert_int_equal(rte_pmd_mlx4_dropless_get(1, 0, &units, NULL), 0);
	assert_int_equal(units, 0);
}

static void
test_refusals(void **state)
{
	char err[TP_ERR_LEN];

	open_with("");
	rig_start(0, 1, NULL);
	assert_int_equal(rte_pmd_mlx4_dropless_set(0, 0, 65536, err), -EINVAL);
	assert_non_null(strstr(err, "65536, want 0..65535"));
	assert_int_equal(rte_pmd_mlx4_dropless_set(0, 1, 5, err), -EINVAL);
	assert_non_null(strstr(err, "queue 1"));
	assert_int_equal(rte_pmd_mlx4_dropless_set(9, 0, 5, err), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_dropless_get(9, 0, NULL, NULL), -ENODEV);
	rig_close();
	open_with("fw=2.31.5049");
	rig_start(0, 1, NULL);
	assert_int_equal(rte_pmd_mlx4_dropless_set(0, 0, 5, err), -ENOTSUP);
	assert_non_null(strstr(err, "2.31.5049"));
	assert_non_null(strstr(err, "2.31.5050"));
	assert_int_equal(rte_pmd_mlx4_dropless_set(0, 0, 0, err), 0);
	rig_close();
	open_with("port1=ib");
	rig_start(0, 1, NULL);
	assert_int_equal(rte_pmd_mlx4_dropless_set(0, 0, 5, err), -ENOTSUP);
	assert_non_null(strstr(err, "port 2 of the card is InfiniBand"));
	rig_close();
}

/* The alarm looks by the machine's clock; from now on the test does, by the card's. */
static void
look_by_hand(void)
{
	struct mlx4_eth *eth = rte_eth_devices[1].data->dev_private;

	mlx4_watch_stop(eth);
	mlx4_stall_reset(eth, 0);
}

static void
look(uint64_t ms)
{
	struct mlx4_eth *eth = rte_eth_devices[1].data->dev_private;

	time_is(ms);
	mlx4_qos_lock(eth);
	mlx4_stall_look(eth, ms * 1000);
	mlx4_qos_unlock(eth);
}

static struct rte_pmd_mlx4_stalls
stalls(void)
{
	struct rte_pmd_mlx4_stalls st;

	assert_int_equal(rte_pmd_mlx4_stalls_get(1, &st), 0);
	return st;
}

/* An application that sleeps: its pause frames end after the time that was declared, and come back when it wakes. */
static void
test_stall(void **state)
{
	struct tp_qos_port q;
	struct card_trace t;
	char err[TP_ERR_LEN];
	unsigned int got = 0;
	uint64_t ms;

	tp_qos_port_default(&q);
	q.tx_pfc = 0x01;
	q.rx_untagged_lossless = true;
	q.rx_stall_ms = 100;
	q.rx_stall_minor_ms = 40;
	if (rte_pmd_mlx4_qos_set(1, &q, err) != 0)
		fail_msg("%s", err);
	look_by_hand();
	set_ok(RTE_PMD_MLX4_DROPLESS_FOREVER);
	wait_events(1);
	look(10);
	/* Frames that wait without a pause are no stall: 10 for the sleeping queue, far from full. */
	send_many(10);
	for (ms = 20; ms <= 200; ms += 10)
		look(ms);
	assert_int_equal(stalls().rx_minor, 0);
	got += take_all();
	look(210);
	/* The ring and then the buffer of 16 KiB: it pauses the sender, again and again. */
	send_many(RIG_DESC + 200);
	for (ms = 220; ms < 260; ms += 10) /* the first look sees the pauses begin */
		look(ms);
	assert_true(rig_xstat(1, "tx_prio0_pause") > 2);
	assert_int_equal(stalls().rx_minor, 0);
	look(260); /* 40 ms */
	assert_int_equal(stalls().rx_minor, 1);
	assert_int_equal(stalls().rx_critical, 0);
	for (ms = 270; ms < 320; ms += 10)
		look(ms);
	assert_false(stalls().rx_stalled);
	card_trace_begin(&t, rig_model(1));
	look(320); /* 100 ms */
	card_trace_end(&t);
	assert_true(stalls().rx_stalled);
	assert_int_equal(stalls().rx_critical, 1);
	assert_string_equal(card_trace_box(&t, "SET_PORT", "0x2"), "000: 00000006 00000000 00000000 00000000\n");
	card_trace_free(&t);
	wait_events(2);
	assert_int_equal(seen.event[1], RTE_PMD_MLX4_EVENT_RX_STALL_BEGIN);
	assert_int_equal(seen.index[1], 0);
	/* What was declared is what is shown, and it is in force again when the queue moves. */
	assert_int_equal(rte_pmd_mlx4_qos_get(1, &q), 0);
	assert_int_equal(q.tx_pfc, 0x01);
	look(400);
	assert_true(stalls().rx_stalled);
	got += take_all();
	card_trace_begin(&t, rig_model(1));
	look(410);
	card_trace_end(&t);
	assert_false(stalls().rx_stalled);
	assert_string_equal(card_trace_box(&t, "SET_PORT", "0x2"), "000: 00000006 00000000 00010000 00000000\n");
	card_trace_free(&t);
	wait_events(3);
	assert_int_equal(seen.event[2], RTE_PMD_MLX4_EVENT_RX_STALL_END);
	assert_int_equal(stalls().rx_minor, 1);
	assert_int_equal(rig_xstat(1, "rx_stall_critical"), 1);
	/* Every frame was received or counted as lost. */
	assert_int_equal(got + missed(), 10 + RIG_DESC + 200);
}

/* A card that does not take the change: the watch tries again, and counts no stall before it did. */
static void
test_stall_refused(void **state)
{
	struct tp_qos_port q;
	char err[TP_ERR_LEN];
	uint64_t ms;

	tp_qos_port_default(&q);
	q.tx_pause = true;
	q.rx_stall_ms = 50;
	if (rte_pmd_mlx4_qos_set(1, &q, err) != 0)
		fail_msg("%s", err);
	look_by_hand();
	set_ok(RTE_PMD_MLX4_DROPLESS_FOREVER);
	send_many(RIG_DESC + 200);
	for (ms = 10; ms <= 50; ms += 10)
		look(ms);
	assert_false(stalls().rx_stalled);
	assert_int_equal(tp_model_fault(rig_model(1), TP_FAULT_STATUS, MLX4_CMD_SET_PORT, 1, MLX4_STAT_BAD_PARAM), 0);
	rig_log_begin();
	look(60);
	free(rig_log_end(&(unsigned int){0}));
	assert_false(stalls().rx_stalled);
	assert_int_equal(stalls().rx_critical, 0);
	look(70);
	assert_true(stalls().rx_stalled);
	/* A port that stops lets its application's pause frames be again. */
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_false(stalls().rx_stalled);
	assert_int_equal(rte_eth_dev_start(1), 0);
}

/* The card's word of a queue that need not wait any more comes too late: nothing is over, and nobody is told. */
static void
test_late_word(void **state)
{
	struct mlx4_eth *eth = rte_eth_devices[1].data->dev_private;
	uint16_t side = 0;
	const struct mlx4_rx_set *set = mlx4_rxq_next_set(eth->rxqs[0], NULL, &side);

	mlx4_dropless_expired(eth, set->ring[0].qp.qpn);
	assert_false(eth->rxqs[0]->delay_drop_over);
	assert_int_equal(seen.n, 0);
}

int
main(void)
{
#define T(f, s) cmocka_unit_test_setup_teardown(f, s, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_life, setup),
		T(test_warning, setup),
		T(test_late_word, setup),
		T(test_many_rings, setup),
		T(test_which_queue, setup),
		T(test_configured_again, setup),
		cmocka_unit_test(test_refusals),
		T(test_stall, setup_small_buffer),
		T(test_stall_refused, setup_small_buffer),
	};

	rig_mbufs = 32767;
	if (rig_eal("mlx4dl", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
