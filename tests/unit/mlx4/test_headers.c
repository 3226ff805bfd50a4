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
	uint8_t proto;      /* 6 TCP, 17 UDP */
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
	uint8_t l4 = s->proto == 6 ? 20 + s->tcp_options : 8, i;
	uint16_t l4_len = (uint16_t)(l4 + s->payload), ip_len = (uint16_t)(20 + s->ip_options + l4_len);
	struct bytes f = {.n = 0};

	put(&f, 6, dst.addr_bytes);
	PUT(&f, 2, 0, 0, 0, 0, 9);
	if (s->vlan)
		PUT(&f, 0x81, 0, 0, 5);
	if (s->v6) {
		PUT(&f, 0x86, 0xdd, 0x60, 0, 0, 0, (uint8_t)(l4_len >> 8), (uint8_t)l4_len, s->proto, 64);
		for (i = 0; i < 32; i++)
			PUT(&f, i == 0 || i == 16 ? 0xfd : i);
	} else {
		PUT(&f, 8, 0, (uint8_t)(0x45 + s->ip_options / 4), 0, (uint8_t)(ip_len >> 8), (uint8_t)ip_len, 0, 1,
		    s->fragment ? 0x20 : 0, 0, 64, s->proto, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2);
		for (i = 0; i < s->ip_options; i++)
			PUT(&f, 1);
	}
	if (s->proto == 6)
		PUT(&f, 3, 0xe8, 0, 9, 0, 0, 0, 1, 0, 0, 0, 2, (uint8_t)(l4 / 4 << 4), 0x10, 1, 0, 0, 0, 0, 0);
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

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, f->n), f->b, f->n);
	rig_send(0, m);
	if (rte_eth_rx_burst(1, 0, &got, 1) == 0)
		assert_int_equal(rte_eth_rx_burst(1, 1, &got, 1), 1);
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

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_split),
		T(test_life),
		T(test_empty_pool),
	};

	if (rig_eal("mlx4hdr", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
