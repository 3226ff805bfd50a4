/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue pairs of connected mode on a card that writes down what it is told: layouts, states, refusals, and how one ends. */
#include <errno.h>
#include <stdlib.h>

#include "lib/ipoib/port/cm.h"
#include "link_rig.h"
#include "tp_roce.h"

int ipoib_logtype;
static struct rig rig; /* what runs DPDK */
static struct ipoib_port port;
static struct ipoib_rxq rxq;
static struct ipoib_cm *cm;

/* --- a card ------------------------------------------------------------------------------------------------------------- */

enum { CREATE_SRQ = 1, CREATE_RCQ, CREATE_SCQ, CREATE_QP, TO_INIT, TO_RTR, TO_RTS, QUERY };
static struct {
	struct ibv_context ctx;
	struct ibv_pd pd;
	struct ibv_srq srq;
	struct ibv_cq cq[2];
	struct ibv_qp qp;
	struct ibv_device_attr attr;
	int refuses; /* what; with ENOSPC */
	struct ibv_srq_init_attr srq_init;
	struct ibv_qp_init_attr qp_init;
	struct ibv_qp_attr to[8]; /* by state */
	int mask[8];
	int cqe[2];
	unsigned int cqs, srqs, qps, filled;
	char calls[16]; /* at the end of a queue pair, in their order */
	unsigned int num_calls;
} card;

static bool
refused(int what)
{
	errno = card.refuses == what ? ENOSPC : 0;
	return card.refuses == what;
}

int
tp_roce_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	assert_ptr_equal(ctx, &card.ctx);
	*attr = card.attr;
	return refused(QUERY) ? ENOSPC : 0;
}

struct ibv_srq *
tp_roce_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	assert_ptr_equal(pd, &card.pd);
	card.srq_init = *attr;
	if (refused(CREATE_SRQ))
		return NULL;
	card.srqs++;
	return &card.srq;
}

int
tp_roce_destroy_srq(struct ibv_srq *srq)
{
	assert_ptr_equal(srq, &card.srq);
	assert_int_equal(card.cqs, 0);
	card.srqs--;
	return 0;
}

struct ibv_cq *
tp_roce_create_cq(struct ibv_context *ctx, int cqe, void *cq_context, struct ibv_comp_channel *channel, int vector)
{
	assert_ptr_equal(ctx, &card.ctx);
	(void)cq_context, (void)channel, (void)vector;
	if (refused(card.cqs == 0 ? CREATE_RCQ : CREATE_SCQ))
		return NULL;
	card.cqe[card.cqs] = cqe;
	return &card.cq[card.cqs++];
}

int
tp_roce_destroy_cq(struct ibv_cq *cq)
{
	assert_true(cq == &card.cq[0] || cq == &card.cq[1]);
	card.cqs--;
	return 0;
}

struct ibv_qp *
tp_roce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	assert_ptr_equal(pd, &card.pd);
	card.qp_init = *attr;
	if (refused(CREATE_QP))
		return NULL;
	card.qps++;
	return &card.qp;
}

int
tp_roce_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	static const int what[8] = {[IBV_QPS_INIT] = TO_INIT, [IBV_QPS_RTR] = TO_RTR, [IBV_QPS_RTS] = TO_RTS};

	assert_ptr_equal(qp, &card.qp);
	card.to[attr->qp_state] = *attr;
	card.mask[attr->qp_state] = mask;
	return card.refuses != 0 && what[attr->qp_state] == card.refuses ? ENOSPC : 0;
}

int
tp_roce_destroy_qp(struct ibv_qp *qp)
{
	assert_ptr_equal(qp, &card.qp);
	card.calls[card.num_calls++] = 'd';
	card.qps--;
	return 0;
}

void
ipoib_cm_reap(struct ipoib_cm *c)
{
	assert_ptr_equal(c, cm);
	card.calls[card.num_calls++] = 'r';
}

void
ipoib_cm_hold(struct ipoib_cm *c)
{
	assert_ptr_equal(c, cm);
	card.calls[card.num_calls++] = 'h';
}

void
ipoib_cm_fill(struct ipoib_cm *c)
{
	assert_ptr_equal(c, cm);
	card.filled++;
}

