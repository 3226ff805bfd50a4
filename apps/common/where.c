/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "where.h"

#define LEAST_MS 100u
#define MOST_MS 60000u

static int
timeout(struct metrics_where *w, const char *arg, char err[WHERE_ERR])
{
	char *end;
	const unsigned long v = arg[0] < '0' || arg[0] > '9' ? 0 : strtoul(arg, &end, 10);

	if (v < LEAST_MS || v > MOST_MS || *end != '\0') {
		snprintf(err, WHERE_ERR, "--timeout: '%.64s' is not a number in %u..%u", arg, LEAST_MS, MOST_MS);
		return -1;
	}
	w->timeout_ms = (unsigned int)v;
	return 0;
}

int
where_option(struct metrics_where *w, int c, const char *arg, char err[WHERE_ERR])
{
	const bool dir = c == WHERE_DIR;
	unsigned int *n = dir ? &w->num_dirs : &w->num_sockets;
	const unsigned int most = dir ? METRICS_DIRS : METRICS_PROCESSES;

	if (c == WHERE_TIMEOUT)
		return timeout(w, arg, err);
	if (*n == most) {
		snprintf(err, WHERE_ERR, "--%s: '%.200s' is one too many, at most %u", dir ? "dir" : "socket", arg,
			 most);
		return -1;
	}
	if (!dir && strlen(arg) >= METRICS_PATH) {
		snprintf(err, WHERE_ERR, "--socket: '%.200s' is longer than the %u characters of a socket's name", arg,
			 METRICS_PATH - 1);
		return -1;
	}
	(dir ? w->dir : w->socket)[(*n)++] = arg;
	return 0;
}

void
where_done(struct metrics_where *w)
{
	if (w->num_dirs == 0 && w->num_sockets == 0)
		metrics_where_default(w);
}
