/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Transmit queues: hot fields first; below "control" nothing is touched by a burst. */
#ifndef MLX4_TX_QUEUE_H
#define MLX4_TX_QUEUE_H

#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "drivers/mlx4/hca/hca.h"

struct mlx4_eth;
struct mlx4_tx_policy;
struct mlx4_tx_policy_slots;

/* What a transmit queue counts by priority, while it has a policy. */
struct mlx4_tx_prio_count {
	uint64_t untagged, untagged_bytes; /* frames that went without a tag, bytes with FCS */
	uint64_t discards;
};

/* packets, bytes: without those that were taken back from the card. Counters of bursts only grow: a reset remembers where they were. */
struct mlx4_tx_counts {
	uint64_t packets, bytes, errors, linearized, failures, spoof_mac, spoof_type;
	struct mlx4_tx_prio_count prio[MLX4_PRIOS];
};

struct mlx4_txq {
	uint8_t *sq;
	uint32_t sq_mask; /* TXBBs - 1 */
	uint32_t sq_pi;   /* running, in TXBBs */
	uint32_t sq_ci;
	uint32_t sq_room; /* TXBBs that may be in use: ring less headroom */
	rte_be32_t lkey;
	rte_be32_t db_val; /* QPN << 8 */
	volatile rte_be32_t *db;
	struct rte_mbuf **elts; /* by TXBB of the WQE's first block */
	struct mlx4_cqe *cqes;
	volatile rte_be32_t *cq_dbrec;
	uint32_t *ends; /* position behind the WQE of the CQEs asked for, a ring of cq_mask + 1 */
	uint32_t cq_mask, cq_ci;
	uint32_t ends_pi, ends_ci;
	uint32_t last_mixed; /* position of the newest slot that is not one plain mbuf */
	uint32_t
		plain_from; /* bytes of the shortest frame that need not take the general path, or MLX4_TX_NONE_PLAIN */
	uint32_t plain_span; /* how many such lengths there are from that on */
	bool fast_free;      /* all mbufs come from one pool and have one owner */
	bool mixed;          /* there are such slots in flight */
	bool broken;  /* the QP is in the error state; whoever sends leaves the rest alone until it is taken back */
	bool inlines; /* frames may go inline, by inline_max, and have no MAC loopback */
	volatile uint8_t *bf; /* BlueFlame page or NULL */
	uint64_t packets, bytes, errors;
	uint64_t lost_packets, lost_bytes; /* of those counted as sent: the QP failed */
	bool parked;                       /* broken, and the sender knows it */
	/* used by the general path */
	uint16_t inline_max; /* bytes; 0: never inline */
	uint16_t frame_max;  /* bytes of a frame without FCS, with the tag that the card inserts: by the port's MTU */
	bool mac_loopback;
	bool tunnels;     /* the card knows what is inside a tunnel */
	bool none_plain;  /* a burst runs, or ran, that knew MLX4_TX_NONE_PLAIN from its start */
	uint32_t bf_half; /* bytes of half a register */
	uint32_t bf_off;
	uint32_t qpn;
	uint32_t max_desc, max_gso; /* bytes */
	bool lso_limited;           /* large sends are looked at: */
	bool lso_tcp_options, lso_ip_options;
	uint8_t lso_segs_min;
	uint64_t linearized; /* copied because they had too many segments */
	uint64_t failures;   /* how often a send error stopped its queue pair */
	/* used by burst_policy.c only */
	const struct mlx4_tx_policy *policy;      /* NULL: none */
	const struct mlx4_tx_policy *policy_busy; /* what the burst that runs has taken */
	uint64_t spoof_mac, spoof_type;           /* frames that it dropped */
	struct mlx4_tx_prio_count prio_count[MLX4_PRIOS];
	uint64_t pace_tsc; /* when pace_room was reckoned */
	int64_t pace_room; /* what may be sent now; below 0: what was sent too much */
	/* control */
	int32_t poller;             /* process of a burst with a policy, when it is a secondary; 0: none */
	struct mlx4_tx_counts base; /* at the last reset */
	struct mlx4_tx_policy_slots *policy_slots;
	struct mlx4_txq *lane[MLX4_PRIOS]; /* queue pairs of other priorities, by rules */
	struct mlx4_eth *eth;
	struct mlx4_cq cq;
	struct mlx4_qp qp;
	uint32_t uar;
	uint16_t port_id;
	uint16_t queue_id;
	uint16_t nb_desc;
	uint64_t offloads;
	uint64_t back_packets, back_bytes; /* of those counted as sent: taken back from the card */
	uint32_t rate_mbps;                /* limit, 0: none */
	uint32_t hol_lifetime_us;          /* at the head, 0: the port's */
	struct {
		uint64_t since_us; /* the head is there, or nothing waits */
		uint32_t pi;       /* posted, as seen last */
		uint16_t sent;
		bool empty;
	} head; /* of qos/tx_hol.c */
	struct {
		uint64_t failures; /* of the queue with its pairs */
		uint32_t ci;
		uint16_t sent;
		uint16_t stuck, lost; /* looks in a row that found the card, or its completions, standing still */
		bool asked;           /* sent is of the last look */
		bool broken;
	} seen;      /* of health/ */
	bool polled; /* while the port restarts: the sender has seen that */
	int numa_node;
	uint8_t prio;       /* of what it sends, 0..7 */
	uint8_t fixed_dscp; /* DSCP + 1 that its IP packets get, 0: by the port's tables */
	bool started, deferred;
	uint8_t sq_traced, cq_traced; /* entries in the trace */
};

