/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Completion queues and shared receive queues. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "verbs_client.h"

static volatile uint8_t *
uar_of(const struct vc_context *c, uint32_t page)
{
	return c->uars + (size_t)page * MLX4_UAR_PAGE_SIZE;
}

/* --- completion queues --- */

static int
cq_fill(struct vc_context *c, struct vc_cq *q, const struct share_cq *r, int fd)
{
	struct mlx4_roce_cq *k = &q->c;
	uint8_t *mem = vc_mem(c, &r->mem, fd);

	if (mem == NULL)
		return errno;
	k->home = &c->home;
	k->qp_of = c->home.qp_of;
	k->cqes = (struct mlx4_cqe *)(void *)mem;
	k->mask = r->entries - 1;
	k->dbrec = (volatile rte_be32_t *)(volatile void *)(mem + r->dbrec);
	k->cqn = r->cqn;
	atomic_init(&k->arm_sn, 1);
	k->arm_db = (volatile uint64_t *)(volatile void *)(uar_of(c, r->uar) + MLX4_UAR_CQ_ARM);
	pthread_mutex_init(&k->c.v.mutex, NULL);
	pthread_cond_init(&k->c.v.cond, NULL);
	return 0;
}

/* What libibverbs knows beyond these, the card or the datapath does not tell. */
#define FLAGS IBV_WC_STANDARD_FLAGS

