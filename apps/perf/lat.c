/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Latency: one message under way at a time. Send and write go there and back, read and atomic are answered by the other
 * end's transport alone.
 */
#include <errno.h>

#include <rte_cycles.h>

#include "perf.h"

#define LOST_S 5u /* without an answer on a transport that does not repeat */

/* What is left to do, and when to measure. */
struct watch {
	uint64_t hz, start, from, to, end; /* TSC; 0 but hz: counted, not timed */
	uint64_t deadline;                 /* of the message that is awaited; 0: none */
};

static void
begin(struct perf *p, struct watch *w)
{
	*w = (struct watch){.hz = rte_get_tsc_hz(), .start = rte_get_tsc_cycles()};
	if (p->conf->duration != 0) {
		w->from = w->start + p->conf->margin * w->hz;
		w->to = w->start + (p->conf->duration - p->conf->margin) * w->hz;
		w->end = w->start + p->conf->duration * w->hz;
		p->begun = w->from;
		p->ended = w->to;
	}
	p->count = 0;
}

/* One more message goes out: its time is kept. False: there are none left. */
static bool
next(struct perf *p, const struct watch *w, uint64_t i)
{
	const uint64_t now = rte_rdtsc();
	uint64_t until;

	if (w->end == 0) {
		if (i >= p->conf->iters)
			return false;
	} else {
		if (now >= w->end)
			return false;
		p->count += now >= w->from && now < w->to;
	}
	if (p->conf->gap_us != 0) {
		until = now + p->conf->gap_us * w->hz / 1000000;
		while (rte_rdtsc() < until)
			rend_idle(p->e);
	}
	if (w->end == 0)
		p->t_post[i] = rte_rdtsc();
	return true;
}

/* Between two looks for a message. 1: the time is over. */
static int
pause_for(struct perf *p, struct watch *w, uint32_t *turns)
{
	uint64_t now;
	int rc = perf_rest(p);

	if (rc != 0 || (++*turns & 0xff) != 0)
		return rc;
	now = rte_get_tsc_cycles();
	if (w->end != 0 && now >= w->end)
		return 1;
	if (w->deadline == 0 && p->type != IBV_QPT_RC)
		w->deadline = now + LOST_S * w->hz;
	if (w->deadline != 0 && now > w->deadline)
		return rend_fail(ETIMEDOUT, "a message or its answer is lost: nothing came for %u s", LOST_S);
	return 0;
}

/* Completions of sends, whatever there are. */
static int
reap(struct perf *p, bool *did)
{
	struct ibv_wc wc[4];
	int n = ibv_poll_cq(p->scq, 4, wc), i;

	for (i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			return rend_wc_fail(&wc[i]);
		p->qp[0].done += wc[i].wr_id >> 32;
	}
	*did = n > 0;
	return n < 0 ? rend_fail(-n, "completion queue fails") : 0;
}

/* 0: a message came; 1: the time is over. patient: it may take as long as it likes. */
static int
await_recv(struct perf *p, struct watch *w, bool patient)
{
	struct perf_qp *q = &p->qp[0];
	uint32_t turns = 0;
	struct ibv_wc wc;
	bool did;
	int n, rc;

	w->deadline = patient ? UINT64_MAX : 0;
	for (;;) {
		n = ibv_poll_cq(p->rcq, 1, &wc);
		if (n < 0)
			return rend_fail(-n, "completion queue fails");
		if (n > 0)
			break;
		rc = reap(p, &did);
		if (rc == 0 && !did)
			rc = pause_for(p, w, &turns);
		if (rc != 0)
			return rc;
	}
	if (wc.status != IBV_WC_SUCCESS)
		return rend_wc_fail(&wc);
	if (wc.byte_len != p->size + p->hdr)
		return rend_fail(EPROTO, "%u bytes came, %u were to", wc.byte_len, p->size + p->hdr);
	q->received++;
	q->to_refill++;
	return 0;
}

/* Room for one more send. */
static int
await_room(struct perf *p, struct watch *w)
{
	uint32_t turns = 0;
	bool did;
	int rc = 0;

	w->deadline = 0;
	while (p->qp[0].posted - p->qp[0].done >= p->conf->tx_depth) {
		rc = reap(p, &did);
		if (rc == 0 && !did)
			rc = pause_for(p, w, &turns);
		if (rc != 0)
			break;
	}
	return rc;
}

