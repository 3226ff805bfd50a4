/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Queues at their edges: the kind of each type of frame, how many buffers a frame needs, what a ring is made of, which flags are
 * reported, which burst a port has, and counters since a reset.
 */
#include <errno.h>
#include <stdlib.h>

#include <rte_cpuflags.h>
#include <rte_vect.h>

#include "drivers/mlx4/rx/choose.h"
#include "drivers/mlx4/rx/counts.h"
#include "drivers/mlx4/rx/flood.h"
#include "drivers/mlx4/rx/kinds.h"
#include "drivers/mlx4/rx/lro.h"
#include "drivers/mlx4/rx/sides.h"
#include "drivers/mlx4/rx/timestamp.h"
#include "drivers/mlx4/tx/choose.h"
#include "drivers/mlx4/tx/counts.h"
#include "drivers/mlx4/tx/policy.h"
#include "rig.h"
#include "rte_pmd_mlx4_queue.h"

static struct mlx4_eth *
eth_of(uint16_t port)
{
	return rte_eth_devices[port].data->dev_private;
}

static int
setup(void **state)
{
	rig_open_pair("", 1, NULL);
	return 0;
}

#define T_VXLAN                                                                                                        \
	(RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4_EXT_UNKNOWN | RTE_PTYPE_TUNNEL_GRENAT | RTE_PTYPE_INNER_L2_ETHER)
#define IN4 RTE_PTYPE_INNER_L3_IPV4

static void
test_kind_of_types(void **state)
{
	static const struct {
		uint32_t type;
		uint8_t tunnel, kind;
	} t[] = {
		{RTE_PTYPE_L2_ETHER, 0, RTE_PMD_MLX4_RX_OTHER},
		{RTE_PTYPE_L3_IPV4, 0, RTE_PMD_MLX4_RX_IPV4},
		{RTE_PTYPE_L3_IPV4_EXT, 0, RTE_PMD_MLX4_RX_IPV4},
		{RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_FRAG, 0, RTE_PMD_MLX4_RX_IPV4},
		{RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP, 0, RTE_PMD_MLX4_RX_IPV4_TCP},
		{RTE_PTYPE_L3_IPV4_EXT | RTE_PTYPE_L4_UDP, 0, RTE_PMD_MLX4_RX_IPV4_UDP},
		{RTE_PTYPE_L3_IPV6_EXT_UNKNOWN, 0, RTE_PMD_MLX4_RX_IPV6},
		{RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_L4_TCP, 0, RTE_PMD_MLX4_RX_IPV6_TCP},
		{RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_L4_UDP, 0, RTE_PMD_MLX4_RX_IPV6_UDP},
		{RTE_PTYPE_L4_TCP, 0, RTE_PMD_MLX4_RX_OTHER},
		/* of a tunnel what is inside */
		{T_VXLAN, 1, RTE_PMD_MLX4_RX_OTHER},
		{T_VXLAN | IN4, 1, RTE_PMD_MLX4_RX_IPV4},
		{T_VXLAN | RTE_PTYPE_INNER_L3_IPV4_EXT | RTE_PTYPE_INNER_L4_TCP, 1, RTE_PMD_MLX4_RX_IPV4_TCP},
		{T_VXLAN | RTE_PTYPE_INNER_L3_IPV4_EXT_UNKNOWN | RTE_PTYPE_INNER_L4_UDP, 1, RTE_PMD_MLX4_RX_IPV4_UDP},
		{T_VXLAN | IN4 | RTE_PTYPE_INNER_L4_FRAG, 1, RTE_PMD_MLX4_RX_IPV4},
		{T_VXLAN | RTE_PTYPE_INNER_L3_IPV6_EXT_UNKNOWN, 1, RTE_PMD_MLX4_RX_IPV6},
		{T_VXLAN | RTE_PTYPE_INNER_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_INNER_L4_TCP, 1, RTE_PMD_MLX4_RX_IPV6_TCP},
		{T_VXLAN | RTE_PTYPE_INNER_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_INNER_L4_UDP, 1, RTE_PMD_MLX4_RX_IPV6_UDP},
	};
	struct rte_pmd_mlx4_rx_kinds k;
	struct rte_mbuf m, *pkts[2] = {&m, &m};
	unsigned int i, hashed;
	uint64_t sum, n;

	assert_int_equal(rte_pmd_mlx4_rx_kinds_count(1, true), 0);
	memset(&m, 0, sizeof(m));
	for (i = 0; i < RTE_DIM(t); i++)
		for (hashed = 0; hashed < 2; hashed++) {
			m.packet_type = t[i].type;
			m.hash.rss = hashed != 0 ? 0x80000000 : 0;
			assert_int_equal(rte_eth_stats_reset(1), 0);
			mlx4_rx_kinds_note(eth_of(1)->rxqs[0], pkts, 2);
			assert_int_equal(rte_pmd_mlx4_rx_kinds_get(1, 0, &k), 0);
			if (k.packets[hashed][t[i].tunnel][t[i].kind] != 2)
				fail_msg("type %u, hash %u", i, hashed);
			for (sum = n = 0; n < sizeof(k.packets) / sizeof(uint64_t); n++)
				sum += (&k.packets[0][0][0])[n];
			assert_int_equal(sum, 2);
		}
	/* Asked again, it goes on with what it has. */
	assert_int_equal(rte_pmd_mlx4_rx_kinds_count(1, true), 0);
	assert_int_equal(rte_pmd_mlx4_rx_kinds_get(1, 0, &k), 0);
	assert_int_equal(k.packets[1][1][RTE_PMD_MLX4_RX_IPV6_UDP], 2);
	assert_int_equal(rte_pmd_mlx4_rx_kinds_count(1, false), 0);
}

