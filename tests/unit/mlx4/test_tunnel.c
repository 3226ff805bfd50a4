/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Tunnels by ethdev on the model: UDP ports, checksums and segments inside, packet types, the inner hash; frames by scapy. */
#include <errno.h>
#include <inttypes.h>

#include "tests/unit/model/frames.h"
#include "tests/unit/model/tunnel_frames.h"
#include "flow_rig.h"

#define INNER_IP 64u /* in vxlan_tcp4 */
#define INNER_TCP 84u
#define RX_ALL (RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_OUTER_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_OUTER_UDP_CKSUM)
#define TX_ALL                                                                                                         \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |                 \
	 RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO | RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO)
#define GOOD (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD)
#define SUMS                                                                                                           \
	(RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK | RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD |                \
	 RTE_MBUF_F_RX_OUTER_L4_CKSUM_MASK)

static const struct rte_eth_conf offloads = {.rxmode.offloads = RX_ALL, .txmode.offloads = TX_ALL};

static int
setup_with(const struct rte_eth_conf *sender, const struct rte_eth_conf *receiver)
{
	rig_open("");
	rig_start(0, 1, sender);
	rig_start(1, 1, receiver);
	return 0;
}

static int
setup(void **state)
{
	return setup_with(&offloads, &offloads);
}

static int
setup_plain(void **state)
{
	return setup_with(NULL, NULL);
}

static int
setup_receiver(void **state)
{
	return setup_with(NULL, &offloads);
}

/* scapy's frame, to port 1's address. */
static struct rte_mbuf *
frame(const uint8_t *d, uint32_t len)
{
	struct rte_ether_addr mac = rig_mac(1);
	struct rte_mbuf *m = rig_frame(&mac, (uint16_t)len);

	memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, 6), d + 6, len - 6);
	return m;
}

/* Sends a frame from port 0 and takes the one that arrives at port 1; NULL: none. */
static struct rte_mbuf *
pass(struct rte_mbuf *m)
{
	struct rte_mbuf *got = NULL;

	rig_send(0, m);
	rte_eth_rx_burst(1, 0, &got, 1);
	return got;
}

static void
expect(struct rte_mbuf *m, uint32_t ptype, uint64_t sums)
{
	assert_non_null(m);
	assert_int_equal(m->packet_type, ptype);
	assert_int_equal(m->ol_flags & SUMS, sums);
	rte_pktmbuf_free(m);
}

static void
test_receive(void **state)
{
	const uint32_t tcp4 = RTE_PTYPE_INNER_L2_ETHER | RTE_PTYPE_INNER_L3_IPV4 | RTE_PTYPE_INNER_L4_TCP;
	const uint32_t over4 = RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4_EXT_UNKNOWN | RTE_PTYPE_TUNNEL_GRENAT;
	struct rte_mbuf *m;

	expect(pass(frame(vxlan_tcp4, sizeof(vxlan_tcp4))), over4 | tcp4, GOOD | RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD);
	expect(pass(frame(nvgre_tcp4, sizeof(nvgre_tcp4))), over4 | tcp4, GOOD);
	expect(pass(frame(vxlan6_udp6, sizeof(vxlan6_udp6))),
	       RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_TUNNEL_GRENAT | RTE_PTYPE_INNER_L2_ETHER |
		       RTE_PTYPE_INNER_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_INNER_L4_UDP,
	       RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD);
	m = frame(vxlan_tcp4, sizeof(vxlan_tcp4));
	*rte_pktmbuf_mtod_offset(m, uint8_t *, 19) ^= 1;             /* outer IP */
	*rte_pktmbuf_mtod_offset(m, uint8_t *, INNER_IP + 5) ^= 1;   /* inner IP */
	*rte_pktmbuf_mtod_offset(m, uint8_t *, INNER_TCP + 21) ^= 1; /* payload */
	expect(pass(m), over4 | tcp4,
	       RTE_MBUF_F_RX_IP_CKSUM_BAD | RTE_MBUF_F_RX_L4_CKSUM_BAD | RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD |
		       RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD);
	/* What is no tunnel is as ever. */
	expect(pass(frame(frame_udp4, sizeof(frame_udp4))), RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP,
	       GOOD);
}

