/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What rows say to a value that they do not take, or not now. */
#include <errno.h>

#include "settings.h"

int
setting_refuse(const struct tp_setting *row, const char *value, char err[TP_SETTING_ERR])
{
	snprintf(err, TP_SETTING_ERR, "%s: '%.40s', want %s", row->name, value, row->names);
	return -EINVAL;
}

int
setting_not_while_forwarding(char err[TP_SETTING_ERR])
{
	snprintf(err, TP_SETTING_ERR, "forwarding runs; 'stop' first");
	return -EBUSY;
}
