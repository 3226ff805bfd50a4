/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Posting what most requests are: one piece of data, no fence, no immediate data. A queue pair's type and the length of its WQEs
 * are known when it is made, so that its function has them as constants; whatever else there is, also what is to be refused, is
 * mlx4_roce_post_any()'s from there on.
 */
#include "drivers/mlx4/verbs/wqe.h"

#define CTRL (uint32_t)sizeof(struct mlx4_wqe_ctrl)
#define DATAGRAM_LG (MLX4_LG_TXBB + 2)
#define LG_ANY 0u /* of a WQE's length: not known */

/* What requests there are here; those behind ATOMIC have one check less. */
enum way { OTHER, ATOMIC, RDMA, READ, SEND };

/* An opcode of a connection: what its request is with one piece of data. */
struct mlx4_roce_fast {
	uint64_t ctrl; /* first half of the control segment, without the owner bit */
	uint64_t done; /* status and opcode of the completion */
	enum way way;
};

#define HEAD(op, ds) PAIR(RTE_BE32((uint32_t)(op)), RTE_BE32((uint32_t)(ds)))
#define DONE(op) PAIR((uint64_t)IBV_WC_SUCCESS, (uint64_t)(op))
#define OPS 16u

#define UC_OPS                                                                                                         \
	[IBV_WR_SEND] = {HEAD(MLX4_OP_SEND, 2), DONE(IBV_WC_SEND), SEND}, [IBV_WR_RDMA_WRITE] = {                      \
										  HEAD(MLX4_OP_RDMA_WRITE, 3),         \
										  DONE(IBV_WC_RDMA_WRITE), RDMA}

static const struct mlx4_roce_fast uc_ops[OPS] = {UC_OPS};
static const struct mlx4_roce_fast rc_ops[OPS] = {
	UC_OPS,
	[IBV_WR_RDMA_READ] = {HEAD(MLX4_OP_RDMA_READ, 3), DONE(IBV_WC_RDMA_READ), READ},
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {HEAD(MLX4_OP_ATOMIC_CS, 4), DONE(IBV_WC_COMP_SWAP), ATOMIC},
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {HEAD(MLX4_OP_ATOMIC_FA, 4), DONE(IBV_WC_FETCH_ADD), ATOMIC},
};
static const struct mlx4_roce_fast ud_send = {HEAD(MLX4_OP_SEND, 5), DONE(IBV_WC_SEND), SEND};

/* --- data ---------------------------------------------------------------------------------------------------------- */

/* At most a block's room. */
static __rte_always_inline void
copy_16_up(uint8_t *to, const uint8_t *from, uint32_t n)
{
	memcpy(to, from, 16);
	if (n > 32)
		memcpy(to + 16, from + 16, 16);
	if (unlikely(n > 48))
		memcpy(to + 32, from + 32, 16);
	memcpy(to + n - 16, from + n - 16, 16);
}

/* The last n bytes, n > 0, of at least 16. */
static __rte_always_inline void
copy_rest(uint8_t *to, const uint8_t *from, uint32_t n)
{
	uint64_t v;

	if (n >= 16) {
		copy_16_up(to, from, n);
	} else if (n >= 8) {
		copy_inline(to, from, n);
	} else {
		/* Eight bytes are read that end where the data end, and written where there is room behind them. */
		memcpy(&v, from + n - 8, sizeof(v));
		v = RTE_BYTE_ORDER == RTE_BIG_ENDIAN ? v << (64 - 8 * n) : v >> (64 - 8 * n);
		memcpy(to, &v, sizeof(v));
	}
}

