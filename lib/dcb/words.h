/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Words: "key=value", by a table of keys. One row says all of a key: its text, its range, where the value lies in the
 * object; most values are one number, some of which have names, and the others bring two functions of their own.
 */
#ifndef TP_WORDS_H
#define TP_WORDS_H

#include "tp_qos.h"

#define WORDS_VALUE_LEN 512 /* of a value's text with the end */
#define WORDS_KEY_LEN 32

struct word_name {
	const char *name;
	int32_t value;
};

struct word_key {
	const char *name, *vendor, *unit, *def, *help;
	const char *values;            /* NULL: from names, zero, min and max */
	const struct word_name *names; /* of a single number; ends with a NULL name */
	uint32_t min, max;             /* both 0: only the names */
	bool or_zero;                  /* 0 is taken too */
	bool is_signed;
	uint8_t size; /* octets of the number in the object */
	uint16_t offset;
	/* NULL: a single number. 0 or a negative errno with err; the object may be half changed after an error. */
	int (*parse)(void *obj, const struct word_key *key, const char *value, char *err);
	/* The i-th value of the key; false: it has no such. */
	bool (*text)(const void *obj, const struct word_key *key, unsigned int i, char *buf);
};

#define WORD_AT(type, field) .offset = offsetof(type, field), .size = sizeof(((type *)0)->field)

extern const struct word_name word_switch[]; /* off, on */

/* Formats one line, free of control characters whatever the arguments held. */
void word_err(char *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "KEY: 'VALUE', want ..."; its value is -EINVAL. */
int word_refuse(const struct word_key *key, const char *value, char *err);

void word_range(const struct word_key *key, char *buf, size_t len);
int word_key_get(const struct word_key *keys, unsigned int n, unsigned int i, struct tp_qos_key *key);

/* Whole decimal number, or hexadecimal with 0x. */
int word_number(const char *text, uint32_t *out);
/* "1,4-6" with every number in min..max: their number, -EINVAL (the form, the range), -ENOSPC (more than room). */
int word_list(const char *text, uint32_t min, uint32_t max, uint16_t *out, unsigned int room);
/* The other way round. hex: 0x0800, and no ranges. */
void word_list_text(const uint16_t *num, unsigned int n, bool hex, char *buf);

/* Sets every key that has a default; obj was zeroed. */
void words_default(const struct word_key *keys, unsigned int n, void *obj);
/* copy is scratch of the object's size: obj changes only when the whole word was good. */
int words_take(const struct word_key *keys, unsigned int n, void *obj, void *copy, size_t size, const char *word,
	       char *err);
/* How far two names are from each other; a name that starts like the word a is at 0. */
unsigned int word_distance(const char *a, const char *b);

void words_print(const struct word_key *keys, unsigned int n, const void *obj, const void *def, bool all, FILE *out);

/* Calls changed for each value in which a and b differ. */
void words_changes(const struct word_key *keys, unsigned int n, const void *a, const void *b, tp_changed_fn changed,
		   void *arg);

#endif /* TP_WORDS_H */
