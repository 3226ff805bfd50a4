/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Programs and their counters: each has a file in memory open, which the kernel lists among its descriptors. What it has in there is
 * its own word, so that nothing is believed that could lead anywhere: sizes are fixed, and nobody can make the file shorter.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sock_programs.h"

#define LINK "/memfd:" SOCK_STAT_FILE

static void
name_of(int pid, char *name, size_t len)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (f == NULL || fgets(name, (int)len, f) == NULL)
		snprintf(name, len, "?");
	if (f != NULL)
		fclose(f);
	for (char *c = name; *c != '\0'; c++) {
		if (*c == '\n')
			*c = '\0';
		else if (!isprint((unsigned char)*c) || *c == '"' || *c == '\\')
			*c = '?';
	}
}

static struct sock_stat *
map(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	struct sock_stat *m = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof(*m) && (fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK) != 0)
		m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (m == MAP_FAILED)
		return NULL;
	if (__atomic_load_n(&m->magic, __ATOMIC_ACQUIRE) == SOCK_STAT_MAGIC && m->version == SOCK_STAT_VERSION)
		return m;
	munmap(m, sizeof(*m));
	return NULL;
}

static void
take_off(uint64_t *count, const uint64_t *zero, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		count[i] -= zero[i];
}

static void
add(struct programs *p, int pid, struct sock_stat *m)
{
	struct program **all = realloc(p->one, (p->num + 1) * sizeof(*all));
	struct program *one = malloc(sizeof(*one));

	if (all != NULL)
		p->one = all;
	if (all == NULL || one == NULL) {
		free(one);
		munmap(m, sizeof(*m));
		return;
	}
	one->map = m;
	memcpy(&one->stat, m, sizeof(one->stat));
	one->stat.pid = pid;
	take_off(one->stat.ring, one->stat.ring_zero, SOCK_RING_COUNTS);
	take_off(one->stat.tcp, one->stat.tcp_zero, SOCK_TCP_COUNTS);
	take_off(one->stat.ended, one->stat.ended_zero, SOCK_COUNTS);
	for (unsigned int i = 0; i < SOCK_STAT_SOCKETS; i++)
		if (one->stat.socket[i].used != 0)
			take_off(one->stat.socket[i].count, one->stat.socket[i].zero, SOCK_COUNTS);
	name_of(pid, one->name, sizeof(one->name));
	p->one[p->num++] = one;
}

static void
look_at(struct programs *p, int pid)
{
	char dir[64], path[384], to[sizeof(LINK) + 16];
	struct sock_stat *m = NULL;
	struct dirent *e;
	ssize_t n;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%d/fd", pid);
	d = opendir(dir);
	while (d != NULL && m == NULL && (e = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		n = readlink(path, to, sizeof(to) - 1);
		if (n < (ssize_t)strlen(LINK))
			continue;
		to[n] = '\0';
		if (strcmp(to, LINK) == 0 || strcmp(to, LINK " (deleted)") == 0)
			m = map(path);
	}
	if (d != NULL)
		closedir(d);
	/* A copy of the descriptor is its parent's. */
	if (m != NULL)
		add(p, pid, m);
}

static int
by_pid(const void *a, const void *b)
{
	const struct program *x = *(struct program *const *)a, *y = *(struct program *const *)b;

	return x->stat.pid < y->stat.pid ? -1 : x->stat.pid > y->stat.pid;
}

void
programs_read(int pid, struct programs *p)
{
	DIR *d = pid == 0 ? opendir("/proc") : NULL;
	struct dirent *e;

	if (pid != 0)
		look_at(p, pid);
	while (d != NULL && (e = readdir(d)) != NULL)
		if (isdigit((unsigned char)e->d_name[0]))
			look_at(p, atoi(e->d_name));
	if (d != NULL)
		closedir(d);
	if (p->num > 1)
		qsort(p->one, p->num, sizeof(*p->one), by_pid);
}

void
programs_zero(struct programs *p)
{
	for (unsigned int i = 0; i < p->num; i++) {
		struct sock_stat *m = p->one[i]->map;

		memcpy(m->ring_zero, m->ring, sizeof(m->ring));
		memcpy(m->tcp_zero, m->tcp, sizeof(m->tcp));
		memcpy(m->ended_zero, m->ended, sizeof(m->ended));
		for (unsigned int k = 0; k < SOCK_STAT_SOCKETS; k++)
			if (m->socket[k].used != 0)
				memcpy(m->socket[k].zero, m->socket[k].count, sizeof(m->socket[k].count));
	}
}

void
programs_free(struct programs *p)
{
	for (unsigned int i = 0; i < p->num; i++) {
		munmap(p->one[i]->map, sizeof(*p->one[i]->map));
		free(p->one[i]);
	}
	free(p->one);
	*p = (struct programs){0};
}
