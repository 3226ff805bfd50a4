/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A port of a test program: a queue each way for each lane, started, opened for RoCE, with its addresses and a GID to use. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>

#include "end.h"
#include "rte_pmd_mlx4_qos.h"

#define RING 1024u
#define POOL 8191u
#define AGAIN_FIRST 50u /* parts of a second until a memif client calls again, then twice as long, up to a second */

static int
find_port(struct rport *port, const char *name, unsigned int nth)
{
	uint16_t id, list[RTE_MAX_ETHPORTS];
	unsigned int n = 0;

	if (name != NULL && rte_eth_dev_get_port_by_name(name, &port->id) != 0)
		return rend_fail(ENODEV, "no port '%s'; there are %u ports", name, rte_eth_dev_count_avail());
	RTE_ETH_FOREACH_DEV(id)
	list[n++] = id;
	if (name == NULL && nth >= n)
		return rend_fail(ENODEV, "%u port(s), at least %u needed: a --vdev or -a before the \"--\"", n,
				 nth + 1);
	if (name == NULL)
		port->id = list[nth];
	rte_eth_dev_get_name_by_port(port->id, port->name);
	return 0;
}

static bool
is_memif(const struct rte_eth_dev_info *info)
{
	return strcmp(info->driver_name, "net_memif") == 0;
}

/* Such ports pass longer frames than ethdev lets them have an MTU for: any, and those of the interface. */
static bool
tells_less(const struct rte_eth_dev_info *info)
{
	return is_memif(info) || strcmp(info->driver_name, "net_af_packet") == 0;
}

/* Only a client connects, so only a client can have come too early. */
static bool
is_memif_client(const struct rport *port)
{
	const struct rte_devargs *devargs;
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(port->id, &info) != 0 || !is_memif(&info))
		return false;
	devargs = rte_dev_devargs(info.device);
	return devargs != NULL && devargs->args != NULL &&
	       (strstr(devargs->args, "role=client") != NULL || strstr(devargs->args, "role=slave") != NULL);
}

/* A memif client does not start while there is no server, which may be on its way up. */
static int
start(const struct rport *port, unsigned int seconds)
{
	const uint64_t end = rte_get_timer_cycles() + seconds * rte_get_timer_hz();
	int rc;

	while ((rc = rte_eth_dev_start(port->id)) != 0 && is_memif_client(port) && rte_get_timer_cycles() < end &&
	       !rend_stopping())
		rte_delay_us_sleep(100000);
	return rc;
}

/* A queue each way for each lane; of packets the port hashes what it can. */
static int
configure_queues(const struct rport *port, const struct rte_eth_dev_info *info)
{
	const uint16_t max = RTE_MIN(info->max_rx_queues, info->max_tx_queues);
	struct rte_eth_conf eth = {0};

	if (port->lanes > max)
		return rend_fail(EINVAL, "--lanes: %u, port %s has queues for 1..%u", port->lanes, port->name, max);
	eth.txmode.offloads = info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	eth.rx_adv_conf.rss_conf.rss_hf = info->flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP);
	if (port->lanes > 1 && eth.rx_adv_conf.rss_conf.rss_hf != 0)
		eth.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	return rte_eth_dev_configure(port->id, port->lanes, port->lanes, &eth);
}

