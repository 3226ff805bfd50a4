/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Queue pairs through their states, completions by polling or by events, memory. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "end.h"

#define MIN_RNR_TIMER 12u /* 0.64 ms, as rdma-core's and perftest's programs have it */
#define HOP_LIMIT 64u
#define HUNG_UP_S 5u /* others' programs hang up long before they are done, but say something again by then */

int
rqp_init(struct ibv_qp *qp, const struct rqp_conf *conf)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = conf->access, .qkey = conf->qkey};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	int rc;

	rc = tp_roce_modify_qp(qp, &attr, mask | (conf->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
	return rc == 0 ? 0 : rend_fail(rc, "queue pair 0x%06x to INIT: %s", qp->qp_num, strerror(rc));
}

static void
address(const struct rend *e, const struct rqp_conf *conf, const struct rdest *theirs, struct ibv_ah_attr *ah)
{
	memset(ah, 0, sizeof(*ah));
	ah->port_num = 1;
	ah->sl = conf->sl;
	ah->is_global = 1;
	ah->grh.dgid = theirs->gid;
	ah->grh.sgid_index = e->port.gid_index;
	ah->grh.hop_limit = HOP_LIMIT;
	ah->grh.traffic_class = conf->tclass;
}

static int
to_rtr(struct rend *e, struct ibv_qp *qp, const struct rqp_conf *conf, const struct rdest *theirs)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
				   .path_mtu = conf->mtu,
				   .dest_qp_num = theirs->qpn,
				   .rq_psn = theirs->psn,
				   .max_dest_rd_atomic = conf->dest_rd_atomic,
				   .min_rnr_timer = MIN_RNR_TIMER};
	int mask = IBV_QP_STATE;

	address(e, conf, theirs, &attr.ah_attr);
	if (conf->type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (conf->type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return tp_roce_modify_qp(qp, &attr, mask);
}

static int
to_rts(struct ibv_qp *qp, const struct rqp_conf *conf, const struct rdest *mine)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS,
				   .sq_psn = mine->psn,
				   .timeout = conf->timeout,
				   .retry_cnt = conf->retry_cnt,
				   .rnr_retry = conf->rnr_retry,
				   .max_rd_atomic = conf->rd_atomic};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (conf->type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	return tp_roce_modify_qp(qp, &attr, mask);
}

int
rqp_connect(struct rend *e, struct ibv_qp *qp, const struct rqp_conf *conf, const struct rdest *mine,
	    const struct rdest *theirs, struct ibv_ah **ah)
{
	struct ibv_ah_attr av;
	char gid[64];
	int rc;

	rc = to_rtr(e, qp, conf, theirs);
	if (rc == 0)
		rc = to_rts(qp, conf, mine);
	if (rc == 0 && conf->type == IBV_QPT_UD) {
		address(e, conf, theirs, &av);
		*ah = tp_roce_create_ah(qp->pd, &av);
		rc = *ah == NULL ? errno : 0;
	}
	if (rc != 0)
		return rend_fail(rc, "queue pair 0x%06x to %s, 0x%06x: %s", qp->qp_num, rend_gid_str(&theirs->gid, gid),
				 theirs->qpn, strerror(rc));
	return 0;
}

void *
rend_alloc(size_t len)
{
	return rte_zmalloc("roce", len, 4096);
}

void
rend_free(void *p)
{
	rte_free(p);
}

/* A wait that has lasted since begun: 0, or why it ends. */
static int
wait_ends(const struct rend *e, uint64_t begun, uint32_t idle_us)
{
	const uint64_t hz = rte_get_tsc_hz(), waited = rte_get_tsc_cycles() - begun;

	if (rend_stopping())
		return -EINTR;
	if (idle_us != 0 && waited > hz / 1000000 * idle_us)
		return -ETIMEDOUT;
	if (waited > hz * HUNG_UP_S && rend_hung_up(e))
		return rend_fail(ECONNRESET, "the other end hung up, and nothing came for %u s", HUNG_UP_S);
	return 0;
}

