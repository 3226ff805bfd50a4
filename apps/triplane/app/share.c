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
} on;

int
share_on(const char *path)
{
	const struct tp_share_conf conf = {.path = path};
	int rc = tp_share_start(&conf, &on.share);

	if (rc == 0) {
		(void)rte_strlcpy(on.path, path, sizeof(on.path));
		return 0;
	}
	return app_err(rc, "socket %s: %s", path,
		       rc == -EADDRINUSE     ? "another process serves that path; end it, or name another one"
		       : rc == -ENAMETOOLONG ? "want a path of at most 107 octets"
		       : rc == -EEXIST       ? "there is something that is no socket"
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
