/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * An IPoIB interface without its queues: who is where on the link, which groups it is in, and the packets that the datapath
 * does not understand. Time is an argument, everything else that happens comes through struct ipoib_io; one thread at a time.
 * The datapath reads snapshots (view.h) that are made here when something has changed.
 */
#ifndef IPOIB_IFACE_CORE_H
#define IPOIB_IFACE_CORE_H

#include <stdatomic.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>
#include <rte_mbuf.h>

#include "tp_sa.h"
#include "drops.h"
#include "lib/ipoib/wire/ipoib_addr.h"

#define IPOIB_REMOTES 4096u /* neighbours of an interface */
#define IPOIB_GROUPS 512u
#define IPOIB_LOCALS 256u /* addresses of IP behind the port */
#define IPOIB_WAIT 64u    /* packets that wait for one destination */
#define IPOIB_DHCP_CLIENTS 64u
#define IPOIB_CONNS 1024u /* of connected mode */
#define IPOIB_CM_MTU_MIN 1500u
#define IPOIB_BUCKETS 1024u
#define IPOIB_ALIASES 20u   /* queue pairs of a neighbour besides that of its address */
#define IPOIB_HOLD_MS 1000u /* no new question about a destination that had no answer */
#define IPOIB_JOIN_BACKOFF_MAX_MS 16000u
#define IPOIB_NOTICES 3u /* datagrams get lost */
#define IPOIB_NOTICE_MS 1000u

struct ipoib_conn; /* conn.h */

/* What answers and the outside world are to an interface. Calls return 0 or a negative errno. */
struct ipoib_io {
	void *arg;
	/* Answers come by ipoib_core_path() and ipoib_core_member(), never from within the call. */
	int (*path)(void *arg, const uint8_t dgid[16], uint32_t token);
	int (*join)(void *arg, const struct tp_sa_member *want, uint64_t mask, uint32_t token);
	void (*leave)(void *arg, const uint8_t mgid[16], uint8_t join_state);
	int (*attach)(void *arg, const uint8_t mgid[16], uint16_t mlid);
	void (*detach)(void *arg, const uint8_t mgid[16], uint16_t mlid);
	struct ibv_ah *(*ah_create)(void *arg, const struct ibv_ah_attr *attr);
	/* The datapath may still look at them for a moment; memory is freed by free(). */
	void (*ah_retire)(void *arg, struct ibv_ah *ah);
	void (*retire)(void *arg, void *memory);
	/* Takes a packet: encapsulation header and what follows. */
	void (*send)(void *arg, struct ibv_ah *ah, uint32_t qpn, struct rte_mbuf *m);
	void (*deliver)(void *arg, struct rte_mbuf *m); /* takes an Ethernet frame for the application */
	/* The broadcast group was joined (its record: Q_Key, MTU, rate) or is lost (NULL). */
	void (*link)(void *arg, const struct tp_sa_member *broadcast);
	/* Connected mode. Asks the peer; the answer is ipoib_conn_up() or ipoib_conn_over(), not from within the call. */
	int (*conn_open)(void *arg, struct ipoib_conn *conn);
	/* Ends it; ipoib_conn_gone() follows, not from within the call. */
	void (*conn_close)(void *arg, struct ipoib_conn *conn);
	/* Takes a packet, as send(). */
	void (*conn_send)(void *arg, struct ipoib_conn *conn, struct rte_mbuf *m);
};

/* Parameters of I-3, I-5 and I-6; ranges and defaults are in tp_ipoib.h. */
struct ipoib_core_conf {
	uint16_t pkey;
	uint8_t scope;        /* of the broadcast group's MGID */
	uint8_t guid_mask;    /* 0: the default rules */
	bool connected;       /* the hardware address offers RC */
	bool refuse_incoming; /* connections that peers ask for */
	uint32_t cm_mtu;      /* connected mode: octets of IP that are taken and sent at most */
	uint32_t age_interval_ms, age;
	uint32_t monitor_ms, query_runs, leave_runs;
};

/* Where the port is on the fabric. */
struct ipoib_place {
	bool active; /* link up, P_Key in the port's table */
	uint16_t lid;
	uint8_t lmc;
	uint8_t gid[16];
	uint32_t qpn;
};

enum ipoib_path_state { IPOIB_PATH_NONE, IPOIB_PATH_ASKED, IPOIB_PATH_KNOWN, IPOIB_PATH_FAILED };

/* Packets that wait for an answer. */
struct ipoib_wait {
	struct rte_mbuf *pkts[IPOIB_WAIT];
	unsigned int n;
};

