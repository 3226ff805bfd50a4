/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Events by time; those of one moment in the order in which they were made, so that a run is the same each time. Keys are in order
 * in a heap, events stay where they are: places of those that are over are in the keys behind the heap.
 */
#include <stdlib.h>

#include "sim.h"

static bool
before(const struct sim_key *a, const struct sim_key *b)
{
	return a->at < b->at || (a->at == b->at && a->seq < b->seq);
}

static int
grow(struct sim_heap *h)
{
	uint32_t room = h->room == 0 ? 1024 : h->room * 2;
	void *p = realloc(h->key, room * sizeof(*h->key));

	if (p == NULL)
		return -1;
	h->key = p;
	p = realloc(h->e, room * sizeof(*h->e));
	if (p == NULL)
		return -1;
	h->e = p;
	for (; h->room < room; h->room++)
		h->key[h->room].place = h->room;
	return 0;
}

int
sim_push(struct sim *m, const struct sim_event *e)
{
	struct sim_heap *h = &m->heap;
	struct sim_key k;
	uint32_t i;

	if (h->num == h->room && grow(h) != 0)
		return -1;
	i = h->num++;
	k = (struct sim_key){.at = e->at, .seq = h->seq++, .place = h->key[i].place};
	h->e[k.place] = *e;
	for (; i != 0 && before(&k, &h->key[(i - 1) / 2]); i = (i - 1) / 2)
		h->key[i] = h->key[(i - 1) / 2];
	h->key[i] = k;
	return 0;
}

bool
sim_pop(struct sim *m, struct sim_event *e)
{
	struct sim_heap *h = &m->heap;
	uint32_t i = 0, place;
	struct sim_key last;

	if (h->num == 0)
		return false;
	place = h->key[0].place;
	*e = h->e[place];
	last = h->key[--h->num];
	for (uint32_t k; (k = 2 * i + 1) < h->num; i = k) {
		if (k + 1 < h->num && before(&h->key[k + 1], &h->key[k]))
			k++;
		if (!before(&h->key[k], &last))
			break;
		h->key[i] = h->key[k];
	}
	h->key[i] = last;
	h->key[h->num].place = place;
	return true;
}
