/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* JSON by RFC 8259: what it is and what it is not, by values that stand in that document or follow from its grammar. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/metrics/json.h"

/* In memory of just that size, so that a step beyond it is seen. */
static int
parse(const char *text, char **copy, struct mj_doc *doc)
{
	const size_t len = strlen(text);

	*copy = malloc(len == 0 ? 1 : len);
	assert_non_null(*copy);
	memcpy(*copy, text, len);
	return mj_parse(*copy, len, doc);
}

static void
test_refused(void **state)
{
	static const char *const bad[] = {
		"",         " ",          "{",           "}",      "[",        "[1,]",   "[1 2]",      "{\"a\"}",
		"{\"a\":}", "{\"a\":1,}", "{a:1}",       "{1:1}",  "tru",      "nul",    "True",       "1 2",
		"+1",       ".5",         "1.",          "1e",     "1e+",      "-",      "\"",         "\"\\",
		"\"\\x\"",  "\"\\u12\"",  "\"\\u12g4\"", "\"\t\"", "\"a\nb\"", "[\"a]",  "{\"a\":1}}", "'a'",
		"NaN",      "Infinity",   "[,1]",        "{,}",    "\"\\u\"",  "[[[[[[",
	};
	struct mj_doc doc;
	unsigned int i;
	char *copy;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (parse(bad[i], &copy, &doc) == 0)
			fail_msg("%s is taken", bad[i]);
		free(copy);
	}
}

static void
test_values(void **state)
{
	static const char text[] =
		" {\"a\" : 18446744073709551615, "
		"\"b\":-1,\"c\":1.5e2,\"d\":[true,false,null,[],{}],\"e\":\"x\",\"f\":18446744073709551616} ";
	const struct mj *v;
	struct mj_doc doc;
	char *copy;

	(void)state;
	assert_int_equal(parse(text, &copy, &doc), 0);
	assert_int_equal(doc.node->kind, MJ_OBJECT);
	assert_int_equal(doc.node->len, 6);
	assert_true(mj_uint(doc.node, "a", 0) == UINT64_MAX);
	assert_int_equal(mj_uint(doc.node, "b", 7), 7);
	assert_true(mj_get(doc.node, "b")->num == -1);
	assert_true(mj_get(doc.node, "c")->num == 150);
	assert_int_equal(mj_get(doc.node, "c")->len, 5);
	assert_memory_equal(mj_get(doc.node, "c")->text, "1.5e2", 5);
	v = mj_get(doc.node, "d");
	assert_int_equal(v->len, 5);
	assert_int_equal(v->first->kind, MJ_TRUE);
	assert_int_equal(v->first->next->kind, MJ_FALSE);
	assert_int_equal(v->first->next->next->kind, MJ_NULL);
	assert_null(v->first->next->next->next->first);
	assert_string_equal(mj_text(doc.node, "e", ""), "x");
	/* One more than the largest is a number, and none that is whole here. */
	assert_false(mj_get(doc.node, "f")->is_whole);
	assert_true(mj_get(doc.node, "f")->num == 18446744073709551616.0);
	assert_null(mj_get(doc.node, "g"));
	assert_null(mj_get(v, "a"));
	mj_free(&doc);
	free(copy);
}

static void
test_strings(void **state)
{
	/* The G clef of RFC 8259, section 7; halves of pairs alone, and an end of text inside. */
	static const char *const want[][2] = {
		{"\"\\uD834\\uDD1E\"", "\xf0\x9d\x84\x9e"},
		{"\"\\u00e9\\u20ac\"", "\xc3\xa9\xe2\x82\xac"},
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
		{"\"\\ud834\"", "\xef\xbf\xbd"},
		{"\"\\ud834\\u0041\"", "\xef\xbf\xbd"
				       "A"},
		{"\"\\udd1e\"", "\xef\xbf\xbd"},
		{"\"a\\u0000b\"", "a\xef\xbf\xbd"
				  "b"},
		{"\"\xc3\xa9\"", "\xc3\xa9"},
		{"\"\"", ""},
	};
	struct mj_doc doc;
	unsigned int i;
	char *copy;

	(void)state;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(parse(want[i][0], &copy, &doc), 0);
		assert_int_equal(doc.node->kind, MJ_STRING);
		assert_string_equal(doc.node->text, want[i][1]);
		assert_int_equal(doc.node->len, strlen(want[i][1]));
		mj_free(&doc);
		free(copy);
	}
}

static void
test_depth(void **state)
{
	char text[2 * (MJ_DEPTH + 1) + 1], *copy;
	struct mj_doc doc;

	(void)state;
	memset(text, '[', MJ_DEPTH);
	memset(text + MJ_DEPTH, ']', MJ_DEPTH);
	text[2 * MJ_DEPTH] = '\0';
	assert_int_equal(parse(text, &copy, &doc), 0);
	mj_free(&doc);
	free(copy);
	memset(text, '[', MJ_DEPTH + 1);
	memset(text + MJ_DEPTH + 1, ']', MJ_DEPTH + 1);
	text[2 * MJ_DEPTH + 2] = '\0';
	assert_true(parse(text, &copy, &doc) != 0);
	free(copy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
