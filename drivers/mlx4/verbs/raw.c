/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Steering rules of raw packet queue pairs. What verbs say of a frame is said again as a pattern of rte_flow, so that one table
 * knows which fields the card compares. The rules are of the user's domain, as those of Linux's verbs are [DP 9.3]: in front of
 * the rules of rte_flow and of the port's own addresses.
 */
#include <errno.h>

#include "drivers/mlx4/flow/flow.h"
#include "drivers/mlx4/steer/filter.h"
#include "verbs.h"

#define SPECS_MAX 3u                  /* Ethernet, IPv4, TCP or UDP, each once */
#define ITEMS_MAX (2 * SPECS_MAX + 1) /* Ethernet's may be two, and there is an end */

/* One side of a specification: the values, or the masks. */
struct said {
	struct rte_flow_item_vlan tag;
	union {
		struct rte_flow_item_eth eth;
		struct rte_flow_item_ipv4 ipv4;
		struct rte_flow_item_tcp tcp;
		struct rte_flow_item_udp udp;
	};
};

struct pattern {
	unsigned int n;
	struct rte_flow_item item[ITEMS_MAX];
	struct said val[SPECS_MAX], mask[SPECS_MAX];
};

/* The EtherType of verbs is the one behind the tag where a rule names a tag. */
static void
say_eth(struct said *s, const struct ibv_flow_eth_filter *f, bool tagged)
{
	memcpy(&s->eth.hdr.dst_addr, f->dst_mac, RTE_ETHER_ADDR_LEN);
	memcpy(&s->eth.hdr.src_addr, f->src_mac, RTE_ETHER_ADDR_LEN);
	s->tag.hdr.vlan_tci = f->vlan_tag;
	s->tag.hdr.eth_proto = tagged ? f->ether_type : 0;
	s->eth.hdr.ether_type = tagged ? 0 : f->ether_type;
}

static void
say_ipv4(struct said *s, const struct ibv_flow_ipv4_filter *f)
{
	s->ipv4.hdr.src_addr = f->src_ip;
	s->ipv4.hdr.dst_addr = f->dst_ip;
}

/* What the card does not compare is said, too, so that it is refused where it is not masked out. */
static void
say_ipv4_ext(struct said *s, const struct ibv_flow_ipv4_ext_filter *f)
{
	s->ipv4.hdr.src_addr = f->src_ip;
	s->ipv4.hdr.dst_addr = f->dst_ip;
	s->ipv4.hdr.next_proto_id = f->proto;
	s->ipv4.hdr.type_of_service = f->tos;
	s->ipv4.hdr.time_to_live = f->ttl;
	s->ipv4.hdr.fragment_offset = f->flags;
}

static void
say_ports(struct said *s, const struct ibv_flow_tcp_udp_filter *f, bool udp)
{
	if (udp) {
		s->udp.hdr.src_port = f->src_port;
		s->udp.hdr.dst_port = f->dst_port;
	} else {
		s->tcp.hdr.src_port = f->src_port;
		s->tcp.hdr.dst_port = f->dst_port;
	}
}

static void
add(struct pattern *p, enum rte_flow_item_type type, const void *spec, const void *mask)
{
	p->item[p->n++] = (struct rte_flow_item){.type = type, .spec = spec, .mask = mask};
}

static void
take_spec(struct pattern *p, unsigned int i, const struct ibv_flow_spec *s)
{
	struct said *val = &p->val[i], *mask = &p->mask[i];
	bool tagged, udp;

	switch ((int)s->hdr.type) {
	case IBV_FLOW_SPEC_ETH:
		tagged = s->eth.mask.vlan_tag != 0;
		say_eth(val, &s->eth.val, tagged);
		say_eth(mask, &s->eth.mask, tagged);
		add(p, RTE_FLOW_ITEM_TYPE_ETH, &val->eth, &mask->eth);
		if (tagged)
			add(p, RTE_FLOW_ITEM_TYPE_VLAN, &val->tag, &mask->tag);
		break;
	case IBV_FLOW_SPEC_IPV4:
		say_ipv4(val, &s->ipv4.val);
		say_ipv4(mask, &s->ipv4.mask);
		add(p, RTE_FLOW_ITEM_TYPE_IPV4, &val->ipv4, &mask->ipv4);
		break;
	case IBV_FLOW_SPEC_IPV4_EXT:
		say_ipv4_ext(val, &s->ipv4_ext.val);
		say_ipv4_ext(mask, &s->ipv4_ext.mask);
		add(p, RTE_FLOW_ITEM_TYPE_IPV4, &val->ipv4, &mask->ipv4);
		break;
	default:
		udp = s->hdr.type == IBV_FLOW_SPEC_UDP;
		say_ports(val, &s->tcp_udp.val, udp);
		say_ports(mask, &s->tcp_udp.mask, udp);
		add(p, udp ? RTE_FLOW_ITEM_TYPE_UDP : RTE_FLOW_ITEM_TYPE_TCP, &val->udp, &mask->udp);
		break;
	}
}

