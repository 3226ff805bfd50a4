/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A card of each other variant under a driver that does not know it: what shows; then under one that was told. The text of
 * docs/fidelity.md is the measure of what shows.
 */
#include <errno.h>

#include <rte_flow.h>

#include "drivers/mlx4/bus/model_conf.h"
#include "drivers/mlx4/bus/open.h"
#include "drivers/mlx4/hca/core.h"
#include "drivers/mlx4/tx/queue.h"
#include "flow_rig.h"
#include "quirks_rig.h"
#include "tests/unit/model/frames.h"
#include "tests/unit/model/tunnel_frames.h"

#define SEM 0xf03fcu
#define QUERY_IF_STAT 0x054
#define IF_TX_FRAMES 0x20u

static struct mlx4_hca *
hca_of(uint16_t port)
{
	return ((struct mlx4_eth *)rte_eth_devices[port].data->dev_private)->hca;
}

/* --- bring-up ----------------------------------------------------------------------------------------------------- */

static void
test_bring_up(void **state)
{
	static const struct {
		const char *quirk, *word;
	} t[] = {
		{"F-1:b", "no event queue is left: the first free one is 32768"},
		{"F-1:c", "no event queue is left: the first free one is 255"},
		{"F-3:b", "CONF_SPECIAL_QP (0x023), op_modifier 0"},
		{"F-33:b", "QUERY_DEV_CAP answers with an empty mailbox, 3 times"},
	};
	unsigned int i, lines;
	char text[128], *log;

	for (i = 0; i < RTE_DIM(t); i++) {
		rig_log_begin();
		snprintf(text, sizeof(text), "run=step,model-quirks=%s", t[i].quirk);
		assert_int_not_equal(rig_plug(RIG_DEV, text), 0);
		log = rig_log_end(&lines);
		if (strstr(log, t[i].word) == NULL)
			fail_msg("%s: wanted '%s' in: %s", t[i].quirk, t[i].word, log);
		free(log);
		assert_int_equal(rte_eth_dev_count_avail(), 0);
		rig_open_pair(args_of(t[i].quirk, true, ""), 1, NULL);
		assert_int_equal(passes(), 1);
		away(true);
	}
}

/* Without the toggle bit the driver takes no command for done. */
static void
test_toggle(void **state)
{
	struct mlx4_model_conf conf = {.run = MODEL_RUN_STEP, .cpu = -1, .wake_us = 1000, .quirks = "F-24:b"};
	struct mlx4_hca_config config = {.check_fw = true};
	struct rte_device dev = {.name = "quirks"};
	struct mlx4_bus *bus;
	struct mlx4_hca *hca;
	unsigned int lines;
	char *log;

	tp_model_config_default(&conf.cfg);
	assert_int_equal(mlx4_bus_model_open(&dev, "quirks", &conf, &bus), 0);
	bus->cmd_timeout_ms = 50;
	rig_log_begin();
	assert_int_not_equal(mlx4_hca_open(bus, &config, &hca), 0);
	log = rig_log_end(&lines);
	assert_non_null(strstr(log, "QUERY_FW (0x004), in_modifier 0x0 was not answered"));
	free(log);
	bus->ops->close(bus);
	rig_open_pair(args_of("F-24:b", true, ""), 1, NULL);
	assert_int_equal(passes(), 1);
	away(true);
}

/* A card that was not reset has its semaphore still taken. */
static void
test_reset(void **state)
{
	static const char *const quirk[] = {"F-11:b", "F-11:c"};
	unsigned int i, told;

	for (i = 0; i < RTE_DIM(quirk); i++) {
		for (told = 0; told < 2; told++) {
			rig_open(args_of(quirk[i], told != 0, ""));
			assert_int_equal(tp_model_bar0_read32(rig_model(0), SEM), told ? 0 : 1);
			tp_model_bar0_write32(rig_model(0), SEM, 0);
			away(told != 0);
		}
	}
}

/* --- commands ------------------------------------------------------------------------------------------------------ */

static void
test_qp_commands(void **state)
{
	struct mlx4_eth *eth;
	unsigned int told, lines;
	char *log;

	for (told = 0; told < 2; told++) {
		rig_open_pair(args_of("F-2:b", told != 0, ""), 1, NULL);
		assert_int_equal(passes(), 1);
		rig_log_begin();
		assert_int_equal(rte_eth_dev_stop(1), 0);
		log = rig_log_end(&lines);
		assert_int_equal(strstr(log, "2RST_QP (0x021), op_modifier 2") != NULL, !told);
		free(log);
		away(told != 0);
	}
	for (told = 0; told < 2; told++) {
		rig_open_pair(args_of("F-25:b", told != 0, ""), 1, NULL);
		eth = rte_eth_devices[0].data->dev_private;
		rig_log_begin();
		assert_int_equal(mlx4_qp_flush(eth->hca, &eth->txqs[0]->qp), told ? 0 : -EINVAL);
		log = rig_log_end(&lines);
		assert_int_equal(strstr(log, "2ERR_QP (0x01e)") != NULL, !told);
		free(log);
		away(told != 0);
	}
}

