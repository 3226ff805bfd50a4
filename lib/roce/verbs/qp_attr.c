/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <inttypes.h>

#include <rte_common.h>

#include "lib/roce/port/front.h"
#include "qp_attr.h"

#define BIT24 0xffffffu

/* Columns of a rule. */
enum { UD, UC, RC, RAW, TYPES };

/* A legal transition, and for each type what it needs and what it may have besides IBV_QP_STATE. */
struct rule {
	enum ibv_qp_state from, to;
	int needs[TYPES], takes[TYPES];
};

#define INIT_UD (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define INIT_C (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR_UC (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTR_RC (RTR_UC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTR_C_TAKES (IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX)
#define RTS_RC (IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)
#define RTS_UD_TAKES (IBV_QP_CUR_STATE | IBV_QP_QKEY)
#define RTS_UC_TAKES (IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE)
#define RTS_RC_TAKES (RTS_UC_TAKES | IBV_QP_MIN_RNR_TIMER)
#define SQD_UC_TAKES (IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE)
#define SQD_RC_TAKES                                                                                                   \
	(SQD_UC_TAKES | IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)

/*
 * To RESET and to ERR leads a way from everywhere, without attributes. Raw packets need a port and nothing else. They are not
 * stopped (SQD): no source says what becomes of frames then; and a bad request ends in ERR, so that there is no SQE.
 */
static const struct rule rules[] = {
	{IBV_QPS_RESET, IBV_QPS_INIT, {INIT_UD, INIT_C, INIT_C, IBV_QP_PORT}, {0}},
	{IBV_QPS_INIT, IBV_QPS_INIT, {0}, {INIT_UD, INIT_C, INIT_C, 0}},
	{IBV_QPS_INIT,
	 IBV_QPS_RTR,
	 {0, RTR_UC, RTR_RC, 0},
	 {IBV_QP_PKEY_INDEX | IBV_QP_QKEY, RTR_C_TAKES, RTR_C_TAKES, 0}},
	{IBV_QPS_RTR,
	 IBV_QPS_RTS,
	 {IBV_QP_SQ_PSN, IBV_QP_SQ_PSN, RTS_RC, 0},
	 {RTS_UD_TAKES, RTS_UC_TAKES, RTS_RC_TAKES, 0}},
	{IBV_QPS_RTS, IBV_QPS_RTS, {0}, {RTS_UD_TAKES, RTS_UC_TAKES, RTS_RC_TAKES, 0}},
	{IBV_QPS_RTS,
	 IBV_QPS_SQD,
	 {0},
	 {IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY, -1}},
	{IBV_QPS_SQD, IBV_QPS_RTS, {0}, {RTS_UD_TAKES, RTS_UC_TAKES, RTS_RC_TAKES, -1}},
	{IBV_QPS_SQD, IBV_QPS_SQD, {0}, {IBV_QP_PKEY_INDEX | IBV_QP_QKEY, SQD_UC_TAKES, SQD_RC_TAKES, -1}},
	/* an error of a reliable connection is one of both directions: it never is in SQE */
	{IBV_QPS_SQE, IBV_QPS_RTS, {0}, {RTS_UD_TAKES, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS, -1, -1}},
};

static const char *const state_names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};

const char *
troce_qp_state_name(enum ibv_qp_state state)
{
	return (unsigned int)state < RTE_DIM(state_names) ? state_names[state] : "unknown";
}

