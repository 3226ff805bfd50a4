/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which frames a port takes, and in what shape: addresses, groups, VLANs, MTU. */
#include "drivers/mlx4/rx/queue.h"
#include "rig.h"

#define MC_MAX 1024u

static const struct rte_ether_addr other = {{0x02, 0x11, 0x22, 0x33, 0x44, 0x55}};
static const struct rte_ether_addr third = {{0x02, 0x11, 0x22, 0x33, 0x44, 0x66}};
static const struct rte_ether_addr group = {{0x01, 0x00, 0x5e, 0x00, 0x00, 0x05}};
static const struct rte_ether_addr group2 = {{0x33, 0x33, 0x00, 0x00, 0x00, 0x05}};
static const struct rte_ether_addr bcast = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

static int
setup(void **state)
{
	rig_open("");
	rig_start(0, 1, NULL);
	return 0;
}

static void
test_mac(void **state)
{
	struct rte_ether_addr first, set = other;

	rig_start(1, 1, NULL);
	first = rig_mac(1);
	assert_int_equal(rig_reaches(&first), 1);
	assert_int_equal(rig_reaches(&bcast), 1);
	assert_int_equal(rig_reaches(&other), 0);
	assert_int_equal(rte_eth_dev_mac_addr_add(1, &set, 0), 0);
	assert_int_equal(rig_reaches(&other), 1);
	assert_int_equal(rig_reaches(&first), 1);
	assert_int_equal(rte_eth_dev_mac_addr_remove(1, &set), 0);
	assert_int_equal(rig_reaches(&other), 0);
	set = third;
	assert_int_equal(rte_eth_dev_default_mac_addr_set(1, &set), 0);
	assert_int_equal(rig_reaches(&third), 1);
	assert_int_equal(rig_reaches(&first), 0);
	/* They outlive a stop. */
	assert_int_equal(rte_eth_dev_stop(1), 0);
	rig_send(0, rig_frame(&bcast, RIG_FRAME));
	assert_int_equal(rte_eth_dev_start(1), 0);
	assert_int_equal(rig_drain(1, 0), 0);
	assert_int_equal(rig_reaches(&third), 1);
	assert_int_equal(rig_reaches(&first), 0);
}

static void
test_mac_limit(void **state)
{
	struct rte_ether_addr mac = other;
	unsigned int i;

	rig_start(1, 1, NULL);
	for (i = 1; i < MLX4_ETH_MAX_UC_MACS; i++) {
		mac.addr_bytes[5] = (uint8_t)i;
		assert_int_equal(rte_eth_dev_mac_addr_add(1, &mac, 0), 0);
	}
	assert_int_equal(rig_reaches(&mac), 1);
	mac.addr_bytes[5] = (uint8_t)i;
	assert_int_equal(rte_eth_dev_mac_addr_add(1, &mac, 0), -ENOSPC);
	assert_int_equal(rig_reaches(&mac), 0);
}

static void
test_groups(void **state)
{
	struct rte_ether_addr list[2] = {group, group2};

	rig_start(1, 1, NULL);
	assert_int_equal(rig_reaches(&group), 0);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(1, list, 2), 0);
	assert_int_equal(rig_reaches(&group), 1);
	assert_int_equal(rig_reaches(&group2), 1);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(1, &list[1], 1), 0);
	assert_int_equal(rig_reaches(&group), 0);
	assert_int_equal(rig_reaches(&group2), 1);
	/* A list that the card refuses leaves the old one. */
	tp_model_fault(rig_model(1), TP_FAULT_STATUS, MLX4_CMD_QP_FLOW_STEERING_ATTACH, 1, MLX4_STAT_EXCEED_LIM);
	rig_log_begin();
	assert_int_equal(rte_eth_dev_set_mc_addr_list(1, list, 1), -ENOSPC);
	rig_log_one("QP_FLOW_STEERING_ATTACH", "0x");
	assert_int_equal(rig_reaches(&group), 0);
	assert_int_equal(rig_reaches(&group2), 1);
	rig_log_begin();
	list[0] = other;
	assert_int_equal(rte_eth_dev_set_mc_addr_list(1, list, 2), -EINVAL);
	rig_log_one("02:11:22:33:44:55", "not a group");
	assert_int_equal(rte_eth_dev_set_mc_addr_list(1, NULL, 0), 0);
	assert_int_equal(rig_reaches(&group2), 0);
}

