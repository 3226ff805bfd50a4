/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What the card's parser sees in a frame, at the edges of each header: lengths by RFC 791, 8200, 768 and 9293, tags by IEEE
 * 802.1Q, types and lengths by 802.3 [DP 6.3, 8.3].
 */
#include "harness.h"

#include <string.h>

#include "model/frame/frame.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
enum { V4 = 0x40, FRAG = 0x80, V6 = 0x100, OPT = 0x200, TCP = 0x400, UDP = 0x800 }; /* bits of a CQE [DP 6.2] */

static uint8_t frame[256];
static struct tpm_pkt k;

static void
put16(uint32_t at, uint32_t v)
{
	frame[at] = (uint8_t)(v >> 8);
	frame[at + 1] = (uint8_t)v;
}

static void
parse(uint32_t hlen, uint32_t len)
{
	memset(&k, 0xa5, sizeof(k));
	tpm_parse(frame, hlen, len, &k);
}

static void
test_ipv4(void **state)
{
	static const struct {
		uint8_t ver_ihl, proto;
		uint16_t total, frag, hlen, len;
		/* wanted */
		uint16_t status, l4;
		uint32_t l4_len;
		bool ok;
	} row[] = {
		{0x45, 17, 28, 0, 60, 60, V4 | UDP, 34, 8, true},
		{0x45, 17, 46, 0, 60, 60, V4 | UDP, 34, 26, true}, /* to the end of the frame */
		{0x45, 17, 47, 0, 60, 60, V4, 0, 0, false},        /* and beyond it */
		{0x45, 17, 47, 0, 60, 61, V4 | UDP, 34, 27, true},
		{0x45, 17, 27, 0, 60, 60, V4, 34, 7, true}, /* UDP has 8 octets */
		{0x45, 17, 20, 0, 60, 60, V4, 34, 0, true},
		{0x45, 17, 19, 0, 60, 60, V4, 0, 0, false}, /* shorter than its header */
		{0x45, 6, 40, 0, 60, 60, V4 | TCP, 34, 20, true},
		{0x45, 6, 39, 0, 60, 60, V4, 34, 19, true}, /* TCP has 20 */
		{0x45, 1, 40, 0, 60, 60, V4, 34, 20, true},
		{0x45, 132, 40, 0, 60, 60, V4, 34, 20, true},
		/* what is looked at ends inside of a header */
		{0x45, 17, 28, 0, 33, 60, V4, 0, 0, false},
		{0x45, 17, 28, 0, 34, 60, V4, 34, 8, true},
		{0x45, 17, 28, 0, 41, 60, V4, 34, 8, true},
		{0x45, 17, 28, 0, 42, 60, V4 | UDP, 34, 8, true},
		{0x45, 6, 40, 0, 53, 60, V4, 34, 20, true},
		{0x45, 6, 40, 0, 54, 60, V4 | TCP, 34, 20, true},
		/* options */
		{0x44, 17, 28, 0, 60, 60, V4, 0, 0, false},
		{0x46, 17, 32, 0, 60, 60, V4 | OPT | UDP, 38, 8, true},
		{0x46, 17, 23, 0, 60, 60, V4, 0, 0, false},
		{0x46, 17, 24, 0, 60, 60, V4 | OPT, 38, 0, true},
		{0x46, 17, 32, 0, 37, 60, V4, 0, 0, false},
		{0x46, 17, 32, 0, 38, 60, V4 | OPT, 38, 8, true},
		{0x4f, 17, 68, 0, 90, 90, V4 | OPT | UDP, 74, 8, true},
		{0x55, 17, 28, 0, 60, 60, V4, 0, 0, false}, /* another version */
		{0x65, 17, 28, 0, 60, 60, V4, 0, 0, false},
		{0x05, 17, 28, 0, 60, 60, V4, 0, 0, false},
		/* fragments: more to come, or not the first; "do not" and the reserved bit make none */
		{0x45, 17, 28, 0x2000, 60, 60, V4 | FRAG, 34, 8, true},
		{0x45, 6, 40, 0x0001, 60, 60, V4 | FRAG, 34, 20, true},
		{0x45, 17, 28, 0x1000, 60, 60, V4 | FRAG, 34, 8, true},
		{0x45, 17, 28, 0x4000, 60, 60, V4 | UDP, 34, 8, true},
		{0x45, 17, 28, 0x8000, 60, 60, V4 | UDP, 34, 8, true},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		memset(frame, 0, sizeof(frame));
		put16(12, 0x0800);
		frame[14] = row[i].ver_ihl;
		put16(16, row[i].total);
		put16(20, row[i].frag);
		frame[23] = row[i].proto;
		parse(row[i].hlen, row[i].len);
		assert_int_equal(k.etype, 0x0800);
		assert_int_equal(k.l3, 14);
		if (k.status != row[i].status || k.l4 != row[i].l4 || k.l4_len != row[i].l4_len ||
		    k.len_ok != row[i].ok)
			fail_msg("row %u: status 0x%x, l4 %u, %u octets, %u", i, k.status, k.l4, k.l4_len, k.len_ok);
		assert_int_equal(k.proto, row[i].ok ? row[i].proto : 0);
		assert_int_equal(k.frag, (row[i].status & FRAG) != 0);
		assert_int_equal(k.ext, 0);
		assert_int_equal(k.enc, 0);
	}
}

