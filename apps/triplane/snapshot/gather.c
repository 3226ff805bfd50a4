/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "history.h"
#include "snapshot.h"

const struct snapshot_part snapshot_parts[] = {
	{"settings_diff", "Settings that are not the defaults", "show settings diff", false},
	{"system", "System", NULL, false},
	{"devices", "Devices and firmware", "show device", false},
	{"ports", "Ports", "show port info all", false},
	{"health", "Health", "show health all", false},
	{"history", "The last minutes", NULL, false},
	{"counters", "Counters", NULL, false},
	{"model", "The card in software: broken rules", "show model", false},
	{"queues", "Queues", "show port queues all", true},
	{"forwarding", "Forwarding", "show fwd", true},
	{"qos", "Quality of service", "show qos all", true},
	{"groups", "Groups of queues", "show group all", true},
	{"dcbx", "DCBX", "show dcbx all", true},
	{"roce", "RoCE: devices", "show roce devices", true},
	{"roce_stats", "RoCE: counters", "show roce stats all", true},
	{"share", "Shared ports", "show share", true},
	{"ib", "InfiniBand", "show ib", true},
	{"ipoib", "IPoIB", "show ipoib", true},
	{"settings", "All settings", "show settings", true},
};
const unsigned int snapshot_num_parts = RTE_DIM(snapshot_parts);

/*
 * What a command prints as JSON, of malloc. NULL: it has failed, why is in err. The output is the program's, since commands print
 * there; nobody else prints while one of them has control.
 */
static char *
show(struct app *app, const char *command, char *err, size_t err_len)
{
	FILE *const was = stdout, *f;
	char line[256], why[512], *text = NULL;
	size_t len = 0;
	int ret;

	err[0] = '\0';
	snprintf(line, sizeof(line), "%s json", command);
	f = open_memstream(&text, &len);
	if (f == NULL) {
		snprintf(err, err_len, "no memory");
		return NULL;
	}
	fflush(was);
	app_err_catch(err, err_len);
	stdout = f;
	ret = cmd_run(app->reg, line, why, sizeof(why));
	stdout = was;
	app_err_catch(NULL, 0);
	if (fclose(f) == 0 && ret == 0)
		return text;
	if (err[0] == '\0')
		snprintf(err, err_len, "%s", why[0] != '\0' ? why : strerror(-ret));
	free(text);
	return NULL;
}

static void
add_shown(struct app *app, FILE *f, const struct snapshot_part *part)
{
	char err[512], *text = show(app, part->command, err, sizeof(err));
	struct out o;

	fprintf(f, ",\"%s\":", part->name);
	if (text != NULL) {
		fputs(text, f);
	} else {
		out_init(&o, f, true);
		out_str(&o, "unavailable", err);
		out_done(&o);
	}
	free(text);
}

/* --- counters ---------------------------------------------------------------------------------------------------------- */

/* A look at the counters of all ports: those of ethdev and the driver's. */
struct counters {
	char *text[2];
	struct mj_doc doc[2];
	bool there[2];
	struct timespec at;
};

static void
counters_look(struct app *app, struct counters *c)
{
	static const char *const commands[] = {"show port stats all", "show port xstats all"};
	unsigned int i;
	char err[512];

	clock_gettime(CLOCK_MONOTONIC, &c->at);
	for (i = 0; i < 2; i++) {
		c->text[i] = show(app, commands[i], err, sizeof(err));
		c->there[i] = c->text[i] != NULL && mj_parse(c->text[i], strlen(c->text[i]), &c->doc[i]) == 0;
	}
}

static void
counters_free(struct counters *c)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (c->there[i])
			mj_free(&c->doc[i]);
		free(c->text[i]);
	}
}

static const struct mj *
port_of(const struct counters *c, unsigned int kind, uint64_t port)
{
	const struct mj *ports = c->there[kind] ? mj_get(c->doc[kind].node, "ports") : NULL, *p;

	for (p = ports == NULL ? NULL : ports->first; p != NULL; p = p->next)
		if (mj_uint(p, "port", UINT64_MAX) == port)
			return p;
	return NULL;
}

static void
counters_port(struct out *o, const struct counters *a, const struct counters *b, uint64_t port, double seconds)
{
	const struct mj *before, *now, *v, *was;
	unsigned int kind;

	for (kind = 0; kind < 2; kind++) {
		before = port_of(a, kind, port);
		now = port_of(b, kind, port);
		for (v = now == NULL ? NULL : now->first; v != NULL; v = v->next) {
			if (strcmp(v->key, "port") == 0 || !v->is_whole)
				continue;
			was = mj_get(before, v->key);
			out_object(o, NULL);
			out_str(o, "name", v->key);
			out_u64(o, "value", v->whole);
			/* What was set to zero in between counts from there. */
			if (was != NULL && was->is_whole)
				out_real(o, "per_second",
					 (double)(v->whole >= was->whole ? v->whole - was->whole : v->whole) / seconds,
					 1);
			out_end(o);
		}
	}
}

