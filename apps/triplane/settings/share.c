/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Settings of the program: how much programs of libibverbs and librdmacm may have of shared ports, and who may use them. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <grp.h>

#include "apps/triplane/app/share.h"
#include "settings.h"

#define NONE "none"
#define GROUP_MAX 63u

/* --- limits ----------------------------------------------------------------------------------------------------- */

static int
limit_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	(void)ctx, (void)at;
	snprintf(value, TP_SETTING_VALUE, "%" PRIu64, share_limit_now((enum tp_share_limit)row->id));
	return 0;
}

static int
limit_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	  char err[TP_SETTING_ERR])
{
	(void)ctx, (void)at, (void)err;
	return share_set_limit((enum tp_share_limit)row->id, tp_setting_num(value));
}

/* --- the socket ---------------------------------------------------------------------------------------------------- */

static int
judge_mode(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	char *end;
	unsigned long mode = strtoul(value, &end, 8);

	if (end == value || *end != '\0' || mode == 0 || mode > 0777 || strspn(value, "01234567") != strlen(value))
		return setting_refuse(row, value, err);
	snprintf(value, TP_SETTING_VALUE, "%04lo", mode);
	return 0;
}

static int
mode_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	(void)ctx, (void)row, (void)at;
	snprintf(value, TP_SETTING_VALUE, "%04o", share_conf()->mode);
	return 0;
}

static int
failed(const struct tp_setting *row, const char *value, int ret, char err[TP_SETTING_ERR])
{
	if (ret != 0)
		snprintf(err, TP_SETTING_ERR, "%s: '%.63s': %s", row->name, value, strerror(-ret));
	return ret;
}

static int
mode_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	 char err[TP_SETTING_ERR])
{
	(void)ctx, (void)at;
	return failed(row, value, share_set_mode((mode_t)strtoul(value, NULL, 8)), err);
}

static int
judge_group(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	const size_t len = strlen(value);
	const bool number = strspn(value, "0123456789") == len && len <= 9;

	if (len == 0 || len > GROUP_MAX || (strcmp(value, NONE) != 0 && !number && getgrnam(value) == NULL))
		return setting_refuse(row, value, err);
	return 0;
}

static int
group_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const char *group = share_conf()->group;

	(void)ctx, (void)row, (void)at;
	snprintf(value, TP_SETTING_VALUE, "%s", group == NULL ? NONE : group);
	return 0;
}

static int
group_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	  char err[TP_SETTING_ERR])
{
	(void)ctx, (void)at;
	return failed(row, value, share_set_group(strcmp(value, NONE) == 0 ? NULL : value), err);
}

#define LIMIT(text, unit_, def_, most, id_, help_)                                                                     \
	{                                                                                                              \
		.name = text, .vendor = "", .unit = unit_, .def = def_, .help = help_, .scope = TP_SCOPE_PROGRAM,      \
		.type = TP_SETTING_NUMBER, .when = TP_WHEN_LIVE, .min = 1, .max = most, .get = limit_get,              \
		.set = limit_set, .id = id_                                                                            \
	}
#define MANY 1048576u
#define DOOR(text, what, def_, names_, help_)                                                                          \
	{                                                                                                              \
		.name = text, .vendor = "", .unit = "", .def = def_, .help = help_, .names = names_,                   \
		.scope = TP_SCOPE_PROGRAM, .type = TP_SETTING_TEXT, .when = TP_WHEN_LIVE, .get = what##_get,           \
		.set = what##_set, .judge = judge_##what                                                               \
	}

static const struct tp_setting rows[] = {
	DOOR("share-mode", mode, "0600", "an octal mode of 0001..0777",
	     "Access mode of the socket of 'share': who may write to it may use the ports"),
	DOOR("share-group", group, NONE, NONE " or a number, or the name of a group of this machine",
	     "Group of the socket of 'share', whose users may have whole frames, as sockets need them; none: the "
	     "program's own"),
	LIMIT("share-connections", "connections", "64", TP_SHARE_GUESTS, TP_SHARE_CONNECTIONS,
	      "Most connections of programs to shared ports: each open device is one, each view of triplane-run, too"),
	LIMIT("share-objects", "objects", "65536", MANY, TP_SHARE_OBJECTS, "Most objects of all kinds of a connection"),
	LIMIT("share-qps", "queue pairs", "65536", MANY, TP_SHARE_QPS, "Most queue pairs of a connection"),
	LIMIT("share-cqs", "queues", "65536", MANY, TP_SHARE_CQS, "Most completion queues of a connection"),
	LIMIT("share-srqs", "queues", "65536", MANY, TP_SHARE_SRQS, "Most shared receive queues of a connection"),
	LIMIT("share-regions", "regions", "65536", MANY, TP_SHARE_REGIONS, "Most registered regions of a connection"),
	LIMIT("share-addresses", "addresses", "65536", MANY, TP_SHARE_AHS, "Most address handles of a connection"),
	LIMIT("share-queue-bytes", "octets", "268435456", UINT64_C(1) << 40, TP_SHARE_QUEUE_BYTES,
	      "Most memory of queues of a connection"),
	LIMIT("share-region-bytes", "octets", "68719476736", UINT64_C(1) << 50, TP_SHARE_REGION_BYTES,
	      "Most memory of registered regions of a connection"),
};

int
settings_share_add(struct app *app)
{
	app->settings->share = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->share);
}
