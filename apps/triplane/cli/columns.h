/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Tables and texts that fit the terminal: columns get the room there is, and no line is longer than that. */
#ifndef TRIPLANE_CLI_COLUMNS_H
#define TRIPLANE_CLI_COLUMNS_H

#include <stdint.h>
#include <stdio.h>

#define COLUMNS_DEFAULT 79
#define COLUMNS_MAX 10
#define CELL_LEN 32

struct column {
	const char *name;
	unsigned int min, max; /* characters; what a row has no room for goes from the right */
};

struct columns {
	const struct column *col;
	unsigned int n; /* that fit */
	unsigned int width[COLUMNS_MAX];
};

/* Characters of a line: one less than COLUMNS or the terminal behind f has, as some wrap a full one; else 79. */
unsigned int columns_of(FILE *f);
/* Gives columns their widths in a line of so many characters, which starts with two blanks. */
void columns_fit(struct columns *t, const struct column *col, unsigned int n, unsigned int line);
/* The head. The first column is on the left of its room, the others are on the right. */
void columns_head(const struct columns *t, FILE *f);
/* A row; a cell that is longer than its column is cut. */
void columns_row(const struct columns *t, char (*cell)[CELL_LEN], FILE *f);
/* A number for column i, in thousands (k), millions (M) ... when it is too long. */
void columns_num(const struct columns *t, unsigned int i, double v, int decimals, char cell[CELL_LEN]);
/* Words of a text in lines of so many characters, each with as many blanks in front. */
void columns_wrap(const char *text, unsigned int indent, unsigned int line, FILE *f);

#endif /* TRIPLANE_CLI_COLUMNS_H */
