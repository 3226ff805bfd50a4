/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Congestion control of a RoCE port as one text: priorities that have it, each with what differs from the defaults, as in
 * "3,4:variant=paper:threshold=3"; "-3:ai-rate=40" is a priority that has parameters and is off.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/triplane/port/port.h"
#include "apps/triplane/port/roce.h"
#include "settings.h"

#define NONE "none"
#define VARIANT "variant"

static void
text_of(const struct roce_cc cc[TP_ROCE_PRIOS], char value[TP_SETTING_VALUE])
{
	const struct tp_roce_cc_param *p;
	size_t at = 0;

	snprintf(value, TP_SETTING_VALUE, NONE);
	for (unsigned int i = 0; i < TP_ROCE_PRIOS; i++) {
		if (!roce_cc_says(&cc[i]))
			continue;
		at += (size_t)snprintf(value + at, TP_SETTING_VALUE - at, "%s%s%u", at != 0 ? "," : "",
				       cc[i].on ? "" : "-", i);
		if (cc[i].variant != 0)
			at += (size_t)snprintf(value + at, TP_SETTING_VALUE - at, ":" VARIANT "=%s",
					       tp_roce_cc_variant_name(cc[i].variant));
		for (unsigned int k = 0; (p = tp_roce_cc_param(k)) != NULL; k++)
			if ((cc[i].has >> k & 1) != 0)
				at += (size_t)snprintf(value + at, TP_SETTING_VALUE - at, ":%s=%" PRIu64, p->name,
						       cc[i].value[k]);
	}
}

int
roce_cc_param_of(const char *name)
{
	const struct tp_roce_cc_param *p;

	for (unsigned int i = 0; (p = tp_roce_cc_param(i)) != NULL; i++)
		if (strcmp(p->name, name) == 0 || (name[0] != '\0' && strcmp(p->ofed, name) == 0))
			return (int)i;
	return -1;
}

int
roce_cc_variant_of(const char *name)
{
	const char *one;

	/* Its short name */
	if (strcmp(name, "vendor") == 0)
		name = "vendor-hpcc";
	for (unsigned int i = 0; (one = tp_roce_cc_variant_name(i)) != NULL; i++)
		if (strcmp(one, name) == 0)
			return (int)i;
	return -1;
}

static int
take_variant(const char *name, struct roce_cc *c, char err[TP_SETTING_ERR])
{
	int v = roce_cc_variant_of(name);

	if (v < 0) {
		snprintf(err, TP_SETTING_ERR, "roce-cc: " VARIANT " '%.40s', want card, paper or vendor-hpcc", name);
		return -EINVAL;
	}
	c->variant = (uint8_t)v;
	return 0;
}

/* "name=value" */
static int
param_of(char *text, struct roce_cc *c, char err[TP_SETTING_ERR])
{
	char *value = strchr(text, '='), *end = NULL;
	const struct tp_roce_cc_param *p;
	unsigned long long v = 0;
	int i;

	if (value != NULL) {
		*value++ = '\0';
		if (strcmp(text, VARIANT) == 0)
			return take_variant(value, c, err);
		errno = 0;
		v = strtoull(value, &end, 10);
	}
	i = roce_cc_param_of(text);
	if (i < 0) {
		snprintf(err, TP_SETTING_ERR, "roce-cc: '%.40s' is no parameter of congestion control, such as ai-rate",
			 text);
		return -EINVAL;
	}
	p = tp_roce_cc_param((unsigned int)i);
	if (value == NULL || !isdigit((unsigned char)value[0]) || *end != '\0' || errno != 0 || v < p->min ||
	    v > p->max) {
		snprintf(err, TP_SETTING_ERR, "roce-cc: %s '%.40s', want %" PRIu64 "..%" PRIu64 "%s%s", p->name,
			 value != NULL ? value : "", p->min, p->max, p->unit[0] != '\0' ? " " : "", p->unit);
		return -EINVAL;
	}
	c->has |= 1u << i;
	c->value[i] = v;
	return 0;
}

/* err NULL: it was judged before. */
static int
cc_of(const char *value, struct roce_cc cc[TP_ROCE_PRIOS], char err[TP_SETTING_ERR])
{
	char copy[TP_SETTING_VALUE], *next = copy, *one;

	memset(cc, 0, TP_ROCE_PRIOS * sizeof(*cc));
	if (strcmp(value, NONE) == 0)
		return 0;
	snprintf(copy, sizeof(copy), "%s", value);
	while ((one = strsep(&next, ",")) != NULL) {
		char *words = one, *prio = strsep(&words, ":"), *word;
		bool on = prio[0] != '-';
		struct roce_cc *c;

		prio += !on;
		if (prio[0] < '0' || prio[0] >= (char)('0' + TP_ROCE_PRIOS) || prio[1] != '\0') {
			snprintf(err, TP_SETTING_ERR, "roce-cc: '%.40s', want a priority 0..%u", prio,
				 TP_ROCE_PRIOS - 1);
			return -EINVAL;
		}
		c = &cc[prio[0] - '0'];
		c->on = on;
		while ((word = strsep(&words, ":")) != NULL)
			if (param_of(word, c, err) != 0)
				return -EINVAL;
		if (!roce_cc_says(c)) {
			snprintf(err, TP_SETTING_ERR,
				 "roce-cc: '-%.40s', want parameters of what is off, such as -%s:ai-rate=40", prio,
				 prio);
			return -EINVAL;
		}
	}
	return 0;
}

