/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Raw Ethernet queue pairs and RSS parents [CP 5.4..5.11, DP 7, 8.1]. */
#include <errno.h>
#include <string.h>

#include <rte_io.h>

#include "core.h"

#define RQ_STRIDE_MIN 16u
#define QPN_WINDOW 2048u /* of numbers that take turns; the others are left to ranges that have to be aligned */
#define SPECIAL_QPS 8u   /* QP0 and QP1 of both ports; the block must be aligned to its size [CP 5.10] */

int
mlx4_qpn_reserve(struct mlx4_hca *hca, uint32_t n, uint32_t align, bool bf, uint32_t *base)
{
	/* BlueFlame numbers are rare: one in four. Others are taken from the far end. */
	int rc = mlx4_numbers_get(hca->qpns, n, align, bf ? MLX4_QPN_BF_CLEAR : 0, !bf, base);

	if (rc != 0)
		HCA_LOG(hca, ERR, "no %u consecutive QP numbers (aligned to %u%s) left: %u of %u in use", n, align,
			bf ? ", for BlueFlame" : "", mlx4_numbers_used(hca->qpns), mlx4_icm_num_qps(hca));
	return rc;
}

int
mlx4_qpn_reserve_fresh(struct mlx4_hca *hca, bool frames, uint32_t *qpn)
{
	/* Events of the last one with this number may be on their way, too. */
	int rc = mlx4_numbers_cycle(hca->qpns, QPN_WINDOW, frames ? MLX4_QPN_BF_CLEAR : 0, qpn);

	if (rc != 0)
		HCA_LOG(hca, ERR, "no QP number left: %u of %u in use", mlx4_numbers_used(hca->qpns),
			mlx4_icm_num_qps(hca));
	return rc;
}

void
mlx4_qpn_release(struct mlx4_hca *hca, uint32_t base, uint32_t n)
{
	mlx4_numbers_put(hca->qpns, base, n);
}

/* Without a counter of its own a QP names the sink, the last one. */
bool
mlx4_qp_counter(struct mlx4_hca *hca, uint8_t *ctx, unsigned int port)
{
	bool own = ((hca->caps.flags >> MLX4_DEV_FLAG_COUNTERS) & 1) != 0 && hca->caps.max_counters > port;

	prm_set(ctx + MLX4_QPC_PRI_PATH,
		mlx4_quirk(hca, MLX4_QUIRK_COUNTER_PLACE) == 0 ? MLX4_PATH_COUNTER : MLX4_PATH_COUNTER_2007,
		own ? port - 1 : PRM_MAX(MLX4_PATH_COUNTER));
	return own;
}

/* With a counter of its own the card can tell that a multicast frame is the port's and need not come back. */
static void
fill_path(struct mlx4_hca *hca, uint8_t *ctx, unsigned int port, bool rss)
{
	uint8_t *path = ctx + MLX4_QPC_PRI_PATH;
	bool counters = mlx4_qp_counter(hca, ctx, port);

	prm_set(path, MLX4_PATH_LINK_ETH, 1);
	prm_set(path, MLX4_PATH_SCHED_QUEUE, MLX4_SCHED_QUEUE(port, 0));
	prm_set(path, MLX4_PATH_FORCE_PRIO, mlx4_quirk(hca, MLX4_QUIRK_FORCE_PRIO) != 0);
	if (counters && hca->caps.lb_src_check && !rss) {
		prm_set(path, MLX4_PATH_LB_BY_COUNTER, 1);
		prm_set(path, MLX4_PATH_F_MC_LB_CHECK, 1);
	}
}

static void
fill_common(struct mlx4_hca *hca, uint8_t *ctx, uint32_t qpn)
{
	prm_set(ctx, MLX4_QPC_SERVICE, MLX4_QP_ST_MLX);
	prm_set(ctx, MLX4_QPC_PM_STATE, MLX4_PM_MIGRATED);
	prm_set(ctx, MLX4_QPC_PD, hca->pd);
	prm_set(ctx, MLX4_QPC_MTU, MLX4_QPC_MTU_RAW);
	prm_set(ctx, MLX4_QPC_LG_MSG, MLX4_QPC_LG_MSG_RAW);
	prm_set(ctx, MLX4_QPC_LOCAL_QPN, qpn);
	/* A QP that never sends has a send queue of one block nevertheless [DP 4.1]. */
	prm_set(ctx, MLX4_QPC_SQ_LG_STRIDE, MLX4_LG_TXBB - 4);
}

