/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The tables, with the columns of perftest. A megabyte is 2^20 bytes, a gigabit 10^9 bits. */
#include <inttypes.h>
#include <stdio.h>

#include <rte_cycles.h>

#include "perf.h"

#define LINE "---------------------------------------------------------------------------------------\n"

static const char *const verb_names[] = {"Send", "RDMA_Write", "RDMA_Read", "Atomic"};
static const char *const type_names[] = {"RC", "UC", "UD"};

static bool
full(const struct perf *p)
{
	return p->conf->output == PERF_OUT_FULL && p->conf->json == 0 && !p->e->quiet;
}

void
perf_say_waiting(const struct perf *p)
{
	if (full(p))
		printf("waiting for a call to port %u of RDMA CM\n", p->conf->tcp_port);
}

void
perf_say_test(const struct perf *p)
{
	const struct perf_conf *c = p->conf;

	if (!full(p))
		return;
	printf(LINE "                    %s %s%s%s Test\n", verb_names[c->verb],
	       c->verb != PERF_ATOMIC ? ""
	       : c->atomic == 0       ? "CMP_AND_SWAP "
				      : "FETCH_AND_ADD ",
	       c->bidir != 0 ? "Bidirectional " : "", c->lat ? "Latency" : "BW");
	if (c->events != 0)
		printf(" Test with events.\n");
	printf(" Device          : %s\t\tProvider       : %s\n", p->e->port.name,
	       tp_roce_provider_name(p->e->port.ctx));
	printf(" Number of qps   : %u\n", c->qps);
	if (c->port.lanes > 1)
		printf(" Lanes           : %u\n", c->port.lanes);
	printf(" Connection type : %s\t\tUsing SRQ      : %s\n", type_names[c->type], c->srq != 0 ? "ON" : "OFF");
	if (!p->e->server || c->bidir != 0)
		printf(" TX depth        : %u\n", c->tx_depth);
	if (c->post_list > 1)
		printf(" Post List       : %u\n", c->post_list);
	if (c->verb == PERF_SEND && (p->e->server || c->bidir != 0))
		printf(" RX depth        : %u\n", c->rx_depth);
	if (!c->lat)
		printf(" CQ Moderation   : %u\n", c->cq_mod);
	printf(" Mtu             : %u[B]\n", 128u << p->mtu);
	printf(" Link type       : Ethernet\n");
	printf(" GID index       : %u\n", p->e->port.gid_index);
	if (c->verb <= PERF_WRITE)
		printf(" Max inline data : %u[B]\n", p->inl);
	else
		printf(" Outstand reads  : %u\n", p->qp[0].mine.out_reads);
	printf(" rdma_cm QPs     : %s\n Data ex. method : %s\n" LINE, c->rdma_cm != 0 ? "ON" : "OFF",
	       c->rdma_cm != 0 ? "rdma_cm" : "Ethernet");
}

void
perf_say_dest(const struct perf *p, const char *which, const struct rdest *d)
{
	char gid[64];

	if (!full(p))
		return;
	printf(" %s address: LID 0000 QPN 0x%04x PSN 0x%06x", which, d->qpn, d->psn);
	if (p->conf->verb == PERF_READ || p->conf->verb == PERF_ATOMIC)
		printf(" OUT 0x%02x", d->out_reads);
	if (p->conf->verb != PERF_SEND)
		printf(" RKey 0x%06x VAddr 0x%014" PRIx64, d->rkey, d->vaddr);
	printf("\n GID: %s\n", rend_gid_str(&d->gid, gid));
}

void
perf_say_line(const struct perf *p)
{
	if (full(p))
		printf(LINE);
}

void
perf_say_head(const struct perf *p)
{
	const char *unit = perf_unit_name(p), *t = p->conf->cycles != 0 ? "cycles" : "usec";

	if (!full(p))
		return;
	printf(LINE);
	if (!p->conf->lat)
		printf(" #bytes     #iterations    BW peak[%s]    BW average[%s]   MsgRate[Mpps]\n", unit, unit);
	else if (p->conf->duration != 0)
		printf(" #bytes        #iterations       t_avg[%s]    tps average\n", t);
	else
		printf(" #bytes #iterations    t_min[%s]    t_max[%s]  t_typical[%s]    t_avg[%s]    t_stdev[%s]   "
		       "99%% percentile[%s]   99.9%% percentile[%s] \n",
		       t, t, t, t, t, t, t);
}

double
perf_unit(const struct perf *p, double rate)
{
	return p->conf->gbits != 0 ? rate * p->size * 8 / 1e9 : rate * p->size / 0x100000;
}

const char *
perf_unit_name(const struct perf *p)
{
	return p->conf->gbits != 0 ? "Gb/sec" : "MB/sec";
}

void
perf_rate(struct perf *p)
{
	const double hz = (double)rte_get_tsc_hz();
	double s = (double)(p->ended - p->begun) / hz, rate = s > 0 ? (double)p->count / s : 0;

	p->mine = (struct rreport){.size = p->size, .iters = p->count, .avg = perf_unit(p, rate), .rate = rate / 1e6};
	if (p->t_post != NULL && p->count > 0)
		p->mine.peak = perf_unit(p, rstat_peak(p->t_post, p->t_done, p->count) * hz);
	/* a report's count is that of one queue pair, but for a duration */
	if (p->conf->duration == 0)
		p->mine.iters = p->conf->iters;
}

