/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The parts of stage 6. Each sends to the port's own address and judges what comes back. */
#ifndef CHECK_LOOP_H
#define CHECK_LOOP_H

#include "port.h"

/* loop.c: false: nothing comes back at all, and nothing else is worth a try. */
bool loop_first(struct port *p);
void loop_sizes(struct port *p, const char *name);
void loop_segments(struct port *p);
void loop_filter(struct port *p);
void loop_rules(struct port *p);
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