/* The last bytes before end of at least 16, where 16 may be written: all 16 but the first gone ones, gone < 16. */
static __rte_always_inline void
copy_end(uint8_t *to, const uint8_t *end, uint32_t gone)
{
#ifdef __SSSE3__
	/* From gone on: these bytes to the front, and zeros. */
	static const uint8_t front[32] = {0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,
					  11,   12,   13,   14,   15,   0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					  0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
	const __m128i last = _mm_loadu_si128((const __m128i *)(const void *)(end - 16));
	const __m128i which = _mm_loadu_si128((const __m128i *)(const void *)(front + gone));

	_mm_storeu_si128((__m128i *)(void *)to, _mm_shuffle_epi8(last, which));
#else
	copy_rest(to, end - (16 - gone), 16 - gone);
#endif
}

/* Inline in one block, at offset at of the WQE; returns where it ends. */
static __rte_always_inline uint32_t
put_in_one(uint8_t *wqe, const uint32_t at, const struct ibv_sge *sge)
{
	copy_inline(wqe + at + 4, (const uint8_t *)(uintptr_t)sge->addr, sge->length);
	close_inline(wqe + at, wqe + at + 4 + sge->length);
	return at + 4 + sge->length;
}

/* The same in the block where the data begin, and in the next one. */
static __rte_always_inline uint32_t
put_in_two(uint8_t *wqe, const uint32_t at, const struct ibv_sge *sge)
{
	const uint32_t first = MLX4_TXBB_SIZE - at % MLX4_TXBB_SIZE - 4, next = at + 4 + first;
	const uint8_t *src = (const uint8_t *)(uintptr_t)sge->addr;
	uint32_t len = sge->length - first;

	memcpy(wqe + at + 4, src, first);
	copy_rest(wqe + next + 4, src + first, len);
	*(rte_be32_t *)(void *)(wqe + at) = RTE_BE32(MLX4_DATA_INLINE | first);
	rte_io_wmb(); /* a length may begin a block, so that it comes last [DP 4.5] */
	*(rte_be32_t *)(void *)(wqe + next) = BE(MLX4_DATA_INLINE + len);
	return next + 4 + len;
}

/* Bytes that go inline in a WQE of that length; of longer ones it is more than two blocks take. */
static __rte_always_inline uint32_t
max_of(const bool ud, const unsigned int lg)
{
	const uint32_t blocks = lg == LG_ANY ? 4 : 1u << (lg - MLX4_LG_TXBB);

	return blocks * BLOCK_ROOM - (ud ? MLX4_TXBB_SIZE - 4 : CTRL + MLX4_RADDR_SIZE);
}

/* Returns the WQE's bytes, 0: it is for the other way. */
static __rte_always_inline uint32_t
put_inlined(uint8_t *wqe, const uint32_t at, const struct ibv_sge *sge, const uint32_t max)
{
	const uint32_t first = MLX4_TXBB_SIZE - at % MLX4_TXBB_SIZE - 4;

	/* The usual length first: of two blocks. */
	if (max > first && likely(sge->length - (first + 1) < RTE_MIN(BLOCK_ROOM, max - first)))
		return put_in_two(wqe, at, sge);
	return sge->length - 1 < RTE_MIN(first, max) ? put_in_one(wqe, at, sge) : 0;
}

#ifdef __SSSE3__
/* Of an address and a key: both in the other byte order, and zeros. */
static __rte_always_inline __m128i
place_order(void)
{
	static_assert(MLX4_RADDR_VA == 0 && PRM_OFF(MLX4_RADDR_RKEY) == 8 && MLX4_RADDR_SIZE == 16, "a segment");
	return _mm_set_epi8(INT8_MIN, INT8_MIN, INT8_MIN, INT8_MIN, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7);
}
#else
static __rte_always_inline void
put_address(uint8_t *seg, uint64_t addr, uint32_t rkey)
{
	uint64_t word = PAIR((uint64_t)BE(rkey), UINT64_C(0));

	prm_set64(seg, MLX4_RADDR_VA, addr);
	memcpy(seg + PRM_OFF(MLX4_RADDR_RKEY), &word, sizeof(word));
}
#endif

/* The address segment of a WRITE or a READ. */
static __rte_always_inline void
put_place(uint8_t *seg, const struct ibv_send_wr *wr)
{
#ifdef __SSSE3__
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)&wr->wr.rdma);

	static_assert(offsetof(struct ibv_send_wr, wr.rdma.rkey) == offsetof(struct ibv_send_wr, wr.rdma) + 8,
		      "neighbours");
	_mm_storeu_si128((__m128i *)(void *)seg, _mm_shuffle_epi8(v, place_order()));
