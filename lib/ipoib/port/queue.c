/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Queue pairs of an IPoIB port. With one receive queue, that queue and the first transmit queue have one together; with several,
 * rings of an RSS parent's table receive (rss.c), from a shared receive queue for each queue. Each other transmit queue has its
 * own, and the control thread one that it sends by.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "port.h"
#include "tp_roce.h"

#define DRAIN_MS 1000u /* for the card to give back what a stopped queue pair had */

/* --- queue pairs ----------------------------------------------------------------------------------------------------- */

static struct ibv_qp *
qp_open(struct ipoib_port *p, struct ibv_cq *send, struct ibv_cq *recv, uint32_t sends, uint32_t recvs)
{
	struct ibv_qp_init_attr init = {
		.send_cq = send,
		.recv_cq = recv,
		.qp_type = IBV_QPT_UD,
		.cap = {.max_send_wr = sends, .max_recv_wr = recvs, .max_send_sge = 1, .max_recv_sge = 1},
	};

	return tp_roce_create_qp(p->pd, &init);
}

/* Of a transmit queue; its requests are longer where it may send large ones. */
static struct ibv_qp *
qp_open_tx(struct ipoib_port *p, const struct ipoib_txq *tx, struct ibv_cq *recv, uint32_t recvs)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = tx->cq,
		.recv_cq = recv,
		.qp_type = IBV_QPT_UD,
		.cap = {.max_send_wr = tx->size, .max_recv_wr = recvs, .max_send_sge = tx->tso_segs, .max_recv_sge = 1},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
		.pd = p->pd,
		.max_tso_header = IPOIB_TSO_HEADER,
	};

	if (tx->tso_segs == 0)
		return qp_open(p, tx->cq, recv, tx->size, recvs);
	return tp_roce_create_qp_ex(ipoib_device_ctx(p->device), &init);
}

/* Requests of a ring are written once; a burst changes addresses and where the list ends. */
static void
recvs_init(struct ipoib_rxq *q)
{
	unsigned int i;

	for (i = 0; i < IPOIB_BURST; i++) {
		q->sge[i] = (struct ibv_sge){.length = q->room, .lkey = q->lkey};
		q->wr[i] = (struct ibv_recv_wr){
			.sg_list = &q->sge[i], .num_sge = 1, .next = &q->wr[(i + 1) % IPOIB_BURST]};
	}
}

static void
sends_init(struct ipoib_txq *q)
{
	unsigned int i;

	for (i = 0; i < IPOIB_BURST; i++)
		q->wr[i] = (struct ibv_send_wr){.sg_list = &q->sge[i],
						.num_sge = 1,
						.opcode = IBV_WR_SEND,
						.next = &q->wr[(i + 1) % IPOIB_BURST]};
}

static int
rx_open(struct ipoib_port *p, struct ipoib_rxq *q)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = q->size, .max_sge = 1}};
	int ret = ipoib_pool_lkey(p, q->pool, &q->lkey);

	if (ret != 0)
		return ret;
	errno = ENOMEM;
	q->cq = tp_roce_create_cq(ipoib_device_ctx(p->device), q->size, NULL, NULL, 0);
	if (q->cq == NULL)
		return -errno;
	q->missing = q->size;
	recvs_init(q);
	if (p->num_rx == 1)
		return 0;
	q->srq = tp_roce_create_srq(p->pd, &init);
	return q->srq != NULL ? 0 : -errno;
}

static int
cqs_open(struct ipoib_port *p)
{
	struct ibv_context *ctx = ipoib_device_ctx(p->device);
	unsigned int i;
	int ret = 0;

	for (i = 0; i < p->num_rx && ret == 0; i++)
		ret = rx_open(p, p->rxq[i]);
	errno = ENOMEM;
	for (i = 0; i < p->num_tx && ret == 0; i++) {
		p->txq[i]->cq = tp_roce_create_cq(ctx, (int)p->txq[i]->size, NULL, NULL, 0);
		ret = p->txq[i]->cq != NULL ? 0 : -errno;
	}
	if (ret != 0)
		return ret;
	p->slow_cq = tp_roce_create_cq(ctx, IPOIB_SLOW_SENDS, NULL, NULL, 0);
	return p->slow_cq != NULL ? 0 : -errno;
}

/* That of the hardware address: queue 0's in both directions, or an RSS parent. */
static int
address_open(struct ipoib_port *p)
{
	if (p->num_rx > 1)
		return ipoib_rss_open(p);
	p->qp = qp_open_tx(p, p->txq[0], p->rxq[0]->cq, p->rxq[0]->size);
	if (p->qp == NULL)
		return -errno;
	p->rxq[0]->qp = p->txq[0]->qp = p->qp;
	return 0;
}

