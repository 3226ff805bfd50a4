/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What actions become: queues, hash, mark and count; and each list of actions that is refused, with the words that say why. */
#include <errno.h>

#include <rte_errno.h>

#include "drivers/mlx4/flow/flow.h"
#include "fake_card.h"
#include "flow_rig.h"

#define QUEUES 5u

static struct mlx4_hca hca;
static struct rte_eth_dev_data data;
static struct rte_eth_dev dev = {.data = &data};
static struct mlx4_eth eth = {.hca = &hca, .dev = &dev};
static const uint16_t queues[200] = {4, 0, 2, 4};

/* A port of five queues that hashes TCP and UDP. */
static int
setup(void **state)
{
	unsigned int i;

	memset(&hca, 0, sizeof(hca));
	hca.caps.udp_rss = hca.caps.rss_xor = hca.caps.vxlan = true;
	data.nb_rx_queues = QUEUES;
	eth.reta_size = 128;
	eth.args.rss_raw_ip = eth.args.rss_udp = true;
	eth.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP;
	for (i = 0; i < sizeof(eth.rss_key); i++)
		eth.rss_key[i] = (uint8_t)(0x80 + i);
	return 0;
}

static struct mlx4_flow_fate
fate(const struct rte_flow_action *actions)
{
	struct rte_flow_error e = {0};
	struct mlx4_flow_fate f;

	memset(&f, 0xff, sizeof(f));
	if (mlx4_flow_fate(&eth, actions, &f, &e) != 0)
		fail_msg("%s", e.message);
	return f;
}

static void
refused(const struct rte_flow_action *actions, int code, enum rte_flow_error_type type, const char *word)
{
	struct rte_flow_error e = {0};
	struct mlx4_flow_fate f;

	assert_int_equal(mlx4_flow_fate(&eth, actions, &f, &e), -code);
	assert_int_equal(rte_errno, code);
	if (e.type != type || e.message == NULL || strstr(e.message, word) == NULL)
		fail_msg("error of type %d, \"%s\"; wanted type %d with \"%s\"", (int)e.type, e.message, (int)type,
			 word);
}

#define NO_ACTION RTE_FLOW_ERROR_TYPE_ACTION
#define NO_CONF RTE_FLOW_ERROR_TYPE_ACTION_CONF
#define RSS(r) ACTIONS(ACTION(RSS, .conf = (r)))

static void
test_simple(void **state)
{
	const uint64_t fdir = RTE_MBUF_F_RX_FDIR, id = RTE_MBUF_F_RX_FDIR_ID;
	struct mlx4_flow_fate f = fate(ACTIONS(QUEUE(4)));

	assert_int_equal(f.n, 1);
	assert_int_equal(f.queue[0], 4);
	assert_false(f.mark || f.count || f.xor_hash);
	assert_int_equal(f.hash | f.ol_flags | f.mark_id, 0);
	f = fate(ACTIONS(ACTION(VOID), ACTION(DROP), ACTION(VOID)));
	assert_int_equal(f.n, 0);
	f = fate(ACTIONS(MARK(0xdeadbeef), QUEUE(0)));
	assert_true(f.mark && !f.count);
	assert_int_equal(f.mark_id, 0xdeadbeef);
	assert_int_equal(f.ol_flags, fdir | id);
	f = fate(ACTIONS(QUEUE(0), ACTION(FLAG)));
	assert_false(f.mark);
	assert_int_equal(f.ol_flags, fdir);
	f = fate(ACTIONS(QUEUE(0), ACTION(FLAG), MARK(3), ACTION(COUNT)));
	assert_true(f.mark && f.count);
	assert_int_equal(f.mark_id, 3);
	assert_int_equal(f.ol_flags, fdir | id);
}

static void
test_refused(void **state)
{
	const struct rte_flow_action_rss one = {.queue = queues, .queue_num = 1};

	refused(NULL, EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_NUM, "no actions");
	refused(ACTIONS(ACTION(VOID)), EINVAL, NO_ACTION, "no fate, want one of queue, rss, drop");
	refused(ACTIONS(MARK(3)), EINVAL, NO_ACTION, "no fate");
	refused(ACTIONS(QUEUE(0), ACTION(DROP)), EINVAL, NO_ACTION, "drop: a second fate");
	refused(ACTIONS(ACTION(DROP), QUEUE(0)), EINVAL, NO_ACTION, "queue: a second fate");
	refused(ACTIONS(QUEUE(0), ACTION(RSS, .conf = &one)), EINVAL, NO_ACTION, "rss: a second fate");
	refused(ACTIONS(ACTION(QUEUE)), EINVAL, NO_CONF, "queue: no configuration");
	refused(ACTIONS(ACTION(RSS)), EINVAL, NO_CONF, "rss: no configuration");
	refused(ACTIONS(ACTION(MARK), QUEUE(0)), EINVAL, NO_CONF, "mark: no configuration");
	refused(ACTIONS(QUEUE(5)), EINVAL, NO_CONF, "queue: queue 5, want 0..4");
	refused(ACTIONS(ACTION(DROP), ACTION(COUNT)), ENOTSUP, NO_ACTION, "drop: with count, want it alone");
	refused(ACTIONS(ACTION(DROP), MARK(1)), ENOTSUP, NO_ACTION, "drop: with mark or flag");
	refused(ACTIONS(ACTION(FLAG), ACTION(DROP)), ENOTSUP, NO_ACTION, "drop: with mark or flag");
	/* It ends with the first that is refused. */
	refused(ACTIONS(QUEUE(5), ACTION(PASSTHRU)), EINVAL, NO_CONF, "queue 5");
	refused(ACTIONS(ACTION(PASSTHRU), QUEUE(0)), ENOTSUP, NO_ACTION, "want queue, rss, drop, mark, flag, count");
	data.nb_rx_queues = 0;
	refused(ACTIONS(QUEUE(0)), EINVAL, NO_CONF, "queue: queue 0, the port has none yet");
}

