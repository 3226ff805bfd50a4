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

#include "mlx4_rxtx.h"

/* What the status dword of a CQE says, squeezed into eight bits [DP 6.3]. */
#define ST_IPV6 (1u << 0)
#define ST_OPTS (1u << 1)
#define ST_TCP (1u << 2)
#define ST_UDP (1u << 3)
#define ST_IP_OK (1u << 4)
#define ST_IPV4 (1u << 5)
#define ST_FRAG (1u << 6)
#define ST_L4_OK (1u << 7)
#define ST_STATES 256u

struct rx_meaning {
	uint32_t ptype;
	uint32_t ol_flags;
};

/* Filled once at load time: a table lookup is cheaper than deciding bit by bit for every packet. */
static struct rx_meaning rx_meaning[ST_STATES];

static uint32_t
status_ptype(unsigned int st)
{
	uint32_t l3 = 0, l4 = 0;

	if (st & ST_IPV4)
		l3 = st & ST_OPTS ? RTE_PTYPE_L3_IPV4_EXT : RTE_PTYPE_L3_IPV4;
	else if (st & ST_IPV6)
		l3 = RTE_PTYPE_L3_IPV6_EXT_UNKNOWN;
	if (l3 == 0)
		return RTE_PTYPE_L2_ETHER;
	if (st & ST_FRAG)
		l4 = RTE_PTYPE_L4_FRAG;
	else if (st & ST_TCP)
		l4 = RTE_PTYPE_L4_TCP;
	else if (st & ST_UDP)
		l4 = RTE_PTYPE_L4_UDP;
	return RTE_PTYPE_L2_ETHER | l3 | l4;
}

/*
 * A UDP sum that was not verified stays "unknown": a sender may have left it out, and the card does not tell the two
 * cases apart. A TCP sum that was not verified is wrong.
 */
static uint32_t
status_ol_flags(unsigned int st)
{
	uint32_t fl = 0;

	if (st & ST_IPV4)
		fl |= st & ST_IP_OK ? RTE_MBUF_F_RX_IP_CKSUM_GOOD : RTE_MBUF_F_RX_IP_CKSUM_BAD;
	if ((st & (ST_IPV4 | ST_IPV6)) == 0 || (st & ST_FRAG))
		return fl;
	if (st & (ST_TCP | ST_UDP)) {
		if (st & ST_L4_OK)
			fl |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
		else if (st & ST_TCP)
			fl |= RTE_MBUF_F_RX_L4_CKSUM_BAD;
	}
	return fl;
}

RTE_INIT(mlx4_rx_tables)
{
	unsigned int st;

	for (st = 0; st < ST_STATES; st++) {
		rx_meaning[st].ptype = status_ptype(st);
		rx_meaning[st].ol_flags = status_ol_flags(st);
	}
}

const uint32_t mlx4_ptypes[] = {
	RTE_PTYPE_L2_ETHER, RTE_PTYPE_L3_IPV4, RTE_PTYPE_L3_IPV4_EXT, RTE_PTYPE_L3_IPV6_EXT_UNKNOWN,
	RTE_PTYPE_L4_FRAG,  RTE_PTYPE_L4_TCP,  RTE_PTYPE_L4_UDP,      RTE_PTYPE_UNKNOWN,
};
const size_t mlx4_num_ptypes = RTE_DIM(mlx4_ptypes);

static __rte_always_inline unsigned int
cqe_state(const struct mlx4_cqe *cqe)
{
	uint32_t w = prm_get32(cqe, offsetof(struct mlx4_cqe, status));

	/* [31:16] status, [7:0] badfcs_enc; IPV6 is bit 24 of w, OPTS 25, TCP 26, UDP 27, IP ok 28. */
	return ((w >> 24) & 0x1f) | ((w >> 17) & (ST_IPV4 | ST_FRAG)) | ((w << 5) & ST_L4_OK);
}

static_assert(MLX4_CQE_ST_IPV6 == 1u << 8 && MLX4_CQE_ST_IP_OK == 1u << 12, "status bits 12..8 are the low states");
static_assert(MLX4_CQE_ST_IPV4 << 16 >> 17 == ST_IPV4 && MLX4_CQE_ST_IPV4_FRAG << 16 >> 17 == ST_FRAG, "status bits");
static_assert(MLX4_CQE_L4_OK << 5 == ST_L4_OK, "L4 bit");

