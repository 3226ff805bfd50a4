/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Requests of agents: identifiers, times, retries (13.4.6.2, 13.5.2). */
#include "mad_priv.h"

#include <errno.h>
#include <stdlib.h>

bool
mad_send_same(const struct mad_send *s, const uint8_t *mad)
{
	return memcmp(s->pkt.data + MAD_TID_AT, mad + MAD_TID_AT, 8) == 0 &&
	       s->pkt.data[MAD_CLASS_AT] == mad[MAD_CLASS_AT];
}

struct mad_send *
mad_send_find(struct tp_mad_agent *a, const uint8_t *mad)
{
	struct mad_send *s;

	TAILQ_FOREACH(s, &a->sends, next)
	{
		if (mad_send_same(s, mad) && !mad_is_response(s->pkt.data))
			return s;
	}
	return NULL;
}

/* Askers number their requests without knowing of each other: answers differ by identifier and receiver. */
static bool
under_way(const struct tp_mad_agent *a, const struct tp_mad_packet *pkt)
{
	bool response = mad_is_response(pkt->data);
	const struct mad_send *s;

	TAILQ_FOREACH(s, &a->sends, next)
	{
		if (mad_send_same(s, pkt->data) && mad_is_response(s->pkt.data) == response &&
		    (!response || s->pkt.dlid == pkt->dlid))
			return true;
	}
	return false;
}

void
mad_send_free(struct tp_mad_agent *a, struct mad_send *s)
{
	TAILQ_REMOVE(&a->sends, s, next);
	a->num_sends--;
	free(s->data);
	free(s);
}

void
mad_send_arm(struct tp_mad *m, struct mad_send *s, uint32_t timeout_ms)
{
	s->deadline = timeout_ms == TP_MAD_FOREVER ? MAD_NEVER : mad_now(m) + timeout_ms * MAD_MS;
}

/* The datagram as it is kept and sent; its hop pointer moves only in the copy that goes out. */
static int
transmit(struct tp_mad *m, const struct mad_send *s)
{
	struct tp_mad_packet pkt = s->pkt;

	return mad_route_out(m, &pkt);
}

static int
check(const struct tp_mad_agent *a, const uint8_t *data, uint32_t len, bool segments)
{
	if (len < MAD_DATA_AT || data[MAD_BASE_VERSION_AT] != MAD_BASE_VERSION ||
	    mad_is_smp(data[MAD_CLASS_AT]) != (a->conf.qpn == 0))
		return -EINVAL;
	if (len > TP_MAD_MESSAGE || (len > MAD_SIZE && !segments))
		return -EMSGSIZE;
	if (segments && len < mad_data_at(data[MAD_CLASS_AT]))
		return -EINVAL;
	return a->num_sends == TP_MAD_SENDS ? -ENOBUFS : 0;
}

static void
address(struct tp_mad_agent *a, const struct tp_mad_packet *to, const uint8_t *data, uint32_t len,
	struct tp_mad_packet *pkt)
{
	*pkt = *to;
	pkt->qpn = a->conf.qpn;
	if (data[MAD_CLASS_AT] == MAD_CLASS_SMP_DIRECTED && ib_get16(data + SMP_DR_SLID_AT) == MAD_LID_PERMISSIVE)
		pkt->slid = MAD_LID_PERMISSIVE;
	memset(pkt->data, 0, sizeof(pkt->data));
	memcpy(pkt->data, data, len < MAD_SIZE ? len : MAD_SIZE);
	/* The answer finds its agent by this. */
	if (!mad_is_response(data))
		ib_put32(pkt->data + MAD_TID_AT, a->hi_tid);
}

/* A request or a transfer stays until it is answered, or time has run out. */
static int
track(struct tp_mad_agent *a, struct mad_send *s, const uint8_t *data, bool segments)
{
	int err;

	if (segments) {
		s->data = malloc(s->len);
		if (s->data == NULL)
			return -ENOMEM;
		memcpy(s->data, data, s->len);
	}
	TAILQ_INSERT_TAIL(&a->sends, s, next);
	a->num_sends++;
	if (segments) {
		err = rmpp_send_start(a, s);
	} else {
		mad_send_arm(a->mad, s, s->timeout_ms);
		err = transmit(a->mad, s);
	}
	if (err == 0)
		return 0;
	TAILQ_REMOVE(&a->sends, s, next);
	a->num_sends--;
	free(s->data);
	return err;
}

