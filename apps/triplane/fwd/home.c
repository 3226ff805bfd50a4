/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Groups of queues and the lcores that they want. While forwarding runs, a stream moves from one lcore to another: first the
 * lcores that lose streams take shorter lists, each between two rounds, then those that gain take longer ones. So no stream
 * is ever two lcores', and an lcore that neither loses nor gains one notices nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/triplane/port/group.h"
#include "apps/triplane/port/kernel.h"
#include "fwd.h"
#include "rte_pmd_mlx4_group.h"

/* Between two looks at an lcore that is to take a list: a round, or the rest of a sleep (wait.c). */
#define LOOK_US 50u

static void
want(struct fwd *fwd, uint16_t port, const struct tp_group *g)
{
	unsigned int i, k;

	for (i = 0; i < fwd->num_streams && g->lcore >= 0; i++) {
		struct fwd_stream *s = &fwd->stream[i];

		for (k = 0; k < g->num_queues && !s->mode->control && s->rx_port == port; k++)
			if (g->queue[k] == s->rx_queue)
				s->wanted = (uint32_t)g->lcore + 1;
	}
}

void
fwd_groups_want(struct fwd *fwd, uint16_t port, const struct tp_group *instead)
{
	struct tp_group g;
	unsigned int i;

	for (i = 0; i < fwd->num_streams; i++)
		if (fwd->stream[i].rx_port == port)
			fwd->stream[i].wanted = 0;
	for (i = 0; rte_pmd_mlx4_group_get(port, i, &g) == 0; i++)
		if (instead == NULL || strcmp(g.name, instead->name) != 0)
			want(fwd, port, &g);
	if (instead != NULL)
		want(fwd, port, instead);
}

/* Where the lcore is in the list of those that forward, or -EINVAL with a line in err. */
static int
place(const struct app *app, int lcore, char err[TP_ERR_LEN])
{
	unsigned int i = fwd_place((uint32_t)lcore, app->cores, app->num_cores), len;

	if (i < app->num_cores)
		return (int)i;
	len = (unsigned int)snprintf(err, TP_ERR_LEN, "lcore: %d, want any or one that forwards:", lcore);
	for (i = 0; i < app->num_cores && len < TP_ERR_LEN; i++)
		len += (unsigned int)snprintf(err + len, TP_ERR_LEN - len, " %u", app->cores[i]);
	return -EINVAL;
}

/*
 * home[i]: the place of the lcore that stream i is to have. Those whose group wants none stay. 0, or a negative errno with
 * a line in err.
 */
static int
homes(const struct app *app, const struct fwd *fwd, unsigned int *home, char err[TP_ERR_LEN])
{
	unsigned int *joins = calloc(fwd->num_streams, sizeof(*joins)), i, first;
	int wanted, ret = 0;

	if (joins == NULL) {
		snprintf(err, TP_ERR_LEN, "no memory for %u streams", fwd->num_streams);
		return -ENOMEM;
	}
	fwd_join(fwd, joins);
	for (i = 0; i < fwd->num_streams && ret >= 0; i++) {
		home[i] = fwd->stream[i].lcore;
		first = fwd_first_of(joins, i);
		wanted = fwd_wanted(fwd, joins, first, err);
		ret = wanted > 0 ? place(app, wanted - 1, err) : wanted;
		if (wanted > 0 && ret >= 0)
			home[i] = (unsigned int)ret;
		if (ret >= 0 && fwd->catcher == &fwd->lcore[home[i]] && home[i] != fwd->stream[i].lcore) {
			snprintf(err, TP_ERR_LEN, "lcore: %d empties rings into reserves (burst-buffer); want another",
				 wanted - 1);
			ret = -EINVAL;
		}
	}
	free(joins);
	return ret < 0 ? ret : 0;
}

int
fwd_group_check(struct app *app, uint16_t port, const struct tp_group *g, char err[TP_ERR_LEN])
{
	unsigned int *home;
	int ret;

	if (g->lcore >= 0 && place(app, g->lcore, err) < 0)
		return -EINVAL;
	if (!app->fwd_runs)
		return 0;
	home = calloc(app->fwd->num_streams, sizeof(*home));
	if (home == NULL) {
		snprintf(err, TP_ERR_LEN, "no memory for %u streams", app->fwd->num_streams);
		return -ENOMEM;
	}
	fwd_groups_want(app->fwd, port, g);
	ret = homes(app, app->fwd, home, err);
	fwd_groups_want(app->fwd, port, NULL);
	free(home);
	return ret;
}

/* --- moving -------------------------------------------------------------------------------------------------------- */