/* Cleared sums come out as scapy had them. */
static void
test_transmit(void **state)
{
	const struct {
		const uint8_t *d;
		uint32_t len;
		uint16_t outer_ip, outer_len, l2, ip, l4; /* offsets, lengths; 0: no IPv4 header */
		uint64_t kind, l4_flag;
	} c[] = {
		{vxlan_tcp4, sizeof(vxlan_tcp4), 24, 20, 30, INNER_IP, INNER_TCP + 16, RTE_MBUF_F_TX_TUNNEL_VXLAN,
		 RTE_MBUF_F_TX_TCP_CKSUM},
		{nvgre_tcp4, sizeof(nvgre_tcp4), 24, 20, 22, 56, 92, RTE_MBUF_F_TX_TUNNEL_GRE, RTE_MBUF_F_TX_TCP_CKSUM},
		{ipip_tcp4, sizeof(ipip_tcp4), 24, 20, 0, 34, 70, RTE_MBUF_F_TX_TUNNEL_IPIP, RTE_MBUF_F_TX_TCP_CKSUM},
		{vxlan6_udp6, sizeof(vxlan6_udp6), 0, 40, 30, 0, 130, RTE_MBUF_F_TX_TUNNEL_VXLAN,
		 RTE_MBUF_F_TX_UDP_CKSUM},
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(c); i++) {
		struct rte_mbuf *m = frame(c[i].d, c[i].len), *got;
		uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);

		m->outer_l2_len = 14;
		m->outer_l3_len = c[i].outer_len;
		m->l2_len = c[i].l2;
		m->l3_len = c[i].ip != 0 ? 20 : 40;
		m->ol_flags |= c[i].kind | c[i].l4_flag;
		if (c[i].outer_ip != 0) {
			m->ol_flags |= RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_OUTER_IPV4;
			memset(p + c[i].outer_ip, 0, 2);
		}
		if (c[i].ip != 0) {
			m->ol_flags |= RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_IPV4;
			memset(p + c[i].ip + 10, 0, 2);
		}
		memset(p + c[i].l4, 0x55, 2);
		assert_int_equal(rte_eth_tx_prepare(0, 0, &m, 1), 1);
		got = pass(m);
		assert_non_null(got);
		assert_int_equal(got->pkt_len, c[i].len);
		assert_memory_equal(rte_pktmbuf_mtod_offset(got, uint8_t *, 6), c[i].d + 6, c[i].len - 6);
		rte_pktmbuf_free(got);
	}
}

/* A large frame inside a tunnel leaves in segments whose sums the receiver finds right. */
static void
test_tso(void **state)
{
	struct rte_mbuf *m = frame(vxlan_tcp4, INNER_TCP + 20), *got;
	struct rte_mbuf *data = rte_pktmbuf_alloc(rig_pool());
	unsigned int i;

	memset(rte_pktmbuf_append(data, 1500), 0x5a, 1500);
	assert_int_equal(rte_pktmbuf_chain(m, data), 0);
	m->outer_l2_len = 14;
	m->outer_l3_len = 20;
	m->l2_len = 30;
	m->l3_len = 20;
	m->l4_len = 20;
	m->tso_segsz = 700;
	m->ol_flags |= RTE_MBUF_F_TX_TUNNEL_VXLAN | RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4 |
		       RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IP_CKSUM;
	got = pass(m);
	for (i = 0; i < 3; i++) {
		const uint8_t *d = rte_pktmbuf_mtod(got, const uint8_t *);
		uint32_t n = i < 2 ? 700 : 100;

		assert_int_equal(got->pkt_len, INNER_TCP + 20 + n);
		assert_int_equal(got->ol_flags & SUMS, GOOD | RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD);
		assert_int_equal(d[38] << 8 | d[39], got->pkt_len - 34); /* UDP length */
		assert_int_equal(plain_sum(0, d + 14, 20), 0xffff);
		rte_pktmbuf_free(got);
		got = NULL;
		rte_eth_rx_burst(1, 0, &got, 1);
	}
	assert_null(got);
}

