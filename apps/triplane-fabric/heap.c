/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Events by time; those of one moment in the order in which they were made, so that a run is the same each time. */
#include <stdlib.h>

#include "sim.h"

static bool
before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at < b->at || (a->at == b->at && a->seq < b->seq);
}

int
sim_push(struct sim *m, const struct sim_event *e)
{
	struct sim_heap *h = &m->heap;
	uint32_t i;

	if (h->num == h->room) {
		uint32_t room = h->room == 0 ? 1024 : h->room * 2;
		void *p = realloc(h->e, room * sizeof(*h->e));

		if (p == NULL)
			return -1;
		h->e = p;
		h->room = room;
	}
	i = h->num++;
	h->e[i] = *e;
	h->e[i].seq = h->seq++;
	while (i != 0 && before(&h->e[i], &h->e[(i - 1) / 2])) {
		struct sim_event t = h->e[i];

		h->e[i] = h->e[(i - 1) / 2];
		h->e[(i - 1) / 2] = t;
		i = (i - 1) / 2;
	}
	return 0;
}

bool
sim_pop(struct sim *m, struct sim_event *e)
{
	struct sim_heap *h = &m->heap;
	uint32_t i = 0;

	if (h->num == 0)
		return false;
	*e = h->e[0];
	h->e[0] = h->e[--h->num];
	for (;;) {
		uint32_t least = i, k = 2 * i + 1;
		struct sim_event t;

		if (k < h->num && before(&h->e[k], &h->e[least]))
			least = k;
		if (k + 1 < h->num && before(&h->e[k + 1], &h->e[least]))
			least = k + 1;
		if (least == i)
			return true;
		t = h->e[i];
		h->e[i] = h->e[least];
		h->e[least] = t;
		i = least;
	}
}
