/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Device arguments of a card in software:
 *   type=cx3|cx3pro  fw=A.B.C  guid=0x...  ports=1|2  port0=, port1=eth|ib|auto
 *   sense0=, sense1=wire|none|eth|ib  stored0=, stored1=eth|ib
 *   wol=0|1  congestion=0|1  cc0=, cc1=prio:PRIO+.../NAME:VALUE/...
 *   wire0=, wire1=loopback|cross|none|ethdev:NAME|switch:NAME/KEY:VALUE/...|ibswitch:NAME/KEY:VALUE/...
 *   impair0=, impair1=drop:PPM/corrupt:PPM/dup:PPM/reorder:PPM/delay:US/seed:N
 *   ib-speed0=, ib-speed1=sdr|ddr|qdr|fdr10|fdr  rate0=, rate1=MBPS  fail=OPCODE:NTH:STATUS  timeout=OPCODE:NTH
 *   rubbish=OPCODE:NTH:SEED  slow=OPCODE:NTH:TIME
 *   break0=, break1=queue:NTH/completion:NTH/interrupt:NTH
 *   run=thread|service|poll|step  cpu=N  wake-us=N  model-quirks=ID:VARIANT,...
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_lcore.h>

#include "drivers/mlx4/hca/core.h"
#include "model_args.h"

#define PPM_MAX 1000000u
#define DELAY_US_MAX 10000000u
#define WAKE_US_MAX 1000000u
/* Of one CPU an idle card took 2.1 % with 500 us, 2.2 % with 1000 us and 0.9 to 1.1 % with 2000 us, next to other load. */
#define WAKE_US_DEFAULT 3000u
/* Cards are eight GUIDs apart: a card has a block of four. */
#define GUID_STEP 8u
#define NTH_MAX 1000000u
#define RUNS "thread, service, poll or step"
#define IB_SPEEDS "sdr, ddr, qdr, fdr10 or fdr"

static int
parse_type(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;

	if (strcmp(value, "cx3") == 0)
		m->cfg.device_id = MLX4_PCI_DEV_CX3;
	else if (strcmp(value, "cx3pro") == 0)
		m->cfg.device_id = MLX4_PCI_DEV_CX3_PRO;
	else
		return mlx4_arg_refuse(dev, key, value, "cx3 or cx3pro");
	return 0;
}

static int
parse_fw(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;
	unsigned int v[3];
	int end = 0;

	if (strspn(value, "0123456789.") != strlen(value) || strlen(value) > 17 ||
	    sscanf(value, "%u.%u.%u%n", &v[0], &v[1], &v[2], &end) != 3 || value[end] != '\0' || v[0] > UINT16_MAX ||
	    v[1] > UINT16_MAX || v[2] > UINT16_MAX)
		return mlx4_arg_refuse(dev, key, value, "A.B.C, each 0..65535, such as 2.42.5000");
	m->cfg.fw_major = v[0];
	m->cfg.fw_minor = v[1];
	m->cfg.fw_subminor = v[2];
	return 0;
}

static int
parse_guid(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;

	return mlx4_arg_number(dev, key, value, 1, UINT64_MAX - GUID_STEP, &m->cfg.guid);
}

static int
parse_ports(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;
	uint64_t v;
	int rc;

	rc = mlx4_arg_number(dev, key, value, 1, TP_MODEL_PORTS, &v);
	if (rc == 0)
		m->cfg.num_ports = v;
	return rc;
}

static int
parse_wol(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;
	uint64_t v;
	int rc = mlx4_arg_number(dev, key, value, 0, 1, &v);

	if (rc == 0)
		m->cfg.wol = v != 0;
	return rc;
}

static int
parse_congestion(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;
	uint64_t v;
	int rc = mlx4_arg_number(dev, key, value, 0, 1, &v);

	if (rc == 0)
		m->cfg.no_congestion = v == 0;
	return rc;
}

/* Keys of ports end in their number. */
static unsigned int
port_of(const char *key)
{
	return key[strlen(key) - 1] - '0';
}

static int
parse_port(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;
	enum tp_port_type *t = &m->cfg.port_type[port_of(key)];

	if (strcmp(value, "eth") == 0)
		*t = TP_PORT_ETH;
	else if (strcmp(value, "ib") == 0)
		*t = TP_PORT_IB;
	else if (strcmp(value, "auto") == 0)
		*t = TP_PORT_AUTO;
	else
		return mlx4_arg_refuse(dev, key, value, "eth, ib or auto");
	return 0;
}

