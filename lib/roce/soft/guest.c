/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Life of what other processes have, and what they must know to use it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_common.h>

#include "gate.h"
#include "guest.h"

#define PAGE MLX4_UAR_PAGE_SIZE
#define LG_RQ_STRIDE_MIN 5u
#define RQ_ENTRIES_MIN 2u
#define LG_SEND_MAX 10u

/* --- who there is -------------------------------------------------------------------------------------------------- */

static struct rsw_guest *
guest_get(struct rsw_dev *d, struct troce_guest *g)
{
	struct rsw_guest *s;

	TAILQ_FOREACH(s, &d->guests, next)
	{
		if (s->g == g)
			break;
	}
	if (s == NULL) {
		s = calloc(1, sizeof(*s));
		if (s == NULL)
			return NULL;
		s->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, g->uar_fd, 0);
		if (s->page == MAP_FAILED) {
			free(s);
			return NULL;
		}
		s->g = g;
		TAILQ_INIT(&s->qps);
		TAILQ_INIT(&s->cqs);
		rsw_gate_close(d);
		TAILQ_INSERT_TAIL(&d->guests, s, next);
		rsw_gate_open(d);
	}
	s->refs++;
	return s;
}

static void
guest_put(struct rsw_dev *d, struct rsw_guest *s)
{
	if (--s->refs != 0)
		return;
	rsw_gate_close(d);
	TAILQ_REMOVE(&d->guests, s, next);
	rsw_gate_open(d);
	munmap(s->page, PAGE);
	free(s);
}

/* Rings of len bytes, and a doorbell record behind them. */
static int
mem_get(struct rsw_guest_mem *m, struct troce_guest *g, size_t len)
{
	size_t rings = RTE_ALIGN_CEIL(len, (size_t)RTE_CACHE_LINE_SIZE);

	m->g = g;
	m->len = rings + RTE_CACHE_LINE_SIZE;
	m->va = g->mem_get(g, m->len, RTE_CACHE_LINE_SIZE);
	if (m->va == NULL)
		return ENOMEM;
	m->dbrec = (const uint32_t *)(const void *)(m->va + rings);
	return 0;
}

void
rsw_guest_mem_put(struct rsw_guest_mem *m)
{
	if (m->va != NULL)
		m->g->mem_put(m->g, m->va, m->len);
}

static uint32_t
place(const struct rsw_guest_mem *m, const void *at)
{
	return (uint32_t)((const uint8_t *)at - m->va);
}

int
rsw_mem_open(struct troce_dev *dev, void *mem, size_t len)
{
	return 0; /* what this process has is open to its own code */
}

void
rsw_mem_close(struct troce_dev *dev, void *mem, size_t len)
{
}

/* All queues of a guest ring at its only page. Numbers of queue pairs have 24 bits, whatever their place is. */
int
rsw_view_uars(struct troce_dev *dev, struct troce_view_uars *view)
{
	const struct rsw_dev *d = dev->home;

	if (atomic_load(&d->gone))
		return EIO;
	*view = (struct troce_view_uars){PAGE, IB_QPN_MASK + 1};
	return 0;
}

/* --- completion queues --------------------------------------------------------------------------------------------- */

int
rsw_guest_cq_make(struct rsw_cq *cq, bool events)
{
	struct rsw_guest_cq *g = calloc(1, sizeof(*g));
	int rc;

	if (g == NULL)
		return ENOMEM;
	g->guest = guest_get(cq->d, cq->c.guest);
	rc = g->guest == NULL ? ENOMEM : mem_get(&g->mem, cq->c.guest, cq->depth * sizeof(*g->cqes));
	if (rc != 0) {
		if (g->guest != NULL)
			guest_put(cq->d, g->guest);
		free(g);
		return rc;
	}
	g->cq = cq;
	g->cqes = (struct mlx4_cqe *)(void *)g->mem.va;
	g->events = events;
	/* None is the guest's in its first pass [DP 6.5]. */
	for (uint32_t i = 0; i < cq->depth; i++)
		g->cqes[i].owner_sr_opcode = MLX4_CQE_OWNER;
	cq->g = g;
	if (events) {
		rsw_gate_close(cq->d);
		TAILQ_INSERT_TAIL(&g->guest->cqs, g, next);
		g->guest->num_cqs++;
		rsw_gate_open(cq->d);
	}
	return 0;
}

/* Nobody uses it any more. */
void
rsw_guest_cq_free(struct rsw_cq *cq)
{
	struct rsw_guest_cq *g = cq->g;

	if (g->events) {
		rsw_gate_close(cq->d);
		if (g->guest->next_cq == g)
			g->guest->next_cq = TAILQ_NEXT(g, next);
		TAILQ_REMOVE(&g->guest->cqs, g, next);
		g->guest->num_cqs--;
		rsw_gate_open(cq->d);
	}
	rsw_guest_mem_put(&g->ring);
	rsw_guest_mem_put(&g->mem);
	guest_put(cq->d, g->guest);
	free(g);
	cq->g = NULL;
}

