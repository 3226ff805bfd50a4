/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A net: its lock, what moves it on, and the thread that does so while nobody calls. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "sock_priv.h"

#define BURST 32u
#define ROUNDS 8u                 /* bursts in a row, so that what waits to be sent is not late */
#define PARK_US 1000u             /* while others call so often, the thread looks only so often */
#define QUIET_US UINT64_C(300000) /* longer than a retransmission waits: whoever answers has got all */

uint64_t
sock_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* --- what the engine asks for --- */

uint16_t
sock_home_tx(void *home, struct rte_mbuf **m, uint16_t n)
{
	struct sock_net *net = home;

	return net->ops.tx(net->home, m, n);
}

int
sock_home_path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *path)
{
	struct sock_net *net = home;

	return net->ops.path(net->home, local, remote, path);
}

bool
sock_home_local(void *home, rte_be32_t ip)
{
	struct sock_net *net = home;

	return net->ops.local(net->home, ip);
}

static void
home_event(void *home, struct tcp_conn *conn, void *user, unsigned int events)
{
	(void)home, (void)conn, (void)events;
	if (user != NULL)
		sock_changed(user);
}

uint32_t
sock_home_random(void *home)
{
	uint32_t v = 0;

	(void)home;
	(void)!getrandom(&v, sizeof(v), 0);
	return v;
}

/* --- moving on --- */

static void
take_frames(struct sock_net *n)
{
	struct rte_mbuf *m[BURST];
	uint16_t k = BURST, left;

	for (unsigned int i = 0; i < ROUNDS && k == BURST; i++) {
		k = n->ops.rx(n->home, m, BURST);
		left = k != 0 && n->udp != NULL ? sock_udp_input(n, m, k) : k;
		if (left != 0)
			tcp_input(n->stack, m, left, n->now);
	}
}

void
sock_enter(struct sock_net *n)
{
	pthread_mutex_lock(&n->lock);
	if (n->dead)
		return;
	n->now = sock_now();
	n->calls++;
	take_frames(n);
}

void
sock_wake(struct sock_net *n)
{
	const uint64_t one = 1;

	n->until = 0;
	(void)!write(n->wake, &one, sizeof(one));
}

void
sock_leave(struct sock_net *n)
{
	if (!n->dead) {
		(void)tcp_run(n->stack, n->now);
		if (n->sleeping && tcp_deadline(n->stack) < n->until)
			sock_wake(n);
	}
	pthread_mutex_unlock(&n->lock);
}

/* From now on a frame that comes wakes the thread. */
static void
arm(struct sock_net *n)
{
	if (n->armed)
		return;
	n->armed = true;
	n->ops.arm(n->home);
	take_frames(n);
}

/* --- ports --- */

int
sock_port_get(struct sock_net *n, rte_be16_t port)
{
	uint32_t *refs = &n->port_refs[rte_be_to_cpu_16(port)];
	int rc = *refs == 0 ? n->ops.steer(n->home, port, true) : 0;

	*refs += rc == 0;
	return rc;
}

static void
port_drop(struct sock_net *n, rte_be16_t port)
{
	if (--n->port_refs[rte_be_to_cpu_16(port)] == 0)
		(void)n->ops.steer(n->home, port, false);
}

void
sock_port_put(struct sock_net *n, rte_be16_t port)
{
	struct sock_port_end *e = malloc(sizeof(*e));

	if (e == NULL) {
		port_drop(n, port);
		return;
	}
	*e = (struct sock_port_end){.at = n->now + SOCK_PORT_US, .port = port};
	STAILQ_INSERT_TAIL(&n->port_ends, e, next);
	if (n->sleeping && e->at < n->until)
		sock_wake(n);
}

static void
ports_end(struct sock_net *n)
{
	struct sock_port_end *e;

	while ((e = STAILQ_FIRST(&n->port_ends)) != NULL && e->at <= n->now) {
		STAILQ_REMOVE_HEAD(&n->port_ends, next);
		port_drop(n, e->port);
		free(e);
	}
}

/* --- the thread --- */

