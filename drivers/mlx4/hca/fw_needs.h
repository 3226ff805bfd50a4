/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The oldest firmware for what not every one can do [V-3]. */
#ifndef MLX4_HCA_FW_NEEDS_H
#define MLX4_HCA_FW_NEEDS_H

#include "hca.h"

enum mlx4_fw_need {
	MLX4_FW_ROCE_V1,
	MLX4_FW_DSCP,
	MLX4_FW_ROCE_V2, /* of a Pro */
	MLX4_FW_DROPLESS,
	MLX4_FW_56G,
	MLX4_FW_PACKET_DIRECT,
	MLX4_FW_NEEDS
};

/* "2.31.5050", the oldest firmware for it. */
const char *mlx4_fw_needed(enum mlx4_fw_need need);
/* "RoCE v2". */
const char *mlx4_fw_what(enum mlx4_fw_need need);
/* Is the firmware as new as that? */
bool mlx4_fw_serves(const struct mlx4_caps *c, enum mlx4_fw_need need);
/*
 * Takes away what the card reports and its firmware is too old for, with a line for each that names both versions; without
 * check RoCE is left, with a warning.
 */
void mlx4_fw_limit(struct mlx4_hca *hca, bool check);

#endif /* MLX4_HCA_FW_NEEDS_H */
