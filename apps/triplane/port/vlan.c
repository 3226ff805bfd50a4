/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* VLANs that pass a port's filter, kept while the device has none. */
#include <string.h>

#include <rte_ethdev.h>

#include "port.h"

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