static void
look(struct sock_net *n)
{
	struct sock *s, *next;

	ports_end(n);
	for (s = LIST_FIRST(&n->resolving); s != NULL; s = next) {
		next = LIST_NEXT(s, resolve);
		sock_resolve(s);
	}
	if (n->udp != NULL)
		sock_udp_look(n);
	(void)tcp_run(n->stack, n->now);
}

static uint64_t
next_time(const struct sock_net *n)
{
	uint64_t at = tcp_deadline(n->stack);

	if (!LIST_EMPTY(&n->resolving))
		at = RTE_MIN(at, n->now + SOCK_RESOLVE_US);
	if (n->udp != NULL)
		at = RTE_MIN(at, sock_udp_next(n));
	if (!STAILQ_EMPTY(&n->port_ends))
		at = RTE_MIN(at, STAILQ_FIRST(&n->port_ends)->at);
	return at;
}

/* Each says once that it has a connection; the listener hears of it. */
static void
os_events(struct sock_net *n)
{
	struct epoll_event e[16];
	int k = epoll_wait(n->os, e, 16, 0);
	struct sock *s;

	for (int i = 0; i < k; i++) {
		LIST_FOREACH(s, &n->os_socks, os_next)
		{
			if (s->os_fd != e[i].data.fd)
				continue;
			s->os_ready |= (e[i].events & EPOLLIN) != 0;
			s->os_bad |= s->udp != NULL && (e[i].events & EPOLLERR) != 0;
			sock_changed(s);
		}
	}
}

static void
sleep_until(struct sock_net *n, uint64_t until)
{
	struct pollfd p[3] = {{.fd = n->wake, .events = POLLIN},
			      {.fd = n->ops.event_fd(n->home), .events = POLLIN},
			      {.fd = n->os, .events = POLLIN}};
	const uint64_t now = sock_now();
	struct timespec t = {0};
	uint64_t count;

	if (until > now && until != TCP_NEVER)
		t = (struct timespec){(time_t)((until - now) / 1000000), (long)((until - now) % 1000000 * 1000)};
	if (ppoll(p, 3, until == TCP_NEVER ? NULL : &t, NULL) <= 0)
		return;
	if (p[0].revents != 0)
		(void)!read(n->wake, &count, sizeof(count));
	pthread_mutex_lock(&n->lock);
	if (p[1].revents != 0) {
		n->armed = false;
		n->ops.event(n->home);
	}
	if (p[2].revents != 0)
		os_events(n);
	pthread_mutex_unlock(&n->lock);
}

static void *
thread_main(void *arg)
{
	struct sock_net *n = arg;
	uint64_t calls = 0, until;

	sock_enter(n);
	while (!n->stop) {
		look(n);
		/* Who calls all the time takes frames, too; who goes to sleep arms. */
		until = next_time(n);
		if (n->calls != calls + 1)
			until = RTE_MIN(until, n->now + PARK_US);
		else
			arm(n);
		calls = n->calls;
		n->until = until;
		n->sleeping = true;
		sock_leave(n);
		sleep_until(n, until);
		sock_enter(n);
		n->sleeping = false;
	}
	sock_leave(n);
	return NULL;
}

static int
thread_start(struct sock_net *n)
{
	sigset_t all, old;
	int err;

	n->os = epoll_create1(EPOLL_CLOEXEC);
	if (n->os < 0)
		return -errno;
	n->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (n->wake < 0)
		return -errno;
	/* The program's signals are not for this thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&n->thread, NULL, thread_main, n);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

/* --- life --- */

static const struct tcp_home engine_home = {
	.tx = sock_home_tx,
	.path = sock_home_path,
	.local = sock_home_local,
	.event = home_event,
	.random = sock_home_random,
};

static void
lock_init(struct sock_net *n)
{
	pthread_mutexattr_t a;

	(void)pthread_mutexattr_init(&a);
	/* It is held for a microsecond or two. */
	(void)pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ADAPTIVE_NP);
	(void)pthread_mutex_init(&n->lock, &a);
	(void)pthread_mutexattr_destroy(&a);
}

