/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Shared ports in DPDK's telemetry. N: the number of the sharing, where there are several in this process.
 *   /triplane/share/list        numbers of the connections of all
 *   /triplane/share/info,ID     who that is, its device, what it has
 *   /triplane/share/stats[,N]   connections, calls, objects, memory; what limits refused
 *   /triplane/share/limits[,N]  the limits in force
 */
#include <errno.h>
#include <stdlib.h>

#include <rte_telemetry.h>

#include "lib/roce/port/tel_uint.h"

#include "share_priv.h"

static LIST_HEAD(, tp_share) shares = LIST_HEAD_INITIALIZER(shares);
static pthread_mutex_t shares_lock = PTHREAD_MUTEX_INITIALIZER;

void
share_tel_add(struct tp_share *h)
{
	pthread_mutex_lock(&shares_lock);
	LIST_INSERT_HEAD(&shares, h, tel);
	pthread_mutex_unlock(&shares_lock);
}

void
share_tel_del(struct tp_share *h)
{
	pthread_mutex_lock(&shares_lock);
	LIST_REMOVE(h, tel);
	pthread_mutex_unlock(&shares_lock);
}

void
share_tel_each(void (*fn)(const struct share_guest *s, void *arg), void *arg)
{
	struct share_guest *s;
	struct tp_share *h;

	pthread_mutex_lock(&shares_lock);
	LIST_FOREACH(h, &shares, tel)
	{
		pthread_mutex_lock(&h->lock);
		TAILQ_FOREACH(s, &h->guests, next)
		if (s->name[0] != '\0')
			fn(s, arg);
		pthread_mutex_unlock(&h->lock);
	}
	pthread_mutex_unlock(&shares_lock);
}

/* A number that a request names; false: it is none. */
static bool
number(const char *params, unsigned long *n)
{
	char *end;

	if (params == NULL)
		return false;
	*n = strtoul(params, &end, 10);
	return end != params && *end == '\0';
}

/* The list is locked. NULL: there is none. */
static struct tp_share *
sharing(const char *params)
{
	struct tp_share *h = LIST_FIRST(&shares);
	unsigned long n = 0;

	if (params != NULL && !number(params, &n))
		return NULL;
	for (; h != NULL && n > 0; n--)
		h = LIST_NEXT(h, tel);
	return h;
}

static void
tell_id(const struct share_guest *s, void *d)
{
	tel_array_uint(d, s->id);
}

static int
list(const char *cmd, const char *params, struct rte_tel_data *d)
{
	rte_tel_data_start_array(d, TEL_UINT);
	share_tel_each(tell_id, d);
	return 0;
}

static void
tell(const struct share_guest *s, struct rte_tel_data *d)
{
	rte_tel_data_add_dict_string(d, "device", s->name);
	tel_dict_uint(d, "pid", (uint64_t)s->pid);
	tel_dict_uint(d, "uid", (uint64_t)(unsigned int)s->uid);
	tel_dict_uint(d, "gid", (uint64_t)(unsigned int)s->gid);
	tel_dict_uint(d, "qps", s->count[SHARE_QP]);
	tel_dict_uint(d, "cqs", s->count[SHARE_CQ]);
	tel_dict_uint(d, "srqs", s->count[SHARE_SRQ]);
	tel_dict_uint(d, "mrs", s->count[SHARE_MR]);
	tel_dict_uint(d, "ahs", s->count[SHARE_AH]);
	tel_dict_uint(d, "pds", s->count[SHARE_PD]);
	tel_dict_uint(d, "mws", s->count[SHARE_MW]);
	tel_dict_uint(d, "channels", s->count[SHARE_CHANNEL]);
	tel_dict_uint(d, "ids", s->count[SHARE_ID]);
	tel_dict_uint(d, "listening", s->listening);
	tel_dict_uint(d, "ring_bytes", s->ring_bytes);
	tel_dict_uint(d, "region_bytes", s->region_bytes);
	tel_dict_uint(d, "calls", s->calls);
	tel_dict_uint(d, "failed", s->failed);
	tel_dict_uint(d, "calls_per_s", share_rate(s));
}

static int
info(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct share_guest *s;
	struct tp_share *h;
	unsigned long id;
	int rc = -ENOENT;

	if (!number(params, &id))
		return -EINVAL;
	rte_tel_data_start_dict(d);
	pthread_mutex_lock(&shares_lock);
	LIST_FOREACH(h, &shares, tel)
	{
		pthread_mutex_lock(&h->lock);
		TAILQ_FOREACH(s, &h->guests, next)
		{
			if (s->id != id || s->name[0] == '\0')
				continue;
			tell(s, d);
			rc = 0;
		}
		pthread_mutex_unlock(&h->lock);
	}
	pthread_mutex_unlock(&shares_lock);
	return rc;
}

/* A limit's name as telemetry wants it. */
static const char *
key(char name[RTE_TEL_MAX_STRING_LEN], const char *before, unsigned int limit)
{
	snprintf(name, RTE_TEL_MAX_STRING_LEN, "%s%s", before, tp_share_limit_name(limit));
	for (char *c = name; (c = strchr(c, '-')) != NULL;)
		*c = '_';
	return name;
}

static int
stats(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct tp_share_stats st;
	struct tp_share *h;

	rte_tel_data_start_dict(d);
	pthread_mutex_lock(&shares_lock);
	h = sharing(params);
	if (h != NULL)
		tp_share_stats_get(h, &st);
	pthread_mutex_unlock(&shares_lock);
	if (h == NULL)
		return -ENOENT;
	tel_dict_uint(d, "guests", st.guests);
	tel_dict_uint(d, "connected", st.connected);
	tel_dict_uint(d, "refused", st.refused);
	tel_dict_uint(d, "calls", st.calls);
	tel_dict_uint(d, "failed", st.failed);
	tel_dict_uint(d, "calls_per_s", st.calls_per_s);
	tel_dict_uint(d, "unsaid", st.unsaid);
	tel_dict_uint(d, "objects", st.objects);
	tel_dict_uint(d, "ring_bytes", st.ring_bytes);
	tel_dict_uint(d, "region_bytes", st.region_bytes);
	tel_dict_uint(d, "ids", st.ids);
	for (unsigned int i = 0; i < TP_SHARE_LIMITS; i++) {
		char name[RTE_TEL_MAX_STRING_LEN];

		tel_dict_uint(d, key(name, "limited_", i), st.limited[i]);
	}
	return 0;
}

static int
limits(const char *cmd, const char *params, struct rte_tel_data *d)
{
	const struct tp_share *h;

	rte_tel_data_start_dict(d);
	pthread_mutex_lock(&shares_lock);
	h = sharing(params);
	for (unsigned int i = 0; h != NULL && i < TP_SHARE_LIMITS; i++) {
		char name[RTE_TEL_MAX_STRING_LEN];

		tel_dict_uint(d, key(name, "", i), atomic_load(&h->limit[i]));
	}
	pthread_mutex_unlock(&shares_lock);
	return h == NULL ? -ENOENT : 0;
}

RTE_INIT(share_telemetry)
{
	rte_telemetry_register_cmd("/triplane/share/list", list, "Connections to shared ports. No parameters");
	rte_telemetry_register_cmd("/triplane/share/info", info, "One of them. Parameter: its number");
	rte_telemetry_register_cmd("/triplane/share/stats", stats,
				   "Counters of shared ports. Parameter: number of the sharing, 0 unless given");
	rte_telemetry_register_cmd("/triplane/share/limits", limits,
				   "Limits of connections. Parameter: number of the sharing, 0 unless given");
}
