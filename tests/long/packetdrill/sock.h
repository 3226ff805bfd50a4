/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A socket of a script, and what its calls share. */
#ifndef LONG_PACKETDRILL_SOCK_H
#define LONG_PACKETDRILL_SOCK_H

#include <netinet/in.h>

#include "drill.h"

#define PRESETS 16u

enum state { NONE, NEW, LISTENS, CONNECTS, CONNECTED };

struct sock {
	enum state state;
	struct tcp_conn *c, *ready; /* ready: of a listener, taken from it already */
	struct tcp_addr local;
	bool nonblock;
	struct linger linger;
	/* Options that were set before there was a connection; the congestion control, -1: the stack's. */
	struct {
		int level, name, value;
	} preset[PRESETS];
	unsigned int num_presets;
	int cc;
	int err; /* that was not told yet */
};

/* --- calls.c --- */
/* NULL: the number stands for nothing here. */
struct sock *drill_sock(int fd);
/* As libc tells it. */
ssize_t drill_told(ssize_t rc);
/* POLLIN and others, as Linux's tcp_poll(). */
short drill_ready(struct sock *s);
/* It connects and is not there yet. */
bool drill_opens(const struct sock *s);
/* Waits for one of these events as a call that blocks does: 0; -EAGAIN: it may not. */
int drill_await(struct sock *s, short events, int flags);

/* --- io.c, opt.c --- */
void io_fill(struct packetdrill_interface *ifc);
void opt_fill(struct packetdrill_interface *ifc);
/* Sets what was set before there was a connection. */
void opt_presets(struct sock *s);

#endif /* LONG_PACKETDRILL_SOCK_H */
