/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Management of InfiniBand ports over a cable: datagrams of QP0 and QP1, with and without a service, and the events by which a
 * port tells what its subnet manager did.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "ib_rig.h"

#define PKEY2 0x8123u
#define PERF 0x04u
#define PORT_COUNTERS 0x12u
#define DIRECTED 0x81u
#define HOP_POINTER 6
#define HOP_COUNT 7
#define DR_SLID 32
#define INITIAL_PATH 128
#define ROUNDS 2000u
#define WAIT_MS 60000u

struct heard {
	struct tp_mad_packet last;
	unsigned int num;
};

static void
hear(void *arg, const struct tp_mad_packet *pkt)
{
	struct heard *h = arg;

	h->last = *pkt;
	h->num++;
}

/* Without a service performance management is answered by the firmware; with one it is the service's. */
static void
test_general_services(void **state)
{
	struct tp_mad_packet p = {.qpn = 1, .remote_qpn = 1, .qkey = TP_MAD_QKEY, .dlid = IR_LID(1), .sl = 2}, out;
	struct heard h[2] = {0};

	assert_int_equal(tp_mad_port_set_input(ir_ctx[0], hear, &h[0]), 0);
	ir_smp_init(p.data, PERF, IR_GET, PORT_COUNTERS, 0);
	p.data[8] = 0xaa; /* of the transaction's number */
	p.data[IR_DATA + 1] = 2;
	assert_int_equal(tp_mad_port_send(ir_ctx[0], &p), 0);
	ir_run();
	assert_int_equal(h[0].num, 1);
	assert_int_equal(h[0].last.data[3], IR_GET_RESP);
	assert_int_equal(h[0].last.data[8], 0xaa);
	assert_int_equal(h[0].last.slid, IR_LID(1));
	assert_int_equal(h[0].last.dlid, IR_LID(0));
	assert_int_equal(h[0].last.remote_qpn, 1);
	assert_int_equal(h[0].last.qpn, 1);
	assert_int_equal(h[0].last.sl, 2);
	/* With a service, another partition and a GRH */
	ir_set_pkey(0, 3, PKEY2);
	ir_set_pkey(1, 2, PKEY2);
	assert_int_equal(tp_mad_port_set_input(ir_ctx[1], hear, &h[1]), 0);
	p.pkey_index = 3;
	p.has_grh = true;
	p.grh.hop_limit = 7;
	assert_int_equal(tp_roce_query_gid(ir_ctx[0], 1, 0, &p.grh.sgid), 0);
	assert_int_equal(tp_roce_query_gid(ir_ctx[1], 1, 0, &p.grh.dgid), 0);
	assert_int_equal(tp_mad_port_send(ir_ctx[0], &p), 0);
	ir_run();
	assert_int_equal(h[1].num, 1);
	assert_int_equal(h[1].last.pkey_index, 2);
	assert_true(h[1].last.has_grh);
	assert_memory_equal(&h[1].last.grh.sgid, &p.grh.sgid, sizeof(p.grh.sgid));
	assert_int_equal(h[1].last.grh.hop_limit, 7);
	assert_memory_equal(h[1].last.data, p.data, TP_MAD_SIZE);
	assert_int_equal(tp_mad_port_process(ir_ctx[1], &h[1].last, &out), 0);
	assert_int_equal(out.dlid, IR_LID(0));
	assert_memory_equal(&out.grh.dgid, &p.grh.sgid, sizeof(p.grh.sgid));
	assert_int_equal(tp_mad_port_send(ir_ctx[1], &out), 0);
	ir_run();
	assert_int_equal(h[0].num, 2);
	assert_int_equal(h[0].last.pkey_index, 3);
	assert_true(h[0].last.has_grh);
	/* Bursts: all that were taken arrive, or there is a line that says why not. */
	for (h[1].num = 0; h[1].num == 0;) {
		unsigned int sent = 0;

		while (tp_mad_port_send(ir_ctx[0], &p) == 0)
			sent++;
		assert_int_not_equal(sent, 0);
		ir_run();
		assert_int_equal(h[1].num, sent);
	}
	assert_int_equal(tp_mad_port_set_input(ir_ctx[0], NULL, NULL), 0);
	assert_int_equal(tp_mad_port_set_input(ir_ctx[1], NULL, NULL), 0);
}

