/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Descriptors that stand for the device. A number alone does not say what it is now: programs close descriptors in ways that
 * are not seen here (close_range(2), an end of vfork(2)), so each one is known by its socket, too.
 *
 * All channels of a process are on one connection to the owner. A child of fork() is another process and has none; what it
 * opens itself goes by a connection of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "rdmacm.h"

#define PAGE 1024 /* descriptors */
#define PAGES 1024
#define MISC_MAJOR 10 /* of the kernel's device; its minor number is any */

struct channel {
	struct file_channel id;
	unsigned int fds;
	pid_t pid;
	dev_t dev;
	ino_t ino; /* of its socket */
};

int file_any;
static struct channel **pages[PAGES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of pages and of the connection */
static int owner = -1;
static pid_t owner_pid; /* whose connection it is */
static dev_t owner_dev; /* and which socket */
static ino_t owner_ino;
/* This thread is at work here: what it closes is none of the program's. */
static __thread bool inside;

/* A thread that is cancelled must not take the lock along. */
static int
enter(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_mutex_lock(&lock);
	inside = true;
	return state;
}

static void
leave(int state)
{
	inside = false;
	pthread_mutex_unlock(&lock);
	pthread_setcancelstate(state, NULL);
}

static bool
is_it(int fd, dev_t dev, ino_t ino)
{
	struct stat st;

	return fstatat(fd, "", &st, AT_EMPTY_PATH) == 0 && st.st_dev == dev && st.st_ino == ino;
}

static void
fork_prepare(void)
{
	pthread_mutex_lock(&lock);
	inside = true;
}

static void
fork_done(void)
{
	inside = false;
	pthread_mutex_unlock(&lock);
}

static void
fork_child(void)
{
	if (owner >= 0 && is_it(owner, owner_dev, owner_ino))
		close(owner);
	owner = -1;
	inside = false;
	pthread_mutex_unlock(&lock);
}

static void __attribute__((constructor)) fork_init(void)
{
	(void)pthread_atfork(fork_prepare, fork_done, fork_child);
}

bool
file_maybe(int fd)
{
	struct channel **page =
		fd < 0 || fd >= PAGE * PAGES ? NULL : __atomic_load_n(&pages[fd / PAGE], __ATOMIC_ACQUIRE);

	return page != NULL && !inside && __atomic_load_n(&page[fd % PAGE], __ATOMIC_RELAXED) != NULL;
}

/* --- the table; with the lock --- */

static struct channel **
place(int fd, bool make)
{
	struct channel ***page;

	if (fd < 0 || fd >= PAGE * PAGES)
		return NULL;
	page = &pages[fd / PAGE];
	if (*page == NULL && make)
		__atomic_store_n(page, calloc(PAGE, sizeof(**page)), __ATOMIC_RELEASE);
	return *page == NULL ? NULL : &(*page)[fd % PAGE];
}

static struct channel *
channel_at(int fd)
{
	struct channel **p = place(fd, false);

	return p != NULL && *p != NULL && is_it(fd, (*p)->dev, (*p)->ino) ? *p : NULL;
}

/* The lock is held, by a thread of the process that has the connection. */
static int
ask(struct share_msg *m, int *fd)
{
	/* The program may have closed it, and have something else at its number. */
	if (owner >= 0 && !is_it(owner, owner_dev, owner_ino))
		owner = -1;
	return owner < 0 ? EIO : owner_ask(owner, m, NULL, 0, fd, fd == NULL ? 0 : 1);
}

static void
forget(struct channel **p)
{
	struct channel *ch = *p;
	struct share_msg m = {.op = SHARE_CM_CLOSE, .handle = ch->id.number};

	__atomic_store_n(p, NULL, __ATOMIC_RELAXED);
	if (--ch->fds != 0)
		return;
	if (ch->pid == owner_pid)
		(void)ask(&m, NULL);
	free(ch);
}

static int
remember(int fd, struct channel *ch)
{
	struct channel **p = place(fd, true);

	if (p == NULL)
		return ENOMEM;
	if (*p != NULL)
		forget(p);
	__atomic_store_n(p, ch, __ATOMIC_RELAXED);
	ch->fds++;
	__atomic_store_n(&file_any, 1, __ATOMIC_RELAXED);
	return 0;
}

/* --- opening --- */

static int
channel_make(int fd, uint32_t number)
{
	static uint64_t serial;
	struct channel *ch = calloc(1, sizeof(*ch));
	struct stat st;
	int err = ENOMEM;

	if (ch != NULL && fstatat(fd, "", &st, AT_EMPTY_PATH) == 0) {
		*ch = (struct channel){.id = {number, ++serial}, .pid = owner_pid, .dev = st.st_dev, .ino = st.st_ino};
		err = remember(fd, ch);
	}
	if (err != 0)
		free(ch);
	return err;
}

static int
open_it(int flags, int *fd)
{
	struct share_msg m = {.op = SHARE_CM_OPEN};
	int err;

	if (owner >= 0 && !is_it(owner, owner_dev, owner_ino))
		owner = -1;
	if (owner < 0) {
		struct stat st = {0};

		owner = owner_connect(owner_path());
		owner_pid = getpid();
		(void)fstatat(owner, "", &st, AT_EMPTY_PATH);
		owner_dev = st.st_dev;
		owner_ino = st.st_ino;
	}
	if (owner < 0)
		return ENXIO;
	err = ask(&m, fd);
	if (err == 0 && *fd < 0)
		err = EPROTO;
	if (err != 0)
		return err;
	if ((flags & O_CLOEXEC) == 0)
		(void)fcntl(*fd, F_SETFD, 0);
	if ((flags & O_NONBLOCK) != 0)
		(void)fcntl(*fd, F_SETFL, fcntl(*fd, F_GETFL) | O_NONBLOCK);
	err = channel_make(*fd, m.handle);
	if (err != 0) {
		close(*fd);
		m = (struct share_msg){.op = SHARE_CM_CLOSE, .handle = m.handle};
		(void)ask(&m, NULL);
	}
	return err;
}

int
file_open(int flags)
{
	int state = enter(), fd = -1, err = open_it(flags, &fd);
	bool none = owner < 0;

	leave(state);
	if (err == 0)
		return fd;
	errno = err;
	return none ? -2 : -1;
}

/* --- what a descriptor is --- */

enum file_kind
file_of(int fd, struct file_channel *channel)
{
	enum file_kind kind = FILE_OTHER;
	struct channel *ch;
	int state = enter();

	ch = channel_at(fd);
	if (ch != NULL) {
		*channel = ch->id;
		kind = ch->pid == getpid() ? FILE_OURS : FILE_PARENTS;
	}
	leave(state);
	return kind;
}

/* The lock is held. The table of a child of vfork() is its parent's. */
static void
drop(int fd)
{
	struct channel **p = place(fd, false);

	if (p != NULL && *p != NULL && (owner < 0 || owner_pid == getpid()))
		forget(p);
}

/* All with the lock, so that another thread finds it as it was, or finds it closed. */
int
file_close(int fd)
{
	int state = enter(), rc = close(fd), err = errno;

	drop(fd);
	leave(state);
	errno = err;
	return rc;
}

/* to is a copy of fd now; the lock is held. */
static void
copied(int fd, int to)
{
	struct channel *ch = channel_at(fd);

	if (ch != NULL && ch->pid == getpid())
		(void)remember(to, ch);
	else
		drop(to);
}

void
file_copied(int fd, int to)
{
	int state = enter();

	copied(fd, to);
	leave(state);
}

int
file_dup(int fd, int to, const int *flags)
{
	int state = enter(), rc = flags == NULL ? dup2(fd, to) : dup3(fd, to, *flags), err = errno;

	if (rc >= 0 && fd != to)
		copied(fd, to);
	leave(state);
	errno = err;
	return rc;
}

void
file_stat(struct stat *st)
{
	struct stat real;

	*st = (struct stat){
		.st_mode = S_IFCHR | 0666, .st_nlink = 1, .st_blksize = 4096, .st_rdev = makedev(MISC_MAJOR, 0)};
	/* A kernel that has the device, too, has told librdmacm its number. */
	if (fstatat(AT_FDCWD, RDMACM_DEVICE, &real, 0) == 0 && S_ISCHR(real.st_mode))
		st->st_rdev = real.st_rdev;
}

int
file_ask(struct share_msg *m)
{
	int state = enter(), err = ask(m, NULL);

	leave(state);
	return err;
}