/* Whether the port looks into tunnels changes later; that the queue is fine with either is said once. */
static void
tunnel_mode(const struct mlx4_hca *hca, uint8_t *ctx)
{
	if (hca->caps.vxlan)
		prm_set(ctx, MLX4_QPC_TUNNEL_MODE, MLX4_QPC_TUNNEL_ALL);
}

static int
check_attr(struct mlx4_hca *hca, const struct mlx4_qp_attr *a)
{
	const struct mlx4_caps *c = &hca->caps;

	if ((a->sq_txbbs & (a->sq_txbbs - 1)) != 0 || a->sq_txbbs > c->max_qp_wqes ||
	    (a->rq_entries & (a->rq_entries - 1)) != 0 || a->rq_entries > c->max_qp_wqes) {
		HCA_LOG(hca, ERR, "a QP with %u send blocks and %u receive entries: wanted powers of two up to %u",
			a->sq_txbbs, a->rq_entries, c->max_qp_wqes);
		return -EINVAL;
	}
	if (a->rq_entries != 0 && (a->rq_stride < RQ_STRIDE_MIN || (a->rq_stride & (a->rq_stride - 1)) != 0 ||
				   a->rq_stride > c->max_rq_desc)) {
		HCA_LOG(hca, ERR, "receive entries of %u bytes: wanted a power of two, %u..%u", a->rq_stride,
			RQ_STRIDE_MIN, c->max_rq_desc);
		return -EINVAL;
	}
	return 0;
}

int
mlx4_qp_rings_alloc(struct mlx4_hca *hca, const struct mlx4_dma_pool *pool, const char *what, size_t sq_len,
		    size_t rq_len, bool rq_first, int numa_node, struct mlx4_qp *qp, uint8_t *lg_page)
{
	size_t len = sq_len + rq_len, db_off = RTE_ALIGN_CEIL(len, RTE_CACHE_LINE_SIZE);
	int rc;

	rc = mlx4_dma_alloc_of(hca, pool, what, db_off + RTE_CACHE_LINE_SIZE, mlx4_mtt_align(len), numa_node, &qp->buf);
	if (rc != 0)
		return rc;
	qp->sq = (uint8_t *)qp->buf.va + (rq_first ? rq_len : 0);
	qp->rq = (uint8_t *)qp->buf.va + (rq_first ? 0 : sq_len);
	qp->dbrec = (volatile rte_be32_t *)((uint8_t *)qp->buf.va + db_off);
	rc = mlx4_mtt_map(hca, &qp->buf, len, &qp->mtt_off, &qp->mtt_pages, lg_page);
	if (rc != 0)
		mlx4_dma_free(&qp->buf);
	return rc;
}

static int
alloc_rings(struct mlx4_hca *hca, const struct mlx4_qp_attr *a, struct mlx4_qp *qp, uint8_t *lg_page)
{
	size_t sq_len = (size_t)RTE_MAX(a->sq_txbbs, 1u) * MLX4_TXBB_SIZE;
	size_t rq_len = (size_t)a->rq_entries * a->rq_stride;
	bool rq_first = a->rq_stride > MLX4_TXBB_SIZE && rq_len != 0;
	int rc = mlx4_qp_rings_alloc(hca, NULL, "queue rings", sq_len, rq_len, rq_first, a->numa_node, qp, lg_page);

	if (rc == 0 && a->sq_txbbs == 0) {
		/* The block that is never sent must not look posted. */
		prm_set32(qp->sq, 0, MLX4_CTRL_OWN);
		qp->sq = NULL;
	}
	return rc;
}