static int
send_locked(struct tp_mad_agent *a, const struct tp_mad_packet *to, const uint8_t *data, uint32_t len,
	    uint32_t timeout_ms, uint32_t retries)
{
	bool segments = a->conf.rmpp_version != 0 && len >= RMPP_DATA_AT && mad_rmpp_active(data);
	struct tp_mad_packet pkt;
	struct mad_send *s;
	int err = check(a, data, len, segments);

	if (err != 0)
		return err;
	address(a, to, data, len, &pkt);
	if (!segments && timeout_ms == 0)
		return mad_route_out(a->mad, &pkt);
	if (under_way(a, &pkt))
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return -ENOMEM;
	s->pkt = pkt;
	s->len = len;
	s->timeout_ms = timeout_ms;
	s->retries = s->retries_left = retries;
	s->wants_answer = timeout_ms != 0 && !mad_is_response(data);
	err = track(a, s, data, segments);
	if (err != 0)
		free(s);
	return err;
}

int
tp_mad_send(struct tp_mad_agent *a, const struct tp_mad_packet *to, const uint8_t *data, uint32_t len,
	    uint32_t timeout_ms, uint32_t retries)
{
	struct tp_mad *m = a->mad;
	int err;

	tp_mad_lock(m);
	err = send_locked(a, to, data, len, timeout_ms, retries);
	tp_mad_unlock(m);
	return err;
}

bool
tp_mad_cancel(struct tp_mad_agent *a, uint32_t tid)
{
	struct tp_mad *m = a->mad;
	struct mad_send *s;
	bool found = false;

	tp_mad_lock(m);
	TAILQ_FOREACH(s, &a->sends, next)
	{
		if (ib_get32(s->pkt.data + MAD_TID_AT + 4) == tid && !mad_is_response(s->pkt.data)) {
			mad_send_free(a, s);
			found = true;
			break;
		}
	}
	tp_mad_unlock(m);
	return found;
}

/* --- time -------------------------------------------------------------------------------------------------------- */

static struct mad_send *
first_due(struct tp_mad *m, uint64_t now, struct tp_mad_agent **agent)
{
	struct tp_mad_agent *a;

	TAILQ_FOREACH(a, &m->agents, next)
	{
		struct mad_send *s;

		TAILQ_FOREACH(s, &a->sends, next)
		{
			if (s->deadline <= now) {
				*agent = a;
				return s;
			}
		}
	}
	return NULL;
}

static void
give_up(struct tp_mad *m, struct tp_mad_agent *a, struct mad_send *s)
{
	struct tp_mad_packet pkt = s->pkt;
	uint8_t *data = s->data;
	uint32_t len = s->len;

	m->stats.timeouts++;
	if (s->segments)
		rmpp_abort(m, &pkt, RMPP_ST_RETRIES);
	s->data = NULL;
	mad_send_free(a, s);
	(void)mad_deliver(a, &pkt, data != NULL ? data : pkt.data, len, -ETIMEDOUT);
	free(data);
}

unsigned int
mad_send_expire(struct tp_mad *m)
{
	uint64_t now = mad_now(m);
	struct tp_mad_agent *a;
	struct mad_send *s;
	unsigned int n = 0;

	/* An agent's call may change the lists, so that each search begins anew. */
	while ((s = first_due(m, now, &a)) != NULL) {
		n++;
		if (s->retries_left == 0) {
			give_up(m, a, s);
			continue;
		}
		s->retries_left--;
		m->stats.retries++;
		if (s->segments) {
			rmpp_send_again(a, s);
		} else {
			mad_send_arm(m, s, s->timeout_ms);
			(void)transmit(m, s);
		}
	}
	return n;
}
