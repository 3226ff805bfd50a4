/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A card that is run by who polls it. DPDK calls functions of a queue after each burst that received and before each burst that
 * sends; here they run the card. So the burst functions of the driver know nothing of it, and neither does the application.
 * ethdev has no call for a driver that wants such functions for queues that are not configured yet: they are put at the head of the
 * queues' lists when the port comes, before anybody else can have one there, and taken out when it goes.
 */
#include <errno.h>

#include <rte_malloc.h>

#include <ethdev_driver.h>

#include "model.h"

#define POLL_BUDGET 64u /* frames a queue and slice */

struct model_polled_port {
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
	struct model_polled_port *p = arg;

	__atomic_store_n(&p->received, true, __ATOMIC_RELAXED);
	tp_model_poll(p->model, POLL_BUDGET);
	return n;
}

static uint16_t
before_tx(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n, void *arg)
{
	struct model_polled_port *p = arg;

	if (__atomic_load_n(&p->received, __ATOMIC_RELAXED))
		__atomic_store_n(&p->received, false, __ATOMIC_RELAXED);
	else
		tp_model_poll(p->model, POLL_BUDGET);
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

static int
polled_join(struct mlx4_bus *bus, struct rte_eth_dev *dev)
{
	struct model_bus *b = to_model(bus);
	struct model_polled_port *p = rte_zmalloc("mlx4_polled", sizeof(*p), RTE_CACHE_LINE_SIZE);
	unsigned int i, q;

	if (p == NULL)
		return -ENOMEM;
	for (i = 0; b->polled_port[i] != NULL; i++)
		;
	p->dev = dev;
	p->model = b->model;
	for (q = 0; q < RTE_MAX_QUEUES_PER_PORT; q++) {
		p->rx[q] = (struct rte_eth_rxtx_callback){
			.next = dev->post_rx_burst_cbs[q], .fn.rx = after_rx, .param = p};
		p->tx[q] = (struct rte_eth_rxtx_callback){
			.next = dev->pre_tx_burst_cbs[q], .fn.tx = before_tx, .param = p};
		dev->post_rx_burst_cbs[q] = &p->rx[q];
		dev->pre_tx_burst_cbs[q] = &p->tx[q];
	}
	b->polled_port[i] = p;
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

static void
polled_leave(struct mlx4_bus *bus, struct rte_eth_dev *dev)
{
	struct model_bus *b = to_model(bus);
	struct model_polled_port *p;
	unsigned int i, q;

	for (i = 0; i < TP_MODEL_PORTS; i++)
		if (b->polled_port[i] != NULL && b->polled_port[i]->dev == dev)
			break;
	if (i == TP_MODEL_PORTS)
		return;
	p = b->polled_port[i];
	b->polled_port[i] = NULL;
	for (q = 0; q < RTE_MAX_QUEUES_PER_PORT; q++) {
		take_out(&dev->post_rx_burst_cbs[q], &p->rx[q]);
		take_out(&dev->pre_tx_burst_cbs[q], &p->tx[q]);
	}
	rte_free(p);
}

const struct mlx4_bus_polled mlx4_model_polled = {
	.run = polled_run, .rest = polled_rest, .join = polled_join, .leave = polled_leave};
