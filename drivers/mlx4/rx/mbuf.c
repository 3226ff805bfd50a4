/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The table of what the status of a completion says about a packet. */
#include "mbuf.h"

struct mlx4_rx_meaning mlx4_rx_meaning[MLX4_RX_STATES];

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

RTE_INIT(mlx4_rx_tables)
{
	unsigned int st;

	for (st = 0; st < MLX4_RX_STATES; st++) {
		mlx4_rx_meaning[st].ptype = status_ptype(st);
		mlx4_rx_meaning[st].ol_flags = status_ol_flags(st);
	}
}
