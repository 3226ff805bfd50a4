/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Inside the network side of a port. What packets say and what is answered is code on bytes, with time as an argument
 * (net_wire.c, frame.c, arp.c, nd.c, echo.c, refuse.c, ended.c, neigh.c); mbufs, threads and the port are around it (net.c, addr.c, netdev.c).
 *
 * Two locks: the port's, which serialises changes of addresses and is held while the provider takes the table; and
 * net->lock, which is held for moments only. Only the port's thread sends.
 */
#ifndef ROCE_NET_NET_PRIV_H
#define ROCE_NET_NET_PRIV_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/queue.h>

#include "neigh.h"
#include "net.h"

/* An address of the port. The first one is the link-local address of the MAC, which every port has. */
struct trn_addr {
	union ibv_gid gid; /* IPv4 as ::ffff:a.b.c.d */
	uint8_t prefix;    /* bits of gid: 96 more than those of an IPv4 prefix */
	uint16_t vlan;
	bool valid;
	bool kernel; /* follows a kernel interface, which announces it itself */
};

/* What a port is declared to have; changed as a whole. */
struct trn_addrs {
	struct trn_addr addr[TP_ROCE_GIDS];
	struct troce_gid table[TP_ROCE_GIDS];
	union ibv_gid router4, router6; /* zero: none */
};

/* What an address does by itself. */
struct trn_announce {
	uint8_t left; /* announcements */
	uint64_t at;
	uint64_t defended; /* not again before this time */
};

/* At most burst at once, and one each interval_ns in the long run. */
struct trn_rate {
	uint64_t interval_ns, burst_ns, at;
};

struct trn_counters {
	uint64_t asked, answered, announced, echoes, refused, ended; /* sent */
	uint64_t malformed, conflicts, limited; /* received: refused; someone has our address; not answered */
	uint64_t no_mbuf, tx_dropped;
};

struct trn_netdev;                      /* netdev.c */
STAILQ_HEAD(trn_ended_list, trn_ended); /* ended.c */

struct troce_net {
	pthread_mutex_t lock; /* of all below, but the thread's */
	struct trn_addrs a;
	struct trn_announce ann[TP_ROCE_GIDS]; /* of a.addr */
	struct rte_ether_addr mac;
	struct trn_neighs neighs;
	struct trn_rate answers, echoes, refusals;
	struct trn_counters count;
	bool echo;                          /* nobody else answers pings */
	bool refuses;                       /* connections, while ports are shared */
	_Atomic uint64_t tcp;               /* trn_v4_filter() of the addresses, if it refuses */
	bool shared;                        /* the kernel has the same addresses and sees what comes for them */
	struct trn_ended_list ended, asked; /* connections whose peers are to hear of it; that heard, and do so again */
	struct troce_side *side;            /* when and whether there is something to send */
	/* The port's thread's */
	uint64_t due, mac_due;
	bool allmulti; /* was set by us */
	struct trn_netdev *netdev;
};

/* A control call left something to send. */
static inline void
trn_wake(struct troce_net *net)
{
	atomic_store_explicit(&net->side->woken, 1, memory_order_release);
}

/* --- addresses (gid.c) ------------------------------------------------------------------------------------------- */

static inline bool
trn_is_v4(const union ibv_gid *g)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(g->raw, mapped, sizeof(mapped)) == 0;
}
static inline bool
trn_is_link_local(const union ibv_gid *g)
{
	return g->raw[0] == 0xfe && (g->raw[1] & 0xc0) == 0x80;
}
static inline bool
trn_is_multicast(const union ibv_gid *g)
{
	return g->raw[0] == 0xff || (trn_is_v4(g) && (g->raw[12] & 0xf0) == 0xe0);
}
static inline bool
trn_gid_equal(const union ibv_gid *a, const union ibv_gid *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}
static inline bool
trn_gid_zero(const union ibv_gid *g)
{
	return (g->global.subnet_prefix | g->global.interface_id) == 0;
}
static inline union ibv_gid
trn_gid_v4(rte_be32_t addr)
{
	union ibv_gid g = {.raw = {[10] = 0xff, [11] = 0xff}};

	memcpy(g.raw + 12, &addr, sizeof(addr));
	return g;
}
static inline rte_be32_t
trn_v4(const union ibv_gid *g)
{
	rte_be32_t addr;

	memcpy(&addr, g->raw + 12, sizeof(addr));
	return addr;
}

/* One host, of those that may have a MAC. */
bool trn_is_host(const union ibv_gid *g);
/* The first bits of both are the same. */
bool trn_prefix_match(const union ibv_gid *a, const union ibv_gid *b, unsigned int bits);
/* fe80::/64 and the modified EUI-64 of a MAC (RFC 4291, appendix A) */
union ibv_gid trn_mac_gid(const struct rte_ether_addr *mac);
/* The MAC in such an address; false: it is not one. */
bool trn_gid_mac(const union ibv_gid *gid, struct rte_ether_addr *mac);
/* For the log; as an address, not as a GID */
#define TRN_STR_LEN 48
const char *trn_str(const union ibv_gid *gid, char str[TRN_STR_LEN]);

