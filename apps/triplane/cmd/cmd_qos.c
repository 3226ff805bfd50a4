/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Quality of service of ports: shown, set whole or not at all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "cmd_qos.h"
#include "apps/triplane/port/dcbx.h"
#include "commands.h"

int
qos_err(uint16_t port, const char *what, int ret, const char *err)
{
	struct rte_eth_dev_info info;

	if (ret == -ENODEV)
		return app_err(
			ret,
			"port %u: %s: its driver is %s, queue policies need a port of net_mlx4_vfio, _model or _user",
			port, what, rte_eth_dev_info_get(port, &info) == 0 ? info.driver_name : "unknown");
	return app_err(ret, "port %u: %s: %s", port, what, err != NULL && err[0] != '\0' ? err : rte_strerror(-ret));
}

/* Ports of other drivers are left out, unless somebody asked for them by number. */
int
qos_show(struct app *app, const struct cmd_args *a, const char *what,
	 int (*show)(uint16_t port, unsigned int i, void *arg, struct out *o), void *arg)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	const bool all = strcmp(ports->text, "all") == 0;
	unsigned int i;
	struct out o;
	int ret = 0;

	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "ports");
	for (i = 0; i < ports->n && ret == 0; i++) {
		ret = show((uint16_t)ports->list[i], i, arg, &o);
		if (ret == -ENODEV && all)
			ret = 0;
	}
	out_end(&o);
	out_done(&o);
	return ret == 0 ? 0 : qos_err((uint16_t)ports->list[i - 1], what, ret, NULL);
}

int
qos_words(const char *text, int (*take)(void *obj, const char *word, char err[TP_ERR_LEN]), void *obj,
	  char err[TP_ERR_LEN], char notice[TP_ERR_LEN])
{
	char copy[CMD_MAX_LINE + 16], *save = NULL, *word;
	int ret = 0;

	notice[0] = '\0';
	snprintf(copy, sizeof(copy), "%s", text);
	err[0] = '\0';
	for (word = strtok_r(copy, " ", &save); word != NULL && ret == 0; word = strtok_r(NULL, " ", &save)) {
		ret = take(obj, word, err);
		if (ret == 0 && err[0] != '\0')
			snprintf(notice, TP_ERR_LEN, "%s", err);
	}
	if (ret == -ENOENT)
		snprintf(err + strlen(err), TP_ERR_LEN - strlen(err), "; 'show qos keys' names them all");
	return ret;
}

static int
take_word(void *obj, const char *word, char err[TP_ERR_LEN])
{
	return tp_qos_port_word(obj, word, err);
}

/* What the user declared, changed by the words, is declared, or nothing changed. */
static int
change(struct app *app, uint16_t port, const char *words, const char *what)
{
	char err[TP_ERR_LEN] = "", notice[TP_ERR_LEN];
	struct tp_qos_port q;
	int ret = dcbx_qos_get(&app->port[port], &q);

	if (ret == 0)
		ret = qos_words(words, take_word, &q, err, notice);
	if (ret == 0)
		ret = dcbx_qos_set(&app->port[port], &q, err);
	if (ret != 0)
		return qos_err(port, what, ret, err);
	if (notice[0] != '\0')
		app_say(app, "port %u: %s\n", port, notice);
	return 0;
}

static int
do_set(void *arg, const struct cmd_args *a)
{
	return change(arg, (uint16_t)cmd_num(a, "port", 0), cmd_text(a, "words"), "set qos");
}

static int
do_bandwidth(void *arg, const struct cmd_args *a)
{
	char word[CMD_MAX_LINE + 8];

	snprintf(word, sizeof(word), "tc-bw=%s", cmd_text(a, "shares"));
	return change(arg, (uint16_t)cmd_num(a, "port", 0), word, "set tc-bandwidth");
}

static int
do_reset(void *arg, const struct cmd_args *a)
{
	const uint16_t port = (uint16_t)cmd_num(a, "port", 0);
	char err[TP_ERR_LEN] = "";
	struct app *app = arg;
	struct tp_qos_port q;
	int ret;

	tp_qos_port_default(&q);
	ret = dcbx_qos_set(&app->port[port], &q, err);
	return ret == 0 ? 0 : qos_err(port, "qos reset", ret, err);
}

