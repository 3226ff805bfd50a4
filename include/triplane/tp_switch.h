/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * An Ethernet switch in software, for the ports of cards in this process.
 *
 * Store and forward, output queued: a frame is copied into the switch's buffer, which is finite and accounted byte by
 * byte, waits in the queue of its priority at each port that it goes to, and is taken out by the card that the port leads
 * to. Addresses are learnt per VLAN. Lossless priorities are protected by pause frames (IEEE 802.1Qbb priority-based flow
 * control, or 802.3 Annex 31B), classes are scheduled by strict priority, by share (802.1Qaz) and by rate, and waiting
 * queues mark packets (RFC 3168 by a RED curve) and tell sources of frames (802.1Qau).
 *
 * Where a frame's bytes are charged:
 *   lossy     the reserve of the queue (one per port and class) first, then the shared pool as long as the queue holds
 *             less than alpha times what is free of it; else the frame is dropped;
 *   lossless  the shared pool up to xoff bytes per ingress port and priority, then that priority's headroom; the first
 *             byte at xoff or in the headroom asks the sender to pause, xon bytes with an empty headroom let it go on.
 *
 * Time is given with every call, in ns, and never goes back: the real clock, or virtual time in tests. Port rates pace
 * what leaves; what enters comes as the sender gives it. Nothing moves by itself: a frame leaves when its port is asked.
 *
 * Threads: each function takes the switch's lock, so any thread may call, but a port's frames are given to one caller
 * at a time. The switch calls nobody. Errors are negative errno values.
 */
#ifndef TP_SWITCH_H
#define TP_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp_model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TP_SWITCH_NAME 32  /**< of a name, with its end: letters, digits, '.', '_', '-' */
#define TP_SWITCH_PORTS 64 /**< most ports of a switch; numbers are 1..64 */
#define TP_SWITCH_PRIOS 8
#define TP_SWITCH_TEXT 256 /**< room for the line of a refusal */

struct tp_switch;
struct tp_switch_port;

/** Settings of a switch. Bytes are of frames without FCS. */
struct tp_switch_config {
	uint8_t max_ports;       /**< 1..64 (64) */
	uint8_t lossless;        /**< bit n: priority n is lossless (0) */
	uint32_t buffer_bytes;   /**< all of the buffer, 4096..2^30 (12 MiB) */
	uint32_t reserve_bytes;  /**< of each port and class, 0..2^24 (0) */
	uint32_t alpha_pct;      /**< what a queue may take of the free shared pool, percent, 1..6400 (100) */
	uint32_t xoff_bytes;     /**< per ingress port and lossless priority, 64..2^30 (64 KiB) */
	uint32_t xon_bytes;      /**< 0..xoff_bytes (32 KiB) */
	uint32_t headroom_bytes; /**< per ingress port and lossless priority, 0..2^30 (256 KiB) */
	uint8_t ecn_prios;       /**< bit n: packets of priority n are marked (0) */
	uint32_t ecn_kmin_bytes; /**< a class that holds less marks nothing (100 KiB) */
	uint32_t ecn_kmax_bytes; /**< one that holds more marks all, kmin..2^30 (400 KiB) */
	uint32_t ecn_pmax_ppm;   /**< probability just below kmax, 0..1000000 (10000) */
	uint8_t cn_prios; /**< bit n: priority n has congestion notification (802.1Qau): CNMs to sources of frames (0) */
	uint32_t cn_qeq_bytes;  /**< what a queue is to hold, 64..2^30 (26000) */
	uint32_t cn_base_bytes; /**< between two samples without congestion, 64..2^30 (150000) */
	uint32_t mac_entries;   /**< most addresses, 1..1048576 (8192) */
	uint32_t mac_age_s;     /**< a learnt address is forgotten after so long, 1..1000000 (300) */
	bool flood_link_local;  /**< forward 01:80:c2:00:00:00 and :02 to :0f (802.1D) instead of dropping them */
	uint64_t seed;          /**< of the marking's coin (1) */
};

enum tp_switch_trust { TP_SWITCH_TRUST_PCP, TP_SWITCH_TRUST_DSCP };

enum tp_switch_flow {
	TP_SWITCH_FLOW_AUTO,  /**< PFC when the switch has lossless priorities, else 802.3x */
	TP_SWITCH_FLOW_OFF,   /**< pause frames are neither honoured nor sent */
	TP_SWITCH_FLOW_PAUSE, /**< 802.3x: all priorities */
	TP_SWITCH_FLOW_PFC,   /**< 802.1Qbb: the lossless priorities */
};

