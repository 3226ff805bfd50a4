/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a port tells those who look after it, against what the card itself counted and what was done to it. */
#include <errno.h>

#include <rte_flow.h>

#include "drivers/mlx4/hca/core.h"
#include "report/rte_pmd_mlx4_report.h"
#include "rig.h"

static int
setup(void **state)
{
	rig_open_pair("", 1, NULL);
	/* Events of the start are answered with commands. */
	rig_settle(0);
	return 0;
}

/* --- commands ----------------------------------------------------------------------------------------------- */

static const struct rte_pmd_mlx4_command *
command(uint16_t opcode)
{
	static struct rte_pmd_mlx4_command list[RTE_PMD_MLX4_COMMANDS];
	int n = rte_pmd_mlx4_commands_get(0, list, RTE_DIM(list)), i;

	assert_in_range(n, 1, RTE_DIM(list));
	for (i = 0; i < n; i++) {
		assert_true(i == 0 || list[i].opcode > list[i - 1].opcode);
		assert_in_range(list[i].worst_ns, list[i].total_ns / list[i].count, list[i].total_ns);
		if (list[i].opcode == opcode)
			return &list[i];
	}
	return NULL;
}

static void
sums(uint64_t *count, uint64_t *failed)
{
	struct rte_pmd_mlx4_command list[RTE_PMD_MLX4_COMMANDS];
	int n = rte_pmd_mlx4_commands_get(0, list, RTE_DIM(list)), i;

	*count = *failed = 0;
	for (i = 0; i < n; i++) {
		*count += list[i].count;
		*failed += list[i].failed;
		assert_int_equal(list[i].unanswered, 0);
	}
}

/* The card's own counts are the judge. */
static void
test_commands(void **state)
{
	struct tp_model_stats st;
	uint64_t count, failed;
	struct rte_eth_link link;
	unsigned int i;

	tp_model_get_stats(rig_model(0), &st);
	sums(&count, &failed);
	assert_int_equal(count, st.commands);
	assert_int_equal(failed, st.commands_failed);
	assert_int_equal(rte_pmd_mlx4_commands_reset(0), 0);
	sums(&count, &failed);
	assert_int_equal(count, 0);
	for (i = 0; i < 7; i++)
		rte_eth_link_get_nowait(0, &link);
	assert_int_equal(command(MLX4_CMD_QUERY_PORT)->count, 7);
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_SET_PORT, 1, MLX4_STAT_BAD_PARAM), 0);
	assert_true(rte_eth_dev_set_mtu(0, 1400) < 0);
	assert_int_equal(rte_eth_dev_set_mtu(0, 1400), 0);
	assert_string_equal(command(MLX4_CMD_QUERY_PORT)->name, "QUERY_PORT");
	assert_int_equal(command(MLX4_CMD_QUERY_PORT)->failed, 0);
	assert_int_equal(command(MLX4_CMD_SET_PORT)->failed, 1);
	assert_true(command(MLX4_CMD_SET_PORT)->count >= 2);
	assert_null(command(MLX4_CMD_NOP));
	i = (unsigned int)st.commands;
	tp_model_get_stats(rig_model(0), &st);
	sums(&count, &failed);
	assert_int_equal(count, st.commands - i);
	assert_true(rte_pmd_mlx4_commands_get(0, NULL, 0) >= 2);
	assert_int_equal(rte_pmd_mlx4_commands_get(31, NULL, 0), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_commands_reset(31), -ENODEV);
}

/* The same among the extended statistics, which begin at zero with all others. */
static void
test_xstats(void **state)
{
	struct tp_model_stats before, now;
	uint64_t seen;

	assert_int_equal(rte_eth_stats_reset(0), 0);
	tp_model_get_stats(rig_model(0), &before);
	assert_int_equal(rig_xstat(0, "device_command_failures"), 0);
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_SET_PORT, 1, MLX4_STAT_BAD_PARAM), 0);
	assert_true(rte_eth_dev_set_mtu(0, 1400) < 0);
	assert_int_equal(rig_xstat(0, "device_command_failures"), 1);
	seen = rig_xstat(0, "device_commands");
	tp_model_get_stats(rig_model(0), &now);
	assert_in_range(now.commands - before.commands, seen, seen + 1); /* reading them is one, too */
	assert_int_equal(now.commands_failed - before.commands_failed, 1);
}

static void
test_unanswered(void **state)
{
	const struct rte_pmd_mlx4_command *c;

	rig_kill_card(TP_FAULT_TIMEOUT); /* with the card's counters */
	c = command(MLX4_CMD_DUMP_ETH_STATS);
	assert_int_equal(c->unanswered, 1);
	assert_int_equal(c->failed, 0);
	assert_in_range(c->worst_ns, 100000000, UINT64_MAX); /* half of the time that it had */
}

