/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * 802.1Qau of a card's port as one text: the priorities that follow it, each with what differs from the standard's parameters, as in
 * "3,5:cn_tag=1:rpg_ai_rate=10"; "-3:rpg_gd=8" is a priority that has parameters and is off, and "disable_32_14_4e" a rule of all.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include "rte_pmd_mlx4_qos.h"
#include "settings.h"

#define NONE "none"
#define ENABLE "rpg_enable" /* which a priority without a - says */
#define RULE "disable_32_14_4e"
#define PRIOS 8u
#define PARAMS RTE_PMD_MLX4_QCN_PARAMS

struct qcn {
	uint32_t value[PRIOS][PARAMS];
	bool rule;
};

static bool
is(unsigned int k, const char *name)
{
	return strcmp(rte_pmd_mlx4_qcn_param(k)->name, name) == 0;
}

/* Does a priority differ from the standard? */
static bool
says(const uint32_t value[PARAMS])
{
	for (unsigned int k = 0; k < PARAMS; k++)
		if (!is(k, RULE) && value[k] != rte_pmd_mlx4_qcn_param(k)->def)
			return true;
	return false;
}

static bool
on(const uint32_t value[PARAMS])
{
	for (unsigned int k = 0; k < PARAMS; k++)
		if (is(k, ENABLE))
			return value[k] != 0;
	return false;
}

static void
text_of(const struct qcn *q, char value[TP_SETTING_VALUE])
{
	size_t at = 0;

	snprintf(value, TP_SETTING_VALUE, NONE);
	for (unsigned int i = 0; i < PRIOS; i++) {
		if (!says(q->value[i]))
			continue;
		at += (size_t)snprintf(value + at, TP_SETTING_VALUE - at, "%s%s%u", at != 0 ? "," : "",
				       on(q->value[i]) ? "" : "-", i);
		for (unsigned int k = 0; k < PARAMS; k++) {
			const struct rte_pmd_mlx4_qcn_param *p = rte_pmd_mlx4_qcn_param(k);

			if (!is(k, ENABLE) && !is(k, RULE) && q->value[i][k] != p->def)
				at += (size_t)snprintf(value + at, TP_SETTING_VALUE - at, ":%s=%u", p->name,
						       q->value[i][k]);
		}
	}
	if (q->rule)
		snprintf(value + at, TP_SETTING_VALUE - at, "%s" RULE, at != 0 ? "," : "");
}

/* "name=value" of a priority. */
static int
param_of(char *text, uint32_t value[PARAMS], char err[TP_SETTING_ERR])
{
	const struct rte_pmd_mlx4_qcn_param *p = NULL;
	char *number = strchr(text, '='), *end = NULL;
	unsigned long long v = 0;
	unsigned int k;

	if (number != NULL)
		*number++ = '\0';
	for (k = 0; (p = rte_pmd_mlx4_qcn_param(k)) != NULL && strcmp(p->name, text) != 0; k++)
		;
	if (p == NULL || is(k, ENABLE) || is(k, RULE)) {
		snprintf(err, TP_SETTING_ERR, "qcn: '%.40s' is no parameter of a priority, such as rpg_ai_rate", text);
		return -EINVAL;
	}
	errno = 0;
	if (number != NULL)
		v = strtoull(number, &end, 10);
	if (number == NULL || !isdigit((unsigned char)number[0]) || *end != '\0' || errno != 0 || v > p->max) {
		snprintf(err, TP_SETTING_ERR, "qcn: %s '%.40s', want 0..%u%s%s", p->name, number != NULL ? number : "",
			 p->max, p->unit[0] != '\0' ? " " : "", p->unit);
		return -EINVAL;
	}
	value[k] = (uint32_t)v;
	return 0;
}

/* "5:name=value:...", or with a - in front. taken: priorities that were said. */
static int
prio_of(char *text, struct qcn *q, uint8_t *taken, char err[TP_SETTING_ERR])
{
	char *words = text, *prio = strsep(&words, ":"), *word;
	const bool off = prio[0] == '-';
	unsigned int i, k;

	prio += off;
	if (prio[0] < '0' || prio[0] >= (char)('0' + PRIOS) || prio[1] != '\0') {
		snprintf(err, TP_SETTING_ERR, "qcn: '%.40s', want a priority 0..%u, or " RULE, prio, PRIOS - 1);
		return -EINVAL;
	}
	i = (unsigned int)(prio[0] - '0');
	if ((*taken >> i & 1) != 0) {
		snprintf(err, TP_SETTING_ERR, "qcn: priority %u stands twice", i);
		return -EINVAL;
	}
	*taken |= (uint8_t)(1u << i);
	if (off && words == NULL) {
		snprintf(err, TP_SETTING_ERR, "qcn: '-%u', want parameters of what is off, such as -%u:rpg_gd=8", i, i);
		return -EINVAL;
	}
	for (k = 0; k < PARAMS; k++)
		if (is(k, ENABLE))
			q->value[i][k] = !off;
	while ((word = strsep(&words, ":")) != NULL)
		if (param_of(word, q->value[i], err) != 0)
			return -EINVAL;
	return 0;
}

