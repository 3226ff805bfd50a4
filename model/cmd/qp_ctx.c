/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* QP contexts: which fields a transition applies, what they mean, whether they make sense [CP 5.5 .. 5.12]. */
#include <inttypes.h>
#include <string.h>

#include "model/qos/qos.h"
#include "model/port/port.h"
#include "model/roce/roce.h"
#include "cmd.h"

#define PATH_F(f) PRM_D(PRM_OFF(f) + MLX4_QPC_PRI_PATH, PRM_HI(f), PRM_LO(f))
#define LG_STRIDE_BIAS 4u
#define LG_SQ_STRIDE_MIN 6u
/* The RSS context lies over the end of the primary path, the alternate path and params1. */
#define RSS_CTX PRM_OFF(MLX4_RSS_LG_RINGS)
#define RSS_CTX_SIZE (PRM_OFF(MLX4_RSS_BASE_QPN_UDP) + 4 - RSS_CTX)

enum { T_INIT = 1, T_RTR = 2, T_RTS = 4, T_LIVE = 8 /* RTS2RTS, SQD2RTS, SQD2SQD, INIT2INIT, SQERR2RTS */ };

/*
 * A field of the context and the transitions that take it: always (required) or when its optional bit is set. The full
 * list for this device is not public; this is the documented part [CP 5.12, DP 7.4] [U].
 */
static const struct qpc_rule {
	uint32_t field, optpar;
	uint8_t required;
} rules[] = {
	{MLX4_QPC_MTU, 0, T_RTR},
	{MLX4_QPC_LG_MSG, 0, T_RTR},
	{MLX4_QPC_ROCE_MODE, 0, T_RTR},
	{MLX4_QPC_REMOTE_QPN, 0, T_RTR},
	{MLX4_QPC_NEXT_RECV_PSN, 0, T_RTR},
	{MLX4_QPC_FPP, 0, T_RTR},
	{MLX4_QPC_TUNNEL_MODE, 0, T_RTR},
	{MLX4_QPC_FCS_KEEP, 0, T_RTR},
	{MLX4_QPC_VLAN_KEEP, MLX4_OPTPAR_VLAN_STRIP, T_RTR},
	{MLX4_QPC_MIN_RNR_TIMER, MLX4_OPTPAR_RNR_TIMEOUT, T_RTR},
	{MLX4_QPC_RRA_MAX, MLX4_OPTPAR_RRA_MAX, T_RTR},
	{MLX4_QPC_QKEY, MLX4_OPTPAR_QKEY, 0},
	{MLX4_QPC_RRE, MLX4_OPTPAR_RRE, 0},
	{MLX4_QPC_RWE, MLX4_OPTPAR_RWE, 0},
	{MLX4_QPC_RAE, MLX4_OPTPAR_RAE, 0},
	{MLX4_QPC_PM_STATE, MLX4_OPTPAR_PM_STATE, 0},
	{MLX4_QPC_SRA_MAX, MLX4_OPTPAR_SRA_MAX, T_RTS},
	{MLX4_QPC_RETRY_COUNT, MLX4_OPTPAR_RETRY_COUNT, T_RTS},
	{MLX4_QPC_RNR_RETRY, MLX4_OPTPAR_RNR_RETRY, T_RTS},
	{MLX4_QPC_NEXT_SEND_PSN, 0, T_RTS},
	{MLX4_QPC_ROCE_ENTROPY, 0, T_RTS},
	{PATH_F(MLX4_PATH_ACK_TIMEOUT), MLX4_OPTPAR_ACK_TIMEOUT, T_RTS},
	{PATH_F(MLX4_PATH_SCHED_QUEUE), MLX4_OPTPAR_SCHED_QUEUE, 0},
	{PATH_F(MLX4_PATH_COUNTER), MLX4_OPTPAR_COUNTER_INDEX, 0},
	{PATH_F(MLX4_PATH_PKEY_INDEX), MLX4_OPTPAR_PKEY_INDEX, 0},
};

static uint8_t
transition_of(uint16_t opcode)
{
	switch (opcode) {
	case MLX4_CMD_RST2INIT_QP: return T_INIT;
	case MLX4_CMD_INIT2RTR_QP: return T_RTR;
	case MLX4_CMD_RTR2RTS_QP: return T_RTS;
	default: return T_LIVE;
	}
}

