/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What the program has set stands in dumps of sensors, too. The driver tells of a dump with locks held that reading settings
 * takes, so a thread of its own, which sleeps otherwise, writes the file once the program's control is free.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

#include "apps/triplane/port/port.h"
#include "apps/triplane/settings/settings.h"
#include "health.h"
#include "rte_pmd_mlx4.h"

#define WAITING 16u    /* dumps without settings; what is more has none */
#define CONTROL_S 600u /* that a command may take */

static struct {
	const struct app *app; /* NULL: no thread */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool over;
	unsigned int num;
	char path[WAITING][RTE_PMD_MLX4_DUMP_PATH];
} writer = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

int
dump_settings_write(const struct app *app, const char *path)
{
	char name[RTE_PMD_MLX4_DUMP_PATH + 16];
	FILE *f;
	int ret;

	snprintf(name, sizeof(name), "%s/settings.conf", path);
	f = fopen(name, "w");
	if (f == NULL)
		return -errno;
	ret = tp_settings_write(app->settings->reg, f);
	return fclose(f) != 0 && ret == 0 ? -errno : ret;
}

static void
write_one(const char *path)
{
	int ret = app_control_ask(CONTROL_S) ? dump_settings_write(writer.app, path) : -ETIMEDOUT;

	(void)app_control_give();
	if (ret != 0)
		app_err_line("dump %s: no settings in it: %s", path, rte_strerror(-ret));
}

/* When the program ends, what is told until then is written. */
static void *
run(void *arg)
{
	char path[RTE_PMD_MLX4_DUMP_PATH];

	(void)arg;
	pthread_mutex_lock(&writer.lock);
	while (!writer.over || writer.num != 0) {
		if (writer.num == 0) {
			pthread_cond_wait(&writer.cond, &writer.lock);
			continue;
		}
		snprintf(path, sizeof(path), "%s", writer.path[0]);
		memmove(writer.path[0], writer.path[1], --writer.num * sizeof(path));
		pthread_mutex_unlock(&writer.lock);
		write_one(path);
		pthread_mutex_lock(&writer.lock);
	}
	pthread_mutex_unlock(&writer.lock);
	return NULL;
}

/* text: "port N: PATH". */
static void
on_event(uint16_t port, enum rte_pmd_mlx4_qos_event event, uint16_t index, const char *text, void *arg)
{
	const char *path = strstr(text, ": ");

	(void)port;
	(void)index;
	(void)arg;
	if (event != RTE_PMD_MLX4_EVENT_DUMP_WRITTEN || path == NULL)
		return;
	pthread_mutex_lock(&writer.lock);
	if (writer.num < WAITING && !writer.over)
		snprintf(writer.path[writer.num++], sizeof(writer.path[0]), "%s", path + 2);
	pthread_cond_signal(&writer.cond);
	pthread_mutex_unlock(&writer.lock);
}

void
sensor_dumps_start(struct app *app)
{
	uint32_t ids[CMD_MAX_LIST];
	unsigned int i, n = ports_list(app, ids);

	writer.app = app;
	if (pthread_create(&writer.thread, NULL, run, NULL) != 0) {
		writer.app = NULL;
		return;
	}
	for (i = 0; i < n; i++)
		(void)rte_pmd_mlx4_qos_on_event((uint16_t)ids[i], on_event, NULL);
}

void
sensor_dumps_stop(void)
{
	uint16_t id;

	if (writer.app == NULL)
		return;
	RTE_ETH_FOREACH_DEV(id)
	(void)rte_pmd_mlx4_qos_on_event(id, NULL, NULL);
	pthread_mutex_lock(&writer.lock);
	writer.over = true;
	pthread_cond_signal(&writer.cond);
	pthread_mutex_unlock(&writer.lock);
	pthread_join(writer.thread, NULL);
	writer.app = NULL;
}
