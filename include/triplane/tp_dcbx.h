/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * DCBX (IEEE 802.1Q-2018 clause 38, from 802.1Qaz) on an LLDP agent: two ends of a link tell each other their ETS, PFC and
 * application priority settings, and the willing one takes the other's.
 *
 * Two layers. struct tp_dcbx is pure, like the LLDP agent below it: frames and time come in, frames and the settings to
 * use come out. struct tp_dcbx_port runs one over an ethdev and applies settings by struct tp_qos_ops.
 *
 * The pre-standard DCBX (CEE) is recognised and counted, not spoken.
 */
#ifndef TP_DCBX_H
#define TP_DCBX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp_lldp.h"
#include "tp_qos.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Application priorities that are kept; more in one TLV are left out and counted. */
#define TP_DCBX_APPS 64u

/** Protocol selectors of the application priority TLV (D.2.11.4). */
enum tp_dcbx_sel {
	TP_DCBX_SEL_ETHERTYPE = 1, /**< protocol 0: what no other entry names */
	TP_DCBX_SEL_TCP = 2,       /**< port of TCP or SCTP */
	TP_DCBX_SEL_UDP = 3,       /**< port of UDP or DCCP */
	TP_DCBX_SEL_ANY = 4,       /**< port of any of them */
	TP_DCBX_SEL_DSCP = 5,
};

/** ETS settings (D.2.8, D.2.9). Numbers are as on the wire: what a peer sends may be nonsense. */
struct tp_dcbx_ets {
	bool cbs;                  /**< credit-based shaper supported */
	uint8_t max_tc;            /**< 1..8; a recommendation has none: 0 */
	uint8_t prio_tc[TP_PRIOS]; /**< 0..7, 15 was seen for "no class" */
	uint8_t bw[TP_TCS];        /**< per cent */
	uint8_t tsa[TP_TCS];       /**< enum tp_tsa; also 1 credit shaper, 255 vendor's */
};

/** PFC settings (D.2.10). */
struct tp_dcbx_pfc {
	bool mbc;       /**< MACsec bypass capability */
	uint8_t cap;    /**< classes that can have PFC at a time, 0..15 */
	uint8_t enable; /**< bit n = priority n */
};

struct tp_dcbx_app {
	uint8_t sel, prio; /**< enum tp_dcbx_sel 0..7, 0..7 */
	uint16_t proto;
};

struct tp_dcbx_apps {
	uint16_t n;
	struct tp_dcbx_app app[TP_DCBX_APPS];
};

/** A set of settings: the local (administrative) one, or the one in use (operational). */
struct tp_dcbx_params {
	struct tp_dcbx_ets ets;
	struct tp_dcbx_pfc pfc;
	struct tp_dcbx_apps apps;
};

/** What the peer's last LLDPDU says. */
struct tp_dcbx_peer {
	uint8_t mac[6];
	bool has_ets, has_rec, has_pfc, has_apps, has_cee;
	bool ets_willing, pfc_willing;
	struct tp_dcbx_ets ets, rec;
	struct tp_dcbx_pfc pfc;
	struct tp_dcbx_apps apps;
	uint16_t apps_left_out; /**< beyond TP_DCBX_APPS */
};

enum tp_dcbx_status {
	TP_DCBX_OFF,
	TP_DCBX_NO_PEER,    /**< no neighbour speaks IEEE DCBX */
	TP_DCBX_UP,         /**< one does */
	TP_DCBX_MANY_PEERS, /**< several do: none counts (38.3) */
};

/** One DCBX feature. */
enum tp_dcbx_feature_id {
	TP_DCBX_ETS, /**< asymmetric: a willing side takes the other's recommendation (38.4.1) */
	TP_DCBX_PFC, /**< symmetric: of two willing sides the one with the lower MAC address takes the other's (38.4.2) */
	TP_DCBX_APP, /**< informational in the standard; a willing side takes the other's table here */
	TP_DCBX_FEATURES
};

