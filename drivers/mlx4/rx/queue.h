/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Receive queues: hot fields first; below "control" nothing is touched by a burst. */
#ifndef MLX4_RX_QUEUE_H
#define MLX4_RX_QUEUE_H

#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "drivers/mlx4/port/compat.h"
#include "drivers/mlx4/hca/hca.h"

struct mlx4_eth;
struct mlx4_flood;
struct mlx4_lro;
struct mlx4_rx_sides;

/* How many buffers ahead a receive burst prefetches; rings of mbuf pointers have so many spare (NULL) WQEs at the end. */
#define MLX4_RX_AHEAD 4u

/* One receive work queue: a QP's ring. */
struct mlx4_rx_ring {
	struct mlx4_wqe_data *wqes;
	struct rte_mbuf **elts; /* (1 << lg_sges) per WQE */
	volatile rte_be32_t *dbrec;
	uint16_t mask;    /* WQEs - 1 */
	uint16_t ci, pi;  /* running counts of consumed and posted WQEs */
	uint16_t missing; /* WQEs behind pi that are counted as having found no mbuf */
	uint8_t lg_sges;  /* lg buffers per WQE */
	uint16_t hdr_len; /* bytes in the first buffer of a WQE, a header's; 0: as many as in the others */
	/* control */
	struct mlx4_qp qp;
	uint16_t entries;
	uint8_t traced; /* entries in the trace */
};

/*
 * What a receive queue has on the card at one time: a CQ and the rings that complete to it. A queue has one ring,
 * unless its share of the indirection table is not one block: the card picks a ring by the low hash bits, so every
 * table entry is a ring then. To change the table or the hash, control code builds a new set, moves the steering to
 * it and links it behind the old one; the poller goes over when the old set is drained.
 */
struct mlx4_rx_set {
	struct mlx4_cqe *cqes;
	uint32_t cq_mask;
	uint32_t cq_ci;                  /* running */
	const struct mlx4_cqe *next_cqe; /* entry cq_ci */
	volatile rte_be32_t *cq_dbrec;
	struct mlx4_rx_ring *ring; /* the first one */
	struct mlx4_rx_set *next;  /* published by control code, taken by the poller */
	uint16_t num_rings;
	uint8_t phase;     /* owner bit of entry cq_ci when it is ours */
	uint16_t *ring_of; /* ring by QPN - base_qpn, for num_rings > 1 */
	uint32_t base_qpn;
	uint64_t ol_flags; /* of every mbuf of this set: RSS hash valid or 0 */
	uint64_t ol_mask;  /* of the offload flags that it reports */
	bool quiet;        /* its QPs are in RST: what is in the CQ now is the rest */
	/* control */
	struct mlx4_cq cq;
	uint32_t uar, arm_sn;
	bool has_cq, vlan_strip;
	uint8_t traced; /* completions in the trace */
};

/* Counters of bursts only grow: a reset remembers where they were, so that nothing is lost of what is counted meanwhile. */
struct mlx4_rx_counts {
	uint64_t packets, bytes, errors, nombuf, splits, unsplit;
};

