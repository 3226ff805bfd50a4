/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Figures of a run, and the table and the JSON of them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "result.h"

#define TABLE_FLOWS 24u /* as many are a line each; of more the table says the spread */
#define TABLE_PORTS 6u

double
result_goodput(const struct sim *m, uint32_t flow)
{
	const struct sim_flow *f = &m->flow[flow];

	return (double)(f->to_bytes - f->from_bytes) * 8 / (double)(m->s->to_ns - m->s->from_ns);
}

double
result_jain(const struct sim *m)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < m->s->num_flows; i++) {
		double x = result_goodput(m, i);

		sum += x;
		squares += x * x;
	}
	return squares > 0 ? sum * sum / (m->s->num_flows * squares) : 0;
}

static int
by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Of n sorted values the one that so many percent are below. */
static double
percentile(const uint32_t *v, uint32_t n, uint32_t percent)
{
	const uint64_t at = (uint64_t)n * percent / 100;

	return v[at];
}

void
result_queue(const struct sim *m, uint32_t port, struct result_queue *q)
{
	const struct sim_port *p = &m->port[port];
	uint32_t n = p->num_depths, *v = malloc((n + 1) * sizeof(*v));
	double sum = 0;

	*q = (struct result_queue){.peak = (double)p->peak};
	if (v == NULL || n == 0) {
		free(v);
		return;
	}
	memcpy(v, p->depths, n * sizeof(*v));
	qsort(v, n, sizeof(*v), by_size);
	for (uint32_t i = 0; i < n; i++)
		sum += v[i];
	q->mean = sum / n;
	q->p50 = percentile(v, n, 50);
	q->p90 = percentile(v, n, 90);
	q->p99 = percentile(v, n, 99);
	free(v);
}

uint32_t
result_busiest(const struct sim *m, uint32_t *port, uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->num_ports; i++) {
		uint32_t k = n < max ? n : max;

		if (m->port[i].peak == 0)
			continue;
		while (k > 0 && m->port[port[k - 1]].peak < m->port[i].peak) {
			if (k < max)
				port[k] = port[k - 1];
			k--;
		}
		if (k < max)
			port[k] = i;
		if (n < max)
			n++;
	}
	return n;
}

void
result_port_name(const struct sim *m, uint32_t port, char name[2 * SCENE_NAME + 4])
{
	const struct sim_port *p = &m->port[port];
	const char *to = p->peer_host ? m->s->host[p->peer].name : m->s->sw[m->port[p->peer].sw].name;

	snprintf(name, 2 * SCENE_NAME + 4, "%s->%s", m->s->sw[p->sw].name, to);
}

struct sums {
	uint64_t pauses, marks, drops, cnps, ignored, bad;
	double paused_ms, total;
};

/* Pauses are those that switches sent within the window; their time is that of all ports together. */
static void
sum_up(const struct sim *m, struct sums *s)
{
	*s = (struct sums){0};
	for (uint32_t i = 0; i < m->num_ports; i++)
		for (unsigned int k = 0; k < SIM_PRIOS; k++) {
			const struct tp_switch_prio_stats *a = &m->port[i].from.prio[k], *b = &m->port[i].to.prio[k];

			s->pauses += b->tx_pause_frames - a->tx_pause_frames;
			s->paused_ms += (double)(b->tx_pause_ns - a->tx_pause_ns) / 1e6;
			s->marks += b->ecn_marks - a->ecn_marks;
			for (unsigned int d = 0; d < TP_SWITCH_NUM_DROPS; d++)
				s->drops += b->drop[d] - a->drop[d];
		}
	for (uint32_t i = 0; i < m->s->num_flows; i++) {
		s->cnps += m->flow[i].cnps;
		s->ignored += m->flow[i].cnps_ignored;
		s->bad += m->flow[i].rx_bad;
		s->total += result_goodput(m, i);
	}
}

static void
spread(const struct sim *m, FILE *out)
{
	double min = 1e9, max = 0, sum = 0;

	for (uint32_t i = 0; i < m->s->num_flows; i++) {
		double x = result_goodput(m, i);

		min = x < min ? x : min;
		max = x > max ? x : max;
		sum += x;
	}
	fprintf(out, "%u flows: %.3f Gb/s each on average, %.3f the least, %.3f the most\n", m->s->num_flows,
		sum / m->s->num_flows, min, max);
}

