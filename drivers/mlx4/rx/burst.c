/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Receive bursts. For a packet the card writes half a cache line (the CQE) and the data; the driver reads the CQE,
 * writes two 16-byte pieces of the mbuf and, when it refills, 8 bytes of a receive WQE: key and length of the scatter
 * entries never change, so a quarter line per packet carries the new address.
 */
#include <rte_io.h>
#include <rte_prefetch.h>

#include "queue.h"
#include "mbuf.h"

/*
 * The same for WQEs whose first buffer is a header's, all or none. Two pools and buffers that alternate: no bulk call fits.
 */
static __rte_noinline bool
refill_split(struct mlx4_rxq *q, struct mlx4_rx_ring *r, uint32_t n)
{
	uint32_t first = (uint32_t)(r->pi & r->mask) << r->lg_sges;
	uint32_t each = 1u << r->lg_sges, i, k;
	struct rte_mbuf **elts = &r->elts[first];

	for (i = 0; i < n; i++, elts += each) {
		if (unlikely(rte_mempool_get(q->hdr_mp, (void **)&elts[0]) < 0))
			goto err;
		if (unlikely(rte_mempool_get_bulk(q->mp, (void **)&elts[1], each - 1) < 0)) {
			rte_mempool_put(q->hdr_mp, elts[0]);
			goto err;
		}
		for (k = 0; k < each; k++)
			r->wqes[first + i * each + k].addr = rte_cpu_to_be_64(rte_mbuf_data_iova_default(elts[k]));
	}
	r->pi += n;
	return true;

err:
	for (elts = &r->elts[first]; i != 0; i--, elts += each)
		for (k = 0; k < each; k++)
			rte_mbuf_raw_free(elts[k]);
	return false;
}

/*
 * Gives n WQEs from position pi fresh buffers; the caller knows that they do not cross the ring's end. scattered, a
 * constant when inlined: there may be several buffers per WQE.
 */
static __rte_always_inline bool
refill_run(struct mlx4_rxq *q, struct mlx4_rx_ring *r, uint32_t n, bool scattered)
{
	const uint32_t lg = scattered ? r->lg_sges : 0;
	uint32_t first = (uint32_t)(r->pi & r->mask) << lg;
	uint32_t count = n << lg;
	struct rte_mbuf **elts = &r->elts[first];
	struct mlx4_wqe_data *wqe = &r->wqes[first];
	uint32_t i;

	if (scattered && r->hdr_len != 0)
		return refill_split(q, r, n);
	if (unlikely(rte_mempool_get_bulk(q->mp, (void **)elts, count) < 0))
		return false;
	for (i = 0; i < count; i++)
		wqe[i].addr = rte_cpu_to_be_64(rte_mbuf_data_iova_default(elts[i]));
	r->pi += n;
	return true;
}

/*
 * The pool is nearly empty: take what it still has, so that the ring does not starve beside free buffers. A WQE that
 * stays empty is counted once, however often it is tried: the first r->missing ones from position first on were.
 */
static __rte_noinline void
refill_scarce(struct mlx4_rxq *q, struct mlx4_rx_ring *r, uint16_t first, uint32_t room)
{
	uint32_t filled, counted;

	while (room != 0 && refill_run(q, r, 1, true))
		room--;
	filled = (uint16_t)(r->pi - first);
	counted = r->missing > filled ? r->missing - filled : 0;
	q->nombuf += room - counted;
	r->missing = (uint16_t)room;
}

static __rte_always_inline void
refill(struct mlx4_rxq *q, struct mlx4_rx_ring *r, uint32_t room, bool scattered)
{
	uint16_t before = r->pi;

	while (room != 0) {
		uint32_t n = RTE_MIN(room, (uint32_t)r->mask + 1 - (r->pi & r->mask));

		if (unlikely(!refill_run(q, r, n, scattered))) {
			refill_scarce(q, r, before, room);
			goto publish;
		}
		room -= n;
	}
	r->missing = 0;
publish:
	if (likely(r->pi != before)) {
		rte_io_wmb(); /* WQEs before the count that covers them */
		*r->dbrec = rte_cpu_to_be_32(r->pi);
	}
}

