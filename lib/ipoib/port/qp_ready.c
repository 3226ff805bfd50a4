/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* From RESET to RTS. */
#include "port.h"

static const struct {
	enum ibv_qp_state to;
	int mask;
} steps[] = {
	{IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},
	{IBV_QPS_RTR, IBV_QP_STATE},
	{IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN},
};

int
ipoib_qp_ready(struct ipoib_port *p, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.pkey_index = (uint16_t)p->pkey_index, .port_num = 1, .qkey = p->qkey};
	unsigned int i;
	int err = 0;

	for (i = 0; i < RTE_DIM(steps) && err == 0; i++) {
		attr.qp_state = steps[i].to;
		err = tp_roce_modify_qp(qp, &attr, steps[i].mask);
	}
	return -err;
}

int
ipoib_table_ready(struct ipoib_port *p, struct tp_roce_table *table)
{
	struct ibv_qp_attr attr = {.pkey_index = (uint16_t)p->pkey_index, .port_num = 1, .qkey = p->qkey};
	unsigned int i;
	int err = 0;

	for (i = 0; i < RTE_DIM(steps) && err == 0; i++) {
		attr.qp_state = steps[i].to;
		err = tp_roce_modify_table(table, &attr, steps[i].mask);
	}
	return -err;
}
