/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What reads the file of an experiment, from the inside. */
#ifndef FABRIC_READER_H
#define FABRIC_READER_H

#include "scene.h"

#define MAX_WORDS 32u
#define MAX_VARS 64u
#define LINE_MAX_LEN 1024u

struct var {
	char name[SCENE_NAME], value[SCENE_TEXT];
	bool given; /* on the command line: the file's word does not count */
};

struct reader {
	struct scene *s;
	const char *file;
	unsigned int line;
	char *err;
	struct var var[MAX_VARS];
	unsigned int num_vars;
	char *word[MAX_WORDS];
	unsigned int num_words;
};

/* A name, or several: "h[1..8]". */
struct range {
	char head[SCENE_NAME], tail[SCENE_NAME];
	uint32_t first, count;
	bool is;
};

/* Writes the line of a refusal; -1. */
int rd_fault(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* given: on the command line. */
int rd_set(struct reader *r, const char *name, const char *value, bool given);
/* Puts values for $NAME. */
int rd_expand(struct reader *r, const char *in, char out[LINE_MAX_LEN]);
int rd_number(struct reader *r, const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *out);
/* "1500ns", "20us", "5ms", "1s" */
int rd_duration(struct reader *r, const char *what, const char *text, uint64_t *out);
/* The value of "key:value"; NULL: another key. */
const char *rd_value(const char *word, const char *key);
int rd_range(struct reader *r, const char *text, struct range *g);
/* The i-th name, round and round. */
void rd_name(const struct range *g, uint32_t i, char name[SCENE_NAME]);

#endif /* FABRIC_READER_H */
