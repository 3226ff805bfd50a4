/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Life of completion queues; and polling of those whose card is run by who polls it. */
#include <errno.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>

#include "drivers/mlx4/bus/trace.h"
#include "verbs.h"

int
mlx4_roce_create_cq(struct troce_cq *cq, int vector)
{
	struct mlx4_roce_cq *c = (struct mlx4_roce_cq *)cq;
	struct mlx4_roce *r = mlx4_roce_of(cq->v.context);
	uint32_t entries = rte_align32pow2((uint32_t)cq->v.cqe + 1);
	const bool wants = vector >= 0;
	struct mlx4_dma_pool pool;
	int rc;

	if (r->hca == NULL)
		return EIO;
	if (vector == TROCE_VECTOR_OWN)
		vector = cq->guest->vector;
	else if (vector >= 0)
		vector = r->vector;
	if (wants && vector < 0)
		return EOPNOTSUPP;
	rc = mlx4_roce_uar_get(r, cq->guest, &c->uar);
	if (rc != 0)
		return rc == -ENOSPC ? ENOMEM : mlx4_roce_errno(rc);
	rc = mlx4_cq_create_of(r->hca, mlx4_roce_pool(cq->guest, &pool), RTE_MAX(entries, 2u), c->uar, vector,
			       r->dev->numa_node, &c->hw);
	if (rc != 0) {
		mlx4_roce_uar_put(r, cq->guest, c->uar);
		return rc == -ENOSPC ? ENOMEM : mlx4_roce_errno(rc);
	}
	mlx4_belongs(r->hca, MLX4_OBJ_CQ, c->hw.cqn, 1, r->port);
	c->home = r;
	c->live = true;
	c->cqes = c->hw.cqes;
	c->mask = c->hw.entries - 1;
	c->dbrec = c->hw.dbrec;
	c->qp_of = r->qp_of;
	c->cqn = c->hw.cqn;
	atomic_init(&c->arm_sn, 1);
	c->arm_db = (volatile uint64_t *)(volatile void *)(mlx4_uar_addr(r->hca, c->uar) + MLX4_UAR_CQ_ARM);
	cq->v.cqe = (int)c->mask;
	pthread_mutex_lock(&r->tables);
	r->cq_of[c->cqn & (r->num_cqs - 1)] = c;
	LIST_INSERT_HEAD(&r->cqs, c, next);
	pthread_mutex_unlock(&r->tables);
	return 0;
}

int
mlx4_roce_modify_cq(struct troce_cq *cq, uint16_t count, uint16_t period_us)
{
	struct mlx4_roce_cq *c = (struct mlx4_roce_cq *)cq;

	if (!c->live)
		return EIO;
	return mlx4_roce_errno(mlx4_cq_moderate(c->home->hca, &c->hw, count, period_us));
}

int
mlx4_roce_resize_cq(struct troce_cq *cq, int cqe)
{
	struct mlx4_roce_cq *c = (struct mlx4_roce_cq *)cq;
	struct mlx4_roce *r = c->home;
	uint32_t entries = RTE_MAX(rte_align32pow2((uint32_t)cqe + 1), 2u), waiting;
	struct mlx4_dma_pool pool;
	struct mlx4_dma old;
	int rc;

	if (!c->live)
		return EIO;
	/* One entry goes to the card's word of where it went on. */
	waiting = mlx4_roce_cq_waiting(c);
	if (waiting >= entries) {
		TROCE_LOG(ERR,
			  "%s: completion queue 0x%x: %u completions were not polled: wanted at least as many entries",
			  r->dev->where, c->cqn, waiting);
		return EINVAL;
	}
	if (entries != c->hw.entries) {
		rc = mlx4_cq_resize(r->hca, mlx4_roce_pool(cq->guest, &pool), entries, r->dev->numa_node, &c->hw, &old);
		if (rc != 0)
			return rc == -ENOSPC ? ENOMEM : mlx4_roce_errno(rc);
		mlx4_roce_cq_carry(c, c->hw.cqes, entries - 1);
		if (cq->guest == NULL)
			mlx4_roce_cq_moved(c, c->hw.cqes, entries - 1);
		c->cqes = c->hw.cqes;
		c->mask = entries - 1;
		mlx4_cq_drop(&c->hw, &old);
	}
	cq->v.cqe = (int)c->mask;
	return 0;
}

