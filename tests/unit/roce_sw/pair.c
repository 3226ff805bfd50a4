/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <ethdev_driver.h>
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_random.h>

#include "pair.h"
#include "tests/unit/eal.h"

#define RING 4096u
#define RUN_STEPS 64u
#define LIMIT_NS UINT64_C(20000000000)

/* Receive and transmit rings of the two ports, made once: ethdevs of rings cannot be made anew under their name. */
static struct rte_ring *rx_ring[2][PAIR_LANES], *tx_ring[2][PAIR_LANES];
static struct rte_mempool *pool;
static uint16_t port_of[2];
static struct pair *current;
unsigned int pair_eal_mb = 256;

/* --- datagrams of QP1 are kept, before connection management sees them ------------------------------------------- */

void __real_troce_mad_input(struct troce_dev *dev, const struct troce_mad *mad);
void __wrap_troce_mad_input(struct troce_dev *dev, const struct troce_mad *mad);

void
__wrap_troce_mad_input(struct troce_dev *dev, const struct troce_mad *mad)
{
	struct node *n = &current->n[dev->port_id == current->n[0].port ? 0 : 1];

	if (n->num_mads < RTE_DIM(n->mads))
		n->mads[n->num_mads] = *mad;
	n->num_mads++;
	if (current->managed)
		__real_troce_mad_input(dev, mad);
}

/* --- ports -------------------------------------------------------------------------------------------------------- */

static void
start_port(unsigned int i, uint16_t eth_mtu, uint16_t queues)
{
	struct rte_eth_conf conf = {.rxmode.mtu = eth_mtu};
	struct rte_ether_addr mac = {{2, 0, 0, 0, 0, (uint8_t)(i + 1)}};

	assert_int_equal(rte_eth_dev_configure(port_of[i], queues, queues, &conf), 0);
	for (uint16_t q = 0; q < queues; q++) {
		assert_int_equal(rte_eth_rx_queue_setup(port_of[i], q, 512, 0, NULL, pool), 0);
		assert_int_equal(rte_eth_tx_queue_setup(port_of[i], q, 512, 0, NULL), 0);
	}
	/* Ports of rings have no address, and no call that gives them one. */
	rte_eth_devices[port_of[i]].data->mac_addrs[0] = mac;
	assert_int_equal(rte_eth_dev_start(port_of[i]), 0);
}

