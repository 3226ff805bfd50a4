/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A stack: what it is made with, and frames that arrive. */
#include <errno.h>
#include <stdlib.h>

#include "tcp_priv.h"

#define HDRS_MAX 138u /* with a VLAN tag and all options */

#define BOUND(...) TCP_BOUND(struct tcp_conf, __VA_ARGS__)
static const struct tcp_bound bounds[] = {
	BOUND(max_conns, 100000, 1, 1048576),
	BOUND(max_time_wait, 100000, 1, 1048576),
	BOUND(max_ooo_mbufs, 16384, 1, UINT32_MAX),
	BOUND(max_copied, 1u << 24, 1, 1u << 31),
	BOUND(sndbuf, 1048576, TCP_BUF_MIN, TCP_BUF_MAX),
	BOUND(rcvbuf, 1048576, TCP_BUF_MIN, TCP_BUF_MAX),
	BOUND(rto_min_ms, 200, 1, 1000),
	BOUND(delack_ms, 40, 1, 500),
	BOUND(time_wait_ms, 60000, 1, 240000),
	BOUND(port_min, 32768, 1, 65535),
	BOUND(port_max, 60999, 1, 65535),
	BOUND(syn_retries, 6, 1, 15),
	BOUND(data_retries, 15, 3, 30),
	BOUND(tso_mbufs, TCP_TSO_SEGS, 1, TCP_TSO_SEGS),
};

bool
tcp_bounds_read(void *conf, const struct tcp_bound *b, size_t n)
{
	for (; n != 0; n--, b++) {
		uint8_t *p = (uint8_t *)conf + b->at;
		uint32_t v = 0;

		memcpy(&v, p, b->size); /* little-endian, as all that DPDK runs this driver on */
		if (v == 0)
			v = b->preset;
		if (v < b->low || v > b->high)
			return false;
		memcpy(p, &v, b->size);
	}
	return true;
}

static bool
conf_read(struct tcp_conf *f)
{
	return tcp_bounds_read(f, bounds, RTE_DIM(bounds)) && f->pool != NULL &&
	       rte_pktmbuf_data_room_size(f->pool) >= TCP_MBUF_ROOM_MIN && f->port_min <= f->port_max &&
	       f->cc <= TCP_CC_NONE && f->ecn <= TCP_ECN_OFF && (f->tx_checksum || !f->tso);
}

struct tcp_stack *
tcp_stack_create(const struct tcp_conf *conf, const struct tcp_home *ops, void *home, uint64_t now_us, int *err)
{
	struct tcp_conf f = *conf;
	struct tcp_stack *s;
	uint32_t i;

	*err = -EINVAL;
	if (!conf_read(&f))
		return NULL;
	*err = -ENOMEM;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	/* Entries of TIME-WAIT lie in it, too. */
	s->mask = rte_align32pow2(RTE_MAX(RTE_MAX(f.max_conns, f.max_time_wait), 64u)) - 1;
	s->table = calloc(s->mask + 1, sizeof(s->table[0]));
	if (s->table == NULL) {
		free(s);
		return NULL;
	}
	*err = 0;
	s->ops = ops;
	s->home = home;
	s->conf = f;
	s->now = now_us;
	s->now_ms = (uint32_t)(now_us / TCP_US_PER_MS);
	s->ms_end = now_us;
	s->path_gen = 1;
	for (i = 0; i < 2; i++) {
		s->key_hash[i] = (uint64_t)ops->random(home) << 32 | ops->random(home);
		s->key[i] = (uint64_t)ops->random(home) << 32 | ops->random(home);
		s->key_ts[i] = (uint64_t)ops->random(home) << 32 | ops->random(home);
	}
	slab_init(&s->conn_slab, sizeof(struct tcp_conn));
	slab_init(&s->tw_slab, sizeof(struct tcp_tw));
	slab_init(&s->ooo_slab, sizeof(struct tcp_ooo));
	s->tw_tail = &s->tw_head;
	wheel_init(&s->wheel, now_us);
	return s;
}

