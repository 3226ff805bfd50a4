/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The client's end of a vfio-user socket: one request at a time, each answered within a few seconds or the connection
 * is given up. A connection that was given up answers every call with -EIO at once, so that nothing waits for a card
 * that is gone. Calls may come from any thread.
 */
#ifndef MLX4_BUS_USER_SOCK_H
#define MLX4_BUS_USER_SOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vfio_user.h"

struct user_sock {
	int fd;
	pthread_mutex_t lock;
	uint16_t next_id;
	bool dead;
	const char *path; /* for messages */
};

/* What goes with a request and what comes back. */
struct user_msg {
	const void *head; /* fixed part of the payload ... */
	size_t head_len;
	const void *data; /* ... and what follows it */
	size_t data_len;
	const int *fds;
	unsigned int num_fds;
	void *reply;
	size_t reply_len; /* in: room, out: bytes of payload */
	int reply_fd;     /* -1: none came */
};

/* Connects and agrees on the protocol; negative errno after one line that says why. */
int mlx4_user_sock_open(struct user_sock *s, const char *path);
void mlx4_user_sock_close(struct user_sock *s);
/* 0, what the other end refused with, or -EIO when there is no other end any more. */
int mlx4_user_sock_call(struct user_sock *s, enum vfu_command cmd, struct user_msg *m);

/* The common requests. */
int mlx4_user_sock_read(struct user_sock *s, uint32_t region, uint64_t off, void *buf, uint32_t len);
int mlx4_user_sock_write(struct user_sock *s, uint32_t region, uint64_t off, const void *buf, uint32_t len);

#endif /* MLX4_BUS_USER_SOCK_H */
