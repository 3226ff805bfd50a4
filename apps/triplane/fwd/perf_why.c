/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The judgement on a port's figures: reasons in the order of their certainty, the first that fits is said. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "perf.h"

/* A burst setting up to here is one that makes each packet pay for the whole call. */
#define SMALL_BURST 4
/* Shares from which on something is said to be the rule. */
#define MOST 0.5
#define OFTEN 0.1

const char *const perf_limit_names[] = {
	[PERF_LINK] = "link",   [PERF_POOL] = "pool",   [PERF_UNPOLLED] = "unpolled", [PERF_PAUSE] = "pause",
	[PERF_WIRE] = "wire",   [PERF_BURST] = "burst", [PERF_SOCKET] = "socket",     [PERF_CPU] = "cpu",
	[PERF_LCORE] = "lcore", [PERF_RING] = "ring",   [PERF_IDLE] = "idle",         [PERF_NOTHING] = "nothing",
};

static double
share(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : (double)part / (double)whole;
}

static bool __attribute__((format(printf, 3, 4))) say(struct perf *p, enum perf_limit limit, const char *fmt, ...)
{
	va_list ap;

	p->limit = limit;
	va_start(ap, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, ap);
	va_end(ap);
	return true;
}

static double
us_between_polls(const struct perf *p, const struct perf_rx *r)
{
	return p->seconds * 1e6 / (double)RTE_MAX(r->polls, UINT64_C(1));
}

/* Of non-empty polls, those that took all they had asked for: the rest of the queue was not seen. */
static double
full_share(const struct perf_rx *r)
{
	return share(r->full, r->polls - r->bin[0]);
}

/* Of a queue's time, what its stream spent in rounds that moved packets: polls of an empty queue are many and short. */
static double
busy_share(const struct perf_rx *r)
{
	return share(r->cycles, r->cycles + r->idle_cycles);
}

/*
 * How much a transmit queue held its stream up. Who forwards has other packets in each burst, so bursts tell; who
 * generates tries the same ones over and over while there is no room, so only the time tells.
 */
static double
held_up(const struct perf_tx *t)
{
	return t->generates ? share(t->full_cycles, t->cycles + t->idle_cycles) : share(t->blocked, t->bursts);
}

/* Share of the time in which an lcore did not run though it wanted to. */
static double
off_cpu(const struct perf_lcore *lc)
{
	return RTE_MIN(1.0, lc->away + lc->stolen);
}

static bool
say_away(struct perf *p, const struct perf_lcore *lc, const char *kind, uint16_t queue)
{
	const double percent = 100 * RTE_MAX(lc->away, lc->stolen);
	char other[32] = "another thread", lost[80] = "";

	if (p->missed > 0)
		snprintf(lost, sizeof(lost), "; %" PRIu64 " frames found its ring full meanwhile", p->missed);
	if (lc->stolen > lc->away)
		return say(p, PERF_CPU,
			   "the host of this machine takes the CPU of lcore %u of %s queue %u %.*f %% of the time "
			   "(steal): give the "
			   "machine a CPU of its own%s",
			   lc->id, kind, queue, percent < 10, percent, lost);
	if (lc->sharing >= 0)
		snprintf(other, sizeof(other), "lcore %d", lc->sharing);
	return say(p, PERF_CPU,
		   "lcore %u of %s queue %u waits for its CPU %.*f %% of the time, which %s has meanwhile: give it a "
		   "CPU of its "
		   "own%s",
		   lc->id, kind, queue, percent < 10, percent, other, lost);
}

/* An lcore that cannot do more: because of where it runs, or because that is what its work costs. */
static bool
say_lcore(struct perf *p, const struct perf_lcore *lc, const char *kind, uint16_t queue, double cycles)
{
	if (lc->memory >= 0 && lc->socket >= 0 && lc->memory != lc->socket)
		return say(
			p, PERF_SOCKET,
			"lcore %u is busy all the time, on socket %d, and the memory of %s queue %u is on socket %d: "
			"give the queue an lcore of that socket",
			lc->id, lc->socket, kind, queue, lc->memory);
	if (off_cpu(lc) >= OFTEN || lc->sharing >= 0)
		return say_away(p, lc, kind, queue);
	return say(p, PERF_LCORE,
		   "lcore %u of %s queue %u is busy all the time, %.0f cycles a packet: spread the work over more "
		   "queues and lcores, or do less for each packet",
		   lc->id, kind, queue, cycles);
}

static bool
judge_buffers(struct perf *p)
{
	const struct perf_rx *worst = NULL;
	uint16_t i;

	for (i = 0; i < p->num_rx; i++)
		if (p->rx[i].nombuf > 0 && (worst == NULL || p->rx[i].nombuf > worst->nombuf))
			worst = &p->rx[i];
	if (worst != NULL)
		return say(p, PERF_POOL,
			   "receive queue %u found its pool empty %" PRIu64
			   " times: more buffers (--total-num-mbufs), smaller rings, or give buffers back sooner",
			   worst->queue, worst->nombuf);
	if (p->nombuf > 0)
		return say(p, PERF_POOL,
			   "the port found its pool empty %" PRIu64 " times: more buffers (--total-num-mbufs), smaller "
			   "rings, or give buffers back sooner",
			   p->nombuf);
	for (i = 0; i < p->num_rx && p->missed > 0; i++)
		if (!p->rx[i].polled && (!p->rx[i].seen || p->rx[i].waiting > 0))
			return say(p, PERF_UNPOLLED,
				   "%" PRIu64
				   " frames were dropped and receive queue %u is polled by nobody: its port's "
				   "mode receives nothing there; 'set fwd flowgen %u' sends and receives",
				   p->missed, p->rx[i].queue, p->port);
	return false;
}

