/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * Policies of a ConnectX-3 port and of its queues: what tp_qos.h declares, applied.
 *
 * Every function takes the port number of an ethdev of this driver and returns -ENODEV for any other port. All may be
 * called from any thread, while packets flow and others change the port; not while the port is configured, started,
 * stopped, reset or closed, which ethdev does not guard. None may be called from a datapath burst. Where there is an err, a refusal
 * writes one line to it that names the value and the allowed range, and changes nothing; on success it is "".
 */
#ifndef RTE_PMD_MLX4_QOS_H
#define RTE_PMD_MLX4_QOS_H

#include <stdbool.h>
#include <stdint.h>

#include <tp_qos.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- quality of service of a port -------------------------------------------------------------------------- */

/** What a declaration of this port is checked against. @return 0, -ENODEV. */
int rte_pmd_mlx4_qos_limits(uint16_t port_id, struct tp_qos_limits *lim);

/** The declaration in force. @return 0, -ENODEV. */
int rte_pmd_mlx4_qos_get(uint16_t port_id, struct tp_qos_port *q);

/**
 * Puts a declaration in force, whole or not at all: what the card took before it refused a part is undone. Rates are
 * rounded as tp_qos_rate_round does; rte_pmd_mlx4_qos_get shows them rounded.
 * @return 0, -ENODEV, -EINVAL, -ENOTSUP (the declaration), -ENOMEM, -EIO or another error of the card
 */
int rte_pmd_mlx4_qos_set(uint16_t port_id, const struct tp_qos_port *q, char err[TP_ERR_LEN]);

/**
 * Counters of the priorities since the counters of the port were reset. Frames without a tag count on priority 0 when
 * sent, unless the driver left the tag of their priority out (tx_untag_priority), and on untagged_prio when received.
 * Pause frames of 802.3x count on priority 0. @return 0, -ENODEV, -EIO.
 */
int rte_pmd_mlx4_qos_stats(uint16_t port_id, struct tp_qos_prio_stats st[TP_PRIOS]);

/** The three above as a table, for what works on any port that takes declarations. */
extern const struct tp_qos_ops rte_pmd_mlx4_qos_ops;

/* --- transmit queues --------------------------------------------------------------------------------------- */

/** How a transmit queue is treated. */
struct rte_pmd_mlx4_txq_policy {
	uint8_t prio;       /**< 0..7: class in the card's scheduler, pause, tag */
	uint32_t rate_mbps; /**< limit, 0: none; as the card has it */
};

/**
 * Priority of what a transmit queue sends, for frames that no rule of the port gives another one. Not 0: frames get a
 * priority tag (802.1Q, VID 0) unless tx_untag_priority is on, tagged ones this priority.
 * @param prio 0..7
 * @return 0, -ENODEV, -EINVAL (queue, priority), -ENOTSUP (running, and the firmware cannot change it), -ENOMEM, -EIO
 */
int rte_pmd_mlx4_txq_prio_set(uint16_t port_id, uint16_t queue_id, uint8_t prio, char err[TP_ERR_LEN]);

/**
 * Limit of what a transmit queue sends: as rte_eth_set_queue_rate_limit, but also while the port is stopped or its link is
 * not up yet, and a refusal says why.
 * @param mbps 0: none; at most the port's speed where that is known. Above 4095 the card has steps of 1000.
 * @return 0, -ENODEV, -EINVAL (queue, rate), -ENOTSUP (the firmware has no limits), -EIO
 */
int rte_pmd_mlx4_txq_rate_set(uint16_t port_id, uint16_t queue_id, uint32_t mbps, char err[TP_ERR_LEN]);

/** @return 0, -ENODEV, -EINVAL. */
int rte_pmd_mlx4_txq_policy_get(uint16_t port_id, uint16_t queue_id, struct rte_pmd_mlx4_txq_policy *policy);

/* --- dropless receive -------------------------------------------------------------------------------------- */

#define RTE_PMD_MLX4_DROPLESS_FOREVER 65535u

