/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* InfiniBand packets on a wire: their two CRCs [WF 5], and whether what came is whole. */
#include "lib/roce/wire/crc16.h"
#include "lib/roce/wire/ib_crc.h"
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
	/* Without a GRH: the virtual lane, and the octet that the BTH has for congestion. */
	static const uint8_t may_change[TROCE_CRC_MASK] = {[0] = 0xf0, [IB_LRH_SIZE + 4] = 0xff};
	uint32_t at = tpm_ib_bth(packet) + IB_BTH_LEN;

	troce_icrc_put(prm_get(packet, IB_LRH_LNH) == IB_LNH_GRH
			       ? troce_crc32(tpm_ib_icrc_start(packet), packet + at, len - at)
			       : troce_crc32_masked(TROCE_CRC32_INIT, may_change, packet, len),
		       icrc);
}

static inline bool
is_short(const uint8_t *packet, uint32_t len)
{
	return len <= TROCE_IB_SHORT && prm_get(packet, IB_LRH_LNH) == IB_LNH_BTH;
}

bool
tpm_ib_crcs_good(const uint8_t *packet, uint32_t len)
{
	struct troce_ib_crcs c;
	rte_le32_t icrc;
	rte_le16_t vcrc;

	if (!is_short(packet, len - IB_ICRC_LEN))
		return tpm_ib_vcrc_good(packet, len) && tpm_ib_icrc_good(packet, len);
	c = troce_ib_crcs(packet, len - IB_ICRC_LEN, false);
	memcpy(&icrc, packet + len - IB_ICRC_LEN, sizeof(icrc));
	memcpy(&vcrc, packet + len, sizeof(vcrc));
	return rte_le_to_cpu_32(icrc) == c.icrc && rte_le_to_cpu_16(vcrc) == c.vcrc;
}

bool
tpm_ib_vcrc_good(const uint8_t *packet, uint32_t len)
{
	uint16_t vcrc = (uint16_t)~troce_crc16(TROCE_CRC16_INIT, packet, len);

	return packet[len] == (uint8_t)vcrc && packet[len + 1] == (uint8_t)(vcrc >> 8);
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

	if (!icrc && is_short(packet, len)) {
		const struct troce_ib_crcs c = troce_ib_crcs(packet, len, true);
		const rte_le32_t i = rte_cpu_to_le_32(c.icrc);
		const rte_le16_t v = rte_cpu_to_le_16(c.vcrc);

		memcpy(packet + len, &i, sizeof(i));
		memcpy(packet + len + IB_ICRC_LEN, &v, sizeof(v));
		return len + IB_ICRC_LEN + IB_VCRC_SIZE;
	}
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

	if ((f->flags & TP_FRAME_BAD_FCS) != 0 || n > TPM_IB_PACKET ||
	    n < IB_LRH_SIZE + IB_BTH_LEN + IB_ICRC_LEN + IB_VCRC_SIZE)
		return NULL;
	if (f->nseg != 1) {
		tpm_frame_copy(f, 0, buf, n);
		p = buf;
	}
	n -= IB_VCRC_SIZE;
	if ((f->flags & TPM_FRAME_CRC_OK) == 0 && !tpm_ib_vcrc_good(p, n))
		return NULL;
	/* Raw packets are nobody's business here. */
	if (prm_get(p, IB_LRH_VERSION) != 0 || prm_get(p, IB_LRH_LNH) < IB_LNH_BTH ||
	    prm_get(p, IB_LRH_WORDS) * 4 != n || tpm_ib_bth(p) + IB_BTH_LEN + IB_ICRC_LEN > n)
		return NULL;
	*len = n;
	return p;
}
