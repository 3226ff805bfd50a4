/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Structures of the kernel, <rdma/rdma_cma_abi.h>, and what they are here. */
#include <errno.h>
#include <string.h>

#include <infiniband/ib.h>
#include <infiniband/sa.h>

#include "cm.h"

#define RETRY_MAX 7u /* three bits (12.7.2) */

socklen_t
share_cm_addr_len(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET: return sizeof(struct sockaddr_in);
	case AF_INET6: return sizeof(struct sockaddr_in6);
	default: return 0;
	}
}

/* --- where an id stands --- */

static int
view_of(const struct share_cm_call *k, uint32_t handle, struct trd_view *v)
{
	struct share_obj *o;
	int err = share_cm_id(k, handle, &o);

	if (err == 0)
		trd_view(o->obj, v);
	return err;
}

static void
path_out(const struct trd_view *v, struct ib_user_path_rec *out)
{
	const struct ibv_sa_path_rec *p = &v->path;

	*out = (struct ib_user_path_rec){
		.dlid = p->dlid,
		.slid = p->slid,
		.flow_label = p->flow_label,
		.reversible = (uint32_t)p->reversible,
		.mtu = p->mtu,
		.pkey = v->device[0] != '\0' ? RTE_BE16(0xffff) : 0,
		.hop_limit = p->hop_limit,
		.traffic_class = p->traffic_class,
		.numb_path = p->numb_path,
		.sl = p->sl,
		.mtu_selector = p->mtu_selector,
		.rate_selector = p->rate_selector,
		.rate = p->rate,
		.packet_life_time_selector = p->packet_life_time_selector,
		.packet_life_time = p->packet_life_time,
		.preference = p->preference,
	};
	memcpy(out->dgid, &v->dgid, sizeof(out->dgid));
	memcpy(out->sgid, &v->sgid, sizeof(out->sgid));
}

int
share_cm_query_route(struct share_cm_call *k)
{
	const struct ucma_abi_query *q = k->in;
	struct ucma_abi_query_route_resp *r = k->out;
	struct trd_view v;
	int err = view_of(k, q->id, &v);

	if (err != 0)
		return err;
	path_out(&v, &r->ib_route[0]);
	memcpy(&r->src_addr, &v.src, sizeof(r->src_addr));
	memcpy(&r->dst_addr, &v.dst, sizeof(r->dst_addr));
	if (v.device[0] == '\0')
		return 0;
	r->num_paths = v.num_paths;
	r->node_guid = v.node_guid;
	r->port_num = v.port_num;
	r->ibdev_index = share_ibdev(v.device);
	return 0;
}

static void
device_out(const struct trd_view *v, struct ucma_abi_query_addr_resp *r)
{
	if (v->device[0] == '\0')
		return;
	r->node_guid = v->node_guid;
	r->port_num = v->port_num;
	r->pkey = RTE_BE16(0xffff);
	r->ibdev_index = share_ibdev(v->device);
}

static void
addr_out(const struct trd_view *v, struct ucma_abi_query_addr_resp *r)
{
	r->src_size = (uint16_t)share_cm_addr_len((const struct sockaddr *)&v->src);
	r->dst_size = (uint16_t)share_cm_addr_len((const struct sockaddr *)&v->dst);
	memcpy(&r->src_addr, &v->src, r->src_size);
	memcpy(&r->dst_addr, &v->dst, r->dst_size);
	device_out(v, r);
}

/* As addresses of the family AF_IB. */
static void
gid_out(const struct trd_view *v, struct ucma_abi_query_addr_resp *r)
{
	struct sockaddr_ib *src = (struct sockaddr_ib *)&r->src_addr, *dst = (struct sockaddr_ib *)&r->dst_addr;

	src->sib_family = dst->sib_family = AF_IB;
	src->sib_pkey = dst->sib_pkey = RTE_BE16(0xffff);
	memcpy(&src->sib_addr, &v->sgid, sizeof(src->sib_addr));
	memcpy(&dst->sib_addr, &v->dgid, sizeof(dst->sib_addr));
	r->src_size = r->dst_size = sizeof(*src);
	device_out(v, r);
}

/* A path record as the subnet administrator has it (15.2.5.16). */
static void
record_out(const struct trd_view *v, struct ibv_path_data *out)
{
	const struct ibv_sa_path_rec *p = &v->path;
	struct ibv_path_record *rec = &out->path;

	out->flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
	rec->dgid = p->dgid;
	rec->sgid = p->sgid;
	rec->dlid = p->dlid;
	rec->slid = p->slid;
	rec->flowlabel_hoplimit = rte_cpu_to_be_32(rte_be_to_cpu_32(p->flow_label) << 8 | p->hop_limit);
	rec->tclass = p->traffic_class;
	rec->reversible_numpath = (uint8_t)(p->reversible << 7 | 1);
	rec->pkey = RTE_BE16(0xffff);
	rec->qosclass_sl = rte_cpu_to_be_16(p->sl);
	rec->mtu = (uint8_t)(p->mtu_selector << 6 | p->mtu);
	rec->rate = (uint8_t)(p->rate_selector << 6 | p->rate);
	rec->packetlifetime = (uint8_t)(p->packet_life_time_selector << 6 | p->packet_life_time);
}

