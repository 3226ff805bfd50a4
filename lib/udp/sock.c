/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Sockets: their addresses, groups and options. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "udp_priv.h"

#define BUF_MIN 4096
#define BUF_MAX 16777216

struct udp_sock *
udp_open(struct udp_stack *s, void *user, int *err)
{
	struct udp_sock *u;

	*err = -ENFILE;
	if (s->socks >= s->conf.max_socks)
		return NULL;
	*err = -ENOMEM;
	u = calloc(1, sizeof(*u));
	if (u == NULL)
		return NULL;
	*err = 0;
	u->s = s;
	u->user = user;
	u->rcvbuf = s->conf.rcvbuf;
	u->ttl = 64;
	u->group_ttl = 1; /* RFC 1112 6.1 */
	u->loop = true;
	u->discover = IP_PMTUDISC_WANT;
	u->path_gen = s->path_gen - 1;
	u->all_next = s->all;
	u->all_prev = &s->all;
	if (s->all != NULL)
		s->all->all_prev = &u->all_next;
	s->all = u;
	s->socks++;
	return u;
}

static void
unhash(struct udp_sock *u)
{
	struct udp_sock **at = udp_bucket(u->s, u->local.port);

	if (u->local.port == 0)
		return;
	while (*at != u)
		at = &(*at)->next;
	*at = u->next;
}

void
udp_close(struct udp_sock *u)
{
	rte_be32_t group;

	unhash(u);
	udp_queue_free(u);
	while (udp_leave_any(u, &group))
		;
	*u->all_prev = u->all_next;
	if (u->all_next != NULL)
		u->all_next->all_prev = u->all_prev;
	u->s->socks--;
	free(u);
}

/* Does another have the port at this address? */
static bool
taken(struct udp_stack *s, const struct tcp_addr *a, bool share)
{
	const struct udp_sock *o;

	for (o = *udp_bucket(s, a->port); o != NULL; o = o->next)
		if (o->local.port == a->port && (o->local.ip == a->ip || o->local.ip == 0 || a->ip == 0) &&
		    !(share && o->share))
			return true;
	return false;
}

static void
set_local(struct udp_sock *u, const struct tcp_addr *a)
{
	struct udp_sock **at = udp_bucket(u->s, a->port);

	u->local = *a;
	u->next = *at;
	*at = u;
}

/* RFC 6056 3.3.1: a port at random, then the next ones. */
int
udp_choose_port(struct udp_sock *u)
{
	struct udp_stack *s = u->s;
	const uint32_t range = (uint32_t)s->conf.port_max - s->conf.port_min + 1, first = s->ops->random(s->home);
	struct tcp_addr a = u->local;
	uint32_t i;

	for (i = 0; i < range; i++) {
		a.port = rte_cpu_to_be_16((uint16_t)(s->conf.port_min + (first % range + i) % range));
		if (!taken(s, &a, false)) {
			set_local(u, &a);
			return 0;
		}
	}
	return -EADDRNOTAVAIL;
}

int
udp_bind(struct udp_sock *u, const struct tcp_addr *local, bool share)
{
	if (u->local.port != 0)
		return -EINVAL;
	u->share = share;
	if (local->port != 0) {
		if (taken(u->s, local, share))
			return -EADDRINUSE;
		set_local(u, local);
		return 0;
	}
	u->local.ip = local->ip;
	return udp_choose_port(u);
}

int
udp_connect(struct udp_sock *u, const struct tcp_addr *remote)
{
	struct udp_stack *s = u->s;
	struct tcp_path p = {.mtu = 1500};
	int rc;

	if (remote == NULL) {
		u->remote = (struct tcp_addr){0, 0};
		if (u->local_chosen)
			u->local.ip = 0;
		u->local_chosen = false;
		return 0;
	}
	if (remote->port == 0 || remote->ip == 0)
		return -EINVAL;
	rc = s->ops->path(s->home, u->local_chosen ? 0 : u->local.ip, remote->ip, &p);
	/* A neighbour that is not known yet; the address is. */
	if (rc != 0 && (rc != -EAGAIN || (p.local == 0 && u->local.ip == 0)))
		return rc;
	if (rc == 0 && !u->broadcast && rte_is_broadcast_ether_addr(&p.dst))
		return -EACCES;
	if (u->local.port == 0) {
		rc = udp_choose_port(u);
		if (rc != 0)
			return rc;
	}
	if (u->local.ip == 0 || u->local_chosen) {
		u->local.ip = p.local;
		u->local_chosen = true;
	}
	u->remote = *remote;
	u->path_gen = s->path_gen - 1;
	return 0;
}