int
ipoib_pool_lkey(struct ipoib_port *p, struct rte_mempool *pool, uint32_t *lkey)
{
	assert_ptr_equal(p, &port);
	*lkey = pool == rxq.pool ? 0x77 : 0;
	return 0;
}

struct ibv_context *
ipoib_device_ctx(struct ipoib_device *d)
{
	(void)d;
	return &card.ctx;
}

const char *
ipoib_device_name(const struct ipoib_device *d)
{
	(void)d;
	return "card";
}

static int
setup(void **state)
{
	(void)state;
	rig_open(&rig);
	memset(&card, 0, sizeof(card));
	card.attr = (struct ibv_device_attr){.max_srq_sge = 31, .max_sge = 32};
	cm = calloc(1, sizeof(*cm));
	assert_non_null(cm);
	cm->port = &port;
	memset(&port, 0, sizeof(port));
	port.cm = cm;
	port.rxq[0] = &rxq;
	port.pd = &card.pd;
	port.pkey_index = 3;
	rxq.pool = rig.pool;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	free(cm);
	rig_close(&rig);
	return 0;
}

/* --- what is shared ------------------------------------------------------------------------------------------------------ */

/* A packet has four octets of its encapsulation more (RFC 4391, 6); the first mbuf has 138 octets less, headroom and Ethernet. */
static void
layouts(void **state)
{
	static const struct {
		uint32_t room, mtu;
		int srq_sge, sge;
		uint32_t segs, depth, sges; /* segs 0: refused */
	} t[] = {
		{2176, 2034, 31, 32, 1, 256, 32},   {2176, 2035, 31, 32, 2, 256, 32}, {2176, 4210, 31, 32, 2, 256, 32},
		{2176, 4211, 31, 32, 3, 256, 32},   {2176, 65520, 31, 8, 31, 66, 8},  {2176, 65520, 30, 32, 0, 0, 0},
		{4480, 65520, 15, 33, 15, 136, 32}, {4480, 65520, 14, 32, 0, 0, 0},   {16384, 65520, 31, 1, 5, 256, 1},
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		uint32_t depth = t[i].depth;

		rxq.pool = rte_pktmbuf_pool_create("layout", 3, 0, 0, (uint16_t)t[i].room, SOCKET_ID_ANY);
		assert_non_null(rxq.pool);
		memset(cm, 0, sizeof(*cm));
		cm->port = &port;
		port.conf.cm_mtu = t[i].mtu;
		card.filled = 0;
		card.attr = (struct ibv_device_attr){.max_srq_sge = t[i].srq_sge, .max_sge = t[i].sge};
		assert_int_equal(ipoib_cm_queues_open(cm), t[i].segs == 0 ? -EINVAL : 0);
		assert_int_equal(card.filled, t[i].segs != 0);
		if (t[i].segs != 0) {
			assert_int_equal(cm->segs, t[i].segs);
			assert_int_equal(card.srq_init.attr.max_sge, t[i].segs);
			assert_int_equal(cm->depth, depth);
			assert_int_equal(card.srq_init.attr.max_wr, depth);
			assert_int_equal(card.cqe[0], depth);
			assert_int_equal(card.cqe[1], IPOIB_RC_SLOTS);
			assert_int_equal(cm->sges, t[i].sges);
			assert_int_equal(cm->lkey, 0x77);
			assert_int_equal(cm->num_free, depth);
			assert_int_equal(cm->num_slots, IPOIB_RC_SLOTS);
			for (uint32_t k = 0; k < depth; k++)
				assert_int_equal(cm->free[k], k);
			for (uint32_t k = 0; k < IPOIB_RC_SLOTS; k++)
				assert_int_equal(cm->slots[k], k);
		}
		ipoib_cm_queues_close(cm);
		assert_int_equal(card.cqs + card.srqs, 0);
		rte_mempool_free(rxq.pool);
	}
}

/* What was made before a refusal goes with the rest. */
static void
refusals(void **state)
{
	(void)state;
	port.conf.cm_mtu = 65520;
	card.attr.max_srq_sge = 32;
	for (int what = CREATE_SRQ; what <= QUERY; what++) {
		if (what > CREATE_SCQ && what != QUERY)
			continue;
		card.refuses = what;
		memset(cm, 0, sizeof(*cm));
		cm->port = &port;
		assert_int_equal(ipoib_cm_queues_open(cm), -ENOSPC);
		assert_int_equal(card.filled, 0);
		ipoib_cm_queues_close(cm);
		assert_int_equal(card.cqs + card.srqs, 0);
	}
}

