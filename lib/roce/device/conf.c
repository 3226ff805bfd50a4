/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a port may be opened with, and what it is opened with. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "lib/roce/net/net.h"
#include "lib/txq/pool.h"
#include "device.h"

#define POOL_PACKETS 4095u
#define POOL_CACHE 256u
#define FRAME_HEADERS 256u /* in front of and behind a RoCE MTU: tags, IPv6, UDP, all transport headers, ICRC */

static bool
within(struct troce_dev *dev, const char *name, uint32_t value, uint32_t min, uint32_t max)
{
	if (value >= min && value <= max)
		return true;
	TROCE_LOG(ERR, "%s: %s %u is not in %u..%u", dev->where, name, value, min, max);
	return false;
}

static int
mtu_init(struct troce_dev *dev, struct tp_roce_conf *c)
{
	uint16_t eth = c->eth_mtu, fit;

	if (eth == 0 && rte_eth_dev_get_mtu(dev->port_id, &eth) != 0)
		return TROCE_REFUSE(dev, ENODEV, "the port does not tell its MTU");
	fit = troce_mtu_fit(eth);
	if (fit == 0)
		return TROCE_REFUSE(dev, EINVAL, "Ethernet MTU %u is too small for RoCE with an MTU of 256", eth);
	if (c->mtu == 0)
		c->mtu = fit;
	if (c->mtu < 256 || c->mtu > 4096 || (c->mtu & (c->mtu - 1)) != 0)
		return TROCE_REFUSE(dev, EINVAL, "mtu %u is none of 256, 512, 1024, 2048, 4096", c->mtu);
	if (c->mtu > fit)
		return TROCE_REFUSE(dev, EINVAL, "mtu %u does not fit the port's %u; the largest that does is %u",
				    c->mtu, eth, fit);
	return 0;
}

static int
queues_check(struct troce_dev *dev, const struct tp_roce_conf *c)
{
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(dev->port_id, &info) != 0)
		return TROCE_REFUSE(dev, ENODEV, "the port does not answer");
	if (info.nb_rx_queues == 0 || info.nb_tx_queues == 0)
		return TROCE_REFUSE(dev, EINVAL, "the port is not configured: it has %u receive and %u send queues",
				    info.nb_rx_queues, info.nb_tx_queues);
	if (!within(dev, "rx_queue", c->rx_queue, 0, info.nb_rx_queues - 1u) ||
	    !within(dev, "tx_queue", c->tx_queue, 0, info.nb_tx_queues - 1u))
		return EINVAL;
	if (c->lanes > info.nb_rx_queues - c->rx_queue || c->lanes > info.nb_tx_queues - c->tx_queue)
		return TROCE_REFUSE(dev, EINVAL,
				    "%u lanes from queues %u and %u on: the port has %u to receive and %u to send",
				    c->lanes, c->rx_queue, c->tx_queue, info.nb_rx_queues, info.nb_tx_queues);
	return 0;
}

static int
lanes_check(struct troce_dev *dev, struct tp_roce_conf *c)
{
	if (c->lanes == 0)
		c->lanes = 1;
	if (!within(dev, "lanes", c->lanes, 1, TP_ROCE_LANES))
		return EINVAL;
	if (!rte_is_power_of_2(c->lanes))
		return TROCE_REFUSE(dev, EINVAL, "lanes %u is no power of two", c->lanes);
	if (c->lanes == 1)
		return 0;
	if (dev->prov->lane_progress == NULL)
		return TROCE_REFUSE(dev, ENOTSUP,
				    "provider %s has one lane, %u are asked for: its queue pairs need none",
				    dev->prov->name, c->lanes);
	if (c->app_rx)
		return TROCE_REFUSE(dev, ENOTSUP, "%u lanes poll queues of their own, which app_rx does not go with",
				    c->lanes);
	return 0;
}

/* With the list of open ports locked. */
static struct txq_pools pools;

static int
pool_init(struct troce_dev *dev, struct tp_roce_conf *c)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	uint32_t room = RTE_PKTMBUF_HEADROOM + c->mtu + FRAME_HEADERS;

	if (c->pool != NULL)
		return 0;
	snprintf(name, sizeof(name), "tp_roce_%u", dev->port_id);
	c->pool = txq_pool_create(&pools, name, (POOL_PACKETS + 1) * c->lanes - 1, POOL_CACHE,
				  (uint16_t)RTE_MAX(room, (uint32_t)RTE_MBUF_DEFAULT_BUF_SIZE), dev->numa_node);
	if (c->pool == NULL)
		return TROCE_REFUSE(dev, ENOMEM, "no memory for %u packets of %u octets",
				    (POOL_PACKETS + 1) * c->lanes - 1, room);
	dev->own_pool = true;
	return 0;
}

static int
strings_init(struct tp_roce_conf *c, const struct tp_roce_conf *asked)
{
	c->provider = NULL; /* its name is the provider's own */
	if (asked->netdev != NULL) {
		c->netdev = strdup(asked->netdev);
		if (c->netdev == NULL)
			return ENOMEM;
	}
	return 0;
}

int
troce_conf_init(struct troce_dev *dev, const struct tp_roce_conf *asked)
{
	struct tp_roce_conf *c = &dev->conf;
	int err;

	if (dev->ib != NULL)
		return 0; /* all the rest is Ethernet's */
	*c = *asked;
	c->netdev = NULL;
	if (c->udp_port == 0)
		c->udp_port = TP_ROCE_UDP_PORT;
	if (c->ttl == 0)
		c->ttl = TP_ROCE_TTL;
	if (c->netdev_ms == 0)
		c->netdev_ms = TP_ROCE_GID_POLL_MS;
	if (!within(dev, "mode", c->mode, TP_ROCE_V2, TP_ROCE_OFF) || !within(dev, "prio", c->prio, 0, 7) ||
	    !within(dev, "dscp", c->dscp, 0, 63) ||
	    (c->netdev_ms != TP_ROCE_NO_GID_POLL && !within(dev, "netdev_ms", c->netdev_ms, 1, 10000)))
		return EINVAL;
	err = lanes_check(dev, c);
	if (err == 0)
		err = queues_check(dev, c);
	if (err == 0)
		err = mtu_init(dev, c);
	if (err == 0)
		err = pool_init(dev, c);
	if (err == 0)
		err = strings_init(c, asked);
	if (err != 0)
		troce_conf_free(dev);
	return err;
}

void
troce_conf_free(struct troce_dev *dev)
{
	free((void *)(uintptr_t)dev->conf.netdev);
	dev->conf.netdev = NULL;
	if (dev->own_pool)
		txq_pool_free(&pools, dev->conf.pool);
	dev->conf.pool = NULL;
	dev->own_pool = false;
}
