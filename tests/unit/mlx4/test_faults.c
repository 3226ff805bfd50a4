/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Every command refused in each part of a port's life; a card that dies under traffic; a port that closes in events. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <rte_epoll.h>

#include "flow_rig.h"

#define QUEUES 3
#define WAIT_MS 30000u /* nobody is that slow, but the card's thread may have to wait for a CPU */
#define RACE_LOOPS 60u
#define TOGGLE_US 50u

/* Lives share nothing, so processes may share the series: "test_mlx4 faults 1 4" has the second of each four lives. */
static unsigned int share, shares = 1;

/* One life, in parts that a command may fail in. Returns the result of the part that failed. */
enum part { CONFIGURE, START, UPDATE, STOP, CLOSE, PARTS };

/* A group's life; what is refused leaves the list as it was. */
static int
groups_update(void)
{
	struct rte_ether_addr mac = {{0x02, 1, 2, 3, 4, 6}};
	struct tp_group g, got;
	char err[TP_ERR_LEN];
	int rc;

	tp_group_default(&g);
	snprintf(g.name, sizeof(g.name), "g");
	memcpy(g.mac, mac.addr_bytes, sizeof(g.mac));
	g.vlan = TP_VLAN_NONE;
	g.num_queues = 1;
	g.queue[0] = 1;
	rc = rte_pmd_mlx4_group_add(1, &g, err);
	if (rc < 0) {
		assert_int_equal(rte_pmd_mlx4_group_get(1, 0, &got), -ENOENT);
		return rc;
	}
	g.vlan = 5;
	g.num_queues = 2;
	g.queue[1] = 2;
	rc = rte_pmd_mlx4_group_modify(1, &g, err);
	assert_int_equal(rte_pmd_mlx4_group_get(1, 0, &got), 0);
	assert_int_equal(got.num_queues, rc < 0 ? 1 : 2);
	if (rc < 0)
		return rc;
	rc = rte_pmd_mlx4_group_remove(1, "g", err);
	assert_int_equal(rte_pmd_mlx4_group_get(1, 0, &got), rc < 0 ? 0 : -ENOENT);
	return rc;
}

static struct rte_flow *flow[3];

/* Rules that a start puts on the card, and that a queue's stop moves. */
static int
flows_create(void)
{
	static const uint16_t all[] = {0, 1, 2, 1};
	const struct rte_flow_action_rss rss = {
		.queue = all, .queue_num = RTE_DIM(all), .types = RTE_ETH_RSS_NONFRAG_IPV4_TCP};
	const struct rte_flow_attr attr = {.ingress = 1};
	const struct {
		struct rte_flow_item item[3];
	} pattern[] = {
		{{ITEM(IPV4), {.type = RTE_FLOW_ITEM_TYPE_END}}},
		{{ITEM(IPV4), ITEM(UDP), {.type = RTE_FLOW_ITEM_TYPE_END}}},
		{{ITEM(IPV4), ITEM(TCP), {.type = RTE_FLOW_ITEM_TYPE_END}}},
	};
	const struct rte_flow_action *actions[] = {ACTIONS(MARK(1), ACTION(RSS, .conf = &rss)),
						   ACTIONS(ACTION(COUNT), QUEUE(1)), ACTIONS(ACTION(DROP))};
	unsigned int i;

	memset(flow, 0, sizeof(flow));
	for (i = 0; i < RTE_DIM(flow); i++) {
		flow[i] = rte_flow_create(1, &attr, pattern[i].item, actions[i], NULL);
		if (flow[i] == NULL)
			return -rte_errno;
	}
	return 0;
}

static int
flows_destroy(void)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < RTE_DIM(flow); i++)
		if (flow[i] != NULL)
			rc |= rte_flow_destroy(1, flow[i], NULL);
	return rc;
}

