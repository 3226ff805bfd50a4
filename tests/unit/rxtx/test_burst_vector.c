/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The vector burst beside the scalar one: two queues get the same completions and must give the same packets. */
#include <rte_cpuflags.h>

#include "rings.h"
#include "drivers/mlx4/rx/mbuf.h"

#define ROUNDS 4000u
#define MOST 48u

static uint32_t seed;

static uint32_t
draw(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(seed >> 4) * below >> 28);
}

/* Any 31 bytes, but a length that a frame can have; now and then an error, or what no card says of a receive queue. */
static void
complete(struct rings *a, struct rings *b)
{
	static const uint8_t strange[] = {MLX4_CQE_ERROR, MLX4_CQE_RECV_SEND | MLX4_CQE_IS_SEND, 0x02, 0x1f};
	struct mlx4_cqe *x = rings_rx_cqe(a), *y = rings_rx_cqe(b);
	uint8_t op = draw(40) == 0 ? strange[draw(RTE_DIM(strange))] : MLX4_CQE_RECV_SEND;
	uint32_t i;

	for (i = 0; i < offsetof(struct mlx4_cqe, owner_sr_opcode); i++)
		((uint8_t *)x)[i] = (uint8_t)draw(256);
	x->byte_cnt = rte_cpu_to_be_32(64 + draw(9600));
	memcpy(y, x, offsetof(struct mlx4_cqe, owner_sr_opcode));
	rings_rx_done(a, x, op);
	rings_rx_done(b, y, op);
}

static void
same(const struct rte_mbuf *a, const struct rte_mbuf *b)
{
	assert_true(a->ol_flags == b->ol_flags);
	assert_int_equal(a->packet_type, b->packet_type);
	assert_int_equal(a->pkt_len, b->pkt_len);
	assert_int_equal(a->data_len, b->data_len);
	assert_int_equal(a->vlan_tci, b->vlan_tci);
	assert_int_equal(a->hash.rss, b->hash.rss);
	assert_int_equal(a->data_off, b->data_off);
	assert_int_equal(a->nb_segs, b->nb_segs);
	assert_int_equal(a->port, b->port);
	assert_int_equal(rte_mbuf_refcnt_read(a), rte_mbuf_refcnt_read(b));
}

static void
configure(struct rings *r, uint32_t bits)
{
	r->rxq.crc_len = bits & 1 ? 4 : 0;
	r->set.ol_flags = bits & 2 ? RTE_MBUF_F_RX_RSS_HASH : 0;
	r->set.ol_mask = bits & 4 ? UINT64_MAX : RTE_MBUF_F_RX_L4_CKSUM_MASK;
}

static void
one_round(struct rings *a, struct rings *b)
{
	struct rte_mbuf *x[MOST], *y[MOST];
	uint16_t ask = (uint16_t)draw(MOST + 1), n, i;
	uint32_t cqes = draw(MOST), bits = draw(8);

	configure(a, bits);
	configure(b, bits);
	/* No more completions than posted buffers: the card cannot either. */
	cqes = RTE_MIN(cqes, (uint16_t)(a->ring[0].pi - a->ring[0].ci) - (a->card_rx_pi - a->set.cq_ci));
	while (cqes-- != 0)
		complete(a, b);
	n = mlx4_rx_burst(&a->rxq, x, ask);
	assert_int_equal(mlx4_rx_burst_avx2(&b->rxq, y, ask), n);
	for (i = 0; i < n; i++)
		same(x[i], y[i]);
	rte_pktmbuf_free_bulk(x, n);
	rte_pktmbuf_free_bulk(y, n);
	assert_int_equal(a->rxq.packets, b->rxq.packets);
	assert_int_equal(a->rxq.bytes, b->rxq.bytes);
	assert_int_equal(a->rxq.errors, b->rxq.errors);
	assert_int_equal(a->set.cq_ci, b->set.cq_ci);
	assert_int_equal(a->ring[0].ci, b->ring[0].ci);
	assert_int_equal(a->ring[0].pi, b->ring[0].pi);
	assert_int_equal(a->rx_cq_dbrec[0], b->rx_cq_dbrec[0]);
	assert_int_equal(a->rx_dbrec[0][0], b->rx_dbrec[0][0]);
}

static void
twins_agree(void **state)
{
	void *other = NULL;
	struct rings *a, *b;
	uint32_t i;

	(void)state;
	if (rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX2) <= 0) {
		printf("skip twins_agree: this CPU has no AVX2\n");
		skip();
	}
	assert_int_equal(rings_setup(state), 0);
	assert_int_equal(rings_setup(&other), 0);
	a = *state;
	b = other;
	mlx4_rx_refill(&a->rxq, &a->ring[0]);
	mlx4_rx_refill(&b->rxq, &b->ring[0]);
	for (i = 0; i < ROUNDS; i++)
		one_round(a, b);
	/* Both kinds of completions came, and the rings went round many times. */
	assert_true(a->rxq.errors > 100 && a->set.cq_ci > 100 * RX_CQES);
	rings_drain(a);
	rings_drain(b);
	assert_int_equal(rings_teardown(state), 0);
	assert_int_equal(rings_teardown(&other), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(twins_agree)};

	if (rings_eal() != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
