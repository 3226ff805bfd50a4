/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What is told to a failover pair goes to both of its ports, or to none; how pairs are made and what they count. */
#include <errno.h>

#include "mlx4_prm.h"
#include "pair_rig.h"

#define INTERNAL_ERR 0x01u

/* --- control operations ---------------------------------------------------------------------------------------------- */

static void
test_settings(void **state)
{
	const struct rte_ether_addr other = {{0x02, 0, 0, 0, 0, 0x66}}, peer_mac = rig_mac(peer);
	struct rte_ether_addr at_pair, at_peer;
	struct tp_ipoib_pair_info i = pair_info();
	uint16_t mtu;

	assert_int_equal(rig_configure(pair, 1, 1, NULL, rig_pool()), 0);
	assert_int_equal(rte_eth_dev_set_mtu(pair, 4093), -EINVAL);
	assert_int_equal(rte_eth_dev_set_mtu(pair, 1600), 0);
	assert_int_equal(pr_info(i.member[0]).mtu, 1600);
	assert_int_equal(pr_info(i.member[1]).mtu, 1600);
	assert_int_equal(rte_eth_dev_set_mtu(pair, 1500), 0);
	assert_int_equal(rte_eth_dev_default_mac_addr_set(pair, (struct rte_ether_addr *)(uintptr_t)&other), 0);
	pair_all_up(1);
	assert_int_equal(rte_eth_dev_get_mtu(pair, &mtu), 0);
	assert_int_equal(mtu, 1500);
	pr_meet(pair, IP_A, peer, IP_B, &at_pair, &at_peer);
	for (unsigned int k = 0; k < 2; k++) {
		pair_make_active(1 - k);
		pr_meet(pair, IP_A, peer, IP_B, &at_pair, &at_peer);
		pr_send(peer, 0, pr_udp(&peer_mac, &at_peer, IP_B, IP_A, 60));
		pr_expect(pair, &at_pair, &other, IP_B, IP_A, 60);
	}
}

static void
get_rss(uint16_t port, uint16_t *queue, uint8_t key[40], uint64_t *hf)
{
	struct rte_eth_rss_reta_entry64 reta[2] = {{.mask = UINT64_MAX}, {.mask = UINT64_MAX}};
	struct rte_eth_rss_conf conf = {.rss_key = key, .rss_key_len = 40};

	assert_int_equal(rte_eth_dev_rss_reta_query(port, reta, 128), 0);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(port, &conf), 0);
	*queue = reta[1].reta[63];
	*hf = conf.rss_hf;
}

static void
same_rss(uint16_t queue, uint8_t key0, uint64_t hf)
{
	struct tp_ipoib_pair_info i = pair_info();
	const uint16_t ports[] = {pair, i.member[0], i.member[1]};
	uint8_t key[40];
	unsigned int k;
	uint64_t got;
	uint16_t q;

	for (k = 0; k < RTE_DIM(ports); k++) {
		get_rss(ports[k], &q, key, &got);
		assert_int_equal(q, queue);
		assert_int_equal(key[0], key0);
		assert_true(got == hf);
	}
}

