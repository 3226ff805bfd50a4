/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The parts of transmit between burst.c and wqe.c (everything but the plain packet). */
#ifndef MLX4_TX_WQE_H
#define MLX4_TX_WQE_H

#include "queue.h"

/* The WQE that covers the last of so many blocks of the ring asks for a completion. A power of two. */
#define MLX4_TX_CQE_EVERY 32u
/* Offloads that the card or this driver has not: such packets are refused. */
#define MLX4_TX_UNSUPPORTED                                                                                            \
	(RTE_MBUF_F_TX_QINQ | RTE_MBUF_F_TX_SEC_OFFLOAD | RTE_MBUF_F_TX_MACSEC | RTE_MBUF_F_TX_UDP_SEG |               \
	 RTE_MBUF_F_TX_OUTER_UDP_CKSUM)
/* All flags of packets to send are in the upper half of ol_flags, and constants of 32 bits need no register. */
#define MLX4_TX_UPPER(flags) ((uint32_t)((flags) >> 32))
/* Marks a block of the ring that continues a WQE. */
#define MLX4_TX_INNER ((struct rte_mbuf *)(uintptr_t)1)

/* Checksum bits of control dword 2 [DP 8.5]. */
static __rte_always_inline uint32_t
mlx4_tx_csum_bits(uint64_t ol_flags)
{
	uint64_t l4 = ol_flags & RTE_MBUF_F_TX_L4_MASK;
	uint32_t f = 0;

	if (ol_flags & RTE_MBUF_F_TX_IP_CKSUM)
		f |= MLX4_CTRL_IP_CSUM;
	if (l4 == RTE_MBUF_F_TX_TCP_CKSUM || l4 == RTE_MBUF_F_TX_UDP_CKSUM)
		f |= MLX4_CTRL_L4_CSUM;
	return f;
}

/* Control dword 2 by the three checksum bits of the upper half of ol_flags: L4 type in the low two, IP in the third. */
static __rte_always_inline rte_be32_t
mlx4_tx_plain_flags(uint32_t ol)
{
#define L4(x) (RTE_MBUF_F_TX_##x##_CKSUM / RTE_MBUF_F_TX_TCP_CKSUM)
#define IP (RTE_MBUF_F_TX_IP_CKSUM / RTE_MBUF_F_TX_TCP_CKSUM)
	static_assert(L4(TCP) == 1 && L4(SCTP) == 2 && L4(UDP) == 3 && IP == 4, "three bits in a row");
	static const rte_be32_t flags[8] = {
		[0] = RTE_BE32(MLX4_CTRL_NO_ICRC),
		[L4(TCP)] = RTE_BE32(MLX4_CTRL_NO_ICRC | MLX4_CTRL_L4_CSUM),
		[L4(SCTP)] = RTE_BE32(MLX4_CTRL_NO_ICRC),
		[L4(UDP)] = RTE_BE32(MLX4_CTRL_NO_ICRC | MLX4_CTRL_L4_CSUM),
		[IP] = RTE_BE32(MLX4_CTRL_NO_ICRC | MLX4_CTRL_IP_CSUM),
		[IP | L4(TCP)] = RTE_BE32(MLX4_CTRL_NO_ICRC | MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM),
		[IP | L4(SCTP)] = RTE_BE32(MLX4_CTRL_NO_ICRC | MLX4_CTRL_IP_CSUM),
		[IP | L4(UDP)] = RTE_BE32(MLX4_CTRL_NO_ICRC | MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM),
	};
#undef IP
#undef L4

	return flags[(ol / MLX4_TX_UPPER(RTE_MBUF_F_TX_TCP_CKSUM)) & 7];
}

/* A WQE that asks for its completion: its queue remembers where it ends. */
static __rte_always_inline void
mlx4_tx_note_end(struct mlx4_txq *q, uint32_t end)
{
	q->ends[q->ends_pi++ & q->cq_mask] = end;
}

/* Bytes in the first block behind the control segment and the four bytes that begin an inline or an LSO segment. */
#define MLX4_TX_INLINE_FIRST (MLX4_TXBB_SIZE - MLX4_DS_SIZE - 4)

