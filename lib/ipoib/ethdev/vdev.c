/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* net_ipoib: arguments, and how a port comes and goes. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <rte_kvargs.h>
#include <rte_string_fns.h>

#include "lib/ipoib/port/port.h"
#include "vdev_eth.h"

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
	ARG("mtu", mtu, TP_IPOIB_MTU_MIN, TP_IPOIB_MTU_MAX, TP_IPOIB_MTU),
	ARG("connected", connected, 0, 1, 0),
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
static int
conf_check(struct tp_ipoib_conf *c)
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
parse_one(const char *key, const char *value, void *arg)
{
	struct tp_ipoib_conf *c = arg;
	unsigned int i;
	char *end;

	if (strcmp(key, "port") == 0) {
		if (rte_strlcpy(c->device, value, sizeof(c->device)) < sizeof(c->device))
			return 0;
		IPOIB_LOG(ERR, "port '%s' is longer than %zu characters", value, sizeof(c->device) - 1);
		return -EINVAL;
	}
	if (strcmp(key, "mac") == 0) {
		c->has_mac = true;
		if (rte_ether_unformat_addr(value, &c->mac) == 0)
			return 0;
		IPOIB_LOG(ERR, "mac '%s' is no address", value);
		return -EINVAL;
	}
	for (i = 0; i < RTE_DIM(args); i++) {
		uint64_t v;

		if (strcmp(key, args[i].name) != 0)
			continue;
		errno = 0;
		v = strtoull(value, &end, 0);
		if (errno == 0 && end != value && *end == '\0' && value[0] != '-' && v >= args[i].min &&
		    v <= args[i].max) {
			set(c, &args[i], v);
			return 0;
		}
		IPOIB_LOG(ERR, "%s '%s' is not in %" PRIu64 "..%" PRIu64, key, value, args[i].min, args[i].max);
		return -EINVAL;
	}
	return -EINVAL;
}

static int
conf_parse(const char *text, struct tp_ipoib_conf *c)
{
	static const char *const keys[] = {"port",         "mac",    "pkey",    "mtu",        "guid-mask",
					   "age-interval", "age",    "monitor", "query-runs", "leave-runs",
					   "connected",    "cm-mtu", NULL};
	struct rte_kvargs *kv = rte_kvargs_parse(text, keys);
	int ret;

	memset(c, 0, sizeof(*c));
	if (kv == NULL) {
		IPOIB_LOG(ERR,
			  "arguments '%s': one is not known; port, pkey, mtu, connected, cm-mtu, mac, guid-mask, "
			  "age-interval, age, "
			  "monitor, "
			  "query-runs and leave-runs are",
			  text);
		return -EINVAL;
	}
	ret = rte_kvargs_process(kv, NULL, parse_one, c);
	rte_kvargs_free(kv);
	return ret != 0 ? -EINVAL : conf_check(c);
}

static void
mac_init(struct ipoib_port *p, struct rte_ether_addr *mac)
{
	uint64_t guid = ipoib_device_guid(p->device);

	if (p->conf.has_mac)
		*mac = p->conf.mac;
	else if (!ipoib_guid_mac(guid, p->conf.guid_mask, mac))
		ipoib_counter_mac(p->port_id + 1u, mac);
}

static int
port_open(struct rte_eth_dev *eth, const struct tp_ipoib_conf *conf)
{
	struct ipoib_port *p = eth->data->dev_private;
	int ret;

	p->eth = eth;
	p->port_id = eth->data->port_id;
	p->conf = *conf;
	p->mtu = conf->mtu;
	pthread_mutex_init(&p->mr_lock, NULL);
	pthread_mutex_init(&p->answer_lock, NULL);
	TAILQ_INIT(&p->answers);
	TAILQ_INIT(&p->asked);
	p->device = ipoib_device_get(conf->device, &ret);
	if (p->device == NULL)
		return ret;
	ret = ipoib_device_add(p->device, p);
	if (ret == 0) {
		eth->data->mac_addrs = rte_zmalloc("ipoib", sizeof(struct rte_ether_addr), 0);
		if (eth->data->mac_addrs != NULL) {
			mac_init(p, eth->data->mac_addrs);
		} else {
			ret = -ENOMEM;
			ipoib_device_del(p->device, p);
		}
	}
	if (ret != 0)
		ipoib_device_put(p->device);
	return ret;
}

static int
ipoib_probe(struct rte_vdev_device *vdev)
{
	struct tp_ipoib_conf conf;
	struct rte_eth_dev *eth;
	int ret = ipoib_vdev_check_process(vdev);

	if (ret == 0)
		ret = ipoib_turns_init();
	if (ret == 0)
		ret = conf_parse(rte_vdev_device_args(vdev), &conf);
	if (ret != 0)
		return ret;
	eth = rte_eth_vdev_allocate(vdev, sizeof(struct ipoib_port));
	if (eth == NULL)
		return -ENOMEM;
	ret = port_open(eth, &conf);
	if (ret != 0) {
		IPOIB_LOG(ERR, "%s: no port on %s: %s", rte_vdev_device_name(vdev), conf.device, strerror(-ret));
		rte_eth_dev_release_port(eth);
		return ret;
	}
	eth->data->mtu = conf.mtu;
	eth->data->dev_flags |= RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
	ipoib_vdev_show(eth, &ipoib_eth_ops, ipoib_rx_burst, ipoib_tx_burst);
	return 0;
}

static struct rte_vdev_driver ipoib_driver = {.probe = ipoib_probe, .remove = ipoib_vdev_remove};
RTE_PMD_REGISTER_VDEV(net_ipoib, ipoib_driver);
RTE_PMD_REGISTER_PARAM_STRING(net_ipoib,
			      "port=<card/port> pkey=<1..65535> mtu=<1500..4092> connected=<0|1> cm-mtu=<1500..65520> "
			      "mac=<address> guid-mask=<bits> "
			      "age-interval=<ms> age=<1..20> monitor=<ms> query-runs=<1..10> leave-runs=<1..10>");

/* --- at run time ------------------------------------------------------------------------------------------------------- */

int
tp_ipoib_add(const struct tp_ipoib_conf *conf, uint16_t *port_id)
{
	char text[512];
	struct tp_ipoib_conf c = *conf;
	unsigned int i;
	int ret, len;

	ret = conf_check(&c);
	if (ret != 0)
		return ret;
	len = snprintf(text, sizeof(text), "port=%s", c.device);
	for (i = 0; i < RTE_DIM(args); i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, ",%s=%" PRIu64, args[i].name,
				get(&c, &args[i]));
	if (c.has_mac)
		snprintf(text + len, sizeof(text) - (size_t)len, ",mac=" RTE_ETHER_ADDR_PRT_FMT,
			 RTE_ETHER_ADDR_BYTES(&c.mac));
	return ipoib_vdev_add("net_ipoib", text, port_id);
}

int
tp_ipoib_rem(uint16_t port_id)
{
	struct ipoib_port *p = ipoib_port_of(port_id);

	return p == NULL ? -ENODEV : ipoib_vdev_rem(p->eth);
}
