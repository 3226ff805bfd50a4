/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* How groups treat their frames: spread over queues, pools, checks and marks of what is sent, counters, the default set. */
#include <errno.h>
#include <netinet/in.h>

#include <stdlib.h>

#include <rte_thash.h>

#include "group_rig.h"
#include "rss_vectors.h"

#define RIG_LOOK_MAX 2048

/* Sends vector v to an address; the only queue of port 1 that gets it. */
static uint16_t
queue_of(unsigned int v, const struct rte_ether_addr *dst)
{
	struct rte_mbuf *m = rig_ipv4(IPPROTO_TCP, vector[v].src, vector[v].dst, vector[v].sport, vector[v].dport);
	uint16_t queues = rte_eth_devices[1].data->nb_rx_queues, q, found = UINT16_MAX;

	rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr = *dst;
	rig_send(0, m);
	for (q = 0; q < queues; q++) {
		unsigned int n = group_drain(q);

		if (n == 0)
			continue;
		assert_int_equal(n, 1);
		assert_int_equal(found, UINT16_MAX);
		found = q;
	}
	return found;
}

/* A group of its own with RSS inside: by the published hashes, for a power of two and for another number of queues. */
static void
test_spread(void **state)
{
	struct tp_group g = group_conf("spread", 1, TP_VLAN_ANY, 3, 4);
	struct rte_ether_addr mac = group_mac(1);
	unsigned int v;

	group_start(8, NULL);
	g.rss = TP_RSS_TCP4;
	group_add(&g, 4);
	for (v = 0; v < RTE_DIM(vector); v++)
		assert_int_equal(queue_of(v, &mac), 3 + vector[v].hash % 4);
	/* 32 rings for three queues: shares of 11, 11 and 10. */
	g = group_conf("spread", 1, TP_VLAN_ANY, 5, 3);
	g.rss = TP_RSS_TCP4;
	group_modify(&g, 3);
	for (v = 0; v < RTE_DIM(vector); v++)
		assert_int_equal(queue_of(v, &mac), 5 + vector[v].hash % 32 % 3);
	/* Types that the frames are not of, and none: the first queue. */
	g.rss = TP_RSS_TCP6 | TP_RSS_UDP4;
	group_modify(&g, 3);
	for (v = 0; v < RTE_DIM(vector); v++)
		assert_int_equal(queue_of(v, &mac), 5);
	g.rss = 0;
	group_modify(&g, 1);
	assert_int_equal(queue_of(1, &mac), 5);
	/* A queue that is stopped leaves its share to the others of the group; with none the default queue serves. */
	g.rss = TP_RSS_TCP4;
	group_modify(&g, 3);
	assert_int_equal(rte_eth_dev_rx_queue_stop(1, 6), 0);
	for (v = 0; v < RTE_DIM(vector); v++)
		assert_int_equal(queue_of(v, &mac), vector[v].hash % 2 == 0 ? 5 : 7);
	assert_int_equal(rte_eth_dev_rx_queue_stop(1, 5), 0);
	assert_int_equal(rte_eth_dev_rx_queue_stop(1, 7), 0);
	assert_int_equal(queue_of(1, &mac), 0);
	assert_int_equal(rte_eth_dev_rx_queue_start(1, 7), 0);
	assert_int_equal(queue_of(1, &mac), 7);
}

