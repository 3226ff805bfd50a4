/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the port's thread reads of the rings of other processes, and writes into them. */
#include <string.h>

#include <rte_jhash.h>

#include "lib/roce/net/net.h"

#include "gate.h"
#include "guest.h"

#define TURN 64u /* requests that a queue pair gives in its turn */

static uint32_t
word(const uint32_t *at)
{
	return rte_be_to_cpu_32(__atomic_load_n(at, __ATOMIC_ACQUIRE));
}

/* --- send requests ------------------------------------------------------------------------------------------------- */

/* An address as the guest wrote it. The port's own part of it is the port's to say. */
static bool
path_of(const struct rsw_dev *d, const uint8_t *a, struct troce_path *p)
{
	uint32_t index = prm_get(a, MLX4_AV_SGID_INDEX), vlan = prm_get(a, MLX4_DGRAM_VLAN);
	const struct troce_gid *g = &d->gids[index];
	bool tagged = vlan != MLX4_DGRAM_NO_VLAN;

	static_assert(PRM_MAX(MLX4_AV_SGID_INDEX) < TP_ROCE_GIDS, "any index is one of the table");
	if (!g->valid || (g->vlan != TP_ROCE_NO_VLAN && (!tagged || (vlan & 0xfff) != g->vlan)) ||
	    (g->vlan == TP_ROCE_NO_VLAN && tagged && (vlan & 0xfff) != 0))
		return false;
	*p = (struct troce_path){.smac = d->dev->mac,
				 .sgid = g->gid,
				 .type = g->type,
				 .sgid_index = (uint8_t)index,
				 .tclass = (uint8_t)prm_get(a, MLX4_AV_TCLASS),
				 .hop_limit = (uint8_t)prm_get(a, MLX4_AV_HOP_LIMIT),
				 .prio = (uint8_t)prm_get(a, MLX4_AV_PRIO),
				 .decided = prm_get(a, MLX4_AV_PRIO) != 0,
				 .untag = !tagged,
				 .flow_label = prm_get(a, MLX4_AV_FLOW_LABEL),
				 .vlan = g->vlan,
				 .grh = true};
	memcpy(p->dgid.raw, a + MLX4_AV_DGID, sizeof(p->dgid.raw));
	memcpy(p->dmac.addr_bytes, a + MLX4_DGRAM_DMAC, RTE_ETHER_ADDR_LEN);
	p->sport = troce_sport(p->flow_label, rte_jhash(&p->sgid, sizeof(p->sgid), 0),
			       rte_jhash(&p->dgid, sizeof(p->dgid), 0) | 1);
	return true;
}

/* Where a datagram goes; what the place had before may be the same. */
static bool
take_route(struct rsw_qp *qp, uint32_t i, struct tre_wqe *w, uint8_t *dgram)
{
	struct rsw_guest_qp *g = qp->g;
	struct troce_path p;

	memset(dgram + PRM_OFF(MLX4_DGRAM_QPN), 0, 8);
	w->av = &g->routes[i];
	if (g->routes[i].ready && memcmp(g->dgrams[i], dgram, MLX4_DGRAM_SIZE) == 0)
		return true;
	g->routes[i].ready = false;
	if (!path_of(qp->d, dgram, &p))
		return false;
	memcpy(g->dgrams[i], dgram, MLX4_DGRAM_SIZE);
	rsw_route_set(&g->routes[i], qp->d, &p);
	return true;
}

static void
take_one(struct rsw_qp *qp)
{
	uint32_t at = qp->e.tail, i = at & (qp->sq_depth - 1);
	struct tre_wqe *w = &qp->sq[i];
	struct rsw_slot *s = &qp->slot[i];
	struct troce_ring_more more;
	bool good = troce_ring_send(&qp->g->sq, at, w, qp->data + (size_t)i * qp->data_stride, &more);

	if (good && w->opcode != TRE_WR_LOCAL && qp->g->sq.type == IBV_QPT_UD)
		good = take_route(qp, i, w, more.dgram);
	s->wr_id = (uint16_t)at;
	s->signaled = more.signaled;
	s->wc_opcode = (uint8_t)more.done;
	s->mw = NULL;
	s->local = good ? more.opcode : RSW_WR_BAD;
	s->lkey = more.lkey;
	s->info = more.bind;
	if (!good) {
		w->opcode = TRE_WR_LOCAL;
		w->len = 0;
		qp->d->sw.guest_bad_wqe++;
	}
}

