/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue pairs with a transport: RC, UC, UD, and those that send packets which software built [CP 5.4..5.12, DP 7]. */
#include <errno.h>
#include <string.h>

#include "core.h"

#define LG_STRIDE_BIAS 4u
#define SQD_TELL (1u << 31) /* in_modifier of RTS2SQD: an event when nothing is on its way any more */

static int
check(struct mlx4_hca *hca, const struct mlx4_vqp_attr *a)
{
	const struct mlx4_caps *c = &hca->caps;

	if (1u << a->lg_sq > c->max_qp_wqes || (a->rq_entries & (a->rq_entries - 1)) != 0 ||
	    a->rq_entries > c->max_qp_wqes || a->lg_sq_stride < MLX4_LG_TXBB) {
		HCA_LOG(hca, ERR, "a QP with %u send and %u receive entries: wanted powers of two up to %u",
			1u << a->lg_sq, a->rq_entries, c->max_qp_wqes);
		return -EINVAL;
	}
	return 0;
}

static int
alloc_rings(struct mlx4_hca *hca, const struct mlx4_vqp_attr *a, struct mlx4_qp *qp, uint8_t *lg_page)
{
	size_t sq_len = (size_t)1 << (a->lg_sq + a->lg_sq_stride), rq_len = (size_t)a->rq_entries << a->lg_rq_stride;
	bool rq_first = rq_len != 0 && a->lg_rq_stride > a->lg_sq_stride;

	return mlx4_qp_rings_alloc(hca, a->pool, "a queue pair", sq_len, rq_len, rq_first, a->numa_node, qp, lg_page);
}

int
mlx4_vqp_create(struct mlx4_hca *hca, uint32_t qpn, const struct mlx4_vqp_attr *a, struct mlx4_qp *qp)
{
	uint8_t lg_page, *ctx = qp->ctx;
	int rc;

	memset(qp, 0, sizeof(*qp));
	rc = check(hca, a);
	if (rc == 0)
		rc = alloc_rings(hca, a, qp, &lg_page);
	if (rc != 0)
		return rc;
	qp->qpn = qpn;
	qp->state = MLX4_QP_RST;
	prm_set(ctx, MLX4_QPC_SERVICE, a->service);
	prm_set(ctx, MLX4_QPC_PM_STATE, MLX4_PM_MIGRATED);
	prm_set(ctx, MLX4_QPC_PD, a->pd);
	prm_set(ctx, MLX4_QPC_LOCAL_QPN, qpn);
	prm_set(ctx, MLX4_QPC_SQ_LG_SIZE, a->lg_sq);
	prm_set(ctx, MLX4_QPC_SQ_LG_STRIDE, a->lg_sq_stride - LG_STRIDE_BIAS);
	if (a->rq_entries != 0) {
		prm_set(ctx, MLX4_QPC_RQ_LG_SIZE, mlx4_lg(a->rq_entries));
		prm_set(ctx, MLX4_QPC_RQ_LG_STRIDE, a->lg_rq_stride - LG_STRIDE_BIAS);
		prm_set64(ctx, MLX4_QPC_DBREC,
			  qp->buf.iova + (uint64_t)((volatile uint8_t *)qp->dbrec - (uint8_t *)qp->buf.va));
	}
	if (a->srq) {
		prm_set(ctx, MLX4_QPC_SRQ_VALID, 1);
		prm_set(ctx, MLX4_QPC_SRQN, a->srqn);
		prm_set(ctx, MLX4_QPC_RIC, 1);
	}
	prm_set(ctx, MLX4_QPC_UAR, a->uar);
	prm_set(ctx, MLX4_QPC_CQN_SEND, a->cqn_send);
	prm_set(ctx, MLX4_QPC_CQN_RECV, a->cqn_recv);
	prm_set(ctx, MLX4_QPC_LG_PAGE, lg_page);
	prm_set(ctx, MLX4_QPC_MTT_H, qp->mtt_off >> 32);
	prm_set(ctx, MLX4_QPC_MTT_L, (uint32_t)qp->mtt_off);
	prm_set(ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_LINK_ETH, !a->ib);
	prm_set(ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_SCHED_QUEUE, MLX4_SCHED_QUEUE(a->port, 0));
	mlx4_qp_counter(hca, ctx, a->port);
	return 0;
}

static const struct step {
	uint8_t from, to;
	uint16_t op; /* enum mlx4_cmd_opcode */
} steps[] = {
	{MLX4_QP_RST, MLX4_QP_INIT, MLX4_CMD_RST2INIT_QP}, {MLX4_QP_INIT, MLX4_QP_INIT, MLX4_CMD_INIT2INIT_QP},
	{MLX4_QP_INIT, MLX4_QP_RTR, MLX4_CMD_INIT2RTR_QP}, {MLX4_QP_RTR, MLX4_QP_RTS, MLX4_CMD_RTR2RTS_QP},
	{MLX4_QP_RTS, MLX4_QP_RTS, MLX4_CMD_RTS2RTS_QP},   {MLX4_QP_SQER, MLX4_QP_RTS, MLX4_CMD_SQERR2RTS_QP},
	{MLX4_QP_RTS, MLX4_QP_SQD, MLX4_CMD_RTS2SQD_QP},   {MLX4_QP_SQD, MLX4_QP_SQD, MLX4_CMD_SQD2SQD_QP},
	{MLX4_QP_SQD, MLX4_QP_RTS, MLX4_CMD_SQD2RTS_QP},
};

int
mlx4_qp_step(struct mlx4_hca *hca, struct mlx4_qp *qp, enum mlx4_qp_state to, uint32_t optpar, bool tell_drained)
{
	uint8_t box[MLX4_QP_MBOX_CTX + MLX4_QPC_SIZE] = {0};
	const struct step *s = NULL;
	unsigned int i;
	int rc;

	if (to == MLX4_QP_RST)
		return qp->state == MLX4_QP_RST ? 0 : mlx4_qp_stop(hca, qp);
	if (to == MLX4_QP_ERR)
		return qp->state == MLX4_QP_ERR ? 0 : mlx4_qp_flush(hca, qp);
	for (i = 0; i < RTE_DIM(steps) && s == NULL; i++)
		if (steps[i].from == qp->state && steps[i].to == to)
			s = &steps[i];
	if (s == NULL) {
		HCA_LOG(hca, ERR, "QP 0x%x: no step from state %u to %u", qp->qpn, qp->state, to);
		return -EINVAL;
	}
	prm_set(qp->ctx, MLX4_QPC_STATE, to);
	prm_set(box, MLX4_QP_MBOX_OPTPAR, optpar);
	memcpy(box + MLX4_QP_MBOX_CTX, qp->ctx, MLX4_QPC_SIZE);
	if (s->op == MLX4_CMD_RTS2SQD_QP)
		rc = mlx4_qp_cmd_no_context(hca, s->op, qp->qpn | (tell_drained ? SQD_TELL : 0));
	else
		rc = mlx4_cmd(hca, s->op, 0, qp->qpn, box, sizeof(box), NULL, 0);
	if (rc == 0)
		qp->state = to;
	return rc;
}

int
mlx4_qp_query(struct mlx4_hca *hca, const struct mlx4_qp *qp, uint8_t *ctx)
{
	uint8_t box[MLX4_QP_MBOX_CTX + MLX4_QPC_SIZE];
	int rc;

	rc = mlx4_cmd(hca, MLX4_CMD_QUERY_QP, 0, qp->qpn, NULL, 0, box, sizeof(box));
	if (rc == 0)
		memcpy(ctx, box + MLX4_QP_MBOX_CTX, MLX4_QPC_SIZE);
	return rc;
}
