/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Each way of this CPU to copy a frame and to sum it up, on frames of all kinds: the copy is the frame, nothing beside it is written,
 * nothing behind it is read, and the checksum is right when 16-bit words, the slow way, say so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>

#include "model/frame/alike.h"

#include "frames.h"

#define ROUNDS 4000u
#define ROOM 16384u
#define LONGEST 9612u
#define GUARD 128u
#define HEADERS 80u /* at most */

static uint64_t dice = 5;

static uint32_t
below(uint32_t n)
{
	return (uint32_t)(tpm_random(&dice) >> 33) % n;
}

/* Octets that bring no carries, one at each step, or some. */
static void
fill(uint8_t *d, uint32_t len, unsigned int how)
{
	for (uint32_t i = 0; i < len; i++)
		d[i] = how == 0   ? 0
		       : how == 1 ? 0xff
		       : how == 2 ? (uint8_t)((i / 8 % 2) * 0xff)
		       : how == 3 ? (uint8_t)((i % 2) * 0xff)
		       : how == 4 ? (uint8_t)(0x7f + below(3))
				  : (uint8_t)below(256);
}

/* A frame whose checksum is right. */
static void
make(uint8_t *d, uint32_t len, uint32_t padding, unsigned int how)
{
	static const uint8_t v4[12] = {0x45, 0, 0, 0, 0, 7, 0, 0, 64, 0, 0, 0};
	const bool v6 = below(2) != 0, udp = below(2) != 0;
	const uint32_t l4 = v6 ? 54 : 34, end = len - padding, sum_at = l4 + (udp ? 6 : 16);
	const uint8_t proto = udp ? TPM_PROTO_UDP : TPM_PROTO_TCP;
	uint16_t sum;

	fill(d, len, how);
	tpm_store16(d + 12, v6 ? TPM_ETYPE_IPV6 : TPM_ETYPE_IPV4);
	if (v6) {
		prm_set32(d, 14, 0x60000000);
		tpm_store16(d + 18, (uint16_t)(end - l4));
		d[20] = proto;
	} else {
		memcpy(d + 14, v4, sizeof(v4));
		tpm_store16(d + 16, (uint16_t)(end - 14));
		d[23] = proto;
	}
	if (udp)
		tpm_store16(d + l4 + 4, (uint16_t)(end - l4));
	tpm_store16(d + sum_at, 0);
	sum = (uint16_t)~plain_sum(plain_sum(proto + end - l4, d + (v6 ? 22 : 26), v6 ? 32 : 8), d + l4, end - l4);
	tpm_store16(d + sum_at, sum == 0 ? 0xffff : sum);
}

static void
each_way(void **state)
{
	uint8_t *room = mmap(NULL, ROOM + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static uint8_t to[LONGEST + 2 * GUARD + 64], want[sizeof(to)];
	unsigned int wrong = 0;

	(void)state;
	assert_true(room != MAP_FAILED);
	assert_int_equal(mprotect(room + ROOM, 4096, PROT_NONE), 0);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		const uint32_t most = below(8) == 0 ? LONGEST : 2200, len = 600 + below(most - 600);
		const uint32_t padding = below(3) == 0 ? below(33) : 0;
		/* At the very end of what can be read, or wherever. */
		uint8_t *d = room + ROOM - len - (below(2) != 0 ? below(64) : 0), *dst = to + GUARD + below(64);
		struct tp_frame_seg seg = {.data = d, .len = len};
		struct tp_frame f = {.seg = &seg, .nseg = 1, .len = len};
		const bool right = below(3) != 0;
		struct tpm_alike a;

		make(d, len, padding, below(8));
		tpm_alike_make(&a, &f);
		assert_true((a.check & TPM_ALIKE_RUN) != 0);
		if (!right) {
			d[HEADERS + below(len - padding - HEADERS)] ^= (uint8_t)(1u << below(8));
			wrong++;
		}
		for (tpm_alike_copy_fn *way = tpm_alike_ways; *way != NULL; way++) {
			memset(to, 0xa5, sizeof(to));
			memcpy(want, to, sizeof(to));
			memcpy(want + (dst - to), d, len);
			assert_int_equal((*way)(&a, dst, d), right);
			assert_memory_equal(to, want, sizeof(to));
		}
	}
	assert_true(wrong > ROUNDS / 5);
	munmap(room, ROOM + 4096);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_way)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
