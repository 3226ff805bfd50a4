/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Destinations: one request for each, however many wait for it, and its answer for those who come later. */
#include "sa_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

static unsigned int
bucket(const union ibv_gid *gid)
{
	return (gid->raw[15] + gid->raw[14] * 31u + gid->raw[13] * 7u + gid->raw[10]) % SA_BUCKETS;
}

static struct sa_dest *
find(struct tp_sa *sa, const union ibv_gid *dgid, uint16_t pkey)
{
	struct sa_dest *d;

	LIST_FOREACH(d, &sa->dests[bucket(dgid)], next)
	{
		if (!d->stale && d->pkey == pkey && memcmp(&d->path.dgid, dgid, sizeof(*dgid)) == 0)
			return d;
	}
	return NULL;
}

static void
dest_free(struct tp_sa *sa, struct sa_dest *d)
{
	LIST_REMOVE(d, next);
	sa->stats.paths--;
	free(d);
}

/* Nobody waits for it any more. */
static void
drop_stale(struct tp_sa *sa, struct sa_dest *d)
{
	if (d->stale && STAILQ_EMPTY(&d->waiters))
		dest_free(sa, d);
}

/* Tells those who wait. They may ask again at once, or give up what others of them wait for. */
static void
tell(struct tp_sa *sa, struct sa_telling *t, int status, const struct tp_sa_path *path)
{
	t->outer = sa->telling;
	sa->telling = t;
	while (!STAILQ_EMPTY(&t->waiters)) {
		struct sa_waiter *first = STAILQ_FIRST(&t->waiters), one = *first;

		STAILQ_REMOVE_HEAD(&t->waiters, next);
		sa->stats.waiting--;
		free(first);
		one.cb(one.arg, status, path);
	}
	sa->telling = t->outer;
}

void
sa_dest_answer(struct tp_sa *sa, struct sa_dest *d, int status, const struct tp_sa_path *path)
{
	struct sa_telling t = {.waiters = STAILQ_HEAD_INITIALIZER(t.waiters)};

	STAILQ_CONCAT(&t.waiters, &d->waiters);
	if (status == 0) {
		d->path = *path;
		d->known = true;
	} else {
		dest_free(sa, d);
	}
	tell(sa, &t, status, path);
}

/* One turn for those who wait now: who is told may ask again. */
void
sa_tell_known(struct tp_sa *sa)
{
	unsigned int budget = sa->told_later;

	for (unsigned int i = 0; i < SA_BUCKETS && budget != 0; i++) {
		struct sa_dest *d;

		LIST_FOREACH(d, &sa->dests[i], next)
		{
			struct sa_telling t = {.waiters = STAILQ_HEAD_INITIALIZER(t.waiters)};
			struct sa_waiter *w = STAILQ_FIRST(&d->waiters);
			struct tp_sa_path path = d->path;

			if (!d->known || w == NULL)
				continue;
			STAILQ_REMOVE_HEAD(&d->waiters, next);
			STAILQ_INSERT_TAIL(&t.waiters, w, next);
			sa->told_later--;
			budget--;
			drop_stale(sa, d);
			tell(sa, &t, 0, &path);
			/* The destinations may be others now. */
			i = UINT_MAX;
			break;
		}
	}
	if (sa->told_later != 0)
		tp_mad_wake(sa->agent);
}

void
sa_path_want(struct tp_sa *sa, struct sa_request *r)
{
	struct tp_sa_path want = {.dgid = r->dest->path.dgid, .pkey = r->dest->pkey, .reversible = true};
	struct tp_mad_port_state port;

	tp_mad_port_state_get(sa->mad, &port);
	want.sgid = port.gid;
	sa_path_put(&want, 1, r->record);
	r->mask = SA_PATH_DGID | SA_PATH_SGID | SA_PATH_REVERSIBLE | SA_PATH_NUM | SA_PATH_PKEY;
}

static int
ask(struct tp_sa *sa, struct sa_dest *d)
{
	struct sa_request r = {.kind = SA_PATH, .method = MAD_GET, .attr = SA_ATTR_PATH, .dest = d};

	sa_path_want(sa, &r);
	return sa_add(sa, &r);
}

/* What is remembered and nobody waits for makes room: it can be asked for again. */
static bool
make_room(struct tp_sa *sa)
{
	for (unsigned int i = 0; sa->stats.paths >= TP_SA_PATHS && i < SA_BUCKETS; i++) {
		struct sa_dest *d;

		LIST_FOREACH(d, &sa->dests[sa->room_at++ % SA_BUCKETS], next)
		{
			if (!d->known || !STAILQ_EMPTY(&d->waiters))
				continue;
			dest_free(sa, d);
			break;
		}
	}
	return sa->stats.paths < TP_SA_PATHS;
}

