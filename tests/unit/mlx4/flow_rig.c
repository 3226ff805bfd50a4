/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include "flow_rig.h"

struct rte_flow *
flow_add(uint32_t prio, const struct rte_flow_item *items, const struct rte_flow_action *actions)
{
	const struct rte_flow_attr attr = {.ingress = 1, .priority = prio};
	struct rte_flow_error e = {0};
	struct rte_flow *f;

	if (rte_flow_validate(1, &attr, items, actions, &e) != 0)
		fail_msg("validate: %s", e.message);
	f = rte_flow_create(1, &attr, items, actions, &e);
	if (f == NULL)
		fail_msg("create: %s", e.message);
	return f;
}

void
flow_remove(struct rte_flow *f)
{
	struct rte_flow_error e;

	assert_int_equal(rte_flow_destroy(1, f, &e), 0);
}

static void
check_error(const struct rte_flow_error *e, enum rte_flow_error_type type, const char *word)
{
	if (e->message == NULL || strstr(e->message, word) == NULL || e->type != type)
		fail_msg("error of type %d, \"%s\"; wanted type %d with \"%s\"", (int)e->type,
			 e->message == NULL ? "" : e->message, (int)type, word);
}

void
flow_refused(const struct rte_flow_attr *attr, const struct rte_flow_item *items, const struct rte_flow_action *actions,
	     enum rte_flow_error_type type, const char *word)
{
	struct rte_flow_error e = {0};

	assert_int_not_equal(rte_flow_validate(1, attr, items, actions, &e), 0);
	check_error(&e, type, word);
	memset(&e, 0, sizeof(e));
	assert_null(rte_flow_create(1, attr, items, actions, &e));
	check_error(&e, type, word);
}

int
flow_queue_of(struct rte_mbuf *m, uint16_t queues, struct rte_mbuf **got)
{
	struct rte_mbuf *rx[2];
	int found = -1;
	uint16_t q, n;

	*got = NULL;
	rig_send(0, m);
	for (q = 0; q < queues; q++) {
		n = rte_eth_rx_burst(1, q, rx, 2);
		if (n == 0)
			continue;
		/* One frame, once. */
		assert_int_equal(n, 1);
		assert_int_equal(found, -1);
		found = q;
		*got = rx[0];
	}
	return found;
}

int
flow_queue_of_port(uint16_t dport, uint16_t queues)
{
	struct rte_mbuf *got;
	int q = flow_queue_of(rig_ipv4(IPPROTO_UDP, 0x0a000001, 0x0a000002, 1000, dport), queues, &got);

	rte_pktmbuf_free(got);
	return q;
}

int
rig_short_table(uint16_t port)
{
	struct rte_eth_rss_reta_entry64 reta[RTE_ETH_RSS_RETA_SIZE_128 / RTE_ETH_RETA_GROUP_SIZE];
	unsigned int g, i;

	for (g = 0; g < RTE_DIM(reta); g++) {
		reta[g].mask = UINT64_MAX;
		for (i = 0; i < RTE_ETH_RETA_GROUP_SIZE; i++)
			reta[g].reta[i] = i % 4 == 3 ? 1 : i % 4;
	}
	return rte_eth_dev_rss_reta_update(port, reta, RTE_ETH_RSS_RETA_SIZE_128);
}