/* A new key reaches the default set and the groups at once, or none of them. The hashes are DPDK's own. */
static void
test_key(void **state)
{
	const struct rte_eth_conf rss = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
					 .rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP};
	struct tp_group a = group_conf("a", 1, TP_VLAN_ANY, 4, 4), b = group_conf("b", 2, TP_VLAN_ANY, 8, 2);
	struct rte_ether_addr mac_a = group_mac(1), mac_b = group_mac(2), own;
	uint8_t key[MLX4_RSS_KEY_SIZE];
	struct rte_eth_rss_conf conf = {
		.rss_key = key, .rss_key_len = sizeof(key), .rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP};
	uint32_t hash[RTE_DIM(vector)];
	unsigned int v, i, round;

	group_start(10, &rss);
	own = rig_mac(1);
	a.rss = b.rss = TP_RSS_TCP4;
	group_add(&a, 4);
	group_add(&b, 2);
	for (i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)(7 + 29 * i);
	for (v = 0; v < RTE_DIM(vector); v++) {
		uint32_t tuple[3] = {vector[v].src, vector[v].dst, (uint32_t)vector[v].sport << 16 | vector[v].dport};

		hash[v] = rte_softrss(tuple, RTE_DIM(tuple), key);
	}
	assert_int_equal(rte_eth_dev_rss_hash_update(1, &conf), 0);
	/* Then the card refuses another key at the sixth rule, after 4 of the default set and that of the first group. */
	for (round = 0; round < 2; round++) {
		for (v = 0; v < RTE_DIM(vector); v++) {
			assert_int_equal(queue_of(v, &own), hash[v] % 4);
			assert_int_equal(queue_of(v, &mac_a), 4 + hash[v] % 4);
			assert_int_equal(queue_of(v, &mac_b), 8 + hash[v] % 2);
		}
		key[0] ^= 0xff;
		assert_int_equal(tp_model_fault(rig_model(1), TP_FAULT_STATUS, MLX4_CMD_QP_FLOW_STEERING_ATTACH, 6,
						MLX4_STAT_EXCEED_LIM),
				 0);
		if (round == 0)
			assert_int_not_equal(rte_eth_dev_rss_hash_update(1, &conf), 0);
	}
}

/* Rings of all queues do not fit the card: fewer are used, and the answer says so. */
static void
test_cut(void **state)
{
	static uint32_t block[256];
	struct tp_group g = group_conf("g", 1, TP_VLAN_ANY, 1, 3);
	struct rte_ether_addr mac = group_mac(1);
	char err[TP_ERR_LEN];
	struct mlx4_hca *hca;
	unsigned int n = 0;

	group_start(4, NULL);
	g.rss = TP_RSS_TCP4;
	hca = ((struct mlx4_eth *)rte_eth_devices[1].data->dev_private)->hca;
	/* Somebody else has all blocks of 32 numbers that three queues need; pieces are left. */
	while (n < RTE_DIM(block) && mlx4_qpn_reserve(hca, 32, 32, false, &block[n]) == 0)
		n++;
	assert_in_range(n, 1, RTE_DIM(block) - 1);
	assert_int_equal(rte_pmd_mlx4_group_add(1, &g, err), 2);
	assert_non_null(strstr(err, "2 of 3"));
	assert_int_equal(queue_of(0, &mac), 1 + vector[0].hash % 2);
	assert_int_equal(queue_of(4, &mac), 1 + vector[4].hash % 2);
	while (n-- != 0)
		mlx4_qpn_release(hca, block[n], 32);
	/* With room again the whole group is served. */
	assert_int_equal(rte_pmd_mlx4_group_modify(1, &g, err), 3);
	assert_string_equal(err, "");
	assert_int_equal(queue_of(0, &mac), 1 + vector[0].hash % 32 % 3);
}

/* The queues outside of groups: one with rss-or-vmq=vmq, equal shares of the rest else, those of a default group. */
static void
test_default_set(void **state)
{
	const struct rte_eth_conf rss = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
					 .rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP};
	struct tp_group g = group_conf("g", 1, TP_VLAN_ANY, 0, 1), d = group_conf("d", 0, TP_VLAN_ANY, 1, 2);
	struct rte_ether_addr mac;
	unsigned int v;

	group_start(5, &rss);
	mac = rig_mac(1);
	group_add(&g, 1);
	for (v = 0; v < RTE_DIM(vector); v++)
		assert_int_equal(queue_of(v, &mac), 1 + vector[v].hash % 4);
	memset(d.mac, 0, sizeof(d.mac));
	d.is_default = true;
	d.rss = TP_RSS_TCP4;
	group_add(&d, 2);
	for (v = 0; v < RTE_DIM(vector); v++)
		assert_int_equal(queue_of(v, &mac), 1 + vector[v].hash % 2);
	d.rss = 0;
	d.queue[0] = 4;
	group_modify(&d, 1);
	assert_int_equal(queue_of(0, &mac), 4);
	group_remove("d");
	for (v = 0; v < RTE_DIM(vector); v++)
		assert_int_equal(queue_of(v, &mac), 1 + vector[v].hash % 4);
	group_remove("g");
	rig_close();
	rig_open("rss-or-vmq=vmq");
	group_start(5, &rss);
	mac = rig_mac(1);
	for (v = 0; v < RTE_DIM(vector); v++)
		assert_int_equal(queue_of(v, &mac), 0);
	group_add(&g, 1);
	assert_int_equal(queue_of(1, &mac), 1);
}