static void
test_wake_on_lan(void **state)
{
	unsigned int lines;
	char *log;

	rig_open(args_of("F-10:b", false, "wol=1"));
	rig_log_begin();
	assert_int_equal(rte_pmd_mlx4_wake_on_lan_set(0, true), -EIO);
	log = rig_log_end(&lines);
	assert_non_null(strstr(log, "turned on, and the firmware says that it is off"));
	free(log);
	away(true);
	rig_open(args_of("F-10:b", true, "wol=1"));
	assert_int_equal(rte_pmd_mlx4_wake_on_lan_set(0, true), -ENOTSUP);
	away(true);
}

/* Frames that the interface counter of a port has counted, as the card says. */
static uint64_t
counted(unsigned int index)
{
	uint8_t box[64];

	assert_int_equal(mlx4_cmd(hca_of(0), QUERY_IF_STAT, 0, index, NULL, 0, box, sizeof(box)), 0);
	return prm_get64(box, IF_TX_FRAMES);
}

static void
test_counters(void **state)
{
	struct rte_ether_addr mac;
	unsigned int told;

	for (told = 0; told < 2; told++) {
		rig_open_pair(args_of("F-12:b", told != 0, ""), 1, NULL);
		mac = rig_mac(0);
		rig_send(1, rig_frame(&mac, 60));
		assert_int_equal(rig_drain(0, 0), 1);
		assert_int_equal(counted(1), told);
		assert_int_equal(counted(0), 1 - told);
		away(true);
	}
}

/* --- events ----------------------------------------------------------------------------------------------------------- */

static void
test_port_events(void **state)
{
	unsigned int told;

	for (told = 0; told < 2; told++) {
		rig_open_pair(args_of("F-16:b", told != 0, ""), 1, NULL);
		rig_handled();
		assert_int_equal(tp_model_cable(rig_model(1), 2, false), 0);
		rig_settle(0);
		assert_int_equal(rig_xstat(1, "link_down_events"), told);
		away(true);
	}
}

/* --- frames ------------------------------------------------------------------------------------------------------------ */

static void
test_blueflame(void **state)
{
	unsigned int told;

	for (told = 0; told < 2; told++) {
		rig_open_pair(args_of("F-31:b", told != 0, "bf=1"), 1, NULL);
		assert_int_equal(passes(), told);
		away(true);
	}
}

static struct rte_flow *
add(uint32_t prio, const struct rte_flow_item *items, uint16_t queue, char *why)
{
	const struct rte_flow_attr attr = {.ingress = 1, .priority = prio};
	struct rte_flow_error e = {0};
	unsigned int lines;
	struct rte_flow *f;

	rig_log_begin();
	f = rte_flow_create(1, &attr, items, ACTIONS(QUEUE(queue)), &e);
	free(rig_log_end(&lines));
	snprintf(why, 200, "%s", f == NULL && e.message != NULL ? e.message : "");
	return f;
}

static void
test_rule_order(void **state)
{
	unsigned int told;
	char why[200];

	for (told = 0; told < 2; told++) {
		rig_open_pair(args_of("F-38:b", told != 0, ""), 3, NULL);
		assert_non_null(add(5, TO_PORT(7), 1, why));
		assert_non_null(add(6, PATTERN(ITEM(ETH), ITEM(IPV4), ITEM(UDP)), 2, why));
		assert_int_equal(flow_queue_of_port(7, 3), told ? 1 : 2);
		assert_int_equal(flow_queue_of_port(8, 3), 2);
		away(true);
	}
}

static void
test_rule_without_address(void **state)
{
	unsigned int told;
	char why[200];

	for (told = 0; told < 2; told++) {
		rig_open_pair(args_of("F-40:b", told != 0, ""), 2, NULL);
		assert_int_equal(add(0, TO_PORT(7), 1, why) != NULL, told);
		assert_int_equal(flow_queue_of_port(7, 2) == 1, told);
		away(told != 0);
	}
}

/* UDP over IPv6 without payload, to port 7. */
static struct rte_mbuf *
udp6(void)
{
	struct rte_ether_addr mac = rig_mac(1);
	struct rte_mbuf *m = rig_frame(&mac, 62);
	uint8_t *h = rte_pktmbuf_mtod(m, uint8_t *);

	memset(h + 12, 0, 50);
	h[12] = 0x86, h[13] = 0xdd, h[14] = 0x60, h[19] = 8, h[20] = IPPROTO_UDP, h[21] = 64;
	h[22] = h[38] = 0xfd, h[37] = 1, h[53] = 2;
	h[57] = 7, h[59] = 8;
	return m;
}

