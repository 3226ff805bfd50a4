/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The command line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <getopt.h>

#include "apps/triplane/vfio/vfio.h"
#include "check.h"

#define LIMIT_S 300u
#define LIMIT_S_MAX 86400u
#define MODEL "net_mlx4_model"
#define USER "net_mlx4_user"

enum {
	OPT_VDEV = 256,
	OPT_ONLY,
	OPT_SKIP,
	OPT_READ_ONLY,
	OPT_PLAN,
	OPT_JSON,
	OPT_HTML,
	OPT_BUNDLE,
	OPT_QUIRKS,
	OPT_ANONYMOUS,
	OPT_LIMIT,
	OPT_ARGS,
	OPT_SYSROOT,
	OPT_REFLECTOR,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option longs[] = {
	{"vdev", required_argument, NULL, OPT_VDEV},
	{"args", required_argument, NULL, OPT_ARGS},
	{"only", required_argument, NULL, OPT_ONLY},
	{"skip", required_argument, NULL, OPT_SKIP},
	{"read-only", no_argument, NULL, OPT_READ_ONLY},
	{"plan", no_argument, NULL, OPT_PLAN},
	{"json", required_argument, NULL, OPT_JSON},
	{"html", required_argument, NULL, OPT_HTML},
	{"bundle", required_argument, NULL, OPT_BUNDLE},
	{"write-quirks", required_argument, NULL, OPT_QUIRKS},
	{"anonymous", no_argument, NULL, OPT_ANONYMOUS},
	{"limit", required_argument, NULL, OPT_LIMIT},
	{"sysroot", required_argument, NULL, OPT_SYSROOT},
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},
	{"reflector", no_argument, NULL, OPT_REFLECTOR},
	{NULL, 0, NULL, 0},
};

static const char usage[] =
	"usage: triplane-check [OPTION]... ADDRESS\n"
	"       triplane-check [OPTION]... SOCKET\n"
	"       triplane-check [OPTION]... --vdev net_mlx4_model0[,KEY=VALUE]...\n"
	"\n"
	"Tests a card in stages and says what it found: a card that is bound to VFIO, at its PCI ADDRESS such as "
	"0000:03:00.0; a\n"
	"card behind a vfio-user SOCKET, a path with a slash; a card in software. Nothing touches the card's flash, "
	"and "
	"the card\n"
	"is given back reset.\n"
	"\n"
	"  --vdev NAME[,KEY=VALUE]...\n"
	"                     a virtual device: net_mlx4_modelN or net_mlx4_userN\n"
	"  --args KEY=VALUE,...\n"
	"                     device arguments for the card at ADDRESS or SOCKET\n"
	"  --plan             prints what each stage would do and what it disturbs, and does nothing\n"
	"  --only STAGE,...   these stages alone, by number or name\n"
	"  --skip STAGE,...   all stages but these\n"
	"  --read-only        ends before the first stage that changes what lasts until a reset\n"
	"  --json FILE        writes the report as JSON, too\n"
	"  --html FILE        writes it as a page, too\n"
	"  --bundle FOLDER    makes a folder with the reports and what they rest on, to be sent to somebody\n"
	"  --write-quirks FILE\n"
	"                     writes which variants the card shows, as quirks-file=FILE of the driver takes them\n"
	"  --anonymous        takes the card's MAC addresses, GUIDs and serial number out of reports and bundle\n"
	"  --reflector        is the other end of a cable for stage 7 of a check elsewhere, until it is ended\n"
	"  --limit SECONDS    a stage that takes longer is ended, 1..86400 (300); the reflector ends then (86400)\n"
	"  --sysroot FOLDER   looks at sys, proc and dev in this folder in the first stage\n"
	"  --help             this text\n"
	"  --version          prints the version\n"
	"\n"
	"Exit code: 0 nothing failed; 1 something failed; 2 wrong arguments.\n";

void
ck_usage(void)
{
	unsigned int i;

	fputs(usage, stdout);
	fputs("\nStages:\n", stdout);
	for (i = 0; i < CK_STAGES; i++)
		printf("  %u %-14s %s%s\n", i, ck_stages[i].word, ck_stages[i].title,
		       ck_stages[i].lasts ? "" : " (with --read-only, too)");
}

static int
bad(char err[CK_TEXT], const char *what, const char *value, const char *wanted)
{
	snprintf(err, CK_TEXT, "%s '%.200s': wanted %s", what, value, wanted);
	return -1;
}

static int
stages_of(uint32_t *mask, const char *what, const char *text, char err[CK_TEXT])
{
	char list[256], *save = NULL, *word;
	int n;

	*mask = 0;
	if (strlen(text) >= sizeof(list))
		return bad(err, what, text, "a shorter list");
	strcpy(list, text);
	for (word = strtok_r(list, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save)) {
		n = ck_stage_find(word);
		if (n < 0)
			return bad(err, what, word, "a stage by its number 0..10 or its name; --help lists them");
		*mask |= 1u << n;
	}
	return *mask != 0 ? 0 : bad(err, what, text, "stages with commas between");
}

