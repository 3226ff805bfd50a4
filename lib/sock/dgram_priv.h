/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the files of datagrams share, and what the net calls: with the lock. */
#ifndef SOCK_DGRAM_PRIV_H
#define SOCK_DGRAM_PRIV_H

#include "dgram.h"
#include "sock_priv.h"

/* A datagram whose neighbour is asked for. */
struct sock_late {
	STAILQ_ENTRY(sock_late) next;
	struct sock *s;
	struct tcp_addr to;
	rte_be32_t from;
	int ttl, tos;
	size_t len;
	uint8_t data[];
};

struct sock_group {
	LIST_ENTRY(sock_group) next;
	rte_be32_t group;
	uint32_t refs;
};

struct sock_udp {
	struct udp_stack *stack;
	uint32_t *port_refs;
	LIST_HEAD(, sock_group) groups;
	STAILQ_HEAD(late_list, sock_late) late;
	uint32_t num_late;
	bool full; /* somebody waits for the card to have sent */
};

/* --- late.c --- */
/* Keeps a copy; of many the oldest goes. -ENOMEM. */
int sock_late_add(struct sock *s, const struct iovec *iov, int n, const struct udp_tx *tx);
/* Sends those whose neighbour is known now. */
void sock_late_look(struct sock_net *n);
/* Those of a socket that is closed, or of all closed ones (NULL), are not sent. */
void sock_late_drop(struct sock_net *n, const struct sock *s);

/* --- dgram.c --- */
/* The last that it had is gone: memory of a closed socket, too. */
void sock_dgram_free(struct sock *s);

#endif /* SOCK_DGRAM_PRIV_H */
