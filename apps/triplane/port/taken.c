/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a port takes in, which changes while it runs: MTU, promiscuous modes, VLANs and multicast addresses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "kernel.h"
#include "port.h"

int
port_mtu_put(struct app_port *p, uint16_t mtu, char *err, size_t len)
{
	const uint16_t least = RTE_MAX(p->info.min_mtu, (uint16_t)APP_MTU_MIN);
	const uint16_t most = RTE_MIN(p->info.max_mtu, (uint16_t)APP_MTU_MAX);
	uint16_t was = 0;
	int ret = mtu < least || mtu > most ? -ERANGE : 0;

	(void)rte_eth_dev_get_mtu(p->id, &was);
	if (ret == 0)
		ret = rte_eth_dev_set_mtu(p->id, mtu);
	if (ret == -ERANGE)
		snprintf(err, len, "port %u: MTU %u, want %u..%u", p->id, mtu, least, most);
	else if (ret == -EBUSY && p->started)
		snprintf(err, len,
			 "port %u: MTU %u: not while it is started; 'port stop %u; port config %u mtu %u; port start "
			 "%u'",
			 p->id, mtu, p->id, p->id, mtu, p->id);
	else if (ret != 0)
		snprintf(err, len, "port %u: MTU %u: %s", p->id, mtu, rte_strerror(-ret));
	if (ret != 0)
		return ret;
	p->mtu = mtu;
	p->dirty |= !p->started;
	app_event("port-setting", "port %u: mtu: %u -> %u", p->id, was, mtu);
	return 0;
}

int
port_promisc_put(const struct app_port *p, bool user)
{
	const bool on = user || (p->kernel != NULL && p->kernel->all);

	return on ? rte_eth_promiscuous_enable(p->id) : rte_eth_promiscuous_disable(p->id);
}

/* The kernel chooses among multicast frames itself. */
int
port_allmulti_put(const struct app_port *p, bool user)
{
	return user || p->kernel != NULL ? rte_eth_allmulticast_enable(p->id) : rte_eth_allmulticast_disable(p->id);
}

/* --- VLANs that pass the filter, kept while the device has none ------------------------------------------------ */

int
port_vlans_put(struct app_port *p)
{
	unsigned int id;
	int ret;

	if (!p->configured || (p->rx_offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) == 0)
		return 0;
	for (id = 0; id < APP_VLAN_WORDS * 64; id++) {
		const uint64_t bit = UINT64_C(1) << id % 64;

		if (((p->vlans[id / 64] ^ p->vlans_put[id / 64]) & bit) == 0)
			continue;
		ret = rte_eth_dev_vlan_filter(p->id, (uint16_t)id, (p->vlans[id / 64] & bit) != 0);
		if (ret != 0)
			return ret;
		p->vlans_put[id / 64] ^= bit;
	}
	return 0;
}

int
port_vlans_set(struct app_port *p, const uint64_t vlans[APP_VLAN_WORDS])
{
	memcpy(p->vlans, vlans, sizeof(p->vlans));
	return p->started ? port_vlans_put(p) : 0;
}

/* --- multicast addresses: those that the user listed, and the one at which DCBX listens ------------------------ */

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