static __rte_always_inline uint32_t
ring_room(const struct mlx4_rx_ring *r)
{
	return (uint32_t)r->mask + 1 - (uint16_t)(r->pi - r->ci);
}

void
mlx4_rx_refill(struct mlx4_rxq *q, struct mlx4_rx_ring *r)
{
	refill(q, r, ring_room(r), true);
}

static __rte_always_inline bool
cqe_is_ours(const struct mlx4_cqe *cqe, uint32_t ci, uint32_t mask)
{
	uint8_t phase = (ci & (mask + 1)) != 0 ? MLX4_CQE_OWNER : 0;
	uint8_t op = *(const volatile uint8_t *)&cqe->owner_sr_opcode;

	return (op & MLX4_CQE_OWNER) == phase;
}

/*
 * Chains those of n buffers that hold len bytes; the others of the WQE (they may hold a part of the FCS) go back. Buffers of
 * a pool have no successor.
 */
static __rte_always_inline void
chain_segments(const struct mlx4_rx_const *k, struct rte_mbuf **elts, uint32_t n, uint32_t len)
{
	struct rte_mbuf *head = elts[0], *tail = head;
	uint32_t i, part = RTE_MIN(len, k->first_len);

	head->data_len = (uint16_t)part;
	for (i = 1, len -= part; len != 0 && i < n; i++, len -= part) {
		struct rte_mbuf *m = elts[i];

		part = RTE_MIN(len, k->other_len);
		mlx4_mbuf_rearm(m, k->rearm);
		m->ol_flags = 0;
		m->data_len = (uint16_t)part;
		tail->next = m;
		tail = m;
	}
	head->nb_segs = (uint16_t)i;
	for (; i < n; i++)
		rte_mbuf_raw_free(elts[i]);
}

/* Anything but a plain receive completion: an error, or what no card should say of a receive queue. */
static __rte_always_inline bool
is_error(const struct mlx4_cqe *cqe)
{
	return (*(const volatile uint8_t *)&cqe->owner_sr_opcode & (uint8_t)~MLX4_CQE_OWNER) != MLX4_CQE_RECV_SEND;
}

/* A completion with error: the WQE is spent, its buffers go back to the pool. */
static __rte_noinline void
drop_wqe(struct mlx4_rxq *q, struct mlx4_rx_ring *r)
{
	struct rte_mbuf **elts = &r->elts[(uint32_t)(r->ci & r->mask) << r->lg_sges];
	uint32_t i;

	for (i = 0; i < 1u << r->lg_sges; i++)
		rte_mbuf_raw_free(elts[i]);
	r->ci++;
	q->errors++;
}

/*
 * The set is drained, its QPs are in RST and control code has linked the next one: go over. The old set is not
 * touched after the store, so that control code may free it.
 */
static __rte_noinline void
next_set(struct mlx4_rxq *q, struct mlx4_rx_set *s)
{
	struct mlx4_rx_set *next = __atomic_load_n(&s->next, __ATOMIC_ACQUIRE);

	/* The link was published after the QPs stopped, so an empty CQ seen now is empty for good. */
	if (!cqe_is_ours(&s->cqes[s->cq_ci & s->cq_mask], s->cq_ci, s->cq_mask))
		__atomic_store_n(&q->set, next, __ATOMIC_RELEASE);
}

/* The ring of the QP that completed, for a set of several. */
static __rte_always_inline struct mlx4_rx_ring *
ring_of_cqe(const struct mlx4_rx_set *s, const struct mlx4_cqe *cqe)
{
	return &s->ring[s->ring_of[(rte_be_to_cpu_32(cqe->vlan_my_qpn) & MLX4_CQE_QPN_MASK) - s->base_qpn]];
}

/*
 * Receives up to n packets that neither ring wraps within, so that pointers just move on and the owner bit to expect is
 * one. Stops at anything but a plain receive completion. Returns how many.
 */
