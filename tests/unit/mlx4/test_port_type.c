/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ethernet or InfiniBand: what a port becomes by device argument, by the wire and by what the card has stored. */
#include <errno.h>
#include <stdlib.h>

#include "card_trace.h"
#include "drivers/mlx4/hca/core.h"
#include "drivers/mlx4/hca/port/type.h"
#include "rig.h"
#include "tp_roce.h"

#define BOTH "port0=auto,port1=auto"
#define IB_NAME(port) RIG_DEV "/" #port

static struct mlx4_hca *
hca_of(uint16_t port)
{
	return ((struct mlx4_eth *)rte_eth_devices[port].data->dev_private)->hca;
}

/* Bit n: port n + 1 is listed as an InfiniBand port. */
static unsigned int
listed_ib(void)
{
	struct ibv_device **list;
	unsigned int ib = 0;
	int n, i;

	list = tp_roce_get_device_list(&n);
	assert_non_null(list);
	for (i = 0; i < n; i++)
		ib |= strcmp(list[i]->name, IB_NAME(1)) == 0 ? 1u : strcmp(list[i]->name, IB_NAME(2)) == 0 ? 2u : 0;
	tp_roce_free_device_list(list);
	return ib;
}

static void
check_types(const char *args, unsigned int ib, unsigned int ports)
{
	rig_open(args);
	if (listed_ib() != ib || rte_eth_dev_count_avail() != ports - (unsigned int)__builtin_popcount(ib))
		fail_msg("%s: InfiniBand ports 0x%x, wanted 0x%x; %u Ethernet ports", args, listed_ib(), ib,
			 rte_eth_dev_count_avail());
	rig_unplug(RIG_DEV);
}

/* --- the choice ------------------------------------------------------------------------------------------------- */

static void
test_asked(void **state)
{
	/* Whatever the wire says and the card has stored. */
	check_types(BOTH ",sense0=ib,sense1=ib,stored0=ib,stored1=ib,port-type0=eth,port-type1=eth", 0, 2);
	check_types(BOTH ",sense0=eth,sense1=eth,port-type0=ib,port-type1=ib", 3, 2);
	check_types(BOTH ",port-type0=ib,port-type1=eth", 1, 2);
	check_types(BOTH ",port-type0=eth,port-type1=ib", 2, 2);
	check_types("ports=1,port0=auto,port-type0=ib", 1, 1);
	/* A port that can be one only may be asked for that. */
	check_types("port0=eth,port1=ib,port-type0=eth,port-type1=ib", 2, 2);
}

static void
test_sensed(void **state)
{
	check_types(BOTH ",sense0=ib,sense1=ib", 3, 2);
	check_types(BOTH ",sense0=eth,sense1=ib,port-type0=auto,port-type1=auto", 2, 2);
	check_types(BOTH ",sense0=ib,sense1=eth,stored0=eth,stored1=ib", 1, 2);
	check_types("port0=auto,port1=ib,sense0=eth", 2, 2);
	/* One asked, the other sensed. */
	check_types(BOTH ",sense0=eth,sense1=ib,port-type0=ib", 3, 2);
}

static void
test_stored(void **state)
{
	check_types(BOTH ",sense0=none,sense1=none", 0, 2);
	check_types(BOTH ",sense0=none,sense1=none,stored0=ib,stored1=ib", 3, 2);
	check_types(BOTH ",sense0=none,sense1=eth,stored0=ib", 1, 2);
	/* A firmware that fails to sense. */
	check_types(BOTH ",sense0=eth,sense1=eth,stored0=ib,fail=SENSE_PORT:1:1", 1, 2);
}

/* What the wire itself says. */
static void
test_wires(void **state)
{
	check_types(BOTH ",wire0=ibswitch:pt,wire1=switch:pte", 1, 2);
	check_types(BOTH ",wire0=switch:pte,wire1=ibswitch:pt", 2, 2);
	check_types("port0=auto,port1=ib,wire0=cross,wire1=cross", 3, 2);
	check_types("port0=ib,port1=auto,wire0=cross,wire1=cross,stored1=eth", 3, 2);
	check_types("port0=auto,port1=eth,wire0=cross,wire1=cross,stored0=ib", 0, 2);
	/* Nobody has decided: neither port of a cable between both, nor one that hears itself. */
	check_types(BOTH ",wire0=cross,wire1=cross,stored0=ib,stored1=ib", 3, 2);
	check_types(BOTH ",wire0=loopback,wire1=none,stored0=ib", 1, 2);
}

