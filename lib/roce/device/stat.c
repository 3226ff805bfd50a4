/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* One counter of a port by its name. The names are the same whatever home the port has; some had others before. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/roce/port/provider.h"

#define NAME_MAX_LEN 64u

static const struct {
	const char *was, *is;
} renamed[] = {
	{"responder_remote_access_errors", "resp_access_errors"},
	{"uc_discarded", "resp_uc_dropped"},
	{"ud_discarded", "resp_ud_dropped"},
	{"cq_overruns", "cq_overflows"},
};

/* The name of today; buf is used when it is made. */
static const char *
name_of(const char *name, char buf[NAME_MAX_LEN])
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(renamed); i++)
		if (strcmp(name, renamed[i].was) == 0)
			return renamed[i].is;
	if (strncmp(name, "requester_", 10) == 0)
		snprintf(buf, NAME_MAX_LEN, "req_%s", name + 10);
	else if (strncmp(name, "responder_", 10) == 0)
		snprintf(buf, NAME_MAX_LEN, "resp_%s", name + 10);
	else
		return name;
	return buf;
}

struct wanted {
	const char *name;
	uint64_t value;
	bool found;
};

static void
look(void *arg, const char *name, uint64_t value)
{
	struct wanted *w = arg;

	if (strcmp(name, w->name) != 0)
		return;
	w->value = value;
	w->found = true;
}

int
tp_roce_stat(struct ibv_context *ctx, const char *name, uint64_t *value)
{
	char buf[NAME_MAX_LEN];
	struct wanted w = {.name = name_of(name, buf)};
	int err = tp_roce_stats(ctx, look, &w);

	if (err != 0)
		return err;
	*value = w.value;
	return w.found ? 0 : ENOENT;
}
