/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * bench_polled CASE RUN EAL...: what one core does with a card whose ports it polls; RUN is how the card is run. flowgen: frames of
 * 64 B (with FCS) of many flows from port 0, which port 1 sends back as they are, as io forwarding does. echo: one datagram of 64 B
 * at a time, whose addresses and UDP ports port 1 turns round. rc: SEND of 2 B there and back between two queue pairs, one on each
 * port. bench_polled list names the cases.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_malloc.h>
#include <rte_udp.h>

#include "tp_roce.h"

#define BURST 32
#define RING 512
#define UNDER_WAY 256u /* frames that flowgen leaves unanswered at most */
#define FRAME 60u
#define SECONDS 2.0
#define WAIT_S 10
#define PINGS 100000u
#define WARM 1000u
#define GID 3 /* IPv4, v2 */
#define LEN 2u
#define WRS 64u
#define HEAD (sizeof(struct rte_ether_hdr) + sizeof(struct rte_ipv4_hdr))

static struct rte_mempool *pool;
static uint64_t took[PINGS];

static int
start_port(uint16_t port)
{
	static const struct rte_eth_conf conf;
	int rc = rte_eth_dev_configure(port, 1, 1, &conf);

	if (rc == 0)
		rc = rte_eth_rx_queue_setup(port, 0, RING, SOCKET_ID_ANY, NULL, pool);
	if (rc == 0)
		rc = rte_eth_tx_queue_setup(port, 0, RING, SOCKET_ID_ANY, NULL);
	return rc == 0 ? rte_eth_dev_start(port) : rc;
}

/* A UDP datagram to the other port; its checksum is left out, as IPv4 allows. */
static struct rte_mbuf *
datagram(const struct rte_ether_addr *dst, const struct rte_ether_addr *src, uint16_t flow)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	struct rte_ether_hdr *eth;
	struct rte_ipv4_hdr *ip;
	struct rte_udp_hdr *udp;

	if (m == NULL)
		return NULL;
	m->data_len = FRAME;
	m->pkt_len = FRAME;
	eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	ip = (struct rte_ipv4_hdr *)(eth + 1);
	udp = (struct rte_udp_hdr *)(ip + 1);
	*eth = (struct rte_ether_hdr){.dst_addr = *dst, .src_addr = *src, .ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4)};
	*ip = (struct rte_ipv4_hdr){.version_ihl = RTE_IPV4_VHL_DEF,
				    .total_length = rte_cpu_to_be_16(FRAME - sizeof(*eth)),
				    .time_to_live = 64,
				    .next_proto_id = IPPROTO_UDP,
				    .src_addr = RTE_BE32(RTE_IPV4(198, 18, 0, 1)),
				    .dst_addr = RTE_BE32(RTE_IPV4(198, 18, 0, 2))};
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	*udp = (struct rte_udp_hdr){.src_port = rte_cpu_to_be_16((uint16_t)(1024 + (flow & 1023))),
				    .dst_port = RTE_BE16(9),
				    .dgram_len = rte_cpu_to_be_16(FRAME - HEAD)};
	return m;
}

