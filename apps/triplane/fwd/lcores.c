/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <rte_cycles.h>

#include "fwd.h"
#include "lcores.h"
#include "lib/roce/port/tel_uint.h"

#define US_S 1e6

/* Telemetry's functions have no argument of their own. */
static struct app *telemetry_app;

static int
list(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct app *app = telemetry_app;
	unsigned int i;

	(void)cmd, (void)params;
	rte_tel_data_start_array(d, TEL_UINT);
	pthread_mutex_lock(&app->fwd_lock);
	for (i = 0; app->fwd != NULL && i < app->fwd->num_lcores; i++)
		if (app->fwd->lcore[i].num != 0)
			tel_array_uint(d, app->fwd->lcore[i].id);
	pthread_mutex_unlock(&app->fwd_lock);
	return 0;
}

static uint64_t
us(uint64_t cycles)
{
	return (uint64_t)((double)cycles / (double)rte_get_tsc_hz() * US_S);
}

/* By the streams and not by the lists of lcores, which are made anew while forwarding runs. */
static void
tell(const struct fwd *fwd, unsigned int index, struct rte_tel_data *d)
{
	uint64_t rx = 0, tx = 0, drop = 0, busy = 0, idle = 0;
	const struct fwd_lcore *lc = &fwd->lcore[index];
	unsigned int i;

	for (i = 0; i < fwd->num_streams; i++) {
		const struct fwd_stream *s = &fwd->stream[i];

		if (s->lcore != index)
			continue;
		busy += stat_read(&s->stats.cycles);
		idle += stat_read(&s->stats.idle_cycles);
		if (s->mode->control)
			continue;
		rx += stat_read(&s->stats.rx);
		tx += stat_read(&s->stats.tx);
		drop += stat_read(&s->stats.drop);
	}
	tel_dict_uint(d, "busy_us", us(busy));
	tel_dict_uint(d, "idle_us", us(idle));
	tel_dict_uint(d, "rx_packets", rx);
	tel_dict_uint(d, "tx_packets", tx);
	tel_dict_uint(d, "dropped", drop);
	tel_dict_uint(d, "sleeps", stat_read(&lc->sleeps));
}

static int
one(const char *cmd, const char *params, struct rte_tel_data *d)
{
	struct app *app = telemetry_app;
	int ret = -ENOENT;
	unsigned long id;
	unsigned int i;
	char *end;

	(void)cmd;
	if (params == NULL || params[0] < '0' || params[0] > '9')
		return -EINVAL;
	id = strtoul(params, &end, 10);
	if (*end != '\0')
		return -EINVAL;
	rte_tel_data_start_dict(d);
	pthread_mutex_lock(&app->fwd_lock);
	for (i = 0; app->fwd != NULL && i < app->fwd->num_lcores && ret != 0; i++) {
		if (app->fwd->lcore[i].id != id || app->fwd->lcore[i].num == 0)
			continue;
		tell(app->fwd, i, d);
		ret = 0;
	}
	pthread_mutex_unlock(&app->fwd_lock);
	return ret;
}

void
lcores_telemetry(struct app *app)
{
	telemetry_app = app;
	rte_telemetry_register_cmd("/triplane/lcores", list, "Numbers of the lcores that forward");
	rte_telemetry_register_cmd("/triplane/lcore", one, "What a forwarding lcore has done. Parameter: its number");
}
