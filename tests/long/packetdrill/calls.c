/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The calls of scripts, by Linux's rules as far as scripts of TCP ask for them: each is the engine's, and a wait where it may block. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sock.h"

#define FDS 1024

static struct sock socks[FDS];

/* --- descriptors --- */

struct sock *
drill_sock(int fd)
{
	struct sock *s = fd >= 0 && fd < FDS ? &socks[fd] : NULL;

	return s == NULL || s->state == NONE ? NULL : s;
}

/* A number of the operating system's: packetdrill closes by libc what a script leaves open. */
static int
fd_new(enum state state, bool nonblock)
{
	const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fd >= FDS) {
		close(fd);
		return -EMFILE;
	}
	socks[fd] = (struct sock){.state = state, .nonblock = nonblock, .cc = -1};
	return fd;
}

/* As libc tells it. */
ssize_t
drill_told(ssize_t rc)
{
	if (rc >= 0)
		return rc;
	errno = (int)-rc;
	return -1;
}

static void
addr_put(const struct tcp_addr *a, struct sockaddr *to, socklen_t *len)
{
	const struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = a->port, .sin_addr = {a->ip}};

	if (to == NULL)
		return;
	memcpy(to, &in, RTE_MIN((size_t)*len, sizeof(in)));
	*len = sizeof(in);
}

static bool
addr_get(const struct sockaddr *from, socklen_t len, struct tcp_addr *a)
{
	struct sockaddr_in in;

	if (len < sizeof(in))
		return false;
	memcpy(&in, from, sizeof(in));
	*a = (struct tcp_addr){in.sin_addr.s_addr, in.sin_port};
	return in.sin_family == AF_INET;
}

/* --- what a socket is ready for, as Linux's tcp_poll() --- */

bool
drill_opens(const struct sock *s)
{
	return s->c != NULL && (tcp_state(s->c) == TCP_SYN_SENT || tcp_state(s->c) == TCP_SYN_RECV);
}

short
drill_ready(struct sock *s)
{
	short r = 0;
	int state;

	if (s->state == LISTENS) {
		if (s->ready == NULL)
			s->ready = tcp_accept(s->c, NULL);
		return s->ready != NULL ? POLLIN | POLLRDNORM : 0;
	}
	if (s->c == NULL)
		return POLLOUT | POLLWRNORM | POLLHUP;
	if (drill_opens(s))
		return 0;
	state = tcp_state(s->c);
	if (state == TCP_CLOSE && s->err == 0)
		s->err = tcp_error(s->c);
	if (s->err != 0)
		r |= POLLERR;
	switch (state) {
	case TCP_CLOSE:
	case TCP_TIME_WAIT:
	case TCP_CLOSING:
	case TCP_LAST_ACK: r |= POLLHUP; /* fall through */
	case TCP_CLOSE_WAIT: r |= POLLIN | POLLRDNORM | POLLRDHUP; break;
	default: break;
	}
	if (tcp_readable(s->c) != 0)
		r |= POLLIN | POLLRDNORM;
	if (state == TCP_CLOSE || tcp_writable(s->c) != 0)
		r |= POLLOUT | POLLWRNORM;
	return r;
}

struct wait {
	struct sock *s;
	short events;
};

static bool
has(void *arg)
{
	const struct wait *w = arg;

	return (drill_ready(w->s) & (w->events | POLLERR | POLLHUP)) != 0;
}

/* Waits as a call that blocks does: 0, or what the call says. */
int
drill_await(struct sock *s, short events, int flags)
{
	struct wait w = {s, events};

	if (s->nonblock || (flags & MSG_DONTWAIT) != 0)
		return -EAGAIN;
	(void)drill_wait(has, &w, TCP_NEVER);
	return 0;
}

/* --- begin and end --- */

