/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A view as lines of text that fit, and what keys do to it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "top.h"

#define LEAST_LINES 4u /* title, head, a row, foot */

/* qsort() has no argument of its own. */
static const struct screen *sorted;

static int
compare(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;
	const unsigned int i = sorted->sort;
	int ret;

	if (sorted->view->column[i].text)
		ret = strcmp(x->cell[i], y->cell[i]);
	else
		ret = x->key[i] < y->key[i] ? 1 : x->key[i] > y->key[i] ? -1 : 0;
	if (sorted->reverse)
		ret = -ret;
	/* What is equal stays in the order of the tables. */
	if (ret == 0)
		ret = strcmp(x->cell[0], y->cell[0]);
	if (ret == 0)
		ret = x->key[1] < y->key[1] ? -1 : x->key[1] > y->key[1];
	if (ret == 0)
		ret = x->key[2] < y->key[2] ? -1 : x->key[2] > y->key[2];
	return ret != 0 ? ret : strcmp(x->cell[2], y->cell[2]);
}

struct pen {
	FILE *f;
	const struct screen *s;
	unsigned int lines;
};

/* A whole line of so many characters at most; style: an SGR parameter or NULL. */
static void
line(struct pen *p, const char *text, const char *style)
{
	if (p->s->height != 0 && p->lines >= p->s->height)
		return;
	if (p->s->height != 0 && p->lines != 0)
		fputs("\r\n", p->f);
	if (style != NULL && p->s->colour)
		fprintf(p->f, "\x1b[%sm", style);
	fprintf(p->f, "%.*s", (int)p->s->width, text);
	if (style != NULL && p->s->colour)
		fputs("\x1b[0m", p->f);
	if (p->s->height == 0)
		fputc('\n', p->f);
	else
		fputs("\x1b[K", p->f);
	p->lines++;
}

/* Columns that fit, from the left; the one that sorts is marked. */
static unsigned int
fitting(const struct screen *s)
{
	unsigned int used = 0, i;

	for (i = 0; i < s->view->num_columns; i++) {
		used += s->view->column[i].width + (i == 0 ? 0 : 1);
		if (used > s->width)
			break;
	}
	return i == 0 ? 1 : i;
}

static void
cells(struct pen *p, const struct top_row *r, unsigned int columns, const char *style)
{
	char text[1024] = "", cell[TOP_CELL + 2];
	unsigned int i, n = 0;

	for (i = 0; i < columns; i++) {
		const struct top_column *c = &p->s->view->column[i];

		if (r == NULL)
			snprintf(cell, sizeof(cell), "%s%s", c->name,
				 i == p->s->sort ? (p->s->reverse ? "^" : "v") : "");
		else
			snprintf(cell, sizeof(cell), "%s", r->cell[i]);
		n += (unsigned int)snprintf(text + n, sizeof(text) - n, c->text ? "%s%-*.*s" : "%s%*.*s",
					    i == 0 ? "" : " ", (int)c->width, (int)c->width, cell);
	}
	line(p, text, style);
}

static void
title(struct pen *p, const struct looks *l, unsigned int rows)
{
	unsigned int up = 0, i;
	char text[512], clock[16];
	const time_t now = time(NULL);
	struct tm tm;

	for (i = 0; i < l->now->num; i++)
		up += l->now->p[i].err == 0;
	localtime_r(&now, &tm);
	strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "triplane-top  %s  %s: %u  processes: %u%s%s", clock, p->s->view->title, rows, up,
		 p->s->paused ? "  PAUSED" : "",
		 l->before->num == 0 && l->now->num != 0 ? "  (rates at the next look)" : "");
	line(p, text, "1");
}

/* Who does not answer. */
static void
silent(struct pen *p, const struct looks *l)
{
	char text[512];
	unsigned int i;

	for (i = 0; i < l->now->num; i++) {
		if (l->now->p[i].err == 0)
			continue;
		snprintf(text, sizeof(text), "%.80s: %s", l->now->p[i].name, strerror(-l->now->p[i].err));
		line(p, text, "31");
	}
}

