/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a port says of its queues, its module and its light, with frames at known places. */
#include <errno.h>

#include "drivers/mlx4/hca/core.h"
#include "rig.h"
#include "rte_pmd_mlx4_queue.h"

static int
setup(void **state)
{
	rig_open_pair("", 1, NULL);
	return 0;
}

static void
test_rx_load(void **state)
{
	struct rte_pmd_mlx4_rx_load load;
	struct rte_ether_addr mac = rig_mac(1);
	unsigned int i;

	for (i = 0; i < 40; i++)
		rig_send(0, rig_frame(&mac, RIG_FRAME));
	assert_int_equal(rte_pmd_mlx4_rx_load_get(1, 0, &load), 0);
	assert_true(load.started);
	assert_int_equal(load.descriptors, RIG_DESC);
	assert_int_equal(load.waiting, 40);
	assert_int_equal(rte_eth_rx_queue_count(1, 0), 40);
	assert_int_equal(load.posted, RIG_DESC);
	assert_int_equal(load.packets, 0);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 39), RTE_ETH_RX_DESC_DONE);
	assert_int_equal(rte_eth_rx_descriptor_status(1, 0, 40), RTE_ETH_RX_DESC_AVAIL);
	assert_int_equal(rig_drain(1, 0), 40);
	assert_int_equal(rte_pmd_mlx4_rx_load_get(1, 0, &load), 0);
	assert_int_equal(load.waiting, 0);
	assert_int_equal(load.packets, 40);
	assert_int_equal(load.nombuf, 0);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_pmd_mlx4_rx_load_get(1, 0, &load), 0);
	assert_false(load.started);
	assert_int_equal(load.waiting + load.posted, 0);
	assert_int_equal(rte_pmd_mlx4_rx_load_get(1, 1, &load), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_rx_load_get(1, UINT16_MAX, &load), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_rx_load_get(31, 0, &load), -ENODEV);
}

static void
test_tx_load(void **state)
{
	struct rte_pmd_mlx4_tx_load load;
	struct rte_ether_addr mac = rig_mac(1);
	struct rte_mbuf *m[32];
	unsigned int i;

	/* The card does not move: what is posted stays. */
	for (i = 0; i < RTE_DIM(m); i++)
		m[i] = rig_frame(&mac, RIG_FRAME);
	assert_int_equal(rte_eth_tx_burst(0, 0, m, RTE_DIM(m)), RTE_DIM(m));
	assert_int_equal(rte_pmd_mlx4_tx_load_get(0, 0, &load), 0);
	assert_true(load.started);
	assert_int_equal(load.descriptors, RIG_DESC);
	assert_int_equal(load.used, RTE_DIM(m)); /* a frame in one buffer takes one block */
	assert_in_range(load.room, RIG_DESC / 2, RIG_DESC);
	assert_int_equal(load.packets, RTE_DIM(m));
	assert_int_equal(rte_eth_tx_descriptor_status(0, 0, RTE_DIM(m) - 1), RTE_ETH_TX_DESC_FULL);
	assert_int_equal(rte_eth_tx_descriptor_status(0, 0, RTE_DIM(m)), RTE_ETH_TX_DESC_DONE);
	rig_run(0);
	assert_int_equal(rte_eth_tx_done_cleanup(0, 0, 0), RTE_DIM(m));
	assert_int_equal(rte_pmd_mlx4_tx_load_get(0, 0, &load), 0);
	assert_int_equal(load.used, 0);
	assert_int_equal(rig_drain(1, 0), RTE_DIM(m));
	assert_int_equal(rte_pmd_mlx4_tx_load_get(0, 7, &load), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_tx_load_get(31, 0, &load), -ENODEV);
}

/* The checksums of SFF-8636, over bytes 128..190 and 192..222. */
static void
check_sums(const uint8_t e[256])
{
	uint8_t base = 0, ext = 0;
	unsigned int i;

	for (i = 128; i < 191; i++)
		base += e[i];
	for (i = 192; i < 223; i++)
		ext += e[i];
	assert_int_equal(e[191], base);
	assert_int_equal(e[223], ext);
}

