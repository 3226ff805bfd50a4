/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A card whose queues were made by hand, without commands: for tests and measurements of the data path alone. One
 * region (key RIG_KEY) covers the rig's memory; addresses are host addresses.
 */
#ifndef DP_RIG_H
#define DP_RIG_H

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

#include "model/cmd/cmd.h"
#include "model/event/event.h"
#include "model/port/port.h"
#include "model/queue/queue.h"

#define RIG_KEY 0x1200u
#define RIG_PD 5u
#define RIG_LG 8u
#define RIG_QPS 64u
#ifndef RIG_MEM /* whoever has many queues says so before */
#define RIG_MEM (8u << 20)
#endif
#define RIG_BUF 2048u

struct rig {
	struct tp_model *m;
	uint8_t *mem;
	size_t used;
	char last[256];
	unsigned int told;
};

struct rig_q {
	struct tpm_qp *qp;
	uint8_t *sq, *rq, *scq, *rcq, *bufs;
	rte_be32_t *dbrec, *scq_rec, *rcq_rec;
	uint32_t n, prod, sci, rci;
};

static inline uint8_t *
rig_alloc(struct rig *r, size_t len)
{
	uint8_t *p = r->mem + r->used;

	r->used += (len + 4095) & ~(size_t)4095;
	return r->used <= RIG_MEM ? p : NULL;
}

static inline int
rig_open(struct rig *r)
{
	struct tp_model_config cfg;
	int rc;

	memset(r, 0, sizeof(*r));
	tp_model_config_default(&cfg);
	rc = tp_model_create(&cfg, &r->m);
	if (rc != 0)
		return rc;
	r->mem = aligned_alloc(4096, RIG_MEM);
	if (r->mem == NULL)
		return -1;
	memset(r->mem, 0, RIG_MEM);
	rc = tp_model_dma_map(r->m, (uintptr_t)r->mem, RIG_MEM, r->mem, TP_DMA_READ | TP_DMA_WRITE);
	r->m->state = TPM_SYS_HCA;
	r->m->lg_qps = r->m->lg_cqs = RIG_LG;
	r->m->num_uars = TPM_NUM_UARS;
	r->m->dmfs = true;
	r->m->qp = calloc(1u << RIG_LG, sizeof(*r->m->qp));
	r->m->cq = calloc(1u << RIG_LG, sizeof(*r->m->cq));
	tp_model_set_time(r->m, 1000);
	return rc;
}

static inline struct tpm_cq *
rig_cq(struct rig *r, uint32_t cqn, uint32_t n, uint32_t uar, uint8_t *buf, rte_be32_t *rec)
{
	struct tpm_cq *cq = calloc(1, sizeof(*cq));

	memset(buf, 0xff, n * sizeof(struct mlx4_cqe));
	cq->ring = (struct tpm_ring){.flat = buf, .size = n * 32, .gen = r->m->tpt_gen, .valid = true};
	cq->mask = n - 1;
	cq->lg_stride = 5;
	cq->dbrec_addr = (uintptr_t)rec;
	cq->cqn = cqn;
	cq->uar = uar;
	r->m->cq[cqn] = cq;
	r->m->st.cqs++;
	tpm_uar_get(r->m, uar);
	return cq;
}

/* A QP of n send strides and n receive WQEs of one buffer each, ready to send, on UAR page 128 + qpn. */
static inline void
rig_qp(struct rig *r, struct rig_q *q, uint32_t qpn, unsigned int port, uint32_t n, bool posted)
{
	struct tpm_qp *qp = aligned_alloc(64, (sizeof(*qp) + 63) & ~(size_t)63);
	uint32_t uar = MLX4_UAR_EQ_PAGES + qpn;
	uint8_t *ring = rig_alloc(r, n * 80);

	memset(qp, 0, sizeof(*qp));
	memset(q, 0, sizeof(*q));
	q->qp = qp;
	q->n = n;
	q->sq = ring;
	q->rq = ring + n * 64;
	q->scq = rig_alloc(r, n * 32);
	q->rcq = rig_alloc(r, n * 32);
	q->bufs = rig_alloc(r, (size_t)n * RIG_BUF);
	q->dbrec = (rte_be32_t *)(void *)rig_alloc(r, 64);
	q->scq_rec = q->dbrec + 2;
	q->rcq_rec = q->dbrec + 4;
	for (uint32_t i = 0; i < n; i++)
		prm_set32(q->sq, i * 64, UINT32_MAX);
	qp->ring = (struct tpm_ring){.flat = ring, .size = n * 80, .gen = r->m->tpt_gen, .valid = true};
	qp->rq_off = n * 64;
	qp->sq_mask = qp->rq_mask = n - 1;
	qp->sq_lg_stride = MLX4_LG_TXBB;
	qp->rq_lg_stride = 4;
	qp->state = MLX4_QP_RTS;
	qp->service = MLX4_QP_ST_MLX;
	qp->port = (uint8_t)port;
	qp->eth = qp->has_sq = qp->has_rq = true;
	tpm_qp_ops_set(qp);
	qp->qpn = qpn;
	qp->pd = RIG_PD;
	qp->uar = uar;
	qp->dbrec_addr = (uintptr_t)q->dbrec;
	qp->scq = rig_cq(r, qpn, n, uar, q->scq, q->scq_rec);
	qp->rcq = rig_cq(r, qpn + RIG_QPS, n, uar, q->rcq, q->rcq_rec);
	for (unsigned int i = 0; i < TPM_TLB_LINES; i++)
		qp->tlb.line[i] = (struct tpm_tlb_line){.lo = (uintptr_t)r->mem,
							.hi = (uintptr_t)r->mem + RIG_MEM,
							.host = r->mem,
							.key = RIG_KEY,
							.gen = r->m->tpt_gen,
							.access = TPM_ACC_LR | TPM_ACC_LW};
	for (uint32_t i = 0; posted && i < n; i++) {
		prm_set32(q->rq, i * 16, RIG_BUF);
		prm_set32(q->rq, i * 16 + 4, RIG_KEY);
		prm_set64(q->rq, i * 16 + 8, (uintptr_t)(q->bufs + (size_t)i * RIG_BUF));
	}
	*q->dbrec = rte_cpu_to_be_32(posted ? n : 0);
	tpm_uar_get(r->m, uar);
	tpm_uar_sends(r->m, uar);
	r->m->qp[qpn] = qp;
	r->m->st.qps++;
}

