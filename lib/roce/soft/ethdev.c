/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a port asks of its ethdev, and what that says of itself. */
#include <errno.h>
#include <string.h>

#include <rte_flow.h>

#include "sw.h"
#include "wire_eth.h"

/* --- rules ---------------------------------------------------------------------------------------------------------- */

/*
 * Which receive queues RoCE comes to. On a port with others than those of its lanes, rules of rte_flow bring it there where the port
 * has such rules; where it has none the application's RSS decides, and shows other queues' packets to tp_roce_input(). rss: by which
 * fields it is spread over lanes, 0: it goes to the first.
 */
static struct rte_flow *
steer(const struct rsw_dev *d, const struct rte_flow_item *pattern, uint64_t rss)
{
	const struct rte_flow_attr attr = {.ingress = 1};
	const struct rte_flow_action_queue queue = {.index = d->dev->conf.rx_queue};
	uint16_t queues[TP_ROCE_LANES];
	const struct rte_flow_action_rss spread = {.types = rss, .queue_num = d->num_lanes, .queue = queues};
	bool one = d->num_lanes == 1 || rss == 0;
	const struct rte_flow_action actions[] = {{.type = one ? RTE_FLOW_ACTION_TYPE_QUEUE : RTE_FLOW_ACTION_TYPE_RSS,
						   .conf = one ? (const void *)&queue : &spread},
						  {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_flow_error err;

	for (uint16_t i = 0; i < d->num_lanes; i++)
		queues[i] = (uint16_t)(queue.index + i);

	if (rte_flow_validate(d->port, &attr, pattern, actions, &err) != 0)
		return NULL;
	return rte_flow_create(d->port, &attr, pattern, actions, &err);
}

static struct rte_flow *
steer_udp(const struct rsw_dev *d, enum rte_flow_item_type l3, uint64_t rss)
{
	const struct rte_flow_item_udp port = {.hdr.dst_port = rte_cpu_to_be_16(d->udp_port)};
	const struct rte_flow_item_udp mask = {.hdr.dst_port = RTE_BE16(0xffff)};
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
						{.type = l3},
						{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &port, .mask = &mask},
						{.type = RTE_FLOW_ITEM_TYPE_END}};

	return steer(d, pattern, rss);
}

static struct rte_flow *
steer_etype(const struct rsw_dev *d)
{
	const struct rte_flow_item_eth spec = {.type = RTE_BE16(RSW_ETYPE_ROCE)}, mask = {.type = RTE_BE16(0xffff)};
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH, .spec = &spec, .mask = &mask},
						{.type = RTE_FLOW_ITEM_TYPE_END}};

	return steer(d, pattern, 0);
}

void
rsw_flow_open(struct rsw_dev *d)
{
	struct rte_eth_dev_info info;

	if (d->dev->conf.app_rx || rte_eth_dev_info_get(d->port, &info) != 0 || info.nb_rx_queues == d->num_lanes)
		return;
	d->flow[0] = steer_udp(d, RTE_FLOW_ITEM_TYPE_IPV4, RTE_ETH_RSS_NONFRAG_IPV4_UDP);
	d->flow[1] = steer_udp(d, RTE_FLOW_ITEM_TYPE_IPV6, RTE_ETH_RSS_NONFRAG_IPV6_UDP);
	d->flow[2] = steer_etype(d);
	for (unsigned int i = 0; i < RTE_DIM(d->flow); i++)
		if (d->flow[i] == NULL)
			TROCE_LOG(NOTICE, "port %u: no rule brings %s to queue %u; show it to tp_roce_input()", d->port,
				  i == 0   ? "RoCE v2 over IPv4"
				  : i == 1 ? "RoCE v2 over IPv6"
					   : "RoCE v1",
				  d->dev->conf.rx_queue);
}

void
rsw_flow_close(struct rsw_dev *d)
{
	struct rte_flow_error err;

	for (unsigned int i = 0; i < RTE_DIM(d->flow); i++)
		if (d->flow[i] != NULL)
			rte_flow_destroy(d->port, d->flow[i], &err);
}

/* --- link and loss ------------------------------------------------------------------------------------------------- */

static const enum rte_eth_event_type heard[] = {RTE_ETH_EVENT_INTR_LSC, RTE_ETH_EVENT_INTR_RESET,
						RTE_ETH_EVENT_INTR_RMV};

/* As asynchronous events of verbs (11.6.3.2). On a thread of EAL, or of the driver. */
static int
hear(uint16_t port, enum rte_eth_event_type event, void *arg, void *ret)
{
	struct troce_dev *dev = arg;
	struct rsw_dev *d = dev->home;
	struct rte_eth_link link;

	if (event != RTE_ETH_EVENT_INTR_LSC) {
		for (uint16_t i = 0; i < d->num_lanes; i++)
			atomic_store(&d->lanes[i]->gone, true);
		troce_async_event(dev, IBV_EVENT_DEVICE_FATAL, NULL);
	} else if (rte_eth_link_get_nowait(port, &link) == 0) {
		troce_async_event(dev, link.link_status == RTE_ETH_LINK_UP ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR,
				  NULL);
	}
	return 0;
}

/* The first n of what is heard: not any more. */
static void
unhear(struct rsw_dev *d, unsigned int n)
{
	while (n-- > 0) {
		/* one that is being told about is waited for */
		while (rte_eth_dev_callback_unregister(d->port, heard[n], hear, d->dev) == -EAGAIN)
			rte_delay_us_sleep(100);
	}
}

int
rsw_link_open(struct rsw_dev *d)
{
	for (unsigned int i = 0; i < RTE_DIM(heard); i++) {
		int rc = rte_eth_dev_callback_register(d->port, heard[i], hear, d->dev);

		if (rc != 0) {
			unhear(d, i);
			return -rc;
		}
	}
	return 0;
}

void
rsw_link_close(struct rsw_dev *d)
{
	unhear(d, RTE_DIM(heard));
}
