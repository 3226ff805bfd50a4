/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The program's last word about a socket. */
#include <unistd.h>

#include "sock_priv.h"

/* SO_LINGER: what was sent has arrived, and the end with it. */
static bool
lingered(void *arg)
{
	struct sock *s = arg;
	/* The program may end meanwhile, by another thread. */
	const int state = s->conn == NULL ? TCP_CLOSE : tcp_state(s->conn);

	return state != TCP_FIN_WAIT1 && state != TCP_CLOSING && state != TCP_LAST_ACK;
}

static int
nap(void *arg, uint64_t until, struct pollfd *frames)
{
	(void)arg, (void)until, (void)frames;
	usleep(500);
	return 0;
}

void
sock_close(struct sock *s)
{
	struct sock_net *n = s->net;
	uint64_t linger_us = 0;

	pthread_mutex_lock(&n->lock);
	if (!n->dead && s->linger.l_onoff != 0 && s->linger.l_linger > 0 && s->conn != NULL &&
	    s->state == SOCK_CONNECTED)
		linger_us = (uint64_t)s->linger.l_linger * 1000000;
	pthread_mutex_unlock(&n->lock);
	if (linger_us != 0 && sock_shutdown(s, SHUT_WR) == 0)
		(void)sock_wait(n, &(struct sock_wait){lingered, NULL, nap, s, false}, sock_now() + linger_us);
	sock_enter(n);
	if (!n->dead) {
		if (s->ready != NULL)
			sock_end(s->ready);
		sock_end(s);
	}
	sock_leave(n);
}

static void
unsteer_now(struct sock *s)
{
	if (s != NULL && s->steered)
		sock_port_drop(s->net, s->local.port);
	if (s != NULL)
		s->steered = false;
}

void
sock_leave_port(struct sock *s, int claim)
{
	sock_enter(s->net);
	if (!sock_dead(s) && s->state == SOCK_LISTENING && s->conn != NULL) {
		sock_deaf(s);
		sock_port_leave(s->net, s->local.port, claim);
	} else {
		s->net->unclaim(claim);
	}
	sock_leave(s->net);
}

void
sock_hand_over(struct sock *s)
{
	sock_enter(s->net);
	if (!sock_dead(s)) {
		unsteer_now(s->ready);
		unsteer_now(s);
	}
	sock_leave(s->net);
	sock_close(s);
}