static void
test_many_groups(void **state)
{
	static struct rte_ether_addr list[MC_MAX + 1];
	struct rte_ether_addr unlisted = group2;
	char err[TP_ERR_LEN];
	unsigned int i;

	for (i = 0; i <= MC_MAX; i++) {
		list[i] = group;
		list[i].addr_bytes[4] = (uint8_t)(i >> 8);
		list[i].addr_bytes[5] = (uint8_t)i;
	}
	rig_start(1, 1, NULL);
	assert_int_equal(rte_pmd_mlx4_mcast_size_set(1, MC_MAX, err), 0);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(1, list, MC_MAX), 0);
	assert_int_equal(rig_reaches(&list[0]), 1);
	assert_int_equal(rig_reaches(&list[MC_MAX - 1]), 1);
	assert_int_equal(rig_reaches(&list[MC_MAX]), 0);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(1, list, MC_MAX + 1), 0);
	assert_int_equal(rig_reaches(&list[MC_MAX]), 1);
	assert_int_equal(rig_reaches(&unlisted), 1);
	assert_int_equal(rig_reaches(&other), 0);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(1, list, 1), 0);
	assert_int_equal(rig_reaches(&list[0]), 1);
	assert_int_equal(rig_reaches(&unlisted), 0);
}

static void
assert_list(uint32_t size, uint32_t listed, bool overflow)
{
	struct rte_pmd_mlx4_mcast m;

	assert_int_equal(rte_pmd_mlx4_mcast_get(1, &m), 0);
	assert_int_equal(m.size, size);
	assert_int_equal(m.listed, listed);
	assert_int_equal(m.overflow, overflow);
}

static void
test_list_size(void **state)
{
	struct rte_ether_addr list[RTE_PMD_MLX4_MCAST_SIZE + 1];
	char err[TP_ERR_LEN];
	unsigned int i;

	for (i = 0; i < RTE_DIM(list); i++) {
		list[i] = group;
		list[i].addr_bytes[5] = (uint8_t)i;
	}
	rig_start(1, 1, NULL);
	/* As many as it holds at first; one more, and it holds none. */
	assert_int_equal(rte_eth_dev_set_mc_addr_list(1, list, RTE_PMD_MLX4_MCAST_SIZE), 0);
	assert_int_equal(rig_reaches(&group2), 0);
	assert_list(RTE_PMD_MLX4_MCAST_SIZE, RTE_PMD_MLX4_MCAST_SIZE, false);
	rig_log_begin();
	assert_int_equal(rte_eth_dev_set_mc_addr_list(1, list, RTE_DIM(list)), 0);
	rig_log_one("129 multicast addresses", "the list holds 128: all multicast is received");
	assert_int_equal(rig_reaches(&group2), 1);
	assert_int_equal(rig_reaches(&list[0]), 1);
	assert_list(RTE_PMD_MLX4_MCAST_SIZE, RTE_DIM(list), true);
	/* The addresses are kept: with room they are filtered again, also over a stop. */
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_pmd_mlx4_mcast_size_set(1, RTE_DIM(list), err), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	assert_int_equal(rig_reaches(&group2), 0);
	assert_int_equal(rig_reaches(&list[RTE_DIM(list) - 1]), 1);
	assert_int_equal(rte_pmd_mlx4_mcast_size_set(1, RTE_PMD_MLX4_MCAST_SIZE_MIN, err), 0);
	assert_int_equal(rig_reaches(&group2), 1);
	/* A size that the card has no rules for leaves the old one, and what was received. */
	tp_model_fault(rig_model(1), TP_FAULT_STATUS, MLX4_CMD_QP_FLOW_STEERING_ATTACH, 5, MLX4_STAT_EXCEED_LIM);
	rig_log_begin();
	assert_int_equal(rte_pmd_mlx4_mcast_size_set(1, RTE_DIM(list), err), -ENOSPC);
	rig_log_one("QP_FLOW_STEERING_ATTACH", "0x");
	assert_non_null(strstr(err, "129 addresses: the card refuses a rule"));
	assert_list(RTE_PMD_MLX4_MCAST_SIZE_MIN, RTE_DIM(list), true);
	assert_int_equal(rig_reaches(&group2), 1);
	assert_int_equal(rig_reaches(&list[3]), 1);
	assert_int_equal(rte_pmd_mlx4_mcast_size_set(1, RTE_DIM(list), err), 0);
	assert_string_equal(err, "");
	assert_int_equal(rig_reaches(&group2), 0);
	assert_int_equal(rig_reaches(&list[3]), 1);
	assert_int_equal(rte_pmd_mlx4_mcast_size_set(1, RTE_PMD_MLX4_MCAST_SIZE_MIN - 1, err), -EINVAL);
	assert_non_null(strstr(err, "63 addresses, want 64..1024"));
	assert_int_equal(rte_pmd_mlx4_mcast_size_set(1, RTE_PMD_MLX4_MCAST_SIZE_MAX + 1, err), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_mcast_size_set(7, RTE_PMD_MLX4_MCAST_SIZE, err), -ENODEV);
}

