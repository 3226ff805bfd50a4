/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The card's free-running clock [CP 1.3], and packets that carry the time of their arrival by it [DP 6.2]. */
#include <errno.h>

#include <rte_mbuf_dyn.h>

#include "queue.h"
#include "timestamp.h"

/* Completions carry so many of its bits. */
#define CLOCK_MASK ((UINT64_C(1) << 48) - 1)

int
mlx4_read_clock(struct rte_eth_dev *dev, uint64_t *cycles)
{
	struct mlx4_hca *hca = mlx4_eth_of(dev)->hca;
	uint32_t off = (uint32_t)hca->caps.clock_off, high, low, again;

	if (hca->caps.clock_off == 0)
		return -ENOTSUP;
	if (hca->dead)
		return -EIO;
	/* Two halves: the high one must be the same before and after. */
	again = hca->bus->ops->read32(hca->bus, off);
	do {
		high = again;
		low = hca->bus->ops->read32(hca->bus, off + 4);
		again = hca->bus->ops->read32(hca->bus, off);
	} while (high != again);
	*cycles = ((uint64_t)high << 32 | low) & CLOCK_MASK;
	return 0;
}

int
mlx4_rxq_init_stamp(struct mlx4_rxq *q)
{
	int off;

	if ((q->offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) == 0)
		return 0;
	if (q->vlan_strip) {
		MLX4_LOG(ERR,
			 "port %u Rx queue %u: offloads 0x%" PRIx64
			 " have both timestamp and vlan_strip: the card reports one of them",
			 q->port_id, q->queue_id, q->offloads);
		return -EINVAL;
	}
	if (rte_mbuf_dyn_rx_timestamp_register(&off, &q->stamp_flag) != 0) {
		MLX4_LOG(ERR, "port %u Rx queue %u: no room in mbufs for the time of arrival", q->port_id, q->queue_id);
		return -rte_errno;
	}
	q->stamp_off = (uint16_t)off;
	return 0;
}
