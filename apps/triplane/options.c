/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The program's own arguments, after the "--". They are read before EAL starts, so a wrong one touches no device. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_lcore.h>

#include "apps/triplane/app/app.h"
#include "apps/triplane/fwd/fwd.h"
#include "apps/triplane/port/port.h"
#include "options.h"

static const char usage_text[] =
	"usage: triplane [EAL arguments] -- [arguments]\n"
	"       triplane {status|bind|unbind} [--help] [ADDRESS]...   cards of this machine and VFIO\n"
	"\n"
	"  -e 'CMD; CMD'            run commands and end; may be repeated\n"
	"  --cmdline-file FILE      run the commands of a file, before those of -e\n"
	"  -i, --interactive        read commands from the terminal afterwards (default without -e, FILE, --live and "
	"--wait)\n"
	"  --live SECONDS           forward with a table each second, then end; 0: until Ctrl-C\n"
	"  --wait                   at last wait for SIGTERM or Ctrl-C, as a service does\n"
	"  --json[=lines|array]     show commands print JSON: a document in each line (lines), or one array of all\n"
	"  --forward-mode MODE      mode of all ports (io)\n"
	"  --topology NAME          paired, chained or loop (paired)\n"
	"  --corelist LIST          forwarding lcores (all but the main one)\n"
	"  --rxq N, --txq N         queues of each port, 1..256 (1)\n"
	"  --rxd N, --txd N         descriptors of each queue, 256..4096 (512)\n"
	"  --burst N                packets per burst, 1..512 (32)\n"
	"  --mtu N                  600..9600 (the device's own)\n"
	"  --mbuf-size N            octets of a buffer with headroom, 512..65535 (2176)\n"
	"  --total-num-mbufs N      buffers of the receive pool, 1024..8388608 (what the rings need)\n"
	"  --rx-offloads A,B --tx-offloads A,B\n"
	"                           see 'help port config'\n"
	"  --txpkts A,B,C           octets of the segments of generated packets, without FCS (60)\n"
	"  --flows N                flows of flowgen, 1..1048576 (1024)\n"
	"  --seed N                 of the flows (1)\n"
	"  --no-promisc             receive only what is addressed to the port\n"
	"  --help, --help-md        this text; the command reference in Markdown\n"
	"  --settings-md            the table of settings in Markdown\n"
	"  --complete LINE          what may follow in this line of commands, for the completion of shells\n"
	"  --version\n"
	"\n"
	"Exit code: 0 everything succeeded, 1 a command or the set-up failed, 2 wrong arguments.\n";

enum {
	OPT_FILE = 256,
	OPT_LIVE,
	OPT_JSON,
	OPT_MODE,
	OPT_TOPOLOGY,
	OPT_CORELIST,
	OPT_RX_OFFLOADS,
	OPT_TX_OFFLOADS,
	OPT_TXPKTS,
	OPT_NO_PROMISC,
	OPT_WAIT,
	OPT_NUMBERS, /* the table of numbers starts here */
};

static const struct number {
	const char *name;
	uint64_t min, max;
	size_t offset, size;
} numbers[] = {
#define NUMBER(text, field, lo, hi)                                                                                    \
	{                                                                                                              \
		text, lo, hi, offsetof(struct app_options, field), sizeof(((struct app_options *)0)->field)            \
	}
	NUMBER("rxq", rxq, 1, APP_MAX_QUEUES),
	NUMBER("txq", txq, 1, APP_MAX_QUEUES),
	NUMBER("rxd", rxd, APP_RING_LEAST, APP_RING_MOST),
	NUMBER("txd", txd, APP_RING_LEAST, APP_RING_MOST),
	NUMBER("burst", burst, 1, APP_BURST_MAX),
	NUMBER("mtu", mtu, APP_MTU_MIN, APP_MTU_MAX),
	NUMBER("mbuf-size", mbuf_size, 512, UINT16_MAX),
	NUMBER("total-num-mbufs", total_mbufs, 1024, 8388608),
	NUMBER("flows", flows, 1, GEN_MAX_FLOWS),
	NUMBER("seed", seed, 0, UINT64_MAX),
};

static int
set_number(struct app_options *opt, const struct number *num, const char *text)
{
	char *end, *at = (char *)opt + num->offset;
	uint64_t v;

	errno = 0;
	v = strtoull(text, &end, 0);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || v < num->min || v > num->max)
		return app_err(-EINVAL, "--%s: '%s' is not a number in %" PRIu64 "..%" PRIu64, num->name, text,
			       num->min, num->max);
	switch (num->size) {
	case sizeof(uint16_t): *(uint16_t *)(void *)at = (uint16_t)v; break;
	case sizeof(uint32_t): *(uint32_t *)(void *)at = (uint32_t)v; break;
	default: *(uint64_t *)(void *)at = v; break;
	}
	return 0;
}

static int
set_offloads(const char *opt, const char *text, const struct app_offload *table, unsigned int n, uint64_t *out)
{
	char buf[256], known[512] = "", *save = NULL, *w;
	unsigned int i;

	for (i = 0; i < n; i++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s", i == 0 ? "" : ", ",
			 table[i].name);
	snprintf(buf, sizeof(buf), "%s", text);
	for (w = strtok_r(buf, ",", &save); w != NULL; w = strtok_r(NULL, ",", &save)) {
		for (i = 0; i < n && strcmp(table[i].name, w) != 0; i++)
			;
		if (i == n)
			return app_err(-EINVAL, "--%s: '%s' is not one of %s", opt, w, known);
		*out |= table[i].bit;
	}
	return 0;
}

