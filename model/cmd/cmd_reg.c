/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Registers by command: the speeds that a port has, may use, uses, and those of its peer [CP 4.10]. */
#include <errno.h>
#include <string.h>

#include "mlx4_prm_reg.h"
#include "model/port/port.h"
#include "cmd.h"

#define SPEED_56G 56000u
#define REG_DWORDS_MIN (1u + MLX4_PTYS_SIZE / 4)
#define REG_DWORDS_MAX ((MLX4_REG_BOX_SIZE - MLX4_REG_DATA) / 4 + 1)

/* A speed, all of its forms, and the form that a copper cable has. */
static const struct {
	uint32_t mbps, modes, cable;
} speeds[] = {
	{100, MLX4_PTYS_100_TX, MLX4_PTYS_100_TX},
	{1000, MLX4_PTYS_1000_SGMII | MLX4_PTYS_1000_KX, MLX4_PTYS_1000_KX},
	{10000, MLX4_PTYS_10G_CX4 | MLX4_PTYS_10G_KX4 | MLX4_PTYS_10G_KR | MLX4_PTYS_10G_CR | MLX4_PTYS_10G_SR,
	 MLX4_PTYS_10G_CR},
	{20000, MLX4_PTYS_20G_KR2, MLX4_PTYS_20G_KR2},
	{40000, MLX4_PTYS_40G_CR4 | MLX4_PTYS_40G_KR4 | MLX4_PTYS_40G_SR4, MLX4_PTYS_40G_CR4},
	{SPEED_56G, MLX4_PTYS_56G_KR4 | MLX4_PTYS_56G_CR4 | MLX4_PTYS_56G_SR4, MLX4_PTYS_56G_CR4},
};
#define SPEEDS (sizeof(speeds) / sizeof(speeds[0]))

static uint32_t
modes_of(uint32_t mbps)
{
	for (unsigned int i = 0; i < SPEEDS; i++)
		if (speeds[i].mbps == mbps)
			return speeds[i].modes;
	return 0;
}

static uint32_t
offered(const struct tp_model *m)
{
	uint32_t modes = 0;

	for (unsigned int i = 0; i < SPEEDS; i++)
		if (speeds[i].mbps != SPEED_56G || tpm_56g_offered(m))
			modes |= speeds[i].modes;
	return modes;
}

/* The form of a link that is up, at the speed that QUERY_PORT shows. */
static uint32_t
in_use(const struct tp_model *m, const struct tpm_port *p)
{
	uint32_t mbps = m->cfg.rate_mbps[p->num - 1], other = 0;

	if (!p->link)
		return 0;
	for (unsigned int i = 0; i < SPEEDS; i++) {
		if (speeds[i].mbps == mbps && (speeds[i].cable & offered(m)) != 0)
			return speeds[i].cable;
		if (speeds[i].mbps == 40000)
			other = speeds[i].cable;
	}
	return other;
}

static void
ptys_read(const struct tp_model *m, const struct tpm_port *p, uint8_t *reg)
{
	uint32_t cap = offered(m);

	memset(reg, 0, MLX4_PTYS_SIZE);
	prm_set(reg, MLX4_PTYS_PORT, p->num);
	prm_set(reg, MLX4_PTYS_PROTO_ETH, 1);
	prm_set(reg, MLX4_PTYS_ETH_CAP, cap);
	prm_set(reg, MLX4_PTYS_ETH_ADMIN, cap & ~p->eth_modes_off);
	prm_set(reg, MLX4_PTYS_ETH_OPER, in_use(m, p));
	if (p->peer_modes != 0 && p->open && p->cable && !p->cable_bad)
		prm_set(reg, MLX4_PTYS_ETH_PARTNER, p->peer_modes);
	else if (p->link)
		prm_set(reg, MLX4_PTYS_ETH_PARTNER, cap);
}

static void
choose(const struct tp_model *m, struct tpm_port *p)
{
	uint32_t own = offered(m) & ~p->eth_modes_off;

	p->no_mode = (p->peer_modes != 0 ? own & p->peer_modes : own) == 0;
}

