/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* net_ib_pair: arguments, and how a pair comes and goes with its two ports. */
#include <errno.h>
#include <stdlib.h>

#include <rte_kvargs.h>
#include <rte_string_fns.h>

#include "pair.h"
#include "lib/ipoib/ethdev/conf.h"
#include "lib/ipoib/ethdev/vdev_eth.h"

#define REST_LEN IPOIB_CONF_LEN

struct args {
	struct tp_ipoib_pair_conf conf;
	char rest[REST_LEN]; /* what its ports are made with, each argument behind a comma */
};

static int
parse_num(const char *key, const char *value, uint32_t most, uint32_t *out)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(value, &end, 0);
	if (errno == 0 && end != value && *end == '\0' && value[0] != '-' && v <= most) {
		*out = (uint32_t)v;
		return 0;
	}
	IPOIB_LOG(ERR, "%s '%s' is not in 0..%u", key, value, most);
	return -EINVAL;
}

static int
parse_device(const char *key, const char *value, char device[TP_IPOIB_NAME])
{
	if (strchr(value, '/') != NULL && rte_strlcpy(device, value, TP_IPOIB_NAME) < TP_IPOIB_NAME)
		return 0;
	IPOIB_LOG(ERR, "%s '%s' is no InfiniBand port: CARD/1 or CARD/2", key, value);
	return -EINVAL;
}

static int
parse_one(const char *key, const char *value, void *arg)
{
	struct args *a = arg;
	size_t len = strlen(a->rest);
	uint32_t v = 0;
	int ret;

	if (value == NULL)
		value = "";
	if (strcmp(key, "primary") == 0)
		return parse_device(key, value, a->conf.device[0]);
	if (strcmp(key, "backup") == 0)
		return parse_device(key, value, a->conf.device[1]);
	if (strcmp(key, "failback") == 0) {
		ret = parse_num(key, value, 1, &v);
		a->conf.failback = v != 0;
		return ret;
	}
	if (strcmp(key, "failback-delay") == 0)
		return parse_num(key, value, TP_IPOIB_FAILBACK_MS_MAX, &a->conf.failback_ms);
	if (strcmp(key, "port") == 0) {
		IPOIB_LOG(ERR, "a pair has primary and backup, not port");
		return -EINVAL;
	}
	ret = snprintf(a->rest + len, sizeof(a->rest) - len, ",%s=%s", key, value);
	if (ret < (int)(sizeof(a->rest) - len))
		return 0;
	IPOIB_LOG(ERR, "arguments behind '%s' are longer than %zu characters", key, sizeof(a->rest) - 1);
	return -EINVAL;
}

static int
parse(const char *text, struct args *a)
{
	struct rte_kvargs *kv = rte_kvargs_parse(text, NULL);
	int ret;

	memset(a, 0, sizeof(*a));
	a->conf.failback = true;
	a->conf.failback_ms = TP_IPOIB_FAILBACK_MS;
	if (kv == NULL) {
		IPOIB_LOG(ERR, "arguments '%s' are not KEY=VALUE,...", text);
		return -EINVAL;
	}
	ret = rte_kvargs_process(kv, NULL, parse_one, a);
	rte_kvargs_free(kv);
	if (ret != 0)
		return -EINVAL;
	if (a->conf.device[0][0] == '\0' || a->conf.device[1][0] == '\0') {
		IPOIB_LOG(ERR, "a pair wants primary=CARD/PORT and backup=CARD/PORT");
		return -EINVAL;
	}
	if (strcmp(a->conf.device[0], a->conf.device[1]) == 0) {
		IPOIB_LOG(ERR, "%s cannot be primary and backup", a->conf.device[0]);
		return -EINVAL;
	}
	return 0;
}

/* --- members ---------------------------------------------------------------------------------------------------------- */

static void
member_name(uint16_t pair, unsigned int i, char name[RTE_ETH_NAME_MAX_LEN])
{
	snprintf(name, RTE_ETH_NAME_MAX_LEN, "net_ipoib_pair%u_%u", pair, i);
}

/* Applications see the pair, not its ports: they have an owner. */
static int
member_make(struct ipoib_pair *p, const struct args *a, unsigned int i, const struct rte_eth_dev_owner *owner)
{
	char name[RTE_ETH_NAME_MAX_LEN], text[TP_IPOIB_NAME + REST_LEN + 8];
	int ret;

	member_name(p->port_id, i, name);
	/* A pair that was closed left the bus its ports' names. */
	rte_vdev_uninit(name);
	snprintf(text, sizeof(text), "port=%s%s", a->conf.device[i], a->rest);
	ret = rte_vdev_init(name, text);
	if (ret != 0)
		return ret;
	ret = rte_eth_dev_get_port_by_name(name, &p->member[i]);
	if (ret == 0)
		ret = rte_eth_dev_owner_set(p->member[i], owner);
	if (ret != 0)
		rte_vdev_uninit(name);
	return ret;
}

