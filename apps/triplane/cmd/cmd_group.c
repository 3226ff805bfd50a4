/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Groups of receive queues: who is served, where, how. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "cmd_qos.h"
#include "apps/triplane/fwd/fwd.h"
#include "apps/triplane/fwd/guest.h"
#include "apps/triplane/port/group.h"
#include "apps/triplane/port/port.h"
#include "commands.h"

static int
take_word(void *obj, const char *word, char err[TP_ERR_LEN])
{
	return tp_group_word(obj, word, err);
}

/* The driver's answer to a group: a number of queues, which may be smaller than asked for, with a reason in err. */
static int
answer(struct app *app, uint16_t port, const struct tp_group *g, const char *what, int ret, const char *err)
{
	char text[TP_ERR_LEN + 160], more[128];
	unsigned int want = RTE_MAX(app->port[port].rxq, g->num_queues) + 1u;
	uint16_t i;

	if (ret < 0 && strncmp(err, "queues:", strlen("queues:")) == 0) {
		for (i = 0; i < g->num_queues; i++)
			want = RTE_MAX(want, g->queue[i] + 1u);
		snprintf(text, sizeof(text), "%s; %s", err,
			 port_queues_advice(&app->port[port], want, more, sizeof(more)));
		return qos_err(port, what, ret, text);
	}
	if (ret < 0)
		return qos_err(port, what, ret, err);
	if (ret < g->num_queues && g->rss != 0)
		app_say(app, "port %u: group %s: %d of %u queues in use%s%s\n", port, g->name, ret, g->num_queues,
			err[0] == '\0' ? "" : ": ", err);
	else if (err[0] != '\0')
		app_say(app, "port %u: group %s: %s\n", port, g->name, err);
	return 0;
}

/* add starts from the defaults, modify from what is in force. */
static int
do_group(void *arg, const struct cmd_args *a)
{
	const uint16_t port = (uint16_t)cmd_num(a, "port", 0);
	char err[TP_ERR_LEN] = "", notice[TP_ERR_LEN];
	const bool adds = cmd_has(a, "add");
	struct tp_group g;
	int ret;

	tp_group_default(&g);
	if (adds)
		ret = tp_group_name(&g, cmd_text(a, "name"), err);
	else
		ret = group_find(port, cmd_text(a, "name"), &g);
	if (ret == -ENOENT)
		snprintf(err, sizeof(err), "no group '%.31s', want one that 'show group %u' names", cmd_text(a, "name"),
			 port);
	if (ret == 0)
		ret = qos_words(cmd_text(a, "words"), take_word, &g, err, notice);
	if (ret == 0)
		ret = fwd_group_check(arg, port, &g, err);
	if (ret == 0)
		ret = adds ? rte_pmd_mlx4_group_add(port, &g, err) : rte_pmd_mlx4_group_modify(port, &g, err);
	if (ret >= 0)
		(void)fwd_group_settle(arg, port);
	return answer(arg, port, &g, adds ? "group add" : "group modify", ret, err);
}

static int
do_remove(void *arg, const struct cmd_args *a)
{
	const uint16_t port = (uint16_t)cmd_num(a, "port", 0);
	char err[TP_ERR_LEN] = "";
	int ret = rte_pmd_mlx4_group_remove(port, cmd_text(a, "name"), err);

	if (ret != 0)
		return qos_err(port, "group remove", ret, err);
	return fwd_group_settle(arg, port);
}

/* The policy in the words that set it, all of them. */
static void
show_words(const struct tp_group *g, struct out *o)
{
	char *text = NULL, *save = NULL, *line, *value;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return;
	tp_group_print(g, true, f);
	fclose(f);
	for (line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
		value = strchr(line, '=');
		if (value == NULL)
			continue;
		*value = '\0';
		out_str(o, line, value + 1);
	}
	free(text);
}

static void
show_counters(uint16_t port, const char *name, struct out *o)
{
	struct rte_pmd_mlx4_group_stats st;

	if (rte_pmd_mlx4_group_stats(port, name, &st) != 0)
		return;
#define FIELD(f) out_u64(o, #f, st.f)
	FIELD(queues_used);
	FIELD(rx_frames);
	FIELD(rx_bytes);
	FIELD(rx_errors);
	FIELD(rx_nombuf);
	FIELD(flood_drops);
	FIELD(tx_frames);
	FIELD(tx_bytes);
	FIELD(tx_errors);
	FIELD(spoof_mac_drops);
	FIELD(spoof_type_drops);
#undef FIELD
}

static int
show_groups(uint16_t port, unsigned int num, void *arg, struct out *o)
{
	struct tp_group g;
	unsigned int i;
	int ret;

	(void)num, (void)arg;
	ret = rte_pmd_mlx4_group_get(port, 0, &g);
	if (ret != 0 && ret != -ENOENT)
		return ret;
	out_item(o, "port", port);
	out_array(o, "groups");
	for (i = 0; ret == 0; ret = rte_pmd_mlx4_group_get(port, ++i, &g)) {
		out_item(o, "group", i);
		out_str(o, "name", g.name);
		out_object(o, "policy");
		show_words(&g, o);
		out_end(o);
		show_counters(port, g.name, o);
		out_end(o);
	}
	out_end(o);
	out_end(o);
	return ret == -ENOENT ? 0 : ret;
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	return qos_show(arg, a, "show group", show_groups, NULL);
}

static int
do_vhost(void *arg, const struct cmd_args *a)
{
	const uint16_t port = (uint16_t)cmd_num(a, "port", 0);

	if (strcmp(cmd_text(a, "socket"), "off") == 0)
		return guest_unlink(arg, port, cmd_text(a, "name"));
	return guest_link(arg, port, cmd_text(a, "name"), cmd_text(a, "socket"));
}

static const struct cmd table[] = {
	{"Queue policies", "show group {ports:ports}", "Shows the groups of queues of ports: policy and counters.",
	 do_show, true},
	{"Queue policies", "group show {ports:ports}", "The same as show group.", do_show, true},
	{"Queue policies", "group add {port:port} {name:str} {words:rest=@group_keys}",
	 "Adds a group of queues, such as mac=02:00:00:00:00:01 vlan=100 queues=4-7 rss=all. The keys: show qos keys.",
	 do_group, false},
	{"Queue policies", "group modify {port:port} {name:str} {words:rest=@group_keys}",
	 "Changes what the words say and keeps the rest, while packets flow; all of them or none.", do_group, false},
	{"Queue policies", "group remove {port:port} {name:str}", "Gives the queues of a group back to the port.",
	 do_remove, false},
	{"Queue policies", "group vhost {port:port} {name:str} {socket:str}",
	 "Hands a group to a guest: a vhost-user port at that socket is joined to the group's queues; off ends that.",
	 do_vhost, false},
};

int
cmd_group_register(struct app *app)
{
	static struct qos_keys keys;
	int ret = qos_keys_register(app, &keys, "group_keys", tp_group_key);

	return ret != 0 ? ret : cmd_reg_add(app->reg, table, RTE_DIM(table));
}
