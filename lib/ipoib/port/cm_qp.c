/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue pairs of connected mode, and what they share. */
#include <errno.h>
#include <unistd.h>

#include "cm.h"
#include "tp_roce.h"

#define RNR_TIMER 12u /* 0.64 ms until a peer tries again that found no buffer */
#define RETRIES 7u
#define READS 4u /* what Linux offers; nobody reads */

/* --- shared ------------------------------------------------------------------------------------------------------------ */

/* How many buffers the longest packet takes, and how many such chains are kept posted. */
static int
layout(struct ipoib_cm *cm, const struct ibv_device_attr *attr)
{
	struct ipoib_port *p = cm->port;
	uint32_t room = rte_pktmbuf_data_room_size(p->rxq[0]->pool),
		 most = RTE_MIN(attr->max_srq_sge, (int)IPOIB_RC_SGES);
	uint32_t len = p->conf.cm_mtu + IPOIB_ENCAP_LEN;

	/* Smaller ones than IPOIB_RC_OFFSET are no mbufs of a receive queue: a packet of the least MTU is in one. */
	cm->segs = 1 + (len <= room - IPOIB_RC_OFFSET ? 0 : (len - (room - IPOIB_RC_OFFSET) + room - 1) / room);
	if (cm->segs > most) {
		IPOIB_LOG(
			ERR,
			"port %u: cm-mtu %u takes %u mbufs of %u octets, the card takes %u: larger ones, or at most %u",
			p->port_id, p->conf.cm_mtu, cm->segs, room, most,
			most * room - IPOIB_RC_OFFSET - IPOIB_ENCAP_LEN);
		return -EINVAL;
	}
	cm->depth = RTE_MIN(RTE_MAX(IPOIB_RC_BUFFERS / cm->segs, IPOIB_RC_RECVS_MIN), IPOIB_RC_RECVS_MAX);
	cm->sges = RTE_MIN((uint32_t)attr->max_sge, IPOIB_RC_SGES);
	return 0;
}

int
ipoib_cm_queues_open(struct ipoib_cm *cm)
{
	struct ipoib_port *p = cm->port;
	struct ibv_context *ctx = ipoib_device_ctx(p->device);
	struct ibv_srq_init_attr init;
	struct ibv_device_attr attr;
	uint32_t i;
	int ret;

	ret = -tp_roce_query_device(ctx, &attr);
	if (ret == 0)
		ret = layout(cm, &attr);
	if (ret == 0)
		ret = ipoib_pool_lkey(p, p->rxq[0]->pool, &cm->lkey);
	if (ret != 0)
		return ret;
	init = (struct ibv_srq_init_attr){.attr = {.max_wr = cm->depth, .max_sge = cm->segs}};
	errno = ENOMEM;
	cm->srq = tp_roce_create_srq(p->pd, &init);
	cm->rcq = cm->srq != NULL ? tp_roce_create_cq(ctx, (int)cm->depth, NULL, NULL, 0) : NULL;
	cm->scq = cm->rcq != NULL ? tp_roce_create_cq(ctx, IPOIB_RC_SLOTS, NULL, NULL, 0) : NULL;
	if (cm->scq == NULL) {
		ret = -errno;
		IPOIB_LOG(ERR, "port %u: no shared receive queue of %s: %s", p->port_id, ipoib_device_name(p->device),
			  strerror(errno));
		return ret;
	}
	for (i = 0; i < cm->depth; i++)
		cm->free[cm->num_free++] = i;
	for (i = 0; i < IPOIB_RC_SLOTS; i++)
		cm->slots[cm->num_slots++] = i;
	ipoib_cm_fill(cm);
	return 0;
}

void
ipoib_cm_queues_close(struct ipoib_cm *cm)
{
	uint32_t i;

	if (cm->scq != NULL)
		tp_roce_destroy_cq(cm->scq);
	if (cm->rcq != NULL)
		tp_roce_destroy_cq(cm->rcq);
	if (cm->srq != NULL)
		tp_roce_destroy_srq(cm->srq);
	/* Without queue pairs and queue the card has no buffer any more. */
	for (i = 0; i < cm->depth; i++)
		rte_pktmbuf_free(cm->chain[i]);
	for (i = 0; i < cm->num_spare; i++) {
		cm->spare[i]->nb_segs = 1;
		rte_pktmbuf_free(cm->spare[i]);
	}
}

/* --- of a connection ---------------------------------------------------------------------------------------------------- */

int
ipoib_rc_qp_open(struct ipoib_rc *rc, bool passive)
{
	struct ipoib_cm *cm = rc->port->cm;
	struct ibv_qp_init_attr init = {
		.send_cq = cm->scq,
		.recv_cq = cm->rcq,
		.srq = cm->srq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = passive ? 1 : IPOIB_RC_SENDS, .max_send_sge = passive ? 1 : cm->sges},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .pkey_index = (uint16_t)rc->port->pkey_index, .port_num = 1};

	rc->qp = tp_roce_create_qp(rc->port->pd, &init);
	if (rc->qp == NULL)
		return -errno;
	return -tp_roce_modify_qp(rc->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int
ipoib_rc_qp_ready(struct ipoib_rc *rc, uint32_t dest_qpn, uint32_t sq_psn, uint8_t rnr_retry)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.ah_attr = rc->av,
		.path_mtu = (enum ibv_mtu)rc->mtu,
		.dest_qp_num = dest_qpn,
		.rq_psn = rc->psn,
		.max_dest_rd_atomic = READS,
		.min_rnr_timer = RNR_TIMER,
	};
	int err;

	err = tp_roce_modify_qp(rc->qp, &attr,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (err != 0)
		return -err;
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				    .sq_psn = sq_psn,
				    .timeout = rc->timeout,
				    .retry_cnt = RETRIES,
				    .rnr_retry = rnr_retry};
	return -tp_roce_modify_qp(rc->qp, &attr,
				  IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					  IBV_QP_MAX_QP_RD_ATOMIC);
}

void
ipoib_rc_qp_error(struct ipoib_rc *rc)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	if (rc->qp != NULL)
		(void)tp_roce_modify_qp(rc->qp, &attr, IBV_QP_STATE);
}

void
ipoib_rc_qp_close(struct ipoib_rc *rc)
{
	struct ipoib_cm *cm = rc->port->cm;
	uint32_t i;

	if (rc->qp != NULL) {
		ipoib_cm_reap(cm);
		ipoib_cm_hold(cm);
		tp_roce_destroy_qp(rc->qp);
		rc->qp = NULL;
	}
	/* What the card did not give back within its time. */
	for (i = 0; rc->inflight != 0 && i < IPOIB_RC_SLOTS; i++) {
		if (cm->slot[i].rc != rc)
			continue;
		rte_pktmbuf_free(cm->slot[i].m);
		cm->slot[i] = (struct ipoib_slot){NULL, NULL};
		cm->slots[cm->num_slots++] = i;
		rc->inflight--;
	}
}
