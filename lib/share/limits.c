/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* How much guests may have, and who may be one. */
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share_priv.h"

#define NUMBER_MAX 1048576u
#define NUMBER 65536u
#define GROUP_BUF 4096u

static const struct {
	const char *name, *key;
	uint64_t def, max;
} limits[TP_SHARE_LIMITS] = {
	[TP_SHARE_CONNECTIONS] = {"connections", "connections", 64, TP_SHARE_GUESTS},
	[TP_SHARE_OBJECTS] = {"objects", "objects", NUMBER, NUMBER_MAX},
	[TP_SHARE_QPS] = {"queue-pairs", "queue_pairs", NUMBER, NUMBER_MAX},
	[TP_SHARE_CQS] = {"completion-queues", "completion_queues", NUMBER, NUMBER_MAX},
	[TP_SHARE_SRQS] = {"shared-receive-queues", "shared_receive_queues", NUMBER, NUMBER_MAX},
	[TP_SHARE_REGIONS] = {"regions", "regions", NUMBER, NUMBER_MAX},
	[TP_SHARE_AHS] = {"addresses", "addresses", NUMBER, NUMBER_MAX},
	[TP_SHARE_QUEUE_BYTES] = {"queue-bytes", "queue_bytes", UINT64_C(256) << 20, UINT64_C(1) << 40},
	[TP_SHARE_REGION_BYTES] = {"region-bytes", "region_bytes", UINT64_C(64) << 30, UINT64_C(1) << 50},
};

const char *
tp_share_limit_name(unsigned int limit)
{
	return limit < TP_SHARE_LIMITS ? limits[limit].name : NULL;
}

const char *
share_limit_key(unsigned int limit)
{
	return limits[limit].key;
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

/* A group's number; -1 and errno. */
static int64_t
group_of(const char *name)
{
	char buf[GROUP_BUF], *end;
	struct group g, *found = NULL;
	unsigned long n = strtoul(name, &end, 10);
	int rc;

	if (end != name && *end == '\0' && n < UINT32_MAX)
		return (int64_t)n;
	rc = getgrnam_r(name, &g, buf, sizeof(buf), &found);
	if (found != NULL)
		return g.gr_gid;
	TROCE_LOG(ERR, "share: there is no group '%s'", name);
	errno = rc != 0 ? rc : ENOENT;
	return -1;
}

int
share_door(const char *path, const struct tp_share_conf *conf)
{
	int64_t group = conf->group == NULL ? getegid() : group_of(conf->group);

	if (group < 0)
		return -errno;
	if (chown(path, (uid_t)-1, (gid_t)group) == 0 && chmod(path, conf->mode == 0 ? TP_SHARE_MODE : conf->mode) == 0)
		return 0;
	return -errno;
}
