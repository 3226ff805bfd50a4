/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Patterns and actions of rules of rte_flow in one line, and a rule that is expected to be taken or refused. */
#ifndef MLX4_FLOW_RIG_H
#define MLX4_FLOW_RIG_H

#include <rte_flow.h>

#include "rig.h"

#define ITEM(t, ...)                                                                                                   \
	{                                                                                                              \
		.type = RTE_FLOW_ITEM_TYPE_##t, __VA_ARGS__                                                            \
	}
#define ACTION(t, ...)                                                                                                 \
	{                                                                                                              \
		.type = RTE_FLOW_ACTION_TYPE_##t, __VA_ARGS__                                                          \
	}
#define PATTERN(...) ((const struct rte_flow_item[]){__VA_ARGS__, {.type = RTE_FLOW_ITEM_TYPE_END}})
#define ACTIONS(...) ((const struct rte_flow_action[]){__VA_ARGS__, {.type = RTE_FLOW_ACTION_TYPE_END}})

#define QUEUE(i) ACTION(QUEUE, .conf = &(const struct rte_flow_action_queue){.index = (i)})
#define MARK(i) ACTION(MARK, .conf = &(const struct rte_flow_action_mark){.id = (i)})
#define UDP_DST(p)                                                                                                     \
	ITEM(UDP, .spec = &(const struct rte_flow_item_udp){.hdr.dst_port = RTE_BE16(p)},                              \
	     .mask = &(const struct rte_flow_item_udp){.hdr.dst_port = RTE_BE16(0xffff)})
/* UDP over IPv4 to a port. */
#define TO_PORT(p) PATTERN(ITEM(ETH), ITEM(IPV4), UDP_DST(p))

/* On port 1, with assertions. */
struct rte_flow *flow_add(uint32_t prio, const struct rte_flow_item *items, const struct rte_flow_action *actions);
void flow_remove(struct rte_flow *f);
/* The rule is refused, by validate and by create, with the kind of error and a message with the word. */
void flow_refused(const struct rte_flow_attr *attr, const struct rte_flow_item *items,
		  const struct rte_flow_action *actions, enum rte_flow_error_type type, const char *word);

/* Sends a frame from port 0 and says at which queue of port 1 it arrived: -1: at none. *got: the frame, or NULL for none. */
int flow_queue_of(struct rte_mbuf *m, uint16_t queues, struct rte_mbuf **got);
/* The same for a UDP datagram over IPv4 to that port; its mbuf is freed. */
int flow_queue_of_port(uint16_t dport, uint16_t queues);

/*
 * A table of four rings for a port with three queues, two rings of one queue. The driver's own has sixteen of equal shares, whose
 * commands are all the same.
 */
int rig_short_table(uint16_t port);

#endif /* MLX4_FLOW_RIG_H */
