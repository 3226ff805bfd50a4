/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "fake.h"

#include <errno.h>
#include <stdlib.h>

enum { BURST, NAME, RING, QUEUES, PROMISC, MODE, WAIT, TYPE, MTU };

static char *
field(struct fake *f, const struct tp_setting *row, const struct tp_setting_at *at)
{
	switch (row->id) {
	case BURST: return f->burst;
	case NAME: return f->name;
	case RING: return f->port[at->port].ring;
	case QUEUES: return f->port[at->port].queues;
	case PROMISC: return f->port[at->port].promisc;
	case MODE: return f->port[at->port].mode;
	case MTU: return f->port[at->port].mtu;
	default: return f->port[at->port].wait[at->queue];
	}
}

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	struct fake *f = ctx;

	if (row->id == TYPE && at->port == 1)
		return -ENODEV;
	snprintf(value, TP_SETTING_VALUE, "%s", row->id == TYPE ? "cx3pro" : field(f, row, at));
	return 0;
}

/* Small ones are live. */
static enum tp_setting_when
needs(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value)
{
	(void)ctx;
	(void)at;
	return tp_setting_num(value) <= FAKE_MTU_LIVE ? TP_WHEN_LIVE : row->when;
}

static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	enum tp_setting_when when;
	struct fake *f = ctx;

	f->sets++;
	when = row->needs != NULL ? row->needs(ctx, row, at, value) : row->when;
	if ((when == TP_WHEN_STOPPED && f->started) || (when != TP_WHEN_LIVE && f->running)) {
		snprintf(err, TP_SETTING_ERR, "port %u is started", at->port);
		return -EBUSY;
	}
	if (f->fail_set != NULL && strcmp(f->fail_set, value) == 0) {
		snprintf(err, TP_SETTING_ERR, "%s: the device refuses %s", row->name, value);
		return -EIO;
	}
	strcpy(field(f, row, at), value);
	return 0;
}

#define ROW .get = get, .set = set

static const struct tp_setting rows[] = {
	{"burst", "", "packets", "32", "Packets of a burst", NULL, TP_SCOPE_PROGRAM, TP_SETTING_NUMBER, TP_WHEN_IDLE, 1,
	 512, ROW, .id = BURST},
	{"name", "", "", "", "A text", "a text", TP_SCOPE_PROGRAM, TP_SETTING_TEXT, TP_WHEN_LIVE, 0, 0, ROW,
	 .id = NAME},
	{"ring", "*ReceiveBuffers", "descriptors", "512", "Ring", NULL, TP_SCOPE_PORT, TP_SETTING_NUMBER,
	 TP_WHEN_STOPPED, 256, 4096, ROW, .id = RING},
	{"queues", "", "", "all", "Queues", "all|none", TP_SCOPE_PORT, TP_SETTING_NUMBER, TP_WHEN_STOPPED, 1, 4, ROW,
	 .id = QUEUES},
	{"promisc", "", "", "on", "Takes all", NULL, TP_SCOPE_PORT, TP_SETTING_SWITCH, TP_WHEN_LIVE, 0, 0, ROW,
	 .id = PROMISC},
	{"mode", "", "", "io", "Mode", "io|mac|macswap", TP_SCOPE_PORT, TP_SETTING_CHOICE, TP_WHEN_LIVE, 0, 0, ROW,
	 .id = MODE},
	{"wait", "DelayDropTimeout", "100 us", "0", "Waits", NULL, TP_SCOPE_RXQ, TP_SETTING_NUMBER, TP_WHEN_LIVE, 0,
	 65535, ROW, .id = WAIT},
	{"frame", "", "octets", "1500", "Octets", NULL, TP_SCOPE_PORT, TP_SETTING_NUMBER, TP_WHEN_STOPPED, 600, 9600,
	 ROW, .id = MTU, .needs = needs, .needs_text = "live up to 2000"},
	{"type", "", "", "cx3pro", "Card", "cx3|cx3pro", TP_SCOPE_CARD, TP_SETTING_CHOICE, TP_WHEN_MADE, 0, 0,
	 .get = get, .id = TYPE},
};

/* Queues are as many as the port has; with "all" four. */
static bool
object(void *arg, enum tp_setting_scope scope, unsigned int i, struct tp_setting_at *at)
{
	struct fake *f = arg;
	unsigned int port, n;

