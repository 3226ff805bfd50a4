/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue pairs of an IPoIB port: one that the application's bursts use, and one that the control thread sends by. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_errno.h>

#include "port.h"
#include "tp_roce.h"

#define DRAIN_MS 1000u /* for the card to give back what a stopped queue pair had */

/* --- memory ---------------------------------------------------------------------------------------------------------- */

struct ipoib_pool_mr {
	SLIST_ENTRY(ipoib_pool_mr) next;
	struct rte_mempool *pool;
	struct ibv_mr *mr;
	int err; /* why there is none: asked for once, and told once */
};

static struct ipoib_pool_mr *
pool_add(struct ipoib_port *p, struct rte_mempool *pool)
{
	struct ipoib_pool_mr *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	e->pool = pool;
	e->mr = tp_roce_reg_mempool(p->pd, pool, IBV_ACCESS_LOCAL_WRITE);
	if (e->mr == NULL) {
		e->err = -errno;
		IPOIB_LOG(ERR, "port %u: pool %s cannot be registered, what it holds is not sent: %s", p->port_id,
			  pool->name, strerror(errno));
	}
	SLIST_INSERT_HEAD(&p->mrs, e, next);
	return e;
}

int
ipoib_pool_lkey(struct ipoib_port *p, struct rte_mempool *pool, uint32_t *lkey)
{
	struct ipoib_pool_mr *e;
	int ret = -ENOMEM;

	pthread_mutex_lock(&p->mr_lock);
	SLIST_FOREACH(e, &p->mrs, next)
	{
		if (e->pool == pool)
			break;
	}
	if (e == NULL)
		e = pool_add(p, pool);
	if (e != NULL)
		ret = e->err;
	if (ret == 0)
		*lkey = e->mr->lkey;
	pthread_mutex_unlock(&p->mr_lock);
	return ret;
}

/* Takes the registration of a pool back, or of all (NULL). */
static void
pools_free(struct ipoib_port *p, const struct rte_mempool *pool)
{
	struct ipoib_pool_mr *e, *after;

	pthread_mutex_lock(&p->mr_lock);
	for (e = SLIST_FIRST(&p->mrs); e != NULL; e = after) {
		after = SLIST_NEXT(e, next);
		if (pool != NULL && e->pool != pool)
			continue;
		SLIST_REMOVE(&p->mrs, e, ipoib_pool_mr, next);
		if (e->mr != NULL)
			tp_roce_dereg_mr(e->mr);
		free(e);
	}
	pthread_mutex_unlock(&p->mr_lock);
}

/* A pool goes: the next one may lie at its address, in other memory. A burst of other pools may be at work. */
static void
pool_event(enum rte_mempool_event event, struct rte_mempool *pool, void *arg)
{
	struct ipoib_port *p = arg;
	struct rte_mempool *last = pool;

	if (event != RTE_MEMPOOL_EVENT_DESTROY)
		return;
	pools_free(p, pool);
	atomic_compare_exchange_strong(&p->txq->last_pool, &last, NULL);
}

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

/* The application's; its requests are longer where it may send large ones. */
static struct ibv_qp *
qp_open_app(struct ipoib_port *p)
{
	struct ipoib_txq *tx = p->txq;
	struct ibv_qp_init_attr_ex init = {
		.send_cq = tx->cq,
		.recv_cq = p->rxq->cq,
		.qp_type = IBV_QPT_UD,
		.cap = {.max_send_wr = tx->size,
			.max_recv_wr = p->rxq->size,
			.max_send_sge = tx->tso_segs,
			.max_recv_sge = 1},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
		.pd = p->pd,
		.max_tso_header = IPOIB_TSO_HEADER,
	};

	if (tx->tso_segs == 0)
		return qp_open(p, tx->cq, p->rxq->cq, tx->size, p->rxq->size);
	return tp_roce_create_qp_ex(ipoib_device_ctx(p->device), &init);
}

/* Requests of a ring are written once; a burst changes addresses and where the list ends. */
static void
requests_init(struct ipoib_port *p)
{
	struct ipoib_rxq *rx = p->rxq;
	struct ipoib_txq *tx = p->txq;
	unsigned int i;

	for (i = 0; i < IPOIB_BURST; i++) {
		rx->sge[i] = (struct ibv_sge){.length = rx->room, .lkey = rx->lkey};
		rx->wr[i] = (struct ibv_recv_wr){
			.sg_list = &rx->sge[i], .num_sge = 1, .next = &rx->wr[(i + 1) % IPOIB_BURST]};
		tx->wr[i] = (struct ibv_send_wr){.sg_list = &tx->sge[i],
						 .num_sge = 1,
						 .opcode = IBV_WR_SEND,
						 .next = &tx->wr[(i + 1) % IPOIB_BURST]};
	}
}

