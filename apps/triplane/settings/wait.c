/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Settings of how a port's receive queues are waited for, and over how many of them RSS spreads: all of them live. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rte_ethdev.h>

#include "apps/triplane/fwd/fwd.h"
#include "settings.h"
#include "apps/triplane/port/port.h"

#define ALL "all"

/* Where a row's value is in struct rxwait_conf. */
#define AT(field) offsetof(struct rxwait_conf, field)

static uint32_t *
field(struct rxwait_conf *c, const struct tp_setting *row)
{
	return (uint32_t *)(void *)((uint8_t *)c + row->id);
}

static const char *const *
words(const struct tp_setting *row)
{
	return row->id == AT(mode) ? rxwait_modes : rxmod_profiles;
}

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	struct app *app = ctx;
	const uint32_t v = *field(&app->port[at->port].wait, row);

	if (row->type == TP_SETTING_CHOICE)
		snprintf(value, TP_SETTING_VALUE, "%s", words(row)[v]);
	else
		snprintf(value, TP_SETTING_VALUE, "%u", v);
	return 0;
}

static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct app_port *p = &app->port[at->port];
	struct rxwait_conf c = p->wait;
	uint32_t v = 0;

	if (row->type == TP_SETTING_CHOICE)
		while (strcmp(words(row)[v], value) != 0)
			v++;
	else
		v = (uint32_t)tp_setting_num(value);
	*field(&c, row) = v;
	if (row->id == AT(mode) && v != RXWAIT_POLLING && p->started && !p->intr) {
		snprintf(err, TP_SETTING_ERR,
			 "port %u: rx-completion %s: want polling, its device has no receive interrupts, or more than "
			 "%u queues",
			 p->id, value, APP_INTR_QUEUES);
		return -ENOTSUP;
	}
	fwd_wait_set(app, p, &c);
	return 0;
}

static int
rss_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;
	const uint16_t n = app->port[at->port].rss_queues;

	(void)row;
	if (n == 0)
		snprintf(value, TP_SETTING_VALUE, ALL);
	else
		snprintf(value, TP_SETTING_VALUE, "%u", n);
	return 0;
}

static int
rss_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct app_port *p = &app->port[at->port];
	const uint16_t was = p->rss_queues;
	int ret;

	p->rss_queues = (uint16_t)tp_setting_num(value);
	ret = p->started ? port_spread(app, p) : 0;
	if (ret == 0)
		return 0;
	p->rss_queues = was;
	snprintf(err, TP_SETTING_ERR, "port %u: %s %s: %s", p->id, row->name, value, port_table_error(ret));
	return ret;
}

#define ROW(text, vendor_, unit_, type_, def_, names_, lo, hi, at_, help_)                                             \
	{                                                                                                              \
		.name = text, .vendor = vendor_, .unit = unit_, .def = def_, .help = help_, .names = names_,           \
		.scope = TP_SCOPE_PORT, .type = type_, .when = TP_WHEN_LIVE, .min = lo, .max = hi, .get = get,         \
		.set = set, .id = at_                                                                                  \
	}
#define COUNT(text, vendor_, unit_, def_, hi, at_, help_)                                                              \
	ROW(text, vendor_, unit_, TP_SETTING_NUMBER, def_, NULL, 0, hi, at_, help_)

static const struct tp_setting rows[] = {
	{.name = "rss-queues",
	 .vendor = "*NumRSSQueues",
	 .unit = "queues",
	 .def = ALL,
	 .help = "RSS spreads over so many of the receive queues that no group has, the first ones; over all of "
		 "them when there are fewer",
	 .names = ALL,
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_NUMBER,
	 .when = TP_WHEN_LIVE,
	 .min = 1,
	 .max = APP_RSS_QUEUES_MOST,
	 .get = rss_get,
	 .set = rss_set},
	ROW("rx-completion", "RecvCompletionMethod", "", TP_SETTING_CHOICE, "polling", "polling|interrupt|adaptive", 0,
	    0, AT(mode),
	    "How lcores notice packets; adaptive polls as long as it pays. An lcore sleeps when all it does is to "
	    "receive"),
	COUNT("thread-poll", "ThreadPoll", "polls", "10000", 200000, AT(thread_poll),
	      "Empty polls in a row after which an adaptive queue waits for an interrupt"),
	COUNT("average-weight", "AverageFactor", "1/256", "16", 256, AT(average_weight),
	      "Weight of the newest poll in the average number of packets a poll"),
	COUNT("average-poll", "AveragePollThreshold", "packets", "10", 1000, AT(average_poll),
	      "An adaptive queue is polled on while the average is this"),
	COUNT("this-poll", "ThisPollThreshold", "packets", "100", 1000, AT(this_poll),
	      "An adaptive queue is polled on when one poll brings so many"),
	ROW("rx-moderation", "RxIntModerationProfile", "", TP_SETTING_CHOICE, "moderate",
	    "low-latency|moderate|aggressive|adaptive|manual", 0, 0, AT(profile),
	    "What interrupts wait for: nothing, 5 packets or 10 us, 32 or 64; by the packet rate, or "
	    "rx-moderation-count and -time"),
	COUNT("rx-moderation-count", "RxIntModeration", "packets", "5", UINT16_MAX, AT(count),
	      "With manual and adaptive moderation: packets that an interrupt waits for; 0: only the time counts"),
	COUNT("rx-moderation-time", "", "us", "10", UINT16_MAX, AT(us),
	      "With manual and adaptive moderation: how long an interrupt waits at most; 0: it does not"),
	COUNT("rx-moderation-low-rate", "", "packets/s", "150000", 100000000, AT(low_pps),
	      "Adaptive moderation ends below this rate of a queue"),
	COUNT("rx-moderation-high-rate", "", "packets/s", "170000", 100000000, AT(high_pps),
	      "Adaptive moderation begins above this rate of a queue"),
};

int
settings_wait_add(struct app *app)
{
	app->settings->wait = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->wait);
}