/* A group's frames lie in buffers of its pool, and go back to it. */
static void
test_pool(void **state)
{
	struct rte_mempool *mp = rte_pktmbuf_pool_create("guest", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct tp_group g = group_conf("g", 1, TP_VLAN_ANY, 1, 1);
	struct rte_ether_addr mac = group_mac(1);
	struct rte_mbuf *m[4];
	unsigned int i, n;

	assert_non_null(mp);
	group_start(2, NULL);
	group_add(&g, 1);
	snprintf(g.mempool, sizeof(g.mempool), "guest");
	group_modify(&g, 1);
	for (i = 0; i < 3; i++) {
		m[0] = rig_frame(&mac, RIG_FRAME);
		rig_send(0, m[0]);
	}
	for (i = 0, n = 0; i < 4; i++)
		n += rte_eth_rx_burst(1, 1, m + n, (uint16_t)(RTE_DIM(m) - n));
	assert_int_equal(n, 3);
	for (i = 0; i < n; i++)
		assert_ptr_equal(m[i]->pool, mp);
	rte_pktmbuf_free_bulk(m, n);
	group_remove("g");
	group_drain(1);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_mempool_in_use_count(mp), 0);
	rte_mempool_free(mp);
}

/* A frame of len bytes to dst, received by queue 1: its segments. The bytes count up behind the header. */
static struct rte_mbuf *
received(const struct rte_ether_addr *dst, uint16_t len)
{
	struct rte_mbuf *m = NULL;
	uint8_t copy[RIG_LOOK_MAX];
	const uint8_t *p;
	unsigned int i;
	uint16_t at;

	rig_send(0, rig_frame(dst, len));
	for (i = 0; m == NULL && i < 4; i++)
		rte_eth_rx_burst(1, 1, &m, 1);
	assert_non_null(m);
	assert_int_equal(m->pkt_len, len);
	p = rte_pktmbuf_read(m, 0, len, copy);
	assert_non_null(p);
	for (at = RTE_ETHER_HDR_LEN; at < len; at++)
		assert_int_equal(p[at], (uint8_t)at);
	return m;
}

/* Headers in a buffer of their own, switched on and off while the port runs. */
static void
test_lookahead(void **state)
{
	struct tp_group g = group_conf("g", 1, TP_VLAN_ANY, 1, 1);
	struct rte_ether_addr mac = group_mac(1), own;
	char err[TP_ERR_LEN];
	struct rte_mbuf *m;
	unsigned int i;

	group_start(2, NULL);
	group_add(&g, 1);
	for (i = 0; i < 3; i++) {
		m = received(&mac, 200);
		assert_int_equal(m->nb_segs, 1);
		rte_pktmbuf_free(m);
		g.lookahead = 64;
		group_modify(&g, 1);
		m = received(&mac, 200);
		assert_int_equal(m->nb_segs, 2);
		assert_int_equal(m->data_len, 64);
		assert_int_equal(m->next->data_len, 136);
		rte_pktmbuf_free(m);
		m = received(&mac, 1514);
		assert_int_equal(m->nb_segs, 2);
		assert_int_equal(m->next->data_len, 1450);
		rte_pktmbuf_free(m);
		m = received(&mac, 64);
		assert_int_equal(m->nb_segs, 1);
		rte_pktmbuf_free(m);
		/* The other queue has its frames whole. */
		own = rig_mac(1);
		rig_send(0, rig_frame(&own, 200));
		assert_int_equal(rte_eth_rx_burst(1, 0, &m, 1), 1);
		assert_int_equal(m->nb_segs, 1);
		rte_pktmbuf_free(m);
		g.lookahead = 0;
		group_modify(&g, 1);
	}
	g.lookahead = 31;
	assert_int_equal(rte_pmd_mlx4_group_modify(1, &g, err), -EINVAL);
	g.lookahead = 1025;
	assert_int_equal(rte_pmd_mlx4_group_modify(1, &g, err), -EINVAL);
	assert_non_null(strstr(err, "1024"));
}

