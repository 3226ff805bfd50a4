/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What rte_tm says that a port can do, each value by hand; what nodes and profiles cannot be, one by one; shares that do not
 * divide; hierarchies that are noted down before the queues are there, or that fail.
 */
#include <errno.h>
#include <stdlib.h>

#include <rte_tm.h>

#include "drivers/mlx4/qos/qos.h"
#include "rig.h"

#define QUEUES 10
#define PORT 100
#define CLASS 200
#define NONE RTE_TM_SHAPER_PROFILE_ID_NONE
#define MBIT UINT64_C(125000) /* bytes per second */

static FILE *quiet;

static int
setup(void **state)
{
	struct rte_eth_link link;

	quiet = fopen("/dev/null", "w");
	if (quiet == NULL)
		return -1;
	rig_open("");
	rig_start(0, QUEUES, NULL);
	rig_start(1, 1, NULL);
	rig_run(0);
	assert_int_equal(rte_eth_link_get_nowait(0, &link), 0);
	rte_openlog_stream(quiet);
	return 0;
}

static int
teardown(void **state)
{
	rte_openlog_stream(NULL);
	fclose(quiet);
	return rig_teardown(state);
}

static int
add(uint32_t id, uint32_t parent, uint32_t prio, uint32_t weight, uint32_t level, const struct rte_tm_node_params *p,
    enum rte_tm_error_type *why)
{
	struct rte_tm_node_params copy = *p;
	struct rte_tm_error e = {.type = RTE_TM_ERROR_TYPE_NONE};
	int rc = rte_tm_node_add(0, id, parent, prio, weight, level, &copy, &e);

	*why = e.type;
	assert_true(rc == 0 || (rc == -EINVAL && e.message != NULL && e.cause == NULL));
	return rc;
}

static struct rte_tm_node_params
inner(uint32_t prios)
{
	return (struct rte_tm_node_params){.shaper_profile_id = NONE, .nonleaf.n_sp_priorities = prios};
}

static struct rte_tm_node_params
outer(uint32_t profile)
{
	return (struct rte_tm_node_params){.shaper_profile_id = profile,
					   .leaf.wred.wred_profile_id = RTE_TM_WRED_PROFILE_ID_NONE};
}

static void
root(void)
{
	const struct rte_tm_node_params p = inner(8);
	enum rte_tm_error_type why;

	assert_int_equal(add(PORT, RTE_TM_NODE_ID_NULL, 0, 1, 0, &p, &why), 0);
}

static void class(uint32_t i, uint32_t prio, uint32_t weight, uint32_t profile)
{
	struct rte_tm_node_params p = inner(1);
	enum rte_tm_error_type why;

	p.shaper_profile_id = profile;
	assert_int_equal(add(CLASS + i, PORT, prio, weight, 1, &p, &why), 0);
}

static void
leaf(uint32_t queue, uint32_t i, uint32_t profile)
{
	const struct rte_tm_node_params p = outer(profile);
	enum rte_tm_error_type why;

	assert_int_equal(add(queue, CLASS + i, 0, 1, 2, &p, &why), 0);
}

static int
profile(uint32_t id, uint64_t rate)
{
	struct rte_tm_shaper_params p = {.peak.rate = rate};
	struct rte_tm_error e;

	return rte_tm_shaper_profile_add(0, id, &p, &e);
}

