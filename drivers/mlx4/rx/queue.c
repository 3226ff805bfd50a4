/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Life of a receive queue and of its sets of rings; mlx4_rxtx.h says what a set is. */
#include <errno.h>

#include <rte_io.h>
#include <rte_malloc.h>

#include "mlx4_eth.h"
#include "rx_lro.h"
#include "rx_side.h"

/* Rings below this are too short for a burst in flight when a queue is made of many. */
#define RX_RING_MIN 64u

/* The set of a queue that has none: an empty CQ, so that a poll finds nothing and touches no card memory. */
static struct mlx4_cqe rx_no_cqe = {.owner_sr_opcode = MLX4_CQE_OWNER};
static rte_be32_t rx_no_dbrec[2];

/* What a queue has that got no entry of a table: nothing on the card, a poll finds it empty. */
static void
set_make_empty(struct mlx4_rx_set *s)
{
	s->cqes = &rx_no_cqe;
	s->cq_dbrec = rx_no_dbrec;
	s->quiet = true;
	mlx4_rx_set_seek(s, 0);
}

/* mbuf fields that are the same in every packet, as one 64-bit store. */
static uint64_t
rearm_word(uint16_t port_id)
{
	struct rte_mbuf m;
	uint64_t w;

	memset(&m, 0, sizeof(m));
	m.nb_segs = 1;
	m.data_off = RTE_PKTMBUF_HEADROOM;
	m.port = port_id;
	rte_mbuf_refcnt_set(&m, 1);
	memcpy(&w, (const uint8_t *)&m + offsetof(struct rte_mbuf, rearm_data), sizeof(w));
	return w;
}

static uint64_t
reported_flags(uint64_t offloads)
{
	uint64_t f = 0;

	/* Who joins segments looks at their checksums. */
	if (offloads & RTE_ETH_RX_OFFLOAD_TCP_LRO)
		f |= RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK;
	if (offloads & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM)
		f |= RTE_MBUF_F_RX_IP_CKSUM_MASK;
	if (offloads & (RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM))
		f |= RTE_MBUF_F_RX_L4_CKSUM_MASK;
	if (offloads & RTE_ETH_RX_OFFLOAD_OUTER_IPV4_CKSUM)
		f |= RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD;
	if (offloads & RTE_ETH_RX_OFFLOAD_OUTER_UDP_CKSUM)
		f |= RTE_MBUF_F_RX_OUTER_L4_CKSUM_MASK;
	/* A hash is useful to applications that never asked for the flag, too. */
	return f | RTE_MBUF_F_RX_RSS_HASH;
}

void
mlx4_rxq_tunnels(struct mlx4_rxq *q, bool on)
{
	q->tunnels = on;
	q->extras = on || q->stamp_flag != 0;
}

int
mlx4_rxq_init_lro(struct mlx4_rxq *q)
{
	if ((q->offloads & RTE_ETH_RX_OFFLOAD_TCP_LRO) == 0)
		return 0;
	if (q->keep_crc) {
		MLX4_LOG(ERR, "port %u Rx queue %u: LRO joins packets, which does not go with KEEP_CRC", q->port_id,
			 q->queue_id);
		return -EINVAL;
	}
	q->lro = rte_zmalloc_socket("mlx4_lro", sizeof(*q->lro), RTE_CACHE_LINE_SIZE, q->numa_node);
	if (q->lro == NULL)
		return -ENOMEM;
	q->lro->max_len = q->eth->dev->data->dev_conf.rxmode.max_lro_pkt_size;
	return 0;
}

int
mlx4_rxq_setup(struct mlx4_eth *eth, uint16_t idx, uint16_t nb_desc, int numa_node, const struct rte_eth_rxconf *conf,
	       struct rte_mempool *mp, struct mlx4_rxq **out)
{
	uint16_t port_id = eth->dev->data->port_id;
	uint32_t limit = RTE_MIN(eth->hca->caps.max_qp_wqes, (uint32_t)MLX4_ETH_MAX_DESC);
	struct mlx4_rxq *q;
	int ret;

	if (nb_desc < MLX4_ETH_MIN_DESC || nb_desc > limit) {
		MLX4_LOG(ERR, "port %u Rx queue %u: %u descriptors, allowed are %u..%u", port_id, idx, nb_desc,
			 MLX4_ETH_MIN_DESC, limit);
		return -EINVAL;
	}
	q = rte_zmalloc_socket("mlx4_rxq", sizeof(*q), RTE_CACHE_LINE_SIZE, numa_node);
	if (q == NULL)
		return -ENOMEM;
	set_make_empty(&q->none);
	q->set = &q->none;
	q->eth = eth;
	q->port_id = port_id;
	q->queue_id = idx;
	q->nb_desc = (uint16_t)rte_align32pow2(nb_desc);
	q->numa_node = numa_node;
	q->deferred = conf->rx_deferred_start;
	q->offloads = conf->offloads | eth->dev->data->dev_conf.rxmode.offloads;
	q->vlan_strip = !!(q->offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP);
	q->keep_crc = !!(q->offloads & RTE_ETH_RX_OFFLOAD_KEEP_CRC);
	q->crc_len = q->keep_crc ? RTE_ETHER_CRC_LEN : 0;
	q->vector = eth->dev->data->dev_conf.intr_conf.rxq ? (int)idx : -1;
	ret = mlx4_rxq_init_stamp(q);
	if (ret == 0)
		ret = mlx4_rxq_init_shape(q, conf, mp);
	if (ret == 0)
		ret = mlx4_rxq_init_lro(q);
	if (ret != 0) {
		rte_free(q);
		return ret;
	}
	mlx4_rxq_tunnels(q, eth->tunnels);
	q->rearm = rearm_word(port_id);
	q->ol_mask = reported_flags(q->offloads);
	*out = q;
	return 0;
}