static void
show_classes(const struct tp_qos_port *q, struct out *o)
{
	unsigned int i;

	out_array(o, "priorities");
	for (i = 0; i < TP_PRIOS; i++) {
		out_item(o, "priority", i);
		out_u64(o, "tc", q->prio_tc[i]);
		out_bool(o, "rx_pfc", (q->rx_pfc >> i & 1) != 0);
		out_bool(o, "tx_pfc", (q->tx_pfc >> i & 1) != 0);
		out_u64(o, "tx_dscp", q->tx_dscp[i]);
		out_end(o);
	}
	out_end(o);
	out_array(o, "classes");
	for (i = 0; i < TP_TCS; i++) {
		out_item(o, "tc", i);
		out_str(o, "algorithm", q->tc[i].tsa == TP_TSA_ETS ? "ets" : "strict");
		out_u64(o, "share", q->tc[i].bw_pct);
		out_u64(o, "rate_mbps", q->tc[i].rate_mbps);
		out_end(o);
	}
	out_end(o);
}

static void
show_rules(const struct tp_qos_port *q, struct out *o)
{
	static const char *const names[] = {"default", "tcp", "udp", "tcp", "udp", "rdma"};
	unsigned int i;

	out_array(o, "rules");
	for (i = 0; i < q->num_rules; i++) {
		const struct tp_qos_rule *r = &q->rule[i];

		out_item(o, "rule", i);
		out_str(o, "match", names[r->match]);
		if (r->match >= TP_MATCH_TCP_PORT) {
			out_u64(o, "first_port", r->lo);
			out_u64(o, "last_port", r->hi);
		}
		out_u64(o, "priority", r->prio);
		if (r->dscp >= 0)
			out_u64(o, "dscp", (uint64_t)r->dscp);
		out_end(o);
	}
	out_end(o);
}

static void
show_port(const struct tp_qos_port *q, const struct tp_qos_limits *lim, struct out *o)
{
	static const char *const tags[] = {"none", "priority", "vlan", "both"};

	out_bool(o, "rx_pause", q->rx_pause);
	out_bool(o, "tx_pause", q->tx_pause);
	out_str(o, "trust", q->trust == TP_TRUST_DSCP ? "dscp" : "pcp");
	out_bool(o, "mark_dscp", q->mark_dscp);
	out_bool(o, "tx_untag_priority", q->tx_untag_priority);
	out_str(o, "tag_untagged", tags[q->tag_untagged]);
	out_u64(o, "port_vlan", q->port_vlan);
	out_bool(o, "rx_untagged_lossless", q->rx_untagged_lossless);
	out_bool(o, "dscp_ets", q->dscp_ets);
	out_bool(o, "dscp_pfc", q->dscp_pfc);
	out_u64(o, "dscp_gfc", q->dscp_gfc);
	out_u64(o, "untagged_prio", q->untagged_prio);
	out_u64(o, "rx_stall_timeout_ms", q->rx_stall_ms);
	out_u64(o, "rx_stall_minor_ms", q->rx_stall_minor_ms);
	out_u64(o, "hol_lifetime_us", q->hol_lifetime_us);
	out_u64(o, "stall_count", q->hol_stall_count);
	show_classes(q, o);
	show_rules(q, o);
	out_object(o, "limits");
	out_u64(o, "classes", lim->max_tc);
	out_u64(o, "speed_mbps", lim->speed_mbps);
	out_bool(o, "pfc", lim->pfc);
	out_bool(o, "ets", lim->ets);
	out_bool(o, "dscp", lim->dscp);
	out_bool(o, "dropless", lim->delay_drop);
	out_u64(o, "groups", lim->max_groups);
	out_u64(o, "rx_queues", lim->max_rx_queues);
	out_end(o);
}

