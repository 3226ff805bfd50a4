/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "share.h"

#include <errno.h>
#include <string.h>

#include <rte_string_fns.h>

#include "apps/triplane/app/app.h"

static struct {
	struct tp_share *share;
	char path[108];
	struct tp_share_conf conf;
	char group[64];
} on = {.conf = {.mode = TP_SHARE_MODE}};

/* What is shared already changes with it; a value that is refused is not kept. */
static int
change(const struct tp_share_conf *to)
{
	int rc = on.share == NULL ? 0 : tp_share_change(on.share, to);

	if (rc == 0)
		on.conf = *to;
	return rc;
}

const struct tp_share_conf *
share_conf(void)
{
	return &on.conf;
}

uint64_t
share_limit_now(enum tp_share_limit limit)
{
	uint64_t def, max;

	tp_share_limit_range(limit, &def, &max);
	return on.conf.limit[limit] != 0 ? on.conf.limit[limit] : def;
}

int
share_set_limit(enum tp_share_limit limit, uint64_t value)
{
	struct tp_share_conf to = on.conf;

	to.limit[limit] = value;
	return change(&to);
}

int
share_set_mode(mode_t mode)
{
	struct tp_share_conf to = on.conf;

	to.mode = mode;
	return change(&to);
}

int
share_set_group(const char *group)
{
	struct tp_share_conf to = on.conf;
	int rc;

	to.group = group;
	rc = change(&to);
	if (rc != 0 || group == NULL)
		return rc;
	(void)rte_strlcpy(on.group, group, sizeof(on.group));
	on.conf.group = on.group;
	return 0;
}

int
share_on(const char *path)
{
	struct tp_share_conf conf = on.conf;
	int rc;

	conf.path = path;
	rc = tp_share_start(&conf, &on.share);
	if (rc == 0) {
		(void)rte_strlcpy(on.path, path, sizeof(on.path));
		return 0;
	}
	return app_err(rc, "socket %s: %s", path,
		       rc == -EADDRINUSE     ? "another process serves that path; end it, or name another one"
		       : rc == -ENAMETOOLONG ? "want a path of at most 107 octets"
		       : rc == -EEXIST       ? "there is something that is no socket"
		       : rc == -ENOENT       ? "its folder or its group is not there"
					     : strerror(-rc));
}

void
share_off(void)
{
	tp_share_stop(on.share);
	on.share = NULL;
}

const char *
share_path(void)
{
	return on.share != NULL ? on.path : "";
}

struct tp_share *
share_of(void)
{
	return on.share;
}