static int
qcn_of(const char *value, struct qcn *q, char err[TP_SETTING_ERR])
{
	char copy[TP_SETTING_VALUE], *next = copy, *one;
	uint8_t taken = 0;

	q->rule = false;
	for (unsigned int i = 0; i < PRIOS; i++)
		for (unsigned int k = 0; k < PARAMS; k++)
			q->value[i][k] = rte_pmd_mlx4_qcn_param(k)->def;
	if (strcmp(value, NONE) == 0)
		return 0;
	snprintf(copy, sizeof(copy), "%s", value);
	while ((one = strsep(&next, ",")) != NULL) {
		if (strcmp(one, RULE) == 0)
			q->rule = true;
		else if (prio_of(one, q, &taken, err) != 0)
			return -EINVAL;
	}
	return 0;
}

static int
judge(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	struct qcn q;

	if (value[0] == '\0')
		return setting_refuse(row, value, err);
	if (qcn_of(value, &q, err) != 0)
		return -EINVAL;
	text_of(&q, value);
	return 0;
}

/* What the port was told, by whomever. */
static int
told(uint16_t port, struct qcn *q)
{
	int ret = 0;

	for (unsigned int i = 0; i < PRIOS && ret == 0; i++)
		ret = rte_pmd_mlx4_qcn_told(port, i, q->value[i]);
	for (unsigned int k = 0; k < PARAMS && ret == 0; k++)
		if (is(k, RULE))
			q->rule = q->value[0][k] != 0;
	return ret;
}

static int
get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	struct qcn q;
	int ret = told(at->port, &q);

	(void)ctx, (void)row;
	if (ret == 0)
		text_of(&q, value);
	return ret;
}

static bool
differ(const uint32_t a[PARAMS], const uint32_t b[PARAMS])
{
	for (unsigned int k = 0; k < PARAMS; k++)
		if (!is(k, RULE) && a[k] != b[k])
			return true;
	return false;
}

/* Tells the card what it is to have otherwise, a priority at a time. */
static int
apply(uint16_t port, const struct qcn *want)
{
	struct qcn has;
	int ret = told(port, &has);

	for (unsigned int i = 0; i < PRIOS && ret == 0; i++)
		if (differ(has.value[i], want->value[i]))
			ret = rte_pmd_mlx4_qcn_put(port, (uint8_t)(1u << i), want->value[i]);
	if (ret == 0 && has.rule != want->rule)
		ret = rte_pmd_mlx4_qcn_set(port, UINT8_MAX, RULE, want->rule);
	return ret;
}

static int
set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
    char err[TP_SETTING_ERR])
{
	struct qcn was, want;
	int ret = told(at->port, &was);

	(void)ctx;
	if (ret == 0)
		ret = qcn_of(value, &want, err);
	if (ret == 0) {
		ret = apply(at->port, &want);
		if (ret != 0 && apply(at->port, &was) != 0)
			app_err(ret, "port %u: %s: the card did not take what it had before back", at->port, row->name);
	}
	if (ret != 0)
		snprintf(err, TP_SETTING_ERR, "port %u: %s %.60s: %s", at->port, row->name, value, rte_strerror(-ret));
	return ret;
}

static const struct tp_setting rows[] = {
	{.name = "qcn",
	 .vendor = "",
	 .unit = "",
	 .def = NONE,
	 .help = "Priorities whose Ethernet queues follow 802.1Qau, each with what differs from the standard's "
		 "parameters; behind a - one that is off; disable_32_14_4e is of all of them",
	 .names = NONE " or priorities with parameters such as 3,5:cn_tag=1:rpg_ai_rate=10",
	 .scope = TP_SCOPE_PORT,
	 .type = TP_SETTING_TEXT,
	 .when = TP_WHEN_LIVE,
	 .get = get,
	 .set = set,
	 .judge = judge},
};

int
settings_qcn_add(struct app *app)
{
	app->settings->qcn = (struct tp_settings_table){.row = rows, .num = RTE_DIM(rows), .ctx = app};
	return tp_settings_add(app->settings->reg, &app->settings->qcn);
}
