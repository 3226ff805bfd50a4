/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Samples as text: Prometheus' format 0.0.4, or OpenMetrics 1.0.0. */
#ifndef METRICS_TEXT_H
#define METRICS_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "metrics.h"

/* All samples of all processes, family by family, each with the label "process". 0 or a negative errno. */
int metrics_write(FILE *f, const struct metrics *p, unsigned int num, bool openmetrics);

#endif /* METRICS_TEXT_H */
