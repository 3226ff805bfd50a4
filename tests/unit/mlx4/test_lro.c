/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Joined segments on the model: kinds of frames are counted as they came, a split of the headers joins or is refused. */
#include <errno.h>

#include <rte_tcp.h>

#include "rig.h"
#include "rte_pmd_mlx4_queue.h"

#define PAYLOAD 100u
#define HEADERS 54u /* Ethernet, IPv4, TCP */
#define SEGMENTS 3u
#define QUEUES 3u
#define LRO RTE_ETH_RX_OFFLOAD_TCP_LRO

static int
setup(void **state)
{
	rig_open("");
	rig_start(0, 1, NULL);
	return 0;
}

/* A segment of 10.0.0.1:1 -> 10.0.0.2:80 with the next data, every octet i of the connection being (uint8_t)i. */
static struct rte_mbuf *
segment(uint32_t n)
{
	struct rte_ether_addr dst = rig_mac(1);
	struct rte_mbuf *m = rig_frame(&dst, HEADERS + PAYLOAD);
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = (void *)(eth + 1);
	struct rte_tcp_hdr *tcp = (void *)(ip + 1);
	uint8_t *data = (uint8_t *)(tcp + 1);
	uint32_t i;

	eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	*ip = (struct rte_ipv4_hdr){.version_ihl = RTE_IPV4_VHL_DEF,
				    .total_length = RTE_BE16(HEADERS - RTE_ETHER_HDR_LEN + PAYLOAD),
				    .packet_id = rte_cpu_to_be_16((uint16_t)n),
				    .time_to_live = 64,
				    .next_proto_id = IPPROTO_TCP,
				    .src_addr = RTE_BE32(RTE_IPV4(10, 0, 0, 1)),
				    .dst_addr = RTE_BE32(RTE_IPV4(10, 0, 0, 2))};
	*tcp = (struct rte_tcp_hdr){.src_port = RTE_BE16(1),
				    .dst_port = RTE_BE16(80),
				    .sent_seq = rte_cpu_to_be_32(n * PAYLOAD),
				    .data_off = 5 << 4,
				    .tcp_flags = RTE_TCP_ACK_FLAG};
	for (i = 0; i < PAYLOAD; i++)
		data[i] = (uint8_t)(n * PAYLOAD + i);
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	tcp->cksum = rte_ipv4_udptcp_cksum(ip, tcp);
	return m;
}

/* Sends the segments and gives what one poll of each queue says. */
static uint16_t
exchange(uint16_t queues, struct rte_mbuf **got, uint16_t room)
{
	uint16_t n = 0, q;
	uint32_t i;

	for (i = 0; i < SEGMENTS; i++)
		rig_send(0, segment(i));
	for (q = 0; q < queues; q++)
		n = (uint16_t)(n + rte_eth_rx_burst(1, q, got + n, (uint16_t)(room - n)));
	return n;
}

/* The whole, by its octets and by the verdict of DPDK on its checksums. */
static void
expect_whole(const struct rte_mbuf *m)
{
	static uint8_t copy[HEADERS + SEGMENTS * PAYLOAD];
	const struct rte_ipv4_hdr *ip = (const void *)(copy + RTE_ETHER_HDR_LEN);
	uint32_t i;

	assert_int_not_equal(m->ol_flags & RTE_MBUF_F_RX_LRO, 0);
	assert_int_equal(m->pkt_len, sizeof(copy));
	for (i = 0; i < sizeof(copy); i++)
		copy[i] = *(const uint8_t *)rte_pktmbuf_read(m, i, 1, &copy[i]);
	assert_int_equal(rte_ipv4_cksum(ip), 0);
	assert_int_equal(rte_ipv4_udptcp_cksum_verify(ip, ip + 1), 0);
	for (i = 0; i < SEGMENTS * PAYLOAD; i++)
		assert_int_equal(copy[HEADERS + i], (uint8_t)i);
}

