/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What a transmit queue does to frames that the card cannot do: checks of what a guest may send, marks. A port sends
 * through the burst function of this file only while one of its queues has a policy; the plain path knows nothing of it.
 *
 * A policy never changes while a burst may look at it: control code makes the next one in the queue's other slot,
 * puts it in force with one store and waits for the burst that still has the old one.
 */
#ifndef MLX4_TX_POLICY_H
#define MLX4_TX_POLICY_H

#include <rte_ether.h>

#include "mlx4_rxtx.h"

struct mlx4_eth;

/* Eight declared types and the partners that some bring with them. */
#define MLX4_POLICY_TYPES 10u

struct mlx4_tx_policy {
	/* anti-spoof: a frame that fails is freed and counted, and for the sender it counts as sent */
	bool check_mac, check_type;
	bool allow_llc; /* frames with a length instead of a type */
	uint8_t num_types;
	struct rte_ether_addr mac;
	rte_be16_t type[MLX4_POLICY_TYPES];
};

/* The burst of a port that has a queue with a policy (tx_policy.c). */
uint16_t mlx4_tx_burst_policy(void *txq, struct rte_mbuf **pkts, uint16_t n);

/*
 * Changes what is in force on a queue, while it sends: edit gets a copy of it, all off when there was none. A policy
 * with nothing on is taken off. 0 or -ENOMEM. One caller at a time.
 */
int mlx4_tx_policy_edit(struct mlx4_txq *q, void (*edit)(struct mlx4_tx_policy *p, const void *arg), const void *arg);
/* The burst function that the port's queues ask for now. */
eth_tx_burst_t mlx4_tx_policy_burst(const struct mlx4_eth *eth);
/* With the queue, which sends no more. */
void mlx4_tx_policy_free(struct mlx4_txq *q);

#endif /* MLX4_TX_POLICY_H */
