/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Operations of the ethdev, and how a port comes and goes. Sockets are there while it runs. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>

#include <bus_vdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_malloc.h>

#include "packet.h"

#define SOCKET_OCTETS (16 << 20) /* that wait at most, each way */
#define OVERHEAD ((uint32_t)(RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN))

RTE_LOG_REGISTER(pkt_logtype, pmd.net.triplane_packet, NOTICE);

static struct pkt_rxq *
rxq_of(const struct rte_eth_dev *dev)
{
	return dev->data->nb_rx_queues == 0 ? NULL : dev->data->rx_queues[0];
}

static int
pkt_ioctl(const struct pkt_port *port, unsigned long request, struct ifreq *ifr)
{
	memcpy(ifr->ifr_name, port->iface, sizeof(ifr->ifr_name));
	return ioctl(port->ctl, request, ifr) != 0 ? -errno : 0;
}

/* --- sockets ------------------------------------------------------------------------------------------------------------ */

static int
option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) != 0 ? -errno : 0;
}

/* The system's limit goes for those who may not exceed it. */
static void
give_room(int fd, int forced, int asked)
{
	if (option(fd, SOL_SOCKET, forced, SOCKET_OCTETS) != 0)
		option(fd, SOL_SOCKET, asked, SOCKET_OCTETS);
}

static int
attach(const struct pkt_port *port, int fd, bool rx)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = rx ? RTE_BE16(ETH_P_ALL) : 0};
	int ret = option(fd, SOL_PACKET, PACKET_VNET_HDR, 1);

	at.sll_ifindex = (int)if_nametoindex(port->iface);
	if (ret == 0 && at.sll_ifindex == 0)
		return -errno;
	if (ret == 0 && rx)
		ret = option(fd, SOL_PACKET, PACKET_AUXDATA, 1);
	/* What this machine sends on the interface is not what came. */
	if (ret == 0 && rx)
		ret = option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
	if (ret == 0 && !rx && port->bypass)
		ret = option(fd, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
	if (ret == 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		ret = -errno;
	return ret;
}

/* A socket of protocol 0 receives nothing. */
static int
open_socket(const struct pkt_port *port, bool rx)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), ret;

	if (fd < 0)
		return -errno;
	if (rx)
		give_room(fd, SO_RCVBUFFORCE, SO_RCVBUF);
	else
		give_room(fd, SO_SNDBUFFORCE, SO_SNDBUF);
	ret = attach(port, fd, rx);
	if (ret != 0) {
		close(fd);
		return ret;
	}
	return fd;
}

static int
listen_to(struct rte_eth_dev *dev, unsigned short what, bool on)
{
	const struct pkt_port *port = dev->data->dev_private;
	const struct pkt_rxq *q = rxq_of(dev);
	struct packet_mreq mr = {.mr_ifindex = (int)if_nametoindex(port->iface), .mr_type = what};

	/* A port that starts asks again. */
	if (q == NULL || q->fd < 0)
		return 0;
	if (setsockopt(q->fd, SOL_PACKET, on ? PACKET_ADD_MEMBERSHIP : PACKET_DROP_MEMBERSHIP, &mr, sizeof(mr)) != 0)
		return -errno;
	return 0;
}

static int
promiscuous_on(struct rte_eth_dev *dev)
{
	return listen_to(dev, PACKET_MR_PROMISC, true);
}

static int
promiscuous_off(struct rte_eth_dev *dev)
{
	return listen_to(dev, PACKET_MR_PROMISC, false);
}

static int
allmulti_on(struct rte_eth_dev *dev)
{
	return listen_to(dev, PACKET_MR_ALLMULTI, true);
}

static int
allmulti_off(struct rte_eth_dev *dev)
{
	return listen_to(dev, PACKET_MR_ALLMULTI, false);
}

/* --- life --------------------------------------------------------------------------------------------------------------- */

static int
configure(struct rte_eth_dev *dev)
{
	(void)dev;
	return 0;
}

static int
link_update(struct rte_eth_dev *dev, int wait)
{
	struct rte_eth_link link = {.link_speed = RTE_ETH_SPEED_NUM_10G, .link_duplex = RTE_ETH_LINK_FULL_DUPLEX};
	struct ifreq ifr;

	(void)wait;
	if (dev->data->dev_started && pkt_ioctl(dev->data->dev_private, SIOCGIFFLAGS, &ifr) == 0)
		link.link_status = (ifr.ifr_flags & IFF_RUNNING) != 0 ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
	return rte_eth_linkstatus_set(dev, &link);
}

