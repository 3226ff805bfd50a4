/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Link and loss of the ethdev under an open port: events, the port's state, and nothing after the port is closed. */
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
		cmocka_unit_test(test_closed),
	};

	return cmocka_run_group_tests_name("roce_sw_link", tests, NULL, NULL);
}
