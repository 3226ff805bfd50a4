/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a port says of itself, its link and MTU, and the bounds of its operations: ethdev's view, value by value. */
#include <errno.h>
#include <stdlib.h>

#include "card_trace.h"
#include "drivers/mlx4/hca/core.h"
#include "drivers/mlx4/port/handover.h"
#include "drivers/mlx4/rx/queue.h"
#include "rig.h"
#include "rte_pmd_mlx4.h"
#include "rte_pmd_mlx4_queue.h"

static struct mlx4_eth *
eth_of(uint16_t port)
{
	return rte_eth_devices[port].data->dev_private;
}

/* --- limits -------------------------------------------------------------------------------------------------------- */

#define RX_ALL                                                                                                         \
	(RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM |                 \
	 RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_RSS_HASH |                    \
	 RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT | RTE_ETH_RX_OFFLOAD_TCP_LRO)
#define RX_OUTER (RTE_ETH_RX_OFFLOAD_OUTER_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_OUTER_UDP_CKSUM)
#define TX_ALL                                                                                                         \
	(RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |               \
	 RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE)
#define TX_OUTER                                                                                                       \
	(RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO | RTE_ETH_TX_OFFLOAD_GRE_TNL_TSO)

/* Each capability of the card and what it adds; a Pro card has all of them. */
static void
test_limits(void **state)
{
	static const struct {
		bool stamps, clock, fcs, tunnels, lso;
		uint64_t rx, tx;
	} t[] = {
		{true, true, true, true, true, RX_OUTER | RTE_ETH_RX_OFFLOAD_TIMESTAMP | RTE_ETH_RX_OFFLOAD_KEEP_CRC,
		 TX_OUTER | RTE_ETH_TX_OFFLOAD_TCP_TSO},
		{false, true, false, false, false, 0, 0},
		{true, false, false, false, false, 0, 0},
		{true, true, false, false, false, RTE_ETH_RX_OFFLOAD_TIMESTAMP, 0},
		{false, false, true, false, false, RTE_ETH_RX_OFFLOAD_KEEP_CRC, 0},
		{false, false, false, true, false, RX_OUTER, RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM},
		{false, false, false, false, true, 0, RTE_ETH_TX_OFFLOAD_TCP_TSO},
	};
	struct rte_eth_dev_info info;
	struct mlx4_caps *c, before;
	unsigned int i;

	rig_open("");
	c = &eth_of(0)->hca->caps;
	before = *c;
	for (i = 0; i < RTE_DIM(t); i++) {
		c->cq_timestamp = t[i].stamps;
		c->clock_off = t[i].clock ? before.clock_off : 0;
		c->vxlan = t[i].tunnels;
		c->max_gso = t[i].lso ? before.max_gso : 0;
		/* Bit 34 of the card's flags: it keeps the FCS. */
		c->flags = (before.flags & ~(UINT64_C(1) << 34)) | (uint64_t)t[i].fcs << 34;
		assert_int_equal(rte_eth_dev_info_get(0, &info), 0);
		assert_int_equal(info.rx_offload_capa, RX_ALL | RTE_ETH_RX_OFFLOAD_VLAN_FILTER | t[i].rx);
		assert_int_equal(info.rx_queue_offload_capa, RX_ALL | t[i].rx);
		assert_int_equal(info.tx_offload_capa, TX_ALL | t[i].tx);
		assert_int_equal(info.tx_queue_offload_capa, info.tx_offload_capa);
	}
	*c = before;
	assert_int_equal(rte_eth_dev_info_get(0, &info), 0);
	assert_int_equal(info.min_mtu, 600);
	assert_int_equal(info.max_mtu, 9600);
	assert_int_equal(info.min_rx_bufsize, 256);
	assert_int_equal(info.max_rx_pktlen, 9600 + 14 + 8 + 4); /* two tags and the FCS */
	assert_int_equal(info.max_lro_pkt_size, 65535);
	assert_int_equal(info.max_tx_queues, 256);
	assert_int_equal(info.tx_desc_lim.nb_max, 8192);
	assert_int_equal(info.tx_desc_lim.nb_min, 256);
	assert_int_equal(info.rx_desc_lim.nb_align, 1);
	assert_int_equal(info.rx_desc_lim.nb_seg_max, c->max_sq_sge);
	assert_int_equal(info.rx_desc_lim.nb_mtu_seg_max, c->max_sq_sge);
	assert_int_equal(info.reta_size, 128);
	assert_int_equal(info.rx_seg_capa.multi_pools, 1);
	assert_int_equal(info.rx_seg_capa.max_nseg, 2);
	assert_int_equal(info.speed_capa,
			 RTE_ETH_LINK_SPEED_10G | RTE_ETH_LINK_SPEED_40G | (info.speed_capa & RTE_ETH_LINK_SPEED_56G));
	assert_int_equal(info.default_rxportconf.ring_size, 1024);
	assert_int_equal(info.default_txportconf.ring_size, 1024);
	assert_int_equal(info.default_rxportconf.burst_size, 32);
	assert_int_equal(info.default_txportconf.burst_size, 32);
	assert_int_equal(info.default_rxportconf.nb_queues, 8);
	assert_int_equal(info.default_txportconf.nb_queues, 8);
	/* A card with smaller frames and fewer rings */
	eth_of(0)->hca->port[0].eth_mtu = 4000;
	c->max_rss = 64;
	assert_int_equal(rte_eth_dev_info_get(0, &info), 0);
	assert_int_equal(info.max_mtu, 4000);
	assert_int_equal(info.max_rx_pktlen, 4026);
	assert_int_equal(info.reta_size, 64);
	*c = before;
	rig_close();
}

