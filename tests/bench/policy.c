/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * bench_policy CASE [BURSTS]: bursts of 32 UDP frames of 64 B from port 0 of a model card to port 1, with a policy on. The
 * instructions of bench_tx or bench_rx are counted from outside (callgrind --toggle-collect); the card is stepped in
 * between. bench_policy list names the cases and what to count.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "drivers/mlx4/port/port.h"
#include "rte_pmd_mlx4_group.h"
#include "rte_pmd_mlx4_qos.h"
#include "tp_model.h"

#define BURST 32
#define QUEUES 2
#define DESC 512
#define FRAME 60 /* 64 with FCS */
#define WORDS 4
#define ADDRESS "02:aa:00:00:00:01"

struct policy {
	const char *name;
	bool rx;                /* what is counted */
	uint8_t prio;           /* of the sending queue */
	bool off;               /* it is taken off again */
	const char *qos[WORDS]; /* words of the port that is counted */
	const char *group[WORDS];
};

static const struct policy policies[] = {
	{.name = "tx-none"},
	{.name = "tx-off-again", .prio = 3, .off = true, .qos = {"mark-dscp=on", "rule=udp:4791:5"}},
	{.name = "tx-classes-pfc", .qos = {"prio-tc=0,0,0,1,0,0,0,0", "tc-bw=40,60", "pfc=3"}},
	{.name = "tx-priority-tag", .prio = 3},
	{.name = "tx-priority-untagged", .prio = 3, .qos = {"tx-untag-priority=on"}},
	{.name = "tx-dscp-mark", .qos = {"mark-dscp=on"}},
	{.name = "tx-rule", .qos = {"rule=udp:4791:0:26", "mark-dscp=on"}},
	{.name = "tx-lifetime", .qos = {"prio-tc=0,1,1,1,1,1,1,1", "pfc=0", "hol-lifetime=1000000"}},
	{.name = "tx-antispoof-mac", .group = {"antispoof-mac=on"}},
	{.name = "tx-antispoof-type", .group = {"antispoof-type=on"}},
	{.name = "tx-antispoof-both", .group = {"antispoof-mac=on", "antispoof-type=on"}},
	{.name = "rx-none", .rx = true},
	{.name = "rx-group-dropless",
	 .rx = true,
	 .qos = {"pfc=all", "trust=dscp"},
	 .group = {"dropless=forever", "flood=off"}},
};

static struct rte_mempool *pool;

__attribute__((noinline)) static uint16_t
bench_tx(struct rte_mbuf **m)
{
	return rte_eth_tx_burst(0, 1, m, BURST);
}

__attribute__((noinline)) static uint16_t
bench_rx(uint16_t queue, struct rte_mbuf **m)
{
	return rte_eth_rx_burst(1, queue, m, BURST);
}

static int
refused(const char *err)
{
	fprintf(stderr, "%s\n", err);
	return -EINVAL;
}

static int
set_qos(const struct policy *p, bool on)
{
	char err[TP_ERR_LEN] = "";
	struct tp_qos_port q;
	unsigned int i;

	tp_qos_port_default(&q);
	for (i = 0; on && i < WORDS && p->qos[i] != NULL; i++)
		if (tp_qos_port_word(&q, p->qos[i], err) != 0)
			return refused(err);
	if (rte_pmd_mlx4_qos_set(p->rx ? 1 : 0, &q, err) != 0 ||
	    rte_pmd_mlx4_txq_prio_set(0, 1, on ? p->prio : 0, err) != 0)
		return refused(err);
	return 0;
}

/* Queue 1 in a group of its own. */
static int
add_group(const struct policy *p)
{
	static const char *const who[] = {"mac=" ADDRESS, "queues=1"};
	char err[TP_ERR_LEN] = "";
	struct tp_group g;
	unsigned int i;

	if (p->group[0] == NULL)
		return 0;
	tp_group_default(&g);
	snprintf(g.name, sizeof(g.name), "bench");
	for (i = 0; i < RTE_DIM(who); i++)
		if (tp_group_word(&g, who[i], err) != 0)
			return refused(err);
	for (i = 0; i < WORDS && p->group[i] != NULL; i++)
		if (tp_group_word(&g, p->group[i], err) != 0)
			return refused(err);
	return rte_pmd_mlx4_group_add(p->rx ? 1 : 0, &g, err) < 0 ? refused(err) : 0;
}

