/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The driver's receive path: completions with any flags, opcodes and error syndromes, any length that fits the posted
 * buffers. Every mbuf comes back to the pool, a delivered chain has the length that the completion said.
 */
#include <stdlib.h>

#include "bytes.h"
#include "tests/unit/rxtx/rings.h"

#define BURST 32

static void
complete(struct rings *r, struct bytes *b)
{
	uint32_t room = (1u << r->ring[0].lg_sges) * r->rxq.buf_len, len;
	struct mlx4_cqe *cqe;

	/* No more completions than posted buffers: the card cannot either. */
	if ((uint16_t)(r->ring[0].pi - r->ring[0].ci) <= r->card_rx_pi - r->set.cq_ci)
		return;
	cqe = rings_rx_cqe(r);
	bytes_copy(b, cqe, offsetof(struct mlx4_cqe, owner_sr_opcode));
	len = rte_be_to_cpu_32(cqe->byte_cnt) % (room + 1);
	cqe->byte_cnt = rte_cpu_to_be_32(len < r->rxq.crc_len ? r->rxq.crc_len : len);
	rings_rx_done(r, cqe, bytes_u8(b) & (MLX4_CQE_OPCODE_MASK | MLX4_CQE_INLINE));
}

static void
receive(struct rings *r, bool scattered)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n = scattered ? mlx4_rx_burst_scattered(&r->rxq, pkts, BURST) : mlx4_rx_burst(&r->rxq, pkts, BURST), i;
	const char *why;

	for (i = 0; i < n; i++) {
		if (rte_mbuf_check(pkts[i], 1, &why) != 0) {
			fprintf(stderr, "mbuf %u of %u: %s\n", i, n, why);
			abort();
		}
		rte_pktmbuf_free(pkts[i]);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool up;
	struct bytes b = {data, size};
	void *state = NULL;
	struct rings *r;
	uint8_t mode;

	if (!up && rings_eal() != 0)
		abort();
	up = true;
	if (rings_setup(&state) != 0)
		abort();
	r = state;
	mode = bytes_u8(&b);
	r->ring[0].lg_sges = mode & 1 ? 2 : 0;
	r->rxq.crc_len = mode & 2 ? 4 : 0;
	mlx4_rx_refill(&r->rxq, &r->ring[0]);
	while (b.left != 0) {
		uint8_t n = 1 + (bytes_u8(&b) & 15);

		while (n-- != 0 && b.left != 0)
			complete(r, &b);
		receive(r, mode & 1);
	}
	receive(r, mode & 1);
	receive(r, mode & 1);
	if (rings_teardown(&state) != 0)
		abort();
	return 0;
}
