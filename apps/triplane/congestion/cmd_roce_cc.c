/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Congestion control (DCQCN) of RoCE ports, by priority, under the vendor's words; what it does, live. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include "apps/triplane/port/roce.h"
#include "apps/triplane/settings/settings.h"
#include "congestion.h"
#include "rte_pmd_mlx4.h"
#include "rte_pmd_mlx4_qos.h"

#define ALL_PRIOS UINT8_MAX
#define SWITCHES 64u

uint8_t
congestion_prios(const struct cmd_args *a)
{
	const struct cmd_val *prios = cmd_val(a, "prios");
	uint8_t mask = 0;

	if (prios == NULL)
		return ALL_PRIOS;
	for (unsigned int i = 0; i < prios->n; i++) {
		if (prios->list[i] >= TP_ROCE_PRIOS) {
			app_err(-ERANGE, "priority %u: wanted 0..%u", prios->list[i], TP_ROCE_PRIOS - 1);
			return 0;
		}
		mask |= (uint8_t)(1u << prios->list[i]);
	}
	return mask;
}

/* --- changes --- */

static int
change(struct app *app, const struct cmd_args *a, const struct roce_cc_word *w)
{
	uint8_t prios = congestion_prios(a);
	int ret = prios == 0 ? -ERANGE : 0;

	for (unsigned int i = 0; i < TP_ROCE_PRIOS && ret == 0; i++)
		if ((prios >> i & 1) != 0)
			ret = roce_cc_change(app, (uint16_t)cmd_num(a, "port", 0), i, w);
	return ret;
}

static int
do_change(void *arg, const struct cmd_args *a)
{
	const bool on = cmd_is(a, "what", "enable") || cmd_is(a, "what", "on"),
		   off = cmd_is(a, "what", "disable") || cmd_is(a, "what", "off");
	const struct roce_cc_word w = {.what = on                              ? ROCE_CC_ON
					       : off                           ? ROCE_CC_OFF
					       : cmd_is(a, "what", "defaults") ? ROCE_CC_DEFAULTS
									       : ROCE_CC_RESTORE};

	return change(arg, a, &w);
}

static int
no_param(const char *name)
{
	return app_err(-ENOENT, "'%s' is no parameter of congestion control; 'roce cc get all' has them", name);
}

static int
do_set(void *arg, const struct cmd_args *a)
{
	int i = roce_cc_param_of(cmd_text(a, "name"));
	struct roce_cc_word w = {.what = ROCE_CC_SET, .param = (unsigned int)i, .value = cmd_num(a, "value", 0)};
	const struct tp_roce_cc_param *p;

	if (i < 0)
		return no_param(cmd_text(a, "name"));
	p = tp_roce_cc_param(w.param);
	if (w.value < p->min || w.value > p->max)
		return app_err(-ERANGE, "%s %" PRIu64 ": wanted %" PRIu64 "..%" PRIu64 "%s%s", p->name, w.value, p->min,
			       p->max, p->unit[0] != '\0' ? " " : "", p->unit);
	return change(arg, a, &w);
}

static int
do_variant(void *arg, const struct cmd_args *a)
{
	const struct roce_cc_word w = {.what = ROCE_CC_VARIANT,
				       .value = (uint64_t)roce_cc_variant_of(cmd_text(a, "variant"))};

	return change(arg, a, &w);
}

/* Of a port that is open for RoCE: as its home has them; else those of the card. */
static int
do_clear(void *arg, const struct cmd_args *a)
{
	const uint16_t port = (uint16_t)cmd_num(a, "port", 0);
	const struct roce_port *r = ((struct app *)arg)->port[port].roce;
	const uint8_t prios = congestion_prios(a);
	int ret;

	if (prios == 0)
		return -ERANGE;
	ret = r != NULL && r->ctx != NULL ? -tp_roce_cc_clear(r->ctx, prios) : rte_pmd_mlx4_cc_clear(port, prios);
	return ret == 0 ? 0 : app_err(ret, "port %u: counters of congestion control: %s", port, rte_strerror(-ret));
}

/* --- what there is --- */

