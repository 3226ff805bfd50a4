/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#ifndef PRELOAD_SOCKETS_CONF_PRIV_H
#define PRELOAD_SOCKETS_CONF_PRIV_H

#include <stdbool.h>
#include <stddef.h>

#include "conf.h"

#define PORT_ENV "TRIPLANE_SOCKETS_PORT"
#define SPIN_ENV "TRIPLANE_SOCKETS_SPIN"
#define LOOKS_ENV "TRIPLANE_SOCKETS_LOOKS"
#define MBUFS_ENV "TRIPLANE_SOCKETS_MBUFS"
#define MTU_ENV "TRIPLANE_SOCKETS_MTU"
#define CC_ENV "TRIPLANE_SOCKETS_CC"
#define ECN_ENV "TRIPLANE_SOCKETS_ECN"
#define WSCALE_ENV "TRIPLANE_SOCKETS_WSCALE"
#define TRACE_ENV "TRIPLANE_SOCKETS_TRACE"
#define LOG_ENV "TRIPLANE_SOCKETS_LOG"

#define SPIN_MAX 1000000u
#define LOOKS_MAX 100000000u
#define MBUFS_MIN 2048u
#define MBUFS_MAX 1048576u
#define MTU_MIN 576u
#define MTU_MAX 9600u

/* --- settings.c --- */
/* Ours is set to this, unless it was set. */
void setting_preset(const char *name, const char *text);

/* --- say.c --- */
/* A number of 0..6, or a word. */
bool say_level_is(const char *text);

/* --- old.c --- */
/* Ours by old ones, where ours are not set. Called once, before the program begins. */
void settings_old(void);
/* What was wrong with them. */
void settings_old_say(void);

#endif /* PRELOAD_SOCKETS_CONF_PRIV_H */
