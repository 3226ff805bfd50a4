/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Quality of service of a port from the inside. One lock covers the declaration, what hangs on it and the watch over
 * stalls; it is never held by a burst. The files: qos.c puts declarations in force, card.c tells the card its part, cc.c and
 * qcn.c what congestion control it does, and tx_marks.c transmit queues theirs; flow_control.c, dcb.c and tm/ are ethdev's words for parts of declarations;
 * txq_policy.c treats single transmit queues, dropless.c single receive queues; watch.c, rx_stall.c and tx_hol.c look after
 * paths that stand still; notify.c says what has changed.
 */
#ifndef MLX4_QOS_QOS_H
#define MLX4_QOS_QOS_H

#include "drivers/mlx4/hca/port/qos.h"
#include "drivers/mlx4/port/port.h"
#include "drivers/mlx4/rx/queue.h"
#include "drivers/mlx4/tx/queue.h"
#include "lib/roce/cc/cc.h"
#include "rte_pmd_mlx4_qos.h"

/* What the card is told. */
struct mlx4_qos_card {
	uint8_t prio_tc[TP_PRIOS];
	struct mlx4_sched_tc sched[TP_TCS];
	struct mlx4_prio_map map;
	struct mlx4_pause pause;
};

/* The receive path's monitor. */
struct mlx4_stall {
	struct {
		uint32_t ci;       /* completions taken, as seen last */
		uint64_t since_us; /* it moved, or nothing waited */
	} rxq[MLX4_ETH_MAX_RXQ];
	uint64_t pauses;       /* pauses_sent, as seen last */
	uint64_t pauseless_us; /* when the port did not pause its peer between two looks */
	uint16_t queue;        /* that stalls */
	bool waiting;          /* a queue stood still at the last look */
	bool off;              /* pause generation is off */
	bool minor;            /* counted for this stall */
	uint64_t minors, criticals;
};

/* The lifetime at the head of classes. */
struct mlx4_hol_tc {
	uint64_t drops, stalls;
	uint32_t in_a_row;
	uint64_t until_us; /* discards until then; 0: does not */
};

/* Congestion control of a priority, as the card was told. */
struct mlx4_cc {
	struct tcc_conf conf;
	bool on, told; /* told: since the port was made, or restored */
	struct {
		struct tcc_conf conf;
		bool on;
	} first; /* as the card had it before it was told */
};

struct mlx4_tm; /* tm/tm.h */

struct mlx4_qos {
	struct tp_qos_port conf;             /* in force */
	struct mlx4_qos_card card;           /* what the card has */
	uint8_t dcb_tcs;                     /* classes by rte_eth_dev_configure, 0: it asked for none */
	uint8_t txq_prio[MLX4_ETH_MAX_TXQ];  /* of transmit queues, also of those that are not set up ... */
	uint32_t txq_rate[MLX4_ETH_MAX_TXQ]; /* ... Mb/s, 0: none */
	uint16_t rxq_wait[MLX4_ETH_MAX_RXQ]; /* dropless units of receive queues, likewise */
	struct mlx4_stall stall;
	struct mlx4_hol_tc hol[TP_TCS];
	uint64_t tx_discards[TP_PRIOS];
	uint32_t watch_us; /* period of the watch, 0: off */
	bool watching;     /* an alarm is set or at work */
	uint16_t dropless; /* queues that are */
	rte_pmd_mlx4_qos_event_fn event_fn;
	void *event_arg;
	struct mlx4_cc cc[TP_PRIOS];
	struct rte_pmd_mlx4_cc_stats cc_base[TP_PRIOS]; /* at the last reset of counters */
	uint8_t qcn[TP_PRIOS][MLX4_CC_RP_SIZE];         /* 802.1Qau, as the card was told: set by set, by their masks */
	struct mlx4_tm *tm;
	/* Whether groups of queues can live with a declaration. Set by groups, NULL: there is none. For the primary process alone. */
	int (*judge)(const struct mlx4_eth *eth, const struct tp_qos_port *q, const struct tp_qos_limits *lim,
		     char err[TP_ERR_LEN]);
};