static int
parse_sense(const char *dev, const char *key, const char *value, void *arg)
{
	static const char *const names[] = {
		[TP_SENSE_WIRE] = "wire", [TP_SENSE_NONE] = "none", [TP_SENSE_ETH] = "eth", [TP_SENSE_IB] = "ib"};
	struct mlx4_model_conf *m = arg;
	unsigned int i;

	for (i = 0; i < RTE_DIM(names); i++)
		if (strcmp(value, names[i]) == 0) {
			m->cfg.sense[port_of(key)] = (enum tp_sense)i;
			return 0;
		}
	return mlx4_arg_refuse(dev, key, value, "wire, none, eth or ib");
}

static int
parse_ib_speed(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;
	enum tp_ib_speed *s = &m->cfg.ib_speed[port_of(key)];

	*s = tp_model_ib_speed(value);
	return *s != TP_IB_SPEED_DEFAULT ? 0 : mlx4_arg_refuse(dev, key, value, IB_SPEEDS);
}

static int
parse_stored(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;
	bool *ib = &m->cfg.stored_ib[port_of(key)];

	*ib = strcmp(value, "ib") == 0;
	return *ib || strcmp(value, "eth") == 0 ? 0 : mlx4_arg_refuse(dev, key, value, "eth or ib");
}

/* Wires that have a name behind a colon. */
static bool
named_wire(const char *value, const char *prefix, enum model_wire kind, struct mlx4_model_conf *m, unsigned int p)
{
	size_t n = strlen(prefix);

	if (strncmp(value, prefix, n) != 0 || value[n] == '\0' || strlen(value + n) >= MODEL_WIRE_LEN)
		return false;
	m->wire[p].kind = kind;
	snprintf(m->wire[p].name, MODEL_WIRE_LEN, "%s", value + n);
	return true;
}

static int
parse_wire(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;
	unsigned int p = port_of(key);

	if (strcmp(value, "loopback") == 0)
		m->wire[p].kind = MODEL_WIRE_LOOPBACK;
	else if (strcmp(value, "cross") == 0)
		m->wire[p].kind = MODEL_WIRE_CROSS;
	else if (strcmp(value, "none") == 0)
		m->wire[p].kind = MODEL_WIRE_NONE;
	else if (!named_wire(value, "ethdev:", MODEL_WIRE_ETHDEV, m, p) &&
		 !named_wire(value, "switch:", MODEL_WIRE_SWITCH, m, p) &&
		 !named_wire(value, "ibswitch:", MODEL_WIRE_IBSWITCH, m, p))
		return mlx4_arg_refuse(dev, key, value,
				       "loopback, cross, none, ethdev:NAME (an ethdev made before), "
				       "switch:NAME[/KEY:VALUE]... or ibswitch:NAME[/KEY:VALUE]...");
	return 0;
}

static int
parse_rate(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;
	uint64_t v;
	int rc;

	rc = mlx4_arg_number(dev, key, value, 0, TP_RATE_MAX_MBPS, &v);
	if (rc == 0)
		m->cfg.rate_mbps[port_of(key)] = v;
	return rc;
}

static int
parse_rxbuf(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;
	uint64_t v, min = strcmp(key, "rxbuf") == 0 ? TP_RXBUF_MIN : 1;
	int rc;

	rc = mlx4_arg_number(dev, key, value, min, TP_RXBUF_MAX, &v);
	if (rc != 0)
		return rc;
	if (strcmp(key, "rxbuf") == 0)
		m->cfg.rxbuf_bytes = v;
	else if (strcmp(key, "xoff") == 0)
		m->cfg.xoff_bytes = v;
	else
		m->cfg.xon_bytes = v;
	return 0;
}

