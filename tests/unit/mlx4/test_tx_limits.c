/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the card would not send and fail a queue pair for: frames above the MTU, also while it changes, chains that are too long. */
#include <errno.h>
#include <unistd.h>

#include "rig.h"

#define HDR (RTE_ETHER_HDR_LEN + 20u + 20u)
#define LONGEST(mtu) ((mtu) + RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN) /* without FCS */
#define WAIT_MS 30000u
#define SEGS 101u

static int
setup(void **state)
{
	const struct rte_eth_conf conf = {.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
							     RTE_ETH_TX_OFFLOAD_TCP_TSO |
							     RTE_ETH_TX_OFFLOAD_VLAN_INSERT};

	rig_open("");
	rig_start(0, 1, &conf);
	rig_start(1, 1, NULL);
	tp_model_set_time(rig_model(0), 0);
	return 0;
}

static struct rte_mbuf *
frame(uint32_t len)
{
	const struct rte_ether_addr dst = rig_mac(1);

	return rig_frame(&dst, (uint16_t)len);
}

static uint64_t
errors(void)
{
	struct rte_eth_stats st;

	assert_int_equal(rte_eth_stats_get(0, &st), 0);
	return st.oerrors;
}

/* Prepare refuses it, the burst drops and counts it, and the next one goes. */
static void
refused(struct rte_mbuf *m)
{
	uint64_t before = errors();

	rte_errno = 0;
	assert_int_equal(rte_eth_tx_prepare(0, 0, &m, 1), 0);
	assert_int_equal(rte_errno, EINVAL);
	rig_send(0, m);
	assert_int_equal(rig_drain(1, 0), 0);
	assert_int_equal(errors(), before + 1);
	rig_send(0, frame(60));
	assert_int_equal(rig_drain(1, 0), 1);
}

static void
sent(struct rte_mbuf *m, unsigned int frames)
{
	assert_int_equal(rte_eth_tx_prepare(0, 0, &m, 1), 1);
	rig_send(0, m);
	assert_int_equal(rig_drain(1, 0), frames);
}

/* In two segments. */
static struct rte_mbuf *
chain(uint32_t len)
{
	struct rte_mbuf *m = frame(len / 2), *tail = frame(len - len / 2);

	assert_int_equal(rte_pktmbuf_chain(m, tail), 0);
	return m;
}

static struct rte_mbuf *
tagged(struct rte_mbuf *m)
{
	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = 7;
	return m;
}

/* A large send of two segments of so many bytes each. */
static struct rte_mbuf *
large(uint16_t mss)
{
	struct rte_mbuf *m = rig_ipv4(IPPROTO_TCP, 1, 2, 3, 4);
	const struct rte_ether_addr dst = rig_mac(1);
	uint32_t left = HDR + 2u * mss - m->pkt_len;

	rte_ether_addr_copy(&dst, &rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr);
	rte_pktmbuf_mtod_offset(m, uint8_t *, RTE_ETHER_HDR_LEN + 20)[12] = 5 << 4;
	assert_non_null(rte_pktmbuf_append(m, 100));
	assert_int_equal(rte_pktmbuf_chain(m, frame((left - 100) / 2)), 0);
	assert_int_equal(rte_pktmbuf_chain(m, frame(left - 100 - (left - 100) / 2)), 0);
	m->ol_flags = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
	m->l2_len = RTE_ETHER_HDR_LEN;
	m->l3_len = 20;
	m->l4_len = 20;
	m->tso_segsz = mss;
	return m;
}

static void
test_longest(void **state)
{
	const uint32_t max = LONGEST(1500);

	(void)state;
	sent(frame(max), 1);
	refused(frame(max + 1));
	sent(chain(max), 1);
	refused(chain(max + 1));
	sent(tagged(frame(max - 4)), 1);
	refused(tagged(frame(max - 3)));
	sent(tagged(chain(max - 4)), 1);
	refused(tagged(chain(max - 3)));
	sent(large((uint16_t)(max - HDR)), 2);
	refused(large((uint16_t)(max - HDR + 1)));
	sent(tagged(large((uint16_t)(max - HDR - 4))), 2);
	refused(tagged(large((uint16_t)(max - HDR - 3))));
}

static void
test_mtu_live(void **state)
{
	(void)state;
	assert_int_equal(rte_eth_dev_set_mtu(0, 1000), 0);
	sent(frame(LONGEST(1000)), 1);
	refused(frame(LONGEST(1000) + 1));
	assert_int_equal(rte_eth_dev_set_mtu(0, 1400), 0);
	sent(frame(LONGEST(1400)), 1);
	refused(frame(LONGEST(1400) + 1));
	/* A queue that is made later, and one that is started again. */
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rte_eth_dev_set_mtu(0, 900), 0);
	assert_int_equal(rte_eth_tx_queue_setup(0, 0, RIG_DESC, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_dev_start(0), 0);
	sent(frame(LONGEST(900)), 1);
	refused(frame(LONGEST(900) + 1));
}

