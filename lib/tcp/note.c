/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a home that outlives the program must know of connections. The program may be gone between any two lines of this. */
#include "tcp_priv.h"

/* A peer may believe in it, and wait for a word of ours. */
static bool
wanted(const struct tcp_conn *c)
{
	if (!c->hashed)
		return false;
	switch (c->n.state) {
	/* Its answer to our SYN comes again until it has one. */
	case TCP_SYN_SENT: return false;
	/* It has all that was for it; what is left is its own to say. */
	case TCP_FIN_WAIT2: return !c->orphan;
	default: return true;
	}
}

static void
add(struct tcp_stack *s, struct tcp_conn *c)
{
	struct tcp_notes *notes = s->conf.notes;
	uint32_t place = s->note_free;
	struct tcp_note *t;

	if (place == 0)
		place = notes->end + 1;
	/* Others can write there, too. */
	if (place - 1 >= s->conf.max_conns)
		return;
	t = &notes->at[place - 1];
	s->note_free = place <= notes->end ? t->remote_ip : 0;
	notes->end = RTE_MAX(notes->end, place);
	t->local_ip = c->n.laddr;
	t->remote_ip = c->n.raddr;
	t->remote_port = c->n.rport;
	__atomic_store_n(&t->local_port, c->n.lport, __ATOMIC_RELEASE);
	c->note = place;
}

static void
del(struct tcp_stack *s, struct tcp_conn *c)
{
	struct tcp_note *t = &s->conf.notes->at[c->note - 1];

	__atomic_store_n(&t->local_port, 0, __ATOMIC_RELEASE);
	/* A free place leads to the next one. */
	__atomic_store_n(&t->remote_ip, s->note_free, __ATOMIC_RELEASE);
	s->note_free = c->note;
	c->note = 0;
}

void
tcp_note_look(struct tcp_conn *c)
{
	const bool is = wanted(c);

	if (is && c->note == 0)
		add(c->s, c);
	else if (!is && c->note != 0)
		del(c->s, c);
}
