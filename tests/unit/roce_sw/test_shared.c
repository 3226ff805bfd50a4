/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Shared receive queues, memory windows, completion events, turns of many queue pairs, a bad wire. */
#include <errno.h>
#include <fcntl.h>

#include "pair.h"

static const struct qp_conf plain = {.type = IBV_QPT_RC};

static void
destroy(struct ibv_qp *a, struct ibv_qp *b)
{
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* --- shared receive queues --------------------------------------------------------------------------------------- */

static void
srq_post(struct pair *p, struct ibv_srq *srq, uint64_t id)
{
	struct ibv_sge sge = {(uintptr_t)p->n[1].mem + id * 4096, 4096, p->n[1].mr->lkey};
	struct ibv_recv_wr *bad, wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1};

	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
}

static void
shared_receives(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 16, .max_sge = 2}};
	struct ibv_srq_attr attr = {.srq_limit = 3};
	struct pair *p = *state;
	struct ibv_srq *srq = tp_roce_create_srq(p->n[1].pd, &init);
	const struct qp_conf with = {.type = IBV_QPT_RC, .srq = srq};
	struct ibv_qp *a[2], *b[2];
	struct ibv_wc wc[4];

	assert_non_null(srq);
	for (unsigned int i = 0; i < 2; i++) {
		a[i] = pair_qp(p, 0, &plain);
		b[i] = pair_qp(p, 1, &with);
		pair_connect(p, a[i], b[i], &plain);
	}
	for (uint64_t id = 1; id <= 4; id++)
		srq_post(p, srq, id);
	assert_int_equal(tp_roce_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	/* One long message each, whose packets alternate: requests are taken when a message begins. */
	pair_fill(p, 0, 0, 8000, 1);
	pair_send(p, 0, a[0], 1, 0, 4000);
	pair_send(p, 0, a[1], 2, 4000, 4000);
	pair_wait(p, p->n[1].cq, 2, wc);
	for (unsigned int i = 0; i < 2; i++) {
		unsigned int from = wc[i].qp_num == b[0]->qp_num ? 0 : 1;

		assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
		assert_in_range(wc[i].wr_id, 1, 2);
		assert_memory_equal(p->n[1].mem + wc[i].wr_id * 4096, p->n[0].mem + from * 4000, 4000);
	}
	pair_wait(p, p->n[0].cq, 2, NULL);
	/* Fewer than three are left: told once. */
	assert_ptr_equal(pair_event(p, 1, IBV_EVENT_SRQ_LIMIT_REACHED), srq);
	pair_no_event(p, 1);
	assert_int_equal(pair_stat(p, 1, "srq_limits"), 1);
	assert_int_equal(tp_roce_query_srq(srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 0);
	pair_send(p, 0, a[0], 3, 0, 10);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
	/* A queue pair in error leaves the others' requests alone. */
	pair_to_error(b[0]);
	assert_ptr_equal(pair_event(p, 1, IBV_EVENT_QP_LAST_WQE_REACHED), b[0]);
	pair_run(p, 1);
	assert_int_equal(ibv_poll_cq(p->n[1].cq, 1, wc), 0);
	pair_send(p, 0, a[1], 4, 0, 10);
	pair_wait(p, p->n[1].cq, 1, wc);
	assert_int_equal(wc[0].wr_id, 4);
	pair_wait(p, p->n[0].cq, 1, NULL);
	destroy(a[0], b[0]);
	destroy(a[1], b[1]);
	assert_int_equal(tp_roce_destroy_srq(srq), 0);
}

/* --- memory windows ---------------------------------------------------------------------------------------------- */

static enum ibv_wc_status
try_write(struct pair *p, uint32_t rkey, uint32_t roff, uint32_t len)
{
	struct ibv_qp *a, *b;
	struct ibv_async_event e;
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 0, len, roff);
	struct ibv_wc wc;

	pair_qps(p, &plain, &a, &b);
	wr.wr.rdma.rkey = rkey;
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, &wc);
	if (wc.status != IBV_WC_SUCCESS && tp_roce_get_async_event(p->n[1].ctx, &e) == 0)
		tp_roce_ack_async_event(&e);
	destroy(a, b);
	return wc.status;
}

