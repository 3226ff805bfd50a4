/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ports whose frames come to a net, from the first socket on, and a while longer than the last; and ports that others get. */
#include <stdlib.h>

#include "sock_priv.h"

/* Beside the number of uses of a port: */
#define OTHERS (UINT32_C(1) << 31) /* what comes there is another process's, but for connections of ours */
#define GONE (UINT32_C(1) << 30)   /* then: the rule of the port is gone */
#define USES (GONE - 1)

static uint32_t *
uses(const struct sock_net *n, rte_be16_t port)
{
	return &n->port_refs[rte_be_to_cpu_16(port)];
}

/* False: no memory. */
static bool
later(struct sock_net *n, const struct sock_port_end *what)
{
	struct sock_port_end *e = malloc(sizeof(*e));

	if (e == NULL)
		return false;
	*e = *what;
	e->at = n->now + SOCK_PORT_US;
	STAILQ_INSERT_TAIL(&n->port_ends, e, next);
	if (n->sleeping && e->at < n->until)
		sock_wake(n);
	return true;
}

int
sock_port_get(struct sock_net *n, rte_be16_t port)
{
	uint32_t *u = uses(n, port);
	int rc = *u == 0 || (*u & GONE) != 0 ? n->ops.steer(n->home, false, port, true) : 0;

	if (rc == 0)
		*u = (*u & USES) + 1;
	return rc;
}

void
sock_port_drop(struct sock_net *n, rte_be16_t port)
{
	uint32_t *u = uses(n, port);

	if ((--*u & USES) != 0)
		return;
	if ((*u & GONE) == 0)
		(void)n->ops.steer(n->home, false, port, false);
	*u = 0;
}

void
sock_port_put(struct sock_net *n, rte_be16_t port)
{
	if (!later(n, &(struct sock_port_end){.kind = SOCK_END_USE, .local.port = port}))
		sock_port_drop(n, port);
}

/* --- a port that another process gets ------------------------------------------------------------------------------- */

bool
sock_port_quiet(void *home, rte_be16_t port)
{
	return (*uses(home, port) & OTHERS) != 0;
}

/* One that gets no rule of its own is the other process's, which ends it. */
static void
keep(void *net, const struct tcp_addr *local, const struct tcp_addr *remote)
{
	const struct sock_port_end end = {.kind = SOCK_END_CONN, .local = *local, .remote = *remote};
	struct sock_net *n = net;

	if (n->ops.steer_conn(n->home, local, remote, true) == 0 && !later(n, &end))
		(void)n->ops.steer_conn(n->home, local, remote, false);
}

static void
rule_end(struct sock_net *n, rte_be16_t port)
{
	uint32_t *u = uses(n, port);

	if ((*u & (OTHERS | GONE)) != OTHERS)
		return;
	(void)n->ops.steer(n->home, false, port, false);
	*u |= GONE;
}

/*
 * While both have the rule of the port, each frame comes to both: who calls meanwhile is answered by the other process as soon as it
 * has it, and by nobody before. Rules of connections are in front of it, so that the other process gets none of theirs.
 */
static void
give(struct sock_net *n, rte_be16_t port)
{
	uint32_t *u = uses(n, port);

	if ((*u & OTHERS) != 0)
		return;
	tcp_each(n->stack, port, keep, n);
	*u |= OTHERS;
	if (!later(n, &(struct sock_port_end){.kind = SOCK_END_RULE, .local.port = port}))
		rule_end(n, port);
}

void
sock_port_leave(struct sock_net *n, rte_be16_t port, int claim)
{
	const struct sock_port_end what = {.kind = SOCK_END_CLAIM, .local.port = port, .claim = claim};
	struct epoll_event e = {.events = EPOLLIN, .data.fd = claim};
	struct pollfd p = {.fd = claim, .events = POLLIN};

	/* At once where somebody waits already, so that no call is refused in between. */
	if (poll(&p, 1, 0) == 0 && epoll_ctl(n->os, EPOLL_CTL_ADD, claim, &e) == 0 && later(n, &what))
		return;
	give(n, port);
	n->unclaim(claim);
}

bool
sock_port_wanted(struct sock_net *n, int fd)
{
	struct sock_port_end *e;

	STAILQ_FOREACH(e, &n->port_ends, next)
	if (e->kind == SOCK_END_CLAIM && e->claim == fd)
		break;
	if (e == NULL)
		return false;
	STAILQ_REMOVE(&n->port_ends, e, sock_port_end, next);
	give(n, e->local.port);
	n->unclaim(e->claim);
	free(e);
	return true;
}

/* --- ends ------------------------------------------------------------------------------------------------------------- */

static void
end(struct sock_net *n, const struct sock_port_end *e)
{
	switch (e->kind) {
	case SOCK_END_USE: sock_port_drop(n, e->local.port); break;
	case SOCK_END_RULE: rule_end(n, e->local.port); break;
	case SOCK_END_CONN:
		if (!tcp_has(n->stack, &e->local, &e->remote) || !later(n, e))
			(void)n->ops.steer_conn(n->home, &e->local, &e->remote, false);
		break;
	case SOCK_END_CLAIM:
		if ((*uses(n, e->local.port) & USES) == 0 || !later(n, e))
			n->unclaim(e->claim);
		break;
	}
}

void
sock_ports_end(struct sock_net *n)
{
	struct sock_port_end *e;

	while ((e = STAILQ_FIRST(&n->port_ends)) != NULL && e->at <= n->now) {
		STAILQ_REMOVE_HEAD(&n->port_ends, next);
		end(n, e);
		free(e);
	}
}
