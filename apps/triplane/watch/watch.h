/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands that look at what runs. */
#ifndef TRIPLANE_WATCH_WATCH_H
#define TRIPLANE_WATCH_WATCH_H

#include "apps/triplane/app/app.h"

int cmd_capture_register(struct app *app);
int cmd_card_register(struct app *app);
int cmd_connections_register(struct app *app);
int cmd_filter_register(struct app *app);
int cmd_quirks_register(struct app *app);

/* Lets dpdk-dumpcap and dpdk-pdump look at the ports of this process, where it has memory that others can map. */
void watch_by_others(void);
void watch_by_nobody(void);

#endif /* TRIPLANE_WATCH_WATCH_H */
