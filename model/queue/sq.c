/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Send queues at run time [DP 3, 4]: doorbells, bursts of WQEs, completions, errors.
 *
 * A plain WQE (one data segment, no offload) is executed here; every other form by tpm_wqe_execute.
 */
#include <rte_prefetch.h>

#include "model/event/event.h"
#include "model/port/port.h"
#include "model/qos/qos.h"
#include "queue.h"

/* Blocks that are fetched ahead; no further than the last turn went, since software writes behind what it posted. */
#define PREFETCH_BLOCKS 16u
/* What one WQE of any form may need of a burst. */
#define ROOM_SEGS (TP_FRAME_SEGS + 4u)
#define ROOM_ARENA 2048u
/*
 * A queue that was idle for so long is not being filled at this moment, or by a CPU that was taken away in the middle of
 * a WQE: then its blocks are another WQE's after the second look.
 */
#define STAMP_SETTLE_NS 50000000u
#define STAMP_AGAIN_NS 2000000000u

#define PLAIN_DS rte_cpu_to_be_32(2)
#define PLAIN_OP rte_cpu_to_be_32(MLX4_OP_SEND)
#define OWN_BIT rte_cpu_to_be_32(MLX4_CTRL_OWN)

static const struct mlx4_wqe_ctrl *
sq_wqe(const struct tpm_qp *qp, uint32_t head)
{
	return (const struct mlx4_wqe_ctrl *)tpm_ring_at(&qp->ring,
							 qp->sq_off + ((head & qp->sq_mask) << qp->sq_lg_stride));
}

static inline bool
owner_matches(const struct tpm_qp *qp, uint32_t head, rte_be32_t dw0)
{
	return ((dw0 & OWN_BIT) != 0) == ((head & (qp->sq_mask + 1)) != 0);
}

bool
tpm_sq_head_posted(const struct tpm_qp *qp, uint32_t head)
{
	return owner_matches(qp, head, __atomic_load_n(&sq_wqe(qp, head)->owner_opcode, __ATOMIC_ACQUIRE));
}

/* --- queues with work --------------------------------------------------------------------------------------- */

static void
pending_add(struct tp_model *m, struct tpm_qp *qp)
{
	struct tpm_port *p = &m->port[qp->port - 1];

	if (qp->pending != NULL)
		return;
	if (tpm_unlikely(p->tx_managed))
		tpm_sched_add(m, p, qp);
	else
		tpm_list_add(&m->pending, qp);
}

void
tpm_qp_forget(struct tp_model *m, struct tpm_qp *qp)
{
	qp->stamp_due = false;
	if (qp->pending != NULL)
		tpm_list_del(qp);
}

/* --- doorbell --------------------------------------------------------------------------------------------- */

static bool
sq_resolved(struct tp_model *m, struct tpm_qp *qp)
{
	if (tpm_likely(qp->ring.gen == m->tpt_gen))
		return qp->ring.valid;
	return tpm_ring_resolve(m, &qp->ring, "QP", qp->qpn) == 0;
}

/*
 * A doorbell stands for at least one WQE. The card may have run ahead of it: it executes what it finds posted, and
 * the doorbells of those WQEs come later, when the next ones may be posted already. So the two are only counted: more
 * doorbells than WQEs means a doorbell for nothing.
 */
static void
check_owner(struct tp_model *m, struct tpm_qp *qp)
{
	if (--qp->run_ahead >= 0 || qp->pending != NULL || tpm_sq_head_posted(qp, qp->sq_head))
		return;
	qp->run_ahead = 0;
	tpm_violate(m, TPM_V_WQE_OWNER, "QP", qp->qpn, "doorbell, but the WQE at 0x%x has owner bit %u, wanted %u",
		    qp->sq_head & 0xffff, (qp->sq_head & (qp->sq_mask + 1)) == 0,
		    (qp->sq_head & (qp->sq_mask + 1)) != 0);
}