static void
test_promiscuous(void **state)
{
	rig_start(1, 1, NULL);
	assert_int_equal(rte_eth_promiscuous_enable(1), 0);
	assert_int_equal(rig_reaches(&other), 1);
	assert_int_equal(rig_reaches(&group), 1);
	assert_int_equal(rte_eth_promiscuous_disable(1), 0);
	assert_int_equal(rig_reaches(&other), 0);
	assert_int_equal(rig_reaches(&group), 0);
	assert_int_equal(rte_eth_allmulticast_enable(1), 0);
	assert_int_equal(rig_reaches(&other), 0);
	assert_int_equal(rig_reaches(&group), 1);
	assert_int_equal(rig_reaches(&group2), 1);
	/* Promiscuous includes all groups: to end one must not end the other. */
	assert_int_equal(rte_eth_promiscuous_enable(1), 0);
	assert_int_equal(rte_eth_promiscuous_disable(1), 0);
	assert_int_equal(rig_reaches(&group), 1);
	assert_int_equal(rte_eth_allmulticast_disable(1), 0);
	assert_int_equal(rig_reaches(&group), 0);
}

static void
send_tag(uint16_t tci)
{
	struct rte_ether_addr dst = rig_mac(1);
	struct rte_mbuf *m = rig_frame(&dst, RIG_FRAME);

	m->vlan_tci = tci;
	assert_int_equal(rte_vlan_insert(&m), 0);
	rig_send(0, m);
}

static struct rte_mbuf *
receive(void)
{
	struct rte_mbuf *m = NULL;
	unsigned int polls;

	/* After a change of rings a poll or two go to the old ones. */
	for (polls = 0; polls < 4 && rte_eth_rx_burst(1, 0, &m, 1) == 0; polls++)
		;
	return m;
}

/* A tagged frame to port 1; returns what arrived there or NULL. */
static struct rte_mbuf *
send_tagged(uint16_t tci)
{
	send_tag(tci);
	return receive();
}

static bool
passes(uint16_t tci)
{
	struct rte_mbuf *m = send_tagged(tci);

	if (m == NULL)
		return false;
	rte_pktmbuf_free(m);
	return true;
}

