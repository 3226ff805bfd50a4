/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a queue pair does in each round of its port's stream: completions, receives, messages of its traffic. */
#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include "roce.h"

#define BATCH 16
#define SEND_ID UINT64_C(1) /* of work requests that send; receives have 0 */
#define MAGIC RTE_BE32(0x74705251)
#define CATCH_UP 10u /* of a second's messages, that a sender may be behind its rate */

/* At the head of a message, when it has the room. */
struct number {
	rte_be32_t magic, zero;
	rte_be64_t seq;
};

static uint8_t *
receive_slot(const struct roce_qp *q, uint32_t i)
{
	return q->mem + (size_t)(i % q->depth) * (q->size + sizeof(struct ibv_grh));
}

static uint8_t *
send_slot(const struct roce_qp *q, uint32_t i)
{
	return q->mem + (size_t)q->depth * (q->size + sizeof(struct ibv_grh)) + (size_t)(i % q->depth) * q->size;
}

/* --- completions --- */

static void
count_number(struct roce_qp *q, const uint8_t *msg, uint32_t len)
{
	struct number n;
	uint64_t seq;

	if (len < sizeof(n))
		return;
	memcpy(&n, msg, sizeof(n));
	if (n.magic != MAGIC)
		return;
	seq = rte_be_to_cpu_64(n.seq);
	if (seq < q->rx_seq) {
		stat_add(&q->count.late, 1);
		return;
	}
	stat_add(&q->count.lost, seq - q->rx_seq);
	q->rx_seq = seq + 1;
}

static void
traffic_ends(struct roce_qp *q)
{
	if (!q->traffic.on)
		return;
	q->traffic.ended = rte_rdtsc();
	__atomic_store_n(&q->traffic.on, false, __ATOMIC_RELEASE);
}

static void
failed(struct roce_qp *q, enum ibv_wc_status status)
{
	/* What a queue pair in error has left is no failure of its own. */
	if (status == IBV_WC_WR_FLUSH_ERR && q->count.errors != 0)
		return;
	if (q->count.errors == 0)
		q->count.first_error = status;
	stat_add(&q->count.errors, 1);
}

static void
sent(struct roce_qp *q, const struct ibv_wc *wc)
{
	q->tx_done++;
	if (wc->status != IBV_WC_SUCCESS) {
		failed(q, wc->status);
		traffic_ends(q);
		return;
	}
	stat_add(&q->count.tx_msgs, 1);
	stat_add(&q->count.tx_bytes, q->traffic.size);
	if (q->traffic.counted && q->traffic.left == 0 && q->tx_done == q->tx_posted)
		traffic_ends(q);
}

static void
received(struct roce_qp *q, const struct ibv_wc *wc)
{
	uint32_t head = q->type == IBV_QPT_UD ? sizeof(struct ibv_grh) : 0;
	const uint8_t *slot = receive_slot(q, q->rx_done++);

	if (wc->status != IBV_WC_SUCCESS) {
		if (wc->status != IBV_WC_WR_FLUSH_ERR)
			failed(q, wc->status);
		q->receives = false;
		return;
	}
	stat_add(&q->count.rx_msgs, 1);
	stat_add(&q->count.rx_bytes, wc->byte_len - head);
	count_number(q, slot + head, wc->byte_len - head);
}

static unsigned int
completions(struct roce_qp *q)
{
	struct ibv_wc wc[BATCH];
	int i, n = ibv_poll_cq(q->cq, BATCH, wc);

	for (i = 0; i < n; i++) {
		if (wc[i].wr_id == SEND_ID)
			sent(q, &wc[i]);
		else
			received(q, &wc[i]);
	}
	return n > 0 ? (unsigned int)n : 0;
}

/* --- work requests --- */

static void
post_receives(struct roce_qp *q)
{
	unsigned int n;

	for (n = 0; n < BATCH && q->receives && q->rx_posted - q->rx_done < q->depth; n++) {
		struct ibv_sge sge = {.addr = (uintptr_t)receive_slot(q, q->rx_posted),
				      .length = q->size + (uint32_t)sizeof(struct ibv_grh),
				      .lkey = q->mr->lkey};
		struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

		if (ibv_post_recv(q->qp, &wr, &bad) != 0)
			return;
		q->rx_posted++;
	}
}

static void
number_message(struct roce_qp *q, uint8_t *slot)
{
	const struct number n = {.magic = MAGIC, .seq = rte_cpu_to_be_64(q->tx_seq)};

	if (q->traffic.size >= sizeof(n))
		memcpy(slot, &n, sizeof(n));
}

