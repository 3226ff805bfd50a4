/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What old firmware is refused or limited to, at each version that counts and right below it; both versions are named. */
#include <stdlib.h>

#include "rig.h"
#include "rte_pmd_mlx4_qos.h"
#include "tp_roce.h"

/* Plugs a card with this firmware; did the driver say a line with all three? */
static bool
says(const char *fw, const char *more, const char *what, const char *needed)
{
	char text[128], found[64], *log, *line, *save = NULL;
	unsigned int lines;
	bool said = false;

	snprintf(text, sizeof(text), "fw=%s,wire0=loopback%s", fw, more);
	snprintf(found, sizeof(found), "firmware %s ", fw);
	rig_log_begin();
	rig_open(text);
	log = rig_log_end(&lines);
	for (line = strtok_r(log, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
		said |= strstr(line, found) != NULL && strstr(line, what) != NULL && strstr(line, needed) != NULL;
	free(log);
	return said;
}

static enum tp_roce_mode
roce_mode(void)
{
	struct ibv_context *ctx;
	enum tp_roce_mode mode;

	rig_start(0, 1, NULL);
	ctx = tp_roce_open(0, NULL);
	assert_non_null(ctx);
	mode = tp_roce_mode_get(ctx);
	assert_int_equal(tp_roce_close_device(ctx), 0);
	return mode;
}

static void
test_card(void **state)
{
	rig_log_begin();
	assert_int_not_equal(rig_plug(RIG_DEV, "run=step,fw=2.30.7999"), 0);
	rig_log_one("firmware 2.30.7999 is too old", "2.30.8000");
	assert_true(says("2.30.8000", "", "works", "2.42.5000"));
	rig_close();
	assert_true(says("2.40.7000", "", "works", "2.42.5000"));
	rig_close();
	assert_false(says("2.42.5000", "", "", ""));
	rig_close();
}

static void
test_roce_v1(void **state)
{
	assert_true(says("2.30.2999", ",check-fw-version=0", "RoCE v1", "2.30.3000 is needed"));
	rig_close();
	assert_false(says("2.30.3000", ",check-fw-version=0", "RoCE v1", "2.30.3000 is needed"));
	rig_close();
}

static void
test_roce_v2(void **state)
{
	assert_true(says("2.31.5049", "", "RoCE v2", "2.31.5050 is needed"));
	assert_int_equal(roce_mode(), TP_ROCE_V1);
	rig_close();
	assert_false(says("2.31.5050", "", "RoCE v2", ""));
	assert_int_equal(roce_mode(), TP_ROCE_V2);
	rig_close();
	/* Who asks for it may try. */
	assert_true(says("2.31.5049", ",check-fw-version=0", "RoCE v2", "2.31.5050 is needed; it is tried"));
	assert_int_equal(roce_mode(), TP_ROCE_V2);
	rig_close();
	/* A card that has no v2 lacks nothing. */
	assert_false(says("2.31.5049", ",type=cx3", "RoCE v2", ""));
	rig_close();
}

static void
test_dscp(void **state)
{
	struct tp_qos_limits lim;

	assert_true(says("2.30.7999", ",check-fw-version=0", "DSCP", "2.30.8000 is needed"));
	assert_int_equal(rte_pmd_mlx4_qos_limits(0, &lim), 0);
	assert_false(lim.dscp);
	rig_close();
	assert_false(says("2.30.8000", "", "DSCP", ""));
	assert_int_equal(rte_pmd_mlx4_qos_limits(0, &lim), 0);
	assert_true(lim.dscp);
	rig_close();
}

static void
test_dropless(void **state)
{
	char err[TP_ERR_LEN];

	assert_true(says("2.31.5049", "", "dropless", "2.31.5050 is needed"));
	rig_start(0, 1, NULL);
	assert_true(rte_pmd_mlx4_dropless_set(0, 0, 5, err) < 0);
	assert_non_null(strstr(err, "firmware 2.31.5049 has none, 2.31.5050 is needed"));
	rig_close();
	assert_false(says("2.31.5050", "", "dropless", ""));
	rig_start(0, 1, NULL);
	assert_int_equal(rte_pmd_mlx4_dropless_set(0, 0, 5, err), 0);
	rig_close();
}

/* Advertised, trained and shown at the official speed; 0 without a link. Older firmware gets 40 of the same cable. */
static void
check_speed(const char *fw, bool has_56g)
{
	struct rte_pmd_mlx4_device d;
	struct rte_eth_dev_info info;
	struct rte_eth_link link;

	assert_int_equal(says(fw, ",rate0=56000", "56 GbE", "2.31.5050 is needed"), !has_56g);
	assert_int_equal(rte_eth_dev_info_get(0, &info), 0);
	assert_int_equal((info.speed_capa & RTE_ETH_LINK_SPEED_56G) != 0, has_56g);
	assert_true((info.speed_capa & RTE_ETH_LINK_SPEED_40G) != 0);
	rig_start(0, 1, NULL);
	assert_int_equal(rte_eth_link_get_nowait(0, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
	assert_int_equal(link.link_speed, has_56g ? 56000 : 40000);
	assert_int_equal(rte_pmd_mlx4_device_get(0, &d), 0);
	assert_int_equal(d.speed_mbps, link.link_speed);
	assert_int_equal(rte_pmd_mlx4_model_cable(0, false), 0);
	assert_int_equal(rte_eth_link_get_nowait(0, &link), 0);
	assert_int_equal(link.link_speed, 0);
	assert_int_equal(rte_pmd_mlx4_device_get(0, &d), 0);
	assert_int_equal(d.speed_mbps, 0);
	rig_close();
}

static void
test_56g(void **state)
{
	check_speed("2.31.5050", true);
	check_speed("2.31.5049", false);
	check_speed("2.42.5000", true);
}

/* A warning: the card is asked for nothing that older firmware would refuse. */
static void
test_packet_direct(void **state)
{
	assert_true(says("2.36.5149", "", "packet direct", "2.36.5150 is needed"));
	rig_close();
	assert_false(says("2.36.5150", "", "packet direct", ""));
	rig_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_card),          cmocka_unit_test(test_roce_v1),  cmocka_unit_test(test_roce_v2),
		cmocka_unit_test(test_dscp),          cmocka_unit_test(test_dropless), cmocka_unit_test(test_56g),
		cmocka_unit_test(test_packet_direct),
	};

	if (rig_eal("ut-fw-needs", "0") < 0)
		return 1;
	return cmocka_run_group_tests_name("mlx4-fw-needs", tests, NULL, NULL);
}
