/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A call that waits: it looks for frames for a while, then it sleeps. */
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>

#include "sock_priv.h"

#define MANY_US UINT64_C(100000) /* so long after two slept at once the thread looks for all */
#define EAGER 8u                 /* looks of a call in a row before it lets others have the CPU in between */
#define BUSY_PART 4u             /* of the time to look, that others may have the CPU at once */
#define MISSES_MAX 6u            /* then every 64th wait looks */
#define SHORT 4u /* times to look: a wait that was not longer would have been short if both ends had looked */

/* Without the lock for a moment, in which others have the CPU that want it: the peer, or a card in software. How long they had it. */
static uint64_t
let_others(struct sock_net *n, unsigned int looks)
{
	const uint64_t before = n->now;

	sock_leave(n);
	if (looks < EAGER)
		rte_pause();
	else
		(void)sched_yield();
	sock_enter(n);
	return n->now - before;
}

/* Looks for frames before the call sleeps. True: what it waits for is there. */
static bool
spin(struct sock_net *n, const struct sock_wait *w, uint64_t until)
{
	const uint64_t begin = n->now, end = RTE_MIN(begin + n->spin_us, until);
	bool found = false, pays = true;

	if (n->skips != 0) {
		n->skips--;
		return false;
	}
	/* Who sleeps gets the CPU back sooner than who lets others have it that are busy. */
	for (uint32_t looks = 0; !found && pays && n->now < end && looks < n->spin_looks && !n->dead; looks++) {
		pays = let_others(n, looks) <= n->spin_us / BUSY_PART;
		found = w->done(w->arg);
	}
	if (w->count != NULL && *w->count != NULL)
		(*w->count)[found ? SOCK_POLL_HITS : SOCK_POLL_MISSES]++;
	if (found && pays)
		n->misses = 0;
	else
		n->misses = RTE_MIN(n->misses + 1, MISSES_MAX);
	n->skips = (1u << n->misses) - 1;
	n->crowded = !pays;
	return found;
}

/*
 * A wait that slept is over. Two ends that sleep keep each other from looking: each waits for the other one's wakeup, which takes
 * longer than looking for a frame does. So one that was short is no reason to look more seldom.
 */
static void
slept(struct sock_net *n, uint64_t us)
{
	if (!n->crowded && us <= SHORT * (uint64_t)n->spin_us)
		n->misses = n->skips = 0;
}

/* The descriptor that tells of frames, if who goes to sleep now is to look for them itself; else -1. */
static int
sleep_begin(struct sock_net *n, const struct sock_wait *w)
{
	if (w->asleep != NULL)
		w->asleep(w->arg, true);
	if (++n->sleepers == 1 && w->looks && n->now >= n->many_until) {
		n->led = true;
		return n->ops.event_fd(n->home);
	}
	if (n->sleepers != 1 || !w->looks) {
		if (n->now >= n->many_until && n->sleeping)
			sock_wake(n);
		n->many_until = n->now + MANY_US;
	}
	return -1;
}

static void
sleep_end(struct sock_net *n, const struct sock_wait *w, const struct pollfd *frames)
{
	if (w->asleep != NULL)
		w->asleep(w->arg, false);
	n->sleepers--;
	if (frames->fd < 0)
		return;
	n->led = false;
	if (frames->revents != 0)
		sock_event(n);
	/* Somebody has to look while the program does something else. */
	if (n->deep)
		sock_wake(n);
	n->deep = false;
}

int
sock_wait(struct sock_net *n, const struct sock_wait *w, uint64_t until)
{
	struct pollfd frames = {.events = POLLIN};
	bool over, slept_once = false;
	uint64_t begin;
	int rc = 0;

	sock_enter(n);
	begin = n->now;
	over = n->dead || w->done(w->arg) || (until != 0 && n->spin_us != 0 && spin(n, w, until));
	while (!over) {
		if (rc == 0 || rc == -EAGAIN)
			rc = n->now >= until ? -EAGAIN : 0;
		if (rc != 0)
			break;
		if (!n->armed) {
			sock_arm(n);
		} else {
			frames.fd = sleep_begin(n, w);
			if (w->count != NULL && *w->count != NULL)
				(*w->count)[SOCK_SLEEPS]++;
			frames.revents = 0;
			sock_leave(n);
			rc = w->sleep(w->arg, until, &frames);
			pthread_mutex_lock(&n->lock);
			/* Who is awake needs not be woken by what it finds. */
			sleep_end(n, w, &frames);
			sock_move_on(n);
			slept_once = true;
		}
		over = n->dead || w->done(w->arg);
	}
	if (over && slept_once)
		slept(n, n->now - begin);
	sock_leave(n);
	return over ? 0 : rc;
}

/* --- for a socket ----------------------------------------------------------------------------------------------------- */

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

	if (sock_futex(&w->s->seq, FUTEX_WAIT_BITSET, w->seq, until == TCP_NEVER ? NULL : &t) == 0 || errno == EAGAIN)
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
	int rc = sock_wait(s->net, &(struct sock_wait){has, asleep, sleep_on, &w, looks, &s->count}, until);

	errno = saved;
	return rc;
}

uint64_t
sock_until(struct sock *s, bool recv)
{
	uint64_t us;

	pthread_mutex_lock(&s->net->lock);
	us = recv ? s->rcvtimeo_us : s->sndtimeo_us;
	pthread_mutex_unlock(&s->net->lock);
	return us == 0 ? TCP_NEVER : sock_now() + us;
}
