/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Forwards packets between ports and shows what happens; see docs/cli.md. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_eal.h>
#include <rte_malloc.h>

#include "apps/common/eal.h"
#include "apps/triplane/app/app.h"
#include "apps/triplane/port/ib.h"
#include "apps/triplane/app/share.h"
#include "apps/triplane/fwd/fwd.h"
#include "apps/triplane/fwd/guest.h"
#include "apps/triplane/health/health.h"
#include "apps/triplane/fwd/lcores.h"
#include "apps/triplane/settings/settings.h"
#include "apps/triplane/fwd/perf.h"
#include "apps/triplane/port/port.h"
#include "apps/triplane/fwd/live.h"
#include "apps/triplane/cmd/commands.h"
#include "apps/triplane/congestion/congestion.h"
#include "apps/triplane/snapshot/history.h"
#include "apps/triplane/snapshot/snapshot.h"
#include "apps/triplane/vfio/vfio.h"
#include "apps/triplane/watch/watch.h"
#include "console.h"
#include "options.h"

#define EXIT_USAGE 2
/* Two ports with eight queues each take a half of it; ordinary pages that are not used cost nothing. */
#define MEM_MIB 512
#define WAIT_MS 1000 /* a signal ends it at once */

static int
commands_register(struct app *app)
{
	int (*const tables[])(struct app *) = {
		cmd_general_register,     cmd_fwd_register,        cmd_show_register,        cmd_port_register,
		cmd_port_filter_register, cmd_rss_register,        cmd_device_register,      cmd_qos_register,
		cmd_dcbx_register,        cmd_switch_register,     cmd_roce_register,        cmd_roce_qp_register,
		cmd_settings_register,    cmd_tune_register,       cmd_perf_register,        cmd_flow_register,
		cmd_share_register,       cmd_ib_register,         cmd_sm_register,          cmd_ib_show_register,
		cmd_ipoib_register,       cmd_ipoib_pair_register, cmd_health_register,      cmd_snapshot_register,
		cmd_capture_register,     cmd_card_register,       cmd_connections_register, cmd_filter_register,
		cmd_quirks_register,      cmd_roce_cc_register,    cmd_qcn_register,
	};
	unsigned int i;
	int ret = 0;

	for (i = 0; i < RTE_DIM(tables) && ret == 0; i++)
		ret = tables[i](app);
	return ret;
}

static bool
vdev_works(const char *name)
{
	struct rte_dev_iterator it;
	struct rte_device *dev;
	bool works = false;

	RTE_DEV_FOREACH(dev, "bus=vdev", &it)
	if (strcmp(rte_dev_name(dev), name) == 0)
		works = rte_dev_is_probed(dev) == 1;
	return works;
}

/* The EAL only logs that a virtual device failed, and starts without it. */
static int
check_vdevs(void)
{
	struct rte_devargs *da;

	RTE_EAL_DEVARGS_FOREACH("vdev", da)
	if (!vdev_works(da->name))
		return app_err(-ENODEV, "--vdev=%s%s%s: the device did not start; EAL's messages say why", da->name,
			       da->args != NULL && da->args[0] != '\0' ? "," : "", da->args != NULL ? da->args : "");
	return 0;
}

static int
start_ports(struct app *app)
{
	uint32_t ids[CMD_MAX_LIST];
	unsigned int i, n;
	int ret = 0;

	ports_init(app);
	n = ports_list(app, ids);
	if (n == 0 && ib_devices(NULL, 0) == 0)
		return app_err(-ENODEV, "EAL found no port, wanted 1 or more, such as --vdev=net_mlx4_model0");
	for (i = 0; i < n && ret == 0; i++)
		ret = port_start(app, &app->port[ids[i]]);
	return ret;
}

