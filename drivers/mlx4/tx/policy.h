/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What a transmit queue does to frames that the card cannot do: checks of what a guest may send, marks. A port sends
 * through the burst function of this file only while one of its queues has a policy; the plain path knows nothing of it.
 *
 * A policy never changes while a burst may look at it: the next one is made in the queue's other slot and handed over as
 * port/handover.h says.
 */
#ifndef MLX4_TX_POLICY_H
#define MLX4_TX_POLICY_H

#include <rte_ether.h>

#include <tp_qos.h>

#include "drivers/mlx4/port/handover.h"
#include "queue.h"

#define MLX4_POLICY_TYPES TP_ANTISPOOF_TYPES

/* Packets that a burst looks at before it posts them. */
#define MLX4_POLICY_RUN 64u

/* A part of a byte, in which the budget of a queue of several pairs is counted. */
#define MLX4_PACE_ONE (UINT64_C(1) << 28)

struct mlx4_tx_policy {
	/* anti-spoof: a frame that fails is freed and counted, and for the sender it counts as sent */
	bool check_mac, check_type;
	bool allow_llc; /* frames with a length instead of a type */
	uint8_t num_types;
	struct rte_ether_addr mac;
	rte_be16_t type[MLX4_POLICY_TYPES];

	/* classes and marks (mark.c) */
	bool mark;                         /* one of the following is on */
	bool classify;                     /* rules find priorities */
	bool by_dscp;                      /* that of IP frames is the DSCP that they get or have, / 8 */
	uint64_t decided;                  /* ol_flags of frames that come with their priority and DSCP */
	bool look;                         /* at what is behind the tag */
	uint8_t tags;                      /* bit n: frames of priority n that have no tag get one ... */
	uint16_t tci[MLX4_PRIOS];          /* ... this, by priority */
	uint8_t prio;                      /* of frames that no rule finds */
	uint8_t fixed_dscp;                /* DSCP + 1 of frames whose rule names none, 0: by their priority */
	int8_t dscp[MLX4_PRIOS];           /* by priority, -1: stays */
	uint8_t hold, discard;             /* bit n: frames of priority n are left to the caller, are dropped */
	struct mlx4_txq *lane[MLX4_PRIOS]; /* who sends another priority; NULL: the queue itself */
	uint64_t pace;                     /* bytes a cycle in 1 / MLX4_PACE_ONE, 0: the card alone limits the rate */
	int64_t pace_burst;                /* bytes in the same parts that may go at once */
	struct tp_qos_classes classes;

	/* nothing to do in a burst, but control code must know when none runs */
	bool watched;
};

static __rte_always_inline void
mlx4_tx_policy_leave(struct mlx4_txq *q)
{
	mlx4_handover_leave(&q->policy_busy);
}

/* By the thread that sends on the queue. */
static __rte_always_inline const struct mlx4_tx_policy *
mlx4_tx_policy_take(struct mlx4_txq *q)
{
	return mlx4_handover_take(&q->policy, &q->policy_busy);
}

/*
 * Marks frames and sends them by their priority, up to MLX4_POLICY_RUN; returns how many of them the caller is rid of. A
 * frame that others share is copied; the mark of a frame that is offered again is written again, which changes nothing.
 */
uint32_t mlx4_tx_marked(struct mlx4_txq *q, const struct mlx4_tx_policy *p, struct rte_mbuf **pkts, uint32_t n);

/* The burst of a port that has a queue with a policy (burst_policy.c). */
uint16_t mlx4_tx_burst_policy(void *txq, struct rte_mbuf **pkts, uint16_t n);

/*
 * Changes what is in force on a queue, while it sends: edit gets a copy of it, all off when there was none. A policy
 * with nothing on is taken off. 0 or -ENOMEM. One caller at a time.
 */
int mlx4_tx_policy_edit(struct mlx4_txq *q, void (*edit)(struct mlx4_tx_policy *p, const void *arg), const void *arg);

#endif /* MLX4_TX_POLICY_H */
