/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * DMA windows of a card in another process: the EAL's memory with the files behind it. Memory that is no file (a heap
 * that an application brought, --no-huge without memfd) cannot be given away and is refused with a word on it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <rte_eal_memconfig.h>
#include <rte_errno.h>
#include <rte_memory.h>

#include "log.h"
#include "user.h"

/*
 * Neighbouring small pages of one file are given as one window: they never go away. A hugepage may, so each has a
 * window of its own.
 */
#define MERGE_BELOW RTE_PGSIZE_2M

struct run {
	struct user_bus *b;
	uint64_t addr, len, off;
	int fd, rc;
};

static int
run_open(struct run *r)
{
	struct vfu_dma_map map = {.argsz = sizeof(map),
				  .flags = VFU_DMA_F_READ | VFU_DMA_F_WRITE,
				  .offset = r->off,
				  .iova = r->addr,
				  .size = r->len};
	struct user_msg m = {.head = &map, .head_len = sizeof(map), .fds = &r->fd, .num_fds = 1};
	int rc;

	if (r->len == 0)
		return 0;
	rc = mlx4_user_sock_call(&r->b->sock, VFU_DMA_MAP, &m);
	if (rc != 0)
		MLX4_LOG(ERR, "%s: cannot open %" PRIu64 " bytes at 0x%" PRIx64 " to DMA: %s", r->b->name, r->len,
			 r->addr, rte_strerror(-rc));
	r->len = 0;
	return rc;
}

static int
run_add(struct run *r, const struct rte_memseg *ms)
{
	size_t off = 0;
	int fd = rte_memseg_get_fd_thread_unsafe(ms);

	if (fd < 0 || rte_memseg_get_fd_offset_thread_unsafe(ms, &off) != 0) {
		MLX4_LOG(ERR,
			 "%s: memory at %p is no file that another process could map (%s); wanted hugepages, or "
			 "--no-huge on a kernel with memfd, without memory of the application's own",
			 r->b->name, ms->addr, rte_strerror(rte_errno));
		return -ENOTSUP;
	}
	if (ms->hugepage_sz < MERGE_BELOW && r->len != 0 && fd == r->fd && ms->addr_64 == r->addr + r->len &&
	    off == r->off + r->len) {
		r->len += ms->len;
		return 0;
	}
	r->rc = run_open(r);
	r->addr = ms->addr_64;
	r->len = ms->len;
	r->off = off;
	r->fd = fd;
	return r->rc;
}

static int
on_seg(const struct rte_memseg_list *msl, const struct rte_memseg *ms, void *arg)
{
	struct run *r = arg;

	if (msl->external && !msl->heap)
		return 0;
	r->rc = run_add(r, ms);
	return r->rc == 0 ? 0 : -1;
}

static void
close_window(struct user_bus *b, uint64_t addr, uint64_t len)
{
	struct vfu_dma_unmap un = {.argsz = sizeof(un), .iova = addr, .size = len}, reply;
	struct user_msg m = {.head = &un, .head_len = sizeof(un), .reply = &reply, .reply_len = sizeof(reply)};

	mlx4_user_sock_call(&b->sock, VFU_DMA_UNMAP, &m);
}

/* What the EAL takes and gives back at run time is opened and closed piece by piece, so that any part can go. */
static void
on_event(enum rte_mem_event type, const void *addr, size_t len, void *arg)
{
	struct run r = {.b = arg};
	const struct rte_memseg_list *msl = rte_mem_virt2memseg_list(addr);

	for (size_t at = 0; msl != NULL && at < len;) {
		const void *va = RTE_PTR_ADD(addr, at);
		const struct rte_memseg *ms = rte_mem_virt2memseg(va, msl);

		if (ms == NULL)
			return;
		if (type == RTE_MEM_EVENT_FREE)
			close_window(arg, (uintptr_t)va, ms->len);
		else if (run_add(&r, ms) != 0 || run_open(&r) != 0)
			return;
		at += ms->len;
	}
}

int
mlx4_user_mem_start(struct user_bus *b)
{
	struct run r = {.b = b};

	snprintf(b->mem_name, sizeof(b->mem_name), "mlx4:%.50s", b->name);
	if (rte_mem_event_callback_register(b->mem_name, on_event, b) == 0) {
		b->mem_events = true;
	} else if (rte_errno != ENOTSUP) {
		/* Not supported means that memory never changes: nothing is missed. */
		MLX4_LOG(ERR, "%s: cannot watch memory: %s", b->name, rte_strerror(rte_errno));
		return -rte_errno;
	}
	rte_memseg_walk(on_seg, &r);
	if (r.rc == 0)
		r.rc = run_open(&r);
	if (r.rc != 0)
		mlx4_user_mem_stop(b);
	return r.rc;
}

void
mlx4_user_mem_stop(struct user_bus *b)
{
	if (b->mem_events)
		rte_mem_event_callback_unregister(b->mem_name, b);
	b->mem_events = false;
}