int
mlx4_qp_create(struct mlx4_hca *hca, uint32_t qpn, const struct mlx4_qp_attr *attr, struct mlx4_qp *qp)
{
	uint8_t lg_page, *ctx = qp->ctx;
	int rc;

	memset(qp, 0, sizeof(*qp));
	rc = check_attr(hca, attr);
	if (rc != 0)
		return rc;
	rc = alloc_rings(hca, attr, qp, &lg_page);
	if (rc != 0)
		return rc;
	qp->qpn = qpn;
	qp->state = MLX4_QP_RST;
	fill_common(hca, ctx, qpn);
	fill_path(hca, ctx, attr->port, false);
	if (attr->sq_txbbs != 0)
		prm_set(ctx, MLX4_QPC_SQ_LG_SIZE, mlx4_lg(attr->sq_txbbs));
	if (attr->rq_entries != 0) {
		tunnel_mode(hca, ctx);
		prm_set(ctx, MLX4_QPC_RQ_LG_SIZE, mlx4_lg(attr->rq_entries));
		prm_set(ctx, MLX4_QPC_RQ_LG_STRIDE, mlx4_lg(attr->rq_stride) - 4);
		prm_set64(ctx, MLX4_QPC_DBREC,
			  qp->buf.iova + (uint64_t)((volatile uint8_t *)qp->dbrec - (uint8_t *)qp->buf.va));
	}
	prm_set(ctx, MLX4_QPC_UAR, attr->uar);
	prm_set(ctx, MLX4_QPC_CQN_SEND, attr->scq->cqn);
	prm_set(ctx, MLX4_QPC_CQN_RECV, attr->rcq->cqn);
	prm_set(ctx, MLX4_QPC_VLAN_KEEP, !attr->vlan_strip);
	prm_set(ctx, MLX4_QPC_FCS_KEEP, attr->keep_fcs);
	prm_set(ctx, MLX4_QPC_DELAY_DROP, attr->delay_drop);
	prm_set(ctx, MLX4_QPC_LG_PAGE, lg_page);
	prm_set(ctx, MLX4_QPC_MTT_H, qp->mtt_off >> 32);
	prm_set(ctx, MLX4_QPC_MTT_L, (uint32_t)qp->mtt_off);
	return 0;
}

int
mlx4_qp_create_rss(struct mlx4_hca *hca, uint32_t qpn, const struct mlx4_rss_attr *attr, struct mlx4_qp *qp)
{
	uint8_t *ctx = qp->ctx;

	memset(qp, 0, sizeof(*qp));
	if (hca->caps.max_rss < 1u << attr->lg_rings || (attr->base_qpn & ((1u << attr->lg_rings) - 1)) != 0) {
		HCA_LOG(hca, ERR, "an RSS table of %u rings from QP 0x%x: wanted up to %u, aligned to their number",
			1u << attr->lg_rings, attr->base_qpn, hca->caps.max_rss);
		return -EINVAL;
	}
	qp->qpn = qpn;
	qp->state = MLX4_QP_RST;
	fill_common(hca, ctx, qpn);
	fill_path(hca, ctx, attr->port, true);
	tunnel_mode(hca, ctx);
	prm_set(ctx, MLX4_QPC_RSS, 1);
	prm_set(ctx, MLX4_QPC_UAR, attr->cq->uar);
	prm_set(ctx, MLX4_QPC_CQN_SEND, attr->cq->cqn);
	prm_set(ctx, MLX4_QPC_CQN_RECV, attr->cq->cqn);
	prm_set(ctx, MLX4_QPC_VLAN_KEEP, 1);
	prm_set(ctx, MLX4_RSS_LG_RINGS, attr->lg_rings);
	prm_set(ctx, MLX4_RSS_BASE_QPN, attr->base_qpn);
	prm_set(ctx, MLX4_RSS_DEFAULT_QPN, attr->default_qpn);
	prm_set(ctx, MLX4_RSS_HASH_FN, attr->fn);
	prm_set(ctx, MLX4_RSS_FLAGS, attr->flags);
	memcpy(ctx + MLX4_RSS_KEY, attr->key, MLX4_RSS_KEY_SIZE);
	if ((attr->flags & (MLX4_RSS_F_UDP_IPV4 | MLX4_RSS_F_UDP_IPV6)) != 0)
		prm_set(ctx, MLX4_RSS_BASE_QPN_UDP, attr->base_qpn);
	return 0;
}

