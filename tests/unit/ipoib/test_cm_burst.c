/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Bursts of connected mode: packets of 65520 octets in chains of buffers, connections without room and broken ones. */
#include "cm_rig.h"

static void
expect_received(struct rte_mbuf *m, uint32_t octets, uint32_t segs)
{
	uint32_t at = 10, skip = 10 + 14, i;

	assert_int_equal(m->pkt_len, octets + 10);
	assert_int_equal(m->nb_segs, segs);
	rte_mbuf_sanity_check(m, 1);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), &rig.node[0].core->mac, 6);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *) + 6, &peer, 6);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *) + 12, "\x08\x00\x45", 3);
	/* Behind the headers the octets that were sent, in their order. */
	for (at = 0; m != NULL; m = m->next) {
		const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);

		for (i = 0; i < m->data_len; i++, at++) {
			if (at > skip && p[i] != octet(at - 10))
				fail_msg("octet %u of %u is wrong", at, octets);
		}
	}
	assert_int_equal(at, octets + 10);
}

static void
receives_what_takes_a_chain(void **state)
{
	struct rte_mbuf *m[DEPTH];
	unsigned int before = rte_mempool_in_use_count(rig.pool);

	(void)state;
	arrive(OCTETS, IBV_WC_SUCCESS);
	arrive(100, IBV_WC_SUCCESS);
	arrive(4343, IBV_WC_SUCCESS); /* one octet in the second buffer */
	TAILQ_LAST(&rig.node[0].core->conns, ipoib_conns)->touched = 0;
	assert_int_equal(ipoib_cm_rx(&rxq, port.view, m, DEPTH), 3);
	assert_int_equal(TAILQ_LAST(&rig.node[0].core->conns, ipoib_conns)->touched, 1);
	expect_received(m[0], OCTETS, 15);
	expect_received(m[1], 100, 1);
	expect_received(m[2], 4343, 2);
	/* What packets left of their chains is posted again. */
	assert_int_equal(card.num_posted, DEPTH);
	assert_int_equal(cm->num_spare, 0);
	assert_int_equal(rte_mempool_in_use_count(rig.pool), before + 15 + 1 + 2);
	rte_pktmbuf_free_bulk(m, 3);
	assert_int_equal(port.n.cm_rx, 3);
}

/* What a burst handed over. */
static void
control_takes(void)
{
	struct ipoib_meta meta;
	struct rte_mbuf *m = NULL;

	assert_int_equal(rte_ring_dequeue(rxq.slow, (void **)&m), 0);
	meta = *ipoib_meta_of(m);
	ipoib_core_rx(rig.node[0].core, m, &meta);
}

/* A peer sends as soon as it is told that its connection is there, before the bursts have a snapshot of it. */
static void
received_before_the_snapshot(void **state)
{
	struct ipoib_core *c = rig.node[0].core;
	struct ipoib_conn *conn = ipoib_conn_request(c, &ipoib_remote_by_mac(c, &peer)->hw, MTU);
	struct rte_mbuf *m;

	(void)state;
	assert_non_null(conn);
	while ((m = rig_take(&rig, 0)) != NULL)
		rte_pktmbuf_free(m);
	ipoib_conn_up(c, conn, QPN + 1, MTU);
	arrive(4343, IBV_WC_SUCCESS);
	card.rx_done[0].qp_num = QPN + 1;
	assert_int_equal(ipoib_cm_rx(&rxq, port.view, &m, 1), 0);
	control_takes();
	m = rig_take(&rig, 0);
	assert_non_null(m);
	expect_received(m, 4343, 2);
	rte_pktmbuf_free(m);
	ipoib_conn_over(c, conn, false);
}

