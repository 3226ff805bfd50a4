/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Event queues and completion queues: what the card tells software. */
#ifndef MODEL_EVENT_EVENT_H
#define MODEL_EVENT_EVENT_H

#include <assert.h>

#include "model/mem/mem.h"

/* --- events (eq.c) ---------------------------------------------------------------------------------------- */

/* Takes the doorbell in a polled word of a UAR page; 0: none was rung. */
static inline uint32_t
tpm_db_take(uint8_t *at)
{
	uint32_t *w = (uint32_t *)(void *)at;

	if (__atomic_load_n(w, __ATOMIC_RELAXED) == 0)
		return 0;
	return rte_be_to_cpu_32(__atomic_exchange_n(w, 0, __ATOMIC_ACQ_REL));
}

/* Was any of an event queue rung in this UAR page? They share a line, and mostly none was. */
static inline bool
tpm_uar_eqs_rung(const uint8_t *page)
{
	const uint64_t *w = (const uint64_t *)(const void *)(page + MLX4_UAR_EQ_DB);

	static_assert(MLX4_EQS_PER_UAR == 4, "one word for each");
	return (__atomic_load_n(&w[0], __ATOMIC_RELAXED) | __atomic_load_n(&w[1], __ATOMIC_RELAXED) |
		__atomic_load_n(&w[2], __ATOMIC_RELAXED) | __atomic_load_n(&w[3], __ATOMIC_RELAXED)) != 0;
}
/* Doorbells of the event queues of one UAR page. */
unsigned int tpm_uar_poll_eqs(struct tp_model *m, uint32_t page);
/* Writes an EQE (owner set by this function) and fires the vector if the EQ is armed. */
void tpm_eqe_write(struct tp_model *m, struct tpm_eq *eq, const uint8_t eqe[MLX4_EQE_SIZE]);
/* To the EQ that MAP_EQ gave the type; dropped when none has it. */
void tpm_event(struct tp_model *m, uint8_t type, const uint8_t eqe[MLX4_EQE_SIZE]);
void tpm_event_qp(struct tp_model *m, uint8_t type, uint32_t qpn);
void tpm_event_srq(struct tp_model *m, uint8_t type, uint32_t srqn);
void tpm_event_cq_error(struct tp_model *m, uint32_t cqn, uint8_t syndrome);
void tpm_event_port(struct tp_model *m, unsigned int port, uint8_t subtype);
void tpm_eq_doorbell(struct tp_model *m, uint32_t eqn, uint32_t val);

/* --- completions (cq.c) ----------------------------------------------------------------------------------- */

/* Arm doorbell: hi/lo are the two dwords as numbers; page is the UAR page that was written. */
void tpm_cq_doorbell(struct tp_model *m, uint32_t page, uint32_t hi, uint32_t lo);
/* Slow part of a completion: overrun, wrap of the cached consumer index. False: no room, the CQ is in error. */
bool tpm_cq_room(struct tp_model *m, struct tpm_cq *cq);
/* After one or more CQEs: event and moderation. */
void tpm_cq_notify(struct tp_model *m, struct tpm_cq *cq, bool solicited);
void tpm_cq_timers(struct tp_model *m);

/* Takes in the consumer index that software published. */
void tpm_cq_read_ci(struct tp_model *m, struct tpm_cq *cq);

/* The slot of the next CQE, or NULL when the CQ is full or unreachable. */
static inline struct mlx4_cqe *
tpm_cqe_next(struct tp_model *m, struct tpm_cq *cq)
{
	if (tpm_unlikely(cq->pi - cq->ci > cq->mask || cq->ring.gen != m->tpt_gen) && !tpm_cq_room(m, cq))
		return NULL;
	return (struct mlx4_cqe *)(tpm_ring_at(&cq->ring, (cq->pi & cq->mask) << cq->lg_stride) + cq->cqe_off);
}

/* Hands the CQE to software: everything else must be written before. op: opcode and MLX4_CQE_IS_SEND. */
static inline void
tpm_cqe_commit(struct tpm_cq *cq, struct mlx4_cqe *cqe, uint8_t op)
{
	uint8_t owner = (cq->pi & (cq->mask + 1)) != 0 ? MLX4_CQE_OWNER : 0;

	__atomic_store_n(&cqe->owner_sr_opcode, (uint8_t)(op | owner), __ATOMIC_RELEASE);
	cq->pi++;
}

/* The time goes into an entry of an Ethernet queue pair, over its VLAN and its reserved bytes [DP 6.2]. */
void tpm_cqe_stamp(struct tp_model *m, struct mlx4_cqe *cqe);

/* Writes an error CQE. False when the CQ takes none. */
bool tpm_cqe_error(struct tp_model *m, struct tpm_cq *cq, uint32_t qpn, uint16_t index, uint8_t syndrome, bool send);

void tpm_eq_free(struct tp_model *m, struct tpm_eq *eq);
/*
 * Marks a CQ that software takes back while it handles an event of it. Its handler may arm the CQ once more before it
 * tells the EQ, as Linux's does when the interface goes down. A card drops that doorbell.
 */
void tpm_cq_left(struct tp_model *m, const struct tpm_cq *cq);
/* Returns and clears the mark that tpm_cq_left() set. */
bool tpm_cq_has_left(struct tp_model *m, uint32_t cqn);
/* Is there a completion event of the CQ that software has not taken? */
bool tpm_eq_tells_of_cq(struct tp_model *m, uint32_t eqn, uint32_t cqn);
/* Fires the EQ when it is armed and holds events that software has not seen. */
void tpm_eq_check(struct tp_model *m, struct tpm_eq *eq);

/* Stops the card until the next reset, with an event and an entry in the error buffer. */
void tpm_die(struct tp_model *m, uint32_t syndrome, const char *why);

#endif /* MODEL_EVENT_EVENT_H */
