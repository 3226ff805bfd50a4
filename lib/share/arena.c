/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Memory of queues: files of this process, sealed so that nobody can make them shorter, which the guest maps, too. What is in
 * use is known here alone: the guest may write whatever it wants.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "share_priv.h"

#define PAGE 4096u
#define CHUNK (UINT64_C(2) << 20)
#define SPACE_ALIGN (UINT64_C(2) << 20) /* as large as pages of memory get */

void *
share_space(size_t len, uint64_t like)
{
	size_t all = len + 2 * SPACE_ALIGN, before;
	uint8_t *p = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t want;

	if (p == MAP_FAILED)
		return NULL;
	want = RTE_ALIGN_CEIL((uint64_t)(uintptr_t)p, SPACE_ALIGN) + (like & (SPACE_ALIGN - 1));
	before = want - (uintptr_t)p;
	if (before != 0)
		munmap(p, before);
	munmap(p + before + len, all - before - len);
	return p + before;
}

int
share_file(const char *name, size_t len)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)len) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return fd;
	err = errno;
	close(fd);
	return -err;
}

static void
chunk_free(struct share_guest *s, struct share_chunk *c)
{
	if (c->va != NULL) {
		s->dev->prov->mem_close(s->dev, c->va, c->len);
		munmap(c->va, c->len);
	}
	if (c->fd >= 0)
		close(c->fd);
	free(c->used);
}

static int
chunk_make(struct share_guest *s, struct share_chunk *c, size_t len)
{
	void *va = share_space(len, 0);
	int err = 0;

	*c = (struct share_chunk){.fd = -1, .len = len};
	if (va == NULL)
		return ENOMEM;
	c->fd = share_file("triplane-queues", len);
	err = c->fd < 0 ? -c->fd : share_fd_room(s, c->fd);
	if (err == 0 &&
	    mmap(va, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, c->fd, 0) == MAP_FAILED)
		err = errno;
	c->used = err == 0 ? calloc(len / PAGE, 1) : NULL;
	if (err == 0)
		err = c->used == NULL ? ENOMEM : s->dev->prov->mem_open(s->dev, va, len);
	if (err == 0) {
		c->va = va;
		return 0;
	}
	munmap(va, len);
	if (c->fd >= 0)
		close(c->fd);
	free(c->used);
	return err;
}

/* n pages at a multiple of align, NULL: there are none. */
static void *
chunk_get(struct share_chunk *c, size_t n, size_t align)
{
	size_t pages = c->len / PAGE, i, k;

	if (c->used == NULL)
		return NULL;
	for (i = 0; i + n <= pages; i += align / PAGE) {
		for (k = 0; k < n && c->used[i + k] == 0; k++)
			;
		if (k < n)
			continue;
		memset(c->used + i, 1, n);
		memset(c->va + i * PAGE, 0, n * PAGE);
		return c->va + i * PAGE;
	}
	return NULL;
}

static struct share_chunk *
chunk_add(struct share_guest *s, size_t len)
{
	struct share_chunk *all;
	uint64_t held = 0;
	int err;

	/* What is free between rings is held all the same. */
	for (uint32_t i = 0; i < s->num_chunks; i++)
		held += s->chunk[i].len;
	if (held != 0 && share_limit(s, TP_SHARE_QUEUE_BYTES, held, len) != 0)
		return NULL;
	all = realloc(s->chunk, (s->num_chunks + 1) * sizeof(*all));
	if (all == NULL)
		return NULL;
	s->chunk = all;
	err = chunk_make(s, &all[s->num_chunks], RTE_ALIGN_CEIL(len, CHUNK));
	if (err == 0)
		return &all[s->num_chunks++];
	TROCE_LOG(ERR, "%s: process %d: no %zu bytes for queues: %s", s->dev->where, s->pid, len, strerror(err));
	return NULL;
}

void *
share_mem_get(struct troce_guest *g, size_t len, size_t align)
{
	struct share_guest *s = (struct share_guest *)g;
	size_t n = (len + PAGE - 1) / PAGE;
	struct share_chunk *c;
	void *mem = NULL;

	align = RTE_MAX(align, (size_t)PAGE);
	if (share_limit(s, TP_SHARE_QUEUE_BYTES, s->ring_bytes, n * PAGE) != 0)
		return NULL;
	pthread_mutex_lock(&s->arena);
	for (uint32_t i = 0; i < s->num_chunks && mem == NULL; i++)
		mem = chunk_get(&s->chunk[i], n, align);
	if (mem == NULL) {
		c = chunk_add(s, n * PAGE);
		mem = c == NULL ? NULL : chunk_get(c, n, align);
	}
	if (mem != NULL)
		s->ring_bytes += n * PAGE;
	pthread_mutex_unlock(&s->arena);
	return mem;
}

static struct share_chunk *
chunk_of(struct share_guest *s, const void *mem)
{
	for (uint32_t i = 0; i < s->num_chunks; i++) {
		struct share_chunk *c = &s->chunk[i];

		if ((const uint8_t *)mem >= c->va && (const uint8_t *)mem < c->va + c->len)
			return c;
	}
	return NULL;
}

void
share_mem_put(struct troce_guest *g, void *mem, size_t len)
{
	struct share_guest *s = (struct share_guest *)g;
	size_t n = (len + PAGE - 1) / PAGE;
	struct share_chunk *c;

	pthread_mutex_lock(&s->arena);
	c = chunk_of(s, mem);
	memset(c->used + (size_t)((uint8_t *)mem - c->va) / PAGE, 0, n);
	s->ring_bytes -= n * PAGE;
	pthread_mutex_unlock(&s->arena);
}

void
share_mem_tell(struct share_guest *s, const void *mem, struct share_mem *tell, struct share_call *c)
{
	struct share_chunk *k;

	pthread_mutex_lock(&s->arena);
	k = chunk_of(s, mem);
	*tell = (struct share_mem){(uint32_t)(k - s->chunk), !k->told, k->len,
				   (uint64_t)((const uint8_t *)mem - k->va)};
	if (!k->told)
		c->out[c->num_out++] = k->fd;
	k->told = true;
	pthread_mutex_unlock(&s->arena);
}

void
share_arena_free(struct share_guest *s)
{
	for (uint32_t i = 0; i < s->num_chunks; i++)
		chunk_free(s, &s->chunk[i]);
	free(s->chunk);
	s->chunk = NULL;
	s->num_chunks = 0;
}