static void
test_module(void **state)
{
	struct rte_eth_dev_module_info info;
	uint8_t whole[256], part[100];
	struct rte_dev_eeprom_info ee = {.data = whole, .length = sizeof(whole)};

	assert_int_equal(rte_eth_dev_get_module_info(0, &info), 0);
	assert_int_equal(info.type, RTE_ETH_MODULE_SFF_8636);
	assert_int_equal(info.eeprom_len, sizeof(whole));
	assert_int_equal(rte_eth_dev_get_module_eeprom(0, &ee), 0);
	assert_int_equal(whole[0], 0x0d); /* QSFP+ */
	assert_int_equal(whole[128], 0x0d);
	assert_int_equal(whole[131] & 0x08, 0x08); /* 40GBASE-CR4 */
	assert_memory_equal(whole + 148, "Triplane        ", 16);
	check_sums(whole);
	/* Any part, also one that is no multiple of what a command brings. */
	ee = (struct rte_dev_eeprom_info){.data = part, .offset = 131, .length = sizeof(part)};
	assert_int_equal(rte_eth_dev_get_module_eeprom(0, &ee), 0);
	assert_memory_equal(part, whole + 131, sizeof(part));
	/* Ends of a cable are told apart. */
	ee = (struct rte_dev_eeprom_info){.data = part, .offset = 196, .length = 16};
	assert_int_equal(rte_eth_dev_get_module_eeprom(1, &ee), 0);
	assert_memory_not_equal(part, whole + 196, 16);
	rig_log_begin();
	ee = (struct rte_dev_eeprom_info){.data = part, .offset = 200, .length = 57};
	assert_int_equal(rte_eth_dev_get_module_eeprom(0, &ee), -EINVAL);
	rig_log_one("57 bytes from 200", "it has 256");
	assert_int_equal(rte_pmd_mlx4_model_cable(0, false), 0);
	rig_log_begin();
	assert_int_equal(rte_eth_dev_get_module_info(0, &info), -ENODEV);
	rig_log_one("EEPROM", "nothing is plugged in");
	assert_int_equal(rte_pmd_mlx4_model_cable(0, true), 0);
	assert_int_equal(rte_eth_dev_get_module_info(0, &info), 0);
}

/* Resources as PCI has them: a name, what is read only with a sum of zero, an end. */
static void
test_vpd(void **state)
{
	struct rte_dev_eeprom_info ee = {0};
	uint8_t whole[128], part[9], sum = 0;
	int len = rte_eth_dev_get_eeprom_length(0), i;

	assert_in_range(len, 32, sizeof(whole));
	ee = (struct rte_dev_eeprom_info){.data = whole, .length = (uint32_t)len};
	assert_int_equal(rte_eth_dev_get_eeprom(0, &ee), 0);
	assert_int_equal(ee.magic, 0x15b3); /* whose it is: the vendor's number */
	assert_int_equal(whole[0], 0x82);
	assert_int_equal(whole[3 + whole[1]], 0x90);
	assert_int_equal(whole[len - 1], 0x78);
	for (i = 0; i < len - 1; i++)
		sum += whole[i];
	assert_int_equal(sum, 0);
	assert_non_null(strstr((char *)whole + 6 + whole[1], "MCX354A"));
	/* Any part of it, of either port; none behind its end. */
	ee = (struct rte_dev_eeprom_info){.data = part, .offset = 6, .length = sizeof(part)};
	assert_int_equal(rte_eth_dev_get_eeprom(1, &ee), 0);
	assert_memory_equal(part, whole + 6, sizeof(part));
	ee = (struct rte_dev_eeprom_info){.data = part, .offset = (uint32_t)len - 8, .length = sizeof(part)};
	rig_log_begin();
	assert_int_equal(rte_eth_dev_get_eeprom(0, &ee), -EINVAL);
	rig_log_one("9 bytes", "product data");
}

static void
test_flash_is_refused(void **state)
{
	uint8_t data[8] = {0};
	struct rte_dev_eeprom_info ee = {.data = data, .length = sizeof(data)};

	rig_log_begin();
	assert_int_equal(rte_eth_dev_set_eeprom(0, &ee), -ENOTSUP);
	rig_log_one("flash", "no command");
}

static uint32_t
beacon(uint16_t port)
{
	struct tp_model_stats st;

	tp_model_get_stats(rig_model(port), &st);
	return st.port[port].beacon_s;
}

