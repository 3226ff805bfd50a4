/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue pairs by command: the state machine [CP 3.1, 5.4, 5.13]. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/port/port.h"
#include "model/qos/qos.h"
#include "model/queue/queue.h"
#include "model/roce/roce.h"
#include "cmd.h"

#define STATE_BIT(s) (1u << (s))
#define ALL_LIVE                                                                                                       \
	(STATE_BIT(MLX4_QP_INIT) | STATE_BIT(MLX4_QP_RTR) | STATE_BIT(MLX4_QP_RTS) | STATE_BIT(MLX4_QP_SQER) |         \
	 STATE_BIT(MLX4_QP_SQD) | STATE_BIT(MLX4_QP_ERR))
#define SQD_NOTIFY (1u << 31)
#define SPECIAL_QPS 8u

static const struct transition {
	uint16_t opcode;
	uint16_t from; /* STATE_BIT()s */
	uint8_t to;
} transitions[] = {
	{MLX4_CMD_RST2INIT_QP, STATE_BIT(MLX4_QP_RST), MLX4_QP_INIT},
	{MLX4_CMD_INIT2INIT_QP, STATE_BIT(MLX4_QP_INIT), MLX4_QP_INIT},
	{MLX4_CMD_INIT2RTR_QP, STATE_BIT(MLX4_QP_INIT), MLX4_QP_RTR},
	{MLX4_CMD_RTR2RTS_QP, STATE_BIT(MLX4_QP_RTR), MLX4_QP_RTS},
	{MLX4_CMD_RTS2RTS_QP, STATE_BIT(MLX4_QP_RTS), MLX4_QP_RTS},
	{MLX4_CMD_SQERR2RTS_QP, STATE_BIT(MLX4_QP_SQER), MLX4_QP_RTS},
	{MLX4_CMD_2ERR_QP, ALL_LIVE, MLX4_QP_ERR},
	{MLX4_CMD_RTS2SQD_QP, STATE_BIT(MLX4_QP_RTS), MLX4_QP_SQD},
	{MLX4_CMD_SQD2SQD_QP, STATE_BIT(MLX4_QP_SQD), MLX4_QP_SQD},
	{MLX4_CMD_SQD2RTS_QP, STATE_BIT(MLX4_QP_SQD), MLX4_QP_RTS},
};

static const struct transition *
transition_find(uint16_t opcode)
{
	for (unsigned int i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++)
		if (transitions[i].opcode == opcode)
			return &transitions[i];
	return NULL;
}

static uint8_t
qp_index(struct tp_model *m, uint32_t qpn)
{
	if (qpn > MLX4_QPN_MASK)
		return tpm_fail(m, BAD_INDEX, CMD_INDEX, "QP", qpn, "wanted at most 0x%x", MLX4_QPN_MASK);
	return tpm_index_check(m, "QP", tpm_qp_place(m, qpn), m->lg_qps, 1u << TPM_LG_RSVD_QPS);
}

/* --- life of a QP --- */

void
tpm_qp_free(struct tp_model *m, struct tpm_qp *qp)
{
	tpm_qp_forget(m, qp);
	tpm_sched_qp_gone(m, qp);
	tpm_rxbuf_forget(m, qp);
	tpm_roce_free(m, qp);
	qp->scq->refs--;
	qp->rcq->refs--;
	if (qp->srq != NULL)
		qp->srq->refs--;
	m->qp[tpm_qp_place(m, qp->qpn)] = NULL;
	m->st.qps--;
	tpm_uar_put(m, qp->uar);
	tpm_ring_fini(&qp->ring);
	tpm_rss_unload(qp);
	free(qp);
}

static struct tpm_qp *
qp_alloc(uint32_t qpn, const uint8_t *ctx)
{
	struct tpm_qp *qp = aligned_alloc(64, (sizeof(*qp) + 63) & ~(size_t)63);

	if (qp == NULL)
		return NULL;
	memset(qp, 0, sizeof(*qp));
	qp->qpn = qpn;
	tpm_qpc_apply(qp->ctx, ctx, MLX4_CMD_RST2INIT_QP, 0);
	return qp;
}

