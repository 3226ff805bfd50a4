/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Calls of ethdev at their ends: offloads of VLANs without queues and one by one, and what a queue says of itself. */
#include <errno.h>

#include "card_trace.h"
#include "rig.h"

/* How often the card is told which VLANs pass, while these offloads are set. */
static unsigned int
filters_told(int offloads)
{
	struct card_trace t;
	unsigned int n;

	card_trace_begin(&t, rig_model(0));
	assert_int_equal(rte_eth_dev_set_vlan_offload(0, offloads), 0);
	card_trace_end(&t);
	n = card_trace_count(&t, "SET_VLAN_FLTR");
	card_trace_free(&t);
	return n;
}

static void
test_vlan_offloads(void **state)
{
	static const struct rte_eth_conf none;

	(void)state;
	rig_open("");
	/* No queue is there yet that could be told, nor is the card. */
	assert_int_equal(rte_eth_dev_configure(0, 2, 1, &none), 0);
	assert_int_equal(filters_told(RTE_ETH_VLAN_STRIP_OFFLOAD | RTE_ETH_VLAN_FILTER_OFFLOAD), 0);
	assert_int_equal(filters_told(0), 0);
	rig_start(0, 2, NULL);
	/* The filter is the card's, tags are taken off by the driver. */
	assert_int_equal(filters_told(RTE_ETH_VLAN_STRIP_OFFLOAD), 0);
	assert_int_equal(filters_told(RTE_ETH_VLAN_STRIP_OFFLOAD | RTE_ETH_VLAN_FILTER_OFFLOAD), 1);
	assert_int_equal(filters_told(RTE_ETH_VLAN_FILTER_OFFLOAD), 0);
	assert_int_equal(filters_told(0), 1);
	rig_close();
}

/* A queue with buffers for whole frames gathers none. */
static void
test_queue_info(void **state)
{
	struct rte_eth_rxq_info rx = {.scattered_rx = 7};

	(void)state;
	rig_open("");
	rig_start(0, 1, NULL);
	assert_int_equal(rte_eth_rx_queue_info_get(0, 0, &rx), 0);
	assert_int_equal(rx.scattered_rx, 0);
	assert_ptr_equal(rx.mp, rig_pool());
	assert_int_equal(rx.conf.rx_drop_en, 1);
	assert_int_equal(rx.conf.rx_deferred_start, 0);
	rig_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_vlan_offloads), cmocka_unit_test(test_queue_info)};

	if (rig_eal("mlx4_eth_ends", "0") < 0)
		return 1;
	return cmocka_run_group_tests_name("eth_ends", tests, NULL, NULL);
}
