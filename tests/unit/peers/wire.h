/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A stack of lib/tcp at one end of a wire in virtual time, somebody else's at the other end, in the same process. The wire
 * loses and reorders by a seed, either way. Nothing here knows the other end: it judges our frames by itself.
 */
#ifndef PEERS_WIRE_H
#define PEERS_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/tcp/tcp.h"

#define WIRE_MS UINT64_C(1000)
#define WIRE_S UINT64_C(1000000)

struct wire_frame;

struct wire {
	struct tcp_stack *s;
	uint64_t now; /* in microseconds; it never goes back, from wire to wire neither */
	uint64_t random;
	uint32_t loss, reorder; /* of 65536 */
	uint64_t delay_us;
	rte_be32_t ip;
	struct rte_ether_addr mac, peer_mac;
	struct wire_frame *q; /* under way, by time */
	/* Gives the other end a frame, from the Ethernet header on. It may answer at once by wire_give(). */
	void (*out)(void *arg, const uint8_t *frame, uint32_t len);
	void *arg;
	uint64_t frames, lost, late;
};

/* EAL and the pools of all wires; once. */
void wire_init(void);
/* loss, reorder, out and the addresses are what they are; the rest is set. conf without a pool. */
void wire_start(struct wire *w, uint64_t seed, const struct tcp_conf *conf);
/* A frame of the other end. */
void wire_give(struct wire *w, const uint8_t *frame, uint32_t len);
/* When a frame arrives or a timer of ours ends. */
uint64_t wire_next(const struct wire *w);
/* Time goes on, and what is due by then happens at its own time. */
void wire_until(struct wire *w, uint64_t at);
/* false: mbufs are missing. */
bool wire_end(struct wire *w);
uint32_t wire_random(struct wire *w, uint32_t below);

/* Octet number i of what a side sends. */
static inline uint8_t
wire_octet(int side, uint64_t i)
{
	const uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)side * 77;

	return (uint8_t)(x >> 56 ^ x >> 29);
}

#endif /* PEERS_WIRE_H */
