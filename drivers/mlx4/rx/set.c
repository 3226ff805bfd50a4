/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Sets of rings: what a receive queue has on the card at one time; queue.h says what a set is. */
#include <errno.h>

#include <rte_io.h>
#include <rte_malloc.h>

#include "drivers/mlx4/bus/trace.h"
#include "drivers/mlx4/port/port.h"
#include "queue.h"

/* Rings below this are too short for a burst in flight when a queue is made of many. */
#define RX_RING_MIN 64u

/* The set of a queue that has none: an empty CQ, so that a poll finds nothing and touches no card memory. */
static struct mlx4_cqe rx_no_cqe = {.owner_sr_opcode = MLX4_CQE_OWNER};
static rte_be32_t rx_no_dbrec[2];

void
mlx4_rx_set_make_empty(struct mlx4_rx_set *s)
{
	s->cqes = &rx_no_cqe;
	s->cq_dbrec = rx_no_dbrec;
	s->quiet = true;
	mlx4_rx_set_seek(s, 0);
}

/* Everything of a WQE but the address stays as it is for the life of the ring. */
static void
prepare_wqes(struct mlx4_rxq *q, struct mlx4_rx_ring *r)
{
	uint32_t i;

	for (i = 0; i < (uint32_t)r->entries << r->lg_sges; i++) {
		bool header = r->hdr_len != 0 && (i & ((1u << r->lg_sges) - 1)) == 0;

		r->wqes[i].byte_count = rte_cpu_to_be_32(header ? r->hdr_len : q->buf_len);
		r->wqes[i].lkey = rte_cpu_to_be_32(q->eth->hca->pa_key);
	}
}

/* In one piece, or two where the ring ends: a pool takes many at once in little more time than one. */
static void
ring_free_mbufs(struct mlx4_rx_ring *r)
{
	uint32_t first, n;

	while (r->ci != r->pi) {
		first = r->ci & r->mask;
		n = RTE_MIN(r->mask + 1u - first, (uint32_t)(uint16_t)(r->pi - r->ci));
		rte_pktmbuf_free_bulk(&r->elts[first << r->lg_sges], n << r->lg_sges);
		r->ci += n;
	}
}

static void
ring_destroy(struct mlx4_rxq *q, struct mlx4_rx_ring *r)
{
	ring_free_mbufs(r);
	if (r->qp.buf.mz != NULL)
		mlx4_qp_destroy(q->eth->hca, &r->qp);
	rte_free(r->elts);
}

/* One QP with its ring filled; its number is in RTS on return. */
static int
ring_create(struct mlx4_rxq *q, struct mlx4_rx_set *s, struct mlx4_rx_ring *r, uint32_t qpn, uint32_t entries)
{
	struct mlx4_qp_attr attr = {
		.port = q->eth->port,
		.rq_entries = entries,
		.rq_stride = MLX4_DS_SIZE << q->lg_sges,
		.scq = &s->cq,
		.rcq = &s->cq,
		.uar = s->uar,
		.vlan_strip = q->vlan_strip,
		.keep_fcs = q->keep_crc,
		.delay_drop = q->delay_drop_over ? 0 : q->delay_drop,
		.numa_node = q->numa_node,
	};
	int ret;

	r->entries = (uint16_t)entries;
	r->mask = (uint16_t)(entries - 1);
	r->lg_sges = q->lg_sges;
	r->hdr_len = q->hdr_len;
	q->reshaped = false;
	r->elts = rte_zmalloc_socket("mlx4_rx_elts", ((entries + MLX4_RX_AHEAD) << r->lg_sges) * sizeof(*r->elts),
				     RTE_CACHE_LINE_SIZE, q->numa_node);
	if (r->elts == NULL)
		return -ENOMEM;
	ret = mlx4_qp_create(q->eth->hca, qpn, &attr, &r->qp);
	if (ret != 0)
		goto err_qp;
	r->wqes = (void *)r->qp.rq;
	r->dbrec = r->qp.dbrec;
	prepare_wqes(q, r);
	ret = mlx4_qp_start(q->eth->hca, &r->qp);
	if (ret != 0)
		goto err_start;
	mlx4_rx_refill(q, r);
	if (r->pi == r->ci) {
		MLX4_LOG(ERR, "port %u Rx queue %u: pool %s has no free mbuf, %u are wanted", q->port_id, q->queue_id,
			 q->mp->name, entries << q->lg_sges);
		ret = -ENOMEM;
		goto err_fill;
	}
	mlx4_trace_ring(q->eth->hca->trace, "rq", qpn, r->wqes, sizeof(*r->wqes) << r->lg_sges, r->pi, &r->traced);
	return 0;

err_fill:
	mlx4_qp_stop(q->eth->hca, &r->qp);
err_start:
	mlx4_qp_destroy(q->eth->hca, &r->qp);
	r->qp.buf.mz = NULL;
err_qp:
	rte_free(r->elts);
	r->elts = NULL;
	return ret;
}

