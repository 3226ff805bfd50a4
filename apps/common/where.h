/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Options of programs that look at other processes: which of them. */
#ifndef COMMON_WHERE_H
#define COMMON_WHERE_H

#include <getopt.h>

#include "lib/metrics/metrics.h"

#define WHERE_ERR 512u
#define WHERE_TIMEOUT_MS 2000u

enum { WHERE_DIR = 512, WHERE_SOCKET, WHERE_TIMEOUT, WHERE_END };

#define WHERE_OPTIONS                                                                                                  \
	{"dir", required_argument, NULL, WHERE_DIR}, {"socket", required_argument, NULL, WHERE_SOCKET},                \
	{                                                                                                              \
		"timeout", required_argument, NULL, WHERE_TIMEOUT                                                      \
	}

#define WHERE_USAGE                                                                                                    \
	"  --dir FOLDER         where EAL has a folder for each process; may be repeated (those of EAL)\n"             \
	"  --socket PATH        a telemetry socket, which counts as down when nobody answers; may be repeated;\n"      \
	"                       without --dir these alone\n"                                                           \
	"  --timeout MS         how long a process may take to answer all, 100..60000 (2000)\n"

static inline bool
where_is_option(int c)
{
	return c >= WHERE_DIR && c < WHERE_END;
}

/* 0, or -1 with a line in err. */
int where_option(struct metrics_where *w, int c, const char *arg, char err[WHERE_ERR]);
/* After the last one: what stands for none. */
void where_done(struct metrics_where *w);

#endif /* COMMON_WHERE_H */