/* The first of a port is rx0 or tx0, by its number. */
static struct rte_ring *
ring(const char *way, unsigned int i, unsigned int q)
{
	char name[32];

	snprintf(name, sizeof(name), q == 0 ? "%s%u" : "%s%u_%u", way, i, q);
	return rte_ring_create(name, RING, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

static void
eal(void)
{
	static char words[] = "roce_sw\0--no-huge\0--no-shconf\0--no-telemetry\0--no-pci\0-m\0";
	char prefix[64], mb[16], *argv[16];
	int argc = 0;

	if (pool != NULL)
		return;
	snprintf(mb, sizeof(mb), "%u", pair_eal_mb);
	snprintf(prefix, sizeof(prefix), "--file-prefix=rsw%d", (int)getpid());
	for (char *w = words; *w != '\0'; w += strlen(w) + 1)
		argv[argc++] = w;
	argv[argc++] = mb;
	argv[argc++] = (char *)(uintptr_t) "--lcores";
	argv[argc++] = unit_lcores("0");
	argv[argc++] = prefix;
	assert_true(rte_eal_init(argc, argv) >= 0);
	pool = rte_pktmbuf_pool_create("wire", 8191, 0, 0, 8192, SOCKET_ID_ANY);
	assert_non_null(pool);
	for (unsigned int i = 0; i < 2; i++) {
		char name[32];

		for (unsigned int q = 0; q < PAIR_LANES; q++) {
			rx_ring[i][q] = ring("rx", i, q);
			tx_ring[i][q] = ring("tx", i, q);
		}
		snprintf(name, sizeof(name), "port%u", i);
		port_of[i] = (uint16_t)rte_eth_from_rings(name, rx_ring[i], PAIR_LANES, tx_ring[i], PAIR_LANES,
							  SOCKET_ID_ANY);
	}
}

static void
add_address(struct ibv_context *ctx, int family, const char *text, unsigned int prefix, uint16_t vlan)
{
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6};
	struct sockaddr_in a4 = {.sin_family = AF_INET};

	assert_int_equal(inet_pton(family, text, family == AF_INET ? (void *)&a4.sin_addr : (void *)&a6.sin6_addr), 1);
	assert_int_equal(tp_roce_addr_add(ctx, family == AF_INET ? (struct sockaddr *)&a4 : (struct sockaddr *)&a6,
					  prefix, vlan),
			 0);
}

static int
find_gid(struct ibv_context *ctx, int family, const char *text, enum ibv_gid_type type, uint16_t vlan)
{
	union ibv_gid want = {.raw = {[10] = 0xff, [11] = 0xff}};

	assert_int_equal(inet_pton(family, text, family == AF_INET ? want.raw + 12 : want.raw), 1);
	for (int i = 0; i < (int)TP_ROCE_GIDS; i++) {
		struct ibv_gid_entry e;

		if (tp_roce_query_gid_ex(ctx, 1, (uint32_t)i, &e) == 0 && memcmp(&e.gid, &want, sizeof(want)) == 0 &&
		    e.gid_type == (uint32_t)type)
			return i;
	}
	fail_msg("no GID %s of type %d, VLAN %u", text, type, vlan);
	return -1;
}

static void
open_node(struct pair *p, unsigned int i, const struct pair_conf *pc)
{
	struct tp_roce_conf conf = {.provider = "sw",
				    .mtu = pc->mtu,
				    .udp_port = pc->udp_port,
				    .app_rx = pc->app_rx,
				    .eth_mtu = pc->told,
				    .pool = pc->pool};
	static const char *const v4[2] = {"192.0.2.1", "192.0.2.2"}, *const v6[2] = {"2001:db8::1", "2001:db8::2"},
				 *const tagged[2] = {"198.51.100.1", "198.51.100.2"};
	struct node *n = &p->n[i];

	n->port = port_of[i];
	n->lanes = conf.lanes = pc->lanes[i] == 0 ? 1 : pc->lanes[i];
	start_port(i, pc->eth_mtu == 0 ? 4500 : pc->eth_mtu, n->lanes);
	n->ctx = tp_roce_open(n->port, &conf);
	assert_non_null(n->ctx);
	assert_string_equal(tp_roce_provider_name(n->ctx), "sw");
	assert_int_equal(fcntl(n->ctx->async_fd, F_SETFL, O_NONBLOCK), 0);
	add_address(n->ctx, AF_INET, v4[i], 24, TP_ROCE_NO_VLAN);
	add_address(n->ctx, AF_INET6, v6[i], 64, TP_ROCE_NO_VLAN);
	add_address(n->ctx, AF_INET, tagged[i], 24, 100);
	p->gid[i][PAIR_V4] = find_gid(n->ctx, AF_INET, v4[i], IBV_GID_TYPE_ROCE_V2, TP_ROCE_NO_VLAN);
	p->gid[i][PAIR_V6] = find_gid(n->ctx, AF_INET6, v6[i], IBV_GID_TYPE_ROCE_V2, TP_ROCE_NO_VLAN);
	p->gid[i][PAIR_V1] = find_gid(n->ctx, AF_INET, v4[i], IBV_GID_TYPE_ROCE_V1, TP_ROCE_NO_VLAN);
	p->gid[i][PAIR_VLAN] = find_gid(n->ctx, AF_INET, tagged[i], IBV_GID_TYPE_ROCE_V2, 100);
	n->mem = aligned_alloc(4096, PAIR_MEM);
	assert_non_null(n->mem);
	memset(n->mem, 0, PAIR_MEM);
	n->pd = tp_roce_alloc_pd(n->ctx);
	assert_non_null(n->pd);
	n->mr = tp_roce_reg_mr(n->pd, n->mem, PAIR_MEM, PAIR_ALL);
	assert_non_null(n->mr);
	n->cq = tp_roce_create_cq(n->ctx, 1024, NULL, NULL, n->lanes / 2);
	assert_non_null(n->cq);
}

static void
drop_events(struct node *n)
{
	struct ibv_async_event e;

	while (tp_roce_get_async_event(n->ctx, &e) == 0)
		tp_roce_ack_async_event(&e);
}

/* Neighbours are asked for before a queue pair needs them. */
static void
meet(struct pair *p)
{
	for (unsigned int net = 0; net < 4; net++) {
		union ibv_gid gid = pair_gid(p, 1, net);
		uint64_t until = rte_rdtsc() + LIMIT_NS / 1000000000 * rte_get_tsc_hz();
		uint8_t mac[6];
		int rc;

		while ((rc = tp_roce_resolve(p->n[0].ctx, (uint32_t)p->gid[0][net], &gid, mac)) == EINPROGRESS &&
		       rte_rdtsc() < until)
			pair_step(p);
		assert_int_equal(rc, 0);
		gid = pair_gid(p, 0, net);
		while ((rc = tp_roce_resolve(p->n[1].ctx, (uint32_t)p->gid[1][net], &gid, mac)) == EINPROGRESS &&
		       rte_rdtsc() < until)
			pair_step(p);
		assert_int_equal(rc, 0);
	}
}

struct pair *
pair_open(const struct pair_conf *conf)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	eal();
	current = p;
	p->seed = 1;
	open_node(p, 0, conf);
	open_node(p, 1, conf);
	/* A port whose frames the test hands in hears of no neighbours. */
	if (!conf->app_rx)
		meet(p);
	drop_events(&p->n[0]);
	drop_events(&p->n[1]);
	return p;
}

