/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Who sends a marked frame, and what is counted: pairs of other priorities, copies and who owns what afterwards, frames that are
 * held or discarded, that go without a tag, and the budget of all pairs together.
 */
#include <rte_cycles.h>

#include "mark_rig.h"

#define ROOM_MIN (RTE_PKTMBUF_HEADROOM + 86u) /* 14 and two tags, 60 of IPv4, 4 of ports */

/* A pool whose buffers have no place for headers serves no copy, now or later: the frame is dropped and counted. */
static void
small_buffers(void **state)
{
	struct rings *r = *state;
	struct rte_mempool *mp;
	struct rte_mbuf *m;
	unsigned int small;

	marks(r);
	for (small = 0; small < 2; small++) {
		mp = rte_pktmbuf_pool_create("small", 63, 0, 0, (uint16_t)(ROOM_MIN - small), 0);
		assert_non_null(mp);
		m = rte_pktmbuf_alloc(mp);
		assert_non_null(rte_pktmbuf_append(m, 60));
		memset(rte_pktmbuf_mtod(m, void *), 0, 60);
		rte_mbuf_refcnt_update(m, 1);
		send_one(r, m);
		assert_int_equal(r->txq.packets, 1);
		assert_int_equal(r->txq.errors, small);
		/* sent: the copy is in the ring, dropped: the original is not the driver's any more */
		assert_int_equal(rte_mbuf_refcnt_read(m), 1);
		rte_pktmbuf_free(m);
		rings_drain(r);
		assert_int_equal(rte_mempool_in_use_count(mp), 0);
		rte_mempool_free(mp);
	}
}

/* No buffer for a copy: the burst ends before that frame, which is the caller's, and goes when there is one. */
static void
empty_pool(void **state)
{
	static struct rte_mbuf *taken[1024];
	struct rings *r = *state;
	struct rte_mbuf *m[3];
	unsigned int i, n;

	marks(r);
	for (i = 0; i < RTE_DIM(m); i++)
		m[i] = frame(r, 60, "\x88\xb5", 2);
	rte_mbuf_refcnt_update(m[1], 1);
	for (n = 0; n < RTE_DIM(taken) && (taken[n] = rte_pktmbuf_alloc(r->pool)) != NULL; n++)
		;
	assert_int_equal(mlx4_tx_burst_policy(&r->txq, m, 3), 1);
	assert_int_equal(r->txq.packets, 1);
	assert_int_equal(r->txq.errors, 0);
	rte_pktmbuf_free_bulk(taken, n);
	assert_int_equal(mlx4_tx_burst_policy(&r->txq, m + 1, 2), 2);
	assert_int_equal(r->txq.packets, 3);
	assert_int_equal(rte_mbuf_refcnt_read(m[1]), 1);
	rte_pktmbuf_free(m[1]);
}

/* Copies of what the ring did not take go home, the originals are as they were. */
static void
full_ring(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *m[6];
	unsigned int i, before;

	marks(r);
	while (r->txq.sq_pi != r->txq.sq_room - 2)
		send_one(r, frame(r, 60, "\x88\xb5", 2));
	for (i = 0; i < RTE_DIM(m); i++) {
		m[i] = frame(r, 60, "\x88\xb5", 2);
		rte_mbuf_refcnt_update(m[i], 1);
	}
	before = rte_mempool_in_use_count(r->pool);
	assert_int_equal(mlx4_tx_burst_policy(&r->txq, m, RTE_DIM(m)), 2);
	assert_int_equal(rte_mempool_in_use_count(r->pool), before + 2);
	for (i = 0; i < RTE_DIM(m); i++) {
		assert_int_equal(rte_mbuf_refcnt_read(m[i]), i < 2 ? 1 : 2);
		assert_int_equal(m[i]->ol_flags, 0);
		rte_mbuf_refcnt_set(m[i], 1);
		rte_pktmbuf_free(m[i]);
	}
}

