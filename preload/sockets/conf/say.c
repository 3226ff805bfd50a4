/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Lines for people: to standard error, or to a file of each process. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "preload/sockets/sockets.h"

#include "priv.h"

#define LEVEL_MAX 6u

/* The accelerator's words, in the order of its numbers; beyond the fourth there is nothing to say here. */
static const char *const words[] = {"panic", "error", "warn", "info", "details", "debug", "fine"};

static unsigned int
level(void)
{
	const char *text = setting_text(TRACE_ENV);

	if (text == NULL)
		return SAY_WARNING;
	if (text[0] >= '0' && text[0] <= '0' + (char)LEVEL_MAX && text[1] == '\0')
		return (unsigned int)(text[0] - '0');
	for (unsigned int i = 0; i <= LEVEL_MAX; i++)
		if (strcasecmp(text, words[i]) == 0)
			return i;
	return SAY_WARNING;
}

bool
say_level_is(const char *text)
{
	for (unsigned int i = 0; i <= LEVEL_MAX; i++)
		if (strcasecmp(text, words[i]) == 0)
			return true;
	return text[0] >= '0' && text[0] <= '0' + (char)LEVEL_MAX && text[1] == '\0';
}

/* A child of fork() has its own file. %d in the name is the process's number. */
static int
log_open(const char *name)
{
	const char *at = strstr(name, "%d");
	char path[512];

	if (at == NULL)
		(void)snprintf(path, sizeof(path), "%s", name);
	else
		(void)snprintf(path, sizeof(path), "%.*s%d%s", (int)(at - name), name, (int)getpid(), at + 2);
	return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

void
say_at(enum say_level l, const char *fmt, ...)
{
	const char *name = setting_text(LOG_ENV);
	char text[512];
	va_list ap;
	int n, fd;

	if ((unsigned int)l > level())
		return;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n <= 0)
		return;
	fd = name == NULL ? -1 : log_open(name);
	if (name != NULL && fd < 0)
		dprintf(STDERR_FILENO, "triplane-sockets: %s: %s; lines go to standard error\n", name, strerror(errno));
	dprintf(fd >= 0 ? fd : STDERR_FILENO, "triplane-sockets: %s\n", text);
	if (fd >= 0)
		(void)real()->close(fd);
}
