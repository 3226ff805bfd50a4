/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queues with a policy: what is let through and what is dropped, and who owns which packet afterwards. */
#include "rings.h"
#include "drivers/mlx4/tx/policy.h"
#include "drivers/mlx4/tx/wqe.h"

#define FRAME 64

static const uint8_t own[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
static const uint8_t other[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x56};

static void
put(struct rte_mbuf *m, uint32_t at, const void *bytes, uint32_t n)
{
	memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, at), bytes, n);
}

/* A frame from src whose bytes from 12 on are these. */
static struct rte_mbuf *
frame(struct rings *r, const uint8_t *src, const uint8_t *type, uint32_t n)
{
	struct rte_mbuf *m = rings_mbuf(r, FRAME, 0);

	put(m, 6, src, 6);
	put(m, 12, type, n);
	return m;
}

static struct mlx4_tx_policy
checks(bool mac, bool type)
{
	struct mlx4_tx_policy p = {.check_mac = mac, .check_type = type, .num_types = 3};

	memcpy(p.mac.addr_bytes, own, sizeof(own));
	p.type[0] = RTE_BE16(0x0800);
	p.type[1] = RTE_BE16(0x0806);
	p.type[2] = RTE_BE16(0x86dd);
	p.type[3] = RTE_BE16(0x88cc); /* behind the last, so not one of them */
	return p;
}

static void
send_one(struct rings *r, struct rte_mbuf *m)
{
	assert_int_equal(mlx4_tx_burst_policy(&r->txq, &m, 1), 1);
}

static void
source_address(void **state)
{
	static const uint8_t ip[] = {0x08, 0x00};
	struct mlx4_tx_policy p = checks(true, false);
	struct rings *r = *state;

	r->txq.policy = &p;
	send_one(r, frame(r, own, ip, 2));
	assert_int_equal(r->txq.packets, 1);
	send_one(r, frame(r, other, ip, 2));
	assert_int_equal(r->txq.packets, 1);
	assert_int_equal(r->txq.spoof_mac, 1);
	assert_int_equal(r->txq.spoof_type, 0);
	assert_null(r->txq.policy_busy);
}

static void
ethertypes(void **state)
{
	static const struct {
		uint8_t bytes[12];
		bool llc, passes;
	} t[] = {
		{{0x08, 0x00, 0x45}, false, true},
		{{0x08, 0x06}, false, true},
		{{0x86, 0xdd}, false, true},
		{{0x89, 0x06}, false, false},
		{{0x88, 0xcc}, false, false},
		/* one tag, two tags, of either kind */
		{{0x81, 0x00, 0x00, 0x64, 0x08, 0x00}, false, true},
		{{0x81, 0x00, 0x00, 0x64, 0x88, 0xcc}, false, false},
		{{0x88, 0xa8, 0x00, 0x01, 0x81, 0x00, 0x00, 0x02, 0x08, 0x06}, false, true},
		{{0x88, 0xa8, 0x00, 0x01, 0x81, 0x00, 0x00, 0x02, 0x89, 0x15}, false, false},
		/* a third tag hides a type from the checks */
		{{0x81, 0x00, 0x00, 0x01, 0x81, 0x00, 0x00, 0x02, 0x81, 0x00, 0x00, 0x03}, false, false},
		/* lengths, also behind a tag; between length and type lies nothing that is allowed */
		{{0x00, 0x26, 0x42, 0x42, 0x03}, false, false},
		{{0x00, 0x26, 0x42, 0x42, 0x03}, true, true},
		{{0x05, 0xdc}, true, true},
		{{0x05, 0xdd}, true, false},
		{{0x05, 0xff}, true, false},
		{{0x06, 0x00}, true, false},
		{{0x81, 0x00, 0x00, 0x64, 0x00, 0x26}, true, true},
		{{0x81, 0x00, 0x00, 0x64, 0x00, 0x26}, false, false},
	};
	struct mlx4_tx_policy p = checks(false, true);
	struct rings *r = *state;
	uint64_t passed = 0, dropped = 0;
	unsigned int i;

	r->txq.policy = &p;
	for (i = 0; i < RTE_DIM(t); i++) {
		p.allow_llc = t[i].llc;
		send_one(r, frame(r, other, t[i].bytes, sizeof(t[i].bytes)));
		passed += t[i].passes;
		dropped += !t[i].passes;
		if (r->txq.packets != passed || r->txq.spoof_type != dropped)
			fail_msg("case %u", i);
	}
	assert_int_equal(r->txq.spoof_mac, 0);
}