/* A positive errno, with a line that says why. */
static int
match_of(const struct mlx4_roce_qp *q, const struct ibv_flow_attr *attr, struct mlx4_flow_match *m)
{
	const struct mlx4_eth *eth = mlx4_eth_by_port(q->home->dev->port_id);
	const uint8_t *at = (const uint8_t *)(attr + 1);
	struct pattern p = {0};
	struct rte_flow_error e;
	unsigned int i;
	int rc;

	if (attr->num_of_specs > SPECS_MAX) {
		TROCE_LOG(ERR,
			  "%s: queue pair 0x%x: a rule of %u specifications, wanted 0..%u: Ethernet, IPv4, TCP or UDP",
			  q->home->dev->where, q->qpn, attr->num_of_specs, SPECS_MAX);
		return EINVAL;
	}
	for (i = 0; i < attr->num_of_specs; i++) {
		struct ibv_flow_spec s;

		/* They lie one behind the other, at any address. */
		memcpy(&s.hdr, at, sizeof(s.hdr));
		memcpy(&s, at, s.hdr.size);
		take_spec(&p, i, &s);
		at += s.hdr.size;
	}
	add(&p, RTE_FLOW_ITEM_TYPE_END, NULL, NULL);
	rc = mlx4_flow_match(eth, p.item, m, &e);
	if (rc != 0)
		TROCE_LOG(ERR, "%s: queue pair 0x%x: steering rule: %s", q->home->dev->where, q->qpn, e.message);
	return mlx4_roce_errno(rc);
}

/* Rules name queue pairs that the card has; it knows none in RESET, nor one that went from there to ERR. */
int
mlx4_roce_on_card(const struct mlx4_roce_qp *q, const char *what)
{
	if (q->hw.state != MLX4_QP_RST)
		return 0;
	TROCE_LOG(
		ERR,
		"%s: queue pair 0x%x has not been in INIT since RESET, and the card does not know it: a %s wants that",
		q->home->dev->where, q->qpn, what);
	return EINVAL;
}

int
mlx4_roce_create_flow(struct troce_flow *flow, const struct ibv_flow_attr *attr)
{
	struct mlx4_roce_flow *f = (struct mlx4_roce_flow *)flow;
	struct mlx4_roce_qp *q = (struct mlx4_roce_qp *)flow->qp;
	struct mlx4_flow_match m;
	int rc;

	if (!q->live || q->home->hca->dead)
		return EIO;
	rc = mlx4_roce_on_card(q, "steering rule");
	if (rc != 0)
		return rc;
	rc = match_of(q, attr, &m);
	if (rc != 0)
		return rc;
	rc = mlx4_rule_specs(q->home->hca, q->home->port, (uint16_t)(MLX4_DMFS_PRIO_USER + attr->priority), m.spec,
			     m.len, q->qpn, &f->rule);
	if (rc == 0)
		LIST_INSERT_HEAD(&q->flows, f, next);
	return mlx4_roce_errno(rc);
}

int
mlx4_roce_destroy_flow(struct troce_flow *flow)
{
	struct mlx4_roce_flow *f = (struct mlx4_roce_flow *)flow;
	struct mlx4_roce_qp *q = (struct mlx4_roce_qp *)flow->qp;

	if (q->live)
		mlx4_rule_drop(q->home->hca, q->home->port, &f->rule);
	LIST_REMOVE(f, next);
	return 0;
}

void
mlx4_roce_flows_drop(struct mlx4_roce_qp *q)
{
	struct mlx4_roce_flow *f;

	LIST_FOREACH(f, &q->flows, next)
	mlx4_rule_drop(q->home->hca, q->home->port, &f->rule);
}
