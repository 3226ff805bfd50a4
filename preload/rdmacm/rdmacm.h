/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * /dev/infiniband/rdma_cm for a program that knows nothing of this project. librdmacm stays what it is; what it writes to the
 * kernel's device goes to the process that has the ports. The program's descriptor is a socket that is readable while the
 * channel has an event, so that poll(2), epoll(7) and fcntl(2) work on it.
 */
#ifndef PRELOAD_RDMACM_H
#define PRELOAD_RDMACM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "preload/sock/owner.h"

#define RDMACM_DEVICE "/dev/infiniband/rdma_cm"

/* --- file.c --- */

/* Whether there may be descriptors of the device: all that other descriptors cost. */
extern int file_any;
/* One of them had this number. */
bool file_maybe(int fd);
/* A descriptor of the device; -1 and errno; -2: there is no owner. flags: of open(2). */
int file_open(int flags);
enum file_kind {
	FILE_OTHER,
	FILE_OURS,
	FILE_PARENTS, /* the device as a process opened it whose child this one is */
};
/* A channel: its number with the owner, and which one of this process it is, as numbers are given again. */
struct file_channel {
	uint32_t number;
	uint64_t serial;
};
/* The channel of a descriptor, if it is FILE_OURS. */
enum file_kind file_of(int fd, struct file_channel *channel);
/* As close(2). */
int file_close(int fd);
/* to, which was no descriptor before, is a copy of fd now. */
void file_copied(int fd, int to);
/* As dup3(2); flags NULL: as dup2(2). */
int file_dup(int fd, int to, const int *flags);
/* As fstat(2) of the kernel's device. */
void file_stat(struct stat *st);
/* Asks the owner. 0 or a positive errno. */
int file_ask(struct share_msg *m);

/* --- command.c --- */
/* As write(2) to the kernel's device. */
ssize_t command_write(int fd, const struct file_channel *channel, const void *buf, size_t len);
/*
 * The same where another thread has closed the descriptor since the call began. A kernel has the file as long as the call lasts: who
 * waits for an event waits on, since none comes any more.
 */
ssize_t command_late(const void *buf, size_t len);

#endif /* PRELOAD_RDMACM_H */
