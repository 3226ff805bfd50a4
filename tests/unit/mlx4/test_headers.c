/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Headers in one buffer, payload in the next: where the cut is, what the packet keeps, and what stays whole. */
#include <errno.h>

#include <rte_pmd_mlx4_queue.h>
#include <rte_tcp.h>

#include "rig.h"

#define PAYLOAD 200u
#define FLAGS (RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK)

static const struct rte_eth_conf conf = {
	.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS, .offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM},
	.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |
				       RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP,
};

static int
setup(void **state)
{
	rig_open_pair("", 2, &conf);
	return 0;
}

/* A frame byte by byte: as the standards have it, and nobody's parser. */
struct bytes {
	uint8_t b[512];
	uint16_t n;
};

static void
put(struct bytes *f, unsigned int n, const uint8_t *b)
{
	memcpy(f->b + f->n, b, n);
	f->n = (uint16_t)(f->n + n);
}
#define PUT(f, ...) put(f, sizeof((uint8_t[]){__VA_ARGS__}), (const uint8_t[]){__VA_ARGS__})

struct shape {
	bool vlan, v6, fragment;
	uint8_t proto;      /* 6 TCP, 17 UDP, 132 SCTP */
	uint8_t ip_options; /* octets; of IPv6 a header of 8 or none */
	uint8_t tcp_options;
	uint16_t payload;
	uint16_t headers; /* 0: stays whole */
};

static const struct shape shapes[] = {
	{.proto = 6, .payload = PAYLOAD, .headers = 14 + 20 + 20},
	{.proto = 17, .payload = PAYLOAD, .headers = 14 + 20 + 8},
	{.proto = 6, .tcp_options = 12, .payload = PAYLOAD, .headers = 14 + 20 + 32},
	{.proto = 6, .ip_options = 8, .payload = PAYLOAD, .headers = 14 + 28 + 20},
	{.v6 = true, .proto = 6, .payload = PAYLOAD, .headers = 14 + 40 + 20},
	{.v6 = true, .proto = 17, .payload = PAYLOAD, .headers = 14 + 40 + 8},
	{.vlan = true, .proto = 17, .payload = PAYLOAD, .headers = 18 + 20 + 8},
	{.proto = 17, .payload = 1 + 18, .headers = 14 + 20 + 8},
	{.proto = 1, .payload = PAYLOAD},                    /* ICMP */
	{.proto = 17, .fragment = true, .payload = PAYLOAD}, /* the others of them have no UDP header */
	{.proto = 6, .tcp_options = 20, .payload = 0},       /* nothing is behind them */
};

static struct bytes
frame_of(const struct shape *s)
{
	struct rte_ether_addr dst = rig_mac(1);
	uint8_t l4 = s->proto == 6 ? 20 + s->tcp_options : s->proto == 132 ? 12 : 8, i;
	uint16_t l4_len = (uint16_t)(l4 + s->payload), ip_len = (uint16_t)(20 + s->ip_options + l4_len);
	struct bytes f = {.n = 0};

	put(&f, 6, dst.addr_bytes);
	PUT(&f, 2, 0, 0, 0, 0, 9);
	if (s->vlan)
		PUT(&f, 0x81, 0, 0, 5);
	if (s->v6) {
		ip_len = (uint16_t)(l4_len + s->ip_options);
		PUT(&f, 0x86, 0xdd, 0x60, 0, 0, 0, (uint8_t)(ip_len >> 8), (uint8_t)ip_len,
		    s->ip_options != 0 ? 0 : s->proto, 64);
		for (i = 0; i < 32; i++)
			PUT(&f, i == 0 || i == 16 ? 0xfd : i);
		if (s->ip_options != 0)
			PUT(&f, s->proto, 0, 1, 4, 0, 0, 0, 0);
	} else {
		PUT(&f, 8, 0, (uint8_t)(0x45 + s->ip_options / 4), 0, (uint8_t)(ip_len >> 8), (uint8_t)ip_len, 0, 1,
		    s->fragment ? 0x20 : 0, 0, 64, s->proto, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2);
		for (i = 0; i < s->ip_options; i++)
			PUT(&f, 1);
	}
	if (s->proto == 6)
		PUT(&f, 3, 0xe8, 0, 9, 0, 0, 0, 1, 0, 0, 0, 2, (uint8_t)(l4 / 4 << 4), 0x10, 1, 0, 0, 0, 0, 0);
	else if (s->proto == 132)
		PUT(&f, 3, 0xe8, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0);
	else
		PUT(&f, 3, 0xe8, 0, 9, (uint8_t)(l4_len >> 8), (uint8_t)l4_len, 0, 0);
	for (i = 0; i < s->tcp_options; i++)
		PUT(&f, 1);
	for (i = 0; i < s->payload; i++)
		PUT(&f, (uint8_t)(i + 1));
	return f;
}

