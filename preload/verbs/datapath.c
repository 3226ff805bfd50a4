/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What the inline functions of <infiniband/verbs.h> call: the driver's own datapath, and what libibverbs promises besides. Any
 * number of threads may use a queue. A completion queue that is armed tells of what comes from then on (11.4.2.2), where the
 * card would also tell of what is there and was not polled yet.
 */
#include <stdlib.h>
#include <time.h>

#include "verbs_client.h"

/* --- waiting ----------------------------------------------------------------------------------------------------- */

/*
 * A program that polls takes a CPU that the peer, or a card in software, may need. After so many polls in a row that found
 * nothing it gives it away for a moment; TRIPLANE_SPIN sets the number, 0: never.
 */
#define SPIN_ENV "TRIPLANE_SPIN"
#define SPIN 4096u
#define NAP_NS 1000
#define LOCK_TRIES 1000u

static uint32_t spin = SPIN;

static void __attribute__((constructor)) spin_init(void)
{
	const char *text = getenv(SPIN_ENV);

	if (text != NULL)
		spin = (uint32_t)strtoul(text, NULL, 10);
	if (spin == 0)
		spin = UINT32_MAX;
}

static __rte_noinline void
nap(void)
{
	const struct timespec ts = {0, NAP_NS};

	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

/* Whoever has it may wait for a CPU. */
static __rte_noinline void
lock_slow(rte_spinlock_t *l)
{
	unsigned int tries;

	for (tries = 0; rte_spinlock_trylock(l) == 0; tries++) {
		if (tries < LOCK_TRIES)
			rte_pause();
		else
			nap();
	}
}

static __rte_always_inline void
lock(rte_spinlock_t *l)
{
	if (unlikely(rte_spinlock_trylock(l) == 0))
		lock_slow(l);
}

/* --- requests ---------------------------------------------------------------------------------------------------- */

int
vc_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct vc_qp *q = (struct vc_qp *)qp;
	int err;

	lock(&q->send);
	err = mlx4_roce_post_send(qp, wr, bad);
	rte_spinlock_unlock(&q->send);
	return err;
}

int
vc_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct vc_qp *q = (struct vc_qp *)qp;
	int err;

	lock(&q->recv);
	err = mlx4_roce_post_recv(qp, wr, bad);
	rte_spinlock_unlock(&q->recv);
	return err;
}

/* Completions give entries back to the list that posting takes from, so that both have the queue's lock; see vc_poll_cq(). */
int
vc_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct vc_context *c = vc_of(srq->context);
	int err;

	lock(&c->srq_lock);
	err = mlx4_roce_post_srq_recv(srq, wr, bad);
	rte_spinlock_unlock(&c->srq_lock);
	return err;
}

/* --- completions ------------------------------------------------------------------------------------------------- */

int
vc_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct vc_cq *q = (struct vc_cq *)cq;
	struct vc_context *c = vc_of(cq->context);
	bool srqs = __atomic_load_n(&c->num_srqs, __ATOMIC_RELAXED) != 0;
	uint32_t empty;
	int done;

	lock(&q->lock);
	if (unlikely(srqs))
		lock(&c->srq_lock);
	done = mlx4_roce_poll_cq(cq, n, wc);
	if (unlikely(srqs))
		rte_spinlock_unlock(&c->srq_lock);
	/* The count stays at its end: one poll, one nap, until there is something. */
	empty = done != 0 ? 0 : RTE_MIN(q->empty + 1, spin);
	q->empty = empty;
	rte_spinlock_unlock(&q->lock);
	if (unlikely(empty == spin) && spin != UINT32_MAX)
		nap();
	return done;
}

void
vc_cq_clean(struct ibv_cq *cq, const struct mlx4_roce_qp *qp)
{
	struct vc_cq *q = (struct vc_cq *)cq;
	struct vc_context *c = vc_of(cq->context);

	lock(&q->lock);
	lock(&c->srq_lock);
	mlx4_roce_cq_clean(&q->c, qp->qpn, qp->srq);
	rte_spinlock_unlock(&c->srq_lock);
	rte_spinlock_unlock(&q->lock);
}

/* Most completions that are passed over; with more of them the event comes at once, which is allowed. */
#define PASS_MAX 256u

int
vc_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct vc_cq *q = (struct vc_cq *)cq;
	struct mlx4_roce_cq *k = &q->c;
	uint32_t ci, first;

	lock(&q->lock);
	first = k->ci;
	for (ci = first; ci - first < RTE_MIN(PASS_MAX, k->mask + 1); ci++) {
		uint8_t owner = (ci & (k->mask + 1)) != 0 ? MLX4_CQE_OWNER : 0;

		if ((*(const volatile uint8_t *)&k->cqes[ci & k->mask].owner_sr_opcode & MLX4_CQE_OWNER) != owner)
			break;
	}
	k->ci = ci;
	(void)mlx4_roce_req_notify_cq(cq, solicited_only);
	k->ci = first;
	rte_spinlock_unlock(&q->lock);
	return 0;
}
