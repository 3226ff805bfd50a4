/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * DHCP over InfiniBand (RFC 4390): hardware type 32, no hardware address, broadcast answers, and a client identifier in
 * every message of a client.
 */
#include <netinet/in.h>

#include <rte_ip.h>
#include <rte_udp.h>

#include "xlate.h"

/* Offsets in the message (RFC 2131, 2). */
#define OP 0u
#define HTYPE 1u
#define HLEN 2u
#define XID 4u
#define FLAGS 10u
#define CHADDR 28u
#define CHADDR_LEN 16u
#define COOKIE 236u
#define OPTIONS 240u

#define FLAG_BROADCAST 0x8000u
#define MAGIC 0x63825363u
#define OPT_PAD 0u
#define OPT_CLIENT_ID 61u
#define OPT_END 255u

/* 255, IAID, DUID of type 3 (RFC 4361, 6.1; RFC 3315, 9.4) with the port's GUID, which lives longer than a QPN. */
#define ID_LEN (1u + 4u + 2u + 2u + 8u)
#define DUID_LL 3u

/* The message in a packet that was classified. NULL: it is shorter than its fixed part, or its lengths disagree. */
static const uint8_t *
message(const uint8_t *l3, uint32_t len, uint32_t *msg_len)
{
	uint32_t hdr = (l3[0] & 0xfu) * 4u, total = ib_get16(l3 + 2), udp;

	if (total > len || total < hdr + sizeof(struct rte_udp_hdr))
		return NULL;
	udp = ib_get16(l3 + hdr + 4);
	if (udp < sizeof(struct rte_udp_hdr) + OPTIONS || udp > total - hdr)
		return NULL;
	*msg_len = udp - (uint32_t)sizeof(struct rte_udp_hdr);
	return l3 + hdr + sizeof(struct rte_udp_hdr);
}

bool
ipoib_dhcp_peek(const uint8_t *l3, uint32_t len, struct ipoib_dhcp_head *head)
{
	uint32_t n;
	const uint8_t *m = message(l3, len, &n);

	if (m == NULL)
		return false;
	head->op = m[OP];
	head->htype = m[HTYPE];
	head->xid = ib_get32(m + XID);
	memcpy(&head->chaddr, m + CHADDR, sizeof(head->chaddr));
	return true;
}

/* Where the options end: offset of the end mark, or of what is behind the last option. 0: an option is cut off. */
static uint32_t
options_end(const uint8_t *m, uint32_t n, bool *has_id)
{
	uint32_t at = OPTIONS;

	*has_id = false;
	while (at < n && m[at] != OPT_END) {
		if (m[at] == OPT_PAD) {
			at++;
			continue;
		}
		if (n - at < 2 || m[at + 1] > n - at - 2)
			return 0;
		if (m[at] == OPT_CLIENT_ID)
			*has_id = true;
		at += 2u + m[at + 1];
	}
	return at;
}

/* Adds the client identifier; n: octets of the message so far. Returns how many there are now. */
static uint32_t
add_id(uint8_t *m, uint32_t at, uint32_t n, const struct ipoib_dhcp_with *with, const uint8_t *chaddr)
{
	uint8_t *p = m + at;

	p[0] = OPT_CLIENT_ID;
	p[1] = ID_LEN;
	p[2] = 255;
	memcpy(p + 3, chaddr + 2, 4);
	ib_put16(p + 7, DUID_LL);
	ib_put16(p + 9, IPOIB_HW_TYPE);
	ib_put64(p + 11, with->guid);
	p[2 + ID_LEN] = OPT_END;
	at += 2 + ID_LEN + 1;
	if (at < n)
		memset(m + at, OPT_PAD, n - at);
	return RTE_MAX(at, n);
}