/* Gives n WQEs from position pi fresh buffers; the caller knows that they do not cross the ring's end. */
static __rte_always_inline bool
refill_run(struct mlx4_rxq *q, struct mlx4_rx_ring *r, uint32_t n)
{
	uint32_t first = (uint32_t)(r->pi & r->mask) << q->lg_sges;
	uint32_t count = n << q->lg_sges;
	struct rte_mbuf **elts = &r->elts[first];
	struct mlx4_wqe_data *wqe = &r->wqes[first];
	uint32_t i;

	if (unlikely(rte_mempool_get_bulk(q->mp, (void **)elts, count) < 0))
		return false;
	for (i = 0; i < count; i++)
		wqe[i].addr = rte_cpu_to_be_64(rte_mbuf_data_iova_default(elts[i]));
	r->pi += n;
	return true;
}

/* The pool is nearly empty: take what it still has, so that the ring does not starve beside free buffers. */
static __rte_noinline void
refill_scarce(struct mlx4_rxq *q, struct mlx4_rx_ring *r, uint32_t n)
{
	uint32_t done = 0;

	while (done < n && refill_run(q, r, 1))
		done++;
	q->nombuf += n - done;
}

static __rte_always_inline void
refill(struct mlx4_rxq *q, struct mlx4_rx_ring *r, uint32_t room)
{
	uint16_t before = r->pi;

	while (room != 0) {
		uint32_t n = RTE_MIN(room, (uint32_t)r->mask + 1 - (r->pi & r->mask));

		if (unlikely(!refill_run(q, r, n))) {
			refill_scarce(q, r, n);
			break;
		}
		room -= n;
	}
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
	refill(q, r, ring_room(r));
}

static __rte_always_inline bool
cqe_is_ours(const struct mlx4_cqe *cqe, uint32_t ci, uint32_t mask)
{
	uint8_t phase = (ci & (mask + 1)) != 0 ? MLX4_CQE_OWNER : 0;
	uint8_t op = *(const volatile uint8_t *)&cqe->owner_sr_opcode;

	return (op & MLX4_CQE_OWNER) == phase;
}

/* What does not change during a burst, in locals: a burst's stores might alias the queue otherwise. */
struct rx_const {
	uint64_t rearm, ol_flags, ol_mask;
	uint32_t crc_len;
};

/* Everything that a CQE says about the packet, into its first mbuf. */
static __rte_always_inline uint32_t
fill_mbuf(const struct rx_const *k, const struct mlx4_cqe *cqe, struct rte_mbuf *m)
{
	const struct rx_meaning *mean = &rx_meaning[cqe_state(cqe)];
	uint32_t len = rte_be_to_cpu_32(cqe->byte_cnt) - k->crc_len;
	uint64_t ol_flags = k->ol_flags | mean->ol_flags;

	if (cqe->vlan_my_qpn & RTE_BE32(MLX4_CQE_CVLAN))
		ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	m->packet_type = mean->ptype;
	m->pkt_len = len;
	m->data_len = (uint16_t)len;
	m->vlan_tci = rte_be_to_cpu_16(cqe->sl_vid);
	m->hash.rss = rte_be_to_cpu_32(cqe->immed_rss);
	m->ol_flags = ol_flags & k->ol_mask;
	mlx4_mbuf_rearm(m, k->rearm);
	return len;
}

/* Chains the buffers that hold len bytes; the others of the WQE (they may hold a part of the FCS) go back. */
static __rte_always_inline void
chain_segments(const struct mlx4_rxq *q, struct rte_mbuf **elts, uint32_t len, uint32_t buf_len)
{
	struct rte_mbuf *head = elts[0], *tail = head;
	uint32_t i, n = 1u << q->lg_sges;

	head->data_len = (uint16_t)RTE_MIN(len, buf_len);
	len -= head->data_len;
	for (i = 1; i < n; i++) {
		struct rte_mbuf *m = elts[i];

		if (len == 0) {
			rte_mbuf_raw_free(m);
			continue;
		}
		mlx4_mbuf_rearm(m, q->rearm);
		m->ol_flags = 0;
		m->data_len = (uint16_t)RTE_MIN(len, buf_len);
		len -= m->data_len;
		head->nb_segs++;
		tail->next = m;
		tail = m;
	}
	tail->next = NULL;
}