void
tpm_sq_doorbell(struct tp_model *m, uint32_t page, uint32_t qpn)
{
	struct tpm_qp *qp = tpm_qp_get(m, qpn);

	m->st.doorbells++;
	if (qp == NULL || !qp->has_sq || qp->is_rss) {
		tpm_violate(m, TPM_V_DB_QPN, "QP", qpn, "send doorbell on UAR page %u: no such send queue", page);
		return;
	}
	/* Who may write into one page alone must not move queues of others. */
	if (page != qp->uar) {
		tpm_violate(m, TPM_V_DB_PAGE, "QP", qpn, "send doorbell on UAR page %u, its context names %u", page,
			    qp->uar);
		return;
	}
	if (qp->state == MLX4_QP_ERR || qp->state == MLX4_QP_SQER) {
		tpm_sq_flush(m, qp);
		return;
	}
	/* Posted, and sent when software lets the queue go on. */
	if (qp->state == MLX4_QP_SQD && qp->roce != NULL)
		return;
	if (qp->state != MLX4_QP_RTS) {
		tpm_violate(m, TPM_V_DB_QP_STATE, "QP", qpn, "send doorbell in state %u, wanted %u (RTS)", qp->state,
			    MLX4_QP_RTS);
		return;
	}
	if (!sq_resolved(m, qp)) {
		tpm_qp_to_error(m, qp);
		tpm_event_qp(m, MLX4_EVENT_WQ_CATAS, qpn);
		return;
	}
	check_owner(m, qp);
	if (tpm_unlikely(m->port[qp->port - 1].break_sq != 0) && --m->port[qp->port - 1].break_sq == 0) {
		tpm_note(m, "QP 0x%x executes nothing more, on request", qp->qpn);
		tpm_qp_forget(m, qp);
		qp->stuck = true;
	}
	if (tpm_likely(!qp->stuck))
		pending_add(m, qp);
}

void
tpm_sq_resume(struct tp_model *m, struct tpm_qp *qp)
{
	if (qp->has_sq && qp->roce != NULL && sq_resolved(m, qp) && tpm_sq_head_posted(qp, qp->sq_head))
		pending_add(m, qp);
}

/* --- errors ----------------------------------------------------------------------------------------------- */

/* Strides that the WQE at head takes, 0 when that cannot be said. */
static uint32_t
wqe_strides(const struct tpm_qp *qp, uint32_t head)
{
	uint32_t ds = rte_be_to_cpu_32(sq_wqe(qp, head)->vlan_ds) & MLX4_CTRL_DS_MASK;

	return (ds * MLX4_DS_SIZE + (1u << qp->sq_lg_stride) - 1) >> qp->sq_lg_stride;
}

void
tpm_sq_flush(struct tp_model *m, struct tpm_qp *qp)
{
	uint32_t strides, left = qp->sq_mask + 1;

	if (!qp->has_sq || qp->scq == NULL || !sq_resolved(m, qp))
		return;
	while (left != 0 && tpm_sq_head_posted(qp, qp->sq_head)) {
		strides = wqe_strides(qp, qp->sq_head);
		if (strides == 0 || strides > left)
			break;
		if (!tpm_cqe_error(m, qp->scq, qp->qpn, (uint16_t)qp->sq_head, MLX4_SYND_WR_FLUSH, true))
			return;
		qp->sq_head += strides;
		left -= strides;
		m->port[qp->port - 1].flushed_sq++;
	}
	tpm_cq_notify(m, qp->scq, true);
}

void
tpm_qp_to_error(struct tp_model *m, struct tpm_qp *qp)
{
	bool had_sq = qp->state >= MLX4_QP_RTS;

	if (qp->state == MLX4_QP_ERR)
		return;
	tpm_qp_forget(m, qp);
	qp->state = MLX4_QP_ERR;
	/* What the transport works on comes before what it has not seen. */
	if (qp->roce != NULL)
		(void)qp->ops->state(m, qp, MLX4_QP_ERR);
	if (had_sq)
		tpm_sq_flush(m, qp);
	if (qp->has_rq && qp->rcq != NULL)
		tpm_rq_flush(m, qp);
	/* It holds no WQE of the SRQ any more. */
	if (qp->srq != NULL)
		tpm_event_qp(m, MLX4_EVENT_SRQ_LAST_WQE, qp->qpn);
}

/* --- bursts ----------------------------------------------------------------------------------------------- */

