/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The public reports of a port. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/mlx4/ethdev/ethdev.h"
#include "report/rte_pmd_mlx4_report.h"
#include "rte_pmd_mlx4.h"
#include "tp_model.h"

#define ROCE_PKEY 0xffffu /* the default partition, full member (IBTA, annex A16) */

static int
model_of(uint16_t port_id, struct mlx4_eth **eth, struct tp_model **m)
{
	*eth = mlx4_eth_by_port(port_id);
	if (*eth == NULL)
		return -ENODEV;
	if ((*eth)->hca->bus->ops->model == NULL)
		return -ENOTSUP;
	*m = (*eth)->hca->bus->ops->model((*eth)->hca->bus);
	return 0;
}

static void
report_objects(struct mlx4_hca *hca, struct rte_pmd_mlx4_device *info)
{
	struct mlx4_limits used, most;

	mlx4_hca_usage(hca, &used, &info->eqs, &info->commands);
	mlx4_hca_limits(hca, &most);
	info->qps = used.qps;
	info->cqs = used.cqs;
	info->srqs = used.srqs;
	info->max_srqs = most.srqs;
	info->mrs = used.keys;
	info->max_mrs = most.keys;
	info->mtts = used.mtts;
	info->max_mtts = most.mtts;
	info->pds = used.pds;
	info->max_pds = most.pds;
}

int
rte_pmd_mlx4_device_get(uint16_t port_id, struct rte_pmd_mlx4_device *info)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	struct mlx4_port_info p;
	struct mlx4_hca *hca;
	uint8_t version;

	if (eth == NULL)
		return -ENODEV;
	hca = eth->hca;
	memset(info, 0, sizeof(*info));
	info->dead = hca->dead;
	info->wake_on_lan = mlx4_wol_offered(hca, eth->port);
	snprintf(info->name, sizeof(info->name), "%s", hca->bus->where);
	snprintf(info->bus, sizeof(info->bus), "%s", hca->bus->ops->name);
	info->device_id = hca->bus->device_id;
	mlx4_fw_version(eth->dev, info->fw_version, sizeof(info->fw_version));
	snprintf(info->board_id, sizeof(info->board_id), "%s", hca->caps.board_id);
	info->node_guid = hca->node_guid;
	mlx4_quirks_text(&hca->quirks, ',', info->quirks);
	info->port_guid = hca->node_guid + eth->port;
	info->system_guid = hca->node_guid + MLX4_MAX_PORTS + 1;
	info->port = eth->port;
	info->num_ports = hca->caps.num_ports;
	snprintf(info->link_layer, sizeof(info->link_layer), "Ethernet");
	version = mlx4_port_roce_version(hca, eth->port);
	snprintf(info->roce_mode, sizeof(info->roce_mode), version == 0 ? "off" : version == 1 ? "v1" : "v2");
	info->num_gids = version != 0 ? MLX4_GID_ENTRIES : 0;
	info->num_pkeys = version != 0;
	snprintf(info->width, sizeof(info->width), "none");
	info->max_qps = hca->caps.max_qps;
	info->max_cqs = hca->caps.max_cqs;
	report_objects(hca, info);
	memcpy(info->mac, &eth->dev->data->mac_addrs[0], sizeof(info->mac));
	info->active_mtu = eth->dev->data->mtu;
	snprintf(info->state, sizeof(info->state), "DOWN");
	snprintf(info->phys_state, sizeof(info->phys_state), "Disabled");
	if (hca->dead || mlx4_port_query(hca, eth->port, &p) != 0)
		return -EIO;
	if (info->wake_on_lan && mlx4_wol_get(hca, eth->port, &info->wake_on_lan_set) != 0)
		return -EIO;
	info->max_mtu = p.eth_mtu;
	if (p.link_up && eth->dev->data->dev_started) {
		info->speed_mbps = p.speed;
		snprintf(info->width, sizeof(info->width), "%uX", mlx4_port_lanes(p.speed));
		snprintf(info->state, sizeof(info->state), "ACTIVE");
		snprintf(info->phys_state, sizeof(info->phys_state), "LinkUp");
	} else if (eth->dev->data->dev_started) {
		snprintf(info->phys_state, sizeof(info->phys_state), "Polling");
	}
	return 0;
}

int
rte_pmd_mlx4_gid_get(uint16_t port_id, unsigned int i, struct rte_pmd_mlx4_gid *gid)
{
	static const uint8_t empty[MLX4_GID_SIZE];
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);
	struct mlx4_gid g;

	if (eth == NULL)
		return -ENODEV;
	if (i >= MLX4_GID_ENTRIES || mlx4_port_roce_version(eth->hca, eth->port) == 0)
		return -ENOENT;
	mlx4_port_gid_get(eth->hca, eth->port, i, &g);
	if (memcmp(g.gid, empty, sizeof(empty)) == 0)
		return -ENODATA;
	memcpy(gid->gid, g.gid, sizeof(gid->gid));
	gid->roce_version = g.v2 ? 2 : 1;
	return 0;
}

