/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What forwarding lcores have done, for DPDK's telemetry. */
#ifndef TRIPLANE_FWD_LCORES_H
#define TRIPLANE_FWD_LCORES_H

#include "apps/triplane/app/app.h"

/*
 * /triplane/lcores        numbers of the lcores that forward, or did until forwarding was stopped
 * /triplane/lcore,NUMBER  one of them since forwarding was started: microseconds in calls that moved packets and in others, packets
 */
void lcores_telemetry(struct app *app);

#endif /* TRIPLANE_FWD_LCORES_H */
