/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* How much guests may have, and who may be one. */
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share_priv.h"

#define NUMBER_MAX 1048576u
#define NUMBER 65536u
#define GROUP_BUF 4096u
#define FDS_SPARE 64u /* descriptors that guests leave to the process */

static const struct {
	const char *name;
	uint64_t def, max;
} limits[TP_SHARE_LIMITS] = {
	[TP_SHARE_CONNECTIONS] = {"connections", 64, TP_SHARE_GUESTS},
	[TP_SHARE_OBJECTS] = {"objects", NUMBER, NUMBER_MAX},
	[TP_SHARE_QPS] = {"queue-pairs", NUMBER, NUMBER_MAX},
	[TP_SHARE_CQS] = {"completion-queues", NUMBER, NUMBER_MAX},
	[TP_SHARE_SRQS] = {"shared-receive-queues", NUMBER, NUMBER_MAX},
	[TP_SHARE_REGIONS] = {"regions", NUMBER, NUMBER_MAX},
	[TP_SHARE_AHS] = {"addresses", NUMBER, NUMBER_MAX},
	[TP_SHARE_QUEUE_BYTES] = {"queue-bytes", UINT64_C(256) << 20, UINT64_C(1) << 40},
	[TP_SHARE_REGION_BYTES] = {"region-bytes", UINT64_C(64) << 30, UINT64_C(1) << 50},
};

const char *
tp_share_limit_name(unsigned int limit)
{
	return limit < TP_SHARE_LIMITS ? limits[limit].name : NULL;
}

void
tp_share_limit_range(enum tp_share_limit limit, uint64_t *def, uint64_t *max)
{
	*def = limits[limit].def;
	*max = limits[limit].max;
}

int
share_limits_check(struct tp_share_conf *conf)
{
	for (unsigned int i = 0; i < TP_SHARE_LIMITS; i++) {
		if (conf->limit[i] == 0)
			conf->limit[i] = limits[i].def;
		if (conf->limit[i] <= limits[i].max)
			continue;
		TROCE_LOG(ERR, "share: %s: %" PRIu64 " is not in 1..%" PRIu64, limits[i].name, conf->limit[i],
			  limits[i].max);
		return -EINVAL;
	}
	if ((conf->mode & ~(mode_t)0777) == 0)
		return 0;
	TROCE_LOG(ERR, "share: mode 0%o is not in 0..0777", conf->mode);
	return -EINVAL;
}

void
share_limits_set(struct tp_share *h, const struct tp_share_conf *conf)
{
	for (unsigned int i = 0; i < TP_SHARE_LIMITS; i++)
		atomic_store(&h->limit[i], conf->limit[i]);
}

int
share_limit(struct share_guest *s, enum tp_share_limit limit, uint64_t have, uint64_t more)
{
	uint64_t most = atomic_load(&s->share->limit[limit]);

	if (more <= most && have <= most - more)
		return 0;
	atomic_fetch_add(&s->share->limited[limit], 1);
	TROCE_LOG(ERR,
		  "%s: process %d of user %d has %" PRIu64 " %s, and %" PRIu64 " more are over the limit of %" PRIu64,
		  s->name, s->pid, s->uid, have, limits[limit].name, more, most);
	return ENOMEM;
}

int
share_fd_room(const struct share_guest *s, int fd)
{
	struct rlimit most;

	/* A new descriptor has the lowest number that is free. */
	if (getrlimit(RLIMIT_NOFILE, &most) != 0 || (rlim_t)fd + FDS_SPARE < most.rlim_cur)
		return 0;
	TROCE_LOG(
		ERR,
		"share: process %d of user %d gets no descriptor: %d is not %u below the limit of open files, %" PRIu64
		"; ulimit -n",
		s->pid, s->uid, fd, FDS_SPARE, (uint64_t)most.rlim_cur);
	return EMFILE;
}

/* A group's number; -1 and errno. */
static int64_t
group_of(const char *name)
{
	struct group g, *found = NULL;
	char *buf = NULL, *end, *more;
	unsigned long n = strtoul(name, &end, 10);
	int64_t gid = -1;
	int rc = ERANGE;

	if (end != name && *end == '\0' && n < UINT32_MAX)
		return (int64_t)n;
	/* A group of many members needs much room. */
	for (size_t len = GROUP_BUF; rc == ERANGE; len *= 2) {
		more = realloc(buf, len);
		if (more == NULL) {
			rc = ENOMEM;
			break;
		}
		buf = more;
		rc = getgrnam_r(name, &g, buf, len, &found);
	}
	if (found != NULL)
		gid = g.gr_gid;
	else if (rc != 0)
		TROCE_LOG(ERR, "share: group '%s' cannot be looked up: %s", name, strerror(rc));
	else
		TROCE_LOG(ERR, "share: there is no group '%s'", name);
	free(buf);
	errno = rc != 0 ? rc : ENOENT;
	return gid;
}

int
share_door(struct tp_share *h, const struct tp_share_conf *conf)
{
	int64_t group = conf->group == NULL ? getegid() : group_of(conf->group);
	const char *path = h->addr.sun_path;

	if (group < 0)
		return -errno;
	/* Neither the old group nor the new one has the other's rights for a moment. */
	if (chmod(path, TP_SHARE_MODE) != 0 || chown(path, (uid_t)-1, (gid_t)group) != 0 ||
	    chmod(path, conf->mode == 0 ? TP_SHARE_MODE : conf->mode) != 0)
		return -errno;
	h->group = conf->group == NULL ? -1 : group;
	return 0;
}
