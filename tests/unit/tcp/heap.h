/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Frames on the rig's wire: a heap by the time at which they arrive. */
#ifndef TCP_HEAP_H
#define TCP_HEAP_H

#include "rig.h"

static inline bool
before(const struct rig_frame *a, const struct rig_frame *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static inline void
push(struct rig *r, struct rig_frame f)
{
	uint32_t i = r->nq;

	if (r->nq == RIG_FRAMES) {
		rte_pktmbuf_free(f.m); /* a queue of any switch ends somewhere */
		return;
	}
	r->nq++;
	for (; i != 0 && before(&f, &r->q[(i - 1) / 2]); i = (i - 1) / 2)
		r->q[i] = r->q[(i - 1) / 2];
	r->q[i] = f;
}

static inline struct rig_frame
pop(struct rig *r)
{
	const struct rig_frame top = r->q[0], last = r->q[--r->nq];
	uint32_t i = 0, k;

	while ((k = 2 * i + 1) < r->nq) {
		if (k + 1 < r->nq && before(&r->q[k + 1], &r->q[k]))
			k++;
		if (!before(&r->q[k], &last))
			break;
		r->q[i] = r->q[k];
		i = k;
	}
	r->q[i] = last;
	return top;
}

#endif /* TCP_HEAP_H */