static void
windows_type_1(void **state)
{
	struct pair *p = *state;
	struct node *n = &p->n[1];
	struct ibv_mw *mw = tp_roce_alloc_mw(n->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {.wr_id = 5,
				   .send_flags = IBV_SEND_SIGNALED,
				   .bind_info = {n->mr, (uintptr_t)n->mem + 100, 50, IBV_ACCESS_REMOTE_WRITE}};
	struct ibv_qp *a, *b;
	struct ibv_wc wc;
	uint32_t first;

	assert_non_null(mw);
	pair_qps(p, &plain, &a, &b);
	first = mw->rkey;
	assert_int_equal(try_write(p, first, 100, 50), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(tp_roce_bind_mw(b, mw, &bind), 0);
	pair_wait(p, n->cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_BIND_MW);
	assert_int_equal(wc.wr_id, 5);
	assert_int_not_equal(mw->rkey, first);
	assert_int_equal(try_write(p, mw->rkey, 100, 50), IBV_WC_SUCCESS);
	assert_int_equal(try_write(p, mw->rkey, 100, 51), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(try_write(p, mw->rkey, 99, 1), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(try_write(p, first, 100, 50), IBV_WC_REM_ACCESS_ERR);
	/* The region below stays. */
	assert_int_equal(tp_roce_dereg_mr(n->mr), EBUSY);
	/* Bound anew, read only; then to nothing. */
	first = mw->rkey;
	bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ;
	assert_int_equal(tp_roce_bind_mw(b, mw, &bind), 0);
	pair_wait(p, n->cq, 1, NULL);
	assert_int_equal(try_write(p, mw->rkey, 100, 50), IBV_WC_REM_ACCESS_ERR);
	bind.bind_info.length = 0;
	assert_int_equal(tp_roce_bind_mw(b, mw, &bind), 0);
	pair_wait(p, n->cq, 1, NULL);
	assert_int_equal(try_write(p, mw->rkey, 100, 50), IBV_WC_REM_ACCESS_ERR);
	/* More than the region has. */
	bind.bind_info.addr = (uintptr_t)n->mem + PAIR_MEM - 10;
	bind.bind_info.length = 11;
	assert_int_equal(tp_roce_bind_mw(b, mw, &bind), 0);
	pair_wait(p, n->cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_MW_BIND_ERR);
	assert_int_equal(pair_state(b), IBV_QPS_ERR);
	destroy(a, b);
	assert_int_equal(tp_roce_dealloc_mw(mw), 0);
}

/* A window of type 2 is the queue pair's: bound by a request, invalidated by one, here or at the peer's word. */
static void
windows_type_2(void **state)
{
	struct pair *p = *state;
	struct node *n = &p->n[1];
	struct ibv_mw *mw = tp_roce_alloc_mw(n->pd, IBV_MW_TYPE_2);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	struct ibv_send_wr bind = {.opcode = IBV_WR_BIND_MW,
				   .send_flags = IBV_SEND_SIGNALED,
				   .bind_mw = {.mw = mw,
					       .rkey = rkey,
					       .bind_info = {n->mr, (uintptr_t)n->mem, 100, IBV_ACCESS_REMOTE_WRITE}}};
	struct ibv_send_wr inval = {
		.opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED, .invalidate_rkey = rkey};
	struct ibv_sge sge, none;
	struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 100, 0), inv;
	struct ibv_qp *a, *b;
	struct ibv_wc wc;

	pair_qps(p, &plain, &a, &b);
	pair_post(b, &bind);
	pair_wait(p, n->cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	wr.wr.rdma.rkey = rkey;
	pair_fill(p, 0, 0, 100, 8);
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, NULL);
	pair_same(p, 0, 0, 100);
	/* Another queue pair of the same protection domain does not get in. */
	assert_int_equal(try_write(p, rkey, 0, 100), IBV_WC_REM_ACCESS_ERR);
	/* The peer takes it away. */
	pair_recv(p, 1, b, 3, 200, 10);
	inv = pair_wr(p, 0, IBV_WR_SEND_WITH_INV, &none, 0, 10, 0);
	inv.invalidate_rkey = rkey;
	pair_post(a, &inv);
	pair_wait(p, n->cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, rkey);
	pair_wait(p, p->n[0].cq, 1, NULL);
	/* Bound again with a new key, and taken away here. */
	bind.bind_mw.rkey = inval.invalidate_rkey = rkey = ibv_inc_rkey(rkey);
	pair_post(b, &bind);
	pair_post(b, &inval);
	pair_wait(p, n->cq, 1, NULL);
	pair_wait(p, n->cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_LOCAL_INV);
	wr.wr.rdma.rkey = rkey;
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
	pair_event(p, 1, IBV_EVENT_QP_ACCESS_ERR);
	destroy(a, b);
	/* What is invalid cannot be invalidated. */
	pair_qps(p, &plain, &a, &b);
	pair_post(b, &inval);
	pair_wait(p, n->cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_MW_BIND_ERR);
	destroy(a, b);
	assert_int_equal(tp_roce_dealloc_mw(mw), 0);
}

/* --- fast registration ------------------------------------------------------------------------------------------- */

/* Where the region is reached, seen from the node's memory, which does not go so far. */
#define AWAY 0x40000000u

static void
fast_registration(void **state)
{
	struct pair *p = *state;
	struct node *n = &p->n[1];
	struct ibv_mr *mr = tp_roce_alloc_mr(n->pd, 4);
	struct tp_roce_fast_reg reg = {.wr_id = 6,
				       .send_flags = IBV_SEND_SIGNALED,
				       .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
				       .addr = n->mem + 4096,
				       .length = 3000,
				       .iova = (uintptr_t)n->mem + AWAY};
	struct ibv_send_wr inval = {.opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 3000, 0);
	struct ibv_qp *a, *b;
	struct ibv_wc wc;
	uint32_t first = mr->rkey;

	pair_qps(p, &plain, &a, &b);
	assert_int_equal(try_write(p, first, AWAY, 1), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(tp_roce_fast_reg_mr(b, mr, &reg), 0);
	assert_int_not_equal(mr->rkey, first);
	pair_wait(p, n->cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_DRIVER1);
	assert_int_equal(wc.wr_id, 6);
	/* What is written there is in its memory, by any queue pair of the domain; a window cannot be bound to it. */
	pair_fill(p, 0, 0, 3000, 8);
	wr.wr.rdma.remote_addr = reg.iova;
	wr.wr.rdma.rkey = mr->rkey;
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_memory_equal(n->mem + 4096, p->n[0].mem, 3000);
	assert_int_equal(try_write(p, mr->rkey, AWAY + 2999, 1), IBV_WC_SUCCESS);
	assert_int_equal(try_write(p, mr->rkey, AWAY + 3000, 1), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(try_write(p, first, AWAY, 1), IBV_WC_REM_ACCESS_ERR);
	/* Taken away; then only to be read. */
	inval.invalidate_rkey = first = mr->rkey;
	pair_post(b, &inval);
	reg.access = IBV_ACCESS_REMOTE_READ;
	assert_int_equal(tp_roce_fast_reg_mr(b, mr, &reg), 0);
	pair_wait(p, n->cq, 1, &wc);
	assert_int_equal(wc.opcode, IBV_WC_LOCAL_INV);
	pair_wait(p, n->cq, 1, &wc);
	assert_int_equal(wc.opcode, IBV_WC_DRIVER1);
	assert_int_equal(try_write(p, first, AWAY, 1), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(try_write(p, mr->rkey, AWAY, 1), IBV_WC_REM_ACCESS_ERR);
	/* It has memory: no second. */
	assert_int_equal(tp_roce_fast_reg_mr(b, mr, &reg), 0);
	pair_wait(p, n->cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_MW_BIND_ERR);
	assert_int_equal(pair_state(b), IBV_QPS_ERR);
	destroy(a, b);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
}

/* --- completion events ------------------------------------------------------------------------------------------- */

static bool
channel_has(struct ibv_comp_channel *ch, struct ibv_cq *want)
{
	struct ibv_cq *cq;
	void *ctx;

	if (tp_roce_get_cq_event(ch, &cq, &ctx) != 0)
		return false;
	assert_ptr_equal(cq, want);
	assert_ptr_equal(ctx, want == NULL ? NULL : cq->cq_context);
	tp_roce_ack_cq_events(cq, 1);
	return true;
}

static void
completion_events(void **state)
{
	struct pair *p = *state;
	struct ibv_comp_channel *ch = tp_roce_create_comp_channel(p->n[1].ctx);
	struct ibv_cq *cq = tp_roce_create_cq(p->n[1].ctx, 64, p, ch, 0);
	const struct qp_conf c = {.type = IBV_QPT_RC, .scq = cq, .rcq = cq};
	struct ibv_qp *a = pair_qp(p, 0, &plain), *b = pair_qp(p, 1, &c);
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_SEND, &sge, 0, 8, 0);

	assert_int_equal(fcntl(ch->fd, F_SETFL, O_NONBLOCK), 0);
	pair_connect(p, a, b, &c);
	for (unsigned int i = 0; i < 6; i++)
		pair_recv(p, 1, b, i, 0, 8);
	/* Not armed: nothing. Armed: one, however many completions there are. */
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, NULL);
	assert_false(channel_has(ch, cq));
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	pair_post(a, &wr);
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 2, NULL);
	assert_true(channel_has(ch, cq));
	assert_false(channel_has(ch, cq));
	/* For solicited ones only. */
	assert_int_equal(ibv_req_notify_cq(cq, 1), 0);
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, NULL);
	assert_false(channel_has(ch, cq));
	wr.send_flags |= IBV_SEND_SOLICITED;
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, NULL);
	assert_true(channel_has(ch, cq));
	/* A send asks for an event at the other end, and is none here. */
	assert_int_equal(ibv_req_notify_cq(cq, 1), 0);
	pair_recv(p, 0, a, 9, 0, 8);
	wr = pair_wr(p, 1, IBV_WR_SEND, &sge, 0, 8, 0);
	wr.send_flags |= IBV_SEND_SOLICITED;
	pair_post(b, &wr);
	pair_wait(p, cq, 6, NULL);
	assert_false(channel_has(ch, cq));
	/* An error is told to whoever waits for solicited ones. */
	assert_int_equal(ibv_req_notify_cq(cq, 1), 0);
	pair_to_error(b);
	assert_true(channel_has(ch, cq));
	destroy(a, b);
	assert_int_equal(tp_roce_destroy_cq(cq), 0);
	assert_int_equal(tp_roce_destroy_comp_channel(ch), 0);
}

static void
moderate(struct ibv_cq *cq, uint16_t count, uint16_t period_us)
{
	struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {count, period_us}};

	assert_int_equal(tp_roce_modify_cq(cq, &attr), 0);
}

