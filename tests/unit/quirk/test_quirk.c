/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Lists and files of quirks: what is taken, what is refused and in which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/quirk/quirk.h"

static char err[MLX4_QUIRK_ERR];

static void
test_table(void **state)
{
	unsigned int i, j;

	(void)state;
	for (i = 0; i < MLX4_QUIRKS; i++) {
		const struct mlx4_quirk *q = mlx4_quirk_get(i);

		assert_int_equal(mlx4_quirk_find(q->id), (int)i);
		assert_true(mlx4_quirk_variants(i) >= 2 && q->def < mlx4_quirk_variants(i));
		assert_true(q->what[0] != '\0' && q->shows[0] != '\0');
		assert_true(mlx4_quirk_found_text(q->found)[0] != '\0');
		/* In the order of the page. */
		for (j = 0; j < i; j++)
			assert_true(atoi(mlx4_quirk_get(j)->id + 2) < atoi(q->id + 2));
	}
	assert_null(mlx4_quirk_get(MLX4_QUIRKS));
	assert_int_equal(mlx4_quirk_find("F-0"), -1);
	assert_string_equal(mlx4_quirk_found_text(200), "");
}

static void
test_list(void **state)
{
	char text[MLX4_QUIRK_TEXT];
	struct mlx4_quirks q;

	(void)state;
	mlx4_quirks_default(&q);
	assert_int_equal(mlx4_quirks_text(&q, ' ', text), 0);
	assert_string_equal(text, "");
	assert_int_equal(mlx4_quirks_parse(&q, "", err), 0);
	assert_int_equal(mlx4_quirks_parse(&q, "F-12:b,F-1:c/F-2:a", err), 0);
	assert_int_equal(q.v[MLX4_QUIRK_COUNTER_PLACE], 1);
	assert_int_equal(q.v[MLX4_QUIRK_RSVD_EQS], 2);
	assert_int_equal(q.v[MLX4_QUIRK_QP_TO_RESET], 0);
	assert_int_equal(mlx4_quirks_text(&q, ',', text), 2);
	assert_string_equal(text, "F-1:c,F-12:b");
}

/* All of them fit. */
static void
test_all(void **state)
{
	char text[MLX4_QUIRK_TEXT], again[MLX4_QUIRK_TEXT];
	struct mlx4_quirks q, p;
	unsigned int i;

	(void)state;
	mlx4_quirks_default(&q);
	for (i = 0; i < MLX4_QUIRKS; i++)
		q.v[i] = 1;
	assert_int_equal(mlx4_quirks_text(&q, '/', text), MLX4_QUIRKS);
	mlx4_quirks_default(&p);
	assert_int_equal(mlx4_quirks_parse(&p, text, err), 0);
	assert_memory_equal(p.v, q.v, sizeof(q.v));
	mlx4_quirks_text(&p, '/', again);
	assert_string_equal(text, again);
}

static void
test_refused(void **state)
{
	static const struct {
		const char *text, *word;
	} bad[] = {
		{"F-1:d", "F-1:d: wanted variant a..c of F-1 (Number of reserved EQs in QUERY_DEV_CAP)"},
		{"F-2:c", "F-2:c: wanted variant a..b of F-2"},
		{"F-1:", "F-1:: wanted variant a..c"},
		{"F-1:bb", "F-1:bb: wanted variant a..c"},
		{"F-1:B", "F-1:B: wanted variant a..c"},
		{"F-1", "F-1: wanted ID:VARIANT, ID one of F-1 F-2 F-3 "},
		{"F-4:a", "F-4:a: wanted ID:VARIANT, ID one of F-1 F-2 F-3 "},
		{"f-1:a", "f-1:a: wanted ID:VARIANT"},
		{":a", ":a: wanted ID:VARIANT"},
		{",", ": wanted ID:VARIANT"},
		{"F-1:b,", "wanted ID:VARIANT behind \"F-1:b\""},
		{"F-1:b,F-1:b", "F-1:b: wanted F-1 once"},
		{"F-1:b,,F-2:b", ": wanted ID:VARIANT"},
		{"F-123456789012345678901234567890:b", "wanted ID:VARIANT, such as F-1:b"},
	};
	struct mlx4_quirks q, before;
	unsigned int i;

	(void)state;
	mlx4_quirks_default(&q);
	assert_int_equal(mlx4_quirks_parse(&q, "F-3:b", err), 0);
	before = q;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err[0] = '\0';
		assert_int_equal(mlx4_quirks_parse(&q, bad[i].text, err), -EINVAL);
		if (strstr(err, bad[i].word) == NULL)
			fail_msg("'%s': said '%s', wanted '%s'", bad[i].text, err, bad[i].word);
		assert_memory_equal(&q, &before, sizeof(q));
	}
}

static int
load_text(struct mlx4_quirks *q, const char *text)
{
	char path[] = "/tmp/quirks.XXXXXX";
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	rc = mlx4_quirks_load(q, path, err);
	unlink(path);
	return rc;
}

static void
test_file(void **state)
{
	struct mlx4_quirks q;
	char line[400];

	(void)state;
	mlx4_quirks_default(&q);
	assert_int_equal(load_text(&q, "# this card\n\n  F-12:b  # counters\r\nF-3:b"), 0);
	assert_int_equal(q.v[MLX4_QUIRK_COUNTER_PLACE], 1);
	assert_int_equal(q.v[MLX4_QUIRK_SPECIAL_QPS], 1);
	/* What a list says stands, wherever the file comes. */
	mlx4_quirks_default(&q);
	assert_int_equal(mlx4_quirks_parse(&q, "F-12:a", err), 0);
	assert_int_equal(load_text(&q, "F-12:b\nF-2:b\n"), 0);
	assert_int_equal(q.v[MLX4_QUIRK_COUNTER_PLACE], 0);
	assert_int_equal(q.v[MLX4_QUIRK_QP_TO_RESET], 1);

	assert_int_equal(load_text(&q, "F-2:b\nF-12:q\n"), -EINVAL);
	assert_non_null(strstr(err, ":2: F-12:q: wanted variant a..b of F-12"));
	assert_int_equal(load_text(&q, "F-2:b\nF-2:b\n"), -EINVAL);
	assert_non_null(strstr(err, ":2: F-2:b: wanted F-2 once"));
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	assert_int_equal(load_text(&q, line), -EINVAL);
	assert_non_null(strstr(err, ":1: wanted a line of up to 254 octets"));
	assert_int_equal(mlx4_quirks_load(&q, "/nowhere/quirks", err), -ENOENT);
	assert_string_equal(err, "/nowhere/quirks: No such file or directory");
	assert_int_equal(mlx4_quirks_load(&q, "/", err), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),   cmocka_unit_test(test_list), cmocka_unit_test(test_all),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
