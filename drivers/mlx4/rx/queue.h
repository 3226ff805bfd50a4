/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Receive and transmit queues: hot fields first; below "control" nothing is touched by a burst. */
#ifndef MLX4_RXTX_H
#define MLX4_RXTX_H

#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "mlx4_compat.h"
#include "mlx4_hca.h"

struct mlx4_eth;
struct mlx4_flood;
struct mlx4_lro;
struct mlx4_rx_sides;
struct mlx4_tx_policy;
struct mlx4_tx_policy_slots;

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
};

/* Counters of bursts only grow: a reset remembers where they were, so that nothing is lost of what is counted meanwhile. */
struct mlx4_rx_counts {
	uint64_t packets, bytes, errors, nombuf;
};

struct mlx4_rxq {
	struct mlx4_rx_set *set;
	uint64_t rearm;                  /* mbuf rearm word */
	uint64_t ol_mask;                /* of the offload flags that this queue reports, but for VLANs */
	struct rte_mempool *mp, *hdr_mp; /* hdr_mp: of the first buffer of a split WQE */
	uint16_t refill_min;             /* refill when so many WQEs are free */
	uint16_t port_id;
	uint16_t stamp_off;  /* where mbufs have the time of arrival */
	uint8_t crc_len;     /* FCS bytes that the card leaves in the buffer and the application does not want */
	bool extras;         /* it tells the time, or: */
	bool tunnels;        /* the card looks into tunnels */
	uint64_t stamp_flag; /* and what says so; 0: the queue does not tell the time */
	uint64_t packets, bytes;
	uint64_t errors;                        /* error CQEs */
	uint64_t nombuf;                        /* WQEs that found the pool empty, each once */
	const struct mlx4_flood *flood_busy;    /* what the burst of rx_flood.c has taken */
	struct mlx4_rx_sides *sides;            /* rx_side.h; NULL: none */
	const struct mlx4_rx_sides *sides_busy; /* what the burst of rx_side.c has taken */
	uint16_t side_turn;                     /* where its next one begins */
	struct mlx4_lro *lro;                   /* rx_lro.h; NULL: does not join segments */
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
};

/* What a transmit queue counts by priority, while it has a policy. */
struct mlx4_tx_prio_count {
	uint64_t untagged, untagged_bytes; /* frames that went without a tag, bytes with FCS */
	uint64_t discards;
};

/* packets, bytes: without those that were taken back from the card */
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
	uint32_t plain_from; /* bytes of the shortest frame that need not take the general path */
	uint32_t plain_span; /* how many such lengths there are from that on */
	bool fast_free;      /* all mbufs come from one pool and have one owner */
	bool mixed;          /* there are such slots in flight */
	bool broken; /* the QP is in the error state; whoever sends leaves the rest alone until it is taken back */
	bool parked; /* and knows it */
	volatile uint8_t *bf; /* BlueFlame page or NULL */
	uint64_t packets, bytes, errors;
	uint64_t lost_packets, lost_bytes; /* of those counted as sent: the QP failed */
	/* used by the general path */
	uint16_t inline_max; /* bytes; 0: never inline */
	uint16_t frame_max;  /* bytes of a frame without FCS, with the tag that the card inserts: by the port's MTU */
	bool mac_loopback;
	bool tunnels;     /* the card knows what is inside a tunnel */
	uint32_t bf_half; /* bytes of half a register */
	uint32_t bf_off;
	uint32_t qpn;
	uint32_t max_desc, max_gso; /* bytes */
	bool lso_limited;           /* large sends are looked at: */
	bool lso_tcp_options, lso_ip_options;
	uint8_t lso_segs_min;
	uint64_t linearized; /* copied because they had too many segments */
	uint64_t failures;   /* how often a send error stopped its queue pair */
	/* used by the burst of tx_policy.c only */
	const struct mlx4_tx_policy *policy;      /* NULL: none */
	const struct mlx4_tx_policy *policy_busy; /* what the burst that runs has taken */
	uint64_t spoof_mac, spoof_type;           /* frames that it dropped */
	struct mlx4_tx_prio_count prio_count[MLX4_PRIOS];
	uint64_t pace_tsc; /* when pace_room was reckoned */
	int64_t pace_room; /* what may be sent now; below 0: what was sent too much */
	/* control */
	int32_t poller;             /* as in struct mlx4_rxq */
	struct mlx4_tx_counts base; /* as there */
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
	} head; /* hol.c */
	int numa_node;
	uint8_t prio;       /* of what it sends, 0..7 */
	uint8_t fixed_dscp; /* DSCP + 1 that its IP packets get, 0: by the port's tables */
	bool started, deferred;
};

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
}

/* bursts (rx.c, tx.c) */
uint16_t mlx4_rx_burst(void *rxq, struct rte_mbuf **pkts, uint16_t n);
uint16_t mlx4_rx_burst_avx2(void *rxq, struct rte_mbuf **pkts, uint16_t n);
/* The fastest of the two that this processor and the limit of SIMD width (--force-max-simd-bitwidth) allow. */
eth_rx_burst_t mlx4_rx_burst_plain(void);
uint16_t mlx4_rx_burst_scattered(void *rxq, struct rte_mbuf **pkts, uint16_t n);
/* One set of the queue's, of any kind. */
uint16_t mlx4_rx_burst_set(struct mlx4_rxq *q, struct mlx4_rx_set *s, struct rte_mbuf **pkts, uint16_t n);
uint16_t mlx4_tx_burst(void *txq, struct rte_mbuf **pkts, uint16_t n);
/* The same for frames most of which get a tag from the card. */
uint16_t mlx4_tx_burst_tagged(struct mlx4_txq *q, struct rte_mbuf **pkts, uint16_t n);
uint16_t mlx4_tx_prepare(void *txq, struct rte_mbuf **pkts, uint16_t n);
uint16_t mlx4_rxtx_removed(void *q, struct rte_mbuf **pkts, uint16_t n);
int mlx4_rx_descriptor_status(void *rxq, uint16_t offset);
int mlx4_tx_descriptor_status(void *txq, uint16_t offset);
int mlx4_tx_done_cleanup(void *txq, uint32_t free_cnt);
mlx4_queue_count_t mlx4_rx_queue_count(void *rxq);

