/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* From a bus to a card with its ports: what the probe functions of all buses do. */
#ifndef MLX4_PMD_CARD_H
#define MLX4_PMD_CARD_H

#include "drivers/mlx4/port/port.h"

/*
 * Opens the card and gives its ports to their clients. On success the card owns bus and closes it with
 * its last port; on failure nothing is left and bus is still the caller's.
 */
int mlx4_card_probe(struct mlx4_bus *bus, const struct mlx4_eth_args *args);
/* Closes the ports of a device, and with them the card. */
int mlx4_card_remove(struct rte_device *dev);

struct rte_pci_driver;
/* A driver that is registered becomes the first that the PCI bus asks. */
void mlx4_pci_to_the_front(struct rte_pci_driver *drv);

#endif /* MLX4_PMD_CARD_H */
