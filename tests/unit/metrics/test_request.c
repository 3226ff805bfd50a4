/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a request of HTTP asks for, and with which status bad ones are refused (RFC 9110, 9112). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps/exporter/http.h"

/* In memory of just that size, so that a step beyond it is seen. */
static int
parse(const char *text, size_t len, struct http_request *r)
{
	char *copy = malloc(len == 0 ? 1 : len);
	int ret;

	assert_non_null(copy);
	memcpy(copy, text, len);
	ret = http_parse(copy, len, r);
	free(copy);
	return ret;
}

static void
test_lines(void **state)
{
	static const struct {
		const char *text;
		int status;
	} want[] = {
		{"GET / HTTP/1.1\r\n\r\n", 0},
		{"HEAD / HTTP/1.0\n\n", 0},
		{"GET / HTTP/1.9\r\n\r\n", 0},
		{"GET / HTTP/1.1\r\nHost: a\r\nA:\r\n\r\n", 0},
		{"", 400},
		{"\r\n\r\n", 400},
		{"GET\r\n\r\n", 400},
		{"GET /\r\n\r\n", 400},
		{"GET  / HTTP/1.1\r\n\r\n", 400},
		{"GET / HTTP/1.1 \r\n\r\n", 400},
		{"GET / HTTP/11\r\n\r\n", 400},
		{"GET / http/1.1\r\n\r\n", 400},
		{"GET a HTTP/1.1\r\n\r\n", 400},
		{"GET /\x7f HTTP/1.1\r\n\r\n", 400},
		{"GET /\xff HTTP/1.1\r\n\r\n", 400},
		{"get / HTTP/1.1\r\n\r\n", 405},
		{"PUT / HTTP/1.1\r\n\r\n", 405},
		{"GET / HTTP/2.0\r\n\r\n", 505},
		{"GET / HTTP/0.9\r\n\r\n", 505},
		{"GET / HTTP/1.x\r\n\r\n", 505},
		{"GET / HTTP/1.1\r\n folded: x\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\nword\r\n\r\n", 400},
	};
	struct http_request r;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const int got = parse(want[i].text, strlen(want[i].text), &r);

		if (got != want[i].status)
			fail_msg("%s: %d, want %d", want[i].text, got, want[i].status);
	}
	assert_int_equal(parse("GET / HTTP/1.1\r\na: \0\r\n\r\n", 24, &r), 400);
}

static void
test_path(void **state)
{
	char text[400];
	struct http_request r;

	(void)state;
	assert_int_equal(parse("HEAD /a?b=c/d HTTP/1.1\r\n\r\n", 26, &r), 0);
	assert_string_equal(r.path, "/a");
	assert_true(r.head);
	/* 255 octets and one more. */
	snprintf(text, sizeof(text), "GET /%0254d HTTP/1.1\r\n\r\n", 0);
	assert_int_equal(parse(text, strlen(text), &r), 0);
	assert_int_equal(strlen(r.path), 255);
	snprintf(text, sizeof(text), "GET /%0255d HTTP/1.1\r\n\r\n", 0);
	assert_int_equal(parse(text, strlen(text), &r), 414);
}

/* By the weights of RFC 9110, 12.4.2. */
static void
test_accept(void **state)
{
	static const struct {
		const char *accept;
		bool openmetrics;
	} want[] = {
		{"*/*", false},
		{"", false},
		{"application/openmetrics-text", true},
		{"APPLICATION/OpenMetrics-Text; version=1.0.0", true},
		{"application/openmetrics-text;version=1.0.0;q=0.5,application/"
		 "openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
		 true},
		{"application/openmetrics-text;q=0.2, text/plain;q=0.3", false},
		{"text/plain , application/openmetrics-text ;q=0.999", false},
		{"application/openmetrics-text;q=0", false},
		{"application/openmetrics-text;q=0.0,*/*;q=0", false},
		{"application/openmetrics-text;q=x", false},
		{"application/openmetrics-textual", false},
		{",,,;;q=,", false},
	};
	struct http_request r;
	char text[512];
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\naCCept: %s\r\n\r\n", want[i].accept);
		assert_int_equal(parse(text, strlen(text), &r), 0);
		if (r.openmetrics != want[i].openmetrics)
			fail_msg("%s: %d", want[i].accept, r.openmetrics);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_accept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
