/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "ipoib_addr.h"

#define SIGNATURE_V4 0x401bu
#define SIGNATURE_V6 0x601bu
#define FLAGS_TRANSIENT 0x10u /* the address was not assigned for ever (RFC 4291, 2.7) */

bool
ipoib_hw_valid(const struct ipoib_hw *hw)
{
	static const uint8_t zero[16];
	uint32_t qpn = ipoib_hw_qpn(hw);

	/* 0 and 1 are management's. */
	return qpn > 1 && qpn != IB_MCAST_QPN && ipoib_hw_gid(hw)[0] != 0xff &&
	       memcmp(ipoib_hw_gid(hw) + 8, zero, 8) != 0;
}

/* --- MAC addresses from GUIDs ------------------------------------------------------------------------------------- */

/* Registered to makers of InfiniBand adapters, who make GUIDs of a MAC and two octets in its middle. */
static const uint32_t known_ouis[] = {
	0x0002c9, 0xf45214, 0xe41d2d, 0x7cfe90, 0x248a07, 0xec0d9a, 0x98039b, 0x506b4b, 0xb8599f, /* Mellanox */
	0x0c42a1, 0x1c34da, 0x043f72, 0x08c0eb, 0x88e9a4, 0xb8cef6, 0xe8ebd3, 0x946dae,           /* and NVIDIA */
	0x0005ad, 0x0008f1, 0x00066a, 0x001175, 0x00144f, 0x001708, 0x001a4b, 0x001cc4, 0x001e0b,
	0x002128, 0x002264, 0x002481, 0x003048,
};

static bool
oui_known(uint32_t oui)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(known_ouis); i++) {
		if (known_ouis[i] == oui)
			return true;
	}
	return false;
}

bool
ipoib_guid_mask_valid(unsigned int mask)
{
	return mask <= 0xff && __builtin_popcount(mask) == RTE_ETHER_ADDR_LEN;
}

static void
mac_by_mask(uint64_t guid, unsigned int mask, struct rte_ether_addr *mac)
{
	unsigned int i, n = 0;

	for (i = 0; i < 8 && n < RTE_ETHER_ADDR_LEN; i++) {
		if ((mask & (0x80u >> i)) != 0)
			mac->addr_bytes[n++] = (uint8_t)(guid >> (56 - 8 * i));
	}
}

static void
mac_of(uint64_t bits, struct rte_ether_addr *mac)
{
	unsigned int i;

	for (i = 0; i < RTE_ETHER_ADDR_LEN; i++)
		mac->addr_bytes[i] = (uint8_t)(bits >> (40 - 8 * i));
}

bool
ipoib_guid_mac(uint64_t guid, unsigned int mask, struct rte_ether_addr *mac)
{
	if (ipoib_guid_mask_valid(mask)) {
		mac_by_mask(guid, mask, mac);
	} else if (guid >> 24 == UINT64_C(0x0002c90200)) {
		mac_of(UINT64_C(0x0002c9000000) | (guid & 0xffffff), mac);
	} else if (guid >> 24 == UINT64_C(0x0002c90300)) {
		mac_of(UINT64_C(0x0002ca000000) | (guid & 0xffffff), mac);
	} else if (oui_known((uint32_t)(guid >> 40))) {
		mac_by_mask(guid, IPOIB_GUID_MASK_DEFAULT, mac);
	} else {
		return false;
	}
	return rte_is_valid_assigned_ether_addr(mac) != 0;
}

void
ipoib_counter_mac(uint32_t n, struct rte_ether_addr *mac)
{
	mac_of(UINT64_C(0x020000000000) | (n & 0xffffff), mac);
}