void
mlx4_rxq_release(struct mlx4_rxq *q)
{
	if (q == NULL)
		return;
	mlx4_rxq_drop_sets(q);
	mlx4_rx_sides_drop(q);
	rte_free(q->lro);
	rte_free(q);
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
		set_make_empty(s);
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
mlx4_rx_set_destroy(struct mlx4_rxq *q, struct mlx4_rx_set *s)
{
	if (!s->quiet)
		mlx4_rx_set_quiesce(q, s);
	q->eth->rx_stop_drops += mlx4_rx_set_waiting(s);
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

void
mlx4_rxq_publish(struct mlx4_rxq *q, struct mlx4_rx_set *s)
{
	struct mlx4_rx_set *last = q->oldest;

	pthread_mutex_lock(&q->eth->sets_lock);
	if (last == NULL) {
		q->oldest = s;
		last = &q->none;
	}
	/* Nobody polls a port that is not started. A poller goes over by itself, and asks for the burst function afterwards. */
	if (last == &q->none && !q->eth->dev->data->dev_started) {
		__atomic_store_n(&q->set, s, __ATOMIC_SEQ_CST);
	} else {
		while (last->next != NULL)
			last = last->next;
		__atomic_store_n(&last->next, s, __ATOMIC_SEQ_CST);
	}
	pthread_mutex_unlock(&q->eth->sets_lock);
	/* Who sleeps is woken by the new set, too. */
	if (__atomic_load_n(&q->intr_on, __ATOMIC_SEQ_CST))
		mlx4_rx_set_arm(q, s);
}

/* The oldest set leaves the chain, unless it is keep. */
static struct mlx4_rx_set *
unlink_oldest(struct mlx4_rxq *q, const struct mlx4_rx_set *keep)
{
	struct mlx4_rx_set *s;

	pthread_mutex_lock(&q->eth->sets_lock);
	s = q->oldest == keep ? NULL : q->oldest;
	if (s != NULL)
		q->oldest = s->next;
	pthread_mutex_unlock(&q->eth->sets_lock);
	return s;
}

void
mlx4_rxq_reap(struct mlx4_rxq *q)
{
	const struct mlx4_rx_set *cur = __atomic_load_n(&q->set, __ATOMIC_ACQUIRE);
	struct mlx4_rx_set *s;

	while (cur != &q->none && (s = unlink_oldest(q, cur)) != NULL)
		mlx4_rx_set_destroy(q, s);
}

void
mlx4_rxq_drop_sets(struct mlx4_rxq *q)
{
	struct mlx4_rx_set *s;

	q->none.next = NULL;
	q->set = &q->none;
	while ((s = unlink_oldest(q, NULL)) != NULL)
		mlx4_rx_set_destroy(q, s);
}

int
mlx4_rxq_arm(struct mlx4_rxq *q)
{
	const struct mlx4_rx_sides *sides;
	struct mlx4_rx_set *s = q->set;
	uint16_t i;

	if (q->vector < 0 || q->oldest == NULL)
		return -EINVAL;
	/* Either this sees a set that is being published, or the publisher sees the flag. */
	__atomic_store_n(&q->intr_on, true, __ATOMIC_SEQ_CST);
	for (; s != NULL; s = __atomic_load_n(&s->next, __ATOMIC_SEQ_CST))
		mlx4_rx_set_arm(q, s);
	sides = mlx4_rx_sides_take(q);
	for (i = 0; sides != NULL && i < sides->n; i++)
		mlx4_rx_set_arm(q, sides->side[i]->set);
	mlx4_rx_sides_leave(q);
	return 0;
}

void
mlx4_rxq_cq_event(void *arg, uint32_t cqn)
{
	const struct mlx4_rx_sides *sides;
	struct mlx4_rxq *q = arg;
	struct mlx4_rx_set *s;
	uint16_t i;

	for (s = q->set; s != NULL; s = __atomic_load_n(&s->next, __ATOMIC_ACQUIRE))
		if (s->has_cq && s->cq.cqn == cqn)
			s->arm_sn++;
	sides = mlx4_rx_sides_take(q);
	for (i = 0; sides != NULL && i < sides->n; i++)
		if (sides->side[i]->set->cq.cqn == cqn)
			sides->side[i]->set->arm_sn++;
	mlx4_rx_sides_leave(q);
}
