/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Cards with one port each on switches, under this driver, in virtual time: nothing depends on how fast the machine is.
 * Or, when asked, as they are: each card in a thread of its own, by the machine's clock. Frames carry who sent them and a
 * number, so every one is accounted for.
 */
#ifndef FABRIC_RIG_H
#define FABRIC_RIG_H

#include "card_trace.h"
#include "drivers/mlx4/qos/qos.h"
#include "rig.h"
#include "tp_switch.h"

#define FABRIC_CARDS 6u
#define FABRIC_LEN 1514u /* of the frames, without FCS; 4 more with a tag */
#define FABRIC_DESC 256u
#define FABRIC_FLOWS 16u
/* Octets of a tagged frame on the line: with FCS, preamble and gap. */
#define FABRIC_LINE (FABRIC_LEN + 4 + 4 + 20)

/* What a sending queue offers to somebody. */
struct fabric_flow {
	uint16_t from, to, queue;
	bool on;
	struct rte_ether_addr dst;
	uint32_t sent;        /* taken by the driver */
	uint32_t got, out_of; /* received; of these, not the number that was next */
	uint32_t next;        /* number that should come */
	uint64_t got_bytes;   /* without tags */
	struct rte_mbuf *held;
};

struct fabric {
	unsigned int cards, flows;
	bool real;          /* threads and the machine's clock */
	uint64_t now, step; /* ns */
	struct fabric_flow flow[FABRIC_FLOWS];
};

/* Card number `cards` with ports=1 and these arguments, so many queues each way; not started. */
void fabric_add(struct fabric *f, const char *args, uint16_t rxq, uint16_t txq);
/* Starts the ports and lets everybody learn where the others are. */
void fabric_start(struct fabric *f);
/* Closes the cards, which must have nothing to complain about, and looks for what is left. */
void fabric_close(struct fabric *f);

/* Words of a port's declaration, separated by spaces, put in force. */
void fabric_qos(uint16_t port, const char *words);
void fabric_prio(uint16_t port, uint16_t queue, uint8_t prio);
/* A group of a started port with an address of its own, which the switch learns. Words without mac. */
void fabric_group(struct fabric *f, uint16_t port, const struct rte_ether_addr *mac, const char *words);
/* One setting of a switch (port 0) or of its port. */
void fabric_switch(const char *name, unsigned int port, const char *word);
struct tp_switch_port_stats fabric_switch_stats(const char *name, unsigned int port);

/* A flow that is kept offered as long as it is on; its number. mac NULL: the port's address. */
unsigned int fabric_flow(struct fabric *f, uint16_t from, uint16_t queue, uint16_t to,
			 const struct rte_ether_addr *mac);
/* Offers, and moves time and the cards by one step. */
void fabric_tick(struct fabric *f);
/* A frame came to a port: counts and frees it. */
void fabric_account(struct fabric *f, uint16_t port, struct rte_mbuf *m);
/* Receives at most max frames of a queue; returns how many. */
unsigned int fabric_take(struct fabric *f, uint16_t port, uint16_t queue, unsigned int max);
/* Looks of the watches at stalls and lifetimes, which the machine's clock makes otherwise. */
void fabric_watch_by_hand(uint16_t port);
void fabric_look(const struct fabric *f, uint16_t port);
struct tp_model_qos fabric_card(uint16_t port);

#endif /* FABRIC_RIG_H */
