/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <poll.h>

#include <rte_byteorder.h>

#include "ib_rig.h"
#include "drivers/mlx4/verbs/verbs.h"

#define RUNS 64
#define RUN_MAX 10000
#define RUN_BUDGET 64
#define EVENT_MS 50
#define EVENTS_MAX 40
#define WRS 16u
#define CQES 63
#define TIMEOUT 10 /* 4.2 ms */

#define PI_LID 16u
#define PI_SM_LID 18u
#define PI_STATE 32u
#define PI_MTU 36u
#define PI_MTU_CAP 41u
#define STATE_ARMED 3u
#define STATE_ACTIVE 4u

struct ibv_context *ir_ctx[IR_PORTS];
struct ibv_pd *ir_pd[IR_PORTS];
static uint64_t now;

/* --- card -------------------------------------------------------------------------------------------------- */

struct tp_model *
ir_model(void)
{
	struct mlx4_hca *hca = mlx4_roce_of(ir_ctx[0])->hca;

	return hca->bus->ops->model(hca->bus);
}

static unsigned int
step(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < RUN_MAX && tp_model_step(ir_model(), RUN_BUDGET) != 0; i++)
		n++;
	assert_true(i < RUN_MAX);
	return n;
}

void
ir_run(void)
{
	unsigned int i, quiet = 0;

	for (i = 0; i < RUNS && quiet < 2; i++) {
		unsigned int done = step(), p;

		for (p = 0; p < IR_PORTS; p++)
			done += ir_ctx[p] != NULL ? tp_roce_progress(ir_ctx[p]) : 0;
		quiet = done == 0 ? quiet + 1 : 0;
	}
	assert_int_equal(quiet, 2);
}

void
ir_pass(uint64_t ns)
{
	now += ns;
	tp_model_set_time(ir_model(), now);
	ir_run();
}

void
ir_open(const char *args)
{
	char text[256], name[64];
	unsigned int p;

	snprintf(text, sizeof(text), "port0=ib,port1=ib,guid=0x%" PRIx64 "%s%s", IR_GUID, args[0] == '\0' ? "" : ",",
		 args);
	rig_open(text);
	for (p = 0; p < IR_PORTS; p++) {
		snprintf(name, sizeof(name), RIG_DEV "/%u", p + 1);
		ir_ctx[p] = tp_roce_open_ib(name, NULL);
		assert_non_null(ir_ctx[p]);
		ir_pd[p] = tp_roce_alloc_pd(ir_ctx[p]);
		assert_non_null(ir_pd[p]);
	}
	ir_pass(1000000);
}

void
ir_close(void)
{
	char text[256];
	unsigned int p;

	tp_model_last_violation(ir_model(), text, sizeof(text));
	if (tp_model_violations_total(ir_model()) != 0)
		fail_msg("%s", text);
	tp_model_last_advice(ir_model(), text, sizeof(text));
	if (tp_model_advice_total(ir_model()) != 0)
		fail_msg("%s", text);
	for (p = 0; p < IR_PORTS; p++) {
		assert_int_equal(tp_roce_dealloc_pd(ir_pd[p]), 0);
		assert_int_equal(tp_roce_close_device(ir_ctx[p]), 0);
		ir_ctx[p] = NULL;
	}
	rig_unplug(RIG_DEV);
}

int
ir_setup(void **state)
{
	ir_open("");
	return 0;
}

int
ir_teardown(void **state)
{
	ir_close();
	return 0;
}

/* --- management -------------------------------------------------------------------------------------------- */

static void
put16(uint8_t *p, uint16_t v)
{
	v = rte_cpu_to_be_16(v);
	memcpy(p, &v, sizeof(v));
}

static void
put32(uint8_t *p, uint32_t v)
{
	v = rte_cpu_to_be_32(v);
	memcpy(p, &v, sizeof(v));
}

void
ir_smp_init(uint8_t mad[TP_MAD_SIZE], uint8_t class, uint8_t method, uint16_t attr, uint32_t modifier)
{
	mad[0] = 1;
	mad[1] = class;
	mad[2] = 1;
	mad[3] = method;
	put16(mad + 16, attr);
	put32(mad + 20, modifier);
}

