/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ports whose frames come to a net, from the first socket on, and a while longer than the last. */
#include <stdlib.h>

#include "sock_priv.h"

int
sock_port_get(struct sock_net *n, rte_be16_t port)
{
	uint32_t *refs = &n->port_refs[rte_be_to_cpu_16(port)];
	int rc = *refs == 0 ? n->ops.steer(n->home, port, true) : 0;

	*refs += rc == 0;
	return rc;
}

void
sock_port_drop(struct sock_net *n, rte_be16_t port)
{
	if (--n->port_refs[rte_be_to_cpu_16(port)] == 0)
		(void)n->ops.steer(n->home, port, false);
}

void
sock_port_put(struct sock_net *n, rte_be16_t port)
{
	struct sock_port_end *e = malloc(sizeof(*e));

	if (e == NULL) {
		sock_port_drop(n, port);
		return;
	}
	*e = (struct sock_port_end){.at = n->now + SOCK_PORT_US, .port = port};
	STAILQ_INSERT_TAIL(&n->port_ends, e, next);
	if (n->sleeping && e->at < n->until)
		sock_wake(n);
}

void
sock_ports_end(struct sock_net *n)
{
	struct sock_port_end *e;

	while ((e = STAILQ_FIRST(&n->port_ends)) != NULL && e->at <= n->now) {
		STAILQ_REMOVE_HEAD(&n->port_ends, next);
		sock_port_drop(n, e->port);
		free(e);
	}
}