static void
test_vlan_filter(void **state)
{
	struct rte_eth_conf conf = {.rxmode.offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER};
	unsigned int i;

	rig_start(1, 1, &conf);
	assert_true(passes(0));
	assert_false(passes(5));
	assert_int_equal(rte_eth_dev_vlan_filter(1, 5, 1), 0);
	assert_int_equal(rte_eth_dev_vlan_filter(1, 4095, 1), 0);
	assert_true(passes(5));
	assert_true(passes(0xe005)); /* the priority is no part of the VLAN */
	assert_true(passes(4095));
	assert_false(passes(6));
	assert_int_equal(rte_eth_dev_vlan_filter(1, 5, 0), 0);
	assert_false(passes(5));
	/* Live off and on again. */
	assert_int_equal(rte_eth_dev_set_vlan_offload(1, 0), 0);
	assert_true(passes(5));
	assert_int_equal(rte_eth_dev_set_vlan_offload(1, RTE_ETH_VLAN_FILTER_OFFLOAD), 0);
	assert_false(passes(5));
	for (i = 1; i < 127; i++)
		assert_int_equal(rte_eth_dev_vlan_filter(1, i, 1), 0);
	rig_log_begin();
	assert_int_equal(rte_eth_dev_vlan_filter(1, 200, 1), -ENOSPC);
	rig_log_one("VLAN 200", "127");
}

static void
test_vlan_strip(void **state)
{
	struct rte_mbuf *m;

	rig_start(1, 1, NULL);
	m = send_tagged(0xa123);
	assert_non_null(m);
	assert_int_equal(m->pkt_len, RIG_FRAME + RTE_VLAN_HLEN);
	assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED, 0);
	rte_pktmbuf_free(m);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	rig_start(1, 1, &(struct rte_eth_conf){.rxmode.offloads = RTE_ETH_RX_OFFLOAD_VLAN_STRIP});
	m = send_tagged(0xa123);
	assert_non_null(m);
	assert_int_equal(m->pkt_len, RIG_FRAME);
	assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED, RTE_MBUF_F_RX_VLAN_STRIPPED);
	assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_VLAN, RTE_MBUF_F_RX_VLAN);
	assert_int_equal(m->vlan_tci, 0xa123);
	rte_pktmbuf_free(m);
	assert_int_equal(rte_eth_dev_set_vlan_strip_on_queue(1, 0, 0), 0);
	m = send_tagged(0xa123);
	assert_non_null(m);
	assert_int_equal(m->pkt_len, RIG_FRAME + RTE_VLAN_HLEN);
	rte_pktmbuf_free(m);
}

/* What was received of a frame with tag 0xa123: a tag in it, or beside it. */
static void
judge_tag(struct rte_mbuf *m, bool stripped)
{
	const uint64_t flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;

	assert_non_null(m);
	assert_int_equal(m->pkt_len, RIG_FRAME + (stripped ? 0 : RTE_VLAN_HLEN));
	assert_int_equal(m->ol_flags & flags, stripped ? flags : 0);
	if (stripped)
		assert_int_equal(m->vlan_tci, 0xa123);
	else
		assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *) + 12, "\x81\x00\xa1\x23", 4);
	rte_pktmbuf_free(m);
}

/* Both ways, of the port and of a queue: frames of before the change are as they were, those behind it are not. */
static void
test_strip_live(void **state)
{
	unsigned int round;
	bool on = false;

	rig_start(1, 1, NULL);
	for (round = 0; round < 6; round++) {
		send_tag(0xa123);
		on = !on;
		if (round >= 4)
			assert_int_equal(rte_eth_dev_set_vlan_strip_on_queue(1, 0, on), 0);
		else
			assert_int_equal(rte_eth_dev_set_vlan_offload(1, on ? RTE_ETH_VLAN_STRIP_OFFLOAD : 0), 0);
		send_tag(0xa123);
		judge_tag(receive(), !on);
		judge_tag(receive(), on);
		assert_null(receive());
	}
	/* On a stopped port, too, with the queue that is there. */
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_dev_set_vlan_offload(1, RTE_ETH_VLAN_STRIP_OFFLOAD), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	send_tag(0xa123);
	judge_tag(receive(), true);
}

