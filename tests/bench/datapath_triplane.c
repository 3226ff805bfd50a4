/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Triplane's burst functions on rings that no card reads: the state that queue set-up would leave, made by hand. */
#include <errno.h>
#include <string.h>

#include <rte_cpuflags.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_vect.h>

#include "drivers/mlx4/rx/queue.h"
#include "drivers/mlx4/tx/queue.h"

#include "datapath.h"

#define QPN 0x40u
#define LKEY 0x100u

#define INLINE_MAX 104u
#define MTU 1500u
#define MAX_GSO (1u << 17)
#define BF_REG_SIZE 512u
#define REFILL_MIN 32u /* as rxq.c chooses for this ring size */

int mlx4_logtype;
int
mlx4_log(uint32_t level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
	return 0;
}

__thread struct troce_talk troce_talk;
const char bench_driver[] = "triplane";

/* What ethdev would find in a queue's template mbuf [rte_mbuf.h: rearm_data]. */
/* No send fails here. */
void
mlx4_txq_failed(struct mlx4_txq *q)
{
	(void)q;
	abort();
}

static uint64_t
rearm_word(void)
{
	struct rte_mbuf m;
	uint64_t word;

	memset(&m, 0, sizeof(m));
	m.data_off = RTE_PKTMBUF_HEADROOM;
	m.nb_segs = 1;
	rte_mbuf_refcnt_set(&m, 1);
	memcpy(&word, &m.rearm_data, sizeof(word));
	return word;
}

static void *
zalloc(size_t len, size_t align)
{
	return rte_zmalloc(NULL, len, align);
}

/* The flags that a queue reports, as rxq.c finds them by its offloads. */
static uint64_t
reported(unsigned int what)
{
	return (what & BENCH_CSUM ? RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK : 0) |
	       (what & BENCH_VLAN ? RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED : 0) | RTE_MBUF_F_RX_RSS_HASH;
}

/* As rx/choose.c chooses, which has the bursts of all ports. */
static eth_rx_burst_t
plain(void)
{
#ifdef RTE_ARCH_X86_64
	if (rte_vect_get_max_simd_bitwidth() >= RTE_VECT_SIMD_256 && rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX2) > 0)
		return mlx4_rx_burst_avx2;
#endif
	return mlx4_rx_burst;
}

int
bench_rx_queue(struct rte_mempool *mp, uint16_t desc, unsigned int what, struct bench_ring *r)
{
	struct mlx4_rxq *q = zalloc(sizeof(*q), 64);
	struct mlx4_rx_set *s = zalloc(sizeof(*s), 64);
	struct mlx4_rx_ring *ring = zalloc(sizeof(*ring), 64);
	uint32_t i, bufs = what & BENCH_SEGS ? 2u * desc : desc;

	if (q == NULL || s == NULL || ring == NULL)
		return -ENOMEM;
	ring->wqes = zalloc(bufs * sizeof(*ring->wqes), 4096);
	ring->elts = zalloc((bufs + 2 * MLX4_RX_AHEAD) * sizeof(*ring->elts), 64);
	ring->dbrec = zalloc(64, 64);
	r->cqes = zalloc((size_t)desc * sizeof(struct mlx4_cqe), 4096);
	s->cq_dbrec = zalloc(64, 64);
	if (ring->wqes == NULL || ring->elts == NULL || ring->dbrec == NULL || r->cqes == NULL || s->cq_dbrec == NULL ||
	    rte_pktmbuf_alloc_bulk(mp, ring->elts, bufs) != 0)
		return -ENOMEM;
	for (i = 0; i < bufs; i++) {
		ring->wqes[i].byte_count = rte_cpu_to_be_32(rte_pktmbuf_tailroom(ring->elts[i]));
		ring->wqes[i].lkey = rte_cpu_to_be_32(LKEY);
		ring->wqes[i].addr = rte_cpu_to_be_64(rte_mbuf_data_iova_default(ring->elts[i]));
	}
	ring->lg_sges = what & BENCH_SEGS ? 1 : 0;
	ring->mask = desc - 1;
	ring->entries = desc;
	ring->pi = desc;
	s->cqes = (struct mlx4_cqe *)(void *)r->cqes;
	s->cq_mask = r->cqmask = desc - 1u;
	s->ring = ring;
	s->num_rings = 1;
	s->base_qpn = QPN;
	s->ol_flags = what & BENCH_RSS ? RTE_MBUF_F_RX_RSS_HASH : 0;
	q->set = s;
	q->rearm = rearm_word();
	s->ol_mask = reported(what);
	q->mp = mp;
	q->refill_min = REFILL_MIN;
	q->buf_len = rte_pktmbuf_data_room_size(mp) - RTE_PKTMBUF_HEADROOM;
	q->nb_desc = desc;
	r->queue = q;
	mlx4_rx_set_seek(s, 0);
	r->burst = what & BENCH_SEGS ? mlx4_rx_burst_scattered : what & BENCH_SCALAR ? mlx4_rx_burst : plain();
	return 0;
}

int
bench_tx_queue(uint16_t desc, unsigned int what, struct bench_ring *r)
{
	static uint8_t uar[MLX4_UAR_PAGE_SIZE] __rte_aligned(MLX4_UAR_PAGE_SIZE),
		bf[BF_REG_SIZE] __rte_aligned(BF_REG_SIZE);
	uint32_t blocks = 2u * desc;
	struct mlx4_txq *q = zalloc(sizeof(*q), 64);

	if (q == NULL)
		return -ENOMEM;
	r->sq = zalloc((size_t)blocks << MLX4_LG_TXBB, 4096);
	r->cqes = zalloc((size_t)blocks * sizeof(struct mlx4_cqe), 4096);
	q->elts = zalloc(blocks * sizeof(*q->elts), 64);
	q->ends = zalloc(blocks * sizeof(*q->ends), 64);
	q->cq_dbrec = zalloc(64, 64);
	if (r->sq == NULL || r->cqes == NULL || q->elts == NULL || q->ends == NULL || q->cq_dbrec == NULL)
		return -ENOMEM;
	q->sq = r->sq;
	q->sq_mask = r->sqmask = blocks - 1;
	q->sq_room = blocks - MLX4_SQ_HEADROOM_TXBBS;
	q->lkey = rte_cpu_to_be_32(LKEY);
	q->qpn = QPN;
	q->db_val = rte_cpu_to_be_32(QPN << 8);
	q->db = (volatile rte_be32_t *)(void *)(uar + MLX4_UAR_SEND_DB);
	q->cqes = (struct mlx4_cqe *)(void *)r->cqes;
	q->cq_mask = r->cqmask = blocks - 1;
	if (what & BENCH_INLINE)
		q->inline_max = INLINE_MAX;
	if (what & BENCH_BF) {
		q->bf = bf;
		q->bf_half = sizeof(bf) / 2;
	}
	mlx4_txq_lengths(q, MTU);
	q->max_desc = MLX4_SEND_WQE_MAX;
	q->max_gso = MAX_GSO;
	q->nb_desc = desc;
	r->queue = q;
	r->burst = mlx4_tx_burst;
	return 0;
}