	memset(at, 0, sizeof(*at));
	at->scope = scope;
	switch (scope) {
	case TP_SCOPE_PROGRAM: return i == 0;
	case TP_SCOPE_PORT:
	case TP_SCOPE_CARD: at->port = (uint16_t)i; return i < FAKE_PORTS;
	case TP_SCOPE_RXQ:
		for (port = 0; port < FAKE_PORTS; port++, i -= n) {
			n = strcmp(f->port[port].queues, "all") == 0 ? 4 : (unsigned int)atoi(f->port[port].queues);
			if (i < n) {
				at->port = (uint16_t)port;
				at->queue = (uint16_t)i;
				return true;
			}
		}
		return false;
	default: return false;
	}
}

static void
changed(void *arg, const struct tp_setting *row, const struct tp_setting_at *at, const char *was, const char *is)
{
	struct fake *f = arg;
	char text[TP_SETTING_OBJECT];

	if (f->silent)
		return;
	assert_true(f->events < FAKE_EVENTS);
	tp_setting_at_text(at, text);
	snprintf(f->event[f->events++], sizeof(f->event[0]), "%s: %s: %.20s -> %.20s", text, row->name, was, is);
}

static int
stop(void *arg, bool ports, char err[TP_SETTING_ERR])
{
	struct fake *f = arg;

	(void)err;
	f->stops++;
	f->running = false;
	if (ports)
		f->started = false;
	return 0;
}

static int
go(void *arg, char err[TP_SETTING_ERR])
{
	struct fake *f = arg;

	f->goes++;
	if (f->fail_go > 0) {
		f->fail_go--;
		snprintf(err, TP_SETTING_ERR, "the device does not start");
		return -ENOMEM;
	}
	f->running = f->started = true;
	return 0;
}

static int
qos_get(void *arg, const struct tp_setting_at *at, void *decl)
{
	struct fake *f = arg;

	*(struct tp_qos_port *)decl = f->qos[at->port];
	return 0;
}

static int
qos_set(void *arg, const struct tp_setting_at *at, const void *decl, char err[TP_ERR_LEN])
{
	static const struct tp_qos_limits lim = {.max_tc = 8, .pfc = true, .ets = true, .dscp = true};
	struct fake *f = arg;
	int ret = tp_qos_port_check(decl, &lim, err);

	f->qos_sets++;
	if (ret == 0)
		f->qos[at->port] = *(const struct tp_qos_port *)decl;
	return ret;
}

int
fake_setup(void **state)
{
	static const struct tp_settings_ops ops = {object, changed, stop, go};
	static const struct tp_declared_ops qos = {qos_get, qos_set};
	static struct tp_settings_table table;
	struct fake *f = calloc(1, sizeof(*f));
	unsigned int i;

	assert_non_null(f);
	table = (struct tp_settings_table){.row = rows, .num = sizeof(rows) / sizeof(rows[0]), .ctx = f};
	strcpy(f->burst, "32");
	for (i = 0; i < FAKE_PORTS; i++) {
		strcpy(f->port[i].ring, "512");
		strcpy(f->port[i].queues, "2");
		strcpy(f->port[i].promisc, "on");
		strcpy(f->port[i].mode, "io");
		strcpy(f->port[i].mtu, "1500");
		strcpy(f->port[i].wait[0], "0");
		strcpy(f->port[i].wait[1], "0");
		strcpy(f->port[i].wait[2], "0");
		strcpy(f->port[i].wait[3], "0");
		tp_qos_port_default(&f->qos[i]);
	}
	f->running = f->started = true;
	assert_int_equal(tp_settings_create(&ops, f, &f->s), 0);
	assert_int_equal(tp_settings_add(f->s, &table), 0);
	assert_int_equal(tp_declared_add(f->s, TP_SCOPE_PORT, &qos, f, false, &f->declared), 0);
	*state = f;
	return 0;
}

int
fake_teardown(void **state)
{
	struct fake *f = *state;

	tp_settings_free(f->s);
	tp_declared_free(f->declared);
	free(f);
	return 0;
}

struct tp_setting_at
fake_at(const char *text)
{
	char err[TP_SETTING_ERR];
	struct tp_setting_at at;

	assert_int_equal(tp_setting_at_parse(text, &at, err), 0);
	return at;
}

void
fake_set(struct fake *f, const char *at, const char *name, const char *value, int ret, const char *word1,
	 const char *word2)
{
	const struct tp_setting_at where = fake_at(at);
	char err[TP_SETTING_ERR];

	assert_int_equal(tp_settings_set(f->s, &where, name, value, err), ret);
	if (ret == 0) {
		assert_string_equal(err, "");
		return;
	}
	assert_null(strchr(err, '\n'));
	if (strstr(err, word1) == NULL || strstr(err, word2) == NULL)
		fail_msg("'%s' lacks '%s' or '%s'", err, word1, word2);
}