struct rreport
perf_sum(const struct rreport *a, const struct rreport *b)
{
	return (struct rreport){a->size, a->iters, a->peak + b->peak, a->avg + b->avg, a->rate + b->rate};
}

/* Who only answers has no rates of its own. */
static uint32_t
said_lanes(const struct perf *p)
{
	return p->conf->port.lanes > 1 && p->count != 0 ? p->conf->port.lanes : 0;
}

static void
say_bw_json(const struct perf *p, const struct rreport *r)
{
	printf("{\"bytes\": %" PRIu64 ", \"iterations\": %" PRIu64 ", \"bw_peak\": %.4f, \"bw_average\": %.4f, "
	       "\"unit\": \"%s\", \"mpps\": %.6f, \"lost\": %" PRIu64,
	       r->size, r->iters, r->peak, r->avg, perf_unit_name(p), r->rate, p->lost);
	for (uint32_t i = 0; i < said_lanes(p); i++)
		printf("%s%.6f", i == 0 ? ", \"lanes_mpps\": [" : ", ", p->rates[i] / 1e6);
	printf("%s}\n", said_lanes(p) != 0 ? "]" : "");
}

void
perf_say_bw(const struct perf *p, const struct rreport *r)
{
	if (p->e->quiet)
		return;
	if (p->conf->json != 0)
		say_bw_json(p, r);
	else if (p->conf->output == PERF_OUT_FULL)
		printf(" %-7" PRIu64 "    %-10" PRIu64 "       %-7.2f            %-7.2f\t\t   %-7.6f\n", r->size,
		       r->iters, r->peak, r->avg, r->rate);
	else
		printf("%f\n", p->conf->output == PERF_OUT_RATE ? r->rate : r->avg);
	for (uint32_t i = 0; full(p) && r == &p->mine && i < said_lanes(p); i++)
		printf(" lane %-2u                                                               %-7.6f\n", i,
		       p->rates[i] / 1e6);
	if (p->lost != 0 && full(p))
		printf(" %" PRIu64 " messages did not arrive\n", p->lost);
}

static void
say_lat_duration(const struct perf *p, double scale)
{
	const double n = (double)p->count, ticks = (double)(p->ended - p->begun);
	double avg = n > 0 ? ticks / n * scale : 0, tps = ticks > 0 ? n / ticks * (double)rte_get_tsc_hz() : 0;

	if (p->conf->json != 0)
		printf("{\"bytes\": %u, \"iterations\": %" PRIu64 ", \"avg_us\": %.3f, \"tps\": %.2f}\n", p->size,
		       p->count, avg, tps);
	else if (p->conf->output != PERF_OUT_FULL)
		printf("%f\n", avg);
	else
		printf(" %-7u       %" PRIu64 "            %-7.2f        %-7.2f\n", p->size, p->count, avg, tps);
}

void
perf_say_lat(struct perf *p)
{
	/* a send or write is half of a round trip */
	const double way = p->conf->verb <= PERF_WRITE ? 0.5 : 1;
	const double scale = p->conf->cycles != 0 ? way : way * 1e6 / (double)rte_get_tsc_hz();
	const uint64_t n = p->conf->iters - 1;
	uint64_t *t = p->t_post, i;
	struct rstat s;

	if (p->e->quiet)
		return;
	if (p->conf->duration != 0) {
		say_lat_duration(p, scale);
		return;
	}
	/* from one message to the next */
	for (i = 0; i < n; i++)
		t[i] = t[i + 1] - t[i];
	for (i = 0; p->conf->unsorted != 0 && i < n; i++)
		printf("%" PRIu64 ", %g\n", i + 1, (double)t[i] * scale);
	rstat_sort(t, n);
	rstat_of(t, n, &s);
	if (p->conf->histogram != 0)
		rstat_histogram(stdout, t, n, scale, p->conf->cycles != 0 ? "cycles" : "usec");
	if (p->conf->json != 0)
		printf("{\"bytes\": %u, \"iterations\": %u, \"min_us\": %.3f, \"max_us\": %.3f, \"p50_us\": %.3f, "
		       "\"avg_us\": "
		       "%.3f, \"stdev_us\": %.3f, \"p99_us\": %.3f, \"p999_us\": %.3f}\n",
		       p->size, p->conf->iters, s.min * scale, s.max * scale, s.median * scale, s.mean * scale,
		       s.stdev * scale, (double)rstat_percentile(t, n, 99) * scale,
		       (double)rstat_percentile(t, n, 99.9) * scale);
	else if (p->conf->output != PERF_OUT_FULL)
		printf("%f\n", s.mean * scale);
	else
		printf(" %-7u %u          %-7.2f        %-7.2f      %-7.2f  \t       %-7.2f     \t%-7.2f\t\t%-7.2f "
		       "\t\t%-7.2f\n",
		       p->size, p->conf->iters, s.min * scale, s.max * scale, s.median * scale, s.mean * scale,
		       s.stdev * scale, (double)rstat_percentile(t, n, 99) * scale,
		       (double)rstat_percentile(t, n, 99.9) * scale);
}
