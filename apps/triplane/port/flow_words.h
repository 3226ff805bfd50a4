/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A rule of rte_flow from testpmd's words: "priority 1 ingress pattern eth / udp dst is 53 / end actions drop / end". */
#ifndef TRIPLANE_PORT_FLOW_WORDS_H
#define TRIPLANE_PORT_FLOW_WORDS_H

#include <rte_flow.h>

#define FLOW_MAX_ITEMS 16
#define FLOW_MAX_QUEUES 128
#define FLOW_ERR_LEN 160

union flow_item_space {
	struct rte_flow_item_eth eth;
	struct rte_flow_item_vlan vlan;
	struct rte_flow_item_ipv4 ipv4;
	struct rte_flow_item_ipv6 ipv6;
	struct rte_flow_item_tcp tcp;
	struct rte_flow_item_udp udp;
	struct rte_flow_item_vxlan vxlan;
	uint8_t octets[64];
};

/* The parts point into it, so it is not copied. */
struct flow_rule {
	struct rte_flow_attr attr;
	struct rte_flow_item item[FLOW_MAX_ITEMS];
	union flow_item_space spec[FLOW_MAX_ITEMS], mask[FLOW_MAX_ITEMS], last[FLOW_MAX_ITEMS];
	struct rte_flow_action action[FLOW_MAX_ITEMS];
	struct rte_flow_action_queue queue;
	struct rte_flow_action_mark mark;
	struct rte_flow_action_rss rss;
	uint16_t rss_queue[FLOW_MAX_QUEUES];
};

/* 0, or -EINVAL with a line in err that names the word and what was wanted. */
int flow_words(const char *text, struct flow_rule *r, char err[FLOW_ERR_LEN]);

#endif /* TRIPLANE_PORT_FLOW_WORDS_H */
