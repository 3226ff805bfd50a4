/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Life of queue pairs: rings, contexts, states [DP 4, 7]. */
#include <errno.h>

#include <rte_cpuflags.h>
#include <rte_io.h>
#include <rte_malloc.h>
#include <rte_vect.h>

#include "drivers/mlx4/hca/port/ib.h"
#include "verbs.h"

#define LG_RQ_STRIDE_MIN 5u /* one entry of 16 bytes looks like no ring at all */
#define RQ_ENTRIES_MIN 2u
#define LG_MSG_CONNECTED 30u
#define LG_MSG_DATAGRAM 13u
#define ACK_REQ_FREQ 8u
#define LSO_HEADER_SMALL 60u /* with the segment's first dword one block */
#define LSO_HEADER_MAX 128u

/* --- sizes ------------------------------------------------------------------------------------------------- */

uint32_t
mlx4_roce_inline_fit(uint32_t hdr, uint32_t wqe)
{
	uint32_t sum = 0;

	/* Each block has a segment with 4 bytes of its own [DP 3.7]. */
	while (hdr + 4 < wqe) {
		uint32_t end = RTE_MIN(RTE_ALIGN_FLOOR(hdr, MLX4_TXBB_SIZE) + MLX4_TXBB_SIZE, wqe);

		sum += end - hdr - 4;
		hdr = end;
	}
	return sum;
}

/* Bytes in front of the data. */
static uint32_t
header_len(enum ibv_qp_type type)
{
	if (type == IBV_QPT_RAW_PACKET)
		return sizeof(struct mlx4_wqe_ctrl);
	return sizeof(struct mlx4_wqe_ctrl) + (type == IBV_QPT_UD ? MLX4_DGRAM_SIZE : MLX4_RADDR_SIZE);
}

/* What every request of this type fits in, whatever its data. */
static uint32_t
fixed_len(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC ? sizeof(struct mlx4_wqe_ctrl) + MLX4_RADDR_SIZE + MLX4_ATOMIC_SIZE + MLX4_DS_SIZE
				  : MLX4_TXBB_SIZE;
}

/* Large sends: of datagrams on InfiniBand, with headers that the card takes [DP 3.1, 3.5]. */
static int
lso_check(struct mlx4_roce_qp *q)
{
	const struct mlx4_caps *c = &q->home->hca->caps;
	uint32_t max = ((c->flags >> MLX4_DEV_FLAG_BIG_LSO) & 1) != 0 ? LSO_HEADER_MAX : LSO_HEADER_SMALL;

	max = q->q.init.qp_type == IBV_QPT_RAW_PACKET ? MLX4_ROCE_FRAME_HEADER_MAX : max;
	q->lso_hdr = q->q.max_tso_header;
	if (q->lso_hdr <= max)
		return 0;
	TROCE_LOG(ERR, "%s: max_tso_header %u is not in 0..%u", q->home->dev->where, q->lso_hdr, max);
	return -EINVAL;
}

static int
send_size(struct mlx4_roce_qp *q, struct ibv_qp_cap *cap, struct mlx4_vqp_attr *a)
{
	enum ibv_qp_type type = q->q.init.qp_type;
	uint32_t hdr = header_len(type), lg = MLX4_LG_TXBB, entries, lso = 0;
	int rc = lso_check(q);

	if (rc != 0)
		return rc;
	if (q->lso_hdr != 0)
		lso = RTE_ALIGN_CEIL(4 + q->lso_hdr, MLX4_DS_SIZE);
	a->lg_sq_stride = MLX4_LG_TXBB;
	if (cap->max_send_wr == 0)
		return 0;
	while (lg < MLX4_ROCE_LG_SEND_MAX &&
	       (1u << lg < fixed_len(type) || 1u << lg < hdr + lso + cap->max_send_sge * MLX4_DS_SIZE ||
		mlx4_roce_inline_fit(hdr, 1u << lg) < cap->max_inline_data))
		lg++;
	q->lg_sq_stride = a->lg_sq_stride = (uint8_t)lg;
	q->sq_spare = (uint16_t)MLX4_ROCE_SPARE(lg);
	entries = rte_align32pow2(cap->max_send_wr + q->sq_spare);
	a->lg_sq = (uint8_t)rte_log2_u32(entries);
	q->sq_mask = entries - 1;
	q->sq_cap = entries - q->sq_spare;
	q->max_inline = mlx4_roce_inline_fit(hdr, RTE_MIN(1u << lg, MLX4_SEND_WQE_MAX));
	if (q->max_inline < cap->max_inline_data) {
		TROCE_LOG(ERR, "%s: %u bytes inline: wanted 0..%u", q->home->dev->where, cap->max_inline_data,
			  q->max_inline);
		return -EINVAL;
	}
	q->sq_sges = (uint16_t)RTE_MIN((RTE_MIN(1u << lg, MLX4_SEND_WQE_MAX) - hdr) / MLX4_DS_SIZE,
				       (uint32_t)q->home->dev->attr.max_sge);
	/* The short way stamps one block, so that it takes WQEs of two; and knows no BlueFlame. */
	if (!q->ud && !q->raw && !q->home->bf)
		mlx4_roce_small_spans(q, lg);
	cap->max_send_wr = q->sq_cap;
	cap->max_send_sge = q->sq_sges;
	cap->max_inline_data = q->max_inline;
	return 0;
}

