/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The client of subnet administration: sa.c (requests under way and their answers) and sa_path.c (destinations and who waits
 * for them).
 */
#ifndef MAD_SA_SA_PRIV_H
#define MAD_SA_SA_PRIV_H

#include <sys/queue.h>

#include "lib/mad/agent/mad_fmt.h"
#include "sa_record.h"
#include "tp_mad.h"
#include "tp_sa.h"

#define SA_BUCKETS 256u

enum sa_kind { SA_PATH, SA_MEMBER, SA_ANY };

/* Who waits for a path. */
struct sa_waiter {
	STAILQ_ENTRY(sa_waiter) next;
	tp_sa_path_cb cb;
	void *arg;
};
STAILQ_HEAD(sa_waiters, sa_waiter);

/* Those who are being told: one of them may take back what another one waits for. */
struct sa_telling {
	struct sa_telling *outer; /* a callback may tell others */
	struct sa_waiters waiters;
};

/* A destination: known, or asked for. */
struct sa_dest {
	LIST_ENTRY(sa_dest) next;
	struct tp_sa_path path;
	uint16_t pkey;
	bool known;
	bool stale; /* known, but no more than to those who wait for it */
	struct sa_waiters waiters;
};

struct sa_request {
	TAILQ_ENTRY(sa_request) next;
	enum sa_kind kind;
	bool under_way;
	uint32_t tid;
	uint8_t method;
	uint16_t attr;
	uint64_t mask;
	uint8_t record[SA_RECORD_LEN];
	struct sa_dest *dest; /* of SA_PATH */
	tp_sa_member_cb member;
	tp_sa_records_cb records;
	void *arg;
};

struct tp_sa {
	struct tp_mad *mad;
	struct tp_mad_agent *agent;
	struct tp_sa_conf conf;
	LIST_HEAD(, sa_dest) dests[SA_BUCKETS];
	struct sa_telling *telling;
	unsigned int room_at;    /* the bucket that gives up a destination next */
	unsigned int told_later; /* known destinations that somebody waits for */
	TAILQ_HEAD(, sa_request) requests;
	uint32_t tid, under_way;
	bool closing;
	struct tp_sa_stats stats;
};

/* --- sa.c --- */
/* 0, -ENETUNREACH, -ENOBUFS: whether anybody may ask now. */
int sa_ready(struct tp_sa *sa);
int sa_add(struct tp_sa *sa, const struct sa_request *what);
void sa_drop(struct tp_sa *sa, struct sa_request *r);

/* --- sa_path.c --- */
void sa_dest_answer(struct tp_sa *sa, struct sa_dest *d, int status, const struct tp_sa_path *path);
void sa_tell_known(struct tp_sa *sa);
/* Forgets what is known and nobody waits for. */
void sa_forget_known(struct tp_sa *sa, const union ibv_gid *dgid);
/* What a path that is asked for names; anew when the port's GID may have changed. */
void sa_path_want(struct tp_sa *sa, struct sa_request *r);
unsigned int sa_path_cancel(struct tp_sa *sa, const void *arg);

#endif /* MAD_SA_SA_PRIV_H */
