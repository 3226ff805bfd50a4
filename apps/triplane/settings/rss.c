/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Settings of how RSS spreads: its key, its table, and where what it does not cover goes. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_pmd_mlx4_queue.h>

#include "settings.h"
#include "apps/triplane/port/port.h"

#define DEFAULT "default"

enum { KEY, TABLE };

/* --- what the hash covers ------------------------------------------------------------------------------------- */

#define IPV4_TYPES (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER)
#define IPV6_TYPES (RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER | RTE_ETH_RSS_IPV6_EX)

/* Each set has the shortest text with words from the front; the first six make up any. */
static const struct {
	const char *name;
	uint64_t bits;
} types[] = {
	{"ipv4", IPV4_TYPES},
	{"tcp4", RTE_ETH_RSS_NONFRAG_IPV4_TCP},
	{"udp4", RTE_ETH_RSS_NONFRAG_IPV4_UDP},
	{"ipv6", IPV6_TYPES},
	{"tcp6", RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_IPV6_TCP_EX},
	{"udp6", RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_IPV6_UDP_EX},
	{"ip", RTE_ETH_RSS_IP},
	{"tcp", RTE_ETH_RSS_TCP},
	{"udp", RTE_ETH_RSS_UDP},
	{"ip+tcp", RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP},
	{"ip+udp", RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP},
	{"all", RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP},
	{"none", 0},
};
#define SINGLE_TYPES 6u

static bool
types_of(const char *value, uint64_t *bits)
{
	char copy[64], *next = copy, *one;
	unsigned int i;

	*bits = 0;
	if (strlen(value) >= sizeof(copy))
		return false;
	strcpy(copy, value);
	while ((one = strsep(&next, ",")) != NULL) {
		for (i = 0; i < RTE_DIM(types) && strcmp(types[i].name, one) != 0; i++)
			;
		if (i == RTE_DIM(types))
			return false;
		*bits |= types[i].bits;
	}
	return true;
}

static void
types_text(uint64_t bits, char value[TP_SETTING_VALUE])
{
	unsigned int i;
	size_t at = 0;

	for (i = RTE_DIM(types); i-- > 0;)
		if (types[i].bits == bits) {
			snprintf(value, TP_SETTING_VALUE, "%s", types[i].name);
			return;
		}
	for (i = 0; i < SINGLE_TYPES; i++)
		if ((bits & types[i].bits) == types[i].bits)
			at += (size_t)snprintf(value + at, TP_SETTING_VALUE - at, "%s%s", at == 0 ? "" : ",",
					       types[i].name);
}

static int
judge_types(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	uint64_t bits;

	if (!types_of(value, &bits))
		return setting_refuse(row, value, err);
	types_text(bits, value);
	return 0;
}

static int
types_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;

	(void)row;
	types_text(app->port[at->port].rss_hf, value);
	return 0;
}

/* One queue needs no hash; its types wait for more. */
static int
types_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	  char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct app_port *p = &app->port[at->port];
	struct rte_eth_rss_conf conf = {0};
	uint64_t bits;
	int ret = 0;

	(void)types_of(value, &bits);
	conf.rss_hf = bits & p->info.flow_type_rss_offloads;
	if (p->configured && !p->dirty && p->rxq > 1)
		ret = rte_eth_dev_rss_hash_update(p->id, &conf);
	if (ret == 0)
		p->rss_hf = bits;
	else
		snprintf(err, TP_SETTING_ERR, "port %u: %s %s: %s", p->id, row->name, value, rte_strerror(-ret));
	return ret;
}

/* --- the queue of other frames ------------------------------------------------------------------------------- */

static int
queue_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	uint16_t queue;

	(void)ctx, (void)row;
	if (rte_pmd_mlx4_rss_default_queue_get(at->port, &queue) != 0)
		return -ENOTSUP;
	snprintf(value, TP_SETTING_VALUE, "%u", queue);
	return 0;
}

static int
queue_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	  char err[TP_SETTING_ERR])
{
	char why[TP_ERR_LEN];
	int ret = rte_pmd_mlx4_rss_default_queue_set(at->port, (uint16_t)tp_setting_num(value), why);

	(void)ctx, (void)row;
	if (ret != 0)
		snprintf(err, TP_SETTING_ERR, "port %u: %s", at->port, why);
	return ret;
}

/* --- key and table ------------------------------------------------------------------------------------------- */

static int
judge_key(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	size_t len = strlen(value), i;

	if (strcmp(value, DEFAULT) == 0)
		return 0;
	if (len < 2 || len % 2 != 0 || len > 2 * APP_RSS_KEY_MAX)
		return setting_refuse(row, value, err);
	for (i = 0; i < len; i++) {
		if (!isxdigit((unsigned char)value[i]))
			return setting_refuse(row, value, err);
		value[i] = (char)tolower((unsigned char)value[i]);
	}
	return 0;
}