static void
recv_size(struct mlx4_roce_qp *q, struct ibv_qp_cap *cap, struct mlx4_vqp_attr *a)
{
	uint32_t sges = RTE_MAX(cap->max_recv_sge, 1u);

	if (q->srq != NULL || cap->max_recv_wr == 0) {
		cap->max_recv_wr = cap->max_recv_sge = 0;
		return;
	}
	q->lg_rq_stride = (uint8_t)RTE_MAX(rte_log2_u32(sges * MLX4_DS_SIZE), LG_RQ_STRIDE_MIN);
	a->lg_rq_stride = q->lg_rq_stride;
	a->rq_entries = RTE_MAX(rte_align32pow2(cap->max_recv_wr), RQ_ENTRIES_MIN);
	q->rq_mask = a->rq_entries - 1;
	q->rq_cap = a->rq_entries;
	q->rq_sges = (uint16_t)RTE_MIN((1u << q->lg_rq_stride) / MLX4_DS_SIZE, q->home->hca->caps.max_rq_sge);
	cap->max_recv_wr = q->rq_cap;
	cap->max_recv_sge = q->rq_sges;
}

/* --- life -------------------------------------------------------------------------------------------------- */

static uint8_t
service_of(enum ibv_qp_type type)
{
	switch ((int)type) {
	case IBV_QPT_RC: return MLX4_QP_ST_RC;
	case IBV_QPT_UC: return MLX4_QP_ST_UC;
	case IBV_QPT_RAW_PACKET: return MLX4_QP_ST_MLX;
	default: return MLX4_QP_ST_UD;
	}
}

static void
bf_setup(struct mlx4_roce_qp *q)
{
	const struct mlx4_roce *r = q->home;

	if (!r->bf || !r->hca->caps.bf || q->raw)
		return;
	q->bf = mlx4_bf_addr(r->hca, q->uar);
	q->bf_half = r->hca->caps.bf_reg_size / 2;
}

/* Nothing is posted, and no block looks so [DP 4.3]. */
static void
rings_reset(struct mlx4_roce_qp *q)
{
	uint32_t off, ring = (q->sq_mask + 1) << q->lg_sq_stride, i;

	for (off = 0; q->sq_cap != 0 && off < ring; off += MLX4_TXBB_SIZE)
		prm_set32(q->sq, off, UINT32_MAX);
	if (q->sq_cap == 0)
		prm_set32(q->sq, 0, UINT32_MAX);
	for (i = 0; i <= q->sq_mask; i++)
		q->slots[i].owner = RTE_BE32(MLX4_CTRL_OWN);
	q->sq_head = q->sq_tail = q->rq_head = q->rq_tail = 0;
	*q->hw.dbrec = 0;
}

