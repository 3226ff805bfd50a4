/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A connection of rping: its queues, its four buffers in one region, and the steps of a ping. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_byteorder.h>

#include "rping.h"

#define DEPTH 16
#define ROOM 65536u /* of either data buffer: as much as any rping sends */

enum { WR_RECV = 1, WR_SEND, WR_READ, WR_WRITE };

#define DEBUG(c, ...)                                                                                                  \
	do {                                                                                                           \
		if ((c)->conf->debug != 0)                                                                             \
			printf(__VA_ARGS__);                                                                           \
	} while (0)

static int
post_recv(struct rping_conn *c)
{
	struct ibv_sge sge = {(uintptr_t)c->in, sizeof(*c->in), c->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = WR_RECV, .sg_list = &sge, .num_sge = 1}, *bad;

	return -ibv_post_recv(c->id->qp, &wr, &bad);
}

static int
post(struct rping_conn *c, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->send_flags = IBV_SEND_SIGNALED;
	wr->num_sge = 1;
	return -ibv_post_send(c->id->qp, wr, &bad);
}

/* Names a buffer; as "go ahead" the contents do not matter. */
static int
tell(struct rping_conn *c, const char *buf, uint32_t size)
{
	struct ibv_sge sge = {(uintptr_t)c->out, sizeof(*c->out), c->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = WR_SEND, .opcode = IBV_WR_SEND, .sg_list = &sge};

	c->out->addr = rte_cpu_to_be_64((uintptr_t)buf);
	c->out->rkey = rte_cpu_to_be_32(c->mr->rkey);
	c->out->size = rte_cpu_to_be_32(size);
	return post(c, &wr);
}

/* Reads from, or writes to, the buffer that the client named. */
static int
move(struct rping_conn *c, enum ibv_wr_opcode op, uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)c->data, len, c->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = op == IBV_WR_RDMA_READ ? WR_READ : WR_WRITE,
				 .opcode = op,
				 .sg_list = &sge,
				 .wr.rdma = {rte_be_to_cpu_64(c->in->addr), rte_be_to_cpu_32(c->in->rkey)}};

	return post(c, &wr);
}

/* The text of a ping: its number, then letters that begin one further each time. */
static void
fill(struct rping_conn *c)
{
	const uint32_t letters = 'z' - 'A' + 1;
	uint32_t i, size = c->conf->size;

	i = (uint32_t)snprintf(c->start, size, "rdma-ping-%u: ", c->pings);
	for (uint32_t k = c->pings % letters; i < size - 1; i++, k++)
		c->start[i] = (char)('A' + k % letters);
	c->start[size - 1] = '\0';
}

int
rping_conn_begin(struct rping_conn *c)
{
	fill(c);
	memset(c->data, 0, c->conf->size);
	c->step = RPING_SOURCE;
	return tell(c, c->start, c->conf->size);
}

static int
client_told(struct rping_conn *c)
{
	int rc;

	rc = post_recv(c);
	if (rc != 0)
		return rc;
	if (c->step == RPING_SOURCE) {
		c->step = RPING_SINK;
		return tell(c, c->data, c->conf->size);
	}
	if (c->step != RPING_SINK)
		return rend_fail(EPROTO, "the server went ahead without being asked");
	if (c->conf->validate != 0 && memcmp(c->start, c->data, c->conf->size) != 0)
		return rend_fail(EILSEQ, "ping %u came back changed", c->pings);
	if (c->conf->verbose != 0)
		printf("ping data: %s\n", c->data);
	c->pings++;
	if (c->conf->count != 0 && c->pings == c->conf->count) {
		c->over = true;
		return 0;
	}
	return rping_conn_begin(c);
}

