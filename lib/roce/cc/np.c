/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The notification point of queue pairs that hear many senders. A flow has a place for as long as nothing more is told to it. It is one
 * of the places from its hash on, so that a mark costs the same however many flows there are, and whoever makes up senders takes
 * places, and no memory.
 */
#include <string.h>

#include "cc.h"

#define PROBES 16u
#define NS_PER_US UINT64_C(1000)
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15) /* 2^64 by the golden ratio */

/* Each bit changes the lowest ones, too: senders of one subnet differ in one octet. */
static uint64_t
mix(uint64_t h)
{
	h = (h ^ h >> 32) * GOLDEN;
	h = (h ^ h >> 29) * GOLDEN;
	return h ^ h >> 32;
}

static uint32_t
hash(const struct tcc_np_flow *f)
{
	uint64_t half[2];

	memcpy(half, f->addr, sizeof(half));
	return (uint32_t)mix(mix(half[0] ^ ((uint64_t)f->from << 32 | f->to)) ^ half[1]);
}

bool
tcc_np_mark_flow(struct tcc_np_flows *t, const struct tcc_np_flow *f, uint8_t prio, uint32_t interval_us, uint64_t now)
{
	struct tcc_np_place *place = NULL;
	uint32_t h = hash(f);

	for (uint32_t i = 0; i < PROBES; i++) {
		struct tcc_np_place *p = &t->place[(h + i) % TCC_NP_FLOWS];

		if (p->until > now) {
			if (memcmp(&p->flow, f, sizeof(*f)) == 0)
				return false;
		} else if (place == NULL) {
			place = p;
		}
	}
	if (place == NULL)
		return false;
	*place = (struct tcc_np_place){.flow = *f, .until = now + interval_us * NS_PER_US, .prio = prio};
	return true;
}

uint32_t
tcc_np_told(const struct tcc_np_flows *t, uint8_t prio, uint64_t now)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < TCC_NP_FLOWS; i++)
		n += t->place[i].prio == prio && t->place[i].until > now;
	return n;
}
