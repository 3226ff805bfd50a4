/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* InfiniBand packets on a wire: their two CRCs [WF 5], and whether what came is whole. */
#include "ib.h"
#include "icrc.h"
#include "wire.h"

#define VCRC_POLY 0xd008u /* 0x100b with its bits turned round */
#define SLICES 8u
#define GRH_LEN 40u

/* Remainders of a byte that is followed by 0 to 7 bytes of zero. */
static uint16_t table[SLICES][256];

__attribute__((constructor)) static void
table_init(void)
{
	for (unsigned int i = 0; i < 256; i++) {
		uint16_t r = (uint16_t)i;

		for (unsigned int bit = 0; bit < 8; bit++)
			r = (uint16_t)(r >> 1 ^ ((r & 1) != 0 ? VCRC_POLY : 0));
		table[0][i] = r;
	}
	for (unsigned int s = 1; s < SLICES; s++)
		for (unsigned int i = 0; i < 256; i++)
			table[s][i] = (uint16_t)(table[s - 1][i] >> 8 ^ table[0][table[s - 1][i] & 0xff]);
}

static uint16_t
crc16(uint16_t r, const uint8_t *p, uint32_t len)
{
	for (; len >= SLICES; p += SLICES, len -= SLICES)
		r = table[7][(r ^ p[0]) & 0xff] ^ table[6][(r >> 8 ^ p[1]) & 0xff] ^ table[5][p[2]] ^ table[4][p[3]] ^
		    table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
	for (; len != 0; p++, len--)
		r = (uint16_t)(r >> 8 ^ table[0][(r ^ *p) & 0xff]);
	return r;
}

uint16_t
tpm_ib_vcrc(const struct tp_frame *f, uint32_t len)
{
	uint16_t r = UINT16_MAX;

	for (unsigned int i = 0; i < f->nseg && len != 0; i++) {
		uint32_t n = f->seg[i].len < len ? f->seg[i].len : len;

		r = crc16(r, f->seg[i].data, n);
		len -= n;
	}
	return (uint16_t)~r;
}

uint32_t
tpm_ib_icrc_start(const uint8_t *lrh)
{
	uint8_t h[IB_LRH_SIZE + IB_BTH_LEN];

	if (prm_get(lrh, IB_LRH_LNH) == IB_LNH_GRH)
		return tp_icrc_start(TP_ICRC_GRH, lrh + IB_LRH_SIZE, lrh + IB_LRH_SIZE + GRH_LEN);
	/* Without a GRH all of the LRH but the virtual lane stays the same on the way. */
	memcpy(h, lrh, sizeof(h));
	h[0] |= 0xf0;
	h[IB_LRH_SIZE + 4] = 0xff;
	return tp_crc32(TP_CRC32_INIT, h, sizeof(h));
}

static void
icrc_of(const uint8_t *packet, uint32_t len, uint8_t icrc[IB_ICRC_LEN])
{
	uint32_t at = tpm_ib_bth(packet) + IB_BTH_LEN;

	tp_icrc_put(tp_crc32(tpm_ib_icrc_start(packet), packet + at, len - at), icrc);
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
	vcrc = (uint16_t)~crc16(UINT16_MAX, packet, len);
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
	vcrc = (uint16_t)~crc16(UINT16_MAX, p, n);
	if (p[n] != (uint8_t)vcrc || p[n + 1] != (uint8_t)(vcrc >> 8))
		return NULL;
	/* Raw packets are nobody's business here. */
	if (prm_get(p, IB_LRH_VERSION) != 0 || prm_get(p, IB_LRH_LNH) < IB_LNH_BTH ||
	    prm_get(p, IB_LRH_WORDS) * 4 != n || tpm_ib_bth(p) + IB_BTH_LEN + IB_ICRC_LEN > n)
		return NULL;
	*len = n;
	return p;
}
