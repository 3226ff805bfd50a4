/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the ethdev says of itself while the port is open, as asynchronous events of verbs (11.6.3.2). */
#include <errno.h>

#include "sw.h"

static const enum rte_eth_event_type heard[] = {RTE_ETH_EVENT_INTR_LSC, RTE_ETH_EVENT_INTR_RESET,
						RTE_ETH_EVENT_INTR_RMV};

/* On a thread of EAL, or of the driver. */
static int
hear(uint16_t port, enum rte_eth_event_type event, void *arg, void *ret)
{
	struct troce_dev *dev = arg;
	struct rsw_dev *d = dev->home;
	struct rte_eth_link link;

	if (event != RTE_ETH_EVENT_INTR_LSC) {
		atomic_store(&d->gone, true);
		troce_async_event(dev, IBV_EVENT_DEVICE_FATAL, NULL);
	} else if (rte_eth_link_get_nowait(port, &link) == 0) {
		troce_async_event(dev, link.link_status == RTE_ETH_LINK_UP ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR,
				  NULL);
	}
	return 0;
}

/* The first n of what is heard: not any more. */
static void
unhear(struct rsw_dev *d, unsigned int n)
{
	while (n-- > 0) {
		/* one that is being told about is waited for */
		while (rte_eth_dev_callback_unregister(d->port, heard[n], hear, d->dev) == -EAGAIN)
			rte_delay_us_sleep(100);
	}
}

int
rsw_link_open(struct rsw_dev *d)
{
	for (unsigned int i = 0; i < RTE_DIM(heard); i++) {
		int rc = rte_eth_dev_callback_register(d->port, heard[i], hear, d->dev);

		if (rc != 0) {
			unhear(d, i);
			return -rc;
		}
	}
	return 0;
}

void
rsw_link_close(struct rsw_dev *d)
{
	unhear(d, RTE_DIM(heard));
}
