/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Sockets begin: socket, bind, listen, connect, accept, shutdown; and their names. */
#include <fcntl.h>
#include <string.h>

#include "dgram.h"

#define TRIES 64u /* of ports for a connection */

EXPORT int
socket(int domain, int type, int protocol)
{
	const int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
	int fd = real()->socket(domain, type, protocol);
	struct file *f;

	if (fd < 0 || domain != AF_INET ||
	    !((kind == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP)) ||
	      (kind == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP))))
		return fd;
	f = file_new((type & SOCK_NONBLOCK) != 0);
	if (f != NULL && kind == SOCK_DGRAM) {
		f->dgram = dgram_new(ep_began);
		if (f->dgram == NULL) {
			file_put(f);
			return fd;
		}
		/* One thread may wait before another one sends. */
		f->wants = true;
	}
	if (f != NULL && file_add(fd, f) != 0)
		file_put(f);
	return fd;
}

EXPORT int
bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	struct file *f = file_get(fd);
	int rc = real()->bind(fd, sa, len);
	struct tcp_addr addr;

	if (rc != 0 && errno == EADDRNOTAVAIL && f != NULL && addr_inet(sa, len, &addr) && net_has(addr.ip)) {
		addr_foreign(fd);
		rc = real()->bind(fd, sa, len);
	}
	if (rc == 0 && f != NULL && f->dgram != NULL)
		dgram_bound(fd, f);
	if (rc == 0)
		stat_named(fd, f);
	file_put(f);
	return rc;
}

/* --- listen, accept --- */

static void
unclaim(struct file *f)
{
	own_close(f->claim);
	own_close(f->waits);
	f->claim = f->waits = -1;
}

/* A process that listened before, its parent or an older worker, say, keeps the port: then it is waited for. */
static int
hear(struct file *f, struct sock *s, const struct tcp_addr *addr)
{
	int waits = f->waits;

	f->claim = net_claim(false, addr->port, &waits);
	f->waits = waits;
	return f->claim >= 0   ? sock_listen(s, addr, (uint32_t)f->backlog)
	       : f->waits >= 0 ? sock_stand_by(s, addr, f->waits)
			       : -EADDRINUSE;
}

/* Not where a thread that was interrupted is at it. */
static void
give(struct file *f)
{
	struct tcp_addr local, remote;

	if (pthread_mutex_trylock(&f->lock) != 0)
		return;
	if (f->s != NULL && f->claim >= 0) {
		(void)sock_name(f->s, &local, &remote);
		sock_leave_port(f->s, net_unclaim(f->claim, local.port));
		f->claim = -1;
	}
	pthread_mutex_unlock(&f->lock);
}

static void
take(int fd, struct file *f)
{
	struct pollfd p = {.fd = f->waits, .events = POLLIN};
	struct tcp_addr addr;

	if (f->waits < 0 || real()->poll(&p, 1, 0) != 1)
		return;
	pthread_mutex_lock(&f->lock);
	if (f->s != NULL && f->waits >= 0 && addr_bound(fd, &addr)) {
		unclaim(f);
		if (hear(f, f->s, &addr) != 0)
			unclaim(f);
		stat_began(f);
	}
	pthread_mutex_unlock(&f->lock);
}

static void
begin(int fd, struct file *f)
{
	struct sock_net *n = net_start();
	struct tcp_addr addr;
	struct sock *s;
	int flags;

	if (n == NULL || !addr_bound(fd, &addr) || (addr.ip != 0 && !net_has(addr.ip)))
		return;
	s = sock_new(n);
	if (s == NULL)
		return;
	opt_carry(fd, f, s);
	flags = real()->fcntl(fd, F_GETFL);
	if (hear(f, s, &addr) != 0 || sock_os_listen(s, fd) != 0 ||
	    real()->fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
		sock_close(s);
		unclaim(f);
		return;
	}
	f->forced = true;
	f->s = s;
	f->ends = give;
	f->freed = take;
	/* One of the parent's has no counters here yet. */
	if (f->stat == NULL)
		stat_open(fd, f);
	ep_began(f);
}

static void
begin_once(int fd, struct file *f)
{
	if (!f->wants)
		return;
	pthread_mutex_lock(&f->lock);
	if (f->wants && f->dgram != NULL)
		dgram_wanted(fd, f);
	else if (f->wants)
		begin(fd, f);
	f->wants = false;
	pthread_mutex_unlock(&f->lock);
}

