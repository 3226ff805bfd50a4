/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <string.h>

#include "icrc.h"
#include "wire.h"

#define LRH_STAND_IN 8u /* a local route header that RoCE does not have counts as ones */
#define IPV4_LEN 20u
#define IPV6_LEN 40u
#define UDP_LEN 8u

/* Traffic class, flow label and hop limit; the version stays. */
static void
mask_ipv6(uint8_t *h)
{
	h[0] |= 0x0f;
	memset(h + 1, 0xff, 3);
	h[7] = 0xff;
}

/* What the CRC begins with, as it counts; its length. */
static uint32_t
put_masked(enum troce_icrc_net kind, const uint8_t *net, uint8_t *h)
{
	uint32_t len =
		kind == TROCE_ICRC_IPV4_UDP ? IPV4_LEN + UDP_LEN : IPV6_LEN + (kind == TROCE_ICRC_GRH ? 0 : UDP_LEN);
	uint8_t *n = h + LRH_STAND_IN;

	memset(h, 0xff, LRH_STAND_IN);
	memcpy(n, net, len);
	if (kind == TROCE_ICRC_IPV4_UDP) {
		n[1] = 0xff; /* type of service */
		n[8] = 0xff; /* time to live */
		memset(n + 10, 0xff, 2);
	} else {
		mask_ipv6(n);
	}
	if (kind != TROCE_ICRC_GRH)
		memset(n + len - 2, 0xff, 2); /* UDP checksum */
	return LRH_STAND_IN + len;
}

uint32_t
troce_icrc_net(enum troce_icrc_net kind, const uint8_t *net)
{
	uint8_t h[LRH_STAND_IN + IPV6_LEN + UDP_LEN];

	return troce_crc32(TROCE_CRC32_INIT, h, put_masked(kind, net, h));
}

uint32_t troce_icrc_ids[2][256];

/* A CRC is linear: from a register of 0, each bit has its part, which octets behind it carry on. */
__attribute__((constructor)) static void
ids_init(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		for (unsigned int v = 0; v < 256; v++) {
			uint8_t rest[IPV4_LEN - 4 + UDP_LEN] = {(uint8_t)(v << 8 * i >> 8), (uint8_t)(v << 8 * i)};

			troce_icrc_ids[i][v] = troce_crc32_scalar(0, rest, sizeof(rest));
		}
	}
}

uint32_t
troce_icrc_start(enum troce_icrc_net kind, const uint8_t *net, const uint8_t bth[12])
{
	uint8_t h[LRH_STAND_IN + IPV6_LEN + UDP_LEN + IB_BTH_LEN];
	uint32_t len = put_masked(kind, net, h);

	memcpy(h + len, bth, IB_BTH_LEN);
	h[len + 4] = 0xff;
	return troce_crc32(TROCE_CRC32_INIT, h, len + IB_BTH_LEN);
}
