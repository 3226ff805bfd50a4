/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What went over an Ethernet port's wire. */
#include <errno.h>

#include <rte_ethdev.h>

#include "front.h"

/* A card that sends and receives RoCE by itself counts those frames here, not among those of its queues. */
static const char *const of_port[] = {"tx_port_packets", "tx_port_bytes", "rx_port_packets", "rx_port_bytes"};

int
troce_traffic(const struct troce_dev *dev, struct mad_port_counters *c)
{
	uint64_t id[RTE_DIM(of_port)], value[RTE_DIM(of_port)];
	struct rte_eth_stats s;
	unsigned int n = 0;

	if (rte_eth_stats_get(dev->port_id, &s) != 0)
		return EIO;
	*c = (struct mad_port_counters){.tx_packets = s.opackets,
					.tx_bytes = s.obytes,
					.rx_packets = s.ipackets,
					.rx_bytes = s.ibytes,
					.rx_errors = s.ierrors,
					.tx_discards = s.oerrors};
	while (n < RTE_DIM(of_port) && rte_eth_xstats_get_id_by_name(dev->port_id, of_port[n], &id[n]) == 0)
		n++;
	if (n != RTE_DIM(of_port))
		return 0;
	if (rte_eth_xstats_get_by_id(dev->port_id, id, value, n) != (int)n)
		return EIO;
	c->tx_packets = value[0];
	c->tx_bytes = value[1];
	c->rx_packets = value[2];
	c->rx_bytes = value[3];
	return 0;
}
