/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * --rdma_cm: RDMA CM makes the connections, one that carries the exchange in place of the socket, and one for each queue
 * pair of the test. What is told on the former, and when, is what perftest tells with -R.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "perf.h"
#include "tp_rdma.h"

#define RESOLVE_MS 2000
#define CALL_TRIES 10u /* the server may be on its way up, or between two calls */
#define AGAIN_MS 100u
#define GOODBYE_MS 3000u
#define LINGER_MS 100u /* the other end may ask again for what was lost */
#define RNR_RETRY 7u   /* for ever */
#define REJ_NO_SERVICE 8
#define ROOM EXCH_CM_LEN /* of the longest message */
#define LOOK_TURNS 0xffu

struct perf_cm {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listen, *link; /* where the server waits; the connection of the exchange */
	struct rdma_cm_id **ids;          /* of the queue pairs */
	uint32_t n, left;                 /* connected; of which the other end has ended */
	struct sockaddr_storage to;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *scq, *rcq;
	uint8_t *buf; /* what comes, then what goes */
};

/* --- the connection of the exchange ------------------------------------------------------------------------------- */

static int
post_in(struct perf_cm *cm)
{
	struct ibv_sge sge = {(uintptr_t)cm->buf, ROOM, cm->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
	int rc = ibv_post_recv(cm->link->qp, &wr, &bad);

	return rc == 0 ? 0 : rend_fail(rc, "receive request of the exchange: %s", strerror(rc));
}

static int
make_link(struct perf *p, struct rdma_cm_id *id)
{
	struct perf_cm *cm = p->cm;
	struct ibv_context *ctx = p->e->port.ctx;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};

	if (cm->buf == NULL) {
		cm->buf = rend_alloc((size_t)2 * ROOM);
		cm->pd = cm->buf == NULL ? NULL : tp_roce_alloc_pd(ctx);
		if (cm->pd != NULL)
			cm->mr = tp_roce_reg_mr(cm->pd, cm->buf, (size_t)2 * ROOM, IBV_ACCESS_LOCAL_WRITE);
		if (cm->mr != NULL)
			cm->scq = tp_roce_create_cq(ctx, 1, NULL, NULL, 0);
		if (cm->scq != NULL)
			cm->rcq = tp_roce_create_cq(ctx, 1, NULL, NULL, 0);
	}
	init.send_cq = cm->scq;
	init.recv_cq = cm->rcq;
	if (cm->rcq == NULL || tp_rdma_create_qp(id, cm->pd, &init) != 0)
		return rend_fail(errno, "queue pair of the exchange and what it needs: %s", strerror(errno));
	cm->link = id;
	return post_in(cm);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

/* Nothing, or what comes next. An id cannot go while its event is not acknowledged: this is a copy. */
static bool
next_event(struct perf_cm *cm, struct rdma_cm_event *ev)
{
	struct rdma_cm_event *got;

	if (tp_rdma_get_cm_event(cm->channel, &got) != 0)
		return false;
	*ev = *got;
	tp_rdma_ack_cm_event(got);
	cm->left += ev->event == RDMA_CM_EVENT_DISCONNECTED;
	return true;
}

/* Waits for an event of this type; ev is the last one that came. */
static int
expect(struct perf *p, enum rdma_cm_event_type type, struct rdma_cm_event *ev)
{
	for (;;) {
		rend_idle(p->e);
		if (rend_stopping())
			return -EINTR;
		if (!next_event(p->cm, ev))
			continue;
		if (ev->event == type)
			return 0;
		/* A server hears that its connections are established in its own time. */
		if (ev->event != RDMA_CM_EVENT_ESTABLISHED && ev->event != RDMA_CM_EVENT_TIMEWAIT_EXIT &&
		    ev->event != RDMA_CM_EVENT_ADDR_CHANGE)
			return -ECONNREFUSED;
	}
}

static int
refused(const struct rdma_cm_event *ev)
{
	return rend_fail(ECONNREFUSED, "RDMA CM: %s, status %d", tp_rdma_event_str(ev->event), ev->status);
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

/* The index of the connection of the exchange; the test's queue pairs have 0, 1, ... */
#define LINK UINT32_MAX

static int
make(struct perf *p, struct rdma_cm_id *id, uint32_t i)
{
	int rc;

	if (i == LINK)
		return make_link(p, id);
	rc = perf_make_qp(p, i, id);
	if (rc == 0)
		p->cm->ids[i] = id;
	return rc;
}

static struct rdma_conn_param
param_of(const struct perf *p, uint32_t i)
{
	const uint8_t reads = i != LINK && p->conf->verb >= PERF_READ ? (uint8_t)p->reads : 0;

	return (struct rdma_conn_param){.responder_resources = reads,
					.initiator_depth = reads,
					.retry_count = (uint8_t)p->conf->retry,
					.rnr_retry_count = RNR_RETRY,
					.flow_control = 1};
}

static int
options(struct perf *p, struct rdma_cm_id *id)
{
	uint8_t tos = (uint8_t)p->conf->tclass, timeout = (uint8_t)p->conf->timeout;

	if (tp_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)) != 0 ||
	    tp_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof(timeout)) != 0)
		return rend_fail(errno, "options of a connection: %s", strerror(errno));
	return 0;
}

