/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vfio.h"

#define PATHS 4u

static const char *root = "";

void
root_set(const char *dir)
{
	root = dir;
}

bool
root_is_real(void)
{
	return root[0] == '\0';
}

const char *
root_path(const char *fmt, ...)
{
	static char path[PATHS][PATH_MAX];
	static unsigned int next;
	char *at = path[next++ % PATHS];
	size_t len = (size_t)snprintf(at, PATH_MAX, "%s", root);
	va_list ap;

	va_start(ap, fmt);
	if (len < PATH_MAX)
		vsnprintf(at + len, PATH_MAX - len, fmt, ap);
	va_end(ap);
	return at;
}

int
root_read(char text[VFIO_TEXT], const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, VFIO_TEXT - 1);
	const int err = errno;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return n < 0 ? -err : 0;
}

int
root_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
	const int err = errno;

	if (fd >= 0)
		close(fd);
	return n < 0 ? -err : 0;
}

long
root_number(const char *path, long other)
{
	char text[VFIO_TEXT], *end;
	long v;

	if (root_read(text, path) != 0)
		return other;
	errno = 0;
	v = strtol(text, &end, 0);
	return errno == 0 && end != text && *end == '\0' ? v : other;
}

void
root_link(char name[VFIO_TEXT], const char *path)
{
	char where[PATH_MAX];
	ssize_t n = readlink(path, where, sizeof(where) - 1);
	const char *slash;

	where[n > 0 ? n : 0] = '\0';
	slash = strrchr(where, '/');
	snprintf(name, VFIO_TEXT, "%.250s", slash == NULL ? where : slash + 1);
}
