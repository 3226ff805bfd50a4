/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Several queues of a port: what the card is told, changes while the port is up, and refusals that leave nothing behind. */
#include <errno.h>
#include <stdlib.h>

#include "queue_rig.h"

#define RX 3u
#define TX 2u
/* Two of each receive queue, two of each transmit queue, table, parent, two of the control thread. */
#define OBJECTS (2u * RX + 2u * TX + 4u)
#define HF_ALL                                                                                                         \
	(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV6_TCP |           \
	 RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_NONFRAG_IPV6_UDP)

static struct rte_eth_dev_data data;
static struct rte_eth_dev dev = {.data = &data};

static void
configure(uint64_t hf)
{
	memset(&data, 0, sizeof(data));
	data.dev_private = &port;
	data.nb_rx_queues = port.num_rx;
	data.nb_tx_queues = port.num_tx;
	data.dev_conf.rxmode.mq_mode = hf != 0 ? RTE_ETH_MQ_RX_RSS : RTE_ETH_MQ_RX_NONE;
	data.dev_conf.rx_adv_conf.rss_conf.rss_hf = hf;
	assert_int_equal(ipoib_rss_configure(&dev), 0);
}

static int
setup(void **state)
{
	(void)state;
	qr_open(RX, TX);
	configure(HF_ALL);
	return 0;
}

static int
setup_all(void **state)
{
	(void)state;
	qr_open(16, 16);
	configure(HF_ALL);
	return 0;
}

static unsigned int
queue_of(const struct tp_roce_ring *r)
{
	unsigned int q;

	for (q = 0; q < port.num_rx && rxq[q].cq != r->cq; q++)
		;
	assert_true(q < port.num_rx);
	assert_ptr_equal(rxq[q].srq, r->srq);
	return q;
}

/* The card's table, entry by entry, is what the application sees. */
static void
same_as_asked(void)
{
	struct rte_eth_rss_reta_entry64 reta[2] = {{.mask = UINT64_MAX}, {.mask = UINT64_MAX}};
	unsigned int i;

	assert_int_equal(ipoib_reta_query(&dev, reta, QR_RINGS), 0);
	assert_non_null(card.table);
	for (i = 0; i < QR_RINGS; i++)
		assert_int_equal(queue_of(&card.table->ring[i % card.table->num]), reta[i / 64].reta[i % 64]);
}

static void
up(void)
{
	assert_int_equal(ipoib_queues_open(&port), 0);
	assert_int_equal(ipoib_queues_ready(&port), 0);
	port.started = true;
	port.core = *rig.node[0].core;
}

static void
down(void)
{
	port.started = false;
	ipoib_publish(&port, NULL);
	ipoib_queues_close(&port);
	qr_nothing();
}

static void
shares(void **state)
{
	unsigned int of[RX] = {0}, i;

	(void)state;
	up();
	assert_int_equal(card.table->num, 32);
	for (i = 0; i < card.table->num; i++)
		of[queue_of(&card.table->ring[i])]++;
	for (i = 0; i < RX; i++)
		assert_true(of[i] == 10 || of[i] == 11);
	same_as_asked();
	assert_int_equal(card.types, 0x3f);
	assert_memory_equal(card.key, reta_rss_default_key, sizeof(card.key));
	assert_int_equal(port.num_own, TX + 1);
	/* No queue sends by the number of the address, nor receives by its own. */
	for (i = 0; i < TX; i++)
		assert_ptr_not_equal(txq[i].qp, port.qp);
	down();
}

/* A power of two of queues takes as many rings, and hashing nothing two. */
static void
few_rings(void **state)
{
	(void)state;
	port.num_rx = 2;
	configure(HF_ALL);
	up();
	assert_int_equal(card.table->num, 2);
	same_as_asked();
	down();
	configure(0);
	up();
	assert_int_equal(card.table->num, 2);
	assert_int_equal(card.types, 0);
	assert_int_equal(queue_of(&card.table->ring[0]), 0);
	down();
	port.num_rx = RX;
}

/* As many as a port has: a ring each, which eight entries of the table name; each sends by a queue pair of its own. */
static void
all_queues(void **state)
{
	unsigned int of[IPOIB_QUEUES] = {0}, i, k;

	(void)state;
	up();
	assert_int_equal(card.table->num, 16);
	for (i = 0; i < card.table->num; i++)
		of[queue_of(&card.table->ring[i])]++;
	for (i = 0; i < 16; i++)
		assert_int_equal(of[i], 1);
	same_as_asked();
	assert_int_equal(port.num_own, 16 + 1);
	for (i = 0; i < 16; i++)
		for (k = 0; k < i; k++)
			assert_ptr_not_equal(txq[i].qp, txq[k].qp);
	down();
}

