/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Frames from the kernel. Payloads of a joined frame are read to where they stay: each into a buffer of its own, behind the
 * place of its headers, as far as the frame is like the last one. Others are copied once more.
 */
#include <errno.h>
#include <string.h>

#include <linux/if_packet.h>

#include <rte_ether.h>
#include <rte_mbuf.h>

#include "packet.h"

/* A frame that was read. */
struct frame {
	uint32_t len;
	bool tagged;
	uint16_t tci, tpid;
};

static uint8_t *
data(const struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod(m, uint8_t *);
}

/* --- where the next frame goes ------------------------------------------------------------------------------------------ */

/* Buffers for as many packets as the next frame may have. false: there is not even one. */
static bool
fill_slots(struct pkt_rxq *q)
{
	const uint32_t octets = q->large == 0 ? 1 : q->seg;
	uint32_t want = q->large == 0 ? 1 : RTE_MIN((PKT_FRAME + octets - 1) / octets, PKT_SLOTS);

	while (q->num_slots < want &&
	       rte_pktmbuf_alloc_bulk(q->pool, &q->slot[q->num_slots], want - q->num_slots) != 0) {
		if (q->num_slots > 0)
			return true;
		if (want == 1)
			return false;
		want = 1;
	}
	q->num_slots = RTE_MAX(q->num_slots, want);
	return true;
}

static void
lay_out(struct pkt_rxq *q)
{
	const uint32_t n = q->large == 0 ? 1 : q->num_slots;

	q->iov[0] = (struct iovec){&q->v, sizeof(q->v)};
	q->iov[1] = (struct iovec){data(q->slot[0]), q->large == 0 ? q->room : q->head + q->seg};
	for (uint32_t i = 1; i < n; i++)
		q->iov[1 + i] = (struct iovec){data(q->slot[i]) + q->head, q->seg};
	q->iov[1 + n] = (struct iovec){q->rest, sizeof(q->rest)};
	q->num_iov = n + 2;
}

/* The first n slots have packets now. */
static void
use_slots(struct pkt_rxq *q, uint32_t n)
{
	q->num_slots -= n;
	memmove(q->slot, q->slot + n, q->num_slots * sizeof(q->slot[0]));
	q->num_iov = 0;
}

/* All of a frame in one piece, for those that lie otherwise than was thought. */
static const uint8_t *
flatten(struct pkt_rxq *q, uint32_t len)
{
	uint32_t at = 0;

	for (uint32_t i = 1; at < len && i < q->num_iov; i++) {
		uint32_t n = RTE_MIN(len - at, (uint32_t)q->iov[i].iov_len);

		memcpy(q->flat + at, q->iov[i].iov_base, n);
		at += n;
	}
	return q->flat;
}

void
pkt_rx_free(struct pkt_rxq *q)
{
	rte_pktmbuf_free_bulk(q->slot, q->num_slots);
	rte_pktmbuf_free_bulk(q->ready + q->first_ready, q->num_ready);
	q->num_slots = q->num_iov = q->num_ready = q->large = 0;
	q->busy = false;
}

/* --- packets ------------------------------------------------------------------------------------------------------------ */

static void
set_len(const struct pkt_rxq *q, struct rte_mbuf *m, uint32_t len, uint64_t flags)
{
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	m->ol_flags = flags;
	m->port = q->port->port_id;
}

/* The kernel keeps the outer tag beside the frame; it stays so where a buffer has no room in front. */
static struct rte_mbuf *
put_tag(struct rte_mbuf *m, const struct frame *f)
{
	m->vlan_tci = f->tci;
	if (rte_vlan_insert(&m) == 0)
		memcpy(data(m) + 2 * RTE_ETHER_ADDR_LEN, &f->tpid, sizeof(f->tpid));
	else
		m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	return m;
}

static void
hand_on(struct pkt_rxq *q, struct rte_mbuf *m, const struct frame *f)
{
	if (f->tagged)
		m = put_tag(m, f);
	q->bytes += m->pkt_len;
	q->packets++;
	q->ready[q->num_ready++] = m;
}

/* A frame that is one packet. */
static void
take_single(struct pkt_rxq *q, const struct frame *f)
{
	const bool partial = (q->v.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) != 0;
	struct rte_mbuf *m = q->slot[0];

	if (f->len > q->room) {
		q->refused++;
		return;
	}
	if (f->len > q->iov[1].iov_len)
		memcpy(data(m), flatten(q, f->len), f->len);
	if (partial && pkt_sum(&q->v, data(m), f->len) != 0) {
		q->refused++;
		return;
	}
	q->sums += partial;
	q->large -= q->large != 0;
	use_slots(q, 1);
	set_len(q, m, f->len,
		partial || (q->v.flags & VIRTIO_NET_HDR_F_DATA_VALID) != 0 ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : 0);
	if (!f->tagged)
		pkt_peer_heard(q->port, data(m), f->len);
	hand_on(q, m, f);
}