static void
test_capabilities(void **state)
{
	struct rte_tm_capabilities cap;
	struct rte_tm_error e;
	struct mlx4_eth *eth = rte_eth_devices[0].data->dev_private;

	memset(&cap, 0xa5, sizeof(cap));
	assert_int_equal(rte_tm_capabilities_get(0, &cap, &e), 0);
	assert_int_equal(cap.n_nodes_max, 1 + 8 + QUEUES);
	assert_int_equal(cap.n_levels_max, 3);
	assert_int_equal(cap.non_leaf_nodes_identical, 0);
	assert_int_equal(cap.leaf_nodes_identical, 1);
	assert_int_equal(cap.shaper_n_max, 8 + QUEUES);
	assert_int_equal(cap.shaper_private_n_max, 8 + QUEUES);
	assert_int_equal(cap.shaper_private_dual_rate_n_max, 0);
	assert_true(cap.shaper_private_rate_min == MBIT);
	assert_true(cap.shaper_private_rate_max == 40000 * MBIT);
	assert_int_equal(cap.shaper_private_packet_mode_supported, 0);
	assert_int_equal(cap.shaper_private_byte_mode_supported, 1);
	assert_int_equal(cap.shaper_shared_n_max, 0);
	assert_int_equal(cap.sched_n_children_max, QUEUES);
	assert_int_equal(cap.sched_sp_n_priorities_max, 8);
	assert_int_equal(cap.sched_wfq_n_children_per_group_max, 8);
	assert_int_equal(cap.sched_wfq_n_groups_max, 1);
	assert_int_equal(cap.sched_wfq_weight_max, 255);
	assert_int_equal(cap.sched_wfq_packet_mode_supported, 0);
	assert_int_equal(cap.sched_wfq_byte_mode_supported, 1);
	assert_int_equal(cap.cman_head_drop_supported, 0);
	assert_true(cap.stats_mask == 0);
	/* Fewer queues than classes; without a link it is the fastest that a card has, 56 Gb/s. */
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rte_eth_dev_configure(0, 1, 3, &(struct rte_eth_conf){0}), 0);
	eth->hca->port[0].speed = 0;
	assert_int_equal(rte_tm_capabilities_get(0, &cap, &e), 0);
	assert_int_equal(cap.n_nodes_max, 1 + 8 + 3);
	assert_int_equal(cap.shaper_n_max, 8 + 3);
	assert_int_equal(cap.sched_n_children_max, 8);
	assert_true(cap.shaper_private_rate_max == 56000 * MBIT);
	rig_start(0, QUEUES, NULL);
}

