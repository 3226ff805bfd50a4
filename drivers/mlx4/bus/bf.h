/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#ifndef MLX4_BF_H
#define MLX4_BF_H

#include <stdint.h>

#include <rte_io.h>
#include <rte_vect.h>

#include "mlx4_prm_wqe.h"

/*
 * Copies a WQE of len octets, a multiple of 64 and not 0, into half of a BlueFlame register: the copy is the doorbell [DP 2.5].
 * What the WQE has was written before. The widest stores that each processor has leave its write-combining buffer soonest.
 */
static inline void
mlx4_bf_copy(volatile uint8_t *reg, const void *wqe, uint32_t len)
{
	volatile xmm_t *to = (volatile void *)reg;
	const xmm_t *from = wqe, *const end = from + len / sizeof(*from);

	rte_io_wmb();
	do {
		to[0] = from[0];
		to[1] = from[1];
		to[2] = from[2];
		to[3] = from[3];
		to += MLX4_TXBB_SIZE / sizeof(*to);
		from += MLX4_TXBB_SIZE / sizeof(*from);
	} while (from != end);
	rte_io_wmb();
}

#endif /* MLX4_BF_H */
