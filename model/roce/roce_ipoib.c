/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What the card does to datagrams that carry IP [DP 3.1, 3.5, 6.3]: checksums are put in and checked, a large send is cut. A
 * datagram begins with four bytes, the type and zero; an Ethernet header in their place lets the Ethernet side's code do it.
 */
#include <stdlib.h>

#include "model/port/port.h"
#include "roce.h"

#define ENCAP 4u
#define AT (TPM_ETH_HLEN - ENCAP) /* where the datagram begins, so that IP stands behind an Ethernet header */
#define STAGE (TPM_ROCE_PACKET + TPM_ETH_HLEN)

/* Memory of a slot to build a datagram in; NULL: there is none. */
static uint8_t *
stage(struct tpm_roce *r, const struct tpm_roce_slot *s)
{
	if (r->stage == NULL)
		r->stage = calloc(TPM_ROCE_SLOTS, STAGE);
	return r->stage == NULL ? NULL : r->stage + (size_t)(s - r->slot) * STAGE;
}

/* len bytes from off of a request's data. */
static bool
fetch(struct tpm_roce *r, const struct tre_wqe *w, uint32_t off, uint32_t len, uint8_t *to)
{
	struct iovec iov[TRE_MAX_IOV];
	int n;

	if (w->inline_data != NULL) {
		memcpy(to, w->inline_data + off, len);
		return true;
	}
	n = len == 0 ? 0 : tpm_roce_gather(&r->e, w, off, len, iov);
	for (int i = 0; i < n; i++) {
		memcpy(to, iov[i].iov_base, iov[i].iov_len);
		to += iov[i].iov_len;
	}
	return n >= 0;
}

/* The datagram at b + AT as a frame at b, and back. */
static uint16_t
as_frame(uint8_t *b)
{
	uint16_t type = tpm_load16(b + AT);

	memset(b, 0, TPM_ETH_HLEN);
	tpm_store16(b + TPM_ETH_HLEN - 2, type);
	return type;
}

static void
as_datagram(uint8_t *b, uint16_t type)
{
	tpm_store16(b + AT, type);
	tpm_store16(b + AT + 2, 0);
}

static void
checksum(uint8_t *b, uint32_t len, uint32_t flags)
{
	struct tp_frame_seg seg = {.data = b, .len = AT + len};
	struct tp_frame f = {.seg = &seg, .nseg = 1, .len = seg.len};

	tpm_csum_insert(&f, b, f.len < TPM_PARSE_MAX ? f.len : TPM_PARSE_MAX, flags);
}

enum ibv_wc_status
tpm_ipoib_checksum(struct tpm_roce *r, struct tre_wqe *w, struct tpm_roce_slot *s, uint32_t flags)
{
	uint8_t *b = stage(r, s);
	uint16_t type;

	if (b == NULL)
		return IBV_WC_LOC_QP_OP_ERR;
	/* Too long for a packet, or memory that it may not read: the transport says so. */
	if (w->len < ENCAP || w->len > r->e.a.mtu || !fetch(r, w, 0, w->len, b + AT))
		return IBV_WC_SUCCESS;
	type = as_frame(b);
	checksum(b, w->len, flags);
	as_datagram(b, type);
	w->inline_data = b + AT;
	w->num_sge = 0;
	return IBV_WC_SUCCESS;
}

/* A received datagram that is read as a frame. */
struct inside {
	uint8_t eth[TPM_ETH_HLEN], buf[TPM_PARSE_MAX];
	struct tp_frame_seg seg[2];
	struct tp_frame f;
	const uint8_t *h; /* the first hlen octets of the frame */
	uint32_t hlen;
	struct tpm_pkt k;
};

/* False: it does not carry IP. */
static bool
open_inside(struct inside *in, const uint8_t *d, uint32_t len)
{
	uint16_t type = len > ENCAP ? tpm_load16(d) : 0;

	if ((type != TPM_ETYPE_IPV4 && type != TPM_ETYPE_IPV6) || tpm_load16(d + 2) != 0)
		return false;
	memset(in->eth, 0, sizeof(in->eth));
	tpm_store16(in->eth + TPM_ETH_HLEN - 2, type);
	in->seg[0] = (struct tp_frame_seg){.data = in->eth, .len = sizeof(in->eth)};
	in->seg[1] = (struct tp_frame_seg){.data = d + ENCAP, .len = len - ENCAP};
	in->f = (struct tp_frame){.seg = in->seg, .nseg = 2, .len = TPM_ETH_HLEN + len - ENCAP};
	in->h = tpm_frame_head(&in->f, in->buf, &in->hlen);
	tpm_parse(in->h, in->hlen, in->f.len, &in->k);
	return true;
}

