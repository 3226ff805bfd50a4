/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * What a port and a group of queues are declared to be: who is served, where, and how it is treated.
 *
 * These types and their validation know no card. The same words, ranges and refusals serve the C API, the command line
 * and the configuration file: tp_qos_port_word and tp_group_word take one "key=value", tp_*_check judge the whole.
 * A driver applies a declaration that passed (rte_pmd_mlx4_qos_set, rte_pmd_mlx4_group_add).
 *
 * Functions that refuse write one line to err that names the value and the allowed range, and change nothing. All are
 * pure: they may be called from any thread.
 */
#ifndef TP_QOS_H
#define TP_QOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TP_PRIOS 8
#define TP_TCS 8
#define TP_DSCPS 64
#define TP_ERR_LEN 160

/** Where a received frame's priority comes from. */
enum tp_trust {
	TP_TRUST_PCP = 1,  /**< the 802.1Q tag (default) */
	TP_TRUST_DSCP = 2, /**< the IP header: priority = DSCP / 8 */
};

/** Transmission selection of a class, numbers of IEEE 802.1Qaz. */
enum tp_tsa {
	TP_TSA_STRICT = 0,
	TP_TSA_ETS = 2,
};

/** Tags of transmitted frames that have none, bits. */
#define TP_TAG_PRIO 1u /**< with the frame's priority */
#define TP_TAG_VLAN 2u /**< with the port VLAN */

struct tp_qos_tc {
	uint8_t tsa;        /**< enum tp_tsa */
	uint8_t bw_pct;     /**< 0..100, ETS classes add up to 100; 0 for strict ones */
	uint32_t rate_mbps; /**< 0: none. Applied in steps of 100 Mb/s up to 25500 and 1000 Mb/s above, rounded down */
};

/** What a rule looks at; the first rule that matches decides, in the order of the table. */
enum tp_qos_match {
	TP_MATCH_DEFAULT, /**< every frame */
	TP_MATCH_TCP,
	TP_MATCH_UDP,
	TP_MATCH_TCP_PORT, /**< destination port lo..hi */
	TP_MATCH_UDP_PORT,
	TP_MATCH_RDMA, /**< RDMA service port lo..hi (RDMA_PS_TCP) of a connection; 1..65535: RoCE v2 frames, too */
};

struct tp_qos_rule {
	uint8_t match;   /**< enum tp_qos_match */
	uint8_t prio;    /**< 0..7 */
	int8_t dscp;     /**< 0..63, -1: left to the priority's table */
	uint16_t lo, hi; /**< 1..65535, lo <= hi */
};
#define TP_QOS_RULES 64

/** Quality of service of a port (D-1 to D-8, L-1). */
struct tp_qos_port {
	bool rx_pause, tx_pause; /**< 802.3x: honour, send. Excludes PFC of the same direction */
	uint8_t rx_pfc, tx_pfc;  /**< 802.1Qbb: bit n = priority n */

	uint8_t prio_tc[TP_PRIOS]; /**< class of each priority, 0..7; default: all in class 0 */
	struct tp_qos_tc tc[TP_TCS];

	uint8_t trust;             /**< enum tp_trust */
	uint8_t tx_dscp[TP_PRIOS]; /**< DSCP that a priority is marked with, 0..63; default: the priority itself */
	bool mark_dscp;            /**< mark transmitted IP packets by tx_dscp (default false) */
	bool tx_untag_priority;    /**< no tag for frames that would carry a priority only */
	uint8_t tag_untagged;      /**< TP_TAG_* of all transmitted frames that have no tag; 0: tags of VID 0 for those
				     *   whose priority is not 0, unless tx_untag_priority */
	uint16_t port_vlan;        /**< VID of TP_TAG_VLAN, 0..4095 */
	bool rx_untagged_lossless; /**< untagged frames may use lossless buffers */
	bool dscp_ets;         /**< IP packets are sent at the priority of the DSCP that they leave with, DSCP / 8 */
	bool dscp_pfc;         /**< asks for trust dscp, tx_untag_priority and rx_untagged_lossless, which do it */
	uint8_t dscp_gfc;      /**< DSCP that mark_dscp marks all priorities with while pause frames (802.3x) are on
				     *   in either direction, 0..63, default 26 */
	uint8_t untagged_prio; /**< 0..7, default 0 */

