/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Completions as a card writes them, byte by byte from the reference, for a queue pair that waits for them. */
#ifndef ROCE_CQE_H
#define ROCE_CQE_H

#include "roce_rig.h"
#include "drivers/mlx4/verbs/verbs.h"

/* An entry that the test writes in the card's place. */
struct entry {
	uint32_t qpn, imm, from; /* from: GRH, path bits, queue pair */
	uint16_t sl_vid, rlid, status, index;
	uint8_t l4, vendor, syndrome, op;
	uint32_t len;
};

static struct mlx4_roce_cq *
cq_of(struct ibv_cq *cq)
{
	return (struct mlx4_roce_cq *)(void *)cq;
}

static struct mlx4_roce_qp *
qp_of(struct ibv_qp *qp)
{
	return (struct mlx4_roce_qp *)(void *)qp;
}

static void
put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void
put32(uint8_t *p, uint32_t v)
{
	put16(p, (uint16_t)(v >> 16));
	put16(p + 2, (uint16_t)v);
}

/* The nth entry that was not polled; its owner bit is that of its pass [DP 6.5]. */
static void
write_entry(struct ibv_cq *cq, uint32_t n, const struct entry *e)
{
	struct mlx4_roce_cq *c = cq_of(cq);
	uint32_t at = c->ci + n, entries = (uint32_t)cq->cqe + 1;
	uint8_t *p = (uint8_t *)c->cqes + (size_t)(at % entries) * 32;

	memset(p, 0, 31);
	put32(p, e->qpn);
	put32(p + 4, e->imm);
	put32(p + 8, e->from);
	put16(p + 0x0c, e->sl_vid);
	put16(p + 0x0e, e->rlid);
	put16(p + 0x10, e->status);
	p[0x13] = e->l4;
	put32(p + 0x14, e->len);
	put16(p + 0x18, e->index);
	p[0x1a] = e->vendor;
	p[0x1b] = e->syndrome;
	p[0x1f] = (uint8_t)((at / entries % 2 != 0 ? 0x80 : 0) | e->op);
}

static void
open_end(struct rr_end *e, enum ibv_qp_type type)
{
	struct rr_end peer;

	rr_end(e, 0);
	rr_qp(e, type, NULL);
	peer = *e; /* as good as any */
	rr_init(e);
	rr_rtr(e, &peer, RR_IPV4_V2);
	rr_rts(e);
}

#endif /* ROCE_CQE_H */
