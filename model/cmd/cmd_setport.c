/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* SET_PORT: InfiniBand settings and, by selector, everything of an Ethernet port [CP 4.2 .. 4.4]. */
#include <inttypes.h>
#include <string.h>

#include "mlx4_prm_ib.h"
#include "model/qos/qos.h"
#include "cmd.h"

#define FRAME_MIN 64u
/* Header, two tags and FCS around the largest L3 packet. */
#define FRAME_MAX (TPM_ETH_MTU_MAX + 14u + 8u + 4u)
#define GENERAL_V_KNOWN 0x17u  /* byte 3: MTU, pauses, RoCE mode */
#define GENERAL_V2_KNOWN 0x72u /* byte 2: ignore FCS, PHV, user MTU, user MAC */

/* The code of a count of virtual lanes in PortInfo, 0: not one. */
static uint32_t
vl_code(uint32_t count)
{
	return count == 1 ? 1 : count == 2 ? 2 : count == 4 ? 3 : count == 8 ? 4 : 0;
}

static uint8_t
ib_check(struct tp_model *m, const struct tpm_port *p, const uint8_t *in)
{
	uint32_t vl = prm_get(in, MLX4_SPIB_VL_CAP), mtu = prm_get(in, MLX4_SPIB_MTU_CAP),
		 pkeys = prm_get(in, MLX4_SPIB_MAX_PKEYS);

	if (m->cfg.port_type[p->num - 1] == TP_PORT_ETH)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num,
				"InfiniBand settings on an Ethernet-only port");
	if (prm_get(in, MLX4_SPIB_V_VL_CAP) != 0 && vl_code(vl) == 0)
		return tpm_fail(m, BAD_SIZE, CMD_LIMIT, "port", p->num, "VL capability %u, wanted 1, 2, 4 or 8", vl);
	if (prm_get(in, MLX4_SPIB_V_MTU_CAP) != 0 && (mtu < 1 || mtu > 5))
		return tpm_fail(m, BAD_PARAM, CMD_LIMIT, "port", p->num, "MTU capability %u, wanted 1..5", mtu);
	if (prm_get(in, MLX4_SPIB_V_PKEYS) != 0 && (pkeys < 1 || pkeys > TPM_IB_PKEYS))
		return tpm_fail(m, BAD_PARAM, CMD_LIMIT, "port", p->num, "%u P_Keys, wanted 1..%u", pkeys,
				TPM_IB_PKEYS);
	if (prm_get(in, MLX4_SPIB_V_PKEYS) != 0 && pkeys < IB_PKEYS_BLOCK)
		tpm_violate(m, TPM_V_PKEY_TABLE, "port", p->num, "%u P_Keys, wanted %u or more", pkeys, IB_PKEYS_BLOCK);
	return MLX4_STAT_OK;
}

static uint8_t
set_ib(struct tp_model *m, struct tpm_port *p, const uint8_t *in)
{
	uint8_t st = ib_check(m, p, in), *info = p->ibp.info;

	if (st != MLX4_STAT_OK)
		return st;
	prm_set(info, IB_PI_CAP_MASK, prm_get(in, MLX4_SPIB_CAP_MASK));
	if (prm_get(in, MLX4_SPIB_V_VL_CAP) != 0) {
		prm_set(info, IB_PI_VL_CAP, vl_code(prm_get(in, MLX4_SPIB_VL_CAP)));
		prm_set(info, IB_PI_OPER_VLS, vl_code(prm_get(in, MLX4_SPIB_VL_CAP)));
	}
	if (prm_get(in, MLX4_SPIB_V_MTU_CAP) != 0) {
		prm_set(info, IB_PI_MTU_CAP, prm_get(in, MLX4_SPIB_MTU_CAP));
		if (prm_get(info, IB_PI_MTU) > prm_get(in, MLX4_SPIB_MTU_CAP))
			prm_set(info, IB_PI_MTU, prm_get(in, MLX4_SPIB_MTU_CAP));
		p->ibp.mtu = 128u << prm_get(info, IB_PI_MTU);
	}
	if (prm_get(in, MLX4_SPIB_V_PKEYS) != 0) {
		uint32_t blocks = prm_get(in, MLX4_SPIB_MAX_PKEYS) / IB_PKEYS_BLOCK;

		p->ibp.num_pkeys = (uint16_t)((blocks > 0 ? blocks : 1) * IB_PKEYS_BLOCK);
	}
	if (prm_get(in, MLX4_SPIB_V_GUID0) != 0)
		p->ibp.guid[0] = prm_get64(in, MLX4_SPIB_PORT_GUID);
	if (prm_get(in, MLX4_SPIB_RESET_QKEY_VIOL) != 0)
		p->ibp.qkey_bad = 0;
	p->ib = true;
	return MLX4_STAT_OK;
}

