/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Posting what most requests are: one piece of data, no fence, no immediate data. A queue pair's type and the length of its WQEs
 * are known when it is made, so that its function has them as constants; whatever else there is, also what is to be refused, is
 * mlx4_roce_post_any()'s from there on.
 */
#include <rte_vect.h>

#include "drivers/mlx4/verbs/wqe.h"

#include "segments.h"

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

/* --- a request ----------------------------------------------------------------------------------------------------- */

/* What requests of one opcode and the same flags have in common. */
struct like {
	uint64_t ctrl;  /* first half of the control segment, with the owner bit of this pass over the ring */
	uint64_t flags; /* the other half */
	uint64_t done;
	/* Of data in two blocks. */
	uint32_t len;
	rte_be32_t second; /* length of what is in the second */
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
    const enum way way, const bool ud, const enum data data, const unsigned int lg)
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
		at += MLX4_RADDR_SIZE;
	} else if (ud) {
		at += MLX4_DGRAM_SIZE;
	}
	if (data != MEMORY && data != INLINE) {
		put_words(wqe, at, (const uint8_t *)(uintptr_t)wr->sg_list->addr, like->len, data);
		rte_io_wmb(); /* as in put_in_two() */
		*(rte_be32_t *)(void *)(wqe + at + 4 + in_first(at)) = like->second;
	} else if (data == INLINE) {
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
	else if (way != SEND)
		put_place(wqe + CTRL, wr);
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

/* False: the request is for the other way. */
static __rte_always_inline bool
is_plain(const struct ibv_send_wr *wr, const bool ud)
{
	if (ud)
		return head_of(wr) == PAIR(UINT64_C(1), (uint64_t)IBV_WR_SEND);
	return (uint32_t)wr->opcode < OPS && wr->num_sge == 1;
}

/* ... of one that is plain. */
static __rte_always_inline const struct mlx4_roce_fast *
op_of(const struct mlx4_roce_qp *q, const struct ibv_send_wr *wr, const bool ud)
{
	return ud ? &ud_send : &q->fast[(uint32_t)wr->opcode];
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

/* WQEs that there is room for; none, or less, where none may be posted. */
static __rte_always_inline int32_t
room_of(const struct mlx4_roce_qp *q, uint32_t head)
{
	return q->sq_room - (uint16_t)(head - q->sq_tail);
}

/* Several requests, from head on: as long as they are of one kind, each is written as the first of them. */
static __rte_always_inline int
post_list(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad, uint32_t head, const bool ud,
	  const unsigned int lg)
{
	int32_t run = room_of(q, head);

	do {
		const struct mlx4_roce_fast *op = op_of(q, wr, ud);
		const unsigned int flags = wr->send_flags, more = flags & ~PLAIN_FLAGS;
		struct mlx4_roce_slot *slot = &q->slots[head & q->sq_mask], *first = slot, *last;
		const uint64_t like_head = head_of(wr);
		struct like like;
		bool ok;

		if (unlikely(!is_plain(wr, ud) || (more & ~(unsigned int)IBV_SEND_INLINE) != 0 || run <= 0))
			break;
		like = like_of(q, op, flags, slot->owner);
		last = slot + RTE_MIN((uint32_t)run, q->sq_mask + 1 - (head & q->sq_mask));
#define ALIKE (wr != NULL && slot != last && head_of(wr) == like_head && wr->send_flags == flags)
#define RUN(way, data)                                                                                                 \
	do {                                                                                                           \
		ok = put(q, slot, wr, &like, way, ud, data, lg);                                                       \
		if (unlikely(!ok))                                                                                     \
			break;                                                                                         \
		slot++;                                                                                                \
		wr = wr->next;                                                                                         \
	} while (ALIKE && ((data) == MEMORY || (data) == INLINE || wr->sg_list->length == like.len))
/* The first ones of one length, and what follows as if each had its own, so that no list costs more than one by one. */
#define RUN_INLINE(way, at)                                                                                            \
	do {                                                                                                           \
		like.len = wr->sg_list->length;                                                                        \
		like.second = BE(MLX4_DATA_INLINE - in_first(at) + like.len);                                          \
		like.ctrl = with_length(like.ctrl, (at) + 8 + like.len);                                               \
		ok = true;                                                                                             \
		switch (words_of(at, max_of(ud, lg), like.len)) {                                                      \
		case WORDS_1: RUN(way, WORDS_1); break;                                                                \
		case WORDS_2: RUN(way, WORDS_2); break;                                                                \
		case WORDS_3: RUN(way, WORDS_3); break;                                                                \
		case WORDS_4: RUN(way, WORDS_4); break;                                                                \
		default: break;                                                                                        \
		}                                                                                                      \
		if (ok && ALIKE)                                                                                       \
			RUN(way, INLINE);                                                                              \
	} while (0)
		if (ud && more == 0)
			RUN(SEND, MEMORY);
		else if (ud)
			RUN_INLINE(SEND, CTRL + MLX4_DGRAM_SIZE);
		else if (more == 0 && op->way == SEND)
			RUN(SEND, MEMORY);
		else if (more == 0 && op->way > ATOMIC)
			RUN(RDMA, MEMORY);
		else if (more == 0 && op->way == ATOMIC)
			RUN(ATOMIC, MEMORY);
		else if (op->way == SEND)
			RUN_INLINE(SEND, CTRL);
		else if (op->way == RDMA)
			RUN_INLINE(RDMA, CTRL + MLX4_RADDR_SIZE);
		else
			break;
#undef RUN_INLINE
#undef RUN
#undef ALIKE
		head += (uint32_t)(slot - first);
		run -= (int32_t)(slot - first);
		if (unlikely(!ok))
			break;
	} while (wr != NULL);
	if (unlikely(wr != NULL))
		return mlx4_roce_post_any(q, wr, bad, head);
	q->sq_head = head;
	rte_io_wmb(); /* WQEs before the doorbell, which BlueFlame is for one alone */
	*q->db = q->db_val;
	return 0;
}

/* One request. False: it is for the other way, or there is no room. */
static __rte_always_inline bool
put_only(struct mlx4_roce_qp *q, const struct ibv_send_wr *wr, const bool ud, const enum data data,
	 const unsigned int lg)
{
	const uint32_t head = q->sq_head;
	struct mlx4_roce_slot *slot = &q->slots[head & q->sq_mask];
	const struct mlx4_roce_fast *op = op_of(q, wr, ud);
	struct like like;

	if (unlikely(!is_plain(wr, ud) || (uint16_t)(head - q->sq_tail) >= q->sq_room))
		return false;
	like = like_of(q, op, wr->send_flags, slot->owner);
	if (ud || op->way == SEND)
		return put(q, slot, wr, &like, SEND, ud, data, lg);
	if (data != MEMORY)
		return op->way == RDMA && put(q, slot, wr, &like, RDMA, ud, data, lg);
	if (likely(op->way > ATOMIC))
		return put(q, slot, wr, &like, RDMA, ud, data, lg);
	return op->way == ATOMIC && put(q, slot, wr, &like, ATOMIC, ud, data, lg);
}

static __rte_always_inline int
post_only(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad, const bool ud, const enum data data,
	  const unsigned int lg)
{
	if (unlikely(!put_only(q, wr, ud, data, lg)))
		return mlx4_roce_post_any(q, wr, bad, q->sq_head);
	q->sq_head++;
	rte_io_wmb(); /* the WQE before the doorbell */
	*q->db = q->db_val;
	return 0;
}

static __rte_always_inline int
post_blueflame(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad, const bool ud,
	       const unsigned int lg)
{
	const unsigned int more = wr->send_flags & ~PLAIN_FLAGS;

	if (unlikely((more & ~(unsigned int)IBV_SEND_INLINE) != 0) ||
	    unlikely(!(more != 0 ? put_only(q, wr, ud, INLINE, lg) : put_only(q, wr, ud, MEMORY, lg))))
		return mlx4_roce_post_any(q, wr, bad, q->sq_head);
	return mlx4_roce_post_end(q, q->sq_head + 1);
}

/* Functions of their own, so that each needs few registers: one request from memory, one inline, several, BlueFlame. */
#define POST_MORE(name, ud, lg)                                                                                        \
	static __rte_noinline int name##_list(struct mlx4_roce_qp *q, struct ibv_send_wr *wr,                          \
					      struct ibv_send_wr **bad)                                                \
	{                                                                                                              \
		return post_list(q, wr, bad, q->sq_head, ud, lg);                                                      \
	}                                                                                                              \
	static __rte_noinline int name##_inline(struct mlx4_roce_qp * q, struct ibv_send_wr * wr,                      \
						struct ibv_send_wr * *bad)                                             \
	{                                                                                                              \
		if (unlikely((wr->send_flags & ~PLAIN_FLAGS) != IBV_SEND_INLINE))                                      \
			return mlx4_roce_post_any(q, wr, bad, q->sq_head);                                             \
		return post_only(q, wr, bad, ud, INLINE, lg);                                                          \
	}                                                                                                              \
	static __rte_noinline int name##_blueflame(struct mlx4_roce_qp *q, struct ibv_send_wr *wr,                     \
						   struct ibv_send_wr **bad)                                           \
	{                                                                                                              \
		return wr->next != NULL ? name##_list(q, wr, bad) : post_blueflame(q, wr, bad, ud, lg);                \
	}
