/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The command line of triplane-hca. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <getopt.h>

#include "hca.h"
#include "lib/quirk/quirk.h"

#define WAKE_US_DEFAULT 50u
#define WAKE_US_MAX 1000000u
#define GUID_STEP 8u

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
	OPT_IB_SPEED0,
	OPT_IB_SPEED1,
	OPT_RATE0,
	OPT_RATE1,
	OPT_CC0,
	OPT_CC1,
	OPT_RXBUF,
	OPT_XOFF,
	OPT_XON,
	OPT_WOL,
	OPT_QUIRKS,
	OPT_TRACE,
	OPT_REPLAY,
	OPT_CPU,
	OPT_WAKE,
	OPT_CARD,
	OPT_EAL,
	OPT_HELP,
};

static const struct option long_options[] = {
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"type", required_argument, NULL, OPT_TYPE},
	{"fw", required_argument, NULL, OPT_FW},
	{"guid", required_argument, NULL, OPT_GUID},
	{"ports", required_argument, NULL, OPT_PORTS},
	{"port0", required_argument, NULL, OPT_PORT0},
	{"port1", required_argument, NULL, OPT_PORT1},
	{"wire0", required_argument, NULL, OPT_WIRE0},
	{"wire1", required_argument, NULL, OPT_WIRE1},
	{"wol", required_argument, NULL, OPT_WOL},
	{"quirks", required_argument, NULL, OPT_QUIRKS},
	{"trace", required_argument, NULL, OPT_TRACE},
	{"replay", required_argument, NULL, OPT_REPLAY},
	{"ib-speed0", required_argument, NULL, OPT_IB_SPEED0},
	{"ib-speed1", required_argument, NULL, OPT_IB_SPEED1},
	{"rate0", required_argument, NULL, OPT_RATE0},
	{"rate1", required_argument, NULL, OPT_RATE1},
	{"cc0", required_argument, NULL, OPT_CC0},
	{"cc1", required_argument, NULL, OPT_CC1},
	{"rxbuf", required_argument, NULL, OPT_RXBUF},
	{"xoff", required_argument, NULL, OPT_XOFF},
	{"xon", required_argument, NULL, OPT_XON},
	{"cpu", required_argument, NULL, OPT_CPU},
	{"wake-us", required_argument, NULL, OPT_WAKE},
	{"card", required_argument, NULL, OPT_CARD},
	{"eal", required_argument, NULL, OPT_EAL},
	{"help", no_argument, NULL, OPT_HELP},
	{NULL, 0, NULL, 0},
};

static const char usage[] =
	"usage: triplane-hca --socket PATH [OPTION]... [--socket PATH [OPTION]...]...\n"
	"       triplane-hca --card socket=PATH[,OPTION=VALUE]... [--card ...]...\n"
	"\n"
	"A ConnectX-3 in software behind a vfio-user socket: a card for a QEMU guest or for\n"
	"--vdev=net_mlx4_user0,socket=PATH. Up to 16 cards: each further --socket or --card begins one.\n"
	"\n"
	"  --socket PATH        where to listen; one client at a time, the next one may wait\n"
	"  --type cx3|cx3pro    which card (cx3pro)\n"
	"  --fw A.B.C           firmware version (2.42.5000)\n"
	"  --guid HEX           node GUID, the base of port GUIDs and MAC addresses\n"
	"  --ports 1|2          (2)\n"
	"  --port0, --port1 eth|ib|auto\n"
	"                       type of a port (eth)\n"
	"  --ib-speed0, --ib-speed1 sdr|ddr|qdr|fdr10|fdr\n"
	"                       highest speed that an InfiniBand port trains at (qdr)\n"
	"  --wire0, --wire1 WIRE\n"
	"                       cross (port 1 to port 2, the default), loopback (that of one port), none,\n"
	"                       tap:NAME, dgram:LOCAL,REMOTE (UNIX datagram sockets, a frame in each),\n"
	"                       switch:NAME[/KEY:VALUE]..., ibswitch:NAME[/KEY:VALUE]... for InfiniBand\n"
	"                       (made with its first port),\n"
	"                       ethdev:NAME (a DPDK port that --eal made)\n"
	"  --rate0, --rate1 MBPS\n"
	"                       what a port sends at most, 0..100000 (0: as fast as it can)\n"
	"  --cc0, --cc1 prio:PRIO+.../NAME:VALUE/...\n"
	"                       congestion control (DCQCN) that a port has stored: on after each reset, names as\n"
	"                       those of 'roce cc' of triplane\n"
	"  --rxbuf BYTES        receive buffers, 16384..16777216 (524288); --xoff and --xon BYTES of them\n"
	"                       pause the sender (half) and let it go on (a quarter)\n"
	"  --wol 0|1            whether the firmware offers wake-on-LAN (0)\n"
	"  --quirks LIST        what the card does otherwise than is assumed: ID:VARIANT,... (docs/fidelity.md)\n"
	"  --trace FILE         each firmware command with its mailboxes, and the first entries of queues; - for "
	"standard output\n"
	"  --replay FILE        what the card of this trace said about itself, this one says, too\n"
	"  --eal 'ARGUMENTS'    starts the EAL for ethdev wires, such as\n"
	"                       '--no-huge -m 64 --no-pci --vdev=net_tap0,iface=lab0'\n"
	"  --cpu N              pin the card's thread\n"
	"  --wake-us N          an idle card sees new work so late at most, 1..1000000 (50)\n"
	"\n"
	"SIGUSR1 prints a report of counters and broken rules, as the end does; SIGTERM and SIGINT end it.\n";

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
firmware(struct hca_options *o, struct hca_card *c, const char *text)
{
	unsigned int v[3];
	char rest;

	if (sscanf(text, "%u.%u.%u%c", &v[0], &v[1], &v[2], &rest) != 3 || v[0] > UINT16_MAX || v[1] > UINT16_MAX ||
	    v[2] > UINT16_MAX)
		return bad(o, "fw", text, "three numbers 0..65535, such as 2.42.5000");
	c->cfg.fw_major = (uint16_t)v[0];
	c->cfg.fw_minor = (uint16_t)v[1];
	c->cfg.fw_subminor = (uint16_t)v[2];
	return 0;
}

