/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <math.h>
#include <stdlib.h>

#include "stats.h"

static int
ascending(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void
rstat_sort(uint64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), ascending);
}

void
rstat_of(const uint64_t *sorted, size_t n, struct rstat *out)
{
	double sum = 0, sq = 0, d;
	size_t i;

	for (i = 0; i < n; i++)
		sum += (double)sorted[i];
	out->mean = sum / (double)n;
	/* about the mean, not by the sum of squares: large numbers that differ little would cancel */
	for (i = 0; i < n; i++) {
		d = (double)sorted[i] - out->mean;
		sq += d * d;
	}
	out->stdev = sqrt(sq / (double)n);
	out->min = (double)sorted[0];
	out->max = (double)sorted[n - 1];
	/* the middle one, or what lies between the two */
	i = n / 2;
	out->median = ((double)sorted[i] + (double)sorted[n % 2 != 0 ? i : i - 1]) / 2;
}

uint64_t
rstat_percentile(const uint64_t *sorted, size_t n, double p)
{
	/* a hair less than the product: 99.9 % of 1000 is 999, whatever the last bit of 0.999 says */
	double rank = ceil(p * (double)n / 100 - 1e-9);

	if (rank < 1)
		rank = 1;
	if (rank > (double)n)
		rank = (double)n;
	return sorted[(size_t)rank - 1];
}

/*
 * Is there a stretch with at least this rate? (j + 1 - rate * done[j]) - (i - rate * posted[i]) >= 0 for an i <= j; the best
 * i so far is kept while j goes on. Gives the rate of the best stretch by that measure, which is higher than the one asked
 * for as long as that one can be bettered (Dinkelbach's method of maximizing a quotient).
 */
static double
better(const uint64_t *posted, const uint64_t *done, size_t n, double rate)
{
	double best = -1, low = 0, v, found = 0;
	size_t j, from = 0;

	for (j = 0; j < n; j++) {
		v = (double)j - rate * (double)(posted[j] - posted[0]);
		if (j == 0 || v < low) {
			low = v;
			from = j;
		}
		v = (double)(j + 1) - rate * (double)(done[j] - posted[0]) - low;
		if (v > best && done[j] > posted[from]) {
			best = v;
			found = (double)(j + 1 - from) / (double)(done[j] - posted[from]);
		}
	}
	return found;
}

double
rstat_peak(const uint64_t *posted, const uint64_t *done, size_t n)
{
	double rate, next;

	if (n == 0 || done[n - 1] <= posted[0])
		return 0;
	rate = (double)n / (double)(done[n - 1] - posted[0]);
	while ((next = better(posted, done, n, rate)) > rate * (1 + 1e-12))
		rate = next;
	return rate;
}

/* Lower edge of a bucket: 0, 1, 2, 3, 4, 6, 8, 12, 16, ... */
static uint64_t
edge(unsigned int b)
{
	return b < 2 ? b : (uint64_t)(2 + b % 2) << (b / 2 - 1);
}

void
rstat_histogram(FILE *out, const uint64_t *sorted, size_t n, double scale, const char *unit)
{
	size_t i = 0, from;
	unsigned int b, k;
	double share;

	fprintf(out, "%12s %12s %10s %7s\n", "from", "to", "count", "%");
	for (b = 0; i < n && b < 127; b++) {
		for (from = i; i < n && (b == 126 || sorted[i] < edge(b + 1)); i++)
			;
		if (i == from)
			continue;
		share = 100.0 * (double)(i - from) / (double)n;
		fprintf(out, "%12.3f %12.3f %10zu %7.3f ", (double)edge(b) * scale, (double)edge(b + 1) * scale,
			i - from, share);
		for (k = 0; k < (unsigned int)(share / 2 + 0.5); k++)
			fputc('#', out);
		fprintf(out, "%s\n", k == 0 ? "|" : "");
	}
	fprintf(out, "(%s)\n", unit);
}
