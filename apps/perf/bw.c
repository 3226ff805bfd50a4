/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Bandwidth: as many messages under way as the send queues hold. One loop for all: what an end does depends on whether it
 * sends, receives, or both.
 */
#include <errno.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "perf.h"

#define BATCH 16u
#define LOST_S 1u /* nothing more came for so long: what is missing is lost (UC, UD) */

struct flow {
	bool sends, receives;
	bool may_send;          /* a server that sends, too, waits for the first message */
	uint64_t target;        /* messages of all queue pairs; UINT64_MAX: for a duration */
	uint64_t done, got;     /* sent and completed; received */
	uint64_t now, last_rx;  /* TSC */
	uint64_t from, to, end; /* of a duration: what is measured, and when it stops */
	uint64_t posted;        /* of all queue pairs */
	uint32_t turns;
	bool over;
};

static void
begin_time(struct perf *p, struct flow *f)
{
	const uint64_t hz = rte_get_tsc_hz(), now = rte_get_tsc_cycles();

	p->begun = now;
	if (p->conf->duration == 0)
		return;
	f->from = now + p->conf->margin * hz;
	f->to = now + (p->conf->duration - p->conf->margin) * hz;
	f->end = now + p->conf->duration * hz;
	p->begun = f->from;
	p->ended = f->to;
}

static void
count(struct perf *p, const struct flow *f, uint64_t n)
{
	if (f->end == 0 || (f->now >= f->from && f->now < f->to))
		p->count += n;
}

/* Fills the send queues of all queue pairs, in turn. */
static int
send_some(struct perf *p, struct flow *f)
{
	const uint32_t list = p->conf->post_list;
	uint32_t i, n, k;
	int rc;

	for (i = 0; i < p->qps; i++) {
		struct perf_qp *q = &p->qp[i];

		while (q->posted - q->done + list <= p->conf->tx_depth) {
			n = list;
			if (f->end == 0)
				n = (uint32_t)RTE_MIN(p->conf->iters - q->posted, (uint64_t)list);
			if (n == 0)
				break;
			if (p->t_post != NULL) {
				const uint64_t now = rte_rdtsc();

				for (k = 0; k < n; k++)
					p->t_post[f->posted + k] = now;
			}
			rc = perf_post_send(p, i, n, f->end == 0 && q->posted + n == p->conf->iters);
			if (rc != 0)
				return rc;
			f->posted += n;
		}
	}
	return 0;
}

/* How many completions were found, or a negative errno. */
static int
reap(struct perf *p, struct flow *f)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(p->scq, BATCH, wc), i;
	uint64_t k, some, now;

	if (n < 0)
		return rend_fail(-n, "send completion queue fails");
	for (i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			return rend_wc_fail(&wc[i]);
		some = wc[i].wr_id >> 32;
		p->qp[(uint32_t)wc[i].wr_id].done += some;
		if (p->t_done != NULL) {
			now = rte_rdtsc();
			for (k = 0; k < some; k++)
				p->t_done[f->done + k] = now;
		}
		f->done += some;
		count(p, f, some);
	}
	return n;
}

static int
take(struct perf *p, struct flow *f)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(p->rcq, BATCH, wc), i, rc;
	struct perf_qp *q;

	if (n < 0)
		return rend_fail(-n, "receive completion queue fails");
	if (n > 0 && f->got == 0 && !f->may_send) {
		/* the time of who does not send yet begins with the first message */
		begin_time(p, f);
		f->may_send = true;
	}
	for (i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			return rend_wc_fail(&wc[i]);
		if (wc[i].byte_len != p->size + p->hdr)
			return rend_fail(EPROTO, "%u bytes came, %u were to", wc[i].byte_len, p->size + p->hdr);
		q = &p->qp[(uint32_t)wc[i].wr_id];
		if (++q->to_refill < RTE_MIN(BATCH, p->conf->rx_depth / 2 + 1))
			continue;
		rc = perf_post_recv(p, (uint32_t)wc[i].wr_id, q->to_refill);
		if (rc != 0)
			return rc;
		q->to_refill = 0;
	}
	if (n > 0) {
		f->got += (uint64_t)n;
		f->last_rx = rte_get_tsc_cycles();
		if (!f->sends)
			count(p, f, (uint64_t)n);
	}
	return n;
}

/* Nothing to do: drive the port, see whether the time is over. */
static int
rest(struct perf *p, struct flow *f)
{
	int rc = perf_rest(p);

	if (rc != 0 || (++f->turns & 0xff) != 0 || p->type == IBV_QPT_RC || f->last_rx == 0)
		return rc;
	if (f->receives && rte_get_tsc_cycles() - f->last_rx > LOST_S * rte_get_tsc_hz()) {
		p->ended = f->last_rx;
		f->over = true;
	}
	return 0;
}

static bool
finished(const struct flow *f)
{
	if (f->over)
		return true;
	if (f->end != 0)
		return f->now >= f->end;
	return (!f->sends || f->done >= f->target) && (!f->receives || f->got >= f->target);
}

/* The first lane says what all did. */
static void
look(struct perf *p, uint64_t now, uint64_t messages)
{
	messages = perf_crew_messages(p, messages);
	if (p->lane == 0)
		perf_series_look(p, now, messages);
}

int
perf_bw(struct perf *p)
{
	const bool both = p->conf->bidir != 0, recvs = p->conf->verb == PERF_SEND;
	struct flow f = {.sends = !p->e->server || both, .receives = recvs && (p->e->server || both)};
	const bool lines = p->conf->interval != 0 && !p->e->quiet;
	int sent, came, rc;

	f.target = p->conf->iters * (uint64_t)p->qps;
	f.may_send = f.sends && !(p->e->server && recvs);
	p->count = p->lost = 0;
	if (f.may_send || !f.receives)
		begin_time(p, &f);
	if (lines && p->lane == 0)
		perf_series_begin(p);
	do {
		sent = came = 0;
		if (f.may_send && f.sends) {
			rc = send_some(p, &f);
			if (rc != 0)
				return rc;
		}
		tp_roce_progress_lane(p->e->port.ctx, p->lane);
		if (f.end != 0 || p->conf->duration != 0 || lines)
			f.now = rte_rdtsc();
		if (f.receives && (came = take(p, &f)) < 0)
			return came;
		if (f.sends && (sent = reap(p, &f)) < 0)
			return sent;
		if (sent == 0 && came == 0) {
			rc = rest(p, &f);
			if (rc != 0)
				return rc;
		}
		if (lines)
			look(p, f.now, f.sends ? f.done : f.got);
	} while (!finished(&f) && perf_crew_goes_on(p));
	if (f.end == 0 && !f.over)
		p->ended = rte_get_tsc_cycles();
	if (f.receives && f.end == 0 && f.got < f.target)
		p->lost = f.target - f.got;
	return 0;
}
