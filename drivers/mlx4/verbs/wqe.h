/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Send WQEs of verbs [DP 3]: which requests there may be, and what they become in the ring. Each takes one stride. What makes it
 * the card's, the control dword with the owner bit, is left to who posts it.
 */
#ifndef MLX4_VERBS_WQE_H
#define MLX4_VERBS_WQE_H

#include <errno.h>
#ifdef __SSSE3__
#include <immintrin.h>
#endif

#include <rte_branch_prediction.h>
#include <rte_io.h>

#include "verbs.h"

#define RC (1u << IBV_QPT_RC)
#define UC (1u << IBV_QPT_UC)
#define UD (1u << IBV_QPT_UD)
#define LEN_MAX (1u << 30) /* of a list element; a byte count has 31 bits, and more is no message */
#define ATOMIC_LEN 8u
#define FRAME_HEADER (uint32_t)(RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN)
#define LARGE_HEADER_MIN (uint32_t)(RTE_ETHER_HDR_LEN + 40) /* Ethernet, IPv4 and TCP */
#define BLOCK_ROOM (MLX4_TXBB_SIZE - 4)                     /* inline bytes of a block behind the first */

/* Two neighbouring words as they lie in one store of 64 bits. */
#if RTE_BYTE_ORDER == RTE_BIG_ENDIAN
#define PAIR(first, second) ((uint64_t)(first) << 32 | (second))
#else
#define PAIR(first, second) ((uint64_t)(second) << 32 | (first))
#endif
/* The compiler knows that the upper half of the register is 0. */
#define BE(v) (RTE_BYTE_ORDER == RTE_BIG_ENDIAN ? (v) : __builtin_bswap32(v))

enum kind { KIND_SEND, KIND_RDMA, KIND_READ, KIND_ATOMIC, KIND_INVALIDATE, KIND_BIND, KIND_LSO, KIND_FAST_REG };

static const struct opcode {
	uint8_t op, kind, services; /* op: of the card */
	bool imm;                   /* dword 3 has immediate data, or a key */
	enum ibv_wc_opcode done;
} opcodes[] = {
	[IBV_WR_RDMA_WRITE] = {MLX4_OP_RDMA_WRITE, KIND_RDMA, RC | UC, false, IBV_WC_RDMA_WRITE},
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {MLX4_OP_RDMA_WRITE_IMM, KIND_RDMA, RC | UC, true, IBV_WC_RDMA_WRITE},
	[IBV_WR_SEND] = {MLX4_OP_SEND, KIND_SEND, RC | UC | UD, false, IBV_WC_SEND},
	[IBV_WR_SEND_WITH_IMM] = {MLX4_OP_SEND_IMM, KIND_SEND, RC | UC | UD, true, IBV_WC_SEND},
	[IBV_WR_RDMA_READ] = {MLX4_OP_RDMA_READ, KIND_READ, RC, false, IBV_WC_RDMA_READ},
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {MLX4_OP_ATOMIC_CS, KIND_ATOMIC, RC, false, IBV_WC_COMP_SWAP},
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {MLX4_OP_ATOMIC_FA, KIND_ATOMIC, RC, false, IBV_WC_FETCH_ADD},
	[IBV_WR_LOCAL_INV] = {MLX4_OP_LOCAL_INV, KIND_INVALIDATE, RC, false, IBV_WC_LOCAL_INV},
	[IBV_WR_BIND_MW] = {MLX4_OP_BIND_MW, KIND_BIND, RC, false, IBV_WC_BIND_MW},
	[IBV_WR_SEND_WITH_INV] = {MLX4_OP_SEND_INV, KIND_SEND, RC, true, IBV_WC_SEND},
	[IBV_WR_TSO] = {MLX4_OP_LSO, KIND_LSO, 0, false, IBV_WC_TSO},                      /* see lso_allowed() */
	[TROCE_WR_FAST_REG] = {MLX4_OP_FAST_REG, KIND_FAST_REG, 0, false, IBV_WC_DRIVER1}, /* see fast_reg_allowed() */
};
static_assert(RC <= UINT8_MAX && UC <= UINT8_MAX && UD <= UINT8_MAX, "types fit the table");

#define PLAIN_FLAGS (unsigned int)(IBV_SEND_SIGNALED | IBV_SEND_SOLICITED)
static_assert(IBV_SEND_SIGNALED == 2 && IBV_SEND_SOLICITED == 4, "these flags are an index, see flags_of()");

