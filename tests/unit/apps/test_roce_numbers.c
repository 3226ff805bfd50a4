/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Statistics and exchange formats of the RoCE programs against what Python computes and writes. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps/roce_common/exch.h"
#include "apps/roce_common/stats.h"

struct row {
	const uint64_t *v;
	size_t n;
	struct rstat want;
	uint64_t q[7];
};
struct stretch {
	const uint64_t *post, *done;
	size_t n;
	double want;
};
struct address {
	struct rdest d;
	const char *pp, *pt;
};
#include "roce_vectors.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static void
near(double got, double want)
{
	if (fabs(got - want) > 1e-9 * fabs(want) + 1e-9)
		fail_msg("%.12g, wanted %.12g", got, want);
}

static void
summaries(void **state)
{
	static const double percent[] = {0.1, 10, 50, 90, 99, 99.9, 100};
	struct rstat s;
	uint64_t *v;
	size_t i, k;

	(void)state;
	for (i = 0; i < N(rows); i++) {
		v = malloc(rows[i].n * sizeof(*v));
		assert_non_null(v);
		memcpy(v, rows[i].v, rows[i].n * sizeof(*v));
		rstat_sort(v, rows[i].n);
		rstat_of(v, rows[i].n, &s);
		near(s.min, rows[i].want.min);
		near(s.max, rows[i].want.max);
		near(s.median, rows[i].want.median);
		near(s.mean, rows[i].want.mean);
		near(s.stdev, rows[i].want.stdev);
		for (k = 0; k < N(percent); k++)
			assert_int_equal(rstat_percentile(v, rows[i].n, percent[k]), rows[i].q[k]);
		free(v);
	}
}

static void
peaks(void **state)
{
	static const uint64_t same[] = {5, 5}, none[] = {5, 5};
	size_t i;

	(void)state;
	for (i = 0; i < N(stretches); i++)
		near(rstat_peak(stretches[i].post, stretches[i].done, stretches[i].n), stretches[i].want);
	near(rstat_peak(same, none, 2), 0);
	near(rstat_peak(same, none, 0), 0);
}

/* Every value is in one bucket, and the edges enclose it. */
static void
histograms(void **state)
{
	char line[256];
	double from, to;
	size_t i, total, count;
	FILE *f;

	(void)state;
	for (i = 0; i < N(rows); i++) {
		uint64_t *v = malloc(rows[i].n * sizeof(*v));

		assert_non_null(v);
		memcpy(v, rows[i].v, rows[i].n * sizeof(*v));
		rstat_sort(v, rows[i].n);
		f = tmpfile();
		assert_non_null(f);
		rstat_histogram(f, v, rows[i].n, 1, "ns");
		rewind(f);
		for (total = 0; fgets(line, sizeof(line), f) != NULL;) {
			if (sscanf(line, "%lf %lf %zu", &from, &to, &count) != 3)
				continue;
			assert_true(count > 0 && total + count <= rows[i].n);
			assert_true((double)v[total] >= from && (double)v[total + count - 1] < to);
			total += count;
		}
		assert_int_equal(total, rows[i].n);
		fclose(f);
		free(v);
	}
}

static void
addresses_told(void **state)
{
	char pp[EXCH_PP_LEN], pt[EXCH_PT_LEN];
	struct rdest d;
	size_t i;

	(void)state;
	for (i = 0; i < N(addresses); i++) {
		const struct address *a = &addresses[i];

		exch_pp_put(pp, &a->d);
		assert_string_equal(pp, a->pp);
		assert_int_equal(exch_pp_get(pp, &d), 0);
		assert_int_equal(d.lid, a->d.lid);
		assert_int_equal(d.qpn, a->d.qpn);
		assert_int_equal(d.psn, a->d.psn);
		assert_memory_equal(&d.gid, &a->d.gid, sizeof(d.gid));
		exch_pt_put(pt, &a->d);
		assert_string_equal(pt, a->pt);
		assert_int_equal(exch_pt_get(pt, &d), 0);
		assert_int_equal(d.lid, a->d.lid);
		assert_int_equal(d.qpn, a->d.qpn);
		assert_int_equal(d.psn, a->d.psn);
		assert_int_equal(d.out_reads, a->d.out_reads);
		assert_int_equal(d.rkey, a->d.rkey);
		assert_int_equal(d.srqn, a->d.srqn);
		assert_true(d.vaddr == a->d.vaddr);
		assert_memory_equal(&d.gid, &a->d.gid, sizeof(d.gid));
	}
}

/* Each octet of a message replaced by what cannot be there. */
static void
addresses_damaged(void **state)
{
	static const char wrong[] = {'g', ' ', '\n', '-', (char)0xff};
	char pp[EXCH_PP_LEN], pt[EXCH_PT_LEN];
	struct rdest d;
	size_t i, k;

	(void)state;
	for (k = 0; k < sizeof(wrong); k++) {
		for (i = 0; i < EXCH_PP_LEN; i++) {
			exch_pp_put(pp, &addresses[1].d);
			pp[i] = wrong[k];
			assert_int_equal(exch_pp_get(pp, &d), -EPROTO);
		}
		for (i = 0; i < EXCH_PT_LEN - 1; i++) {
			exch_pt_put(pt, &addresses[1].d);
			pt[i] = wrong[k];
			assert_int_equal(exch_pt_get(pt, &d), -EPROTO);
		}
	}
	memset(pp, '0', sizeof(pp));
	assert_int_equal(exch_pp_get(pp, &d), -EPROTO);
	memset(pt, ':', sizeof(pt));
	assert_int_equal(exch_pt_get(pt, &d), -EPROTO);
	memset(pt, 'f', sizeof(pt));
	assert_int_equal(exch_pt_get(pt, &d), -EPROTO);
}

static void
reports(void **state)
{
	static const struct rreport want = {65536, 5000, 1234.5, 1000.25, 0.016004};
	uint8_t out[EXCH_PT_REPORT_LEN];
	struct rreport got;

	(void)state;
	exch_pt_report_put(out, &want);
	assert_memory_equal(out, report_bytes, sizeof(out));
	exch_pt_report_get(report_bytes, &got);
	assert_int_equal(got.size, want.size);
	assert_int_equal(got.iters, want.iters);
	near(got.peak, want.peak);
	near(got.avg, want.avg);
	near(got.rate, want.rate);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(summaries),         cmocka_unit_test(peaks),
		cmocka_unit_test(histograms),        cmocka_unit_test(addresses_told),
		cmocka_unit_test(addresses_damaged), cmocka_unit_test(reports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