void
ir_smp(unsigned int port, uint8_t method, uint16_t attr, uint32_t modifier, uint8_t mad[TP_MAD_SIZE])
{
	struct tp_mad_packet in = {0}, out;

	memcpy(in.data, mad, TP_MAD_SIZE);
	ir_smp_init(in.data, 1, method, attr, modifier);
	assert_int_equal(tp_mad_port_process(ir_ctx[port], &in, &out), 0);
	memcpy(mad, out.data, TP_MAD_SIZE);
	assert_int_equal(mad[3], IR_GET_RESP);
}

static void
move(unsigned int port, unsigned int state)
{
	uint8_t mad[TP_MAD_SIZE] = {0}, *pi = mad + IR_DATA;

	ir_smp(port, IR_GET, IR_PORT_INFO, port + 1, mad);
	put16(pi + PI_LID, IR_LID(port));
	put16(pi + PI_SM_LID, IR_SM_LID);
	pi[PI_MTU] = (uint8_t)(pi[PI_MTU_CAP] << 4);
	pi[PI_STATE] = (uint8_t)((pi[PI_STATE] & 0xf0) | state);
	memset(mad + 4, 0, 2);
	ir_smp(port, IR_SET, IR_PORT_INFO, port + 1, mad);
	assert_int_equal(mad[4] << 8 | mad[5], 0);
}

void
ir_sweep(void)
{
	unsigned int p;

	for (p = 0; p < IR_PORTS; p++)
		move(p, STATE_ARMED);
	for (p = 0; p < IR_PORTS; p++)
		move(p, STATE_ACTIVE);
	ir_run();
	for (p = 0; p < IR_PORTS; p++) {
		assert_int_equal(ir_state(p), IBV_PORT_ACTIVE);
		ir_forget_events(p);
	}
}

int
ir_setup_active(void **state)
{
	ir_open("");
	ir_sweep();
	return 0;
}

void
ir_set_pkey(unsigned int port, unsigned int index, uint16_t pkey)
{
	uint8_t mad[TP_MAD_SIZE] = {0};

	ir_smp(port, IR_GET, IR_PKEYS, 0, mad);
	mad[IR_DATA + 2 * index] = (uint8_t)(pkey >> 8);
	mad[IR_DATA + 2 * index + 1] = (uint8_t)pkey;
	mad[4] = mad[5] = 0;
	ir_smp(port, IR_SET, IR_PKEYS, 0, mad);
	assert_int_equal(mad[4] << 8 | mad[5], 0);
}

enum ibv_port_state
ir_state(unsigned int port)
{
	struct ibv_port_attr a;

	assert_int_equal(tp_roce_query_port(ir_ctx[port], 1, &a), 0);
	return a.state;
}

enum ibv_event_type
ir_event(unsigned int port)
{
	struct pollfd fd = {.fd = ir_ctx[port]->async_fd, .events = POLLIN};
	struct ibv_async_event e;

	rig_handled();
	if (poll(&fd, 1, EVENT_MS) != 1)
		return IBV_EVENT_DEVICE_FATAL;
	assert_int_equal(tp_roce_get_async_event(ir_ctx[port], &e), 0);
	tp_roce_ack_async_event(&e);
	return e.event_type;
}

void
ir_forget_events(unsigned int port)
{
	while (ir_event(port) != IBV_EVENT_DEVICE_FATAL)
		;
}

void
ir_expect_event(unsigned int port, enum ibv_event_type type)
{
	unsigned int i;

	for (i = 0; i < EVENTS_MAX; i++) {
		if (ir_event(port) == type)
			return;
		step();
	}
	fail_msg("port %u: event %d did not come", port, type);
}

/* --- ends -------------------------------------------------------------------------------------------------- */