/* Control dword 2. */
static __rte_always_inline rte_be32_t
flags_of(const struct mlx4_roce_qp *q, unsigned int send_flags)
{
	rte_be32_t v;

	/* As an offset in bytes: one instruction less than as an index. */
	memcpy(&v, (const uint8_t *)q->flags + (send_flags & PLAIN_FLAGS) * (sizeof(v) / IBV_SEND_SIGNALED), sizeof(v));
	return v;
}

/* Control dword 0 of a WQE, whose owner bit differs from pass to pass [DP 4.2]. */
static __rte_always_inline rte_be32_t
owner_of(struct mlx4_roce_slot *slot, uint8_t op)
{
	slot->owner ^= RTE_BE32(MLX4_CTRL_OWN);
	return slot->owner | rte_cpu_to_be_32(op);
}

/* --- segments ---------------------------------------------------------------------------------------------- */

/* Short copies without a call; whole words overlap at the end. */
static __rte_always_inline void
copy_inline(uint8_t *d, const uint8_t *s, uint32_t n)
{
	uint32_t i;

	if (likely(n >= 16)) {
		for (i = 0; i + 16 < n; i += 16)
			memcpy(d + i, s + i, 16);
		memcpy(d + n - 16, s + n - 16, 16);
	} else if (n >= 8) {
		memcpy(d, s, 8);
		memcpy(d + n - 8, s + n - 8, 8);
	} else if (n >= 4) {
		memcpy(d, s, 4);
		memcpy(d + n - 4, s + n - 4, 4);
	} else {
		for (i = 0; i < n; i++)
			d[i] = s[i];
	}
}

/* A length dword may begin a block, so it is written behind what it counts [DP 4.5]. */
static __rte_always_inline void
close_inline(uint8_t *seg, const uint8_t *end)
{
	rte_io_wmb();
	*(rte_be32_t *)(void *)seg = rte_cpu_to_be_32(MLX4_DATA_INLINE | (uint32_t)(end - seg - 4));
}

/* The list's bytes as inline segments from seg on, which lies where a segment may begin; returns where they end. */
static __rte_always_inline uint8_t *
put_inline(uint8_t *seg, const struct ibv_sge *sge, int n)
{
	uint8_t *at = seg + 4;
	uint32_t room = MLX4_TXBB_SIZE - ((uintptr_t)at & (MLX4_TXBB_SIZE - 1));

	for (; n > 0; n--, sge++) {
		const uint8_t *src = (const uint8_t *)(uintptr_t)sge->addr;
		uint32_t len = sge->length;

		while (unlikely(len > room)) {
			copy_inline(at, src, room);
			close_inline(seg, at + room);
			src += room;
			len -= room;
			seg = at + room;
			at = seg + 4;
			room = BLOCK_ROOM;
		}
		copy_inline(at, src, len);
		at += len;
		room -= len;
	}
	if (likely(at != seg + 4)) {
		close_inline(seg, at);
		seg = at;
	}
	return seg;
}

/* Elements without bytes take no segment: a length of 0 says something else [DP 3.6]. */
static __rte_always_inline uint8_t *
put_list(uint8_t *seg, const struct ibv_sge *sge, int n)
{
	for (; n > 0; n--, sge++) {
		struct mlx4_wqe_data *d = (void *)seg;

		if (unlikely(sge->length == 0))
			continue;
		d->addr = rte_cpu_to_be_64(sge->addr);
		d->lkey = rte_cpu_to_be_32(sge->lkey);
		rte_io_wmb();
		d->byte_count = rte_cpu_to_be_32(sge->length);
		seg += sizeof(*d);
	}
	return seg;
}

static_assert(offsetof(struct ibv_sge, length) == 8 && offsetof(struct ibv_sge, lkey) == 12 &&
		      offsetof(struct mlx4_wqe_data, lkey) == 4 && offsetof(struct mlx4_wqe_data, addr) == 8,
	      "an element is a segment with its halves changed, and in the other byte order");

/* A list of one element. False: too long, or nothing. begins: the segment may begin a block. */
static __rte_always_inline bool
put_piece(uint8_t *seg, const struct ibv_sge *sge, const bool begins)
{
#ifdef __SSSE3__
	const __m128i order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11);
	__m128i v;
#endif

	if (unlikely(sge->length - 1 >= LEN_MAX))
		return false;
