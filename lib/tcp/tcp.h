/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * TCP over IPv4 (RFC 9293) as code on packets and time: no I/O, thread, clock or global. Frames come in by tcp_input and
 * leave by an operation of the home; time is an argument, in microseconds, and never goes back. A stack belongs to one
 * thread at a time; any number of stacks may exist.
 *
 * The order of calls is free: tcp_input for frames that arrived, the calls of connections, then tcp_run, which sends what
 * is due, and again when tcp_deadline has passed. tcp_run and tcp_input send, and tcp_abort and tcp_close where many resets
 * wait. The time of a call is that of the last tcp_input or tcp_run. Addresses and ports are in network order everywhere.
 * What returns int or ssize_t returns a negative errno on failure.
 *
 * docs/tcp.md says which RFCs are obeyed and which tests prove it.
 */
#ifndef TCP_TCP_H
#define TCP_TCP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <netinet/tcp.h> /* states, options and struct tcp_info are Linux's */

#include <rte_ether.h>
#include <rte_mbuf.h>

#include "note.h"

#define TCP_NEVER UINT64_MAX

/* Data room of a pool's mbufs: own notes and headers stand in front of the payload. */
#define TCP_MBUF_FRONT 192u
#define TCP_MBUF_ROOM_MIN (TCP_MBUF_FRONT + 536u)

struct tcp_stack;
struct tcp_conn;

struct tcp_addr {
	rte_be32_t ip; /* 0: any, or the one that the path names */
	rte_be16_t port;
};

/* How frames for an address leave. */
struct tcp_path {
	struct rte_ether_addr src, dst;
	rte_be32_t local; /* address to use when the caller named none */
	uint16_t mtu;     /* of IP packets, 88..9600; what is outside counts as the nearer end */
	uint16_t vlan;    /* VLAN tag, 0: none */
};

/* What event() says; each is an edge. */
enum tcp_event {
	TCP_EV_READABLE = 1, /* data, the end of data, or a connection to accept */
	TCP_EV_WRITABLE = 2, /* room for data, or the connection is there */
	TCP_EV_HUP = 4,      /* over in both directions */
	TCP_EV_ERROR = 8,    /* tcp_error says which */
};

/* Operations of a home. None of them may call the stack. */
struct tcp_home {
	/* Takes the first frames of a list; how many. What it does not take is offered again. */
	uint16_t (*tx)(void *home, struct rte_mbuf **m, uint16_t n);
	/* 0; -EAGAIN: not known yet, it will be asked again; else no way, a negative errno. local may be 0. */
	int (*path)(void *home, rte_be32_t local, rte_be32_t remote, struct tcp_path *path);
	/* Is this address one of ours? */
	bool (*local)(void *home, rte_be32_t ip);
	void (*event)(void *home, struct tcp_conn *conn, void *user, unsigned int events);
	uint32_t (*random)(void *home);
	/* A connection with a user that is not NULL has another state, as tcp_state() tells; NULL: nobody hears of it. */
	void (*state)(void *home, void *user, int state);
	/* What comes to this port of ours and is of no connection is another stack's to answer; NULL: of no port. */
	bool (*quiet)(void *home, rte_be16_t port);
};

enum tcp_cc { TCP_CC_CUBIC, TCP_CC_RENO, TCP_CC_NONE };

/* RFC 3168: ECN on connections whose peer asks for it, on own ones, too, or on none. Linux's tcp_ecn 2, 1 and 0. */
enum tcp_ecn { TCP_ECN_PASSIVE, TCP_ECN_ON, TCP_ECN_OFF };

