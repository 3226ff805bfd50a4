/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The one UDP port of VXLAN that the ports of a card share: who wants it, who has it, and what happens when one of them goes. */
#include <errno.h>

#include "card_trace.h"
#include "rig.h"
#include "rte_pmd_mlx4.h"

#define IANA 4789u

static struct mlx4_eth *
eth_of(uint16_t port)
{
	return rte_eth_devices[port].data->dev_private;
}

static int
change(uint16_t port, bool add, uint16_t udp_port)
{
	struct rte_eth_udp_tunnel t = {.udp_port = udp_port, .prot_type = RTE_ETH_TUNNEL_TYPE_VXLAN};

	return add ? rte_eth_dev_udp_tunnel_port_add(port, &t) : rte_eth_dev_udp_tunnel_port_delete(port, &t);
}

/* Each offload of tunnels alone makes a port look for them; others do not. */
static void
test_offloads(void **state)
{
	static const struct {
		uint64_t rx, tx;
		bool tunnels;
	} t[] = {
		{0, 0, false},
		{RTE_ETH_RX_OFFLOAD_IPV4_CKSUM, RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, false},
		{RTE_ETH_RX_OFFLOAD_OUTER_IPV4_CKSUM, 0, true},
		{RTE_ETH_RX_OFFLOAD_OUTER_UDP_CKSUM, 0, true},
		{0, RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM, true},
		{0, RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO, true},
		{0, RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO, true},
	};
	unsigned int i, queue;

	for (i = 0; i < RTE_DIM(t); i++)
		for (queue = 0; queue < 2; queue++) {
			struct rte_eth_conf conf = {0};
			struct rte_eth_rxconf rxc = {.offloads = t[i].rx};
			struct rte_eth_txconf txc = {.offloads = t[i].tx};

			rig_open("");
			if (queue == 0) {
				conf.rxmode.offloads = t[i].rx;
				conf.txmode.offloads = t[i].tx;
			}
			/* Of the port, or of one of its queues */
			assert_int_equal(rte_eth_dev_configure(0, 2, 2, &conf), 0);
			for (uint16_t q = 0; q < 2; q++) {
				assert_int_equal(rte_eth_rx_queue_setup(0, q, RIG_DESC, SOCKET_ID_ANY,
									q != 0 ? &rxc : NULL, rig_pool()),
						 0);
				assert_int_equal(
					rte_eth_tx_queue_setup(0, q, RIG_DESC, SOCKET_ID_ANY, q != 0 ? &txc : NULL), 0);
			}
			assert_int_equal(rte_eth_dev_start(0), 0);
			assert_int_equal(eth_of(0)->tunnels, t[i].tunnels);
			assert_int_equal(eth_of(0)->hca->tunnel.users, t[i].tunnels ? 1u << 1 : 0);
			if (t[i].tunnels)
				assert_int_equal(eth_of(0)->hca->tunnel.udp_port, IANA);
			rig_close();
		}
}

