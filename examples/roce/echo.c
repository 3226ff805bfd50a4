/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * The smallest RoCE pair: a server that sends back what it receives, and a client that sends lines and prints the answers.
 *
 * The server, and a client that sends two messages; the two are joined by memif:
 *
 *   $ rm -f /tmp/roce_echo.sock; roce_echo -l 0 --no-huge -m 64 --no-shconf --file-prefix=server --no-pci \
 *     --vdev=net_memif0,role=server,socket=/tmp/roce_echo.sock,socket-abstract=no -- 192.0.2.1/24 2>/tmp/roce_echo.log &
 *   $ until grep -q listening /tmp/roce_echo.log; do sleep 0.1; done
 *   $ roce_echo -l 1 --no-huge -m 64 --no-shconf --file-prefix=client --no-pci \
 *     --vdev=net_memif0,role=client,socket=/tmp/roce_echo.sock,socket-abstract=no -- 192.0.2.2/24 192.0.2.1 hello world
 *
 * --no-huge needs no hugepages set up. Two processes want two CPUs and two file prefixes, and the client a server that
 * is there.
 *
 * One thread does everything: it drives the port (tp_roce_progress), takes events of connections and polls completions.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_malloc.h>

#include "port.h"

#define SERVICE 7777
#define MESSAGE 256u

/* A connection: its queue pair, one buffer to receive into and one to send from. */
struct peer {
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	char *in, *out;
	bool up, gone;
};

static int
receive(struct peer *p)
{
	struct ibv_sge sge = {(uintptr_t)p->in, MESSAGE, p->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_recv(p->id->qp, &wr, &bad);
}

static int
answer(struct peer *p, uint32_t len)
{
	struct ibv_sge sge = {(uintptr_t)p->out, len, p->mr->lkey};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1},
			   *bad;

	return ibv_post_send(p->id->qp, &wr, &bad);
}

/* Everything a connection needs, on the port that its id belongs to by now. */
static int
open_peer(struct peer *p, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};

	p->id = id;
	p->in = rte_zmalloc("echo", 2 * MESSAGE, 64); /* hugepage memory: any home can reach it */
	p->out = p->in + MESSAGE;
	p->pd = tp_roce_alloc_pd(id->verbs);
	p->mr = tp_roce_reg_mr(p->pd, p->in, 2 * MESSAGE, IBV_ACCESS_LOCAL_WRITE);
	p->cq = tp_roce_create_cq(id->verbs, 8, NULL, NULL, 0);
	init.send_cq = init.recv_cq = p->cq;
	if (p->mr == NULL || p->cq == NULL || tp_rdma_create_qp(id, p->pd, &init) != 0)
		return -1;
	return receive(p); /* before the other end can send */
}

static void
close_peer(struct peer *p)
{
	if (p->id != NULL && p->id->qp != NULL)
		tp_rdma_destroy_qp(p->id);
	if (p->cq != NULL)
		tp_roce_destroy_cq(p->cq);
	if (p->mr != NULL)
		tp_roce_dereg_mr(p->mr);
	if (p->pd != NULL)
		tp_roce_dealloc_pd(p->pd);
	rte_free(p->in);
}

static int
event(struct peer *p, const struct rdma_cm_event *ev)
{
	switch (ev->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST: return open_peer(p, ev->id) == 0 ? tp_rdma_accept(ev->id, NULL) : -1;
	case RDMA_CM_EVENT_ADDR_RESOLVED: return tp_rdma_resolve_route(ev->id, 1000);
	case RDMA_CM_EVENT_ROUTE_RESOLVED: return open_peer(p, ev->id) == 0 ? tp_rdma_connect(ev->id, NULL) : -1;
	case RDMA_CM_EVENT_ESTABLISHED: p->up = true; return 0;
	case RDMA_CM_EVENT_DISCONNECTED: p->gone = true; return 0;
	default: fprintf(stderr, "%s\n", tp_rdma_event_str(ev->event)); return -1;
	}
}

/* A message that came, or 0. */
static uint32_t
poll_message(struct peer *p)
{
	struct ibv_wc wc;

	while (p->cq != NULL && ibv_poll_cq(p->cq, 1, &wc) == 1) {
		if (wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV)
			return wc.byte_len;
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_event *ev, copy;
	struct rdma_cm_id *id = NULL;
	struct sockaddr_in addr;
	struct ibv_context *ctx;
	struct peer p = {0};
	bool client, waiting = false;
	int used, next = 3, rc;
	uint32_t len;

	used = rte_eal_init(argc, argv);
	if (used < 0) {
		fprintf(stderr, "EAL does not start, it said why; without a hugetlbfs it needs --no-huge -m 64\n");
		return 2;
	}
	argc -= used;
	argv += used;
	client = argc > 2;
	if (argc < 2 || port_sockaddr(client ? argv[2] : "0.0.0.0", SERVICE, &addr) != 0) {
		fprintf(stderr, "usage: roce_echo EAL... -- ADDRESS/LEN [SERVER MESSAGE...]\n");
		return 2;
	}
	ctx = port_open(argv[1]);
	if (ctx == NULL)
		return 1;
	channel = tp_rdma_create_event_channel();
	rc = channel == NULL ? -1 : tp_rdma_create_id(channel, &id, NULL, RDMA_PS_TCP);
	if (rc == 0)
		fcntl(channel->fd, F_SETFL, O_NONBLOCK); /* events are looked for, not waited for */
	if (rc == 0 && client)
		rc = tp_rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 5000);
	else if (rc == 0)
		rc = tp_rdma_bind_addr(id, (struct sockaddr *)&addr) != 0 || tp_rdma_listen(id, 1) != 0;
	if (rc == 0 && !client)
		fprintf(stderr, "listening\n");

	while (rc == 0 && !p.gone) {
		tp_roce_progress(ctx);
		if (tp_rdma_get_cm_event(channel, &ev) == 0) {
			copy = *ev; /* an id cannot be destroyed while its event is out */
			tp_rdma_ack_cm_event(ev);
			rc = event(&p, &copy);
		}
		len = poll_message(&p);
		if (len > 0) {
			if (client)
				printf("%.*s\n", (int)len, p.in);
			else
				memcpy(p.out, p.in, len);
			rc = receive(&p);
			if (rc == 0 && !client)
				rc = answer(&p, len);
			waiting = false;
		}
		if (!client || !p.up || waiting)
			continue;
		if (next == argc)
			break; /* all lines were answered */
		snprintf(p.out, MESSAGE, "%s", argv[next++]);
		rc = answer(&p, (uint32_t)strlen(p.out));
		waiting = true;
	}
	if (p.up)
		tp_rdma_disconnect(p.id);
	close_peer(&p);
	if (p.id != NULL && p.id != id)
		tp_rdma_destroy_id(p.id);
	if (id != NULL)
		tp_rdma_destroy_id(id);
	if (channel != NULL)
		tp_rdma_destroy_event_channel(channel);
	port_close(ctx);
	return rc == 0 ? 0 : 1;
}
