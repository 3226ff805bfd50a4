/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A port of ethdev that sends to itself, or to another one, and waits for what comes. */
#ifndef CHECK_PORT_H
#define CHECK_PORT_H

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "card.h"
#include "frame.h"

#define PORT_QUEUES 4u
#define PORT_GOT 128u

struct port_got {
	uint8_t b[FRAME_MAX];
	uint32_t len;
	uint16_t queue;
	uint64_t ol_flags;
	uint32_t hash, ptype;
	uint16_t tci, segs;
	uint64_t when; /* time stamp, 0: none */
};

struct port {
	struct ck *c;
	uint16_t id;
	struct rte_mempool *pool;
	struct rte_ether_addr mac;
	uint8_t from[6]; /* source address of what is sent: what comes from others is not looked at */
	uint16_t queues;
	uint32_t mark; /* of the next frame */
	bool started;
	FILE *pcap; /* of the bundle, NULL: none */
	uint32_t captured;
	struct port_got *got; /* PORT_GOT of them */
	unsigned int num;
};

/* Configures and starts it; false: said. conf NULL: one queue each way and no offloads. */
bool port_start(struct port *p, struct ck *c, uint16_t id, uint16_t queues, const struct rte_eth_conf *conf);
void port_stop(struct port *p);
/* Stops it and frees what it has. */
void port_end(struct port *p);

/* What comes goes into a file of the bundle, too, if there is one. */
void port_capture(struct port *p, struct ck *c, const char *name);

/*
 * How much longer is waited, in cycles of the timer. The time in which a process had no CPU is none: a card in software that it
 * has had none, either.
 */
struct port_limit {
	uint64_t left, last;
};
struct port_limit port_in(uint64_t ms);
/* To be asked after each look. false: it was waited for so long. */
bool port_waits(struct port_limit *l);

/* A frame as mbufs of these lengths; the last one takes the rest. NULL: no memory. */
struct rte_mbuf *port_mbuf(struct port *p, const struct frame *f, const uint16_t *piece, unsigned int n);
/* Sends one. false: the queue did not take it in time; m is freed. */
bool port_send(struct port *p, uint16_t queue, struct rte_mbuf *m);
/*
 * Waits until so many frames with its source address came, or nothing came for a while. They are in got.
 * @return how many
 */
unsigned int port_wait(struct port *p, unsigned int want);
/* Waits for f among those that come. NULL: it did not come. */
const struct port_got *port_comes(struct port *p, const struct frame *f);
/* Waits for the frame that last() knows, and takes all that came before it into got. false: it did not come. */
bool port_until(struct port *p, bool (*last)(const struct port_got *g));
/* The specification of a frame to dst, with a mark of its own. */
struct frame_spec port_spec(struct port *p, const struct rte_ether_addr *dst, uint16_t type);
/* Sends f as one mbuf with these flags and takes the only frame that comes. NULL: what went wrong was said under name. */
const struct port_got *port_echo(struct port *p, const char *name, const struct frame *f, uint64_t ol_flags,
				 uint16_t tci);
/* f itself came back, with the padding of a short frame. */
bool port_same(const struct port_got *g, const struct frame *f);

#endif /* CHECK_PORT_H */
