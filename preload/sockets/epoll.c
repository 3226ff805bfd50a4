/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Epoll sets. Each is one of the kernel's, which has the descriptors of the operating system, and an event that stands for sockets
 * of the engine; and a list of these that may be ready.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "sockets.h"

#define OURS UINT64_C(0x9e3779b97f4a7c15) /* the event's data; a program's own would have to be just that */
#define RATIO 16u                         /* where sockets of the engine are ready, the kernel is asked so seldom */

struct item {
	struct sock_watch watch; /* first */
	struct ep *ep;
	struct file *f;
	int fd;
	bool engine, listed, off; /* off: ONESHOT has told */
	struct epoll_event ev;
	TAILQ_ENTRY(item) ready;
	LIST_ENTRY(item) next, other; /* of its set, of its socket */
};

struct ep {
	struct ep_head head; /* first */
	int fd, event;
	unsigned int sleepers;
	bool nested, told;
	bool closed; /* with the lock of sets */
	atomic_uint rounds;
	atomic_bool fresh; /* there may be a listener that was not looked at, or a socket that has not begun */
	atomic_uint num_engine;
	atomic_uint early; /* that wait in the kernel's set alone, without the net's lock */
	LIST_HEAD(, item) items;
	TAILQ_HEAD(ready_list, item) ready; /* with the net's lock, as what follows of items */
	LIST_ENTRY(ep) next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of sets and their items; before the net's */
static LIST_HEAD(, ep) sets = LIST_HEAD_INITIALIZER(sets);

/* --- sets --- */

EXPORT int
epoll_create1(int flags)
{
	int fd = real()->epoll_create1(flags);
	struct ep *e = fd < 0 ? NULL : calloc(1, sizeof(*e));

	if (e == NULL)
		return fd;
	e->fd = fd;
	e->event = -1;
	e->head.refs = 1;
	LIST_INIT(&e->items);
	TAILQ_INIT(&e->ready);
	pthread_mutex_lock(&lock);
	LIST_INSERT_HEAD(&sets, e, next);
	pthread_mutex_unlock(&lock);
	if (ep_put_at(fd, e) != 0)
		ep_free(e);
	return fd;
}

EXPORT int
epoll_create(int size)
{
	return size <= 0 ? (int)result(-EINVAL) : epoll_create1(0);
}

/* --- items: with the lock of sets --- */

/* The event makes the kernel's set readable. */
static void
tell(struct ep *e)
{
	const uint64_t one = 1;

	if (!e->told && e->event >= 0 && (e->sleepers != 0 || e->early != 0 || e->nested)) {
		e->told = true;
		(void)!real()->write(e->event, &one, sizeof(one));
	}
}

static void
put_ready(struct item *i)
{
	if (i->off)
		return;
	if (!i->listed)
		TAILQ_INSERT_TAIL(&i->ep->ready, i, ready);
	i->listed = true;
	tell(i->ep);
}

static void
on_change(struct sock_watch *w)
{
	put_ready((struct item *)(void *)w);
}

static bool
event_make(struct ep *e)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = OURS};

	if (e->event >= 0)
		return true;
	e->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (e->event < 0 || real()->epoll_ctl(e->fd, EPOLL_CTL_ADD, e->event, &ev) != 0)
		return false;
	own_add(e->event);
	return true;
}

/* What is ready now is told at the next wait. */
static void
to_engine(struct item *i)
{
	if (!event_make(i->ep))
		return;
	i->engine = true;
	i->ep->num_engine++;
	i->watch.fn = on_change;
	sock_net_lock(net_now());
	sock_watch_add(i->f->s, &i->watch);
	put_ready(i);
	sock_net_unlock(net_now());
}

/* Nothing is ready any more. */
static void
untell(struct ep *e)
{
	uint64_t count;

	if (!e->told || !TAILQ_EMPTY(&e->ready))
		return;
	(void)!real()->read(e->event, &count, sizeof(count));
	e->told = false;
}

/* Its socket may be there by several numbers. */
static struct item *
item_of(const struct ep *e, int fd, const struct file *f)
{
	struct item *i;

	LIST_FOREACH(i, &f->in, other)
	if (i->ep == e && i->fd == fd)
		return i;
	return NULL;
}

