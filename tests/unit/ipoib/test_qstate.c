/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Single queues that are started and stopped: who receives for them, what is dropped and counted, and what is refused. */
#include <errno.h>

#include "queue_rig.h"

#define RX 3u
#define TX 2u
#define DESC 64u
#define STARTED RTE_ETH_QUEUE_STATE_STARTED
#define STOPPED RTE_ETH_QUEUE_STATE_STOPPED

static struct rte_eth_dev_data data;
static struct rte_eth_dev dev = {.data = &data};

static void
begin(uint16_t num_rx)
{
	unsigned int i;

	port.num_rx = num_rx;
	memset(&data, 0, sizeof(data));
	data.dev_private = &port;
	data.nb_rx_queues = num_rx;
	data.nb_tx_queues = TX;
	data.dev_conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	data.dev_conf.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_IPV4;
	assert_int_equal(ipoib_rss_configure(&dev), 0);
	for (i = 0; i < num_rx; i++)
		rxq[i].inject = rte_ring_create(i == 0 ? "in0" : i == 1 ? "in1" : "in2", DESC, 0, 0);
}

static int
setup(void **state)
{
	(void)state;
	qr_open(RX, TX);
	begin(RX);
	return 0;
}

static int
teardown(void **state)
{
	unsigned int i;

	for (i = 0; i < RX; i++)
		rte_ring_free(rxq[i].inject);
	return qr_teardown(state);
}

static void
up(void)
{
	port.core = *rig.node[0].core;
	assert_int_equal(ipoib_qstate_begin(&port), 0);
	assert_int_equal(ipoib_queues_open(&port), 0);
	assert_int_equal(ipoib_queues_ready(&port), 0);
	port.started = true;
	ipoib_qstate_tell(&dev);
}

static void
down(void)
{
	port.started = false;
	ipoib_publish(&port, NULL);
	ipoib_queues_close(&port);
	qr_nothing();
}

/* The card's ring of each entry is that of this queue, by the queue that the application's table has. */
static void
served_by(uint16_t of0, uint16_t of1, uint16_t of2)
{
	const uint16_t want[RX] = {of0, of1, of2};
	struct rte_eth_rss_reta_entry64 reta[2] = {{.mask = UINT64_MAX}, {.mask = UINT64_MAX}};
	unsigned int i, seen[RX] = {0};

	assert_int_equal(ipoib_reta_query(&dev, reta, QR_RINGS), 0);
	assert_int_equal(card.tables, 1);
	for (i = 0; i < QR_RINGS; i++) {
		uint16_t q = reta[i / 64].reta[i % 64];

		seen[q]++;
		assert_ptr_equal(card.table->ring[i % card.table->num].srq, rxq[want[q]].srq);
		assert_ptr_equal(card.table->ring[i % card.table->num].cq, rxq[want[q]].cq);
	}
	/* The application's own does not change. */
	assert_true(seen[0] >= 40 && seen[1] >= 40 && seen[2] >= 40);
	assert_int_equal(port.qp->state, IBV_QPS_RTS);
}

static void
states(uint8_t of0, uint8_t of1, uint8_t of2)
{
	assert_int_equal(data.rx_queue_state[0], of0);
	assert_int_equal(data.rx_queue_state[1], of1);
	assert_int_equal(data.rx_queue_state[2], of2);
}

static void
the_next_one_serves(void **state)
{
	(void)state;
	up();
	states(STARTED, STARTED, STARTED);
	card.waiting[1] = 5;
	assert_int_equal(ipoib_rxq_stop(&dev, 1), 0);
	served_by(0, 2, 2);
	states(STARTED, STOPPED, STARTED);
	/* What waited in it is dropped by name, and nobody else's is. */
	assert_int_equal(rxq[1].n.drop[IPOIB_DROP_RX_STOPPED], 5);
	assert_int_equal(rxq[0].n.drop[IPOIB_DROP_RX_STOPPED] + rxq[2].n.drop[IPOIB_DROP_RX_STOPPED], 0);
	assert_int_equal(ipoib_rxq_stop(&dev, 2), 0);
	served_by(0, 0, 0);
	assert_int_equal(ipoib_rxq_start(&dev, 1), 0);
	served_by(0, 1, 0);
	assert_int_equal(ipoib_rxq_start(&dev, 2), 0);
	served_by(0, 1, 2);
	states(STARTED, STARTED, STARTED);
	/* Again is nothing. */
	card.drained = 0;
	assert_int_equal(ipoib_rxq_start(&dev, 2), 0);
	assert_int_equal(card.drained, 0);
	down();
}

/* While no queue is started the rings stay, and what comes to them is dropped when one starts. */
static void
none_serves(void **state)
{
	unsigned int i;

	(void)state;
	up();
	for (i = 0; i < RX; i++)
		assert_int_equal(ipoib_rxq_stop(&dev, (uint16_t)i), 0);
	states(STOPPED, STOPPED, STOPPED);
	card.waiting[1] = 4;
	assert_int_equal(ipoib_rxq_start(&dev, 1), 0);
	served_by(1, 1, 1);
	assert_int_equal(rxq[1].n.drop[IPOIB_DROP_RX_STOPPED], 4);
	assert_int_equal(rte_ring_count(rxq[1].inject), 0);
	down();
}