/* A node can do what its level can. */
static void
test_levels(void **state)
{
	struct mlx4_eth *eth = rte_eth_devices[0].data->dev_private;
	const uint16_t rates = eth->hca->caps.num_qp_rates;
	struct rte_tm_level_capabilities l;
	struct rte_tm_node_capabilities n;
	struct rte_tm_error e;
	int is_leaf = 7;

	/* Before there is any. */
	assert_int_equal(rte_tm_node_capabilities_get(0, PORT, &n, &e), -EINVAL);
	assert_int_equal(e.type, RTE_TM_ERROR_TYPE_NODE_ID);
	assert_int_equal(rte_tm_node_type_get(0, 0, &is_leaf, &e), -EINVAL);
	assert_int_equal(e.type, RTE_TM_ERROR_TYPE_NODE_ID);
	assert_int_equal(rte_tm_node_delete(0, 0, &e), -EINVAL);
	root();
	class(0, 0, 1, NONE);
	leaf(QUEUES - 1, 0, NONE);

	memset(&l, 0xa5, sizeof(l));
	assert_int_equal(rte_tm_level_capabilities_get(0, 0, &l, &e), 0);
	assert_int_equal(l.n_nodes_max, 1);
	assert_int_equal(l.n_nodes_nonleaf_max, 1);
	assert_int_equal(l.n_nodes_leaf_max, 0);
	assert_int_equal(l.non_leaf_nodes_identical, 1);
	assert_int_equal(l.nonleaf.shaper_private_supported, 0);
	assert_int_equal(l.nonleaf.sched_n_children_max, 8);
	assert_int_equal(l.nonleaf.sched_sp_n_priorities_max, 8);
	assert_int_equal(l.nonleaf.sched_wfq_n_children_per_group_max, 8);
	assert_int_equal(l.nonleaf.sched_wfq_n_groups_max, 1);
	assert_int_equal(l.nonleaf.sched_wfq_weight_max, 255);
	assert_int_equal(l.nonleaf.sched_wfq_byte_mode_supported, 1);
	memset(&n, 0xa5, sizeof(n));
	assert_int_equal(rte_tm_node_capabilities_get(0, PORT, &n, &e), 0);
	assert_int_equal(n.shaper_private_supported, 0);
	assert_int_equal(n.nonleaf.sched_n_children_max, 8);
	assert_int_equal(n.nonleaf.sched_sp_n_priorities_max, 8);
	assert_int_equal(n.nonleaf.sched_wfq_n_children_per_group_max, 8);
	assert_int_equal(n.nonleaf.sched_wfq_n_groups_max, 1);
	assert_int_equal(n.nonleaf.sched_wfq_weight_max, 255);
	assert_int_equal(n.nonleaf.sched_wfq_byte_mode_supported, 1);

	assert_int_equal(rte_tm_level_capabilities_get(0, 1, &l, &e), 0);
	assert_int_equal(l.n_nodes_max, 8);
	assert_int_equal(l.n_nodes_nonleaf_max, 8);
	assert_int_equal(l.non_leaf_nodes_identical, 1);
	assert_int_equal(l.nonleaf.shaper_private_supported, 1);
	assert_true(l.nonleaf.shaper_private_rate_min == 100 * MBIT);
	assert_true(l.nonleaf.shaper_private_rate_max == 40000 * MBIT);
	assert_int_equal(l.nonleaf.shaper_private_byte_mode_supported, 1);
	assert_int_equal(l.nonleaf.sched_n_children_max, QUEUES);
	assert_int_equal(l.nonleaf.sched_sp_n_priorities_max, 1);
	assert_int_equal(l.nonleaf.sched_wfq_n_groups_max, 0);
	assert_int_equal(l.nonleaf.sched_wfq_weight_max, 1);
	memset(&n, 0xa5, sizeof(n));
	assert_int_equal(rte_tm_node_capabilities_get(0, CLASS, &n, &e), 0);
	assert_int_equal(n.shaper_private_supported, 1);
	assert_true(n.shaper_private_rate_min == 100 * MBIT);
	assert_true(n.shaper_private_rate_max == 40000 * MBIT);
	assert_int_equal(n.shaper_private_byte_mode_supported, 1);
	assert_int_equal(n.nonleaf.sched_n_children_max, QUEUES);
	assert_int_equal(n.nonleaf.sched_wfq_weight_max, 1);

	assert_int_equal(rte_tm_level_capabilities_get(0, 2, &l, &e), 0);
	assert_int_equal(l.n_nodes_max, QUEUES);
	assert_int_equal(l.n_nodes_leaf_max, QUEUES);
	assert_int_equal(l.n_nodes_nonleaf_max, 0);
	assert_int_equal(l.leaf_nodes_identical, 1);
	assert_int_equal(l.leaf.shaper_private_supported, 1);
	assert_true(l.leaf.shaper_private_rate_min == MBIT);
	assert_true(l.leaf.shaper_private_rate_max == 40000 * MBIT);
	assert_int_equal(l.leaf.shaper_private_byte_mode_supported, 1);
	memset(&n, 0xa5, sizeof(n));
	assert_int_equal(rte_tm_node_capabilities_get(0, QUEUES - 1, &n, &e), 0);
	assert_int_equal(n.shaper_private_supported, 1);
	assert_true(n.shaper_private_rate_min == MBIT);
	assert_true(n.shaper_private_rate_max == 40000 * MBIT);
	assert_int_equal(n.shaper_private_byte_mode_supported, 1);
	assert_int_equal(n.stats_mask, 0);

	assert_int_equal(rte_tm_level_capabilities_get(0, 3, &l, &e), -EINVAL);
	assert_int_equal(e.type, RTE_TM_ERROR_TYPE_LEVEL_ID);
	assert_int_equal(rte_tm_node_type_get(0, QUEUES - 1, &is_leaf, &e), 0);
	assert_int_equal(is_leaf, 1);
	assert_int_equal(rte_tm_node_type_get(0, CLASS, &is_leaf, &e), 0);
	assert_int_equal(is_leaf, 0);
	assert_int_equal(rte_tm_node_type_get(0, PORT, &is_leaf, &e), 0);
	assert_int_equal(is_leaf, 0);
	assert_int_equal(rte_tm_node_type_get(0, MLX4_ETH_MAX_TXQ, &is_leaf, &e), -EINVAL);
	assert_int_equal(rte_tm_node_type_get(0, CLASS + 1, &is_leaf, &e), -EINVAL);

	/* A firmware that limits no queue. */
	eth->hca->caps.num_qp_rates = 0;
	assert_int_equal(rte_tm_level_capabilities_get(0, 2, &l, &e), 0);
	assert_int_equal(l.leaf.shaper_private_supported, 0);
	assert_int_equal(l.leaf.shaper_private_byte_mode_supported, 0);
	assert_int_equal(profile(1, MBIT), 0);
	{
		const struct rte_tm_node_params p = outer(1);
		enum rte_tm_error_type why;

		assert_int_equal(add(0, CLASS, 0, 1, 2, &p, &why), -EINVAL);
		assert_int_equal(why, RTE_TM_ERROR_TYPE_NODE_PARAMS_SHAPER_PROFILE_ID);
		eth->hca->caps.num_qp_rates = rates;
		assert_int_equal(add(0, CLASS, 0, 1, 2, &p, &why), 0);
	}
}

