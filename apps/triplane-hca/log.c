/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Messages about a client, to whoever asked for them. */
#include <stdarg.h>
#include <stdio.h>

#include "vfu.h"

void
vfu_log(struct vfu *s, const char *fmt, ...)
{
	char line[256];
	va_list ap;

	if (s->log == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	s->log(s->log_arg, line);
}