static void
item_free(struct item *i)
{
	struct sock_net *n = net_now();

	LIST_REMOVE(i, next);
	LIST_REMOVE(i, other);
	if (i->engine && n != NULL) {
		sock_net_lock(n);
		sock_watch_del(&i->watch);
		if (i->listed)
			TAILQ_REMOVE(&i->ep->ready, i, ready);
		untell(i->ep);
		sock_net_unlock(n);
	}
	i->ep->num_engine -= i->engine;
	i->f->items--;
	free(i);
}

void
ep_free(struct ep *e)
{
	struct item *i;

	pthread_mutex_lock(&lock);
	while ((i = LIST_FIRST(&e->items)) != NULL)
		item_free(i);
	LIST_REMOVE(e, next);
	e->closed = true;
	pthread_mutex_unlock(&lock);
	own_close(e->event);
	ep_put(e);
}

void
ep_put(struct ep *e)
{
	if (e != NULL && --e->head.refs == 0)
		free(e);
}

void
ep_closed(int fd, struct file *f)
{
	struct item *i, *next;

	if (f->items == 0)
		return;
	pthread_mutex_lock(&lock);
	for (i = LIST_FIRST(&f->in); i != NULL; i = next) {
		next = LIST_NEXT(i, other);
		if (i->fd == fd)
			item_free(i);
	}
	pthread_mutex_unlock(&lock);
}

void
ep_began(struct file *f)
{
	struct item *i;

	stat_began(f);
	if (f->items == 0)
		return;
	pthread_mutex_lock(&lock);
	LIST_FOREACH(i, &f->in, other)
	{
		i->ep->fresh |= f->forced;
		if (i->engine)
			continue;
		(void)real()->epoll_ctl(i->ep->fd, EPOLL_CTL_DEL, i->fd, NULL);
		to_engine(i);
	}
	pthread_mutex_unlock(&lock);
}

void
ep_nested(int fd)
{
	struct ep *e = ep_get(fd);

	if (e == NULL || net_now() == NULL) {
		ep_put(e);
		return;
	}
	sock_net_lock(net_now());
	e->nested = true;
	if (!TAILQ_EMPTY(&e->ready))
		tell(e);
	sock_net_unlock(net_now());
	ep_put(e);
}

/* The kernel's set is the parent's, too, and so is its event: sockets of the engine are the parent's alone. */
void
ep_fork(enum fork_step step)
{
	struct item *i;
	struct ep *e;

	if (step == FORK_PREPARE)
		pthread_mutex_lock(&lock);
	LIST_FOREACH(e, &sets, next)
	{
		if (step != FORK_CHILD)
			break;
		TAILQ_INIT(&e->ready);
		e->event = -1;
		e->told = false;
		e->fresh = true;
		e->num_engine = e->sleepers = 0;
		LIST_FOREACH(i, &e->items, next)
		i->engine = i->listed = false;
	}
	if (step != FORK_PREPARE)
		pthread_mutex_unlock(&lock);
}

/* --- epoll_ctl --- */

static int
add(struct ep *e, int fd, struct file *f, const struct epoll_event *ev)
{
	struct epoll_event copy = *ev;
	struct item *i = calloc(1, sizeof(*i));
	int err = 0;

	if (i == NULL)
		return -ENOMEM;
	*i = (struct item){.ep = e, .f = f, .fd = fd, .ev = *ev};
	/* A thread that closes the number just now sees that a set has it, or is seen here: nobody else would take it out. */
	f->items++;
	if (!file_is(fd, f))
		err = -EBADF;
	else if (f->s == NULL && real()->epoll_ctl(e->fd, EPOLL_CTL_ADD, fd, &copy) != 0)
		err = -errno;
	if (err != 0) {
		f->items--;
		free(i);
		return err;
	}
	LIST_INSERT_HEAD(&e->items, i, next);
	LIST_INSERT_HEAD(&f->in, i, other);
	e->fresh |= f->wants || f->forced;
	if (f->s != NULL)
		to_engine(i);
	return 0;
}

static int
change(struct item *i, const struct epoll_event *ev)
{
	struct epoll_event copy = *ev;

	if (!i->engine && real()->epoll_ctl(i->ep->fd, EPOLL_CTL_MOD, i->fd, &copy) != 0)
		return -errno;
	if (!i->engine) {
		i->ev = *ev;
		return 0;
	}
	sock_net_lock(net_now());
	i->ev = *ev;
	i->off = false;
	put_ready(i);
	sock_net_unlock(net_now());
	return 0;
}

