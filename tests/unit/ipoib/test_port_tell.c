/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What DPDK's telemetry tells of IPoIB ports and of pairs, through its socket. */
#include <inttypes.h>
#include <stdlib.h>

#include "port_rig.h"
#include "tests/unit/eal.h"
#include "tests/unit/telemetry_client.h"

#define IP_A PR_IP_A
#define IP_B PR_IP_B
#define COUNTERS "/triplane/ipoib/counters"

/* Of a number in the answer. */
static uint64_t
value(const char *answer, const char *name)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = strstr(answer, key);
	if (at == NULL)
		fail_msg("no %s in %s", name, answer);
	return strtoull(at + strlen(key), NULL, 10);
}

static void
is(const char *command, const char *want)
{
	assert_string_equal(tell_ask(command), want);
}

static void
test_ports(void **state)
{
	struct rte_ether_addr b_at_a, a_at_b;
	unsigned int asked;
	char command[64], want[128];
	uint16_t a, b;

	is("/triplane/ipoib/list", "{\"/triplane/ipoib/list\":[]}");
	pr_card(0, "");
	pr_manage(0, 1, NULL, 0);
	a = pr_plug("net_ipoib0", "port=" PR_PORT(1));
	b = pr_plug("net_ipoib1", "port=" PR_PORT(2));
	snprintf(want, sizeof(want), "{\"/triplane/ipoib/list\":[%u,%u]}", a, b);
	is("/triplane/ipoib/list", want);
	pr_both_up(a, b, 1, rig_pool());
	asked = pr_meet(a, IP_A, b, IP_B, &b_at_a, &a_at_b);
	pr_wait_xstat(a, "tx_arp", asked);
	snprintf(command, sizeof(command), COUNTERS ",%u", a);
	assert_int_equal(value(tell_ask(command), "tx_arp"), asked);
	assert_int_equal(value(tell_ask(command), "rx_learned"), 1);
	assert_int_equal(value(tell_ask(command), "card_req_timeouts"), 0);
	assert_int_equal(value(tell_ask(command), "card_resp_ud_dropped"), 0);
	/* No port, none of IPoIB, and no number. */
	is(COUNTERS, "{\"" COUNTERS "\":null}");
	is(COUNTERS ",x", "{\"" COUNTERS "\":null}");
	snprintf(command, sizeof(command), COUNTERS ",%ux", a);
	is(command, "{\"" COUNTERS "\":null}");
	snprintf(command, sizeof(command), COUNTERS ",%u", a + 65536);
	is(command, "{\"" COUNTERS "\":null}");
	snprintf(command, sizeof(command), COUNTERS ",%u", RTE_MAX_ETHPORTS);
	is(command, "{\"" COUNTERS "\":null}");
	snprintf(command, sizeof(command), COUNTERS ",%u", RTE_MAX_ETHPORTS - 1);
	is(command, "{\"" COUNTERS "\":null}");
	rig_unplug("net_ipoib0");
	rig_unplug("net_ipoib1");
	pr_unplug();
}

/* A pair is listed, and its counters are those of the port that carries. */
static void
test_pair(void **state)
{
	const struct rte_ether_addr none = {{0x02, 0, 0, 0, 0, 0x99}};
	struct tp_ipoib_pair_info info;
	struct rte_ether_addr mac;
	char command[64], want[128];
	uint16_t pair;

	pr_card(0, "");
	pr_manage(0, 1, NULL, 0);
	pair = pr_plug("net_ib_pair0", "failback=0,primary=" PR_PORT(1) ",backup=" PR_PORT(2));
	assert_int_equal(tp_ipoib_pair_info(pair, &info), 0);
	snprintf(want, sizeof(want), "{\"/triplane/ipoib/list\":[%u]}", pair);
	is("/triplane/ipoib/list", want);
	pr_start(pair, 1, 1, rig_pool());
	pr_wait_up(info.member[0]);
	pr_wait_up(info.member[1]);
	pr_wait_up(pair);
	assert_int_equal(tp_ipoib_pair_info(pair, &info), 0);
	mac = rig_mac(pair);
	/* A MAC that no neighbour has: dropped by who carries. */
	pr_send(pair, 0, pr_udp(&mac, &none, IP_A, IP_B, 100));
	pr_wait_xstat(info.member[info.active], "drop_tx_no_neighbour", 1);
	snprintf(command, sizeof(command), COUNTERS ",%u", pair);
	assert_int_equal(value(tell_ask(command), "drop_tx_no_neighbour"), 1);
	snprintf(command, sizeof(command), COUNTERS ",%u", info.member[info.active ^ 1]);
	assert_int_equal(value(tell_ask(command), "drop_tx_no_neighbour"), 0);
	rig_unplug("net_ib_pair0");
	pr_unplug();
}

int
main(void)
{
	static char arg[][32] = {"test",    "--no-huge", "-m", "512", "--no-pci", "--file-prefix=ipoib_port_tell",
				 "--lcores"};
	char *eal[RTE_DIM(arg) + 2] = {NULL};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_pair),
	};
	unsigned int i;
	int rc;

	for (i = 0; i < RTE_DIM(arg); i++)
		eal[i] = arg[i];
	eal[i++] = unit_lcores("0");
	if (rte_eal_init((int)i, eal) < 0)
		return 1;
	rc = cmocka_run_group_tests_name("ipoib-port_tell", tests, tell_dial, tell_hang_up);
	rte_eal_cleanup(); /* the socket goes */
	return rc;
}
