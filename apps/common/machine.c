/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/file.h>
#include <sys/mman.h>

#include <rte_common.h>
#include <rte_config.h>

#include "choose.h"
#include "machine.h"

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/*
 * A mapping reserves all its pages or fails. One of them is taken, too: where a control group allows none, only that
 * fails. Kernels that do not know the advice answer EINVAL, and the reservation has to do.
 */
static bool
pages_of(unsigned int shift, size_t len)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (int)(shift << MAP_HUGE_SHIFT);
	const size_t page = (size_t)1 << shift;
	void *at;
	bool usable;

	len = RTE_ALIGN_CEIL(len, page);
	at = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (at == MAP_FAILED)
		return false;
	usable = madvise(at, page, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
	munmap(at, len);
	return usable;
}

bool
machine_pages(unsigned int mib)
{
	const size_t len = (size_t)mib << 20;

	return pages_of(21, len) || pages_of(30, len);
}

bool
machine_mount(char *where, size_t len, bool *writable)
{
	FILE *f = setmntent("/proc/self/mounts", "r");
	struct mntent *m;
	bool found = false;

	*writable = false;
	if (f == NULL)
		return false;
	while (!*writable && (m = getmntent(f)) != NULL) {
		if (strcmp(m->mnt_type, "hugetlbfs") != 0)
			continue;
		found = true;
		snprintf(where, len, "%s", m->mnt_dir);
		*writable = access(m->mnt_dir, R_OK | W_OK | X_OK) == 0;
	}
	endmntent(f);
	return found;
}

unsigned int
machine_cpus(int *cpu, unsigned int max)
{
	cpu_set_t set;
	unsigned int n = 0;
	int i;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 0;
	for (i = 0; i < CPU_SETSIZE && i < RTE_MAX_LCORE && n < max; i++)
		if (CPU_ISSET(i, &set))
			cpu[n++] = i;
	return n;
}

/* Descriptors of held CPUs plus one; 0: not held. */
static int held[RTE_MAX_LCORE];

static int
sysfs_open(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/*
 * The lock is on the CPU's folder in sysfs: it is there on every machine, anybody may open it, nothing is left behind, and
 * it goes with the process. Where there is no such folder all CPUs seem free.
 */
bool
cpu_claim(int cpu)
{
	char path[64];
	bool other;
	int fd;

	if (cpu < 0 || cpu >= RTE_MAX_LCORE || held[cpu] != 0)
		return true;
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d", cpu);
	fd = sysfs_open(path);
	if (fd < 0)
		return true;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		held[cpu] = fd + 1;
		return true;
	}
	other = errno == EWOULDBLOCK;
	close(fd);
	return !other;
}

void
cpu_release(int cpu)
{
	if (cpu < 0 || cpu >= RTE_MAX_LCORE || held[cpu] == 0)
		return;
	close(held[cpu] - 1);
	held[cpu] = 0;
}

/* Others look for less than a millisecond; who holds it longer is not one of ours, and not waited for. */
int
cpus_lock(void)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	int fd = sysfs_open("/sys/devices/system/cpu"), tries;

	for (tries = 0; fd >= 0 && tries < 100 && flock(fd, LOCK_EX | LOCK_NB) != 0; tries++)
		nanosleep(&ms, NULL);
	return fd;
}

void
cpus_unlock(int lock)
{
	if (lock >= 0)
		close(lock);
}
