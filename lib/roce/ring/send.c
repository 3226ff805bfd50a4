/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Send requests [DP 3]. */
#include <stdatomic.h>
#include <string.h>

#include "ring.h"

#define RC (1u << IBV_QPT_RC)
#define UC (1u << IBV_QPT_UC)
#define UD (1u << IBV_QPT_UD)

enum kind { KIND_NONE, KIND_SEND, KIND_RDMA, KIND_READ, KIND_ATOMIC, KIND_INVALIDATE, KIND_BIND };

static const struct {
	uint8_t kind, types;
	enum ibv_wr_opcode wr;
	enum ibv_wc_opcode done;
} opcodes[MLX4_CTRL_OPCODE_MASK + 1] = {
	[MLX4_OP_SEND] = {KIND_SEND, RC | UC | UD, IBV_WR_SEND, IBV_WC_SEND},
	[MLX4_OP_SEND_IMM] = {KIND_SEND, RC | UC | UD, IBV_WR_SEND_WITH_IMM, IBV_WC_SEND},
	[MLX4_OP_SEND_INV] = {KIND_SEND, RC, IBV_WR_SEND_WITH_INV, IBV_WC_SEND},
	[MLX4_OP_RDMA_WRITE] = {KIND_RDMA, RC | UC, IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE},
	[MLX4_OP_RDMA_WRITE_IMM] = {KIND_RDMA, RC | UC, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE},
	[MLX4_OP_RDMA_READ] = {KIND_READ, RC, IBV_WR_RDMA_READ, IBV_WC_RDMA_READ},
	[MLX4_OP_ATOMIC_CS] = {KIND_ATOMIC, RC, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP},
	[MLX4_OP_ATOMIC_FA] = {KIND_ATOMIC, RC, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD},
	[MLX4_OP_LOCAL_INV] = {KIND_INVALIDATE, RC, IBV_WR_LOCAL_INV, IBV_WC_LOCAL_INV},
	[MLX4_OP_BIND_MW] = {KIND_BIND, RC, IBV_WR_BIND_MW, IBV_WC_BIND_MW},
};

/* Segments of a copied request, one behind the other. */
struct reader {
	const uint8_t *w;
	uint32_t len, at;
};

static const uint8_t *
take(struct reader *rd, uint32_t n)
{
	const uint8_t *p = rd->w + rd->at;

	if (rd->len - rd->at < n)
		return NULL;
	rd->at += n;
	return p;
}

static bool
read_remote(struct reader *rd, struct tre_wqe *w)
{
	const uint8_t *d = take(rd, MLX4_RADDR_SIZE);

	if (d == NULL)
		return false;
	w->remote = prm_get64(d, MLX4_RADDR_VA);
	w->rkey = prm_get(d, MLX4_RADDR_RKEY);
	return true;
}

static bool
read_atomic(struct reader *rd, struct tre_wqe *w)
{
	const uint8_t *d = read_remote(rd, w) ? take(rd, MLX4_ATOMIC_SIZE) : NULL;

	if (d == NULL)
		return false;
	if (w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		w->swap = prm_get64(d, MLX4_ATOMIC_SWAP_ADD);
		w->compare_add = prm_get64(d, MLX4_ATOMIC_COMPARE);
	} else {
		w->compare_add = prm_get64(d, MLX4_ATOMIC_SWAP_ADD);
	}
	return true;
}

static bool
read_bind(struct reader *rd, struct tre_wqe *w, struct troce_ring_more *more)
{
	const uint8_t *d = take(rd, MLX4_BIND_SIZE);
	unsigned int access = 0;

	if (d == NULL)
		return false;
	access |= prm_get(d, MLX4_BIND_ATOMIC) != 0 ? IBV_ACCESS_REMOTE_ATOMIC : 0;
	access |= prm_get(d, MLX4_BIND_RW) != 0 ? IBV_ACCESS_REMOTE_WRITE : 0;
	access |= prm_get(d, MLX4_BIND_RR) != 0 ? IBV_ACCESS_REMOTE_READ : 0;
	access |= prm_get(d, MLX4_BIND_ZERO_BASED) != 0 ? IBV_ACCESS_ZERO_BASED : 0;
	w->rkey = prm_get(d, MLX4_BIND_RKEY);
	more->lkey = prm_get(d, MLX4_BIND_LKEY);
	more->bind = (struct ibv_mw_bind_info){.addr = prm_get64(d, MLX4_BIND_START),
					       .length = prm_get64(d, MLX4_BIND_LENGTH),
					       .mw_access_flags = access};
	return true;
}

static bool
read_dgram(struct reader *rd, struct tre_wqe *w, struct troce_ring_more *more)
{
	const uint8_t *d = take(rd, MLX4_DGRAM_SIZE);

	if (d == NULL)
		return false;
	memcpy(more->dgram, d, MLX4_DGRAM_SIZE);
	w->ud_qpn = prm_get(d, MLX4_DGRAM_QPN);
	w->ud_qkey = prm_get(d, MLX4_DGRAM_QKEY);
	return true;
}

/* --- data ---------------------------------------------------------------------------------------------------------- */

/* Inline pieces are put together; each ends where its block ends at the latest [DP 3.7]. */
static bool
read_inline(const struct troce_ring_sq *sq, struct reader *rd, struct tre_wqe *w, uint8_t *data, uint32_t count)
{
	uint32_t n = count & MLX4_INLINE_LEN_MASK, at = rd->at % MLX4_TXBB_SIZE, end;
	const uint8_t *d = take(rd, n);

	if (d == NULL || w->num_sge != 0 || n > sq->max_inline - w->len || (n != 0 && at + n > MLX4_TXBB_SIZE))
		return false;
	memcpy(data + w->len, d, n);
	w->inline_data = data;
	w->len += n;
	end = (rd->at + MLX4_DS_SIZE - 1) & ~(MLX4_DS_SIZE - 1);
	rd->at = end < rd->len ? end : rd->len;
	return true;
}

