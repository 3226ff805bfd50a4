/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The life of a port: configure with everything that was asked for, start, stop, close. */
#include <errno.h>
#include <semaphore.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_ethdev.h>

#include "apps/triplane/app/app.h"
#include "apps/triplane/traffic/swap.h"
#include "dcbx.h"
#include "ib.h"
#include "kernel.h"
#include "roce.h"
#include "port.h"
#include "flow_rules.h"
#include "capture/tp_capture.h"

#ifdef RTE_ETH_DEV_BONDING_MEMBER
#define IN_BOND RTE_ETH_DEV_BONDING_MEMBER
#else
#define IN_BOND RTE_ETH_DEV_BONDED_SLAVE
#endif

const char *const app_topology_names[APP_TOPOLOGIES] = {"paired", "chained", "loop"};

#define RX(text, bit, setting, vendor, help)                                                                           \
	{                                                                                                              \
		text, RTE_ETH_RX_OFFLOAD_##bit, "rx-" setting, vendor, help                                            \
	}
#define TX(text, bit, setting, vendor, help)                                                                           \
	{                                                                                                              \
		text, RTE_ETH_TX_OFFLOAD_##bit, "tx-" setting, vendor, help                                            \
	}

const struct app_offload app_rx_offloads[] = {
	RX("vlan_strip", VLAN_STRIP, "vlan-strip", "", "Takes VLAN tags off"),
	RX("vlan_filter", VLAN_FILTER, "vlan-filter", "PromiscuousVlan", "Drops frames of VLANs that were not added"),
	RX("ipv4_cksum", IPV4_CKSUM, "ipv4-cksum", "*IPChecksumOffloadIPv4", "Checks IPv4 header checksums"),
	RX("udp_cksum", UDP_CKSUM, "udp-cksum", "*UDPChecksumOffloadIPv4, *UDPChecksumOffloadIPv6",
	   "Checks UDP checksums"),
	RX("tcp_cksum", TCP_CKSUM, "tcp-cksum", "*TCPChecksumOffloadIPv4, *TCPChecksumOffloadIPv6",
	   "Checks TCP checksums"),
	RX("scatter", SCATTER, "scatter", "", "Receives frames into several buffers"),
	RX("rss_hash", RSS_HASH, "rss-hash", "", "Gives each packet its hash"),
	RX("timestamp", TIMESTAMP, "timestamp", "", "Gives each packet its time of arrival by the card's clock"),
	RX("keep_crc", KEEP_CRC, "keep-crc", "IgnoreFCS", "Leaves the FCS on packets"),
	RX("qinq_strip", QINQ_STRIP, "qinq-strip", "",
	   "Takes both VLAN tags off; no setting of ConnectX-3 ports, whose card takes off one"),
	RX("outer_ipv4_cksum", OUTER_IPV4_CKSUM, "outer-ipv4-cksum", "",
	   "Checks outer IPv4 header checksums of tunnels"),
	RX("outer_udp_cksum", OUTER_UDP_CKSUM, "outer-udp-cksum", "", "Checks outer UDP checksums of tunnels"),
	RX("tcp_lro", TCP_LRO, "tcp-lro", "*RscIPv4, *RscIPv6", "Joins TCP segments"),
};
const unsigned int app_num_rx_offloads = RTE_DIM(app_rx_offloads);

