/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Objects by the numbers that events name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs_client.h"

#define STEP 64u

int
vc_obj_put(struct vc_context *c, uint32_t handle, void *obj)
{
	int err = 0;

	pthread_mutex_lock(&c->lock);
	if (handle >= c->num_obj) {
		uint32_t n = RTE_ALIGN_CEIL(handle + 1, STEP);
		void **all = realloc(c->obj, n * sizeof(*all));

		if (all == NULL) {
			err = ENOMEM;
		} else {
			memset(all + c->num_obj, 0, (n - c->num_obj) * sizeof(*all));
			c->obj = all;
			c->num_obj = n;
		}
	}
	if (err == 0)
		c->obj[handle] = obj;
	pthread_mutex_unlock(&c->lock);
	return err;
}

void
vc_obj_del(struct vc_context *c, uint32_t handle)
{
	pthread_mutex_lock(&c->lock);
	c->obj[handle] = NULL;
	pthread_mutex_unlock(&c->lock);
}

void *
vc_obj_get(struct vc_context *c, uint32_t handle)
{
	void *obj;

	pthread_mutex_lock(&c->lock);
	obj = handle < c->num_obj ? c->obj[handle] : NULL;
	pthread_mutex_unlock(&c->lock);
	return obj;
}