static void
deferred(void **state)
{
	(void)state;
	rxq[2].deferred = true;
	txq[1].deferred = true;
	up();
	served_by(0, 1, 0);
	states(STARTED, STARTED, STOPPED);
	assert_int_equal(data.tx_queue_state[0], STARTED);
	assert_int_equal(data.tx_queue_state[1], STOPPED);
	assert_true(txq[1].stopped);
	assert_int_equal(ipoib_rxq_start(&dev, 2), 0);
	assert_int_equal(ipoib_txq_start(&dev, 1), 0);
	served_by(0, 1, 2);
	states(STARTED, STARTED, STARTED);
	assert_int_equal(data.tx_queue_state[1], STARTED);
	assert_false(txq[1].stopped);
	down();
}

/* One queue has no table: it is not polled, and what came is dropped at either end. */
static void
one_queue(void **state)
{
	(void)state;
	port.num_rx = data.nb_rx_queues = 1;
	up();
	card.waiting[0] = 2;
	assert_int_equal(ipoib_rxq_stop(&dev, 0), 0);
	assert_int_equal(rxq[0].n.drop[IPOIB_DROP_RX_STOPPED], 2);
	card.waiting[0] = 3;
	assert_int_equal(ipoib_rxq_start(&dev, 0), 0);
	assert_int_equal(rxq[0].n.drop[IPOIB_DROP_RX_STOPPED], 5);
	assert_int_equal(data.rx_queue_state[0], STARTED);
	rxq[0].missing = rxq[0].size;
	down();
	port.num_rx = RX;
}

/* Whatever the card refuses, the queue is as it was, and nothing of it is dropped. */
static void
changes_that_fail(void **state)
{
	unsigned int i;

	(void)state;
	up();
	card.waiting[1] = 1;
	for (i = 1; i <= 7; i++) {
		card.fail = i;
		assert_int_equal(ipoib_rxq_stop(&dev, 1), -EIO);
		assert_true(rxq[1].started);
		served_by(0, 1, 2);
		states(STARTED, STARTED, STARTED);
	}
	card.fail = 0;
	assert_int_equal(rxq[1].n.drop[IPOIB_DROP_RX_STOPPED], 0);
	assert_int_equal(ipoib_rxq_stop(&dev, 1), 0);
	for (i = 1; i <= 7; i++) {
		card.fail = i;
		assert_int_equal(ipoib_rxq_start(&dev, 1), -EIO);
		assert_false(rxq[1].started);
		served_by(0, 2, 2);
	}
	card.fail = 0;
	down();
}

static unsigned int conn_looks;

/* The third look finds that all is sent. */
bool
ipoib_cm_all_sent(struct ipoib_cm *cm)
{
	assert_ptr_equal(cm, port.cm);
	return ++conn_looks == 3;
}

static void
connections_keep_the_first(void **state)
{
	static uint64_t cm;

	(void)state;
	port.conf.connected = true;
	rxq[0].deferred = true;
	assert_int_equal(ipoib_qstate_begin(&port), -ENOTSUP);
	rxq[0].deferred = false;
	up();
	port.cm = (struct ipoib_cm *)&cm;
	assert_int_equal(ipoib_rxq_stop(&dev, 0), -ENOTSUP);
	states(STARTED, STARTED, STARTED);
	assert_int_equal(ipoib_rxq_stop(&dev, 1), 0);
	served_by(0, 2, 2);
	/* The first transmit queue stops when connections have sent all, too. */
	assert_int_equal(ipoib_txq_stop(&dev, 0), 0);
	assert_int_equal(conn_looks, 3);
	port.cm = NULL;
	down();
}

static void
transmit(void **state)
{
	(void)state;
	up();
	txq[1].head = 10;
	txq[1].tail = 7;
	card.reaps = 3;
	assert_int_equal(ipoib_txq_stop(&dev, 1), 0);
	assert_int_equal(txq[1].tail, 10);
	assert_true(txq[1].stopped);
	assert_false(txq[0].stopped);
	assert_int_equal(data.tx_queue_state[1], STOPPED);
	assert_int_equal(ipoib_txq_start(&dev, 1), 0);
	assert_false(txq[1].stopped);
	/* What the card does not send keeps the queue going. */
	txq[1].head = 11;
	assert_int_equal(ipoib_txq_stop(&dev, 1), -EBUSY);
	assert_false(txq[1].stopped);
	assert_int_equal(data.tx_queue_state[1], STARTED);
	txq[1].tail = 11;
	down();
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(the_next_one_serves),        T(none_serves), T(deferred), T(one_queue), T(changes_that_fail),
		T(connections_keep_the_first), T(transmit),
	};

	return cmocka_run_group_tests_name("single queues of IPoIB", tests, NULL, NULL);
}