/** Reasons why a peer's setting is not taken. */
enum tp_dcbx_error {
	TP_DCBX_OK,
	TP_DCBX_E_CLASS,   /**< a priority in a class that the port has not */
	TP_DCBX_E_TSA,     /**< a selection algorithm that the port has not */
	TP_DCBX_E_SHARES,  /**< shares of ETS classes that do not add up to 100, or a share elsewhere */
	TP_DCBX_E_PFC_CAP, /**< more priorities with PFC than the port can have */
	TP_DCBX_E_PORT,    /**< the port refused; the runner has its words */
};

struct tp_dcbx_feature {
	bool willing;
	bool from_peer; /**< the setting in use is the peer's */
	bool synced;    /**< the peer says that it uses the same setting */
	enum tp_dcbx_error error;
};

struct tp_dcbx_stats {
	uint64_t rx_tlvs[TP_DCBX_FEATURES]; /**< ETS configuration, PFC, application priority */
	uint64_t rx_rec;                    /**< ETS recommendation */
	uint64_t rx_bad;                    /**< discarded: wrong length or twice */
	uint64_t rx_cee;                    /**< TLVs of the pre-standard DCBX */
	uint64_t tx_tlvs;                   /**< of all kinds */
	uint64_t changes;                   /**< of the settings in use */
	uint64_t many_peers;                /**< times that a second peer appeared */
};

/** DCBX of a port; members are to be read only. One thread at a time, and never moved: the LLDP agent points to it. */
struct tp_dcbx {
	struct tp_lldp lldp;
	enum tp_dcbx_status status;
	struct tp_dcbx_params local, oper;
	struct tp_dcbx_peer peer; /**< valid in TP_DCBX_UP */
	struct tp_dcbx_feature feature[TP_DCBX_FEATURES];
	struct tp_dcbx_stats stats;
	uint32_t oper_seq; /**< counts with each change of oper */
};

/** One class, strict; no PFC, no applications; 8 classes, all of which may have PFC. */
void tp_dcbx_params_default(struct tp_dcbx_params *p);

/** Makes an agent that is off and not willing. @return 0, or -EINVAL: see tp_lldp_init */
int tp_dcbx_init(struct tp_dcbx *d, const struct tp_lldp_conf *conf, const struct tp_dcbx_params *local);

/** On or off (off is the default), willing to take a peer's settings or not. */
void tp_dcbx_set(struct tp_dcbx *d, bool on, bool willing);

/** The administrator's settings changed. */
void tp_dcbx_local_set(struct tp_dcbx *d, const struct tp_dcbx_params *local);

/** The port did not take the peer's setting of a feature: its own counts until the peer says something else. */
void tp_dcbx_refuse(struct tp_dcbx *d, enum tp_dcbx_feature_id f);

const char *tp_dcbx_status_text(enum tp_dcbx_status s);
const char *tp_dcbx_error_text(enum tp_dcbx_error e);
const char *tp_dcbx_feature_text(enum tp_dcbx_feature_id f);

/* --- TLVs (D.2.8 to D.2.11), OUI 00-80-C2 ------------------------------------------------------------------- */

/** Reads DCBX TLVs of an LLDPDU; the first good one of each kind counts. */
void tp_dcbx_peer_parse(const uint8_t *pdu, size_t len, struct tp_dcbx_peer *peer);

/* --- settings of a port -------------------------------------------------------------------------------------- */

/**
 * What a port's declaration says in DCBX's terms. Rules that DCBX cannot say (all TCP, all UDP, RDMA services) are left
 * out, and so is what finds no room.
 */
void tp_dcbx_from_qos(const struct tp_qos_port *q, const struct tp_qos_limits *lim, struct tp_dcbx_params *p);

/**
 * Puts the features of mask (1 << enum tp_dcbx_feature_id) into a declaration. Learnt applications come before the rules
 * that are there and take only the room that those leave; EtherTypes other than 0 and DSCPs have no rule.
 * @return number of application entries that have no rule
 */
unsigned int tp_dcbx_to_qos(const struct tp_dcbx_params *p, unsigned int mask, struct tp_qos_port *q);

#ifdef __cplusplus
}
#endif

#endif /* TP_DCBX_H */
