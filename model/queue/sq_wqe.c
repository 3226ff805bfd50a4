/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * One send WQE of any form, with every check [DP 3]. It is copied out of the ring first: software may scribble on it
 * at any moment, and it may wrap round the ring's end.
 */
#include <stdarg.h>
#include <stdio.h>

#include "model/event/event.h"
#include "model/port/port.h"
#include "queue.h"

#define DW0_TUNNEL (MLX4_CTRL_IIP | MLX4_CTRL_ILP)
#define DW0_RSVD (~(MLX4_CTRL_OWN | DW0_TUNNEL | MLX4_CTRL_RR | MLX4_CTRL_OPCODE_MASK | 0x00ffff00u))
#define DW0_INDEX(dw0) ((dw0) >> MLX4_CTRL_BF_INDEX_SHIFT & 0xffffu)
#define DW1_RSVD 0x00003f80u
#define DW2_RSVD 0x000000c0u
#define TAGS (MLX4_CTRL_INS_CVLAN | MLX4_CTRL_INS_SVLAN)

struct wqe {
	uint8_t b[MLX4_SEND_WQE_MAX] __attribute__((aligned(64)));
	uint32_t ds, dw0, dw1, dw2, imm;
	uint8_t opcode;
	bool bf_form; /* dword 1 carries the QPN */
};

bool
tpm_wqe_end(struct tpm_tx *t, uint32_t head, uint8_t syndrome)
{
	struct tpm_qp *qp = t->qp;

	/* What was gathered before it is good and goes out first. */
	qp->sq_head = head;
	tpm_tx_flush(t);
	if (qp->state != MLX4_QP_RTS)
		return false;
	if (tpm_cqe_error(t->m, qp->scq, qp->qpn, (uint16_t)head, syndrome, true)) {
		uint32_t strides = t->fail_strides;

		tpm_cq_notify(t->m, qp->scq, true);
		qp->sq_head = head + strides;
	}
	tpm_qp_to_error(t->m, qp);
	if (syndrome == MLX4_SYND_LOCAL_QP_OP)
		tpm_event_qp(t->m, MLX4_EVENT_WQ_CATAS, qp->qpn);
	return false;
}

bool
tpm_wqe_fail(struct tpm_tx *t, uint32_t head, uint8_t syndrome, enum tpm_violation v, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tpm_violate(t->m, v, "QP", t->qp->qpn, "WQE 0x%x: %s", head & 0xffff, text);
	return tpm_wqe_end(t, head, syndrome);
}

/* --- reading and checking --------------------------------------------------------------------------------- */

static bool
wqe_fetch(struct tpm_tx *t, uint32_t head, struct wqe *w, uint32_t *strides)
{
	struct tpm_qp *qp = t->qp;
	uint32_t ring = (qp->sq_mask + 1) << qp->sq_lg_stride, at = (head & qp->sq_mask) << qp->sq_lg_stride, len,
		 stride = 1u << qp->sq_lg_stride;
	const uint8_t *c = tpm_ring_at(&qp->ring, qp->sq_off + at);

	t->fail_strides = 1;
	w->ds = prm_get32(c, 4) & MLX4_CTRL_DS_MASK;
	len = w->ds * MLX4_DS_SIZE;
	*strides = (len + stride - 1) >> qp->sq_lg_stride;
	if (w->ds == 0 || len > ring || (stride > MLX4_TXBB_SIZE && len > stride)) {
		tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_SIZE, "%u units of 16 bytes, wanted 1..%u",
			     w->ds, (stride > MLX4_TXBB_SIZE ? stride : ring) / MLX4_DS_SIZE);
		return false;
	}
	t->fail_strides = *strides;
	for (uint32_t off = 0; off < len; off += MLX4_TXBB_SIZE) {
		uint32_t n = len - off < MLX4_TXBB_SIZE ? len - off : MLX4_TXBB_SIZE;

		memcpy(w->b + off, tpm_ring_at(&qp->ring, qp->sq_off + ((at + off) & (ring - 1))), n);
	}
	w->dw0 = prm_get32(w->b, 0);
	w->dw1 = prm_get32(w->b, 4);
	w->dw2 = prm_get32(w->b, 8);
	w->imm = prm_get32(w->b, 12);
	w->opcode = w->dw0 & MLX4_CTRL_OPCODE_MASK;
	w->bf_form = w->dw1 >> 8 == qp->qpn;
	/* Linux's driver says of each TCP or UDP frame in a tunnel what is inside, also where it made the sums itself. */
	if (!t->p->tunnels && w->opcode == MLX4_OP_SEND && (w->dw2 & (MLX4_CTRL_L4_CSUM | MLX4_CTRL_IP_CSUM)) == 0)
		w->dw0 &= ~DW0_TUNNEL;
	return true;
}