/* The default group's pool and split are those of the port's own frames, live, and leave with it. */
static void
test_default_buffers(void **state)
{
	struct rte_mempool *mp = rte_pktmbuf_pool_create("own", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct tp_group g = group_conf("g", 1, TP_VLAN_ANY, 0, 1), d = group_conf("d", 0, TP_VLAN_ANY, 1, 1);
	struct rte_ether_addr own, mac = group_mac(1);
	struct rte_mbuf *m;
	unsigned int i;

	assert_non_null(mp);
	group_start(3, NULL);
	own = rig_mac(1);
	group_add(&g, 1);
	group_drain(0);
	memset(d.mac, 0, sizeof(d.mac));
	d.is_default = true;
	group_add(&d, 1);
	for (i = 0; i < 3; i++) {
		snprintf(d.mempool, sizeof(d.mempool), "%s", i == 1 ? "own" : "");
		d.lookahead = i == 1 ? 48 : 0;
		group_modify(&d, 1);
		m = received(&own, 300);
		assert_ptr_equal(m->pool, i == 1 ? mp : group_pool());
		assert_int_equal(m->nb_segs, i == 1 ? 2 : 1);
		assert_int_equal(m->data_len, i == 1 ? 48 : 300);
		if (i == 1)
			assert_ptr_equal(m->next->pool, mp);
		rte_pktmbuf_free(m);
		/* The other group's are as they were. */
		rig_send(0, rig_frame(&mac, 300));
		assert_int_equal(rte_eth_rx_burst(1, 0, &m, 1), 1);
		assert_ptr_equal(m->pool, group_pool());
		assert_int_equal(m->nb_segs, 1);
		rte_pktmbuf_free(m);
	}
	snprintf(d.mempool, sizeof(d.mempool), "own");
	group_modify(&d, 1);
	group_drain(1);
	group_remove("d");
	group_drain(1);
	m = received(&own, 300);
	assert_ptr_equal(m->pool, group_pool());
	rte_pktmbuf_free(m);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_mempool_in_use_count(mp), 0);
	rte_mempool_free(mp);
}

static unsigned int
sent_on(uint16_t queue, const struct rte_ether_addr *src, uint16_t type)
{
	struct rte_ether_addr dst = rig_mac(0);
	struct rte_mbuf *m = rig_frame(&dst, RIG_FRAME);
	struct rte_ether_hdr *h = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);

	h->src_addr = *src;
	h->ether_type = rte_cpu_to_be_16(type);
	assert_int_equal(rte_eth_tx_burst(1, queue, &m, 1), 1);
	rig_run(1);
	return rig_drain(0, 0);
}

