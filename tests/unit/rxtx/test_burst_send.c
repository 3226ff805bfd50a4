/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What sending does at its edges: long bursts of each kind, who gets which buffer back, what is refused and why, packets that do
 * not fit a WQE, and the end of a pair that failed. Values of WQEs by the data-path reference, chapters 3 and 4.
 */
#include "rings.h"
#include "drivers/mlx4/tx/policy.h"
#include "drivers/mlx4/tx/wqe.h"

/* 70 frames of one block in a burst: every WQE is as the first, and each block whose number ends a run of 32 is told. */
static void
long_bursts(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *m[70];
	unsigned int kind, i;

	for (kind = 0; kind < 3; kind++) { /* plain; with a tag; of three segments */
		uint32_t at = r->txq.sq_pi;

		for (i = 0; i < RTE_DIM(m); i++) {
			m[i] = kind == 2 ? rings_chain(r, 100, 3) : rings_mbuf(r, (uint16_t)(60 + i), 0);
			m[i]->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
			if (kind == 1) {
				m[i]->ol_flags |= RTE_MBUF_F_TX_VLAN;
				m[i]->vlan_tci = (uint16_t)(0x1000 + i);
			}
		}
		assert_int_equal(mlx4_tx_burst(&r->txq, m, RTE_DIM(m)), RTE_DIM(m));
		for (i = 0; i < RTE_DIM(m); i++, at++) {
			const struct rte_mbuf *seg = kind == 2 ? m[i]->next->next : m[i];

			assert_int_equal(rings_dw(r, at, 0), (at & TX_BLOCKS) != 0 ? 0x8000000a : 0x0000000a);
			assert_int_equal(rings_dw(r, at, 1), kind == 1   ? (0x1000u + i) << 16 | 0x4002
							     : kind == 2 ? 4
									 : 2);
			assert_int_equal(rings_dw(r, at, 2), at % 32 == 31 ? 0x1e : 0x12);
			assert_int_equal(rings_dw(r, at, 3), 0);
			assert_int_equal(rings_dw(r, at, kind == 2 ? 12 : 4), kind == 2 ? 100 : 60 + i);
			assert_int_equal(rings_dw(r, at, kind == 2 ? 13 : 5), RING_KEY);
			assert_true(((uint64_t)rings_dw(r, at, kind == 2 ? 14 : 6) << 32 |
				     rings_dw(r, at, kind == 2 ? 15 : 7)) == rte_mbuf_data_iova(seg));
			assert_ptr_equal(r->txq.elts[at % TX_BLOCKS], m[i]);
		}
		rings_complete(r);
		assert_int_equal(r->txq.sq_ci, at / 32 * 32);
	}
	assert_int_equal(r->txq.packets, 3 * RTE_DIM(m));
	assert_int_equal(r->txq.bytes, 2 * 70 * 60 + 2 * 69 * 70 / 2 + 70 * 300);
}

