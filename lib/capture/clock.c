/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Times of packets. Those that a thread saw have its cycles, which are anchored in the time of day once. Those that
 * the card stamped have its clock's, which runs at a rate of its own: both clocks are compared now and then, and a stamp is
 * placed by the last comparison and the rate since the first.
 */
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "capture_priv.h"

#define NS UINT64_C(1000000000)
#define FIRST_US 10000 /* that a first rate is measured for */
#define TRIES 5
#define ANEW_S 3600 /* the rate is that of this time at most */

/* Cards have clocks of 48 bits, or wider ones of which this difference is the same. */
static int64_t
cycles_since(uint64_t now, uint64_t then)
{
	return (int64_t)((now - then) << 16) >> 16;
}

/* Both at one moment: of several tries the shortest. */
static bool
both(uint16_t port, uint64_t *card, uint64_t *tsc)
{
	uint64_t best = UINT64_MAX, before, after, now;
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		before = rte_rdtsc();
		if (rte_eth_read_clock(port, &now) != 0)
			return false;
		after = rte_rdtsc();
		if (after - before >= best)
			continue;
		best = after - before;
		*card = now;
		*tsc = before + best / 2;
	}
	return true;
}

static void
compare(struct cap_clock *c)
{
	int64_t cycles;

	c->next = rte_rdtsc() + rte_get_tsc_hz();
	if (!both(c->port, &c->card0, &c->card_tsc0))
		return; /* by the rate that is known */
	cycles = cycles_since(c->card0, c->from);
	if (cycles > 0)
		c->tsc_of_card = (double)(c->card_tsc0 - c->from_tsc) / (double)cycles;
	if (c->card_tsc0 - c->from_tsc > ANEW_S * rte_get_tsc_hz()) {
		c->from = c->card0;
		c->from_tsc = c->card_tsc0;
	}
}

void
cap_clock_init(struct cap_clock *c, uint16_t port, bool card)
{
	struct timespec day;
	uint64_t before;

	before = rte_rdtsc();
	clock_gettime(CLOCK_REALTIME, &day);
	c->tsc0 = before + (rte_rdtsc() - before) / 2;
	c->ns0 = (uint64_t)day.tv_sec * NS + (uint64_t)day.tv_nsec;
	c->ns_of_tsc = (double)NS / (double)rte_get_tsc_hz();
	c->port = port;
	c->card = card && both(port, &c->from, &c->from_tsc);
	if (!c->card)
		return;
	usleep(FIRST_US);
	compare(c);
}

void
cap_clock_tick(struct cap_clock *c)
{
	if (c->card && rte_rdtsc() >= c->next)
		compare(c);
}

static uint64_t
ns_of(const struct cap_clock *c, uint64_t tsc)
{
	return c->ns0 + (uint64_t)(int64_t)((double)(int64_t)(tsc - c->tsc0) * c->ns_of_tsc);
}

uint64_t
cap_clock_ns(const struct cap_clock *c, const struct cap_slot *s)
{
	if (!s->card)
		return ns_of(c, s->time);
	return ns_of(c, c->card_tsc0 + (uint64_t)(int64_t)((double)cycles_since(s->time, c->card0) * c->tsc_of_card));
}

uint64_t
cap_clock_now(const struct cap_clock *c)
{
	return ns_of(c, rte_rdtsc());
}