static void
test_queues(void **state)
{
	static const uint16_t bad[] = {4, 5};
	struct rte_flow_action_rss rss = {.queue = queues, .queue_num = 4};
	struct mlx4_flow_fate f = fate(RSS(&rss));

	assert_int_equal(f.n, 4);
	assert_memory_equal(f.queue, queues, 4 * sizeof(queues[0]));
	assert_int_equal(f.queue[4], 0);
	rss.queue_num = 128;
	assert_int_equal(fate(RSS(&rss)).n, 128);
	rss.queue_num = 129;
	refused(RSS(&rss), EINVAL, NO_CONF, "rss: 129 queues, want 1..128");
	rss.queue_num = 0;
	refused(RSS(&rss), EINVAL, NO_CONF, "rss: 0 queues, want 1..128");
	rss = (struct rte_flow_action_rss){.queue_num = 2};
	refused(RSS(&rss), EINVAL, NO_CONF, "rss: 2 queues");
	rss.queue = bad;
	refused(RSS(&rss), EINVAL, NO_CONF, "rss: queue 5, want 0..4");
}

static void
test_key(void **state)
{
	uint8_t key[40];
	struct rte_flow_action_rss rss = {.queue = queues, .queue_num = 2, .key = key, .key_len = sizeof(key)};
	static const uint8_t none[40];
	struct mlx4_flow_fate f;

	memset(key, 0x3c, sizeof(key));
	f = fate(RSS(&rss));
	assert_memory_equal(f.key, key, sizeof(key));
	assert_false(f.xor_hash);
	rss.key_len = 0;
	assert_memory_equal(fate(RSS(&rss)).key, eth.rss_key, sizeof(key));
	rss.key_len = 39;
	refused(RSS(&rss), EINVAL, NO_CONF, "rss: a key of 39 bytes, want 40 or none");
	rss.key = NULL;
	assert_memory_equal(fate(RSS(&rss)).key, eth.rss_key, sizeof(key));
	/* XOR has no key. */
	rss = (struct rte_flow_action_rss){.queue = queues,
					   .queue_num = 2,
					   .key = key,
					   .key_len = sizeof(key),
					   .func = RTE_ETH_HASH_FUNCTION_SIMPLE_XOR};
	f = fate(RSS(&rss));
	assert_true(f.xor_hash);
	assert_memory_equal(f.key, none, sizeof(none));
	rss.func = RTE_ETH_HASH_FUNCTION_TOEPLITZ;
	assert_false(fate(RSS(&rss)).xor_hash);
	rss.func = RTE_ETH_HASH_FUNCTION_SYMMETRIC_TOEPLITZ;
	refused(RSS(&rss), ENOTSUP, NO_CONF, "rss: hash function 3, want default, toeplitz or simple_xor");
	hca.caps.rss_xor = false;
	rss.func = RTE_ETH_HASH_FUNCTION_SIMPLE_XOR;
	refused(RSS(&rss), ENOTSUP, NO_CONF, "rss: hash function 2, want default, toeplitz");
}

