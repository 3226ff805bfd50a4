/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Settings of the multicast list of a port: its addresses, and how many the card filters. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_ethdev.h>

#include "apps/triplane/port/port.h"
#include "settings.h"

#define NONE "none"

/* --- how many it holds ---------------------------------------------------------------------------------------- */

static int
size_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	struct rte_pmd_mlx4_mcast mcast;

	(void)ctx, (void)row;
	if (rte_pmd_mlx4_mcast_get(at->port, &mcast) != 0)
		return -ENOTSUP;
	snprintf(value, TP_SETTING_VALUE, "%u", mcast.size);
	return 0;
}

static int
size_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	 char err[TP_SETTING_ERR])
{
	char why[TP_ERR_LEN];
	int ret = rte_pmd_mlx4_mcast_size_set(at->port, (uint32_t)tp_setting_num(value), why);

	(void)ctx;
	if (ret != 0)
		snprintf(err, TP_SETTING_ERR, "port %u: %s: %s", at->port, row->name, why);
	return ret;
}

/* --- its addresses -------------------------------------------------------------------------------------------- */

/* ADDRESS or FIRST-LAST, appended to mac. The number of all, -1: wrong, or too many. */
static int
append(const char *word, struct rte_ether_addr *mac, int n)
{
	const char *dash = strchr(word, '-');
	char first[RTE_ETHER_ADDR_FMT_SIZE];
	struct rte_ether_addr lo, hi;
	uint64_t i, end;
	size_t len;

	len = dash != NULL ? (size_t)(dash - word) : strlen(word);
	if (len >= sizeof(first))
		return -1;
	memcpy(first, word, len);
	first[len] = '\0';
	if (rte_ether_unformat_addr(first, &lo) != 0)
		return -1;
	hi = lo;
	if (dash != NULL && rte_ether_unformat_addr(dash + 1, &hi) != 0)
		return -1;
	end = port_mac_num(&hi);
	for (i = port_mac_num(&lo); i <= end; i++) {
		if (n == APP_MCAST_MOST)
			return -1;
		port_mac_of(i, &mac[n]);
		if (!port_mcast_ok(&mac[n]))
			return -1;
		n++;
	}
	return end < port_mac_num(&lo) ? -1 : n;
}

static int
list_of(const char *value, struct rte_ether_addr mac[APP_MCAST_MOST])
{
	char copy[TP_SETTING_VALUE], *next = copy, *one;
	int n = 0;

	if (strcmp(value, NONE) == 0)
		return 0;
	snprintf(copy, sizeof(copy), "%s", value);
	while (n >= 0 && (one = strsep(&next, ",")) != NULL)
		n = append(one, mac, n);
	return n;
}

/* Neighbours are written as a range, so that long lists are short. */
static void
list_text(const struct rte_ether_addr *mac, unsigned int n, char value[TP_SETTING_VALUE])
{
	unsigned int lo, hi;
	size_t at = 0;

	snprintf(value, TP_SETTING_VALUE, NONE);
	for (lo = 0; lo < n; lo = hi + 1) {
		for (hi = lo; hi + 1 < n && port_mac_num(&mac[hi + 1]) == port_mac_num(&mac[hi]) + 1; hi++)
			;
		at += (size_t)snprintf(value + at, TP_SETTING_VALUE - at, "%s" RTE_ETHER_ADDR_PRT_FMT,
				       at == 0 ? "" : ",", RTE_ETHER_ADDR_BYTES(&mac[lo]));
		if (hi > lo)
			at += (size_t)snprintf(value + at, TP_SETTING_VALUE - at, "-" RTE_ETHER_ADDR_PRT_FMT,
					       RTE_ETHER_ADDR_BYTES(&mac[hi]));
	}
}

static int
judge_list(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	struct rte_ether_addr mac[APP_MCAST_MOST];

	const int n = list_of(value, mac);

	if (n < 0)
		return setting_refuse(row, value, err);
	list_text(mac, port_mcast_sort(mac, (unsigned int)n), value);
	return 0;
}

static int
list_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;

	(void)row;
	list_text(app->port[at->port].mcast, app->port[at->port].mcast_num, value);
	return 0;
}

static int
list_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	 char err[TP_SETTING_ERR])
{
	struct rte_ether_addr mac[APP_MCAST_MOST];
	struct app *app = ctx;
	int ret = port_mcast_set(&app->port[at->port], mac, (unsigned int)list_of(value, mac));

	if (ret != 0)
		snprintf(err, TP_SETTING_ERR, "port %u: %s: %.400s: %s", at->port, row->name, value,
			 rte_strerror(-ret));
	return ret;
}

static const struct tp_setting rows[] = {
	{.name = "mcast-list",
	 .vendor = "",
	 .unit = "addresses",
	 .def = RTE_STR(128),
	 .help = "Multicast addresses that the card filters; when more are listed, all multicast is received",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_NUMBER,
	 .when = TP_WHEN_LIVE,
	 .min = RTE_PMD_MLX4_MCAST_SIZE_MIN,
	 .max = RTE_PMD_MLX4_MCAST_SIZE_MAX,
	 .get = size_get,
	 .set = size_set},
	{.name = "mcast-addresses",
	 .vendor = "",
	 .unit = "",
	 .def = NONE,
	 .help = "Multicast addresses that the port receives",
	 .names = NONE " or up to " RTE_STR(
		 APP_MCAST_MOST) " multicast addresses such as 01:00:5e:00:00:05,33:33:00:00:00:01-33:33:00:00:00:09",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_TEXT,
	 .when = TP_WHEN_LIVE,
	 .get = list_get,
	 .set = list_set,
	 .judge = judge_list},
};

int
settings_mcast_add(struct app *app)
{
	app->settings->mcast = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->mcast);
}
