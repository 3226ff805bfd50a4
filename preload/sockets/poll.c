/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* poll and select over sockets of the engine and descriptors of the operating system. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "sockets.h"

#define FEW 64u
#define OURS 2u /* descriptors behind the program's: what wakes us, and what tells of frames */

/* One descriptor's part of a wait. */
struct part {
	struct sock_watch watch;
	struct file *f; /* NULL: the operating system's */
	struct polling *all;
};

struct polling {
	struct pollfd *fds, *os; /* os: with those that are the engine's left out, and ours behind them */
	struct part *part;
	nfds_t n;
	int event, ready, os_ready;
	bool others; /* descriptors of the operating system's are among them */
	bool watched, asleep, told;
	const sigset_t *mask;
};

/* --- events that wake; kept for the next wait --- */

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static int pool[16];
static unsigned int pooled;
static pid_t pool_pid;

static int
event_get(void)
{
	int fd = -1;

	pthread_mutex_lock(&pool_lock);
	/* A child of fork() shares its parent's. */
	if (pool_pid != getpid())
		pooled = 0;
	pool_pid = getpid();
	if (pooled != 0)
		fd = pool[--pooled];
	pthread_mutex_unlock(&pool_lock);
	if (fd >= 0)
		return fd;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd >= 0)
		own_add(fd);
	return fd;
}

static void
event_put(int fd)
{
	bool kept = false;

	pthread_mutex_lock(&pool_lock);
	if (pooled < RTE_DIM(pool)) {
		pool[pooled++] = fd;
		kept = true;
	}
	pthread_mutex_unlock(&pool_lock);
	if (!kept)
		own_close(fd);
}

/* --- the wait --- */

static void
on_change(struct sock_watch *w)
{
	struct polling *p = ((struct part *)(void *)w)->all;
	const uint64_t one = 1;

	if (p->asleep && !p->told)
		(void)!real()->write(p->event, &one, sizeof(one));
	p->told |= p->asleep;
}

static bool
done(void *arg)
{
	struct polling *p = arg;

	p->ready = 0;
	for (nfds_t i = 0; i < p->n; i++) {
		struct part *t = &p->part[i];

		if (t->f == NULL)
			continue;
		if (!p->watched) {
			t->watch.fn = on_change;
			t->all = p;
			sock_watch_add(t->f->s, &t->watch);
		}
		/* The bits of poll(2) are those of epoll. */
		p->fds[i].revents =
			(short)(sock_ready_now(t->f->s) & ((unsigned int)p->fds[i].events | POLLERR | POLLHUP));
		p->ready += p->fds[i].revents != 0;
	}
	p->watched = true;
	return p->ready != 0 || p->os_ready != 0;
}

static void
asleep(void *arg, bool is)
{
	struct polling *p = arg;
	uint64_t count;

	p->asleep = is;
	if (p->event < 0)
		p->event = event_get();
	if (!is && p->told)
		(void)!real()->read(p->event, &count, sizeof(count));
	p->told = false;
}

static int
sleep_os(void *arg, uint64_t until, struct pollfd *frames)
{
	struct polling *p = arg;
	struct timespec t;
	int k;

	if (p->event < 0)
		return -EMFILE;
	p->os[p->n] = (struct pollfd){.fd = p->event, .events = POLLIN};
	p->os[p->n + 1] = *frames;
	k = real()->ppoll(p->os, p->n + OURS, sock_left(until, &t), p->mask);
	if (k < 0)
		return -errno;
	if (k == 0)
		return -EAGAIN;
	frames->revents = p->os[p->n + 1].revents;
	p->os_ready = k - (p->os[p->n].revents != 0) - (frames->revents != 0);
	return 0;
}

static void
unwatch(struct polling *p)
{
	sock_net_lock(net_now());
	for (nfds_t i = 0; p->watched && i < p->n; i++)
		if (p->part[i].f != NULL)
			sock_watch_del(&p->part[i].watch);
	sock_net_unlock(net_now());
}