int
rsw_guest_cq_room(struct rsw_cq *cq, uint32_t entries, struct rsw_guest_mem *mem)
{
	*mem = (struct rsw_guest_mem){0};
	return mem_get(mem, cq->c.guest, entries * sizeof(struct mlx4_cqe));
}

static uint8_t
owner_of(uint32_t at, uint32_t entries)
{
	return (at & entries) != 0 ? MLX4_CQE_OWNER : 0;
}

/* The card would write a word of the move into the old ring, which takes a number: what waits goes one further [DP 6.7]. */
int
rsw_guest_cq_move(struct rsw_cq *cq, uint32_t entries, struct rsw_guest_mem *mem)
{
	uint32_t tail = atomic_load(&cq->tail), head = rsw_guest_cq_head(cq, tail), to = tail + 1;
	struct mlx4_cqe *cqes = (struct mlx4_cqe *)(void *)mem->va;
	struct rsw_guest_cq *g = cq->g;
	struct rsw_guest_mem old = g->ring;

	if (tail - head >= entries) {
		TROCE_LOG(ERR, "port %u: %u completions were not polled: wanted at least as many entries", cq->d->port,
			  tail - head);
		return EINVAL;
	}
	/* None is the guest's until it is written in its pass. */
	for (uint32_t i = to; i - to < entries; i++)
		cqes[i & (entries - 1)].owner_sr_opcode = owner_of(i, entries) ^ MLX4_CQE_OWNER;
	for (uint32_t i = head; i != tail; i++) {
		struct mlx4_cqe *e = &cqes[(i + 1) & (entries - 1)];

		*e = g->cqes[i & (cq->depth - 1)];
		e->owner_sr_opcode = (uint8_t)((e->owner_sr_opcode & ~MLX4_CQE_OWNER) | owner_of(i + 1, entries));
	}
	g->cqes = cqes;
	g->ring = *mem;
	g->solicited++;
	cq->depth = entries;
	cq->head_seen = head + 1;
	atomic_store(&cq->tail, to);
	*mem = old;
	return 0;
}

void
rsw_view_cq(const struct troce_cq *c, struct troce_view_cq *view)
{
	const struct rsw_cq *cq = (const struct rsw_cq *)c;

	const struct rsw_guest_mem *ring = cq->g->ring.va != NULL ? &cq->g->ring : &cq->g->mem;

	*view = (struct troce_view_cq){
		.mem = ring->va, .len = ring->len, .entries = cq->depth, .dbrec = place(&cq->g->mem, cq->g->mem.dbrec)};
}

/* --- shared receive queues ----------------------------------------------------------------------------------------- */

static void
rq_shape(struct rsw_guest_rq *rq, uint32_t entries, uint8_t lg_stride, uint32_t head)
{
	rq->entries = entries;
	rq->lg_stride = lg_stride;
	rq->sges = (uint16_t)RTE_MIN(((1u << lg_stride) - head) / MLX4_DS_SIZE, RSW_MAX_SGE);
}

int
rsw_guest_srq_make(struct rsw_srq *srq, struct ibv_srq_attr *attr)
{
	/* One entry is never used: the list of free ones must not be empty [DP 5.2]. */
	uint32_t entries = rte_align32pow2(attr->max_wr + 1), sges = RTE_MAX(attr->max_sge, 1u);
	struct rsw_guest_srq *g = calloc(1, sizeof(*g));
	int rc;

	if (g == NULL)
		return ENOMEM;
	rq_shape(&g->rq, entries, (uint8_t)rte_log2_u32(MLX4_SRQ_WQE_LIST + sges * MLX4_DS_SIZE), MLX4_SRQ_WQE_LIST);
	rc = mem_get(&g->mem, srq->s.guest, (size_t)entries << g->rq.lg_stride);
	if (rc != 0) {
		free(g);
		return rc;
	}
	g->rq.base = g->mem.va;
	g->rq.dbrec = g->mem.dbrec;
	for (uint32_t i = 0; i < entries; i++)
		prm_set(g->mem.va + ((size_t)i << g->rq.lg_stride), MLX4_SRQ_WQE_NEXT, (i + 1) & (entries - 1));
	srq->g = g;
	srq->rq.depth = entries - 1;
	srq->rq.max_sge = g->rq.sges;
	return 0;
}