static void
test_shared(void **state)
{
	static const struct rte_eth_conf outer = {.txmode.offloads = RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM};
	struct card_trace t;
	struct mlx4_hca *hca;
	uint16_t port = 1;

	rig_open_pair("", 1, &outer);
	hca = eth_of(0)->hca;
	assert_int_equal(hca->tunnel.users, 1u << 2);
	assert_int_equal(hca->tunnel.udp_port, IANA);
	/* The other has it: only the same one can be added. */
	rig_log_begin();
	assert_int_equal(change(0, true, 5000), -EBUSY);
	rig_log_one("port 0: UDP port 5000 for VXLAN", "the other has 4789");
	assert_int_equal(rte_pmd_mlx4_vxlan_port_get(0, &port), 0);
	assert_int_equal(port, 0);
	assert_false(eth_of(0)->tunnels);
	assert_int_equal(change(0, true, IANA), 0);
	assert_int_equal(change(0, true, IANA), 0);
	assert_int_equal(hca->tunnel.users, 3u << 1);
	rig_log_begin();
	assert_int_equal(change(0, true, 5000), -EBUSY);
	rig_log_one("but it has 4789", "delete that first");
	rig_log_begin();
	assert_int_equal(change(0, false, 5000), -ENOENT);
	rig_log_one("UDP port 5000 for VXLAN was not added", "4789 was");
	/* It goes, and the card keeps the number for the other. */
	card_trace_begin(&t, rig_model(0));
	assert_int_equal(change(0, false, IANA), 0);
	card_trace_end(&t);
	assert_int_equal(card_trace_count(&t, "CONFIG_DEV"), 0);
	assert_int_equal(card_trace_count(&t, "SET_PORT"), 1);
	card_trace_free(&t);
	assert_int_equal(hca->tunnel.users, 1u << 2);
	assert_false(eth_of(0)->tunnels);
	/* A port without any: nothing to delete. */
	assert_int_equal(change(0, false, IANA), -ENOENT);
	/* The other goes, and with it its word. */
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_dev_close(1), 0);
	assert_int_equal(hca->tunnel.users, 0);
	assert_int_equal(change(0, true, 5000), 0);
	assert_int_equal(hca->tunnel.udp_port, 5000);
	assert_int_equal(hca->tunnel.users, 1u << 1);
	assert_int_equal(rte_pmd_mlx4_vxlan_port_get(0, &port), 0);
	assert_int_equal(port, 5000);
	rig_no_violations(0);
	rig_unplug(RIG_DEV);
}

/* A port that starts later takes the UDP port that the other has; what the card refuses changes nothing. */
static void
test_later(void **state)
{
	struct rte_eth_conf outer = {.rxmode.offloads = RTE_ETH_RX_OFFLOAD_OUTER_IPV4_CKSUM};
	struct mlx4_hca *hca;
	uint16_t port = 1;

	rig_open("");
	hca = eth_of(0)->hca;
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_CONFIG_DEV, 1, MLX4_STAT_BAD_PARAM), 0);
	assert_true(change(0, true, 5000) < 0);
	tp_model_fault(rig_model(0), TP_FAULT_STATUS, 0, 0, 0);
	assert_int_equal(rte_pmd_mlx4_vxlan_port_get(0, &port), 0);
	assert_int_equal(port, 0);
	assert_int_equal(hca->tunnel.users, 0);
	assert_false(eth_of(0)->tunnels);
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_SET_PORT, 1, MLX4_STAT_BAD_PARAM), 0);
	assert_true(change(0, true, 5000) < 0);
	tp_model_fault(rig_model(0), TP_FAULT_STATUS, 0, 0, 0);
	assert_int_equal(hca->tunnel.users, 0);
	assert_false(eth_of(0)->tunnels);
	assert_int_equal(change(0, true, 5000), 0);
	assert_int_equal(rig_configure(1, 1, 1, &outer, rig_pool()), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	assert_true(eth_of(1)->tunnels);
	assert_int_equal(hca->tunnel.udp_port, 5000);
	assert_int_equal(hca->tunnel.users, 3u << 1);
	rig_close();
}

static void
test_refusals(void **state)
{
	struct rte_eth_udp_tunnel t = {.udp_port = 6081, .prot_type = RTE_ETH_TUNNEL_TYPE_GENEVE};
	uint16_t port;

	rig_open("");
	rig_log_begin();
	assert_int_equal(rte_eth_dev_udp_tunnel_port_add(0, &t), -ENOTSUP);
	rig_log_one("tunnels of type", "(VXLAN)");
	rig_log_begin();
	assert_int_equal(change(0, true, 0), -EINVAL);
	rig_log_one("UDP port 0", "wanted 1..65535");
	rig_close();
	rig_open("type=cx3");
	rig_log_begin();
	assert_int_equal(change(0, true, IANA), -ENOTSUP);
	rig_log_one("knows no tunnels", "a ConnectX-3 Pro does");
	assert_int_equal(rte_pmd_mlx4_vxlan_port_get(0, &port), -ENOTSUP);
	rig_close();
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offloads),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_later),
		cmocka_unit_test(test_refusals),
	};

	if (rig_eal("mlx4_tunnel_ports", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-tunnel-ports", tests, NULL, NULL);
}