#define POST(name, ud, lg)                                                                                             \
	POST_MORE(name, ud, lg)                                                                                        \
	static __rte_noinline int name(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)       \
	{                                                                                                              \
		if (wr->next != NULL)                                                                                  \
			return name##_list(q, wr, bad);                                                                \
		if ((wr->send_flags & ~PLAIN_FLAGS) != 0)                                                              \
			return name##_inline(q, wr, bad);                                                              \
		return post_only(q, wr, bad, ud, MEMORY, lg);                                                          \
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
	return post_only(q, wr, bad, true, MEMORY, DATAGRAM_LG);
}

/* several: for lists that begin inline. */
static __rte_always_inline int
post_datagrams(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad,
	       int (*several)(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad))
{
	unsigned int flags = wr->send_flags;

	if ((flags & IBV_SEND_INLINE) != 0) {
		if (wr->next != NULL)
			return several(q, wr, bad);
		__asm__("" : "+r"(flags)); /* as above */
		if (post_small_datagram(q, wr, flags))
			return 0;
	}
	return post_datagram_4_other(q, wr, bad);
}

static int
post_datagram_4(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	return post_datagrams(q, wr, bad, post_datagram_4_list);
}

#ifdef __SSSE3__
/* Tuned for what has it: else each load and store is made of two. */
#define AVX2 __attribute__((target("avx2,tune=haswell")))

