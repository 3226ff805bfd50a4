/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Messages in segments, the receiver's side (13.6.6.1). Segments are taken in order; links keep it, and what a loss leaves out
 * is sent again from there. A message that has come whole is remembered for a while: its last acknowledgement may be lost.
 */
#include "mad_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

#define WINDOW 64u /* segments */
#define TRANSFERS 128u
#define STALLED_MS 40000u
#define REMEMBER_MS 10000u

/* --- memory ------------------------------------------------------------------------------------------------------ */

static bool
may_have(const struct tp_mad *m, const struct mad_transfer *t, uint32_t size)
{
	uint32_t more = size - t->size;

	return m->rmpp_bytes + more <= TP_MAD_REASSEMBLY &&
	       (mad_is_response(t->first.data) || m->rmpp_request_bytes + more <= TP_MAD_REASSEMBLY / 2);
}

static void
charge(struct tp_mad *m, struct mad_transfer *t, uint32_t size)
{
	m->rmpp_bytes += size - t->size;
	if (!mad_is_response(t->first.data))
		m->rmpp_request_bytes += size - t->size;
	t->size = size;
}

void
rmpp_recv_free(struct tp_mad_agent *a, struct mad_transfer *t)
{
	TAILQ_REMOVE(&a->transfers, t, next);
	a->num_transfers--;
	charge(a->mad, t, 0);
	free(t->buf);
	free(t);
}

/* --- what goes back ---------------------------------------------------------------------------------------------- */

static void
back(struct tp_mad *m, const struct tp_mad_packet *data, enum rmpp_type type, uint8_t status, uint32_t seg,
     uint32_t window)
{
	uint32_t at = mad_data_at(data->data[MAD_CLASS_AT]);
	struct tp_mad_packet pkt;

	tp_mad_reply_to(data, &pkt);
	memset(pkt.data + at, 0, MAD_SIZE - at);
	pkt.data[MAD_METHOD_AT] ^= MAD_RESPONSE;
	pkt.data[RMPP_VERSION_AT] = RMPP_VERSION;
	pkt.data[RMPP_TYPE_AT] = type;
	pkt.data[RMPP_FLAGS_AT] = RMPP_ACTIVE;
	pkt.data[RMPP_STATUS_AT] = status;
	ib_put32(pkt.data + RMPP_SEGMENT_AT, seg);
	ib_put32(pkt.data + RMPP_LENGTH_AT, window);
	(void)mad_route_out(m, &pkt);
}

static void
acknowledge(struct tp_mad *m, const struct mad_transfer *t)
{
	back(m, &t->first, RMPP_ACK, 0, t->got, t->window);
}

static void
refuse(struct tp_mad_agent *a, const struct tp_mad_packet *pkt, enum rmpp_status status)
{
	a->mad->stats.rmpp_dropped++;
	back(a->mad, pkt, status == RMPP_ST_RESOURCES ? RMPP_STOP : RMPP_ABORT, (uint8_t)status, 0, 0);
}

/* --- what comes -------------------------------------------------------------------------------------------------- */

static struct mad_transfer *
find(struct tp_mad_agent *a, const struct tp_mad_packet *pkt)
{
	struct mad_transfer *t;

	TAILQ_FOREACH(t, &a->transfers, next)
	{
		const uint8_t *f = t->first.data;

		if (memcmp(f + MAD_TID_AT, pkt->data + MAD_TID_AT, 8) == 0 && t->first.slid == pkt->slid &&
		    f[MAD_CLASS_AT] == pkt->data[MAD_CLASS_AT] && f[MAD_METHOD_AT] == pkt->data[MAD_METHOD_AT])
			return t;
	}
	return NULL;
}

/* An old one that is only remembered makes room for a new one. */
static bool
make_room(struct tp_mad_agent *a)
{
	struct mad_transfer *t;

	if (a->num_transfers < TRANSFERS)
		return true;
	TAILQ_FOREACH(t, &a->transfers, next)
	{
		if (t->done) {
			rmpp_recv_free(a, t);
			return true;
		}
	}
	return false;
}

static struct mad_transfer *
begin(struct tp_mad_agent *a, const struct tp_mad_packet *pkt)
{
	struct mad_transfer *t = make_room(a) ? calloc(1, sizeof(*t)) : NULL;

	if (t == NULL) {
		refuse(a, pkt, RMPP_ST_RESOURCES);
		return NULL;
	}
	t->first = *pkt;
	t->window = WINDOW;
	TAILQ_INSERT_TAIL(&a->transfers, t, next);
	a->num_transfers++;
	return t;
}

