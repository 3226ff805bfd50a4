/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Packets that wait. A slot has a number that says whose turn it is, so that threads meet only at the head.
 *
 * First in, first out: the number is the position at which the slot may be filled, and one more when it has been. The reader gives
 * slots back in any order; one that it still has makes the ring full. Cyclic: the number is odd while the slot is filled, and
 * 2 * (position + 1) afterwards.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "capture_priv.h"

int
cap_ring_init(struct cap_ring *r, uint32_t room, uint32_t count, bool cyclic)
{
	uint64_t i;
	void *mem;

	memset(r, 0, sizeof(*r));
	r->stride = RTE_ALIGN(sizeof(struct cap_slot) + room, RTE_CACHE_LINE_SIZE);
	mem = mmap(NULL, r->stride * count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (mem == MAP_FAILED)
		return -ENOMEM;
	r->mem = mem;
	r->count = count;
	r->room = room;
	r->cyclic = cyclic;
	for (i = 0; !cyclic && i < count; i++)
		cap_slot_of(r, i)->seq = i;
	return 0;
}

void
cap_ring_free(struct cap_ring *r)
{
	if (r->mem != NULL)
		munmap(r->mem, r->stride * r->count);
	r->mem = NULL;
}

static struct cap_slot *
take_cyclic(struct cap_ring *r, uint64_t *pos)
{
	struct cap_slot *s;
	uint64_t was;

	*pos = __atomic_fetch_add(&r->head, 1, __ATOMIC_RELAXED);
	s = cap_slot_of(r, *pos);
	was = __atomic_load_n(&s->seq, __ATOMIC_RELAXED);
	/* Another thread is in it, or was faster by a whole round. */
	if ((was & 1) != 0 || was > 2 * *pos)
		return NULL;
	return __atomic_compare_exchange_n(&s->seq, &was, was | 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ? s
													      : NULL;
}

struct cap_slot *
cap_ring_take(struct cap_ring *r, uint64_t *pos)
{
	struct cap_slot *s;
	uint64_t at, seq;

	if (r->cyclic)
		return take_cyclic(r, pos);
	at = __atomic_load_n(&r->head, __ATOMIC_RELAXED);
	for (;;) {
		s = cap_slot_of(r, at);
		seq = __atomic_load_n(&s->seq, __ATOMIC_ACQUIRE);
		if (seq == at) {
			if (__atomic_compare_exchange_n(&r->head, &at, at + 1, false, __ATOMIC_RELAXED,
							__ATOMIC_RELAXED))
				break;
		} else if (seq < at) {
			return NULL;
		} else {
			at = __atomic_load_n(&r->head, __ATOMIC_RELAXED);
		}
	}
	*pos = at;
	return s;
}

void
cap_ring_put(const struct cap_ring *r, struct cap_slot *s, uint64_t pos)
{
	__atomic_store_n(&s->seq, r->cyclic ? 2 * (pos + 1) : pos + 1, __ATOMIC_RELEASE);
}

struct cap_slot *
cap_ring_next(struct cap_ring *r, uint64_t *pos)
{
	struct cap_slot *s = cap_slot_of(r, r->tail);

	if (__atomic_load_n(&s->seq, __ATOMIC_ACQUIRE) != r->tail + 1)
		return NULL;
	*pos = r->tail++;
	return s;
}

void
cap_ring_give(const struct cap_ring *r, struct cap_slot *s, uint64_t pos)
{
	__atomic_store_n(&s->seq, pos + r->count, __ATOMIC_RELEASE);
}

bool
cap_ring_peek(const struct cap_ring *r, uint64_t pos, struct cap_slot *to)
{
	const struct cap_slot *s = cap_slot_of(r, pos);
	const uint64_t seq = __atomic_load_n(&s->seq, __ATOMIC_ACQUIRE);

	if (seq != 2 * (pos + 1))
		return false;
	memcpy(to, s, sizeof(*s));
	to->kept = RTE_MIN(to->kept, r->room);
	memcpy(to->data, s->data, to->kept);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&s->seq, __ATOMIC_RELAXED) == seq;
}
