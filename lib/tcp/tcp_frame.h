/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* How a connection's headers are written; a header, so that the common segment costs no calls. */
#ifndef TCP_TCP_FRAME_H
#define TCP_TCP_FRAME_H

#include "tcp_priv.h"

#define TCP_TS_WORD 0x0101080a /* two NOPs, timestamps of 10 octets */

/* Both checksums, without a device that does it; l4 octets of TCP. */
void tcp_write_sums(const struct rte_mbuf *m, struct rte_ipv4_hdr *ip, uint32_t l4);

static inline uint16_t
tcp_window_field(struct tcp_conn *c, uint8_t flags)
{
	const uint8_t shift = (flags & RTE_TCP_SYN_FLAG) != 0 ? 0 : c->rcv_wscale;
	uint32_t w;

	if (unlikely(c->n.state == TCP_SYN_SENT))
		return (uint16_t)RTE_MIN(c->rcvbuf, UINT32_C(65535));
	w = (tcp_rx_window(c) + (1u << shift) - 1) >> shift;
	w = RTE_MIN(w, UINT32_C(65535));
	if (seq_lt(c->rcv_adv, c->rcv_nxt + (w << shift)))
		c->rcv_adv = c->rcv_nxt + (w << shift);
	return (uint16_t)w;
}

/* The same for data that nothing has arrived before since the window was told last, and that need not tell another one. */
static inline uint16_t
tcp_window_told(struct tcp_conn *c)
{
	uint32_t w;

	if (unlikely(c->rcv_nxt != c->rcv_acked || c->ack_now || seq_lt(c->rcv_adv, c->rcv_nxt)))
		return tcp_window_field(c, RTE_TCP_ACK_FLAG);
	/* What SYN told had no scale. */
	w = (c->rcv_adv - c->rcv_nxt + (1u << c->rcv_wscale) - 1) >> c->rcv_wscale;
	c->rcv_adv = c->rcv_nxt + (w << c->rcv_wscale);
	return (uint16_t)w;
}

/* The pseudo-header's sum as a device wants it; that of a large send is without the length. */
static inline uint16_t
tcp_pseudo_sum(const struct tcp_conn *c, uint32_t len)
{
	const uint32_t sum = c->addr_sum + rte_cpu_to_be_16((uint16_t)len);

	return (uint16_t)(sum + (sum >> 16));
}

/* Several fields of a header in one store, the first in the highest bits. */
static inline void
tcp_put32(void *to, uint32_t v)
{
	v = rte_cpu_to_be_32(v);
	memcpy(to, &v, sizeof(v));
}
static inline void
tcp_put64(void *to, uint64_t v)
{
	v = rte_cpu_to_be_64(v);
	memcpy(to, &v, sizeof(v));
}
static_assert(offsetof(struct tcp_node, laddr) == offsetof(struct tcp_node, raddr) + 4 &&
		      offsetof(struct tcp_node, lport) == offsetof(struct tcp_node, rport) + 2,
	      "one word each");