/* --- traces: what queues had, when they go; a program's own position in its queues is not ours --- */

static void
trace(const struct mlx4_roce_cq *c)
{
	uint8_t done = 0;

	mlx4_trace_ring(c->home->hca->trace, "cq", c->cqn, c->cqes, sizeof(*c->cqes), RTE_MIN(c->ci, c->mask + 1),
			&done);
}

void
mlx4_roce_qp_trace(const struct mlx4_roce_qp *q)
{
	struct mlx4_trace *t = q->home->hca->trace;
	uint8_t sent = 0, received = 0;

	mlx4_trace_ring(t, "sq", q->qpn, q->sq, (size_t)1 << q->lg_sq_stride, RTE_MIN(q->sq_head, q->sq_mask + 1),
			&sent);
	mlx4_trace_ring(t, "rq", q->qpn, q->rq, (size_t)1 << q->lg_rq_stride, RTE_MIN(q->rq_head, q->rq_mask + 1),
			&received);
}

/* What the card has of it. */
static void
release(struct mlx4_roce_cq *c)
{
	struct mlx4_roce *r = c->home;

	trace(c);
	pthread_mutex_lock(&r->tables);
	r->cq_of[c->cqn & (r->num_cqs - 1)] = NULL;
	pthread_mutex_unlock(&r->tables);
	mlx4_cq_retire(r->hca, &c->hw);
	mlx4_roce_uar_put(r, c->c.guest, c->uar);
	c->live = false;
}

void
mlx4_roce_cq_detach(struct mlx4_roce_cq *c)
{
	release(c);
}

int
mlx4_roce_destroy_cq(struct troce_cq *cq)
{
	struct mlx4_roce_cq *c = (struct mlx4_roce_cq *)cq;

	if (c->live)
		release(c);
	pthread_mutex_lock(&c->home->tables);
	LIST_REMOVE(c, next);
	pthread_mutex_unlock(&c->home->tables);
	mlx4_cq_free(&c->hw);
	return 0;
}

/* --- a card that is run by who polls it ------------------------------------------------------------------- */

/* The port may be taken away while it is polled: who takes it waits for those that are inside. */
static void
with_bus(struct ibv_cq *ibcq, void (*fn)(struct mlx4_bus *bus))
{
	struct mlx4_roce *r = ((struct mlx4_roce_cq *)(void *)ibcq)->home;
	struct mlx4_bus *bus;

	atomic_fetch_add(&r->inside, 1);
	bus = atomic_load(&r->polled_bus);
	if (likely(bus != NULL))
		fn(bus);
	atomic_fetch_sub_explicit(&r->inside, 1, memory_order_release);
}

static void
run(struct mlx4_bus *bus)
{
	bus->polled->run(bus);
}

static void
rest(struct mlx4_bus *bus)
{
	bus->polled->rest(bus);
}

void
mlx4_roce_polled_start(struct mlx4_roce *r, struct mlx4_bus *bus)
{
	atomic_store(&r->polled_bus, bus->polled != NULL ? bus : NULL);
}

void
mlx4_roce_polled_stop(struct mlx4_roce *r)
{
	atomic_store(&r->polled_bus, NULL);
	while (atomic_load(&r->inside) != 0)
		rte_delay_us_sleep(1);
}

/* The same on a card that is run by who polls it: one that finds less than it asked for runs the card, and looks again. */
int
mlx4_roce_poll_cq_run(struct ibv_cq *ibcq, int n, struct ibv_wc *wc)
{
	int done = mlx4_roce_poll_cq(ibcq, n, wc);

	if (done >= n)
		return done;
	with_bus(ibcq, run);
	return done + mlx4_roce_poll_cq(ibcq, n - done, wc + done);
}

int
mlx4_roce_req_notify_cq_rest(struct ibv_cq *ibcq, int solicited_only)
{
	int rc = mlx4_roce_req_notify_cq(ibcq, solicited_only);

	with_bus(ibcq, rest);
	return rc;
}