/* The id goes, and the queue pair that was made with it. */
static void
drop(struct perf *p, struct rdma_cm_id *id, uint32_t i)
{
	if (id == NULL)
		return;
	if (id->qp != NULL)
		tp_rdma_destroy_qp(id);
	tp_rdma_destroy_id(id);
	if (i == LINK) {
		p->cm->link = NULL;
	} else {
		p->qp[i].qp = NULL;
		p->cm->ids[i] = NULL;
	}
}

/* -EAGAIN: nobody answers there, which may change. */
static int
call_once(struct perf *p, struct rdma_cm_id *id, uint32_t i)
{
	struct rdma_conn_param param = param_of(p, i);
	struct rdma_cm_event ev;
	int rc = options(p, id);

	if (rc != 0)
		return rc;
	if (tp_rdma_resolve_addr(id, NULL, (struct sockaddr *)&p->cm->to, RESOLVE_MS) != 0)
		return rend_fail(errno, "route to '%s': %s", p->host, strerror(errno));
	rc = expect(p, RDMA_CM_EVENT_ADDR_RESOLVED, &ev);
	if (rc == -ECONNREFUSED)
		return ev.event == RDMA_CM_EVENT_ADDR_ERROR ? -EAGAIN : refused(&ev);
	if (rc == 0 && tp_rdma_resolve_route(id, RESOLVE_MS) != 0)
		return rend_fail(errno, "route to '%s': %s", p->host, strerror(errno));
	if (rc == 0)
		rc = expect(p, RDMA_CM_EVENT_ROUTE_RESOLVED, &ev);
	if (rc == 0)
		rc = make(p, id, i);
	if (rc == 0 && tp_rdma_connect(id, &param) != 0)
		return rend_fail(errno, "connect: %s", strerror(errno));
	if (rc == 0)
		rc = expect(p, RDMA_CM_EVENT_ESTABLISHED, &ev);
	if (rc != -ECONNREFUSED)
		return rc;
	return ev.event == RDMA_CM_EVENT_REJECTED && ev.status == REJ_NO_SERVICE ? -EAGAIN : refused(&ev);
}

static void
pause_ms(struct perf *p, unsigned int ms)
{
	const uint64_t until = rte_get_tsc_cycles() + rte_get_tsc_hz() / 1000 * ms;

	while (rte_get_tsc_cycles() < until && !rend_stopping())
		rend_idle(p->e);
}

static int
call(struct perf *p, uint32_t i)
{
	struct rdma_cm_id *id;
	unsigned int n;
	int rc;

	for (n = 0; n < CALL_TRIES; n++) {
		if (tp_rdma_create_id(p->cm->channel, &id, NULL, RDMA_PS_TCP) != 0)
			return rend_fail(errno, "connection: %s", strerror(errno));
		rc = tp_rdma_bind_port(id, p->e->port.ctx) == 0 ? call_once(p, id, i)
								: rend_fail(errno, "connection: %s", strerror(errno));
		if (rc == 0)
			return 0;
		drop(p, id, i);
		if (rc != -EAGAIN)
			return rc;
		pause_ms(p, AGAIN_MS);
	}
	return rend_fail(ETIMEDOUT, "nobody listens on port %u of '%s' (RDMA CM, %u tries)", p->conf->tcp_port, p->host,
			 CALL_TRIES);
}