#ifdef __SSSE3__
	v = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)sge), order);
	if (!begins) {
		_mm_storeu_si128((__m128i *)(void *)seg, v);
		return true;
	}
	_mm_storeh_pd((double *)(void *)(seg + 8), _mm_castsi128_pd(v));
	rte_io_wmb(); /* a length may begin a block, so that it comes last [DP 4.5] */
	_mm_storel_epi64((__m128i *)(void *)seg, v);
#else
	uint64_t word = PAIR((uint64_t)BE(sge->length), (uint64_t)BE(sge->lkey));

	prm_set64(seg, 8, sge->addr);
	if (begins)
		rte_io_wmb();
	memcpy(seg, &word, sizeof(word));
#endif
	return true;
}

static __rte_always_inline uint8_t *
put_remote(uint8_t *seg, uint64_t addr, uint32_t rkey)
{
	prm_set64(seg, MLX4_RADDR_VA, addr);
	prm_set32(seg, PRM_OFF(MLX4_RADDR_RKEY), rkey);
	prm_set32(seg, PRM_OFF(MLX4_RADDR_RKEY) + 4, 0);
	return seg + MLX4_RADDR_SIZE;
}

static uint8_t *
put_atomic(uint8_t *seg, const struct ibv_send_wr *wr)
{
	bool cs = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	seg = put_remote(seg, wr->wr.atomic.remote_addr, wr->wr.atomic.rkey);
	prm_set64(seg, MLX4_ATOMIC_SWAP_ADD, cs ? wr->wr.atomic.swap : wr->wr.atomic.compare_add);
	prm_set64(seg, MLX4_ATOMIC_COMPARE, cs ? wr->wr.atomic.compare_add : 0);
	return seg + MLX4_ATOMIC_SIZE;
}

static uint8_t *
put_bind(uint8_t *seg, const struct ibv_send_wr *wr)
{
	const struct ibv_mw_bind_info *b = &wr->bind_mw.bind_info;
	unsigned int access = b->mw_access_flags;

	memset(seg, 0, MLX4_BIND_SIZE);
	prm_set(seg, MLX4_BIND_ATOMIC, (access & IBV_ACCESS_REMOTE_ATOMIC) != 0);
	prm_set(seg, MLX4_BIND_RW, (access & IBV_ACCESS_REMOTE_WRITE) != 0);
	prm_set(seg, MLX4_BIND_RR, (access & IBV_ACCESS_REMOTE_READ) != 0);
	prm_set(seg, MLX4_BIND_TYPE_2, wr->bind_mw.mw->type == IBV_MW_TYPE_2);
	prm_set(seg, MLX4_BIND_ZERO_BASED, (access & IBV_ACCESS_ZERO_BASED) != 0);
	prm_set(seg, MLX4_BIND_RKEY, wr->bind_mw.rkey);
	prm_set(seg, MLX4_BIND_LKEY, b->mr != NULL ? b->mr->lkey : 0);
	prm_set64(seg, MLX4_BIND_START, b->addr);
	prm_set64(seg, MLX4_BIND_LENGTH, b->length);
	return seg + MLX4_BIND_SIZE;
}

static uint8_t *
put_fast_reg(uint8_t *seg, const struct ibv_send_wr *wr)
{
	const struct ibv_mw_bind_info *b = &wr->bind_mw.bind_info;
	const struct mlx4_roce_mr *m = (const void *)b->mr;
	unsigned int access = b->mw_access_flags;

	memset(seg, 0, MLX4_FR_SIZE);
	prm_set(seg, MLX4_FR_ATOMIC, (access & IBV_ACCESS_REMOTE_ATOMIC) != 0);
	prm_set(seg, MLX4_FR_RW, (access & IBV_ACCESS_REMOTE_WRITE) != 0);
	prm_set(seg, MLX4_FR_RR, (access & IBV_ACCESS_REMOTE_READ) != 0);
	prm_set(seg, MLX4_FR_LW, (access & IBV_ACCESS_LOCAL_WRITE) != 0);
	prm_set(seg, MLX4_FR_LR, 1);
	prm_set(seg, MLX4_FR_KEY, wr->bind_mw.rkey);
	prm_set64(seg, MLX4_FR_LIST, m->list_iova);
	prm_set64(seg, MLX4_FR_START, b->addr);
	prm_set64(seg, MLX4_FR_LENGTH, b->length);
	prm_set(seg, MLX4_FR_LG_PAGE, m->lg_page);
	return seg + MLX4_FR_SIZE;
}