/* param: one of them, -1: all. */
static void
show_prios(struct out *o, struct roce_port *r, uint8_t prios, int param)
{
	const struct tp_roce_cc_param *p;
	uint64_t v;

	out_array(o, "priorities");
	for (unsigned int prio = 0; prio < TP_ROCE_PRIOS; prio++) {
		if ((prios >> prio & 1) == 0)
			continue;
		if (tp_roce_cc_get(r->ctx, prio, "ai-rate", &v) != 0)
			break;
		out_item(o, "priority", prio);
		out_bool(o, "on", tp_roce_cc_enabled(r->ctx, prio));
		if (param < 0)
			out_str(o, "variant", tp_roce_cc_variant(r->ctx, prio));
		for (unsigned int i = 0; (p = tp_roce_cc_param(i)) != NULL; i++)
			if ((param < 0 || i == (unsigned int)param) && tp_roce_cc_get(r->ctx, prio, p->name, &v) == 0)
				out_u64(o, p->name, v);
		out_end(o);
	}
	out_end(o);
}

static void
show_get(struct out *o, struct roce_port *r, const struct cmd_args *a)
{
	show_prios(o, r, congestion_prios(a), cmd_has(a, "name") ? roce_cc_param_of(cmd_text(a, "name")) : -1);
}

static int
do_get(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	struct app *app = arg;

	if (congestion_prios(a) == 0)
		return -ERANGE;
	if (cmd_has(a, "name") && roce_cc_param_of(cmd_text(a, "name")) < 0)
		return no_param(cmd_text(a, "name"));
	/* Asked by number, a port has to have it. */
	if (strcmp(ports->text, "all") != 0)
		for (unsigned int i = 0; i < ports->n; i++)
			if (roce_open_of(&app->port[ports->list[i]]) == NULL)
				return -ENETDOWN;
	return roce_show(arg, a, show_get);
}

static void
show_counter(void *arg, const char *name, uint64_t value)
{
	if (strncmp(name, "cc_", 3) == 0 || strcmp(name, "cnps") == 0 || strcmp(name, "ecn_marked") == 0)
		out_u64(arg, name, value);
}

#define LINES 10u /* queue pairs that are shown unless another number is asked for */
#define LINES_MAX 1000u

/* The slowest of those that are limited; a card does not say which they are. */
static void
show_limited(struct out *o, struct roce_port *r, unsigned int lines)
{
	static struct tp_roce_cc_limited list[LINES_MAX];
	unsigned int n;

	if (tp_roce_cc_limited(r->ctx, list, lines, &n) != 0)
		return;
	out_array(o, "limited");
	for (unsigned int i = 0; i < RTE_MIN(n, lines); i++) {
		out_object(o, NULL);
		out_hex(o, "qp", list[i].qp_num, 6);
		if (list[i].dest_qp_num != 0)
			out_hex(o, "to", list[i].dest_qp_num, 6);
		out_u64(o, "priority", list[i].prio);
		out_real(o, "mbit_per_second", (double)list[i].kbps / 1000, 3);
		out_real(o, "target_mbit_per_second", (double)list[i].target_kbps / 1000, 3);
		out_real(o, "alpha", (double)list[i].alpha / 1024, 3);
		out_u64(o, "time_stage", list[i].time_stage);
		out_u64(o, "byte_stage", list[i].byte_stage);
		if (!list[i].shared)
			out_u64(o, "send_requests", list[i].requests);
		out_end(o);
	}
	out_end(o);
}

static void
show(struct out *o, struct roce_port *r, const struct cmd_args *a)
{
	show_limited(o, r, (unsigned int)cmd_num(a, "lines", LINES));
	show_prios(o, r, ALL_PRIOS, -1);
	out_object(o, "counters");
	(void)tp_roce_stats(r->ctx, show_counter, o);
	out_end(o);
}

/* --- live --- */

/* What it did in a time: counters of each port before and behind it. */
static const struct {
	const char *counter, *shown;
	double scale;
	unsigned int digits;
} rates[] = {{"tx_bytes", "tx_mbit_per_second", 8e-6, 1},
	     {"rx_bytes", "rx_mbit_per_second", 8e-6, 1},
	     {"cc_marked", "marked_per_second", 1, 0},
	     {"cc_cnps_sent", "cnps_sent_per_second", 1, 0},
	     {"cnps", "cnps_per_second", 1, 0}};

struct sample {
	uint64_t tsc, value[RTE_DIM(rates)];
};
static struct sample before[RTE_MAX_ETHPORTS];

static void
sample(struct roce_port *r, struct sample *l)
{
	l->tsc = rte_rdtsc();
	for (unsigned int i = 0; i < RTE_DIM(rates); i++)
		if (tp_roce_stat(r->ctx, rates[i].counter, &l->value[i]) != 0)
			l->value[i] = 0;
}

/* Queues of switches in this process, in front of their ports, in which something waits. */
struct queues {
	struct out *o;
	const char *name;
};

