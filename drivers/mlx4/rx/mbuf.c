/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The tables of what the status of a completion says about a packet. Of a tunnelled frame, status and checksum are the inner
 * frame's, and flags beside the QPN tell of the outer headers [DP 6.2, 8.4]. They say that there is a tunnel, not which.
 */
#include "mbuf.h"

struct mlx4_rx_meaning mlx4_rx_meaning[MLX4_RX_STATES];
static uint32_t rx_inner[MLX4_RX_STATES];

static uint32_t
status_ptype(unsigned int st)
{
	uint32_t l3 = 0, l4 = 0;

	if (st & MLX4_RX_ST_IPV4)
		l3 = st & MLX4_RX_ST_OPTS ? RTE_PTYPE_L3_IPV4_EXT : RTE_PTYPE_L3_IPV4;
	else if (st & MLX4_RX_ST_IPV6)
		l3 = RTE_PTYPE_L3_IPV6_EXT_UNKNOWN;
	if (l3 == 0)
		return RTE_PTYPE_L2_ETHER;
	if (st & MLX4_RX_ST_FRAG)
		l4 = RTE_PTYPE_L4_FRAG;
	else if (st & MLX4_RX_ST_TCP)
		l4 = RTE_PTYPE_L4_TCP;
	else if (st & MLX4_RX_ST_UDP)
		l4 = RTE_PTYPE_L4_UDP;
	return RTE_PTYPE_L2_ETHER | l3 | l4;
}

/*
 * A UDP sum that was not verified stays "unknown": a sender may have left it out, and the card does not tell the two
 * cases apart. A TCP sum that was not verified is wrong.
 */
static uint32_t
status_ol_flags(unsigned int st)
{
	uint32_t fl = 0;

	if (st & MLX4_RX_ST_IPV4)
		fl |= st & MLX4_RX_ST_IP_OK ? RTE_MBUF_F_RX_IP_CKSUM_GOOD : RTE_MBUF_F_RX_IP_CKSUM_BAD;
	if ((st & (MLX4_RX_ST_IPV4 | MLX4_RX_ST_IPV6)) == 0 || (st & MLX4_RX_ST_FRAG))
		return fl;
	if (st & (MLX4_RX_ST_TCP | MLX4_RX_ST_UDP)) {
		if (st & MLX4_RX_ST_L4_OK)
			fl |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
		else if (st & MLX4_RX_ST_TCP)
			fl |= RTE_MBUF_F_RX_L4_CKSUM_BAD;
	}
	return fl;
}

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

RTE_INIT(mlx4_rx_tables)
{
	unsigned int st;

	for (st = 0; st < MLX4_RX_STATES; st++) {
		mlx4_rx_meaning[st].ptype = status_ptype(st);
		mlx4_rx_meaning[st].ol_flags = status_ol_flags(st);
		rx_inner[st] = inner_ptype(st);
	}
}

void
mlx4_rx_tunnel(const struct mlx4_rxq *q, const struct mlx4_cqe *cqe, struct rte_mbuf *m)
{
	const unsigned int state = mlx4_rx_state(cqe);
	uint32_t w = rte_be_to_cpu_32(cqe->vlan_my_qpn);
	bool v4 = (w & MLX4_CQE_TUNNEL_IPV4) != 0, ip_ok = (w & MLX4_CQE_TUNNEL_IP_OK) != 0,
	     udp_ok = (w & MLX4_CQE_TUNNEL_UDP_OK) != 0;
	uint64_t flags = 0;

	if ((w & MLX4_CQE_TUNNELED) == 0)
		return;
	if (q->inner_apart) {
		unsigned int inner = (state & ~(MLX4_RX_ST_IP_OK | MLX4_RX_ST_L4_OK)) | (ip_ok ? MLX4_RX_ST_IP_OK : 0) |
				     (udp_ok ? MLX4_RX_ST_L4_OK : 0);

		m->ol_flags &= ~(uint64_t)(RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK);
		flags = mlx4_rx_meaning[inner].ol_flags;
		ip_ok = (state & MLX4_RX_ST_IP_OK) != 0;
		udp_ok = (state & MLX4_RX_ST_L4_OK) != 0;
	}
	m->packet_type = RTE_PTYPE_L2_ETHER | (v4 ? RTE_PTYPE_L3_IPV4_EXT_UNKNOWN : RTE_PTYPE_L3_IPV6_EXT_UNKNOWN) |
			 RTE_PTYPE_TUNNEL_GRENAT | rx_inner[state];
	if (v4 && !ip_ok)
		flags |= RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD;
	/* A tunnel without UDP has no such checksum, so a bit that is clear says nothing. */
	if (udp_ok)
		flags |= RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD;
	m->ol_flags |= flags & q->ol_mask;
}