/* The sum of the kinds is what the port received. */
static void
test_kinds(void **state)
{
	const struct rte_eth_conf conf = {
		.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS, .offloads = LRO},
		.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP,
	};
	struct rte_pmd_mlx4_rx_kinds kinds;
	struct rte_eth_stats stats;
	struct rte_mbuf *got[4];
	uint64_t tcp = 0, all = 0;
	uint16_t q;
	uint32_t i;

	rig_start(1, QUEUES, &conf);
	assert_int_equal(rte_pmd_mlx4_rx_kinds_count(1, true), 0);
	assert_int_equal(exchange(QUEUES, got, RTE_DIM(got)), 1);
	expect_whole(got[0]);
	rte_pktmbuf_free(got[0]);
	assert_int_equal(rig_xstat(1, "rx_lro_events"), 1);
	assert_int_equal(rig_xstat(1, "rx_lro_packets"), SEGMENTS);
	assert_int_equal(rig_xstat(1, "rx_lro_octets"), SEGMENTS * PAYLOAD);
	for (q = 0; q < QUEUES; q++) {
		assert_int_equal(rte_pmd_mlx4_rx_kinds_get(1, q, &kinds), 0);
		tcp += kinds.packets[1][0][RTE_PMD_MLX4_RX_IPV4_TCP];
		for (i = 0; i < sizeof(kinds.packets) / sizeof(uint64_t); i++)
			all += (&kinds.packets[0][0][0])[i];
	}
	assert_int_equal(rte_eth_stats_get(1, &stats), 0);
	assert_int_equal(stats.ipackets, SEGMENTS);
	assert_int_equal(all, SEGMENTS);
	assert_int_equal(tcp, SEGMENTS);
}

static int
split_setup(uint16_t length)
{
	const struct rte_eth_conf conf = {.rxmode.offloads =
						  LRO | RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT | RTE_ETH_RX_OFFLOAD_SCATTER};
	union rte_eth_rxseg seg[2] = {{.split = {.mp = rig_pool(), .length = length}}, {.split = {.mp = rig_pool()}}};
	struct rte_eth_rxconf rx = {.rx_seg = seg, .rx_nseg = 2, .offloads = conf.rxmode.offloads};

	assert_int_equal(rte_eth_dev_configure(1, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_tx_queue_setup(1, 0, RIG_DESC, SOCKET_ID_ANY, NULL), 0);
	return rte_eth_rx_queue_setup(1, 0, RIG_DESC, SOCKET_ID_ANY, &rx, NULL);
}

/* At the end of the headers each buffer behind them is the payload's alone; within them nothing could ever be joined. */
static void
test_split(void **state)
{
	static const uint16_t split[] = {HEADERS, HEADERS + 10};
	struct rte_mbuf *got[4], *m;
	uint32_t i, round;

	for (i = 0; i < RTE_DIM(split); i++) {
		assert_int_equal(split_setup(split[i]), 0);
		assert_int_equal(rte_eth_dev_start(1), 0);
		/* More than the ring holds, so that buffers go round. */
		for (round = 0; round < RIG_DESC; round++) {
			assert_int_equal(exchange(1, got, RTE_DIM(got)), 1);
			expect_whole(got[0]);
			assert_int_equal(got[0]->data_len, split[i]);
			assert_int_equal(got[0]->nb_segs, split[i] == HEADERS ? 1 + SEGMENTS : 2 * SEGMENTS);
			for (m = got[0]; m != NULL; m = m->next)
				assert_int_not_equal(m->data_len, 0);
			rte_pktmbuf_free(got[0]);
		}
		assert_int_equal(rig_xstat(1, "rx_lro_aborts"), 0);
		assert_int_equal(rte_eth_dev_stop(1), 0);
		assert_int_equal(rte_eth_stats_reset(1), 0);
	}
	rig_log_begin();
	assert_int_equal(split_setup(HEADERS - 1), -EINVAL);
	rig_log_one("53 with LRO", "want 54 or more");
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_kinds),
		T(test_split),
	};

	if (rig_eal("mlx4lro", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
