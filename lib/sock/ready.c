/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a socket is ready for, who hears of it, and waiting for it. */
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
		return sock_dgram_ready(s);
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

static long
futex(_Atomic uint32_t *at, int op, uint32_t value, const struct timespec *until)
{
	return syscall(SYS_futex, at, op | FUTEX_PRIVATE_FLAG, value, until, NULL, FUTEX_BITSET_MATCH_ANY);
}

void
sock_changed(struct sock *s)
{
	struct sock_watch *w;

	atomic_fetch_add_explicit(&s->seq, 1, memory_order_relaxed);
	if (s->waiters != 0)
		(void)futex(&s->seq, FUTEX_WAKE, INT_MAX, NULL);
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

/* --- waiting --- */

struct wait {
	struct sock *s;
	uint32_t events, seq;
	bool counted;
};

static bool
has(void *arg)
{
	struct wait *w = arg;

	w->seq = atomic_load_explicit(&w->s->seq, memory_order_relaxed);
	if (!w->counted)
		w->s->waiters++;
	w->counted = true;
	return (sock_ready_now(w->s) & w->events) != 0;
}

/*
 * Linux starts a futex again after a handler with SA_RESTART when it has no time to end at, and no other, as it does with a
 * socket's wait.
 */
static int
sleep_on(void *arg, uint64_t until)
{
	const struct timespec t = {(time_t)(until / 1000000), (long)(until % 1000000 * 1000)};
	struct wait *w = arg;

	if (futex(&w->s->seq, FUTEX_WAIT_BITSET, w->seq, until == TCP_NEVER ? NULL : &t) == 0 || errno == EAGAIN)
		return 0;
	return errno == ETIMEDOUT ? -EAGAIN : -errno;
}

int
sock_wait_ready(struct sock *s, uint32_t events, uint64_t until)
{
	struct wait w = {.s = s, .events = events | EPOLLERR | EPOLLHUP};
	const int saved = errno;
	int rc = sock_wait(s->net, has, sleep_on, &w, until);

	errno = saved;
	if (w.counted) {
		pthread_mutex_lock(&s->net->lock);
		s->waiters--;
		pthread_mutex_unlock(&s->net->lock);
	}
	return rc;
}

uint64_t
sock_until(struct sock *s, bool recv)
{
	const uint64_t us = recv ? s->rcvtimeo_us : s->sndtimeo_us;

	return us == 0 ? TCP_NEVER : sock_now() + us;
}
