/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * DPDK's own net_mlx4 burst functions on rings that no card reads: the state that its queue set-up would leave, made by
 * hand. Built at bench time against the object of the installed librte_net_mlx4.a and the private headers of the
 * source package of the same version; both stay in the cache folder.
 */
#include <errno.h>
#include <stddef.h>

#include <rte_malloc.h>

#include "mlx4_rxtx.h"

#include "datapath.h"

#define HEADROOM 2112 /* bytes that stay free in the send ring: 2 KiB of prefetch and one block */
#define QPN 0x40
#define LKEY 0x100
#define MAX_PAYLOAD (1u << 17)

const char bench_driver[] = "upstream-net_mlx4";

/* Slow paths of its memory cache; the harness's one region covers everything, so none may be reached. */
int mlx4_logtype;

static _Noreturn void
unexpected(const char *what)
{
	rte_panic("%s was reached: the memory cache of the harness does not cover a buffer\n", what);
}

void
mlx4_mr_flush_local_cache(struct mlx4_mr_ctrl *mr_ctrl)
{
	RTE_SET_USED(mr_ctrl);
	unexpected(__func__);
}

uint32_t
mlx4_rx_addr2mr_bh(struct rxq *rxq, uintptr_t addr)
{
	RTE_SET_USED(rxq);
	RTE_SET_USED(addr);
	unexpected(__func__);
}

uint32_t
mlx4_tx_mb2mr_bh(struct txq *txq, struct rte_mbuf *mb)
{
	RTE_SET_USED(txq);
	RTE_SET_USED(mb);
	unexpected(__func__);
}

static void
cover_all(struct mlx4_mr_ctrl *c)
{
	static uint32_t generation;

	c->dev_gen_ptr = &generation;
	c->cache[0].start = 1;
	c->cache[0].end = UINTPTR_MAX;
	c->cache[0].lkey = rte_cpu_to_be_32(LKEY);
	/* One region: the first entry of the table is a sentinel. */
	c->cache_bh.len = 2;
}

static int
make_cq(struct mlx4_cq *cq, uint32_t entries, struct bench_ring *r)
{
	r->cqes = rte_zmalloc(NULL, (size_t)entries * sizeof(struct mlx4_cqe), 4096);
	r->cqmask = entries - 1;
	cq->buf = r->cqes;
	cq->cqe_cnt = entries;
	cq->set_ci_db = rte_zmalloc(NULL, 64, 64);
	return r->cqes == NULL || cq->set_ci_db == NULL ? -ENOMEM : 0;
}

/* Two buffers a frame are neighbours in the rings of elements and of scatter entries. */
int
bench_rx_queue(struct rte_mempool *mp, uint16_t desc, unsigned int what, struct bench_ring *r)
{
	uint32_t lg_sges = what & BENCH_SEGS ? 1 : 0, bufs = (uint32_t)desc << lg_sges, i;
	struct rxq *q = rte_zmalloc(NULL, sizeof(*q), 64);
	struct mlx4_wqe_data_seg *wqes = rte_zmalloc(NULL, bufs * sizeof(*wqes), 4096);
	struct rte_mbuf **elts = rte_zmalloc(NULL, bufs * sizeof(*elts), 64);

	if (what & (BENCH_VLAN | BENCH_SCALAR))
		return -ENOTSUP;
	if (q == NULL || wqes == NULL || elts == NULL || make_cq(&q->mcq, desc, r) != 0 ||
	    rte_pktmbuf_alloc_bulk(mp, elts, bufs) != 0)
		return -ENOMEM;
	for (i = 0; i < bufs; i++) {
		/* The queue's buffers carry their room as length: the receive loop splits by it. */
		elts[i]->data_len = rte_pktmbuf_tailroom(elts[i]);
		wqes[i].byte_count = rte_cpu_to_be_32(elts[i]->data_len);
		wqes[i].lkey = rte_cpu_to_be_32(LKEY);
		wqes[i].addr = rte_cpu_to_be_64(rte_pktmbuf_mtod(elts[i], uintptr_t));
	}
	q->mp = mp;
	q->elts_n = rte_log2_u32(bufs);
	q->sges_n = lg_sges;
	q->elts = (void *)elts;
	q->wqes = (void *)wqes;
	q->rq_ci = desc;
	q->rq_db = rte_zmalloc(NULL, 64, 64);
	q->csum = (what & BENCH_CSUM) != 0;
	cover_all(&q->mr_ctrl);
	r->queue = q;
	r->burst = mlx4_rx_burst;
	return q->rq_db == NULL ? -ENOMEM : 0;
}

int
bench_tx_queue(uint16_t desc, unsigned int what, struct bench_ring *r)
{
	static uint8_t uar[4096] __rte_aligned(4096);
	uint32_t blocks = 2u * desc;
	struct mlx4_proc_priv *proc = rte_zmalloc(NULL, sizeof(*proc) + sizeof(void *), 64);
	struct mlx4_priv *priv = rte_zmalloc(NULL, sizeof(*priv), 64);
	struct txq *q = rte_zmalloc(NULL, sizeof(*q), 64);
	struct txq_elt *elts = rte_zmalloc(NULL, desc * sizeof(*elts), 64);

	if (what & (BENCH_VLAN | BENCH_INLINE | BENCH_SCALAR | BENCH_BF))
		return -ENOTSUP;
	r->sq = rte_zmalloc(NULL, (size_t)blocks * MLX4_TXBB_SIZE, 4096);
	r->sqmask = blocks - 1;
	if (proc == NULL || priv == NULL || q == NULL || elts == NULL || r->sq == NULL ||
	    make_cq(&q->mcq, desc, r) != 0)
		return -ENOMEM;
	proc->uar_table_sz = sizeof(void *);
	proc->uar_table[0] = uar;
	rte_eth_devices[0].process_private = proc;
	q->msq.buf = r->sq;
	q->msq.size = blocks * MLX4_TXBB_SIZE;
	q->msq.eob = q->msq.buf + q->msq.size;
	q->msq.remain_size = q->msq.size - HEADROOM;
	q->msq.owner_opcode = MLX4_OPCODE_SEND;
	q->msq.stamp = rte_cpu_to_be_32(MLX4_SQ_STAMP_VAL);
	q->msq.doorbell_qpn = rte_cpu_to_be_32(QPN << 8);
	q->elts_n = desc;
	q->elts = (void *)elts;
	elts[0].wqe = (volatile struct mlx4_wqe_ctrl_seg *)q->msq.buf;
	q->elts_comp_cd_init = RTE_MIN(MLX4_PMD_TX_PER_COMP_REQ, desc / 4);
	q->elts_comp_cd = q->elts_comp_cd_init;
	q->csum = (what & (BENCH_CSUM | BENCH_TSO)) != 0;
	q->bounce_buf = rte_zmalloc(NULL, MLX4_MAX_WQE_SIZE, 64);
	priv->tso = 1;
	priv->tso_max_payload_sz = MAX_PAYLOAD;
	q->priv = priv;
	cover_all(&q->mr_ctrl);
	r->queue = q;
	r->burst = mlx4_tx_burst;
	return q->bounce_buf == NULL ? -ENOMEM : 0;
}
