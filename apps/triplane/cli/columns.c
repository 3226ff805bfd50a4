/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "columns.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define INDENT 2u
#define LEAST 20u /* a line that is narrower is as good as none */
#define MOST 1000u

unsigned int
columns_of(FILE *f)
{
	const char *env = getenv("COLUMNS");
	unsigned long n = env != NULL ? strtoul(env, NULL, 10) : 0;
	struct winsize ws;

	if (n == 0 && isatty(fileno(f)) && ioctl(fileno(f), TIOCGWINSZ, &ws) == 0)
		n = ws.ws_col;
	if (n == 0)
		return COLUMNS_DEFAULT;
	return (unsigned int)(n <= LEAST ? LEAST : n > MOST ? MOST : n - 1);
}

void
columns_fit(struct columns *t, const struct column *col, unsigned int n, unsigned int line)
{
	unsigned int i, used = INDENT, grown = 1;

	t->col = col;
	for (i = 0; i < n && i < COLUMNS_MAX; i++) {
		const unsigned int more = col[i].min + (i > 0);

		if (i > 0 && used + more > line)
			break;
		t->width[i] = col[i].min;
		used += more;
	}
	t->n = i;
	while (used < line && grown != 0) {
		grown = 0;
		for (i = 0; i < t->n && used < line; i++) {
			if (t->width[i] == col[i].max)
				continue;
			t->width[i]++;
			used++;
			grown++;
		}
	}
}

static void
print_cell(const struct columns *t, unsigned int i, const char *text, FILE *f)
{
	const int w = (int)t->width[i];

	if (i == 0)
		fprintf(f, "%*s%-*.*s", (int)INDENT, "", w, w, text);
	else
		fprintf(f, " %*.*s", w, w, text);
}

void
columns_head(const struct columns *t, FILE *f)
{
	unsigned int i;

	for (i = 0; i < t->n; i++)
		print_cell(t, i, t->col[i].name, f);
	fputc('\n', f);
}

void
columns_row(const struct columns *t, char (*cell)[CELL_LEN], FILE *f)
{
	unsigned int i;

	for (i = 0; i < t->n; i++)
		print_cell(t, i, cell[i], f);
	fputc('\n', f);
}

void
columns_num(const struct columns *t, unsigned int i, double v, int decimals, char cell[CELL_LEN])
{
	static const char units[] = "kMGTPE";
	const unsigned int width = i < t->n ? t->width[i] : CELL_LEN - 1;
	const char *unit = units;

	if (v > 1e20)
		v = 1e20;
	if ((unsigned int)snprintf(cell, CELL_LEN, "%.*f", decimals, v) <= width)
		return;
	if ((unsigned int)snprintf(cell, CELL_LEN, "%.0f", v) <= width)
		return;
	for (v /= 1000; *unit != '\0'; unit++, v /= 1000)
		if ((unsigned int)snprintf(cell, CELL_LEN, "%.0f%c", v, *unit) <= width)
			return;
}

void
columns_wrap(const char *text, unsigned int indent, unsigned int line, FILE *f)
{
	unsigned int at = 0;

	while (*text != '\0') {
		const unsigned int len = (unsigned int)strcspn(text, " \n");

		if (at != 0 && at + 1 + len > line) {
			fputc('\n', f);
			at = 0;
		}
		if (at == 0)
			at = indent;
		else
			at++;
		fprintf(f, "%*s%.*s", (int)(at > indent ? 1 : indent), "", (int)len, text);
		at += len;
		text += len;
		text += strspn(text, " \n");
	}
	fputc('\n', f);
}
