/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Who sends next on a managed port. Groups of classes go in strict order; in a group the class that was served least,
 * by bytes over its share, is next; in a class its priorities take turns, in a priority its queues. Classes and queues
 * may have rate limits, the link a rate.
 *
 * The scheduler has a clock of its own, qos->link: the time of its next decision. It is never ahead of the card's time
 * by more than a frame, and catches up by serving as if every decision came when it was due. So rates are exact however
 * seldom the card is stepped. Limits count octets of frames with FCS; the link counts preamble and gap too.
 */
#include <errno.h>
#include <stdlib.h>

#include "qos.h"

#define WIRE_EXTRA 20u /* preamble and gap */
/* A limited class or queue that could not use its rate for a while may catch up so much at once. */
#define BURST_BYTES 16384u
/* With the machine's clock: what is due since longer is given up, as a card that was not there sent nothing. */
#define LAG_MAX_NS 100000000u
/* WQEs at a time when nothing has a rate. */
#define UNPACED_BATCH 8u
#define SERVED_SCALE 1024u

/* --- time ------------------------------------------------------------------------------------------------- */

static void
pace_add(struct tpm_pace *p, uint64_t bytes, uint32_t kbps)
{
	uint64_t v = bytes * 8 * 1000000 + p->rem;

	p->ns += v / kbps;
	p->rem = (uint32_t)(v % kbps);
}

static void
pace_not_before(struct tpm_pace *p, uint64_t ns)
{
	if (p->ns < ns)
		*p = (struct tpm_pace){.ns = ns};
}

/* Charges what was sent at time t. */
static void
pace_charge(struct tpm_pace *p, uint64_t bytes, uint32_t kbps, uint64_t t)
{
	uint64_t burst = (uint64_t)BURST_BYTES * 8 * 1000000 / kbps;

	pace_not_before(p, t > burst ? t - burst : 0);
	pace_add(p, bytes, kbps);
}

/* --- who is in which list --------------------------------------------------------------------------------- */

void
tpm_list_add(struct tpm_qp_list *l, struct tpm_qp *qp)
{
	qp->pending = l;
	qp->pending_next = NULL;
	if (l->tail != NULL)
		l->tail->pending_next = qp;
	else
		l->head = qp;
	l->tail = qp;
	l->count++;
}

void
tpm_list_del(struct tpm_qp *qp)
{
	struct tpm_qp_list *l = qp->pending;
	struct tpm_qp **at = &l->head, *prev = NULL;

	while (*at != qp) {
		prev = *at;
		at = &(*at)->pending_next;
	}
	*at = qp->pending_next;
	if (l->tail == qp)
		l->tail = prev;
	l->count--;
	qp->pending = NULL;
	qp->pending_next = NULL;
}

void
tpm_sched_add(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp)
{
	pace_not_before(&qp->pace, tpm_now(m));
	tpm_list_add(&p->qos->queue[qp->prio], qp);
}

static void
list_move(struct tp_model *m, struct tpm_port *p, struct tpm_qp_list *from)
{
	for (struct tpm_qp *qp = from->head, *next; qp != NULL; qp = next) {
		next = qp->pending_next;
		if (qp->port != p->num)
			continue;
		tpm_list_del(qp);
		if (p->tx_managed)
			tpm_sched_add(m, p, qp);
		else
			tpm_list_add(&m->pending, qp);
	}
}

void
tpm_sched_update(struct tp_model *m, struct tpm_port *p)
{
	struct tpm_qos *q = p->qos;
	uint32_t used = 0, rates = q->rate_kbps;
	bool managed;

	for (unsigned int i = 0; i < MLX4_PRIOS; i++) {
		used |= 1u << p->prio2tc[i];
		rates |= q->tc[p->prio2tc[i]].rate_kbps;
	}
	managed = rates != 0 || q->rated_qps != 0 || (used & (used - 1)) != 0 || q->paused != 0 || q->cn.limited != 0;
	if (managed == p->tx_managed)
		return;
	p->tx_managed = managed;
	if (managed) {
		pace_not_before(&q->link, tpm_now(m));
		list_move(m, p, &m->pending);
	} else {
		for (unsigned int i = 0; i < MLX4_PRIOS; i++)
			list_move(m, p, &q->queue[i]);
	}
}

void
tpm_sched_qp_gone(struct tp_model *m, struct tpm_qp *qp)
{
	struct tpm_port *p;

	if (qp->rated_port == 0)
		return;
	p = &m->port[qp->rated_port - 1];
	qp->rated_port = 0;
	p->qos->rated_qps--;
	tpm_sched_update(m, p);
}

