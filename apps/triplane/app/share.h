/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ports of this program that programs of libibverbs and librdmacm use, too. */
#ifndef TRIPLANE_APP_SHARE_H
#define TRIPLANE_APP_SHARE_H

#include <tp_share.h>

/* 0 or a negative errno, which was said. */
int share_on(const char *path);
void share_off(void);
/* Where guests call, "": nowhere. */
const char *share_path(void);
/* Limits, mode and group, which are in force from now on, or once ports are shared. */
const struct tp_share_conf *share_conf(void);
/* The value in force. */
uint64_t share_limit_now(enum tp_share_limit limit);
int share_set_limit(enum tp_share_limit limit, uint64_t value);
int share_set_mode(mode_t mode);
/* NULL: the program's own. */
int share_set_group(const char *group);
/* NULL: nothing is shared. */
struct tp_share *share_of(void);

#endif /* TRIPLANE_APP_SHARE_H */
