/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Objects of one size. */
#ifndef TCP_BASE_SLAB_H
#define TCP_BASE_SLAB_H

#include <stddef.h>

struct slab {
	void *free;
	void *chunks;
	size_t size;
};
void slab_init(struct slab *s, size_t size);
void *slab_get(struct slab *s); /* zeroed; NULL: no memory */
void slab_put(struct slab *s, void *p);
void slab_each(struct slab *s, void (*fn)(void *)); /* objects in use and free ones alike */
void slab_fini(struct slab *s);

#endif /* TCP_BASE_SLAB_H */
