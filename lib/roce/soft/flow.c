/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Which receive queue RoCE comes to. On a port with several, rules of rte_flow bring it to the library's where the port
 * has such rules; where it has none the application's RSS decides, and shows other queues' packets to tp_roce_input().
 */
#include <string.h>

#include <rte_flow.h>

#include "sw.h"
#include "wire_eth.h"

static struct rte_flow *
steer(const struct rsw_dev *d, const struct rte_flow_item *pattern)
{
	const struct rte_flow_attr attr = {.ingress = 1};
	const struct rte_flow_action_queue queue = {.index = d->dev->conf.rx_queue};
	const struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &queue},
						  {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_flow_error err;

	if (rte_flow_validate(d->port, &attr, pattern, actions, &err) != 0)
		return NULL;
	return rte_flow_create(d->port, &attr, pattern, actions, &err);
}

static struct rte_flow *
steer_udp(const struct rsw_dev *d, enum rte_flow_item_type l3)
{
	const struct rte_flow_item_udp port = {.hdr.dst_port = rte_cpu_to_be_16(d->udp_port)};
	const struct rte_flow_item_udp mask = {.hdr.dst_port = RTE_BE16(0xffff)};
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
						{.type = l3},
						{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &port, .mask = &mask},
						{.type = RTE_FLOW_ITEM_TYPE_END}};

	return steer(d, pattern);
}

static struct rte_flow *
steer_etype(const struct rsw_dev *d)
{
	const struct rte_flow_item_eth spec = {.type = RTE_BE16(RSW_ETYPE_ROCE)}, mask = {.type = RTE_BE16(0xffff)};
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH, .spec = &spec, .mask = &mask},
						{.type = RTE_FLOW_ITEM_TYPE_END}};

	return steer(d, pattern);
}

void
rsw_flow_open(struct rsw_dev *d)
{
	struct rte_eth_dev_info info;

	if (d->dev->conf.app_rx || rte_eth_dev_info_get(d->port, &info) != 0 || info.nb_rx_queues < 2)
		return;
	d->flow[0] = steer_udp(d, RTE_FLOW_ITEM_TYPE_IPV4);
	d->flow[1] = steer_udp(d, RTE_FLOW_ITEM_TYPE_IPV6);
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
