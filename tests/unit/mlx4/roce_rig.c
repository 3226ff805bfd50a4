/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <arpa/inet.h>
#include <poll.h>

#include "roce_rig.h"

#define RESOLVE_TRIES 1000
#define EVENT_MS 30000 /* nobody is that slow, but the interrupt thread may have to wait for a CPU */
#define NO_EVENT_MS 50
#define RUNS 64
#define TIMEOUT 10 /* 4.2 ms */

struct ibv_context *rr_ctx[2];
struct ibv_pd *rr_pd[2];
static uint64_t now;

/* --- ports ------------------------------------------------------------------------------------------------- */

static void
add(unsigned int port, const char *text, unsigned int prefix, uint16_t vlan)
{
	struct sockaddr_in a4 = {.sin_family = AF_INET};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6};

	if (inet_pton(AF_INET, text, &a4.sin_addr) == 1)
		assert_int_equal(tp_roce_addr_add(rr_ctx[port], (struct sockaddr *)&a4, prefix, vlan), 0);
	else if (inet_pton(AF_INET6, text, &a6.sin6_addr) == 1)
		assert_int_equal(tp_roce_addr_add(rr_ctx[port], (struct sockaddr *)&a6, prefix, vlan), 0);
	else
		fail_msg("%s is no address", text);
}

void
rr_run(void)
{
	unsigned int i, quiet = 0;

	for (i = 0; i < RUNS && quiet < 2; i++) {
		unsigned int done = 0, p;

		rig_run(0);
		for (p = 0; p < 2; p++)
			done += rr_ctx[p] != NULL ? tp_roce_progress(rr_ctx[p]) : 0;
		quiet = done == 0 ? quiet + 1 : 0;
	}
	assert_int_equal(quiet, 2);
}

void
rr_wait(uint64_t ns)
{
	now += ns;
	tp_model_set_time(rig_model(0), now);
	rr_run();
}

/* Each asks for each of the other's GIDs, so that no call has to wait later. */
static void
resolve(void)
{
	union ibv_gid gid;
	uint8_t mac[6];
	unsigned int p, g, i;

	for (p = 0; p < 2; p++)
		for (g = 0; tp_roce_query_gid(rr_ctx[!p], 1, (int)g, &gid) == 0 && gid.raw[15] != 0; g++) {
			for (i = 0; i < RESOLVE_TRIES && tp_roce_resolve(rr_ctx[p], g, &gid, mac) != 0; i++)
				rr_run();
			assert_in_range(i, 0, RESOLVE_TRIES - 1);
		}
}

/* That addresses came is nothing that a test waits for. */
static void
forget_events(unsigned int port)
{
	struct pollfd fd = {.fd = rr_ctx[port]->async_fd, .events = POLLIN};
	struct ibv_async_event e;

	while (poll(&fd, 1, 0) == 1) {
		assert_int_equal(tp_roce_get_async_event(rr_ctx[port], &e), 0);
		tp_roce_ack_async_event(&e);
	}
}

void
rr_open_ports(const struct tp_roce_conf *conf)
{
	unsigned int p;

	now += 1000000;
	tp_model_set_time(rig_model(0), now);
	for (p = 0; p < 2; p++) {
		rr_ctx[p] = tp_roce_open((uint16_t)p, conf);
		assert_non_null(rr_ctx[p]);
		assert_string_equal(tp_roce_provider_name(rr_ctx[p]), "mlx4");
		add(p, p == 0 ? "192.0.2.1" : "192.0.2.2", 24, TP_ROCE_NO_VLAN);
		add(p, p == 0 ? "2001:db8::1" : "2001:db8::2", 64, TP_ROCE_NO_VLAN);
		add(p, p == 0 ? "198.51.100.1" : "198.51.100.2", 24, RR_VLAN);
		rr_pd[p] = tp_roce_alloc_pd(rr_ctx[p]);
		assert_non_null(rr_pd[p]);
	}
	rr_run();
	resolve();
	/* The thread of interrupts may tell of a link only now. */
	rig_handled();
	for (p = 0; p < 2; p++)
		forget_events(p);
}

void
rr_open(const char *args, const struct tp_roce_conf *conf)
{
	unsigned int p;

	rig_open(args);
	for (p = 0; p < 2; p++)
		rig_start((uint16_t)p, 1, NULL);
	rr_open_ports(conf);
}

void
rr_close_ports(void)
{
	unsigned int p;

	for (p = 0; p < 2; p++) {
		assert_int_equal(tp_roce_dealloc_pd(rr_pd[p]), 0);
		assert_int_equal(tp_roce_close_device(rr_ctx[p]), 0);
		rr_ctx[p] = NULL;
	}
}

void
rr_close(void)
{
	rr_close_ports();
	rig_close();
}

