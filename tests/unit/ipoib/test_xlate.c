/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Each packet of one side, as scapy builds it, becomes the packet of the other side, octet by octet; wrong ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include <rte_ip.h>

#include "ipoib_packets.h"
#include "lib/ipoib/wire/xlate.h"

static const struct rte_ether_addr our_mac = {{0xf4, 0x52, 0x14, 0x01, 0xb8, 0xa1}};
static const struct rte_ether_addr peer_mac = {{0xf4, 0x52, 0x14, 0x01, 0xc0, 0x02}};
static struct ipoib_hw our_hw, peer_hw;

static bool
hw_of(void *arg, const struct rte_ether_addr *mac, struct ipoib_hw *hw)
{
	(void)arg;
	if (rte_is_same_ether_addr(mac, &our_mac))
		*hw = our_hw;
	else if (rte_is_same_ether_addr(mac, &peer_mac))
		*hw = peer_hw;
	else
		return false;
	return true;
}

static bool
mac_of(void *arg, const struct ipoib_hw *hw, struct rte_ether_addr *mac)
{
	(void)arg;
	if (ipoib_hw_same(hw, &our_hw))
		*mac = our_mac;
	else if (ipoib_hw_same(hw, &peer_hw))
		*mac = peer_mac;
	else
		return false;
	return true;
}

static const struct ipoib_book book = {.hw_of = hw_of, .mac_of = mac_of};
static const struct ipoib_dhcp_with with = {.guid = UINT64_C(0xf45214030001b8a1),
					    .mac = {{0xf4, 0x52, 0x14, 0x01, 0xb8, 0xa1}}};

static int
setup(void **state)
{
	(void)state;
	memcpy(&our_hw, arp_request_ib + 8, sizeof(our_hw));
	memcpy(&peer_hw, arp_answer_ib + 8, sizeof(peer_hw));
	return 0;
}

enum what { ARP, ND, DHCP };

/* In memory of the exact length, so that a sanitizer sees a read behind the end, and an output of what is promised. */
static int
translate(enum what what, enum ipoib_dir dir, const uint8_t *p, uint32_t len, uint8_t **out)
{
	uint8_t *in = malloc(len == 0 ? 1 : len);
	int ret;

	assert_non_null(in);
	memcpy(in, p, len);
	*out = malloc(len + IPOIB_XLATE_GROWTH);
	assert_non_null(*out);
	switch (what) {
	case ARP: ret = ipoib_arp(dir, &book, in, len, *out); break;
	case ND: ret = ipoib_nd(dir, &book, true, in, len, *out); break;
	default: ret = ipoib_dhcp(dir, &with, true, in, len, *out); break;
	}
	free(in);
	return ret;
}

static void
becomes(enum what what, enum ipoib_dir dir, const uint8_t *from, uint32_t from_len, const uint8_t *to, uint32_t to_len)
{
	uint8_t *out;

	assert_int_equal(translate(what, dir, from, from_len, &out), to_len);
	assert_memory_equal(out, to, to_len);
	free(out);
}
#define BECOMES(what, dir, from, to) becomes(what, dir, from, sizeof(from), to, sizeof(to))

static void
refused(enum what what, enum ipoib_dir dir, const uint8_t *p, uint32_t len, int why)
{
	uint8_t *out;

	assert_int_equal(translate(what, dir, p, len, &out), why);
	free(out);
}

static void
arp_both_ways(void **state)
{
	uint8_t padded[46] = {0};

	(void)state;
	BECOMES(ARP, IPOIB_TO_IB, arp_request_eth, arp_request_ib);
	BECOMES(ARP, IPOIB_TO_IB, arp_reply_eth, arp_reply_ib);
	BECOMES(ARP, IPOIB_TO_ETH, arp_answer_ib, arp_answer_eth);
	BECOMES(ARP, IPOIB_TO_ETH, arp_asked_ib, arp_asked_eth);
	/* Ethernet pads to its shortest frame. */
	memcpy(padded, arp_request_eth, sizeof(arp_request_eth));
	BECOMES(ARP, IPOIB_TO_IB, padded, arp_request_ib);
}

