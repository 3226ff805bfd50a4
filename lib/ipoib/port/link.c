/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The link of an IPoIB port, as ethdev sees it. */
#include "port.h"

void
ipoib_link_update(struct ipoib_port *p)
{
	struct rte_eth_link link = {
		.link_speed = RTE_ETH_SPEED_NUM_UNKNOWN,
		.link_duplex = RTE_ETH_LINK_FULL_DUPLEX,
		.link_autoneg = RTE_ETH_LINK_AUTONEG,
		.link_status = p->started && p->core.up ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN,
	};
	bool was = p->eth->data->dev_link.link_status == RTE_ETH_LINK_UP;

	if (link.link_status == RTE_ETH_LINK_UP)
		link.link_speed = p->speed;
	rte_eth_linkstatus_set(p->eth, &link);
	if (was != (link.link_status == RTE_ETH_LINK_UP) && p->eth->data->dev_conf.intr_conf.lsc != 0)
		rte_eth_dev_callback_process(p->eth, RTE_ETH_EVENT_INTR_LSC, NULL);
}