static int
answer(struct perf *p, uint32_t i)
{
	struct rdma_conn_param param = param_of(p, i);
	struct rdma_cm_event ev;
	int rc = expect(p, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);

	if (rc != 0)
		return rc == -ECONNREFUSED ? refused(&ev) : rc;
	/* No more READs than the caller answers. */
	param.initiator_depth = RTE_MIN(param.initiator_depth, ev.param.conn.responder_resources);
	rc = options(p, ev.id);
	if (rc == 0)
		rc = make(p, ev.id, i);
	if (rc == 0 && tp_rdma_accept(ev.id, &param) != 0)
		rc = rend_fail(errno, "accept: %s", strerror(errno));
	if (rc != 0)
		drop(p, ev.id, i);
	return rc;
}

static int
join(struct perf *p, uint32_t i)
{
	int rc = p->e->server ? answer(p, i) : call(p, i);

	if (rc == 0)
		p->cm->n++;
	return rc;
}

/* --- both ends ---------------------------------------------------------------------------------------------------- */

/* The address of HOST, or of the other end of --self. */
static int
find_host(struct perf *p)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	char name[256], port[8];
	int rc;

	p->host = p->e->host != NULL ? p->e->host : p->conf->port.self_addr[0];
	snprintf(name, sizeof(name), "%s", p->host);
	name[strcspn(name, "/")] = '\0';
	snprintf(port, sizeof(port), "%u", p->conf->tcp_port);
	rc = getaddrinfo(name, port, &hints, &list);
	if (rc != 0)
		return rend_fail(EINVAL, "host '%s': %s", p->host, gai_strerror(rc));
	memcpy(&p->cm->to, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return 0;
}

static int
listen_there(struct perf *p)
{
	struct sockaddr_storage at = p->e->port.addr;
	struct perf_cm *cm = p->cm;

	if (at.ss_family == 0)
		at.ss_family = AF_INET6;
	if (at.ss_family == AF_INET)
		((struct sockaddr_in *)&at)->sin_port = htons((uint16_t)p->conf->tcp_port);
	else
		((struct sockaddr_in6 *)&at)->sin6_port = htons((uint16_t)p->conf->tcp_port);
	if (tp_rdma_create_id(cm->channel, &cm->listen, NULL, RDMA_PS_TCP) != 0 ||
	    tp_rdma_bind_port(cm->listen, p->e->port.ctx) != 0 ||
	    tp_rdma_bind_addr(cm->listen, (struct sockaddr *)&at) != 0 || tp_rdma_listen(cm->listen, 0) != 0)
		return rend_fail(errno, "RDMA CM port %u: %s", p->conf->tcp_port, strerror(errno));
	perf_say_waiting(p);
	return 0;
}

int
perf_cm_open(struct perf *p)
{
	struct perf_cm *cm = calloc(1, sizeof(*cm));
	int rc;

	if (cm == NULL)
		return rend_fail(ENOMEM, "no memory for connections");
	p->cm = cm;
	cm->ids = calloc(p->conf->qps, sizeof(*cm->ids));
	cm->channel = tp_rdma_create_event_channel();
	if (cm->ids == NULL || cm->channel == NULL || fcntl(cm->channel->fd, F_SETFL, O_NONBLOCK) != 0)
		return rend_fail(errno, "event channel: %s", strerror(errno));
	rc = p->e->server ? listen_there(p) : find_host(p);
	return rc == 0 ? join(p, LINK) : rc;
}

int
perf_cm_connect(struct perf *p)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < p->conf->qps && rc == 0; i++)
		rc = join(p, i);
	/* Who calls now finds nobody. */
	if (rc == 0 && p->cm->listen != NULL) {
		tp_rdma_destroy_id(p->cm->listen);
		p->cm->listen = NULL;
	}
	return rc;
}