void
tpm_tx_flush(struct tpm_tx *t)
{
	struct tp_model *m = t->m;
	struct tpm_qp *qp = t->qp;
	unsigned int i;

	if (t->n != 0) {
		m->counter[qp->counter].tx_frames += t->n;
		m->counter[qp->counter].tx_bytes += t->bytes;
		tpm_port_send(m, t->p, t->f, t->n);
	}
	for (i = 0; i < t->ncqe; i++) {
		struct mlx4_cqe *c;

		if (tpm_unlikely(t->p->break_cqe != 0) && --t->p->break_cqe == 0) {
			tpm_note(m, "QP 0x%x: a completion was lost on request", qp->qpn);
			continue;
		}
		c = tpm_cqe_next(m, qp->scq);
		if (tpm_unlikely(c == NULL))
			break;
		memset(c, 0, offsetof(struct mlx4_cqe, owner_sr_opcode));
		c->vlan_my_qpn = rte_cpu_to_be_32(qp->qpn);
		c->wqe_index = rte_cpu_to_be_16(t->cqe[i].index);
		if (tpm_unlikely(qp->scq->stamp))
			tpm_cqe_stamp(m, c);
		tpm_cqe_commit(qp->scq, c, t->cqe[i].opcode | MLX4_CQE_IS_SEND);
	}
	if (t->ncqe != 0)
		tpm_cq_notify(m, qp->scq, false);
	t->n = t->nseg = t->ncqe = 0;
	t->used = 0;
	t->bytes = 0;
}

/* Room of a burst for so many WQEs of the kind that takes one piece of memory and no more; 0: not for one of any kind. */
static inline unsigned int
room_for(const struct tpm_tx *t)
{
	unsigned int n = TPM_BURST - RTE_MAX(t->n, t->ncqe);

	if (t->nseg + ROOM_SEGS > TPM_TX_SEGS || t->used + ROOM_ARENA > TPM_TX_ARENA)
		return 0;
	return RTE_MIN(n, TPM_TX_SEGS - ROOM_SEGS + 1 - t->nseg);
}

/*
 * WQEs from head on as long as they are plain: their frames are appended. Comparisons of whole double dwords decide; what fails any
 * is looked at closely elsewhere. Returns how many; what the loop needs is kept where stores cannot change it.
 */
static inline __attribute__((always_inline)) unsigned int
gather_plain(struct tpm_tx *t, uint32_t head, unsigned int done, unsigned int max, struct tpm_stretch *s)
{
	struct tpm_qp *qp = t->qp;
	const rte_be32_t op[2][2] = {{PLAIN_OP, PLAIN_DS}, {PLAIN_OP | OWN_BIT, PLAIN_DS}};
	const rte_be32_t quiet[2] = {rte_cpu_to_be_32(MLX4_CTRL_NO_ICRC), 0};
	const rte_be32_t told[2] = {rte_cpu_to_be_32(MLX4_CTRL_NO_ICRC | MLX4_CTRL_CQE), 0};
	const uint64_t no_cqe = tpm_raw64((const uint8_t *)quiet), with_cqe = tpm_raw64((const uint8_t *)told);
	const uint32_t mask = qp->sq_mask, room = t->plain_room;
	/* To the end of the ring at most: so far owner bits are the same. */
	const unsigned int end = RTE_MIN(max, mask + 1 - (head & mask));
	const uint64_t first = tpm_raw64((const uint8_t *)op[(head & (mask + 1)) != 0]);
	const unsigned int stride = 1u << qp->sq_lg_stride,
			   ahead = qp->last_turn - RTE_MIN(qp->last_turn, done + PREFETCH_BLOCKS);
	const uint8_t *w = (const uint8_t *)sq_wqe(qp, head);
	struct tp_frame *f = &t->f[t->n];
	struct tp_frame_seg *seg = &t->seg[t->nseg];
	/* Length and key of the WQE before; how far into the stretch the data of one like it may begin. */
	uint64_t like = ~tpm_raw64(w + 16), slack = 0;
	uint64_t bytes = 0;
	uint32_t len = 0;
	unsigned int i, ncqe = t->ncqe;

	/* A ring that is not in one piece takes the long way, WQE by WQE. */
	if (tpm_unlikely(qp->ring.flat == NULL))
		return 0;
	for (i = 0; i < end; i++, w += stride, f++, seg++) {
		uint64_t dw23, this, at;
		const uint8_t *data;

		if (__atomic_load_n((const uint64_t *)(const void *)w, __ATOMIC_ACQUIRE) != first)
			break;
		dw23 = tpm_raw64(w + 8);
		if (tpm_unlikely(dw23 != no_cqe && dw23 != with_cqe))
			break;
		if (i < ahead)
			rte_prefetch0(w + (size_t)stride * PREFETCH_BLOCKS);
		this = tpm_raw64(w + 16);
		at = prm_get64(w, 24) - s->lo;
		if (tpm_likely(this == like && at <= slack)) {
			data = s->host + at;
		} else {
			len = prm_get32(w, 16);
			if (tpm_unlikely(len - TPM_ETH_ZLEN >= room))
				break;
			data = tpm_stretch_at(t->m, &qp->tlb, s, tpm_raw32(w + 20), prm_get64(w, 24), len, TPM_ACC_LR);
			if (tpm_unlikely(data == NULL))
				break;
			like = this;
			slack = s->len - len;
		}
		rte_prefetch0(data);
		if (tpm_unlikely(dw23 == with_cqe)) {
			t->cqe[ncqe].index = (uint16_t)(head + i);
			t->cqe[ncqe++].opcode = MLX4_OP_SEND;
		}
		bytes += len;
		seg->data = data;
		seg->len = len;
		f->seg = seg;
		f->nseg = 1;
		f->flags = 0;
		f->len = len;
	}
	t->n += i;
	t->nseg += i;
	t->ncqe = ncqe;
	t->bytes += bytes;
	return i;
}

