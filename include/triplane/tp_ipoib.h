/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * IP over InfiniBand as ethdevs (RFC 4391, 4392). An IPoIB port is made by `--vdev=net_ipoib0,port=net_mlx4_model0/1` or at
 * run time by tp_ipoib_add(), and is an Ethernet port to its application: MACs stand for hardware addresses, ARP, neighbour
 * discovery and DHCP are translated, groups of IP are joined as they are reported or sent to. What goes beyond ethdev is here.
 *
 * Errors: functions give 0 or a negative errno; a refusal is one line in the log. Threads: any.
 */
#ifndef TP_IPOIB_H
#define TP_IPOIB_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TP_IPOIB_PORTS_PER_PORT 32u /**< IPoIB ports on an InfiniBand port */
#define TP_IPOIB_PORTS_PER_CARD 64u
#define TP_IPOIB_MTU_MIN 1500u
#define TP_IPOIB_MTU_MAX 4092u /**< octets of IP in datagram mode */
#define TP_IPOIB_MTU 2044u
#define TP_IPOIB_CM_MTU_MAX 65520u /**< octets of IP in connected mode, and the default there */
#define TP_IPOIB_NAME 64u
#define TP_IPOIB_MAC_GROUPS 128u /**< addresses of rte_eth_dev_set_mc_addr_list() */

/** What an IPoIB port is made with. */
struct tp_ipoib_conf {
	char device[TP_IPOIB_NAME]; /**< InfiniBand port, "net_mlx4_model0/1" */
	uint16_t pkey;              /**< of the partition, with or without the membership bit; 0: 0xffff */
	/**
	 * TP_IPOIB_MTU_MIN..TP_IPOIB_MTU_MAX; 0: TP_IPOIB_MTU_MAX when the mbufs of all receive queues have room for it, else
	 * TP_IPOIB_MTU. The broadcast group may have less, which is then what counts; rte_eth_dev_get_mtu() tells it once the
	 * port is up.
	 */
	uint16_t mtu;
	bool connected;       /**< connected mode (RFC 4755) */
	uint16_t cm_mtu;      /**< of connected mode: TP_IPOIB_MTU_MIN..TP_IPOIB_CM_MTU_MAX; 0: TP_IPOIB_CM_MTU_MAX */
	bool refuse_incoming; /**< connected mode: makes connections, and refuses those that peers ask for */
	uint8_t guid_mask;    /**< six bits of eight: octets of the GUID that make the MAC; 0: the rules of vendors */
	bool has_mac;
	struct rte_ether_addr mac; /**< with has_mac: instead of the GUID's */
	uint32_t age_interval_ms;  /**< 10000..1200000; 0: 60000 */
	uint32_t age;              /**< intervals without use until a neighbour or address is forgotten, 1..20; 0: 5 */
	uint32_t monitor_ms;       /**< of group membership, 1000..300000; 0: 30000 */
	uint32_t query_runs;       /**< runs of the monitor without a report until it asks, 1..10; 0: 3 */
	uint32_t leave_runs;       /**< and without an answer until the group is left, 1..10; 0: 2 */
};

/**
 * Sets a member by the name that it has as an argument of net_ipoib: "pkey", "cm-mtu", "mac" ... Numbers are decimal or with 0x.
 * @return 0; -ENOENT no such name, -EINVAL a value out of its range, which is said in the log.
 */
int tp_ipoib_conf_set(struct tp_ipoib_conf *conf, const char *name, const char *value);
/**
 * Changes one of a port that is there: connected (tp_ipoib_mode_set()), refuse-incoming, age-interval, age, monitor, query-runs,
 * leave-runs; the port may be started. Connections of peers that are there stay with refuse-incoming. Intervals begin anew.
 * @return what tp_ipoib_conf_set() and tp_ipoib_mode_set() return; -ENODEV no IPoIB port, -EPERM the port is made with it.
 */
int tp_ipoib_change(uint16_t port_id, const char *name, const char *value);
/** These names, from i = 0 on; NULL past the last. */
const char *tp_ipoib_conf_name(unsigned int i);

/**
 * Makes an IPoIB port, an ethdev net_ipoibN.
 * @param[out] port_id
 * @return 0; -EINVAL a value out of its range, -ENODEV no such InfiniBand port, -EBUSY somebody else has it open, -ENOSPC 32 of the
 *   port or 64 of the card are there, or as many ports as DPDK has places for (RTE_MAX_ETHPORTS), -EEXIST the partition has one on
 *   this port, -ENOMEM, -EIO.
 */
