/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * Groups of receive queues of a ConnectX-3 port: who each group serves, where, and how it is treated.
 *
 * A group takes the frames of one address (and VLAN) off the port's other queues and spreads them over its own. It
 * stays over stop and start of the port. Frames that no group takes go to the queues that no group has. Changes are made
 * while packets flow: what the card received before stays in its queue and is not lost, other groups are not touched.
 * Groups and the isolated mode of rte_flow exclude each other: rte_flow_isolate() is refused with -EBUSY while the port has
 * a group other than the default one.
 *
 * Every function takes the port number of an ethdev of this driver and returns -ENODEV for any other port. All may be
 * called from any thread, also while others change groups, quality of service, addresses, filters or RSS of the port; not
 * while the port is configured, started, stopped, reset or closed, which ethdev does not guard. None may be called from a
 * datapath burst. A refusal writes one line to err that names the value and the allowed range, and changes nothing.
 */
#ifndef RTE_PMD_MLX4_GROUP_H
#define RTE_PMD_MLX4_GROUP_H

#include <stdint.h>

#include <tp_qos.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Adds a group. Its queues leave the port's default set, which keeps at least one; the group with is_default is that set.
 * On a stopped port the group comes to the card with the start.
 *
 * Of the RSS types those count that the port offers (rss-udp, rss-raw-ip). When the card has no room for rings of all
 * queues, fewer are used and err says why; with rss = 0 one is.
 *
 * @param[out] err "" when nothing is to be said
 * @return queues in use (on a stopped port: declared), -ENODEV, -EINVAL (a range or a conflict), -ENOTSUP (the port
 *         cannot), -EEXIST (name or address), -EBUSY (a queue is in a group, or is the last default one; or the port
 *         is isolated by rte_flow_isolate(), where only flow rules say what is received), -ENOENT (no such mempool),
 *         -ENOSPC (no room for another group, address or rule), -ENOMEM, -EIO
 */
int rte_pmd_mlx4_group_add(uint16_t port_id, const struct tp_group *g, char err[TP_ERR_LEN]);

/**
 * Changes the group of that name to g, whole. Broadcast and multicast to a group whose rings are replaced may come twice
 * at that moment; nothing else is lost or doubled.
 * @return as rte_pmd_mlx4_group_add, -ENOENT (no such group)
 */
int rte_pmd_mlx4_group_modify(uint16_t port_id, const struct tp_group *g, char err[TP_ERR_LEN]);

/** Takes a group away; its queues go back to the default set. @return 0, -ENODEV, -ENOENT, -ENOSPC, -ENOMEM, -EIO. */
int rte_pmd_mlx4_group_remove(uint16_t port_id, const char *name, char err[TP_ERR_LEN]);

/** Group i, in the order in which they were added. @return 0, -ENODEV, -ENOENT past the last. */
int rte_pmd_mlx4_group_get(uint16_t port_id, unsigned int i, struct tp_group *g);

/**
 * Counters of a group: its queues since they joined it, or since the counters of the port were reset. Frames for which the
 * card found no receive buffer are not among them: it counts those by port (rx_port_discards), not by queue.
 */
struct rte_pmd_mlx4_group_stats {
	uint64_t rx_frames, rx_bytes;
	uint64_t rx_errors;                         /**< completions with an error */
	uint64_t rx_nombuf;                         /**< receive buffers that the pool had not */
	uint64_t flood_drops;                       /**< software copies of broadcast and multicast that were lost */
	uint64_t tx_frames, tx_bytes;               /**< of the transmit queues with the same numbers */
	uint64_t tx_errors;                         /**< frames that could not be sent */
	uint64_t spoof_mac_drops, spoof_type_drops; /**< frames that anti-spoof dropped */
	uint16_t queues_used;                       /**< receive queues that get frames, 0: port or queues stopped */
};

/** @return 0, -ENODEV, -ENOENT. */
int rte_pmd_mlx4_group_stats(uint16_t port_id, const char *name, struct rte_pmd_mlx4_group_stats *st);

#ifdef __cplusplus
}
#endif

#endif /* RTE_PMD_MLX4_GROUP_H */