#define PERIOD_US 50000u

/* Four messages, and an event with the last. false: the time was over before, as nobody had a CPU for so long. */
static bool
at_the_fourth(struct pair *p, struct ibv_comp_channel *ch, struct ibv_cq *cq, struct ibv_qp *a, struct ibv_qp *b,
	      struct ibv_send_wr *wr)
{
	uint64_t begun = rte_rdtsc();

	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	for (unsigned int i = 0; i < 4; i++) {
		pair_recv(p, 1, b, i, 0, 8);
		pair_post(a, wr);
		pair_wait(p, p->n[0].cq, 1, NULL);
		if (i == 3 || !channel_has(ch, cq))
			continue;
		assert_true(rte_rdtsc() - begun >= rte_get_tsc_hz() / 1000000 * UINT16_MAX);
		return false;
	}
	assert_true(channel_has(ch, cq));
	return true;
}

/* an event waits for so many completions, or so long after the first of them. */
static void
moderation(void **state)
{
	struct pair *p = *state;
	struct ibv_comp_channel *ch = tp_roce_create_comp_channel(p->n[1].ctx);
	struct ibv_cq *cq = tp_roce_create_cq(p->n[1].ctx, 64, p, ch, 0);
	const struct qp_conf c = {.type = IBV_QPT_RC, .rcq = cq};
	struct ibv_qp *a = pair_qp(p, 0, &plain), *b = pair_qp(p, 1, &c);
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_SEND, &sge, 0, 8, 0);
	uint64_t begun;
	unsigned int i;

	assert_int_equal(fcntl(ch->fd, F_SETFL, O_NONBLOCK), 0);
	pair_connect(p, a, b, &c);
	for (i = 0; i < 2;) {
		moderate(cq, 4, UINT16_MAX);
		i += at_the_fourth(p, ch, cq, a, b, &wr);
	}
	for (i = 0; i < 5; i++)
		pair_recv(p, 1, b, i, 0, 8);
	/* The first of a hundred waits for its time, not less. */
	moderate(cq, 100, PERIOD_US);
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	begun = rte_rdtsc();
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, NULL);
	while (!channel_has(ch, cq))
		pair_step(p);
	assert_true(rte_rdtsc() - begun >= rte_get_tsc_hz() / 1000000 * PERIOD_US);
	/* One that waits is told when its measure changes. A period of 0 is over at once; the last one goes with its queue. */
	moderate(cq, 0, UINT16_MAX);
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, NULL);
	moderate(cq, 100, 0);
	assert_true(channel_has(ch, cq));
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, NULL);
	assert_true(channel_has(ch, cq));
	moderate(cq, 100, UINT16_MAX);
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, NULL);
	destroy(a, b);
	assert_int_equal(tp_roce_destroy_cq(cq), 0);
	pair_run(p, UINT16_MAX / 1000);
	assert_int_equal(tp_roce_destroy_comp_channel(ch), 0);
}