static void
arp_refusals(void **state)
{
	uint8_t p[sizeof(arp_answer_ib)], eth[sizeof(arp_reply_eth)];
	unsigned int at;

	(void)state;
	for (at = 0; at < sizeof(arp_answer_ib); at++)
		refused(ARP, IPOIB_TO_ETH, arp_answer_ib, at, IPOIB_XLATE_BAD);
	for (at = 0; at < sizeof(arp_reply_eth); at++)
		refused(ARP, IPOIB_TO_IB, arp_reply_eth, at, IPOIB_XLATE_BAD);
	/* Each octet of hardware type, protocol type, lengths and operation counts. */
	for (at = 0; at < 8; at++) {
		memcpy(p, arp_answer_ib, sizeof(p));
		p[at] ^= 0x40;
		refused(ARP, IPOIB_TO_ETH, p, sizeof(p), IPOIB_XLATE_BAD);
		memcpy(eth, arp_reply_eth, sizeof(eth));
		eth[at] ^= 0x40;
		refused(ARP, IPOIB_TO_IB, eth, sizeof(eth), IPOIB_XLATE_BAD);
	}
	/* Nobody's addresses; a sender that is a group. */
	memcpy(eth, arp_reply_eth, sizeof(eth));
	eth[23] ^= 1;
	refused(ARP, IPOIB_TO_IB, eth, sizeof(eth), IPOIB_XLATE_UNKNOWN);
	memcpy(p, arp_answer_ib, sizeof(p));
	p[27] ^= 1;
	refused(ARP, IPOIB_TO_ETH, p, sizeof(p), IPOIB_XLATE_UNKNOWN);
	memcpy(p, arp_answer_ib, sizeof(p));
	p[12] = 0xff;
	refused(ARP, IPOIB_TO_ETH, p, sizeof(p), IPOIB_XLATE_BAD);
}

static void
nd_both_ways(void **state)
{
	(void)state;
	BECOMES(ND, IPOIB_TO_IB, ns_eth, ns_ib);
	BECOMES(ND, IPOIB_TO_ETH, ns_ib, ns_eth);
	BECOMES(ND, IPOIB_TO_IB, na_eth, na_ib);
	BECOMES(ND, IPOIB_TO_ETH, na_ib, na_eth);
	BECOMES(ND, IPOIB_TO_IB, rs_eth, rs_ib);
	BECOMES(ND, IPOIB_TO_ETH, ra_ib, ra_eth);
	BECOMES(ND, IPOIB_TO_IB, ra_eth, ra_ib);
	BECOMES(ND, IPOIB_TO_ETH, redirect_ib, redirect_eth);
	/* Duplicate address detection names nobody. */
	BECOMES(ND, IPOIB_TO_IB, dad, dad);
	BECOMES(ND, IPOIB_TO_ETH, dad, dad);
}

static void
nd_refusals(void **state)
{
	uint8_t p[sizeof(ns_ib)], eth[sizeof(ns_eth)];
	unsigned int at;

	(void)state;
	for (at = 0; at < sizeof(ns_ib); at++)
		refused(ND, IPOIB_TO_ETH, ns_ib, at, IPOIB_XLATE_BAD);
	/* An option of Ethernet's length where IPoIB's belongs, and the other way round. */
	refused(ND, IPOIB_TO_ETH, ns_eth, sizeof(ns_eth), IPOIB_XLATE_BAD);
	refused(ND, IPOIB_TO_IB, ns_ib, sizeof(ns_ib), IPOIB_XLATE_BAD);
	for (at = 0; at < 256; at++) {
		memcpy(p, ns_ib, sizeof(p));
		if (at == p[65])
			continue;
		p[65] = (uint8_t)at;                 /* length of the option, checksum as it should be */
		p[43] = (uint8_t)(p[43] - (at - 3)); /* ones' complement, in the low octet as far as it goes */
		refused(ND, IPOIB_TO_ETH, p, sizeof(p), IPOIB_XLATE_BAD);
	}
	memcpy(p, ns_ib, sizeof(p));
	p[7] = 254; /* somebody forwarded it */
	refused(ND, IPOIB_TO_ETH, p, sizeof(p), IPOIB_XLATE_BAD);
	memcpy(p, ns_ib, sizeof(p));
	p[41] = 1; /* the code, with its checksum */
	p[43]--;
	refused(ND, IPOIB_TO_ETH, p, sizeof(p), IPOIB_XLATE_BAD);
	memcpy(p, ns_ib, sizeof(p));
	p[60] ^= 1; /* checksum */
	refused(ND, IPOIB_TO_ETH, p, sizeof(p), IPOIB_XLATE_BAD);
	memcpy(eth, ns_eth, sizeof(eth));
	eth[43] ^= 0x10;
	refused(ND, IPOIB_TO_IB, eth, sizeof(eth), IPOIB_XLATE_BAD);
}

