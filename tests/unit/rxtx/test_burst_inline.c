/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Frames within a WQE, and WQEs within the register that is their doorbell [DP 2.5, 3.4, 3.7]. */
#include "rings.h"
#include "drivers/mlx4/tx/wqe.h"

/* The WQE at a block has a frame of so many octets, which count up from the first, as the card reads it. Returns its blocks. */
static uint32_t
judge(const struct rings *r, uint32_t at, uint32_t len, uint8_t first)
{
	uint32_t block = at, n = 4, left = RTE_MAX(len, 17), seen = 0, ds = 1, k;

	while (left != 0) {
		uint32_t part = RTE_MIN(left, n == 4 ? 44 : 60);

		assert_int_equal(rings_dw(r, block, n), 0x80000000u | part);
		for (k = 0; k < part; k++, seen++) {
			uint32_t got = rings_dw(r, block, n + 1 + k / 4) >> (24 - k % 4 * 8) & 0xff;

			assert_int_equal(got, seen < len ? (uint8_t)(first + seen) : 0);
		}
		ds += (4 + part + 15) / 16;
		left -= part;
		block++;
		n = 0;
	}
	assert_int_equal(rings_dw(r, at, 0), (at & TX_BLOCKS) != 0 ? 0x8000000a : 0x0000000a);
	assert_int_equal(rings_dw(r, at, 1) & 0x3f, ds);
	return (ds + 3) / 4;
}

/* Inline frames of every length, in one buffer or two, at every place of the ring: bytes and headers as the card reads them. */
static void
inline_frames(void **state)
{
	struct rings *r = *state;
	uint16_t len;

	r->txq.inline_max = 300;
	mlx4_txq_lengths(&r->txq, MTU_MAX);
	for (len = 14; len <= 301; len++) {
		uint32_t at = r->txq.sq_pi;
		struct rte_mbuf *m = rings_mbuf(r, len, (uint8_t)len);

		if (len % 3 == 0) {
			struct rte_mbuf *tail = rings_mbuf(r, (uint16_t)(len - 9), (uint8_t)(len + 9));

			assert_int_equal(rte_pktmbuf_trim(m, (uint16_t)(len - 9)), 0);
			memset(rte_pktmbuf_mtod_offset(m, uint8_t *, 9), 0xa5, len - 9);
			assert_int_equal(rte_pktmbuf_chain(m, tail), 0);
		}
		assert_int_equal(rings_send(r, m), 1);
		if (len > 300) { /* not this one: an address, and its buffer waits */
			assert_int_equal(rings_dw(r, at, 4), m->data_len);
			assert_ptr_equal(r->txq.elts[at % TX_BLOCKS], m);
			break;
		}
		/* It is home. */
		assert_int_equal(rte_mempool_in_use_count(r->pool), 0);
		assert_int_equal(r->txq.sq_pi, at + judge(r, at, len, (uint8_t)len));
		if (r->card_tx_pi != r->txq.ends_pi)
			rings_complete(r);
	}
	assert_true(r->txq.sq_pi > 2 * TX_BLOCKS);
}

/* What a burst is made of: most frames are of the usual form, the others are what breaks a run of them. */
enum kind { USUAL, SHORT, LONG, TAGGED, SUMS, CHAINED, SHARED, KINDS };

static struct rte_mbuf *
frame_of(struct rings *r, enum kind kind, uint16_t len, uint8_t first)
{
	struct rte_mbuf *m = rings_mbuf(r, len, first);

	if (kind == TAGGED) {
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		m->vlan_tci = 0x6abc;
	} else if (kind == SUMS)
		m->ol_flags |= RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_IPV4;
	else if (kind == CHAINED) {
		assert_int_equal(rte_pktmbuf_trim(m, 5), 0);
		assert_int_equal(rte_pktmbuf_chain(m, rings_mbuf(r, 5, (uint8_t)(first + len - 5))), 0);
	} else if (kind == SHARED)
		rte_mbuf_refcnt_update(m, 1);
	return m;
}

/* Bursts of all kinds in turns, seeded: each frame as it stands in the ring, a completion at each 32nd block, blocks stamped. */
static void
inline_bursts(void **state)
{
	struct rings *r = *state;
	uint32_t rnd = 2026, round, i, ends = 0;

	r->txq.inline_max = 104;
	mlx4_txq_lengths(&r->txq, MTU_MAX);
	for (round = 0; round < 400; round++) {
		struct rte_mbuf *m[32];
		uint16_t len[RTE_DIM(m)];
		enum kind kind[RTE_DIM(m)];
		uint32_t at = r->txq.sq_pi, from = at, b;

		for (i = 0; i < RTE_DIM(m); i++) {
			rnd = rnd * 1664525 + 1013904223;
			kind[i] = rnd >> 28 != 0 ? USUAL : (rnd >> 24) % KINDS;
			len[i] = kind[i] == SHORT  ? 14 + (rnd >> 16) % 3
				 : kind[i] == LONG ? 105
						   : 17 + (rnd >> 12) % 88;
			m[i] = frame_of(r, kind[i], len[i], (uint8_t)i);
		}
		assert_int_equal(mlx4_tx_burst(&r->txq, m, RTE_DIM(m)), RTE_DIM(m));
		for (i = 0; i < RTE_DIM(m); i++, at += b) {
			if (kind[i] == LONG) {
				b = 1;
				assert_int_equal(rings_dw(r, at, 4), 105);
			} else
				b = judge(r, at, len[i], (uint8_t)i);
			assert_int_equal(rings_dw(r, at, 1) >> 6, kind[i] == TAGGED ? 0x6abc << 10 | 0x100 : 0);
			assert_int_equal(rings_dw(r, at, 2) & 0x30, kind[i] == SUMS ? 0x30 : 0);
			assert_int_equal(rings_dw(r, at, 2) & 0xc, at / 32 != (at + b) / 32 ? 0xc : 0);
			ends += at / 32 != (at + b) / 32;
			if (kind[i] == SHARED)
				rte_pktmbuf_free(m[i]);
		}
		assert_int_equal(r->txq.sq_pi, at);
		assert_int_equal(r->txq.ends_pi, ends);
		rings_complete(r);
		/* What is free again looks as if it was not posted, in the pass that comes. */
		for (i = from; (int32_t)(r->txq.sq_ci - i) > 0; i++)
			if (r->txq.elts[i % TX_BLOCKS] == MLX4_TX_INNER)
				assert_int_equal(rings_dw(r, i, 0), (i & TX_BLOCKS) != 0 ? 0xffffffff : 0x7fffffff);
	}
	assert_true(r->txq.sq_pi > 50 * TX_BLOCKS);
}

