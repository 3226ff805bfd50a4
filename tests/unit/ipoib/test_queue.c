/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A port's queue pairs and the registrations of its pools, on a card that keeps to the states of 10.3.1 and may refuse. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "queue_rig.h"

#define POOLS 40

static int
setup(void **state)
{
	(void)state;
	qr_open(1, 1);
	assert_int_equal(ipoib_queues_open(&port), 0);
	assert_int_equal(card.mrs, 1);
	return 0;
}

/* --- tests ------------------------------------------------------------------------------------------------------------- */

/* Whichever of the six steps fails, the next try begins anew and succeeds. */
static void
a_start_that_fails(void **state)
{
	(void)state;
	for (unsigned int step = 1; step <= 6; step++) {
		card.fail = step;
		assert_int_equal(ipoib_queues_ready(&port), -EIO);
		assert_false(port.ready);
		assert_int_equal(port.qp->state, IBV_QPS_RESET);
		assert_int_equal(port.slow_qp->state, IBV_QPS_RESET);
		assert_int_equal(ipoib_queues_ready(&port), 0);
		assert_true(port.ready);
		assert_int_equal(port.slow_qp->state, IBV_QPS_RTS);
		ipoib_queues_reset(&port);
	}
}

static struct rte_mempool *
pool_new(const char *name)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create(name, 31, 0, 0, 256, SOCKET_ID_ANY);

	assert_non_null(pool);
	return pool;
}

/* A pool's registration goes with it; one that is made later, at the same address perhaps, has its own. */
static void
pools_come_and_go(void **state)
{
	struct rte_mempool *pool = pool_new("first"), *other = pool_new("other");
	uint32_t first, again;

	(void)state;
	assert_int_equal(ipoib_pool_lkey(&port, pool, &first), 0);
	assert_int_equal(ipoib_pool_lkey(&port, pool, &again), 0);
	assert_int_equal(first, again);
	assert_int_equal(card.mrs, 2);
	txq[0].last_pool = pool;
	rte_mempool_free(other);
	assert_ptr_equal(txq[0].last_pool, pool);
	rte_mempool_free(pool);
	assert_null(txq[0].last_pool);
	assert_int_equal(card.mrs, 1);
	pool = pool_new("first");
	assert_int_equal(ipoib_pool_lkey(&port, pool, &again), 0);
	assert_int_not_equal(first, again);
	assert_int_equal(card.mrs, 2);
	rte_mempool_free(pool);
}

static void
many_pools(void **state)
{
	struct rte_mempool *pool[POOLS];
	uint32_t key[POOLS], again;
	char name[16];

	(void)state;
	for (unsigned int i = 0; i < POOLS; i++) {
		snprintf(name, sizeof(name), "many%u", i);
		pool[i] = pool_new(name);
		assert_int_equal(ipoib_pool_lkey(&port, pool[i], &key[i]), 0);
	}
	for (unsigned int i = 0; i < POOLS; i++) {
		assert_int_equal(ipoib_pool_lkey(&port, pool[i], &again), 0);
		assert_int_equal(again, key[i]);
		rte_mempool_free(pool[i]);
	}
	assert_int_equal(card.mrs, 1);
}

/* A refusal is told once, not with each packet, and holds as long as the pool. */
static void
a_pool_that_is_refused(void **state)
{
	struct rte_mempool *pool = pool_new("refused");
	unsigned int lines = 0;
	char *text = NULL;
	size_t len = 0;
	uint32_t key;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	assert_non_null(f);
	assert_int_equal(rte_openlog_stream(f), 0);
	card.reg_err = EFAULT;
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(ipoib_pool_lkey(&port, pool, &key), -EFAULT);
	assert_int_equal(rte_openlog_stream(NULL), 0);
	fclose(f);
	for (const char *s = text; (s = strstr(s, "pool refused cannot be registered")) != NULL; s++)
		lines++;
	free(text);
	assert_int_equal(lines, 1);
	card.reg_err = 0;
	rte_mempool_free(pool);
	pool = pool_new("refused");
	assert_int_equal(ipoib_pool_lkey(&port, pool, &key), 0);
	rte_mempool_free(pool);
}

static void
stats_get(struct rte_eth_dev *dev, struct rte_eth_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
	assert_int_equal(ipoib_stats_get(dev, stats, NULL), 0);
#else
	assert_int_equal(ipoib_stats_get(dev, stats), 0);
#endif
}

/* What the control thread sends is counted as what the queue sends is: with an Ethernet header, 10 octets longer. */
static void
octets_of_the_control_thread(void **state)
{
	struct rte_eth_dev_data data = {.dev_private = &port};
	struct rte_eth_dev dev = {.data = &data};
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig.pool);
	struct rte_eth_stats stats;

	(void)state;
	assert_non_null(m);
	rig_room(m, 60);
	txq[0].n.packets = 2;
	txq[0].n.bytes = 200;
	assert_int_equal(ipoib_queues_ready(&port), 0);
	ipoib_slow_send(&port, NULL, 0x48, m);
	stats_get(&dev, &stats);
	assert_int_equal(stats.opackets, 2 + 1);
	assert_int_equal(stats.obytes, 200 + 60 + 10);
	ipoib_slow_reap(&port);
	assert_int_equal(ipoib_stats_reset(&dev), 0);
	stats_get(&dev, &stats);
	assert_int_equal(stats.opackets, 0);
	assert_int_equal(stats.obytes, 0);
}

/* What the control thread cannot send is counted and given back. */
static void
what_the_control_thread_cannot_send(void **state)
{
	struct rte_mbuf *m[2];
	unsigned int before = rte_mempool_in_use_count(rig.pool), i;

	(void)state;
	for (i = 0; i < 2; i++) {
		m[i] = rte_pktmbuf_alloc(rig.pool);
		assert_non_null(m[i]);
		rig_room(m[i], 60);
	}
	/* Before the queue pairs are ready; then in two buffers. */
	ipoib_slow_send(&port, NULL, 0x48, m[0]);
	assert_int_equal(port.n.tx_error, 1);
	assert_int_equal(ipoib_queues_ready(&port), 0);
	m[0] = rte_pktmbuf_alloc(rig.pool);
	assert_non_null(m[0]);
	rig_room(m[0], 60);
	assert_int_equal(rte_pktmbuf_chain(m[1], m[0]), 0);
	ipoib_slow_send(&port, NULL, 0x48, m[1]);
	assert_int_equal(port.n.tx_error, 2);
	assert_int_equal(port.n.slow_sent, 0);
	assert_int_equal(port.slow_inflight, 0);
	assert_int_equal(rte_mempool_in_use_count(rig.pool), before);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, qr_teardown)
	const struct CMUnitTest tests[] = {
		T(a_start_that_fails),
		T(pools_come_and_go),
		T(many_pools),
		T(a_pool_that_is_refused),
		T(octets_of_the_control_thread),
		T(what_the_control_thread_cannot_send),
	};

	return cmocka_run_group_tests_name("ipoib queue", tests, NULL, NULL);
}
