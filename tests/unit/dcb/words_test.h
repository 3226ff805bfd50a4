/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the tests of words share: tables of what must be taken, and of what must be refused in one line. */
#ifndef WORDS_TEST_H
#define WORDS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tp_qos.h"

struct want_key {
	const char *name, *unit, *def, *values;
	uint32_t min, max;
};

struct good_word {
	const char *words; /* separated by blanks */
	const char *text;  /* what tp_*_print says of the result, apart from the defaults */
};

struct bad_word {
	const char *word;
	int ret;
	const char *value, *range; /* both must be in the line */
};

static const struct tp_qos_limits full = {.max_tc = 8,
					  .speed_mbps = 40000,
					  .pfc = true,
					  .ets = true,
					  .dscp = true,
					  .delay_drop = true,
					  .max_groups = 127,
					  .max_rx_queues = 64};

/* One line that names the value and the range. */
static inline void
assert_refusal(const char *err, const char *value, const char *range)
{
	if (strstr(err, value) == NULL || strstr(err, range) == NULL)
		print_message("'%s' lacks '%s' or '%s'\n", err, value, range);
	assert_non_null(strstr(err, value));
	assert_non_null(strstr(err, range));
	assert_null(strchr(err, '\n'));
	assert_true(strlen(err) < TP_ERR_LEN);
}

static inline void
assert_key(const struct tp_qos_key *key, const struct want_key *want)
{
	assert_string_equal(key->name, want->name);
	assert_string_equal(key->unit, want->unit);
	assert_string_equal(key->def, want->def);
	assert_string_equal(key->values, want->values);
	assert_int_equal(key->min, want->min);
	assert_int_equal(key->max, want->max);
	assert_true(strlen(key->help) > 10);
}

static inline void
port_words(struct tp_qos_port *q, const char *words)
{
	char copy[4096], err[TP_ERR_LEN], *save = NULL, *w;

	snprintf(copy, sizeof(copy), "%s", words);
	for (w = strtok_r(copy, " \n", &save); w != NULL; w = strtok_r(NULL, " \n", &save)) {
		if (tp_qos_port_word(q, w, err) != 0)
			print_message("%s: %s\n", w, err);
		assert_string_equal(err, "");
	}
}

static inline void
group_words(struct tp_group *g, const char *words)
{
	char copy[4096], err[TP_ERR_LEN], *save = NULL, *w;

	snprintf(copy, sizeof(copy), "%s", words);
	for (w = strtok_r(copy, " \n", &save); w != NULL; w = strtok_r(NULL, " \n", &save)) {
		if (tp_group_word(g, w, err) != 0)
			print_message("%s: %s\n", w, err);
		assert_string_equal(err, "");
	}
}

/* malloc'ed */
static inline char *
port_text(const struct tp_qos_port *q, bool all)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	tp_qos_port_print(q, all, f);
	fclose(f);
	return text;
}

static inline char *
group_text(const struct tp_group *g, bool all)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	tp_group_print(g, all, f);
	fclose(f);
	return text;
}

/* Random words: from the pieces that words are made of, so that many come close to being right. */
static inline void
random_word(unsigned int *seed, const char *key, char *buf, size_t len)
{
	static const char *const pieces[] = {"=",
					     ":",
					     ",",
					     "-",
					     "0",
					     "1",
					     "7",
					     "8",
					     "63",
					     "64",
					     "on",
					     "off",
					     "none",
					     "all",
					     "any",
					     "ets",
					     "strict",
					     "udp",
					     "tcp",
					     "*",
					     "4096",
					     "65535",
					     "0x",
					     "8906",
					     "65536",
					     "\xff",
					     "\n",
					     " ",
					     "%s",
					     "4294967296",
					     "99999999999999999999",
					     "dscp",
					     "default",
					     "rdma",
					     "02:00:00:00:00:01",
					     "4-7",
					     "forever",
					     "port",
					     "tcp4",
					     "rss",
					     "1024"};
	unsigned int n = (unsigned int)rand_r(seed) % 9;

	snprintf(buf, len, "%s%s", rand_r(seed) % 8 == 0 ? "x" : key, rand_r(seed) % 16 == 0 ? "" : "=");
	while (n-- > 0)
		strncat(buf, pieces[(unsigned int)rand_r(seed) % (sizeof(pieces) / sizeof(pieces[0]))],
			len - strlen(buf) - 1);
}

#endif /* WORDS_TEST_H */
