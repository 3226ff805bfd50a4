/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_interrupts.h>

#include "irq_fds.h"

int
mlx4_irq_fds_open(struct irq_fds *f, struct rte_intr_handle *h, unsigned int n)
{
	unsigned int old = f->num;
	int rc = 0;

	/* Room for all: lists that others read do not move when more are made. */
	if (old == 0 && rte_intr_event_list_update(h, MLX4_MSIX_VECTORS) != 0)
		return -ENOMEM;
	while (rc == 0 && f->num < n) {
		unsigned int i = f->num;

		f->fd[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (f->fd[i] < 0) {
			rc = -errno;
			break;
		}
		f->num++;
		if (i > 0 && rte_intr_efds_index_set(h, (int)i - 1, f->fd[i]) != 0)
			rc = -ENOSPC;
	}
	if (rc == 0 && (rte_intr_fd_set(h, f->fd[0]) != 0 || rte_intr_nb_efd_set(h, (int)n - 1) != 0))
		rc = -ENOSPC;
	if (rc != 0)
		mlx4_irq_fds_close(f, h, old);
	return rc;
}

void
mlx4_irq_fds_close(struct irq_fds *f, struct rte_intr_handle *h, unsigned int n)
{
	while (f->num > n)
		close(f->fd[--f->num]);
	if (n != 0) {
		rte_intr_nb_efd_set(h, (int)n - 1);
		return;
	}
	rte_intr_efd_disable(h);
	rte_intr_fd_set(h, -1);
}

void
mlx4_irq_fds_ack(const struct irq_fds *f)
{
	uint64_t count;

	if (read(f->fd[0], &count, sizeof(count)) < 0)
		return; /* another reader was first */
}
