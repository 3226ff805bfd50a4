/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Interfaces of the kernel beside ports (tp_kernel.h). A port that has one has a transmit queue more, behind those of the user
 * and of RoCE. The interface is there from 'kernel on' to 'kernel off', so that it keeps its addresses while the port stops and
 * starts; packets go both ways while forwarding runs. What queues receive is shown to RoCE, then to the interface; the rest is
 * forwarded. Queues of groups are their groups' alone.
 */
#ifndef TRIPLANE_PORT_KERNEL_H
#define TRIPLANE_PORT_KERNEL_H

#include <tp_kernel.h>

#include "apps/triplane/app/app.h"

struct kernel_port {
	struct app *app;
	uint16_t id;
	struct tp_kernel *k;
	char name[TP_KERNEL_NAME];   /* as it was made */
	bool all;                    /* somebody listens to all frames */
	uint64_t tx_offloads;        /* of its transmit queue */
	bool passes[APP_MAX_QUEUES]; /* queues of groups */
	const struct rte_eth_rxtx_callback *hook[APP_MAX_QUEUES];
};

/* Transmit queues beside the user's and RoCE's. */
static inline uint16_t
kernel_txq(const struct app_port *p)
{
	return p->kernel != NULL;
}
/* What its transmit queue is set up with, of what the device can do for a queue. */
struct rte_eth_txconf kernel_txconf(const struct app_port *p);
/* Makes the interface, in place of the one that there is. 0 or a negative errno with a line in err. The port is to be configured anew. */
int kernel_make(struct app *app, struct app_port *p, const char *name, char *err, size_t len);
void kernel_unmake(struct app_port *p);
/* While forwarding starts, and when it has ended. */
/* shares: whether the user's packets of a port have multicast and broadcast, too. */
int kernel_hook_all(struct app *app, bool (*shares)(const struct app_port *p));
void kernel_unhook_all(struct app *app);
/* After a change of the port's groups. */
void kernel_groups(struct app_port *p);

#endif /* TRIPLANE_PORT_KERNEL_H */