static int
set_topology(struct app_options *opt, const char *text)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(app_topology_names); i++) {
		if (strcmp(app_topology_names[i], text) == 0) {
			opt->topology = (enum app_topology)i;
			return 0;
		}
	}
	return app_err(-EINVAL, "--topology: '%s' is not one of paired, chained, loop", text);
}

static int
set_mode(struct app_options *opt, const char *text)
{
	const int mode = fwd_mode_by_name(text);
	char known[256] = "";
	unsigned int i;

	if (mode >= 0) {
		opt->mode = (unsigned int)mode;
		return 0;
	}
	for (i = 0; i < fwd_num_modes; i++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s", i == 0 ? "" : ", ",
			 fwd_modes[i].name);
	return app_err(-EINVAL, "--forward-mode: '%s' is not one of %s", text, known);
}

static int
set_json(struct app_options *opt, const char *text)
{
	opt->json = true;
	opt->json_array = text != NULL && strcmp(text, "array") == 0;
	return text == NULL || opt->json_array || strcmp(text, "lines") == 0
		       ? 0
		       : app_err(-EINVAL, "--json: '%s' is not one of lines, array", text);
}

static int
set_option(struct app_options *opt, int c, const char *arg)
{
	static const struct number live = {"live", 0, 31536000, offsetof(struct app_options, live_seconds),
					   sizeof(uint32_t)};

	switch (c) {
	case 'e':
		if (opt->num_commands == RTE_DIM(opt->commands))
			return app_err(-EINVAL, "-e: given more than %zu times", RTE_DIM(opt->commands));
		opt->commands[opt->num_commands++] = arg;
		return 0;
	case 'i': opt->interactive = true; return 0;
	case OPT_FILE:
		opt->file = arg;
		if (access(arg, R_OK) != 0)
			return app_err(-EINVAL, "--cmdline-file: cannot read '%s': %s", arg, strerror(errno));
		return 0;
	case OPT_LIVE: opt->live = true; return set_number(opt, &live, arg);
	case OPT_JSON: return set_json(opt, arg);
	case OPT_MODE: return set_mode(opt, arg);
	case OPT_TOPOLOGY: return set_topology(opt, arg);
	case OPT_CORELIST: opt->corelist = arg; return 0;
	case OPT_TXPKTS: opt->txpkts = arg; return 0;
	case OPT_WAIT: opt->wait = true; return 0;
	case OPT_NO_PROMISC: opt->no_promisc = true; return 0;
	case OPT_RX_OFFLOADS:
		return set_offloads("rx-offloads", arg, app_rx_offloads, app_num_rx_offloads, &opt->rx_offloads);
	case OPT_TX_OFFLOADS:
		return set_offloads("tx-offloads", arg, app_tx_offloads, app_num_tx_offloads, &opt->tx_offloads);
	default: break;
	}
	if (c >= OPT_NUMBERS)
		return set_number(opt, &numbers[c - OPT_NUMBERS], arg);
	return app_err(-EINVAL, "wrong arguments; see triplane -- --help");
}

int
options_parse(int argc, char **argv, struct app_options *opt)
{
	struct option longs[32] = {
		{"help", no_argument, NULL, 'h'},
		{"interactive", no_argument, NULL, 'i'},
		{"cmdline-file", required_argument, NULL, OPT_FILE},
		{"live", required_argument, NULL, OPT_LIVE},
		{"json", optional_argument, NULL, OPT_JSON},
		{"forward-mode", required_argument, NULL, OPT_MODE},
		{"topology", required_argument, NULL, OPT_TOPOLOGY},
		{"corelist", required_argument, NULL, OPT_CORELIST},
		{"txpkts", required_argument, NULL, OPT_TXPKTS},
		{"no-promisc", no_argument, NULL, OPT_NO_PROMISC},
		{"wait", no_argument, NULL, OPT_WAIT},
		{"rx-offloads", required_argument, NULL, OPT_RX_OFFLOADS},
		{"tx-offloads", required_argument, NULL, OPT_TX_OFFLOADS},
	};
	unsigned int n = 0, i;
	int c, ret;

	*opt = (struct app_options){.rxq = 1,
				    .txq = 1,
				    .rxd = APP_RX_DESC,
				    .txd = APP_TX_DESC,
				    .burst = APP_BURST_DEFAULT,
				    .mbuf_size = RTE_MBUF_DEFAULT_BUF_SIZE,
				    .mode = (unsigned int)fwd_mode_by_name("io"),
				    .flows = 1024,
				    .seed = 1};
	while (longs[n].name != NULL)
		n++;
	for (i = 0; i < RTE_DIM(numbers); i++)
		longs[n + i] = (struct option){numbers[i].name, required_argument, NULL, OPT_NUMBERS + (int)i};
	optind = 1;
	while ((c = getopt_long(argc, argv, "e:hi", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage_text, stdout);
			return 1;
		}
		ret = set_option(opt, c, optarg);
		if (ret != 0)
			return ret;
	}
	if (optind < argc)
		return app_err(-EINVAL, "'%s' is no argument of triplane; see triplane -- --help", argv[optind]);
	if (opt->num_commands == 0 && opt->file == NULL && !opt->live && !opt->wait)
		opt->interactive = true;
	return 0;
}

int
options_default_cores(struct app *app)
{
	static const struct cmd_tok tok = {.kind = CMD_LIST, .name = "--corelist", .want = "numbers such as 1,4-6"};
	struct cmd_val val;
	char err[256];
	int ret;

	if (app->opt.corelist == NULL) {
		app->num_cores = app_all_cores(app->cores);
		return 0;
	}
	ret = cmd_parse_value(app->reg, &tok, app->opt.corelist, &val, err, sizeof(err));
	if (ret == 0)
		ret = app_set_cores(app, val.list, val.n, err, sizeof(err));
	return ret == 0 ? 0 : app_err(-EINVAL, "%s", err);
}