static int
control(struct ep *e, int op, int fd, struct file *f, const struct epoll_event *ev)
{
	struct item *i = item_of(e, fd, f);

	if (op == EPOLL_CTL_ADD)
		return i != NULL ? -EEXIST : add(e, fd, f, ev);
	if (i == NULL)
		return -ENOENT;
	if (op == EPOLL_CTL_MOD)
		return change(i, ev);
	if (!i->engine && real()->epoll_ctl(e->fd, EPOLL_CTL_DEL, fd, NULL) != 0)
		return -errno;
	item_free(i);
	return 0;
}

EXPORT int
epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev)
{
	struct ep *e = ep_get(epfd);
	struct file *f = e == NULL ? NULL : file_get(fd);
	int rc;

	if (e != NULL && f == NULL && op == EPOLL_CTL_ADD)
		f = file_adopt(fd);
	if (e != NULL && kind_of(fd) == EPOLL)
		ep_nested(fd);
	if (f == NULL || op < EPOLL_CTL_ADD || op > EPOLL_CTL_MOD || (op != EPOLL_CTL_DEL && ev == NULL)) {
		file_put(f);
		ep_put(e);
		return real()->epoll_ctl(epfd, op, fd, ev);
	}
	pthread_mutex_lock(&lock);
	rc = e->closed ? -EBADF : control(e, op, fd, f, ev);
	pthread_mutex_unlock(&lock);
	file_put(f);
	ep_put(e);
	return (int)result(rc);
}

/* --- epoll_wait --- */

struct waiting {
	struct ep *e;
	struct epoll_event *ev;
	int max, n; /* n: of the engine */
	int os;     /* of the kernel, behind them */
	const sigset_t *mask;
};

/* Each once; level-triggered ones go to the end of the list, and are looked at again. */
static int
collect(struct ep *e, struct epoll_event *ev, int max)
{
	struct item *last = TAILQ_LAST(&e->ready, ready_list), *i, *next;
	int n = 0;

	for (i = TAILQ_FIRST(&e->ready); i != NULL && n < max; i = next) {
		const uint32_t got = i->off ? 0 : sock_ready_now(i->f->s) & (i->ev.events | EPOLLERR | EPOLLHUP);

		next = i == last ? NULL : TAILQ_NEXT(i, ready);
		TAILQ_REMOVE(&e->ready, i, ready);
		i->listed = false;
		if (got == 0)
			continue;
		ev[n++] = (struct epoll_event){.events = got, .data = i->ev.data};
		i->off = (i->ev.events & EPOLLONESHOT) != 0;
		if ((i->ev.events & (EPOLLONESHOT | EPOLLET)) == 0) {
			TAILQ_INSERT_TAIL(&e->ready, i, ready);
			i->listed = true;
		}
	}
	untell(e);
	return n;
}

static bool
done(void *arg)
{
	struct waiting *w = arg;

	if (w->os == 0)
		w->n = collect(w->e, w->ev, w->max);
	return w->n != 0 || w->os != 0;
}

/* What the kernel's set has, without our event. */
static int
kernel(struct ep *e, struct epoll_event *ev, int max, int timeout, const sigset_t *mask)
{
	int k = real()->epoll_pwait(e->fd, ev, max, timeout, mask), n = 0;

	for (int i = 0; i < k; i++)
		if (ev[i].data.u64 != OURS)
			ev[n++] = ev[i];
	return k < 0 ? -errno : k > 0 && n == 0 ? -EINPROGRESS : n;
}

static void
asleep(void *arg, bool is)
{
	struct waiting *w = arg;

	w->e->sleepers += is ? 1 : UINT_MAX;
}

/* Until the kernel's set has something, or frames come. */
static int
both_sleep(struct waiting *w, uint64_t until, struct pollfd *frames)
{
	struct pollfd p[2] = {{.fd = w->e->fd, .events = POLLIN}, *frames};
	struct timespec t;
	int k;

	k = real()->ppoll(p, 2, sock_left(until, &t), w->mask);
	if (k <= 0)
		return k < 0 ? -errno : -EAGAIN;
	frames->revents = p[1].revents;
	if (p[0].revents == 0)
		return 0;
	k = kernel(w->e, w->ev, w->max, 0, NULL);
	w->os = k > 0 ? k : 0;
	return k < 0 && k != -EINPROGRESS ? k : 0;
}