/* Buffers that the card had, and spare ones, which are parts of chains no more, go back to their pool. */
static void
buffers_go_back(void **state)
{
	struct rte_mbuf *m;

	(void)state;
	cm->depth = 16;
	for (uint32_t i = 0; i < 16; i += 5) {
		cm->chain[i] = rte_pktmbuf_alloc(rig.pool);
		m = rte_pktmbuf_alloc(rig.pool);
		assert_true(cm->chain[i] != NULL && m != NULL);
		assert_int_equal(rte_pktmbuf_chain(cm->chain[i], m), 0);
	}
	while (cm->num_spare < 3) {
		m = rte_pktmbuf_alloc(rig.pool);
		assert_non_null(m);
		m->nb_segs = 2;
		cm->spare[cm->num_spare++] = m;
	}
	assert_int_equal(rte_mempool_in_use_count(rig.pool), 4 * 2 + 3);
	ipoib_cm_queues_close(cm);
	assert_int_equal(rte_mempool_in_use_count(rig.pool), 0);
}

/* --- of a connection ------------------------------------------------------------------------------------------------------ */

/* Who was asked sends nothing by it. The states of IBTA 10.3.1, with what each needs (table 94). */
static void
states(void **state)
{
	(void)state;
	cm->srq = &card.srq;
	cm->rcq = &card.cq[0];
	cm->scq = &card.cq[1];
	cm->sges = 9;
	for (int passive = 0; passive < 2; passive++) {
		struct ipoib_rc rc = {.port = &port, .psn = 0x123456, .mtu = IBV_MTU_2048, .timeout = 17};
		const struct ibv_qp_attr *to = card.to;

		rc.av.dlid = 0x4321;
		assert_int_equal(ipoib_rc_qp_open(&rc, passive == 1), 0);
		assert_ptr_equal(rc.qp, &card.qp);
		assert_ptr_equal(card.qp_init.send_cq, cm->scq);
		assert_ptr_equal(card.qp_init.recv_cq, cm->rcq);
		assert_ptr_equal(card.qp_init.srq, cm->srq);
		assert_int_equal(card.qp_init.qp_type, IBV_QPT_RC);
		assert_int_equal(card.qp_init.cap.max_send_wr, passive ? 1 : 64);
		assert_int_equal(card.qp_init.cap.max_send_sge, passive ? 1 : 9);
		assert_int_equal(card.mask[IBV_QPS_INIT],
				 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
		assert_int_equal(to[IBV_QPS_INIT].pkey_index, 3);
		assert_int_equal(to[IBV_QPS_INIT].port_num, 1);
		assert_int_equal(to[IBV_QPS_INIT].qp_access_flags, 0);
		assert_int_equal(ipoib_rc_qp_ready(&rc, 0xabcdef, 0x654321, 5), 0);
		assert_int_equal(card.mask[IBV_QPS_RTR], IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
								 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
								 IBV_QP_MIN_RNR_TIMER);
		assert_int_equal(to[IBV_QPS_RTR].ah_attr.dlid, 0x4321);
		assert_int_equal(to[IBV_QPS_RTR].path_mtu, IBV_MTU_2048);
		assert_int_equal(to[IBV_QPS_RTR].dest_qp_num, 0xabcdef);
		assert_int_equal(to[IBV_QPS_RTR].rq_psn, 0x123456);
		assert_int_equal(to[IBV_QPS_RTR].max_dest_rd_atomic, 4);
		assert_int_equal(to[IBV_QPS_RTR].min_rnr_timer, 12); /* 0.64 ms */
		assert_int_equal(card.mask[IBV_QPS_RTS], IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
								 IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
								 IBV_QP_MAX_QP_RD_ATOMIC);
		assert_int_equal(to[IBV_QPS_RTS].sq_psn, 0x654321);
		assert_int_equal(to[IBV_QPS_RTS].timeout, 17);
		assert_int_equal(to[IBV_QPS_RTS].retry_cnt, 7);
		assert_int_equal(to[IBV_QPS_RTS].rnr_retry, 5);
		assert_int_equal(to[IBV_QPS_RTS].max_rd_atomic, 0);
		card.mask[IBV_QPS_ERR] = 0;
		ipoib_rc_qp_error(&rc);
		assert_int_equal(card.mask[IBV_QPS_ERR], IBV_QP_STATE);
		ipoib_rc_qp_close(&rc);
		assert_int_equal(card.qps, 0);
		/* One that is gone is told nothing. */
		card.mask[IBV_QPS_ERR] = 0;
		ipoib_rc_qp_error(&rc);
		assert_int_equal(card.mask[IBV_QPS_ERR], 0);
	}
}

static void
states_refused(void **state)
{
	(void)state;
	for (int what = CREATE_QP; what <= TO_RTS; what++) {
		struct ipoib_rc rc = {.port = &port};

		card.refuses = what;
		assert_int_equal(ipoib_rc_qp_open(&rc, false), what <= TO_INIT ? -ENOSPC : 0);
		if (what == CREATE_QP) {
			assert_null(rc.qp);
			continue;
		}
		card.mask[IBV_QPS_RTS] = 0;
		assert_int_equal(ipoib_rc_qp_ready(&rc, 1, 2, 3), what == TO_INIT ? 0 : -ENOSPC);
		assert_int_equal(card.mask[IBV_QPS_RTS] != 0, what != TO_RTR);
		ipoib_rc_qp_close(&rc);
	}
}

static void
put(struct ipoib_rc *rc, uint32_t slot)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(rig.pool);

	assert_non_null(m);
	cm->slot[slot] = (struct ipoib_slot){m, rc};
	rc->inflight++;
}

