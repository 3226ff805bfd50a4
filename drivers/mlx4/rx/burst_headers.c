/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Header split: the headers of a packet in a buffer of their own, its payload in the one behind it. The card splits by length
 * only, so software finds the end of the headers and copies them out; the payload stays where the card put it. The port's
 * setting is for TCP and UDP; a queue may be set up for other protocols, by ethdev's buffer split, and has its own then. A
 * port that splits has this burst round its own; others have nothing of it.
 */
#include <errno.h>

#include <rte_net.h>

#include "choose.h"
#include "queue.h"
#include "rte_pmd_mlx4.h"

/* Octets up to the end of the TCP or UDP header, 0: there is none, or it is not in the first buffer, or nothing is behind it. */
static uint32_t
headers_of(const struct rte_mbuf *m)
{
	const uint32_t said = m->packet_type & RTE_PTYPE_L4_MASK;
	struct rte_net_hdr_lens len = {0};
	uint32_t type, n;

	/* The card looked already: what it calls neither needs no second look. */
	if (said != RTE_PTYPE_L4_TCP && said != RTE_PTYPE_L4_UDP)
		return 0;
	type = rte_net_get_ptype(m, &len, RTE_PTYPE_L2_MASK | RTE_PTYPE_L3_MASK | RTE_PTYPE_L4_MASK);
	n = (uint32_t)len.l2_len + len.l3_len + len.l4_len;
	return (type & RTE_PTYPE_L4_MASK) == said && len.l4_len != 0 && n <= m->data_len && n < m->pkt_len ? n : 0;
}

/* The packet types that a queue may be set up to split, of IP without options or with any; tags belong to the Ethernet header. */
#define UP_TO(l3) RTE_PTYPE_L2_ETHER | (l3)
#define ALL_OF(l3) UP_TO(l3), UP_TO(l3) | RTE_PTYPE_L4_TCP, UP_TO(l3) | RTE_PTYPE_L4_UDP, UP_TO(l3) | RTE_PTYPE_L4_SCTP
static const uint32_t split_types[] = {
	RTE_PTYPE_L2_ETHER,
	ALL_OF(RTE_PTYPE_L3_IPV4),
	ALL_OF(RTE_PTYPE_L3_IPV4_EXT_UNKNOWN),
	ALL_OF(RTE_PTYPE_L3_IPV6),
	ALL_OF(RTE_PTYPE_L3_IPV6_EXT_UNKNOWN),
	RTE_PTYPE_UNKNOWN,
};

const uint32_t *
mlx4_rx_split_types(MLX4_PTYPES_GET_ARGS)
{
	RTE_SET_USED(dev);
	MLX4_PTYPES_COUNT(RTE_DIM(split_types) - 1);
	return split_types;
}

static bool
is_l3(uint32_t type, uint32_t wanted)
{
	switch (wanted) {
	case 0: return true;
	case RTE_PTYPE_L3_IPV4_EXT_UNKNOWN: return RTE_ETH_IS_IPV4_HDR(type) != 0;
	case RTE_PTYPE_L3_IPV6_EXT_UNKNOWN: return RTE_ETH_IS_IPV6_HDR(type) != 0;
	default: return (type & RTE_PTYPE_L3_MASK) == wanted;
	}
}

/*
 * Octets up to the end of the headers that the queue splits behind, 0: the packet has others, or they are not in the first
 * buffer. Its type says what they are, where the card says of IPv6 not whether there are extension headers, and nothing of SCTP.
 */