static int
bench_flowgen(void)
{
	struct rte_mbuf *out[BURST], *in[BURST];
	uint64_t sent = 0, back = 0, first = 0, begun = 0, t = rte_rdtsc_precise(), hz = rte_get_tsc_hz();
	uint64_t warm = t + hz / 5, end = t + (uint64_t)((double)hz * SECONDS);
	struct rte_ether_addr mac[2];
	uint16_t i, n, k;

	rte_eth_macaddr_get(0, &mac[0]);
	rte_eth_macaddr_get(1, &mac[1]);
	while (t < end) {
		if (sent - back <= UNDER_WAY - BURST) {
			for (i = 0; i < BURST; i++) {
				out[i] = datagram(&mac[1], &mac[0], (uint16_t)(sent + i));
				if (out[i] == NULL)
					return -ENOMEM;
			}
			n = rte_eth_tx_burst(0, 0, out, BURST);
			sent += n;
			rte_pktmbuf_free_bulk(&out[n], (unsigned int)(BURST - n));
		}
		n = rte_eth_rx_burst(1, 0, in, BURST);
		for (i = 0; i < n; i++) /* else the card has no reason to give it to port 0 */
			rte_pktmbuf_mtod(in[i], struct rte_ether_hdr *)->dst_addr = mac[0];
		k = n == 0 ? 0 : rte_eth_tx_burst(1, 0, in, n);
		if (k < n)
			return -EIO;
		n = rte_eth_rx_burst(0, 0, in, BURST);
		back += n;
		rte_pktmbuf_free_bulk(in, n);
		t = rte_rdtsc();
		if (begun == 0 && t >= warm) {
			begun = t;
			first = back;
		}
	}
	printf("polled flowgen %.3f Mpps\n", (double)(back - first) * (double)hz / 1e6 / (double)(t - begun));
	return 0;
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* One way is half of there and back. */
static void
print_times(const char *name)
{
	const double us = 1e6 / (double)rte_get_tsc_hz() / 2;

	qsort(took, PINGS, sizeof(took[0]), compare);
	printf("polled %s %.3f p50_us %.3f p99_us\n", name, (double)took[PINGS / 2] * us,
	       (double)took[PINGS / 100 * 99] * us);
}

static int
one_frame(uint16_t port, struct rte_mbuf **m)
{
	uint64_t end = rte_rdtsc() + WAIT_S * rte_get_tsc_hz();

	while (rte_eth_rx_burst(port, 0, m, 1) == 0)
		if (rte_rdtsc() > end)
			return -ETIMEDOUT;
	return 0;
}

static void
turn_round(struct rte_mbuf *m)
{
	struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(eth + 1);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);
	struct rte_ether_addr mac = eth->dst_addr;
	rte_be32_t addr = ip->dst_addr;
	rte_be16_t port = udp->dst_port;

	eth->dst_addr = eth->src_addr;
	eth->src_addr = mac;
	ip->dst_addr = ip->src_addr;
	ip->src_addr = addr;
	udp->dst_port = udp->src_port;
	udp->src_port = port;
}

static int
bench_echo(void)
{
	struct rte_ether_addr mac[2];
	struct rte_mbuf *m;
	uint64_t t;
	uint32_t i;
	int rc;

	rte_eth_macaddr_get(0, &mac[0]);
	rte_eth_macaddr_get(1, &mac[1]);
	for (i = 0; i < WARM + PINGS; i++) {
		m = datagram(&mac[1], &mac[0], (uint16_t)i);
		if (m == NULL)
			return -ENOMEM;
		t = rte_rdtsc();
		if (rte_eth_tx_burst(0, 0, &m, 1) != 1)
			return -EIO;
		rc = one_frame(1, &m);
		if (rc != 0)
			return rc;
		turn_round(m);
		if (rte_eth_tx_burst(1, 0, &m, 1) != 1)
			return -EIO;
		rc = one_frame(0, &m);
		if (rc != 0)
			return rc;
		if (i >= WARM)
			took[i - WARM] = rte_rdtsc() - t;
		rte_pktmbuf_free(m);
	}
	print_times("echo");
	return 0;
}

/* --- RC ---------------------------------------------------------------------------------------------------- */

struct end {
	struct ibv_context *ctx;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *mem;
	union ibv_gid gid;
};

static int
open_end(struct end *e, uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(RTE_IPV4(192, 0, 2, 1 + port))};
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = WRS,
						.max_recv_wr = WRS,
						.max_send_sge = 1,
						.max_recv_sge = 1,
						.max_inline_data = LEN}};
	struct ibv_pd *pd;

	e->ctx = tp_roce_open(port, NULL);
	if (e->ctx == NULL || tp_roce_addr_add(e->ctx, (struct sockaddr *)&a, 24, TP_ROCE_NO_VLAN) != 0 ||
	    tp_roce_query_gid(e->ctx, 1, GID, &e->gid) != 0)
		return -EIO;
	pd = tp_roce_alloc_pd(e->ctx);
	e->mem = rte_zmalloc(NULL, 4096, 0);
	if (pd == NULL || e->mem == NULL)
		return -ENOMEM;
	e->mr = tp_roce_reg_mr(pd, e->mem, 4096, IBV_ACCESS_LOCAL_WRITE);
	e->cq = init.send_cq = init.recv_cq = tp_roce_create_cq(e->ctx, 2 * WRS, NULL, NULL, 0);
	e->qp = tp_roce_create_qp(pd, &init);
	return e->mr == NULL || e->qp == NULL ? -ENOMEM : 0;
}

