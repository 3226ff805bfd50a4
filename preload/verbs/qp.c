/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue pairs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs_client.h"

/* Nothing is posted; the owner has stamped the rings. */
static void
rings_reset(struct mlx4_roce_qp *q)
{
	uint32_t i;

	for (i = 0; i <= q->sq_mask + q->sq_spare; i++)
		q->slots[i].owner = RTE_BE32(MLX4_CTRL_OWN);
	q->sq_head = q->sq_tail = q->rq_head = q->rq_tail = 0;
}

static int
slots_make(struct mlx4_roce_qp *q, bool all_signaled)
{
	uint32_t i;

	q->slots = calloc(q->sq_mask + 1 + q->sq_spare, sizeof(*q->slots));
	q->rq_wrid = calloc(q->rq_mask + 1, sizeof(*q->rq_wrid));
	if (q->slots == NULL || q->rq_wrid == NULL)
		return ENOMEM;
	for (i = 0; i <= q->sq_mask + q->sq_spare; i++)
		q->slots[i].wqe = q->sq + ((size_t)(i & q->sq_mask) << q->lg_sq_stride);
	for (i = 0; i < RTE_DIM(q->flags); i++)
		q->flags[i] =
			rte_cpu_to_be_32((all_signaled || (i & 1) != 0 ? MLX4_CTRL_CQE : 0) |
					 ((i & 2) != 0 ? MLX4_CTRL_SOLICITED : 0) | (q->raw ? MLX4_CTRL_NO_ICRC : 0));
	rings_reset(q);
	return 0;
}

static int
qp_fill(struct vc_context *c, struct mlx4_roce_qp *q, const struct share_qp *r, int fd)
{
	uint8_t *mem = vc_mem(c, &r->mem, fd);

	if (mem == NULL)
		return errno;
	q->home = &c->home;
	q->qpn = r->qpn;
	q->sq = mem + r->sq;
	q->rq = mem + r->rq;
	q->rq_dbrec = (volatile rte_be32_t *)(volatile void *)(mem + r->dbrec);
	q->db = (volatile rte_be32_t *)(volatile void *)(c->uars + (size_t)r->uar * MLX4_UAR_PAGE_SIZE +
							 MLX4_UAR_SEND_DB);
	q->db_val = rte_cpu_to_be_32(r->qpn << 8);
	q->lg_sq_stride = r->lg_sq_stride;
	q->lg_rq_stride = r->lg_rq_stride;
	q->sq_spare = r->sq_entries == 0 ? 0 : (uint16_t)MLX4_ROCE_SPARE(r->lg_sq_stride);
	q->sq_mask = r->sq_entries == 0 ? 0 : r->sq_entries - 1;
	q->sq_cap = r->sq_entries - q->sq_spare;
	q->rq_cap = r->rq_entries;
	q->rq_mask = r->rq_entries == 0 ? 0 : r->rq_entries - 1;
	q->sq_sges = r->sq_sges;
	q->rq_sges = r->rq_sges;
	q->max_inline = r->max_inline;
	q->lso_hdr = r->max_tso_header;
	q->ud = r->type == IBV_QPT_UD;
	q->ib = c->infiniband;
	q->raw = r->type == IBV_QPT_RAW_PACKET;
	((struct vc_qp *)q)->mtu = r->mtu;
	q->mtu = &((struct vc_qp *)q)->mtu;
	q->more_recv = q->ud || q->raw;
	q->plain_recv = !q->more_recv && q->srq == NULL;
	q->services = q->raw ? 0 : (uint8_t)(1u << r->type);
	if (!q->ud && !q->raw)
		mlx4_roce_small_spans(q, q->lg_sq_stride);
	if (q->raw || (c->attr.device_cap_flags & IBV_DEVICE_UD_IP_CSUM) != 0)
		q->csum = RTE_BE32(MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM);
	mlx4_roce_post_choose(q, mlx4_cpu_avx2());
	pthread_mutex_init(&q->q.v.mutex, NULL);
	pthread_cond_init(&q->q.v.cond, NULL);
	return slots_make(q, r->sq_sig_all != 0);
}

static void
qp_free(struct mlx4_roce_qp *q)
{
	free(q->slots);
	free(q->rq_wrid);
	free(q);
}

