/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * bench_card EAL... -- bringup|wake [ROUNDS]: times what an application waits for. bringup: probe of a model card, then
 * configure and start of both ports, again and again. wake: how long a frame needs through a card that was idle, from
 * one port to the other, and right behind another frame.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_bus.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>

#define DEV "net_mlx4_model0"
#define IDLE_US 200000
#define WAIT_S 2

static struct rte_mempool *pool;

static double
ms_since(uint64_t t)
{
	return (double)(rte_rdtsc_precise() - t) * 1e3 / (double)rte_get_tsc_hz();
}

static int
start_port(uint16_t port)
{
	struct rte_eth_conf conf;
	int rc;

	memset(&conf, 0, sizeof(conf));
	rc = rte_eth_dev_configure(port, 1, 1, &conf);
	if (rc == 0)
		rc = rte_eth_rx_queue_setup(port, 0, 512, SOCKET_ID_ANY, NULL, pool);
	if (rc == 0)
		rc = rte_eth_tx_queue_setup(port, 0, 512, SOCKET_ID_ANY, NULL);
	if (rc == 0)
		rc = rte_eth_dev_start(port);
	return rc;
}

static int
bring_up(double *probe_ms, double *start_ms)
{
	uint64_t t = rte_rdtsc_precise();
	uint16_t port;
	int rc = rte_eal_hotplug_add("vdev", DEV, "wire0=cross");

	if (rc != 0)
		return rc;
	*probe_ms = ms_since(t);
	t = rte_rdtsc_precise();
	RTE_ETH_FOREACH_DEV(port)
	{
		rc = start_port(port);
		if (rc != 0)
			return rc;
	}
	*start_ms = ms_since(t);
	return rte_eth_dev_count_avail() == 2 ? 0 : -ENODEV;
}

static int
bench_bringup(unsigned int rounds)
{
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		double probe, start;
		uint64_t t;
		int rc = bring_up(&probe, &start);

		if (rc != 0)
			return rc;
		t = rte_rdtsc_precise();
		rc = rte_eal_hotplug_remove("vdev", DEV);
		if (rc != 0)
			return rc;
		printf("bringup probe_ms %.3f start_ms %.3f close_ms %.3f\n", probe, start, ms_since(t));
	}
	return 0;
}

/* One frame from port 0 to port 1; microseconds or negative errno. */
static double
one_frame(void)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool), *got;
	uint64_t t, limit = rte_get_tsc_hz() * WAIT_S;
	uint8_t *p;

	if (m == NULL)
		return -ENOMEM;
	p = (uint8_t *)rte_pktmbuf_append(m, RTE_ETHER_MIN_LEN);
	memset(p, 0xff, RTE_ETHER_ADDR_LEN);
	memset(p + RTE_ETHER_ADDR_LEN, 2, RTE_ETHER_MIN_LEN - RTE_ETHER_ADDR_LEN);
	t = rte_rdtsc_precise();
	if (rte_eth_tx_burst(0, 0, &m, 1) != 1)
		return -EAGAIN;
	while (rte_eth_rx_burst(1, 0, &got, 1) == 0)
		if (rte_rdtsc() - t > limit)
			return -ETIMEDOUT;
	t = rte_rdtsc_precise() - t;
	rte_pktmbuf_free(got);
	return (double)t * 1e6 / (double)rte_get_tsc_hz();
}

static int
bench_wake(unsigned int rounds)
{
	double probe, start;
	unsigned int i;
	int rc = bring_up(&probe, &start);

	if (rc != 0)
		return rc;
	for (i = 0; i < rounds; i++) {
		double idle, busy;

		usleep(IDLE_US);
		idle = one_frame();
		busy = one_frame();
		if (idle < 0 || busy < 0)
			return (int)RTE_MIN(idle, busy);
		printf("wake idle_us %.2f busy_us %.2f\n", idle, busy);
	}
	return rte_eal_hotplug_remove("vdev", DEV);
}

int
main(int argc, char **argv)
{
	int n = rte_eal_init(argc, argv), rc = -EINVAL;
	unsigned int rounds;

	if (n < 0) {
		fprintf(stderr, "rte_eal_init: %s\n", rte_strerror(rte_errno));
		return 1;
	}
	argc -= n;
	argv += n;
	rounds = argc > 2 ? (unsigned int)atoi(argv[2]) : 5;
	pool = rte_pktmbuf_pool_create("card", 8191, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (pool == NULL)
		rc = -rte_errno;
	else if (argc > 1 && strcmp(argv[1], "bringup") == 0)
		rc = bench_bringup(rounds);
	else if (argc > 1 && strcmp(argv[1], "wake") == 0)
		rc = bench_wake(rounds);
	else
		fprintf(stderr, "usage: bench_card EAL... -- bringup|wake [ROUNDS]\n");
	if (rc != 0)
		fprintf(stderr, "bench_card: %s\n", strerror(-rc));
	rte_eal_cleanup();
	return rc == 0 ? 0 : 1;
}