static void
show_queue(void *arg, unsigned int port, int prio, const char *name, uint64_t value)
{
	const struct queues *q = arg;

	if (prio < 0 || value == 0 || strcmp(name, "out_bytes") != 0)
		return;
	out_object(q->o, NULL);
	out_str(q->o, "switch", q->name);
	out_u64(q->o, "port", port);
	out_u64(q->o, "priority", (uint64_t)prio);
	out_u64(q->o, "octets", value);
	out_end(q->o);
}

static void
show_queues(struct out *o)
{
	char names[SWITCHES][RTE_PMD_MLX4_SWITCH_NAME];
	unsigned int n = RTE_MIN(rte_pmd_mlx4_switch_list(names, SWITCHES), SWITCHES);

	if (n == 0)
		return;
	out_array(o, "queues");
	for (unsigned int i = 0; i < n; i++) {
		struct queues q = {.o = o, .name = names[i]};

		(void)rte_pmd_mlx4_switch_counters(names[i], show_queue, &q);
	}
	out_end(o);
}

static void
show_live(struct out *o, struct roce_port *r, const struct cmd_args *a)
{
	const struct sample *was = &before[r->id];
	struct sample is;
	double seconds;

	sample(r, &is);
	seconds = (double)(is.tsc - was->tsc) / (double)rte_get_tsc_hz();
	out_object(o, "live");
	out_real(o, "seconds", seconds, 3);
	for (unsigned int i = 0; i < RTE_DIM(rates); i++)
		out_real(o, rates[i].shown, (double)(is.value[i] - was->value[i]) * rates[i].scale / seconds,
			 rates[i].digits);
	show_queues(o);
	out_end(o);
	show(o, r, a);
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	struct app *app = arg;

	if (!cmd_has(a, "ms"))
		return roce_show(arg, a, show);
	memset(before, 0, sizeof(before));
	for (unsigned int i = 0; i < ports->n; i++) {
		struct roce_port *r = app->port[ports->list[i]].roce;

		if (r != NULL && r->ctx != NULL)
			sample(r, &before[ports->list[i]]);
	}
	if (!app_sleep_ms(app, (unsigned int)cmd_num(a, "ms", 0)))
		return -EINTR;
	return roce_show(arg, a, show_live);
}

static const struct cmd table[] = {
	{"RoCE", "roce cc get {ports:ports} [{prios:list} [{name:str}]]",
	 "Shows congestion control (DCQCN) as the port has it: of all priorities or these, all parameters or one.",
	 do_get, true},
	{"RoCE", "roce cc set {port:port} {prios:list} {name:str} {value:0..4294967295}",
	 "Sets a parameter of it, live; a rate above the line's is the line's. Names of the vendor's driver for Linux, "
	 "such as rpgAiRate, will do.",
	 do_set, false},
	{"RoCE", "roce cc {what:enable|disable|defaults|restore} {port:port} [{prios:list}]",
	 "Of all priorities or these: switches it on or off, with its parameters as they are; takes its parameters "
	 "back to "
	 "the defaults; or all of it to what the port had at first, which is off, or what a card has stored. RoCE in "
	 "software "
	 "and the card have it.",
	 do_change, false},
	{"RoCE", "roce cc variant {port:port} {prios:list} {variant:card|paper|vendor-hpcc|vendor}",
	 "Takes another variant of the algorithm, with its defaults: the card's, the paper's, or that of simulators of "
	 "later "
	 "cards. For RoCE in software; a card in software has it by its argument cc0 or cc1.",
	 do_variant, false},
	{"RoCE", "roce cc {port:port} {prios:list} {what:on|off|enable|disable|defaults|restore}",
	 "The same, with the port in front.", do_change, false},
	{"RoCE", "roce cc {port:port} {prios:list} set {name:str} {value:0..4294967295}", "The same.", do_set, false},
	{"RoCE", "roce cc clear {port:port} [{prios:list}]",
	 "Lets its counters start again: in software all of them, on the card also those of these priorities alone.",
	 do_clear, false},
	{"RoCE", "show roce cc {ports:ports} [{ms:10..60000} [{lines:0..1000}]]",
	 "Shows the queue pairs that it limits, the slowest first (10 unless said; in software), its parameters by "
	 "priority, "
	 "and its counters; over so many milliseconds, also what goes, marks and CNPs a second, and what waits in "
	 "switches of "
	 "this process.",
	 do_show, true},
};

int
cmd_roce_cc_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
