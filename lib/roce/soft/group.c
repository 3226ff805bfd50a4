/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Multicast groups: which datagram queue pairs hear what is sent to a GID (IBTA 10.5). */
#include <errno.h>
#include <string.h>

#include "gate.h"

/* Groups are the port's, whichever lane asks. */
struct rsw_group *
rsw_group_find(const struct rsw_dev *d, const union ibv_gid *gid)
{
	d = d->lanes[0];
	for (uint32_t i = 0; i < d->num_groups; i++)
		if (memcmp(&d->groups[i].gid, gid, sizeof(*gid)) == 0)
			return d->groups[i].num != 0 ? &d->groups[i] : NULL;
	return NULL;
}

/* The place of a group, a new one if need be. Places of groups without members are used again. */
static struct rsw_group *
place(struct rsw_dev *d, const union ibv_gid *gid)
{
	struct rsw_group *g = rsw_group_find(d, gid);

	for (uint32_t i = 0; g == NULL && i < d->num_groups; i++)
		if (d->groups[i].num == 0)
			g = &d->groups[i];
	if (g == NULL && d->num_groups < RSW_GROUPS)
		g = &d->groups[d->num_groups++];
	if (g != NULL)
		g->gid = *gid;
	return g;
}

/*
 * The application's list of multicast addresses is its own, and ethdev has only one: the port is told to let all of them
 * through while there are members.
 */
static void
listen_to_groups(struct rsw_dev *d)
{
	int rc;

	if (d->allmulti || rte_eth_allmulticast_get(d->port) == 1 || rte_eth_promiscuous_get(d->port) == 1)
		return;
	rc = rte_eth_allmulticast_enable(d->port);
	d->allmulti = rc == 0;
	if (rc != 0)
		TROCE_LOG(NOTICE, "port %u: it cannot be told to let multicast through (%s)", d->port, strerror(-rc));
}

int
rsw_attach_mcast(struct troce_qp *q, const union ibv_gid *gid, const struct rte_ether_addr *mac)
{
	struct rsw_qp *qp = (struct rsw_qp *)q;
	struct rsw_dev *d = qp->d;
	struct rsw_group *g;
	int rc = 0;

	if (d->lane != 0) {
		TROCE_LOG(ERR, "port %u: queue pair 0x%06x is of lane %u, members of groups are of lane 0", d->port,
			  q->v.qp_num, d->lane);
		return EOPNOTSUPP;
	}
	rsw_gate_close_all(d);
	g = place(d, gid);
	for (unsigned int i = 0; g != NULL && i < g->num; i++)
		if (g->qp[i] == qp)
			goto out;
	if (g == NULL || g->num == RSW_GROUP_QPS) {
		TROCE_LOG(ERR, "port %u: %u groups of %u, members of this one %u of %u", d->port, d->num_groups,
			  RSW_GROUPS, g == NULL ? 0 : g->num, RSW_GROUP_QPS);
		rc = ENOMEM;
	} else {
		g->qp[g->num++] = qp;
	}
out:
	rsw_gate_open_all(d);
	if (rc == 0)
		listen_to_groups(d);
	return rc;
}

int
rsw_detach_mcast(struct troce_qp *q, const union ibv_gid *gid, const struct rte_ether_addr *mac)
{
	struct rsw_qp *qp = (struct rsw_qp *)q;
	struct rsw_dev *d = qp->d;
	struct rsw_group *g;
	unsigned int i = 0;
	int rc = EINVAL;

	rsw_gate_close_all(d);
	g = rsw_group_find(d, gid);
	while (g != NULL && i < g->num && g->qp[i] != qp)
		i++;
	if (g != NULL && i < g->num) {
		g->qp[i] = g->qp[--g->num];
		rc = 0;
	}
	rsw_gate_open_all(d);
	return rc;
}
