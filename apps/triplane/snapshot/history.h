/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What ports counted in the last five minutes, a look each second. Software counters alone: a look costs a card no command, and
 * the datapath nothing.
 */
#ifndef TRIPLANE_SNAPSHOT_HISTORY_H
#define TRIPLANE_SNAPSHOT_HISTORY_H

#include "apps/triplane/app/app.h"

#define HISTORY_POINTS 301u /* with one more, there are 300 times between them */

struct history_point {
	uint64_t us; /* of a clock that only goes on */
	uint64_t rx_packets, tx_packets, rx_bytes, tx_bytes;
};

void history_start(struct app *app);
void history_stop(void);
/* One more look, by the caller, who has control. */
void history_look(struct app *app);
/* The points of a port, the oldest first. Their number. */
unsigned int history_get(uint16_t port, struct history_point out[HISTORY_POINTS]);

#endif /* TRIPLANE_SNAPSHOT_HISTORY_H */
