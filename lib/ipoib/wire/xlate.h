/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Packets that carry hardware addresses, between Ethernet's words and IPoIB's: ARP (RFC 826, RFC 4391 9.1), neighbour
 * discovery (RFC 4861, RFC 4391 9.3) and DHCP (RFC 2131, RFC 4390). Pure code on octets: any octets may come in.
 */
#ifndef IPOIB_WIRE_XLATE_H
#define IPOIB_WIRE_XLATE_H

#include "ipoib_addr.h"

enum ipoib_dir {
	IPOIB_TO_IB,  /* the application sends */
	IPOIB_TO_ETH, /* came from InfiniBand */
};

/* Who knows both kinds of addresses. */
struct ipoib_book {
	void *arg;
	/* The hardware address that a MAC stands for, our own for MACs behind us. False: nobody has the MAC. */
	bool (*hw_of)(void *arg, const struct rte_ether_addr *mac, struct ipoib_hw *hw);
	/* The MAC under which the application knows a hardware address; a new neighbour gets one. False: it can have none. */
	bool (*mac_of)(void *arg, const struct ipoib_hw *hw, struct rte_ether_addr *mac);
};

/* What a packet was found to be. */
enum ipoib_class {
	IPOIB_PLAIN, /* no hardware address in it */
	IPOIB_ARP,
	IPOIB_ND,        /* one of the five messages with link-layer address options */
	IPOIB_DHCP,      /* DHCPv4 */
	IPOIB_SNOOP,     /* a report or query of group membership */
	IPOIB_MALFORMED, /* shorter than its own headers */
};

/* etype in host order; l3, len: what follows. */
enum ipoib_class ipoib_classify(uint16_t etype, const uint8_t *l3, uint32_t len);

/* More octets than any translation adds: four ND options, or the client identifier of DHCP. */
#define IPOIB_XLATE_GROWTH 96u

#define IPOIB_XLATE_BAD (-1)     /* wrong lengths, types or checksum */
#define IPOIB_XLATE_UNKNOWN (-2) /* an address in it is nobody's */

/*
 * Translate l3 into out, which has room for len + IPOIB_XLATE_GROWTH octets. They return the length there, or one of the two
 * above. check: the checksum that the packet has must be right; without it the packet's own is not looked at.
 */
int ipoib_arp(enum ipoib_dir dir, const struct ipoib_book *book, const uint8_t *l3, uint32_t len, uint8_t *out);
int ipoib_nd(enum ipoib_dir dir, const struct ipoib_book *book, bool check, const uint8_t *l3, uint32_t len,
	     uint8_t *out);

/* What DHCP needs beside the packet. */
struct ipoib_dhcp_with {
	uint64_t guid;             /* for the identifier of a client that gives none */
	struct rte_ether_addr mac; /* TO_ETH, and with ether: whose hardware address the packet shall carry */
	bool ether;                /* TO_IB: the client knows itself by that one, as on Ethernet */
};
struct ipoib_dhcp_head {
	uint32_t xid;
	struct rte_ether_addr chaddr;
	uint8_t op, htype;
};
/* The head of a packet that ipoib_classify() called DHCP. False: it is too short. */
bool ipoib_dhcp_peek(const uint8_t *l3, uint32_t len, struct ipoib_dhcp_head *head);
#define IPOIB_DHCP_REQUEST 1u
#define IPOIB_DHCP_REPLY 2u
int ipoib_dhcp(enum ipoib_dir dir, const struct ipoib_dhcp_with *with, bool check, const uint8_t *l3, uint32_t len,
	       uint8_t *out);

#endif /* IPOIB_WIRE_XLATE_H */
