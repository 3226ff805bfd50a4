/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <stdarg.h>
#include <stdio.h>

#include "vfio.h"

int
vfio_fault(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("triplane: error: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 1;
}