/* --- resources ---------------------------------------------------------------------------------------------- */

static struct rte_pmd_mlx4_resource
resource_of(uint16_t port, const char *name)
{
	static struct rte_pmd_mlx4_resource list[RTE_PMD_MLX4_RESOURCES];
	int n = rte_pmd_mlx4_resources_get(port, list, RTE_DIM(list)), i;

	for (i = 0; i < n; i++) {
		assert_true(list[i].limit == 0 ||
			    list[i].used + (list[i].of_card ? 0 : list[i].reserved) <= list[i].limit);
		if (strcmp(list[i].name, name) == 0)
			return list[i];
	}
	fail_msg("no %s", name);
	return list[0];
}

static struct rte_pmd_mlx4_resource
resource(const char *name)
{
	return resource_of(0, name);
}

/* What the card has is counted there, too; what the port has was put there here. */
static void
test_resources(void **state)
{
	struct rte_ether_addr mac = {{0x02, 0, 0, 0, 0, 0x77}}, mc = {{0x01, 0, 0x5e, 0, 0, 1}};
	const uint32_t special = resource("queue-pairs").used;
	/* The card's own: special queue pairs beside QP0 and QP1 of both, the event queue of all events, the key and domain of queues. */
	static const struct {
		const char *name;
		uint32_t own;
	} shared[] = {{"queue-pairs", 4},    {"completion-queues", 0}, {"shared-receive-queues", 0},
		      {"event-queues", 1},   {"memory-keys", 1},       {"protection-domains", 0},
		      {"doorbell-pages", 0}, {"steering-rules", 0}};
	struct tp_model_stats st;
	uint32_t mine, seen;
	unsigned int i;

	tp_model_get_stats(rig_model(0), &st);
	assert_int_equal(resource("completion-queues").used, st.cqs);
	assert_int_equal(resource("event-queues").used, st.eqs);
	assert_int_equal(resource("memory-keys").used, st.mpts);
	assert_true(special >= st.qps);
	assert_int_equal(resource("addresses").used, 1);
	assert_int_equal(resource("addresses").limit, 127);
	assert_int_equal(rte_eth_dev_mac_addr_add(0, &mac, 0), 0);
	assert_int_equal(resource("addresses").used, 2);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(0, &mc, 1), 0);
	assert_int_equal(resource("multicast-addresses").used, 1);
	assert_int_equal(resource("receive-queues").used, 1);
	/* A limit is what can be had, and no more. */
	assert_int_equal(rte_eth_dev_set_vlan_offload(0, RTE_ETH_VLAN_FILTER_OFFLOAD), 0);
	assert_int_equal(resource("vlans").used, 0);
	for (i = 1; i <= resource("vlans").limit; i++)
		assert_int_equal(rte_eth_dev_vlan_filter(0, (uint16_t)i, 1), 0);
	assert_int_equal(resource("vlans").used, 127);
	rig_log_begin();
	assert_int_equal(rte_eth_dev_vlan_filter(0, (uint16_t)i, 1), -ENOSPC);
	rig_log_one("VLAN 128", "127 entries");
	/* What belongs to a port is one of the card's; what no port has is the card's own. */
	tp_model_get_stats(rig_model(0), &st);
	assert_int_equal(resource("steering-rules").used, st.rules);
	for (i = 0; i < RTE_DIM(shared); i++) {
		const struct rte_pmd_mlx4_resource a = resource_of(0, shared[i].name),
						   b = resource_of(1, shared[i].name);

		assert_true(a.by_port && b.by_port);
		assert_int_equal(a.used, b.used);
		assert_int_equal(a.used - a.port_used - b.port_used, shared[i].own);
	}
	/* Stopping gives back what the model had beside what stays. */
	mine = resource_of(1, "completion-queues").port_used;
	tp_model_get_stats(rig_model(0), &st);
	seen = st.cqs;
	rte_eth_dev_stop(1);
	tp_model_get_stats(rig_model(0), &st);
	/* All that the card lost was that port's. */
	assert_int_equal(mine - resource_of(1, "completion-queues").port_used, seen - st.cqs);
	assert_int_equal(resource_of(1, "steering-rules").port_used, 0);
	assert_int_equal(resource("steering-rules").port_used, st.rules);
	assert_int_equal(resource("completion-queues").used, st.cqs);
	assert_true(resource("queue-pairs").used < special);
	assert_int_equal(rte_pmd_mlx4_resources_get(31, NULL, 0), -ENODEV);
}

/* --- links -------------------------------------------------------------------------------------------------- */

