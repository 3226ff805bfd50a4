/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * An LLDP agent of one port (IEEE 802.1AB-2016), for the nearest bridge.
 *
 * Pure state machines: no input or output, no allocation, no clock. Time comes in as milliseconds of any monotonic
 * clock, frames come in by tp_lldp_input and go out by tp_lldp_poll. One agent is used by one thread at a time.
 */
#ifndef TP_LLDP_H
#define TP_LLDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TP_LLDP_ETHERTYPE 0x88ccu
#define TP_LLDP_MAX_PDU 1500u
#define TP_LLDP_MAX_FRAME 1514u
#define TP_LLDP_ID_MAX 255u
#define TP_LLDP_TEXT_MAX 64u
#define TP_LLDP_NEIGHBOURS 8u
#define TP_LLDP_NEVER UINT64_MAX

/** TLV types (8.4). */
enum tp_lldp_type {
	TP_LLDP_END = 0,
	TP_LLDP_CHASSIS = 1,
	TP_LLDP_PORT = 2,
	TP_LLDP_TTL = 3,
	TP_LLDP_PORT_DESC = 4,
	TP_LLDP_SYS_NAME = 5,
	TP_LLDP_SYS_DESC = 6,
	TP_LLDP_CAPS = 7,
	TP_LLDP_MGMT_ADDR = 8,
	TP_LLDP_ORG = 127,
};

/** What the administrator allows (adminStatus, 9.2.5.1). */
enum tp_lldp_admin {
	TP_LLDP_OFF,
	TP_LLDP_TX_ONLY,
	TP_LLDP_RX_ONLY,
	TP_LLDP_RX_TX,
};

/** A chassis or port identity (8.5.2, 8.5.3). */
struct tp_lldp_id {
	uint8_t subtype;
	uint8_t len; /**< 1..255 */
	uint8_t value[TP_LLDP_ID_MAX];
};

/** Who the agent is and how often it says so; tp_lldp_conf_default gives the times of 9.2.5. */
struct tp_lldp_conf {
	uint8_t mac[6]; /**< source address of its frames */
	struct tp_lldp_id chassis, port;
	char port_desc[TP_LLDP_TEXT_MAX], sys_name[TP_LLDP_TEXT_MAX]; /**< "": not sent */
	uint16_t tx_interval_s;                                       /**< msgTxInterval 1..3600, 30 */
	uint16_t tx_hold;                                             /**< msgTxHold 1..100, 4 */
	uint16_t fast_interval_s;                                     /**< msgFastTx 1..3600, 1 */
	uint8_t fast_count;                                           /**< txFastInit 1..8, 4 */
	uint8_t credit_max;                                           /**< txCreditMax 1..10, 5 */
	uint8_t reinit_s;                                             /**< reinitDelay 1..10, 2 */
};

/** 9.2.6 and the remote table's statistics of clause 11. */
struct tp_lldp_stats {
	uint64_t tx_frames;            /**< statsFramesOutTotal, shutdown frames included */
	uint64_t rx_frames;            /**< statsFramesInTotal */
	uint64_t rx_discarded;         /**< statsFramesDiscardedTotal */
	uint64_t rx_errors;            /**< statsFramesInErrorsTotal */
	uint64_t rx_tlvs_discarded;    /**< statsTLVsDiscardedTotal */
	uint64_t rx_tlvs_unrecognised; /**< statsTLVsUnrecognizedTotal */
	uint64_t ageouts;              /**< statsAgeoutsTotal */
	uint64_t inserts, deletes;     /**< neighbours that came; that said good-bye */
	uint64_t drops;                /**< frames of neighbours that found no room */
};

/** One neighbour: its last LLDPDU, whole up to the End TLV. */
struct tp_lldp_neighbour {
	bool used;
	uint8_t mac[6]; /**< source address of its last frame */
	uint16_t ttl_s;
	uint16_t id_len; /**< the first octets of pdu, which identify it: its chassis and port TLVs */
	uint16_t pdu_len;
	uint64_t expires_ms;
	uint8_t pdu[TP_LLDP_MAX_PDU];
};

/** A TLV inside a buffer. */
struct tp_lldp_tlv {
	uint8_t type;
	uint16_t len; /**< octets of info, 0..511 */
	const uint8_t *info;
};

/** What the agent's client makes of an organisation's TLV. */
enum tp_lldp_verdict {
	TP_LLDP_KNOWN,
	TP_LLDP_UNKNOWN,
	TP_LLDP_BAD, /**< to be discarded and counted: wrong length, a second one where one is allowed */
};

