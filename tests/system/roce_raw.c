/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A raw packet queue pair on the first port of a card in software, that lines on its standard input command, for
 * tests/system/test_roce_raw.py: roce_raw EAL-ARGUMENTS. Each command is answered by lines, the last of them "=".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "rte_pmd_mlx4.h"
#include "tp_roce.h"

#define PORT_NAME "net_mlx4_model0_p0"
#define BUFS 1024u
#define REQUESTS 64u
#define ROOM 2048u
#define RULES 8u

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static struct ibv_flow *flow[RULES];
static uint8_t *mem; /* REQUESTS places of received frames, and one of the frame that is sent */
static unsigned int flows;
static uint16_t port;

static int
want_frame(uint64_t place)
{
	struct ibv_sge sge = {.addr = (uintptr_t)mem + place * ROOM, .length = ROOM, .lkey = mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = place, .sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

/* Whether the card found the sums right, and the octets of the frame; the request is posted again. */
static void
show_frame(const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS) {
		printf("status %d\n", wc->status);
		return;
	}
	printf("%s ", (wc->wc_flags & IBV_WC_IP_CSUM_OK) != 0 ? "good" : "plain");
	for (uint32_t i = 0; i < wc->byte_len; i++)
		printf("%02x", mem[wc->wr_id * ROOM + i]);
	printf("\n");
	(void)want_frame(wc->wr_id);
}

static void
receive(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) == 1)
		show_frame(&wc);
}

/* Posts a frame and waits for its completion; frames that come meanwhile are shown. */
static void
send_frame(const char *hex, bool sums)
{
	struct ibv_sge sge = {.addr = (uintptr_t)mem + REQUESTS * ROOM, .lkey = mr->lkey};
	struct ibv_send_wr wr = {.wr_id = REQUESTS,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED | (sums ? IBV_SEND_IP_CSUM : 0)},
			   *bad;
	struct ibv_wc wc = {0};
	unsigned int octet;
	int err;

	for (; sge.length < ROOM && sscanf(hex, "%2x", &octet) == 1; hex += 2)
		mem[REQUESTS * ROOM + sge.length++] = (uint8_t)octet;
	err = ibv_post_send(qp, &wr, &bad);
	while (err == 0 && wc.wr_id != REQUESTS) {
		if (ibv_poll_cq(cq, 1, &wc) == 1 && wc.wr_id != REQUESTS)
			show_frame(&wc);
	}
	printf("%s %d\n", strerrorname_np(err), wc.status);
}

static void
add_rule(const char *mac, unsigned int etype)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} r = {.attr = {.size = sizeof(r), .num_of_specs = 1, .port = 1},
	       .eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof(r.eth)}};

	if (flows == RULES || rte_ether_unformat_addr(mac, (struct rte_ether_addr *)r.eth.val.dst_mac) != 0) {
		printf("EINVAL\n");
		return;
	}
	memset(r.eth.mask.dst_mac, 0xff, sizeof(r.eth.mask.dst_mac));
	r.eth.val.ether_type = rte_cpu_to_be_16((uint16_t)etype);
	r.eth.mask.ether_type = etype != 0 ? UINT16_MAX : 0;
	flow[flows] = tp_roce_create_flow(qp, &r.attr);
	printf("%s\n", flow[flows] == NULL ? strerrorname_np(errno) : "0");
	flows += flow[flows] != NULL;
}

static void
show_model(void)
{
	struct rte_pmd_mlx4_model m;

	if (rte_pmd_mlx4_model_get(port, &m) == 0)
		printf("%" PRIu64 " %s\n", m.violations, m.last_violation);
}

/* false: it was the last one */
static bool
command(char *line)
{
	char word[16] = "", mac[32] = "";
	unsigned int etype = 0;

	if (sscanf(line, "%15s", word) != 1)
		return true;
	if (strcmp(word, "quit") == 0)
		return false;
	if (sscanf(line, "rule %31s %x", mac, &etype) >= 1)
		add_rule(mac, etype);
	else if (strncmp(line, "send ", 5) == 0)
		send_frame(line + 5, false);
	else if (strncmp(line, "sums ", 5) == 0)
		send_frame(line + 5, true);
	else if (strcmp(word, "receive") == 0)
		receive();
	else if (strcmp(word, "model") == 0)
		show_model();
	else
		printf("? %s\n", line);
	printf("=\n");
	fflush(stdout);
	return true;
}

static bool
start_port(struct rte_mempool *pool)
{
	struct rte_eth_conf conf = {0};

	return rte_eth_dev_get_port_by_name(PORT_NAME, &port) == 0 && rte_eth_dev_configure(port, 1, 1, &conf) == 0 &&
	       rte_eth_rx_queue_setup(port, 0, 256, 0, NULL, pool) == 0 &&
	       rte_eth_tx_queue_setup(port, 0, 256, 0, NULL) == 0 && rte_eth_dev_start(port) == 0;
}

static bool
start_queue_pair(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap = {.max_send_wr = 16, .max_recv_wr = REQUESTS, .max_send_sge = 1, .max_recv_sge = 1}};
	static const enum ibv_qp_state steps[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};

	mem = rte_zmalloc("roce_raw", (REQUESTS + 1) * ROOM, 4096);
	ctx = tp_roce_open(port, NULL);
	if (mem == NULL || ctx == NULL)
		return false;
	pd = tp_roce_alloc_pd(ctx);
	mr = pd != NULL ? tp_roce_reg_mr(pd, mem, (REQUESTS + 1) * ROOM, IBV_ACCESS_LOCAL_WRITE) : NULL;
	cq = tp_roce_create_cq(ctx, 255, NULL, NULL, 0);
	if (mr == NULL || cq == NULL)
		return false;
	init.send_cq = init.recv_cq = cq;
	qp = tp_roce_create_qp(pd, &init);
	for (unsigned int i = 0; i < RTE_DIM(steps); i++) {
		struct ibv_qp_attr a = {.qp_state = steps[i], .port_num = 1};

		if (qp == NULL || tp_roce_modify_qp(qp, &a, IBV_QP_STATE | (i == 0 ? IBV_QP_PORT : 0)) != 0)
			return false;
	}
	for (uint64_t i = 0; i < REQUESTS; i++) {
		if (want_frame(i) != 0)
			return false;
	}
	return true;
}

/* false: something does not go */
static bool
stop(void)
{
	bool ok = true;

	while (flows != 0)
		ok &= tp_roce_destroy_flow(flow[--flows]) == 0;
	ok &= tp_roce_destroy_qp(qp) == 0;
	ok &= tp_roce_destroy_cq(cq) == 0;
	ok &= tp_roce_dereg_mr(mr) == 0;
	ok &= tp_roce_dealloc_pd(pd) == 0;
	return tp_roce_close_device(ctx) == 0 && ok;
}

int
main(int argc, char **argv)
{
	struct rte_mempool *pool;
	static char line[2 * ROOM + 64];
	bool ok;

	if (rte_eal_init(argc, argv) < 0)
		return 1;
	pool = rte_pktmbuf_pool_create("rx", BUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (pool == NULL || !start_port(pool) || !start_queue_pair())
		return 1;
	printf("=\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL && command(line))
		;
	ok = stop();
	(void)rte_eth_dev_stop(port);
	(void)rte_eth_dev_close(port);
	(void)rte_eal_cleanup();
	return ok ? 0 : 1;
}
