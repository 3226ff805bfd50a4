/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Each allocation of a card's and a port's life fails once: what was asked for says so, and nothing stays behind. */
#include <errno.h>
#include <stdlib.h>

#include <rte_errno.h>

#include "alloc_rig.h"
#include "fake_card.h"
#include "flow_rig.h"

#define MANY 2000u /* no step makes so many */
#define QUEUES 3u

static struct fake_card card;
static struct mlx4_hca *const hca = &card.hca;
static struct rte_flow *flow;

/* The step fails with each allocation in turn, until it makes no more of them. How many there were. */
static unsigned int
each(int (*step)(void), void (*undo)(void))
{
	unsigned int n, lines;
	size_t before;
	int rc;

	for (n = 1; n < MANY; n++) {
		before = rig_heap();
		rig_log_begin();
		alloc_fail_at(n);
		rc = step();
		if (!alloc_failed()) {
			free(rig_log_end(&lines));
			assert_int_equal(rc, 0);
			undo();
			assert_int_equal(rig_heap(), before);
			return n - 1;
		}
		free(rig_log_end(&lines));
		if (rc != -ENOMEM)
			fail_msg("allocation %u: %d", n, rc);
		assert_int_equal(rig_heap(), before);
	}
	fail_msg("%u allocations", n);
	return 0;
}

/* --- a card ------------------------------------------------------------------------------------------------ */

static int
cmd_step(void)
{
	return mlx4_cmd_init(hca);
}

static void
cmd_undo(void)
{
	mlx4_cmd_fini(hca);
}

static void
test_commands(void **state)
{
	fake_open(&card);
	mlx4_cmd_fini(hca);
	assert_int_equal(each(cmd_step, cmd_undo), 2);
	assert_int_equal(mlx4_cmd_init(hca), 0);
	fake_close(&card);
}

static int
fw_step(void)
{
	struct fake_answer *a;

	fake_forget(&card);
	card.num_answers = 0;
	a = fake_answer(&card, 0x004, 1);
	prm_set32(a->box, 0, 1030u << 16 | 2);
	prm_set32(a->box, 4, 5000u << 16 | 42);
	prm_set32(a->box, 8, 3);
	return mlx4_fw_start(hca, true);
}

static void
fw_undo(void)
{
	mlx4_fw_stop(hca);
}

static int
icm_step(void)
{
	fake_forget(&card);
	card.num_answers = 0;
	fake_answer(&card, 0xffd, FAKE_ALWAYS)->imm = 3;
	return mlx4_icm_create(hca);
}

static void
icm_undo(void)
{
	mlx4_icm_destroy(hca);
}

/* A list of pieces and three pieces; a table of tables, its bookkeeping and 14 tables. */
static void
test_firmware_and_contexts(void **state)
{
	fake_open(&card);
	assert_int_equal(each(fw_step, fw_undo), 4);
	assert_int_equal(each(icm_step, icm_undo), 16);
	assert_int_equal(card.resets, 0);
	fake_close(&card);
}

static struct mlx4_cq cq;
static struct mlx4_qp qp;
static struct mlx4_srq srq;
static struct mlx4_eq *eq;
static struct mlx4_numbers *numbers;

static int
queues_step(void)
{
	const struct mlx4_qp_attr a = {.port = 1, .sq_txbbs = 64, .scq = &cq, .rcq = &cq};
	int rc;

	fake_forget(&card);
	rc = mlx4_numbers_create("test numbers", 0, 100, 0, &numbers);
	if (rc != 0)
		return rc;
	rc = mlx4_eq_create(hca, 0x30, 64, 0, &eq);
	if (rc != 0)
		goto err_eq;
	rc = mlx4_cq_create(hca, 64, 1, -1, 0, &cq);
	if (rc != 0)
		goto err_cq;
	rc = mlx4_srq_create(hca, NULL, 5, 64, 64, 0, &srq);
	if (rc != 0)
		goto err_srq;
	rc = mlx4_qp_create(hca, 0x200, &a, &qp);
	if (rc != 0)
		goto err_qp;
	return 0;

err_qp:
	mlx4_srq_retire(hca, &srq);
	mlx4_dma_free(&srq.buf);
err_srq:
	mlx4_cq_destroy(hca, &cq);
err_cq:
	mlx4_eq_destroy(eq);
err_eq:
	mlx4_numbers_destroy(numbers);
	return rc;
}