/* What others hold, too, goes to the control thread as a copy, since that writes. */
static void
hands_over_a_copy(void **state)
{
	struct rte_mbuf *m = frame(5000), *copy = NULL;
	uint32_t at;

	(void)state;
	rte_mbuf_refcnt_update(m, 1);
	ipoib_tx_hand_over(&txq, m);
	assert_int_equal(rte_mbuf_refcnt_read(m), 1);
	assert_int_equal(rte_ring_dequeue(txq.slow, (void **)&copy), 0);
	assert_ptr_not_equal(copy, m);
	assert_int_equal(copy->pkt_len, 5000);
	for (at = 0; at < 5000; at++) {
		uint8_t a, b;

		if (*(const uint8_t *)rte_pktmbuf_read(copy, at, 1, &a) !=
		    *(const uint8_t *)rte_pktmbuf_read(m, at, 1, &b))
			fail_msg("octet %u differs", at);
	}
	rte_pktmbuf_free(m);
	rte_pktmbuf_free(copy);
	/* One that nobody else holds is itself. */
	m = frame(100);
	ipoib_tx_hand_over(&txq, m);
	assert_int_equal(rte_ring_dequeue(txq.slow, (void **)&copy), 0);
	assert_ptr_equal(copy, m);
	rte_pktmbuf_free(m);
	assert_int_equal(txq.n.handed, 2);
}

/* The control thread does not come: what its rings have no place for is dropped, each way by its name. */
static void
full_rings(void **state)
{
	struct rte_mbuf *m[64], *got;
	unsigned int before = rte_mempool_in_use_count(rig.pool), i;

	(void)state;
	/* A ring of 64 holds 63. */
	assert_int_equal(rte_pktmbuf_alloc_bulk(rig.pool, m, 64), 0);
	for (i = 0; i < 64; i++)
		ipoib_tx_hand_over(&txq, m[i]);
	assert_int_equal(txq.n.handed, 63);
	assert_int_equal(txq.n.drop[IPOIB_DROP_TX_RING_FULL], 1);
	assert_int_equal(rte_pktmbuf_alloc_bulk(rig.pool, m, 63), 0);
	assert_int_equal(rte_ring_enqueue_bulk(rxq.slow, (void **)m, 63, NULL), 63);
	arrive(100, IBV_WC_SUCCESS);
	card.rx_done[0].qp_num = QPN + 1; /* of a connection that the bursts do not know */
	assert_int_equal(ipoib_cm_rx(&rxq, port.view, &got, 1), 0);
	assert_int_equal(rxq.n.handed, 0);
	assert_int_equal(rxq.n.drop[IPOIB_DROP_RX_RING_FULL], 1);
	assert_int_equal(rte_mempool_in_use_count(rig.pool), before + 2 * 63);
}

/* No mbuf is left for what the control thread says to the hosts behind the port. */
static void
no_mbuf(void **state)
{
	static struct rte_mbuf *m[4096];
	struct ipoib_core *c = rig.node[0].core;
	unsigned int n;

	(void)state;
	while ((m[0] = rig_take(&rig, 0)) != NULL)
		rte_pktmbuf_free(m[0]);
	for (n = 0; n < 4096 && (m[n] = rte_pktmbuf_alloc(rig.pool)) != NULL; n++)
		;
	assert_in_range(n, 1, 4095);
	ipoib_query(c, false);
	ipoib_query(c, true);
	assert_int_equal(c->stats.drop[IPOIB_DROP_RX_NO_MBUF], 2);
	assert_null(rig_take(&rig, 0));
	rte_pktmbuf_free_bulk(m, n);
	ipoib_query(c, false);
	assert_int_equal(c->stats.drop[IPOIB_DROP_RX_NO_MBUF], 2);
	m[0] = rig_take(&rig, 0);
	assert_non_null(m[0]);
	rte_pktmbuf_free(m[0]);
}

static void
received_ones_that_are_wrong(void **state)
{
	struct rte_mbuf *m[DEPTH];

	(void)state;
	arrive(100, IBV_WC_LOC_PROT_ERR);
	arrive(4 + 19, IBV_WC_SUCCESS); /* an octet less than a header of IPv4 */
	arrive(100, IBV_WC_SUCCESS);
	card.rx_done[2].qp_num = QPN + 1; /* of a connection that has gone, as the control thread knows */
	assert_int_equal(ipoib_cm_rx(&rxq, port.view, m, DEPTH), 0);
	assert_int_equal(rxq.n.drop[IPOIB_DROP_RX_ERROR], 1);
	assert_int_equal(rxq.n.drop[IPOIB_DROP_RX_SHORT], 1);
	control_takes();
	assert_int_equal(rig.node[0].core->stats.drop[IPOIB_DROP_RX_CONN], 1);
	assert_int_equal(card.num_posted, DEPTH);
	/* Put aside while a queue pair ends, then received. */
	arrive(200, IBV_WC_SUCCESS);
	ipoib_cm_hold(cm);
	assert_int_equal(cm->num_held, 1);
	assert_int_equal(ipoib_cm_rx(&rxq, port.view, m, DEPTH), 1);
	expect_received(m[0], 200, 1);
	rte_pktmbuf_free(m[0]);
}