static __rte_always_inline uint32_t
rx_run(const struct mlx4_rx_ring *r, const struct mlx4_rx_const *k, const struct mlx4_cqe *cqe, uint8_t phase,
       struct rte_mbuf **elts, struct rte_mbuf **pkts, uint32_t n, uint64_t *bytes, bool scattered)
{
	const uint8_t expected = phase | MLX4_CQE_RECV_SEND;
	const uint32_t lg = scattered ? r->lg_sges : 0;
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < n; i++, cqe++, elts += 1u << lg) {
		struct rte_mbuf *m;

		if (*(const volatile uint8_t *)&cqe->owner_sr_opcode != expected)
			break;
		rte_io_rmb(); /* the owner bit before the rest of the entry */
		m = elts[0];
		rte_prefetch0(elts[MLX4_RX_AHEAD << lg]);
		mlx4_rx_mbuf(k, cqe, m);
		sum += m->pkt_len;
		if (scattered && k->extras)
			mlx4_rx_extras(k, cqe, m);
		if (scattered)
			chain_segments(k, elts, 1u << lg, m->pkt_len);
		pkts[i] = m;
	}
	*bytes += sum;
	return i;
}

/*
 * The CQ has as many entries as the rings have WQEs: what was consumed is published before new WQEs are, or the card
 * could complete those into entries that it believes taken, and end the CQ with an overrun.
 */
static __rte_always_inline void
publish_ci(const struct mlx4_rx_set *s, uint32_t cq_ci)
{
	*s->cq_dbrec = rte_cpu_to_be_32(cq_ci & MLX4_CQ_CI_MASK);
}

/* Publishes what a burst consumed, or looks for the next set when there was nothing. */
static __rte_always_inline uint16_t
rx_finish(struct mlx4_rxq *q, struct mlx4_rx_set *s, uint32_t cq_ci, uint16_t got, uint64_t bytes)
{
	if (cq_ci == s->cq_ci) {
		if (unlikely(__atomic_load_n(&s->next, __ATOMIC_RELAXED) != NULL))
			next_set(q, s);
		return 0;
	}
	mlx4_rx_set_seek(s, cq_ci);
	publish_ci(s, cq_ci);
	q->packets += got;
	q->bytes += bytes;
	return got;
}

/* Kinds of burst, constants when inlined; scattered: several buffers per WQE. */
enum rx_kind { RX_PLAIN, RX_AVX2, RX_SCATTERED };

static __rte_always_inline uint32_t
run_groups(const struct mlx4_rx_const *k, const struct mlx4_cqe *cqe, uint8_t phase, struct rte_mbuf **elts,
	   struct rte_mbuf **pkts, uint32_t n, uint64_t *bytes)
{
#ifdef RTE_ARCH_X86_64
	const volatile uint8_t *last = &cqe[MLX4_RX_GROUP - 1].owner_sr_opcode;

	/* One of many queues has a few packets at a time: for less than a group it is not worth while to begin. */
	if (n < MLX4_RX_GROUP || *last != (phase | MLX4_CQE_RECV_SEND))
		return 0;
	return mlx4_rx_run_avx2(k, cqe, phase | MLX4_CQE_RECV_SEND, elts, pkts, n, bytes);
#else
	RTE_SET_USED(k);
	RTE_SET_USED(cqe);
	RTE_SET_USED(phase);
	RTE_SET_USED(elts);
	RTE_SET_USED(pkts);
	RTE_SET_USED(n);
	RTE_SET_USED(bytes);
	return 0;
#endif
}