/* --- refused ---------------------------------------------------------------------------------------------------- */

static void
refused(const char *args, const char *word1, const char *word2)
{
	size_t before = rig_heap();
	char text[256];

	snprintf(text, sizeof(text), "run=step,%s", args);
	rig_log_begin();
	assert_int_not_equal(rig_plug(RIG_DEV, text), 0);
	rig_log_one(word1, word2);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
	assert_int_equal(listed_ib(), 0);
	assert_int_equal(rig_heap(), before);
}

static void
test_refused(void **state)
{
	refused("port-type0=fddi", "port-type0=fddi", "wanted eth, ib or auto");
	refused("sense1=x", "sense1=x", "wanted wire, none, eth or ib");
	refused("stored0=auto", "stored0=auto", "wanted eth or ib");
	refused("port-type0=ib", "port-type0=ib", "port 1 can be eth only");
	refused("port1=ib,port-type1=eth", "port-type1=eth", "port 2 can be ib only");
	refused("ports=1,port-type1=eth", "port-type1=eth", "the card has 1 port(s)");
}

/* Cards that lack something, by the report of one that does not. */
static void
test_pairs(void **state)
{
	static const uint8_t both_auto[MLX4_MAX_PORTS];
	static const uint8_t eth_ib[MLX4_MAX_PORTS] = {MLX4_PORT_WANT_ETH, MLX4_PORT_WANT_IB};
	static const uint8_t ib_eth[MLX4_MAX_PORTS] = {MLX4_PORT_WANT_IB, MLX4_PORT_WANT_ETH};
	static const uint8_t eth_eth[MLX4_MAX_PORTS] = {MLX4_PORT_WANT_ETH, MLX4_PORT_WANT_ETH};
	const uint64_t one_type = ~(UINT64_C(1) << MLX4_DEV_FLAG_DPDP), blind = ~(UINT64_C(1) << MLX4_DEV_FLAG_SENSE);
	struct mlx4_hca *hca;
	uint64_t flags;

	rig_open(BOTH ",sense0=eth,sense1=ib,port-type1=eth");
	hca = hca_of(0);
	flags = hca->caps.flags;
	assert_int_equal(mlx4_port_types_choose(hca, both_auto), 0);
	assert_int_equal(hca->ib_ports, 2);
	assert_int_equal(hca->sensed_ports, 3);
	assert_int_equal(mlx4_port_types_choose(hca, eth_ib), 0);
	assert_int_equal(hca->sensed_ports, 0);
	/* Port 1 without RoCE beside InfiniBand on port 2. */
	hca->caps.roce = false;
	rig_log_begin();
	assert_int_equal(mlx4_port_types_choose(hca, both_auto), -ENOTSUP);
	rig_log_one("[port-type-refused] port 1 is eth without RoCE", "as the wires say");
	rig_log_begin();
	assert_int_equal(mlx4_port_types_choose(hca, eth_ib), -ENOTSUP);
	rig_log_one("[port-type-refused] port 1 is eth without RoCE", "port 2 ib; wanted RoCE");
	assert_int_equal(mlx4_port_types_choose(hca, ib_eth), 0);
	assert_int_equal(mlx4_port_types_choose(hca, eth_eth), 0);
	hca->caps.roce = true;
	/* Firmware for one type a card. */
	hca->caps.flags = flags & one_type;
	rig_log_begin();
	assert_int_equal(mlx4_port_types_choose(hca, ib_eth), -EINVAL);
	rig_log_one("port 1 is ib and port 2 eth,", "one type for both");
	assert_int_equal(mlx4_port_types_choose(hca, eth_eth), 0);
	/* Firmware that cannot sense: both are stored as Ethernet. */
	hca->caps.flags = flags & blind;
	assert_int_equal(mlx4_port_types_choose(hca, both_auto), 0);
	assert_int_equal(hca->ib_ports, 0);
	hca->caps.flags = flags;
	rig_close();
}

/* --- life ------------------------------------------------------------------------------------------------------- */

static unsigned int events;

static void
on_event(uint16_t port, enum rte_pmd_mlx4_qos_event event, uint16_t index, const char *text, void *arg)
{
	assert_int_equal(event, RTE_PMD_MLX4_EVENT_PORT_TYPE_REFUSED);
	assert_string_equal(rte_pmd_mlx4_qos_event_name(event), "port-type-refused");
	assert_non_null(strstr(text, "RoCE off"));
	events++;
}

