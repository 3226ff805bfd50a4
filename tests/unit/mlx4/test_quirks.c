/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A card of each other variant under a driver that does not know it: what shows; then under one that was told. The text of
 * docs/fidelity.md is the measure of what shows.
 */
#include <errno.h>
#include <stdlib.h>

#include <rte_flow.h>

#include "drivers/mlx4/bus/model_conf.h"
#include "drivers/mlx4/bus/open.h"
#include "drivers/mlx4/hca/core.h"
#include "drivers/mlx4/tx/queue.h"
#include "flow_rig.h"
#include "ib_rig.h"
#include "qos_tx_rig.h"
#include "roce_rig.h"
#include "tests/unit/model/frames.h"
#include "tests/unit/model/tunnel_frames.h"

#define SEM 0xf03fcu
#define QUERY_IF_STAT 0x054
#define IF_TX_FRAMES 0x20u

static const char *
args_of(const char *quirk, bool told, const char *more)
{
	static char text[200];

	snprintf(text, sizeof(text), "%s%smodel-quirks=%s%s%s", more, more[0] != '\0' ? "," : "", quirk,
		 told ? ",quirks=" : "", told ? quirk : "");
	return text;
}

/* A card that found nothing to complain about, when the driver was told. */
static void
away(bool told)
{
	unsigned int lines;

	if (told) {
		rig_close();
		return;
	}
	rig_log_begin();
	rig_unplug(RIG_DEV);
	free(rig_log_end(&lines));
	assert_int_equal(rte_mempool_in_use_count(rig_pool()), 0);
}

static struct mlx4_hca *
hca_of(uint16_t port)
{
	return ((struct mlx4_eth *)rte_eth_devices[port].data->dev_private)->hca;
}

