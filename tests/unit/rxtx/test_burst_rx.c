/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Receive completions byte by byte against the data-path reference, chapters 5 and 6. */
#include <rte_malloc.h>

#include "rings.h"
#include "drivers/mlx4/rx/mbuf.h"

/* Gives the ring its first buffers, as the start of a queue does. */
static void
fill(struct rings *r)
{
	mlx4_rx_refill(&r->rxq, &r->ring[0]);
}

static void
poll_nothing(struct rings *r)
{
	struct rte_mbuf *m;

	assert_int_equal(mlx4_rx_burst(&r->rxq, &m, 1), 0);
}

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
empty_poll_refills(void **state)
{
	struct rings *r = *state;
	const struct mlx4_rx_ring *g = &r->ring[0];
	static struct rte_mbuf *hold[1023];
	const uint8_t *w;

	assert_int_equal(rte_pktmbuf_alloc_bulk(r->pool, hold, RTE_DIM(hold)), 0);
	fill(r);
	assert_int_equal(g->pi, 0);
	rte_pktmbuf_free_bulk(hold, RTE_DIM(hold));
	poll_nothing(r);
	assert_int_equal(rte_be_to_cpu_32(r->rx_dbrec[0][0]), 64);
	assert_int_equal(r->rx_cq_dbrec[0], 0);
	w = (const uint8_t *)&g->wqes[5].addr;
	assert_true(rte_mbuf_data_iova_default(g->elts[5]) ==
		    ((uint64_t)w[0] << 56 | (uint64_t)w[1] << 48 | (uint64_t)w[2] << 40 | (uint64_t)w[3] << 32 |
		     (uint64_t)w[4] << 24 | w[5] << 16 | w[6] << 8 | w[7]));
}

static void
tcp_over_ipv4(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *want, *m;
	struct mlx4_cqe *cqe;

	fill(r);
	want = r->ring[0].elts[0];
	r->set.ol_flags = RTE_MBUF_F_RX_RSS_HASH;
	cqe = rings_rx_cqe(r);
	put(cqe, 0x00, 4, 0x20000048); /* C-VLAN present, QPN 0x48 */
	put(cqe, 0x04, 4, 0x51ccc178);
	put(cqe, 0x0c, 2, 0x6abc); /* priority 3, VID 0xabc */
	put(cqe, 0x10, 2, 0x1440); /* IPv4, TCP, IP ok */
	put(cqe, 0x13, 1, 0x04);   /* L4 ok */
	put(cqe, 0x14, 4, 1514);
	rings_rx_done(r, cqe, 1);
	assert_int_equal(mlx4_rx_burst(&r->rxq, &m, 32), 1);
	assert_ptr_equal(m, want);
	assert_int_equal(m->pkt_len, 1514);
	assert_int_equal(m->data_len, 1514);
	assert_int_equal(m->nb_segs, 1);
	assert_int_equal(m->port, 3);
	assert_int_equal(rte_mbuf_refcnt_read(m), 1);
	assert_int_equal(m->data_off, RTE_PKTMBUF_HEADROOM);
	assert_int_equal(m->hash.rss, 0x51ccc178);
	assert_int_equal(m->vlan_tci, 0x6abc);
	assert_int_equal(m->packet_type, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP);
	assert_true(m->ol_flags == (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_VLAN |
				    RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_RSS_HASH));
	assert_int_equal(rte_be_to_cpu_32(r->rx_cq_dbrec[0]), 1);
	assert_int_equal(r->rxq.packets, 1);
	assert_int_equal(r->rxq.bytes, 1514);
	rte_pktmbuf_free(m);
}

