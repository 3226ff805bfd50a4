/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Large sends: one WQE, many TCP segments [DP 3.5, 8.6]. */
#include "queue.h"

#define LSO_AT MLX4_DS_SIZE /* the LSO segment follows the control segment */
#define LSO_PIECES (TP_FRAME_SEGS - 2u)

struct lso {
	uint8_t hdr[MLX4_SEND_WQE_MAX + TPM_VLAN_HLEN];
	struct tpm_pkt k, outer; /* k: whose payload is cut; outer: of the tunnel around it */
	bool tunnel;
	uint32_t mss, hlen, payload, dw0, flags, imm;
	struct tp_frame_seg piece[LSO_PIECES];
	unsigned int n;
	/* where the next segment begins */
	unsigned int at;
	uint32_t at_off;
};

/* The length that an IP header in the template has without payload; false: there is none. */
static bool
lso_length(struct lso *l, const struct tpm_pkt *k)
{
	uint8_t *ip = l->hdr + k->l3;

	if (k->l3 == 0 || k->l3 + 40u > l->hlen)
		return false;
	if (k->etype == TPM_ETYPE_IPV4)
		tpm_store16(ip + 2, (uint16_t)(l->hlen - k->l3));
	else if (k->etype == TPM_ETYPE_IPV6)
		tpm_store16(ip + 4, (uint16_t)(l->hlen - k->l3 - 40));
	else
		return false;
	return true;
}

/* Parses the template; its length fields need not mean anything yet. */
static bool
lso_template(const struct tpm_tx *t, struct lso *l)
{
	tpm_parse(l->hdr, l->hlen, l->hlen, &l->k);
	if (!lso_length(l, &l->k))
		return false;
	tpm_parse(l->hdr, l->hlen, l->hlen, &l->k);
	if (!l->tunnel)
		return (l->k.status & MLX4_CQE_ST_TCP) != 0;
	l->outer = l->k;
	if (tpm_tunnel_parse(t->m, t->p, l->hdr, l->hlen, &l->outer, &l->k) == TPM_TUNNEL_NONE || !lso_length(l, &l->k))
		return false;
	tpm_tunnel_parse(t->m, t->p, l->hdr, l->hlen, &l->outer, &l->k);
	return (l->k.status & MLX4_CQE_ST_TCP) != 0;
}

/* The template with the tag that the WQE asks for. */
static void
lso_tag(struct lso *l, uint32_t dw1)
{
	memmove(l->hdr + 16, l->hdr + 12, l->hlen - 12);
	tpm_store16(l->hdr + 12, (dw1 & MLX4_CTRL_INS_SVLAN) != 0 ? TPM_ETYPE_SVLAN : TPM_ETYPE_CVLAN);
	tpm_store16(l->hdr + 14, (uint16_t)(dw1 >> MLX4_CTRL_VLAN_SHIFT));
	l->hlen += TPM_VLAN_HLEN;
}

static bool
lso_read(struct tpm_tx *t, const uint8_t *w, uint32_t ds, uint32_t head, struct lso *l)
{
	uint32_t dw0 = prm_get32(w, 0), dw1 = prm_get32(w, 4), end = ds * MLX4_DS_SIZE, off, v;

	v = end >= LSO_AT + MLX4_DS_SIZE ? prm_get32(w, LSO_AT) : 0;
	l->mss = v >> MLX4_LSO_MSS_SHIFT;
	l->hlen = v & MLX4_LSO_HDR_MASK;
	off = LSO_AT + ((4 + l->hlen + MLX4_DS_SIZE - 1) & ~(MLX4_DS_SIZE - 1));
	if ((dw0 & MLX4_CTRL_RR) == 0 || l->mss == 0 || l->hlen == 0 || off + MLX4_DS_SIZE > end)
		return tpm_wqe_fail(
			t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_LSO,
			"LSO with control dword 0x%08x, MSS %u, %u bytes of headers, %u units: wanted bit 6, an "
			"MSS, headers and a data segment",
			dw0, l->mss, l->hlen, ds);
	memcpy(l->hdr, w + LSO_AT + 4, l->hlen);
	if (dw1 >> 8 != t->qp->qpn && (dw1 & (MLX4_CTRL_INS_CVLAN | MLX4_CTRL_INS_SVLAN)) != 0 &&
	    l->hlen >= TPM_ETH_HLEN)
		lso_tag(l, dw1);
	l->dw0 = dw0;
	l->tunnel = (dw0 & (MLX4_CTRL_IIP | MLX4_CTRL_ILP)) != 0;
	if (!lso_template(t, l))
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_LSO,
				    "the %u bytes of LSO headers are not Ethernet, IP and TCP%s", l->hlen,
				    l->tunnel ? " in a tunnel" : "");
	if (l->hlen + l->mss + TPM_FCS_LEN > t->p->max_frame)
		return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_LENGTH, TPM_V_WQE_LENGTH,
				    "segments of %u bytes of headers and %u of payload, wanted at most %u together",
				    l->hlen, l->mss, t->p->max_frame - TPM_FCS_LEN);
	for (unsigned int i = 0; off < end; i++, off += MLX4_DS_SIZE) {
		if ((prm_get32(w, off) & MLX4_DATA_INLINE) != 0)
			return tpm_wqe_fail(t, head, MLX4_SYND_LOCAL_QP_OP, TPM_V_WQE_LSO,
					    "segment %u behind the headers is inline, wanted data segments", i);
		if (!tpm_wqe_gather(t, head, i, w + off, l->piece, LSO_PIECES, &l->n, &l->payload))
			return false;
	}
	return true;
}

