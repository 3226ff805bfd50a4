/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The registry of the program's settings: its objects, its log, and what stops for changes that need it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/triplane/port/dcbx.h"
#include "apps/triplane/fwd/fwd.h"
#include "settings.h"
#include "apps/triplane/port/port.h"
#include "apps/triplane/port/group.h"

#define NOTED_MAX 2u /* settings that a command changes at once */

/* Names of the events, the same in all versions. */
static const char *const events[TP_SCOPES] = {
	[TP_SCOPE_PROGRAM] = "program-setting", [TP_SCOPE_CARD] = "card-setting", [TP_SCOPE_PORT] = "port-setting",
	[TP_SCOPE_RXQ] = "rxq-setting",         [TP_SCOPE_TXQ] = "txq-setting",   [TP_SCOPE_GROUP] = "group-setting",
};

/* With the topology the peers of the ports have changed. */
static void
peers_changed(const struct app *app)
{
	const struct app_settings *s = app->settings;
	unsigned int i;

	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		if (app->port[i].present && app->port[i].peer != s->peer_was[i])
			app_event(events[TP_SCOPE_PORT], "port %u: peer: %u -> %u", i, s->peer_was[i],
				  app->port[i].peer);
}

static void
changed(void *arg, const struct tp_setting *row, const struct tp_setting_at *at, const char *was, const char *is)
{
	const struct app *app = arg;
	char text[TP_SETTING_OBJECT];

	tp_setting_at_text(at, text);
	app_event(events[at->scope], "%s: %s: %s -> %s", text, row->name, was, is);
	if (at->scope == TP_SCOPE_PROGRAM && strcmp(row->name, "topology") == 0 && !app->settings->in_list)
		peers_changed(app);
}

/* --- objects ------------------------------------------------------------------------------------------------- */

/* Queues that are there: not those that a stopped port is going to have, nor those that it is going to lose. */
static unsigned int
queues_up(const struct app_port *p, bool rx)
{
	if (!p->present)
		return 0;
	return rx ? RTE_MIN(p->rxq, p->rxq_up) : RTE_MIN(p->txq, p->txq_up);
}

static bool
queue_object(const struct app *app, bool rx, unsigned int i, struct tp_setting_at *at)
{
	unsigned int port, n;

	for (port = 0; port < RTE_MAX_ETHPORTS; port++, i -= n) {
		const struct app_port *p = &app->port[port];

		n = queues_up(p, rx);
		if (i < n) {
			at->port = (uint16_t)port;
			at->queue = (uint16_t)i;
			return true;
		}
	}
	return false;
}

static bool
group_object(struct app *app, unsigned int i, struct tp_setting_at *at)
{
	uint32_t ids[CMD_MAX_LIST];
	unsigned int k, g, n = ports_list(app, ids);
	struct tp_group group;

	for (k = 0; k < n; k++) {
		for (g = 0; rte_pmd_mlx4_group_get((uint16_t)ids[k], g, &group) == 0; g++) {
			if (i-- != 0)
				continue;
			at->port = (uint16_t)ids[k];
			snprintf(at->group, sizeof(at->group), "%s", group.name);
			return true;
		}
	}
	return false;
}

static bool
object(void *arg, enum tp_setting_scope scope, unsigned int i, struct tp_setting_at *at)
{
	uint32_t ids[CMD_MAX_LIST];
	struct app *app = arg;

	memset(at, 0, sizeof(*at));
	at->scope = scope;
	switch (scope) {
	case TP_SCOPE_PROGRAM: return i == 0;
	case TP_SCOPE_RXQ:
	case TP_SCOPE_TXQ: return queue_object(app, scope == TP_SCOPE_RXQ, i, at);
	case TP_SCOPE_GROUP: return group_object(app, i, at);
	default: break;
	}
	if (i >= ports_list(app, ids))
		return false;
	at->port = (uint16_t)ids[i];
	return true;
}

/* --- what stops ---------------------------------------------------------------------------------------------- */

static int
go(void *arg, char err[TP_SETTING_ERR])
{
	struct app *app = arg;
	struct app_settings *s = app->settings;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < RTE_MAX_ETHPORTS && ret == 0; i++) {
		if (s->was_started[i])
			ret = port_start(app, &app->port[i]);
		if (ret != 0)
			snprintf(err, TP_SETTING_ERR, "port %u does not start with the new settings", i);
	}
	if (ret == 0 && s->was_forwarding) {
		ret = fwd_start(app);
		if (ret != 0)
			snprintf(err, TP_SETTING_ERR, "forwarding does not start with the new settings");
	}
	return ret;
}