int
roce_cc_judge(const struct tp_setting *row, char value[TP_SETTING_VALUE], char err[TP_SETTING_ERR])
{
	struct roce_cc cc[TP_ROCE_PRIOS];

	if (value[0] == '\0')
		return setting_refuse(row, value, err);
	if (cc_of(value, cc, err) != 0)
		return -EINVAL;
	text_of(cc, value);
	return 0;
}

int
roce_cc_get(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, char value[TP_SETTING_VALUE])
{
	const struct app *app = ctx;
	const struct roce_port *r = app->port[at->port].roce;

	(void)row;
	if (r == NULL)
		snprintf(value, TP_SETTING_VALUE, NONE);
	else
		text_of(r->cc, value);
	return 0;
}

/* The open port has all of it, or what it had before. */
static int
apply(struct roce_port *r, const struct roce_cc cc[TP_ROCE_PRIOS])
{
	struct roce_cc was[TP_ROCE_PRIOS];
	int ret = roce_cc_apply(r, cc);

	memcpy(was, r->cc, sizeof(was));
	memcpy(r->cc, cc, sizeof(r->cc));
	if (ret == 0)
		return 0;
	/* Those that were told are among what is said now. */
	(void)roce_cc_apply(r, was);
	memcpy(r->cc, was, sizeof(r->cc));
	return ret;
}

int
roce_cc_set(void *ctx, const struct tp_setting *row, const struct tp_setting_at *at, const char *value,
	    char err[TP_SETTING_ERR])
{
	struct app *app = ctx;
	struct roce_port *r = roce_of(&app->port[at->port]);
	struct roce_cc cc[TP_ROCE_PRIOS];
	int ret = r == NULL ? -ENOMEM : cc_of(value, cc, err);

	(void)row;
	if (ret == 0 && r->ctx != NULL)
		ret = apply(r, cc);
	else if (ret == 0)
		memcpy(r->cc, cc, sizeof(r->cc));
	if (ret != 0)
		snprintf(err, TP_SETTING_ERR, "port %u: roce-cc: %s", at->port, strerror(-ret));
	return ret;
}

/* --- one priority more, one parameter else ------------------------------------------------------------------------- */

static void
values_of(struct ibv_context *ctx, unsigned int prio, uint64_t value[ROCE_CC_PARAMS])
{
	const struct tp_roce_cc_param *p;

	memset(value, 0, ROCE_CC_PARAMS * sizeof(*value));
	for (unsigned int i = 0; (p = tp_roce_cc_param(i)) != NULL; i++)
		(void)tp_roce_cc_get(ctx, prio, p->name, &value[i]);
}

/* What the port had before, as what differs from the defaults. */
static int
restored(const struct roce_port *r, unsigned int prio, struct roce_cc *c)
{
	const uint8_t mask = (uint8_t)(1u << prio);
	uint64_t def[ROCE_CC_PARAMS];
	int err;

	memset(c, 0, sizeof(*c));
	/* A closed port has it when it opens. */
	if (r->ctx == NULL)
		return 0;
	err = tp_roce_cc_restore(r->ctx, mask);
	if (err == 0) {
		c->on = tp_roce_cc_enabled(r->ctx, prio);
		values_of(r->ctx, prio, c->value);
		err = tp_roce_cc_defaults(r->ctx, mask);
	}
	if (err != 0)
		return app_err(-err, "port %u: congestion control: %s", r->id, strerror(err));
	values_of(r->ctx, prio, def);
	/* The setting may be what it was, and then nothing is applied. */
	err = tp_roce_cc_restore(r->ctx, mask);
	if (err != 0)
		return app_err(-err, "port %u: congestion control: %s", r->id, strerror(err));
	for (unsigned int i = 0; i < ROCE_CC_PARAMS; i++)
		c->has |= (uint32_t)(c->value[i] != def[i]) << i;
	return 0;
}

int
roce_cc_change(struct app *app, uint16_t port, unsigned int prio, const struct roce_cc_word *w)
{
	const struct tp_setting_at at = {.scope = TP_SCOPE_PORT, .port = port};
	struct roce_port *r = roce_of(&app->port[port]);
	struct roce_cc cc[TP_ROCE_PRIOS];
	char value[TP_SETTING_VALUE];

	if (r == NULL)
		return -ENOMEM;
	memcpy(cc, r->cc, sizeof(cc));
	switch (w->what) {
	case ROCE_CC_ON: cc[prio].on = true; break;
	case ROCE_CC_OFF: cc[prio].on = false; break;
	case ROCE_CC_DEFAULTS: cc[prio].has = 0; break;
	case ROCE_CC_VARIANT:
		cc[prio].variant = (uint8_t)w->value;
		cc[prio].has = 0;
		break;
	case ROCE_CC_RESTORE:
		if (restored(r, prio, &cc[prio]) != 0)
			return -EIO;
		break;
	case ROCE_CC_SET:
		cc[prio].has |= 1u << w->param;
		cc[prio].value[w->param] = w->value;
		break;
	}
	text_of(cc, value);
	return setting_set(app, &at, "roce-cc", value);
}
