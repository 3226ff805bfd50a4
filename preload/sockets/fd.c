/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Numbers are closed and copied. */
#include <fcntl.h>

#include "sockets.h"

static void
fd_forget(int fd)
{
	void *what = NULL;
	const enum kind kind = fd_take(fd, &what);

	if (kind == SOCKET) {
		ep_closed(fd, what);
		file_put(what);
	} else if (kind == EPOLL) {
		ep_free(what);
	}
}

EXPORT int
close(int fd)
{
	if (own_is(fd))
		return (int)result(-EBADF);
	fd_forget(fd);
	return real()->close(fd);
}

/* What is this library's stays. */
EXPORT int
close_range(unsigned int first, unsigned int last, int flags)
{
	unsigned int at, i;
	int rc = 0;

	if (first > last)
		return (int)result(-EINVAL);
	for (i = first; flags == 0 && i <= last && i < fd_max(); i++)
		fd_forget((int)i);
	while (rc == 0 && fd_any_own(first, last, &at)) {
		if (at > first)
			rc = real()->close_range(first, at - 1, flags);
		if (at == last)
			return rc;
		first = at + 1;
	}
	return rc == 0 ? real()->close_range(first, last, flags) : rc;
}

EXPORT void
closefrom(int first)
{
	(void)close_range(first < 0 ? 0 : (unsigned int)first, ~0u, 0);
}

EXPORT int
dup(int fd)
{
	int copy = real()->dup(fd);

	if (copy >= 0)
		fd_copy(copy, fd);
	return copy;
}

EXPORT int
dup3(int from, int to, int flags)
{
	int rc;

	if (from == to)
		return (int)result(-EINVAL);
	/* The target is closed first, as a thing that is not there any more must not hear of what comes. */
	if (real()->fcntl(from, F_GETFD) >= 0)
		fd_forget(to);
	rc = real()->dup3(from, to, flags);
	if (rc >= 0)
		fd_copy(rc, from);
	return rc;
}

EXPORT int
dup2(int from, int to)
{
	if (from == to)
		return real()->dup2(from, to);
	return dup3(from, to, 0);
}