/* --- turns -------------------------------------------------------------------------------------------------------- */

/* A short request is not behind another queue pair's long ones. */
static void
fair(void **state)
{
	struct pair *p = *state;
	struct ibv_qp *a[2], *b[2];
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 1 << 20, 0);
	struct ibv_wc wc;

	pair_qps(p, &plain, &a[0], &b[0]);
	pair_qps(p, &plain, &a[1], &b[1]);
	for (unsigned int i = 0; i < 8; i++)
		pair_post(a[0], &wr);
	sge.length = 8;
	pair_post(a[1], &wr);
	pair_wait(p, p->n[0].cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.qp_num, a[1]->qp_num);
	pair_wait(p, p->n[0].cq, 8, NULL);
	destroy(a[0], b[0]);
	destroy(a[1], b[1]);
}

#define MANY 200

static uint8_t deaf[1 << 16]; /* by the low bits of its number, which no two have in common */

/*
 * Many queue pairs with time limits of their own; half of them find their peer deaf, within some ms. That of the others is long:
 * they succeed on a busy machine as well.
 */
static unsigned int
some_are_deaf(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	return from == 0 && f[12] == 8 && f[13] == 0 && deaf[f[14 + 28 + 6] << 8 | f[14 + 28 + 7]] ? 0 : 1;
}

