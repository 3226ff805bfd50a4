/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Egress. The port's line is played from where it was left: at each moment that it is free the scheduler picks a frame,
 * which occupies it for its bytes, and leaves when the last one is out. So a rare call gives the same frames at the same
 * times as many.
 *
 * Transmission selection (IEEE 802.1Q, 8.6.8): strict classes first, the highest one foremost; the others share by
 * start-time fair queueing: the frame with the lowest tag goes, and its class's tag grows by bytes over weight. A class
 * that was away (empty, paused, held by its rate) comes back at the tag of the one last served: it neither saved nor lost.
 * Within a class frames keep their order, but a paused priority does not hold up the others.
 */
#include "switch.h"

#define PS_PER_BYTE_MBPS UINT64_C(8000000) /* one byte at 1 Mb/s takes so many picoseconds */
#define NEVER UINT64_MAX

static uint64_t
cost(uint32_t mbps)
{
	return mbps == 0 ? 0 : (PS_PER_BYTE_MBPS << SW_COST_SHIFT) / mbps;
}

void
sw_port_rates(struct tp_switch_port *p)
{
	const struct tp_switch_port_config *c = &p->cfg;

	p->line_cost = cost(c->rate_mbps);
	p->quantum_ps =
		SW_PAUSE_QUANTUM_BITS * UINT64_C(1000000) / (c->rate_mbps != 0 ? c->rate_mbps : SW_UNPACED_MBPS);
	for (unsigned int i = 0; i < TP_SWITCH_PRIOS; i++) {
		struct sw_class *tc = &p->tc[i];

		tc->strict = c->tc[i].weight == 0;
		tc->tag_cost = tc->strict ? 0 : (100u << SW_COST_SHIFT) / c->tc[i].weight;
		tc->rate_cost = cost(c->tc[i].rate_mbps);
		tc->credit_ps = SW_CREDIT_BYTES * tc->rate_cost >> SW_COST_SHIFT;
		tc->prios = 0;
		for (unsigned int prio = 0; prio < TP_SWITCH_PRIOS; prio++)
			if (c->prio_tc[prio] == i)
				tc->prios |= (uint8_t)(1u << prio);
	}
}

/* The oldest frame's priority among those of the mask. */
static unsigned int
oldest(const struct tp_switch_port *p, unsigned int mask)
{
	unsigned int best = (unsigned int)__builtin_ctz(mask);

	while ((mask &= mask - 1) != 0) {
		unsigned int prio = (unsigned int)__builtin_ctz(mask);

		if (p->q[prio].head->seq < p->q[best].head->seq)
			best = prio;
	}
	return best;
}

static void
earlier(uint64_t *t, uint64_t than)
{
	if (than < *t)
		*t = than;
}

/*
 * Priorities with frames that were not paused at t_ps; *wake: when the next one of the others may go. A pause that was ended since still
 * holds for the time before: a line that stood still has not gone on meanwhile.
 */
static unsigned int
not_paused(const struct tp_switch_port *p, uint64_t t_ps, uint64_t *wake)
{
	unsigned int ready = p->busy;

	for (unsigned int mask = p->busy; mask != 0; mask &= mask - 1) {
		unsigned int prio = (unsigned int)__builtin_ctz(mask);

		if (p->paused_until[prio] <= t_ps)
			continue;
		earlier(wake, p->paused_until[prio]);
		ready &= ~(1u << prio);
	}
	return ready;
}

/* The class whose turn it is at t_ps, and the priority of its frame; NULL: none before *wake. */
static struct sw_class *
select_class(struct tp_switch_port *p, uint64_t t_ps, unsigned int *prio, uint64_t *wake)
{
	struct sw_class *best = NULL;
	unsigned int ready, left;
	uint64_t best_tag = 0;

	*wake = NEVER;
	ready = left = not_paused(p, t_ps, wake);
	for (unsigned int i = TP_SWITCH_PRIOS; left != 0 && i-- > 0;) {
		struct sw_class *tc = &p->tc[i];
		uint64_t tag = tc->tag > p->virtual_time ? tc->tag : p->virtual_time;
		unsigned int q;

		if ((tc->prios & ready) == 0)
			continue;
		left &= ~(unsigned int)tc->prios;
		q = oldest(p, tc->prios & ready);
		if (p->q[q].head->at_ps > t_ps) {
			earlier(wake, p->q[q].head->at_ps);
			continue;
		}
		if (tc->rate_cost != 0 && tc->next_ps > t_ps) {
			earlier(wake, tc->next_ps);
			continue;
		}
		if (!tc->strict && best != NULL && tag >= best_tag)
			continue;
		best = tc;
		best_tag = tag;
		*prio = q;
		if (tc->strict)
			break;
	}
	return best;
}

