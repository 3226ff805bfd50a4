/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* CMocka fixture: a sender on port 1 and a receiver on port 2, which gets the frames to mac2 by a rule. */
#ifndef DP_PAIR_H
#define DP_PAIR_H

#include "dp_rig.h"

/* Where frames from tx go. */
static const uint8_t mac2[6] = {2, 0, 0, 0, 0, 2};

struct fix {
	struct rig r;
	struct rig_q tx, rx;
	uint64_t rule;
};

static inline int
up(void **state)
{
	struct fix *f = calloc(1, sizeof(*f));

	*state = f;
	if (rig_open(&f->r) != 0)
		return -1;
	rig_qp(&f->r, &f->tx, 8, 1, 64, false);
	rig_qp(&f->r, &f->rx, 9, 2, 64, true);
	rig_up(&f->r);
	memcpy(f->tx.bufs, mac2, 6);
	return rig_rule(&f->r, 2, mac2, 9, &f->rule);
}

static inline int
down(void **state)
{
	struct fix *f = *state;

	rig_close(&f->r);
	free(f);
	return 0;
}

#endif /* DP_PAIR_H */
