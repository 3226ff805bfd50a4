/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What came is put into a program's memory: all of it, nothing beside it, each octet once, whatever its length and place. */
#include <signal.h>
#include <string.h>

#ifdef __x86_64__
#include <x86intrin.h>
#endif

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

#ifdef __x86_64__
#define TRAP_FLAG 0x100u
#define STEPPED 150u

static uint8_t program[STEPPED], taken[STEPPED];

/* A program that takes what is there between any two instructions, and leaves nothing: whoever stores it again is seen. */
static void
take(int sig)
{
	(void)sig;
	for (unsigned int i = 0; i < STEPPED; i++) {
		taken[i] = (uint8_t)(taken[i] + (program[i] != 0));
		program[i] = 0;
	}
}

static void
each_octet_once(void **state)
{
	const struct sigaction step = {.sa_handler = take};
	struct sigaction before;
	uint8_t from[STEPPED];

	(void)state;
	memset(from, BESIDE, sizeof(from));
	assert_int_equal(sigaction(SIGTRAP, &step, &before), 0);
	for (uint32_t len = 0; len <= STEPPED; len++) {
		memset(taken, 0, sizeof(taken));
		__writeeflags(__readeflags() | TRAP_FLAG);
		tre_place(program, from, len);
		__writeeflags(__readeflags() & ~(unsigned long long)TRAP_FLAG);
		for (unsigned int i = 0; i < STEPPED; i++)
			if (taken[i] != (i < len))
				fail_msg("octet %u of %u was stored %u times", i, len, taken[i]);
	}
	assert_int_equal(sigaction(SIGTRAP, &before, NULL), 0);
}
#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_and_place),
#ifdef __x86_64__
		cmocka_unit_test(each_octet_once),
#endif
	};

	return cmocka_run_group_tests_name("roce_place", tests, NULL, NULL);
}