static struct sw_buf *
take(struct tp_switch_port *p, struct sw_class *tc, unsigned int prio, uint64_t t_ps)
{
	struct sw_list *q = &p->q[prio];
	struct sw_buf *b = q->head;

	q->head = b->next;
	if (q->head == NULL) {
		q->tail = NULL;
		p->busy &= (uint8_t) ~(1u << prio);
	}
	if (!tc->strict) {
		if (tc->tag < p->virtual_time)
			tc->tag = p->virtual_time;
		p->virtual_time = tc->tag;
		tc->tag += (uint64_t)(b->len + SW_LINE_OVERHEAD) * tc->tag_cost;
	}
	if (tc->rate_cost != 0) {
		uint64_t since = t_ps > tc->credit_ps ? t_ps - tc->credit_ps : 0;

		if (tc->next_ps < since)
			tc->next_ps = since;
		tc->next_ps += (b->len + SW_FCS) * tc->rate_cost >> SW_COST_SHIFT;
	}
	return b;
}

/* Puts a frame on the free line at the first moment up to now that one may go; false: not before *then. */
static bool
start(struct tp_switch_port *p, uint64_t now_ps, uint64_t *then)
{
	uint64_t t = p->free_ps;

	*then = NEVER;
	while (p->busy != 0) {
		struct sw_class *tc;
		unsigned int prio = 0;
		uint64_t wake;

		*then = t;
		if (t > now_ps)
			return false;
		if (tpm_unlikely(p->paused != 0))
			sw_pause_expire(p, t);
		tc = select_class(p, t, &prio, &wake);
		if (tc != NULL) {
			p->current = take(p, tc, prio, t);
			p->free_ps = t + ((p->current->len + SW_LINE_OVERHEAD) * p->line_cost >> SW_COST_SHIFT);
			return true;
		}
		t = wake;
	}
	return false;
}

static struct sw_buf *
depart(struct tp_switch_port *p)
{
	struct sw_buf *b;
	uint64_t then;

	if (p->current == NULL && !start(p, p->sw->now_ps, &then))
		return NULL;
	if (p->free_ps > p->sw->now_ps)
		return NULL;
	b = p->current;
	p->current = NULL;
	return b;
}

static void
take_back(struct tp_switch_port *p)
{
	struct sw_buf *b;

	while ((b = p->given.head) != NULL) {
		p->given.head = b->next;
		sw_buf_free(p->sw, b);
	}
	p->given.tail = NULL;
}

unsigned int
tp_switch_port_recv(struct tp_switch_port *p, uint64_t now_ns, struct tp_frame *f, unsigned int n)
{
	unsigned int done = 0;
	struct sw_buf *b;

	pthread_mutex_lock(&p->sw->lock);
	sw_time(p->sw, now_ns);
	take_back(p);
	if (p->link && n != 0 && sw_pause_due(p, &f[0]))
		done++;
	while (done < n && (b = depart(p)) != NULL) {
		struct tp_switch_prio_stats *st = &p->st.prio[b->prio];

		st->tx_frames++;
		st->tx_bytes += b->len;
		sw_uncharge(p->sw, p, b);
		sw_append(&p->given, b);
		b->seg = (struct tp_frame_seg){b->data, b->len};
		f[done++] = (struct tp_frame){.seg = &b->seg, .nseg = 1, .len = b->len};
	}
	pthread_mutex_unlock(&p->sw->lock);
	return done;
}

static uint64_t
next_ps(struct tp_switch_port *p, uint64_t now_ps)
{
	uint64_t then;

	if (p->pause_due)
		return now_ps;
	if (p->current != NULL || start(p, now_ps, &then))
		then = p->free_ps;
	if (p->told != 0)
		earlier(&then, p->repeat_ps);
	return then;
}

/*
 * Of a large switch one or two ports change between two calls: the time of another one is that of the last call, until it has
 * come.
 */
uint64_t
tp_switch_next(struct tp_switch *sw, uint64_t now_ns, uint64_t *due)
{
	uint64_t first = NEVER;

	*due = 0;
	pthread_mutex_lock(&sw->lock);
	sw_time(sw, now_ns);
	for (uint64_t mask = (sw->changed | sw->timed) & sw->up; mask != 0; mask &= mask - 1) {
		unsigned int i = (unsigned int)__builtin_ctzll(mask);
		uint64_t bit = mask & -mask;

		if ((sw->changed & bit) != 0 || sw->next_ps[i] <= sw->now_ps) {
			sw->next_ps[i] = next_ps(sw->port[i], sw->now_ps);
			sw->changed &= ~bit;
			sw->timed = sw->next_ps[i] != NEVER ? sw->timed | bit : sw->timed & ~bit;
		}
		earlier(&first, sw->next_ps[i]);
		if (sw->next_ps[i] <= sw->now_ps)
			*due |= bit;
	}
	if (*due != 0)
		first = now_ns;
	else if (first != NEVER)
		first = now_ns + (first - sw->now_ps + 999) / 1000;
	pthread_mutex_unlock(&sw->lock);
	return first;
}
