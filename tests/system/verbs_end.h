/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What programs of libibverbs here share: a line for each case, devices by name, completions that come within a minute. */
#ifndef TESTS_SYSTEM_VERBS_END_H
#define TESTS_SYSTEM_VERBS_END_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <infiniband/verbs.h>

#define LIMIT_S 60

static int failed;

/* why NULL: all is well. */
static inline void
say(const char *name, const char *why)
{
	if (why == NULL)
		printf("ok %s\n", name);
	else
		printf("not ok %s: %s\n", name, why);
	failed += why != NULL;
}

static inline void
die(int err, const char *what)
{
	printf("not ok %s: %s\n", what, strerror(err));
	exit(1);
}

static inline void *
need(void *made, const char *what)
{
	if (made == NULL)
		die(errno, what);
	return made;
}

static inline void
done(int err, const char *what)
{
	if (err != 0)
		die(err, what);
}

static inline struct ibv_context *
open_device(const char *name)
{
	struct ibv_device **list = need(ibv_get_device_list(NULL), "list");
	struct ibv_context *ctx = NULL;

	for (unsigned int i = 0; list[i] != NULL; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return need(ctx, name);
}

/* A completion, whatever it says. */
static inline bool
completes(struct ibv_cq *cq, struct ibv_wc *wc)
{
	time_t end = time(NULL) + LIMIT_S;

	while (ibv_poll_cq(cq, 1, wc) == 0)
		if (time(NULL) > end)
			return false;
	return true;
}

#endif /* TESTS_SYSTEM_VERBS_END_H */
