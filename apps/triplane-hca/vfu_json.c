/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The JSON text of VERSION: walked once, bounded in length and depth, every value checked, and only the capabilities
 * that matter here kept. {"capabilities":{"NAME":VALUE,...}}
 */
#include <errno.h>
#include <string.h>

#include "vfu.h"

#define DEPTH_MAX 8
#define KEY_MAX 48u

struct scan {
	const char *p, *end;
	struct vfu_caps *caps;
};

struct value {
	enum { V_OTHER, V_NUMBER, V_TRUE } kind;
	uint64_t num;
};

static bool parse_value(struct scan *s, int depth, bool is_caps, struct value *v);

static void
skip_space(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
		s->p++;
}

static bool
take(struct scan *s, char c)
{
	skip_space(s);
	if (s->p == s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

/* Escapes are passed over, not decoded: no known name has one. What is longer than the buffer is cut. */
static bool
parse_string(struct scan *s, char key[KEY_MAX])
{
	size_t n = 0;

	if (!take(s, '"'))
		return false;
	while (s->p < s->end && *s->p != '"') {
		if ((unsigned char)*s->p < ' ')
			return false;
		if (*s->p == '\\' && ++s->p == s->end)
			return false;
		if (n < KEY_MAX - 1)
			key[n++] = *s->p;
		s->p++;
	}
	key[n] = '\0';
	return take(s, '"');
}

static bool
parse_word(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
		return false;
	s->p += n;
	return true;
}

/* Unsigned integers are kept and saturate; signs, fractions and exponents are valid JSON that no capability uses. */
static bool
parse_number(struct scan *s, struct value *v)
{
	const char *start = s->p;

	v->kind = V_NUMBER;
	for (; s->p < s->end && strchr("+-.eE0123456789", *s->p) != NULL && *s->p != '\0'; s->p++) {
		if (*s->p < '0' || *s->p > '9')
			v->kind = V_OTHER;
		else if (__builtin_mul_overflow(v->num, 10, &v->num) ||
			 __builtin_add_overflow(v->num, (uint64_t)(*s->p - '0'), &v->num))
			v->num = UINT64_MAX;
	}
	return s->p != start;
}

static void
keep(struct vfu_caps *caps, const char *key, const struct value *v)
{
	const struct {
		const char *name;
		uint64_t *to;
	} known[] = {{"max_msg_fds", &caps->max_msg_fds},
		     {"max_data_xfer_size", &caps->max_data_xfer_size},
		     {"max_dma_maps", &caps->max_dma_maps},
		     {"pgsizes", &caps->pgsizes}};

	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (v->kind == V_NUMBER && strcmp(key, known[i].name) == 0)
			*known[i].to = v->num;
	if (v->kind == V_TRUE && strcmp(key, VFU_CAP_SHARED_UAR) == 0)
		caps->shared_uar = true;
}

static bool
parse_object(struct scan *s, int depth, bool is_caps)
{
	char key[KEY_MAX];

	if (take(s, '}'))
		return true;
	do {
		struct value v = {V_OTHER, 0};

		if (!parse_string(s, key) || !take(s, ':') ||
		    !parse_value(s, depth + 1, depth == 1 && strcmp(key, "capabilities") == 0, &v))
			return false;
		if (is_caps)
			keep(s->caps, key, &v);
	} while (take(s, ','));
	return take(s, '}');
}

static bool
parse_array(struct scan *s, int depth)
{
	if (take(s, ']'))
		return true;
	do {
		struct value v = {V_OTHER, 0};

		if (!parse_value(s, depth + 1, false, &v))
			return false;
	} while (take(s, ','));
	return take(s, ']');
}

static bool
parse_value(struct scan *s, int depth, bool is_caps, struct value *v)
{
	char text[KEY_MAX];

	skip_space(s);
	if (depth > DEPTH_MAX || s->p == s->end)
		return false;
	switch (*s->p) {
	case '{': s->p++; return parse_object(s, depth, is_caps);
	case '[': s->p++; return parse_array(s, depth);
	case '"': return parse_string(s, text);
	case 't': v->kind = V_TRUE; return parse_word(s, "true");
	case 'f': return parse_word(s, "false");
	case 'n': return parse_word(s, "null");
	default: return parse_number(s, v);
	}
}

int
vfu_json_caps(const char *text, size_t len, struct vfu_caps *caps)
{
	struct scan s = {text, text + len, caps};
	const char *nul = memchr(text, '\0', len);
	struct value v = {V_OTHER, 0};

	/* The text ends with the payload. */
	if (nul == NULL || nul != text + len - 1)
		return -EPROTO;
	s.end = nul;
	skip_space(&s);
	if (s.p == s.end || *s.p != '{' || !parse_value(&s, 1, false, &v))
		return -EPROTO;
	skip_space(&s);
	return s.p == s.end ? 0 : -EPROTO;
}