static bool
wqe_check(struct tpm_tx *t, uint32_t head, const struct wqe *w)
{
	uint32_t c = w->dw2 & MLX4_CTRL_CQE_MASK, index = DW0_INDEX(w->dw0);

	if (w->opcode != MLX4_OP_SEND && w->opcode != MLX4_OP_LSO && w->opcode != MLX4_OP_NOP)
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_OPCODE,
				    "opcode 0x%02x, wanted 0x0a, 0x0e or 0x00 on an Ethernet QP", w->opcode);
	if ((w->dw0 & DW0_RSVD) != 0 || (index != 0 && (!w->bf_form || index != (head & 0xffff))))
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_RSVD,
				    "control dword 0 is 0x%08x, wanted reserved bits 0x%08x and the index 0", w->dw0,
				    (uint32_t)DW0_RSVD);
	if ((w->dw0 & DW0_TUNNEL) != 0 && !t->p->tunnels)
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_RSVD,
				    "control dword 0 is 0x%08x: sums inside a tunnel on a port without SET_PORT VXLAN",
				    w->dw0);
	if (!w->bf_form && (w->dw1 & DW1_RSVD) != 0)
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_RSVD,
				    "control dword 1 is 0x%08x, wanted bits 0x%08x to be 0", w->dw1, DW1_RSVD);
	if ((w->dw2 & DW2_RSVD) != 0 || (w->opcode != MLX4_OP_NOP && (w->dw2 & MLX4_CTRL_NO_ICRC) == 0))
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_RSVD,
				    "control dword 2 is 0x%08x, wanted bits 0x%08x to be 0 and bit 1 to be 1", w->dw2,
				    DW2_RSVD);
	if (c != 0 && c != MLX4_CTRL_CQE)
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_CQE, "completion field %u, wanted 0 or 3",
				    c >> 2);
	if (w->opcode != MLX4_OP_LSO && (w->dw0 & MLX4_CTRL_RR) != 0)
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_RSVD,
				    "control dword 0 is 0x%08x, wanted bit 6 to be 0 without LSO", w->dw0);
	if (w->bf_form && (t->qp->qpn & MLX4_QPN_BF_CLEAR) != 0)
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_VLAN_BF,
				    "BlueFlame form on QPN 0x%x, wanted bits 7:6 to be 0", t->qp->qpn);
	return true;
}

/* --- data ------------------------------------------------------------------------------------------------- */

bool
tpm_wqe_gather(struct tpm_tx *t, uint32_t head, unsigned int index, const uint8_t *s, struct tp_frame_seg *out,
	       unsigned int max, unsigned int *n, uint32_t *len)
{
	uint32_t count = prm_get32(s, 0), key = prm_get32(s, 4);
	uint64_t va = prm_get64(s, 8);

	if (count == 0)
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_PROT, TPM_V_WQE_ZERO_LEN, "data segment %u has 0 bytes",
				    index);
	if (*len + count > 1u << TPM_LG_MAX_GSO || *len + count < count)
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_LENGTH, TPM_V_WQE_LENGTH,
				    "%u bytes up to data segment %u, wanted at most %u", *len + count, index,
				    1u << TPM_LG_MAX_GSO);
	*len += count;
	while (count != 0) {
		uint32_t part = count;
		enum tpm_xlat_err err;
		uint8_t *p = tpm_mr_translate(t->m, &t->qp->tlb, key, t->qp->pd, va, &part, TPM_ACC_LR, &err);

		if (p == NULL)
			return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_PROT, tpm_xlat_violation(err),
					    "data segment %u: key 0x%x, address 0x%llx, %u bytes: %s", index, key,
					    (unsigned long long)va, count, tpm_xlat_text(err));
		if (*n == max)
			return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_LENGTH, TPM_V_WQE_LENGTH,
					    "more than %u pieces of memory", max);
		out[(*n)++] = (struct tp_frame_seg){.data = p, .len = part};
		va += part;
		count -= part;
	}
	return true;
}

/* An inline segment at byte off of the WQE; *next: where the following segment begins. */
static bool
wqe_inline(struct tpm_tx *t, uint32_t head, const uint8_t *w, uint32_t ds, uint32_t off, struct tp_frame_seg *out,
	   unsigned int max, unsigned int *n, uint32_t *len, uint32_t *next)
{
	uint32_t dw = prm_get32(w, off), count = dw & MLX4_INLINE_LEN_MASK, end = off + 4 + count;
	uint8_t *p;

	*next = (end + MLX4_DS_SIZE - 1) & ~(MLX4_DS_SIZE - 1);
	if ((dw & ~(MLX4_DATA_INLINE | MLX4_INLINE_LEN_MASK)) != 0 || end > ds * MLX4_DS_SIZE ||
	    (count != 0 && off % MLX4_TXBB_SIZE + 4 + count > MLX4_TXBB_SIZE))
		return tpm_wqe_fail(
			t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_INLINE,
			"inline segment 0x%08x at byte %u, wanted it to end in its 64-byte block and at byte %u "
			"at most",
			dw, off, ds * MLX4_DS_SIZE);
	if (count == 0)
		return true;
	if (*n == max)
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_LENGTH, TPM_V_WQE_LENGTH, "more than %u pieces of memory",
				    max);
	p = tpm_tx_arena(t, count);
	memcpy(p, w + off + 4, count);
	out[(*n)++] = (struct tp_frame_seg){.data = p, .len = count};
	*len += count;
	return true;
}

