/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The program's own arguments. */
#ifndef TRIPLANE_OPTIONS_H
#define TRIPLANE_OPTIONS_H

#include "apps/triplane/app/app.h"

/* 0, 1 (help was printed), -EINVAL (said why). */
int options_parse(int argc, char **argv, struct app_options *opt);
int options_default_cores(struct app *app);

#endif /* TRIPLANE_OPTIONS_H */