void
tpm_qpc_apply(uint8_t *dst, const uint8_t *src, uint16_t opcode, uint32_t optpar)
{
	uint8_t t = transition_of(opcode), keep[RSS_CTX_SIZE];
	bool rss;

	if (t == T_INIT) {
		memcpy(dst, src, MLX4_QPC_SIZE);
		return;
	}
	rss = prm_get(dst, MLX4_QPC_RSS) != 0;
	if (rss)
		memcpy(keep, dst + RSS_CTX, sizeof(keep));
	if (t == T_RTR || (optpar & MLX4_OPTPAR_PRIMARY_PATH) != 0)
		memcpy(dst + MLX4_QPC_PRI_PATH, src + MLX4_QPC_PRI_PATH, MLX4_PATH_SIZE);
	for (unsigned int i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if ((rules[i].required & t) != 0 || (rules[i].optpar & optpar) != 0)
			prm_set(dst, rules[i].field, prm_get(src, rules[i].field));
	/* Taken with the first step: Linux's verbs leave it out of the others. */
	if (rss)
		memcpy(dst + RSS_CTX, keep, sizeof(keep));
}

/*
 * The size byte cannot tell alone: 0 is one entry of 16 bytes, and Linux's verbs leave 0xfc there when there is no queue. What
 * they always give a receive queue is a doorbell record; its Ethernet driver gives one to queue pairs that only send, too, at
 * no address that exists.
 */
static bool
has_rq(const uint8_t *ctx)
{
	bool sized = prm_get(ctx, MLX4_QPC_RQ_LG_SIZE) != 0 || prm_get(ctx, MLX4_QPC_RQ_LG_STRIDE) != 0;

	return prm_get(ctx, MLX4_QPC_RSS) == 0 && prm_get(ctx, MLX4_QPC_SRQ_VALID) == 0 &&
	       prm_get64(ctx, MLX4_QPC_DBREC) != 0 && (sized || prm_get(ctx, MLX4_QPC_SERVICE) != MLX4_QP_ST_MLX);
}

uint32_t
tpm_qpc_layout(const uint8_t *ctx, uint32_t *sq_off, uint32_t *rq_off)
{
	uint32_t sq_stride = prm_get(ctx, MLX4_QPC_SQ_LG_STRIDE), rq_stride = prm_get(ctx, MLX4_QPC_RQ_LG_STRIDE);
	uint32_t sq_bytes = 1u << (prm_get(ctx, MLX4_QPC_SQ_LG_SIZE) + sq_stride + LG_STRIDE_BIAS);
	uint32_t rq_bytes = has_rq(ctx) ? 1u << (prm_get(ctx, MLX4_QPC_RQ_LG_SIZE) + rq_stride + LG_STRIDE_BIAS) : 0;
	bool dummy_sq = prm_get(ctx, MLX4_QPC_SQ_LG_SIZE) == 0;

	if (rq_bytes != 0 && rq_stride > sq_stride) {
		*rq_off = 0;
		*sq_off = rq_bytes;
		/* The one entry of a receive-only QP is never used and need not exist. */
		return dummy_sq ? rq_bytes : rq_bytes + sq_bytes;
	}
	*sq_off = 0;
	*rq_off = sq_bytes;
	return rq_bytes == 0 && dummy_sq ? 0 : sq_bytes + rq_bytes;
}

static uint8_t
rings_check(struct tp_model *m, const struct tpm_qp *qp)
{
	const uint8_t *ctx = qp->ctx;
	uint32_t sq_stride = prm_get(ctx, MLX4_QPC_SQ_LG_STRIDE) + LG_STRIDE_BIAS;
	uint32_t sq = prm_get(ctx, MLX4_QPC_SQ_LG_SIZE), rq = has_rq(ctx) ? prm_get(ctx, MLX4_QPC_RQ_LG_SIZE) : 0;
	uint64_t dbrec = prm_get64(ctx, MLX4_QPC_DBREC);

	if (sq > TPM_LG_MAX_QP_WQES || rq > TPM_LG_MAX_QP_WQES)
		return tpm_fail(m, EXCEED_LIM, CMD_LIMIT, "QP", qp->qpn,
				"lg sizes are %u (send) and %u (receive), wanted at most %u", sq, rq,
				TPM_LG_MAX_QP_WQES);
	if (sq_stride < LG_SQ_STRIDE_MIN)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "QP", qp->qpn, "send stride is %u bytes, wanted at least %u",
				1u << sq_stride, 1u << LG_SQ_STRIDE_MIN);
	if (!has_rq(ctx))
		return MLX4_STAT_OK;
	if ((dbrec & 3) != 0)
		return tpm_fail(m, BAD_PARAM, CTX_RSVD, "QP", qp->qpn,
				"doorbell record at 0x%" PRIx64 ", wanted a multiple of 4", dbrec);
	return tpm_dma(m, dbrec, 4, TP_DMA_READ, "RQ doorbell record") == NULL ? MLX4_STAT_BAD_PARAM : MLX4_STAT_OK;
}