static struct rte_mbuf *
pass(const struct bytes *f)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig_pool()), *got = NULL;
	uint16_t i;

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, f->n), f->b, f->n);
	rig_send(0, m);
	/* A poller may go over to new rings first. */
	for (i = 0; i < 8 && got == NULL; i++)
		rte_eth_rx_burst(1, i % 2, &got, 1);
	assert_non_null(got);
	return got;
}

static void
assert_whole(const struct rte_mbuf *m, const struct bytes *f)
{
	assert_int_equal(m->nb_segs, 1);
	assert_int_equal(m->data_len, f->n);
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), f->b, f->n);
}

static void
test_split(void **state)
{
	struct rte_mbuf *whole, *m;
	uint64_t splits = 0;
	unsigned int i;

	for (i = 0; i < RTE_DIM(shapes); i++) {
		const struct bytes f = frame_of(&shapes[i]);
		const uint16_t n = shapes[i].headers;

		whole = pass(&f);
		assert_whole(whole, &f);
		assert_int_equal(rte_pmd_mlx4_header_split_set(1, true), 0);
		m = pass(&f);
		if (n == 0) {
			assert_whole(m, &f);
		} else {
			assert_int_equal(m->nb_segs, 2);
			assert_int_equal(m->pkt_len, f.n);
			assert_int_equal(m->data_len, n);
			assert_memory_equal(rte_pktmbuf_mtod(m, void *), f.b, n);
			assert_int_equal(m->next->data_len, f.n - n);
			assert_memory_equal(rte_pktmbuf_mtod(m->next, void *), f.b + n, f.n - n);
			splits++;
		}
		/* The packet has all that it had before. */
		assert_int_equal(m->packet_type, whole->packet_type);
		assert_int_equal(m->ol_flags & FLAGS, whole->ol_flags & FLAGS);
		assert_int_equal(m->hash.rss, whole->hash.rss);
		assert_int_equal(m->port, 1);
		rte_mbuf_sanity_check(m, 1);
		rte_pktmbuf_free(m);
		rte_pktmbuf_free(whole);
		assert_int_equal(rig_xstat(1, "rx_header_splits"), splits);
		assert_int_equal(rte_pmd_mlx4_header_split_set(1, false), 0);
	}
	assert_int_equal(rig_xstat(1, "rx_header_split_nombuf"), 0);
	assert_int_equal(rte_eth_xstats_reset(1), 0);
	assert_int_equal(rig_xstat(1, "rx_header_splits"), 0);
}

/* Kept over a stop; beside the counters of kinds, which count each packet once. */
static void
test_life(void **state)
{
	const struct bytes f = frame_of(&shapes[0]);
	struct rte_pmd_mlx4_rx_kinds kinds;
	struct rte_mbuf *m;
	uint64_t tcp = 0;
	uint16_t q;
	bool on;

	assert_int_equal(rte_pmd_mlx4_header_split_set(1, true), 0);
	assert_int_equal(rte_pmd_mlx4_rx_kinds_count(1, true), 0);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	rig_run(1);
	m = pass(&f);
	assert_int_equal(m->nb_segs, 2);
	rte_pktmbuf_free(m);
	for (q = 0; q < 2; q++) {
		assert_int_equal(rte_pmd_mlx4_rx_kinds_get(1, q, &kinds), 0);
		tcp += kinds.packets[1][0][RTE_PMD_MLX4_RX_IPV4_TCP];
	}
	assert_int_equal(tcp, 1);
	assert_int_equal(rte_pmd_mlx4_header_split_get(1, &on), 0);
	assert_true(on);
	assert_int_equal(rte_pmd_mlx4_header_split_get(77, &on), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_header_split_set(77, true), -ENODEV);
}

