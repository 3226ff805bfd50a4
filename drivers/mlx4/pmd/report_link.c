/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Why a link is down [CP 4.1, 4.9, 9.3]: what the card, its firmware and what is plugged in say. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/mlx4/ethdev/ethdev.h"
#include "drivers/mlx4/hca/port/speeds.h"
#include "report/rte_pmd_mlx4_report.h"

/* Names of a module: SFF-8636, page 00h, and SFF-8472. */
#define ID_SFP 0x03u
#define ID_QSFP 0x0cu
#define ID_QSFP_PLUS 0x0du
#define ID_QSFP28 0x11u
#define TEXT 16u
#define SPEEDS_TEXT 32u
#define QSFP_VENDOR 148u
#define QSFP_PART 168u
#define QSFP_SERIAL 196u
#define SFP_VENDOR 20u
#define SFP_PART 40u
#define SFP_SERIAL 68u

static const struct {
	const char *name, *text;
} reasons[RTE_PMD_MLX4_LINK_REASONS] = {
	[RTE_PMD_MLX4_LINK_UP] = {"up", "the link is up"},
	[RTE_PMD_MLX4_LINK_CARD_DEAD] = {"card-dead", "the card was given up; a reset of the port brings it back"},
	[RTE_PMD_MLX4_LINK_STOPPED] = {"stopped", "the port is not started"},
	[RTE_PMD_MLX4_LINK_SET_DOWN] = {"set-down", "the link was switched off here; it is to be switched on again"},
	[RTE_PMD_MLX4_LINK_NO_MODULE] = {"no-module", "nothing is plugged in"},
	[RTE_PMD_MLX4_LINK_BAD_MODULE] = {"bad-module",
					  "the card cannot use what is plugged in; another cable or module "
					  "is wanted"},
	[RTE_PMD_MLX4_LINK_OTHER_TYPE] = {"other-type", "the peer speaks InfiniBand, and this port is Ethernet; "
							"port-type0 or port-type1 chooses the type"},
	[RTE_PMD_MLX4_LINK_NO_AGREEMENT] = {"no-agreement",
					    "the peer answers, and autonegotiation does not end: speeds of both "
					    "ends do not fit"},
	[RTE_PMD_MLX4_LINK_NO_SIGNAL] = {"no-signal",
					 "a cable is plugged in, and no link comes: the peer is off, its port is "
					 "down, or its speed is another one"},
};

const char *
rte_pmd_mlx4_link_reason_name(enum rte_pmd_mlx4_link_reason reason)
{
	return (unsigned int)reason < RTE_DIM(reasons) ? reasons[reason].name : "";
}

/* Without the blanks behind it; what is no text is a dot. */
static void
text_read(struct mlx4_eth *eth, uint32_t off, char out[TEXT + 1])
{
	uint8_t raw[TEXT];
	const char *why;
	unsigned int i, len = 0;

	out[0] = '\0';
	if (mlx4_module_read(eth, off, TEXT, raw, &why) != 0)
		return;
	for (i = 0; i < TEXT; i++) {
		out[i] = raw[i] >= ' ' && raw[i] <= '~' ? (char)raw[i] : '.';
		if (out[i] != ' ')
			len = i + 1;
	}
	out[len] = '\0';
}

static void
module_read(struct mlx4_eth *eth, struct rte_pmd_mlx4_link *l)
{
	const char *why;
	uint8_t id;
	int rc = mlx4_module_read(eth, 0, sizeof(id), &id, &why);
	bool sfp;

	if (rc != 0) {
		snprintf(l->module, sizeof(l->module), "%s", rc == -ENODEV ? "none" : "unreadable");
		snprintf(l->module_text, sizeof(l->module_text), "%s", why != NULL ? why : "the command failed");
		return;
	}
	sfp = id == ID_SFP;
	if (sfp)
		snprintf(l->module, sizeof(l->module), "SFP");
	else if (id == ID_QSFP || id == ID_QSFP_PLUS || id == ID_QSFP28)
		snprintf(l->module, sizeof(l->module), "%s",
			 id == ID_QSFP        ? "QSFP"
			 : id == ID_QSFP_PLUS ? "QSFP+"
					      : "QSFP28");
	else
		snprintf(l->module, sizeof(l->module), "unknown (0x%02x)", id);
	text_read(eth, sfp ? SFP_VENDOR : QSFP_VENDOR, l->vendor);
	text_read(eth, sfp ? SFP_PART : QSFP_PART, l->part);
	text_read(eth, sfp ? SFP_SERIAL : QSFP_SERIAL, l->serial);
}

