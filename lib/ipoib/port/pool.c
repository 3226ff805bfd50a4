/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Memory of an IPoIB port: pools are registered when their first packet comes. */
#include <errno.h>
#include <stdlib.h>

#include <rte_errno.h>

#include "port.h"

struct ipoib_pool_mr {
	SLIST_ENTRY(ipoib_pool_mr) next;
	struct rte_mempool *pool;
	struct ibv_mr *mr;
	int err; /* why there is none: asked for once, and told once */
};

static struct ipoib_pool_mr *
pool_add(struct ipoib_port *p, struct rte_mempool *pool)
{
	struct ipoib_pool_mr *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	e->pool = pool;
	e->mr = tp_roce_reg_mempool(p->pd, pool, IBV_ACCESS_LOCAL_WRITE);
	if (e->mr == NULL) {
		e->err = -errno;
		IPOIB_LOG(ERR, "port %u: pool %s cannot be registered, what it holds is not sent: %s", p->port_id,
			  pool->name, strerror(errno));
	}
	SLIST_INSERT_HEAD(&p->mrs, e, next);
	return e;
}

int
ipoib_pool_lkey(struct ipoib_port *p, struct rte_mempool *pool, uint32_t *lkey)
{
	struct ipoib_pool_mr *e;
	int ret = -ENOMEM;

	pthread_mutex_lock(&p->mr_lock);
	SLIST_FOREACH(e, &p->mrs, next)
	{
		if (e->pool == pool)
			break;
	}
	if (e == NULL)
		e = pool_add(p, pool);
	if (e != NULL)
		ret = e->err;
	if (ret == 0)
		*lkey = e->mr->lkey;
	pthread_mutex_unlock(&p->mr_lock);
	return ret;
}

/* Takes the registration of a pool back, or of all (NULL). */
static void
pools_free(struct ipoib_port *p, const struct rte_mempool *pool)
{
	struct ipoib_pool_mr *e, *after;

	pthread_mutex_lock(&p->mr_lock);
	for (e = SLIST_FIRST(&p->mrs); e != NULL; e = after) {
		after = SLIST_NEXT(e, next);
		if (pool != NULL && e->pool != pool)
			continue;
		SLIST_REMOVE(&p->mrs, e, ipoib_pool_mr, next);
		if (e->mr != NULL)
			tp_roce_dereg_mr(e->mr);
		free(e);
	}
	pthread_mutex_unlock(&p->mr_lock);
}

/* A pool goes: the next one may lie at its address, in other memory. A burst of other pools may be at work. */
static void
pool_event(enum rte_mempool_event event, struct rte_mempool *pool, void *arg)
{
	struct ipoib_port *p = arg;
	unsigned int i;

	if (event != RTE_MEMPOOL_EVENT_DESTROY)
		return;
	pools_free(p, pool);
	for (i = 0; i < p->num_tx; i++) {
		struct rte_mempool *last = pool;

		atomic_compare_exchange_strong(&p->txq[i]->last_pool, &last, NULL);
	}
}

int
ipoib_pools_watch(struct ipoib_port *p)
{
	return rte_mempool_event_callback_register(pool_event, p) != 0 ? -rte_errno : 0;
}

void
ipoib_pools_free(struct ipoib_port *p)
{
	rte_mempool_event_callback_unregister(pool_event, p);
	pools_free(p, NULL);
}