/* Each with one thing wrong; the first of each kind has nothing wrong, and is tried last. */
static void
test_nodes(void **state)
{
	static int bytes_mode[8] = {1, 1, 1, 1, 1, 1, 1, 1}, packets_mode[8] = {1, 1, 1, 1, 1, 1, 1, 0};
	struct rte_tm_node_params p[20];
	struct {
		uint32_t id, parent, prio, weight, level;
		unsigned int params;
		enum rte_tm_error_type why;
	} t[] = {
#define ANY RTE_TM_NODE_LEVEL_ID_ANY
#define UP RTE_TM_NODE_ID_NULL
#define E(x) RTE_TM_ERROR_TYPE_##x
		/* the root */
		{PORT, UP, 0, 1, 1, 0, E(LEVEL_ID)},
		{PORT, UP, 1, 1, ANY, 0, E(NODE_PRIORITY)},
		{PORT, UP, 0, 2, ANY, 0, E(NODE_WEIGHT)},
		{PORT, UP, 0, 0, ANY, 0, E(NODE_WEIGHT)},
		{QUEUES - 1, UP, 0, 1, ANY, 0, E(NODE_ID)},
		{PORT, UP, 0, 1, ANY, 1, E(NODE_PARAMS_N_SP_PRIORITIES)},
		{PORT, UP, 0, 1, ANY, 2, E(NODE_PARAMS_N_SP_PRIORITIES)},
		{PORT, UP, 0, 1, ANY, 3, E(NODE_PARAMS_WFQ_WEIGHT_MODE)},
		{PORT, UP, 0, 1, ANY, 4, E(NODE_PARAMS_N_SHARED_SHAPERS)},
		{PORT, UP, 0, 1, ANY, 5, E(NODE_PARAMS_STATS)},
		{PORT, 99, 0, 1, ANY, 0, E(NODE_PARENT_NODE_ID)},
		{QUEUES, UP, 0, 1, 0, 6, E(NONE)},
		/* a class */
		{QUEUES, UP, 0, 1, ANY, 0, E(NODE_ID)}, /* exists */
		{PORT, UP, 0, 1, ANY, 0, E(NODE_ID)},   /* a second root */
		{CLASS, QUEUES, 0, 1, 2, 7, E(LEVEL_ID)},
		{CLASS, QUEUES, 8, 1, ANY, 7, E(NODE_PRIORITY)},
		{CLASS, QUEUES, 0, 256, ANY, 7, E(NODE_WEIGHT)},
		{QUEUES - 1, QUEUES, 0, 1, ANY, 7, E(NODE_ID)},
		{CLASS, QUEUES, 0, 1, ANY, 8, E(NODE_PARAMS_N_SP_PRIORITIES)},
		{CLASS, QUEUES, 0, 1, ANY, 1, E(NODE_PARAMS_N_SP_PRIORITIES)},
		{CLASS, QUEUES, 0, 1, ANY, 9, E(NODE_PARAMS_WFQ_WEIGHT_MODE)},
		{CLASS, QUEUES, 0, 1, ANY, 10, E(NODE_PARAMS_SHAPER_PROFILE_ID)},
		{CLASS, QUEUES, 7, 255, 1, 11, E(NONE)},
		/* a leaf */
		{0, CLASS, 0, 1, 1, 12, E(LEVEL_ID)},
		{0, CLASS, 1, 1, ANY, 12, E(NODE_PRIORITY)},
		{0, CLASS, 0, 2, ANY, 12, E(NODE_WEIGHT)},
		{QUEUES + 1, CLASS, 0, 1, ANY, 12, E(NODE_ID)},
		{0, CLASS, 0, 1, ANY, 13, E(NODE_PARAMS_CMAN)},
		{0, CLASS, 0, 1, ANY, 14, E(NODE_PARAMS_WRED_PROFILE_ID)},
		{0, CLASS, 0, 1, ANY, 15, E(NODE_PARAMS_WRED_PROFILE_ID)},
		{0, CLASS, 0, 1, ANY, 16, E(NODE_PARAMS_SHAPER_PROFILE_ID)},
		{0, 0, 0, 1, ANY, 12, E(NODE_PARENT_NODE_ID)},
		{0, CLASS, 0, 1, 2, 12, E(NONE)},
		{1, 0, 0, 1, ANY, 12, E(NODE_PARENT_NODE_ID)}, /* below a leaf */
	};
	enum rte_tm_error_type why;
	struct rte_tm_error e;
	unsigned int i;

	assert_int_equal(profile(1, 200 * MBIT), 0);
	for (i = 0; i < 12; i++)
		p[i] = inner(i < 7 ? 8 : 1);
	for (; i < RTE_DIM(p); i++)
		p[i] = outer(NONE);
	p[1].nonleaf.n_sp_priorities = 0;
	p[2].nonleaf.n_sp_priorities = 9;
	p[3].nonleaf.wfq_weight_mode = packets_mode;
	p[4].n_shared_shapers = 1;
	p[5].stats_mask = 1;
	p[6].nonleaf.wfq_weight_mode = bytes_mode;
	p[8].nonleaf.n_sp_priorities = 2;
	p[9].nonleaf.wfq_weight_mode = packets_mode + 7;
	p[10].shaper_profile_id = 2;
	p[11].shaper_profile_id = 1;
	p[13].leaf.cman = RTE_TM_CMAN_HEAD_DROP;
	p[14].leaf.wred.wred_profile_id = 3;
	p[15].leaf.wred.n_shared_wred_contexts = 1;
	p[16].shaper_profile_id = 2;
	for (i = 0; i < RTE_DIM(t); i++) {
		int rc = add(t[i].id, t[i].parent, t[i].prio, t[i].weight, t[i].level, &p[t[i].params], &why);

		if (rc != (t[i].why == RTE_TM_ERROR_TYPE_NONE ? 0 : -EINVAL) || why != t[i].why)
			fail_msg("case %u: %d, type %u", i, rc, why);
	}
	/* The hierarchy goes from the leaves up. */
	assert_int_equal(rte_tm_node_delete(0, CLASS + 1, &e), -EINVAL);
	assert_int_equal(rte_tm_node_delete(0, QUEUES, &e), -EINVAL);
	assert_int_equal(rte_tm_node_delete(0, CLASS, &e), -EINVAL);
	assert_int_equal(rte_tm_shaper_profile_delete(0, 1, &e), -EINVAL);
	assert_int_equal(rte_tm_node_delete(0, 0, &e), 0);
	assert_int_equal(rte_tm_node_delete(0, 0, &e), -EINVAL);
	assert_int_equal(rte_tm_node_delete(0, QUEUES, &e), -EINVAL);
	assert_int_equal(rte_tm_node_delete(0, CLASS, &e), 0);
	assert_int_equal(rte_tm_shaper_profile_delete(0, 1, &e), 0);
	assert_int_equal(rte_tm_node_delete(0, QUEUES, &e), 0);
	root();
}

