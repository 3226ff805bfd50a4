/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What an IPoIB port is made with, as text: arguments of net_ipoib, and words of applications. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <rte_kvargs.h>

#include "conf.h"
#include "lib/ipoib/port/port.h"

static const struct arg {
	const char *name;
	uint64_t min, max, def; /* 0 stands for the default where it is less than min */
	size_t at, size;
} args[] = {
#define ARG(text, field, from, to, by_default)                                                                         \
	{                                                                                                              \
		text, from, to, by_default, offsetof(struct tp_ipoib_conf, field),                                     \
			sizeof(((struct tp_ipoib_conf *)0)->field)                                                     \
	}
	ARG("pkey", pkey, 1, 0xffff, IPOIB_PKEY_DEFAULT),
	ARG("mtu", mtu, TP_IPOIB_MTU_MIN, TP_IPOIB_MTU_MAX, 0),
	ARG("connected", connected, 0, 1, 0),
	ARG("refuse-incoming", refuse_incoming, 0, 1, 0),
	ARG("cm-mtu", cm_mtu, TP_IPOIB_MTU_MIN, TP_IPOIB_CM_MTU_MAX, TP_IPOIB_CM_MTU_MAX),
	ARG("guid-mask", guid_mask, 0, 0xff, 0),
	ARG("age-interval", age_interval_ms, 10000, 1200000, 60000),
	ARG("age", age, 1, 20, 5),
	ARG("monitor", monitor_ms, 1000, 300000, 30000),
	ARG("query-runs", query_runs, 1, 10, 3),
	ARG("leave-runs", leave_runs, 1, 10, 2),
#undef ARG
};

static uint64_t
get(const struct tp_ipoib_conf *c, const struct arg *a)
{
	const uint8_t *p = (const uint8_t *)c + a->at;
	uint32_t v32;
	uint16_t v16;

	if (a->size == sizeof(v32))
		return memcpy(&v32, p, sizeof(v32)), v32;
	if (a->size == sizeof(v16))
		return memcpy(&v16, p, sizeof(v16)), v16;
	return *p;
}

static void
set(struct tp_ipoib_conf *c, const struct arg *a, uint64_t value)
{
	uint8_t *p = (uint8_t *)c + a->at;
	uint32_t v32 = (uint32_t)value;
	uint16_t v16 = (uint16_t)value;

	if (a->size == sizeof(v32))
		memcpy(p, &v32, sizeof(v32));
	else if (a->size == sizeof(v16))
		memcpy(p, &v16, sizeof(v16));
	else
		*p = (uint8_t)value;
}

/* Zeros become defaults; what is out of its range is refused. */
int
ipoib_conf_check(struct tp_ipoib_conf *c)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(args); i++) {
		uint64_t v = get(c, &args[i]);

		if (v == 0 && args[i].min != 0)
			set(c, &args[i], args[i].def);
		else if (v < args[i].min || v > args[i].max) {
			IPOIB_LOG(ERR, "%s %" PRIu64 " is not in %" PRIu64 "..%" PRIu64, args[i].name, v, args[i].min,
				  args[i].max);
			return -EINVAL;
		}
	}
	if ((c->pkey & IB_PKEY_MASK) == 0) {
		IPOIB_LOG(ERR, "pkey 0x%04x is none: bits 0 to 14 are 0", c->pkey);
		return -EINVAL;
	}
	if (c->guid_mask != 0 && !ipoib_guid_mask_valid(c->guid_mask)) {
		IPOIB_LOG(NOTICE, "guid-mask 0x%02x has not six bits set, the default 0x%02x is used", c->guid_mask,
			  IPOIB_GUID_MASK_DEFAULT);
		c->guid_mask = IPOIB_GUID_MASK_DEFAULT;
	}
	if (c->has_mac && !rte_is_valid_assigned_ether_addr(&c->mac)) {
		IPOIB_LOG(ERR, "mac " RTE_ETHER_ADDR_PRT_FMT " is no address of a host", RTE_ETHER_ADDR_BYTES(&c->mac));
		return -EINVAL;
	}
	if (strchr(c->device, '/') == NULL) {
		IPOIB_LOG(ERR, "port '%s' is no InfiniBand port: CARD/1 or CARD/2", c->device);
		return -EINVAL;
	}
	return 0;
}

