/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The network side of a port on mbufs: what the port's thread calls. */
#include <stdlib.h>

#include <rte_ethdev.h>

#include "net_priv.h"

#define MAC_LOOK_NS UINT64_C(1000000000)
#define ANSWER_NS UINT64_C(1000000) /* 1000 answers a second, 200 at once */
#define ANSWER_BURST 200u
#define ECHO_NS UINT64_C(50000) /* 20000 echoes a second, 512 at once; as many connections are refused */
#define ECHO_BURST 512u

/* Neighbour discovery is multicast. */
static void
hear_multicast(struct troce_dev *dev)
{
	int rc;

	if (rte_eth_allmulticast_get(dev->port_id) == 1 || rte_eth_promiscuous_get(dev->port_id) == 1)
		return;
	rc = rte_eth_allmulticast_enable(dev->port_id);
	dev->net->allmulti = rc == 0;
	if (rc != 0)
		TROCE_LOG(INFO,
			  "%s: all multicast cannot be set (%s); IPv6 neighbours find us only if the port hears "
			  "them",
			  dev->where, strerror(-rc));
}

static int
net_init(struct troce_dev *dev)
{
	struct troce_net *net = calloc(1, sizeof(*net));
	int rc;

	if (net == NULL)
		return ENOMEM;
	pthread_mutex_init(&net->lock, NULL);
	trn_neigh_init(&net->neighs);
	STAILQ_INIT(&net->ended);
	STAILQ_INIT(&net->asked);
	net->mac = dev->mac;
	trn_addrs_init(&net->a, dev->mode, &dev->mac);
	net->ann[0].left = 1;
	net->answers = (struct trn_rate){ANSWER_NS, ANSWER_NS * ANSWER_BURST, 0};
	net->echoes = net->refusals = (struct trn_rate){ECHO_NS, ECHO_NS * ECHO_BURST, 0};
	net->shared = dev->conf.netdev != NULL;
	net->echo = !dev->conf.app_rx && dev->conf.rest == NULL && !net->shared;
	net->refuses = !dev->conf.host_tcp && !net->shared;
	net->side = &dev->side[TROCE_SIDE_LINK];
	trn_wake(net);
	net->due = TRN_NEVER;
	dev->net = net;
	rc = dev->prov->set_gids != NULL ? dev->prov->set_gids(dev, net->a.table) : 0;
	if (rc != 0) {
		TROCE_LOG(ERR, "%s: %s does not take the GID table (%s)", dev->where, dev->prov->name, strerror(rc));
		goto err_gids;
	}
	hear_multicast(dev);
	rc = net->shared ? trn_netdev_start(dev) : 0;
	if (rc != 0)
		goto err_netdev;
	return 0;

err_netdev:
	if (net->allmulti)
		(void)rte_eth_allmulticast_disable(dev->port_id);
err_gids:
	pthread_mutex_destroy(&net->lock);
	free(net);
	dev->net = NULL;
	return rc;
}

static void
net_fini(struct troce_dev *dev)
{
	struct troce_net *net = dev->net;

	if (net == NULL)
		return;
	trn_netdev_stop(dev);
	if (net->allmulti)
		(void)rte_eth_allmulticast_disable(dev->port_id);
	trn_ended_free(net);
	pthread_mutex_destroy(&net->lock);
	free(net);
	dev->net = NULL;
}

static bool
transmit(struct troce_dev *dev, struct rte_mbuf *m)
{
	if (rte_eth_tx_burst(dev->port_id, dev->conf.tx_queue, &m, 1) == 1)
		return true;
	rte_pktmbuf_free(m);
	dev->net->count.tx_dropped++;
	return false;
}

static void
send_out(void *arg, const struct trn_out *out)
{
	struct troce_dev *dev = arg;
	struct rte_mbuf *m = rte_pktmbuf_alloc(dev->conf.pool);
	char *data = m != NULL ? rte_pktmbuf_append(m, (uint16_t)out->len) : NULL;

	if (data == NULL) {
		rte_pktmbuf_free(m);
		dev->net->count.no_mbuf++;
		return;
	}
	memcpy(data, out->data, out->len);
	(void)transmit(dev, m);
}

/* A new MAC was set by ethdev: another link-local address, and all neighbours have to be told. */
static void
look_at_mac(struct troce_dev *dev, uint64_t now)
{
	struct troce_net *net = dev->net;
	struct rte_ether_addr mac, old = dev->mac;
	struct trn_addrs next;
	unsigned int i;

	net->mac_due = now + MAC_LOOK_NS;
	if (rte_eth_macaddr_get(dev->port_id, &mac) != 0 || rte_is_same_ether_addr(&mac, &old))
		return;
	/* Whoever holds the lock may wait for this thread. */
	if (pthread_mutex_trylock(&dev->lock) != 0) {
		net->mac_due = now;
		return;
	}
	next = net->a;
	trn_addrs_set_mac(&next, &mac);
	dev->mac = mac;
	if (trn_commit(dev, &next) != 0) {
		dev->mac = old;
	} else {
		pthread_mutex_lock(&net->lock);
		net->mac = mac;
		for (i = 0; i < TP_ROCE_GIDS; i++)
			if (net->a.addr[i].valid && !net->a.addr[i].kernel)
				net->ann[i] = (struct trn_announce){.left = 1};
		pthread_mutex_unlock(&net->lock);
	}
	pthread_mutex_unlock(&dev->lock);
}