/* Both ports spread alike: changes go to both, or to none when the second one's card refuses. */
static void
test_rss(void **state)
{
	struct rte_eth_rss_reta_entry64 reta[2] = {{.mask = UINT64_MAX}, {.mask = UINT64_MAX}};
	uint8_t key[40] = {0x5a, 1, 2, 3};
	struct rte_eth_rss_conf conf = {.rss_key = key, .rss_key_len = 40, .rss_hf = RTE_ETH_RSS_IPV4};

	pair_all_up(2);
	reta[1].reta[63] = 0;
	assert_int_equal(rte_eth_dev_rss_reta_update(pair, reta, 128), 0);
	assert_int_equal(rte_eth_dev_rss_hash_update(pair, &conf), 0);
	same_rss(0, 0x5a, RTE_ETH_RSS_IPV4);
	reta[1].reta[63] = 1;
	assert_int_equal(rte_eth_dev_rss_reta_update(pair, reta, 128), 0);
	same_rss(1, 0x5a, RTE_ETH_RSS_IPV4);
	assert_true(rte_eth_dev_rss_reta_update(pair, reta, 64) < 0);

	reta[1].reta[63] = 0;
	assert_int_equal(tp_model_fault(pr_model(1), TP_FAULT_STATUS, MLX4_CMD_RST2INIT_QP, 1, INTERNAL_ERR), 0);
	assert_true(rte_eth_dev_rss_reta_update(pair, reta, 128) < 0);
	same_rss(1, 0x5a, RTE_ETH_RSS_IPV4);
	key[0] = 0x77;
	conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP;
	assert_int_equal(tp_model_fault(pr_model(1), TP_FAULT_STATUS, MLX4_CMD_RST2INIT_QP, 1, INTERNAL_ERR), 0);
	assert_true(rte_eth_dev_rss_hash_update(pair, &conf) < 0);
	same_rss(1, 0x5a, RTE_ETH_RSS_IPV4);
	/* And when the first one's does. */
	assert_int_equal(tp_model_fault(pr_model(0), TP_FAULT_STATUS, MLX4_CMD_RST2INIT_QP, 1, INTERNAL_ERR), 0);
	assert_true(rte_eth_dev_rss_hash_update(pair, &conf) < 0);
	same_rss(1, 0x5a, RTE_ETH_RSS_IPV4);
	assert_int_equal(tp_model_fault(pr_model(0), TP_FAULT_STATUS, MLX4_CMD_RST2INIT_QP, 1, INTERNAL_ERR), 0);
	assert_true(rte_eth_dev_rss_reta_update(pair, reta, 128) < 0);
	same_rss(1, 0x5a, RTE_ETH_RSS_IPV4);
}

static void
queue_is(uint16_t port, uint16_t queue, uint8_t rx, uint8_t tx)
{
	assert_int_equal(rte_eth_devices[port].data->rx_queue_state[queue], rx);
	assert_int_equal(rte_eth_devices[port].data->tx_queue_state[queue], tx);
}

/* One port of the two is at work: nothing is set up, and it is not the other one that has the last word. */
static void
test_one_is_busy(void **state)
{
	struct tp_ipoib_pair_info i = pair_info();

	for (unsigned int k = 0; k < 2; k++) {
		assert_int_equal(rig_configure(pair, 1, 1, NULL, rig_pool()), 0);
		assert_int_equal(rte_eth_dev_start(i.member[k]), 0);
		assert_int_equal(rte_eth_rx_queue_setup(pair, 0, RIG_DESC, SOCKET_ID_ANY, NULL, rig_pool()), -EBUSY);
		assert_int_equal(rte_eth_tx_queue_setup(pair, 0, RIG_DESC, SOCKET_ID_ANY, NULL), -EBUSY);
		assert_int_equal(rte_eth_dev_configure(pair, 1, 1, &(struct rte_eth_conf){0}), -EBUSY);
		assert_int_equal(rte_eth_dev_stop(i.member[k]), 0);
	}
}