void
file_begin(int fd, struct file *f)
{
	if (!f->looked)
		f->looked = true;
	begin_once(fd, f);
}

/*
 * A server that makes its workers by fork() listens before, and does not look itself: the port is for the first process that does.
 * Connections that wait meanwhile end.
 */
void
file_leave(int fd, struct file *f)
{
	struct sock *s;

	if (!f->forced || f->looked || f->items != 0)
		return;
	pthread_mutex_lock(&f->lock);
	s = f->s;
	if (s != NULL) {
		f->s = NULL;
		f->forced = false;
		f->wants = true;
		if (!f->nonblock)
			(void)real()->fcntl(fd, F_SETFL, real()->fcntl(fd, F_GETFL) & ~O_NONBLOCK);
		/* Before who stands by hears of it, which may be another listener of this process. */
		sock_hand_over(s);
		unclaim(f);
		stat_named(fd, f);
	}
	pthread_mutex_unlock(&f->lock);
}

/* At once, so that whoever calls from now on is waited for. */
EXPORT int
listen(int fd, int backlog)
{
	struct file *f = file_get(fd);
	int rc = f != NULL && f->s != NULL && !f->forced && f->dgram == NULL ? (int)result(-EINVAL)
									     : real()->listen(fd, backlog);
	struct tcp_addr addr;

	if (rc == 0 && f != NULL && addr_bound(fd, &addr) && !addr_loopback(addr.ip) &&
	    rules_engine(TCP_SERVER, &addr)) {
		f->backlog = backlog <= 0 ? 1 : RTE_MIN(backlog, 65535);
		f->wants = f->s == NULL;
		begin_once(fd, f);
	}
	file_put(f);
	return rc;
}

static bool
is(int fd, int name, int want)
{
	int v = -1;
	socklen_t len = sizeof(v);

	return real()->getsockopt(fd, SOL_SOCKET, name, &v, &len) == 0 && v == want;
}

