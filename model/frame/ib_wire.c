/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* InfiniBand packets on a wire: their two CRCs [WF 5], and whether what came is whole. */
#include "lib/roce/wire/crc16.h"
#include "lib/roce/wire/icrc.h"
#include "lib/roce/wire/wire.h"
#include "ib_wire.h"

#define GRH_LEN 40u

uint16_t
tpm_ib_vcrc(const struct tp_frame *f, uint32_t len)
{
	uint16_t r = TROCE_CRC16_INIT;

	for (unsigned int i = 0; i < f->nseg && len != 0; i++) {
		uint32_t n = f->seg[i].len < len ? f->seg[i].len : len;

		r = troce_crc16(r, f->seg[i].data, n);
		len -= n;
	}
	return (uint16_t)~r;
}

uint32_t
tpm_ib_icrc_start(const uint8_t *lrh)
{
	uint8_t h[IB_LRH_SIZE + IB_BTH_LEN];

	if (prm_get(lrh, IB_LRH_LNH) == IB_LNH_GRH)
		return troce_icrc_start(TROCE_ICRC_GRH, lrh + IB_LRH_SIZE, lrh + IB_LRH_SIZE + GRH_LEN);
	/* Without a GRH all of the LRH but the virtual lane stays the same on the way. */
	memcpy(h, lrh, sizeof(h));
	h[0] |= 0xf0;
	h[IB_LRH_SIZE + 4] = 0xff;
	return troce_crc32(TROCE_CRC32_INIT, h, sizeof(h));
}

static void
icrc_of(const uint8_t *packet, uint32_t len, uint8_t icrc[IB_ICRC_LEN])
{
	uint32_t at = tpm_ib_bth(packet) + IB_BTH_LEN;

	troce_icrc_put(troce_crc32(tpm_ib_icrc_start(packet), packet + at, len - at), icrc);
}

bool
tpm_ib_icrc_good(const uint8_t *packet, uint32_t len)
{
	uint8_t icrc[IB_ICRC_LEN];

	icrc_of(packet, len - IB_ICRC_LEN, icrc);
	return memcmp(icrc, packet + len - IB_ICRC_LEN, IB_ICRC_LEN) == 0;
}

uint32_t
tpm_ib_seal(uint8_t *packet, uint32_t len, bool icrc)
{
	uint16_t vcrc;

	if (!icrc) {
		icrc_of(packet, len, packet + len);
		len += IB_ICRC_LEN;
	}
	vcrc = (uint16_t)~troce_crc16(TROCE_CRC16_INIT, packet, len);
	packet[len] = (uint8_t)vcrc;
	packet[len + 1] = (uint8_t)(vcrc >> 8);
	return len + IB_VCRC_SIZE;
}

const uint8_t *
tpm_ib_open(const struct tp_frame *f, uint8_t *buf, uint32_t *len)
{
	const uint8_t *p = f->seg[0].data;
	uint32_t n = f->len;
	uint16_t vcrc;

	if ((f->flags & TP_FRAME_BAD_FCS) != 0 || n > TPM_IB_PACKET ||
	    n < IB_LRH_SIZE + IB_BTH_LEN + IB_ICRC_LEN + IB_VCRC_SIZE)
		return NULL;
	if (f->nseg != 1) {
		tpm_frame_copy(f, 0, buf, n);
		p = buf;
	}
	n -= IB_VCRC_SIZE;
	vcrc = (uint16_t)~troce_crc16(TROCE_CRC16_INIT, p, n);
	if (p[n] != (uint8_t)vcrc || p[n + 1] != (uint8_t)(vcrc >> 8))
		return NULL;
	/* Raw packets are nobody's business here. */
	if (prm_get(p, IB_LRH_VERSION) != 0 || prm_get(p, IB_LRH_LNH) < IB_LNH_BTH ||
	    prm_get(p, IB_LRH_WORDS) * 4 != n || tpm_ib_bth(p) + IB_BTH_LEN + IB_ICRC_LEN > n)
		return NULL;
	*len = n;
	return p;
}
