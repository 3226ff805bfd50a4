/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Segments as frames: headers, options, checksums, and the batch that goes to the home. */
#include <errno.h>

#include "tcp_frame.h"

int
tcp_path_ask(struct tcp_conn *c)
{
	struct tcp_stack *s = c->s;
	struct tcp_path p = {.mtu = 1500};
	uint32_t at = 2 * RTE_ETHER_ADDR_LEN;
	int rc;

	rc = s->ops->path(s->home, c->n.laddr, c->n.raddr, &p);
	if (rc != 0)
		return rc;
	if (c->n.laddr == 0)
		c->n.laddr = p.local;
	memcpy(c->l2, &p.dst, RTE_ETHER_ADDR_LEN);
	memcpy(c->l2 + RTE_ETHER_ADDR_LEN, &p.src, RTE_ETHER_ADDR_LEN);
	if (p.vlan != 0) {
		c->l2[at++] = 0x81;
		c->l2[at++] = 0;
		c->l2[at++] = (uint8_t)(p.vlan >> 8);
		c->l2[at++] = (uint8_t)p.vlan;
	}
	c->l2[at++] = 0x08;
	c->l2[at++] = 0;
	c->l2_len = (uint8_t)at;
	tcp_pmtu_path(c, tcp_path_mtu(&p));
	c->path_gen = s->path_gen;
	c->addr_sum = (c->n.laddr >> 16) + (c->n.laddr & 0xffff) + (c->n.raddr >> 16) + (c->n.raddr & 0xffff) +
		      RTE_BE16(IPPROTO_TCP);
	c->addr_sum = (c->addr_sum & 0xffff) + (c->addr_sum >> 16);
	c->addr_sum = (c->addr_sum & 0xffff) + (c->addr_sum >> 16);
	if (c->mss != 0)
		tcp_mss_set(c);
	return 0;
}

void
tcp_flush(struct tcp_stack *s)
{
	uint16_t done;

	done = s->ops->tx(s->home, s->tx, (uint16_t)s->ntx);
	s->sent += done;
	if (likely(done == s->ntx)) {
		s->ntx = 0;
		s->blocked = false;
	} else {
		s->ntx -= done;
		memmove(s->tx, s->tx + done, s->ntx * sizeof(s->tx[0]));
		s->blocked = true;
		s->st.tx_blocked++;
	}
}

/* There is room in the batch for one frame. */
static bool
room(struct tcp_stack *s)
{
	if (likely(s->ntx < TCP_TX_BATCH))
		return true;
	tcp_flush(s);
	return s->ntx < TCP_TX_BATCH;
}

static struct rte_mbuf *
header_mbuf(struct tcp_stack *s)
{
	struct rte_mbuf *m = room(s) ? tcp_mbuf(s) : NULL;

	if (unlikely(m == NULL))
		return NULL;
	m->data_off = TCP_MBUF_FRONT;
	return m;
}