/* Single queues of both ports; when the second port refuses, those of none. */
static void
test_queue_states(void **state)
{
	const uint8_t on = RTE_ETH_QUEUE_STATE_STARTED, off = RTE_ETH_QUEUE_STATE_STOPPED;
	struct tp_ipoib_pair_info i = pair_info();

	pair_all_up(2);
	assert_int_equal(rte_eth_dev_rx_queue_stop(pair, 1), 0);
	queue_is(pair, 1, off, on);
	queue_is(i.member[0], 1, off, on);
	queue_is(i.member[1], 1, off, on);
	queue_is(pair, 0, on, on);
	assert_int_equal(rte_eth_dev_tx_queue_stop(pair, 1), 0);
	queue_is(pair, 1, off, off);
	queue_is(i.member[1], 1, off, off);
	assert_int_equal(rte_eth_dev_rx_queue_start(pair, 1), 0);
	assert_int_equal(rte_eth_dev_tx_queue_start(pair, 1), 0);
	queue_is(pair, 1, on, on);
	queue_is(i.member[0], 1, on, on);
	queue_is(i.member[1], 1, on, on);
	assert_int_equal(tp_model_fault(pr_model(1), TP_FAULT_STATUS, MLX4_CMD_RST2INIT_QP, 1, INTERNAL_ERR), 0);
	assert_true(rte_eth_dev_rx_queue_stop(pair, 1) < 0);
	queue_is(pair, 1, on, on);
	queue_is(i.member[0], 1, on, on);
	queue_is(i.member[1], 1, on, on);
	assert_int_equal(tp_model_fault(pr_model(0), TP_FAULT_STATUS, MLX4_CMD_RST2INIT_QP, 1, INTERNAL_ERR), 0);
	assert_true(rte_eth_dev_rx_queue_stop(pair, 1) < 0);
	queue_is(pair, 1, on, on);
	queue_is(i.member[1], 1, on, on);
}

static void
test_start_fails(void **state)
{
	struct tp_ipoib_pair_info i = pair_info();
	unsigned int k;

	assert_int_equal(rig_configure(pair, 1, 1, NULL, rig_pool()), 0);
	for (k = 0; k < 2; k++) {
		assert_int_equal(tp_model_fault(pr_model(k), TP_FAULT_STATUS, MLX4_CMD_SW2HW_CQ, 1, INTERNAL_ERR), 0);
		assert_true(rte_eth_dev_start(pair) < 0);
		assert_int_equal(pr_info(i.member[0]).state, TP_IPOIB_STOPPED);
		assert_int_equal(pr_info(i.member[1]).state, TP_IPOIB_STOPPED);
	}
	pair_all_up(1);
	pair_exchange(&primary_mac);
}

/* --- counters -------------------------------------------------------------------------------------------------------- */

/* The peer's packet goes to the pair's new address: until the peer has heard of that it drops them. */
static bool
peer_reaches(void *m)
{
	const uint64_t dropped = rig_xstat(peer, "drop_tx_no_neighbour");
	struct rte_mbuf *heard;

	while (rte_eth_rx_burst(peer, 0, &heard, 1) == 1)
		rte_pktmbuf_free(heard);
	pr_send(peer, 0, rte_pktmbuf_copy(m, rig_pool(), 0, UINT32_MAX));
	return rig_xstat(peer, "drop_tx_no_neighbour") == dropped;
}

