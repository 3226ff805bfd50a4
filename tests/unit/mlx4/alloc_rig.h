/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Memory that is refused: the functions of DPDK by which a driver gets some, in front of DPDK's own. */
#ifndef MLX4_ALLOC_RIG_H
#define MLX4_ALLOC_RIG_H

#include <stdbool.h>

/* The nth allocation of this thread from now on fails; 0: none does. */
void alloc_fail_at(unsigned int nth);
/* It was reached. From now on none fails. */
bool alloc_failed(void);

#endif /* MLX4_ALLOC_RIG_H */
