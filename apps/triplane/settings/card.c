/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What devices were made with: the driver's table of device arguments, to be read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "settings.h"

/* Names that the vendor's driver has for what a card is made with. */
static const struct {
	const char *arg, *vendor;
} names[] = {
	{"rss-udp", "UseRSSForUDP"},
	{"rss-raw-ip", "UseRSSForRawIP"},
	{"rss-or-vmq", "*RssOrVmqPreference"},
};

static const char *
vendor_name(const char *arg)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(names); i++)
		if (strcmp(names[i].arg, arg) == 0)
			return names[i].vendor;
	return "";
}

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	(void)ctx;
	return rte_pmd_mlx4_arg_get(at->port, row->name, value, TP_SETTING_VALUE);
}

int
settings_card_add(struct app *app)
{
	struct app_settings *s = app->settings;
	struct rte_pmd_mlx4_arg arg;
	unsigned int i, n = 0;

	while (rte_pmd_mlx4_arg(n, &arg) == 0)
		n++;
	s->cards = calloc(n, sizeof(s->cards[0]));
	if (s->cards == NULL)
		return -ENOMEM;
	for (i = 0; i < n && rte_pmd_mlx4_arg(i, &arg) == 0; i++)
		s->cards[i] = (struct tp_setting){
			.name = arg.name,
			.vendor = vendor_name(arg.name),
			.unit = arg.unit,
			.def = arg.def,
			.help = arg.help,
			.names = arg.values,
			.scope = TP_SCOPE_CARD,
			.type = TP_SETTING_TEXT,
			.when = TP_WHEN_MADE,
			.get = get,
		};
	s->card = (struct tp_settings_table){.row = s->cards, .num = n, .ctx = app};
	return tp_settings_add(s->reg, &s->card);
}
