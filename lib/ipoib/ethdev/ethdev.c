/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Operations of the ethdev. */
#include <errno.h>
#include <stdlib.h>

#include <rte_malloc.h>

#include "lib/ipoib/port/cm.h"
#include "lib/ipoib/port/port.h"
#include "conf.h"
#include "tp_roce.h"

#define RX_CHECKSUMS (RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM)
#define TX_CHECKSUMS (RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM)

static struct ipoib_port *
port_of(struct rte_eth_dev *dev)
{
	return dev->data->dev_private;
}

static int
ipoib_configure(struct rte_eth_dev *dev)
{
	struct ipoib_port *p = port_of(dev);
	int ret;

	/* A connection has one queue pair, whose requests bursts of one lcore post. */
	if (p->conf.connected && dev->data->nb_tx_queues > 1) {
		IPOIB_LOG(ERR, "port %u: %u transmit queues, connected mode has 1", p->port_id,
			  dev->data->nb_tx_queues);
		return -ENOTSUP;
	}
	ret = ipoib_rss_configure(dev);
	if (ret != 0)
		return ret;
	p->num_rx = dev->data->nb_rx_queues;
	p->num_tx = dev->data->nb_tx_queues;
	return 0;
}

/* In a buffer of a receive queue, in front of a packet's octets of IP. */
static uint32_t
rx_front(void)
{
	return IPOIB_UD_HEAD + RTE_ALIGN(sizeof(struct ipoib_meta), 16);
}

/* A datagram has one buffer. */
static void
mtu_choose(struct ipoib_port *p)
{
	unsigned int i;

	if (!p->mtu_open)
		return;
	p->mtu = TP_IPOIB_MTU_MAX;
	for (i = 0; i < p->num_rx; i++)
		if (rte_pktmbuf_data_room_size(p->rxq[i]->pool) < rx_front() + TP_IPOIB_MTU_MAX)
			p->mtu = TP_IPOIB_MTU;
}

/* Room for the longest packet behind the place of its GRH, which lies in the headroom as far as it goes. */
static int
rx_layout(const struct ipoib_port *p, struct ipoib_rxq *q)
{
	uint32_t buf = rte_pktmbuf_data_room_size(q->pool), need = IPOIB_UD_HEAD + p->mtu;
	uint32_t most = RTE_PKTMBUF_HEADROOM - IPOIB_RX_SHIFT;

	if (buf < rx_front() + p->mtu) {
		IPOIB_LOG(ERR, "port %u: mbufs of %u octets are too small: an MTU of %u takes %u", p->port_id, buf,
			  p->mtu, rx_front() + p->mtu);
		return -EINVAL;
	}
	q->offset = RTE_MIN(most, buf - need);
	q->room = need;
	q->rearm = ipoib_rx_rearm(q);
	return 0;
}

static int
queues_check(struct ipoib_port *p)
{
	unsigned int i;
	int ret = 0;

	if (p->num_rx == 0 || p->num_tx == 0) {
		IPOIB_LOG(ERR, "port %u: %u receive and %u transmit queues, at least 1 of each is needed", p->port_id,
			  p->num_rx, p->num_tx);
		return -EINVAL;
	}
	for (i = 0; i < p->num_rx || i < p->num_tx; i++) {
		if ((i < p->num_rx && p->rxq[i] == NULL) || (i < p->num_tx && p->txq[i] == NULL)) {
			IPOIB_LOG(ERR, "port %u: queue %u of %u receive and %u transmit queues is not set up",
				  p->port_id, i, p->num_rx, p->num_tx);
			return -EINVAL;
		}
	}
	mtu_choose(p);
	for (i = 0; i < p->num_rx && ret == 0; i++)
		ret = rx_layout(p, p->rxq[i]);
	return ret;
}

static void
queues_stopped(struct rte_eth_dev *dev)
{
	memset(dev->data->rx_queue_state, RTE_ETH_QUEUE_STATE_STOPPED, dev->data->nb_rx_queues);
	memset(dev->data->tx_queue_state, RTE_ETH_QUEUE_STATE_STOPPED, dev->data->nb_tx_queues);
}