/* Whatever lengths options have, the output stays within what was promised: the sanitizer judges. */
static void
nd_any_lengths(void **state)
{
	uint8_t p[120] = {0}, out[sizeof(p) + IPOIB_XLATE_GROWTH];
	unsigned int a, b, c, good = 0;

	(void)state;
	memcpy(p, ns_eth, 64);
	for (a = 0; a < 5; a++) {
		for (b = 0; b < 5; b++) {
			for (c = 0; c < 8; c++) {
				p[5] = (uint8_t)(24 + 8 * c);
				for (unsigned int at = 64; at < sizeof(p); at += 8) {
					p[at] = (uint8_t)(1 + (at / 8) % 2);
					p[at + 1] = (uint8_t)(at == 64 ? a : b);
					memcpy(p + at + 2, &our_mac, 6);
				}
				good += ipoib_nd(IPOIB_TO_IB, &book, false, p, sizeof(p), out) > 0;
				good += ipoib_nd(IPOIB_TO_ETH, &book, false, p, sizeof(p), out) > 0;
			}
		}
	}
	assert_true(good > 0);
}

static void
dhcp_both_ways(void **state)
{
	(void)state;
	BECOMES(DHCP, IPOIB_TO_IB, discover_eth, discover_ib);
	BECOMES(DHCP, IPOIB_TO_IB, named_eth, named_ib);
	BECOMES(DHCP, IPOIB_TO_ETH, offer_ib, offer_eth);
}

static void
dhcp_of_firmware(void **state)
{
	const struct ipoib_dhcp_with to = {.ether = true, .mac = peer_mac};
	uint8_t out[sizeof(offer_eth) + IPOIB_XLATE_GROWTH];

	(void)state;
	BECOMES(DHCP, IPOIB_TO_ETH, discover_peer, discover_eth);
	assert_int_equal(ipoib_dhcp(IPOIB_TO_IB, &to, true, offer_eth, sizeof(offer_eth), out), sizeof(offer_peer));
	assert_memory_equal(out, offer_peer, sizeof(offer_peer));
	refused(DHCP, IPOIB_TO_ETH, offer_peer, sizeof(offer_peer), IPOIB_XLATE_BAD);
}

static void
dhcp_refusals(void **state)
{
	uint8_t p[sizeof(discover_eth)];
	unsigned int at;

	(void)state;
	for (at = 20; at < sizeof(discover_eth); at++)
		refused(DHCP, IPOIB_TO_IB, discover_eth, at, IPOIB_XLATE_BAD);
	refused(DHCP, IPOIB_TO_IB, offer_ib, sizeof(offer_ib), IPOIB_XLATE_BAD);
	refused(DHCP, IPOIB_TO_ETH, offer_eth, sizeof(offer_eth), IPOIB_XLATE_BAD);
	/* Operation, hardware type and length; the magic number; the length of an option. UDP's checksum 0 says nothing. */
	for (at = 0; at < 5; at++) {
		static const unsigned int octets[] = {28, 29, 30, 28 + 236, 28 + 241};

		memcpy(p, discover_eth, sizeof(p));
		p[26] = p[27] = 0;
		p[octets[at]] ^= 0x44;
		refused(DHCP, IPOIB_TO_IB, p, sizeof(p), IPOIB_XLATE_BAD);
	}
	memcpy(p, discover_eth, sizeof(p));
	p[100] ^= 1;
	refused(DHCP, IPOIB_TO_IB, p, sizeof(p), IPOIB_XLATE_BAD);
}