/* Appends len bytes of payload from where the last segment ended. */
static void
lso_payload(struct lso *l, struct tp_frame *f, uint32_t len)
{
	while (len != 0) {
		uint32_t left = l->piece[l->at].len - l->at_off, n = left < len ? left : len;

		f->seg[f->nseg++] = (struct tp_frame_seg){.data = l->piece[l->at].data + l->at_off, .len = n};
		len -= n;
		l->at_off += n;
		if (n == left) {
			l->at++;
			l->at_off = 0;
		}
	}
}

/* Checksums that the WQE asks for, of a segment whose first piece is h. */
static void
lso_csum(const struct tpm_tx *t, const struct lso *l, struct tp_frame *f, uint8_t *h)
{
	const bool ip = (l->flags & MLX4_CTRL_IP_CSUM) != 0, l4 = (l->flags & MLX4_CTRL_L4_CSUM) != 0;
	struct tpm_pkt k;

	if (l->tunnel) {
		if (tpm_tunnel_insert(t->m, t->p, f, h, l->hlen, l->dw0, l->flags))
			tpm_csum_count(t->p, l->flags);
		return;
	}
	/* As the template is parsed, but for the payload. */
	k = l->k;
	k.l4_len += f->len - l->hlen;
	if ((!ip && !l4) || !tpm_csum_insert_at(f, h, &k, ip, l4))
		return;
	f->flags |= ip ? TPM_FRAME_IP_OK : 0;
	f->flags |= l4 ? TPM_FRAME_L4_OK : 0;
	tpm_csum_count(t->p, l->flags);
}

static void
lso_segment(struct tpm_tx *t, struct lso *l, uint32_t off, uint32_t index)
{
	uint32_t left = l->payload - off, len = left < l->mss ? left : l->mss;
	struct tp_frame f = {.seg = &t->seg[t->nseg], .nseg = 1, .len = l->hlen + len};
	uint8_t *h = tpm_tx_arena(t, l->hlen);

	memcpy(h, l->hdr, l->hlen);
	if (l->tunnel)
		tpm_lso_lengths(h, &l->outer, l->hlen + len, index);
	tpm_lso_header(h, &l->k, l->hlen, off, len, index, left <= l->mss);
	f.seg[0] = (struct tp_frame_seg){.data = h, .len = l->hlen};
	lso_payload(l, &f, len);
	lso_csum(t, l, &f, h);
	tpm_tx_frame(t, &f, l->flags, l->imm);
}

bool
tpm_wqe_lso(struct tpm_tx *t, const uint8_t *w, uint32_t ds, uint32_t head)
{
	struct lso l;
	uint32_t index = 0;

	l.n = l.at = 0;
	l.at_off = l.payload = 0;
	l.flags = prm_get32(w, 8);
	l.imm = prm_get32(w, 12);
	if (!lso_read(t, w, ds, head, &l))
		return false;
	for (uint32_t off = 0; off < l.payload; off += l.mss, index++) {
		if (t->n == TPM_BURST || t->nseg + TP_FRAME_SEGS > TPM_TX_SEGS || t->used + l.hlen > TPM_TX_ARENA) {
			t->qp->sq_head = head;
			tpm_tx_flush(t);
			if (t->qp->state != MLX4_QP_RTS)
				return false;
		}
		lso_segment(t, &l, off, index);
	}
	return true;
}
