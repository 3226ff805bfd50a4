/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Control functions of one port from several threads at once, while frames come to a group that none of them touches:
 * each call does what it says, each frame comes once, and what is left is what was there before.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "group_rig.h"

#define QUEUES 12u
#define STABLE_QUEUE 1u
#define OWN_QUEUE 2u /* of the thread that changes single queues */
#define ROUNDS 25u
#define WORKERS 4u
#define SETTLE_MS 30000u
#define BREATH_US 50u

static unsigned int failed, at_work;

/* Asserts of other threads than the first would not end the test. */
static void
want(bool good, const char *what, const char *err)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s\n", what, err);
	__atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
}

/* A group that comes, changes and goes, on three queues of its own. */
static void
groups(unsigned int first, const char *name)
{
	struct rte_pmd_mlx4_group_stats st;
	struct tp_group g = group_conf(name, first, TP_VLAN_ANY, (uint16_t)first, 1), now;
	char err[TP_ERR_LEN];
	unsigned int i, seed = first;

	for (i = 0; i < ROUNDS; i++) {
		want(rte_pmd_mlx4_group_add(1, &g, err) == g.num_queues, "add", err);
		g.num_queues = (uint16_t)(1 + (unsigned int)rand_r(&seed) % 3);
		g.queue[1] = (uint16_t)(first + 1);
		g.queue[2] = (uint16_t)(first + 2);
		g.rss = TP_RSS_ALL;
		g.flood = !g.flood;
		g.prio = i % 8;
		g.antispoof_mac = i % 2 == 0;
		want(rte_pmd_mlx4_group_modify(1, &g, err) == g.num_queues, "modify", err);
		want(rte_pmd_mlx4_group_stats(1, name, &st) == 0 && st.queues_used == g.num_queues, "stats", name);
		want(rte_pmd_mlx4_group_get(1, 0, &now) == 0 && strcmp(now.name, "stable") == 0, "get", "the first");
		want(rte_pmd_mlx4_group_remove(1, name, err) == 0, "remove", err);
	}
}

