/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Multicast groups of datagram ids. On Ethernet nobody is asked: a group is its address. */
#include <stdlib.h>
#include <string.h>

#include "lib/roce/net/net_priv.h"
#include "rdma_priv.h"

/* Of an IPv4 group the GID is the mapped address on RoCEv2, and an IPv6 group with that address in it on v1. */
static union ibv_gid
mgid_of(const struct troce_dev *dev, const struct sockaddr *addr)
{
	union ibv_gid gid = trd_gid(addr);

	if (addr->sa_family == AF_INET && dev->mode != TP_ROCE_V2) {
		gid.raw[0] = 0xff;
		gid.raw[1] = 0x0e;
	}
	return gid;
}

static struct trd_group *
find(struct trd_id *id, const struct sockaddr *addr)
{
	struct trd_group *g;

	TAILQ_FOREACH(g, &id->groups, next)
	{
		if (g->addr.ss_family == addr->sa_family && trd_addr_equal((struct sockaddr *)&g->addr, addr))
			break;
	}
	return g;
}

/* The entry of the table to send from: the id's own address, which it has by now. */
static int
join(struct trd_id *id, const struct sockaddr *addr, void *context)
{
	struct trd_event *e;
	struct trd_group *g;
	union ibv_gid mgid;
	int sgid;

	if (id->dev == NULL || id->v.ps != RDMA_PS_UDP)
		return EINVAL;
	mgid = mgid_of(id->dev, addr);
	sgid = trd_sgid(id->dev, &id->v.route.addr.src_addr);
	if (!trn_is_multicast(&mgid) || sgid < 0)
		return EINVAL;
	if (find(id, addr) != NULL)
		return EADDRINUSE;
	g = calloc(1, sizeof(*g));
	e = g != NULL ? trd_event_new(id, RDMA_CM_EVENT_MULTICAST_JOIN, 0) : NULL;
	if (e == NULL) {
		free(g);
		return ENOMEM;
	}
	memcpy(&g->addr, addr, trd_addr_len(addr));
	g->context = context;
	g->av = (struct ibv_ah_attr){.is_global = 1, .port_num = 1};
	g->av.grh.dgid = mgid;
	g->av.grh.sgid_index = (uint8_t)sgid;
	g->av.grh.traffic_class = id->tos;
	TAILQ_INSERT_TAIL(&id->groups, g, next);
	e->group = g;
	e->v.param.ud = (struct rdma_ud_param){
		.private_data = context, .ah_attr = g->av, .qp_num = IB_MCAST_QPN, .qkey = RDMA_UDP_QKEY};
	trd_event_post(e, id);
	return 0;
}

int
tp_rdma_join_multicast(struct rdma_cm_id *v, struct sockaddr *addr, void *context)
{
	struct trd_id *id = trd_id_of(v);
	int err;

	if (!trd_addr_ok(addr))
		return trd_fail(EAFNOSUPPORT);
	trd_lock();
	err = join(id, addr, context);
	trd_unlock();
	return err != 0 ? trd_fail(err) : trd_finish(id);
}

int
tp_rdma_leave_multicast(struct rdma_cm_id *v, struct sockaddr *addr)
{
	struct trd_id *id = trd_id_of(v);
	struct trd_group *g;
	int err = 0;

	if (!trd_addr_ok(addr))
		return trd_fail(EAFNOSUPPORT);
	trd_lock();
	g = find(id, addr);
	if (g != NULL) {
		TAILQ_REMOVE(&id->groups, g, next);
		trd_events_forget(id, g);
	}
	trd_unlock();
	if (g == NULL)
		return trd_fail(EADDRNOTAVAIL);
	if (g->attached)
		err = tp_roce_detach_mcast(v->qp, &g->av.grh.dgid, 0);
	free(g);
	return err != 0 ? trd_fail(err) : 0;
}