/* The receive queue that falls behind most: the one whose polls come back full most often. */
static const struct perf_rx *
busiest(const struct perf *p)
{
	const struct perf_rx *r = NULL;
	uint16_t i;

	for (i = 0; i < p->num_rx; i++)
		if (p->rx[i].packets > 0 && (r == NULL || full_share(&p->rx[i]) > full_share(r)))
			r = &p->rx[i];
	return r;
}

/* Seconds that all that came, or was lost, took at the rate of this watch. */
static double
seconds_of(const struct perf *p, double frames)
{
	double all = (double)p->missed;
	uint16_t i;

	for (i = 0; i < p->num_rx; i++)
		all += (double)p->rx[i].packets;
	return all > 0 ? frames * p->seconds / all : 0;
}

/*
 * Frames were lost though an lcore has time to spare: because it was not there for about as long as they took, or because they
 * came closer together than it looks.
 */
static bool
judge_losses(struct perf *p, const struct perf_rx *r)
{
	const double gone = off_cpu(&r->lcore) * p->seconds;

	if (off_cpu(&r->lcore) >= OFTEN || (gone > 0 && 2 * gone >= seconds_of(p, (double)p->missed)))
		return say_away(p, &r->lcore, "receive", r->queue);
	if (us_between_polls(p, r) * 2 >= seconds_of(p, r->ring) * 1e6)
		return say(p, PERF_RING,
			   "%" PRIu64 " frames found the ring of receive queue %u full, though polls empty it: %u "
			   "descriptors are too few for the %.1f us between two polls; raise rxd, or poll more often",
			   p->missed, r->queue, r->ring, us_between_polls(p, r));
	return say(
		p, PERF_RING,
		"%" PRIu64
		" frames found the ring of receive queue %u full, which is polled each %.1f us on average: more than "
		"its %u descriptors came at once, or the lcore was held up for a moment; raise rxd",
		p->missed, r->queue, us_between_polls(p, r), r->ring);
}

static bool
judge_receive(struct perf *p)
{
	const struct perf_rx *r = busiest(p);

	if (r == NULL)
		return false;
	if (full_share(r) >= MOST && busy_share(r) >= MOST) {
		if (r->burst <= SMALL_BURST)
			return say(p, PERF_BURST,
				   "receive queue %u is polled for %u packets at a time, and always has more: each "
				   "pays for "
				   "a whole call; 'set burst 32'",
				   r->queue, r->burst);
		return say_lcore(p, &r->lcore, "receive", r->queue, share(r->cycles, r->packets));
	}
	if (p->missed > 0)
		return judge_losses(p, r);
	return false;
}

static bool
judge_transmit(struct perf *p)
{
	const struct perf_tx *t = NULL;
	uint16_t i;

	for (i = 0; i < p->num_tx; i++)
		if (p->tx[i].bursts > 0 && (t == NULL || held_up(&p->tx[i]) > held_up(t)))
			t = &p->tx[i];
	if (t == NULL)
		return false;
	if (held_up(t) >= OFTEN && p->paused > 0)
		return say(p, PERF_PAUSE,
			   "transmit queue %u was full in %.0f %% of %s and the peer sent %" PRIu64
			   " pause frames: the peer cannot take more",
			   t->queue, 100 * held_up(t), t->generates ? "the time" : "bursts", p->paused);
	if (held_up(t) >= OFTEN)
		return say(p, PERF_WIRE,
			   "transmit queue %u was full in %.0f %% of %s: the port sends %.0f Mbit/s and takes no more; "
			   "a limit of the card, the queue or the wire",
			   t->queue, 100 * held_up(t), t->generates ? "the time" : "bursts",
			   (double)p->tx_bytes * 8 / p->seconds / 1e6);
	if (!t->generates)
		return false;
	if (t->burst <= SMALL_BURST)
		return say(
			p, PERF_BURST,
			"transmit queue %u gets %u packets at a time, %.2f doorbells a packet: each pays for a whole "
			"call; 'set burst 32'",
			t->queue, t->burst, share(t->doorbells, t->sent));
	return share(t->cycles, t->cycles + t->idle_cycles) >= MOST &&
	       say_lcore(p, &t->lcore, "transmit", t->queue, share(t->cycles, t->sent));
}

void
perf_judge(struct perf *p)
{
	uint64_t packets = 0, polls = 0, empty = 0, sent = 0;
	uint16_t i;

	for (i = 0; i < p->num_rx; i++) {
		packets += p->rx[i].packets;
		polls += p->rx[i].polls;
		empty += p->rx[i].bin[0];
	}
	for (i = 0; i < p->num_tx; i++)
		sent += p->tx[i].sent;
	if (!p->link_up) {
		say(p, PERF_LINK, "the link is down");
		return;
	}
	if (judge_buffers(p))
		return;
	/* What cannot leave is dropped by its sender and slows nobody else down: receiving is looked at first. */
	if (p->missed > 0 && judge_receive(p))
		return;
	if (judge_transmit(p) || judge_receive(p))
		return;
	if (packets == 0 && sent == 0)
		say(p, PERF_NOTHING, "no packet came and none was sent: nobody sends to this port");
	else
		say(p, PERF_IDLE,
		    "%.0f %% of polls found nothing and no frame was dropped: the limit is who sends to this port, or "
		    "the "
		    "wire",
		    100 * share(empty, polls));
}
