/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Frames counted by kind: hashed or not, by protocol, in tunnels, live, and nothing while nobody asked. */
#include <errno.h>

#include "rig.h"
#include "rte_pmd_mlx4_queue.h"
#include "tests/unit/model/tunnel_frames.h"

#define QUEUES 2

static const struct rte_eth_conf conf = {
	.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
	.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP,
};

static int
setup(void **state)
{
	rig_open_pair("", QUEUES, &conf);
	return 0;
}

/* Three flows of TCP, two of UDP, a frame without IP. */
static void
frames(void)
{
	struct rte_ether_addr dst = rig_mac(1);
	uint16_t i;

	for (i = 0; i < 5; i++)
		rig_send(0, rig_ipv4(i < 3 ? IPPROTO_TCP : IPPROTO_UDP, RTE_IPV4(10, 0, 0, 1), RTE_IPV4(10, 0, 0, 2),
				     (uint16_t)(1000 + i), 80));
	rig_send(0, rig_frame(&dst, RIG_FRAME));
	assert_int_equal(rig_drain(1, 0) + rig_drain(1, 1), 6);
}

/* The sum of the queues. */
static struct rte_pmd_mlx4_rx_kinds
sum(void)
{
	struct rte_pmd_mlx4_rx_kinds all = {0}, one;
	unsigned int q, i;

	for (q = 0; q < QUEUES; q++) {
		assert_int_equal(rte_pmd_mlx4_rx_kinds_get(1, (uint16_t)q, &one), 0);
		all.counting = one.counting;
		for (i = 0; i < sizeof(all.packets) / sizeof(uint64_t); i++)
			(&all.packets[0][0][0])[i] += (&one.packets[0][0][0])[i];
	}
	return all;
}

static void
expect(bool counting, uint64_t times)
{
	struct rte_pmd_mlx4_rx_kinds want = {.counting = counting}, is = sum();

	want.packets[1][0][RTE_PMD_MLX4_RX_IPV4_TCP] = 3 * times;
	want.packets[1][0][RTE_PMD_MLX4_RX_IPV4_UDP] = 2 * times;
	want.packets[0][0][RTE_PMD_MLX4_RX_OTHER] = times;
	assert_memory_equal(is.packets, want.packets, sizeof(is.packets));
	assert_int_equal(is.counting, want.counting);
}

static void
test_kinds(void **state)
{
	const eth_rx_burst_t plain = rte_eth_fp_ops[1].rx_pkt_burst;

	frames();
	expect(false, 0);
	assert_int_equal(rte_pmd_mlx4_rx_kinds_count(1, true), 0);
	assert_ptr_not_equal(rte_eth_fp_ops[1].rx_pkt_burst, plain);
	frames();
	expect(true, 1);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	rig_run(1);
	frames();
	expect(true, 2);
	/* Off, it costs nothing: the burst is that of a port that never counted. */
	assert_int_equal(rte_pmd_mlx4_rx_kinds_count(1, false), 0);
	assert_ptr_equal(rte_eth_fp_ops[1].rx_pkt_burst, plain);
	frames();
	expect(false, 2);
	assert_int_equal(rte_eth_stats_reset(1), 0);
	expect(false, 0);
}

/* scapy's frames: VXLAN over IPv4 around TCP, NVGRE around TCP, VXLAN over IPv6 around UDP. */
static void
tunnels(void)
{
	static const struct {
		const uint8_t *d;
		uint16_t len;
	} f[] = {
		{vxlan_tcp4, sizeof(vxlan_tcp4)},
		{nvgre_tcp4, sizeof(nvgre_tcp4)},
		{vxlan6_udp6, sizeof(vxlan6_udp6)},
	};
	struct rte_ether_addr dst = rig_mac(1);
	struct rte_mbuf *m;
	unsigned int i;

	for (i = 0; i < RTE_DIM(f); i++) {
		m = rig_frame(&dst, f[i].len);
		memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, 6), f[i].d + 6, f[i].len - 6u);
		rig_send(0, m);
	}
	assert_int_equal(rig_drain(1, 0) + rig_drain(1, 1), RTE_DIM(f));
}

/* The protocols inside, once the port knows tunnels; the outer addresses spread, those of IPv6 do not here. */
static void
test_tunnels(void **state)
{
	struct rte_eth_udp_tunnel vxlan = {.udp_port = 4789, .prot_type = RTE_ETH_TUNNEL_TYPE_VXLAN};
	struct rte_pmd_mlx4_rx_kinds want = {0}, is;

	assert_int_equal(rte_pmd_mlx4_rx_kinds_count(1, true), 0);
	tunnels();
	want.packets[1][0][RTE_PMD_MLX4_RX_IPV4_UDP] = 1;
	want.packets[1][0][RTE_PMD_MLX4_RX_IPV4] = 1;
	want.packets[0][0][RTE_PMD_MLX4_RX_IPV6_UDP] = 1;
	is = sum();
	assert_memory_equal(is.packets, want.packets, sizeof(is.packets));
	assert_int_equal(rte_eth_stats_reset(1), 0);
	assert_int_equal(rte_eth_dev_udp_tunnel_port_add(1, &vxlan), 0);
	tunnels();
	memset(&want, 0, sizeof(want));
	want.packets[1][1][RTE_PMD_MLX4_RX_IPV4_TCP] = 2;
	want.packets[0][1][RTE_PMD_MLX4_RX_IPV6_UDP] = 1;
	is = sum();
	assert_memory_equal(is.packets, want.packets, sizeof(is.packets));
}

static void
test_refusals(void **state)
{
	struct rte_pmd_mlx4_rx_kinds kinds;

	assert_int_equal(rte_pmd_mlx4_rx_kinds_count(77, true), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_rx_kinds_get(77, 0, &kinds), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_rx_kinds_get(1, QUEUES, &kinds), -EINVAL);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_kinds),
		T(test_tunnels),
		T(test_refusals),
	};

	if (rig_eal("mlx4kin", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