static uint8_t
cq_check(struct tp_model *m, const struct tpm_qp *qp, uint32_t cqn, const char *side)
{
	if (cqn >= 1u << m->lg_cqs || m->cq[cqn] == NULL)
		return tpm_fail(m, BAD_RESOURCE, CMD_INDEX, "QP", qp->qpn, "%s CQ 0x%x is not in hardware", side, cqn);
	return MLX4_STAT_OK;
}

uint8_t
tpm_qpc_check(struct tp_model *m, const struct tpm_qp *qp)
{
	const uint8_t *ctx = qp->ctx;
	uint32_t service = prm_get(ctx, MLX4_QPC_SERVICE), qpn = prm_get(ctx, MLX4_QPC_LOCAL_QPN),
		 srqn = prm_get(ctx, MLX4_QPC_SRQN), tunnel = prm_get(ctx, MLX4_QPC_TUNNEL_MODE);
	uint8_t st;

	if (service != MLX4_QP_ST_MLX && service != MLX4_QP_ST_RC && service != MLX4_QP_ST_UC &&
	    service != MLX4_QP_ST_UD)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "QP", qp->qpn,
				"service type is %u, wanted %u, %u, %u or %u: QUERY_DEV_CAP offers no other", service,
				MLX4_QP_ST_RC, MLX4_QP_ST_UC, MLX4_QP_ST_UD, MLX4_QP_ST_MLX);
	if (tunnel != 0 && (tunnel != MLX4_QPC_TUNNEL_ALL || !tpm_tunnels_offered(m)))
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "QP", qp->qpn, "tunnel mode is %u, wanted 0%s", tunnel,
				tpm_tunnels_offered(m) ? " or 7" : ": QUERY_DEV_CAP offers none");
	if (qpn != 0 && qpn != qp->qpn)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "QP", qp->qpn, "its context names QP 0x%x", qpn);
	if (prm_get(ctx, MLX4_QPC_SRQ_VALID) != 0 && (srqn >= 1u << m->lg_srqs || m->srq[srqn] == NULL))
		return tpm_fail(m, BAD_RESOURCE, CMD_INDEX, "QP", qp->qpn, "SRQ 0x%x is not in hardware", srqn);
	if (!tpm_uar_valid(m, prm_get(ctx, MLX4_QPC_UAR)))
		return tpm_fail(m, BAD_PARAM, CMD_LIMIT, "QP", qp->qpn, "UAR page is %u, wanted %u..%u",
				prm_get(ctx, MLX4_QPC_UAR), MLX4_UAR_EQ_PAGES, m->num_uars - 1);
	st = rings_check(m, qp);
	if (st == MLX4_STAT_OK)
		st = cq_check(m, qp, prm_get(ctx, MLX4_QPC_CQN_SEND), "send");
	if (st == MLX4_STAT_OK)
		st = cq_check(m, qp, prm_get(ctx, MLX4_QPC_CQN_RECV), "receive");
	return st;
}

static void
rss_load(struct tpm_qp *qp)
{
	const uint8_t *ctx = qp->ctx;

	qp->rss.lg_rings = (uint8_t)prm_get(ctx, MLX4_RSS_LG_RINGS);
	qp->rss.base_qpn = prm_get(ctx, MLX4_RSS_BASE_QPN);
	qp->rss.default_qpn = prm_get(ctx, MLX4_RSS_DEFAULT_QPN);
	qp->rss.base_qpn_udp = prm_get(ctx, MLX4_RSS_BASE_QPN_UDP);
	qp->rss.fn = (uint8_t)prm_get(ctx, MLX4_RSS_HASH_FN);
	qp->rss.flags = (uint8_t)prm_get(ctx, MLX4_RSS_FLAGS);
	tpm_rss_key(qp, ctx + MLX4_RSS_KEY);
}