static int
part_run(enum part p)
{
	struct rte_eth_conf conf = {
		.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS, .mtu = 1400},
		.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP,
	};
	struct rte_ether_addr mc = {{0x01, 0x00, 0x5e, 0, 0, 1}}, mac = {{0x02, 1, 2, 3, 4, 5}};
	struct rte_eth_rss_conf rss = {.rss_hf = RTE_ETH_RSS_NONFRAG_IPV6_TCP};
	struct rte_eth_stats st;
	int rc = 0;

	switch (p) {
	case CONFIGURE:
		rc = rig_configure(1, QUEUES, QUEUES, &conf, rig_pool());
		rc = rc != 0 ? rc : rig_short_table(1);
		return rc != 0 ? rc : flows_create();
	case START: return rte_eth_dev_start(1);
	case UPDATE:
		rc |= rte_eth_dev_set_mc_addr_list(1, &mc, 1);
		rc |= rte_eth_dev_mac_addr_add(1, &mac, 0);
		rc |= rte_eth_promiscuous_enable(1);
		rc |= rte_eth_promiscuous_disable(1);
		rc |= rte_eth_dev_rss_hash_update(1, &rss);
		rc |= rte_eth_dev_rx_queue_stop(1, 1);
		rc |= rte_eth_dev_rx_queue_start(1, 1);
		rc |= flows_destroy();
		rc |= flows_create();
		rc |= rte_flow_isolate(1, 1, NULL);
		rc |= rte_flow_isolate(1, 0, NULL);
		rc |= rte_eth_dev_tx_queue_stop(1, 2);
		rc |= rte_eth_dev_tx_queue_start(1, 2);
		rc |= groups_update();
		rc |= rte_eth_dev_set_mtu(1, 1300);
		rc |= rte_eth_stats_get(1, &st);
		rc |= rte_eth_stats_reset(1);
		return rc;
	case STOP: return rte_eth_dev_stop(1);
	default: return rte_eth_dev_close(1);
	}
}

/* Commands of each part of an undisturbed life. */
static void
count_commands(uint64_t *count)
{
	struct rte_pmd_mlx4_model m;
	enum part p;

	rig_open("");
	for (p = CONFIGURE; p < PARTS; p++) {
		assert_int_equal(rte_pmd_mlx4_model_get(0, &m), 0);
		count[p] = m.commands;
		assert_int_equal(part_run(p), 0);
		assert_int_equal(rte_pmd_mlx4_model_get(0, &m), 0);
		count[p] = m.commands - count[p];
	}
	rig_close();
}

/* What a caller of start must find after a refusal: a stopped port, which starts at the next try if the card lives. */
static void
check_after(enum part p, int rc)
{
	struct rte_pmd_mlx4_device d;

	if (p != START || rc == 0)
		return;
	assert_int_equal(rte_eth_devices[1].data->dev_started, 0);
	if (rte_pmd_mlx4_device_get(1, &d) == 0)
		assert_int_equal(rte_eth_dev_start(1), 0);
}

/* An error has a text that names the card; only a question for the link may fail without stopping a start. */
static void
check_text(enum part p, int rc, uint64_t nth)
{
	unsigned int lines;
	char *text = rig_log_end(&lines);

	if (rc != 0 && (lines == 0 || strstr(text, "mlx4: " RIG_DEV) == NULL))
		fail_msg("part %d, command %" PRIu64 ": error %d, %u lines:\n%s", (int)p, nth, rc, lines, text);
	if (p == START && rc == 0 && strstr(text, "QUERY_PORT") == NULL && strstr(text, "fatal error") == NULL)
		fail_msg("start succeeds although its command %" PRIu64 " is refused:\n%s", nth, text);
	free(text);
}

static void
fail_each(enum tp_fault kind)
{
	uint64_t count[PARTS], n;
	enum part p, i;
	size_t before;
	int rc;

	count_commands(count);
	before = rig_heap();
	for (p = CONFIGURE; p < PARTS; p++) {
		print_message("part %d: %u commands\n", (int)p, (unsigned int)count[p]);
		for (n = 1 + share; n <= count[p]; n += shares) {
			rig_log_begin();
			rig_open("");
			for (i = CONFIGURE; i < p; i++)
				assert_int_equal(part_run(i), 0);
			tp_model_fault(rig_model(0), kind, 0, n, MLX4_STAT_INTERNAL_ERR);
			rc = part_run(p);
			check_after(p, rc);
			if (p != CLOSE)
				tp_model_fault(rig_model(0), kind, 0, 0, 0);
			rig_close();
			check_text(p, rc, n);
			assert_int_equal(rig_heap(), before);
		}
	}
}

static void
test_each_refused(void **state)
{
	fail_each(TP_FAULT_STATUS);
}

static void
test_each_catastrophe(void **state)
{
	fail_each(TP_FAULT_CATAS);
}