struct move {
	struct fwd *fwd;
	unsigned int *home;
	struct fwd_stream **list[RTE_MAX_LCORE]; /* of lcores that lose or gain, one list for each time */
	struct fwd_stream **more[RTE_MAX_LCORE];
};

/* The streams that an lcore has, of those that it had; all: those that it is to have. */
static unsigned int
fill(const struct move *m, struct fwd_stream **list, unsigned int lcore, bool all)
{
	unsigned int i, n = 0;

	for (i = 0; i < m->fwd->num_streams; i++)
		if (m->home[i] == lcore && (all || m->fwd->stream[i].lcore == lcore))
			list[n++] = &m->fwd->stream[i];
	return n;
}

/* An lcore takes a list, which is its own from then on; without streams it does not run. 0, or a negative errno, which was said. */
static int
give_list(struct fwd *fwd, struct fwd_lcore *lc, struct fwd_stream **list, unsigned int n)
{
	struct fwd_stream **old = lc->stream;

	if (lc->num == 0 || n == 0) {
		if (lc->num != 0)
			fwd_lcore_stop(lc);
		lc->stream = list;
		lc->num = n;
		free(old);
		return n != 0 ? fwd_lcore_start(fwd, lc) : 0;
	}
	lc->next = list;
	lc->next_num = n;
	__atomic_store_n(&lc->lists_given, lc->lists_given + 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&lc->lists_taken, __ATOMIC_ACQUIRE) != lc->lists_given) {
		fwd_lcore_look(lc);
		usleep(LOOK_US);
	}
	free(old);
	return 0;
}

static void
move_free(struct move *m)
{
	unsigned int i;

	for (i = 0; i < RTE_MAX_LCORE; i++) {
		free(m->list[i]);
		free(m->more[i]);
	}
	free(m->home);
	free(m);
}

/* All memory before the first step: what begins comes to its end. */
static struct move *
move_new(struct fwd *fwd)
{
	struct move *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return NULL;
	m->fwd = fwd;
	m->home = calloc(fwd->num_streams, sizeof(m->home[0]));
	if (m->home != NULL)
		return m;
	free(m);
	return NULL;
}

static int
move_lists(struct move *m)
{
	struct fwd *fwd = m->fwd;
	unsigned int i;

	for (i = 0; i < fwd->num_streams; i++) {
		const unsigned int from = fwd->stream[i].lcore, to = m->home[i];

		if (from == to)
			continue;
		if (m->list[from] == NULL)
			m->list[from] = calloc(fwd->num_streams, sizeof(*m->list[from]));
		if (m->more[to] == NULL)
			m->more[to] = calloc(fwd->num_streams, sizeof(*m->more[to]));
		if (m->list[from] == NULL || m->more[to] == NULL)
			return -ENOMEM;
	}
	return 0;
}

static int
move_streams(struct app *app, struct move *m)
{
	struct fwd *fwd = m->fwd;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < app->num_cores; i++) {
		if (m->list[i] == NULL)
			continue;
		ret = give_list(fwd, &fwd->lcore[i], m->list[i], fill(m, m->list[i], i, false));
		m->list[i] = NULL;
	}
	for (i = 0; i < fwd->num_streams; i++)
		fwd->stream[i].lcore = m->home[i];
	for (i = 0; i < app->num_cores && ret == 0; i++) {
		if (m->more[i] == NULL)
			continue;
		fwd->lcore[i].id = app->cores[i];
		fwd->num_lcores = RTE_MAX(fwd->num_lcores, i + 1);
		ret = give_list(fwd, &fwd->lcore[i], m->more[i], fill(m, m->more[i], i, true));
		m->more[i] = NULL;
	}
	return ret;
}

int
fwd_group_settle(struct app *app, uint16_t port)
{
	char err[TP_ERR_LEN] = "";
	struct move *m;
	int ret;

	group_settle(app, port);
	kernel_groups(&app->port[port]);
	if (!app->fwd_runs)
		return 0;
	m = move_new(app->fwd);
	if (m == NULL)
		return app_err(-ENOMEM, "no memory to move %u streams", app->fwd->num_streams);
	fwd_groups_want(app->fwd, port, NULL);
	ret = homes(app, app->fwd, m->home, err);
	if (ret == 0)
		ret = move_lists(m);
	if (ret != 0)
		app_err_line("port %u: queues stay with their lcores: %s", port, err[0] != '\0' ? err : "no memory");
	pthread_mutex_lock(&app->fwd_lock);
	if (ret == 0)
		ret = move_streams(app, m);
	pthread_mutex_unlock(&app->fwd_lock);
	move_free(m);
	return ret;
}
