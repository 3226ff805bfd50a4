/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Words of lib/roce/cc that a set of congestion control has a field or a flag for. */
#ifndef MLX4_PRM_CC_WORDS_H
#define MLX4_PRM_CC_WORDS_H

#include "mlx4_prm_cc.h"

static const struct mlx4_cc_value rp_values[] = {MLX4_CC_RP_VALUES(MLX4_CC_VALUE)},
				  np_values[] = {MLX4_CC_NP_VALUES(MLX4_CC_VALUE)};
static const struct {
	uint32_t flag;
	const char *word;
} rp_flags[] = {
#define ROW(flag, word) {flag, word},
	MLX4_CC_RP_WORDS(ROW)
#undef ROW
};

#endif /* MLX4_PRM_CC_WORDS_H */