#define KNOWN (RTE_PTYPE_L3_MASK | RTE_PTYPE_L4_MASK)
static uint32_t
headers_told(uint32_t wanted, struct rte_mbuf *m)
{
	const uint32_t l3 = wanted & RTE_PTYPE_L3_MASK, l4 = wanted & RTE_PTYPE_L4_MASK;
	struct rte_net_hdr_lens len = {0};
	uint32_t type, n;

	type = rte_net_get_ptype(m, &len, RTE_PTYPE_L2_MASK | RTE_PTYPE_L3_MASK | RTE_PTYPE_L4_MASK);
	if (!is_l3(type, l3) || (l4 != 0 && (type & RTE_PTYPE_L4_MASK) != l4))
		return 0;
	n = (uint32_t)len.l2_len + (l3 != 0 ? len.l3_len : 0) + (l4 != 0 ? len.l4_len : 0);
	if (n == 0 || n > m->data_len)
		return 0;
	if (l3 != 0)
		m->packet_type = (m->packet_type & ~KNOWN) | (type & KNOWN);
	return n;
}

/* The first n octets of m in a buffer of this pool, in front of the rest of m; m as it is when there is no buffer. */
static struct rte_mbuf *
cut(struct mlx4_rxq *q, struct rte_mempool *mp, struct rte_mbuf *m, uint32_t n)
{
	struct rte_mbuf *h = rte_pktmbuf_alloc(mp);

	if (h == NULL || rte_pktmbuf_tailroom(h) < n) {
		rte_pktmbuf_free(h);
		q->unsplit++;
		return m;
	}
	__rte_pktmbuf_copy_hdr(h, m);
	h->ol_flags = m->ol_flags;
	rte_memcpy(rte_pktmbuf_mtod(h, void *), rte_pktmbuf_mtod(m, void *), n);
	h->data_len = (uint16_t)n;
	h->pkt_len = m->pkt_len;
	q->splits++;
	if (n == m->data_len) {
		h->nb_segs = m->nb_segs;
		h->next = m->next;
		rte_pktmbuf_free_seg(m);
		return h;
	}
	h->nb_segs = m->nb_segs + 1;
	h->next = m;
	m->data_off += (uint16_t)n;
	m->data_len -= (uint16_t)n;
	m->ol_flags = 0;
	m->nb_segs = 1;
	return h;
}

/* By the port's setting. A packet of which nothing but the headers is in the first buffer is split already. */
static struct rte_mbuf *
split(struct mlx4_rxq *q, struct rte_mbuf *m)
{
	const uint32_t n = headers_of(m);

	if (n == 0)
		return m;
	if (n < m->data_len)
		return cut(q, m->pool, m, n);
	q->splits++;
	return m;
}

/* As the queue was set up: also headers that nothing follows go to their pool. */
static struct rte_mbuf *
split_told(struct mlx4_rxq *q, struct rte_mbuf *m)
{
	const uint32_t n = headers_told(q->split_at, m);

	return n == 0 ? m : cut(q, q->split_mp, m, n);
}

uint16_t
mlx4_rx_burst_headers(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_rxq *q = rxq;
	unsigned int way = __atomic_load_n(&q->eth->rx_way, __ATOMIC_ACQUIRE) & ~MLX4_RX_HEADERS;
	uint16_t got = mlx4_rx_burst_of(way)(q, pkts, n), i;

	if (q->split_at != 0)
		for (i = 0; i < got; i++)
			pkts[i] = split_told(q, pkts[i]);
	else if (__atomic_load_n(&q->eth->splits_headers, __ATOMIC_RELAXED))
		for (i = 0; i < got; i++)
			pkts[i] = split(q, pkts[i]);
	return got;
}

int
rte_pmd_mlx4_header_split_set(uint16_t port_id, bool on)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return -ENODEV;
	mlx4_control_lock(eth);
	__atomic_store_n(&eth->splits_headers, on, __ATOMIC_RELAXED);
	mlx4_rx_burst_update(eth);
	mlx4_control_unlock(eth);
	return 0;
}

int
rte_pmd_mlx4_header_split_get(uint16_t port_id, bool *on)
{
	struct mlx4_eth *eth = mlx4_eth_by_port(port_id);

	if (eth == NULL)
		return -ENODEV;
	mlx4_control_lock(eth);
	*on = eth->splits_headers;
	mlx4_control_unlock(eth);
	return 0;
}
