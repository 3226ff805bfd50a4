/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the card's parser sees in a frame: tags, IP, TCP and UDP [DP 6.3, 8.3, 8.4]. */
#include "frame.h"

#define IPV6_HLEN 40u
#define IPV6_EXT_MAX 8u
#define IP6_HOP 0u
#define IP6_ROUTING 43u
#define IP6_FRAG 44u
#define IP6_DEST 60u
#define SNAP_LEN 8u /* DSAP, SSAP, control, OUI, type */
#define LLC_LEN 3u
#define TCP_HLEN 20u
#define UDP_HLEN 8u

static void
parse_l4(uint32_t hlen, struct tpm_pkt *k)
{
	if (k->frag)
		return;
	if (k->proto == TPM_PROTO_TCP && k->l4_len >= TCP_HLEN && k->l4 + TCP_HLEN <= hlen)
		k->status |= MLX4_CQE_ST_TCP;
	else if (k->proto == TPM_PROTO_UDP && k->l4_len >= UDP_HLEN && k->l4 + UDP_HLEN <= hlen)
		k->status |= MLX4_CQE_ST_UDP;
}

static void
parse_ipv4(const uint8_t *h, uint32_t hlen, uint32_t len, struct tpm_pkt *k)
{
	const uint8_t *ip = h + k->l3;
	uint32_t ihl, total;

	k->status |= MLX4_CQE_ST_IPV4;
	if (k->l3 + 20u > hlen || ip[0] >> 4 != 4)
		return;
	ihl = (ip[0] & 15u) * 4u;
	total = tpm_load16(ip + 2);
	if (ihl < 20 || k->l3 + ihl > hlen || total < ihl || k->l3 + total > len)
		return;
	if (ihl > 20)
		k->status |= MLX4_CQE_ST_IPV4_OPT;
	/* More-fragments flag or an offset. */
	if ((tpm_load16(ip + 6) & 0x3fff) != 0) {
		k->frag = true;
		k->status |= MLX4_CQE_ST_IPV4_FRAG;
	}
	k->len_ok = true;
	k->proto = ip[9];
	k->l4 = (uint16_t)(k->l3 + ihl);
	k->l4_len = total - ihl;
	parse_l4(hlen, k);
}

static void
parse_ipv6(const uint8_t *h, uint32_t hlen, uint32_t len, struct tpm_pkt *k)
{
	const uint8_t *ip = h + k->l3;
	uint32_t off = k->l3 + IPV6_HLEN, left, elen;
	uint8_t next;

	k->status |= MLX4_CQE_ST_IPV6;
	if (off > hlen || ip[0] >> 4 != 6)
		return;
	left = tpm_load16(ip + 4);
	if (off + left > len)
		return;
	k->len_ok = true;
	next = ip[6];
	for (unsigned int i = 0; i < IPV6_EXT_MAX; i++) {
		if (next != IP6_HOP && next != IP6_ROUTING && next != IP6_DEST && next != IP6_FRAG)
			break;
		if (left < 8 || off + 8 > hlen)
			return;
		elen = next == IP6_FRAG ? 8u : 8u + h[off + 1] * 8u;
		if (next == IP6_FRAG) {
			k->ext |= MLX4_CQE_EXT_FRAG;
			k->frag = true;
		}
		if (elen > left || off + elen > hlen)
			return;
		next = h[off];
		off += elen;
		left -= elen;
	}
	k->proto = next;
	k->l4 = (uint16_t)off;
	k->l4_len = left;
	parse_l4(hlen, k);
}

void
tpm_parse_ip(const uint8_t *h, uint32_t hlen, uint32_t len, struct tpm_pkt *k)
{
	if (k->etype == TPM_ETYPE_IPV4)
		parse_ipv4(h, hlen, len, k);
	else if (k->etype == TPM_ETYPE_IPV6)
		parse_ipv6(h, hlen, len, k);
}

void
tpm_parse(const uint8_t *h, uint32_t hlen, uint32_t len, struct tpm_pkt *k)
{
	uint32_t off = 2 * TPM_ETH_ALEN;

	*k = (struct tpm_pkt){0};
	if (hlen < TPM_ETH_HLEN)
		return;
	k->etype = tpm_load16(h + off);
	while ((k->etype == TPM_ETYPE_CVLAN || k->etype == TPM_ETYPE_SVLAN) && k->tags < 2 &&
	       off + TPM_VLAN_HLEN + 2 <= hlen) {
		if (k->tags == 0 && k->etype == TPM_ETYPE_CVLAN) {
			k->cvlan = true;
			k->tci = tpm_load16(h + off + 2);
		}
		k->tags++;
		off += TPM_VLAN_HLEN;
		k->etype = tpm_load16(h + off);
	}
	off += 2;
	/* A length field: 802.2, perhaps with SNAP in which an Ethernet type follows. */
	if (k->etype < 0x600) {
		k->enc = MLX4_CQE_LLC;
		if (off + SNAP_LEN > hlen || h[off] != 0xaa || h[off + 1] != 0xaa || h[off + LLC_LEN - 1] != 3)
			return;
		k->enc = MLX4_CQE_LLC | MLX4_CQE_SNAP;
		k->etype = tpm_load16(h + off + SNAP_LEN - 2);
		off += SNAP_LEN;
	}
	k->l3 = (uint16_t)off;
	tpm_parse_ip(h, hlen, len, k);
}

void
tpm_frame_copy(const struct tp_frame *f, uint32_t off, uint8_t *dst, uint32_t len)
{
	for (unsigned int i = 0; i < f->nseg && len != 0; i++) {
		uint32_t n = f->seg[i].len;

		if (off >= n) {
			off -= n;
			continue;
		}
		n = n - off < len ? n - off : len;
		memcpy(dst, f->seg[i].data + off, n);
		dst += n;
		len -= n;
		off = 0;
	}
}

const uint8_t *
tpm_frame_head(const struct tp_frame *f, uint8_t buf[TPM_PARSE_MAX], uint32_t *hlen)
{
	*hlen = f->len < TPM_PARSE_MAX ? f->len : TPM_PARSE_MAX;
	if (f->seg[0].len >= *hlen)
		return f->seg[0].data;
	tpm_frame_copy(f, 0, buf, *hlen);
	return buf;
}