static int
call_socket(void *own, int domain, int type, int protocol)
{
	int fd;

	(void)own;
	if (domain != AF_INET)
		return (int)drill_told(-EAFNOSUPPORT);
	if ((type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != SOCK_STREAM || (protocol != 0 && protocol != IPPROTO_TCP))
		return (int)drill_told(-EPROTONOSUPPORT);
	(void)drill_enter();
	fd = fd_new(NEW, (type & SOCK_NONBLOCK) != 0);
	drill_leave();
	return (int)drill_told(fd);
}

static int
call_bind(void *own, int fd, const struct sockaddr *at, socklen_t len)
{
	struct sock *s = drill_sock(fd);

	(void)own;
	return (int)drill_told(s == NULL ? -EBADF : s->state != NEW || !addr_get(at, len, &s->local) ? -EINVAL : 0);
}

static int
call_listen(void *own, int fd, int backlog)
{
	struct sock *s = drill_sock(fd);
	struct tcp_stack *stack;
	int err = 0;

	(void)own;
	if (s == NULL || s->state != NEW)
		return (int)drill_told(s == NULL ? -EBADF : -EINVAL);
	stack = drill_enter();
	s->c = tcp_listen(stack, &s->local, (uint32_t)RTE_MAX(backlog, 1), NULL, &err);
	if (s->c != NULL) {
		opt_presets(s);
		s->state = LISTENS;
	}
	drill_leave();
	return (int)drill_told(err);
}

static int
call_accept(void *own, int fd, struct sockaddr *from, socklen_t *len)
{
	struct sock *s = drill_sock(fd), *new;
	struct tcp_addr local, remote;
	int rc;

	(void)own;
	if (s == NULL || s->state != LISTENS)
		return (int)drill_told(s == NULL ? -EBADF : -EINVAL);
	(void)drill_enter();
	rc = drill_ready(s) != 0 ? 0 : drill_await(s, POLLIN, 0);
	if (rc == 0)
		rc = fd_new(CONNECTED, false);
	if (rc >= 0) {
		new = drill_sock(rc);
		new->c = s->ready;
		new->linger = s->linger;
		s->ready = NULL;
		tcp_addrs(new->c, &local, &remote);
		addr_put(&remote, from, len);
	}
	drill_leave();
	return (int)drill_told(rc);
}

/* How it went; -EINPROGRESS. */
static int
connected(struct sock *s)
{
	const bool hup = tcp_state(s->c) == TCP_CLOSE;
	int err = s->err != 0 ? s->err : hup ? tcp_error(s->c) : 0;

	if (drill_opens(s))
		return -EINPROGRESS;
	s->err = 0;
	if (!hup || err == 0) {
		s->state = CONNECTED;
		return 0;
	}
	tcp_close(s->c);
	s->c = NULL;
	s->state = NEW;
	return -err;
}

static int
call_connect(void *own, int fd, const struct sockaddr *to, socklen_t len)
{
	struct sock *s = drill_sock(fd);
	struct tcp_stack *stack;
	struct tcp_addr remote;
	int rc = 0;

	(void)own;
	if (s == NULL || s->state == LISTENS || !addr_get(to, len, &remote))
		return (int)drill_told(s == NULL ? -EBADF : s->state == LISTENS ? -EISCONN : -EAFNOSUPPORT);
	stack = drill_enter();
	if (s->state == CONNECTED) {
		rc = -EISCONN;
	} else if (s->state == CONNECTS) {
		rc = connected(s);
		rc = rc == -EINPROGRESS ? -EALREADY : rc;
	} else {
		s->c = tcp_connect(stack, s->local.port != 0 ? &s->local : NULL, &remote, NULL, &rc);
		if (s->c != NULL) {
			opt_presets(s);
			s->state = CONNECTS;
			rc = drill_await(s, POLLOUT, 0) == 0 ? connected(s) : -EINPROGRESS;
		}
	}
	drill_leave();
	return (int)drill_told(rc);
}

static int
call_shutdown(void *own, int fd, int how)
{
	struct sock *s = drill_sock(fd);
	int rc;

	(void)own;
	if (s == NULL)
		return (int)drill_told(-EBADF);
	(void)drill_enter();
	rc = s->c == NULL || s->state == LISTENS ? -ENOTCONN : tcp_shutdown(s->c, how);
	drill_leave();
	return (int)drill_told(rc);
}

static int
call_close(void *own, int fd)
{
	struct sock *s = drill_sock(fd);

	(void)own;
	if (s == NULL)
		return (int)drill_told(-EBADF);
	(void)drill_enter();
	if (s->ready != NULL)
		tcp_abort(s->ready);
	if (s->c != NULL && s->linger.l_onoff != 0 && s->linger.l_linger == 0)
		tcp_abort(s->c);
	else if (s->c != NULL)
		tcp_close(s->c);
	s->state = NONE;
	close(fd);
	drill_leave();
	return 0;
}

/* --- poll --- */

struct polled {
	struct pollfd *p;
	nfds_t n;
	int found;
};

static bool
poll_done(void *arg)
{
	struct polled *w = arg;

	w->found = 0;
	for (nfds_t i = 0; i < w->n; i++) {
		struct sock *s = drill_sock(w->p[i].fd);

		w->p[i].revents = s == NULL ? POLLNVAL : drill_ready(s) & (short)(w->p[i].events | POLLERR | POLLHUP);
		w->found += w->p[i].revents != 0;
	}
	return w->found != 0;
}

static int
call_poll(void *own, struct pollfd *p, nfds_t n, int ms)
{
	struct polled w = {p, n, 0};

	(void)own;
	(void)drill_enter();
	(void)drill_wait(poll_done, &w, ms < 0 ? TCP_NEVER : drill_now() + (uint64_t)ms * 1000);
	drill_leave();
	return w.found;
}

/* --- what scripts of TCP have no need of --- */

static int
call_epoll_create(void *own, int size)
{
	(void)own, (void)size;
	return (int)drill_told(-ENOSYS);
}

static int
call_epoll_ctl(void *own, int set, int op, int fd, struct epoll_event *e)
{
	(void)own, (void)set, (void)op, (void)fd, (void)e;
	return (int)drill_told(-ENOSYS);
}

static int
call_epoll_wait(void *own, int set, struct epoll_event *e, int n, int ms)
{
	(void)own, (void)set, (void)e, (void)n, (void)ms;
	return (int)drill_told(-ENOSYS);
}

static int
call_pipe(void *own, int fd[2])
{
	(void)own, (void)fd;
	return (int)drill_told(-ENOSYS);
}

static int
call_splice(void *own, int in, loff_t *in_at, int out, loff_t *out_at, size_t n, unsigned int flags)
{
	(void)own, (void)in, (void)in_at, (void)out, (void)out_at, (void)n, (void)flags;
	return (int)drill_told(-ENOSYS);
}

void
calls_fill(struct packetdrill_interface *ifc)
{
	memset(socks, 0, sizeof(socks)); /* of the script before */
	io_fill(ifc);
	opt_fill(ifc);
	ifc->socket = call_socket;
	ifc->bind = call_bind;
	ifc->listen = call_listen;
	ifc->accept = call_accept;
	ifc->connect = call_connect;
	ifc->close = call_close;
	ifc->shutdown = call_shutdown;
	ifc->poll = call_poll;
	ifc->epoll_create = call_epoll_create;
	ifc->epoll_ctl = call_epoll_ctl;
	ifc->epoll_wait = call_epoll_wait;
	ifc->pipe = call_pipe;
	ifc->splice = call_splice;
}
