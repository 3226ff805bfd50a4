/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the files of lib/udp share. */
#ifndef UDP_UDP_PRIV_H
#define UDP_UDP_PRIV_H

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "lib/tcp/common.h"
#include "udp.h"

#define UDP_BUCKETS 4096u
#define UDP_GROUPS_MAX 64u
#define UDP_MBUF_COST 512u  /* of a socket's buffer, beside the data */
#define UDP_MBUFS_LEAST 32u /* that a socket may have, however few frames there are */
#define UDP_HDRS ((uint32_t)(sizeof(struct rte_ipv4_hdr) + sizeof(struct rte_udp_hdr)))
#define UDP_DATA_MAX (65535u - UDP_HDRS)

struct udp_group {
	struct udp_group *next;
	rte_be32_t group, source; /* 0: any source */
};

struct udp_sock {
	struct udp_sock *next; /* of the same bucket */
	struct udp_sock *all_next, **all_prev;
	struct udp_stack *s;
	void *user;
	struct tcp_addr local, remote; /* port 0: none */
	struct rte_mbuf *head, *tail;  /* each with a note in front of its data */
	uint32_t queued, mbufs, rcvbuf, drops;
	int error;
	bool share, broadcast, loop;
	bool local_chosen; /* the address came with udp_connect */
	uint8_t ttl, tos, group_ttl, discover;
	uint32_t ngroups;
	struct udp_group *groups;
	/* The way that was asked for last */
	uint32_t path_gen;
	rte_be32_t path_to, path_from;
	struct tcp_path path;
};

/* Stands where a received frame's headers were. */
struct udp_note {
	struct rte_mbuf *next;
	uint64_t us;
	struct tcp_addr from, to;
	uint8_t ttl, tos;
} __attribute__((packed));
_Static_assert(sizeof(struct udp_note) <= RTE_ETHER_HDR_LEN + UDP_HDRS, "a note is no longer than headers");

static inline struct udp_note *
udp_note(const struct rte_mbuf *m)
{
	return (struct udp_note *)(rte_pktmbuf_mtod(m, uint8_t *) - sizeof(struct udp_note));
}

struct udp_frag;

struct udp_stack {
	const struct udp_home *ops;
	void *home;
	uint64_t now;
	struct udp_conf conf;
	struct udp_stats st;
	uint32_t socks, path_gen, key;
	uint16_t ip_id;
	struct udp_sock *all;
	struct udp_frag **frag; /* the oldest first */
	uint32_t nfrags, frag_mbufs;
	uint32_t queued;    /* mbufs in the queues of all sockets */
	uint64_t icmp_from; /* of the second that icmp_sent counts */
	uint32_t icmp_sent;
	struct udp_sock *bucket[UDP_BUCKETS];
};

/* A datagram that arrived, all of it. */
struct udp_gram {
	struct rte_mbuf *m; /* NULL: taken */
	const struct rte_ether_hdr *eth;
	const struct rte_ipv4_hdr *ip;
	const struct rte_udp_hdr *uh;
	uint32_t l2_len, hdr_len, len;
};

static inline bool
udp_is_group(rte_be32_t ip)
{
	return (ip & RTE_BE32(0xf0000000)) == RTE_BE32(0xe0000000);
}
static inline bool
udp_is_fragment(const struct rte_ipv4_hdr *ip)
{
	return (ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) != 0;
}
static inline struct udp_sock **
udp_bucket(struct udp_stack *s, rte_be16_t port)
{
	return &s->bucket[rte_be_to_cpu_16(port) % UDP_BUCKETS];
}

/* --- sock.c --- */
/* A port for a socket that has none. */
int udp_choose_port(struct udp_sock *u);
bool udp_member(const struct udp_sock *u, rte_be32_t group, rte_be32_t source);

/* --- rx.c --- */
/* To the sockets that it is for; false: nobody has the port. */
bool udp_deliver(struct udp_stack *s, struct udp_gram *g, bool to_many);
void udp_queue_free(struct udp_sock *u);

/* --- frag.c --- */
/* Takes m, a fragment that g tells of, up to its last octet: the datagram if it was the last one that was missing. */
struct rte_mbuf *udp_reassemble(struct udp_stack *s, struct rte_mbuf *m, const struct udp_gram *g);
/* Gives up on those whose time is over, or all. */
void udp_frags_expire(struct udp_stack *s, bool all);
uint64_t udp_frags_deadline(const struct udp_stack *s);
/* A copy of [off, off + len) in mbufs of the stack's pool, with room for headers in front; NULL: the pool is empty. */
struct rte_mbuf *udp_copy(struct udp_stack *s, const struct rte_mbuf *m, uint32_t off, uint32_t len);

/* --- tx.c --- */
void udp_tx(struct udp_stack *s, struct rte_mbuf *m);

/* --- icmp.c --- */
/* true: it is about UDP, and the sockets know of it. */
bool udp_icmp_input(struct udp_stack *s, const struct rte_mbuf *m, const struct rte_ipv4_hdr *ip, uint32_t off,
		    uint32_t len);
/* RFC 1122 3.2.2.1: nobody has the port. */
void udp_unreachable(struct udp_stack *s, const struct udp_gram *g);

#endif /* UDP_UDP_PRIV_H */
