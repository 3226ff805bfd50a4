/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Sockets of datagrams: their life, names, groups, sending and receiving. */
#include <stdlib.h>

#include "dgram_priv.h"

#define IN (EPOLLIN | EPOLLRDNORM)
#define OUT (EPOLLOUT | EPOLLWRNORM)
#define ROOM_US 100u /* between looks for room where the card takes no more */

/* --- what the engine asks for --- */

static void
home_event(void *home, struct udp_sock *u, void *user, unsigned int events)
{
	(void)home, (void)u, (void)events;
	sock_changed(user);
}

static const struct udp_home engine_home = {
	.tx = sock_home_tx,
	.path = sock_home_path,
	.local = sock_home_local,
	.event = home_event,
	.random = sock_home_random,
};

/* --- the net's half --- */

static const struct sock_udp_ops ops;

static int
udp_start(struct sock_net *n)
{
	struct sock_udp *u = calloc(1, sizeof(*u));
	int err = -ENOMEM;

	if (u == NULL)
		return err;
	LIST_INIT(&u->groups);
	STAILQ_INIT(&u->late);
	u->port_refs = calloc(SOCK_PORTS, sizeof(*u->port_refs));
	if (u->port_refs != NULL)
		u->stack = udp_stack_create(&n->udp_conf, &engine_home, n, n->now, &err);
	if (u->stack == NULL) {
		free(u->port_refs);
		free(u);
		return err;
	}
	n->udp = u;
	n->udp_ops = &ops;
	return 0;
}

static uint16_t
udp_on_input(struct sock_net *n, struct rte_mbuf **m, uint16_t k)
{
	return udp_input(n->udp->stack, m, k, n->now);
}

static void
udp_on_look(struct sock_net *n)
{
	struct sock *s;

	udp_run(n->udp->stack, n->now);
	sock_late_look(n);
	if (!n->udp->full || !n->ops.sent(n->home))
		return;
	n->udp->full = false;
	LIST_FOREACH(s, &n->socks, next)
	if (s->udp != NULL && s->full)
		sock_changed(s);
}

static uint64_t
udp_on_next(const struct sock_net *n)
{
	const uint64_t at = udp_deadline(n->udp->stack);

	return n->udp->num_late != 0 || n->udp->full ? RTE_MIN(at, n->now + SOCK_RESOLVE_US) : at;
}

static bool
udp_on_late(const struct sock_net *n)
{
	return n->udp->num_late != 0;
}

/* --- life --- */

struct sock *
sock_dgram_new(struct sock_net *n, int *err)
{
	struct sock *s = sock_new(n);

	*err = -ENOMEM;
	if (s == NULL)
		return NULL;
	sock_enter(n);
	*err = n->dead ? -ECONNABORTED : n->udp == NULL ? udp_start(n) : 0;
	if (*err == 0)
		s->udp = udp_open(n->udp->stack, s, err);
	sock_leave(n);
	if (s->udp != NULL)
		return s;
	sock_close(s);
	return NULL;
}

static void
hear_no_more(struct sock *s)
{
	struct tcp_addr local, remote;
	struct sock_net *n = s->net;

	if (!s->hears)
		return;
	udp_addrs(s->udp, &local, &remote);
	if (--n->udp->port_refs[rte_be_to_cpu_16(local.port)] == 0)
		(void)n->ops.steer(n->home, true, local.port, false);
	s->hears = false;
}

/* A group's frames come while a socket is a member. */
static int
group_ref(struct sock_net *n, rte_be32_t group)
{
	struct sock_group *g;
	int err;

	LIST_FOREACH(g, &n->udp->groups, next)
	{
		if (g->group != group)
			continue;
		g->refs++;
		return 0;
	}
	g = malloc(sizeof(*g));
	if (g == NULL)
		return -ENOMEM;
	*g = (struct sock_group){.group = group, .refs = 1};
	err = n->ops.steer_group(n->home, group, true);
	if (err != 0) {
		free(g);
		return err;
	}
	LIST_INSERT_HEAD(&n->udp->groups, g, next);
	return 0;
}

static void
group_unref(struct sock_net *n, rte_be32_t group)
{
	struct sock_group *g;

	LIST_FOREACH(g, &n->udp->groups, next)
	if (g->group == group)
		break;
	if (g == NULL || --g->refs != 0)
		return;
	(void)n->ops.steer_group(n->home, group, false);
	LIST_REMOVE(g, next);
	free(g);
}

void
sock_dgram_free(struct sock *s)
{
	udp_close(s->udp);
	free(s);
}

static void
dgram_end(struct sock *s)
{
	rte_be32_t group;

	hear_no_more(s);
	while (udp_leave_any(s->udp, &group))
		group_unref(s->net, group);
	s->closed = true;
	if (s->late == 0)
		sock_dgram_free(s);
}