void
tpm_qp_ops_set(struct tpm_qp *qp)
{
	static const struct tpm_qp_ops eth =
					       {
						       .run = tpm_sq_run,
						       .ready = tpm_roce_ready,
						       .served = tpm_roce_served,
						       .state = tpm_roce_state,
						       .flush = tpm_qp_to_error,
					       },
				       mlx =
					       {
						       .run = tpm_sq_run,
						       .wqe = tpm_wqe_mlx,
						       .ready = tpm_roce_ready,
						       .served = tpm_roce_served,
						       .state = tpm_roce_state,
						       .flush = tpm_qp_to_error,
					       },
				       verbs = {
					       .run = tpm_sq_run,
					       .send = tpm_roce_send,
					       .wqe = tpm_wqe_verbs,
					       .ready = tpm_roce_ready,
					       .served = tpm_roce_served,
					       .state = tpm_roce_state,
					       .flush = tpm_qp_to_error,
				       };

	if (qp->eth)
		qp->ops = &eth;
	else
		qp->ops = qp->service == MLX4_QP_ST_MLX ? &mlx : &verbs;
}

void
tpm_qpc_load(const struct tp_model *m, struct tpm_qp *qp)
{
	const uint8_t *ctx = qp->ctx, *path = ctx + MLX4_QPC_PRI_PATH;
	uint8_t sched = (uint8_t)prm_get(path, MLX4_PATH_SCHED_QUEUE);

	qp->service = (uint8_t)prm_get(ctx, MLX4_QPC_SERVICE);
	qp->is_rss = prm_get(ctx, MLX4_QPC_RSS) != 0;
	qp->port = (uint8_t)MLX4_SCHED_QUEUE_PORT(sched);
	qp->prio = (uint8_t)MLX4_SCHED_QUEUE_PRIO(sched);
	if (tpm_quirk(m, MLX4_QUIRK_FORCE_PRIO) != 0 && prm_get(path, MLX4_PATH_FORCE_PRIO) == 0)
		qp->prio = 0;
	qp->rate_kbps = tpm_qp_rate_kbps(ctx);
	qp->delay_drop = (uint16_t)prm_get(ctx, MLX4_QPC_DELAY_DROP);
	/* QP0 and QP1 have the same service but an InfiniBand MTU: their WQEs carry whole IB packets. */
	qp->eth = qp->service == MLX4_QP_ST_MLX && prm_get(ctx, MLX4_QPC_MTU) == MLX4_QPC_MTU_RAW;
	tpm_qp_ops_set(qp);
	qp->vlan_keep = prm_get(ctx, MLX4_QPC_VLAN_KEEP) != 0;
	qp->fcs_keep = prm_get(ctx, MLX4_QPC_FCS_KEEP) != 0;
	qp->tunnels = prm_get(ctx, MLX4_QPC_TUNNEL_MODE) == MLX4_QPC_TUNNEL_ALL;
	qp->no_prefetch = prm_get(ctx, MLX4_QPC_NO_PREFETCH) != 0;
	qp->pd = prm_get(ctx, MLX4_QPC_PD);
	qp->uar = prm_get(ctx, MLX4_QPC_UAR);
	qp->has_rq = has_rq(ctx);
	qp->has_sq = prm_get(ctx, MLX4_QPC_SQ_LG_SIZE) != 0;
	qp->sq_lg_stride = (uint8_t)(prm_get(ctx, MLX4_QPC_SQ_LG_STRIDE) + LG_STRIDE_BIAS);
	qp->rq_lg_stride = (uint8_t)(prm_get(ctx, MLX4_QPC_RQ_LG_STRIDE) + LG_STRIDE_BIAS);
	qp->sq_mask = (1u << prm_get(ctx, MLX4_QPC_SQ_LG_SIZE)) - 1;
	qp->rq_mask = (1u << prm_get(ctx, MLX4_QPC_RQ_LG_SIZE)) - 1;
	tpm_qpc_layout(ctx, &qp->sq_off, &qp->rq_off);
	qp->dbrec_addr = prm_get64(ctx, MLX4_QPC_DBREC);
	/* A parent's table is where the other place is. */
	qp->counter = (uint8_t)prm_get(path, tpm_quirk(m, MLX4_QUIRK_COUNTER_PLACE) == 0 || qp->is_rss
						     ? MLX4_PATH_COUNTER
						     : MLX4_PATH_COUNTER_2007);
	/* The two source checks compare interface counters only when "control" says so. */
	qp->lb_check_mc = prm_get(path, MLX4_PATH_F_MC_LB_CHECK) != 0 && prm_get(path, MLX4_PATH_LB_BY_COUNTER) != 0;
	qp->lb_check_uc = prm_get(path, MLX4_PATH_F_UC_LB_CHECK) != 0 && prm_get(path, MLX4_PATH_LB_BY_COUNTER) != 0;
	if (qp->is_rss)
		rss_load(qp);
}