static int
both(struct polling *p, uint64_t until)
{
	const struct timespec none = {0};
	int k = p->others ? real()->ppoll(p->os, p->n, &none, NULL) : 0, rc;

	if (k < 0)
		return -errno;
	p->os_ready = k;
	rc = sock_wait(net_now(), &(struct sock_wait){done, asleep, sleep_os, p, true}, until);
	unwatch(p);
	if (p->event >= 0)
		event_put(p->event);
	if (rc != 0 && rc != -EAGAIN)
		return rc;
	for (nfds_t i = 0; i < p->n; i++)
		if (p->part[i].f == NULL)
			p->fds[i].revents = p->os_ready != 0 ? p->os[i].revents : 0;
	return p->ready + p->os_ready;
}

/* Sockets of the engine among the descriptors, held. */
static unsigned int
find(struct polling *p)
{
	unsigned int found = 0;

	for (nfds_t i = 0; i < p->n; i++) {
		struct file *f = file_get(p->fds[i].fd);

		p->os[i] = p->fds[i];
		p->os[i].revents = 0;
		p->part[i].f = NULL;
		if (f != NULL)
			file_begin(p->fds[i].fd, f);
		if (f != NULL && f->s != NULL) {
			p->part[i].f = f;
			p->os[i].fd = -1;
			found++;
		} else {
			p->others |= p->os[i].fd >= 0;
			file_put(f);
		}
	}
	return found;
}

/* Not const: glibc says of poll() that it only writes there, and gcc then takes what is read for uninitialised. */
static bool
any(struct pollfd *fds, nfds_t n)
{
	for (nfds_t i = 0; i < n; i++)
		if (kind_of(fds[i].fd) == SOCKET || kind_of(fds[i].fd) == EPOLL)
			return true;
	return false;
}

/* How many; a negative errno; -ENOSYS: it is the operating system's alone. */
static int
wait_for(struct pollfd *fds, nfds_t n, uint64_t until, const sigset_t *mask)
{
	struct pollfd few_os[FEW + OURS];
	struct part few[FEW];
	struct polling p = {.fds = fds, .os = few_os, .part = few, .n = n, .event = -1, .mask = mask};
	int rc = -ENOSYS;

	for (nfds_t i = 0; i < n; i++)
		if (kind_of(fds[i].fd) == EPOLL)
			ep_nested(fds[i].fd);
	if (n > FEW) {
		p.os = malloc((n + OURS) * sizeof(*p.os));
		p.part = malloc(n * sizeof(*p.part));
	}
	if (p.os == NULL || p.part == NULL)
		rc = -ENOMEM;
	else if (find(&p) != 0)
		rc = both(&p, until);
	for (nfds_t i = 0; rc != -ENOMEM && i < n; i++)
		file_put(p.part[i].f);
	if (n > FEW) {
		free(p.os);
		free(p.part);
	}
	return rc;
}

static uint64_t
until_of(const struct timespec *t)
{
	uint64_t us;

	if (t == NULL)
		return TCP_NEVER;
	us = (uint64_t)t->tv_sec * 1000000 + (uint64_t)(t->tv_nsec + 999) / 1000;
	return us == 0 ? 0 : sock_now() + us;
}

EXPORT int
ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	int rc = -ENOSYS;

	if (any(fds, n) && (timeout == NULL || (timeout->tv_sec >= 0 && timeout->tv_nsec >= 0)))
		rc = wait_for(fds, n, until_of(timeout), mask);
	return rc == -ENOSYS ? real()->ppoll(fds, n, timeout, mask) : (int)result(rc);
}

EXPORT int
poll(struct pollfd *fds, nfds_t n, int timeout)
{
	const struct timespec t = {timeout / 1000, (long)(timeout % 1000) * 1000000};
	int rc = -ENOSYS;

	if (any(fds, n))
		rc = wait_for(fds, n, until_of(timeout < 0 ? NULL : &t), NULL);
	return rc == -ENOSYS ? real()->poll(fds, n, timeout) : (int)result(rc);
}

EXPORT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);
EXPORT int
__poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room)
{
	if (room / sizeof(*fds) < n)
		abort();
	return poll(fds, n, timeout);
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask, size_t room);
EXPORT int
__ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask, size_t room)
{
	if (room / sizeof(*fds) < n)
		abort();
	return ppoll(fds, n, timeout, mask);
}