int
rr_setup(void **state)
{
	rr_open("", NULL);
	return 0;
}

int
rr_teardown(void **state)
{
	rr_close();
	return 0;
}

/* --- ends -------------------------------------------------------------------------------------------------- */

void
rr_end(struct rr_end *e, unsigned int port)
{
	memset(e, 0, sizeof(*e));
	e->port = port;
	e->mem = rte_zmalloc(NULL, RR_MEM, RTE_CACHE_LINE_SIZE);
	assert_non_null(e->mem);
	e->mr = tp_roce_reg_mr(rr_pd[port], e->mem, RR_MEM, RR_ALL);
	assert_non_null(e->mr);
	e->cq = tp_roce_create_cq(rr_ctx[port], RR_CQES, e, NULL, 0);
	assert_non_null(e->cq);
}

void
rr_qp(struct rr_end *e, enum ibv_qp_type type, const struct ibv_qp_cap *caps)
{
	struct ibv_qp_init_attr init = {
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.srq = e->srq,
		.qp_type = type,
		.cap = {.max_send_wr = RR_WRS,
			.max_recv_wr = RR_WRS,
			.max_send_sge = 2,
			.max_recv_sge = 2,
			.max_inline_data = 64},
	};

	if (caps != NULL)
		init.cap = *caps;
	e->qp = tp_roce_create_qp(rr_pd[e->port], &init);
	assert_non_null(e->qp);
}

void
rr_end_free(struct rr_end *e)
{
	if (e->qp != NULL)
		assert_int_equal(tp_roce_destroy_qp(e->qp), 0);
	if (e->ah != NULL)
		assert_int_equal(tp_roce_destroy_ah(e->ah), 0);
	if (e->srq != NULL)
		assert_int_equal(tp_roce_destroy_srq(e->srq), 0);
	if (e->cq != NULL)
		assert_int_equal(tp_roce_destroy_cq(e->cq), 0);
	if (e->mr != NULL)
		assert_int_equal(tp_roce_dereg_mr(e->mr), 0);
	rte_free(e->mem);
	memset(e, 0, sizeof(*e));
}

void
rr_attr(struct ibv_ah_attr *a, unsigned int to, enum rr_gid gid)
{
	memset(a, 0, sizeof(*a));
	a->is_global = 1;
	a->port_num = 1;
	a->grh.sgid_index = (uint8_t)gid;
	a->grh.hop_limit = 64;
	assert_int_equal(tp_roce_query_gid(rr_ctx[to], 1, (int)gid, &a->grh.dgid), 0);
}

void
rr_init(struct rr_end *e)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = RR_QKEY, .qp_access_flags = RR_ALL & 0xf};
	bool ud = e->qp->qp_type == IBV_QPT_UD;

	assert_int_equal(tp_roce_modify_qp(e->qp, &a,
					   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						   (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)),
			 0);
}

void
rr_rtr(struct rr_end *e, const struct rr_end *peer, enum rr_gid gid)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
				.path_mtu = IBV_MTU_1024,
				.rq_psn = 100 + peer->port,
				.max_dest_rd_atomic = 4,
				.min_rnr_timer = 12};
	int mask = IBV_QP_STATE;

	if (e->qp->qp_type != IBV_QPT_UD) {
		a.dest_qp_num = peer->qp->qp_num;
		rr_attr(&a.ah_attr, peer->port, gid);
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	}
	if (e->qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	assert_int_equal(tp_roce_modify_qp(e->qp, &a, mask), 0);
}

void
rr_rts(struct rr_end *e)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS,
				.sq_psn = 100 + e->port,
				.timeout = TIMEOUT,
				.retry_cnt = 2,
				.rnr_retry = 2,
				.max_rd_atomic = 4};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (e->qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	assert_int_equal(tp_roce_modify_qp(e->qp, &a, mask), 0);
}

void
rr_state(struct rr_end *e, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = {.qp_state = state};

	assert_int_equal(tp_roce_modify_qp(e->qp, &a, IBV_QP_STATE), 0);
}

void
rr_pair(struct rr_end *a, struct rr_end *b, enum ibv_qp_type type, enum rr_gid gid)
{
	struct rr_end *e[2] = {a, b};
	struct ibv_ah_attr at;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		rr_end(e[i], i);
		rr_qp(e[i], type, NULL);
		rr_init(e[i]);
	}
	for (i = 0; i < 2; i++) {
		rr_rtr(e[i], e[!i], gid);
		rr_rts(e[i]);
		if (type != IBV_QPT_UD)
			continue;
		rr_attr(&at, !i, gid);
		e[i]->ah = tp_roce_create_ah(rr_pd[i], &at);
		assert_non_null(e[i]->ah);
	}
}

/* --- work -------------------------------------------------------------------------------------------------- */