static int
impair_item(const char *dev, const char *key, char *item, struct tp_impair *imp)
{
	struct {
		const char *name, *what;
		uint32_t *out;
		uint32_t max;
	} t[] = {{"drop", "lost packets in a million", &imp->drop_ppm, PPM_MAX},
		 {"corrupt", "damaged packets in a million", &imp->corrupt_ppm, PPM_MAX},
		 {"dup", "doubled packets in a million", &imp->dup_ppm, PPM_MAX},
		 {"reorder", "packets in a million that the next one overtakes", &imp->reorder_ppm, PPM_MAX},
		 {"symbol", "packets in a million with a code error", &imp->symbol_ppm, PPM_MAX},
		 {"short", "packets in a million that are shorter than 64 octets", &imp->short_ppm, PPM_MAX},
		 {"delay", "microseconds", &imp->delay_us, DELAY_US_MAX}};
	const size_t len = strcspn(item, ":");
	char wanted[128], *end;
	unsigned long long v;
	unsigned int i;

	if (item[len] == ':' && len == strlen("seed") && strncmp(item, "seed", len) == 0)
		return mlx4_arg_number(dev, key, item + len + 1, 0, UINT64_MAX, &imp->seed);
	for (i = 0; i < RTE_DIM(t); i++) {
		if (item[len] != ':' || strlen(t[i].name) != len || strncmp(item, t[i].name, len) != 0)
			continue;
		errno = 0;
		v = strtoull(item + len + 1, &end, 0);
		if (errno == 0 && isdigit((unsigned char)item[len + 1]) && *end == '\0' && v <= t[i].max) {
			*t[i].out = (uint32_t)v;
			return 0;
		}
		snprintf(wanted, sizeof(wanted), "%s:N with N in 0..%u, %s", t[i].name, t[i].max, t[i].what);
		return mlx4_arg_refuse(dev, key, item, wanted);
	}
	return mlx4_arg_refuse(dev, key, item,
			       "one of drop:N, corrupt:N, dup:N, reorder:N, symbol:N, short:N (packets in a million), "
			       "delay:N (microseconds), seed:N; several are joined by '/'");
}

static int
parse_impair(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;
	unsigned int p = port_of(key);
	char text[256], *save = NULL, *item;
	int rc = 0;

	if ((size_t)snprintf(text, sizeof(text), "%s", value) >= sizeof(text))
		return mlx4_arg_refuse(dev, key, value, "a shorter list");
	for (item = strtok_r(text, "/", &save); rc == 0 && item != NULL; item = strtok_r(NULL, "/", &save))
		rc = impair_item(dev, key, item, &m->impair[p].imp);
	m->impair[p].set = true;
	return rc;
}

static int
parse_cc(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;
	struct tp_model_cc_bad bad;

	if ((size_t)snprintf(m->cc[port_of(key)], MODEL_CC_LEN, "%s", value) >= MODEL_CC_LEN)
		return mlx4_arg_refuse(dev, key, value, "a shorter list");
	return tp_model_cc_check(value, &bad) == 0 ? 0 : mlx4_arg_refuse(dev, key, bad.item, bad.wanted);
}

