/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A client of DPDK's telemetry, version 2 of its protocol: a question and an answer of JSON a packet, on a Unix socket. */
#ifndef METRICS_TEL_H
#define METRICS_TEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "json.h"

#define TEL_VERSION 64u

struct tel {
	int fd;
	uint64_t until; /* of tel_now(): nothing waits longer */
	pid_t pid;      /* who answers */
	bool here;      /* and the kernel knows it by that number */
	char version[TEL_VERSION];
	char *buf;
	size_t room;
	struct mj_doc doc; /* of the last answer */
};

/* Time of a clock that only goes on, in ns. */
uint64_t tel_now(void);

/*
 * 0, or a negative errno: -ECONNREFUSED and -ENOENT: nobody is there; -ETIMEDOUT; -EPROTO: it does not greet as DPDK does.
 * After 0 tel_close() is due.
 */
int tel_open(struct tel *t, const char *path, uint64_t until);
void tel_close(struct tel *t);

/*
 * What it answers to "/command" or "/command,parameters", until the next question. NULL with a negative errno in *err: -ENODATA
 * means that it has no such page or nothing to say.
 */
const struct mj *tel_ask(struct tel *t, int *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif /* METRICS_TEL_H */