struct ipoib_remote {
	SLIST_ENTRY(ipoib_remote) by_mac, by_qpn;
	uint32_t index;
	uint32_t token;  /* of the question that is under way */
	uint8_t touched; /* the datapath writes 1 */
	bool named;      /* hw is known; otherwise LID and QPN of a packet, and with placed the GID of its GRH */
	bool placed;
	bool renew; /* known, but asked for again */
	enum ipoib_path_state state;
	struct rte_ether_addr mac;
	struct ipoib_hw hw;
	uint32_t qpn;
	uint16_t slid;                 /* 0: not seen */
	uint8_t aliases;               /* how many there are */
	uint32_t alias[IPOIB_ALIASES]; /* other queue pairs that it sends by from there */
	struct tp_sa_path path;        /* when it is known */
	struct ibv_ah *ah;
	struct ipoib_conn *conn; /* by which it is sent to; NULL: none */
	uint64_t conn_hold_ms;   /* it is not asked for one before */
	uint32_t conn_backoff_ms;
	bool conn_refused; /* the last answer to a request for one, or there was no room for it */
	uint32_t idle;     /* runs of ageing without use */
	uint64_t hold_ms;
	struct ipoib_wait wait;
};

enum ipoib_group_state { IPOIB_GROUP_IDLE, IPOIB_GROUP_JOINING, IPOIB_GROUP_JOINED };

/* Why there is a group; it goes when nothing is left. */
enum ipoib_group_why {
	IPOIB_WHY_BASE = 1,  /* broadcast, all hosts, all nodes */
	IPOIB_WHY_SNOOP = 2, /* the application reported it */
	IPOIB_WHY_MAC = 4,   /* the application listed its address */
	IPOIB_WHY_SEND = 8,  /* the application sends to it */
};
#define IPOIB_WHY_RECEIVE (IPOIB_WHY_BASE | IPOIB_WHY_SNOOP | IPOIB_WHY_MAC)

struct ipoib_group {
	uint32_t index;
	uint32_t token; /* of the question that is under way; 0: none */
	uint8_t touched, why;
	bool attached, failed, renew;
	bool ipv6;
	enum ipoib_group_state state;
	uint8_t mgid[16];
	struct tp_sa_member member; /* when joined */
	struct ibv_ah *ah;
	uint32_t idle, runs; /* runs of ageing without use, of the monitor without a report */
	uint32_t backoff_ms;
	uint64_t retry_ms;
	struct ipoib_wait wait;
};

/* An address of IP behind the port, with the MAC that its owner has there. */
struct ipoib_local {
	bool valid;
	bool router; /* its owner's advertisements say so */
	uint8_t touched;
	uint32_t idle;
	uint8_t ip[16]; /* IPv4 mapped */
	struct rte_ether_addr mac;
};

struct ipoib_dhcp_client {
	uint32_t xid;
	struct rte_ether_addr mac;
	bool valid, afar; /* afar: of the fabric, and by that MAC; else of this side */
};

/* A packet that came and is none of IPv4, IPv6 and ARP. */
struct ipoib_odd {
	uint32_t len; /* octets with its encapsulation; 0: none */
	uint32_t qpn; /* of the sender */
	uint16_t slid, type;
	uint8_t begin[16]; /* what is behind the encapsulation */
};

struct ipoib_core_stats {
	uint64_t drop[IPOIB_DROP_NUM];
	uint64_t tx_arp, tx_nd, tx_dhcp, tx_reports, rx_arp, rx_nd, rx_dhcp, rx_learned;
	uint64_t paths_asked, paths_failed, joins, joins_failed, leaves, queries, aged, events;
	uint64_t conns_asked, conns_up, conns_accepted, conns_refused, conns_failed, conns_closed, conns_declined,
		too_big_told;
};

struct ipoib_core {
	struct ipoib_core_conf conf;
	struct ipoib_io io;
	struct rte_mempool *pool;
	uint64_t guid;
	struct rte_ether_addr mac;
	struct ipoib_place place;
	bool up;                 /* the broadcast group is joined */
	bool dirty;              /* the datapath's snapshot is old */
	uint32_t mtu_limit, mtu; /* octets of IP: configured; that and the broadcast group's */
	uint64_t now_ms, age_ms, monitor_ms;
	uint32_t next_mac; /* of the counter */
	uint32_t questions;
	struct ipoib_group *broadcast;
	struct ipoib_remote *remote[IPOIB_REMOTES];
	struct ipoib_group *group[IPOIB_GROUPS];
	uint32_t num_remotes, num_groups, num_locals, num_aliases;
	SLIST_HEAD(ipoib_remotes, ipoib_remote) by_mac[IPOIB_BUCKETS], by_qpn[IPOIB_BUCKETS];
	struct ipoib_local local[IPOIB_LOCALS];
	struct ipoib_dhcp_client dhcp[IPOIB_DHCP_CLIENTS];
	uint32_t dhcp_next;
	TAILQ_HEAD(ipoib_conns, ipoib_conn) conns;
	uint32_t num_conns;
	uint64_t conn_hold_ms; /* when the first of those that refused may be asked again */
	unsigned int notices;  /* neighbours are still told so often of another mode */
	uint64_t notice_ms;    /* and next then */
	/*
	 * Of the last packet that was too long, until it is told: its octets of IP and, in the lower half, those that pass. 0: none.
	 * Bursts write it, too.
	 */
	_Atomic uint64_t too_long;
	uint64_t too_big_ms;           /* no answer to a packet that is too long before */
	struct ipoib_odd odd;          /* the last packet of an unknown type, until it is told */
	struct ipoib_core_stats stats; /* the last: they outlive what else a new beginning forgets */
};