/* Not rte_raw_cksum_mbuf: of a piece at an odd place it loses the carries (DPDK 22.11). */
uint16_t
tcp_sum(const struct rte_mbuf *m, const struct rte_ipv4_hdr *ip, uint32_t off, uint32_t len)
{
	uint32_t sum = (ip->src_addr >> 16) + (ip->src_addr & 0xffff) + (ip->dst_addr >> 16) + (ip->dst_addr & 0xffff) +
		       rte_cpu_to_be_16(ip->next_proto_id) + rte_cpu_to_be_16((uint16_t)len);
	bool odd = false;

	for (; len != 0; m = m->next) {
		uint32_t n = m->data_len;
		uint16_t part;

		if (off >= n) {
			off -= n;
			continue;
		}
		n = RTE_MIN(n - off, len);
		part = rte_raw_cksum(rte_pktmbuf_mtod_offset(m, const void *, off), n);
		sum += odd ? rte_bswap16(part) : part;
		odd ^= (n & 1) != 0;
		len -= n;
		off = 0;
	}
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

void
tcp_write_sums(const struct rte_mbuf *m, struct rte_ipv4_hdr *ip, uint32_t l4)
{
	struct rte_tcp_hdr *th = (struct rte_tcp_hdr *)(ip + 1);

	ip->hdr_checksum = rte_ipv4_cksum(ip);
	th->cksum = (uint16_t)~tcp_sum(m, ip, m->pkt_len - l4, l4);
}

static uint8_t *
put32(uint8_t *p, uint32_t v)
{
	v = rte_cpu_to_be_32(v);
	memcpy(p, &v, 4);
	return p + 4;
}

/* Of a SYN: what we can do, or what both can do. */
static uint8_t *
put_syn_options(const struct tcp_conn *c, uint8_t *p)
{
	const struct tcp_conf *f = &c->s->conf;
	const bool answer = c->n.state == TCP_SYN_RECV;
	const uint32_t mss = tcp_mss_ours(c->mtu_path, c->mss_set);
	const bool ts = answer ? c->opt_ts : !f->no_timestamps, sack = answer ? c->opt_sack : !f->no_sack;

	*p++ = TCPOPT_MAXSEG;
	*p++ = 4;
	*p++ = (uint8_t)(mss >> 8);
	*p++ = (uint8_t)mss;
	*p++ = sack ? TCPOPT_SACK_PERMITTED : TCPOPT_NOP;
	*p++ = sack ? 2 : TCPOPT_NOP;
	*p++ = ts ? TCPOPT_TIMESTAMP : TCPOPT_NOP;
	*p++ = ts ? 10 : TCPOPT_NOP;
	if (ts) {
		p = put32(p, tcp_ts_now(c));
		p = put32(p, c->ts_recent);
	}
	if (answer ? c->opt_wscale : !f->no_wscale) {
		*p++ = TCPOPT_NOP;
		*p++ = TCPOPT_WINDOW;
		*p++ = 3;
		*p++ = c->rcv_wscale;
	}
	return p;
}

static uint8_t *
put_options(struct tcp_conn *c, uint8_t *p, uint32_t room_for)
{
	uint32_t block[TCP_SACK_MAX][2], n, i, max;

	if (c->opt_ts) {
		p = put32(p, TCP_TS_WORD);
		p = put32(p, tcp_ts_now(c));
		p = put32(p, c->ts_recent);
	}
	if (likely(!c->opt_sack || (c->ooo == NULL && !c->dsack)) || room_for < 12)
		return p;
	max = RTE_MIN((room_for - 4) / 8, c->opt_ts ? 3u : 4u);
	n = tcp_rx_sack(c, block, max);
	c->dsack = false;
	if (n == 0)
		return p;
	p = put32(p, 0x01010500 | (2 + 8 * n));
	for (i = 0; i < n; i++) {
		p = put32(p, block[i][0]);
		p = put32(p, block[i][1]);
	}
	return p;
}

/* Options beside timestamps, seldom: their octets. */
static uint32_t
put_rare_options(struct tcp_conn *c, uint8_t *opt, uint8_t flags, uint32_t payload)
{
	const uint8_t *end = opt;

	if ((flags & RTE_TCP_SYN_FLAG) != 0)
		end = put_syn_options(c, opt);
	else
		/* RFC 7323 3.2: RST should have the timestamps, too; what arrived is of no use any more. */
		end = put_options(c, opt,
				  payload >= c->mss || (flags & RTE_TCP_RST_FLAG) != 0
					  ? 0
					  : RTE_MIN(c->mss - payload, 28u + (c->opt_ts ? 0 : 12)));
	return (uint32_t)(end - opt);
}

static void
send_frame(struct tcp_conn *c, struct rte_mbuf *m, uint32_t seq, uint8_t flags, uint32_t payload, uint32_t tso_mss,
	   uint8_t tos)
{
	uint8_t opt[40];

	if (likely((flags & (RTE_TCP_SYN_FLAG | RTE_TCP_RST_FLAG)) == 0 && c->ooo == NULL && !c->dsack))
		tcp_put_frame(c, m, seq, flags, payload, tso_mss, tos, NULL, c->opt_ts ? 12 : 0);
	else
		tcp_put_frame(c, m, seq, flags, payload, tso_mss, tos, opt, put_rare_options(c, opt, flags, payload));
}

bool
tcp_send_control(struct tcp_conn *c, uint32_t seq, uint8_t flags)
{
	struct tcp_stack *s = c->s;
	struct rte_mbuf *m;

	if (tcp_path_get(c) != 0) {
		s->st.tx_no_path++;
		return false;
	}
	m = header_mbuf(s);
	if (m == NULL)
		return false;
	s->st.tx_rst += (flags & RTE_TCP_RST_FLAG) != 0;
	send_frame(c, m, seq, flags, 0, 0, 0);
	return true;
}

bool
tcp_send_ack(struct tcp_conn *c)
{
	return tcp_send_control(c, c->snd_nxt, RTE_TCP_ACK_FLAG);
}

/* A segment's mbuf as the packet's payload: itself, or a view of it while the device has it. */
static struct rte_mbuf *
payload_mbuf(struct tcp_stack *s, struct tcp_tseg *t)
{
	struct rte_mbuf *m = t->m;

	if (likely(rte_mbuf_refcnt_read(m) == 1)) {
		m->next = NULL;
		m->nb_segs = 1;
		m->ol_flags = 0;
		rte_mbuf_refcnt_set(m, 2);
	} else {
		m = tcp_mbuf(s);
		if (unlikely(m == NULL))
			return NULL;
		rte_pktmbuf_attach(m, t->m);
	}
	m->data_off = t->off;
	m->data_len = t->len;
	m->pkt_len = t->len;
	return m;
}

/* The first mbuf: with room for headers in front, which a view has not. */
static struct rte_mbuf *
first_mbuf(struct tcp_stack *s, struct tcp_tseg *t)
{
	struct rte_mbuf *h, *m;

	if (likely(rte_mbuf_refcnt_read(t->m) == 1))
		return payload_mbuf(s, t);
	h = header_mbuf(s);
	if (h == NULL || t->len == 0)
		return h;
	m = payload_mbuf(s, t);
	if (m == NULL) {
		rte_pktmbuf_free(h);
		return NULL;
	}
	h->next = m;
	h->nb_segs = 2;
	h->pkt_len = m->pkt_len;
	return h;
}

bool
tcp_send_data(struct tcp_conn *c, struct tcp_tseg *t, uint32_t n, uint32_t len, uint32_t cut)
{
	struct tcp_stack *s = c->s;
	const struct tcp_tseg *const first = t;
	struct rte_mbuf *head, *last, *m;
	uint8_t flags = RTE_TCP_ACK_FLAG, tos = 0;

	if (unlikely(tcp_path_get(c) != 0)) {
		s->st.tx_no_path++;
		return false;
	}
	if (!room(s))
		return false;
	head = first_mbuf(s, t);
	if (head == NULL)
		return false;
	for (last = head; last->next != NULL; last = last->next)
		;
	for (;;) {
		if ((t->flags & TSEG_FIN) != 0)
			flags |= RTE_TCP_FIN_FLAG;
		if ((t->flags & TSEG_PSH) != 0)
			flags |= RTE_TCP_PSH_FLAG;
		if (--n == 0)
			break;
		t = t->next;
		m = payload_mbuf(s, t);
		if (m == NULL) {
			rte_pktmbuf_free(head);
			return false;
		}
		last->next = m;
		last = m;
		head->nb_segs++;
		head->pkt_len += m->pkt_len;
	}
	/* No more data here now, or the last of a write: RFC 9293 3.9.1.2. */
	if (t->next == NULL && !c->more)
		flags |= RTE_TCP_PSH_FLAG;
	if (len == 0)
		flags &= (uint8_t)~RTE_TCP_PSH_FLAG;
	/* RFC 3168 6.1.5, 6.1.6: what is sent again, and what asks a closed window, is not ECN-capable. */
	if (first->sends == 0 && len != 0 && !c->probe_due) {
		tos = c->ect;
		if (unlikely(c->cwr_due)) {
			flags |= RTE_TCP_CWR_FLAG;
			c->cwr_due = false;
		}
	}
	s->st.tx_bytes += len;
	send_frame(c, head, first->seq, flags, len, cut, tos);
	return true;
}

void
tcp_send_answer(struct tcp_stack *s, const struct tcp_seg *g, const struct tcp_answer *a)
{
	struct rte_mbuf *m = header_mbuf(s);
	const uint32_t olen = a->olen;
	struct rte_ether_hdr *eth;
	struct rte_ipv4_hdr *ip;
	struct rte_tcp_hdr *th;

	if (m == NULL)
		return;
	eth = (struct rte_ether_hdr *)rte_pktmbuf_append(m, (uint16_t)(g->l2_len + sizeof(*ip) + sizeof(*th) + olen));
	memcpy(eth, g->eth, g->l2_len);
	eth->dst_addr = g->eth->src_addr;
	eth->src_addr = g->eth->dst_addr;
	ip = (struct rte_ipv4_hdr *)((uint8_t *)eth + g->l2_len);
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*ip) + sizeof(*th) + olen)),
		.fragment_offset = RTE_BE16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = 64,
		.next_proto_id = IPPROTO_TCP,
		.src_addr = g->ip->dst_addr,
		.dst_addr = g->ip->src_addr,
	};
	th = (struct rte_tcp_hdr *)(ip + 1);
	*th = (struct rte_tcp_hdr){
		.src_port = g->th->dst_port,
		.dst_port = g->th->src_port,
		.sent_seq = rte_cpu_to_be_32(a->seq),
		.recv_ack = rte_cpu_to_be_32(a->ack),
		.data_off = (uint8_t)((sizeof(*th) + olen) << 2),
		.tcp_flags = a->flags,
		.rx_win = rte_cpu_to_be_16(a->wnd),
	};
	if (olen != 0)
		memcpy(th + 1, a->opt, olen);
	s->st.tx_rst += (a->flags & RTE_TCP_RST_FLAG) != 0;
	if (s->conf.tx_checksum) {
		m->tx_offload = rte_mbuf_tx_offload(g->l2_len, sizeof(*ip), sizeof(*th) + olen, 0, 0, 0, 0);
		m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM;
		th->cksum = rte_ipv4_phdr_cksum(ip, 0);
	} else {
		tcp_write_sums(m, ip, (uint32_t)sizeof(*th) + olen);
	}
	s->tx[s->ntx++] = m;
	s->st.tx_segments++;
}

void
tcp_send_reset(struct tcp_stack *s, const struct tcp_seg *g)
{
	const uint32_t len = g->len + ((g->flags & RTE_TCP_SYN_FLAG) != 0) + ((g->flags & RTE_TCP_FIN_FLAG) != 0);

	if ((g->flags & RTE_TCP_RST_FLAG) != 0)
		return;
	if ((g->flags & RTE_TCP_ACK_FLAG) != 0)
		tcp_send_answer(s, g, &(struct tcp_answer){.seq = g->ack, .flags = RTE_TCP_RST_FLAG});
	else
		tcp_send_answer(
			s, g, &(struct tcp_answer){.ack = g->seq + len, .flags = RTE_TCP_RST_FLAG | RTE_TCP_ACK_FLAG});
}

void
tcp_challenge(struct tcp_conn *c)
{
	struct tcp_stack *s = c->s;

	if (s->now_ms - c->chal_ms >= 5000) {
		c->chal_ms = s->now_ms;
		c->chal_n = 0;
	}
	if (c->chal_n >= 10) {
		s->st.tx_challenge_limited++;
		return;
	}
	c->chal_n++;
	s->st.tx_challenge++;
	tcp_send_ack(c);
}
