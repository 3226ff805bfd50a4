/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Quantized congestion notification (802.1Qau) of the card's Ethernet queues, by priority. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_errno.h>

#include "apps/triplane/settings/settings.h"
#include "congestion.h"
#include "rte_pmd_mlx4_qos.h"

#define PRIOS 8u

static int
refuse(uint16_t port, int ret)
{
	return app_err(ret, "port %u: 802.1Qau: %s", port,
		       ret == -ENODEV    ? "it is no port of a ConnectX-3 card"
		       : ret == -ENOTSUP ? "the firmware does not offer it"
					 : rte_strerror(-ret));
}

/* NULL: there is none of this name, which was said. */
static const struct rte_pmd_mlx4_qcn_param *
param_of(const char *name)
{
	const struct rte_pmd_mlx4_qcn_param *p;

	for (unsigned int i = 0; (p = rte_pmd_mlx4_qcn_param(i)) != NULL; i++)
		if (strcmp(p->name, name) == 0)
			return p;
	app_err(-ENOENT, "'%s' is no parameter of 802.1Qau; 'qcn get all' has them", name);
	return NULL;
}

/* --- changes --- */

/* What they change, which is logged and kept. */
static const char *const noted[] = {"qcn", NULL};

static int
set(void *arg, const struct cmd_args *a)
{
	const struct rte_pmd_mlx4_qcn_param *p = param_of(cmd_text(a, "name"));
	const uint16_t port = (uint16_t)cmd_num(a, "port", 0);
	const uint64_t value = cmd_num(a, "value", 0);
	const uint8_t prios = congestion_prios(a);
	int ret;

	(void)arg;
	if (p == NULL || prios == 0)
		return -EINVAL;
	if (value > p->max)
		return app_err(-ERANGE, "%s %" PRIu64 ": wanted 0..%u%s%s", p->name, value, p->max,
			       p->unit[0] != '\0' ? " " : "", p->unit);
	ret = rte_pmd_mlx4_qcn_set(port, prios, p->name, value);
	return ret == 0 ? 0 : refuse(port, ret);
}

static int
do_set(void *arg, const struct cmd_args *a)
{
	return settings_noted(arg, a, noted, set);
}

static int
change(void *arg, const struct cmd_args *a)
{
	const uint16_t port = (uint16_t)cmd_num(a, "port", 0);
	const uint8_t prios = congestion_prios(a);
	int ret;

	(void)arg;
	if (prios == 0)
		return -ERANGE;
	ret = cmd_is(a, "what", "defaults") ? rte_pmd_mlx4_qcn_defaults(port, prios)
	      : cmd_is(a, "what", "clear")
		      ? rte_pmd_mlx4_qcn_clear(port, prios)
		      : rte_pmd_mlx4_qcn_set(port, prios, "rpg_enable", cmd_is(a, "what", "enable"));
	return ret == 0 ? 0 : refuse(port, ret);
}

static int
do_change(void *arg, const struct cmd_args *a)
{
	return settings_noted(arg, a, noted, change);
}

/* --- what there is --- */

/* only: this parameter and no counters; NULL: all. */
static int
show_prio(struct out *o, uint16_t port, unsigned int prio, const char *only)
{
	const struct rte_pmd_mlx4_qcn_param *p;
	struct rte_pmd_mlx4_qcn_stats st;
	uint64_t v;
	int ret = 0;

	out_item(o, "priority", prio);
	for (unsigned int i = 0; ret == 0 && (p = rte_pmd_mlx4_qcn_param(i)) != NULL; i++) {
		const char *name = p->name;

		if (only != NULL && strcmp(only, name) != 0)
			continue;
		ret = rte_pmd_mlx4_qcn_get(port, prio, name, &v);
		if (ret == 0)
			out_u64(o, name, v);
	}
	if (ret == 0 && only == NULL)
		ret = rte_pmd_mlx4_qcn_stats(port, prio, &st);
	if (ret == 0 && only == NULL) {
		out_object(o, "counters");
		out_u64(o, "limited_centiseconds", st.limited_cs);
		out_u64(o, "created", st.created);
		out_u64(o, "cnms_handled", st.cnms_handled);
		out_u64(o, "cnms_ignored", st.cnms_ignored);
		out_u64(o, "cnms_dropped", st.cnms_dropped);
		out_u64(o, "average_mbps", st.rate_average);
		out_u64(o, "min_mbps", st.rate_min);
		out_u64(o, "max_mbps", st.rate_max);
		out_end(o);
	}
	out_end(o);
	return ret;
}

static int
do_get(void *arg, const struct cmd_args *a)
{
	const char *only = cmd_has(a, "name") ? cmd_text(a, "name") : NULL;
	const struct cmd_val *ports = cmd_val(a, "ports");
	const uint8_t prios = congestion_prios(a);
	struct app *app = arg;
	struct out o;
	int ret = 0;

	if (prios == 0 || (only != NULL && param_of(only) == NULL))
		return -EINVAL;
	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "ports");
	for (unsigned int i = 0; i < ports->n && ret == 0; i++) {
		const uint16_t port = (uint16_t)ports->list[i];

		out_item(&o, "port", port);
		out_array(&o, "priorities");
		for (unsigned int prio = 0; prio < PRIOS && ret == 0; prio++)
			if ((prios >> prio & 1) != 0)
				ret = show_prio(&o, port, prio, only);
		out_end(&o);
		out_end(&o);
		/* Of all ports, those that have none are shown without it. */
		if (ret != 0)
			ret = strcmp(ports->text, "all") == 0 ? 0 : refuse(port, ret);
	}
	out_end(&o);
	out_done(&o);
	return ret;
}

static const struct cmd table[] = {
	{"Queue policies", "qcn get {ports:ports} [{prios:list} [{name:str}]]",
	 "Shows congestion notification (802.1Qau) of what the card's Ethernet queues send, with its counters: of all "
	 "priorities or these, all parameters or one.",
	 do_get, true},
	{"Queue policies", "qcn set {port:port} {prios:list} {name:str} {value:0..4294967295}",
	 "Sets a parameter of it, live. Names are those of netlink DCB, such as rpg_ai_rate.", do_set, false},
	{"Queue policies", "qcn {what:enable|disable|defaults|clear} {port:port} [{prios:list}]",
	 "Of all priorities or these: switches it on or off; takes it off, with the standard's parameters; or lets its "
	 "counters "
	 "start again.",
	 do_change, false},
};

int
cmd_qcn_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
