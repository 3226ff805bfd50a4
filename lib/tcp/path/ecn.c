/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Explicit congestion notification (RFC 3168): routers mark packets where they would have dropped them. */
#include "../tcp_priv.h"

#define ECN_SETUP (RTE_TCP_ECE_FLAG | RTE_TCP_CWR_FLAG)
#define ECT_0 0x02u

void
tcp_ecn_syn(struct tcp_conn *c, const struct tcp_seg *g)
{
	const uint8_t flags = g->flags & ECN_SETUP;

	/* 6.1.1: SYN asks with both flags; an answer with both only repeats what it got. */
	if ((g->flags & RTE_TCP_ACK_FLAG) != 0)
		c->opt_ecn = c->ecn_asked && flags == RTE_TCP_ECE_FLAG;
	else
		c->opt_ecn = (c->passive || c->ecn_asked) && c->s->conf.ecn != TCP_ECN_OFF && flags == ECN_SETUP;
}

void
tcp_ecn_start(struct tcp_conn *c)
{
	/* Who does not heed marks may not ask for them. */
	c->ect = c->opt_ecn && c->cc != TCP_CC_NONE ? ECT_0 : 0;
}

void
tcp_ecn_data(struct tcp_conn *c, const struct tcp_seg *g)
{
	/* 6.1.3; what says that the window was cut may be marked anew. */
	if ((g->flags & RTE_TCP_CWR_FLAG) != 0)
		c->echo = 0;
	if ((g->ip->type_of_service & RTE_IPV4_HDR_ECN_MASK) != RTE_IPV4_HDR_ECN_CE)
		return;
	c->s->st.rx_ce++;
	if (c->echo == 0)
		c->ack_now = true;
	c->echo = RTE_TCP_ECE_FLAG;
}

void
tcp_ecn_told(struct tcp_conn *c, uint32_t acked)
{
	/* 6.1.2: once a window: for what was sent since the last cut. A loss that is being repaired has cut it. */
	if (c->phase != TCP_PH_OPEN || c->cc == TCP_CC_NONE || seq_leq(c->snd_una, c->ecn_end))
		return;
	tcp_cc_loss(c, tcp_flight(c) + acked);
	c->cwnd = RTE_MIN(c->cwnd, c->ssthresh);
	c->ecn_end = c->snd_nxt;
	c->cwr_due = true;
	c->s->st.ecn_cuts++;
}