static void
drop_queues(void *p)
{
	struct tcp_conn *c = p;

	if (c->s == NULL)
		return;
	tcp_tx_free(c);
	tcp_rx_free(c);
	tcp_ooo_free(c);
}

void
tcp_stack_destroy(struct tcp_stack *s)
{
	uint32_t i;

	slab_each(&s->conn_slab, drop_queues);
	for (i = 0; i < TCP_LISTEN_BUCKETS; i++) {
		while (s->listener[i] != NULL) {
			struct tcp_listener *l = s->listener[i];

			s->listener[i] = l->next;
			free(l);
		}
	}
	for (i = 0; i < s->ntx; i++)
		rte_pktmbuf_free(s->tx[i]);
	for (i = 0; i < s->nspare; i++)
		rte_pktmbuf_free(s->spare[i]);
	slab_fini(&s->conn_slab);
	slab_fini(&s->tw_slab);
	slab_fini(&s->ooo_slab);
	free(s->table);
	free(s);
}

/* Ethernet and IP; false: not for TCP here, or not well-formed. */
static bool
parse_ip(struct tcp_stack *s, struct tcp_seg *g)
{
	struct rte_mbuf *m = g->m;
	uint32_t l2 = RTE_ETHER_HDR_LEN, ihl, total;
	rte_be16_t type;

	/* Headers are read in one piece; what the last mbuf cannot take is malformed for us. */
	if (unlikely(m->data_len < RTE_MIN(m->pkt_len, HDRS_MAX)) && rte_pktmbuf_linearize(m) != 0)
		goto malformed;
	if (m->data_len < l2 + sizeof(struct rte_ipv4_hdr))
		goto other;
	g->eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	type = g->eth->ether_type;
	if (type == RTE_BE16(RTE_ETHER_TYPE_VLAN)) {
		type = ((const struct rte_vlan_hdr *)(g->eth + 1))->eth_proto;
		l2 += sizeof(struct rte_vlan_hdr);
	}
	g->l2_len = l2;
	g->ip = rte_pktmbuf_mtod_offset(m, const struct rte_ipv4_hdr *, l2);
	if (type != RTE_BE16(RTE_ETHER_TYPE_IPV4) || m->data_len < l2 + sizeof(struct rte_ipv4_hdr))
		goto other;
	if (unlikely(g->ip->next_proto_id == IPPROTO_ICMP)) {
		tcp_icmp_input(s, g);
		return false;
	}
	if (g->ip->next_proto_id != IPPROTO_TCP)
		goto other;
	ihl = rte_ipv4_hdr_len(g->ip);
	total = rte_be_to_cpu_16(g->ip->total_length);
	if ((g->ip->version_ihl >> 4) != 4 || ihl < sizeof(struct rte_ipv4_hdr) ||
	    total < ihl + sizeof(struct rte_tcp_hdr) || l2 + total > m->pkt_len ||
	    m->data_len < l2 + ihl + sizeof(struct rte_tcp_hdr))
		goto malformed;
	if ((g->ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) != 0) {
		s->st.rx_fragment++;
		return false;
	}
	g->hdr_len = l2 + ihl;
	g->len = total - ihl;
	return true;
malformed:
	s->st.rx_malformed++;
	return false;
other:
	s->st.rx_other++;
	return false;
}

bool
tcp_sums_check(const struct rte_mbuf *m, const struct rte_ipv4_hdr *ip, uint32_t off, uint32_t len)
{
	const uint64_t l3 = m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK, l4 = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;

	if (l3 == RTE_MBUF_F_RX_IP_CKSUM_BAD || l4 == RTE_MBUF_F_RX_L4_CKSUM_BAD)
		return false;
	if (l3 == RTE_MBUF_F_RX_IP_CKSUM_UNKNOWN && rte_raw_cksum(ip, rte_ipv4_hdr_len(ip)) != 0xffff)
		return false;
	return l4 != RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN || tcp_sum(m, ip, off, len) == 0xffff;
}

