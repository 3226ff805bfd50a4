/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Samples of processes, as their telemetry tells them. */
#ifndef METRICS_METRICS_H
#define METRICS_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "table.h"
#include "tel.h"

#define METRIC_LABELS 5u       /* of a sample, beside its process */
#define METRIC_INFO_LABELS 10u /* of one of information */
#define METRICS_PROCESSES 64u
#define METRICS_DIRS 16u
#define METRICS_PATH 108u /* octets of a socket's name with its end */

struct metric_label {
	const char *name;
	char *value;
};

struct metric {
	enum metric_id id;
	unsigned int num_labels;
	struct metric_label label[METRIC_INFO_LABELS];
	bool scaled; /* the value is real; else whole */
	uint64_t whole;
	double real;
};

/* A process, and what it said. */
struct metrics {
	char path[METRICS_PATH];
	char name[METRICS_PATH]; /* its --file-prefix; where two have the same, the socket's name */
	int err;                 /* 0 or why it did not answer at all, negative */
	pid_t pid;
	char version[TEL_VERSION];
	uint64_t began, ended;   /* of tel_now() */
	unsigned int unanswered; /* pages that had no answer in time, or none that could be read */
	struct metric *sample;
	unsigned int num, room;
};

/* Where to look for processes. */
struct metrics_where {
	const char *dir[METRICS_DIRS]; /* as EAL's runtime folder: a folder below for each process */
	unsigned int num_dirs;
	const char *socket[METRICS_PROCESSES]; /* by name: said to be down when they do not answer */
	unsigned int num_sockets;
	unsigned int timeout_ms; /* of a process with all its pages */
	bool xstats;             /* also those extended statistics that no family has */
};

/* Folders where EAL puts its files unless told otherwise: those of root, of a service "triplane", of this user. */
void metrics_where_default(struct metrics_where *w);

/*
 * Asks all processes at once, each in a thread of its own. The samples of each in p, at most METRICS_PROCESSES; their number, or a
 * negative errno. Files of processes that are gone are passed over.
 */
int metrics_collect(const struct metrics_where *w, struct metrics p[METRICS_PROCESSES]);
void metrics_free(struct metrics *p);

/* The value of a label; NULL: it has none. */
const char *metric_label_of(const struct metric *m, const char *name);
double metric_value(const struct metric *m);

/* find.c: their names and paths, alone. The number, at most METRICS_PROCESSES. */
unsigned int metrics_find(const struct metrics_where *w, struct metrics p[METRICS_PROCESSES]);

#endif /* METRICS_METRICS_H */