#else
	put_address(seg, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
#endif
}

static __rte_always_inline void
put_atomics(uint8_t *seg, const struct ibv_send_wr *wr)
{
#ifdef __SSSE3__
	/* A swap has it before what is compared; what is added stands alone. */
	static const uint8_t orders[2][16] __rte_aligned(16) = {
		{15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
		{7, 6, 5, 4, 3, 2, 1, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80}};
	const uint8_t *order = orders[wr->opcode - IBV_WR_ATOMIC_CMP_AND_SWP];
	__m128d place = _mm_load_sd((const double *)(const void *)&wr->wr.atomic.remote_addr);
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)&wr->wr.atomic.compare_add);

	static_assert(IBV_WR_ATOMIC_FETCH_AND_ADD == IBV_WR_ATOMIC_CMP_AND_SWP + 1, "they choose an order");
	static_assert(offsetof(struct ibv_send_wr, wr.atomic.swap) ==
				      offsetof(struct ibv_send_wr, wr.atomic.compare_add) + 8 &&
			      MLX4_ATOMIC_SWAP_ADD == 0 && MLX4_ATOMIC_COMPARE == 8,
		      "neighbours here and there");
	place = _mm_loadh_pd(place, (const double *)(const void *)&wr->wr.atomic.rkey);
	_mm_storeu_si128((__m128i *)(void *)seg, _mm_shuffle_epi8(_mm_castpd_si128(place), place_order()));
	v = _mm_shuffle_epi8(v, *(const __m128i *)(const void *)order);
	_mm_storeu_si128((__m128i *)(void *)(seg + MLX4_RADDR_SIZE), v);
#else
	uint64_t add = wr->wr.atomic.compare_add, swap = wr->wr.atomic.swap, compare = add;

	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		swap = add;
		compare = 0;
	}
	put_address(seg, wr->wr.atomic.remote_addr, wr->wr.atomic.rkey);
	prm_set64(seg, MLX4_RADDR_SIZE + MLX4_ATOMIC_SWAP_ADD, swap);
	prm_set64(seg, MLX4_RADDR_SIZE + MLX4_ATOMIC_COMPARE, compare);
#endif
}

/* All but the last half of an address vector is the handle's; where it goes, the request's. */
static __rte_always_inline void
put_datagram(uint8_t *seg, const struct ibv_send_wr *wr)
{
	const uint32_t to = PRM_OFF(MLX4_DGRAM_QPN), rest = PRM_OFF(MLX4_DGRAM_QKEY) + 4;
	const uint8_t *from = ((const struct mlx4_roce_ah *)(const void *)wr->wr.ud.ah)->dgram;
#ifdef __SSSE3__
	const __m128i order = _mm_set_epi8(15, 14, 13, 12, 11, 10, 9, 8, 4, 5, 6, 7, 0, 1, 2, 3);
	__m128d v;
#else
	uint64_t v;
#endif

	static_assert(offsetof(struct ibv_send_wr, wr.ud.remote_qkey) ==
				      offsetof(struct ibv_send_wr, wr.ud.remote_qpn) + 4 &&
			      PRM_OFF(MLX4_DGRAM_QKEY) == PRM_OFF(MLX4_DGRAM_QPN) + 4 && MLX4_DGRAM_SIZE == 48 &&
			      PRM_OFF(MLX4_DGRAM_QPN) == 32,
		      "neighbours here and there, and the last quarter but one");
	memcpy(seg, from, to);
#ifdef __SSSE3__
	v = _mm_castsi128_pd(_mm_loadl_epi64((const __m128i *)(const void *)&wr->wr.ud.remote_qpn));
	v = _mm_loadh_pd(v, (const double *)(const void *)(from + rest));
	_mm_storeu_si128((__m128i *)(void *)(seg + to), _mm_shuffle_epi8(_mm_castpd_si128(v), order));
#else
	memcpy(&v, &wr->wr.ud.remote_qpn, sizeof(v));
#if RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN
	v = rte_bswap64(v);
	v = v << 32 | v >> 32;
#endif
	memcpy(seg + to, &v, sizeof(v));
	memcpy(seg + rest, from + rest, MLX4_DGRAM_SIZE - rest);
#endif
}