static struct rte_pmd_mlx4_link
link_is(enum rte_pmd_mlx4_link_reason reason, const char *name)
{
	struct rte_pmd_mlx4_link l;

	assert_int_equal(rte_pmd_mlx4_link_get(0, &l), 0);
	assert_int_equal(l.reason, reason);
	assert_string_equal(rte_pmd_mlx4_link_reason_name(l.reason), name);
	assert_true(l.text[0] != '\0');
	assert_int_equal(l.speed_mbps != 0, reason == RTE_PMD_MLX4_LINK_UP);
	return l;
}

static void
test_link(void **state)
{
	struct rte_pmd_mlx4_link l = link_is(RTE_PMD_MLX4_LINK_UP, "up");

	assert_string_equal(l.module, "QSFP+");
	assert_string_equal(l.part, "MODEL-CABLE-1M");
	assert_true(l.autoneg && l.autoneg_done);
	assert_int_equal(rte_eth_dev_set_link_down(0), 0);
	link_is(RTE_PMD_MLX4_LINK_SET_DOWN, "set-down");
	assert_int_equal(rte_eth_dev_set_link_up(0), 0);
	/* The peer's port is closed: a cable, and no signal. */
	assert_int_equal(rte_eth_dev_stop(1), 0);
	l = link_is(RTE_PMD_MLX4_LINK_NO_SIGNAL, "no-signal");
	assert_string_equal(l.sensed, "");
	assert_false(l.autoneg_done);
	assert_int_equal(tp_model_cable(rig_model(0), 1, false), 0);
	assert_string_equal(link_is(RTE_PMD_MLX4_LINK_NO_MODULE, "no-module").module, "none");
	assert_int_equal(tp_model_cable_unsupported(rig_model(0), 1), 0);
	rig_settle(0);
	l = link_is(RTE_PMD_MLX4_LINK_BAD_MODULE, "bad-module");
	assert_int_equal(l.bad_modules, 1);
	/* Another one in its place. */
	assert_int_equal(tp_model_cable(rig_model(0), 1, false), 0);
	link_is(RTE_PMD_MLX4_LINK_NO_MODULE, "no-module");
	assert_int_equal(tp_model_cable(rig_model(0), 1, true), 0);
	link_is(RTE_PMD_MLX4_LINK_NO_SIGNAL, "no-signal");
	assert_int_equal(rte_eth_dev_start(1), 0);
	link_is(RTE_PMD_MLX4_LINK_UP, "up");
	assert_int_equal(rte_eth_dev_stop(0), 0);
	link_is(RTE_PMD_MLX4_LINK_STOPPED, "stopped");
	rig_kill_card(TP_FAULT_TIMEOUT);
	assert_int_equal(rte_eth_dev_start(0) == 0, 0);
	link_is(RTE_PMD_MLX4_LINK_CARD_DEAD, "card-dead");
	assert_string_equal(rte_pmd_mlx4_link_reason_name(RTE_PMD_MLX4_LINK_REASONS), "");
	assert_int_equal(rte_pmd_mlx4_link_get(31, &l), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_model_cable_unsupported(31), -ENODEV);
	assert_int_equal(tp_model_cable_unsupported(rig_model(0), 3), -EINVAL);
}

/* The peer offers one speed: the port has it, or one that its firmware is too old for. */
static void
test_link_speeds(void **state)
{
	struct rte_pmd_mlx4_link l;
	char text[32];

	rig_open_pair("fw=2.30.8000", 1, NULL);
	rig_settle(0);
	l = link_is(RTE_PMD_MLX4_LINK_UP, "up");
	rte_pmd_mlx4_link_speeds_text(l.speeds, text, sizeof(text));
	assert_string_equal(text, "0.1, 1, 10, 20, 40");
	assert_int_equal(l.peer_speeds, l.speeds);
	assert_int_equal(rte_pmd_mlx4_model_peer_speed(0, 56000), 0);
	rig_settle(0);
	l = link_is(RTE_PMD_MLX4_LINK_NO_AGREEMENT, "no-agreement");
	assert_int_equal(l.peer_speeds, RTE_ETH_LINK_SPEED_56G);
	assert_non_null(strstr(l.text, "offers 56 GbE"));
	assert_non_null(strstr(l.text, "0.1, 1, 10, 20, 40 GbE"));
	/* Nobody is there: that nothing is plugged in comes first. */
	assert_int_equal(tp_model_cable(rig_model(0), 1, false), 0);
	assert_int_equal(link_is(RTE_PMD_MLX4_LINK_NO_MODULE, "no-module").peer_speeds, 0);
	assert_int_equal(tp_model_cable(rig_model(0), 1, true), 0);
	assert_int_equal(rte_pmd_mlx4_model_peer_speed(0, 10000), 0);
	rig_settle(0);
	assert_int_equal(link_is(RTE_PMD_MLX4_LINK_UP, "up").peer_speeds, RTE_ETH_LINK_SPEED_10G);
	assert_int_equal(rte_pmd_mlx4_model_peer_speed(0, 0), 0);
	assert_int_equal(link_is(RTE_PMD_MLX4_LINK_UP, "up").peer_speeds, l.speeds);
	assert_int_equal(rte_pmd_mlx4_model_peer_speed(0, 25000), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_model_peer_speed(31, 0), -ENODEV);
	/* Firmware that refuses the command tells no speeds, and all else as before. */
	tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_ACCESS_REG, 1, MLX4_STAT_BAD_OP);
	assert_int_equal(link_is(RTE_PMD_MLX4_LINK_UP, "up").speeds, 0);
	rig_close();
}

