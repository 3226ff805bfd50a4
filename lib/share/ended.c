/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Connections of TCP of a program that goes without a word: the owner keeps what the program wrote down of them, and tells their peers. */
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "lib/roce/net/net.h"
#include "lib/sock/page/page.h"

#include "share_priv.h"

void
share_sockets_note(struct share_guest *s)
{
	/* It is there before the first rule is, or never. */
	if (!s->sockets_looked)
		s->sockets = sock_page_keep(s->pid);
	s->sockets_looked = true;
}

/* A connection that is not over yet. */
static bool
lives(const struct sock_stat_socket *t)
{
	return t->used != 0 && t->engine != 0 && t->type == SOCK_STREAM && t->listens == 0 && t->remote_port != 0 &&
	       t->state != 0 && t->state != TCP_CLOSE && t->state != TCP_SYN_SENT && t->state != TCP_TIME_WAIT;
}

void
share_sockets_end(struct share_guest *s)
{
	const struct sock_stat *m = s->sockets;

	for (unsigned int i = 0; m != NULL && i < SOCK_STAT_SOCKETS; i++) {
		const struct sock_stat_socket t = m->socket[i];

		if (lives(&t))
			troce_tcp_ended(s->dev,
					&(struct troce_tcp_pair){t.local_ip, t.remote_ip, t.local_port, t.remote_port},
					1);
	}
	sock_page_let_go(m);
	s->sockets = NULL;
}