/* A ring with room for less than the burst: what fits is sent, and no block more. */
static void
inline_until_full(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *m[TX_BLOCKS];
	uint32_t i;

	r->txq.inline_max = 104;
	mlx4_txq_lengths(&r->txq, MTU_MAX);
	rings_seek(r, 0x1f3);
	for (i = 0; i < RTE_DIM(m); i++)
		m[i] = rings_mbuf(r, i == 0 ? 30 : 60, (uint8_t)i);
	i = mlx4_tx_burst(&r->txq, m, RTE_DIM(m));
	assert_int_equal(i, 1 + (r->txq.sq_room - 1) / 2);
	assert_int_equal(r->txq.sq_pi, 0x1f3 + 1 + 2 * (i - 1));
	assert_int_equal(mlx4_tx_burst(&r->txq, m + i, 1), 0);
	rte_pktmbuf_free_bulk(m + i, RTE_DIM(m) - i);
}

/* An inline frame whose buffer somebody else has, too, or that is a clone. */
static void
inline_shared(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *m = rings_mbuf(r, 60, 0), *clone = rte_pktmbuf_clone(m, r->pool);

	r->txq.inline_max = 100;
	mlx4_txq_lengths(&r->txq, MTU_MAX);
	assert_int_equal(rte_mbuf_refcnt_read(m), 2);
	assert_int_equal(rings_send(r, clone), 1);
	assert_int_equal(rte_mbuf_refcnt_read(m), 1);
	rte_mbuf_refcnt_update(m, 1);
	assert_int_equal(rings_send(r, m), 1);
	assert_int_equal(rte_mbuf_refcnt_read(m), 1);
	assert_int_equal(rte_mempool_in_use_count(r->pool), 1);
	assert_int_equal(rings_send(r, m), 1);
	assert_int_equal(rte_mempool_in_use_count(r->pool), 0);
}

/* What goes through the BlueFlame register, and what by the doorbell. */
static void
blueflame(void **state)
{
	static uint64_t bf[64];
	struct rings *r = *state;
	struct rte_mbuf *m;
	uint32_t i;

	static const struct {
		uint32_t at, len, half;
		bool vlan, copied;
	} t[] = {
		{0x1234e, 60, 256, false, true},                                      /* the index is in 16 bits */
		{0x1234e, 60, 256, true, false},   {0x1234e, 100, 128, false, true},  /* 44 and 56 bytes: two blocks */
		{0x1234e, 110, 128, false, false}, {0x1234e, 60, 64, false, false},   /* two blocks of 60 bytes, too */
		{0x100fe, 100, 256, false, true},  {0x100ff, 100, 256, false, false}, /* it wraps */
	};

	r->txq.inline_max = 200;
	mlx4_txq_lengths(&r->txq, MTU_MAX);
	r->txq.bf = (volatile uint8_t *)bf;
	for (i = 0; i < RTE_DIM(t); i++) {
		uint32_t blocks = t[i].len > 104 ? 3 : 2, own = (t[i].at & TX_BLOCKS) != 0 ? 0x80000000 : 0;

		memset(bf, 0xee, sizeof(bf));
		rings_drain(r);
		rings_seek(r, t[i].at);
		r->txq.bf_off = 0;
		r->txq.bf_half = t[i].half;
		r->doorbell = 0;
		m = rings_mbuf(r, (uint16_t)t[i].len, 0);
		if (t[i].vlan)
			m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		assert_int_equal(rings_send(r, m), 1);
		assert_int_equal(r->txq.sq_pi, t[i].at + blocks);
		assert_int_equal(rte_be_to_cpu_32(r->doorbell), t[i].copied ? 0 : RING_QPN << 8);
		assert_int_equal(r->txq.bf_off, t[i].copied ? t[i].half : 0);
		if (!t[i].copied) {
			assert_int_equal(rings_dw(r, t[i].at, 0), own | 0x0a);
			assert_int_equal(bf[0], UINT64_C(0xeeeeeeeeeeeeeeee));
			continue;
		}
		assert_int_equal(rings_dw(r, t[i].at, 0), own | (t[i].at & 0xffff) << 8 | 0x0a);
		assert_int_equal(rings_dw(r, t[i].at, 1) >> 8, RING_QPN);
		assert_memory_equal(bf, r->txq.sq + t[i].at % TX_BLOCKS * 64, 128);
		assert_int_equal(bf[16], UINT64_C(0xeeeeeeeeeeeeeeee));
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rings_setup, rings_teardown)
	const struct CMUnitTest tests[] = {
		T(inline_frames), T(inline_bursts), T(inline_until_full), T(inline_shared), T(blueflame),
	};

	if (rings_eal() != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