void
result_table(const struct sim *m, FILE *out)
{
	uint32_t port[TABLE_PORTS], n = result_busiest(m, port, TABLE_PORTS);
	char name[2 * SCENE_NAME + 4];
	struct sums sums;

	sum_up(m, &sums);
	fprintf(out, "measured from %.3f to %.3f ms\n\n", (double)m->s->from_ns / 1e6, (double)m->s->to_ns / 1e6);
	if (m->s->num_flows > TABLE_FLOWS)
		spread(m, out);
	else
		fprintf(out, "%-12s %14s %14s %12s %10s %10s\n", "flow", "goodput Gb/s", "rate Gb/s", "packets",
			"marked", "CNPs");
	for (uint32_t i = 0; i < m->s->num_flows && m->s->num_flows <= TABLE_FLOWS; i++) {
		const struct sim_flow *f = &m->flow[i];

		fprintf(out, "%-12s %14.3f %14.3f %12" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n", f->f->name,
			result_goodput(m, i), m->sampled != 0 ? (double)f->rate[m->sampled - 1] : 0, f->rx_packets,
			f->rx_marked, f->cnps);
	}
	fprintf(out, "\n%-20s %9s %9s %9s %9s %9s\n", "queue, KB", "mean", "p50", "p90", "p99", "most");
	for (uint32_t i = 0; i < n; i++) {
		struct result_queue q;

		result_queue(m, port[i], &q);
		result_port_name(m, port[i], name);
		fprintf(out, "%-20s %9.1f %9.1f %9.1f %9.1f %9.1f\n", name, q.mean / 1e3, q.p50 / 1e3, q.p90 / 1e3,
			q.p99 / 1e3, q.peak / 1e3);
	}
	fprintf(out,
		"\ntotal %.3f Gb/s, Jain %.4f, marked %" PRIu64 ", CNPs %" PRIu64 ", pause frames %" PRIu64
		" (%.3f ms), dropped %" PRIu64 "\n",
		sums.total, result_jain(m), sums.marks, sums.cnps, sums.pauses, sums.paused_ms, sums.drops);
}

static void
json_series(FILE *out, const char *key, const float *v, uint32_t n)
{
	fprintf(out, "\"%s\":[", key);
	for (uint32_t i = 0; i < n; i++)
		fprintf(out, "%s%.6g", i == 0 ? "" : ",", (double)v[i]);
	fputc(']', out);
}

static void
json_time(FILE *out, const char *key, uint64_t ns)
{
	if (ns != SIM_NEVER)
		fprintf(out, "\"%s\":%.3f,", key, (double)ns / 1e3);
}

void
result_json(const struct sim *m, const char *name, FILE *out)
{
	uint32_t *port = calloc(m->num_ports + 1, sizeof(*port)),
		 n = port != NULL ? result_busiest(m, port, m->num_ports) : 0;
	char text[2 * SCENE_NAME + 4];
	struct sums sums;

	sum_up(m, &sums);
	fprintf(out,
		"{\"experiment\":\"%s\",\"seed\":%" PRIu64
		",\"time_us\":%.3f,\"from_us\":%.3f,\"to_us\":%.3f,\"sample_us\":%.3f,\"frames\":%" PRIu64
		",\"total_gbps\":%.4f,\"jain\":%.6f,\"marked\":%" PRIu64 ",\"cnps\":%" PRIu64
		",\"cnps_ignored\":%" PRIu64 ",\"bad_icrc\":%" PRIu64 ",\"pause_frames\":%" PRIu64
		",\"paused_ms\":%.4f,\"dropped\":%" PRIu64 ",\n",
		name, m->s->seed, (double)m->s->time_ns / 1e3, (double)m->s->from_ns / 1e3, (double)m->s->to_ns / 1e3,
		(double)m->s->sample_ns / 1e3, m->frames, sums.total, result_jain(m), sums.marks, sums.cnps,
		sums.ignored, sums.bad, sums.pauses, sums.paused_ms, sums.drops);
	json_series(out, "pause_series_frames", m->pauses, m->sampled);
	fprintf(out, ",\n\"flows\":[");
	for (uint32_t i = 0; i < m->s->num_flows; i++) {
		const struct sim_flow *f = &m->flow[i];

		fprintf(out,
			"%s\n{\"name\":\"%s\",\"from\":\"%s\",\"to\":\"%s\",\"goodput_gbps\":%.4f,\"packets\":%" PRIu64
			",\"marked\":%" PRIu64 ",\"cnps\":%" PRIu64 ",",
			i == 0 ? "" : ",", f->f->name, m->s->host[f->f->from].name, m->s->host[f->f->to].name,
			result_goodput(m, i), f->rx_packets, f->rx_marked, f->cnps);
		json_time(out, "first_cnp_us", f->first_cnp);
		json_time(out, "done_us", f->done);
		json_series(out, "rate_gbps", f->rate, m->sampled);
		fputc(',', out);
		json_series(out, "goodput_series_gbps", f->goodput, m->sampled);
		fputc('}', out);
	}
	fprintf(out, "],\n\"queues\":[");
	for (uint32_t i = 0; i < n; i++) {
		struct result_queue q;

		result_queue(m, port[i], &q);
		result_port_name(m, port[i], text);
		fprintf(out, "%s\n{\"port\":\"%s\",\"mean\":%.1f,\"p50\":%.0f,\"p90\":%.0f,\"p99\":%.0f,\"most\":%.0f,",
			i == 0 ? "" : ",", text, q.mean, q.p50, q.p90, q.p99, q.peak);
		json_series(out, "bytes", m->port[port[i]].series, m->sampled);
		fputc('}', out);
	}
	fprintf(out, "]}\n");
	free(port);
}
