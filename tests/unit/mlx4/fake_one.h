/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* One fake card for each case of a test: fixtures of cmocka, without or with tables of numbers. No memory may be left. */
#ifndef MLX4_FAKE_ONE_H
#define MLX4_FAKE_ONE_H

#include "fake_card.h"

static struct fake_card card;
static struct mlx4_hca *const hca = &card.hca;
static size_t fake_heap;

static inline int
fake_up(void **state)
{
	fake_heap = rig_heap();
	fake_open(&card);
	return 0;
}

static inline int
fake_down(void **state)
{
	fake_close(&card);
	assert_int_equal(rig_heap(), fake_heap);
	return 0;
}

static inline int
fake_up_with_numbers(void **state)
{
	fake_heap = rig_heap();
	fake_open_with_numbers(&card);
	return 0;
}

static inline int
fake_down_with_numbers(void **state)
{
	fake_close_with_numbers(&card);
	assert_int_equal(rig_heap(), fake_heap);
	return 0;
}

#endif /* MLX4_FAKE_ONE_H */