static void
test_counters(void **state)
{
	static const char *const names[] = {"failovers", "failbacks", "moves_asked", "standby_dropped"};
	const struct rte_ether_addr mac = rig_mac(pair), peer_mac = rig_mac(peer);
	struct rte_ether_addr at_pair, at_peer;
	struct tp_ipoib_totals before, t;
	uint64_t announcements;
	struct rte_eth_stats st;
	struct rte_mbuf *m;
	unsigned int k;

	pair_all_up(2);
	pair_exchange(&primary_mac);
	pr_meet(pair, IP_A, peer, IP_B, &at_pair, &at_peer);
	(void)pr_by_burst(pair, peer, &at_pair, IP_A, IP_B);
	assert_int_equal(rte_eth_stats_reset(pair), 0);
	for (k = 0; k < RTE_DIM(names); k++)
		assert_int_equal(rig_xstat(pair, names[k]), 0);
	assert_int_equal(tp_ipoib_totals_get(pair, &before), 0);
	assert_true(before.tx_packets >= 2 && before.rx_packets >= 2);
	for (k = 0; k < 3; k++) {
		pr_send(pair, 1, pr_udp(&mac, &at_pair, IP_A, IP_B, 100));
		rte_pktmbuf_free(pr_take(peer, RTE_ETHER_TYPE_IPV4, NULL));
	}
	pair_make_active(1);
	/* The control thread asks for the path and sends the first one there. */
	for (k = 0; k < 4; k++) {
		pr_send(pair, 0, pr_udp(&mac, &at_pair, IP_A, IP_B, 200));
		rte_pktmbuf_free(pr_take(peer, RTE_ETHER_TYPE_IPV4, NULL));
	}
	pr_send(pair, 0, pr_udp(&mac, &at_pair, IP_A, IP_B, 2045));
	announcements = pair_info().announced;
	assert_int_equal(rte_eth_stats_get(pair, &st), 0);
	assert_int_equal(st.oerrors, 1);
	assert_int_equal(st.q_opackets[1], 3);
	assert_int_equal(st.q_obytes[1], 3 * 114);
	assert_in_range(st.opackets, 7 + announcements, 7 + pair_info().announced);
	assert_int_equal(st.ipackets, 0);
	assert_int_equal(tp_ipoib_totals_get(pair, &t), 0);
	assert_in_range(t.tx_packets - before.tx_packets, 7 + announcements, 7 + pair_info().announced);
	assert_int_equal(t.rx_packets, before.rx_packets);
	assert_int_equal(t.tx_errors, before.tx_errors + 1);
	m = pr_udp(&peer_mac, &backup_mac, IP_B, IP_A, 90);
	pr_until(peer_reaches, m, "the peer knows where the pair is");
	rte_pktmbuf_free(m);
	pr_expect(pair, &at_pair, &mac, IP_B, IP_A, 90);
	/* Hosts were asked to report their groups, too. */
	assert_int_equal(rte_eth_stats_get(pair, &st), 0);
	assert_in_range(st.ipackets, 1, 3);
	assert_in_range(st.ibytes, 104, 104 + 2 * 100);
	assert_int_equal(st.q_ipackets[0] + st.q_ipackets[1], st.ipackets);
	assert_int_equal(st.q_ibytes[0] + st.q_ibytes[1], st.ibytes);
	assert_int_equal(tp_ipoib_totals_get(pair, &t), 0);
	assert_int_equal(t.rx_packets, before.rx_packets + st.ipackets);
	assert_int_equal(t.rx_bytes, before.rx_bytes + st.ibytes);
}

/* --- made and taken away --------------------------------------------------------------------------------------------- */

static void
refused(const char *args, const char *why)
{
	static unsigned int n = 40;
	char name[32];

	/* Of a device that no driver took the bus keeps the name. */
	snprintf(name, sizeof(name), "net_ib_pair%u", n++);
	pr_log_begin();
	if (rig_plug(name, args) == 0)
		fail_msg("taken: %s", args);
	pr_log_end(why, NULL);
	assert_int_equal(rte_eth_dev_count_avail(), 1);
}

static void
test_arguments(void **state)
{
	char longer[320];
	size_t heap = rig_heap();

	refused("primary=" PRIMARY, "wants primary=CARD/PORT and backup=CARD/PORT");
	refused("backup=" PRIMARY, "wants primary=CARD/PORT and backup=CARD/PORT");
	refused("primary=" PRIMARY ",backup=" PRIMARY, PRIMARY " cannot be primary and backup");
	refused("primary=x,backup=" PRIMARY, "primary 'x' is no InfiniBand port");
	refused("primary=" PRIMARY ",backup=net_mlx4_model0", "backup 'net_mlx4_model0' is no InfiniBand port");
	refused(BOTH ",failback=2", "failback '2' is not in 0..1");
	refused(BOTH ",failback=-1", "failback '-1' is not in 0..1");
	refused(BOTH ",failback=", "failback '' is not in 0..1");
	refused(BOTH ",failback=1x", "failback '1x' is not in 0..1");
	refused(BOTH ",failback-delay=600001", "failback-delay '600001' is not in 0..600000");
	refused(BOTH ",port=" PRIMARY, "a pair has primary and backup, not port");
	refused(BOTH ",age=21", "age '21' is not in 1..20");
	refused("primary=" PRIMARY ",backup=net_mlx4_model9/1", "no pair of " PRIMARY " and net_mlx4_model9/1");
	refused("primary=" PR_PORT(2) ",backup=" BACKUP, PR_PORT(2) " has an IPoIB port of P_Key 0xffff");
	snprintf(longer, sizeof(longer), BOTH ",%0255d=1", 7);
	refused(longer, "are longer than 255 characters");
	assert_int_equal(rig_heap(), heap);
	pair_plug("failback=0,failback-delay=600000,pkey=0x8005,mtu=1700");
	assert_false(pair_info().failback);
	assert_int_equal(pair_info().failback_ms, 600000);
	assert_int_equal(pr_info(pair_info().member[1]).pkey, 0x8005);
	assert_int_equal(pr_info(pair_info().member[0]).mtu, 1700);
	rig_unplug("net_ib_pair0");
	pair_plug("");
	assert_true(pair_info().failback);
	assert_int_equal(pair_info().failback_ms, 1000);
}