static uint8_t *
put_invalidate(uint8_t *seg, uint32_t key)
{
	memset(seg, 0, MLX4_INV_SIZE);
	prm_set(seg, MLX4_INV_KEY, key);
	return seg + MLX4_INV_SIZE;
}

static __rte_always_inline uint8_t *
put_dgram(uint8_t *seg, const struct ibv_send_wr *wr)
{
	const struct mlx4_roce_ah *ah = (const void *)wr->wr.ud.ah;

	memcpy(seg, ah->dgram, MLX4_DGRAM_SIZE);
	prm_set32(seg, PRM_OFF(MLX4_DGRAM_QPN), wr->wr.ud.remote_qpn);
	prm_set32(seg, PRM_OFF(MLX4_DGRAM_QKEY), wr->wr.ud.remote_qkey);
	return seg + MLX4_DGRAM_SIZE;
}

static uint32_t
lso_size(uint32_t hdr)
{
	return RTE_ALIGN_CEIL(4 + hdr, MLX4_DS_SIZE);
}

/* The headers and the list [DP 3.5]; the first dword may begin a block, so it is written last. */
static __rte_noinline uint8_t *
put_lso(uint8_t *seg, const struct ibv_send_wr *wr)
{
	uint32_t hdr = wr->tso.hdr_sz;
	uint8_t *end;

	memcpy(seg + 4, wr->tso.hdr, hdr);
	end = put_list(seg + lso_size(hdr), wr->sg_list, wr->num_sge);
	rte_io_wmb();
	prm_set32(seg, 0, (uint32_t)wr->tso.mss << MLX4_LSO_MSS_SHIFT | hdr);
	return end;
}

/* --- a request --------------------------------------------------------------------------------------------- */

/* Why nothing may be posted, or ENOMEM: the queue is full. */
static __rte_unused __rte_noinline int
why_not(const struct mlx4_roce_qp *q, uint32_t room)
{
	if (room != 0)
		return ENOMEM;
	return q->home->hca == NULL || q->home->hca->dead ? EIO : EINVAL;
}

/* Bytes of a list, or more than any list may have. */
static __rte_always_inline uint64_t
list_len(const struct ibv_sge *sge, int n)
{
	uint64_t len = 0;

	for (; n > 0; n--, sge++)
		len += sge->length;
	return len;
}

/* A large send: of datagrams with IP, or of frames, by a queue pair that was made for it. front: of the WQE, before its headers. */
static __rte_noinline bool
lso_allowed(const struct mlx4_roce_qp *q, const struct ibv_send_wr *wr, uint32_t front)
{
	uint32_t room = RTE_MIN(1u << q->lg_sq_stride, MLX4_SEND_WQE_MAX) - front;
	uint64_t len;

	if ((unsigned int)wr->num_sge > q->sq_sges)
		return false;
	len = list_len(wr->sg_list, wr->num_sge);
	return wr->tso.hdr_sz != 0 && wr->tso.hdr_sz <= q->lso_hdr && wr->tso.mss != 0 && len != 0 &&
	       len <= q->home->hca->caps.max_gso && (wr->send_flags & IBV_SEND_INLINE) == 0 &&
	       lso_size(wr->tso.hdr_sz) + (uint32_t)wr->num_sge * MLX4_DS_SIZE <= room;
}

/* Fills the region's list of pages, so that nothing can go wrong afterwards. */
static __rte_noinline bool
fast_reg_allowed(const struct mlx4_roce_qp *q, const struct ibv_send_wr *wr)
{
	return (q->services & RC) != 0 && wr->num_sge == 1 && (wr->send_flags & IBV_SEND_INLINE) == 0 &&
	       mlx4_roce_fast_pages((struct mlx4_roce_mr *)(void *)wr->bind_mw.bind_info.mr, wr);
}

static __rte_always_inline bool
is_allowed(const struct mlx4_roce_qp *q, const struct ibv_send_wr *wr)
{
	uint64_t len;

	if (unlikely((unsigned int)wr->opcode >= RTE_DIM(opcodes) ||
		     (opcodes[wr->opcode].services & q->services) == 0 || (unsigned int)wr->num_sge > q->sq_sges))
		return (wr->opcode == IBV_WR_TSO && q->ud && lso_allowed(q, wr, MLX4_TXBB_SIZE)) ||
		       ((unsigned int)wr->opcode == TROCE_WR_FAST_REG && fast_reg_allowed(q, wr));
	len = list_len(wr->sg_list, wr->num_sge);
	if ((wr->send_flags & IBV_SEND_INLINE) != 0)
		return len <= q->max_inline && opcodes[wr->opcode].kind <= KIND_RDMA;
	return len <= LEN_MAX && (opcodes[wr->opcode].kind != KIND_ATOMIC || len == ATOMIC_LEN);
}