/* --- qos.c --- */
/* With the port. */
int mlx4_qos_create(struct mlx4_eth *eth);
void mlx4_qos_destroy(struct mlx4_eth *eth);
void mlx4_qos_limits(struct mlx4_eth *eth, struct tp_qos_limits *lim);
/* With the lock: checks a declaration and puts it in force. */
int mlx4_qos_apply(struct mlx4_eth *eth, const struct tp_qos_port *q, char err[TP_ERR_LEN]);
/* The card came back from a reset and has the defaults: it is told what was declared. On failure the defaults hold. */
int mlx4_qos_restore(struct mlx4_eth *eth);

/* --- card.c: with the lock --- */
/* What the card is told for a declaration; stalled: pause generation is off. */
void mlx4_qos_card_of(const struct tp_qos_port *q, bool stalled, struct mlx4_qos_card *card);
/* Takes the card from what it has to what is wanted, or leaves it as it was. */
int mlx4_qos_card_change(struct mlx4_eth *eth, const struct mlx4_qos_card *want, char err[TP_ERR_LEN]);
/* Tells the card about pause again, after stall.off has changed. */
int mlx4_qos_pause_refresh(struct mlx4_eth *eth);

/* --- cc.c: with the lock; what they do with the card is -ENOTSUP without congestion control --- */
/* Has the card a parameter of lib/roce/cc? */
bool mlx4_cc_has(const char *word);
/* As the card has it. */
int mlx4_cc_get(struct mlx4_eth *eth, unsigned int prio, struct tcc_conf *conf, bool *on);
/* All of it or nothing. */
int mlx4_cc_set(struct mlx4_eth *eth, unsigned int prio, const struct tcc_conf *conf, bool on);
/* What the card had before it was told; nothing when it was not. */
int mlx4_cc_take_back(struct mlx4_eth *eth, unsigned int prio);
/* The card was reset and is told again. */
int mlx4_cc_restore(struct mlx4_eth *eth);
/* Since the card's reset. Without the lock, too. */
int mlx4_cc_stats(struct mlx4_eth *eth, struct rte_pmd_mlx4_cc_stats st[TP_PRIOS]);
/* Those of a mask of priorities start again. */
int mlx4_cc_clear(struct mlx4_eth *eth, uint8_t prios);

/* --- qcn.c: with the lock --- */
/* The card was reset and is told again. */
int mlx4_qcn_restore(struct mlx4_eth *eth);
/* Of a priority, since the card's reset or the last clear. */
int mlx4_qcn_stats(struct mlx4_eth *eth, unsigned int prio, struct rte_pmd_mlx4_qcn_stats *st);

/* --- notify.c: with the lock --- */
/* Logs a line and tells whoever wants to hear. */
__rte_format_printf(4, 5) void mlx4_qos_tell(struct mlx4_eth *eth, enum rte_pmd_mlx4_qos_event event, uint16_t index,
					     const char *fmt, ...);
/* The values that changed, one by one; a queue's value in case it did. */
void mlx4_tell_port(struct mlx4_eth *eth, const struct tp_qos_port *was, const struct tp_qos_port *is);
void mlx4_tell_group(struct mlx4_eth *eth, const struct tp_group *was, const struct tp_group *is);
void mlx4_tell_rxq(const struct mlx4_rxq *q, const char *what, uint32_t was, uint32_t is);
void mlx4_tell_txq(const struct mlx4_txq *q, const char *what, uint32_t was, uint32_t is);

/* --- tx_marks.c: with the lock --- */
/* What a declaration asks of a queue, in two steps: the second cannot fail. */
int mlx4_txq_marks_prepare(struct mlx4_txq *q, const struct tp_qos_port *conf, char err[TP_ERR_LEN]);
void mlx4_txq_marks(struct mlx4_txq *q, const struct tp_qos_port *conf);

