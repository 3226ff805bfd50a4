/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Counters of this program's sockets, where a viewer finds them: a file in memory, among the program's descriptors. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "dgram.h"

#define FD_FROM 900 /* where programs have none of their own */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sock_stat *_Atomic page;
static unsigned int next; /* place to look at first */
static atomic_bool failed;

static int
file_make(void)
{
	int fd = memfd_create(SOCK_STAT_FILE, MFD_CLOEXEC | MFD_ALLOW_SEALING), high;

	if (fd < 0)
		return -1;
	high = real()->fcntl(fd, F_DUPFD_CLOEXEC, FD_FROM);
	if (high >= 0) {
		real()->close(fd);
		fd = high;
	}
	/* Nobody can make it shorter below a viewer. */
	if (ftruncate(fd, SOCK_STAT_SIZE) == 0 &&
	    real()->fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return fd;
	real()->close(fd);
	return -1;
}

/* With the lock. */
static struct sock_stat *
make(void)
{
	int fd = file_make();
	struct sock_stat *p = MAP_FAILED;

	if (fd >= 0)
		p = mmap(NULL, SOCK_STAT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		if (fd >= 0)
			real()->close(fd);
		return NULL;
	}
	own_add(fd);
	/* A child of fork() has counters of its own. */
	(void)madvise(p, SOCK_STAT_SIZE, MADV_DONTFORK);
	p->version = SOCK_STAT_VERSION;
	p->pid = getpid();
	__atomic_store_n(&p->magic, SOCK_STAT_MAGIC, __ATOMIC_RELEASE);
	return p;
}

struct sock_stat *
stat_page(void)
{
	if (page != NULL || failed)
		return page;
	pthread_mutex_lock(&lock);
	if (page == NULL && !failed)
		page = make();
	failed = page == NULL;
	pthread_mutex_unlock(&lock);
	return page;
}

void
stat_fork_child(void)
{
	page = NULL;
	failed = false;
	pthread_mutex_init(&lock, NULL);
}

void
stat_open(int fd, struct file *f)
{
	struct sock_stat *p = stat_page();
	struct sock_stat_socket *t = NULL;

	/* There may be a place by now, but looking costs too much for each call. */
	if (p == NULL || f->unlisted)
		return;
	pthread_mutex_lock(&lock);
	/* Another thread was faster. */
	if (f->stat != NULL || f->unlisted) {
		pthread_mutex_unlock(&lock);
		return;
	}
	for (unsigned int i = 0; t == NULL && i < SOCK_STAT_SOCKETS; i++)
		if (p->socket[(next + i) % SOCK_STAT_SOCKETS].used == 0)
			t = &p->socket[(next + i) % SOCK_STAT_SOCKETS];
	if (t == NULL) {
		p->unlisted++;
		f->unlisted = true;
	} else {
		next = (unsigned int)(t - p->socket) + 1;
		*t = (struct sock_stat_socket){.fd = fd, .type = f->dgram != NULL ? SOCK_DGRAM : SOCK_STREAM};
		__atomic_store_n(&t->used, 1, __ATOMIC_RELEASE);
	}
	f->stat = t;
	pthread_mutex_unlock(&lock);
}

void
stat_close(struct file *f)
{
	struct sock_stat *p = page;
	struct sock_stat_socket *t = f->stat;

	if (f->unlisted) {
		pthread_mutex_lock(&lock);
		p->unlisted--;
		pthread_mutex_unlock(&lock);
	}
	if (t == NULL)
		return;
	if (f->s != NULL) {
		sock_count_in(f->s, NULL);
		sock_state_in(f->s, NULL);
	}
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < SOCK_COUNTS; i++)
		p->ended[i] += t->count[i];
	__atomic_store_n(&t->used, 0, __ATOMIC_RELEASE);
	next = RTE_MIN(next, (unsigned int)(t - p->socket));
	f->stat = NULL;
	pthread_mutex_unlock(&lock);
}

static void
names(struct sock_stat_socket *t, const struct tcp_addr *local, const struct tcp_addr *remote)
{
	t->local_ip = local->ip;
	t->local_port = local->port;
	t->remote_ip = remote->ip;
	t->remote_port = remote->port;
}

void
stat_began(struct file *f)
{
	struct tcp_addr local = {0}, remote = {0};

	if (f->stat == NULL || f->s == NULL)
		return;
	sock_count_in(f->s, f->stat->count);
	if (f->dgram != NULL) {
		sock_dgram_name(f->s, &local, &remote);
	} else {
		sock_state_in(f->s, &f->stat->state);
		(void)sock_name(f->s, &local, &remote);
	}
	f->stat->engine = f->waits < 0;
	f->stat->listens = f->forced;
	names(f->stat, &local, &remote);
}

static void
os_name(__typeof__(getsockname) *get, int fd, struct tcp_addr *addr)
{
	struct sockaddr_in in;
	socklen_t len = sizeof(in);

	if (get(fd, (struct sockaddr *)&in, &len) == 0)
		(void)addr_inet((const struct sockaddr *)&in, len, addr);
}

void
stat_named(int fd, struct file *f)
{
	struct tcp_addr local = {0}, remote = {0};
	const int saved = errno;

	if (f == NULL)
		return;
	if (f->stat == NULL)
		stat_open(fd, f);
	if (f->s != NULL) {
		stat_began(f);
	} else if (f->stat != NULL) {
		os_name(real()->getsockname, fd, &local);
		os_name(real()->getpeername, fd, &remote);
		f->stat->engine = f->stat->state = 0;
		names(f->stat, &local, &remote);
	}
	errno = saved;
}

ssize_t
stat_os_socket(int fd, unsigned int first, ssize_t rc)
{
	struct file *f = file_get(fd);
	uint64_t *c;

	if (f != NULL && f->stat == NULL)
		stat_open(fd, f);
	if (f != NULL && f->stat != NULL) {
		c = f->stat->count + first;
		if (rc >= 0) {
			__atomic_fetch_add(c, rc != 0 || f->dgram != NULL, __ATOMIC_RELAXED);
			__atomic_fetch_add(c + 1, (uint64_t)rc, __ATOMIC_RELAXED);
		} else {
			__atomic_fetch_add(c + (errno == EAGAIN ? 3 : 2), 1, __ATOMIC_RELAXED);
		}
	}
	file_put(f);
	return rc;
}

void
stat_group(rte_be32_t group, bool on)
{
	struct sock_stat *p = page;

	for (unsigned int i = 0; p != NULL && i < SOCK_STAT_GROUPS; i++) {
		if (p->group[i] != (on ? 0 : group))
			continue;
		p->group[i] = on ? group : 0;
		break;
	}
}
