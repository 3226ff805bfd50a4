/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which rules share rings, where a rule stands among others on the card, and what of attributes and queries is refused. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include <rte_errno.h>

#include "card_trace.h"
#include "flow_rig.h"

#define QUEUES 4u

static int
setup(void **state)
{
	rig_open_pair("", QUEUES, NULL);
	return 0;
}

static const uint16_t up[] = {0, 1}, down[] = {1, 0}, three[] = {0, 1, 2};
static const uint8_t key[40] = {[39] = 1};

#define TYPES RTE_ETH_RSS_NONFRAG_IPV4_TCP
#define RSS(q, n, t, ...)                                                                                              \
	ACTION(RSS,                                                                                                    \
	       .conf = &(const struct rte_flow_action_rss){.queue = (q), .queue_num = (n), .types = (t), __VA_ARGS__})
#define XOR .func = RTE_ETH_HASH_FUNCTION_SIMPLE_XOR

/* Rings are shared by rules whose frames have the same fate, in each detail; what is counted is not shared. */
static void
test_sharing(void **state)
{
	const struct {
		const struct rte_flow_action *first, *second;
		bool shared;
	} row[] = {
		{ACTIONS(QUEUE(1)), ACTIONS(QUEUE(1)), true},
		{ACTIONS(QUEUE(1)), ACTIONS(QUEUE(2)), false},
		{ACTIONS(QUEUE(1)), ACTIONS(MARK(0), QUEUE(1)), false},
		{ACTIONS(MARK(1), QUEUE(1)), ACTIONS(QUEUE(1), MARK(1)), true},
		{ACTIONS(MARK(1), QUEUE(1)), ACTIONS(MARK(2), QUEUE(1)), false},
		{ACTIONS(QUEUE(1)), ACTIONS(ACTION(FLAG), QUEUE(1)), false},
		{ACTIONS(ACTION(COUNT), QUEUE(1)), ACTIONS(ACTION(COUNT), QUEUE(1)), false},
		{ACTIONS(ACTION(COUNT), QUEUE(1)), ACTIONS(QUEUE(1)), false},
		{ACTIONS(QUEUE(1)), ACTIONS(ACTION(COUNT), QUEUE(1)), false},
		{ACTIONS(RSS(up, 2, TYPES)), ACTIONS(RSS(up, 2, TYPES)), true},
		{ACTIONS(RSS(up, 2, TYPES)), ACTIONS(RSS(up, 2, RTE_ETH_RSS_NONFRAG_IPV6_TCP)), false},
		{ACTIONS(RSS(up, 2, TYPES)), ACTIONS(RSS(up, 2, TYPES, .key = key, .key_len = 40)), false},
		{ACTIONS(RSS(up, 2, TYPES)), ACTIONS(RSS(down, 2, TYPES)), false},
		{ACTIONS(RSS(up, 2, TYPES)), ACTIONS(RSS(three, 3, TYPES)), false},
		{ACTIONS(RSS(up, 2, TYPES)), ACTIONS(RSS(up, 2, TYPES, XOR)), false},
	};
	struct rte_flow *f, *g;
	struct card_trace t;
	unsigned int i;

	for (i = 0; i < RTE_DIM(row); i++) {
		print_message("pair %u\n", i);
		f = flow_add(0, TO_PORT(1), row[i].first);
		card_trace_begin(&t, rig_model(1));
		g = flow_add(0, TO_PORT(2), row[i].second);
		card_trace_end(&t);
		assert_int_equal(card_trace_count(&t, "RST2INIT_QP") == 0, row[i].shared);
		card_trace_free(&t);
		/* The first one that goes takes nothing from the other. */
		card_trace_begin(&t, rig_model(1));
		flow_remove(f);
		card_trace_end(&t);
		assert_int_equal(card_trace_count(&t, "2RST_QP") == 0, row[i].shared);
		card_trace_free(&t);
		assert_in_range(flow_queue_of_port(2, QUEUES), 0, 2);
		flow_remove(g);
	}
}