/* Kinds of tunnels that the card does not know are refused when they ask for something, and go out when they do not. */
static void
test_refused(void **state)
{
	const uint64_t kind[] = {RTE_MBUF_F_TX_TUNNEL_GENEVE, RTE_MBUF_F_TX_TUNNEL_GTP, RTE_MBUF_F_TX_TUNNEL_UDP, 0};
	struct rte_eth_stats stats;
	struct rte_mbuf *m, *got;
	unsigned int i;

	for (i = 0; i < RTE_DIM(kind); i++) {
		m = frame(vxlan_tcp4, sizeof(vxlan_tcp4));
		m->outer_l2_len = 14;
		m->outer_l3_len = 20;
		m->ol_flags |= kind[i];
		got = pass(m);
		assert_non_null(got);
		rte_pktmbuf_free(got);
		m = frame(vxlan_tcp4, sizeof(vxlan_tcp4));
		m->outer_l2_len = 14;
		m->outer_l3_len = 20;
		m->ol_flags |= kind[i] | RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_OUTER_IPV4;
		assert_int_equal(rte_eth_tx_prepare(0, 0, &m, 1), 0);
		assert_int_equal(rte_errno, ENOTSUP);
		assert_null(pass(m)); /* dropped and counted */
	}
	m = frame(vxlan_tcp4, sizeof(vxlan_tcp4));
	m->ol_flags |= RTE_MBUF_F_TX_TUNNEL_VXLAN | RTE_MBUF_F_TX_OUTER_UDP_CKSUM;
	assert_null(pass(m));
	assert_int_equal(rte_eth_stats_get(0, &stats), 0);
	assert_int_equal(stats.oerrors, RTE_DIM(kind) + 1);
}

static int
udp_port(uint16_t port, uint16_t udp, bool add)
{
	struct rte_eth_udp_tunnel t = {.udp_port = udp, .prot_type = RTE_ETH_TUNNEL_TYPE_VXLAN};

	return add ? rte_eth_dev_udp_tunnel_port_add(port, &t) : rte_eth_dev_udp_tunnel_port_delete(port, &t);
}

static bool
is_tunnel(uint16_t udp)
{
	struct rte_mbuf *m = frame(vxlan_tcp4, sizeof(vxlan_tcp4));
	bool yes;

	*rte_pktmbuf_mtod_offset(m, rte_be16_t *, 36) = rte_cpu_to_be_16(udp);
	m = pass(m);
	assert_non_null(m);
	yes = (m->packet_type & RTE_PTYPE_TUNNEL_MASK) != 0;
	rte_pktmbuf_free(m);
	return yes;
}

/* While the port runs, of a card whose ports share one UDP port; over stop and start. */
static void
test_udp_port(void **state)
{
	struct rte_eth_udp_tunnel geneve = {.udp_port = 6081, .prot_type = RTE_ETH_TUNNEL_TYPE_GENEVE};

	assert_false(is_tunnel(4789));
	assert_int_equal(udp_port(1, 8472, true), 0);
	assert_true(is_tunnel(8472));
	assert_false(is_tunnel(4789));
	assert_int_equal(udp_port(1, 8472, true), 0);
	rig_log_begin();
	assert_int_equal(udp_port(0, 4789, true), -EBUSY);
	rig_log_one("4789", "8472");
	rig_log_begin();
	assert_int_equal(udp_port(1, 4789, true), -EBUSY);
	rig_log_one("4789", "8472");
	assert_int_equal(udp_port(1, 4789, false), -ENOENT);
	assert_int_equal(udp_port(1, 0, true), -EINVAL);
	assert_int_equal(rte_eth_dev_udp_tunnel_port_add(1, &geneve), -ENOTSUP);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	assert_true(is_tunnel(8472));
	assert_int_equal(udp_port(0, 8472, true), 0);
	assert_int_equal(udp_port(1, 8472, false), 0);
	assert_false(is_tunnel(8472));
	assert_int_equal(udp_port(0, 8472, false), 0);
	assert_int_equal(udp_port(1, 4789, true), 0);
	assert_true(is_tunnel(4789));
	assert_int_equal(udp_port(1, 4789, false), 0);
	/* One that is closed shares nothing any more. */
	assert_int_equal(udp_port(1, 8472, true), 0);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_dev_close(1), 0);
	assert_int_equal(udp_port(0, 4789, true), 0);
}