static const struct {
	int bit;
	const char *name;
} attr_names[] = {
	{IBV_QP_CUR_STATE, "cur_qp_state"},
	{IBV_QP_EN_SQD_ASYNC_NOTIFY, "en_sqd_async_notify"},
	{IBV_QP_ACCESS_FLAGS, "qp_access_flags"},
	{IBV_QP_PKEY_INDEX, "pkey_index"},
	{IBV_QP_PORT, "port_num"},
	{IBV_QP_QKEY, "qkey"},
	{IBV_QP_AV, "ah_attr"},
	{IBV_QP_PATH_MTU, "path_mtu"},
	{IBV_QP_TIMEOUT, "timeout"},
	{IBV_QP_RETRY_CNT, "retry_cnt"},
	{IBV_QP_RNR_RETRY, "rnr_retry"},
	{IBV_QP_RQ_PSN, "rq_psn"},
	{IBV_QP_MAX_QP_RD_ATOMIC, "max_rd_atomic"},
	{IBV_QP_ALT_PATH, "alt_ah_attr"},
	{IBV_QP_MIN_RNR_TIMER, "min_rnr_timer"},
	{IBV_QP_SQ_PSN, "sq_psn"},
	{IBV_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic"},
	{IBV_QP_PATH_MIG_STATE, "path_mig_state"},
	{IBV_QP_CAP, "cap"},
	{IBV_QP_DEST_QPN, "dest_qp_num"},
	{IBV_QP_RATE_LIMIT, "rate_limit"},
};

/* The first attribute of a mask. */
static const char *
attr_name(int mask)
{
	for (unsigned int i = 0; i < RTE_DIM(attr_names); i++) {
		if ((mask & attr_names[i].bit) != 0)
			return attr_names[i].name;
	}
	return "an unknown bit";
}

static unsigned int
column(enum ibv_qp_type type)
{
	switch ((int)type) {
	case IBV_QPT_UD: return UD;
	case IBV_QPT_UC: return UC;
	case IBV_QPT_RAW_PACKET: return RAW;
	default: return RC;
	}
}

static bool
rule_find(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to, int *needs, int *takes)
{
	const unsigned int col = column(type);

	*needs = *takes = 0;
	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return true;
	for (unsigned int i = 0; i < RTE_DIM(rules); i++) {
		if (rules[i].from == from && rules[i].to == to && rules[i].takes[col] >= 0) {
			*needs = rules[i].needs[col];
			*takes = rules[i].takes[col];
			return true;
		}
	}
	return false;
}

/* What is wrong with the mask. */
static int
mask_check(const struct troce_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	struct troce_dev *dev = troce_dev_of(qp->v.context);
	const char *a = troce_qp_state_name(from), *b = troce_qp_state_name(to);
	int needs, takes;

	if (!rule_find(qp->v.qp_type, from, to, &needs, &takes))
		return TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x cannot go from %s to %s", qp->v.qp_num, a, b);
	mask &= ~IBV_QP_STATE;
	if ((needs & ~mask) != 0)
		return TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x from %s to %s needs %s (mask 0x%x, needed 0x%x)",
				    qp->v.qp_num, a, b, attr_name(needs & ~mask), mask, needs);
	if ((mask & ~(needs | takes)) != 0)
		return TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x from %s to %s takes no %s (mask 0x%x, allowed 0x%x)",
				    qp->v.qp_num, a, b, attr_name(mask & ~(needs | takes)), mask, needs | takes);
	return 0;
}