int
rr_post(struct rr_end *e, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int rc;

	wr->send_flags |= IBV_SEND_SIGNALED;
	rc = ibv_post_send(e->qp, wr, &bad);
	assert_ptr_equal(bad, rc == 0 ? NULL : wr);
	return rc;
}

/* The work request id of whatever begins at a place is the place. */
int
rr_send(struct rr_end *e, uint32_t at, uint32_t len, unsigned int flags)
{
	struct ibv_sge sge = {.addr = (uintptr_t)e->mem + at, .length = len, .lkey = e->mr->lkey};
	struct ibv_send_wr wr = {
		.wr_id = at, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = flags};

	return rr_post(e, &wr);
}

int
rr_rdma(struct rr_end *e, enum ibv_wr_opcode op, uint32_t at, uint32_t len, const struct rr_end *to, uint32_t to_at)
{
	struct ibv_sge sge = {.addr = (uintptr_t)e->mem + at, .length = len, .lkey = e->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = at, .sg_list = &sge, .num_sge = 1, .opcode = op};

	wr.wr.rdma.remote_addr = (uintptr_t)to->mem + to_at;
	wr.wr.rdma.rkey = to->mr->rkey;
	return rr_post(e, &wr);
}

int
rr_recv(struct rr_end *e, uint32_t at, uint32_t len)
{
	struct ibv_sge sge = {.addr = (uintptr_t)e->mem + at, .length = len, .lkey = e->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = at, .sg_list = &sge, .num_sge = 1}, *bad = NULL;
	int rc = e->srq != NULL ? ibv_post_srq_recv(e->srq, &wr, &bad) : ibv_post_recv(e->qp, &wr, &bad);

	assert_ptr_equal(bad, rc == 0 ? NULL : &wr);
	return rc;
}

struct ibv_wc
rr_poll(struct rr_end *e)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(e->cq, 1, &wc) != 1)
		fail_msg("no completion of queue pair 0x%x", e->qp == NULL ? 0 : e->qp->qp_num);
	return wc;
}

void
rr_no_wc(struct rr_end *e)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(e->cq, 1, &wc) != 0)
		fail_msg("a completion of queue pair 0x%x nobody wanted: status %d, opcode %d, id %d", wc.qp_num,
			 wc.status, wc.opcode, (int)wc.wr_id);
}

struct ibv_wc
rr_expect(struct rr_end *e, enum ibv_wc_status status, enum ibv_wc_opcode opcode, uint64_t wr_id)
{
	struct ibv_wc wc = rr_poll(e);

	if (wc.status != status || wc.wr_id != wr_id || (status == IBV_WC_SUCCESS && wc.opcode != opcode))
		fail_msg("status %d opcode %d id %d, wanted %d %d %d", wc.status, wc.opcode, (int)wc.wr_id, status,
			 opcode, (int)wr_id);
	assert_int_equal(wc.qp_num, e->qp->qp_num);
	return wc;
}

/* --- events ------------------------------------------------------------------------------------------------ */

enum ibv_event_type
rr_event(unsigned int port, void *object)
{
	struct pollfd fd = {.fd = rr_ctx[port]->async_fd, .events = POLLIN};
	struct ibv_async_event e;

	if (poll(&fd, 1, NO_EVENT_MS) != 1)
		return IBV_EVENT_CLIENT_REREGISTER;
	assert_int_equal(tp_roce_get_async_event(rr_ctx[port], &e), 0);
	if (object != NULL)
		assert_ptr_equal(e.element.qp, object);
	tp_roce_ack_async_event(&e);
	return e.event_type;
}

void
rr_expect_event(unsigned int port, enum ibv_event_type type, void *object)
{
	unsigned int i;

	for (i = 0; i < EVENT_MS / NO_EVENT_MS; i++) {
		enum ibv_event_type t = rr_event(port, NULL);

		if (t == type)
			return;
		rig_run(rte_eth_dev_is_valid_port(0) ? 0 : 1);
	}
	fail_msg("event %d did not come", type);
}

void
rr_fill(uint8_t *p, uint32_t len, uint8_t seed)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		p[i] = (uint8_t)(seed + i * 7);
}

struct wanted {
	const char *name;
	uint64_t value;
	bool found;
};

static void
on_stat(void *arg, const char *name, uint64_t value)
{
	struct wanted *w = arg;

	if (strcmp(name, w->name) != 0)
		return;
	w->found = true;
	w->value = value;
}

uint64_t
rr_stat(unsigned int port, const char *name)
{
	struct wanted w = {.name = name};

	assert_int_equal(tp_roce_stats(rr_ctx[port], on_stat, &w), 0);
	if (!w.found)
		fail_msg("no counter %s", name);
	return w.value;
}
