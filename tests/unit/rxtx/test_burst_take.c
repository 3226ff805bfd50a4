/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What few receive queues ask for: WQEs of several buffers and of two pools, frames that have another one inside, times of
 * arrival. Completions by the data-path reference, chapters 5, 6 and 8.4.
 */
#include <rte_mbuf_dyn.h>

#include "rings.h"
#include "drivers/mlx4/rx/mbuf.h"

static void
put(struct mlx4_cqe *cqe, unsigned int off, unsigned int n, uint64_t v)
{
	uint8_t *p = (uint8_t *)cqe + off;

	while (n-- != 0) {
		p[n] = (uint8_t)v;
		v >>= 8;
	}
}

static void
arrives(struct rings *r, uint32_t qpn_flags, uint16_t status, uint8_t l4_ok, uint32_t len)
{
	struct mlx4_cqe *cqe = rings_rx_cqe(r);

	put(cqe, 0x00, 4, qpn_flags);
	put(cqe, 0x10, 2, status);
	put(cqe, 0x13, 1, l4_ok);
	put(cqe, 0x14, 4, len);
	rings_rx_done(r, cqe, 1);
}

/* The address in a scatter entry is that of its buffer, most significant byte first. */
static void
points_to(const struct mlx4_rx_ring *g, uint32_t i)
{
	const uint8_t *w = (const uint8_t *)&g->wqes[i].addr;
	uint64_t addr = 0;
	unsigned int k;

	for (k = 0; k < 8; k++)
		addr = addr << 8 | w[k];
	assert_true(addr == rte_mbuf_data_iova_default(g->elts[i]));
}

/* One header's buffer and three others a WQE; a WQE gets all of them or none, and what it had got goes home. */
static void
split_buffers(void **state)
{
	static struct rte_mbuf *taken[1024];
	struct rings *r = *state;
	struct mlx4_rx_ring *g = &r->ring[0];
	struct rte_mempool *mp = rte_pktmbuf_pool_create("headers", 255, 0, 0, 256 + RTE_PKTMBUF_HEADROOM, 0);
	struct rte_mbuf *few[255];
	unsigned int i, n;

	assert_non_null(mp);
	g->lg_sges = 2;
	g->hdr_len = 128;
	r->rxq.hdr_mp = mp;
	/* The pool of the rest has 10 buffers: three WQEs of three, and one that stays empty. */
	for (n = 0; n < 1013; n++)
		taken[n] = rte_pktmbuf_alloc(r->pool);
	mlx4_rx_refill(&r->rxq, g);
	assert_int_equal(g->pi, 3);
	assert_int_equal(rte_mempool_in_use_count(mp), 3);
	assert_int_equal(rte_mempool_in_use_count(r->pool), 1013 + 9);
	assert_int_equal(r->rxq.nombuf, RX_WQES - 3);
	/* The pool of headers has two more: so has the ring, then. */
	rte_pktmbuf_free_bulk(taken, n);
	for (n = 0; n < 255 - 3 - 2; n++)
		few[n] = rte_pktmbuf_alloc(mp);
	mlx4_rx_refill(&r->rxq, g);
	assert_int_equal(g->pi, 5);
	assert_int_equal(rte_mempool_avail_count(mp), 0);
	assert_int_equal(rte_mempool_in_use_count(r->pool), 5 * 3);
	rte_pktmbuf_free_bulk(few, n);
	mlx4_rx_refill(&r->rxq, g);
	assert_int_equal(g->pi, RX_WQES);
	assert_int_equal(rte_be_to_cpu_32(r->rx_dbrec[0][0]), RX_WQES);
	for (i = 0; i < 4 * RX_WQES; i++) {
		points_to(g, i);
		assert_ptr_equal(g->elts[i]->pool, i % 4 == 0 ? mp : r->pool);
	}
	rings_drain(r);
	assert_int_equal(rte_mempool_in_use_count(mp), 0);
	rte_mempool_free(mp);
}

/* Buffers of a WQE: as many as the frame needs, and never those of the next one, whatever the card says. */
static void
segments(void **state)
{
	static const struct {
		uint32_t len;
		uint8_t crc, n;
		uint16_t part[4];
	} t[] = {
		{60, 0, 1, {60}},
		{2048, 0, 1, {2048}},
		{2049, 0, 2, {2048, 1}},
		{2052, 4, 1, {2048}},
		{2053, 4, 2, {2048, 1}},
		{4096, 0, 2, {2048, 2048}},
		{8192, 0, 4, {2048, 2048, 2048, 2048}},
		{9000, 0, 4, {2048, 2048, 2048, 2048}},
		{61, 0, 1, {61}},
	};
	struct rings *r = *state;
	const struct rte_mbuf *seg;
	struct rte_mbuf *m, *want;
	unsigned int i, k;

	r->ring[0].lg_sges = 2;
	mlx4_rx_refill(&r->rxq, &r->ring[0]);
	for (i = 0; i < RTE_DIM(t); i++) {
		r->rxq.crc_len = t[i].crc;
		want = r->ring[0].elts[4 * i];
		arrives(r, 0x48, 0, 0, t[i].len);
		assert_int_equal(mlx4_rx_burst_scattered(&r->rxq, &m, 1), 1);
		assert_ptr_equal(m, want);
		assert_int_equal(m->nb_segs, t[i].n);
		for (seg = m, k = 0; seg != NULL; seg = seg->next, k++) {
			assert_int_equal(seg->data_len, t[i].part[k]);
			assert_ptr_equal(seg, r->ring[0].elts[4 * i + k]);
			assert_int_equal(seg->data_off, RTE_PKTMBUF_HEADROOM);
		}
		assert_int_equal(k, t[i].n);
		rte_pktmbuf_free(m);
		/* Buffers that the frame did not need are home, too. */
		assert_int_equal(rte_mempool_in_use_count(r->pool), 4 * (RX_WQES - 1 - i));
	}
}

