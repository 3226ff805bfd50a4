/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Doorbell pages that are a file. */
#ifndef MLX4_BUS_UAR_MAP_H
#define MLX4_BUS_UAR_MAP_H

#include <stddef.h>
#include <stdint.h>

/* Maps them where other processes are likely to have room for them, too. NULL: rte_errno says why. */
void *mlx4_uar_map(int fd, uint64_t off, size_t len);
/* The same at one address. -EEXIST: something else is there. */
int mlx4_uar_map_at(int fd, uint64_t off, size_t len, void *at);

#endif /* MLX4_BUS_UAR_MAP_H */
