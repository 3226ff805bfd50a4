/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queues on plain memory, with the test in the place of the card. */
#ifndef RINGS_H
#define RINGS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drivers/mlx4/rx/queue.h"
#include "drivers/mlx4/tx/queue.h"

#define RING_KEY 0x12345678u
#define RING_QPN 0x000141u
#define RX_WQES 64u
#define RX_CQES 64u
#define TX_BLOCKS 256u
#define MTU_MAX 9600u

struct rings {
	struct mlx4_rxq rxq;
	struct mlx4_rx_set set;
	struct mlx4_rx_ring ring[2];
	struct mlx4_txq txq;
	struct mlx4_cqe *rx_cqes, *tx_cqes;
	rte_be32_t rx_dbrec[2][1], rx_cq_dbrec[2], tx_cq_dbrec[2], doorbell;
	uint32_t card_rx_pi, card_tx_pi; /* completions that the test has written */
	struct rte_mempool *pool;
};

/* EAL and the pool, once for the program. */
int rings_eal(void);
/* A fresh pair of queues; every mbuf of the pool must be home at the end. */
int rings_setup(void **state);
int rings_teardown(void **state);
/* Gives back what is posted; for tests with several pairs, before the first teardown. */
void rings_drain(struct rings *r);
/* Writes the next receive completion: everything zero but what the test sets, then the owner bit. */
struct mlx4_cqe *rings_rx_cqe(struct rings *r);
void rings_rx_done(struct rings *r, struct mlx4_cqe *cqe, uint8_t opcode);
/* A send completion. */
void rings_tx_done(struct rings *r, uint16_t wqe_index, uint8_t opcode);
struct rte_mbuf *rings_mbuf(struct rings *r, uint16_t len, uint8_t first);
/* n mbufs of so many bytes each. */
struct rte_mbuf *rings_chain(struct rings *r, uint16_t len, unsigned int n);
uint16_t rings_send(struct rings *r, struct rte_mbuf *m);
/* A dword of the send ring, as the card reads it. */
uint32_t rings_dw(const struct rings *r, uint32_t block, uint32_t n);
/* The card completes what it was asked a completion for, and the queue takes note. */
void rings_complete(struct rings *r);
/* The empty send ring is where it would be after so many blocks. */
void rings_seek(struct rings *r, uint32_t at);

#endif /* RINGS_H */