void
tpm_sched_qp(struct tp_model *m, struct tpm_qp *qp)
{
	struct tpm_port *p = &m->port[qp->port - 1];

	if (qp->rated_port != (qp->rate_kbps != 0 ? qp->port : 0)) {
		tpm_sched_qp_gone(m, qp);
		if (qp->rate_kbps != 0) {
			qp->rated_port = qp->port;
			p->qos->rated_qps++;
			tpm_sched_update(m, p);
		}
	}
	if (qp->pending != NULL) {
		tpm_list_del(qp);
		if (p->tx_managed)
			tpm_sched_add(m, p, qp);
		else
			tpm_list_add(&m->pending, qp);
	}
}

/* --- the choice ------------------------------------------------------------------------------------------- */

struct pick {
	struct tpm_class *c;
	struct tpm_qp *qp;
	uint8_t prio;
	uint64_t next; /* when something that waits for time may go */
};

static uint64_t
later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The next queue of a priority that may send at t; *next is lowered to when one may. */
static struct tpm_qp *
pick_qp(const struct tpm_qos *q, unsigned int prio, uint64_t t, uint64_t *next)
{
	uint64_t limit = tpm_unlikely((q->cn.limited >> prio & 1) != 0) ? q->cn.prio[prio].rp.send_at : 0;

	for (struct tpm_qp *qp = q->queue[prio].head; qp != NULL; qp = qp->pending_next) {
		uint64_t ready;

		if (tpm_unlikely(qp->roce != NULL) && !qp->ops->ready(qp))
			continue;
		ready = qp->rate_kbps != 0 ? later(qp->pace.ns, q->until[prio]) : q->until[prio];
		/* The transport has congestion control of its own. */
		if (qp->roce == NULL)
			ready = later(ready, limit);

		if (ready <= t)
			return qp;
		if (ready < *next)
			*next = ready;
	}
	return NULL;
}

/* When the class's own limit lets it send. Time in which it had nothing to send earns it nothing. */
static uint64_t
class_open(const struct tpm_port *p, unsigned int tc, uint64_t t)
{
	struct tpm_class *c = &p->qos->tc[tc];
	if (c->rate_kbps == 0)
		return 0;
	if (!c->backlog)
		pace_not_before(&c->pace, t);
	return c->pace.ns;
}

static struct tpm_qp *
pick_in_class(const struct tpm_port *p, unsigned int tc, uint64_t t, struct pick *k, uint8_t *prio)
{
	const struct tpm_qos *q = p->qos;
	uint64_t next = UINT64_MAX, open = class_open(p, tc, t);
	struct tpm_qp *qp = NULL;

	for (unsigned int i = 0; i < MLX4_PRIOS && qp == NULL; i++) {
		unsigned int n = (q->next_prio[tc] + i) % MLX4_PRIOS;

		if (p->prio2tc[n] != tc || q->queue[n].head == NULL)
			continue;
		qp = pick_qp(q, n, later(t, open), &next);
		*prio = (uint8_t)n;
	}
	if (qp != NULL && open <= t)
		return qp;
	next = later(qp != NULL ? t : next, open);
	if (next < k->next)
		k->next = next;
	return NULL;
}

/* Counters of what was served go round. */
static bool
served_less(const struct tpm_class *a, const struct tpm_class *b)
{
	return (int64_t)(a->served - b->served) < 0;
}

static void
served_not_before(struct tpm_class *c, uint64_t served)
{
	if ((int64_t)(c->served - served) < 0)
		c->served = served;
}

/* Classes with work. */
static uint32_t
backlog_of(const struct tpm_port *p)
{
	uint32_t backlog = 0;

	for (unsigned int i = 0; i < MLX4_PRIOS; i++)
		backlog |= (uint32_t)(p->qos->queue[i].head != NULL) << p->prio2tc[i];
	return backlog;
}

static void
pick(const struct tpm_port *p, uint64_t t, struct pick *k)
{
	struct tpm_qos *q = p->qos;
	uint32_t backlog = backlog_of(p);

	*k = (struct pick){.next = UINT64_MAX};
	for (unsigned int tc = 0; tc < MLX4_TCS; tc++) {
		struct tpm_class *c = &q->tc[tc];
		struct tpm_qp *qp;
		uint8_t prio = 0;

		if ((backlog >> tc & 1) == 0) {
			c->active = c->backlog = false;
			continue;
		}
		qp = pick_in_class(p, tc, t, k, &prio);
		c->backlog = true;
		if (qp != NULL && !c->active)
			served_not_before(c, q->group_served[c->group]);
		c->active = qp != NULL;
		if (qp == NULL ||
		    (k->c != NULL && (c->group > k->c->group || (c->group == k->c->group && !served_less(c, k->c)))))
			continue;
		k->c = c;
		k->qp = qp;
		k->prio = prio;
	}
}