static int
set_device(struct tp_ipoib_conf *c, const char *value)
{
	if (strlen(value) >= sizeof(c->device)) {
		IPOIB_LOG(ERR, "port '%s' is longer than %zu characters", value, sizeof(c->device) - 1);
		return -EINVAL;
	}
	strcpy(c->device, value);
	return 0;
}

static int
set_mac(struct tp_ipoib_conf *c, const char *value)
{
	struct rte_ether_addr mac;

	if (rte_ether_unformat_addr(value, &mac) != 0) {
		IPOIB_LOG(ERR, "mac '%s' is no address", value);
		return -EINVAL;
	}
	c->mac = mac;
	c->has_mac = true;
	return 0;
}

static int
set_number(struct tp_ipoib_conf *c, const struct arg *a, const char *value)
{
	uint64_t v;
	char *end;

	errno = 0;
	v = strtoull(value, &end, 0);
	if (errno == 0 && isdigit((unsigned char)value[0]) && *end == '\0' && v >= a->min && v <= a->max) {
		set(c, a, v);
		return 0;
	}
	IPOIB_LOG(ERR, "%s '%s' is not in %" PRIu64 "..%" PRIu64, a->name, value, a->min, a->max);
	return -EINVAL;
}

const char *
tp_ipoib_conf_name(unsigned int i)
{
	static const char *const others[] = {"port", "mac"};

	if (i < RTE_DIM(others))
		return others[i];
	i -= RTE_DIM(others);
	return i < RTE_DIM(args) ? args[i].name : NULL;
}

static void
say_unknown(const char *name)
{
	char all[256] = "";
	size_t len = 0;

	for (unsigned int i = 0; tp_ipoib_conf_name(i) != NULL && len < sizeof(all); i++)
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", i == 0 ? "" : ", ",
					tp_ipoib_conf_name(i));
	IPOIB_LOG(ERR, "argument '%s' is not known, want one of %s", name, all);
}

int
tp_ipoib_conf_set(struct tp_ipoib_conf *conf, const char *name, const char *value)
{
	unsigned int i;

	if (value == NULL)
		value = "";
	if (strcmp(name, "port") == 0)
		return set_device(conf, value);
	if (strcmp(name, "mac") == 0)
		return set_mac(conf, value);
	for (i = 0; i < RTE_DIM(args); i++)
		if (strcmp(name, args[i].name) == 0)
			return set_number(conf, &args[i], value);
	say_unknown(name);
	return -ENOENT;
}

static int
parse_one(const char *key, const char *value, void *arg)
{
	return tp_ipoib_conf_set(arg, key, value);
}

int
ipoib_conf_parse(const char *text, struct tp_ipoib_conf *c)
{
	struct rte_kvargs *kv = rte_kvargs_parse(text, NULL);
	int ret;

	memset(c, 0, sizeof(*c));
	if (kv == NULL) {
		IPOIB_LOG(ERR, "arguments '%s' are not KEY=VALUE,...", text);
		return -EINVAL;
	}
	ret = rte_kvargs_process(kv, NULL, parse_one, c);
	rte_kvargs_free(kv);
	return ret != 0 ? -EINVAL : ipoib_conf_check(c);
}

void
ipoib_conf_text(const struct tp_ipoib_conf *c, char text[IPOIB_CONF_LEN])
{
	unsigned int i;
	size_t len = 0;

	text[0] = '\0';
	for (i = 0; i < RTE_DIM(args); i++) {
		uint64_t v = get(c, &args[i]);

		if (v != 0 && v != args[i].def)
			len += (size_t)snprintf(text + len, IPOIB_CONF_LEN - len, ",%s=%" PRIu64, args[i].name, v);
	}
	if (c->has_mac)
		snprintf(text + len, IPOIB_CONF_LEN - len, ",mac=" RTE_ETHER_ADDR_PRT_FMT,
			 RTE_ETHER_ADDR_BYTES(&c->mac));
}