static void
sends_what_takes_a_chain(void **state)
{
	struct ipoib_conn *conn = ipoib_remote_by_mac(rig.node[0].core, &peer)->conn;
	struct rte_mbuf *m = frame(MTU + 14);
	uint32_t at = 10;
	int i;

	(void)state;
	assert_int_equal(m->nb_segs, 16);
	card.hold = true;
	conn->touched = 0;
	assert_int_equal(send_burst(&m, 1, 0), 1);
	assert_int_equal(conn->touched, 1);
	assert_int_equal(card.num_sge, 16);
	for (i = 0; i < card.num_sge; i++) {
		const uint8_t *p = (const uint8_t *)(uintptr_t)card.sent[i].addr;
		uint32_t k;

		assert_int_equal(card.sent[i].lkey, 0x1234);
		if (i == 0)
			assert_memory_equal(p, "\x08\x00\x00\x00\x45", 5);
		for (k = 0; k < card.sent[i].length; k++, at++) {
			if (at > 24 && p[k] != octet(at))
				fail_msg("octet %u is wrong", at);
		}
	}
	assert_int_equal(at, MTU + 14);
	assert_int_equal(rc.inflight, 1);
	assert_int_equal(txq.n.packets, 1);
	assert_int_equal(port.n.cm_tx, 1);
	/* Longer than the peer takes: the control thread tells the sender. */
	m = frame(MTU + 15);
	assert_int_equal(send_burst(&m, 1, 0), 1);
	assert_int_equal(rte_ring_count(txq.slow), 1);
}

static void
a_connection_without_room(void **state)
{
	struct rte_mbuf *m[IPOIB_BURST];
	unsigned int sent, i;

	(void)state;
	card.hold = true;
	for (sent = 0; sent < IPOIB_RC_SENDS; sent++) {
		m[0] = frame(100);
		assert_int_equal(send_burst(m, 1, 0), 1);
	}
	/* The application keeps what is not taken, as it was; what is behind it waits, too. */
	for (i = 0; i < 2; i++)
		m[i] = frame(100);
	assert_int_equal(send_burst(m, 2, 0), 0);
	assert_memory_equal(rte_pktmbuf_mtod(m[0], uint8_t *) + 12, "\x08\x00\x45", 3);
	card.hold = false;
	assert_int_equal(send_burst(m, 2, 0), 2);
}

static void
a_connection_that_breaks(void **state)
{
	struct rte_mbuf *m[3];

	(void)state;
	m[0] = frame(100);
	assert_int_equal(send_burst(m, 1, 0), 1);
	card.tx_done[0].status = IBV_WC_RETRY_EXC_ERR;
	/* What is short goes as a datagram from here on, what is long by the control thread. */
	m[0] = frame(100);
	m[1] = frame(5000);
	m[2] = frame(200);
	assert_int_equal(send_burst(m, 3, 2), 3);
	assert_int_equal(rte_ring_count(txq.slow), 1);
	assert_true(rc.broken);
	assert_true(cm->trouble);
	assert_int_equal(txq.n.drop[IPOIB_DROP_TX_ERROR], 1);
}

/* Time goes on until the connection is looked at. */
static bool
stalls(uint64_t *now)
{
	*now += IPOIB_RC_STALL_MS;
	return ipoib_cm_stalled(&rc, *now);
}

