/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Addresses of IPoIB (RFC 4391): the 20 octets of a hardware address, the MGIDs of groups, and the MAC addresses under
 * which an Ethernet application knows both. Pure code.
 */
#ifndef IPOIB_WIRE_IPOIB_ADDR_H
#define IPOIB_WIRE_IPOIB_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_ether.h>

#include "lib/roce/wire/wire.h"

#define IPOIB_ENCAP_LEN 4u /* EtherType, reserved (RFC 4391, 6) */
#define IPOIB_HW_TYPE 32u
#define IPOIB_HW_LEN 20u
#define IPOIB_ETHER_HW_TYPE 1u
#define IPOIB_PKEY_DEFAULT 0xffffu

/* Flags octet of a hardware address (RFC 4755, 3.1). */
#define IPOIB_HW_RC 0x80u
#define IPOIB_HW_UC 0x40u

/* Flags, QPN, GID (RFC 4391, 9.1.1). */
struct ipoib_hw {
	uint8_t b[IPOIB_HW_LEN];
};

static inline uint32_t
ipoib_hw_qpn(const struct ipoib_hw *hw)
{
	return ib_get24(hw->b + 1);
}
static inline const uint8_t *
ipoib_hw_gid(const struct ipoib_hw *hw)
{
	return hw->b + 4;
}
/* Same queue pair: flags are no part of the identity. */
static inline bool
ipoib_hw_same(const struct ipoib_hw *a, const struct ipoib_hw *b)
{
	return memcmp(a->b + 1, b->b + 1, IPOIB_HW_LEN - 1) == 0;
}
static inline void
ipoib_hw_set(struct ipoib_hw *hw, uint8_t flags, uint32_t qpn, const uint8_t gid[16])
{
	hw->b[0] = flags;
	ib_put24(hw->b + 1, qpn);
	memcpy(hw->b + 4, gid, 16);
}
/* An address that a host may have: a queue pair of its own, and a GID that is no group. */
bool ipoib_hw_valid(const struct ipoib_hw *hw);

/* --- MAC addresses from GUIDs ------------------------------------------------------------------------------------- */

#define IPOIB_GUID_MASK_DEFAULT 0xe7u

/* Bit 7 takes the first octet of the GUID: a mask has six bits. */
bool ipoib_guid_mask_valid(unsigned int mask);
/*
 * The MAC that the rules give a port GUID: the given mask; without one (0, or a wrong one, which is the default mask) the two
 * vendor forms 0002c902.., 0002c903.., then the default mask for GUIDs that begin with a known vendor's OUI.
 * False: no rule gives a unicast address; the caller takes one of its counter.
 */
bool ipoib_guid_mac(uint64_t guid, unsigned int mask, struct rte_ether_addr *mac);
/* A locally administered address, 02:00:00 and the number. */
void ipoib_counter_mac(uint32_t n, struct rte_ether_addr *mac);
/* First mask that makes a unicast address of the GUID and keeps its last three octets; 0: none does. */
unsigned int ipoib_guid_mask_suggest(uint64_t guid);

/* --- groups ------------------------------------------------------------------------------------------------------- */

enum ipoib_group_kind {
	IPOIB_GROUP_NONE, /* no MGID of IPoIB, or of another P_Key */
	IPOIB_GROUP_BROADCAST,
	IPOIB_GROUP_V4,
	IPOIB_GROUP_V6,
};

/* MGIDs of a P_Key and a scope (2: link-local), RFC 4391, 4. The membership bit is always set in them. */
void ipoib_mgid_broadcast(uint16_t pkey, uint8_t scope, uint8_t mgid[16]);
void ipoib_mgid_v4(uint16_t pkey, uint8_t scope, const uint8_t group[4], uint8_t mgid[16]);
void ipoib_mgid_v6(uint16_t pkey, uint8_t scope, const uint8_t group[16], uint8_t mgid[16]);
enum ipoib_group_kind ipoib_mgid_kind(const uint8_t mgid[16], uint16_t pkey);
/* The Ethernet address of a group (RFC 1112, 2464). False: it is no MGID of the P_Key. */
bool ipoib_mgid_mac(const uint8_t mgid[16], uint16_t pkey, struct rte_ether_addr *mac);
/*
 * The IP group that an Ethernet address stands for when nothing but the address is known: of the 32 (IPv4) or more groups
 * the one with the lowest number, solicited-node groups for 33:33:ff. False: it is no group of IP.
 */
bool ipoib_mac_mgid(const struct rte_ether_addr *mac, uint16_t pkey, uint8_t scope, uint8_t mgid[16]);

#endif /* IPOIB_WIRE_IPOIB_ADDR_H */
