/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Interrupts of a card in software: each MSI-X vector is an event fd, which the bus gives to the card. */
#ifndef MLX4_BUS_IRQ_FDS_H
#define MLX4_BUS_IRQ_FDS_H

#include "mlx4_prm_regs.h"

struct rte_intr_handle;

struct irq_fds {
	unsigned int num;
	int fd[MLX4_MSIX_VECTORS];
};

/* Makes those that are missing of n and names them in the handle, vector 0 as its fd. 0 or a negative errno: as it was. */
int mlx4_irq_fds_open(struct irq_fds *f, struct rte_intr_handle *h, unsigned int n);
/* All but the first n. */
void mlx4_irq_fds_close(struct irq_fds *f, struct rte_intr_handle *h, unsigned int n);
/* Vector 0 was taken. */
void mlx4_irq_fds_ack(const struct irq_fds *f);

#endif /* MLX4_BUS_IRQ_FDS_H */