/* Packet types: those of inner frames on a Pro card only. */
static void
test_packet_types(void **state)
{
	uint32_t t[32];
	int n, i, inner = 0;

	rig_open("type=cx3");
	n = rte_eth_dev_get_supported_ptypes(0, RTE_PTYPE_ALL_MASK, t, RTE_DIM(t));
	assert_int_equal(n, 7);
	rig_close();
	rig_open("type=cx3pro");
	n = rte_eth_dev_get_supported_ptypes(0, RTE_PTYPE_ALL_MASK, t, RTE_DIM(t));
	assert_int_equal(n, 16);
	for (i = 0; i < n; i++)
		inner += (t[i] & (RTE_PTYPE_INNER_L2_MASK | RTE_PTYPE_INNER_L3_MASK | RTE_PTYPE_INNER_L4_MASK)) != 0;
	assert_int_equal(inner, 7);
	rig_close();
}

/* --- queues -------------------------------------------------------------------------------------------------------- */

static void
test_queue_info(void **state)
{
	const struct rte_eth_conf conf = {.rxmode = {.offloads = RTE_ETH_RX_OFFLOAD_SCATTER, .mtu = 9000}};
	struct rte_eth_rxconf rxc = {.offloads = RTE_ETH_RX_OFFLOAD_SCATTER, .rx_deferred_start = 1};
	struct rte_eth_txconf txc = {.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS, .tx_deferred_start = 1};
	struct rte_eth_burst_mode mode;
	struct rte_eth_rxq_info rx;
	struct rte_eth_txq_info tx;

	rig_open("bf=1,tx-inline=64");
	assert_int_equal(rte_eth_dev_configure(0, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(0, 0, 300, SOCKET_ID_ANY, &rxc, rig_pool()), 0);
	assert_int_equal(rte_eth_tx_queue_setup(0, 0, 400, SOCKET_ID_ANY, &txc), 0);
	assert_int_equal(rte_eth_rx_queue_info_get(0, 0, &rx), 0);
	assert_int_equal(rte_eth_tx_queue_info_get(0, 0, &tx), 0);
	assert_ptr_equal(rx.mp, rig_pool());
	assert_in_range(rx.nb_desc, 300, 512);
	assert_in_range(tx.nb_desc, 400, 512);
	assert_int_equal(rx.rx_buf_size, rte_pktmbuf_data_room_size(rig_pool()) - RTE_PKTMBUF_HEADROOM);
	assert_int_equal(rx.scattered_rx, 1);
	assert_int_equal(rx.conf.offloads, RTE_ETH_RX_OFFLOAD_SCATTER);
	assert_int_equal(rx.conf.rx_deferred_start, 1);
	assert_int_equal(rx.conf.rx_drop_en, 1);
	assert_int_equal(tx.conf.offloads, RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
	assert_int_equal(tx.conf.tx_deferred_start, 1);
	assert_int_equal(rte_eth_tx_burst_mode_get(0, 0, &mode), 0);
	assert_string_equal(mode.info, "Scalar, BlueFlame, inline");
	rxc.rx_deferred_start = 0;
	assert_int_equal(rte_eth_rx_queue_setup(0, 0, 300, SOCKET_ID_ANY, &rxc, rig_pool()), 0);
	assert_int_equal(rte_eth_dev_start(0), 0);
	assert_int_equal(rte_eth_rx_burst_mode_get(0, 0, &mode), 0);
	assert_string_equal(mode.info, "Scalar, scattered");
	/* The deferred one waits to be started. */
	assert_int_equal(rte_eth_tx_queue_info_get(0, 0, &tx), 0);
	assert_int_equal(tx.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
	assert_int_equal(rte_eth_dev_tx_queue_start(0, 0), 0);
	assert_int_equal(rte_eth_tx_queue_info_get(0, 0, &tx), 0);
	assert_int_equal(tx.queue_state, RTE_ETH_QUEUE_STATE_STARTED);
	assert_int_equal(rte_eth_dev_tx_queue_stop(0, 0), 0);
	assert_int_equal(rte_eth_tx_queue_info_get(0, 0, &tx), 0);
	assert_int_equal(tx.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rte_eth_rx_queue_info_get(0, 0, &rx), 0);
	assert_int_equal(rx.queue_state, RTE_ETH_QUEUE_STATE_STOPPED);
	rig_close();
}

/* The statistics of queues end with the sixteenth, those of the port do not. */
static void
test_many_queues(void **state)
{
	static const struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS};
	struct rte_ether_addr mac;
	struct rte_eth_stats st;
	struct rte_mbuf *m;
	unsigned int q;

	rig_open_pair("", 18, &conf);
	mac = rig_mac(0);
	for (q = 0; q < 18; q++) {
		m = rig_frame(&mac, RIG_FRAME);
		assert_int_equal(rte_eth_tx_burst(1, (uint16_t)q, &m, 1), 1);
	}
	rig_run(1);
	assert_int_equal(rte_eth_stats_get(1, &st), 0);
	assert_int_equal(st.opackets, 18);
	assert_int_equal(st.obytes, 18 * RIG_FRAME);
	for (q = 0; q < 16; q++) {
		assert_int_equal(st.q_opackets[q], 1);
		assert_int_equal(st.q_obytes[q], RIG_FRAME);
		assert_int_equal(st.q_ipackets[q] | st.q_ibytes[q] | st.q_errors[q], 0);
	}
	assert_int_equal(rig_drain(0, 0), 18);
	rig_close();
}

/* --- link ---------------------------------------------------------------------------------------------------------- */

static void
test_link(void **state)
{
	struct rte_eth_conf fixed = {.link_speeds = RTE_ETH_LINK_SPEED_40G | RTE_ETH_LINK_SPEED_FIXED};
	struct rte_eth_link link;
	unsigned int i;

	rig_open_pair("", 1, &fixed);
	rig_run(0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(rte_eth_link_get_nowait((uint16_t)i, &link), 0);
		assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
		assert_int_equal(link.link_speed, 40000);
		assert_int_equal(link.link_duplex, RTE_ETH_LINK_FULL_DUPLEX);
		assert_int_equal(link.link_autoneg, i == 0);
	}
	for (i = 0; i < 3; i++) {
		assert_int_equal(rig_xstat(1, "link_down_events"), i);
		assert_int_equal(rte_eth_dev_set_link_down(1), 0);
		assert_int_equal(rte_eth_link_get_nowait(1, &link), 0);
		assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
		assert_int_equal(link.link_speed, 0);
		assert_int_equal(rte_eth_dev_set_link_up(1), 0);
		assert_int_equal(rte_eth_link_get_nowait(1, &link), 0);
		assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
	}
	/* Looked at twice, it is down once. */
	assert_int_equal(tp_model_cable(rig_model(0), 2, false), 0);
	assert_int_equal(rte_eth_link_get_nowait(1, &link), 0);
	assert_int_equal(rte_eth_link_get_nowait(1, &link), 0);
	assert_int_equal(rig_xstat(1, "link_down_events"), 4);
	assert_int_equal(rte_eth_stats_reset(1), 0);
	assert_int_equal(rig_xstat(1, "link_down_events"), 0);
	assert_int_equal(tp_model_cable(rig_model(0), 2, true), 0);
	/* A stopped port has no link, whatever the cable says. */
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_link_get_nowait(1, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
	rig_close();
}

static unsigned int told[2]; /* link changes, removals */

static int
on_event(uint16_t port, enum rte_eth_event_type type, void *arg, void *ret)
{
	told[type == RTE_ETH_EVENT_INTR_RMV]++;
	return 0;
}

static void
card_says(uint16_t port, uint8_t type)
{
	struct mlx4_hca *hca = eth_of(port)->hca;
	uint8_t eqe[32] = {0, type};
	const struct mlx4_async_event e = {.eqe = eqe, .type = type};

	hca->event[port][MLX4_CLIENT_ETH].fn(hca, port + 1u, &e, hca->event[port][MLX4_CLIENT_ETH].arg);
}

/* Who asked for it is told that the link changed, once a change; everybody that the card is gone. */
static void
test_events(void **state)
{
	const struct rte_eth_conf lsc = {.intr_conf.lsc = 1};
	struct rte_mbuf *m[1] = {NULL};
	unsigned int wanted;

	for (wanted = 0; wanted < 2; wanted++) {
		memset(told, 0, sizeof(told));
		rig_open_pair("", 1, wanted != 0 ? &lsc : NULL);
		rig_run(1);
		assert_int_equal(rte_eth_dev_callback_register(1, RTE_ETH_EVENT_INTR_LSC, on_event, NULL), 0);
		assert_int_equal(rte_eth_dev_callback_register(1, RTE_ETH_EVENT_INTR_RMV, on_event, NULL), 0);
		rte_eth_devices[1].data->dev_link.link_status = RTE_ETH_LINK_DOWN;
		card_says(1, 0x09); /* it is up */
		assert_int_equal(told[0], wanted);
		card_says(1, 0x09);
		assert_int_equal(told[0], wanted);
		card_says(1, 0x0e);
		assert_int_equal(told[0], wanted);
		assert_int_equal(told[1], 0);
		/* A fatal error: the link is as it was, the port is not. */
		card_says(1, 0x08);
		assert_int_equal(told[0], wanted);
		assert_int_equal(told[1], 1);
		assert_int_equal(rte_eth_rx_burst(1, 0, m, 1), 0);
		assert_ptr_equal(rte_eth_fp_ops[1].rx_pkt_burst, mlx4_rxtx_removed);
		assert_ptr_equal(rte_eth_fp_ops[1].tx_pkt_burst, mlx4_rxtx_removed);
		assert_ptr_equal(rte_eth_fp_ops[1].tx_pkt_prepare, mlx4_rxtx_removed);
		assert_int_equal(rte_eth_dev_callback_unregister(1, RTE_ETH_EVENT_INTR_LSC, on_event, NULL), 0);
		assert_int_equal(rte_eth_dev_callback_unregister(1, RTE_ETH_EVENT_INTR_RMV, on_event, NULL), 0);
		rig_close();
	}
}

/* --- RSS ------------------------------------------------------------------------------------------------------------ */

/* A queue has hashes when the port spreads by them; a key goes where it has room. */
static void
test_rss(void **state)
{
	struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS};
	uint8_t key[40], none[40];
	struct rte_eth_rss_conf rss = {.rss_key = key, .rss_key_len = 39};

	rig_open("");
	assert_int_equal(rig_configure(0, 2, 1, &conf, rig_pool()), 0);
	assert_int_not_equal(rte_eth_devices[0].data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH, 0);
	conf.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
	assert_int_equal(rig_configure(1, 2, 1, &conf, rig_pool()), 0);
	assert_int_equal(rte_eth_devices[1].data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH, 0);
	memset(key, 0x5a, sizeof(key));
	memset(none, 0x5a, sizeof(none));
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(0, &rss), 0);
	assert_memory_equal(key, none, sizeof(key));
	assert_int_equal(rss.rss_key_len, 40);
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(0, &rss), 0);
	assert_memory_not_equal(key, none, sizeof(key));
	rss.rss_key = NULL;
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(0, &rss), 0);
	rig_close();
}