static inline void
ipoib_note_long(struct ipoib_core *c, uint32_t len, uint32_t limit)
{
	atomic_store_explicit(&c->too_long, (uint64_t)len << 32 | limit, memory_order_relaxed);
}

/* --- questions --------------------------------------------------------------------------------------------------- */

#define IPOIB_TOKEN_BITS 12u
_Static_assert(IPOIB_REMOTES <= 1u << IPOIB_TOKEN_BITS && IPOIB_GROUPS <= 1u << IPOIB_TOKEN_BITS, "places fit a token");

/* Names a question by who asks and by a number, so that an answer never reaches who has the place of one that has gone. */
static inline uint32_t
ipoib_token(struct ipoib_core *c, uint32_t index)
{
	return ++c->questions << IPOIB_TOKEN_BITS | index;
}
static inline uint32_t
ipoib_token_index(uint32_t token)
{
	return token & ((1u << IPOIB_TOKEN_BITS) - 1);
}

/* --- core.c: life and events --------------------------------------------------------------------------------------- */

/*
 * pool: mbufs of packets that are written anew. mac: NULL: by the GUID's rules. Counters go on from what the memory says,
 * which is zero when it is new.
 */
void ipoib_core_init(struct ipoib_core *c, const struct ipoib_core_conf *conf, const struct ipoib_io *io,
		     struct rte_mempool *pool, uint64_t guid, const struct rte_ether_addr *mac, uint32_t mtu_limit);
/* Leaves all groups, forgets everybody. */
void ipoib_core_fini(struct ipoib_core *c);
/* The port came, went or moved. */
void ipoib_core_place(struct ipoib_core *c, const struct ipoib_place *place);
/* The subnet manager changed, or asks for registration anew: what is known is asked for again, and used until then. */
void ipoib_core_renew(struct ipoib_core *c);
void ipoib_core_path(struct ipoib_core *c, uint32_t token, int status, const struct tp_sa_path *path);
void ipoib_core_member(struct ipoib_core *c, uint32_t token, int status, const struct tp_sa_member *member);
/*
 * Connections are offered from now on, or no more. Neighbours that have our hardware address ask for some until they know, and
 * drop what was to go by them, so with tell they are told where the addresses behind the port are.
 */
void ipoib_core_mode(struct ipoib_core *c, bool connected, bool tell);
/* Time passes: retries, ageing, the monitor of groups. */
void ipoib_core_tick(struct ipoib_core *c, uint64_t now_ms);
/* Groups of the application's list of multicast addresses; others of an earlier list go. */
void ipoib_core_mac_groups(struct ipoib_core *c, const struct rte_ether_addr *macs, unsigned int n);

/* --- packet.c: packets that the datapath hands over ----------------------------------------------------------------- */

/* What came with a packet. */
struct ipoib_meta {
	uint32_t qpn; /* of the sender */
	uint16_t slid;
	bool grh;         /* the 40 octets in front are one */
	uint32_t by_conn; /* number of our queue pair, when it came by a connection; the others are 0 then */
};
/* A packet in one buffer, with what it asks for; NULL: the pool has none, or none that is long enough. */
struct rte_mbuf *ipoib_copy(struct rte_mempool *pool, const struct rte_mbuf *m);
/* An Ethernet frame to be sent; takes it. */
void ipoib_core_tx(struct ipoib_core *c, struct rte_mbuf *m);
/* A packet that came, with the room for its GRH in front; takes it. */
void ipoib_core_rx(struct ipoib_core *c, struct rte_mbuf *m, const struct ipoib_meta *meta);

/* --- neighbour.c --------------------------------------------------------------------------------------------------- */

