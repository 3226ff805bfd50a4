/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What is in use on a card and a port, and what firmware commands cost. */
#include <errno.h>
#include <string.h>

#include "drivers/mlx4/ethdev/ethdev.h"
#include "drivers/mlx4/flow/flow.h"
#include "drivers/mlx4/group/group.h"
#include "drivers/mlx4/hca/core.h"
#include "drivers/mlx4/hca/history.h"
#include "drivers/mlx4/steer/vlan.h"
#include "drivers/mlx4/verbs/ib_port.h"
#include "report/rte_pmd_mlx4_report.h"

_Static_assert(RTE_PMD_MLX4_COMMANDS == MLX4_HISTORY_OPCODES, "an opcode has no place");

int
rte_pmd_mlx4_commands_get(uint16_t port_id, struct rte_pmd_mlx4_command *list, unsigned int max)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	struct mlx4_cmd_cost cost[MLX4_HISTORY_OPCODES];
	unsigned int i, n;

	if (eth == NULL)
		return -ENODEV;
	n = mlx4_history_costs(eth->hca->history, cost);
	for (i = 0; i < n && i < max; i++) {
		const struct mlx4_cmd_desc *desc = mlx4_cmd_describe(cost[i].opcode);

		list[i].name = desc != NULL ? desc->name : "unknown";
		list[i].opcode = cost[i].opcode;
		list[i].count = cost[i].count;
		list[i].failed = cost[i].failed;
		list[i].unanswered = cost[i].unanswered;
		list[i].total_ns = cost[i].total_ns;
		list[i].worst_ns = cost[i].worst_ns;
	}
	return (int)n;
}

int
rte_pmd_mlx4_commands_reset(uint16_t port_id)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return -ENODEV;
	mlx4_history_costs_reset(eth->hca->history);
	return 0;
}

/* --- resources --------------------------------------------------------------------------------------------- */

struct kinds {
	struct rte_pmd_mlx4_resource *list;
	unsigned int max, n;
};

static void
put(struct kinds *k, const struct rte_pmd_mlx4_resource *r)
{
	if (k->n < k->max)
		k->list[k->n] = *r;
	k->n++;
}

static void
add(struct kinds *k, const char *name, bool of_card, uint32_t used, uint32_t limit, uint32_t reserved)
{
	put(k, &(struct rte_pmd_mlx4_resource){
		       .name = name, .of_card = of_card, .used = used, .limit = limit, .reserved = reserved});
}

/* What ports share: each object is of one port or of the card itself. */
static void
add_shared(struct kinds *k, const char *name, uint32_t used, uint32_t limit, uint32_t reserved, uint32_t port_used)
{
	put(k, &(struct rte_pmd_mlx4_resource){name, true, used, limit, reserved, true, port_used});
}

static void
add_card(struct mlx4_hca *hca, unsigned int port, struct kinds *k)
{
	const struct mlx4_caps *c = &hca->caps;
	struct mlx4_limits used, most;
	struct mlx4_port_usage mine, of;
	uint32_t eqs, rules = 0;
	uint64_t commands;
	unsigned int p;

	mlx4_hca_usage(hca, &used, &eqs, &commands);
	mlx4_hca_limits(hca, &most);
	mlx4_hca_port_usage(hca, port, &mine);
	for (p = 1; p <= hca->caps.num_ports; p++) {
		mlx4_hca_port_usage(hca, p, &of);
		rules += of.rules;
	}
	add_shared(k, "queue-pairs", used.qps, most.qps, c->rsvd_qps, mine.object[MLX4_OBJ_QP]);
	add_shared(k, "completion-queues", used.cqs, most.cqs, c->rsvd_cqs, mine.object[MLX4_OBJ_CQ]);
	add_shared(k, "shared-receive-queues", used.srqs, most.srqs, c->rsvd_srqs, mine.object[MLX4_OBJ_SRQ]);
	add_shared(k, "event-queues", eqs, hca->icm != NULL ? mlx4_icm_num_eqs(hca) : 0, c->rsvd_eqs, mine.eqs);
	add_shared(k, "memory-keys", used.keys, most.keys, c->rsvd_mpts, mine.object[MLX4_OBJ_KEY]);
	add(k, "translation-entries", true, used.mtts, most.mtts, c->rsvd_mtts);
	add_shared(k, "protection-domains", used.pds, most.pds, c->rsvd_pds, mine.object[MLX4_OBJ_PD]);
	add_shared(k, "doorbell-pages", hca->up ? mlx4_numbers_used(hca->uars) : 0, c->num_uars, c->rsvd_uars,
		   mine.object[MLX4_OBJ_UAR]);
	/* How many the card has room for depends on what they compare; it does not say. */
	add_shared(k, "steering-rules", rules, 0, 0, mine.rules);
}