int
ipoib_queues_open(struct ipoib_port *p)
{
	struct ibv_context *ctx = ipoib_device_ctx(p->device);
	struct ipoib_rxq *rx = p->rxq;
	struct ipoib_txq *tx = p->txq;
	int ret;

	p->pd = tp_roce_alloc_pd(ctx);
	if (p->pd == NULL)
		return -errno;
	ret = rte_mempool_event_callback_register(pool_event, p);
	if (ret != 0)
		ret = -rte_errno;
	else
		ret = ipoib_pool_lkey(p, rx->pool, &rx->lkey);
	if (ret != 0)
		goto err;
	errno = ENOMEM;
	rx->cq = tp_roce_create_cq(ctx, rx->size, NULL, NULL, 0);
	tx->cq = rx->cq != NULL ? tp_roce_create_cq(ctx, (int)tx->size, NULL, NULL, 0) : NULL;
	p->slow_cq = tx->cq != NULL ? tp_roce_create_cq(ctx, IPOIB_SLOW_SENDS, NULL, NULL, 0) : NULL;
	rx->qp = tx->qp = p->slow_cq != NULL ? qp_open_app(p) : NULL;
	p->slow_qp = rx->qp != NULL ? qp_open(p, p->slow_cq, p->slow_cq, IPOIB_SLOW_SENDS, 1) : NULL;
	if (p->slow_qp == NULL) {
		ret = -errno;
		IPOIB_LOG(ERR, "port %u: no queue pairs of %s: %s", p->port_id, ipoib_device_name(p->device),
			  strerror(errno));
		goto err;
	}
	rx->own_qpn[0] = rx->qp->qp_num;
	rx->own_qpn[1] = p->slow_qp->qp_num;
	rx->missing = rx->size;
	requests_init(p);
	return 0;
err:
	ipoib_queues_close(p);
	return ret;
}

static int
qp_ready(struct ibv_qp *qp, uint16_t pkey_index, uint32_t qkey)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .pkey_index = pkey_index, .port_num = 1, .qkey = qkey};
	int err = tp_roce_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

	attr.qp_state = IBV_QPS_RTR;
	if (err == 0)
		err = tp_roce_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	if (err == 0)
		err = tp_roce_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return -err;
}

static void
qp_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};

	if (qp != NULL && tp_roce_modify_qp(qp, &attr, IBV_QP_STATE) != 0)
		IPOIB_LOG(WARNING, "queue pair 0x%x does not leave state %d", qp->qp_num, qp->state);
}

int
ipoib_queues_ready(struct ipoib_port *p)
{
	int ret = qp_ready(p->rxq->qp, (uint16_t)p->pkey_index, p->qkey);

	if (ret == 0)
		ret = qp_ready(p->slow_qp, (uint16_t)p->pkey_index, p->qkey);
	if (ret != 0) {
		IPOIB_LOG(ERR, "port %u: queue pairs do not start: %s", p->port_id, strerror(-ret));
		/* The next try begins where this one did. */
		qp_state(p->rxq->qp, IBV_QPS_RESET);
		qp_state(p->slow_qp, IBV_QPS_RESET);
		return ret;
	}
	p->ready = true;
	p->txq->broken = false;
	ipoib_rx_fill(p->rxq);
	return 0;
}

int
ipoib_queues_qkey(struct ipoib_port *p, uint32_t qkey)
{
	struct ibv_qp_attr attr = {.qkey = qkey};
	int err;

	p->qkey = qkey;
	p->txq->qkey = qkey;
	for (unsigned int i = 0; i < IPOIB_BURST; i++)
		p->txq->wr[i].wr.ud.remote_qkey = qkey;
	err = tp_roce_modify_qp(p->rxq->qp, &attr, IBV_QP_QKEY);
	return -(err != 0 ? err : tp_roce_modify_qp(p->slow_qp, &attr, IBV_QP_QKEY));
}