/* --- names --- */

static int
hear(struct sock *s, rte_be16_t port)
{
	struct sock_net *n = s->net;
	uint32_t *refs = &n->udp->port_refs[rte_be_to_cpu_16(port)];
	int err = s->hears || *refs != 0 ? 0 : n->ops.steer(n->home, true, port, true);

	if (err != 0 || s->hears)
		return err;
	++*refs;
	s->hears = true;
	return 0;
}

int
sock_dgram_hear(struct sock *s, bool on)
{
	struct tcp_addr local, remote;
	int err = 0;

	sock_enter(s->net);
	if (sock_dead(s)) {
		err = -ECONNABORTED;
	} else if (on) {
		udp_addrs(s->udp, &local, &remote);
		err = local.port == 0 ? -EINVAL : hear(s, local.port);
	} else {
		hear_no_more(s);
	}
	sock_leave(s->net);
	return err;
}

int
sock_dgram_bind(struct sock *s, const struct tcp_addr *local, bool share, bool hears)
{
	int err = -ECONNABORTED;

	sock_enter(s->net);
	if (!sock_dead(s))
		err = udp_bind(s->udp, local, share);
	/* One that is closed, and has a datagram that waits. */
	if (err == -EADDRINUSE) {
		sock_late_drop(s->net, NULL);
		err = udp_bind(s->udp, local, share);
	}
	if (err == 0 && hears)
		err = hear(s, local->port);
	sock_leave(s->net);
	return err;
}

int
sock_dgram_connect(struct sock *s, const struct tcp_addr *remote)
{
	int err = -ECONNABORTED;

	sock_enter(s->net);
	if (!sock_dead(s))
		err = udp_connect(s->udp, remote);
	sock_leave(s->net);
	return err;
}

void
sock_dgram_name(struct sock *s, struct tcp_addr *local, struct tcp_addr *remote)
{
	pthread_mutex_lock(&s->net->lock);
	udp_addrs(s->udp, local, remote);
	pthread_mutex_unlock(&s->net->lock);
}

int
sock_dgram_join(struct sock *s, rte_be32_t group, rte_be32_t source, bool on)
{
	int err = -ECONNABORTED;

	sock_enter(s->net);
	if (!sock_dead(s))
		err = on ? udp_join(s->udp, group, source) : udp_leave(s->udp, group, source);
	if (err == 0 && on) {
		err = group_ref(s->net, group);
		if (err != 0)
			(void)udp_leave(s->udp, group, source);
	} else if (err == 0) {
		group_unref(s->net, group);
	}
	sock_leave(s->net);
	return err;
}

/* --- data --- */

static ssize_t
send_one(struct sock *s, const struct iovec *iov, int n, const struct udp_tx *tx)
{
	ssize_t rc;
	int err;

	if (sock_dead(s))
		return -ECONNABORTED;
	if (s->err != 0) {
		err = s->err;
		s->err = 0;
		return -err;
	}
	if (s->shut_wr)
		return -EPIPE;
	rc = udp_send(s->udp, iov, n, tx);
	if (rc == -EAGAIN) {
		rc = 0;
		for (int i = 0; i < n; i++)
			rc += (ssize_t)iov[i].iov_len;
		err = sock_late_add(s, iov, n, tx);
		return err != 0 ? err : rc;
	}
	s->full = rc == -ENOBUFS;
	s->net->udp->full |= s->full;
	return rc;
}

ssize_t
sock_dgram_send(struct sock *s, const struct iovec *iov, int n, int flags, const struct udp_tx *tx)
{
	uint64_t until = 0;
	ssize_t rc;
	int err;

	for (;;) {
		sock_enter(s->net);
		rc = send_one(s, iov, n, tx);
		sock_count(s, SOCK_TX_PACKETS, RTE_MAX(rc, 0), rc == -ENOBUFS ? -EAGAIN : rc);
		if (s->full && s->net->sleeping)
			sock_wake(s->net);
		sock_leave(s->net);
		if (rc != -ENOBUFS)
			return rc;
		if ((flags & MSG_DONTWAIT) != 0)
			return -EAGAIN;
		if (until == 0)
			until = sock_until(s, false);
		err = sock_wait_ready(s, 0, RTE_MIN(until, sock_now() + ROOM_US));
		if (err != 0 && (err != -EAGAIN || sock_now() >= until))
			return err;
	}
}

