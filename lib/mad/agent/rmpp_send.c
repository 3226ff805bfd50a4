/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Messages in segments, the sender's side (13.6.2, 13.6.6.2): the first segment alone, then as many as the receiver's window
 * allows. A window that makes no progress is sent again from the first segment that is missing.
 */
#include "mad_priv.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

/* The most that an acknowledgement may take: receivers answer a window's end at once. */
#define ACK_MS 2000u

static uint32_t
ack_ms(const struct mad_send *s)
{
	return s->timeout_ms == 0 || s->timeout_ms > ACK_MS ? ACK_MS : s->timeout_ms;
}

/* Each segment has the class's header again and counts it, but for the part before the data of RMPP. */
static void
segment(const struct mad_send *s, uint32_t n, struct tp_mad_packet *pkt)
{
	uint32_t at = mad_data_at(s->data[MAD_CLASS_AT]), room = MAD_SIZE - at, extra = at - RMPP_DATA_AT;
	uint32_t from = at + (n - 1) * room, bytes = RTE_MIN(room, s->len - from), payload = 0;
	uint8_t flags = RMPP_ACTIVE;

	*pkt = s->pkt;
	memset(pkt->data + at, 0, room);
	memcpy(pkt->data + at, s->data + from, bytes);
	if (n == 1) {
		flags |= RMPP_FIRST;
		payload = s->len - at + s->segs * extra;
	}
	if (n == s->segs) {
		flags |= RMPP_LAST;
		payload = bytes + extra;
	}
	pkt->data[RMPP_VERSION_AT] = RMPP_VERSION;
	pkt->data[RMPP_TYPE_AT] = RMPP_DATA;
	pkt->data[RMPP_FLAGS_AT] = flags | RMPP_NO_RESP_TIME;
	pkt->data[RMPP_STATUS_AT] = 0;
	ib_put32(pkt->data + RMPP_SEGMENT_AT, n);
	ib_put32(pkt->data + RMPP_LENGTH_AT, payload);
}

static int
fill_window(struct tp_mad *m, struct mad_send *s)
{
	int err = 0;

	while (err == 0 && s->sent < s->window && s->sent < s->segs) {
		struct tp_mad_packet pkt;

		segment(s, ++s->sent, &pkt);
		err = mad_route_out(m, &pkt);
		m->stats.rmpp_sent++;
	}
	mad_send_arm(m, s, ack_ms(s));
	return err;
}

int
rmpp_send_start(struct tp_mad_agent *a, struct mad_send *s)
{
	uint32_t at = mad_data_at(s->data[MAD_CLASS_AT]), room = MAD_SIZE - at, bytes = s->len - at;

	/* An empty message is a segment too: a table without records. */
	s->segs = bytes == 0 ? 1 : (bytes + room - 1) / room;
	s->segments = true;
	s->window = 1;
	return fill_window(a->mad, s);
}

void
rmpp_send_again(struct tp_mad_agent *a, struct mad_send *s)
{
	s->sent = s->acked;
	(void)fill_window(a->mad, s);
}

/* All of it has arrived. A request waits for its answer now. */
static void
arrived(struct tp_mad_agent *a, struct mad_send *s)
{
	s->segments = false;
	if (s->wants_answer)
		mad_send_arm(a->mad, s, s->timeout_ms);
	else
		mad_send_free(a, s);
}

static void
failed(struct tp_mad_agent *a, struct mad_send *s)
{
	struct tp_mad_packet pkt = s->pkt;
	uint32_t len = s->len;

	a->mad->stats.rmpp_aborted++;
	mad_send_free(a, s);
	(void)mad_deliver(a, &pkt, pkt.data, RTE_MIN(len, MAD_SIZE), -ECONNABORTED);
}

static void
acknowledged(struct tp_mad_agent *a, struct mad_send *s, const struct tp_mad_packet *pkt)
{
	uint32_t n = ib_get32(pkt->data + RMPP_SEGMENT_AT), window = ib_get32(pkt->data + RMPP_LENGTH_AT);

	if (pkt->data[RMPP_STATUS_AT] != 0 || n > s->sent || window < n) {
		rmpp_abort(a->mad, &s->pkt,
			   pkt->data[RMPP_STATUS_AT] != 0 ? RMPP_ST_ILLEGAL
			   : n > s->sent                  ? RMPP_ST_SEGMENT_BIG
							  : RMPP_ST_WINDOW_SMALL);
		failed(a, s);
		return;
	}
	/* An older one that was under way. */
	if (n < s->acked || (n == s->acked && window <= s->window))
		return;
	s->acked = n;
	s->window = RTE_MAX(s->window, window);
	s->retries_left = s->retries;
	if (n == s->segs)
		arrived(a, s);
	else
		(void)fill_window(a->mad, s);
}

/* The other direction has the other kind of method (13.6.2.2). */
static struct mad_send *
find(struct tp_mad_agent *a, const struct tp_mad_packet *pkt)
{
	struct mad_send *s;

	TAILQ_FOREACH(s, &a->sends, next)
	{
		if (s->segments && mad_send_same(s, pkt->data) &&
		    (s->pkt.data[MAD_METHOD_AT] ^ MAD_RESPONSE) == pkt->data[MAD_METHOD_AT] &&
		    (s->pkt.dlid == pkt->slid || s->pkt.dlid >= MAD_LID_MULTICAST))
			return s;
	}
	return NULL;
}

void
rmpp_send_input(struct tp_mad_agent *a, const struct tp_mad_packet *pkt)
{
	struct mad_send *s = find(a, pkt);

	if (s == NULL) {
		rmpp_recv_stop(a, pkt);
		return;
	}
	switch (pkt->data[RMPP_TYPE_AT]) {
	case RMPP_ACK:
		if (pkt->data[RMPP_VERSION_AT] == RMPP_VERSION) {
			acknowledged(a, s, pkt);
		} else {
			rmpp_abort(a->mad, &s->pkt, RMPP_ST_VERSION);
			failed(a, s);
		}
		break;
	case RMPP_STOP:
	case RMPP_ABORT: failed(a, s); break;
	default: rmpp_abort(a->mad, &s->pkt, RMPP_ST_BAD_TYPE); failed(a, s);
	}
}

void
rmpp_abort(struct tp_mad *m, const struct tp_mad_packet *about, enum rmpp_status status)
{
	struct tp_mad_packet pkt = *about;

	memset(pkt.data + RMPP_VERSION_AT, 0, MAD_SIZE - RMPP_VERSION_AT);
	pkt.data[RMPP_VERSION_AT] = RMPP_VERSION;
	pkt.data[RMPP_TYPE_AT] = status == RMPP_ST_RESOURCES ? RMPP_STOP : RMPP_ABORT;
	pkt.data[RMPP_FLAGS_AT] = RMPP_ACTIVE;
	pkt.data[RMPP_STATUS_AT] = (uint8_t)status;
	(void)mad_route_out(m, &pkt);
}