static AVX2 __rte_always_inline void
copy_32(uint8_t *to, const uint8_t *from)
{
	_mm256_storeu_si256((__m256i *)(void *)to, _mm256_loadu_si256((const __m256i *)(const void *)from));
}

/* Number of elements, opcode and flags, and behind them what does not count here. */
static AVX2 __rte_always_inline __m128i
words_of_request(const struct ibv_send_wr *wr)
{
	static_assert(offsetof(struct ibv_send_wr, opcode) == offsetof(struct ibv_send_wr, num_sge) + 4 &&
			      offsetof(struct ibv_send_wr, send_flags) == offsetof(struct ibv_send_wr, num_sge) + 8 &&
			      sizeof(struct ibv_send_wr) >= offsetof(struct ibv_send_wr, num_sge) + 16,
		      "neighbours");
	return _mm_loadu_si128((const __m128i *)(const void *)&wr->num_sge);
}

static __rte_noinline int
post_rest(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad, uint32_t head)
{
	return post_list(q, wr, bad, head, true, DATAGRAM_LG);
}

/*
 * Several such datagrams as post_small_datagram() takes, as long as they are alike. What they have in common is in vector registers,
 * so that the loop needs few others.
 */
static AVX2 __rte_noinline int
post_small_datagrams(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	const uint32_t at = CTRL + MLX4_DGRAM_SIZE, next = at + 4 + BLOCK_ROOM;
	const __m128i counts = _mm_set_epi32(0, -1, -1, -1), words = words_of_request(wr);
	struct mlx4_roce_slot *slot, *last;
	uint32_t head = q->sq_head, gone;
	int32_t run = room_of(q, head);
	__m128i second, order;
	__m128 ctrl, flags;
	struct like like;
	size_t len;

	if (unlikely(!is_plain(wr, true) || (wr->send_flags & ~(PLAIN_FLAGS | IBV_SEND_INLINE)) != 0 || run <= 0))
		return post_rest(q, wr, bad, head);
	len = wr->sg_list->length;
	gone = BLOCK_ROOM + 16 - (uint32_t)len;
	if (unlikely(gone >= 16))
		return post_rest(q, wr, bad, head);
	slot = &q->slots[head & q->sq_mask];
	last = slot + RTE_MIN((uint32_t)run, q->sq_mask + 1 - (head & q->sq_mask));
	like = like_of(q, &ud_send, wr->send_flags, slot->owner);
	ctrl = _mm_castsi128_ps(_mm_cvtsi64_si128((int64_t)with_length(like.ctrl, at + 8 + (uint32_t)len)));
	flags = _mm_castsi128_ps(_mm_cvtsi64_si128((int64_t)like.flags));
	second = _mm_cvtsi32_si128((int)BE(MLX4_DATA_INLINE - BLOCK_ROOM + (uint32_t)len));
	order = order_of_end(gone);
	head -= (uint32_t)(slot - q->slots);
	do {
		const uint8_t *src = (const uint8_t *)(uintptr_t)wr->sg_list->addr, *to = dgram_of(wr);
		uint8_t *wqe = slot->wqe;

		copy_32(wqe + at + 4, src);
		copy_32(wqe + next - 32, src + BLOCK_ROOM - 32);
		copy_in_order(wqe + next + 4, src + len - 16, order);
		copy_32(wqe + CTRL, to);
		put_target(wqe + CTRL, wr, to);
		/* As floats, which compilers leave where they are. */
		_mm_storel_pi((__m64 *)(void *)(wqe + offsetof(struct mlx4_wqe_ctrl, flags)), flags);
		/* Success and a send are zeros. */
		_mm_storeu_si128((__m128i *)(void *)&slot->done,
				 _mm_loadl_epi64((const __m128i *)(const void *)&wr->wr_id));
		slot->owner ^= RTE_BE32(MLX4_CTRL_OWN);
		stamp(q, slot, DATAGRAM_LG);
		rte_io_wmb(); /* a length may begin a block, so that it comes last [DP 4.5] */
		*(rte_be32_t *)(void *)(wqe + at) = RTE_BE32(MLX4_DATA_INLINE | BLOCK_ROOM);
		_mm_storeu_si32(wqe + next, second);
		rte_io_wmb();
		_mm_storel_pi((__m64 *)(void *)wqe, ctrl);
		slot++;
		wr = wr->next;
	} while (wr != NULL && slot != last &&
		 _mm_testz_si128(_mm_xor_si128(words_of_request(wr), words), counts) != 0 &&
		 wr->sg_list->length == len);
	head += (uint32_t)(slot - q->slots);
	if (unlikely(wr != NULL))
		return post_rest(q, wr, bad, head);
	q->sq_head = head;
	rte_io_wmb(); /* WQEs before the doorbell, which BlueFlame is for one alone */
	*q->db = q->db_val;
	return 0;
}
static_assert(DONE(IBV_WC_SEND) == 0 && offsetof(struct mlx4_roce_done, wr_id) == 0 &&
		      sizeof(struct mlx4_roce_done) == 16 && DGRAM_TO == 32 && CTRL == 16 &&
		      offsetof(struct mlx4_wqe_ctrl, owner_opcode) == 0,
	      "vectors hold them");