/* --- VLAN stripping -------------------------------------------------------------------------------------------------- */

/* All queues or none: one whose packets carry the time of arrival keeps the others from it. */
static void
test_strip(void **state)
{
	static const struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS};
	unsigned int q;

	rig_open_pair("", 2, &conf);
	eth_of(1)->rxqs[0]->stamp_flag = 1;
	rig_log_begin();
	assert_int_equal(rte_eth_dev_set_vlan_offload(1, RTE_ETH_VLAN_STRIP_OFFLOAD), -ENOTSUP);
	rig_log_one("port 1 Rx queue 0", "no VLAN stripping");
	for (q = 0; q < 2; q++)
		assert_false(eth_of(1)->rxqs[q]->vlan_strip);
	assert_int_equal(rte_eth_dev_set_vlan_strip_on_queue(1, 1, 1), 0);
	assert_true(eth_of(1)->rxqs[1]->vlan_strip);
	assert_false(eth_of(1)->rxqs[0]->vlan_strip);
	eth_of(1)->rxqs[0]->stamp_flag = 0;
	assert_int_equal(rte_eth_dev_set_vlan_offload(1, RTE_ETH_VLAN_STRIP_OFFLOAD), 0);
	for (q = 0; q < 2; q++)
		assert_true(eth_of(1)->rxqs[q]->vlan_strip);
	/* A card that refuses leaves them as they were. */
	assert_int_equal(tp_model_fault(rig_model(1), TP_FAULT_STATUS, MLX4_CMD_RST2INIT_QP, 1, MLX4_STAT_BAD_PARAM),
			 0);
	assert_true(rte_eth_dev_set_vlan_offload(1, 0) < 0);
	tp_model_fault(rig_model(1), TP_FAULT_STATUS, 0, 0, 0);
	for (q = 0; q < 2; q++)
		assert_true(eth_of(1)->rxqs[q]->vlan_strip);
	rig_close();
}

