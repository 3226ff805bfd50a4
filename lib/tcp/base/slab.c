/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Objects of one size from chunks that grow as they are needed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "slab.h"

#define CHUNK 64u

void
slab_init(struct slab *s, size_t size)
{
	s->free = s->chunks = NULL;
	s->size = RTE_ALIGN_CEIL(size, 64);
}

void *
slab_get(struct slab *s)
{
	uint8_t *chunk;
	void *p;
	uint32_t i;

	if (s->free == NULL) {
		/* A cache line in front links the chunks. */
		chunk = aligned_alloc(64, 64 + CHUNK * s->size);
		if (chunk == NULL)
			return NULL;
		memset(chunk, 0, 64 + CHUNK * s->size);
		memcpy(chunk, &s->chunks, sizeof(void *));
		s->chunks = chunk;
		for (i = CHUNK; i-- > 0;)
			slab_put(s, chunk + 64 + i * s->size);
	}
	p = s->free;
	memcpy(&s->free, p, sizeof(void *));
	memset(p, 0, s->size);
	return p;
}

void
slab_put(struct slab *s, void *p)
{
	memcpy(p, &s->free, sizeof(void *));
	s->free = p;
}

void
slab_each(struct slab *s, void (*fn)(void *))
{
	void *chunk = s->chunks;
	uint32_t i;

	while (chunk != NULL) {
		for (i = 0; i < CHUNK; i++)
			fn((uint8_t *)chunk + 64 + i * s->size);
		memcpy(&chunk, chunk, sizeof(void *));
	}
}

void
slab_fini(struct slab *s)
{
	void *chunk = s->chunks, *next;

	for (; chunk != NULL; chunk = next) {
		memcpy(&next, chunk, sizeof(void *));
		free(chunk);
	}
	s->free = s->chunks = NULL;
}
