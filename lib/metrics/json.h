/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* JSON as a tree that lies in its own text: no name and no value is copied, and a number is also kept as it was written. */
#ifndef METRICS_JSON_H
#define METRICS_JSON_H

#include <stddef.h>
#include <stdint.h>

#define MJ_DEPTH 32u /* objects and arrays in each other */

enum mj_kind { MJ_NULL, MJ_FALSE, MJ_TRUE, MJ_NUMBER, MJ_STRING, MJ_ARRAY, MJ_OBJECT };

struct mj {
	enum mj_kind kind;
	const char *key;  /* of a member of an object, else NULL */
	const char *text; /* of a string with its end; of a number its digits, len of them */
	unsigned int len; /* octets of text; members of an object or array */
	double num;
	uint64_t whole; /* of a number without sign and fraction below 2^64; else 0 */
	int is_whole;
	struct mj *first, *next;
};

struct mj_doc {
	struct mj *node; /* the first is the root */
	unsigned int num, room;
};

/*
 * Reads len octets, which it changes and which stay in use, as one value with nothing behind it. 0, -EINVAL: this is no JSON or is
 * nested too deep; -ENOMEM. After 0 mj_free() is due.
 */
int mj_parse(char *text, size_t len, struct mj_doc *doc);
void mj_free(struct mj_doc *doc);

/* The first member of that name; NULL: there is none, or it is no object. */
const struct mj *mj_get(const struct mj *object, const char *name);
/* The text of such a string, else def. */
const char *mj_text(const struct mj *object, const char *name, const char *def);
/* The value of such a whole number, else def. */
uint64_t mj_uint(const struct mj *object, const char *name, uint64_t def);

#endif /* METRICS_JSON_H */
