/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Numbers of objects: ranges, alignment, bits that must be clear, from which end, and how long one rests that was given back. */
#include <errno.h>

#include "fake_card.h"

static struct mlx4_numbers *n;

static uint32_t
get(uint32_t count, uint32_t align, uint32_t clear, bool top)
{
	uint32_t base = UINT32_MAX;
	int rc = mlx4_numbers_get(n, count, align, clear, top, &base);

	assert_int_equal(rc, base == UINT32_MAX ? -ENOSPC : 0);
	return base;
}

static void
create(uint32_t first, uint32_t end)
{
	mlx4_numbers_destroy(n);
	n = NULL;
	assert_int_equal(mlx4_numbers_create("test numbers", first, end, 0, &n), 0);
}

static int
teardown(void **state)
{
	mlx4_numbers_destroy(n);
	n = NULL;
	return 0;
}

static void
test_limits(void **state)
{
	rig_log_begin();
	assert_int_equal(mlx4_numbers_create("test numbers", 5, 5, 0, &n), -ENOSPC);
	rig_log_one("no test numbers left", "the first free one is 5, the limit 5");
	create(5, 6);
	assert_int_equal(get(1, 1, 0, false), 5);
	assert_int_equal(get(1, 1, 0, false), UINT32_MAX);
	assert_int_equal(mlx4_numbers_used(n), 1);
	/* Over the ends of words of the map. */
	create(60, 200);
	assert_int_equal(get(140, 1, 0, false), 60);
	assert_int_equal(mlx4_numbers_used(n), 140);
	assert_int_equal(get(1, 1, 0, true), UINT32_MAX);
	mlx4_numbers_put(n, 127, 2);
	assert_int_equal(mlx4_numbers_used(n), 138);
	assert_int_equal(get(3, 1, 0, false), UINT32_MAX);
	assert_int_equal(get(1, 1, 0, false), 127);
	assert_int_equal(get(1, 1, 0, false), 128);
	mlx4_numbers_put(n, 127, 2);
	assert_int_equal(get(1, 1, 0, true), 128);
	assert_int_equal(get(141, 1, 0, false), UINT32_MAX);
	assert_int_equal(get(201, 1, 0, false), UINT32_MAX);
	assert_int_equal(get(0, 1, 0, false), UINT32_MAX);
}

static void
test_ranges(void **state)
{
	create(5, 64);
	assert_int_equal(get(8, 8, 0, false), 8);
	assert_int_equal(get(1, 1, 0, false), 5);
	assert_int_equal(get(4, 4, 0, false), 16);
	assert_int_equal(get(4, 1, 0, false), 20);
	/* What is free in between is too small. */
	assert_int_equal(get(3, 1, 0, false), 24);
	assert_int_equal(get(2, 1, 0, false), 6);
	/* From the end. */
	assert_int_equal(get(1, 1, 0, true), 63);
	assert_int_equal(get(8, 8, 0, true), 48);
	assert_int_equal(get(1, 1, 0, true), 62);
	assert_int_equal(get(16, 16, 0, true), 32);
	assert_int_equal(get(16, 16, 0, true), UINT32_MAX);
	/* An alignment that leaves no place: the first is behind the end. */
	create(33, 60);
	assert_int_equal(get(1, 64, 0, false), UINT32_MAX);
	assert_int_equal(get(28, 1, 0, false), UINT32_MAX);
	assert_int_equal(get(27, 1, 0, false), 33);
	/* Down to the very first one, also where that is 0. */
	create(0, 16);
	assert_int_equal(get(8, 8, 0, true), 8);
	assert_int_equal(get(8, 8, 0, true), 0);
	assert_int_equal(get(1, 1, 0, true), UINT32_MAX);
	create(0, 4);
	mlx4_numbers_put(n, get(4, 4, 0, true), 4);
	assert_int_equal(get(4, 4, 0, true), 0);
	/* A range that fits between the last place that is aligned and the end. */
	create(0, 20);
	assert_int_equal(get(4, 8, 0, true), 16);
	assert_int_equal(get(5, 8, 0, true), 8);
}

/* Numbers for BlueFlame have two bits clear, each of a range. */
static void
test_clear_bits(void **state)
{
	create(0x3c, 0x200);
	assert_int_equal(get(4, 4, 0xc0, false), 0x3c);
	assert_int_equal(get(4, 4, 0xc0, false), 0x100);
	assert_int_equal(get(1, 1, 0xc0, true), 0x13f);
	assert_int_equal(get(0x40, 1, 0xc0, false), UINT32_MAX);
	assert_int_equal(get(0x3b, 1, 0xc0, false), 0x104);
}

