/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <stdlib.h>

#include "queue_rig.h"

int ipoib_logtype;
struct rig rig;
struct ipoib_port port;
struct ipoib_rxq rxq[IPOIB_QUEUES];
struct ipoib_txq txq[IPOIB_QUEUES];
struct qr_card card;

/* Is this object the one that is refused? */
static bool
refused(void)
{
	errno = ENOMEM;
	return card.fail_make != 0 && --card.fail_make == 0;
}

static int
change_fails(void)
{
	if (card.fail == 0)
		return 0;
	if (card.fail > 1) {
		card.fail--;
		return 0;
	}
	if (card.fail_more != 0)
		card.fail_more--;
	else
		card.fail = 0;
	return EIO;
}

/* --- the card ---------------------------------------------------------------------------------------------------------- */

struct ibv_pd *
tp_roce_alloc_pd(struct ibv_context *ctx)
{
	card.pds++;
	card.pd.context = ctx;
	return &card.pd;
}

int
tp_roce_dealloc_pd(struct ibv_pd *pd)
{
	(void)pd;
	card.pds--;
	return 0;
}

struct ibv_cq *
tp_roce_create_cq(struct ibv_context *ctx, int cqe, void *cq_context, struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq *cq = refused() ? NULL : calloc(1, sizeof(*cq));

	(void)cqe, (void)cq_context, (void)channel, (void)comp_vector;
	if (cq == NULL)
		return NULL;
	cq->context = ctx;
	card.cqs++;
	return cq;
}

int
tp_roce_destroy_cq(struct ibv_cq *cq)
{
	free(cq);
	card.cqs--;
	return 0;
}

struct ibv_qp *
tp_roce_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp = refused() ? NULL : calloc(1, sizeof(*qp));

	assert_int_equal(attr->qp_type, IBV_QPT_UD);
	if (qp == NULL)
		return NULL;
	qp->context = pd->context;
	qp->qp_num = 0x40 + card.qps++;
	return qp;
}

struct ibv_qp *
tp_roce_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	(void)ctx, (void)attr;
	errno = EOPNOTSUPP;
	return NULL;
}

int
tp_roce_destroy_qp(struct ibv_qp *qp)
{
	if (qp == port.qp && card.table != NULL) {
		card.table->parents--;
		card.table = NULL;
	}
	free(qp);
	card.qps--;
	return 0;
}

int
tp_roce_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	static const enum ibv_qp_state before[] = {
		[IBV_QPS_INIT] = IBV_QPS_RESET, [IBV_QPS_RTR] = IBV_QPS_INIT, [IBV_QPS_RTS] = IBV_QPS_RTR};

	if (change_fails() != 0)
		return EIO;
	if ((mask & IBV_QP_STATE) == 0)
		return qp->state == IBV_QPS_RTS ? 0 : EINVAL;
	/* A parent's rings are there before it is. */
	if (card.table != NULL && qp == port.qp && attr->qp_state != IBV_QPS_RESET && attr->qp_state != IBV_QPS_ERR)
		assert_int_equal(card.table->state, IBV_QPS_RTS);
	if (attr->qp_state != IBV_QPS_RESET && attr->qp_state != IBV_QPS_ERR && qp->state != before[attr->qp_state])
		return EINVAL;
	qp->state = attr->qp_state;
	return 0;
}

/* --- shared queues, parents and their tables --- */

struct ibv_srq *
tp_roce_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *srq = refused() ? NULL : calloc(1, sizeof(*srq));

	assert_int_equal(attr->attr.max_sge, 1);
	if (srq == NULL)
		return NULL;
	srq->context = pd->context;
	card.srqs++;
	return srq;
}

int
tp_roce_destroy_srq(struct ibv_srq *srq)
{
	free(srq);
	card.srqs--;
	return 0;
}

int
tp_roce_recall_srq(struct ibv_srq *srq, void (*fn)(void *arg, uint64_t wr_id), void *arg)
{
	/* Nobody uses it any more. */
	assert_int_equal(card.qps + card.tables, 0);
	for (unsigned int i = 0; i < port.num_rx; i++) {
		if (rxq[i].srq == srq && card.posted[i] != 0) {
			fn(arg, card.posted[i]);
			card.posted[i] = 0;
		}
	}
	return 0;
}

void
tp_roce_query_rss(struct ibv_context *ctx, struct tp_roce_rss_caps *caps)
{
	(void)ctx;
	*caps = card.caps;
}

struct tp_roce_table *
tp_roce_create_table(struct ibv_pd *pd, const struct tp_roce_ring *rings, uint32_t num)
{
	struct tp_roce_table *t = refused() ? NULL : calloc(1, sizeof(*t));

	(void)pd;
	assert_true(num >= 2 && num <= card.caps.max_rings && (num & (num - 1)) == 0);
	if (t == NULL)
		return NULL;
	for (uint32_t i = 0; i < num; i++)
		assert_true(rings[i].cq != NULL && rings[i].srq != NULL);
	memcpy(t->ring, rings, num * sizeof(*rings));
	t->num = num;
	card.tables++;
	return t;
}

int
tp_roce_modify_table(struct tp_roce_table *t, struct ibv_qp_attr *attr, int mask)
{
	if (change_fails() != 0)
		return EIO;
	if ((mask & IBV_QP_STATE) != 0)
		t->state = attr->qp_state;
	return 0;
}