/* --- MTU ----------------------------------------------------------------------------------------------------------- */

static void
test_mtu(void **state)
{
	static const uint16_t bad[] = {599, 9601};
	struct card_trace t;
	uint16_t mtu;
	unsigned int i;

	rig_open_pair("", 1, NULL);
	for (i = 0; i < RTE_DIM(bad); i++)
		assert_int_equal(rte_eth_dev_set_mtu(1, bad[i]), -EINVAL);
	/* The driver's own look, which ethdev's precedes */
	for (i = 0; i < RTE_DIM(bad); i++) {
		rig_log_begin();
		assert_int_equal(rte_eth_devices[1].dev_ops->mtu_set(&rte_eth_devices[1], bad[i]), -EINVAL);
		rig_log_one(i == 0 ? "MTU 599" : "MTU 9601", "wanted 600..9600");
	}
	/* Buffers of 2048 octets take frames of 2048 with two tags and FCS. */
	card_trace_begin(&t, rig_model(1));
	assert_int_equal(rte_eth_dev_set_mtu(1, 2048 - 26), 0);
	card_trace_end(&t);
	assert_int_not_equal(card_trace_count(&t, "SET_PORT"), 0);
	card_trace_free(&t);
	rig_log_begin();
	assert_int_equal(rte_eth_dev_set_mtu(1, 2048 - 25), -EBUSY);
	rig_log_one("frames of 2049 bytes do not fit queue 0, which takes 2048", "stop the port first");
	assert_int_equal(rte_eth_dev_get_mtu(1, &mtu), 0);
	assert_int_equal(mtu, 2022);
	assert_int_equal(eth_of(1)->mtu, 2022);
	assert_int_equal(rte_eth_dev_set_mtu(1, 600), 0);
	assert_int_equal(eth_of(1)->mtu, 600);
	/* A card that refuses keeps what it has. */
	assert_int_equal(tp_model_fault(rig_model(1), TP_FAULT_STATUS, MLX4_CMD_SET_PORT, 1, MLX4_STAT_BAD_PARAM), 0);
	assert_true(rte_eth_dev_set_mtu(1, 1000) < 0);
	assert_int_equal(eth_of(1)->mtu, 600);
	/* Of a stopped port it is what the next start says. */
	assert_int_equal(rte_eth_dev_stop(1), 0);
	card_trace_begin(&t, rig_model(1));
	assert_int_equal(rte_eth_dev_set_mtu(1, 1200), 0);
	card_trace_end(&t);
	assert_int_equal(card_trace_count(&t, "SET_PORT"), 0);
	card_trace_free(&t);
	assert_int_equal(rte_eth_dev_start(1), 0);
	assert_int_equal(eth_of(1)->mtu, 1200);
	rig_close();
}

