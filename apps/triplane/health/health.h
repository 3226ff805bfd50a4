/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The health of ports of our driver: what is shown of it, what is done about it, and its settings. */
#ifndef TRIPLANE_HEALTH_HEALTH_H
#define TRIPLANE_HEALTH_HEALTH_H

#include "apps/triplane/app/app.h"

int cmd_health_register(struct app *app);
int settings_health_add(struct app *app);

#endif /* TRIPLANE_HEALTH_HEALTH_H */
