/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <assert.h>
#include <stdlib.h>

#include "rig.h"

#define ROUND_NS 1000u

uint64_t
rig_random(struct rig *r)
{
	/* xorshift64* */
	r->rng ^= r->rng >> 12;
	r->rng ^= r->rng << 25;
	r->rng ^= r->rng >> 27;
	return r->rng * UINT64_C(0x2545f4914f6cdd1d);
}

uint32_t
rig_below(struct rig *r, uint32_t n)
{
	return (uint32_t)((rig_random(r) >> 33) % n);
}

/* --- the wire --------------------------------------------------------------------------------------------- */

static void
put(struct rig *r, struct rig_wire *w, const struct rig_packet *p)
{
	struct rig_packet *q;

	if (rig_below(r, 1000000) < w->drop_ppm || w->n == RIG_INFLIGHT) {
		w->dropped++;
		return;
	}
	/* Of the very size, so that a sanitizer sees a read past the end. */
	q = malloc(offsetof(struct rig_packet, d) + p->len);
	assert(q != NULL);
	q->at = r->now + w->delay_ns + (rig_below(r, 1000000) < w->reorder_ppm ? rig_below(r, 50) * ROUND_NS : 0);
	q->len = p->len;
	memcpy(q->d, p->d, p->len);
	w->p[w->n++] = q;
}

static bool
xmit(struct tre_qp *qp, struct tre_out *out)
{
	struct rig_side *s = qp->home;
	struct rig_packet p = {.len = out->hlen};

	if (s->out.full)
		return false;
	assert(out->hlen <= sizeof(out->hdr));
	memcpy(p.d, out->hdr, out->hlen);
	for (uint32_t i = 0; i < out->num_iov; i++) {
		assert(p.len + out->iov[i].iov_len + 4 <= sizeof(p.d));
		memcpy(p.d + p.len, out->iov[i].iov_base, out->iov[i].iov_len);
		p.len += (uint32_t)out->iov[i].iov_len;
	}
	assert(p.len == out->hlen + out->len);
	memset(p.d + p.len, 0, out->pad);
	p.len += out->pad;
	s->out.sent++;
	put(s->rig, &s->out, &p);
	if (rig_below(s->rig, 1000000) < s->out.dup_ppm)
		put(s->rig, &s->out, &p);
	return true;
}

/* --- memory ----------------------------------------------------------------------------------------------- */

static bool
inside(uint64_t va, uint64_t len)
{
	return va >= RIG_BASE && len <= RIG_MEM && va - RIG_BASE <= RIG_MEM - len;
}

static uint8_t *
at(const struct rig_side *s, uint64_t va)
{
	return s->mem + (va - RIG_BASE);
}

/* The piece of a list at off: what is left of its entry. */
static int
list_piece(const struct rig_side *s, const struct tre_sge *sge, uint32_t n, uint32_t off, uint32_t len, struct iovec *v)
{
	for (uint32_t i = 0; i < n; off -= sge[i++].len) {
		if (off >= sge[i].len)
			continue;
		if (sge[i].lkey != RIG_LKEY || !inside(sge[i].addr, sge[i].len))
			return -IBV_WC_LOC_PROT_ERR;
		v->iov_base = at(s, sge[i].addr + off);
		v->iov_len = sge[i].len - off < len ? sge[i].len - off : len;
		return 0;
	}
	return -IBV_WC_LOC_LEN_ERR;
}

static int
gather(struct tre_qp *qp, const struct tre_wqe *w, uint32_t off, uint32_t len, struct iovec *iov)
{
	int n = 0, rc;

	for (; len != 0; n++) {
		rc = list_piece(qp->home, w->sge, w->num_sge, off, len, &iov[n]);
		if (rc < 0)
			return rc;
		off += (uint32_t)iov[n].iov_len;
		len -= (uint32_t)iov[n].iov_len;
	}
	return n;
}

static int
scatter(struct tre_qp *qp, const struct tre_sge *sge, uint32_t num, uint32_t off, const uint8_t *data, uint32_t len)
{
	struct iovec v;
	int rc;

	while (len != 0) {
		rc = list_piece(qp->home, sge, num, off, len, &v);
		if (rc < 0)
			return rc;
		memcpy(v.iov_base, data, v.iov_len);
		off += (uint32_t)v.iov_len;
		data += v.iov_len;
		len -= (uint32_t)v.iov_len;
	}
	return 0;
}

static int
scatter_wqe(struct tre_qp *qp, const struct tre_wqe *w, uint32_t off, const void *data, uint32_t len)
{
	return scatter(qp, w->sge, w->num_sge, off, data, len);
}

static int
scatter_recv(struct tre_qp *qp, const struct tre_rwqe *w, uint32_t off, const void *data, uint32_t len)
{
	return scatter(qp, w->sge, w->num_sge, off, data, len);
}

static int
remote_check(struct tre_qp *qp, uint32_t rkey, uint64_t va, uint32_t len, int access)
{
	const struct rig_side *s = qp->home;

	return !s->closed && rkey == RIG_RKEY && inside(va, len) ? 0 : -1;
}