/* --- a request ----------------------------------------------------------------------------------------------------- */

/* What requests of one opcode and the same flags have in common. */
struct like {
	uint64_t ctrl;  /* first half of the control segment, with the owner bit of this pass over the ring */
	uint64_t flags; /* the other half */
	uint64_t done;
};

/* Blocks behind the first one of the WQE that comes into the card's reach get the wrong phase [DP 4.3]. */
static __rte_always_inline void
stamp(const struct mlx4_roce_qp *q, const struct mlx4_roce_slot *slot, const unsigned int lg)
{
	uint8_t *w = slot[lg == LG_ANY ? q->sq_spare : MLX4_ROCE_SPARE(lg)].wqe;
	uint32_t off, end = 1u << (lg == LG_ANY ? q->lg_sq_stride : lg);

	for (off = MLX4_TXBB_SIZE; off < end; off += MLX4_TXBB_SIZE)
		*(uint32_t *)(void *)(w + off) = UINT32_MAX;
}

static __rte_always_inline uint64_t
with_length(uint64_t ctrl, uint32_t len)
{
	const uint64_t first = PAIR((uint64_t)UINT32_MAX, UINT64_C(0));

	return (ctrl & first) | PAIR(UINT64_C(0), (uint64_t)BE((len + MLX4_DS_SIZE - 1) / MLX4_DS_SIZE));
}

/* False: the request is for the other way; nothing was written that matters. */
static __rte_always_inline bool
put(const struct mlx4_roce_qp *q, struct mlx4_roce_slot *slot, const struct ibv_send_wr *wr, const struct like *like,
    const enum way way, const bool ud, const bool in, const unsigned int lg)
{
	uint8_t *wqe = slot->wqe;
	struct mlx4_wqe_ctrl *c = (void *)wqe;
	uint32_t at = CTRL, len;
	uint64_t ctrl = like->ctrl;

	if (way == ATOMIC) {
		if (unlikely(wr->sg_list->length != ATOMIC_LEN))
			return false;
		at += MLX4_RADDR_SIZE + MLX4_ATOMIC_SIZE;
	} else if (way != SEND) {
		put_place(wqe + at, wr);
		at += MLX4_RADDR_SIZE;
	} else if (ud) {
		at += MLX4_DGRAM_SIZE;
	}
	if (in) {
		len = put_inlined(wqe, at, wr->sg_list, max_of(ud, lg));
		if (unlikely(len == 0))
			return false;
		ctrl = with_length(ctrl, len);
	} else if (unlikely(!put_piece(wqe + at, wr->sg_list, ud))) {
		return false;
	}
	if (ud)
		put_datagram(wqe + CTRL, wr);
	else if (way == ATOMIC)
		put_atomics(wqe + CTRL, wr);
	memcpy(&c->flags, &like->flags, sizeof(like->flags));
	slot->done.wr_id = wr->wr_id;
	memcpy(&slot->done.status, &like->done, sizeof(like->done));
	slot->owner ^= RTE_BE32(MLX4_CTRL_OWN);
	stamp(q, slot, lg);
	rte_io_wmb();
	memcpy(&c->owner_opcode, &ctrl, sizeof(ctrl));
	return true;
}

/* Number of elements and opcode, which are neighbours. */
static __rte_always_inline uint64_t
head_of(const struct ibv_send_wr *wr)
{
	uint64_t v;

	static_assert(offsetof(struct ibv_send_wr, opcode) == offsetof(struct ibv_send_wr, num_sge) + 4, "one word");
	memcpy(&v, &wr->num_sge, sizeof(v));
	return v;
}

