/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The oldest firmware for what not every one can do [V-3]: what is missing is named with both versions. */
#include "fw_needs.h"
#include "core.h"

#define VERSION(a, b, c) ((uint64_t)(a) << 32 | (uint64_t)(b) << 16 | (c))
#define NEED(what, a, b, c)                                                                                            \
	{                                                                                                              \
		what, #a "." #b "." #c, VERSION(a, b, c)                                                               \
	}

static const struct {
	const char *what, *text;
	uint64_t version;
} needs[MLX4_FW_NEEDS] = {
	[MLX4_FW_ROCE_V1] = NEED("RoCE v1", 2, 30, 3000),
	[MLX4_FW_DSCP] = NEED("priorities by DSCP", 2, 30, 8000),
	[MLX4_FW_ROCE_V2] = NEED("RoCE v2", 2, 31, 5050),
	[MLX4_FW_DROPLESS] = NEED("dropless receive queues", 2, 31, 5050),
	[MLX4_FW_56G] = NEED("56 GbE", 2, 31, 5050),
	[MLX4_FW_PACKET_DIRECT] = NEED("queue groups with memory of their own (packet direct)", 2, 36, 5150),
};

const char *
mlx4_fw_needed(enum mlx4_fw_need need)
{
	return needs[need].text;
}

const char *
mlx4_fw_what(enum mlx4_fw_need need)
{
	return needs[need].what;
}

bool
mlx4_fw_serves(const struct mlx4_caps *c, enum mlx4_fw_need need)
{
	return VERSION(c->fw_major, c->fw_minor, c->fw_subminor) >= needs[need].version;
}

void
mlx4_fw_limit(struct mlx4_hca *hca, bool check)
{
	struct mlx4_caps *c = &hca->caps;
	bool *const cap[MLX4_FW_NEEDS] = {[MLX4_FW_ROCE_V1] = &c->roce, [MLX4_FW_ROCE_V2] = &c->roce_v2};
	unsigned int i;

	for (i = 0; i < MLX4_FW_NEEDS; i++) {
		if (mlx4_fw_serves(c, i) || (cap[i] != NULL && !*cap[i]))
			continue;
		if (cap[i] != NULL && !check) {
			HCA_LOG(hca, WARNING,
				"firmware %u.%u.%u is too old for %s, %s is needed; it is tried as check-fw-version=0",
				c->fw_major, c->fw_minor, c->fw_subminor, needs[i].what, needs[i].text);
			continue;
		}
		HCA_LOG(hca, NOTICE, "firmware %u.%u.%u is too old for %s, %s is needed", c->fw_major, c->fw_minor,
			c->fw_subminor, needs[i].what, needs[i].text);
		if (cap[i] != NULL)
			*cap[i] = false;
	}
}
