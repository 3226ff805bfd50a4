/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which groups get copies of broadcast and multicast by software, beyond those to which the card gives them; rx/flood.h says how. */
#ifndef MLX4_GROUP_FLOOD_H
#define MLX4_GROUP_FLOOD_H

#include "drivers/mlx4/rx/flood.h"

struct mlx4_group;

/* The list in force and the next one. */
struct mlx4_flood_slots {
	struct mlx4_flood slot[2];
};

/* --- with the port's control lock --- */
/* Makes what a group needs to be given copies by software, before its rules. 0 or -ENOMEM. */
int mlx4_flood_prepare(struct mlx4_eth *eth, struct mlx4_group *g);
/* After rules have changed, or a change was taken back; g: the group that changed. */
void mlx4_flood_update(struct mlx4_eth *eth, struct mlx4_group *g);
void mlx4_flood_free(struct mlx4_eth *eth);

#endif /* MLX4_GROUP_FLOOD_H */
