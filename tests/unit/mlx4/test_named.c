/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Counters by their names, each with a cause of its own: frames with tags, frames too long for their buffers, failed queues. */
#include "drivers/mlx4/health/health.h"
#include "drivers/mlx4/rx/queue.h"
#include "rig.h"

static struct mlx4_rx_ring *
ring(uint16_t port)
{
	struct mlx4_eth *eth = rte_eth_devices[port].data->dev_private;

	return &eth->rxqs[0]->set->ring[0];
}

static int
setup(void **state)
{
	rig_open_pair("", 1, NULL);
	return 0;
}

/* Of tests that break rules. */
static int
unplug(void **state)
{
	rig_unplug(RIG_DEV);
	return 0;
}

/* On both sides; what the card inserts is a tag, too. */
static void
test_vlan_frames(void **state)
{
	static const char *const name[] = {"tx_port_vlan_packets", "rx_port_vlan_packets"};
	struct rte_ether_addr dst = rig_mac(1);
	uint16_t i;

	for (i = 0; i < 5; i++) {
		struct rte_mbuf *m = rig_frame(&dst, RIG_FRAME);

		m->vlan_tci = 7;
		m->ol_flags |= i < 3 ? RTE_MBUF_F_TX_VLAN : 0;
		rig_send(0, m);
	}
	assert_int_equal(rig_drain(1, 0), 5);
	for (i = 0; i < 2; i++) {
		assert_int_equal(rig_xstat(i, name[i]), 3);
		assert_int_equal(rig_xstat(!i, name[i]), 0);
	}
	assert_int_equal(rig_xstat(0, "tx_q0_bytes"), 5 * RIG_FRAME);
	assert_int_equal(rig_xstat(1, "rx_q0_bytes"), 5 * RIG_FRAME + 3 * RTE_VLAN_HLEN);
}

/* Frames that are longer than their buffers, which no queue of this driver has for the port's MTU. */
static void
test_length(void **state)
{
	struct rte_ether_addr dst = rig_mac(1);
	struct rte_eth_stats st;
	unsigned int i;

	for (i = 0; i <= ring(1)->mask; i++)
		ring(1)->wqes[i].byte_count = rte_cpu_to_be_32(100);
	for (i = 0; i < 3; i++)
		rig_send(0, rig_frame(&dst, 101));
	rig_send(0, rig_frame(&dst, 100));
	assert_int_equal(rig_drain(1, 0), 1);
	assert_int_equal(rig_xstat(1, "rx_port_length_discards"), 3);
	assert_int_equal(rig_xstat(1, "rx_q0_errors"), 3);
	assert_int_equal(rte_eth_stats_get(1, &st), 0);
	assert_int_equal(st.ierrors, 3);
	assert_int_equal(st.ipackets, 1);
}

/* A receive queue that the card has failed, as it may not write the buffers: its port is restarted alone, and receives. */
static void
test_rx_error(void **state)
{
	struct rte_ether_addr mac = rig_mac(1);
	unsigned int i;

	for (i = 0; i <= ring(1)->mask; i++)
		ring(1)->wqes[i].lkey = ~ring(1)->wqes[i].lkey;
	assert_int_equal(rig_reaches(&mac), 0);
	rig_settle(0);
	for (i = 0; i < 2; i++)
		mlx4_health_look(rte_eth_devices[i].data->dev_private);
	assert_int_equal(rig_xstat(1, "health_rx_error"), 1);
	assert_int_equal(rig_xstat(1, "health_restarts"), 1);
	assert_int_equal(rig_xstat(0, "health_rx_error") + rig_xstat(0, "health_restarts"), 0);
	assert_int_equal(rig_reaches(&mac), 1);
	mlx4_health_look(rte_eth_devices[1].data->dev_private);
	assert_int_equal(rig_xstat(1, "health_restarts"), 1);
}

/* A command that the card did not answer: while it is given up it has no counters; after its reset they say what happened. */
static void
test_command(void **state)
{
	struct rte_eth_stats st;
	uint16_t i;

	rig_kill_card(TP_FAULT_TIMEOUT);
	rig_handled();
	for (i = 0; i < 2; i++) {
		mlx4_health_look(rte_eth_devices[i].data->dev_private);
		assert_int_equal(rte_eth_stats_get(i, &st), -EIO);
	}
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_dev_reset(0), 0);
	assert_int_equal(rig_xstat(0, "health_command"), 1);
	assert_int_equal(rig_xstat(1, "health_command"), 1);
	assert_int_equal(rig_xstat(0, "health_event") + rig_xstat(0, "health_restarts"), 0);
	assert_int_equal(rte_eth_xstats_reset(0), 0);
	assert_int_equal(rig_xstat(0, "health_command"), 0);
	assert_int_equal(rig_xstat(1, "health_command"), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_vlan_frames, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_length, setup, unplug),
		cmocka_unit_test_setup_teardown(test_rx_error, setup, unplug),
		cmocka_unit_test_setup_teardown(test_command, setup, unplug),
	};

	if (rig_eal("mlx4nam", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