static uint32_t
macs(const struct mlx4_eth *eth)
{
	uint32_t i, n = 0;

	for (i = 0; i < MLX4_ETH_MAX_UC_MACS; i++)
		n += !rte_is_zero_ether_addr(&eth->dev->data->mac_addrs[i]);
	return n;
}

/* Those of the filter's list; those of groups pass beside it. */
static uint32_t
vlans(const struct mlx4_eth *eth)
{
	uint32_t i, n = 0;

	for (i = 0; i < RTE_DIM(eth->vlan_filter); i++)
		n += (uint32_t)__builtin_popcount(eth->vlan_filter[i]);
	return n;
}

static uint32_t
gids(struct mlx4_eth *eth)
{
	static const uint8_t empty[MLX4_GID_SIZE];
	struct mlx4_gid g;
	uint32_t i, n = 0;

	for (i = 0; i < MLX4_GID_ENTRIES && mlx4_port_roce_version(eth->hca, eth->port) != 0; i++) {
		mlx4_port_gid_get(eth->hca, eth->port, i, &g);
		n += memcmp(g.gid, empty, sizeof(empty)) != 0;
	}
	return n;
}

static uint32_t
flow_rules(const struct mlx4_eth *eth)
{
	const struct rte_flow *f;
	uint32_t n = 0;

	TAILQ_FOREACH(f, &eth->flows->list, next)
	n++;
	return n;
}

static void
add_port(struct mlx4_eth *eth, struct kinds *k)
{
	const struct rte_eth_dev_data *data = eth->dev->data;

	add(k, "receive-queues", false, data->nb_rx_queues, MLX4_ETH_MAX_RXQ, 0);
	add(k, "transmit-queues", false, data->nb_tx_queues, MLX4_ETH_MAX_TXQ, 0);
	add(k, "addresses", false, macs(eth), MLX4_ETH_MAX_UC_MACS, 0);
	add(k, "multicast-addresses", false, eth->num_mc, eth->mc_size, 0);
	add(k, "vlans", false, vlans(eth), MLX4_ETH_MAX_VLANS, 0);
	add(k, "gids", false, gids(eth), MLX4_GID_ENTRIES, 0);
	add(k, "groups", false, eth->groups->num, TP_GROUPS, 0);
	/* A rule and its successor have one place of the card's priorities, of which all may have the same. */
	add(k, "flow-rules", false, flow_rules(eth), 0, 0);
}

static void
of_ib_port(struct mlx4_ib_port *p, void *arg)
{
	add_card(p->hca, p->port, arg);
}

int
rte_pmd_mlx4_ib_resources_get(const char *name, struct rte_pmd_mlx4_resource *list, unsigned int max)
{
	struct kinds k = {list, max, 0};
	int ret = name != NULL ? mlx4_ib_port_look(name, of_ib_port, &k) : -EINVAL;

	return ret != 0 ? ret : (int)k.n;
}

int
rte_pmd_mlx4_resources_get(uint16_t port_id, struct rte_pmd_mlx4_resource *list, unsigned int max)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	struct kinds k = {list, max, 0};

	if (eth == NULL)
		return -ENODEV;
	mlx4_control_lock(eth);
	add_card(eth->hca, eth->port, &k);
	add_port(eth, &k);
	mlx4_control_unlock(eth);
	return (int)k.n;
}