static int
rings_create(struct mlx4_roce_qp *q, struct mlx4_vqp_attr *a)
{
	struct mlx4_roce *r = q->home;
	int node = r->dev->numa_node;
	int rc = 0;

	q->slots = rte_calloc_socket("mlx4_qp", q->sq_mask + 1 + q->sq_spare, sizeof(*q->slots), RTE_CACHE_LINE_SIZE,
				     node);
	q->rq_wrid = rte_calloc_socket("mlx4_qp", q->rq_mask + 1, sizeof(*q->rq_wrid), RTE_CACHE_LINE_SIZE, node);
	if (q->slots == NULL || q->rq_wrid == NULL) {
		rc = -ENOMEM;
		goto err;
	}
	/* What never sends names a page that there is. */
	q->own_uar = q->q.role == TROCE_QP_PLAIN;
	q->uar = ((struct mlx4_roce_cq *)(void *)q->q.init.recv_cq)->uar;
	if (q->own_uar)
		rc = mlx4_roce_uar_get(r, q->q.guest, &q->uar);
	if (rc != 0)
		goto err;
	q->qpn = q->q.v.qp_num; /* of a ring */
	if (q->q.role != TROCE_QP_RING)
		rc = mlx4_qpn_reserve_fresh(r->hca, q->raw, &q->qpn);
	if (rc != 0)
		goto err_qpn;
	mlx4_belongs(r->hca, MLX4_OBJ_QP, q->qpn, 1, r->port);
	a->uar = q->uar;
	rc = mlx4_vqp_create(r->hca, q->qpn, a, &q->hw);
	if (rc != 0)
		goto err_create;
	return 0;

err_create:
	/* A ring's is its table's until there is the ring. */
	if (q->q.role != TROCE_QP_RING)
		mlx4_qpn_release(r->hca, q->qpn, 1);
err_qpn:
	if (q->own_uar)
		mlx4_roce_uar_put(r, q->q.guest, q->uar);
err:
	rte_free(q->slots);
	rte_free(q->rq_wrid);
	return rc;
}

static void
publish(struct mlx4_roce_qp *q, struct mlx4_roce_qp *entry)
{
	struct mlx4_roce *r = q->home;

	pthread_mutex_lock(&r->tables);
	r->qp_of[q->qpn & (r->num_qps - 1)] = entry;
	pthread_mutex_unlock(&r->tables);
}

/* What posting looks up. */
static void
slots_fill(struct mlx4_roce_qp *q)
{
	bool all = q->q.init.sq_sig_all != 0;
	uint32_t i;

	for (i = 0; i <= q->sq_mask + q->sq_spare; i++)
		q->slots[i].wqe = q->sq + ((size_t)(i & q->sq_mask) << q->lg_sq_stride);
	for (i = 0; i < RTE_DIM(q->flags); i++)
		q->flags[i] =
			rte_cpu_to_be_32((all || (i & 1) != 0 ? MLX4_CTRL_CQE : 0) |
					 ((i & 2) != 0 ? MLX4_CTRL_SOLICITED : 0) | (q->raw ? MLX4_CTRL_NO_ICRC : 0));
}

