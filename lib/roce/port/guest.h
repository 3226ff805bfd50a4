/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Objects of an open port that belong to another process, the guest. Their rings lie in memory that both processes have, and the
 * guest itself posts, polls and rings doorbells. Here are the control calls, and what the card tells.
 */
#ifndef ROCE_PORT_GUEST_H
#define ROCE_PORT_GUEST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>

struct troce_dev;
struct troce_cq;

#define TROCE_VECTOR_OWN INT_MAX /* in place of a number of a vector */
struct troce_guest {
	int vector; /* of its own, in the home's words */
	int uar_fd; /* its file for pages of doorbells, see struct troce_view_uars */
	/* Zeroed memory, open to the card, its IO address that of this process. NULL: there is none left. */
	void *(*mem_get)(struct troce_guest *g, size_t len, size_t align);
	void (*mem_put)(struct troce_guest *g, void *mem, size_t len);
	/* What would go to a completion channel, and to the port's asynchronous events. Any thread, under locks: short. */
	void (*cq_event)(struct troce_guest *g, struct troce_cq *cq);
	void (*async)(struct troce_guest *g, enum ibv_event_type type, void *obj);
	/* The port is about to close: it gives back what it has and calls troce_guest_del(). Does not wait. */
	void (*leave)(struct troce_guest *g);
	TAILQ_ENTRY(troce_guest) next;
};
TAILQ_HEAD(troce_guests, troce_guest);

/* From now on it hears of what happens to the port; and no more after troce_guest_del(). ENODEV: the port is closing. */
int troce_guest_add(struct troce_dev *dev, struct troce_guest *g);
void troce_guest_del(struct troce_dev *dev, struct troce_guest *g);
/* Waits until all have left; nobody can come any more. */
void troce_guests_leave(struct troce_dev *dev);
/* The port stays after all. */
void troce_guests_welcome(struct troce_dev *dev);

/*
 * What the guest needs to use an object, in the card's words [DP 3..6]. Places in memory are offsets from the memory that the
 * object has, which is one piece. uar: number of the page with its doorbells.
 */
struct troce_view_cq {
	void *mem; /* in this process */
	size_t len;
	uint32_t cqn, uar, entries, dbrec; /* dbrec: until it gets another ring, it stays where it is */
};
struct troce_view_qp {
	void *mem;
	size_t len;
	uint32_t qpn, uar, sq, rq, dbrec;
	uint32_t sq_entries, rq_entries; /* powers of two, 0: none */
	uint32_t max_inline;
	uint16_t sq_sges, rq_sges;
	uint8_t lg_sq_stride, lg_rq_stride;
};
struct troce_view_srq {
	void *mem;
	size_t len;
	uint32_t srqn, entries, dbrec;
	uint16_t sges;
	uint8_t lg_stride;
};
#define TROCE_VIEW_AH 48u /* octets of an address in the work request of a datagram [DP 3.3] */
/*
 * Pages of doorbells lie in a file of the guest's own, where the card's have the same place; those of its objects are the card's as
 * long as there is the object. No other guest has this file.
 */
struct troce_view_uars {
	size_t len;          /* of the file */
	uint32_t qp_numbers; /* numbers of queue pairs are below: a power of two */
};

#endif /* ROCE_PORT_GUEST_H */