static int
set_create_rings(struct mlx4_rxq *q, struct mlx4_rx_set *s, const uint16_t *slots, uint16_t n, uint32_t entries)
{
	int ret;

	for (s->num_rings = 0; s->num_rings < n; s->num_rings++) {
		uint16_t slot = slots[s->num_rings];

		ret = ring_create(q, s, &s->ring[s->num_rings], s->base_qpn + slot, entries);
		if (ret != 0)
			goto err_ring;
		s->ring_of[slot] = s->num_rings;
	}
	return 0;

err_ring:
	mlx4_rx_set_quiesce(q, s);
	while (s->num_rings != 0)
		ring_destroy(q, &s->ring[--s->num_rings]);
	return ret;
}

static int
set_create_cq(struct mlx4_rxq *q, struct mlx4_rx_set *s, uint32_t entries)
{
	struct mlx4_hca *hca = q->eth->hca;
	int ret;

	ret = (q->stamp_flag != 0 ? mlx4_cq_create_stamped : mlx4_cq_create)(hca, entries, s->uar, q->vector,
									     q->numa_node, &s->cq);
	if (ret == 0)
		mlx4_belongs(hca, MLX4_OBJ_CQ, s->cq.cqn, 1, q->eth->port);
	if (ret != 0 || q->mod_us == 0)
		return ret;
	ret = mlx4_rx_set_moderate(q, s);
	if (ret != 0)
		mlx4_cq_destroy(hca, &s->cq);
	return ret;
}

/*
 * A set for the entries slots[0..n-1] of an indirection table of so many QPNs from base_qpn. The descriptors are shared
 * out among its rings, but no ring gets less than RX_RING_MIN.
 */
int
mlx4_rx_set_create(struct mlx4_rxq *q, uint32_t base_qpn, uint16_t table, const uint16_t *slots, uint16_t n,
		   uint32_t desc, bool rss, struct mlx4_rx_set **out)
{
	struct mlx4_hca *hca = q->eth->hca;
	struct mlx4_rx_set *s;
	uint32_t entries;
	int ret = -ENOMEM;

	s = rte_zmalloc_socket("mlx4_rx_set", sizeof(*s), RTE_CACHE_LINE_SIZE, q->numa_node);
	if (s == NULL)
		return -ENOMEM;
	if (n == 0) {
		mlx4_rx_set_make_empty(s);
		*out = s;
		return 0;
	}
	entries = n == 1 ? desc : RTE_MAX(rte_align32pow2(desc / n), RX_RING_MIN);
	s->base_qpn = base_qpn;
	s->has_cq = true;
	s->ol_flags = rss ? RTE_MBUF_F_RX_RSS_HASH : 0;
	/* The card says of a tag that the frame has one, stripped or not. */
	s->vlan_strip = q->vlan_strip;
	s->ol_mask = q->ol_mask | (s->vlan_strip ? RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED : 0);
	s->ring = rte_zmalloc_socket("mlx4_rx_rings", n * sizeof(*s->ring), RTE_CACHE_LINE_SIZE, q->numa_node);
	s->ring_of =
		rte_zmalloc_socket("mlx4_rx_ring_of", table * sizeof(*s->ring_of), RTE_CACHE_LINE_SIZE, q->numa_node);
	if (s->ring == NULL || s->ring_of == NULL)
		goto err_mem;
	ret = mlx4_uar_alloc(hca, &s->uar);
	if (ret != 0)
		goto err_mem;
	mlx4_belongs(hca, MLX4_OBJ_UAR, s->uar, 1, q->eth->port);
	ret = set_create_cq(q, s, rte_align32pow2(n * entries));
	if (ret != 0)
		goto err_cq;
	s->cqes = s->cq.cqes;
	s->cq_mask = s->cq.entries - 1;
	s->cq_dbrec = s->cq.dbrec;
	mlx4_rx_set_seek(s, 0);
	s->arm_sn = 1;
	q->refill_min = (uint16_t)RTE_MIN(32u, entries / 4);
	ret = set_create_rings(q, s, slots, n, entries);
	if (ret != 0)
		goto err_rings;
	*out = s;
	return 0;

err_rings:
	mlx4_cq_destroy(hca, &s->cq);
err_cq:
	mlx4_uar_free(hca, s->uar);
err_mem:
	rte_free(s->ring_of);
	rte_free(s->ring);
	rte_free(s);
	return ret;
}

