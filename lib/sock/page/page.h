/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A program's counters of sockets, for who looks: it has a file in memory open, which the kernel lists among its descriptors. What it
 * has in there is its own word, so that nothing is believed that could lead anywhere: sizes are fixed, and nobody can make the file
 * shorter. Knows no DPDK.
 */
#ifndef SOCK_PAGE_PAGE_H
#define SOCK_PAGE_PAGE_H

#include <stddef.h>

#include "lib/sock/stat.h"

/* What the counters were at one moment. */
struct sock_page {
	struct sock_stat *map; /* the program's own memory */
	struct sock_stat stat; /* a copy, with zero's values taken off; pid is who was asked for */
	char name[32];
};

/* NULL: it has none, or may not be looked at. */
struct sock_page *sock_page_of(int pid);
/* The program's memory itself, which stays when the program is gone; NULL as above. Gone with sock_page_let_go(). */
struct sock_stat *sock_page_keep(int pid);
void sock_page_let_go(struct sock_stat *m);
/* For all who look. */
void sock_page_zero(struct sock_page *p);
void sock_page_free(struct sock_page *p);

/* Of counters, in their order. */
extern const char *const sock_count_names[SOCK_COUNTS], *const sock_ring_names[SOCK_RING_COUNTS],
								*const sock_tcp_names[SOCK_TCP_COUNTS];
/* "ESTAB", "FIN-WAIT-1" ...: a state of TCP, as ss(8) calls it; "UNCONN": none, or closed. */
const char *sock_page_state(uint32_t state);
#define SOCK_ADDR_LEN 24u
/* "192.0.2.1:80", "-": none. */
void sock_page_addr(uint32_t ip, uint16_t port, char text[SOCK_ADDR_LEN]);

#endif /* SOCK_PAGE_PAGE_H */
