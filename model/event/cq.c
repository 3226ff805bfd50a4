/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Completion queues at run time: room, arming, moderation [DP 2.4, 6.5, 6.6]. */
#include "event.h"

#define ARM_HI_RSVD 0xc8000000u
#define ARM_LO_RSVD (~MLX4_CQ_CI_MASK)

/* Host address of the doorbell record, looked up again when translations changed. */
static const rte_be32_t *
cq_dbrec(struct tp_model *m, struct tpm_cq *cq)
{
	if (cq->dbrec == NULL || cq->dbrec_gen != m->tpt_gen) {
		cq->dbrec = (rte_be32_t *)tpm_dma(m, cq->dbrec_addr, 8, TP_DMA_READ, "CQ doorbell record");
		cq->dbrec_gen = m->tpt_gen;
	}
	return cq->dbrec;
}

void
tpm_cq_read_ci(struct tp_model *m, struct tpm_cq *cq)
{
	const rte_be32_t *rec = cq_dbrec(m, cq);
	uint32_t found, step;

	if (rec == NULL)
		return;
	found = rte_be_to_cpu_32(__atomic_load_n(rec, __ATOMIC_ACQUIRE));
	step = (found - cq->ci) & MLX4_CQ_CI_MASK;
	if (step > cq->pi - cq->ci || (found & ~MLX4_CQ_CI_MASK) != 0) {
		tpm_violate(m, TPM_V_DBREC_CQ, "CQ", cq->cqn,
			    "consumer index 0x%x in the doorbell record, wanted 0x%x..0x%x", found,
			    cq->ci & MLX4_CQ_CI_MASK, cq->pi & MLX4_CQ_CI_MASK);
		return;
	}
	cq->ci += step;
}

/* The CQ is lost, and with it the queues that complete to it. */
static void
cq_fail(struct tp_model *m, struct tpm_cq *cq, uint8_t status, uint8_t syndrome)
{
	cq->status = status;
	tpm_event_cq_error(m, cq->cqn, syndrome);
	for (uint32_t i = 0; i < 1u << m->lg_qps; i++) {
		struct tpm_qp *qp = m->qp[i];

		if (qp == NULL || (qp->scq != cq && qp->rcq != cq) || qp->state < MLX4_QP_INIT ||
		    qp->state == MLX4_QP_ERR)
			continue;
		qp->ops->flush(m, qp);
		tpm_event_qp(m, MLX4_EVENT_WQ_CATAS, qp->qpn);
	}
}

bool
tpm_cq_room(struct tp_model *m, struct tpm_cq *cq)
{
	if (cq->status != MLX4_CTX_STATUS_OK)
		return false;
	if (cq->ring.gen != m->tpt_gen)
		tpm_ring_resolve(m, &cq->ring, "CQ", cq->cqn);
	if (!cq->ring.valid) {
		cq_fail(m, cq, MLX4_CTX_STATUS_WRITE_FAIL, MLX4_CQ_ERR_ACCESS);
		return false;
	}
	if (cq->pi - cq->ci <= cq->mask)
		return true;
	/* A collapsed or overwriting CQ never counts its entries. */
	if (cq->oi || cq->cc) {
		cq->ci = cq->pi - cq->mask;
		return true;
	}
	tpm_cq_read_ci(m, cq);
	if (cq->pi - cq->ci <= cq->mask)
		return true;
	tpm_violate(m, TPM_V_CQ_OVERRUN, "CQ", cq->cqn, "%u entries, consumer index 0x%x, producer index 0x%x: no room",
		    cq->mask + 1, cq->ci & MLX4_CQ_CI_MASK, cq->pi & MLX4_CQ_CI_MASK);
	cq_fail(m, cq, MLX4_CTX_STATUS_OVERFLOW, MLX4_CQ_ERR_OVERRUN);
	return false;
}