	uint32_t rx_stall_ms;       /**< receive-path monitor: pause generation goes off after so long; 0: monitor off,
				     *   else 10..60000 */
	uint32_t rx_stall_minor_ms; /**< watermark of the "minor" counter, below rx_stall_ms; 0: half of it */
	uint32_t hol_lifetime_us;   /**< frames that wait longer at the head of a class are dropped; 0: off, else
				     *   100..10000000 */
	uint32_t hol_stall_count;   /**< drops in a row after which the class counts as stalled, 1..255, default 7 */

	uint32_t num_rules; /**< 0..TP_QOS_RULES */
	struct tp_qos_rule rule[TP_QOS_RULES];
};

/** Limits of a port that a declaration is checked against. */
struct tp_qos_limits {
	uint8_t max_tc;         /**< 1..8 */
	uint32_t speed_mbps;    /**< official speed, 0: unknown */
	bool pfc, ets, dscp;    /**< what the firmware offers */
	bool delay_drop;        /**< receive queues can wait (needs firmware 2.31.5050, no InfiniBand port, no VF) */
	uint16_t max_groups;    /**< 127 */
	uint16_t max_rx_queues; /**< configured */
};

/** One key of the words: what a user may write, for help, documents and other programs. */
struct tp_qos_key {
	const char *name;   /**< as in "name=value" */
	const char *vendor; /**< the setting that users of the vendor's driver know it by, "" */
	const char *unit;   /**< "Mb/s", "ms", ... or "" */
	const char *def;    /**< value when nothing is said, "": none */
	const char *help;   /**< a sentence */
	uint32_t min, max;  /**< of the numbers in the value; both 0: it has none */
	char values[96];    /**< what may stand on the right, such as "0 or 10..60000" */
};

/** Key number i of a port's (of a group's) words in the order in which they are printed. @return 0, -ENOENT past the last. */
int tp_qos_port_key(unsigned int i, struct tp_qos_key *key);
int tp_group_key(unsigned int i, struct tp_qos_key *key);

/** A value of a declaration that changed, as its words have it; "none" for an entry that a list had not, or has no more. */
typedef void (*tp_changed_fn)(void *arg, const char *key, const char *was, const char *is);

/** Everything off, all priorities in class 0, strict, tables at their defaults. */
void tp_qos_port_default(struct tp_qos_port *q);

/**
 * One "key=value" of a port's declaration, such as "trust=dscp", "pfc=3,4", "prio-tc=0,0,0,1,0,0,0,0",
 * "tc=1:ets:50", "tc-rate=1:400", "rule=udp:4791-4800:3:26". tp_qos_port_key names the keys; rules are appended until
 * "rule=none". An illegal untagged-prio falls back to its default and says so in err while 0 is returned; err is "" after
 * every other success.
 * @return 0, -ENOENT (no such key), -EINVAL (the value), -ENOSPC (no room for another rule).
 */
int tp_qos_port_word(struct tp_qos_port *q, const char *word, char err[TP_ERR_LEN]);

/** Judges the whole declaration. @return 0, -EINVAL (a conflict or a range), -ENOTSUP (the port cannot). */
int tp_qos_port_check(const struct tp_qos_port *q, const struct tp_qos_limits *lim, char err[TP_ERR_LEN]);

/** All words that differ from the defaults (all: every word), one a line, as tp_qos_port_word takes them. */
void tp_qos_port_print(const struct tp_qos_port *q, bool all, FILE *out);

/** Calls @p changed for each value in which two declarations differ, in the order of the keys. */
void tp_qos_port_changes(const struct tp_qos_port *was, const struct tp_qos_port *is, tp_changed_fn changed, void *arg);

/** The rate that a class gets for a wish: rounded down to a step, at least 100; 0 stays 0. Mb/s. */
uint32_t tp_qos_rate_round(uint32_t mbps);

#define TP_ROCE_PORT 4791 /* UDP, of RoCE v2 */

