/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#ifndef APPS_SOCKSTAT_H
#define APPS_SOCKSTAT_H

#include <stdbool.h>

#include "apps/common/sock_programs.h"

struct options {
	int pid;         /* 0: all */
	double interval; /* seconds between looks at what changed; 0: one look at all */
	int times;       /* 0: no end */
	bool zero, json;
};

/* show.c. before: what is taken off, NULL: nothing. */
void show(const struct options *o, const struct programs *now, const struct programs *before);

#endif /* APPS_SOCKSTAT_H */
