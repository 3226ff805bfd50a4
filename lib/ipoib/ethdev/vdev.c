/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* net_ipoib: how a port comes and goes. */
#include <errno.h>

#include "lib/ipoib/port/port.h"
#include "conf.h"
#include "vdev_eth.h"

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
	p->mtu = conf->mtu != 0 ? conf->mtu : TP_IPOIB_MTU;
	p->mtu_open = conf->mtu == 0;
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
		ret = ipoib_conf_parse(rte_vdev_device_args(vdev), &conf);
	if (ret != 0)
		return ret;
	eth = rte_eth_vdev_allocate(vdev, sizeof(struct ipoib_port));
	if (eth == NULL)
		return -ENOMEM;
	ret = port_open(eth, &conf);
	if (ret != 0) {
		IPOIB_LOG(ERR, "%s: no port on %s: %s", rte_vdev_device_name(vdev), conf.device, strerror(-ret));
		rte_eth_dev_release_port(eth);
		/* EAL takes the other word for a device that is there already, and says that all is well. */
		return ret == -EEXIST ? -EADDRINUSE : ret;
	}
	eth->data->mtu = conf.mtu != 0 ? conf.mtu : TP_IPOIB_MTU;
	eth->data->dev_flags |= RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
	ipoib_vdev_show(eth, &ipoib_eth_ops, ipoib_rx_burst, ipoib_tx_burst);
	return 0;
}

static struct rte_vdev_driver ipoib_driver = {.probe = ipoib_probe, .remove = ipoib_vdev_remove};
RTE_PMD_REGISTER_VDEV(net_ipoib, ipoib_driver);
RTE_PMD_REGISTER_PARAM_STRING(
	net_ipoib,
	"port=<card/port> pkey=<1..65535> mtu=<1500..4092> connected=<0|1> refuse-incoming=<0|1> cm-mtu=<1500..65520> "
	"mac=<address> guid-mask=<bits> "
	"age-interval=<ms> age=<1..20> monitor=<ms> query-runs=<1..10> leave-runs=<1..10>");

/* --- at run time ------------------------------------------------------------------------------------------------------- */

int
tp_ipoib_add(const struct tp_ipoib_conf *conf, uint16_t *port_id)
{
	char text[IPOIB_CONF_LEN + TP_IPOIB_NAME];
	struct tp_ipoib_conf c = *conf;
	int ret = ipoib_conf_check(&c);

	if (ret != 0)
		return ret;
	snprintf(text, sizeof(text), "port=%s", c.device);
	ipoib_conf_text(&c, text + strlen(text));
	return ipoib_vdev_add("net_ipoib", text, port_id);
}

int
tp_ipoib_rem(uint16_t port_id)
{
	struct ipoib_port *p = ipoib_port_of(port_id);

	return p == NULL ? -ENODEV : ipoib_vdev_rem(p->eth);
}