/* Buffers go back to their own pools, those that others have, too, lose one owner, clones let go of what they show. */
static void
who_frees(void **state)
{
	struct rings *r = *state;
	struct rte_mempool *mp = rte_pktmbuf_pool_create("other", 255, 0, 0, 512, 0);
	struct rte_mbuf *m[32], *shared, *shown, *seg;
	unsigned int chained, i;

	assert_non_null(mp);
	for (chained = 0; chained < 3; chained++) {
		shared = shown = NULL;
		for (i = 0; i < RTE_DIM(m); i++) {
			m[i] = i % 5 < 2 ? rte_pktmbuf_alloc(mp) : rte_pktmbuf_alloc(r->pool);
			assert_non_null(m[i]);
			assert_non_null(rte_pktmbuf_append(m[i], 60));
			/* Segments of both pools; the third time there are more than go back at once. */
			for (; chained != 0 && m[i]->nb_segs < (chained == 1 ? 2 : 3);) {
				seg = rte_pktmbuf_alloc(m[i]->nb_segs == 1 ? mp : r->pool);
				assert_non_null(rte_pktmbuf_append(seg, 10));
				assert_int_equal(rte_pktmbuf_chain(m[i], seg), 0);
			}
			if (i == 7) {
				shared = m[i];
				rte_mbuf_refcnt_update(shared, 1);
			}
			if (i == 9) {
				shown = m[i];
				m[i] = rte_pktmbuf_clone(shown, r->pool);
				assert_non_null(m[i]);
			}
		}
		assert_int_equal(mlx4_tx_burst(&r->txq, m, RTE_DIM(m)), RTE_DIM(m));
		assert_int_equal(r->txq.mixed, chained != 0);
		rings_complete(r);
		assert_false(r->txq.mixed);
		assert_int_equal(rte_mbuf_refcnt_read(shared), 1);
		assert_int_equal(rte_mbuf_refcnt_read(shown), 1);
		assert_int_equal(shown->nb_segs, 1 + chained);
		/* The segments behind the shared one were the queue's alone. */
		assert_int_equal(rte_mempool_in_use_count(mp) + rte_mempool_in_use_count(r->pool), 2 + chained);
		shared->next = NULL;
		shared->nb_segs = 1;
		rte_pktmbuf_free(shared);
		rte_pktmbuf_free(shown);
		assert_int_equal(rte_mempool_in_use_count(mp), 0);
		assert_int_equal(rte_mempool_in_use_count(r->pool), 0);
	}
	/* What comes back is as new. */
	for (i = 0; i < RTE_DIM(m); i++) {
		m[i] = rte_mbuf_raw_alloc(r->pool);
		assert_int_equal(m[i]->nb_segs, 1);
		assert_null(m[i]->next);
		assert_int_equal(rte_mbuf_refcnt_read(m[i]), 1);
	}
	rte_pktmbuf_free_bulk(m, RTE_DIM(m));
	rte_mempool_free(mp);
}

/* Blocks behind the first of a WQE look unposted to the pass that comes next, whichever that is. */
static void
stamps(void **state)
{
	struct rings *r = *state;
	uint32_t pass;

	for (pass = 0; pass < 2; pass++) {
		rings_seek(r, pass * TX_BLOCKS + 30);
		assert_int_equal(rings_send(r, rings_chain(r, 50, 5)), 1);
		assert_int_equal(rings_dw(r, 31, 0), 50);
		rings_tx_done(r, 30, MLX4_OP_SEND);
		assert_int_equal(mlx4_tx_burst(&r->txq, NULL, 0), 0);
		assert_int_equal(r->txq.sq_ci, pass * TX_BLOCKS + 32);
		assert_int_equal(rings_dw(r, 31, 0), pass == 0 ? 0x7fffffff : 0xffffffff);
	}
}

/* The queue remembers that there are chains exactly as long as one is in flight. */
static void
mixed_as_long_as_needed(void **state)
{
	struct rings *r = *state;
	uint32_t before, i;

	for (before = 30; before <= 32; before++) {
		uint32_t at = r->txq.sq_pi = r->txq.sq_ci = 0;

		r->txq.ends_pi = r->txq.ends_ci = 0;
		for (i = 0; i < before; i++)
			assert_int_equal(rings_send(r, rings_mbuf(r, 60, 0)), 1);
		assert_false(r->txq.mixed);
		assert_int_equal(rings_send(r, rings_chain(r, 60, 2)), 1);
		for (i = 0; i < 3; i++)
			assert_int_equal(rings_send(r, rings_mbuf(r, 60, 0)), 1);
		assert_true(r->txq.mixed);
		rings_tx_done(r, 31, MLX4_OP_SEND);
		assert_int_equal(mlx4_tx_burst(&r->txq, NULL, 0), 0);
		assert_int_equal(r->txq.sq_ci - at, 32);
		assert_int_equal(r->txq.mixed, before == 32);
		rings_drain(r);
		r->txq.mixed = false;
	}
}