/* The burst for one ring. */
static __rte_always_inline uint16_t
rx_burst_one(struct mlx4_rxq *q, struct mlx4_rx_set *s, struct rte_mbuf **pkts, uint16_t n, enum rx_kind kind)
{
	const bool scattered = kind == RX_SCATTERED;
	const struct mlx4_rx_const k = mlx4_rx_const_of(q, s);
	struct mlx4_rx_ring *r = s->ring;
	const uint32_t lg = scattered ? r->lg_sges : 0;
	uint32_t cq_ci = s->cq_ci, got = 0;
	uint64_t bytes = 0;

	while (got < n) {
		uint32_t cq_at = cq_ci & s->cq_mask, rq_at = r->ci & r->mask;
		uint32_t cq_left = s->cq_mask + 1 - cq_at, rq_left = (uint32_t)r->mask + 1 - rq_at;
		uint32_t left = RTE_MIN(cq_left, rq_left), want = RTE_MIN(n - got, left), done;
		uint8_t phase = (cq_ci & (s->cq_mask + 1)) != 0 ? MLX4_CQE_OWNER : 0;

		done = kind == RX_AVX2
			       ? run_groups(&k, &s->cqes[cq_at], phase, &r->elts[rq_at], pkts + got, want, &bytes)
			       : 0;
		if (kind != RX_AVX2 || done != want)
			done += rx_run(r, &k, &s->cqes[cq_at + done], phase, &r->elts[(rq_at + done) << lg],
				       pkts + got + done, want - done, &bytes, scattered);
		got += done;
		cq_ci += done;
		r->ci = (uint16_t)(r->ci + done);
		if (done == want)
			continue;
		if (likely(!cqe_is_ours(&s->cqes[cq_ci & s->cq_mask], cq_ci, s->cq_mask)))
			break;
		/* Something else than a plain completion, or one that came after the run ended: that goes round again. */
		if (is_error(&s->cqes[cq_ci & s->cq_mask])) {
			drop_wqe(q, r);
			cq_ci++;
		}
	}
	if (unlikely(ring_room(r) >= q->refill_min)) {
		publish_ci(s, cq_ci);
		refill(q, r, ring_room(r), scattered);
	}
	return rx_finish(q, s, cq_ci, (uint16_t)got, bytes);
}

/* Rings that found the pool empty have no packets that would bring them back here. */
static void
refill_starved(struct mlx4_rxq *q, struct mlx4_rx_set *s)
{
	uint16_t i;

	for (i = 0; i < s->num_rings; i++)
		if (unlikely(s->ring[i].missing != 0))
			refill(q, &s->ring[i], ring_room(&s->ring[i]), true);
}

/* The burst for a set of any number of rings. */
static __rte_noinline uint16_t
rx_burst_multi(struct mlx4_rxq *q, struct mlx4_rx_set *s, struct rte_mbuf **pkts, uint16_t n)
{
	const struct mlx4_rx_const k = mlx4_rx_const_of(q, s);
	uint32_t cq_ci = s->cq_ci;
	uint64_t bytes = 0;
	uint16_t got = 0;

	while (got < n) {
		const struct mlx4_cqe *cqe = &s->cqes[cq_ci & s->cq_mask];
		struct mlx4_rx_ring *r;
		struct rte_mbuf **elts;

		if (!cqe_is_ours(cqe, cq_ci, s->cq_mask))
			break;
		rte_io_rmb();
		cq_ci++;
		r = ring_of_cqe(s, cqe);
		if (unlikely(is_error(cqe))) {
			drop_wqe(q, r);
			continue;
		}
		elts = &r->elts[(uint32_t)(r->ci & r->mask) << r->lg_sges];
		mlx4_rx_mbuf(&k, cqe, elts[0]);
		if (k.extras)
			mlx4_rx_extras(&k, cqe, elts[0]);
		bytes += elts[0]->pkt_len;
		pkts[got++] = elts[0];
		chain_segments(&k, elts, 1u << r->lg_sges, elts[0]->pkt_len);
		r->ci++;
		if (ring_room(r) >= q->refill_min) {
			publish_ci(s, cq_ci);
			refill(q, r, ring_room(r), true);
		}
	}
	if (unlikely(got == 0))
		refill_starved(q, s);
	return rx_finish(q, s, cq_ci, got, bytes);
}

/*
 * Nothing has arrived, no other set waits, and the ring has all its buffers: most polls of an idle queue end here, with two
 * cache lines read and none written. A queue of several rings, or of none, is for the long way.
 */