/* Frames of the MTU and 26 bytes in buffers of one size: a power of two of them, one more for headers of their own. */
static void
test_buffers_of_a_frame(void **state)
{
	static const struct {
		uint16_t mtu, hdr;
		uint32_t buf;
		uint8_t lg_sges;
		uint32_t room; /* 0: refused */
	} t[] = {
		{1500, 0, 2048, 0, 2048},
		{1500, 0, 1526, 0, 1526},
		{1500, 0, 1525, 1, 3050},
		{1500, 0, 763, 1, 1526},
		{1500, 0, 762, 2, 3048},
		{1500, 128, 1398, 1, 1526},
		{1500, 128, 1397, 2, 128 + 3 * 1397},
		{1500, 128, 466, 2, 128 + 3 * 466},
		{1500, 128, 465, 3, 128 + 7 * 465},
		{100, 126, 64, 1, 126 + 64},
		{100, 1000, 64, 1, 1064},
		{1500, 0, 48, 5, 32 * 48}, /* 1526 / 48 is 31.8 */
		{1500, 0, 47, 6, 0},       /* 33, so 64: the card takes 32 */
	};
	struct mlx4_eth *eth = eth_of(1);
	const uint16_t mtu = eth->dev->data->mtu;
	const uint32_t sge = eth->hca->caps.max_rq_sge, desc = eth->hca->caps.max_rq_desc;
	char err[128];
	unsigned int i;

	eth->hca->caps.max_rq_sge = 32;
	eth->hca->caps.max_rq_desc = 512;
	for (i = 0; i < RTE_DIM(t); i++) {
		struct mlx4_rxq q = {.eth = eth, .buf_len = t[i].buf, .own_mp = rig_pool()};
		int rc;

		eth->dev->data->mtu = t[i].mtu;
		rc = mlx4_rxq_check_shape(&q, t[i].hdr, err, sizeof(err));
		assert_int_equal(rc, t[i].room == 0 ? -EINVAL : 0);
		if (t[i].room == 0) {
			assert_string_equal(err, "frames of 1526 bytes need 64 buffers of 47 bytes, the card takes 32");
			continue;
		}
		mlx4_rxq_shape(&q, rig_pool(), t[i].hdr);
		if (q.lg_sges != t[i].lg_sges || mlx4_rxq_room(&q) != t[i].room)
			fail_msg("case %u: 2^%u, room %u", i, q.lg_sges, mlx4_rxq_room(&q));
		assert_true(q.reshaped);
		assert_ptr_equal(q.hdr_mp, rig_pool());
		/* The same again changes nothing. */
		q.reshaped = false;
		mlx4_rxq_shape(&q, rig_pool(), t[i].hdr);
		assert_false(q.reshaped);
		mlx4_rxq_shape(&q, rig_pool(), t[i].hdr + 1);
		assert_true(q.reshaped);
	}
	/* Scatter entries are limited by the WQE's length, too. */
	{
		struct mlx4_rxq q = {.eth = eth, .buf_len = 48, .own_mp = rig_pool()};

		eth->dev->data->mtu = 1500;
		eth->hca->caps.max_rq_desc = 511;
		assert_int_equal(mlx4_rxq_check_shape(&q, 0, err, sizeof(err)), -EINVAL);
		assert_non_null(strstr(err, "takes 31"));
		eth->hca->caps.max_rq_desc = 512;
		/* Headers of TCP over IPv4 are 54 bytes; those who join segments want them in the first buffer. */
		q.buf_len = 2048;
		q.offloads = RTE_ETH_RX_OFFLOAD_TCP_LRO;
		assert_int_equal(mlx4_rxq_check_shape(&q, 53, err, sizeof(err)), -EINVAL);
		assert_non_null(strstr(err, "lookahead: 53 with LRO, want 54"));
		assert_int_equal(mlx4_rxq_check_shape(&q, 54, err, sizeof(err)), 0);
		assert_int_equal(mlx4_rxq_check_shape(&q, 0, err, sizeof(err)), 0);
		q.offloads = 0;
		assert_int_equal(mlx4_rxq_check_shape(&q, 53, err, sizeof(err)), 0);
		/* The pool of headers, or that of the rest when they have none. */
		assert_int_equal(mlx4_rxq_check_shape(&q, 2048, err, sizeof(err)), 0);
		assert_int_equal(mlx4_rxq_check_shape(&q, 2049, err, sizeof(err)), -EINVAL);
		assert_non_null(strstr(err, "lookahead: 2049, want up to 2048"));
		q.own_hdr_mp = rig_large_pool();
		assert_int_equal(mlx4_rxq_check_shape(&q, 2049, err, sizeof(err)), 0);
	}
	eth->dev->data->mtu = mtu;
	eth->hca->caps.max_rq_sge = sge;
	eth->hca->caps.max_rq_desc = desc;
}