/* --- select --- */

/* Bitmaps of any length: programs make them longer than FD_SETSIZE. */
static bool
bit(const fd_set *set, int fd)
{
	return set != NULL && (((const unsigned long *)(const void *)set)[fd / (8 * (int)sizeof(long))] >>
				       (fd % (8 * (int)sizeof(long))) &
			       1) != 0;
}

static int
bit_set(fd_set *set, int fd, bool on)
{
	unsigned long *word;

	if (set == NULL)
		return 0;
	word = &((unsigned long *)(void *)set)[fd / (8 * (int)sizeof(long))];
	*word &= ~(1ul << (fd % (8 * (int)sizeof(long))));
	*word |= (unsigned long)on << (fd % (8 * (int)sizeof(long)));
	return on;
}

static bool
any_bit(int n, const fd_set *r, const fd_set *w, const fd_set *e)
{
	for (int i = 0; i < n && (unsigned int)i < fd_max(); i++)
		if ((kind_of(i) == SOCKET || kind_of(i) == EPOLL) && (bit(r, i) || bit(w, i) || bit(e, i)))
			return true;
	return false;
}

static int
select_by_poll(int n, fd_set *r, fd_set *w, fd_set *e, uint64_t until, const sigset_t *mask)
{
	struct pollfd *p = calloc((size_t)n, sizeof(*p));
	nfds_t k = 0;
	int rc, bits = 0;

	if (p == NULL)
		return -ENOMEM;
	for (int i = 0; i < n; i++) {
		const short events =
			(short)((bit(r, i) ? POLLIN : 0) | (bit(w, i) ? POLLOUT : 0) | (bit(e, i) ? POLLPRI : 0));

		if (events != 0)
			p[k++] = (struct pollfd){.fd = i, .events = events};
	}
	rc = wait_for(p, k, until, mask);
	for (nfds_t i = 0; rc >= 0 && i < k; i++)
		if ((p[i].revents & POLLNVAL) != 0)
			rc = -EBADF;
	for (nfds_t i = 0; rc >= 0 && i < k; i++) {
		const short v = p[i].revents;
		const int fd = p[i].fd;

		bits += bit_set(r, fd, bit(r, fd) && (v & (POLLIN | POLLHUP | POLLERR)) != 0);
		bits += bit_set(w, fd, bit(w, fd) && (v & (POLLOUT | POLLERR)) != 0);
		bits += bit_set(e, fd, bit(e, fd) && (v & POLLPRI) != 0);
	}
	free(p);
	return rc < 0 ? rc : bits;
}

EXPORT int
pselect(int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *timeout, const sigset_t *mask)
{
	int rc = -ENOSYS;

	if (any_bit(n, r, w, e) && (timeout == NULL || (timeout->tv_sec >= 0 && timeout->tv_nsec >= 0)))
		rc = select_by_poll(n, r, w, e, until_of(timeout), mask);
	return rc == -ENOSYS ? real()->pselect(n, r, w, e, timeout, mask) : (int)result(rc);
}

/* Linux takes the time that has passed from the time that was given. */
EXPORT int
select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout)
{
	struct timespec t = {0};
	uint64_t until, now;
	int rc;

	if (!any_bit(n, r, w, e) || (timeout != NULL && (timeout->tv_sec < 0 || timeout->tv_usec < 0)))
		return real()->select(n, r, w, e, timeout);
	if (timeout != NULL)
		t = (struct timespec){timeout->tv_sec, timeout->tv_usec * 1000};
	until = until_of(timeout == NULL ? NULL : &t);
	rc = select_by_poll(n, r, w, e, until, NULL);
	if (rc == -ENOSYS)
		return real()->select(n, r, w, e, timeout);
	now = sock_now();
	if (timeout != NULL) {
		timeout->tv_sec = until > now ? (time_t)((until - now) / 1000000) : 0;
		timeout->tv_usec = until > now ? (suseconds_t)((until - now) % 1000000) : 0;
	}
	return (int)result(rc);
}
