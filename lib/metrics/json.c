/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

struct scan {
	char *p, *end;
	struct mj_doc *doc;
};

static struct mj *value(struct scan *s, unsigned int depth);

static void
space(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
		s->p++;
}

static bool
take(struct scan *s, char c)
{
	space(s);
	if (s->p == s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

static struct mj *
node(struct scan *s, enum mj_kind kind)
{
	struct mj *n;

	if (s->doc->num == s->doc->room)
		return NULL;
	n = &s->doc->node[s->doc->num++];
	*n = (struct mj){.kind = kind};
	return n;
}

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hexadecimal digits, or -1. */
static int
hex4(struct scan *s)
{
	int v = 0, i, d;

	if (s->end - s->p < 4)
		return -1;
	for (i = 0; i < 4; i++) {
		d = digit(*s->p++);
		if (d < 0)
			return -1;
		v = v * 16 + d;
	}
	return v;
}

static char *
utf8(char *to, unsigned int c)
{
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*to++ = (char)(0xe0 | c >> 12);
		} else {
			*to++ = (char)(0xf0 | c >> 18);
			*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		}
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (c & 0x3f));
	return to;
}

/* Behind "\u". What is half of a pair alone becomes U+FFFD; so does the end of a text, which none of ours may have inside. */
static char *
escape_u(struct scan *s, char *to)
{
	int c = hex4(s), low;

	if (c < 0)
		return NULL;
	if (c >= 0xd800 && c < 0xdc00 && s->end - s->p >= 6 && s->p[0] == '\\' && s->p[1] == 'u') {
		char *back = s->p;

		s->p += 2;
		low = hex4(s);
		if (low >= 0xdc00 && low < 0xe000)
			return utf8(to, 0x10000u + (((unsigned int)c & 0x3ff) << 10) + ((unsigned int)low & 0x3ff));
		s->p = back;
	}
	if (c == 0 || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	return utf8(to, (unsigned int)c);
}

/* Decoded where it lies, since no escape is shorter than what it stands for. NULL: no string. */
static char *
string(struct scan *s, unsigned int *len)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	const char *at;
	char *text, *to;

	if (!take(s, '"'))
		return NULL;
	text = to = s->p;
	while (s->p < s->end && *s->p != '"') {
		if ((unsigned char)*s->p < ' ')
			return NULL;
		if (*s->p != '\\') {
			*to++ = *s->p++;
			continue;
		}
		if (++s->p == s->end)
			return NULL;
		if (*s->p == 'u') {
			s->p++;
			to = escape_u(s, to);
			if (to == NULL)
				return NULL;
			continue;
		}
		at = strchr(from, *s->p);
		if (at == NULL || *at == '\0')
			return NULL;
		*to++ = into[at - from];
		s->p++;
	}
	if (s->p == s->end)
		return NULL;
	s->p++;
	*to = '\0';
	if (len != NULL)
		*len = (unsigned int)(to - text);
	return text;
}

static size_t
digits(struct scan *s)
{
	const char *start = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return (size_t)(s->p - start);
}

static struct mj *
number(struct scan *s)
{
	struct mj *n = node(s, MJ_NUMBER);
	const char *start = s->p;
	char copy[64];
	bool whole;

	if (n == NULL)
		return NULL;
	if (s->p < s->end && *s->p == '-')
		s->p++;
	if (digits(s) == 0)
		return NULL;
	whole = *start != '-';
	if (s->p < s->end && *s->p == '.') {
		s->p++;
		whole = false;
		if (digits(s) == 0)
			return NULL;
	}
	if (s->p < s->end && (*s->p | 0x20) == 'e') {
		s->p++;
		whole = false;
		if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
			s->p++;
		if (digits(s) == 0)
			return NULL;
	}
	n->text = start;
	n->len = (unsigned int)(s->p - start);
	if (n->len >= sizeof(copy))
		return NULL;
	memcpy(copy, start, n->len);
	copy[n->len] = '\0';
	n->num = strtod(copy, NULL);
	if (whole) {
		errno = 0;
		n->whole = strtoull(copy, NULL, 10);
		n->is_whole = errno == 0;
		if (!n->is_whole)
			n->whole = 0;
	}
	return n;
}

static struct mj *
word(struct scan *s, const char *text, enum mj_kind kind)
{
	const size_t len = strlen(text);

	if ((size_t)(s->end - s->p) < len || memcmp(s->p, text, len) != 0)
		return NULL;
	s->p += len;
	return node(s, kind);
}

/* An object, or an array. */
static struct mj *
members(struct scan *s, unsigned int depth, enum mj_kind kind)
{
	const char end = kind == MJ_OBJECT ? '}' : ']';
	struct mj *n = node(s, kind), **last, *v;
	char *key = NULL;

	s->p++;
	if (n == NULL || depth == MJ_DEPTH)
		return NULL;
	last = &n->first;
	if (take(s, end))
		return n;
	do {
		if (kind == MJ_OBJECT) {
			key = string(s, NULL);
			if (key == NULL || !take(s, ':'))
				return NULL;
		}
		v = value(s, depth + 1);
		if (v == NULL)
			return NULL;
		v->key = key;
		*last = v;
		last = &v->next;
		n->len++;
	} while (take(s, ','));
	return take(s, end) ? n : NULL;
}

static struct mj *
value(struct scan *s, unsigned int depth)
{
	struct mj *n;

	space(s);
	if (s->p == s->end)
		return NULL;
	switch (*s->p) {
	case '{': return members(s, depth, MJ_OBJECT);
	case '[': return members(s, depth, MJ_ARRAY);
	case 't': return word(s, "true", MJ_TRUE);
	case 'f': return word(s, "false", MJ_FALSE);
	case 'n': return word(s, "null", MJ_NULL);
	case '"':
		n = node(s, MJ_STRING);
		if (n == NULL)
			return NULL;
		n->text = string(s, &n->len);
		return n->text == NULL ? NULL : n;
	default: return number(s);
	}
}

int
mj_parse(char *text, size_t len, struct mj_doc *doc)
{
	struct scan s = {text, text + len, doc};
	unsigned int room = 1;
	size_t i;

	/* Each value but the root stands behind one of these. */
	for (i = 0; i < len; i++)
		room += text[i] == ',' || text[i] == '[' || text[i] == '{';
	doc->num = 0;
	doc->room = room;
	doc->node = calloc(room, sizeof(doc->node[0]));
	if (doc->node == NULL)
		return -ENOMEM;
	if (value(&s, 0) != NULL) {
		space(&s);
		if (s.p == s.end)
			return 0;
	}
	mj_free(doc);
	return -EINVAL;
}

void
mj_free(struct mj_doc *doc)
{
	free(doc->node);
	doc->node = NULL;
}

const struct mj *
mj_get(const struct mj *object, const char *name)
{
	const struct mj *m;

	if (object == NULL || object->kind != MJ_OBJECT)
		return NULL;
	for (m = object->first; m != NULL; m = m->next)
		if (strcmp(m->key, name) == 0)
			return m;
	return NULL;
}

const char *
mj_text(const struct mj *object, const char *name, const char *def)
{
	const struct mj *m = mj_get(object, name);

	return m != NULL && m->kind == MJ_STRING ? m->text : def;
}

uint64_t
mj_uint(const struct mj *object, const char *name, uint64_t def)
{
	const struct mj *m = mj_get(object, name);

	return m != NULL && m->kind == MJ_NUMBER && m->is_whole ? m->whole : def;
}
