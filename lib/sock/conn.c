/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Sockets begin and end: connect, listen, accept, shutdown, close. */
#include <stdlib.h>
#include <unistd.h>

#include "sock_priv.h"

struct sock *
sock_new(struct sock_net *n)
{
	struct sock *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->net = n;
	s->os_fd = -1;
	LIST_INIT(&s->watches);
	pthread_mutex_lock(&n->lock);
	LIST_INSERT_HEAD(&n->socks, s, next);
	pthread_mutex_unlock(&n->lock);
	return s;
}

void
sock_count_in(struct sock *s, uint64_t *count)
{
	pthread_mutex_lock(&s->net->lock);
	s->count = count;
	pthread_mutex_unlock(&s->net->lock);
}

void
sock_home_state(void *home, void *user, int state)
{
	struct sock *s = user;

	(void)home;
	if (s->told != NULL)
		__atomic_store_n(s->told, (uint32_t)state, __ATOMIC_RELAXED);
}

static void
tell(struct sock *s)
{
	const int none = s->state == SOCK_RESOLVING ? TCP_SYN_SENT : TCP_CLOSE;

	sock_home_state(s->net, s, s->conn != NULL ? tcp_state(s->conn) : none);
}

void
sock_state_in(struct sock *s, uint32_t *state)
{
	pthread_mutex_lock(&s->net->lock);
	s->told = state;
	tell(s);
	pthread_mutex_unlock(&s->net->lock);
}

void
sock_pull_error(struct sock *s)
{
	if (s->err == 0 && s->conn != NULL && tcp_state(s->conn) == TCP_CLOSE)
		s->err = tcp_error(s->conn);
}

/* --- connect ------------------------------------------------------------------------------------------------------ */

static void
unsteer(struct sock *s)
{
	if (s->steered)
		sock_port_put(s->net, s->local.port);
	s->steered = false;
}

static int
start(struct sock *s)
{
	int err = 0;

	if (!s->steered)
		err = sock_port_get(s->net, s->local.port);
	if (err != 0)
		return err;
	s->steered = true;
	s->conn = tcp_connect(s->net->stack, &s->local, &s->remote, s, &err);
	if (s->conn == NULL) {
		unsteer(s);
		return err;
	}
	sock_presets(s);
	s->state = SOCK_CONNECTING;
	tell(s);
	return 0;
}

/* 0: it has begun; -EAGAIN: it is too early. */
static int
try(struct sock *s)
{
	struct tcp_path path;
	int err = s->net->ops.path(s->net->home, s->local.ip, s->remote.ip, &path);

	if (err != 0)
		return err;
	if (s->local.ip == 0)
		s->local.ip = path.local;
	return start(s);
}

void
sock_resolve(struct sock *s)
{
	int err = try(s);

	if (err == -EAGAIN)
		return;
	LIST_REMOVE(s, resolve);
	if (err == 0)
		return;
	s->state = SOCK_CONNECTING;
	tell(s);
	s->err = -err;
	sock_changed(s);
}

int
sock_connect(struct sock *s, const struct tcp_addr *local, const struct tcp_addr *remote)
{
	int err = -EISCONN;

	sock_enter(s->net);
	if (sock_dead(s)) {
		err = -ECONNABORTED;
	} else if (s->state == SOCK_NEW) {
		s->local = *local;
		s->remote = *remote;
		s->err = 0;
		err = try(s);
		if (err == -EAGAIN) {
			s->state = SOCK_RESOLVING;
			tell(s);
			LIST_INSERT_HEAD(&s->net->resolving, s, resolve);
			sock_wake(s->net);
			err = 0;
		}
	}
	sock_leave(s->net);
	return err;
}

static int
failed(struct sock *s)
{
	const int err = s->err != 0 ? s->err : ECONNABORTED;

	s->err = 0;
	if (s->conn != NULL)
		tcp_close(s->conn);
	s->conn = NULL;
	unsteer(s);
	s->state = SOCK_NEW;
	tell(s);
	s->shut_rd = s->shut_wr = false;
	return -err;
}