bool
tpm_cqe_error(struct tp_model *m, struct tpm_cq *cq, uint32_t qpn, uint16_t index, uint8_t syndrome, bool send)
{
	struct mlx4_cqe *cqe = cq != NULL ? tpm_cqe_next(m, cq) : NULL;
	struct mlx4_err_cqe *e = (struct mlx4_err_cqe *)cqe;

	if (e == NULL)
		return false;
	e->my_qpn = rte_cpu_to_be_32(qpn);
	memset(e->rsvd1, 0, sizeof(e->rsvd1));
	e->wqe_index = rte_cpu_to_be_16(index);
	e->vendor_syndrome = 0;
	e->syndrome = syndrome;
	memset(e->rsvd2, 0, sizeof(e->rsvd2));
	tpm_cqe_commit(cq, cqe, MLX4_CQE_ERROR | (send ? MLX4_CQE_IS_SEND : 0));
	return true;
}

/* The high part is that of before when the low one has just wrapped to 0. */
void
tpm_cqe_stamp(struct tp_model *m, struct mlx4_cqe *cqe)
{
	uint64_t now = tpm_clock_cycles(m), high = (now & 0xffff) == 0 ? (now >> 16) - 1 : now >> 16;
	uint8_t *e = (uint8_t *)cqe;

	prm_set(e, MLX4_CQE_STAMP_H, (uint32_t)high);
	prm_set(e, MLX4_CQE_STAMP_LH, (now >> 8) & 0xff);
	prm_set(e, MLX4_CQE_STAMP_LL, now & 0xff);
}

static void
cq_fire(struct tp_model *m, struct tpm_cq *cq)
{
	uint8_t eqe[MLX4_EQE_SIZE] = {0};
	struct tpm_eq *eq = m->eq != NULL && cq->eqn < 1u << m->lg_eqs ? m->eq[cq->eqn] : NULL;

	cq->arm = MLX4_CQ_STATE_FIRED;
	cq->arm_sn = cq->arm_sn_asked;
	cq->last_notified = cq->pi;
	cq->pending = 0;
	if (eq == NULL)
		return;
	prm_set(eqe, MLX4_EQE_TYPE, MLX4_EVENT_COMP);
	prm_set(eqe, MLX4_EQE_CQN, cq->cqn);
	tpm_eqe_write(m, eq, eqe);
}

void
tpm_cq_notify(struct tp_model *m, struct tpm_cq *cq, bool solicited)
{
	uint32_t fresh;

	if (solicited)
		cq->solicited_pi = cq->pi;
	if (cq->arm != MLX4_CQ_STATE_ARMED && (cq->arm != MLX4_CQ_STATE_ARMED_SOLICITED || !solicited))
		return;
	fresh = cq->pi - cq->armed_ci;
	/* Whichever comes first; a period of 0 is over at once, whatever the count: Linux relies on it at low rates. */
	if (cq->mod_period_us == 0 || (cq->mod_count != 0 && fresh >= cq->mod_count)) {
		cq_fire(m, cq);
		return;
	}
	if (cq->pending == 0) {
		if (m->num_timers == TPM_MAX_TIMERS) {
			cq_fire(m, cq);
			return;
		}
		m->timer_cqn[m->num_timers++] = cq->cqn;
		cq->pending_since_ns = tpm_now(m);
	}
	cq->pending = (uint16_t)(fresh > UINT16_MAX ? UINT16_MAX : fresh);
}

/* Timers are kept by number: a CQ that was destroyed meanwhile is no longer there, or has nothing pending. */
void
tpm_cq_timers(struct tp_model *m)
{
	uint32_t keep = 0;

	for (uint32_t i = 0; i < m->num_timers; i++) {
		uint32_t cqn = m->timer_cqn[i];
		struct tpm_cq *cq = m->cq != NULL && cqn < 1u << m->lg_cqs ? m->cq[cqn] : NULL;

		if (cq == NULL || cq->pending == 0)
			continue;
		if (tpm_now(m) - cq->pending_since_ns < (uint64_t)cq->mod_period_us * 1000)
			m->timer_cqn[keep++] = cqn;
		else if (cq->arm == MLX4_CQ_STATE_ARMED || cq->arm == MLX4_CQ_STATE_ARMED_SOLICITED)
			cq_fire(m, cq);
		else
			cq->pending = 0;
	}
	m->num_timers = keep;
}

