/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Pools whose packets a transmit queue may still have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_eal.h>

#include "lib/txq/pool.h"

#define PACKETS 31u
#define ROOM 512u

static struct txq_pools pools;

static struct rte_mempool *
create(uint16_t room)
{
	return txq_pool_create(&pools, "pool", PACKETS, 0, room, SOCKET_ID_ANY);
}

/* What nobody has a packet of goes at once. */
static void
test_idle(void **state)
{
	struct rte_mempool *mp = create(ROOM);

	(void)state;
	assert_non_null(mp);
	txq_pool_free(&pools, mp);
	assert_null(rte_mempool_lookup("pool"));
	txq_pool_free(&pools, NULL);
}

/* A pool with a packet out stays, is taken again under its name, and goes with the first call behind the packet. */
static void
test_waits(void **state)
{
	struct rte_mempool *mp = create(ROOM);
	struct rte_mbuf *m = rte_pktmbuf_alloc(mp);

	(void)state;
	txq_pool_free(&pools, mp);
	assert_ptr_equal(rte_mempool_lookup("pool"), mp);
	assert_ptr_equal(create(ROOM - 1), mp);
	txq_pool_free(&pools, mp);
	assert_ptr_equal(rte_mempool_lookup("pool"), mp);
	rte_pktmbuf_free(m);
	txq_pool_free(&pools, NULL);
	assert_null(rte_mempool_lookup("pool"));
}

/* Beside one whose packets are too small there is another one. */
static void
test_larger(void **state)
{
	struct rte_mempool *small = create(ROOM), *large;
	struct rte_mbuf *m = rte_pktmbuf_alloc(small), *n;

	(void)state;
	txq_pool_free(&pools, small);
	large = create(2 * ROOM);
	assert_non_null(large);
	assert_ptr_not_equal(large, small);
	assert_int_equal(rte_pktmbuf_data_room_size(large), 2 * ROOM);
	n = rte_pktmbuf_alloc(large);
	txq_pool_free(&pools, large);
	assert_ptr_equal(create(2 * ROOM), large);
	txq_pool_free(&pools, large);
	rte_pktmbuf_free(m);
	rte_pktmbuf_free(n);
	txq_pool_free(&pools, NULL);
	assert_null(rte_mempool_lookup("pool"));
	assert_null(rte_mempool_lookup("pool+"));
}

/* More of them than there are places: the last ones stay. */
static void
test_many(void **state)
{
	struct rte_mempool *mp[RTE_MAX_ETHPORTS + 1];
	struct rte_mbuf *m[RTE_DIM(mp)];
	char name[RTE_DIM(mp)][16];
	unsigned int i;

	(void)state;
	for (i = 0; i < RTE_DIM(mp); i++) {
		snprintf(name[i], sizeof(name[i]), "many%u", i);
		mp[i] = txq_pool_create(&pools, name[i], 1, 0, ROOM, SOCKET_ID_ANY);
		assert_non_null(mp[i]);
		m[i] = rte_pktmbuf_alloc(mp[i]);
		assert_non_null(m[i]);
	}
	for (i = 0; i < RTE_DIM(mp); i++)
		txq_pool_free(&pools, mp[i]);
	/* One that has all of its packets needs no place. */
	txq_pool_free(&pools, create(ROOM));
	assert_null(rte_mempool_lookup("pool"));
	rte_pktmbuf_free_bulk(m, RTE_DIM(m));
	txq_pool_free(&pools, NULL);
	for (i = 0; i < RTE_DIM(mp); i++)
		assert_ptr_equal(rte_mempool_lookup(name[i]), i < RTE_MAX_ETHPORTS ? NULL : mp[i]);
	txq_pool_free(&pools, mp[RTE_MAX_ETHPORTS]);
	assert_null(rte_mempool_lookup(name[RTE_MAX_ETHPORTS]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_idle), cmocka_unit_test(test_waits),
					   cmocka_unit_test(test_larger), cmocka_unit_test(test_many)};
	char *eal[] = {
		(char *)(uintptr_t) "pool",        (char *)(uintptr_t) "--no-huge",
		(char *)(uintptr_t) "-m",          (char *)(uintptr_t) "64",
		(char *)(uintptr_t) "--no-shconf", (char *)(uintptr_t) "--no-telemetry",
		(char *)(uintptr_t) "--no-pci",    (char *)(uintptr_t) "--log-level=error",
	};

	if (rte_eal_init(RTE_DIM(eal), eal) < 0)
		return 1;
	return cmocka_run_group_tests_name("txq_pool", tests, NULL, NULL);
}