/* Offloads of tunnels stay when the port's own UDP port goes: with the one that they have by themselves. */
static void
test_udp_port_of_offloads(void **state)
{
	assert_true(is_tunnel(4789));
	assert_int_equal(udp_port(1, 8472, true), 0);
	assert_true(is_tunnel(8472));
	assert_false(is_tunnel(4789));
	assert_int_equal(udp_port(1, 8472, false), 0);
	assert_true(is_tunnel(4789));
}

/* The key of Microsoft's published hashes. */
static uint8_t published_key[40] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
				    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
				    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

/* The hash that Microsoft publishes for the inner addresses and ports. */
static void
test_inner_hash(void **state)
{
	struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS, .offloads = RX_ALL},
				    .rx_adv_conf.rss_conf = {.rss_key = published_key,
							     .rss_key_len = sizeof(published_key),
							     .rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP |
								       RTE_ETH_RSS_NONFRAG_IPV4_UDP |
								       RTE_ETH_RSS_LEVEL_INNERMOST}};
	struct rte_mbuf *got = NULL;
	uint16_t q;

	assert_int_equal(rte_eth_dev_stop(1), 0);
	rig_start(1, 2, &conf);
	rig_send(0, frame(vxlan_tcp4, sizeof(vxlan_tcp4)));
	for (q = 0; q < 2 && got == NULL; q++)
		rte_eth_rx_burst(1, q, &got, 1);
	assert_non_null(got);
	assert_int_equal(got->hash.rss, 0x51ccc178);
	rte_pktmbuf_free(got);
	conf.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_LEVEL_OUTERMOST;
	assert_int_equal(rte_eth_dev_rss_hash_update(1, &conf.rx_adv_conf.rss_conf), 0);
	rig_drain(1, 0);
	rig_drain(1, 1);
	rig_send(0, frame(vxlan_tcp4, sizeof(vxlan_tcp4)));
	for (q = 0, got = NULL; q < 2 && got == NULL; q++)
		rte_eth_rx_burst(1, q, &got, 1);
	assert_non_null(got);
	assert_int_not_equal(got->hash.rss, 0x51ccc178);
	rte_pktmbuf_free(got);
}

static void
hash_of_flow(const struct rte_flow_action_rss *rss, bool inner)
{
	struct rte_flow *f = flow_add(0, PATTERN(ITEM(ETH), ITEM(IPV4), ITEM(UDP)), ACTIONS(ACTION(RSS, .conf = rss)));
	struct rte_mbuf *got;

	assert_in_range(flow_queue_of(frame(vxlan_tcp4, sizeof(vxlan_tcp4)), 2, &got), 0, 1);
	assert_int_not_equal(got->ol_flags & RTE_MBUF_F_RX_RSS_HASH, 0);
	assert_int_equal(got->hash.rss == 0x51ccc178, inner);
	rte_pktmbuf_free(got);
	flow_remove(f);
}

