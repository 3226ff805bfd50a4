/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What both ends of tcp_many have: connections, what is sent over them, what was received. */
#ifndef LONG_TCP_MANY_H
#define LONG_TCP_MANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_ip.h>

#define OWN RTE_IPV4(10, 77, 0, 2)
#define PEER RTE_IPV4(10, 77, 0, 1)
#define OWN_PORT 5002
#define PEER_PORT 5001
#define MESSAGE 100u
#define EACH 5000u /* messages of a connection each way */
#define OCTETS ((uint64_t)EACH * MESSAGE)
#define BURST 32u /* messages that a call sends at most */
#define OPEN_MAX 1024u

enum { US, LINUX };

/* What both processes see. */
struct shared {
	volatile uint64_t messages[2], flows[2]; /* received whole and right; ended in order */
	char wrong[2][256];
	uint8_t seen[]; /* by number: how often a connection was accepted */
};

extern struct shared *shared;
extern uint32_t total_flows, open_flows;
extern uint64_t seed;

struct tcp_conn;

struct flow {
	struct tcp_conn *c; /* ours, or */
	int fd;             /* Linux's */
	bool used, known, opener, ready, shut, end;
	uint32_t id;
	uint64_t sent, got, random;
};

void wrong(int who, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
uint64_t mix(uint64_t x);
/* Octets that an end sends at a place of a connection. */
void content(uint32_t id, int from, uint64_t off, uint8_t *to, size_t len);
/* false: octets that are not what was sent. */
bool received(struct flow *f, int who, const uint8_t *data, size_t n);
/* The first octets of who opened say which connection it is. */
bool introduced(struct flow *f, int who, uint32_t id);
size_t next_burst(struct flow *f);
struct flow *free_flow(struct flow *flows);
/* A process of its own, until all connections have ended. */
void linux_end(int listener);

#endif /* LONG_TCP_MANY_H */