static void
pause_port_0(uint16_t quanta)
{
	const struct rte_ether_addr dst = {{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}};
	struct rte_mbuf *m = rig_frame(&dst, 60);
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
	const uint8_t words[] = {0x88, 0x08, 0x00, 0x01, (uint8_t)(quanta >> 8), (uint8_t)quanta};

	memcpy(p + 12, words, sizeof(words));
	assert_int_equal(rte_eth_tx_burst(1, 0, &m, 1), 1);
	rig_run(0);
}

/* Frames that wait behind a pause are too long for the card that is told of a smaller MTU: it is not. */
static void
test_mtu_while_paused(void **state)
{
	struct rte_eth_fc_conf fc = {.mode = RTE_ETH_FC_FULL};
	struct rte_mbuf *m = frame(LONGEST(1500));
	uint16_t mtu;

	(void)state;
	assert_int_equal(rte_eth_dev_flow_ctrl_set(0, &fc), 0);
	pause_port_0(0xffff);
	assert_int_equal(rte_eth_tx_burst(0, 0, &m, 1), 1);
	rig_run(0);
	assert_int_equal(rig_drain(1, 0), 0);
	rig_log_begin();
	assert_int_equal(rte_eth_dev_set_mtu(0, 1000), -EBUSY);
	rig_log_one("MTU 1000", "wait in transmit queue 0");
	assert_int_equal(rte_eth_dev_get_mtu(0, &mtu), 0);
	assert_int_equal(mtu, 1500);
	pause_port_0(0);
	assert_int_equal(rig_drain(1, 0), 1);
	sent(frame(LONGEST(1500)), 1);
	assert_int_equal(rte_eth_dev_set_mtu(0, 1000), 0);
}

/* A chain of clones: their own mbufs have no room for a copy. */
static struct rte_mbuf *
clones(struct rte_mempool *mp, unsigned int segs)
{
	struct rte_mbuf *data = frame(60), *m = NULL, *c;
	unsigned int i;

	for (i = 0; i < segs; i++) {
		c = rte_pktmbuf_clone(data, mp);
		assert_non_null(c);
		rte_pktmbuf_trim(c, i == 0 ? 0 : 46);
		if (m == NULL)
			m = c;
		else
			assert_int_equal(rte_pktmbuf_chain(m, c), 0);
	}
	rte_pktmbuf_free(data);
	return m;
}

static void
test_clones(void **state)
{
	struct rte_mempool *mp = rte_pktmbuf_pool_create("clones", 511, 0, 0, 0, SOCKET_ID_ANY);
	struct rte_mbuf *m;
	unsigned int i;

	(void)state;
	assert_non_null(mp);
	assert_int_equal(rig_xstat(0, "tx_copied_packets"), 0);
	sent(clones(mp, SEGS), 1);
	assert_int_equal(rig_xstat(0, "tx_copied_packets"), 1);
	/* Of buffers that no mempool knows: they cannot be copied into what has no room, and do not block the queue. */
	m = clones(mp, SEGS);
	rte_pktmbuf_free(m);
	for (m = NULL, i = 0; i < SEGS; i++) {
		static uint8_t space[2048];
		static struct rte_mbuf_ext_shared_info info;
		struct rte_mbuf *c = rte_pktmbuf_alloc(mp);

		assert_non_null(c);
		rte_mbuf_ext_refcnt_set(&info, SEGS + 1);
		rte_pktmbuf_attach_extbuf(c, space, (rte_iova_t)(uintptr_t)space, sizeof(space), &info);
		assert_non_null(rte_pktmbuf_append(c, 14));
		if (m == NULL)
			m = c;
		else
			assert_int_equal(rte_pktmbuf_chain(m, c), 0);
	}
	refused(m);
	assert_int_equal(rte_mempool_in_use_count(mp), 0);
	rte_mempool_free(mp);
}

/* A send that the card refuses fails the pair; it is taken back, and all is counted, as soon as the sender comes again. */
static void
test_recovers(void **state)
{
	struct rte_mbuf *m[5];
	struct rte_eth_stats st;
	unsigned int i, ms;

	(void)state;
	rig_send(0, frame(60));
	for (i = 0; i < RTE_DIM(m); i++)
		m[i] = frame(60);
	rte_mbuf_iova_set(m[2], UINT64_C(0xdead00000000));
	assert_int_equal(rte_eth_tx_burst(0, 0, m, RTE_DIM(m)), RTE_DIM(m));
	rig_run(0);
	assert_int_equal(rig_drain(1, 0), 3);
	m[0] = frame(60);
	for (ms = 0; ms < WAIT_MS && rte_eth_tx_burst(0, 0, m, 1) == 0; ms++)
		usleep(1000);
	assert_true(ms > 0 && ms < WAIT_MS);
	rig_run(0);
	assert_int_equal(rig_drain(1, 0), 1);
	assert_int_equal(rte_eth_stats_get(0, &st), 0);
	assert_int_equal(st.opackets, 4);
	assert_int_equal(st.obytes, 4 * 60);
	assert_int_equal(st.oerrors + rig_xstat(0, "tx_stop_drops"), 3);
	rig_unplug(RIG_DEV);
	assert_int_equal(rte_mempool_in_use_count(rig_pool()), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_longest),
		T(test_mtu_live),
		T(test_mtu_while_paused),
		T(test_clones),
		cmocka_unit_test_setup(test_recovers, setup),
	};

	if (rig_eal("mlx4lim", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
