/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A pair as an ethdev: control operations for both ports. */
#include <errno.h>

#include <rte_malloc.h>

#include "pair.h"

static struct ipoib_pair *
pair_of(struct rte_eth_dev *dev)
{
	return dev->data->dev_private;
}

/* --- life ------------------------------------------------------------------------------------------------------------ */

static int
pair_configure(struct rte_eth_dev *dev)
{
	struct rte_eth_conf conf = dev->data->dev_conf;
	struct ipoib_pair *p = pair_of(dev);
	unsigned int i;
	int ret = 0;

	conf.intr_conf.lsc = 1;
	for (i = 0; i < IPOIB_PAIR_MEMBERS && ret == 0; i++)
		ret = rte_eth_dev_configure(p->member[i], dev->data->nb_rx_queues, dev->data->nb_tx_queues, &conf);
	return ret;
}

/* As those of the ports, which have the same. */
static void
queue_states(struct rte_eth_dev *dev)
{
	const struct rte_eth_dev_data *of = rte_eth_devices[pair_of(dev)->member[0]].data;

	memcpy(dev->data->rx_queue_state, of->rx_queue_state, dev->data->nb_rx_queues);
	memcpy(dev->data->tx_queue_state, of->tx_queue_state, dev->data->nb_tx_queues);
}

static int
pair_start(struct rte_eth_dev *dev)
{
	struct ipoib_pair *p = pair_of(dev);
	int ret = rte_eth_dev_start(p->member[0]);

	if (ret != 0)
		return ret;
	ret = rte_eth_dev_start(p->member[1]);
	if (ret == 0) {
		ret = ipoib_pair_run(p);
		if (ret != 0)
			rte_eth_dev_stop(p->member[1]);
	}
	if (ret != 0)
		rte_eth_dev_stop(p->member[0]);
	else
		queue_states(dev);
	return ret;
}

static int
pair_stop(struct rte_eth_dev *dev)
{
	const struct rte_eth_link down = {.link_speed = RTE_ETH_SPEED_NUM_UNKNOWN, .link_status = RTE_ETH_LINK_DOWN};
	struct ipoib_pair *p = pair_of(dev);

	if (!p->started)
		return 0;
	ipoib_pair_halt(p);
	rte_eth_dev_stop(p->member[0]);
	rte_eth_dev_stop(p->member[1]);
	rte_eth_linkstatus_set(dev, &down);
	queue_states(dev);
	return 0;
}

static void
rx_release(struct rte_eth_dev *dev, uint16_t id)
{
	rte_free(dev->data->rx_queues[id]);
	dev->data->rx_queues[id] = NULL;
}

static void
tx_release(struct rte_eth_dev *dev, uint16_t id)
{
	rte_free(dev->data->tx_queues[id]);
	dev->data->tx_queues[id] = NULL;
}

static int
pair_close(struct rte_eth_dev *dev)
{
	struct ipoib_pair *p = pair_of(dev);
	unsigned int i;

	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return 0;
	pair_stop(dev);
	ipoib_pair_unlisten(p);
	for (i = 0; i < IPOIB_PAIR_MEMBERS; i++)
		rte_eth_dev_close(p->member[i]);
	/* Those that were set up for an earlier configuration are the ethdev's to release. */
	for (i = 0; i < dev->data->nb_rx_queues; i++)
		rx_release(dev, (uint16_t)i);
	for (i = 0; i < dev->data->nb_tx_queues; i++)
		tx_release(dev, (uint16_t)i);
	pthread_mutex_destroy(&p->lock);
	return 0;
}

/* --- queues ---------------------------------------------------------------------------------------------------------- */

static struct ipoib_pair_queue *
queue_new(struct rte_eth_dev *dev, uint16_t id, unsigned int socket)
{
	struct ipoib_pair_queue *q = rte_zmalloc_socket("ipoib", sizeof(*q), RTE_CACHE_LINE_SIZE, (int)socket);

	if (q != NULL) {
		q->pair = pair_of(dev);
		q->id = id;
	}
	return q;
}

static int
rx_setup(struct rte_eth_dev *dev, uint16_t id, uint16_t desc, unsigned int socket, const struct rte_eth_rxconf *conf,
	 struct rte_mempool *pool)
{
	struct ipoib_pair *p = pair_of(dev);
	unsigned int i;
	int ret = 0;

	rx_release(dev, id);
	for (i = 0; i < IPOIB_PAIR_MEMBERS && ret == 0; i++)
		ret = rte_eth_rx_queue_setup(p->member[i], id, desc, socket, conf, pool);
	if (ret != 0)
		return ret;
	dev->data->rx_queues[id] = queue_new(dev, id, socket);
	return dev->data->rx_queues[id] != NULL ? 0 : -ENOMEM;
}

static int
tx_setup(struct rte_eth_dev *dev, uint16_t id, uint16_t desc, unsigned int socket, const struct rte_eth_txconf *conf)
{
	struct ipoib_pair *p = pair_of(dev);
	unsigned int i;
	int ret = 0;

	tx_release(dev, id);
	for (i = 0; i < IPOIB_PAIR_MEMBERS && ret == 0; i++)
		ret = rte_eth_tx_queue_setup(p->member[i], id, desc, socket, conf);
	if (ret != 0)
		return ret;
	dev->data->tx_queues[id] = queue_new(dev, id, socket);
	return dev->data->tx_queues[id] != NULL ? 0 : -ENOMEM;
}