static int
sleep_os(void *arg, uint64_t until, struct pollfd *frames)
{
	struct waiting *w = arg;
	const uint64_t now = sock_now();
	const uint64_t ms = until <= now ? 0 : (until - now + 999) / 1000;
	int k;

	if (frames->fd >= 0)
		return both_sleep(w, until, frames);
	k = kernel(w->e, w->ev, w->max, until == TCP_NEVER ? -1 : (int)RTE_MIN(ms, (uint64_t)INT32_MAX), w->mask);
	if (k == -EINPROGRESS)
		return 0;
	w->os = k > 0 ? k : 0;
	return k < 0 ? k : k == 0 ? -EAGAIN : 0;
}

/* Listeners that were not looked at yet. */
static void
begin_all(struct ep *e)
{
	struct file *wants[16];
	int fd[16];
	unsigned int n = 0;
	struct item *i;

	if (!e->fresh)
		return;
	pthread_mutex_lock(&lock);
	e->fresh = false;
	LIST_FOREACH(i, &e->items, next)
	{
		i->f->looked = true;
		if (!i->f->wants)
			continue;
		if (n == RTE_DIM(wants)) {
			e->fresh = true;
			break;
		}
		fd[n] = i->fd;
		wants[n++] = i->f;
		i->f->refs++;
	}
	pthread_mutex_unlock(&lock);
	for (unsigned int k = 0; k < n; k++) {
		file_begin(fd[k], wants[k]);
		file_put(wants[k]);
	}
}

static int
wait_both(struct ep *e, struct epoll_event *ev, int max, int timeout, const sigset_t *mask)
{
	struct waiting w = {.e = e, .ev = ev, .max = max, .mask = mask};
	const uint64_t until = timeout < 0 ? TCP_NEVER : timeout == 0 ? 0 : sock_now() + (uint64_t)timeout * 1000;
	struct sock_net *n = net_now();
	unsigned int rounds;
	int k = 0, rc;

	/* The kernel's part first, but not each time where the engine has something. */
	rounds = atomic_load_explicit(&e->rounds, memory_order_relaxed);
	atomic_store_explicit(&e->rounds, rounds + 1, memory_order_relaxed);
	if (rounds % RATIO == 0 || timeout == 0)
		k = kernel(e, ev, max, 0, NULL);
	if (k < 0 && k != -EINPROGRESS)
		return k;
	if (k > 0) {
		sock_net_lock(n);
		k += collect(e, ev + k, max - k);
		sock_net_unlock(n);
		return k;
	}
	rc = sock_wait(n, &(struct sock_wait){done, asleep, sleep_os, &w, true}, until);
	return rc == 0 ? w.n + w.os : rc == -EAGAIN ? 0 : rc;
}

EXPORT int
epoll_pwait(int epfd, struct epoll_event *ev, int max, int timeout, const sigset_t *mask)
{
	struct ep *e = ep_get(epfd);
	int rc;

	if (e == NULL || max <= 0 || ev == NULL) {
		ep_put(e);
		return real()->epoll_pwait(epfd, ev, max, timeout, mask);
	}
	begin_all(e);
	/* A socket may begin while this thread waits here: our event tells. */
	e->early++;
	rc = -EINPROGRESS;
	while (rc == -EINPROGRESS && (e->num_engine == 0 || net_now() == NULL))
		rc = kernel(e, ev, max, timeout, mask);
	e->early--;
	if (rc == -EINPROGRESS)
		rc = wait_both(e, ev, max, timeout, mask);
	ep_put(e);
	return (int)result(rc);
}

EXPORT int
epoll_wait(int epfd, struct epoll_event *ev, int max, int timeout)
{
	return epoll_pwait(epfd, ev, max, timeout, NULL);
}

EXPORT int
epoll_pwait2(int epfd, struct epoll_event *ev, int max, const struct timespec *timeout, const sigset_t *mask)
{
	int ms = -1;

	if (timeout != NULL)
		ms = (int)RTE_MIN((int64_t)timeout->tv_sec * 1000 + (timeout->tv_nsec + 999999) / 1000000,
				  (int64_t)INT32_MAX);
	return epoll_pwait(epfd, ev, max, ms, mask);
}
