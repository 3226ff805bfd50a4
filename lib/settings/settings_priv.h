/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#ifndef SETTINGS_PRIV_H
#define SETTINGS_PRIV_H

#include "settings.h"

struct tp_settings {
	struct tp_settings_ops ops;
	void *arg;
	const struct tp_settings_table *table[TP_SETTINGS_TABLES];
	unsigned int num;
};

/* The table that a row is of. */
const struct tp_settings_table *settings_table(const struct tp_settings *s, const struct tp_setting *row);
bool settings_same_object(const struct tp_setting_at *a, const struct tp_setting_at *b);
/* The row of a change that can be made, its value judged. */
int settings_wanted(struct tp_settings *s, const struct tp_setting_at *at, const char *name, char *value,
		    const struct tp_setting **row, char *err);
/* 0, or -ENOENT with err. */
int settings_object(struct tp_settings *s, const struct tp_setting_at *at, char *err);
/* Formats a line, free of control characters whatever the arguments held; its value is ret. */
int settings_err(char *err, int ret, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif /* SETTINGS_PRIV_H */
