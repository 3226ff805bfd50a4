/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Doorbell pages that are a file have one address in all processes, as EAL's memory has, since queues keep pointers into
 * them. EAL finds its addresses by looking where nothing ever is; this does the same, well behind EAL's memory.
 */
#include <errno.h>

#include <sys/mman.h>

#include <rte_common.h>
#include <rte_eal_memconfig.h>
#include <rte_errno.h>
#include <rte_memory.h>

#include "uar_map.h"

#define UAR_GAP (UINT64_C(1) << 40)
#define UAR_STEP (UINT64_C(1) << 30)
#define UAR_TRIES 64u

static int
find_end(const struct rte_memseg_list *msl, void *arg)
{
	uint64_t *end = arg;

	if (!msl->external)
		*end = RTE_MAX(*end, (uint64_t)(uintptr_t)msl->base_va + msl->len);
	return 0;
}

int
mlx4_uar_map_at(int fd, uint64_t off, size_t len, void *at)
{
	void *va = mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, (off_t)off);

	if (va == MAP_FAILED)
		return -errno;
	if (va == at)
		return 0;
	/* A kernel that does not know the flag. */
	munmap(va, len);
	return -EEXIST;
}

void *
mlx4_uar_map(int fd, uint64_t off, size_t len)
{
	uint64_t end = 0, at;
	unsigned int i;
	void *va;

	rte_memseg_list_walk(find_end, &end);
	at = RTE_ALIGN_CEIL(end, UAR_GAP);
	for (i = 0; i < UAR_TRIES; i++, at += RTE_ALIGN_CEIL(len, UAR_STEP)) {
		va = (void *)(uintptr_t)at;
		if (mlx4_uar_map_at(fd, off, len, va) == 0)
			return va;
	}
	va = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)off);
	if (va != MAP_FAILED)
		return va;
	rte_errno = errno;
	return NULL;
}
