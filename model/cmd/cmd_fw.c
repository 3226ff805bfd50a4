/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands about the firmware itself and the board [CP 3.2, 3.5, 3.8, 4.10]. */
#include <inttypes.h>
#include <string.h>

#include "cmd.h"

#define MSC_GROUP(mod) ((mod) >> MLX4_MSC_GROUP_SHIFT)
#define MSC_OFFSET(mod) ((mod)&0xffu)
#define MSC_PORT(mod) ((mod) >> MLX4_MSC_PORT_SHIFT & 0xffu)
#define LG_MAX_CMD 6u /* commands that may be outstanding in event mode */

uint8_t
tpm_cmd_query_fw(struct tp_model *m, struct tpm_cmd *c)
{
	memset(c->out, 0, MLX4_QFW_SIZE);
	prm_set(c->out, MLX4_QFW_PAGES, TPM_FW_PAGES);
	prm_set(c->out, MLX4_QFW_MAJOR, m->cfg.fw_major);
	prm_set(c->out, MLX4_QFW_MINOR, m->cfg.fw_minor);
	prm_set(c->out, MLX4_QFW_SUBMINOR, m->cfg.fw_subminor);
	prm_set(c->out, MLX4_QFW_CMD_IF_REV, MLX4_CMD_IF_REV_NEW_PORT);
	prm_set(c->out, MLX4_QFW_LG_MAX_CMD, LG_MAX_CMD);
	prm_set64(c->out, MLX4_QFW_CLR_INT_OFF, MLX4_REG_CLR_INT_TYPICAL);
	prm_set64(c->out, MLX4_QFW_CATAS_OFF, MLX4_REG_CATAS_TYPICAL);
	prm_set(c->out, MLX4_QFW_CATAS_SIZE, MLX4_CATAS_DWORDS);
	prm_set64(c->out, MLX4_QFW_CLOCK_OFF, TPM_CLOCK_OFF);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_run_fw(struct tp_model *m, struct tpm_cmd *c)
{
	if (m->fw_pages < TPM_FW_PAGES)
		return tpm_fail(m, BAD_SYS_STATE, CMD_STATE, "RUN_FW", c->opcode, "%u pages given by MAP_FA, wanted %u",
				m->fw_pages, TPM_FW_PAGES);
	m->state = TPM_SYS_FW;
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_nop(struct tp_model *m, struct tpm_cmd *c)
{
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_health_check(struct tp_model *m, struct tpm_cmd *c)
{
	c->imm = 0; /* healthy */
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_query_adapter(struct tp_model *m, struct tpm_cmd *c)
{
	static const char psid[MLX4_ADAPTER_BOARD_ID_LEN] = "MT_1090120019";

	memset(c->out, 0, MLX4_ADAPTER_SIZE);
	/* Each dword of the board id is stored byte-swapped. */
	for (unsigned int i = 0; i < MLX4_ADAPTER_BOARD_ID_LEN; i++)
		c->out[MLX4_ADAPTER_BOARD_ID + (i ^ 3u)] = (uint8_t)psid[i];
	return MLX4_STAT_OK;
}

/* Wake-on-LAN of a port, which outlives a reset: what wakes a host is set before it sleeps. */
static uint8_t
wake_on_lan(struct tp_model *m, struct tpm_cmd *c)
{
	struct tpm_port *p = tpm_cmd_port(m, "MOD_STAT_CFG", MSC_PORT(c->in_modifier));
	const uint64_t state = MLX4_WOL_ENABLED | MLX4_WOL_MAGIC;

	if (p == NULL)
		return MLX4_STAT_BAD_INDEX;
	if (MSC_OFFSET(c->in_modifier) != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "MOD_STAT_CFG", c->opcode, "offset %u, wanted 0",
				MSC_OFFSET(c->in_modifier));
	if (c->op_modifier == MLX4_MSC_OPM_QUERY_IMM) {
		c->imm = p->wol;
		c->has_imm = true;
		return MLX4_STAT_OK;
	}
	if (c->op_modifier != MLX4_MSC_OPM_SET_IMM)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "MOD_STAT_CFG", c->opcode, "op_modifier %u, wanted 1 or 3",
				c->op_modifier);
	if ((c->in_param & ~(state | MLX4_WOL_MODIFY)) != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "MOD_STAT_CFG", c->opcode,
				"wake-on-LAN 0x%" PRIx64 ", wanted bits 63:61", c->in_param);
	/* The group may be something else: what is written has no effect there. */
	if ((c->in_param & MLX4_WOL_MODIFY) != 0 && tpm_quirk(m, MLX4_QUIRK_WOL_GROUP) == 0)
		p->wol = c->in_param & state;
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_mod_stat_cfg(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t port = MSC_PORT(c->in_modifier);
	uint64_t guid;

	if (MSC_GROUP(c->in_modifier) == MLX4_MSC_GROUP_WOL && m->cfg.wol)
		return wake_on_lan(m, c);
	if (MSC_GROUP(c->in_modifier) != 0 || c->op_modifier == MLX4_MSC_OPM_SET_IMM ||
	    c->op_modifier == MLX4_MSC_OPM_QUERY_IMM)
		return tpm_fail(m, BAD_OP, CMD_PARAM, "MOD_STAT_CFG", c->opcode,
				"op_modifier %u, in_modifier 0x%x: only the general page%s offered", c->op_modifier,
				c->in_modifier, m->cfg.wol ? " and wake-on-LAN are" : " is");
	switch (c->op_modifier) {
	case MLX4_MSC_OPM_SET:
		if (!tpm_cmd_need_in(m, c))
			return MLX4_STAT_BAD_PARAM;
		if (prm_get(c->in, MLX4_MSC_PAGE_MODIFY) != 0 && prm_get(c->in, MLX4_MSC_LG_PAGE) != 0)
			return tpm_fail(m, BAD_PARAM, CMD_PARAM, "MOD_STAT_CFG", c->opcode,
					"lg page size - 12 is %u, wanted 0", prm_get(c->in, MLX4_MSC_LG_PAGE));
		return MLX4_STAT_OK;
	case MLX4_MSC_OPM_QUERY:
		if (port != 0 && tpm_cmd_port(m, "MOD_STAT_CFG", port) == NULL)
			return MLX4_STAT_BAD_INDEX;
		if (!tpm_cmd_need_out(m, c))
			return MLX4_STAT_BAD_PARAM;
		memset(c->out, 0, MLX4_MSC_SIZE);
		guid = m->cfg.guid + port;
		prm_set(c->out, MLX4_MSC_GUID_HI, (uint32_t)(guid >> 32));
		prm_set(c->out, MLX4_MSC_GUID_LO, (uint32_t)guid);
		return MLX4_STAT_OK;
	default:
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "MOD_STAT_CFG", c->opcode, "op_modifier %u, wanted 0..3",
				c->op_modifier);
	}
}

uint8_t
tpm_cmd_config_dev(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t known = PRM_MAX(MLX4_CFGDEV_V_VXLAN) << PRM_LO(MLX4_CFGDEV_V_VXLAN) |
			 PRM_MAX(MLX4_CFGDEV_V_ROCE) << PRM_LO(MLX4_CFGDEV_V_ROCE);

	if (c->op_modifier == 1) {
		if (!tpm_cmd_need_out(m, c))
			return MLX4_STAT_BAD_PARAM;
		/* Receive checksum mode 0: the CQE says whether a checksum is right and carries no partial sum. */
		memset(c->out, 0, MLX4_CFGDEV_SIZE);
		return MLX4_STAT_OK;
	}
	if (c->op_modifier != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "CONFIG_DEV", c->opcode, "op_modifier %u, wanted 0 or 1",
				c->op_modifier);
	if (!tpm_cmd_need_in(m, c))
		return MLX4_STAT_BAD_PARAM;
	if ((prm_get32(c->in, 0) & ~known) != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "CONFIG_DEV", c->opcode, "update mask 0x%x, known 0x%x",
				prm_get32(c->in, 0), known);
	if (prm_get(c->in, MLX4_CFGDEV_V_ROCE) != 0 && !tpm_roce_v2(m))
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "CONFIG_DEV", c->opcode,
				"a UDP port for RoCE, but QUERY_DEV_CAP offers RoCE v1 only");
	if (prm_get(c->in, MLX4_CFGDEV_V_VXLAN) != 0 && !tpm_tunnels_offered(m))
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "CONFIG_DEV", c->opcode,
				"a UDP port for VXLAN, but QUERY_DEV_CAP offers no tunnels");
	if (prm_get(c->in, MLX4_CFGDEV_V_VXLAN) != 0)
		m->vxlan_port = (uint16_t)prm_get(c->in, MLX4_CFGDEV_VXLAN_PORT);
	if (prm_get(c->in, MLX4_CFGDEV_V_ROCE) != 0)
		m->roce_port = (uint16_t)prm_get(c->in, MLX4_CFGDEV_ROCE_PORT);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_query_func(struct tp_model *m, struct tpm_cmd *c)
{
	memset(c->out, 0, MLX4_QFUNC_SIZE);
	prm_set(c->out, MLX4_QFUNC_RSVD_EQS, TPM_NUM_RSVD_EQS);
	prm_set(c->out, MLX4_QFUNC_MAX_EQ, 1u << m->lg_eqs);
	prm_set(c->out, MLX4_QFUNC_RSVD_UARS, TPM_RSVD_UARS);
	return MLX4_STAT_OK;
}
