/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * bench_lines [ROUNDS]: io forwarding of 64 frames of 60 octets, without FCS, between the two ports of a stepped card. It is run
 * under a tool that writes down each access to memory. A store to one of three words at an address that the tool's reader knows
 * says who works from then on, so that it can count the lines that an lcore and a card on two cores would pass to each other.
 * Prints what is where.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "drivers/mlx4/port/port.h"
#include "drivers/mlx4/rx/queue.h"
#include "drivers/mlx4/tx/queue.h"
#include "tp_model.h"

#define PORTS 2
#define BURST 32
#define FRAMES 64u
#define DESC 256
#define FRAME 60
#define WARM 16u /* rounds, so that each ring went round */

/* Words of the page that says who works. */
enum side { NOBODY, LCORE, CARD };
#define SIDES ((void *)UINT64_C(0x10000000000))

static volatile uint64_t *sides;
static struct rte_mempool *pool;
static struct tp_model *model;

static void
region(const char *name, const volatile void *at, size_t len)
{
	printf("region %s %" PRIxPTR " %zu\n", name, (uintptr_t)at, len);
}

static void
mbuf_is(struct rte_mempool *mp, void *arg, void *obj, unsigned int i)
{
	const struct rte_mbuf *m = obj;

	(void)mp;
	(void)arg;
	(void)i;
	region("mbuf", m, sizeof(*m));
	region("data", m->buf_addr, m->buf_len);
}

static void
queues_are(uint16_t port)
{
	const struct rte_eth_dev_data *d = rte_eth_devices[port].data;
	const struct mlx4_txq *t = d->tx_queues[0];
	const struct mlx4_rxq *r = d->rx_queues[0];
	const struct mlx4_rx_ring *g = r->set->ring;

	region("send_wqe", t->sq, (size_t)(t->sq_mask + 1) << MLX4_LG_TXBB);
	region("send_cqe", t->cqes, (t->cq_mask + 1) * sizeof(*t->cqes));
	region("send_cq_index", t->cq_dbrec, sizeof(*t->cq_dbrec));
	region("receive_wqe", g->wqes, (g->mask + 1u) * sizeof(*g->wqes));
	region("receive_index", g->dbrec, sizeof(*g->dbrec));
	region("receive_cqe", r->set->cqes, (r->set->cq_mask + 1) * sizeof(*r->set->cqes));
	region("receive_cq_index", r->set->cq_dbrec, sizeof(*r->set->cq_dbrec));
}

static int
start(uint16_t port)
{
	static const struct rte_eth_conf conf;
	int rc = rte_eth_dev_configure(port, 1, 1, &conf);

	if (rc == 0)
		rc = rte_eth_rx_queue_setup(port, 0, DESC, SOCKET_ID_ANY, NULL, pool);
	if (rc == 0)
		rc = rte_eth_tx_queue_setup(port, 0, DESC, SOCKET_ID_ANY, NULL);
	if (rc == 0)
		rc = rte_eth_dev_start(port);
	return rc == 0 ? rte_eth_promiscuous_enable(port) : rc;
}

static void
fill(struct rte_mbuf *m, uint16_t n)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);

	m->data_len = FRAME;
	m->pkt_len = FRAME;
	memset(eth, 0, FRAME);
	rte_ether_unformat_addr("02:aa:00:00:00:01", &eth->dst_addr);
	rte_ether_unformat_addr("02:aa:00:00:00:02", &eth->src_addr);
	eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = RTE_BE16(FRAME - sizeof(*eth));
	ip->time_to_live = 64;
	ip->next_proto_id = IPPROTO_UDP;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	udp->src_port = rte_cpu_to_be_16((uint16_t)(1024 + n));
	udp->dst_port = RTE_BE16(9);
	udp->dgram_len = RTE_BE16(FRAME - sizeof(*eth) - sizeof(*ip));
}

/* Each port's frames to the other one. Returns how many. */
static uint32_t
forward(void)
{
	struct rte_mbuf *m[BURST];
	uint32_t all = 0, before;
	uint16_t port, n;

	do {
		before = all;
		for (port = 0; port < PORTS; port++) {
			n = rte_eth_rx_burst(port, 0, m, BURST);
			all += n;
			if (n != 0 && rte_eth_tx_burst(port ^ 1, 0, m, n) != n)
				return 0;
		}
	} while (all != before);
	return all;
}

static void
card(void)
{
	while (tp_model_step(model, 2 * BURST) != 0)
		continue;
}

static int
run(uint32_t rounds)
{
	struct rte_mbuf *m[FRAMES];
	uint32_t i, all = 0, n;

	if (rte_pktmbuf_alloc_bulk(pool, m, FRAMES) != 0)
		return -ENOMEM;
	for (i = 0; i < FRAMES; i++)
		fill(m[i], (uint16_t)i);
	if (rte_eth_tx_burst(0, 0, m, FRAMES) != FRAMES)
		return -EIO;
	for (i = 0; i < WARM + rounds; i++) {
		sides[i >= WARM ? CARD : NOBODY] = i;
		card();
		sides[i >= WARM ? LCORE : NOBODY] = i;
		n = forward();
		sides[NOBODY] = i;
		if (n != FRAMES)
			return -EIO;
		all += i >= WARM ? n : 0;
	}
	printf("packets %u\n", all);
	return 0;
}

int
main(int argc, char **argv)
{
	static char arg[][24] = {"bench",    "--no-huge",         "-m", "128", "--no-shconf", "--no-telemetry",
				 "--no-pci", "--log-level=error", "-l", "0"};
	char *eal[RTE_DIM(arg)];
	struct mlx4_eth *eth;
	uint16_t i;
	int rc;

	sides = mmap(SIDES, MLX4_UAR_PAGE_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (sides != SIDES) {
		fprintf(stderr, "bench_lines: %p is not free\n", SIDES);
		return 1;
	}
	for (i = 0; i < RTE_DIM(arg); i++)
		eal[i] = arg[i];
	if (rte_eal_init(RTE_DIM(eal), eal) < 0) {
		fprintf(stderr, "rte_eal_init failed: %s\n", rte_strerror(rte_errno));
		return 1;
	}
	rc = rte_eal_hotplug_add("vdev", "net_mlx4_model0", "run=step,wire0=cross");
	pool = rte_pktmbuf_pool_create("bench", 1023, 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (rc == 0 && pool == NULL)
		rc = -rte_errno;
	for (i = 0; rc == 0 && i < PORTS; i++)
		rc = start(i);
	if (rc == 0) {
		eth = rte_eth_devices[0].data->dev_private;
		model = eth->hca->bus->ops->model(eth->hca->bus);
		region("doorbell", eth->hca->bus->uar, 2u * eth->hca->caps.num_uars * (size_t)MLX4_UAR_PAGE_SIZE);
		rte_mempool_obj_iter(pool, mbuf_is, NULL);
		for (i = 0; i < PORTS; i++)
			queues_are(i);
		fflush(stdout);
		rc = run(argc > 1 ? (uint32_t)atoi(argv[1]) : 64);
	}
	if (rc != 0)
		fprintf(stderr, "bench_lines: %s\n", strerror(-rc));
	return rc == 0 ? 0 : 1;
}
