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

#include "drivers/mlx4/verbs/wqe.h"

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

void
vc_never_nap(void)
{
	spin = UINT32_MAX;
}

static __rte_noinline void
nap(void)
{
	const struct timespec ts = {0, NAP_NS};

	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

/* Whoever has it may wait for a CPU. */
void
vc_lock_slow(rte_spinlock_t *l)
{
	unsigned int tries;

	for (tries = 0; rte_spinlock_trylock(l) == 0; tries++) {
		if (tries < LOCK_TRIES)
			rte_pause();
		else
			nap();
	}
}

/* --- requests ---------------------------------------------------------------------------------------------------- */

/* A way without a call beside that of the owner's own programs: what the lock costs is five instructions. */
static __rte_noinline int
post_any(struct vc_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int err = q->q.post(&q->q, wr, bad);

	vc_unlock(&q->send);
	return err;
}

static __rte_noinline int
post_late(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct vc_qp *q = (struct vc_qp *)qp;
	int err;

	vc_lock_slow(&q->send);
	err = mlx4_roce_post_send(qp, wr, bad);
	vc_unlock(&q->send);
	return err;
}

int
vc_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct vc_qp *q = (struct vc_qp *)qp;

	if (unlikely(rte_spinlock_trylock(&q->send) == 0))
		return post_late(qp, wr, bad);
	if (!post_small_send(&q->q, wr))
		return post_any(q, wr, bad);
	vc_unlock(&q->send);
	return 0;
}

int
vc_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct vc_qp *q = (struct vc_qp *)qp;
	int err;

	vc_lock(&q->recv);
	err = mlx4_roce_post_recv(qp, wr, bad);
	vc_unlock(&q->recv);
	return err;
}

/* Completions give entries back to the list that posting takes from. */
void
vc_srq_enter(struct mlx4_roce_srq *s)
{
	vc_lock(&vc_of(s->s.v.context)->srq_lock);
}

void
vc_srq_leave(struct mlx4_roce_srq *s)
{
	vc_unlock(&vc_of(s->s.v.context)->srq_lock);
}

int
vc_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct vc_context *c = vc_of(srq->context);
	int err;

	vc_lock(&c->srq_lock);
	err = mlx4_roce_post_srq_recv(srq, wr, bad);
	vc_unlock(&c->srq_lock);
	return err;
}

/* --- completions ------------------------------------------------------------------------------------------------- */

static __rte_always_inline void
rest(uint32_t empty)
{
	if (unlikely(empty == spin) && spin != UINT32_MAX)
		nap();
}

/* With the queue's lock: polls in a row that found nothing. At its end it stays: one poll, one nap, until there is something. */
static __rte_always_inline uint32_t
count_empty(struct vc_cq *q)
{
	if (q->empty_at != q->c.ci)
		q->empty = 0;
	q->empty_at = q->c.ci;
	q->empty = RTE_MIN(q->empty + 1, spin);
	return q->empty;
}

/* Lets go of the queue. */
static __rte_noinline int
found_nothing(struct vc_cq *q)
{
	uint32_t empty = count_empty(q);

	vc_unlock(&q->lock);
	rest(empty);
	return 0;
}

static __rte_noinline int
poll_late(struct vc_cq *q, int n, struct ibv_wc *wc)
{
	int done;

	vc_lock_slow(&q->lock);
	done = mlx4_roce_poll_cq(&q->c.c.v, n, wc);
	if (done == 0)
		return found_nothing(q);
	vc_unlock(&q->lock);
	return done;
}

/* Completions of any kind, behind those that were found; lets go of the queue. */
static __rte_noinline int
poll_any(struct vc_cq *q, int n, struct ibv_wc *wc, int done)
{
	done = mlx4_roce_poll_any(&q->c, n, wc, done);
	if (done == 0)
		return found_nothing(q);
	vc_unlock(&q->lock);
	return done;
}

/* All calls are its end, so that it needs no registers of its caller's. */
int
vc_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct vc_cq *q = (struct vc_cq *)cq;
	int done;

	if (unlikely(rte_spinlock_trylock(&q->lock) == 0))
		return poll_late(q, n, wc);
	if (unlikely(!mlx4_roce_poll_plain(&q->c, n, &wc, &done)))
		return poll_any(q, n, wc, done);
	if (done == 0)
		return found_nothing(q);
	vc_unlock(&q->lock);
	return done;
}

/* --- one completion at a time ---------------------------------------------------------------------------------- */

static __rte_always_inline int
next(struct vc_cq *q)
{
	if (mlx4_roce_poll_cq(&q->c.c.v, 1, &q->wc) == 0)
		return ENOENT;
	q->c.c.ex.wr_id = q->wc.wr_id;
	q->c.c.ex.status = q->wc.status;
	return 0;
}

static int
start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	struct vc_cq *q = (struct vc_cq *)cq;
	int err;

	if (attr->comp_mask != 0)
		return EINVAL;
	err = next(q);
	if (err != 0)
		rest(count_empty(q));
	return err;
}

static int
start_poll_locked(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	struct vc_cq *q = (struct vc_cq *)cq;
	int err;

	if (attr->comp_mask != 0)
		return EINVAL;
	vc_lock(&q->lock);
	err = next(q);
	if (err == 0) {
		__atomic_store_n(&q->inside, pthread_self(), __ATOMIC_RELAXED);
		return 0;
	}
	(void)found_nothing(q);
	return err;
}