/* Until the event of a queue that was armed comes. */
static int
wait_event(struct rend *e, struct ibv_comp_channel *channel, uint64_t begun, uint32_t idle_us)
{
	struct pollfd p = {.fd = channel->fd, .events = POLLIN};
	struct ibv_cq *which;
	void *context;
	int rc;

	while (poll(&p, 1, 0) == 0) {
		rend_idle(e);
		rc = wait_ends(e, begun, idle_us);
		if (rc != 0)
			return rc;
	}
	if (tp_roce_get_cq_event(channel, &which, &context) != 0)
		return rend_fail(errno, "event of the completion queue: %s", strerror(errno));
	tp_roce_ack_cq_events(which, 1);
	return 0;
}

static int
polled(struct ibv_cq *cq, struct ibv_wc *wc, int n)
{
	int rc = ibv_poll_cq(cq, n, wc);

	return rc >= 0 ? rc : rend_fail(-rc, "completion queue: %s", strerror(-rc));
}

int
rend_wait(struct rend *e, struct ibv_cq *cq, struct ibv_comp_channel *channel, struct ibv_wc *wc, int n,
	  uint32_t idle_us)
{
	uint64_t begun = rte_get_tsc_cycles(), turns = 0;
	int rc;

	for (;;) {
		rc = polled(cq, wc, n);
		if (rc == 0 && channel != NULL) {
			/* Look again when it is armed: a completion may have come in between. */
			rc = ibv_req_notify_cq(cq, 0);
			if (rc != 0)
				return rend_fail(rc, "completion queue: %s", strerror(rc));
			rc = polled(cq, wc, n);
			if (rc == 0)
				rc = wait_event(e, channel, begun, idle_us);
			if (rc == 0)
				rc = polled(cq, wc, n);
		}
		if (rc != 0)
			return rc;
		rend_idle(e);
		if ((++turns & 0xff) == 0 && (rc = wait_ends(e, begun, idle_us)) != 0)
			return rc;
	}
}

const char *
rend_wc_str(enum ibv_wc_status status)
{
	static const char *const names[] = {
		[IBV_WC_SUCCESS] = "success",
		[IBV_WC_LOC_LEN_ERR] = "local length error",
		[IBV_WC_LOC_QP_OP_ERR] = "local QP operation error",
		[IBV_WC_LOC_EEC_OP_ERR] = "local EE context operation error",
		[IBV_WC_LOC_PROT_ERR] = "local protection error",
		[IBV_WC_WR_FLUSH_ERR] = "work request flushed",
		[IBV_WC_MW_BIND_ERR] = "memory window bind error",
		[IBV_WC_BAD_RESP_ERR] = "bad response",
		[IBV_WC_LOC_ACCESS_ERR] = "local access error",
		[IBV_WC_REM_INV_REQ_ERR] = "remote invalid request",
		[IBV_WC_REM_ACCESS_ERR] = "remote access error",
		[IBV_WC_REM_OP_ERR] = "remote operation error",
		[IBV_WC_RETRY_EXC_ERR] = "transport retries exceeded",
		[IBV_WC_RNR_RETRY_EXC_ERR] = "RNR retries exceeded",
	};

	if ((unsigned int)status >= RTE_DIM(names) || names[status] == NULL)
		return "another error";
	return names[status];
}

int
rend_wc_fail(const struct ibv_wc *wc)
{
	return rend_fail(EIO, "request %#llx of queue pair 0x%06x failed: %s (status %d, vendor %#x)",
			 (unsigned long long)wc->wr_id, wc->qp_num, rend_wc_str(wc->status), (int)wc->status,
			 wc->vendor_err);
}

const char *
rend_gid_str(const union ibv_gid *gid, char buf[64])
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	if (memcmp(gid->raw, mapped, sizeof(mapped)) == 0)
		inet_ntop(AF_INET, gid->raw + 12, buf, 64);
	else
		inet_ntop(AF_INET6, gid->raw, buf, 64);
	return buf;
}
