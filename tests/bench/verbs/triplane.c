/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Triplane's verbs on rings that no card reads: the state that creating queues would leave, made by hand. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cpuflags.h>
#include <rte_vect.h>

#include "drivers/mlx4/verbs/verbs.h"

#include "rings.h"

#define QPN 0x40u
#define PAGE 4096u
#define LG_RQ_STRIDE 5u
#define BF_HALF 256u

const char rings_driver[] = "triplane";

static struct ibv_context ctx;
static struct mlx4_roce home;
static struct mlx4_roce_qp *qp_of[QPN + 1];
static bool use_bf;

/* No region is registered by requests here. */
bool
mlx4_roce_fast_pages(struct mlx4_roce_mr *m, const struct ibv_send_wr *wr)
{
	(void)m;
	(void)wr;
	return false;
}

/* What the EAL would say. */
uint16_t
rte_vect_get_max_simd_bitwidth(void)
{
	return RTE_VECT_SIMD_256;
}

int
rte_cpu_get_flag_enabled(enum rte_cpu_flag_t feature)
{
	return feature == RTE_CPUFLAG_AVX2 && __builtin_cpu_supports("avx2");
}

static void *
zalloc(size_t n)
{
	void *p = aligned_alloc(PAGE, RTE_ALIGN_CEIL(n, PAGE));

	return p == NULL ? NULL : memset(p, 0, RTE_ALIGN_CEIL(n, PAGE));
}

static int
make_cq(struct rings_cq *r)
{
	struct mlx4_roce_cq *c = zalloc(sizeof(*c));

	if (c == NULL)
		return -ENOMEM;
	r->mask = c->mask = 2 * RINGS_WRS - 1;
	r->cqes = zalloc((c->mask + 1) * sizeof(*c->cqes));
	c->cqes = (struct mlx4_cqe *)(void *)r->cqes;
	c->dbrec = zalloc(PAGE);
	if (c->cqes == NULL || c->dbrec == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i <= c->mask; i++)
		c->cqes[i].owner_sr_opcode = MLX4_CQE_OWNER;
	c->qp_of = qp_of;
	c->home = &home;
	c->c.v.context = &ctx;
	r->cq = &c->c.v;
	return 0;
}