struct mlx4_rxq {
	struct mlx4_rx_set *set;
	uint64_t rearm;                  /* mbuf rearm word */
	uint64_t ol_mask;                /* of the offload flags that this queue reports, but for VLANs */
	struct rte_mempool *mp, *hdr_mp; /* hdr_mp: of the first buffer of a split WQE */
	uint16_t refill_min;             /* refill when so many WQEs are free */
	uint16_t port_id;
	uint16_t stamp_off; /* where mbufs have the time of arrival */
	uint8_t crc_len;    /* FCS bytes that the card leaves in the buffer and the application does not want */
	bool extras;        /* it tells the time, or: */
	bool tunnels;       /* the card looks into tunnels */
	bool inner_apart; /* the flags of a tunnelled frame tell of its inner checksums, its status of the outer ones */
	uint64_t stamp_flag; /* and what says so; 0: the queue does not tell the time */
	uint64_t packets, bytes;
	uint64_t errors;                        /* error CQEs */
	uint64_t nombuf;                        /* WQEs that found the pool empty, each once */
	const struct mlx4_flood *flood_busy;    /* what burst_flood.c has taken */
	struct mlx4_rx_sides *sides;            /* sides.h; NULL: none */
	const struct mlx4_rx_sides *sides_busy; /* what burst_sides.c has taken */
	uint16_t side_turn;                     /* where its next one begins */
	struct mlx4_lro *lro;                   /* lro.h; NULL: does not join segments */
	uint64_t splits, unsplit;               /* packets with their headers split off; without a buffer for them */
	uint32_t split_at;                      /* packet type whose headers the application wants apart; 0: none */
	struct rte_mempool *split_mp;           /* of their buffers */
	/* control */
	int32_t poller;             /* process of a burst with a list, when it is a secondary; 0: none */
	struct mlx4_rx_counts base; /* at the last reset */
	struct mlx4_eth *eth;
	struct mlx4_rx_set
		*oldest; /* head of the chain of sets; those before .set are drained and freed by control code */
	struct rte_mempool *own_mp; /* given at set-up; a group may have another */
	struct rte_mempool *own_hdr_mp;
	uint16_t own_hdr_len, hdr_len; /* lookahead split as set up; as the next rings have it, 0: none */
	uint8_t lg_sges;               /* of the next rings */
	bool reshaped;                 /* the rings in use are made otherwise */
	struct mlx4_rx_set none;       /* what the poller has while the queue has no set */
	uint16_t queue_id;
	uint16_t nb_desc; /* WQEs */
	uint32_t buf_len; /* usable bytes of an mbuf */
	uint64_t offloads;
	int numa_node;
	bool started, deferred, vlan_strip, keep_crc;
	bool intr_on;               /* the application waits for an interrupt */
	int vector;                 /* completion EQ, -1: none */
	uint16_t mod_count, mod_us; /* of its interrupts; us 0: none waits */
	uint16_t delay_drop;        /* units of 100 us that frames wait for a WQE, as declared */
	bool delay_drop_over;       /* one waited for longer: the queue drops until it is declared again */
	struct {
		uint64_t errors;
		uint32_t ci;
		bool waits;
		uint16_t idle; /* looks in a row that found packets and nobody who takes them */
	} seen;                /* of health/ */
	bool polled;           /* while the port restarts: the poller has seen that */
};

/* bursts (burst.c, burst_avx2.c) */
uint16_t mlx4_rx_burst(void *rxq, struct rte_mbuf **pkts, uint16_t n);
uint16_t mlx4_rx_burst_avx2(void *rxq, struct rte_mbuf **pkts, uint16_t n);
uint16_t mlx4_rx_burst_scattered(void *rxq, struct rte_mbuf **pkts, uint16_t n);
/* One set of the queue's, of any kind. */
uint16_t mlx4_rx_burst_set(struct mlx4_rxq *q, struct mlx4_rx_set *s, struct rte_mbuf **pkts, uint16_t n);
int mlx4_rx_descriptor_status(void *rxq, uint16_t offset);
mlx4_queue_count_t mlx4_rx_queue_count(void *rxq);

/* --- queue.c: life of a queue. setup: checks and software state; release: the reverse --- */
int mlx4_rxq_setup(struct mlx4_eth *eth, uint16_t idx, uint16_t nb_desc, int numa_node,
		   const struct rte_eth_rxconf *conf, struct rte_mempool *mp, struct mlx4_rxq **out);
void mlx4_rxq_release(struct mlx4_rxq *q);
/* Frees the sets that the poller has left. */
void mlx4_rxq_reap(struct mlx4_rxq *q);
/* Makes a set the one that the poller takes when the last one of the chain is drained; the first one at once. */
void mlx4_rxq_publish(struct mlx4_rxq *q, struct mlx4_rx_set *s);
/* Frees every set; the queue must not be polled. */
void mlx4_rxq_drop_sets(struct mlx4_rxq *q);
/*
 * Rx interrupt: arms the CQ of the set that is polled and of those that follow; sets published later are armed too until
 * intr_on is cleared. -EINVAL when the queue has no vector or is stopped.
 */