static uint8_t
qp_ring(struct tp_model *m, struct tpm_qp *qp)
{
	uint32_t sq_off, rq_off, bytes = tpm_qpc_layout(qp->ctx, &sq_off, &rq_off);

	if (tpm_ring_init(m, &qp->ring, tpm_mtt_offset(qp->ctx, MLX4_QPC_MTT_H, MLX4_QPC_MTT_L),
			  (uint8_t)(prm_get(qp->ctx, MLX4_QPC_LG_PAGE) + TPM_LG_PAGE),
			  prm_get(qp->ctx, MLX4_QPC_PAGE_OFFSET) * MLX4_TXBB_SIZE, bytes) != 0)
		return MLX4_STAT_INTERNAL_ERR;
	if (bytes != 0 && tpm_ring_resolve(m, &qp->ring, "QP", qp->qpn) != 0)
		return MLX4_STAT_ICM_ERROR;
	return MLX4_STAT_OK;
}

/* Entries of a QP besides its context: all tables that are indexed by QPN must reach it. */
static uint8_t *
qp_icm(struct tp_model *m, uint32_t qpn)
{
	const struct {
		const char *name;
		uint64_t base;
		uint32_t entry;
	} more[] = {
		{"ALTC entry of QP", m->ctl->altc_base, TPM_ALTC_ENTRY},
		{"AUXC entry of QP", m->ctl->auxc_base, TPM_AUXC_ENTRY},
	};
	uint32_t place = tpm_qp_place(m, qpn);

	for (unsigned int i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		uint64_t addr = more[i].base + (uint64_t)place * more[i].entry;

		if (tpm_icm_probe(m, addr, more[i].entry) == NULL) {
			tpm_violate(m, TPM_V_ICM_UNMAPPED, more[i].name, qpn, "ICM address 0x%" PRIx64 " is not mapped",
				    addr);
			return NULL;
		}
	}
	return tpm_ctx_at(m, m->qpc_base, TPM_QPC_ENTRY, MLX4_CMPT_QP, "QP", place);
}

static void
qp_save(const struct tpm_qp *qp, uint8_t *ctx)
{
	memset(ctx, 0, TPM_QPC_ENTRY);
	memcpy(ctx, qp->ctx, MLX4_QPC_SIZE);
	prm_set(ctx, MLX4_QPC_STATE, qp->state);
	prm_set(ctx, MLX4_QPC_RQ_WQE_COUNTER, qp->rq_head);
	prm_set(ctx, MLX4_QPC_SQ_WQE_COUNTER, qp->sq_head);
	if (qp->roce != NULL)
		tpm_roce_save(qp, ctx);
}

static uint8_t
qp_create(struct tp_model *m, uint32_t qpn, const uint8_t *in)
{
	uint32_t place = tpm_qp_place(m, qpn);
	uint8_t *icm = qp_icm(m, qpn), st;
	struct tpm_qp *qp;

	if (icm == NULL)
		return MLX4_STAT_ICM_ERROR;
	if (m->qp[place] != NULL)
		return tpm_fail(m, BAD_RES_STATE, CMD_RES_STATE, "QP", qpn, "its place 0x%x is that of QP 0x%x", place,
				m->qp[place]->qpn);
	if (place != qpn)
		tpm_violate(m, TPM_V_QP_NUMBER, "QP", qpn, "its place is 0x%x, wanted a number below 0x%x", place,
			    1u << m->lg_qps);
	qp = qp_alloc(qpn, in);
	if (qp == NULL)
		return MLX4_STAT_INTERNAL_ERR;
	st = tpm_qpc_check(m, qp);
	if (st == MLX4_STAT_OK)
		st = tpm_qp_rate_check(m, qpn, qp->ctx);
	if (st == MLX4_STAT_OK)
		st = tpm_delay_check(m, qpn, qp->ctx);
	if (st == MLX4_STAT_OK)
		st = qp_ring(m, qp);
	if (st != MLX4_STAT_OK) {
		tpm_ring_fini(&qp->ring);
		tpm_rss_unload(qp);
		free(qp);
		return st;
	}
	tpm_qpc_load(m, qp);
	qp->scq = m->cq[prm_get(qp->ctx, MLX4_QPC_CQN_SEND)];
	qp->rcq = m->cq[prm_get(qp->ctx, MLX4_QPC_CQN_RECV)];
	qp->scq->refs++;
	qp->rcq->refs++;
	if (prm_get(qp->ctx, MLX4_QPC_SRQ_VALID) != 0) {
		qp->srq = m->srq[prm_get(qp->ctx, MLX4_QPC_SRQN)];
		qp->srq->refs++;
	}
	tpm_uar_get(m, qp->uar);
	if (qp->has_sq)
		tpm_uar_sends(m, qp->uar);
	qp->state = MLX4_QP_INIT;
	m->qp[place] = qp;
	m->st.qps++;
	tpm_sched_qp(m, qp);
	qp_save(qp, icm);
	return MLX4_STAT_OK;
}

