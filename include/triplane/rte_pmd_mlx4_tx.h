/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * Limits of large sends (TSO) of a port.
 *
 * Every function takes the port number of an ethdev of this driver and returns -ENODEV for any other port. All may be
 * called from any thread while the port is open, also while it sends; what is set stays over stop and start.
 */
#ifndef RTE_PMD_MLX4_TX_H
#define RTE_PMD_MLX4_TX_H

#include <stdbool.h>
#include <stdint.h>

#include <tp_qos.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RTE_PMD_MLX4_LSO_SIZE                                                                                          \
	131072u /**< default of size: what the card takes; no stack is told, and some send 65495 */
#define RTE_PMD_MLX4_LSO_OVER_MTU 1024u  /**< a size below the MTU and this much switches large sends off */
#define RTE_PMD_MLX4_LSO_SEGMENTS_MIN 2u /**< default of min_segments */
#define RTE_PMD_MLX4_LSO_SEGMENTS_MAX 32u

/**
 * What packets with RTE_MBUF_F_TX_TCP_SEG may be. For others, rte_eth_tx_prepare returns -EINVAL by rte_errno, and a burst
 * drops them and counts them as errors. One whose data fit into a single segment is not a large send, and is sent by any of
 * these limits but a size that switches large sends off.
 */
struct rte_pmd_mlx4_lso {
	uint32_t size;         /**< most octets behind the headers; below the MTU + 1024: no large sends */
	uint16_t min_segments; /**< fewest segments of a large send, 2..32 */
	bool tcp_options;      /**< its TCP header may be longer than 20 octets (RFC 9293, 3.1), as l4_len says */
	bool ip_options; /**< its IP header may be longer than 20 octets, 40 of IPv6, as l3_len says; also inside a tunnel */
};

/** What holds. @return 0, -ENODEV, -ENOTSUP (the card makes no segments). */
int rte_pmd_mlx4_lso_get(uint16_t port_id, struct rte_pmd_mlx4_lso *lso);

/**
 * Has other limits hold, for packets that are prepared or sent from now on. Those that are not the defaults, but for a smaller
 * size, cost large sends time.
 * @param[out] err one line that names the value and what is wanted, when refused
 * @return 0, -ENODEV, -ENOTSUP as above, -EINVAL (a size above the card's, a number of segments)
 */
int rte_pmd_mlx4_lso_set(uint16_t port_id, const struct rte_pmd_mlx4_lso *lso, char err[TP_ERR_LEN]);

#ifdef __cplusplus
}
#endif

#endif /* RTE_PMD_MLX4_TX_H */
