/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What all objects have in common. */
#include <errno.h>

#include <rte_malloc.h>

#include "front.h"

void *
troce_obj_alloc(struct troce_dev *dev, size_t size, size_t least)
{
	void *obj = rte_zmalloc_socket("roce", RTE_MAX(size, least), RTE_CACHE_LINE_SIZE, dev->numa_node);

	if (obj == NULL)
		errno = TROCE_REFUSE(dev, ENOMEM, "no memory for an object of %zu octets", RTE_MAX(size, least));
	return obj;
}

void
troce_obj_free(void *obj)
{
	rte_free(obj);
}

void *
troce_made(void *obj, int err)
{
	if (err == 0)
		return obj;
	rte_free(obj);
	errno = err;
	return NULL;
}

int
troce_gone(void *obj, int err)
{
	if (err == 0)
		rte_free(obj);
	return err;
}

int
troce_room(struct troce_dev *dev, const char *what, unsigned int have, int max)
{
	if (have < (unsigned int)max)
		return 0;
	return TROCE_REFUSE(dev, ENOMEM, "there are %u %s already, %d is the limit", have, what, max);
}

void
troce_settle(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed, const unsigned int *delivered)
{
	pthread_mutex_lock(mutex);
	while (*completed != *delivered)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
	pthread_mutex_destroy(mutex);
	pthread_cond_destroy(cond);
}