int
tp_roce_destroy_table(struct tp_roce_table *t)
{
	assert_int_equal(t->parents, 0);
	free(t);
	card.tables--;
	return 0;
}

struct ibv_qp *
tp_roce_create_parent(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD};

	return tp_roce_create_qp(pd, &init);
}

int
tp_roce_set_table(struct ibv_qp *parent, struct tp_roce_table *table, const uint8_t *key, uint32_t types)
{
	assert_ptr_equal(parent, port.qp);
	assert_int_equal(parent->state, IBV_QPS_RESET);
	if (card.table != NULL)
		card.table->parents--;
	card.table = table;
	table->parents++;
	memcpy(card.key, key, sizeof(card.key));
	card.types = types;
	return 0;
}

struct ibv_mr *
tp_roce_reg_mempool(struct ibv_pd *pd, struct rte_mempool *pool, int access)
{
	struct ibv_mr *mr;

	(void)pd, (void)pool;
	assert_int_equal(access, IBV_ACCESS_LOCAL_WRITE);
	errno = card.reg_err;
	if (card.reg_err != 0)
		return NULL;
	mr = calloc(1, sizeof(*mr));
	assert_non_null(mr);
	mr->lkey = ++card.keys;
	card.mrs++;
	return mr;
}

int
tp_roce_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	card.mrs--;
	return 0;
}

static int
post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)bad;
	assert_int_equal(qp->state, IBV_QPS_RTS);
	assert_true(card.num_sent < RTE_DIM(card.sent));
	card.sent[card.num_sent++] = wr->wr_id;
	return 0;
}

static int
poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	assert_true(n > 0);
	if (cq != port.slow_cq || card.num_done == card.num_sent)
		return 0;
	wc[0] = (struct ibv_wc){.wr_id = card.sent[card.num_done++]};
	return 1;
}

/* --- the rest of the port ---------------------------------------------------------------------------------------------- */

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
	return "card/1";
}

void
ipoib_device_lock(struct ipoib_device *d)
{
	(void)d;
}

void
ipoib_device_unlock(struct ipoib_device *d)
{
	(void)d;
}

struct ipoib_port *
ipoib_port_of(uint16_t port_id)
{
	(void)port_id;
	return &port;
}

void
ipoib_publish(struct ipoib_port *p, struct ipoib_view *v)
{
	free(p->view);
	p->view = v;
	card.published++;
}

void
ipoib_retired_free(struct ipoib_port *p)
{
	(void)p;
}

/* Bursts are not at work, the parent is somewhere else already, and the rings are still there. */
void
ipoib_rx_drain(struct ipoib_rxq *q, const struct ipoib_view *v)
{
	assert_non_null(v);
	if (card.tables == 2) {
		assert_null(q->port->view);
		card.drained++;
		return;
	}
	/* One queue alone, which nobody polls. */
	assert_false(q->started);
	for (; card.waiting[q->id] != 0; card.waiting[q->id]--) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(q->pool);

		assert_non_null(m);
		assert_int_equal(rte_ring_enqueue(q->inject, m), 0);
	}
}

/* Of a shared queue one buffer is given to the card. */
void
ipoib_rx_fill(struct ipoib_rxq *q)
{
	struct rte_mbuf *m;

	if (q->srq == NULL) {
		assert_int_equal(q->qp->state, IBV_QPS_RTS);
		return;
	}
	if (card.posted[q->id] != 0)
		return;
	assert_int_equal(rte_mempool_get(q->pool, (void **)&m), 0);
	card.posted[q->id] = (uintptr_t)m;
	q->missing--;
}

void
ipoib_tx_reap(struct ipoib_txq *q)
{
	if (card.reaps != 0 && --card.reaps == 0)
		q->tail = q->head;
}

void
ipoib_tx_forget(struct ipoib_txq *q)
{
	(void)q;
}

void
qr_open(uint16_t num_rx, uint16_t num_tx)
{
	unsigned int i;

	rig_open(&rig);
	memset(&card, 0, sizeof(card));
	memset(&port, 0, sizeof(port));
	memset(rxq, 0, sizeof(rxq));
	memset(txq, 0, sizeof(txq));
	card.ctx.ops.post_send = post_send;
	card.ctx.ops.poll_cq = poll_cq;
	card.caps = (struct tp_roce_rss_caps){.max_rings = QR_RINGS, .types = 0x3f};
	pthread_mutex_init(&port.mr_lock, NULL);
	port.num_rx = num_rx;
	port.num_tx = num_tx;
	for (i = 0; i < num_rx; i++) {
		port.rxq[i] = &rxq[i];
		rxq[i].id = (uint16_t)i;
		rxq[i].port = &port;
		rxq[i].pool = rig.pool;
		rxq[i].size = 64;
	}
	for (i = 0; i < num_tx; i++) {
		port.txq[i] = &txq[i];
		txq[i].size = 64;
	}
}

void
qr_nothing(void)
{
	assert_int_equal(card.pds + card.cqs + card.qps + card.mrs + card.srqs + card.tables, 0);
	assert_int_equal(rte_mempool_in_use_count(rig.pool), 0);
}

void
qr_close(void)
{
	ipoib_queues_close(&port);
	qr_nothing();
	free(port.view);
	pthread_mutex_destroy(&port.mr_lock);
	rig_close(&rig);
}

int
qr_teardown(void **state)
{
	(void)state;
	qr_close();
	return 0;
}