/* NULL: the request is for the other way. */
static __rte_always_inline const struct mlx4_roce_fast *
find(const struct mlx4_roce_qp *q, const struct ibv_send_wr *wr, const bool ud)
{
	const struct mlx4_roce_fast *op;
	uint32_t opcode;

	if (ud)
		return likely(head_of(wr) == PAIR(UINT64_C(1), (uint64_t)IBV_WR_SEND)) ? &ud_send : NULL;
	opcode = (uint32_t)wr->opcode;
	op = &q->fast[opcode];
	return likely(opcode < OPS && wr->num_sge == 1) ? op : NULL;
}

/* The owner bit changes with each pass over the ring. */
static __rte_always_inline struct like
like_of(const struct mlx4_roce_qp *q, const struct mlx4_roce_fast *op, unsigned int flags, uint32_t owner)
{
	return (struct like){
		.ctrl = op->ctrl | PAIR((uint64_t)(owner ^ RTE_BE32(MLX4_CTRL_OWN)), UINT64_C(0)),
		.flags = PAIR((uint64_t)flags_of(q, flags), UINT64_C(0)),
		.done = op->done,
	};
}

/* --- a call ---------------------------------------------------------------------------------------------------------- */

/* Several requests: as long as they are of one kind, each is written as the first of them. */
static __rte_always_inline int
post_list(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad, const bool ud,
	  const unsigned int lg)
{
	uint32_t head = q->sq_head;
	const int32_t end = (int32_t)(head + q->sq_room - (uint16_t)(head - q->sq_tail));

	do {
		const struct mlx4_roce_fast *op = find(q, wr, ud);
		const unsigned int flags = wr->send_flags, more = flags & ~PLAIN_FLAGS;
		struct mlx4_roce_slot *slot = &q->slots[head & q->sq_mask], *first = slot, *last;
		const uint64_t like_head = head_of(wr);
		int32_t run = end - (int32_t)head;
		struct like like;
		bool ok;

		if (unlikely(op == NULL || (more & ~(unsigned int)IBV_SEND_INLINE) != 0 || run <= 0))
			break;
		like = like_of(q, op, flags, slot->owner);
		last = slot + RTE_MIN((uint32_t)run, q->sq_mask + 1 - (head & q->sq_mask));
#define RUN(way, in)                                                                                                   \
	do {                                                                                                           \
		ok = put(q, slot, wr, &like, way, ud, in, lg);                                                         \
		if (unlikely(!ok))                                                                                     \
			break;                                                                                         \
		slot++;                                                                                                \
		wr = wr->next;                                                                                         \
	} while (wr != NULL && slot != last && head_of(wr) == like_head && wr->send_flags == flags)
		if (ud && more == 0)
			RUN(SEND, false);
		else if (ud)
			RUN(SEND, true);
		else if (more == 0 && op->way == SEND)
			RUN(SEND, false);
		else if (more == 0 && op->way > ATOMIC)
			RUN(RDMA, false);
		else if (more == 0 && op->way == ATOMIC)
			RUN(ATOMIC, false);
		else if (op->way == SEND)
			RUN(SEND, true);
		else if (op->way == RDMA)
			RUN(RDMA, true);
		else
			break;
#undef RUN
		head += (uint32_t)(slot - first);
		if (unlikely(!ok))
			break;
	} while (wr != NULL);
	if (unlikely(wr != NULL))
		return mlx4_roce_post_any(q, wr, bad, head);
	return mlx4_roce_post_end(q, head);
}

/* One request. False: it is for the other way, or there is no room. */
static __rte_always_inline bool
put_only(struct mlx4_roce_qp *q, const struct ibv_send_wr *wr, const bool ud, const bool in, const unsigned int lg)
{
	const uint32_t head = q->sq_head;
	struct mlx4_roce_slot *slot = &q->slots[head & q->sq_mask];
	const struct mlx4_roce_fast *op = find(q, wr, ud);
	struct like like;

	if (unlikely(op == NULL || (uint16_t)(head - q->sq_tail) >= q->sq_room))
		return false;
	like = like_of(q, op, wr->send_flags, slot->owner);
	if (ud || op->way == SEND)
		return put(q, slot, wr, &like, SEND, ud, in, lg);
	if (in)
		return op->way == RDMA && put(q, slot, wr, &like, RDMA, ud, in, lg);
	if (likely(op->way > ATOMIC))
		return put(q, slot, wr, &like, RDMA, ud, in, lg);
	return op->way == ATOMIC && put(q, slot, wr, &like, ATOMIC, ud, in, lg);
}

