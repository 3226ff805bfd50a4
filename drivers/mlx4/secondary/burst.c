/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Bursts of a secondary process. They look at each call at what the primary has: queues come and go, the kind of burst
 * changes, the port is stopped or closed, and nobody needs to tell this process. The primary's own bursts pay nothing for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "drivers/mlx4/rx/choose.h"
#include "drivers/mlx4/rx/queue.h"
#include "drivers/mlx4/tx/choose.h"
#include "drivers/mlx4/tx/queue.h"
#include "drivers/mlx4/port/share.h"

/* What stands for a queue in this process. */
struct end {
	const struct rte_eth_dev_data *data;
	const struct mlx4_eth *eth; /* what data was of when it was attached */
	uint16_t queue;
	int32_t pid; /* of this process */
};

struct mlx4_ends {
	struct end end[RTE_MAX_QUEUES_PER_PORT];
	void *list[RTE_MAX_QUEUES_PER_PORT]; /* as ethdev wants them; of both directions */
};

/* The queue, NULL: there is none now. */
static __rte_always_inline void *
queue_of(const struct end *e, void *const *queues)
{
	if (unlikely(e->data->dev_private != e->eth || queues == NULL))
		return NULL;
	return queues[e->queue];
}

static uint16_t
rx_burst(void *end, struct rte_mbuf **pkts, uint16_t n)
{
	const struct end *e = end;
	struct mlx4_rxq *q = queue_of(e, e->data->rx_queues);
	unsigned int way;
	uint16_t got;

	if (unlikely(q == NULL))
		return 0;
	way = __atomic_load_n(&e->eth->rx_way, __ATOMIC_ACQUIRE);
	if (likely(way <= MLX4_RX_SCATTERED))
		return mlx4_rx_burst_of(way)(q, pkts, n);
	__atomic_store_n(&q->poller, e->pid, __ATOMIC_SEQ_CST);
	got = mlx4_rx_burst_of(way)(q, pkts, n);
	__atomic_store_n(&q->poller, 0, __ATOMIC_RELEASE);
	return got;
}

static uint16_t
tx_burst(void *end, struct rte_mbuf **pkts, uint16_t n)
{
	const struct end *e = end;
	struct mlx4_txq *q = queue_of(e, e->data->tx_queues);
	enum mlx4_tx_way way;
	uint16_t sent;

	if (unlikely(q == NULL))
		return 0;
	way = (enum mlx4_tx_way)__atomic_load_n(&e->eth->tx_way, __ATOMIC_ACQUIRE);
	if (likely(way <= MLX4_TX_PLAIN))
		return mlx4_tx_burst_of(way)(q, pkts, n);
	__atomic_store_n(&q->poller, e->pid, __ATOMIC_SEQ_CST);
	sent = mlx4_tx_burst_of(way)(q, pkts, n);
	__atomic_store_n(&q->poller, 0, __ATOMIC_RELEASE);
	return sent;
}

static uint16_t
tx_prepare(void *end, struct rte_mbuf **pkts, uint16_t n)
{
	const struct end *e = end;
	void *q = queue_of(e, e->data->tx_queues);

	return q == NULL ? 0 : mlx4_tx_prepare(q, pkts, n);
}

static mlx4_queue_count_t
rx_queue_count(void *end)
{
	const struct end *e = end;
	void *q = queue_of(e, e->data->rx_queues);

	return q == NULL ? 0 : mlx4_rx_queue_count(q);
}

static int
rx_descriptor_status(void *end, uint16_t offset)
{
	const struct end *e = end;
	void *q = queue_of(e, e->data->rx_queues);

	return q == NULL ? -ENODEV : mlx4_rx_descriptor_status(q, offset);
}

static int
tx_descriptor_status(void *end, uint16_t offset)
{
	const struct end *e = end;
	void *q = queue_of(e, e->data->tx_queues);

	return q == NULL ? -ENODEV : mlx4_tx_descriptor_status(q, offset);
}

struct mlx4_ends *
mlx4_ends_create(const struct rte_eth_dev *dev)
{
	struct mlx4_ends *ends = calloc(1, sizeof(*ends));
	uint16_t i;

	if (ends == NULL)
		return NULL;
	for (i = 0; i < RTE_MAX_QUEUES_PER_PORT; i++) {
		ends->end[i].data = dev->data;
		ends->end[i].eth = dev->data->dev_private;
		ends->end[i].queue = i;
		ends->end[i].pid = (int32_t)getpid();
		ends->list[i] = &ends->end[i];
	}
	return ends;
}

void
mlx4_ends_free(struct mlx4_ends *ends)
{
	free(ends);
}

bool
mlx4_ends_alive(const struct mlx4_ends *ends)
{
	return ends->end[0].data->dev_private == ends->end[0].eth;
}

void
mlx4_ends_show(struct rte_eth_dev *dev, struct mlx4_ends *ends)
{
	struct rte_eth_fp_ops *fp = &rte_eth_fp_ops[dev->data->port_id];

	fp->rxq.data = ends->list;
	fp->rxq.clbk = (void **)(uintptr_t)dev->post_rx_burst_cbs;
	fp->txq.data = ends->list;
	fp->txq.clbk = (void **)(uintptr_t)dev->pre_tx_burst_cbs;
	fp->rx_queue_count = rx_queue_count;
	fp->rx_descriptor_status = rx_descriptor_status;
	fp->tx_descriptor_status = tx_descriptor_status;
	fp->tx_pkt_prepare = tx_prepare;
	__atomic_store_n(&fp->tx_pkt_burst, tx_burst, __ATOMIC_RELEASE);
	__atomic_store_n(&fp->rx_pkt_burst, rx_burst, __ATOMIC_RELEASE);
}
