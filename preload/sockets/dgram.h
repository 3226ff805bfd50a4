/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Sockets of datagrams: each has its shadow, as those of streams, and is read from both halves. A datagram that is sent goes to
 * the half that leads to its destination.
 */
#ifndef PRELOAD_SOCKETS_DGRAM_H
#define PRELOAD_SOCKETS_DGRAM_H

#include <stdlib.h>

#include "lib/sock/dgram.h"

#include "sockets.h"

#define DGRAM_GROUPS 64u

struct dgram_group {
	rte_be32_t group, source;
};

/* What a socket of datagrams has beside a struct file. */
struct dgram {
	void (*began)(struct file *f); /* is called when the engine's half begins */
	atomic_bool connected;         /* by the engine */
	struct tcp_addr remote;
	atomic_bool os_connected; /* by the shadow alone */
	_Atomic rte_be32_t via;   /* IP_MULTICAST_IF, 0: any */
	atomic_bool via_os;       /* it is none of the port's */
	atomic_bool pktinfo, recvttl, recvtos, recvorig, ovfl;
	atomic_int stamp; /* SO_TIMESTAMP or SO_TIMESTAMPNS, as they were named; 0: none */
	unsigned int num_groups;
	struct dgram_group group[DGRAM_GROUPS];
	uint64_t claimed; /* when the port was asked for last, if another process had it */
	/* MSG_MORE and UDP_CORK */
	pthread_mutex_t more_lock;
	bool corked;
	uint8_t *more;
	size_t more_len;
	struct tcp_addr more_to;
};

/* --- dgram.c --- */
/* A socket that was made just now; NULL: no memory. began: see there. */
struct dgram *dgram_new(void (*began)(struct file *f));
static inline void
dgram_free(struct dgram *d)
{
	if (d == NULL)
		return;
	pthread_mutex_destroy(&d->more_lock);
	free(d->more);
	free(d);
}
/* With the file's lock: the engine's half begins. False: there is none. */
bool dgram_begin(int fd, struct file *f);
/* The same, where somebody waits for datagrams, and the rules say so. */
void dgram_wanted(int fd, struct file *f);
/* The same without the lock, once. */
void dgram_start(int fd, struct file *f);
/* A port that another process had may be free now. */
void dgram_again(struct file *f);
/* The shadow was bound. */
void dgram_bound(int fd, struct file *f);
int dgram_connect(int fd, struct file *f, const struct sockaddr *sa, socklen_t len);
int dgram_shutdown(int fd, struct file *f, int how);
/* 1: the shadow's answer is right. */
int dgram_name(struct file *f, struct tcp_addr *local, struct tcp_addr *remote);
/* A group that the socket is in, or is not any more. */
int dgram_join(int fd, struct file *f, rte_be32_t group, rte_be32_t source, bool on);
/* An address at which the engine sends and receives: none of loopback, nor one of the kernel's alone. */
bool dgram_port_addr(rte_be32_t ip);

/* --- dgram_io.c: as sendmsg(2) and recvmsg(2); the file is put back --- */
ssize_t dgram_out(int fd, struct file *f, const struct msghdr *msg, int flags);
ssize_t dgram_in(int fd, struct file *f, struct msghdr *msg, int flags);
/* As recvmmsg(2). */
int dgram_in_many(int fd, struct file *f, struct mmsghdr *msg, unsigned int n, int flags, struct timespec *timeout);
ssize_t dgram_out_iov(int fd, struct file *f, const struct iovec *iov, int n, int flags);
ssize_t dgram_in_iov(int fd, struct file *f, const struct iovec *iov, int n, int flags);
/* As readv(2). */
ssize_t dgram_read(int fd, struct file *f, const struct iovec *iov, int n);
/* With more_lock. */
void dgram_uncork(int fd, struct file *f);
/* What the other half has now. */
void dgram_os_look(int fd, struct file *f);
int dgram_inq(int fd, struct file *f);

/* --- dgram_opt.c --- */
int dgram_setsockopt(int fd, struct file *f, int level, int name, const void *value, socklen_t len);
int dgram_getsockopt(int fd, struct file *f, int level, int name, void *value, socklen_t *len);
/* What the shadow was told before the engine's half began. */
void dgram_carry(int fd, const struct file *f);

#endif /* PRELOAD_SOCKETS_DGRAM_H */
