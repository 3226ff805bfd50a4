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

/* What the words of a port and those of a group have in common: obj is a struct tp_qos_port or tp_group. */
struct word_kind {
	int (*key)(unsigned int i, struct tp_qos_key *key);
	int (*word)(void *obj, const char *word, char *err);
	void (*print)(const void *obj, bool all, FILE *out);
};

static inline int
port_word(void *obj, const char *word, char *err)
{
	return tp_qos_port_word(obj, word, err);
}

static inline void
port_print(const void *obj, bool all, FILE *out)
{
	tp_qos_port_print(obj, all, out);
}

static inline int
group_word(void *obj, const char *word, char *err)
{
	return tp_group_word(obj, word, err);
}

static inline void
group_print(const void *obj, bool all, FILE *out)
{
	tp_group_print(obj, all, out);
}

static const struct word_kind port_kind = {tp_qos_port_key, port_word, port_print};
static const struct word_kind group_kind = {tp_group_key, group_word, group_print};

static inline void
kind_words(const struct word_kind *kind, void *obj, const char *words)
{
	char copy[4096], err[TP_ERR_LEN], *save = NULL, *w;

	snprintf(copy, sizeof(copy), "%s", words);
	for (w = strtok_r(copy, " \n", &save); w != NULL; w = strtok_r(NULL, " \n", &save)) {
		if (kind->word(obj, w, err) != 0)
			print_message("%s: %s\n", w, err);
		assert_string_equal(err, "");
	}
}

/* malloc'ed */
static inline char *
kind_text(const struct word_kind *kind, const void *obj, bool all)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	kind->print(obj, all, f);
	fclose(f);
	return text;
}

static inline void
port_words(struct tp_qos_port *q, const char *words)
{
	kind_words(&port_kind, q, words);
}

static inline void
group_words(struct tp_group *g, const char *words)
{
	kind_words(&group_kind, g, words);
}

static inline char *
port_text(const struct tp_qos_port *q, bool all)
{
	return kind_text(&port_kind, q, all);
}

static inline char *
group_text(const struct tp_group *g, bool all)
{
	return kind_text(&group_kind, g, all);
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

/* Any octets: taken or refused in one line, and a refusal changes nothing. before: room for another obj. */
static inline void
kind_random(const struct word_kind *kind, unsigned int keys, unsigned int seed, void *obj, void *before, size_t size)
{
	char word[700], err[TP_ERR_LEN];
	struct tp_qos_key key;
	unsigned int i, k, len;
	int ret;

	for (i = 0; i < 100000; i++) {
		memcpy(before, obj, size);
		kind->key((unsigned int)rand_r(&seed) % keys, &key);
		random_word(&seed, key.name, word, sizeof(word));
		len = (unsigned int)strlen(word);
		if (i % 3 == 0)
			for (k = 0; k < 4 && len > 0; k++)
				word[(unsigned int)rand_r(&seed) % len] = (char)rand_r(&seed);
		ret = kind->word(obj, word, err);
		assert_null(strchr(err, '\n'));
		if (ret != 0) {
			assert_true(err[0] != '\0');
			assert_memory_equal(obj, before, size);
		}
	}
}

#endif /* WORDS_TEST_H */
