/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* From IP addresses to ports, GIDs and paths (annexes A11, A16, A17). */
#include <stdlib.h>
#include <string.h>

#include "lib/roce/net/net_priv.h"
#include "rdma_priv.h"

#define MAX_TIMEOUT_MS 3600000
#define LIFETIME_CODE TCM_LIFETIME
#define FLOW_LABEL_MASK 0xfffffu

static void
addr_of_gid(struct sockaddr_storage *to, const union ibv_gid *gid, uint16_t port)
{
	trd_addr_from(to, trn_is_v4(gid) ? 4 : 6, gid->raw, port);
}

/* --- ports and their GIDs --- */

static struct ibv_ah_attr
av_to(const struct trd_id *id, uint32_t sgid_index, const union ibv_gid *dgid)
{
	struct ibv_ah_attr av = {.is_global = 1, .port_num = 1};

	av.grh.dgid = *dgid;
	av.grh.sgid_index = (uint8_t)sgid_index;
	av.grh.traffic_class = id->tos;
	return av;
}

/* Whether the port leads there from this entry of its table. 0, EINPROGRESS (the neighbour is asked), EHOSTUNREACH */
static int
try_entry(struct troce_dev *dev, const struct trd_id *id, uint32_t index, const union ibv_gid *dgid)
{
	const struct ibv_ah_attr av = av_to(id, index, dgid);
	struct troce_path path;

	return troce_path_resolve(dev, &av, 0, 0, &path);
}

/* The entry to send from: one of the destination's own scope first. */
static int
choose_entry(struct troce_dev *dev, const struct trd_id *id, const struct sockaddr *src, const union ibv_gid *dgid)
{
	for (unsigned int other_scope = 0; other_scope < 2; other_scope++)
		for (uint32_t i = 0; i < TP_ROCE_GIDS; i++) {
			struct troce_gid g;
			int rc;

			if (!troce_gid_get(dev, i, &g) || g.type != trd_gid_type(dev) ||
			    trn_is_v4(&g.gid) != trn_is_v4(dgid) ||
			    (trn_is_link_local(&g.gid) != trn_is_link_local(dgid)) != (other_scope != 0))
				continue;
			if (!trd_addr_any(src)) {
				const union ibv_gid want = trd_gid(src);

				if (!trn_gid_equal(&g.gid, &want))
					continue;
			}
			rc = try_entry(dev, id, i, dgid);
			if (rc == 0 || rc == EINPROGRESS)
				return (int)i;
		}
	return -1;
}

/* --- tp_rdma_resolve_addr --- */

static void
belongs(struct trd_id *id, struct troce_dev *dev)
{
	id->dev = dev;
	id->v.verbs = &dev->vctx.context;
	id->v.port_num = 1;
}

static int
choose_port(struct trd_id *id, const struct sockaddr *src, const union ibv_gid *dgid)
{
	struct troce_cm *cm;
	int index;

	if (id->dev != NULL) {
		index = choose_entry(id->dev, id, src, dgid);
		return index;
	}
	TAILQ_FOREACH(cm, &trd_cms, next)
	{
		index = choose_entry(cm->dev, id, src, dgid);
		if (index < 0)
			continue;
		belongs(id, cm->dev);
		return index;
	}
	return -1;
}

/* For a destination that is any: the source's address, or the first of that family of the first port that has one. */
static bool
own_addr(const struct trd_id *id, const struct sockaddr *src, struct sockaddr_storage *to)
{
	uint16_t port = trd_port((struct sockaddr *)to);
	bool v4 = to->ss_family == AF_INET;
	struct troce_cm *cm;
	struct troce_gid g;

	if (!trd_addr_any(src)) {
		memcpy(to, src, trd_addr_len(src));
		trd_port_set((struct sockaddr *)to, port);
		return true;
	}
	TAILQ_FOREACH(cm, &trd_cms, next)
	{
		if (id->dev != NULL && id->dev != cm->dev)
			continue;
		for (uint32_t i = 0; i < TP_ROCE_GIDS; i++) {
			if (!troce_gid_get(cm->dev, i, &g) || g.type != trd_gid_type(cm->dev) ||
			    trn_is_v4(&g.gid) != v4)
				continue;
			addr_of_gid(to, &g.gid, port);
			return true;
		}
	}
	return false;
}

/* As Linux computes it; on its side, and in packets over IPv6, it tells connections apart. */
static uint32_t
flow_label(const struct trd_id *id)
{
	return (trd_port(&id->v.route.addr.src_addr) * 31u + trd_port(&id->v.route.addr.dst_addr)) & FLOW_LABEL_MASK;
}

