/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Words by a table of keys: taken, printed, explained. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

const struct word_name word_switch[] = {{"off", 0}, {"on", 1}, {NULL, 0}};

void
word_err(char *err, const char *fmt, ...)
{
	va_list ap;
	char *c;

	va_start(ap, fmt);
	vsnprintf(err, TP_ERR_LEN, fmt, ap);
	va_end(ap);
	for (c = err; *c != '\0'; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
}

static bool
has_range(const struct word_key *key)
{
	return key->min != 0 || key->max != 0;
}

/* "any, none or 0..4095" */
void
word_range(const struct word_key *key, char *buf, size_t len)
{
	const struct word_name *name;
	unsigned int left = has_range(key), i = 0;
	size_t at = 0;

	if (key->values != NULL) {
		snprintf(buf, len, "%s", key->values);
		return;
	}
	left += key->or_zero;
	for (name = key->names; name != NULL && name->name != NULL; name++)
		left++;
	buf[0] = '\0';
	for (name = key->names; name != NULL && name->name != NULL && at < len; name++, i++)
		at += (size_t)snprintf(buf + at, len - at, "%s%s",
				       i == 0          ? ""
				       : i + 1 == left ? " or "
						       : ", ",
				       name->name);
	if (key->or_zero && at < len)
		at += (size_t)snprintf(buf + at, len - at, "%s0", i++ == 0 ? "" : ", ");
	if (has_range(key) && at < len)
		snprintf(buf + at, len - at, "%s%u..%u", i == 0 ? "" : " or ", key->min, key->max);
}

int
word_refuse(const struct word_key *key, const char *value, char *err)
{
	const bool unit = key->values == NULL && key->unit[0] != '\0';
	char range[sizeof(((struct tp_qos_key *)0)->values)];

	word_range(key, range, sizeof(range));
	word_err(err, "%s: '%.40s', want %s%s%s", key->name, value, range, unit ? " " : "", unit ? key->unit : "");
	return -EINVAL;
}

int
word_key_get(const struct word_key *keys, unsigned int n, unsigned int i, struct tp_qos_key *key)
{
	const struct word_key *k = &keys[i];

	if (i >= n)
		return -ENOENT;
	memset(key, 0, sizeof(*key));
	key->name = k->name;
	key->vendor = k->vendor;
	key->unit = k->unit;
	key->def = k->def;
	key->help = k->help;
	key->min = k->min;
	key->max = k->max;
	word_range(k, key->values, sizeof(key->values));
	return 0;
}

int
word_number(const char *text, uint32_t *out)
{
	const int base = strncmp(text, "0x", 2) == 0 ? 16 : 10;
	unsigned long long v;
	char *end;

	/* strtoull takes blanks and signs too */
	if (!isdigit((unsigned char)text[0]) || (base == 16 && !isxdigit((unsigned char)text[2])))
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &end, base);
	if (*end != '\0' || errno != 0 || v > UINT32_MAX)
		return -EINVAL;
	*out = (uint32_t)v;
	return 0;
}

/* One element of a list, up to a separator; *text moves on. */
static int
list_number(const char **text, const char *stop, uint32_t *out)
{
	size_t len = strcspn(*text, stop);
	char one[16];

	if (len >= sizeof(one))
		return -EINVAL;
	memcpy(one, *text, len);
	one[len] = '\0';
	*text += len;
	return word_number(one, out);
}

int
word_list(const char *text, uint32_t min, uint32_t max, uint16_t *out, unsigned int room)
{
	unsigned int n = 0;

	while (1) {
		uint32_t first, last;

		if (list_number(&text, ",-", &first) != 0)
			return -EINVAL;
		last = first;
		if (*text == '-') {
			text++;
			if (list_number(&text, ",", &last) != 0)
				return -EINVAL;
		}
		if (first < min || last > max || first > last)
			return -EINVAL;
		if (last - first >= room - n)
			return -ENOSPC;
		while (first <= last)
			out[n++] = (uint16_t)first++;
		if (*text == '\0')
			return (int)n;
		text++;
	}
}

void
word_list_text(const uint16_t *num, unsigned int n, bool hex, char *buf)
{
	unsigned int i, k;
	size_t at = 0;

	buf[0] = '\0';
	for (i = 0; i < n && at < WORDS_VALUE_LEN; i = k) {
		for (k = i + 1; !hex && k < n && num[k] == num[k - 1] + 1; k++)
			;
		at += (size_t)snprintf(buf + at, WORDS_VALUE_LEN - at, hex ? "%s0x%04x" : "%s%u", i == 0 ? "" : ",",
				       num[i]);
		if (k > i + 1 && at < WORDS_VALUE_LEN)
			at += (size_t)snprintf(buf + at, WORDS_VALUE_LEN - at, "%c%u", k > i + 2 ? '-' : ',',
					       num[k - 1]);
	}
}

static void
put(void *obj, const struct word_key *key, int64_t v)
{
	uint8_t *at = (uint8_t *)obj + key->offset;

	switch (key->size) {
	case 1: *at = (uint8_t)v; break;
	case 2: memcpy(at, &(uint16_t){(uint16_t)v}, 2); break;
	default: memcpy(at, &(uint32_t){(uint32_t)v}, 4); break;
	}
}

static int64_t
get(const void *obj, const struct word_key *key)
{
	const uint8_t *at = (const uint8_t *)obj + key->offset;
	uint16_t half;
	uint32_t word;

	switch (key->size) {
	case 1: return key->is_signed ? (int8_t)*at : *at;
	case 2: memcpy(&half, at, 2); return key->is_signed ? (int16_t)half : half;
	default: memcpy(&word, at, 4); return key->is_signed ? (int32_t)word : (int64_t)word;
	}
}