static int
start(uint16_t port, uint16_t queues)
{
	static const struct rte_eth_conf conf;
	uint16_t q;
	int rc = rte_eth_dev_configure(port, queues, QUEUES, &conf);

	for (q = 0; rc == 0 && q < queues; q++)
		rc = rte_eth_rx_queue_setup(port, q, DESC, SOCKET_ID_ANY, NULL, pool);
	for (q = 0; rc == 0 && q < QUEUES; q++)
		rc = rte_eth_tx_queue_setup(port, q, DESC, SOCKET_ID_ANY, NULL);
	return rc == 0 ? rte_eth_dev_start(port) : rc;
}

static void
fill(struct rte_mbuf *m)
{
	struct rte_ether_hdr *h = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(h + 1);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);

	m->data_len = FRAME;
	m->pkt_len = FRAME;
	memset(h, 0, FRAME);
	rte_ether_unformat_addr(ADDRESS, &h->dst_addr);
	rte_ether_unformat_addr(ADDRESS, &h->src_addr);
	h->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = RTE_BE16(FRAME - sizeof(*h));
	ip->time_to_live = 64;
	ip->next_proto_id = IPPROTO_UDP;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	udp->dst_port = RTE_BE16(4791);
	udp->dgram_len = RTE_BE16(FRAME - sizeof(*h) - sizeof(*ip));
}

static struct tp_model *
model(void)
{
	struct mlx4_eth *eth = rte_eth_devices[0].data->dev_private;

	return eth->hca->bus->ops->model(eth->hca->bus);
}

static int
run(const struct policy *p, unsigned int bursts)
{
	uint16_t queue = p->rx && p->group[0] != NULL ? 1 : 0, n;
	struct rte_mbuf *m[BURST];
	unsigned int b, i;

	/* A queue whose rings were replaced takes the new ones when it is polled. */
	for (i = 0; i < QUEUES; i++)
		rte_eth_rx_burst(1, queue, m, BURST);
	for (b = 0; b < bursts; b++) {
		if (rte_pktmbuf_alloc_bulk(pool, m, BURST) != 0)
			return -ENOMEM;
		for (i = 0; i < BURST; i++)
			fill(m[i]);
		n = bench_tx(m);
		while (tp_model_step(model(), 2 * BURST) != 0)
			continue;
		if (n != BURST || (n = bench_rx(queue, m)) != BURST) {
			fprintf(stderr, "burst %u: %u packets, wanted %u\n", b, n, BURST);
			return -EIO;
		}
		rte_pktmbuf_free_bulk(m, n);
	}
	printf("%s packets %u\n", p->name, bursts * BURST);
	return 0;
}

static int
bench(const struct policy *p, unsigned int bursts)
{
	int rc = rte_eal_hotplug_add("vdev", "net_mlx4_model0", "run=step,wire0=cross");

	pool = rte_pktmbuf_pool_create("bench", 8191, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (rc == 0)
		rc = pool == NULL ? -ENOMEM : start(0, QUEUES);
	if (rc == 0)
		rc = start(1, p->rx && p->group[0] != NULL ? 2 : 1);
	if (rc == 0)
		rc = rte_eth_promiscuous_enable(1);
	if (rc == 0)
		rc = set_qos(p, true);
	if (rc == 0 && p->off)
		rc = set_qos(p, false);
	if (rc == 0)
		rc = add_group(p);
	return rc == 0 ? run(p, bursts) : rc;
}

int
main(int argc, char **argv)
{
	static char arg[][24] = {"bench",    "--no-huge",         "-m", "256", "--no-shconf", "--no-telemetry",
				 "--no-pci", "--log-level=error", "-l", "0"};
	unsigned int i, bursts = argc > 2 ? (unsigned int)atoi(argv[2]) : 256;
	char *eal[RTE_DIM(arg)];
	int rc = -EINVAL;

	if (argc > 1 && strcmp(argv[1], "list") == 0) {
		for (i = 0; i < RTE_DIM(policies); i++)
			printf("%s %s\n", policies[i].name, policies[i].rx ? "bench_rx" : "bench_tx");
		return 0;
	}
	for (i = 0; i < RTE_DIM(arg); i++)
		eal[i] = arg[i];
	if (rte_eal_init(RTE_DIM(eal), eal) < 0) {
		fprintf(stderr, "rte_eal_init failed: %s\n", rte_strerror(rte_errno));
		return 1;
	}
	for (i = 0; i < RTE_DIM(policies); i++)
		if (argc > 1 && strcmp(argv[1], policies[i].name) == 0)
			rc = bench(&policies[i], bursts);
	if (rc != 0)
		fprintf(stderr, "%s: %s\n", argc > 1 ? argv[1] : "no case", strerror(-rc));
	return rc == 0 ? 0 : 1;
}
