/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a socket is ready for, and who hears of it. */
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sock_priv.h"

#define IN (EPOLLIN | EPOLLRDNORM)
#define OUT (EPOLLOUT | EPOLLWRNORM)

/* The peer's end has come. */
static bool
peer_ended(const struct sock *s)
{
	switch (tcp_state(s->conn)) {
	case TCP_CLOSE_WAIT:
	case TCP_LAST_ACK:
	case TCP_CLOSING:
	case TCP_TIME_WAIT:
	case TCP_CLOSE: return true;
	default: return false;
	}
}

/* When there is none, the engine is told that somebody waits for it. */
static bool
room(struct sock *s)
{
	uint8_t none = 0;
	const struct iovec iov = {&none, 1};

	if (tcp_writable(s->conn) != 0)
		return true;
	(void)tcp_send(s->conn, &iov, 1, 0);
	return false;
}

/* As tcp_poll() of Linux. */
uint32_t
sock_ready_now(struct sock *s)
{
	bool read_over, write_over;
	uint32_t r = 0;

	if (sock_dead(s))
		return IN | OUT | EPOLLHUP | EPOLLERR | EPOLLRDHUP;
	if (s->udp != NULL)
		return s->net->udp_ops->ready(s);
	if (s->state == SOCK_LISTENING)
		return s->os_ready || sock_has_ready(s) ? IN : 0;
	sock_pull_error(s);
	if (s->err != 0)
		r |= EPOLLERR;
	if (s->conn == NULL)
		return s->state == SOCK_RESOLVING ? r
		       : s->err != 0              ? r | IN | OUT | EPOLLHUP | EPOLLRDHUP
						  : r | OUT | EPOLLHUP;
	if (tcp_state(s->conn) == TCP_SYN_SENT || tcp_state(s->conn) == TCP_SYN_RECV)
		return r;
	read_over = s->shut_rd || peer_ended(s);
	write_over = s->shut_wr || tcp_state(s->conn) == TCP_CLOSE;
	if (read_over && write_over)
		r |= EPOLLHUP;
	if (read_over)
		r |= IN | EPOLLRDHUP;
	else if (tcp_readable(s->conn) != 0)
		r |= IN;
	if (write_over || room(s))
		r |= OUT;
	return r;
}

/* --- who hears of it --- */

long
sock_futex(_Atomic uint32_t *at, int op, uint32_t value, const struct timespec *until)
{
	return syscall(SYS_futex, at, op | FUTEX_PRIVATE_FLAG, value, until, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void
ring(struct sock_net *n)
{
	const uint64_t one = 1;

	(void)!write(n->bell, &one, sizeof(one));
}

void
sock_changed(struct sock *s)
{
	struct sock_watch *w;

	atomic_fetch_add_explicit(&s->seq, 1, memory_order_relaxed);
	if (s->waiters != 0)
		(void)sock_futex(&s->seq, FUTEX_WAKE, INT_MAX, NULL);
	if (s->lookers != 0 && s->net->led)
		ring(s->net);
	LIST_FOREACH(w, &s->watches, next)
	w->fn(w);
}

void
sock_watch_add(struct sock *s, struct sock_watch *w)
{
	LIST_INSERT_HEAD(&s->watches, w, next);
}

void
sock_watch_del(struct sock_watch *w)
{
	LIST_REMOVE(w, next);
}
