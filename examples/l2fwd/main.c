/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The smallest useful forwarder: every port's frames leave by its neighbour (0 <-> 1, 2 <-> 3, a last odd port sends
 * back), MAC addresses rewritten. It uses DPDK's public interface only; the driver is linked in, so a card bound to
 * vfio-pci is found by itself. Two seconds on a card in software:
 *
 *   $ timeout --preserve-status -s INT 2 l2fwd -l 0,1 --no-huge -m 256 --no-shconf --no-pci --vdev=net_mlx4_model0
 *
 * --no-huge needs no hugepages set up; with a mounted hugetlbfs leave it out.
 *
 * Run to completion: each worker lcore polls its own ports and does everything for a packet, from receive to
 * transmit, before it looks at the next burst. No queue has two users, so nothing is locked.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#define BURST 32
#define RING 512
#define BUFFERS_PER_PORT 4096
#define CACHE 256

struct port {
	uint16_t id, peer;
	struct rte_ether_addr mac;
	uint64_t rx, tx, dropped; /* written by the lcore that owns the port */
} __rte_cache_aligned;

/* A worker and the ports that it owns: those whose index is its own modulo the number of workers. */
struct worker {
	unsigned int index;
};

static struct port ports[RTE_MAX_ETHPORTS];
static unsigned int num_ports, num_workers;
static volatile sig_atomic_t stopping;

static void
on_signal(int sig)
{
	(void)sig;
	stopping = 1;
}

/* One receive and one transmit queue, default settings: what a port needs to run. */
static int
port_start(struct port *p, struct rte_mempool *pool)
{
	struct rte_eth_conf conf = {0};
	uint16_t rxd = RING, txd = RING;
	int socket = rte_eth_dev_socket_id(p->id), ret;

	ret = rte_eth_dev_configure(p->id, 1, 1, &conf);
	if (ret == 0)
		ret = rte_eth_dev_adjust_nb_rx_tx_desc(p->id, &rxd, &txd);
	if (ret == 0)
		ret = rte_eth_rx_queue_setup(p->id, 0, rxd, (unsigned int)socket, NULL, pool);
	if (ret == 0)
		ret = rte_eth_tx_queue_setup(p->id, 0, txd, (unsigned int)socket, NULL);
	if (ret == 0)
		ret = rte_eth_dev_start(p->id);
	if (ret == 0)
		ret = rte_eth_macaddr_get(p->id, &p->mac);
	if (ret != 0) {
		fprintf(stderr, "port %u: %s\n", p->id, rte_strerror(-ret));
		return ret;
	}
	/* frames for any address are forwarded; a device without the mode has nothing to filter */
	rte_eth_promiscuous_enable(p->id);
	return 0;
}

static void
forward(struct port *in, const struct port *out)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n = rte_eth_rx_burst(in->id, 0, pkts, BURST), sent, i;

	if (n == 0)
		return;
	for (i = 0; i < n; i++) {
		struct rte_ether_hdr *eth = rte_pktmbuf_mtod(pkts[i], struct rte_ether_hdr *);

		eth->dst_addr = eth->src_addr;
		eth->src_addr = out->mac;
	}
	sent = rte_eth_tx_burst(out->id, 0, pkts, n);
	in->rx += n;
	in->tx += sent;
	if (sent < n) {
		/* what the queue does not take is still ours */
		rte_pktmbuf_free_bulk(&pkts[sent], n - sent);
		in->dropped += (uint64_t)n - sent;
	}
}

static int
worker_main(void *arg)
{
	const struct worker *w = arg;
	unsigned int i;

	while (!stopping)
		for (i = w->index; i < num_ports; i += num_workers)
			forward(&ports[i], &ports[ports[i].peer]);
	return 0;
}

static int
setup(void)
{
	struct rte_mempool *pool;
	unsigned int i;
	uint16_t id;
	int ret;

	RTE_ETH_FOREACH_DEV(id)
	ports[num_ports++].id = id;
	if (num_ports == 0) {
		fprintf(stderr, "no Ethernet port; give one, such as --vdev=net_mlx4_model0\n");
		return -ENODEV;
	}
	pool = rte_pktmbuf_pool_create("pool", BUFFERS_PER_PORT * num_ports, CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       (int)rte_socket_id());
	if (pool == NULL) {
		fprintf(stderr, "no memory for %u buffers: %s\n", BUFFERS_PER_PORT * num_ports,
			rte_strerror(rte_errno));
		return -rte_errno;
	}
	for (i = 0; i < num_ports; i++) {
		ports[i].peer = (uint16_t)((i ^ 1) < num_ports ? i ^ 1 : i);
		ret = port_start(&ports[i], pool);
		if (ret != 0)
			return ret;
	}
	return 0;
}

static void
run(void)
{
	struct worker workers[RTE_MAX_LCORE];
	unsigned int lcore, i = 0;

	num_workers = rte_lcore_count() - 1;
	RTE_LCORE_FOREACH_WORKER(lcore)
	{
		workers[i].index = i;
		rte_eal_remote_launch(worker_main, &workers[i++], lcore);
	}
	while (!stopping)
		usleep(100000);
	rte_eal_mp_wait_lcore();
}

int
main(int argc, char **argv)
{
	unsigned int i;
	int ret;

	if (rte_eal_init(argc, argv) < 0) {
		fprintf(stderr, "EAL does not start, it said why; without a hugetlbfs it needs --no-huge -m 256\n");
		return 1;
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	if (rte_lcore_count() < 2) {
		fprintf(stderr, "1 lcore, want 2 or more: the main one only waits; try --lcores 0@0,1@0\n");
		rte_eal_cleanup();
		return 1;
	}
	ret = setup();
	if (ret == 0)
		run();
	/* the reverse of setup: ports before the buffers, which EAL frees */
	for (i = 0; i < num_ports; i++) {
		rte_eth_dev_stop(ports[i].id);
		rte_eth_dev_close(ports[i].id);
		printf("port %u: %" PRIu64 " received, %" PRIu64 " forwarded, %" PRIu64 " dropped\n", ports[i].id,
		       ports[i].rx, ports[i].tx, ports[i].dropped);
	}
	rte_eal_cleanup();
	return ret == 0 ? 0 : 1;
}