/* Each in its turn, from the end down to the window's begin and again; one in use is left out. */
static void
test_cycle(void **state)
{
	uint32_t v, i;

	create(10, 20);
	for (i = 0; i < 25; i++) {
		assert_int_equal(mlx4_numbers_cycle(n, 100, 0, &v), 0);
		assert_int_equal(v, 19 - i % 10);
		mlx4_numbers_put(n, v, 1);
	}
	create(10, 20);
	for (i = 0; i < 9; i++) {
		assert_int_equal(mlx4_numbers_cycle(n, 4, 0, &v), 0);
		assert_int_equal(v, 19 - i % 4);
		assert_int_equal(mlx4_numbers_used(n), 1);
		mlx4_numbers_put(n, v, 1);
	}
	/* With those of the window in use it is the highest one of the others. */
	for (i = 0; i < 10; i++) {
		assert_int_equal(mlx4_numbers_cycle(n, 4, 0, &v), 0);
		assert_int_equal(v, i < 3 ? 18 - i : i == 3 ? 19 : 19 - i);
	}
	assert_int_equal(mlx4_numbers_used(n), 10);
	v = 77;
	assert_int_equal(mlx4_numbers_cycle(n, 4, 0, &v), -ENOSPC);
	assert_int_equal(v, 77);
	/* One comes back: it alone is given, again and again. */
	mlx4_numbers_put(n, 17, 1);
	for (i = 0; i < 3; i++) {
		assert_int_equal(mlx4_numbers_cycle(n, 4, 0, &v), 0);
		assert_int_equal(v, 17);
		mlx4_numbers_put(n, 17, 1);
	}
	/* Of those with bits that must be clear none in the window is given, nor any other. */
	create(10, 20);
	for (i = 0; i < 5; i++) {
		assert_int_equal(mlx4_numbers_cycle(n, 4, 1, &v), 0);
		assert_int_equal(v, i % 2 == 0 ? 18 : 16);
		mlx4_numbers_put(n, v, 1);
	}
	/* A window of all there is. */
	create(10, 14);
	for (i = 0; i < 8; i++) {
		assert_int_equal(mlx4_numbers_cycle(n, 4, 0, &v), 0);
		assert_int_equal(v, 13 - i % 4);
		mlx4_numbers_put(n, v, 1);
	}
}

/* The card's queue pairs: ranges from the far end, BlueFlame from the near one, those that peers know in turns. */
static void
test_qpns(void **state)
{
	static struct fake_card card;
	struct mlx4_hca *hca = &card.hca;
	uint32_t a, b, i;

	fake_open_with_numbers(&card);
	assert_int_equal(mlx4_qpn_reserve(hca, 16, 16, false, &a), 0);
	assert_int_equal(a, 0xff0);
	assert_int_equal(mlx4_qpn_reserve(hca, 1, 1, false, &b), 0);
	assert_int_equal(b, 0xfef);
	mlx4_qpn_release(hca, b, 1);
	assert_int_equal(mlx4_qpn_reserve(hca, 1, 1, true, &b), 0);
	assert_int_equal(b, 0x100);
	rig_log_begin();
	assert_int_equal(mlx4_qpn_reserve(hca, 0x80, 1, true, &i), -ENOSPC);
	rig_log_one("no 128 consecutive QP numbers (aligned to 1, for BlueFlame) left", "17 of 4096 in use");
	rig_log_begin();
	assert_int_equal(mlx4_qpn_reserve(hca, 0x1000, 4, false, &i), -ENOSPC);
	rig_log_one("no 4096 consecutive QP numbers (aligned to 4) left", "17 of 4096 in use");
	mlx4_qpn_release(hca, a, 16);
	mlx4_qpn_release(hca, b, 1);
	/* 2048 of them before the first one comes again. */
	for (i = 0; i < 2049; i++) {
		assert_int_equal(mlx4_qpn_reserve_fresh(hca, false, &a), 0);
		assert_int_equal(a, i < 2048 ? 0xfff - i : 0xfff);
		mlx4_qpn_release(hca, a, 1);
	}
	assert_int_equal(mlx4_qpn_reserve(hca, 0xfc0, 1, false, &a), 0);
	rig_log_begin();
	assert_int_equal(mlx4_qpn_reserve_fresh(hca, false, &b), -ENOSPC);
	rig_log_one("no QP number left", "4032 of 4096 in use");
	mlx4_qpn_release(hca, a, 0xfc0);
	fake_close_with_numbers(&card);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_limits, teardown),
		cmocka_unit_test_teardown(test_ranges, teardown),
		cmocka_unit_test_teardown(test_clear_bits, teardown),
		cmocka_unit_test_teardown(test_cycle, teardown),
		cmocka_unit_test(test_qpns),
	};

	if (rig_eal("mlx4nums", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
