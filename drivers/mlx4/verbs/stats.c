/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Counters of the card's transport (R-11) [DP 13.3]. They are of 32 bits. */
#include <errno.h>

#include "drivers/mlx4/qos/qos.h"
#include "verbs.h"

static const struct {
	const char *name;
	uint16_t at;
} counters[] = {
	{"req_length_errors", MLX4_DIAG_SQ_LENGTH},
	{"req_qp_operation_errors", MLX4_DIAG_SQ_QP_OP},
	{"req_protection_errors", MLX4_DIAG_SQ_PROTECTION},
	{"req_flushed", MLX4_DIAG_SQ_FLUSHED},
	{"req_bind_errors", MLX4_DIAG_SQ_BIND},
	{"req_bad_responses", MLX4_DIAG_SQ_BAD_RESPONSE},
	{"req_remote_invalid_requests", MLX4_DIAG_SQ_REMOTE_INVALID},
	{"req_remote_access_errors", MLX4_DIAG_SQ_REMOTE_ACCESS},
	{"req_remote_operation_errors", MLX4_DIAG_SQ_REMOTE_OP},
	{"req_retries_exceeded", MLX4_DIAG_SQ_RETRY_EXCEEDED},
	{"req_rnr_retries_exceeded", MLX4_DIAG_SQ_RNR_EXCEEDED},
	{"req_rnr_naks", MLX4_DIAG_SQ_RNR_NAK},
	{"req_out_of_order", MLX4_DIAG_SQ_OUT_OF_ORDER},
	{"req_timeouts", MLX4_DIAG_SQ_TIMEOUT},
	{"resp_length_errors", MLX4_DIAG_RQ_LENGTH},
	{"resp_qp_operation_errors", MLX4_DIAG_RQ_QP_OP},
	{"resp_protection_errors", MLX4_DIAG_RQ_PROTECTION},
	{"resp_flushed", MLX4_DIAG_RQ_FLUSHED},
	{"resp_invalid_requests", MLX4_DIAG_RQ_REMOTE_INVALID},
	{"resp_access_errors", MLX4_DIAG_RQ_REMOTE_ACCESS},
	{"resp_remote_operation_errors", MLX4_DIAG_RQ_REMOTE_OP},
	{"resp_rnr_naks", MLX4_DIAG_RQ_RNR_NAK},
	{"resp_out_of_order", MLX4_DIAG_RQ_OUT_OF_ORDER},
	{"resp_duplicates", MLX4_DIAG_RQ_DUPLICATE},
	{"resp_ud_dropped", MLX4_DIAG_RQ_UD_DROPPED},
	{"resp_uc_dropped", MLX4_DIAG_RQ_UC_DROPPED},
	{"bad_multicast", MLX4_DIAG_RQ_MCAST},
	{"cq_overflows", MLX4_DIAG_CQ_OVERFLOW},
	{"eq_overflows", MLX4_DIAG_EQ_OVERFLOW},
	{"bad_doorbells", MLX4_DIAG_BAD_DOORBELL},
};

/* Of all priorities. */
static const struct {
	const char *name;
	size_t off;
} cc_counters[] = {
#define C(name, member) {name, offsetof(struct rte_pmd_mlx4_cc_stats, member)},
	C("cc_marked", marked) C("cc_marks_ignored", marks_ignored) C("cc_cnps_sent", cnps_sent)
		C("cc_cnps_handled", cnps_handled) C("cc_cnps_ignored", cnps_ignored) C("cc_cnps_dropped", cnps_dropped)
			C("cc_limited_qps", limited) C("cc_limited_mbps", rate)
#undef C
};

static void
cc_stats(const struct troce_dev *dev, tp_roce_stat_fn fn, void *arg)
{
	struct mlx4_eth *eth = dev->ib == NULL ? mlx4_eth_by_port(dev->port_id) : NULL;
	struct rte_pmd_mlx4_cc_stats st[TP_PRIOS];
	uint64_t cnps = 0;
	unsigned int i, p;

	if (eth == NULL || mlx4_cc_stats(eth, st) != 0)
		return;
	for (i = 0; i < RTE_DIM(cc_counters); i++) {
		uint64_t sum = 0;

		for (p = 0; p < TP_PRIOS; p++)
			sum += *(const uint64_t *)(const void *)((const uint8_t *)&st[p] + cc_counters[i].off);
		fn(arg, cc_counters[i].name, sum);
	}
	for (p = 0; p < TP_PRIOS; p++)
		cnps += st[p].cnps_handled + st[p].cnps_ignored + st[p].cnps_dropped;
	fn(arg, "cnps", cnps);
}

int
mlx4_roce_stats(struct troce_dev *dev, tp_roce_stat_fn fn, void *arg)
{
	struct mlx4_roce *r = dev->home;
	uint8_t box[MLX4_DIAG_SIZE];
	unsigned int i;
	int rc;

	if (r->hca == NULL)
		return EIO;
	rc = mlx4_port_diag(r->hca, r->port, box);
	if (rc != 0)
		return EIO;
	for (i = 0; i < RTE_DIM(counters); i++)
		fn(arg, counters[i].name, prm_get32(box, counters[i].at));
	cc_stats(dev, fn, arg);
	return 0;
}
