/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Send and receive queues at run time, and the doorbells that move them. */
#ifndef MODEL_QUEUE_QUEUE_H
#define MODEL_QUEUE_QUEUE_H

#include "model/frame/alike.h"
#include "model/mem/mem.h"

/* --- doorbells (uar.c) ------------------------------------------------------------------------------------- */

/* Polls the doorbell words of the pages in use; how many were rung. */
unsigned int tpm_uar_poll(struct tp_model *m);

/* --- queue pairs at run time ------------------------------------------------------------------------------ */

/* Send doorbell for qpn written to UAR page. */
void tpm_sq_doorbell(struct tp_model *m, uint32_t page, uint32_t qpn);
/* BlueFlame copy of len bytes at page. */
void tpm_bf_doorbell(struct tp_model *m, uint32_t page, const uint8_t *wqe, uint32_t len);
/* Is the copy as the WQE in the ring, as far as it can be told? */
bool tpm_bf_whole(struct tp_model *m, const uint8_t *wqe, uint32_t len);
/* Executes up to budget WQEs; returns how many. */
unsigned int tpm_sq_run(struct tp_model *m, struct tpm_qp *qp, unsigned int budget);
/* To the error state: every outstanding WQE is completed with a flush error. */
void tpm_qp_to_error(struct tp_model *m, struct tpm_qp *qp);
/* Takes the QP out of the pending list (before reset or destruction). */
void tpm_qp_forget(struct tp_model *m, struct tpm_qp *qp);

/* Fetches a line to write it: without the plain prefetch's second trip for ownership. A no-op where unknown. */
static inline void
tpm_prefetchw(const void *p)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" : : "m"(*(const volatile char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/* --- receive (rq.c) --------------------------------------------------------------------------------------- */

/* Those plain frames of a burst that are for one QP, in their order. */
struct tpm_rx_run {
	struct tpm_qp *qp;
	uint32_t qpn;
	uint8_t n;              /* frames */
	uint8_t have, found;    /* that have a receive WQE; whose buffers are known */
	uint8_t at[TPM_BURST];  /* which of the burst */
} __attribute__((aligned(64))); /* its place by a shift */

/* A burst of plain frames by the QPs that get them. All frames have a place, also those that are in no run. */
struct tpm_rx_runs {
	unsigned int n;
	uint32_t max; /* no frame is longer */
	const struct tp_frame *f;
	const uint8_t *data[TPM_BURST]; /* where each begins */
	const struct tpm_alike *like[TPM_BURST];
	uint32_t hash[TPM_BURST];
	struct tpm_rx_run run[TPM_BURST]; /* a QP has one */
};
/* A run of the QP begins: its next receive WQE is fetched. */
static inline void
tpm_rx_run_prefetch(const struct tpm_qp *qp)
{
	if (tpm_likely(qp->ring.flat != NULL))
		__builtin_prefetch(qp->ring.flat + qp->rq_off + ((qp->rq_head & qp->rq_mask) << qp->rq_lg_stride));
}
/* Delivers all runs: each QP gets its frames in their order. */
void tpm_rx_runs_flush(struct tp_model *m, struct tpm_port *p, struct tpm_rx_runs *r);
/* Gives any frame to a QP. Without a receive WQE it waits if the QP says so, and always behind frames that wait. */
void tpm_receive_slow(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, const struct tp_frame *in,
		      uint32_t hash);
/* The same without waiting: false when there is no receive WQE. */
bool tpm_receive_now(struct tp_model *m, struct tpm_port *p, struct tpm_qp *qp, const struct tp_frame *in,
		     uint32_t hash);
/* Flushes what is posted to a QP's receive queue. */
void tpm_rq_flush(struct tp_model *m, struct tpm_qp *qp);

/* The next receive WQE of a QP's own queue. NULL: none. */
const uint8_t *tpm_rq_peek(struct tp_model *m, struct tpm_qp *qp);
int tpm_srq_open(struct tp_model *m, struct tpm_srq *srq);
/* Takes the next WQE off a shared receive queue (srq.c) and returns its list; *entry: its number. NULL: none. */
const uint8_t *tpm_srq_take(struct tp_model *m, struct tpm_srq *srq, uint64_t *entry);

