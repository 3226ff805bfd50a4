/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Queues: an input writes into rings, doorbell records and UAR pages of a card with two Ethernet QPs up (port 1 and 2,
 * cross wire) and lets it run. Broken work requests are answered by error completions and counted, nothing else.
 */
#include "bytes.h"
#include "tests/unit/model/harness.h"

#define LG_SQ 5u
#define LG_RQ 5u
#define LG_RQ_STRIDE 4u
#define MAX_ACTIONS 64
#define BUF_LEN 2048u

struct queue {
	uint64_t buf, dbrec;
	uint32_t qpn, size, sq_pi;
};

static void
queue_up(struct card *c, struct queue *q, uint32_t qpn, unsigned int port)
{
	uint8_t ctx[MLX4_QPC_SIZE];

	q->qpn = qpn;
	q->size = card_qp_buf_size(LG_SQ, LG_RQ, LG_RQ_STRIDE);
	q->buf = card_alloc(c, q->size, CARD_PAGE);
	q->dbrec = card_alloc(c, 64, 64);
	memset(ctx, 0, sizeof(ctx));
	card_qp_ctx(c, ctx, qpn, port, q->buf, LG_SQ, LG_RQ, LG_RQ_STRIDE, q->dbrec);
	(void)card_qp_up(c, qpn, ctx);
	(void)card_cmd_none(c, MLX4_CMD_INIT_PORT, 0, port);
}

/* A send that the card would take, in the next slot. */
static void
good_send(struct card *c, struct queue *q, struct bytes *b)
{
	uint8_t *w = card_ptr(c, q->buf) + (size_t)(q->sq_pi & ((1u << LG_SQ) - 1)) * MLX4_TXBB_SIZE;
	struct mlx4_wqe_ctrl *ctrl = (void *)w;
	struct mlx4_wqe_data *data = (void *)(ctrl + 1);
	uint32_t own = q->sq_pi & (1u << LG_SQ) ? MLX4_CTRL_OWN : 0;

	data->byte_count = rte_cpu_to_be_32(bytes_u16(b) & 0x7ff);
	data->lkey = rte_cpu_to_be_32(CARD_KEY);
	data->addr = rte_cpu_to_be_64(CARD_IOVA + 0x2000000u + bytes_u16(b));
	ctrl->vlan_ds = rte_cpu_to_be_32(2u + (bytes_u8(b) & 3));
	ctrl->flags = rte_cpu_to_be_32(MLX4_CTRL_CQE | bytes_u8(b));
	ctrl->imm = 0;
	ctrl->owner_opcode = rte_cpu_to_be_32((bytes_u8(b) & 1 ? MLX4_OP_SEND : MLX4_OP_LSO) | own);
	q->sq_pi++;
}

static void
poke(struct card *c, uint64_t iova, uint32_t size, struct bytes *b)
{
	uint32_t off = bytes_u16(b) % size, len = bytes_u8(b) & 63;

	bytes_copy(b, card_ptr(c, iova) + off, len < size - off ? len : size - off);
}

static void
action(struct card *c, struct queue *q, uint8_t *uar, struct bytes *b)
{
	uint8_t what = bytes_u8(b);
	rte_be32_t word;

	switch (what & 7) {
	case 0: poke(c, q->buf, q->size, b); break;
	case 1: good_send(c, q, b); break;
	case 2:
		word = rte_cpu_to_be_32(what & 0x80 ? bytes_u32(b) : q->qpn << 8);
		memcpy(uar + (size_t)(CARD_UAR + (what >> 6 & 1)) * MLX4_UAR_PAGE_SIZE + MLX4_UAR_SEND_DB, &word,
		       sizeof(word));
		break;
	case 3:
		word = rte_cpu_to_be_32(what & 0x80 ? bytes_u32(b) : bytes_u8(b) & 0x3f);
		memcpy(card_ptr(c, q->dbrec), &word, sizeof(word));
		break;
	case 4: poke(c, c->cq_dbrec, 8, b); break;
	case 5: poke(c, CARD_IOVA + 0x2000000u, BUF_LEN, b); break;
	case 6: {
		uint8_t msg[256];
		uint32_t len = what & 0x40 ? sizeof(msg) : what & 0x20 ? 8 : 4;

		bytes_copy(b, msg, len);
		(void)tp_model_uar_write(c->m, bytes_u32(b) & 0x7ffffc, msg, len);
		break;
	}
	default: tp_model_step(c->m, 1u + (what >> 3)); break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = {data, size};
	struct card *c = card_new(NULL);
	struct queue q[2];
	size_t uar_len;
	uint8_t *uar;
	unsigned int i;

	memset(q, 0, sizeof(q));
	card_boot(c, CARD_DMFS);
	card_objects(c);
	tp_model_set_time(c->m, 1000);
	(void)tp_model_wire_cross(c->m);
	queue_up(c, &q[0], CARD_QPN, 1);
	queue_up(c, &q[1], CARD_QPN + 1, 2);
	uar = tp_model_uar(c->m, &uar_len);
	for (i = 0; i < MAX_ACTIONS && b.left != 0; i++)
		action(c, &q[bytes_u8(&b) & 1], uar, &b);
	tp_model_step(c->m, 64);
	card_free(c);
	return 0;
}