static void
status_table(void **state)
{
	static const struct {
		uint16_t status;
		uint8_t l4_ok;
		uint32_t ptype;
		uint64_t flags;
	} t[] = {
		{0x0000, 0x00, RTE_PTYPE_L2_ETHER, 0},
		{0x1840, 0x04, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP,
		 RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD},
		{0x0440, 0x04, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP,
		 RTE_MBUF_F_RX_IP_CKSUM_BAD | RTE_MBUF_F_RX_L4_CKSUM_GOOD},
		{0x1440, 0x00, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP,
		 RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD},
		/* a UDP sum may have been left out: unknown, not bad */
		{0x1840, 0x00, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP, RTE_MBUF_F_RX_IP_CKSUM_GOOD},
		{0x1500, 0x04, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_L4_TCP,
		 RTE_MBUF_F_RX_L4_CKSUM_GOOD},
		{0x10c0, 0x00, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_FRAG, RTE_MBUF_F_RX_IP_CKSUM_GOOD},
		{0x1240, 0x00, RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4_EXT, RTE_MBUF_F_RX_IP_CKSUM_GOOD},
	};
	struct rings *r = *state;
	struct rte_mbuf *m[RTE_DIM(t)];
	unsigned int i;

	fill(r);
	for (i = 0; i < RTE_DIM(t); i++) {
		struct mlx4_cqe *cqe = rings_rx_cqe(r);

		put(cqe, 0x10, 2, t[i].status);
		put(cqe, 0x13, 1, t[i].l4_ok);
		put(cqe, 0x14, 4, 64);
		rings_rx_done(r, cqe, 1);
	}
	assert_int_equal(mlx4_rx_burst(&r->rxq, m, RTE_DIM(m)), RTE_DIM(m));
	for (i = 0; i < RTE_DIM(t); i++) {
		assert_int_equal(m[i]->packet_type, t[i].ptype);
		assert_true(m[i]->ol_flags == t[i].flags);
		rte_pktmbuf_free(m[i]);
	}
}

/* The owner bit flips at each pass over the CQ; indexes run on. */
static void
many_passes(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *m[40];
	uint32_t total = 0, i;

	fill(r);
	while (total < 64 * 5) {
		for (i = 0; i < 24; i++) {
			struct mlx4_cqe *cqe = rings_rx_cqe(r);

			put(cqe, 0x14, 4, 60 + i);
			rings_rx_done(r, cqe, 1);
		}
		assert_int_equal(mlx4_rx_burst(&r->rxq, m, RTE_DIM(m)), 24);
		for (i = 0; i < 24; i++) {
			assert_int_equal(m[i]->pkt_len, 60 + i);
			rte_pktmbuf_free(m[i]);
		}
		total += 24;
		assert_int_equal(rte_be_to_cpu_32(r->rx_cq_dbrec[0]), total);
		/* never more posted than the ring holds */
		assert_in_range(rte_be_to_cpu_32(r->rx_dbrec[0][0]), total, total + 64);
	}
	assert_int_equal(r->rxq.packets, total);
}

static void
error_completion(void **state)
{
	struct rings *r = *state;
	struct mlx4_cqe *cqe;
	struct rte_mbuf *m;

	fill(r);
	cqe = rings_rx_cqe(r);
	put(cqe, 0x1b, 1, MLX4_SYND_LOCAL_LENGTH);
	rings_rx_done(r, cqe, MLX4_CQE_ERROR);
	cqe = rings_rx_cqe(r);
	put(cqe, 0x14, 4, 77);
	rings_rx_done(r, cqe, 1);
	assert_int_equal(mlx4_rx_burst(&r->rxq, &m, 1), 1);
	assert_int_equal(m->pkt_len, 77);
	assert_int_equal(r->rxq.errors, 1);
	assert_int_equal(r->ring[0].ci, 2);
	rte_pktmbuf_free(m);
}

/* Bits that no receive completion has: counted as errors, and the burst ends. */
static void
strange_completions(void **state)
{
	static const uint8_t op[] = {MLX4_CQE_RECV_SEND | MLX4_CQE_IS_SEND, MLX4_CQE_RECV_SEND | MLX4_CQE_INLINE,
				     MLX4_CQE_RESIZE, 0};
	struct rings *r = *state;
	struct rte_mbuf *m;
	unsigned int i;

	fill(r);
	for (i = 0; i < RTE_DIM(op); i++)
		rings_rx_done(r, rings_rx_cqe(r), op[i]);
	assert_int_equal(mlx4_rx_burst(&r->rxq, &m, 1), 0);
	assert_int_equal(r->rxq.errors, RTE_DIM(op));
	assert_int_equal(r->ring[0].ci, RTE_DIM(op));
}

/* A header's buffer of 128 bytes before one of 2048: 300 bytes are 128 + 172; 128 bytes leave the second one. */
static void
split(void **state)
{
	struct rings *r = *state;
	struct mlx4_cqe *cqe;
	struct rte_mbuf *m[2];
	uint32_t before = rte_mempool_avail_count(r->pool);

	r->ring[0].lg_sges = 1;
	r->ring[0].hdr_len = 128;
	r->rxq.hdr_mp = r->pool;
	fill(r);
	assert_int_equal(rte_mempool_avail_count(r->pool), before - 2 * RX_WQES);
	cqe = rings_rx_cqe(r);
	put(cqe, 0x14, 4, 300);
	rings_rx_done(r, cqe, 1);
	cqe = rings_rx_cqe(r);
	put(cqe, 0x14, 4, 128);
	rings_rx_done(r, cqe, 1);
	assert_int_equal(mlx4_rx_burst_scattered(&r->rxq, m, 2), 2);
	assert_int_equal(m[0]->nb_segs, 2);
	assert_int_equal(m[0]->data_len, 128);
	assert_int_equal(m[0]->next->data_len, 172);
	assert_int_equal(m[1]->nb_segs, 1);
	assert_int_equal(m[1]->data_len, 128);
	rte_pktmbuf_free_bulk(m, 2);
}