static int
paths_out(const struct trd_view *v, struct share_cm_call *k)
{
	struct ucma_abi_query_path_resp *r = k->out;

	r->num_paths = v->num_paths;
	if (v->num_paths == 0) {
		k->num_out = sizeof(*r);
		return 0;
	}
	if (k->num_out < sizeof(*r) + sizeof(struct ibv_path_data))
		return ENOSPC;
	record_out(v, (struct ibv_path_data *)(void *)r->path_data);
	k->num_out = sizeof(*r) + sizeof(struct ibv_path_data);
	return 0;
}

int
share_cm_query(struct share_cm_call *k)
{
	const struct ucma_abi_query *q = k->in;
	bool path = q->option == UCMA_QUERY_PATH;
	struct trd_view v;
	int err = view_of(k, q->id, &v);

	if (err == 0 && !path && k->num_out < offsetof(struct ucma_abi_query_addr_resp, ibdev_index))
		err = ENOSPC;
	if (err != 0)
		return err;
	switch (q->option) {
	case UCMA_QUERY_ADDR: addr_out(&v, k->out); return 0;
	case UCMA_QUERY_PATH: return paths_out(&v, k);
	case UCMA_QUERY_GID: gid_out(&v, k->out); return 0;
	default: return ENOSYS;
	}
}

/* --- parameters of connections and queue pairs --- */

struct rdma_conn_param
share_cm_param(const struct ucma_abi_conn_param *p)
{
	return (struct rdma_conn_param){
		.private_data = p->private_data,
		.private_data_len = p->private_data_len,
		.responder_resources = p->responder_resources,
		.initiator_depth = p->initiator_depth,
		.flow_control = p->flow_control,
		/* A kernel takes the most that there is, too: libfabric asks for 15. */
		.retry_count = RTE_MIN(p->retry_count, RETRY_MAX),
		.rnr_retry_count = RTE_MIN(p->rnr_retry_count, RETRY_MAX),
		.srq = p->srq,
		.qp_num = p->qp_num,
	};
}

static void
av_out(const struct ibv_ah_attr *a, struct ib_uverbs_ah_attr *out)
{
	memcpy(out->grh.dgid, &a->grh.dgid, sizeof(out->grh.dgid));
	out->grh.flow_label = a->grh.flow_label;
	out->grh.sgid_index = a->grh.sgid_index;
	out->grh.hop_limit = a->grh.hop_limit;
	out->grh.traffic_class = a->grh.traffic_class;
	out->dlid = a->dlid;
	out->sl = a->sl;
	out->src_path_bits = a->src_path_bits;
	out->static_rate = a->static_rate;
	out->is_global = a->is_global;
	out->port_num = a->port_num;
}

void
share_cm_qp_attr(const struct ibv_qp_attr *a, int mask, struct ib_uverbs_qp_attr *out)
{
	out->qp_attr_mask = (uint32_t)mask;
	out->qp_state = a->qp_state;
	out->path_mtu = a->path_mtu;
	out->qkey = a->qkey;
	out->rq_psn = a->rq_psn;
	out->sq_psn = a->sq_psn;
	out->dest_qp_num = a->dest_qp_num;
	out->qp_access_flags = (uint32_t)a->qp_access_flags;
	av_out(&a->ah_attr, &out->ah_attr);
	out->pkey_index = a->pkey_index;
	out->max_rd_atomic = a->max_rd_atomic;
	out->max_dest_rd_atomic = a->max_dest_rd_atomic;
	out->min_rnr_timer = a->min_rnr_timer;
	out->port_num = a->port_num;
	out->timeout = a->timeout;
	out->retry_cnt = a->retry_cnt;
	out->rnr_retry = a->rnr_retry;
}

/* --- events --- */

static void
conn_out(const struct rdma_conn_param *p, struct ucma_abi_conn_param *out)
{
	out->qp_num = p->qp_num;
	out->private_data_len = p->private_data_len;
	if (p->private_data_len != 0)
		memcpy(out->private_data, p->private_data, p->private_data_len);
	out->srq = p->srq;
	out->responder_resources = p->responder_resources;
	out->initiator_depth = p->initiator_depth;
	out->flow_control = p->flow_control;
	out->retry_count = p->retry_count;
	out->rnr_retry_count = p->rnr_retry_count;
}

static void
ud_out(const struct rdma_ud_param *p, struct ucma_abi_ud_param *out)
{
	out->qp_num = p->qp_num;
	out->qkey = p->qkey;
	av_out(&p->ah_attr, &out->ah_attr);
	out->private_data_len = p->private_data_len;
	if (p->private_data_len != 0)
		memcpy(out->private_data, p->private_data, p->private_data_len);
}

void
share_cm_event_out(const struct rdma_cm_event *e, bool datagram, struct ucma_abi_event_resp *out)
{
	out->event = e->event;
	out->status = (uint32_t)e->status;
	if (datagram)
		ud_out(&e->param.ud, &out->param.ud);
	else
		conn_out(&e->param.conn, &out->param.conn);
}
