/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "rxwait.h"

#define ONE 256u /* of averages and weights */

const char *const rxwait_modes[] = {"polling", "interrupt", "adaptive"};
const char *const rxmod_profiles[] = {"low-latency", "moderate", "aggressive", "adaptive", "manual"};

void
rxwait_default(struct rxwait_conf *c)
{
	*c = (struct rxwait_conf){
		.mode = RXWAIT_POLLING,
		.thread_poll = 10000,
		.average_weight = 16,
		.average_poll = 10,
		.this_poll = 100,
		.profile = RXMOD_MODERATE,
		.count = 5,
		.us = 10,
		.low_pps = 150000,
		.high_pps = 170000,
	};
}

bool
rxwait_poll(const struct rxwait_conf *c, struct rxwait *w, unsigned int n)
{
	if (c->mode == RXWAIT_POLLING)
		return false;
	if (n != 0) {
		w->average = (w->average * (ONE - c->average_weight) + (uint64_t)n * ONE * c->average_weight) / ONE;
		w->pays = c->mode == RXWAIT_ADAPTIVE &&
			  (n >= c->this_poll || w->average >= (uint64_t)c->average_poll * ONE);
		w->empty = 0;
		return false;
	}
	w->empty++;
	if (w->pays && w->empty <= c->thread_poll)
		return false;
	w->pays = false;
	return true;
}

bool
rxmod_busy(const struct rxwait_conf *c, bool was, uint64_t pps)
{
	return pps > c->high_pps || (was && pps >= c->low_pps);
}

void
rxmod_values(const struct rxwait_conf *c, bool busy, uint16_t *count, uint16_t *us)
{
	static const uint16_t fixed[][2] = {
		[RXMOD_LOW_LATENCY] = {0, 0}, [RXMOD_MODERATE] = {5, 10}, [RXMOD_AGGRESSIVE] = {32, 64}};
	const uint32_t profile = c->profile != RXMOD_ADAPTIVE ? c->profile : busy ? RXMOD_MANUAL : RXMOD_LOW_LATENCY;

	*count = profile == RXMOD_MANUAL ? (uint16_t)c->count : fixed[profile][0];
	*us = profile == RXMOD_MANUAL ? (uint16_t)c->us : fixed[profile][1];
}
