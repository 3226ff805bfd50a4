/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Of programs with the bursts that send. */
#include "rings.h"
#include "drivers/mlx4/tx/wqe.h"

uint32_t
rings_dw(const struct rings *r, uint32_t block, uint32_t n)
{
	const uint8_t *p = r->txq.sq + (block % TX_BLOCKS) * 64 + n * 4;

	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

uint16_t
rings_send(struct rings *r, struct rte_mbuf *m)
{
	return mlx4_tx_burst(&r->txq, &m, 1);
}

struct rte_mbuf *
rings_chain(struct rings *r, uint16_t len, unsigned int n)
{
	struct rte_mbuf *head = rings_mbuf(r, len, 0);
	unsigned int i;

	for (i = 1; i < n; i++)
		assert_int_equal(rte_pktmbuf_chain(head, rings_mbuf(r, len, (uint8_t)i)), 0);
	return head;
}

void
rings_complete(struct rings *r)
{
	while (r->card_tx_pi != r->txq.ends_pi)
		rings_tx_done(r, (uint16_t)(r->txq.ends[r->card_tx_pi % TX_BLOCKS] - 1), MLX4_OP_SEND);
	assert_int_equal(mlx4_tx_burst(&r->txq, NULL, 0), 0);
}

void
rings_seek(struct rings *r, uint32_t at)
{
	assert_int_equal(r->txq.sq_pi, r->txq.sq_ci);
	r->txq.sq_pi = r->txq.sq_ci = at;
}