/* Collects WQEs until the burst is full, the budget used or the queue empty. Returns WQEs executed. */
static unsigned int
sq_gather(struct tpm_tx *t, unsigned int budget, bool *idle)
{
	struct tpm_qp *qp = t->qp;
	uint32_t head = qp->sq_head, strides;
	struct tpm_stretch s = {0};
	unsigned int done = 0, n;

	while (done < budget && (n = room_for(t)) != 0) {
		n = gather_plain(t, head, done, RTE_MIN(n, budget - done), &s);
		head += n;
		done += n;
		if (done == budget || room_for(t) == 0)
			break;
		if (!tpm_sq_head_posted(qp, head)) {
			*idle = true;
			break;
		}
		if (!tpm_wqe_execute(t, head, &strides)) {
			if (t->wait)
				break;
			*idle = true;
			return done + 1;
		}
		head += strides;
		done++;
	}
	qp->sq_head = head;
	return done;
}

static void
sq_went_idle(struct tp_model *m, struct tpm_qp *qp)
{
	tpm_qp_forget(m, qp);
	if (qp->no_prefetch || qp->state != MLX4_QP_RTS || m->num_stamps == TPM_MAX_TIMERS)
		return;
	qp->stamp_head = qp->sq_head;
	qp->stamp_since_ns = tpm_now(m);
	qp->stamp_off = 0;
	if (!qp->stamp_listed)
		m->stamp_qpn[m->num_stamps++] = qp->qpn;
	qp->stamp_due = qp->stamp_listed = true;
}

static unsigned int
run_frames(struct tpm_tx *t, unsigned int budget, bool *idle)
{
	unsigned int done = 0;

	/* What a burst brought back, a pause for one, may have put the port under its scheduler. */
	while (done < budget && !*idle && !t->wait && t->qp->state == MLX4_QP_RTS && (done == 0 || !t->p->tx_managed)) {
		done += sq_gather(t, budget - done, idle);
		if (t->qp->state == MLX4_QP_RTS)
			tpm_tx_flush(t);
	}
	return done;
}