/* Another class has the queue: the one without goes, the other does not. */
static void
test_children(void **state)
{
	struct rte_tm_error e;

	root();
	class(0, 0, 1, NONE);
	class(1, 1, 1, NONE);
	leaf(MLX4_ETH_MAX_TXQ < QUEUES ? MLX4_ETH_MAX_TXQ - 1 : QUEUES - 1, 1, NONE);
	assert_int_equal(rte_tm_node_delete(0, CLASS, &e), 0);
	assert_int_equal(rte_tm_node_delete(0, CLASS + 1, &e), -EINVAL);
	/* The first free place is taken, by a class of another number. */
	class(7, 2, 1, NONE);
	leaf(0, 7, NONE);
	assert_int_equal(rte_tm_node_delete(0, CLASS + 7, &e), -EINVAL);
	assert_int_equal(rte_tm_node_delete(0, QUEUES - 1, &e), 0);
	assert_int_equal(rte_tm_node_delete(0, CLASS + 1, &e), 0);
	assert_int_equal(rte_tm_node_delete(0, PORT, &e), -EINVAL);
}

static void
test_profiles(void **state)
{
	struct rte_tm_shaper_params p;
	struct rte_tm_error e;
	uint32_t i;

	assert_int_equal(rte_tm_shaper_profile_delete(0, 1, &e), -EINVAL);
	assert_int_equal(e.type, RTE_TM_ERROR_TYPE_SHAPER_PROFILE_ID);
	p = (struct rte_tm_shaper_params){.peak.rate = MBIT, .committed.size = 1};
	assert_int_equal(rte_tm_shaper_profile_add(0, 1, &p, &e), -EINVAL);
	assert_int_equal(e.type, RTE_TM_ERROR_TYPE_SHAPER_PROFILE_COMMITTED_SIZE);
	p = (struct rte_tm_shaper_params){.peak.rate = MBIT, .pkt_length_adjust = -4};
	assert_int_equal(rte_tm_shaper_profile_add(0, 1, &p, &e), -EINVAL);
	assert_int_equal(e.type, RTE_TM_ERROR_TYPE_SHAPER_PROFILE_PKT_ADJUST_LEN);
	p = (struct rte_tm_shaper_params){.peak.rate = MBIT, .packet_mode = 1};
	assert_int_equal(rte_tm_shaper_profile_add(0, 1, &p, &e), -EINVAL);
	assert_int_equal(e.type, RTE_TM_ERROR_TYPE_SHAPER_PROFILE_PACKET_MODE);
	assert_int_equal(profile(NONE, MBIT), -EINVAL);
	for (i = 0; i < 64; i++)
		assert_int_equal(profile(1000 + i, MBIT), 0);
	p = (struct rte_tm_shaper_params){.peak.rate = MBIT};
	assert_int_equal(rte_tm_shaper_profile_add(0, 1, &p, &e), -EINVAL);
	assert_int_equal(e.type, RTE_TM_ERROR_TYPE_SHAPER_PROFILE);
	assert_int_equal(rte_tm_shaper_profile_delete(0, 1063, &e), 0);
	assert_int_equal(rte_tm_shaper_profile_delete(0, 1063, &e), -EINVAL);
	assert_int_equal(profile(1000, MBIT), -EINVAL);
	assert_int_equal(profile(1, MBIT), 0);
	/* One that a class uses, one that a leaf uses, one that nobody does. */
	root();
	class(0, 0, 1, 1000);
	leaf(QUEUES - 1, 0, 1001);
	assert_int_equal(rte_tm_shaper_profile_delete(0, 1000, &e), -EINVAL);
	assert_int_equal(e.type, RTE_TM_ERROR_TYPE_SHAPER_PROFILE);
	assert_int_equal(rte_tm_shaper_profile_delete(0, 1001, &e), -EINVAL);
	assert_int_equal(rte_tm_shaper_profile_delete(0, 1002, &e), 0);
}

