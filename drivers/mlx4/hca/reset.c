/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The reset of a card [CP 1.4]. */
#include <errno.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include "core.h"

#define RESET_SEM_WAIT_MS 10000u
#define GONE_WAIT_MS 2000u

int
mlx4_hca_reset(struct mlx4_hca *hca)
{
	static const uint32_t value[] = {MLX4_RESET_VALUE, MLX4_RESET_VALUE_SWAPPED, MLX4_RESET_VALUE_BOTH};
	uint32_t ms, sem;
	int rc;

	for (ms = 0; (sem = mlx4_reg_read(hca, MLX4_REG_RESET_SEM)) != 0; ms++) {
		/* Nothing answers; a card in somebody else's reset would by now. */
		if (ms == GONE_WAIT_MS && sem == UINT32_MAX) {
			HCA_LOG(hca, ERR, "the card is gone: its registers read as all ones for %u ms", ms);
			hca->gone = true;
			return -ENODEV;
		}
		if (ms == RESET_SEM_WAIT_MS) {
			HCA_LOG(hca, ERR, "the reset semaphore is held by somebody else since %u ms", ms);
			return -EBUSY;
		}
		rte_delay_us_sleep(1000);
	}
	hca->gone = false;
	mlx4_reg_write(hca, MLX4_REG_RESET, value[mlx4_quirk(hca, MLX4_QUIRK_RESET_VALUE)]);
	if (hca->bus->reset_wait_us != 0)
		rte_delay_us_sleep(hca->bus->reset_wait_us);
	rc = hca->bus->ops->reset_done(hca->bus);
	if (rc != 0)
		HCA_LOG(hca, ERR, "the card does not come back after its reset: %s", rte_strerror(-rc));
	return rc;
}

void
mlx4_hca_stop_dma(struct mlx4_hca *hca)
{
	mlx4_hca_mark_dead(hca, "it did not give back an object");
	rte_spinlock_lock(&hca->lock);
	if (hca->quiet) {
		rte_spinlock_unlock(&hca->lock);
		return;
	}
	hca->quiet = true;
	rte_spinlock_unlock(&hca->lock);
	mlx4_cmd_quiesce(hca);
	mlx4_hca_reset(hca);
}