int
mlx4_roce_create_qp(struct troce_qp *qp)
{
	struct mlx4_roce_qp *q = (struct mlx4_roce_qp *)qp;
	struct mlx4_roce *r = mlx4_roce_of(qp->v.context);
	struct mlx4_vqp_attr a = {
		.port = r->port,
		.ib = r->dev->ib != NULL,
		.service = service_of(qp->init.qp_type),
		.numa_node = r->dev->numa_node,
	};
	struct mlx4_dma_pool pool;
	int rc;

	if (r->hca == NULL)
		return EIO;
	a.pool = mlx4_roce_pool(qp->guest, &pool);
	q->home = r;
	q->srq = (struct mlx4_roce_srq *)(void *)qp->init.srq;
	q->ud = qp->init.qp_type == IBV_QPT_UD;
	q->ib = a.ib;
	q->raw = qp->init.qp_type == IBV_QPT_RAW_PACKET;
	q->more_recv = q->ud || q->raw;
	q->plain_recv = !q->more_recv && q->srq == NULL;
	q->services = q->raw ? 0 : (uint8_t)(1u << qp->init.qp_type);
	if (q->raw)
		q->mtu = &mlx4_eth_by_port(r->dev->port_id)->mtu;
	if (q->raw || (r->dev->attr.device_cap_flags & IBV_DEVICE_UD_IP_CSUM) != 0)
		q->csum = RTE_BE32(MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM);
	a.pd = mlx4_roce_pdn(qp->v.pd);
	a.cqn_send = ((struct mlx4_roce_cq *)(void *)qp->init.send_cq)->cqn;
	a.cqn_recv = ((struct mlx4_roce_cq *)(void *)qp->init.recv_cq)->cqn;
	a.srq = q->srq != NULL;
	a.srqn = a.srq ? q->srq->hw.srqn : 0;
	rc = send_size(q, &qp->init.cap, &a);
	if (rc != 0)
		return mlx4_roce_errno(rc);
	recv_size(q, &qp->init.cap, &a);
	rc = rings_create(q, &a);
	if (rc != 0)
		return rc == -ENOSPC ? ENOMEM : mlx4_roce_errno(rc);
	q->live = true;
	q->sq = q->hw.sq;
	slots_fill(q);
	q->rq = q->hw.rq;
	q->rq_dbrec = q->hw.dbrec;
	q->db = (volatile rte_be32_t *)(volatile void *)(mlx4_uar_addr(r->hca, q->uar) + MLX4_UAR_SEND_DB);
	q->db_val = rte_cpu_to_be_32(q->qpn << 8);
	bf_setup(q);
	mlx4_roce_post_choose(q, rte_vect_get_max_simd_bitwidth() >= RTE_VECT_SIMD_256 &&
					 rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX2) > 0);
	rings_reset(q);
	qp->v.qp_num = q->qpn;
	q->created_seq = q->reset_seq = mlx4_events_seq(r->hca);
	publish(q, q);
	pthread_mutex_lock(&r->tables);
	LIST_INSERT_HEAD(&r->qps, q, next);
	pthread_mutex_unlock(&r->tables);
	return 0;
}

static void
cqs_clean(struct mlx4_roce_qp *q)
{
	struct mlx4_roce_cq *s = (struct mlx4_roce_cq *)(void *)q->q.v.send_cq,
			    *c = (struct mlx4_roce_cq *)(void *)q->q.v.recv_cq;

	/* A guest knows itself how far it has read. */
	if (q->q.guest != NULL)
		return;
	mlx4_roce_cq_clean(c, q->qpn, q->srq);
	if (s != c)
		mlx4_roce_cq_clean(s, q->qpn, NULL);
}

/* What the card has of it. Its completions are still looked up, so that it stays in the table. */
void
mlx4_roce_qp_detach(struct mlx4_roce_qp *q)
{
	struct mlx4_hca *hca = q->home->hca;

	mlx4_roce_qp_trace(q);
	q->sq_room = q->rq_room = 0;
	mlx4_roce_mcast_drop(q);
	mlx4_roce_flows_drop(q);
	mlx4_qp_step(hca, &q->hw, MLX4_QP_RST, 0, false);
	mlx4_qp_retire(hca, &q->hw);
	mlx4_qpn_release(hca, q->qpn, 1);
	if (q->own_uar)
		mlx4_roce_uar_put(q->home, q->q.guest, q->uar);
	q->live = false;
}

int
mlx4_roce_destroy_qp(struct troce_qp *qp)
{
	struct mlx4_roce_qp *q = (struct mlx4_roce_qp *)qp;

	publish(q, NULL);
	if (q->live)
		mlx4_roce_qp_detach(q);
	/* Of a ring nothing is left, and others of its queues are at work. */
	if (qp->role != TROCE_QP_RING)
		cqs_clean(q);
	pthread_mutex_lock(&q->home->tables);
	LIST_REMOVE(q, next);
	pthread_mutex_unlock(&q->home->tables);
	mlx4_dma_free(&q->hw.buf);
	rte_free(q->slots);
	rte_free(q->rq_wrid);
	return 0;
}

/* --- states ------------------------------------------------------------------------------------------------ */

static enum mlx4_qp_state
card_state(enum ibv_qp_state s)
{
	switch (s) {
	case IBV_QPS_INIT: return MLX4_QP_INIT;
	case IBV_QPS_RTR: return MLX4_QP_RTR;
	case IBV_QPS_RTS: return MLX4_QP_RTS;
	case IBV_QPS_SQD: return MLX4_QP_SQD;
	case IBV_QPS_SQE: return MLX4_QP_SQER;
	case IBV_QPS_ERR: return MLX4_QP_ERR;
	default: return MLX4_QP_RST;
	}
}