/* Buffers that the card had come back as completions in error. */
static bool
drained(struct ipoib_port *p)
{
	struct ipoib_rxq *rx = p->rxq;
	struct ibv_wc wc[IPOIB_BURST];
	int n, i;

	while ((n = ibv_poll_cq(rx->cq, IPOIB_BURST, wc)) > 0) {
		rx->missing += (uint32_t)n;
		for (i = 0; i < n; i++)
			rte_mempool_put(rx->pool, (struct rte_mbuf *)(uintptr_t)wc[i].wr_id);
	}
	ipoib_tx_reap(p->txq);
	ipoib_slow_reap(p);
	return rx->missing == rx->size && p->txq->head == p->txq->tail && p->slow_inflight == 0;
}

void
ipoib_queues_reset(struct ipoib_port *p)
{
	struct ipoib_txq *tx = p->txq;
	uint64_t errors = tx->drop[IPOIB_DROP_TX_ERROR];
	unsigned int ms;

	if (!p->ready)
		return;
	p->ready = false;
	qp_state(p->rxq->qp, IBV_QPS_ERR);
	qp_state(p->slow_qp, IBV_QPS_ERR);
	for (ms = 0; ms < DRAIN_MS && !drained(p); ms++)
		usleep(1000);
	tx->drop[IPOIB_DROP_TX_ERROR] = errors; /* what a stop flushes is no error */
	qp_state(p->rxq->qp, IBV_QPS_RESET);
	qp_state(p->slow_qp, IBV_QPS_RESET);
	ipoib_tx_forget(tx);
	if (p->rxq->missing != p->rxq->size)
		IPOIB_LOG(ERR, "port %u: the card keeps %u buffers", p->port_id, p->rxq->size - p->rxq->missing);
	p->rxq->missing = p->rxq->size;
}

void
ipoib_queues_close(struct ipoib_port *p)
{
	struct ipoib_rxq *rx = p->rxq;
	struct ipoib_txq *tx = p->txq;

	ipoib_queues_reset(p);
	if (p->slow_qp != NULL)
		tp_roce_destroy_qp(p->slow_qp);
	if (rx->qp != NULL)
		tp_roce_destroy_qp(rx->qp);
	if (p->slow_cq != NULL)
		tp_roce_destroy_cq(p->slow_cq);
	if (tx->cq != NULL)
		tp_roce_destroy_cq(tx->cq);
	if (rx->cq != NULL)
		tp_roce_destroy_cq(rx->cq);
	rte_mempool_event_callback_unregister(pool_event, p);
	pools_free(p, NULL);
	tx->last_pool = NULL;
	if (p->pd != NULL)
		tp_roce_dealloc_pd(p->pd);
	p->slow_qp = rx->qp = tx->qp = NULL;
	p->slow_cq = tx->cq = rx->cq = NULL;
	p->pd = NULL;
}

/* --- the control thread's packets ------------------------------------------------------------------------------------ */

void
ipoib_slow_reap(struct ipoib_port *p)
{
	struct ibv_wc wc[8];
	int n, i;

	while ((n = ibv_poll_cq(p->slow_cq, RTE_DIM(wc), wc)) > 0) {
		for (i = 0; i < n; i++) {
			rte_pktmbuf_free((struct rte_mbuf *)(uintptr_t)wc[i].wr_id);
			p->tx_error += wc[i].status != IBV_WC_SUCCESS && p->ready;
		}
		p->slow_inflight -= (uint32_t)n;
	}
}

void
ipoib_slow_send(struct ipoib_port *p, struct ibv_ah *ah, uint32_t qpn, struct rte_mbuf *m)
{
	struct ibv_sge sge = {.addr = rte_pktmbuf_mtod(m, uintptr_t), .length = m->data_len};
	struct ibv_send_wr wr = {
		.wr_id = (uintptr_t)m,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | ((m->ol_flags & IPOIB_TX_CHECKSUMS) != 0 ? IBV_SEND_IP_CSUM : 0),
		.wr.ud = {.ah = ah, .remote_qpn = qpn, .remote_qkey = p->qkey},
	};
	struct ibv_send_wr *bad;

	if (p->slow_inflight == IPOIB_SLOW_SENDS)
		ipoib_slow_reap(p);
	if (!p->ready || m->nb_segs != 1 || p->slow_inflight == IPOIB_SLOW_SENDS ||
	    ipoib_pool_lkey(p, m->pool, &sge.lkey) != 0 || ibv_post_send(p->slow_qp, &wr, &bad) != 0) {
		p->tx_error++;
		rte_pktmbuf_free(m);
		return;
	}
	p->slow_inflight++;
	p->slow_sent++;
	p->slow_bytes += sge.length + RTE_ETHER_HDR_LEN - IPOIB_ENCAP_LEN;
}