/** The rules in the form in which frames are compared with them. */
struct tp_qos_classes {
	uint32_t n;
	struct {
		uint16_t lo, span; /**< destination ports lo..lo + span */
		uint8_t proto;     /**< 0: every frame */
		uint8_t prio;
		int8_t dscp;
	} rule[TP_QOS_RULES];
};

/**
 * Makes that form. A rule for all RDMA services means RoCE v2 frames; one for some of them is for those who make
 * connections, since a frame does not show its service.
 */
void tp_qos_classes_make(const struct tp_qos_port *q, struct tp_qos_classes *c);

/**
 * Priority and DSCP of a frame by the first rule that matches. The port is looked at with proto 6 and 17 only. dscp -1: the
 * table's. @return false: none matches, and both stay.
 */
static inline bool
tp_qos_classify(const struct tp_qos_classes *c, uint8_t proto, uint16_t dst_port, uint8_t *prio, int8_t *dscp)
{
	uint32_t i;

	for (i = 0; i < c->n; i++) {
		if (c->rule[i].proto != 0 &&
		    (c->rule[i].proto != proto || (uint16_t)(dst_port - c->rule[i].lo) > c->rule[i].span))
			continue;
		*prio = c->rule[i].prio;
		*dscp = c->rule[i].dscp;
		return true;
	}
	return false;
}

/** DSCP that the port marks packets of a priority with; -1: none, mark_dscp is off. */
int8_t tp_qos_mark(const struct tp_qos_port *q, uint8_t prio);

/**
 * Priority and DSCP of packets of RoCE by the first rule that matches: a rule for the service of their connection, for all
 * services, for all frames; of version 2 one for UDP and its port, too.
 * @param v2 version 2 of RoCE
 * @param service RDMA service port of the connection (RDMA_PS_TCP), 0: none
 * @param dscp -1: no rule and no mark names one
 * @return false: none matches, and both stay.
 */
bool tp_qos_service(const struct tp_qos_port *q, bool v2, uint16_t service, uint8_t *prio, int8_t *dscp);

/* --- queue groups ----------------------------------------------------------------------------------------- */

#define TP_GROUP_NAME 32
#define TP_GROUP_QUEUES 64
#define TP_GROUPS 127
#define TP_ANTISPOOF_TYPES 8
#define TP_VLAN_ANY 0xffffu
#define TP_VLAN_NONE 0xfffeu /**< untagged only */

/** RSS types of a group, bits. */
#define TP_RSS_IPV4 0x01u
#define TP_RSS_TCP4 0x02u
#define TP_RSS_UDP4 0x04u
#define TP_RSS_IPV6 0x08u
#define TP_RSS_TCP6 0x10u
#define TP_RSS_UDP6 0x20u
#define TP_RSS_ALL 0x3fu

/** A group of receive queues (VMQ, Q-1 to Q-4) and the transmit queues of the same numbers. */
struct tp_group {
	char name[TP_GROUP_NAME]; /**< letters, digits, '-', '_'; unique on the port */

	/* who */
	bool is_default; /**< takes what no other group takes; has no address */
	uint8_t mac[6];  /**< unicast destination */
	uint16_t vlan;   /**< 0..4095, TP_VLAN_ANY, TP_VLAN_NONE. Groups with the same mac and vlan are one */
	uint32_t rss;    /**< TP_RSS_* types that are spread over the queues, 0: all to the first */
	bool flood;      /**< broadcast and multicast come too, to the first queue (default true) */

	/* where */
	uint16_t num_queues; /**< 1..TP_GROUP_QUEUES; an answer may say that fewer are used */
	uint16_t queue[TP_GROUP_QUEUES];
	int16_t lcore;      /**< who polls them, -1: the application decides */
	char mempool[32];   /**< name; "": the one given at queue set-up */
	uint16_t lookahead; /**< bytes of header in a buffer of their own, 0: off, else 32..1024 */