/* What the arguments ask for, in the order that the usage text gives. */
static int
session(struct app *app)
{
	const struct app_options *opt = &app->opt;
	char line[256];
	unsigned int i;
	int ret = 0;

	if (opt->txpkts != NULL) {
		snprintf(line, sizeof(line), "set txpkts %s", opt->txpkts);
		ret = console_string(app, line, "--txpkts");
	}
	if (ret == 0 && opt->file != NULL)
		ret = console_file(app, opt->file);
	for (i = 0; i < opt->num_commands && ret == 0 && !app_stopping(app); i++)
		ret = console_string(app, opt->commands[i], "-e");
	if (ret == 0 && opt->live && !app_stopping(app)) {
		if (!app->fwd_runs)
			ret = fwd_start(app);
		if (ret == 0)
			ret = live_run(app, opt->live_seconds);
	}
	if (ret == 0 && opt->interactive && !app_stopping(app))
		ret = console_interact(app);
	while (ret == 0 && opt->wait && !app_stopping(app))
		app_sleep_ms(app, WAIT_MS);
	return ret;
}

static int
shut_down(struct app *app)
{
	unsigned int i;
	int ret = 0, err;

	if (app->fwd_runs) {
		fwd_stop(app);
		live_summary(app, app->json);
	}
	pthread_mutex_lock(&app->fwd_lock);
	fwd_free(app->fwd);
	app->fwd = NULL;
	pthread_mutex_unlock(&app->fwd_lock);
	guest_unlink_all(app);
	for (i = 0; i < 2 * RTE_MAX_ETHPORTS; i++) {
		struct app_port *p = &app->port[i % RTE_MAX_ETHPORTS];

		/* bonds first, as their members cannot go before them */
		if (!p->present || port_is_bond(p) != (i < RTE_MAX_ETHPORTS))
			continue;
		err = port_close(app, p);
		if (ret == 0)
			ret = err;
	}
	pool_free_all(app);
	return ret;
}

/* Of the reference of settings: where a default is not the vendor's, and why. */
static const char deviations[] =
	"Some defaults differ from those of the vendor's driver, here in brackets, because a DPDK program asks for "
	"what it uses:\n\n"
	"* Checksum offloads are off (on in both directions). No forwarding mode but `csum` looks at what the card "
	"found, or asks it to make a checksum. `set setting N rx-ipv4-cksum on` and its like switch them on. "
	"`tcp4-cksum` and its like, which are both as there, say for which protocols they count.\n"
	"* `tx-ring` is 512 (2048). The pool of buffers has room for all rings, so 2048 make it 1.75 times as large "
	"with one queue a port, and 2.5 times with many. Profiles of `tune` set it.\n"
	"* `rss-queues` is all (8). How many queues there are, at first one, is what `rx-queues` says.\n"
	"* `lso-size` is what the card takes (64000). The vendor's driver tells its limit to the host's stack; a DPDK"
	" program hears of none, and its larger sends, such as those of Linux guests, would be dropped.\n\n"
	"Processors and NUMA nodes (the vendor's `*RssBaseProcNumber`, `*NumaNodeId`): rings and buffers are on the "
	"node of the port's device; `--lcores` says which CPUs there are, `lcores` (`set corelist`) which of them "
	"forward, in the order of use, and a group's `lcore` who polls its queues.\n";

#define MAX_WORDS 256

/* For shells: what may follow in a line of commands, a word in each line. Ports and values are not known without the EAL. */
static void
print_completion(struct app *app, const char *line)
{
	static char word[MAX_WORDS][CMD_WORD_LEN];
	const char *last = strrchr(line, ';');
	unsigned int n, typed, i;

	line = last == NULL ? line : last + 1;
	n = cmd_complete(app->reg, line + strspn(line, " "), word, MAX_WORDS, &typed);
	for (i = 0; i < n - typed; i++)
		puts(word[i]);
}

