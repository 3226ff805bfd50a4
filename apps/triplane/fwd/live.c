/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The table of each second and the closing summary: differences between two looks at the counters. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <rte_cycles.h>

#include <tp_ipoib.h>

#include "apps/triplane/cli/columns.h"
#include "fwd.h"
#include "rte_pmd_mlx4_queue.h"
#include "live.h"

struct look {
	uint64_t tsc;
	struct rte_eth_stats port[RTE_MAX_ETHPORTS];
	struct fwd_stats *stream;
};

static void
read_stream(const struct fwd_stats *from, struct fwd_stats *to)
{
	const uint64_t *f = (const uint64_t *)(const void *)from;
	uint64_t *t = (uint64_t *)(void *)to;
	size_t i;

	for (i = 0; i < offsetof(struct fwd_stats, idle_cycles) / sizeof(*f) + 1; i++)
		t[i] = stat_read(&f[i]);
}

static struct look *
look_new(const struct fwd *fwd)
{
	struct look *l = calloc(1, sizeof(*l));
	void *streams = NULL;

	if (l == NULL)
		return NULL;
	if (posix_memalign(&streams, RTE_CACHE_LINE_SIZE, RTE_MAX(fwd->num_streams, 1u) * sizeof(l->stream[0])) != 0) {
		free(l);
		return NULL;
	}
	l->stream = streams;
	memset(l->stream, 0, fwd->num_streams * sizeof(l->stream[0]));
	memcpy(l->port, fwd->base, sizeof(l->port));
	l->tsc = fwd->start_tsc;
	return l;
}

static void
look_free(struct look *l)
{
	if (l != NULL)
		free(l->stream);
	free(l);
}

/* Those that the table shows. */
static void
stats_add(struct rte_eth_stats *s, const struct rte_eth_stats *more)
{
	s->ipackets += more->ipackets;
	s->opackets += more->opackets;
	s->ibytes += more->ibytes;
	s->obytes += more->obytes;
	s->imissed += more->imissed;
	s->rx_nombuf += more->rx_nombuf;
	s->ierrors += more->ierrors;
	s->oerrors += more->oerrors;
}

/* What a port of ours has counted, whatever resets did. -ENODEV: it is another driver's. */
static int
own_totals(uint16_t port, struct rte_eth_stats *s)
{
	struct tp_ipoib_totals ipoib;
	struct rte_pmd_mlx4_totals t;
	int ret = rte_pmd_mlx4_totals_get(port, &t);

	if (ret == 0) {
		*s = (struct rte_eth_stats){.ipackets = t.rx_packets,
					    .ibytes = t.rx_bytes,
					    .imissed = t.rx_missed,
					    .rx_nombuf = t.rx_nombuf,
					    .ierrors = t.rx_errors,
					    .opackets = t.tx_packets,
					    .obytes = t.tx_bytes,
					    .oerrors = t.tx_errors};
		return 0;
	}
	if (ret != -ENODEV)
		return ret;
	ret = tp_ipoib_totals_get(port, &ipoib);
	if (ret == 0)
		*s = (struct rte_eth_stats){.ipackets = ipoib.rx_packets,
					    .ibytes = ipoib.rx_bytes,
					    .rx_nombuf = ipoib.rx_nombuf,
					    .ierrors = ipoib.rx_errors,
					    .opackets = ipoib.tx_packets,
					    .obytes = ipoib.tx_bytes,
					    .oerrors = ipoib.tx_errors};
	return ret;
}

int
live_totals(const struct fwd *fwd, uint16_t port, struct rte_eth_stats *s)
{
	int ret = own_totals(port, s);

	if (ret != -ENODEV)
		return ret;
	ret = rte_eth_stats_get(port, s);
	if (ret == 0)
		stats_add(s, &fwd->cleared[port]);
	return ret;
}

int
live_clear(const struct app *app, uint16_t port, bool xstats)
{
	struct rte_eth_stats was;
	bool other = own_totals(port, &was) == -ENODEV && rte_eth_stats_get(port, &was) == 0;
	int ret = xstats ? rte_eth_xstats_reset(port) : rte_eth_stats_reset(port);

	/* What it counts between the two calls is missing: ethdev has none that does both. */
	if (ret == 0 && other && app->fwd != NULL)
		stats_add(&app->fwd->cleared[port], &was);
	return ret;
}

static void
look_now(const struct app *app, struct look *l)
{
	unsigned int i;

	l->tsc = app->fwd->stop_tsc != 0 ? app->fwd->stop_tsc : rte_rdtsc();
	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		if (app->port[i].present)
			live_totals(app->fwd, (uint16_t)i, &l->port[i]);
	for (i = 0; i < app->fwd->num_streams; i++)
		read_stream(&app->fwd->stream[i].stats, &l->stream[i]);
}