/* Frames that were made for a larger MTU wait in a queue that does not send: the smaller one has to wait, too. */
static void
test_mtu_waits(void **state)
{
	struct rte_ether_addr mac;
	struct rte_mbuf *m;

	rig_open_pair("", 1, NULL);
	mac = rig_mac(0);
	m = rig_frame(&mac, 1500);
	assert_int_equal(rte_eth_tx_burst(1, 0, &m, 1), 1);
	rig_log_begin();
	assert_int_equal(rte_eth_dev_set_mtu(1, 1000), -EBUSY);
	rig_log_one("MTU 1000: frames made for 1500 wait in transmit queue 0", "try again");
	assert_int_equal(eth_of(1)->mtu, 1500);
	rig_run(1);
	assert_int_equal(rte_eth_dev_set_mtu(1, 1000), 0);
	assert_int_equal(rig_drain(0, 0), 1);
	rig_close();
}

/* --- light, module, flash ------------------------------------------------------------------------------------------ */

/* The request for the module's EEPROM, as the reference has it [CP 4.4]; and what the firmware may answer. */
static void
test_module_answers(void **state)
{
	struct rte_eth_dev_module_info info;
	uint8_t data[256];
	struct rte_dev_eeprom_info ee = {.data = data, .length = 256};
	struct card_trace t;

	rig_open_pair("", 1, NULL);
	card_trace_begin(&t, rig_model(0));
	assert_int_equal(rte_eth_dev_get_module_info(0, &info), 0);
	card_trace_end(&t);
	assert_int_equal(info.eeprom_len, 256);
	/* 2 bytes from 0 at I2C address 0x50; attribute 0xff60 */
	assert_non_null(strstr(card_trace_box(&t, "MAD_IFC", "0x1"), "000: 01010101"));
	assert_non_null(strstr(card_trace_box(&t, "MAD_IFC", "0x1"), "010: ff600000"));
	card_trace_free(&t);
	/* 256 bytes take six parts of 48 at most. */
	card_trace_begin(&t, rig_model(0));
	assert_int_equal(rte_eth_dev_get_module_eeprom(0, &ee), 0);
	card_trace_end(&t);
	assert_int_equal(card_trace_count(&t, "MAD_IFC"), 1 + 6);
	card_trace_free(&t);
	ee.offset = 256;
	ee.length = 0;
	assert_int_equal(rte_eth_dev_get_module_eeprom(0, &ee), -EINVAL); /* ethdev's own word */
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_MAD_IFC, 1, MLX4_STAT_BAD_PARAM), 0);
	assert_true(rte_eth_dev_get_module_info(0, &info) < 0);
	rig_close();
}

