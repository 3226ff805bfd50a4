/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Timers by time, O(1). */
#ifndef TCP_BASE_WHEEL_H
#define TCP_BASE_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#define WHEEL_SHIFT 4u /* a tick is 16 us */
#define WHEEL_BITS 12u
#define WHEEL_SLOTS (1u << WHEEL_BITS)
#define WHEEL_WORDS (WHEEL_SLOTS / 64)
#define WHEEL_LEVELS 3u
#define WHEEL_NEVER UINT64_MAX

struct wheel_entry {
	struct wheel_entry *next, **prev; /* prev NULL: in no slot */
	uint64_t tick;
};
struct wheel {
	uint64_t tick;                /* all before and this one are done */
	uint64_t soonest;             /* no slot need be looked at before; UINT64_MAX: none is used */
	uint64_t words[WHEEL_LEVELS]; /* which words of used have a bit */
	uint64_t used[WHEEL_LEVELS][WHEEL_WORDS];
	struct wheel_entry *slot[WHEEL_LEVELS][WHEEL_SLOTS];
};

void wheel_init(struct wheel *w, uint64_t now_us);
/* Due at at_us or up to a tick later. An entry that is in the wheel moves. */
void wheel_add(struct wheel *w, struct wheel_entry *e, uint64_t at_us);
void wheel_del(struct wheel *w, struct wheel_entry *e);
/* Entries that are due, taken out; a list by next. */
struct wheel_entry *wheel_turn(struct wheel *w, uint64_t now_us);
/* When wheel_turn must be called; WHEEL_NEVER. It may have nothing to give then. */
uint64_t wheel_next(const struct wheel *w);
/* Most rounds find nothing. */
static inline bool
wheel_due(const struct wheel *w, uint64_t now_us)
{
	return now_us >> WHEEL_SHIFT >= w->soonest;
}
/* Nothing is due: what is entered next is so far from here. */
static inline void
wheel_clock(struct wheel *w, uint64_t now_us)
{
	w->tick = RTE_MAX(w->tick, now_us >> WHEEL_SHIFT);
}

#endif /* TCP_BASE_WHEEL_H */