/* One queue cannot: no other strips, and the filter stays off. */
static void
test_strip_refused(void **state)
{
	const struct rte_eth_rxconf stamp = {.offloads = RTE_ETH_RX_OFFLOAD_TIMESTAMP};

	assert_int_equal(rig_configure(1, 2, 1, NULL, rig_pool()), 0);
	assert_int_equal(rte_eth_rx_queue_setup(1, 1, RIG_DESC, SOCKET_ID_ANY, &stamp, rig_pool()), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	rig_log_begin();
	assert_int_equal(rte_eth_dev_set_vlan_offload(1, RTE_ETH_VLAN_STRIP_OFFLOAD | RTE_ETH_VLAN_FILTER_OFFLOAD),
			 -ENOTSUP);
	rig_log_one("Rx queue 1", "VLAN stripping");
	assert_int_equal(rte_eth_dev_get_vlan_offload(1), 0);
	send_tag(0xa123);
	judge_tag(receive(), false);
}

/* No buffers for new rings: refused, and the old ones go on. */
static void
test_strip_without_buffers(void **state)
{
	struct rte_mbuf *kept[64];
	unsigned int n = 0;
	struct rte_mempool *mp =
		rte_pktmbuf_pool_create("few", RIG_DESC + 31, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);

	assert_non_null(mp);
	assert_int_equal(rig_configure(1, 1, 1, NULL, mp), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	while (n < RTE_DIM(kept) && rte_mempool_avail_count(mp) != 0)
		kept[n++] = rte_pktmbuf_alloc(mp);
	rig_log_begin();
	assert_int_equal(rte_eth_dev_set_vlan_offload(1, RTE_ETH_VLAN_STRIP_OFFLOAD), -ENOMEM);
	rig_log_one("Rx queue 0", "no free mbuf");
	send_tag(0xa123);
	judge_tag(receive(), false);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	rte_pktmbuf_free_bulk(kept, n);
	assert_int_equal(rte_mempool_in_use_count(mp), 0);
}

/* One queue that cannot, with another one behind it: each is as it was. */
static void
test_strip_of_one_refused(void **state)
{
	const struct mlx4_eth *eth = rte_eth_devices[1].data->dev_private;
	bool was[2] = {false, true};
	unsigned int i, turn;

	rig_start(1, 2, NULL);
	for (turn = 0; turn < 2; turn++) {
		for (i = 0; i < 2; i++)
			assert_int_equal(rte_eth_dev_set_vlan_strip_on_queue(1, (uint16_t)i, was[i]), 0);
		assert_int_equal(
			tp_model_fault(rig_model(1), TP_FAULT_STATUS, MLX4_CMD_RST2INIT_QP, 1, MLX4_STAT_BAD_PARAM), 0);
		(void)rte_eth_dev_set_vlan_strip_on_queue(1, 0, !was[0]);
		for (i = 0; i < 2; i++)
			assert_int_equal(eth->rxqs[i]->vlan_strip, was[i]);
		was[0] = !was[0];
		was[1] = !was[1];
	}
}

static void
test_vlan_insert(void **state)
{
	static const uint8_t tag[] = {0x81, 0x00, 0xa1, 0x23, 0x88, 0xb5};
	struct rte_ether_addr dst;
	struct rte_mbuf *m, *got;

	rig_start(1, 1, NULL);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	rig_start(0, 1, &(struct rte_eth_conf){.txmode.offloads = RTE_ETH_TX_OFFLOAD_VLAN_INSERT});
	dst = rig_mac(1);
	m = rig_frame(&dst, RIG_FRAME);
	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = 0xa123;
	rig_send(0, m);
	assert_int_equal(rte_eth_rx_burst(1, 0, &got, 1), 1);
	assert_int_equal(got->pkt_len, RIG_FRAME + RTE_VLAN_HLEN);
	assert_memory_equal(rte_pktmbuf_mtod_offset(got, uint8_t *, 2 * RTE_ETHER_ADDR_LEN), tag, sizeof(tag));
	rte_pktmbuf_free(got);
}

static void
test_mtu_limits(void **state)
{
	struct rte_eth_dev_info info;
	struct rte_ether_addr dst;

	rig_start(1, 1, NULL);
	assert_int_equal(rte_eth_dev_info_get(1, &info), 0);
	assert_int_equal(info.min_mtu, MLX4_ETH_MTU_MIN);
	assert_int_equal(rte_eth_dev_set_mtu(1, info.min_mtu - 1), -EINVAL);
	assert_int_equal(rte_eth_dev_set_mtu(1, info.max_mtu + 1), -EINVAL);
	rig_log_begin();
	assert_int_equal(rte_eth_dev_set_mtu(1, 4000), -EBUSY);
	rig_log_one("MTU 4000", "stop the port");
	/* A smaller MTU takes effect at once: the card drops what is longer. */
	assert_int_equal(rte_eth_dev_set_mtu(1, 1000), 0);
	dst = rig_mac(1);
	rig_send(0, rig_frame(&dst, 1000 + RTE_ETHER_HDR_LEN));
	assert_int_equal(rig_drain(1, 0), 1);
	rig_send(0, rig_frame(&dst, 1514));
	assert_int_equal(rig_drain(1, 0), 0);
}

/* A frame of the largest size through buffers that are too small for it. */
static void
test_jumbo(void **state)
{
	struct rte_eth_conf conf = {.rxmode = {.mtu = 9000, .offloads = RTE_ETH_RX_OFFLOAD_SCATTER}};
	uint16_t len = 9000 + RTE_ETHER_HDR_LEN, i;
	struct rte_ether_addr dst;
	struct rte_mbuf *m, *got;
	uint8_t flat[9100];
	const uint8_t *p;

	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rig_configure(0, 1, 1, &(struct rte_eth_conf){.rxmode.mtu = 9000}, rig_large_pool()), 0);
	assert_int_equal(rte_eth_dev_start(0), 0);
	/* Without scatter the queue is refused, with the sizes in the text. */
	rig_log_begin();
	assert_int_not_equal(rig_configure(1, 1, 1, &(struct rte_eth_conf){.rxmode.mtu = 9000}, rig_pool()), 0);
	rig_log_one("9000", "scatter");
	rig_start(1, 1, &conf);
	dst = rig_mac(1);
	m = rig_frame(&dst, len);
	rig_send(0, m);
	assert_int_equal(rte_eth_rx_burst(1, 0, &got, 1), 1);
	assert_int_equal(got->pkt_len, len);
	assert_int_equal(got->nb_segs, (len + 2047) / 2048);
	p = rte_pktmbuf_read(got, 0, len, flat);
	assert_non_null(p);
	for (i = RTE_ETHER_HDR_LEN; i < len; i++)
		if (p[i] != (uint8_t)i)
			fail_msg("byte %u is 0x%02x", i, p[i]);
	rte_pktmbuf_free(got);
	rig_send(0, rig_frame(&dst, RIG_FRAME));
	assert_int_equal(rig_drain(1, 0), 1);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_mac),
		T(test_mac_limit),
		T(test_groups),
		T(test_many_groups),
		T(test_promiscuous),
		T(test_vlan_filter),
		T(test_vlan_strip),
		T(test_strip_live),
		T(test_strip_of_one_refused),
		T(test_strip_refused),
		T(test_strip_without_buffers),
		T(test_vlan_insert),
		T(test_mtu_limits),
		T(test_jumbo),
		T(test_list_size),
	};

	if (rig_eal("mlx4flt", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
