/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Captures of ports. */
#include <errno.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_pdump.h>

#include "apps/triplane/settings/settings.h"
#include "capture/tp_capture.h"
#include "watch.h"

#define FILE_ROW "capture"
#define MEMORY_ROW "capture-memory"

static int
set(void *arg, const struct cmd_args *a, const char *row, const char *value)
{
	const struct tp_setting_at at = {.scope = TP_SCOPE_PORT, .port = (uint16_t)cmd_num(a, "port", 0)};

	return setting_set(arg, &at, row, value);
}

static int
do_start(void *arg, const struct cmd_args *a)
{
	char words[CMD_MAX_LINE + TP_CAPTURE_TEXT];

	snprintf(words, sizeof(words), "%s%s %s", strchr(cmd_text(a, "file"), '/') == NULL ? "./" : "",
		 cmd_text(a, "file"), cmd_has(a, "words") ? cmd_text(a, "words") : "");
	return set(arg, a, FILE_ROW, words);
}

static int
do_memory(void *arg, const struct cmd_args *a)
{
	return set(arg, a, MEMORY_ROW, cmd_has(a, "words") ? cmd_text(a, "words") : "on");
}

static void
show_stats(struct out *o, const struct tp_capture_stats *st)
{
	out_u64(o, "seen", st->seen);
	out_u64(o, "filtered", st->filtered);
	out_u64(o, "packets", st->packets);
	out_u64(o, "octets", st->octets);
	out_u64(o, "lost", st->lost);
}

static int
stop(struct app *app, const struct cmd_args *a, enum tp_capture_kind kind)
{
	const uint16_t port = (uint16_t)cmd_num(a, "port", 0);
	struct tp_capture_stats st = {0};
	char words[TP_CAPTURE_WORDS], err[TP_CAPTURE_ERR];
	struct tp_capture_info info;
	struct out o;
	int ret;

	if (tp_capture_info_get(port, kind, &info) == 0)
		tp_capture_conf_text(kind, &info.conf, words);
	ret = tp_capture_stop(port, kind, &st, err);
	if (ret == -ENOENT)
		return app_err(ret, "port %u: no capture runs; 'capture %s %u%s' begins one", port,
			       kind == TP_CAPTURE_FILE ? "start" : "memory start", port,
			       kind == TP_CAPTURE_FILE ? " FILE" : "");
	app_event("port-setting", "port %u: %s: %s -> off", port, kind == TP_CAPTURE_FILE ? FILE_ROW : MEMORY_ROW,
		  words);
	out_init(&o, stdout, app->json || a->json);
	show_stats(&o, &st);
	out_done(&o);
	return ret != 0 ? app_err(ret, "port %u: the capture is not whole: %s", port, err) : 0;
}

static int
do_stop(void *arg, const struct cmd_args *a)
{
	return stop(arg, a, TP_CAPTURE_FILE);
}

static int
do_memory_stop(void *arg, const struct cmd_args *a)
{
	return stop(arg, a, TP_CAPTURE_MEMORY);
}

static int
do_collect(void *arg, const struct cmd_args *a)
{
	const uint16_t port = (uint16_t)cmd_num(a, "port", 0);
	struct app *app = arg;
	char err[TP_CAPTURE_ERR];
	uint64_t packets;
	struct out o;
	int ret = tp_capture_collect(port, cmd_text(a, "file"), &packets, err);

	if (ret == -ENOENT && packets == 0)
		return app_err(ret, "%s", err);
	if (ret != 0)
		return app_err(ret, "port %u: the file is not whole: %s", port, err);
	out_init(&o, stdout, app->json || a->json);
	out_u64(&o, "packets", packets);
	out_done(&o);
	return 0;
}

static const char *const directions[] = {[TP_CAPTURE_IN] = "in", [TP_CAPTURE_OUT] = "out", [TP_CAPTURE_BOTH] = "both"};

