/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <stdlib.h>

#include <rte_eal.h>

#include "rings.h"
#include "tests/unit/eal.h"

int mlx4_logtype;
int
mlx4_log(uint32_t level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
	return 0;
}

__thread struct troce_talk troce_talk;
static struct rte_mempool *the_pool;

int
rings_eal(void)
{
	char *argv[] = {(char *)(uintptr_t) "test",
			(char *)(uintptr_t) "--no-huge",
			(char *)(uintptr_t) "-m",
			(char *)(uintptr_t) "64",
			(char *)(uintptr_t) "--no-pci",
			(char *)(uintptr_t) "--no-shconf",
			(char *)(uintptr_t) "--lcores",
			unit_lcores("0"),
			(char *)(uintptr_t) "--log-level",
			(char *)(uintptr_t) "lib.eal:error",
			(char *)(uintptr_t) "--no-telemetry"};

	if (rte_eal_init(RTE_DIM(argv), argv) < 0)
		return -1;
	the_pool = rte_pktmbuf_pool_create("rings", 1023, 0, 0, 2048 + RTE_PKTMBUF_HEADROOM, 0);
	return the_pool == NULL ? -1 : 0;
}

static void *
zeroed(size_t len)
{
	void *p = NULL;

	if (posix_memalign(&p, 4096, len) != 0)
		return NULL;
	memset(p, 0, len);
	return p;
}

static void
setup_rx(struct rings *r)
{
	struct mlx4_rx_ring *g = &r->ring[0];
	uint32_t i;

	r->rx_cqes = zeroed(RX_CQES * sizeof(struct mlx4_cqe));
	for (i = 0; i < RX_CQES; i++)
		r->rx_cqes[i].owner_sr_opcode = MLX4_CQE_OWNER;
	g->wqes = zeroed(RX_WQES * 8 * sizeof(*g->wqes));
	g->elts = zeroed((RX_WQES + MLX4_RX_AHEAD) * 8 * sizeof(*g->elts));
	g->mask = RX_WQES - 1;
	g->dbrec = r->rx_dbrec[0];
	r->set.cqes = r->rx_cqes;
	r->set.cq_mask = RX_CQES - 1;
	r->set.cq_dbrec = r->rx_cq_dbrec;
	r->set.ring = r->ring;
	r->set.num_rings = 1;
	mlx4_rx_set_seek(&r->set, 0);
	r->rxq.set = &r->set;
	r->rxq.mp = the_pool;
	r->rxq.refill_min = 16;
	r->rxq.port_id = 3;
	r->rxq.buf_len = 2048;
	r->rxq.nb_desc = RX_WQES;
	r->set.ol_mask = UINT64_MAX;
	/* data_off, refcnt, nb_segs, port as they lie in an mbuf of a little-endian host */
	r->rxq.rearm = (uint64_t)3 << 48 | (uint64_t)1 << 32 | (uint64_t)1 << 16 | RTE_PKTMBUF_HEADROOM;
}

static void
setup_tx(struct rings *r)
{
	struct mlx4_txq *q = &r->txq;
	uint32_t i;

	r->tx_cqes = zeroed(TX_BLOCKS * sizeof(struct mlx4_cqe));
	for (i = 0; i < TX_BLOCKS; i++)
		r->tx_cqes[i].owner_sr_opcode = MLX4_CQE_OWNER;
	q->sq = zeroed(TX_BLOCKS * MLX4_TXBB_SIZE);
	for (i = 0; i < TX_BLOCKS; i++)
		memset(q->sq + i * MLX4_TXBB_SIZE, 0xff, 4);
	q->sq_mask = TX_BLOCKS - 1;
	q->sq_room = TX_BLOCKS - MLX4_SQ_HEADROOM_TXBBS;
	q->lkey = rte_cpu_to_be_32(RING_KEY);
	q->qpn = RING_QPN;
	q->db_val = rte_cpu_to_be_32(RING_QPN << 8);
	q->db = &r->doorbell;
	q->elts = zeroed(TX_BLOCKS * sizeof(*q->elts));
	q->ends = zeroed(TX_BLOCKS * sizeof(*q->ends));
	q->cqes = r->tx_cqes;
	q->cq_mask = TX_BLOCKS - 1;
	q->cq_dbrec = r->tx_cq_dbrec;
	mlx4_txq_lengths(q, MTU_MAX);
	q->max_desc = MLX4_SEND_WQE_MAX;
	q->max_gso = 1u << 17;
	q->nb_desc = TX_BLOCKS;
}