static enum ibv_qp_state
verbs_state(uint32_t s)
{
	switch (s) {
	case MLX4_QP_INIT: return IBV_QPS_INIT;
	case MLX4_QP_RTR: return IBV_QPS_RTR;
	case MLX4_QP_RTS: return IBV_QPS_RTS;
	case MLX4_QP_SQER: return IBV_QPS_SQE;
	case MLX4_QP_SQD:
	case MLX4_QP_SQ_DRAINING: return IBV_QPS_SQD;
	case MLX4_QP_ERR: return IBV_QPS_ERR;
	default: return IBV_QPS_RESET;
	}
}

static uint32_t
depth(uint32_t n)
{
	return n <= 1 ? 0 : rte_log2_u32(n);
}

static void
fill_grh(uint8_t *path, const struct troce_path *p)
{
	prm_set(path, MLX4_PATH_SGID_INDEX, p->sgid_index);
	prm_set(path, MLX4_PATH_HOP_LIMIT, p->hop_limit);
	prm_set(path, MLX4_PATH_TCLASS, p->tclass);
	prm_set(path, MLX4_PATH_FLOW_LABEL, p->flow_label);
	memcpy(path + MLX4_PATH_RGID, p->dgid.raw, sizeof(p->dgid.raw));
}

static int
fill_ib_path(struct mlx4_roce_qp *q, uint8_t *ctx)
{
	const struct troce_path *p = &q->q.path;
	uint8_t *path = ctx + MLX4_QPC_PRI_PATH;

	prm_set(path, MLX4_PATH_GRH, p->grh);
	prm_set(path, MLX4_PATH_LMC_BITS, p->path_bits);
	prm_set(path, MLX4_PATH_RLID, p->dlid);
	prm_set(path, MLX4_PATH_STATIC_RATE, mlx4_port_ib_rate(q->home->hca, p->rate));
	prm_set(path, MLX4_PATH_SCHED_QUEUE, MLX4_SCHED_QUEUE_IB(q->home->port, p->prio));
	fill_grh(path, p);
	return 0;
}

/* The path of the queue pair's packets; a datagram's comes with the request. */
static int
fill_path(struct mlx4_roce_qp *q, uint8_t *ctx)
{
	const struct troce_path *p = &q->q.path;
	uint8_t *path = ctx + MLX4_QPC_PRI_PATH;
	uint32_t vlan = 0;

	/* A priority without a VLAN travels in a tag of VLAN 0 (802.1Q 6.9). */
	if (p->vlan != TP_ROCE_NO_VLAN)
		vlan = mlx4_roce_vlan_index(q->home, p->vlan);
	else if (p->prio != 0 && !p->untag)
		vlan = mlx4_roce_vlan_index(q->home, MLX4_VLAN_PRIO_TAG);
	if (p->vlan != TP_ROCE_NO_VLAN && vlan == 0) {
		TROCE_LOG(ERR, "%s: VLAN %u is that of no GID", q->home->dev->where, p->vlan);
		return -EINVAL;
	}
	prm_set(ctx, MLX4_QPC_ROCE_MODE, p->type == IBV_GID_TYPE_ROCE_V2 ? MLX4_ROCE_V2 : MLX4_ROCE_V1);
	prm_set(ctx, MLX4_QPC_ROCE_ENTROPY, p->type == IBV_GID_TYPE_ROCE_V2 ? p->sport : 0);
	fill_grh(path, p);
	memcpy(path + MLX4_PATH_DMAC, p->dmac.addr_bytes, RTE_ETHER_ADDR_LEN);
	prm_set(path, MLX4_PATH_SCHED_QUEUE, MLX4_SCHED_QUEUE(q->home->port, p->prio));
	prm_set(path, MLX4_PATH_FORCE_PRIO, 1);
	prm_set(path, mlx4_roce_path_vlan(q->home->hca), vlan);
	prm_set(path, MLX4_PATH_FORCE_VLAN, vlan != 0);
	prm_set(path, MLX4_PATH_F_CV, vlan != 0);
	return 0;
}