static void
ask_for(struct share_qp *r, const struct ibv_pd *pd, const struct ibv_qp_init_attr *a)
{
	r->pd = pd->handle;
	r->send_cq = a->send_cq == NULL ? 0 : a->send_cq->handle;
	r->recv_cq = a->recv_cq == NULL ? 0 : a->recv_cq->handle;
	r->srq = a->srq == NULL ? 0 : a->srq->handle;
	r->type = a->qp_type;
	r->sq_sig_all = a->sq_sig_all != 0;
	r->cap = a->cap;
}

static void
publish(struct vc_context *c, struct mlx4_roce_qp *q)
{
	pthread_mutex_lock(&c->home.tables);
	c->home.qp_of[q->qpn & (c->home.num_qps - 1)] = q;
	LIST_INSERT_HEAD(&c->home.qps, q, next);
	pthread_mutex_unlock(&c->home.tables);
}

struct ibv_qp *
vc_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, uint16_t max_tso_header)
{
	struct vc_context *c = vc_of(pd->context);
	struct vc_qp *v = calloc(1, sizeof(*v));
	struct mlx4_roce_qp *q = &v->q;
	struct share_msg m = {.op = SHARE_CREATE_QP};
	int fd, err;

	if (v == NULL)
		return NULL;
	ask_for(&m.qp, pd, attr);
	m.qp.max_tso_header = max_tso_header;
	err = vc_call(c, &m, NULL, 0, &fd, 1);
	if (err != 0)
		return vc_made(v, err);
	q->q.v = (struct ibv_qp){
		.context = pd->context,
		.qp_context = attr->qp_context,
		.pd = pd,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.handle = m.handle,
		.qp_num = m.qp.qpn,
		.state = IBV_QPS_RESET,
		.qp_type = attr->qp_type,
	};
	q->srq = (struct mlx4_roce_srq *)(void *)attr->srq;
	q->q.init = *attr;
	q->q.init.cap = m.qp.cap;
	err = qp_fill(c, q, &m.qp, fd);
	if (err == 0)
		err = vc_obj_put(c, m.handle, q);
	if (err != 0) {
		(void)vc_ask(c, SHARE_DESTROY_QP, m.handle, &m);
		qp_free(q);
		errno = err;
		return NULL;
	}
	attr->cap = m.qp.cap;
	publish(c, q);
	return &q->q.v;
}

VC_EXPORT struct ibv_qp *
ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return vc_create_qp(pd, attr, 0);
}

static void
cqs_clean(const struct mlx4_roce_qp *q)
{
	vc_cq_clean(q->q.v.recv_cq, q);
	if (q->q.v.send_cq != q->q.v.recv_cq)
		vc_cq_clean(q->q.v.send_cq, q);
}

/* A flow label has 20 bits; programs (UCX) fill the whole number, and libibverbs' drivers take the 20 of it. */
static void
flow_label(struct ibv_ah_attr *a)
{
	a->grh.flow_label &= 0xfffff;
}

/* What may be posted in a state (10.3.1). */
static void
open_rings(struct mlx4_roce_qp *q)
{
	enum ibv_qp_state to = q->q.v.state;
	bool send = to == IBV_QPS_RTS || to == IBV_QPS_SQD || to == IBV_QPS_SQE || to == IBV_QPS_ERR;

	q->sq_room = send ? (uint16_t)q->sq_cap : 0;
	q->rq_room = to != IBV_QPS_RESET ? q->rq_cap : 0;
}

VC_EXPORT int
ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct vc_context *c = vc_of(qp->context);
	struct mlx4_roce_qp *q = (struct mlx4_roce_qp *)(void *)qp;
	struct share_msg m = {.qp_attr = {.mask = (uint32_t)mask, .state = qp->state, .attr = *attr}};
	int err;

	flow_label(&m.qp_attr.attr.ah_attr);
	flow_label(&m.qp_attr.attr.alt_ah_attr);
	err = vc_ask(c, SHARE_MODIFY_QP, qp->handle, &m);

	if (err != 0)
		return err;
	qp->state = (enum ibv_qp_state)m.qp_attr.state;
	if (qp->state == IBV_QPS_RESET) {
		cqs_clean(q);
		rings_reset(q);
	}
	open_rings(q);
	return 0;
}

