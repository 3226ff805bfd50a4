/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * HyStart++ (RFC 9406): slow start ends when round trips become longer, before a queue on the way is full. Round trips that
 * grow lead to a conservative slow start; where they shrink again, the growth had another reason, and slow start goes on.
 */
#include "../tcp_priv.h"

/* 4.3 */
#define MIN_RTT_THRESH 4000u /* us */
#define MAX_RTT_THRESH 16000u
#define MIN_RTT_DIVISOR 8u
#define N_RTT_SAMPLE 8u
#define CSS_GROWTH_DIVISOR 4u
#define CSS_ROUNDS 5u

static void
look(struct tcp_conn *c)
{
	uint32_t thresh;

	if (c->hy_samples < N_RTT_SAMPLE)
		return;
	if (c->hy_css != 0) {
		if (c->hy_now < c->hy_base)
			c->hy_css = 0;
		return;
	}
	thresh = RTE_MIN(RTE_MAX(c->hy_last / MIN_RTT_DIVISOR, MIN_RTT_THRESH), MAX_RTT_THRESH);
	if (c->hy_last != 0 && c->hy_now >= c->hy_last + thresh) {
		c->hy_base = c->hy_now;
		c->hy_css = 1;
	}
}

uint32_t
tcp_hystart(struct tcp_conn *c, uint32_t bytes, uint32_t rtt)
{
	if (rtt != 0) {
		c->hy_now = c->hy_samples == 0 ? rtt : RTE_MIN(c->hy_now, rtt);
		c->hy_samples += c->hy_samples < N_RTT_SAMPLE;
		look(c);
	}
	if (c->hy_css != 0)
		bytes /= CSS_GROWTH_DIVISOR;
	if (c->hy_end != 0 && seq_lt(c->snd_una, c->hy_end))
		return bytes;
	/* The round is over. */
	if (c->hy_css != 0 && c->hy_css++ == CSS_ROUNDS) {
		tcp_cc_full(c);
		return bytes;
	}
	c->hy_last = c->hy_samples == 0 ? 0 : c->hy_now;
	c->hy_samples = 0;
	c->hy_end = c->snd_nxt | (c->snd_nxt == 0);
	return bytes;
}