/* RFC 9293 3.9.2.3: no segment comes from or goes to several hosts. */
static bool
unicast(rte_be32_t ip)
{
	const uint32_t a = rte_be_to_cpu_32(ip);

	return a < UINT32_C(0xe0000000) && a >> 24 != 0; /* 224.0.0.0 on: groups, and all */
}

static bool
parse_tcp(struct tcp_stack *s, struct tcp_seg *g)
{
	uint32_t thl;

	g->th = rte_pktmbuf_mtod_offset(g->m, const struct rte_tcp_hdr *, g->hdr_len);
	thl = (uint32_t)(g->th->data_off >> 4) * 4;
	if (thl < sizeof(struct rte_tcp_hdr) || thl > g->len || g->hdr_len + thl > g->m->data_len) {
		s->st.rx_malformed++;
		return false;
	}
	if (!tcp_sums_good(g->m, g->ip, g->hdr_len, g->len)) {
		s->st.rx_checksum++;
		return false;
	}
	if (!unicast(g->ip->src_addr) || !unicast(g->ip->dst_addr)) {
		s->st.rx_other++;
		return false;
	}
	if (!tcp_opts_read(g->th, thl, &g->o)) {
		s->st.rx_malformed++;
		return false;
	}
	g->hdr_len += thl;
	g->len -= thl;
	g->seq = rte_be_to_cpu_32(g->th->sent_seq);
	g->ack = rte_be_to_cpu_32(g->th->recv_ack);
	g->wnd = rte_be_to_cpu_16(g->th->rx_win);
	g->flags = g->th->tcp_flags;
	return true;
}

static void
no_conn(struct tcp_stack *s, struct tcp_seg *g)
{
	struct tcp_listener *l = tcp_find_listener(s, g->ip->dst_addr, g->th->dst_port);

	if (!s->ops->local(s->home, g->ip->dst_addr)) {
		s->st.rx_other++;
		return;
	}
	if (l != NULL) {
		tcp_listen_input(l, g);
		return;
	}
	if (s->ops->quiet != NULL && s->ops->quiet(s->home, g->th->dst_port)) {
		s->st.rx_other++;
		return;
	}
	s->st.rx_no_conn++;
	tcp_send_reset(s, g);
}

static void
input_one(struct tcp_stack *s, struct tcp_seg *g)
{
	struct tcp_node *n;
	struct tcp_conn *c;

	if (!parse_ip(s, g) || !parse_tcp(s, g))
		return;
	s->st.rx_segments++;
	n = tcp_find(s, g->ip->dst_addr, g->ip->src_addr, g->th->dst_port, g->th->src_port);
	g->tw = n != NULL && n->kind == TCP_NODE_TIME_WAIT ? (struct tcp_tw *)n : NULL;
	if (g->tw != NULL && !tcp_tw_input(s, g->tw, g))
		return;
	if (n == NULL || g->tw != NULL) {
		no_conn(s, g);
		return;
	}
	c = (struct tcp_conn *)n;
	if ((g->flags & RTE_TCP_SYN_FLAG) == 0)
		g->wnd <<= c->snd_wscale;
	tcp_segment_input(c, g);
}

void
tcp_slow_input(struct tcp_stack *s, struct rte_mbuf *m)
{
	struct tcp_seg g;

	g.m = m;
	input_one(s, &g);
	rte_pktmbuf_free(g.m);
}

const struct tcp_stats *
tcp_stats(const struct tcp_stack *s)
{
	return &s->st;
}

uint32_t
tcp_conns(const struct tcp_stack *s)
{
	return s->conns;
}

uint32_t
tcp_time_waits(const struct tcp_stack *s)
{
	return s->tws;
}

void
tcp_paths_changed(struct tcp_stack *s)
{
	s->path_gen++;
}