static void
queues_undo(void)
{
	mlx4_qp_destroy(hca, &qp);
	mlx4_srq_retire(hca, &srq);
	mlx4_dma_free(&srq.buf);
	mlx4_cq_destroy(hca, &cq);
	mlx4_eq_destroy(eq);
	mlx4_numbers_destroy(numbers);
}

static void
test_queues(void **state)
{
	fake_open_with_numbers(&card);
	assert_int_equal(each(queues_step, queues_undo), 1 + 2 + 1 + 1 + 1);
	fake_close_with_numbers(&card);
}

/* --- a port ------------------------------------------------------------------------------------------------ */

static int
plug_step(void)
{
	int rc = rig_plug(RIG_DEV, "run=step");

	/* What the bus makes of an error is its own. */
	assert_int_equal(rte_eth_dev_count_avail(), rc == 0 ? 2 : 0);
	return rc == 0 ? 0 : -ENOMEM;
}

static void
plug_undo(void)
{
	rig_unplug(RIG_DEV);
}

static void
test_plug(void **state)
{
	/* What is made once and kept. */
	rig_open("");
	rig_close();
	assert_in_range(each(plug_step, plug_undo), 30, 300);
	rig_open("");
	rig_close();
}

static int
start_step(void)
{
	int rc = rte_eth_dev_start(1);

	assert_int_equal(rte_mempool_in_use_count(rig_pool()) != 0, rc == 0);
	return rc;
}

static void
start_undo(void)
{
	assert_int_equal(rte_eth_dev_stop(1), 0);
}

static const uint16_t all[] = {0, 1, 2};
static const struct rte_flow_action_rss rss = {.queue = all, .queue_num = 3, .types = RTE_ETH_RSS_NONFRAG_IPV4_TCP};

static int
flow_step(void)
{
	const struct rte_flow_attr attr = {.ingress = 1};

	flow = rte_flow_create(1, &attr, PATTERN(ITEM(IPV4), ITEM(TCP)), ACTIONS(MARK(1), ACTION(RSS, .conf = &rss)),
			       NULL);
	return flow != NULL ? 0 : -rte_errno;
}

static int
drop_step(void)
{
	const struct rte_flow_attr attr = {.ingress = 1};

	flow = rte_flow_create(1, &attr, PATTERN(ITEM(IPV4), ITEM(UDP)), ACTIONS(ACTION(DROP)), NULL);
	return flow != NULL ? 0 : -rte_errno;
}

static void
flow_undo(void)
{
	unsigned int q;

	flow_remove(flow);
	/* Pollers leave what they had, the next call frees it. */
	for (q = 0; q < QUEUES; q++)
		rig_drain(1, (uint16_t)q);
	rte_flow_validate(1, &(const struct rte_flow_attr){.ingress = 1}, TO_PORT(3), ACTIONS(QUEUE(1)), NULL);
}

static unsigned int
arrives(void)
{
	struct rte_ether_addr mac = rig_mac(1);
	unsigned int q, n = 0;

	rig_send(0, rig_frame(&mac, RIG_FRAME));
	for (q = 0; q < 4 * QUEUES; q++)
		n += rig_drain(1, (uint16_t)(q % QUEUES));
	return n;
}

static void
test_port(void **state)
{
	const struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS,
					  .rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP};

	rig_open("");
	rig_start(0, 1, NULL);
	assert_int_equal(rig_configure(1, QUEUES, QUEUES, &conf, rig_pool()), 0);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_true(each(start_step, start_undo) > QUEUES);
	assert_int_equal(rte_eth_dev_start(0), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	/* The first one makes what is kept until the port stops. */
	assert_int_equal(drop_step(), 0);
	flow_undo();
	assert_true(each(drop_step, flow_undo) >= 2);
	assert_true(each(flow_step, flow_undo) > QUEUES);
	assert_int_equal(arrives(), 1);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	rig_close();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands), cmocka_unit_test(test_firmware_and_contexts),
		cmocka_unit_test(test_queues),   cmocka_unit_test(test_plug),
		cmocka_unit_test(test_port),
	};

	if (rig_eal("mlx4nomem", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