static int
dest_new(struct tp_sa *sa, const union ibv_gid *dgid, uint16_t pkey, struct sa_dest **out)
{
	struct sa_dest *d;
	int err;

	if (!make_room(sa))
		return -ENOBUFS;
	d = calloc(1, sizeof(*d));
	if (d == NULL)
		return -ENOMEM;
	STAILQ_INIT(&d->waiters);
	d->path.dgid = *dgid;
	d->pkey = pkey;
	LIST_INSERT_HEAD(&sa->dests[bucket(dgid)], d, next);
	sa->stats.paths++;
	err = ask(sa, d);
	if (err != 0)
		dest_free(sa, d);
	*out = d;
	return err;
}

static int
path(struct tp_sa *sa, const union ibv_gid *dgid, uint16_t pkey, const struct sa_waiter *who)
{
	struct sa_dest *d = find(sa, dgid, pkey);
	struct sa_waiter *w;
	int err = sa_ready(sa);

	if (err != 0)
		return err;
	w = malloc(sizeof(*w));
	if (w == NULL)
		return -ENOMEM;
	*w = *who;
	if (d == NULL) {
		err = dest_new(sa, dgid, pkey, &d);
		if (err != 0) {
			free(w);
			return err;
		}
	} else if (d->known) {
		sa->stats.cache_hits++;
		sa->told_later++;
		tp_mad_wake(sa->agent);
	} else {
		sa->stats.waited++;
	}
	STAILQ_INSERT_TAIL(&d->waiters, w, next);
	sa->stats.waiting++;
	return 0;
}

int
tp_sa_path(struct tp_sa *sa, const union ibv_gid *dgid, uint16_t pkey, tp_sa_path_cb cb, void *arg)
{
	const struct sa_waiter who = {.cb = cb, .arg = arg};
	int err;

	tp_mad_lock(sa->mad);
	err = path(sa, dgid, pkey, &who);
	tp_mad_unlock(sa->mad);
	return err;
}

bool
tp_sa_path_cached(struct tp_sa *sa, const union ibv_gid *dgid, uint16_t pkey, struct tp_sa_path *out)
{
	struct sa_dest *d;
	bool known;

	tp_mad_lock(sa->mad);
	d = find(sa, dgid, pkey);
	known = d != NULL && d->known;
	if (known)
		*out = d->path;
	tp_mad_unlock(sa->mad);
	return known;
}

void
sa_forget_known(struct tp_sa *sa, const union ibv_gid *dgid)
{
	for (unsigned int i = 0; i < SA_BUCKETS; i++) {
		struct sa_dest *d = LIST_FIRST(&sa->dests[i]);

		while (d != NULL) {
			struct sa_dest *after = LIST_NEXT(d, next);

			/* Who waits for what was known is told it still: it was true when asked. */
			if (d->known && (dgid == NULL || memcmp(&d->path.dgid, dgid, sizeof(*dgid)) == 0)) {
				d->stale = true;
				drop_stale(sa, d);
			}
			d = after;
		}
	}
}

void
tp_sa_forget(struct tp_sa *sa, const union ibv_gid *dgid)
{
	tp_mad_lock(sa->mad);
	sa_forget_known(sa, dgid);
	tp_mad_unlock(sa->mad);
}

static unsigned int
waiters_cancel(struct tp_sa *sa, struct sa_waiters *waiters, const void *arg)
{
	struct sa_waiter *w = STAILQ_FIRST(waiters);
	unsigned int n = 0;

	while (w != NULL) {
		struct sa_waiter *after = STAILQ_NEXT(w, next);

		if (w->arg == arg) {
			STAILQ_REMOVE(waiters, w, sa_waiter, next);
			free(w);
			sa->stats.waiting--;
			n++;
		}
		w = after;
	}
	return n;
}

unsigned int
sa_path_cancel(struct tp_sa *sa, const void *arg)
{
	unsigned int n = 0;

	for (struct sa_telling *t = sa->telling; t != NULL; t = t->outer)
		n += waiters_cancel(sa, &t->waiters, arg);
	for (unsigned int i = 0; i < SA_BUCKETS; i++) {
		struct sa_dest *d = LIST_FIRST(&sa->dests[i]);

		while (d != NULL) {
			struct sa_dest *after = LIST_NEXT(d, next);
			unsigned int gone = waiters_cancel(sa, &d->waiters, arg);

			sa->told_later -= d->known ? gone : 0;
			n += gone;
			drop_stale(sa, d);
			d = after;
		}
	}
	return n;
}
