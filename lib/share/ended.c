/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Connections of TCP of a program that goes without a word: the owner keeps what the program wrote down of them, and tells their peers. */
#include "lib/roce/net/net.h"
#include "lib/sock/page/page.h"

#include "share_priv.h"

#define BATCH 64u

void
share_sockets_note(struct share_guest *s)
{
	/* It is there before the first rule is, or never. */
	if (!s->sockets_looked)
		s->sockets = sock_page_keep(s->pid);
	s->sockets_looked = true;
}

/* A program's own word: at worst peers are asked of connections that they do not have. */
static void
tell(struct troce_dev *dev, const struct tcp_notes *notes)
{
	const uint32_t end = RTE_MIN(notes->end, SOCK_STAT_CONNS);
	struct troce_tcp_pair p[BATCH];
	unsigned int n = 0;

	for (uint32_t i = 0; i < end; i++) {
		const struct tcp_note t = notes->at[i];

		if (t.local_port != 0)
			p[n++] = (struct troce_tcp_pair){t.local_ip, t.remote_ip, t.local_port, t.remote_port};
		if (n == BATCH || (n != 0 && i + 1 == end)) {
			troce_tcp_ended(dev, p, n);
			n = 0;
		}
	}
}

void
share_sockets_end(struct share_guest *s)
{
	if (s->sockets != NULL)
		tell(s->dev, sock_stat_notes(s->sockets));
	sock_page_let_go(s->sockets);
	s->sockets = NULL;
}
