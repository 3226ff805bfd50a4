/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Tags of frames that are sent without one: by declaration, and by ethdev's port VLAN; the other end of the wire sees them. */
#include <errno.h>

#include "drivers/mlx4/tx/choose.h"
#include "qos_tx_rig.h"
#include "drivers/mlx4/tx/policy.h"

#define QUEUES 2
#define PRIO 3    /* of queue 1 */
#define VID 0x124 /* with zeros on both sides of a one */
#define RINGFUL 300u
#define UNTAGGED -1

static int
setup(void **state)
{
	rig_open("");
	rig_start(0, QUEUES, NULL);
	rig_start(1, 1, NULL);
	queue_prio(1, PRIO);
	return 0;
}

static void
tagging(uint8_t tags, uint16_t vid)
{
	struct tp_qos_port q = defaults();

	q.tag_untagged = tags;
	q.port_vlan = vid;
	declare(&q);
}

/* tci: what follows 0x8100, or UNTAGGED; the type of the packet comes behind it. */
static void
expect(const struct rte_mbuf *m, int tci)
{
	const uint8_t *b = bytes(m) + 12;

	assert_int_equal(m->pkt_len, tci == UNTAGGED ? 80 : 84);
	if (tci != UNTAGGED) {
		assert_int_equal(b[0] << 8 | b[1], 0x8100);
		assert_int_equal(b[2] << 8 | b[3], tci);
		b += 4;
	}
	assert_int_equal(b[0] << 8 | b[1], 0x0800);
}

static void
sent(uint16_t queue, int tci)
{
	struct rte_mbuf *m = through(queue, udp(7));

	expect(m, tci);
	rte_pktmbuf_free(m);
}

/* To an address of the link alone, and to the first that is none: LLDP and LACP have no tag. */
static void
test_link_local(void **state)
{
	static const struct {
		uint8_t last;
		int tci;
	} c[] = {{0x00, UNTAGGED}, {0x02, UNTAGGED}, {0x0e, UNTAGGED}, {0x0f, UNTAGGED}, {0x10, PRIO << 13 | VID}};
	struct rte_ether_addr dst = {{0x01, 0x80, 0xc2, 0, 0, 0}};
	struct rte_mbuf *m;
	unsigned int i, look;

	assert_int_equal(rte_eth_allmulticast_enable(1), 0);
	for (look = 0; look < 2; look++) {
		struct tp_qos_port q = defaults();

		q.tag_untagged = TP_TAG_PRIO | TP_TAG_VLAN;
		q.port_vlan = VID;
		q.mark_dscp = look != 0;
		declare(&q);
		for (i = 0; i < RTE_DIM(c); i++) {
			m = udp(7);
			dst.addr_bytes[5] = c[i].last;
			rte_ether_addr_copy(&dst, &rte_pktmbuf_mtod(m, struct rte_ether_hdr *)->dst_addr);
			m = through(1, m);
			expect(m, c[i].tci);
			rte_pktmbuf_free(m);
		}
	}
}

/* Of both queues, priority 0 and 3. */
static void
test_modes(void **state)
{
	static const struct {
		uint8_t tags;
		int tci[QUEUES];
	} c[] = {
		{0, {UNTAGGED, PRIO << 13}},
		{TP_TAG_PRIO, {0, PRIO << 13}},
		{TP_TAG_VLAN, {VID, VID}},
		{TP_TAG_PRIO | TP_TAG_VLAN, {VID, PRIO << 13 | VID}},
	};
	const struct mlx4_eth *eth = rte_eth_devices[0].data->dev_private;
	struct tp_qos_port q = defaults();
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(c); i++) {
		tagging(c[i].tags, VID);
		for (k = 0; k < QUEUES; k++)
			sent((uint16_t)k, c[i].tci[k]);
	}
	/* Frames without a tag of priority only, as DSCP-based PFC wants them; the port VLAN is more than that. */
	q.tx_untag_priority = true;
	declare(&q);
	sent(1, UNTAGGED);
	q.tag_untagged = TP_TAG_PRIO | TP_TAG_VLAN;
	q.port_vlan = 4095;
	declare(&q);
	sent(1, PRIO << 13 | 4095);
	/* Off again, a queue without a policy sends as if there had never been one. */
	queue_prio(1, 0);
	tagging(0, 0);
	assert_null(eth->txqs[0]->policy);
	assert_null(eth->txqs[1]->policy);
	assert_int_equal(eth->tx_way, MLX4_TX_PLAIN);
	sent(0, UNTAGGED);
}

