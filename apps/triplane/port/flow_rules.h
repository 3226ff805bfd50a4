/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Rules of rte_flow that were made here. A port's rules have numbers, from 0 up, that are not given twice. */
#ifndef TRIPLANE_PORT_FLOW_RULES_H
#define TRIPLANE_PORT_FLOW_RULES_H

#include <stdint.h>

struct app_port;
struct rte_flow;

struct app_flow {
	struct app_flow *next;
	uint32_t id;
	struct rte_flow *flow;
	char text[];
};

/* Room for a rule in these words; NULL: no memory. */
struct app_flow *flow_room(const char *text);
/* Numbers the rule and puts it behind the others. */
void flow_add(struct app_port *p, struct app_flow *f);
/* Where the rule of that number hangs; what is there is NULL when there is none. */
struct app_flow **flow_find(struct app_port *p, uint64_t id);
/* The port's rules are gone. */
void flows_forget(struct app_port *p);

#endif /* TRIPLANE_PORT_FLOW_RULES_H */