static void
test_add(void **state)
{
	struct tp_ipoib_pair_conf conf = {
		.device = {PRIMARY, BACKUP}, .port.age = 7, .failback = true, .failback_ms = 50};
	uint16_t port, member[2];
	unsigned int k;
	size_t heap;

	(void)rig_pool();
	heap = rig_heap();
	for (k = 0; k < 2; k++) {
		assert_int_equal(tp_ipoib_pair_add(&conf, &pair), 0);
		assert_string_equal(pair_info().name, "net_ib_pair0");
		assert_int_equal(pair_info().failback_ms, 50);
		assert_int_equal(pr_info(pair_info().member[1]).conf.age, 7);
		assert_int_equal(tp_ipoib_pair_add(&conf, &port), -EEXIST);
		pr_start(pair, 2, 2, rig_pool());
		assert_int_equal(rte_eth_rx_queue_setup(peer, 0, RIG_DESC, SOCKET_ID_ANY, NULL, rig_pool()), -EINVAL);
		memcpy(member, pair_info().member, sizeof(member));
		assert_int_equal(tp_ipoib_pair_rem(pair), -EBUSY);
		assert_int_equal(rte_eth_dev_stop(pair), 0);
		/* Queues that are set up again, or are fewer. */
		assert_int_equal(rte_eth_rx_queue_setup(pair, 1, RIG_DESC, SOCKET_ID_ANY, NULL, rig_pool()), 0);
		assert_int_equal(rte_eth_tx_queue_setup(pair, 1, RIG_DESC, SOCKET_ID_ANY, NULL), 0);
		assert_int_equal(rte_eth_dev_configure(pair, 1, 1, &(struct rte_eth_conf){0}), 0);
		if (k == 1)
			assert_int_equal(rte_eth_dev_close(pair), 0);
		else
			assert_int_equal(tp_ipoib_pair_rem(pair), 0);
		assert_false(rte_eth_dev_is_valid_port(member[0]));
		assert_false(rte_eth_dev_is_valid_port(member[1]));
		assert_int_equal(tp_ipoib_pair_rem(pair), -ENODEV);
		assert_int_equal(tp_ipoib_pair_rem(peer), -ENODEV);
	}
	assert_int_equal(rig_heap(), heap);
	conf.failback = false;
	assert_int_equal(tp_ipoib_pair_add(&conf, &pair), 0);
	assert_false(pair_info().failback);
	strcpy(conf.device[1], PRIMARY);
	assert_int_equal(tp_ipoib_pair_add(&conf, &port), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_settings, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_rss, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_one_is_busy, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_queue_states, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_start_fails, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_counters, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_arguments, pair_setup_cards, pair_teardown),
		cmocka_unit_test_setup_teardown(test_add, pair_setup_cards, pair_teardown),
	};

	if (pr_eal("ipoib_port_pair_ops") < 0)
		return 1;
	return cmocka_run_group_tests_name("ipoib-port_pair_ops", tests, NULL, NULL);
}
