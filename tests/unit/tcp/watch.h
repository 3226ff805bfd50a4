/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#ifndef TCP_WATCH_H
#define TCP_WATCH_H

struct rig_side;

/* What the connection of rig_connect has out, or waits with, has a timer that ends in time; behind tcp_run. */
void watch_timer(struct rig_side *a);

#endif /* TCP_WATCH_H */