static int
show_qos(uint16_t port, unsigned int i, void *arg, struct out *o)
{
	struct tp_qos_limits lim;
	struct tp_qos_port q;
	int ret = rte_pmd_mlx4_qos_get(port, &q);

	(void)i, (void)arg;
	if (ret == 0)
		ret = rte_pmd_mlx4_qos_limits(port, &lim);
	if (ret != 0)
		return ret;
	out_item(o, "port", port);
	show_port(&q, &lim, o);
	out_end(o);
	return 0;
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	return qos_show(arg, a, "show qos", show_qos, NULL);
}

/* --- counters ------------------------------------------------------------------------------------------------ */

static void
show_rates(const struct tp_qos_prio_stats *now, const struct tp_qos_prio_stats *before, double seconds, struct out *o)
{
	out_real(o, "rx_frames_per_s", (double)(now->rx_frames - before->rx_frames) / seconds, 0);
	out_real(o, "rx_bits_per_s", 8.0 * (double)(now->rx_bytes - before->rx_bytes) / seconds, 0);
	out_real(o, "tx_frames_per_s", (double)(now->tx_frames - before->tx_frames) / seconds, 0);
	out_real(o, "tx_bits_per_s", 8.0 * (double)(now->tx_bytes - before->tx_bytes) / seconds, 0);
}

static void
show_counters(const struct tp_qos_prio_stats *st, struct out *o)
{
#define FIELD(f) out_u64(o, #f, st->f)
	FIELD(rx_frames);
	FIELD(rx_bytes);
	FIELD(tx_frames);
	FIELD(tx_bytes);
	FIELD(rx_pause);
	FIELD(rx_pause_us);
	FIELD(rx_pause_transitions);
	FIELD(tx_pause);
	FIELD(tx_pause_us);
	FIELD(tx_pause_transitions);
	FIELD(tx_discards);
#undef FIELD
}

static void
add(struct tp_qos_prio_stats *sum, const struct tp_qos_prio_stats *st)
{
#define FIELD(f) sum->f += st->f
	FIELD(rx_frames), FIELD(rx_bytes), FIELD(tx_frames), FIELD(tx_bytes), FIELD(rx_pause), FIELD(rx_pause_us);
	FIELD(rx_pause_transitions), FIELD(tx_pause), FIELD(tx_pause_us), FIELD(tx_pause_transitions),
		FIELD(tx_discards);
#undef FIELD
}

static void
show_stalls(uint16_t id, struct out *o)
{
	struct rte_pmd_mlx4_stalls st;
	unsigned int i;

	if (rte_pmd_mlx4_stalls_get(id, &st) != 0)
		return;
	out_bool(o, "rx_stalled", st.rx_stalled);
	out_u64(o, "rx_stalls_minor", st.rx_minor);
	out_u64(o, "rx_stalls_critical", st.rx_critical);
	out_array(o, "classes");
	for (i = 0; i < TP_TCS; i++) {
		out_item(o, "tc", i);
		out_bool(o, "stalled", (st.tc_stalled >> i & 1) != 0);
		out_u64(o, "drops", st.tc_drops[i]);
		out_u64(o, "stalls", st.tc_stalls[i]);
		out_end(o);
	}
	out_end(o);
}

/* What rates are taken over; before is NULL when no time was given. */
struct sample {
	struct tp_qos_prio_stats (*before)[TP_PRIOS];
	uint64_t start;
};

static int
show_stats(uint16_t port, unsigned int i, void *arg, struct out *o)
{
	struct tp_qos_prio_stats now[TP_PRIOS], sum = {0}, sum_before = {0};
	const struct sample *s = arg;
	double seconds;
	unsigned int p;
	int ret = rte_pmd_mlx4_qos_stats(port, now);

	if (ret != 0)
		return ret;
	seconds = (double)(rte_get_timer_cycles() - s->start) / (double)rte_get_timer_hz();
	out_item(o, "port", port);
	out_array(o, "priorities");
	for (p = 0; p < TP_PRIOS; p++) {
		out_item(o, "priority", p);
		show_counters(&now[p], o);
		add(&sum, &now[p]);
		if (s->before != NULL) {
			show_rates(&now[p], &s->before[i][p], seconds, o);
			add(&sum_before, &s->before[i][p]);
		}
		out_end(o);
	}
	out_end(o);
	out_object(o, "total");
	show_counters(&sum, o);
	if (s->before != NULL)
		show_rates(&sum, &sum_before, seconds, o);
	out_end(o);
	show_stalls(port, o);
	out_end(o);
	return 0;
}

