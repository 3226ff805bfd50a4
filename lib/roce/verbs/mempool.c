/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A pool of mbufs as one memory region. A region is a range of addresses, a pool a list of chunks: the region reaches
 * from the lowest to the highest. What lies between two chunks is in the region, too, and must be memory that the home
 * can reach: pages of EAL. A region that is open from afar may have nothing between its chunks that is not the pool's.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_memory.h>

#include "lib/roce/port/front.h"

#define ACCESS_REMOTE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

struct range {
	uintptr_t from, to; /* to: the first behind it */
};

static inline size_t
page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

struct ranges {
	struct range *range;
	unsigned int num, room;
};

static void
add(struct ranges *r, const void *from, size_t len)
{
	if (r->num < r->room)
		r->range[r->num++] = (struct range){(uintptr_t)from, (uintptr_t)from + len};
}

static void
add_chunk(struct rte_mempool *pool, void *arg, struct rte_mempool_memhdr *chunk, unsigned int index)
{
	add(arg, chunk->addr, chunk->len);
}

/* Buffers outside the pool's own memory (rte_pktmbuf_pool_create_extbuf). */
static void
add_buffer(struct rte_mempool *pool, void *arg, void *obj, unsigned int index)
{
	const struct rte_mbuf *m = obj;

	add(arg, m->buf_addr, m->buf_len);
}

static int
by_address(const void *a, const void *b)
{
	uintptr_t x = ((const struct range *)a)->from, y = ((const struct range *)b)->from;

	return x < y ? -1 : x > y;
}

/* Is there memory of EAL in each page that neither neighbour has a part of? */
static bool
gap_is_memory(uintptr_t from, uintptr_t to)
{
	size_t page = page_size();

	for (uintptr_t p = RTE_ALIGN_CEIL(from, page); p < RTE_ALIGN_FLOOR(to, page); p += page) {
		if (rte_mem_virt2memseg((const void *)p, NULL) == NULL)
			return false;
	}
	return true;
}

static int
gaps_check(struct troce_dev *dev, const struct rte_mempool *pool, const struct ranges *r, bool remote)
{
	uintptr_t end = r->range[0].to;

	for (unsigned int i = 1; i < r->num; i++) {
		uintptr_t from = r->range[i].from;
		bool apart = RTE_ALIGN_CEIL(end, page_size()) < RTE_ALIGN_FLOOR(from, page_size());

		if (apart && (remote || !gap_is_memory(end, from)))
			return TROCE_REFUSE(dev, remote ? EPERM : EFAULT,
					    "pool %s: between its parts at 0x%" PRIxPTR " and 0x%" PRIxPTR
					    " is %s; make the pool earlier, or of fewer buffers",
					    pool->name, end, from, remote ? "memory of others" : "no memory");
		end = RTE_MAX(end, r->range[i].to);
	}
	return 0;
}

struct ibv_mr *
tp_roce_reg_mempool(struct ibv_pd *pd, struct rte_mempool *pool, int access)
{
	bool outside = (rte_pktmbuf_priv_flags(pool) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) != 0;
	struct troce_dev *dev = troce_dev_of(pd->context);
	struct ranges r = {.room = outside ? pool->size : pool->nb_mem_chunks};
	struct ibv_mr *mr = NULL;
	uintptr_t end = 0;
	int err;

	r.range = calloc(RTE_MAX(r.room, 1u), sizeof(*r.range));
	if (r.range == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	if (outside)
		rte_mempool_obj_iter(pool, add_buffer, &r);
	else
		rte_mempool_mem_iter(pool, add_chunk, &r);
	if (r.num == 0) {
		err = TROCE_REFUSE(dev, EINVAL, "pool %s has no buffers", pool->name);
		goto out;
	}
	qsort(r.range, r.num, sizeof(*r.range), by_address);
	err = gaps_check(dev, pool, &r, (access & ACCESS_REMOTE) != 0);
	if (err != 0)
		goto out;
	for (unsigned int i = 0; i < r.num; i++)
		end = RTE_MAX(end, r.range[i].to);
	mr = tp_roce_reg_mr(pd, (void *)r.range[0].from, end - r.range[0].from, access);
	err = errno;
out:
	free(r.range);
	if (mr == NULL)
		errno = err;
	return mr;
}