static void
test_rule_l4(void **state)
{
	const struct rte_flow_item *v6 = PATTERN(ITEM(ETH), ITEM(IPV6), UDP_DST(7));
	struct rte_mbuf *got;
	unsigned int told;
	char why[200];

	/* The frame that the rule names goes where it would go without the rule. */
	rig_open_pair(args_of("F-41:b", false, ""), 2, NULL);
	assert_non_null(add(0, v6, 1, why));
	assert_int_equal(flow_queue_of(udp6(), 2, &got), 0);
	rte_pktmbuf_free(got);
	away(true);
	rig_open_pair("", 2, NULL);
	assert_non_null(add(0, v6, 1, why));
	assert_int_equal(flow_queue_of(udp6(), 2, &got), 1);
	rte_pktmbuf_free(got);
	away(true);
	for (told = 1; told < 2; told++) {
		rig_open_pair(args_of("F-41:b", true, ""), 2, NULL);
		assert_null(add(0, v6, 1, why));
		assert_non_null(strstr(why, "want ipv4 in front"));
		assert_non_null(add(0, TO_PORT(7), 1, why));
		assert_int_equal(flow_queue_of_port(7, 2), 1);
		away(true);
	}
}

/* --- tunnels ------------------------------------------------------------------------------------------------------- */

#define INNER_TCP 84u /* in vxlan_tcp4 */

static uint8_t published_key[40] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
				    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
				    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};
static const struct rte_eth_conf tunnels = {
	.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS,
		   .offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_OUTER_IPV4_CKSUM |
			       RTE_ETH_RX_OFFLOAD_OUTER_UDP_CKSUM},
	.rx_adv_conf.rss_conf = {.rss_key = published_key,
				 .rss_key_len = sizeof(published_key),
				 .rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |
					   RTE_ETH_RSS_LEVEL_INNERMOST}};

/* scapy's frame, with one octet changed, as it is received. */
static struct rte_mbuf *
tunnelled(uint32_t wrong)
{
	struct rte_ether_addr mac = rig_mac(1);
	struct rte_mbuf *m = rig_frame(&mac, sizeof(vxlan_tcp4)), *got = NULL;

	memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, 6), vxlan_tcp4 + 6, sizeof(vxlan_tcp4) - 6);
	if (wrong != 0)
		*rte_pktmbuf_mtod_offset(m, uint8_t *, wrong) ^= 1;
	flow_queue_of(m, 2, &got);
	assert_non_null(got);
	return got;
}

static void
test_tunnel_sums(void **state)
{
	const uint64_t sums = RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK |
			      RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD | RTE_MBUF_F_RX_OUTER_L4_CKSUM_MASK;
	const uint64_t good = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD;
	const uint64_t inner_bad = good | RTE_MBUF_F_RX_L4_CKSUM_BAD;
	const uint64_t outer_bad = good | RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD;
	unsigned int told;

	for (told = 0; told < 2; told++) {
		struct rte_mbuf *m;

		rig_open_pair(args_of("F-51:b", told != 0, ""), 2, &tunnels);
		m = tunnelled(INNER_TCP + 21);
		assert_int_equal((m->ol_flags & sums) == inner_bad, told);
		/* What is wrong inside looks wrong outside. */
		assert_int_equal((m->ol_flags & RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD) == 0, !told);
		rte_pktmbuf_free(m);
		m = tunnelled(19);
		assert_int_equal((m->ol_flags & sums) == outer_bad, told);
		rte_pktmbuf_free(m);
		m = tunnelled(0);
		assert_int_equal(m->ol_flags & sums, good | RTE_MBUF_F_RX_L4_CKSUM_GOOD);
		rte_pktmbuf_free(m);
		away(true);
	}
}

/* The hash that Microsoft publishes for the inner addresses and ports, or one of the outer ones. */
static void
test_inner_hash(void **state)
{
	unsigned int told;

	for (told = 0; told < 2; told++) {
		struct rte_mbuf *m;

		rig_open_pair(args_of("F-56:b", told != 0, ""), 2, &tunnels);
		m = tunnelled(0);
		assert_int_equal(m->hash.rss == 0x51ccc178, told);
		rte_pktmbuf_free(m);
		away(true);
	}
}

/* --- counters of bad frames ---------------------------------------------------------------------------------------- */

static void
test_short_frames(void **state)
{
	const struct tp_impair bad = {.short_ppm = 1000000, .corrupt_ppm = 1000000};
	struct rte_eth_stats st;
	unsigned int told;

	for (told = 0; told < 2; told++) {
		rig_open_pair(args_of("F-88:b", told != 0, ""), 1, NULL);
		assert_int_equal(tp_model_impair(rig_model(1), 2, &bad), 0);
		assert_int_equal(passes(), 0);
		assert_int_equal(rte_eth_stats_get(1, &st), 0);
		assert_int_equal(st.ierrors, told ? 1 : 2);
		away(true);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bring_up),    cmocka_unit_test(test_toggle),
		cmocka_unit_test(test_reset),       cmocka_unit_test(test_qp_commands),
		cmocka_unit_test(test_wake_on_lan), cmocka_unit_test(test_counters),
		cmocka_unit_test(test_port_events), cmocka_unit_test(test_blueflame),
		cmocka_unit_test(test_rule_order),  cmocka_unit_test(test_rule_without_address),
		cmocka_unit_test(test_rule_l4),     cmocka_unit_test(test_tunnel_sums),
		cmocka_unit_test(test_inner_hash),  cmocka_unit_test(test_short_frames),
	};

	if (rig_eal("quirks", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
