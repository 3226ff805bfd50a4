/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Changes of a live queue pair: UPDATE_QP, and the states that end its sends [CP 5.13, DP 7.5]. */
#include <errno.h>
#include <string.h>

#include "core.h"

#define RATE_MBPS_MAX 4095u /* what 12 bits hold */
#define RATE_GBPS_MAX 4095u

/* The context has the new values; before: the old ones, which come back on failure. */
static int
update(struct mlx4_hca *hca, struct mlx4_qp *qp, uint64_t mask, uint64_t path_mask, const uint8_t *before,
       const char *what)
{
	uint8_t box[MLX4_UPDATE_QP_CTX + MLX4_QPC_SIZE] = {0};
	int rc = -ENOTSUP;

	if (qp->state == MLX4_QP_RST)
		return 0;
	if (hca->caps.update_qp) {
		prm_set64(box, MLX4_UPDATE_QP_MASK, mask);
		prm_set64(box, MLX4_UPDATE_QP_PRI_MASK, path_mask);
		memcpy(box + MLX4_UPDATE_QP_CTX, qp->ctx, MLX4_QPC_SIZE);
		rc = mlx4_cmd(hca, MLX4_CMD_UPDATE_QP, 0, qp->qpn, box, sizeof(box), NULL, 0);
	} else {
		HCA_LOG(hca, ERR, "%s cannot be changed on a started queue: the firmware has no UPDATE_QP", what);
	}
	if (rc != 0)
		memcpy(qp->ctx, before, MLX4_QPC_SIZE);
	return rc;
}

int
mlx4_qp_prio(struct mlx4_hca *hca, struct mlx4_qp *qp, uint8_t prio)
{
	uint8_t before[MLX4_QPC_SIZE], *path = qp->ctx + MLX4_QPC_PRI_PATH;

	memcpy(before, qp->ctx, sizeof(before));
	prm_set(path, MLX4_PATH_SCHED_QUEUE,
		MLX4_SCHED_QUEUE(MLX4_SCHED_QUEUE_PORT(prm_get(path, MLX4_PATH_SCHED_QUEUE)), prio));
	return update(hca, qp, 0, MLX4_UPDATE_PATH_SCHED_QUEUE, before, "the priority");
}

int
mlx4_qp_rate(struct mlx4_hca *hca, struct mlx4_qp *qp, uint32_t mbps)
{
	uint8_t before[MLX4_QPC_SIZE];
	uint32_t unit = MLX4_QP_RATE_UNIT_NONE, value = 0;

	if (mbps != 0 && hca->caps.num_qp_rates == 0) {
		HCA_LOG(hca, ERR, "a queue limited to %u Mb/s: the firmware has no rate limits of queues", mbps);
		return -ENOTSUP;
	}
	if (mbps > RATE_MBPS_MAX) {
		unit = MLX4_QP_RATE_UNIT_GBPS;
		value = RTE_MIN(mbps / 1000, RATE_GBPS_MAX);
	} else if (mbps != 0) {
		unit = MLX4_QP_RATE_UNIT_MBPS;
		value = mbps;
	}
	memcpy(before, qp->ctx, sizeof(before));
	prm_set(qp->ctx, MLX4_QPC_RATE_UNIT, unit);
	prm_set(qp->ctx, MLX4_QPC_RATE_VALUE, value);
	if (memcmp(before, qp->ctx, sizeof(before)) == 0)
		return 0;
	return update(hca, qp, MLX4_UPDATE_QP_RATE, 0, before, "the rate limit");
}

int
mlx4_qp_delay_drop(struct mlx4_hca *hca, struct mlx4_qp *qp, uint16_t units)
{
	uint8_t before[MLX4_QPC_SIZE];

	memcpy(before, qp->ctx, sizeof(before));
	prm_set(qp->ctx, MLX4_QPC_DELAY_DROP, units);
	return update(hca, qp, MLX4_UPDATE_QP_DELAY_DROP, 0, before, "dropless receive");
}

int
mlx4_qp_sent(struct mlx4_hca *hca, const struct mlx4_qp *qp, uint16_t *pos)
{
	uint8_t box[MLX4_QP_MBOX_CTX + MLX4_QPC_SIZE];
	int rc;

	rc = mlx4_cmd(hca, MLX4_CMD_QUERY_QP, 0, qp->qpn, NULL, 0, box, sizeof(box));
	if (rc == 0)
		*pos = prm_get(box + MLX4_QP_MBOX_CTX, MLX4_QPC_SQ_WQE_COUNTER);
	return rc;
}

int
mlx4_qp_cmd_no_context(struct mlx4_hca *hca, enum mlx4_cmd_opcode op, uint32_t in_modifier)
{
	static const uint8_t box[MLX4_QP_MBOX_CTX + MLX4_QPC_SIZE];
	bool need = mlx4_quirk(hca, MLX4_QUIRK_ERR_MBOX) != 0;

	return mlx4_cmd(hca, op, 0, in_modifier, need ? box : NULL, need ? sizeof(box) : 0, NULL, 0);
}

int
mlx4_qp_flush(struct mlx4_hca *hca, struct mlx4_qp *qp)
{
	int rc = mlx4_qp_cmd_no_context(hca, MLX4_CMD_2ERR_QP, qp->qpn);

	if (rc == 0)
		qp->state = MLX4_QP_ERR;
	return rc;
}