static int
transition(struct mlx4_hca *hca, struct mlx4_qp *qp, enum mlx4_cmd_opcode op, enum mlx4_qp_state to)
{
	uint8_t box[MLX4_QP_MBOX_CTX + MLX4_QPC_SIZE] = {0};
	int rc;

	prm_set(qp->ctx, MLX4_QPC_STATE, to);
	memcpy(box + MLX4_QP_MBOX_CTX, qp->ctx, MLX4_QPC_SIZE);
	rc = mlx4_cmd(hca, op, 0, qp->qpn, box, sizeof(box), NULL, 0);
	if (rc == 0)
		qp->state = to;
	return rc;
}

int
mlx4_qp_start(struct mlx4_hca *hca, struct mlx4_qp *qp)
{
	static const struct {
		enum mlx4_cmd_opcode op;
		enum mlx4_qp_state to;
	} steps[] = {{MLX4_CMD_RST2INIT_QP, MLX4_QP_INIT},
		     {MLX4_CMD_INIT2RTR_QP, MLX4_QP_RTR},
		     {MLX4_CMD_RTR2RTS_QP, MLX4_QP_RTS}};
	unsigned int i;
	int rc;

	for (i = 0; i < RTE_DIM(steps); i++) {
		rc = transition(hca, qp, steps[i].op, steps[i].to);
		if (rc != 0) {
			/* A transition that got no answer may have happened. */
			if (qp->state != MLX4_QP_RST || hca->dead)
				mlx4_qp_stop(hca, qp);
			return rc;
		}
	}
	return 0;
}

int
mlx4_qp_stop(struct mlx4_hca *hca, struct mlx4_qp *qp)
{
	int rc;

	rc = mlx4_cmd(hca, MLX4_CMD_2RST_QP,
		      mlx4_quirk(hca, MLX4_QUIRK_QP_TO_RESET) == 0 ? MLX4_2RST_ANY : MLX4_2RST_ANY_NO_OUTBOX, qp->qpn,
		      NULL, 0, NULL, 0);
	if (rc != 0)
		mlx4_hca_stop_dma(hca);
	qp->state = MLX4_QP_RST;
	return rc;
}

void
mlx4_qp_retire(struct mlx4_hca *hca, struct mlx4_qp *qp)
{
	/* Rings in a guest's memory are no memzone. */
	if (qp->buf.va != NULL)
		mlx4_mtt_unmap(hca, qp->mtt_off, qp->mtt_pages);
}

void
mlx4_qp_destroy(struct mlx4_hca *hca, struct mlx4_qp *qp)
{
	mlx4_qp_retire(hca, qp);
	mlx4_dma_free(&qp->buf);
	memset(qp, 0, sizeof(*qp));
}

static int
conf_special(struct mlx4_hca *hca, uint32_t base)
{
	return mlx4_cmd(hca, MLX4_CMD_CONF_SPECIAL_QP, mlx4_quirk(hca, MLX4_QUIRK_SPECIAL_QPS), base, NULL, 0, NULL, 0);
}

int
mlx4_special_qps_create(struct mlx4_hca *hca)
{
	unsigned int i;
	int rc;

	rc = mlx4_numbers_get(hca->qpns, SPECIAL_QPS, SPECIAL_QPS, 0, false, &hca->special_qp_base);
	if (rc != 0)
		return rc;
	rc = conf_special(hca, hca->special_qp_base);
	if (rc != 0) {
		mlx4_numbers_put(hca->qpns, hca->special_qp_base, SPECIAL_QPS);
		return rc;
	}
	/* QP0 of each port, then QP1 of each; the others are nobody's. */
	for (i = 0; i < 2 * MLX4_MAX_PORTS; i++)
		mlx4_numbers_belong(hca->qpns, hca->special_qp_base + i, 1, i % MLX4_MAX_PORTS + 1);
	return 0;
}

void
mlx4_special_qps_destroy(struct mlx4_hca *hca)
{
	/* No memory of ours hangs on it, so a refusal changes nothing: the reset that follows settles it. */
	conf_special(hca, 0);
	mlx4_numbers_put(hca->qpns, hca->special_qp_base, SPECIAL_QPS);
}