/* Two queues that send need one parent less: the first one's queue pair receives, too. */
static void
one_receive_queue(void **state)
{
	(void)state;
	port.num_rx = 1;
	configure(0);
	up();
	assert_null(port.table);
	assert_int_equal(card.tables + card.srqs, 0);
	assert_ptr_equal(rxq[0].qp, port.qp);
	assert_ptr_equal(txq[0].qp, port.qp);
	assert_ptr_not_equal(txq[1].qp, port.qp);
	assert_int_equal(port.num_own, TX + 1);
	down();
	port.num_rx = RX;
}

/* Whichever object is refused, those before it go. */
static void
objects_refused(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 1; i <= OBJECTS + 1; i++) {
		card.fail_make = i;
		if (ipoib_queues_open(&port) == 0)
			break;
		qr_nothing();
	}
	if (i != OBJECTS + 1)
		fail_msg("%u objects were made", i - 1);
	card.fail_make = 0;
	ipoib_queues_close(&port);
	qr_nothing();
}

/* Whichever step fails, the next try begins anew and succeeds. */
static void
steps_that_fail(void **state)
{
	unsigned int i;

	(void)state;
	assert_int_equal(ipoib_queues_open(&port), 0);
	for (i = 1; i <= 3 * (TX + 3); i++) {
		card.fail = i;
		assert_int_equal(ipoib_queues_ready(&port), -EIO);
		assert_false(port.ready);
		assert_int_equal(port.qp->state, IBV_QPS_RESET);
		assert_int_equal(port.table->state, IBV_QPS_RESET);
		assert_int_equal(ipoib_queues_ready(&port), 0);
		assert_int_equal(port.qp->state, IBV_QPS_RTS);
		assert_int_equal(txq[1].qp->state, IBV_QPS_RTS);
		assert_int_equal(ipoib_queues_qkey(&port, 0x0b1b), 0);
		assert_int_equal(txq[1].wr[0].wr.ud.remote_qkey, 0x0b1b);
		ipoib_queues_reset(&port);
		/* Buffers of shared queues stay where they are. */
		assert_int_equal(rxq[2].missing, rxq[2].size - 1);
	}
	ipoib_queues_close(&port);
	qr_nothing();
}

static void
reta_to(struct rte_eth_rss_reta_entry64 *reta, unsigned int entry, uint16_t q)
{
	reta[entry / 64].mask |= UINT64_C(1) << entry % 64;
	reta[entry / 64].reta[entry % 64] = q;
}

static void
changes_while_up(void **state)
{
	struct rte_eth_rss_reta_entry64 reta[2] = {{0}, {0}};
	uint8_t key[RETA_RSS_KEY_LEN], got[RETA_RSS_KEY_LEN];
	struct rte_eth_rss_conf conf = {
		.rss_key = key, .rss_key_len = sizeof(key), .rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP};
	struct ibv_qp *qp;

	(void)state;
	up();
	qp = port.qp;
	reta_to(reta, 1, 0);
	assert_int_equal(ipoib_reta_update(&dev, reta, QR_RINGS), 0);
	/* One entry differs, so that nothing repeats. */
	assert_int_equal(card.table->num, QR_RINGS);
	same_as_asked();
	assert_int_equal(queue_of(&card.table->ring[1]), 0);
	assert_int_equal(queue_of(&card.table->ring[33]), 1);
	assert_int_equal(card.tables, 1);
	assert_int_equal(card.drained, RX);
	assert_int_equal(card.published, 2);
	assert_non_null(port.view);
	assert_ptr_equal(port.qp, qp);
	assert_int_equal(port.qp->state, IBV_QPS_RTS);
	memset(key, 0x5a, sizeof(key));
	assert_int_equal(ipoib_rss_hash_update(&dev, &conf), 0);
	assert_memory_equal(card.key, key, sizeof(key));
	assert_int_equal(card.types, TP_ROCE_RSS_TCP_IPV4);
	conf.rss_key = got;
	assert_int_equal(ipoib_rss_hash_get(&dev, &conf), 0);
	assert_int_equal(conf.rss_hf, RTE_ETH_RSS_NONFRAG_IPV4_TCP);
	assert_memory_equal(got, key, sizeof(key));
	down();
}