static void
test_probe_refused(void **state)
{
	/* Those that come more than once; test_control refuses the first of each other one. */
	static const char *const op[] = {"MAP_ICM", "SW2HW_EQ", "QUERY_PORT", "UNMAP_ICM", "HW2SW_EQ", "MAP_FA"};
	char args[80];
	unsigned int i, n;
	size_t before;

	rig_open("");
	rig_close();
	before = rig_heap();
	for (i = 0; i < RTE_DIM(op); i++)
		for (n = 1 + share; n <= 70; n += shares) {
			snprintf(args, sizeof(args), "run=step,fail=%s:%u:4", op[i], n);
			if (rig_plug(RIG_DEV, args) == 0)
				rig_unplug(RIG_DEV);
			assert_int_equal(rte_eth_dev_count_avail(), 0);
			assert_int_equal(rig_heap(), before);
		}
	rig_open("");
	rig_close();
}

static atomic_uint removed, link_changes;

static int
on_removed(uint16_t port, enum rte_eth_event_type type, void *arg, void *ret)
{
	atomic_fetch_add(&removed, 1);
	return 0;
}

static int
on_link(uint16_t port, enum rte_eth_event_type type, void *arg, void *ret)
{
	struct rte_eth_link link;

	rte_eth_link_get_nowait(port, &link);
	atomic_fetch_add(&link_changes, 1);
	return 0;
}

static bool
wait_for(atomic_uint *v, unsigned int wanted)
{
	unsigned int ms;

	for (ms = 0; atomic_load(v) < wanted && ms < WAIT_MS; ms++)
		rte_delay_us_sleep(1000);
	return atomic_load(v) >= wanted;
}

static void
pass_traffic(unsigned int frames)
{
	struct rte_ether_addr dst = rig_mac(1);
	uint64_t end = rte_get_tsc_cycles() + rte_get_tsc_hz() * WAIT_MS / 1000;
	unsigned int sent = 0, got = 0;
	struct rte_mbuf *m;

	while (got < frames && rte_get_tsc_cycles() < end) {
		/* not more than the ring has room for, however long this thread waits for a CPU meanwhile */
		if (sent < frames && sent < got + RIG_DESC / 2) {
			m = rig_frame(&dst, RIG_FRAME);
			if (rte_eth_tx_burst(0, 0, &m, 1) == 1)
				sent++;
			else
				rte_pktmbuf_free(m);
		}
		got += rig_drain(1, 0);
	}
	assert_int_equal(got, frames);
}

static void
start_both(void)
{
	assert_int_equal(rig_plug(RIG_DEV, ""), 0);
	rig_start(0, 1, NULL);
	rig_start(1, 1, NULL);
}

/* A running card that dies: how, and that a new probe is all it takes. */
static void
die(enum tp_fault kind)
{
	struct rte_ether_addr dst;
	struct rte_pmd_mlx4_device d;
	struct rte_mbuf *m;

	start_both();
	rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, on_removed, NULL);
	pass_traffic(500);
	atomic_store(&removed, 0);
	dst = rig_mac(1);
	m = rig_frame(&dst, RIG_FRAME);
	rig_kill_card(kind);
	assert_true(wait_for(&removed, 2));
	assert_int_equal(rte_eth_dev_is_removed(0), 1);
	assert_int_equal(rte_eth_dev_is_removed(1), 1);
	assert_int_equal(rte_pmd_mlx4_device_get(0, &d), -EIO);
	assert_true(d.dead);
	assert_int_equal(rte_eth_tx_burst(0, 0, &m, 1), 0);
	assert_int_equal(rig_drain(1, 0), 0);
	rte_pktmbuf_free(m);
	rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, on_removed, NULL);
	rig_unplug(RIG_DEV);
	assert_int_equal(rte_mempool_in_use_count(rig_pool()), 0);
	start_both();
	pass_traffic(500);
	rig_close();
}

static void
test_death_by_timeout(void **state)
{
	die(TP_FAULT_TIMEOUT);
}

static void
test_death_by_catastrophe(void **state)
{
	die(TP_FAULT_CATAS);
}

/* Two running ports, and the card dies under them. */
static void
kill_running(enum tp_fault kind)
{
	start_both();
	pass_traffic(200);
	rig_kill_card(kind);
	assert_int_equal(rte_eth_dev_is_removed(1), 1);
}