/* --- transitions --- */

/* An RSS parent's rings: aligned to the table, in the QP table, and there. */
static uint8_t
rss_check(struct tp_model *m, const struct tpm_qp *qp)
{
	uint32_t n, udp = qp->rss.base_qpn_udp, last;

	if (qp->rss.lg_rings > TPM_LG_MAX_RSS)
		return tpm_fail(m, EXCEED_LIM, RSS_RANGE, "QP", qp->qpn, "lg rings is %u, wanted at most %u",
				qp->rss.lg_rings, TPM_LG_MAX_RSS);
	n = 1u << qp->rss.lg_rings;
	last = qp->rss.base_qpn + n - 1;
	if (qp->rss.base_qpn % n != 0 || last >= 1u << m->lg_qps)
		return tpm_fail(m, BAD_PARAM, RSS_RANGE, "QP", qp->qpn,
				"base QP 0x%x, wanted a multiple of %u below 0x%x", qp->rss.base_qpn, n,
				1u << m->lg_qps);
	for (uint32_t i = qp->rss.base_qpn; i <= last; i++)
		if (tpm_qp_get(m, i) == NULL)
			return tpm_fail(m, BAD_PARAM, RSS_RANGE, "QP", qp->qpn,
					"ring QP 0x%x of 0x%x..0x%x does not exist", i, qp->rss.base_qpn, last);
	if (udp >= 1u << m->lg_qps || qp->rss.default_qpn >= 1u << m->lg_qps)
		return tpm_fail(m, BAD_PARAM, RSS_RANGE, "QP", qp->qpn,
				"UDP base 0x%x, default 0x%x, wanted below 0x%x", udp, qp->rss.default_qpn,
				1u << m->lg_qps);
	return MLX4_STAT_OK;
}

static uint8_t
path_check(struct tp_model *m, const struct tpm_qp *qp)
{
	if (qp->port > m->cfg.num_ports)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "QP", qp->qpn, "schedule queue names port %u of %u", qp->port,
				m->cfg.num_ports);
	if (qp->eth && prm_get(qp->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_LINK_ETH) == 0)
		tpm_violate(m, TPM_V_PATH_LINK, "QP", qp->qpn,
			    "the MTU is that of raw Ethernet, the path's link is not");
	return qp->is_rss ? rss_check(m, qp) : MLX4_STAT_OK;
}

/* What is in the mailbox of these, if there is one, is not looked at. */
static bool
no_context(uint16_t opcode)
{
	return opcode == MLX4_CMD_2ERR_QP || opcode == MLX4_CMD_RTS2SQD_QP;
}

#define LAST_WORK 128u /* packets, WQEs */