int tp_ipoib_add(const struct tp_ipoib_conf *conf, uint16_t *port_id);
/** Takes a stopped one away. @return 0, -ENODEV, -EBUSY it is started. */
int tp_ipoib_rem(uint16_t port_id);

/**
 * Connected or datagram mode, also while the port is started and forwards: connections that are there end. Neighbours are
 * told three times within 2 s by gratuitous ARP and unsolicited advertisements (RFC 4861, 7.2.6), those of a failover pair learn it
 * with the next ARP or neighbour discovery of hosts behind the port.
 * @return 0; -ENODEV no IPoIB port, -EINVAL its mbufs are too small for cm_mtu, -ENOTSUP it has several transmit queues,
 *   -EBUSY its receive queue 0 is stopped, -ENOMEM, -EIO.
 */
int tp_ipoib_mode_set(uint16_t port_id, bool connected);

enum tp_ipoib_state {
	TP_IPOIB_STOPPED,
	TP_IPOIB_LINK_DOWN, /**< the InfiniBand port is not active */
	TP_IPOIB_NO_PKEY,   /**< the P_Key is not in the port's table */
	TP_IPOIB_JOINING,   /**< the broadcast group is not joined yet */
	TP_IPOIB_UP,
};
const char *tp_ipoib_state_name(enum tp_ipoib_state state);

/** An IPoIB port as it is. */
struct tp_ipoib_info {
	char name[TP_IPOIB_NAME], device[TP_IPOIB_NAME];
	enum tp_ipoib_state state;
	uint16_t pkey;      /**< asked for */
	uint16_t pkey_used; /**< in the port's table, 0: not there */
	bool pkey_full;
	uint16_t lid, mtu;
	uint32_t qpn, qkey;
	uint64_t guid;
	struct rte_ether_addr mac;
	uint8_t hw[20]; /**< hardware address */
	uint32_t remotes, groups, locals;
	bool connected;            /**< mode */
	uint16_t cm_mtu;           /**< of connected mode */
	uint32_t conns_out;        /**< connections that are there: by which it sends, */
	uint32_t conns_in;         /**< and by which peers send */
	struct tp_ipoib_conf conf; /**< in force, without zeros for defaults */
};
/** @return 0, -ENODEV: no IPoIB port. */
int tp_ipoib_info(uint16_t port_id, struct tp_ipoib_info *info);

/** A neighbour, group or address behind the port. */
struct tp_ipoib_endpoint {
	struct rte_ether_addr mac;
	uint8_t hw[20];    /**< remote: hardware address; groups: the MGID in the last 16 */
	uint8_t ip[16];    /**< local: the address, IPv4 mapped */
	uint16_t lid;      /**< remote: the path's; groups: the group's; 0: not known */
	uint8_t sl, rate;  /**< of path or group; rate: enum ibv_rate */
	uint16_t mtu;      /**< of path or group, octets; 0: not known */
	const char *state; /**< "known", "asked", "failed", "none"; "joined", "joining", "idle" */
	bool receives;     /**< groups: it is heard */
	bool sends;        /**< groups: it is sent to */
	bool offers;       /**< remote: its hardware address offers connections */
	uint16_t cm_mtu;   /**< remote: octets of IP by the connection to it; 0: there is none */
};
enum tp_ipoib_table { TP_IPOIB_REMOTE, TP_IPOIB_MULTICAST, TP_IPOIB_LOCAL };
typedef void (*tp_ipoib_endpoint_fn)(void *arg, const struct tp_ipoib_endpoint *e);
/** Calls fn for each entry, with the port's lock held: fn calls nothing of this file. @return 0, -ENODEV. */
int tp_ipoib_endpoints(uint16_t port_id, enum tp_ipoib_table table, tp_ipoib_endpoint_fn fn, void *arg);

typedef void (*tp_ipoib_counter_fn)(void *arg, const char *name, const char *text, uint64_t value);
/**
 * Calls fn for each counter, always the same ones in the same order; drops by reason among them. The last ones, card_*, are those of
 * the card's transport: of all that use the InfiniBand port, since the card was started, modulo 2^32; no reset touches them.
 * @return 0, -ENODEV, -EIO: the card does not tell its own, all others were given.
 */