/* Each WQE says how long its buffers are and whose key holds; descriptors are shared by a queue's rings, 64 at least each. */
static void
test_rings(void **state)
{
	const struct rte_eth_conf rss = {
		.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS, .offloads = RTE_ETH_RX_OFFLOAD_SCATTER, .mtu = 3000},
		.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_UDP};
	struct mlx4_eth *eth = eth_of(1);
	const struct mlx4_rx_set *s = eth->rxqs[0]->set;
	unsigned int i, queue;

	assert_int_equal(s->num_rings, 1);
	assert_int_equal(s->ring[0].mask, RIG_DESC - 1);
	assert_int_equal(s->cq_mask, RIG_DESC - 1);
	assert_int_equal(eth->rxqs[0]->refill_min, 32);
	assert_true(s->ol_flags == 0);
	for (i = 0; i < RIG_DESC; i++) {
		assert_int_equal(rte_be_to_cpu_32(s->ring[0].wqes[i].byte_count), 2048);
		assert_int_equal(rte_be_to_cpu_32(s->ring[0].wqes[i].lkey), eth->hca->pa_key);
	}
	assert_int_equal(rte_eth_dev_stop(1), 0);
	rig_start(1, 3, &rss);
	for (queue = 0; queue < 3; queue++) {
		unsigned int rings = eth->rxqs[queue]->set->num_rings;

		s = eth->rxqs[queue]->set;
		assert_true(rings > 4);
		assert_true(s->ol_flags == RTE_MBUF_F_RX_RSS_HASH);
		assert_int_equal(s->cq_mask + 1, rte_align32pow2(rings * 64));
		assert_int_equal(eth->rxqs[queue]->refill_min, 16);
		for (i = 0; i < rings; i++) {
			assert_int_equal(s->ring[i].mask, 63);
			assert_int_equal(s->ring[i].lg_sges, 1);
			assert_int_equal((uint16_t)(s->ring[i].pi - s->ring[i].ci), 64);
			assert_int_equal(rte_be_to_cpu_32(s->ring[i].wqes[127].byte_count), 2048);
			assert_int_equal(rte_be_to_cpu_32(s->ring[i].wqes[127].lkey), eth->hca->pa_key);
		}
	}
}

