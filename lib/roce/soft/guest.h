/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Objects of other processes. Their rings are the card's (lib/roce/ring), in memory that both have, and the port's thread reads
 * them. A guest has one page with a doorbell for all of its queue pairs: it says that some of them may have requests. Who armed
 * a completion queue is seen in its doorbell record. Both are looked at in each progress, so that neither side needs a fence.
 */
#ifndef ROCE_SOFT_GUEST_H
#define ROCE_SOFT_GUEST_H

#include "lib/roce/port/guest.h"
#include "lib/roce/ring/ring.h"

#include "sw.h"

/* A process that has objects of the port. */
struct rsw_guest {
	TAILQ_ENTRY(rsw_guest) next;
	struct troce_guest *g;
	uint8_t *page;
	unsigned int refs; /* objects that use the page */
	TAILQ_HEAD(, rsw_guest_qp) qps;
	TAILQ_HEAD(, rsw_guest_cq) cqs; /* that have a channel */
	/* A turn looks at some of them; where the next goes on, NULL: at the first. */
	struct rsw_guest_qp *next_qp;
	struct rsw_guest_cq *next_cq;
	uint32_t num_qps, num_cqs;
	uint32_t unseen; /* queue pairs that were not looked at since the bell */
	bool late;       /* some queue pair is in error: what it receives is looked at without a bell */
};

/* A piece of the guest's memory, rings and at its end the doorbell record. */
struct rsw_guest_mem {
	struct troce_guest *g;
	uint8_t *va;
	size_t len;
	const uint32_t *dbrec;
};

/* A receive ring; taken: how many requests were, modulo 65536 as the record counts. */
struct rsw_guest_rq {
	const uint8_t *base;
	const uint32_t *dbrec;
	uint32_t entries; /* 0: none */
	uint16_t taken;
	uint16_t sges;
	uint8_t lg_stride;
};

struct rsw_guest_qp {
	TAILQ_ENTRY(rsw_guest_qp) next;
	struct rsw_guest *guest;
	struct rsw_qp *qp;
	struct rsw_guest_mem mem;
	struct troce_ring_sq sq;
	struct rsw_guest_rq rq;
	uint32_t sq_entries, sq_cap;
	uint32_t flush; /* receive requests that this turn may still flush */
	/* UD: where each request goes, and the address that this was made of. */
	struct rsw_route *routes;
	uint8_t (*dgrams)[MLX4_DGRAM_SIZE];
};

struct rsw_guest_cq {
	TAILQ_ENTRY(rsw_guest_cq) next;
	struct rsw_guest *guest;
	struct rsw_cq *cq;
	struct rsw_guest_mem mem, ring; /* ring: when it got another size; the record stays in mem */
	struct mlx4_cqe *cqes;
	bool events;
	uint32_t arm;       /* the record's second word as it was seen last */
	uint32_t solicited; /* tail behind the last completion that was */
};

struct rsw_guest_srq {
	struct rsw_guest_mem mem;
	struct rsw_guest_rq rq;
	uint16_t at; /* entry of the next request */
};

/* A request that is none, in rsw_slot.local: it ends with an error. */
#define RSW_WR_BAD ((enum ibv_wr_opcode)0x7f)

/* --- guest.c: life ------------------------------------------------------------------------------------------------- */

int rsw_guest_cq_make(struct rsw_cq *cq, bool events);
void rsw_guest_cq_free(struct rsw_cq *cq);
/*
 * A ring of another size, and what was not polled goes there. 0; ENOMEM; EINVAL: it does not fit. Between the two the gate is closed,
 * and then mem has what is not needed any more.
 */
int rsw_guest_cq_room(struct rsw_cq *cq, uint32_t entries, struct rsw_guest_mem *mem);
int rsw_guest_cq_move(struct rsw_cq *cq, uint32_t entries, struct rsw_guest_mem *mem);
void rsw_guest_mem_put(struct rsw_guest_mem *mem);
int rsw_guest_srq_make(struct rsw_srq *srq, struct ibv_srq_attr *attr);
void rsw_guest_srq_free(struct rsw_srq *srq);
/* cap: asked for, then granted. */
int rsw_guest_qp_make(struct rsw_qp *qp, struct ibv_qp_cap *cap);
/* From when it has a number; with the gate closed, as the next. */
void rsw_guest_qp_join(struct rsw_qp *qp);
void rsw_guest_qp_leave(struct rsw_qp *qp);
void rsw_guest_qp_free(struct rsw_qp *qp);
/* Nothing is posted. */
void rsw_guest_qp_reset(struct rsw_qp *qp);

int rsw_mem_open(struct troce_dev *dev, void *mem, size_t len);
void rsw_mem_close(struct troce_dev *dev, void *mem, size_t len);
int rsw_view_uars(struct troce_dev *dev, struct troce_view_uars *view);
void rsw_view_cq(const struct troce_cq *cq, struct troce_view_cq *view);
void rsw_view_qp(const struct troce_qp *qp, struct troce_view_qp *view);
void rsw_view_srq(const struct troce_srq *srq, struct troce_view_srq *view);
void rsw_view_ah(const struct troce_ah *ah, uint8_t dgram[TROCE_VIEW_AH]);

/* --- guest_poll.c, guest_ring.c: the port's thread ----------------------------------------------------------------- */

/* Whose doorbell rang, and who armed. Returns how much there was. */
unsigned int rsw_guests_poll(struct rsw_dev *d);
/* Requests become the engine's. True: there may be more. */
bool rsw_guest_take(struct rsw_qp *qp);
/* The oldest receive request into mine. False: there is none. */
bool rsw_guest_recv(struct rsw_guest_qp *g, struct rsw_rqe *mine);
bool rsw_guest_srq_recv(struct rsw_guest_srq *g, struct rsw_rqe *mine);
/* How many there are; 0 when the record says more than there can be. */
uint32_t rsw_guest_posted(const struct rsw_guest_rq *rq);
/* Where the reader of the queue is, whatever it says. */
uint32_t rsw_guest_cq_head(const struct rsw_cq *cq, uint32_t tail);
void rsw_guest_cq_put(struct rsw_cq *cq, const struct ibv_wc *wc, uint32_t tail, bool solicited);
/* Was it armed since, and what it has is what was waited for? */
bool rsw_guest_cq_armed(struct rsw_cq *cq);
/* The window and region that a request to bind names by their keys. False: there are none such. */
bool rsw_guest_bind(struct rsw_dev *d, struct rsw_slot *s, uint32_t rkey);

#endif /* ROCE_SOFT_GUEST_H */
