/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Frames from the wire: an input is a list of frames in one or several pieces that arrive at a port with a receive
 * queue behind a rule for everything. Each is delivered or counted as dropped.
 */
#include <stdlib.h>

#include "bytes.h"
#include "tests/unit/model/harness.h"

#define LG_RQ 6u
#define LG_RQ_STRIDE 4u
#define BUF_LEN 2048u
#define MAX_FRAMES 48
#define MAX_PIECES 4

static void
queue_up(struct card *c)
{
	uint8_t ctx[MLX4_QPC_SIZE];
	uint32_t size = card_qp_buf_size(0, LG_RQ, LG_RQ_STRIDE), i, n = 1u << LG_RQ;
	uint64_t buf = card_alloc(c, size, CARD_PAGE), dbrec = card_alloc(c, 64, 64);
	struct mlx4_wqe_data *wqe;
	rte_be32_t count = rte_cpu_to_be_32(n);
	uint8_t *in;

	memset(ctx, 0, sizeof(ctx));
	card_qp_ctx(c, ctx, CARD_QPN, 1, buf, 0, LG_RQ, LG_RQ_STRIDE, dbrec);
	/* The receive ring is the last part of the buffer. */
	wqe = (void *)(card_ptr(c, buf) + size - n * sizeof(*wqe));
	for (i = 0; i < n; i++) {
		wqe[i].byte_count = rte_cpu_to_be_32(BUF_LEN);
		wqe[i].lkey = rte_cpu_to_be_32(CARD_KEY);
		wqe[i].addr = rte_cpu_to_be_64(CARD_IOVA + 0x2000000u + (uint64_t)i * BUF_LEN);
	}
	(void)card_qp_up(c, CARD_QPN, ctx);
	memcpy(card_ptr(c, dbrec), &count, sizeof(count));
	(void)card_cmd_none(c, MLX4_CMD_INIT_PORT, 0, 1);
	in = card_in(c);
	prm_set(in, MLX4_DMFS_TYPE, MLX4_DMFS_ALL_DEFAULT);
	prm_set(in, MLX4_DMFS_PRIORITY, MLX4_DMFS_PRIO_NIC);
	prm_set(in, MLX4_DMFS_PORT, 1);
	prm_set(in, MLX4_DMFS_QPN, CARD_QPN);
	(void)card_cmd_in(c, MLX4_CMD_QP_FLOW_STEERING_ATTACH, 0, MLX4_DMFS_CTRL_SIZE / 4);
}

static void
one_frame(struct card *c, struct bytes *b)
{
	struct tp_frame_seg seg[MAX_PIECES];
	struct tp_frame f = {.seg = seg};
	uint8_t *piece[MAX_PIECES];
	uint8_t head = bytes_u8(b);
	uint16_t i;

	f.flags = head & 0x80 ? TP_FRAME_BAD_FCS : 0;
	f.nseg = 1 + (head & (MAX_PIECES - 1));
	for (i = 0; i < f.nseg; i++) {
		/* Exact allocations, so that reading one byte too far is seen. */
		size_t len = bytes_u16(b) % (i == 0 ? 2500 : 500);

		piece[i] = malloc(len == 0 ? 1 : len);
		if (piece[i] == NULL)
			abort();
		bytes_copy(b, piece[i], len);
		seg[i].data = piece[i];
		seg[i].len = (uint32_t)len;
		f.len += (uint32_t)len;
	}
	(void)tp_model_port_receive(c->m, 1, &f, 1);
	for (i = 0; i < f.nseg; i++)
		free(piece[i]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = {data, size};
	struct card *c = card_new(NULL);
	unsigned int i;

	card_boot(c, CARD_DMFS);
	card_objects(c);
	(void)tp_model_wire_loopback(c->m, 1);
	queue_up(c);
	tp_model_step(c->m, 8);
	for (i = 0; i < MAX_FRAMES && b.left != 0; i++)
		one_frame(c, &b);
	card_free(c);
	return 0;
}