/** What a receive queue does with a frame for which it has no buffer. */
enum rte_pmd_mlx4_dropless {
	RTE_PMD_MLX4_DROPLESS_OFF,     /**< drops it */
	RTE_PMD_MLX4_DROPLESS_ON,      /**< lets it wait */
	RTE_PMD_MLX4_DROPLESS_EXPIRED, /**< drops it: a frame waited for too long; set again to arm it */
};

/**
 * Lets frames wait for a buffer of a receive queue instead of dropping them; the port's receive buffer fills, and pause
 * frames stop the sender. Wanted with flow control; without it a warning is logged. What is set is the queue's by its number,
 * and holds again after a new configuration of the port.
 * @param units how long, in units of 100 us (+-2): 0 off, 1..65534 (50 recommended), 65535 for ever
 * @return 0, -ENODEV, -EINVAL (queue, units), -ENOTSUP (firmware below 2.31.5050, or a port of the card is InfiniBand),
 *         -EIO or another error of the card
 */
int rte_pmd_mlx4_dropless_set(uint16_t port_id, uint16_t queue_id, uint32_t units, char err[TP_ERR_LEN]);

/** Units as set, and the state. Either may be NULL. @return 0, -ENODEV, -EINVAL. */
int rte_pmd_mlx4_dropless_get(uint16_t port_id, uint16_t queue_id, uint32_t *units, enum rte_pmd_mlx4_dropless *state);

/* --- watch over stalled paths ------------------------------------------------------------------------------ */

/** The receive path's monitor (rx_stall_ms) and the lifetime at the head of a class (hol_lifetime_us). */
struct rte_pmd_mlx4_stalls {
	bool rx_stalled;                /**< pause generation is off now */
	uint64_t rx_minor, rx_critical; /**< stalls that reached rx_stall_minor_ms, rx_stall_ms */
	uint8_t tc_stalled;             /**< bit n: class n discards now */
	uint64_t tc_drops[TP_TCS];      /**< frames dropped, by class */
	uint64_t tc_stalls[TP_TCS];     /**< how often a class counted as stalled */
};

/** @return 0, -ENODEV. */
int rte_pmd_mlx4_stalls_get(uint16_t port_id, struct rte_pmd_mlx4_stalls *st);

/* --- congestion control ---------------------------------------------------------------------------------------- */

/*
 * DCQCN of the card's own RoCE v2 queue pairs, by priority: CONGESTION_CTRL. tp_roce_cc_*() of tp_roce.h are the same
 * settings, for a port that is open for RoCE.
 */

/**
 * Switches it for priorities: packets of RC and UC say ECT(0), marked ones are answered by CNPs, CNPs are heard.
 * @param prios bit n: priority n
 * @return 0, -ENODEV, -ENOTSUP the firmware has none, or what the card said.
 */
int rte_pmd_mlx4_cc_enable(uint16_t port_id, uint8_t prios, bool on);
/** @return 1 it is on, 0, -ENODEV, -EINVAL no such priority, -ENOTSUP, or what the card said. */
int rte_pmd_mlx4_cc_enabled(uint16_t port_id, unsigned int prio);
/**
 * Sets a parameter, live; names, units and ranges are those of tp_roce_cc_param(). The card has all of them but
 * initial-alpha, rate-reduce-monitor-period and cnp-prio-mode. A rate above the line's becomes the line's.
 * @return 0, -ENODEV, -ENOENT no such parameter, -EOPNOTSUPP the card has it not, -ERANGE, -ENOTSUP, or what the card said.
 */
int rte_pmd_mlx4_cc_set(uint16_t port_id, uint8_t prios, const char *name, uint64_t value);
/** As the card has it. @return as rte_pmd_mlx4_cc_set(), -EINVAL no such priority. */
int rte_pmd_mlx4_cc_get(uint16_t port_id, unsigned int prio, const char *name, uint64_t *value);
/** All parameters as at first; what is on stays on. @return as rte_pmd_mlx4_cc_enable(). */
int rte_pmd_mlx4_cc_defaults(uint16_t port_id, uint8_t prios);
/**
 * Parameters and switch as the card had them before they were first changed here, such as what it has stored.
 * @return as rte_pmd_mlx4_cc_enable().
 */
