/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What packetdrill asks of a shared object that it plays scripts to (--so_filename): a table of calls, which the object's function
 * packetdrill_interface_init() fills. The order of the entries is the whole of the binary interface. Calls of sockets are those of
 * libc with the object's own pointer in front; -1 and errno say that one failed.
 */
#ifndef LONG_PACKETDRILL_INTERFACE_H
#define LONG_PACKETDRILL_INTERFACE_H

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>

struct packetdrill_interface {
	void *userdata;
	void (*free)(void *own);
	int (*socket)(void *own, int domain, int type, int protocol);
	int (*bind)(void *own, int fd, const struct sockaddr *at, socklen_t len);
	int (*listen)(void *own, int fd, int backlog);
	int (*accept)(void *own, int fd, struct sockaddr *from, socklen_t *len);
	int (*connect)(void *own, int fd, const struct sockaddr *to, socklen_t len);
	ssize_t (*read)(void *own, int fd, void *p, size_t n);
	ssize_t (*readv)(void *own, int fd, const struct iovec *iov, int n);
	ssize_t (*recv)(void *own, int fd, void *p, size_t n, int flags);
	ssize_t (*recvfrom)(void *own, int fd, void *p, size_t n, int flags, struct sockaddr *from, socklen_t *len);
	ssize_t (*recvmsg)(void *own, int fd, struct msghdr *msg, int flags);
	ssize_t (*write)(void *own, int fd, const void *p, size_t n);
	ssize_t (*writev)(void *own, int fd, const struct iovec *iov, int n);
	ssize_t (*send)(void *own, int fd, const void *p, size_t n, int flags);
	ssize_t (*sendto)(void *own, int fd, const void *p, size_t n, int flags, const struct sockaddr *to,
			  socklen_t len);
	ssize_t (*sendmsg)(void *own, int fd, const struct msghdr *msg, int flags);
	int (*fcntl)(void *own, int fd, int command, ...);
	int (*ioctl)(void *own, int fd, unsigned long request, ...);
	int (*close)(void *own, int fd);
	int (*shutdown)(void *own, int fd, int how);
	int (*getsockopt)(void *own, int fd, int level, int name, void *value, socklen_t *len);
	int (*setsockopt)(void *own, int fd, int level, int name, const void *value, socklen_t len);
	int (*poll)(void *own, struct pollfd *p, nfds_t n, int ms);
	/* A packet of IP that the script sends: 0. */
	int (*netdev_send)(void *own, const void *p, size_t n);
	/* The next one that leaves, and when: *n is the room, then its length. It waits until there is one. */
	int (*netdev_receive)(void *own, void *p, size_t *n, long long *at_us);
	/* All times of a script are by these two. */
	int (*usleep)(void *own, useconds_t us);
	int (*gettimeofday)(void *own, struct timeval *t, struct timezone *tz);
	int (*epoll_create)(void *own, int size);
	int (*epoll_ctl)(void *own, int set, int op, int fd, struct epoll_event *e);
	int (*epoll_wait)(void *own, int set, struct epoll_event *e, int n, int ms);
	int (*pipe)(void *own, int fd[2]);
	int (*splice)(void *own, int in, loff_t *in_at, int out, loff_t *out_at, size_t n, unsigned int flags);
};

__attribute__((visibility("default"))) void packetdrill_interface_init(const char *flags,
								       struct packetdrill_interface *ifc);

#endif /* LONG_PACKETDRILL_INTERFACE_H */