static void
peeks(void **state)
{
	struct ipoib_dhcp_head h;

	(void)state;
	assert_true(ipoib_dhcp_peek(discover_eth, sizeof(discover_eth), &h));
	assert_int_equal(h.op, IPOIB_DHCP_REQUEST);
	assert_int_equal(h.htype, 1);
	assert_int_equal(h.xid, 0x12345678);
	assert_memory_equal(&h.chaddr, &our_mac, sizeof(our_mac));
	assert_false(ipoib_dhcp_peek(discover_eth, 200, &h));
}

static void
classes(void **state)
{
	(void)state;
#define CLASS(etype, p) ipoib_classify(etype, p, sizeof(p))
	assert_int_equal(CLASS(0x0806, arp_request_eth), IPOIB_ARP);
	assert_int_equal(CLASS(0x86dd, ns_eth), IPOIB_ND);
	assert_int_equal(CLASS(0x86dd, redirect_eth), IPOIB_ND);
	assert_int_equal(CLASS(0x0800, discover_eth), IPOIB_DHCP);
	assert_int_equal(CLASS(0x0800, offer_eth), IPOIB_DHCP);
	assert_int_equal(CLASS(0x0800, udp_eth), IPOIB_PLAIN);
	assert_int_equal(CLASS(0x0800, igmp2_report), IPOIB_SNOOP);
	assert_int_equal(CLASS(0x86dd, mld1_done), IPOIB_SNOOP);
	assert_int_equal(CLASS(0x86dd, mld2_report), IPOIB_SNOOP);
	assert_int_equal(CLASS(0x8100, udp_eth), IPOIB_MALFORMED);
	for (unsigned int n = 0; n < sizeof(udp_eth); n++)
		assert_int_equal(ipoib_classify(0x0800, udp_eth, n), IPOIB_MALFORMED);
	for (unsigned int n = 0; n < sizeof(mld2_report); n++)
		assert_int_equal(ipoib_classify(0x86dd, mld2_report, n), IPOIB_MALFORMED);
}

/* A UDP packet between two of its ports, with options of IP or not, and a part of a datagram. */
static enum ipoib_class
udp(uint16_t src, uint16_t dst, unsigned int words, uint16_t fragment, uint32_t len)
{
	uint8_t p[80] = {(uint8_t)(0x40 | words), 0, 0, 0, 0, 0, 0, 0, 64, 17};

	p[2] = (uint8_t)(len >> 8);
	p[3] = (uint8_t)len;
	p[6] = (uint8_t)(fragment >> 8);
	p[7] = (uint8_t)fragment;
	p[words * 4] = (uint8_t)(src >> 8);
	p[words * 4 + 1] = (uint8_t)src;
	p[words * 4 + 2] = (uint8_t)(dst >> 8);
	p[words * 4 + 3] = (uint8_t)dst;
	return ipoib_classify(0x0800, p, len);
}