/* Nobody is here who would take the pair back. */
void
mlx4_txq_failed(struct mlx4_txq *q)
{
	assert_true(q->broken);
}

int
rings_setup(void **state)
{
	struct rings *r = zeroed(sizeof(*r));

	if (r == NULL)
		return -1;
	r->pool = the_pool;
	setup_rx(r);
	setup_tx(r);
	*state = r;
	return 0;
}

void
rings_drain(struct rings *r)
{
	struct mlx4_rx_ring *g = &r->ring[0];
	uint32_t i, k;

	for (; g->ci != g->pi; g->ci++)
		for (k = 0; k < 1u << g->lg_sges; k++)
			rte_mbuf_raw_free(g->elts[((uint32_t)(g->ci & g->mask) << g->lg_sges) + k]);
	for (i = r->txq.sq_ci; i != r->txq.sq_pi; i++)
		if ((uintptr_t)r->txq.elts[i & r->txq.sq_mask] > 1)
			rte_pktmbuf_free(r->txq.elts[i & r->txq.sq_mask]);
	r->txq.sq_ci = r->txq.sq_pi;
}

int
rings_teardown(void **state)
{
	struct rings *r = *state;
	rings_drain(r);
	free(r->rx_cqes);
	free(r->tx_cqes);
	free(r->ring[0].wqes);
	free(r->ring[0].elts);
	free(r->txq.sq);
	free(r->txq.elts);
	free(r->txq.ends);
	free(r);
	/* Nothing may be lost or freed twice. */
	if (rte_mempool_avail_count(the_pool) != 1023) {
		print_error("%u of 1023 mbufs came home\n", rte_mempool_avail_count(the_pool));
		return -1;
	}
	return 0;
}

struct mlx4_cqe *
rings_rx_cqe(struct rings *r)
{
	struct mlx4_cqe *cqe = &r->rx_cqes[r->card_rx_pi % RX_CQES];
	uint8_t owner = cqe->owner_sr_opcode;

	memset(cqe, 0, sizeof(*cqe));
	cqe->owner_sr_opcode = owner;
	return cqe;
}

void
rings_rx_done(struct rings *r, struct mlx4_cqe *cqe, uint8_t opcode)
{
	cqe->owner_sr_opcode = opcode | ((r->card_rx_pi / RX_CQES) & 1 ? MLX4_CQE_OWNER : 0);
	r->card_rx_pi++;
}

void
rings_tx_done(struct rings *r, uint16_t wqe_index, uint8_t opcode)
{
	struct mlx4_cqe *cqe = &r->tx_cqes[r->card_tx_pi % TX_BLOCKS];

	memset(cqe, 0, offsetof(struct mlx4_cqe, owner_sr_opcode));
	cqe->wqe_index = rte_cpu_to_be_16(wqe_index);
	cqe->owner_sr_opcode = opcode | MLX4_CQE_IS_SEND | ((r->card_tx_pi / TX_BLOCKS) & 1 ? MLX4_CQE_OWNER : 0);
	r->card_tx_pi++;
}

struct rte_mbuf *
rings_mbuf(struct rings *r, uint16_t len, uint8_t first)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(r->pool);
	uint8_t *p;
	uint16_t i;

	assert_non_null(m);
	p = (uint8_t *)rte_pktmbuf_append(m, len);
	assert_non_null(p);
	for (i = 0; i < len; i++)
		p[i] = (uint8_t)(first + i);
	return m;
}