struct file *
file_adopt(int fd)
{
	const int saved = errno;
	struct tcp_addr addr;
	struct file *f = NULL;

	if (kind_of(fd) == NONE && is(fd, SO_ACCEPTCONN, 1) && is(fd, SO_DOMAIN, AF_INET) &&
	    is(fd, SO_PROTOCOL, IPPROTO_TCP) && addr_bound(fd, &addr) && !addr_loopback(addr.ip) &&
	    rules_engine(TCP_SERVER, &addr))
		f = file_new((real()->fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
	if (f != NULL) {
		f->backlog = SOMAXCONN;
		f->wants = true;
		opt_adopt(fd, f);
		if (file_add(fd, f) != 0)
			file_put(f);
	}
	errno = saved;
	return f != NULL ? file_get(fd) : NULL;
}

/* A connection of the engine gets a shadow and a number. */
static int
number(const struct file *listener, int from, struct sock *s, struct sockaddr *sa, socklen_t *len, int flags)
{
	int fd = real()->socket(AF_INET, SOCK_STREAM | (flags & (SOCK_NONBLOCK | SOCK_CLOEXEC)), 0);
	struct file *f = fd < 0 ? NULL : file_new((flags & SOCK_NONBLOCK) != 0);
	struct tcp_addr local, remote;
	const int saved = errno;

	if (f == NULL) {
		sock_close(s);
		if (fd >= 0)
			real()->close(fd);
		errno = fd < 0 ? saved : ENOMEM;
		return -1;
	}
	f->s = s;
	f->touched = listener->touched;
	opt_copy(listener, from, fd);
	(void)sock_name(s, &local, &remote);
	addr_put(&remote, sa, len);
	if (file_add(fd, f) != 0) {
		file_put(f);
		real()->close(fd);
		errno = EMFILE;
		return -1;
	}
	stat_began(f);
	return fd;
}

/* The other half of a listener. -1 and EAGAIN: nothing waits there. */
static int
accept_os(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
	int got = real()->accept4(fd, sa, len, flags);
	struct file *f;

	if (got < 0)
		return -1;
	/* What the program sets is its shadow's alone; a copy of its number should be known. */
	f = file_new((flags & SOCK_NONBLOCK) != 0);
	if (f != NULL && file_add(got, f) != 0)
		file_put(f);
	return got;
}

static int
accept_one(int fd, struct file *f, struct sockaddr *sa, socklen_t *len, int flags)
{
	struct sock *s;
	int rc = sock_accept(f->s, &s), got;

	if (rc == 0)
		return number(f, fd, s, sa, len, flags);
	if (rc != -EAGAIN && rc != -ECONNABORTED)
		return (int)result(rc);
	if (rc == -EAGAIN && !sock_os_ready(f->s))
		return (int)result(-EAGAIN);
	got = accept_os(fd, sa, len, flags);
	if (got >= 0)
		sock_os_again(f->s);
	return got;
}

static int
accept_file(int fd, struct file *f, struct sockaddr *sa, socklen_t *len, int flags)
{
	const uint64_t until = sock_until(f->s, true);
	int got, rc;

	for (;;) {
		got = accept_one(fd, f, sa, len, flags);
		if (got >= 0 || errno != EAGAIN || f->nonblock)
			return got;
		rc = sock_wait_ready(f->s, EPOLLIN, until);
		if (rc != 0)
			return (int)result(rc);
	}
}

/* The shadow of a listener whose engine is its parent's. */
static int
accept_left(int fd, const struct file *f, struct sockaddr *sa, socklen_t *len, int flags)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int got;

	for (;;) {
		got = real()->accept4(fd, sa, len, flags);
		if (got >= 0 || errno != EAGAIN || f->nonblock)
			return got;
		if (real()->poll(&p, 1, -1) < 0)
			return -1;
	}
}

EXPORT int
accept4(int fd, struct sockaddr *sa, socklen_t *len, int flags)
{
	struct file *f = file_get(fd);
	int rc;

	if (f == NULL)
		f = file_adopt(fd);
	if (f != NULL)
		file_begin(fd, f);
	if (f == NULL || f->dgram != NULL || (f->s == NULL && !f->forced))
		rc = real()->accept4(fd, sa, len, flags);
	else if ((flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != 0)
		rc = (int)result(-EINVAL);
	else if (f->s == NULL)
		rc = accept_left(fd, f, sa, len, flags);
	else
		rc = accept_file(fd, f, sa, len, flags);
	file_put(f);
	return rc;
}

EXPORT int
accept(int fd, struct sockaddr *sa, socklen_t *len)
{
	return accept4(fd, sa, len, 0);
}

/* --- connect --- */

/* The shadow holds the port. False: it is the operating system's socket. */
static bool
prepare(int fd, const struct tcp_addr *remote, struct tcp_addr *local)
{
	struct sockaddr_in in = {.sin_family = AF_INET};

	if (addr_loopback(remote->ip) || remote->ip == 0 || !rules_engine(TCP_CLIENT, remote))
		return false;
	if (addr_bound(fd, local) && local->ip != 0)
		return net_has(local->ip) && !net_has(remote->ip);
	local->ip = net_from(remote->ip);
	if (local->ip == 0)
		return false;
	if (local->port != 0)
		return true;
	addr_foreign(fd);
	in.sin_addr.s_addr = local->ip;
	return real()->bind(fd, (const struct sockaddr *)&in, sizeof(in)) == 0 && addr_bound(fd, local);
}

/*
 * The kernel gave a port that a connection of the engine, whose shadow is gone, still has towards the same peer: another shadow has
 * another port.
 */
static bool
shadow_anew(int fd, const struct file *f, struct tcp_addr *local)
{
	const int flags = real()->fcntl(fd, F_GETFD);
	const struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = local->ip};
	int fresh = real()->socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (f->nonblock ? SOCK_NONBLOCK : 0), 0);
	bool ok;

	if (fresh < 0)
		return false;
	addr_foreign(fresh);
	opt_copy(f, fd, fresh);
	ok = real()->bind(fresh, (const struct sockaddr *)&in, sizeof(in)) == 0 &&
	     real()->dup3(fresh, fd, (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0) == fd && addr_bound(fd, local);
	real()->close(fresh);
	return ok;
}

/* 0: it began; 1: it is not for the engine; a negative errno. */
static int
connect_first(int fd, struct file *f, const struct tcp_addr *remote)
{
	struct tcp_addr local = {0};
	const bool chosen = addr_bound(fd, &local);
	unsigned int tries = TRIES;
	struct sock *s;
	int rc;

	if (!prepare(fd, remote, &local))
		return 1;
	s = sock_new(net_now());
	if (s == NULL)
		return -ENOMEM;
	opt_carry(fd, f, s);
	do
		rc = sock_connect(s, &local, remote);
	while (rc == -EADDRINUSE && !chosen && --tries != 0 && shadow_anew(fd, f, &local));
	if (rc == 0) {
		f->s = s;
		ep_began(f);
		return 0;
	}
	sock_close(s);
	return rc == -ENETUNREACH ? 1 : rc;
}

static int
connect_again(struct file *f, int fd, const struct tcp_addr *remote)
{
	struct tcp_addr local = {0};
	int rc = sock_connected(f->s);

	if (rc != -ENOTCONN)
		return rc == -EINPROGRESS ? -EALREADY : rc;
	(void)addr_bound(fd, &local);
	rc = sock_connect(f->s, &local, remote);
	return rc == 0 ? -EINPROGRESS : rc;
}

static int
connect_wait(struct file *f)
{
	const uint64_t until = sock_until(f->s, false);
	int rc, waited;

	for (;;) {
		rc = sock_connected(f->s);
		if (rc != -EINPROGRESS || f->nonblock)
			return rc;
		waited = sock_wait_ready(f->s, EPOLLOUT, until);
		if (waited != 0)
			return waited == -EAGAIN ? -EINPROGRESS : waited;
	}
}

static int
connect_file(int fd, struct file *f, const struct sockaddr *sa, socklen_t len)
{
	struct tcp_addr remote;
	bool again;
	int rc;

	if (!addr_inet(sa, len, &remote) || f->wants)
		return 1;
	pthread_mutex_lock(&f->lock);
	again = f->s != NULL;
	if (!again)
		rc = connect_first(fd, f, &remote);
	else
		rc = connect_again(f, fd, &remote);
	pthread_mutex_unlock(&f->lock);
	/* Only now it is told that the connection is there. */
	if (again && rc == 0)
		return 0;
	/* However soon the answer comes, who does not wait hears of it by the descriptor. */
	if (rc == 0 && f->nonblock)
		return -EINPROGRESS;
	if (rc == 0 || rc == -EINPROGRESS || (rc == -EALREADY && !f->nonblock))
		return f->s != NULL ? connect_wait(f) : rc;
	return rc;
}

EXPORT int
connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	struct file *f = file_get(fd);
	int rc;

	if (f != NULL && f->dgram != NULL) {
		rc = dgram_connect(fd, f, sa, len);
		stat_named(fd, f);
		file_put(f);
		return rc;
	}
	rc = f == NULL ? 1 : connect_file(fd, f, sa, len);
	rc = rc == 1 ? real()->connect(fd, sa, len) : (int)result(rc);
	stat_named(fd, f);
	file_put(f);
	return rc;
}

