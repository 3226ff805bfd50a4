/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Life of a receive queue, and the chain of its sets of rings; queue.h says what a set is. */
#include <errno.h>

#include <rte_malloc.h>

#include "drivers/mlx4/port/port.h"
#include "lro.h"
#include "queue.h"
#include "sides.h"

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
	q->inner_apart = mlx4_quirk(q->eth->hca, MLX4_QUIRK_TUNNEL_SUMS) != 0;
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
	mlx4_rx_set_make_empty(&q->none);
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
