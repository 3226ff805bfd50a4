/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Port commands: capabilities, link, filters, steering rules [CP 4]. */
#include <inttypes.h>
#include <string.h>

#include "model/port/port.h"
#include "model/wire/wire.h"
#include "cmd.h"

#define IB_MTU_4096 5u
#define IB_WIDTH_4X 2u
#define LG_GIDS 7u
#define LG_PKEYS 7u
#define MAX_TC 8u
#define MAX_VL 8u

/* A port that is paced says so when there is a code for its rate; old firmware trains a cable for 56 GbE at 40. */
static uint32_t
speed_code(const struct tp_model *m, uint32_t mbps)
{
	switch (mbps) {
	case 100: return MLX4_ETH_SPEED_100M;
	case 1000: return MLX4_ETH_SPEED_1G;
	case 10000: return MLX4_ETH_SPEED_10G_XFI;
	case 20000: return MLX4_ETH_SPEED_20G;
	case 56000: return tpm_56g_offered(m) ? MLX4_ETH_SPEED_56G : MLX4_ETH_SPEED_40G;
	default: return MLX4_ETH_SPEED_40G;
	}
}

uint8_t
tpm_cmd_query_port(struct tp_model *m, struct tpm_cmd *c)
{
	struct tpm_port *p = tpm_cmd_port(m, "QUERY_PORT", c->in_modifier);
	enum tp_port_type type;

	if (p == NULL)
		return MLX4_STAT_BAD_INDEX;
	type = m->cfg.port_type[p->num - 1];
	memset(c->out, 0, MLX4_QPORT_SIZE);
	if (tpm_cmd_answers_empty(m, TPM_EMPTY_PORT))
		return MLX4_STAT_OK;
	prm_set(c->out, MLX4_QPORT_LINK_UP, p->link);
	prm_set(c->out, MLX4_QPORT_AN_DONE, p->link);
	prm_set(c->out, MLX4_QPORT_AN_ENABLED, 1);
	prm_set(c->out, MLX4_QPORT_TYPE_ETH, type != TP_PORT_IB);
	prm_set(c->out, MLX4_QPORT_TYPE_IB, type != TP_PORT_ETH);
	prm_set(c->out, MLX4_QPORT_DEF_SENSE, type == TP_PORT_AUTO);
	prm_set(c->out, MLX4_QPORT_SUGGESTED_ETH,
		type == TP_PORT_ETH || (type == TP_PORT_AUTO && !m->cfg.stored_ib[p->num - 1]));
	prm_set(c->out, MLX4_QPORT_IB_MTU, IB_MTU_4096);
	prm_set(c->out, MLX4_QPORT_ETH_MTU, TPM_ETH_MTU_MAX);
	prm_set(c->out, MLX4_QPORT_IB_SPEED, prm_get(p->ibp.info, IB_PI_SPEED_SUPPORTED));
	prm_set(c->out, MLX4_QPORT_ETH_SPEED, speed_code(m, m->cfg.rate_mbps[p->num - 1]));
	prm_set(c->out, MLX4_QPORT_IB_WIDTH, IB_WIDTH_4X);
	prm_set(c->out, MLX4_QPORT_LG_GIDS, LG_GIDS);
	prm_set(c->out, MLX4_QPORT_LG_PKEYS, LG_PKEYS);
	prm_set(c->out, MLX4_QPORT_LG_VLANS, TPM_LG_PORT_VLANS);
	prm_set(c->out, MLX4_QPORT_LG_MACS, TPM_LG_PORT_MACS);
	prm_set(c->out, MLX4_QPORT_MAX_TC, MAX_TC);
	prm_set(c->out, MLX4_QPORT_MAX_VL, MAX_VL);
	prm_set64(c->out, MLX4_QPORT_MAC, p->mac);
	return MLX4_STAT_OK;
}

