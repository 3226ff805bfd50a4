/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"

#define LONG_BASE 256 /* values of getopt_long() for options: index in order of the tables */

static int
bad(char *err, size_t errlen, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err, errlen, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* How the user knows an option. */
static const char *
called(const struct ropt *o, char buf[64])
{
	if (o->name != NULL)
		snprintf(buf, 64, "--%s", o->name);
	else
		snprintf(buf, 64, "-%c", o->letter);
	return buf;
}

static int
set_word(const struct ropt *o, uint32_t *at, const char *text, char *err, size_t errlen)
{
	char known[256] = "", name[64];
	size_t i, used = 0;

	for (i = 0; o->words[i] != NULL; i++) {
		if (strcmp(o->words[i], text) == 0) {
			*at = (uint32_t)i;
			return 0;
		}
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i == 0 ? "" : ", ", o->words[i]);
	}
	return bad(err, errlen, "%s: '%s' is not one of %s", called(o, name), text, known);
}

static int
set_value(const struct ropt *o, void *base, const char *text, char *err, size_t errlen)
{
	void *at = (char *)base + o->at;
	unsigned long long v;
	const char **list;
	char name[64], *end;
	uint32_t i;

	switch (o->kind) {
	case ROPT_FLAG: *(uint32_t *)at = 1; return 0;
	case ROPT_STR: *(const char **)at = text; return 0;
	case ROPT_WORD: return set_word(o, at, text, err, errlen);
	case ROPT_LIST:
		list = at;
		for (i = 0; i < o->max && list[i] != NULL; i++)
			;
		if (i == o->max)
			return bad(err, errlen, "%s: '%s' is one too many, %u are allowed", called(o, name), text,
				   o->max);
		list[i] = text;
		return 0;
	case ROPT_U32: break;
	}
	errno = 0;
	v = strtoull(text, &end, 0);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || v < o->min || v > o->max)
		return bad(err, errlen, "%s: '%s' is not a number in %u..%u", called(o, name), text, o->min, o->max);
	*(uint32_t *)at = (uint32_t)v;
	return 0;
}

/* The option that a value of getopt_long() stands for, and its table. */
static const struct ropt *
find(const struct ropt_set *sets, unsigned int nsets, int c, const struct ropt_set **set)
{
	unsigned int i, k;
	int at = LONG_BASE;

	for (i = 0; i < nsets; i++) {
		for (k = 0; k < sets[i].n; k++, at++) {
			*set = &sets[i];
			if (c >= LONG_BASE ? c == at : c == sets[i].opts[k].letter)
				return &sets[i].opts[k];
		}
	}
	return NULL;
}

int
ropt_parse(const struct ropt_set *sets, unsigned int nsets, int argc, char **argv, char *err, size_t errlen)
{
	char letters[2 * ROPT_MAX + 2] = ":";
	struct option longs[ROPT_MAX + 1];
	const struct ropt_set *set = NULL;
	unsigned int i, k, n = 0, nl = 1;
	const struct ropt *o;
	int c, rc, at = LONG_BASE;
	char name[64];

	memset(longs, 0, sizeof(longs));
	for (i = 0; i < nsets; i++) {
		for (k = 0; k < sets[i].n && n < ROPT_MAX; k++, at++) {
			o = &sets[i].opts[k];
			if (o->name != NULL)
				longs[n++] = (struct option){o->name, o->kind != ROPT_FLAG, NULL, at};
			/* a letter belongs to the first table that has it */
			if (o->letter == 0 || strchr(letters, o->letter) != NULL)
				continue;
			letters[nl++] = o->letter;
			if (o->kind != ROPT_FLAG)
				letters[nl++] = ':';
		}
	}
	letters[nl] = '\0';
	opterr = 0;
	optind = 0; /* begins anew, also after an earlier list of arguments */
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (c == '?')
			return bad(err, errlen, "unknown option '%s'; --help lists all", argv[optind - 1]);
		if (c == ':') {
			o = find(sets, nsets, optopt, &set);
			return bad(err, errlen, "%s needs a value: %s", o == NULL ? "it" : called(o, name),
				   o == NULL || o->arg == NULL ? "VALUE" : o->arg);
		}
		o = find(sets, nsets, c, &set);
		rc = o == NULL ? -EINVAL : set_value(o, set->base, optarg, err, errlen);
		if (rc != 0)
			return rc;
	}
	return optind;
}

void
ropt_help(const struct ropt_set *sets, unsigned int nsets)
{
	unsigned int i, k;
	char left[80];
	int n;

	for (i = 0; i < nsets; i++) {
		for (k = 0; k < sets[i].n; k++) {
			const struct ropt *o = &sets[i].opts[k];

			if (o->letter != 0)
				n = snprintf(left, sizeof(left), "-%c%s", o->letter, o->name != NULL ? ", " : "");
			else
				n = snprintf(left, sizeof(left), "    ");
			if (o->name != NULL)
				n += snprintf(left + n, sizeof(left) - (size_t)n, "--%s", o->name);
			if (o->arg != NULL)
				snprintf(left + n, sizeof(left) - (size_t)n, " %s", o->arg);
			printf("  %-30s %s\n", left, o->help);
		}
	}
}
