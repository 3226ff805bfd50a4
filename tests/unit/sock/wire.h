/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Cables between ends that have nothing in common but octets: each has mbufs of its own, which need no DPDK that runs. So whatever two
 * threads do to the same memory is theirs, and ThreadSanitizer sees it.
 */
#ifndef SOCK_WIRE_H
#define SOCK_WIRE_H

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/sock/sock.h"
#include "preload/sockets/home.h"

#define LIMIT_US UINT64_C(60000000)
#define CALLS 12u     /* of a thread */
#define OCTETS 20000u /* each way of a call */
#define WIRE 512u
#define FRAME 1600u

/* An end of the cable: what comes to it. */
struct end {
	pthread_mutex_t lock;
	struct {
		uint32_t len;
		uint8_t data[FRAME];
	} f[WIRE];
	uint32_t first, n;
	struct end *peer;
	rte_be32_t ip;
	int fd;
	struct rte_mempool *pool; /* with the net's lock, as what follows */
	unsigned int unknown;     /* so often the neighbour is not known yet */
	uint32_t random;
};

extern struct end end[4]; /* two of nets, two of stacks */

bool end_open(struct end *e);
/* Of homes. */
uint16_t end_take(void *home, struct rte_mbuf **m, uint16_t n);
uint16_t end_give(void *home, struct rte_mbuf **m, uint16_t n);
int end_path(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *p);
bool end_ours(void *home, rte_be32_t ip);

/* What a thread found wrong; who joins it says it. */
extern const char *_Atomic wrong;

#define CHECK(what)                                                                                                    \
	do {                                                                                                           \
		if (!(what))                                                                                           \
			wrong = #what;                                                                                 \
	} while (0)

void begin(pthread_t *t, void *(*fn)(void *), void *arg);
void join(pthread_t *t, unsigned int n);
static inline uint64_t
soon(void)
{
	return sock_now() + LIMIT_US;
}

/* --- stacks.c --- */
void test_stacks(void **state);

#endif /* SOCK_WIRE_H */
