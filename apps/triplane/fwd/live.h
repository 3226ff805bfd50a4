/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The table of each second, the closing summary, and the counters behind them. */
#ifndef TRIPLANE_FWD_LIVE_H
#define TRIPLANE_FWD_LIVE_H

#include "fwd.h"

/* Tables each second until the time is over (0: no end), a key or a signal. */
int live_run(struct app *app, uint32_t seconds);
void live_summary(struct app *app, bool json);
/* Sets the counters of a port to zero; table and summary go on from where they were. */
int live_clear(const struct app *app, uint16_t port, bool xstats);
/*
 * What a port has counted, of which a reset takes nothing away: those that tables show. Ports of other drivers
 * have only counters that are reset; live_clear() keeps what they were. 0 or a negative errno.
 */
int live_totals(const struct fwd *fwd, uint16_t port, struct rte_eth_stats *s);

#endif /* TRIPLANE_FWD_LIVE_H */