static void
test_led(void **state)
{
	assert_int_equal(rte_eth_led_on(1), 0);
	assert_true(beacon(1) > 0);
	assert_int_equal(beacon(0), 0);
	assert_int_equal(rte_eth_led_off(1), 0);
	assert_int_equal(beacon(1), 0);
}

/* Firmware without it, as the model's is at first. */
static void
test_no_wake_on_lan(void **state)
{
	struct rte_pmd_mlx4_device d;
	bool on;

	assert_int_equal(rte_pmd_mlx4_device_get(0, &d), 0);
	assert_false(d.wake_on_lan);
	assert_false(d.wake_on_lan_set);
	assert_int_equal(rte_pmd_mlx4_wake_on_lan_get(0, &on), -ENOTSUP);
	assert_int_equal(rte_pmd_mlx4_wake_on_lan_set(0, true), -ENOTSUP);
	assert_int_equal(rte_pmd_mlx4_wake_on_lan_set(31, true), -ENODEV);
}

static bool
wakes(uint16_t port)
{
	struct rte_pmd_mlx4_device d;
	bool on;

	assert_int_equal(rte_pmd_mlx4_wake_on_lan_get(port, &on), 0);
	assert_int_equal(rte_pmd_mlx4_device_get(port, &d), 0);
	assert_true(d.wake_on_lan);
	assert_int_equal(d.wake_on_lan_set, on);
	return on;
}

static void
test_wake_on_lan(void **state)
{
	struct mlx4_hca *hca;
	uint64_t v = 0;

	rig_open("wol=1");
	hca = ((struct mlx4_eth *)rte_eth_devices[0].data->dev_private)->hca;
	assert_false(wakes(0));
	assert_int_equal(rte_pmd_mlx4_wake_on_lan_set(1, true), 0);
	assert_false(wakes(0));
	assert_true(wakes(1));
	/* As the reference has it: op_modifier 3 asks, group 5 and the port; bits 62 and 61. */
	assert_int_equal(mlx4_cmd_imm(hca, MLX4_CMD_MOD_STAT_CFG, 3, 0x50000200, 0, &v), 0);
	assert_int_equal(v, UINT64_C(3) << 61);
	/* Without bit 63 nothing is set. */
	assert_int_equal(mlx4_cmd_imm(hca, MLX4_CMD_MOD_STAT_CFG, 1, 0x50000200, 0, NULL), 0);
	assert_true(wakes(1));
	/* The card keeps it over its reset. */
	mlx4_hca_mark_dead(hca, "the test says so");
	assert_int_equal(rte_eth_dev_reset(0), 0);
	assert_true(wakes(1));
	assert_int_equal(rte_pmd_mlx4_wake_on_lan_set(1, false), 0);
	assert_false(wakes(1));
	rig_no_violations(0);
	/* What the model does not take. */
	assert_int_not_equal(mlx4_cmd_imm(hca, MLX4_CMD_MOD_STAT_CFG, 1, 0x50000200, 1, NULL), 0);
	assert_int_not_equal(mlx4_cmd_imm(hca, MLX4_CMD_MOD_STAT_CFG, 1, 0x50000300, UINT64_C(7) << 61, NULL), 0);
	assert_int_not_equal(mlx4_cmd_imm(hca, MLX4_CMD_MOD_STAT_CFG, 3, 0x50000208, 0, &v), 0);
	assert_false(wakes(0) || wakes(1));
	rig_unplug(RIG_DEV);
}

/* The card fails: nothing is said to be set. */
static void
test_wake_on_lan_fails(void **state)
{
	rig_open("wol=1");
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_MOD_STAT_CFG, 1, MLX4_STAT_BAD_OP), 0);
	assert_true(rte_pmd_mlx4_wake_on_lan_set(0, true) < 0);
	assert_false(wakes(0));
	rig_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rx_load, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_tx_load, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_module, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_vpd, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_flash_is_refused, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_led, setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_no_wake_on_lan, setup, rig_teardown),
		cmocka_unit_test(test_wake_on_lan),
		cmocka_unit_test(test_wake_on_lan_fails),
	};

	if (rig_eal("mlx4int", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
