/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The functions of libc that stand behind those here. */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "sockets.h"

const struct real *_Atomic real_known;

/* A function of libc behind ours; every libc that this is built for has it. */
#define FIND(member, name) (*(void **)&r->member = dlsym(RTLD_NEXT, name))

/*
 * Several threads may look at once: what one of them found is told as a whole. From malloc(3) nothing may come: an allocator that makes
 * itself ready calls syscall(2), jemalloc does, and with it this.
 */
const struct real *
real_find(void)
{
	struct real *r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct real *known = NULL;

	if (r == MAP_FAILED)
		abort();
	FIND(close, "close");
	FIND(bind, "bind");
	FIND(connect, "connect");
	FIND(listen, "listen");
	FIND(accept4, "accept4");
	FIND(shutdown, "shutdown");
	FIND(getsockname, "getsockname");
	FIND(getpeername, "getpeername");
	FIND(getsockopt, "getsockopt");
	FIND(setsockopt, "setsockopt");
	FIND(fcntl, "fcntl64");
	FIND(ioctl, "ioctl");
	FIND(read, "read");
	FIND(write, "write");
	FIND(readv, "readv");
	FIND(writev, "writev");
	FIND(recv, "recv");
	FIND(recvfrom, "recvfrom");
	FIND(recvmsg, "recvmsg");
	FIND(recvmmsg, "recvmmsg");
	FIND(send, "send");
	FIND(sendto, "sendto");
	FIND(sendmsg, "sendmsg");
	FIND(sendmmsg, "sendmmsg");
	FIND(sendfile, "sendfile64");
	FIND(splice, "splice");
	FIND(ppoll, "ppoll");
	FIND(poll, "poll");
	FIND(select, "select");
	FIND(pselect, "pselect");
	FIND(epoll_create1, "epoll_create1");
	FIND(epoll_ctl, "epoll_ctl");
	FIND(epoll_pwait, "epoll_pwait");
	FIND(dup, "dup");
	FIND(dup2, "dup2");
	FIND(dup3, "dup3");
	FIND(close_range, "close_range");
	FIND(exit, "_exit");
	FIND(syscall, "syscall");
	FIND(socket, "socket");
	if (atomic_compare_exchange_strong(&real_known, &known, r))
		return r;
	(void)munmap(r, sizeof(*r));
	return known;
}