static int
remote_write(struct tre_qp *qp, uint32_t rkey, uint64_t va, const void *data, uint32_t len)
{
	if (remote_check(qp, rkey, va, len, IBV_ACCESS_REMOTE_WRITE) < 0)
		return -1;
	memcpy(at(qp->home, va), data, len);
	return 0;
}

static int
remote_read(struct tre_qp *qp, uint32_t rkey, uint64_t va, uint32_t len, struct iovec *iov)
{
	if (remote_check(qp, rkey, va, len, IBV_ACCESS_REMOTE_READ) < 0)
		return -1;
	iov[0].iov_base = at(qp->home, va);
	iov[0].iov_len = len;
	return 1;
}

static int
remote_atomic(struct tre_qp *qp, uint32_t rkey, uint64_t va, enum tre_atomic op, uint64_t compare_add, uint64_t swap,
	      uint64_t *old)
{
	uint64_t v;

	if (remote_check(qp, rkey, va, sizeof(v), IBV_ACCESS_REMOTE_ATOMIC) < 0)
		return -1;
	memcpy(old, at(qp->home, va), sizeof(*old));
	v = op == TRE_FETCH_ADD ? *old + compare_add : (*old == compare_add ? swap : *old);
	memcpy(at(qp->home, va), &v, sizeof(v));
	return 0;
}

static int
invalidate(struct tre_qp *qp, uint32_t rkey)
{
	struct rig_side *s = qp->home;

	s->invalidated = rkey;
	return rkey == RIG_RKEY ? 0 : -1;
}

/* --- queues ----------------------------------------------------------------------------------------------- */

static void
send_done(struct tre_qp *qp, struct tre_wqe *w, enum ibv_wc_status status)
{
	struct rig_side *s = qp->home;

	if (s->num_done == s->max_done) {
		s->max_done = s->max_done * 2 + 64;
		s->done = realloc(s->done, s->max_done * sizeof(*s->done));
	}
	s->done[s->num_done++] = (struct rig_done){.id = w->home, .status = status};
}

static int
local(struct tre_qp *qp, const struct tre_wqe *w)
{
	return w->rkey == RIG_RKEY ? 0 : -IBV_WC_LOC_PROT_ERR;
}

static bool
recv_next(struct tre_qp *qp, struct tre_rwqe *r)
{
	struct rig_side *s = qp->home;
	const struct rig_recv *e = &s->rq[s->rq_head % RIG_RQ];

	if (s->rq_head == s->rq_tail)
		return false;
	s->rq_sge = (struct tre_sge){.addr = e->addr, .len = e->len, .lkey = RIG_LKEY};
	*r = (struct tre_rwqe){.home = e->id, .sge = &s->rq_sge, .len = e->len, .num_sge = 1};
	return true;
}

static uint32_t
recv_count(struct tre_qp *qp)
{
	const struct rig_side *s = qp->home;

	return s->rq_tail - s->rq_head;
}

static void
recv_done(struct tre_qp *qp, const struct tre_rwqe *r, const struct tre_recv *wc, const void *in_home)
{
	struct rig_side *s = qp->home;

	assert(s->rq_head != s->rq_tail);
	s->rq_head++;
	if (s->num_got == s->max_got) {
		s->max_got = s->max_got * 2 + 64;
		s->got = realloc(s->got, s->max_got * sizeof(*s->got));
	}
	s->got[s->num_got++] = (struct rig_got){.id = r->home, .wc = *wc};
}

static void
event(struct tre_qp *qp, enum ibv_event_type type)
{
	struct rig_side *s = qp->home;

	s->events[type]++;
}

static const struct tre_ops ops = {
	.xmit = xmit,
	.gather = gather,
	.scatter_wqe = scatter_wqe,
	.send_done = send_done,
	.local = local,
	.recv_next = recv_next,
	.recv_count = recv_count,
	.scatter_recv = scatter_recv,
	.recv_done = recv_done,
	.remote_check = remote_check,
	.remote_write = remote_write,
	.remote_read = remote_read,
	.remote_atomic = remote_atomic,
	.invalidate = invalidate,
	.event = event,
};

/* --- life ------------------------------------------------------------------------------------------------- */

void
rig_init(struct rig *r, uint64_t seed)
{
	memset(r, 0, sizeof(*r));
	r->rng = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	r->now = 1000000;
	for (int i = 0; i < 2; i++) {
		struct rig_side *s = &r->side[i];

		s->rig = r;
		s->mem = calloc(1, RIG_MEM);
		s->out.delay_ns = ROUND_NS;
		assert(s->mem != NULL);
		tre_qp_init(&s->qp, &ops, s, &s->st, s->sq, RIG_LG_SQ);
	}
}