/* What a guest must not send stays here, also over a restart; other queues of the port send what they like. */
static void
test_antispoof(void **state)
{
	struct tp_group g = group_conf("guest", 1, TP_VLAN_ANY, 1, 1);
	struct rte_ether_addr own = group_mac(1), other = group_mac(2);
	struct rte_pmd_mlx4_group_stats st;
	eth_tx_burst_t plain;
	unsigned int i;

	group_start(3, NULL);
	plain = rte_eth_fp_ops[1].tx_pkt_burst;
	g.antispoof_mac = true;
	g.antispoof_type = true;
	group_add(&g, 1);
	assert_ptr_not_equal(rte_eth_fp_ops[1].tx_pkt_burst, plain);
	for (i = 0; i < 2; i++) {
		assert_int_equal(sent_on(1, &own, RTE_ETHER_TYPE_IPV4), 1);
		assert_int_equal(sent_on(1, &own, RTE_ETHER_TYPE_ARP), 1);
		assert_int_equal(sent_on(1, &own, RTE_ETHER_TYPE_IPV6), 1);
		assert_int_equal(sent_on(1, &own, 0x88cc), 0);
		assert_int_equal(sent_on(1, &other, RTE_ETHER_TYPE_IPV4), 0);
		assert_int_equal(sent_on(2, &other, 0x88cc), 1);
		assert_int_equal(sent_on(0, &other, 0x88cc), 1);
		if (i == 0) {
			assert_int_equal(rte_eth_dev_stop(1), 0);
			assert_int_equal(rte_eth_tx_queue_setup(1, 1, RIG_DESC, SOCKET_ID_ANY, NULL), 0);
			assert_int_equal(rte_eth_dev_start(1), 0);
		}
	}
	assert_int_equal(rte_pmd_mlx4_group_stats(1, "guest", &st), 0);
	assert_int_equal(st.tx_frames, 6);
	assert_int_equal(st.spoof_type_drops, 2);
	assert_int_equal(st.spoof_mac_drops, 2);
	/* An entry replaces the defaults; FCoE brings its initialisation protocol; 0 allows lengths. */
	g.num_types = 2;
	g.type[0] = 0x8906;
	g.type[1] = 0;
	group_modify(&g, 1);
	assert_int_equal(sent_on(1, &own, 0x8906), 1);
	assert_int_equal(sent_on(1, &own, 0x8914), 1);
	assert_int_equal(sent_on(1, &own, 46), 1);
	assert_int_equal(sent_on(1, &own, RTE_ETHER_TYPE_IPV4), 0);
	assert_int_equal(rte_eth_stats_reset(1), 0);
	assert_int_equal(rte_pmd_mlx4_group_stats(1, "guest", &st), 0);
	assert_int_equal(st.tx_frames + st.spoof_type_drops + st.spoof_mac_drops, 0);
	assert_int_equal(sent_on(1, &other, 0x8906), 0);
	assert_int_equal(rig_xstat(1, "tx_spoof_mac_drops"), 1);
	assert_int_equal(rig_xstat(1, "tx_spoof_type_drops"), 0);
	assert_int_equal(sent_on(1, &own, RTE_ETHER_TYPE_IPV4), 0);
	assert_int_equal(sent_on(1, &own, RTE_ETHER_TYPE_ARP), 0);
	assert_int_equal(rig_xstat(1, "tx_spoof_mac_drops"), 1);
	assert_int_equal(rig_xstat(1, "tx_spoof_type_drops"), 2);
	/* Without it the port sends by the plain function again. */
	group_remove("guest");
	assert_ptr_equal(rte_eth_fp_ops[1].tx_pkt_burst, plain);
	assert_int_equal(sent_on(1, &other, 0x88cc), 1);
}

/* Priority, rate, mark, lifetime and dropless mode reach the queues and leave them with the group. */
static void
test_queue_policies(void **state)
{
	struct tp_group g = group_conf("g", 1, TP_VLAN_ANY, 1, 1);
	struct rte_pmd_mlx4_txq_policy tx;
	struct tp_qos_port qos;
	char err[TP_ERR_LEN];
	uint32_t units;

	group_start(3, NULL);
	assert_int_equal(rte_pmd_mlx4_qos_get(1, &qos), 0);
	qos.tx_pfc = qos.rx_pfc = 1u << 3;
	assert_int_equal(rte_pmd_mlx4_qos_set(1, &qos, err), 0);
	g.prio = 3;
	g.pfc = 1;
	g.rate_mbps = 500;
	g.dscp = 26;
	g.delay_drop = 50;
	group_add(&g, 1);
	assert_int_equal(rte_pmd_mlx4_txq_policy_get(1, 1, &tx), 0);
	assert_int_equal(tx.prio, 3);
	assert_int_equal(tx.rate_mbps, 500);
	assert_int_equal(rte_pmd_mlx4_dropless_get(1, 1, &units, NULL), 0);
	assert_int_equal(units, 50);
	assert_int_equal(rte_pmd_mlx4_txq_policy_get(1, 2, &tx), 0);
	assert_int_equal(tx.prio, 0);
	/* The port keeps what the group relies on. */
	qos.tx_pfc = qos.rx_pfc = 0;
	assert_int_equal(rte_pmd_mlx4_qos_set(1, &qos, err), -EINVAL);
	assert_non_null(strstr(err, "group g: pfc"));
	g.pfc = 0;
	assert_int_equal(rte_pmd_mlx4_group_modify(1, &g, err), -EINVAL);
	assert_non_null(strstr(err, "pfc: off"));
	group_remove("g");
	assert_int_equal(rte_pmd_mlx4_txq_policy_get(1, 1, &tx), 0);
	assert_int_equal(tx.prio, 0);
	assert_int_equal(tx.rate_mbps, 0);
	assert_int_equal(rte_pmd_mlx4_dropless_get(1, 1, &units, NULL), 0);
	assert_int_equal(units, 0);
	assert_int_equal(rte_pmd_mlx4_qos_set(1, &qos, err), 0);
}