/* An application that wants port 1 without RoCE: v1 where the types were asked for, else it is refused. */
static void
test_roce_off(void **state)
{
	struct tp_roce_conf off = {.mode = TP_ROCE_OFF};
	struct ibv_context *ctx;

	rig_open(BOTH ",wire0=loopback,port-type0=eth,port-type1=ib");
	rig_start(0, 1, NULL);
	ctx = tp_roce_open(0, &off);
	assert_non_null(ctx);
	assert_int_equal(tp_roce_mode_get(ctx), TP_ROCE_V1);
	assert_int_equal(tp_roce_close_device(ctx), 0);
	rig_close();

	rig_open(BOTH ",wire0=loopback,sense0=eth,sense1=ib");
	rig_start(0, 1, NULL);
	assert_int_equal(rte_pmd_mlx4_qos_on_event(0, on_event, NULL), 0);
	events = 0;
	errno = 0;
	assert_null(tp_roce_open(0, &off));
	assert_int_equal(errno, ENOTSUP);
	assert_int_equal(events, 1);
	/* With RoCE the pair is fine. */
	ctx = tp_roce_open(0, NULL);
	assert_non_null(ctx);
	assert_int_equal(tp_roce_mode_get(ctx), TP_ROCE_V2);
	assert_int_equal(tp_roce_close_device(ctx), 0);
	rig_close();
}

static unsigned int
times_sensed(const struct card_trace *t)
{
	const char *p = t->text;
	unsigned int n = 0;

	for (; p != NULL && (p = strstr(p, "SENSE_PORT(")) != NULL; p++)
		n++;
	return n;
}

/* The wire is asked at start only: not when the cable is pulled, nor at the port's start, nor after a reset of the card. */
static void
test_once(void **state)
{
	struct card_trace t;
	uint32_t type;

	rig_open(BOTH ",sense0=eth,sense1=eth,wire0=loopback,wire1=loopback");
	assert_int_equal(hca_of(0)->sensed_ports, 3);
	card_trace_begin(&t, rig_model(0));
	rig_start(0, 1, NULL);
	assert_int_equal(rte_pmd_mlx4_model_cable(0, false), 0);
	rig_run(0);
	assert_int_equal(rte_pmd_mlx4_model_cable(0, true), 0);
	rig_run(0);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	mlx4_hca_mark_dead(hca_of(0), "the test says so");
	assert_int_equal(rte_eth_dev_reset(0), 0);
	rig_start(0, 1, NULL);
	fflush(t.f);
	assert_int_equal(times_sensed(&t), 0);
	assert_int_equal(mlx4_port_sense(hca_of(0), 1, &type), 0);
	assert_int_equal(type, MLX4_SENSE_ETH);
	card_trace_end(&t);
	assert_in_range(times_sensed(&t), 1, 2);
	card_trace_free(&t);
	rig_close();
}

/* Ports that could be both carry what they became: InfiniBand links train, Ethernet frames arrive. */
static void
test_carries(void **state)
{
	struct ibv_port_attr a;
	struct ibv_context *ctx[2];
	unsigned int i;

	rig_open(BOTH ",wire0=cross,wire1=cross,port-type0=ib,port-type1=ib");
	for (i = 0; i < 2; i++) {
		ctx[i] = tp_roce_open_ib(i == 0 ? IB_NAME(1) : IB_NAME(2), NULL);
		assert_non_null(ctx[i]);
	}
	for (i = 0; i < 2; i++) {
		assert_int_equal(tp_roce_query_port(ctx[i], 1, &a), 0);
		assert_int_equal(a.link_layer, IBV_LINK_LAYER_INFINIBAND);
		assert_int_equal(a.state, IBV_PORT_INIT);
	}
	for (i = 0; i < 2; i++)
		assert_int_equal(tp_roce_close_device(ctx[i]), 0);
	rig_unplug(RIG_DEV);

	rig_open(BOTH ",wire0=cross,wire1=cross,stored0=ib,stored1=ib,port-type0=eth,port-type1=eth");
	rig_start(0, 1, NULL);
	rig_start(1, 1, NULL);
	assert_int_equal(rig_reaches(&rte_eth_devices[1].data->mac_addrs[0]), 1);
	rig_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asked),    cmocka_unit_test(test_sensed),  cmocka_unit_test(test_stored),
		cmocka_unit_test(test_wires),    cmocka_unit_test(test_refused), cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_roce_off), cmocka_unit_test(test_once),    cmocka_unit_test(test_carries),
	};

	if (rig_eal("ut-port-type", "0") < 0)
		return 1;
	return cmocka_run_group_tests_name("mlx4-port-type", tests, NULL, NULL);
}
