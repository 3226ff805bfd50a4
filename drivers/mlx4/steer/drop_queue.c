/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The queue without buffers of a port. */
#include "drop_queue.h"

#define DROP_ENTRIES 64u

int
mlx4_drop_queue_open(struct mlx4_eth *eth)
{
	struct mlx4_drop_queue *d = &eth->drop;
	struct mlx4_hca *hca = eth->hca;
	struct mlx4_qp_attr attr = {
		.port = eth->port,
		.rq_entries = DROP_ENTRIES,
		.rq_stride = MLX4_DS_SIZE,
		.scq = &d->cq,
		.rcq = &d->cq,
		.numa_node = hca->numa_node,
	};
	uint32_t qpn;
	int rc;

	if (d->up)
		return 0;
	rc = mlx4_uar_alloc(hca, &d->uar);
	if (rc != 0)
		return rc;
	mlx4_belongs(hca, MLX4_OBJ_UAR, d->uar, 1, eth->port);
	rc = mlx4_cq_create(hca, DROP_ENTRIES, d->uar, -1, hca->numa_node, &d->cq);
	if (rc != 0)
		goto err_cq;
	mlx4_belongs(hca, MLX4_OBJ_CQ, d->cq.cqn, 1, eth->port);
	rc = mlx4_qpn_reserve(hca, 1, 1, false, &qpn);
	if (rc != 0)
		goto err_qpn;
	mlx4_belongs(hca, MLX4_OBJ_QP, qpn, 1, eth->port);
	attr.uar = d->uar;
	rc = mlx4_qp_create(hca, qpn, &attr, &d->qp);
	if (rc != 0)
		goto err_qp;
	rc = mlx4_qp_start(hca, &d->qp);
	if (rc != 0)
		goto err_start;
	d->up = true;
	return 0;

err_start:
	mlx4_qp_destroy(hca, &d->qp);
err_qp:
	mlx4_qpn_release(hca, qpn, 1);
err_qpn:
	mlx4_cq_destroy(hca, &d->cq);
err_cq:
	mlx4_uar_free(hca, d->uar);
	return rc;
}

void
mlx4_drop_queue_close(struct mlx4_eth *eth)
{
	struct mlx4_drop_queue *d = &eth->drop;
	uint32_t qpn = d->qp.qpn;

	if (!d->up)
		return;
	d->up = false;
	mlx4_qp_stop(eth->hca, &d->qp);
	mlx4_qp_destroy(eth->hca, &d->qp);
	mlx4_qpn_release(eth->hca, qpn, 1);
	mlx4_cq_destroy(eth->hca, &d->cq);
	mlx4_uar_free(eth->hca, d->uar);
}