/* --- txq_policy.c: with the lock --- */
/* Live changes of one queue; refused, the old value holds. */
int mlx4_txq_prio(struct mlx4_txq *q, uint8_t prio, char err[TP_ERR_LEN]);
int mlx4_txq_rate(struct mlx4_txq *q, uint32_t mbps, char err[TP_ERR_LEN]);
int mlx4_txq_dscp(struct mlx4_txq *q, int16_t dscp, char err[TP_ERR_LEN]);        /* -1: by the port's tables */
int mlx4_txq_hol(struct mlx4_txq *q, uint32_t lifetime_us, char err[TP_ERR_LEN]); /* 0: the port's */

/* --- tx_hol.c: with the lock --- */
void mlx4_hol_look(struct mlx4_eth *eth, uint64_t now_us);
/* Classes that discard do so no more. */
void mlx4_hol_reset(struct mlx4_eth *eth);

/* --- stats.c --- */
/* box: the port's statistics as mlx4_port_stats reads them. */
int mlx4_qos_stats(struct mlx4_eth *eth, const uint8_t *box, struct tp_qos_prio_stats st[TP_PRIOS]);
void mlx4_qos_stats_reset(struct mlx4_eth *eth);
unsigned int mlx4_qos_xstats_num(void);
void mlx4_qos_xstats_names(struct rte_eth_xstat_name *names);
int mlx4_qos_xstats(struct mlx4_eth *eth, const uint8_t *box, struct rte_eth_xstat *xs, uint64_t first_id);

/* --- watch.c --- */
uint64_t mlx4_now_us(void);
/* With the lock, after a declaration: sets or ends the alarm. */
void mlx4_watch_update(struct mlx4_eth *eth);
/* With the port's start and stop, without the lock; no look is under way when stop returns. */
void mlx4_watch_start(struct mlx4_eth *eth);
void mlx4_watch_stop(struct mlx4_eth *eth);

/* --- dropless.c --- */
/* An event of the card: the receive queue of this QP let a frame wait for too long. */
void mlx4_dropless_expired(struct mlx4_eth *eth, uint32_t qpn);
/* With the lock: a started queue changes at once, another one with its start. */
int mlx4_dropless_set(struct mlx4_rxq *q, uint16_t units, char err[TP_ERR_LEN]);
/* With the lock: a queue that was set up gets what was set for its number. */
int mlx4_dropless_again(struct mlx4_rxq *q, char err[TP_ERR_LEN]);
/* With the lock: the queue goes away. */
void mlx4_dropless_forget(struct mlx4_rxq *q);

/* --- rx_stall.c: with the lock, one look at a time of now_us --- */
void mlx4_stall_reset(struct mlx4_eth *eth, uint64_t now_us);
uint32_t mlx4_stall_minor_ms(const struct tp_qos_port *q);
void mlx4_stall_look(struct mlx4_eth *eth, uint64_t now_us);

/* --- ethdev's operations: flow_control.c, dcb.c, pvid.c, txq_policy.c --- */
int mlx4_flow_ctrl_get(struct rte_eth_dev *dev, struct rte_eth_fc_conf *fc);
int mlx4_flow_ctrl_set(struct rte_eth_dev *dev, struct rte_eth_fc_conf *fc);
int mlx4_pfc_set(struct rte_eth_dev *dev, struct rte_eth_pfc_conf *pfc);
int mlx4_dcb_configure(struct rte_eth_dev *dev);
int mlx4_dcb_info(struct rte_eth_dev *dev, struct rte_eth_dcb_info *info);
int mlx4_vlan_pvid_set(struct rte_eth_dev *dev, uint16_t vid, int on);
int mlx4_queue_rate_limit(struct rte_eth_dev *dev, uint16_t queue, uint32_t rate);

#endif /* MLX4_QOS_QOS_H */
