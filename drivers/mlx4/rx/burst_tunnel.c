/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Completions of tunnelled frames: status and checksum are the inner frame's, flags beside the QPN tell of the outer headers
 * [DP 6.2, 8.4]. They say that there is a tunnel, not which.
 */
#include "mbuf.h"

static uint32_t rx_inner[MLX4_RX_STATES];

static uint32_t
inner_ptype(unsigned int st)
{
	uint32_t t = RTE_PTYPE_INNER_L2_ETHER;

	if (st & MLX4_RX_ST_IPV4)
		t |= st & MLX4_RX_ST_OPTS ? RTE_PTYPE_INNER_L3_IPV4_EXT : RTE_PTYPE_INNER_L3_IPV4;
	else if (st & MLX4_RX_ST_IPV6)
		t |= RTE_PTYPE_INNER_L3_IPV6_EXT_UNKNOWN;
	else
		return t;
	if (st & MLX4_RX_ST_FRAG)
		return t | RTE_PTYPE_INNER_L4_FRAG;
	if (st & MLX4_RX_ST_TCP)
		return t | RTE_PTYPE_INNER_L4_TCP;
	return st & MLX4_RX_ST_UDP ? t | RTE_PTYPE_INNER_L4_UDP : t;
}

RTE_INIT(mlx4_rx_inner_table)
{
	unsigned int st;

	for (st = 0; st < MLX4_RX_STATES; st++)
		rx_inner[st] = inner_ptype(st);
}

void
mlx4_rx_tunnel(const struct mlx4_rxq *q, const struct mlx4_cqe *cqe, struct rte_mbuf *m)
{
	uint32_t w = rte_be_to_cpu_32(cqe->vlan_my_qpn);
	bool v4 = (w & MLX4_CQE_TUNNEL_IPV4) != 0;
	uint64_t flags = 0;

	if ((w & MLX4_CQE_TUNNELED) == 0)
		return;
	m->packet_type = RTE_PTYPE_L2_ETHER | (v4 ? RTE_PTYPE_L3_IPV4_EXT_UNKNOWN : RTE_PTYPE_L3_IPV6_EXT_UNKNOWN) |
			 RTE_PTYPE_TUNNEL_GRENAT | rx_inner[mlx4_rx_state(cqe)];
	if (v4 && (w & MLX4_CQE_TUNNEL_IP_OK) == 0)
		flags |= RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD;
	/* A tunnel without UDP has no such checksum, so a bit that is clear says nothing. */
	if ((w & MLX4_CQE_TUNNEL_UDP_OK) != 0)
		flags |= RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD;
	m->ol_flags |= flags & q->ol_mask;
}