/* No buffer for the headers: the packet comes whole, and is counted. */
static void
test_empty_pool(void **state)
{
	const struct bytes f = frame_of(&shapes[0]);
	struct rte_mempool *mp = rig_pool();
	struct rte_mbuf **all = calloc(mp->size, sizeof(all[0])), *m, *got = NULL;
	unsigned int n = 0;

	assert_non_null(all);
	assert_int_equal(rte_pmd_mlx4_header_split_set(1, true), 0);
	m = rte_pktmbuf_alloc(mp);
	memcpy(rte_pktmbuf_append(m, f.n), f.b, f.n);
	rig_send(0, m);
	while ((all[n] = rte_pktmbuf_alloc(mp)) != NULL)
		n++;
	if (rte_eth_rx_burst(1, 0, &got, 1) == 0)
		assert_int_equal(rte_eth_rx_burst(1, 1, &got, 1), 1);
	assert_whole(got, &f);
	assert_int_equal(rig_xstat(1, "rx_header_split_nombuf"), 1);
	assert_int_equal(rig_xstat(1, "rx_header_splits"), 0);
	rte_pktmbuf_free(got);
	rte_pktmbuf_free_bulk(all, n);
	free(all);
}

/* --- ethdev's buffer split behind the headers of a protocol: of a queue, with a pool of their own ---------------- */

#define ETHER RTE_PTYPE_L2_ETHER
#define V4(l4) (ETHER | RTE_PTYPE_L3_IPV4 | (l4))
#define V6(l4) (ETHER | RTE_PTYPE_L3_IPV6 | (l4))
#define V4X(l4) (ETHER | RTE_PTYPE_L3_IPV4_EXT_UNKNOWN | (l4))
#define V6X(l4) (ETHER | RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | (l4))
#define TCP RTE_PTYPE_L4_TCP
#define UDP RTE_PTYPE_L4_UDP
#define SCTP RTE_PTYPE_L4_SCTP

