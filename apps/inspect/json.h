/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* JSON as a tree (RFC 8259), for files that somebody else may have changed. */
#ifndef INSPECT_JSON_H
#define INSPECT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	enum json_type type;
	char *key;          /* of a member, else NULL */
	char *text;         /* of a string */
	double number;      /* of a number; of a bool 0 or 1 */
	struct json *child; /* the first of an array or object */
	struct json *next;
};

/* text ends with a zero. NULL, with why and where in err. */
struct json *json_parse(const char *text, char *err, size_t err_len);
void json_free(struct json *j);
/* The member of an object; NULL: it is none, or has none. */
const struct json *json_get(const struct json *j, const char *key);
/* Of a member, def when it is not there or of another type. Strings that hold a number, such as "0x1f", are numbers, too. */
uint64_t json_num(const struct json *j, const char *key, uint64_t def);
const char *json_str(const struct json *j, const char *key, const char *def);
bool json_bool(const struct json *j, const char *key);

#endif /* INSPECT_JSON_H */
