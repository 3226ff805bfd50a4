/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Who has a turn: queue pairs with something to do stand in one line and send at most RSW_BUDGET packets each time; time
 * limits lie in a heap. A limit that moves away stays where it is and is looked at when it would have been due, so that
 * the heap is touched about once per time-out and not per packet.
 */
#include <rte_ring.h>

#include "gate.h"
#include "guest.h"

/* --- the line ---------------------------------------------------------------------------------------------------- */

void
rsw_qp_queue(struct rsw_qp *qp)
{
	struct rsw_dev *d = qp->d;

	if (qp->queued)
		return;
	qp->queued = true;
	qp->run_next = NULL;
	if (d->run_first == NULL)
		d->run_first = qp;
	else
		d->run_last->run_next = qp;
	d->run_last = qp;
}

static struct rsw_qp *
next_in_line(struct rsw_dev *d)
{
	struct rsw_qp *qp = d->run_first;

	d->run_first = qp->run_next;
	qp->queued = false;
	return qp;
}

static void
leave_line(struct rsw_dev *d, struct rsw_qp *qp)
{
	struct rsw_qp **at = &d->run_first, *before = NULL;

	if (!qp->queued)
		return;
	for (; *at != qp; at = &before->run_next)
		before = *at;
	*at = qp->run_next;
	if (d->run_last == qp)
		d->run_last = before;
	qp->queued = false;
}

/* --- timers ------------------------------------------------------------------------------------------------------ */

static void
heap_put(struct rsw_dev *d, uint32_t i, struct rsw_timer t)
{
	d->heap[i] = t;
	t.qp->heap_at = i;
}

static void
heap_up(struct rsw_dev *d, uint32_t i, struct rsw_timer t)
{
	for (; i > 1 && d->heap[i / 2].due > t.due; i /= 2)
		heap_put(d, i, d->heap[i / 2]);
	heap_put(d, i, t);
}

static void
heap_down(struct rsw_dev *d, uint32_t i, struct rsw_timer t)
{
	for (uint32_t c; (c = 2 * i) <= d->heap_len; i = c) {
		if (c < d->heap_len && d->heap[c + 1].due < d->heap[c].due)
			c++;
		if (d->heap[c].due >= t.due)
			break;
		heap_put(d, i, d->heap[c]);
	}
	heap_put(d, i, t);
}

static void
heap_remove(struct rsw_dev *d, struct rsw_qp *qp)
{
	uint32_t i = qp->heap_at;
	struct rsw_timer last;

	if (i == 0)
		return;
	qp->heap_at = 0;
	last = d->heap[d->heap_len--];
	if (last.qp == qp)
		return;
	if (i > 1 && d->heap[i / 2].due > last.due)
		heap_up(d, i, last);
	else
		heap_down(d, i, last);
}

static inline void
timer_at(struct rsw_qp *qp, uint64_t due)
{
	struct rsw_dev *d = qp->d;

	if (due == TRE_NEVER || (qp->heap_at != 0 && d->heap[qp->heap_at].due <= due))
		return;
	heap_up(d, qp->heap_at != 0 ? qp->heap_at : ++d->heap_len, (struct rsw_timer){.due = due, .qp = qp});
}

static inline void
keep_timer(struct rsw_qp *qp)
{
	timer_at(qp, tre_deadline(&qp->e));
}

/* Does the queue pair's own limit lie in the heap, where it is found in time? */
static inline bool
has_timer(const struct rsw_qp *qp)
{
	uint64_t due = tre_deadline(&qp->e);

	return due == TRE_NEVER || (qp->heap_at != 0 && qp->d->heap[qp->heap_at].due <= due);
}

/* The acknowledgement of all there was leaves nothing to do, as does a packet in the middle of a message. */
void
rsw_qp_heard(struct rsw_qp *qp)
{
	if (qp->queued)
		return;
	if (qp->g != NULL || tre_busy(&qp->e) || qp->e.state != qp->q.v.state || qp->cq_failed || !has_timer(qp))
		rsw_qp_queue(qp);
}