static int
completed(struct perf *p, struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct rdma_cm_event ev;
	uint32_t turns = 0;
	int rc;

	while ((rc = ibv_poll_cq(cq, 1, wc)) == 0) {
		rend_idle(p->e);
		if ((++turns & LOOK_TURNS) != 0)
			continue;
		if (rend_stopping())
			return -EINTR;
		/* It ends the link's requests, too. */
		next_event(p->cm, &ev);
	}
	if (rc < 0)
		return rend_fail(-rc, "completion queue: %s", strerror(-rc));
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		return rend_fail(ECONNRESET, "the other end hung up");
	return wc->status == IBV_WC_SUCCESS ? 0 : rend_wc_fail(wc);
}

static int
tell(struct perf *p, const void *mine, size_t len)
{
	struct perf_cm *cm = p->cm;
	struct ibv_sge sge = {(uintptr_t)cm->buf + ROOM, (uint32_t)len, cm->mr->lkey};
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1},
			   *bad;
	struct ibv_wc wc;
	int rc;

	memcpy(cm->buf + ROOM, mine, len);
	rc = ibv_post_send(cm->link->qp, &wr, &bad);
	return rc == 0 ? completed(p, cm->scq, &wc) : rend_fail(rc, "the other end: %s", strerror(rc));
}

static int
hear(struct perf *p, void *theirs, size_t len)
{
	struct ibv_wc wc;
	int rc = completed(p, p->cm->rcq, &wc);

	if (rc == 0 && wc.byte_len != len)
		rc = rend_fail(EPROTO, "the other end told %u bytes, %zu were due", wc.byte_len, len);
	if (rc != 0)
		return rc;
	memcpy(theirs, p->cm->buf, len);
	return post_in(p->cm);
}

int
perf_cm_swap(struct perf *p, const void *mine, void *theirs, size_t len)
{
	int rc = p->e->server ? hear(p, theirs, len) : tell(p, mine, len);

	if (rc != 0)
		return rc;
	return p->e->server ? tell(p, mine, len) : hear(p, theirs, len);
}

/*
 * All requests were answered before the last exchange. The server leaves first, as perftest's client waits for that; then
 * each end waits for the other's goodbye, and the client answers for a while what was lost on the way.
 */
static void
goodbye(struct perf *p)
{
	const uint64_t until = rte_get_tsc_cycles() + rte_get_tsc_hz() / 1000 * GOODBYE_MS;
	struct perf_cm *cm = p->cm;
	struct rdma_cm_event ev;
	uint32_t i;

	for (i = 0; p->e->server && i < p->conf->qps; i++)
		if (cm->ids[i] != NULL)
			tp_rdma_disconnect(cm->ids[i]);
	if (p->e->server && cm->link != NULL)
		tp_rdma_disconnect(cm->link);
	while (cm->left < cm->n && rte_get_tsc_cycles() < until && !rend_stopping()) {
		rend_idle(p->e);
		next_event(cm, &ev);
	}
	if (!p->e->server)
		pause_ms(p, LINGER_MS);
}

void
perf_cm_close(struct perf *p, bool well)
{
	struct perf_cm *cm = p->cm;
	uint32_t i;

	if (well)
		goodbye(p);
	for (i = 0; cm->ids != NULL && i < p->conf->qps; i++)
		drop(p, cm->ids[i], i);
	drop(p, cm->link, LINK);
	if (cm->listen != NULL)
		tp_rdma_destroy_id(cm->listen);
	if (cm->channel != NULL)
		tp_rdma_destroy_event_channel(cm->channel);
	if (cm->scq != NULL)
		tp_roce_destroy_cq(cm->scq);
	if (cm->rcq != NULL)
		tp_roce_destroy_cq(cm->rcq);
	if (cm->mr != NULL)
		tp_roce_dereg_mr(cm->mr);
	if (cm->pd != NULL)
		tp_roce_dealloc_pd(cm->pd);
	rend_free(cm->buf);
	free(cm->ids);
	free(cm);
	p->cm = NULL;
	/* A client answers for a while after the goodbye. */
	if (well && p->e->server)
		rport_outwait(&p->e->port, GOODBYE_MS + LINGER_MS);
}