/* A queue that had a priority, a rate and a time to wait of its own has them again when its group goes. */
static void
test_back_to_its_own(void **state)
{
	struct tp_group g = group_conf("g", 1, TP_VLAN_ANY, 1, 1);
	struct rte_pmd_mlx4_txq_policy tx;
	char err[TP_ERR_LEN];
	uint32_t units;

	group_start(2, NULL);
	rig_log_begin();
	assert_int_equal(rte_pmd_mlx4_dropless_set(1, 1, 50, err), 0);
	assert_int_equal(rte_pmd_mlx4_txq_prio_set(1, 1, 5, err), 0);
	assert_int_equal(rte_eth_set_queue_rate_limit(1, 1, 300), 0);
	g.prio = 2;
	g.rate_mbps = 700;
	group_add(&g, 1);
	assert_int_equal(rte_pmd_mlx4_txq_policy_get(1, 1, &tx), 0);
	assert_int_equal(tx.prio, 2);
	assert_int_equal(tx.rate_mbps, 700);
	assert_int_equal(rte_pmd_mlx4_dropless_get(1, 1, &units, NULL), 0);
	assert_int_equal(units, 0);
	group_remove("g");
	free(rig_log_end(&(unsigned int){0}));
	assert_int_equal(rte_pmd_mlx4_txq_policy_get(1, 1, &tx), 0);
	assert_int_equal(tx.prio, 5);
	assert_int_equal(tx.rate_mbps, 300);
	assert_int_equal(rte_pmd_mlx4_dropless_get(1, 1, &units, NULL), 0);
	assert_int_equal(units, 50);
}

/* What becomes of a group is told: all of it when it comes and goes, the values that change in between. */
static void
test_changes_are_told(void **state)
{
	struct tp_group g = group_conf("web", 1, 100, 1, 2);
	unsigned int lines;
	char *text;

	group_start(4, NULL);
	rig_log_begin();
	group_add(&g, 1);
	group_modify(&g, 1);
	g.rss = TP_RSS_TCP4;
	g.queue[1] = 3;
	g.rate_mbps = 500;
	group_modify(&g, 2);
	g.queue[1] = 9;
	assert_int_equal(rte_pmd_mlx4_group_modify(1, &g, (char[TP_ERR_LEN]){0}), -EINVAL);
	group_remove("web");
	text = rig_log_end(&lines);
	assert_string_equal(text, "mlx4: [group-setting] port 1 group web: added: mac=02:aa:00:00:00:01 vlan=100 "
				  "flood=off queues=1,2\n"
				  "mlx4: [group-setting] port 1 group web: rss: none -> tcp4\n"
				  "mlx4: [group-setting] port 1 group web: queues: 1,2 -> 1,3\n"
				  "mlx4: [group-setting] port 1 group web: rate: 0 -> 500\n"
				  "mlx4: [group-setting] port 1 group web: removed: mac=02:aa:00:00:00:01 vlan=100 "
				  "rss=tcp4 flood=off queues=1,3 rate=500\n");
	free(text);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, group_open, group_close)
	const struct CMUnitTest tests[] = {
		T(test_spread),
		T(test_key),
		T(test_cut),
		T(test_default_set),
		T(test_lookahead),
		T(test_pool),
		T(test_default_buffers),
		T(test_antispoof),
		T(test_queue_policies),
		T(test_back_to_its_own),
		T(test_changes_are_told),
	};

	if (rig_eal("mlx4grpt", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