unsigned int
tpm_sq_run(struct tp_model *m, struct tpm_qp *qp, unsigned int budget)
{
	struct tpm_tx t;
	unsigned int done;
	bool idle = false;

	t.m = m;
	t.qp = qp;
	t.p = &m->port[qp->port - 1];
	t.plain_room = qp->eth ? t.p->max_frame - TPM_FCS_LEN - TPM_ETH_ZLEN + 1 : 0;
	t.n = t.nseg = t.ncqe = 0;
	t.used = 0;
	t.bytes = 0;
	t.wait = false;
	if (qp->state == MLX4_QP_RTS && !sq_resolved(m, qp)) {
		tpm_qp_to_error(m, qp);
		tpm_event_qp(m, MLX4_EVENT_WQ_CATAS, qp->qpn);
	}
	if (qp->state == MLX4_QP_RTS)
		for (uint32_t i = 1; i < PREFETCH_BLOCKS && i < qp->last_turn; i++)
			rte_prefetch0(sq_wqe(qp, qp->sq_head + i));
	if (tpm_unlikely(qp->roce != NULL) && qp->ops->send != NULL)
		done = qp->state == MLX4_QP_RTS ? qp->ops->send(m, qp, budget, &idle) : 0;
	else
		done = run_frames(&t, budget, &idle);
	/* A doorbell may stand for many. Behind a transport any number is on its way; in memory one overwrites the other. */
	qp->run_ahead += done;
	if (!m->db_messages && qp->run_ahead > (int64_t)qp->sq_mask + 1)
		qp->run_ahead = (int64_t)qp->sq_mask + 1;
	qp->last_turn = done;
	if (idle || qp->state != MLX4_QP_RTS)
		sq_went_idle(m, qp);
	return done;
}

/* --- what lies behind the last WQE ------------------------------------------------------------------------ */

/* The first block in the card's prefetch range that looks posted, or 0. heads: of those that WQEs begin with; or of the others. */
static uint32_t
stamp_missing(const struct tpm_qp *qp, bool heads, uint32_t *dw)
{
	uint32_t ring = (qp->sq_mask + 1) << qp->sq_lg_stride, base = (qp->sq_head & qp->sq_mask) << qp->sq_lg_stride;
	bool pass = (qp->sq_head & (qp->sq_mask + 1)) != 0;

	for (uint32_t off = MLX4_TXBB_SIZE; off <= MLX4_SQ_PREFETCH_BYTES && off < ring; off += MLX4_TXBB_SIZE) {
		uint32_t at = base + off;
		bool owner = at >= ring ? !pass : pass;

		if (((at & ((1u << qp->sq_lg_stride) - 1)) == 0) != heads)
			continue;
		*dw = prm_get32(tpm_ring_at(&qp->ring, qp->sq_off + (at & (ring - 1))), 0);
		if (((*dw & MLX4_CTRL_OWN) != 0) == owner && (*dw | MLX4_CTRL_OWN) != UINT32_MAX)
			return off;
	}
	return 0;
}

void
tpm_sq_stamp_check(struct tp_model *m)
{
	uint32_t keep = 0, off, dw;
	enum tpm_violation rule;

	for (uint32_t i = 0; i < m->num_stamps; i++) {
		struct tpm_qp *qp = tpm_qp_get(m, m->stamp_qpn[i]);

		if (qp == NULL)
			continue;
		if (qp->stamp_due &&
		    tpm_now(m) - qp->stamp_since_ns < (qp->stamp_off == 0 ? STAMP_SETTLE_NS : STAMP_AGAIN_NS)) {
			m->stamp_qpn[keep++] = qp->qpn;
			continue;
		}
		qp->stamp_listed = false;
		if (!qp->stamp_due || qp->pending != NULL || qp->state != MLX4_QP_RTS ||
		    qp->stamp_head != qp->sq_head || !sq_resolved(m, qp) || tpm_sq_head_posted(qp, qp->sq_head))
			continue;
		rule = TPM_V_WQE_STAMP;
		off = stamp_missing(qp, true, &dw);
		if (off == 0) {
			/* No WQE begins there: the card may have data of before when one is posted around it. */
			rule = TPM_V_WQE_STAMP_DATA;
			off = stamp_missing(qp, false, &dw);
		}
		if (off != 0 && qp->stamp_off == 0) {
			qp->stamp_off = off;
			qp->stamp_since_ns = tpm_now(m);
			qp->stamp_listed = true;
			m->stamp_qpn[keep++] = qp->qpn;
			continue;
		}
		if (off != 0)
			tpm_violate(m, rule, "QP", qp->qpn,
				    "block %u bytes behind the WQE at 0x%x begins with 0x%08x and looks posted", off,
				    qp->sq_head & 0xffff, dw);
	}
	m->num_stamps = keep;
}