#define INNER (RTE_PTYPE_L2_ETHER | RTE_PTYPE_TUNNEL_GRENAT | RTE_PTYPE_INNER_L2_ETHER)
#define OUTER4 RTE_PTYPE_L3_IPV4_EXT_UNKNOWN
#define OUTER6 RTE_PTYPE_L3_IPV6_EXT_UNKNOWN
#define IP_GOOD RTE_MBUF_F_RX_IP_CKSUM_GOOD
#define L4_GOOD RTE_MBUF_F_RX_L4_CKSUM_GOOD
#define OUTER_BAD RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD
#define OUTER_L4_GOOD RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD

/* Bit 27: a frame within a frame; 31: its outer IP header's sum is right, 26: its UDP sum, 25: it is IPv4. */
static void
tunnels(void **state)
{
	static const struct {
		uint32_t flags;
		uint16_t status;
		uint8_t l4_ok;
		uint32_t ptype;
		uint64_t ol;
	} t[] = {
		{0x0a000048, 0x1440, 4, INNER | OUTER4 | RTE_PTYPE_INNER_L3_IPV4 | RTE_PTYPE_INNER_L4_TCP,
		 IP_GOOD | L4_GOOD | OUTER_BAD},
		{0x8e000048, 0x1840, 4, INNER | OUTER4 | RTE_PTYPE_INNER_L3_IPV4 | RTE_PTYPE_INNER_L4_UDP,
		 IP_GOOD | L4_GOOD | OUTER_L4_GOOD},
		{0x08000048, 0x0500, 4, INNER | OUTER6 | RTE_PTYPE_INNER_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_INNER_L4_TCP,
		 L4_GOOD},
		{0x0c000048, 0x0900, 0, INNER | OUTER6 | RTE_PTYPE_INNER_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_INNER_L4_UDP,
		 OUTER_L4_GOOD},
		{0x8a000048, 0x1240, 0, INNER | OUTER4 | RTE_PTYPE_INNER_L3_IPV4_EXT, IP_GOOD},
		{0x8a000048, 0x1040, 0, INNER | OUTER4 | RTE_PTYPE_INNER_L3_IPV4, IP_GOOD},
		{0x8a000048, 0x14c0, 4, INNER | OUTER4 | RTE_PTYPE_INNER_L3_IPV4 | RTE_PTYPE_INNER_L4_FRAG, IP_GOOD},
		{0x8a000048, 0x0000, 0, INNER | OUTER4, 0},
		/* no tunnel, whatever the bits beside it are */
		{0x86000048, 0x1440, 4, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP, IP_GOOD | L4_GOOD},
		{0x00000048, 0x14c0, 4, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_FRAG, IP_GOOD},
	};
	struct rings *r = *state;
	struct rte_mbuf *m;
	unsigned int i, reported;

	r->rxq.tunnels = true;
	r->rxq.extras = true;
	mlx4_rx_refill(&r->rxq, &r->ring[0]);
	for (reported = 0; reported < 2; reported++) {
		r->rxq.ol_mask = reported != 0 ? UINT64_MAX : 0;
		for (i = 0; i < RTE_DIM(t); i++) {
			arrives(r, t[i].flags, t[i].status, t[i].l4_ok, 100);
			assert_int_equal(mlx4_rx_burst_scattered(&r->rxq, &m, 1), 1);
			if (m->packet_type != t[i].ptype ||
			    m->ol_flags != (reported != 0 ? t[i].ol : t[i].ol & ~(OUTER_BAD | OUTER_L4_GOOD)))
				fail_msg("case %u: type 0x%x, flags 0x%lx", i, m->packet_type,
					 (unsigned long)m->ol_flags);
			rte_pktmbuf_free(m);
		}
	}
}

/* 48 bits: the upper 32 are those of before when the lower 16 have just begun again. */
static void
times(void **state)
{
	static const struct {
		uint32_t high;
		uint16_t low;
		uint64_t time;
	} t[] = {
		{0x12345678, 0x9abc, UINT64_C(0x123456789abc)},
		{0x12345678, 0x0001, UINT64_C(0x123456780001)},
		{0x12345678, 0x0100, UINT64_C(0x123456780100)},
		{0x12345678, 0x0000, UINT64_C(0x123456790000)},
	};
	struct rings *r = *state;
	struct mlx4_cqe *cqe;
	struct rte_mbuf *m;
	unsigned int i;
	int off;

	assert_int_equal(rte_mbuf_dyn_rx_timestamp_register(&off, &r->rxq.stamp_flag), 0);
	r->rxq.stamp_off = (uint16_t)off;
	r->rxq.extras = true;
	mlx4_rx_refill(&r->rxq, &r->ring[0]);
	for (i = 0; i < RTE_DIM(t); i++) {
		cqe = rings_rx_cqe(r);
		put(cqe, 0x0c, 4, t[i].high);
		put(cqe, 0x1d, 2, t[i].low);
		put(cqe, 0x14, 4, 64);
		rings_rx_done(r, cqe, 1);
		assert_int_equal(mlx4_rx_burst_scattered(&r->rxq, &m, 1), 1);
		assert_true(*RTE_MBUF_DYNFIELD(m, off, rte_mbuf_timestamp_t *) == t[i].time);
		assert_true(m->ol_flags == r->rxq.stamp_flag);
		assert_int_equal(m->vlan_tci, 0);
		rte_pktmbuf_free(m);
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rings_setup, rings_teardown)
	const struct CMUnitTest tests[] = {T(split_buffers), T(segments), T(tunnels), T(times)};

	if (rings_eal() != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
