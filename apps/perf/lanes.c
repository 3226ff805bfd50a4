/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Bandwidth of a port that several lcores share: each lane's queue pairs are posted and polled by the lcore that drives it. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_launch.h>

#include "perf.h"

struct perf_crew {
	atomic_uint at_work;
	atomic_bool failed;
	struct {
		_Alignas(RTE_CACHE_LINE_SIZE) atomic_ulong messages;
	} of[TP_ROCE_LANES];
};

bool
perf_crew_goes_on(const struct perf *p)
{
	return p->crew == NULL || !atomic_load_explicit(&p->crew->failed, memory_order_relaxed);
}

uint64_t
perf_crew_messages(struct perf *p, uint64_t messages)
{
	uint64_t all = 0;

	if (p->crew == NULL)
		return messages;
	atomic_store_explicit(&p->crew->of[p->lane].messages, messages, memory_order_relaxed);
	for (uint32_t i = 0; i < p->conf->port.lanes; i++)
		all += atomic_load_explicit(&p->crew->of[i].messages, memory_order_relaxed);
	return all;
}

/* A lane that is done answers on, until all are: its packets come to queues of others, and theirs to its own. */
static int
work(void *arg)
{
	struct perf *p = arg;
	int rc = perf_bw(p);

	if (rc != 0)
		atomic_store(&p->crew->failed, true);
	atomic_fetch_sub(&p->crew->at_work, 1);
	while (atomic_load_explicit(&p->crew->at_work, memory_order_relaxed) != 0 && perf_crew_goes_on(p))
		tp_roce_progress_lane(p->e->port.ctx, p->lane);
	return rc;
}

static void
add(struct perf *sum, const struct perf *lane)
{
	const double s = (double)(lane->ended - lane->begun) / (double)rte_get_tsc_hz();

	sum->rates[lane->lane] = lane->count != 0 && s > 0 ? (double)lane->count / s : 0;
	if (sum == lane)
		return;
	sum->count += lane->count;
	sum->lost += lane->lost;
	/* A lane to which nothing came has no begin. */
	if (lane->count != 0) {
		sum->begun = sum->begun == 0 ? lane->begun : RTE_MIN(sum->begun, lane->begun);
		sum->ended = RTE_MAX(sum->ended, lane->ended);
	}
}

int
perf_lanes(struct perf *p)
{
	const uint32_t lanes = p->conf->port.lanes, each = p->conf->qps / lanes;
	struct perf_crew crew = {.at_work = lanes};
	struct perf *other;
	uint32_t i, begun;
	int rc, its;

	if (lanes == 1)
		return perf_bw(p);
	other = calloc(lanes - 1, sizeof(*other));
	if (other == NULL)
		return rend_fail(ENOMEM, "no memory for %u lanes", lanes);
	p->qps = each;
	p->crew = &crew;
	for (i = 1, rc = 0; i < lanes && rc == 0; i++) {
		struct perf *o = &other[i - 1];

		*o = *p;
		o->lane = (uint16_t)i;
		o->qp = &p->qp[i * each];
		o->scq = p->scqs[i];
		o->rcq = p->rcqs[i];
		o->begun = o->ended = 0;
		rc = rte_eal_remote_launch(work, o, p->e->lcore[i]);
		if (rc != 0)
			rc = rend_fail(-rc, "lcore %u is busy", p->e->lcore[i]);
	}
	begun = rc == 0 ? i : i - 1;
	if (rc == 0)
		rc = work(p);
	else
		atomic_store(&crew.failed, true);
	add(p, p);
	for (i = 1; i < begun; i++) {
		its = rte_eal_wait_lcore(p->e->lcore[i]);
		rc = rc != 0 ? rc : its;
		add(p, &other[i - 1]);
	}
	free(other);
	p->qps = p->conf->qps;
	p->crew = NULL;
	return rc;
}