/* Lengths and checksums of a datagram whose message has n octets. Returns its length. */
static int
close_packet(uint8_t *l3, uint32_t n)
{
	uint32_t hdr = (l3[0] & 0xfu) * 4u, udp = (uint32_t)sizeof(struct rte_udp_hdr) + n;
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)l3;
	uint16_t sum;

	ib_put16(l3 + 2, (uint16_t)(hdr + udp));
	ib_put16(l3 + hdr + 4, (uint16_t)udp);
	ib_put16(l3 + 10, 0);
	sum = (uint16_t)~rte_raw_cksum(l3, hdr);
	memcpy(l3 + 10, &sum, sizeof(sum));
	ib_put16(l3 + hdr + 6, 0);
	sum = rte_ipv4_udptcp_cksum(ip, l3 + hdr);
	memcpy(l3 + hdr + 6, &sum, sizeof(sum));
	return (int)(hdr + udp);
}

static int
to_ib(const struct ipoib_dhcp_with *with, uint8_t *l3, uint8_t *m, uint32_t n)
{
	struct rte_ether_addr chaddr;
	bool has_id;
	uint32_t end;

	if (m[HTYPE] != IPOIB_ETHER_HW_TYPE || m[HLEN] != RTE_ETHER_ADDR_LEN)
		return IPOIB_XLATE_BAD;
	end = options_end(m, n, &has_id);
	if (end == 0)
		return IPOIB_XLATE_BAD;
	if (with->ether) {
		memcpy(m + CHADDR, &with->mac, sizeof(with->mac));
		return close_packet(l3, n);
	}
	memcpy(&chaddr, m + CHADDR, sizeof(chaddr));
	m[HTYPE] = IPOIB_HW_TYPE;
	m[HLEN] = 0;
	memset(m + CHADDR, 0, CHADDR_LEN);
	if (m[OP] == IPOIB_DHCP_REQUEST) {
		/* Without a hardware address in it an answer can only be broadcast. */
		m[FLAGS] |= FLAG_BROADCAST >> 8;
		if (!has_id)
			n = add_id(m, end, n, with, chaddr.addr_bytes);
	}
	return close_packet(l3, n);
}

/* Boot firmware may show itself on InfiniBand as it does on Ethernet. */
static bool
client_fits(const uint8_t *m)
{
	return m[HTYPE] == IPOIB_HW_TYPE ? m[HLEN] <= CHADDR_LEN
					 : m[OP] == IPOIB_DHCP_REQUEST && m[HTYPE] == IPOIB_ETHER_HW_TYPE &&
						   m[HLEN] == RTE_ETHER_ADDR_LEN;
}

static int
to_eth(const struct ipoib_dhcp_with *with, uint8_t *l3, uint8_t *m, uint32_t n)
{
	bool has_id;

	if (!client_fits(m) || options_end(m, n, &has_id) == 0)
		return IPOIB_XLATE_BAD;
	m[HTYPE] = IPOIB_ETHER_HW_TYPE;
	m[HLEN] = RTE_ETHER_ADDR_LEN;
	memset(m + CHADDR, 0, CHADDR_LEN);
	memcpy(m + CHADDR, &with->mac, sizeof(with->mac));
	return close_packet(l3, n);
}

/* UDP may come without a checksum over IPv4 (RFC 768). */
static bool
sum_ok(const uint8_t *l3)
{
	const uint8_t *udp = l3 + (l3[0] & 0xfu) * 4u;

	return ib_get16(udp + 6) == 0 || rte_ipv4_udptcp_cksum_verify((const struct rte_ipv4_hdr *)l3, udp) == 0;
}

int
ipoib_dhcp(enum ipoib_dir dir, const struct ipoib_dhcp_with *with, bool check, const uint8_t *l3, uint32_t len,
	   uint8_t *out)
{
	uint32_t n;
	const uint8_t *in = message(l3, len, &n);
	uint8_t *m;

	if (in == NULL || (check && !sum_ok(l3)))
		return IPOIB_XLATE_BAD;
	if (ib_get32(in + COOKIE) != MAGIC || (in[OP] != IPOIB_DHCP_REQUEST && in[OP] != IPOIB_DHCP_REPLY))
		return IPOIB_XLATE_BAD;
	memcpy(out, l3, (size_t)(in - l3) + n);
	m = out + (in - l3);
	return dir == IPOIB_TO_IB ? to_ib(with, out, m, n) : to_eth(with, out, m, n);
}