VC_EXPORT int
ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	const struct mlx4_roce_qp *q = (const struct mlx4_roce_qp *)(const void *)qp;
	struct share_msg m = {.qp_attr = {.mask = (uint32_t)mask, .state = qp->state}};
	int err = vc_ask(vc_of(qp->context), SHARE_QUERY_QP, qp->handle, &m);

	if (err != 0)
		return err;
	*attr = m.qp_attr.attr;
	attr->cap = q->q.init.cap;
	*init = q->q.init;
	qp->state = attr->qp_state;
	return 0;
}

VC_EXPORT int
ibv_destroy_qp(struct ibv_qp *qp)
{
	struct vc_context *c = vc_of(qp->context);
	struct mlx4_roce_qp *q = (struct mlx4_roce_qp *)(void *)qp;
	struct share_msg m = {0};
	int err = vc_ask(c, SHARE_DESTROY_QP, qp->handle, &m);

	if (err != 0 && err != EIO)
		return err;
	vc_obj_del(c, qp->handle);
	pthread_mutex_lock(&c->home.tables);
	c->home.qp_of[q->qpn & (c->home.num_qps - 1)] = NULL;
	LIST_REMOVE(q, next);
	pthread_mutex_unlock(&c->home.tables);
	cqs_clean(q);
	pthread_mutex_lock(&qp->mutex);
	while (qp->events_completed != q->q.async_events)
		pthread_cond_wait(&qp->cond, &qp->mutex);
	pthread_mutex_unlock(&qp->mutex);
	qp_free(q);
	return 0;
}

VC_EXPORT int
ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}

/* Nothing beyond the standard is agreed on with a peer. librdmacm asks of each queue pair. */
VC_EXPORT int
ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	*ece = (struct ibv_ece){0};
	return EOPNOTSUPP;
}

VC_EXPORT int
ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	(void)ece;
	return EOPNOTSUPP;
}

/* --- addresses and groups --- */

/* The owner's answer: the handle, and where a datagram goes. 0 or errno. */
static int
ask_address(struct ibv_pd *pd, const struct ibv_ah_attr *attr, struct share_msg *m)
{
	*m = (struct share_msg){.ah = {.pd = pd->handle, .attr = *attr}};
	flow_label(&m->ah.attr);
	return vc_ask(vc_of(pd->context), SHARE_CREATE_AH, 0, m);
}

VC_EXPORT struct ibv_ah *
ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct mlx4_roce_ah *ah = calloc(1, sizeof(*ah));
	struct share_msg m;
	int err = ah == NULL ? ENOMEM : ask_address(pd, attr, &m);

	if (err == 0) {
		ah->a.v = (struct ibv_ah){.context = pd->context, .pd = pd, .handle = m.handle};
		memcpy(ah->dgram, m.ah.dgram, sizeof(ah->dgram));
	}
	return vc_made(ah, err);
}

VC_EXPORT int
ibv_destroy_ah(struct ibv_ah *ah)
{
	struct share_msg m = {0};
	int err = vc_ask(vc_of(ah->context), SHARE_DESTROY_AH, ah->handle, &m);

	if (err == 0 || err == EIO)
		free(ah);
	return err == EIO ? 0 : err;
}

VC_EXPORT int
ibv_init_ah_from_wc(struct ibv_context *ctx, uint8_t port, struct ibv_wc *wc, struct ibv_grh *grh,
		    struct ibv_ah_attr *attr)
{
	struct share_msg m = {.from_wc = {.port = port, .wc = *wc}};
	int err;

	if ((wc->wc_flags & IBV_WC_GRH) != 0)
		m.from_wc.grh = *grh;
	err = vc_ask(vc_of(ctx), SHARE_INIT_AH, 0, &m);
	if (err == 0)
		*attr = m.from_wc.attr;
	errno = err;
	return err == 0 ? 0 : -1;
}

VC_EXPORT struct ibv_ah *
ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) != 0)
		return NULL;
	return ibv_create_ah(pd, &attr);
}