void
rig_free(struct rig *r)
{
	for (int i = 0; i < 2; i++) {
		free(r->side[i].mem);
		while (r->side[i].out.n != 0)
			free(r->side[i].out.p[--r->side[i].out.n]);
		free(r->side[i].done);
		free(r->side[i].got);
	}
}

struct tre_attr
rig_attr(enum ibv_qp_type type, uint32_t mtu)
{
	return (struct tre_attr){.type = type,
				 .mtu = mtu,
				 .qkey = 0x11111111,
				 .pkey = 0xffff,
				 .access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
				 .timeout = 5, /* 131 us */
				 .retry_cnt = 7,
				 .rnr_retry = 7,
				 .min_rnr_timer = 1,
				 .max_rd_atomic = 4,
				 .max_dest_rd_atomic = 4,
				 .window = 64};
}

void
rig_connect(struct rig *r, const struct tre_attr *a)
{
	static const enum ibv_qp_state path[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};

	for (int i = 0; i < 2; i++) {
		struct tre_attr mine = *a;

		mine.qpn = 0x100 + (uint32_t)i;
		mine.dest_qpn = 0x100 + (uint32_t)!i;
		/* Close to the end of the numbers, so that they wrap. */
		mine.sq_psn = i == 0 ? 0xfffff0 : 0x7ffff8;
		mine.rq_psn = i == 0 ? 0x7ffff8 : 0xfffff0;
		for (unsigned int s = 0; s < 3; s++)
			tre_qp_state(&r->side[i].qp, path[s], &mine);
	}
}

struct tre_wqe *
rig_send(struct rig_side *s, enum ibv_wr_opcode op, uint64_t id, uint32_t off, uint32_t len)
{
	struct tre_wqe *w = tre_sq_slot(&s->qp);
	struct tre_sge *sge;

	if (w == NULL)
		return NULL;
	sge = s->sge[w - s->sq];
	memset(w, 0, sizeof(*w));
	sge[0] = (struct tre_sge){.addr = rig_addr(off), .len = len, .lkey = RIG_LKEY};
	w->home = id;
	w->opcode = (uint8_t)op;
	w->sge = sge;
	w->num_sge = 1;
	w->len = len;
	w->rkey = RIG_RKEY;
	tre_post(&s->qp);
	return w;
}

bool
rig_recv(struct rig_side *s, uint64_t id, uint32_t off, uint32_t len)
{
	if (s->rq_tail - s->rq_head == RIG_RQ)
		return false;
	s->rq[s->rq_tail++ % RIG_RQ] = (struct rig_recv){.addr = rig_addr(off), .len = len, .id = id};
	return true;
}

/* --- running ---------------------------------------------------------------------------------------------- */

void
rig_inject(struct rig_side *s, const uint8_t *d, uint32_t len)
{
	/* Memory of the very size, so that a sanitizer sees a read past the end. */
	uint8_t *copy = malloc(len);
	struct tre_in in = {.bth = copy, .len = len};

	assert(copy != NULL);
	memcpy(copy, d, len);
	tre_input(&s->qp, &in, s->rig->now);
	free(copy);
}

bool
rig_capture(struct rig_wire *w, uint8_t *d, uint32_t *len)
{
	if (w->n == 0)
		return false;
	*len = w->p[0]->len;
	memcpy(d, w->p[0]->d, *len);
	free(w->p[0]);
	memmove(w->p, w->p + 1, --w->n * sizeof(*w->p));
	return true;
}

/* What is due arrives in the order in which it was sent; the rest stays. */
static uint32_t
deliver(struct rig *r, struct rig_wire *w, struct rig_side *to)
{
	uint32_t keep = 0, n = w->n;

	for (uint32_t i = 0; i < n; i++) {
		struct rig_packet *p = w->p[i];

		if (p->at > r->now) {
			w->p[keep++] = p;
			continue;
		}
		tre_input(&to->qp, &(struct tre_in){.bth = p->d, .len = p->len}, r->now);
		free(p);
	}
	/* Nothing is sent from within tre_input. */
	assert(w->n == n);
	w->n = keep;
	return n - keep;
}

bool
rig_step(struct rig *r)
{
	uint64_t next = TRE_NEVER;
	uint32_t did = 0;

	for (int i = 0; i < 2; i++)
		did += deliver(r, &r->side[i].out, &r->side[!i]);
	for (int i = 0; i < 2; i++)
		did += tre_run(&r->side[i].qp, 16, r->now);
	r->now += ROUND_NS;
	if (did != 0 || r->side[0].out.n != 0 || r->side[1].out.n != 0)
		return true;
	for (int i = 0; i < 2; i++)
		if (tre_deadline(&r->side[i].qp) < next)
			next = tre_deadline(&r->side[i].qp);
	if (next == TRE_NEVER)
		return tre_busy(&r->side[0].qp) || tre_busy(&r->side[1].qp);
	if (next > r->now)
		r->now = next;
	return true;
}

uint32_t
rig_run(struct rig *r, uint32_t rounds)
{
	uint32_t n = 0;

	while (n < rounds && rig_step(r))
		n++;
	return n;
}
