/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What tests of queue pairs share: an open port, and attributes that are right. */
#ifndef ROCE_VERBS_QP_H
#define ROCE_VERBS_QP_H

#include "fake.h"

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

static inline int
setup(void **state)
{
	fake_reset();
	ctx = fake_open(NULL);
	pd = tp_roce_alloc_pd(ctx);
	cq = tp_roce_create_cq(ctx, 10, NULL, NULL, 0);
	return pd == NULL || cq == NULL;
}

static inline int
teardown(void **state)
{
	fake_reset();
	assert_int_equal(tp_roce_destroy_cq(cq), 0);
	assert_int_equal(tp_roce_dealloc_pd(pd), 0);
	fake_close(ctx);
	return 0;
}

static inline struct ibv_qp_init_attr
init_of(enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr){
		.qp_type = type,
		.send_cq = cq,
		.recv_cq = cq,
		.qp_context = &pd,
		.sq_sig_all = 1,
		.cap = {.max_send_wr = 5, .max_recv_wr = 6, .max_send_sge = 2, .max_recv_sge = 3}};
}

static inline struct ibv_qp *
make(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = init_of(type);
	struct ibv_qp *qp = tp_roce_create_qp(pd, &init);

	assert_non_null(qp);
	return qp;
}

static inline struct troce_qp *
inner(struct ibv_qp *qp)
{
	return (struct troce_qp *)qp;
}

static inline struct ibv_qp_attr
good(enum ibv_qp_state from, enum ibv_qp_state to)
{
	return (struct ibv_qp_attr){
		.qp_state = to,
		.cur_qp_state = from,
		.path_mtu = IBV_MTU_1024,
		.path_mig_state = IBV_MIG_MIGRATED,
		.qkey = 0x11,
		.rq_psn = 0xffffff,
		.sq_psn = 0x123456,
		.dest_qp_num = 0xabcdef,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.sgid_index = 1, .dgid.raw = {0xfe, 0x80, [15] = 2}}},
		.port_num = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 6,
		.min_rnr_timer = 12,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 5,
	};
}

#define RTR_RC                                                                                                         \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |    \
	 IBV_QP_MIN_RNR_TIMER)
#define INIT_RC (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTS_RC                                                                                                         \
	(IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

#endif /* ROCE_VERBS_QP_H */
