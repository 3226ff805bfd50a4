/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A stack: what it is made with, and frames that arrive. */
#include <errno.h>
#include <stdlib.h>

#include "udp_priv.h"

#define HEADERS_MAX 96u /* with a VLAN tag and IP options */

#define BOUND(...) TCP_BOUND(struct udp_conf, __VA_ARGS__)
static const struct tcp_bound bounds[] = {
	BOUND(max_socks, 100000, 1, 1048576),      BOUND(rcvbuf, 212992, 4096, 16777216),
	BOUND(max_fragmented, 256, 1, 65536),      BOUND(frag_ms, 30000, 1, 60000),
	BOUND(port_min, 32768, 1, 65535),          BOUND(port_max, 60999, 1, 65535),
	BOUND(max_queued, 16777216, 64, 16777216),
};

static bool
conf_read(struct udp_conf *f)
{
	return tcp_bounds_read(f, bounds, RTE_DIM(bounds)) && f->pool != NULL &&
	       rte_pktmbuf_data_room_size(f->pool) >= TCP_MBUF_ROOM_MIN && f->port_min <= f->port_max;
}

struct udp_stack *
udp_stack_create(const struct udp_conf *conf, const struct udp_home *ops, void *home, uint64_t now_us, int *err)
{
	struct udp_conf f = *conf;
	struct udp_stack *s;

	*err = -EINVAL;
	if (!conf_read(&f))
		return NULL;
	*err = -ENOMEM;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	s->frag = calloc(f.max_fragmented, sizeof(s->frag[0]));
	if (s->frag == NULL) {
		free(s);
		return NULL;
	}
	*err = 0;
	s->ops = ops;
	s->home = home;
	s->conf = f;
	s->now = now_us;
	s->path_gen = 1;
	s->key = ops->random(home);
	s->ip_id = (uint16_t)ops->random(home);
	return s;
}

void
udp_stack_destroy(struct udp_stack *s)
{
	while (s->all != NULL)
		udp_close(s->all);
	udp_frags_expire(s, true);
	free(s->frag);
	free(s);
}

enum kind { NOT_OURS, TAKEN, DATAGRAM };

/* Ethernet and IP. What is malformed is taken. */
static enum kind
parse(struct udp_stack *s, struct udp_gram *g)
{
	struct rte_mbuf *m = g->m;
	uint32_t l2 = RTE_ETHER_HDR_LEN, ihl, total;
	rte_be16_t type;

	/* Headers are read, and a note written in their place, in one piece. */
	if (unlikely(m->data_len < RTE_MIN(m->pkt_len, HEADERS_MAX)) && rte_pktmbuf_linearize(m) != 0)
		return NOT_OURS;
	if (m->data_len < l2 + sizeof(struct rte_ipv4_hdr))
		return NOT_OURS;
	g->eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	type = g->eth->ether_type;
	if (type == RTE_BE16(RTE_ETHER_TYPE_VLAN)) {
		type = ((const struct rte_vlan_hdr *)(g->eth + 1))->eth_proto;
		l2 += sizeof(struct rte_vlan_hdr);
	}
	g->ip = rte_pktmbuf_mtod_offset(m, const struct rte_ipv4_hdr *, l2);
	if (type != RTE_BE16(RTE_ETHER_TYPE_IPV4) || m->data_len < l2 + sizeof(struct rte_ipv4_hdr) ||
	    (g->ip->next_proto_id != IPPROTO_UDP && g->ip->next_proto_id != IPPROTO_ICMP))
		return NOT_OURS;
	ihl = rte_ipv4_hdr_len(g->ip);
	total = rte_be_to_cpu_16(g->ip->total_length);
	g->l2_len = l2;
	g->hdr_len = l2 + ihl;
	if (g->ip->version_ihl >> 4 != 4 || ihl < sizeof(struct rte_ipv4_hdr) || total < ihl ||
	    l2 + total > m->pkt_len || m->data_len < l2 + ihl || rte_raw_cksum(g->ip, ihl) != 0xffff) {
		if (g->ip->next_proto_id != IPPROTO_UDP)
			return NOT_OURS;
		s->st.rx_malformed++;
		return TAKEN;
	}
	if (g->ip->next_proto_id == IPPROTO_ICMP)
		return !udp_is_fragment(g->ip) && udp_icmp_input(s, m, g->ip, l2 + ihl, total - ihl) ? TAKEN : NOT_OURS;
	/* Padding of short frames goes. */
	if (l2 + total < m->pkt_len)
		rte_pktmbuf_trim(m, (uint16_t)(m->pkt_len - l2 - total));
	return DATAGRAM;
}