static int
next_poll(struct ibv_cq_ex *cq)
{
	return next((struct vc_cq *)cq);
}

static void
end_poll(struct ibv_cq_ex *cq)
{
	(void)cq;
}

static void
end_poll_locked(struct ibv_cq_ex *cq)
{
	struct vc_cq *q = (struct vc_cq *)cq;

	__atomic_store_n(&q->inside, 0, __ATOMIC_RELAXED);
	vc_unlock(&q->lock);
}

#define READ(type, name, field)                                                                                        \
	static type read_##name(struct ibv_cq_ex *cq)                                                                  \
	{                                                                                                              \
		return ((const struct vc_cq *)cq)->wc.field;                                                           \
	}
READ(enum ibv_wc_opcode, opcode, opcode)
READ(uint32_t, vendor_err, vendor_err)
READ(uint32_t, byte_len, byte_len)
READ(__be32, imm_data, imm_data)
READ(uint32_t, qp_num, qp_num)
READ(uint32_t, src_qp, src_qp)
READ(unsigned int, wc_flags, wc_flags)
READ(uint32_t, slid, slid)
READ(uint8_t, sl, sl)
READ(uint8_t, dlid_path_bits, dlid_path_bits)

/* What a program did not ask for is not there. */
void
vc_cq_ex_init(struct vc_cq *q, uint64_t flags, bool single)
{
	struct ibv_cq_ex *x = &q->c.c.ex;

	x->start_poll = single ? start_poll : start_poll_locked;
	x->next_poll = next_poll;
	x->end_poll = single ? end_poll : end_poll_locked;
	x->read_opcode = read_opcode;
	x->read_vendor_err = read_vendor_err;
	x->read_wc_flags = read_wc_flags;
	x->read_byte_len = (flags & IBV_WC_EX_WITH_BYTE_LEN) != 0 ? read_byte_len : NULL;
	x->read_imm_data = (flags & IBV_WC_EX_WITH_IMM) != 0 ? read_imm_data : NULL;
	x->read_qp_num = (flags & IBV_WC_EX_WITH_QP_NUM) != 0 ? read_qp_num : NULL;
	x->read_src_qp = (flags & IBV_WC_EX_WITH_SRC_QP) != 0 ? read_src_qp : NULL;
	x->read_slid = (flags & IBV_WC_EX_WITH_SLID) != 0 ? read_slid : NULL;
	x->read_sl = (flags & IBV_WC_EX_WITH_SL) != 0 ? read_sl : NULL;
	x->read_dlid_path_bits = (flags & IBV_WC_EX_WITH_DLID_PATH_BITS) != 0 ? read_dlid_path_bits : NULL;
}

/* --- between polls --------------------------------------------------------------------------------------------- */

bool
vc_cq_enter(struct vc_cq *q)
{
	if (__atomic_load_n(&q->inside, __ATOMIC_RELAXED) == pthread_self())
		return false;
	vc_lock(&q->lock);
	return true;
}

void
vc_cq_leave(struct vc_cq *q, bool entered)
{
	if (entered)
		vc_unlock(&q->lock);
}

void
vc_cq_clean(struct ibv_cq *cq, const struct mlx4_roce_qp *qp)
{
	struct vc_cq *q = (struct vc_cq *)cq;
	bool entered = vc_cq_enter(q);

	mlx4_roce_cq_clean(&q->c, qp->qpn, qp->srq);
	vc_cq_leave(q, entered);
}

/* The card has given this entry to the program in this round. */
static bool
is_written(const struct mlx4_roce_cq *k, uint32_t ci)
{
	uint8_t owner = (ci & (k->mask + 1)) != 0 ? MLX4_CQE_OWNER : 0;

	return (*(const volatile uint8_t *)&k->cqes[ci & k->mask].owner_sr_opcode & MLX4_CQE_OWNER) == owner;
}

/*
 * The next arming counts as a new one once this one was answered [DP 2.4], which it was when there is a completion where it
 * waited: of several queues at one vector the interrupt does not say which is meant.
 */
static void
see_answer(struct vc_cq *q)
{
	if (!q->armed || ((int32_t)(q->c.ci - q->armed_at) <= 0 && !is_written(&q->c, q->armed_at)))
		return;
	atomic_fetch_add_explicit(&q->c.arm_sn, 1, memory_order_relaxed);
	q->armed = false;
}

/* Most completions that are passed over; with more of them the event comes at once, which is allowed. */
#define PASS_MAX 256u

int
vc_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct vc_cq *q = (struct vc_cq *)cq;
	struct mlx4_roce_cq *k = &q->c;
	bool entered = vc_cq_enter(q);
	uint32_t ci, first;

	/* Another thread may have read the interrupt, or read it before its turn: the card takes no arming for one that it has answered. */
	if (cq->channel == NULL)
		see_answer(q);
	first = k->ci;
	for (ci = first; ci - first < RTE_MIN(PASS_MAX, k->mask + 1) && is_written(k, ci); ci++)
		;
	q->armed = true;
	q->armed_at = ci;
	k->ci = ci;
	(void)mlx4_roce_req_notify_cq(cq, solicited_only);
	k->ci = first;
	vc_cq_leave(q, entered);
	return 0;
}

void
vc_cq_told(struct ibv_cq *cq)
{
	struct vc_cq *q = (struct vc_cq *)cq;
	bool entered = vc_cq_enter(q);

	see_answer(q);
	vc_cq_leave(q, entered);
}