static bool
read_data(const struct troce_ring_sq *sq, struct reader *rd, struct tre_wqe *w, uint8_t *data)
{
	struct tre_sge *sge = (struct tre_sge *)(void *)data;
	uint64_t len = 0;

	while (rd->at < rd->len) {
		const uint8_t *d = take(rd, 4);
		uint32_t count = d == NULL ? 0 : prm_get32(d, 0);

		if (d == NULL)
			return false;
		if ((count & MLX4_DATA_INLINE) != 0) {
			if (!read_inline(sq, rd, w, data, count))
				return false;
			continue;
		}
		d = take(rd, MLX4_DS_SIZE - 4);
		if (d == NULL || w->inline_data != NULL || w->num_sge == sq->max_sge)
			return false;
		sge[w->num_sge++] = (struct tre_sge){.addr = prm_get64(d, 4), .len = count, .lkey = prm_get32(d, 0)};
		len += count;
	}
	if (w->num_sge != 0) {
		w->sge = sge;
		/* The engine refuses what is too long, this included. */
		w->len = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
	}
	return true;
}

/* --- a request ------------------------------------------------------------------------------------------------------ */

static const uint8_t *
place(const struct troce_ring_sq *sq, uint32_t at)
{
	return sq->base + ((size_t)(at & sq->mask) << sq->lg_stride);
}

bool
troce_ring_send_ready(const struct troce_ring_sq *sq, uint32_t at)
{
	bool odd = (at & (sq->mask + 1)) != 0;
	uint32_t dw = __atomic_load_n((const uint32_t *)(const void *)place(sq, at), __ATOMIC_ACQUIRE);

	return ((rte_be_to_cpu_32(dw) & MLX4_CTRL_OWN) != 0) == odd;
}

/* The segments behind the control segment. */
static bool
read_segments(const struct troce_ring_sq *sq, struct reader *rd, uint8_t kind, struct tre_wqe *w, uint8_t *data,
	      struct troce_ring_more *more)
{
	const uint8_t *d;

	switch (kind) {
	case KIND_INVALIDATE:
		d = take(rd, MLX4_INV_SIZE);
		if (d != NULL)
			w->imm = prm_get(d, MLX4_INV_KEY);
		w->opcode = TRE_WR_LOCAL;
		return d != NULL;
	case KIND_BIND: w->opcode = TRE_WR_LOCAL; return read_bind(rd, w, more);
	case KIND_ATOMIC: return read_atomic(rd, w) && read_data(sq, rd, w, data) && w->inline_data == NULL;
	case KIND_READ: return read_remote(rd, w) && read_data(sq, rd, w, data) && w->inline_data == NULL;
	case KIND_RDMA: return read_remote(rd, w) && read_data(sq, rd, w, data);
	default: return (sq->type != IBV_QPT_UD || read_dgram(rd, w, more)) && read_data(sq, rd, w, data);
	}
}

/* The compiler does not look again at memory that the writer may have changed. */
static inline void
copy_once(uint8_t *to, const uint8_t *from, uint32_t len)
{
	memcpy(to, from, len);
	atomic_signal_fence(memory_order_seq_cst);
}

bool
troce_ring_send(const struct troce_ring_sq *sq, uint32_t at, struct tre_wqe *w, uint8_t *data,
		struct troce_ring_more *more)
{
	uint8_t buf[MLX4_SEND_WQE_MAX] __attribute__((aligned(64)));
	struct reader rd = {.w = buf, .at = sizeof(struct mlx4_wqe_ctrl)};
	const uint8_t *wqe = place(sq, at);
	uint32_t flags, dw1, op;

	memset(w, 0, sizeof(*w));
	copy_once(buf, wqe, sizeof(struct mlx4_wqe_ctrl));
	dw1 = prm_get32(buf, offsetof(struct mlx4_wqe_ctrl, vlan_ds));
	flags = prm_get32(buf, offsetof(struct mlx4_wqe_ctrl, flags));
	op = buf[3] & MLX4_CTRL_OPCODE_MASK;
	*more = (struct troce_ring_more){.signaled = (flags & MLX4_CTRL_CQE_MASK) == MLX4_CTRL_CQE,
					 .opcode = opcodes[op].wr,
					 .done = opcodes[op].done};
	rd.len = (dw1 & MLX4_CTRL_DS_MASK) * MLX4_DS_SIZE;
	if (rd.len < rd.at || rd.len > 1u << sq->lg_stride || opcodes[op].kind == KIND_NONE ||
	    (opcodes[op].types >> sq->type & 1) == 0)
		return false;
	copy_once(buf + rd.at, wqe + rd.at, rd.len - rd.at);
	w->opcode = (uint8_t)opcodes[op].wr;
	w->flags = (uint8_t)(((flags & MLX4_CTRL_SOLICITED) != 0 ? IBV_SEND_SOLICITED : 0) |
			     ((dw1 & MLX4_CTRL_FENCE) != 0 ? IBV_SEND_FENCE : 0));
	w->imm = prm_get32(buf, offsetof(struct mlx4_wqe_ctrl, imm));
	return read_segments(sq, &rd, opcodes[op].kind, w, data, more);
}
