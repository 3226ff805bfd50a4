/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * net_triplane_packet: an ethdev on an interface of the kernel, by packet sockets whose frames carry a virtio header. Packets of
 * one flow that follow each other go as one frame that the kernel, or the receiver's port, cuts again.
 */
#ifndef PACKET_PACKET_H
#define PACKET_PACKET_H

#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <net/if.h>

#include <ethdev_driver.h>
#include <rte_log.h>

#include "gso.h"

extern int pkt_logtype;
#define PKT_LOG(level, ...) rte_log(RTE_LOG_##level, (uint32_t)pkt_logtype, "packet: " __VA_ARGS__)

#define PKT_TXQS 16u    /* transmit queues of a port */
#define PKT_MSGS 32u    /* frames that are handed to the kernel at once */
#define PKT_PIECES 256u /* pieces of memory of these frames */
#define PKT_SLOTS PKT_SEGS
#define PKT_READY 1024u /* packets of one received frame at most */
#define PKT_PEERS 64u   /* addresses that are remembered; a power of two */
#define PKT_READ 65664u /* octets of the longest frame that is read */
#define PKT_LARGE 16u   /* frames of a packet each until the next one is thought to be of a packet, too */

/* Which frames are joined. */
enum pkt_gso {
	PKT_GSO_AUTO, /* those for addresses that were heard to take them */
	PKT_GSO_ON,
	PKT_GSO_OFF,
};

struct pkt_port {
	char iface[IFNAMSIZ];
	int ctl; /* a socket for questions about the interface */
	uint16_t port_id;
	enum pkt_gso gso;
	bool bypass;
	atomic_bool refused;              /* by the kernel: it knows no joined frames */
	_Atomic uint64_t peer[PKT_PEERS]; /* addresses that take joined frames, by pkt_peer_key() */
	struct rte_ether_addr mac;
};

struct pkt_rxq {
	struct pkt_port *port;
	int fd;
	bool busy; /* the last burst ended with a frame, so that there may be another */
	struct rte_mempool *pool;
	uint32_t room; /* of a buffer behind its headroom */
	/* Where the next frame is read to: a packet each, if it is like the last joined one; the rest of it. */
	uint32_t head, seg, large;
	uint32_t num_slots, num_iov;
	struct rte_mbuf *slot[PKT_SLOTS];
	struct iovec iov[PKT_SLOTS + 2];
	struct virtio_net_hdr v;
	/* Packets of the last frame that found no room in the burst. */
	uint32_t first_ready, num_ready;
	struct rte_mbuf *ready[PKT_READY];
	uint64_t packets, bytes, joined, joined_packets, copied, sums, refused, no_mbuf;
	uint64_t missed; /* of the socket, as far as they were asked for */
	uint8_t rest[PKT_READ], flat[PKT_READ];
};

struct pkt_out {
	struct virtio_net_hdr v;
	uint8_t head[PKT_JOIN_HEAD];
} __rte_packed;

struct pkt_txq {
	struct pkt_port *port;
	int fd;
	uint32_t num, num_pieces;
	struct mmsghdr msg[PKT_MSGS];
	uint16_t packets[PKT_MSGS]; /* of each frame */
	struct iovec piece[PKT_PIECES];
	struct pkt_out out[PKT_MSGS];
	uint64_t sent, bytes, joined, joined_packets, refused;
};

/* --- peer.c: who takes joined frames, by what stands behind ARP and neighbour discovery --- */

#define PKT_MARK_LEN 18u /* fills an ARP packet up to the shortest frame */
extern const uint8_t pkt_mark[PKT_MARK_LEN];

/* Octets of an untagged frame of ARP or neighbour discovery, without what stands behind; 0: another frame. */
uint32_t pkt_peer_frame(const uint8_t *p, uint32_t len);
/* A frame that came: its sender takes joined frames, or does not. */
void pkt_peer_heard(struct pkt_port *port, const uint8_t *p, uint32_t len);
/* Does the destination of an untagged IP packet? */
bool pkt_peer_takes(struct pkt_port *port, const uint8_t *p);

/* --- rx.c, tx.c --- */

uint16_t pkt_rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n);
uint16_t pkt_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t n);
/* Buffers that wait for frames, and packets that wait for the application. */
void pkt_rx_free(struct pkt_rxq *q);

extern const struct eth_dev_ops pkt_eth_ops;

/* --- conf.c --- */

int pkt_conf_parse(const char *text, struct pkt_port *port);

#endif /* PACKET_PACKET_H */
