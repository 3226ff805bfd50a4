/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Send WQEs byte by byte against the data-path reference, chapters 3 and 4; offsets and values written out by hand. */
#include "rings.h"
#include "drivers/mlx4/tx/wqe.h"

static uint32_t
dw(const struct rings *r, uint32_t block, uint32_t n)
{
	const uint8_t *p = r->txq.sq + (block % TX_BLOCKS) * 64 + n * 4;

	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t
addr(const struct rings *r, uint32_t block, uint32_t n)
{
	return (uint64_t)dw(r, block, n) << 32 | dw(r, block, n + 1);
}

static uint16_t
send_one(struct rings *r, struct rte_mbuf *m)
{
	return mlx4_tx_burst(&r->txq, &m, 1);
}

/* The card completes everything that it was asked a completion for. */
static void
complete_all(struct rings *r)
{
	while (r->card_tx_pi != r->txq.ends_pi)
		rings_tx_done(r, (uint16_t)(r->txq.ends[r->card_tx_pi % TX_BLOCKS] - 1), MLX4_OP_SEND);
	assert_int_equal(mlx4_tx_burst(&r->txq, NULL, 0), 0);
}

static void
plain_packet(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *m = rings_mbuf(r, 60, 1);

	assert_int_equal(send_one(r, m), 1);
	assert_int_equal(dw(r, 0, 0), 0x0000000a); /* pass 0: owner 0; SEND */
	assert_int_equal(dw(r, 0, 1), 0x00000002); /* two 16-byte units */
	assert_int_equal(dw(r, 0, 2), 0x00000002); /* no ICRC; no completion, no checksum */
	assert_int_equal(dw(r, 0, 3), 0);
	assert_int_equal(dw(r, 0, 4), 60);
	assert_int_equal(dw(r, 0, 5), RING_KEY);
	assert_true(addr(r, 0, 6) == rte_mbuf_data_iova(m));
	assert_int_equal(dw(r, 1, 0), 0xffffffff); /* the next block does not look posted */
	assert_int_equal(rte_be_to_cpu_32(r->doorbell), RING_QPN << 8);
	assert_int_equal(r->txq.packets, 1);
	assert_int_equal(r->txq.bytes, 60);
}

static void
checksum_bits(void **state)
{
	static const struct {
		uint64_t flags;
		uint32_t dw2;
	} t[] = {
		{RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM, 0x12},
		{RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM, 0x22},
		{RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM, 0x22},
		{RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM, 0x32},
		{RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_SCTP_CKSUM, 0x02},
	};
	struct rings *r = *state;
	uint32_t i;

	for (i = 0; i < RTE_DIM(t); i++) {
		struct rte_mbuf *m = rings_mbuf(r, 100, 0);

		m->ol_flags |= t[i].flags;
		assert_int_equal(send_one(r, m), 1);
		assert_int_equal(dw(r, i, 2), t[i].dw2);
	}
}

static void
vlan_insertion(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *m = rings_mbuf(r, 64, 0);

	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = 0xa123;
	assert_int_equal(send_one(r, m), 1);
	assert_int_equal(dw(r, 0, 1), 0xa1234002); /* tag, INS_CVLAN, two units */
	assert_int_equal(dw(r, 0, 0), 0x0000000a);
}

static struct rte_mbuf *
chain(struct rings *r, const uint16_t *len, unsigned int n)
{
	struct rte_mbuf *head = rings_mbuf(r, len[0], 0);
	unsigned int i;

	for (i = 1; i < n; i++)
		assert_int_equal(rte_pktmbuf_chain(head, rings_mbuf(r, len[i], (uint8_t)i)), 0);
	return head;
}

/* An empty segment takes no data segment: its length 0 would mean 2^31 bytes. */
static void
segments_in_one_block(void **state)
{
	static const uint16_t len[] = {20, 0, 30, 10};
	struct rings *r = *state;
	struct rte_mbuf *m = chain(r, len, RTE_DIM(len));

	assert_int_equal(send_one(r, m), 1);
	assert_int_equal(dw(r, 0, 1), 4);
	assert_int_equal(dw(r, 0, 4), 20);
	assert_int_equal(dw(r, 0, 8), 30);
	assert_int_equal(dw(r, 0, 12), 10);
	assert_true(addr(r, 0, 14) == rte_mbuf_data_iova(m->next->next->next));
	assert_int_equal(r->txq.sq_pi, 1);
}

/* Five segments are six units: two blocks; the second is stamped with the wrong phase when it is reclaimed. */
static void
segments_in_two_blocks(void **state)
{
	static const uint16_t len[] = {100, 101, 102, 103, 104};
	struct rings *r = *state;
	uint32_t i;

	assert_int_equal(send_one(r, chain(r, len, RTE_DIM(len))), 1);
	assert_int_equal(dw(r, 0, 1), 6);
	for (i = 0; i < 3; i++)
		assert_int_equal(dw(r, 0, 4 + 4 * i), len[i]);
	assert_int_equal(dw(r, 1, 0), 103);
	assert_int_equal(dw(r, 1, 1), RING_KEY);
	assert_int_equal(dw(r, 1, 4), 104);
	assert_int_equal(r->txq.sq_pi, 2);
	/* 30 more blocks reach the place where a completion is asked for */
	for (i = 0; i < 30; i++)
		assert_int_equal(send_one(r, rings_mbuf(r, 60, 0)), 1);
	assert_int_equal(dw(r, 31, 2), 0x0000000e);
	complete_all(r);
	assert_int_equal(r->txq.sq_ci, 32);
	assert_int_equal(dw(r, 1, 0), 0x7fffffff); /* pass 0 again: the next pass wants 1 */
	assert_false(r->txq.mixed);
}

/* Second pass: owner bit 1. A WQE that wraps has the blocks behind the end with the next pass's neighbours intact. */
static void
owner_and_wrap(void **state)
{
	static const uint16_t len[] = {100, 101, 102, 103, 104};
	struct rings *r = *state;
	uint32_t i;

	for (i = 0; i < TX_BLOCKS - 1; i++) {
		assert_int_equal(send_one(r, rings_mbuf(r, 60, 0)), 1);
		assert_int_equal(dw(r, i, 0) >> 31, 0);
		complete_all(r);
	}
	assert_int_equal(send_one(r, chain(r, len, RTE_DIM(len))), 1);
	assert_int_equal(dw(r, 255, 0), 0x0000000a);
	assert_int_equal(dw(r, 255, 1), 6);
	assert_int_equal(dw(r, 256, 0), 103);
	assert_int_equal(send_one(r, rings_mbuf(r, 60, 0)), 1);
	assert_int_equal(dw(r, 257, 0), 0x8000000a);
	assert_int_equal(r->txq.sq_pi, 258);
}

static void
full_ring_takes_no_more(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *m[300];
	uint32_t i;
	uint16_t sent;

	for (i = 0; i < RTE_DIM(m); i++)
		m[i] = rings_mbuf(r, 60, 0);
	sent = mlx4_tx_burst(&r->txq, m, RTE_DIM(m));
	assert_int_equal(sent, 256 - 33); /* the card may prefetch 2 KiB beyond */
	assert_int_equal(mlx4_tx_burst(&r->txq, m + sent, 10), 0);
	rings_tx_done(r, 31, MLX4_OP_SEND);
	assert_int_equal(mlx4_tx_burst(&r->txq, m + sent, 77), 32);
	rte_pktmbuf_free_bulk(m + sent + 32, 77 - 32);
	assert_int_equal(r->txq.packets, 255);
}

/* Headers of 54 bytes: LSO segment of 58, padded to 64 = 4 units; what is left of the first mbuf is data. */
static void
tso_wqe(void **state)
{
	static const uint16_t len[] = {154, 2000};
	struct rings *r = *state;
	struct rte_mbuf *m = chain(r, len, RTE_DIM(len));

	m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
	m->l2_len = 14;
	m->l3_len = 20;
	m->l4_len = 20;
	m->tso_segsz = 1460;
	assert_int_equal(send_one(r, m), 1);
	assert_int_equal(dw(r, 0, 0), 0x0000004e); /* LSO with its bit 6 */
	assert_int_equal(dw(r, 0, 1), 1 + 4 + 2);
	assert_int_equal(dw(r, 0, 2), 0x32);
	assert_int_equal(dw(r, 0, 4), 1460u << 16 | 54);
	assert_int_equal(dw(r, 0, 5), 0x00010203); /* the headers, from byte 0 of the frame */
	/* the LSO segment is bytes 16..79: the headers go on at the second block */
	assert_int_equal(dw(r, 1, 0), 0x2c2d2e2f);
	assert_int_equal(dw(r, 1, 4), 100);
	assert_true(addr(r, 1, 6) == rte_mbuf_data_iova(m) + 54);
	assert_int_equal(dw(r, 1, 8), 2000);
}

/* Headers of 66 bytes and data in four mbufs: LSO segment of 70, padded to 80; the third data segment begins block 2. */
static void
tso_three_blocks(void **state)
{
	static const uint16_t len[] = {67, 1000, 500, 200};
	struct rings *r = *state;
	struct rte_mbuf *m = chain(r, len, RTE_DIM(len));

	m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = 0x6abc;
	m->l2_len = 14;
	m->l3_len = 20;
	m->l4_len = 32;
	m->tso_segsz = 536;
	assert_int_equal(send_one(r, m), 1);
	assert_int_equal(dw(r, 0, 0), 0x0000004e);
	assert_int_equal(dw(r, 0, 1), 0x6abc4000 | (1 + 5 + 4));
	assert_int_equal(dw(r, 0, 2), 0x22);
	assert_int_equal(dw(r, 0, 4), 536u << 16 | 66);
	assert_int_equal(dw(r, 0, 15), 0x28292a2b);
	assert_int_equal(dw(r, 1, 0), 0x2c2d2e2f);
	assert_int_equal(dw(r, 1, 4), 0x3c3d3e3f);
	assert_int_equal(dw(r, 1, 5) >> 16, 0x4041);
	assert_int_equal(dw(r, 1, 8), 1);
	assert_true(addr(r, 1, 10) == rte_mbuf_data_iova(m) + 66);
	assert_int_equal(dw(r, 1, 12), 1000);
	assert_int_equal(dw(r, 2, 0), 500);
	assert_int_equal(dw(r, 2, 1), RING_KEY);
	assert_true(addr(r, 2, 2) == rte_mbuf_data_iova(m->next->next));
	assert_int_equal(dw(r, 2, 4), 200);
	assert_int_equal(r->txq.sq_pi, 3);
}

/* Reads a large send's WQE as the card would, from its first block on, and holds it against the packet. */
static void
judge_tso(const struct rings *r, uint32_t block, const struct rte_mbuf *m, uint32_t hdr)
{
	uint32_t at = 5, i, units = (4 + hdr + 15) / 16;
	const struct rte_mbuf *seg;

	assert_int_equal(dw(r, block, 0), (block / TX_BLOCKS % 2 != 0 ? 0x80000000u : 0) | 0x4e);
	assert_int_equal(dw(r, block, 1), 1 + units + m->nb_segs);
	assert_int_equal(dw(r, block, 2) & ~0xcu, 0x32);
	assert_int_equal(dw(r, block, 3), 0);
	assert_int_equal(dw(r, block, 4), 1460u << 16 | hdr);
	for (i = 0; i < hdr; i++)
		assert_int_equal(dw(r, block + (at + i / 4) / 16, (at + i / 4) % 16) >> (24 - i % 4 * 8) & 0xff,
				 rte_pktmbuf_mtod(m, const uint8_t *)[i]);
	for (at = 4 + units * 4, seg = m; seg != NULL; seg = seg->next, at += 4) {
		uint32_t skip = seg == m ? hdr : 0, b = block + at / 16, n = at % 16;

		assert_int_equal(dw(r, b, n), seg->data_len - skip);
		assert_int_equal(dw(r, b, n + 1), RING_KEY);
		assert_true(addr(r, b, n + 2) == rte_mbuf_data_iova(seg) + skip);
	}
}

/* Headers of every length with data in one to six mbufs, at every place of the ring, little or much beside the headers. */
static void
tso_every_shape(void **state)
{
	static const uint16_t rest[] = {300, 301, 302, 303, 304};
	struct rings *r = *state;
	uint16_t hdr, first;
	uint32_t segs, i;

	for (i = 0, hdr = 42; hdr <= 126; hdr++) {
		for (segs = 1; segs <= 6; segs++, i++) {
			struct rte_mbuf *m;
			uint32_t block = r->txq.sq_pi;

			first = (uint16_t)(i % 2 != 0 ? hdr + 1 : 200);
			m = rings_mbuf(r, first, (uint8_t)i);
			if (segs > 1)
				assert_int_equal(rte_pktmbuf_chain(m, chain(r, rest, segs - 1)), 0);
			m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
			m->l2_len = 14;
			m->l3_len = 20;
			m->l4_len = hdr - 34;
			m->tso_segsz = 1460;
			assert_int_equal(send_one(r, m), 1);
			judge_tso(r, block, m, hdr);
			complete_all(r);
		}
	}
	assert_int_equal(r->txq.packets, i);
	assert_true(r->txq.sq_pi > 4 * TX_BLOCKS);
}

static void
inline_frame(void **state)
{
	struct rings *r = *state;

	r->txq.inline_max = 104;
	mlx4_txq_lengths(&r->txq, MTU_MAX);
	assert_int_equal(send_one(r, rings_mbuf(r, 60, 1)), 1);
	/* 44 bytes fit behind control and header, then a new inline segment at the block boundary: 16 more */
	assert_int_equal(dw(r, 0, 1), 4 + 2);
	assert_int_equal(dw(r, 0, 4), 0x80000000u | 44);
	assert_int_equal(dw(r, 0, 5), 0x01020304);
	assert_int_equal(dw(r, 1, 0), 0x80000000u | 16);
	assert_int_equal(dw(r, 1, 1), 0x2d2e2f30);
	assert_int_equal(r->txq.sq_pi, 2);
	/* 14 bytes: padded to the 17 that the card wants, with zeroes */
	assert_int_equal(send_one(r, rings_mbuf(r, 14, 1)), 1);
	assert_int_equal(dw(r, 2, 1), 3);
	assert_int_equal(dw(r, 2, 4), 0x80000000u | 17);
	assert_int_equal(dw(r, 2, 8), 0x0d0e0000);
	assert_int_equal(dw(r, 2, 9) >> 24, 0);
}

/* 70 mbufs of 20 bytes do not fit a WQE of 1008 bytes: they are gathered, headers and bytes unchanged. */
static void
too_many_segments(void **state)
{
	struct rings *r = *state;
	uint16_t len[70];
	uint8_t want[1400], got[1400];
	struct rte_mbuf *m;
	uint32_t i;

	for (i = 0; i < RTE_DIM(len); i++)
		len[i] = 20;
	m = chain(r, len, RTE_DIM(len));
	memcpy(want, rte_pktmbuf_read(m, 0, sizeof(want), want), sizeof(want));
	assert_int_equal(send_one(r, m), 1);
	assert_int_equal(dw(r, 0, 1), 2);
	assert_int_equal(dw(r, 0, 4), 1400);
	memcpy(got, (void *)(uintptr_t)addr(r, 0, 6), sizeof(got));
	assert_memory_equal(got, want, sizeof(want));
	assert_int_equal(r->txq.linearized, 1);
}

static void
bad_packets_are_dropped(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *m = rings_mbuf(r, 13, 0);

	assert_int_equal(mlx4_tx_prepare(&r->txq, &m, 1), 0);
	assert_int_equal(rte_errno, EINVAL);
	assert_int_equal(send_one(r, m), 1);
	m = rings_mbuf(r, 100, 0);
	m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG; /* no header lengths, no MSS */
	assert_int_equal(mlx4_tx_prepare(&r->txq, &m, 1), 0);
	assert_int_equal(send_one(r, m), 1);
	m = rings_mbuf(r, 100, 0);
	m->ol_flags |= RTE_MBUF_F_TX_QINQ;
	assert_int_equal(mlx4_tx_prepare(&r->txq, &m, 1), 0);
	assert_int_equal(rte_errno, ENOTSUP);
	assert_int_equal(send_one(r, m), 1);
	assert_int_equal(r->txq.errors, 3);
	assert_int_equal(r->txq.packets, 0);
	assert_int_equal(r->txq.sq_pi, 0);
	assert_int_equal(r->doorbell, 0);
}

static void
send_error_stops_the_queue(void **state)
{
	struct rings *r = *state;
	struct rte_mbuf *m = rings_mbuf(r, 60, 0);

	assert_int_equal(send_one(r, rings_mbuf(r, 60, 0)), 1);
	rings_tx_done(r, 0, MLX4_CQE_ERROR);
	assert_int_equal(send_one(r, m), 0);
	assert_true(r->txq.broken);
	assert_int_equal(r->txq.failures, 1);
	assert_int_equal(r->txq.errors, 1);
	rte_pktmbuf_free(m);
}

/* Fast free: bulk return, also across the ring's end. */
static void
fast_free_wraps(void **state)
{
	struct rings *r = *state;
	unsigned int round, i;

	r->txq.fast_free = true;
	for (round = 0; round < 40; round++) {
		struct rte_mbuf *m[40];

		for (i = 0; i < RTE_DIM(m); i++)
			m[i] = rings_mbuf(r, 60, 0);
		assert_int_equal(mlx4_tx_burst(&r->txq, m, RTE_DIM(m)), RTE_DIM(m));
		complete_all(r);
		assert_true(r->txq.sq_pi - r->txq.sq_ci < 32);
	}
	assert_int_equal(rte_be_to_cpu_32(r->tx_cq_dbrec[0]), 40 * 40 / 32);
}

static void
loopback_address(void **state)
{
	struct rings *r = *state;

	r->txq.mac_loopback = true;
	mlx4_txq_lengths(&r->txq, MTU_MAX);
	assert_int_equal(send_one(r, rings_mbuf(r, 60, 0xa0)), 1);
	assert_int_equal(dw(r, 0, 2), 0xa0a10002);
	assert_int_equal(dw(r, 0, 3), 0xa2a3a4a5);
}

static void
blueflame_copy(void **state)
{
	static uint64_t bf[64];
	struct rings *r = *state;
	uint32_t i;

	r->txq.bf = (volatile uint8_t *)bf;
	r->txq.bf_half = 256;
	assert_int_equal(send_one(r, rings_mbuf(r, 60, 0)), 1);
	assert_int_equal(r->doorbell, 0);
	assert_int_equal(dw(r, 0, 0), 0x0000000a);
	assert_int_equal(dw(r, 0, 1), RING_QPN << 8 | 2);
	assert_memory_equal(bf, r->txq.sq, 64);
	assert_int_equal(send_one(r, rings_mbuf(r, 60, 0)), 1);
	assert_int_equal(dw(r, 1, 0), 0x0000010a);        /* index 1 in bits 23:8 */
	assert_memory_equal(bf + 32, r->txq.sq + 64, 64); /* the other half */
	for (i = 0; i < 2; i++) {                         /* two packets in a burst: the doorbell */
		struct rte_mbuf *m[2] = {rings_mbuf(r, 60, 0), rings_mbuf(r, 60, 0)};

		assert_int_equal(mlx4_tx_burst(&r->txq, m, 2), 2);
	}
	assert_int_equal(rte_be_to_cpu_32(r->doorbell), RING_QPN << 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, rings_setup, rings_teardown)
		T(plain_packet),
		T(checksum_bits),
		T(vlan_insertion),
		T(segments_in_one_block),
		T(segments_in_two_blocks),
		T(owner_and_wrap),
		T(full_ring_takes_no_more),
		T(tso_wqe),
		T(tso_three_blocks),
		T(tso_every_shape),
		T(inline_frame),
		T(too_many_segments),
		T(bad_packets_are_dropped),
		T(send_error_stops_the_queue),
		T(fast_free_wraps),
		T(loopback_address),
		T(blueflame_copy),
#undef T
	};

	if (rings_eal() != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
