/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Any octets as a packet that carries hardware addresses, in both directions. What is refused is refused; what is translated
 * fits the room that was promised, is classified as before, and comes back by the other direction.
 */
#include <stdlib.h>

#include "lib/ipoib/wire/snoop.h"
#include "lib/ipoib/wire/xlate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every unicast address has its partner: the last six octets of the GID are the MAC. */
static bool
hw_of(void *arg, const struct rte_ether_addr *mac, struct ipoib_hw *hw)
{
	uint8_t gid[16] = {0xfe, 0x80, [8] = 2};

	(void)arg;
	if (!rte_is_valid_assigned_ether_addr(mac))
		return false;
	memcpy(gid + 10, mac, sizeof(*mac));
	ipoib_hw_set(hw, IPOIB_HW_RC, 0x48, gid);
	return true;
}

static bool
mac_of(void *arg, const struct ipoib_hw *hw, struct rte_ether_addr *mac)
{
	(void)arg;
	memcpy(mac, ipoib_hw_gid(hw) + 10, sizeof(*mac));
	return rte_is_valid_assigned_ether_addr(mac) != 0;
}

static const struct ipoib_book book = {.hw_of = hw_of, .mac_of = mac_of};
static const struct ipoib_dhcp_with with = {.guid = 1, .mac = {{2, 0, 0, 0, 0, 1}}};

static int
translate(enum ipoib_class class, enum ipoib_dir dir, bool check, const uint8_t *l3, uint32_t len, uint8_t *out)
{
	switch (class) {
	case IPOIB_ARP: return ipoib_arp(dir, &book, l3, len, out);
	case IPOIB_ND: return ipoib_nd(dir, &book, check, l3, len, out);
	case IPOIB_DHCP: return ipoib_dhcp(dir, &with, check, l3, len, out);
	default: return IPOIB_XLATE_BAD;
	}
}

static void
heard(void *arg, bool v6, const uint8_t group[16], bool join)
{
	unsigned int *n = arg;

	if (v6 ? group[0] != 0xff : (group[12] & 0xf0) != 0xe0)
		abort();
	(void)join;
	(*n)++;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t etypes[4] = {RTE_ETHER_TYPE_ARP, RTE_ETHER_TYPE_IPV4, RTE_ETHER_TYPE_IPV6, 0x8100};
	enum ipoib_class class;
	enum ipoib_dir dir;
	uint16_t etype;
	uint8_t *out, *back;
	uint32_t len;
	unsigned int n = 0;
	int got;

	if (size < 1 || size > 4096)
		return 0;
	etype = etypes[data[0] & 3];
	dir = (data[0] & 4) != 0 ? IPOIB_TO_ETH : IPOIB_TO_IB;
	len = (uint32_t)size - 1;
	class = ipoib_classify(etype, data + 1, len);
	if (class == IPOIB_SNOOP && ipoib_snoop(etype, data + 1, len, (data[0] & 8) != 0, heard, &n) > (int)n)
		abort();
	out = malloc(len + IPOIB_XLATE_GROWTH);
	if (out == NULL)
		return 0;
	got = translate(class, dir, (data[0] & 8) != 0, data + 1, len, out);
	if (got > 0) {
		if ((uint32_t)got > len + IPOIB_XLATE_GROWTH || ipoib_classify(etype, out, (uint32_t)got) != class)
			abort();
		back = malloc((uint32_t)got + IPOIB_XLATE_GROWTH);
		/* Neighbours may be unknown in that direction, but what we wrote ourselves is never malformed. */
		if (back != NULL && translate(class, dir == IPOIB_TO_IB ? IPOIB_TO_ETH : IPOIB_TO_IB, true, out,
					      (uint32_t)got, back) == IPOIB_XLATE_BAD)
			abort();
		free(back);
	}
	free(out);
	return 0;
}
