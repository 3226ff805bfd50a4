/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * DMA windows of a card in software: opened and closed by the same calls that would program an IOMMU, with the
 * virtual address as IO address. Memory that an application only registered (not a heap) is opened by rte_dev_dma_map.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <rte_eal_memconfig.h>
#include <rte_errno.h>
#include <rte_memory.h>

#include "log.h"
#include "model.h"

static int
open_window(struct model_bus *b, void *addr, size_t len)
{
	int rc = tp_model_dma_map(b->model, (uintptr_t)addr, len, addr, TP_DMA_READ | TP_DMA_WRITE);

	if (rc != 0)
		MLX4_LOG(ERR, "%s: cannot open %zu bytes at %p to DMA: %s", b->name, len, addr, rte_strerror(-rc));
	return rc;
}

static int
on_area(const struct rte_memseg_list *msl, const struct rte_memseg *ms, size_t len, void *arg)
{
	if (msl->external && !msl->heap)
		return 0;
	return open_window(arg, ms->addr, len) == 0 ? 0 : -1;
}

static void
on_event(enum rte_mem_event type, const void *addr, size_t len, void *arg)
{
	struct model_bus *b = arg;
	void *va = (void *)(uintptr_t)addr;

	if (type == RTE_MEM_EVENT_ALLOC)
		open_window(b, va, len);
	else
		tp_model_dma_unmap(b->model, (uintptr_t)addr, len);
}

int
mlx4_model_mem_start(struct model_bus *b)
{
	snprintf(b->mem_name, sizeof(b->mem_name), "mlx4:%.50s", b->name);
	if (rte_mem_event_callback_register(b->mem_name, on_event, b) == 0) {
		b->mem_events = true;
	} else if (rte_errno != ENOTSUP) {
		/* Not supported means that memory never changes: nothing is missed. */
		MLX4_LOG(ERR, "%s: cannot watch memory: %s", b->name, rte_strerror(rte_errno));
		return -rte_errno;
	}
	if (rte_memseg_contig_walk(on_area, b) != 0) {
		mlx4_model_mem_stop(b);
		return -ENOMEM;
	}
	return 0;
}

void
mlx4_model_mem_stop(struct model_bus *b)
{
	if (b->mem_events)
		rte_mem_event_callback_unregister(b->mem_name, b);
	b->mem_events = false;
}
