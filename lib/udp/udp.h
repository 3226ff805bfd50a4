/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * UDP over IPv4 (RFC 768, 1122 4.1) as code on packets and time, as lib/tcp is: no I/O, thread, clock or global. A stack
 * belongs to one thread at a time. A home that has both gives frames to udp_input first, which hands back what is not for
 * UDP; so one array goes through both:
 *
 *	n = udp_input(u, m, n, now);
 *	tcp_input(t, m, n, now);
 *
 * Addresses and ports are in network order. What returns int or ssize_t returns a negative errno on failure.
 */
#ifndef UDP_UDP_H
#define UDP_UDP_H

#include "lib/tcp/tcp.h"

struct udp_stack;
struct udp_sock;

/* Operations of a home, as struct tcp_home has them. None of them may call the stack. */
struct udp_home {
	/* Takes the first frames of a list; how many. What it does not take is thrown away, as a full queue of a device is. */
	uint16_t (*tx)(void *home, struct rte_mbuf **m, uint16_t n);
	/* As for TCP. For a group the Ethernet destination is not looked at. A broadcast address of a network is one whose
	 * Ethernet destination is broadcast. */
	int (*path)(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *path);
	/* Is this address one of ours? */
	bool (*local)(void *home, rte_be32_t ip);
	/* TCP_EV_READABLE for each datagram, TCP_EV_ERROR; each is an edge. */
	void (*event)(void *home, struct udp_sock *sock, void *user, unsigned int events);
	uint32_t (*random)(void *home);
};

/* 0 in a member means its default. */
struct udp_conf {
	struct rte_mempool *pool; /* of frames that are sent; data room from TCP_MBUF_ROOM_MIN on */
	uint32_t max_socks;       /* 1..1048576; 100000 */
	uint32_t rcvbuf;          /* octets a socket, 512 of them for each mbuf, 4096..16777216; 212992 */
	uint32_t max_fragmented;  /* datagrams whose fragments wait for others, 1..65536; 256 */
	uint32_t frag_ms;         /* how long they wait, 1..60000; 30000 (RFC 791 asks for 15 s at least) */
	/* mbufs in all sockets' queues, 64..16777216; 16777216. Where there are as many, a socket with 32 of its own gets no more;
	 * of half as many again one that has any; of twice as many none. */
	uint32_t max_queued;
	uint16_t port_min, port_max; /* host order, of ports that nobody named; 32768..60999 */
	bool tx_checksum;            /* the device writes checksums of IP and UDP */
	bool no_unreachable;         /* no ICMP for datagrams to a port that nobody has: the host's kernel answers */
};

/* Counters by reason. */
struct udp_stats {
	uint64_t rx_datagrams, tx_datagrams, rx_bytes, tx_bytes;
	uint64_t rx_malformed, rx_checksum, rx_other /* not for an address of ours or a group of a socket */,
		rx_no_port;
	uint64_t rx_full /* a socket's queue */, rx_no_mbuf;
	uint64_t rx_fragments, rx_joined /* datagrams made of fragments */, rx_frag_dropped;
	uint64_t rx_icmp, rx_icmp_ignored; /* errors that a socket was told of; others */
	uint64_t tx_fragments, tx_no_path, tx_no_mbuf, tx_blocked;
	uint64_t tx_unreachable, tx_unreachable_limited;
};

/* NULL and *err a negative errno: -EINVAL (the range is named in struct udp_conf), -ENOMEM. *conf is copied. */
struct udp_stack *udp_stack_create(const struct udp_conf *conf, const struct udp_home *ops, void *home, uint64_t now_us,
				   int *err);
void udp_stack_destroy(struct udp_stack *s);
/* Takes what is UDP, a fragment of it or an ICMP error about it from n frames. The others move to the front of m; how many. */
uint16_t udp_input(struct udp_stack *s, struct rte_mbuf **m, uint16_t n, uint64_t now_us);
/* Gives up on fragments whose time is over. */
void udp_run(struct udp_stack *s, uint64_t now_us);
/* When udp_run must be called, TCP_NEVER. It may be early, never late. */
uint64_t udp_deadline(const struct udp_stack *s);
const struct udp_stats *udp_stats(const struct udp_stack *s);
void udp_paths_changed(struct udp_stack *s);

