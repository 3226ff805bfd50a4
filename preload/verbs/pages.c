/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Memory of this program that the card may reach. The owner of the port has to have it, too, so pages of a region become pages
 * of a file, where they are and with what is in them: for the program nothing changes. The kernel's list of mappings says which
 * pages are of such files already, whatever the program did to its memory since.
 *
 * While pages are exchanged, a thread that writes into them waits in the handler of its fault. A child of fork() gets copies of
 * its own, as of any memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs_client.h"

#define PAGE 4096u
#define FILE_NAME "triplane-region"

/* Pages of one file that were exchanged; never forgotten, since the program may still have some of them. */
struct segment {
	struct segment *next;
	uintptr_t start, end;
	uintptr_t attached; /* where a segment of System V began that had these pages, 0: none */
	ino_t ino;
	int fd;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct segment *segments;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* --- faults while pages are exchanged --- */

static _Atomic uintptr_t busy_start, busy_end;
static struct sigaction old_action;

static void
on_fault(int sig, siginfo_t *info, void *ctx)
{
	uintptr_t at = (uintptr_t)info->si_addr;

	if (at >= busy_start && at < busy_end) {
		/* Then the write is tried again. */
		while (at >= busy_start && at < busy_end)
			sched_yield();
		return;
	}
	if ((old_action.sa_flags & SA_SIGINFO) != 0) {
		old_action.sa_sigaction(sig, info, ctx);
	} else if (old_action.sa_handler != SIG_DFL && old_action.sa_handler != SIG_IGN) {
		old_action.sa_handler(sig);
	} else {
		/* The fault comes again, and ends the program as it would have. */
		signal(sig, SIG_DFL);
	}
}

static void
guard(uintptr_t start, uintptr_t end)
{
	struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};

	sigaction(SIGSEGV, &a, &old_action);
	busy_start = start;
	busy_end = end;
}

static void
unguard(void)
{
	busy_end = 0;
	busy_start = 0;
	sigaction(SIGSEGV, &old_action, NULL);
}

/* --- exchange --- */

/*
 * Libraries that watch memory (UCX) put functions of their own in front of libc's: theirs of mremap() loses the last argument,
 * and what happens here is no change of memory that a program must hear of.
 */
static bool
move(void *from, size_t len, void *to)
{
	return syscall(SYS_mremap, from, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to) != -1;
}

static int
file_make(size_t len)
{
	int fd = memfd_create(FILE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)len) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

/* [start, end) has the same rights everywhere. EINVAL: its pages are larger, and this is no number of them. */
static int
exchange(uintptr_t start, uintptr_t end, int prot, struct segment **out)
{
	size_t len = end - start;
	struct segment *s = calloc(1, sizeof(*s));
	void *tmp = MAP_FAILED;
	struct stat st;
	int err = 0;

	if (s == NULL)
		return ENOMEM;
	s->fd = file_make(len);
	if (s->fd >= 0)
		tmp = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (tmp == MAP_FAILED || fstat(s->fd, &st) != 0) {
		err = errno;
		goto fail;
	}
	guard(start, end);
	if (mprotect((void *)start, len, PROT_READ) == 0) {
		memcpy(tmp, (const void *)start, len);
		if ((prot & PROT_WRITE) == 0 && mprotect(tmp, len, prot) != 0)
			err = errno;
		if (err == 0 && !move(tmp, len, (void *)start))
			err = errno;
		if (err != 0)
			(void)mprotect((void *)start, len, prot);
	} else {
		err = errno;
	}
	unguard();
	if (err != 0)
		goto fail;
	s->start = start;
	s->end = end;
	s->ino = st.st_ino;
	s->next = segments;
	segments = s;
	*out = s;
	return 0;

fail:
	if (tmp != MAP_FAILED)
		munmap(tmp, len);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
	return err;
}

/* --- what is mapped --- */

struct mapping {
	uintptr_t start, end;
	uint64_t off;
	ino_t ino;
	int prot;
	bool shared, ours, stack, sysv;
};