/* Descriptors, and what is cleaned up without a burst: also of the pairs of other priorities, unless control code has them. */
static void
asked_about(void **state)
{
	static struct mlx4_tx_policy policy;
	struct rings *r = *state, *lane;
	void *other;
	unsigned int i, with;

	assert_int_equal(rings_setup(&other), 0);
	lane = other;
	r->txq.lane[5] = &lane->txq;
	policy.prio = 2;
	for (with = 0; with < 2; with++) {
		r->txq.policy = with != 0 ? &policy : NULL;
		assert_int_equal(mlx4_tx_descriptor_status(&r->txq, TX_BLOCKS), -EINVAL);
		for (i = 0; i < 32; i++) {
			assert_int_equal(rings_send(r, rings_mbuf(r, 60, 0)), 1);
			assert_int_equal(rings_send(lane, rings_mbuf(r, 60, 0)), 1);
		}
		assert_int_equal(mlx4_tx_descriptor_status(&r->txq, 31), RTE_ETH_TX_DESC_FULL);
		assert_int_equal(mlx4_tx_descriptor_status(&r->txq, 32), RTE_ETH_TX_DESC_DONE);
		assert_int_equal(mlx4_tx_descriptor_status(&r->txq, TX_BLOCKS - 1), RTE_ETH_TX_DESC_DONE);
		assert_int_equal(mlx4_tx_done_cleanup(&r->txq, 0), 0);
		rings_tx_done(r, 31, MLX4_OP_SEND);
		rings_tx_done(lane, 31, MLX4_OP_SEND);
		if (with != 0) {
			policy.hold = 1u << 2 | 1u << 5;
			assert_int_equal(mlx4_tx_done_cleanup(&r->txq, 0), 0);
			policy.hold = 1u << 5;
			assert_int_equal(mlx4_tx_descriptor_status(&r->txq, 0), RTE_ETH_TX_DESC_DONE);
			assert_int_equal(rte_mempool_in_use_count(r->pool), 32);
			assert_null(r->txq.policy_busy);
			policy.hold = 0;
			assert_int_equal(mlx4_tx_done_cleanup(&r->txq, 0), 32);
		} else {
			assert_int_equal(mlx4_tx_done_cleanup(&r->txq, 0), 64);
		}
		assert_int_equal(rte_mempool_in_use_count(r->pool), 0);
		assert_null(r->txq.policy_busy);
	}
	assert_int_equal(rings_teardown(&other), 0);
}

/* A pair that failed: each frame is counted once, the failure once; nothing is touched until it is taken back. */
static void
failed_pair(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *m = rings_mbuf(r, 60, 0);

	r->txq.inline_max = 40;
	mlx4_txq_lengths(&r->txq, MTU_MAX);
	assert_int_equal(rings_send(r, rings_mbuf(r, 40, 0)), 1); /* inline: its length is forgotten */
	assert_int_equal(rings_send(r, rings_mbuf(r, 100, 0)), 1);
	assert_int_equal(rings_send(r, rings_chain(r, 50, 5)), 1); /* blocks 2 and 3 */
	assert_int_equal(rings_send(r, rings_mbuf(r, 70, 0)), 1);
	r->txq.parked = true;
	rings_tx_done(r, 0, MLX4_CQE_ERROR);
	rings_tx_done(r, 1, MLX4_CQE_ERROR);
	assert_int_equal(rings_send(r, m), 0);
	assert_true(r->txq.broken);
	assert_false(r->txq.parked); /* the sender does not know yet that it must not touch the pair */
	assert_int_equal(r->txq.failures, 1);
	assert_int_equal(r->txq.errors, 2);
	assert_int_equal(r->txq.lost_packets, 2);
	assert_int_equal(r->txq.lost_bytes, 100);
	rings_tx_done(r, 2, MLX4_CQE_ERROR);
	assert_int_equal(rings_send(r, m), 0);
	assert_true(r->txq.parked);
	assert_int_equal(mlx4_tx_done_cleanup(&r->txq, 0), 0);
	assert_int_equal(mlx4_tx_descriptor_status(&r->txq, 0), RTE_ETH_TX_DESC_FULL);
	assert_int_equal(r->txq.errors, 2);
	assert_int_equal(r->txq.sq_pi, 5);
	assert_int_equal(r->doorbell, rte_cpu_to_be_32(RING_QPN << 8));
	rte_pktmbuf_free(m);
}

