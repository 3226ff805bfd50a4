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

static long
futex(_Atomic uint32_t *at, int op, uint32_t value, const struct timespec *until)
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
		(void)futex(&s->seq, FUTEX_WAKE, INT_MAX, NULL);
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

/* --- waiting --- */

struct wait {
	struct sock *s;
	uint32_t events, seq;
	bool looks;
};

static bool
has(void *arg)
{
	struct wait *w = arg;

	w->seq = atomic_load_explicit(&w->s->seq, memory_order_relaxed);
	return (sock_ready_now(w->s) & w->events) != 0;
}

static void
asleep(void *arg, bool is)
{
	struct wait *w = arg;

	w->s->waiters += is ? 1 : UINT32_MAX;
	if (w->looks)
		w->s->lookers += is ? 1 : UINT32_MAX;
}

/*
 * Linux starts a futex again after a handler with SA_RESTART when it has no time to end at, and no other, as it does with a
 * socket's wait.
 */
static int
sleep_futex(struct wait *w, uint64_t until)
{
	const struct timespec t = {(time_t)(until / 1000000), (long)(until % 1000000 * 1000)};

	if (futex(&w->s->seq, FUTEX_WAIT_BITSET, w->seq, until == TCP_NEVER ? NULL : &t) == 0 || errno == EAGAIN)
		return 0;
	return errno == ETIMEDOUT ? -EAGAIN : -errno;
}

/* And no ppoll(). */
static int
sleep_ppoll(struct wait *w, uint64_t until, struct pollfd *frames)
{
	struct sock_net *n = w->s->net;
	struct pollfd p[2] = {*frames, {.fd = n->bell, .events = POLLIN}};
	struct timespec t;
	uint64_t count;
	int k;

	do
		k = ppoll(p, 2, sock_left(until, &t), NULL);
	while (k < 0 && errno == EINTR && until == TCP_NEVER && n->handlers() == SOCK_HANDLERS_GO_ON);
	if (k < 0)
		return -errno;
	if (k == 0)
		return -EAGAIN;
	frames->revents = p[0].revents;
	if (p[1].revents != 0)
		(void)!read(n->bell, &count, sizeof(count));
	return 0;
}

static int
sleep_on(void *arg, uint64_t until, struct pollfd *frames)
{
	struct wait *w = arg;

	return frames->fd < 0 ? sleep_futex(w, until) : sleep_ppoll(w, until, frames);
}

int
sock_wait_ready(struct sock *s, uint32_t events, uint64_t until)
{
	const bool looks = s->net->handlers != NULL && s->net->handlers() != SOCK_HANDLERS_BOTH;
	struct wait w = {.s = s, .events = events | EPOLLERR | EPOLLHUP, .looks = looks};
	const int saved = errno;
	int rc = sock_wait(s->net, &(struct sock_wait){has, asleep, sleep_on, &w, looks, s->count}, until);

	errno = saved;
	return rc;
}

uint64_t
sock_until(struct sock *s, bool recv)
{
	const uint64_t us = recv ? s->rcvtimeo_us : s->sndtimeo_us;

	return us == 0 ? TCP_NEVER : sock_now() + us;
}