/* Where the 24-bit index that software gave lies in the running count; false when it is not one it can have seen. */
static bool
cq_extend(const struct tpm_cq *cq, uint32_t ci24, uint32_t *ci)
{
	uint32_t behind = (cq->pi - ci24) & MLX4_CQ_CI_MASK;

	*ci = cq->pi - behind;
	return behind <= cq->mask + 1;
}

void
tpm_cq_left(struct tp_model *m, const struct tpm_cq *cq)
{
	if (tpm_eq_tells_of_cq(m, cq->eqn, cq->cqn))
		m->cq_left[m->num_cqs_left++ % TPM_CQS_LEFT] = cq->cqn;
}

bool
tpm_cq_has_left(struct tp_model *m, uint32_t cqn)
{
	for (unsigned int i = 0; cqn != 0 && i < TPM_CQS_LEFT; i++) {
		if (m->cq_left[i] != cqn)
			continue;
		m->cq_left[i] = 0;
		return true;
	}
	return false;
}

void
tpm_cq_doorbell(struct tp_model *m, uint32_t page, uint32_t hi, uint32_t lo)
{
	uint32_t cqn = hi & MLX4_CQN_MASK, cmd = hi >> MLX4_CQ_ARM_CMD_SHIFT & MLX4_CQ_ARM_CMD_MASK, ci;
	struct tpm_cq *cq = m->cq != NULL && cqn < 1u << m->lg_cqs ? m->cq[cqn] : NULL;
	uint8_t sn = (uint8_t)(hi >> MLX4_CQ_ARM_SN_SHIFT & MLX4_CQ_ARM_SN_MASK);

	m->st.doorbells++;
	if (cq == NULL) {
		if (tpm_cq_has_left(m, cqn))
			return;
		tpm_violate(m, TPM_V_DB_CQN, "CQ", cqn, "armed on UAR page %u: no such CQ in hardware", page);
		return;
	}
	if (page != cq->uar) {
		tpm_violate(m, TPM_V_DB_PAGE, "CQ", cqn, "armed on UAR page %u, its context names %u", page, cq->uar);
		return;
	}
	if ((hi & ARM_HI_RSVD) != 0 || (lo & ARM_LO_RSVD) != 0 || cmd == 0 || cmd > MLX4_CQ_ARM_NCOMP) {
		tpm_violate(m, TPM_V_DB_RSVD, "CQ", cqn,
			    "arm doorbell 0x%08x 0x%08x: command %u, wanted 1..3, reserved bits 0", hi, lo, cmd);
		return;
	}
	if (!cq_extend(cq, lo, &ci)) {
		tpm_violate(m, TPM_V_DBREC_CQ, "CQ", cqn, "armed at consumer index 0x%x, wanted 0x%x..0x%x", lo,
			    (cq->pi - cq->mask - 1) & MLX4_CQ_CI_MASK, cq->pi & MLX4_CQ_CI_MASK);
		return;
	}
	/* Answered already: software repeats itself. */
	if (sn == cq->arm_sn)
		return;
	cq->arm_sn_asked = sn;
	cq->armed_ci = ci;
	cq->pending = 0;
	if (cmd == MLX4_CQ_ARM_SOLICITED) {
		cq->arm = MLX4_CQ_STATE_ARMED_SOLICITED;
		if ((int32_t)(cq->solicited_pi - ci) > 0)
			cq_fire(m, cq);
		return;
	}
	cq->arm = MLX4_CQ_STATE_ARMED;
	/* What came before the arming and is not taken counts as what comes after it [U]. */
	if (cq->pi != ci)
		tpm_cq_notify(m, cq, false);
}