/* Whole percents of the weights, those with the largest rest get what is left. Classes with shares are numbered first. */
static void
test_shares(void **state)
{
	static const struct {
		uint8_t n;
		uint8_t weight[8];
		uint8_t pct[8]; /* none: refused */
	} t[] = {
		{2, {3, 1}, {75, 25}},
		{3, {1, 2, 4}, {14, 29, 57}}, /* 14.29, 28.57, 57.14 */
		{3, {4, 2, 1}, {57, 29, 14}},
		{7, {1, 1, 1, 1, 1, 1, 1}, {15, 15, 14, 14, 14, 14, 14}},
		{6, {1, 1, 1, 1, 1, 2}, {15, 14, 14, 14, 14, 29}}, /* two to give, 29 has the largest rest */
		{2, {1, 99}, {1, 99}},
		{2, {1, 255}, {0}}, /* 0.39 */
		{2, {255, 1}, {0}},
		{2, {1, 199}, {1, 99}}, /* 0.5 and 99.5 */
	};
	struct tp_qos_port q, before;
	struct rte_tm_error e;
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(t); i++) {
		bool ok = t[i].pct[0] != 0;

		assert_int_equal(rte_pmd_mlx4_qos_get(0, &before), 0);
		root();
		for (k = 0; k < t[i].n; k++)
			class(k, 0, t[i].weight[k], NONE);
		assert_int_equal(rte_tm_hierarchy_commit(0, 0, &e), ok ? 0 : -EINVAL);
		assert_int_equal(rte_pmd_mlx4_qos_get(0, &q), 0);
		if (!ok) {
			assert_int_equal(e.type, RTE_TM_ERROR_TYPE_NODE_WEIGHT);
			assert_memory_equal(&q, &before, sizeof(q));
		}
		for (k = 0; ok && k < 8; k++) {
			if (q.tc[k].bw_pct != t[i].pct[k])
				fail_msg("case %u, class %u: %u percent", i, k, q.tc[k].bw_pct);
			assert_int_equal(q.tc[k].tsa, k < t[i].n ? TP_TSA_ETS : TP_TSA_STRICT);
			assert_int_equal(q.prio_tc[k], k < t[i].n ? k : 0);
		}
		for (k = 0; k < t[i].n; k++)
			assert_int_equal(rte_tm_node_delete(0, CLASS + k, &e), 0);
		assert_int_equal(rte_tm_node_delete(0, PORT, &e), 0);
	}
}

