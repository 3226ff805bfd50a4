/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * --interval: what a bandwidth test reached in each piece of its time, and what congestion control let it reach, as lines while it
 * runs; --plot: the same as a picture.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "apps/common/plot.h"
#include "perf.h"

#define MAX_SAMPLES 100000u /* of the picture */
#define WIDTH 860
#define HEIGHT 330
#define LEFT 70.0
#define TOP 46.0
#define PLOT_W 640.0
#define PLOT_H 240.0

struct sample {
	double ms, bw, limit; /* bandwidths in the unit of the report; limit 0: nothing was limited */
};

static uint64_t
counter(const struct perf *p, const char *name)
{
	uint64_t v = 0;

	return tp_roce_stat(p->e->port.ctx, name, &v) == 0 ? v : 0;
}

void
perf_series_begin(struct perf *p)
{
	struct perf_series *s = &p->series;

	s->begun = s->last = rte_rdtsc();
	s->due = s->begun + rte_get_tsc_hz() / 1000 * p->conf->interval;
	s->messages = 0;
	s->cnps = counter(p, "cnps");
	s->marks = counter(p, "cc_marked");
}

static void
keep(struct perf_series *s, const struct sample *one)
{
	struct sample *more;

	if (s->num == s->room) {
		if (s->room == MAX_SAMPLES)
			return;
		more = realloc(s->sample, RTE_MIN(2 * s->room + 64, MAX_SAMPLES) * sizeof(*more));
		if (more == NULL)
			return;
		s->sample = more;
		s->room = RTE_MIN(2 * s->room + 64, MAX_SAMPLES);
	}
	s->sample[s->num++] = *one;
}

void
perf_series_look(struct perf *p, uint64_t now, uint64_t messages)
{
	const double hz = (double)rte_get_tsc_hz();
	struct perf_series *s = &p->series;
	double seconds = (double)(now - s->last) / hz;
	uint64_t qps, mbps, cnps, marks;
	struct sample one;
	const char *unit = perf_unit_name(p);

	if (now < s->due || messages == 0)
		return;
	qps = counter(p, "cc_limited_qps");
	mbps = counter(p, "cc_limited_mbps");
	cnps = counter(p, "cnps");
	marks = counter(p, "cc_marked");
	one.ms = (double)(now - s->begun) / hz * 1e3;
	one.bw = perf_unit(p, (double)(messages - s->messages) / seconds);
	one.limit = qps == 0 ? 0 : perf_unit(p, (double)mbps * 1e6 / 8 / p->size);
	if (p->conf->json != 0)
		printf("{\"ms\": %.0f, \"bytes\": %u, \"bw\": %.4f, \"unit\": \"%s\", \"limited_qps\": %" PRIu64
		       ", \"limited_mbps\": %" PRIu64 ", \"cnps\": %" PRIu64 ", \"marked\": %" PRIu64 "}\n",
		       one.ms, p->size, one.bw, unit, qps, mbps, cnps - s->cnps, marks - s->marks);
	else
		printf(" at %.0f ms: %.2f %s, %" PRIu64 " queue pairs limited to %.2f %s, %" PRIu64 " CNPs, %" PRIu64
		       " marked\n",
		       one.ms, one.bw, unit, qps, one.limit, unit, cnps - s->cnps, marks - s->marks);
	if (p->conf->plot != NULL)
		keep(s, &one);
	s->last = now;
	s->messages = messages;
	s->cnps = cnps;
	s->marks = marks;
	s->due = now + rte_get_tsc_hz() / 1000 * p->conf->interval;
}

/* --- the picture -------------------------------------------------------------------------------------------------- */

static void
line(FILE *f, const struct perf_series *s, bool limit, double max, double ms)
{
	fprintf(f, "<polyline class=\"%s\" points=\"", limit ? "l" : "b");
	for (uint32_t i = 0; i < s->num; i++) {
		double v = limit ? s->sample[i].limit : s->sample[i].bw;

		if (!limit || v != 0)
			fprintf(f, "%.1f,%.1f ", LEFT + PLOT_W * s->sample[i].ms / ms, TOP + PLOT_H * (1 - v / max));
	}
	fprintf(f, "\"/>\n<path d=\"M%g %gh16\" class=\"%s\"/><text x=\"%g\" y=\"%g\">%s</text>\n", LEFT + PLOT_W + 12,
		TOP + 8 + (limit ? 17 : 0), limit ? "l" : "b", LEFT + PLOT_W + 34, TOP + 12 + (limit ? 17 : 0),
		limit ? "limit" : "bandwidth");
}

static void
draw(const struct perf *p, FILE *f)
{
	const struct perf_series *s = &p->series;
	double max = 0, ms = s->num == 0 ? 1 : s->sample[s->num - 1].ms;

	for (uint32_t i = 0; i < s->num; i++) {
		max = RTE_MAX(max, s->sample[i].bw);
		max = RTE_MAX(max, s->sample[i].limit);
	}
	max = plot_round_up(max);
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
		"font-size=\"12\">\n<style>rect{fill:#fff}text{fill:#222}.t{font-weight:bold}.r{text-anchor:end}"
		".m{text-anchor:middle}.g{stroke:#ddd}.b,.l{fill:none;stroke:#0072b2;stroke-width:1.5}"
		".l{stroke:#d55e00;stroke-dasharray:5 3}@media(prefers-color-scheme:dark)"
		"{rect{fill:#16181c}text{fill:#ddd}.g{stroke:#444}}</style>\n<rect width=\"100%%\" height=\"100%%\"/>\n"
		"<text x=\"%g\" y=\"24\" class=\"t\">bandwidth and its limit by congestion control, %s, over "
		"ms</text>\n",
		WIDTH, HEIGHT, LEFT, perf_unit_name(p));
	for (unsigned int i = 0; i <= 5; i++) {
		double y = TOP + PLOT_H - PLOT_H * i / 5, x = LEFT + PLOT_W * i / 5;

		fprintf(f,
			"<path d=\"M%g %gh%g\" class=\"g\"/><text x=\"%g\" y=\"%g\" class=\"r\">%g</text>"
			"<text x=\"%g\" y=\"%g\" class=\"m\">%.0f</text>\n",
			LEFT, y, PLOT_W, LEFT - 6, y + 4, max * i / 5, x, TOP + PLOT_H + 16, ms * i / 5);
	}
	line(f, s, false, max, ms);
	line(f, s, true, max, ms);
	fprintf(f, "</svg>\n");
}

int
perf_series_open(struct perf *p)
{
	if (p->conf->plot == NULL || p->e->quiet)
		return 0;
	p->series.out = fopen(p->conf->plot, "w");
	return p->series.out != NULL ? 0 : rend_fail(errno, "--plot %s: %s", p->conf->plot, strerror(errno));
}

int
perf_series_close(struct perf *p, bool well)
{
	struct perf_series *s = &p->series;
	int rc = 0;

	if (s->out != NULL) {
		if (well)
			draw(p, s->out);
		rc = ferror(s->out) != 0 ? EIO : 0;
		if (fclose(s->out) != 0)
			rc = EIO;
		s->out = NULL;
	}
	free(s->sample);
	s->sample = NULL;
	return rc == 0 ? 0 : rend_fail(rc, "--plot %s: could not be written", p->conf->plot);
}