static int
connected(struct sock *s)
{
	switch (s->state) {
	case SOCK_NEW: return -ENOTCONN;
	case SOCK_RESOLVING: return -EINPROGRESS;
	case SOCK_CONNECTED:
	case SOCK_LISTENING: return -EISCONN;
	case SOCK_CONNECTING: break;
	}
	sock_pull_error(s);
	if (s->conn == NULL || tcp_state(s->conn) == TCP_CLOSE)
		return failed(s);
	if (tcp_state(s->conn) == TCP_SYN_SENT || tcp_state(s->conn) == TCP_SYN_RECV)
		return -EINPROGRESS;
	s->state = SOCK_CONNECTED;
	return 0;
}

int
sock_connected(struct sock *s)
{
	int rc;

	sock_enter(s->net);
	rc = sock_dead(s) ? -ECONNABORTED : connected(s);
	sock_leave(s->net);
	return rc;
}

/* --- listen, accept ------------------------------------------------------------------------------------------------- */

int
sock_listen(struct sock *s, const struct tcp_addr *local, uint32_t backlog)
{
	int err = 0;

	sock_enter(s->net);
	if (sock_dead(s)) {
		err = -ECONNABORTED;
	} else if (s->state != SOCK_LISTENING || s->conn == NULL) {
		s->local = *local;
		err = sock_port_get(s->net, local->port);
		s->steered = err == 0;
		if (err == 0)
			s->conn = tcp_listen(s->net->stack, local, backlog, s, &err);
		if (s->conn != NULL) {
			sock_presets(s);
			s->state = SOCK_LISTENING;
			tell(s);
		} else if (s->steered) {
			/* Nobody was heard there. */
			sock_port_drop(s->net, local->port);
			s->steered = false;
		}
	}
	sock_leave(s->net);
	return err;
}

int
sock_stand_by(struct sock *s, const struct tcp_addr *local, int fd)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
	int err = 0;

	sock_enter(s->net);
	if (sock_dead(s))
		err = -ECONNABORTED;
	else if (s->conn != NULL || (s->state != SOCK_NEW && s->state != SOCK_LISTENING))
		err = -EINVAL;
	else if (epoll_ctl(s->net->os, EPOLL_CTL_ADD, fd, &e) != 0)
		err = -errno;
	if (err == 0) {
		s->local = *local;
		s->state = SOCK_LISTENING;
		tell(s);
	}
	sock_leave(s->net);
	return err;
}

/* A socket of a connection that waits; NULL: none does, or there is no memory for it, and it waits on. */
static struct sock *
take(struct sock *listener)
{
	struct sock_net *n = listener->net;
	struct sock *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->net = n;
	s->os_fd = -1;
	s->conn = tcp_accept(listener->conn, s);
	if (s->conn == NULL) {
		free(s);
		return NULL;
	}
	LIST_INIT(&s->watches);
	LIST_INSERT_HEAD(&n->socks, s, next);
	s->state = SOCK_CONNECTED;
	s->linger = listener->linger;
	s->rcvtimeo_us = listener->rcvtimeo_us;
	s->sndtimeo_us = listener->sndtimeo_us;
	tcp_addrs(s->conn, &s->local, &s->remote);
	/* The listener has it, so that this cannot fail. */
	s->steered = sock_port_get(n, s->local.port) == 0;
	return s;
}

/* Whether a connection waits is known only by taking it. */
bool
sock_has_ready(struct sock *s)
{
	if (s->ready == NULL && s->conn != NULL)
		s->ready = take(s);
	return s->ready != NULL;
}

