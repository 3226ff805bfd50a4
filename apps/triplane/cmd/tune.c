/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Tuning profiles (E-17): named sets of settings for a scenario. They are applied whole or not at all, and what was before
 * the first of them is kept, in memory and in a file when asked for, until it is restored.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "apps/triplane/settings/settings.h"
#include "apps/triplane/port/port.h"
#include "commands.h"

/* Queues that RSS spreads one port over unless somebody says more, E-1. */
#define RSS_QUEUES 8u

enum queues {
	QUEUES_DEFAULT,
	QUEUES_ONE,
	QUEUES_FIRST, /* an lcore each at the first port, one at the others */
	QUEUES_SHARE, /* lcores divided by ports */
	QUEUES_EACH,  /* an lcore each at every port */
};

static const struct profile {
	const char *name, *help;
	enum queues queues;
	bool one_lcore;
	const char *rx_ring, *tx_ring, *burst, *allmulti, *moderation; /* NULL: the default */
} profiles[] = {
	{"single-port", "one busy port: its queues spread over all lcores, long rings", QUEUES_FIRST, false, "4096",
	 "2048", NULL, NULL, "adaptive"},
	{"single-stream", "one connection, which RSS cannot spread: one queue, one lcore, large bursts", QUEUES_ONE,
	 true, "4096", "2048", "64", NULL, "low-latency"},
	{"dual-port", "two busy ports: the lcores are divided between them", QUEUES_SHARE, false, "4096", "2048", NULL,
	 NULL, "adaptive"},
	{"forwarding",
	 "from port to port: a queue for each lcore everywhere, short receive rings that stay in the cache",
	 QUEUES_EACH, false, "512", "2048", "64", NULL, "aggressive"},
	{"multicast", "mostly multicast: all of it is received, into long rings", QUEUES_EACH, false, "4096", "512",
	 NULL, "on", "aggressive"},
	{"balanced", "the defaults", QUEUES_DEFAULT, false, NULL, NULL, NULL, NULL, NULL},
};

static unsigned int
queues_of(const struct profile *f, const struct app_port *p, unsigned int index, unsigned int ports,
	  unsigned int lcores)
{
	unsigned int n = RTE_MIN(RTE_MAX(lcores, 1u), RSS_QUEUES);

	if (f->queues == QUEUES_SHARE)
		n = RTE_MAX(RTE_MIN(lcores / ports, RSS_QUEUES), 1u);
	else if (f->queues == QUEUES_ONE || f->queues == QUEUES_DEFAULT || (f->queues == QUEUES_FIRST && index > 0))
		n = 1;
	return RTE_MIN(n, (unsigned int)RTE_MIN(p->info.max_rx_queues, p->info.max_tx_queues));
}

static int
add(struct app *app, struct tp_setting_list *l, const struct tp_setting_at *at, const char *name, const char *value)
{
	struct tp_settings *reg = app->settings->reg;
	char err[TP_SETTING_ERR];
	int ret;

	if (value == NULL)
		value = tp_settings_find(reg, at->scope, name, NULL)->def;
	ret = tp_setting_list_add(reg, l, at, name, value, 0, err);
	return ret == 0 ? 0 : app_err(ret, "%s", err);
}

static int
add_port(struct app *app, struct tp_setting_list *l, const struct profile *f, const struct app_port *p,
	 unsigned int queues)
{
	const struct tp_setting_at at = {.scope = TP_SCOPE_PORT, .port = p->id};
	char text[16];
	int ret;

	snprintf(text, sizeof(text), "%u", queues);
	ret = add(app, l, &at, "rx-queues", text);
	if (ret == 0)
		ret = add(app, l, &at, "tx-queues", text);
	if (ret == 0)
		ret = add(app, l, &at, "rx-ring", f->rx_ring);
	if (ret == 0)
		ret = add(app, l, &at, "tx-ring", f->tx_ring);
	if (ret == 0)
		ret = add(app, l, &at, "rx-moderation", f->moderation);
	if (ret == 0)
		ret = add(app, l, &at, "all-multicast", f->allmulti);
	if (ret == 0)
		l->change[l->num - 1].unnamed = true; /* not every device has a switch for it */
	return ret;
}

