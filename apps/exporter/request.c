/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a request says (RFC 9112). */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http.h"

#define QUALITY_MOST 1000u

/* A word of a request line: what is up to the next blank or the end; its octets are printable. 0: there is none. */
static size_t
word(const char *p, const char *end)
{
	size_t n = 0;

	while (p + n < end && p[n] > ' ' && p[n] < 0x7f)
		n++;
	return n;
}

static bool
is(const char *p, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(p, text, len) == 0;
}

static int
request_line(const char *p, const char *end, struct http_request *r)
{
	size_t n = word(p, end), path;
	const char *at;

	if (n == 0 || p + n >= end || p[n] != ' ')
		return 400;
	r->head = is(p, n, "HEAD");
	if (!r->head && !is(p, n, "GET"))
		return 405;
	p += n + 1;
	n = word(p, end);
	if (n == 0 || p + n >= end || p[n] != ' ' || *p != '/')
		return 400;
	at = memchr(p, '?', n);
	path = at == NULL ? n : (size_t)(at - p);
	if (path >= sizeof(r->path))
		return 414;
	memcpy(r->path, p, path);
	r->path[path] = '\0';
	p += n + 1;
	n = word(p, end);
	if (p + n != end || n != strlen("HTTP/1.1") || memcmp(p, "HTTP/", 5) != 0)
		return 400;
	return p[5] == '1' && p[6] == '.' && p[7] >= '0' && p[7] <= '9' ? 0 : 505;
}

/* Where that character is, or the end. */
static const char *
find(const char *p, const char *end, char c)
{
	while (p < end && *p != c)
		p++;
	return p;
}

/* q=0.5 in thousandths; what is no such number counts as nothing. */
static unsigned int
quality(const char *p, const char *end)
{
	unsigned int v, part = 100;

	if (p == end || (*p != '0' && *p != '1'))
		return 0;
	v = *p == '1' ? QUALITY_MOST : 0;
	if (++p < end && *p == '.')
		for (p++; p < end && *p >= '0' && *p <= '9' && part != 0; p++, part /= 10)
			v += (unsigned int)(*p - '0') * part;
	return v < QUALITY_MOST ? v : QUALITY_MOST;
}

/* One element of Accept: its type, and how much it is wanted. */
static void
accepts(const char *p, const char *end, unsigned int *openmetrics, unsigned int *plain)
{
	static const char om[] = "application/openmetrics-text", text[] = "text/plain", any[] = "*/*",
			  texts[] = "text/*";
	const char *semi = find(p, end, ';'), *next;
	size_t n = (size_t)(semi - p);
	unsigned int q = QUALITY_MOST;

	while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\t'))
		n--;
	while (semi < end) {
		semi++;
		while (semi < end && (*semi == ' ' || *semi == '\t'))
			semi++;
		next = find(semi, end, ';');
		if (next - semi > 2 && (*semi | 0x20) == 'q' && semi[1] == '=')
			q = quality(semi + 2, next);
		semi = next;
	}
	if (n == sizeof(om) - 1 && strncasecmp(p, om, n) == 0 && q > *openmetrics)
		*openmetrics = q;
	else if (((n == sizeof(text) - 1 && strncasecmp(p, text, n) == 0) || is(p, n, any) || is(p, n, texts)) &&
		 q > *plain)
		*plain = q;
}

static void
accept_line(const char *p, const char *end, struct http_request *r)
{
	unsigned int openmetrics = 0, plain = 0;
	const char *comma;

	while (p < end) {
		while (p < end && (*p == ' ' || *p == '\t' || *p == ','))
			p++;
		comma = find(p, end, ',');
		if (comma > p)
			accepts(p, comma, &openmetrics, &plain);
		p = comma;
	}
	r->openmetrics = openmetrics != 0 && openmetrics >= plain;
}

/* The end of a line that begins here, without its CR; *next: where the next one begins. */
static const char *
line_end(const char *p, const char *end, const char **next)
{
	const char *lf = memchr(p, '\n', (size_t)(end - p));

	*next = lf == NULL ? end : lf + 1;
	if (lf == NULL)
		lf = end;
	return lf > p && lf[-1] == '\r' ? lf - 1 : lf;
}

int
http_parse(const char *text, size_t len, struct http_request *r)
{
	static const char accept[] = "accept:";
	const char *end = text + len, *next, *e;
	int ret;

	memset(r, 0, sizeof(*r));
	if (memchr(text, '\0', len) != NULL)
		return 400;
	e = line_end(text, end, &next);
	ret = request_line(text, e, r);
	while (ret == 0 && next < end) {
		const char *p = next;

		e = line_end(p, end, &next);
		if (e == p)
			break;
		if (memchr(p, ':', (size_t)(e - p)) == NULL || *p == ' ' || *p == '\t')
			return 400;
		if ((size_t)(e - p) >= sizeof(accept) - 1 && strncasecmp(p, accept, sizeof(accept) - 1) == 0)
			accept_line(p + sizeof(accept) - 1, e, r);
	}
	return ret;
}