static uint8_t
qp_move(struct tp_model *m, struct tpm_qp *qp, const struct transition *t, struct tpm_cmd *c)
{
	uint8_t old[MLX4_QPC_SIZE], *icm = qp_icm(m, qp->qpn), st;

	if (icm == NULL)
		return MLX4_STAT_ICM_ERROR;
	if (no_context(t->opcode)) {
		if (tpm_quirk(m, MLX4_QUIRK_ERR_MBOX) != 0 && !tpm_cmd_need_in(m, c))
			return MLX4_STAT_BAD_PARAM;
	} else if (c->in != NULL) {
		memcpy(old, qp->ctx, sizeof(old));
		tpm_qpc_apply(qp->ctx, c->in + MLX4_QP_MBOX_CTX, t->opcode, prm_get(c->in, MLX4_QP_MBOX_OPTPAR));
		tpm_qpc_load(m, qp);
		st = t->opcode == MLX4_CMD_INIT2RTR_QP ? path_check(m, qp) : (uint8_t)MLX4_STAT_OK;
		if (st != MLX4_STAT_OK) {
			memcpy(qp->ctx, old, sizeof(old));
			tpm_qpc_load(m, qp);
			return st;
		}
		tpm_sched_qp(m, qp);
	}
	if (t->to == MLX4_QP_ERR) {
		tpm_roce_answer(m, qp, LAST_WORK);
		tpm_qp_to_error(m, qp);
	} else if (tpm_roce_state(m, qp, t->to) != 0) {
		return MLX4_STAT_INTERNAL_ERR;
	}
	qp->state = t->to;
	if (t->opcode == MLX4_CMD_SQD2RTS_QP)
		tpm_sq_resume(m, qp);
	if (t->opcode == MLX4_CMD_RTS2SQD_QP && (c->in_modifier & SQD_NOTIFY) != 0)
		tpm_roce_drained(m, qp);
	qp_save(qp, icm);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_qp_modify(struct tp_model *m, struct tpm_cmd *c)
{
	const struct transition *t = transition_find(c->opcode);
	uint32_t qpn = c->opcode == MLX4_CMD_RTS2SQD_QP ? c->in_modifier & ~SQD_NOTIFY : c->in_modifier;
	uint8_t st = qp_index(m, qpn), now;
	struct tpm_qp *qp;

	if (st != MLX4_STAT_OK)
		return st;
	qp = tpm_qp_get(m, qpn);
	now = qp == NULL ? (uint8_t)MLX4_QP_RST : qp->state;
	if ((t->from & STATE_BIT(now)) == 0)
		return tpm_fail(m, BAD_QP_STATE, CMD_QP_STATE, "QP", qpn,
				"command 0x%x in state %u, wanted one of the states 0x%x", c->opcode, now, t->from);
	if (now == MLX4_QP_RST)
		return qp_create(m, qpn, c->in + MLX4_QP_MBOX_CTX);
	return qp_move(m, qp, t, c);
}

/*
 * Doorbells that were rung before the command arrived before it, and a card is done with datagrams and the first requests of
 * a connection in less time than a command takes: programs rely on that. A port with a scheduler keeps its order and rates. What was
 * received is acknowledged: who saw its completion may end the queue pair, and the peer would ask until it gives up.
 */
static void
last_work(struct tp_model *m, struct tpm_qp *qp)
{
	struct tpm_port *p = &m->port[qp->port - 1];

	tpm_roce_answer(m, qp, LAST_WORK);
	if (qp->roce == NULL || qp->pending == NULL)
		return;
	if (p->tx_managed)
		(void)tpm_sched_run(m, p, LAST_WORK);
	else
		(void)tpm_sq_run(m, qp, LAST_WORK);
}

uint8_t
tpm_cmd_qp_2rst(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t qpn = c->in_modifier;
	uint8_t st = qp_index(m, qpn), *icm;
	struct tpm_qp *qp = tpm_qp_get(m, qpn);

	/* Every op_modifier is taken, or one: sources disagree on what it says [U]. A QP in reset stays there. */
	if (st == MLX4_STAT_OK && tpm_quirk(m, MLX4_QUIRK_QP_TO_RESET) != 0 &&
	    c->op_modifier != MLX4_2RST_ANY_NO_OUTBOX)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "QP", qpn, "op_modifier %u, wanted %u", c->op_modifier,
				MLX4_2RST_ANY_NO_OUTBOX);
	if (st != MLX4_STAT_OK || qp == NULL)
		return st;
	last_work(m, qp);
	icm = tpm_icm_probe(m, m->qpc_base + (uint64_t)tpm_qp_place(m, qpn) * TPM_QPC_ENTRY, TPM_QPC_ENTRY);
	if (icm != NULL)
		memset(icm, 0, TPM_QPC_ENTRY);
	tpm_qp_free(m, qp);
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_query_qp(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t qpn = c->in_modifier;
	uint8_t st = qp_index(m, qpn), *icm;
	struct tpm_qp *qp = tpm_qp_get(m, qpn);

	if (st != MLX4_STAT_OK)
		return st;
	memset(c->out, 0, MLX4_QP_MBOX_CTX + TPM_QPC_ENTRY);
	if (qp == NULL)
		return MLX4_STAT_OK; /* in reset: all zero */
	icm = qp_icm(m, qpn);
	if (icm == NULL)
		return MLX4_STAT_ICM_ERROR;
	qp_save(qp, icm);
	memcpy(c->out + MLX4_QP_MBOX_CTX, icm, MLX4_QPC_SIZE);
	return MLX4_STAT_OK;
}

/* --- changes without a transition --- */

#define UPDATE_QP_MASKS (MLX4_UPDATE_QP_VSD | MLX4_UPDATE_QP_RATE | MLX4_UPDATE_QP_DELAY_DROP)
#define UPDATE_PATH_MASKS                                                                                              \
	(MLX4_UPDATE_PATH_MAC_INDEX | MLX4_UPDATE_PATH_SCHED_QUEUE | MLX4_UPDATE_PATH_COUNTER |                        \
	 MLX4_UPDATE_PATH_UC_LB | MLX4_UPDATE_PATH_MC_LB)

uint8_t
tpm_cmd_update_qp(struct tp_model *m, struct tpm_cmd *c)
{
	uint64_t mask = prm_get64(c->in, MLX4_UPDATE_QP_MASK), path_mask = prm_get64(c->in, MLX4_UPDATE_QP_PRI_MASK);
	const uint8_t *src = c->in + MLX4_UPDATE_QP_CTX, *src_path = src + MLX4_QPC_PRI_PATH;
	static const struct update_field {
		uint64_t bit;
		uint32_t field;
	} qp_fields[] =
		{
			{MLX4_UPDATE_QP_VSD, MLX4_QPC_VLAN_KEEP},
			{MLX4_UPDATE_QP_RATE, MLX4_QPC_RATE_UNIT},
			{MLX4_UPDATE_QP_RATE, MLX4_QPC_RATE_VALUE},
			{MLX4_UPDATE_QP_DELAY_DROP, MLX4_QPC_DELAY_DROP},
		},
	  path_fields[] = {
		  {MLX4_UPDATE_PATH_MAC_INDEX, MLX4_PATH_SMAC_INDEX},
		  {MLX4_UPDATE_PATH_SCHED_QUEUE, MLX4_PATH_SCHED_QUEUE},
		  {MLX4_UPDATE_PATH_COUNTER, MLX4_PATH_COUNTER},
		  {MLX4_UPDATE_PATH_UC_LB, MLX4_PATH_F_UC_LB_CHECK},
		  {MLX4_UPDATE_PATH_MC_LB, MLX4_PATH_F_MC_LB_CHECK},
		  {MLX4_UPDATE_PATH_UC_LB, MLX4_PATH_LB_BY_COUNTER},
		  {MLX4_UPDATE_PATH_MC_LB, MLX4_PATH_LB_BY_COUNTER},
	  };
	uint32_t qpn = c->in_modifier;
	uint8_t st = qp_index(m, qpn);
	struct tpm_qp *qp;

	if (st != MLX4_STAT_OK)
		return st;
	qp = tpm_qp_get(m, qpn);
	if (qp == NULL)
		return tpm_fail(m, BAD_QP_STATE, CMD_QP_STATE, "QP", qpn, "UPDATE_QP in reset, wanted a live QP");
	if ((mask & ~UPDATE_QP_MASKS) != 0 || (path_mask & ~UPDATE_PATH_MASKS) != 0)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "QP", qpn,
				"masks 0x%" PRIx64 " 0x%" PRIx64 ", offered 0x%" PRIx64 " 0x%" PRIx64, mask, path_mask,
				UPDATE_QP_MASKS, UPDATE_PATH_MASKS);
	if ((mask & MLX4_UPDATE_QP_RATE) != 0)
		st = tpm_qp_rate_check(m, qpn, src);
	if (st == MLX4_STAT_OK && (mask & MLX4_UPDATE_QP_DELAY_DROP) != 0)
		st = tpm_delay_check(m, qpn, src);
	if (st != MLX4_STAT_OK)
		return st;
	for (unsigned int i = 0; i < sizeof(qp_fields) / sizeof(qp_fields[0]); i++)
		if ((mask & qp_fields[i].bit) != 0)
			prm_set(qp->ctx, qp_fields[i].field, prm_get(src, qp_fields[i].field));
	for (unsigned int i = 0; i < sizeof(path_fields) / sizeof(path_fields[0]); i++)
		if ((path_mask & path_fields[i].bit) != 0)
			prm_set(qp->ctx + MLX4_QPC_PRI_PATH, path_fields[i].field,
				prm_get(src_path, path_fields[i].field));
	tpm_qpc_load(m, qp);
	tpm_sched_qp(m, qp);
	if ((mask & MLX4_UPDATE_QP_DELAY_DROP) != 0)
		qp->delay_runs = false;
	return MLX4_STAT_OK;
}

uint8_t
tpm_cmd_conf_special_qp(struct tp_model *m, struct tpm_cmd *c)
{
	uint32_t base = c->in_modifier;

	if (tpm_quirk(m, MLX4_QUIRK_SPECIAL_QPS) != 0 && c->op_modifier != 1)
		return tpm_fail(m, BAD_PARAM, CMD_PARAM, "QP", base, "op_modifier %u, wanted 1", c->op_modifier);
	if (base != 0 &&
	    (base % SPECIAL_QPS != 0 || base < 1u << TPM_LG_RSVD_QPS || base + SPECIAL_QPS > 1u << m->lg_qps))
		return tpm_fail(m, BAD_INDEX, CMD_INDEX, "QP", base,
				"special QPs start at a multiple of %u in 0x%x..0x%x", SPECIAL_QPS,
				1u << TPM_LG_RSVD_QPS, (1u << m->lg_qps) - SPECIAL_QPS);
	m->special_qp_base = base;
	return MLX4_STAT_OK;
}
