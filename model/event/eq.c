/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Event queues at run time: entries, doorbells, interrupts [CP 9]. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event.h"

#define PORT_FIELD_ABOVE 0xcu

#define EQ_DB_RSVD (~(MLX4_EQ_DB_ARM | MLX4_EQ_DB_CI_MASK))

static void
irq_fire(struct tp_model *m, uint16_t vector)
{
	static const uint64_t one = 1;

	m->st.interrupts++;
	if (vector >= MLX4_MSIX_VECTORS || m->irq_fd[vector] < 0)
		return;
	/* A full counter means that the interrupt is pending already. */
	if (write(m->irq_fd[vector], &one, sizeof(one)) < 0)
		tpm_note(m, "vector %u: the interrupt's eventfd took no signal", vector);
}

void
tpm_eq_check(struct tp_model *m, struct tpm_eq *eq)
{
	if (((eq->pi - eq->ci) & MLX4_EQ_DB_CI_MASK) == 0) {
		eq->loses = false;
		return;
	}
	if (eq->state == MLX4_EQ_STATE_ARMED)
		eq->state = MLX4_EQ_STATE_FIRED;
	else if (eq->state != MLX4_EQ_STATE_ALWAYS_ARMED)
		return;
	/* The queue may be armed for an event some time after it was written. */
	if (tpm_unlikely(eq->loses)) {
		tpm_note(m, "EQ %u: an interrupt was lost on request", eq->eqn);
		eq->loses = false;
		return;
	}
	irq_fire(m, eq->vector);
}

void
tpm_eqe_write(struct tp_model *m, struct tpm_eq *eq, const uint8_t eqe[MLX4_EQE_SIZE])
{
	uint32_t nent = 1u << eq->lg_size, used = (eq->pi - eq->ci) & MLX4_EQ_DB_CI_MASK;
	uint8_t *p;

	/* A card sees a doorbell at once; here it may wait in the page for the next poll. */
	if (used >= nent && tpm_uar_poll_eqs(m, eq->eqn / MLX4_EQS_PER_UAR) != 0)
		used = (eq->pi - eq->ci) & MLX4_EQ_DB_CI_MASK;

	if (eq->ring.gen != m->tpt_gen)
		tpm_ring_resolve(m, &eq->ring, "EQ", eq->eqn);
	if (!eq->ring.valid) {
		eq->status = MLX4_CTX_STATUS_WRITE_FAIL;
		return;
	}
	if (used >= nent && !eq->oi) {
		tpm_violate(m, TPM_V_EQ_OVERRUN, "EQ", eq->eqn,
			    "%u entries, consumer index %u, producer index %u: an event of "
			    "type 0x%x is lost",
			    nent, eq->ci, eq->pi & MLX4_EQ_DB_CI_MASK, prm_get(eqe, MLX4_EQE_TYPE));
		eq->status = MLX4_CTX_STATUS_OVERFLOW;
		return;
	}
	p = tpm_ring_at(&eq->ring, (eq->pi & (nent - 1)) << m->eqe_lg_stride) + m->eqe_off;
	memcpy(p, eqe, MLX4_EQE_SIZE - 1);
	/* The owner bit hands the entry over. */
	__atomic_store_n(&p[MLX4_EQE_SIZE - 1], (uint8_t)((eq->pi & nent) != 0 ? 0x80 : 0), __ATOMIC_RELEASE);
	eq->pi++;
	m->st.events++;
	if (tpm_unlikely(m->break_irq != 0) && prm_get(eqe, MLX4_EQE_TYPE) != MLX4_EVENT_CMD && --m->break_irq == 0)
		eq->loses = true;
	tpm_eq_check(m, eq);
}

bool
tpm_eq_tells_of_cq(struct tp_model *m, uint32_t eqn, uint32_t cqn)
{
	struct tpm_eq *eq = m->eq != NULL && eqn < 1u << m->lg_eqs ? m->eq[eqn] : NULL;
	uint32_t nent, used;

	if (eq == NULL)
		return false;
	if (eq->ring.gen != m->tpt_gen)
		tpm_ring_resolve(m, &eq->ring, "EQ", eqn);
	nent = 1u << eq->lg_size;
	used = (eq->pi - eq->ci) & MLX4_EQ_DB_CI_MASK;
	for (uint32_t i = 1; eq->ring.valid && i <= used && i <= nent; i++) {
		const uint8_t *e = tpm_ring_at(&eq->ring, ((eq->pi - i) & (nent - 1)) << m->eqe_lg_stride) + m->eqe_off;

		if (prm_get(e, MLX4_EQE_TYPE) == MLX4_EVENT_COMP && prm_get(e, MLX4_EQE_CQN) == cqn)
			return true;
	}
	return false;
}

void
tpm_event(struct tp_model *m, uint8_t type, const uint8_t eqe[MLX4_EQE_SIZE])
{
	uint32_t eqn = type < 64 ? m->event_eq[type] : TPM_EQ_NONE;

	if (m->eq == NULL || eqn == TPM_EQ_NONE || m->eq[eqn] == NULL)
		return;
	tpm_eqe_write(m, m->eq[eqn], eqe);
}