/* The data of a segment; of the last one as many as it says. 0, or why it cannot be had. */
static enum rmpp_status
append(struct tp_mad *m, struct mad_transfer *t, const uint8_t *mad, bool last)
{
	uint32_t at = mad_data_at(mad[MAD_CLASS_AT]), bytes = MAD_SIZE - at, extra = at - RMPP_DATA_AT;
	uint32_t from = t->got == 0 ? 0 : at, need;

	if (last) {
		uint32_t payload = ib_get32(mad + RMPP_LENGTH_AT);

		if (payload < extra || payload > MAD_SIZE - RMPP_DATA_AT)
			return RMPP_ST_BAD_LENGTH;
		bytes = payload - extra;
	}
	need = t->len + at - from + bytes;
	if (need > TP_MAD_MESSAGE)
		return RMPP_ST_BAD_LENGTH;
	if (need > t->size) {
		uint32_t size = RTE_MAX(need, RTE_MAX(MAD_SIZE, t->size * 2));
		uint8_t *buf = may_have(m, t, size) ? realloc(t->buf, size) : NULL;

		if (buf == NULL)
			return RMPP_ST_RESOURCES;
		t->buf = buf;
		charge(m, t, size);
	}
	memcpy(t->buf + t->len, mad + from, need - t->len);
	t->len = need;
	t->got++;
	return 0;
}

static void
whole(struct tp_mad_agent *a, struct mad_transfer *t, const struct tp_mad_packet *pkt)
{
	struct mad_send *s = mad_is_response(pkt->data) ? mad_send_find(a, pkt->data) : NULL;
	struct tp_mad_packet first = t->first;
	uint8_t *buf = t->buf;
	uint32_t len = t->len;

	a->mad->stats.rmpp_received++;
	t->done = true;
	t->buf = NULL;
	charge(a->mad, t, 0);
	t->deadline = mad_now(a->mad) + REMEMBER_MS * MAD_MS;
	acknowledge(a->mad, t);
	if (s != NULL)
		mad_send_free(a, s);
	(void)mad_deliver(a, &first, buf, len, 0);
	free(buf);
}

/* A request must not run out of time while its answer comes in. */
static bool
expected(struct tp_mad_agent *a, const struct tp_mad_packet *pkt)
{
	struct mad_send *s;

	if (!mad_is_response(pkt->data))
		return true;
	s = mad_send_find(a, pkt->data);
	if (s == NULL || !s->wants_answer)
		return false;
	mad_send_arm(a->mad, s, s->timeout_ms);
	return true;
}

static void
next(struct tp_mad_agent *a, struct mad_transfer *t, const struct tp_mad_packet *pkt)
{
	bool last = (pkt->data[RMPP_FLAGS_AT] & RMPP_LAST) != 0;
	enum rmpp_status bad = append(a->mad, t, pkt->data, last);

	if (bad != 0) {
		refuse(a, pkt, bad);
		rmpp_recv_free(a, t);
		return;
	}
	t->deadline = mad_now(a->mad) + STALLED_MS * MAD_MS;
	if (last) {
		whole(a, t, pkt);
		return;
	}
	if (t->got == t->window)
		t->window += WINDOW;
	else if (t->got != 1)
		return;
	acknowledge(a->mad, t);
}

static enum rmpp_status
legal(const uint8_t *mad)
{
	if (mad[RMPP_VERSION_AT] != RMPP_VERSION)
		return RMPP_ST_VERSION;
	return mad[RMPP_STATUS_AT] != 0 ? RMPP_ST_ILLEGAL : 0;
}

void
rmpp_recv_input(struct tp_mad_agent *a, const struct tp_mad_packet *pkt)
{
	struct mad_transfer *t = find(a, pkt);
	uint32_t n = ib_get32(pkt->data + RMPP_SEGMENT_AT);
	bool first = (pkt->data[RMPP_FLAGS_AT] & RMPP_FIRST) != 0;
	enum rmpp_status bad = legal(pkt->data);

	if (t != NULL && t->done) {
		acknowledge(a->mad, t);
		return;
	}
	if (!expected(a, pkt)) {
		a->mad->stats.late++;
		return;
	}
	if (bad != 0) {
		refuse(a, pkt, bad);
		if (t != NULL)
			rmpp_recv_free(a, t);
		return;
	}
	if (first != (n == 1) || (t == NULL && !first)) {
		a->mad->stats.rmpp_dropped++;
		return;
	}
	if (t == NULL)
		t = begin(a, pkt);
	if (t == NULL)
		return;
	if (n == t->got + 1) {
		next(a, t, pkt);
		return;
	}
	/* Again, or past a gap: the sender learns where to go on. */
	a->mad->stats.rmpp_dropped++;
	acknowledge(a->mad, t);
}

void
rmpp_recv_stop(struct tp_mad_agent *a, const struct tp_mad_packet *pkt)
{
	struct mad_transfer *t = find(a, pkt);

	if (t == NULL || t->done || pkt->data[RMPP_TYPE_AT] < RMPP_STOP) {
		a->mad->stats.late++;
		return;
	}
	a->mad->stats.rmpp_aborted++;
	rmpp_recv_free(a, t);
}

unsigned int
rmpp_recv_expire(struct tp_mad *m)
{
	uint64_t now = mad_now(m);
	struct tp_mad_agent *a;
	unsigned int n = 0;

	TAILQ_FOREACH(a, &m->agents, next)
	{
		struct mad_transfer *t = TAILQ_FIRST(&a->transfers);

		while (t != NULL) {
			struct mad_transfer *after = TAILQ_NEXT(t, next);

			if (t->deadline <= now) {
				if (!t->done)
					m->stats.rmpp_dropped++;
				rmpp_recv_free(a, t);
				n++;
			}
			t = after;
		}
	}
	return n;
}