static int
ipoib_start(struct rte_eth_dev *dev)
{
	struct ipoib_port *p = port_of(dev);
	struct ipoib_io io;
	int ret = queues_check(p);

	if (ret == 0)
		ret = ipoib_qstate_begin(p);
	if (ret != 0)
		return ret;
	ipoib_device_lock(p->device);
	p->pool = p->rxq[0]->pool;
	ret = ipoib_queues_open(p);
	if (ret == 0) {
		struct ipoib_core_conf conf = {
			.pkey = p->conf.pkey,
			.scope = 2,
			.guid_mask = p->conf.guid_mask,
			.connected = p->conf.connected,
			.cm_mtu = p->conf.cm_mtu,
		};

		ipoib_conf_live(&p->conf, &conf);
		ipoib_io_init(p, &io);
		ipoib_core_init(&p->core, &conf, &io, p->pool, ipoib_device_guid(p->device), &dev->data->mac_addrs[0],
				p->mtu);
		p->pkey_index = -1;
		if (p->conf.connected)
			ret = ipoib_cm_open(p);
		if (ret != 0)
			ipoib_queues_close(p);
	}
	if (ret == 0) {
		p->started = true;
		ipoib_device_look(p->device, p);
		ipoib_core_mac_groups(&p->core, p->mcast, p->num_mcast);
		ipoib_qstate_tell(dev);
	}
	ipoib_device_unlock(p->device);
	return ret;
}

static void
ring_free_all(struct rte_ring *r)
{
	struct rte_mbuf *m;

	while (rte_ring_sc_dequeue(r, (void **)&m) == 0)
		rte_pktmbuf_free(m);
}

static int
ipoib_stop(struct rte_eth_dev *dev)
{
	struct ipoib_port *p = port_of(dev);
	unsigned int i;

	ipoib_device_lock(p->device);
	if (p->started) {
		p->started = false;
		ipoib_publish(p, NULL);
		ipoib_cm_close(p);
		ipoib_core_fini(&p->core);
		ipoib_io_cancel(p);
		ipoib_queues_reset(p);
		ipoib_retired_free(p);
		ipoib_queues_close(p);
		for (i = 0; i < p->num_rx; i++) {
			ring_free_all(p->rxq[i]->slow);
			ring_free_all(p->rxq[i]->inject);
		}
		for (i = 0; i < p->num_tx; i++)
			ring_free_all(p->txq[i]->slow);
		queues_stopped(dev);
	}
	ipoib_link_update(p);
	ipoib_device_unlock(p->device);
	return 0;
}

/* --- queues ---------------------------------------------------------------------------------------------------------- */

