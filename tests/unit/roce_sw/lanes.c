/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <ethdev_driver.h>
#include <rte_ethdev.h>

#include "lanes.h"

#define QUEUE 4096u

struct queue {
	struct rte_mbuf *m[QUEUE];
	_Atomic uint32_t head;
	uint8_t apart[RTE_CACHE_LINE_SIZE];
	_Atomic uint32_t tail;
	uint8_t apart_too[RTE_CACHE_LINE_SIZE];
};

/* A receive or transmit queue of a port. */
struct end {
	unsigned int node, index;
};

static struct {
	struct pair *p;
	enum lanes_spread how;
	struct queue *q; /* of who sends, its queue, that of who receives */
	struct end ends[2][PAIR_LANES];
	void *data[2][PAIR_LANES];
} w;

static struct queue *
between(unsigned int from, unsigned int txq, unsigned int rxq)
{
	return &w.q[(from * PAIR_LANES + txq) * PAIR_LANES + rxq];
}

static unsigned int
spread(unsigned int queues, unsigned int txq, const struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);

	switch (w.how) {
	case LANES_SAME: return txq % queues;
	case LANES_NEXT: return (txq + 1) % queues;
	default: return (f[34] ^ f[35]) % queues;
	}
}

static uint16_t
tx(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	const struct end *e = queue;
	uint16_t i;

	if (w.q == NULL)
		return 0;
	for (i = 0; i < n; i++) {
		struct queue *q = between(e->node, e->index, spread(w.p->n[!e->node].lanes, e->index, pkts[i]));
		uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

		if (tail - atomic_load_explicit(&q->head, memory_order_acquire) == QUEUE)
			break;
		q->m[tail % QUEUE] = pkts[i];
		atomic_store_explicit(&q->tail, tail + 1, memory_order_release);
	}
	return i;
}

static uint16_t
rx(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	const struct end *e = queue;
	uint16_t got = 0;

	for (unsigned int txq = 0; w.q != NULL && txq < w.p->n[!e->node].lanes; txq++) {
		struct queue *q = between(!e->node, txq, e->index);
		uint32_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
		uint32_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);

		for (; head != tail && got < n; head++)
			pkts[got++] = q->m[head % QUEUE];
		atomic_store_explicit(&q->head, head, memory_order_release);
	}
	return got;
}

void
lanes_wire(struct pair *p, enum lanes_spread how)
{
	w.p = p;
	w.how = how;
	w.q = calloc(2 * PAIR_LANES * PAIR_LANES, sizeof(*w.q));
	assert_non_null(w.q);
	for (unsigned int i = 0; i < 2; i++) {
		struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[p->n[i].port];

		for (unsigned int q = 0; q < PAIR_LANES; q++) {
			w.ends[i][q] = (struct end){i, q};
			w.data[i][q] = &w.ends[i][q];
		}
		/* Until the port is stopped. */
		ops->rx_pkt_burst = rx;
		ops->tx_pkt_burst = tx;
		ops->rxq.data = ops->txq.data = w.data[i];
	}
}

void
lanes_unwire(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct rte_mbuf *m;

		for (unsigned int q = 0; q < PAIR_LANES; q++)
			while (rx(&w.ends[i][q], &m, 1) != 0)
				rte_pktmbuf_free(m);
	}
	free(w.q);
	w.q = NULL;
}

/* --- a pool ---------------------------------------------------------------------------------------------------------- */

struct store {
	pthread_mutex_t lock;
	unsigned int n;
	void *obj[];
};

static int
store_alloc(struct rte_mempool *mp)
{
	struct store *s = calloc(1, sizeof(*s) + mp->size * sizeof(s->obj[0]));

	if (s == NULL)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	mp->pool_data = s;
	return 0;
}

static void
store_free(struct rte_mempool *mp)
{
	free(mp->pool_data);
}

static int
store_put(struct rte_mempool *mp, void *const *obj, unsigned int n)
{
	struct store *s = mp->pool_data;

	pthread_mutex_lock(&s->lock);
	memcpy(s->obj + s->n, obj, n * sizeof(obj[0]));
	s->n += n;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

static int
store_get(struct rte_mempool *mp, void **obj, unsigned int n)
{
	struct store *s = mp->pool_data;
	int rc = -ENOBUFS;

	pthread_mutex_lock(&s->lock);
	if (s->n >= n) {
		s->n -= n;
		memcpy(obj, s->obj + s->n, n * sizeof(obj[0]));
		rc = 0;
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static unsigned int
store_count(const struct rte_mempool *mp)
{
	struct store *s = mp->pool_data;
	unsigned int n;

	pthread_mutex_lock(&s->lock);
	n = s->n;
	pthread_mutex_unlock(&s->lock);
	return n;
}

static const struct rte_mempool_ops store_ops = {
	.name = "locked",
	.alloc = store_alloc,
	.free = store_free,
	.enqueue = store_put,
	.dequeue = store_get,
	.get_count = store_count,
};
RTE_MEMPOOL_REGISTER_OPS(store_ops)

struct rte_mempool *
lanes_pool(const char *name, unsigned int packets)
{
	struct rte_mempool *pool =
		rte_pktmbuf_pool_create_by_ops(name, packets, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY, "locked");

	assert_non_null(pool);
	return pool;
}