/* A large send that the usual form has but for one thing. */
static struct rte_mbuf *
large(struct rings *r, uint16_t l3, uint16_t l4, uint16_t mss, uint16_t data)
{
	struct rte_mbuf *m = rings_mbuf(r, (uint16_t)(14 + l3 + l4 + data), 3);

	m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
	m->l2_len = 14;
	m->l3_len = l3;
	m->l4_len = l4;
	m->tso_segsz = mss;
	return m;
}

/* Reasons that a packet is refused for, by prepare with a number, by the burst with a count. */
static void
refusals(void **state)
{
	static const uint64_t never[] = {RTE_MBUF_F_TX_QINQ, RTE_MBUF_F_TX_SEC_OFFLOAD, RTE_MBUF_F_TX_MACSEC,
					 RTE_MBUF_F_TX_UDP_SEG, RTE_MBUF_F_TX_OUTER_UDP_CKSUM};
	static const struct {
		uint64_t flags;
		bool looks, ok; /* looks: the card into tunnels */
	} tunnel[] = {
		{RTE_MBUF_F_TX_TUNNEL_VXLAN | RTE_MBUF_F_TX_IP_CKSUM, true, true},
		{RTE_MBUF_F_TX_TUNNEL_VXLAN | RTE_MBUF_F_TX_IP_CKSUM, false, false},
		{RTE_MBUF_F_TX_TUNNEL_GRE | RTE_MBUF_F_TX_TCP_CKSUM, true, true},
		{RTE_MBUF_F_TX_TUNNEL_GRE | RTE_MBUF_F_TX_TCP_CKSUM, false, false},
		{RTE_MBUF_F_TX_TUNNEL_IPIP | RTE_MBUF_F_TX_OUTER_IP_CKSUM, true, true},
		{RTE_MBUF_F_TX_TUNNEL_IPIP | RTE_MBUF_F_TX_OUTER_IP_CKSUM, false, false},
		{RTE_MBUF_F_TX_TUNNEL_GENEVE | RTE_MBUF_F_TX_SCTP_CKSUM, true, false},
		{RTE_MBUF_F_TX_OUTER_IP_CKSUM, true, false},
		/* a tunnel that is only named is a frame as any other */
		{RTE_MBUF_F_TX_TUNNEL_VXLAN, false, true},
		{RTE_MBUF_F_TX_TUNNEL_GENEVE, true, true},
	};
	static const struct {
		uint64_t flags;
		uint32_t dw0, sums;
	} inner[] = {
		{RTE_MBUF_F_TX_IP_CKSUM, 0x1000000a, 0},
		{RTE_MBUF_F_TX_UDP_CKSUM, 0x0800000a, 0},
		{RTE_MBUF_F_TX_SCTP_CKSUM, 0x0000000a, 0},
		{RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM, 0x1800000a, 0},
		{RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM, 0x0800000a, 0x10},
	};
	struct rings *r = *state;
	uint64_t errors = 0, packets = 0;
	struct rte_mbuf *m;
	unsigned int i;

#define REFUSED(mbuf, why)                                                                                             \
	do {                                                                                                           \
		m = (mbuf);                                                                                            \
		rte_errno = 0;                                                                                         \
		assert_int_equal(mlx4_tx_prepare(&r->txq, &m, 1), 0);                                                  \
		assert_int_equal(rte_errno, why);                                                                      \
		assert_int_equal(rings_send(r, m), 1);                                                                 \
		assert_int_equal(r->txq.errors, ++errors);                                                             \
		assert_int_equal(r->txq.packets, packets);                                                             \
	} while (0)
#define TAKEN(mbuf)                                                                                                    \
	do {                                                                                                           \
		m = (mbuf);                                                                                            \
		assert_int_equal(mlx4_tx_prepare(&r->txq, &m, 1), 1);                                                  \
		assert_int_equal(rings_send(r, m), 1);                                                                 \
		assert_int_equal(r->txq.errors, errors);                                                               \
		assert_int_equal(r->txq.packets, ++packets);                                                           \
	} while (0)
	for (i = 0; i < RTE_DIM(never); i++) {
		m = rings_mbuf(r, 200, 0);
		m->ol_flags |= never[i];
		REFUSED(m, ENOTSUP);
		m = large(r, 20, 32, 1000, 500);
		m->ol_flags |= never[i];
		REFUSED(m, ENOTSUP);
	}
	for (i = 0; i < RTE_DIM(tunnel); i++) {
		r->txq.tunnels = tunnel[i].looks;
		m = rings_mbuf(r, 200, 0);
		m->ol_flags |= tunnel[i].flags;
		if (tunnel[i].ok)
			TAKEN(m);
		else
			REFUSED(m, ENOTSUP);
	}
	/* Segments inside a tunnel: the outer headers are headers, too. */
	r->txq.tunnels = false;
	m = large(r, 20, 32, 1000, 500);
	m->ol_flags |= RTE_MBUF_F_TX_TUNNEL_VXLAN;
	REFUSED(m, ENOTSUP);
	r->txq.tunnels = true;
	m = large(r, 20, 32, 1000, 500);
	m->ol_flags |= RTE_MBUF_F_TX_TUNNEL_GRE;
	m->outer_l2_len = 14;
	m->outer_l3_len = 20;
	i = r->txq.sq_pi;
	TAKEN(m);
	assert_int_equal(rings_dw(r, i, 0), 0x1800004e); /* both inner sums, with those of TCP and IPv4 */
	assert_int_equal(rings_dw(r, i, 4), 1000u << 16 | (14 + 20 + 14 + 20 + 32));
	/* The sum of the inner IP header and that of TCP or UDP, one without the other; the outer header's beside them. */
	for (i = 0; i < RTE_DIM(inner); i++) {
		uint32_t at = r->txq.sq_pi;

		m = rings_mbuf(r, 200, 0);
		m->ol_flags |= RTE_MBUF_F_TX_TUNNEL_VXLAN | inner[i].flags;
		TAKEN(m);
		assert_int_equal(rings_dw(r, at, 0), inner[i].dw0);
		assert_int_equal(rings_dw(r, at, 2) & 0x30, inner[i].sums);
	}
	/* Lengths that are none: no size, no headers, nothing behind them. */
	REFUSED(large(r, 20, 32, 0, 500), EINVAL);
	m = large(r, 0, 0, 1000, 500);
	m->l2_len = 0;
	REFUSED(m, EINVAL);
	REFUSED(large(r, 20, 32, 1000, 0), EINVAL);
	TAKEN(large(r, 20, 32, 1000, 1));
	/* Of a segment with its headers, and of all data: 9600 + 14 and two tags. */
	TAKEN(large(r, 20, 32, 9622 - 66, 500));
	REFUSED(large(r, 20, 32, 9622 - 65, 500), EINVAL);
	m = large(r, 20, 32, 9622 - 66 - 4, 500);
	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	TAKEN(m);
	m = large(r, 20, 32, 9622 - 66 - 3, 500);
	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	REFUSED(m, EINVAL);
	r->txq.max_gso = 500;
	TAKEN(large(r, 20, 32, 100, 500));
	REFUSED(large(r, 20, 32, 100, 501), EINVAL);
	r->txq.max_gso = 0; /* a card that makes none */
	REFUSED(large(r, 20, 32, 100, 500), ENOTSUP);
	r->txq.max_gso = 1u << 17;
	/* Headers leave room for 64 bytes of the WQE. */
	r->txq.max_desc = 256;
	TAKEN(large(r, 158, 20, 100, 500));
	REFUSED(large(r, 159, 20, 100, 500), EINVAL);
#undef REFUSED
#undef TAKEN
}