/* 0 or a negative errno; *vid 0xffff: no VLAN. Of Ethernet, as the owner resolves an address. */
VC_EXPORT int
ibv_resolve_eth_l2_from_gid(struct ibv_context *ctx, struct ibv_ah_attr *attr, uint8_t mac[ETHERNET_LL_SIZE],
			    uint16_t *vid)
{
	struct share_msg m;
	struct ibv_pd *pd;
	uint32_t tag;
	int err;

	if (vc_of(ctx)->infiniband)
		return -EOPNOTSUPP;
	pd = ibv_alloc_pd(ctx);
	if (pd == NULL)
		return -errno;
	err = ask_address(pd, attr, &m);
	if (err == 0) {
		tag = prm_get(m.ah.dgram, MLX4_DGRAM_VLAN);
		memcpy(mac, m.ah.dgram + MLX4_DGRAM_DMAC, ETHERNET_LL_SIZE);
		*vid = (uint16_t)(tag == MLX4_DGRAM_NO_VLAN ? tag : tag & 0xfff);
		(void)vc_ask(vc_of(ctx), SHARE_DESTROY_AH, m.handle, &m);
	}
	(void)ibv_dealloc_pd(pd);
	return -err;
}

int
vc_resolve(struct ibv_context *ctx, uint32_t sgid_index, const union ibv_gid *dgid, uint8_t mac[ETHERNET_LL_SIZE])
{
	struct share_msg m = {.resolve = {.sgid_index = sgid_index, .dgid = *dgid}};
	int err = vc_ask(vc_of(ctx), SHARE_RESOLVE, 0, &m);

	if (err != 0)
		return err;
	/* Until there is an answer the caller's may be one that it knows otherwise. */
	if (m.resolve.state == 0)
		memcpy(mac, m.resolve.mac, ETHERNET_LL_SIZE);
	return (int)m.resolve.state;
}

static int
group(struct ibv_qp *qp, enum share_op op, const union ibv_gid *gid, uint16_t lid)
{
	struct share_msg m = {.mcast = {.gid = *gid, .lid = lid}};

	return vc_ask(vc_of(qp->context), op, qp->handle, &m);
}

VC_EXPORT int
ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return group(qp, SHARE_ATTACH_MCAST, gid, lid);
}

VC_EXPORT int
ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return group(qp, SHARE_DETACH_MCAST, gid, lid);
}

/* --- steering rules ------------------------------------------------------------------------------------------------ */

struct vc_flow {
	struct ibv_flow v;
	uint32_t handle;
};

/* A rule as it goes to the owner. Like libibverbs, it asks the specifications how long they are, not attr: pyverbs leaves them out. */
static int
rule_of(const struct ibv_flow_attr *attr, struct share_flow *r)
{
	struct ibv_flow_attr all = *attr;
	size_t len = sizeof(*attr);

	for (unsigned int i = 0; i < attr->num_of_specs; i++) {
		struct ibv_flow_spec_eth s; /* all begin alike */
		size_t hdr = offsetof(struct ibv_flow_spec_eth, val);

		memcpy(&s, (const uint8_t *)attr + len, hdr);
		if (s.size < hdr || s.size > sizeof(r->attr) - len)
			return EINVAL;
		memcpy(r->attr + len, (const uint8_t *)attr + len, s.size);
		len += s.size;
	}
	all.size = (uint16_t)len;
	memcpy(r->attr, &all, sizeof(all));
	r->len = (uint32_t)len;
	return 0;
}

struct ibv_flow *
vc_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	struct vc_flow *f = calloc(1, sizeof(*f));
	struct share_msg m = {.flow = {.qp = qp->handle}};
	int err = f == NULL ? ENOMEM : rule_of(attr, &m.flow);

	if (err == 0) {
		err = vc_ask(vc_of(qp->context), SHARE_CREATE_FLOW, 0, &m);
	}
	if (err == 0) {
		f->v.context = qp->context;
		f->handle = m.handle;
	}
	return vc_made(f, err);
}

int
vc_destroy_flow(struct ibv_flow *flow)
{
	struct share_msg m = {0};
	int err = vc_ask(vc_of(flow->context), SHARE_DESTROY_FLOW, ((struct vc_flow *)flow)->handle, &m);

	if (err == 0 || err == EIO)
		free(flow);
	return err == EIO ? 0 : err;
}
