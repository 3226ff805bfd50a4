/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Moderated receive interrupts in virtual time: by count, by time, over new rings, restarts and refusals. */
#include <errno.h>

#include <rte_epoll.h>
#include <rte_interrupts.h>

#include "drivers/mlx4/rx/queue.h"
#include "rig.h"
#include "rte_pmd_mlx4_queue.h"

#define US 1000u
#define EPOLL_MS 30000

static uint64_t now_ns;

static int
setup(void **state)
{
	struct rte_eth_conf conf = {.intr_conf = {.rxq = 1}};

	rig_open_pair("", 1, &conf);
	now_ns = 1000 * US;
	tp_model_set_time(rig_model(0), now_ns);
	assert_int_equal(rte_eth_dev_rx_intr_ctl_q(1, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, NULL), 0);
	return 0;
}

static int
teardown(void **state)
{
	assert_int_equal(rte_eth_dev_rx_intr_ctl_q(1, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_DEL, NULL), 0);
	rig_close();
	return 0;
}

/* Whether the interrupt is there; what shall not come has no time to wait for. */
static bool
interrupted(bool wanted)
{
	struct rte_epoll_event ev[4];

	return rte_epoll_wait(RTE_EPOLL_PER_THREAD, ev, RTE_DIM(ev), wanted ? EPOLL_MS : 0) > 0;
}

static void
frames(unsigned int n)
{
	struct rte_ether_addr dst = rig_mac(1);

	while (n-- > 0)
		rig_send(0, rig_frame(&dst, RIG_FRAME));
}

static void
pass(uint64_t us)
{
	now_ns += us * US;
	tp_model_set_time(rig_model(0), now_ns);
	rig_run(0);
}

static void
enable(void)
{
	assert_int_equal(rte_eth_dev_rx_intr_enable(1, 0), 0);
	rig_run(0);
}

static void
disable(unsigned int frames)
{
	assert_int_equal(rte_eth_dev_rx_intr_disable(1, 0), 0);
	assert_int_equal(rig_drain(1, 0), frames);
}

/* [DP 6.5] The record says what the doorbell does, high octet first: number and command, then how far was consumed. */
static void
test_arm_record(void **state)
{
	const struct mlx4_eth *eth = rte_eth_devices[1].data->dev_private;
	const uint8_t *rec;
	unsigned int i;

	frames(5);
	assert_int_equal(rig_drain(1, 0), 5);
	for (i = 1; i <= 3; i++) {
		enable();
		rec = (const uint8_t *)(uintptr_t)eth->rxqs[0]->set->cq_dbrec + 4;
		assert_int_equal(rec[0] & 0xf, 2); /* the next completion */
		assert_int_equal(rec[1] << 16 | rec[2] << 8 | rec[3], 4 + i);
		frames(1);
		disable(1);
	}
}

/* The interrupt comes with frame number count and not before, or us after the first frame and not before. */
static void
holds(uint16_t count, uint16_t us)
{
	enable();
	frames(count - 1);
	assert_false(interrupted(false));
	frames(1);
	assert_true(interrupted(true));
	disable(count);
	enable();
	frames(1);
	pass(us - 1);
	assert_false(interrupted(false));
	pass(1);
	assert_true(interrupted(true));
	disable(1);
}

static void
test_count_and_time(void **state)
{
	uint16_t count = 9, us = 9;

	(void)state;
	assert_int_equal(rte_pmd_mlx4_rx_moderation_get(1, 0, &count, &us), 0);
	assert_int_equal(count, 0);
	assert_int_equal(us, 0);
	enable();
	frames(1);
	assert_true(interrupted(true)); /* none is asked for: the first frame interrupts */
	disable(1);
	assert_int_equal(rte_pmd_mlx4_rx_moderation_set(1, 0, 5, 10), 0);
	assert_int_equal(rte_pmd_mlx4_rx_moderation_get(1, 0, &count, &us), 0);
	assert_int_equal(count, 5);
	assert_int_equal(us, 10);
	holds(5, 10);
	/* Each of the two by itself is a change. */
	assert_int_equal(rte_pmd_mlx4_rx_moderation_set(1, 0, 5, 20), 0);
	holds(5, 20);
	assert_int_equal(rte_pmd_mlx4_rx_moderation_set(1, 0, 7, 20), 0);
	holds(7, 20);
	assert_int_equal(rte_pmd_mlx4_rx_moderation_set(1, 0, 64, 60000), 0);
	holds(64, 60000);
	assert_int_equal(rte_pmd_mlx4_rx_moderation_set(1, 0, 3, 0), 0);
	enable();
	frames(1);
	assert_true(interrupted(true));
	disable(1);
}

/* The queue keeps it, whatever rings it has. */
static void
test_new_rings(void **state)
{
	(void)state;
	assert_int_equal(rte_pmd_mlx4_rx_moderation_set(1, 0, 4, 50), 0);
	holds(4, 50);
	assert_int_equal(rte_eth_dev_rx_queue_stop(1, 0), 0);
	/* There is nothing that could be armed. */
	assert_int_equal(rte_eth_dev_rx_intr_enable(1, 0), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_rx_moderation_set(1, 0, 6, 70), 0);
	assert_int_equal(rte_eth_dev_rx_queue_start(1, 0), 0);
	rig_drain(1, 0);
	holds(6, 70);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	rig_drain(1, 0);
	rig_run(0);
	holds(6, 70);
}

static void
test_refusals(void **state)
{
	uint16_t count, us;

	(void)state;
	assert_int_equal(rte_pmd_mlx4_rx_moderation_set(1, 1, 1, 1), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_rx_moderation_get(1, 1, &count, &us), -EINVAL);
	assert_int_equal(rte_pmd_mlx4_rx_moderation_set(9, 0, 1, 1), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_rx_moderation_get(9, 0, &count, &us), -ENODEV);
	assert_int_equal(rte_pmd_mlx4_rx_moderation_set(0, 0, 1, 1), -ENOTSUP);
	assert_int_equal(rte_eth_dev_rx_intr_enable(0, 0), -EINVAL);
	/* the card refuses: the old values hold, also for the card */
	assert_int_equal(rte_pmd_mlx4_rx_moderation_set(1, 0, 5, 10), 0);
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_MODIFY_CQ, 1, MLX4_STAT_BAD_PARAM), 0);
	assert_true(rte_pmd_mlx4_rx_moderation_set(1, 0, 7, 20) < 0);
	assert_int_equal(rte_pmd_mlx4_rx_moderation_get(1, 0, &count, &us), 0);
	assert_int_equal(count, 5);
	assert_int_equal(us, 10);
	holds(5, 10);
	/* rings that could not be told are not made, and nothing is left of them */
	assert_int_equal(rte_eth_dev_rx_queue_stop(1, 0), 0);
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_MODIFY_CQ, 1, MLX4_STAT_BAD_PARAM), 0);
	assert_true(rte_eth_dev_rx_queue_start(1, 0) < 0);
	assert_int_equal(rte_eth_dev_rx_queue_start(1, 0), 0);
	rig_drain(1, 0);
	holds(5, 10);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {T(test_count_and_time), T(test_arm_record), T(test_new_rings),
					   T(test_refusals)};

	if (rig_eal("mlx4mod", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
