/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* WQEs of verbs queue pairs as requests of the transport engine [DP 3, 5.1]. */
#include "mlx4_prm_ib.h"
#include "roce.h"

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

static int
verbs_opcode(uint8_t op, bool rc, bool ib_ud)
{
	switch (op) {
	case MLX4_OP_SEND: return IBV_WR_SEND;
	case MLX4_OP_SEND_IMM: return IBV_WR_SEND_WITH_IMM;
	case MLX4_OP_LSO: return ib_ud ? IBV_WR_SEND : -1;
	case MLX4_OP_SEND_INV: return IBV_WR_SEND_WITH_INV;
	case MLX4_OP_RDMA_WRITE: return IBV_WR_RDMA_WRITE;
	case MLX4_OP_RDMA_WRITE_IMM: return IBV_WR_RDMA_WRITE_WITH_IMM;
	case MLX4_OP_RDMA_READ: return IBV_WR_RDMA_READ;
	case MLX4_OP_ATOMIC_CS: return IBV_WR_ATOMIC_CMP_AND_SWP;
	case MLX4_OP_ATOMIC_FA: return IBV_WR_ATOMIC_FETCH_AND_ADD;
	case MLX4_OP_FAST_REG:
	case MLX4_OP_BIND_MW:
	case MLX4_OP_LOCAL_INV: return rc ? (int)TRE_WR_LOCAL : -1;
	case MLX4_OP_NOP: return TRE_WR_LOCAL;
	default: return -1;
	}
}

void
tpm_roce_ib_address(const uint8_t *d, struct tpm_roce_path *path)
{
	*path = (struct tpm_roce_path){.sgid_index = (uint8_t)prm_get(d, MLX4_AV_SGID_INDEX),
				       .tclass = (uint8_t)prm_get(d, MLX4_AV_TCLASS),
				       .hop_limit = (uint8_t)prm_get(d, MLX4_AV_HOP_LIMIT),
				       .flow_label = prm_get(d, MLX4_AV_FLOW_LABEL),
				       .dlid = (uint16_t)prm_get(d, MLX4_AV_DLID),
				       .sl = (uint8_t)prm_get(d, MLX4_AV_SL),
				       .path_bits = (uint8_t)prm_get(d, MLX4_AV_PATH_BITS),
				       .grh = prm_get(d, MLX4_AV_GRH) != 0,
				       .loop = prm_get(d, MLX4_AV_FL) != 0};
	memcpy(path->dgid, d + MLX4_AV_DGID, sizeof(path->dgid));
}

/* That of a datagram on Ethernet */
static void
read_eth_address(const uint8_t *d, struct tpm_roce_path *path)
{
	uint32_t vlan = prm_get(d, MLX4_DGRAM_VLAN), fl = prm_get(d, MLX4_AV_FLOW_LABEL);
	/* Two ways to say "no tag" [DP 10.1]: the kernel's, and libmlx4's, which marks an address with a tag. */
	bool tagged = vlan != MLX4_DGRAM_NO_VLAN && (vlan != 0 || prm_get(d, MLX4_AV_VLAN) != 0);

	*path = (struct tpm_roce_path){.sgid_index = (uint8_t)prm_get(d, MLX4_AV_SGID_INDEX),
				       .tclass = (uint8_t)prm_get(d, MLX4_AV_TCLASS),
				       .hop_limit = (uint8_t)prm_get(d, MLX4_AV_HOP_LIMIT),
				       .prio = (uint8_t)prm_get(d, MLX4_AV_PRIO),
				       .flow_label = fl,
				       .udp_port = (uint16_t)(((fl & 0x3fff) ^ fl >> 14) | 0xc000),
				       .vid = tagged ? vlan & 0xfff : TPM_ROCE_NO_VLAN,
				       .v2 = true};
	memcpy(path->dmac, d + MLX4_DGRAM_DMAC, sizeof(path->dmac));
	memcpy(path->dgid, d + MLX4_AV_DGID, sizeof(path->dgid));
}

static bool
read_dgram(struct tpm_roce *r, struct reader *rd, struct tre_wqe *w, struct tpm_roce_slot *s)
{
	const uint8_t *d = take(rd, MLX4_DGRAM_SIZE);

	if (d == NULL)
		return false;
	if (r->m->port[r->qp->port - 1].ib)
		tpm_roce_ib_address(d, &s->path);
	else
		read_eth_address(d, &s->path);
	w->ud_qpn = prm_get(d, MLX4_DGRAM_QPN);
	w->ud_qkey = prm_get(d, MLX4_DGRAM_QKEY);
	w->av = &s->path;
	/* The protection domain of the address must be the QP's (10.2.2.1). */
	return prm_get(d, MLX4_AV_PD) == r->qp->pd;
}

