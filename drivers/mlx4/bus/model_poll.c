/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A card that is run by who polls it. DPDK calls functions of a queue after each burst that received and before each burst that
 * sends; here they run the card. Or, of a card with a thread, they get it up before the burst rings a doorbell. So the burst functions
 * of the driver know nothing of it, and neither does the application.
 * ethdev has no call for a driver that wants such functions for queues that are not configured yet: they are put at the head of the
 * queues' lists when the port comes, before anybody else can have one there, and taken out when it goes.
 */
#include <errno.h>

#include <rte_malloc.h>

#include <ethdev_driver.h>

#include "model.h"

#define POLL_BUDGET 64u /* frames a queue and slice */

struct model_calls {
	struct rte_eth_dev *dev;
	struct tp_model *model;
	/* A burst received since the last one that sent: who sends and receives runs the card once, behind the receiving. */
	bool received;
	struct rte_eth_rxtx_callback rx[RTE_MAX_QUEUES_PER_PORT], tx[RTE_MAX_QUEUES_PER_PORT];
};

static struct model_bus *
to_model(struct mlx4_bus *bus)
{
	return (struct model_bus *)bus;
}

static uint16_t
after_rx(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n, uint16_t max, void *arg)
{
	struct model_calls *p = arg;

	__atomic_store_n(&p->received, true, __ATOMIC_RELAXED);
	tp_model_poll(p->model, POLL_BUDGET);
	return n;
}

static uint16_t
before_tx(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n, void *arg)
{
	struct model_calls *p = arg;

	if (__atomic_load_n(&p->received, __ATOMIC_RELAXED))
		__atomic_store_n(&p->received, false, __ATOMIC_RELAXED);
	else
		tp_model_poll(p->model, POLL_BUDGET);
	return n;
}

static uint16_t
rouse_before_tx(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n, void *arg)
{
	struct model_calls *p = arg;

	tp_model_rouse(p->model);
	return n;
}

static void
polled_run(struct mlx4_bus *bus)
{
	tp_model_poll(to_model(bus)->model, POLL_BUDGET);
}

static void
polled_rest(struct mlx4_bus *bus)
{
	tp_model_wake(to_model(bus)->model);
}

int
mlx4_model_join(struct mlx4_bus *bus, struct rte_eth_dev *dev)
{
	struct model_bus *b = to_model(bus);
	const bool poll = b->conf.run == MODEL_RUN_POLL;
	struct model_calls *p;
	unsigned int i, q;

	if (!poll && b->conf.run != MODEL_RUN_THREAD)
		return 0;
	p = rte_zmalloc("mlx4_calls", sizeof(*p), RTE_CACHE_LINE_SIZE);
	if (p == NULL)
		return -ENOMEM;
	for (i = 0; b->calls[i] != NULL; i++)
		;
	p->dev = dev;
	p->model = b->model;
	for (q = 0; q < RTE_MAX_QUEUES_PER_PORT; q++) {
		p->tx[q] = (struct rte_eth_rxtx_callback){
			.next = dev->pre_tx_burst_cbs[q], .fn.tx = poll ? before_tx : rouse_before_tx, .param = p};
		dev->pre_tx_burst_cbs[q] = &p->tx[q];
		if (!poll)
			continue;
		p->rx[q] = (struct rte_eth_rxtx_callback){
			.next = dev->post_rx_burst_cbs[q], .fn.rx = after_rx, .param = p};
		dev->post_rx_burst_cbs[q] = &p->rx[q];
	}
	b->calls[i] = p;
	return 0;
}

/* Others may have put functions in front of ours. */
static void
take_out(struct rte_eth_rxtx_callback **list, const struct rte_eth_rxtx_callback *ours)
{
	while (*list != NULL && *list != ours)
		list = &(*list)->next;
	if (*list != NULL)
		*list = ours->next;
}

void
mlx4_model_leave(struct mlx4_bus *bus, struct rte_eth_dev *dev)
{
	struct model_bus *b = to_model(bus);
	struct model_calls *p;
	unsigned int i, q;

	for (i = 0; i < TP_MODEL_PORTS; i++)
		if (b->calls[i] != NULL && b->calls[i]->dev == dev)
			break;
	if (i == TP_MODEL_PORTS)
		return;
	p = b->calls[i];
	b->calls[i] = NULL;
	for (q = 0; q < RTE_MAX_QUEUES_PER_PORT; q++) {
		take_out(&dev->post_rx_burst_cbs[q], &p->rx[q]);
		take_out(&dev->pre_tx_burst_cbs[q], &p->tx[q]);
	}
	rte_free(p);
}

const struct mlx4_bus_polled mlx4_model_polled = {.run = polled_run, .rest = polled_rest};
