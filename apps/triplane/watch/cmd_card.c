/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a card tells of itself: firmware commands, what is in use, why a link is down. */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "apps/triplane/port/ib.h"
#include "apps/triplane/port/port.h"
#include "report/rte_pmd_mlx4_report.h"
#include "watch.h"

static void
show_commands(struct out *o, const struct rte_pmd_mlx4_command *list, unsigned int n)
{
	uint64_t count = 0, failed = 0, unanswered = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		count += list[i].count;
		failed += list[i].failed;
		unanswered += list[i].unanswered;
	}
	out_u64(o, "count", count);
	out_u64(o, "failed", failed);
	out_u64(o, "unanswered", unanswered);
	out_object(o, "commands");
	for (i = 0; i < n; i++) {
		const struct rte_pmd_mlx4_command *c = &list[i];

		out_object(o, c->name);
		out_hex(o, "opcode", c->opcode, 3);
		out_u64(o, "count", c->count);
		out_u64(o, "failed", c->failed);
		out_u64(o, "unanswered", c->unanswered);
		out_real(o, "mean_us", (double)c->total_ns / 1000 / (double)c->count, 1);
		out_real(o, "worst_us", (double)c->worst_ns / 1000, 1);
		out_end(o);
	}
	out_end(o);
}

static int
commands_of(uint16_t id, struct out *o)
{
	struct rte_pmd_mlx4_command list[RTE_PMD_MLX4_COMMANDS];
	int n = rte_pmd_mlx4_commands_get(id, list, RTE_DIM(list));

	if (n < 0)
		return n;
	out_item(o, "port", id);
	show_commands(o, list, (unsigned int)n);
	out_end(o);
	return 0;
}

static void
show_resources(struct out *o, const struct rte_pmd_mlx4_resource *list, int n)
{
	int i;

	out_object(o, "resources");
	for (i = 0; i < n; i++) {
		out_object(o, list[i].name);
		out_str(o, "of", list[i].of_card ? "card" : "port");
		out_u64(o, "used", list[i].used);
		if (list[i].by_port)
			out_u64(o, "by_this_port", list[i].port_used);
		if (list[i].limit != 0)
			out_u64(o, "limit", list[i].limit);
		out_u64(o, "reserved", list[i].reserved);
		out_end(o);
	}
	out_end(o);
}

static int
resources_of(uint16_t id, struct out *o)
{
	struct rte_pmd_mlx4_resource list[RTE_PMD_MLX4_RESOURCES];
	int n = rte_pmd_mlx4_resources_get(id, list, RTE_DIM(list));

	if (n < 0)
		return n;
	out_item(o, "port", id);
	show_resources(o, list, n);
	out_end(o);
	return 0;
}

static int
ib_resources_of(struct out *o, struct app *app, const char *device)
{
	struct rte_pmd_mlx4_resource list[RTE_PMD_MLX4_RESOURCES];
	int n = rte_pmd_mlx4_ib_resources_get(device, list, RTE_DIM(list));

	(void)app;
	out_object(o, NULL);
	out_str(o, "device", device);
	if (n >= 0)
		show_resources(o, list, n);
	out_end(o);
	return n >= 0 ? 0 : app_err(n, "%s: not a port of the mlx4 driver", device);
}

static void
show_known(struct out *o, const char *key, const char *text)
{
	if (text[0] != '\0')
		out_str(o, key, text);
}

static int
link_of(uint16_t id, struct out *o)
{
	struct rte_pmd_mlx4_link l;
	int ret = rte_pmd_mlx4_link_get(id, &l);
	char text[32];

	if (ret != 0)
		return ret;
	out_item(o, "port", id);
	out_str(o, "link", l.reason == RTE_PMD_MLX4_LINK_UP ? "up" : "down");
	out_str(o, "reason", rte_pmd_mlx4_link_reason_name(l.reason));
	out_str(o, "why", l.text);
	out_u64(o, "speed_mbps", l.speed_mbps);
	if (l.reason != RTE_PMD_MLX4_LINK_CARD_DEAD) {
		out_str(o, "autonegotiation", !l.autoneg ? "off" : l.autoneg_done ? "done" : "not done");
		rte_pmd_mlx4_link_speeds_text(l.speeds, text, sizeof(text));
		show_known(o, "speeds_gbps", text);
		rte_pmd_mlx4_link_speeds_text(l.peer_speeds, text, sizeof(text));
		show_known(o, "peer_speeds_gbps", text);
		show_known(o, "sensed", l.sensed);
		show_known(o, "module", l.module);
		show_known(o, "module_says", l.module_text);
		show_known(o, "vendor", l.vendor);
		show_known(o, "part", l.part);
		show_known(o, "serial", l.serial);
	}
	out_u64(o, "downs", l.downs);
	out_u64(o, "bad_modules", l.bad_modules);
	out_end(o);
	return 0;
}

/* Ports of other drivers are left out, unless they were asked for. */
static int
each(struct app *app, const struct cmd_args *a, const char *what, int (*of)(uint16_t id, struct out *o))
{
	const struct cmd_val *v = cmd_val(a, "ports");
	uint32_t ids[CMD_MAX_LIST];
	unsigned int i, n = v == NULL ? ports_list(app, ids) : v->n;
	struct out o;
	int ret = 0;

	if (v != NULL)
		memcpy(ids, v->list, n * sizeof(ids[0]));
	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "ports");
	for (i = 0; i < n && ret == 0; i++) {
		ret = of((uint16_t)ids[i], &o);
		if (ret != 0 && v == NULL)
			ret = 0;
	}
	out_end(&o);
	out_done(&o);
	return ret == 0 ? 0 : app_err(ret, "port %u: show %s: not a port of the mlx4 driver", ids[i - 1], what);
}

static int
do_commands(void *arg, const struct cmd_args *a)
{
	return each(arg, a, "command-stats", commands_of);
}

static int
do_resources(void *arg, const struct cmd_args *a)
{
	return each(arg, a, "resources", resources_of);
}

static int
do_ib_resources(void *arg, const struct cmd_args *a)
{
	return ib_show_each(arg, a, "devices", ib_resources_of);
}

static int
do_link(void *arg, const struct cmd_args *a)
{
	return each(arg, a, "link", link_of);
}

static int
do_clear(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *v = cmd_val(a, "ports");
	unsigned int i;

	(void)arg;
	for (i = 0; i < v->n; i++)
		if (rte_pmd_mlx4_commands_reset((uint16_t)v->list[i]) != 0)
			return app_err(-ENODEV, "port %u: clear command-stats: not a port of the mlx4 driver",
				       v->list[i]);
	return 0;
}

static const struct cmd table[] = {
	{"Card", "show command-stats [{ports:ports}]",
	 "Shows the firmware commands of the card of ports by opcode: how many there were, those that failed or had no "
	 "answer, mean and worst time.",
	 do_commands, true},
	{"Card", "clear command-stats {ports:ports}", "Sets them to zero.", do_clear, false},
	{"Card", "show resources [{ports:ports}]",
	 "Shows what is in use of the card, by all ports and by each, and of ports; how much there is, and what is "
	 "reserved of it.",
	 do_resources, true},
	{"InfiniBand", "show ib-resources [{device:str}]",
	 "Shows what is in use of the card of InfiniBand ports, by all ports and by each; how much there is, and what "
	 "is "
	 "reserved of it.",
	 do_ib_resources, true},
	{"Card", "show link [{ports:ports}]",
	 "Shows why the link of ports is up or down: what the card says, and what is plugged in.", do_link, true},
};

int
cmd_card_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