static int
do_stats(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	struct sample s = {.start = rte_get_timer_cycles()};
	unsigned int i;
	int ret;

	if (cmd_has(a, "seconds")) {
		s.before = calloc(ports->n, sizeof(*s.before));
		if (s.before == NULL)
			return app_err(-ENOMEM, "no memory for the counters of %u ports", ports->n);
		for (i = 0; i < ports->n; i++)
			rte_pmd_mlx4_qos_stats((uint16_t)ports->list[i], s.before[i]);
		app_sleep_ms(arg, 1000 * (unsigned int)cmd_num(a, "seconds", 0));
	}
	ret = qos_show(arg, a, "show qos stats", show_stats, &s);
	free(s.before);
	return ret;
}

/* --- the keys ------------------------------------------------------------------------------------------------ */

/* People need no line for what is not there. */
static void
show_text(struct out *o, const char *name, const char *text)
{
	if (o->json || text[0] != '\0')
		out_str(o, name, text);
}

static void
show_keys(const char *name, int (*get)(unsigned int i, struct tp_qos_key *key), struct out *o)
{
	struct tp_qos_key key;
	unsigned int i;

	out_object(o, name);
	for (i = 0; get(i, &key) == 0; i++) {
		out_object(o, key.name);
		out_str(o, "values", key.values);
		show_text(o, "unit", key.unit);
		show_text(o, "default", key.def);
		if (key.max != 0) {
			out_u64(o, "min", key.min);
			out_u64(o, "max", key.max);
		}
		show_text(o, "vendor", key.vendor);
		out_str(o, "help", key.help);
		out_end(o);
	}
	out_end(o);
}

static int
do_keys(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct out o;

	out_init(&o, stdout, app->json || a->json);
	show_keys("port", tp_qos_port_key, &o);
	show_keys("group", tp_group_key, &o);
	out_done(&o);
	return 0;
}

static const struct cmd table[] = {
	{"Queue policies", "show qos {ports:ports}", "Shows the quality of service of ports, and its limits.", do_show,
	 true},
	{"Queue policies", "show qos stats {ports:ports} [{seconds:1..3600}]",
	 "Shows frames, octets, pauses and stalls by priority; with rates over so many seconds.", do_stats, true},
	{"Queue policies", "show qos keys", "Shows the keys of ports and groups: values, unit, default, range.",
	 do_keys, true},
	{"Queue policies", "set qos {port:port} {words:rest=@qos_keys}",
	 "Changes what the words KEY=VALUE say and keeps the rest; all of them or none. The keys: show qos keys.",
	 do_set, false},
	{"Queue policies", "set tc-bandwidth {port:port} {shares:str}",
	 "Sets the shares in percent of class 0, 1, ..., such as 50,30,20; strict takes a class out of the sharing.",
	 do_bandwidth, false},
	{"Queue policies", "qos reset {port:port}", "Sets all keys of a port to their defaults.", do_reset, false},
};

int
qos_keys_register(struct app *app, struct qos_keys *keys, const char *name,
		  int (*get)(unsigned int i, struct tp_qos_key *key))
{
	struct tp_qos_key key;
	unsigned int i;

	for (i = 0; i < QOS_KEYS_MAX && get(i, &key) == 0; i++) {
		snprintf(keys->text[i], sizeof(keys->text[i]), "%s=", key.name);
		keys->words[i] = keys->text[i];
	}
	keys->set = (struct cmd_set){name, keys->words, i};
	return cmd_reg_set(app->reg, &keys->set);
}

int
cmd_qos_register(struct app *app)
{
	static struct qos_keys keys;
	int ret = qos_keys_register(app, &keys, "qos_keys", tp_qos_port_key);

	if (ret == 0)
		ret = cmd_reg_add(app->reg, table, RTE_DIM(table));
	if (ret == 0)
		ret = cmd_qos_file_register(app);
	return ret != 0 ? ret : cmd_group_register(app);
}
