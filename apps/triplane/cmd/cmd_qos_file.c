/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Configuration files: read whole and judged before anything is put in force; written from what is in force. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "cmd_qos.h"
#include "apps/triplane/fwd/fwd.h"
#include "apps/triplane/port/dcbx.h"
#include "apps/triplane/port/port.h"
#include "apps/triplane/port/group.h"
#include "commands.h"

/* What a section changed, to be taken back. */
struct step {
	uint16_t port;
	enum { STEP_PORT, STEP_GROUP_ADDED, STEP_GROUP_CHANGED } kind;
	struct tp_qos_port q; /* as it was */
	struct tp_group g;    /* as it was, or the new one */
};

struct load {
	struct app *app;
	unsigned int ports, groups;
	struct step *step;
	unsigned int num_steps;
	struct {
		bool given;
		struct tp_qos_port q; /* what the file says of the port */
	} port[RTE_MAX_ETHPORTS];
};

static int
get_limits(uint16_t port, struct tp_qos_limits *lim, char err[TP_ERR_LEN])
{
	int ret = rte_pmd_mlx4_qos_limits(port, lim);

	if (ret == -ENODEV)
		snprintf(err, TP_ERR_LEN, "port %u, want a port of net_mlx4_vfio, _model or _user", port);
	return ret;
}

static int
judge_port(void *arg, uint16_t port, const struct tp_qos_port *q, char err[TP_ERR_LEN])
{
	struct tp_qos_limits lim;
	struct load *l = arg;
	int ret = get_limits(port, &lim, err);

	if (ret == 0)
		ret = tp_qos_port_check(q, &lim, err);
	if (ret != 0)
		return ret;
	l->port[port].given = true;
	l->port[port].q = *q;
	return 0;
}

static int
judge_group(void *arg, uint16_t port, const struct tp_group *g, char err[TP_ERR_LEN])
{
	struct tp_qos_limits lim;
	struct load *l = arg;
	struct tp_qos_port q;
	int ret = get_limits(port, &lim, err);

	if (ret != 0)
		return ret;
	if (l->port[port].given)
		return tp_group_check(g, &l->port[port].q, &lim, err);
	ret = rte_pmd_mlx4_qos_get(port, &q);
	return ret != 0 ? ret : tp_group_check(g, &q, &lim, err);
}

/* NULL with err: no memory to remember what was. */
static struct step *
step_new(struct load *l, uint16_t port, char err[TP_ERR_LEN])
{
	struct step *all = realloc(l->step, (l->num_steps + 1) * sizeof(*all));

	if (all == NULL) {
		snprintf(err, TP_ERR_LEN, "no memory to remember what was in force");
		return NULL;
	}
	l->step = all;
	all[l->num_steps].port = port;
	return &all[l->num_steps];
}

static int
apply_port(void *arg, uint16_t port, const struct tp_qos_port *q, char err[TP_ERR_LEN])
{
	struct load *l = arg;
	struct step *s = step_new(l, port, err);
	int ret;

	if (s == NULL)
		return -ENOMEM;
	s->kind = STEP_PORT;
	ret = dcbx_qos_get(&l->app->port[port], &s->q);
	if (ret == 0)
		ret = dcbx_qos_set(&l->app->port[port], q, err);
	l->num_steps += ret == 0;
	l->ports += ret == 0;
	return ret;
}

/* A group that is there already becomes what the file says. */
static int
apply_group(void *arg, uint16_t port, const struct tp_group *g, char err[TP_ERR_LEN])
{
	struct load *l = arg;
	struct step *s = step_new(l, port, err);
	int ret;

	if (s == NULL)
		return -ENOMEM;
	ret = fwd_group_check(l->app, port, g, err);
	if (ret != 0)
		return ret;
	if (group_find(port, g->name, &s->g) == 0) {
		s->kind = STEP_GROUP_CHANGED;
		ret = rte_pmd_mlx4_group_modify(port, g, err);
	} else {
		s->kind = STEP_GROUP_ADDED;
		s->g = *g;
		ret = rte_pmd_mlx4_group_add(port, g, err);
	}
	if (ret >= 0)
		(void)fwd_group_settle(l->app, port);
	l->num_steps += ret >= 0;
	l->groups += ret >= 0;
	return ret;
}