static void
many_timers(void **state)
{
	struct pair *p = *state;
	struct ibv_qp *a[MANY], *b[MANY];
	unsigned int failed = 0;

	for (unsigned int i = 0; i < MANY; i++) {
		const struct qp_conf c = {
			.type = IBV_QPT_RC, .timeout = (uint8_t)(i % 2 == 0 ? 20 : 8 + i % 5), .retry = 1 + i % 3};

		pair_qps(p, &c, &a[i], &b[i]);
		assert_int_equal(deaf[b[i]->qp_num & 0xffff], 0);
		deaf[b[i]->qp_num & 0xffff] = i % 2;
	}
	p->wire = some_are_deaf;
	for (unsigned int i = 0; i < MANY; i++) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 8, 0);

		wr.wr_id = i;
		pair_post(a[i], &wr);
	}
	for (unsigned int i = 0; i < MANY; i++) {
		struct ibv_wc wc;

		pair_wait(p, p->n[0].cq, 1, &wc);
		assert_int_equal(wc.status, wc.wr_id % 2 != 0 ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
		failed += wc.status != IBV_WC_SUCCESS;
	}
	assert_int_equal(failed, MANY / 2);
	for (unsigned int i = 0; i < MANY; i++)
		destroy(a[i], b[i]);
}

/* --- a bad wire ---------------------------------------------------------------------------------------------------- */