static struct rte_ring *
ring_new(struct ipoib_port *p, const char *what, uint16_t id, uint32_t packets, unsigned int socket)
{
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "ipoib%u_%s%u", p->port_id, what, id);
	return rte_ring_create(name, rte_align32pow2(packets), (int)socket, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

static void
ipoib_rx_release(struct rte_eth_dev *dev, uint16_t id)
{
	struct ipoib_port *p = port_of(dev);
	struct ipoib_rxq *q = p->rxq[id];

	p->rxq[id] = NULL;
	dev->data->rx_queues[id] = NULL;
	if (q == NULL)
		return;
	rte_ring_free(q->slow);
	rte_ring_free(q->inject);
	rte_free(q);
}

static int
ipoib_rx_setup(struct rte_eth_dev *dev, uint16_t id, uint16_t desc, unsigned int socket,
	       const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
	struct ipoib_port *p = port_of(dev);
	struct ipoib_rxq *q;

	ipoib_rx_release(dev, id);
	q = rte_zmalloc_socket("ipoib", sizeof(*q), RTE_CACHE_LINE_SIZE, (int)socket);
	if (q == NULL)
		return -ENOMEM;
	q->port = p;
	q->id = id;
	q->deferred = conf->rx_deferred_start != 0;
	q->pool = pool;
	q->size = desc;
	q->slow = ring_new(p, "rx", id, IPOIB_SLOW_RING, socket);
	/* Room for all that the card may have received, too. */
	q->inject = ring_new(p, "in", id, IPOIB_SLOW_RING + desc, socket);
	p->rxq[id] = q;
	if (q->slow == NULL || q->inject == NULL) {
		ipoib_rx_release(dev, id);
		return -ENOMEM;
	}
	dev->data->rx_queues[id] = q;
	return 0;
}

static void
ipoib_tx_release(struct rte_eth_dev *dev, uint16_t id)
{
	struct ipoib_port *p = port_of(dev);
	struct ipoib_txq *q = p->txq[id];

	p->txq[id] = NULL;
	dev->data->tx_queues[id] = NULL;
	if (q == NULL)
		return;
	rte_ring_free(q->slow);
	rte_free(q->sent);
	rte_free(q);
}

static int
ipoib_tx_setup(struct rte_eth_dev *dev, uint16_t id, uint16_t desc, unsigned int socket,
	       const struct rte_eth_txconf *conf)
{
	struct ipoib_port *p = port_of(dev);
	struct ipoib_txq *q;

	ipoib_tx_release(dev, id);
	q = rte_zmalloc_socket("ipoib", sizeof(*q), RTE_CACHE_LINE_SIZE, (int)socket);
	if (q == NULL)
		return -ENOMEM;
	q->port = p;
	q->id = id;
	q->deferred = conf->tx_deferred_start != 0;
	q->tso_segs = (conf->offloads & RTE_ETH_TX_OFFLOAD_TCP_TSO) != 0 ? IPOIB_TSO_SEGS : 0;
	q->size = rte_align32pow2(desc);
	q->mask = q->size - 1;
	q->slow = ring_new(p, "tx", id, IPOIB_SLOW_RING, socket);
	q->sent = rte_zmalloc_socket("ipoib", q->size * sizeof(*q->sent), RTE_CACHE_LINE_SIZE, (int)socket);
	p->txq[id] = q;
	if (q->slow == NULL || q->sent == NULL) {
		ipoib_tx_release(dev, id);
		return -ENOMEM;
	}
	dev->data->tx_queues[id] = q;
	return 0;
}

static int
ipoib_close(struct rte_eth_dev *dev)
{
	struct ipoib_port *p = port_of(dev);
	uint16_t i;

	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return 0;
	ipoib_stop(dev);
	ipoib_device_del(p->device, p);
	ipoib_device_put(p->device);
	/* Those that were set up for an earlier configuration are the ethdev's to release. */
	for (i = 0; i < dev->data->nb_rx_queues; i++)
		ipoib_rx_release(dev, i);
	for (i = 0; i < dev->data->nb_tx_queues; i++)
		ipoib_tx_release(dev, i);
	return 0;
}

/* --- what it is ------------------------------------------------------------------------------------------------------ */

static int
ipoib_infos(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	const struct rte_eth_desc_lim lim = {
		.nb_max = IPOIB_DESC_MAX, .nb_min = IPOIB_DESC_MIN, .nb_align = IPOIB_BURST};

	const struct ipoib_port *p = port_of(dev);
	struct ibv_device_attr attr;

	if (tp_roce_query_device(ipoib_device_ctx(p->device), &attr) != 0)
		return -EIO;
	if ((attr.device_cap_flags & IBV_DEVICE_UD_IP_CSUM) != 0) {
		info->rx_offload_capa = RX_CHECKSUMS;
		info->tx_offload_capa = TX_CHECKSUMS;
	}
	if ((attr.device_cap_flags & TP_ROCE_DEVICE_UD_TSO) != 0)
		info->tx_offload_capa |= RTE_ETH_TX_OFFLOAD_TCP_TSO;
	info->min_mtu = TP_IPOIB_MTU_MIN;
	info->max_mtu = TP_IPOIB_CM_MTU_MAX;
	info->min_rx_bufsize = TP_IPOIB_MTU_MIN + IPOIB_UD_HEAD;
	info->max_rx_pktlen = TP_IPOIB_CM_MTU_MAX + RTE_ETHER_HDR_LEN;
	info->flow_type_rss_offloads = ipoib_rss_types(p);
	info->max_rx_queues = info->flow_type_rss_offloads != 0 ? IPOIB_QUEUES : 1;
	info->max_tx_queues = p->conf.connected ? 1 : IPOIB_QUEUES;
	info->hash_key_size = info->flow_type_rss_offloads != 0 ? RETA_RSS_KEY_LEN : 0;
	info->reta_size = ipoib_reta_size(p);
	info->max_mac_addrs = 1;
	info->rx_desc_lim = lim;
	info->tx_desc_lim = lim;
	info->tx_desc_lim.nb_seg_max = IPOIB_TSO_SEGS;
	info->tx_desc_lim.nb_mtu_seg_max = IPOIB_RC_SGES;
	info->tx_offload_capa |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	info->rx_queue_offload_capa = info->rx_offload_capa;
	info->tx_queue_offload_capa = info->tx_offload_capa;
	info->default_rxportconf = (struct rte_eth_dev_portconf){IPOIB_BURST, IPOIB_DESC_DEFAULT, 1};
	info->default_txportconf = (struct rte_eth_dev_portconf){IPOIB_BURST, IPOIB_DESC_DEFAULT, 1};
	return 0;
}

static int
ipoib_link(struct rte_eth_dev *dev, int wait)
{
	struct ipoib_port *p = port_of(dev);

	(void)wait;
	ipoib_device_lock(p->device);
	ipoib_link_update(p);
	ipoib_device_unlock(p->device);
	return 0;
}

static int
ipoib_mtu_set(struct rte_eth_dev *dev, uint16_t mtu)
{
	struct ipoib_port *p = port_of(dev);

	/* Buffers are laid out for it. */
	if (dev->data->dev_started)
		return -EBUSY;
	if (p->conf.connected) {
		p->conf.cm_mtu = mtu;
		return 0;
	}
	if (mtu > TP_IPOIB_MTU_MAX) {
		IPOIB_LOG(ERR, "port %u: an MTU of %u is more than %u, which connected mode takes", p->port_id, mtu,
			  TP_IPOIB_MTU_MAX);
		return -EINVAL;
	}
	p->mtu = mtu;
	p->mtu_open = false;
	return 0;
}

/* No MAC is on the wire, so all that comes is the port's own; groups are joined as they are reported or listed. */
static int
ipoib_promiscuous(struct rte_eth_dev *dev)
{
	(void)dev;
	return 0;
}

static int
ipoib_mac_set(struct rte_eth_dev *dev, struct rte_ether_addr *mac)
{
	struct ipoib_port *p = port_of(dev);

	ipoib_device_lock(p->device);
	p->core.mac = *mac;
	p->core.dirty = true;
	ipoib_device_unlock(p->device);
	return 0;
}

static int
ipoib_mc_list(struct rte_eth_dev *dev, struct rte_ether_addr *macs, uint32_t n)
{
	struct ipoib_port *p = port_of(dev);

	if (n > RTE_DIM(p->mcast)) {
		IPOIB_LOG(ERR, "port %u: %u multicast addresses are more than %zu", p->port_id, n, RTE_DIM(p->mcast));
		return -ENOSPC;
	}
	ipoib_device_lock(p->device);
	if (n != 0)
		memcpy(p->mcast, macs, n * sizeof(*macs));
	p->num_mcast = n;
	if (p->started)
		ipoib_core_mac_groups(&p->core, p->mcast, n);
	ipoib_device_unlock(p->device);
	return 0;
}

const struct eth_dev_ops ipoib_eth_ops = {
	.dev_configure = ipoib_configure,
	.dev_start = ipoib_start,
	.dev_stop = ipoib_stop,
	.dev_close = ipoib_close,
	.dev_infos_get = ipoib_infos,
	.link_update = ipoib_link,
	.mtu_set = ipoib_mtu_set,
	.mac_addr_set = ipoib_mac_set,
	.set_mc_addr_list = ipoib_mc_list,
	.promiscuous_enable = ipoib_promiscuous,
	.promiscuous_disable = ipoib_promiscuous,
	.reta_update = ipoib_reta_update,
	.reta_query = ipoib_reta_query,
	.rss_hash_update = ipoib_rss_hash_update,
	.rss_hash_conf_get = ipoib_rss_hash_get,
	.rx_queue_setup = ipoib_rx_setup,
	.rx_queue_release = ipoib_rx_release,
	.tx_queue_setup = ipoib_tx_setup,
	.tx_queue_release = ipoib_tx_release,
	.rx_queue_start = ipoib_rxq_start,
	.rx_queue_stop = ipoib_rxq_stop,
	.tx_queue_start = ipoib_txq_start,
	.tx_queue_stop = ipoib_txq_stop,
	.stats_get = ipoib_stats_get,
	.stats_reset = ipoib_stats_reset,
	.xstats_get = ipoib_xstats_get,
	.xstats_get_names = ipoib_xstats_names,
	.xstats_reset = ipoib_stats_reset,
};