/* A socket without an address. -ENFILE, -ENOMEM. */
struct udp_sock *udp_open(struct udp_stack *s, void *user, int *err);
void udp_close(struct udp_sock *u);
/* ip 0: any; a group: what is sent to it alone. port 0: one is chosen. share: others may have the port, too, if all said so;
 * a datagram to one host goes to one of them by a hash of its source, one to a group to all. -EADDRINUSE, -EADDRNOTAVAIL (no
 * port left), -EINVAL: it has a port. */
int udp_bind(struct udp_sock *u, const struct tcp_addr *local, bool share);
/* Only this peer is heard, and sent to. NULL: anyone again. Chooses a port where there is none, and the address where it is
 * any. What path says, -EACCES, -EADDRNOTAVAIL, -EINVAL: no address or port. */
int udp_connect(struct udp_sock *u, const struct tcp_addr *remote);
void udp_addrs(const struct udp_sock *u, struct tcp_addr *local, struct tcp_addr *remote);
/* Hears a group; from source alone where it is not 0. The host's kernel does IGMP. -EINVAL: no group; -EADDRINUSE: a member;
 * -EADDRNOTAVAIL: none; -ENOBUFS: more than 64. */
int udp_join(struct udp_sock *u, rte_be32_t group, rte_be32_t source);
int udp_leave(struct udp_sock *u, rte_be32_t group, rte_be32_t source);
/* One of those that it is in, whichever; false: it is in none. */
bool udp_leave_any(struct udp_sock *u, rte_be32_t *group);

/* What differs from the socket's own for one datagram; NULL: nothing. */
struct udp_tx {
	const struct tcp_addr *to; /* NULL: the peer of udp_connect */
	rte_be32_t from;           /* IP_PKTINFO; 0: the socket's, or that of the path */
	int ttl, tos;              /* -1: the socket's */
};
/* One datagram, sent at once. Octets that were taken. -EDESTADDRREQ, -EMSGSIZE (more than 65507, or than the MTU where
 * IP_MTU_DISCOVER forbids fragments), -EACCES: broadcast without leave; -ENOBUFS: the pool is empty or the device full, -EAGAIN:
 * the neighbour is not known yet, an error that came by ICMP, or what path says. */
ssize_t udp_send(struct udp_sock *u, const struct iovec *iov, int n, const struct udp_tx *tx);

/* What came with a datagram. */
struct udp_meta {
	struct tcp_addr from, to; /* to: where it was sent, an address of ours or a group (IP_PKTINFO) */
	uint64_t us;              /* the time of udp_input */
	uint32_t len;             /* of the datagram, also where less was copied (MSG_TRUNC) */
	uint8_t ttl, tos;
};
/* One datagram; octets copied. -EAGAIN, or an error that came by ICMP. flags: MSG_PEEK. meta may be NULL. */
ssize_t udp_recv(struct udp_sock *u, const struct iovec *iov, int n, int flags, struct udp_meta *meta);
/* Octets of the next datagram (FIONREAD), -1: none is there. */
int udp_readable(const struct udp_sock *u);
/* Datagrams that found the queue full (SO_RXQ_OVFL). */
uint32_t udp_drops(const struct udp_sock *u);
/* The error that came by ICMP, 0: none; it is told once (SO_ERROR). A positive errno. */
int udp_error(struct udp_sock *u);
/* There is one; it is not told by this. */
bool udp_failed(const struct udp_sock *u);
/* What is queued is thrown away. */
void udp_flush(struct udp_sock *u);
/*
 * Level and name of Linux. SOL_SOCKET: SO_RCVBUF 4096..16777216, SO_BROADCAST 0|1. IPPROTO_IP: IP_TTL 1..255, IP_TOS 0..255,
 * IP_MULTICAST_TTL 0..255, IP_MULTICAST_LOOP 0|1, IP_MTU_DISCOVER: IP_PMTUDISC_WANT (fragments of what is longer than the MTU is
 * known to be), _DONT (likewise, and routers may), _DO and _PROBE (none), _INTERFACE (none, and routers may) and _OMIT (as _DONT), both
 * of which do not believe that a path is narrower than the interface.
 * -ENOPROTOOPT, -EINVAL: outside of the range.
 */
int udp_opt_set(struct udp_sock *u, int level, int name, int value);
int udp_opt_get(const struct udp_sock *u, int level, int name, int *value);

#endif /* UDP_UDP_H */