/* Frames that have a tag, of their own or by the card, keep their VLAN. */
static void
test_tagged(void **state)
{
	static const char own[] = "\x81\x00\x10\x64"; /* DEI, VID 100 */
	struct rte_mbuf *m;
	uint8_t *p;

	tagging(TP_TAG_PRIO | TP_TAG_VLAN, VID);
	m = udp(7);
	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = 0x2064;
	m = through(0, m);
	expect(m, 0x2064);
	rte_pktmbuf_free(m);
	m = udp(7);
	p = rte_pktmbuf_mtod(m, uint8_t *);
	assert_non_null(rte_pktmbuf_append(m, 4));
	memmove(p + 16, p + 12, 80 - 12);
	memcpy(p + 12, own, 4);
	m = through(0, m);
	expect(m, 0x1064);
	rte_pktmbuf_free(m);
}

/* A packet that others look at, too, is left as it is. */
static void
test_shared(void **state)
{
	struct rte_mbuf *m = udp(7), *got;

	tagging(TP_TAG_VLAN, VID);
	rte_mbuf_refcnt_update(m, 1);
	got = through(0, m);
	expect(got, VID);
	assert_int_equal(m->ol_flags & RTE_MBUF_F_TX_VLAN, 0);
	rte_pktmbuf_free(got);
	rte_eth_tx_done_cleanup(0, 0, 0);
	assert_int_equal(rte_mbuf_refcnt_read(m), 1);
	rte_pktmbuf_free(m);
}

/* What a full ring did not take has its tag already when it is offered again. */
static void
test_offered_again(void **state)
{
	struct rte_mbuf *m[RINGFUL], *got;
	uint16_t done = 0, n;
	unsigned int i, seen = 0;

	tagging(TP_TAG_VLAN, VID);
	for (i = 0; i < RINGFUL; i++)
		m[i] = udp(7);
	done = rte_eth_tx_burst(0, 1, m, RINGFUL);
	assert_in_range(done, 1, RINGFUL - 1);
	assert_int_equal(rte_eth_tx_burst(0, 1, m + done, (uint16_t)(RINGFUL - done)), 0);
	while (seen < RINGFUL) {
		rig_run(0);
		while (rte_eth_rx_burst(1, 0, &got, 1) == 1) {
			expect(got, VID);
			rte_pktmbuf_free(got);
			seen++;
			rig_run(0);
		}
		n = rte_eth_tx_burst(0, 1, m + done, (uint16_t)(RINGFUL - done));
		assert_true(n != 0 || done == RINGFUL);
		done += n;
	}
	assert_int_equal(done, RINGFUL);
}

/* ethdev's port VLAN is the same declaration; received frames keep the tag. */
static void
test_pvid(void **state)
{
	struct tp_qos_port q;

	assert_int_equal(rte_eth_dev_set_vlan_pvid(0, VID, 1), 0);
	assert_int_equal(rte_pmd_mlx4_qos_get(0, &q), 0);
	assert_int_equal(q.tag_untagged, TP_TAG_VLAN);
	assert_int_equal(q.port_vlan, VID);
	sent(0, VID);
	assert_int_equal(rte_eth_dev_set_vlan_pvid(1, VID, 1), 0);
	sent(0, VID);
	rig_log_begin();
	assert_int_equal(rte_eth_dev_set_vlan_pvid(0, 4096, 1), -EINVAL);
	rig_log_one("4096", "0..4095");
	sent(0, VID);
	/* Over stop and start, and with queues that are new. */
	assert_int_equal(rte_eth_dev_stop(0), 0);
	rig_start(0, QUEUES, NULL);
	sent(0, VID);
	assert_int_equal(rte_eth_dev_set_vlan_pvid(0, VID, 0), 0);
	sent(0, UNTAGGED);
	tagging(TP_TAG_PRIO | TP_TAG_VLAN, VID);
	assert_int_equal(rte_eth_dev_set_vlan_pvid(0, VID, 0), 0);
	sent(1, PRIO << 13);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_modes), T(test_link_local), T(test_tagged), T(test_shared), T(test_offered_again), T(test_pvid),
	};

	if (rig_eal("tag", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