static void *
groups_a(void *arg)
{
	(void)arg;
	groups(3, "a");
	__atomic_fetch_sub(&at_work, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *
groups_b(void *arg)
{
	(void)arg;
	groups(6, "b");
	__atomic_fetch_sub(&at_work, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *
quality(void *arg)
{
	struct tp_qos_port q, now;
	char err[TP_ERR_LEN];
	unsigned int i;

	(void)arg;
	tp_qos_port_default(&q);
	for (i = 0; i < ROUNDS; i++) {
		q.tx_pause = i % 2 != 0;
		q.mark_dscp = i % 3 == 0;
		q.num_rules = i % 4;
		q.rule[0] = (struct tp_qos_rule){TP_MATCH_TCP, 3, 26, 0, 0};
		q.rule[1] = (struct tp_qos_rule){TP_MATCH_UDP_PORT, 5, -1, 1, 99};
		q.rule[2] = (struct tp_qos_rule){TP_MATCH_DEFAULT, 1, -1, 0, 0};
		q.hol_lifetime_us = i % 5 == 0 ? 100000 : 0;
		want(rte_pmd_mlx4_qos_set(1, &q, err) == 0, "qos", err);
		want(rte_pmd_mlx4_qos_get(1, &now) == 0 && memcmp(&now, &q, sizeof(q)) == 0, "qos", "another one");
		want(rte_pmd_mlx4_txq_prio_set(1, OWN_QUEUE, i % 8, err) == 0, "prio", err);
		want(rte_eth_set_queue_rate_limit(1, OWN_QUEUE, (uint16_t)(i % 2 * 100)) == 0, "rate", "");
		want(rte_pmd_mlx4_dropless_set(1, OWN_QUEUE, i % 3, err) == 0, "dropless", err);
	}
	tp_qos_port_default(&q);
	want(rte_pmd_mlx4_qos_set(1, &q, err) == 0, "qos", err);
	want(rte_pmd_mlx4_dropless_set(1, OWN_QUEUE, 0, err) == 0, "dropless", err);
	__atomic_fetch_sub(&at_work, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *
filters(void *arg)
{
	uint8_t key[MLX4_RSS_KEY_SIZE];
	struct rte_eth_rss_conf conf = {.rss_key = key, .rss_key_len = sizeof(key), .rss_hf = RTE_ETH_RSS_IPV4};
	struct rte_ether_addr mac = group_mac(77), mc = {{1, 0, 0x5e, 0, 0, 9}};
	unsigned int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		memset(key, (int)i, sizeof(key));
		want(rte_eth_dev_rss_hash_update(1, &conf) == 0, "key", "");
		want(rte_eth_dev_mac_addr_add(1, &mac, 0) == 0, "address", "");
		want((i % 2 == 0 ? rte_eth_promiscuous_enable(1) : rte_eth_promiscuous_disable(1)) == 0, "promisc", "");
		want(rte_eth_dev_set_mc_addr_list(1, &mc, i % 2) == 0, "multicast", "");
		want(rte_eth_dev_mac_addr_remove(1, &mac) == 0, "address", "");
		want(rte_eth_stats_reset(1) == 0, "reset", "");
	}
	__atomic_fetch_sub(&at_work, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Nobody but the stable group gets its frames; broadcast is for all who want it. */
static void
poll_others(void)
{
	struct rte_mbuf *m[32];
	uint16_t q, n, i;

	for (q = 0; q < QUEUES; q++) {
		if (q == STABLE_QUEUE)
			continue;
		n = rte_eth_rx_burst(1, q, m, RTE_DIM(m));
		for (i = 0; i < n; i++)
			assert_int_equal(*rte_pktmbuf_mtod(m[i], uint8_t *), 0xff);
		rte_pktmbuf_free_bulk(m, n);
	}
}

/* One burst to the stable group and what came of those before; others get nothing of it. */
static void
traffic(bool send, uint64_t *sent, uint64_t *received)
{
	struct rte_ether_addr mac = group_mac(1), everybody = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
	struct rte_mbuf *m;

	if (send && *sent % 4 == 0) {
		m = rig_frame(&everybody, RIG_FRAME);
		if (rte_eth_tx_burst(0, 0, &m, 1) == 0)
			rte_pktmbuf_free(m);
	}
	if (send && *sent - *received < RIG_DESC / 2) {
		m = rig_frame(&mac, RIG_FRAME);
		if (rte_eth_tx_burst(0, 0, &m, 1) == 1)
			++*sent;
		else
			rte_pktmbuf_free(m);
	}
	*received += rig_drain(1, STABLE_QUEUE);
	poll_others();
}

static void
test_threads(void **state)
{
	static void *(*const work[WORKERS])(void *) = {groups_a, groups_b, quality, filters};
	const struct rte_eth_conf rss = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
					 .rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4};
	struct tp_group stable = group_conf("stable", 1, TP_VLAN_ANY, STABLE_QUEUE, 1);
	struct rte_pmd_mlx4_device before, after;
	pthread_t thread[WORKERS];
	uint64_t sent = 0, received = 0, end;
	unsigned int i;

	assert_int_equal(rig_plug(RIG_DEV, "run=thread,wake-us=100"), 0);
	group_start(QUEUES, &rss);
	/* As if the card gave copies to the port and one group: the second one's come by software. */
	((struct mlx4_eth *)rte_eth_devices[1].data->dev_private)->hca->caps.dmfs_max_qps = 3;
	group_add(&stable, 1);
	poll_others();
	assert_int_equal(rte_pmd_mlx4_device_get(1, &before), 0);
	rte_log_set_level_pattern("pmd.net.mlx4_vfio", RTE_LOG_ERR);
	__atomic_store_n(&at_work, WORKERS, __ATOMIC_RELEASE);
	for (i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, work[i], NULL), 0);
	while (__atomic_load_n(&at_work, __ATOMIC_ACQUIRE) != 0) {
		traffic(true, &sent, &received);
		usleep(BREATH_US); /* the others need a CPU, too */
	}
	for (i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
	end = rte_get_timer_cycles() + rte_get_timer_hz() * SETTLE_MS / 1000;
	while (received < sent && rte_get_timer_cycles() < end)
		traffic(false, &sent, &received);
	assert_int_equal(failed, 0);
	assert_true(sent > ROUNDS);
	assert_int_equal(received, sent);
	/* The pollers have left all rings but the last; the next change gives those back. */
	stable.rss = TP_RSS_ALL;
	group_modify(&stable, 1);
	traffic(false, &sent, &received);
	assert_int_equal(rte_pmd_mlx4_device_get(1, &after), 0);
	/* Queue pairs of the priorities that rules named stay with their queue until it is set up again. */
	assert_in_range(after.qps, before.qps, before.qps + 3 * QUEUES);
	rig_close();
	assert_int_equal(rte_mempool_in_use_count(group_pool()), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};

	if (rig_eal("mlx4grpth", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