bool
tpm_wqe_pieces(struct tpm_tx *t, uint32_t head, const uint8_t *w, uint32_t ds, struct tp_frame_seg *out,
	       unsigned int max, unsigned int *n, uint32_t *len)
{
	uint32_t off = MLX4_DS_SIZE, next, end = ds * MLX4_DS_SIZE;
	bool all_inline = true;

	for (unsigned int i = 0; off < end; i++, off = next) {
		if ((prm_get32(w, off) & MLX4_DATA_INLINE) != 0) {
			if (!wqe_inline(t, head, w, ds, off, out, max, n, len, &next))
				return false;
			continue;
		}
		all_inline = false;
		next = off + MLX4_DS_SIZE;
		if (!tpm_wqe_gather(t, head, i, w + off, out, max, n, len))
			return false;
	}
	if (all_inline && *len < MLX4_INLINE_MIN)
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_LENGTH, TPM_V_WQE_INLINE_MIN,
				    "an inline frame of %u bytes, wanted %u at least", *len, MLX4_INLINE_MIN);
	return true;
}

/* --- a frame ---------------------------------------------------------------------------------------------- */

/* Rebuilds the frame's beginning in the arena, with the tag that the WQE asks for. */
static void
frame_own_head(struct tpm_tx *t, struct tp_frame *f, const struct wqe *w, bool tag)
{
	uint32_t hlen = f->len < TPM_PARSE_MAX ? f->len : TPM_PARSE_MAX, skip = hlen, add = tag ? TPM_VLAN_HLEN : 0;
	uint8_t *h = tpm_tx_arena(t, hlen + add);
	struct tp_frame_seg *seg = f->seg, rest[TP_FRAME_SEGS];
	unsigned int n = 0;

	tpm_frame_copy(f, 0, h, 2 * TPM_ETH_ALEN);
	tpm_frame_copy(f, 2 * TPM_ETH_ALEN, h + 2 * TPM_ETH_ALEN + add, hlen - 2 * TPM_ETH_ALEN);
	if (tag) {
		tpm_store16(h + 12, (w->dw1 & MLX4_CTRL_INS_SVLAN) != 0 ? TPM_ETYPE_SVLAN : TPM_ETYPE_CVLAN);
		tpm_store16(h + 14, (uint16_t)(w->dw1 >> MLX4_CTRL_VLAN_SHIFT));
	}
	for (unsigned int i = 0; i < f->nseg; i++) {
		uint32_t cut = skip < seg[i].len ? skip : seg[i].len;

		skip -= cut;
		if (cut != seg[i].len)
			rest[n++] = (struct tp_frame_seg){.data = seg[i].data + cut, .len = seg[i].len - cut};
	}
	seg[0] = (struct tp_frame_seg){.data = h, .len = hlen + add};
	memcpy(seg + 1, rest, n * sizeof(rest[0]));
	f->nseg = (uint16_t)(n + 1);
	f->len += add;
}

static void
frame_pad(struct tp_frame *f)
{
	static const uint8_t zeros[TPM_ETH_ZLEN];

	if (f->len >= TPM_ETH_ZLEN)
		return;
	f->seg[f->nseg++] = (struct tp_frame_seg){.data = zeros, .len = TPM_ETH_ZLEN - f->len};
	f->len = TPM_ETH_ZLEN;
}

static void
frame_csum(struct tpm_tx *t, uint32_t head, struct tp_frame *f, const struct wqe *w)
{
	uint8_t *h = t->arena + (f->seg[0].data - t->arena);
	uint32_t len = f->seg[0].len;

	if ((w->dw0 & DW0_TUNNEL) != 0 ? !tpm_tunnel_insert(t->m, t->p, f, h, len, w->dw0, w->dw2)
				       : !tpm_csum_insert(f, h, len, w->dw2)) {
		tpm_violate(t->m, TPM_V_WQE_CSUM, "QP", t->qp->qpn,
			    "WQE 0x%x: flags 0x%x%s, but the frame (type 0x%04x, %u bytes) has no such checksum",
			    head & 0xffff, w->dw2 & (MLX4_CTRL_L4_CSUM | MLX4_CTRL_IP_CSUM),
			    (w->dw0 & DW0_TUNNEL) != 0 ? " in a tunnel" : "", tpm_load16(h + 2 * TPM_ETH_ALEN), f->len);
		return;
	}
	if ((w->dw2 & MLX4_CTRL_IP_CSUM) != 0)
		f->flags |= TPM_FRAME_IP_OK;
	if ((w->dw2 & MLX4_CTRL_L4_CSUM) != 0)
		f->flags |= TPM_FRAME_L4_OK;
	tpm_csum_count(t->p, w->dw2);
}