static inline struct ipoib_hw
ipoib_own_hw(const struct ipoib_core *c)
{
	struct ipoib_hw hw;

	ipoib_hw_set(&hw, c->conf.connected ? IPOIB_HW_RC : 0, c->place.qpn, c->place.gid);
	return hw;
}
struct ipoib_remote *ipoib_remote_by_mac(struct ipoib_core *c, const struct rte_ether_addr *mac);
/* Finds or makes it. NULL: no memory or too many. */
struct ipoib_remote *ipoib_remote_get(struct ipoib_core *c, const struct ipoib_hw *hw);
/* Who sent a packet with a GRH: by GID and, when there are several, QPN. NULL: no room. */
struct ipoib_remote *ipoib_remote_of_gid(struct ipoib_core *c, const struct ipoib_hw *hw);
/* Who sent one without: by LID and QPN, by LID alone, or a new one. NULL: no room. */
struct ipoib_remote *ipoib_remote_of(struct ipoib_core *c, const struct ipoib_meta *meta);
/* A neighbour was heard from there. */
void ipoib_remote_seen(struct ipoib_core *c, struct ipoib_remote *r, const struct ipoib_meta *meta);
/* Makes a neighbour with a MAC that it has elsewhere; rename: also one that is known has this MAC from now on. */
void ipoib_remote_name(struct ipoib_core *c, const struct ipoib_hw *hw, const struct rte_ether_addr *mac, bool rename);
/* Sends a packet, or lets it wait for the path; takes it. */
void ipoib_remote_send(struct ipoib_core *c, struct ipoib_remote *r, struct rte_mbuf *m);
/* What waits for it is sent, or waits for something else. */
void ipoib_remote_wait_again(struct ipoib_core *c, struct ipoib_remote *r);
void ipoib_remote_free(struct ipoib_core *c, struct ipoib_remote *r);
void ipoib_remotes_renew(struct ipoib_core *c);
void ipoib_remotes_age(struct ipoib_core *c);

/* --- group.c ------------------------------------------------------------------------------------------------------- */

struct ipoib_group *ipoib_group_find(struct ipoib_core *c, const uint8_t mgid[16]);
/* A reason for a group; NULL: no memory or too many. */
struct ipoib_group *ipoib_group_want(struct ipoib_core *c, const uint8_t mgid[16], uint8_t why);
void ipoib_group_unwant(struct ipoib_core *c, struct ipoib_group *g, uint8_t why);
void ipoib_group_send(struct ipoib_core *c, const uint8_t mgid[16], struct rte_mbuf *m);
/* The port is there: joins the broadcast group, and behind it the others. */
void ipoib_groups_start(struct ipoib_core *c);
void ipoib_groups_stop(struct ipoib_core *c);
void ipoib_groups_renew(struct ipoib_core *c);
void ipoib_groups_free(struct ipoib_core *c);
void ipoib_groups_retry(struct ipoib_core *c);
void ipoib_groups_age(struct ipoib_core *c);
/* The monitor of I-6 runs. */
void ipoib_groups_monitor(struct ipoib_core *c);

/* --- query.c ------------------------------------------------------------------------------------------------------- */

/* A general query for the application's hosts, as a router would send it. */
void ipoib_query(struct ipoib_core *c, bool ipv6);

/* --- local.c ------------------------------------------------------------------------------------------------------- */

void ipoib_local_seen(struct ipoib_core *c, const uint8_t ip[16], const struct rte_ether_addr *mac);
/* Its owner is a router, or is none. */
void ipoib_local_router(struct ipoib_core *c, const uint8_t ip[16], bool router);
/* The MAC of an address of IP behind us; the port's own when nobody else has it. */
const struct rte_ether_addr *ipoib_local_mac(struct ipoib_core *c, const uint8_t ip[16]);
bool ipoib_local_has(const struct ipoib_core *c, const struct rte_ether_addr *mac);
void ipoib_locals_age(struct ipoib_core *c);
static inline void
ipoib_v4_mapped(const uint8_t v4[4], uint8_t ip[16])
{
	memset(ip, 0, 10);
	ip[10] = ip[11] = 0xff;
	memcpy(ip + 12, v4, 4);
}

static inline void
ipoib_drop(struct ipoib_core *c, enum ipoib_drop why, struct rte_mbuf *m)
{
	c->stats.drop[why]++;
	rte_pktmbuf_free(m);
}

/* --- wait.c -------------------------------------------------------------------------------------------------------- */

/* Where there is no room for it the packet is dropped. */
void ipoib_wait_put(struct ipoib_core *c, struct ipoib_wait *w, struct rte_mbuf *m);
void ipoib_wait_drop(struct ipoib_core *c, struct ipoib_wait *w, enum ipoib_drop why);

#endif /* IPOIB_IFACE_CORE_H */
