/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Two looks at the counters of a port's streams, and many at its rings in between. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "perf.h"
#include "rte_pmd_mlx4.h"
#include "rte_pmd_mlx4_queue.h"
#include "live.h"

#define LOOK_MS 1

/* What the port counted when the watch began. */
struct before {
	struct rte_eth_stats stats;
	uint64_t paused;
	uint64_t nombuf[PERF_QUEUES];
	struct {
		uint64_t waited_ns, stolen_ns, switches;
	} lcore[RTE_MAX_LCORE]; /* by the index in fwd */
};

/* Only whether there are any counts: without priorities of its own, pausing may show in each of them. */
static uint64_t
pauses(uint16_t port)
{
	struct tp_qos_prio_stats st[TP_PRIOS];
	uint64_t sum = 0;
	unsigned int i;

	if (rte_pmd_mlx4_qos_stats(port, st) != 0)
		return 0;
	for (i = 0; i < TP_PRIOS; i++)
		sum += st[i].rx_pause;
	return sum;
}

/* A CPU of its own is what a poller wants. */
static int
sharing(const struct fwd *fwd, unsigned int lcore)
{
	rte_cpuset_t mine = rte_lcore_cpuset(lcore), other;
	unsigned int i;

	for (i = 0; i < fwd->num_lcores && CPU_COUNT(&mine) == 1; i++) {
		other = rte_lcore_cpuset(fwd->lcore[i].id);
		if (fwd->lcore[i].num != 0 && fwd->lcore[i].id != lcore && CPU_EQUAL(&mine, &other))
			return (int)fwd->lcore[i].id;
	}
	return -1;
}

/* How long a thread was ready to run and did not: the second number of its schedstat; 0 where the kernel keeps none. */
static uint64_t
waited_ns(const struct fwd_lcore *lc)
{
	char path[64];
	uint64_t ns = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", __atomic_load_n(&lc->tid, __ATOMIC_RELAXED));
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	if (fscanf(f, "%*u %" SCNu64, &ns) != 1)
		ns = 0;
	fclose(f);
	return ns;
}

/* How often a thread was taken off its CPU. */
static uint64_t
switches(const struct fwd_lcore *lc)
{
	static const char key[] = "nonvoluntary_ctxt_switches:";
	char path[64], line[128];
	uint64_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", __atomic_load_n(&lc->tid, __ATOMIC_RELAXED));
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			n = strtoull(line + strlen(key), NULL, 10);
	fclose(f);
	return n;
}

/* What the host of this machine took of an lcore's CPU: the eighth number of its line in /proc/stat. */
static uint64_t
stolen_ns(const struct fwd_lcore *lc)
{
	rte_cpuset_t cpus = rte_lcore_cpuset(lc->id);
	char key[16], line[512];
	uint64_t ticks = 0;
	int cpu = 0;
	FILE *f = CPU_COUNT(&cpus) == 1 ? fopen("/proc/stat", "re") : NULL;

	if (f == NULL)
		return 0;
	while (!CPU_ISSET(cpu, &cpus))
		cpu++;
	snprintf(key, sizeof(key), "cpu%d ", cpu);
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, key, strlen(key)) == 0 &&
		    sscanf(line + strlen(key), "%*u %*u %*u %*u %*u %*u %*u %" SCNu64, &ticks) != 1)
			ticks = 0;
	fclose(f);
	return ticks * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
}

static struct perf_lcore
lcore_of(const struct fwd *fwd, const struct fwd_stream *s, int memory)
{
	unsigned int id = fwd->lcore[s->lcore].id;

	return (struct perf_lcore){
		.id = id, .socket = (int)rte_lcore_to_socket_id(id), .memory = memory, .sharing = sharing(fwd, id)};
}