	/* how */
	uint8_t prio;             /**< of transmitted frames, 0..7 */
	int8_t tc;                /**< class that the priority must be in, -1: whatever the port's table says */
	int16_t dscp;             /**< mark of transmitted IP packets, -1: none */
	uint8_t trust;            /**< 0: the port's, else must equal it: the card has one per port */
	int8_t pfc;               /**< -1: the port's; 0, 1: the port must have it off, on for prio */
	uint32_t delay_drop;      /**< dropless: units of 100 us; 0 off, 1..65534, 65535 for ever */
	uint32_t rate_mbps;       /**< transmit limit of each queue, 0: none */
	uint32_t hol_lifetime_us; /**< 0: the port's */
	bool antispoof_mac;       /**< source address must be the group's */
	uint8_t num_types;        /**< Ethertypes that may be sent, 0: IPv4, ARP, IPv6 */
	bool antispoof_type;      /**< the Ethertype table is in force */
	uint16_t type[TP_ANTISPOOF_TYPES]; /**< 0 allows LLC; 0x8906 brings 0x8914 with it and the other way round */
};

/** The defaults above: no address, no queue. */
void tp_group_default(struct tp_group *g);
/** Gives a group its name. @return 0, -EINVAL. */
int tp_group_name(struct tp_group *g, const char *name, char err[TP_ERR_LEN]);
/** One word, such as "mac=02:00:00:00:00:01", "vlan=100", "queues=4-7", "prio=3", "dropless=50". @see tp_qos_port_word */
int tp_group_word(struct tp_group *g, const char *word, char err[TP_ERR_LEN]);
/**
 * Judges a group against the port's limits and its quality of service.
 * @return 0, -EINVAL (a range or a conflict), -ENOTSUP (the port cannot).
 */
int tp_group_check(const struct tp_group *g, const struct tp_qos_port *q, const struct tp_qos_limits *lim,
		   char err[TP_ERR_LEN]);
/**
 * Judges a group beside the n others of the port: one name, one address, one default, a queue in one group only, room.
 * @return 0, -EEXIST (name, address, default), -EBUSY (a queue), -ENOSPC (no room).
 */
int tp_group_check_others(const struct tp_group *g, const struct tp_group *const others[], unsigned int n,
			  const struct tp_qos_limits *lim, char err[TP_ERR_LEN]);
/** The Ethertypes that may be sent: the defaults when none is listed, pairs complete. @return their number, 1..8. */
unsigned int tp_group_types(const struct tp_group *g, uint16_t type[TP_ANTISPOOF_TYPES]);
/** The words of a group without its name. @see tp_qos_port_print */
void tp_group_print(const struct tp_group *g, bool all, FILE *out);

/** @see tp_qos_port_changes; names are not compared. */
void tp_group_changes(const struct tp_group *was, const struct tp_group *is, tp_changed_fn changed, void *arg);

/* --- configuration file ----------------------------------------------------------------------------------- */

/**
 * A configuration file: "[port N]" and "[group N NAME]" sections of words, one a line, '#' comments. Each section that
 * was read whole is handed to its function, whose refusal stops the reading.
 * @return 0, or a negative errno with err "FILE:LINE: reason".
 */
struct tp_qos_file_ops {
	int (*port)(void *arg, uint16_t port, const struct tp_qos_port *q, char err[TP_ERR_LEN]);
	int (*group)(void *arg, uint16_t port, const struct tp_group *g, char err[TP_ERR_LEN]);
	void (*notice)(void *arg, const char *text); /**< may be NULL: a value that fell back to its default */
};
int tp_qos_file_read(const char *path, const struct tp_qos_file_ops *ops, void *arg, char *err, size_t err_len);

/* --- what applies declarations ------------------------------------------------------------------------------ */

/** Counters of one priority (D-9). */
struct tp_qos_prio_stats {
	uint64_t rx_frames, rx_bytes, tx_frames, tx_bytes;
	uint64_t rx_pause, rx_pause_us, rx_pause_transitions; /**< pause frames received, time paused by them */
	uint64_t tx_pause, tx_pause_us, tx_pause_transitions;
	uint64_t tx_discards; /**< of the class: lifetime over, or discarded by a policy */
};

/** A port that takes declarations; the DCBX agent works on this and nothing else. */
struct tp_qos_ops {
	int (*limits)(uint16_t port, struct tp_qos_limits *lim);
	int (*get)(uint16_t port, struct tp_qos_port *q);
	int (*set)(uint16_t port, const struct tp_qos_port *q, char err[TP_ERR_LEN]);
};

#ifdef __cplusplus
}
#endif

#endif /* TP_QOS_H */
