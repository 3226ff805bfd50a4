/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands of congestion control: DCQCN of RoCE, 802.1Qau of the card. */
#ifndef TRIPLANE_CONGESTION_CONGESTION_H
#define TRIPLANE_CONGESTION_CONGESTION_H

#include "apps/triplane/app/app.h"

int cmd_roce_cc_register(struct app *app);
int cmd_qcn_register(struct app *app);

/* Priorities of "prios", without it all; 0: one of them is none, which was said. */
uint8_t congestion_prios(const struct cmd_args *a);

#endif /* TRIPLANE_CONGESTION_CONGESTION_H */