/* Ports that a change does not touch stop, too: their buffers come from pools that all ports share. */
static int
stop(void *arg, bool ports, char err[TP_SETTING_ERR])
{
	struct app *app = arg;
	struct app_settings *s = app->settings;
	unsigned int i;
	int ret = 0;

	/* after a start that failed, what ran at first counts */
	if (!s->stopped) {
		s->was_forwarding = app->fwd_runs;
		for (i = 0; i < RTE_MAX_ETHPORTS; i++)
			s->was_started[i] = ports && app->port[i].present && app->port[i].started;
	}
	s->stopped = true;
	fwd_stop(app);
	for (i = 0; i < RTE_MAX_ETHPORTS && ret == 0; i++)
		if (s->was_started[i])
			ret = port_stop(app, &app->port[i]);
	if (ret != 0)
		snprintf(err, TP_SETTING_ERR, "port %u does not stop", i - 1);
	return ret;
}

/* --- declarations -------------------------------------------------------------------------------------------- */

static int
qos_get(void *arg, const struct tp_setting_at *at, void *decl)
{
	const struct app *app = arg;

	return dcbx_qos_get(&app->port[at->port], decl);
}

static int
qos_set(void *arg, const struct tp_setting_at *at, const void *decl, char err[TP_ERR_LEN])
{
	struct app *app = arg;

	return dcbx_qos_set(&app->port[at->port], decl, err);
}

static int
group_get(void *arg, const struct tp_setting_at *at, void *decl)
{
	(void)arg;
	return group_find(at->port, at->group, decl);
}

static int
group_set(void *arg, const struct tp_setting_at *at, const void *decl, char err[TP_ERR_LEN])
{
	int ret = fwd_group_check(arg, at->port, decl, err);

	if (ret == 0)
		ret = rte_pmd_mlx4_group_modify(at->port, decl, err);
	if (ret >= 0)
		(void)fwd_group_settle(arg, at->port);
	return ret;
}

/* --- changes ------------------------------------------------------------------------------------------------- */

int
setting_set(struct app *app, const struct tp_setting_at *at, const char *name, const char *value)
{
	static const struct tp_setting_at program = {.scope = TP_SCOPE_PROGRAM};
	char err[TP_SETTING_ERR], text[TP_SETTING_OBJECT];
	int ret;

	at = at == NULL ? &program : at;
	ret = tp_settings_set(app->settings->reg, at, name, value, err);
	if (ret == 0)
		return 0;
	tp_setting_at_text(at, text);
	return at->scope == TP_SCOPE_PROGRAM || strncmp(err, text, strlen(text)) == 0
		       ? app_err(ret, "%s", err)
		       : app_err(ret, "%s: %s", text, err);
}

int
settings_noted(struct app *app, const struct cmd_args *a, const char *const *names,
	       int (*run)(void *, const struct cmd_args *))
{
	const struct tp_setting_at at = {.scope = TP_SCOPE_PORT, .port = (uint16_t)cmd_num(a, "port", 0)};
	char was[NOTED_MAX][TP_SETTING_VALUE], is[TP_SETTING_VALUE];
	struct tp_settings *reg = app->settings->reg;
	const struct tp_setting *row[NOTED_MAX];
	unsigned int i, n;
	int ret;

	for (n = 0; names[n] != NULL; n++) {
		row[n] = tp_settings_find(reg, TP_SCOPE_PORT, names[n], NULL);
		if (row[n] == NULL || tp_settings_get(reg, row[n], &at, was[n]) != 0)
			row[n] = NULL;
	}
	ret = run(app, a);
	for (i = 0; i < n && ret == 0; i++)
		if (row[i] != NULL && tp_settings_get(reg, row[i], &at, is) == 0 && strcmp(is, was[i]) != 0)
			changed(app, row[i], &at, was[i], is);
	return ret;
}

int
settings_noted_program(struct app *app, const struct cmd_args *a, const char *name,
		       int (*run)(void *, const struct cmd_args *))
{
	const struct tp_setting_at at = {.scope = TP_SCOPE_PROGRAM};
	struct tp_settings *reg = app->settings->reg;
	const struct tp_setting *row = tp_settings_find(reg, TP_SCOPE_PROGRAM, name, NULL);
	char was[TP_SETTING_VALUE], is[TP_SETTING_VALUE];
	const bool known = row != NULL && tp_settings_get(reg, row, &at, was) == 0;
	int ret = run(app, a);

	if (ret == 0 && known && tp_settings_get(reg, row, &at, is) == 0 && strcmp(is, was) != 0)
		changed(app, row, &at, was, is);
	return ret;
}

int
setting_set_ports(struct app *app, const struct cmd_args *a, const char *name, const char *value)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	struct tp_setting_at at = {.scope = TP_SCOPE_PORT};
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ports->n && ret == 0; i++) {
		at.port = (uint16_t)ports->list[i];
		ret = setting_set(app, &at, name, value);
	}
	return ret;
}