/* A reset revives a card that answers again: both ports work after they were configured, with interrupts. */
static void
revive(enum tp_fault kind)
{
	struct rte_eth_conf conf = {.intr_conf = {.lsc = 1, .rxq = 1}};
	struct rte_ether_addr dst;
	struct rte_epoll_event ev;
	unsigned int round;
	struct rte_mbuf *m;
	size_t before;

	kill_running(kind);
	for (round = 0; round < 3; round++) {
		/* The other port may still be polled. The error of any operation on a dead port is this one. */
		rig_log_begin();
		assert_int_equal(rte_eth_dev_reset(0), -EIO);
		rig_log_one("port 0", "stop port 1 first");
		assert_int_equal(rte_eth_dev_stop(1), 0);
		assert_int_equal(rte_eth_dev_reset(0), 0);
		assert_int_equal(rte_eth_dev_is_removed(0), 0);
		assert_int_equal(rte_eth_dev_is_removed(1), 0);
		assert_int_equal(rte_mempool_in_use_count(rig_pool()), 0);
		/* Its queues are gone, which a start may not trip over. */
		rig_log_begin();
		assert_int_equal(rte_eth_dev_start(1), -EINVAL);
		rig_log_one("port 1", "was not set up");
		rig_start(0, 1, &conf);
		rig_start(1, 1, &conf);
		pass_traffic(500);
		assert_int_equal(rte_eth_dev_rx_intr_ctl_q(1, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, NULL), 0);
		assert_int_equal(rte_eth_dev_rx_intr_enable(1, 0), 0);
		dst = rig_mac(1);
		m = rig_frame(&dst, RIG_FRAME);
		assert_int_equal(rte_eth_tx_burst(0, 0, &m, 1), 1);
		assert_int_equal(rte_epoll_wait(RTE_EPOLL_PER_THREAD, &ev, 1, WAIT_MS), 1);
		assert_int_equal(rig_drain(1, 0), 1);
		rte_eth_dev_callback_register(1, RTE_ETH_EVENT_INTR_LSC, on_link, NULL);
		atomic_store(&link_changes, 0);
		assert_int_equal(rte_pmd_mlx4_model_cable(1, false), 0);
		assert_true(wait_for(&link_changes, 1));
		assert_int_equal(rte_pmd_mlx4_model_cable(1, true), 0);
		assert_true(wait_for(&link_changes, 2));
		rte_eth_dev_callback_unregister(1, RTE_ETH_EVENT_INTR_LSC, on_link, NULL);
		if (round == 0)
			before = rig_heap();
		assert_int_equal(rig_heap(), before);
		rig_kill_card(kind);
		assert_int_equal(rte_eth_dev_is_removed(1), 1);
	}
	rig_close();
}

static void
test_revive_after_timeout(void **state)
{
	revive(TP_FAULT_TIMEOUT);
}

static void
test_revive_after_catastrophe(void **state)
{
	revive(TP_FAULT_CATAS);
}

/* A dead card with stopped ports. */
static void
dead_and_stopped(void)
{
	kill_running(TP_FAULT_CATAS);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rte_eth_dev_stop(1), 0);
}

/* What a port of a card that did not come back says, and that it comes back with the next reset. */
static void
check_not_back(void)
{
	struct rte_pmd_mlx4_device d;

	assert_int_equal(rte_pmd_mlx4_device_get(0, &d), -EIO);
	assert_int_equal(rig_configure(0, 1, 1, NULL, rig_pool()), -EIO);
	assert_int_equal(rte_eth_dev_start(1), -EIO);
}

/* Command nth of the new bring-up fails. Some that are refused are not needed. */
static void
revive_refused(enum tp_fault kind, uint64_t nth)
{
	unsigned int lines;
	char *text;
	int rc;

	dead_and_stopped();
	tp_model_fault(rig_model(0), kind, 0, nth, MLX4_STAT_INTERNAL_ERR);
	rig_log_begin();
	rc = rte_eth_dev_reset(0);
	text = rig_log_end(&lines);
	if (rc != 0 && (rc != -EIO || strstr(text, "port 0: " RIG_DEV " was given up and did not come back") == NULL))
		fail_msg("command %" PRIu64 ": %d, %s", nth, rc, text);
	free(text);
	rig_log_begin();
	if (rc != 0) {
		check_not_back();
		if (nth % 2 == 0)
			rc = rte_eth_dev_reset(1);
	}
	tp_model_fault(rig_model(0), kind, 0, 0, 0);
	if (rc == 0) {
		rig_start(0, 1, NULL);
		rig_start(1, 1, NULL);
		pass_traffic(20);
	}
	rig_close();
	free(rig_log_end(&lines));
}