const struct app_offload app_tx_offloads[] = {
	TX("vlan_insert", VLAN_INSERT, "vlan-insert", "", "Inserts VLAN tags"),
	TX("ipv4_cksum", IPV4_CKSUM, "ipv4-cksum", "*IPChecksumOffloadIPv4", "Makes IPv4 header checksums"),
	TX("udp_cksum", UDP_CKSUM, "udp-cksum", "*UDPChecksumOffloadIPv4, *UDPChecksumOffloadIPv6",
	   "Makes UDP checksums"),
	TX("tcp_cksum", TCP_CKSUM, "tcp-cksum", "*TCPChecksumOffloadIPv4, *TCPChecksumOffloadIPv6",
	   "Makes TCP checksums"),
	TX("tcp_tso", TCP_TSO, "tcp-tso", "*LsoV2IPv4, *LsoV2IPv6", "Cuts large TCP packets into segments"),
	TX("multi_segs", MULTI_SEGS, "multi-segs", "", "Sends packets of several buffers; on where the device has it"),
	TX("mbuf_fast_free", MBUF_FAST_FREE, "mbuf-fast-free", "",
	   "Frees the buffers of a queue to one pool, without a look at each"),
	TX("outer_ipv4_cksum", OUTER_IPV4_CKSUM, "outer-ipv4-cksum", "",
	   "Makes outer IPv4 header checksums of tunnels"),
	TX("vxlan_tnl_tso", VXLAN_TNL_TSO, "vxlan-tso", "", "Cuts large TCP packets inside VXLAN into segments"),
	TX("gre_tnl_tso", GRE_TNL_TSO, "gre-tso", "", "Cuts large TCP packets inside NVGRE into segments"),
};
const unsigned int app_num_tx_offloads = RTE_DIM(app_tx_offloads);

unsigned int
ports_list(void *arg, uint32_t ids[CMD_MAX_LIST])
{
	struct app *app = arg;
	unsigned int i, n = 0;

	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		if (app->port[i].present)
			ids[n++] = i;
	return n;
}

void
ports_peers(struct app *app, enum app_topology topology, uint16_t peers[RTE_MAX_ETHPORTS])
{
	uint32_t ids[CMD_MAX_LIST];
	unsigned int i, all = ports_list(app, ids), n = 0, peer;

	/* A guest's port has its partner. */
	for (i = 0; i < all; i++) {
		peers[ids[i]] = app->port[ids[i]].peer;
		if (!app->port[ids[i]].guest)
			ids[n++] = ids[i];
	}
	for (i = 0; i < n; i++) {
		peer = i;
		if (topology == APP_TOPOLOGY_PAIRED && (i ^ 1) < n)
			peer = i ^ 1;
		else if (topology == APP_TOPOLOGY_CHAINED)
			peer = (i + 1) % n;
		peers[ids[i]] = (uint16_t)ids[peer];
	}
}

void
ports_topology(struct app *app, enum app_topology topology)
{
	uint16_t peers[RTE_MAX_ETHPORTS] = {0};
	unsigned int i;

	ports_peers(app, topology, peers);
	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		if (app->port[i].present)
			app->port[i].peer = peers[i];
}

void
port_add(struct app *app, uint16_t id)
{
	const struct app_options *opt = &app->opt;
	struct app_port *p = &app->port[id];

	*p = (struct app_port){
		.present = true,
		.id = id,
		.rxq = opt->rxq,
		.txq = opt->txq,
		.rxd = opt->rxd,
		.txd = opt->txd,
		.mtu = opt->mtu,
		.rx_offloads = opt->rx_offloads,
		.tx_offloads = opt->tx_offloads,
		.promisc = !opt->no_promisc,
		.reservation = APP_RESERVATION,
		.sums_tx = SWAP_ALL,
		.sums_rx = SWAP_ALL,
		.rss_hf = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP,
		.mode = opt->mode,
		/* locally administered; tells ports apart in a capture */
		.eth_peer = {{0x02, 0, 0, 0, 0, (uint8_t)id}},
	};
	rxwait_default(&p->wait);
	/* Ranges of settings and profiles come from it, also before the first start, which asks again and says why not. */
	if (rte_eth_dev_info_get(id, &p->info) != 0)
		memset(&p->info, 0, sizeof(p->info));
	port_listen(p);
}

void
ports_init(struct app *app)
{
	uint16_t id;

	RTE_ETH_FOREACH_DEV(id)
	{
		port_add(app, id);
	}
	ports_topology(app, app->opt.topology);
}