/*
 * Queue life (rxq.c, txq.c). setup: checks and software state. set_create: CQ, rings with these QPNs, filled, QPs in
 * RTS. txq start: rings stamped, QP to RTS. stop: QP to RST, every mbuf given back. release: the reverse of setup.
 */
/*
 * What the next rings of a queue are made of: buffers of mp, the first hdr_len bytes of a frame in one of their own (0: no
 * split; the header's pool is that of set-up, or mp). check: whether they can be; -EINVAL with a line in err.
 */
int mlx4_rxq_check_shape(const struct mlx4_rxq *q, uint16_t hdr_len, char *err, size_t err_len);
int mlx4_rxq_init_shape(struct mlx4_rxq *q, const struct rte_eth_rxconf *conf, struct rte_mempool *mp);
/* clock.c: the offload that tells the time of arrival. */
int mlx4_rxq_init_stamp(struct mlx4_rxq *q);
uint32_t mlx4_rxq_room(const struct mlx4_rxq *q); /* bytes of the largest frame */
void mlx4_rxq_shape(struct mlx4_rxq *q, struct rte_mempool *mp, uint16_t hdr_len);
int mlx4_rxq_setup(struct mlx4_eth *eth, uint16_t idx, uint16_t nb_desc, int numa_node,
		   const struct rte_eth_rxconf *conf, struct rte_mempool *mp, struct mlx4_rxq **out);
/* desc: WQEs that the rings share. */
int mlx4_rx_set_create(struct mlx4_rxq *q, uint32_t base_qpn, uint16_t table, const uint16_t *slots, uint16_t n,
		       uint32_t desc, bool rss, struct mlx4_rx_set **out);
void mlx4_rx_set_arm(struct mlx4_rxq *q, struct mlx4_rx_set *s);
void mlx4_rx_set_quiesce(struct mlx4_rxq *q, struct mlx4_rx_set *s);
/* Completions that wait to be taken, as seen beside the poller; bounded by the CQ. */
uint32_t mlx4_rx_set_waiting(const struct mlx4_rx_set *s);
void mlx4_rx_set_destroy(struct mlx4_rxq *q, struct mlx4_rx_set *s);
void mlx4_rxq_release(struct mlx4_rxq *q);
/* Frees the sets that the poller has left. */
void mlx4_rxq_reap(struct mlx4_rxq *q);
/* Makes a set the one that the poller takes when the last one of the chain is drained; the first one at once. */
void mlx4_rxq_publish(struct mlx4_rxq *q, struct mlx4_rx_set *s);
/* Frees every set; the queue must not be polled. */
void mlx4_rxq_drop_sets(struct mlx4_rxq *q);
/* Gives the ring as many fresh mbufs as it has room for. */
void mlx4_rx_refill(struct mlx4_rxq *q, struct mlx4_rx_ring *r);
/*
 * Rx interrupt: arms the CQ of the set that is polled and of those that follow; sets published later are armed too until
 * intr_on is cleared. -EINVAL when the queue has no vector or is stopped.
 */
int mlx4_rxq_arm(struct mlx4_rxq *q);
/* moderation.c: tells a set's CQ how the queue's interrupts are moderated. */
int mlx4_rx_set_moderate(const struct mlx4_rxq *q, struct mlx4_rx_set *s);
/* An event of a CQ was taken: the next arming counts as a new one [DP 6.5]. arg: the queue. */
void mlx4_rxq_cq_event(void *arg, uint32_t cqn);
int mlx4_txq_setup(struct mlx4_eth *eth, uint16_t idx, uint16_t nb_desc, int numa_node,
		   const struct rte_eth_txconf *conf, struct mlx4_txq **out);
int mlx4_txq_start(struct mlx4_txq *q);
int mlx4_txq_stop(struct mlx4_txq *q);
void mlx4_txq_release(struct mlx4_txq *q);
/* The card looks into tunnels from now on, or does not. */
void mlx4_rxq_tunnels(struct mlx4_rxq *q, bool on);
/* The card computes checksums and segments inside tunnels from now on, or does not. */
void mlx4_txq_tunnels(struct mlx4_txq *q, bool on);
/* lso.c: the queue and its lanes have the port's limits of large sends from now on. */
void mlx4_lso_put(struct mlx4_txq *q);
/*
 * Takes what waits in one queue pair back from the card and frees it; no burst may be at work. Says how many frames were
 * not sent, and their bytes. Afterwards the pair sends again, or, with an error, is stopped.
 */
int mlx4_txq_take_back(struct mlx4_txq *q, uint32_t *frames, uint64_t *bytes);
/* Told by whoever sends, in a burst: a pair failed. The watch (watch.c) takes it back. */
void mlx4_txq_failed(struct mlx4_txq *q);
/* Starts its pairs that failed again, while it sends by others; what waited in them is counted. False: ask again. */
bool mlx4_txq_recover(struct mlx4_txq *q);
/* Waits until what it has posted is sent; false: it took too long. */
bool mlx4_txq_sent(struct mlx4_txq *q);
/* What a frame may be at most, at this MTU. */
void mlx4_txq_frame_max(struct mlx4_txq *q, uint16_t mtu);

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

#endif /* MLX4_RXTX_H */