struct ibv_cq_ex *
vc_create_cq_ex(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *a)
{
	uint32_t flags = (a->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? a->flags : 0;
	struct ibv_cq *cq;

	if ((a->comp_mask & ~(uint32_t)IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 || (a->wc_flags & ~(uint64_t)FLAGS) != 0 ||
	    (flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (a->cqe > INT_MAX || a->comp_vector > INT_MAX) {
		errno = EINVAL;
		return NULL;
	}
	cq = ibv_create_cq(ctx, (int)a->cqe, a->cq_context, a->channel, (int)a->comp_vector);
	if (cq == NULL)
		return NULL;
	vc_cq_ex_init((struct vc_cq *)cq, a->wc_flags, flags != 0);
	return &((struct vc_cq *)cq)->c.c.ex;
}

static struct ibv_cq *
cq_create(struct ibv_context *ctx, int cqe, void *cq_context, struct ibv_comp_channel *channel, int vector)
{
	struct vc_context *c = vc_of(ctx);
	struct vc_cq *q = calloc(1, sizeof(*q));
	struct share_msg m = {.op = SHARE_CREATE_CQ};
	int fd, err;

	if (q == NULL)
		return NULL;
	m.cq.cqe = cqe;
	m.cq.vector = vector;
	m.cq.channel = channel == NULL ? 0 : ((struct vc_channel *)channel)->handle;
	err = vc_call(c, &m, NULL, 0, &fd, 1);
	if (err != 0)
		return vc_made(q, err);
	q->c.c.v = (struct ibv_cq){
		.context = ctx, .channel = channel, .cq_context = cq_context, .handle = m.handle, .cqe = m.cq.cqe};
	err = cq_fill(c, q, &m.cq, fd);
	if (err == 0)
		err = vc_obj_put(c, m.handle, q);
	if (err != 0) {
		(void)vc_ask(c, SHARE_DESTROY_CQ, m.handle, &m);
		return vc_made(q, err);
	}
	if (channel != NULL)
		__atomic_add_fetch(&channel->refcnt, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&c->home.tables);
	LIST_INSERT_HEAD(&c->home.cqs, &q->c, next);
	q->c.dead = c->hca.dead;
	pthread_mutex_unlock(&c->home.tables);
	return &q->c.c.v;
}

VC_EXPORT struct ibv_cq *
ibv_create_cq(struct ibv_context *ctx, int cqe, void *cq_context, struct ibv_comp_channel *channel, int vector)
{
	if (vector == SHARE_VECTOR_OWN)
		vector = -1; /* no number that programs know */
	return cq_create(ctx, cqe, cq_context, channel, vector);
}

int
vc_own_vector(struct ibv_context *ctx, int *fd)
{
	struct vc_context *c = vc_of(ctx);
	struct share_msg m = {.op = SHARE_OWN_VECTOR};
	int err = vc_call(c, &m, NULL, 0, fd, 1);

	if (err == 0 && *fd < 0)
		err = EPROTO;
	if (err == 0) {
		pthread_mutex_lock(&c->home.tables);
		c->vector_fd = *fd;
		pthread_mutex_unlock(&c->home.tables);
	}
	return err;
}

struct ibv_cq *
vc_create_cq_own(struct ibv_context *ctx, int cqe)
{
	return cq_create(ctx, cqe, NULL, NULL, SHARE_VECTOR_OWN);
}

int
vc_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct share_msg m = {.cq = {.count = attr->moderate.cq_count, .period = attr->moderate.cq_period}};

	if (attr->attr_mask != IBV_CQ_ATTR_MODERATE)
		return EINVAL;
	return vc_ask(vc_of(cq->context), SHARE_MODIFY_CQ, cq->handle, &m);
}

static int
cq_move(struct vc_context *c, struct vc_cq *q, const struct share_cq *r, int fd)
{
	void *mem = vc_mem(c, &r->mem, fd);

	if (mem == NULL) {
		/* Nobody sees any more what completes. */
		q->c.dead = true;
		return errno;
	}
	mlx4_roce_cq_moved(&q->c, mem, r->entries - 1);
	return 0;
}

/* The owner puts what was not polled into the new ring; whoever polls or arms the queue waits for it. */
VC_EXPORT int
ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	struct vc_context *c = vc_of(cq->context);
	struct share_msg m = {.op = SHARE_RESIZE_CQ, .handle = cq->handle, .cq = {.cqe = cqe}};
	struct vc_cq *q = (struct vc_cq *)cq;
	bool entered = vc_cq_enter(q);
	int fd, err = vc_call(c, &m, NULL, 0, &fd, 1);

	if (err == 0 && m.cq.entries - 1 != q->c.mask)
		err = cq_move(c, q, &m.cq, fd);
	if (err == 0)
		cq->cqe = m.cq.cqe;
	vc_cq_leave(q, entered);
	return err;
}

VC_EXPORT int
ibv_destroy_cq(struct ibv_cq *cq)
{
	struct vc_context *c = vc_of(cq->context);
	struct vc_cq *q = (struct vc_cq *)cq;
	struct share_msg m = {0};
	int err = vc_ask(c, SHARE_DESTROY_CQ, cq->handle, &m);

	if (err != 0 && err != EIO)
		return err;
	vc_obj_del(c, cq->handle);
	pthread_mutex_lock(&c->home.tables);
	LIST_REMOVE(&q->c, next);
	pthread_mutex_unlock(&c->home.tables);
	/* Events that were fetched are acknowledged first. */
	pthread_mutex_lock(&cq->mutex);
	while (cq->comp_events_completed != q->delivered || cq->async_events_completed != q->c.c.async_events)
		pthread_cond_wait(&cq->cond, &cq->mutex);
	pthread_mutex_unlock(&cq->mutex);
	if (cq->channel != NULL)
		__atomic_sub_fetch(&cq->channel->refcnt, 1, __ATOMIC_RELAXED);
	free(q);
	return 0;
}

/* --- shared receive queues --- */

static int
srq_fill(struct vc_context *c, struct mlx4_roce_srq *s, const struct share_srq *r, int fd)
{
	uint8_t *mem = vc_mem(c, &r->mem, fd);

	s->wrid = calloc(r->entries, sizeof(*s->wrid));
	if (mem == NULL || s->wrid == NULL)
		return mem == NULL ? errno : ENOMEM;
	s->home = &c->home;
	s->wqes = mem;
	s->dbrec = (volatile rte_be32_t *)(volatile void *)(mem + r->dbrec);
	s->mask = r->entries - 1;
	s->tail = r->entries - 1;
	s->sges = r->sges;
	s->lg_stride = r->lg_stride;
	s->hw.srqn = r->srqn;
	s->refuse = c->hca.dead;
	s->enter = vc_srq_enter;
	s->leave = vc_srq_leave;
	pthread_mutex_init(&s->s.v.mutex, NULL);
	pthread_cond_init(&s->s.v.cond, NULL);
	return 0;
}

VC_EXPORT struct ibv_srq *
ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct vc_context *c = vc_of(pd->context);
	struct mlx4_roce_srq *s = calloc(1, sizeof(*s));
	struct share_msg m = {.op = SHARE_CREATE_SRQ};
	int fd, err;

	if (s == NULL)
		return NULL;
	m.srq.pd = pd->handle;
	m.srq.attr = init->attr;
	err = vc_call(c, &m, NULL, 0, &fd, 1);
	if (err != 0)
		return vc_made(s, err);
	s->s.v = (struct ibv_srq){
		.context = pd->context, .srq_context = init->srq_context, .pd = pd, .handle = m.handle};
	err = srq_fill(c, s, &m.srq, fd);
	if (err == 0)
		err = vc_obj_put(c, m.handle, s);
	if (err != 0) {
		free(s->wrid);
		(void)vc_ask(c, SHARE_DESTROY_SRQ, m.handle, &m);
		return vc_made(s, err);
	}
	init->attr = m.srq.attr;
	pthread_mutex_lock(&c->home.tables);
	LIST_INSERT_HEAD(&c->home.srqs, s, next);
	pthread_mutex_unlock(&c->home.tables);
	return &s->s.v;
}

VC_EXPORT int
ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct share_msg m = {.srq = {.attr = *attr, .mask = (uint32_t)mask}};

	return vc_ask(vc_of(srq->context), SHARE_MODIFY_SRQ, srq->handle, &m);
}

VC_EXPORT int
ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct share_msg m = {0};
	int err = vc_ask(vc_of(srq->context), SHARE_QUERY_SRQ, srq->handle, &m);

	if (err == 0)
		*attr = m.srq.attr;
	return err;
}

VC_EXPORT int
ibv_destroy_srq(struct ibv_srq *srq)
{
	struct vc_context *c = vc_of(srq->context);
	struct mlx4_roce_srq *s = (struct mlx4_roce_srq *)srq;
	struct share_msg m = {0};
	int err = vc_ask(c, SHARE_DESTROY_SRQ, srq->handle, &m);

	if (err != 0 && err != EIO)
		return err;
	vc_obj_del(c, srq->handle);
	pthread_mutex_lock(&c->home.tables);
	LIST_REMOVE(s, next);
	pthread_mutex_unlock(&c->home.tables);
	pthread_mutex_lock(&srq->mutex);
	while (srq->events_completed != s->s.async_events)
		pthread_cond_wait(&srq->cond, &srq->mutex);
	pthread_mutex_unlock(&srq->mutex);
	free(s->wrid);
	free(s);
	return 0;
}
