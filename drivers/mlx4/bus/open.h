/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Opens a card by one of the buses. 0, or a negative errno after a line that says why. The caller closes the bus by its own
 * operation.
 */
#ifndef MLX4_BUS_OPEN_H
#define MLX4_BUS_OPEN_H

#include "bus.h"

struct mlx4_model_conf;
struct rte_pci_device;

#define MLX4_PCI_BAR_REGS 0
#define MLX4_PCI_BAR_UAR 2

/* A PCI function that is bound to vfio-pci. */
int mlx4_bus_pci_open(struct rte_pci_device *pci, struct mlx4_bus **bus);
/* A card in software, in this process. name: for messages. */
int mlx4_bus_model_open(struct rte_device *dev, const char *name, const struct mlx4_model_conf *conf,
			struct mlx4_bus **bus);
/* A card behind a vfio-user socket. */
#define MLX4_USER_PATH_LEN 128
int mlx4_bus_user_open(struct rte_device *dev, const char *name, const char *path, struct mlx4_bus **bus);

#endif /* MLX4_BUS_OPEN_H */
