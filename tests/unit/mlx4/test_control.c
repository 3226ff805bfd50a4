/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A card's life on the stepped model: bring-up, every command refused once, time-outs, arguments, firmware, filters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "mlx4_prm_cmd.h"
#include "rig.h"
#include "rte_pmd_mlx4.h"

#define DEV "net_mlx4_model0"
#define COMMANDS_MAX 1000

static int
plug(const char *args)
{
	char text[256];

	snprintf(text, sizeof(text), "run=step%s%s", args[0] == '\0' ? "" : ",", args);
	return rte_eal_hotplug_add("vdev", DEV, text);
}

static void
unplug(void)
{
	assert_int_equal(rte_eal_hotplug_remove("vdev", DEV), 0);
	assert_int_equal(rte_eth_dev_count_avail(), 0);
}

static size_t
heap_in_use(void)
{
	struct rte_malloc_socket_stats st;

	assert_int_equal(rte_malloc_get_socket_stats(0, &st), 0);
	return st.heap_allocsz_bytes;
}

static void
no_violations(uint16_t port)
{
	struct rte_pmd_mlx4_model m;

	assert_int_equal(rte_pmd_mlx4_model_get(port, &m), 0);
	if (m.violations != 0)
		fail_msg("%s", m.last_violation);
}

static void
test_bring_up(void **state)
{
	struct rte_pmd_mlx4_device d;
	struct rte_ether_addr mac;
	uint64_t t;
	int i;

	for (i = 0; i < 3; i++) {
		t = rte_get_tsc_cycles();
		assert_int_equal(plug(""), 0);
		t = (rte_get_tsc_cycles() - t) * 1000 / rte_get_tsc_hz();
		print_message("bring-up: %u ms\n", (unsigned int)t);
		assert_int_equal(rte_eth_dev_count_avail(), 2);
		assert_int_equal(rte_pmd_mlx4_device_get(0, &d), 0);
		assert_string_equal(d.fw_version, "2.42.5000");
		assert_int_equal(d.device_id, 0x1007);
		assert_int_equal(d.port_guid, d.node_guid + 1);
		assert_int_equal(d.system_guid, d.node_guid + 3);
		assert_int_equal(rte_eth_macaddr_get(0, &mac), 0);
		assert_memory_equal(mac.addr_bytes, d.mac, 6);
		no_violations(0);
		unplug();
	}
}

/* Whatever command is refused, the probe ends with an error or a card that works, and nothing stays behind. */
static void
refuse_each(const char *status)
{
	size_t before;
	char args[64];
	int n, rc;

	assert_int_equal(plug(""), 0);
	unplug();
	before = heap_in_use();
	for (n = 1; n < COMMANDS_MAX; n++) {
		struct rte_pmd_mlx4_device d = {0};
		static const char *const name[] = {
#define NAME(c, opc, in, out) #c,
			MLX4_CMD_LIST(NAME)
#undef NAME
		};

		if ((size_t)n > RTE_DIM(name))
			break;
		snprintf(args, sizeof(args), status == NULL ? "timeout=%s:1" : "fail=%s:1:%s", name[n - 1], status);
		rc = plug(args);
		if (rc == 0) {
			assert_int_equal(rte_pmd_mlx4_device_get(0, &d), 0);
			unplug();
		}
		assert_int_equal(rte_eth_dev_count_avail(), 0);
		assert_int_equal(heap_in_use(), before);
		assert_int_equal(plug(""), 0);
		no_violations(0);
		unplug();
	}
}

static void
test_each_command_refused(void **state)
{
	refuse_each("1");
}

static void
test_timeouts(void **state)
{
	size_t before = heap_in_use();

	assert_int_not_equal(plug("timeout=RUN_FW:1"), 0);
	assert_int_not_equal(plug("timeout=SW2HW_EQ:3"), 0);
	assert_int_equal(plug("timeout=UNMAP_ICM:1"), 0);
	unplug();
	assert_int_equal(heap_in_use(), before);
	assert_int_equal(plug(""), 0);
	unplug();
}

static void
test_arguments(void **state)
{
	static const char *const bad[] = {
		"type=x",
		"fw=2.1",
		"fw=2.42.5000.1",
		"fw=2.42.70000",
		"guid=0",
		"ports=3",
		"ports=0",
		"port0=x",
		"wire0=x",
		"wire0=ethdev:",
		"wire0=ethdev:none_such",
		"impair0=drop:2000000",
		"impair0=x:1",
		"fail=INIT_HCA",
		"fail=NONE:1:1",
		"fail=INIT_HCA:0:1",
		"fail=INIT_HCA:1:256",
		"timeout=INIT_HCA:x",
		"cpu=-1",
		"wake-us=0",
		"wake-us=1000001",
		"bf=2",
		"tx-inline=105",
		"rss-udp=yes",
		"mac-loopback=",
		"unknown=1",
		"bf=0,bf=1",
		"ports=1,wire0=cross",
		"wire0=cross,wire1=none",
		"ports=1,wire1=loopback",
	};
	size_t before = heap_in_use();
	unsigned int i;

	for (i = 0; i < RTE_DIM(bad); i++) {
		if (plug(bad[i]) == 0)
			fail_msg("%s was taken", bad[i]);
		assert_int_equal(rte_eth_dev_count_avail(), 0);
		assert_int_equal(heap_in_use(), before);
	}
}

static void
test_firmware(void **state)
{
	assert_int_not_equal(plug("fw=2.30.7999"), 0);
	assert_int_equal(plug("fw=2.30.8000"), 0);
	unplug();
	assert_int_equal(plug("fw=2.9.1,check-fw-version=0"), 0);
	unplug();
}

static void
test_same_guid(void **state)
{
	assert_int_equal(plug("guid=0x10"), 0);
	assert_int_not_equal(rte_eal_hotplug_add("vdev", "net_mlx4_model1", "run=step,guid=0x10"), 0);
	assert_int_equal(rte_eal_hotplug_add("vdev", "net_mlx4_model1", "run=step,guid=0x20"), 0);
	assert_int_equal(rte_eth_dev_count_avail(), 4);
	assert_int_equal(rte_eal_hotplug_remove("vdev", "net_mlx4_model1"), 0);
	unplug();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bring_up), cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_firmware), cmocka_unit_test(test_same_guid),
		cmocka_unit_test(test_timeouts), cmocka_unit_test(test_each_command_refused),
	};

	if (rig_eal("mlx4ctl", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
