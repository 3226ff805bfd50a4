/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * bench_verbs CASE [ROUNDS]: work requests of 64 B between two queue pairs of one port of a model card. The instructions of a
 * function of the provider, or of bench_poll_send and bench_poll_recv around it, are counted from outside (callgrind
 * --toggle-collect); the card is stepped in between. bench_verbs list names the cases and what to count.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "drivers/mlx4/port/port.h"
#include "tp_model.h"
#include "tp_roce.h"

#define BATCH_MAX 16
#define LEN 64
#define WRS 128
#define GID 3 /* IPv4, v2 */
#define QKEY 0x11111111u

static const struct bench_case {
	const char *name, *count;
	enum ibv_qp_type type;
	enum ibv_wr_opcode op;
	unsigned int flags, batch; /* batch: requests in a call, completions in a poll */
	bool bf;
} cases[] = {
	{"send-inline", "mlx4_roce_post_send", IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_INLINE, 1, false},
	{"send-inline-blueflame", "mlx4_roce_post_send", IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_INLINE, 1, true},
	{"send-inline-batch", "mlx4_roce_post_send", IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_INLINE, BATCH_MAX, false},
	{"send", "mlx4_roce_post_send", IBV_QPT_RC, IBV_WR_SEND, 0, 1, false},
	{"send-batch", "mlx4_roce_post_send", IBV_QPT_RC, IBV_WR_SEND, 0, BATCH_MAX, false},
	{"write-inline", "mlx4_roce_post_send", IBV_QPT_RC, IBV_WR_RDMA_WRITE, IBV_SEND_INLINE, 1, false},
	{"read", "mlx4_roce_post_send", IBV_QPT_RC, IBV_WR_RDMA_READ, 0, 1, false},
	{"ud-send-inline", "mlx4_roce_post_send", IBV_QPT_UD, IBV_WR_SEND, IBV_SEND_INLINE, 1, false},
	{"recv", "mlx4_roce_post_recv", IBV_QPT_RC, IBV_WR_SEND, 0, 1, false},
	{"recv-batch", "mlx4_roce_post_recv", IBV_QPT_RC, IBV_WR_SEND, 0, BATCH_MAX, false},
	{"poll", "mlx4_roce_poll_cq", IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_INLINE, 1, false},
	{"poll-batch", "mlx4_roce_poll_cq", IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_INLINE, BATCH_MAX, false},
	{"poll-send", "bench_poll_send", IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_INLINE, 1, false},
	{"poll-send-batch", "bench_poll_send", IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_INLINE, BATCH_MAX, false},
	{"poll-recv", "bench_poll_recv", IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_INLINE, 1, false},
	{"poll-recv-batch", "bench_poll_recv", IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_INLINE, BATCH_MAX, false},
	{"poll-recv-ud", "bench_poll_recv", IBV_QPT_UD, IBV_WR_SEND, IBV_SEND_INLINE, 1, false},
};

struct end {
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_ah *ah;
static struct ibv_ah_attr to_self = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = GID, .hop_limit = 64}};
static uint8_t *mem;

__attribute__((noinline)) static int
bench_poll_send(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	return ibv_poll_cq(cq, n, wc);
}

__attribute__((noinline)) static int
bench_poll_recv(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	__asm__ volatile(""); /* not one function with the other */
	return ibv_poll_cq(cq, n, wc);
}