/* A queue of both ports, or of none. */
static int
of_both(struct rte_eth_dev *dev, uint16_t id, int (*go)(uint16_t port_id, uint16_t id), int (*back)(uint16_t, uint16_t))
{
	const struct ipoib_pair *p = pair_of(dev);
	int ret = go(p->member[0], id);

	if (ret != 0)
		return ret;
	ret = go(p->member[1], id);
	if (ret != 0)
		(void)back(p->member[0], id);
	queue_states(dev);
	return ret;
}

static int
rxq_start(struct rte_eth_dev *dev, uint16_t id)
{
	return of_both(dev, id, rte_eth_dev_rx_queue_start, rte_eth_dev_rx_queue_stop);
}

static int
rxq_stop(struct rte_eth_dev *dev, uint16_t id)
{
	return of_both(dev, id, rte_eth_dev_rx_queue_stop, rte_eth_dev_rx_queue_start);
}

static int
txq_start(struct rte_eth_dev *dev, uint16_t id)
{
	return of_both(dev, id, rte_eth_dev_tx_queue_start, rte_eth_dev_tx_queue_stop);
}

static int
txq_stop(struct rte_eth_dev *dev, uint16_t id)
{
	return of_both(dev, id, rte_eth_dev_tx_queue_stop, rte_eth_dev_tx_queue_start);
}

/* --- what it is ------------------------------------------------------------------------------------------------------ */

/* What both can. */
static int
pair_infos(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	struct ipoib_pair *p = pair_of(dev);
	struct rte_eth_dev_info other;
	const char *driver = info->driver_name;
	struct rte_device *device = info->device;
	int ret = rte_eth_dev_info_get(p->member[0], info);

	if (ret == 0)
		ret = rte_eth_dev_info_get(p->member[1], &other);
	if (ret != 0)
		return ret;
	info->driver_name = driver;
	info->device = device;
	info->rx_offload_capa &= other.rx_offload_capa;
	info->tx_offload_capa &= other.tx_offload_capa;
	info->rx_queue_offload_capa &= other.rx_queue_offload_capa;
	info->tx_queue_offload_capa &= other.tx_queue_offload_capa;
	info->max_mtu = RTE_MIN(info->max_mtu, other.max_mtu);
	info->max_rx_queues = RTE_MIN(info->max_rx_queues, other.max_rx_queues);
	info->max_tx_queues = RTE_MIN(info->max_tx_queues, other.max_tx_queues);
	info->flow_type_rss_offloads &= other.flow_type_rss_offloads;
	/* Both have the same table, or none is to be had. */
	if (info->reta_size != other.reta_size)
		info->reta_size = 0;
	return 0;
}

/* The pair's thread writes it. */
static int
pair_link(struct rte_eth_dev *dev, int wait)
{
	(void)dev;
	(void)wait;
	return 0;
}

static int
pair_mtu_set(struct rte_eth_dev *dev, uint16_t mtu)
{
	struct ipoib_pair *p = pair_of(dev);
	int ret = rte_eth_dev_set_mtu(p->member[0], mtu);

	return ret != 0 ? ret : rte_eth_dev_set_mtu(p->member[1], mtu);
}

static int
pair_mac_set(struct rte_eth_dev *dev, struct rte_ether_addr *mac)
{
	struct ipoib_pair *p = pair_of(dev);
	int ret = rte_eth_dev_default_mac_addr_set(p->member[0], mac);

	return ret != 0 ? ret : rte_eth_dev_default_mac_addr_set(p->member[1], mac);
}

static int
pair_mc_list(struct rte_eth_dev *dev, struct rte_ether_addr *macs, uint32_t n)
{
	struct ipoib_pair *p = pair_of(dev);
	int ret;

	pthread_mutex_lock(&p->lock);
	/* Refused, too, if there are too many. */
	ret = rte_eth_dev_set_mc_addr_list(p->member[p->state.active], macs, n);
	if (ret == 0 && n != 0)
		memcpy(p->mcast, macs, n * sizeof(*macs));
	if (ret == 0)
		p->num_mcast = n;
	pthread_mutex_unlock(&p->lock);
	return ret;
}

static int
pair_promiscuous(struct rte_eth_dev *dev)
{
	(void)dev;
	return 0;
}

const struct eth_dev_ops ipoib_pair_ops = {
	.dev_configure = pair_configure,
	.dev_start = pair_start,
	.dev_stop = pair_stop,
	.dev_close = pair_close,
	.dev_infos_get = pair_infos,
	.link_update = pair_link,
	.mtu_set = pair_mtu_set,
	.mac_addr_set = pair_mac_set,
	.set_mc_addr_list = pair_mc_list,
	.promiscuous_enable = pair_promiscuous,
	.promiscuous_disable = pair_promiscuous,
	.reta_update = ipoib_pair_reta_update,
	.reta_query = ipoib_pair_reta_query,
	.rss_hash_update = ipoib_pair_hash_update,
	.rss_hash_conf_get = ipoib_pair_hash_get,
	.rx_queue_setup = rx_setup,
	.rx_queue_release = rx_release,
	.tx_queue_setup = tx_setup,
	.tx_queue_release = tx_release,
	.rx_queue_start = rxq_start,
	.rx_queue_stop = rxq_stop,
	.tx_queue_start = txq_start,
	.tx_queue_stop = txq_stop,
	.stats_get = ipoib_pair_stats_get,
	.stats_reset = ipoib_pair_stats_reset,
	.xstats_get = ipoib_pair_xstats_get,
	.xstats_get_names = ipoib_pair_xstats_names,
	.xstats_reset = ipoib_pair_stats_reset,
};
