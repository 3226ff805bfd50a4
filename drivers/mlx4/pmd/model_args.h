/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Device arguments of a card in software. */
#ifndef MLX4_PMD_MODEL_ARGS_H
#define MLX4_PMD_MODEL_ARGS_H

#include "drivers/mlx4/bus/model_conf.h"
#include "devargs.h"

/* dev: the device's name; its number makes GUIDs differ. 0 or -EINVAL after one line. */
int mlx4_model_args_parse(const char *dev, const char *text, struct mlx4_model_conf *m, struct mlx4_eth_args *eth);

#endif /* MLX4_PMD_MODEL_ARGS_H */