static __rte_always_inline int
post_only(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad, const bool ud, const bool in,
	  const unsigned int lg)
{
	if (unlikely(!put_only(q, wr, ud, in, lg)))
		return mlx4_roce_post_any(q, wr, bad, q->sq_head);
	q->sq_head++;
	rte_io_wmb(); /* the WQE before the doorbell */
	*q->db = q->db_val;
	return 0;
}

/* Functions of their own, so that each needs few registers: one request from memory, one inline, several. */
#define POST_MORE(name, ud, lg)                                                                                        \
	static __rte_noinline int name##_list(struct mlx4_roce_qp *q, struct ibv_send_wr *wr,                          \
					      struct ibv_send_wr **bad)                                                \
	{                                                                                                              \
		return post_list(q, wr, bad, ud, lg);                                                                  \
	}                                                                                                              \
	static __rte_noinline int name##_inline(struct mlx4_roce_qp * q, struct ibv_send_wr * wr,                      \
						struct ibv_send_wr * *bad)                                             \
	{                                                                                                              \
		if (unlikely((wr->send_flags & ~PLAIN_FLAGS) != IBV_SEND_INLINE))                                      \
			return mlx4_roce_post_any(q, wr, bad, q->sq_head);                                             \
		return post_only(q, wr, bad, ud, true, lg);                                                            \
	}
#define POST(name, ud, lg)                                                                                             \
	POST_MORE(name, ud, lg)                                                                                        \
	static __rte_noinline int name(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)       \
	{                                                                                                              \
		if (wr->next != NULL)                                                                                  \
			return name##_list(q, wr, bad);                                                                \
		if ((wr->send_flags & ~PLAIN_FLAGS) != 0)                                                              \
			return name##_inline(q, wr, bad);                                                              \
		return post_only(q, wr, bad, ud, false, lg);                                                           \
	}

POST(post_connected_1, false, MLX4_LG_TXBB)
POST(post_connected_2, false, MLX4_LG_TXBB + 1)
POST(post_connected, false, LG_ANY)
POST(post_datagram_2, true, MLX4_LG_TXBB + 1)
POST_MORE(post_datagram_4, true, DATAGRAM_LG)
POST(post_datagram, true, LG_ANY)

/*
 * One datagram of one piece that fills the second block of its WQE and has up to 16 octets in the third, inline: what may be refused
 * is looked at first, so that the rest needs few registers. True: it was one, and is the card's.
 */
static __rte_always_inline bool
post_small_datagram(struct mlx4_roce_qp *q, const struct ibv_send_wr *wr, unsigned int flags)
{
	const uint32_t at = CTRL + MLX4_DGRAM_SIZE, next = at + 4 + BLOCK_ROOM;
	struct mlx4_roce_slot *slot;
	uint32_t head, len, gone;
	const uint8_t *src;
	uint64_t word;
	uint8_t *wqe;

	if ((flags & ~(PLAIN_FLAGS | IBV_SEND_INLINE)) != 0 || wr->next != NULL ||
	    head_of(wr) != PAIR(UINT64_C(1), (uint64_t)IBV_WR_SEND))
		return false;
	head = q->sq_head;
	if ((uint16_t)(head - q->sq_tail) >= q->sq_room)
		return false;
	slot = &q->slots[head & q->sq_mask];
	len = wr->sg_list->length;
	gone = BLOCK_ROOM + 16 - len;
	if (gone >= 16)
		return false;
	wqe = slot->wqe;
	src = (const uint8_t *)(uintptr_t)wr->sg_list->addr;
	copy_end(wqe + next + 4, src + len, gone);
	memcpy(wqe + at + 4, src, BLOCK_ROOM);
	put_datagram(wqe + CTRL, wr);
	word = PAIR((uint64_t)flags_of(q, flags), UINT64_C(0));
	memcpy(wqe + offsetof(struct mlx4_wqe_ctrl, flags), &word, sizeof(word));
	slot->done = (struct mlx4_roce_done){wr->wr_id, IBV_WC_SUCCESS, IBV_WC_SEND};
	stamp(q, slot, DATAGRAM_LG);
	rte_io_wmb(); /* a length may begin a block, so that it comes last [DP 4.5] */
	*(rte_be32_t *)(void *)(wqe + at) = RTE_BE32(MLX4_DATA_INLINE | BLOCK_ROOM);
	*(rte_be32_t *)(void *)(wqe + next) = BE(MLX4_DATA_INLINE - BLOCK_ROOM + len);
	word = with_length(PAIR((uint64_t)owner_of(slot, MLX4_OP_SEND), UINT64_C(0)), at + 8 + len);
	rte_io_wmb();
	memcpy(wqe, &word, sizeof(word));
	q->sq_head = head + 1;
	rte_io_wmb();
	*q->db = q->db_val;
	return true;
}