void
udp_addrs(const struct udp_sock *u, struct tcp_addr *local, struct tcp_addr *remote)
{
	*local = u->local;
	*remote = u->remote;
}

bool
udp_member(const struct udp_sock *u, rte_be32_t group, rte_be32_t source)
{
	const struct udp_group *g;

	for (g = u->groups; g != NULL; g = g->next)
		if (g->group == group && (g->source == 0 || g->source == source))
			return true;
	return false;
}

int
udp_join(struct udp_sock *u, rte_be32_t group, rte_be32_t source)
{
	struct udp_group *g;

	if (!udp_is_group(group))
		return -EINVAL;
	for (g = u->groups; g != NULL; g = g->next)
		if (g->group == group && g->source == source)
			return -EADDRINUSE;
	if (u->ngroups == UDP_GROUPS_MAX)
		return -ENOBUFS;
	g = malloc(sizeof(*g));
	if (g == NULL)
		return -ENOMEM;
	*g = (struct udp_group){u->groups, group, source};
	u->groups = g;
	u->ngroups++;
	return 0;
}

int
udp_leave(struct udp_sock *u, rte_be32_t group, rte_be32_t source)
{
	struct udp_group **at = &u->groups, *g;

	while ((g = *at) != NULL && (g->group != group || g->source != source))
		at = &g->next;
	if (g == NULL)
		return -EADDRNOTAVAIL;
	*at = g->next;
	free(g);
	u->ngroups--;
	return 0;
}

bool
udp_leave_any(struct udp_sock *u, rte_be32_t *group)
{
	struct udp_group *g = u->groups;

	if (g == NULL)
		return false;
	*group = g->group;
	u->groups = g->next;
	u->ngroups--;
	free(g);
	return true;
}

int
udp_error(struct udp_sock *u)
{
	const int error = u->error;

	u->error = 0;
	return error;
}

bool
udp_failed(const struct udp_sock *u)
{
	return u->error != 0;
}

void
udp_flush(struct udp_sock *u)
{
	udp_queue_free(u);
}

uint32_t
udp_drops(const struct udp_sock *u)
{
	return u->drops;
}

/* The option's place, where it is an octet, and its range. */
static uint8_t *
octet(struct udp_sock *u, int name, int *low, int *high)
{
	*low = 0;
	*high = 255;
	switch (name) {
	case IP_TTL: *low = 1; return &u->ttl;
	case IP_TOS: return &u->tos;
	case IP_MULTICAST_TTL: return &u->group_ttl;
	case IP_MTU_DISCOVER: *high = IP_PMTUDISC_OMIT; return &u->discover;
	default: return NULL;
	}
}

static bool *
flag(struct udp_sock *u, int level, int name)
{
	if (level == SOL_SOCKET && name == SO_BROADCAST)
		return &u->broadcast;
	if (level == IPPROTO_IP && name == IP_MULTICAST_LOOP)
		return &u->loop;
	return NULL;
}

int
udp_opt_set(struct udp_sock *u, int level, int name, int value)
{
	int low, high;
	uint8_t *o = level == IPPROTO_IP ? octet(u, name, &low, &high) : NULL;
	bool *f = flag(u, level, name);

	if (o != NULL) {
		if (value < low || value > high)
			return -EINVAL;
		*o = (uint8_t)value;
		return 0;
	}
	if (f != NULL) {
		if (value != 0 && value != 1)
			return -EINVAL;
		*f = value;
		return 0;
	}
	if (level != SOL_SOCKET || name != SO_RCVBUF)
		return -ENOPROTOOPT;
	if (value < BUF_MIN || value > BUF_MAX)
		return -EINVAL;
	u->rcvbuf = (uint32_t)value;
	return 0;
}

int
udp_opt_get(const struct udp_sock *u, int level, int name, int *value)
{
	struct udp_sock *w = (struct udp_sock *)(uintptr_t)u; /* read only below */
	int low, high;
	const uint8_t *o = level == IPPROTO_IP ? octet(w, name, &low, &high) : NULL;
	const bool *f = flag(w, level, name);

	if (o != NULL)
		*value = *o;
	else if (f != NULL)
		*value = *f;
	else if (level == SOL_SOCKET && name == SO_RCVBUF)
		*value = (int)u->rcvbuf;
	else
		return -ENOPROTOOPT;
	return 0;
}
