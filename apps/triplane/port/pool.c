/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Packet buffers: one pool per socket for receiving, one for the generator. A pool that became too small is replaced;
 * the old one is freed as soon as every buffer came back, because queues may still hold some.
 */
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "apps/triplane/app/app.h"
#include "port.h"

#define POOL_CACHE 256

static void
drop_unused(struct app *app)
{
	unsigned int i, k, n;

	for (i = 0; i < app->num_pools;) {
		struct app_pool *p = &app->pool[i];
		bool used = p->gen || !rte_mempool_full(p->mp);

		for (k = 0; k < RTE_MAX_ETHPORTS; k++)
			used |= app->port[k].configured && app->port[k].pool == p->mp;
		if (used) {
			i++;
			continue;
		}
		rte_mempool_free(p->mp);
		n = --app->num_pools;
		app->pool[i] = app->pool[n];
	}
}

static struct rte_mempool *
pool_make(struct app *app, int socket, uint32_t n, bool gen, bool may_fail)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *mp;

	snprintf(name, sizeof(name), "%s_%d_%u", gen ? "gen" : "mbuf", socket, app->pool_seq++);
	mp = rte_pktmbuf_pool_create(name, n, POOL_CACHE, 0, app->opt.mbuf_size, socket);
	if (mp == NULL && may_fail)
		return NULL;
	if (mp == NULL) {
		app_err(-rte_errno,
			"cannot make a pool of %u buffers of %u octets on socket %d: %s; it takes about %u MiB; give "
			"EAL "
			"more memory (-m), or ask for fewer with --total-num-mbufs",
			n, app->opt.mbuf_size, socket, rte_strerror(rte_errno),
			(uint32_t)(((uint64_t)n * (app->opt.mbuf_size + sizeof(struct rte_mbuf) + 128)) >> 20) + 1);
		return NULL;
	}
	if (gen)
		rte_mempool_obj_iter(mp, gen_mbuf_init, NULL);
	return mp;
}

struct rte_mempool *
pool_get(struct app *app, int socket, uint32_t n, bool gen, bool may_fail)
{
	struct rte_mempool *mp;
	unsigned int i;

	if (socket == SOCKET_ID_ANY)
		socket = 0;
	n += POOL_CACHE * 2 * rte_lcore_count();
	if (!gen && app->opt.total_mbufs != 0)
		n = app->opt.total_mbufs;
	for (i = 0; i < app->num_pools; i++)
		if (app->pool[i].socket == socket && app->pool[i].gen == gen && app->pool[i].n >= n)
			return app->pool[i].mp;
	drop_unused(app);
	if (app->num_pools == APP_POOLS) {
		app_err(-ENOSPC, "%u buffer pools are in use, no more than that", APP_POOLS);
		return NULL;
	}
	mp = pool_make(app, socket, n, gen, may_fail);
	if (mp != NULL)
		app->pool[app->num_pools++] = (struct app_pool){.mp = mp, .socket = socket, .n = n, .gen = gen};
	return mp;
}

void
pool_free_all(struct app *app)
{
	while (app->num_pools > 0)
		rte_mempool_free(app->pool[--app->num_pools].mp);
}