static unsigned int
run_timers(struct rsw_dev *d, uint64_t now)
{
	unsigned int n = 0;

	for (; d->heap_len != 0 && d->heap[1].due <= now; n++) {
		struct rsw_qp *qp = d->heap[1].qp;

		heap_remove(d, qp);
		rsw_qp_queue(qp);
	}
	return n;
}

/* --- a turn ------------------------------------------------------------------------------------------------------ */

/* The verbs object follows what the engine decided. */
static void
follow(struct rsw_qp *qp)
{
	enum ibv_qp_state was = qp->q.v.state;

	qp->q.v.state = qp->e.state;
	if (qp->e.state != IBV_QPS_ERR)
		return;
	/* Receive requests that were posted before that could be seen are flushed in one more turn. */
	atomic_thread_fence(memory_order_seq_cst);
	rsw_qp_queue(qp);
	if (qp->srq != NULL)
		troce_async_event(qp->d->dev, IBV_EVENT_QP_LAST_WQE_REACHED, &qp->q.v);
	if (was == IBV_QPS_RTS || was == IBV_QPS_SQD)
		TROCE_LOG(INFO, "port %u: queue pair 0x%06x failed", qp->d->port, qp->q.v.qp_num);
}

void
rsw_qp_run(struct rsw_qp *qp, uint64_t now)
{
	uint32_t posted = atomic_load_explicit(&qp->posted, memory_order_acquire);
	bool more = false;

	if (qp->g != NULL)
		more = rsw_guest_take(qp);
	else
		while (qp->e.tail != posted)
			tre_post(&qp->e);
	if (__builtin_expect(qp->cq_failed, 0))
		tre_qp_fail(&qp->e, IBV_EVENT_QP_FATAL);
	if (__builtin_expect(troce_behind(*qp->d->full_polls), 0))
		tre_not_yet(&qp->e, now);
	tre_run(&qp->e, RSW_BUDGET, now);
	if (__builtin_expect(qp->e.state != qp->q.v.state, 0))
		follow(qp);
	keep_timer(qp);
	if (!tre_busy(&qp->e) && !more)
		return;
	if (__builtin_expect(qp->held_until == 0, 1)) {
		rsw_qp_queue(qp);
		return;
	}
	/* What else it has to do, such as answers, was done: what is left waits for its rate. */
	timer_at(qp, qp->held_until);
	qp->held_until = 0;
}

/* --- from other threads ---------------------------------------------------------------------------------------- */

void
rsw_qp_kick(struct rsw_qp *qp)
{
	struct rsw_dev *d = qp->d;
	struct rsw_qp *first;

	if (atomic_exchange(&qp->kicked, true))
		return;
	first = atomic_load_explicit(&d->kicks, memory_order_relaxed);
	do
		qp->kick_next = first;
	while (!atomic_compare_exchange_weak_explicit(&d->kicks, &first, qp, memory_order_release,
						      memory_order_relaxed));
}

/* All of the list at once, so that nobody can be taken off and put on again in between. */
static unsigned int
take_kicks(struct rsw_dev *d)
{
	struct rsw_qp *qp = atomic_exchange_explicit(&d->kicks, NULL, memory_order_acquire), *next;
	unsigned int n = 0;

	for (; qp != NULL; qp = next, n++) {
		next = qp->kick_next;
		/* From here on it may be pushed again; what was posted before is seen in its turn. */
		atomic_exchange(&qp->kicked, false);
		rsw_qp_queue(qp);
	}
	return n;
}

void
rsw_qp_forget(struct rsw_qp *qp)
{
	take_kicks(qp->d);
	leave_line(qp->d, qp);
	heap_remove(qp->d, qp);
}

/* --- all of it --------------------------------------------------------------------------------------------------- */

/* Those that never completed anything on an overrun queue fail, too. */
static void
fail_users(struct rsw_dev *d)
{
	struct rsw_qp *qp;

	d->overran = false;
	TAILQ_FOREACH(qp, &d->all, next)
	{
		if (!qp->scq->broken && !qp->rcq->broken)
			continue;
		qp->cq_failed = true;
		rsw_qp_queue(qp);
	}
}

