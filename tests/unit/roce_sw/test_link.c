/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Link and loss of the ethdev under an open port: events, the port's state, and nothing after the port is closed. */
#include <errno.h>

#include <ethdev_driver.h>

#include "pair.h"

/* What a driver does when its link changed. */
static void
driver_says(uint16_t port, enum rte_eth_event_type event)
{
	rte_eth_dev_callback_process(&rte_eth_devices[port], event, NULL);
}

static void
test_link(void **state)
{
	struct pair *p = *state;
	struct ibv_port_attr a;
	struct ibv_async_event e;

	assert_int_equal(rte_eth_dev_set_link_down(p->n[0].port), 0);
	driver_says(p->n[0].port, RTE_ETH_EVENT_INTR_LSC);
	assert_int_equal(tp_roce_get_async_event(p->n[0].ctx, &e), 0);
	assert_int_equal(e.event_type, IBV_EVENT_PORT_ERR);
	assert_int_equal(e.element.port_num, 1);
	tp_roce_ack_async_event(&e);
	assert_int_equal(tp_roce_query_port(p->n[0].ctx, 1, &a), 0);
	assert_int_equal(a.state, IBV_PORT_DOWN);

	assert_int_equal(rte_eth_dev_set_link_up(p->n[0].port), 0);
	driver_says(p->n[0].port, RTE_ETH_EVENT_INTR_LSC);
	pair_event(p, 0, IBV_EVENT_PORT_ACTIVE);
	assert_int_equal(tp_roce_query_port(p->n[0].ctx, 1, &a), 0);
	assert_int_equal(a.state, IBV_PORT_ACTIVE);

	driver_says(p->n[0].port, RTE_ETH_EVENT_INTR_RMV);
	pair_event(p, 0, IBV_EVENT_DEVICE_FATAL);
	driver_says(p->n[0].port, RTE_ETH_EVENT_INTR_RESET);
	pair_event(p, 0, IBV_EVENT_DEVICE_FATAL);
	pair_no_event(p, 0);
	pair_no_event(p, 1);
}

struct told {
	unsigned int n;
	struct ibv_device *device[8];
	enum tp_roce_status status[8];
};

static void
on_status(void *arg, struct ibv_device *device, enum tp_roce_status status)
{
	struct told *t = arg;

	assert_true(t->n < RTE_DIM(t->device));
	t->device[t->n] = device;
	t->status[t->n++] = status;
}

/* V-8: each change of a device is told once, to those who listen. */
static void
test_status(void **state)
{
	const struct pair_conf conf = {.mtu = 1024};
	struct told told = {0}, other = {0};
	struct ibv_device *d[2];
	struct pair *p;

	(void)state;
	assert_int_equal(tp_roce_status_register(NULL, NULL), EINVAL);
	assert_int_equal(tp_roce_status_register(on_status, &told), 0);
	assert_int_equal(tp_roce_status_register(on_status, &told), EEXIST);
	assert_int_equal(tp_roce_status_register(on_status, &other), 0);
	p = pair_open(&conf);
	assert_int_equal(told.n, 2);
	for (unsigned int i = 0; i < 2; i++) {
		d[i] = p->n[i].ctx->device;
		assert_ptr_equal(told.device[i], d[i]);
		assert_int_equal(told.status[i], TP_ROCE_UP);
	}
	assert_int_equal(tp_roce_status_unregister(on_status, &other), 0);
	assert_int_equal(tp_roce_status_unregister(on_status, &other), ENOENT);
	driver_says(p->n[1].port, RTE_ETH_EVENT_INTR_RMV);
	driver_says(p->n[1].port, RTE_ETH_EVENT_INTR_RMV);
	assert_int_equal(told.n, 3);
	assert_ptr_equal(told.device[2], d[1]);
	assert_int_equal(told.status[2], TP_ROCE_ADAPTER_DOWN);
	pair_event(p, 1, IBV_EVENT_DEVICE_FATAL);
	pair_close(p);
	assert_int_equal(told.n, 5);
	for (unsigned int i = 0; i < 2; i++) {
		assert_ptr_equal(told.device[3 + i], d[i]);
		assert_int_equal(told.status[3 + i], TP_ROCE_RDMA_DISABLED);
	}
	assert_int_equal(other.n, 2);
	assert_int_equal(tp_roce_status_unregister(on_status, &told), 0);
}

/* With work on its way: all of it ends, and no more can begin. */
static void
test_lost_at_work(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS};
	struct pair *p = *state;
	struct ibv_qp *qa, *qb;
	struct ibv_wc wc[3];
	uint64_t frames;

	pair_qps(p, &c, &qa, &qb);
	pair_recv(p, 0, qa, 1, 0, 10);
	/* Nobody receives it over there: it is repeated for ever. */
	pair_send(p, 0, qa, 2, 0, 10);
	pair_send(p, 0, qa, 3, 0, 10);
	driver_says(p->n[0].port, RTE_ETH_EVENT_INTR_RMV);
	pair_event(p, 0, IBV_EVENT_DEVICE_FATAL);
	pair_wait(p, p->n[0].cq, 3, wc);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(wc[i].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(pair_state(qa), IBV_QPS_ERR);
	pair_run(p, 1);
	frames = p->frames[0];
	pair_send(p, 0, qa, 4, 0, 10);
	pair_wait(p, p->n[0].cq, 1, wc);
	assert_int_equal(wc[0].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(tp_roce_modify_qp(qa, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RESET}, IBV_QP_STATE), 0);
	a.qp_state = IBV_QPS_INIT;
	a.port_num = 1;
	assert_int_equal(
		tp_roce_modify_qp(qa, &a, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS), EIO);
	pair_run(p, 1);
	assert_int_equal(p->frames[0], frames);
	assert_int_equal(tp_roce_destroy_qp(qa), 0);
	assert_int_equal(tp_roce_destroy_qp(qb), 0);
}

static void
test_closed(void **state)
{
	const struct pair_conf conf = {.mtu = 1024};
	struct pair *p = pair_open(&conf);
	uint16_t port = p->n[0].port;

	pair_close(p);
	/* would touch what is freed */
	driver_says(port, RTE_ETH_EVENT_INTR_LSC);
	p = pair_open(&conf);
	pair_no_event(p, 0);
	pair_close(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_link, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_lost_at_work, pair_setup, pair_teardown),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_status),
	};

	return cmocka_run_group_tests_name("roce_sw_link", tests, NULL, NULL);
}