static double
ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

/* A counter that was reset in between counts from zero. */
static uint64_t
diff(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

static void
sum_lcore(const struct fwd_lcore *lc, const struct fwd *fwd, const struct look *a, const struct look *b,
	  struct fwd_stats *sum)
{
	unsigned int i, idx;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < lc->num; i++) {
		idx = (unsigned int)(lc->stream[i] - fwd->stream);
		sum->rx += diff(b->stream[idx].rx, a->stream[idx].rx);
		sum->tx += diff(b->stream[idx].tx, a->stream[idx].tx);
		sum->drop += diff(b->stream[idx].drop, a->stream[idx].drop);
		sum->polls += diff(b->stream[idx].polls, a->stream[idx].polls);
		sum->bursts += diff(b->stream[idx].bursts, a->stream[idx].bursts);
		sum->cycles += diff(b->stream[idx].cycles, a->stream[idx].cycles);
		sum->idle_cycles += diff(b->stream[idx].idle_cycles, a->stream[idx].idle_cycles);
	}
}

static const struct column port_columns[] = {
	{"port", 5, 10},      {"rx pkt/s", 11, 14}, {"tx pkt/s", 11, 14}, {"rx Mbit/s", 9, 10},
	{"tx Mbit/s", 9, 10}, {"missed", 9, 12},    {"nombuf", 8, 12},    {"errors", 8, 12},
};

static void
text_ports(const struct app *app, const struct look *a, const struct look *b, double sec, FILE *f)
{
	char cell[RTE_DIM(port_columns)][CELL_LEN];
	struct columns t;
	unsigned int i;

	columns_fit(&t, port_columns, RTE_DIM(port_columns), columns_of(f));
	columns_head(&t, f);
	for (i = 0; i < RTE_MAX_ETHPORTS; i++) {
		const struct rte_eth_stats *x = &a->port[i], *y = &b->port[i];

		if (!app->port[i].present)
			continue;
		snprintf(cell[0], CELL_LEN, "%u", i);
		columns_num(&t, 1, (double)diff(y->ipackets, x->ipackets) / sec, 0, cell[1]);
		columns_num(&t, 2, (double)diff(y->opackets, x->opackets) / sec, 0, cell[2]);
		columns_num(&t, 3, (double)diff(y->ibytes, x->ibytes) * 8 / sec / 1e6, 1, cell[3]);
		columns_num(&t, 4, (double)diff(y->obytes, x->obytes) * 8 / sec / 1e6, 1, cell[4]);
		columns_num(&t, 5, (double)diff(y->imissed, x->imissed), 0, cell[5]);
		columns_num(&t, 6, (double)diff(y->rx_nombuf, x->rx_nombuf), 0, cell[6]);
		columns_num(&t, 7, (double)(diff(y->ierrors, x->ierrors) + diff(y->oerrors, x->oerrors)), 0, cell[7]);
		columns_row(&t, cell, f);
	}
}

static const struct column stream_columns[] = {
	{"stream", 17, 24}, {"rx pkt/s", 11, 14},   {"tx pkt/s", 11, 14}, {"dropped", 10, 12},
	{"fill", 6, 8},     {"cycles/pkt", 10, 11}, {"busy %", 6, 8},
};

/* fill: packets per burst that was not empty; cycles: of the rounds that moved packets. */
static void
text_row(const struct columns *t, FILE *f, const char *name, const struct fwd_stats *d, double sec)
{
	double pkts = (double)RTE_MAX(d->rx, d->tx);
	char cell[RTE_DIM(stream_columns)][CELL_LEN];

	snprintf(cell[0], CELL_LEN, "%s", name);
	columns_num(t, 1, (double)d->rx / sec, 0, cell[1]);
	columns_num(t, 2, (double)d->tx / sec, 0, cell[2]);
	columns_num(t, 3, (double)d->drop, 0, cell[3]);
	columns_num(t, 4, ratio(pkts, (double)d->bursts), 1, cell[4]);
	columns_num(t, 5, ratio((double)d->cycles, pkts), 1, cell[5]);
	columns_num(t, 6, 100 * ratio((double)d->cycles, (double)(d->cycles + d->idle_cycles)), 1, cell[6]);
	columns_row(t, cell, f);
}

