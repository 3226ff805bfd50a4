/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Doorbells of other processes: who has something to do for the port's thread. */
#include "gate.h"
#include "guest.h"

#define LOOKS 256u /* at queues of a guest in a turn: one that has many takes no time of others */

/* What is posted in error is flushed, and rings no bell when it is to receive. */
static bool
has_work(const struct rsw_guest_qp *g)
{
	const struct rsw_qp *qp = g->qp;

	if (qp->e.state == IBV_QPS_RESET)
		return false;
	if (g->sq_entries != 0 && troce_ring_send_ready(&g->sq, qp->e.tail))
		return true;
	return qp->e.state == IBV_QPS_ERR && qp->srq == NULL && rsw_guest_posted(&g->rq) != 0;
}

static unsigned int
look_at_qps(struct rsw_guest *s)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < LOOKS && s->unseen != 0; i++, s->unseen--) {
		struct rsw_guest_qp *g = s->next_qp != NULL ? s->next_qp : TAILQ_FIRST(&s->qps);

		s->next_qp = TAILQ_NEXT(g, next);
		s->late = s->late || g->qp->e.state == IBV_QPS_ERR;
		if (!has_work(g))
			continue;
		rsw_qp_queue(g->qp);
		n++;
	}
	return n;
}

static unsigned int
look_at_cqs(struct rsw_guest *s)
{
	uint32_t looks = RTE_MIN(s->num_cqs, LOOKS);
	unsigned int n = 0;

	for (; looks != 0; looks--) {
		struct rsw_guest_cq *g = s->next_cq != NULL ? s->next_cq : TAILQ_FIRST(&s->cqs);

		s->next_cq = TAILQ_NEXT(g, next);
		n += rsw_cq_look(g->cq);
	}
	return n;
}

unsigned int
rsw_guests_poll(struct rsw_dev *d)
{
	struct rsw_guest *s;
	unsigned int n = 0;

	TAILQ_FOREACH(s, &d->guests, next)
	{
		uint32_t *bell = (uint32_t *)(void *)(s->page + MLX4_UAR_SEND_DB);

		if (__atomic_load_n(bell, __ATOMIC_RELAXED) != 0) {
			(void)__atomic_exchange_n(bell, 0, __ATOMIC_SEQ_CST);
			s->unseen = s->num_qps;
		} else if (s->unseen == 0 && __builtin_expect(s->late, 0)) {
			s->late = false;
			s->unseen = s->num_qps;
		}
		n += look_at_qps(s) + look_at_cqs(s);
	}
	return n;
}