/* Reads and atomics need room to answer from. */
static void
fill_access(const struct ibv_qp_attr *at, uint8_t *ctx)
{
	unsigned int a = at->qp_access_flags;
	bool answers = at->max_dest_rd_atomic != 0;

	prm_set(ctx, MLX4_QPC_RWE, (a & IBV_ACCESS_REMOTE_WRITE) != 0);
	prm_set(ctx, MLX4_QPC_RRE, answers && (a & IBV_ACCESS_REMOTE_READ) != 0);
	prm_set(ctx, MLX4_QPC_RAE, answers && (a & IBV_ACCESS_REMOTE_ATOMIC) != 0);
}

/* All attributes as they are now; which of them a step takes is the card's to know, by the optional bits. */
static int
fill_context(struct mlx4_roce_qp *q, int mask)
{
	const struct ibv_qp_attr *at = &q->q.attr;
	uint8_t *ctx = q->hw.ctx, *path = ctx + MLX4_QPC_PRI_PATH;

	/* What frames need is said when the queue pair is made, but for these [DP 8.1]. */
	if (q->raw) {
		prm_set(ctx, MLX4_QPC_MTU, MLX4_QPC_MTU_RAW);
		prm_set(ctx, MLX4_QPC_LG_MSG, MLX4_QPC_LG_MSG_RAW);
		prm_set(ctx, MLX4_QPC_VLAN_KEEP, 1);
		return 0;
	}
	if (!q->ib) {
		prm_set(path, MLX4_PATH_GRH, 1);
		prm_set(path, MLX4_PATH_SMAC_INDEX, 0); /* the port's address is the table's first */
	}
	prm_set(path, MLX4_PATH_PKEY_INDEX, at->pkey_index);
	prm_set(ctx, MLX4_QPC_QKEY, at->qkey);
	if (q->ud) {
		prm_set(ctx, MLX4_QPC_MTU, IBV_MTU_4096);
		prm_set(ctx, MLX4_QPC_LG_MSG,
			q->lso_hdr != 0 ? rte_log2_u32(q->home->hca->caps.max_gso) : LG_MSG_DATAGRAM);
		prm_set(ctx, MLX4_QPC_NEXT_SEND_PSN, at->sq_psn);
		return 0;
	}
	fill_access(at, ctx);
	prm_set(ctx, MLX4_QPC_FRE, q->q.v.qp_type == IBV_QPT_RC && q->home->hca->caps.fast_reg);
	prm_set(ctx, MLX4_QPC_MTU, at->path_mtu);
	prm_set(ctx, MLX4_QPC_LG_MSG, LG_MSG_CONNECTED);
	prm_set(ctx, MLX4_QPC_REMOTE_QPN, at->dest_qp_num);
	prm_set(ctx, MLX4_QPC_NEXT_RECV_PSN, at->rq_psn);
	prm_set(ctx, MLX4_QPC_NEXT_SEND_PSN, at->sq_psn);
	prm_set(ctx, MLX4_QPC_RRA_MAX, depth(at->max_dest_rd_atomic));
	prm_set(ctx, MLX4_QPC_SRA_MAX, depth(at->max_rd_atomic));
	prm_set(ctx, MLX4_QPC_MIN_RNR_TIMER, at->min_rnr_timer);
	prm_set(ctx, MLX4_QPC_RETRY_COUNT, at->retry_cnt);
	prm_set(ctx, MLX4_QPC_RNR_RETRY, at->rnr_retry);
	prm_set(ctx, MLX4_QPC_ACK_REQ_FREQ, ACK_REQ_FREQ);
	prm_set(path, MLX4_PATH_ACK_TIMEOUT, at->timeout);
	if ((mask & IBV_QP_AV) == 0)
		return 0;
	return q->ib ? fill_ib_path(q, ctx) : fill_path(q, ctx);
}