static int
configure(struct rport *port, const struct rport_conf *conf)
{
	uint16_t nrx = RING, ntx = RING, mtu;
	struct rte_eth_dev_info info;
	struct rte_eth_rxconf rx;
	unsigned int packets;
	char name[32];
	int rc;

	rc = rte_eth_dev_info_get(port->id, &info);
	if (rc != 0)
		return rc;
	rc = configure_queues(port, &info);
	if (rc != 0)
		return rc;
	if (conf->mtu != 0)
		rc = rte_eth_dev_set_mtu(port->id, (uint16_t)conf->mtu);
	if (rc != 0 && tells_less(&info))
		port->eth_mtu = (uint16_t)conf->mtu;
	else if (rc != 0)
		return rend_fail(-rc, "port %s: MTU %u: %s; %u..%u are possible", port->name, conf->mtu, strerror(-rc),
				 info.min_mtu, info.max_mtu);
	rc = rte_eth_dev_get_mtu(port->id, &mtu);
	mtu = RTE_MAX(mtu, port->eth_mtu);
	if (rc != 0 || (rc = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &nrx, &ntx)) != 0)
		return rc;
	/* A frame with its VLAN tags and FCS in one buffer, so that the port need not scatter. */
	snprintf(name, sizeof(name), "roce_rx%u", port->id);
	packets = RTE_MAX(POOL, 4u * nrx * port->lanes);
	port->pool = rte_pktmbuf_pool_create(
		name, packets, 256, 0, (uint16_t)(RTE_PKTMBUF_HEADROOM + RTE_ALIGN(RTE_MAX(mtu + 32u, 2048u), 64u)),
		SOCKET_ID_ANY);
	if (port->pool == NULL)
		return rend_fail(ENOMEM, "port %s: no memory for %u packets; -m or --socket-mem gives more", port->name,
				 packets);
	rx = info.default_rxconf;
	for (uint16_t q = 0; q < port->lanes && rc == 0; q++) {
		rc = rte_eth_rx_queue_setup(port->id, q, nrx, (unsigned int)SOCKET_ID_ANY, &rx, port->pool);
		if (rc == 0)
			rc = rte_eth_tx_queue_setup(port->id, q, ntx, (unsigned int)SOCKET_ID_ANY, NULL);
	}
	return rc != 0 ? rc : start(port, conf->link_wait);
}

struct restart {
	uint16_t port;
	int rc;
	bool done;
};

static void
on_restart(void *arg)
{
	struct restart *r = arg;

	r->rc = rte_eth_dev_stop(r->port);
	if (r->rc == 0)
		r->rc = rte_eth_dev_start(r->port);
	__atomic_store_n(&r->done, true, __ATOMIC_RELEASE);
}

/*
 * A memif client whose call came before the server was ready for it calls again only when it is started again. net_memif
 * shakes hands in the interrupt thread, without a lock: the port is started again there, too, not amid a late answer. Where
 * that fails the server is not there at this moment, as before the first start.
 */
static int
start_again(const struct rport *port)
{
	struct restart r = {.port = port->id};
	int rc = rte_eal_alarm_set(1, on_restart, &r);

	while (rc == 0 && !__atomic_load_n(&r.done, __ATOMIC_ACQUIRE))
		rte_delay_us_sleep(100);
	return rc == 0 ? r.rc : rc;
}