static void
at_place(const char *word, int (*change)(void))
{
	struct card_trace t;

	card_trace_begin(&t, rig_model(1));
	assert_int_equal(change(), 0);
	card_trace_end(&t);
	/* Ethernet, IPv4 and UDP behind the control block. */
	if (strstr(card_trace_box(&t, "QP_FLOW_STEERING_ATTACH", "0x1c"), word) == NULL)
		fail_msg("wanted a rule at %s in\n%s", word, t.box);
	card_trace_free(&t);
}

static struct rte_flow *rule;

static int
make(void)
{
	rule = flow_add(2047, TO_PORT(7), ACTIONS(QUEUE(2)));
	return 0;
}

static int
make_first(void)
{
	rule = flow_add(0, TO_PORT(7), ACTIONS(QUEUE(2)));
	return 0;
}

static int
queue_stop(void)
{
	return rte_eth_dev_rx_queue_stop(1, 2);
}

static int
queue_start(void)
{
	return rte_eth_dev_rx_queue_start(1, 2);
}

static int
port_restart(void)
{
	return rte_eth_dev_stop(1) != 0 ? -EIO : rte_eth_dev_start(1);
}

/* A priority has two places of 4096 behind 0x2000, in turn for the rule and its successor. */
static void
test_places(void **state)
{
	at_place("000: 20000008 ", make_first);
	flow_remove(rule);
	at_place("000: 2ffe0008 ", make);
	at_place("000: 2fff0008 ", queue_stop);
	at_place("000: 2ffe0008 ", queue_start);
	at_place("000: 2ffe0008 ", port_restart);
	assert_int_equal(flow_queue_of_port(7, QUEUES), 2);
	flow_remove(rule);
}

/* When the card refuses a rule on its way to other rings, all of the target stay where they are, however often they moved before. */
static void
test_refused_moves(void **state)
{
	struct rte_flow *f[2];
	unsigned int nth, i;

	for (i = 0; i < 2; i++)
		f[i] = flow_add(0, TO_PORT(i + 1), ACTIONS(QUEUE(2)));
	for (nth = 1; nth <= 2; nth++) {
		assert_int_equal(queue_stop(), 0);
		assert_int_equal(queue_start(), 0);
		assert_int_equal(tp_model_fault(rig_model(1), TP_FAULT_STATUS, MLX4_CMD_QP_FLOW_STEERING_ATTACH, nth,
						MLX4_STAT_BAD_PARAM),
				 0);
		assert_int_not_equal(queue_stop(), 0);
		for (i = 0; i < 2; i++)
			assert_int_equal(flow_queue_of_port((uint16_t)(i + 1), QUEUES), 2);
	}
	for (i = 0; i < 2; i++)
		flow_remove(f[i]);
	assert_in_range(flow_queue_of_port(1, QUEUES), 0, 3);
}

/* Rings of a rule that goes stay until what waits in them was received, whatever rules come and go meanwhile. */
static void
test_waiting_frames(void **state)
{
	struct rte_flow *f = flow_add(0, TO_PORT(1), ACTIONS(QUEUE(2)));
	unsigned int i;

	for (i = 0; i < 5; i++)
		rig_send(0, rig_ipv4(IPPROTO_UDP, 0x0a000001, 0x0a000002, 1000, 1));
	flow_remove(f);
	for (i = 0; i < 3; i++)
		flow_remove(flow_add(0, TO_PORT(2), ACTIONS(QUEUE(3))));
	assert_int_equal(rig_drain(1, 2), 5);
	assert_int_equal(rig_xstat(1, "rx_stop_drops"), 0);
	flow_remove(flow_add(0, TO_PORT(2), ACTIONS(QUEUE(3))));
	rig_send(0, rig_ipv4(IPPROTO_UDP, 0x0a000001, 0x0a000002, 1000, 1));
	assert_int_equal(rig_drain(1, 2), 0);
	assert_int_equal(rig_drain(1, 0) + rig_drain(1, 1) + rig_drain(1, 3), 1);
}

