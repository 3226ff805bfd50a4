/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Congestion control of a port: its switch and its parameters, by priority. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "verbs.h"

const struct tp_roce_cc_param *
tp_roce_cc_param(unsigned int i)
{
	static _Thread_local struct tp_roce_cc_param said;
	const struct tcc_param *p = tcc_param(i);

	if (p == NULL)
		return NULL;
	said = (struct tp_roce_cc_param){.name = p->name,
					 .ofed = p->ofed,
					 .unit = p->unit,
					 .min = p->min,
					 .max = p->line ? UINT32_MAX : p->max,
					 .line = p->line};
	return &said;
}

/* Calls change for each of the priorities. */
static int
each(struct ibv_context *ctx, uint8_t prios, void (*change)(struct troce_cc *cc, const void *arg), const void *arg)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	struct troce_cc cc;
	int err = 0;

	if (dev->prov->cc_set == NULL || dev->ib != NULL)
		return TROCE_REFUSE(dev, EOPNOTSUPP, "provider %s has no congestion control", dev->prov->name);
	troce_lock(dev);
	for (unsigned int i = 0; i < TP_ROCE_PRIOS && err == 0; i++) {
		if ((prios >> i & 1) == 0)
			continue;
		err = dev->prov->cc_get(dev, i, &cc);
		if (err != 0)
			break;
		change(&cc, arg);
		err = dev->prov->cc_set(dev, i, &cc);
	}
	troce_unlock(dev);
	if (err == EOPNOTSUPP)
		return TROCE_REFUSE(dev, err, "the firmware has no congestion control of RoCE v2");
	return err;
}

static bool
has(const struct troce_dev *dev, const char *name)
{
	return dev->prov->cc_has == NULL || dev->prov->cc_has(name);
}

static int
look(struct ibv_context *ctx, unsigned int prio, struct troce_cc *cc)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	int err;

	if (dev->prov->cc_get == NULL || dev->ib != NULL)
		return EOPNOTSUPP;
	if (prio >= TP_ROCE_PRIOS)
		return TROCE_REFUSE(dev, EINVAL, "priority %u: wanted 0..%u", prio, TP_ROCE_PRIOS - 1);
	troce_lock(dev);
	err = dev->prov->cc_get(dev, prio, cc);
	troce_unlock(dev);
	return err;
}

static void
change_switch(struct troce_cc *cc, const void *arg)
{
	cc->on = *(const bool *)arg;
}

int
tp_roce_cc_enable(struct ibv_context *ctx, uint8_t prios, bool on)
{
	return each(ctx, prios, change_switch, &on);
}

static void
change_all(struct troce_cc *cc, const void *arg)
{
	(void)arg;
	tcc_conf_default(&cc->conf, (enum tcc_variant)cc->conf.variant, cc->conf.line_rate);
}

int
tp_roce_cc_defaults(struct ibv_context *ctx, uint8_t prios)
{
	return each(ctx, prios, change_all, NULL);
}

int
tp_roce_cc_clear(struct ibv_context *ctx, uint8_t prios)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	int err;

	if (dev->prov->cc_clear == NULL || dev->ib != NULL)
		return TROCE_REFUSE(dev, EOPNOTSUPP, "provider %s has no congestion control", dev->prov->name);
	troce_lock(dev);
	err = dev->prov->cc_clear(dev, prios);
	troce_unlock(dev);
	if (err == EINVAL)
		return TROCE_REFUSE(dev, err, "provider %s counts all priorities together", dev->prov->name);
	if (err == EOPNOTSUPP)
		return TROCE_REFUSE(dev, err, "the firmware has no congestion control of RoCE v2");
	return err;
}

int
tp_roce_cc_limited(struct ibv_context *ctx, struct tp_roce_cc_limited *list, unsigned int max, unsigned int *n)
{
	struct troce_dev *dev = troce_dev_of(ctx);

	*n = 0;
	if (dev->prov->cc_limited == NULL || dev->ib != NULL)
		return EOPNOTSUPP;
	troce_lock(dev);
	dev->prov->cc_limited(dev, list, max, n);
	troce_unlock(dev);
	return 0;
}

const char *
tp_roce_cc_variant_name(unsigned int i)
{
	return i < TCC_VARIANTS ? tcc_variant_name((enum tcc_variant)i) : NULL;
}