/* One more fragment: the datagram if it was the last one that was missing. */
static bool
reassemble(struct udp_stack *s, struct udp_gram *g)
{
	struct rte_mbuf *m = g->m;

	g->m = NULL;
	m = udp_reassemble(s, m, g);
	if (m == NULL)
		return false;
	g->m = m;
	g->hdr_len = g->l2_len + rte_ipv4_hdr_len(rte_pktmbuf_mtod_offset(m, const struct rte_ipv4_hdr *, g->l2_len));
	g->eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	g->ip = rte_pktmbuf_mtod_offset(m, const struct rte_ipv4_hdr *, g->l2_len);
	return true;
}

static bool
checksum(const struct udp_gram *g)
{
	const uint64_t l4 = g->m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;

	if (l4 == RTE_MBUF_F_RX_L4_CKSUM_GOOD || g->uh->dgram_cksum == 0)
		return true;
	return l4 == RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN && tcp_sum(g->m, g->ip, g->hdr_len, g->len) == 0xffff;
}

static void
datagram(struct udp_stack *s, struct udp_gram *g)
{
	const bool group = udp_is_group(g->ip->dst_addr);
	bool to_many = group, ours;
	struct rte_mbuf *m;
	uint32_t total;

	if (udp_is_fragment(g->ip) && !reassemble(s, g))
		return;
	m = g->m;
	total = m->pkt_len - g->hdr_len;
	if (m->data_len < g->hdr_len + sizeof(struct rte_udp_hdr)) {
		s->st.rx_malformed++;
		return;
	}
	g->uh = rte_pktmbuf_mtod_offset(m, const struct rte_udp_hdr *, g->hdr_len);
	g->len = rte_be_to_cpu_16(g->uh->dgram_len);
	if (g->len < sizeof(struct rte_udp_hdr) || g->len > total || g->uh->dst_port == 0) {
		s->st.rx_malformed++;
		return;
	}
	if (!checksum(g)) {
		s->st.rx_checksum++;
		return;
	}
	if (g->len < total)
		rte_pktmbuf_trim(m, (uint16_t)(total - g->len));
	ours = group || s->ops->local(s->home, g->ip->dst_addr);
	if (!ours && rte_is_broadcast_ether_addr(&g->eth->dst_addr))
		ours = to_many = true;
	if (!ours || udp_is_group(g->ip->src_addr)) {
		s->st.rx_other++;
		return;
	}
	g->hdr_len += (uint32_t)sizeof(struct rte_udp_hdr);
	if (udp_deliver(s, g, to_many))
		return;
	if (to_many) {
		s->st.rx_other++;
		return;
	}
	s->st.rx_no_port++;
	/* RFC 1122 3.2.2: never about what came to many by Ethernet. */
	if (!s->conf.no_unreachable && !rte_is_multicast_ether_addr(&g->eth->dst_addr))
		udp_unreachable(s, g);
}

uint16_t
udp_input(struct udp_stack *s, struct rte_mbuf **m, uint16_t n, uint64_t now_us)
{
	struct udp_gram g;
	uint16_t i, left = 0;

	s->now = RTE_MAX(s->now, now_us);
	for (i = 0; i < n; i++) {
		g.m = m[i];
		switch (parse(s, &g)) {
		case NOT_OURS: m[left++] = m[i]; continue;
		case DATAGRAM: datagram(s, &g); break;
		case TAKEN: break;
		}
		rte_pktmbuf_free(g.m);
	}
	return left;
}

void
udp_run(struct udp_stack *s, uint64_t now_us)
{
	s->now = RTE_MAX(s->now, now_us);
	udp_frags_expire(s, false);
}

uint64_t
udp_deadline(const struct udp_stack *s)
{
	return udp_frags_deadline(s);
}

const struct udp_stats *
udp_stats(const struct udp_stack *s)
{
	return &s->st;
}

void
udp_paths_changed(struct udp_stack *s)
{
	s->path_gen++;
}
