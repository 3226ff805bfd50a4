/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A receive queue is filled by its bursts, and by the control thread when the port's partition comes up while an lcore polls: never
 * by both at once, which would mix up whose buffer is whose. The pool that the control thread takes buffers from polls the port in
 * that moment, as an lcore might.
 */
#include <pthread.h>
#include <stdlib.h>

#include "port_rig.h"

#define MBUFS 1023u

struct stack {
	pthread_mutex_t lock;
	unsigned int n;
	void *obj[MBUFS];
};

static uint16_t a, b;
static pthread_t main_thread;
static bool hooked;
static __thread bool polls; /* this thread is in the burst below */
static unsigned int looks, nested, received;

static int
stack_alloc(struct rte_mempool *mp)
{
	struct stack *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	mp->pool_data = s;
	return 0;
}

static void
stack_free(struct rte_mempool *mp)
{
	struct stack *s = mp->pool_data;

	pthread_mutex_destroy(&s->lock);
	free(s);
}

static int
stack_put(struct rte_mempool *mp, void *const *obj, unsigned int n)
{
	struct stack *s = mp->pool_data;

	pthread_mutex_lock(&s->lock);
	memcpy(&s->obj[s->n], obj, n * sizeof(*obj));
	s->n += n;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

static int
stack_take(struct rte_mempool *mp, void **obj, unsigned int n)
{
	struct stack *s = mp->pool_data;
	struct rte_mbuf *m[32];
	int rc = -ENOENT;

	if (polls) {
		nested++;
	} else if (__atomic_load_n(&hooked, __ATOMIC_ACQUIRE) && !pthread_equal(pthread_self(), main_thread)) {
		polls = true;
		received += rte_eth_rx_burst(a, 0, m, RTE_DIM(m));
		polls = false;
		looks++;
	}
	pthread_mutex_lock(&s->lock);
	if (s->n >= n) {
		s->n -= n;
		memcpy(obj, &s->obj[s->n], n * sizeof(*obj));
		rc = 0;
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static unsigned int
stack_count(const struct rte_mempool *mp)
{
	const struct stack *s = mp->pool_data;

	return s->n;
}

static const struct rte_mempool_ops stack_ops = {
	.name = "test_polls",
	.alloc = stack_alloc,
	.free = stack_free,
	.enqueue = stack_put,
	.dequeue = stack_take,
	.get_count = stack_count,
};
RTE_MEMPOOL_REGISTER_OPS(stack_ops)

static void
test_comes_up_while_polled(void **state)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create_by_ops("polls", MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
								  SOCKET_ID_ANY, stack_ops.name);
	/* The other port has another pool: its control thread, too, would poll this one, and fill it where it may. */
	struct rte_mempool *plain =
		rte_pktmbuf_pool_create("plain", MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	struct rte_mbuf *m[32];

	assert_non_null(pool);
	assert_non_null(plain);
	main_thread = pthread_self();
	pr_open_two(&a, &b);
	pr_start(a, 1, 1, pool);
	pr_start(b, 1, 1, plain);
	pr_wait_state(a, TP_IPOIB_LINK_DOWN);
	assert_int_equal(rte_eth_rx_burst(a, 0, m, RTE_DIM(m)), 0);
	__atomic_store_n(&hooked, true, __ATOMIC_RELEASE);
	pr_manage(0, 1, NULL, 0);
	pr_wait_up(a);
	pr_wait_up(b);
	__atomic_store_n(&hooked, false, __ATOMIC_RELEASE);
	assert_true(looks != 0);
	assert_int_equal(nested, 0);
	assert_int_equal(received, 0);
	pr_exchange(a, b, 60);
	pr_close_two();
	assert_int_equal(rte_mempool_avail_count(pool), MBUFS);
	assert_int_equal(rte_mempool_avail_count(plain), MBUFS);
	rte_mempool_free(pool);
	rte_mempool_free(plain);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comes_up_while_polled),
	};

	if (pr_eal("ipoib_port_fill") < 0)
		return 1;
	return cmocka_run_group_tests_name("ipoib-port_fill", tests, NULL, NULL);
}