/* --- send (sq.c, sq_wqe.c, sq_lso.c) ------------------------------------------------------------------------ */

#define TPM_TX_SEGS 256u
#define TPM_TX_ARENA 16384u

/* A burst of frames on its way out; the arena holds what the card wrote itself (headers, tags, inline data). */
struct tpm_tx {
	struct tp_model *m;
	struct tpm_qp *qp;
	struct tpm_port *p;
	unsigned int n, nseg, ncqe;
	uint32_t used;
	uint32_t fail_strides; /* how far the WQE at hand reaches */
	uint32_t plain_room;   /* lengths from the shortest frame on that a plain WQE may have */
	uint64_t bytes;        /* of the frames in the burst */
	bool wait;             /* the far end has no room for the packet of the WQE at hand: it stays */
	struct tp_frame f[TPM_BURST];
	struct tp_frame_seg seg[TPM_TX_SEGS];
	struct {
		uint16_t index;
		uint8_t opcode;
	} cqe[TPM_BURST];
	uint8_t arena[TPM_TX_ARENA];
};
/* Sends what was gathered, completes it. */
void tpm_tx_flush(struct tpm_tx *t);
/* Executes one WQE of any form, with every check; *strides says how far it reaches. False: it waits, or the QP is in error. */
bool tpm_wqe_execute(struct tpm_tx *t, uint32_t head, uint32_t *strides);
/* A frame whose pieces lie behind those of the burst goes on the wire, or back into the card, by the WQE's third and fourth dword. */
void tpm_tx_frame(struct tpm_tx *t, const struct tp_frame *f, uint32_t dw2, uint32_t imm);
/* Executes the LSO WQE in w (ds units, checked); false after an error completion. */
bool tpm_wqe_lso(struct tpm_tx *t, const uint8_t *w, uint32_t ds, uint32_t head);
/* All segments behind the control segment as pieces of a frame; false after tpm_wqe_fail. */
bool tpm_wqe_pieces(struct tpm_tx *t, uint32_t head, const uint8_t *w, uint32_t ds, struct tp_frame_seg *out,
		    unsigned int max, unsigned int *n, uint32_t *len);
/* Ends the WQE at head with an error that software did not cause. Returns false. */
bool tpm_wqe_end(struct tpm_tx *t, uint32_t head, uint8_t syndrome);
/* Counts a broken rule, ends the WQE at head with an error and takes the QP to the error state. Returns false. */
bool tpm_wqe_fail(struct tpm_tx *t, uint32_t head, uint8_t syndrome, enum tpm_violation v, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* One data segment of a send as frame pieces; false after tpm_wqe_fail. */
bool tpm_wqe_gather(struct tpm_tx *t, uint32_t head, unsigned int index, const uint8_t *seg, struct tp_frame_seg *out,
		    unsigned int max, unsigned int *n, uint32_t *len);
/* Room of len bytes in the arena; the caller made sure that there is some. */
static inline uint8_t *
tpm_tx_arena(struct tpm_tx *t, uint32_t len)
{
	uint8_t *p = t->arena + t->used;

	t->used += len;
	return p;
}
/* Completes every posted send WQE with a flush error. */
void tpm_sq_flush(struct tp_model *m, struct tpm_qp *qp);
/* A queue that was stopped sends what was posted meanwhile. */
void tpm_sq_resume(struct tp_model *m, struct tpm_qp *qp);
/* Reports blocks behind idle send queues that look posted [DP 4.3] */
void tpm_sq_stamp_check(struct tp_model *m);
bool tpm_sq_head_posted(const struct tpm_qp *qp, uint32_t head);

/* A frame leaves with the checksums that ctrl_flags (MLX4_CTRL_*_CSUM) ask for. */
static inline void
tpm_csum_count(struct tpm_port *p, uint32_t ctrl_flags)
{
	p->tx_ip_sums += (ctrl_flags & MLX4_CTRL_IP_CSUM) != 0;
	p->tx_l4_sums += (ctrl_flags & MLX4_CTRL_L4_CSUM) != 0;
}

#endif /* MODEL_QUEUE_QUEUE_H */