static int
qps_open(struct ipoib_port *p)
{
	unsigned int i;
	int ret = address_open(p);

	p->num_own = 0;
	for (i = 0; i < p->num_tx && ret == 0; i++) {
		struct ipoib_txq *q = p->txq[i];

		if (q->qp == NULL)
			q->qp = qp_open_tx(p, q, q->cq, 1);
		if (q->qp == NULL)
			return -errno;
		p->own_qpn[p->num_own++] = q->qp->qp_num;
		sends_init(q);
	}
	if (ret != 0)
		return ret;
	p->slow_qp = qp_open(p, p->slow_cq, p->slow_cq, IPOIB_SLOW_SENDS, 1);
	if (p->slow_qp == NULL)
		return -errno;
	p->own_qpn[p->num_own++] = p->slow_qp->qp_num;
	return 0;
}

int
ipoib_queues_open(struct ipoib_port *p)
{
	int ret;

	p->pd = tp_roce_alloc_pd(ipoib_device_ctx(p->device));
	if (p->pd == NULL)
		return -errno;
	ret = ipoib_pools_watch(p);
	if (ret == 0)
		ret = cqs_open(p);
	if (ret == 0)
		ret = qps_open(p);
	if (ret == 0)
		return 0;
	IPOIB_LOG(ERR, "port %u: no queue pairs of %s: %s", p->port_id, ipoib_device_name(p->device), strerror(-ret));
	ipoib_queues_close(p);
	return ret;
}

/* --- states ---------------------------------------------------------------------------------------------------------- */

static void
qp_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};

	if (qp != NULL && tp_roce_modify_qp(qp, &attr, IBV_QP_STATE) != 0)
		IPOIB_LOG(WARNING, "queue pair 0x%x does not leave state %d", qp->qp_num, qp->state);
}

/* Of all; the parent before its rings, so that they get nothing that nobody sees. */
static void
all_to(struct ipoib_port *p, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	unsigned int i;

	qp_state(p->qp, state);
	if (p->table != NULL && tp_roce_modify_table(p->table, &attr, IBV_QP_STATE) != 0)
		IPOIB_LOG(WARNING, "port %u: rings of the queues do not go to state %d", p->port_id, state);
	for (i = 0; i < p->num_tx; i++) {
		if (p->txq[i]->qp != p->qp)
			qp_state(p->txq[i]->qp, state);
	}
	qp_state(p->slow_qp, state);
}

bool
ipoib_queues_broken(const struct ipoib_port *p)
{
	unsigned int i;

	for (i = 0; i < p->num_tx; i++) {
		if (p->txq[i]->broken)
			return true;
	}
	return false;
}

int
ipoib_queues_ready(struct ipoib_port *p)
{
	int ret = p->table != NULL ? ipoib_table_ready(p, p->table) : 0;
	unsigned int i;

	if (ret == 0)
		ret = ipoib_qp_ready(p, p->qp);
	for (i = 0; i < p->num_tx && ret == 0; i++) {
		if (p->txq[i]->qp != p->qp)
			ret = ipoib_qp_ready(p, p->txq[i]->qp);
	}
	if (ret == 0)
		ret = ipoib_qp_ready(p, p->slow_qp);
	if (ret != 0) {
		IPOIB_LOG(ERR, "port %u: queue pairs do not start: %s", p->port_id, strerror(-ret));
		/* The next try begins where this one did. */
		all_to(p, IBV_QPS_RESET);
		return ret;
	}
	p->ready = true;
	for (i = 0; i < p->num_tx; i++)
		p->txq[i]->broken = false;
	for (i = 0; i < p->num_rx; i++)
		ipoib_rx_fill(p->rxq[i]);
	return 0;
}

int
ipoib_queues_qkey(struct ipoib_port *p, uint32_t qkey)
{
	struct ibv_qp_attr attr = {.qkey = qkey};
	unsigned int i, k;
	int err = 0;

	p->qkey = qkey;
	if (p->table != NULL)
		err = tp_roce_modify_table(p->table, &attr, IBV_QP_QKEY);
	if (err == 0)
		err = tp_roce_modify_qp(p->qp, &attr, IBV_QP_QKEY);
	for (i = 0; i < p->num_tx; i++) {
		struct ipoib_txq *q = p->txq[i];

		q->qkey = qkey;
		for (k = 0; k < IPOIB_BURST; k++)
			q->wr[k].wr.ud.remote_qkey = qkey;
		if (err == 0 && q->qp != p->qp)
			err = tp_roce_modify_qp(q->qp, &attr, IBV_QP_QKEY);
	}
	return -(err != 0 ? err : tp_roce_modify_qp(p->slow_qp, &attr, IBV_QP_QKEY));
}

