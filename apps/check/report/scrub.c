/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Takes identities out of what is sent to somebody. Lengths stay, so that captures and mailboxes can still be read. */
#include <ctype.h>
#include <string.h>

#include "apps/check/check.h"

static int
digit(uint8_t c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static bool
is_gap(uint8_t c)
{
	return c == ':' || c == '-' || c == '.' || c == ' ';
}

/* The octets in hex at data: how long that is, 0: they are not there. */
static size_t
hex_length(const uint8_t *data, size_t len, const struct ck_secret *s)
{
	size_t at = 0;
	unsigned int i;
	bool low;

	for (i = 0; i < 2 * s->len; i++) {
		low = (i & 1) != 0;
		if (!low && i != 0 && at < len && is_gap(data[at]))
			at++;
		if (at >= len || digit(data[at]) != (low ? s->octets[i / 2] & 15 : s->octets[i / 2] >> 4))
			return 0;
		at++;
	}
	return at;
}

unsigned int
ck_scrub(uint8_t *data, size_t len, const struct ck_secret *s, unsigned int n)
{
	unsigned int i, found = 0;
	size_t at, k, hex;
	bool text;

	for (at = 0; at < len; at++) {
		for (i = 0; i < n; i++) {
			text = strcmp(s[i].kind, "serial") == 0;
			if (s[i].len == 0)
				continue;
			if (s[i].len <= len - at && memcmp(data + at, s[i].octets, s[i].len) == 0) {
				memset(data + at, text ? 'x' : 0, s[i].len);
				found++;
			}
			hex = hex_length(data + at, len - at, &s[i]);
			for (k = at; k < at + hex; k++)
				if (!is_gap(data[k]))
					data[k] = '0';
			found += hex != 0;
		}
	}
	return found;
}

bool
ck_secret_of(struct ck_secret *s, const struct ck_record *r)
{
	const size_t len = strlen(r->text);
	size_t i;

	memset(s, 0, sizeof(*s));
	snprintf(s->kind, sizeof(s->kind), "%.15s", r->name);
	if (len % 2 != 0 || len / 2 > sizeof(s->octets))
		return false;
	for (i = 0; i < len; i++) {
		const int d = digit((uint8_t)r->text[i]);

		if (d < 0)
			return false;
		s->octets[i / 2] = (uint8_t)(s->octets[i / 2] << 4 | d);
	}
	s->len = (unsigned int)(len / 2);
	return s->len != 0;
}