/* A key of names only takes their numbers too, as the vendor's settings are written. */
static int
number_parse(void *obj, const struct word_key *key, const char *value, char *err)
{
	const struct word_name *name;
	bool is_number;
	uint32_t v;

	is_number = word_number(value, &v) == 0;
	for (name = key->names; name != NULL && name->name != NULL; name++) {
		if (strcmp(name->name, value) == 0 ||
		    (is_number && !has_range(key) && name->value >= 0 && (uint32_t)name->value == v)) {
			put(obj, key, name->value);
			return 0;
		}
	}
	if (!is_number || !has_range(key) || ((v < key->min || v > key->max) && !(key->or_zero && v == 0)))
		return word_refuse(key, value, err);
	put(obj, key, v);
	return 0;
}

static bool
number_text(const void *obj, const struct word_key *key, unsigned int i, char *buf)
{
	const int64_t v = get(obj, key);
	const struct word_name *name;

	if (i != 0)
		return false;
	snprintf(buf, WORDS_VALUE_LEN, "%lld", (long long)v);
	for (name = key->names; name != NULL && name->name != NULL; name++)
		if (key->size == 4 ? (uint32_t)name->value == (uint32_t)v : name->value == v)
			snprintf(buf, WORDS_VALUE_LEN, "%s", name->name);
	return true;
}

static int
key_parse(void *obj, const struct word_key *key, const char *value, char *err)
{
	return key->parse != NULL ? key->parse(obj, key, value, err) : number_parse(obj, key, value, err);
}

static bool
key_text(const void *obj, const struct word_key *key, unsigned int i, char *buf)
{
	return key->text != NULL ? key->text(obj, key, i, buf) : number_text(obj, key, i, buf);
}

/* Levenshtein distance of two short words; a key that starts like the word is nearer than any other. */
unsigned int
word_distance(const char *a, const char *b)
{
	unsigned int row[WORDS_KEY_LEN + 1], i, k, diagonal, up;
	const unsigned int la = (unsigned int)strlen(a), lb = (unsigned int)strnlen(b, WORDS_KEY_LEN);

	if (la > 0 && strncmp(a, b, la) == 0)
		return 0;
	for (k = 0; k <= lb; k++)
		row[k] = k;
	for (i = 1; i <= la; i++) {
		diagonal = row[0];
		row[0] = i;
		for (k = 1; k <= lb; k++) {
			unsigned int best = diagonal + (a[i - 1] != b[k - 1]);

			up = row[k];
			best = up + 1 < best ? up + 1 : best;
			row[k] = row[k - 1] + 1 < best ? row[k - 1] + 1 : best;
			diagonal = up;
		}
	}
	return row[lb];
}

static int
unknown_key(const struct word_key *keys, unsigned int n, const char *name, char *err)
{
	unsigned int i, best = 0;

	for (i = 1; i < n; i++)
		if (word_distance(name, keys[i].name) < word_distance(name, keys[best].name))
			best = i;
	word_err(err, "no key '%s'; the nearest is %s", name, keys[best].name);
	return -ENOENT;
}

void
words_default(const struct word_key *keys, unsigned int n, void *obj)
{
	char err[TP_ERR_LEN];
	unsigned int i;

	for (i = 0; i < n; i++)
		if (keys[i].def[0] != '\0')
			key_parse(obj, &keys[i], keys[i].def, err);
}

int
words_take(const struct word_key *keys, unsigned int n, void *obj, void *copy, size_t size, const char *word, char *err)
{
	const size_t len = strcspn(word, "=");
	char name[WORDS_KEY_LEN];
	unsigned int i = 0;
	int ret;

	err[0] = '\0';
	if (word[len] != '=' || len == 0) {
		word_err(err, "'%.60s', want KEY=VALUE", word);
		return -EINVAL;
	}
	if (strlen(word) - len > WORDS_VALUE_LEN) {
		word_err(err, "%.31s: a value of %zu characters, want at most %u", word, strlen(word) - len - 1,
			 WORDS_VALUE_LEN - 1);
		return -EINVAL;
	}
	snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : sizeof(name) - 1), word);
	while (i < n && strcmp(keys[i].name, name) != 0)
		i++;
	if (i == n || len >= sizeof(name))
		return unknown_key(keys, n, name, err);
	memcpy(copy, obj, size);
	ret = key_parse(copy, &keys[i], word + len + 1, err);
	if (ret == 0)
		memcpy(obj, copy, size);
	return ret;
}

void
words_print(const struct word_key *keys, unsigned int n, const void *obj, const void *def, bool all, FILE *out)
{
	char is[WORDS_VALUE_LEN], was[WORDS_VALUE_LEN];
	unsigned int i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; key_text(obj, &keys[i], k, is); k++)
			if (all || !key_text(def, &keys[i], k, was) || strcmp(is, was) != 0)
				fprintf(out, "%s=%s\n", keys[i].name, is);
	}
}

void
words_changes(const struct word_key *keys, unsigned int n, const void *a, const void *b, tp_changed_fn changed,
	      void *arg)
{
	char was[WORDS_VALUE_LEN], is[WORDS_VALUE_LEN];
	unsigned int i, k;
	bool had, has;

	for (i = 0; i < n; i++) {
		for (k = 0;; k++) {
			had = key_text(a, &keys[i], k, was);
			has = key_text(b, &keys[i], k, is);
			if (!had && !has)
				break;
			if (!had || !has || strcmp(was, is) != 0)
				changed(arg, keys[i].name, had ? was : "none", has ? is : "none");
		}
	}
}