int rte_pmd_mlx4_cc_restore(uint16_t port_id, uint8_t prios);

/** Of a priority, since the card's reset. Rates are Mb/s, of all queue pairs together that were or are limited. */
struct rte_pmd_mlx4_cc_stats {
	uint64_t limited;       /**< queue pairs that are limited now */
	uint64_t cnps_handled;  /**< CNPs that limited a queue pair */
	uint64_t cnps_ignored;  /**< others */
	uint64_t cnps_dropped;  /**< the firmware was busy */
	uint64_t rate;          /**< now; 0: nothing is limited */
	uint64_t rate_min;      /**< at the lowest */
	uint64_t rate_max;      /**< at the highest */
	uint64_t rate_average;  /**< as the firmware estimates it */
	uint64_t limited_cs;    /**< how long queue pairs were limited, added up, in 1/100 s */
	uint64_t flows;         /**< queue pairs that were told of a mark within cnp-interval */
	uint64_t marked;        /**< packets that came marked and that CNPs answer */
	uint64_t marks_ignored; /**< others */
	uint64_t cnps_sent;
	uint64_t np_off;    /**< how often marks were not looked at, since receive buffers were scarce */
	uint64_t np_off_us; /**< and how long */
};
/** @return 0, -ENODEV, -EINVAL no such priority, -ENOTSUP, or what the card said. */
int rte_pmd_mlx4_cc_stats(uint16_t port_id, unsigned int prio, struct rte_pmd_mlx4_cc_stats *st);
/** They start again in the card, and in xstats with them; what is limited stays so. @return as rte_pmd_mlx4_cc_enable(). */
int rte_pmd_mlx4_cc_clear(uint16_t port_id, uint8_t prios);

/*
 * Quantized congestion notification (802.1Qau): the card's reaction point, of what Ethernet queues of a priority send.
 */

/** A parameter, from 0, under the name of netlink DCB: flags rpg_enable, cn_tag, disable_32_14_4e, then rppp_max_rps ... */
struct rte_pmd_mlx4_qcn_param {
	const char *name;
	const char *unit; /**< "us", "B", "Mb/s", "%"; "" for a number */
	uint32_t max;     /**< the least is 0 */
	uint32_t def;     /**< what the standard has before anything is set */
};
#define RTE_PMD_MLX4_QCN_PARAMS 13 /**< how many there are */
/** @return NULL behind the last. */
const struct rte_pmd_mlx4_qcn_param *rte_pmd_mlx4_qcn_param(unsigned int i);
/**
 * Sets it, live: of priorities, bit n: n; disable_32_14_4e is of all, whichever are named. It outlives a reset of the card.
 * @return 0, -ENODEV, -ENOENT no such parameter, -ERANGE, -ENOTSUP the firmware has none, or what the card said.
 */
int rte_pmd_mlx4_qcn_set(uint16_t port_id, uint8_t prios, const char *name, uint64_t value);
/**
 * All of them at once, as rte_pmd_mlx4_qcn_param() has them in order, in one command; disable_32_14_4e, which is the port's, stays as it
 * is, whatever its value says.
 * @return as rte_pmd_mlx4_qcn_set(); then nothing changed.
 */
int rte_pmd_mlx4_qcn_put(uint16_t port_id, uint8_t prios, const uint32_t value[RTE_PMD_MLX4_QCN_PARAMS]);
/** As the card has it. @return as rte_pmd_mlx4_qcn_set(), -EINVAL no such priority. */
int rte_pmd_mlx4_qcn_get(uint16_t port_id, unsigned int prio, const char *name, uint64_t *value);
/** What was set, and the standard's for what was not; the card is not asked. @return 0, -ENODEV, -EINVAL, -ENOTSUP as above. */
int rte_pmd_mlx4_qcn_told(uint16_t port_id, unsigned int prio, uint32_t value[RTE_PMD_MLX4_QCN_PARAMS]);
/** Off, and what the standard has; of all priorities, disable_32_14_4e, too. @return as rte_pmd_mlx4_qcn_set(). */
int rte_pmd_mlx4_qcn_defaults(uint16_t port_id, uint8_t prios);

