/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Interrupts of a card in software: each MSI-X vector is an event fd. */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_interrupts.h>

#include "bus_model.h"

static void
disconnect_all(struct model_bus *b)
{
	while (b->num_irq > 0) {
		b->num_irq--;
		tp_model_irq_set(b->model, b->num_irq, -1);
		close(b->irq_fd[b->num_irq]);
	}
	rte_intr_efd_disable(b->bus.intr);
	rte_intr_fd_set(b->bus.intr, -1);
}

static int
connect_all(struct model_bus *b, unsigned int n)
{
	struct rte_intr_handle *h = b->bus.intr;
	int rc = rte_intr_event_list_update(h, n) != 0 ? -ENOMEM : 0;

	while (rc == 0 && b->num_irq < n) {
		unsigned int i = b->num_irq;

		b->irq_fd[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (b->irq_fd[i] < 0)
			return -errno;
		b->num_irq++;
		rc = tp_model_irq_set(b->model, i, b->irq_fd[i]);
		if (rc == 0 && i > 0 && rte_intr_efds_index_set(h, i - 1, b->irq_fd[i]) != 0)
			rc = -ENOSPC;
	}
	if (rc == 0 && (rte_intr_fd_set(h, b->irq_fd[0]) != 0 || rte_intr_nb_efd_set(h, n - 1) != 0))
		rc = -ENOSPC;
	return rc;
}

int
model_irq_setup(struct mlx4_bus *bus, unsigned int n)
{
	struct model_bus *b = (struct model_bus *)bus;
	int rc;

	disconnect_all(b);
	if (n == 0)
		return 0;
	rc = connect_all(b, n);
	if (rc != 0)
		disconnect_all(b);
	return rc;
}

void
model_irq_ack(struct mlx4_bus *bus)
{
	struct model_bus *b = (struct model_bus *)bus;
	uint64_t count;

	if (read(b->irq_fd[0], &count, sizeof(count)) < 0)
		return; /* another reader was first */
}
