/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What came out of a run, as a table, as JSON and as a picture. */
#ifndef FABRIC_RESULT_H
#define FABRIC_RESULT_H

#include <stdio.h>

#include "sim.h"

struct result_queue {
	double mean, p50, p90, p99, peak; /* bytes */
};

/* Jain's index of the flows' goodputs: (sum x)^2 / (n sum x^2). */
double result_jain(const struct sim *m);
/* Of a flow within the window, Gb/s of payload. */
double result_goodput(const struct sim *m, uint32_t flow);
void result_queue(const struct sim *m, uint32_t port, struct result_queue *q);
/* Ports whose queue grew, the fullest first, at most max; how many. */
uint32_t result_busiest(const struct sim *m, uint32_t *port, uint32_t max);
void result_port_name(const struct sim *m, uint32_t port, char name[2 * SCENE_NAME + 4]);

void result_table(const struct sim *m, FILE *out);
void result_json(const struct sim *m, const char *name, FILE *out);
void result_svg(const struct sim *m, const char *name, FILE *out);

#endif /* FABRIC_RESULT_H */
