/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Multicast-group entries; they live in ICM [CP 6.2]. */
#include <string.h>

#include "ctl.h"

#define MGID_SIZE 16u
#define MCG_OPM_DEFAULT 1u

static uint8_t
mcg_at(struct tp_model *m, const struct tpm_cmd *c, uint8_t **p, uint32_t *bytes)
{
	uint32_t i = c->in_modifier;

	if (m->dmfs)
		return tpm_fail(m, BAD_SYS_STATE, CMD_STATE, "MCG", i,
				"groups are not used with device-managed flow steering");
	if (c->op_modifier == MCG_OPM_DEFAULT)
		return tpm_fail(m, BAD_OP, CMD_PARAM, "MCG", i,
				"default entries belong to unicast steering, which is not offered");
	if (i >= 1u << m->ctl->mc_lg_table)
		return tpm_fail(m, BAD_INDEX, CMD_INDEX, "MCG", i, "wanted 0..0x%x", (1u << m->ctl->mc_lg_table) - 1);
	*bytes = 1u << m->ctl->mc_lg_entry;
	*p = tpm_icm_at(m, m->ctl->mc_base + (uint64_t)i * *bytes, *bytes, "MCG");
	return *p == NULL ? MLX4_STAT_ICM_ERROR : MLX4_STAT_OK;
}

uint8_t
tpm_cmd_read_mcg(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t bytes;
	uint8_t *p, st = mcg_at(m, c, &p, &bytes);

	if (st == MLX4_STAT_OK)
		memcpy(c->out, p, bytes);
	return st;
}

uint8_t
tpm_cmd_write_mcg(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t bytes;
	uint8_t *p, st = mcg_at(m, c, &p, &bytes);

	if (st != MLX4_STAT_OK)
		return st;
	if (prm_get(c->in, MLX4_MCG_COUNT) > bytes / 4 - 8)
		return tpm_fail(m, EXCEED_LIM, CMD_LIMIT, "MCG", c->in_modifier, "%u members, wanted at most %u",
				prm_get(c->in, MLX4_MCG_COUNT), bytes / 4 - 8);
	memcpy(p, c->in, bytes);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_mgid_hash(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t lg_hash = prm_get(m->hca, MLX4_HCA_MC_LG_HASH), hash = 0;

	/* The card's own function is not public; software only ever uses what this command answers. */
	for (uint32_t i = 0; i < MGID_SIZE; i++)
		hash = hash * 31 + c->in[i];
	c->imm = (hash ^ hash >> 16) & ((1u << lg_hash) - 1) & 0xffff;
	return MLX4_STAT_OK;
}