static uint32_t
optional(int mask)
{
	static const struct {
		int attr;
		uint32_t opt;
	} t[] = {
		{IBV_QP_ACCESS_FLAGS, MLX4_OPTPAR_RRE | MLX4_OPTPAR_RWE | MLX4_OPTPAR_RAE},
		{IBV_QP_PKEY_INDEX, MLX4_OPTPAR_PKEY_INDEX},
		{IBV_QP_QKEY, MLX4_OPTPAR_QKEY},
		{IBV_QP_AV, MLX4_OPTPAR_PRIMARY_PATH | MLX4_OPTPAR_SCHED_QUEUE},
		{IBV_QP_TIMEOUT, MLX4_OPTPAR_ACK_TIMEOUT},
		{IBV_QP_RETRY_CNT, MLX4_OPTPAR_RETRY_COUNT},
		{IBV_QP_RNR_RETRY, MLX4_OPTPAR_RNR_RETRY},
		{IBV_QP_MIN_RNR_TIMER, MLX4_OPTPAR_RNR_TIMEOUT},
		{IBV_QP_MAX_QP_RD_ATOMIC, MLX4_OPTPAR_SRA_MAX},
		{IBV_QP_MAX_DEST_RD_ATOMIC, MLX4_OPTPAR_RRA_MAX | MLX4_OPTPAR_RRE | MLX4_OPTPAR_RAE},
	};
	uint32_t opt = 0;
	unsigned int i;

	for (i = 0; i < RTE_DIM(t); i++)
		opt |= (mask & t[i].attr) != 0 ? t[i].opt : 0;
	return opt;
}

/* What may be posted in a state (10.3.1); where no frames come, the card looks for no receive requests either, to flush them. */
static void
open_rings(struct mlx4_roce_qp *q, enum ibv_qp_state to)
{
	bool send = to == IBV_QPS_RTS || to == IBV_QPS_SQD || to == IBV_QPS_SQE || to == IBV_QPS_ERR;

	q->sq_room = send ? (uint16_t)q->sq_cap : 0;
	q->rq_room = to == IBV_QPS_RESET || (q->raw && to == IBV_QPS_ERR) ? 0 : q->rq_cap;
}

int
mlx4_roce_modify_qp(struct troce_qp *qp, const struct ibv_qp_attr *attr, int mask, enum ibv_qp_state from,
		    enum ibv_qp_state to)
{
	struct mlx4_roce_qp *q = (struct mlx4_roce_qp *)qp;
	uint8_t before[MLX4_QPC_SIZE];
	int rc = 0;

	if (!q->live || q->home->hca->dead)
		return to == IBV_QPS_ERR || to == IBV_QPS_RESET ? 0 : EIO;
	memcpy(before, q->hw.ctx, sizeof(before));
	if (to != IBV_QPS_RESET && to != IBV_QPS_ERR)
		rc = fill_context(q, mask);
	if (rc == 0 && to == IBV_QPS_INIT && q->q.role == TROCE_QP_PARENT)
		rc = mlx4_roce_fill_rss(q, q->hw.ctx);
	/* The card may have moved it meanwhile; the library's idea of the state is that of its caller. */
	if (from == IBV_QPS_SQE)
		q->hw.state = MLX4_QP_SQER;
	if (to == IBV_QPS_ERR && q->hw.state == MLX4_QP_RST)
		return 0;
	if (rc == 0)
		rc = mlx4_qp_step(q->home->hca, &q->hw, card_state(to), optional(mask),
				  (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0 && attr->en_sqd_async_notify != 0);
	if (rc != 0) {
		memcpy(q->hw.ctx, before, sizeof(before));
		return mlx4_roce_errno(rc);
	}
	if (to == IBV_QPS_RESET) {
		mlx4_roce_qp_forget(q);
		cqs_clean(q);
		rings_reset(q);
	}
	open_rings(q, to);
	return 0;
}

int
mlx4_roce_query_qp(struct troce_qp *qp, struct ibv_qp_attr *attr)
{
	struct mlx4_roce_qp *q = (struct mlx4_roce_qp *)qp;
	uint8_t ctx[MLX4_QPC_SIZE];
	uint32_t state;
	int rc;

	if (!q->live || q->home->hca->dead) {
		attr->qp_state = qp->v.state;
		return 0;
	}
	rc = mlx4_qp_query(q->home->hca, &q->hw, ctx);
	if (rc != 0)
		return mlx4_roce_errno(rc);
	state = prm_get(ctx, MLX4_QPC_STATE);
	attr->qp_state = verbs_state(state);
	attr->sq_draining = state == MLX4_QP_SQ_DRAINING;
	if (state == MLX4_QP_RST)
		return 0;
	attr->sq_psn = prm_get(ctx, MLX4_QPC_NEXT_SEND_PSN);
	attr->rq_psn = prm_get(ctx, MLX4_QPC_NEXT_RECV_PSN);
	return 0;
}
