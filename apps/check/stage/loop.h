/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The parts of stage 6. Each sends to the port's own address and judges what comes back. */
#ifndef CHECK_LOOP_H
#define CHECK_LOOP_H

#include <rte_flow.h>

#include "port.h"

/* loop.c: false: nothing comes back at all, and nothing else is worth a try. */
bool loop_first(struct port *p);
void loop_sizes(struct port *p, const char *name);
void loop_segments(struct port *p);
void loop_filter(struct port *p);
void loop_rules(struct port *p);
/* A rule of the port's own address, or of any, over IPv4 or any IP. */
struct loop_match {
	bool any_address, any_ip;
	uint8_t proto; /* FRAME_TCP, else UDP */
	uint16_t dport;
	uint32_t priority;
};
/* queue -1: drops. NULL and a reason. */
struct rte_flow *loop_rule(struct port *p, const struct loop_match *m, int queue, char why[CK_TEXT]);
/* offload.c */
void loop_tx_sums(struct port *p);
void loop_rx_sums(struct port *p);
void loop_large_sends(struct port *p);
void loop_tags(struct port *p);
void loop_tags_off(struct port *p);
void loop_rss(struct port *p);
/* Microsoft's key. */
extern const uint8_t *const loop_rss_key;
extern const unsigned int loop_rss_key_len;

#endif /* CHECK_LOOP_H */