struct sock_net *
sock_net_create(const struct sock_conf *conf, const struct sock_home *ops, void *home, int *err)
{
	struct sock_net *n = calloc(1, sizeof(*n));

	*err = -ENOMEM;
	if (n == NULL)
		return NULL;
	n->wake = n->os = -1;
	n->ops = *ops;
	n->home = home;
	n->spin_us = conf->spin_us;
	n->udp_conf = conf->udp;
	n->port_refs = calloc(SOCK_PORTS, sizeof(*n->port_refs));
	n->now = sock_now();
	LIST_INIT(&n->socks);
	LIST_INIT(&n->resolving);
	LIST_INIT(&n->os_socks);
	STAILQ_INIT(&n->port_ends);
	lock_init(n);
	if (n->port_refs != NULL)
		n->stack = tcp_stack_create(&conf->tcp, &engine_home, n, n->now, err);
	if (n->stack != NULL)
		*err = thread_start(n);
	if (*err == 0)
		return n;
	if (n->stack != NULL)
		tcp_stack_destroy(n->stack);
	if (n->wake >= 0)
		close(n->wake);
	if (n->os >= 0)
		close(n->os);
	free(n->port_refs);
	free(n);
	return NULL;
}

/* All that the peers answer: nothing moves any more. */
static void
drain(struct sock_net *n, uint64_t until)
{
	uint64_t moved = 0, since = sock_now(), sum;

	sock_enter(n);
	(void)tcp_run(n->stack, n->now);
	while ((tcp_conns(n->stack) != 0 || sock_udp_late(n) || !n->ops.sent(n->home)) && n->now < until) {
		const struct tcp_stats *st = tcp_stats(n->stack);

		sum = st->rx_segments + st->tx_segments;
		if (sum != moved)
			since = n->now;
		else if (n->now - since > QUIET_US)
			break;
		moved = sum;
		sock_leave(n);
		usleep(200);
		sock_enter(n);
	}
	sock_leave(n);
}

void
sock_net_end(struct sock_net *n, uint32_t ms)
{
	struct sock *s;

	if (n->dead)
		return;
	sock_enter(n);
	LIST_FOREACH(s, &n->socks, next)
	{
		if (s->conn == NULL)
			continue;
		tcp_close(s->conn);
		s->conn = NULL;
		/* Other threads may still call. */
		if (s->state == SOCK_LISTENING)
			s->state = SOCK_NEW;
	}
	sock_leave(n);
	drain(n, sock_now() + (uint64_t)ms * 1000);
	pthread_mutex_lock(&n->lock);
	n->stop = true;
	sock_wake(n);
	pthread_mutex_unlock(&n->lock);
	(void)pthread_join(n->thread, NULL);
	n->dead = true;
}

void
sock_net_lock(struct sock_net *n)
{
	pthread_mutex_lock(&n->lock);
}

void
sock_net_unlock(struct sock_net *n)
{
	pthread_mutex_unlock(&n->lock);
}

int
sock_route(struct sock_net *n, rte_be32_t local, rte_be32_t remote)
{
	struct tcp_path path;
	int rc;

	sock_enter(n);
	rc = n->dead ? -ECONNABORTED : n->ops.path(n->home, local, remote, &path);
	sock_leave(n);
	return rc;
}

void
sock_fds(const struct sock_net *n, int fds[2])
{
	fds[0] = n->wake;
	fds[1] = n->os;
}

/* --- waiting --- */

int
sock_wait(struct sock_net *n, bool (*done)(void *arg), int (*sleep)(void *arg, uint64_t until), void *arg,
	  uint64_t until)
{
	uint64_t spin;
	int rc = 0;

	sock_enter(n);
	spin = n->now + n->spin_us;
	for (;;) {
		if (n->dead || done(arg)) {
			rc = 0;
			break;
		}
		if (rc == 0 && until != 0 && n->now < RTE_MIN(spin, until)) {
			sock_leave(n);
			rte_pause();
			sock_enter(n);
			continue;
		}
		if (rc == 0 || rc == -EAGAIN)
			rc = n->now >= until ? -EAGAIN : 0;
		if (rc != 0)
			break;
		if (!n->armed) {
			arm(n);
			continue;
		}
		sock_leave(n);
		rc = sleep(arg, until);
		sock_enter(n);
		spin = 0;
	}
	sock_leave(n);
	return rc;
}