/* Large sends whose headers are long by options of IP; the tag; more than one in a burst; segments that do not fit. */
static void
large_sends(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *m[12];
	uint32_t at = r->txq.sq_pi, i;

	assert_int_equal(rings_send(r, large(r, 60, 20, 700, 900)), 1);
	assert_int_equal(rings_dw(r, at, 1), 1 + 7 + 1); /* 4 + 94 bytes are 7 units */
	assert_int_equal(rings_dw(r, at, 4), 700u << 16 | 94);
	assert_int_equal(rings_dw(r, at + 2, 0), 900);
	at = r->txq.sq_pi;
	m[0] = large(r, 20, 32, 700, 900);
	m[0]->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m[0]->vlan_tci = 0xe123;
	assert_int_equal(rings_send(r, m[0]), 1);
	assert_int_equal(rings_dw(r, at, 1), 0xe1234000 | (1 + 5 + 1));
	/* A dozen, of two and three blocks in turn, side by side; who covers the last of 32 blocks asks for a completion. */
	at = r->txq.sq_pi;
	assert_int_equal(at, 5);
	for (i = 0; i < RTE_DIM(m); i++) {
		m[i] = large(r, 20, 32, 700, 900);
		if (i % 2 != 0) {
			assert_int_equal(rte_pktmbuf_chain(m[i], rings_mbuf(r, 500, 0)), 0);
			assert_int_equal(rte_pktmbuf_chain(m[i], rings_mbuf(r, 600, 0)), 0);
		}
	}
	assert_int_equal(mlx4_tx_burst(&r->txq, m, RTE_DIM(m)), RTE_DIM(m));
	for (i = 0; i < RTE_DIM(m); i++) {
		uint32_t blocks = i % 2 == 0 ? 2 : 3;

		assert_int_equal(rings_dw(r, at, 0), 0x4e);
		assert_int_equal(rings_dw(r, at, 1), 1 + 5 + m[i]->nb_segs);
		assert_int_equal(rings_dw(r, at, 2), at / 32 != (at + blocks) / 32 ? 0x3e : 0x32);
		assert_ptr_equal(r->txq.elts[at], m[i]);
		assert_ptr_equal(r->txq.elts[at + 1], MLX4_TX_INNER);
		at += blocks;
	}
	assert_int_equal(r->txq.sq_pi, 5 + 6 * 5);
	assert_int_equal(r->txq.packets, 14);
	assert_int_equal(r->txq.bytes, 994 + 966 + 12 * 966 + 6 * 1100);
	rings_complete(r);
	/* An empty segment takes no data segment. */
	at = r->txq.sq_pi;
	m[0] = large(r, 20, 32, 700, 900);
	assert_int_equal(rte_pktmbuf_chain(m[0], rings_mbuf(r, 0, 0)), 0);
	assert_int_equal(rte_pktmbuf_chain(m[0], rings_mbuf(r, 300, 0)), 0);
	assert_int_equal(rings_send(r, m[0]), 1);
	assert_int_equal(rings_dw(r, at, 1), 1 + 5 + 2);
	assert_int_equal(rings_dw(r, at + 1, 12), 300);
	/* WQEs of 176 bytes: one unit of 12 is too much, so it becomes a copy. */
	r->txq.max_desc = 176;
	at = r->txq.sq_pi;
	m[0] = large(r, 60, 20, 700, 900);
	for (i = 0; i < 3; i++)
		assert_int_equal(rte_pktmbuf_chain(m[0], rings_mbuf(r, 300, 0)), 0);
	assert_int_equal(rings_send(r, m[0]), 1);
	assert_int_equal(r->txq.linearized, 1);
	assert_int_equal(rings_dw(r, at, 1), 1 + 7 + 1);
	assert_int_equal(rings_dw(r, at + 2, 0), 1800);
}