/* All that was sent is acknowledged; the next run counts from nothing. A duration ends in the middle, and is the last. */
static int
drain(struct perf *p, struct watch *w)
{
	uint32_t turns = 0;
	bool did;
	int rc = 0;

	w->deadline = UINT64_MAX;
	while (rc == 0 && w->end == 0 && p->qp[0].done < p->qp[0].posted) {
		rc = reap(p, &did);
		if (rc == 0 && !did)
			rc = pause_for(p, w, &turns);
	}
	return rc;
}

static int
refill(struct perf *p)
{
	uint32_t n = p->qp[0].to_refill;

	if (n < RTE_MIN(p->conf->rx_depth / 2 + 1, 64u))
		return 0;
	p->qp[0].to_refill = 0;
	return perf_post_recv(p, 0, n);
}

int
perf_lat_send(struct perf *p)
{
	const bool server = p->e->server;
	struct watch w;
	uint64_t i;
	int rc;

	begin(p, &w);
	for (i = 0;; i++) {
		if (server) {
			if (w.end == 0 && i >= p->conf->iters)
				break;
			rc = await_recv(p, &w, i == 0);
			/* its time is that of the client, who begins */
			if (i == 0 && rc == 0)
				begin(p, &w);
			if (rc != 0)
				return rc == 1 ? 0 : rc;
		}
		if (!next(p, &w, i))
			break;
		rc = perf_post_send(p, 0, 1, w.end == 0 && i + 1 == p->conf->iters);
		if (rc == 0 && !server)
			rc = await_recv(p, &w, false);
		if (rc == 0)
			rc = refill(p);
		if (rc == 0)
			rc = await_room(p, &w);
		if (rc != 0)
			return rc == 1 ? 0 : rc;
	}
	return drain(p, &w);
}

/* The last byte of a write counts the messages; it is what shows that one is there. */
static int
await_byte(struct perf *p, struct watch *w, uint8_t want, bool patient)
{
	volatile const uint8_t *at = p->qp[0].rx + p->size - 1;
	uint32_t turns = 0;
	bool did;
	int rc;

	w->deadline = patient ? UINT64_MAX : 0;
	while (*at != want) {
		rc = reap(p, &did);
		if (rc == 0 && !did)
			rc = pause_for(p, w, &turns);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int
perf_lat_write(struct perf *p)
{
	/* the server begins, as perftest's does in this test alone */
	const bool follows = !p->e->server;
	struct watch w;
	uint64_t i;
	int rc;

	begin(p, &w);
	for (i = 0;; i++) {
		if (follows) {
			if (w.end == 0 && i >= p->conf->iters)
				break;
			rc = await_byte(p, &w, (uint8_t)(i + 1), i == 0);
			if (i == 0 && rc == 0)
				begin(p, &w);
			if (rc != 0)
				return rc == 1 ? 0 : rc;
		}
		if (!next(p, &w, i))
			break;
		p->qp[0].tx[p->size - 1] = (uint8_t)(i + 1);
		rc = perf_post_send(p, 0, 1, w.end == 0 && i + 1 == p->conf->iters);
		if (rc == 0 && !follows)
			rc = await_byte(p, &w, (uint8_t)(i + 1), false);
		if (rc == 0)
			rc = await_room(p, &w);
		if (rc != 0)
			return rc == 1 ? 0 : rc;
	}
	return drain(p, &w);
}

int
perf_lat_end(struct perf *p)
{
	const uint64_t until = rte_get_tsc_cycles() + rte_get_tsc_hz() / 10;
	bool did;
	int rc;

	do {
		rc = reap(p, &did);
		rend_idle(p->e);
	} while (rc == 0 && !rend_stopping() && rte_get_tsc_cycles() < until);
	return rc;
}

int
perf_lat_ask(struct perf *p)
{
	struct watch w;
	uint64_t i;
	int rc;

	begin(p, &w);
	for (i = 0; next(p, &w, i); i++) {
		rc = perf_post_send(p, 0, 1, true);
		w.deadline = 0;
		while (rc == 0 && p->qp[0].done < p->qp[0].posted) {
			uint32_t turns = 0;
			bool did = false;

			rc = reap(p, &did);
			if (rc == 0 && !did)
				rc = pause_for(p, &w, &turns);
		}
		if (rc != 0)
			return rc == 1 ? 0 : rc;
	}
	return 0;
}