void
rsw_guest_srq_free(struct rsw_srq *srq)
{
	rsw_guest_mem_put(&srq->g->mem);
	free(srq->g);
	srq->g = NULL;
}

void
rsw_view_srq(const struct troce_srq *s, struct troce_view_srq *view)
{
	const struct rsw_guest_srq *g = ((const struct rsw_srq *)s)->g;

	*view = (struct troce_view_srq){.mem = g->mem.va,
					.len = g->mem.len,
					.entries = g->rq.entries,
					.dbrec = place(&g->mem, g->mem.dbrec),
					.sges = g->rq.sges,
					.lg_stride = g->rq.lg_stride};
}

/* --- queue pairs --------------------------------------------------------------------------------------------------- */

/* The most inline bytes behind a header: each block has a segment with 4 bytes of its own [DP 3.7]. */
static uint32_t
inline_fit(uint32_t hdr, uint32_t wqe)
{
	uint32_t sum = 0;

	while (hdr + 4 < wqe) {
		uint32_t end = RTE_MIN(RTE_ALIGN_FLOOR(hdr, MLX4_TXBB_SIZE) + MLX4_TXBB_SIZE, wqe);

		sum += end - hdr - 4;
		hdr = end;
	}
	return sum;
}

static int
send_shape(struct rsw_guest_qp *g, struct ibv_qp_cap *cap)
{
	uint32_t hdr = sizeof(struct mlx4_wqe_ctrl) + (g->sq.type == IBV_QPT_UD ? MLX4_DGRAM_SIZE : MLX4_RADDR_SIZE);
	uint32_t lg = MLX4_LG_TXBB, spare, room;

	while (lg < LG_SEND_MAX &&
	       (1u << lg < hdr + cap->max_send_sge * MLX4_DS_SIZE || inline_fit(hdr, 1u << lg) < cap->max_inline_data))
		lg++;
	room = RTE_MIN(1u << lg, MLX4_SEND_WQE_MAX);
	g->sq.max_inline = inline_fit(hdr, room);
	if (g->sq.max_inline < cap->max_inline_data) {
		TROCE_LOG(ERR, "%s: %u bytes inline: wanted 0..%u", g->qp->d->dev->where, cap->max_inline_data,
			  g->sq.max_inline);
		return EINVAL;
	}
	g->sq.max_sge = RTE_MIN((room - hdr) / MLX4_DS_SIZE, RSW_MAX_SGE);
	g->sq.lg_stride = (uint8_t)lg;
	/* As many stay free as with the card, which looks so far ahead [DP 4.3]. */
	spare = (MLX4_SQ_PREFETCH_BYTES >> lg) + 1;
	if (cap->max_send_wr != 0) {
		g->sq_entries = rte_align32pow2(cap->max_send_wr + spare);
		g->sq_cap = g->sq_entries - spare;
		g->sq.mask = g->sq_entries - 1;
	}
	cap->max_send_wr = g->sq_cap;
	cap->max_send_sge = g->sq.max_sge;
	cap->max_inline_data = g->sq.max_inline;
	return 0;
}

static void
recv_shape(struct rsw_guest_qp *g, struct ibv_qp_cap *cap)
{
	uint32_t sges = RTE_MAX(cap->max_recv_sge, 1u);

	if (g->qp->srq != NULL || cap->max_recv_wr == 0) {
		cap->max_recv_wr = cap->max_recv_sge = 0;
		return;
	}
	rq_shape(&g->rq, RTE_MAX(rte_align32pow2(cap->max_recv_wr), RQ_ENTRIES_MIN),
		 (uint8_t)RTE_MAX(rte_log2_u32(sges * MLX4_DS_SIZE), LG_RQ_STRIDE_MIN), 0);
	cap->max_recv_wr = g->rq.entries;
	cap->max_recv_sge = g->rq.sges;
}

static int
qp_memory(struct rsw_guest_qp *g)
{
	/* The first request of a queue that has none is looked at all the same. */
	uint32_t slots = RTE_MAX(g->sq_entries, 1u);
	size_t sq = (size_t)slots << g->sq.lg_stride;
	int rc = mem_get(&g->mem, g->qp->q.guest, sq + ((size_t)g->rq.entries << g->rq.lg_stride));

	if (rc != 0)
		return rc;
	g->sq.base = g->mem.va;
	g->rq.base = g->mem.va + sq;
	g->rq.dbrec = g->mem.dbrec;
	if (g->sq.type != IBV_QPT_UD)
		return 0;
	g->routes = calloc(slots, sizeof(*g->routes));
	g->dgrams = calloc(slots, sizeof(*g->dgrams));
	return g->routes == NULL || g->dgrams == NULL ? ENOMEM : 0;
}