/* The way back goes by the states that the way there went by, which the port took. */
static void
take_back(struct load *l)
{
	char err[TP_ERR_LEN];
	struct step *s;
	int ret;

	while (l->num_steps > 0) {
		s = &l->step[--l->num_steps];
		switch (s->kind) {
		case STEP_PORT: ret = dcbx_qos_set(&l->app->port[s->port], &s->q, err); break;
		case STEP_GROUP_ADDED: ret = rte_pmd_mlx4_group_remove(s->port, s->g.name, err); break;
		default: ret = rte_pmd_mlx4_group_modify(s->port, &s->g, err); break;
		}
		if (ret >= 0)
			(void)fwd_group_settle(l->app, s->port);
		else
			app_err(ret, "port %u: what was in force before does not hold again: %s", s->port, err);
	}
}

static void
notice(void *arg, const char *text)
{
	struct load *l = arg;

	app_say(l->app, "%s\n", text);
}

static int
do_load(void *arg, const struct cmd_args *a)
{
	static const struct tp_qos_file_ops judge = {judge_port, judge_group, notice};
	static const struct tp_qos_file_ops apply = {apply_port, apply_group, NULL};
	const char *path = cmd_text(a, "file");
	struct load *l = calloc(1, sizeof(*l));
	struct app *app = arg;
	char err[CMD_MAX_LINE];
	int ret;

	if (l == NULL)
		return app_err(-ENOMEM, "no memory to read '%s'", path);
	l->app = app;
	ret = tp_qos_file_read(path, &judge, l, err, sizeof(err));
	if (ret == 0)
		ret = tp_qos_file_read(path, &apply, l, err, sizeof(err));
	if (ret != 0)
		take_back(l);
	else
		app_say(app, "%s: ports: %u, groups: %u\n", path, l->ports, l->groups);
	free(l->step);
	free(l);
	return ret == 0 ? 0 : app_err(ret, "%s", err);
}

static int
write_ports(struct app *app, FILE *f)
{
	uint32_t ids[CMD_MAX_LIST];
	unsigned int i, k, n = ports_list(app, ids);
	struct tp_qos_port q;
	struct tp_group g;
	int ret = 0;

	for (i = 0; i < n && (ret == 0 || ret == -ENODEV); i++) {
		ret = rte_pmd_mlx4_qos_get((uint16_t)ids[i], &q);
		if (ret != 0)
			continue;
		fprintf(f, "[port %u]\n", ids[i]);
		tp_qos_port_print(&q, false, f);
		for (k = 0; rte_pmd_mlx4_group_get((uint16_t)ids[i], k, &g) == 0; k++) {
			fprintf(f, "[group %u %s]\n", ids[i], g.name);
			tp_group_print(&g, false, f);
		}
	}
	return ret == -ENODEV ? 0 : ret;
}

static int
do_save(void *arg, const struct cmd_args *a)
{
	const char *path = cmd_text(a, "file");
	FILE *f = fopen(path, "w");
	int ret;

	if (f == NULL)
		return app_err(-errno, "cannot write '%s': %s", path, strerror(errno));
	ret = write_ports(arg, f);
	if (ferror(f) && ret == 0)
		ret = -EIO;
	if (fclose(f) != 0 && ret == 0)
		ret = -errno;
	return ret == 0 ? 0 : app_err(ret, "cannot write '%s': %s", path, strerror(-ret));
}

static const struct cmd table[] = {
	{"Queue policies", "qos load {file:str}",
	 "Puts a configuration file in force, all of it or nothing. Groups that are there are changed.", do_load,
	 false},
	{"Queue policies", "qos save {file:str}", "Writes what differs from the defaults as a configuration file.",
	 do_save, false},
};

int
cmd_qos_file_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
