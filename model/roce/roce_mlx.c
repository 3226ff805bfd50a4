/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Sends of QPs that are not raw Ethernet.
 *
 * QP0 and QP1 send packets that software built, headers and all [DP 3.13]: on an Ethernet port they leave as RoCE
 * frames, the card adds the invariant CRC; those of an InfiniBand port are in ib_mlx.c. Verbs QPs have a transport
 * (roce.c); one whose port is not known to it ends like a peer that is gone, or is sent and lost, and is counted.
 */
#include "model/port/port.h"
#include "roce.h"

#define MLX_NO_ICRC (1u << 4) /* control dword 2: the CRC is there already */

/* The last segment: four inline bytes as room for the CRC. Its place in the arena, or NULL after tpm_wqe_fail. */
static uint8_t *
icrc_room(struct tpm_tx *t, const struct tp_frame *f, uint32_t head)
{
	const uint8_t *p = f->seg[f->nseg - 1].data;
	size_t off = (size_t)(p - t->arena);

	if (f->seg[f->nseg - 1].len == TPM_ICRC_LEN && p >= t->arena && off < TPM_TX_ARENA)
		return t->arena + off;
	tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_INLINE,
		     "the last segment has %u bytes, wanted %u inline ones for the CRC", f->seg[f->nseg - 1].len,
		     TPM_ICRC_LEN);
	return NULL;
}

bool
tpm_roce_mlx(struct tpm_tx *t, const uint8_t *w, uint32_t ds, uint32_t head)
{
	struct tp_frame f = {.seg = &t->seg[t->nseg]};
	uint32_t flags = prm_get32(w, 8);
	unsigned int n = 0;
	uint8_t *icrc;

	if (!tpm_wqe_pieces(t, head, w, ds, f.seg, TP_FRAME_SEGS, &n, &f.len))
		return false;
	f.nseg = (uint16_t)n;
	if (f.len < TPM_ETH_HLEN || f.len + TPM_FCS_LEN > t->p->max_frame)
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_LENGTH, TPM_V_WQE_LENGTH,
				    "a packet of %u bytes, wanted %u..%u", f.len, TPM_ETH_HLEN,
				    t->p->max_frame - TPM_FCS_LEN);
	if ((flags & MLX_NO_ICRC) == 0) {
		icrc = icrc_room(t, &f, head);
		if (icrc == NULL)
			return false;
		if (!tpm_icrc(&f, icrc))
			return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_ROCE,
					    "a packet of %u bytes without RoCE headers", f.len);
	}
	/* Back into the card: what it has for itself, such as a connection to an own address. */
	if ((flags & MLX4_CTRL_FL) != 0) {
		tpm_port_count_loop(t->p, &f);
		t->m->port_ops->deliver(t->m, t->p, &f, 1, t->qp);
		return true;
	}
	t->nseg += f.nseg;
	t->bytes += f.len;
	t->f[t->n++] = f;
	return true;
}

bool
tpm_wqe_mlx(struct tpm_tx *t, const uint8_t *w, uint32_t ds, uint32_t head)
{
	uint32_t op = prm_get32(w, 0) & MLX4_CTRL_OPCODE_MASK;

	if (op != MLX4_OP_SEND)
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_OPCODE,
				    "opcode 0x%02x, wanted 0x0a on a QP that sends whole packets", op);
	return tpm_link(t->m, t->p)->mlx(t, w, ds, head);
}

/* Opcodes of each service [DP 3.2] */
static bool
opcode_known(uint8_t service, uint32_t op)
{
	switch (op) {
	case MLX4_OP_SEND:
	case MLX4_OP_SEND_IMM: return true;
	case MLX4_OP_LSO: return service == MLX4_QP_ST_UD;
	case MLX4_OP_RDMA_WRITE:
	case MLX4_OP_RDMA_WRITE_IMM: return service != MLX4_QP_ST_UD;
	case MLX4_OP_RDMA_READ: return service == MLX4_QP_ST_RC;
	default: return false;
	}
}

bool
tpm_wqe_verbs(struct tpm_tx *t, const uint8_t *w, uint32_t ds, uint32_t head)
{
	uint32_t op = prm_get32(w, 0) & MLX4_CTRL_OPCODE_MASK;

	if (op == MLX4_OP_NOP)
		return true;
	if (!opcode_known(t->qp->service, op))
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_OPCODE,
				    "opcode 0x%02x, which QUERY_DEV_CAP does not offer for service %u", op,
				    t->qp->service);
	t->p->tx_no_transport++;
	return t->qp->service != MLX4_QP_ST_RC || tpm_wqe_end(t, head, MLX4_SYND_RETRY_EXC);
}