static void
text_table(const struct app *app, const struct look *a, const struct look *b, const char *title, FILE *f)
{
	double sec = (double)(b->tsc - a->tsc) / (double)rte_get_tsc_hz();
	const struct fwd *fwd = app->fwd;
	struct columns t;
	struct fwd_stats d;
	char name[CELL_LEN];
	unsigned int i;

	fprintf(f, "%s\n", title);
	text_ports(app, a, b, sec, f);
	columns_fit(&t, stream_columns, RTE_DIM(stream_columns), columns_of(f));
	columns_head(&t, f);
	for (i = 0; i < fwd->num_streams; i++) {
		const struct fwd_stream *s = &fwd->stream[i];
		struct fwd_lcore one = {.num = 1, .stream = (struct fwd_stream *[]){&fwd->stream[i]}};

		if (s->mode->control)
			continue;
		sum_lcore(&one, fwd, a, b, &d);
		snprintf(name, sizeof(name), "%u.%u %s %u.%u", s->rx_port, s->rx_queue, s->mode->sends ? "->" : "-x",
			 s->tx_port, s->tx_queue);
		text_row(&t, f, name, &d, sec);
	}
	for (i = 0; i < fwd->num_lcores; i++) {
		if (fwd->lcore[i].num == 0)
			continue;
		sum_lcore(&fwd->lcore[i], fwd, a, b, &d);
		snprintf(name, sizeof(name), "lcore %u", fwd->lcore[i].id);
		text_row(&t, f, name, &d, sec);
	}
	fflush(f);
}

static void
json_stats(struct out *o, const struct fwd_stats *d, double sec)
{
	double pkts = (double)RTE_MAX(d->rx, d->tx);

	out_u64(o, "rx_packets", d->rx);
	out_u64(o, "tx_packets", d->tx);
	out_real(o, "rx_pps", (double)d->rx / sec, 0);
	out_real(o, "tx_pps", (double)d->tx / sec, 0);
	out_u64(o, "dropped", d->drop);
	out_real(o, "burst_fill", ratio(pkts, (double)d->bursts), 2);
	out_real(o, "cycles_per_packet", ratio((double)d->cycles, pkts), 2);
	out_real(o, "busy", ratio((double)d->cycles, (double)(d->cycles + d->idle_cycles)), 4);
}

static void
json_ports(const struct app *app, const struct look *a, const struct look *b, double sec, struct out *o)
{
	unsigned int i;

	out_array(o, "ports");
	for (i = 0; i < RTE_MAX_ETHPORTS; i++) {
		const struct rte_eth_stats *x = &a->port[i], *y = &b->port[i];

		if (!app->port[i].present)
			continue;
		out_item(o, "port", i);
		out_u64(o, "rx_packets", diff(y->ipackets, x->ipackets));
		out_u64(o, "tx_packets", diff(y->opackets, x->opackets));
		out_u64(o, "rx_bytes", diff(y->ibytes, x->ibytes));
		out_u64(o, "tx_bytes", diff(y->obytes, x->obytes));
		out_real(o, "rx_pps", diff(y->ipackets, x->ipackets) / sec, 0);
		out_real(o, "tx_pps", diff(y->opackets, x->opackets) / sec, 0);
		out_u64(o, "rx_missed", diff(y->imissed, x->imissed));
		out_u64(o, "rx_nombuf", diff(y->rx_nombuf, x->rx_nombuf));
		out_u64(o, "rx_errors", diff(y->ierrors, x->ierrors));
		out_u64(o, "tx_errors", diff(y->oerrors, x->oerrors));
		out_end(o);
	}
	out_end(o);
}

static void
json_table(const struct app *app, const struct look *a, const struct look *b, const char *title, FILE *f)
{
	double sec = (double)(b->tsc - a->tsc) / (double)rte_get_tsc_hz();
	const struct fwd *fwd = app->fwd;
	struct fwd_stats d;
	struct out o;
	unsigned int i;

	out_init(&o, f, true);
	out_str(&o, "table", title);
	out_real(&o, "seconds", sec, 3);
	json_ports(app, a, b, sec, &o);
	out_array(&o, "streams");
	for (i = 0; i < fwd->num_streams; i++) {
		const struct fwd_stream *s = &fwd->stream[i];
		struct fwd_lcore one = {.num = 1, .stream = (struct fwd_stream *[]){&fwd->stream[i]}};

		if (s->mode->control)
			continue;
		sum_lcore(&one, fwd, a, b, &d);
		out_item(&o, "rx_port", s->rx_port);
		out_u64(&o, "rx_queue", s->rx_queue);
		out_u64(&o, "tx_port", s->tx_port);
		out_u64(&o, "tx_queue", s->tx_queue);
		out_str(&o, "mode", s->mode->name);
		json_stats(&o, &d, sec);
		out_end(&o);
	}
	out_end(&o);
	out_array(&o, "lcores");
	for (i = 0; i < fwd->num_lcores; i++) {
		if (fwd->lcore[i].num == 0)
			continue;
		sum_lcore(&fwd->lcore[i], fwd, a, b, &d);
		out_item(&o, "lcore", fwd->lcore[i].id);
		json_stats(&o, &d, sec);
		out_end(&o);
	}
	out_end(&o);
	out_done(&o);
}