static void
take_missed(struct pkt_rxq *q)
{
	struct tpacket_stats s;
	socklen_t len = sizeof(s);

	/* The kernel's counter begins anew with each question. */
	if (q->fd >= 0 && getsockopt(q->fd, SOL_PACKET, PACKET_STATISTICS, &s, &len) == 0)
		q->missed += s.tp_drops;
}

static int
stop(struct rte_eth_dev *dev)
{
	struct pkt_rxq *rx = rxq_of(dev);

	if (rx != NULL) {
		take_missed(rx);
		if (rx->fd >= 0)
			close(rx->fd);
		rx->fd = -1;
		pkt_rx_free(rx);
	}
	for (uint16_t i = 0; i < dev->data->nb_tx_queues; i++) {
		struct pkt_txq *tx = dev->data->tx_queues[i];

		if (tx != NULL && tx->fd >= 0)
			close(tx->fd);
		if (tx != NULL)
			tx->fd = -1;
	}
	dev->data->dev_link.link_status = RTE_ETH_LINK_DOWN;
	return 0;
}

static int
open_sockets(struct rte_eth_dev *dev, struct pkt_rxq *rx)
{
	const struct pkt_port *port = dev->data->dev_private;

	for (uint16_t i = 0; i < dev->data->nb_tx_queues; i++) {
		struct pkt_txq *tx = dev->data->tx_queues[i];

		if (tx == NULL)
			return -EINVAL;
		tx->fd = open_socket(port, false);
		if (tx->fd < 0)
			return tx->fd;
	}
	rx->fd = open_socket(port, true);
	return RTE_MIN(rx->fd, 0);
}