static void
plan(struct troce_net *net)
{
	atomic_store_explicit(&net->side->due, RTE_MIN(net->due, net->mac_due), memory_order_relaxed);
}

static unsigned int
net_progress(struct troce_dev *dev, uint64_t now_ns)
{
	struct troce_net *net = dev->net;
	unsigned int n;

	atomic_store_explicit(&net->side->woken, 0, memory_order_release);
	if (now_ns >= net->mac_due)
		look_at_mac(dev, now_ns);
	pthread_mutex_lock(&net->lock);
	n = trn_run(net, now_ns, send_out, dev);
	pthread_mutex_unlock(&net->lock);
	plan(net);
	return n;
}

/* true: it was an echo request; the mbuf is gone. */
static bool
echo(struct troce_dev *dev, struct rte_mbuf *m, const struct trn_frame *f, uint64_t now)
{
	struct troce_net *net = dev->net;

	if (!net->echo || f->type == RTE_ETHER_TYPE_ARP || !rte_is_same_ether_addr(f->dst, &net->mac) ||
	    rte_mbuf_refcnt_read(m) != 1 || !RTE_MBUF_DIRECT(m) ||
	    !trn_echo(net, rte_pktmbuf_mtod(m, struct rte_ether_hdr *),
		      rte_pktmbuf_mtod_offset(m, uint8_t *, m->data_len - f->len), f->len, f->type, f->vlan))
		return false;
	if (!trn_rate_ok(&net->echoes, now)) {
		net->count.limited++;
		rte_pktmbuf_free(m);
		return true;
	}
	if ((m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0 && rte_vlan_insert(&m) != 0) {
		net->count.no_mbuf++;
		rte_pktmbuf_free(m);
		return true;
	}
	m->ol_flags = 0;
	net->count.echoes += transmit(dev, m);
	return true;
}

/* true: its connection is refused. */
static bool
refuse(struct troce_dev *dev, const struct trn_frame *f, uint64_t now)
{
	struct troce_net *net = dev->net;
	struct trn_out out = {.len = 0};

	if (!trn_refuse(net, f, &out))
		return false;
	if (trn_rate_ok(&net->refusals, now)) {
		net->count.refused++;
		send_out(dev, &out);
	} else {
		net->count.limited++;
	}
	return true;
}

/* true: the mbuf is gone. */
static bool
take(struct troce_dev *dev, struct rte_mbuf *m, const struct trn_frame *f, uint64_t now)
{
	struct troce_net *net = dev->net;
	struct trn_out out = {.len = 0};
	enum trn_verdict v = TRN_OTHER;

	if (trn_is_tcp(f, UINT64_MAX))
		v = refuse(dev, f, now) ? TRN_OURS : TRN_OTHER;
	else if (f->type != RTE_ETHER_TYPE_IPV4)
		v = trn_input(net, f, now, &out);
	if (out.len != 0)
		send_out(dev, &out);
	if (v == TRN_OTHER)
		return echo(dev, m, f, now);
	/* The kernel keeps neighbours of its own. */
	if (net->shared)
		return false;
	rte_pktmbuf_free(m);
	return true;
}

static uint16_t
net_input(struct troce_dev *dev, struct rte_mbuf **pkts, uint16_t n, uint64_t now_ns)
{
	struct troce_net *net = dev->net;
	struct trn_frame f;
	const uint64_t tcp = trn_refuses() ? atomic_load_explicit(&net->tcp, memory_order_relaxed) : 0;
	uint16_t i, left = 0;
	bool taken;

	for (i = 0; i < n; i++) {
		const struct rte_mbuf *m = pkts[i];
		uint16_t tci = (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0 ? m->vlan_tci : 0;

		if (trn_classify(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, tci, net->echo, &f) ||
		    (unlikely(tcp != 0) && trn_is_tcp(&f, tcp))) {
			pthread_mutex_lock(&net->lock);
			taken = take(dev, pkts[i], &f, now_ns);
			pthread_mutex_unlock(&net->lock);
			if (taken)
				continue;
		}
		pkts[left++] = pkts[i];
	}
	plan(net);
	return left;
}

static void
net_stats(struct troce_dev *dev, tp_roce_stat_fn fn, void *arg)
{
	struct troce_net *net = dev->net;
	struct trn_counters c;
	uint64_t evicted, failed;

	pthread_mutex_lock(&net->lock);
	c = net->count;
	evicted = net->neighs.evicted;
	failed = net->neighs.failed;
	pthread_mutex_unlock(&net->lock);
	fn(arg, "net_requests_sent", c.asked);
	fn(arg, "net_answers_sent", c.answered);
	fn(arg, "net_announcements_sent", c.announced);
	fn(arg, "net_echoes_sent", c.echoes);
	fn(arg, "net_connections_refused", c.refused);
	fn(arg, "net_connections_ended", c.ended);
	fn(arg, "net_malformed", c.malformed);
	fn(arg, "net_address_conflicts", c.conflicts);
	fn(arg, "net_rate_limited", c.limited);
	fn(arg, "net_no_mbuf", c.no_mbuf);
	fn(arg, "net_tx_dropped", c.tx_dropped);
	fn(arg, "net_neighbours_evicted", evicted);
	fn(arg, "net_neighbours_failed", failed);
}

const struct troce_side_ops troce_net_side = {
	.init = net_init, .fini = net_fini, .input = net_input, .progress = net_progress, .stats = net_stats};