/* A command by its name, such as INIT_HCA, or its number. */
static int
parse_opcode(const char *text, uint16_t *opcode)
{
	unsigned long v;
	char *end;
	uint32_t i;

	v = strtoul(text, &end, 0);
	for (i = 0; i <= PRM_MAX(MLX4_HCR_F_OPCODE); i++) {
		const struct mlx4_cmd_desc *d = mlx4_cmd_describe(i);

		if (d != NULL && ((*end == '\0' && *text != '\0' && v == i) || strcmp(text, d->name) == 0)) {
			*opcode = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int
parse_fault(const char *dev, const char *key, const char *value, struct mlx4_model_conf *m, enum tp_fault kind,
	    const char *wanted)
{
	const bool third = kind != TP_FAULT_TIMEOUT;
	char text[MODEL_ARG_LEN], *save = NULL, *op, *nth, *status, *end;
	unsigned long n, s = 0;

	snprintf(text, sizeof(text), "%s", value);
	op = strtok_r(text, ":", &save);
	nth = strtok_r(NULL, ":", &save);
	status = third ? strtok_r(NULL, ":", &save) : NULL;
	if (op == NULL || nth == NULL || (third && status == NULL) || strtok_r(NULL, ":", &save) != NULL ||
	    strlen(value) >= sizeof(text) || parse_opcode(op, &m->fault.opcode) != 0)
		return mlx4_arg_refuse(dev, key, value, wanted);
	n = strtoul(nth, &end, 0);
	if (!isdigit((unsigned char)nth[0]) || *end != '\0' || n < 1 || n > NTH_MAX)
		return mlx4_arg_refuse(dev, key, value, wanted);
	if (third) {
		s = strtoul(status, &end, 0);
		if (!isdigit((unsigned char)status[0]) || *end != '\0' || s < 1 || s > UINT8_MAX)
			return mlx4_arg_refuse(dev, key, value, wanted);
	}
	m->fault.kind = kind;
	m->fault.nth = n;
	m->fault.status = s;
	return 0;
}

static int
parse_fail(const char *dev, const char *key, const char *value, void *arg)
{
	return parse_fault(dev, key, value, arg, TP_FAULT_STATUS,
			   "OPCODE:NTH:STATUS, a command's name or number, 1..1000000, 1..255");
}

static int
parse_timeout(const char *dev, const char *key, const char *value, void *arg)
{
	return parse_fault(dev, key, value, arg, TP_FAULT_TIMEOUT,
			   "OPCODE:NTH, a command's name or number, 1..1000000");
}

static int
parse_rubbish(const char *dev, const char *key, const char *value, void *arg)
{
	return parse_fault(dev, key, value, arg, TP_FAULT_RUBBISH,
			   "OPCODE:NTH:SEED, a command's name or number, 1..1000000, 1..255");
}

static int
parse_slow(const char *dev, const char *key, const char *value, void *arg)
{
	return parse_fault(dev, key, value, arg, TP_FAULT_SLOW,
			   "OPCODE:NTH:TIME, a command's name or number, 1..1000000, 1..255 hundredths of a second");
}

static int
parse_break(const char *dev, const char *key, const char *value, void *arg)
{
	static const char *const kinds[TP_BREAKS] = {
		[TP_BREAK_SQ] = "queue:", [TP_BREAK_CQE] = "completion:", [TP_BREAK_IRQ] = "interrupt:"};
	struct mlx4_model_conf *m = arg;
	char text[MODEL_ARG_LEN], *save = NULL, *item, *end;
	unsigned long v;
	unsigned int k;

	if ((size_t)snprintf(text, sizeof(text), "%s", value) >= sizeof(text))
		return mlx4_arg_refuse(dev, key, value, "a shorter list");
	for (item = strtok_r(text, "/", &save); item != NULL; item = strtok_r(NULL, "/", &save)) {
		for (k = 0; k < TP_BREAKS && strncmp(item, kinds[k], strlen(kinds[k])) != 0; k++)
			;
		item = k < TP_BREAKS ? item + strlen(kinds[k]) : item;
		v = strtoul(item, &end, 0);
		if (k == TP_BREAKS || !isdigit((unsigned char)*item) || *end != '\0' || v < 1 || v > NTH_MAX)
			return mlx4_arg_refuse(
				dev, key, value,
				"queue:NTH, completion:NTH or interrupt:NTH, NTH in 1..1000000; several are "
				"joined by '/'");
		m->breaks[port_of(key)][k] = (uint32_t)v;
	}
	return 0;
}

static int
parse_run(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;

	if (strcmp(value, "thread") == 0)
		m->run = MODEL_RUN_THREAD;
	else if (strcmp(value, "service") == 0)
		m->run = MODEL_RUN_SERVICE;
	else if (strcmp(value, "poll") == 0)
		m->run = MODEL_RUN_POLL;
	else if (strcmp(value, "step") == 0)
		m->run = MODEL_RUN_STEP;
	else
		return mlx4_arg_refuse(dev, key, value, RUNS);
	return 0;
}

static int
parse_cpu(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;
	uint64_t v;
	int rc;

	rc = mlx4_arg_number(dev, key, value, 0, CPU_SETSIZE - 1, &v);
	if (rc == 0)
		m->cpu = v;
	return rc;
}

static int
parse_wake(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;
	uint64_t v;
	int rc;

	rc = mlx4_arg_number(dev, key, value, 1, WAKE_US_MAX, &v);
	if (rc == 0)
		m->wake_us = v;
	return rc;
}

#define WIRES "loopback, cross, none, ethdev:NAME, switch:NAME[/KEY:VALUE]... or ibswitch:NAME[/KEY:VALUE]..."
#define CCS "prio:PRIO+.../NAME:VALUE/..."
#define IMPAIRS "drop:PPM/corrupt:PPM/dup:PPM/reorder:PPM/symbol:PPM/short:PPM/delay:US/seed:N"
static int
parse_replay(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;

	if (value[0] != '/' || strlen(value) >= sizeof(m->replay))
		return mlx4_arg_refuse(dev, key, value, "a path that begins with /, of up to 255 octets");
	snprintf(m->replay, sizeof(m->replay), "%s", value);
	return 0;
}

#define BREAKS "queue:NTH/completion:NTH/interrupt:NTH"

static int
parse_quirks(const char *dev, const char *key, const char *value, void *arg)
{
	struct mlx4_model_conf *m = arg;
	char err[MLX4_QUIRK_ERR];
	struct mlx4_quirks q;
	int rc;

	mlx4_quirks_default(&q);
	rc = mlx4_quirks_parse(&q, value, err);
	if (rc != 0)
		MLX4_LOG(ERR, "%s: %s=%s: %s", dev, key, value, err);
	mlx4_quirks_text(&q, ',', m->quirks);
	return rc;
}

const struct mlx4_arg mlx4_model_arg_table[] = {
	{"type", parse_type, 0, "cx3 or cx3pro", "", "cx3pro", "Which card"},
	{"fw", parse_fw, 0, "A.B.C, each 0..65535", "", "2.42.5000", "Version of the firmware"},
	{"guid", parse_guid, 0, "1..18446744073709551607", "", "", "Node GUID; ports have the next two"},
	{"ports", parse_ports, 0, "1..2", "", "2", "Ports of the card"},
	{"port0", parse_port, 0, "eth, ib or auto", "", "eth", "What the first port can be; auto: both"},
	{"port1", parse_port, 0, "eth, ib or auto", "", "eth", "What the second port can be"},
	{"sense0", parse_sense, 0, "wire, none, eth or ib", "", "wire",
	 "What the first port senses, if it can be both"},
	{"sense1", parse_sense, 0, "wire, none, eth or ib", "", "wire", "What the second port senses"},
	{"stored0", parse_stored, 0, "eth or ib", "", "eth", "What the first port is stored to be, if it can be both"},
	{"stored1", parse_stored, 0, "eth or ib", "", "eth", "What the second port is stored to be"},
	{"ib-speed0", parse_ib_speed, 0, IB_SPEEDS, "", "qdr",
	 "The highest speed that the first port trains at, if it is InfiniBand"},
	{"ib-speed1", parse_ib_speed, 0, IB_SPEEDS, "", "qdr", "The highest speed that the second port trains at"},
	{"wol", parse_wol, 0, "0 or 1", "", "0", "Whether the firmware offers wake-on-LAN"},
	{"congestion", parse_congestion, 0, "0 or 1", "", "1", "Whether the firmware offers congestion control"},
	{"cc0", parse_cc, 0, CCS, "", "", "Congestion control that the first port has stored: on after each reset"},
	{"cc1", parse_cc, 0, CCS, "", "", "Congestion control that the second port has stored"},
	{"wire0", parse_wire, 0, WIRES, "", "", "What the first port is plugged into; cross, loopback with one port"},
	{"wire1", parse_wire, 0, WIRES, "", "", "What the second port is plugged into"},
	{"impair0", parse_impair, 0, IMPAIRS, "", "", "A bad wire at the first port, reproducible"},
	{"impair1", parse_impair, 0, IMPAIRS, "", "", "A bad wire at the second port"},
	{"rate0", parse_rate, 0, "0..100000", "Mb/s", "0", "What the first port sends at most; 0: as fast as it can"},
	{"rate1", parse_rate, 0, "0..100000", "Mb/s", "0", "What the second port sends at most"},
	{"rxbuf", parse_rxbuf, 0, "16384..16777216", "octets", "524288", "Size of each receive buffer"},
	{"xoff", parse_rxbuf, 0, "1..rxbuf", "octets", "", "Where the sender is paused; half of rxbuf"},
	{"xon", parse_rxbuf, 0, "1..xoff", "octets", "", "Where it goes on; a quarter of rxbuf"},
	{"fail", parse_fail, 0, "OPCODE:NTH:STATUS", "", "", "A command that fails"},
	{"timeout", parse_timeout, 0, "OPCODE:NTH", "", "", "A command that never ends"},
	{"rubbish", parse_rubbish, 0, "OPCODE:NTH:SEED", "", "", "A command that answers at random"},
	{"slow", parse_slow, 0, "OPCODE:NTH:TIME", "", "",
	 "A command for which the card stands still, 1..255 hundredths of a second"},
	{"break0", parse_break, 0, BREAKS, "", "",
	 "What breaks at the first port, once: its queue, a completion of a send, an interrupt of the card"},
	{"break1", parse_break, 0, BREAKS, "", "", "What breaks at the second port"},
	{"model-quirks", parse_quirks, 0, mlx4_quirk_values, "", "",
	 "What this card does otherwise than is assumed; see 'show quirks'"},
	{"replay", parse_replay, 0, "a path that begins with /", "", "",
	 "A trace of a card: what that one said about itself, this one says, too"},
	{"run", parse_run, 0, RUNS, "", "thread", "Who runs the card"},
	{"cpu", parse_cpu, 0, "0..1023", "", "", "The CPU of its thread; any"},
	{"wake-us", parse_wake, 0, "1..1000000", "us", "3000", "An idle card sleeps so long at most"},
};
const unsigned int mlx4_num_model_args = RTE_DIM(mlx4_model_arg_table);

/* Thresholds lie in the buffer, XON not above XOFF. */
static int
check_rxbuf(const char *dev, const struct tp_model_config *cfg)
{
	uint32_t size = cfg->rxbuf_bytes != 0 ? cfg->rxbuf_bytes : TP_RXBUF_DEFAULT;
	uint32_t xoff = cfg->xoff_bytes != 0 ? cfg->xoff_bytes : size / 2;
	char value[16], wanted[64];

	if (xoff <= size && cfg->xon_bytes <= xoff)
		return 0;
	snprintf(value, sizeof(value), "%u", xoff <= size ? cfg->xon_bytes : xoff);
	snprintf(wanted, sizeof(wanted), "1..%u, the %s", xoff <= size ? xoff : size,
		 xoff <= size ? "bytes of xoff" : "bytes of a buffer");
	return mlx4_arg_refuse(dev, xoff <= size ? "xon" : "xoff", value, wanted);
}

/* What no single key can show. */
static int
check(const char *dev, const struct mlx4_model_conf *m)
{
	unsigned int p;
	bool cross = m->wire[0].kind == MODEL_WIRE_CROSS || m->wire[1].kind == MODEL_WIRE_CROSS;

	if (cross && m->cfg.num_ports < 2)
		return mlx4_arg_refuse(dev, "wire0", "cross", "two ports (ports=2); a card with one has no other");
	for (p = 0; cross && p < TP_MODEL_PORTS; p++)
		if (m->wire[p].kind != MODEL_WIRE_CROSS && m->wire[p].kind != MODEL_WIRE_DEFAULT)
			return mlx4_arg_refuse(dev, p == 0 ? "wire0" : "wire1", "(not cross)",
					       "cross on both ports or on none");
	for (p = 0; p < TP_MODEL_PORTS; p++)
		if (m->cc[p][0] != '\0' && (m->cfg.device_id != MLX4_PCI_DEV_CX3_PRO || m->cfg.no_congestion))
			return mlx4_arg_refuse(dev, p == 0 ? "cc0" : "cc1", m->cc[p], "a cx3pro with congestion=1");
	for (p = m->cfg.num_ports; p < TP_MODEL_PORTS; p++)
		if (m->wire[p].kind != MODEL_WIRE_DEFAULT || m->impair[p].set || m->cfg.rate_mbps[p] != 0 ||
		    m->cc[p][0] != '\0' || m->breaks[p][TP_BREAK_SQ] != 0 || m->breaks[p][TP_BREAK_CQE] != 0 ||
		    m->breaks[p][TP_BREAK_IRQ] != 0)
			return mlx4_arg_refuse(dev, "ports", "1", "2, as something is said of the second port");
	return check_rxbuf(dev, &m->cfg);
}

int
mlx4_model_args_parse(const char *dev, const char *text, struct mlx4_model_conf *m, struct mlx4_eth_args *eth)
{
	const struct mlx4_arg_table tables[] = {
		{mlx4_eth_arg_table, mlx4_num_eth_args, eth},
		{mlx4_model_arg_table, mlx4_num_model_args, m},
	};
	size_t digits = strlen(dev);
	int rc;

	memset(m, 0, sizeof(*m));
	tp_model_config_default(&m->cfg);
	while (digits > 0 && isdigit((unsigned char)dev[digits - 1]))
		digits--;
	m->cfg.guid += GUID_STEP * strtoul(dev + digits, NULL, 10);
	m->cpu = -1;
	m->wake_us = WAKE_US_DEFAULT;
	mlx4_eth_args_default(eth);
	rc = mlx4_devargs_parse(dev, text, tables, RTE_DIM(tables));
	if (rc != 0)
		return rc;
	return check(dev, m);
}