int
rte_pmd_mlx4_pkey_get(uint16_t port_id, unsigned int i, uint16_t *pkey)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return -ENODEV;
	if (i != 0 || mlx4_port_roce_version(eth->hca, eth->port) == 0)
		return -ENOENT;
	*pkey = ROCE_PKEY;
	return 0;
}

int
rte_pmd_mlx4_model_get(uint16_t port_id, struct rte_pmd_mlx4_model *info)
{
	struct tp_model_stats st;
	struct mlx4_eth *eth;
	struct tp_model *m;
	unsigned int p;
	int rc;

	rc = model_of(port_id, &eth, &m);
	if (rc != 0)
		return rc;
	p = eth->port - 1;
	tp_model_get_stats(m, &st);
	memset(info, 0, sizeof(*info));
	snprintf(info->wire, sizeof(info->wire), "%s", st.port[p].wire == NULL ? "none" : st.port[p].wire);
	info->violations = tp_model_violations_total(m);
	tp_model_last_violation(m, info->last_violation, sizeof(info->last_violation));
	info->advice = tp_model_advice_total(m);
	tp_model_last_advice(m, info->last_advice, sizeof(info->last_advice));
	info->link_up = st.port[p].link_up;
#define COPY(f) info->f = st.f
	COPY(commands), COPY(commands_failed), COPY(events), COPY(interrupts), COPY(doorbells), COPY(bf_doorbells);
	COPY(steps), COPY(idle_steps), COPY(sleeps), COPY(icm_pages), COPY(fw_pages), COPY(aux_pages);
	COPY(dma_windows), COPY(dma_bytes_mapped), COPY(qps), COPY(cqs), COPY(eqs), COPY(mpts), COPY(rules);
#undef COPY
#define COPY(f) info->f = st.port[p].f
	COPY(tx_frames), COPY(tx_bytes), COPY(rx_frames), COPY(rx_bytes), COPY(tx_ip_sums), COPY(tx_l4_sums),
		COPY(wire_drops), COPY(impair_drops);
	COPY(impair_corrupts), COPY(impair_dups), COPY(impair_reorders), COPY(rx_no_rule), COPY(rx_vlan_filtered);
	COPY(rx_no_wqe), COPY(rx_too_long), COPY(rx_bad_fcs), COPY(rx_link_down);
#undef COPY
	return 0;
}

unsigned int
rte_pmd_mlx4_model_rules(void)
{
	return tp_model_violation_count();
}

int
rte_pmd_mlx4_model_violation(uint16_t port_id, unsigned int i, const char **name, const char **text, uint64_t *count)
{
	struct mlx4_eth *eth;
	struct tp_model *m;
	int rc;

	rc = model_of(port_id, &eth, &m);
	if (rc != 0)
		return rc;
	if (i >= tp_model_violation_count())
		return -EINVAL;
	*name = tp_model_violation_name(i);
	*text = tp_model_violation_text(i);
	*count = tp_model_violations(m, i);
	return 0;
}

int
rte_pmd_mlx4_model_is_advice(unsigned int i)
{
	if (i >= tp_model_violation_count())
		return -EINVAL;
	return tp_model_violation_class(i) == TP_RULE_ADVICE;
}

int
rte_pmd_mlx4_model_break(uint16_t port_id, enum rte_pmd_mlx4_break what, uint32_t nth)
{
	static const enum tp_break kind[] = {[RTE_PMD_MLX4_BREAK_SQ] = TP_BREAK_SQ,
					     [RTE_PMD_MLX4_BREAK_CQE] = TP_BREAK_CQE,
					     [RTE_PMD_MLX4_BREAK_IRQ] = TP_BREAK_IRQ};
	struct mlx4_eth *eth;
	struct tp_model *m;
	int rc;

	rc = model_of(port_id, &eth, &m);
	if (rc == 0 && (unsigned int)what >= RTE_DIM(kind))
		rc = -EINVAL;
	return rc != 0 ? rc : tp_model_break(m, kind[what], eth->port, nth);
}

int
rte_pmd_mlx4_model_cable(uint16_t port_id, bool plugged)
{
	struct mlx4_eth *eth;
	struct tp_model *m;
	int rc;

	rc = model_of(port_id, &eth, &m);
	return rc != 0 ? rc : tp_model_cable(m, eth->port, plugged);
}

int
rte_pmd_mlx4_model_cable_unsupported(uint16_t port_id)
{
	struct mlx4_eth *eth;
	struct tp_model *m;
	int rc;

	rc = model_of(port_id, &eth, &m);
	return rc != 0 ? rc : tp_model_cable_unsupported(m, eth->port);
}

int
rte_pmd_mlx4_model_peer_speed(uint16_t port_id, uint32_t mbps)
{
	struct mlx4_eth *eth;
	struct tp_model *m;
	int rc;

	rc = model_of(port_id, &eth, &m);
	return rc != 0 ? rc : tp_model_peer_speed(m, eth->port, mbps);
}