static bool
parse(const char *line, struct mapping *m)
{
	unsigned long start, end, ino;
	char perms[5], path[64] = "";
	uint64_t off;

	if (sscanf(line, "%lx-%lx %4s %" SCNx64 " %*s %lu %63[^\n]", &start, &end, perms, &off, &ino, path) < 5)
		return false;
	*m = (struct mapping){
		.start = start,
		.end = end,
		.off = off,
		.ino = ino,
		.prot = (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
			(perms[2] == 'x' ? PROT_EXEC : 0),
		.shared = perms[3] == 's',
		.ours = strncmp(path, "/memfd:" FILE_NAME, sizeof("/memfd:" FILE_NAME) - 1) == 0,
		.stack = strncmp(path, "[stack", 6) == 0,
		.sysv = strncmp(path, "/SYSV", 5) == 0,
	};
	return true;
}

static struct segment *
segment_of(ino_t ino)
{
	struct segment *s = segments;

	while (s != NULL && s->ino != ino)
		s = s->next;
	return s;
}

/*
 * A segment of System V that is attached once is this program's alone, such as huge pages that shmget() gave. The kernel counts
 * each mapping of it; its inode is its identifier.
 */
static bool
sysv_is_own(const struct mapping *m)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long here = 0;
	struct shmid_ds ds;
	struct mapping one;
	char line[512];

	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
		/* Elsewhere it is attached again. */
		if (parse(line, &one) && one.sysv && one.ino == m->ino)
			here += one.start - one.off == m->start - m->off ? 1 : ULONG_MAX / 2;
	if (maps != NULL)
		fclose(maps);
	return shmctl((int)m->ino, IPC_STAT, &ds) == 0 && ds.shm_nattch == here;
}

/* As little of [start, end) of a mapping as its pages allow: those of the kernel's page tables may be 2 MiB or 1 GiB long. */
static int
exchange_pages(const struct mapping *m, uintptr_t start, uintptr_t end, struct segment **out)
{
	static const size_t sizes[] = {PAGE, 2u << 20, 1u << 30};
	int err = EINVAL;

	for (unsigned int i = 0; i < RTE_DIM(sizes) && err == EINVAL; i++) {
		uintptr_t from = RTE_ALIGN_FLOOR(start, sizes[i]), to = RTE_ALIGN_CEIL(end, sizes[i]);

		if (from >= m->start && to <= m->end)
			err = exchange(from, to, m->prot, out);
	}
	if (err == 0 && m->sysv)
		(*out)->attached = m->start - m->off;
	return err;
}

/* Pages that are not the segment's any more the kernel would leave where they are. */
VC_EXPORT int
shmdt(const void *addr)
{
	int rc = (int)syscall(SYS_shmdt, addr), err = errno;

	pthread_mutex_lock(&lock);
	for (struct segment *s = segments; s != NULL; s = s->next)
		if (addr != NULL && s->attached == (uintptr_t)addr) {
			s->attached = 0;
			rc = munmap((void *)s->start, s->end - s->start);
			err = errno;
		}
	pthread_mutex_unlock(&lock);
	errno = err;
	return rc;
}

/* The piece of a mapping that lies in [start, end). */
static int
piece_of(const struct mapping *m, uintptr_t start, uintptr_t end, struct share_piece *piece, int *fd)
{
	struct segment *s = NULL;
	int err = 0;

	start = RTE_MAX(start, m->start);
	end = RTE_MIN(end, m->end);
	if (m->ours)
		s = segment_of(m->ino);
	if (s == NULL) {
		/* Others have it too, or this function runs on it. */
		if ((m->shared && !(m->sysv && sysv_is_own(m))) || m->stack || (m->prot & PROT_READ) == 0)
			return EFAULT;
		err = exchange_pages(m, start, end, &s);
		piece->off = err == 0 ? start - s->start : 0;
	} else {
		piece->off = m->off + (start - m->start);
	}
	if (err != 0)
		return err;
	piece->len = end - start;
	*fd = s->fd;
	return 0;
}

