/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What triplane-check reads and makes: records of stages, frames as scapy has them, vital product data, identities to be hidden. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps/check/check.h"
#include "apps/check/stage/frame.h"
#include "apps/check/stage/vpd.h"
#include "check_frames.h"

static void
records(void **state)
{
	static const char *const bad[] = {
		"",       "pass", "pass\tname", "nope\tname\ttext", "pass\ta\tb\tc", "passpasspasspass\ta\tb",
		"\ta\tb", "step"};
	struct ck_record r = {.kind = CK_WARN, .name = "pcie-link", .text = "x4:\tnarrow\nand \x7fmore\xb2"}, back;
	char line[CK_NAME + CK_TEXT + 16], longer[CK_NAME + 32];
	unsigned int i;

	(void)state;
	ck_record_format(line, &r);
	assert_string_equal(line, "warn\tpcie-link\tx4: narrow and  more?\n");
	line[strlen(line) - 1] = '\0';
	assert_int_equal(ck_record_parse(line, &back), 0);
	assert_int_equal(back.kind, CK_WARN);
	assert_string_equal(back.name, "pcie-link");
	assert_string_equal(back.text, "x4: narrow and  more?");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(ck_record_parse(bad[i], &back), -EINVAL);
	/* The longest of both, and a name that is one too long. */
	memset(&r, 0, sizeof(r));
	memset(r.name, 'n', CK_NAME - 1);
	memset(r.text, 't', CK_TEXT - 1);
	ck_record_format(line, &r);
	line[strlen(line) - 1] = '\0';
	assert_int_equal(ck_record_parse(line, &back), 0);
	assert_memory_equal(&back, &r, sizeof(r));
	snprintf(longer, sizeof(longer), "pass\tx%s\t", r.name);
	assert_int_equal(ck_record_parse(longer, &back), -EINVAL);
}

static struct frame_spec
spec(uint16_t type, uint8_t proto, uint32_t payload)
{
	struct frame_spec s = {.dst = {2, 0, 0, 0, 0, 2},
			       .src = {2, 0, 0, 0, 0, 1},
			       .type = type,
			       .proto = proto,
			       .sport = 4000,
			       .dport = 5000,
			       .mark = 0x1234,
			       .payload = payload};
	static const uint8_t v4[2][4] = {{192, 0, 2, 1}, {192, 0, 2, 2}};
	static const uint8_t v6[2][16] = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}, {0x20, 0x01, 0x0d, 0xb8, [15] = 2}};

	memcpy(s.ip_src, type == FRAME_IPV6 ? v6[0] : v4[0], type == FRAME_IPV6 ? 16 : 4);
	memcpy(s.ip_dst, type == FRAME_IPV6 ? v6[1] : v4[1], type == FRAME_IPV6 ? 16 : 4);
	return s;
}

/* The same headers as scapy's; the payload is another, and so the transport's checksum: that one is compared by the parser. */
static void
same_headers(const struct frame_spec *s, const uint8_t *want, size_t len)
{
	static struct frame f;
	struct frame_view v;
	uint32_t at, sum;

	frame_make(&f, s);
	assert_int_equal(f.len, len);
	at = f.l2_len + f.l3_len;
	sum = at + (s->proto == FRAME_TCP ? 16 : 6);
	assert_memory_equal(f.b, want, sum);
	assert_memory_equal(f.b + sum + 2, want + sum + 2, f.l2_len + f.l3_len + f.l4_len - sum - 2);
	assert_true(frame_parse(f.b, f.len, &v) && v.ip_sum && v.l4_sum && v.lengths);
	/* With scapy's payload in it the checksums are scapy's. */
	memcpy(f.b + at + f.l4_len, want + at + f.l4_len, s->payload);
	assert_true(frame_parse(f.b, f.len, &v));
	assert_int_equal(v.l4_sum, s->payload == 0);
	memcpy(f.b + sum, want + sum, 2);
	assert_true(frame_parse(f.b, f.len, &v) && v.l4_sum);
	assert_memory_equal(f.b, want, len);
}

static void
made(void **state)
{
	struct frame_spec s = spec(FRAME_IPV4, FRAME_UDP, 100);

	(void)state;
	same_headers(&s, made_udp4, sizeof(made_udp4));
	s = spec(FRAME_IPV4, FRAME_TCP, 99);
	s.seq = 0xfffffff0u;
	same_headers(&s, made_tcp4, sizeof(made_tcp4));
	s = spec(FRAME_IPV6, FRAME_UDP, 1);
	s.vlan = true;
	s.tci = 0xa123;
	same_headers(&s, made_udp6, sizeof(made_udp6));
	s = spec(FRAME_IPV6, FRAME_TCP, 0);
	s.seq = 7;
	same_headers(&s, made_tcp6, sizeof(made_tcp6));
	assert_int_equal(frame_fcs(made_udp4, sizeof(made_udp4)), FCS_UDP4);
	assert_int_equal(frame_fcs(made_tcp6, sizeof(made_tcp6)), FCS_TCP6);
}

