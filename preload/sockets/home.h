/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A queue pair for whole frames on a port that another process shares, as the home of a net of sockets. */
#ifndef PRELOAD_SOCKETS_HOME_H
#define PRELOAD_SOCKETS_HOME_H

#include "lib/sock/sock.h"

#define HOME_ADDRS 16u

struct home;

struct home_addr {
	rte_be32_t ip;
	uint32_t gid; /* its place in the port's table */
};

/*
 * Asks the owner for the port at a place of its list. NULL: *why says what is wrong. mbufs: of frames that are sent and received. mtu: of packets of IP that are sent,
 * 0: the port's.
 */
struct home *home_open(unsigned int index, unsigned int mbufs, unsigned int mtu, const char **why);
/* Addresses of IPv4 that the port had then; how many. */
unsigned int home_addrs(const struct home *h, struct home_addr addr[HOME_ADDRS]);
/* Of what is sent, or of what comes. */
struct rte_mempool *home_pool(struct home *h, bool rx);
/* Mbufs of a large send of TCP, headers in one of their own not among them; 0: the card makes no segments. */
uint8_t home_large(const struct home *h);
/* Descriptors that the program must not close; how many. */
unsigned int home_fds(const struct home *h, int fds[4]);
extern const struct sock_home home_ops;

/* --- pool.c --- */
/* A pool of mbufs with so many octets of room in [mem, mem + size); it needs no EAL. NULL: no memory. */
struct rte_mempool *pool_make(void *mem, unsigned int num, unsigned int room);
size_t pool_size(unsigned int num, unsigned int room);

#endif /* PRELOAD_SOCKETS_HOME_H */
