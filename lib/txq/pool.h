/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Pools of packets that an ethdev sends. A transmit queue gives packets back when it comes to that, at its stop at the latest, and
 * looks into them then. A pool that its owner has done with goes when it has all of them back.
 */
#ifndef TP_TXQ_POOL_H
#define TP_TXQ_POOL_H

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

/* Those that wait for their packets. Who has it locks it. */
struct txq_pools {
	struct rte_mempool *waits[RTE_MAX_ETHPORTS];
};

/* Frees a pool, now or in one of the next calls. */
static inline void
txq_pool_free(struct txq_pools *s, struct rte_mempool *pool)
{
	unsigned int i;

	if (pool != NULL && rte_mempool_in_use_count(pool) == 0) {
		rte_mempool_free(pool);
		pool = NULL;
	}
	for (i = 0; i < RTE_MAX_ETHPORTS; i++) {
		if (s->waits[i] != NULL && rte_mempool_in_use_count(s->waits[i]) == 0) {
			rte_mempool_free(s->waits[i]);
			s->waits[i] = NULL;
		}
		if (s->waits[i] == NULL) {
			s->waits[i] = pool;
			pool = NULL;
		}
	}
	/* Without a place it stays for good, rather than that a queue reads what is gone. */
}

/*
 * A pool as of rte_pktmbuf_pool_create(): one of this name that waits, when its packets are large enough, or a new one. Beside one
 * that is too small it has a longer name. NULL: no memory.
 */
static inline struct rte_mempool *
txq_pool_create(struct txq_pools *s, const char *name, unsigned int packets, unsigned int cache, uint16_t room,
		int socket)
{
	char longer[RTE_MEMPOOL_NAMESIZE];
	unsigned int i;

	txq_pool_free(s, NULL);
	snprintf(longer, sizeof(longer), "%.*s", (int)sizeof(longer) - 1, name);
	for (i = 0; i < RTE_MAX_ETHPORTS; i++) {
		struct rte_mempool *mp = s->waits[i];

		if (mp == NULL || strcmp(mp->name, longer) != 0)
			continue;
		if (rte_pktmbuf_data_room_size(mp) >= room) {
			s->waits[i] = NULL;
			return mp;
		}
		if (strlen(longer) + 1 == sizeof(longer))
			return NULL;
		strcat(longer, "+");
		i = UINT_MAX; /* which may wait, too: once more from the first */
	}
	return rte_pktmbuf_pool_create(longer, packets, cache, 0, room, socket);
}

#endif /* TP_TXQ_POOL_H */