static int
check_limits(const struct app_port *p)
{
	const struct rte_eth_dev_info *in = &p->info;

	if (p->rxq > in->max_rx_queues)
		return app_err(-EINVAL,
			       "port %u: %u receive queues asked for, the device has 0..%u; 'port config %u rxq N' "
			       "asks for fewer",
			       p->id, p->rxq, in->max_rx_queues, p->id);
	if (p->txq + roce_txq(p) + kernel_txq(p) > in->max_tx_queues)
		return app_err(-EINVAL,
			       "port %u: %u transmit queues asked for%s, the device has 0..%u; 'port config %u txq N' "
			       "asks for fewer",
			       p->id, p->txq + roce_txq(p) + kernel_txq(p),
			       roce_txq(p) != 0     ? ", one of them for RoCE"
			       : kernel_txq(p) != 0 ? ", one of them for the kernel"
						    : "",
			       in->max_tx_queues, p->id);
	if (p->rxq == 0 && roce_txq(p) != 0)
		return app_err(-EINVAL, "port %u: RoCE wants a receive queue, the port has 0; 'port config %u rxq 1'",
			       p->id, p->id);
	if (p->mtu != 0 && (p->mtu < in->min_mtu || p->mtu > in->max_mtu))
		return app_err(-EINVAL, "port %u: MTU %u, the device takes %u..%u", p->id, p->mtu, in->min_mtu,
			       in->max_mtu);
	if (p->rx_offloads & ~in->rx_offload_capa)
		return app_err(
			-ENOTSUP, "port %u: receive offload %s is not among those of the device", p->id,
			rte_eth_dev_rx_offload_name(RTE_BIT64(__builtin_ctzll(p->rx_offloads & ~in->rx_offload_capa))));
	if (p->tx_offloads & ~in->tx_offload_capa)
		return app_err(
			-ENOTSUP, "port %u: transmit offload %s is not among those of the device", p->id,
			rte_eth_dev_tx_offload_name(RTE_BIT64(__builtin_ctzll(p->tx_offloads & ~in->tx_offload_capa))));
	return 0;
}

static uint16_t
frame_overhead(const struct rte_eth_dev_info *info)
{
	if (info->max_rx_pktlen == UINT32_MAX || info->max_mtu == UINT16_MAX || info->max_rx_pktlen < info->max_mtu)
		return RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
	return (uint16_t)(info->max_rx_pktlen - info->max_mtu);
}

static bool
is_ours(const struct app_port *p)
{
	return p->info.driver_name != NULL && strncmp(p->info.driver_name, "net_mlx4", strlen("net_mlx4")) == 0;
}

bool
port_is_bond(const struct app_port *p)
{
	return p->info.driver_name != NULL && strcmp(p->info.driver_name, "net_bonding") == 0;
}

/* Ours cost nothing until they are waited for; what others do with them only who asks for it finds out. */
static bool
wants_interrupts(const struct app_port *p)
{
	return p->rxq > 0 && p->rxq <= APP_INTR_QUEUES && (p->wait.mode != RXWAIT_POLLING || is_ours(p));
}

/* What one buffer of the pool holds of a frame. */
static uint16_t
buffer_room(const struct app *app)
{
	return (uint16_t)(app->opt.mbuf_size - RTE_PKTMBUF_HEADROOM);
}

/* Of other drivers some take one only while the port is stopped. */
bool
port_mtu_live(const struct app *app, const struct app_port *p, uint16_t mtu)
{
	return p->started && is_ours(p) &&
	       (mtu <= p->mtu_made || (uint32_t)mtu + frame_overhead(&p->info) <= buffer_room(app));
}

static int
port_table_check(struct app *app, struct app_port *p)
{
	char err[256];
	int ret = port_table_put(app, p, err, sizeof(err));

	return ret != 0 ? app_err(ret, "%s", err) : 0;
}

