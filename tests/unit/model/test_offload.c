/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The parser and the checksums, against frames that scapy built and damaged versions of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/frame/frame.h"
#include "model/roce/roce.h"
#include "frames.h"

static bool
good(const uint8_t *d, uint32_t len, uint32_t cut)
{
	struct tp_frame_seg seg[2] = {{.data = d, .len = cut}, {.data = d + cut, .len = len - cut}};
	struct tp_frame f = {.seg = seg, .nseg = 2, .len = len};
	struct tpm_pkt k;

	tpm_parse(d, len, len, &k);
	return tpm_csum_l4_good(&f, d, &k);
}

/* However the frame is cut in two, and whichever single bit of what the checksum covers is wrong. */
static void
verify(void **state)
{
	uint8_t d[128];

	for (uint32_t cut = 1; cut < sizeof(frame_udp4); cut++)
		assert_true(good(frame_udp4, sizeof(frame_udp4), cut));
	for (uint32_t cut = 1; cut < sizeof(frame_tcp6); cut++)
		assert_true(good(frame_tcp6, sizeof(frame_tcp6), cut));
	for (uint32_t bit = 34 * 8; bit < sizeof(frame_udp4) * 8; bit++) {
		memcpy(d, frame_udp4, sizeof(frame_udp4));
		d[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		assert_false(good(d, sizeof(frame_udp4), 40));
	}
	/* A UDP checksum of 0 says that there is none. */
	memcpy(d, frame_udp4, sizeof(frame_udp4));
	tpm_store16(d + 40, 0);
	assert_false(good(d, sizeof(frame_udp4), 40));
}

static void
parse(void **state)
{
	static const uint8_t tag[4] = {0x81, 0, 0x20, 0x64};
	uint8_t d[128];
	struct tpm_pkt k;

	tpm_parse(frame_udp4, sizeof(frame_udp4), sizeof(frame_udp4), &k);
	assert_int_equal(k.status, MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_UDP);
	assert_int_equal(k.l3, 14);
	assert_int_equal(k.l4, 34);
	assert_int_equal(k.l4_len, 23);
	memcpy(d, frame_tcp6, 12);
	memcpy(d + 12, tag, 4);
	memcpy(d + 16, frame_tcp6 + 12, sizeof(frame_tcp6) - 12);
	tpm_parse(d, sizeof(frame_tcp6) + 4, sizeof(frame_tcp6) + 4, &k);
	assert_int_equal(k.status, MLX4_CQE_ST_IPV6 | MLX4_CQE_ST_TCP);
	assert_true(k.cvlan);
	assert_int_equal(k.tci, 0x2064);
	/* Every shorter frame is parsed without a promise that it does not keep. */
	for (uint32_t n = 0; n < sizeof(frame_tcp6); n++) {
		tpm_parse(frame_tcp6, n, n, &k);
		assert_false(k.len_ok);
		assert_int_equal(k.status & (MLX4_CQE_ST_TCP | MLX4_CQE_ST_UDP), 0);
	}
	/* A fragment has no ports. */
	memcpy(d, frame_udp4, sizeof(frame_udp4));
	d[20] = 0x20;
	tpm_parse(d, sizeof(frame_udp4), sizeof(frame_udp4), &k);
	assert_int_equal(k.status, MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_IPV4_FRAG);
	assert_true(k.frag);
}

/* The check value of CRC-32 (IEEE 802.3) is 0xcbf43926. */
static void
fcs(void **state)
{
	assert_int_equal(tpm_crc32(0, (const uint8_t *)"123456789", 9), 0xcbf43926);
	assert_int_equal(tpm_crc32(tpm_crc32(0, (const uint8_t *)"1234", 4), (const uint8_t *)"56789", 5), 0xcbf43926);
}

/* The fast sum against the plain one, at every length and alignment up to a few words. */
static void
sums(void **state)
{
	uint8_t d[80];

	for (unsigned int i = 0; i < sizeof(d); i++)
		d[i] = (uint8_t)(i * 151 + 13);
	for (uint32_t off = 0; off < 9; off++)
		for (uint32_t n = 0; n < 70; n++)
			assert_int_equal(tpm_csum_fold(tpm_csum_bytes(0, d + off, n)) % 0xffff,
					 plain_sum(0, d + off, n) % 0xffff);
}

/* The same packets behind the four octets of IPoIB (RFC 4391, 6): type, and two that are 0. */
static void
ipoib(void **state)
{
	const uint32_t len4 = sizeof(frame_udp4) - 10, len6 = sizeof(frame_tcp6) - 10;
	uint32_t good4 = (uint32_t)(MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_UDP | MLX4_CQE_ST_IP_OK) << 16 | MLX4_CQE_L4_OK;
	uint8_t d[128] = {0};
	uint16_t sum = 7;

	memcpy(d, frame_udp4 + 12, 2);
	memcpy(d + 4, frame_udp4 + 14, sizeof(frame_udp4) - 14);
	assert_int_equal(tpm_ipoib_status(d, len4, &sum) & ~UINT32_C(0xff00), good4);
	assert_int_equal(sum, 0xffff);
	for (unsigned int i = 0; i < 4; i++) {
		d[i] ^= 0x40;
		assert_int_equal(tpm_ipoib_status(d, len4, &sum), 0);
		assert_int_equal(sum, 0);
		d[i] ^= 0x40;
	}
	/* The header alone, and nothing. */
	assert_int_equal(tpm_ipoib_status(d, 4, &sum), 0);
	assert_int_equal(tpm_ipoib_status(d, 0, &sum), 0);
	d[4 + 20 + 8] ^= 1;
	assert_int_equal(tpm_ipoib_status(d, len4, &sum) & ~UINT32_C(0xff00), good4 & ~MLX4_CQE_L4_OK);
	assert_int_equal(sum, 0);
	d[4 + 12] ^= 1;
	assert_int_equal(tpm_ipoib_status(d, len4, &sum) >> 16, MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_UDP);
	memcpy(d, frame_tcp6 + 12, 2);
	memcpy(d + 4, frame_tcp6 + 14, sizeof(frame_tcp6) - 14);
	assert_int_equal(tpm_ipoib_status(d, len6, &sum) >> 16, MLX4_CQE_ST_IPV6 | MLX4_CQE_ST_TCP | MLX4_CQE_ST_IP_OK);
	assert_int_equal(sum, 0xffff);
}

/* What sums of other protocols are made of: IPv4 as if it were TCP or UDP, IPv6 from the length of its payload on. */
static void
partial(void **state)
{
	const uint8_t *h = frame_udp4 + 14, *h6 = frame_tcp6 + 14;
	struct tp_frame_seg seg = {.data = frame_udp4, .len = sizeof(frame_udp4)};
	struct tp_frame f = {.seg = &seg, .nseg = 1, .len = sizeof(frame_udp4)};
	struct tpm_pkt k;

	tpm_parse(frame_udp4, sizeof(frame_udp4), sizeof(frame_udp4), &k);
	assert_int_equal(tpm_csum_partial(&f, frame_udp4, &k), plain_sum(17 + 23, h + 12, 8 + 23));
	k.len_ok = false;
	assert_int_equal(tpm_csum_partial(&f, frame_udp4, &k), 0);
	k.len_ok = true;
	k.l4 = 0;
	assert_int_equal(tpm_csum_partial(&f, frame_udp4, &k), 0);
	seg = (struct tp_frame_seg){.data = frame_tcp6, .len = sizeof(frame_tcp6)};
	f.len = sizeof(frame_tcp6);
	tpm_parse(frame_tcp6, sizeof(frame_tcp6), sizeof(frame_tcp6), &k);
	assert_int_equal(tpm_csum_partial(&f, frame_tcp6, &k),
			 plain_sum((uint32_t)(h6[4] << 8 | h6[5]), h6 + 8, 32 + 23));
}

/* No CRC of RoCE in what is too short for its headers, or is no UDP. */
static void
no_icrc(void **state)
{
	struct tp_frame_seg seg = {.data = frame_udp4, .len = sizeof(frame_udp4)};
	struct tp_frame f = {.seg = &seg, .nseg = 1};
	uint8_t crc[4];

	for (f.len = 14; f.len < 14 + 20 + 8 + 12 + 4; f.len++) {
		seg.len = f.len < sizeof(frame_udp4) ? f.len : (uint32_t)sizeof(frame_udp4);
		f.len = seg.len;
		assert_false(tpm_icrc(&f, crc));
		if (f.len == sizeof(frame_udp4))
			break;
	}
	f.len = seg.len = sizeof(frame_tcp6);
	seg.data = frame_tcp6;
	assert_false(tpm_icrc(&f, crc));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(verify), cmocka_unit_test(parse), cmocka_unit_test(fcs),
					   cmocka_unit_test(sums),   cmocka_unit_test(ipoib), cmocka_unit_test(partial),
					   cmocka_unit_test(no_icrc)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
