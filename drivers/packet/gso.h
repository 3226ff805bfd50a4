/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Several packets as one frame, which virtio's header describes (OASIS virtio 1.2, 5.1.6): payloads of one size, the last one
 * at most of that, behind the headers of the first. Code on octets, without I/O.
 */
#ifndef PACKET_GSO_H
#define PACKET_GSO_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/virtio_net.h>

#include <rte_mbuf.h>

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5 /* since Linux 6.2 */
#endif

#define PKT_SEGS 64u      /* packets of a frame that is made */
#define PKT_FRAME 65535u  /* octets of a frame: what is larger, interfaces cut */
#define PKT_JOIN_HEAD 62u /* Ethernet, IPv6, UDP */
#define PKT_CUT_HEAD 128u /* with two tags, options, and TCP with options */
#define PKT_ROCE_PORT 4791u

/* A frame in the making. */
struct pkt_join {
	const uint8_t *first; /* its first packet */
	uint32_t head, seg;   /* octets of headers, and of each payload but the last */
	uint32_t num, len;    /* packets, octets */
	bool closed;          /* by a packet that is shorter than the others */
};

/* Begins with a packet that others may follow: UDP without a sum, in one piece, as all of RoCE. */
bool pkt_join_first(struct pkt_join *j, const struct rte_mbuf *m);
/* Takes the next packet in, if it is one that cutting makes of the first. */
bool pkt_join_next(struct pkt_join *j, const struct rte_mbuf *m);
/* Headers of the frame: j->head octets. */
void pkt_join_head(const struct pkt_join *j, uint8_t *head, struct virtio_net_hdr *v);

/* How a frame is cut. */
struct pkt_cut {
	uint32_t l3, l4, head; /* octets in front of IP, of UDP or TCP, and of the payload */
	uint32_t seg, num;     /* octets of each payload but the last; packets */
	uint32_t payload;      /* of all */
	bool v6, tcp;
	uint8_t first[PKT_CUT_HEAD]; /* headers of the frame */
};

/* p: the frame's first octets, of which there are have; len: of the whole. -EPROTO: not by this code. */
int pkt_cut_init(struct pkt_cut *c, const struct virtio_net_hdr *v, const uint8_t *p, uint32_t have, uint32_t len);
/* Octets of payload of packet i. */
uint32_t pkt_cut_payload(const struct pkt_cut *c, uint32_t i);
/* Writes the headers of packet i at p, behind which its payload lies already. Its length. */
uint32_t pkt_cut_head(const struct pkt_cut *c, uint32_t i, uint8_t *p);

/* Makes the sum that the sender has left to others. -EPROTO: it is not in the frame. */
int pkt_sum(const struct virtio_net_hdr *v, uint8_t *p, uint32_t len);

#endif /* PACKET_GSO_H */
