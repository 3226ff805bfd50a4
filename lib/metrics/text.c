/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "text.h"

/* Quotes, backslashes and ends of lines are escaped. What is not UTF-8, or would change a terminal, becomes a question mark. */
static void
quoted(FILE *f, const char *s)
{
	const unsigned char *c = (const unsigned char *)s;
	unsigned int more, i;

	fputc('"', f);
	for (; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\') {
			fprintf(f, "\\%c", *c);
		} else if (*c == '\n') {
			fputs("\\n", f);
		} else if (*c < ' ' || *c == 0x7f) {
			fputc('?', f);
		} else if (*c < 0x80) {
			fputc(*c, f);
		} else {
			more = *c >= 0xf0 && *c < 0xf5   ? 3
			       : *c >= 0xe0 && *c < 0xf0 ? 2
			       : *c >= 0xc2 && *c < 0xe0 ? 1
							 : 0;
			for (i = 1; i <= more && (c[i] & 0xc0) == 0x80; i++)
				;
			if (more == 0 || i <= more) {
				fputc('?', f);
				continue;
			}
			fwrite(c, 1, more + 1, f);
			c += more;
		}
	}
	fputc('"', f);
}

static void
head(FILE *f, const struct metric_family *fam, bool openmetrics)
{
	/* The older format has no type for information, another word for what is not known, and counters by their whole name. */
	static const char *const types[][2] = {
		[METRIC_COUNTER] = {"counter", "counter"},
		[METRIC_GAUGE] = {"gauge", "gauge"},
		[METRIC_INFO] = {"gauge", "info"},
		[METRIC_UNKNOWN] = {"untyped", "unknown"},
	};
	const char *end = openmetrics                   ? ""
			  : fam->type == METRIC_COUNTER ? "_total"
			  : fam->type == METRIC_INFO    ? "_info"
							: "";

	fprintf(f, "# HELP %s%s %s.\n# TYPE %s%s %s\n", fam->name, end, fam->help, fam->name, end,
		types[fam->type][openmetrics]);
	if (openmetrics && fam->unit[0] != '\0')
		fprintf(f, "# UNIT %s %s\n", fam->name, fam->unit);
}

static void
line(FILE *f, const struct metric_family *fam, const struct metrics *p, const struct metric *m)
{
	unsigned int i;

	fprintf(f, "%s%s{process=", fam->name,
		fam->type == METRIC_COUNTER ? "_total"
		: fam->type == METRIC_INFO  ? "_info"
					    : "");
	quoted(f, p->name);
	for (i = 0; i < m->num_labels; i++) {
		fprintf(f, ",%s=", m->label[i].name);
		quoted(f, m->label[i].value);
	}
	if (m->scaled)
		fprintf(f, "} %.15g\n", m->real);
	else
		fprintf(f, "} %" PRIu64 "\n", m->whole);
}

struct entry {
	const struct metrics *p;
	const struct metric *m;
};

/* By family; those of one process stay as they came. */
static int
by_family(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->m->id != y->m->id)
		return x->m->id < y->m->id ? -1 : 1;
	if (x->p != y->p)
		return x->p < y->p ? -1 : 1;
	return x->m < y->m ? -1 : x->m > y->m;
}

int
metrics_write(FILE *f, const struct metrics *p, unsigned int num, bool openmetrics)
{
	unsigned int total = 0, n = 0, i, k;
	struct entry *e;

	for (i = 0; i < num; i++)
		total += p[i].num;
	e = calloc((size_t)total + 1, sizeof(*e));
	if (e == NULL)
		return -ENOMEM;
	for (i = 0; i < num; i++)
		for (k = 0; k < p[i].num; k++)
			e[n++] = (struct entry){&p[i], &p[i].sample[k]};
	qsort(e, n, sizeof(*e), by_family);
	for (i = 0; i < n; i++) {
		const struct metric_family *fam = &metric_families[e[i].m->id];

		if (i == 0 || e[i].m->id != e[i - 1].m->id)
			head(f, fam, openmetrics);
		line(f, fam, e[i].p, e[i].m);
	}
	if (openmetrics)
		fputs("# EOF\n", f);
	free(e);
	return ferror(f) ? -EIO : 0;
}
