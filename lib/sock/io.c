/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Sending and receiving. */
#include <signal.h>

#include "sock_priv.h"

#define PIECES 64

/* What is left of a list of buffers. */
struct rest {
	const struct iovec *iov;
	int n, skip_n;
	size_t skip, left;
	struct iovec part[PIECES];
};

static struct rest
rest_of(const struct iovec *iov, int n)
{
	struct rest r = {.iov = iov, .n = n};

	for (int i = 0; i < n; i++)
		r.left += iov[i].iov_len;
	return r;
}

/* Its next pieces; how many. */
static int
pieces(struct rest *r)
{
	size_t skip = r->skip;
	int k = 0;

	for (int i = r->skip_n; i < r->n && k < PIECES; i++, skip = 0) {
		if (r->iov[i].iov_len == skip)
			continue;
		r->part[k++] = (struct iovec){(char *)r->iov[i].iov_base + skip, r->iov[i].iov_len - skip};
	}
	return k;
}

static void
advance(struct rest *r, size_t done)
{
	r->left -= done;
	while (r->skip_n < r->n && done >= r->iov[r->skip_n].iov_len - r->skip) {
		done -= r->iov[r->skip_n].iov_len - r->skip;
		r->skip = 0;
		r->skip_n++;
	}
	r->skip += done;
}

/* --- send ------------------------------------------------------------------------------------------------------------ */

static ssize_t
send_some(struct sock *s, struct rest *r, int flags)
{
	const size_t before = r->left;
	ssize_t done = -EPIPE;

	if (!sock_enter_busy(s->net) && (s->conn == NULL || tcp_writable(s->conn) == 0))
		sock_look(s->net);
	if (sock_dead(s)) {
		done = -ECONNABORTED;
	} else if (s->err != 0) {
		done = -s->err;
		s->err = 0;
	} else if (s->conn != NULL && !s->shut_wr) {
		do {
			const int k = pieces(r);

			done = k == 0 ? 0 : tcp_send(s->conn, r->part, k, flags & MSG_MORE);
			if (done > 0)
				advance(r, (size_t)done);
		} while (done > 0 && r->left != 0);
	} else if (s->state == SOCK_RESOLVING) {
		done = -EAGAIN;
	}
	sock_count(s, SOCK_TX_PACKETS, (ssize_t)(before - r->left), done == -ENOBUFS ? -EAGAIN : done);
	sock_leave(s->net);
	return done;
}

static ssize_t
broken(ssize_t err, int flags)
{
	if (err == -EPIPE && (flags & MSG_NOSIGNAL) == 0)
		(void)pthread_kill(pthread_self(), SIGPIPE);
	return err;
}

ssize_t
sock_send(struct sock *s, const struct iovec *iov, int n, int flags)
{
	struct rest r = rest_of(iov, n);
	const size_t all = r.left;
	uint64_t until = 0;
	ssize_t err;

	if ((flags & MSG_OOB) != 0)
		return -EOPNOTSUPP;
	for (;;) {
		err = send_some(s, &r, flags);
		if (r.left == 0 && err >= 0)
			return (ssize_t)all;
		if ((err != -EAGAIN && err != -ENOBUFS && err < 0) || (flags & MSG_DONTWAIT) != 0)
			break;
		if (until == 0)
			until = sock_until(s, false);
		/* No event tells that there are buffers again. */
		if (err == -ENOBUFS)
			err = sock_wait_ready(s, 0, RTE_MIN(until, sock_now() + 1000));
		else
			err = sock_wait_ready(s, EPOLLOUT, until);
		if (err != 0 && !(err == -EAGAIN && sock_now() < until))
			break;
	}
	if (r.left != all)
		return (ssize_t)(all - r.left);
	return broken(err == -ENOBUFS ? -EAGAIN : err, flags);
}

/* --- receive --------------------------------------------------------------------------------------------------------- */

/* MSG_TRUNC on a stream: octets are thrown away. */
static ssize_t
discard(struct tcp_conn *c, size_t left)
{
	char waste[4096];
	const struct iovec iov = {waste, RTE_MIN(left, sizeof(waste))};

	return tcp_recv(c, &iov, 1, 0);
}

/* 0 with *over: the end of data. */
static ssize_t
recv_some(struct sock *s, struct rest *r, int flags, size_t peek, bool *over)
{
	const size_t before = r->left;
	ssize_t done = -ENOTCONN;

	/* What was there when the program was told of it is there still. */
	if (!sock_enter_busy(s->net) && (s->conn == NULL || tcp_readable(s->conn) == 0))
		sock_look(s->net);
	if (sock_dead(s)) {
		done = -ECONNABORTED;
	} else if (s->state == SOCK_RESOLVING ||
		   (s->conn != NULL && (flags & MSG_PEEK) != 0 && tcp_readable(s->conn) < peek &&
		    (sock_ready_now(s) & (EPOLLRDHUP | EPOLLERR)) == 0)) {
		done = -EAGAIN;
	} else if (s->conn != NULL && s->err != 0 && s->err != EPIPE && tcp_readable(s->conn) == 0) {
		/* EPIPE: a reset came behind the end of data, which a reader has first, and a writer hears of. */
		done = -s->err;
		s->err = 0;
	} else if (s->conn != NULL) {
		do {
			const int k = pieces(r);

			done = (flags & MSG_TRUNC) != 0 ? discard(s->conn, r->left)
							: tcp_recv(s->conn, r->part, k, flags & MSG_PEEK);
			if (done > 0)
				advance(r, (size_t)done);
		} while (done > 0 && r->left != 0 && (flags & MSG_PEEK) == 0 && tcp_readable(s->conn) != 0);
		*over = done == 0;
	}
	if ((flags & MSG_PEEK) == 0)
		sock_count(s, SOCK_RX_PACKETS, (ssize_t)(before - r->left), done);
	sock_leave(s->net);
	return done;
}

ssize_t
sock_recv(struct sock *s, const struct iovec *iov, int n, int flags)
{
	struct rest r = rest_of(iov, n);
	const size_t all = r.left;
	/* More than fits is never there at once. */
	const size_t peek =
		(flags & (MSG_PEEK | MSG_WAITALL)) == (MSG_PEEK | MSG_WAITALL) ? RTE_MIN(all, (size_t)4096) : 1;
	uint64_t until = 0;
	bool over = false;
	ssize_t err;

	if ((flags & MSG_OOB) != 0)
		return -EINVAL;
	if (all == 0)
		return 0;
	for (;;) {
		err = recv_some(s, &r, flags, peek, &over);
		if (over || r.left == 0 || (r.left != all && (flags & MSG_WAITALL) == 0) ||
		    (err > 0 && (flags & MSG_PEEK) != 0))
			break;
		if ((err < 0 && err != -EAGAIN) || (flags & MSG_DONTWAIT) != 0)
			break;
		if (until == 0)
			until = sock_until(s, true);
		/* There is something, but not enough: nothing tells when it is. */
		if (peek > 1 && sock_inq(s) > 0)
			err = sock_wait_ready(s, 0, RTE_MIN(until, sock_now() + 1000));
		else
			err = sock_wait_ready(s, EPOLLIN, until);
		if (err != 0 && !(err == -EAGAIN && sock_now() < until))
			break;
	}
	if (r.left != all)
		return (ssize_t)(all - r.left);
	return over ? 0 : err;
}

int
sock_inq(struct sock *s)
{
	int n;

	sock_enter(s->net);
	n = sock_dead(s) || s->conn == NULL ? 0 : s->state == SOCK_LISTENING ? -EINVAL : (int)tcp_readable(s->conn);
	sock_leave(s->net);
	return n;
}
