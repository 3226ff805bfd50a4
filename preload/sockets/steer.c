/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Steering rules: for each port and address one, for each group one, and for connections whose port another process gets. Rules of
 * two queue pairs that say the same are one for the card, which gives both each frame: so programs share a group.
 */
#include <stdlib.h>
#include <string.h>

#include "steer.h"

struct group {
	LIST_ENTRY(group) next;
	rte_be32_t ip;
	struct ibv_flow *flow;
};

struct conn {
	LIST_ENTRY(conn) next;
	struct tcp_addr local, remote;
	struct ibv_flow *flow;
};

struct steer {
	struct ibv_qp *qp;
	struct rte_ether_addr mac;
	const struct home_addr *addr;
	unsigned int num_addrs;
	struct ibv_flow **flow[2]; /* of TCP and UDP by port, one behind the other: one for each address */
	LIST_HEAD(, group) groups;
	LIST_HEAD(, conn) conns;
};

struct rule {
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_eth eth;
	struct ibv_flow_spec_ipv4 ip;
	struct ibv_flow_spec_tcp_udp port;
} __attribute__((packed));

/* to: port 0: any, and what is not TCP or UDP. from: NULL: anybody; else the rule is in front of that of the port. */
static struct ibv_flow *
rule_make(struct steer *s, const struct rte_ether_addr *mac, const struct tcp_addr *to, const struct tcp_addr *from,
	  bool udp)
{
	struct rule r = {
		.attr = {.type = IBV_FLOW_ATTR_NORMAL,
			 .size = sizeof(r),
			 .priority = from == NULL && to->port != 0,
			 .num_of_specs = 3,
			 .port = 1},
		.eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof(r.eth)},
		.ip = {.type = IBV_FLOW_SPEC_IPV4,
		       .size = sizeof(r.ip),
		       .val = {.dst_ip = to->ip},
		       .mask = {.dst_ip = UINT32_MAX}},
		.port = {.type = udp ? IBV_FLOW_SPEC_UDP : IBV_FLOW_SPEC_TCP,
			 .size = sizeof(r.port),
			 .val = {.dst_port = to->port},
			 .mask = {.dst_port = UINT16_MAX}},
	};

	if (to->port == 0) {
		r.attr.num_of_specs = 2;
		r.attr.size -= sizeof(r.port);
	}
	if (from != NULL) {
		r.ip.val.src_ip = from->ip;
		r.ip.mask.src_ip = UINT32_MAX;
		r.port.val.src_port = from->port;
		r.port.mask.src_port = UINT16_MAX;
	}
	memcpy(r.eth.val.dst_mac, mac->addr_bytes, sizeof(r.eth.val.dst_mac));
	memset(r.eth.mask.dst_mac, 0xff, sizeof(r.eth.mask.dst_mac));
	return ibv_create_flow(s->qp, &r.attr);
}

static int
refused(void)
{
	return errno == EIO ? -ENETDOWN : -errno;
}

static void
rules_end(const struct steer *s, struct ibv_flow **flow)
{
	for (unsigned int i = 0; i < s->num_addrs; i++) {
		if (flow[i] != NULL)
			(void)ibv_destroy_flow(flow[i]);
		flow[i] = NULL;
	}
}

int
steer_port(struct steer *s, bool udp, rte_be16_t port, bool on)
{
	struct ibv_flow **flow;
	int err;

	if (s->flow[udp] == NULL)
		s->flow[udp] = calloc((size_t)65536 * s->num_addrs, sizeof(struct ibv_flow *));
	if (s->flow[udp] == NULL)
		return on ? -ENOMEM : 0;
	flow = s->flow[udp] + (size_t)rte_be_to_cpu_16(port) * s->num_addrs;
	for (unsigned int i = 0; on && i < s->num_addrs; i++) {
		flow[i] = rule_make(s, &s->mac, &(struct tcp_addr){s->addr[i].ip, port}, NULL, udp);
		if (flow[i] == NULL) {
			err = refused();
			rules_end(s, flow);
			return err;
		}
	}
	if (!on)
		rules_end(s, flow);
	return 0;
}

static bool
same(const struct tcp_addr *a, const struct tcp_addr *b)
{
	return a->ip == b->ip && a->port == b->port;
}

int
steer_conn(struct steer *s, const struct tcp_addr *local, const struct tcp_addr *remote, bool on)
{
	struct conn *c;
	int err;

	LIST_FOREACH(c, &s->conns, next)
	if (same(&c->local, local) && same(&c->remote, remote))
		break;
	if (!on && c != NULL) {
		(void)ibv_destroy_flow(c->flow);
		LIST_REMOVE(c, next);
		free(c);
	}
	if (!on || c != NULL)
		return 0;
	c = malloc(sizeof(*c));
	if (c == NULL)
		return -ENOMEM;
	*c = (struct conn){.local = *local, .remote = *remote, .flow = rule_make(s, &s->mac, local, remote, false)};
	if (c->flow == NULL) {
		err = refused();
		free(c);
		return err;
	}
	LIST_INSERT_HEAD(&s->conns, c, next);
	return 0;
}

int
steer_group(struct steer *s, rte_be32_t ip, bool on)
{
	const uint32_t v = rte_be_to_cpu_32(ip);
	/* RFC 1112 6.4: the low 23 bits */
	const struct rte_ether_addr mac = {{0x01, 0x00, 0x5e, (v >> 16) & 0x7f, (uint8_t)(v >> 8), (uint8_t)v}};
	struct group *g;
	int err;

	LIST_FOREACH(g, &s->groups, next)
	if (g->ip == ip)
		break;
	if (!on && g != NULL) {
		(void)ibv_destroy_flow(g->flow);
		LIST_REMOVE(g, next);
		free(g);
	}
	if (!on || g != NULL)
		return 0;
	g = malloc(sizeof(*g));
	if (g == NULL)
		return -ENOMEM;
	*g = (struct group){.ip = ip, .flow = rule_make(s, &mac, &(struct tcp_addr){ip, 0}, NULL, false)};
	if (g->flow == NULL) {
		err = refused();
		free(g);
		return err;
	}
	LIST_INSERT_HEAD(&s->groups, g, next);
	return 0;
}

struct steer *
steer_new(struct ibv_qp *qp, const struct rte_ether_addr *mac, const struct home_addr *addr, unsigned int num_addrs)
{
	struct steer *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	LIST_INIT(&s->groups);
	LIST_INIT(&s->conns);
	s->qp = qp;
	s->mac = *mac;
	s->addr = addr;
	s->num_addrs = num_addrs;
	return s;
}

void
steer_free(struct steer *s)
{
	struct group *g;
	struct conn *c;

	if (s == NULL)
		return;
	while ((c = LIST_FIRST(&s->conns)) != NULL) {
		LIST_REMOVE(c, next);
		free(c);
	}
	while ((g = LIST_FIRST(&s->groups)) != NULL) {
		LIST_REMOVE(g, next);
		free(g);
	}
	free(s->flow[0]);
	free(s->flow[1]);
	free(s);
}
