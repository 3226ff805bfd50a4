/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What arrived: rxq.c, and the window that is told. A part of tcp_priv.h. */
#ifndef TCP_RXQ_H
#define TCP_RXQ_H

/* Small segments go into the tail's free room rather than hold an mbuf each, once many wait. */
#define TCP_RX_JOIN_FROM 32u
/* Text of an acceptable segment (RFC 9293 3.10.7.4, seventh); takes g->m. */
void tcp_rx_text(struct tcp_conn *c, struct tcp_seg *g);
/* Where mbufs are scarce: whether the connection gets what this segment brings, in an mbuf or in a copy on the heap. */
bool tcp_rx_may(const struct tcp_conn *c, const struct tcp_seg *g);
/* The next len bytes, mbufs from head to tail; rcv_nxt is the caller's. */
void tcp_rx_append(struct tcp_conn *c, struct rte_mbuf *head, struct rte_mbuf *tail, uint32_t len, uint32_t mbufs);
/* RFC 2883: the bytes that came twice are the first block of the next acknowledgement. */
void tcp_rx_twice(struct tcp_conn *c, uint32_t seq, uint32_t end);
uint32_t tcp_rx_copy(struct tcp_conn *c, const struct iovec *iov, int n, bool peek);
void tcp_rx_free(struct tcp_conn *c);
void tcp_ooo_free(struct tcp_conn *c);
/* The window that was told and is open. */
static inline uint32_t
tcp_rx_told(const struct tcp_conn *c)
{
	return seq_lt(c->rcv_nxt, c->rcv_adv) ? c->rcv_adv - c->rcv_nxt : 0;
}
/* The window to tell, bytes. What was told stays told (3.8.6.2.1: the right edge never goes back); it moves on by a good piece or
 * not at all (3.8.6.2.2). */
static inline uint32_t
tcp_rx_window(const struct tcp_conn *c)
{
	const uint32_t told = tcp_rx_told(c), piece = RTE_MIN((uint32_t)c->mss, c->rcvbuf / 2);
	uint32_t room = c->rcvbuf;

	if (likely(room < c->rcv_queued + told + piece))
		return told;
	/* What would not be taken need not be sent. */
	if (unlikely(c->s->rx_scarce)) {
		room = RTE_MIN(room, c->s->rx_room + RTE_MAX(4u * c->mss, 2 * TCP_BUF_MIN));
		if (room < c->rcv_queued + told + piece)
			return told;
	}
	room -= c->rcv_queued;
	room = RTE_MIN(room, UINT32_C(65535) << c->rcv_wscale) & ~((UINT32_C(1) << c->rcv_wscale) - 1);
	return room < told + piece ? told : room;
}
/* SACK blocks, the newest first. */
uint32_t tcp_rx_sack(const struct tcp_conn *c, uint32_t (*block)[2], uint32_t max);

#endif /* TCP_RXQ_H */
