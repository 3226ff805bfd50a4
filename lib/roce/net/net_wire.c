/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a port says by itself to its neighbours: answers, questions, announcements, each so often at most. */
#include <netinet/in.h>

#include <rte_ip.h>

#include "net_priv.h"

#define ANNOUNCE_NS UINT64_C(1000000000)

bool
trn_rate_ok(struct trn_rate *r, uint64_t now)
{
	if (r->at < now)
		r->at = now;
	if (r->at - now > r->burst_ns)
		return false;
	r->at += r->interval_ns;
	return true;
}

bool
trn_classify(const uint8_t *data, uint32_t len, uint16_t tci, bool echo, struct trn_frame *f)
{
	const struct rte_ether_hdr *eth = (const struct rte_ether_hdr *)data;
	const struct rte_vlan_hdr *tag = (const struct rte_vlan_hdr *)(eth + 1);
	uint32_t off = sizeof(*eth);

	f->type = 0;
	if (unlikely(len < sizeof(*eth) + sizeof(*tag)))
		return false;
	f->type = rte_be_to_cpu_16(eth->ether_type);
	if (f->type == RTE_ETHER_TYPE_VLAN && tci == 0) {
		tci = rte_be_to_cpu_16(tag->vlan_tci);
		f->type = rte_be_to_cpu_16(tag->eth_proto);
		off += sizeof(*tag);
	}
	f->vlan = (tci & 0xfff) != 0 ? tci & 0xfff : TP_ROCE_NO_VLAN;
	f->dst = &eth->dst_addr;
	f->src = &eth->src_addr;
	f->l3 = data + off;
	f->len = len - off;
	switch (f->type) {
	case RTE_ETHER_TYPE_ARP: return true;
	case RTE_ETHER_TYPE_IPV6:
		return f->len >= sizeof(struct rte_ipv6_hdr) &&
		       ((const struct rte_ipv6_hdr *)f->l3)->proto == IPPROTO_ICMPV6;
	case RTE_ETHER_TYPE_IPV4:
		return echo && f->len >= sizeof(struct rte_ipv4_hdr) &&
		       ((const struct rte_ipv4_hdr *)f->l3)->next_proto_id == IPPROTO_ICMP;
	default: return false;
	}
}

enum trn_verdict
trn_input(struct troce_net *net, const struct trn_frame *f, uint64_t now, struct trn_out *out)
{
	enum trn_verdict v;

	out->len = 0;
	/* Our own, come back from a hub or seen on its way out */
	if (rte_is_same_ether_addr(f->src, &net->mac))
		return TRN_OTHER;
	v = f->type == RTE_ETHER_TYPE_ARP ? trn_arp_input(net, f, now, out) : trn_nd_input(net, f, now, out);
	net->due = RTE_MIN(net->due, net->neighs.due);
	if (out->len == 0)
		return v;
	if (trn_rate_ok(&net->answers, now)) {
		net->count.answered++;
	} else {
		net->count.limited++;
		out->len = 0;
	}
	return v;
}

struct sender {
	struct troce_net *net;
	trn_send_fn send;
	void *arg;
	struct trn_out out;
};

static void
ask(void *arg, const struct trn_neigh *n)
{
	struct sender *s = arg;
	const struct rte_ether_addr *dst = n->state == TRN_PROBE ? &n->mac : NULL;

	if (trn_is_v4(&n->addr))
		trn_arp_ask(&s->net->mac, dst, n->vlan, trn_v4(&n->src), trn_v4(&n->addr), &s->out);
	else
		trn_nd_ask(&s->net->mac, dst, n->vlan, &n->src, &n->addr, &s->out);
	s->net->count.asked++;
	s->send(s->arg, &s->out);
}

static unsigned int
announce(struct sender *s, uint64_t now)
{
	struct troce_net *net = s->net;
	unsigned int i, n = 0;

	for (i = 0; i < TP_ROCE_GIDS; i++) {
		const struct trn_addr *addr = &net->a.addr[i];
		struct trn_announce *ann = &net->ann[i];

		if (ann->left == 0)
			continue;
		if (ann->at <= now) {
			/* RFC 5227, 3: by a request, which more implementations heed than an answer. */
			if (trn_is_v4(&addr->gid))
				trn_arp_ask(&net->mac, NULL, addr->vlan, trn_v4(&addr->gid), trn_v4(&addr->gid),
					    &s->out);
			else
				trn_nd_announce(&net->mac, addr->vlan, &addr->gid, &s->out);
			s->send(s->arg, &s->out);
			net->count.announced++;
			n++;
			ann->left--;
			ann->at = now + ANNOUNCE_NS;
		}
		if (ann->left != 0)
			net->due = RTE_MIN(net->due, ann->at);
	}
	return n;
}

unsigned int
trn_run(struct troce_net *net, uint64_t now, trn_send_fn send, void *arg)
{
	struct sender s = {.net = net, .send = send, .arg = arg};
	unsigned int n;

	net->due = TRN_NEVER;
	n = announce(&s, now);
	n += trn_ended_run(net, now, send, arg);
	n += trn_neigh_run(&net->neighs, now, ask, &s);
	net->due = RTE_MIN(net->due, net->neighs.due);
	return n;
}