static void
show_one(struct out *o, enum tp_capture_kind kind, const struct tp_capture_info *i)
{
	out_str(o, "state", i->error != 0 ? "failed" : i->running ? "running" : "ended");
	if (i->error != 0)
		out_str(o, "error", strerror(i->error));
	if (kind == TP_CAPTURE_FILE)
		out_str(o, "path", i->conf.file);
	out_str(o, "direction", directions[i->conf.direction]);
	if (i->conf.queue != TP_CAPTURE_ALL)
		out_u64(o, "queue", i->conf.queue);
	out_str(o, "rss", i->conf.no_rss ? "none" : "any");
	if (i->conf.filter[0] != '\0')
		out_str(o, "filter", i->conf.filter);
	out_u64(o, "octets_kept", i->octets);
	out_u64(o, "ring_packets", i->conf.packets);
	out_str(o, "time", i->card_time ? "card" : "software");
	show_stats(o, &i->stats);
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	static const char *const names[] = {[TP_CAPTURE_FILE] = "file", [TP_CAPTURE_MEMORY] = "memory"};
	struct app *app = arg;
	struct tp_capture_info info;
	uint32_t ids[CMD_MAX_LIST];
	unsigned int i, kind, n = app->settings != NULL ? app->reg->ports(app, ids) : 0;
	struct out o;

	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "captures");
	for (i = 0; i < n; i++) {
		for (kind = 0; kind < TP_CAPTURE_KINDS; kind++) {
			if (tp_capture_info_get((uint16_t)ids[i], kind, &info) != 0)
				continue;
			out_item(&o, "port", ids[i]);
			out_str(&o, "kind", names[kind]);
			show_one(&o, kind, &info);
			out_end(&o);
		}
	}
	out_end(&o);
	out_done(&o);
	return 0;
}

/* --- by programs of DPDK ---------------------------------------------------------------------------------------------- */

static bool by_others;

static int
nothing_to_say(const struct rte_mp_msg *m, const void *peer)
{
	RTE_SET_USED(m);
	RTE_SET_USED(peer);
	return 0;
}

/* With --no-shconf the EAL takes no requests of other processes. */
static bool
others_can_ask(void)
{
	static const char probe[] = "triplane_watch";

	if (rte_mp_action_register(probe, nothing_to_say) != 0)
		return rte_errno != ENOTSUP;
	rte_mp_action_unregister(probe);
	return true;
}

/* Where nobody can ask, its counters would be 4 MiB for nothing. */
void
watch_by_others(void)
{
	by_others = others_can_ask() && rte_pdump_init() == 0;
}

void
watch_by_nobody(void)
{
	if (by_others)
		(void)rte_pdump_uninit();
	by_others = false;
}

static const char *const capture_keys[] = {"direction", "queue", "rss", "snap", "ring", "filter"};

static const struct cmd_set sets[] = {
	{"capture_keys", capture_keys, RTE_DIM(capture_keys)},
};

static const struct cmd table[] = {
	{"Captures", "capture start {port:port} {file:str} [{words:rest=@capture_keys}]",
	 "Writes packets of a port to a pcapng file while they flow. Words: direction in|out|both, queue N, rss "
	 "any|none, "
	 "snap OCTETS, ring OCTETS*PACKETS, and at last filter EXPRESSION.",
	 do_start, false},
	{"Captures", "capture stop {port:port}", "Ends it, and shows what is in the file and what is not.", do_stop,
	 true},
	{"Captures", "capture memory start {port:port} [{words:rest=@capture_keys}]",
	 "Keeps the last packets of a port in memory: 128 octets of 1024 received ones without an RSS hash, unless "
	 "words "
	 "say more.",
	 do_memory, false},
	{"Captures", "capture memory stop {port:port}", "Ends it; the packets stay until the next start.",
	 do_memory_stop, true},
	{"Captures", "capture memory collect {port:port} {file:str}",
	 "Writes the packets in memory to a pcapng file, while the capture runs or after it.", do_collect, true},
	{"Captures", "show capture", "Shows the captures of all ports.", do_show, true},
};

int
cmd_capture_register(struct app *app)
{
	int ret = cmd_reg_set(app->reg, &sets[0]);

	return ret == 0 ? cmd_reg_add(app->reg, table, RTE_DIM(table)) : ret;
}
