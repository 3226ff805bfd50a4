/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Where commands come from. */
#ifndef TRIPLANE_CONSOLE_H
#define TRIPLANE_CONSOLE_H

#include "apps/triplane/app/app.h"

/* All run commands until one fails; 0 or its error, which was said. where: what an error line begins with. */
int console_string(struct app *app, const char *text, const char *where);
int console_file(struct app *app, const char *path);
int console_interact(struct app *app);

#endif /* TRIPLANE_CONSOLE_H */