static __rte_always_inline bool
is_idle(const struct mlx4_rx_set *s)
{
	uint8_t op = *(const volatile uint8_t *)&s->next_cqe->owner_sr_opcode;

	return ((op ^ s->phase) & MLX4_CQE_OWNER) != 0 && s->num_rings == 1 && s->ring->missing == 0 &&
	       __atomic_load_n(&s->next, __ATOMIC_RELAXED) == NULL;
}

/* Apart from the test for idleness, so that it needs no stack. */
static __rte_noinline uint16_t
rx_plain(struct mlx4_rxq *q, struct rte_mbuf **pkts, uint16_t n, struct mlx4_rx_set *s)
{
	return likely(s->num_rings == 1) ? rx_burst_one(q, s, pkts, n, RX_PLAIN) : rx_burst_multi(q, s, pkts, n);
}

static __rte_noinline uint16_t
rx_avx2(struct mlx4_rxq *q, struct rte_mbuf **pkts, uint16_t n, struct mlx4_rx_set *s)
{
	return likely(s->num_rings == 1) ? rx_burst_one(q, s, pkts, n, RX_AVX2) : rx_burst_multi(q, s, pkts, n);
}

static __rte_noinline uint16_t
rx_scattered(struct mlx4_rxq *q, struct rte_mbuf **pkts, uint16_t n, struct mlx4_rx_set *s)
{
	return likely(s->num_rings == 1) ? rx_burst_one(q, s, pkts, n, RX_SCATTERED) : rx_burst_multi(q, s, pkts, n);
}

uint16_t
mlx4_rx_burst(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_rxq *q = rxq;
	struct mlx4_rx_set *s = __atomic_load_n(&q->set, __ATOMIC_ACQUIRE);

	return is_idle(s) ? 0 : rx_plain(q, pkts, n, s);
}

uint16_t
mlx4_rx_burst_avx2(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_rxq *q = rxq;
	struct mlx4_rx_set *s = __atomic_load_n(&q->set, __ATOMIC_ACQUIRE);

	return is_idle(s) ? 0 : rx_avx2(q, pkts, n, s);
}

uint16_t
mlx4_rx_burst_set(struct mlx4_rxq *q, struct mlx4_rx_set *s, struct rte_mbuf **pkts, uint16_t n)
{
	return is_idle(s) ? 0 : rx_scattered(q, pkts, n, s);
}

uint16_t
mlx4_rx_burst_scattered(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_rxq *q = rxq;

	return mlx4_rx_burst_set(q, __atomic_load_n(&q->set, __ATOMIC_ACQUIRE), pkts, n);
}

/* Completions that wait in the CQ; bounded by its size. */
mlx4_queue_count_t
mlx4_rx_queue_count(void *rxq)
{
	const struct mlx4_rxq *q = rxq;
	const struct mlx4_rx_set *s = q->set;
	uint32_t n = 0;

	while (n <= s->cq_mask && cqe_is_ours(&s->cqes[(s->cq_ci + n) & s->cq_mask], s->cq_ci + n, s->cq_mask))
		n++;
	return n;
}

int
mlx4_rx_descriptor_status(void *rxq, uint16_t offset)
{
	const struct mlx4_rxq *q = rxq;
	const struct mlx4_rx_set *s = q->set;
	uint32_t posted = 0;
	uint16_t i;

	if (offset >= q->nb_desc)
		return -EINVAL;
	if (offset <= s->cq_mask &&
	    cqe_is_ours(&s->cqes[(s->cq_ci + offset) & s->cq_mask], s->cq_ci + offset, s->cq_mask))
		return RTE_ETH_RX_DESC_DONE;
	for (i = 0; i < s->num_rings; i++)
		posted += (uint16_t)(s->ring[i].pi - s->ring[i].ci);
	return offset < posted ? RTE_ETH_RX_DESC_AVAIL : RTE_ETH_RX_DESC_UNAVAIL;
}