/* Every frame takes the general path, which looks at frame_max; far from any length. */
#define MLX4_TX_NONE_PLAIN (UINT32_C(1) << 31)

/* Octets of the longest frame that may go into its WQE, which has two blocks then. */
#define MLX4_TX_INLINE_MAX 104u

/* At this MTU; again when what goes inline changes. The general path is for frames that go inline, and for all with a MAC loopback. */
static inline void
mlx4_txq_lengths(struct mlx4_txq *q, uint32_t mtu)
{
	uint32_t last = RTE_MAX(q->inline_max, RTE_ETHER_HDR_LEN - 1);

	q->frame_max = (uint16_t)(mtu + RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN);
	q->plain_from = last + 1;
	/* Never less than is taken off for the tag of a frame that may get one. */
	q->plain_span = q->mac_loopback ? RTE_VLAN_HLEN : RTE_MAX(q->frame_max, last + RTE_VLAN_HLEN) - last;
	if (q->mac_loopback)
		q->plain_from = UINT32_MAX;
	q->inlines = q->inline_max >= MLX4_INLINE_MIN && !q->mac_loopback;
}

/* bursts (burst.c) */
uint16_t mlx4_tx_burst(void *txq, struct rte_mbuf **pkts, uint16_t n);
/* The same for frames most of which get a tag from the card. */
uint16_t mlx4_tx_burst_tagged(struct mlx4_txq *q, struct rte_mbuf **pkts, uint16_t n);
uint16_t mlx4_tx_prepare(void *txq, struct rte_mbuf **pkts, uint16_t n);
int mlx4_tx_descriptor_status(void *txq, uint16_t offset);
int mlx4_tx_done_cleanup(void *txq, uint32_t free_cnt);

/*
 * --- queue.c: life of a queue. setup: checks and software state, CQ, QP in RST; start: ring stamped, QP to RTS; stop: QP to
 * RST, every mbuf given back; release: the reverse of setup ---
 */
int mlx4_txq_setup(struct mlx4_eth *eth, uint16_t idx, uint16_t nb_desc, int numa_node,
		   const struct rte_eth_txconf *conf, struct mlx4_txq **out);
int mlx4_txq_start(struct mlx4_txq *q);
int mlx4_txq_stop(struct mlx4_txq *q);
/* The first of what was posted and completed, into the trace, by who sends, or when nobody does. */
void mlx4_txq_trace(struct mlx4_txq *q);
void mlx4_txq_release(struct mlx4_txq *q);
/* The card computes checksums and segments inside tunnels from now on, or does not. */
void mlx4_txq_tunnels(struct mlx4_txq *q, bool on);
/*
 * Takes what waits in one queue pair back from the card and frees it; no burst may be at work. Says how many frames were
 * not sent, and their bytes. Afterwards the pair sends again, or, with an error, is stopped.
 */
int mlx4_txq_take_back(struct mlx4_txq *q, uint32_t *frames, uint64_t *bytes);
/* Starts its pairs that failed again, while it sends by others; what waited in them is counted. False: ask again. */
bool mlx4_txq_recover(struct mlx4_txq *q);
/* Waits until what it has posted is sent; false: it took too long. */
bool mlx4_txq_sent(struct mlx4_txq *q);
/* What a frame may be at most, at this MTU. */
void mlx4_txq_frame_max(struct mlx4_txq *q, uint16_t mtu);
/* The same, for a queue that may send right now: no burst but one that runs already posts anything longer. */
void mlx4_txq_shorten(struct mlx4_txq *q, uint16_t mtu);
/* No such burst runs any more; false: it is not known, since none has begun since. */
bool mlx4_txq_shortened(struct mlx4_txq *q);

/* --- recover.c: queue pairs that failed are taken back by the interrupt thread --- */
/* By whoever sends, in a burst: a pair failed. */
void mlx4_txq_failed(struct mlx4_txq *q);
/* With the port's stop: when it returns, no pair is being taken back. */
void mlx4_txqs_recover_end(struct mlx4_eth *eth);

/* --- lso_limits.c: the queue and its lanes have the port's limits of large sends from now on --- */
void mlx4_lso_put(struct mlx4_txq *q);

#endif /* MLX4_TX_QUEUE_H */