static void
directed(struct tp_mad_packet *p, uint16_t attr)
{
	memset(p, 0, sizeof(*p));
	p->slid = p->dlid = TP_MAD_LID_PERMISSIVE;
	ir_smp_init(p->data, DIRECTED, IR_GET, attr, 0);
	p->data[HOP_COUNT] = 1;
	p->data[HOP_POINTER] = 1;
	memset(p->data + DR_SLID, 0xff, 4);
	p->data[INITIAL_PATH + 1] = 1;
}

/* QP0: before there are LIDs, by a directed route over one cable. */
static void
test_subnet_management(void **state)
{
	struct heard h[2] = {0};
	struct tp_mad_packet p, out;

	assert_int_equal(tp_mad_port_set_input(ir_ctx[0], hear, &h[0]), 0);
	directed(&p, IR_NODE_INFO);
	/* The firmware of the peer answers, as it has no service. */
	assert_int_equal(tp_mad_port_send(ir_ctx[0], &p), 0);
	ir_run();
	assert_int_equal(h[0].num, 1);
	assert_int_equal(h[0].last.qpn, 0);
	assert_int_equal(h[0].last.remote_qpn, 0);
	assert_int_equal(h[0].last.slid, TP_MAD_LID_PERMISSIVE);
	assert_int_equal(h[0].last.data[3], IR_GET_RESP);
	assert_int_equal(h[0].last.data[4] & 0x80, 0x80);
	assert_int_equal(h[0].last.data[IR_DATA + 36], 2); /* the second port */
	/* The peer's service hears it, and lets the firmware answer. */
	assert_int_equal(tp_mad_port_set_input(ir_ctx[1], hear, &h[1]), 0);
	assert_int_equal(tp_mad_port_send(ir_ctx[0], &p), 0);
	ir_run();
	assert_int_equal(h[1].num, 1);
	assert_int_equal(h[1].last.qpn, 0);
	assert_int_equal(h[1].last.data[1], DIRECTED);
	assert_int_equal(tp_mad_port_process(ir_ctx[1], &h[1].last, &out), 0);
	assert_int_equal(out.data[3], IR_GET_RESP);
	assert_int_equal(out.data[4] & 0x80, 0x80);
	assert_int_equal(out.data[IR_DATA + 36], 2);
	assert_int_equal(out.dlid, TP_MAD_LID_PERMISSIVE);
	assert_int_equal(tp_mad_port_send(ir_ctx[1], &out), 0);
	ir_run();
	assert_int_equal(h[0].num, 2);
	/* And when the service is gone, the firmware again. */
	assert_int_equal(tp_mad_port_set_input(ir_ctx[1], NULL, NULL), 0);
	assert_int_equal(tp_mad_port_send(ir_ctx[0], &p), 0);
	ir_run();
	assert_int_equal(h[0].num, 3);
	assert_int_equal(h[1].num, 1);
	assert_int_equal(tp_mad_port_set_input(ir_ctx[0], NULL, NULL), 0);
}

/* A service with a lock of its own, which it holds while it sends and takes when it is called, in another thread. */
struct busy {
	pthread_mutex_t lock;
	atomic_bool stop;
	unsigned int heard;
};

static void
busy_input(void *arg, const struct tp_mad_packet *pkt)
{
	struct busy *b = arg;

	pthread_mutex_lock(&b->lock);
	b->heard += pkt->qpn == 1 ? 1 : 0;
	pthread_mutex_unlock(&b->lock);
}

static void *
busy_thread(void *arg)
{
	struct busy *b = arg;

	while (!atomic_load(&b->stop))
		tp_roce_progress(ir_ctx[1]);
	return NULL;
}