void
ir_end(struct ir_end *e, unsigned int port, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type,
		.cap = {.max_send_wr = WRS, .max_recv_wr = WRS, .max_send_sge = 2, .max_recv_sge = 2},
	};

	memset(e, 0, sizeof(*e));
	e->port = port;
	e->mem = rte_zmalloc(NULL, IR_MEM, RTE_CACHE_LINE_SIZE);
	assert_non_null(e->mem);
	e->mr = tp_roce_reg_mr(ir_pd[port], e->mem, IR_MEM,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(e->mr);
	e->cq = tp_roce_create_cq(ir_ctx[port], CQES, e, NULL, 0);
	assert_non_null(e->cq);
	init.send_cq = init.recv_cq = e->cq;
	e->qp = tp_roce_create_qp(ir_pd[port], &init);
	assert_non_null(e->qp);
}

void
ir_end_free(struct ir_end *e)
{
	assert_int_equal(tp_roce_destroy_qp(e->qp), 0);
	assert_int_equal(tp_roce_destroy_cq(e->cq), 0);
	assert_int_equal(tp_roce_dereg_mr(e->mr), 0);
	rte_free(e->mem);
}

void
ir_av(struct ibv_ah_attr *av, unsigned int to, bool grh)
{
	memset(av, 0, sizeof(*av));
	av->port_num = 1;
	av->dlid = IR_LID(to);
	av->is_global = grh;
	if (grh) {
		av->grh.hop_limit = 3;
		av->grh.traffic_class = 0x21;
		av->grh.flow_label = 0x54321;
		assert_int_equal(tp_roce_query_gid(ir_ctx[to], 1, 0, &av->grh.dgid), 0);
	}
}

void
ir_rts(struct ir_end *e, uint16_t pkey_index, const struct ibv_ah_attr *av, uint32_t dest_qpn)
{
	enum ibv_qp_type type = e->qp->qp_type;
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.pkey_index = pkey_index,
		.qkey = IR_QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.path_mtu = IBV_MTU_2048,
		.rq_psn = 7,
		.sq_psn = 7,
		.dest_qp_num = dest_qpn,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 12,
		.timeout = TIMEOUT,
		.retry_cnt = 2,
		.rnr_retry = 2,
	};
	bool ud = type == IBV_QPT_UD, rc = type == IBV_QPT_RC;
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);

	assert_int_equal(tp_roce_modify_qp(e->qp, &a, mask), 0);
	a.qp_state = IBV_QPS_RTR;
	mask = IBV_QP_STATE;
	if (!ud) {
		a.ah_attr = *av;
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	}
	if (rc)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	assert_int_equal(tp_roce_modify_qp(e->qp, &a, mask), 0);
	a.qp_state = IBV_QPS_RTS;
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (rc)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	assert_int_equal(tp_roce_modify_qp(e->qp, &a, mask), 0);
}

void
ir_recv(struct ir_end *e, uint32_t at, uint32_t len)
{
	struct ibv_sge sge = {.addr = (uintptr_t)e->mem + at, .length = len, .lkey = e->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = at, .sg_list = &sge, .num_sge = 1}, *bad;

	assert_int_equal(ibv_post_recv(e->qp, &wr, &bad), 0);
}

void
ir_send(struct ir_end *e, struct ibv_send_wr *wr, uint32_t at, uint32_t len)
{
	struct ibv_sge sge = {.addr = (uintptr_t)e->mem + at, .length = len, .lkey = e->mr->lkey};
	struct ibv_send_wr *bad;

	wr->wr_id = at;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->send_flags |= IBV_SEND_SIGNALED;
	assert_int_equal(ibv_post_send(e->qp, wr, &bad), 0);
	ir_run();
}

struct ibv_wc
ir_wc(struct ir_end *e)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(e->cq, 1, &wc) != 1)
		fail_msg("no completion of queue pair 0x%x", e->qp->qp_num);
	if (wc.status != IBV_WC_SUCCESS)
		fail_msg("queue pair 0x%x: status %d, vendor's 0x%x", wc.qp_num, wc.status, wc.vendor_err);
	return wc;
}

void
ir_no_wc(struct ir_end *e)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(e->cq, 1, &wc) != 0)
		fail_msg("queue pair 0x%x: a completion that nobody wanted, status %d", wc.qp_num, wc.status);
}