/* There is no ethdev any more: what was posted ends, nothing is sent (V-8). */
static void
flush_all(struct rsw_dev *d)
{
	struct rsw_qp *qp;

	d->flushed = true;
	TAILQ_FOREACH(qp, &d->all, next)
	{
		if (qp->e.state == IBV_QPS_RESET)
			continue;
		tre_qp_state(&qp->e, IBV_QPS_ERR, NULL);
		rsw_qp_queue(qp);
	}
}

static unsigned int
run_loop(struct rsw_dev *d, uint64_t now)
{
	unsigned int n = 0;

	/* Answers that they cause wait for the next time. */
	for (uint32_t end = d->loop_tail; d->loop_head != end; n++)
		rsw_rx_loop(d, d->loop[d->loop_head++ & (RSW_LOOP - 1)], now);
	return n;
}

static inline unsigned int
turn(struct rsw_dev *d, uint64_t now)
{
	struct rsw_qp *last;
	unsigned int n = 0;

	if (__builtin_expect(d->loop_head != d->loop_tail, 0))
		n += run_loop(d, now);
	if (atomic_load_explicit(&d->kicks, memory_order_relaxed) != NULL)
		n += take_kicks(d);
	if (!TAILQ_EMPTY(&d->guests))
		n += rsw_guests_poll(d);
	if (d->heap_len != 0 && d->heap[1].due <= now)
		n += run_timers(d, now);
	if (__builtin_expect(!TAILQ_EMPTY(&d->held), 0))
		n += rsw_cq_run_held(d, now);
	if (__builtin_expect(d->overran, 0))
		fail_users(d);
	if (__builtin_expect(atomic_load_explicit(&d->gone, memory_order_relaxed) && !d->flushed, 0))
		flush_all(d);
	last = d->run_first == NULL ? NULL : d->run_last;
	while (last != NULL) {
		struct rsw_qp *qp = next_in_line(d);

		rsw_qp_run(qp, now);
		n++;
		if (qp == last)
			break;
	}
	return n;
}

unsigned int
rsw_progress(struct troce_dev *dev)
{
	struct rsw_dev *d = dev->home;
	unsigned int n;

	rsw_gate_enter_as_owner(d);
	n = turn(d, rsw_now(d));
	if (__builtin_expect(!rte_ring_empty(d->mad_tx), 0))
		rsw_mad_drain(d);
	if (d->num_tx != 0)
		rsw_tx_flush(d);
	rsw_gate_leave(d);
	if (__builtin_expect(d->num_mads != 0, 0))
		n += rsw_mad_deliver(d);
	return n;
}

/* --- a lane behind the first --------------------------------------------------------------------------------------- */

/* What is not for the transport is for the port's thread to look at. */
static void
judge(struct rsw_dev *d, struct rte_mbuf **pkts, uint16_t n, uint64_t now)
{
	uint16_t left = rsw_rx(d, pkts, n, now);

	for (uint16_t i = 0; i < left; i++)
		rsw_pass(d, 0, pkts[i]);
}

static unsigned int
receive(struct rsw_dev *d, uint64_t now)
{
	struct rte_mbuf *pkts[RSW_BURST];
	uint16_t n = rte_eth_rx_burst(d->port, (uint16_t)(d->dev->conf.rx_queue + d->lane), pkts, RSW_BURST);
	bool full = n == RSW_BURST;
	unsigned int done = n;

	if (n != 0) {
		troce_capture_burst(d->dev, pkts, n, false);
		judge(d, pkts, n, now);
	}
	for (uint16_t from = 0; from < d->num_lanes; from++) {
		n = rsw_pass_take(d, from, pkts, RSW_BURST);
		if (n == 0)
			continue;
		full = full || n == RSW_BURST;
		done += n;
		judge(d, pkts, n, now);
	}
	d->own_full_polls = full ? d->own_full_polls + 1 : 0;
	return done;
}

unsigned int
rsw_lane_progress(struct troce_dev *dev, uint16_t lane)
{
	struct rsw_dev *d = ((const struct rsw_dev *)dev->home)->lanes[lane];
	unsigned int n;
	uint64_t now;

	rsw_gate_enter_as_owner(d);
	now = rsw_now(d);
	n = receive(d, now);
	n += turn(d, now);
	if (d->num_tx != 0)
		rsw_tx_flush(d);
	rsw_gate_leave(d);
	return n;
}