/* Blocks behind the first one of the WQE that comes into the card's reach get the wrong phase [DP 4.3]. */
static __rte_always_inline void
stamp_ahead(const struct mlx4_roce_qp *q, const struct mlx4_roce_slot *slot)
{
	uint32_t off;

	for (off = MLX4_TXBB_SIZE; off < 1u << q->lg_sq_stride; off += MLX4_TXBB_SIZE)
		*(uint32_t *)(void *)(slot[q->sq_spare].wqe + off) = UINT32_MAX;
}

static __rte_always_inline uint8_t *
put_segments(const struct mlx4_roce_qp *q, uint8_t *seg, const struct ibv_send_wr *wr, uint8_t kind, uint8_t *op,
	     uint32_t *flags)
{
	switch (kind) {
	case KIND_SEND:
		if (!q->ud)
			break;
		seg = put_dgram(seg, wr);
		if (unlikely((wr->send_flags & IBV_SEND_IP_CSUM) != 0))
			*flags |= q->csum;
		break;
	case KIND_RDMA:
	case KIND_READ: seg = put_remote(seg, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey); break;
	case KIND_ATOMIC: seg = put_atomic(seg, wr); break;
	case KIND_LSO:
		*flags |= q->csum;
		if (lso_size(wr->tso.hdr_sz) > MLX4_TXBB_SIZE)
			*op |= MLX4_CTRL_RR;
		return put_lso(put_dgram(seg, wr), wr);
	case KIND_BIND: *flags |= RTE_BE32(MLX4_CTRL_SO); return put_bind(seg, wr);
	case KIND_FAST_REG: *flags |= RTE_BE32(MLX4_CTRL_SO); return put_fast_reg(seg, wr);
	default: *flags |= RTE_BE32(MLX4_CTRL_SO); return put_invalidate(seg, wr->invalidate_rkey);
	}
	if ((wr->send_flags & IBV_SEND_INLINE) != 0)
		return put_inline(seg, wr->sg_list, wr->num_sge);
	return put_list(seg, wr->sg_list, wr->num_sge);
}

/* A request that is allowed, but for control dword 0; returns the opcode that it is to have. */
static __rte_always_inline uint8_t
put_wqe(const struct mlx4_roce_qp *q, const struct ibv_send_wr *wr, struct mlx4_roce_slot *slot)
{
	const struct opcode o = opcodes[wr->opcode];
	struct mlx4_wqe_ctrl *c = (void *)slot->wqe;
	uint32_t flags = flags_of(q, wr->send_flags), ds;
	uint8_t *end, op = o.op;

	end = put_segments(q, slot->wqe + sizeof(*c), wr, o.kind, &op, &flags);
	ds = ((uint32_t)(end - slot->wqe) + MLX4_DS_SIZE - 1) / MLX4_DS_SIZE;
	if (unlikely((wr->send_flags & IBV_SEND_FENCE) != 0))
		ds |= MLX4_CTRL_FENCE;
	c->vlan_ds = rte_cpu_to_be_32(ds);
	c->flags = flags;
	if (!o.imm)
		c->imm = 0;
	else
		c->imm = o.op == MLX4_OP_SEND_INV ? rte_cpu_to_be_32(wr->invalidate_rkey) : wr->imm_data;
	slot->done = (struct mlx4_roce_done){wr->wr_id, IBV_WC_SUCCESS, o.done};
	stamp_ahead(q, slot);
	return op;
}

/* The first octets of a message of that many or more. */
static __rte_always_inline void
first_of(const struct ibv_sge *sge, uint8_t *to, uint32_t n)
{
	for (uint32_t k; n != 0; sge++, to += k, n -= k) {
		k = RTE_MIN(sge->length, n);
		memcpy(to, (const void *)(uintptr_t)sge->addr, k);
	}
}