static const struct tp_setting_change *
find_change(const struct tp_setting_list *l, enum tp_setting_scope scope, uint16_t port, const char *name)
{
	unsigned int i;

	for (i = 0; i < l->num; i++)
		if (l->change[i].at.scope == scope && l->change[i].at.port == port &&
		    strcmp(l->change[i].row->name, name) == 0)
			return &l->change[i];
	return NULL;
}

/*
 * A list with another topology has the peers that it makes as changes of their own: one that the list names itself is
 * what counts, and each goes back to what it was when the list is undone.
 */
static int
add_peers(struct app *app, struct tp_setting_list *l)
{
	const struct tp_setting_change *c = find_change(l, TP_SCOPE_PROGRAM, 0, "topology");
	struct tp_setting_at at = {.scope = TP_SCOPE_PORT};
	char value[16], err[TP_SETTING_ERR];
	uint16_t peers[RTE_MAX_ETHPORTS];
	const unsigned int line = c != NULL ? c->line : 0;
	unsigned int i;
	int ret = 0;

	if (c == NULL || app_topology_of(c->value) == app->opt.topology)
		return 0;
	ports_peers(app, app_topology_of(c->value), peers);
	for (i = 0; i < RTE_MAX_ETHPORTS && ret == 0; i++) {
		at.port = (uint16_t)i;
		if (!app->port[i].present || find_change(l, TP_SCOPE_PORT, at.port, "peer") != NULL)
			continue;
		snprintf(value, sizeof(value), "%u", peers[i]);
		ret = tp_setting_list_add(app->settings->reg, l, &at, "peer", value, line, err);
	}
	return ret == 0 ? 0 : app_err(ret, "%s", err);
}

int
settings_apply(struct app *app, struct tp_setting_list *l, const char *path)
{
	char err[TP_SETTING_ERR], text[TP_SETTING_OBJECT];
	unsigned int bad, line;
	int ret = add_peers(app, l);

	if (ret != 0)
		return ret;
	app->settings->in_list = true;
	ret = tp_settings_apply(app->settings->reg, l, &bad, err);
	app->settings->stopped = app->settings->in_list = false;
	if (ret == 0)
		return 0;
	line = bad < l->num ? l->change[bad].line : 0;
	if (path != NULL && line != 0)
		return app_err(ret, "%s:%u: %s", path, line, err);
	if (bad >= l->num)
		return app_err(ret, "%s%s%s", path != NULL ? path : "", path != NULL ? ": " : "", err);
	tp_setting_at_text(&l->change[bad].at, text);
	return app_err(ret, "%s: %s", text, err);
}

int
settings_create(struct app *app)
{
	static const struct tp_settings_ops ops = {object, changed, stop, go};
	static const struct tp_declared_ops qos = {qos_get, qos_set}, group = {group_get, group_set};
	struct app_settings *s = calloc(1, sizeof(*s));
	int ret;

	app->settings = s;
	ret = s == NULL ? -ENOMEM : tp_settings_create(&ops, app, &s->reg);
	if (ret == 0)
		ret = settings_program_add(app);
	if (ret == 0)
		ret = settings_share_add(app);
	if (ret == 0)
		ret = settings_port_add(app);
	if (ret == 0)
		ret = settings_wait_add(app);
	if (ret == 0)
		ret = settings_reserve_add(app);
	if (ret == 0)
		ret = settings_lso_add(app);
	if (ret == 0)
		ret = settings_rss_add(app);
	if (ret == 0)
		ret = settings_filter_add(app);
	if (ret == 0)
		ret = settings_mcast_add(app);
	if (ret == 0)
		ret = settings_cksum_add(app);
	if (ret == 0)
		ret = tp_declared_add(s->reg, TP_SCOPE_PORT, &qos, app, true, &s->qos);
	if (ret == 0)
		ret = settings_qcn_add(app);
	if (ret == 0)
		ret = settings_roce_add(app);
	if (ret == 0)
		ret = settings_kernel_add(app);
	if (ret == 0)
		ret = settings_capture_add(app);
	if (ret == 0)
		ret = settings_ib_add(app);
	if (ret == 0)
		ret = settings_made_add(app);
	if (ret == 0)
		ret = settings_queue_add(app);
	if (ret == 0)
		ret = tp_declared_add(s->reg, TP_SCOPE_GROUP, &group, app, true, &s->group);
	if (ret == 0)
		ret = settings_card_add(app);
	return ret == 0 ? 0 : app_err(ret, "the table of settings: %s", strerror(-ret));
}

void
settings_free(struct app *app)
{
	struct app_settings *s = app->settings;

	if (s == NULL)
		return;
	tp_setting_list_free(&s->tuned);
	tp_settings_free(s->reg);
	tp_declared_free(s->qos);
	tp_declared_free(s->group);
	free(s->offloads);
	free(s->cards);
	free(s);
	app->settings = NULL;
}