/* Of a frame that lies elsewhere: new buffers. false: there are none, and the frame is lost. */
static bool
copy_packets(struct pkt_rxq *q, const struct pkt_cut *c, uint32_t len)
{
	const uint8_t *from = flatten(q, len) + c->head;

	if (rte_pktmbuf_alloc_bulk(q->pool, q->ready, c->num) != 0) {
		q->no_mbuf += c->num;
		return false;
	}
	for (uint32_t i = 0; i < c->num; i++)
		memcpy(data(q->ready[i]) + c->head, from + i * c->seg, pkt_cut_payload(c, i));
	q->copied++;
	return true;
}

static void
take_joined(struct pkt_rxq *q, const struct frame *f)
{
	uint32_t have = RTE_MIN(f->len, (uint32_t)q->iov[1].iov_len);
	const uint8_t *p = q->iov[1].iov_base;
	struct pkt_cut c;
	bool fits;

	/* Of short packets not even the headers may be in one piece. */
	if (have < RTE_MIN(f->len, PKT_CUT_HEAD)) {
		p = flatten(q, f->len);
		have = f->len;
	}
	if (pkt_cut_init(&c, &q->v, p, have, f->len) != 0 || c.num > PKT_READY || c.head + c.seg > q->room) {
		q->refused++;
		return;
	}
	fits = q->large != 0 && c.head == q->head && c.seg == q->seg && c.num <= q->num_slots;
	if (fits) {
		memcpy(q->ready, q->slot, c.num * sizeof(q->ready[0]));
		use_slots(q, c.num);
	} else if (!copy_packets(q, &c, f->len)) {
		return;
	}
	for (uint32_t i = 0; i < c.num; i++) {
		struct rte_mbuf *m = q->ready[i];

		set_len(q, m, pkt_cut_head(&c, i, data(m)), RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD);
		hand_on(q, m, f); /* to the place that it has */
	}
	q->joined++;
	q->joined_packets += c.num;
	q->large = PKT_LARGE;
	if (!fits) {
		q->head = c.head;
		q->seg = c.seg;
		q->num_iov = 0;
	}
}

/* --- a burst ------------------------------------------------------------------------------------------------------------ */

/* false: there is no frame. */
static bool
read_frame(struct pkt_rxq *q, struct frame *f)
{
	char control[CMSG_SPACE(sizeof(struct tpacket_auxdata))] __rte_aligned(8);
	struct msghdr msg = {
		.msg_iov = q->iov, .msg_iovlen = q->num_iov, .msg_control = control, .msg_controllen = sizeof(control)};
	const struct cmsghdr *cmsg;
	struct tpacket_auxdata aux;
	ssize_t len = recvmsg(q->fd, &msg, MSG_DONTWAIT);

	f->len = 0;
	if (len < 0) {
		/* A frame that the header has no words for is gone. */
		if (errno == EINVAL)
			q->refused++;
		return false;
	}
	f->tagged = false;
	len -= (ssize_t)sizeof(q->v);
	if ((msg.msg_flags & MSG_TRUNC) != 0 || len <= RTE_ETHER_HDR_LEN || len > (ssize_t)sizeof(q->flat)) {
		q->refused++;
		return true;
	}
	f->len = (uint32_t)len;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg == NULL || cmsg->cmsg_level != SOL_PACKET || cmsg->cmsg_type != PACKET_AUXDATA)
		return true;
	memcpy(&aux, CMSG_DATA(cmsg), sizeof(aux));
	f->tagged = (aux.tp_status & TP_STATUS_VLAN_VALID) != 0;
	f->tci = aux.tp_vlan_tci;
	f->tpid = (aux.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0 ? rte_cpu_to_be_16(aux.tp_vlan_tpid)
								   : RTE_BE16(RTE_ETHER_TYPE_VLAN);
	return true;
}

static uint16_t
take_ready(struct pkt_rxq *q, struct rte_mbuf **pkts, uint16_t n)
{
	n = (uint16_t)RTE_MIN(n, q->num_ready);
	memcpy(pkts, q->ready + q->first_ready, n * sizeof(pkts[0]));
	q->num_ready -= n;
	q->first_ready = q->num_ready == 0 ? 0 : q->first_ready + n;
	return n;
}

uint16_t
pkt_rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct pkt_rxq *q = queue;
	uint16_t got = 0;
	struct frame f;

	while (got < n) {
		if (q->num_ready != 0) {
			got += take_ready(q, pkts + got, (uint16_t)(n - got));
			/* Who waits for one frame gets it at once: only among many is looked for the next one. */
			if (!q->busy) {
				q->busy = true;
				break;
			}
			continue;
		}
		if (q->num_iov == 0) {
			if (!fill_slots(q)) {
				q->no_mbuf++;
				break;
			}
			lay_out(q);
		}
		if (!read_frame(q, &f)) {
			q->busy = false;
			break;
		}
		if (f.len != 0 && q->v.gso_type == VIRTIO_NET_HDR_GSO_NONE)
			take_single(q, &f);
		else if (f.len != 0)
			take_joined(q, &f);
	}
	return got;
}