/* Adds what the streams counted, or (zero) what they had counted then: with sign -1 before the watch, with 1 after it. */
static void
add_counts(const struct fwd *fwd, const struct fwd_stats *zero, struct perf *p, int sign)
{
	const uint64_t by = (uint64_t)(int64_t)sign;
	unsigned int i, b;

	for (i = 0; i < fwd->num_streams; i++) {
		const struct fwd_stream *s = &fwd->stream[i];
		const struct fwd_stats *st = zero != NULL ? &zero[i] : &s->stats;
		struct perf_rx *r = &p->rx[s->rx_queue];
		struct perf_tx *t = &p->tx[s->tx_queue];

		if (s->mode->control)
			continue;
		if (s->rx_port == p->port && s->has_rx && s->rx_queue < p->num_rx) {
			r->packets += by * stat_read(&st->rx);
			r->full += by * stat_read(&st->rx_full);
			r->cycles += by * stat_read(&st->cycles);
			r->idle_cycles += by * stat_read(&st->idle_cycles);
			for (b = 0; b < FWD_BINS; b++) {
				r->bin[b] += by * stat_read(&st->rx_bin[b]);
				r->polls += by * stat_read(&st->rx_bin[b]);
			}
		}
		if (!s->mode->sends || s->tx_port != p->port || s->tx_queue >= p->num_tx)
			continue;
		t->sent += by * stat_read(&st->tx);
		t->blocked += by * stat_read(&st->tx_full);
		t->doorbells += by * stat_read(&st->doorbells);
		t->cycles += by * stat_read(&st->cycles);
		t->idle_cycles += by * stat_read(&st->idle_cycles);
		t->full_cycles += by * stat_read(&st->full_cycles);
		for (b = 0; b < FWD_BINS; b++) {
			t->bin[b] += by * stat_read(&st->tx_bin[b]);
			t->bursts += by * stat_read(&st->tx_bin[b]);
		}
	}
}

static void
add_streams(const struct fwd *fwd, struct perf *p, int sign)
{
	add_counts(fwd, NULL, p, sign);
}

/* Who serves which queue. */
static void
add_owners(const struct fwd *fwd, struct perf *p)
{
	int socket = rte_eth_dev_socket_id(p->port);
	unsigned int i;

	for (i = 0; i < fwd->num_streams; i++) {
		const struct fwd_stream *s = &fwd->stream[i];
		struct perf_rx *r = &p->rx[s->rx_queue];
		struct perf_tx *t = &p->tx[s->tx_queue];

		if (s->mode->control)
			continue;
		if (s->rx_port == p->port && s->has_rx && s->rx_queue < p->num_rx) {
			r->served = true;
			r->polled |= fwd_polls(s) && !s->mode->deaf;
			r->burst = s->burst;
			r->lcore = lcore_of(fwd, s, socket);
		}
		if (s->mode->sends && s->tx_port == p->port && s->tx_queue < p->num_tx) {
			t->served = true;
			t->burst = s->burst;
			t->generates = s->mode->generates;
			t->lcore = lcore_of(fwd, s, socket);
		}
	}
}

static void
look_at_rings(struct perf *p, unsigned int looks)
{
	struct rte_pmd_mlx4_rx_load rx;
	struct rte_pmd_mlx4_tx_load tx;
	uint16_t q;

	for (q = 0; q < p->num_rx; q++) {
		struct perf_rx *r = &p->rx[q];

		r->seen = rte_pmd_mlx4_rx_load_get(p->port, q, &rx) == 0;
		if (!r->seen)
			break;
		r->ring = rx.descriptors;
		r->waiting += (rx.waiting - r->waiting) / looks;
		r->waiting_max = RTE_MAX(r->waiting_max, rx.waiting);
		r->nombuf = rx.nombuf;
	}
	for (q = 0; q < p->num_tx; q++) {
		struct perf_tx *t = &p->tx[q];

		t->seen = rte_pmd_mlx4_tx_load_get(p->port, q, &tx) == 0 && tx.room != 0;
		if (!t->seen)
			break;
		t->used += ((double)tx.used / tx.room - t->used) / looks;
	}
}

static void
port_before(const struct fwd *fwd, struct perf *p, struct before *b)
{
	unsigned int i;
	uint16_t q;

	for (i = 0; i < fwd->num_lcores; i++) {
		b->lcore[i].waited_ns = waited_ns(&fwd->lcore[i]);
		b->lcore[i].stolen_ns = stolen_ns(&fwd->lcore[i]);
		b->lcore[i].switches = switches(&fwd->lcore[i]);
	}
	live_totals(fwd, p->port, &b->stats);
	b->paused = pauses(p->port);
	look_at_rings(p, 1);
	for (q = 0; q < p->num_rx; q++)
		b->nombuf[q] = p->rx[q].nombuf;
}