static int
post_datagram_4_avx2(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	return post_datagrams(q, wr, bad, post_small_datagrams);
}
#endif /* __SSSE3__ */

static int
post_general(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	return mlx4_roce_post_any(q, wr, bad, q->sq_head);
}

void
mlx4_roce_post_choose(struct mlx4_roce_qp *q, bool avx2)
{
	/* By the blocks of a WQE. */
	static const struct {
		int (*usual)(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
		int (*blueflame)(struct mlx4_roce_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	} connected[] = {{post_connected_1, post_connected_1_blueflame},
			 {post_connected_2, post_connected_2_blueflame},
			 {post_connected, post_connected_blueflame}},
	  datagrams[] = {{post_general, post_general},
			 {post_datagram_2, post_datagram_2_blueflame},
			 {post_datagram_4, post_datagram_4_blueflame},
			 {post_datagram, post_datagram_blueflame}};
	unsigned int lg = q->lg_sq_stride - RTE_MIN(q->lg_sq_stride, MLX4_LG_TXBB);

	q->post = post_general;
	/* What a message inline may have is theirs to know. */
	if (q->max_inline < max_of(q->services == UD, RTE_MIN(lg, 2u) + MLX4_LG_TXBB))
		return;
	if (q->services == UD) {
		lg = RTE_MIN(lg, RTE_DIM(datagrams) - 1);
		q->post = q->bf != NULL ? datagrams[lg].blueflame : datagrams[lg].usual;
#ifdef __SSSE3__
		if (q->post == post_datagram_4 && avx2)
			q->post = post_datagram_4_avx2;
#endif
	} else if (q->services == RC || q->services == UC) {
		q->fast = q->services == RC ? rc_ops : uc_ops;
		lg = RTE_MIN(lg, RTE_DIM(connected) - 1);
		q->post = q->bf != NULL        ? connected[lg].blueflame
			  : q->small_span != 0 ? post_small_first
					       : connected[lg].usual;
	}
}