static int
add_profile(struct app *app, struct tp_setting_list *l, const struct profile *f)
{
	static const struct tp_setting_at program = {.scope = TP_SCOPE_PROGRAM};
	uint32_t ids[CMD_MAX_LIST], cores[RTE_MAX_LCORE];
	unsigned int i, n = 0, all = ports_list(app, ids), lcores = app_all_cores(cores);
	char first[16];
	int ret;

	/* a guest's port has the queues of its group */
	for (i = 0; i < all; i++)
		if (!app->port[ids[i]].guest)
			ids[n++] = ids[i];
	snprintf(first, sizeof(first), "%u", lcores > 0 ? cores[0] : 0);
	ret = add(app, l, &program, "burst", f->burst);
	if (ret == 0)
		ret = add(app, l, &program, "lcores", f->one_lcore && lcores > 0 ? first : NULL);
	for (i = 0; i < n && ret == 0; i++)
		ret = add_port(app, l, f, &app->port[ids[i]], queues_of(f, &app->port[ids[i]], i, n, lcores));
	return ret;
}

/* What was before the first profile stays known. */
static int
remember(struct app_settings *s, const struct tp_setting_list *l)
{
	struct tp_setting_change *all = realloc(s->tuned.change, (s->tuned.num + l->num + 1) * sizeof(*all));
	unsigned int i, k;

	if (all == NULL)
		return app_err(-ENOMEM, "no memory to remember what the profile changes");
	s->tuned.change = all;
	for (i = 0; i < l->num; i++) {
		for (k = 0; k < s->tuned.num; k++)
			if (all[k].row == l->change[i].row &&
			    memcmp(&all[k].at, &l->change[i].at, sizeof(all[k].at)) == 0)
				break;
		if (k == s->tuned.num)
			all[s->tuned.num++] = l->change[i];
		else
			memcpy(all[k].value, l->change[i].value, sizeof(all[k].value));
	}
	return 0;
}

/* A list that brings back what another one changed. */
static int
reverse(struct app *app, const struct tp_setting_list *l, struct tp_setting_list *out)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < l->num && ret == 0; i++)
		ret = add(app, out, &l->change[i].at, l->change[i].row->name, l->change[i].was);
	return ret;
}

static int
write_log(const struct tp_setting_list *l, const char *path, const char *profile)
{
	FILE *f = fopen(path, "w");
	bool bad;

	if (f == NULL)
		return app_err(-errno, "cannot write '%s': %s", path, strerror(errno));
	fprintf(f, "# What was before 'tune %s'. 'tune restore %s' brings it back.\n", profile, path);
	tp_setting_list_write(l, f);
	bad = ferror(f) != 0;
	if (fclose(f) != 0 || bad)
		return app_err(-EIO, "cannot write '%s': %s", path, strerror(errno));
	return 0;
}

/* Without its log, a profile is not in force. */
static int
take_back(struct app *app, const struct tp_setting_list *l, int why)
{
	struct tp_setting_list back = {0};

	if (reverse(app, l, &back) == 0)
		(void)settings_apply(app, &back, NULL);
	tp_setting_list_free(&back);
	return why;
}

static int
apply(struct app *app, const struct profile *f, const char *log)
{
	struct app_settings *s = app->settings;
	struct tp_setting_list l = {0};
	int ret = add_profile(app, &l, f);

	if (ret == 0)
		ret = settings_apply(app, &l, NULL);
	if (ret == 0) {
		ret = log == NULL ? 0 : write_log(&l, log, f->name);
		if (ret == 0)
			ret = remember(s, &l);
		if (ret != 0)
			ret = take_back(app, &l, ret);
	}
	if (ret == 0) {
		snprintf(s->profile, sizeof(s->profile), "%s", f->name);
		app_event("tune-applied", "%s: %u settings changed", f->name, l.num);
		app_say(app, "tune %s: %u settings changed\n", f->name, l.num);
	}
	tp_setting_list_free(&l);
	return ret;
}

