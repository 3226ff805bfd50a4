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

#include "mlx4_hca.h"

struct mlx4_eth;

/* One receive work queue: a QP's ring. */
struct mlx4_rx_ring {
	struct mlx4_wqe_data *wqes;
	struct rte_mbuf **elts; /* (1 << lg_sges) per WQE */
	volatile rte_be32_t *dbrec;
	uint16_t mask;	 /* WQEs - 1 */
	uint16_t ci, pi; /* running counts of consumed and posted WQEs */
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
	uint32_t cq_ci; /* running */
	volatile rte_be32_t *cq_dbrec;
	struct mlx4_rx_ring *ring; /* the first one */
	struct mlx4_rx_set *next;  /* published by control code, taken by the poller */
	uint16_t num_rings;
	uint16_t *ring_of; /* ring by QPN - base_qpn, for num_rings > 1 */
	uint32_t base_qpn;
	/* control */
	struct mlx4_cq cq;
	uint32_t uar, arm_sn;
	bool quiet; /* its QPs are in RST: what is in the CQ now is the rest */
};

struct mlx4_rxq {
	struct mlx4_rx_set *set;
	uint64_t rearm;	  /* mbuf rearm word */
	uint64_t ol_mask; /* of the offload flags that this queue reports */
	struct rte_mempool *mp;
	uint16_t refill_min; /* refill when so many WQEs are free */
	uint16_t port_id;
	uint8_t lg_sges; /* lg buffers per WQE */
	uint8_t crc_len; /* FCS bytes that the card leaves in the buffer and the application does not want */
	uint64_t packets, bytes;
	uint64_t errors; /* error CQEs */
	uint64_t nombuf; /* mbufs that could not be had */
	/* control */
	struct mlx4_eth *eth;
	struct mlx4_rx_set *retired; /* sets that the poller left, to be freed by control code */
	uint16_t queue_id;
	uint16_t nb_desc; /* WQEs */
	uint32_t buf_len; /* usable bytes of an mbuf */
	uint64_t offloads;
	int numa_node;
	bool started, deferred, vlan_strip, keep_crc;
	int vector; /* completion EQ, -1: none */
};

struct mlx4_txq {
	uint8_t *sq;
	uint32_t sq_mask; /* TXBBs - 1 */
	uint32_t sq_pi;	  /* running, in TXBBs */
	uint32_t sq_ci;
	uint32_t sq_room; /* TXBBs that may be in use: ring less headroom */
	rte_be32_t lkey;
	rte_be32_t db_val; /* QPN << 8 */
	volatile rte_be32_t *db;
	struct rte_mbuf **elts; /* by TXBB of the WQE's first block */
	struct mlx4_cqe *cqes;
	uint32_t cq_mask;
	uint32_t cq_ci;
	volatile rte_be32_t *cq_dbrec;
	uint32_t since_cqe;  /* TXBBs posted since the last CQE was asked for */
	uint16_t inline_max; /* bytes; 0: never inline */
	bool fast_free;
	volatile uint8_t *bf; /* BlueFlame register or NULL */
	uint32_t bf_half;     /* bytes of half a register */
	uint32_t bf_off;
	uint32_t qpn;
	uint64_t packets, bytes, errors;
	uint64_t linearized; /* copied because they had too many segments */
	/* control */
	struct mlx4_eth *eth;
	struct mlx4_cq cq;
	struct mlx4_qp qp;
	uint32_t uar;
	uint16_t port_id;
	uint16_t queue_id;
	uint16_t nb_desc;
	uint64_t offloads;
	int numa_node;
	bool started, deferred;
};

/* bursts (rx.c, tx.c) */
uint16_t mlx4_rx_burst(void *rxq, struct rte_mbuf **pkts, uint16_t n);
uint16_t mlx4_rx_burst_scattered(void *rxq, struct rte_mbuf **pkts, uint16_t n);
uint16_t mlx4_tx_burst(void *txq, struct rte_mbuf **pkts, uint16_t n);
uint16_t mlx4_tx_prepare(void *txq, struct rte_mbuf **pkts, uint16_t n);
uint16_t mlx4_rxtx_removed(void *q, struct rte_mbuf **pkts, uint16_t n);
int mlx4_rx_descriptor_status(void *rxq, uint16_t offset);
int mlx4_tx_descriptor_status(void *txq, uint16_t offset);
uint32_t mlx4_rx_queue_count(void *rxq);

/*
 * Queue life (rxq.c, txq.c). setup: checks and software state. set_create: CQ, rings with these QPNs, filled, QPs in
 * RTS. txq start: rings stamped, QP to RTS. stop: QP to RST, every mbuf given back. release: the reverse of setup.
 */
int mlx4_rxq_setup(struct mlx4_eth *eth, uint16_t idx, uint16_t nb_desc, int numa_node,
		   const struct rte_eth_rxconf *conf, struct rte_mempool *mp, struct mlx4_rxq **out);
int mlx4_rx_set_create(struct mlx4_rxq *q, const uint32_t *qpns, uint16_t n, struct mlx4_rx_set **out);
void mlx4_rx_set_quiesce(struct mlx4_rxq *q, struct mlx4_rx_set *s);
void mlx4_rx_set_destroy(struct mlx4_rxq *q, struct mlx4_rx_set *s);
void mlx4_rxq_release(struct mlx4_rxq *q);
/* Rx interrupt: arms the queue's CQ; -EINVAL when the queue has no vector or is stopped. */
int mlx4_rxq_arm(struct mlx4_rxq *q);
int mlx4_txq_setup(struct mlx4_eth *eth, uint16_t idx, uint16_t nb_desc, int numa_node,
		   const struct rte_eth_txconf *conf, struct mlx4_txq **out);
int mlx4_txq_start(struct mlx4_txq *q);
int mlx4_txq_stop(struct mlx4_txq *q);
void mlx4_txq_release(struct mlx4_txq *q);

/* The packet types that the bursts report, RTE_PTYPE_UNKNOWN last. */
extern const uint32_t mlx4_ptypes[];
extern const size_t mlx4_num_ptypes;

#endif /* MLX4_RXTX_H */