/* What was asked for while the port could not say whether it can. */
static int
port_check_waits(struct app *app, struct app_port *p)
{
	int ret;

	p->intr = wants_interrupts(p) && rte_eth_dev_rx_intr_ctl_q_get_fd(p->id, 0) >= 0;
	if (p->wait.mode != RXWAIT_POLLING && !p->intr)
		return app_err(
			-ENOTSUP,
			"port %u: rx-completion %s: want polling, its device has no receive interrupts, or more than "
			"%u queues",
			p->id, rxwait_modes[p->wait.mode], APP_INTR_QUEUES);
	if (p->table_len != 0)
		return port_table_check(app, p);
	ret = p->rss_queues != 0 ? port_spread(app, p) : 0;
	return ret != 0 ? app_err(ret, "port %u: rss-queues %u: %s", p->id, p->rss_queues, port_table_error(ret)) : 0;
}

static int
port_configure(struct app *app, struct app_port *p)
{
	uint16_t room = buffer_room(app), mtu;
	struct rte_eth_conf conf;
	int ret;

	memset(&conf, 0, sizeof(conf));
	mtu = p->mtu != 0 ? p->mtu : RTE_MIN((uint16_t)RTE_ETHER_MTU, p->info.max_mtu);
	conf.rxmode.mtu = mtu;
	conf.rxmode.offloads = p->rx_offloads;
	if ((p->rx_offloads & RTE_ETH_RX_OFFLOAD_TCP_LRO) != 0)
		conf.rxmode.max_lro_pkt_size = p->info.max_lro_pkt_size;
	conf.txmode.offloads = p->tx_offloads;
	if ((uint32_t)mtu + frame_overhead(&p->info) > room && !(p->rx_offloads & RTE_ETH_RX_OFFLOAD_SCATTER)) {
		if (!(p->info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER))
			return app_err(
				-EINVAL,
				"port %u: MTU %u does not fit buffers of %u octets and the device cannot scatter; "
				"want --mbuf-size %u or more",
				p->id, mtu, room, mtu + frame_overhead(&p->info) + RTE_PKTMBUF_HEADROOM);
		conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_SCATTER;
	}
	/* what was received in pieces goes out in pieces */
	conf.txmode.offloads |= p->info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	conf.intr_conf.rxq = wants_interrupts(p);
	conf.intr_conf.lsc = p->info.dev_flags != NULL && (*p->info.dev_flags & RTE_ETH_DEV_INTR_LSC) != 0;
	conf.intr_conf.rmv = p->info.dev_flags != NULL && (*p->info.dev_flags & RTE_ETH_DEV_INTR_RMV) != 0;
	if (p->rxq > 1) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = p->rss_hf & p->info.flow_type_rss_offloads;
		if (p->rss_key_len != 0) {
			conf.rx_adv_conf.rss_conf.rss_key = p->rss_key;
			conf.rx_adv_conf.rss_conf.rss_key_len = p->rss_key_len;
		}
	}
	p->rxq_up = p->txq_up = 0;
	ret = rte_eth_dev_configure(p->id, p->rxq, p->txq + roce_txq(p) + kernel_txq(p), &conf);
	if (ret != 0)
		return app_err(ret, "port %u: configure with %u receive and %u transmit queues: %s", p->id, p->rxq,
			       p->txq, rte_strerror(-ret));
	ret = rte_eth_dev_adjust_nb_rx_tx_desc(p->id, &p->rxd, &p->txd);
	if (ret != 0)
		return app_err(ret, "port %u: ring sizes %u and %u: %s", p->id, p->rxd, p->txd, rte_strerror(-ret));
	p->mtu_made = mtu;
	return 0;
}