static void
test_reported_flags(void **state)
{
	static const struct {
		uint64_t offloads, mask;
	} t[] = {
		{0, 0},
		{RTE_ETH_RX_OFFLOAD_IPV4_CKSUM, RTE_MBUF_F_RX_IP_CKSUM_MASK},
		{RTE_ETH_RX_OFFLOAD_TCP_CKSUM, RTE_MBUF_F_RX_L4_CKSUM_MASK},
		{RTE_ETH_RX_OFFLOAD_UDP_CKSUM, RTE_MBUF_F_RX_L4_CKSUM_MASK},
		{RTE_ETH_RX_OFFLOAD_OUTER_IPV4_CKSUM, RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD},
		{RTE_ETH_RX_OFFLOAD_OUTER_UDP_CKSUM, RTE_MBUF_F_RX_OUTER_L4_CKSUM_MASK},
		{RTE_ETH_RX_OFFLOAD_TCP_LRO, RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK},
	};
	struct mlx4_eth *eth = eth_of(1);
	unsigned int i;

	for (i = 0; i < RTE_DIM(t); i++) {
		const struct rte_eth_rxconf conf = {.offloads = t[i].offloads};
		const size_t heap = rig_heap();
		struct mlx4_rxq *q;

		assert_int_equal(mlx4_rxq_setup(eth, 7, 300, SOCKET_ID_ANY, &conf, rig_pool(), &q), 0);
		assert_true(q->ol_mask == (t[i].mask | RTE_MBUF_F_RX_RSS_HASH));
		assert_int_equal(q->nb_desc, 512);
		assert_int_equal(q->vector, -1);
		assert_true((q->lro != NULL) == (t[i].offloads == RTE_ETH_RX_OFFLOAD_TCP_LRO));
		assert_int_equal(q->crc_len, 0);
		mlx4_rxq_release(q);
		assert_int_equal(rig_heap(), heap);
	}
	mlx4_rxq_release(NULL);
	mlx4_txq_release(NULL);
}