/* DHCP is between ports 68 and 67 (RFC 2131, 4.1), relays ask from 67; a packet says how long it and its header are. */
static void
ports_tell_dhcp(void **state)
{
	static const struct {
		uint16_t src, dst;
		enum ipoib_class class;
	} row[] = {
		{68, 67, IPOIB_DHCP},  {67, 67, IPOIB_DHCP},  {67, 68, IPOIB_DHCP},      {68, 68, IPOIB_PLAIN},
		{66, 67, IPOIB_PLAIN}, {69, 67, IPOIB_PLAIN}, {66, 68, IPOIB_PLAIN},     {67, 69, IPOIB_PLAIN},
		{67, 66, IPOIB_PLAIN}, {68, 66, IPOIB_PLAIN}, {0x4344, 68, IPOIB_PLAIN},
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		assert_int_equal(udp(row[i].src, row[i].dst, 5, 0, 28), row[i].class);
		assert_int_equal(udp(row[i].src, row[i].dst, 15, 0, 68), row[i].class);
		/* What is one part of several is too long to be it; that it must not be parted says nothing. */
		assert_int_equal(udp(row[i].src, row[i].dst, 5, 0x2000, 28), IPOIB_PLAIN);
		assert_int_equal(udp(row[i].src, row[i].dst, 5, 0x0001, 28), IPOIB_PLAIN);
		assert_int_equal(udp(row[i].src, row[i].dst, 5, 0x1000, 28), IPOIB_PLAIN);
		assert_int_equal(udp(row[i].src, row[i].dst, 5, 0x4000, 28), row[i].class);
	}
	assert_int_equal(udp(68, 67, 5, 0, 27), IPOIB_MALFORMED);
	assert_int_equal(udp(68, 67, 15, 0, 67), IPOIB_MALFORMED);
	assert_int_equal(udp(68, 67, 4, 0, 28), IPOIB_MALFORMED);
}

/* Boot firmware is a client of Ethernet with addresses of six octets, and nothing else. */
static void
clients_of_firmware_have_six_octets(void **state)
{
	uint8_t p[sizeof(discover_eth)], *out;

	(void)state;
	for (unsigned int hlen = 5; hlen <= 7; hlen++) {
		memcpy(p, discover_eth, sizeof(p));
		p[26] = p[27] = 0;
		p[30] = (uint8_t)hlen;
		if (hlen == 6)
			assert_true(translate(DHCP, IPOIB_TO_ETH, p, sizeof(p), &out) > 0);
		else
			assert_int_equal(translate(DHCP, IPOIB_TO_ETH, p, sizeof(p), &out), IPOIB_XLATE_BAD);
		free(out);
	}
}

/* The header of IP may have options: 60 octets at most. */
static void
dhcp_behind_options(void **state)
{
	uint8_t p[sizeof(discover_eth) + 40], *out;
	uint16_t sum;
	int n;

	(void)state;
	memcpy(p, discover_eth, 20);
	memset(p + 20, 1, 40); /* no operation */
	memcpy(p + 60, discover_eth + 20, sizeof(discover_eth) - 20);
	p[0] = 0x4f;
	p[2] = (uint8_t)(sizeof(p) >> 8);
	p[3] = (uint8_t)sizeof(p);
	p[10] = p[11] = 0;
	sum = (uint16_t)~rte_raw_cksum(p, 60);
	memcpy(p + 10, &sum, sizeof(sum));
	n = translate(DHCP, IPOIB_TO_IB, p, sizeof(p), &out);
	assert_true(n >= (int)sizeof(p));
	assert_int_equal(out[2] << 8 | out[3], n);
	assert_int_equal(rte_raw_cksum(out, 60), 0xffff);
	assert_memory_equal(out + 20, p + 20, 44);
	assert_int_equal(out[64] << 8 | out[65], n - 60);
	assert_int_equal(out[60 + 8 + 1], 32); /* of InfiniBand (RFC 4390) */
	free(out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(arp_both_ways, setup),
		cmocka_unit_test_setup(arp_refusals, setup),
		cmocka_unit_test_setup(nd_both_ways, setup),
		cmocka_unit_test_setup(nd_refusals, setup),
		cmocka_unit_test_setup(nd_any_lengths, setup),
		cmocka_unit_test_setup(dhcp_both_ways, setup),
		cmocka_unit_test_setup(dhcp_of_firmware, setup),
		cmocka_unit_test_setup(dhcp_refusals, setup),
		cmocka_unit_test_setup(dhcp_behind_options, setup),
		cmocka_unit_test(peeks),
		cmocka_unit_test(classes),
		cmocka_unit_test(ports_tell_dhcp),
		cmocka_unit_test_setup(clients_of_firmware_have_six_octets, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