/* 0 in a member means its default. */
struct tcp_conf {
	struct rte_mempool *pool;    /* of frames that are sent; data room from TCP_MBUF_ROOM_MIN on */
	uint32_t max_conns;          /* connections, 1..1048576; 100000 */
	uint32_t max_time_wait;      /* 1..1048576; 100000; the oldest goes when there are more */
	struct rte_mempool *rx_pool; /* of frames that come; NULL: it has always enough */
	/*
	 * Mbufs of each that data does not take, 0..; 0: what is sent may be all of them, and then nothing is acknowledged; what was
	 * not read, too, and then no acknowledgement comes. Above it, a connection has at most as many unread ones as are left; what
	 * comes then is copied.
	 */
	uint32_t reserve;
	/*
	 * Octets on the heap, 1..2147483648; 16777216: where rx_pool has only the reserve left, data is copied there. A connection with
	 * less than 4096 unread goes beyond.
	 */
	uint32_t max_copied;
	uint32_t max_ooo_mbufs;      /* mbufs that wait for what is missing in front of them, 1..; 16384 */
	uint32_t sndbuf, rcvbuf;     /* bytes a connection, 4096..16777216; 1048576 */
	uint32_t rto_min_ms;         /* 1..1000; 200 (RFC 6298 asks for 1000, which nobody keeps) */
	uint32_t delack_ms;          /* 1..500; 40 (RFC 1122 4.2.3.2: less than 500) */
	uint32_t time_wait_ms;       /* 1..240000; 60000 (2 MSL) */
	uint16_t port_min, port_max; /* host order, of tcp_connect's own choice; 32768..60999 */
	uint8_t syn_retries;         /* 1..15; 6 */
	uint8_t data_retries;        /* 3..30; 15 (RFC 9293 3.8.3: R2) */
	enum tcp_cc cc;              /* congestion control of new connections */
	enum tcp_ecn ecn;            /* what is asked for and agreed to by SYN */
	bool tx_checksum;            /* the device writes checksums of IP and TCP */
	bool tso;                    /* the device cuts segments; needs tx_checksum */
	uint8_t tso_mbufs;           /* of a large send, headers in one of their own not among them, 1..40; 40 */
	bool no_timestamps, no_sack, no_wscale; /* options that are not asked for */
	/*
	 * max_conns places, all zero at first: connections that a peer may believe in, accepted or not, closed or not, until the peer has
	 * acknowledged our FIN after tcp_close(). NULL: nobody asks for them.
	 */
	struct tcp_notes *notes;
};

/* Counters by reason. */
struct tcp_stats {
	uint64_t rx_segments, tx_segments, rx_bytes, tx_bytes;
	/* frames that were not for us or not well-formed */
	uint64_t rx_other, rx_malformed, rx_checksum, rx_fragment, rx_no_conn;
	/* segments that a connection refused */
	uint64_t rx_paws, rx_no_timestamp, rx_outside, rx_bad_ack, rx_no_ack, rx_duplicate, rx_after_close;
	uint64_t rx_ooo, rx_ooo_dropped, rx_backlog_full, rx_no_memory;
	uint64_t rx_scarce, tx_scarce; /* data that the reserve of mbufs kept from being taken: of peers, of programs */
	uint64_t rx_copied;            /* segments whose data was copied, so that it takes no mbuf */
	uint64_t cookies_sent, cookies_good; /* SYN cookies */
	uint64_t tx_rst, tx_challenge, tx_challenge_limited, tx_no_path, tx_no_mbuf, tx_blocked;
	uint64_t retransmits, fast_retransmits, tail_probes, timeouts, window_probes, keepalives, spurious;
	uint64_t rx_ce, ecn_cuts;              /* data that a router marked; windows that were cut for the peer's */
	uint64_t rx_icmp_mtu, rx_icmp_ignored; /* narrower paths that were believed; other ICMP of ours */
	uint64_t mtu_black_holes, mtu_probes,
		mtu_probes_lost; /* RFC 4821: sizes fallen back from, probes of larger ones */
	uint64_t opened, accepted, refused, reset, timed_out, closed /* of opened */, time_waits, time_waits_reused;
};

/* NULL and *err a negative errno: -EINVAL (the range is named in struct tcp_conf), -ENOMEM. *conf is copied. */
struct tcp_stack *tcp_stack_create(const struct tcp_conf *conf, const struct tcp_home *ops, void *home, uint64_t now_us,
				   int *err);
/* Connections end without a word. Every mbuf goes back but those that tx took. */
void tcp_stack_destroy(struct tcp_stack *s);

/* Takes n frames from the Ethernet header on. Chains of mbufs and joined segments (LRO) are welcome, and ICMP, which tells of
 * narrower paths (RFC 1191). */
void tcp_input(struct tcp_stack *s, struct rte_mbuf **m, uint16_t n, uint64_t now_us);
/* Timers, then what is due; how many frames tx took. */
uint32_t tcp_run(struct tcp_stack *s, uint64_t now_us);
/* When tcp_run must be called again if nothing else happens: 0: at once, TCP_NEVER. It may be early, never late. */
uint64_t tcp_deadline(const struct tcp_stack *s);
const struct tcp_stats *tcp_stats(const struct tcp_stack *s);
/* Connections of any state that exist, without those in TIME-WAIT; those in TIME-WAIT. */
uint32_t tcp_conns(const struct tcp_stack *s);
uint32_t tcp_time_waits(const struct tcp_stack *s);
/* Connections whose peer has not acknowledged our FIN, and all before it: those before FIN-WAIT-2. Looks at the whole table. */
uint32_t tcp_unacked(const struct tcp_stack *s);
/* Calls fn for each connection from that port of ours, but those in TIME-WAIT; it may not call the stack. Looks at the whole table. */
void tcp_each(const struct tcp_stack *s, rte_be16_t port,
	      void (*fn)(void *arg, const struct tcp_addr *local, const struct tcp_addr *remote), void *arg);
