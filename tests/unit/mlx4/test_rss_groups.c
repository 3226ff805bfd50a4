/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The table of RSS beside groups of queues: the application's own is kept, the driver's is shared out anew. */
#include "group_rig.h"
#include "rss_vectors.h"

#define QUEUES 4u
#define POLLS 8u

static const struct rte_eth_conf conf = {
	.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
	.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP,
};

/* The only queue of port 1 that gets a vector's frame. */
static unsigned int
queue_of(unsigned int v)
{
	struct rte_mbuf *m = rig_ipv4(IPPROTO_TCP, vector[v].src, vector[v].dst, vector[v].sport, vector[v].dport);
	unsigned int i, found = QUEUES;

	rig_send(0, m);
	for (i = 0; i < POLLS * QUEUES; i++) {
		if (rte_eth_rx_burst(1, (uint16_t)(i % QUEUES), &m, 1) == 0)
			continue;
		assert_int_equal(found, QUEUES);
		found = i % QUEUES;
		rte_pktmbuf_free(m);
	}
	assert_int_not_equal(found, QUEUES);
	return found;
}

static void
test_own_table(void **state)
{
	struct rte_eth_rss_reta_entry64 reta[2];
	struct tp_group g = group_conf("one", 1, 7, 3, 1);
	unsigned int i;

	group_start(QUEUES, &conf);
	for (i = 0; i < 128; i++) {
		reta[i / 64].mask = UINT64_MAX;
		reta[i / 64].reta[i % 64] = i % 2 == 0 ? 2 : 1;
	}
	assert_int_equal(rte_eth_dev_rss_reta_update(1, reta, 128), 0);
	for (i = 0; i < RTE_DIM(vector); i++)
		assert_int_equal(queue_of(i), vector[i].hash % 2 == 0 ? 2 : 1);
	group_add(&g, 1);
	for (i = 0; i < RTE_DIM(vector); i++)
		assert_int_equal(queue_of(i), vector[i].hash % 2 == 0 ? 2 : 1);
	group_remove("one");
}

/* The driver's own table: three queues are left of four, and all of them when the group goes. */
static void
test_driver_table(void **state)
{
	struct tp_group g = group_conf("one", 1, 7, 3, 1);
	unsigned int i, seen = 0;

	group_start(QUEUES, &conf);
	for (i = 0; i < RTE_DIM(vector); i++)
		assert_int_equal(queue_of(i), vector[i].hash % QUEUES);
	group_add(&g, 1);
	for (i = 0; i < RTE_DIM(vector); i++)
		seen |= 1u << queue_of(i);
	assert_int_equal(seen & 8, 0);
	group_remove("one");
	for (i = 0; i < RTE_DIM(vector); i++)
		assert_int_equal(queue_of(i), vector[i].hash % QUEUES);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, group_open, group_close)
	const struct CMUnitTest tests[] = {T(test_own_table), T(test_driver_table)};

	if (rig_eal("rss-groups", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