static void
test_light(void **state)
{
	struct tp_model_stats st;

	rig_open("");
	assert_int_equal(rte_eth_led_on(0), 0);
	tp_model_get_stats(rig_model(0), &st);
	assert_int_equal(st.port[0].beacon_s, 3600);
	assert_int_equal(rte_eth_led_off(0), 0);
	tp_model_get_stats(rig_model(0), &st);
	assert_int_equal(st.port[0].beacon_s, 0);
	eth_of(0)->hca->caps.beacon = false;
	rig_log_begin();
	assert_int_equal(rte_eth_led_on(0), -ENOTSUP);
	rig_log_one("port 0", "cannot make the port's light blink");
	rig_close();
}

/* --- what there is not ---------------------------------------------------------------------------------------------- */

static void
test_interrupts(void **state)
{
	static const struct rte_eth_conf intr = {.intr_conf.rxq = 1};

	rig_open_pair("", 1, NULL);
	assert_int_equal(rte_eth_devices[1].dev_ops->rx_queue_intr_enable(&rte_eth_devices[1], 0), -EINVAL);
	assert_int_equal(rte_eth_devices[1].dev_ops->rx_queue_intr_disable(&rte_eth_devices[1], 0), -EINVAL);
	assert_int_equal(rte_eth_devices[1].dev_ops->rx_queue_intr_enable(&rte_eth_devices[1], 1), -EINVAL);
	assert_int_equal(rte_eth_devices[1].dev_ops->rx_queue_intr_disable(&rte_eth_devices[1], 1), -EINVAL);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rig_configure(1, 32, 1, &intr, rig_pool()), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	assert_int_equal(eth_of(1)->rxqs[31]->vector, eth_of(1)->rxqs[0]->vector + 31);
	/* The blocks of the ports follow each other. */
	assert_int_equal(eth_of(1)->rxqs[0]->vector, eth_of(1)->hca->num_verbs_eq + 32);
	assert_int_equal(rte_eth_dev_rx_intr_enable(1, 31), 0);
	assert_int_equal(rte_eth_dev_rx_intr_disable(1, 31), 0);
	assert_false(eth_of(1)->rxqs[31]->intr_on);
	rig_close();
}