/* Headers in front of what m has, and the frame into the batch; opt NULL: timestamps or nothing; tso_mss 0: one segment. */
static __rte_always_inline void
tcp_put_frame(struct tcp_conn *c, struct rte_mbuf *m, uint32_t seq, uint8_t flags, uint32_t payload, uint32_t tso_mss,
	      uint8_t tos, const uint8_t *opt, uint32_t olen)
{
	const uint32_t thl = (uint32_t)sizeof(struct rte_tcp_hdr) + olen, l4 = thl + payload;
	const uint32_t front = c->l2_len + (uint32_t)sizeof(struct rte_ipv4_hdr) + thl;
	const bool plain = opt == NULL && payload != 0 && tso_mss == 0;
	struct tcp_stack *s = c->s;
	struct rte_ipv4_hdr *ip;
	struct rte_tcp_hdr *th;
	uint64_t addrs;
	uint32_t ports;
	uint8_t *p;

	m->data_off -= (uint16_t)front;
	m->data_len += (uint16_t)front;
	m->pkt_len += front;
	p = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(p, c->l2, sizeof(c->l2)); /* 18 octets, of which l2_len count */
	ip = (struct rte_ipv4_hdr *)(p + c->l2_len);
	/* Version and TOS, length, identity, DF; TTL, protocol, no sum; source and destination the other way round than c->n has them. */
	tcp_put64(ip, (uint64_t)(RTE_IPV4_VHL_DEF << 8 | tos) << 48 | (uint64_t)(sizeof(*ip) + l4) << 32 |
			      (uint32_t)c->ip_id++ << 16 | RTE_IPV4_HDR_DF_FLAG);
	tcp_put32(&ip->time_to_live, 64u << 24 | IPPROTO_TCP << 16);
	memcpy(&addrs, &c->n.raddr, sizeof(addrs));
	addrs = addrs << 32 | addrs >> 32;
	memcpy(&ip->src_addr, &addrs, sizeof(addrs));
	th = (struct rte_tcp_hdr *)(ip + 1);
	memcpy(&ports, &c->n.rport, sizeof(ports));
	ports = ports << 16 | ports >> 16;
	memcpy(&th->src_port, &ports, sizeof(ports));
	th->sent_seq = rte_cpu_to_be_32(seq);
	th->recv_ack = (flags & RTE_TCP_ACK_FLAG) != 0 ? rte_cpu_to_be_32(c->rcv_nxt) : 0;
	tcp_put32(&th->data_off, thl << 26 | (uint32_t)(flags | c->echo) << 16 |
					 (plain ? tcp_window_told(c) : tcp_window_field(c, flags)));
	if (opt != NULL) {
		memcpy(th + 1, opt, olen);
	} else if (olen != 0) {
		rte_be32_t *ts = (rte_be32_t *)(th + 1);

		ts[0] = RTE_BE32(TCP_TS_WORD);
		ts[1] = rte_cpu_to_be_32(tcp_ts_now(c));
		ts[2] = rte_cpu_to_be_32(c->ts_recent);
	}
	if (likely((flags & RTE_TCP_ACK_FLAG) != 0)) {
		c->rcv_acked = c->rcv_nxt;
		c->ack_now = c->ack_delayed = false;
		c->at[TCP_T_ACK] = TCP_NEVER;
	}
	if (likely(s->conf.tx_checksum)) {
		m->tx_offload = rte_mbuf_tx_offload(c->l2_len, sizeof(*ip), thl, tso_mss, 0, 0, 0);
		m->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM |
			      (tso_mss != 0 ? RTE_MBUF_F_TX_TCP_SEG : 0);
		th->cksum = tcp_pseudo_sum(c, tso_mss != 0 ? 0 : l4);
		th->tcp_urp = 0;
	} else {
		m->ol_flags = 0;
		th->cksum = th->tcp_urp = 0;
		tcp_write_sums(m, ip, l4);
	}
	s->tx[s->ntx++] = m;
	s->st.tx_segments++;
}

/* A segment that is no FIN, on a connection whose path is known; as it lies, where that goes. */
static __rte_always_inline bool
tcp_send_plain(struct tcp_conn *c, struct tcp_tseg *t)
{
	struct tcp_stack *s = c->s;
	struct rte_mbuf *m = t->m;
	uint8_t flags = RTE_TCP_ACK_FLAG;

	if (unlikely(rte_mbuf_refcnt_read(m) != 1 || c->ooo != NULL || c->dsack || s->ntx == TCP_TX_BATCH))
		return tcp_send_data(c, t, 1, t->len, 0);
	if ((t->flags & TSEG_PSH) != 0 || (t->next == NULL && !c->more))
		flags |= RTE_TCP_PSH_FLAG;
	m->next = NULL;
	m->nb_segs = 1;
	rte_mbuf_refcnt_set(m, 2);
	m->data_off = t->off;
	m->data_len = t->len;
	m->pkt_len = t->len;
	s->st.tx_bytes += t->len;
	/* Two functions, each with its lengths known. */
	if (likely(c->opt_ts))
		tcp_put_frame(c, m, t->seq, flags, t->len, 0, c->ect, NULL, 12);
	else
		tcp_put_frame(c, m, t->seq, flags, t->len, 0, c->ect, NULL, 0);
	return true;
}

#endif /* TCP_TCP_FRAME_H */