static void
test_threads(void **state)
{
	struct tp_mad_packet p = {.qpn = 1, .remote_qpn = 1, .qkey = TP_MAD_QKEY, .dlid = IR_LID(1)}, out;
	struct busy b = {.lock = PTHREAD_MUTEX_INITIALIZER};
	unsigned int i, sent = 0, heard = 0;
	pthread_t t;

	ir_smp_init(p.data, PERF, IR_GET, PORT_COUNTERS, 0);
	p.data[IR_DATA + 1] = 2;
	assert_int_equal(tp_mad_port_set_input(ir_ctx[1], busy_input, &b), 0);
	assert_int_equal(pthread_create(&t, NULL, busy_thread, &b), 0);
	/* To itself, so that the thread is called while this one sends. */
	for (i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&b.lock);
		sent += tp_mad_port_send(ir_ctx[1], &p) == 0 ? 1 : 0;
		assert_int_equal(tp_mad_port_process(ir_ctx[1], &p, &out), 0);
		pthread_mutex_unlock(&b.lock);
		tp_model_step(ir_model(), 16);
	}
	assert_int_not_equal(sent, 0);
	for (i = 0; i < WAIT_MS && heard != sent; i++) {
		rte_delay_us_sleep(1000);
		tp_model_step(ir_model(), 16);
		pthread_mutex_lock(&b.lock);
		heard = b.heard;
		pthread_mutex_unlock(&b.lock);
	}
	assert_int_equal(heard, sent);
	/* The service comes and goes under datagrams. */
	for (i = 0; i < ROUNDS / 10; i++) {
		assert_int_equal(tp_mad_port_set_input(ir_ctx[1], NULL, NULL), 0);
		(void)tp_mad_port_send(ir_ctx[1], &p);
		tp_model_step(ir_model(), 16);
		assert_int_equal(tp_mad_port_set_input(ir_ctx[1], busy_input, &b), 0);
		(void)tp_mad_port_send(ir_ctx[1], &p);
		tp_model_step(ir_model(), 16);
	}
	assert_int_equal(tp_mad_port_set_input(ir_ctx[1], NULL, NULL), 0);
	atomic_store(&b.stop, true);
	assert_int_equal(pthread_join(t, NULL), 0);
	ir_run();
}

/* --- events ---------------------------------------------------------------------------------------------------- */

static void
set_port_info(unsigned int port, unsigned int at, uint8_t value)
{
	uint8_t mad[TP_MAD_SIZE] = {0};

	ir_smp(port, IR_GET, IR_PORT_INFO, port + 1, mad);
	mad[IR_DATA + at] = value;
	mad[IR_DATA + 32] &= 0xf0; /* no change of the state */
	mad[4] = mad[5] = 0;
	ir_smp(port, IR_SET, IR_PORT_INFO, port + 1, mad);
	assert_int_equal(mad[4] << 8 | mad[5], 0);
	ir_run();
}

static void
test_events(void **state)
{
	struct ibv_port_attr a;
	union ibv_gid gid;

	/* From INIT to ACTIVE: it has addresses and is up. */
	assert_int_equal(ir_state(0), IBV_PORT_INIT);
	ir_sweep();
	assert_int_equal(tp_roce_query_port(ir_ctx[0], 1, &a), 0);
	assert_int_equal(a.lid, IR_LID(0));
	assert_int_equal(a.sm_lid, IR_SM_LID);
	assert_int_equal(a.active_mtu, a.max_mtu);
	set_port_info(0, 17, 0x20); /* the LID's low byte */
	ir_expect_event(0, IBV_EVENT_LID_CHANGE);
	assert_int_equal(tp_roce_query_port(ir_ctx[0], 1, &a), 0);
	assert_int_equal(a.lid, 0x20);
	set_port_info(0, 19, 0x55); /* the subnet manager's LID */
	ir_expect_event(0, IBV_EVENT_SM_CHANGE);
	set_port_info(0, 51, 0x80); /* client reregister */
	ir_expect_event(0, IBV_EVENT_CLIENT_REREGISTER);
	set_port_info(0, 15, 0x99); /* the GID prefix */
	ir_expect_event(0, IBV_EVENT_GID_CHANGE);
	assert_int_equal(tp_roce_query_gid(ir_ctx[0], 1, 0, &gid), 0);
	assert_int_equal(gid.raw[7], 0x99);
	assert_int_equal(ir_event(1), IBV_EVENT_DEVICE_FATAL); /* nothing for the other port */
	/* The cable */
	tp_model_cable(ir_model(), 1, false);
	ir_run();
	ir_expect_event(0, IBV_EVENT_PORT_ERR);
	assert_int_equal(ir_state(0), IBV_PORT_DOWN);
	tp_model_cable(ir_model(), 1, true);
	ir_run();
	ir_forget_events(0);
	assert_int_equal(ir_state(0), IBV_PORT_INIT);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_general_services, ir_setup_active, ir_teardown),
		cmocka_unit_test_setup_teardown(test_subnet_management, ir_setup, ir_teardown),
		cmocka_unit_test_setup_teardown(test_threads, ir_setup_active, ir_teardown),
		cmocka_unit_test_setup_teardown(test_events, ir_setup, ir_teardown),
	};

	if (rig_eal("ut-ib-manage", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-ib-manage", tests, NULL, NULL);
}
