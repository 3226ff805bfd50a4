/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The functions of libc that stand behind those here. */
#include <dlfcn.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>

#include "sockets.h"

struct real real_of;

/* A function of libc behind ours; every libc that this is built for has it. */
#define FIND(member, name) (*(void **)&r.member = dlsym(RTLD_NEXT, name))

void
real_init(void)
{
	struct real r = {0};

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
	real_of = r;
}