static void
add_counters(FILE *f, const struct counters *a, const struct counters *b)
{
	const double seconds = (double)(b->at.tv_sec - a->at.tv_sec) + (double)(b->at.tv_nsec - a->at.tv_nsec) / 1e9;
	const struct mj *ports = b->there[0] ? mj_get(b->doc[0].node, "ports") : NULL, *p;
	struct out o;

	out_init(&o, f, true);
	out_real(&o, "seconds", seconds, 3);
	out_array(&o, "ports");
	for (p = ports == NULL ? NULL : ports->first; p != NULL; p = p->next) {
		const uint64_t port = mj_uint(p, "port", UINT64_MAX);

		out_item(&o, "port", port);
		out_array(&o, "counters");
		counters_port(&o, a, b, port, seconds);
		out_end(&o);
		out_end(&o);
	}
	out_end(&o);
	out_done(&o);
}

/* --- history ----------------------------------------------------------------------------------------------------------- */

static double
per_second(uint64_t now, uint64_t before, uint64_t us)
{
	return (double)(now >= before ? now - before : now) * 1e6 / (double)us;
}

static void
add_history(struct app *app, FILE *f)
{
	static struct history_point h[HISTORY_POINTS];
	unsigned int n, i;
	struct out o;
	uint16_t port;

	out_init(&o, f, true);
	out_array(&o, "ports");
	for (port = 0; port < RTE_MAX_ETHPORTS; port++) {
		n = app->port[port].present ? history_get(port, h) : 0;
		if (n < 2)
			continue;
		out_item(&o, "port", port);
		out_array(&o, "points");
		for (i = 1; i < n; i++) {
			const uint64_t us = h[i].us - h[i - 1].us;

			if (us == 0)
				continue;
			out_object(&o, NULL);
			out_real(&o, "age", (double)(h[n - 1].us - h[i].us) / 1e6, 1);
			out_real(&o, "rx_pps", per_second(h[i].rx_packets, h[i - 1].rx_packets, us), 0);
			out_real(&o, "tx_pps", per_second(h[i].tx_packets, h[i - 1].tx_packets, us), 0);
			out_real(&o, "rx_mbps", per_second(h[i].rx_bytes, h[i - 1].rx_bytes, us) * 8 / 1e6, 3);
			out_real(&o, "tx_mbps", per_second(h[i].tx_bytes, h[i - 1].tx_bytes, us) * 8 / 1e6, 3);
			out_end(&o);
		}
		out_end(&o);
		out_end(&o);
	}
	out_end(&o);
	out_done(&o);
}

/* --- all --------------------------------------------------------------------------------------------------------------- */

static void
add_made(struct app *app, FILE *f, const struct snapshot_part *part, const struct counters *a, const struct counters *b)
{
	struct out o;

	fprintf(f, ",\"%s\":", part->name);
	if (strcmp(part->name, "system") == 0) {
		out_init(&o, f, true);
		snapshot_machine(&o);
		out_done(&o);
	} else if (strcmp(part->name, "counters") == 0) {
		add_counters(f, a, b);
	} else {
		add_history(app, f);
	}
}

int
snapshot_gather(struct app *app, unsigned int ms, char **text, size_t *len)
{
	FILE *f = open_memstream(text, len);
	const time_t now = time(NULL);
	struct counters a = {0}, b = {0};
	char made[32];
	struct tm tm;
	unsigned int i;

	if (f == NULL)
		return -ENOMEM;
	history_look(app);
	counters_look(app, &a);
	app_sleep_ms(app, ms);
	history_look(app);
	counters_look(app, &b);
	strftime(made, sizeof(made), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	fprintf(f, "{\"made\":\"%s\",\"version\":\"%s\"", made, TRIPLANE_VERSION);
	for (i = 0; i < snapshot_num_parts; i++) {
		if (snapshot_parts[i].command != NULL)
			add_shown(app, f, &snapshot_parts[i]);
		else
			add_made(app, f, &snapshot_parts[i], &a, &b);
	}
	fputs("}\n", f);
	counters_free(&a);
	counters_free(&b);
	return fclose(f) == 0 ? 0 : -ENOMEM;
}
