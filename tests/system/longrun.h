/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Mixed control operations under traffic: what its files share. The main lcore operates (longrun_ops.c) and judges
 * (longrun.c), another one sends and receives on both ports (longrun_traffic.c).
 */
#ifndef LONGRUN_H
#define LONGRUN_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#define PORTS 2u
#define MAX_QUEUES 8u
#define EXTRA_MACS 4u
#define VLANS 4u
#define UDP_PORTS 16u
#define UDP_FIRST 1000u
#define MTU_USUAL 1500u

/* What the worker counts of a port. */
struct lr_count {
	uint64_t sent;     /* taken by the transmit queues of this port */
	uint64_t received; /* given out by the receive queues of this port */
	uint64_t twice, foreign, damaged;
};

struct lr_port {
	uint16_t id;
	uint16_t queues;
	uint64_t rxq_off, txq_off; /* queues that are stopped, bit by bit */
};

/* Shared with the worker. */
struct lr_traffic {
	struct rte_mempool *pool;
	uint64_t seed;
	uint64_t lose; /* frees this received frame without a word, 0: none */
	/* what the main lcore wants */
	bool quit, send, rest[PORTS]; /* rest: no burst on this port */
	uint16_t queues[PORTS];
	uint16_t longest[PORTS]; /* octets of a frame that the port may send */
	uint64_t rxq_off[PORTS], txq_off[PORTS];
	struct rte_ether_addr mac[PORTS]; /* where the peer's frames go */
	uint32_t rounds;                  /* of the worker: what it was told is in force two rounds later */
	struct lr_count count[PORTS];
};

/* longrun_traffic.c */
extern struct lr_traffic lr_traffic;
struct rte_ether_addr lr_extra_mac(uint16_t port, unsigned int i);
uint16_t lr_vlan(unsigned int i);
int lr_worker(void *arg);
/* Returns when the worker has seen all that it was told. */
void lr_told(void);
/*
 * Nothing is sent any more when it returns, and what was sent has arrived or not: waits until the card did some rounds with
 * nothing to do, the worker took what there was after that, and nothing more came. No clock decides. lr_resume: as before.
 */
void lr_settle(void);
void lr_resume(void);

/* longrun_ops.c */
extern struct lr_port lr_port[PORTS];
struct lr_op {
	const char *name;
	int (*run)(struct lr_port *p); /* 0, or a negative errno that is a failure */
	bool stops;                    /* stops queues: frames that wait in them are lost, and counted */
	uint64_t done;
};
extern struct lr_op lr_ops[];
extern const unsigned int lr_num_ops;
void lr_seed(uint64_t seed);
uint32_t lr_random(uint32_t below);
/* Configures and starts; all queues run. */
int lr_up(struct lr_port *p, uint16_t queues);

#endif /* LONGRUN_H */
