/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Completion queues: a ring of struct ibv_wc that the port's thread fills and one thread polls (IBTA 11.4.2).
 */
#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

#include "gate.h"
#include "guest.h"

/* --- moderation --- */

static void
release(struct rsw_cq *cq)
{
	if (cq->held)
		TAILQ_REMOVE(&cq->d->held, cq, next_held);
	cq->held = false;
	cq->mod_num = 0;
}

static void
tell(struct rsw_cq *cq)
{
	release(cq);
	atomic_store_explicit(&cq->armed, RSW_ARM_NONE, memory_order_relaxed);
	troce_cq_event(&cq->c);
}

/* One completion more for an event that is due later, unless it is now. */
static void
hold(struct rsw_cq *cq)
{
	if (++cq->mod_num >= cq->mod_count && cq->mod_count != 0) {
		tell(cq);
	} else if (!cq->held) {
		cq->mod_due = rsw_now(cq->d) + cq->mod_ns;
		cq->held = true;
		TAILQ_INSERT_TAIL(&cq->d->held, cq, next_held);
	}
}

static void
fire(struct rsw_cq *cq)
{
	if (cq->mod_count != 1 && cq->mod_ns != 0)
		hold(cq);
	else
		tell(cq);
}

unsigned int
rsw_cq_run_held(struct rsw_dev *d, uint64_t now)
{
	struct rsw_cq *cq, *next;
	unsigned int n = 0;

	for (cq = TAILQ_FIRST(&d->held); cq != NULL; cq = next) {
		next = TAILQ_NEXT(cq, next_held);
		if (cq->mod_due > now)
			continue;
		tell(cq);
		n++;
	}
	return n;
}

int
rsw_modify_cq(struct troce_cq *c, uint16_t count, uint16_t period_us)
{
	struct rsw_cq *cq = (struct rsw_cq *)c;

	rsw_gate_close(cq->d);
	/* What waits by the old measure is told now. */
	if (cq->held)
		tell(cq);
	cq->mod_count = count;
	cq->mod_ns = period_us * 1000u;
	rsw_gate_open(cq->d);
	return 0;
}

/* --- the queue --- */

int
rsw_create_cq(struct troce_cq *c, int vector)
{
	struct rsw_cq *cq = (struct rsw_cq *)c;
	int rc;

	/* What guests have is polled with the port. */
	cq->d = rsw_dev_of(c->v.context)->lanes[c->guest != NULL ? 0 : c->vector];
	/* One more than the guest asks for, as of the card. */
	cq->depth = rte_align32pow2((uint32_t)c->v.cqe + (c->guest != NULL));
	cq->ring_mask = c->guest != NULL ? 0 : cq->depth - 1;
	cq->ring = calloc(cq->ring_mask + 1, sizeof(*cq->ring));
	if (cq->ring == NULL)
		return ENOMEM;
	c->v.cqe = (int)cq->depth;
	if (c->guest == NULL)
		return 0;
	c->v.cqe--;
	rc = rsw_guest_cq_make(cq, vector >= 0);
	if (rc != 0)
		free(cq->ring);
	return rc;
}

/* One more than is asked for, as of the card. */
static int
resize_guest(struct rsw_cq *cq, int cqe)
{
	uint32_t entries = rte_align32pow2((uint32_t)cqe + 1);
	struct rsw_guest_mem mem;
	int rc;

	if (entries != cq->depth) {
		rc = rsw_guest_cq_room(cq, entries, &mem);
		if (rc != 0)
			return rc;
		rsw_gate_close(cq->d);
		/* By the numbers of the old ring. */
		(void)rsw_cq_look(cq);
		rc = rsw_guest_cq_move(cq, entries, &mem);
		rsw_gate_open(cq->d);
		rsw_guest_mem_put(&mem);
		if (rc != 0)
			return rc;
	}
	cq->c.v.cqe = (int)cq->depth - 1;
	return 0;
}

