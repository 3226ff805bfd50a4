/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#ifndef APPS_SOCKSTAT_H
#define APPS_SOCKSTAT_H

#include <stdbool.h>

#include "lib/sock/stat.h"

struct options {
	int pid;         /* 0: all */
	double interval; /* seconds between looks at what changed; 0: one look at all */
	int times;       /* 0: no end */
	bool zero, json;
};

/* What a program's counters were at one moment. */
struct program {
	struct sock_stat *map; /* its own memory */
	struct sock_stat stat; /* a copy, with zero's values taken off */
	char name[32];
};
struct programs {
	struct program **one;
	unsigned int num;
};

/* read.c. Programs that have counters and may be looked at. */
void programs_read(const struct options *o, struct programs *p);
void programs_zero(struct programs *p);
void programs_free(struct programs *p);

/* show.c. before: what is taken off, NULL: nothing. */
void show(const struct options *o, const struct programs *now, const struct programs *before);

#endif /* APPS_SOCKSTAT_H */