static void
help(struct pen *p)
{
	static const char *const text[] = {
		"1..6, Tab        the tables: ports, queues, lcores, drops, priorities, rdma",
		"< >, left right  the column that sorts",
		"r                the other way round",
		"up down, PgUp PgDn, Home  rows",
		"+ -              a longer or shorter time between two looks",
		"p                no more looks, and on",
		"h ?              this text, and back",
		"q                the end",
	};
	unsigned int i;

	for (i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		line(p, text[i], NULL);
}

void
screen_draw(FILE *f, struct screen *s, const struct looks *l)
{
	static const char foot[] = "1-6 table  < > sort  r reverse  +- interval  p pause  h help  q quit";
	struct table t = {NULL, 0, 0};
	struct pen p = {f, s, 0};
	unsigned int columns = fitting(s), i, most;

	s->view->fill(l, &t);
	sorted = s;
	if (t.num > 1)
		qsort(t.row, t.num, sizeof(t.row[0]), compare);
	if (s->height != 0)
		fputs("\x1b[H", f);
	title(&p, l, t.num);
	silent(&p, l);
	if (s->help) {
		help(&p);
	} else {
		cells(&p, NULL, columns, "7");
		most = s->height == 0 ? t.num : s->height > p.lines + 1 ? s->height - p.lines - 1 : 0;
		if (s->scroll + most > t.num)
			s->scroll = t.num > most ? t.num - most : 0;
		for (i = s->scroll; i < t.num && i < s->scroll + most; i++)
			cells(&p, &t.row[i], columns, t.row[i].alarm ? "33" : NULL);
	}
	while (s->height >= LEAST_LINES && p.lines + 1 < s->height)
		line(&p, "", NULL);
	if (s->height >= LEAST_LINES)
		line(&p, foot, "2");
	if (s->height != 0)
		fputs("\x1b[J", f);
	fflush(f);
	free(t.row);
}

static void
show(struct screen *s, unsigned int view)
{
	s->view = &top_views[view % top_num_views];
	s->sort = s->view->sort;
	s->scroll = 0;
	s->reverse = false;
}

bool
screen_key(struct screen *s, int key)
{
	const unsigned int page = s->height > LEAST_LINES ? s->height - LEAST_LINES : 1;
	const unsigned int n = s->view->num_columns;

	switch (key) {
	case 'q':
	case 3: return false;
	case '\t': show(s, (unsigned int)(s->view - top_views) + 1); break;
	case '>':
	case KEY_RIGHT: s->sort = (s->sort + 1) % n; break;
	case '<':
	case KEY_LEFT: s->sort = (s->sort + n - 1) % n; break;
	case 'r': s->reverse = !s->reverse; break;
	case 'p': s->paused = !s->paused; break;
	case 'h':
	case '?': s->help = !s->help; break;
	case '+': s->interval = fmin(3600, s->interval * 2); break;
	case '-': s->interval = fmax(0.25, s->interval / 2); break;
	case KEY_UP: s->scroll -= s->scroll != 0; break;
	case KEY_DOWN: s->scroll++; break;
	case KEY_PAGE_UP: s->scroll -= s->scroll < page ? s->scroll : page; break;
	case KEY_PAGE_DOWN: s->scroll += page; break;
	case KEY_HOME: s->scroll = 0; break;
	default:
		if (key >= '1' && key < '1' + (int)top_num_views)
			show(s, (unsigned int)(key - '1'));
	}
	return true;
}

size_t
screen_read(const char *p, size_t len, int *key)
{
	static const struct {
		const char *text;
		int key;
	} keys[] = {
		{"\x1b[A", KEY_UP},       {"\x1b[B", KEY_DOWN},       {"\x1b[C", KEY_RIGHT}, {"\x1b[D", KEY_LEFT},
		{"\x1bOA", KEY_UP},       {"\x1bOB", KEY_DOWN},       {"\x1bOC", KEY_RIGHT}, {"\x1bOD", KEY_LEFT},
		{"\x1b[5~", KEY_PAGE_UP}, {"\x1b[6~", KEY_PAGE_DOWN}, {"\x1b[H", KEY_HOME},  {"\x1b[1~", KEY_HOME},
	};
	unsigned int i;
	size_t n;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		n = strlen(keys[i].text);
		if (len >= n && memcmp(p, keys[i].text, n) == 0) {
			*key = keys[i].key;
			return n;
		}
		if (len < n && memcmp(p, keys[i].text, len) == 0)
			return 0;
	}
	/* A sequence that no key of ours has is passed over whole. */
	if (p[0] == '\x1b' && len > 1 && p[1] == '[') {
		for (n = 2; n < len && (p[n] < '@' || p[n] > '~'); n++)
			;
		*key = 0;
		return n < len ? n + 1 : 0;
	}
	*key = (unsigned char)p[0];
	return 1;
}