/* Two buffers of 2048 in a WQE: 3000 bytes are 2048 + 952; 100 bytes leave the second one for the pool. */
static void
scattered(void **state)
{
	struct rings *r = *state;
	struct mlx4_cqe *cqe;
	struct rte_mbuf *m[2];

	r->ring[0].lg_sges = 1;
	fill(r);
	cqe = rings_rx_cqe(r);
	put(cqe, 0x14, 4, 3000);
	rings_rx_done(r, cqe, 1);
	cqe = rings_rx_cqe(r);
	put(cqe, 0x14, 4, 100);
	rings_rx_done(r, cqe, 1);
	assert_int_equal(mlx4_rx_burst_scattered(&r->rxq, m, 2), 2);
	assert_int_equal(m[0]->pkt_len, 3000);
	assert_int_equal(m[0]->nb_segs, 2);
	assert_int_equal(m[0]->data_len, 2048);
	assert_int_equal(m[0]->next->data_len, 952);
	assert_int_equal(m[1]->nb_segs, 1);
	assert_null(m[1]->next);
	rte_pktmbuf_free(m[0]);
	rte_pktmbuf_free(m[1]);
}

/* A pool that has nothing left stops the refill, counts it, and the ring recovers when buffers come back. */
static void
empty_pool(void **state)
{
	static struct rte_mbuf *hold[1023], *m[64];
	struct rings *r = *state;
	unsigned int i, n = 0;

	fill(r);
	while ((hold[n] = rte_pktmbuf_alloc(r->pool)) != NULL)
		n++;
	assert_int_equal(n, 1023 - 64);
	for (i = 0; i < 64; i++) {
		struct mlx4_cqe *cqe = rings_rx_cqe(r);

		put(cqe, 0x14, 4, 60);
		rings_rx_done(r, cqe, 1);
	}
	assert_int_equal(mlx4_rx_burst(&r->rxq, m, 64), 64);
	assert_int_equal(r->rxq.nombuf, 64);
	assert_int_equal(r->ring[0].pi, r->ring[0].ci);
	/* However long the shortage lasts, those 64 are what it is about. */
	for (i = 0; i < 100; i++)
		poll_nothing(r);
	assert_int_equal(r->rxq.nombuf, 64);
	rte_pktmbuf_free_bulk(hold, 5);
	poll_nothing(r);
	assert_int_equal((uint16_t)(r->ring[0].pi - r->ring[0].ci), 5);
	assert_int_equal(r->rxq.nombuf, 64);
	rte_pktmbuf_free_bulk(hold + 5, n - 5);
	rte_pktmbuf_free_bulk(m, 64);
	poll_nothing(r);
	assert_int_equal((uint16_t)(r->ring[0].pi - r->ring[0].ci), 64);
	assert_int_equal(r->rxq.nombuf, 64);
}

/* Receives n frames and keeps their buffers. */
static void
take(struct rings *r, unsigned int n, struct rte_mbuf **m)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct mlx4_cqe *cqe = rings_rx_cqe(r);

		put(cqe, 0x14, 4, 60);
		rings_rx_done(r, cqe, 1);
	}
	assert_int_equal(mlx4_rx_burst(&r->rxq, m, (uint16_t)n), n);
}

/* A shortage that grows counts what is new; one that comes after a full ring counts from zero again. */
static void
empty_pool_by_and_by(void **state)
{
	static struct rte_mbuf *hold[1023], *m[64];
	struct rings *r = *state;
	unsigned int n = 0;

	fill(r);
	while ((hold[n] = rte_pktmbuf_alloc(r->pool)) != NULL)
		n++;
	take(r, 20, m);
	assert_int_equal(r->rxq.nombuf, 20);
	take(r, 20, m + 20);
	assert_int_equal(r->rxq.nombuf, 40);
	/* Four come back and are used; of the 40 that were counted 36 are missing, and 10 new ones. */
	rte_pktmbuf_free_bulk(m, 4);
	take(r, 10, m + 40);
	assert_int_equal((uint16_t)(r->ring[0].pi - r->ring[0].ci), 18);
	assert_int_equal(r->rxq.nombuf, 50);
	rte_pktmbuf_free_bulk(m + 4, 46);
	poll_nothing(r);
	assert_int_equal((uint16_t)(r->ring[0].pi - r->ring[0].ci), 64);
	assert_int_equal(r->rxq.nombuf, 50);
	take(r, 16, m);
	assert_int_equal(r->rxq.nombuf, 66);
	rte_pktmbuf_free_bulk(m, 16);
	rte_pktmbuf_free_bulk(hold, n);
}