/* A port that is up stays up, one that is down stays down: drivers repeat both commands [CP 3.7]. */
static uint8_t
port_open(struct tp_model *m, struct tpm_port *p, bool open)
{
	if (p == NULL)
		return MLX4_STAT_BAD_INDEX;
	p->open = open;
	/* The other end of the wire may be this card's other port. */
	for (unsigned int i = 0; i < m->cfg.num_ports; i++)
		tpm_port_update_link(m, &m->port[i]);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_init_port(struct tp_model *m, struct tpm_cmd *c)
{
	return port_open(m, tpm_cmd_port(m, "INIT_PORT", c->in_modifier), true);
}

uint8_t
tpm_cmd_close_port(struct tp_model *m, struct tpm_cmd *c)
{
	return port_open(m, tpm_cmd_port(m, "CLOSE_PORT", c->in_modifier), false);
}

static uint32_t
sensed(const struct tp_model *m, const struct tpm_port *p)
{
	enum tp_port_type type = m->cfg.port_type[p->num - 1];
	enum tp_sense sense = m->cfg.sense[p->num - 1];

	if (!p->cable)
		return MLX4_SENSE_NONE;
	if (type != TP_PORT_AUTO)
		return type == TP_PORT_IB ? MLX4_SENSE_IB : MLX4_SENSE_ETH;
	if (sense == TP_SENSE_WIRE)
		sense = tpm_wire_sense(p);
	return sense == TP_SENSE_IB ? MLX4_SENSE_IB : sense == TP_SENSE_ETH ? MLX4_SENSE_ETH : MLX4_SENSE_NONE;
}

uint8_t
tpm_cmd_sense_port(struct tp_model *m, struct tpm_cmd *c)
{
	struct tpm_port *p = tpm_cmd_port(m, "SENSE_PORT", c->in_modifier);

	if (p == NULL)
		return MLX4_STAT_BAD_INDEX;
	c->imm = sensed(m, p);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_set_vlan_fltr(struct tp_model *m, struct tpm_cmd *c)
{
	struct tpm_port *p = tpm_cmd_port(m, "SET_VLAN_FLTR", c->in_modifier);

	if (p == NULL)
		return MLX4_STAT_BAD_INDEX;
	/* The bitmap comes with its highest dword first. */
	for (uint32_t i = 0; i < MLX4_VLAN_FLTR_DWORDS; i++)
		p->vlan_bitmap[i] = prm_get32(c->in, 4 * (MLX4_VLAN_FLTR_DWORDS - 1 - i));
	p->vlan_filter_on = true;
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_set_mcast_fltr(struct tp_model *m, struct tpm_cmd *c)
{
	struct tpm_port *p = tpm_cmd_port(m, "SET_MCAST_FLTR", c->in_modifier);
	uint64_t known = MLX4_MCAST_FLTR_CLEAR | MLX4_MAC_MASK;

	if (p == NULL)
		return MLX4_STAT_BAD_INDEX;
	if (c->op_modifier > MLX4_MCAST_FLTR_ENABLE || (c->in_param & ~known) != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "SET_MCAST_FLTR", p->num,
				"op_modifier %u, parameter 0x%" PRIx64 ", wanted 0..%u and bits 63, 47:0",
				c->op_modifier, c->in_param, MLX4_MCAST_FLTR_ENABLE);
	if (c->op_modifier != MLX4_MCAST_FLTR_CONFIG) {
		p->mcast_filter = c->op_modifier == MLX4_MCAST_FLTR_ENABLE;
		return MLX4_STAT_OK;
	}
	return tpm_mcast_config(m, p, (c->in_param & MLX4_MCAST_FLTR_CLEAR) != 0, c->in_param & MLX4_MAC_MASK);
}

uint8_t
tpm_mcast_config(struct tp_model *m, struct tpm_port *p, bool clear, uint64_t mac)
{
	struct tpm_mcast *f = &m->ctl->port[p->num - 1].mcast;

	if (clear)
		f->count = 0;
	if (mac == 0)
		return MLX4_STAT_OK;
	for (uint32_t i = 0; i < f->count; i++)
		if (f->mac[i] == mac)
			return MLX4_STAT_OK;
	if (f->count == TPM_MCAST_MAX)
		return tpm_fail(m, EXCEED_LIM, CMD_LIMIT, "port", p->num,
				"%u multicast addresses are in the filter, wanted at most %u", f->count, TPM_MCAST_MAX);
	f->mac[f->count++] = mac;
	return MLX4_STAT_OK;
}

static uint8_t
dmfs_check(struct tp_model *m, const struct tpm_cmd *c)
{
	if (m->dmfs)
		return MLX4_STAT_OK;
	return tpm_fail(m, BAD_SYS_STATE, CMD_STATE, "flow steering", c->opcode,
			"INIT_HCA did not turn device-managed flow steering on");
}

uint8_t
tpm_cmd_flow_attach(struct tp_model *m, struct tpm_cmd *c)
{
	uint8_t st = dmfs_check(m, c);

	if (st != MLX4_STAT_OK)
		return st;
	if (c->in_modifier * 4u < MLX4_DMFS_CTRL_SIZE || c->in_modifier > MLX4_MAILBOX_SIZE / 4)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "flow steering", c->opcode, "%u dwords, wanted %u..%u",
				c->in_modifier, MLX4_DMFS_CTRL_SIZE / 4, MLX4_MAILBOX_SIZE / 4);
	return tpm_steer_attach(m, c->in, c->in_modifier, &c->imm);
}

uint8_t
tpm_cmd_flow_detach(struct tp_model *m, struct tpm_cmd *c)
{
	uint8_t st = dmfs_check(m, c);

	return st != MLX4_STAT_OK ? st : tpm_steer_detach(m, c->in_param);
}