static int
make_srq(struct mlx4_roce_srq **out, struct rings_qp *r)
{
	struct mlx4_roce_srq *s = *out = zalloc(sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	s->mask = s->tail = 2 * RINGS_WRS - 1;
	s->lg_stride = LG_RQ_STRIDE;
	s->sges = 1;
	s->wqes = zalloc((size_t)(s->mask + 1) << s->lg_stride);
	s->wrid = zalloc((s->mask + 1) * sizeof(*s->wrid));
	s->dbrec = zalloc(PAGE);
	if (s->wqes == NULL || s->wrid == NULL || s->dbrec == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i <= s->mask; i++)
		prm_set(s->wqes + ((size_t)i << s->lg_stride), MLX4_SRQ_WQE_NEXT, (i + 1) & s->mask);
	s->home = &home;
	s->s.v.context = &ctx;
	r->srq = &s->s.v;
	r->rq = s->wqes;
	r->lg_rq_stride = s->lg_stride;
	r->rq_mask = s->mask;
	return 0;
}

/* What qp.c finds for so many bytes inline: a WQE of two blocks, or four of a datagram's. */
static int
make_sq(struct mlx4_roce_qp *q, enum ibv_qp_type type)
{
	const uint32_t lg = MLX4_LG_TXBB + (q->ud ? 2 : 1);
	uint32_t i;

	q->lg_sq_stride = (uint8_t)lg;
	q->sq_spare = (uint16_t)MLX4_ROCE_SPARE(lg);
	q->sq_mask = rte_align32pow2(RINGS_WRS + q->sq_spare) - 1;
	q->sq_cap = q->sq_mask + 1 - q->sq_spare;
	q->sq_room = (uint16_t)q->sq_cap;
	q->sq_sges = 1;
	q->max_inline = q->ud ? 3 * 60 : 28 + 60;
	q->services = (uint8_t)(1u << type);
	if (!q->ud && !use_bf)
		mlx4_roce_small_spans(q, lg);
	q->sq = zalloc((size_t)(q->sq_mask + 1) << lg);
	q->slots = zalloc((q->sq_mask + 1 + q->sq_spare) * sizeof(*q->slots));
	if (q->sq == NULL || q->slots == NULL)
		return -ENOMEM;
	memset(q->sq, 0xff, (size_t)(q->sq_mask + 1) << lg);
	for (i = 0; i <= q->sq_mask + q->sq_spare; i++) {
		q->slots[i].wqe = q->sq + ((size_t)(i & q->sq_mask) << lg);
		q->slots[i].owner = RTE_BE32(MLX4_CTRL_OWN);
	}
	for (i = 0; i < RTE_DIM(q->flags); i++)
		q->flags[i] =
			rte_cpu_to_be_32(((i & 1) != 0 ? MLX4_CTRL_CQE : 0) | ((i & 2) != 0 ? MLX4_CTRL_SOLICITED : 0));
	return 0;
}

static int
make_rq(struct mlx4_roce_qp *q, struct rings_qp *r)
{
	q->lg_rq_stride = LG_RQ_STRIDE;
	q->rq_cap = q->rq_room = RINGS_WRS;
	q->rq_mask = RINGS_WRS - 1;
	q->rq_sges = 2;
	q->rq = zalloc((size_t)RINGS_WRS << LG_RQ_STRIDE);
	q->rq_wrid = zalloc(RINGS_WRS * sizeof(*q->rq_wrid));
	q->rq_dbrec = zalloc(PAGE);
	r->rq = q->rq;
	r->lg_rq_stride = LG_RQ_STRIDE;
	r->rq_mask = q->rq_mask;
	return q->rq == NULL || q->rq_wrid == NULL || q->rq_dbrec == NULL ? -ENOMEM : 0;
}

int
rings_init(bool bf)
{
	use_bf = bf;
	ctx.ops.post_send = mlx4_roce_post_send;
	ctx.ops.post_recv = mlx4_roce_post_recv;
	ctx.ops.post_srq_recv = mlx4_roce_post_srq_recv;
	ctx.ops.poll_cq = mlx4_roce_poll_cq;
	return 0;
}

int
rings_make(enum ibv_qp_type type, bool srq, struct rings_qp *r)
{
	struct mlx4_roce_qp *q = zalloc(sizeof(*q));
	struct mlx4_roce_ah *ah = zalloc(sizeof(*ah));
	int rc = q == NULL || ah == NULL ? -ENOMEM : 0;

	if (rc == 0)
		rc = make_cq(&r->send);
	if (rc == 0)
		rc = make_cq(&r->recv);
	if (rc != 0)
		return rc;
	q->home = &home;
	q->q.v.context = &ctx;
	q->q.v.qp_type = type;
	q->q.v.qp_num = r->qpn = q->qpn = QPN;
	q->q.v.send_cq = r->send.cq;
	q->q.v.recv_cq = r->recv.cq;
	q->ud = q->more_recv = type == IBV_QPT_UD;
	q->db = zalloc(PAGE);
	q->db_val = rte_cpu_to_be_32(QPN << 8);
	rc = make_sq(q, type);
	if (rc == 0)
		rc = srq ? make_srq(&q->srq, r) : make_rq(q, r);
	q->plain_recv = !q->more_recv && q->srq == NULL;
	q->bf = use_bf ? zalloc(PAGE) : NULL;
	q->bf_half = BF_HALF;
	if (rc != 0 || q->db == NULL || (use_bf && q->bf == NULL))
		return -ENOMEM;
	mlx4_roce_post_choose(q, mlx4_cpu_avx2());
	qp_of[QPN] = q;
	r->qp = &q->q.v;
	r->ah = &ah->a.v;
	r->sq = q->sq;
	r->lg_stride = q->lg_sq_stride;
	r->sq_mask = q->sq_mask;
	r->doorbell = q->db;
	r->bf = (uint8_t *)(uintptr_t)q->bf;
	r->bf_len = BF_HALF;
	return 0;
}
