/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the card does for datagrams and not for connections: checksums, and large sends in parts. */
#include <netinet/in.h>

#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "cm.h"

#define V4_LEN 20u
#define V4_TOTAL 2u /* places in the header of IPv4 */
#define V4_ID 4u
#define V4_SUM 10u
#define V4_ADDRESSES 12u
#define V6_LEN 40u
#define V6_PAYLOAD 4u /* in that of IPv6 */
#define V6_ADDRESSES 8u

/*
 * Of TCP or UDP at off, whose pseudo header has the sum pseudo; complemented. rte_raw_cksum_mbuf() loses carries behind a buffer
 * of an odd length.
 */
static uint16_t
l4_sum(const struct rte_mbuf *m, uint32_t off, uint32_t len, uint32_t pseudo)
{
	uint32_t done, n, sum = pseudo;

	for (done = 0; done < len; done += n, off = 0, m = m->next) {
		uint16_t raw;

		n = RTE_MIN(len - done, m->data_len - off);
		raw = rte_raw_cksum(rte_pktmbuf_mtod_offset(m, const uint8_t *, off), n);
		sum += (done & 1) != 0 ? rte_bswap16(raw) : raw;
	}
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)~sum;
}

bool
ipoib_cm_sums(struct rte_mbuf *m, uint32_t at)
{
	uint64_t asks = m->ol_flags & RTE_MBUF_F_TX_L4_MASK;
	uint8_t *l3 = rte_pktmbuf_mtod_offset(m, uint8_t *, at);
	bool v4 = l3[0] >> 4 == 4, udp = asks == RTE_MBUF_F_TX_UDP_CKSUM;
	bool l4 = udp || asks == RTE_MBUF_F_TX_TCP_CKSUM || (m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
	uint32_t field = udp ? offsetof(struct rte_udp_hdr, dgram_cksum) : offsetof(struct rte_tcp_hdr, cksum);
	uint32_t head = v4 ? (l3[0] & 15u) * 4 : RTE_MAX(V6_LEN, (uint32_t)m->l3_len);
	uint32_t len = v4 ? ib_get16(l3 + V4_TOTAL) : V6_LEN + ib_get16(l3 + V6_PAYLOAD), pseudo;
	uint16_t sum;

	if (head < V4_LEN || m->data_len < at + head + (l4 ? field + sizeof(sum) : 0) || len < head ||
	    m->pkt_len < at + len)
		return false;
	if (v4 && (m->ol_flags & RTE_MBUF_F_TX_IP_CKSUM) != 0) {
		memset(l3 + V4_SUM, 0, sizeof(sum));
		sum = (uint16_t)~rte_raw_cksum(l3, head);
		memcpy(l3 + V4_SUM, &sum, sizeof(sum));
	}
	if (!l4)
		return true;
	len -= head;
	memset(l3 + head + field, 0, sizeof(sum));
	pseudo = rte_raw_cksum(l3 + (v4 ? V4_ADDRESSES : V6_ADDRESSES), v4 ? 8 : 32);
	pseudo += rte_cpu_to_be_16((uint16_t)len);
	pseudo += rte_cpu_to_be_16(udp ? IPPROTO_UDP : IPPROTO_TCP);
	sum = l4_sum(m, at + head, len, pseudo);
	/* RFC 768: none is zeros. */
	if (sum == 0 && udp)
		sum = 0xffff;
	memcpy(l3 + head + field, &sum, sizeof(sum));
	return true;
}

bool
ipoib_cm_can_cut(const struct rte_mbuf *m)
{
	uint32_t head = ipoib_tx_header(m);

	return m->l2_len == RTE_ETHER_HDR_LEN && m->l3_len >= V4_LEN && m->l4_len >= sizeof(struct rte_tcp_hdr) &&
	       head <= m->data_len && head <= RTE_PKTMBUF_HEADROOM;
}

struct rte_mbuf *
ipoib_cm_cut(const struct rte_mbuf *m, struct rte_mempool *pool, uint32_t no)
{
	uint32_t head = ipoib_tx_header(m), at = no * m->tso_segsz, left = m->pkt_len - head - at;
	uint32_t len = RTE_MIN(left, (uint32_t)m->tso_segsz);
	struct rte_mbuf *part = rte_pktmbuf_copy(m, pool, head + at, len);
	struct rte_tcp_hdr *tcp;
	uint8_t *p, *l3;

	p = part != NULL ? (uint8_t *)rte_pktmbuf_prepend(part, (uint16_t)head) : NULL;
	if (p == NULL) {
		rte_pktmbuf_free(part);
		return NULL;
	}
	memcpy(p, rte_pktmbuf_mtod(m, const void *), head);
	l3 = p + m->l2_len;
	tcp = (struct rte_tcp_hdr *)(void *)(l3 + m->l3_len);
	if (l3[0] >> 4 == 4) {
		ib_put16(l3 + V4_TOTAL, (uint16_t)(part->pkt_len - m->l2_len));
		ib_put16(l3 + V4_ID, (uint16_t)(ib_get16(l3 + V4_ID) + no));
	} else {
		ib_put16(l3 + V6_PAYLOAD, (uint16_t)(part->pkt_len - m->l2_len - V6_LEN));
	}
	tcp->sent_seq = rte_cpu_to_be_32(rte_be_to_cpu_32(tcp->sent_seq) + at);
	/* The first one tells that the window was reduced, the last one that the stream is to be pushed or ends. */
	if (no != 0)
		tcp->tcp_flags &= (uint8_t)~RTE_TCP_CWR_FLAG;
	if (len != left)
		tcp->tcp_flags &= (uint8_t) ~(RTE_TCP_PSH_FLAG | RTE_TCP_FIN_FLAG);
	part->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IP_CKSUM;
	if (!ipoib_cm_sums(part, m->l2_len)) {
		rte_pktmbuf_free(part);
		return NULL;
	}
	return part;
}
