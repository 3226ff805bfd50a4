/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* triplane-run: who shares ports, and a program that is to find them. */
#ifndef RUN_H
#define RUN_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/share/proto.h"

#define RUN_PATH 4096u
#define RUN_SOCKET 108u /* octets of a socket's name with its end */
#define RUN_ADDRS 16u   /* --addr */
#define RUN_VDEVS 8u    /* --vdev */
#define RUN_DEVICES 64u /* of one who shares */
#define RUN_EXIT 1      /* what every refusal exits with */

/* What to start an owner of one's own with. */
struct run_owner {
	const char *vdev[RUN_VDEVS]; /* "--vdev=ARGS" of triplane */
	unsigned int num_vdevs;
	const char *addr[RUN_ADDRS]; /* the first of the first port, and so on */
	unsigned int num_addrs;
};

/* An owner that runs, by the process that looks after it. */
struct run_kept {
	pid_t keeper;
	int fd; /* it ends when this end is closed, by whatever end of this process */
	char socket[RUN_SOCKET];
};

/* --- say.c --- */
/* A line on stderr. RUN_EXIT. */
int run_refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The first of these places, which are relative to this program's folder, where there is something. 0 or RUN_EXIT, said. */
int run_find(const char *what, const char *const places[], unsigned int n, char path[RUN_PATH]);

/* --- ask.c --- */
/* To who shares there; -1: cannot, said. */
int run_call(const char *at);
/* The device at a place in the list. 0, ENOENT: there is none; another errno, said. */
int run_hello(int fd, const char *at, uint32_t index, struct share_hello *h);
/* One question; what comes with the answer is closed. 0 or errno. */
int run_ask(int fd, enum share_op op, struct share_msg *m);
/* Until the ports of so many devices are up, at most that many ms: a port may have no cable. 0, or RUN_EXIT: one went, said. */
int run_wait_active(const char *at, unsigned int num, unsigned int ms);

/* --- owner.c --- */
/* An address as 192.0.2.1/24 or fd00::1/64. */
bool run_addr(const char *text);
/* Starts one and waits until it shares. 0 or RUN_EXIT, said. */
int run_owner_start(const struct run_owner *conf, struct run_kept *kept);
/* Ends it and removes what it had. 0, or RUN_EXIT: it did not end in order, or had before, said. */
int run_owner_end(struct run_kept *kept);

/* --- program.c --- */
/* Runs start() in a child, which never returns, until that ends. The exit code; 128 and the signal that ended it. */
int run_program(void (*start)(void *), void *arg);

/* --- view.c, tree.c --- */
/*
 * This process and its children see the devices of who shares there in sysfs and /dev. When that cannot be and is not needed, it
 * is said, unless quiet, and nothing has changed. 0 or RUN_EXIT, said.
 */
int run_view(const char *at, bool need, bool quiet);
/* Puts the devices into folders that are there for them. 0 or errno. */
int run_tree(const char *at);
/* The folder of a device's port there; -1 and errno. */
int run_tree_port(const char *name);
/* Writes what a device of the owner's has counted below the folder of its port. 0 or errno. */
int run_tree_counters(int fd, const char *owner, int port);

/* --- live.c --- */
/* Counters of the view follow the owner's as long as this process lives, whatever program it becomes. 0 or errno. */
int run_live(const char *at);

#endif /* RUN_H */