/* The card's bits [CP 5.7]: UDP and TCP over either IP, fragments and other protocols with the addresses alone. */
static void
test_types(void **state)
{
	static const struct {
		uint64_t types;
		uint8_t bits;
	} row[] = {
		{RTE_ETH_RSS_NONFRAG_IPV6_UDP, 0x01},
		{RTE_ETH_RSS_NONFRAG_IPV4_UDP, 0x02},
		{RTE_ETH_RSS_NONFRAG_IPV6_TCP, 0x04},
		{RTE_ETH_RSS_NONFRAG_IPV4_TCP, 0x10},
		{RTE_ETH_RSS_IPV6, 0x08},
		{RTE_ETH_RSS_FRAG_IPV6, 0x08},
		{RTE_ETH_RSS_NONFRAG_IPV6_OTHER, 0x08},
		{RTE_ETH_RSS_IPV4, 0x20},
		{RTE_ETH_RSS_FRAG_IPV4, 0x20},
		{RTE_ETH_RSS_NONFRAG_IPV4_OTHER, 0x20},
		{RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_LEVEL_INNERMOST, 0xa4},
		{RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_LEVEL_OUTERMOST, 0x20},
		{RTE_ETH_RSS_LEVEL_INNERMOST, 0x91}, /* the port's types */
		{0, 0x11},
		/* Addresses in extension headers, beside those of the header. */
		{RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_IPV6_EX, 0x08},
		{RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_IPV6_TCP_EX, 0x04},
		{RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_IPV6_UDP_EX, 0x01},
	};
	struct rte_flow_action_rss rss = {.queue = queues, .queue_num = 2};
	unsigned int i;

	for (i = 0; i < RTE_DIM(row); i++) {
		rss.types = row[i].types;
		assert_int_equal(fate(RSS(&rss)).hash, row[i].bits);
	}
	rss.types = RTE_ETH_RSS_IPV6_EX | RTE_ETH_RSS_NONFRAG_IPV6_TCP;
	refused(RSS(&rss), ENOTSUP, NO_CONF, "rss: types 0x8000, want some of 0x");
	rss.types = RTE_ETH_RSS_L2_PAYLOAD | RTE_ETH_RSS_IPV4;
	refused(RSS(&rss), ENOTSUP, NO_CONF, "rss: types 0x4000, want some of 0x");
	/* A port that hashes nothing: all that the card can. */
	eth.rss_hf = RTE_ETH_RSS_LEVEL_INNERMOST;
	rss.types = 0;
	assert_int_equal(fate(RSS(&rss)).hash, 0x80 | 0x3f);
	/* As the arguments of the device and the firmware have it. */
	eth.args.rss_raw_ip = false;
	eth.rss_hf = 0;
	assert_int_equal(fate(RSS(&rss)).hash, 0x17);
	rss.types = RTE_ETH_RSS_IPV4;
	refused(RSS(&rss), ENOTSUP, NO_CONF, "rss: types 0x4, want some of 0x");
	rss.types = 0;
	hca.caps.udp_rss = false;
	assert_int_equal(fate(RSS(&rss)).hash, 0x14);
	hca.caps.udp_rss = true;
	eth.args.rss_udp = false;
	assert_int_equal(fate(RSS(&rss)).hash, 0x14);
}

/* Which headers: said by the level, by the types, by both, or by the port. */
static void
test_level(void **state)
{
	struct rte_flow_action_rss rss = {.queue = queues, .queue_num = 2, .types = RTE_ETH_RSS_IPV4};

	eth.rss_hf |= RTE_ETH_RSS_LEVEL_INNERMOST;
	assert_int_equal(fate(RSS(&rss)).hash, 0xa0);
	rss.level = 1;
	assert_int_equal(fate(RSS(&rss)).hash, 0x20);
	rss.level = 2;
	assert_int_equal(fate(RSS(&rss)).hash, 0xa0);
	rss.types |= RTE_ETH_RSS_LEVEL_INNERMOST;
	assert_int_equal(fate(RSS(&rss)).hash, 0xa0);
	rss.level = 1;
	refused(RSS(&rss), EINVAL, NO_CONF, "rss: level 1 with types of level 2, want the same");
	rss.level = 3;
	refused(RSS(&rss), ENOTSUP, NO_CONF, "rss: level 3, want 0..2: the card hashes outer headers or those");
	hca.caps.vxlan = false;
	rss.level = 0;
	refused(RSS(&rss), ENOTSUP, NO_CONF, "rss: level 2 (types), want 0..1: this card hashes outer headers");
}

/* The words of what DPDK has a name for, or not. */
static void
test_names(void **state)
{
	char name[MLX4_FLOW_NAME], want[MLX4_FLOW_NAME];

	snprintf(want, sizeof(want), "item eth (type %d)", RTE_FLOW_ITEM_TYPE_ETH);
	assert_string_equal(mlx4_flow_item_name(RTE_FLOW_ITEM_TYPE_ETH, name), want);
	snprintf(want, sizeof(want), "action of_push_vlan (type %d)", RTE_FLOW_ACTION_TYPE_OF_PUSH_VLAN);
	assert_string_equal(mlx4_flow_action_name(RTE_FLOW_ACTION_TYPE_OF_PUSH_VLAN, name), want);
	assert_string_equal(mlx4_flow_item_name(-5, name), "item type -5");
	assert_string_equal(mlx4_flow_action_name(12345, name), "action type 12345");
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		T(test_simple), T(test_refused), T(test_queues), T(test_key),
		T(test_types),  T(test_level),   T(test_names),
	};

	if (rig_eal("mlx4ffate", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