static int
port_queues(struct app *app, struct app_port *p)
{
	const uint16_t txq = (uint16_t)(p->txq + roce_txq(p) + kernel_txq(p));
	int socket = rte_eth_dev_socket_id(p->id), ret;
	uint16_t q;

	p->pool = ports_pool(app, socket);
	if (p->pool == NULL)
		return -ENOMEM;
	for (q = 0; q < p->rxq; q++) {
		ret = rte_eth_rx_queue_setup(p->id, q, p->rxd, (unsigned int)socket, NULL, p->pool);
		if (ret != 0)
			return app_err(ret, "port %u: receive queue %u of %u descriptors (%u..%u): %s", p->id, q,
				       p->rxd, p->info.rx_desc_lim.nb_min, p->info.rx_desc_lim.nb_max,
				       rte_strerror(-ret));
		p->rxq_up++;
	}
	for (q = 0; q < txq; q++) {
		const bool kernels = q == p->txq + roce_txq(p);
		const struct rte_eth_txconf conf = kernels ? kernel_txconf(p) : p->info.default_txconf;

		ret = rte_eth_tx_queue_setup(p->id, q, p->txd, (unsigned int)socket, kernels ? &conf : NULL);
		if (ret != 0)
			return app_err(ret, "port %u: transmit queue %u of %u descriptors (%u..%u): %s", p->id, q,
				       p->txd, p->info.tx_desc_lim.nb_min, p->info.tx_desc_lim.nb_max,
				       rte_strerror(-ret));
		p->txq_up++;
	}
	return 0;
}

/*
 * Some devices receive all multicast frames whatever is said. That shows only when it is to change: it is tried once, before
 * the first start.
 */
static void
try_allmulti(struct app_port *p)
{
	const bool on = rte_eth_allmulticast_get(p->id) == 1;

	if (p->allmulti_known)
		return;
	p->allmulti_known = true;
	p->allmulti_fixed = (on ? rte_eth_allmulticast_disable(p->id) : rte_eth_allmulticast_enable(p->id)) == -ENOTSUP;
	if (p->allmulti_fixed)
		p->allmulti = on;
	else
		(void)(on ? rte_eth_allmulticast_enable(p->id) : rte_eth_allmulticast_disable(p->id));
}

/* Modes that a device may lack: asked for only when wanted, and refused only when the user insisted. */
static int
port_modes(struct app_port *p)
{
	int ret;

	try_allmulti(p);
	ret = port_promisc_put(p, p->promisc);
	if (ret != 0 && ret != -ENOTSUP)
		return app_err(ret, "port %u: promiscuous %s: %s", p->id, p->promisc ? "on" : "off",
			       rte_strerror(-ret));
	ret = port_allmulti_put(p, p->allmulti);
	if (ret != 0 && ret != -ENOTSUP)
		return app_err(ret, "port %u: all-multicast %s: %s", p->id, p->allmulti ? "on" : "off",
			       rte_strerror(-ret));
	return 0;
}

int
port_start(struct app *app, struct app_port *p)
{
	int ret;

	if (p->started)
		return 0;
	ret = rte_eth_dev_info_get(p->id, &p->info);
	if (ret != 0)
		return app_err(ret, "port %u: device information: %s", p->id, rte_strerror(-ret));
	if (!p->configured || p->dirty) {
		ret = check_limits(p);
		if (ret == 0)
			ret = port_configure(app, p);
		if (ret == 0)
			ret = port_queues(app, p);
		if (ret != 0)
			return ret;
		p->configured = true;
		p->dirty = false;
		tp_capture_refresh(p->id);
	}
	/* Modes before the start: a frame that waits on the wire comes with the link and would not be for this port. */
	ret = port_modes(p);
	if (ret == 0)
		ret = port_vlans_put(p);
	if (ret != 0)
		return ret;
	/* A reset of the device may have emptied its list. */
	ret = p->mcast_num != 0 ? port_mcast_put(p) : 0;
	if (ret != 0)
		return app_err(ret, "port %u: %u multicast addresses: %s", p->id, p->mcast_num, rte_strerror(-ret));
	ret = rte_eth_dev_start(p->id);
	if (ret != 0)
		return app_err(ret, "port %u: start: %s", p->id, rte_strerror(-ret));
	p->started = true;
	ret = port_check_waits(app, p);
	if (ret != 0) {
		p->started = false;
		rte_eth_dev_stop(p->id);
		return ret;
	}
	ret = dcbx_port_up(p);
	return ret != 0 ? ret : roce_port_up(p);
}