static int
start(struct rte_eth_dev *dev)
{
	struct pkt_port *port = dev->data->dev_private;
	struct pkt_rxq *rx = rxq_of(dev);
	int ret;

	if (rx == NULL || dev->data->nb_tx_queues == 0) {
		PKT_LOG(ERR, "%s: %u receive and %u transmit queues, 1 and at least 1 are needed\n", port->iface,
			dev->data->nb_rx_queues, dev->data->nb_tx_queues);
		return -EINVAL;
	}
	if (rx->room < dev->data->mtu + OVERHEAD) {
		PKT_LOG(ERR, "%s: buffers of %u octets are too small: an MTU of %u takes %u\n", port->iface, rx->room,
			dev->data->mtu, dev->data->mtu + OVERHEAD);
		return -EINVAL;
	}
	memset(port->peer, 0, sizeof(port->peer));
	atomic_store(&port->refused, false);
	ret = open_sockets(dev, rx);
	if (ret != 0) {
		stop(dev);
		PKT_LOG(ERR, "%s: no socket on it: %s\n", port->iface, strerror(-ret));
	}
	return ret;
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
rx_setup(struct rte_eth_dev *dev, uint16_t id, uint16_t desc, unsigned int socket, const struct rte_eth_rxconf *conf,
	 struct rte_mempool *pool)
{
	struct pkt_rxq *q = rte_zmalloc_socket("packet", sizeof(*q), RTE_CACHE_LINE_SIZE, (int)socket);

	(void)desc;
	(void)conf;
	if (q == NULL)
		return -ENOMEM;
	q->port = dev->data->dev_private;
	q->fd = -1;
	q->pool = pool;
	q->room = rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM;
	dev->data->rx_queues[id] = q;
	return 0;
}

static int
tx_setup(struct rte_eth_dev *dev, uint16_t id, uint16_t desc, unsigned int socket, const struct rte_eth_txconf *conf)
{
	struct pkt_txq *q = rte_zmalloc_socket("packet", sizeof(*q), RTE_CACHE_LINE_SIZE, (int)socket);

	(void)desc;
	(void)conf;
	if (q == NULL)
		return -ENOMEM;
	q->port = dev->data->dev_private;
	q->fd = -1;
	dev->data->tx_queues[id] = q;
	return 0;
}

static int
dev_close(struct rte_eth_dev *dev)
{
	struct pkt_port *port = dev->data->dev_private;

	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return 0;
	close(port->ctl);
	for (uint16_t i = 0; i < dev->data->nb_rx_queues; i++)
		rx_release(dev, i);
	for (uint16_t i = 0; i < dev->data->nb_tx_queues; i++)
		tx_release(dev, i);
	/* A part of the port's own memory. */
	dev->data->mac_addrs = NULL;
	return 0;
}

/* --- what it is --------------------------------------------------------------------------------------------------------- */

static int
infos(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	(void)dev;
	info->max_mac_addrs = 1;
	info->max_rx_queues = 1;
	info->max_tx_queues = PKT_TXQS;
	info->min_mtu = RTE_ETHER_MIN_MTU;
	info->max_mtu = PKT_FRAME - OVERHEAD;
	info->max_rx_pktlen = PKT_FRAME;
	info->min_rx_bufsize = RTE_ETHER_MIN_MTU + OVERHEAD;
	info->tx_desc_lim.nb_seg_max = info->tx_desc_lim.nb_mtu_seg_max = PKT_SEGS;
	info->tx_desc_lim.nb_max = info->rx_desc_lim.nb_max = UINT16_MAX;
	info->tx_desc_lim.nb_align = info->rx_desc_lim.nb_align = 1;
	info->tx_offload_capa = info->tx_queue_offload_capa = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	return 0;
}

/* The interface passes what is shorter; its MTU is the kernel's, too, and made no smaller. */
static int
mtu_set(struct rte_eth_dev *dev, uint16_t mtu)
{
	struct pkt_port *port = dev->data->dev_private;
	struct ifreq ifr;
	int ret = pkt_ioctl(port, SIOCGIFMTU, &ifr);

	if (ret != 0 || ifr.ifr_mtu >= mtu)
		return ret;
	ifr.ifr_mtu = mtu;
	ret = pkt_ioctl(port, SIOCSIFMTU, &ifr);
	if (ret != 0)
		PKT_LOG(ERR, "%s: the interface takes no MTU of %u: %s\n", port->iface, mtu, strerror(-ret));
	return ret;
}

static int
stats_get(struct rte_eth_dev *dev, struct rte_eth_stats *s)
{
	struct pkt_rxq *rx = rxq_of(dev);

	if (rx != NULL) {
		take_missed(rx);
		s->ipackets = s->q_ipackets[0] = rx->packets;
		s->ibytes = s->q_ibytes[0] = rx->bytes;
		s->imissed = rx->missed;
		s->ierrors = s->q_errors[0] = rx->refused;
		s->rx_nombuf = rx->no_mbuf;
	}
	for (uint16_t i = 0; i < dev->data->nb_tx_queues; i++) {
		const struct pkt_txq *tx = dev->data->tx_queues[i];

		if (tx == NULL)
			continue;
		s->opackets += tx->sent;
		s->obytes += tx->bytes;
		s->oerrors += tx->refused;
		if (i < RTE_ETHDEV_QUEUE_STAT_CNTRS) {
			s->q_opackets[i] = tx->sent;
			s->q_obytes[i] = tx->bytes;
		}
	}
	return 0;
}

static const struct {
	const char *name;
	bool tx;
	size_t at;
} xstats[] = {
	{"rx_joined_frames", false, offsetof(struct pkt_rxq, joined)},
	{"rx_joined_packets", false, offsetof(struct pkt_rxq, joined_packets)},
	{"rx_copied_frames", false, offsetof(struct pkt_rxq, copied)},
	{"rx_sums_made", false, offsetof(struct pkt_rxq, sums)},
	{"tx_joined_frames", true, offsetof(struct pkt_txq, joined)},
	{"tx_joined_packets", true, offsetof(struct pkt_txq, joined_packets)},
};

static int
xstats_names(struct rte_eth_dev *dev, struct rte_eth_xstat_name *names, unsigned int n)
{
	(void)dev;
	for (unsigned int i = 0; names != NULL && i < n && i < RTE_DIM(xstats); i++)
		snprintf(names[i].name, sizeof(names[i].name), "%s", xstats[i].name);
	return RTE_DIM(xstats);
}

static uint64_t
counter(const void *queue, size_t at)
{
	return queue == NULL ? 0 : *(const uint64_t *)(const void *)((const uint8_t *)queue + at);
}

static int
xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *x, unsigned int n)
{
	for (unsigned int i = 0; i < n && i < RTE_DIM(xstats); i++) {
		x[i].id = i;
		x[i].value = 0;
		for (uint16_t k = 0; xstats[i].tx && k < dev->data->nb_tx_queues; k++)
			x[i].value += counter(dev->data->tx_queues[k], xstats[i].at);
		if (!xstats[i].tx)
			x[i].value = counter(rxq_of(dev), xstats[i].at);
	}
	return RTE_DIM(xstats);
}