void
tpm_reg_reset(const struct tp_model *m, struct tpm_port *p)
{
	p->eth_modes_off = 0;
	choose(m, p);
}

/* Both ends of a wire between the card's own ports see what changes at one. */
static void
update_links(struct tp_model *m, struct tpm_port *p)
{
	choose(m, p);
	for (unsigned int i = 0; i < m->cfg.num_ports; i++)
		tpm_port_update_link(m, &m->port[i]);
}

static enum mlx4_reg_status
ptys(struct tp_model *m, const uint8_t *in, uint8_t *out, uint32_t method)
{
	uint32_t n = prm_get(in, MLX4_PTYS_PORT), admin = prm_get(in, MLX4_PTYS_ETH_ADMIN);
	struct tpm_port *p;

	if (n < 1 || n > m->cfg.num_ports || prm_get(in, MLX4_PTYS_PROTO_ETH) == 0)
		return MLX4_REG_STATUS_BAD_PARAM;
	p = &m->port[n - 1];
	if (method == MLX4_REG_METHOD_WRITE) {
		if ((admin & ~offered(m)) != 0)
			return MLX4_REG_STATUS_BAD_PARAM;
		p->eth_modes_off = ~admin;
		update_links(m, p);
	}
	ptys_read(m, p, out);
	return MLX4_REG_STATUS_OK;
}

static enum mlx4_reg_status
operate(struct tp_model *m, const uint8_t *in, uint8_t *out)
{
	uint32_t method = prm_get(in, MLX4_REG_METHOD);

	if (prm_get(in, MLX4_REG_ID) != MLX4_REG_PTYS)
		return MLX4_REG_STATUS_NO_REGISTER;
	if (method != MLX4_REG_METHOD_QUERY && method != MLX4_REG_METHOD_WRITE)
		return MLX4_REG_STATUS_NO_METHOD;
	return ptys(m, in + MLX4_REG_DATA, out + MLX4_REG_DATA, method);
}

uint8_t
tpm_cmd_access_reg(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t type = prm_get(c->in, MLX4_REG_OP_TYPE), len = prm_get(c->in, MLX4_REG_OP_LEN);
	uint32_t dwords = prm_get(c->in, MLX4_REG_LEN);

	if (type != MLX4_REG_OP_TYPE_OPERATION || len != MLX4_REG_OP_DWORDS)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "register", prm_get(c->in, MLX4_REG_ID),
				"TLV of the operation: type %u, %u dwords, wanted %u and %u", type, len,
				MLX4_REG_OP_TYPE_OPERATION, MLX4_REG_OP_DWORDS);
	if (prm_get(c->in, MLX4_REG_TYPE) != MLX4_REG_TYPE_REGISTER &&
	    prm_get(c->in, MLX4_REG_TYPE_FLEX) != MLX4_REG_TYPE_REGISTER)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "register", prm_get(c->in, MLX4_REG_ID),
				"TLV of the register: 0x%04x, wanted type %u", prm_get32(c->in, 0x10) >> 16,
				MLX4_REG_TYPE_REGISTER);
	if (dwords < REG_DWORDS_MIN || dwords > REG_DWORDS_MAX)
		return tpm_fail(m, BAD_PARAM, CMD_LIMIT, "register", prm_get(c->in, MLX4_REG_ID),
				"TLV of the register: %u dwords, wanted %u..%u", dwords, REG_DWORDS_MIN,
				REG_DWORDS_MAX);
	memcpy(c->out, c->in, MLX4_REG_BOX_SIZE);
	prm_set(c->out, MLX4_REG_OP_STATUS, operate(m, c->in, c->out));
	return MLX4_STAT_OK;
}

int
tp_model_peer_speed(struct tp_model *m, unsigned int port, uint32_t mbps)
{
	uint32_t modes = modes_of(mbps);

	if (port < 1 || port > TP_MODEL_PORTS || (modes == 0 && mbps != 0))
		return -EINVAL;
	tpm_lock(&m->lock);
	m->port[port - 1].peer_modes = modes;
	update_links(m, &m->port[port - 1]);
	tpm_unlock(&m->lock);
	return 0;
}