static int
resolve(struct trd_id *id, struct sockaddr *src, const struct sockaddr *dst, int timeout_ms)
{
	struct sockaddr_storage local, to;
	union ibv_gid dgid;
	struct troce_gid g;
	int index, err;

	memset(&local, 0, sizeof(local));
	memset(&to, 0, sizeof(to));
	local.ss_family = dst->sa_family;
	memcpy(&to, dst, trd_addr_len(dst));
	if (id->state == TRD_IDLE && src != NULL)
		memcpy(&local, src, trd_addr_len(src));
	else if (id->state == TRD_BOUND)
		local = id->v.route.addr.src_storage;
	else if (id->state != TRD_IDLE)
		return EINVAL;
	if (trd_addr_any(dst) && !own_addr(id, (struct sockaddr *)&local, &to))
		return ENODEV;
	dgid = trd_gid((struct sockaddr *)&to);
	index = choose_port(id, (struct sockaddr *)&local, &dgid);
	if (index < 0 || !troce_gid_get(id->dev, (uint32_t)index, &g))
		return ENODEV;
	if (trd_addr_any((struct sockaddr *)&local))
		addr_of_gid(&local, &g.gid, trd_port((struct sockaddr *)&local));
	if (id->state == TRD_IDLE) {
		err = trd_port_bind(id, (struct sockaddr *)&local);
		if (err != 0)
			return err;
	}
	id->v.route.addr.src_storage = local;
	id->v.route.addr.dst_storage = to;
	id->v.route.addr.addr.ibaddr.sgid = g.gid;
	id->v.route.addr.addr.ibaddr.dgid = dgid;
	id->v.route.addr.addr.ibaddr.pkey = 0xffff;
	id->av = av_to(id, (uint32_t)index, &dgid);
	id->av.grh.flow_label = flow_label(id);
	trd_classify(id);
	id->until = troce_now_ns(id->dev) + (uint64_t)timeout_ms * 1000000;
	id->state = TRD_RESOLVING;
	id->dev->cm->resolving++;
	return 0;
}

int
tp_rdma_resolve_addr(struct rdma_cm_id *v, struct sockaddr *src, struct sockaddr *dst, int timeout_ms)
{
	struct trd_id *id = trd_id_of(v);
	int err;

	if (timeout_ms < 0 || timeout_ms > MAX_TIMEOUT_MS) {
		TROCE_LOG(ERR, "timeout_ms %d is not in 0..%d", timeout_ms, MAX_TIMEOUT_MS);
		return trd_fail(EINVAL);
	}
	if (!trd_addr_ok(dst) || (src != NULL && !trd_addr_ok(src)) ||
	    (src != NULL && src->sa_family != dst->sa_family))
		return trd_fail(EAFNOSUPPORT);
	trd_lock();
	err = resolve(id, src, dst, timeout_ms);
	if (err == 0)
		trd_resolve_run(id->dev->cm, troce_now_ns(id->dev));
	trd_unlock();
	return err != 0 ? trd_fail(err) : trd_finish(id);
}

void
trd_resolve_run(struct troce_cm *cm, uint64_t now_ns)
{
	struct trd_id *id;

	TAILQ_FOREACH(id, &trd_ids, next)
	{
		struct troce_path path;
		int rc;

		if (id->state != TRD_RESOLVING || id->dev != cm->dev)
			continue;
		rc = trn_is_multicast(&id->av.grh.dgid)
			     ? 0
			     : troce_path_resolve(cm->dev, &id->av, 0, trd_service(id), &path);
		if (rc == EINPROGRESS && now_ns < id->until)
			continue;
		if (rc == EINPROGRESS)
			rc = ETIMEDOUT;
		cm->resolving--;
		id->state = rc == 0 ? TRD_RESOLVED : TRD_BOUND;
		trd_post(id, rc == 0 ? RDMA_CM_EVENT_ADDR_RESOLVED : RDMA_CM_EVENT_ADDR_ERROR, -rc);
	}
}

int
tp_rdma_resolve_route(struct rdma_cm_id *v, int timeout_ms)
{
	struct trd_id *id = trd_id_of(v);
	struct ibv_sa_path_rec *r = &id->path_rec;
	bool ok;

	trd_lock();
	ok = id->state == TRD_RESOLVED;
	if (ok) {
		*r = (struct ibv_sa_path_rec){.dgid = id->av.grh.dgid,
					      .sgid = v->route.addr.addr.ibaddr.sgid,
					      .flow_label = rte_cpu_to_be_32(id->av.grh.flow_label),
					      .hop_limit = id->dev->conf.ttl,
					      .traffic_class = id->av.grh.traffic_class,
					      .sl = id->av.sl,
					      .reversible = 1,
					      .numb_path = 1,
					      .pkey = 0xffff,
					      .mtu_selector = 2, /* exactly */
					      .mtu = (uint8_t)id->dev->port.active_mtu,
					      .rate_selector = 2,
					      .packet_life_time_selector = 2,
					      .packet_life_time = LIFETIME_CODE};
		v->route.path_rec = r;
		v->route.num_paths = 1;
		id->state = TRD_ROUTED;
		trd_post(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	}
	trd_unlock();
	return ok ? trd_finish(id) : trd_fail(EINVAL);
}

/* --- addresses that go --- */

void
trd_addr_check(struct troce_cm *cm)
{
	struct trd_id *id;

	TAILQ_FOREACH(id, &trd_ids, next)
	{
		if (id->dev != cm->dev || id->addr_changed || trd_addr_any(&id->v.route.addr.src_addr) ||
		    id->state == TRD_IDLE || id->state == TRD_DONE)
			continue;
		if (trd_sgid(cm->dev, &id->v.route.addr.src_addr) >= 0)
			continue;
		id->addr_changed = true;
		trd_post(id, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	}
}