static int
stats_reset(struct rte_eth_dev *dev)
{
	struct pkt_rxq *rx = rxq_of(dev);

	if (rx != NULL) {
		take_missed(rx);
		rx->packets = rx->bytes = rx->joined = rx->joined_packets = rx->copied = 0;
		rx->sums = rx->refused = rx->no_mbuf = rx->missed = 0;
	}
	for (uint16_t i = 0; i < dev->data->nb_tx_queues; i++) {
		struct pkt_txq *tx = dev->data->tx_queues[i];

		if (tx != NULL)
			tx->sent = tx->bytes = tx->joined = tx->joined_packets = tx->refused = 0;
	}
	return 0;
}

const struct eth_dev_ops pkt_eth_ops = {
	.dev_configure = configure,
	.dev_start = start,
	.dev_stop = stop,
	.dev_close = dev_close,
	.dev_infos_get = infos,
	.link_update = link_update,
	.mtu_set = mtu_set,
	.promiscuous_enable = promiscuous_on,
	.promiscuous_disable = promiscuous_off,
	.allmulticast_enable = allmulti_on,
	.allmulticast_disable = allmulti_off,
	.rx_queue_setup = rx_setup,
	.rx_queue_release = rx_release,
	.tx_queue_setup = tx_setup,
	.tx_queue_release = tx_release,
	.stats_get = stats_get,
	.stats_reset = stats_reset,
	.xstats_get = xstats_get,
	.xstats_get_names = xstats_names,
	.xstats_reset = stats_reset,
};

/* --- probe -------------------------------------------------------------------------------------------------------------- */

/* The interface as it is now; says what is wrong. */
static int
look_at(struct pkt_port *port)
{
	struct ifreq ifr;
	int ret;

	port->ctl = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (port->ctl < 0) {
		ret = -errno;
		PKT_LOG(ERR, "%s: no packet socket: %s%s\n", port->iface, strerror(-ret),
			ret == -EPERM ? "; the process needs CAP_NET_RAW" : "");
		return ret;
	}
	ret = pkt_ioctl(port, SIOCGIFHWADDR, &ifr);
	if (ret != 0)
		PKT_LOG(ERR, "%s: %s\n", port->iface, ret == -ENODEV ? "there is no such interface" : strerror(-ret));
	else if (ifr.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
		PKT_LOG(ERR, "%s: the interface is none of Ethernet\n", port->iface);
		ret = -EINVAL;
	}
	if (ret != 0)
		close(port->ctl);
	else
		memcpy(&port->mac, ifr.ifr_hwaddr.sa_data, sizeof(port->mac));
	return ret;
}

static int
probe(struct rte_vdev_device *vdev)
{
	struct pkt_port conf = {.ctl = -1}, *port;
	struct rte_eth_dev *eth;
	int ret;

	if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
		PKT_LOG(ERR, "%s: only the primary process has such ports\n", rte_vdev_device_name(vdev));
		return -ENOTSUP;
	}
	ret = pkt_conf_parse(rte_vdev_device_args(vdev), &conf);
	if (ret == 0)
		ret = look_at(&conf);
	if (ret != 0)
		return ret;
	eth = rte_eth_vdev_allocate(vdev, sizeof(*port));
	if (eth == NULL) {
		close(conf.ctl);
		return -ENOMEM;
	}
	port = eth->data->dev_private;
	*port = conf;
	port->port_id = eth->data->port_id;
	eth->data->mac_addrs = &port->mac;
	eth->data->dev_link.link_speed = RTE_ETH_SPEED_NUM_10G;
	eth->data->dev_flags |= RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
	eth->dev_ops = &pkt_eth_ops;
	eth->rx_pkt_burst = pkt_rx_burst;
	eth->tx_pkt_burst = pkt_tx_burst;
	rte_eth_dev_probing_finish(eth);
	return 0;
}

static int
pkt_remove(struct rte_vdev_device *vdev)
{
	struct rte_eth_dev *eth = rte_eth_dev_allocated(rte_vdev_device_name(vdev));

	if (eth == NULL)
		return 0;
	if (eth->data->dev_started)
		rte_eth_dev_stop(eth->data->port_id);
	return rte_eth_dev_close(eth->data->port_id);
}

static struct rte_vdev_driver packet_driver = {.probe = probe, .remove = pkt_remove};
RTE_PMD_REGISTER_VDEV(net_triplane_packet, packet_driver);
RTE_PMD_REGISTER_PARAM_STRING(net_triplane_packet, "iface=<name> gso=<auto|on|off> qdisc_bypass=<0|1>");