static unsigned int
passes(void)
{
	struct rte_ether_addr mac = rig_mac(1);

	return rig_reaches(&mac);
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
		rig_run(0);
		rig_handled();
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

/* --- quality of service -------------------------------------------------------------------------------------------- */

/* A class that is to have nothing. */
static void
test_shares(void **state)
{
	char err[TP_ERR_LEN], *log;
	unsigned int told, lines;
	struct tp_qos_port q;
	int rc;

	for (told = 0; told < 2; told++) {
		rig_open_pair(args_of("F-69:b", told != 0, ""), 1, NULL);
		q = defaults();
		q.tc[1].tsa = q.tc[0].tsa = TP_TSA_ETS;
		q.tc[1].bw_pct = 100;
		q.tc[0].bw_pct = 0;
		rig_log_begin();
		rc = rte_pmd_mlx4_qos_set(0, &q, err);
		log = rig_log_end(&lines);
		assert_int_equal(rc == 0, told);
		assert_int_equal(strstr(log, "SET_PORT") != NULL, !told);
		free(log);
		assert_int_equal(passes(), 1);
		away(told != 0);
	}
}

/* Of two strict classes that have frames at once the higher one goes first. */
static void
test_group_order(void **state)
{
	struct tp_qos_port q;
	struct rte_mbuf *m[2];
	unsigned int told, i;
	uint16_t first;

	for (told = 0; told < 2; told++) {
		rig_open(args_of("F-70:b", told != 0, "rate0=100"));
		rig_start(0, 2, NULL);
		rig_start(1, 1, NULL);
		tp_model_set_time(rig_model(0), 0);
		q = defaults();
		q.prio_tc[6] = 6;
		q.tc[5].rate_mbps = 100; /* else the scheduler stays as it was after the reset */
		declare(&q);
		queue_prio(1, 6);
		/* The line is busy with the first frame until both queues have one more. */
		for (i = 0; i < 2; i++) {
			m[0] = udp(1);
			m[1] = udp(2);
			assert_int_equal(rte_eth_tx_burst(0, 0, &m[0], 1), 1);
			assert_int_equal(rte_eth_tx_burst(0, 1, &m[1], 1), 1);
		}
		rig_run(0);
		tp_model_set_time(rig_model(0), UINT64_C(1000000000));
		rig_run(0);
		for (i = 0, first = 0; rte_eth_rx_burst(1, 0, m, 1) == 1; i++) {
			const uint8_t *d = rte_pktmbuf_mtod(m[0], const uint8_t *);
			uint16_t port = (uint16_t)(d[12] == 0x81 ? d[40] << 8 | d[41] : d[36] << 8 | d[37]);

			/* Behind the one that was on the line already. */
			if (i == 1)
				first = port;
			rte_pktmbuf_free(m[0]);
		}
		assert_int_equal(i, 4);
		assert_int_equal(first, told ? 2 : 1);
		away(true);
	}
}

/* From port 1: priority 3 of port 0 waits for so many quanta (802.1Qbb). */
static void
pause_prio3(uint16_t quanta)
{
	static const uint8_t head[] = {0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 1, 1, 0, 8};
	struct rte_mbuf *m = rig_frame(&(struct rte_ether_addr){{0}}, 60);
	uint8_t *d = rte_pktmbuf_mtod(m, uint8_t *);

	memset(d, 0, 60);
	memcpy(d, head, sizeof(head));
	d[24] = (uint8_t)(quanta >> 8);
	d[25] = (uint8_t)quanta;
	rig_send(1, m);
}

/* A pause of priority 3 holds a queue of that priority. */
static void
test_force_prio(void **state)
{
	struct tp_qos_port q;
	unsigned int told;

	for (told = 0; told < 2; told++) {
		rig_open_pair(args_of("F-82:b", told != 0, ""), 1, NULL);
		tp_model_set_time(rig_model(0), 0);
		q = defaults();
		q.rx_pfc = 8;
		declare(&q);
		queue_prio(0, 3);
		pause_prio3(0xffff);
		rig_send(0, udp(7));
		assert_int_equal(rig_drain(1, 0), told ? 0 : 1);
		pause_prio3(0);
		assert_int_equal(rig_drain(1, 0), told);
		away(true);
	}
}

/* --- queue pairs --------------------------------------------------------------------------------------------------- */

static void
rr_away(bool told)
{
	rr_close_ports();
	away(told);
}

static int
resize(struct rr_end *b, int cqe)
{
	unsigned int lines;
	int rc;

	rig_log_begin();
	rc = tp_roce_resize_cq(b->cq, cqe);
	free(rig_log_end(&lines));
	return rc;
}

static void
messages(struct rr_end *a, struct rr_end *b, unsigned int n)
{
	while (n-- != 0) {
		assert_int_equal(rr_recv(b, 0, 64), 0);
		assert_int_equal(rr_send(a, 0, 64, 0), 0);
		rr_run();
		rr_expect(a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
		rr_expect(b, IBV_WC_SUCCESS, IBV_WC_RECV, 0);
	}
}

/* A message over a connection in VLAN 7: with a tag or without. */
static void
test_vlan(void **state)
{
	struct rr_end a, b;
	unsigned int told;
	uint64_t tagged;

	for (told = 0; told < 2; told++) {
		rr_open(args_of("F-13:b", told != 0, ""), NULL);
		rr_pair(&a, &b, IBV_QPT_RC, RR_VLAN_V2);
		/* Behind the first one there are no questions for addresses. */
		messages(&a, &b, 1);
		tagged = rig_xstat(1, "rx_port_vlan_packets");
		messages(&a, &b, 3);
		assert_int_equal(rig_xstat(1, "rx_port_vlan_packets") - tagged, told ? 3 : 0);
		rr_end_free(&a);
		rr_end_free(&b);
		rr_away(true);
	}
}

static void
test_resize_mailbox(void **state)
{
	unsigned int told;
	struct rr_end a, b;

	for (told = 0; told < 2; told++) {
		rr_open(args_of("F-14:b", told != 0, ""), NULL);
		rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
		messages(&a, &b, 5);
		assert_int_equal(resize(&b, 31) == 0, told);
		messages(&a, &b, 5);
		rr_end_free(&a);
		rr_end_free(&b);
		rr_away(told != 0);
	}
}

/* Numbers go on in a pass in which entries that nobody wrote look complete: the consumer runs past what comes later. */
static void
test_resize_owner(void **state)
{
	struct rr_end a, b;

	rr_open(args_of("F-15:b", false, ""), NULL);
	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	messages(&a, &b, 35);
	assert_int_equal(resize(&b, 31), 0);
	rr_no_wc(&b);
	assert_int_equal(rr_recv(&b, 0, 64), 0);
	assert_int_equal(rr_send(&a, 0, 64, 0), 0);
	rr_run();
	rr_expect(&a, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	rr_no_wc(&b);
	rr_end_free(&a);
	rr_end_free(&b);
	rr_away(false);

	rr_open(args_of("F-15:b", true, ""), NULL);
	rr_pair(&a, &b, IBV_QPT_RC, RR_IPV4_V2);
	for (int i = 0; i < 12; i++) {
		static const int sizes[] = {31, 7, 255, 15, 3, 63};

		messages(&a, &b, 35 + (unsigned int)i);
		assert_int_equal(resize(&b, sizes[i % 6]), 0);
		rr_no_wc(&b);
	}
	messages(&a, &b, 300);
	rr_end_free(&a);
	rr_end_free(&b);
	rr_away(true);
}

/* --- InfiniBand ----------------------------------------------------------------------------------------------------- */

static uint16_t heard_pkey;

static void
on_mad(void *arg, const struct tp_mad_packet *pkt)
{
	RTE_SET_USED(arg);
	heard_pkey = pkt->pkey_index;
}

static void
test_pkey_index(void **state)
{
	struct tp_mad_packet p = {.qpn = 1, .remote_qpn = 1, .qkey = TP_MAD_QKEY, .dlid = IR_LID(1)};
	unsigned int told;

	for (told = 0; told < 2; told++) {
		ir_open(args_of("F-29:b", told != 0, ""));
		ir_sweep();
		heard_pkey = 0xffff;
		ir_smp_init(p.data, 4, IR_GET, 0x12, 0);
		assert_int_equal(tp_mad_port_set_input(ir_ctx[1], on_mad, NULL), 0);
		assert_int_equal(tp_mad_port_set_input(ir_ctx[0], on_mad, NULL), 0);
		assert_int_equal(tp_mad_port_send(ir_ctx[0], &p), 0);
		ir_run();
		assert_int_equal(heard_pkey, told ? 0 : 0x7f);
		assert_int_equal(tp_mad_port_set_input(ir_ctx[1], NULL, NULL), 0);
		assert_int_equal(tp_mad_port_set_input(ir_ctx[0], NULL, NULL), 0);
		ir_close();
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bring_up),       cmocka_unit_test(test_toggle),
		cmocka_unit_test(test_reset),          cmocka_unit_test(test_qp_commands),
		cmocka_unit_test(test_wake_on_lan),    cmocka_unit_test(test_counters),
		cmocka_unit_test(test_port_events),    cmocka_unit_test(test_blueflame),
		cmocka_unit_test(test_rule_order),     cmocka_unit_test(test_rule_without_address),
		cmocka_unit_test(test_rule_l4),        cmocka_unit_test(test_tunnel_sums),
		cmocka_unit_test(test_inner_hash),     cmocka_unit_test(test_short_frames),
		cmocka_unit_test(test_shares),         cmocka_unit_test(test_group_order),
		cmocka_unit_test(test_force_prio),     cmocka_unit_test(test_vlan),
		cmocka_unit_test(test_resize_mailbox), cmocka_unit_test(test_resize_owner),
		cmocka_unit_test(test_pkey_index),
	};

	if (rig_eal("quirks", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
