/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Tables take the room of the line and no more, whatever the numbers are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps/triplane/cli/columns.h"

static const struct column cols[] = {{"name", 4, 6}, {"a", 6, 10}, {"b", 6, 8}};

static void
widths(void **state)
{
	static const struct {
		unsigned int line, n, total;
	} want[] = {{20, 3, 20}, {19, 2, 19}, {13, 2, 13}, {12, 1, 8}, {25, 3, 25}, {80, 3, 28}, {1, 1, 6}};
	struct columns t;
	unsigned int i, k, sum;

	(void)state;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		columns_fit(&t, cols, 3, want[i].line);
		for (sum = 2 + t.n - 1, k = 0; k < t.n; k++)
			sum += t.width[k];
		if (t.n != want[i].n || sum != want[i].total)
			fail_msg("%u: %u columns of %u, want %u of %u", want[i].line, t.n, sum, want[i].n,
				 want[i].total);
	}
}

static void
numbers(void **state)
{
	static const struct {
		double v;
		int decimals;
		const char *text;
	} want[] = {
		{0, 0, "0"},           {1234.5, 1, "1234.5"}, {12345.6, 1, "12346"}, {999999, 0, "999999"},
		{1234567, 0, "1235k"}, {1e9, 0, "1000M"},     {1.8e19, 0, "18000P"}, {1e300, 0, "100E"},
	};
	struct columns t;
	char cell[CELL_LEN];
	unsigned int i;

	(void)state;
	columns_fit(&t, cols, 3, 20);
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		columns_num(&t, 1, want[i].v, want[i].decimals, cell);
		assert_string_equal(cell, want[i].text);
	}
}

static void
lines(void **state)
{
	char *text = NULL, cell[3][CELL_LEN] = {"a long name", "1", "23"};
	struct columns t;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	columns_fit(&t, cols, 3, 20);
	columns_head(&t, f);
	columns_row(&t, cell, f);
	columns_wrap("one two three", 2, 9, f);
	columns_wrap("", 2, 9, f);
	fclose(f);
	assert_string_equal(text, "  name      a      b\n  a lo      1     23\n  one two\n  three\n\n");
	free(text);
}

static void
line_length(void **state)
{
	FILE *f = tmpfile();

	(void)state;
	unsetenv("COLUMNS");
	assert_int_equal(columns_of(f), 79);
	setenv("COLUMNS", "133", 1);
	assert_int_equal(columns_of(f), 132);
	setenv("COLUMNS", "3", 1);
	assert_int_equal(columns_of(f), 20);
	setenv("COLUMNS", "wide", 1);
	assert_int_equal(columns_of(f), 79);
	fclose(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(widths),
		cmocka_unit_test(numbers),
		cmocka_unit_test(lines),
		cmocka_unit_test(line_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