/* A completion with error: the WQE is spent, its buffers go back to the pool. */
static __rte_noinline void
drop_wqe(struct mlx4_rxq *q, struct mlx4_rx_ring *r)
{
	struct rte_mbuf **elts = &r->elts[(uint32_t)(r->ci & r->mask) << q->lg_sges];
	uint32_t i;

	for (i = 0; i < 1u << q->lg_sges; i++)
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

/* The burst for one ring; scattered: several buffers per WQE, a constant when inlined. */
static __rte_always_inline uint16_t
rx_burst_one(struct mlx4_rxq *q, struct mlx4_rx_set *s, struct rte_mbuf **pkts, uint16_t n, bool scattered)
{
	const struct rx_const k = {q->rearm, s->ol_flags, q->ol_mask, q->crc_len};
	const uint32_t cq_mask = s->cq_mask, lg = scattered ? q->lg_sges : 0;
	struct mlx4_rx_ring *r = s->ring;
	const struct mlx4_cqe *cqes = s->cqes;
	struct rte_mbuf **elts = r->elts;
	const uint32_t elt_mask = (((uint32_t)r->mask + 1) << lg) - 1;
	uint32_t cq_ci = s->cq_ci, at = (uint32_t)r->ci << lg;
	uint64_t bytes = 0;
	uint16_t got = 0;

	while (got < n) {
		const struct mlx4_cqe *cqe = &cqes[cq_ci & cq_mask];
		struct rte_mbuf *m;

		if (!cqe_is_ours(cqe, cq_ci, cq_mask))
			break;
		rte_io_rmb(); /* the owner bit before the rest of the entry */
		cq_ci++;
		if (unlikely((cqe->owner_sr_opcode & MLX4_CQE_OPCODE_MASK) == MLX4_CQE_ERROR)) {
			r->ci = (uint16_t)(at >> lg);
			drop_wqe(q, r);
			at += 1u << lg;
			continue;
		}
		m = elts[at & elt_mask];
		rte_prefetch0(elts[(at + (4u << lg)) & elt_mask]);
		bytes += fill_mbuf(&k, cqe, m);
		if (scattered)
			chain_segments(q, &elts[at & elt_mask], m->pkt_len, q->buf_len);
		pkts[got++] = m;
		at += 1u << lg;
	}
	r->ci = (uint16_t)(at >> lg);
	if (unlikely(ring_room(r) >= q->refill_min))
		refill(q, r, ring_room(r));
	if (cq_ci == s->cq_ci) {
		if (unlikely(__atomic_load_n(&s->next, __ATOMIC_RELAXED) != NULL))
			next_set(q, s);
		return 0;
	}
	s->cq_ci = cq_ci;
	*s->cq_dbrec = rte_cpu_to_be_32(cq_ci & MLX4_CQ_CI_MASK);
	q->packets += got;
	q->bytes += bytes;
	return got;
}

/* The burst for a set of any number of rings. */
static __rte_noinline uint16_t
rx_burst_multi(struct mlx4_rxq *q, struct mlx4_rx_set *s, struct rte_mbuf **pkts, uint16_t n)
{
	const struct rx_const k = {q->rearm, s->ol_flags, q->ol_mask, q->crc_len};
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
		if (unlikely((cqe->owner_sr_opcode & MLX4_CQE_OPCODE_MASK) == MLX4_CQE_ERROR)) {
			drop_wqe(q, r);
			continue;
		}
		elts = &r->elts[(uint32_t)(r->ci & r->mask) << q->lg_sges];
		bytes += fill_mbuf(&k, cqe, elts[0]);
		pkts[got++] = elts[0];
		chain_segments(q, elts, elts[0]->pkt_len, q->buf_len);
		r->ci++;
		if (ring_room(r) >= q->refill_min)
			refill(q, r, ring_room(r));
	}
	if (cq_ci == s->cq_ci) {
		if (unlikely(__atomic_load_n(&s->next, __ATOMIC_RELAXED) != NULL))
			next_set(q, s);
		return 0;
	}
	s->cq_ci = cq_ci;
	*s->cq_dbrec = rte_cpu_to_be_32(cq_ci & MLX4_CQ_CI_MASK);
	q->packets += got;
	q->bytes += bytes;
	return got;
}

uint16_t
mlx4_rx_burst(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_rxq *q = rxq;
	struct mlx4_rx_set *s = __atomic_load_n(&q->set, __ATOMIC_ACQUIRE);

	if (likely(s->num_rings == 1))
		return rx_burst_one(q, s, pkts, n, false);
	return rx_burst_multi(q, s, pkts, n);
}

uint16_t
mlx4_rx_burst_scattered(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_rxq *q = rxq;
	struct mlx4_rx_set *s = __atomic_load_n(&q->set, __ATOMIC_ACQUIRE);

	if (likely(s->num_rings == 1))
		return rx_burst_one(q, s, pkts, n, true);
	return rx_burst_multi(q, s, pkts, n);
}

/* The card is gone or the port is closed: nothing arrives, nothing is sent, nothing crashes. */
uint16_t
mlx4_rxtx_removed(void *q, struct rte_mbuf **pkts, uint16_t n)
{
	RTE_SET_USED(q);
	RTE_SET_USED(pkts);
	RTE_SET_USED(n);
	return 0;
}

/* Completions that wait in the CQ; bounded by its size. */
uint32_t
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
