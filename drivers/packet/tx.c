/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A burst to the kernel: packets that follow each other as one frame, straight from their buffers. */
#include <errno.h>
#include <string.h>

#include <rte_mbuf.h>

#include "packet.h"

#define FRAME_PIECES (PKT_SEGS + 2u) /* of one frame: header, packets, mark */

static void
piece(struct pkt_txq *q, const void *base, size_t len)
{
	q->piece[q->num_pieces++] = (struct iovec){(void *)(uintptr_t)base, len};
}

/* A packet by itself. */
static void
put_single(struct pkt_txq *q, const struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t whole = q->port->gso == PKT_GSO_OFF ? 0 : pkt_peer_frame(p, m->data_len);

	memset(&q->out[q->num].v, 0, sizeof(q->out[q->num].v));
	piece(q, &q->out[q->num].v, sizeof(q->out[q->num].v));
	if (whole != 0 && m->nb_segs == 1) {
		piece(q, p, whole);
		piece(q, pkt_mark, PKT_MARK_LEN);
		return;
	}
	for (; m != NULL; m = m->next)
		piece(q, rte_pktmbuf_mtod(m, void *), m->data_len);
}

static void
put_joined(struct pkt_txq *q, struct rte_mbuf *const *pkts, const struct pkt_join *j)
{
	pkt_join_head(j, q->out[q->num].head, &q->out[q->num].v);
	piece(q, &q->out[q->num], sizeof(q->out[q->num].v) + j->head);
	for (uint32_t i = 0; i < j->num; i++)
		piece(q, rte_pktmbuf_mtod(pkts[i], uint8_t *) + j->head, pkts[i]->data_len - j->head);
}

/* The next frame of a burst; how many packets it is. */
static uint16_t
put_frame(struct pkt_txq *q, struct rte_mbuf *const *pkts, uint16_t n, bool joins)
{
	struct msghdr *msg = &q->msg[q->num].msg_hdr;
	const uint32_t first = q->num_pieces;
	struct pkt_join j = {.num = 1};

	if (joins && n > 1 && pkt_join_first(&j, pkts[0]) && pkt_peer_takes(q->port, j.first)) {
		while (j.num < n && pkt_join_next(&j, pkts[j.num]))
			;
	}
	if (j.num > 1)
		put_joined(q, pkts, &j);
	else
		put_single(q, pkts[0]);
	msg->msg_iov = &q->piece[first];
	msg->msg_iovlen = q->num_pieces - first;
	q->packets[q->num++] = (uint16_t)j.num;
	return q->packets[q->num - 1];
}

static void
count_sent(struct pkt_txq *q, struct rte_mbuf *const *pkts, uint32_t frame)
{
	const uint16_t n = q->packets[frame];

	for (uint16_t i = 0; i < n; i++)
		q->bytes += pkts[i]->pkt_len;
	q->sent += n;
	if (n > 1) {
		q->joined++;
		q->joined_packets += n;
	}
}

/* The kernel knows no frames of several packets: from now on each goes by itself. */
static bool
take_back(struct pkt_txq *q, uint32_t frame, int error)
{
	if (q->packets[frame] == 1 || error != EINVAL)
		return false;
	if (!atomic_exchange(&q->port->refused, true))
		PKT_LOG(NOTICE, "%s: the kernel takes no joined frames (Linux 6.2 does): each packet goes by itself\n",
			q->port->iface);
	return true;
}

/* Hands the frames over; how many packets are dealt with. *again: there is room for what is left. */
static uint16_t
send_frames(struct pkt_txq *q, struct rte_mbuf *const *pkts, bool *again)
{
	uint16_t done = 0;
	uint32_t at = 0;

	while (at < q->num) {
		int sent = sendmmsg(q->fd, &q->msg[at], q->num - at, MSG_DONTWAIT);

		if (sent < 0) {
			if (errno == EINTR)
				continue;
			*again = take_back(q, at, errno);
			if (*again || errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)
				return done;
			/* This one never goes: too long, or the interface is down. */
			q->refused += q->packets[at];
			done += q->packets[at++];
			continue;
		}
		for (; sent > 0; sent--) {
			count_sent(q, pkts + done, at);
			done += q->packets[at++];
		}
	}
	*again = true;
	return done;
}

uint16_t
pkt_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct pkt_txq *q = queue;
	uint16_t done = 0;
	bool again = true;

	while (again && done < n) {
		const bool joins =
			q->port->gso != PKT_GSO_OFF && !atomic_load_explicit(&q->port->refused, memory_order_relaxed);
		uint16_t put = 0;

		if (pkts[done]->nb_segs > PKT_SEGS) {
			q->refused++;
			rte_pktmbuf_free(pkts[done++]);
			continue;
		}
		q->num = q->num_pieces = 0;
		while (done + put < n && q->num < PKT_MSGS && q->num_pieces + FRAME_PIECES <= PKT_PIECES &&
		       pkts[done + put]->nb_segs <= PKT_SEGS)
			put += put_frame(q, pkts + done + put, (uint16_t)(n - done - put), joins);
		put = send_frames(q, pkts + done, &again);
		rte_pktmbuf_free_bulk(pkts + done, put);
		done += put;
	}
	return done;
}