static bool
read_remote(struct reader *rd, struct tre_wqe *w)
{
	const uint8_t *d = take(rd, MLX4_RADDR_SIZE);

	if (d == NULL)
		return false;
	w->remote = prm_get64(d, MLX4_RADDR_VA);
	w->rkey = prm_get(d, MLX4_RADDR_RKEY);
	if (w->opcode != IBV_WR_ATOMIC_CMP_AND_SWP && w->opcode != IBV_WR_ATOMIC_FETCH_AND_ADD)
		return true;
	d = take(rd, MLX4_ATOMIC_SIZE);
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

/* Inline pieces are put together; each ends where its 64-byte block ends [DP 3.7]. */
static bool
read_inline(struct reader *rd, struct tre_wqe *w, struct tpm_roce_slot *s, uint32_t count)
{
	uint32_t n = count & MLX4_INLINE_LEN_MASK, end;
	const uint8_t *d = take(rd, n);

	if (d == NULL || w->num_sge != 0)
		return false;
	memcpy(s->data + w->len, d, n);
	w->inline_data = s->data;
	w->len += n;
	end = (rd->at + MLX4_DS_SIZE - 1) & ~(MLX4_DS_SIZE - 1);
	rd->at = end < rd->len ? end : rd->len;
	return true;
}

static bool
read_data(struct reader *rd, struct tre_wqe *w, struct tpm_roce_slot *s)
{
	uint64_t len = 0;

	while (rd->at < rd->len) {
		const uint8_t *d = take(rd, 4);
		uint32_t count = d == NULL ? 0 : prm_get32(d, 0);

		if (d == NULL)
			return false;
		if ((count & MLX4_DATA_INLINE) != 0) {
			if (!read_inline(rd, w, s, count))
				return false;
			continue;
		}
		d = take(rd, MLX4_DS_SIZE - 4);
		if (d == NULL || w->inline_data != NULL)
			return false;
		s->sge[w->num_sge++] = (struct tre_sge){.addr = prm_get64(d, 4), .len = count, .lkey = prm_get32(d, 0)};
		len += count;
	}
	if (w->num_sge != 0) {
		if (len > UINT32_MAX)
			return false;
		w->len = (uint32_t)len;
	}
	return true;
}

/* Headers of a large send: their segment ends at 16 bytes [DP 3.5] */
static enum ibv_wc_status
read_lso(struct tpm_roce *r, struct reader *rd, struct tre_wqe *w, struct tpm_roce_slot *s)
{
	const uint8_t *d = take(rd, 4), *h;
	struct tpm_roce_lso l = {0};
	uint32_t v = d == NULL ? 0 : prm_get32(d, 0), end;

	l.mss = v >> MLX4_LSO_MSS_SHIFT;
	l.hlen = v & MLX4_LSO_HDR_MASK;
	h = d == NULL || l.hlen > sizeof(l.hdr) ? NULL : take(rd, l.hlen);
	if (h == NULL)
		return IBV_WC_LOC_QP_OP_ERR;
	memcpy(l.hdr, h, l.hlen);
	end = (rd->at + MLX4_DS_SIZE - 1) & ~(MLX4_DS_SIZE - 1);
	rd->at = end < rd->len ? end : rd->len;
	return read_data(rd, w, s) ? tpm_ipoib_lso(r, w, s, &l) : IBV_WC_LOC_QP_OP_ERR;
}

/* Strong ordering: behind what reads, at least. */
static enum ibv_wc_status
read_local(struct reader *rd, struct tre_wqe *w, struct tpm_roce_slot *s, uint32_t flags)
{
	uint32_t n = tpm_roce_local_size(s->opcode);
	const uint8_t *d = take(rd, n);

	if (d == NULL)
		return IBV_WC_LOC_QP_OP_ERR;
	memcpy(s->data, d, n);
	if ((flags & MLX4_CTRL_SO) != 0)
		w->flags |= IBV_SEND_FENCE;
	return IBV_WC_SUCCESS;
}

static uint32_t
copy_wqe(struct tpm_qp *qp, uint32_t head, uint8_t *buf, uint32_t *strides)
{
	uint32_t ring = (qp->sq_mask + 1) << qp->sq_lg_stride, at = (head & qp->sq_mask) << qp->sq_lg_stride, len;

	len = (prm_get32(tpm_ring_at(&qp->ring, qp->sq_off + at), 4) & MLX4_CTRL_DS_MASK) * MLX4_DS_SIZE;
	*strides = (len + (1u << qp->sq_lg_stride) - 1) >> qp->sq_lg_stride;
	if (len == 0 || len > ring || len > MLX4_SEND_WQE_MAX) {
		*strides = 1;
		return 0;
	}
	for (uint32_t off = 0; off < len; off += MLX4_TXBB_SIZE) {
		uint32_t n = len - off < MLX4_TXBB_SIZE ? len - off : MLX4_TXBB_SIZE;

		memcpy(buf + off, tpm_ring_at(&qp->ring, qp->sq_off + ((at + off) & (ring - 1))), n);
	}
	return len;
}

static enum ibv_wc_status
read_wqe(struct tp_model *m, struct tpm_roce *r, struct tre_wqe *w, struct tpm_roce_slot *s, uint32_t head,
	 uint32_t *strides)
{
	uint8_t buf[MLX4_SEND_WQE_MAX] __attribute__((aligned(64)));
	struct reader rd = {.w = buf, .at = sizeof(struct mlx4_wqe_ctrl)};
	bool ib_ud;
	uint32_t flags;
	int op;

	rd.len = copy_wqe(r->qp, head, buf, strides);
	memset(w, 0, sizeof(*w));
	s->index = (uint16_t)head;
	s->signaled = true;
	w->home = s->index;
	w->sge = s->sge;
	if (rd.len < rd.at) {
		tpm_violate(m, TPM_V_WQE_SIZE, "QP", r->qp->qpn, "WQE 0x%x: %u bytes, wanted %u..%u", s->index, rd.len,
			    rd.at, MLX4_SEND_WQE_MAX);
		return IBV_WC_LOC_QP_OP_ERR;
	}
	flags = prm_get32(buf, 8);
	s->opcode = buf[3] & MLX4_CTRL_OPCODE_MASK;
	s->signaled = (flags & MLX4_CTRL_CQE_MASK) == MLX4_CTRL_CQE;
	ib_ud = r->e.a.type == IBV_QPT_UD && m->port[r->qp->port - 1].ib;
	op = verbs_opcode(s->opcode, r->e.a.type == IBV_QPT_RC, ib_ud);
	if (op < 0) {
		tpm_violate(m, TPM_V_WQE_OPCODE, "QP", r->qp->qpn,
			    "WQE 0x%x: opcode 0x%02x, which QUERY_DEV_CAP does not offer", s->index, s->opcode);
		return IBV_WC_LOC_QP_OP_ERR;
	}
	w->opcode = (uint8_t)op;
	w->flags = (uint8_t)(((flags & MLX4_CTRL_SOLICITED) != 0 ? IBV_SEND_SOLICITED : 0) |
			     ((prm_get32(buf, 4) & MLX4_CTRL_FENCE) != 0 ? IBV_SEND_FENCE : 0));
	w->imm = prm_get32(buf, 12);
	if (op == TRE_WR_LOCAL)
		return read_local(&rd, w, s, flags);
	if (r->e.a.type == IBV_QPT_UD && !read_dgram(r, &rd, w, s))
		return IBV_WC_LOC_QP_OP_ERR;
	if (op != IBV_WR_SEND && op != IBV_WR_SEND_WITH_IMM && op != IBV_WR_SEND_WITH_INV && !read_remote(&rd, w))
		return IBV_WC_LOC_QP_OP_ERR;
	if (s->opcode == MLX4_OP_LSO)
		return read_lso(r, &rd, w, s);
	if (!read_data(&rd, w, s))
		return IBV_WC_LOC_QP_OP_ERR;
	flags &= MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM;
	return ib_ud && flags != 0 ? tpm_ipoib_checksum(r, w, s, flags) : IBV_WC_SUCCESS;
}

/* A request that cannot be sent goes through the engine as one that stays here: those before it end first. */
static void
fail_later(struct tre_wqe *w, struct tpm_roce_slot *s, enum ibv_wc_status status)
{
	s->status = status;
	if (status != IBV_WC_SUCCESS)
		w->opcode = TRE_WR_LOCAL;
}

void
tpm_roce_fetch(struct tp_model *m, struct tpm_roce *r, uint32_t head, uint32_t *strides)
{
	struct tre_wqe *w = tre_sq_slot(&r->e);
	struct tpm_roce_slot *s = &r->slot[w - r->sq];

	fail_later(w, s, read_wqe(m, r, w, s, head, strides));
}

void
tpm_roce_segment(struct tpm_roce *r)
{
	struct tre_wqe *w = tre_sq_slot(&r->e);
	struct tpm_roce_slot *s = &r->slot[w - r->sq];

	fail_later(w, s, tpm_ipoib_segment(r, w, s));
}

void
tpm_roce_list(struct tpm_roce *r, const uint8_t *w, unsigned int n)
{
	uint64_t len = 0;
	unsigned int i;

	for (i = 0; i < n && i < TPM_MAX_RQ_SGE; i++, w += MLX4_DS_SIZE) {
		uint32_t count = prm_get32(w, 0), key = prm_get32(w, 4);

		if (key == MLX4_LKEY_INVALID && count == 0)
			break;
		/* An element of nothing is written with the inline bit [DP 3.6] */
		count &= MLX4_DATA_LEN_MASK;
		r->rq_sge[i] = (struct tre_sge){.addr = prm_get64(w, 8), .len = count, .lkey = key};
		len += count;
	}
	r->rwqe.sge = r->rq_sge;
	r->rwqe.num_sge = (uint16_t)i;
	r->rwqe.len = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
}