/** Of a priority, since the card's reset or rte_pmd_mlx4_qcn_clear(). Rates are Mb/s. */
struct rte_pmd_mlx4_qcn_stats {
	uint64_t limited_cs;   /**< how long it was limited, in 1/100 s */
	uint64_t created;      /**< limits that there were */
	uint64_t cnms_handled; /**< congestion notification messages that limited it */
	uint64_t cnms_ignored; /**< others */
	uint64_t cnms_dropped; /**< the firmware was busy */
	uint64_t rate_average; /**< as the firmware estimates it */
	uint64_t rate_min;     /**< at the lowest */
	uint64_t rate_max;     /**< at the highest */
};
/** @return 0, -ENODEV, -EINVAL no such priority, -ENOTSUP, or what the card said. */
int rte_pmd_mlx4_qcn_stats(uint16_t port_id, unsigned int prio, struct rte_pmd_mlx4_qcn_stats *st);
/** @return 0, -ENODEV, -ENOTSUP, or what the card said. */
int rte_pmd_mlx4_qcn_clear(uint16_t port_id, uint8_t prios);

/* --- events ------------------------------------------------------------------------------------------------ */

enum rte_pmd_mlx4_qos_event {
	RTE_PMD_MLX4_EVENT_DROPLESS_ENTERED, /**< the port's first queue became dropless */
	RTE_PMD_MLX4_EVENT_DROPLESS_EXITED,  /**< the last one ceased to be */
	RTE_PMD_MLX4_EVENT_DROPLESS_TIMEOUT, /**< index: the receive queue that went to drop mode */
	RTE_PMD_MLX4_EVENT_RX_STALL_BEGIN,   /**< pause generation went off; index: the receive queue that stalls */
	RTE_PMD_MLX4_EVENT_RX_STALL_END,
	RTE_PMD_MLX4_EVENT_TC_STALL_BEGIN, /**< index: the class */
	RTE_PMD_MLX4_EVENT_TC_STALL_END,
	RTE_PMD_MLX4_EVENT_PORT_SETTING,  /**< a value of the port's declaration is another one */
	RTE_PMD_MLX4_EVENT_GROUP_SETTING, /**< a group came, went, or has another value; index: its first queue */
	RTE_PMD_MLX4_EVENT_RXQ_SETTING,   /**< a receive queue's, by itself; index: the queue */
	RTE_PMD_MLX4_EVENT_TXQ_SETTING,
	RTE_PMD_MLX4_EVENT_PORT_TYPE_REFUSED, /**< Ethernet without RoCE beside InfiniBand that was sensed on port 2 */
	RTE_PMD_MLX4_EVENT_HEALTH_ALARM,      /**< a sensor of rte_pmd_mlx4_health_get(); index: the queue */
	RTE_PMD_MLX4_EVENT_HEALTH_CLEARED,    /**< what stood still moves again */
	RTE_PMD_MLX4_EVENT_PORT_RESTARTED,    /**< the port was stopped and started by itself, or on request */
	RTE_PMD_MLX4_EVENT_DUMP_WRITTEN,
	RTE_PMD_MLX4_EVENTS
};

/** The event's name in the log, the same in all versions, such as "dropless-timeout"; "" for no event. */
const char *rte_pmd_mlx4_qos_event_name(enum rte_pmd_mlx4_qos_event event);

/**
 * text: as in the log, where the event's name in brackets stands before it. A setting's has the old and the new value.
 * Runs in the interrupt thread or in that of the caller who caused it.
 */
typedef void (*rte_pmd_mlx4_qos_event_fn)(uint16_t port_id, enum rte_pmd_mlx4_qos_event event, uint16_t index,
					  const char *text, void *arg);

/**
 * The function that is told of a port's events; one a port, NULL for none. It may call functions of this file that
 * only read, and no others of the port.
 * @return 0, -ENODEV
 */
int rte_pmd_mlx4_qos_on_event(uint16_t port_id, rte_pmd_mlx4_qos_event_fn fn, void *arg);

#ifdef __cplusplus
}
#endif

#endif /* RTE_PMD_MLX4_QOS_H */