static int
connect_end(struct end *e, const struct end *to)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.ah_attr = {.is_global = 1,
					    .port_num = 1,
					    .grh = {.sgid_index = GID, .hop_limit = 64, .dgid = to->gid}},
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = to->qp->qp_num,
				.timeout = 18,
				.retry_cnt = 7,
				.rnr_retry = 7,
				.max_dest_rd_atomic = 1,
				.max_rd_atomic = 1};
	int rc = tp_roce_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	a.qp_state = IBV_QPS_RTR;
	if (rc == 0)
		rc = tp_roce_modify_qp(e->qp, &a,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	a.qp_state = IBV_QPS_RTS;
	if (rc == 0)
		rc = tp_roce_modify_qp(e->qp, &a,
				       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	return -rc;
}

static int
post_recv(struct end *e)
{
	struct ibv_sge sge = {.addr = (uintptr_t)e->mem + 1024, .length = LEN, .lkey = e->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	return -ibv_post_recv(e->qp, &wr, &bad);
}

static int
post_send(struct end *e)
{
	struct ibv_sge sge = {.addr = (uintptr_t)e->mem, .length = LEN, .lkey = e->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED},
			   *bad;

	return -ibv_post_send(e->qp, &wr, &bad);
}

/* Until a message came; completions of sends are taken on the way. */
static int
await(struct end *e)
{
	uint64_t end = rte_rdtsc() + WAIT_S * rte_get_tsc_hz();
	struct ibv_wc wc;
	int n;

	for (;;) {
		n = ibv_poll_cq(e->cq, 1, &wc);
		if (n < 0 || (n > 0 && wc.status != IBV_WC_SUCCESS))
			return -EIO;
		if (n > 0 && wc.opcode == IBV_WC_RECV)
			return post_recv(e);
		if (n == 0 && rte_rdtsc() > end)
			return -ETIMEDOUT;
	}
}

static int
bench_rc(void)
{
	struct end e[2];
	uint64_t t;
	uint32_t i;
	int rc = open_end(&e[0], 0);

	if (rc == 0)
		rc = open_end(&e[1], 1);
	if (rc == 0)
		rc = connect_end(&e[0], &e[1]);
	if (rc == 0)
		rc = connect_end(&e[1], &e[0]);
	for (i = 0; i < WRS && rc == 0; i++)
		rc = post_recv(&e[i % 2]);
	for (i = 0; i < WARM + PINGS && rc == 0; i++) {
		t = rte_rdtsc();
		rc = post_send(&e[0]);
		if (rc == 0)
			rc = await(&e[1]);
		if (rc == 0)
			rc = post_send(&e[1]);
		if (rc == 0)
			rc = await(&e[0]);
		if (i >= WARM)
			took[i - WARM] = rte_rdtsc() - t;
	}
	if (rc == 0)
		print_times("rc");
	return rc;
}

static const struct bench_case {
	const char *name;
	int (*run)(void);
} cases[] = {{"flowgen", bench_flowgen}, {"echo", bench_echo}, {"rc", bench_rc}};

int
main(int argc, char **argv)
{
	const struct bench_case *c = NULL;
	char dev[128];
	unsigned int i;
	int rc;

	for (i = 0; i < RTE_DIM(cases); i++) {
		if (argc > 1 && strcmp(argv[1], "list") == 0)
			printf("%s\n", cases[i].name);
		else if (argc > 1 && strcmp(argv[1], cases[i].name) == 0)
			c = &cases[i];
	}
	if (c == NULL || argc < 3)
		return argc > 1 && strcmp(argv[1], "list") == 0 ? 0 : 1;
	snprintf(dev, sizeof(dev), "wire0=cross,run=%s", argv[2]);
	argv[2] = argv[0];
	if (rte_eal_init(argc - 2, argv + 2) < 0) {
		fprintf(stderr, "rte_eal_init failed: %s\n", rte_strerror(rte_errno));
		return 1;
	}
	pool = rte_pktmbuf_pool_create("polled", 4095, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	rc = pool == NULL ? -rte_errno : rte_eal_hotplug_add("vdev", "net_mlx4_model0", dev);
	for (i = 0; i < 2 && rc == 0; i++)
		rc = start_port((uint16_t)i);
	if (rc == 0)
		rc = c->run();
	if (rc != 0)
		fprintf(stderr, "%s: %s\n", c->name, strerror(-rc));
	rte_eal_cleanup();
	return rc == 0 ? 0 : 1;
}