static int
do_tune(void *arg, const struct cmd_args *a)
{
	const struct profile *f = profiles;

	while (strcmp(f->name, cmd_text(a, "profile")) != 0)
		f++;
	return apply(arg, f, cmd_text(a, "log"));
}

/* What is set by hand is the user's: nothing changes, and there is nothing to restore. */
static int
do_manual(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;

	(void)a;
	tp_setting_list_free(&app->settings->tuned);
	snprintf(app->settings->profile, sizeof(app->settings->profile), "manual");
	app_event("tune-applied", "manual: all settings stay as they are");
	return 0;
}

static void
wrong(void *arg, const char *text)
{
	(void)arg;
	app_err_line("%s", text);
}

static int
do_restore(void *arg, const struct cmd_args *a)
{
	const char *log = cmd_text(a, "log");
	struct tp_setting_list l = {0};
	struct app *app = arg;
	struct app_settings *s = app->settings;
	int ret;

	if (log == NULL && s->tuned.num == 0)
		return app_err(-ENOENT, "no profile changed anything; 'tune PROFILE' first, or 'tune restore FILE' "
					"with the log of one");
	if (log != NULL)
		ret = tp_settings_read(s->reg, log, false, &l, wrong, NULL);
	else
		ret = reverse(app, &s->tuned, &l);
	if (ret == 0)
		ret = settings_apply(app, &l, log);
	if (ret == 0) {
		app_event("tune-restored", "%u settings changed", l.num);
		app_say(app, "tune restore: %u settings changed\n", l.num);
		tp_setting_list_free(&s->tuned);
		s->profile[0] = '\0';
	}
	tp_setting_list_free(&l);
	return ret;
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	char text[TP_SETTING_OBJECT];
	struct app *app = arg;
	const struct app_settings *s = app->settings;
	unsigned int i;
	struct out o;

	out_init(&o, stdout, app->json || a->json);
	out_str(&o, "profile", s->profile[0] != '\0' ? s->profile : "none");
	out_array(&o, "changes");
	for (i = 0; i < s->tuned.num; i++) {
		tp_setting_at_text(&s->tuned.change[i].at, text);
		out_object(&o, NULL);
		out_str(&o, "object", text);
		out_str(&o, "setting", s->tuned.change[i].row->name);
		out_str(&o, "before", s->tuned.change[i].was);
		out_str(&o, "tuned", s->tuned.change[i].value);
		out_end(&o);
	}
	out_end(&o);
	out_object(&o, "profiles");
	for (i = 0; i < RTE_DIM(profiles); i++)
		out_str(&o, profiles[i].name, profiles[i].help);
	out_end(&o);
	out_done(&o);
	return 0;
}

static const struct cmd table[] = {
	{"Settings", "tune {profile:@profile} [{log:str}]",
	 "Applies a tuning profile to all ports, all of it or nothing; with a log, writes there what was before. "
	 "Forwarding and ports stop for a moment when a change needs it. show tune describes the profiles.",
	 do_tune, false},
	{"Settings", "tune manual", "Keeps all settings as they are now; there is nothing to restore then.", do_manual,
	 false},
	{"Settings", "tune restore [{log:str}]", "Brings back what was before the first profile, or what a log says.",
	 do_restore, false},
	{"Settings", "show tune", "Shows the profile in force, what profiles changed, and the profiles there are.",
	 do_show, true},
};

int
cmd_tune_register(struct app *app)
{
	static const char *names[RTE_DIM(profiles)];
	static const struct cmd_set set = {"profile", names, RTE_DIM(profiles)};
	unsigned int i;
	int ret;

	for (i = 0; i < RTE_DIM(profiles); i++)
		names[i] = profiles[i].name;
	ret = cmd_reg_set(app->reg, &set);
	return ret != 0 ? ret : cmd_reg_add(app->reg, table, RTE_DIM(table));
}