void
tpm_event_qp(struct tp_model *m, uint8_t type, uint32_t qpn)
{
	uint8_t eqe[MLX4_EQE_SIZE] = {0};

	prm_set(eqe, MLX4_EQE_TYPE, type);
	prm_set(eqe, MLX4_EQE_QPN, qpn);
	tpm_event(m, type, eqe);
}

void
tpm_event_srq(struct tp_model *m, uint8_t type, uint32_t srqn)
{
	uint8_t eqe[MLX4_EQE_SIZE] = {0};

	prm_set(eqe, MLX4_EQE_TYPE, type);
	prm_set(eqe, MLX4_EQE_SRQN, srqn);
	tpm_event(m, type, eqe);
}

void
tpm_event_cq_error(struct tp_model *m, uint32_t cqn, uint8_t syndrome)
{
	uint8_t eqe[MLX4_EQE_SIZE] = {0};

	prm_set(eqe, MLX4_EQE_TYPE, MLX4_EVENT_CQ_ERROR);
	prm_set(eqe, MLX4_EQE_CQN, cqn);
	prm_set(eqe, MLX4_EQE_CQ_SYNDROME, syndrome);
	tpm_event(m, MLX4_EVENT_CQ_ERROR, eqe);
}

void
tpm_event_port(struct tp_model *m, unsigned int port, uint8_t subtype)
{
	uint8_t eqe[MLX4_EQE_SIZE] = {0};

	prm_set(eqe, MLX4_EQE_TYPE, MLX4_EVENT_PORT_CHANGE);
	prm_set(eqe, MLX4_EQE_SUBTYPE, subtype);
	/* Bits above a narrow field mean something else. */
	prm_set(eqe, MLX4_EQE_PORT, tpm_quirk(m, MLX4_QUIRK_EVENT_PORT) == 0 ? port : PORT_FIELD_ABOVE | port);
	tpm_event(m, MLX4_EVENT_PORT_CHANGE, eqe);
}

void
tpm_die(struct tp_model *m, uint32_t syndrome, const char *why)
{
	uint8_t eqe[MLX4_EQE_SIZE] = {0};

	prm_set32(m->bar0_misc, MLX4_REG_CATAS_TYPICAL, syndrome);
	tpm_note(m, "catastrophic error 0x%x: %s", syndrome, why);
	prm_set(eqe, MLX4_EQE_TYPE, MLX4_EVENT_LOCAL_CATAS);
	tpm_event(m, MLX4_EVENT_LOCAL_CATAS, eqe);
	m->state = TPM_SYS_DEAD;
}

void
tpm_eq_doorbell(struct tp_model *m, uint32_t eqn, uint32_t val)
{
	struct tpm_eq *eq = m->eq != NULL && eqn < 1u << m->lg_eqs ? m->eq[eqn] : NULL;
	uint32_t ci = val & MLX4_EQ_DB_CI_MASK, step, max;

	if (eq == NULL) {
		tpm_violate(m, TPM_V_DB_EQN, "EQ", eqn, "doorbell 0x%x: no such EQ in hardware", val);
		return;
	}
	if ((val & EQ_DB_RSVD) != 0)
		tpm_violate(m, TPM_V_DB_RSVD, "EQ", eqn, "doorbell 0x%x: bits 30:24 are to be 0", val);
	step = (ci - eq->ci) & MLX4_EQ_DB_CI_MASK;
	max = (eq->pi - eq->ci) & MLX4_EQ_DB_CI_MASK;
	if (step > max) {
		tpm_violate(m, TPM_V_DB_EQ_CI, "EQ", eqn, "consumer index %u, wanted %u..%u", ci, eq->ci,
			    eq->pi & MLX4_EQ_DB_CI_MASK);
		return;
	}
	eq->ci = ci;
	if ((val & MLX4_EQ_DB_ARM) == 0)
		return;
	if (eq->state != MLX4_EQ_STATE_ALWAYS_ARMED)
		eq->state = MLX4_EQ_STATE_ARMED;
	tpm_eq_check(m, eq);
}

unsigned int
tpm_uar_poll_eqs(struct tp_model *m, uint32_t page)
{
	uint8_t *base = m->uar + (size_t)page * MLX4_UAR_PAGE_SIZE;
	unsigned int done = 0;
	uint32_t any = 0;

	/* They share a line, and mostly none was rung. */
	for (uint32_t k = 0; k < MLX4_EQS_PER_UAR; k++)
		any |= __atomic_load_n((const uint32_t *)(const void *)(base + MLX4_UAR_EQ_DB + 8 * k),
				       __ATOMIC_RELAXED);
	if (tpm_likely(any == 0))
		return 0;
	for (uint32_t k = 0; k < MLX4_EQS_PER_UAR; k++) {
		uint32_t v = tpm_db_take(base + MLX4_UAR_EQ_DB + 8 * k);

		if (v == 0)
			continue;
		tpm_eq_doorbell(m, page * MLX4_EQS_PER_UAR + k, v);
		done++;
	}
	return done;
}

void
tpm_eq_free(struct tp_model *m, struct tpm_eq *eq)
{
	for (unsigned int t = 0; t < 64; t++)
		if (m->event_eq[t] == eq->eqn)
			m->event_eq[t] = TPM_EQ_NONE;
	m->eq[eq->eqn] = NULL;
	m->st.eqs--;
	tpm_uar_put(m, eq->eqn / 4);
	tpm_ring_fini(&eq->ring);
	free(eq);
}