/* Strict classes by their urgency, whatever the order in which they were noted down; the last alone has no share. */
static void
test_order(void **state)
{
	struct rte_pmd_mlx4_txq_policy policy;
	struct rte_tm_error e;
	struct tp_qos_port q;
	static const uint8_t prio[QUEUES] = {0, 2, 1, 0, 0, 0, 0, 0, 0, 2};
	unsigned int i;

	assert_int_equal(profile(1, 300 * MBIT), 0);
	assert_int_equal(profile(2, 500 * MBIT + MBIT - 1), 0);
	root();
	class(0, 7, 9, 1);
	class(1, 0, 1, NONE);
	class(2, 3, 1, 2);
	leaf(0, 0, NONE);
	leaf(1, 1, NONE);
	leaf(2, 2, 1);
	leaf(QUEUES - 1, 1, NONE);
	assert_int_equal(rte_tm_hierarchy_commit(0, 1, &e), 0);
	assert_int_equal(rte_pmd_mlx4_qos_get(0, &q), 0);
	for (i = 0; i < 8; i++) {
		static const uint32_t rate[8] = {300, 500};

		assert_int_equal(q.prio_tc[i], i < 3 ? i : 0);
		assert_int_equal(q.tc[i].tsa, TP_TSA_STRICT);
		assert_int_equal(q.tc[i].rate_mbps, rate[i]);
	}
	for (i = 0; i < QUEUES; i++) {
		assert_int_equal(rte_pmd_mlx4_txq_policy_get(0, (uint16_t)i, &policy), 0);
		assert_int_equal(policy.prio, prio[i]);
		assert_int_equal(policy.rate_mbps, i == 2 ? 300 : 0);
	}
	/* Queues that have no leaf any more keep what they have. */
	assert_int_equal(rte_tm_node_delete(0, 2, &e), 0);
	assert_int_equal(rte_tm_hierarchy_commit(0, 1, &e), 0);
	assert_int_equal(rte_pmd_mlx4_txq_policy_get(0, 2, &policy), 0);
	assert_int_equal(policy.prio, 1);
	assert_int_equal(policy.rate_mbps, 300);
}

