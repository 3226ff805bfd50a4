/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The health of ports of our driver: what is shown of it, what is done about it, and its settings. */
#ifndef TRIPLANE_HEALTH_HEALTH_H
#define TRIPLANE_HEALTH_HEALTH_H

#include "apps/triplane/app/app.h"

int cmd_health_register(struct app *app);
int settings_health_add(struct app *app);

/* sensor_dump.c: a dump's settings.conf; 0 or a negative errno. */
int dump_settings_write(const struct app *app, const char *path);
/* From now on dumps of sensors get one, too, until the end; stop without the program's control. */
void sensor_dumps_start(struct app *app);
void sensor_dumps_stop(void);

#endif /* TRIPLANE_HEALTH_HEALTH_H */