/* All but control dword 0 of a frame's WQE, which ends where end is, to a destination. */
static __rte_always_inline void
end_frame(const struct mlx4_roce_qp *q, const struct ibv_send_wr *wr, struct mlx4_roce_slot *slot, const uint8_t *end,
	  const uint8_t *mac, bool csum, enum ibv_wc_opcode done)
{
	struct mlx4_wqe_ctrl *c = (void *)slot->wqe;

	c->vlan_ds = rte_cpu_to_be_32(((uint32_t)(end - slot->wqe) + MLX4_DS_SIZE - 1) / MLX4_DS_SIZE);
	c->flags = flags_of(q, wr->send_flags) | (csum ? q->csum : 0);
	/* Rules of the own port take the frame where the card is told its destination here, too [DP 3.1]. */
	memcpy(&c->imm, mac + sizeof(uint16_t), sizeof(c->imm));
	c->flags |= rte_cpu_to_be_32((uint32_t)(mac[0] << 8 | mac[1]) << 16);
	slot->done = (struct mlx4_roce_done){wr->wr_id, IBV_WC_SUCCESS, done};
	stamp_ahead(q, slot);
}

/* A large send of frames [DP 3.5]: the headers from Ethernet's on, and payload in the list. False: refused. */
static __rte_noinline bool
put_large_frame(const struct mlx4_roce_qp *q, const struct ibv_send_wr *wr, struct mlx4_roce_slot *slot)
{
	const uint8_t *end;

	if (!lso_allowed(q, wr, sizeof(struct mlx4_wqe_ctrl)) || wr->tso.hdr_sz < LARGE_HEADER_MIN ||
	    wr->tso.hdr_sz + wr->tso.mss > *q->mtu + FRAME_HEADER)
		return false;
	end = put_lso(slot->wqe + sizeof(struct mlx4_wqe_ctrl), wr);
	end_frame(q, wr, slot, end, wr->tso.hdr, true, IBV_WC_TSO);
	return true;
}

/*
 * A whole frame [DP 3.4], by a queue pair whose type is in no row of the table of opcodes, so that the others need not ask for
 * it. Returns its opcode, MLX4_OP_NOP: refused.
 */
static __rte_unused __rte_noinline uint8_t
put_frame(const struct mlx4_roce_qp *q, const struct ibv_send_wr *wr, struct mlx4_roce_slot *slot)
{
	const bool is_inline = (wr->send_flags & IBV_SEND_INLINE) != 0;
	uint8_t *seg = slot->wqe + sizeof(struct mlx4_wqe_ctrl), *end, mac[RTE_ETHER_ADDR_LEN];
	uint64_t len;

	if (!q->raw || (unsigned int)wr->num_sge > q->sq_sges)
		return MLX4_OP_NOP;
	if (wr->opcode == IBV_WR_TSO)
		return put_large_frame(q, wr, slot) ? MLX4_OP_LSO | MLX4_CTRL_RR : MLX4_OP_NOP;
	if (wr->opcode != IBV_WR_SEND)
		return MLX4_OP_NOP;
	len = list_len(wr->sg_list, wr->num_sge);
	if (len < (is_inline ? MLX4_INLINE_MIN : RTE_ETHER_HDR_LEN) || len > *q->mtu + FRAME_HEADER ||
	    (is_inline && len > q->max_inline))
		return MLX4_OP_NOP;
	end = is_inline ? put_inline(seg, wr->sg_list, wr->num_sge) : put_list(seg, wr->sg_list, wr->num_sge);
	first_of(wr->sg_list, mac, sizeof(mac));
	end_frame(q, wr, slot, end, mac, (wr->send_flags & IBV_SEND_IP_CSUM) != 0, IBV_WC_SEND);
	return MLX4_OP_SEND;
}

/* The WQE is the card's: the owner bit is written last. */
static __rte_always_inline void
give(struct mlx4_roce_slot *slot, uint8_t op)
{
	rte_io_wmb();
	((struct mlx4_wqe_ctrl *)(void *)slot->wqe)->owner_opcode = owner_of(slot, op);
}

/* --- the small message ------------------------------------------------------------------------------------- */

/*
 * What latency is about: one SEND, or one WRITE, of one piece that fills the first block of its WQE and goes on in the second,
 * inline. Lengths and places are known, so that nothing is searched for.
 */
#define SMALL_AT(write)                                                                                                \
	((uint32_t)sizeof(struct mlx4_wqe_ctrl) + ((write) ? MLX4_RADDR_SIZE : 0)) /* of the data's segment */