static void
change_variant(struct troce_cc *cc, const void *arg)
{
	tcc_conf_default(&cc->conf, *(const enum tcc_variant *)arg, cc->conf.line_rate);
}

int
tp_roce_cc_set_variant(struct ibv_context *ctx, uint8_t prios, const char *name)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	enum tcc_variant v = tcc_variant_find(name);

	if (v == TCC_VARIANTS)
		return TROCE_REFUSE(dev, ENOENT,
				    "variant '%s' of congestion control: wanted card, paper or vendor-hpcc", name);
	if (v != TCC_CARD && !has(dev, "variant"))
		return TROCE_REFUSE(dev, EOPNOTSUPP, "congestion control of provider %s is the card's",
				    dev->prov->name);
	return each(ctx, prios, change_variant, &v);
}

const char *
tp_roce_cc_variant(struct ibv_context *ctx, unsigned int prio)
{
	struct troce_cc cc;

	return look(ctx, prio, &cc) == 0 ? tcc_variant_name((enum tcc_variant)cc.conf.variant) : NULL;
}

int
tp_roce_cc_restore(struct ibv_context *ctx, uint8_t prios)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	int err = 0;

	if (dev->prov->cc_restore == NULL || dev->ib != NULL)
		return TROCE_REFUSE(dev, EOPNOTSUPP, "provider %s has no congestion control", dev->prov->name);
	troce_lock(dev);
	for (unsigned int i = 0; i < TP_ROCE_PRIOS && err == 0; i++)
		if ((prios >> i & 1) != 0)
			err = dev->prov->cc_restore(dev, i);
	troce_unlock(dev);
	if (err == EOPNOTSUPP)
		return TROCE_REFUSE(dev, err, "the firmware has no congestion control of RoCE v2");
	return err;
}

struct one {
	unsigned int param;
	uint64_t value;
};

static void
change_one(struct troce_cc *cc, const void *arg)
{
	const struct one *o = arg;

	if (tcc_param_set(&cc->conf, o->param, o->value) == 1)
		TROCE_LOG(WARNING, "%s %" PRIu64 " is above the line rate: it is %u Mb/s", tcc_param(o->param)->name,
			  o->value, cc->conf.line_rate);
}

int
tp_roce_cc_set(struct ibv_context *ctx, uint8_t prios, const char *name, uint64_t value)
{
	struct troce_dev *dev = troce_dev_of(ctx);
	int i = tcc_param_find(name);
	const struct tcc_param *p;
	struct one o;
	uint64_t max;

	if (i < 0)
		return TROCE_REFUSE(dev, ENOENT, "congestion control has no parameter '%s'", name);
	p = tcc_param((unsigned int)i);
	if (!has(dev, p->name))
		return TROCE_REFUSE(dev, EOPNOTSUPP, "congestion control of provider %s has no parameter '%s'",
				    dev->prov->name, name);
	max = p->line ? UINT32_MAX : p->max;
	if (value < p->min || value > max)
		return TROCE_REFUSE(dev, ERANGE, "%s %" PRIu64 ": wanted %" PRIu64 "..%" PRIu64 "%s%s", name, value,
				    p->min, max, p->unit[0] != '\0' ? " " : "", p->unit);
	o = (struct one){.param = (unsigned int)i, .value = value};
	return each(ctx, prios, change_one, &o);
}

bool
tp_roce_cc_enabled(struct ibv_context *ctx, unsigned int prio)
{
	struct troce_cc cc;

	return look(ctx, prio, &cc) == 0 && cc.on;
}

int
tp_roce_cc_get(struct ibv_context *ctx, unsigned int prio, const char *name, uint64_t *value)
{
	int i = tcc_param_find(name), err;
	struct troce_cc cc;

	if (i < 0)
		return TROCE_REFUSE(troce_dev_of(ctx), ENOENT, "congestion control has no parameter '%s'", name);
	err = has(troce_dev_of(ctx), tcc_param((unsigned int)i)->name) ? look(ctx, prio, &cc) : EOPNOTSUPP;
	if (err == 0)
		*value = tcc_param_get(&cc.conf, (unsigned int)i);
	return err;
}