/* While the partition is away there is nothing to move, but the next start has it. */
static void
changes_while_not_ready(void **state)
{
	struct rte_eth_rss_reta_entry64 reta[2] = {{0}, {0}};

	(void)state;
	up();
	ipoib_queues_reset(&port);
	reta_to(reta, 0, 2);
	assert_int_equal(ipoib_reta_update(&dev, reta, QR_RINGS), 0);
	same_as_asked();
	assert_int_equal(port.qp->state, IBV_QPS_RESET);
	assert_int_equal(ipoib_queues_ready(&port), 0);
	assert_int_equal(port.qp->state, IBV_QPS_RTS);
	down();
}

/* A card that refuses: what was is in force, on the card and for the application. */
static void
changes_that_fail(void **state)
{
	struct rte_eth_rss_reta_entry64 reta[2] = {{0}, {0}};
	unsigned int i;

	(void)state;
	up();
	reta_to(reta, 5, 0);
	for (i = 1; i <= 7; i++) {
		card.fail = i;
		assert_int_equal(ipoib_reta_update(&dev, reta, QR_RINGS), -EIO);
		assert_int_equal(card.table->num, 32);
		assert_int_equal(card.tables, 1);
		assert_int_equal(port.qp->state, IBV_QPS_RTS);
		same_as_asked();
	}
	card.fail_make = 1;
	assert_int_equal(ipoib_reta_update(&dev, reta, QR_RINGS), -ENOMEM);
	assert_int_equal(card.tables, 1);
	assert_false(ipoib_queues_broken(&port));
	/* It does not come back either: then all queue pairs start again. */
	card.fail = 5;
	card.fail_more = 2;
	assert_int_equal(ipoib_reta_update(&dev, reta, QR_RINGS), -EIO);
	assert_true(ipoib_queues_broken(&port));
	assert_int_equal(card.tables, 1);
	card.fail = card.fail_more = 0;
	ipoib_queues_reset(&port);
	assert_int_equal(ipoib_queues_ready(&port), 0);
	assert_false(ipoib_queues_broken(&port));
	same_as_asked();
	assert_int_equal(ipoib_reta_update(&dev, reta, QR_RINGS), 0);
	same_as_asked();
	down();
}

static void
bad_wishes(void **state)
{
	struct rte_eth_rss_reta_entry64 reta[2] = {{0}, {0}};
	uint8_t key[52] = {0};
	struct rte_eth_rss_conf conf = {.rss_key = key, .rss_key_len = sizeof(key), .rss_hf = HF_ALL};

	(void)state;
	up();
	assert_int_equal(ipoib_reta_update(&dev, reta, 64), -EINVAL);
	assert_int_equal(ipoib_reta_query(&dev, reta, 512), -EINVAL);
	reta_to(reta, 7, 1);
	reta_to(reta, 127, RX);
	assert_int_equal(ipoib_reta_update(&dev, reta, QR_RINGS), -EINVAL);
	same_as_asked();
	assert_int_equal(ipoib_rss_hash_update(&dev, &conf), -EINVAL);
	conf.rss_key = NULL;
	conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_SCTP;
	assert_int_equal(ipoib_rss_hash_update(&dev, &conf), -EINVAL);
	assert_int_equal(card.published, 0);
	/* A card without it says so. */
	card.caps = (struct tp_roce_rss_caps){0};
	assert_int_equal(ipoib_rss_types(&port), 0);
	assert_int_equal(ipoib_reta_size(&port), 0);
	card.caps = (struct tp_roce_rss_caps){.max_rings = QR_RINGS, .types = TP_ROCE_RSS_TCP_IPV4};
	assert_int_equal(ipoib_rss_types(&port), RTE_ETH_RSS_NONFRAG_IPV4_TCP);
	down();
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, qr_teardown)
	const struct CMUnitTest tests[] = {
		T(shares),
		T(few_rings),
		T(one_receive_queue),
		T(objects_refused),
		T(steps_that_fail),
		T(changes_while_up),
		T(changes_while_not_ready),
		T(changes_that_fail),
		T(bad_wishes),
		cmocka_unit_test_setup_teardown(all_queues, setup_all, qr_teardown),
	};

	return cmocka_run_group_tests_name("ipoib rss", tests, NULL, NULL);
}