unsigned int
ipoib_guid_mask_suggest(uint64_t guid)
{
	struct rte_ether_addr mac;
	unsigned int mask;

	for (mask = 0xff; mask != 0; mask--) {
		/* The last octets are what tells ports of a maker apart. */
		if (!ipoib_guid_mask_valid(mask) || (mask & 7) != 7)
			continue;
		mac_by_mask(guid, mask, &mac);
		if (rte_is_valid_assigned_ether_addr(&mac))
			return mask;
	}
	return 0;
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

static void
mgid_begin(uint16_t signature, uint16_t pkey, uint8_t scope, uint8_t mgid[16])
{
	memset(mgid, 0, 16);
	mgid[0] = 0xff;
	mgid[1] = FLAGS_TRANSIENT | (scope & 0xf);
	ib_put16(mgid + 2, signature);
	ib_put16(mgid + 4, pkey | IB_PKEY_FULL);
}

void
ipoib_mgid_broadcast(uint16_t pkey, uint8_t scope, uint8_t mgid[16])
{
	mgid_begin(SIGNATURE_V4, pkey, scope, mgid);
	memset(mgid + 12, 0xff, 4);
}

void
ipoib_mgid_v4(uint16_t pkey, uint8_t scope, const uint8_t group[4], uint8_t mgid[16])
{
	mgid_begin(SIGNATURE_V4, pkey, scope, mgid);
	memcpy(mgid + 12, group, 4);
	mgid[12] &= 0x0f; /* 28 bits of the group */
}

void
ipoib_mgid_v6(uint16_t pkey, uint8_t scope, const uint8_t group[16], uint8_t mgid[16])
{
	mgid_begin(SIGNATURE_V6, pkey, scope, mgid);
	memcpy(mgid + 6, group + 6, 10); /* 80 bits */
}

enum ipoib_group_kind
ipoib_mgid_kind(const uint8_t mgid[16], uint16_t pkey)
{
	static const uint8_t zero[6];
	uint16_t signature = ib_get16(mgid + 2);

	if (mgid[0] != 0xff || (mgid[1] & 0xf0) != FLAGS_TRANSIENT || ib_get16(mgid + 4) != (pkey | IB_PKEY_FULL))
		return IPOIB_GROUP_NONE;
	if (signature == SIGNATURE_V6)
		return IPOIB_GROUP_V6;
	if (signature != SIGNATURE_V4 || memcmp(mgid + 6, zero, sizeof(zero)) != 0)
		return IPOIB_GROUP_NONE;
	if (ib_get32(mgid + 12) == UINT32_MAX)
		return IPOIB_GROUP_BROADCAST;
	return (mgid[12] & 0xf0) == 0 ? IPOIB_GROUP_V4 : IPOIB_GROUP_NONE;
}

bool
ipoib_mgid_mac(const uint8_t mgid[16], uint16_t pkey, struct rte_ether_addr *mac)
{
	switch (ipoib_mgid_kind(mgid, pkey)) {
	case IPOIB_GROUP_BROADCAST: memset(mac->addr_bytes, 0xff, RTE_ETHER_ADDR_LEN); return true;
	case IPOIB_GROUP_V4: mac_of(UINT64_C(0x01005e000000) | (ib_get32(mgid + 12) & 0x7fffff), mac); return true;
	case IPOIB_GROUP_V6: mac_of(UINT64_C(0x333300000000) | ib_get32(mgid + 12), mac); return true;
	case IPOIB_GROUP_NONE: break;
	}
	return false;
}

bool
ipoib_mac_mgid(const struct rte_ether_addr *mac, uint16_t pkey, uint8_t scope, uint8_t mgid[16])
{
	const uint8_t *b = mac->addr_bytes;
	uint8_t group[16] = {0xff, 0x02};

	if (rte_is_broadcast_ether_addr(mac)) {
		ipoib_mgid_broadcast(pkey, scope, mgid);
		return true;
	}
	if (b[0] == 0x01 && b[1] == 0x00 && b[2] == 0x5e && b[3] < 0x80) {
		const uint8_t v4[4] = {224, b[3], b[4], b[5]};

		ipoib_mgid_v4(pkey, scope, v4, mgid);
		return true;
	}
	if (b[0] != 0x33 || b[1] != 0x33)
		return false;
	if (b[2] == 0xff)
		group[11] = 1; /* solicited node (RFC 4291, 2.7.1) */
	memcpy(group + 12, b + 2, 4);
	ipoib_mgid_v6(pkey, scope, group, mgid);
	return true;
}