/* Packets of more segments than fit: what the pool's buffers can hold is put together, more is refused. */
static void
gathered(void **state)
{
	static struct rte_mbuf *taken[1024];
	struct rings *r = *state;
	struct rte_mempool *mp;
	struct rte_mbuf *m;
	unsigned int n, i, extra;

	/* 128 bytes are 7 units behind the control segment, 4 of them for headers of 54: 3 * 2048 bytes. */
	r->txq.max_desc = 128;
	for (extra = 0; extra < 2; extra++) {
		m = large(r, 20, 20, 1000, 1970);
		for (i = 0; i < 4; i++)
			assert_int_equal(rte_pktmbuf_chain(m, rings_mbuf(r, 1030, 0)), 0);
		assert_int_equal(m->pkt_len, 6144);
		if (extra != 0)
			assert_non_null(rte_pktmbuf_append(m, 1));
		assert_int_equal(mlx4_tx_prepare(&r->txq, &m, 1), extra == 0);
		assert_int_equal(rings_send(r, m), 1);
		assert_int_equal(r->txq.linearized, 1);
		assert_int_equal(r->txq.errors, extra);
	}
	assert_int_equal(r->txq.packets, 1);
	assert_int_equal(r->txq.bytes, 6144);
	/* One block is left and the copy needs two; there is no buffer for a copy: the packet stays the caller's. */
	m = large(r, 20, 20, 1000, 500);
	for (i = 0; i < 4; i++)
		assert_int_equal(rte_pktmbuf_chain(m, rings_mbuf(r, 20, 0)), 0);
	r->txq.sq_room = r->txq.sq_pi - r->txq.sq_ci + 1;
	n = rte_mempool_in_use_count(r->pool);
	assert_int_equal(rings_send(r, m), 0);
	assert_int_equal(rte_mempool_in_use_count(r->pool), n);
	r->txq.sq_room = TX_BLOCKS - MLX4_SQ_HEADROOM_TXBBS;
	for (n = 0; n < RTE_DIM(taken) && (taken[n] = rte_pktmbuf_alloc(r->pool)) != NULL; n++)
		;
	assert_int_equal(rings_send(r, m), 0);
	assert_int_equal(r->txq.errors, 1);
	assert_int_equal(r->txq.linearized, 1 + 1); /* the first of these copies was made */
	rte_pktmbuf_free_bulk(taken, n);
	assert_int_equal(rings_send(r, m), 1);
	assert_int_equal(r->txq.linearized, 3);
	/* A pool whose buffers hold nothing serves no copy. */
	mp = rte_pktmbuf_pool_create("empty", 63, 0, 0, RTE_PKTMBUF_HEADROOM, 0);
	assert_non_null(mp);
	m = rte_pktmbuf_alloc(mp);
	for (i = 0; i < 8; i++)
		assert_int_equal(rte_pktmbuf_chain(m, rings_mbuf(r, 20, 0)), 0);
	assert_int_equal(mlx4_tx_prepare(&r->txq, &m, 1), 0);
	assert_int_equal(rings_send(r, m), 1);
	assert_int_equal(r->txq.errors, 2);
	assert_int_equal(rte_mempool_in_use_count(mp), 0);
	rte_mempool_free(mp);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rings_setup, rings_teardown)
	const struct CMUnitTest tests[] = {
		T(long_bursts), T(who_frees),   T(stamps),   T(mixed_as_long_as_needed), T(asked_about), T(failed_pair),
		T(refusals),    T(large_sends), T(gathered),
	};

	if (rings_eal() != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