static void
test_attributes(void **state)
{
	const struct {
		struct rte_flow_attr attr;
		enum rte_flow_error_type type;
		int code;
		const char *word;
	} row[] = {
		{{.ingress = 1, .group = 1}, RTE_FLOW_ERROR_TYPE_ATTR_GROUP, ENOTSUP, "group 1, want 0"},
		{{.ingress = 1, .priority = 2048},
		 RTE_FLOW_ERROR_TYPE_ATTR_PRIORITY,
		 ENOTSUP,
		 "priority 2048, want 0..2047"},
		{{.ingress = 1, .egress = 1}, RTE_FLOW_ERROR_TYPE_ATTR_EGRESS, ENOTSUP, "egress, want ingress"},
		{{.transfer = 1}, RTE_FLOW_ERROR_TYPE_ATTR_TRANSFER, ENOTSUP, "there is no switch"},
		{{.priority = 1}, RTE_FLOW_ERROR_TYPE_ATTR_INGRESS, EINVAL, "no direction, want ingress"},
	};
	struct rte_flow_error e = {0};
	unsigned int i;

	for (i = 0; i < RTE_DIM(row); i++) {
		flow_refused(&row[i].attr, TO_PORT(1), ACTIONS(QUEUE(0)), row[i].type, row[i].word);
		assert_int_equal(rte_errno, row[i].code);
		assert_int_equal(rte_flow_validate(1, &row[i].attr, TO_PORT(1), ACTIONS(QUEUE(0)), &e), -row[i].code);
	}
	flow_refused(NULL, TO_PORT(1), ACTIONS(QUEUE(0)), RTE_FLOW_ERROR_TYPE_ATTR, "no attributes");
	/* The same pattern again, at its priority or at another one. */
	rule = flow_add(2, TO_PORT(1), ACTIONS(QUEUE(0)));
	flow_refused(&(const struct rte_flow_attr){.ingress = 1, .priority = 2}, TO_PORT(1), ACTIONS(ACTION(DROP)),
		     RTE_FLOW_ERROR_TYPE_ITEM, "a rule of priority 2 has this pattern");
	assert_int_equal(rte_errno, EEXIST);
	flow_remove(flow_add(3, TO_PORT(1), ACTIONS(QUEUE(0))));
	flow_remove(flow_add(2, TO_PORT(2), ACTIONS(QUEUE(0))));
	flow_remove(rule);
}

static void
test_queries(void **state)
{
	const struct rte_flow_action count = {.type = RTE_FLOW_ACTION_TYPE_COUNT}, none = {.type = 30000};
	struct rte_flow *f = flow_add(0, TO_PORT(1), ACTIONS(ACTION(COUNT), QUEUE(1)));
	struct rte_flow *plain = flow_add(0, TO_PORT(2), ACTIONS(QUEUE(1)));
	struct rte_flow_query_count q = {0};
	struct rte_flow_error e = {0};

	assert_int_equal(rte_flow_query(1, f, NULL, &q, &e), -EINVAL);
	assert_non_null(strstr(e.message, "a query of no action"));
	assert_int_equal(rte_flow_query(1, f, &count, NULL, &e), -EINVAL);
	assert_non_null(strstr(e.message, "a query of no data"));
	assert_int_equal(rte_flow_query(1, f, &none, &q, &e), -ENOTSUP);
	assert_non_null(strstr(e.message, "a query of action type 30000, want count"));
	assert_int_equal(rte_flow_query(1, plain, &count, &q, &e), -EINVAL);
	assert_int_equal(e.type, RTE_FLOW_ERROR_TYPE_ACTION);
	/* A reset moves the begin of both numbers. */
	assert_int_equal(flow_queue_of_port(1, QUEUES), 1);
	q.reset = 1;
	assert_int_equal(rte_flow_query(1, f, &count, &q, &e), 0);
	assert_int_equal(q.hits, 1);
	assert_int_equal(q.bytes, 80);
	assert_int_equal(flow_queue_of_port(1, QUEUES), 1);
	assert_int_equal(flow_queue_of_port(1, QUEUES), 1);
	assert_int_equal(rte_flow_query(1, f, &count, &q, &e), 0);
	assert_int_equal(q.hits, 2);
	assert_int_equal(q.bytes, 160);
	assert_int_equal(rte_flow_flush(1, &e), 0);
	assert_int_equal(rte_flow_destroy(1, f, &e), -ENOENT);
	assert_non_null(strstr(e.message, "not a rule of port 1"));
}

