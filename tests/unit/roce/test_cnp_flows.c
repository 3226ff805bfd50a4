/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Who is told of marks on datagrams, and how often: each sender apart, however many there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/roce/cc/cc.h"

#define US UINT64_C(1000)

static struct tcc_np_flows t;

static int
empty(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	return 0;
}

/* 10.x.x.x, in the form of a GID */
static struct tcc_np_flow
flow(uint32_t host, uint32_t from, uint32_t to)
{
	struct tcc_np_flow f = {.addr = {[10] = 0xff, 0xff, 10}, .from = from, .to = to};

	f.addr[13] = (uint8_t)(host >> 16);
	f.addr[14] = (uint8_t)(host >> 8);
	f.addr[15] = (uint8_t)host;
	return f;
}

static bool
mark(const struct tcc_np_flow *f, uint32_t interval_us, uint64_t now)
{
	return tcc_np_mark_flow(&t, f, 3, interval_us, now);
}

/* As of a queue pair with a peer: at once, then not before the interval is over; 0: each time. */
static void
spacing(void **state)
{
	const struct tcc_np_flow f = flow(1, 2, 3);

	(void)state;
	assert_true(mark(&f, 50, 0));
	assert_false(mark(&f, 50, 50 * US - 1));
	assert_true(mark(&f, 50, 50 * US));
	assert_false(mark(&f, 50, 50 * US));
	assert_true(mark(&f, 0, 100 * US));
	assert_true(mark(&f, 0, 100 * US));
}

/* Another address, another queue pair that sends, another one that receives: each has an interval of its own. */
static void
what_is_one(void **state)
{
	const struct tcc_np_flow f[] = {flow(1, 2, 3), flow(0x10001, 2, 3), flow(1, 3, 3), flow(1, 2, 4),
					flow(1, 3, 2)};
	struct tcc_np_flow six = f[0];

	(void)state;
	/* The same octets, not as IPv4. */
	six.addr[10] = six.addr[11] = 0;
	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < 5; i++)
			assert_int_equal(mark(&f[i], 50, round * 40 * US + i), round == 0);
		assert_int_equal(mark(&six, 50, round * 40 * US), round == 0);
	}
}

/* A mark each us of each of 64 for 10 ms, half of them of one subnet, half of one host: each is told 200 times, as if it were alone. */
static void
own_pace(void **state)
{
	unsigned int told[64] = {0};

	(void)state;
	for (unsigned int us = 0; us < 10000; us++)
		for (unsigned int i = 0; i < 64; i++) {
			const struct tcc_np_flow f = i < 32 ? flow(i, 0x100, 7) : flow(0x100, i, 7);

			told[i] += mark(&f, 50, us * US);
		}
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(told[i], 200);
}

/* They are counted by the priority of the mark, which makes no other flow, and until their interval is over. */
static void
counted(void **state)
{
	const struct tcc_np_flow a = flow(1, 1, 1), b = flow(2, 1, 1), c = flow(3, 1, 1);

	(void)state;
	assert_int_equal(tcc_np_told(&t, 0, 0), 0);
	assert_true(tcc_np_mark_flow(&t, &a, 3, 50, 0));
	assert_true(tcc_np_mark_flow(&t, &b, 3, 100, 0));
	assert_true(tcc_np_mark_flow(&t, &c, 5, 100, 0));
	assert_false(tcc_np_mark_flow(&t, &a, 5, 50, 1));
	assert_int_equal(tcc_np_told(&t, 3, 50 * US - 1), 2);
	assert_int_equal(tcc_np_told(&t, 3, 50 * US), 1);
	assert_int_equal(tcc_np_told(&t, 5, 50 * US), 1);
	assert_int_equal(tcc_np_told(&t, 0, 50 * US), 0);
	assert_int_equal(tcc_np_told(&t, 3, 100 * US), 0);
}

/* However many are made up, no more than there is room for are told in an interval, and after it the next ones are. */
static void
flood(void **state)
{
	unsigned int told = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000000; i++) {
		const struct tcc_np_flow f = flow(i & 0xffffff, i * 2654435761u, i);

		told += mark(&f, 50, i * 40 * US / 1000000);
	}
	assert_int_equal(told, TCC_NP_FLOWS);
	assert_int_equal(tcc_np_told(&t, 3, 40 * US), TCC_NP_FLOWS);
	for (uint32_t i = 0; i < 64; i++) {
		const struct tcc_np_flow f = flow(i, 0xabcd, 7);

		assert_false(mark(&f, 50, 45 * US));
		assert_true(mark(&f, 50, 95 * US));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(spacing, empty),  cmocka_unit_test_setup(what_is_one, empty),
		cmocka_unit_test_setup(own_pace, empty), cmocka_unit_test_setup(counted, empty),
		cmocka_unit_test_setup(flood, empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
