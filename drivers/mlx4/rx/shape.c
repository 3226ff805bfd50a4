/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Which buffers a frame is received into: as many of one pool as it needs, or (lookahead split) a first one of the length
 * of headers, of a pool of its own if wanted, and the rest behind it. The card splits by length and knows no headers: a
 * split behind the headers of some protocol is made by the burst (burst_headers.c) of frames that come whole.
 */
#include <errno.h>
#include <stdio.h>

#include <rte_ip.h>
#include <rte_tcp.h>

#include "drivers/mlx4/port/port.h"
#include "queue.h"

#define SPLIT_MIN 32u
#define SPLIT_MAX 1024u
/* Headers that any packet may have: two tags, IPv4 and TCP with all the options that there is room for. */
#define HEADERS_ROOM (RTE_ETHER_HDR_LEN + 2u * RTE_VLAN_HLEN + 60u + 60u)
/* Segments are joined that have their headers in the first buffer; of IPv4 and TCP without options or tag: */
#define LRO_SPLIT_MIN (RTE_ETHER_HDR_LEN + sizeof(struct rte_ipv4_hdr) + sizeof(struct rte_tcp_hdr))

static uint32_t
frame_bytes(const struct mlx4_eth *eth)
{
	return eth->dev->data->mtu + RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN + RTE_ETHER_CRC_LEN;
}

/* Buffers of a frame behind the header's: one at least, even if no frame is longer than a header. */
static uint32_t
data_buffers(const struct mlx4_rxq *q, uint16_t hdr_len)
{
	uint32_t frame = frame_bytes(q->eth), rest = frame > hdr_len ? frame - hdr_len : 1;

	return (rest + q->buf_len - 1) / q->buf_len;
}

static uint32_t
buffers(const struct mlx4_rxq *q, uint16_t hdr_len)
{
	return rte_align32pow2(data_buffers(q, hdr_len) + (hdr_len != 0));
}

uint32_t
mlx4_rxq_room(const struct mlx4_rxq *q)
{
	uint32_t n = 1u << q->lg_sges;

	return q->hdr_len == 0 ? q->buf_len * n : q->hdr_len + q->buf_len * (n - 1);
}

int
mlx4_rxq_check_shape(const struct mlx4_rxq *q, uint16_t hdr_len, char *err, size_t err_len)
{
	const struct mlx4_caps *c = &q->eth->hca->caps;
	const struct rte_mempool *hdr = q->own_hdr_mp != NULL ? q->own_hdr_mp : q->own_mp;
	uint32_t most = RTE_MIN(c->max_rq_sge, c->max_rq_desc / MLX4_DS_SIZE), n = buffers(q, hdr_len), room;

	if (n > most) {
		snprintf(err, err_len, "frames of %u bytes need %u buffers of %u bytes, the card takes %u",
			 frame_bytes(q->eth), n, q->buf_len, most);
		return -EINVAL;
	}
	if (hdr_len != 0 && hdr_len < LRO_SPLIT_MIN && (q->offloads & RTE_ETH_RX_OFFLOAD_TCP_LRO) != 0) {
		snprintf(err, err_len, "lookahead: %u with LRO, want %zu or more: no TCP headers fit in front of it",
			 hdr_len, LRO_SPLIT_MIN);
		return -EINVAL;
	}
	room = rte_pktmbuf_data_room_size((struct rte_mempool *)(uintptr_t)hdr) - RTE_PKTMBUF_HEADROOM;
	if (hdr_len <= room)
		return 0;
	snprintf(err, err_len, "lookahead: %u, want up to %u, which a buffer of pool %s holds", hdr_len, room,
		 hdr->name);
	return -EINVAL;
}

void
mlx4_rxq_shape(struct mlx4_rxq *q, struct rte_mempool *mp, uint16_t hdr_len)
{
	if (q->mp == mp && q->hdr_len == hdr_len)
		return;
	q->reshaped = true;
	q->mp = mp;
	q->hdr_mp = q->own_hdr_mp != NULL ? q->own_hdr_mp : mp;
	q->hdr_len = hdr_len;
	q->lg_sges = (uint8_t)rte_log2_u32(buffers(q, hdr_len));
}

/* The card fills each buffer behind the first. testpmd asks for a whole one by the room that it has with its headroom. */
static int
check_rest(const struct mlx4_rxq *q, const struct rte_eth_rxseg_split *rest)
{
	const uint32_t whole = rte_pktmbuf_data_room_size(rest->mp) - RTE_PKTMBUF_HEADROOM;

	if (rest->length == 0 || rest->length >= whole)
		return 0;
	MLX4_LOG(ERR, "port %u Rx queue %u: a second segment of %u bytes, wanted 0 or %u: a whole buffer of pool %s",
		 q->port_id, q->queue_id, rest->length, whole, rest->mp->name);
	return -EINVAL;
}

