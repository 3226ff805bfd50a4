/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The switches that models are plugged into. */
#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "apps/triplane/app/app.h"
#include "rte_pmd_mlx4.h"
#include "commands.h"

#define MAX_SWITCHES 64u

/* Counters come one by one: those of the switch, of each port, of its priorities. Objects open as the scope changes. */
struct scope {
	struct out *o;
	unsigned int port; /* 0: of the switch */
	int prio;          /* -1: of the port */
};

static void
leave_prios(struct scope *s)
{
	if (s->prio < 0)
		return;
	out_end(s->o);
	out_end(s->o);
	s->prio = -1;
}

static void
enter_port(struct scope *s, unsigned int port)
{
	leave_prios(s);
	if (s->port == 0)
		out_array(s->o, "by_port");
	else
		out_end(s->o);
	out_item(s->o, "port", port);
	s->port = port;
}

static void
enter_prio(struct scope *s, int prio)
{
	if (s->prio < 0)
		out_array(s->o, "by_priority");
	else
		out_end(s->o);
	out_item(s->o, "priority", (uint64_t)prio);
	s->prio = prio;
}

static void
show_counter(void *arg, unsigned int port, int prio, const char *name, uint64_t value)
{
	struct scope *s = arg;

	if (port != s->port)
		enter_port(s, port);
	if (prio != s->prio)
		enter_prio(s, prio);
	if (strcmp(name, "link_up") == 0)
		out_bool(s->o, name, value != 0);
	else
		out_u64(s->o, name, value);
}

static int
show_one(const char *name, struct out *o)
{
	struct scope s = {.o = o, .prio = -1};
	int ret;

	out_object(o, name);
	ret = rte_pmd_mlx4_switch_counters(name, show_counter, &s);
	leave_prios(&s);
	if (s.port != 0) {
		out_end(o);
		out_end(o);
	}
	out_end(o);
	return ret;
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	char names[MAX_SWITCHES][RTE_PMD_MLX4_SWITCH_NAME];
	unsigned int n = rte_pmd_mlx4_switch_list(names, MAX_SWITCHES), i;
	const char *wanted = cmd_text(a, "name");
	bool all = strcmp(wanted, "all") == 0, found = all;
	struct app *app = arg;
	struct out o;

	n = n < MAX_SWITCHES ? n : MAX_SWITCHES;
	for (i = 0; i < n && !found; i++)
		found = strcmp(names[i], wanted) == 0;
	if (!found)
		return app_err(-ENOENT,
			       "show switch '%s': there is no such switch; wanted all, or a NAME of wireN=switch:NAME",
			       wanted);
	out_init(&o, stdout, app->json || a->json);
	out_object(&o, "switches");
	/* One that goes away meanwhile is shown without counters. */
	for (i = 0; i < n; i++)
		if (all || strcmp(names[i], wanted) == 0)
			show_one(names[i], &o);
	out_end(&o);
	out_done(&o);
	return 0;
}

static int
do_set(void *arg, const struct cmd_args *a)
{
	const char *name = cmd_text(a, "name"), *setting = cmd_text(a, "setting");
	unsigned int port = (unsigned int)cmd_num(a, "port", 0);
	char err[256];
	int ret = rte_pmd_mlx4_switch_set(name, port, setting, err, sizeof(err));

	(void)arg;
	return ret == 0 ? 0 : app_err(ret, "switch %s, port %u: %s", name, port, err);
}

static const struct cmd table[] = {
	{"Card", "show switch {name:str}",
	 "Shows a switch that models are plugged into, or all of them: buffer, ports, drops, pauses, marks.", do_show,
	 true},
	{"Card", "switch set {name:str} {port:0..64} {setting:str}",
	 "Changes a setting KEY:VALUE of a switch (port 0) or of one of its ports, while frames pass.", do_set, false},
};

int
cmd_switch_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
