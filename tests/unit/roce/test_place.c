/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What came is put into a program's memory: all of it, nothing beside it, whatever its length and place. */
#include <string.h>

#include "lib/roce/engine/place.h"
#include "rig.h"

#define LONGEST 300u
#define PLACES 17u
#define BESIDE 0xa5

static void
every_length_and_place(void **state)
{
	uint8_t from[LONGEST + PLACES], to[LONGEST + 2 * PLACES], want[sizeof(to)];

	(void)state;
	for (unsigned int i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 7 + i / 256 + 1);
	for (uint32_t len = 0; len <= LONGEST; len++) {
		for (unsigned int at = 0; at < PLACES; at++) {
			const unsigned int first = (at * 5 + len) % PLACES;

			memset(to, BESIDE, sizeof(to));
			memset(want, BESIDE, sizeof(want));
			memcpy(want + at, from + first, len);
			tre_place(to + at, from + first, len);
			if (memcmp(to, want, sizeof(to)) != 0)
				fail_msg("%u octets to %u", len, at);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_length_and_place)};

	return cmocka_run_group_tests_name("roce_place", tests, NULL, NULL);
}