/* Their number, 0: wrong. */
static unsigned int
queues_of(const char *value, uint16_t queue[APP_TABLE_MAX])
{
	unsigned int n = 0;
	unsigned long v;
	char *end;

	for (; n < APP_TABLE_MAX && isdigit((unsigned char)*value); value = end + 1) {
		v = strtoul(value, &end, 10);
		if (v >= APP_MAX_QUEUES)
			return 0;
		queue[n++] = (uint16_t)v;
		if (*end == '\0')
			return n;
		if (*end != ',')
			return 0;
	}
	return 0;
}

static void
queues_text(const uint16_t *queue, unsigned int n, char value[TP_SETTING_VALUE])
{
	size_t at = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		at += (size_t)snprintf(value + at, TP_SETTING_VALUE - at, "%s%u", i == 0 ? "" : ",", queue[i]);
}

static int
judge_table(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	uint16_t queue[APP_TABLE_MAX];
	unsigned int n = queues_of(value, queue);

	if (strcmp(value, DEFAULT) == 0)
		return 0;
	if (n == 0)
		return setting_refuse(row, value, err);
	queues_text(queue, n, value);
	return 0;
}

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;
	const struct app_port *p = &app->port[at->port];
	unsigned int i;

	snprintf(value, TP_SETTING_VALUE, DEFAULT);
	if (row->id == TABLE)
		queues_text(p->table, p->table_len, value);
	else
		for (i = 0; i < p->rss_key_len; i++)
			snprintf(value + 2 * i, 3, "%02x", p->rss_key[i]);
	return 0;
}

/* The port takes it when it is configured again. */
static int
set_key(const struct app *app, struct app_port *p, const char *value, char *err)
{
	const size_t n = strcmp(value, DEFAULT) == 0 ? 0 : strlen(value) / 2;
	int ret = port_check_stopped(app, p, err, TP_SETTING_ERR);
	unsigned int octet;
	size_t i;

	if (ret != 0)
		return ret;
	if (n != 0 && p->info.hash_key_size != 0 && n != p->info.hash_key_size) {
		snprintf(err, TP_SETTING_ERR, "port %u: rss-key of %zu octets, want %u", p->id, n,
			 p->info.hash_key_size);
		return -EINVAL;
	}
	for (i = 0; i < n && sscanf(value + 2 * i, "%2x", &octet) == 1; i++)
		p->rss_key[i] = (uint8_t)octet;
	p->rss_key_len = (uint8_t)n;
	p->dirty = true;
	return 0;
}

static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct app_port *p = &app->port[at->port];
	uint16_t queue[APP_TABLE_MAX];
	unsigned int n = 0;
	int ret;

	if (row->id == KEY)
		return set_key(app, p, value, err);
	ret = port_check_stopped(app, p, err, TP_SETTING_ERR);
	if (ret != 0)
		return ret;
	if (strcmp(value, DEFAULT) != 0)
		n = queues_of(value, queue);
	/* More rings may want more buffers. */
	p->dirty = true;
	return port_table_set(app, p, queue, (uint16_t)n, err, TP_SETTING_ERR);
}

static const struct tp_setting rows[] = {
	{.name = "rss-types",
	 .vendor = "*RSS",
	 .unit = "",
	 .def = "all",
	 .help = "What the hash covers; of ip, tcp and udp both versions",
	 .names = "ip, tcp, udp, ip+tcp, ip+udp, all, none, or a list such as ipv4,tcp4,udp4,ipv6,tcp6,udp6",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_TEXT,
	 .when = TP_WHEN_LIVE,
	 .get = types_get,
	 .set = types_set,
	 .judge = judge_types},
	{.name = "rss-default-queue",
	 .vendor = "DefaultRecvRingProcessor",
	 .unit = "",
	 .def = "0",
	 .help = "Receive queue of frames that RSS has no hash of; 0, or one that the table does not name: that of the "
		 "table's "
		 "first entry",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_NUMBER,
	 .when = TP_WHEN_LIVE,
	 .max = APP_MAX_QUEUES - 1,
	 .get = queue_get,
	 .set = queue_set},
	{.name = "rss-key",
	 .vendor = "",
	 .unit = "",
	 .def = DEFAULT,
	 .help = "Toeplitz key; rss key and rss symmetric set it live",
	 .names = DEFAULT " or the octets of a key in hexadecimal",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_TEXT,
	 .when = TP_WHEN_STOPPED,
	 .get = get,
	 .set = set,
	 .judge = judge_key,
	 .id = KEY},
	{.name = "rss-table",
	 .vendor = "",
	 .unit = "",
	 .def = DEFAULT,
	 .help = "Entries of the redirection table have these queues in turn; default: all, or as rss-queues says, "
		 "which "
		 "counts only then; rss "
		 "reta sets it live",
	 .names = DEFAULT " or up to 512 queues such as 0,1,1,2",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_TEXT,
	 .when = TP_WHEN_STOPPED,
	 .get = get,
	 .set = set,
	 .judge = judge_table,
	 .id = TABLE},
};

int
settings_rss_add(struct app *app)
{
	app->settings->rss = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->rss);
}