static uint8_t
general_check(struct tp_model *m, const struct tpm_port *p, const uint8_t *in)
{
	uint32_t mtu = prm_get(in, MLX4_SPG_MTU), mode = prm_get(in, MLX4_SPG_ROCE_MODE);

	if ((in[2] & ~GENERAL_V2_KNOWN) != 0 || (in[3] & ~GENERAL_V_KNOWN) != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num,
				"valid bits 0x%02x 0x%02x, known 0x%02x 0x%02x", in[2], in[3], GENERAL_V2_KNOWN,
				GENERAL_V_KNOWN);
	if (prm_get(in, MLX4_SPG_V_MTU) != 0 && (mtu < FRAME_MIN || mtu > FRAME_MAX))
		return tpm_fail(m, BAD_PARAM, CMD_LIMIT, "port", p->num, "largest frame %u, wanted %u..%u", mtu,
				FRAME_MIN, FRAME_MAX);
	if (prm_get(in, MLX4_SPG_V_ROCE_MODE) != 0 && mode != MLX4_SPG_ROCE_MODE_V1 &&
	    (mode != MLX4_SPG_ROCE_MODE_V1V2 || !tpm_roce_v2(m)))
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num, "RoCE mode %u, wanted %u%s", mode,
				MLX4_SPG_ROCE_MODE_V1, tpm_roce_v2(m) ? " or 2 (v1 and v2)" : "");
	if (prm_get(in, MLX4_SPG_V_TX_PAUSE) != 0 && prm_get(in, MLX4_SPG_TX_PAUSE) != 0 &&
	    prm_get(in, MLX4_SPG_TX_PFC) != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num, "transmit pause together with PFC 0x%02x",
				prm_get(in, MLX4_SPG_TX_PFC));
	if (prm_get(in, MLX4_SPG_V_RX_PAUSE) != 0 && prm_get(in, MLX4_SPG_RX_PAUSE) != 0 &&
	    prm_get(in, MLX4_SPG_RX_PFC) != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num, "receive pause together with PFC 0x%02x",
				prm_get(in, MLX4_SPG_RX_PFC));
	return MLX4_STAT_OK;
}

static uint8_t
set_general(struct tp_model *m, struct tpm_port *p, const uint8_t *in)
{
	uint8_t st = general_check(m, p, in);

	if (st != MLX4_STAT_OK)
		return st;
	if (prm_get(in, MLX4_SPG_V_MTU) != 0)
		p->max_frame = prm_get(in, MLX4_SPG_MTU);
	if (m->cfg.port_type[p->num - 1] == TP_PORT_AUTO)
		p->ib = false;
	if (prm_get(in, MLX4_SPG_V_TX_PAUSE) != 0) {
		p->tx_pause = prm_get(in, MLX4_SPG_TX_PAUSE) != 0;
		p->tx_pfc = (uint8_t)prm_get(in, MLX4_SPG_TX_PFC);
		tpm_rxbuf_config(m, p);
	}
	if (prm_get(in, MLX4_SPG_V_RX_PAUSE) != 0) {
		p->rx_pause = prm_get(in, MLX4_SPG_RX_PAUSE) != 0;
		p->rx_pfc = (uint8_t)prm_get(in, MLX4_SPG_RX_PFC);
		tpm_pause_config(m, p);
	}
	if (prm_get(in, MLX4_SPG_V_IGNORE_FCS) != 0)
		p->ignore_fcs = prm_get(in, MLX4_SPG_IGNORE_FCS) != 0;
	if (prm_get(in, MLX4_SPG_V_USER_MTU) != 0)
		p->user_mtu = prm_get(in, MLX4_SPG_USER_MTU);
	return MLX4_STAT_OK;
}

static uint8_t
set_mac_table(struct tp_model *m, struct tpm_port *p, const uint8_t *in)
{
	for (uint32_t i = 0; i < MLX4_MAC_TABLE_ENTRIES; i++) {
		uint64_t e = prm_get64(in, 8 * i);

		if ((e & MLX4_MAC_TABLE_VALID) != 0 && ((e & MLX4_MAC_MASK) == 0 || (e >> 40 & 1) != 0))
			return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num,
					"MAC table entry %u is 0x%" PRIx64 ", wanted a unicast address", i, e);
	}
	for (uint32_t i = 0; i < MLX4_MAC_TABLE_ENTRIES; i++)
		p->mac_table[i] = prm_get64(in, 8 * i);
	return MLX4_STAT_OK;
}

