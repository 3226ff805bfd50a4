/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Addresses of datagrams, and the groups that queue pairs listen to [DP 3.3, 10.1, 9.3]. */
#include <errno.h>

#include <rte_malloc.h>

#include "drivers/mlx4/hca/port/ib.h"
#include "verbs.h"

static void
fill_ethernet(uint8_t *d, const struct troce_path *p)
{
	const uint16_t vid = p->vlan != TP_ROCE_NO_VLAN ? p->vlan : 0;
	const bool tagged = p->vlan != TP_ROCE_NO_VLAN || (p->prio != 0 && !p->untag);

	prm_set(d, MLX4_AV_VLAN, tagged);
	if (rte_is_multicast_ether_addr(&p->dmac))
		prm_set(d, MLX4_AV_DLID, MLX4_AV_DLID_MCAST);
	prm_set(d, MLX4_AV_PRIO, p->prio);
	prm_set(d, MLX4_DGRAM_VLAN, tagged ? (uint32_t)p->prio << 13 | vid : MLX4_DGRAM_NO_VLAN);
	memcpy(d + MLX4_DGRAM_DMAC, p->dmac.addr_bytes, RTE_ETHER_ADDR_LEN);
}

static void
fill_infiniband(const struct mlx4_hca *hca, uint8_t *d, const struct troce_path *p)
{
	prm_set(d, MLX4_AV_PATH_BITS, p->path_bits);
	prm_set(d, MLX4_AV_DLID, p->dlid);
	prm_set(d, MLX4_AV_STATIC_RATE, mlx4_port_ib_rate(hca, p->rate));
	prm_set(d, MLX4_AV_SL, p->prio);
}

int
mlx4_roce_create_ah(struct troce_ah *ah)
{
	struct mlx4_roce_ah *h = (struct mlx4_roce_ah *)ah;
	struct mlx4_roce *r = mlx4_roce_of(ah->v.context);
	const struct troce_path *p = &ah->path;
	uint8_t *d = h->dgram;

	if (r->hca == NULL)
		return EIO;
	prm_set(d, MLX4_AV_PORT, r->port);
	prm_set(d, MLX4_AV_PD, mlx4_roce_pdn(ah->v.pd));
	prm_set(d, MLX4_AV_GRH, p->grh);
	prm_set(d, MLX4_AV_SGID_INDEX, p->sgid_index);
	prm_set(d, MLX4_AV_HOP_LIMIT, p->hop_limit);
	prm_set(d, MLX4_AV_TCLASS, p->tclass);
	prm_set(d, MLX4_AV_FLOW_LABEL, p->flow_label);
	memcpy(d + MLX4_AV_DGID, p->dgid.raw, sizeof(p->dgid.raw));
	if (r->dev->ib != NULL)
		fill_infiniband(r->hca, d, p);
	else
		fill_ethernet(d, p);
	return 0;
}

int
mlx4_roce_destroy_ah(struct troce_ah *ah)
{
	return 0; /* the card knows nothing of it */
}

/* --- groups ------------------------------------------------------------------------------------------------ */

int
mlx4_roce_attach_mcast(struct troce_qp *qp, const union ibv_gid *gid, const struct rte_ether_addr *mac)
{
	struct mlx4_roce_qp *q = (struct mlx4_roce_qp *)qp;
	struct mlx4_roce_group *g;
	int rc;

	if (!q->live)
		return EIO;
	rc = mlx4_roce_on_card(q, "multicast group");
	if (rc != 0)
		return rc;
	g = rte_zmalloc_socket("mlx4_group", sizeof(*g), 0, q->home->dev->numa_node);
	if (g == NULL)
		return ENOMEM;
	g->gid = *gid;
	rc = mlx4_rule_gid(q->home->hca, q->home->port, gid->raw, q->qpn, &g->rule);
	if (rc != 0) {
		rte_free(g);
		return mlx4_roce_errno(rc);
	}
	LIST_INSERT_HEAD(&q->groups, g, next);
	return 0;
}

static void
leave(struct mlx4_roce_qp *q, struct mlx4_roce_group *g)
{
	mlx4_rule_remove(q->home->hca, q->home->port, g->rule);
	LIST_REMOVE(g, next);
	rte_free(g);
}

int
mlx4_roce_detach_mcast(struct troce_qp *qp, const union ibv_gid *gid, const struct rte_ether_addr *mac)
{
	struct mlx4_roce_qp *q = (struct mlx4_roce_qp *)qp;
	struct mlx4_roce_group *g;

	if (!q->live)
		return 0;
	LIST_FOREACH(g, &q->groups, next)
	if (memcmp(&g->gid, gid, sizeof(*gid)) == 0) {
		leave(q, g);
		return 0;
	}
	return EINVAL;
}

void
mlx4_roce_mcast_drop(struct mlx4_roce_qp *q)
{
	while (!LIST_EMPTY(&q->groups))
		leave(q, LIST_FIRST(&q->groups));
}