static inline void
rig_up(struct rig *r)
{
	r->m->port[0].open = r->m->port[1].open = true;
	tp_model_wire_cross(r->m);
}

/* Rule: dmac (6 bytes; NULL: all-default) of a port to a QP. */
static inline uint8_t
rig_rule(struct rig *r, unsigned int port, const uint8_t *dmac, uint32_t qpn, uint64_t *id)
{
	uint8_t mbox[64] = {0};

	prm_set(mbox, MLX4_DMFS_PRIORITY, MLX4_DMFS_PRIO_NIC);
	prm_set(mbox, MLX4_DMFS_TYPE, dmac != NULL ? MLX4_DMFS_REGULAR : MLX4_DMFS_ALL_DEFAULT);
	prm_set(mbox, MLX4_DMFS_PORT, port);
	prm_set(mbox, MLX4_DMFS_QPN, qpn);
	if (dmac == NULL)
		return tpm_steer_attach(r->m, mbox, 4, id);
	prm_set(mbox + 16, MLX4_SPEC_SIZE, MLX4_SPEC_ETH_SIZE / 4);
	prm_set(mbox + 16, MLX4_SPEC_ID, MLX4_SPEC_ETH);
	memcpy(mbox + 16 + MLX4_SPEC_ETH_DMAC, dmac, 6);
	memset(mbox + 16 + MLX4_SPEC_ETH_DMAC_MASK, 0xff, 6);
	return tpm_steer_attach(r->m, mbox, 16, id);
}

static inline uint8_t *
rig_wqe(const struct rig_q *q)
{
	return q->sq + (q->prod & (q->n - 1)) * 64;
}

/* Hands a WQE of ds units over: owner bit last. */
static inline void
rig_post(struct rig_q *q, uint32_t op, uint32_t ds_vlan, uint32_t flags)
{
	uint8_t *w = rig_wqe(q);
	uint32_t owner = (q->prod & q->n) != 0 ? MLX4_CTRL_OWN : 0;

	prm_set32(w, 4, ds_vlan);
	prm_set32(w, 8, flags);
	prm_set32(w, 12, 0);
	prm_set32(w, 0, op | owner);
	q->prod += ((ds_vlan & MLX4_CTRL_DS_MASK) + 3) / 4;
}

static inline void
rig_data(struct rig_q *q, unsigned int i, const void *p, uint32_t len)
{
	uint8_t *s = rig_wqe(q) + 16 * i;

	prm_set32(s, 4, RIG_KEY);
	prm_set64(s, 8, (uintptr_t)p);
	prm_set32(s, 0, len);
}

static inline void
rig_ring(struct rig *r, const struct rig_q *q)
{
	uint8_t *uar = (uint8_t *)tp_model_uar(r->m, NULL) + (size_t)q->qp->uar * 4096;

	prm_set32(uar, MLX4_UAR_SEND_DB, q->qp->qpn << 8);
}

/* The next CQE of a ring, or NULL. */
static inline const struct mlx4_cqe *
rig_poll(const uint8_t *ring, uint32_t n, uint32_t *ci, rte_be32_t *rec)
{
	const struct mlx4_cqe *c = (const struct mlx4_cqe *)(const void *)(ring + (*ci & (n - 1)) * 32);

	if (((c->owner_sr_opcode & MLX4_CQE_OWNER) != 0) != ((*ci & n) != 0) ||
	    (c->owner_sr_opcode & MLX4_CQE_OPCODE_MASK) == MLX4_CQE_OPCODE_MASK)
		return NULL;
	(*ci)++;
	*rec = rte_cpu_to_be_32(*ci & MLX4_CQ_CI_MASK);
	return c;
}

static inline uint64_t
rig_violations(struct rig *r, const char *name)
{
	int i = tp_model_violation_by_name(name);

	return i < 0 ? UINT64_MAX : tp_model_violations(r->m, (unsigned int)i);
}

static inline void
rig_close(struct rig *r)
{
	tp_model_destroy(r->m);
	free(r->mem);
}

#endif /* DP_RIG_H */