/* A hierarchy that cannot be had stays noted down, or is forgotten with its profiles, as the caller wants. */
static void
test_clear(void **state)
{
	struct rte_tm_error e;
	unsigned int clear;

	assert_int_equal(rte_tm_hierarchy_commit(0, 1, &e), -EINVAL);
	for (clear = 0; clear < 2; clear++) {
		int is_leaf, have = clear == 0 ? 0 : -EINVAL;

		if (clear == 0) {
			assert_int_equal(profile(5, MBIT), 0);
			root();
			assert_int_equal(rte_tm_hierarchy_commit(0, 0, &e), -EINVAL);
			assert_int_equal(e.type, RTE_TM_ERROR_TYPE_NODE_ID);
			class(0, 0, 1, NONE);
			leaf(0, 0, 5);
		}
		assert_int_equal(
			tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_UPDATE_QP, 1, MLX4_STAT_BAD_PARAM), 0);
		assert_int_not_equal(rte_tm_hierarchy_commit(0, (int)clear, &e), 0);
		assert_int_equal(e.type, RTE_TM_ERROR_TYPE_UNSPECIFIED);
		assert_int_equal(rte_tm_node_type_get(0, PORT, &is_leaf, &e), have);
		assert_int_equal(rte_tm_node_type_get(0, CLASS, &is_leaf, &e), have);
		assert_int_equal(rte_tm_node_type_get(0, 0, &is_leaf, &e), have);
		assert_int_equal(profile(5, MBIT), clear == 0 ? -EINVAL : 0);
	}
	root();
	class(0, 0, 1, NONE);
	assert_int_equal(rte_tm_hierarchy_commit(0, 1, &e), 0);
}

/* Before queues are set up: they get it when they are. */
static void
test_queues_later(void **state)
{
	struct rte_pmd_mlx4_txq_policy policy;
	struct rte_tm_error e;
	uint16_t i;

	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rte_eth_dev_configure(0, 1, 2, &(struct rte_eth_conf){0}), 0);
	assert_int_equal(profile(1, 700 * MBIT), 0);
	root();
	class(0, 0, 1, NONE);
	class(1, 1, 1, NONE);
	leaf(0, 0, NONE);
	leaf(1, 0, 1);
	assert_int_equal(rte_tm_hierarchy_commit(0, 0, &e), 0);
	assert_int_equal(rte_eth_rx_queue_setup(0, 0, RIG_DESC, SOCKET_ID_ANY, NULL, rig_pool()), 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(rte_eth_tx_queue_setup(0, i, RIG_DESC, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_dev_start(0), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(rte_pmd_mlx4_txq_policy_get(0, i, &policy), 0);
		assert_int_equal(policy.prio, 1);
		assert_int_equal(policy.rate_mbps, i == 1 ? 700 : 0);
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_capabilities), T(test_levels), T(test_nodes), T(test_children),     T(test_profiles),
		T(test_shares),       T(test_order),  T(test_clear), T(test_queues_later),
	};

	if (rig_eal("mlx4tml", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