/** Settings of a port. */
struct tp_switch_port_config {
	uint32_t rate_mbps;    /**< of what leaves, 1..1000000, 0: as fast as it is taken (0) */
	uint8_t trust;         /**< enum tp_switch_trust; DSCP: priority = DSCP / 8, others by their tag (PCP) */
	uint8_t flow;          /**< enum tp_switch_flow (AUTO) */
	uint8_t untagged_prio; /**< of frames that say nothing, 0..7 (0) */
	uint16_t max_frame;    /**< bytes without FCS, 60..16000 (9728) */
	uint8_t prio_tc[TP_SWITCH_PRIOS]; /**< class of each priority, 0..7 (its own number) */
	struct {
		uint8_t weight; /**< share in what strict classes leave, 1..100; 0: strict, higher class first (0) */
		uint32_t rate_mbps; /**< most that the class sends, of frames with FCS; 0: no limit (0) */
	} tc[TP_SWITCH_PRIOS];
};

/** Why frames were dropped: names in counters are "drop_" and these. */
#define TP_SWITCH_DROPS(X)                                                                                             \
	X(BAD_FCS, bad_fcs)       /* damaged on the wire */                                                            \
	X(RUNT, runt)             /* no Ethernet header */                                                             \
	X(TOO_LONG, too_long)     /* beyond the ingress port's max_frame */                                            \
	X(SOURCE, bad_source)     /* a group as source address */                                                      \
	X(LINK_LOCAL, link_local) /* reserved addresses, and MAC control that is no pause frame */                     \
	X(FILTERED, filtered)     /* there is no port to send it to but the one that it came from */                   \
	X(LINK_DOWN, link_down)   /* the port that it goes to has no link, or lost it */                               \
	X(QUEUE, queue_limit)     /* the queue holds its part of the shared pool */                                    \
	X(BUFFER, buffer_full)    /* the shared pool is full */                                                        \
	X(HEADROOM, headroom)     /* a lossless priority whose sender did not stop in time */                          \
	X(MEMORY, no_memory)

enum tp_switch_drop {
#define TP_SWITCH_DROP_ENUM(id, name) TP_SWITCH_DROP_##id,
	TP_SWITCH_DROPS(TP_SWITCH_DROP_ENUM)
#undef TP_SWITCH_DROP_ENUM
		TP_SWITCH_NUM_DROPS
};

/** Counters of a port and priority. Received frames count at the port they entered by, drops too. Bytes without FCS. */
struct tp_switch_prio_stats {
	uint64_t rx_frames, rx_bytes, tx_frames, tx_bytes;
	uint64_t drop[TP_SWITCH_NUM_DROPS];
	uint64_t ecn_marks;                    /**< packets marked on their way out of this port */
	uint64_t cn_messages;                  /**< CNMs sent about the queue of this port */
	uint64_t rx_pause_frames, rx_pause_ns; /**< told to pause this priority; time that it was paused */
	uint64_t tx_pause_frames,
		tx_pause_ns;        /**< told the sender to pause (or go on); time since until it may go on */
	uint64_t in_bytes, in_peak; /**< what came by this port and waits now; at most */
	uint64_t headroom_bytes, headroom_peak;
	uint64_t out_bytes, out_frames, out_peak; /**< what waits to leave by this port */
};

struct tp_switch_port_stats {
	bool link_up;
	uint64_t rx_control, tx_control; /**< pause frames of both kinds */
	struct tp_switch_prio_stats prio[TP_SWITCH_PRIOS];
};

struct tp_switch_stats {
	uint32_t ports;
	uint32_t macs;                            /**< addresses in the table */
	uint64_t learnt, moved, aged, not_learnt; /**< not_learnt: the table was full */
	uint64_t flooded;                         /**< frames sent to all ports but their own */
	uint64_t buffer_bytes, shared_bytes;      /**< size of the buffer, and of the pool in it */
	uint64_t used, used_peak, shared_used, shared_peak, reserve_used, headroom_used;
	uint64_t queued_frames; /**< frames in the buffer, a flooded one as often as it waits */
};

/* --- life ------------------------------------------------------------------------------------------------------ */

void tp_switch_config_default(struct tp_switch_config *cfg);
void tp_switch_port_config_default(struct tp_switch_port_config *cfg);

/**
 * The switch of this name; made with the default settings when there is none. It lives until its last port is removed
 * and tp_switch_put was called for each tp_switch_get and tp_switch_find. @return 0, -EINVAL (the name), -ENOMEM.
 */
int tp_switch_get(const char *name, struct tp_switch **out);
/** As tp_switch_get, but NULL when there is none. */
struct tp_switch *tp_switch_find(const char *name);
void tp_switch_put(struct tp_switch *sw);
const char *tp_switch_name(const struct tp_switch *sw);
/** Names of all switches, sorted, up to max of them; returns how many there are. */
unsigned int tp_switch_list(char names[][TP_SWITCH_NAME], unsigned int max);

void tp_switch_config_get(struct tp_switch *sw, struct tp_switch_config *cfg);
/**
 * Changes the settings while frames wait: they keep the charge they came with. err gets one line on a refusal.
 * @return 0, -EINVAL, -ENOSPC (headroom and reserves of the ports exceed the buffer, or more ports are there).
 */
int tp_switch_config_set(struct tp_switch *sw, const struct tp_switch_config *cfg, char err[TP_SWITCH_TEXT]);

