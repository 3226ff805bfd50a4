/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Nets of sockets on a card that steers as a real one does: each net is an end of a cable, and has what its rules say. */
#ifndef TEST_SOCK_CABLE_H
#define TEST_SOCK_CABLE_H

#include <stdatomic.h>

#include "lib/sock/sock.h"

#define CABLE_ENDS 3u
#define CABLE_RULES 64u

struct cable_rule {
	struct tcp_addr local, remote; /* remote: port 0: anybody */
	bool on;
};

struct cable_end {
	rte_be32_t ip;
	int fd;
	atomic_uint looks; /* for frames */
	struct sock_net *net;
	struct cable_rule rule[CABLE_RULES];
};

extern struct cable_end cable[CABLE_ENDS];
extern struct rte_mempool *cable_pool;
extern atomic_uint cable_freed;     /* how often a net said that what a socket stands by for can be read */
extern atomic_uint cable_unclaimed; /* claims that nets have closed */

/* EAL, the pool, and so many nets; addr: of each the last octet of its address. 0 or -1. */
int cable_begin(unsigned int ends, const uint8_t *addr);
void cable_over(void);
/* The rules of an end to its port of one connection's peer, or of anybody (NULL), that are in force. */
unsigned int cable_rules(const struct cable_end *e, rte_be16_t port, const struct tcp_addr *remote);

#endif /* TEST_SOCK_CABLE_H */
