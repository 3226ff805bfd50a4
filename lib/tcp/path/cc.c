/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Congestion control: RFC 5681 (Reno), RFC 9438 (CUBIC), with the initial window of RFC 6928 and bytes counted (RFC 3465). */
#include <math.h>

#include "../tcp_priv.h"

#define CUBIC_C 0.4f
#define CUBIC_BETA 0.7f
#define CUBIC_ALPHA (3.0f * (1.0f - CUBIC_BETA) / (1.0f + CUBIC_BETA))
#define ABC_LIMIT 8u /* segments that one acknowledgement can stand for, where the receiver joins them */

uint32_t
tcp_cc_initial(const struct tcp_conn *c)
{
	return RTE_MIN(10u * c->mss, RTE_MAX(2u * c->mss, 14600u));
}

void
tcp_cc_start(struct tcp_conn *c)
{
	/* RFC 6928 2: after more than one lost SYN, one segment. */
	c->cwnd = c->retries > 1 ? c->mss : tcp_cc_initial(c);
	c->ssthresh = TCP_BUF_MAX;
	if (c->cc == TCP_CC_NONE)
		c->cwnd = TCP_BUF_MAX;
	c->epoch_ms = 0;
	c->w_max = c->w_est = c->cubic_k = c->cwnd_prior = 0;
	c->hy_samples = c->hy_css = 0;
}

static void
reno_acked(struct tcp_conn *c, uint32_t bytes)
{
	c->acked_part += bytes;
	if (c->acked_part >= c->cwnd) {
		c->acked_part -= c->cwnd;
		c->cwnd += c->mss;
	}
}

static void
cubic_acked(struct tcp_conn *c, uint32_t bytes)
{
	const float mss = c->mss, cwnd = (float)c->cwnd / mss, acked = (float)bytes / mss;
	float t, target, d;

	if (c->epoch_ms == 0) {
		/* 0 is none; it must not lie ahead, since times have no sign. */
		c->epoch_ms = c->s->now_ms != 0 ? c->s->now_ms : UINT32_MAX;
		c->w_est = cwnd;
		if (cwnd < c->w_max) {
			c->cubic_k = cbrtf((c->w_max - cwnd) / CUBIC_C);
		} else {
			c->cubic_k = 0;
			c->w_max = cwnd;
		}
	}
	/* Where it should be one round trip from now (4.2); the comparison with Reno's is made now (4.3). */
	t = (float)(c->s->now_ms - c->epoch_ms) / 1000.0f;
	d = t - c->cubic_k;
	c->w_est += (c->w_est >= c->cwnd_prior ? 1.0f : CUBIC_ALPHA) * acked / cwnd;
	if (CUBIC_C * d * d * d + c->w_max < c->w_est) {
		if (c->w_est > cwnd)
			c->cwnd = (uint32_t)(c->w_est * mss);
		return;
	}
	d += (float)(c->srtt8 >> 3) / 1e6f;
	target = CUBIC_C * d * d * d + c->w_max;
	target = RTE_MIN(RTE_MAX(target, cwnd), 1.5f * cwnd);
	c->cwnd += (uint32_t)((target - cwnd) / cwnd * (float)bytes);
}

void
tcp_cc_acked(struct tcp_conn *c, uint32_t bytes, uint32_t rtt)
{
	if (c->cc == TCP_CC_NONE) {
		c->cwnd = TCP_BUF_MAX;
		return;
	}
	if (c->cwnd < c->ssthresh) {
		bytes = RTE_MIN(bytes, ABC_LIMIT * c->mss);
		/* Only the first slow start knows nothing of the path. */
		if (c->cc == TCP_CC_CUBIC && c->ssthresh == TCP_BUF_MAX)
			bytes = tcp_hystart(c, bytes, rtt);
		c->cwnd += bytes;
	} else if (c->cc == TCP_CC_RENO) {
		reno_acked(c, bytes);
	} else if (c->ssthresh != TCP_BUF_MAX) {
		cubic_acked(c, bytes);
	}
	c->cwnd = RTE_MIN(c->cwnd, TCP_BUF_MAX);
}

void
tcp_cc_full(struct tcp_conn *c)
{
	if (c->cc == TCP_CC_NONE)
		return;
	/* It was HyStart++'s place. */
	if (c->ssthresh == TCP_BUF_MAX)
		c->w_max = 0;
	c->epoch_ms = 0;
	if (c->cc == TCP_CC_CUBIC)
		c->cwnd_prior = (float)c->cwnd / (float)c->mss;
	c->ssthresh = RTE_MAX(c->cwnd, 2u * c->mss);
}

void
tcp_cc_loss(struct tcp_conn *c, uint32_t flight)
{
	float cwnd;

	switch (c->cc) {
	case TCP_CC_NONE: c->ssthresh = TCP_BUF_MAX; return;
	case TCP_CC_RENO:
		c->acked_part = 0;
		c->ssthresh = RTE_MAX(flight / 2, 2u * c->mss);
		return;
	default: break;
	}
	cwnd = (float)c->cwnd / (float)c->mss;
	if (c->ssthresh == TCP_BUF_MAX)
		c->w_max = 0;
	/* Fast convergence (4.7): a flow that got less than last time makes room. */
	c->w_max = cwnd < c->w_max ? cwnd * (1.0f + CUBIC_BETA) / 2.0f : cwnd;
	c->cwnd_prior = cwnd;
	c->epoch_ms = 0;
	c->ssthresh = RTE_MAX((uint32_t)((float)RTE_MIN(flight, c->cwnd) * CUBIC_BETA), 2u * c->mss);
}