int
port_check_stopped(const struct app *app, const struct app_port *p, char *err, size_t len)
{
	if (app->fwd_runs)
		snprintf(err, len, "port %u: forwarding runs; 'stop' first", p->id);
	else if (p->started)
		snprintf(err, len, "port %u is started; 'port stop %u' first", p->id, p->id);
	else
		return 0;
	return -EBUSY;
}

struct port_call {
	sem_t done;
	int (*fn)(uint16_t port);
	uint16_t port;
	int ret;
};

static void
called(void *arg)
{
	struct port_call *c = arg;

	c->ret = c->fn(c->port);
	sem_post(&c->done);
}

/*
 * net_memif frees its rings when it is stopped and, in the interrupt thread, when the other end leaves, without a lock between the
 * two; and both ends may end at the same time. So the first is done in that thread, too.
 */
static int
end_in_turn(const struct app_port *p, int (*fn)(uint16_t port))
{
	struct port_call c = {.fn = fn, .port = p->id};

	if (p->info.driver_name == NULL || strcmp(p->info.driver_name, "net_memif") != 0)
		return fn(p->id);
	sem_init(&c.done, 0, 0);
	if (rte_eal_alarm_set(1, called, &c) != 0)
		c.ret = fn(p->id);
	else
		while (sem_wait(&c.done) != 0)
			;
	sem_destroy(&c.done);
	return c.ret;
}

int
port_stop(struct app *app, struct app_port *p)
{
	int ret;

	if (app->fwd_runs)
		return app_err(-EBUSY, "port %u: forwarding runs; 'stop' first", p->id);
	if (!p->started)
		return 0;
	port_settle(p);
	roce_port_down(p);
	dcbx_port_down(p);
	ret = end_in_turn(p, rte_eth_dev_stop);
	if (ret != 0)
		return app_err(ret, "port %u: stop: %s", p->id, rte_strerror(-ret));
	p->started = false;
	return 0;
}

struct settling {
	sem_t done;
	unsigned int rounds;
};

static void
settle(void *arg)
{
	struct settling *s = arg;

	if (s->rounds-- == 0 || rte_eal_alarm_set(1, settle, s) != 0)
		sem_post(&s->done);
}

/*
 * Waits until the interrupt thread has told what it knew before. An alarm may be served in the same round as an event
 * that came earlier, and before it; a second alarm cannot.
 */
static void
events_settle(void)
{
	struct settling s = {.rounds = 1};

	sem_init(&s.done, 0, 0);
	if (rte_eal_alarm_set(1, settle, &s) == 0)
		while (sem_wait(&s.done) != 0)
			;
	sem_destroy(&s.done);
}

int
port_close(struct app *app, struct app_port *p)
{
	struct rte_eth_dev_info info;
	int ret = port_stop(app, p);

	if (ret != 0)
		return ret;
	/* Its bond could not be stopped any more. */
	if (rte_eth_dev_info_get(p->id, &info) == 0 && (*info.dev_flags & IN_BOND) != 0)
		return app_err(-EBUSY, "port %u: belongs to a bond; close that first", p->id);
	/* DPDK's bonds look at links of members in the interrupt thread, also while they are closed. */
	if (port_is_bond(p))
		events_settle();
	kernel_unmake(p);
	tp_capture_forget(p->id);
	ret = end_in_turn(p, rte_eth_dev_close);
	if (ret != 0)
		return app_err(ret, "port %u: close: %s", p->id, rte_strerror(-ret));
	roce_port_free(p);
	flows_forget(p);
	ib_made_forget(p->id);
	p->present = p->configured = false;
	ports_topology(app, app->opt.topology);
	return 0;
}
