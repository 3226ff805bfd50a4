/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A queue that marks what it sends, frames for it, and what became of them in its ring. */
#ifndef MARK_RIG_H
#define MARK_RIG_H

#include <rte_ip.h>

#include "rings.h"
#include "drivers/mlx4/tx/policy.h"
#include "drivers/mlx4/tx/wqe.h"

#define LEN 120
#define INS_CVLAN 0x4000u
#define DEFAULT_PRIO 6

static inline uint32_t
dw(const struct mlx4_txq *q, uint32_t block, uint32_t n)
{
	const uint8_t *p = q->sq + (block % TX_BLOCKS) * 64 + n * 4;

	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The frame in the ring. */
static inline const uint8_t *
sent(const struct mlx4_txq *q, uint32_t block)
{
	return (const uint8_t *)(uintptr_t)((uint64_t)dw(q, block, 6) << 32 | dw(q, block, 7));
}

/* The tag that the card inserts, -1: none. */
static inline int
inserted(const struct mlx4_txq *q, uint32_t block)
{
	uint32_t w = dw(q, block, 1);

	return (w & INS_CVLAN) != 0 ? (int)(w >> 16) : -1;
}

/* Of the test that runs: a queue has its policy by a pointer. */
static struct mlx4_tx_policy policy;

/* Every frame gets a tag with its priority alone; the DSCP stays. */
static inline struct mlx4_tx_policy *
marks(struct rings *r)
{
	struct mlx4_tx_policy *p = &policy;
	unsigned int i;

	*p = (struct mlx4_tx_policy){.mark = true, .look = true, .tags = 0xff, .prio = DEFAULT_PRIO};
	for (i = 0; i < 8; i++) {
		p->tci[i] = (uint16_t)(i << 13);
		p->dscp[i] = -1;
	}
	r->txq.policy = p;
	return p;
}

/* UDP to port 0x1234: 5, any other UDP: 2; TCP to it: 3, any other TCP: 1. */
static inline struct mlx4_tx_policy *
rules(struct rings *r)
{
	static const struct tp_qos_classes classes = {
		.n = 4,
		.rule = {{0x1234, 0, 17, 5, -1}, {0, 0xffff, 17, 2, -1}, {0x1234, 0, 6, 3, -1}, {0, 0xffff, 6, 1, -1}},
	};
	struct mlx4_tx_policy *p = marks(r);

	p->classify = true;
	p->classes = classes;
	return p;
}

static inline void
put(struct rte_mbuf *m, uint32_t at, const void *bytes, uint32_t n)
{
	memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, at), bytes, n);
}

/* A frame of so many bytes: zeroes but for what is from byte 12 on. */
static inline struct rte_mbuf *
frame(struct rings *r, uint16_t len, const void *bytes, uint32_t n)
{
	struct rte_mbuf *m = rings_mbuf(r, LEN, 0);

	memset(rte_pktmbuf_mtod(m, void *), 0, LEN);
	put(m, 12, bytes, n);
	m->pkt_len = m->data_len = len;
	return m;
}

static inline uint32_t
send_one(struct rings *r, struct rte_mbuf *m)
{
	uint32_t at = r->txq.sq_pi;

	assert_int_equal(mlx4_tx_burst_policy(&r->txq, &m, 1), 1);
	return at;
}

#define UDP4 "\x08\x00\x45\x03\x00\x64\x00\x01\x00\x00\x40\x11"

/* An IPv4 header at 14 whose sum is right. */
static inline struct rte_mbuf *
ipv4(struct rings *r, uint8_t tos)
{
	struct rte_mbuf *m = frame(r, LEN, UDP4, 12);
	struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14);

	ip->type_of_service = tos;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	return m;
}

#endif /* MARK_RIG_H */