/* Units of an inline or an LSO segment with so many octets behind its first four. */
static __rte_always_inline uint32_t
mlx4_tx_segment_units(uint32_t octets)
{
	return (4 + octets + MLX4_DS_SIZE - 1) / MLX4_DS_SIZE;
}

/* Decides whether the WQE at position at asks for a completion; called before its owner bit is written. */
static __rte_always_inline uint32_t
mlx4_tx_cqe_bits(struct mlx4_txq *q, uint32_t at, uint32_t blocks)
{
	uint32_t end = at + blocks;

	if (((at ^ end) & ~(MLX4_TX_CQE_EVERY - 1)) == 0)
		return 0;
	mlx4_tx_note_end(q, end);
	return MLX4_CTRL_CQE;
}

/* As rte_cpu_to_be_32, but the compiler sees through it and knows that the upper half of the register is 0. */
static __rte_always_inline rte_be32_t
mlx4_be32(uint32_t v)
{
	return RTE_BYTE_ORDER == RTE_BIG_ENDIAN ? v : __builtin_bswap32(v);
}

/*
 * A data segment in two 64-bit stores: length and key, address. mlx4_data_hi puts the key where the first one wants it.
 */
static __rte_always_inline uint64_t
mlx4_data_hi(rte_be32_t lkey)
{
	return RTE_BYTE_ORDER == RTE_BIG_ENDIAN ? lkey : (uint64_t)lkey << 32;
}

/* Two neighbouring words of a WQE as they lie in one 64-bit store. */
static __rte_always_inline uint64_t
mlx4_word_pair(rte_be32_t first, rte_be32_t second)
{
	return RTE_BYTE_ORDER == RTE_BIG_ENDIAN ? (uint64_t)first << 32 | second : (uint64_t)second << 32 | first;
}

static __rte_always_inline void
mlx4_data_set(struct mlx4_wqe_data *d, uint32_t len, uint64_t lkey_hi, uint64_t addr)
{
	uint64_t w = mlx4_be32(len);

	w = RTE_BYTE_ORDER == RTE_BIG_ENDIAN ? w << 32 | lkey_hi : w | lkey_hi;
	memcpy(d, &w, sizeof(w));
	d->addr = rte_cpu_to_be_64(addr);
}

/* The same without the length, which the card must not see before the rest [DP 4.5]. */
static __rte_always_inline void
mlx4_data_set_but_len(struct mlx4_wqe_data *d, uint64_t lkey_hi, rte_iova_t addr)
{
	d->lkey = (rte_be32_t)(RTE_BYTE_ORDER == RTE_BIG_ENDIAN ? lkey_hi : lkey_hi >> 32);
	d->addr = rte_cpu_to_be_64(addr);
}

/* burst.c: mbufs that nothing is wrong with, of one pool. Out of line, since it is long code that runs once a burst. */
void mlx4_tx_put_bulk(struct rte_mempool *mp, struct rte_mbuf **m, uint32_t n);
/* burst_inline.c: posts frames that go into their WQE as long as they are of the usual form. As below. */
uint32_t mlx4_tx_inline(struct mlx4_txq *q, struct rte_mbuf **pkts, uint32_t n, uint64_t *bytes);
/* burst_lso.c: posts large sends as long as they are of the usual form. Returns how many; adds their lengths to *bytes. */
uint32_t mlx4_tx_lso(struct mlx4_txq *q, struct rte_mbuf **pkts, uint32_t n, uint64_t *bytes);
/* Posts any packet. Returns the blocks used, 0 (dropped and counted), or -ENOSPC: room does not suffice. */
int mlx4_tx_general(struct mlx4_txq *q, struct rte_mbuf *m, uint32_t room);
/* Sends the only WQE since first through the BlueFlame register; false: not possible, ring the doorbell. */
bool mlx4_tx_blueflame(struct mlx4_txq *q, uint32_t first);
/* 0 or the negative errno for which the packet cannot be sent. */
int mlx4_tx_check(const struct mlx4_txq *q, const struct rte_mbuf *m);

#endif /* MLX4_TX_WQE_H */