int mlx4_rxq_arm(struct mlx4_rxq *q);
/* An event of a CQ was taken: the next arming counts as a new one [DP 6.5]. arg: the queue. */
void mlx4_rxq_cq_event(void *arg, uint32_t cqn);
/* The card looks into tunnels from now on, or does not. */
void mlx4_rxq_tunnels(struct mlx4_rxq *q, bool on);

/* --- set.c: sets of rings --- */
/* CQ, rings with these QPNs, filled, QPs in RTS. desc: WQEs that the rings share. */
int mlx4_rx_set_create(struct mlx4_rxq *q, uint32_t base_qpn, uint16_t table, const uint16_t *slots, uint16_t n,
		       uint32_t desc, bool rss, struct mlx4_rx_set **out);
/* A set with nothing on the card: a poll finds it empty. */
void mlx4_rx_set_make_empty(struct mlx4_rx_set *s);
void mlx4_rx_set_arm(struct mlx4_rxq *q, struct mlx4_rx_set *s);
void mlx4_rx_set_quiesce(struct mlx4_rxq *q, struct mlx4_rx_set *s);
/* Completions that wait to be taken, as seen beside the poller; bounded by the CQ. */
uint32_t mlx4_rx_set_waiting(const struct mlx4_rx_set *s);
void mlx4_rx_set_destroy(struct mlx4_rxq *q, struct mlx4_rx_set *s);
/* The first completions that came, into the trace, by who polls the set, or when nobody does. */
void mlx4_rx_set_trace(const struct mlx4_rxq *q, struct mlx4_rx_set *s);

/* --- burst.c --- */
/* Gives the ring as many fresh mbufs as it has room for. */
void mlx4_rx_refill(struct mlx4_rxq *q, struct mlx4_rx_ring *r);

/*
 * --- shape.c: what the next rings of a queue are made of: buffers of mp, the first hdr_len bytes of a frame in one of their
 * own (0: no split; the header's pool is that of set-up, or mp) ---
 */
/* Whether the rings can be of this shape; -EINVAL with a line in err. */
int mlx4_rxq_check_shape(const struct mlx4_rxq *q, uint16_t hdr_len, char *err, size_t err_len);
int mlx4_rxq_init_shape(struct mlx4_rxq *q, const struct rte_eth_rxconf *conf, struct rte_mempool *mp);
uint32_t mlx4_rxq_room(const struct mlx4_rxq *q); /* bytes of the largest frame */
void mlx4_rxq_shape(struct mlx4_rxq *q, struct rte_mempool *mp, uint16_t hdr_len);

/* --- timestamp.c: the offload that tells the time of arrival --- */
int mlx4_rxq_init_stamp(struct mlx4_rxq *q);

/* --- moderation.c: tells a set's CQ how the queue's interrupts are moderated --- */
int mlx4_rx_set_moderate(const struct mlx4_rxq *q, struct mlx4_rx_set *s);

/* There is a completion to take, as far as somebody beside the poller can see. */
static inline bool
mlx4_rx_set_waits(const struct mlx4_rx_set *s)
{
	uint32_t ci = __atomic_load_n(&s->cq_ci, __ATOMIC_RELAXED);
	uint8_t op = *(const volatile uint8_t *)&s->cqes[ci & s->cq_mask].owner_sr_opcode;

	return (op & MLX4_CQE_OWNER) == ((ci & (s->cq_mask + 1)) != 0 ? MLX4_CQE_OWNER : 0);
}

/* The set's consumer index moves: where the next completion will be, and how its owner bit is then. */
static inline void
mlx4_rx_set_seek(struct mlx4_rx_set *s, uint32_t cq_ci)
{
	s->cq_ci = cq_ci;
	s->next_cqe = &s->cqes[cq_ci & s->cq_mask];
	s->phase = (cq_ci & (s->cq_mask + 1)) != 0 ? MLX4_CQE_OWNER : 0;
}

/* data_off, refcnt, nb_segs and port in one store. */
static inline void
mlx4_mbuf_rearm(struct rte_mbuf *m, uint64_t word)
{
	memcpy((uint8_t *)m + offsetof(struct rte_mbuf, rearm_data), &word, sizeof(word));
}

#endif /* MLX4_RX_QUEUE_H */
