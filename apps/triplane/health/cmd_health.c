/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Commands about the health of ports: what the watch has found, dumps, restarts, and faults of a card in software. */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "apps/triplane/cli/out.h"
#include "apps/triplane/port/port.h"
#include "apps/triplane/settings/settings.h"
#include "health.h"
#include "rte_pmd_mlx4.h"

static void
show_port(uint16_t id, const struct rte_pmd_mlx4_health *h, struct out *o)
{
	unsigned int i;

	out_item(o, "port", id);
	out_str(o, "state", h->alarms == 0 ? "well" : "alarm");
	out_hex(o, "alarms", h->alarms, 5);
	out_u64(o, "looks", h->looks);
	out_u64(o, "restarts", h->restarts);
	out_u64(o, "restarts_failed", h->restarts_failed);
	out_u64(o, "restarts_refused", h->restarts_refused);
	out_u64(o, "dumps", h->dumps);
	out_u64(o, "dumps_failed", h->dumps_failed);
	out_u64(o, "lost_events", h->lost_events);
	out_u64(o, "command_timeouts", h->cmd_timeouts);
	out_str(o, "last", h->last);
	out_array(o, "sensors");
	for (i = 0; i < RTE_PMD_MLX4_SENSORS; i++) {
		const struct rte_pmd_mlx4_sensor *s = &h->sensor[i];

		out_item(o, "sensor", i);
		out_str(o, "name", s->name);
		out_str(o, "finds", s->text);
		out_hex(o, "bit", s->bit, 5);
		out_bool(o, "alarm", s->alarm);
		out_u64(o, "idle", s->idle);
		out_u64(o, "limit", s->limit);
		out_u64(o, "queue", s->queue);
		out_u64(o, "alarms", s->alarms);
		out_end(o);
	}
	out_end(o);
	out_end(o);
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *v = cmd_val(a, "ports");
	struct rte_pmd_mlx4_health h;
	uint32_t ids[CMD_MAX_LIST];
	struct app *app = arg;
	unsigned int i, n = v == NULL ? ports_list(app, ids) : v->n;
	struct out o;
	int ret = 0;

	if (v != NULL)
		memcpy(ids, v->list, n * sizeof(ids[0]));
	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "ports");
	for (i = 0; i < n && ret == 0; i++) {
		ret = rte_pmd_mlx4_health_get((uint16_t)ids[i], &h);
		if (ret == 0)
			show_port((uint16_t)ids[i], &h, &o);
		else if (v == NULL)
			ret = 0;
	}
	out_end(&o);
	out_done(&o);
	return ret == 0 ? 0 : app_err(ret, "port %u: show health: not a port of the mlx4 driver", ids[i - 1]);
}

static int
do_restart(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *v = cmd_val(a, "ports");
	char err[TP_ERR_LEN];
	unsigned int i;
	int ret = 0;

	(void)arg;
	for (i = 0; i < v->n && ret == 0; i++) {
		ret = rte_pmd_mlx4_restart((uint16_t)v->list[i], err);
		if (ret != 0)
			app_err(ret, "port %u: restart: %s", v->list[i], err);
	}
	return ret;
}

static int
do_dump(void *arg, const struct cmd_args *a)
{
	const uint16_t id = (uint16_t)cmd_num(a, "port", 0);
	char path[RTE_PMD_MLX4_DUMP_PATH], err[TP_ERR_LEN];
	struct app *app = arg;
	struct out o;
	int ret = rte_pmd_mlx4_dump(id, cmd_text(a, "folder"), NULL, path, err);

	if (ret != 0)
		return app_err(ret, "port %u: dump: %s", id, err);
	ret = dump_settings_write(app, path);
	if (ret != 0)
		return app_err(ret, "port %u: dump %s: no settings in it: %s", id, path, rte_strerror(-ret));
	out_init(&o, stdout, app->json || a->json);
	out_str(&o, "dump", path);
	out_done(&o);
	return 0;
}

static int
do_break(void *arg, const struct cmd_args *a)
{
	const uint16_t id = (uint16_t)cmd_num(a, "port", 0);
	enum rte_pmd_mlx4_break what = cmd_is(a, "what", "queue")        ? RTE_PMD_MLX4_BREAK_SQ
				       : cmd_is(a, "what", "completion") ? RTE_PMD_MLX4_BREAK_CQE
									 : RTE_PMD_MLX4_BREAK_IRQ;
	int ret = rte_pmd_mlx4_model_break(id, what, (uint32_t)cmd_num(a, "nth", 1));

	(void)arg;
	return ret == 0 ? 0
			: app_err(ret, "port %u: model break: %s", id,
				  ret == -ENODEV ? "not a port of the mlx4 driver" : "a real card, no model");
}

static const struct cmd table[] = {
	{"Health", "show health [{ports:ports}]",
	 "Shows what the watch over ports has found: each sensor, alarms, restarts, dumps, lost events.", do_show,
	 true},
	{"Health", "dump {port:port} [{folder:str}]",
	 "Writes what is known of a port to a folder of its own in dump-path, or in this folder: dump.txt, dump.json, "
	 "settings.conf. triplane-inspect explains it.",
	 do_dump, true},
	{"Health", "port restart {ports:ports}",
	 "Stops and starts ports one by one while packets are forwarded; what waits in their rings is lost and "
	 "counted.",
	 do_restart, false},
	{"Health", "model break {port:port} {what:queue|completion|interrupt} [{nth:0..1000000}]",
	 "Breaks a card in software once: the queue of the port's nth send doorbell sends no more, the port's nth "
	 "completion of a send does not come, or no interrupt tells of the card's nth event; 0: not any more.",
	 do_break, false},
};

int
cmd_health_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