static __rte_noinline int
post_small_write(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad, unsigned int flags)
{
	return post_small(q, wr, flags, true) ? 0 : post_connected_2_inline(q, wr, bad);
}

/* The shortest way needs no register that would have to be kept. */
static int
post_small_first(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	unsigned int flags = wr->send_flags;

	if ((flags & IBV_SEND_INLINE) == 0)
		return post_connected_2(q, wr, bad);
	__asm__("" : "+r"(flags)); /* two tests of bits, of which the first ends it for most other requests */
	if (wr->next != NULL)
		return post_connected_2_list(q, wr, bad);
	return post_small(q, wr, flags, false) ? 0 : post_small_write(q, wr, bad, flags);
}

static __rte_noinline int
post_datagram_4_other(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	if (wr->next != NULL)
		return post_datagram_4_list(q, wr, bad);
	if ((wr->send_flags & ~PLAIN_FLAGS) != 0)
		return post_datagram_4_inline(q, wr, bad);
	return post_only(q, wr, bad, true, false, DATAGRAM_LG);
}

static int
post_datagram_4(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	unsigned int flags = wr->send_flags;

	if ((flags & IBV_SEND_INLINE) != 0) {
		__asm__("" : "+r"(flags)); /* as above */
		if (post_small_datagram(q, wr, flags))
			return 0;
	}
	return post_datagram_4_other(q, wr, bad);
}

static int
post_general(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	return mlx4_roce_post_any(q, wr, bad, q->sq_head);
}

void
mlx4_roce_post_choose(struct mlx4_roce_qp *q)
{
	/* By the blocks of a WQE. A list's end knows BlueFlame, too. */
	static const struct {
		int (*one)(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
		int (*list)(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	} connected[] = {{post_connected_1, post_connected_1_list},
			 {post_connected_2, post_connected_2_list},
			 {post_connected, post_connected_list}},
	  datagrams[] = {{post_general, post_general},
			 {post_datagram_2, post_datagram_2_list},
			 {post_datagram_4, post_datagram_4_list},
			 {post_datagram, post_datagram_list}};
	unsigned int lg = q->lg_sq_stride - RTE_MIN(q->lg_sq_stride, MLX4_LG_TXBB);

	q->post = post_general;
	/* What a message inline may have is theirs to know. */
	if (q->max_inline < max_of(q->services == UD, RTE_MIN(lg, 2u) + MLX4_LG_TXBB))
		return;
	if (q->services == UD) {
		lg = RTE_MIN(lg, RTE_DIM(datagrams) - 1);
		q->post = q->bf != NULL ? datagrams[lg].list : datagrams[lg].one;
	} else if (q->services == RC || q->services == UC) {
		q->fast = q->services == RC ? rc_ops : uc_ops;
		lg = RTE_MIN(lg, RTE_DIM(connected) - 1);
		q->post = q->bf != NULL        ? connected[lg].list
			  : q->small_span != 0 ? post_small_first
					       : connected[lg].one;
	}
}
