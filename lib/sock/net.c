/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A net: its lock, what moves it on, and the thread that does so while nobody calls. */
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "sock_priv.h"

#define BURST 32u
#define ROUNDS 8u   /* bursts in a row, so that what waits to be sent is not late */
#define LOOK_US 10u /* between looks of calls that need no frame */
#define FULL_US 50u
#define PARK_US 1000u             /* while others call so often, the thread looks only so often */
#define QUIET_US UINT64_C(300000) /* who has not gone by then, though it has got all, stays */

uint64_t
sock_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* --- what the engine asks for --- */

static void
count_large(struct sock_stat *st, const struct rte_mbuf *m)
{
	const uint32_t payload = m->pkt_len - m->l2_len - m->l3_len - m->l4_len;

	st->ring[SOCK_RING_LARGE]++;
	st->ring[SOCK_RING_PIECES] += (payload + m->tso_segsz - 1) / m->tso_segsz;
}

uint16_t
sock_home_tx(void *home, struct rte_mbuf **m, uint16_t n)
{
	struct sock_net *net = home;
	const uint16_t took = net->ops.tx(net->home, m, n);

	net->full = took < n;
	if (net->stat == NULL)
		return took;
	net->stat->ring[SOCK_RING_TX_FRAMES] += took;
	net->stat->ring[SOCK_RING_TX_FULL] += took < n;
	/* They are the home's now, which lets go of none before the next call. */
	for (uint16_t i = 0; i < took; i++)
		if (unlikely((m[i]->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0))
			count_large(net->stat, m[i]);
	return took;
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

	n->looked = n->now;
	for (unsigned int i = 0; i < ROUNDS && k == BURST; i++) {
		k = n->ops.rx(n->home, m, BURST);
		if (n->stat != NULL) {
			n->stat->ring[SOCK_RING_LOOKS]++;
			n->stat->ring[SOCK_RING_RX_FRAMES] += k;
		}
		left = k != 0 && n->udp != NULL ? n->udp_ops->input(n, m, k) : k;
		if (left != 0)
			tcp_input(n->stack, m, left, n->now);
	}
}

void
sock_move_on(struct sock_net *n)
{
	if (n->dead)
		return;
	n->now = sock_now();
	n->calls++;
	take_frames(n);
}

void
sock_enter(struct sock_net *n)
{
	pthread_mutex_lock(&n->lock);
	sock_move_on(n);
}

bool
sock_enter_busy(struct sock_net *n)
{
	bool looks;

	pthread_mutex_lock(&n->lock);
	if (n->dead)
		return true;
	n->now = sock_now();
	n->calls++;
	looks = n->now - n->looked >= LOOK_US;
	if (looks)
		take_frames(n);
	return looks;
}

void
sock_look(struct sock_net *n)
{
	if (!n->dead)
		take_frames(n);
}

/* A card that takes no more has room by itself: who asks it again and again takes the CPU from it, where it is software. */
static uint64_t
tcp_next(const struct sock_net *n)
{
	const uint64_t at = tcp_deadline(n->stack);

	return at == 0 && n->full ? n->now + FULL_US : at;
}

void
sock_leave(struct sock_net *n)
{
	if (!n->dead) {
		(void)tcp_run(n->stack, n->now);
		if (n->sleeping && tcp_next(n) < n->until)
			sock_wake(n);
	}
	pthread_mutex_unlock(&n->lock);
}

void
sock_arm(struct sock_net *n)
{
	if (n->armed)
		return;
	n->armed = true;
	n->ops.arm(n->home);
	take_frames(n);
}

/* --- the thread --- */

static void
look(struct sock_net *n)
{
	struct sock *s, *next;

	sock_ports_end(n);
	for (s = LIST_FIRST(&n->resolving); s != NULL; s = next) {
		next = LIST_NEXT(s, resolve);
		sock_resolve(s);
	}
	if (n->udp != NULL)
		n->udp_ops->look(n);
	(void)tcp_run(n->stack, n->now);
}

static uint64_t
next_time(const struct sock_net *n)
{
	uint64_t at = tcp_next(n);

	if (!LIST_EMPTY(&n->resolving))
		at = RTE_MIN(at, n->now + SOCK_RESOLVE_US);
	if (n->udp != NULL)
		at = RTE_MIN(at, n->udp_ops->next(n));
	if (!STAILQ_EMPTY(&n->port_ends))
		at = RTE_MIN(at, STAILQ_FIRST(&n->port_ends)->at);
	return at;
}

/* Each says once that it has a connection; the listener hears of it. What is no listener's tells that a port is free, or wanted. */
static void
os_events(struct sock_net *n)
{
	struct epoll_event e[16];
	int k = epoll_wait(n->os, e, 16, 0);
	struct sock *s;

	for (int i = 0; i < k; i++) {
		bool listener = false;

		LIST_FOREACH(s, &n->os_socks, os_next)
		{
			if (s->os_fd != e[i].data.fd)
				continue;
			listener = true;
			s->os_ready |= (e[i].events & EPOLLIN) != 0;
			s->os_bad |= s->udp != NULL && (e[i].events & EPOLLERR) != 0;
			sock_changed(s);
		}
		n->let_go |= !listener && !sock_port_wanted(n, e[i].data.fd);
	}
}

void
sock_event(struct sock_net *n)
{
	n->armed = false;
	n->ops.event(n->home);
	if (n->stat != NULL)
		n->stat->ring[SOCK_RING_EVENTS]++;
}

const struct timespec *
sock_left(uint64_t until, struct timespec *t)
{
	const uint64_t now = sock_now(), left = until > now ? until - now : 0;

	*t = (struct timespec){(time_t)(left / 1000000), (long)(left % 1000000 * 1000)};
	return until == TCP_NEVER ? NULL : t;
}

/* frames: it looks for them, too. */
static void
sleep_until(struct sock_net *n, uint64_t until, bool frames)
{
	struct pollfd p[3] = {{.fd = n->wake, .events = POLLIN},
			      {.fd = frames ? n->ops.event_fd(n->home) : -1, .events = POLLIN},
			      {.fd = n->os, .events = POLLIN}};
	struct timespec t;
	uint64_t count;
	bool let_go;

	if (ppoll(p, 3, sock_left(until, &t), NULL) <= 0)
		return;
	if (p[0].revents != 0)
		(void)!read(n->wake, &count, sizeof(count));
	pthread_mutex_lock(&n->lock);
	if (p[1].revents != 0)
		sock_event(n);
	if (p[2].revents != 0)
		os_events(n);
	let_go = n->let_go;
	n->let_go = false;
	pthread_mutex_unlock(&n->lock);
	if (let_go && n->freed != NULL)
		n->freed();
}

/* Until when the thread sleeps, and whether it looks for frames meanwhile. quiet: nobody called since the last look. */
static uint64_t
plan(struct sock_net *n, bool quiet, bool *frames)
{
	uint64_t until = next_time(n);

	*frames = true;
	/* This thread may have taken what told of a frame just when a call went to sleep over it. */
	if (n->led)
		sock_arm(n);
	if (n->now < n->many_until) {
		/* Then it may be one again. */
		until = RTE_MIN(until, n->many_until);
		sock_arm(n);
	} else if (!quiet) {
		/* Who calls all the time takes frames, too; who goes to sleep arms. */
		until = RTE_MIN(until, n->now + PARK_US);
		*frames = false;
	} else if (n->led) {
		n->deep = true;
		*frames = false;
	} else {
		sock_arm(n);
	}
	return until;
}

/* What is not counted where it happens. */
static void
tell(struct sock_net *n)
{
	const struct tcp_stats *st = tcp_stats(n->stack);

	if (n->scarce != NULL && st->rx_scarce != 0) {
		n->scarce();
		n->scarce = NULL;
	}
	if (n->stat == NULL)
		return;
	n->stat->tcp[SOCK_TCP_RX] = st->rx_segments;
	n->stat->tcp[SOCK_TCP_TX] = st->tx_segments;
	n->stat->tcp[SOCK_TCP_AGAIN] = st->retransmits;
	n->stat->tcp[SOCK_TCP_OOO] = st->rx_ooo;
	n->stat->tcp[SOCK_TCP_TIMEOUTS] = st->timeouts;
	n->stat->tcp[SOCK_TCP_COPIED] = st->rx_copied;
	n->stat->tcp[SOCK_TCP_SCARCE] = st->rx_scarce;
}

static void *
thread_main(void *arg)
{
	struct sock_net *n = arg;
	uint64_t calls = 0, until;
	bool frames;

	sock_enter(n);
	while (!n->stop) {
		look(n);
		tell(n);
		until = plan(n, n->calls == calls + 1, &frames);
		calls = n->calls;
		n->until = until;
		n->sleeping = true;
		sock_leave(n);
		sleep_until(n, until, frames);
		sock_enter(n);
		n->sleeping = n->deep = false;
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
	n->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (n->wake < 0 || n->bell < 0)
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
	.state = sock_home_state,
	.quiet = sock_port_quiet,
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
	n->wake = n->os = n->bell = -1;
	n->ops = *ops;
	n->home = home;
	n->spin_us = conf->spin_us;
	n->spin_looks = conf->spin_looks == 0 ? UINT32_MAX : conf->spin_looks;
	n->handlers = conf->handlers;
	n->scarce = conf->scarce;
	n->freed = conf->freed;
	n->unclaim = conf->unclaim;
	n->udp_conf = conf->udp;
	n->stat = conf->stat;
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
	if (n->bell >= 0)
		close(n->bell);
	if (n->os >= 0)
		close(n->os);
	free(n->port_refs);
	free(n);
	return NULL;
}

/*
 * Until the peers have acknowledged all. Those that have, and do not end their side, are waited for while something moves. What was
 * not acknowledged would be lost in silence: a peer, or the port's owner, may be a slow one.
 */
static void
drain(struct sock_net *n, uint64_t until)
{
	uint64_t moved = 0, since = sock_now(), sum;

	sock_enter(n);
	(void)tcp_run(n->stack, n->now);
	while ((tcp_conns(n->stack) != 0 || (n->udp != NULL && n->udp_ops->late(n)) || !n->ops.sent(n->home)) &&
	       n->now < until) {
		const struct tcp_stats *st = tcp_stats(n->stack);

		sum = st->rx_segments + st->tx_segments;
		if (sum != moved) {
			since = n->now;
		} else if (n->now - since > QUIET_US) {
			if (tcp_unacked(n->stack) == 0 && n->ops.sent(n->home))
				break;
			since = n->now;
		}
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

	sock_enter(n);
	/* Of two threads that end the program one does it. */
	if (n->ends) {
		sock_leave(n);
		return;
	}
	n->ends = true;
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
	/* A viewer may look on. */
	LIST_FOREACH(s, &n->socks, next)
	{
		sock_home_state(n, s, TCP_CLOSE);
		s->told = NULL;
	}
	n->stop = true;
	sock_wake(n);
	pthread_mutex_unlock(&n->lock);
	(void)pthread_join(n->thread, NULL);
	pthread_mutex_lock(&n->lock);
	n->dead = true;
	pthread_mutex_unlock(&n->lock);
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
sock_fds(const struct sock_net *n, int fds[SOCK_FDS])
{
	fds[0] = n->wake;
	fds[1] = n->os;
	fds[2] = n->bell;
}
