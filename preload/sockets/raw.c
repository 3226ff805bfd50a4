/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Calls of sockets by their numbers: libuv, and with it dig and others, sends and receives datagrams so. */
#include <stdarg.h>
#include <sys/syscall.h>

#include "sockets.h"

static bool
ours(long number, int fd)
{
	switch (number) {
	case SYS_sendto:
	case SYS_recvfrom:
	case SYS_sendmsg:
	case SYS_recvmsg:
	case SYS_sendmmsg:
	case SYS_recvmmsg:
	case SYS_accept4: return kind_of(fd) == SOCKET;
	default: return false;
	}
}

EXPORT long
syscall(long number, ...)
{
	long a[6];
	va_list ap;

	/* As libc's: what was not given is not looked at. */
	va_start(ap, number);
	for (unsigned int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (__builtin_expect(!ours(number, (int)a[0]), 1))
		return real()->syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	switch (number) {
	case SYS_sendto:
		return sendto((int)a[0], (const void *)a[1], (size_t)a[2], (int)a[3], (const struct sockaddr *)a[4],
			      (socklen_t)a[5]);
	case SYS_recvfrom:
		return recvfrom((int)a[0], (void *)a[1], (size_t)a[2], (int)a[3], (struct sockaddr *)a[4],
				(socklen_t *)a[5]);
	case SYS_sendmsg: return sendmsg((int)a[0], (const struct msghdr *)a[1], (int)a[2]);
	case SYS_recvmsg: return recvmsg((int)a[0], (struct msghdr *)a[1], (int)a[2]);
	case SYS_sendmmsg: return sendmmsg((int)a[0], (struct mmsghdr *)a[1], (unsigned int)a[2], (int)a[3]);
	case SYS_recvmmsg:
		return recvmmsg((int)a[0], (struct mmsghdr *)a[1], (unsigned int)a[2], (int)a[3],
				(struct timespec *)a[4]);
	default: return accept4((int)a[0], (struct sockaddr *)a[1], (socklen_t *)a[2], (int)a[3]);
	}
}