int tp_ipoib_counters(uint16_t port_id, tp_ipoib_counter_fn fn, void *arg);

/** What a port has counted since it was made, whatever rte_eth_stats_reset() did; as the fields of rte_eth_stats. */
struct tp_ipoib_totals {
	uint64_t rx_packets, rx_bytes, rx_nombuf, rx_errors;
	uint64_t tx_packets, tx_bytes, tx_errors;
};
/**
 * Fills @p totals, of an IPoIB port or a failover pair. A queue that is set up again begins at zero.
 * @return 0, -ENODEV: neither.
 */
int tp_ipoib_totals_get(uint16_t port_id, struct tp_ipoib_totals *totals);

/** What is said about a GUID (I-3). */
struct tp_ipoib_guid {
	bool recognised;           /**< a rule gives its MAC */
	struct rte_ether_addr mac; /**< by the rule, or by the mask that is suggested */
	unsigned int mask;         /**< not recognised: one that makes a unicast address, 0: none does */
};
/** @param mask six bits of eight, or 0. @return 0, -EINVAL: a mask with another number of bits. */
int tp_ipoib_guid2mac(uint64_t guid, unsigned int mask, struct tp_ipoib_guid *out);

/* --- failover pairs ------------------------------------------------------------------------------------------------ */

/*
 * One ethdev on two InfiniBand ports, of which one carries. When that is not up (its link, its state, its
 * partition), the other one takes over what the application sends and receives, with neighbours, addresses and groups, and
 * tells the neighbours. Made by `--vdev=net_ib_pair0,primary=net_mlx4_model0/1,backup=net_mlx4_model0/2` or at run time.
 *
 * Errors: functions give 0 or a negative errno; a refusal is one line in the log. Threads: any.
 */

#define TP_IPOIB_PAIR_MEMBERS 2u   /**< 0 is the primary one, 1 the backup */
#define TP_IPOIB_FAILBACK_MS 1000u /**< default */
#define TP_IPOIB_FAILBACK_MS_MAX 600000u

/** What a pair is made with. */
struct tp_ipoib_pair_conf {
	char device[TP_IPOIB_PAIR_MEMBERS][TP_IPOIB_NAME]; /**< two InfiniBand ports */
	struct tp_ipoib_conf port;                         /**< of both; its device is not used */
	bool failback;        /**< the primary port gets the traffic back when it is up again */
	uint32_t failback_ms; /**< and has been for so long, 0..TP_IPOIB_FAILBACK_MS_MAX */
};

/**
 * Makes a pair, an ethdev net_ib_pairN; its two ports are ethdevs that belong to it.
 * @param[out] port_id
 * @return 0; -EINVAL a value out of its range or one port twice, and what tp_ipoib_add() returns.
 */
int tp_ipoib_pair_add(const struct tp_ipoib_pair_conf *conf, uint16_t *port_id);
/** Takes a stopped pair away, and its two ports. @return 0, -ENODEV, -EBUSY it is started. */
int tp_ipoib_pair_rem(uint16_t port_id);
/**
 * Makes a port the one that carries, until it goes down.
 * @param member 0: the primary one, 1: the backup.
 * @return 0; -ENODEV no pair, -EINVAL no such member, -ENETDOWN that port is not up.
 */
int tp_ipoib_pair_set_active(uint16_t port_id, unsigned int member);

/** A pair as it is. */
struct tp_ipoib_pair_info {
	char name[TP_IPOIB_NAME];
	uint16_t member[TP_IPOIB_PAIR_MEMBERS]; /**< port ids, for tp_ipoib_info() and its like */
	unsigned int active;
	bool up; /**< the one that carries is up */
	bool failback;
	bool kept; /**< the active one was asked for: no failback from it */
	uint32_t failback_ms;
	uint64_t ports_up;        /**< of its two: with fewer nobody takes over */
	uint64_t failovers;       /**< moves because the active port was not up any more */
	uint64_t failbacks;       /**< moves back to the primary port */
	uint64_t asked;           /**< moves by tp_ipoib_pair_set_active() */
	uint64_t announced;       /**< addresses told to neighbours, each several times a move */
	uint64_t standby_dropped; /**< frames of groups that the other port received, too */
};
/** @return 0, -ENODEV: no pair. */
int tp_ipoib_pair_info(uint16_t port_id, struct tp_ipoib_pair_info *info);

#ifdef __cplusplus
}
#endif

#endif /* TP_IPOIB_H */
