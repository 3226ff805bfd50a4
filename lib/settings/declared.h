/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/**
 * @file
 * Settings of ports and groups whose values are declarations (tp_qos.h): a row for each of their keys, with the key's own
 * text, range and refusals. The values of one object come into force together.
 */
#ifndef SETTINGS_DECLARED_H
#define SETTINGS_DECLARED_H

#include <tp_qos.h>

#include "settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A declaration: struct tp_qos_port of a port, struct tp_group of a group. */
struct tp_declared_ops {
	/** @return 0, -ENODEV (takes no declarations), another negative errno. */
	int (*get)(void *arg, const struct tp_setting_at *at, void *decl);
	int (*set)(void *arg, const struct tp_setting_at *at, const void *decl, char err[TP_ERR_LEN]);
};

struct tp_declared;

/**
 * Makes the rows of TP_SCOPE_PORT or TP_SCOPE_GROUP and adds them.
 * @param tells the driver logs each change itself
 * @return 0, -ENOMEM, and what tp_settings_add answers
 */
int tp_declared_add(struct tp_settings *s, enum tp_setting_scope scope, const struct tp_declared_ops *ops, void *arg,
		    bool tells, struct tp_declared **out);
/** After the registry. NULL is none. */
void tp_declared_free(struct tp_declared *d);

#ifdef __cplusplus
}
#endif

#endif /* SETTINGS_DECLARED_H */
