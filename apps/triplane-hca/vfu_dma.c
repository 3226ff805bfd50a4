/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * DMA windows that the client opens, and the files behind them.
 *
 * A guest with an IOMMU opens single pages by the thousand, all of one file: each file is mapped once, as a whole, and
 * windows are pieces of it. A client that cuts such a file short would take the server down with SIGBUS; the handler
 * puts empty memory in the place of the lost file and the client is disconnected.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vfu.h"

#define MAX_FILES 4096u

struct vfu_file {
	atomic_uintptr_t base; /* 0: slot is free */
	size_t len;
	dev_t dev;
	ino_t ino;
	bool writable;
	uint32_t refs;
	struct vfu *owner; /* files are shared by the windows of one card, not among cards */
};

/* A signal handler knows no context: one table for all servers of the process, which one thread serves. */
static struct vfu_file *files;
static unsigned int servers;
static struct sigaction old_action;

static void
on_sigbus(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;

	for (unsigned int i = 0; i < MAX_FILES; i++) {
		uintptr_t base = atomic_load(&files[i].base);

		if (base == 0 || at < base || at - base >= files[i].len)
			continue;
		if (mmap((void *)base, files[i].len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
			break;
		atomic_store(&files[i].owner->lost, true);
		return;
	}
	/* Not ours: the access repeats and ends the process as it would have. */
	signal(SIGBUS, SIG_DFL);
}

int
vfu_dma_init(void)
{
	struct sigaction sa = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};

	if (servers == 0) {
		files = calloc(MAX_FILES, sizeof(*files));
		if (files == NULL)
			return -ENOMEM;
		sigaction(SIGBUS, &sa, &old_action);
	}
	servers++;
	return 0;
}

void
vfu_dma_fini(void)
{
	if (--servers != 0)
		return;
	sigaction(SIGBUS, &old_action, NULL);
	free(files);
	files = NULL;
}

bool
vfu_dma_lost(struct vfu *s)
{
	return atomic_exchange(&s->lost, false);
}

/* Finds the file's mapping or makes it. A file that has grown is mapped again, beside the old mapping. */
static int
file_get(struct vfu *s, int fd, uint64_t need, bool write, struct vfu_file **out)
{
	struct vfu_file *slot = NULL;
	struct stat st;
	int mode;
	void *base;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size < need)
		return -EINVAL;
	mode = fcntl(fd, F_GETFL) & O_ACCMODE;
	if (mode == O_WRONLY || (write && mode != O_RDWR))
		return -EACCES;
	for (unsigned int i = 0; i < MAX_FILES; i++) {
		struct vfu_file *f = &files[i];

		if (f->base == 0)
			slot = slot == NULL ? f : slot;
		else if (f->owner == s && f->dev == st.st_dev && f->ino == st.st_ino && f->len >= need &&
			 (f->writable || !write)) {
			f->refs++;
			*out = f;
			return 0;
		}
	}
	if (slot == NULL)
		return -ENOSPC;
	base = mmap(NULL, (size_t)st.st_size, mode == O_RDWR ? PROT_READ | PROT_WRITE : PROT_READ,
		    MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	slot->len = (size_t)st.st_size;
	slot->dev = st.st_dev;
	slot->ino = st.st_ino;
	slot->writable = mode == O_RDWR;
	slot->refs = 1;
	slot->owner = s;
	atomic_store(&slot->base, (uintptr_t)base);
	*out = slot;
	return 0;
}

static void
file_put(struct vfu_file *f)
{
	uintptr_t base = f->base;

	if (--f->refs != 0)
		return;
	atomic_store(&f->base, 0);
	munmap((void *)base, f->len);
}

/* Index of the first window that ends after iova. */
static uint32_t
window_after(const struct vfu *s, uint64_t iova)
{
	uint32_t lo = 0, hi = s->num_win;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->win[mid].iova + (s->win[mid].len - 1) >= iova)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static int
window_add(struct vfu *s, uint32_t at, const struct vfu_dma_map *map, struct vfu_file *f)
{
	uint32_t prot = ((map->flags & VFU_DMA_F_READ) != 0 ? TP_DMA_READ : 0) |
			((map->flags & VFU_DMA_F_WRITE) != 0 ? TP_DMA_WRITE : 0);
	int rc;

	if (s->num_win == s->cap_win) {
		uint32_t cap = s->cap_win == 0 ? 64 : 2 * s->cap_win;
		struct vfu_window *win = realloc(s->win, cap * sizeof(*win));

		if (win == NULL)
			return -ENOMEM;
		s->win = win;
		s->cap_win = cap;
	}
	rc = tp_model_dma_map(s->model, map->iova, map->size, (uint8_t *)(uintptr_t)f->base + map->offset, prot);
	if (rc != 0)
		return rc;
	memmove(&s->win[at + 1], &s->win[at], (s->num_win - at) * sizeof(*s->win));
	s->win[at] = (struct vfu_window){map->iova, map->size, f};
	s->num_win++;
	return 0;
}

int
vfu_dma_map(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len)
{
	struct vfu_dma_map map;
	struct vfu_file *f = NULL;
	uint64_t end, file_end;
	uint32_t at;
	int rc;

	memcpy(&map, rq->data, sizeof(map));
	if (map.argsz < sizeof(map) || (map.flags & ~(VFU_DMA_F_READ | VFU_DMA_F_WRITE)) != 0 || map.size == 0 ||
	    (map.iova | map.size | map.offset) % VFU_PAGE != 0 ||
	    __builtin_add_overflow(map.iova, map.size - 1, &end) ||
	    __builtin_add_overflow(map.offset, map.size, &file_end))
		return -EINVAL;
	/* Memory that is served by messages only, a guest's ROM: nothing the card would ever read. */
	if (rq->nfds == 0)
		return 0;
	if (s->num_win >= s->caps.max_dma_maps)
		return -ENOSPC;
	at = window_after(s, map.iova);
	if (at < s->num_win && s->win[at].iova <= end)
		return -EEXIST;
	rc = file_get(s, rq->fds[0], file_end, (map.flags & VFU_DMA_F_WRITE) != 0, &f);
	if (rc != 0) {
		vfu_log(s, "DMA_MAP iova 0x%" PRIx64 " size 0x%" PRIx64 " offset 0x%" PRIx64 ": file refused: %s",
			map.iova, map.size, map.offset, strerror(-rc));
		return rc;
	}
	rc = window_add(s, at, &map, f);
	if (rc != 0)
		file_put(f);
	return rc;
}

static void
windows_close(struct vfu *s, uint32_t first, uint32_t end)
{
	if (first == end)
		return;
	for (uint32_t i = first; i < end; i++)
		file_put(s->win[i].file);
	memmove(&s->win[first], &s->win[end], (s->num_win - end) * sizeof(*s->win));
	s->num_win -= end - first;
}

/* By range: what lies in it is closed, and nothing may. A range that would cut a window is refused. */
int
vfu_dma_unmap(struct vfu *s, struct vfu_request *rq, struct vfu_reply *rp, uint32_t *len)
{
	struct vfu_dma_unmap un;
	uint64_t last;
	uint32_t a, b;

	memcpy(&un, rq->data, sizeof(un));
	if (un.argsz < sizeof(un) || (un.flags & ~VFU_DMA_UNMAP_F_ALL) != 0)
		return -EINVAL;
	if ((un.flags & VFU_DMA_UNMAP_F_ALL) != 0) {
		if (un.iova != 0 || un.size != 0)
			return -EINVAL;
		vfu_dma_close_all(s);
	} else {
		if (un.size == 0 || (un.iova | un.size) % VFU_PAGE != 0 ||
		    __builtin_add_overflow(un.iova, un.size - 1, &last))
			return -EINVAL;
		a = window_after(s, un.iova);
		for (b = a; b < s->num_win && s->win[b].iova <= last; b++)
			if (s->win[b].iova < un.iova || s->win[b].iova + s->win[b].len - 1 > last)
				return -EINVAL;
		if (b != a) {
			/* Window by window: a range may be as wide as the address space. */
			for (uint32_t i = a; i < b; i++)
				tp_model_dma_unmap(s->model, s->win[i].iova, s->win[i].len);
			windows_close(s, a, b);
		}
	}
	memcpy(vfu_payload(rp), &un, sizeof(un));
	*len = sizeof(un);
	return 0;
}

void
vfu_dma_close_all(struct vfu *s)
{
	for (uint32_t i = 0; i < s->num_win; i++)
		tp_model_dma_unmap(s->model, s->win[i].iova, s->win[i].len);
	windows_close(s, 0, s->num_win);
	free(s->win);
	s->win = NULL;
	s->cap_win = 0;
}