static uint8_t
set_vlan_table(struct tp_model *m, struct tpm_port *p, const uint8_t *in)
{
	for (uint32_t i = 0; i < MLX4_VLAN_TABLE_FIRST; i++)
		if ((prm_get32(in, 4 * i) & MLX4_VLAN_TABLE_VALID) != 0)
			return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num,
					"VLAN table entry %u is in use, wanted from %u on", i, MLX4_VLAN_TABLE_FIRST);
	for (uint32_t i = 0; i < MLX4_VLAN_TABLE_ENTRIES; i++)
		p->vlan_table[i] = prm_get32(in, 4 * i);
	return MLX4_STAT_OK;
}

static uint8_t
set_rqp_calc(struct tp_model *m, struct tpm_port *p, const uint8_t *in)
{
	if (m->dmfs)
		return tpm_fail(m, BAD_SYS_STATE, CMD_STATE, "port", p->num,
				"QPNs are not computed with device-managed flow steering");
	memcpy(m->ctl->port[p->num - 1].rqp_calc, in, MLX4_RQP_SIZE);
	return MLX4_STAT_OK;
}

/* What the rules compare of a tunnelled frame is what they name; the steering bits change nothing more. */
static uint8_t
set_vxlan(struct tp_model *m, struct tpm_port *p, const uint8_t *in)
{
	if (!tpm_tunnels_offered(m))
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num, "tunnels, but QUERY_DEV_CAP offers none");
	if (prm_get(in, MLX4_SPV_V_STEER) != 0 && prm_get(in, MLX4_SPV_ENABLE) != 0 && prm_get(in, MLX4_SPV_STEER) == 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num, "tunnels steered by nothing, wanted bits 4:0");
	if (prm_get(in, MLX4_SPV_V_ENABLE) != 0)
		p->tunnels = prm_get(in, MLX4_SPV_ENABLE) != 0;
	return MLX4_STAT_OK;
}

static uint8_t
set_eth(struct tp_model *m, struct tpm_port *p, uint32_t sel, const uint8_t *in)
{
	switch (sel) {
	case MLX4_SET_PORT_GENERAL: return set_general(m, p, in);
	case MLX4_SET_PORT_RQP_CALC: return set_rqp_calc(m, p, in);
	case MLX4_SET_PORT_MAC_TABLE: return set_mac_table(m, p, in);
	case MLX4_SET_PORT_VLAN_TABLE: return set_vlan_table(m, p, in);
	case MLX4_SET_PORT_PRIO2TC: return tpm_set_prio2tc(m, p, in);
	case MLX4_SET_PORT_SCHEDULER: return tpm_set_scheduler(m, p, in);
	case MLX4_SET_PORT_PRIO_MAP: return tpm_set_prio_map(m, p, in);
	case MLX4_SET_PORT_VXLAN: return set_vxlan(m, p, in);
	case MLX4_SET_PORT_GID_TABLE: return tpm_set_gid_table(m, p, in);
	case MLX4_SET_PORT_ROCE_ADDR: return tpm_set_roce_addr(m, p, in);
	default: break;
	}
	return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num, "SET_PORT selector 0x%x is not offered", sel);
}

uint8_t
tpm_cmd_set_port(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t num = c->in_modifier & 0xff, sel = c->in_modifier >> 8;
	struct tpm_port *p = tpm_cmd_port(m, "SET_PORT", num);

	if (p == NULL)
		return MLX4_STAT_BAD_INDEX;
	switch (c->op_modifier) {
	case MLX4_SET_PORT_OPM_IB: return set_ib(m, p, c->in);
	case MLX4_SET_PORT_OPM_ETH: return set_eth(m, p, sel, c->in);
	case MLX4_SET_PORT_OPM_BEACON: p->beacon_s = prm_get(c->in, MLX4_SET_PORT_BEACON_S); return MLX4_STAT_OK;
	default:
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "port", p->num, "SET_PORT op_modifier %u, wanted %u, %u or %u",
				c->op_modifier, MLX4_SET_PORT_OPM_IB, MLX4_SET_PORT_OPM_ETH, MLX4_SET_PORT_OPM_BEACON);
	}
}
