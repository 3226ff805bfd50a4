/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* RSS: types, key, redirection table; what came by it and what beside it. */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "rte_pmd_mlx4_queue.h"
#include "apps/triplane/fwd/fwd.h"
#include "apps/triplane/settings/settings.h"
#include "apps/triplane/port/port.h"
#include "commands.h"

#define MAX_RETA RTE_ETH_RSS_RETA_SIZE_512

static int
do_types(void *arg, const struct cmd_args *a)
{
	const struct tp_setting_at at = {.scope = TP_SCOPE_PORT, .port = (uint16_t)cmd_num(a, "port", 0)};

	return setting_set(arg, &at, "rss-types", cmd_text(a, "types"));
}

static int
set_key(struct app_port *p, uint8_t *octets, unsigned int n)
{
	struct rte_eth_rss_conf conf = {.rss_hf = p->rss_hf & p->info.flow_type_rss_offloads};
	char more[128];
	int ret;

	conf.rss_key = octets;
	conf.rss_key_len = (uint8_t)n;
	ret = rte_eth_dev_rss_hash_update(p->id, &conf);
	if (ret != 0 && p->rxq < 2)
		return app_err(ret, "port %u: rss key: there is nothing to spread, the port has %u receive queue; %s",
			       p->id, p->rxq, port_queues_advice(p, 2, more, sizeof(more)));
	if (ret != 0)
		return app_err(ret, "port %u: rss key: %s", p->id, rte_strerror(-ret));
	memcpy(p->rss_key, octets, n);
	p->rss_key_len = (uint8_t)n;
	return 0;
}

static int
key_change(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct app_port *p = &app->port[cmd_num(a, "port", 0)];
	const struct cmd_val *key = cmd_val(a, "key");
	uint8_t octets[CMD_MAX_HEX];

	if (p->info.hash_key_size != 0 && key->n != p->info.hash_key_size)
		return app_err(-EINVAL, "port %u: key of %u octets, want %u; 'rss symmetric %u' makes one", p->id,
			       key->n, p->info.hash_key_size, p->id);
	memcpy(octets, key->hex, key->n);
	return set_key(p, octets, key->n);
}

static int
symmetric_change(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct app_port *p = &app->port[cmd_num(a, "port", 0)];
	const unsigned int n = p->info.hash_key_size;
	uint8_t octets[APP_RSS_KEY_MAX];

	if (n > sizeof(octets) || rte_pmd_mlx4_rss_key_symmetric(octets, n) != 0)
		return app_err(-ENOTSUP, "port %u: the device has keys of %u octets, want an even number %u..%zu",
			       p->id, n, RTE_PMD_MLX4_RSS_KEY_LEN, sizeof(octets));
	return set_key(p, octets, n);
}

static uint32_t
largest(const struct cmd_val *list)
{
	uint32_t most = 0;
	unsigned int i;

	for (i = 0; i < list->n; i++)
		most = RTE_MAX(most, list->list[i]);
	return most;
}

/* Entries take the queues of the list in turn. */
static int
table_change(void *arg, const struct cmd_args *a)
{
	struct app *app = arg;
	struct app_port *p = &app->port[cmd_num(a, "port", 0)];
	const struct cmd_val *queues = cmd_val(a, "queues");
	uint16_t queue[APP_TABLE_MAX];
	char err[TP_SETTING_ERR];
	unsigned int i;
	int ret;

	RTE_BUILD_BUG_ON(RTE_DIM(queue) < CMD_MAX_LIST);
	if (largest(queues) >= p->rxq) {
		ret = port_queue_refuse(p, "queues:", largest(queues), err, sizeof(err));
		return app_err(ret, "%s", err);
	}
	for (i = 0; i < queues->n; i++)
		queue[i] = (uint16_t)queues->list[i];
	ret = port_table_set(app, p, queue, (uint16_t)queues->n, err, sizeof(err));
	return ret == 0 ? 0 : app_err(ret, "%s", err);
}

static const char *const key_names[] = {"rss-key", NULL};

static int
do_key(void *arg, const struct cmd_args *a)
{
	return settings_noted(arg, a, key_names, key_change);
}

static int
do_symmetric(void *arg, const struct cmd_args *a)
{
	return settings_noted(arg, a, key_names, symmetric_change);
}

static int
do_reta(void *arg, const struct cmd_args *a)
{
	static const char *const names[] = {"rss-table", NULL};

	return settings_noted(arg, a, names, table_change);
}

static void
show_reta(const struct app_port *p, struct out *o)
{
	struct rte_eth_rss_reta_entry64 reta[MAX_RETA / RTE_ETH_RETA_GROUP_SIZE];
	uint16_t size = p->info.reta_size, i;
	char text[MAX_RETA * 4 + 1] = "";
	size_t at = 0;

	memset(reta, 0xff, sizeof(reta));
	if (size == 0 || size > MAX_RETA || rte_eth_dev_rss_reta_query(p->id, reta, size) != 0)
		return;
	for (i = 0; i < size && at < sizeof(text); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u", i == 0 ? "" : ",",
				       reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE]);
	out_str(o, "reta", text);
}

static int
do_show(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	struct app *app = arg;
	struct out o;
	unsigned int i, k;

	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "ports");
	for (i = 0; i < ports->n; i++) {
		const struct app_port *p = &app->port[ports->list[i]];
		uint8_t key[APP_RSS_KEY_MAX] = {0};
		struct rte_eth_rss_conf conf = {.rss_key = key, .rss_key_len = sizeof(key)};
		char hex[2 * APP_RSS_KEY_MAX + 1] = "";

		out_item(&o, "port", p->id);
		out_bool(&o, "enabled", p->rxq > 1);
		if (rte_eth_dev_rss_hash_conf_get(p->id, &conf) == 0) {
			for (k = 0; k < RTE_MIN((unsigned int)p->info.hash_key_size, (unsigned int)APP_RSS_KEY_MAX);
			     k++)
				snprintf(hex + 2 * k, 3, "%02x", key[k]);
			out_hex(&o, "types", conf.rss_hf, 16);
			out_str(&o, "key", hex);
		}
		show_reta(p, &o);
		out_end(&o);
	}
	out_end(&o);
	out_done(&o);
	return 0;
}