static void
test_choice(void **state)
{
	struct mlx4_eth *eth = eth_of(1);
	const bool avx2 = rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX2) > 0;
	unsigned int i;
	static const struct {
		unsigned int way;
		eth_rx_burst_t burst;
	} t[] = {
		{MLX4_RX_SCATTERED, mlx4_rx_burst_scattered},
		{MLX4_RX_FLOOD, mlx4_rx_burst_flood},
		{MLX4_RX_SIDES, mlx4_rx_burst_sides},
		{MLX4_RX_LRO, mlx4_rx_burst_lro},
		{MLX4_RX_SCATTERED | MLX4_RX_COUNTED, mlx4_rx_burst_counting},
		{MLX4_RX_LRO | MLX4_RX_COUNTED | MLX4_RX_HEADERS, mlx4_rx_burst_headers},
		{MLX4_RX_PLAIN | MLX4_RX_HEADERS, mlx4_rx_burst_headers},
	};

	for (i = 0; i < RTE_DIM(t); i++)
		assert_ptr_equal(mlx4_rx_burst_of(t[i].way), t[i].burst);
	assert_ptr_equal(mlx4_rx_burst_plain(), avx2 ? mlx4_rx_burst_avx2 : mlx4_rx_burst);
	assert_ptr_equal(mlx4_rx_burst_of(MLX4_RX_PLAIN), mlx4_rx_burst_plain());
	/* A port that is gone for its pollers; it stays so until it starts again. */
	assert_ptr_equal(rte_eth_fp_ops[1].tx_pkt_burst, mlx4_tx_burst);
	assert_non_null(eth->dev->tx_pkt_prepare);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	mlx4_rx_burst_off(eth);
	mlx4_tx_burst_off(eth);
	assert_int_equal(eth->rx_way, MLX4_RX_OFF);
	assert_int_equal(eth->tx_way, MLX4_TX_OFF);
	assert_null(eth->dev->tx_pkt_prepare);
	assert_int_equal(eth->dev->rx_pkt_burst(NULL, NULL, 0), 0);
	assert_int_equal(eth->dev->tx_pkt_burst(NULL, NULL, 0), 0);
	mlx4_rx_burst_update(eth);
	mlx4_tx_burst_update(eth);
	assert_int_equal(eth->rx_way, MLX4_RX_OFF);
	assert_int_equal(eth->tx_way, MLX4_TX_OFF);
	assert_int_equal(rte_eth_dev_start(1), 0);
	assert_int_equal(eth->rx_way, MLX4_RX_PLAIN);
	assert_int_equal(eth->tx_way, MLX4_TX_PLAIN);
	assert_ptr_equal(mlx4_tx_burst_of(MLX4_TX_POLICY), mlx4_tx_burst_policy);
	assert_ptr_equal(mlx4_tx_burst_of(MLX4_TX_OFF), mlx4_rx_burst_of(MLX4_RX_OFF));
}

/* Each counter by itself: what it is, and what it is since the reset. */
static void
test_counts(void **state)
{
	struct mlx4_rxq *rx = eth_of(1)->rxqs[0];
	struct mlx4_txq *tx = eth_of(1)->txqs[0];
	struct mlx4_rx_counts r;
	struct mlx4_tx_counts t;
	unsigned int round, p;

	for (round = 1; round <= 2; round++) {
		rx->packets += 11;
		rx->bytes += 12;
		rx->errors += 13;
		rx->nombuf += 14;
		rx->splits += 15;
		rx->unsplit += 16;
		tx->packets += 100;
		tx->lost_packets += 3;
		tx->back_packets += 4;
		tx->bytes += 1000;
		tx->lost_bytes += 30;
		tx->back_bytes += 40;
		tx->errors += 21;
		tx->linearized += 22;
		tx->failures += 23;
		tx->spoof_mac += 24;
		tx->spoof_type += 25;
		for (p = 0; p < 8; p++) {
			tx->prio_count[p].untagged += 30 + p;
			tx->prio_count[p].untagged_bytes += 40 + p;
			tx->prio_count[p].discards += 50 + p;
		}
		/* The second time all counters are twice that, and since the reset they are the same. */
		mlx4_rxq_counts_since_reset(rx, &r);
		mlx4_txq_counts_since_reset(tx, &t);
		assert_true(r.packets == 11 && r.bytes == 12 && r.errors == 13);
		assert_true(r.nombuf == 14 && r.splits == 15 && r.unsplit == 16);
		assert_true(t.packets == 93 && t.bytes == 930 && t.errors == 21 && t.linearized == 22);
		assert_true(t.failures == 23 && t.spoof_mac == 24 && t.spoof_type == 25);
		for (p = 0; p < 8; p++)
			assert_true(t.prio[p].untagged == 30 + p && t.prio[p].untagged_bytes == 40 + p &&
				    t.prio[p].discards == 50 + p);
		mlx4_rxq_counts_all(rx, &r);
		mlx4_txq_counts_all(tx, &t);
		assert_true(r.packets == round * 11 && r.unsplit == round * 16);
		assert_true(t.packets == round * 93 && t.spoof_type == round * 25);
		assert_true(t.prio[7].discards == round * 57);
		mlx4_rxq_counts_reset(rx);
		mlx4_txq_counts_reset(tx);
	}
}