void
pair_close(struct pair *p)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct node *n = &p->n[i];

		assert_int_equal(tp_roce_destroy_cq(n->cq), 0);
		assert_int_equal(tp_roce_dereg_mr(n->mr), 0);
		assert_int_equal(tp_roce_dealloc_pd(n->pd), 0);
		assert_int_equal(tp_roce_close_device(n->ctx), 0);
		free(n->mem);
		assert_int_equal(rte_eth_dev_stop(n->port), 0);
	}
	for (unsigned int k = 0; k < 2 * PAIR_LANES; k++) {
		struct rte_ring *tx = tx_ring[k / PAIR_LANES][k % PAIR_LANES],
				*rx = rx_ring[k / PAIR_LANES][k % PAIR_LANES];

		for (void *m; rte_ring_dequeue(tx, &m) == 0 || rte_ring_dequeue(rx, &m) == 0;)
			rte_pktmbuf_free(m);
	}
	/* Nothing of the wire's was kept. */
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	free(p);
}

int
pair_setup(void **state)
{
	const char *lanes = getenv("RSW_LANES");
	const struct pair_conf conf = {.mtu = 1024, .lanes = {1, (uint16_t)(lanes == NULL ? 1 : atoi(lanes))}};

	*state = pair_open(&conf);
	return 0;
}

int
pair_teardown(void **state)
{
	pair_close(*state);
	return 0;
}

/* --- the wire ----------------------------------------------------------------------------------------------------- */

/* The same for frames of one path: by octets that have a port, or an end of an address. */
static unsigned int
queue_of(const struct node *n, const uint8_t *f, uint32_t len)
{
	return n->lanes == 1 || len < 38 ? 0 : (f[34] ^ f[35] ^ f[36] ^ f[37]) % n->lanes;
}

void
pair_inject(struct pair *p, unsigned int node, const void *frame, uint32_t len)
{
	unsigned int q = queue_of(&p->n[node], frame, len);
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), frame, len);
	assert_int_equal(rte_ring_enqueue(rx_ring[node][q], m), 0);
}

static void
carry_queue(struct pair *p, unsigned int from, unsigned int q)
{
	void *m;

	while (rte_ring_dequeue(tx_ring[from][q], &m) == 0) {
		unsigned int times = p->wire == NULL ? 1 : p->wire(p, from, m);

		p->frames[from]++;
		/* Packets of one port's pool do not stay in the other's hands. */
		for (; times != 0; times--)
			pair_inject(p, !from, rte_pktmbuf_mtod((struct rte_mbuf *)m, void *),
				    rte_pktmbuf_pkt_len((struct rte_mbuf *)m));
		rte_pktmbuf_free(m);
	}
}

static void
carry(struct pair *p, unsigned int from)
{
	for (unsigned int q = 0; q < p->n[from].lanes; q++)
		carry_queue(p, from, q);
}

void
pair_step(struct pair *p)
{
	for (unsigned int i = 0; i < 2; i++)
		for (uint16_t lane = 0; lane < p->n[i].lanes; lane++)
			tp_roce_progress_lane(p->n[i].ctx, lane);
	carry(p, 0);
	carry(p, 1);
}

void
pair_run(struct pair *p, unsigned int ms)
{
	uint64_t until = rte_rdtsc() + rte_get_tsc_hz() / 1000 * ms;

	/* The CPU may be elsewhere for all of that time: what was sent still arrives and is answered. */
	for (unsigned int i = 0; i < RUN_STEPS || rte_rdtsc() < until; i++)
		pair_step(p);
}