int
sock_accept(struct sock *s, struct sock **out)
{
	int err = 0;

	sock_enter(s->net);
	if (sock_dead(s))
		err = -ECONNABORTED;
	else if (s->state != SOCK_LISTENING)
		err = -EINVAL;
	else if (!sock_has_ready(s))
		err = -EAGAIN;
	if (err == 0) {
		*out = s->ready;
		s->ready = NULL;
	}
	sock_leave(s->net);
	return err;
}

int
sock_os_listen(struct sock *s, int fd)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
	int err = 0;

	sock_enter(s->net);
	if (sock_dead(s) || s->state != SOCK_LISTENING)
		err = -EINVAL;
	else if (epoll_ctl(s->net->os, EPOLL_CTL_ADD, fd, &e) != 0)
		err = -errno;
	if (err == 0) {
		s->os_fd = fd;
		LIST_INSERT_HEAD(&s->net->os_socks, s, os_next);
	}
	sock_leave(s->net);
	return err;
}

void
sock_os_end(struct sock *s)
{
	if (s->os_fd < 0)
		return;
	LIST_REMOVE(s, os_next);
	(void)epoll_ctl(s->net->os, EPOLL_CTL_DEL, s->os_fd, NULL);
	s->os_fd = -1;
}

bool
sock_os_ready(struct sock *s)
{
	bool ready;

	pthread_mutex_lock(&s->net->lock);
	ready = s->os_ready;
	s->os_ready = false;
	pthread_mutex_unlock(&s->net->lock);
	return ready;
}

void
sock_os_again(struct sock *s)
{
	pthread_mutex_lock(&s->net->lock);
	s->os_ready = true;
	sock_changed(s);
	pthread_mutex_unlock(&s->net->lock);
}

/* --- the end -------------------------------------------------------------------------------------------------------- */

void
sock_deaf(struct sock *s)
{
	if (s->ready != NULL) {
		tcp_abort(s->ready->conn);
		s->ready->conn = NULL;
		sock_end(s->ready);
		s->ready = NULL;
	}
	if (s->conn != NULL)
		tcp_close(s->conn);
	s->conn = NULL;
	tell(s);
}

int
sock_shutdown(struct sock *s, int how)
{
	int err = -ENOTCONN;

	sock_enter(s->net);
	if (how < SHUT_RD || how > SHUT_RDWR) {
		err = -EINVAL;
	} else if (sock_dead(s)) {
		err = -ECONNABORTED;
	} else if (s->state == SOCK_LISTENING && how != SHUT_WR) {
		/* Linux: it listens no more, and may again. */
		sock_deaf(s);
		unsteer(s);
		s->state = SOCK_NEW;
		tell(s);
		err = 0;
	} else if (s->conn != NULL && s->state != SOCK_LISTENING) {
		err = tcp_shutdown(s->conn, how);
		if (err == 0) {
			s->shut_rd |= how != SHUT_WR;
			s->shut_wr |= how != SHUT_RD;
		}
	}
	sock_changed(s);
	sock_leave(s->net);
	return err;
}

void
sock_end(struct sock *s)
{
	LIST_REMOVE(s, next);
	sock_os_end(s);
	if (s->udp != NULL) {
		s->net->udp_ops->end(s);
		return;
	}
	if (s->state == SOCK_RESOLVING)
		LIST_REMOVE(s, resolve);
	s->told = NULL;
	if (s->conn != NULL && s->linger.l_onoff != 0 && s->linger.l_linger == 0)
		tcp_abort(s->conn);
	else if (s->conn != NULL)
		tcp_close(s->conn);
	unsteer(s);
	free(s);
}

int
sock_name(struct sock *s, struct tcp_addr *local, struct tcp_addr *remote)
{
	int state;

	pthread_mutex_lock(&s->net->lock);
	state = s->conn == NULL || s->state == SOCK_LISTENING ? TCP_CLOSE : tcp_state(s->conn);
	*local = s->local;
	*remote = s->remote;
	pthread_mutex_unlock(&s->net->lock);
	return state == TCP_CLOSE || state == TCP_SYN_SENT ? -ENOTCONN : 0;
}
