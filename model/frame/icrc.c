/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The invariant CRC of packets that software built: which headers a frame has decides what counts as ones. */
#include "lib/roce/wire/icrc.h"
#include "frame.h"

#define GRH_HLEN 40u
#define IPV4_HLEN 20u
#define IPV6_HLEN 40u
#define UDP_HLEN 8u
#define BTH_HLEN 12u
/* Ethernet, a tag, the longest network header, UDP, BTH */
#define HEAD_MAX (TPM_ETH_HLEN + TPM_VLAN_HLEN + GRH_HLEN + UDP_HLEN + BTH_HLEN)

/* Bytes between layer 3 and the BTH, 0: no RoCE packet. */
static uint32_t
network(const uint8_t *l3, uint16_t etype, enum troce_icrc_net *kind)
{
	switch (etype) {
	case TPM_ETYPE_ROCE: *kind = TROCE_ICRC_GRH; return GRH_HLEN;
	case TPM_ETYPE_IPV4:
		*kind = TROCE_ICRC_IPV4_UDP;
		return l3[0] == 0x45 && l3[9] == TPM_PROTO_UDP ? IPV4_HLEN + UDP_HLEN : 0;
	case TPM_ETYPE_IPV6: *kind = TROCE_ICRC_IPV6_UDP; return l3[6] == TPM_PROTO_UDP ? IPV6_HLEN + UDP_HLEN : 0;
	default: return 0;
	}
}

static uint32_t
crc_from(uint32_t reg, const struct tp_frame *f, uint32_t off, uint32_t end)
{
	uint32_t at = 0;

	for (unsigned int i = 0; i < f->nseg && at < end; at += f->seg[i++].len) {
		uint32_t lo = off > at ? off - at : 0, hi = end - at < f->seg[i].len ? end - at : f->seg[i].len;

		if (lo < hi)
			reg = troce_crc32(reg, f->seg[i].data + lo, hi - lo);
	}
	return reg;
}

bool
tpm_icrc(const struct tp_frame *f, uint8_t icrc[TPM_ICRC_LEN])
{
	uint8_t h[HEAD_MAX] = {0};
	uint32_t l3 = TPM_ETH_HLEN, end, hlen, len;
	enum troce_icrc_net kind;
	uint16_t etype;

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
	len = network(h + l3, etype, &kind);
	if (len == 0 || l3 + len + BTH_HLEN > hlen)
		return false;
	troce_icrc_put(crc_from(troce_icrc_start(kind, h + l3, h + l3 + len), f, l3 + len + BTH_HLEN, end), icrc);
	return true;
}