static int
start_port(void)
{
	static const struct rte_eth_conf conf;
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(RTE_IPV4(192, 0, 2, 1))};
	struct rte_mempool *pool =
		rte_pktmbuf_pool_create("bench", 2047, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	int rc = pool == NULL ? -ENOMEM : rte_eth_dev_configure(0, 1, 1, &conf);

	if (rc == 0)
		rc = rte_eth_rx_queue_setup(0, 0, 256, SOCKET_ID_ANY, NULL, pool);
	if (rc == 0)
		rc = rte_eth_tx_queue_setup(0, 0, 256, SOCKET_ID_ANY, NULL);
	if (rc == 0)
		rc = rte_eth_dev_start(0);
	if (rc != 0)
		return rc;
	ctx = tp_roce_open(0, NULL);
	if (ctx == NULL || tp_roce_addr_add(ctx, (struct sockaddr *)&a, 24, TP_ROCE_NO_VLAN) != 0)
		return -errno;
	pd = tp_roce_alloc_pd(ctx);
	mem = rte_zmalloc(NULL, 4096, 0);
	mr = pd == NULL || mem == NULL
		     ? NULL
		     : tp_roce_reg_mr(pd, mem, 4096,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	rc = tp_roce_query_gid(ctx, 1, GID, &to_self.grh.dgid);
	ah = rc == 0 && pd != NULL ? tp_roce_create_ah(pd, &to_self) : NULL;
	return mr == NULL || ah == NULL ? -ENOMEM : 0;
}

static int
make_end(const struct bench_case *c, struct end *e)
{
	struct ibv_qp_init_attr init = {.qp_type = c->type,
					.cap = {.max_send_wr = WRS,
						.max_recv_wr = WRS,
						.max_send_sge = 1,
						.max_recv_sge = 1,
						.max_inline_data = LEN}};

	e->scq = init.send_cq = tp_roce_create_cq(ctx, WRS, NULL, NULL, 0);
	e->rcq = init.recv_cq = tp_roce_create_cq(ctx, WRS, NULL, NULL, 0);
	e->qp = tp_roce_create_qp(pd, &init);
	return e->qp == NULL ? -ENOMEM : 0;
}

static int
connect_end(const struct bench_case *c, struct end *e, const struct end *peer)
{
	bool ud = c->type == IBV_QPT_UD;
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qkey = QKEY,
				.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
				.ah_attr = to_self,
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = peer->qp->qp_num,
				.max_dest_rd_atomic = 1,
				.max_rd_atomic = 1};
	int rc = tp_roce_modify_qp(
		e->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));

	a.qp_state = IBV_QPS_RTR;
	if (rc == 0)
		rc = tp_roce_modify_qp(e->qp, &a,
				       ud ? IBV_QP_STATE
					  : IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
						       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
						       IBV_QP_MIN_RNR_TIMER);
	a.qp_state = IBV_QPS_RTS;
	if (rc == 0)
		rc = tp_roce_modify_qp(
			e->qp, &a,
			IBV_QP_STATE | IBV_QP_SQ_PSN |
				(ud ? 0
				    : IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
	return -rc;
}

static int
poll_all(struct ibv_cq *cq, unsigned int n, struct ibv_wc *wc, int (*poll)(struct ibv_cq *, int, struct ibv_wc *))
{
	unsigned int i;

	if (poll(cq, (int)n, wc) != (int)n)
		return -EIO;
	for (i = 0; i < n; i++)
		if (wc[i].status != IBV_WC_SUCCESS)
			return -EIO;
	return 0;
}

static void
fill(const struct bench_case *c, struct ibv_send_wr *wr, struct ibv_recv_wr *rwr, struct ibv_sge *sge,
     const struct end *to)
{
	unsigned int i;

	sge[0] = (struct ibv_sge){.addr = (uintptr_t)mem, .length = LEN, .lkey = mr->lkey};
	sge[1] = (struct ibv_sge){.addr = (uintptr_t)mem + 1024, .length = 2 * LEN, .lkey = mr->lkey};
	for (i = 0; i < c->batch; i++) {
		rwr[i] = (struct ibv_recv_wr){.sg_list = &sge[1], .num_sge = 1};
		wr[i] = (struct ibv_send_wr){
			.sg_list = &sge[0], .num_sge = 1, .opcode = c->op, .send_flags = c->flags | IBV_SEND_SIGNALED};
		rwr[i].next = i + 1 == c->batch ? NULL : &rwr[i + 1];
		wr[i].next = i + 1 == c->batch ? NULL : &wr[i + 1];
		wr[i].wr.rdma.remote_addr = (uintptr_t)mem + 2048;
		wr[i].wr.rdma.rkey = mr->rkey;
		if (c->type != IBV_QPT_UD)
			continue;
		wr[i].wr.ud.ah = ah;
		wr[i].wr.ud.remote_qpn = to->qp->qp_num;
		wr[i].wr.ud.remote_qkey = QKEY;
	}
}

static int
run(const struct bench_case *c, unsigned int rounds)
{
	struct mlx4_eth *eth = rte_eth_devices[0].data->dev_private;
	struct tp_model *model = eth->hca->bus->ops->model(eth->hca->bus);
	struct ibv_send_wr wr[BATCH_MAX], *bad;
	struct ibv_recv_wr rwr[BATCH_MAX], *rbad;
	struct ibv_wc wc[BATCH_MAX];
	struct ibv_sge sge[2];
	struct end a, b;
	unsigned int i;
	int rc = make_end(c, &a);

	if (rc == 0)
		rc = make_end(c, &b);
	if (rc == 0)
		rc = connect_end(c, &a, &b);
	if (rc == 0)
		rc = connect_end(c, &b, &a);
	if (rc != 0)
		return rc;
	fill(c, wr, rwr, sge, &b);
	for (i = 0; i < rounds && rc == 0; i++) {
		if (c->op == IBV_WR_SEND)
			rc = -ibv_post_recv(b.qp, rwr, &rbad);
		if (rc == 0)
			rc = -ibv_post_send(a.qp, wr, &bad);
		while (tp_model_step(model, 64) != 0)
			continue;
		if (rc == 0)
			rc = poll_all(a.scq, c->batch, wc, bench_poll_send);
		if (rc == 0 && c->op == IBV_WR_SEND)
			rc = poll_all(b.rcq, c->batch, wc, bench_poll_recv);
	}
	/* Each message is polled twice, at either end. */
	printf("%s packets %u\n", c->name, rounds * c->batch * (strcmp(c->count, "mlx4_roce_poll_cq") == 0 ? 2 : 1));
	return rc;
}

int
main(int argc, char **argv)
{
	static char arg[][24] = {"bench",    "--no-huge",         "-m", "256", "--no-shconf", "--no-telemetry",
				 "--no-pci", "--log-level=error", "-l", "0"};
	unsigned int i, rounds = argc > 2 ? (unsigned int)atoi(argv[2]) : 256;
	const struct bench_case *c = NULL;
	char *eal[RTE_DIM(arg)];
	int rc;

	for (i = 0; i < RTE_DIM(cases); i++) {
		if (argc > 1 && strcmp(argv[1], "list") == 0)
			printf("%s %s\n", cases[i].name, cases[i].count);
		else if (argc > 1 && strcmp(argv[1], cases[i].name) == 0)
			c = &cases[i];
	}
	if (c == NULL)
		return argc > 1 && strcmp(argv[1], "list") == 0 ? 0 : 1;
	for (i = 0; i < RTE_DIM(arg); i++)
		eal[i] = arg[i];
	if (rte_eal_init(RTE_DIM(eal), eal) < 0) {
		fprintf(stderr, "rte_eal_init failed: %s\n", rte_strerror(rte_errno));
		return 1;
	}
	rc = rte_eal_hotplug_add("vdev", "net_mlx4_model0", c->bf ? "run=step,bf=1" : "run=step");
	if (rc == 0)
		rc = start_port();
	if (rc == 0)
		rc = run(c, rounds);
	if (rc != 0)
		fprintf(stderr, "%s: %s\n", c->name, strerror(-rc));
	return rc == 0 ? 0 : 1;
}