/* Buffers that the card had come back: as completions in error, or as what was received until now. What is in a shared queue stays. */
static bool
rx_drained(struct ipoib_rxq *q)
{
	struct ibv_wc wc[IPOIB_BURST];
	int n, i;

	while ((n = ibv_poll_cq(q->cq, IPOIB_BURST, wc)) > 0) {
		q->missing += (uint32_t)n;
		for (i = 0; i < n; i++)
			rte_mempool_put(q->pool, (struct rte_mbuf *)(uintptr_t)wc[i].wr_id);
	}
	return q->srq != NULL || q->missing == q->size;
}

static bool
drained(struct ipoib_port *p)
{
	bool done = true;
	unsigned int i;

	for (i = 0; i < p->num_rx; i++)
		done &= rx_drained(p->rxq[i]);
	for (i = 0; i < p->num_tx; i++) {
		ipoib_tx_reap(p->txq[i]);
		done &= p->txq[i]->head == p->txq[i]->tail;
	}
	ipoib_slow_reap(p);
	return done && p->slow_inflight == 0;
}

void
ipoib_queues_reset(struct ipoib_port *p)
{
	uint64_t errors[IPOIB_QUEUES] = {0};
	unsigned int ms, i;

	if (!p->ready)
		return;
	p->ready = false;
	for (i = 0; i < p->num_tx; i++)
		errors[i] = p->txq[i]->n.drop[IPOIB_DROP_TX_ERROR];
	all_to(p, IBV_QPS_ERR);
	for (ms = 0; !drained(p) && ms < DRAIN_MS; ms++)
		usleep(1000);
	all_to(p, IBV_QPS_RESET);
	for (i = 0; i < p->num_tx; i++) {
		p->txq[i]->n.drop[IPOIB_DROP_TX_ERROR] = errors[i]; /* what a stop flushes is no error */
		ipoib_tx_forget(p->txq[i]);
	}
	for (i = 0; i < p->num_rx; i++) {
		struct ipoib_rxq *q = p->rxq[i];

		if (q->srq != NULL)
			continue;
		if (q->missing != q->size)
			IPOIB_LOG(ERR, "port %u: the card keeps %u buffers", p->port_id, q->size - q->missing);
		q->missing = q->size;
	}
}

static void
recalled(void *arg, uint64_t wr_id)
{
	struct ipoib_rxq *q = arg;

	rte_mempool_put(q->pool, (struct rte_mbuf *)(uintptr_t)wr_id);
	q->missing++;
}

static void
rx_close(struct ipoib_port *p, struct ipoib_rxq *q)
{
	if (q->srq != NULL) {
		int err = tp_roce_recall_srq(q->srq, recalled, q);

		if (err != 0 || q->missing != q->size)
			IPOIB_LOG(ERR, "port %u: queue %u has lost %u buffers: %s", p->port_id, q->id,
				  q->size - q->missing, strerror(err));
		tp_roce_destroy_srq(q->srq);
	}
	if (q->cq != NULL)
		tp_roce_destroy_cq(q->cq);
	q->qp = NULL;
	q->srq = NULL;
	q->cq = NULL;
}

static void
tx_close(struct ipoib_port *p, struct ipoib_txq *q)
{
	if (q->qp != NULL && q->qp != p->qp)
		tp_roce_destroy_qp(q->qp);
	q->qp = NULL;
	q->last_pool = NULL;
}

void
ipoib_queues_close(struct ipoib_port *p)
{
	unsigned int i;

	ipoib_queues_reset(p);
	if (p->slow_qp != NULL)
		tp_roce_destroy_qp(p->slow_qp);
	for (i = 0; i < p->num_tx; i++)
		tx_close(p, p->txq[i]);
	if (p->qp != NULL)
		tp_roce_destroy_qp(p->qp);
	if (p->table != NULL)
		tp_roce_destroy_table(p->table);
	if (p->slow_cq != NULL)
		tp_roce_destroy_cq(p->slow_cq);
	for (i = 0; i < p->num_tx; i++) {
		if (p->txq[i]->cq != NULL)
			tp_roce_destroy_cq(p->txq[i]->cq);
		p->txq[i]->cq = NULL;
	}
	for (i = 0; i < p->num_rx; i++)
		rx_close(p, p->rxq[i]);
	ipoib_pools_free(p);
	if (p->pd != NULL)
		tp_roce_dealloc_pd(p->pd);
	p->slow_qp = p->qp = NULL;
	p->table = NULL;
	p->slow_cq = NULL;
	p->pd = NULL;
}