/* --- service ---------------------------------------------------------------------------------------------- */

static unsigned int
serve(struct tp_model *m, struct tpm_port *p, const struct pick *k, unsigned int budget)
{
	struct tpm_qos *q = p->qos;
	uint64_t frames = m->st.port[p->num - 1].tx_frames, bytes = m->st.port[p->num - 1].tx_bytes, t = q->link.ns;
	bool limited = (q->cn.limited >> k->prio & 1) != 0 && k->qp->roce == NULL;
	bool paced = q->rate_kbps != 0 || k->c->rate_kbps != 0 || k->qp->rate_kbps != 0 || limited;
	unsigned int batch = paced ? 1 : UNPACED_BATCH, done;

	done = k->qp->ops->run(m, k->qp, batch < budget ? batch : budget);
	done = k->qp->ops->served(k->qp, done);
	frames = m->st.port[p->num - 1].tx_frames - frames;
	bytes = m->st.port[p->num - 1].tx_bytes - bytes + TPM_FCS_LEN * frames;
	if (k->qp->pending == &q->queue[k->prio]) {
		tpm_list_del(k->qp);
		tpm_list_add(&q->queue[k->prio], k->qp);
	}
	q->next_prio[p->prio2tc[k->prio]] = (k->prio + 1) % MLX4_PRIOS;
	q->group_served[k->c->group] = k->c->served;
	k->c->served += bytes * SERVED_SCALE / k->c->weight;
	if (k->c->rate_kbps != 0)
		pace_charge(&k->c->pace, bytes, k->c->rate_kbps, t);
	if (k->qp->rate_kbps != 0)
		pace_charge(&k->qp->pace, bytes, k->qp->rate_kbps, t);
	if (q->rate_kbps != 0)
		pace_add(&q->link, bytes + WIRE_EXTRA * frames, q->rate_kbps);
	if (limited)
		tpm_cn_sent(m, p, k->prio, (uint32_t)bytes, t);
	return done;
}

unsigned int
tpm_sched_run(struct tp_model *m, struct tpm_port *p, unsigned int budget)
{
	struct tpm_qos *q = p->qos;
	uint64_t now = tpm_now(m);
	unsigned int done = 0;
	struct pick k = {0};

	tpm_pause_expire(m, p);
	if (!m->virtual_time && now > LAG_MAX_NS)
		pace_not_before(&q->link, now - LAG_MAX_NS);
	/* A card that slept does not know when software posted: not in the time in which nothing was there to be sent. */
	if (!m->virtual_time)
		pace_not_before(&q->link, q->idle < now ? q->idle : now);
	q->idle = 0;
	while (done < budget && q->link.ns <= now) {
		pick(p, q->link.ns, &k);
		if (k.c != NULL)
			done += serve(m, p, &k, budget - done);
		else
			/* Nothing can go before then, or before software posts more. */
			pace_not_before(&q->link, k.next < now ? k.next : now);
		if (k.c == NULL && k.next > now) {
			q->idle = k.next;
			break;
		}
	}
	/* Also when the link was not free at all: the card is not to sleep longer than its frames wait. */
	m->waits |= backlog_of(p) != 0;
	return done;
}

/* --- life ------------------------------------------------------------------------------------------------- */

int
tpm_qos_init(struct tpm_port *p, const struct tp_model_config *cfg, unsigned int i)
{
	p->qos = calloc(1, sizeof(*p->qos));
	if (p->qos == NULL)
		return -ENOMEM;
	p->qos->rate_kbps = cfg->rate_mbps[i] * 1000;
	tpm_rxbuf_init(p, cfg);
	return 0;
}

void
tpm_qos_fini(struct tpm_port *p)
{
	free(p->qos);
	p->qos = NULL;
}

void
tpm_qos_reset(struct tp_model *m, struct tpm_port *p)
{
	struct tpm_qos *q = p->qos;

	/* No QP is left, so the lists are empty and nothing waits. */
	*q = (struct tpm_qos){.rate_kbps = q->rate_kbps,
			      .link = q->link,
			      .rx_size = q->rx_size,
			      .rx_xoff = q->rx_xoff,
			      .rx_xon = q->rx_xon};
	p->cn_tags = false;
	for (unsigned int i = 0; i < MLX4_TCS; i++)
		q->tc[i].weight = 1;
	tpm_rxbuf_reset(p);
	tpm_sched_update(m, p);
}