/* QPs to RST: the card is done with the rings, what it received is in the CQ. */
void
mlx4_rx_set_quiesce(struct mlx4_rxq *q, struct mlx4_rx_set *s)
{
	uint16_t i;

	for (i = 0; i < s->num_rings; i++)
		if (mlx4_qp_stop(q->eth->hca, &s->ring[i].qp) != 0 && !q->eth->hca->dead)
			MLX4_LOG(ERR, "port %u Rx queue %u: QP 0x%06x was not taken back", q->port_id, q->queue_id,
				 s->ring[i].qp.qpn);
	s->quiet = true;
}

uint32_t
mlx4_rx_set_waiting(const struct mlx4_rx_set *s)
{
	uint32_t ci = __atomic_load_n(&s->cq_ci, __ATOMIC_RELAXED), n, at;
	uint8_t op;

	if (s->cqes == NULL)
		return 0;
	for (n = 0; n <= s->cq_mask; n++) {
		at = ci + n;
		op = *(const volatile uint8_t *)&s->cqes[at & s->cq_mask].owner_sr_opcode;
		if (((op & MLX4_CQE_OWNER) != 0) != ((at & (s->cq_mask + 1)) != 0))
			break;
	}
	return n;
}

void
mlx4_rx_set_trace(const struct mlx4_rxq *q, struct mlx4_rx_set *s)
{
	if (s->has_cq)
		mlx4_trace_ring(q->eth->hca->trace, "cq", s->cq.cqn, s->cqes, sizeof(*s->cqes),
				RTE_MIN(s->cq_ci, s->cq_mask + 1), &s->traced);
}

void
mlx4_rx_set_destroy(struct mlx4_rxq *q, struct mlx4_rx_set *s)
{
	if (!s->quiet)
		mlx4_rx_set_quiesce(q, s);
	q->eth->rx_stop_drops += mlx4_rx_set_waiting(s);
	mlx4_rx_set_trace(q, s);
	while (s->num_rings != 0)
		ring_destroy(q, &s->ring[--s->num_rings]);
	if (s->has_cq) {
		mlx4_cq_destroy(q->eth->hca, &s->cq);
		mlx4_uar_free(q->eth->hca, s->uar);
	}
	rte_free(s->ring_of);
	rte_free(s->ring);
	rte_free(s);
}

/* A set without a CQ has no event to wait for. */
void
mlx4_rx_set_arm(struct mlx4_rxq *q, struct mlx4_rx_set *s)
{
	volatile uint8_t *db;
	uint32_t hi, lo = s->cq_ci & MLX4_CQ_CI_MASK;

	if (!s->has_cq)
		return;
	db = mlx4_uar_addr(q->eth->hca, s->uar) + MLX4_UAR_CQ_ARM;
	hi = (s->arm_sn & MLX4_CQ_ARM_SN_MASK) << MLX4_CQ_ARM_SN_SHIFT | MLX4_CQ_ARM_NEXT << MLX4_CQ_ARM_CMD_SHIFT;
	s->cq_dbrec[MLX4_CQ_DBREC_ARM / sizeof(rte_be32_t)] = rte_cpu_to_be_32(hi | lo);
	rte_io_wmb(); /* the record before the doorbell */
	*(volatile rte_be64_t *)(volatile void *)db = rte_cpu_to_be_64((uint64_t)(hi | s->cq.cqn) << 32 | lo);
}