/* What protocols there are, and no length beside them, ethdev has looked at. */
static int
check_headers(const struct mlx4_rxq *q, const struct rte_eth_rxseg_split *hdr, const struct rte_eth_rxseg_split *rest)
{
	const uint32_t room = rte_pktmbuf_data_room_size(hdr->mp);

	if (rest->proto_hdr != 0) {
		MLX4_LOG(ERR, "port %u Rx queue %u: headers 0x%x in the last segment, wanted 0: it has the rest",
			 q->port_id, q->queue_id, rest->proto_hdr);
		return -EINVAL;
	}
	if (room < RTE_PKTMBUF_HEADROOM + HEADERS_ROOM) {
		MLX4_LOG(ERR, "port %u Rx queue %u: mbufs of pool %s have %u bytes, headers want %u or more",
			 q->port_id, q->queue_id, hdr->mp->name, room, RTE_PKTMBUF_HEADROOM + HEADERS_ROOM);
		return -EINVAL;
	}
	return check_rest(q, rest);
}

/* The segments that the application wants: pool and length or protocols of headers, and pool of the rest. */
static int
check_segments(const struct mlx4_rxq *q, const struct rte_eth_rxconf *conf)
{
	const union rte_eth_rxseg *seg = conf->rx_seg;

	if (conf->rx_nseg != 2) {
		MLX4_LOG(ERR, "port %u Rx queue %u: a split into %u segments, wanted 2", q->port_id, q->queue_id,
			 conf->rx_nseg);
		return -EINVAL;
	}
	if (seg[0].split.proto_hdr != 0)
		return check_headers(q, &seg[0].split, &seg[1].split);
	if (seg[0].split.length >= SPLIT_MIN && seg[0].split.length <= SPLIT_MAX)
		return check_rest(q, &seg[1].split);
	MLX4_LOG(ERR, "port %u Rx queue %u: a first segment of %u bytes, wanted %u..%u", q->port_id, q->queue_id,
		 seg[0].split.length, SPLIT_MIN, SPLIT_MAX);
	return -EINVAL;
}

int
mlx4_rxq_init_shape(struct mlx4_rxq *q, const struct rte_eth_rxconf *conf, struct rte_mempool *mp)
{
	char err[128];
	uint32_t room;
	int rc;

	if (conf->rx_nseg != 0) {
		rc = check_segments(q, conf);
		if (rc != 0)
			return rc;
		q->split_at = conf->rx_seg[0].split.proto_hdr;
		if (q->split_at != 0) {
			q->split_mp = conf->rx_seg[0].split.mp;
		} else {
			q->own_hdr_mp = conf->rx_seg[0].split.mp;
			q->own_hdr_len = conf->rx_seg[0].split.length;
		}
		mp = conf->rx_seg[1].split.mp;
	}
	room = rte_pktmbuf_data_room_size(mp);
	if (room < RTE_PKTMBUF_HEADROOM + 64u) {
		MLX4_LOG(ERR, "port %u Rx queue %u: mbufs of pool %s have %u bytes, at least %u are needed", q->port_id,
			 q->queue_id, mp->name, room, RTE_PKTMBUF_HEADROOM + 64u);
		return -EINVAL;
	}
	q->own_mp = mp;
	q->buf_len = room - RTE_PKTMBUF_HEADROOM;
	if (data_buffers(q, q->own_hdr_len) > 1 && !(q->offloads & RTE_ETH_RX_OFFLOAD_SCATTER)) {
		MLX4_LOG(ERR,
			 "port %u Rx queue %u: frames of %u bytes (MTU %u) do not fit mbufs of %u bytes; use a pool "
			 "with "
			 "larger mbufs or the scatter offload",
			 q->port_id, q->queue_id, frame_bytes(q->eth), q->eth->dev->data->mtu, q->buf_len);
		return -EINVAL;
	}
	rc = mlx4_rxq_check_shape(q, q->own_hdr_len, err, sizeof(err));
	if (rc != 0)
		MLX4_LOG(ERR, "port %u Rx queue %u: %s", q->port_id, q->queue_id, err);
	else
		mlx4_rxq_shape(q, mp, q->own_hdr_len);
	return rc;
}
