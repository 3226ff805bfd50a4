/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 32u

struct scan {
	const char *at, *why;
	unsigned int depth;
};

static struct json *value(struct scan *s);

static void
blanks(struct scan *s)
{
	s->at += strspn(s->at, " \t\r\n");
}

static bool
take(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(s->at, word, n) != 0)
		return false;
	s->at += n;
	return true;
}

static void *
wrong(struct scan *s, const char *why)
{
	if (s->why == NULL)
		s->why = why;
	return NULL;
}

/* One character behind a backslash; -1: there is no such one. Those above 0x7f become '?', since names here have none. */
static int
escaped(struct scan *s)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *p = *s->at != '\0' ? strchr(from, *s->at) : NULL;
	unsigned int v;

	if (p != NULL) {
		s->at++;
		return to[p - from];
	}
	if (*s->at != 'u' || strspn(s->at + 1, "0123456789abcdefABCDEF") < 4 || sscanf(s->at + 1, "%4x", &v) != 1)
		return -1;
	s->at += 5;
	return v != 0 && v < 0x80 ? (int)v : '?';
}

static char *
string(struct scan *s)
{
	char *text, *to;
	int c;

	if (!take(s, "\""))
		return wrong(s, "a string was wanted");
	text = to = malloc(strcspn(s->at, "\n") + 1);
	if (text == NULL)
		return wrong(s, "no memory");
	while (*s->at != '"') {
		c = (unsigned char)*s->at;
		if (c < 0x20) {
			free(text);
			return wrong(s, "a string does not end");
		}
		s->at++;
		if (c == '\\')
			c = escaped(s);
		if (c < 0) {
			free(text);
			return wrong(s, "no such character behind a backslash");
		}
		*to++ = (char)c;
	}
	*to = '\0';
	s->at++;
	return text;
}

/* Elements up to the end; members have keys. */
static bool
elements(struct scan *s, struct json *j, char end)
{
	struct json **last = &j->child;
	char *key;

	blanks(s);
	if (*s->at == end) {
		s->at++;
		return true;
	}
	for (;;) {
		blanks(s);
		key = NULL;
		if (end == '}') {
			key = string(s);
			blanks(s);
			if (key != NULL && !take(s, ":"))
				(void)wrong(s, "':' was wanted");
		}
		*last = s->why == NULL ? value(s) : NULL;
		if (*last == NULL) {
			free(key);
			return false;
		}
		(*last)->key = key;
		last = &(*last)->next;
		blanks(s);
		if (*s->at == end) {
			s->at++;
			return true;
		}
		if (!take(s, ",")) {
			(void)wrong(s, "',' or the end of a list was wanted");
			return false;
		}
	}
}

static bool
fill(struct scan *s, struct json *j)
{
	char *end;

	if (*s->at == '{' || *s->at == '[') {
		bool object = *s->at++ == '{', ok;

		j->type = object ? JSON_OBJECT : JSON_ARRAY;
		if (++s->depth > DEPTH_MAX) {
			(void)wrong(s, "lists lie too deep in each other");
			return false;
		}
		ok = elements(s, j, object ? '}' : ']');
		s->depth--;
		return ok;
	}
	if (*s->at == '"') {
		j->type = JSON_STRING;
		j->text = string(s);
		return j->text != NULL;
	}
	if (take(s, "null"))
		return true;
	if (take(s, "true") || take(s, "false")) {
		j->type = JSON_BOOL;
		j->number = s->at[-1] == 'e' && s->at[-2] == 'u';
		return true;
	}
	if (*s->at == '-' || (*s->at >= '0' && *s->at <= '9')) {
		j->type = JSON_NUMBER;
		j->number = strtod(s->at, &end);
		s->at = end;
		return true;
	}
	(void)wrong(s, "a value was wanted");
	return false;
}

static struct json *
value(struct scan *s)
{
	struct json *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return wrong(s, "no memory");
	blanks(s);
	if (fill(s, j))
		return j;
	json_free(j);
	return NULL;
}

struct json *
json_parse(const char *text, char *err, size_t err_len)
{
	struct scan s = {.at = text};
	struct json *j = value(&s);
	unsigned int line = 1;
	const char *p;

	if (j != NULL) {
		blanks(&s);
		if (*s.at == '\0')
			return j;
		(void)wrong(&s, "something follows the end");
		json_free(j);
	}
	for (p = text; p < s.at; p++)
		line += *p == '\n';
	snprintf(err, err_len, "line %u: %s", line, s.why);
	return NULL;
}

void
json_free(struct json *j)
{
	struct json *next;

	for (; j != NULL; j = next) {
		next = j->next;
		json_free(j->child);
		free(j->key);
		free(j->text);
		free(j);
	}
}

const struct json *
json_get(const struct json *j, const char *key)
{
	const struct json *c = j != NULL && j->type == JSON_OBJECT ? j->child : NULL;

	while (c != NULL && strcmp(c->key, key) != 0)
		c = c->next;
	return c;
}

uint64_t
json_num(const struct json *j, const char *key, uint64_t def)
{
	const struct json *c = json_get(j, key);
	char *end;
	uint64_t v;

	if (c == NULL)
		return def;
	if (c->type == JSON_STRING) {
		v = strtoull(c->text, &end, 0);
		return *c->text != '\0' && *end == '\0' ? v : def;
	}
	return c->type == JSON_NUMBER && c->number >= 0 && c->number < 18446744073709549568.0 ? (uint64_t)c->number
											      : def;
}

const char *
json_str(const struct json *j, const char *key, const char *def)
{
	const struct json *c = json_get(j, key);

	return c != NULL && c->type == JSON_STRING ? c->text : def;
}

bool
json_bool(const struct json *j, const char *key)
{
	const struct json *c = json_get(j, key);

	return c != NULL && c->type == JSON_BOOL && c->number != 0;
}
