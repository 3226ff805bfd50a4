/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* From a bus to ethdevs: what the probe functions of both buses do. */
#ifndef MLX4_CARD_H
#define MLX4_CARD_H

#include "mlx4_eth.h"

/*
 * Opens the card and makes an ethdev of each of its Ethernet ports. On success the card owns bus and closes it with
 * its last port; on failure nothing is left and bus is still the caller's.
 */
int mlx4_card_probe(struct mlx4_bus *bus, const struct mlx4_eth_args *args);
/* A port of the card is gone; the card closes itself with the last one. */
void mlx4_card_put(struct mlx4_hca *hca);
/* Closes the ports of a device, and with them the card. */
int mlx4_card_remove(struct rte_device *dev);

#endif /* MLX4_CARD_H */