/* Headers that may come between that of IPv6 and the next protocol: 8 octets, and 8 for each that the second one counts. */
static void
test_ipv6(void **state)
{
	static const struct {
		uint8_t first;
		uint8_t ext[10][2]; /* next header, length; as many as there are */
		unsigned int num;
		uint16_t payload, hlen, len;
		/* wanted */
		uint16_t status, l4;
		uint32_t l4_len;
		uint8_t proto;
		bool ok, frag;
	} row[] = {
		{17, {{0}}, 0, 8, 62, 62, V6 | UDP, 54, 8, 17, true, false},
		{17, {{0}}, 0, 9, 62, 62, V6, 0, 0, 0, false, false},
		{17, {{0}}, 0, 7, 62, 62, V6, 54, 7, 17, true, false},
		{17, {{0}}, 0, 8, 53, 62, V6, 0, 0, 0, false, false},
		{17, {{0}}, 0, 8, 54, 62, V6, 54, 8, 17, true, false},
		{17, {{0}}, 0, 8, 61, 62, V6, 54, 8, 17, true, false},
		{6, {{0}}, 0, 20, 74, 74, V6 | TCP, 54, 20, 6, true, false},
		{6, {{0}}, 0, 20, 73, 74, V6, 54, 20, 6, true, false},
		{58, {{0}}, 0, 20, 74, 74, V6, 54, 20, 58, true, false},
		/* hop by hop, routing, destination; of 8 and of 24 octets */
		{0, {{17, 0}}, 1, 16, 70, 70, V6 | UDP, 62, 8, 17, true, false},
		{43, {{6, 2}}, 1, 44, 98, 98, V6 | TCP, 78, 20, 6, true, false},
		{60, {{17, 0}}, 1, 16, 70, 70, V6 | UDP, 62, 8, 17, true, false},
		{0, {{43, 0}, {60, 1}, {17, 0}}, 3, 40, 94, 94, V6 | UDP, 86, 8, 17, true, false},
		/* what it counts is not there, or not looked at */
		{0, {{17, 1}}, 1, 15, 69, 69, V6, 0, 0, 0, true, false},
		{0, {{17, 1}}, 1, 16, 70, 70, V6, 70, 0, 17, true, false},
		{0, {{17, 0}}, 1, 7, 61, 61, V6, 0, 0, 0, true, false},
		{0, {{17, 0}}, 1, 16, 61, 70, V6, 0, 0, 0, true, false},
		{0, {{17, 0}}, 1, 16, 62, 70, V6, 62, 8, 17, true, false},
		{0, {{17, 1}}, 1, 24, 69, 78, V6, 0, 0, 0, true, false},
		{0, {{17, 1}}, 1, 24, 70, 78, V6, 70, 8, 17, true, false},
		/* a fragment has 8 octets whatever the second one says */
		{44, {{17, 9}}, 1, 16, 70, 70, V6, 62, 8, 17, true, true},
		{0, {{44, 0}, {6, 0}}, 2, 36, 90, 90, V6, 70, 20, 6, true, true},
		{44, {{17, 0}}, 1, 7, 61, 61, V6, 0, 0, 0, true, false},
		/* eight are passed, a ninth is what follows */
		{0,
		 {{0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {17, 0}},
		 8,
		 72,
		 126,
		 126,
		 V6 | UDP,
		 118,
		 8,
		 17,
		 true,
		 false},
		{0,
		 {{0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {60, 0}, {17, 0}},
		 9,
		 80,
		 134,
		 134,
		 V6,
		 118,
		 16,
		 60,
		 true,
		 false},
		/* authentication and ESP are no such headers */
		{51, {{17, 0}}, 1, 16, 70, 70, V6, 54, 16, 51, true, false},
		{50, {{17, 0}}, 1, 16, 70, 70, V6, 54, 16, 50, true, false},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		uint32_t at = 54;

		memset(frame, 0, sizeof(frame));
		put16(12, 0x86dd);
		frame[14] = 0x60;
		put16(18, row[i].payload);
		frame[20] = row[i].first;
		for (unsigned int e = 0; e < row[i].num; e++) {
			frame[at] = row[i].ext[e][0];
			frame[at + 1] = row[i].ext[e][1];
			at += 8u + 8u * row[i].ext[e][1];
		}
		parse(row[i].hlen, row[i].len);
		assert_int_equal(k.l3, 14);
		if (k.status != row[i].status || k.l4 != row[i].l4 || k.l4_len != row[i].l4_len ||
		    k.proto != row[i].proto || k.len_ok != row[i].ok || k.frag != row[i].frag)
			fail_msg("row %u: status 0x%x, l4 %u, %u octets of %u, %u %u", i, k.status, k.l4, k.l4_len,
				 k.proto, k.len_ok, k.frag);
		assert_int_equal(k.ext, row[i].frag ? 0x10 : 0);
	}
	/* Another version. */
	parse(70, 70);
	assert_true(k.len_ok);
	frame[14] = 0x50;
	parse(70, 70);
	assert_int_equal(k.status, V6);
	assert_false(k.len_ok);
}

static void
test_tags(void **state)
{
	static const struct {
		uint16_t tag[4], tci[4]; /* types and control information; the last type is the frame's */
		uint16_t hlen;
		uint16_t etype, l3;
		uint8_t tags;
		bool cvlan;
	} row[] = {
		{{0x88b5}, {0}, 60, 0x88b5, 14, 0, false},
		{{0x8100, 0x88b5}, {0xe123}, 60, 0x88b5, 18, 1, true},
		{{0x88a8, 0x88b5}, {0xe123}, 60, 0x88b5, 18, 1, false},
		{{0x88a8, 0x8100, 0x88b5}, {0xe123, 0x0456}, 60, 0x88b5, 22, 2, false},
		{{0x8100, 0x8100, 0x88b5}, {0xe123, 0x0456}, 60, 0x88b5, 22, 2, true},
		{{0x8100, 0x88a8, 0x88b5}, {0xe123, 0x0456}, 60, 0x88b5, 22, 2, true},
		{{0x8100, 0x8100, 0x8100, 0x88b5}, {0xe123, 1, 2}, 60, 0x8100, 22, 2, true},
		{{0x8100, 0x88b5}, {0xe123}, 18, 0x88b5, 18, 1, true},
		{{0x8100, 0x88b5}, {0xe123}, 17, 0x8100, 14, 0, false},
		{{0x8100, 0x8100, 0x88b5}, {0xe123, 1}, 21, 0x8100, 18, 1, true},
		{{0x9100, 0x88b5}, {0xe123}, 60, 0x9100, 14, 0, false},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		memset(frame, 0, sizeof(frame));
		for (unsigned int t = 0; t < 4; t++) {
			put16(12 + 4 * t, row[i].tag[t]);
			put16(14 + 4 * t, row[i].tci[t]);
		}
		parse(row[i].hlen, 60);
		assert_int_equal(k.etype, row[i].etype);
		assert_int_equal(k.l3, row[i].l3);
		assert_int_equal(k.tags, row[i].tags);
		assert_int_equal(k.cvlan, row[i].cvlan);
		assert_int_equal(k.tci, row[i].cvlan ? 0xe123 : 0);
		assert_int_equal(k.status, 0);
	}
	/* Less than an Ethernet header is nothing. */
	parse(13, 60);
	assert_int_equal(k.etype, 0);
	assert_int_equal(k.l3, 0);
	put16(12, 0x0800);
	parse(14, 60);
	assert_int_equal(k.etype, 0x0800);
	/* IP behind two tags. */
	memset(frame, 0, sizeof(frame));
	put16(12, 0x88a8);
	put16(16, 0x8100);
	put16(20, 0x0800);
	frame[22] = 0x45;
	put16(24, 28);
	frame[31] = 17;
	parse(60, 60);
	assert_int_equal(k.l4, 42);
	assert_int_equal(k.status, V4 | UDP);
}

/* Below 0x600 the type is a length, and 802.2 follows: with SNAP an Ethernet type, else nothing that the card knows. */
static void
test_lengths(void **state)
{
	static const struct {
		uint16_t type;
		uint8_t llc[8];
		uint16_t hlen;
		uint8_t enc;
		uint16_t etype, l3;
	} row[] = {
		{0x600, {0xaa, 0xaa, 3, 0, 0, 0, 8, 0}, 60, 0, 0x600, 14},
		{0x5ff, {0xaa, 0xaa, 3, 0, 0, 0, 8, 0}, 60, 3, 0x0800, 22},
		{46, {0xaa, 0xaa, 3, 0, 0, 0, 8, 0}, 60, 3, 0x0800, 22},
		{46, {0xaa, 0xaa, 3, 0, 0, 0, 8, 0}, 22, 3, 0x0800, 22},
		{46, {0xaa, 0xaa, 3, 0, 0, 0, 8, 0}, 21, 1, 46, 0},
		{46, {0xab, 0xaa, 3, 0, 0, 0, 8, 0}, 60, 1, 46, 0},
		{46, {0xaa, 0xab, 3, 0, 0, 0, 8, 0}, 60, 1, 46, 0},
		{46, {0xaa, 0xaa, 2, 0, 0, 0, 8, 0}, 60, 1, 46, 0},
		{46, {0x42, 0x42, 3, 0, 0, 0, 8, 0}, 60, 1, 46, 0},
		{46, {0xaa, 0xaa, 3, 9, 9, 9, 0x88, 0xb5}, 60, 3, 0x88b5, 22},
		{0, {0}, 60, 1, 0, 0},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		memset(frame, 0, sizeof(frame));
		put16(12, row[i].type);
		memcpy(frame + 14, row[i].llc, 8);
		frame[22] = 0x45;
		put16(24, 28);
		frame[31] = 17;
		parse(row[i].hlen, 60);
		assert_int_equal(k.enc, row[i].enc);
		assert_int_equal(k.etype, row[i].etype);
		assert_int_equal(k.l3, row[i].l3);
		assert_int_equal(k.status, row[i].etype != 0x0800 ? 0 : row[i].hlen == 60 ? V4 | UDP : V4);
	}
}

/* A frame in pieces: octets from anywhere, and its first ones together. */
static void
test_pieces(void **state)
{
	uint8_t data[600], buf[256], got[600];
	struct tp_frame_seg seg[4];
	const struct tp_frame f = {.seg = seg, .nseg = 4, .len = 600};
	uint32_t hlen;

	(void)state;
	for (unsigned int i = 0; i < 600; i++)
		data[i] = (uint8_t)(i * 7 + i / 256);
	for (uint32_t a = 1; a < 300; a += 13) {
		const uint32_t cut[5] = {0, a, a + 1, a + 200, 600};

		for (unsigned int i = 0; i < 4; i++)
			seg[i] = (struct tp_frame_seg){data + cut[i], cut[i + 1] - cut[i]};
		for (uint32_t off = 0; off < 600; off += 37)
			for (uint32_t len = 0; off + len <= 600; len += 41) {
				memset(got, 0, sizeof(got));
				tpm_frame_copy(&f, off, got, len);
				assert_memory_equal(got, data + off, len);
				assert_int_equal(len < 600 ? got[len] : 0, 0);
			}
		/* What is in one piece is not copied. */
		assert_ptr_equal(tpm_frame_head(&f, buf, &hlen), a >= 256 ? data : buf);
		assert_int_equal(hlen, 256);
		if (a < 256)
			assert_memory_equal(buf, data, 256);
	}
	{
		const struct tp_frame tiny = {.seg = seg, .nseg = 1, .len = 60};

		seg[0].len = 60;
		assert_ptr_equal(tpm_frame_head(&tiny, buf, &hlen), data);
		assert_int_equal(hlen, 60);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),    cmocka_unit_test(test_ipv6),   cmocka_unit_test(test_tags),
		cmocka_unit_test(test_lengths), cmocka_unit_test(test_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
