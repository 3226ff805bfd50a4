/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Groups of receive queues: found by name, and settled after a change. */
#include "group.h"

#include <string.h>

#include <rte_ethdev.h>

#include "port.h"

int
group_find(uint16_t port, const char *name, struct tp_group *g)
{
	unsigned int i;
	int ret;

	for (i = 0; (ret = rte_pmd_mlx4_group_get(port, i, g)) == 0; i++)
		if (strcmp(g->name, name) == 0)
			return 0;
	return ret;
}

void
group_settle(struct app *app, uint16_t port)
{
	const struct app_port *p = &app->port[port];
	struct rte_mbuf *none[1];
	uint16_t q;

	/* rss-queues counts what groups leave. */
	if (p->started && p->rss_queues != 0 && port_spread(app, p) != 0)
		app_err_line("port %u: rss-queues %u: the redirection table stays as it was", port, p->rss_queues);
	/* The tick of an agent polls the port, too. */
	if (!p->started || app->fwd_runs || p->dcbx != NULL)
		return;
	for (q = 0; q < p->rxq; q++)
		(void)rte_eth_rx_burst(port, q, none, 0);
}
