/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Doorbells of other processes: who has something to do for the port's thread. */
#include "gate.h"
#include "guest.h"

static bool
has_work(const struct rsw_guest_qp *g)
{
	const struct rsw_qp *qp = g->qp;

	if (qp->e.state == IBV_QPS_RESET || g->sq_entries == 0)
		return false;
	return troce_ring_send_ready(&g->sq, qp->e.tail);
}

static unsigned int
rang(struct rsw_guest *s)
{
	struct rsw_guest_qp *g;
	unsigned int n = 0;

	TAILQ_FOREACH(g, &s->qps, next)
	{
		if (!has_work(g))
			continue;
		rsw_qp_queue(g->qp);
		n++;
	}
	return n;
}

/* What is posted in error is flushed, and rings no bell. */
static unsigned int
late(struct rsw_guest *s)
{
	struct rsw_guest_qp *g;
	unsigned int n = 0;

	s->late = false;
	TAILQ_FOREACH(g, &s->qps, next)
	{
		if (g->qp->e.state != IBV_QPS_ERR || g->qp->srq != NULL)
			continue;
		s->late = true;
		if (rsw_guest_posted(&g->rq) == 0)
			continue;
		rsw_qp_queue(g->qp);
		n++;
	}
	return n;
}

unsigned int
rsw_guests_poll(struct rsw_dev *d)
{
	struct rsw_guest *s;
	struct rsw_guest_cq *c;
	unsigned int n = 0;

	TAILQ_FOREACH(s, &d->guests, next)
	{
		uint32_t *bell = (uint32_t *)(void *)(s->page + MLX4_UAR_SEND_DB);

		if (__atomic_load_n(bell, __ATOMIC_RELAXED) != 0) {
			(void)__atomic_exchange_n(bell, 0, __ATOMIC_SEQ_CST);
			n += rang(s);
		}
		TAILQ_FOREACH(c, &s->cqs, next) n += rsw_cq_look(c->cq);
		if (__builtin_expect(s->late, 0))
			n += late(s);
	}
	return n;
}