/* Port 1 again, with one queue that is split there; -errno of its set-up. */
static int
start_split(struct rte_mempool *hdr, uint32_t first, uint32_t second, struct rte_mempool *rest)
{
	static const struct rte_eth_conf split_conf = {.rxmode.offloads = RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT};
	union rte_eth_rxseg seg[2] = {{.split = {.mp = hdr, .proto_hdr = first}},
				      {.split = {.mp = rest, .proto_hdr = second}}};
	struct rte_eth_rxconf rx = {.rx_seg = seg, .rx_nseg = 2, .offloads = RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT};
	int rc;

	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_dev_configure(1, 1, 1, &split_conf), 0);
	rc = rte_eth_rx_queue_setup(1, 0, RIG_DESC, SOCKET_ID_ANY, &rx, NULL);
	if (rc != 0)
		return rc;
	assert_int_equal(rte_eth_tx_queue_setup(1, 0, RIG_DESC, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	rig_run(1);
	return 0;
}

static struct rte_mempool *
header_pool(void)
{
	struct rte_mempool *hdr = rte_pktmbuf_pool_create("hdr", 63, 0, 0, RTE_PKTMBUF_HEADROOM + 142, SOCKET_ID_ANY);

	assert_non_null(hdr);
	return hdr;
}

/* What ethdev names is what can be had. */
static void
test_types(void **state)
{
	static const uint32_t all[] = {ETHER,    V4(0),    V4(TCP),   V4(UDP),  V4(SCTP), V4X(0),
				       V4X(TCP), V4X(UDP), V4X(SCTP), V6(0),    V6(TCP),  V6(UDP),
				       V6(SCTP), V6X(0),   V6X(TCP),  V6X(UDP), V6X(SCTP)};
	struct rte_mempool *hdr = header_pool();
	uint32_t got[RTE_DIM(all) + 1];
	unsigned int i;

	assert_int_equal(rte_eth_buffer_split_get_supported_hdr_ptypes(1, got, RTE_DIM(got)), RTE_DIM(all));
	assert_memory_equal(got, all, sizeof(all));
	for (i = 0; i < RTE_DIM(all); i++)
		assert_int_equal(start_split(hdr, all[i], 0, rig_pool()), 0);
	assert_int_equal(start_split(hdr, V4(RTE_PTYPE_L4_ICMP), 0, rig_pool()), -EINVAL);
	rig_log_begin();
	assert_int_equal(start_split(hdr, ETHER, RTE_PTYPE_L3_IPV4, rig_pool()), -EINVAL);
	rig_log_one("headers 0x10 in the last segment", "wanted 0");
	assert_int_equal(start_split(hdr, ETHER, 0, rig_pool()), 0);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	rte_mempool_free(hdr);
	hdr = rte_pktmbuf_pool_create("hdr", 63, 0, 0, RTE_PKTMBUF_HEADROOM + 141, SOCKET_ID_ANY);
	rig_log_begin();
	assert_int_equal(start_split(hdr, ETHER, 0, rig_pool()), -EINVAL);
	rig_log_one("pool hdr have 269 bytes", "270 or more");
	rte_mempool_free(hdr);
}

static void
test_told(void **state)
{
	static const struct shape tcp4 = {.proto = 6, .tcp_options = 12, .ip_options = 8, .payload = PAYLOAD};
	static const struct shape udp4 = {.proto = 17, .payload = PAYLOAD},
				  tagged = {.vlan = true, .proto = 17, .payload = 19};
	static const struct shape udp6 = {.v6 = true, .proto = 17, .payload = PAYLOAD};
	static const struct shape hop6 = {.v6 = true, .proto = 6, .ip_options = 8, .payload = PAYLOAD};
	static const struct shape tcp6 = {.v6 = true, .proto = 6, .payload = PAYLOAD};
	static const struct shape sctp = {.proto = 132, .payload = PAYLOAD},
				  sctp6 = {.v6 = true, .proto = 132, .payload = 60};
	static const struct shape icmp = {.proto = 1, .payload = PAYLOAD}, bare = {.proto = 6, .tcp_options = 20};
	static const struct shape part = {.proto = 17, .fragment = true, .payload = PAYLOAD};
	/* headers 0: another packet, which stays whole and in the pool of the rest. */
	static const struct {
		uint32_t at;
		const struct shape *s;
		uint16_t headers;
		uint32_t type;
	} t[] = {
		{ETHER, &tcp4, 14, 0},
		{ETHER, &tagged, 18, 0},
		{ETHER, &icmp, 14, 0},
		{V4X(0), &tcp4, 14 + 28, ETHER | RTE_PTYPE_L3_IPV4_EXT | TCP},
		{V4(0), &icmp, 14 + 20, V4(0)},
		{V4(0), &part, 14 + 20, V4(RTE_PTYPE_L4_FRAG)},
		{V4(0), &udp6, 0, 0},
		{V6(0), &udp6, 14 + 40, V6(UDP)},
		{V6(0), &udp4, 0, 0},
		{V4X(TCP), &tcp4, 14 + 28 + 32, ETHER | RTE_PTYPE_L3_IPV4_EXT | TCP},
		{V4(TCP), &tcp4, 0, 0},
		{V6X(TCP), &hop6, 14 + 40 + 8 + 20, ETHER | RTE_PTYPE_L3_IPV6_EXT | TCP},
		{V6X(TCP), &tcp4, 0, 0},
		{V6X(0), &hop6, 14 + 40 + 8, ETHER | RTE_PTYPE_L3_IPV6_EXT | TCP},
		{V6(TCP), &hop6, 0, 0},
		{V4X(UDP), &udp4, 14 + 20 + 8, V4(UDP)},
		{V4X(UDP), &udp6, 0, 0},
		{V6X(UDP), &udp6, 14 + 40 + 8, V6(UDP)},
		{V4(TCP), &bare, 14 + 20 + 40, V4(TCP)},
		{V4(TCP), &udp4, 0, 0},
		{V4(TCP), &tcp6, 0, 0},
		{V4(UDP), &udp4, 14 + 20 + 8, V4(UDP)},
		{V4(UDP), &tagged, 18 + 20 + 8, V4(UDP)},
		{V4(UDP), &part, 0, 0},
		{V4(UDP), &tcp4, 0, 0},
		{V6(UDP), &udp6, 14 + 40 + 8, V6(UDP)},
		{V6(TCP), &tcp6, 14 + 40 + 20, V6(TCP)},
		{V6(TCP), &udp6, 0, 0},
		{V4(SCTP), &sctp, 14 + 20 + 12, V4(SCTP)},
		{V4(SCTP), &udp4, 0, 0},
		{V6(SCTP), &sctp6, 14 + 40 + 12, V6(SCTP)},
	};
	struct rte_mempool *hdr = header_pool();
	struct rte_mbuf *m;
	unsigned int i;

	for (i = 0; i < RTE_DIM(t); i++) {
		const struct bytes f = frame_of(t[i].s);
		const uint16_t n = t[i].headers;

		assert_int_equal(start_split(hdr, t[i].at, 0, rig_pool()), 0);
		assert_int_equal(rte_eth_xstats_reset(1), 0);
		m = pass(&f);
		rte_mbuf_sanity_check(m, 1);
		assert_int_equal(rig_xstat(1, "rx_header_splits"), n != 0);
		if (n == 0) {
			assert_ptr_equal(m->pool, rig_pool());
			assert_whole(m, &f);
		} else {
			assert_ptr_equal(m->pool, hdr);
			assert_int_equal(m->port, 1);
			assert_int_equal(m->pkt_len, f.n);
			assert_int_equal(m->data_len, n);
			assert_memory_equal(rte_pktmbuf_mtod(m, void *), f.b, n);
			assert_int_equal(m->nb_segs, n == f.n ? 1 : 2);
			if (t[i].type != 0)
				assert_int_equal(m->packet_type, t[i].type);
		}
		if (m->nb_segs == 2) {
			assert_ptr_equal(m->next->pool, rig_pool());
			assert_int_equal(m->next->data_len, f.n - n);
			assert_memory_equal(rte_pktmbuf_mtod(m->next, void *), f.b + n, f.n - n);
		}
		rte_pktmbuf_free(m);
		assert_int_equal(rte_mempool_in_use_count(hdr), 0);
	}
	assert_int_equal(rte_eth_dev_stop(1), 0);
	rte_mempool_free(hdr);
}

/* Of two queues one is split by the application, the other by the port's setting or not at all. */
static void
test_told_beside(void **state)
{
	const struct bytes f = frame_of(&shapes[1]);
	struct rte_mempool *hdr = header_pool();
	union rte_eth_rxseg seg[2] = {{.split = {.mp = hdr, .proto_hdr = ETHER}}, {.split = {.mp = rig_pool()}}};
	struct rte_eth_rxconf rx = {.rx_seg = seg, .rx_nseg = 2, .offloads = RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT};
	struct rte_eth_rss_reta_entry64 reta[RTE_ETH_RSS_RETA_SIZE_512 / RTE_ETH_RETA_GROUP_SIZE];
	struct rte_mbuf *all[64], *m;
	struct rte_eth_dev_info info;
	unsigned int i, n = 0;
	uint16_t q;

	assert_int_equal(rte_eth_dev_info_get(1, &info), 0);
	/* While the port runs: bursts learn of it. */
	assert_int_equal(rte_eth_dev_rx_queue_stop(1, 1), 0);
	assert_int_equal(rte_eth_rx_queue_setup(1, 1, RIG_DESC, SOCKET_ID_ANY, &rx, NULL), 0);
	assert_int_equal(rte_eth_dev_rx_queue_start(1, 1), 0);
	for (q = 0; q < 2; q++) {
		memset(reta, 0, sizeof(reta));
		for (i = 0; i < info.reta_size; i++) {
			reta[i / RTE_ETH_RETA_GROUP_SIZE].mask = UINT64_MAX;
			reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE] = q;
		}
		assert_int_equal(rte_eth_dev_rss_reta_update(1, reta, info.reta_size), 0);
		rig_run(1);
		m = pass(&f);
		if (q == 0) {
			assert_whole(m, &f);
			rte_pktmbuf_free(m);
			assert_int_equal(rte_pmd_mlx4_header_split_set(1, true), 0);
			m = pass(&f);
		}
		assert_int_equal(m->data_len, q == 0 ? 14 + 20 + 8 : 14);
		assert_ptr_equal(m->pool, q == 0 ? rig_pool() : hdr);
		rte_pktmbuf_free(m);
	}
	/* The setting goes, the queue's own stays. */
	assert_int_equal(rte_pmd_mlx4_header_split_set(1, false), 0);
	m = pass(&f);
	assert_int_equal(m->data_len, 14);
	rte_pktmbuf_free(m);
	/* Without a buffer for headers the packet comes whole, and is counted. */
	while (n < RTE_DIM(all) && (all[n] = rte_pktmbuf_alloc(hdr)) != NULL)
		n++;
	m = pass(&f);
	assert_whole(m, &f);
	assert_int_equal(rig_xstat(1, "rx_header_split_nombuf"), 1);
	rte_pktmbuf_free(m);
	rte_pktmbuf_free_bulk(all, n);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	rte_mempool_free(hdr);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_split), T(test_life), T(test_empty_pool), T(test_types), T(test_told), T(test_told_beside),
	};

	if (rig_eal("mlx4hdr", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
