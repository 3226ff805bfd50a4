/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* One rig for each case of a test: fixtures of cmocka. */
#ifndef MAD_TEST_RIG_ONE_H
#define MAD_TEST_RIG_ONE_H

#include "rig.h"

#define M(method) (1ull << (method))
#define VENDOR 0x0a /* a class of one vendor, no RMPP */

static struct rig r;

static inline int
up(void **state)
{
	(void)state;
	rig_up(&r);
	return 0;
}

static inline int
down(void **state)
{
	(void)state;
	rig_down(&r);
	return 0;
}

#endif /* MAD_TEST_RIG_ONE_H */