/* The halves of a clock as they are read one after the other: the high one changes behind the first low one. */
static const uint32_t halves[] = {1, 0xfffffff0, 2, 5, 2};
static unsigned int halves_read;
static uint32_t halves_off;
static uint32_t (*card_read32)(struct mlx4_bus *bus, uint32_t off);

/* The interrupt thread looks at the card's error buffer meanwhile. */
static uint32_t
next_half(struct mlx4_bus *bus, uint32_t off)
{
	if (off != halves_off && off != halves_off + 4)
		return card_read32(bus, off);
	assert_in_range(halves_read, 0, RTE_DIM(halves) - 1);
	return halves[halves_read++];
}

static void
test_clock_halves(void **state)
{
	struct mlx4_eth *eth = eth_of(1);
	const struct mlx4_bus_ops *was = eth->hca->bus->ops;
	static struct mlx4_bus_ops ops; /* that thread may be in a function of it when this one has gone on */
	uint64_t cycles;

	ops = *was;
	card_read32 = was->read32;
	halves_off = (uint32_t)eth->hca->caps.clock_off;
	halves_read = 0;
	ops.read32 = next_half;
	eth->hca->bus->ops = &ops;
	assert_int_equal(mlx4_read_clock(eth->dev, &cycles), 0);
	eth->hca->bus->ops = was;
	assert_int_equal(halves_read, RTE_DIM(halves));
	assert_true(cycles == (UINT64_C(2) << 32 | 5));
}

static void
test_clock(void **state)
{
	struct mlx4_eth *eth = eth_of(1);
	const uint64_t off = eth->hca->caps.clock_off;
	uint64_t a = UINT64_MAX, b;

	assert_int_equal(mlx4_read_clock(eth->dev, &a), 0);
	assert_true(a >> 48 == 0);
	tp_model_set_time(rig_model(1), UINT64_C(1000000000));
	assert_int_equal(mlx4_read_clock(eth->dev, &a), 0);
	tp_model_set_time(rig_model(1), UINT64_C(21000000000));
	assert_int_equal(mlx4_read_clock(eth->dev, &b), 0);
	/* 20 seconds at 427 MHz, more than 2^32 cycles. */
	assert_true(b - a == UINT64_C(20000000) * 427);
	/* It has 48 bits. */
	tp_model_set_time(rig_model(1), UINT64_C(330001000000000));
	assert_int_equal(mlx4_read_clock(eth->dev, &b), 0);
	assert_true(b >> 47 == 1 && b - a == UINT64_C(330000000000) * 427);
	tp_model_set_time(rig_model(1), UINT64_C(660001000000000));
	assert_int_equal(mlx4_read_clock(eth->dev, &b), 0);
	assert_true(b - a == UINT64_C(660000000000) * 427 - (UINT64_C(1) << 48));
	eth->hca->caps.clock_off = 0;
	assert_int_equal(mlx4_read_clock(eth->dev, &a), -ENOTSUP);
	eth->hca->caps.clock_off = off;
	eth->hca->dead = true;
	assert_int_equal(mlx4_read_clock(eth->dev, &a), -EIO);
	eth->hca->dead = false;
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_kind_of_types), T(test_buffers_of_a_frame),
		T(test_rings),         T(test_reported_flags),
		T(test_choice),        T(test_counts),
		T(test_clock),         T(test_clock_halves),
	};

	if (rig_eal("mlx4rxe", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