/* A counter that was reset meanwhile counts from zero. */
static uint64_t
since(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

static void
lcore_after(const struct perf_lcore *now, struct perf_lcore *lc)
{
	if (lc->id != now->id)
		return;
	lc->away = now->away;
	lc->stolen = now->stolen;
	lc->switches = now->switches;
}

static void
lcores_after(const struct fwd *fwd, struct perf *p, const struct before *b)
{
	unsigned int i;
	uint16_t q;

	for (i = 0; i < fwd->num_lcores; i++) {
		const struct fwd_lcore *lc = &fwd->lcore[i];
		/* A wait counts when it ends, also what of it was before this watch. */
		const struct perf_lcore now = {
			.id = lc->id,
			.away = RTE_MIN(1.0, (double)since(waited_ns(lc), b->lcore[i].waited_ns) / 1e9 / p->seconds),
			.stolen = RTE_MIN(1.0, (double)since(stolen_ns(lc), b->lcore[i].stolen_ns) / 1e9 / p->seconds),
			.switches = since(switches(lc), b->lcore[i].switches),
		};

		for (q = 0; q < p->num_rx; q++)
			if (p->rx[q].served)
				lcore_after(&now, &p->rx[q].lcore);
		for (q = 0; q < p->num_tx; q++)
			if (p->tx[q].served)
				lcore_after(&now, &p->tx[q].lcore);
	}
}

static void
port_after(const struct fwd *fwd, struct perf *p, const struct before *b)
{
	struct rte_eth_stats st = b->stats;
	uint16_t q;

	lcores_after(fwd, p, b);
	live_totals(fwd, p->port, &st);
	p->missed = since(st.imissed, b->stats.imissed);
	p->nombuf = since(st.rx_nombuf, b->stats.rx_nombuf);
	p->tx_bytes = since(st.obytes, b->stats.obytes);
	p->paused = since(pauses(p->port), b->paused);
	for (q = 0; q < p->num_rx; q++)
		p->rx[q].nombuf = since(p->rx[q].nombuf, b->nombuf[q]);
}

static void
queues_set(const struct app *app, uint16_t port, struct perf *p)
{
	const struct app_port *ap = &app->port[port];
	uint16_t q;

	p->port = port;
	p->num_rx = RTE_MIN(ap->rxq, PERF_QUEUES);
	p->num_tx = RTE_MIN(ap->txq, PERF_QUEUES);
	for (q = 0; q < p->num_rx; q++) {
		p->rx[q].queue = q;
		p->rx[q].ring = ap->rxd;
	}
	for (q = 0; q < p->num_tx; q++)
		p->tx[q].queue = q;
	add_owners(app->fwd, p);
}

/* Counters have one writer each, so that they are not set to zero: what they are now is remembered. */
int
perf_total_clear(const struct app *app)
{
	struct fwd *fwd = app->fwd;
	unsigned int i;

	if (fwd->zero == NULL)
		fwd->zero = calloc(fwd->num_streams, sizeof(*fwd->zero));
	if (fwd->zero == NULL)
		return -ENOMEM;
	for (i = 0; i < fwd->num_streams; i++)
		fwd->zero[i] = fwd->stream[i].stats;
	fwd->zero_tsc = rte_rdtsc();
	return 0;
}

struct perf *
perf_total(const struct app *app, uint16_t port)
{
	const struct fwd *fwd = app->fwd;
	const uint64_t from = fwd->zero != NULL ? fwd->zero_tsc : fwd->start_tsc;
	const uint64_t to = fwd->stop_tsc != 0 ? fwd->stop_tsc : rte_rdtsc();
	struct perf *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	queues_set(app, port, p);
	if (fwd->zero != NULL)
		add_counts(fwd, fwd->zero, p, -1);
	add_streams(fwd, p, 1);
	p->seconds = to > from ? (double)(to - from) / (double)rte_get_tsc_hz() : 0;
	return p;
}

int
perf_measure(const struct app *app, uint16_t port, unsigned int ms, struct perf **out, char *err, size_t err_len)
{
	struct rte_eth_link link = {.link_status = RTE_ETH_LINK_DOWN};
	struct before *b = calloc(1, sizeof(*b));
	struct perf *p = calloc(1, sizeof(*p));
	uint64_t tsc;
	unsigned int looks;

	if (b == NULL || p == NULL) {
		free(b);
		free(p);
		snprintf(err, err_len, "no memory for the report");
		return -ENOMEM;
	}
	queues_set(app, port, p);
	port_before(app->fwd, p, b);
	add_streams(app->fwd, p, -1);
	tsc = rte_rdtsc();
	for (looks = 2; (rte_rdtsc() - tsc) * 1000 < ms * rte_get_tsc_hz() && app_sleep_ms(app, LOOK_MS); looks++)
		look_at_rings(p, looks);
	add_streams(app->fwd, p, 1);
	p->seconds = (double)(rte_rdtsc() - tsc) / (double)rte_get_tsc_hz();
	port_after(app->fwd, p, b);
	free(b);
	if (rte_eth_link_get_nowait(port, &link) != 0)
		memset(&link, 0, sizeof(link));
	p->link_up = link.link_status == RTE_ETH_LINK_UP;
	p->speed_mbps = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed;
	perf_judge(p);
	*out = p;
	return 0;
}
