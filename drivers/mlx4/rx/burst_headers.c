/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Header split: the headers of a packet in a buffer of their own, its payload in the one behind it. The card splits by length
 * only, so software finds the end of the headers and copies them out; the payload stays where the card put it. A port that
 * splits has this burst round its own; others have nothing of it.
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

/* A packet of which nothing but the headers is in the first buffer is split already. */
static struct rte_mbuf *
split(struct mlx4_rxq *q, struct rte_mbuf *m)
{
	const uint32_t n = headers_of(m);
	struct rte_mbuf *h;

	if (n == 0)
		return m;
	if (n < m->data_len) {
		h = rte_pktmbuf_alloc(m->pool);
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
		h->nb_segs = m->nb_segs + 1;
		h->next = m;
		m->data_off += (uint16_t)n;
		m->data_len -= (uint16_t)n;
		m->ol_flags = 0;
		m->nb_segs = 1;
		m = h;
	}
	q->splits++;
	return m;
}

uint16_t
mlx4_rx_burst_headers(void *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	struct mlx4_rxq *q = rxq;
	unsigned int way = __atomic_load_n(&q->eth->rx_way, __ATOMIC_ACQUIRE) & ~MLX4_RX_HEADERS;
	uint16_t got = mlx4_rx_burst_of(way)(q, pkts, n), i;

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
	eth->splits_headers = on;
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