/* A frame that ends behind its first tag, and headers that lie in several segments. */
static void
short_and_split(void **state)
{
	static const uint8_t tag[] = {0x81, 0x00, 0x00, 0x05}, ip[] = {0x08, 0x00};
	struct mlx4_tx_policy p = checks(true, true);
	struct rings *r = *state;
	struct rte_mbuf *m, *tail;

	r->txq.policy = &p;
	m = frame(r, own, tag, sizeof(tag));
	put(m, 16, ip, 2); /* where a frame that is longer has its type */
	m->data_len = 16;
	m->pkt_len = 16;
	send_one(r, m);
	assert_int_equal(r->txq.spoof_type, 1);
	m = frame(r, own, ip, 2);
	tail = rings_mbuf(r, FRAME, 0);
	put(tail, 0, ip, 2);
	put(m, 12, "\xff\xff", 2); /* behind the segment's end is anything */
	m->data_len = 12;
	m->pkt_len = 12 + FRAME;
	m->nb_segs = 2;
	m->next = tail;
	send_one(r, m);
	assert_int_equal(r->txq.packets, 1);
	m = frame(r, own, ip, 2);
	tail = rings_mbuf(r, FRAME, 0);
	put(tail, 0, other + 2, 4);
	m->data_len = 8;
	m->pkt_len = 8 + FRAME;
	m->nb_segs = 2;
	m->next = tail;
	send_one(r, m);
	assert_int_equal(r->txq.packets, 1);
	assert_int_equal(r->txq.spoof_mac, 1);
}

/* Good and bad frames mixed: the good ones are on the ring in their order. */
static void
order_is_kept(void **state)
{
	static const uint8_t ip[] = {0x08, 0x00};
	struct mlx4_tx_policy p = checks(true, false);
	struct rte_mbuf *m[150], *good[150];
	struct rings *r = *state;
	uint32_t i, k = 0;

	r->txq.policy = &p;
	for (i = 0; i < RTE_DIM(m); i++) {
		bool bad = i % 3 == 1 || i % 7 == 0;

		m[i] = frame(r, bad ? other : own, ip, 2);
		if (!bad)
			good[k++] = m[i];
	}
	assert_int_equal(mlx4_tx_burst_policy(&r->txq, m, RTE_DIM(m)), RTE_DIM(m));
	assert_int_equal(r->txq.packets, k);
	assert_int_equal(r->txq.spoof_mac, RTE_DIM(m) - k);
	for (i = 0; i < k; i++)
		assert_ptr_equal(r->txq.elts[i], good[i]);
	assert_int_equal(rte_mempool_in_use_count(r->pool), k);
}

/* The ring is full: what is behind the first good frame that found no room stays the caller's, bad ones too. */
static void
full_ring(void **state)
{
	static const uint8_t ip[] = {0x08, 0x00};
	struct mlx4_tx_policy p = checks(true, false);
	struct rings *r = *state;
	struct rte_mbuf *m[TX_BLOCKS + 64];
	uint32_t i, left, good = 0, taken;

	r->txq.policy = &p;
	for (i = 0; i < RTE_DIM(m); i++)
		m[i] = frame(r, i % 4 == 3 ? other : own, ip, 2);
	taken = mlx4_tx_burst_policy(&r->txq, m, RTE_DIM(m));
	assert_true(taken < RTE_DIM(m));
	/* The first one left is good, else it would have been dropped. */
	assert_int_not_equal(taken % 4, 3);
	for (i = 0; i < taken; i++)
		good += i % 4 != 3;
	assert_int_equal(good, r->txq.sq_room);
	assert_int_equal(r->txq.spoof_mac, taken - good);
	assert_int_equal(rte_mempool_in_use_count(r->pool), RTE_DIM(m) - (taken - good));
	/* Nothing is dropped twice: the same call changes nothing. */
	left = RTE_DIM(m) - taken;
	assert_int_equal(mlx4_tx_burst_policy(&r->txq, m + taken, (uint16_t)left), 0);
	assert_int_equal(r->txq.spoof_mac, taken - good);
	for (i = taken; i < RTE_DIM(m); i++)
		rte_pktmbuf_free(m[i]);
}

/* A queue without a policy on a port that has one elsewhere. */
static void
no_policy(void **state)
{
	static const uint8_t lldp[] = {0x88, 0xcc};
	struct rings *r = *state;

	send_one(r, frame(r, other, lldp, 2));
	assert_int_equal(r->txq.packets, 1);
	assert_int_equal(mlx4_tx_burst_policy(&r->txq, NULL, 0), 0);
}

/* What control code holds it may be taking back from the card: nobody else looks at its completions. */
static void
held(void **state)
{
	static const uint8_t ip[] = {0x08, 0x00};
	struct mlx4_tx_policy p = checks(true, false);
	struct rings *r = *state;
	uint32_t i;

	r->txq.policy = &p;
	for (i = 0; i < MLX4_TX_CQE_EVERY; i++)
		send_one(r, frame(r, own, ip, 2));
	rings_tx_done(r, MLX4_TX_CQE_EVERY - 1, MLX4_OP_SEND);
	p.hold = 1;
	assert_int_equal(mlx4_tx_done_cleanup(&r->txq, 0), 0);
	assert_int_equal(mlx4_tx_descriptor_status(&r->txq, 0), RTE_ETH_TX_DESC_FULL);
	assert_int_equal(rte_mempool_in_use_count(r->pool), MLX4_TX_CQE_EVERY);
	p.hold = 2; /* another priority */
	assert_int_equal(mlx4_tx_done_cleanup(&r->txq, 0), MLX4_TX_CQE_EVERY);
	assert_int_equal(rte_mempool_in_use_count(r->pool), 0);
	assert_null(r->txq.policy_busy);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rings_setup, rings_teardown)
	const struct CMUnitTest tests[] = {
		T(source_address), T(ethertypes), T(short_and_split), T(order_is_kept), T(full_ring),
		T(no_policy),      T(held),
	};

	if (rings_eal() != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