#define SMALL_FIRST(write) (MLX4_TXBB_SIZE - SMALL_AT(write) - 4) /* bytes of data in the first block */
#define SMALL_MORE (MLX4_TXBB_SIZE + 4)
static_assert(MLX4_ROCE_SMALL_MIN == SMALL_FIRST(false) + 16, "the second piece is copied in words of 16");
static_assert(MLX4_ROCE_SMALL_WRITE_MIN == SMALL_FIRST(true) + 16, "the same");

static __rte_always_inline void
put_small(const struct mlx4_roce_qp *q, const struct ibv_send_wr *wr, unsigned int send_flags, uint32_t head,
	  const bool write)
{
	const uint32_t at = SMALL_AT(write), first = SMALL_FIRST(write);
	const uint32_t shift = SMALL_MORE - first; /* behind the first block each byte lies so far behind its place */
	const uint8_t *src = (const uint8_t *)(uintptr_t)wr->sg_list->addr;
	uint32_t len = wr->sg_list->length;
	struct mlx4_roce_slot *slot = &q->slots[head & q->sq_mask];
	uint8_t *wqe = slot->wqe;
	struct mlx4_wqe_ctrl *c = (void *)wqe;
	struct {
		rte_be32_t flags, imm;
	} flags = {flags_of(q, send_flags), 0};

	if (write)
		put_remote(wqe + sizeof(*c), wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
	memcpy(wqe + at + 4, src, first);
	memcpy(wqe + SMALL_MORE, src + first, 16);
	if (unlikely(len > first + 32))
		memcpy(wqe + SMALL_MORE + 16, src + first + 16, 16);
	if (unlikely(len > first + 48))
		memcpy(wqe + SMALL_MORE + 32, src + first + 32, 16);
	memcpy(wqe + shift + len - 16, src + len - 16, 16);
	*(rte_be32_t *)(void *)(wqe + at) = rte_cpu_to_be_32(MLX4_DATA_INLINE | first);
	c->vlan_ds = rte_cpu_to_be_32((shift + len + MLX4_DS_SIZE - 1) / MLX4_DS_SIZE);
	memcpy(&c->flags, &flags, sizeof(flags));
	slot->done = (struct mlx4_roce_done){wr->wr_id, IBV_WC_SUCCESS, write ? IBV_WC_RDMA_WRITE : IBV_WC_SEND};
	*(uint32_t *)(void *)(slot[MLX4_ROCE_SPARE(MLX4_ROCE_SMALL_LG)].wqe + MLX4_TXBB_SIZE) = UINT32_MAX;
	rte_io_wmb();
	*(rte_be32_t *)(void *)(wqe + MLX4_TXBB_SIZE) = rte_cpu_to_be_32(MLX4_DATA_INLINE - first + len);
	rte_io_wmb();
	c->owner_opcode = owner_of(slot, write ? MLX4_OP_RDMA_WRITE : MLX4_OP_SEND);
}

/* One that is inline, and alone: a WRITE or a SEND. True: it was small, and is the card's. */
static __rte_always_inline bool
post_small(struct mlx4_roce_qp *q, const struct ibv_send_wr *wr, unsigned int flags, const bool write)
{
	const uint32_t head = q->sq_head, min = write ? MLX4_ROCE_SMALL_WRITE_MIN : MLX4_ROCE_SMALL_MIN;

	if ((flags & IBV_SEND_FENCE) != 0 || wr->opcode != (write ? IBV_WR_RDMA_WRITE : IBV_WR_SEND) ||
	    wr->num_sge != 1 || wr->sg_list->length - min >= (write ? q->small_write_span : q->small_span) ||
	    (uint16_t)(head - q->sq_tail) >= q->sq_room)
		return false;
	put_small(q, wr, flags, head, write);
	q->sq_head = head + 1;
	rte_io_wmb();
	*q->db = q->db_val;
	return true;
}

/* For who has the whole call before it: true where that was one small SEND, and is the card's. */
static __rte_always_inline bool
post_small_send(struct mlx4_roce_qp *q, const struct ibv_send_wr *wr)
{
	unsigned int flags = wr->send_flags;

	if ((flags & IBV_SEND_INLINE) == 0)
		return false;
	__asm__("" : "+r"(flags)); /* two tests of bits, of which the first ends it for most other requests */
	return wr->next == NULL && post_small(q, wr, flags, false);
}

#endif /* MLX4_VERBS_WQE_H */
