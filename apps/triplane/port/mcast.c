/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Multicast addresses that a port receives: those that the user listed, and the one at which DCBX listens. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "port.h"

/* A device has one list for both. */
int
port_mcast_put(const struct app_port *p)
{
	static const struct rte_ether_addr nearest_bridge = {{0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e}};
	struct rte_ether_addr list[APP_MCAST_MOST + 1];
	unsigned int n = p->mcast_num;

	memcpy(list, p->mcast, n * sizeof(list[0]));
	if (p->mcast_lldp && !port_mcast_has(p, &nearest_bridge))
		list[n++] = nearest_bridge;
	return rte_eth_dev_set_mc_addr_list(p->id, n != 0 ? list : NULL, n);
}

static int
in_order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct rte_ether_addr));
}

bool
port_mcast_has(const struct app_port *p, const struct rte_ether_addr *mac)
{
	return bsearch(mac, p->mcast, p->mcast_num, sizeof(p->mcast[0]), in_order) != NULL;
}

unsigned int
port_mcast_sort(struct rte_ether_addr *mac, unsigned int n)
{
	unsigned int i, num = 0;

	qsort(mac, n, sizeof(mac[0]), in_order);
	for (i = 0; i < n; i++)
		if (num == 0 || !rte_is_same_ether_addr(&mac[i], &mac[num - 1]))
			mac[num++] = mac[i];
	return num;
}

int
port_mcast_set(struct app_port *p, const struct rte_ether_addr *mac, unsigned int n)
{
	struct rte_ether_addr was[APP_MCAST_MOST];
	const unsigned int num = p->mcast_num;
	int ret;

	memcpy(was, p->mcast, num * sizeof(was[0]));
	memmove(p->mcast, mac, n * sizeof(mac[0]));
	p->mcast_num = port_mcast_sort(p->mcast, n);
	ret = port_mcast_put(p);
	if (ret != 0) {
		memcpy(p->mcast, was, num * sizeof(was[0]));
		p->mcast_num = num;
	}
	return ret;
}
