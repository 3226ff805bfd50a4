/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What the card's parser sees inside a tunnel: VXLAN at the UDP port of CONFIG_DEV, and by the names of the card's features, not
 * by any published layout [U], NVGRE and IP in IP. Ports look only while SET_PORT says so [DP 8.4, 8.5].
 */
#include "frame.h"

#define UDP_HLEN 8u
#define VXLAN_HLEN 8u
#define VXLAN_F_VNI 0x08u /* the only flag without an extension */
#define GRE_HLEN 8u       /* with a key, without anything else */
#define GRE_KEY 0x2000u
#define GRE_ETHERNET 0x6558u
#define PROTO_IPIP 4u
#define PROTO_IPV6 41u
#define PROTO_GRE 47u
/* Where the UDP destination port lies behind IP headers without options, untagged. */
#define PORT_AT_V4 36u
#define PORT_AT_V6 56u

/* Where the inner Ethernet header begins, 0: nowhere. */
static uint32_t
vxlan_inner(const struct tp_model *m, const uint8_t *h, uint32_t hlen, const struct tpm_pkt *k)
{
	uint32_t at = k->l4 + UDP_HLEN;

	if ((k->status & MLX4_CQE_ST_UDP) == 0 || m->vxlan_port == 0 || tpm_load16(h + k->l4 + 2) != m->vxlan_port ||
	    at + VXLAN_HLEN > hlen || (h[at] & VXLAN_F_VNI) == 0)
		return 0;
	return at + VXLAN_HLEN;
}

static uint32_t
nvgre_inner(const uint8_t *h, uint32_t hlen, const struct tpm_pkt *k)
{
	if (k->l4 + GRE_HLEN > hlen || tpm_load16(h + k->l4) != GRE_KEY || tpm_load16(h + k->l4 + 2) != GRE_ETHERNET)
		return 0;
	return k->l4 + GRE_HLEN;
}

enum tpm_tunnel
tpm_tunnel_parse(const struct tp_model *m, const struct tpm_port *p, const uint8_t *h, uint32_t hlen,
		 const struct tpm_pkt *outer, struct tpm_pkt *inner)
{
	uint32_t end = outer->l4 + outer->l4_len, off;
	enum tpm_tunnel kind = TPM_TUNNEL_NVGRE;

	if (!p->tunnels || !outer->len_ok || outer->frag)
		return TPM_TUNNEL_NONE;
	if (outer->proto == PROTO_IPIP || outer->proto == PROTO_IPV6) {
		*inner = (struct tpm_pkt){
			.etype = outer->proto == PROTO_IPIP ? TPM_ETYPE_IPV4 : TPM_ETYPE_IPV6,
			.l3 = outer->l4,
		};
		tpm_parse_ip(h, hlen, end, inner);
		return TPM_TUNNEL_IPIP;
	}
	off = outer->proto == PROTO_GRE ? nvgre_inner(h, hlen, outer) : 0;
	if (outer->proto == TPM_PROTO_UDP) {
		off = vxlan_inner(m, h, hlen, outer);
		kind = TPM_TUNNEL_VXLAN;
	}
	if (off == 0 || off + TPM_ETH_HLEN > hlen || off + TPM_ETH_HLEN > end)
		return TPM_TUNNEL_NONE;
	tpm_parse(h + off, hlen - off, end - off, inner);
	/* Offsets count from the beginning of the frame. */
	if (inner->l3 != 0)
		inner->l3 = (uint16_t)(inner->l3 + off);
	if (inner->l4 != 0)
		inner->l4 = (uint16_t)(inner->l4 + off);
	return kind;
}

bool
tpm_tunnel_maybe(const struct tp_model *m, const struct tp_frame *f)
{
	const uint8_t *d = f->seg[0].data, *ip = d + TPM_ETH_HLEN;

	if (f->len < PORT_AT_V6 + 2)
		return false;
	switch (tpm_load16(d + 2 * TPM_ETH_ALEN)) {
	case TPM_ETYPE_IPV4:
		if (ip[9] == TPM_PROTO_TCP)
			return false;
		return ip[9] != TPM_PROTO_UDP || ip[0] != 0x45 || tpm_load16(d + PORT_AT_V4) == m->vxlan_port;
	case TPM_ETYPE_IPV6:
		if (ip[6] == TPM_PROTO_TCP)
			return false;
		return ip[6] != TPM_PROTO_UDP || tpm_load16(d + PORT_AT_V6) == m->vxlan_port;
	default: return true;
	}
}

bool
tpm_tunnel_insert(const struct tp_model *m, const struct tpm_port *p, const struct tp_frame *f, uint8_t *hdr,
		  uint32_t hlen, uint32_t dw0, uint32_t ctrl_flags)
{
	struct tpm_pkt outer, inner;

	tpm_parse(hdr, hlen, f->len, &outer);
	/* The outer UDP checksum is software's, and a sum that the card would change later cannot be right. */
	if (tpm_tunnel_parse(m, p, hdr, hlen, &outer, &inner) == TPM_TUNNEL_NONE ||
	    (ctrl_flags & MLX4_CTRL_L4_CSUM) != 0)
		return false;
	if (!tpm_csum_insert_at(f, hdr, &inner, (dw0 & MLX4_CTRL_IIP) != 0, (dw0 & MLX4_CTRL_ILP) != 0))
		return false;
	return tpm_csum_insert_at(f, hdr, &outer, (ctrl_flags & MLX4_CTRL_IP_CSUM) != 0, false);
}

uint32_t
tpm_tunnel_status(const struct tp_frame *f, const uint8_t *hdr, const struct tpm_pkt *outer)
{
	uint32_t flags = MLX4_CQE_TUNNELED;
	bool udp = (outer->status & MLX4_CQE_ST_UDP) != 0;

	if (outer->etype == TPM_ETYPE_IPV4)
		flags |= MLX4_CQE_TUNNEL_IPV4;
	if (tpm_csum_ip_good(f, hdr, outer))
		flags |= MLX4_CQE_TUNNEL_IP_OK;
	/* A tunnel may leave its checksum out, which is not wrong. */
	if (udp && (tpm_load16(hdr + outer->l4 + 6) == 0 || tpm_csum_l4_good(f, hdr, outer)))
		flags |= MLX4_CQE_TUNNEL_UDP_OK;
	return flags;
}