/* There is one between these, which is not in TIME-WAIT. */
bool tcp_has(const struct tcp_stack *s, const struct tcp_addr *local, const struct tcp_addr *remote);
/* Routes or neighbours changed: each connection asks for its path again. */
void tcp_paths_changed(struct tcp_stack *s);

/* RFC 9293 3.10.1. Passive. backlog 1..65535: while so many wait to be accepted no other begins, and so many may be under way, so
 * that twice as many can come to wait; where more are under way, cookies are sent (RFC 4987), and connections by these have no
 * options but the MSS. -EADDRINUSE, -ENOMEM, -EINVAL. */
struct tcp_conn *tcp_listen(struct tcp_stack *s, const struct tcp_addr *local, uint32_t backlog, void *user, int *err);
/* Active: TCP_EV_WRITABLE says that it is there, TCP_EV_ERROR that it failed. local NULL: any address and port.
 * -EADDRINUSE, -EADDRNOTAVAIL (no port left), -ENOMEM, -ENFILE (max_conns), or what path says. */
struct tcp_conn *tcp_connect(struct tcp_stack *s, const struct tcp_addr *local, const struct tcp_addr *remote,
			     void *user, int *err);
/* NULL: none waits. It has the listener's options and is the caller's from now on. */
struct tcp_conn *tcp_accept(struct tcp_conn *listener, void *user);

/* 3.10.2. Bytes that were taken; 0 only where none were given. -EAGAIN: no room, TCP_EV_WRITABLE follows. -ENOBUFS: the pool is
 * empty, which no event ends, or has its reserve left: TCP_EV_WRITABLE follows where there is a reserve. -EPIPE, -ENOTCONN or
 * the error that ended the connection. flags: MSG_MORE. */
ssize_t tcp_send(struct tcp_conn *c, const struct iovec *iov, int n, int flags);
/* 3.10.3. 0: the end of data. -EAGAIN: nothing there. -ENOTCONN or the error that ended the connection. flags: MSG_PEEK. */
ssize_t tcp_recv(struct tcp_conn *c, const struct iovec *iov, int n, int flags);
/* 3.10.4 for one direction: SHUT_RD, SHUT_WR, SHUT_RDWR. -ENOTCONN. */
int tcp_shutdown(struct tcp_conn *c, int how);
/* Gives the handle back. The connection ends in order, or by RST where data was left unread (RFC 2525 2.17). */
void tcp_close(struct tcp_conn *c);
/* 3.10.5: RST, data is thrown away, the handle is given back. */
void tcp_abort(struct tcp_conn *c);

/* The error that ended it, 0: none; it is told once (SO_ERROR). A positive errno. */
int tcp_error(struct tcp_conn *c);
/* 3.10.6: TCP_ESTABLISHED ... TCP_CLOSING. */
int tcp_state(const struct tcp_conn *c);
void tcp_addrs(const struct tcp_conn *c, struct tcp_addr *local, struct tcp_addr *remote);
/* Bytes to read, bytes of room. */
uint32_t tcp_readable(const struct tcp_conn *c);
uint32_t tcp_writable(const struct tcp_conn *c);
void tcp_info_get(const struct tcp_conn *c, struct tcp_info *info);

/*
 * Level and name of Linux. SOL_SOCKET: SO_KEEPALIVE 0|1, SO_SNDBUF and SO_RCVBUF 4096..16777216 bytes; once SYN is out, the peer
 * is told of no more than the window scale in it can say, 65535 * 2^tcpi_rcv_wscale. IPPROTO_TCP:
 * TCP_NODELAY, TCP_CORK, TCP_QUICKACK 0|1, TCP_MAXSEG 536..9560 (before the connection), TCP_KEEPIDLE and TCP_KEEPINTVL
 * 1..32767 s, TCP_KEEPCNT 1..127, TCP_USER_TIMEOUT 0..2^31-1 ms (0: by retries), TCP_LINGER2 1..3600 s.
 * -ENOPROTOOPT, -EINVAL: outside of the range; -EISCONN: too late.
 */
int tcp_opt_set(struct tcp_conn *c, int level, int name, int value);
int tcp_opt_get(const struct tcp_conn *c, int level, int name, int *value);
/* Congestion control of this connection. */
int tcp_cc_set(struct tcp_conn *c, enum tcp_cc cc);

#endif /* TCP_TCP_H */