static int
wait_link(const struct rport *port, unsigned int seconds)
{
	const uint64_t hz = rte_get_timer_hz(), end = rte_get_timer_cycles() + seconds * hz;
	uint64_t patience = hz / AGAIN_FIRST, again = rte_get_timer_cycles() + patience;
	struct rte_eth_link link = {0};
	int rc = 0;

	for (;;) {
		if (rte_eth_link_get_nowait(port->id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP)
			return 0;
		if (rend_stopping())
			return -EINTR;
		if (rte_get_timer_cycles() >= end)
			return rend_fail(ENETDOWN, "port %s: no link after %u s%s%s", port->name, seconds,
					 rc == 0 ? "" : "; its last start: ", rc == 0 ? "" : strerror(-rc));
		if (rte_get_timer_cycles() >= again && is_memif_client(port)) {
			rc = start_again(port);
			/* A handshake takes long where the other end has little of a CPU. */
			patience = RTE_MIN(2 * patience, hz);
			again = rte_get_timer_cycles() + patience;
		}
		rte_delay_us_sleep(1000);
	}
}

static int
addresses(struct rport *port, const struct rport_conf *conf, const char *const *list)
{
	struct sockaddr_storage addr;
	unsigned int i, prefix;
	int rc;

	for (i = 0; i < REND_ADDRS && list[i] != NULL; i++) {
		if (rport_addr_parse(list[i], &addr, &prefix) != 0)
			return rend_fail(EINVAL, "--addr: '%s' is not ADDRESS/LENGTH, as in 192.0.2.1/24", list[i]);
		rc = tp_roce_addr_add(port->ctx, (struct sockaddr *)&addr, prefix, (uint16_t)conf->vlan);
		if (rc != 0)
			return rend_fail(rc, "port %s: address %s: %s", port->name, list[i], strerror(rc));
		if (i == 0)
			port->addr = addr;
	}
	if (conf->gateway == NULL)
		return 0;
	if (rport_addr_parse(conf->gateway, &addr, &prefix) != 0 || strchr(conf->gateway, '/') != NULL)
		return rend_fail(EINVAL, "--gateway: '%s' is not an address", conf->gateway);
	rc = tp_roce_gateway(port->ctx, (struct sockaddr *)&addr);
	return rc == 0 ? 0 : rend_fail(rc, "port %s: gateway %s: %s", port->name, conf->gateway, strerror(rc));
}

static bool
is_address(const struct rport *port, const union ibv_gid *gid)
{
	const struct sockaddr_in6 *in6 = (const void *)&port->addr;
	const struct sockaddr_in *in = (const void *)&port->addr;
	union ibv_gid want = {.raw = {[10] = 0xff, [11] = 0xff}};

	if (port->addr.ss_family == AF_INET)
		memcpy(want.raw + 12, &in->sin_addr, 4);
	else if (port->addr.ss_family == AF_INET6)
		memcpy(want.raw, &in6->sin6_addr, 16);
	else
		return true; /* none was given: the port's own will do */
	return memcmp(&want, gid, sizeof(want)) == 0;
}

/* The GID of the first address, of the type that the mode in force sends. */
static int
pick_gid(struct rport *port, const struct rport_conf *conf)
{
	const uint32_t type = tp_roce_mode_get(port->ctx) == TP_ROCE_V2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	uint32_t i, first = conf->gid_index, last = conf->gid_index;

	if (conf->gid_index == RPORT_ANY_GID) {
		first = 0;
		last = TP_ROCE_GIDS - 1;
	}
	for (i = first; i <= last; i++) {
		if (tp_roce_query_gid_ex(port->ctx, 1, i, &port->gid) != 0)
			continue;
		if (first == last || (port->gid.gid_type == type && is_address(port, &port->gid.gid))) {
			port->gid_index = (uint8_t)i;
			return 0;
		}
	}
	if (first == last)
		return rend_fail(ENOENT, "port %s: entry %u of the GID table is empty", port->name, first);
	return rend_fail(ENOENT, "port %s has no GID of that address and mode", port->name);
}

int
rport_start(struct rport *port, const struct rport_conf *conf, unsigned int nth)
{
	int rc;

	memset(port, 0, sizeof(*port));
	port->lanes = (uint16_t)conf->lanes;
	rc = find_port(port, nth == 0 ? conf->dev : conf->self_dev, nth);
	if (rc != 0)
		return rc;
	rc = configure(port, conf);
	if (rc != 0) {
		rte_mempool_free(port->pool);
		port->pool = NULL;
		return rend_fail(-rc, "port %s does not start: %s", port->name, strerror(-rc));
	}
	/* Frames to the groups of neighbour discovery and of RoCE; a port that cannot filter takes them anyway. */
	rte_eth_allmulticast_enable(port->id);
	port->started = true;
	return 0;
}

/* The words of --qos on top of what the port has. */
static int
declare(const struct rport *port, const char *const *words)
{
	char err[TP_ERR_LEN] = "";
	struct tp_qos_port q;
	unsigned int i;
	int rc;

	if (words[0] == NULL)
		return 0;
	rc = rte_pmd_mlx4_qos_get(port->id, &q);
	if (rc != 0)
		return rend_fail(-rc, "--qos: port %s is none of a ConnectX-3 card", port->name);
	for (i = 0; i < REND_QOS && words[i] != NULL && rc == 0; i++)
		rc = tp_qos_port_word(&q, words[i], err);
	if (rc == 0)
		rc = rte_pmd_mlx4_qos_set(port->id, &q, err);
	return rc == 0 ? 0 : rend_fail(-rc, "--qos: port %s: %s", port->name, err);
}

/* A word of --cc: "on", a variant or a parameter. */
static int
congestion_word(const struct rport *port, const char *word)
{
	const char *eq = strchr(word, '=');
	char name[64], *end = NULL;
	unsigned long long value;

	if (strcmp(word, "on") == 0)
		return tp_roce_cc_enable(port->ctx, UINT8_MAX, true);
	if (eq == NULL || (size_t)(eq - word) >= sizeof(name))
		return rend_fail(EINVAL, "--cc: '%s', want on or NAME=VALUE, as ai-rate=40", word);
	snprintf(name, sizeof(name), "%.*s", (int)(eq - word), word);
	if (strcmp(name, "variant") == 0)
		return tp_roce_cc_set_variant(port->ctx, UINT8_MAX, eq + 1);
	errno = 0;
	value = strtoull(eq + 1, &end, 10);
	if (!isdigit((unsigned char)eq[1]) || *end != '\0' || errno != 0)
		return rend_fail(EINVAL, "--cc: %s '%s', want a number", name, eq + 1);
	return tp_roce_cc_set(port->ctx, UINT8_MAX, name, value);
}

static int
congestion(const struct rport *port, const char *const *words)
{
	int rc = 0;

	for (unsigned int i = 0; i < REND_CC && words[i] != NULL && rc == 0; i++) {
		rc = congestion_word(port, words[i]);
		/* What a library refuses, its log says. */
		if (rc > 0)
			rc = rend_fail(rc, "--cc %s: port %s: %s", words[i], port->name, strerror(rc));
	}
	return rc;
}

int
rport_open(struct rport *port, const struct rport_conf *conf, unsigned int nth)
{
	struct tp_roce_conf roce = {.provider = conf->provider,
				    .mode = (enum tp_roce_mode)conf->mode,
				    .udp_port = (uint16_t)conf->udp_port,
				    .ttl = (uint8_t)conf->ttl,
				    .prio = (uint8_t)conf->prio,
				    .dscp = (uint8_t)conf->dscp,
				    .netdev = conf->netdev,
				    .lanes = port->lanes,
				    .eth_mtu = port->eth_mtu};
	int rc;

	rc = wait_link(port, conf->link_wait);
	if (rc == 0)
		rc = declare(port, conf->qos);
	if (rc != 0)
		return rc;
	port->ctx = tp_roce_open(port->id, &roce);
	if (port->ctx == NULL)
		return rend_fail(errno, "port %s does not open for RoCE: %s", port->name, strerror(errno));
	if (nth == 0 && conf->capture != NULL) {
		rc = tp_roce_capture_start(port->ctx, conf->capture, 0);
		if (rc != 0)
			return rend_fail(rc, "port %s: --capture %s: %s", port->name, conf->capture, strerror(rc));
	}
	rc = congestion(port, conf->cc);
	if (rc == 0)
		rc = addresses(port, conf, nth == 0 ? conf->addr : conf->self_addr);
	return rc != 0 ? rc : pick_gid(port, conf);
}

void
rport_outwait(const struct rport *port, unsigned int ms)
{
	struct rte_eth_dev_info info;
	struct rte_eth_link link;

	if (rte_eth_dev_info_get(port->id, &info) != 0 || !is_memif(&info))
		return;
	for (; ms > 0 && !rend_stopping(); ms--) {
		if (rte_eth_link_get_nowait(port->id, &link) == 0 && link.link_status == RTE_ETH_LINK_DOWN)
			return;
		rte_delay_us_sleep(1000);
	}
}

/*
 * net_memif frees its rings when it is stopped and, in the interrupt thread, when the other end leaves, without a lock
 * between the two; and the ends of a test leave at the same time. Such a port is left to the end of the process.
 */
bool
rport_close(struct rport *port)
{
	struct rte_eth_dev_info info;

	if (port->ctx != NULL) {
		uint64_t lost = 0;

		if (tp_roce_capture_stop(port->ctx, NULL, &lost) == 0 && lost != 0)
			(void)rend_fail(0, "port %s: %" PRIu64 " packets are not in the capture, they came too fast",
					port->name, lost);
		tp_roce_close_device(port->ctx);
	}
	port->ctx = NULL;
	if (!port->started)
		return true;
	port->started = false;
	if (rte_eth_dev_info_get(port->id, &info) == 0 && is_memif(&info))
		return false;
	rte_eth_dev_stop(port->id);
	rte_eth_dev_close(port->id);
	rte_mempool_free(port->pool);
	return true;
}