/* The poller goes over to the next set when the old one is quiet and drained, not before. */
static void
next_set_after_drain(void **state)
{
	struct rings *r = *state;
	struct mlx4_rx_set other = r->set;
	struct mlx4_cqe no_cqe = {.owner_sr_opcode = MLX4_CQE_OWNER}, *cqe;
	struct rte_mbuf *m;

	fill(r);
	other.cqes = &no_cqe;
	other.cq_mask = 0;
	other.num_rings = 0;
	mlx4_rx_set_seek(&other, 0);
	cqe = rings_rx_cqe(r);
	put(cqe, 0x14, 4, 60);
	rings_rx_done(r, cqe, 1);
	r->set.quiet = true;
	r->set.next = &other;
	assert_int_equal(mlx4_rx_burst(&r->rxq, &m, 32), 1);
	assert_ptr_equal(r->rxq.set, &r->set);
	rte_pktmbuf_free(m);
	assert_int_equal(mlx4_rx_burst(&r->rxq, &m, 32), 0);
	assert_ptr_equal(r->rxq.set, &other);
	assert_int_equal(mlx4_rx_burst(&r->rxq, &m, 32), 0);
}

/* Kept FCS: the card counts it, the application sees the frame without. */
static void
kept_fcs(void **state)
{
	struct rings *r = *state;
	struct mlx4_cqe *cqe;
	struct rte_mbuf *m;

	r->rxq.crc_len = 4;
	fill(r);
	cqe = rings_rx_cqe(r);
	put(cqe, 0x14, 4, 64);
	rings_rx_done(r, cqe, 1);
	assert_int_equal(mlx4_rx_burst(&r->rxq, &m, 1), 1);
	assert_int_equal(m->pkt_len, 60);
	assert_int_equal(m->data_len, 60);
	rte_pktmbuf_free(m);
}

static void
descriptor_states(void **state)
{
	struct rings *r = *state;
	struct mlx4_cqe *cqe;
	struct rte_mbuf *m;

	fill(r);
	cqe = rings_rx_cqe(r);
	put(cqe, 0x14, 4, 64);
	rings_rx_done(r, cqe, 1);
	assert_int_equal(mlx4_rx_queue_count(&r->rxq), 1);
	assert_int_equal(mlx4_rx_descriptor_status(&r->rxq, 0), RTE_ETH_RX_DESC_DONE);
	assert_int_equal(mlx4_rx_descriptor_status(&r->rxq, 1), RTE_ETH_RX_DESC_AVAIL);
	assert_int_equal(mlx4_rx_descriptor_status(&r->rxq, 64), -EINVAL);
	assert_int_equal(mlx4_rx_burst(&r->rxq, &m, 1), 1);
	assert_int_equal(mlx4_rx_descriptor_status(&r->rxq, 63), RTE_ETH_RX_DESC_UNAVAIL);
	rte_pktmbuf_free(m);
}

/* Two rings complete to one CQ: each CQE's QPN says whose buffer it is. */
static void
two_rings(void **state)
{
	struct rings *r = *state;
	uint16_t ring_of[4] = {0, UINT16_MAX, 1, UINT16_MAX};
	struct mlx4_rx_ring *g = &r->ring[1];
	struct rte_mbuf *m[3], *want[3];
	static const uint8_t qpn[] = {0x82, 0x80, 0x82};
	unsigned int i;

	fill(r);
	*g = r->ring[0];
	g->wqes = calloc(RX_WQES, sizeof(*g->wqes));
	g->elts = calloc(RX_WQES, sizeof(*g->elts));
	g->dbrec = r->rx_dbrec[1];
	g->ci = 0;
	g->pi = 0;
	mlx4_rx_refill(&r->rxq, g);
	r->set.num_rings = 2;
	r->set.ring_of = ring_of;
	r->set.base_qpn = 0x80;
	want[0] = g->elts[0];
	want[1] = r->ring[0].elts[0];
	want[2] = g->elts[1];
	for (i = 0; i < 3; i++) {
		struct mlx4_cqe *cqe = rings_rx_cqe(r);

		put(cqe, 0x00, 4, qpn[i]);
		put(cqe, 0x14, 4, 60 + i);
		rings_rx_done(r, cqe, 1);
	}
	assert_int_equal(mlx4_rx_burst(&r->rxq, m, 3), 3);
	for (i = 0; i < 3; i++) {
		assert_ptr_equal(m[i], want[i]);
		assert_int_equal(m[i]->pkt_len, 60 + i);
		rte_pktmbuf_free(m[i]);
	}
	for (; g->ci != g->pi; g->ci++)
		rte_pktmbuf_free(g->elts[g->ci & g->mask]);
	free(g->wqes);
	free(g->elts);
	r->set.num_rings = 1;
}