/* The FCS of damaged frames: what was asked for is told to a card that can, once, and again after a stop. */
static void
test_fcs(void **state)
{
	struct card_trace t;
	bool on = true;

	rig_open_pair("", 1, NULL);
	card_trace_begin(&t, rig_model(0));
	assert_int_equal(rte_pmd_mlx4_ignore_fcs_set(0, false), 0);
	card_trace_end(&t);
	assert_int_equal(card_trace_count(&t, "SET_PORT"), 0);
	card_trace_free(&t);
	assert_int_equal(rte_pmd_mlx4_ignore_fcs_set(0, true), 0);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	card_trace_begin(&t, rig_model(0));
	assert_int_equal(rte_eth_dev_start(0), 0);
	card_trace_end(&t);
	assert_in_range(card_trace_count(&t, "SET_PORT"), 2, 99); /* MTU and this */
	card_trace_free(&t);
	eth_of(0)->hca->caps.ignore_fcs = false;
	assert_int_equal(rte_pmd_mlx4_ignore_fcs_get(0, &on), -ENOTSUP);
	assert_int_equal(rte_pmd_mlx4_ignore_fcs_set(0, false), -ENOTSUP);
	assert_int_equal(rte_pmd_mlx4_ignore_fcs_get(7, &on), -ENODEV);
	eth_of(0)->hca->caps.ignore_fcs = true;
	rig_close();
}

/* Functions of the driver know its ports only, and say so. */
static void
test_other_ports(void **state)
{
	char err[TP_ERR_LEN] = "x";
	uint16_t n;

	rig_open("");
	assert_int_equal(rte_pmd_mlx4_rss_default_queue_set(7, 0, err), -ENODEV);
	assert_string_equal(err, "port 7 is not a port of this driver");
	assert_int_equal(rte_pmd_mlx4_rss_default_queue_get(7, &n), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_vxlan_port_get(7, &n), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_rss_default_queue_set(0, 0, err), 0);
	assert_string_equal(err, "");
	assert_int_equal(rte_pmd_mlx4_rss_default_queue_set(0, 255, err), 0);
	assert_int_equal(rte_pmd_mlx4_rss_default_queue_set(0, 256, err), -EINVAL);
	assert_string_equal(err, "rss-default-queue: 256, want 0..255");
	assert_int_equal(rte_pmd_mlx4_rss_default_queue_get(0, &n), 0);
	assert_int_equal(n, 255);
	assert_int_equal(mlx4_rxtx_removed(NULL, NULL, 32), 0);
	rig_close();
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),     cmocka_unit_test(test_packet_types),
		cmocka_unit_test(test_queue_info), cmocka_unit_test(test_many_queues),
		cmocka_unit_test(test_link),       cmocka_unit_test(test_mtu),
		cmocka_unit_test(test_mtu_waits),  cmocka_unit_test(test_module_answers),
		cmocka_unit_test(test_light),      cmocka_unit_test(test_interrupts),
		cmocka_unit_test(test_fcs),        cmocka_unit_test(test_other_ports),
		cmocka_unit_test(test_events),     cmocka_unit_test(test_rss),
		cmocka_unit_test(test_strip),
	};

	if (rig_eal("mlx4_port_ops", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-port-ops", tests, NULL, NULL);
}