void
pair_wait(struct pair *p, struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	uint64_t until = rte_rdtsc() + (uint64_t)((double)rte_get_tsc_hz() * (LIMIT_NS / 1e9));
	struct ibv_wc one;
	int got = 0;

	while (got < n) {
		int rc = ibv_poll_cq(cq, 1, wc == NULL ? &one : &wc[got]);

		assert_true(rc >= 0);
		if (rc == 1 && wc == NULL)
			assert_int_equal(one.status, IBV_WC_SUCCESS);
		got += rc;
		if (rc == 0)
			pair_step(p);
		if (rte_rdtsc() > until)
			fail_msg("%d of %d completions", got, n);
	}
}

uint64_t
pair_stat(struct pair *p, unsigned int node, const char *name)
{
	uint64_t value = 0;

	if (tp_roce_stat(p->n[node].ctx, name, &value) != 0)
		fail_msg("no counter %s", name);
	return value;
}

void *
pair_event(struct pair *p, unsigned int node, enum ibv_event_type type)
{
	struct ibv_async_event e;
	void *of;

	pair_step(p);
	assert_int_equal(tp_roce_get_async_event(p->n[node].ctx, &e), 0);
	assert_int_equal(e.event_type, type);
	of = e.element.qp;
	tp_roce_ack_async_event(&e);
	return of;
}

void
pair_no_event(struct pair *p, unsigned int node)
{
	struct ibv_async_event e;

	assert_int_equal(tp_roce_get_async_event(p->n[node].ctx, &e), -1);
}

/* --- queue pairs -------------------------------------------------------------------------------------------------- */

static uint32_t
or_default(uint32_t v, uint32_t or)
{
	return v == 0 ? or : v;
}

union ibv_gid
pair_gid(struct pair *p, unsigned int node, enum pair_net net)
{
	union ibv_gid gid;

	assert_int_equal(tp_roce_query_gid(p->n[node].ctx, 1, p->gid[node][net], &gid), 0);
	return gid;
}

static struct ibv_ah_attr
av(struct pair *p, unsigned int node, const union ibv_gid *dgid, enum pair_net net)
{
	struct ibv_ah_attr a = {.is_global = 1, .port_num = 1};

	a.grh.dgid = *dgid;
	a.grh.sgid_index = (uint8_t)p->gid[node][net];
	a.grh.hop_limit = 64;
	return a;
}

struct ibv_ah *
pair_ah(struct pair *p, unsigned int node, const union ibv_gid *dgid, enum pair_net net)
{
	struct ibv_ah_attr a = av(p, node, dgid, net);
	struct ibv_ah *ah = tp_roce_create_ah(p->n[node].pd, &a);

	assert_non_null(ah);
	return ah;
}

struct ibv_qp *
pair_qp(struct pair *p, unsigned int node, const struct qp_conf *c)
{
	struct node *n = &p->n[node];
	struct ibv_qp_init_attr init = {
		.send_cq = c->scq != NULL ? c->scq : n->cq,
		.recv_cq = c->rcq != NULL ? c->rcq : n->cq,
		.srq = c->srq,
		.cap = {.max_send_wr = or_default(c->send_wr, 64),
			.max_recv_wr = c->srq != NULL ? 0 : or_default(c->recv_wr, 64),
			.max_send_sge = or_default(c->sge, 4),
			.max_recv_sge = c->srq != NULL ? 0 : or_default(c->sge, 4),
			.max_inline_data = or_default(c->inl, 256)},
		.qp_type = c->type,
		.sq_sig_all = c->sig_all,
	};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qkey = 0x1234,
				.qp_access_flags =
					(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC) &
					~(unsigned int)c->access_off};
	struct ibv_qp *qp = tp_roce_create_qp(c->pd != NULL ? c->pd : n->pd, &init);

	assert_non_null(qp);
	assert_int_equal(tp_roce_modify_qp(qp, &a,
					   IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
						   (c->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)),
			 0);
	return qp;
}

