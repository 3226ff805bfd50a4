/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What is said about a row of measured times. Times are in any unit; results are in the same one. */
#ifndef ROCE_STATS_H
#define ROCE_STATS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct rstat {
	double min, max, median, mean, stdev; /* stdev: of the whole population */
};

/* Sorts v; then the functions below may be asked. */
void rstat_sort(uint64_t *v, size_t n);
/* n at least 1 */
void rstat_of(const uint64_t *sorted, size_t n, struct rstat *out);
/* Nearest rank: the smallest value that is not exceeded by p per cent of all, p in (0, 100]. */
uint64_t rstat_percentile(const uint64_t *sorted, size_t n, double p);

/*
 * The highest rate of any stretch of messages: the most that (j - i + 1) / (done[j] - posted[i]) reaches over all i <= j.
 * Both arrays ascend. 0 when no stretch took any time.
 */
double rstat_peak(const uint64_t *posted, const uint64_t *done, size_t n);

/*
 * Prints a histogram with two buckets a power of two: lower edge, upper edge, count, share, a bar. scale: what a value is
 * multiplied with to be in the unit that is named.
 */
void rstat_histogram(FILE *out, const uint64_t *sorted, size_t n, double scale, const char *unit);

#endif /* ROCE_STATS_H */