uint32_t
tpm_ipoib_status(const uint8_t *d, uint32_t len, uint16_t *csum)
{
	uint32_t status, enc = 0;
	struct inside in;

	*csum = 0;
	if (!open_inside(&in, d, len))
		return 0;
	status = in.k.status;
	if (tpm_csum_ip_good(&in.f, in.h, &in.k))
		status |= MLX4_CQE_ST_IP_OK;
	if (tpm_csum_l4_good(&in.f, in.h, &in.k)) {
		enc = MLX4_CQE_L4_OK;
		*csum = MLX4_CQE_CSUM_OK;
	}
	return status << 16 | (uint32_t)in.k.ext << 8 | enc;
}

uint32_t
tpm_ipoib_ring(const struct tp_model *m, const struct tpm_qp *parent, const uint8_t *d, uint32_t len)
{
	struct inside in;
	uint32_t hash;

	return open_inside(&in, d, len) ? tpm_rss_select(m, parent, in.h, &in.k, &hash) : parent->rss.default_qpn;
}

enum ibv_wc_status
tpm_ipoib_lso(struct tpm_roce *r, struct tre_wqe *w, struct tpm_roce_slot *s, const struct tpm_roce_lso *l)
{
	uint8_t frame[AT + MLX4_SEND_WQE_MAX] = {0};
	struct tpm_pkt k;

	if (l->mss == 0 || l->hlen <= ENCAP || l->hlen > MLX4_SEND_WQE_MAX || w->len == 0 || w->inline_data != NULL)
		return IBV_WC_LOC_QP_OP_ERR;
	r->lso = *l;
	r->lso.data = *w;
	r->lso.slot = *s;
	r->lso.data.sge = r->lso.slot.sge;
	memcpy(frame + AT, l->hdr, l->hlen);
	as_frame(frame);
	/* The template's lengths need not mean anything yet. */
	tpm_parse(frame, AT + l->hlen, AT + l->hlen, &k);
	if (k.l3 == 0 || (k.etype != TPM_ETYPE_IPV4 && k.etype != TPM_ETYPE_IPV6))
		return IBV_WC_LOC_QP_OP_ERR;
	tpm_store16(frame + k.l3 + (k.etype == TPM_ETYPE_IPV4 ? 2 : 4),
		    (uint16_t)(AT + l->hlen - k.l3 - (k.etype == TPM_ETYPE_IPV4 ? 0 : 40)));
	tpm_parse(frame, AT + l->hlen, AT + l->hlen, &k);
	if ((k.status & MLX4_CQE_ST_TCP) == 0)
		return IBV_WC_LOC_QP_OP_ERR;
	r->lso.k = k;
	memcpy(r->lso.hdr, frame + AT, l->hlen);
	tpm_store16(r->lso.hdr, k.etype);
	tpm_store16(r->lso.hdr + 2, 0);
	r->lso.active = true;
	return tpm_ipoib_segment(r, w, s);
}

/* Nothing of it follows. */
static enum ibv_wc_status
stop(struct tpm_roce_lso *l, enum ibv_wc_status why)
{
	l->active = false;
	return why;
}

enum ibv_wc_status
tpm_ipoib_segment(struct tpm_roce *r, struct tre_wqe *w, struct tpm_roce_slot *s)
{
	struct tpm_roce_lso *l = &r->lso;
	uint32_t left = l->data.len - l->off, len = left < l->mss ? left : l->mss;
	bool last = len == left;
	uint8_t *b = stage(r, s);
	uint16_t type;

	*w = l->data;
	s->path = l->slot.path;
	s->index = l->slot.index;
	s->opcode = l->slot.opcode;
	s->signaled = last && l->slot.signaled;
	w->av = &s->path;
	l->active = !last;
	if (b == NULL)
		return stop(l, IBV_WC_LOC_QP_OP_ERR);
	if (l->hlen + len > r->e.a.mtu)
		return stop(l, IBV_WC_LOC_LEN_ERR);
	if (!fetch(r, &l->data, l->off, len, b + AT + l->hlen))
		return stop(l, IBV_WC_LOC_PROT_ERR);
	memcpy(b + AT, l->hdr, l->hlen);
	type = as_frame(b);
	tpm_lso_header(b, &l->k, AT + l->hlen, l->off, len, l->index, last);
	checksum(b, l->hlen + len, MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM);
	as_datagram(b, type);
	w->inline_data = b + AT;
	w->num_sge = 0;
	w->len = l->hlen + len;
	l->off += len;
	l->index++;
	return IBV_WC_SUCCESS;
}