/* The firmware senses a peer only on a port that can have both types. */
static void
sense(struct mlx4_eth *eth, struct rte_pmd_mlx4_link *l)
{
	uint32_t type;

	if (!l->both_types || mlx4_port_sense(eth->hca, eth->port, &type) != 0)
		return;
	snprintf(l->sensed, sizeof(l->sensed), "%s",
		 type == MLX4_SENSE_IB    ? "InfiniBand"
		 : type == MLX4_SENSE_ETH ? "Ethernet"
					  : "nothing");
}

static enum rte_pmd_mlx4_link_reason
judge(struct mlx4_eth *eth, const struct rte_pmd_mlx4_link *l, const struct mlx4_speeds *s)
{
	if (strcmp(l->module, "none") == 0) {
		/* What the card said was about a module that is gone. */
		eth->bad_modules_old = l->bad_modules;
		return RTE_PMD_MLX4_LINK_NO_MODULE;
	}
	if (l->bad_modules != eth->bad_modules_old)
		return RTE_PMD_MLX4_LINK_BAD_MODULE;
	if (s->peer != 0 && (s->peer & s->own) == 0)
		return RTE_PMD_MLX4_LINK_NO_AGREEMENT;
	if (strcmp(l->sensed, "InfiniBand") == 0)
		return RTE_PMD_MLX4_LINK_OTHER_TYPE;
	if (strcmp(l->sensed, "Ethernet") == 0 && l->autoneg && !l->autoneg_done)
		return RTE_PMD_MLX4_LINK_NO_AGREEMENT;
	return RTE_PMD_MLX4_LINK_NO_SIGNAL;
}

void
rte_pmd_mlx4_link_speeds_text(uint32_t speeds, char *text, size_t len)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = {
		{RTE_ETH_LINK_SPEED_100M, "0.1"}, {RTE_ETH_LINK_SPEED_1G, "1"},   {RTE_ETH_LINK_SPEED_10G, "10"},
		{RTE_ETH_LINK_SPEED_20G, "20"},   {RTE_ETH_LINK_SPEED_40G, "40"}, {RTE_ETH_LINK_SPEED_56G, "56"},
	};
	size_t at = 0;
	unsigned int i;

	if (len != 0)
		text[0] = '\0';
	for (i = 0; i < RTE_DIM(names); i++)
		if ((speeds & names[i].bit) != 0 && at < len)
			at += (size_t)snprintf(text + at, len - at, "%s%s", at == 0 ? "" : ", ", names[i].name);
}

/* What is different about this one link. */
static void
explain(struct rte_pmd_mlx4_link *l)
{
	char peer[SPEEDS_TEXT], own[SPEEDS_TEXT];

	snprintf(l->text, sizeof(l->text), "%s", reasons[l->reason].text);
	if (l->reason != RTE_PMD_MLX4_LINK_NO_AGREEMENT || l->peer_speeds == 0)
		return;
	rte_pmd_mlx4_link_speeds_text(l->peer_speeds, peer, sizeof(peer));
	rte_pmd_mlx4_link_speeds_text(l->speeds, own, sizeof(own));
	snprintf(l->text, sizeof(l->text), "the peer offers %s GbE, and this port %s GbE: %s", peer, own,
		 (l->peer_speeds & l->speeds) == 0 ? "no speed is common to both"
						   : "no form of a speed is common to both");
}

static enum rte_pmd_mlx4_link_reason
look(struct mlx4_eth *eth, struct rte_pmd_mlx4_link *l)
{
	struct mlx4_speeds s = {0};
	struct mlx4_port_info p;

	if (eth->hca->dead || mlx4_port_query(eth->hca, eth->port, &p) != 0)
		return RTE_PMD_MLX4_LINK_CARD_DEAD;
	l->autoneg = p.autoneg;
	l->autoneg_done = p.autoneg_done;
	l->both_types = p.type_eth && p.type_ib;
	if (mlx4_port_speeds(eth->hca, eth->port, &s) == 0) {
		l->speeds = mlx4_speeds_rte(s.own);
		l->peer_speeds = mlx4_speeds_rte(s.peer);
	}
	module_read(eth, l);
	if (!eth->dev->data->dev_started)
		return RTE_PMD_MLX4_LINK_STOPPED;
	if (eth->link_set_down)
		return RTE_PMD_MLX4_LINK_SET_DOWN;
	if (p.link_up) {
		l->speed_mbps = p.speed;
		eth->bad_modules_old = l->bad_modules;
		return RTE_PMD_MLX4_LINK_UP;
	}
	sense(eth, l);
	return judge(eth, l, &s);
}

int
rte_pmd_mlx4_link_get(uint16_t port_id, struct rte_pmd_mlx4_link *link)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return -ENODEV;
	memset(link, 0, sizeof(*link));
	mlx4_control_lock(eth);
	link->downs = eth->link_downs;
	link->bad_modules = __atomic_load_n(&eth->bad_modules, __ATOMIC_RELAXED);
	link->reason = look(eth, link);
	mlx4_control_unlock(eth);
	explain(link);
	return 0;
}
