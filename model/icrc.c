/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The invariant CRC of RoCE packets: what routers may change counts as ones (IBTA volume 1, annexes A16 and A17). */
#include "datapath.h"

#define ETYPE_ROCE 0x8915u
#define GRH_HLEN 40u
#define IPV4_HLEN 20u
#define IPV6_HLEN 40u
#define UDP_HLEN 8u
#define BTH_HLEN 12u
#define BTH_CONGESTION 4u /* the byte with FECN and BECN */
#define LRH_HLEN 8u
/* Ethernet, a tag, the longest network header, UDP, BTH */
#define HEAD_MAX (TPM_ETH_HLEN + TPM_VLAN_HLEN + GRH_HLEN + UDP_HLEN + BTH_HLEN)

/* Traffic class, flow label and hop limit. */
static void
mask_ipv6(uint8_t *ip)
{
	ip[0] |= 0x0f;
	ip[1] = ip[2] = ip[3] = 0xff;
	ip[7] = 0xff;
}

static void
mask_udp(uint8_t *udp)
{
	udp[6] = udp[7] = 0xff;
}

/* Masks the headers from h + l3 on; where the BTH begins, or 0 when this is no RoCE packet. */
static uint32_t
mask_headers(uint8_t *h, uint32_t l3, uint16_t etype)
{
	uint8_t *ip = h + l3;

	switch (etype) {
	case ETYPE_ROCE: mask_ipv6(ip); return l3 + GRH_HLEN;
	case TPM_ETYPE_IPV4:
		if (ip[0] != 0x45 || ip[9] != TPM_PROTO_UDP)
			return 0;
		ip[1] = ip[8] = ip[10] = ip[11] = 0xff; /* TOS, TTL, checksum */
		mask_udp(ip + IPV4_HLEN);
		return l3 + IPV4_HLEN + UDP_HLEN;
	case TPM_ETYPE_IPV6:
		if (ip[6] != TPM_PROTO_UDP)
			return 0;
		mask_ipv6(ip);
		mask_udp(ip + IPV6_HLEN);
		return l3 + IPV6_HLEN + UDP_HLEN;
	default: return 0;
	}
}

static uint32_t
crc_from(uint32_t crc, const struct tp_frame *f, uint32_t off, uint32_t end)
{
	uint32_t at = 0;

	for (unsigned int i = 0; i < f->nseg && at < end; at += f->seg[i++].len) {
		uint32_t lo = off > at ? off - at : 0, hi = end - at < f->seg[i].len ? end - at : f->seg[i].len;

		if (lo < hi)
			crc = tpm_crc32(crc, f->seg[i].data + lo, hi - lo);
	}
	return crc;
}

bool
tpm_icrc(const struct tp_frame *f, uint8_t icrc[TPM_ICRC_LEN])
{
	uint8_t h[HEAD_MAX] = {0}, ones[LRH_HLEN];
	uint32_t l3 = TPM_ETH_HLEN, end, hlen, bth, crc;
	uint16_t etype;
	rte_le32_t wire;

	if (f->len < TPM_ETH_HLEN + IPV4_HLEN + UDP_HLEN + BTH_HLEN + TPM_ICRC_LEN)
		return false;
	end = f->len - TPM_ICRC_LEN;
	hlen = end < HEAD_MAX ? end : HEAD_MAX;
	tpm_frame_copy(f, 0, h, hlen);
	etype = tpm_load16(h + 2 * TPM_ETH_ALEN);
	if (etype == TPM_ETYPE_CVLAN) {
		l3 += TPM_VLAN_HLEN;
		etype = tpm_load16(h + 2 * TPM_ETH_ALEN + TPM_VLAN_HLEN);
	}
	bth = mask_headers(h, l3, etype);
	if (bth == 0 || bth + BTH_HLEN > hlen)
		return false;
	h[bth + BTH_CONGESTION] = 0xff;
	memset(ones, 0xff, sizeof(ones));
	crc = tpm_crc32(tpm_crc32(0, ones, sizeof(ones)), h + l3, hlen - l3);
	wire = rte_cpu_to_le_32(crc_from(crc, f, hlen, end));
	memcpy(icrc, &wire, TPM_ICRC_LEN);
	return true;
}