/* The level of a rule's hash, said by itself or by the types: Microsoft's published hash of the inner headers, or another one. */
static void
test_flow_level(void **state)
{
	static const uint16_t queues[] = {0, 1};
	const uint64_t types = RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP;
	const uint64_t in = RTE_ETH_RSS_LEVEL_INNERMOST, out = RTE_ETH_RSS_LEVEL_OUTERMOST;
	const struct {
		uint32_t level;
		uint64_t types;
		bool inner;
	} good[] = {
		{0, types, false},       {0, types | in, true}, {2, types, true},        {2, types | in, true},
		{0, types | out, false}, {1, types, false},     {1, types | out, false}, {2, 0, true},
		{0, in, true},           {1, 0, false},         {0, 0, false},
	};
	const struct {
		uint32_t level;
		uint64_t types;
		const char *word;
	} bad[] = {
		{3, types, "level 3, want 0..2"},
		{0, types | in | out, "level 3 (types), want 0..2"},
		{1, types | in, "level 1 with types of level 2"},
		{2, types | out, "level 2 with types of level 1"},
	};
	const struct rte_eth_conf conf = {.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS, .offloads = RX_ALL},
					  .rx_adv_conf.rss_conf.rss_hf = types};
	struct rte_eth_rss_conf port = {.rss_hf = types | in};
	struct rte_flow_action_rss rss = {
		.queue = queues, .queue_num = 2, .key = published_key, .key_len = sizeof(published_key)};
	unsigned int i;

	assert_int_equal(rte_eth_dev_stop(1), 0);
	rig_start(1, 2, &conf);
	for (i = 0; i < RTE_DIM(good); i++) {
		print_message("level %u, types 0x%" PRIx64 "\n", good[i].level, good[i].types);
		rss.level = good[i].level;
		rss.types = good[i].types;
		hash_of_flow(&rss, good[i].inner);
	}
	/* Who says nothing of it has the port's. */
	assert_int_equal(rte_eth_dev_rss_hash_update(1, &port), 0);
	rss.level = 0;
	rss.types = types;
	hash_of_flow(&rss, true);
	rss.types = 0;
	hash_of_flow(&rss, true);
	rss.level = 1;
	hash_of_flow(&rss, false);
	for (i = 0; i < RTE_DIM(bad); i++) {
		rss.level = bad[i].level;
		rss.types = bad[i].types;
		flow_refused(&(const struct rte_flow_attr){.ingress = 1}, TO_PORT(1),
			     ACTIONS(ACTION(RSS, .conf = &rss)), RTE_FLOW_ERROR_TYPE_ACTION_CONF, bad[i].word);
	}
}

/* Of a ConnectX-3, which hashes outer headers: both words for them are taken, both for inner ones refused. */
static void
test_flow_level_cx3(void **state)
{
	static const uint16_t queues[] = {0, 1};
	struct rte_flow_action_rss rss = {.queue = queues, .queue_num = 2, .level = 1};
	const struct rte_flow_attr in = {.ingress = 1};

	rig_unplug(RIG_DEV);
	rig_open_pair("type=cx3", 2, NULL);
	flow_remove(flow_add(0, TO_PORT(1), ACTIONS(ACTION(RSS, .conf = &rss))));
	rss.level = 0;
	rss.types = RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_LEVEL_OUTERMOST;
	flow_remove(flow_add(0, TO_PORT(1), ACTIONS(ACTION(RSS, .conf = &rss))));
	rss.types = RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_LEVEL_INNERMOST;
	flow_refused(&in, TO_PORT(1), ACTIONS(ACTION(RSS, .conf = &rss)), RTE_FLOW_ERROR_TYPE_ACTION_CONF,
		     "level 2 (types), want 0..1");
	rss.types = 0;
	rss.level = 2;
	flow_refused(&in, TO_PORT(1), ACTIONS(ACTION(RSS, .conf = &rss)), RTE_FLOW_ERROR_TYPE_ACTION_CONF,
		     "level 2, want 0..1");
}