void trn_addrs_init(struct trn_addrs *a, enum tp_roce_mode mode, const struct rte_ether_addr *mac);
/* 0, EEXIST, ENOSPC */
int trn_addrs_add(struct trn_addrs *a, enum tp_roce_mode mode, const struct trn_addr *addr);
void trn_addrs_del(struct trn_addrs *a, unsigned int slot);
void trn_addrs_set_mac(struct trn_addrs *a, const struct rte_ether_addr *mac);
/* Its slot; -1 */
int trn_addrs_find(const struct trn_addrs *a, const union ibv_gid *gid, uint16_t vlan);
/* A network of ours has it. */
bool trn_on_link(const struct trn_addrs *a, const union ibv_gid *gid, uint16_t vlan);
/* Whose MAC packets from src to dst carry: dst's, or a router's. 0 or EHOSTUNREACH. */
int trn_next_hop(const struct trn_addrs *a, const struct troce_gid *src, const union ibv_gid *dst, union ibv_gid *hop);

/* --- changes (addr.c); the port's lock is held ------------------------------------------------------------------- */

/* Puts next into force; what the provider refuses changes nothing. */
int trn_commit(struct troce_dev *dev, const struct trn_addrs *next);

/* --- packets (net_wire.c, frame.c, arp.c, nd.c, echo.c, refuse.c); net->lock is held -------------------------------------- */

#define TRN_FRAME_MAX 128u

/* A received frame, its tag taken off. */
struct trn_frame {
	const struct rte_ether_addr *dst, *src;
	const uint8_t *l3;
	uint32_t len; /* from l3 to the end */
	uint16_t vlan, type;
};

/* A frame to send. */
struct trn_out {
	uint8_t data[TRN_FRAME_MAX];
	unsigned int len; /* 0: none */
};

enum trn_verdict {
	TRN_OTHER, /* not ours */
	TRN_OURS,
};

/*
 * Looks so far into a received frame as to see whether it concerns us at all. tci: of the tag that the port took off, 0: it took
 * none. echo: IPv4's ICMP does.
 */
bool trn_classify(const uint8_t *data, uint32_t len, uint16_t tci, bool echo, struct trn_frame *f);
bool trn_rate_ok(struct trn_rate *r, uint64_t now);
/* The Ethernet header; where the rest goes. */
uint8_t *trn_eth(struct trn_out *out, const struct rte_ether_addr *dst, const struct rte_ether_addr *src, uint16_t vlan,
		 uint16_t type);
/* Up to the shortest frame */
void trn_close(struct trn_out *out, const uint8_t *end);
/* Someone else says that it has our address. */
void trn_conflict(struct troce_net *net, unsigned int slot, const struct rte_ether_addr *mac, uint64_t now);
/* ARP, neighbour discovery: what it says, and the answer. */
enum trn_verdict trn_input(struct troce_net *net, const struct trn_frame *f, uint64_t now, struct trn_out *out);
typedef void (*trn_send_fn)(void *arg, const struct trn_out *out);
/* Questions and announcements that are due; how many; net->due is when the next are. */
unsigned int trn_run(struct troce_net *net, uint64_t now, trn_send_fn send, void *arg);

enum trn_verdict trn_arp_input(struct troce_net *net, const struct trn_frame *f, uint64_t now, struct trn_out *out);
/* ask: who has target, tell sender. dst: one host, or NULL, everybody */
void trn_arp_ask(const struct rte_ether_addr *mac, const struct rte_ether_addr *dst, uint16_t vlan, rte_be32_t sender,
		 rte_be32_t target, struct trn_out *out);

enum trn_verdict trn_nd_input(struct troce_net *net, const struct trn_frame *f, uint64_t now, struct trn_out *out);
void trn_nd_ask(const struct rte_ether_addr *mac, const struct rte_ether_addr *dst, uint16_t vlan,
		const union ibv_gid *sender, const union ibv_gid *target, struct trn_out *out);
/* Tells all nodes; nobody asked. */
void trn_nd_announce(const struct rte_ether_addr *mac, uint16_t vlan, const union ibv_gid *target, struct trn_out *out);

/* Turns an echo request for one of our addresses around, in place. l3: where IP begins, len: bytes there. */
bool trn_echo(struct troce_net *net, struct rte_ether_hdr *eth, uint8_t *l3, uint32_t len, uint16_t type,
	      uint16_t vlan);

/*
 * Segments of TCP that no program takes. The filter has a bit of each address, so that few frames for others are looked at with the
 * lock. trn_refuse(): RST for one to an address of ours; false: it is left alone.
 */
static inline uint64_t
trn_v4_bit(rte_be32_t ip)
{
	const uint32_t v = rte_be_to_cpu_32(ip);

	return UINT64_C(1) << ((v ^ v >> 8 ^ v >> 16) & 63);
}
uint64_t trn_v4_filter(const struct trn_addrs *a);
bool trn_refuses(void);
bool trn_is_tcp(const struct trn_frame *f, uint64_t filter);
bool trn_refuse(struct troce_net *net, const struct trn_frame *f, struct trn_out *out);

/* What troce_tcp_ended() left to do and is due (ended.c); how many frames. */
unsigned int trn_ended_run(struct troce_net *net, uint64_t now, trn_send_fn send, void *arg);
void trn_ended_free(struct troce_net *net);

/* --- the kernel's interface (netdev.c) --------------------------------------------------------------------------- */

/*
 * Makes the addresses that follow the kernel those of the list. true: something changed. full: not all of them have room.
 */
bool trn_follow(struct trn_addrs *a, enum tp_roce_mode mode, const struct trn_addr *list, unsigned int n, bool *full);
/* 0 or a positive errno */
int trn_netdev_start(struct troce_dev *dev);
void trn_netdev_stop(struct troce_dev *dev);

#endif /* ROCE_NET_NET_PRIV_H */