static int
do_count(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	const bool on = strcmp(cmd_text(a, "state"), "on") == 0;
	const struct app *app = arg;
	unsigned int i;

	for (i = 0; i < ports->n; i++) {
		const uint16_t id = app->port[ports->list[i]].id;
		const int ret = rte_pmd_mlx4_rx_kinds_count(id, on);

		if (ret != 0)
			return app_err(ret, "port %u: rss count %s: %s", id, on ? "on" : "off", rte_strerror(-ret));
	}
	return 0;
}

static void
show_kinds(const struct rte_pmd_mlx4_rx_kinds *k, struct out *o)
{
	static const char *const protos[RTE_PMD_MLX4_RX_PROTOS] = {"ipv4",     "ipv4_tcp", "ipv4_udp", "ipv6",
								   "ipv6_tcp", "ipv6_udp", "other"};
	char key[48];
	unsigned int hashed, tunnel, i;

	for (hashed = 0; hashed < 2; hashed++)
		for (tunnel = 0; tunnel < 2; tunnel++)
			for (i = 0; i < RTE_PMD_MLX4_RX_PROTOS; i++) {
				if (k->packets[hashed][tunnel][i] == 0 && !o->json)
					continue;
				snprintf(key, sizeof(key), "%s%s%s", hashed != 0 ? "rss_" : "non_rss_",
					 tunnel != 0 ? "encapsulated_" : "", protos[i]);
				out_u64(o, key, k->packets[hashed][tunnel][i]);
			}
}

/* What the queues had that an lcore polls now. */
static void
show_lcore_kinds(const struct fwd *fwd, unsigned int lcore, uint16_t port, struct out *o)
{
	struct rte_pmd_mlx4_rx_kinds sum = {.counting = false}, k;
	unsigned int i, b, n = 0;

	for (i = 0; i < fwd->num_streams; i++) {
		const struct fwd_stream *s = &fwd->stream[i];

		if (s->lcore != lcore || s->rx_port != port || !fwd_polls(s) ||
		    rte_pmd_mlx4_rx_kinds_get(port, s->rx_queue, &k) != 0)
			continue;
		n++;
		for (b = 0; b < sizeof(k.packets) / sizeof(uint64_t); b++)
			(&sum.packets[0][0][0])[b] += (&k.packets[0][0][0])[b];
	}
	if (n == 0)
		return;
	out_item(o, "lcore", fwd->lcore[lcore].id);
	out_u64(o, "queues", n);
	show_kinds(&sum, o);
	out_end(o);
}

static void
show_lcores_kinds(const struct app *app, uint16_t port, struct out *o)
{
	unsigned int i;

	out_array(o, "lcores");
	for (i = 0; app->fwd != NULL && i < app->fwd->num_lcores; i++)
		show_lcore_kinds(app->fwd, i, port, o);
	out_end(o);
}

static int
do_show_kinds(void *arg, const struct cmd_args *a)
{
	const struct cmd_val *ports = cmd_val(a, "ports");
	struct rte_pmd_mlx4_rx_kinds kinds;
	const struct app *app = arg;
	struct out o;
	unsigned int i;
	uint16_t q;

	out_init(&o, stdout, app->json || a->json);
	out_array(&o, "ports");
	for (i = 0; i < ports->n; i++) {
		const struct app_port *p = &app->port[ports->list[i]];

		out_item(&o, "port", p->id);
		out_array(&o, "queues");
		for (q = 0; q < p->rxq && rte_pmd_mlx4_rx_kinds_get(p->id, q, &kinds) == 0; q++) {
			out_item(&o, "queue", q);
			out_bool(&o, "counting", kinds.counting);
			show_kinds(&kinds, &o);
			out_end(&o);
		}
		out_end(&o);
		show_lcores_kinds(app, p->id, &o);
		out_end(&o);
	}
	out_end(&o);
	out_done(&o);
	return 0;
}

static const struct cmd table[] = {
	{"RSS", "rss types {port:port} {types:str}",
	 "Sets what the hash covers: ip, tcp, udp, ip+tcp, ip+udp, all, none, or a list such as tcp4,udp6.", do_types,
	 false},
	{"RSS", "rss key {port:port} {key:hex}", "Sets the Toeplitz key.", do_key, false},
	{"RSS", "rss symmetric {port:port}", "Sets the key that sends both directions of a flow to the same queue.",
	 do_symmetric, false},
	{"RSS", "rss reta {port:port} {queues:list}", "Fills the redirection table with these queues in turn.", do_reta,
	 false},
	{"RSS", "rss show {ports:ports}", "Shows types, key and redirection table.", do_show, true},
	{"RSS", "show port rss {ports:ports}", "The same as rss show.", do_show, true},
	{"RSS", "rss count {ports:ports} {state:on|off}",
	 "Counts received frames of each queue by kind: spread by RSS or not, protocols, in a tunnel or not; with LRO "
	 "before "
	 "they are joined.",
	 do_count, false},
	{"RSS", "show port rss-counters {ports:ports}",
	 "Shows what rss count has counted, by queue and by the lcore that has the queue now; as text, what is not 0.",
	 do_show_kinds, true},
};

int
cmd_rss_register(struct app *app)
{
	return cmd_reg_add(app->reg, table, RTE_DIM(table));
}
