/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What each descriptor of the program is. A number that is nothing here costs a load. */
#include <stdlib.h>
#include <sys/mman.h>

#include "dgram.h"

#define FDS (1u << 20)

struct entry {
	enum kind kind;
	void *_Atomic what;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Only pages of it that are used take memory. */
static struct entry *_Atomic table;
static atomic_uint top; /* no number from here on stands for anything */

static struct entry *
all(void)
{
	struct entry *t = table;

	if (t != NULL)
		return t;
	pthread_mutex_lock(&lock);
	if (table == NULL) {
		t = mmap(NULL, FDS * sizeof(*t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			 -1, 0);
		table = t == MAP_FAILED ? NULL : t;
	}
	t = table;
	pthread_mutex_unlock(&lock);
	return t;
}

enum kind
kind_of(int fd)
{
	return table == NULL || (unsigned int)fd >= FDS ? NONE : __atomic_load_n(&table[fd].kind, __ATOMIC_ACQUIRE);
}

unsigned int
fd_max(void)
{
	return top;
}

static int
put(int fd, enum kind kind, void *what)
{
	struct entry *t = all();

	if (t == NULL || (unsigned int)fd >= FDS)
		return -1;
	pthread_mutex_lock(&lock);
	t[fd].what = what;
	__atomic_store_n(&t[fd].kind, kind, __ATOMIC_RELEASE);
	if (top <= (unsigned int)fd)
		top = (unsigned int)fd + 1;
	pthread_mutex_unlock(&lock);
	return 0;
}

/* --- fork --- */

void
table_fork(enum fork_step step)
{
	if (step == FORK_PREPARE)
		pthread_mutex_lock(&lock);
	/* Shadows of the parent's connections stay, which are no connections; of its listeners, the other halves. */
	for (unsigned int i = 0; step == FORK_CHILD && i < top; i++) {
		struct file *f = table[i].kind == SOCKET ? table[i].what : NULL;

		if (f != NULL) {
			f->wants |= f->dgram != NULL && f->s != NULL;
			f->s = NULL;
			f->stat = NULL;
			f->unlisted = false;
			f->claim = f->waits = -1;
			f->looked = false;
			/* The net's thread of the parent may have had it. */
			pthread_mutex_init(&f->lock, NULL);
		}
		if (table[i].kind == OWN) {
			table[i].kind = NONE;
			real()->close((int)i);
		}
	}
	if (step == FORK_CHILD)
		stat_fork_child();
	if (step != FORK_PREPARE)
		pthread_mutex_unlock(&lock);
}

/* --- sockets --- */

struct file *
file_new(bool nonblock)
{
	struct file *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->refs = 1;
	f->nonblock = nonblock;
	f->claim = f->waits = -1;
	pthread_mutex_init(&f->lock, NULL);
	return f;
}

int
file_add(int fd, struct file *f)
{
	if (f->stat == NULL)
		stat_open(fd, f);
	return put(fd, SOCKET, f);
}

struct file *
file_get(int fd)
{
	struct file *f = NULL;

	if (kind_of(fd) != SOCKET)
		return NULL;
	pthread_mutex_lock(&lock);
	if (table[fd].kind == SOCKET) {
		f = table[fd].what;
		f->refs++;
	}
	pthread_mutex_unlock(&lock);
	return f;
}

bool
file_is(int fd, const struct file *f)
{
	return table[fd].what == f;
}

void
file_each(void (*fn)(int fd, struct file *f))
{
	for (unsigned int i = 0; i < top; i++) {
		struct file *f = file_get((int)i);

		if (f != NULL)
			fn((int)i, f);
		file_put(f);
	}
}

void
file_put(struct file *f)
{
	if (f == NULL || --f->refs != 0)
		return;
	stat_close(f);
	if (f->s != NULL) {
		if (f->ends != NULL)
			f->ends(f);
		sock_close(f->s);
	}
	own_close(f->claim);
	own_close(f->waits);
	dgram_free(f->dgram);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* --- epoll sets, and what is this library's --- */

struct ep *
ep_get(int fd)
{
	struct ep *e = NULL;

	if (kind_of(fd) != EPOLL)
		return NULL;
	/* Another thread may close it just now. */
	pthread_mutex_lock(&lock);
	if (table[fd].kind == EPOLL) {
		e = table[fd].what;
		((struct ep_head *)(void *)e)->refs++;
	}
	pthread_mutex_unlock(&lock);
	return e;
}

int
ep_put_at(int fd, struct ep *e)
{
	return put(fd, EPOLL, e);
}

/* A child of fork() has copies, which nobody there needs. */
void
own_add(int fd)
{
	(void)put(fd, OWN, (void *)(intptr_t)getpid());
}

void
own_close(int fd)
{
	if (fd < 0)
		return;
	if (kind_of(fd) == OWN)
		(void)put(fd, NONE, NULL);
	real()->close(fd);
}

bool
own_is(int fd)
{
	return kind_of(fd) == OWN && table[fd].what == (void *)(intptr_t)getpid();
}

bool
fd_any_own(unsigned int first, unsigned int last, unsigned int *at)
{
	for (; first <= last && first < top; first++) {
		if (own_is((int)first)) {
			*at = first;
			return true;
		}
	}
	return false;
}

/* --- numbers --- */

enum kind
fd_take(int fd, void **what)
{
	enum kind kind = kind_of(fd);

	if (kind == NONE || kind == OWN)
		return NONE;
	/* Of two threads that close a number one gets what it was. */
	pthread_mutex_lock(&lock);
	kind = table[fd].kind;
	if (kind == SOCKET || kind == EPOLL) {
		*what = table[fd].what;
		__atomic_store_n(&table[fd].kind, NONE, __ATOMIC_RELEASE);
		table[fd].what = NULL;
	} else {
		kind = NONE;
	}
	pthread_mutex_unlock(&lock);
	return kind;
}

void
fd_copy(int fd, int from)
{
	struct file *f = file_get(from);

	if (f != NULL && file_add(fd, f) != 0)
		file_put(f);
}
