/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The queue of frames without a hash, while those with one go by the published vectors. */
#include <errno.h>
#include <stdlib.h>

#include "rig.h"
#include "rte_pmd_mlx4_queue.h"
#include "rss_vectors.h"

#define QUEUES 4
#define POLLS 4u

static const struct rte_eth_conf rss_conf = {
	.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
	.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP,
};

static int
setup(void **state)
{
	rig_open("");
	rig_start(0, 1, NULL);
	rig_start(1, QUEUES, &rss_conf);
	return 0;
}

/* The only queue that gets it; after a change a poll or two go to the old rings. */
static unsigned int
queue_of(struct rte_mbuf *m)
{
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

static unsigned int
queue_of_other(void)
{
	struct rte_ether_addr mac = rig_mac(1);

	return queue_of(rig_frame(&mac, RIG_FRAME));
}

static void
set(uint16_t queue)
{
	char err[TP_ERR_LEN];
	uint16_t got;

	assert_int_equal(rte_pmd_mlx4_rss_default_queue_set(1, queue, err), 0);
	assert_int_equal(rte_pmd_mlx4_rss_default_queue_get(1, &got), 0);
	assert_int_equal(got, queue);
}

static void
hashed(void)
{
	static const uint8_t proto[] = {IPPROTO_TCP, IPPROTO_UDP};
	unsigned int v, p;

	for (v = 0; v < RTE_DIM(vector); v++)
		for (p = 0; p < RTE_DIM(proto); p++)
			assert_int_equal(queue_of(rig_ipv4(proto[p], vector[v].src, vector[v].dst, vector[v].sport,
							   vector[v].dport)),
					 vector[v].hash % QUEUES);
}

static void
test_live(void **state)
{
	uint16_t q;

	assert_int_equal(queue_of_other(), 0);
	hashed();
	for (q = QUEUES; q-- != 0;) {
		set(q);
		assert_int_equal(queue_of_other(), q);
		hashed();
	}
}

/* The first entry's while the table does not name the queue; kept over stop and start. */
static void
test_table(void **state)
{
	struct rte_eth_rss_reta_entry64 reta[2];
	uint16_t i;

	set(3);
	for (i = 0; i < 128; i++) {
		reta[i / 64].mask = UINT64_MAX;
		reta[i / 64].reta[i % 64] = i % 2 == 0 ? 2 : 1;
	}
	assert_int_equal(rte_eth_dev_rss_reta_update(1, reta, 128), 0);
	assert_int_equal(queue_of_other(), 2);
	for (i = 0; i < 128; i++)
		reta[i / 64].reta[i % 64] = i % QUEUES;
	assert_int_equal(rte_eth_dev_rss_reta_update(1, reta, 128), 0);
	assert_int_equal(queue_of_other(), 3);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	rig_start(1, QUEUES, &rss_conf);
	assert_int_equal(queue_of_other(), 3);
}

static void
test_refused(void **state)
{
	char err[TP_ERR_LEN];
	unsigned int lines;
	uint16_t got;

	assert_int_equal(rte_pmd_mlx4_rss_default_queue_set(1, QUEUES, err), -EINVAL);
	assert_non_null(strstr(err, "4, want 0..3"));
	assert_int_equal(tp_model_fault(rig_model(1), TP_FAULT_STATUS, MLX4_CMD_RST2INIT_QP, 1, MLX4_STAT_BAD_PARAM),
			 0);
	rig_log_begin();
	assert_true(rte_pmd_mlx4_rss_default_queue_set(1, 2, err) < 0);
	free(rig_log_end(&lines));
	assert_non_null(strstr(err, "2"));
	assert_int_equal(rte_pmd_mlx4_rss_default_queue_get(1, &got), 0);
	assert_int_equal(got, 0);
	assert_int_equal(queue_of_other(), 0);
	hashed();
	assert_int_equal(rte_eth_dev_stop(1), 0);
	set(255);
	assert_int_equal(rte_pmd_mlx4_rss_default_queue_set(1, 256, err), -EINVAL);
	assert_non_null(strstr(err, "256, want 0..255"));
	assert_int_equal(rte_pmd_mlx4_rss_default_queue_set(9, 0, err), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_rss_default_queue_get(9, &got), -ENODEV);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {T(test_live), T(test_table), T(test_refused)};

	if (rig_eal("rss-default", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