/* Two rings that found the pool empty have no packets to come back by: a poll that finds nothing fills them. */
static void
starved_rings(void **state)
{
	static struct rte_mbuf *hold[1023];
	struct rings *r = *state;
	struct mlx4_rx_ring *g = &r->ring[1];

	*g = r->ring[0];
	g->wqes = calloc(RX_WQES, sizeof(*g->wqes));
	g->elts = calloc(RX_WQES, sizeof(*g->elts));
	g->dbrec = r->rx_dbrec[1];
	r->set.num_rings = 2;
	assert_int_equal(rte_pktmbuf_alloc_bulk(r->pool, hold, RTE_DIM(hold)), 0);
	fill(r);
	mlx4_rx_refill(&r->rxq, g);
	assert_int_equal(g->pi, 0);
	rte_pktmbuf_free_bulk(hold, RTE_DIM(hold));
	poll_nothing(r);
	assert_int_equal(r->ring[0].pi, RX_WQES);
	assert_int_equal(g->pi, RX_WQES);
	assert_int_equal(rte_be_to_cpu_32(r->rx_dbrec[1][0]), RX_WQES);
	for (; g->ci != g->pi; g->ci++)
		rte_pktmbuf_free(g->elts[g->ci & g->mask]);
	free(g->wqes);
	free(g->elts);
	r->set.num_rings = 1;
}

#ifdef RTE_ARCH_X86
/* The vector variant and the plain one agree on random completions. */
static void
variants_agree(void **state)
{
	struct rings *r = *state;
	unsigned int seed, i;

	for (seed = 1; seed <= 20000; seed++) {
		struct mlx4_rx_const k = {.rearm = r->rxq.rearm};
		struct rte_mbuf *a = rings_mbuf(r, 1, 0), *b = rings_mbuf(r, 1, 0);
		struct mlx4_cqe cqe;
		uint8_t *raw = (uint8_t *)&cqe;
		uint32_t x = seed * 2654435761u;

		for (i = 0; i < sizeof(cqe); i++) {
			x = x * 1664525u + 1013904223u;
			raw[i] = (uint8_t)(x >> 24);
		}
		cqe.byte_cnt = rte_cpu_to_be_32(60 + (x >> 8) % 9600);
		k.crc_len = k.crc_sub[2] = k.crc_sub[4] = seed & 1 ? 4 : 0;
		k.ol_flags = seed & 2 ? RTE_MBUF_F_RX_RSS_HASH : 0;
		k.ol_mask = seed & 4 ? UINT64_MAX : RTE_MBUF_F_RX_IP_CKSUM_MASK;
		mlx4_rx_mbuf_scalar(&k, &cqe, a);
		mlx4_rx_mbuf_sse(&k, &cqe, b);
		assert_true(a->ol_flags == b->ol_flags);
		assert_int_equal(a->packet_type, b->packet_type);
		assert_int_equal(a->pkt_len, b->pkt_len);
		assert_int_equal(a->data_len, b->data_len);
		assert_int_equal(a->vlan_tci, b->vlan_tci);
		assert_int_equal(a->hash.rss, b->hash.rss);
		assert_int_equal(a->data_off, b->data_off);
		assert_int_equal(a->nb_segs, b->nb_segs);
		assert_int_equal(a->port, b->port);
		rte_pktmbuf_free(a);
		rte_pktmbuf_free(b);
	}
}
#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, rings_setup, rings_teardown)
		T(empty_poll_refills),
		T(tcp_over_ipv4),
		T(status_table),
		T(many_passes),
		T(error_completion),
		T(strange_completions),
		T(split),
		T(scattered),
		T(empty_pool),
		T(empty_pool_by_and_by),
		T(next_set_after_drain),
		T(kept_fcs),
		T(descriptor_states),
		T(two_rings),
		T(starved_rings),
#ifdef RTE_ARCH_X86
		T(variants_agree),
#endif

#undef T
	};

	if (rings_eal() != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