bool
rsw_guest_take(struct rsw_qp *qp)
{
	unsigned int n = 0;

	qp->g->flush = qp->g->rq.entries;
	if (qp->e.state == IBV_QPS_ERR)
		qp->g->guest->late = true;
	if (qp->g->sq_entries == 0)
		return false;
	switch (qp->e.state) {
	case IBV_QPS_RTS:
	case IBV_QPS_SQD:
	case IBV_QPS_SQE:
	case IBV_QPS_ERR: break;
	default: return false;
	}
	for (; n < TURN && qp->e.tail - qp->e.una < qp->sq_depth && troce_ring_send_ready(&qp->g->sq, qp->e.tail);
	     n++) {
		take_one(qp);
		tre_post(&qp->e);
	}
	return n == TURN;
}

bool
rsw_guest_bind(struct rsw_dev *d, struct rsw_slot *s, uint32_t rkey)
{
	struct rsw_key *w = d->keys[RSW_KEY_INDEX(rkey)], *r = d->keys[RSW_KEY_INDEX(s->lkey)];

	if (w == NULL || w->window == 0)
		return false;
	s->mw = RTE_PTR_SUB(w, offsetof(struct rsw_mw, k));
	s->info.mr = NULL;
	if (r != NULL && r->window == 0 && r->key == s->lkey)
		s->info.mr = &r->mr->m.v;
	return true;
}

/* --- receive requests ---------------------------------------------------------------------------------------------- */

uint32_t
rsw_guest_posted(const struct rsw_guest_rq *rq)
{
	uint16_t n;

	if (rq->entries == 0)
		return 0;
	n = (uint16_t)((uint16_t)word(rq->dbrec) - rq->taken);
	return n <= rq->entries ? n : 0;
}

static void
take_list(struct rsw_guest_rq *rq, uint32_t at, uint32_t head, struct rsw_rqe *mine)
{
	const uint8_t *wqe = rq->base + ((size_t)at << rq->lg_stride) + head;

	mine->num_sge = troce_ring_list(wqe, rq->sges, mine->sge, &mine->len);
	mine->wr_id = at;
	rq->taken++;
}

bool
rsw_guest_recv(struct rsw_guest_qp *g, struct rsw_rqe *mine)
{
	if (rsw_guest_posted(&g->rq) == 0)
		return false;
	if (g->qp->e.state == IBV_QPS_ERR) {
		/* Whoever posts on and on does not keep the port's thread here. */
		if (g->flush == 0)
			return false;
		g->flush--;
	}
	take_list(&g->rq, g->rq.taken & (g->rq.entries - 1), 0, mine);
	return true;
}

bool
rsw_guest_srq_recv(struct rsw_guest_srq *g, struct rsw_rqe *mine)
{
	const uint8_t *wqe = g->rq.base + ((size_t)g->at << g->rq.lg_stride);
	uint16_t at = g->at;

	if (rsw_guest_posted(&g->rq) == 0)
		return false;
	g->at = (uint16_t)(prm_get(wqe, MLX4_SRQ_WQE_NEXT) & (g->rq.entries - 1));
	take_list(&g->rq, at, MLX4_SRQ_WQE_LIST, mine);
	return true;
}

/* --- completions --------------------------------------------------------------------------------------------------- */

uint32_t
rsw_guest_cq_head(const struct rsw_cq *cq, uint32_t tail)
{
	uint32_t behind = (tail - word(cq->g->mem.dbrec)) & MLX4_CQ_CI_MASK;

	return tail - RTE_MIN(behind, cq->depth);
}

void
rsw_guest_cq_put(struct rsw_cq *cq, const struct ibv_wc *wc, uint32_t tail, bool solicited)
{
	struct rsw_guest_cq *g = cq->g;

	troce_ring_cqe(&g->cqes[tail & (cq->depth - 1)], wc, (uint16_t)wc->wr_id, (tail & cq->depth) != 0);
	if (solicited)
		g->solicited = tail + 1;
}

bool
rsw_guest_cq_armed(struct rsw_cq *cq)
{
	struct rsw_guest_cq *g = cq->g;
	uint32_t arm = word(g->mem.dbrec + 1), tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	uint8_t was;

	if (arm == g->arm)
		return false;
	g->arm = arm;
	was = atomic_load_explicit(&cq->armed, memory_order_relaxed);
	if ((arm >> MLX4_CQ_ARM_CMD_SHIFT & MLX4_CQ_ARM_CMD_MASK) != MLX4_CQ_ARM_SOLICITED) {
		atomic_store_explicit(&cq->armed, RSW_ARM_ANY, memory_order_relaxed);
		return ((tail - arm) & MLX4_CQ_CI_MASK) != 0;
	}
	/* A wish for every completion is not narrowed by a later one (11.4.2.2). */
	if (was == RSW_ARM_NONE)
		atomic_store_explicit(&cq->armed, RSW_ARM_SOLICITED, memory_order_relaxed);
	return (int32_t)((g->solicited - arm) << 8) > 0;
}
