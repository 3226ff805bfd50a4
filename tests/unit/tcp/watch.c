/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Nobody waits for ever, or for longer than RFC 6298 has it: the timer of what is out, or waits to go. */
#include "lib/tcp/tcp_priv.h"
#include "rig.h"
#include "watch.h"

#define HELD_US UINT64_C(200000) /* what a program holds back goes after so long */
#define TICK_US 32u

void
watch_timer(struct rig_side *a)
{
	struct rig *r = a->r;
	const struct tcp_node *n =
		r->port == 0 ? NULL
			     : tcp_find(a->s, a->ip, r->side[!a->n].ip, a->n == 0 ? r->port : RTE_BE16(80),
					a->n == 0 ? RTE_BE16(80) : r->port);
	const struct tcp_conn *c = (const struct tcp_conn *)n;
	uint64_t most, at;

	/* One that the wire stopped goes on with the next round. */
	if (n == NULL || n->kind != TCP_NODE_CONN || c->dirty)
		return;
	if (c->snd_nxt == c->snd_una && c->unsent == NULL && !c->syn_out && (!c->fin_wanted || c->fin_queued))
		return;
	at = c->at[TCP_T_RTX];
	most = RTE_MIN((uint64_t)c->rto << RTE_MIN(c->backoff, 20), UINT64_C(120000000));
	if (c->rtx_kind == TCP_RTX_PERSIST)
		most = RTE_MAX(most, HELD_US);
	if (at == TCP_NEVER)
		rig_fail(r, "side %u waits in state %u without a timer", a->n, c->n.state);
	else if (at > r->now + most)
		rig_fail(r, "side %u in state %u: timer %u ends in %lu us, and %lu are the most", a->n, c->n.state,
			 c->rtx_kind, (unsigned long)(at - r->now), (unsigned long)most);
	else if (tcp_deadline(a->s) > RTE_MAX(at, r->now) + TICK_US)
		rig_fail(r, "side %u in state %u: the deadline is behind timer %u", a->n, c->n.state, c->rtx_kind);
}