static bool
post_message(struct roce_qp *q)
{
	const struct roce_traffic *t = &q->traffic;
	uint8_t *slot = send_slot(q, q->tx_posted);
	struct ibv_sge sge = {.addr = (uintptr_t)slot, .length = t->size, .lkey = q->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = SEND_ID,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = t->op,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;
	int err;

	if (t->op == IBV_WR_SEND)
		number_message(q, slot);
	if (q->type == IBV_QPT_UD) {
		wr.wr.ud.ah = q->ah;
		wr.wr.ud.remote_qpn = q->peer.qpn;
		wr.wr.ud.remote_qkey = 0x80000000u; /* the queue pair's own */
	} else {
		wr.wr.rdma.remote_addr = q->peer.addr;
		wr.wr.rdma.rkey = q->peer.rkey;
	}
	err = ibv_post_send(q->qp, &wr, &bad);
	if (err == ENOMEM)
		return false; /* the queue is full */
	if (err != 0) {
		failed(q, IBV_WC_GENERAL_ERR);
		traffic_ends(q);
		return false;
	}
	q->tx_posted++;
	q->tx_seq += t->op == IBV_WR_SEND;
	return true;
}

static unsigned int
post_messages(struct roce_qp *q, uint64_t tsc)
{
	struct roce_traffic *t = &q->traffic;
	unsigned int n;

	for (n = 0; n < BATCH && t->on && q->tx_posted - q->tx_done < q->depth; n++) {
		if ((t->counted && t->left == 0) || (t->interval != 0 && tsc < t->next) || !post_message(q))
			break;
		t->left -= t->counted;
		t->next += t->interval;
	}
	/* Who could not send for long does not make up for all of it. */
	if (t->interval != 0 && t->next + rte_get_tsc_hz() / CATCH_UP < tsc)
		t->next = tsc - rte_get_tsc_hz() / CATCH_UP;
	return n;
}

unsigned int
roce_qp_round(struct roce_qp *q, uint64_t tsc)
{
	unsigned int done = completions(q);

	post_receives(q);
	return done + post_messages(q, tsc);
}

/* --- start and stop: the main lcore --- */

static int
check(const struct roce_qp *q, enum ibv_wr_opcode op, uint32_t size)
{
	uint16_t id = q->port->id;
	unsigned int qp = q->id;
	struct ibv_port_attr port;

	if (q->traffic.on || q->tx_posted != q->tx_done)
		return app_err(-EBUSY, "port %u: queue pair %u sends already; 'roce traffic stop %u %u' first", id, qp,
			       id, qp);
	if (!q->peer.known)
		return app_err(-ENOTCONN, "port %u: queue pair %u has no peer; 'roce qp connect' or 'roce qp pair'", id,
			       qp);
	if (size > q->size)
		return app_err(-EINVAL, "port %u: messages of %u octets, the queue pair was made for 1..%u", id, size,
			       q->size);
	if (q->type == IBV_QPT_UD && op != IBV_WR_SEND)
		return app_err(-EINVAL, "port %u: a datagram queue pair has send only", id);
	if (q->type == IBV_QPT_UC && op == IBV_WR_RDMA_READ)
		return app_err(-EINVAL, "port %u: an unreliable connection has send and write only", id);
	if (op != IBV_WR_SEND && !q->peer.memory)
		return app_err(-EINVAL, "port %u: the peer's memory is not known; 'roce qp remote %u %u ...' first", id,
			       id, qp);
	if (q->type == IBV_QPT_UD && tp_roce_query_port(q->port->ctx, 1, &port) == 0 && size > 128u << port.active_mtu)
		return app_err(-EINVAL, "port %u: a datagram of %u octets, want 1..%u", id, size,
			       128u << port.active_mtu);
	return 0;
}

int
roce_traffic_start(struct roce_qp *q, enum ibv_wr_opcode op, uint32_t size, uint64_t rate, uint64_t count)
{
	struct roce_traffic *t = &q->traffic;
	int ret;

	rte_spinlock_lock(&q->port->lock);
	ret = check(q, op, size);
	if (ret == 0) {
		t->op = op;
		t->size = size;
		t->counted = count != 0;
		t->left = count;
		t->interval = rate == 0 ? 0 : rte_get_tsc_hz() / rate;
		t->begun = t->next = rte_rdtsc();
		t->base_msgs = q->count.tx_msgs;
		t->base_bytes = q->count.tx_bytes;
		t->on = true;
	}
	rte_spinlock_unlock(&q->port->lock);
	return ret;
}

void
roce_traffic_stop(struct roce_qp *q)
{
	traffic_ends(q);
}