/* Each octet of headers and payload that is wrong is noticed by a checksum, a length or a field; nothing is read behind the end. */
static void
parsed(void **state)
{
	struct frame_view v;
	uint8_t b[sizeof(made_tcp4)], *cut;
	uint32_t i;

	(void)state;
	assert_true(frame_parse(made_udp6, sizeof(made_udp6), &v));
	assert_int_equal(v.tags, 1);
	assert_int_equal(v.tci, 0xa123);
	assert_int_equal(v.type, FRAME_IPV6);
	assert_int_equal(v.payload_len, 1);
	assert_int_equal(v.dport, 5000);
	assert_true(frame_parse(made_tcp4, sizeof(made_tcp4), &v) && v.ip_sum && v.l4_sum && v.lengths);
	assert_int_equal(v.seq, 0xfffffff0u);
	assert_int_equal(v.ip_id, 0x1234);
	assert_int_equal(v.tcp_flags, 0x18);
	assert_int_equal(v.payload[98], 33 + 98);
	for (i = 14; i < sizeof(b); i++) {
		memcpy(b, made_tcp4, sizeof(b));
		b[i] ^= 0x21;
		assert_false(frame_parse(b, sizeof(b), &v) && v.ip_sum && v.l4_sum && v.lengths &&
			     v.proto == FRAME_TCP);
	}
	for (i = 0; i < sizeof(made_tcp4); i++) {
		cut = malloc(i + 1);
		assert_non_null(cut);
		memcpy(cut + 1, made_tcp4, i);
		assert_false(frame_parse(cut + 1, i, &v) && v.lengths && v.payload_len == 99);
		free(cut);
	}
}

struct said {
	char text[256];
};

static void
on_field(void *arg, const char *key, const char *text, size_t len)
{
	struct said *s = arg;
	const size_t at = strlen(s->text);

	snprintf(s->text + at, sizeof(s->text) - at, "%s=%.*s;", key, (int)len, text);
}

/* A name, a read-only part with its checksum octet, an end (PCI 3.0, appendix I). */
static void
vital(void **state)
{
	uint8_t v[] = {0x82, 4, 0, 'C', 'a', 'r', 'd', 0x90, 10, 0, 'S', 'N', 3, 'a', 'b', 'c', 'R', 'V', 1, 0, 0x78};
	struct said s = {""};
	uint8_t sum = 0;
	unsigned int i;

	(void)state;
	v[8] = 10;
	for (i = 0; i < 19; i++)
		sum = (uint8_t)(sum + v[i]);
	v[19] = (uint8_t)-sum;
	assert_int_equal(vpd_parse(v, sizeof(v), on_field, &s), 0);
	assert_string_equal(s.text, "ID=Card;SN=abc;");
	v[14]++;
	assert_int_equal(vpd_parse(v, sizeof(v), on_field, &s), -EBADMSG);
	v[14]--;
	for (i = 0; i < sizeof(v); i++)
		assert_int_not_equal(vpd_parse(v, i, on_field, &s), 0);
	v[12] = 200;
	assert_int_equal(vpd_parse(v, sizeof(v), on_field, &s), -EINVAL);
}

static unsigned int
hidden(char *text, size_t len)
{
	static const struct ck_secret s[] = {{"mac", {0x00, 0x02, 0xc9, 0xa1, 0xb2, 0x01}, 6},
					     {"serial", {'M', 'T', '1', '2'}, 4}};

	return ck_scrub((uint8_t *)text, len, s, 2);
}

static void
scrubbed(void **state)
{
	static const struct {
		const char *is, *becomes;
		unsigned int n;
	} t[] = {
		{"mac 00:02:c9:a1:b2:01.", "mac 00:00:00:00:00:00.", 1},
		{"0x0002C9a1B201", "0x000000000000", 1},
		{"xx0002c9a1b2010002c9a1b201", "xx000000000000000000000000", 2},
		{"00-02-c9-a1-b2-01 0002.c9a1.b201", "00-00-00-00-00-00 0000.0000.0000", 2},
		{"00000002 c9a1b201 00000000", "00000000 00000000 00000000", 1},
		{"00:02:c9:a1:b2:02", "00:02:c9:a1:b2:02", 0},
		{"00:02:c9:a1:b2:0", "00:02:c9:a1:b2:0", 0},
		{"serial MT12, MT13", "serial xxxx, MT13", 1},
		{"", "", 0},
	};
	char text[64];
	uint8_t octets[9] = {9, 0x00, 0x02, 0xc9, 0xa1, 0xb2, 0x01, 9, 9};
	static const uint8_t none[9] = {9, 0, 0, 0, 0, 0, 0, 9, 9};
	struct ck_record r = {.kind = CK_ID, .name = "mac", .text = "0002c9a1b201"};
	struct ck_secret s;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		strcpy(text, t[i].is);
		assert_int_equal(hidden(text, strlen(text)), t[i].n);
		assert_string_equal(text, t[i].becomes);
	}
	assert_int_equal(hidden((char *)octets, sizeof(octets)), 1);
	assert_memory_equal(octets, none, sizeof(none));
	assert_true(ck_secret_of(&s, &r));
	assert_int_equal(s.len, 6);
	assert_int_equal(s.octets[5], 1);
	strcpy(r.text, "0002c9a1b20");
	assert_false(ck_secret_of(&s, &r));
	strcpy(r.text, "0002c9a1b20x");
	assert_false(ck_secret_of(&s, &r));
	strcpy(r.text, "");
	assert_false(ck_secret_of(&s, &r));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records), cmocka_unit_test(made),     cmocka_unit_test(parsed),
		cmocka_unit_test(vital),   cmocka_unit_test(scrubbed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