/* One in thirty is lost, one comes twice, one is damaged. */
static unsigned int
bad_wire(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);
	uint8_t *last = rte_pktmbuf_mtod_offset(m, uint8_t *, m->data_len - 1);

	if (f[12] != 8 || f[13] != 0)
		return 1;
	switch (pair_random(p) % 30) {
	case 0: return 0;
	case 1: return 2;
	case 2: *last ^= 0x10; return 1;
	default: return 1;
	}
}

/* All operations both ways at once; every byte arrives where it belongs, each completion once and in order. */
static void
through_a_bad_wire(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .timeout = 8, .sig_all = true};
	static const enum ibv_wr_opcode ops[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						 IBV_WR_ATOMIC_FETCH_AND_ADD};
	struct pair *p = *state;
	uint64_t *there = (uint64_t *)(void *)(p->n[1].mem + (3 << 20));
	struct ibv_qp *a, *b;
	uint32_t adds = 0;

	pair_qps(p, &c, &a, &b);
	p->wire = bad_wire;
	for (unsigned int i = 0; i < 600; i++) {
		enum ibv_wr_opcode op = ops[pair_random(p) % RTE_DIM(ops)];
		uint32_t len = op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : pair_random(p) % 20000, off = 0;
		struct ibv_sge sge;
		struct ibv_send_wr wr = pair_wr(p, 0, op, &sge, off, len, 0);
		struct ibv_wc wc;

		wr.wr_id = i;
		pair_fill(p, op == IBV_WR_RDMA_READ, 0, len, i);
		if (op == IBV_WR_SEND)
			pair_recv(p, 1, b, i, 0, len);
		if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wr.wr.atomic.remote_addr = (uintptr_t)there;
			wr.wr.atomic.compare_add = 1;
			adds++;
		}
		pair_post(a, &wr);
		pair_wait(p, p->n[0].cq, 1, &wc);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id, i);
		if (op == IBV_WR_SEND) {
			pair_wait(p, p->n[1].cq, 1, &wc);
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			assert_int_equal(wc.wr_id, i);
		}
		if (op == IBV_WR_ATOMIC_FETCH_AND_ADD)
			assert_int_equal(*(uint64_t *)(void *)p->n[0].mem, adds - 1);
		else
			pair_same(p, 0, 0, len);
	}
	assert_int_equal(*there, adds);
	assert_true(pair_stat(p, 1, "bad_icrc") > 50);
	assert_true(pair_stat(p, 0, "req_resent") > 50);
	assert_true(pair_stat(p, 1, "resp_out_of_order") > 0);
	assert_true(pair_stat(p, 0, "req_out_of_order") > 0);
	assert_true(pair_stat(p, 1, "resp_duplicates") > 0);
	p->wire = NULL;
	destroy(a, b);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		T(shared_receives), T(windows_type_1), T(windows_type_2), T(fast_registration),  T(completion_events),
		T(moderation),      T(fair),           T(many_timers),    T(through_a_bad_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
