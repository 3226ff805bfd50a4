/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The command line of triplane-hca. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <getopt.h>

#include "hca.h"
#include "wire_fd.h"

#define WAKE_US_DEFAULT 50u
#define WAKE_US_MAX 1000000u

enum {
	OPT_SOCKET = 256,
	OPT_TYPE,
	OPT_FW,
	OPT_GUID,
	OPT_PORTS,
	OPT_PORT0,
	OPT_PORT1,
	OPT_WIRE0,
	OPT_WIRE1,
	OPT_TRACE,
	OPT_CPU,
	OPT_WAKE,
	OPT_HELP,
};

static const struct option long_options[] = {
	{"socket", required_argument, NULL, OPT_SOCKET}, {"type", required_argument, NULL, OPT_TYPE},
	{"fw", required_argument, NULL, OPT_FW},         {"guid", required_argument, NULL, OPT_GUID},
	{"ports", required_argument, NULL, OPT_PORTS},   {"port0", required_argument, NULL, OPT_PORT0},
	{"port1", required_argument, NULL, OPT_PORT1},   {"wire0", required_argument, NULL, OPT_WIRE0},
	{"wire1", required_argument, NULL, OPT_WIRE1},   {"trace", required_argument, NULL, OPT_TRACE},
	{"cpu", required_argument, NULL, OPT_CPU},       {"wake-us", required_argument, NULL, OPT_WAKE},
	{"help", no_argument, NULL, OPT_HELP},           {NULL, 0, NULL, 0},
};

static const char usage[] =
	"usage: triplane-hca --socket PATH [OPTION]...\n"
	"\n"
	"A ConnectX-3 in software behind a vfio-user socket: a card for a QEMU guest or for\n"
	"--vdev=net_mlx4_user0,socket=PATH.\n"
	"\n"
	"  --socket PATH        where to listen; one client at a time, the next one may wait\n"
	"  --type cx3|cx3pro    which card (cx3pro)\n"
	"  --fw A.B.C           firmware version (2.42.5000)\n"
	"  --guid HEX           node GUID, the base of port GUIDs and MAC addresses\n"
	"  --ports 1|2          (2)\n"
	"  --port0, --port1 eth|ib|auto\n"
	"                       type of a port (eth)\n"
	"  --wire0, --wire1 WIRE\n"
	"                       cross (port 1 to port 2, the default), loopback (that of one port), none,\n"
	"                       tap:NAME, dgram:LOCAL,REMOTE (UNIX datagram sockets, a frame in each)\n"
	"  --trace FILE         each firmware command with its mailboxes; - for standard output\n"
	"  --cpu N              pin the card's thread\n"
	"  --wake-us N          an idle card sees new work so late at most, 1..1000000 (50)\n"
	"\n"
	"SIGUSR1 prints a report of counters and violations, as the end does; SIGTERM and SIGINT end it.\n";

static int
bad(struct hca_options *o, const char *name, const char *value, const char *wanted)
{
	snprintf(o->error, sizeof(o->error), "--%s '%s': wanted %s", name, value, wanted);
	return -1;
}

static int
number(struct hca_options *o, const char *name, const char *text, int base, uint64_t min, uint64_t max, uint64_t *out)
{
	char wanted[64], *end;
	uint64_t v;

	errno = 0;
	v = strtoull(text, &end, base);
	if (errno == 0 && end != text && *end == '\0' && text[0] != '-' && v >= min && v <= max) {
		*out = v;
		return 0;
	}
	snprintf(wanted, sizeof(wanted), base == 16 ? "hexadecimal %llx..%llx" : "%llu..%llu", (unsigned long long)min,
		 (unsigned long long)max);
	return bad(o, name, text, wanted);
}

static int
firmware(struct hca_options *o, const char *text)
{
	unsigned int v[3];
	char rest;

	if (sscanf(text, "%u.%u.%u%c", &v[0], &v[1], &v[2], &rest) != 3 || v[0] > UINT16_MAX || v[1] > UINT16_MAX ||
	    v[2] > UINT16_MAX)
		return bad(o, "fw", text, "three numbers 0..65535, such as 2.42.5000");
	o->card.fw_major = (uint16_t)v[0];
	o->card.fw_minor = (uint16_t)v[1];
	o->card.fw_subminor = (uint16_t)v[2];
	return 0;
}

