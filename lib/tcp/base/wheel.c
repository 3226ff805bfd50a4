/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Timers in three rings of 4096 slots: ticks of 16 us, then 66 ms and 268 s. An entry lies in the ring that its distance asks
 * for and moves to a finer one when its slot comes; most are nearer than 66 ms and never move.
 */
#include <string.h>

#include "wheel.h"

#define SLOT_MASK (WHEEL_SLOTS - 1)
#define REACH (1ull << (WHEEL_BITS * WHEEL_LEVELS))

void
wheel_init(struct wheel *w, uint64_t now_us)
{
	memset(w, 0, sizeof(*w));
	w->tick = now_us >> WHEEL_SHIFT;
	w->soonest = UINT64_MAX;
}

/* The first used slot at or after i, going round; WHEEL_SLOTS: none. */
static inline uint32_t
first_used(const struct wheel *w, uint32_t level, uint32_t i)
{
	const uint32_t word = i / 64;
	const uint64_t bits = w->used[level][word] & (UINT64_MAX << (i % 64)), words = w->words[level];
	const uint64_t behind = word == WHEEL_WORDS - 1 ? 0 : words & (UINT64_MAX << (word + 1));
	uint32_t k;

	if (bits != 0)
		return word * 64 + (uint32_t)__builtin_ctzll(bits);
	if (words == 0)
		return WHEEL_SLOTS;
	k = (uint32_t)__builtin_ctzll(behind != 0 ? behind : words);
	return k * 64 + (uint32_t)__builtin_ctzll(w->used[level][k]);
}

static inline void
not_used(struct wheel *w, uint32_t level, uint32_t i)
{
	w->used[level][i / 64] &= ~(1ull << (i % 64));
	if (w->used[level][i / 64] == 0)
		w->words[level] &= ~(1ull << (i / 64));
}

/* Not before the tick `first`: a slot that is being emptied is not entered again. */
static void
place(struct wheel *w, struct wheel_entry *e, uint64_t first)
{
	uint64_t at = RTE_MAX(e->tick, first);
	uint64_t ahead = at - w->tick;
	uint32_t level = 0, i;
	struct wheel_entry **slot;

	if (ahead >= REACH) {
		at = w->tick + REACH - 1;
		ahead = REACH - 1;
	}
	while (level < WHEEL_LEVELS - 1 && ahead >= 1ull << (WHEEL_BITS * (level + 1)))
		level++;
	i = (at >> (WHEEL_BITS * level)) & SLOT_MASK;
	slot = &w->slot[level][i];
	w->used[level][i / 64] |= 1ull << (i % 64);
	w->words[level] |= 1ull << (i / 64);
	e->next = *slot;
	if (*slot != NULL)
		(*slot)->prev = &e->next;
	e->prev = slot;
	*slot = e;
	/* A coarse slot is looked at when it begins. */
	w->soonest = RTE_MIN(w->soonest, at >> (WHEEL_BITS * level) << (WHEEL_BITS * level));
}

void
wheel_del(struct wheel *w, struct wheel_entry *e)
{
	if (e->prev == NULL)
		return;
	*e->prev = e->next;
	if (e->next != NULL) {
		e->next->prev = e->prev;
	} else if ((uintptr_t)e->prev >= (uintptr_t)w->slot &&
		   (uintptr_t)e->prev < (uintptr_t)(w->slot + WHEEL_LEVELS)) {
		/* The last of its slot. */
		const uint32_t n = (uint32_t)(e->prev - &w->slot[0][0]);

		not_used(w, n / WHEEL_SLOTS, n % WHEEL_SLOTS);
	}
	e->prev = NULL;
	e->next = NULL;
}

void
wheel_add(struct wheel *w, struct wheel_entry *e, uint64_t at_us)
{
	wheel_del(w, e);
	e->tick = (at_us + (1u << WHEEL_SHIFT) - 1) >> WHEEL_SHIFT;
	place(w, e, w->tick + 1);
}

/* The next tick at which a slot must be looked at. */
static uint64_t
next_tick(const struct wheel *w)
{
	uint64_t best = UINT64_MAX;
	uint32_t level;

	for (level = 0; level < WHEEL_LEVELS; level++) {
		const uint32_t shift = WHEEL_BITS * level;
		const uint64_t here = w->tick >> shift;
		const uint32_t i = first_used(w, level, (here + 1) & SLOT_MASK);
		uint64_t at;

		if (i == WHEEL_SLOTS)
			continue;
		at = (here + 1 + ((i - (here + 1)) & SLOT_MASK)) << shift;
		best = RTE_MIN(best, at);
	}
	return best;
}

uint64_t
wheel_next(const struct wheel *w)
{
	return w->soonest == UINT64_MAX ? WHEEL_NEVER : w->soonest << WHEEL_SHIFT;
}

/* Takes a slot's list. */
static struct wheel_entry *
take(struct wheel *w, uint32_t level, uint32_t i)
{
	struct wheel_entry *list = w->slot[level][i];

	w->slot[level][i] = NULL;
	not_used(w, level, i);
	return list;
}

struct wheel_entry *
wheel_turn(struct wheel *w, uint64_t now_us)
{
	const uint64_t end = now_us >> WHEEL_SHIFT;
	struct wheel_entry *due = NULL, *e, *next;
	uint32_t level;
	uint64_t tick;

	if (!wheel_due(w, now_us))
		return NULL;
	while ((tick = next_tick(w)) <= end) {
		w->tick = tick;
		/* Coarse slots that begin here go to finer rings first, the tick itself included. */
		for (level = WHEEL_LEVELS - 1; level > 0; level--) {
			if ((tick & ((1ull << (WHEEL_BITS * level)) - 1)) != 0)
				continue;
			for (e = take(w, level, (tick >> (WHEEL_BITS * level)) & SLOT_MASK); e != NULL; e = next) {
				next = e->next;
				place(w, e, tick);
			}
		}
		for (e = take(w, 0, tick & SLOT_MASK); e != NULL; e = next) {
			next = e->next;
			e->prev = NULL;
			e->next = due;
			due = e;
		}
	}
	w->tick = RTE_MAX(w->tick, end);
	w->soonest = tick;
	return due;
}
