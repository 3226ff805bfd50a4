/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Whether the card still obeys. */
#include "core.h"

bool
mlx4_hca_catas(struct mlx4_hca *hca)
{
	return hca->caps.catas_off != 0 && mlx4_reg_read(hca, hca->caps.catas_off) != 0;
}

void
mlx4_hca_mark_dead(struct mlx4_hca *hca, const char *why)
{
	void (*on_dead)(struct mlx4_hca * hca);

	rte_spinlock_lock(&hca->lock);
	if (hca->dead) {
		rte_spinlock_unlock(&hca->lock);
		return;
	}
	hca->dead = true;
	rte_spinlock_unlock(&hca->lock);
	HCA_LOG(hca, ERR, "[card-given-up] the card is given up until it is reset: %s", why);
	on_dead = hca->on_dead;
	if (on_dead != NULL)
		on_dead(hca);
}