/* --- the end and names --- */

EXPORT int
shutdown(int fd, int how)
{
	struct file *f = file_get(fd);
	int rc;

	if (f != NULL && f->dgram != NULL) {
		rc = dgram_shutdown(fd, f, how);
	} else if (f == NULL || f->s == NULL) {
		rc = real()->shutdown(fd, how);
	} else {
		if (f->forced)
			(void)real()->shutdown(fd, how);
		/* It hears no more, when the port is free neither. */
		if (f->waits >= 0 && how != SHUT_WR) {
			own_close(f->waits);
			f->waits = -1;
		}
		rc = (int)result(sock_shutdown(f->s, how));
	}
	file_put(f);
	return rc;
}

EXPORT int
getsockname(int fd, struct sockaddr *sa, socklen_t *len)
{
	struct file *f = file_get(fd);
	struct tcp_addr local, remote;
	int rc = 0;

	if (f == NULL || f->s == NULL || f->forced ||
	    (f->dgram != NULL ? dgram_name(f, &local, &remote) != 0
			      : sock_name(f->s, &local, &remote) != 0 && local.port == 0))
		rc = real()->getsockname(fd, sa, len);
	else
		addr_put(&local, sa, len);
	file_put(f);
	return rc;
}

EXPORT int
getpeername(int fd, struct sockaddr *sa, socklen_t *len)
{
	struct file *f = file_get(fd);
	struct tcp_addr local, remote;
	int rc = 0;

	if (f == NULL || f->s == NULL || (f->dgram != NULL && dgram_name(f, &local, &remote) != 0))
		rc = real()->getpeername(fd, sa, len);
	else if (f->dgram == NULL && sock_name(f->s, &local, &remote) != 0)
		rc = (int)result(-ENOTCONN);
	else
		addr_put(&remote, sa, len);
	file_put(f);
	return rc;
}