/* Each command of the new bring-up fails once: -EIO with a text, nothing leaks, and the next reset may succeed. */
static void
test_revive_refused(void **state)
{
	struct rte_pmd_mlx4_model m;
	uint64_t commands, nth;
	size_t before = rig_heap();

	dead_and_stopped();
	assert_int_equal(rte_pmd_mlx4_model_get(0, &m), 0);
	commands = m.commands;
	assert_int_equal(rte_eth_dev_reset(0), 0);
	assert_int_equal(rte_pmd_mlx4_model_get(0, &m), 0);
	commands = m.commands - commands;
	rig_close();
	print_message("%u commands\n", (unsigned int)commands);
	assert_true(commands > 50);
	for (nth = 1 + share; nth <= commands; nth += shares) {
		revive_refused(TP_FAULT_STATUS, nth);
		revive_refused(TP_FAULT_CATAS, nth);
		assert_int_equal(rig_heap(), before);
	}
}

/* The cable goes out and in; the ports hear of it. */
static void
test_link_change(void **state)
{
	struct rte_eth_conf conf = {.intr_conf.lsc = 1};
	struct rte_eth_link link;

	assert_int_equal(rig_plug(RIG_DEV, ""), 0);
	rig_start(0, 1, &conf);
	rig_start(1, 1, &conf);
	rte_eth_dev_callback_register(1, RTE_ETH_EVENT_INTR_LSC, on_link, NULL);
	rte_eth_link_get_nowait(1, &link);
	assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
	assert_int_equal(link.link_speed, RTE_ETH_SPEED_NUM_40G);
	atomic_store(&link_changes, 0);
	assert_int_equal(rte_pmd_mlx4_model_cable(1, false), 0);
	assert_true(wait_for(&link_changes, 1));
	rte_eth_link_get_nowait(1, &link);
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
	assert_int_equal(rig_xstat(1, "link_down_events"), 1);
	assert_int_equal(rte_pmd_mlx4_model_cable(1, true), 0);
	assert_true(wait_for(&link_changes, 2));
	rte_eth_link_get_nowait(1, &link);
	assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
	rte_eth_dev_callback_unregister(1, RTE_ETH_EVENT_INTR_LSC, on_link, NULL);
	rig_close();
}

static atomic_bool toggling;

static void *
toggle(void *arg)
{
	bool plugged = false;

	while (atomic_load(&toggling)) {
		tp_model_cable(arg, 1, plugged);
		tp_model_cable(arg, 2, plugged);
		plugged = !plugged;
		rte_delay_us_sleep(TOGGLE_US); /* not so fast that events are lost */
	}
	return NULL;
}

/* Link events arrive all the time while one port closes, then the other. */
static void
test_close_in_events(void **state)
{
	struct rte_eth_conf conf = {.intr_conf.lsc = 1};
	unsigned int i, heard = 0;
	pthread_t t;

	for (i = 0; i < RACE_LOOPS; i++) {
		assert_int_equal(rig_plug(RIG_DEV, ""), 0);
		rig_start(0, 1, &conf);
		rig_start(1, 1, &conf);
		rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_LSC, on_link, NULL);
		atomic_store(&link_changes, 0);
		atomic_store(&toggling, true);
		assert_int_equal(pthread_create(&t, NULL, toggle, rig_model(0)), 0);
		wait_for(&link_changes, 1);
		assert_int_equal(rte_eth_dev_stop(i & 1), 0);
		assert_int_equal(rte_eth_dev_close(i & 1), 0);
		heard += atomic_load(&link_changes);
		/* The card goes with its last port, and must not be toggled then. */
		atomic_store(&toggling, false);
		pthread_join(t, NULL);
		rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_LSC, on_link, NULL);
		rig_unplug(RIG_DEV);
		assert_int_equal(rte_eth_dev_count_avail(), 0);
	}
	assert_true(heard >= RACE_LOOPS);
}

#define SERIES 4 /* the others are the first share's */

int
main(int argc, char **argv)
{
	const struct CMUnitTest faults[] = {
		cmocka_unit_test(test_probe_refused),        cmocka_unit_test(test_each_refused),
		cmocka_unit_test(test_each_catastrophe),     cmocka_unit_test(test_revive_refused),
		cmocka_unit_test(test_death_by_timeout),     cmocka_unit_test(test_death_by_catastrophe),
		cmocka_unit_test(test_revive_after_timeout), cmocka_unit_test(test_revive_after_catastrophe),
		cmocka_unit_test(test_link_change),          cmocka_unit_test(test_close_in_events),
	};

	if (argc == 3) {
		share = (unsigned int)atoi(argv[1]);
		shares = (unsigned int)atoi(argv[2]);
	}
	if (share >= shares || rig_eal("mlx4fault", "0") < 0)
		return 1;
	rig_pool();
	return _cmocka_run_group_tests("faults", faults, share == 0 ? RTE_DIM(faults) : SERIES, NULL, NULL);
}