static int
port_type(struct hca_options *o, unsigned int port, const char *text)
{
	static const char *const name[] = {[TP_PORT_ETH] = "eth", [TP_PORT_IB] = "ib", [TP_PORT_AUTO] = "auto"};

	for (unsigned int i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (strcmp(text, name[i]) == 0) {
			o->card.port_type[port] = (enum tp_port_type)i;
			return 0;
		}
	return bad(o, port == 0 ? "port0" : "port1", text, "eth, ib or auto");
}

static int
card_type(struct hca_options *o, const char *text)
{
	if (strcmp(text, "cx3") == 0)
		o->card.device_id = MLX4_PCI_DEV_CX3;
	else if (strcmp(text, "cx3pro") == 0)
		o->card.device_id = MLX4_PCI_DEV_CX3_PRO;
	else
		return bad(o, "type", text, "cx3 or cx3pro");
	return 0;
}

static int
one_option(struct hca_options *o, int opt, const char *arg)
{
	uint64_t v;
	int rc;

	switch (opt) {
	case OPT_SOCKET: o->socket = arg; return 0;
	case OPT_TYPE: return card_type(o, arg);
	case OPT_FW: return firmware(o, arg);
	case OPT_GUID: return number(o, "guid", arg, 16, 1, UINT64_MAX, &o->card.guid);
	case OPT_PORTS:
		rc = number(o, "ports", arg, 10, 1, TP_MODEL_PORTS, &v);
		o->card.num_ports = rc == 0 ? (uint8_t)v : 0;
		return rc;
	case OPT_PORT0: return port_type(o, 0, arg);
	case OPT_PORT1: return port_type(o, 1, arg);
	case OPT_WIRE0: o->wire[0] = arg; return 0;
	case OPT_WIRE1: o->wire[1] = arg; return 0;
	case OPT_TRACE: o->trace = arg; return 0;
	case OPT_CPU:
		rc = number(o, "cpu", arg, 10, 0, 1023, &v);
		o->cpu = rc == 0 ? (int)v : -1;
		return rc;
	case OPT_WAKE:
		rc = number(o, "wake-us", arg, 10, 1, WAKE_US_MAX, &v);
		o->wake_us = rc == 0 ? (uint32_t)v : 0;
		return rc;
	default: snprintf(o->error, sizeof(o->error), "unknown option or missing value; see --help"); return -1;
	}
}

int
hca_parse(struct hca_options *o, int argc, char **argv)
{
	int opt, rc;

	memset(o, 0, sizeof(*o));
	tp_model_config_default(&o->card);
	o->cpu = -1;
	o->wake_us = WAKE_US_DEFAULT;
	opterr = 0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (opt == OPT_HELP) {
			fputs(usage, stdout);
			return 1;
		}
		rc = one_option(o, opt, optarg);
		if (rc != 0)
			return rc;
	}
	if (optind != argc)
		return bad(o, "", argv[optind], "options only; see --help");
	if (o->socket == NULL) {
		snprintf(o->error, sizeof(o->error), "--socket PATH is missing; see --help");
		return -1;
	}
	return 0;
}

static int
dgram_wire(const char *spec, struct tp_wire **w)
{
	const char *comma = strchr(spec, ',');
	char *local;
	int rc;

	if (comma == NULL)
		return -EINVAL;
	local = strndup(spec, (size_t)(comma - spec));
	if (local == NULL)
		return -ENOMEM;
	rc = wire_dgram_create(local, comma + 1, w);
	free(local);
	return rc;
}

static int
attach_one(struct tp_model *m, unsigned int port, const char *spec)
{
	struct tp_wire *w = NULL;
	int rc;

	if (strcmp(spec, "loopback") == 0)
		return tp_model_wire_loopback(m, port);
	if (strcmp(spec, "none") == 0)
		return tp_model_wire_none(m, port);
	if (strncmp(spec, "tap:", 4) == 0)
		rc = wire_tap_create(spec + 4, &w);
	else if (strncmp(spec, "dgram:", 6) == 0)
		rc = dgram_wire(spec + 6, &w);
	else
		rc = -EINVAL;
	return rc != 0 ? rc : tp_model_wire_attach(m, port, w);
}

int
hca_attach_wires(struct tp_model *m, const struct hca_options *o, char error[HCA_TEXT])
{
	bool two = o->card.num_ports == 2;
	const char *spec[2] = {o->wire[0], o->wire[1]};

	if (!two && spec[1] != NULL) {
		snprintf(error, HCA_TEXT, "--wire1 '%s': the card has one port; wanted --ports 2", spec[1]);
		return -EINVAL;
	}
	/* What was not said: cross, loopback of a single port, or nothing next to another wire. */
	if (spec[0] == NULL && spec[1] == NULL)
		spec[0] = spec[1] = two ? "cross" : "loopback";
	for (unsigned int i = 0; i < 2; i++)
		if (spec[i] == NULL)
			spec[i] = strcmp(spec[!i], "cross") == 0 ? "cross" : "none";
	if (strcmp(spec[0], "cross") == 0 || strcmp(spec[1], "cross") == 0) {
		if (!two || strcmp(spec[0], spec[1]) != 0) {
			snprintf(error, HCA_TEXT, "wires '%s' and '%s': cross joins both ports of a two-port card",
				 spec[0], spec[1]);
			return -EINVAL;
		}
		return tp_model_wire_cross(m);
	}
	for (unsigned int i = 0; i < (two ? 2u : 1u); i++) {
		int rc = attach_one(m, i + 1, spec[i]);

		if (rc != 0) {
			snprintf(error, HCA_TEXT,
				 "--wire%u '%s': %s; wanted cross, loopback, none, tap:NAME or dgram:LOCAL,REMOTE", i,
				 spec[i], strerror(-rc));
			return rc;
		}
	}
	return 0;
}