/*
 * What the card did not give back goes with its connection, and nothing of another one: completions are taken and put aside before
 * the queue pair goes; then mbufs go to their pool and slots to those that are free.
 */
static void
leftovers(void **state)
{
	static const uint32_t of_a[] = {0, 3, 500, IPOIB_RC_SLOTS - 1}, of_b[] = {1, 2, 501, IPOIB_RC_SLOTS - 2};
	struct ipoib_rc a = {.port = &port, .qp = &card.qp}, b = {.port = &port};
	bool free_now[IPOIB_RC_SLOTS] = {false};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(of_a); i++) {
		put(&a, of_a[i]);
		put(&b, of_b[i]);
	}
	cm->num_slots = 1;
	cm->slots[0] = 7;
	card.qps = 1;
	ipoib_rc_qp_close(&a);
	assert_string_equal(card.calls, "rhd");
	assert_null(a.qp);
	assert_int_equal(a.inflight, 0);
	assert_int_equal(b.inflight, RTE_DIM(of_b));
	assert_int_equal(cm->num_slots, 1 + RTE_DIM(of_a));
	assert_int_equal(cm->slots[0], 7);
	assert_int_equal(rte_mempool_in_use_count(rig.pool), RTE_DIM(of_b));
	for (uint32_t i = 0; i < cm->num_slots; i++)
		free_now[cm->slots[i]] = true;
	for (unsigned int i = 0; i < RTE_DIM(of_a); i++) {
		assert_true(free_now[of_a[i]]);
		assert_null(cm->slot[of_a[i]].m);
		assert_null(cm->slot[of_a[i]].rc);
		assert_false(free_now[of_b[i]]);
		assert_ptr_equal(cm->slot[of_b[i]].rc, &b);
		assert_non_null(cm->slot[of_b[i]].m);
	}
	/* One without a queue pair: its packets only. */
	ipoib_rc_qp_close(&b);
	assert_int_equal(card.num_calls, 3);
	assert_int_equal(b.inflight, 0);
	assert_int_equal(cm->num_slots, 1 + RTE_DIM(of_a) + RTE_DIM(of_b));
	assert_int_equal(rte_mempool_in_use_count(rig.pool), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {T(layouts), T(refusals),       T(buffers_go_back),
					   T(states),  T(states_refused), T(leftovers)};

	return cmocka_run_group_tests_name("queue pairs of connected mode", tests, NULL, NULL);
}