static int
pieces_of(FILE *maps, uintptr_t start, uintptr_t end, struct share_piece *piece, int *fds, uint32_t *num)
{
	uintptr_t at = start;
	struct mapping m[SHARE_PIECES];
	uint32_t n = 0;
	char line[512];
	int err = 0;

	/* All of it first, because exchanging changes the list. */
	while (at < end && fgets(line, sizeof(line), maps) != NULL) {
		struct mapping one;

		if (!parse(line, &one) || one.end <= at || one.start >= end)
			continue;
		if (one.start > at)
			return EFAULT;
		if (n == SHARE_PIECES)
			return ENOMEM;
		m[n++] = one;
		at = one.end;
	}
	if (at < end)
		return EFAULT;
	for (*num = 0; *num < n && err == 0; ++*num)
		err = piece_of(&m[*num], start, end, &piece[*num], &fds[*num]);
	return err;
}

/* --- fork --- */

/*
 * The child's pages must be its own before the parent goes on, which changes them: the parent waits until the other end of a
 * pipe is closed. The heap may lie in these pages, so that nothing of it is used meanwhile.
 */
static int gate[2] = {-1, -1};

static void
own_copy(const struct mapping *m)
{
	size_t len = m->end - m->start;
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		return;
	memcpy(mem, (const void *)m->start, len);
	if (m->prot != (PROT_READ | PROT_WRITE))
		(void)mprotect(mem, len, m->prot);
	if (!move(mem, len, (void *)m->start))
		munmap(mem, len);
}

/* The next line of the list of mappings; the rest stays in text. False: there is none. */
static bool
next_line(int fd, char *text, size_t size, size_t *have, char *line, size_t line_size)
{
	char *end = memchr(text, '\n', *have);
	size_t len;

	while (end == NULL) {
		ssize_t n = read(fd, text + *have, size - *have);

		if (n <= 0)
			return false;
		end = memchr(text + *have, '\n', (size_t)n);
		*have += (size_t)n;
	}
	len = (size_t)(end - text);
	memcpy(line, text, RTE_MIN(len, line_size - 1));
	line[RTE_MIN(len, line_size - 1)] = '\0';
	*have -= len + 1;
	memmove(text, end + 1, *have);
	return true;
}

#define LINE_MAX_LEN 4608u /* a path of 4096 octets and what is in front */

static void
own_copies(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char text[2 * LINE_MAX_LEN], line[LINE_MAX_LEN];
	struct mapping m;
	size_t have = 0;

	while (fd >= 0 && next_line(fd, text, sizeof(text), &have, line, sizeof(line)))
		if (parse(line, &m) && m.ours && (m.prot & PROT_READ) != 0)
			own_copy(&m);
	if (fd >= 0)
		close(fd);
}

static void
fork_prepare(void)
{
	pthread_mutex_lock(&lock);
	if (segments != NULL && pipe2(gate, O_CLOEXEC) != 0)
		gate[0] = gate[1] = -1;
}

static void
gate_close(unsigned int end)
{
	if (gate[end] >= 0)
		close(gate[end]);
	gate[end] = -1;
}

static void
fork_parent(void)
{
	char none;

	gate_close(1);
	if (gate[0] >= 0)
		while (read(gate[0], &none, 1) < 0 && errno == EINTR)
			;
	gate_close(0);
	pthread_mutex_unlock(&lock);
}

static void
fork_child(void)
{
	gate_close(0);
	if (segments != NULL)
		own_copies();
	/* What the parent registered is not the child's. */
	segments = NULL;
	gate_close(1);
	pthread_mutex_unlock(&lock);
}

static void
init(void)
{
	(void)pthread_atfork(fork_prepare, fork_parent, fork_child);
}

int
vc_pages_share(const void *addr, size_t len, struct share_piece *piece, int *fds, uint32_t *num)
{
	uintptr_t start = RTE_ALIGN_FLOOR((uintptr_t)addr, PAGE), end = RTE_ALIGN_CEIL((uintptr_t)addr + len, PAGE);
	FILE *maps;
	int err;

	if (len == 0 || end <= start)
		return EINVAL;
	(void)pthread_once(&once, init);
	pthread_mutex_lock(&lock);
	maps = fopen("/proc/self/maps", "re");
	err = maps == NULL ? errno : pieces_of(maps, start, end, piece, fds, num);
	if (maps != NULL)
		fclose(maps);
	pthread_mutex_unlock(&lock);
	return err;
}
