/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Words of the file of an experiment: variables, numbers, times, names with ranges. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

int
rd_fault(struct reader *r, const char *fmt, ...)
{
	int n = snprintf(r->err, SCENE_TEXT, "%s:%u: ", r->file, r->line);
	va_list ap;

	if (n < 0 || (unsigned int)n >= SCENE_TEXT)
		return -1;
	va_start(ap, fmt);
	vsnprintf(r->err + n, SCENE_TEXT - (unsigned int)n, fmt, ap);
	va_end(ap);
	return -1;
}

/* --- variables ------------------------------------------------------------------------------------------------ */

static struct var *
find_var(struct reader *r, const char *name, size_t len)
{
	for (unsigned int i = 0; i < r->num_vars; i++)
		if (strlen(r->var[i].name) == len && memcmp(r->var[i].name, name, len) == 0)
			return &r->var[i];
	return NULL;
}

int
rd_set(struct reader *r, const char *name, const char *value, bool given)
{
	struct var *v = find_var(r, name, strlen(name));

	if (v != NULL && v->given)
		return 0;
	if (v == NULL) {
		if (r->num_vars == MAX_VARS)
			return rd_fault(r, "set %s: there are %u already, and no more", name, MAX_VARS);
		v = &r->var[r->num_vars++];
	}
	if (strlen(name) == 0 || strlen(name) >= sizeof(v->name) || strlen(value) >= sizeof(v->value))
		return rd_fault(r, "set '%s': wanted a name of 1..%zu letters and a value of at most %zu", name,
				sizeof(v->name) - 1, sizeof(v->value) - 1);
	strcpy(v->name, name);
	strcpy(v->value, value);
	v->given = given;
	return 0;
}

int
rd_expand(struct reader *r, const char *in, char out[LINE_MAX_LEN])
{
	size_t n = 0;

	while (*in != '\0' && *in != '#' && *in != '\n') {
		const char *from = in;
		size_t len = 1;

		if (*in == '$') {
			const struct var *v;
			size_t name = 0;

			while (isalnum((unsigned char)in[1 + name]) || in[1 + name] == '_')
				name++;
			v = find_var(r, in + 1, name);
			if (v == NULL)
				return rd_fault(r, "$%.*s is not set", (int)name, in + 1);
			from = v->value;
			len = strlen(v->value);
			in += 1 + name;
		} else {
			in++;
		}
		if (n + len >= LINE_MAX_LEN)
			return rd_fault(r, "the line is longer than %u", LINE_MAX_LEN - 1);
		memcpy(out + n, from, len);
		n += len;
	}
	out[n] = '\0';
	return 0;
}

/* --- words ------------------------------------------------------------------------------------------------------ */

int
rd_number(struct reader *r, const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0 || v < min || v > max)
		return rd_fault(r, "%s '%s': wanted a number %" PRIu64 "..%" PRIu64, what, text, min, max);
	*out = v;
	return 0;
}

int
rd_duration(struct reader *r, const char *what, const char *text, uint64_t *out)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
	double v;
	char *end;

	v = strtod(text, &end);
	for (unsigned int i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (end != text && isdigit((unsigned char)text[0]) && strcmp(end, units[i].unit) == 0 &&
		    v * (double)units[i].ns <= 1e12) {
			*out = (uint64_t)(v * (double)units[i].ns + 0.5);
			return 0;
		}
	return rd_fault(r, "%s '%s': wanted a time of at most 1000s, such as 20us or 5ms (ns, us, ms, s)", what, text);
}

const char *
rd_value(const char *word, const char *key)
{
	size_t n = strlen(key);

	return strncmp(word, key, n) == 0 && word[n] == ':' ? word + n + 1 : NULL;
}

/* --- names with ranges ------------------------------------------------------------------------------------------ */

int
rd_range(struct reader *r, const char *text, struct range *g)
{
	const char *open = strchr(text, '[');
	unsigned int first, last;
	int used = 0;

	if (strlen(text) >= SCENE_NAME || text[0] == '\0')
		return rd_fault(r, "name '%s': wanted 1..%u letters", text, SCENE_NAME - 1);
	*g = (struct range){.count = 1};
	if (open == NULL) {
		strcpy(g->head, text);
		return 0;
	}
	if (sscanf(open, "[%u..%u]%n", &first, &last, &used) != 2 || used == 0 || last < first ||
	    last - first >= SCENE_MAX_FLOWS)
		return rd_fault(r, "name '%s': wanted a range such as h[1..8], of at most %u", text, SCENE_MAX_FLOWS);
	memcpy(g->head, text, (size_t)(open - text));
	strcpy(g->tail, open + used);
	g->first = first;
	g->count = last - first + 1;
	g->is = true;
	return 0;
}

void
rd_name(const struct range *g, uint32_t i, char name[SCENE_NAME])
{
	if (g->is)
		snprintf(name, SCENE_NAME, "%.15s%u%.5s", g->head, g->first + i % g->count, g->tail);
	else
		snprintf(name, SCENE_NAME, "%s", g->head);
}