/*
 * Does the frame stay inside the card [DP 8.7]? The sender says so, or gives its destination address and a rule of
 * the port has it. Group addresses go both ways.
 */
static bool
frame_loops(struct tpm_tx *t, const struct tp_frame *f, uint32_t dw2, uint32_t imm, bool *only)
{
	uint8_t buf[TPM_PARSE_MAX], mac[TPM_ETH_ALEN];
	struct tpm_steer_hit hit;
	struct tpm_pkt k;
	uint32_t hlen;
	const uint8_t *h;

	*only = (dw2 & MLX4_CTRL_FL) != 0;
	if (*only)
		return true;
	if (dw2 >> 16 == 0 && imm == 0)
		return false;
	tpm_store16(mac, (uint16_t)(dw2 >> 16));
	prm_set32(mac + 2, 0, imm);
	h = tpm_frame_head(f, buf, &hlen);
	if (memcmp(mac, h, TPM_ETH_ALEN) != 0)
		return false;
	tpm_parse(h, hlen, f->len, &k);
	tpm_steer_lookup(t->p, h, hlen, &k, &hit);
	*only = (h[0] & 1) == 0;
	return hit.by_rule && (*only || hit.allow_lb);
}

void
tpm_tx_frame(struct tpm_tx *t, const struct tp_frame *f, uint32_t dw2, uint32_t imm)
{
	bool only;

	if (frame_loops(t, f, dw2, imm, &only)) {
		struct tp_frame in = *f;

		in.flags |= TPM_FRAME_LOOP;
		tpm_port_count_loop(t->p, &in);
		t->m->port_ops->deliver(t->m, t->p, &in, 1, t->qp);
		if (only)
			return;
	}
	t->nseg += f->nseg;
	t->bytes += f->len;
	t->f[t->n++] = *f;
}

static bool
send_frame(struct tpm_tx *t, uint32_t head, const struct wqe *w)
{
	struct tp_frame f = {.seg = &t->seg[t->nseg]};
	bool tag = !w->bf_form && (w->dw1 & TAGS) != 0;
	bool csum = (w->dw2 & (MLX4_CTRL_L4_CSUM | MLX4_CTRL_IP_CSUM)) != 0 || (w->dw0 & DW0_TUNNEL) != 0;
	unsigned int n = 0;

	if (!tpm_wqe_pieces(t, head, w->b, w->ds, f.seg, TP_FRAME_SEGS - 2, &n, &f.len))
		return false;
	if (f.len < TPM_ETH_HLEN || f.len + (tag ? TPM_VLAN_HLEN : 0) + TPM_FCS_LEN > t->p->max_frame)
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_LENGTH, TPM_V_WQE_LENGTH,
				    "a frame of %u bytes%s, wanted %u..%u", f.len, tag ? " and a tag" : "",
				    TPM_ETH_HLEN, t->p->max_frame - TPM_FCS_LEN);
	f.nseg = (uint16_t)n;
	if (tag || csum)
		frame_own_head(t, &f, w, tag);
	if (csum)
		frame_csum(t, head, &f, w);
	frame_pad(&f);
	tpm_tx_frame(t, &f, w->dw2, w->imm);
	return true;
}

bool
tpm_wqe_execute(struct tpm_tx *t, uint32_t head, uint32_t *strides)
{
	struct wqe w;
	bool done = true;

	if (!wqe_fetch(t, head, &w, strides))
		return false;
	if (t->qp->eth && !wqe_check(t, head, &w))
		return false;
	if (!t->qp->eth)
		done = t->qp->ops->wqe(t, w.b, w.ds, head);
	else if (w.opcode == MLX4_OP_SEND)
		done = send_frame(t, head, &w);
	else if (w.opcode == MLX4_OP_LSO)
		done = tpm_wqe_lso(t, w.b, w.ds, head);
	if (!done || t->qp->state != MLX4_QP_RTS)
		return false;
	if ((w.dw2 & MLX4_CTRL_CQE_MASK) != 0) {
		t->cqe[t->ncqe].index = (uint16_t)head;
		t->cqe[t->ncqe++].opcode = w.opcode;
	}
	return true;
}
