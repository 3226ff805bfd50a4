/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The command line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <getopt.h>

#include "lib/quirk/quirk.h"
#include "mlx4_prm_regs.h"
#include "replay.h"

#define MAX_LINES 100u
#define MAX_LINES_MAX 1000000u

enum {
	OPT_TYPE = 256,
	OPT_FW,
	OPT_PORTS,
	OPT_PORT0,
	OPT_PORT1,
	OPT_WOL,
	OPT_QUIRKS,
	OPT_ALL,
	OPT_MAX,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option longs[] = {
	{"type", required_argument, NULL, OPT_TYPE},     {"fw", required_argument, NULL, OPT_FW},
	{"ports", required_argument, NULL, OPT_PORTS},   {"port0", required_argument, NULL, OPT_PORT0},
	{"port1", required_argument, NULL, OPT_PORT1},   {"wol", required_argument, NULL, OPT_WOL},
	{"quirks", required_argument, NULL, OPT_QUIRKS}, {"all", no_argument, NULL, OPT_ALL},
	{"max", required_argument, NULL, OPT_MAX},       {"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},     {NULL, 0, NULL, 0},
};

static const char usage[] =
	"usage: triplane-replay [OPTION]... TRACE\n"
	"\n"
	"Gives a card in software all commands of a recording (trace=FILE of the driver, --trace FILE of "
	"triplane-hca), in their order, and\n"
	"lists each answer that differs by the name of its field. What belongs to one card or to its cable is not "
	"compared: its\n"
	"MAC addresses, the day its firmware was made, the state of links.\n"
	"\n"
	"  --type cx3|cx3pro    the card in software is a ConnectX-3 or a ConnectX-3 Pro (cx3pro)\n"
	"  --fw A.B.C           its firmware (that of the recording)\n"
	"  --ports 1|2          its ports (those of the recording)\n"
	"  --port0, --port1 eth|ib|auto\n"
	"                       what a port can be (eth)\n"
	"  --wol 0|1            whether its firmware offers wake-on-LAN (0)\n"
	"  --quirks LIST        what it does otherwise than is assumed: ID:VARIANT,... (docs/fidelity.md)\n"
	"  --all                compares answers that depend on traffic, too: contexts of queues, counters, management "
	"datagrams\n"
	"  --max N              lines that are printed at most, 0..1000000, 0: all (100)\n"
	"  --help               this text\n"
	"  --version            prints the version\n"
	"\n"
	"Exit code: 0 no answer differs; 1 some do, or the recording cannot be played; 2 wrong arguments.\n";

void
rp_usage(void)
{
	fputs(usage, stdout);
}

static int
bad(char err[RP_TEXT], const char *what, const char *value, const char *wanted)
{
	snprintf(err, RP_TEXT, "%s '%.100s': wanted %s", what, value, wanted);
	return -1;
}

static int
number(unsigned int *out, const char *what, const char *text, unsigned int min, unsigned int max, char err[RP_TEXT])
{
	char wanted[40], *end;
	unsigned long v;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno == 0 && end != text && *end == '\0' && text[0] != '-' && v >= min && v <= max) {
		*out = (unsigned int)v;
		return 0;
	}
	snprintf(wanted, sizeof(wanted), "%u..%u", min, max);
	return bad(err, what, text, wanted);
}

static int
firmware(struct rp_options *o, const char *text, char err[RP_TEXT])
{
	unsigned int v[3];
	char rest;

	if (sscanf(text, "%u.%u.%u%c", &v[0], &v[1], &v[2], &rest) != 3 || v[0] > UINT16_MAX || v[1] > UINT16_MAX ||
	    v[2] > UINT16_MAX)
		return bad(err, "--fw", text, "three numbers 0..65535, such as 2.42.5000");
	o->cfg.fw_major = (uint16_t)v[0];
	o->cfg.fw_minor = (uint16_t)v[1];
	o->cfg.fw_subminor = (uint16_t)v[2];
	o->firmware = true;
	return 0;
}

static int
card_type(struct rp_options *o, const char *text, char err[RP_TEXT])
{
	if (strcmp(text, "cx3") != 0 && strcmp(text, "cx3pro") != 0)
		return bad(err, "--type", text, "cx3 or cx3pro");
	o->cfg.device_id = strcmp(text, "cx3") == 0 ? MLX4_PCI_DEV_CX3 : MLX4_PCI_DEV_CX3_PRO;
	return 0;
}

static int
port_type(struct rp_options *o, unsigned int port, const char *text, char err[RP_TEXT])
{
	static const char *const name[] = {[TP_PORT_ETH] = "eth", [TP_PORT_IB] = "ib", [TP_PORT_AUTO] = "auto"};

	for (unsigned int i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (strcmp(text, name[i]) == 0) {
			o->cfg.port_type[port] = (enum tp_port_type)i;
			return 0;
		}
	return bad(err, port == 0 ? "--port0" : "--port1", text, "eth, ib or auto");
}

static int
quirks(struct rp_options *o, const char *text, char err[RP_TEXT])
{
	char why[MLX4_QUIRK_ERR];
	struct mlx4_quirks q;

	mlx4_quirks_default(&q);
	o->cfg.quirks = text;
	if (mlx4_quirks_parse(&q, text, why) == 0)
		return 0;
	snprintf(err, RP_TEXT, "--quirks: %.230s", why);
	return -1;
}

static int
one(struct rp_options *o, int c, char err[RP_TEXT])
{
	unsigned int v = 0;
	int rc = 0;

	switch (c) {
	case OPT_TYPE: return card_type(o, optarg, err);
	case OPT_FW: return firmware(o, optarg, err);
	case OPT_PORTS:
		rc = number(&v, "--ports", optarg, 1, TP_MODEL_PORTS, err);
		o->cfg.num_ports = (uint8_t)v;
		o->ports = true;
		return rc;
	case OPT_PORT0: return port_type(o, 0, optarg, err);
	case OPT_PORT1: return port_type(o, 1, optarg, err);
	case OPT_WOL:
		rc = number(&v, "--wol", optarg, 0, 1, err);
		o->cfg.wol = v != 0;
		return rc;
	case OPT_QUIRKS: return quirks(o, optarg, err);
	case OPT_MAX: return number(&o->max, "--max", optarg, 0, MAX_LINES_MAX, err);
	case OPT_ALL: o->all = true; break;
	case OPT_HELP: o->help = true; break;
	default: o->version = true; break;
	}
	return 0;
}

int
rp_options(struct rp_options *o, int argc, char **argv, char err[RP_TEXT])
{
	int c;

	memset(o, 0, sizeof(*o));
	tp_model_config_default(&o->cfg);
	o->max = MAX_LINES;
	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == '?' || c == ':')
			return bad(err, "option", argv[optind - 1], "one of --help, with its value");
		if (one(o, c, err) != 0)
			return -1;
	}
	if (o->help || o->version)
		return 0;
	if (optind + 1 != argc)
		return bad(err, "recording", optind < argc ? argv[argc - 1] : "", "one TRACE; --help says more");
	o->path = argv[optind];
	return 0;
}
