/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

int
run_refuse(const char *fmt, ...)
{
	va_list ap;

	fputs("triplane-run: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return RUN_EXIT;
}

int
run_find(const char *what, const char *const places[], unsigned int n, char path[RUN_PATH])
{
	char self[RUN_PATH], *slash, *real;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return run_refuse("/proc/self/exe: %s", strerror(errno));
	self[len] = '\0';
	slash = strrchr(self, '/');
	for (unsigned int i = 0; i < n; i++) {
		snprintf(slash + 1, sizeof(self) - (size_t)(slash + 1 - self), "%s", places[i]);
		real = realpath(self, NULL);
		if (real == NULL)
			continue;
		snprintf(path, RUN_PATH, "%s", real);
		free(real);
		return 0;
	}
	return run_refuse("%s is not where the build or the installation of this program puts it", what);
}
