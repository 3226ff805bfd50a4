/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <dlfcn.h>
#include <errno.h>

#include <rte_errno.h>
#include <rte_interrupts.h>
#include <rte_malloc.h>
#include <rte_memzone.h>

#include "alloc_rig.h"

static _Thread_local unsigned int left, inside;
static _Thread_local bool failed;

void
alloc_fail_at(unsigned int nth)
{
	left = nth;
	failed = false;
}

bool
alloc_failed(void)
{
	bool was = failed;

	alloc_fail_at(0);
	return was;
}

static bool
fails(void)
{
	if (inside != 0 || left == 0 || --left != 0)
		return false;
	failed = true;
	rte_errno = ENOMEM;
	return true;
}

/* DPDK's own of the same name, which may call others of these. */
#define PASS_ON(f, ...)                                                                                                \
	__extension__({                                                                                                \
		static __typeof__(f) *own;                                                                             \
		__typeof__(f(__VA_ARGS__)) got;                                                                        \
                                                                                                                       \
		if (own == NULL)                                                                                       \
			own = (__typeof__(f) *)dlsym(RTLD_NEXT, #f);                                                   \
		inside++;                                                                                              \
		got = own(__VA_ARGS__);                                                                                \
		inside--;                                                                                              \
		got;                                                                                                   \
	})

void *
rte_malloc_socket(const char *type, size_t size, unsigned int align, int socket)
{
	return fails() ? NULL : PASS_ON(rte_malloc_socket, type, size, align, socket);
}

void *
rte_zmalloc_socket(const char *type, size_t size, unsigned int align, int socket)
{
	return fails() ? NULL : PASS_ON(rte_zmalloc_socket, type, size, align, socket);
}

void *
rte_zmalloc(const char *type, size_t size, unsigned int align)
{
	return fails() ? NULL : PASS_ON(rte_zmalloc, type, size, align);
}

const struct rte_memzone *
rte_memzone_reserve_aligned(const char *name, size_t len, int socket, unsigned int flags, unsigned int align)
{
	return fails() ? NULL : PASS_ON(rte_memzone_reserve_aligned, name, len, socket, flags, align);
}

struct rte_intr_handle *
rte_intr_instance_alloc(uint32_t flags)
{
	return fails() ? NULL : PASS_ON(rte_intr_instance_alloc, flags);
}