/* A rule by the network's number and the inner address; without a UDP port there is nothing to compare. */
static void
test_flow(void **state)
{
	const struct rte_flow_item_vxlan vni = {.vni = {0x12, 0x34, 0x56}}, other = {.vni = {0x12, 0x34, 0x57}};
	const struct rte_flow_item_eth inner = {.dst.addr_bytes = {2, 0, 0, 0, 0, 0x77}};
	const struct rte_flow_item_eth stranger = {.dst.addr_bytes = {2, 0, 0, 0, 0, 0x76}};
	const struct rte_flow_item_eth inner_mask = {.dst.addr_bytes = {255, 255, 255, 255, 255, 255}};
	struct rte_mbuf *got;
	struct rte_flow *f;

	flow_refused(&(const struct rte_flow_attr){.ingress = 1}, PATTERN(ITEM(ETH), ITEM(UDP), ITEM(VXLAN)),
		     ACTIONS(MARK(5), QUEUE(0)), RTE_FLOW_ERROR_TYPE_ITEM, "UDP port");
	assert_int_equal(udp_port(1, 4789, true), 0);
	f = flow_add(0,
		     PATTERN(ITEM(ETH), ITEM(IPV4), ITEM(UDP), ITEM(VXLAN, .spec = &vni),
			     ITEM(ETH, .spec = &inner, .mask = &inner_mask)),
		     ACTIONS(MARK(5), QUEUE(0)));
	got = pass(frame(vxlan_tcp4, sizeof(vxlan_tcp4)));
	assert_non_null(got);
	assert_true((got->ol_flags & RTE_MBUF_F_RX_FDIR_ID) != 0);
	assert_int_equal(got->hash.fdir.hi, 5);
	assert_true((got->packet_type & RTE_PTYPE_TUNNEL_MASK) != 0);
	rte_pktmbuf_free(got);
	flow_remove(f);
	/* Another number, and the number with another inner address. */
	for (unsigned int i = 0; i < 2; i++) {
		f = i == 0 ? flow_add(0, PATTERN(ITEM(ETH), ITEM(IPV4), ITEM(UDP), ITEM(VXLAN, .spec = &other)),
				      ACTIONS(MARK(5), QUEUE(0)))
			   : flow_add(0,
				      PATTERN(ITEM(ETH), ITEM(IPV4), ITEM(UDP), ITEM(VXLAN, .spec = &vni),
					      ITEM(ETH, .spec = &stranger, .mask = &inner_mask)),
				      ACTIONS(MARK(5), QUEUE(0)));
		got = pass(frame(vxlan_tcp4, sizeof(vxlan_tcp4)));
		assert_non_null(got);
		assert_int_equal(got->ol_flags & RTE_MBUF_F_RX_FDIR_ID, 0);
		rte_pktmbuf_free(got);
		flow_remove(f);
	}
}

/* A ConnectX-3 offers none of it. */
static void
test_cx3(void **state)
{
	struct rte_eth_dev_info info;

	rig_unplug(RIG_DEV);
	rig_open_pair("type=cx3", 1, NULL);
	assert_int_equal(rte_eth_dev_info_get(1, &info), 0);
	assert_int_equal(info.rx_offload_capa & RX_ALL & ~RTE_ETH_RX_OFFLOAD_CHECKSUM, 0);
	assert_int_equal(info.tx_offload_capa & (RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM |
						 RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO | RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO),
			 0);
	assert_int_equal(info.flow_type_rss_offloads & RTE_ETH_RSS_LEVEL_MASK, 0);
	rig_log_begin();
	assert_int_equal(udp_port(1, 4789, true), -ENOTSUP);
	rig_log_one("tunnels", "Pro");
	assert_false(is_tunnel(4789));
}

#define T(f, up) cmocka_unit_test_setup_teardown(f, up, rig_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_receive, setup),
		T(test_transmit, setup),
		T(test_tso, setup),
		T(test_refused, setup),
		T(test_udp_port, setup_plain),
		T(test_inner_hash, setup),
		T(test_udp_port_of_offloads, setup_receiver),
		T(test_flow, setup_plain),
		T(test_flow_level, setup),
		T(test_flow_level_cx3, setup_plain),
		T(test_cx3, setup_plain),
	};

	if (rig_eal("mlx4tunnel", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