/** What rides on LLDP. Functions may be NULL. */
struct tp_lldp_client {
	void *arg;
	/** Appends TLVs to a frame in the making. @return octets written, at most room */
	size_t (*build)(void *arg, uint8_t *to, size_t room);
	/** Judges a TLV with OUI and subtype. seen is 0 at the begin of a frame and belongs to the client. */
	enum tp_lldp_verdict (*judge)(void *arg, const struct tp_lldp_tlv *tlv, uint32_t *seen);
	/** A neighbour came, changed or went (somethingChangedRemote). */
	void (*changed)(void *arg);
};

enum tp_lldp_tx_state {
	TP_LLDP_TX_INITIALIZE,
	TP_LLDP_TX_IDLE,
	TP_LLDP_TX_SHUTDOWN,
};

/** An agent; its members are to be read only. */
struct tp_lldp {
	struct tp_lldp_conf conf;
	struct tp_lldp_client client;
	struct tp_lldp_stats stats;
	enum tp_lldp_admin admin;
	bool port_enabled;

	/* transmit: 9.2.8 and 9.2.9 */
	enum tp_lldp_tx_state tx_state;
	bool tx_now, local_change, new_neighbour;
	uint8_t credit, fast;
	uint64_t tx_due_ms;         /* txTTR */
	uint64_t credit_ms;         /* when the last credit was added */
	uint64_t shutdown_until_ms; /* txShutdownWhile */

	/* receive: 9.2.10 */
	bool too_many;
	uint64_t too_many_until_ms;
	struct tp_lldp_neighbour neighbour[TP_LLDP_NEIGHBOURS];
};

/** Identity from a MAC address (chassis subtype 4, port subtype 3) and the standard's times. */
void tp_lldp_conf_default(struct tp_lldp_conf *c, const uint8_t mac[6]);

/**
 * Makes an agent that is off, on a port that is down.
 * @return 0, or -EINVAL: an identity is empty or a time out of its range.
 */
int tp_lldp_init(struct tp_lldp *a, const struct tp_lldp_conf *conf, const struct tp_lldp_client *client);

/** Leaving reception forgets all neighbours; leaving transmission sends a shutdown LLDPDU by the next poll. */
void tp_lldp_admin_set(struct tp_lldp *a, enum tp_lldp_admin admin);

/** portEnabled: the link is up and the port may send. */
void tp_lldp_port_set(struct tp_lldp *a, bool enabled);

/** What the agent would say has changed: say it, as far as credit allows. */
void tp_lldp_local_changed(struct tp_lldp *a);

/**
 * Lets time pass: ages neighbours and writes the frame to send, if one is due. Call again until it gives none.
 * @return octets in frame, without FCS; 0: none.
 */
size_t tp_lldp_poll(struct tp_lldp *a, uint64_t now_ms, uint8_t frame[TP_LLDP_MAX_FRAME]);

/** When tp_lldp_poll will next have something to do, TP_LLDP_NEVER at most. */
uint64_t tp_lldp_next(const struct tp_lldp *a);

/**
 * A frame with its Ethernet header, padding and even FCS allowed.
 * @return 0; -ENOMSG: not LLDP for the nearest bridge, or reception is off, nothing counted; -EBADMSG: discarded by
 *   9.2.7.7; -ENOSPC: no room for another neighbour.
 */
int tp_lldp_input(struct tp_lldp *a, const uint8_t *frame, size_t len, uint64_t now_ms);

/** Neighbours that are known now. */
unsigned int tp_lldp_neighbours(const struct tp_lldp *a);

/**
 * Takes the TLV at *at out of a buffer and moves *at behind it.
 * @return 1; 0 at the End TLV or the end of the buffer; -EBADMSG when it goes over the end.
 */
int tp_lldp_tlv_next(const uint8_t *buf, size_t len, size_t *at, struct tp_lldp_tlv *tlv);

/** Writes a TLV's header and info (may be NULL: left to the caller). @return octets, or 0: no room or above 511. */
size_t tp_lldp_tlv_put(uint8_t *to, size_t room, uint8_t type, const void *info, size_t len);

/** The first TLV of a type in a neighbour's LLDPDU. @return false: it has none. */
bool tp_lldp_find(const struct tp_lldp_neighbour *n, uint8_t type, struct tp_lldp_tlv *tlv);

/** A chassis or port identity as text, MAC and IP addresses in their usual form; size 300 holds any. */
void tp_lldp_id_text(uint8_t type, const struct tp_lldp_tlv *tlv, char *to, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* TP_LLDP_H */