/* Zeros everywhere have a reason that the table does not show. */
static void
tell_silence(struct app *app, const struct look *l)
{
	uint64_t rx = 0, tx = 0;
	unsigned int i;

	for (i = 0; i < app->fwd->num_streams; i++) {
		const struct fwd_stream *s = &app->fwd->stream[i];

		if (s->mode->generates || app->port[s->rx_port].kernel != NULL)
			return;
		rx += l->stream[i].rx;
		tx += l->stream[i].tx;
	}
	if (rx + tx != 0 || app->fwd->silence_told || l->tsc - app->fwd->start_tsc < rte_get_tsc_hz() / 2)
		return;
	app->fwd->silence_told = true;
	app_say(app, "nothing came: these ports send only what they receive; 'set fwd flowgen PORT' lets one begin\n");
}

/* A key on the terminal ends a live table, as it would end a pager. */
static bool
key_pressed(void)
{
	struct pollfd pfd = {.fd = STDIN_FILENO, .events = POLLIN};
	char c;

	if (!isatty(STDIN_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp())
		return false;
	return poll(&pfd, 1, 0) == 1 && read(STDIN_FILENO, &c, 1) == 1;
}

int
live_run(struct app *app, uint32_t seconds)
{
	struct look *last, *now, *tmp;
	char title[64];
	uint32_t i;

	if (!app->fwd_runs)
		return app_err(-EINVAL, "nothing to show: forwarding does not run; 'start' first");
	last = look_new(app->fwd);
	now = look_new(app->fwd);
	if (last == NULL || now == NULL) {
		look_free(last);
		look_free(now);
		return app_err(-ENOMEM, "no memory for the table");
	}
	look_now(app, last);
	for (i = 1; (seconds == 0 || i <= seconds) && app_sleep_ms(app, 1000) && !key_pressed(); i++) {
		look_now(app, now);
		snprintf(title, sizeof(title), app->json ? "live" : "--- second %u", i);
		(app->json ? json_table : text_table)(app, last, now, title, stdout);
		tmp = last;
		last = now;
		now = tmp;
	}
	if (i > 1)
		tell_silence(app, last);
	look_free(last);
	look_free(now);
	return 0;
}

static void
text_totals(const struct app *app, const struct look *a, const struct look *b, FILE *f)
{
	uint64_t rx = 0, tx = 0, drop = 0, no_mbuf = 0, ignored = 0;
	unsigned int i;

	for (i = 0; i < app->fwd->num_streams; i++) {
		if (app->fwd->stream[i].mode->control)
			continue;
		rx += diff(b->stream[i].rx, a->stream[i].rx);
		tx += diff(b->stream[i].tx, a->stream[i].tx);
		drop += diff(b->stream[i].drop, a->stream[i].drop);
		no_mbuf += diff(b->stream[i].no_mbuf, a->stream[i].no_mbuf);
		ignored += diff(b->stream[i].ignored, a->stream[i].ignored);
	}
	fprintf(f, "  total: %" PRIu64 " received, %" PRIu64 " sent, %" PRIu64 " dropped", rx, tx, drop);
	if (ignored > 0)
		fprintf(f, ", %" PRIu64 " not answered", ignored);
	if (no_mbuf > 0)
		fprintf(f, ", %" PRIu64 " rounds without buffers", no_mbuf);
	fputc('\n', f);
}

void
live_summary(struct app *app, bool json)
{
	struct look *first, *last;
	char title[96];

	if (app->fwd == NULL) {
		app_err(-EINVAL, "nothing was forwarded yet");
		return;
	}
	first = look_new(app->fwd);
	last = look_new(app->fwd);
	if (first != NULL && last != NULL) {
		look_now(app, last);
		snprintf(title, sizeof(title), json ? "summary" : "=== summary of %.1f s",
			 (double)(last->tsc - first->tsc) / (double)rte_get_tsc_hz());
		(json ? json_table : text_table)(app, first, last, title, stdout);
		if (!json) {
			text_totals(app, first, last, stdout);
			tell_silence(app, last);
		}
	}
	look_free(first);
	look_free(last);
}