/* What is wrong with numbers: all those of mask that have a range. */
static int
range_check(const struct troce_qp *qp, const struct ibv_qp_attr *a, int mask)
{
	struct troce_dev *dev = troce_dev_of(qp->v.context);
	const struct ibv_device_attr *d = &dev->attr;
	const struct {
		int bit;
		uint32_t value, min, max;
	} ranges[] = {
		{IBV_QP_PORT, a->port_num, 1, 1},
		{IBV_QP_PKEY_INDEX, a->pkey_index, 0, d->max_pkeys - 1u},
		{IBV_QP_PATH_MTU, a->path_mtu, IBV_MTU_256, dev->port.active_mtu},
		{IBV_QP_DEST_QPN, a->dest_qp_num, 0, BIT24},
		{IBV_QP_RQ_PSN, a->rq_psn, 0, BIT24},
		{IBV_QP_SQ_PSN, a->sq_psn, 0, BIT24},
		{IBV_QP_TIMEOUT, a->timeout, 0, 31},
		{IBV_QP_RETRY_CNT, a->retry_cnt, 0, 7},
		{IBV_QP_RNR_RETRY, a->rnr_retry, 0, 7},
		{IBV_QP_MIN_RNR_TIMER, a->min_rnr_timer, 0, 31},
		{IBV_QP_MAX_QP_RD_ATOMIC, a->max_rd_atomic, 0, (uint32_t)d->max_qp_init_rd_atom},
		{IBV_QP_MAX_DEST_RD_ATOMIC, a->max_dest_rd_atomic, 0, (uint32_t)d->max_qp_rd_atom},
		{IBV_QP_EN_SQD_ASYNC_NOTIFY, a->en_sqd_async_notify, 0, 1},
		/* there is one path (alternate ones are of InfiniBand's, annex A16) */
		{IBV_QP_PATH_MIG_STATE, a->path_mig_state, IBV_MIG_MIGRATED, IBV_MIG_MIGRATED},
	};

	for (unsigned int i = 0; i < RTE_DIM(ranges); i++) {
		if ((mask & ranges[i].bit) != 0 && (ranges[i].value < ranges[i].min || ranges[i].value > ranges[i].max))
			return TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x: %s %u is not in %u..%u", qp->v.qp_num,
					    attr_name(ranges[i].bit), ranges[i].value, ranges[i].min, ranges[i].max);
	}
	return 0;
}

int
troce_qp_attr_check(const struct troce_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to,
		    const struct ibv_qp_attr *attr, int mask)
{
	const unsigned int known =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct troce_dev *dev = troce_dev_of(qp->v.context);
	int err;

	if ((mask & IBV_QP_CUR_STATE) != 0 && attr->cur_qp_state != from)
		return TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x is in %s, not in %s", qp->v.qp_num,
				    troce_qp_state_name(from), troce_qp_state_name(attr->cur_qp_state));
	err = mask_check(qp, from, to, mask);
	if (err == 0)
		err = range_check(qp, attr, mask);
	if (err != 0)
		return err;
	if ((mask & IBV_QP_ACCESS_FLAGS) != 0 && (attr->qp_access_flags & ~known) != 0)
		return TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x: qp_access_flags 0x%x, only 0x%x are known",
				    qp->v.qp_num, attr->qp_access_flags, known);
	if ((mask & IBV_QP_ALT_PATH) != 0)
		return TROCE_REFUSE(dev, EINVAL, "queue pair 0x%x: alt_ah_attr: a RoCE port has no alternate path",
				    qp->v.qp_num);
	return 0;
}

void
troce_qp_attr_merge(struct ibv_qp_attr *to, const struct ibv_qp_attr *attr, int mask)
{
#define MERGE(bit, field)                                                                                              \
	do {                                                                                                           \
		if ((mask & (bit)) != 0)                                                                               \
			to->field = attr->field;                                                                       \
	} while (0)
	MERGE(IBV_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
	MERGE(IBV_QP_ACCESS_FLAGS, qp_access_flags);
	MERGE(IBV_QP_PKEY_INDEX, pkey_index);
	MERGE(IBV_QP_PORT, port_num);
	MERGE(IBV_QP_QKEY, qkey);
	MERGE(IBV_QP_AV, ah_attr);
	MERGE(IBV_QP_PATH_MTU, path_mtu);
	MERGE(IBV_QP_TIMEOUT, timeout);
	MERGE(IBV_QP_RETRY_CNT, retry_cnt);
	MERGE(IBV_QP_RNR_RETRY, rnr_retry);
	MERGE(IBV_QP_RQ_PSN, rq_psn);
	MERGE(IBV_QP_SQ_PSN, sq_psn);
	MERGE(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	MERGE(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	MERGE(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	MERGE(IBV_QP_DEST_QPN, dest_qp_num);
#undef MERGE
}
