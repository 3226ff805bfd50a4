/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * SYN cookies (RFC 4987 3.6): where too many connections are under way, the initial sequence number itself says what the
 * peer's SYN said. 5 bits are the time, 3 the MSS, 24 a keyed hash of these, the tuple and the peer's number.
 */
#include "tcp_priv.h"

#define UNIT_SHIFT 16u /* 65 s */
#define AGE_MAX 1u     /* units: a cookie is good for 65 to 131 s */

static const uint16_t mss_of[8] = {216, 536, 1024, 1300, 1440, 1460, 4312, 8960};

static uint32_t
cookie(const struct tcp_stack *s, const struct tcp_seg *g, uint32_t irs, uint32_t what)
{
	const uint64_t key[2] = {s->key[0] + 1 + what, ~s->key[1]};
	const uint64_t a = (uint64_t)g->ip->src_addr << 32 | g->ip->dst_addr;
	const uint64_t b = (uint64_t)g->th->src_port << 48 | (uint64_t)g->th->dst_port << 32 | irs;

	return what << 24 | (tcp_siphash(key, a, b) & 0xffffff);
}

void
tcp_cookie_send(struct tcp_listener *l, const struct tcp_seg *g)
{
	struct tcp_stack *s = l->c.s;
	struct tcp_path p = {.mtu = 1500};
	uint32_t i = RTE_DIM(mss_of) - 1, mss;
	uint8_t opt[4] = {TCPOPT_MAXSEG, 4};
	struct tcp_answer a = {.ack = g->seq + 1, .flags = RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG, .opt = opt, .olen = 4};

	if (s->ops->path(s->home, g->ip->dst_addr, g->ip->src_addr, &p) != 0) {
		s->st.tx_no_path++;
		return;
	}
	mss = tcp_mss_ours(tcp_path_mtu(&p), l->c.mss_set);
	opt[2] = (uint8_t)(mss >> 8);
	opt[3] = (uint8_t)mss;
	while (i > 0 && mss_of[i] > (g->o.has_mss ? g->o.mss : TCP_MSS_DEFAULT))
		i--;
	a.seq = cookie(s, g, g->seq, (s->now_ms >> UNIT_SHIFT & 31) << 3 | i);
	a.wnd = (uint16_t)RTE_MIN(l->c.rcvbuf, UINT32_C(65535));
	l->cookies = true;
	l->cookie_ms = s->now_ms;
	s->st.cookies_sent++;
	tcp_send_answer(s, g, &a);
}

uint16_t
tcp_cookie_check(const struct tcp_listener *l, const struct tcp_seg *g)
{
	const struct tcp_stack *s = l->c.s;
	const uint32_t isn = g->ack - 1, what = isn >> 24;

	/* Nobody guesses while none are out. */
	if (!l->cookies || s->now_ms - l->cookie_ms > (AGE_MAX + 1) << UNIT_SHIFT)
		return 0;
	if ((g->flags & (RTE_TCP_SYN_FLAG | RTE_TCP_RST_FLAG)) != 0)
		return 0;
	if ((((s->now_ms >> UNIT_SHIFT) - (what >> 3)) & 31) > AGE_MAX || cookie(s, g, g->seq - 1, what) != isn)
		return 0;
	return mss_of[what & 7];
}
