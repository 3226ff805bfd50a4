/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Multicast-group entries; they live in ICM [CP 6.2]. */
#include <string.h>

#include "model/mem/mem.h"
#include "model/port/port.h"
#include "cmd.h"

#define MCG_OPM_DEFAULT 1u
#define MCG_DEFAULT_PORT_SHIFT 16u

/*
 * Default group: what no group of the table takes. in_modifier: bit 1 unicast or multicast, bits 23:16 the port, the
 * virtual Ethernet port above is 0 [CP 3.1].
 */
static uint8_t
default_at(struct tp_model *m, uint32_t in, uint8_t **p)
{
	uint32_t port = in >> MCG_DEFAULT_PORT_SHIFT & 0xff;

	if (port < 1 || port > m->cfg.num_ports)
		return tpm_fail(m, BAD_INDEX, CMD_INDEX, "default MCG", in, "port %u, wanted 1..%u", port,
				m->cfg.num_ports);
	*p = m->ctl->default_group[port - 1][(in & MLX4_MCG_DEFAULT_UNICAST) != 0];
	return MLX4_STAT_OK;
}

static uint8_t
mcg_at(struct tp_model *m, const struct tpm_cmd *c, uint8_t **p, uint32_t *bytes)
{
	uint32_t i = c->in_modifier;

	if (m->dmfs)
		return tpm_fail(m, BAD_SYS_STATE, CMD_STATE, "MCG", i,
				"groups are not used with device-managed flow steering");
	*bytes = 1u << m->ctl->mc_lg_entry;
	if (c->op_modifier == MCG_OPM_DEFAULT)
		return default_at(m, i, p);
	if (i >= 1u << m->ctl->mc_lg_table)
		return tpm_fail(m, BAD_INDEX, CMD_INDEX, "MCG", i, "wanted 0..0x%x", (1u << m->ctl->mc_lg_table) - 1);
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
	c->imm = tpm_group_hash(m, c->in);
	return MLX4_STAT_OK;
}
