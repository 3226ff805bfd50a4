/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Counters of a program's sockets, in memory that a viewer may map, too: a file of no folder that the program has open under
 * SOCK_STAT_FILE. The program writes its counters, the viewer what they were when they were last set to zero. Addresses and ports are
 * in network order, all else is of the machine.
 */
#ifndef SOCK_STAT_H
#define SOCK_STAT_H

#include <stdint.h>

#include "lib/tcp/note.h"

#define SOCK_STAT_FILE "triplane-sockets-stat"
#define SOCK_STAT_MAGIC UINT64_C(0x5441545353505400)
#define SOCK_STAT_VERSION 5u
#define SOCK_STAT_SOCKETS 4096u /* that have counters of their own; further ones count for all alone */
#define SOCK_STAT_GROUPS 64u
#define SOCK_STAT_CONNS 100000u /* connections of TCP at most; memory goes to as many as there ever were at once */

/* Of a socket. Packets are datagrams, of TCP calls that moved data. Errors are calls that failed, but for those that would have to wait. */
enum sock_count {
	SOCK_RX_PACKETS,
	SOCK_RX_BYTES,
	SOCK_RX_ERRORS,
	SOCK_RX_WAITS, /* that would have to, and did not */
	SOCK_TX_PACKETS,
	SOCK_TX_BYTES,
	SOCK_TX_ERRORS,
	SOCK_TX_WAITS,
	SOCK_RX_DROPS, /* datagrams that found the queue full */
	/* Waits that looked for frames: found what they waited for; did not. And those that slept. */
	SOCK_POLL_HITS,
	SOCK_POLL_MISSES,
	SOCK_SLEEPS,
	/* The operating system's half. */
	SOCK_OS_RX_PACKETS,
	SOCK_OS_RX_BYTES,
	SOCK_OS_RX_ERRORS,
	SOCK_OS_RX_WAITS,
	SOCK_OS_TX_PACKETS,
	SOCK_OS_TX_BYTES,
	SOCK_OS_TX_ERRORS,
	SOCK_OS_TX_WAITS,
	SOCK_COUNTS
};

/* Of all sockets together: the rings of the queue pair. */
enum sock_ring_count {
	SOCK_RING_RX_FRAMES,
	SOCK_RING_TX_FRAMES,
	SOCK_RING_TX_FULL, /* bursts of which the card took a part */
	SOCK_RING_EVENTS,  /* the card told of frames */
	SOCK_RING_LOOKS,   /* for frames */
	SOCK_RING_LARGE,   /* of the frames out: large sends, of which the card makes segments, */
	SOCK_RING_PIECES,  /* and how many it makes of them */
	SOCK_RING_COUNTS
};

/* Of TCP: segments in and out, sent again, out of order, time-outs; what came while mbufs were scarce: copied, not taken. */
enum sock_tcp_count {
	SOCK_TCP_RX,
	SOCK_TCP_TX,
	SOCK_TCP_AGAIN,
	SOCK_TCP_OOO,
	SOCK_TCP_TIMEOUTS,
	SOCK_TCP_COPIED,
	SOCK_TCP_SCARCE,
	SOCK_TCP_COUNTS
};

struct sock_stat_socket {
	uint32_t used; /* the rest means something */
	int32_t fd;
	uint32_t type;   /* SOCK_STREAM, SOCK_DGRAM */
	uint32_t engine; /* 1: the port has it, or a part; 0: the operating system alone */
	uint32_t listens;
	uint32_t state; /* of TCP, as <netinet/tcp.h> numbers them; 0: of datagrams, or the operating system's */
	uint32_t local_ip, remote_ip;
	uint16_t local_port, remote_port;
	uint64_t count[SOCK_COUNTS], zero[SOCK_COUNTS];
};

struct sock_stat {
	uint64_t magic; /* the last that is written */
	uint32_t version, port;
	int32_t pid;
	uint32_t spin_us, mbufs; /* settings; 0: the port was not asked for yet */
	uint32_t unlisted;       /* sockets that had no place, and are open */
	uint64_t ring[SOCK_RING_COUNTS], ring_zero[SOCK_RING_COUNTS];
	uint64_t tcp[SOCK_TCP_COUNTS], tcp_zero[SOCK_TCP_COUNTS];
	uint64_t ended[SOCK_COUNTS], ended_zero[SOCK_COUNTS]; /* of sockets that are closed */
	uint32_t group[SOCK_STAT_GROUPS];                     /* 0: none */
	struct sock_stat_socket socket[SOCK_STAT_SOCKETS];
};

/* Of the file: what viewers see, and behind it connections that peers believe in, whether a socket has them or not. */
#define SOCK_STAT_SIZE (sizeof(struct sock_stat) + sizeof(struct tcp_notes) + SOCK_STAT_CONNS * sizeof(struct tcp_note))
static inline struct tcp_notes *
sock_stat_notes(struct sock_stat *st)
{
	return (struct tcp_notes *)(st + 1);
}

#endif /* SOCK_STAT_H */