/* Each priority by its own queue pair, in order; what these count is the queue's. */
static void
lanes(void **state)
{
	static const uint8_t tos[] = {0x20, 0x20, 0x60, 0x20, 0x00, 0x60}; /* priorities 1 1 3 1 0 3 */
	struct rings *r = *state, *one, *three;
	struct mlx4_tx_policy *p = marks(r);
	struct rte_mbuf *m[RTE_DIM(tos)], *many;
	void *other[2];
	unsigned int i;

	assert_int_equal(rings_setup(&other[0]), 0);
	assert_int_equal(rings_setup(&other[1]), 0);
	one = other[0];
	three = other[1];
	p->by_dscp = true;
	p->lane[1] = &one->txq;
	p->lane[3] = &three->txq;
	for (i = 0; i < RTE_DIM(tos); i++)
		m[i] = ipv4(r, tos[i]);
	/* What happened to a pair since is told with its next frame. */
	three->txq.failures = 1;
	three->txq.lost_packets = 5;
	three->txq.lost_bytes = 700;
	assert_int_equal(mlx4_tx_burst_policy(&r->txq, m, RTE_DIM(m)), RTE_DIM(m));
	assert_ptr_equal(one->txq.elts[0], m[0]);
	assert_ptr_equal(one->txq.elts[1], m[1]);
	assert_ptr_equal(one->txq.elts[2], m[3]);
	assert_ptr_equal(three->txq.elts[0], m[2]);
	assert_ptr_equal(three->txq.elts[1], m[5]);
	assert_ptr_equal(r->txq.elts[0], m[4]);
	assert_int_equal(one->txq.sq_pi, 3);
	assert_int_equal(three->txq.sq_pi, 2);
	assert_int_equal(r->txq.sq_pi, 1);
	assert_int_equal(r->txq.packets, 6);
	assert_int_equal(r->txq.bytes, 6 * LEN);
	assert_int_equal(r->txq.failures, 1);
	assert_int_equal(r->txq.lost_packets, 5);
	assert_int_equal(r->txq.lost_bytes, 700);
	assert_int_equal(three->txq.failures + three->txq.lost_packets + three->txq.lost_bytes, 0);
	/* One that is refused, and one of more segments than fit, which is put together. */
	many = ipv4(r, 0x20);
	many->ol_flags |= RTE_MBUF_F_TX_QINQ;
	send_one(r, many);
	assert_int_equal(r->txq.errors, 1);
	many = ipv4(r, 0x20);
	for (i = 0; i < 70; i++)
		assert_int_equal(rte_pktmbuf_chain(many, rings_mbuf(r, 1, 0)), 0);
	send_one(r, many);
	assert_int_equal(r->txq.linearized, 1);
	assert_int_equal(r->txq.packets, 7);
	/* A full pair ends the burst; those behind it wait, whatever their priority is. */
	one->txq.sq_room = one->txq.sq_pi - one->txq.sq_ci;
	for (i = 0; i < 3; i++)
		m[i] = ipv4(r, i == 1 ? 0x20 : 0x60);
	assert_int_equal(mlx4_tx_burst_policy(&r->txq, m, 3), 1);
	assert_int_equal(three->txq.sq_pi, 3);
	rte_pktmbuf_free(m[1]);
	rte_pktmbuf_free(m[2]);
	rings_drain(one);
	rings_drain(three);
	rings_drain(r);
	assert_int_equal(rings_teardown(&other[0]), 0);
	assert_int_equal(rings_teardown(&other[1]), 0);
}

/* Frames of a priority that waits stay the caller's, frames of one that discards go, and are counted with it. */
static void
hold_and_discard(void **state)
{
	struct rings *r = *state;
	struct mlx4_tx_policy *p = marks(r);
	struct rte_mbuf *m[4];
	unsigned int i;

	p->by_dscp = true;
	p->discard = 1u << 1;
	p->hold = 1u << 3;
	for (i = 0; i < RTE_DIM(m); i++)
		m[i] = ipv4(r, i == 3 ? 0x60 : i == 2 ? 0x00 : 0x20);
	assert_int_equal(mlx4_tx_burst_policy(&r->txq, m, RTE_DIM(m)), 3);
	assert_int_equal(r->txq.packets, 1);
	assert_ptr_equal(r->txq.elts[0], m[2]);
	assert_int_equal(r->txq.prio_count[1].discards, 2);
	assert_int_equal(r->txq.prio_count[3].discards, 0);
	assert_int_equal(rte_mempool_in_use_count(r->pool), 2);
	rte_pktmbuf_free(m[3]);
}