/* Arguments that need no EAL. */
static int
early(struct app *app, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--version") == 0) {
			printf("triplane %s\n", TRIPLANE_VERSION);
			return 1;
		}
		if (strcmp(argv[i], "--complete") == 0) {
			if (i + 1 == argc)
				return app_err(-EINVAL, "--complete: wanted the line of commands so far");
			print_completion(app, argv[i + 1]);
			return 1;
		}
		if (strcmp(argv[i], "--help-md") == 0) {
			printf("# Commands of triplane\n\nMade by `triplane -- --help-md` from the command table.\n"
			       "`[...]` may be left out. A list of ports is `0,2-3` or `all`. Several commands may "
			       "stand in one "
			       "line, separated by `;`; `#` starts a comment.\n");
			cmd_help_markdown(app->reg, stdout);
			return 1;
		}
		if (strcmp(argv[i], "--settings-md") == 0) {
			printf("# Settings\n\nMade by `triplane -- --settings-md` from the table of settings. "
			       "`show settings` shows the values in force, `set setting` changes one, `save` and "
			       "`load` "
			       "write and read files: [commands](cli.md#settings). What is changed with the port or "
			       "forwarding stopped can stand in a file or a profile all the same: `load` and `tune` "
			       "stop "
			       "them for a moment.\n\n");
			fputs(deviations, stdout);
			settings_markdown(app, stdout);
			return 1;
		}
	}
	return options_parse(argc, argv, &app->opt);
}

static int
run(struct app *app, int eal_argc, char **argv)
{
	static const struct app_eal eal = {.name = "triplane", .mem_mib = MEM_MIB};
	char error[APP_EAL_TEXT];
	int ret, err;

	ret = app_eal_start(&eal, eal_argc, argv, error);
	if (ret < 0)
		return app_err(ret, "%s", error);
	perf_telemetry(app);
	lcores_telemetry(app);
	gen_conf_default(&app->gen);
	app->gen.flows = app->opt.flows;
	app->gen.seed = app->opt.seed;
	app->burst = app->opt.burst;
	ret = options_default_cores(app);
	if (ret == 0)
		ret = check_vdevs();
	if (ret == 0)
		ret = start_ports(app);
	if (ret == 0) {
		watch_by_others();
		settings_telemetry(app);
		history_start(app);
		sensor_dumps_start(app);
		ret = session(app);
	}
	history_stop();
	sensor_dumps_stop();
	app_control_take(); /* for good: telemetry is answered to the end */
	ib_sm_stop();
	ib_sa_stop();
	share_off();
	ib_stop();
	err = shut_down(app);
	watch_by_nobody();
	app_eal_end();
	return ret != 0 ? ret : err;
}

int
main(int argc, char **argv)
{
	int split = 1, ret;
	struct app *app;

	if (argc > 1 &&
	    (strcmp(argv[1], "status") == 0 || strcmp(argv[1], "bind") == 0 || strcmp(argv[1], "unbind") == 0))
		return vfio_command(argc - 1, argv + 1);
	app = calloc(1, sizeof(*app));
	if (app == NULL || cmd_reg_create(app, ports_list, &app->reg) != 0)
		return app_err(EXIT_FAILURE, "no memory");
	pthread_mutex_init(&app->fwd_lock, NULL);
	while (split < argc && strcmp(argv[split], "--") != 0)
		split++;
	ret = settings_create(app);
	if (ret == 0)
		ret = settings_health_add(app);
	if (ret == 0)
		ret = commands_register(app);
	if (ret == 0 && split < argc) {
		char *name = argv[0];

		argv[split] = name;
		ret = early(app, argc - split, argv + split);
		argv[split] = NULL;
	} else if (ret == 0) {
		ret = options_parse(1, argv, &app->opt);
	}
	if (ret == 0) {
		app->json = app->reg->json = app->opt.json;
		if (app->opt.json_array)
			out_array_begin(stdout);
		app_signals();
		ret = run(app, split, argv) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
		out_array_end();
	} else {
		ret = ret > 0 ? EXIT_SUCCESS : EXIT_USAGE;
	}
	settings_free(app);
	cmd_reg_free(app->reg);
	pthread_mutex_destroy(&app->fwd_lock);
	free(app);
	return ret;
}