int
rsw_resize_cq(struct troce_cq *c, int cqe)
{
	struct rsw_cq *cq = (struct rsw_cq *)c;
	uint32_t depth = rte_align32pow2((uint32_t)cqe), head, tail;
	struct ibv_wc *ring;

	if (cq->g != NULL)
		return resize_guest(cq, cqe);
	ring = calloc(depth, sizeof(*ring));
	if (ring == NULL)
		return ENOMEM;
	rsw_gate_close(cq->d);
	head = atomic_load(&cq->head);
	tail = atomic_load(&cq->tail);
	if (tail - head > depth) {
		rsw_gate_open(cq->d);
		free(ring);
		TROCE_LOG(ERR, "port %u: %u completions were not polled: wanted at least as many entries", cq->d->port,
			  tail - head);
		return EINVAL;
	}
	for (uint32_t i = head; i != tail; i++)
		ring[i & (depth - 1)] = cq->ring[i & cq->ring_mask];
	free(cq->ring);
	cq->ring = ring;
	cq->depth = depth;
	cq->ring_mask = depth - 1;
	cq->head_seen = head;
	c->v.cqe = (int)depth;
	rsw_gate_open(cq->d);
	return 0;
}

int
rsw_destroy_cq(struct troce_cq *c)
{
	struct rsw_cq *cq = (struct rsw_cq *)c;

	/* The library saw that no queue pair uses it. */
	rsw_gate_close(cq->d);
	release(cq);
	rsw_gate_open(cq->d);
	if (cq->g != NULL)
		rsw_guest_cq_free(cq);
	free(cq->ring);
	cq->ring = NULL;
	return 0;
}

struct ibv_wc *
rsw_cq_slot(struct rsw_cq *cq, struct rsw_qp *qp)
{
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);

	if (tail - cq->head_seen < cq->depth)
		return &cq->ring[tail & cq->ring_mask];
	cq->head_seen =
		cq->g != NULL ? rsw_guest_cq_head(cq, tail) : atomic_load_explicit(&cq->head, memory_order_acquire);
	if (tail - cq->head_seen < cq->depth && !cq->broken)
		return &cq->ring[tail & cq->ring_mask];
	/* One completion is lost: the queue takes no more, and all who use it fail (10.8.2). */
	cq->head_seen = tail - cq->depth;
	if (!cq->broken) {
		cq->broken = true;
		cq->d->overran = true;
		cq->d->sw.cq_overruns++;
		troce_async_event(cq->d->dev, IBV_EVENT_CQ_ERR, &cq->c.v);
	}
	qp->cq_failed = true;
	rsw_qp_queue(qp);
	return NULL;
}

static void
notify(struct rsw_cq *cq, bool solicited)
{
	uint8_t armed;

	/* Who armed it looks at the ring afterwards; here the ring was filled before. */
	atomic_thread_fence(memory_order_seq_cst);
	if (cq->g != NULL && rsw_guest_cq_armed(cq))
		solicited = true;
	armed = atomic_load_explicit(&cq->armed, memory_order_relaxed);
	if (armed == RSW_ARM_NONE || (armed == RSW_ARM_SOLICITED && !solicited))
		return;
	fire(cq);
}

void
rsw_cq_commit(struct rsw_cq *cq, bool solicited)
{
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);

	if (cq->g != NULL)
		rsw_guest_cq_put(cq, cq->ring, tail, solicited);
	atomic_store_explicit(&cq->tail, tail + 1, memory_order_release);
	if (cq->c.v.channel != NULL || (cq->g != NULL && cq->g->events))
		notify(cq, solicited);
}

unsigned int
rsw_cq_look(struct rsw_cq *cq)
{
	if (!rsw_guest_cq_armed(cq))
		return 0;
	fire(cq);
	return 1;
}

int
rsw_poll_cq(struct ibv_cq *v, int num, struct ibv_wc *wc)
{
	struct rsw_cq *cq = (struct rsw_cq *)v;
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	uint32_t n = atomic_load_explicit(&cq->tail, memory_order_acquire) - head;

	if (n == 0)
		return __builtin_expect(cq->broken, 0) ? -EIO : 0;
	if (n > (uint32_t)num)
		n = num < 0 ? 0 : (uint32_t)num;
	for (uint32_t i = 0; i < n; i++)
		wc[i] = cq->ring[(head + i) & (cq->depth - 1)];
	atomic_store_explicit(&cq->head, head + n, memory_order_release);
	return (int)n;
}

int
rsw_req_notify_cq(struct ibv_cq *v, int solicited_only)
{
	struct rsw_cq *cq = (struct rsw_cq *)v;

	if (v->channel == NULL)
		return EINVAL;
	/* A wish for every completion is not narrowed by a later one (11.4.2.2). */
	if (solicited_only == 0)
		atomic_store_explicit(&cq->armed, RSW_ARM_ANY, memory_order_relaxed);
	else if (atomic_load_explicit(&cq->armed, memory_order_relaxed) == RSW_ARM_NONE)
		atomic_store_explicit(&cq->armed, RSW_ARM_SOLICITED, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	return 0;
}
