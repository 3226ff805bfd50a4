/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A group of queues handed to a guest: the group's queues and a vhost-user port (DPDK's net_vhost) are joined queue by
 * queue. What the card receives for the group goes to the guest, what the guest sends leaves by the transmit queues of
 * the group, with its priority, rate and anti-spoof.
 */
#ifndef TRIPLANE_FWD_GUEST_H
#define TRIPLANE_FWD_GUEST_H

#include "apps/triplane/app/app.h"

/* All with forwarding stopped; 0 or a negative errno after having said why. */
int guest_link(struct app *app, uint16_t port, const char *group, const char *socket);
int guest_unlink(struct app *app, uint16_t port, const char *group);
/* Where queue q of a port forwards to when a guest is at one of its ends; false: as the mode says. */
bool guest_route(const struct app *app, uint16_t port, uint16_t q, uint16_t *tx_port, uint16_t *tx_queue);
/* Before ports are closed. */
void guest_unlink_all(struct app *app);

#endif /* TRIPLANE_FWD_GUEST_H */