static void
member_end(uint16_t pair, unsigned int i)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	member_name(pair, i, name);
	rte_vdev_uninit(name);
}

static int
members_make(struct ipoib_pair *p, const struct args *a)
{
	struct rte_eth_dev_owner owner = {0};
	int ret = rte_eth_dev_owner_new(&owner.id);

	rte_strlcpy(owner.name, p->eth->data->name, sizeof(owner.name));
	if (ret == 0)
		ret = member_make(p, a, 0, &owner);
	if (ret != 0)
		return ret;
	ret = member_make(p, a, 1, &owner);
	if (ret != 0)
		member_end(p->port_id, 0);
	return ret;
}

/* --- life ------------------------------------------------------------------------------------------------------------- */

/* One MAC for both, since it is on no wire: the application does not see which port carries. */
static int
mac_init(struct ipoib_pair *p)
{
	struct rte_ether_addr *mac = rte_zmalloc("ipoib", sizeof(*mac), 0);
	int ret;

	if (mac == NULL)
		return -ENOMEM;
	p->eth->data->mac_addrs = mac;
	ret = rte_eth_macaddr_get(p->member[0], mac);
	return ret != 0 ? ret : rte_eth_dev_default_mac_addr_set(p->member[1], mac);
}

static int
pair_open(struct rte_eth_dev *eth, const struct args *a)
{
	struct ipoib_pair *p = eth->data->dev_private;
	int ret;

	p->eth = eth;
	p->port_id = eth->data->port_id;
	p->failback = a->conf.failback;
	p->failback_ms = a->conf.failback_ms;
	ret = members_make(p, a);
	if (ret != 0)
		return ret;
	ret = mac_init(p);
	if (ret == 0)
		ret = ipoib_pair_listen(p);
	if (ret != 0) {
		member_end(p->port_id, 0);
		member_end(p->port_id, 1);
		return ret;
	}
	pthread_mutex_init(&p->lock, NULL);
	ipoib_pair_reset(&p->state, p->failback, p->failback_ms);
	return 0;
}

static int
pair_probe(struct rte_vdev_device *vdev)
{
	const char *name = rte_vdev_device_name(vdev);
	struct rte_eth_dev *eth;
	struct args a;
	int ret = ipoib_vdev_check_process(vdev);

	if (ret == 0)
		ret = parse(rte_vdev_device_args(vdev), &a);
	if (ret != 0)
		return ret;
	eth = rte_eth_vdev_allocate(vdev, sizeof(struct ipoib_pair));
	if (eth == NULL)
		return -ENOMEM;
	ret = pair_open(eth, &a);
	if (ret != 0) {
		IPOIB_LOG(ERR, "%s: no pair of %s and %s: %s", name, a.conf.device[0], a.conf.device[1],
			  strerror(-ret));
		rte_eth_dev_release_port(eth);
		return ret;
	}
	eth->data->dev_flags |= RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
	ipoib_vdev_show(eth, &ipoib_pair_ops, ipoib_pair_rx_burst, ipoib_pair_tx_burst);
	return 0;
}

static struct rte_vdev_driver pair_driver = {.probe = pair_probe, .remove = ipoib_vdev_remove};
RTE_PMD_REGISTER_VDEV(net_ib_pair, pair_driver);
RTE_PMD_REGISTER_PARAM_STRING(
	net_ib_pair, "primary=<card/port> backup=<card/port> failback=<0|1> failback-delay=<0..600000> and, for "
		     "both, what net_ipoib has");

/* --- at run time ------------------------------------------------------------------------------------------------------ */

int
tp_ipoib_pair_add(const struct tp_ipoib_pair_conf *conf, uint16_t *port_id)
{
	char text[4 * TP_IPOIB_NAME + REST_LEN];

	snprintf(text, sizeof(text), "primary=%s,backup=%s,failback=%d,failback-delay=%u", conf->device[0],
		 conf->device[1], conf->failback, conf->failback_ms);
	ipoib_conf_text(&conf->port, text + strlen(text));
	return ipoib_vdev_add("net_ib_pair", text, port_id);
}

int
tp_ipoib_pair_rem(uint16_t port_id)
{
	struct ipoib_pair *p = ipoib_pair_of(port_id);
	int ret = p == NULL ? -ENODEV : ipoib_vdev_rem(p->eth);

	if (ret == 0) {
		member_end(port_id, 0);
		member_end(port_id, 1);
	}
	return ret;
}