/* Frames that go without the tag of their priority are counted as the wire has them, with FCS. */
static void
untagged_counts(void **state)
{
	static const struct {
		uint16_t len, mss, l4, frames;
		uint32_t bytes;
	} t[] = {
		{60, 0, 0, 1, 64},
		{120, 33, 20, 2, 120 + 54 + 8}, /* 66 bytes behind 54 */
		{120, 32, 20, 3, 120 + 108 + 12},
		{120, 66, 20, 1, 124},
		{120, 0, 20, 1, 124}, /* no size, no data: refused further on */
		{54, 100, 20, 1, 58},
		{55, 100, 20, 1, 59},
	};
	struct rings *r = *state;
	struct mlx4_tx_policy *p = marks(r);
	struct rte_mbuf *m;
	uint64_t frames = 0, bytes = 0;
	unsigned int i, k;

	p->tags = 0;
	p->prio = 4;
	for (i = 0; i < RTE_DIM(t); i++) {
		m = frame(r, t[i].len, UDP4, 12);
		if (t[i].l4 != 0) {
			m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4;
			m->l2_len = 14;
			m->l3_len = 20;
			m->l4_len = t[i].l4;
			m->tso_segsz = t[i].mss;
		}
		send_one(r, m);
		frames += t[i].frames;
		bytes += t[i].bytes;
		if (r->txq.prio_count[4].untagged != frames || r->txq.prio_count[4].untagged_bytes != bytes)
			fail_msg("case %u: %u frames, %u bytes", i, (unsigned int)r->txq.prio_count[4].untagged,
				 (unsigned int)r->txq.prio_count[4].untagged_bytes);
	}
	/* Not what has a tag, nor what is of priority 0, is discarded, or found no room. */
	m = frame(r, 60, UDP4, 12);
	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = 0x8001;
	send_one(r, m);
	p->prio = 0;
	send_one(r, frame(r, 60, UDP4, 12));
	p->prio = 4;
	p->discard = 1u << 4;
	send_one(r, frame(r, 60, UDP4, 12));
	p->discard = 0;
	r->txq.sq_room = r->txq.sq_pi - r->txq.sq_ci + 1;
	for (k = 0; k < 2; k++) {
		m = frame(r, 60, UDP4, 12);
		assert_int_equal(mlx4_tx_burst_policy(&r->txq, &m, 1), k == 0);
	}
	rte_pktmbuf_free(m);
	assert_int_equal(r->txq.prio_count[4].untagged, frames + 1);
	assert_int_equal(r->txq.prio_count[4].untagged_bytes, bytes + 64);
	assert_int_equal(r->txq.prio_count[0].untagged, 0);
}

/* A budget in bytes for what several pairs send: by the time that went by, at most so much at once, never below what is owed. */
static void
pace(void **state)
{
	struct rings *r = *state;
	struct mlx4_tx_policy *p = marks(r);
	struct rte_mbuf *m[64];
	uint32_t i, n;

	p->tags = 0;
	p->pace = 1; /* 2^32 cycles are 16 bytes */
	p->pace_burst = (int64_t)(1000 * MLX4_PACE_ONE);
	for (i = 0; i < RTE_DIM(m); i++)
		m[i] = frame(r, 96, UDP4, 12); /* 100 on the wire */
	/* More than the burst's size was saved: ten frames go, not one more. */
	r->txq.pace_room = 5 * p->pace_burst;
	assert_int_equal(mlx4_tx_burst_policy(&r->txq, m, 64), 10);
	assert_true(r->txq.pace_room == 0);
	assert_int_equal(r->txq.packets, 10);
	/* A byte more covers a part of the next, which goes whole and is owed. */
	r->txq.pace_tsc = rte_rdtsc();
	r->txq.pace_room = (int64_t)(901 * MLX4_PACE_ONE);
	assert_int_equal(mlx4_tx_burst_policy(&r->txq, m + 10, 54), 10);
	assert_true(r->txq.pace_room < (int64_t)(-83 * (int64_t)MLX4_PACE_ONE));
	r->txq.pace_tsc = rte_rdtsc();
	assert_int_equal(mlx4_tx_burst_policy(&r->txq, m + 20, 44), 0);
	/* However long nothing was sent, no more than 2^32 cycles count: 4096 bytes less a part of one. */
	p->pace = 256;
	p->pace_burst = (int64_t)(UINT64_C(1000000) * MLX4_PACE_ONE);
	r->txq.pace_room = 0;
	r->txq.pace_tsc = rte_rdtsc() - (UINT64_C(1) << 34);
	n = mlx4_tx_burst_policy(&r->txq, m + 20, 44);
	assert_int_equal(n, 41);
	/* What the ring does not take is not counted as sent. */
	r->txq.pace_tsc = rte_rdtsc();
	r->txq.pace_room = p->pace_burst;
	r->txq.sq_room = r->txq.sq_pi - r->txq.sq_ci + 1;
	assert_int_equal(mlx4_tx_burst_policy(&r->txq, m + 61, 3), 1);
	assert_true(r->txq.pace_room == p->pace_burst - (int64_t)(100 * MLX4_PACE_ONE));
	rte_pktmbuf_free(m[62]);
	rte_pktmbuf_free(m[63]);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rings_setup, rings_teardown)
	const struct CMUnitTest tests[] = {
		T(small_buffers),    T(empty_pool),      T(full_ring), T(lanes),
		T(hold_and_discard), T(untagged_counts), T(pace),
	};

	if (rings_eal() != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