static int
server_told(struct rping_conn *c)
{
	const uint32_t size = rte_be_to_cpu_32(c->in->size);
	int rc;

	DEBUG(c, "client names %#" PRIx64 " key %#x, %u bytes\n", rte_be_to_cpu_64(c->in->addr),
	      rte_be_to_cpu_32(c->in->rkey), size);
	if (size == 0 || size > ROOM - 1)
		return rend_fail(EPROTO, "the client names %u bytes, 1..%u were to come", size, ROOM - 1);
	if (c->step == RPING_IDLE) {
		c->step = RPING_SOURCE;
		rc = move(c, IBV_WR_RDMA_READ, size);
	} else if (c->step == RPING_SINK) {
		c->step = RPING_WRITE;
		rc = move(c, IBV_WR_RDMA_WRITE, RTE_MIN((uint32_t)strlen(c->data) + 1, size));
	} else {
		return rend_fail(EPROTO, "the client named a buffer before its turn");
	}
	/* after what was in it was used */
	return rc != 0 ? rc : post_recv(c);
}

static int
completed(struct rping_conn *c, const struct ibv_wc *wc)
{
	switch (wc->wr_id) {
	case WR_RECV:
		if (wc->byte_len != sizeof(*c->in))
			return rend_fail(EPROTO, "%u bytes came, %zu were to", wc->byte_len, sizeof(*c->in));
		return c->server ? server_told(c) : client_told(c);
	case WR_READ:
		c->data[ROOM - 1] = '\0';
		if (c->conf->verbose != 0 && !c->quiet)
			printf("server ping data: %s\n", c->data);
		c->step = RPING_SINK;
		return tell(c, c->data, 0);
	case WR_WRITE:
		c->step = RPING_IDLE;
		c->pings++;
		return tell(c, c->data, 0);
	default: return 0;
	}
}

void
rping_conn_poll(struct rping_conn *c)
{
	struct ibv_wc wc;

	while (!c->over && ibv_poll_cq(c->cq, 1, &wc) > 0) {
		DEBUG(c, "request %" PRIu64 ": %s\n", wc.wr_id, rend_wc_str(wc.status));
		if (wc.status == IBV_WC_WR_FLUSH_ERR)
			continue; /* it goes; the event that says so comes, too */
		c->status = wc.status != IBV_WC_SUCCESS ? rend_wc_fail(&wc) : completed(c, &wc);
		c->over = c->over || c->status != 0;
	}
}

static int
make_qp(struct rping_conn *c)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = c->cq,
		.recv_cq = c->cq,
		.cap = {.max_send_wr = DEPTH, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1}};

	return tp_rdma_create_qp(c->id, c->pd, &init) == 0 ? 0 : -errno;
}

int
rping_conn_open(struct rping_conn *c)
{
	const size_t len = 2 * sizeof(*c->out) + 2 * ROOM;
	int rc;

	c->mem = rend_alloc(len);
	if (c->mem == NULL)
		return rend_fail(ENOMEM, "no memory for a connection: %zu bytes", len);
	c->start = c->mem;
	c->data = c->mem + ROOM;
	c->out = (void *)(c->mem + 2 * ROOM);
	c->in = c->out + 1;
	c->pd = tp_roce_alloc_pd(c->id->verbs);
	if (c->pd != NULL)
		c->mr = tp_roce_reg_mr(c->pd, c->mem, len,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	if (c->mr == NULL)
		return rend_fail(errno, "memory region of %zu bytes: %s", len, strerror(errno));
	c->cq = tp_roce_create_cq(c->id->verbs, DEPTH + 2, c, NULL, 0);
	rc = c->cq == NULL ? -errno : make_qp(c);
	if (rc == 0)
		rc = post_recv(c);
	return rc == 0 ? 0 : rend_fail(-rc, "queue pair and what it needs: %s", strerror(-rc));
}

void
rping_conn_close(struct rping_conn *c)
{
	if (c->id != NULL && c->id->qp != NULL)
		tp_rdma_destroy_qp(c->id);
	if (c->cq != NULL)
		tp_roce_destroy_cq(c->cq);
	if (c->mr != NULL)
		tp_roce_dereg_mr(c->mr);
	if (c->pd != NULL)
		tp_roce_dealloc_pd(c->pd);
	rend_free(c->mem);
	c->cq = NULL;
	c->mr = NULL;
	c->pd = NULL;
	c->mem = NULL;
}