/* The text ends where there is no more place. */
static void
test_speeds_text(void **state)
{
	char text[4] = "xyz";

	rte_pmd_mlx4_link_speeds_text(RTE_ETH_LINK_SPEED_40G, text, 0);
	assert_string_equal(text, "xyz");
	rte_pmd_mlx4_link_speeds_text(0, text, sizeof(text));
	assert_string_equal(text, "");
	rte_pmd_mlx4_link_speeds_text(RTE_ETH_LINK_SPEED_1G | RTE_ETH_LINK_SPEED_10G, text, sizeof(text));
	assert_string_equal(text, "1, ");
}

/* A peer of InfiniBand, with a cable; and one of Ethernet that does not negotiate. */
static void
test_link_sensed(void **state)
{
	rig_open("port0=auto,port1=auto,sense0=ib,sense1=eth,port-type0=eth,port-type1=eth,wire0=cross");
	rig_start(0, 1, NULL);
	rig_settle(0);
	assert_string_equal(link_is(RTE_PMD_MLX4_LINK_OTHER_TYPE, "other-type").sensed, "InfiniBand");
	rig_close();
	rig_open("port0=auto,port1=auto,sense0=eth,sense1=eth,port-type0=eth,port-type1=eth,wire0=cross");
	rig_start(0, 1, NULL);
	rig_settle(0);
	assert_string_equal(link_is(RTE_PMD_MLX4_LINK_NO_AGREEMENT, "no-agreement").sensed, "Ethernet");
	rig_close();
}

/* A port of both types that was made Ethernet, without a cable. */
static void
test_link_senses(void **state)
{
	rig_open("port0=auto,port1=auto,sense0=ib,sense1=eth,port-type0=eth,port-type1=eth,wire0=none,wire1=none");
	rig_start(0, 1, NULL);
	assert_string_equal(link_is(RTE_PMD_MLX4_LINK_NO_MODULE, "no-module").sensed, "InfiniBand");
	rig_close();
}

/* --- filters ------------------------------------------------------------------------------------------------ */

static struct rte_pmd_mlx4_filter filter;

static void
test_filter(void **state)
{
	struct rte_ether_addr mac = {{0x02, 0, 0, 0, 0, 0x77}}, mc = {{0x01, 0, 0x5e, 0, 0, 1}}, own = rig_mac(0);
	struct rte_flow_error e;

	assert_int_equal(rte_pmd_mlx4_filter_get(0, &filter), 0);
	assert_false(filter.promiscuous || filter.all_multicast || filter.isolated || filter.vlan_filter);
	assert_int_equal(filter.num_unicast, 1);
	assert_memory_equal(filter.unicast[0], &own, sizeof(own));
	assert_int_equal(rte_eth_dev_mac_addr_add(0, &mac, 0), 0);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(0, &mc, 1), 0);
	assert_int_equal(rte_eth_promiscuous_enable(0), 0);
	assert_int_equal(rte_eth_allmulticast_enable(0), 0);
	assert_int_equal(rte_pmd_mlx4_filter_get(0, &filter), 0);
	assert_true(filter.promiscuous && filter.all_multicast && !filter.multicast_over);
	assert_int_equal(filter.num_unicast, 2);
	assert_memory_equal(filter.unicast[1], &mac, sizeof(mac));
	assert_int_equal(filter.num_multicast, 1);
	assert_memory_equal(filter.multicast[0], &mc, sizeof(mc));
	assert_int_equal(rte_flow_isolate(0, 1, &e), 0);
	assert_int_equal(rte_pmd_mlx4_filter_get(0, &filter), 0);
	assert_true(filter.isolated);
	assert_int_equal(rte_flow_isolate(0, 0, &e), 0);
	assert_int_equal(rte_pmd_mlx4_filter_get(31, &filter), -ENODEV);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_commands, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_xstats, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_unanswered, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_resources, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_link, setup, rig_teardown),
		cmocka_unit_test(test_link_speeds),
		cmocka_unit_test(test_speeds_text),
		cmocka_unit_test(test_link_sensed),
		cmocka_unit_test(test_link_senses),
		cmocka_unit_test_setup_teardown(test_filter, setup, rig_teardown),
	};

	if (rig_eal("mlx4rep", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