static void
a_connection_that_stalls(void **state)
{
	struct rte_mbuf *m = frame(100);
	struct ibv_wc second;
	uint64_t now = 5000;

	(void)state;
	published = 0;
	/* Its last packet is sent, and nobody has asked: it is idle for as long as it likes. */
	assert_int_equal(send_burst(&m, 1, 0), 1);
	assert_int_equal(rc.inflight, 1);
	assert_false(stalls(&now));
	assert_int_equal(rc.inflight, 0);
	assert_int_equal(published, 1);
	assert_false(stalls(&now));
	assert_false(stalls(&now));
	/* A packet that is under way when it is looked at has until the next time. */
	card.hold = true;
	m = frame(100);
	assert_int_equal(send_burst(&m, 1, 0), 1);
	assert_false(stalls(&now));
	assert_false(ipoib_cm_stalled(&rc, now + IPOIB_RC_STALL_MS - 1));
	/* One that has sent one of two meanwhile is not stalled, and then it is. */
	m = frame(100);
	assert_int_equal(send_burst(&m, 1, 0), 1);
	card.hold = false;
	second = card.tx_done[1];
	card.num_tx_done = 1;
	assert_false(stalls(&now));
	assert_int_equal(rc.inflight, 1);
	assert_true(stalls(&now));
	card.tx_done[0] = second;
	card.num_tx_done = 1;
}

/* Of 60 buffers, and of others' memory: a packet that waited for its connection is what it was. */
static void
sent_in_odd_buffers(void **state)
{
	struct ipoib_conn *conn = ipoib_remote_by_mac(rig.node[0].core, &peer)->conn;

	(void)state;
	for (unsigned int how = 0; how < 2; how++) {
		struct rte_mbuf *m = NULL, *next;
		uint32_t at = IPOIB_ENCAP_LEN, i;

		if (how == 0) {
			for (unsigned int k = 0; k < 60; k++) {
				uint8_t *p;

				next = rte_pktmbuf_alloc(rig.pool);
				assert_non_null(next);
				p = rig_room(next, 100);
				for (i = 0; i < 100; i++)
					p[i] = octet(k * 100 + i);
				if (m == NULL)
					m = next;
				else
					assert_int_equal(rte_pktmbuf_chain(m, next), 0);
			}
		} else {
			struct rte_mbuf *whole = frame(6000);

			m = rte_pktmbuf_clone(whole, rig.pool);
			assert_non_null(m);
			rte_pktmbuf_free(whole);
			rte_pktmbuf_adj(m, 14 - IPOIB_ENCAP_LEN);
		}
		ipoib_cm_send(&port, conn, m);
		assert_int_equal(port.n.slow_sent, how + 1);
		assert_int_equal(card.num_sent, how + 1);
		assert_in_range(card.num_sge, 1, IPOIB_RC_SGES);
		assert_int_equal(card.wire_len[how], how == 0 ? 6000 : 5990);
		for (at = 40; at < card.wire_len[how]; at++)
			if (wire[how][at] != octet(at + (how == 0 ? 0 : 10)))
				fail_msg("octet %u is wrong", at);
		/* All that the card reads is the port's. */
		for (i = 0; i < (uint32_t)card.num_sge; i++)
			assert_int_equal(card.sent[i].lkey, 0x1234);
	}
	/* More than a request takes */
	cm->sges = 1;
	ipoib_cm_send(&port, conn, frame(9000));
	assert_int_equal(card.num_sent, 2);
	assert_int_equal(port.core.stats.drop[IPOIB_DROP_TX_NO_MBUF], 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(receives_what_takes_a_chain, cm_rig_open, cm_rig_close),
		cmocka_unit_test_setup_teardown(received_before_the_snapshot, cm_rig_open, cm_rig_close),
		cmocka_unit_test_setup_teardown(hands_over_a_copy, cm_rig_open, cm_rig_close),
		cmocka_unit_test_setup_teardown(full_rings, cm_rig_open, cm_rig_close),
		cmocka_unit_test_setup_teardown(no_mbuf, cm_rig_open, cm_rig_close),
		cmocka_unit_test_setup_teardown(received_ones_that_are_wrong, cm_rig_open, cm_rig_close),
		cmocka_unit_test_setup_teardown(sends_what_takes_a_chain, cm_rig_open, cm_rig_close),
		cmocka_unit_test_setup_teardown(sent_in_odd_buffers, cm_rig_open, cm_rig_close),
		cmocka_unit_test_setup_teardown(a_connection_without_room, cm_rig_open, cm_rig_close),
		cmocka_unit_test_setup_teardown(a_connection_that_breaks, cm_rig_open, cm_rig_close),
		cmocka_unit_test_setup_teardown(a_connection_that_stalls, cm_rig_open, cm_rig_close),
	};

	return cmocka_run_group_tests_name("bursts of connected IPoIB", tests, NULL, NULL);
}