static void
qp_release(struct rsw_guest_qp *g)
{
	rsw_guest_mem_put(&g->mem);
	free(g->routes);
	free(g->dgrams);
	guest_put(g->qp->d, g->guest);
	free(g);
}

int
rsw_guest_qp_make(struct rsw_qp *qp, struct ibv_qp_cap *cap)
{
	struct rsw_guest_qp *g = calloc(1, sizeof(*g));
	int rc;

	if (g == NULL)
		return ENOMEM;
	g->qp = qp;
	g->sq.type = qp->q.v.qp_type;
	g->guest = guest_get(qp->d, qp->q.guest);
	if (g->guest == NULL) {
		free(g);
		return ENOMEM;
	}
	rc = send_shape(g, cap);
	if (rc == 0) {
		recv_shape(g, cap);
		rc = qp_memory(g);
	}
	if (rc != 0) {
		qp_release(g);
		return rc;
	}
	qp->g = g;
	rsw_guest_qp_reset(qp);
	return 0;
}

void
rsw_guest_qp_join(struct rsw_qp *qp)
{
	TAILQ_INSERT_TAIL(&qp->g->guest->qps, qp->g, next);
	qp->g->guest->num_qps++;
}

void
rsw_guest_qp_leave(struct rsw_qp *qp)
{
	struct rsw_guest *s = qp->g->guest;

	if (s->next_qp == qp->g)
		s->next_qp = TAILQ_NEXT(qp->g, next);
	TAILQ_REMOVE(&s->qps, qp->g, next);
	s->num_qps--;
	s->unseen = RTE_MIN(s->unseen, s->num_qps);
}

void
rsw_guest_qp_free(struct rsw_qp *qp)
{
	qp_release(qp->g);
	qp->g = NULL;
}

void
rsw_guest_qp_reset(struct rsw_qp *qp)
{
	struct rsw_guest_qp *g = qp->g;
	uint32_t i;

	for (i = 0; i <= g->sq.mask; i++)
		prm_set32(g->mem.va + ((size_t)i << g->sq.lg_stride), 0, UINT32_MAX);
	memset((void *)(uintptr_t)g->mem.dbrec, 0, sizeof(*g->mem.dbrec));
	g->rq.taken = 0;
}

void
rsw_view_qp(const struct troce_qp *q, struct troce_view_qp *view)
{
	const struct rsw_guest_qp *g = ((const struct rsw_qp *)q)->g;

	*view = (struct troce_view_qp){
		.mem = g->mem.va,
		.len = g->mem.len,
		.qpn = q->v.qp_num,
		.sq = place(&g->mem, g->sq.base),
		.rq = place(&g->mem, g->rq.base),
		.dbrec = place(&g->mem, g->mem.dbrec),
		.sq_entries = g->sq_entries,
		.rq_entries = g->rq.entries,
		.max_inline = g->sq.max_inline,
		.sq_sges = (uint16_t)g->sq.max_sge,
		.rq_sges = g->rq.sges,
		.lg_sq_stride = g->sq.lg_stride,
		.lg_rq_stride = g->rq.lg_stride,
	};
}

/* --- addresses ----------------------------------------------------------------------------------------------------- */

static_assert(TROCE_VIEW_AH == MLX4_DGRAM_SIZE, "an address is as long as the card has it");

void
rsw_view_ah(const struct troce_ah *ah, uint8_t d[TROCE_VIEW_AH])
{
	const struct troce_path *p = &ah->path;
	bool tagged = p->vlan != TP_ROCE_NO_VLAN || (p->prio != 0 && !p->untag);
	uint16_t vid = p->vlan != TP_ROCE_NO_VLAN ? p->vlan : 0;

	memset(d, 0, TROCE_VIEW_AH);
	prm_set(d, MLX4_AV_PORT, 1);
	prm_set(d, MLX4_AV_GRH, 1);
	prm_set(d, MLX4_AV_SGID_INDEX, p->sgid_index);
	prm_set(d, MLX4_AV_HOP_LIMIT, p->hop_limit);
	prm_set(d, MLX4_AV_TCLASS, p->tclass);
	prm_set(d, MLX4_AV_FLOW_LABEL, p->flow_label);
	prm_set(d, MLX4_AV_VLAN, tagged);
	prm_set(d, MLX4_AV_PRIO, p->prio);
	memcpy(d + MLX4_AV_DGID, p->dgid.raw, sizeof(p->dgid.raw));
	prm_set(d, MLX4_DGRAM_VLAN, tagged ? (uint32_t)p->prio << 13 | vid : MLX4_DGRAM_NO_VLAN);
	memcpy(d + MLX4_DGRAM_DMAC, p->dmac.addr_bytes, RTE_ETHER_ADDR_LEN);
}