/* "socket=PATH" is not for the driver's table of arguments. */
static int
take_socket(struct ck_device *d, const char *args, char err[CK_TEXT])
{
	char list[CK_ARGS], *save = NULL, *word;
	size_t n = 0;

	snprintf(list, sizeof(list), "%s", args);
	d->args[0] = '\0';
	for (word = strtok_r(list, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save)) {
		if (strncmp(word, "socket=", 7) != 0)
			n += (size_t)snprintf(d->args + n, sizeof(d->args) - n, "%s%s", n != 0 ? "," : "", word);
		else if ((size_t)snprintf(d->socket, sizeof(d->socket), "%s", word + 7) >= sizeof(d->socket))
			return bad(err, "--vdev", word, "a path of less than 108 octets");
	}
	return d->socket[0] != '\0' ? 0 : bad(err, "--vdev", d->name, "socket=PATH behind it");
}

static int
vdev(struct ck_device *d, const char *text, char err[CK_TEXT])
{
	const size_t len = strcspn(text, ",");
	const char *args = text[len] == ',' ? text + len + 1 : "";

	if (len >= sizeof(d->name) || strlen(args) >= sizeof(d->args))
		return bad(err, "--vdev", text, "fewer octets");
	memcpy(d->name, text, len);
	d->name[len] = '\0';
	if (strncmp(d->name, MODEL, strlen(MODEL)) == 0) {
		d->bus = CK_BUS_MODEL;
		strcpy(d->args, args);
		return 0;
	}
	d->bus = CK_BUS_USER;
	return strncmp(d->name, USER, strlen(USER)) == 0 ? take_socket(d, args, err)
							 : bad(err, "--vdev", d->name, MODEL "N or " USER "N");
}

static int
device(struct ck_device *d, const char *text, char err[CK_TEXT])
{
	char addr[16];

	if (strchr(text, '/') != NULL) {
		d->bus = CK_BUS_USER;
		strcpy(d->name, USER "0");
		if ((size_t)snprintf(d->socket, sizeof(d->socket), "%s", text) >= sizeof(d->socket))
			return bad(err, "socket", text, "a path of less than 108 octets");
		return 0;
	}
	if (!vfio_addr(addr, text))
		return bad(err, "device", text,
			   "a PCI address such as 0000:03:00.0, or the path of a vfio-user socket");
	d->bus = CK_BUS_PCI;
	strcpy(d->name, addr);
	return 0;
}

static int
number(unsigned int *out, const char *text, char err[CK_TEXT])
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || v < 1 || v > LIMIT_S_MAX)
		return bad(err, "--limit", text, "seconds, 1..86400");
	*out = (unsigned int)v;
	return 0;
}

static int
one(struct ck_options *o, int c, uint32_t *only, uint32_t *skip, const char **args, char err[CK_TEXT])
{
	switch (c) {
	case OPT_VDEV:
		return o->dev.name[0] == '\0' ? vdev(&o->dev, optarg, err) : bad(err, "--vdev", optarg, "one device");
	case OPT_ONLY: return stages_of(only, "--only", optarg, err);
	case OPT_SKIP: return stages_of(skip, "--skip", optarg, err);
	case OPT_READ_ONLY: o->read_only = true; break;
	case OPT_PLAN: o->plan = true; break;
	case OPT_JSON: o->json = optarg; break;
	case OPT_HTML: o->html = optarg; break;
	case OPT_BUNDLE: o->bundle = optarg; break;
	case OPT_QUIRKS: o->quirks = optarg; break;
	case OPT_ANONYMOUS: o->anonymous = true; break;
	case OPT_LIMIT: return number(&o->limit_s, optarg, err);
	case OPT_ARGS: *args = optarg; break;
	case OPT_SYSROOT: o->sysroot = optarg; break;
	case OPT_REFLECTOR: o->reflector = true; break;
	case OPT_HELP: o->help = true; break;
	default: o->version = true; break;
	}
	return 0;
}

int
ck_options(struct ck_options *o, int argc, char **argv, char err[CK_TEXT])
{
	const uint32_t all = (1u << CK_STAGES) - 1;
	uint32_t only = all, skip = 0;
	const char *args = NULL;
	int c;

	memset(o, 0, sizeof(*o));
	o->limit_s = 0;
	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == '?' || c == ':')
			return bad(err, "option", argv[optind - 1], "one of --help, with its value");
		if (one(o, c, &only, &skip, &args, err) != 0)
			return -1;
	}
	o->stages = only & ~skip;
	if (o->reflector && (o->read_only || o->stages != all))
		return bad(err, "--reflector", "", "it without --read-only, --only and --skip: it is no stage");
	if (o->limit_s == 0)
		o->limit_s = o->reflector ? LIMIT_S_MAX : LIMIT_S;
	if (o->help || o->version)
		return 0;
	if (optind + (o->dev.name[0] == '\0') != argc)
		return bad(err, "device", optind < argc ? argv[argc - 1] : "",
			   "one ADDRESS, SOCKET or --vdev; --help says more");
	if (o->dev.name[0] == '\0' && device(&o->dev, argv[optind], err) != 0)
		return -1;
	if (args != NULL && (o->dev.args[0] != '\0' || o->dev.bus == CK_BUS_MODEL))
		return bad(err, "--args", args,
			   "it with an ADDRESS or SOCKET; arguments of --vdev stand behind its name");
	if (args != NULL && strlen(args) >= sizeof(o->dev.args))
		return bad(err, "--args", args, "fewer octets");
	if (args != NULL)
		strcpy(o->dev.args, args);
	if (o->stages == 0)
		return bad(err, "--skip", "", "a stage to be left");
	return 0;
}
