/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Options as tables: what a program takes, within which range, where it goes. A wrong one is one line that says so. */
#ifndef ROCE_OPT_H
#define ROCE_OPT_H

#include <stddef.h>
#include <stdint.h>

enum ropt_kind {
	ROPT_FLAG, /* uint32_t becomes 1 */
	ROPT_U32,
	ROPT_STR,  /* const char *, points into argv */
	ROPT_WORD, /* uint32_t: index in words */
	ROPT_LIST, /* const char *[max], filled up to the first NULL */
};

struct ropt {
	char letter;      /* 0: none */
	const char *name; /* NULL: none */
	enum ropt_kind kind;
	size_t at;                /* in the structure that the table fills */
	uint32_t min, max;        /* ROPT_U32; max: entries of ROPT_LIST */
	const char *const *words; /* NULL-terminated */
	const char *arg, *help;
};

/* A table and the structure that it fills. */
struct ropt_set {
	const struct ropt *opts;
	unsigned int n;
	void *base;
};

#define ROPT_MAX 128u /* options of all tables of a program */

/*
 * Parses argv[1..]. Returns the index of the first argument that is no option (they are moved to the end), or -EINVAL with
 * one line in err.
 */
int ropt_parse(const struct ropt_set *sets, unsigned int nsets, int argc, char **argv, char *err, size_t errlen);

/* Writes the tables as help text, a line or two an option. */
void ropt_help(const struct ropt_set *sets, unsigned int nsets);

#endif /* ROCE_OPT_H */