/* Frames that a rule's rings have when the rule goes are counted no more, and received. */
static void
test_goes_with_frames(void **state)
{
	struct rte_flow *f = flow_add(0, TO_PORT(1), ACTIONS(ACTION(COUNT), MARK(9), QUEUE(1)));
	struct rte_mbuf *m;
	unsigned int i;

	for (i = 0; i < 3; i++)
		rig_send(0, rig_ipv4(IPPROTO_UDP, 1, 2, 3, 1));
	assert_int_equal(rte_eth_dev_rx_queue_stop(1, 2), 0);
	flow_remove(f);
	for (i = 0; i < 3; i++) {
		assert_int_equal(rte_eth_rx_burst(1, 1, &m, 1), 1);
		assert_int_equal(m->hash.fdir.hi, 9);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(rte_eth_dev_rx_queue_start(1, 2), 0);
}

/* Rings of rules come out of the pool of the queue: where too little is left, the rule is refused and says why. */
static void
test_pool(void **state)
{
	struct rte_mempool *mp =
		rte_pktmbuf_pool_create("flow", RIG_DESC + 255, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	const struct rte_flow_attr attr = {.ingress = 1};
	struct rte_flow_error e = {0};

	assert_non_null(mp);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rig_configure(1, 1, 1, NULL, mp), 0);
	assert_int_equal(rte_eth_dev_start(1), 0);
	/* 255 are left: rings of 128, twice, would be 256. */
	assert_int_equal(rte_mempool_avail_count(mp), 255);
	rig_log_begin();
	assert_null(rte_flow_create(1, &attr, TO_PORT(1), ACTIONS(QUEUE(0)), &e));
	rig_log_one("port 1 Rx queue 0: pool flow has 255 free mbufs", "wants 256");
	assert_non_null(strstr(e.message, "the rule cannot be put on the card"));
	assert_int_equal(rte_errno, ENOMEM);
	assert_int_equal(rte_mempool_avail_count(mp), 255);
	assert_int_equal(rte_eth_dev_stop(1), 0);
	assert_int_equal(rig_configure(1, 1, 1, NULL, rig_pool()), 0);
	assert_int_equal(rte_mempool_in_use_count(mp), 0);
	rte_mempool_free(mp);
}

/* One ring is a queue's own way: another key is nothing to it, and of several each entry is looked at. */
static void
test_change_of_key(void **state)
{
	struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS, .rx_adv_conf.rss_conf.rss_hf = TYPES};
	struct rte_eth_rss_conf other = {.rss_key = (uint8_t *)(uintptr_t)key, .rss_key_len = 40, .rss_hf = TYPES};
	struct rte_eth_rss_reta_entry64 reta[2] = {{.mask = UINT64_MAX}, {.mask = UINT64_MAX}};
	uint16_t queues, i;

	for (queues = 1; queues <= 2; queues++) {
		struct card_trace t;

		assert_int_equal(rte_eth_dev_stop(1), 0);
		rig_start(1, queues, &conf);
		/* A table of before, of more queues, is none any more. */
		assert_int_equal(rte_eth_dev_rss_reta_query(1, reta, 128), 0);
		for (i = 0; i < 128; i++)
			assert_int_equal(reta[i / 64].reta[i % 64], i % queues);
		card_trace_begin(&t, rig_model(1));
		assert_int_equal(rte_eth_dev_rss_hash_update(1, &other), 0);
		card_trace_end(&t);
		assert_int_equal(card_trace_count(&t, "RST2INIT_QP"), queues == 1 ? 0 : 3);
		card_trace_free(&t);
		card_trace_begin(&t, rig_model(1));
		assert_int_equal(rte_eth_dev_rss_hash_update(1, &other), 0);
		card_trace_end(&t);
		assert_int_equal(card_trace_count(&t, "RST2INIT_QP"), 0);
		card_trace_free(&t);
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(test_sharing), T(test_places),        T(test_attributes),
		T(test_queries), T(test_refused_moves), T(test_goes_with_frames),
		T(test_pool),    T(test_change_of_key), T(test_waiting_frames),
	};

	if (rig_eal("mlx4frings", "0") < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