static void
to_rts(struct pair *p, unsigned int node, struct ibv_qp *qp, const struct ibv_qp *peer, const struct qp_conf *c)
{
	int rtr = IBV_QP_STATE, rts = IBV_QP_STATE | IBV_QP_SQ_PSN;
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = c->mtu != 0 ? c->mtu : troce_dev_of(p->n[node].ctx)->port.active_mtu,
		.rq_psn = peer != NULL ? (peer->qp_num * 7 + 0xfffff0) & 0xffffff : 0,
		.sq_psn = (qp->qp_num * 7 + 0xfffff0) & 0xffffff,
		.max_rd_atomic = (uint8_t)or_default(c->rd_atomic, 4),
		.max_dest_rd_atomic = (uint8_t)or_default(c->rd_atomic, 4),
		.min_rnr_timer = (uint8_t)or_default(c->min_rnr, 1),
		.timeout = (uint8_t)or_default(c->timeout, 10),
		.retry_cnt = c->no_retry ? 0 : (uint8_t)or_default(c->retry, 7),
		.rnr_retry = c->no_rnr_retry ? 0 : (uint8_t)or_default(c->rnr_retry, 7),
	};

	if (c->type != IBV_QPT_UD) {
		union ibv_gid dgid = pair_gid(p, peer->context == p->n[0].ctx ? 0 : 1, c->net);

		a.dest_qp_num = peer->qp_num;
		a.ah_attr = av(p, node, &dgid, c->net);
		rtr |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	}
	if (c->type == IBV_QPT_RC) {
		rtr |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		rts |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	}
	assert_int_equal(tp_roce_modify_qp(qp, &a, rtr), 0);
	a.qp_state = IBV_QPS_RTS;
	assert_int_equal(tp_roce_modify_qp(qp, &a, rts), 0);
}

void
pair_connect_one(struct pair *p, struct ibv_qp *a, const struct ibv_qp *b, const struct qp_conf *c)
{
	to_rts(p, a->context == p->n[0].ctx ? 0 : 1, a, b, c);
}

void
pair_connect(struct pair *p, struct ibv_qp *a, struct ibv_qp *b, const struct qp_conf *c)
{
	to_rts(p, a->context == p->n[0].ctx ? 0 : 1, a, b, c);
	if (b != a)
		to_rts(p, b->context == p->n[0].ctx ? 0 : 1, b, a, c);
}

void
pair_qps(struct pair *p, const struct qp_conf *c, struct ibv_qp **a, struct ibv_qp **b)
{
	*a = pair_qp(p, 0, c);
	*b = pair_qp(p, 1, c);
	pair_connect(p, *a, *b, c);
}

void
pair_to_error(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};

	assert_int_equal(tp_roce_modify_qp(qp, &a, IBV_QP_STATE), 0);
}

enum ibv_qp_state
pair_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	assert_int_equal(tp_roce_query_qp(qp, &a, IBV_QP_STATE, &init), 0);
	return a.qp_state;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

void
pair_recv(struct pair *p, unsigned int node, struct ibv_qp *qp, uint64_t id, uint32_t off, uint32_t len)
{
	struct node *n = &p->n[node];
	struct ibv_sge sge = {.addr = (uintptr_t)n->mem + off, .length = len, .lkey = n->mr->lkey};
	struct ibv_recv_wr *bad, wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1};

	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

struct ibv_send_wr
pair_wr(struct pair *p, unsigned int node, enum ibv_wr_opcode op, struct ibv_sge *sge, uint32_t off, uint32_t len,
	uint32_t roff)
{
	struct node *n = &p->n[node], *peer = &p->n[!node];
	struct ibv_send_wr wr = {.opcode = op, .sg_list = sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED};

	*sge = (struct ibv_sge){.addr = (uintptr_t)n->mem + off, .length = len, .lkey = n->mr->lkey};
	if (op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)peer->mem + roff;
		wr.wr.atomic.rkey = peer->mr->rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)peer->mem + roff;
		wr.wr.rdma.rkey = peer->mr->rkey;
	}
	return wr;
}

void
pair_post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	assert_int_equal(ibv_post_send(qp, wr, &bad), 0);
}

void
pair_send(struct pair *p, unsigned int node, struct ibv_qp *qp, uint64_t id, uint32_t off, uint32_t len)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, node, IBV_WR_SEND, &sge, off, len, 0);

	wr.wr_id = id;
	pair_post(qp, &wr);
}

uint32_t
pair_random(struct pair *p)
{
	p->seed = p->seed * 1664525 + 1013904223;
	return p->seed >> 8;
}

void
pair_fill(struct pair *p, unsigned int node, uint32_t off, uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		p->n[node].mem[off + i] = (uint8_t)(seed >> 24);
	}
}

void
pair_same(struct pair *p, uint32_t off0, uint32_t off1, uint32_t len)
{
	assert_memory_equal(p->n[0].mem + off0, p->n[1].mem + off1, len);
}
