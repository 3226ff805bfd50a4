/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ways of a datagram into the port. The firmware comes first, agents after it, as in Linux. */
#include "mad_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

struct tp_mad *
tp_mad_create(const struct tp_mad_ops *ops, void *home)
{
	struct tp_mad *m = calloc(1, sizeof(*m));
	pthread_mutexattr_t attr;

	if (m == NULL)
		return NULL;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&m->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	m->ops = *ops;
	m->home = home;
	TAILQ_INIT(&m->agents);
	STAILQ_INIT(&m->out.list);
	STAILQ_INIT(&m->local.list);
	return m;
}

void
tp_mad_destroy(struct tp_mad *m)
{
	if (m == NULL)
		return;
	while (!TAILQ_EMPTY(&m->agents))
		tp_mad_unregister(TAILQ_FIRST(&m->agents));
	mad_queue_clear(&m->out);
	mad_queue_clear(&m->local);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

void
tp_mad_stats_get(struct tp_mad *m, struct tp_mad_stats *stats)
{
	tp_mad_lock(m);
	*stats = m->stats;
	tp_mad_unlock(m);
}

/* --- in ---------------------------------------------------------------------------------------------------------- */

static void
response_in(struct tp_mad *m, const struct tp_mad_packet *pkt)
{
	struct tp_mad_agent *a = mad_agent_for_response(m, pkt);
	struct mad_send *s = a == NULL ? NULL : mad_send_find(a, pkt->data);

	if (a != NULL && a->conf.rmpp_version != 0 && mad_rmpp_active(pkt->data)) {
		if (pkt->data[RMPP_TYPE_AT] == RMPP_DATA)
			rmpp_recv_input(a, pkt);
		else
			rmpp_send_input(a, pkt);
		return;
	}
	if (s == NULL || !s->wants_answer) {
		m->stats.late++;
		return;
	}
	/* Who segments by itself gets many datagrams for one request. */
	if (!mad_rmpp_active(pkt->data))
		mad_send_free(a, s);
	(void)mad_deliver(a, pkt, pkt->data, TP_MAD_SIZE, 0);
}

/* The answer of this port's firmware or of nobody, on its way back. */
static void
answer(struct tp_mad *m, const struct tp_mad_packet *in, struct tp_mad_packet *out, bool host)
{
	if (in->data[MAD_CLASS_AT] == MAD_CLASS_SMP_DIRECTED) {
		memcpy(out->data + SMP_INITIAL_PATH_AT, in->data + SMP_INITIAL_PATH_AT, MAD_SIZE - SMP_INITIAL_PATH_AT);
		memcpy(out->data + SMP_HOP_POINTER_AT, in->data + SMP_HOP_POINTER_AT, 2);
		memcpy(out->data + SMP_DR_SLID_AT, in->data + SMP_DR_SLID_AT, 4);
		out->data[MAD_STATUS_AT] |= SMP_DIRECTION >> 8;
		if (!host && smi_out(out->data, in->data[SMP_RETURN_PATH_AT + in->data[SMP_HOP_COUNT_AT]]) != SMI_WIRE)
			return;
	}
	if (host)
		response_in(m, out);
	else
		mad_transmit(m, out);
}

/* What the firmware serves; a subnet manager's own talk is not for it. */
static bool
firmwares(const struct tp_mad_packet *pkt)
{
	uint8_t method = pkt->data[MAD_METHOD_AT], class = pkt->data[MAD_CLASS_AT];

	if (mad_is_smp(class))
		return (method == MAD_GET || method == MAD_SET || method == MAD_TRAP_REPRESS) &&
		       ib_get16(pkt->data + MAD_ATTR_AT) != SMP_ATTR_SM_INFO;
	return class == MAD_CLASS_PERF && (method == MAD_GET || method == MAD_SET);
}

static void
request_in(struct tp_mad *m, const struct tp_mad_packet *pkt, bool host)
{
	uint8_t method = pkt->data[MAD_METHOD_AT];
	struct tp_mad_packet out;
	struct tp_mad_agent *a;

	if (firmwares(pkt)) {
		struct tp_mad_packet in = *pkt;
		int r;

		/* How the firmware knows a request of the host's own. */
		if (host)
			in.slid = in.dlid = 0;
		tp_mad_reply_to(pkt, &out);
		r = m->ops.process(m->home, &in, &out);
		if (r >= 0) {
			m->stats.firmware++;
			if (r == 1)
				answer(m, pkt, &out, host);
			return;
		}
	}
	a = mad_agent_for_request(m, pkt);
	if (a == NULL) {
		m->stats.unmatched++;
		/* 13.4.5: Get and Set have an answer always. */
		if (method == MAD_GET || method == MAD_SET) {
			tp_mad_reply_to(pkt, &out);
			out.data[MAD_METHOD_AT] = MAD_GET | MAD_RESPONSE;
			ib_put16(out.data + MAD_STATUS_AT, MAD_BAD_METHOD_ATTR);
			answer(m, pkt, &out, host);
		}
		return;
	}
	if (a->conf.rmpp_version == 0 || !mad_rmpp_active(pkt->data))
		(void)mad_deliver(a, pkt, pkt->data, TP_MAD_SIZE, 0);
	else if (pkt->data[RMPP_TYPE_AT] == RMPP_DATA)
		rmpp_recv_input(a, pkt);
	else
		rmpp_send_input(a, pkt);
}

/* TrapRepress answers a trap of the firmware's, or one that an agent sent. */
static void
sort(struct tp_mad *m, const struct tp_mad_packet *pkt, bool host)
{
	if (mad_is_response(pkt->data) && (!firmwares(pkt) || mad_agent_for_response(m, pkt) != NULL))
		response_in(m, pkt);
	else
		request_in(m, pkt, host);
}

/* A directed route that comes back carries an answer. */
static bool
well_formed(const struct tp_mad_packet *pkt)
{
	const uint8_t *mad = pkt->data;
	bool directed = mad[MAD_CLASS_AT] == MAD_CLASS_SMP_DIRECTED;

	if (mad[MAD_BASE_VERSION_AT] != MAD_BASE_VERSION || pkt->qpn > 1 ||
	    mad_is_smp(mad[MAD_CLASS_AT]) != (pkt->qpn == 0))
		return false;
	return !directed || (ib_get16(mad + MAD_STATUS_AT) & SMP_DIRECTION) == 0 || mad_is_response(mad);
}

void
tp_mad_input(struct tp_mad *m, const struct tp_mad_packet *in)
{
	struct tp_mad_packet pkt = *in;
	struct tp_mad_port_state port;

	tp_mad_lock(m);
	m->stats.received++;
	if (!well_formed(&pkt)) {
		m->stats.malformed++;
	} else if (pkt.data[MAD_CLASS_AT] != MAD_CLASS_SMP_DIRECTED) {
		sort(m, &pkt, false);
	} else {
		tp_mad_port_state_get(m, &port);
		if (smi_in(pkt.data, port.port_num) == SMI_HERE)
			sort(m, &pkt, false);
		else
			m->stats.bad_route++;
	}
	tp_mad_unlock(m);
}

/* --- time -------------------------------------------------------------------------------------------------------- */

static unsigned int
flush(struct tp_mad *m)
{
	unsigned int n = 0;

	while (m->out.num != 0) {
		int err = m->ops.send(m->home, &STAILQ_FIRST(&m->out.list)->pkt);

		if (err == -EAGAIN)
			break;
		if (err == 0)
			m->stats.sent++;
		else
			m->stats.send_errors++;
		mad_queue_pop(&m->out);
		n++;
	}
	return n;
}

/* An agent of this port may be asked by another, and answer at once: only what waits now has its turn. */
static unsigned int
within(struct tp_mad *m)
{
	unsigned int n = m->local.num;

	/* Who is called may ask for progress himself, which takes from the same list. */
	for (unsigned int i = 0; i < n && m->local.num != 0; i++) {
		struct tp_mad_packet pkt = STAILQ_FIRST(&m->local.list)->pkt;

		mad_queue_pop(&m->local);
		sort(m, &pkt, true);
	}
	return n;
}

unsigned int
tp_mad_progress(struct tp_mad *m)
{
	unsigned int n;

	tp_mad_lock(m);
	n = flush(m);
	n += within(m);
	n += mad_send_expire(m);
	n += rmpp_recv_expire(m);
	n += mad_agents_work(m);
	tp_mad_unlock(m);
	return n;
}

uint64_t
tp_mad_deadline(struct tp_mad *m)
{
	uint64_t due = MAD_NEVER;
	struct tp_mad_agent *a;

	tp_mad_lock(m);
	if (m->out.num != 0 || m->local.num != 0 || m->awake != 0)
		due = 0;
	TAILQ_FOREACH(a, &m->agents, next)
	{
		const struct mad_transfer *t;
		const struct mad_send *s;

		due = RTE_MIN(due, a->alarm);
		TAILQ_FOREACH(s, &a->sends, next)
		due = RTE_MIN(due, s->deadline);
		TAILQ_FOREACH(t, &a->transfers, next)
		due = RTE_MIN(due, t->deadline);
	}
	tp_mad_unlock(m);
	return due;
}
