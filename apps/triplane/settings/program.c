/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Settings of the program: forwarding as a whole, and the generator. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "apps/triplane/fwd/fwd.h"
#include "settings.h"
#include "apps/triplane/port/port.h"

enum { BURST, TOPOLOGY, LCORES, TXPKTS, FLOWS, SEED, IDLE_SLEEP };

/* "1,4,5" */
static void
list_text(const uint32_t *num, unsigned int n, char value[TP_SETTING_VALUE])
{
	unsigned int i;
	size_t at = 0;

	for (i = 0; i < n && at < TP_SETTING_VALUE; i++)
		at += (size_t)snprintf(value + at, TP_SETTING_VALUE - at, "%s%u", i == 0 ? "" : ",", num[i]);
}

static void
lcores_text(const struct app *app, char value[TP_SETTING_VALUE])
{
	uint32_t all[RTE_MAX_LCORE];
	const unsigned int n = app_all_cores(all);

	if (n == app->num_cores && memcmp(all, app->cores, n * sizeof(all[0])) == 0)
		snprintf(value, TP_SETTING_VALUE, "all");
	else
		list_text(app->cores, app->num_cores, value);
}

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;
	uint32_t seg[GEN_MAX_SEGS];
	unsigned int i;

	(void)at;
	switch (row->id) {
	case BURST: snprintf(value, TP_SETTING_VALUE, "%u", app->burst); break;
	case TOPOLOGY: snprintf(value, TP_SETTING_VALUE, "%s", app_topology_names[app->opt.topology]); break;
	case LCORES: lcores_text(app, value); break;
	case FLOWS: snprintf(value, TP_SETTING_VALUE, "%u", app->gen.flows); break;
	case IDLE_SLEEP: snprintf(value, TP_SETTING_VALUE, "%u", app->idle_sleep); break;
	case SEED: snprintf(value, TP_SETTING_VALUE, "%" PRIu64, app->gen.seed); break;
	default:
		for (i = 0; i < app->gen.num_segs; i++)
			seg[i] = app->gen.seg[i];
		list_text(seg, app->gen.num_segs, value);
		break;
	}
	return 0;
}

static int
parse_list(const struct app *app, const struct tp_setting *row, const char *value, struct cmd_val *val, char *err)
{
	const struct cmd_tok tok = {.kind = CMD_LIST, .name = row->name, .want = row->names};

	return cmd_parse_value(app->reg, &tok, value, val, err, TP_SETTING_ERR);
}

static int
set_lcores(struct app *app, const struct tp_setting *row, const char *value, char *err)
{
	struct cmd_val val;
	int ret;

	if (strcmp(value, "all") == 0) {
		app->num_cores = app_all_cores(app->cores);
		return 0;
	}
	ret = parse_list(app, row, value, &val, err);
	return ret != 0 ? ret : app_set_cores(app, val.list, val.n, err, TP_SETTING_ERR);
}

static int
set_txpkts(struct app *app, const struct tp_setting *row, const char *value, char *err)
{
	const unsigned int room = app->opt.mbuf_size - RTE_PKTMBUF_HEADROOM;
	struct gen_conf conf = app->gen;
	struct cmd_val v;
	unsigned int i;
	int ret = parse_list(app, row, value, &v, err);

	if (ret != 0)
		return ret;
	if (v.n > GEN_MAX_SEGS) {
		snprintf(err, TP_SETTING_ERR, "txpkts: %u segments, want 1..%u", v.n, GEN_MAX_SEGS);
		return -EINVAL;
	}
	conf.num_segs = v.n;
	for (i = 0; i < v.n; i++) {
		const unsigned int min = i == 0 ? GEN_MIN_FRAME : 1;

		if (v.list[i] < min || v.list[i] > room) {
			snprintf(err, TP_SETTING_ERR, "txpkts: segment %u of %u octets, want %u..%u", i, v.list[i], min,
				 room);
			return -EINVAL;
		}
		conf.seg[i] = (uint16_t)v.list[i];
	}
	if (gen_frame_len(&conf) > GEN_MAX_FRAME) {
		snprintf(err, TP_SETTING_ERR, "txpkts: a frame of %u, want %u..%u", gen_frame_len(&conf), GEN_MIN_FRAME,
			 GEN_MAX_FRAME);
		return -EINVAL;
	}
	app->gen = conf;
	return 0;
}

enum app_topology
app_topology_of(const char *name)
{
	unsigned int i = 0;

	while (strcmp(app_topology_names[i], name) != 0)
		i++;
	return (enum app_topology)i;
}

static void
set_topology(struct app *app, const char *value)
{
	unsigned int i;

	app->opt.topology = app_topology_of(value);
	if (app->settings->in_list)
		return;
	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		app->settings->peer_was[i] = app->port[i].peer;
	ports_topology(app, app->opt.topology);
}

static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	struct app *app = ctx;

	(void)at;
	if (row->id == IDLE_SLEEP) {
		fwd_idle_sleep_set(app, (uint32_t)tp_setting_num(value));
		return 0;
	}
	if (app->fwd_runs)
		return setting_not_while_forwarding(err);
	switch (row->id) {
	case BURST: app->burst = (uint16_t)tp_setting_num(value); return 0;
	case FLOWS: app->gen.flows = (uint32_t)tp_setting_num(value); return 0;
	case SEED: app->gen.seed = tp_setting_num(value); return 0;
	case TOPOLOGY: set_topology(app, value); return 0;
	case LCORES: return set_lcores(app, row, value, err);
	default: return set_txpkts(app, row, value, err);
	}
}

#define ROW(text, unit_, type_, def_, names_, lo, hi, when_, id_, help_)                                               \
	{                                                                                                              \
		.name = text, .vendor = "", .unit = unit_, .def = def_, .help = help_, .names = names_,                \
		.scope = TP_SCOPE_PROGRAM, .type = type_, .when = TP_WHEN_##when_, .min = lo, .max = hi, .get = get,   \
		.set = set, .id = id_                                                                                  \
	}

static const struct tp_setting rows[] = {
	ROW("burst", "packets", TP_SETTING_NUMBER, "32", NULL, 1, APP_BURST_MAX, IDLE, BURST,
	    "Most packets of a burst"),
	ROW("topology", "", TP_SETTING_CHOICE, "paired", "paired|chained|loop", 0, 0, IDLE, TOPOLOGY,
	    "Who forwards to whom; setting it sets the peer of each port"),
	ROW("lcores", "", TP_SETTING_TEXT, "all", "all or lcores such as 1,4-6", 0, 0, IDLE, LCORES,
	    "Forwarding lcores in the order of use"),
	ROW("txpkts", "octets", TP_SETTING_TEXT, "60", "1 to 8 segments such as 60 or 64,128; the first at least 42", 0,
	    0, IDLE, TXPKTS, "Segments of a generated packet, without FCS"),
	ROW("flows", "flows", TP_SETTING_NUMBER, "1024", NULL, 1, GEN_MAX_FLOWS, IDLE, FLOWS, "Flows of flowgen"),
	ROW("seed", "", TP_SETTING_NUMBER, "1", NULL, 0, UINT64_MAX, IDLE, SEED, "Seed of the flows"),
	ROW("idle-sleep", "us", TP_SETTING_NUMBER, "0", NULL, 0, APP_IDLE_SLEEP_MAX, LIVE, IDLE_SLEEP,
	    "An lcore to which nothing comes sleeps so long between two polls; 0: it polls on. Those that generate "
	    "never sleep"),
};

int
settings_program_add(struct app *app)
{
	app->settings->program = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->program);
}
