/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Single queues that are started and stopped while the port is up. What the indirection table has for a receive queue that is
 * stopped goes to the next one that is started, as on Ethernet ports; what waits in it is dropped. While none is started, the
 * last one's buffers fill, and what comes then is the card's to drop; what they have is dropped when it starts. A transmit
 * queue stops when the card has sent what was posted.
 */
#include <errno.h>
#include <unistd.h>

#include "port.h"

#define DRAIN_MS 1000u /* for the card to send what it has */

/* Connections receive on the first queue, and their peers would wait for its buffers until they give up. */
static int
refuse(const struct ipoib_port *p, const char *what)
{
	IPOIB_LOG(ERR, "port %u: receive queue 0 is not %s in connected mode, connections receive on it", p->port_id,
		  what);
	return -ENOTSUP;
}

int
ipoib_qstate_begin(struct ipoib_port *p)
{
	unsigned int i;

	if (p->conf.connected && p->rxq[0]->deferred)
		return refuse(p, "deferred");
	for (i = 0; i < p->num_rx; i++)
		p->rxq[i]->started = !p->rxq[i]->deferred;
	for (i = 0; i < p->num_tx; i++)
		p->txq[i]->stopped = p->txq[i]->deferred;
	return 0;
}

void
ipoib_qstate_tell(struct rte_eth_dev *dev)
{
	const struct ipoib_port *p = dev->data->dev_private;
	unsigned int i;

	for (i = 0; i < p->num_rx; i++)
		dev->data->rx_queue_state[i] =
			p->rxq[i]->started ? RTE_ETH_QUEUE_STATE_STARTED : RTE_ETH_QUEUE_STATE_STOPPED;
	for (i = 0; i < p->num_tx; i++)
		dev->data->tx_queue_state[i] =
			p->txq[i]->stopped ? RTE_ETH_QUEUE_STATE_STOPPED : RTE_ETH_QUEUE_STATE_STARTED;
}

/* --- receive ----------------------------------------------------------------------------------------------------------- */

/* What the card has received, and what it gets meanwhile; the control thread takes what is its own. */
static int
drop_waiting(struct ipoib_port *p, struct ipoib_rxq *q)
{
	struct ipoib_view *v = ipoib_view_make(&p->core);
	struct rte_mbuf *m;

	if (v == NULL)
		return -ENOMEM;
	ipoib_rx_drain(q, v);
	free(v);
	while (rte_ring_sc_dequeue(q->inject, (void **)&m) == 0) {
		q->n.drop[IPOIB_DROP_RX_STOPPED]++;
		rte_pktmbuf_free(m);
	}
	return 0;
}

/* The table has the queue or has it not; after a failure it is as before. */
static int
spread(struct ipoib_port *p, struct ipoib_rxq *q, bool started)
{
	const struct tp_roce_table *before = p->table;
	int ret;

	q->started = started;
	ret = before != NULL ? ipoib_rss_again(p) : 0;
	if (ret == 0)
		return 0;
	q->started = !started;
	if (p->table != before && ipoib_rss_again(p) != 0)
		IPOIB_LOG(ERR, "port %u: receive queue %u is neither started nor stopped", p->port_id, q->id);
	return ret;
}

static int
rx_stop(struct ipoib_port *p, struct ipoib_rxq *q)
{
	int ret;

	if (!q->started)
		return 0;
	if (p->cm != NULL && q->id == 0)
		return refuse(p, "stopped");
	ret = spread(p, q, false);
	return ret != 0 ? ret : drop_waiting(p, q);
}

static int
rx_start(struct ipoib_port *p, struct ipoib_rxq *q)
{
	int ret;

	if (q->started)
		return 0;
	ret = drop_waiting(p, q);
	if (ret == 0)
		ret = spread(p, q, true);
	if (ret == 0 && p->ready)
		ipoib_rx_fill(q);
	return ret;
}

static int
rx_change(struct rte_eth_dev *dev, uint16_t id, int (*change)(struct ipoib_port *p, struct ipoib_rxq *q))
{
	struct ipoib_port *p = dev->data->dev_private;
	int ret;

	ipoib_device_lock(p->device);
	ret = change(p, p->rxq[id]);
	ipoib_qstate_tell(dev);
	ipoib_device_unlock(p->device);
	return ret;
}

int
ipoib_rxq_start(struct rte_eth_dev *dev, uint16_t id)
{
	return rx_change(dev, id, rx_start);
}

int
ipoib_rxq_stop(struct rte_eth_dev *dev, uint16_t id)
{
	return rx_change(dev, id, rx_stop);
}

/* --- transmit ---------------------------------------------------------------------------------------------------------- */

static bool
all_sent(struct ipoib_port *p, struct ipoib_txq *q)
{
	ipoib_tx_reap(q);
	return q->head == q->tail && (p->cm == NULL || q->id != 0 || ipoib_cm_all_sent(p->cm));
}

int
ipoib_txq_stop(struct rte_eth_dev *dev, uint16_t id)
{
	struct ipoib_port *p = dev->data->dev_private;
	struct ipoib_txq *q = p->txq[id];
	unsigned int ms;
	int ret = 0;

	ipoib_device_lock(p->device);
	q->stopped = true;
	for (ms = 0; ms < DRAIN_MS && !all_sent(p, q); ms++)
		usleep(1000);
	if (ms == DRAIN_MS) {
		IPOIB_LOG(ERR, "port %u: transmit queue %u goes on, the card has not sent all within %u ms", p->port_id,
			  id, DRAIN_MS);
		q->stopped = false;
		ret = -EBUSY;
	}
	ipoib_qstate_tell(dev);
	ipoib_device_unlock(p->device);
	return ret;
}

int
ipoib_txq_start(struct rte_eth_dev *dev, uint16_t id)
{
	struct ipoib_port *p = dev->data->dev_private;

	ipoib_device_lock(p->device);
	p->txq[id]->stopped = false;
	ipoib_qstate_tell(dev);
	ipoib_device_unlock(p->device);
	return 0;
}