ssize_t
sock_dgram_recv(struct sock *s, const struct iovec *iov, int n, int flags, struct udp_meta *meta)
{
	ssize_t rc = -ECONNABORTED;

	sock_enter(s->net);
	if (!sock_dead(s) && s->err != 0) {
		rc = -s->err;
		s->err = 0;
	} else if (!sock_dead(s)) {
		rc = udp_recv(s->udp, iov, n, flags, meta);
		if (rc == -EAGAIN && s->shut_rd)
			rc = -ESHUTDOWN;
		if ((flags & MSG_PEEK) == 0)
			sock_count(s, SOCK_RX_PACKETS, RTE_MAX(rc, 0), rc);
		if (s->count != NULL)
			s->count[SOCK_RX_DROPS] = udp_drops(s->udp);
	}
	sock_leave(s->net);
	return rc;
}

/* Linux takes it for a socket that is not connected, too, and says that it is not. */
int
sock_dgram_shutdown(struct sock *s, int how)
{
	struct tcp_addr local, remote;

	if (how < SHUT_RD || how > SHUT_RDWR)
		return -EINVAL;
	sock_enter(s->net);
	s->shut_rd |= how != SHUT_WR;
	s->shut_wr |= how != SHUT_RD;
	udp_addrs(s->udp, &local, &remote);
	sock_changed(s);
	sock_leave(s->net);
	return remote.port == 0 ? -ENOTCONN : 0;
}

int
sock_dgram_error(struct sock *s)
{
	int err;

	sock_enter(s->net);
	err = sock_dead(s) ? 0 : s->err != 0 ? s->err : udp_error(s->udp);
	s->err = 0;
	sock_leave(s->net);
	return err;
}

int
sock_dgram_inq(struct sock *s)
{
	int n;

	sock_enter(s->net);
	n = sock_dead(s) ? -1 : udp_readable(s->udp);
	sock_leave(s->net);
	return n;
}

uint32_t
sock_dgram_drops(struct sock *s)
{
	uint32_t n;

	pthread_mutex_lock(&s->net->lock);
	n = udp_drops(s->udp);
	pthread_mutex_unlock(&s->net->lock);
	return n;
}

int
sock_dgram_opt(struct sock *s, int level, int name, int value)
{
	int err;

	sock_enter(s->net);
	err = sock_dead(s) ? -ECONNABORTED : udp_opt_set(s->udp, level, name, value);
	sock_leave(s->net);
	return err;
}

/* --- readiness, as datagram_poll() of Linux --- */

static uint32_t
dgram_ready(struct sock *s)
{
	uint32_t r = OUT;

	if (s->full && s->net->ops.sent(s->net->home))
		s->full = false;
	if (s->full)
		r = 0;
	if (udp_readable(s->udp) >= 0 || s->os_ready)
		r |= IN;
	if (s->err != 0 || s->os_bad || udp_failed(s->udp))
		r |= EPOLLERR;
	if (s->shut_rd)
		r |= IN | EPOLLRDHUP;
	if (s->shut_rd && s->shut_wr)
		r |= EPOLLHUP;
	return r;
}

static const struct sock_udp_ops ops = {
	.input = udp_on_input,
	.look = udp_on_look,
	.next = udp_on_next,
	.late = udp_on_late,
	.ready = dgram_ready,
	.end = dgram_end,
};

/* --- the other half --- */

int
sock_dgram_os(struct sock *s, int fd)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
	int err = 0;

	sock_enter(s->net);
	if (sock_dead(s)) {
		err = -ECONNABORTED;
	} else {
		sock_os_end(s);
		s->os_ready = false;
		s->os_bad = false;
		if (fd >= 0 && epoll_ctl(s->net->os, EPOLL_CTL_ADD, fd, &e) != 0)
			err = -errno;
		if (fd >= 0 && err == 0) {
			s->os_fd = fd;
			LIST_INSERT_HEAD(&s->net->os_socks, s, os_next);
		}
	}
	sock_leave(s->net);
	return err;
}

bool
sock_dgram_os_take(struct sock *s)
{
	bool has;

	pthread_mutex_lock(&s->net->lock);
	has = s->os_ready || s->os_bad;
	s->os_ready = false;
	s->os_bad = false;
	pthread_mutex_unlock(&s->net->lock);
	return has;
}

void
sock_dgram_os_has(struct sock *s, bool data, bool error)
{
	pthread_mutex_lock(&s->net->lock);
	s->os_ready |= data;
	s->os_bad |= error;
	if (data || error)
		sock_changed(s);
	pthread_mutex_unlock(&s->net->lock);
}

bool
sock_dgram_os_bad(const struct sock *s)
{
	return s->os_bad;
}

int
sock_dgram_os_only(struct sock *s, bool on)
{
	struct tcp_addr local, remote;
	int err = 0;

	sock_enter(s->net);
	if (sock_dead(s)) {
		err = -ECONNABORTED;
	} else if (on) {
		(void)udp_connect(s->udp, NULL);
		hear_no_more(s);
		udp_flush(s->udp);
	} else {
		udp_addrs(s->udp, &local, &remote);
		err = hear(s, local.port);
	}
	sock_leave(s->net);
	return err;
}