static int
quirks(struct hca_options *o, struct hca_card *c, const char *arg)
{
	char err[MLX4_QUIRK_ERR];
	struct mlx4_quirks q;

	mlx4_quirks_default(&q);
	c->cfg.quirks = arg;
	if (mlx4_quirks_parse(&q, arg, err) == 0)
		return 0;
	snprintf(o->error, sizeof(o->error), "--quirks: %.230s", err);
	return -1;
}

static int
port_type(struct hca_options *o, struct hca_card *c, unsigned int port, const char *text)
{
	static const char *const name[] = {[TP_PORT_ETH] = "eth", [TP_PORT_IB] = "ib", [TP_PORT_AUTO] = "auto"};

	for (unsigned int i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (strcmp(text, name[i]) == 0) {
			c->cfg.port_type[port] = (enum tp_port_type)i;
			return 0;
		}
	return bad(o, port == 0 ? "port0" : "port1", text, "eth, ib or auto");
}

static int
ib_speed(struct hca_options *o, struct hca_card *c, unsigned int port, const char *text)
{
	c->cfg.ib_speed[port] = tp_model_ib_speed(text);
	if (c->cfg.ib_speed[port] != TP_IB_SPEED_DEFAULT)
		return 0;
	return bad(o, port == 0 ? "ib-speed0" : "ib-speed1", text, "sdr, ddr, qdr, fdr10 or fdr");
}

static int
card_type(struct hca_options *o, struct hca_card *c, const char *text)
{
	if (strcmp(text, "cx3") == 0)
		c->cfg.device_id = MLX4_PCI_DEV_CX3;
	else if (strcmp(text, "cx3pro") == 0)
		c->cfg.device_id = MLX4_PCI_DEV_CX3_PRO;
	else
		return bad(o, "type", text, "cx3 or cx3pro");
	return 0;
}

static int
number32(struct hca_options *o, const char *name, const char *text, uint64_t min, uint64_t max, uint32_t *out)
{
	uint64_t v;
	int rc = number(o, name, text, 10, min, max, &v);

	*out = rc == 0 ? (uint32_t)v : 0;
	return rc;
}

static int
stored_cc(struct hca_options *o, struct hca_card *c, unsigned int port, const char *text)
{
	struct tp_model_cc_bad why;

	c->cfg.cc[port] = text;
	return tp_model_cc_check(text, &why) == 0 ? 0 : bad(o, port == 0 ? "cc0" : "cc1", why.item, why.wanted);
}

static struct hca_card *
current(struct hca_options *o)
{
	return &o->card[o->num_cards - 1];
}

/* The card that was talked about is complete, the next one begins. */
static int
next_card(struct hca_options *o)
{
	struct hca_card *c;

	if (o->num_cards == HCA_CARDS) {
		snprintf(o->error, sizeof(o->error), "--socket: wanted at most %u cards", HCA_CARDS);
		return -1;
	}
	c = &o->card[o->num_cards++];
	tp_model_config_default(&c->cfg);
	/* Ports have the GUIDs behind that of the card. */
	c->cfg.guid += (uint64_t)(o->num_cards - 1) * GUID_STEP;
	c->cpu = -1;
	c->wake_us = WAKE_US_DEFAULT;
	return 0;
}

static int
set_socket(struct hca_options *o, const char *path)
{
	if (current(o)->socket != NULL && next_card(o) != 0)
		return -1;
	current(o)->socket = path;
	return 0;
}

static int
one_option(struct hca_options *o, int opt, const char *arg)
{
	struct hca_card *c = current(o);
	uint64_t v;
	int rc;

	switch (opt) {
	case OPT_SOCKET: return set_socket(o, arg);
	case OPT_TYPE: return card_type(o, c, arg);
	case OPT_FW: return firmware(o, c, arg);
	case OPT_GUID: return number(o, "guid", arg, 16, 1, UINT64_MAX, &c->cfg.guid);
	case OPT_PORTS:
		rc = number(o, "ports", arg, 10, 1, TP_MODEL_PORTS, &v);
		c->cfg.num_ports = rc == 0 ? (uint8_t)v : 0;
		return rc;
	case OPT_PORT0: return port_type(o, c, 0, arg);
	case OPT_PORT1: return port_type(o, c, 1, arg);
	case OPT_WIRE0: c->wire[0] = arg; return 0;
	case OPT_WIRE1: c->wire[1] = arg; return 0;
	case OPT_IB_SPEED0: return ib_speed(o, c, 0, arg);
	case OPT_IB_SPEED1: return ib_speed(o, c, 1, arg);
	case OPT_RATE0: return number32(o, "rate0", arg, 0, TP_RATE_MAX_MBPS, &c->cfg.rate_mbps[0]);
	case OPT_RATE1: return number32(o, "rate1", arg, 0, TP_RATE_MAX_MBPS, &c->cfg.rate_mbps[1]);
	case OPT_CC0: return stored_cc(o, c, 0, arg);
	case OPT_CC1: return stored_cc(o, c, 1, arg);
	case OPT_RXBUF: return number32(o, "rxbuf", arg, TP_RXBUF_MIN, TP_RXBUF_MAX, &c->cfg.rxbuf_bytes);
	case OPT_XOFF: return number32(o, "xoff", arg, 1, TP_RXBUF_MAX, &c->cfg.xoff_bytes);
	case OPT_XON: return number32(o, "xon", arg, 1, TP_RXBUF_MAX, &c->cfg.xon_bytes);
	case OPT_WOL:
		rc = number(o, "wol", arg, 10, 0, 1, &v);
		c->cfg.wol = rc == 0 && v != 0;
		return rc;
	case OPT_QUIRKS: return quirks(o, c, arg);
	case OPT_TRACE: c->trace = arg; return 0;
	case OPT_REPLAY: c->replay = arg; return 0;
	case OPT_CPU:
		rc = number(o, "cpu", arg, 10, 0, 1023, &v);
		c->cpu = rc == 0 ? (int)v : -1;
		return rc;
	case OPT_WAKE: return number32(o, "wake-us", arg, 1, WAKE_US_MAX, &c->wake_us);
	default: snprintf(o->error, sizeof(o->error), "unknown option or missing value; see --help"); return -1;
	}
}

/* The option of a card with this name. */
static const struct option *
card_option(const char *name, size_t len)
{
	for (const struct option *l = long_options; l->name != NULL; l++)
		if (strlen(l->name) == len && memcmp(l->name, name, len) == 0 && l->val != OPT_CARD &&
		    l->val != OPT_EAL && l->val != OPT_HELP)
			return l;
	return NULL;
}

/* The comma behind a value: the next one that NAME= follows, as values may have commas too. */
static char *
value_end(char *text)
{
	for (char *p = strchr(text, ','); p != NULL; p = strchr(p + 1, ',')) {
		size_t len = strspn(p + 1, "abcdefghijklmnopqrstuvwxyz0123456789-");

		if (len != 0 && p[1 + len] == '=')
			return p;
	}
	return NULL;
}

/* "NAME=VALUE,NAME=VALUE..." of one card; cut in place. */
static int
one_card(struct hca_options *o, char *text)
{
	if (current(o)->socket != NULL && next_card(o) != 0)
		return -1;
	while (text != NULL) {
		char *end = value_end(text), *eq = strchr(text, '=');
		const struct option *l;
		int rc;

		if (end != NULL)
			*end++ = '\0';
		l = eq == NULL ? NULL : card_option(text, (size_t)(eq - text));
		if (l == NULL)
			return bad(o, "card", text, "OPTION=VALUE with an option of a card; see --help");
		if (l->val == OPT_SOCKET && current(o)->socket != NULL)
			return bad(o, "card", text, "one socket for a card");
		rc = one_option(o, l->val, eq + 1);
		if (rc != 0)
			return rc;
		text = end;
	}
	return 0;
}

/* Values are kept where they stand: in argv, or in a copy that lives as long as the options. */
static int
card_words(struct hca_options *o, const char *arg)
{
	char *copy = strdup(arg), **texts = realloc(o->text, (o->num_texts + 1) * sizeof(*texts));

	if (texts != NULL)
		o->text = texts;
	if (copy == NULL || texts == NULL) {
		free(copy);
		snprintf(o->error, sizeof(o->error), "--card: no memory");
		return -1;
	}
	o->text[o->num_texts++] = copy;
	return one_card(o, copy);
}

void
hca_options_free(struct hca_options *o)
{
	for (unsigned int i = 0; i < o->num_texts; i++)
		free(o->text[i]);
	free(o->text);
	free(o->eal);
	memset(o, 0, sizeof(*o));
}

static int
take_option(struct hca_options *o, int opt, const char *arg)
{
	if (opt == OPT_CARD)
		return card_words(o, arg);
	if (opt != OPT_EAL)
		return one_option(o, opt, arg);
	if (o->eal != NULL)
		return bad(o, "eal", arg, "it once");
	o->eal = strdup(arg);
	return o->eal != NULL ? 0 : bad(o, "eal", arg, "more memory");
}

/* Thresholds lie in the buffer, XON not above XOFF. */
static int
check_rxbuf(struct hca_options *o, const struct hca_card *c)
{
	uint32_t size = c->cfg.rxbuf_bytes != 0 ? c->cfg.rxbuf_bytes : TP_RXBUF_DEFAULT;
	uint32_t xoff = c->cfg.xoff_bytes != 0 ? c->cfg.xoff_bytes : size / 2;

	if (xoff > size)
		snprintf(o->error, sizeof(o->error), "--xoff '%u': wanted 1..%u, the bytes of rxbuf", xoff, size);
	else if (c->cfg.xon_bytes > xoff)
		snprintf(o->error, sizeof(o->error), "--xon '%u': wanted 1..%u, the bytes of xoff", c->cfg.xon_bytes,
			 xoff);
	else
		return 0;
	return -1;
}

/* What a port has stored, the card must have: congestion control of RoCE v2, and the port. */
static int
check_cc(struct hca_options *o, const struct hca_card *c)
{
	for (unsigned int i = 0; i < TP_MODEL_PORTS; i++) {
		const char *name = i == 0 ? "cc0" : "cc1", *text = c->cfg.cc[i];

		if (text != NULL && c->cfg.device_id != MLX4_PCI_DEV_CX3_PRO)
			return bad(o, name, text, "--type cx3pro");
		if (text != NULL && i >= c->cfg.num_ports)
			return bad(o, name, text, "--ports 2");
	}
	return 0;
}

int
hca_parse(struct hca_options *o, int argc, char **argv)
{
	int opt, rc;

	memset(o, 0, sizeof(*o));
	next_card(o);
	opterr = 0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (opt == OPT_HELP) {
			fputs(usage, stdout);
			return 1;
		}
		rc = take_option(o, opt, optarg);
		if (rc != 0)
			return rc;
	}
	if (optind != argc)
		return bad(o, "", argv[optind], "options only; see --help");
	if (current(o)->socket == NULL) {
		snprintf(o->error, sizeof(o->error), "--socket PATH is missing; see --help");
		return -1;
	}
	for (unsigned int i = 0; i < o->num_cards; i++)
		if (check_rxbuf(o, &o->card[i]) != 0 || check_cc(o, &o->card[i]) != 0)
			return -1;
	return 0;
}