/** A port with the default settings and no link. @return 0, -ENOSPC (with a line in err), -ENOMEM. */
int tp_switch_port_add(struct tp_switch *sw, struct tp_switch_port **out, char err[TP_SWITCH_TEXT]);
/** Removes a port with what waits in it; the switch goes with its last one. */
void tp_switch_port_remove(struct tp_switch_port *p);
unsigned int tp_switch_port_number(const struct tp_switch_port *p);
void tp_switch_port_config_get(struct tp_switch_port *p, struct tp_switch_port_config *cfg);
int tp_switch_port_config_set(struct tp_switch_port *p, const struct tp_switch_port_config *cfg,
			      char err[TP_SWITCH_TEXT]);

/**
 * One setting as text, "KEY:VALUE", of the switch or, with port 1..64, of a port; lists are joined by '+'.
 *   switch  ports:N buffer:BYTES reserve:BYTES alpha:PERCENT lossless:PRIO+... xoff:BYTES xon:BYTES headroom:BYTES
 *           ecn:KMIN+KMAX+PPM ecn-prio:PRIO+... cn:QEQ+BASE cn-prio:PRIO+... macs:N age:SECONDS link-local:drop|flood
 *           seed:N
 *   port    rate:MBPS trust:pcp|dscp flow:auto|off|pause|pfc untagged:PRIO max-frame:BYTES tc:CLASS+... (eight)
 *           ets:WEIGHT+... (eight, 0: strict) tc-rate:MBPS+... (eight, 0: none)
 * @return 0, -ENOENT (no such key or port), -EINVAL, -ENOSPC; err names the value and what is wanted.
 */
int tp_switch_word(struct tp_switch *sw, unsigned int port, const char *word, char err[TP_SWITCH_TEXT]);

/* --- frames ---------------------------------------------------------------------------------------------------- */

/** The far end of the port's cable came or went. Without link what waits is dropped and addresses are forgotten. */
void tp_switch_port_link(struct tp_switch_port *p, bool up);

/** Frames enter by a port. The switch takes and counts all of them, also those that it drops. */
void tp_switch_port_send(struct tp_switch_port *p, uint64_t now_ns, const struct tp_frame *f, unsigned int n);

/**
 * Frames that have left by a port by now, each in one piece; they stay valid until the next call for this port.
 * @return how many, at most n.
 */
unsigned int tp_switch_port_recv(struct tp_switch_port *p, uint64_t now_ns, struct tp_frame *f, unsigned int n);

/**
 * For who plays switches in virtual time. *due: ports that give a frame by tp_switch_port_recv() now, bit n: port n + 1.
 * @return when to ask again, in ns, since none comes before that: now_ns when one is due, UINT64_MAX when none will before
 * another frame comes. A frame that waits for the end of a pause, or for its class's rate, may start then and come later.
 */
uint64_t tp_switch_next(struct tp_switch *sw, uint64_t now_ns, uint64_t *due);

/** Lets time pass: forgets old addresses. The calls above do so too. */
void tp_switch_step(struct tp_switch *sw, uint64_t now_ns);

/**
 * An address that does not age: frames to it go to the ports of the mask (bit n: port n + 1), 0 removes it. vid 0 is for
 * untagged frames. @return 0, -EINVAL, -ENOENT (nothing to remove), -ENOSPC (the table is full).
 */
int tp_switch_mac_static(struct tp_switch *sw, uint16_t vid, const uint8_t mac[6], uint64_t ports);
/** Ports that frames to this address go to, bit n: port n + 1; 0: unknown. */
uint64_t tp_switch_mac_lookup(struct tp_switch *sw, uint16_t vid, const uint8_t mac[6]);

/* --- watching -------------------------------------------------------------------------------------------------- */

void tp_switch_stats_get(struct tp_switch *sw, struct tp_switch_stats *st);
/** @return 0, -ENOENT (no such port). */
int tp_switch_port_stats_get(struct tp_switch *sw, unsigned int port, struct tp_switch_port_stats *st);

/**
 * All counters by name: first those of the switch (port 0, prio -1), then of each port (prio -1), then of its
 * priorities; of priorities only the counters that are not 0.
 */
typedef void (*tp_switch_counter_fn)(void *arg, unsigned int port, int prio, const char *name, uint64_t value);
void tp_switch_each_counter(struct tp_switch *sw, tp_switch_counter_fn fn, void *arg);

/* --- as a wire ------------------------------------------------------------------------------------------------- */

/**
 * Plugs port 1..2 of a card into a switch. spec is "NAME" or "NAME/WORD/WORD...", words as tp_switch_word takes them:
 * they change the switch for all its ports, or set the new port. @return 0, or a negative errno with a line in err.
 */
int tp_model_wire_switch(struct tp_model *m, unsigned int port, const char *spec, char err[TP_SWITCH_TEXT]);

#ifdef __cplusplus
}
#endif

#endif /* TP_SWITCH_H */
