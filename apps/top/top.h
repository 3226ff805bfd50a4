/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* triplane-top: two looks at the metrics of all processes, and tables of what is between them. */
#ifndef TOP_TOP_H
#define TOP_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/metrics/metrics.h"

#define TOP_COLUMNS 16u
#define TOP_CELL 40u

struct look {
	struct metrics p[METRICS_PROCESSES];
	unsigned int num;
};

struct looks {
	struct look *now, *before; /* before: num 0 at the first look */
};

struct top_column {
	const char *name;
	unsigned int width;
	bool text; /* on the left, and sorted by its letters */
};

struct top_row {
	char cell[TOP_COLUMNS][TOP_CELL];
	double key[TOP_COLUMNS];
	bool alarm;
};

struct table {
	struct top_row *row;
	unsigned int num, room;
};

struct top_view {
	const char *name, *title;
	const struct top_column *column;
	unsigned int num_columns;
	unsigned int sort; /* at first */
	void (*fill)(const struct looks *l, struct table *t);
};

extern const struct top_view top_views[];
extern const unsigned int top_num_views;

/* --- screen.c --- */
struct screen {
	const struct top_view *view;
	unsigned int sort, scroll;
	bool reverse; /* the smallest first */
	bool colour, paused, help;
	unsigned int width, height; /* height 0: all rows */
	double interval;
};
/* The table with head and foot as text. */
void screen_draw(FILE *f, struct screen *s, const struct looks *l);
/* A key of the keyboard, or one of these. False: the end is wanted. */
enum { KEY_UP = 256, KEY_DOWN, KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_HOME, KEY_LEFT, KEY_RIGHT };
bool screen_key(struct screen *s, int key);
/* The key at the start of so many octets from a terminal, and how many of them it is; 0: it is not whole. */
size_t screen_read(const char *p, size_t len, int *key);

#endif /* TOP_TOP_H */
