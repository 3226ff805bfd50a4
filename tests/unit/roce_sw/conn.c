/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include <rte_cycles.h>

#include "conn.h"

struct rdma_event_channel *conn_ch[2];

int
conn_setup(void **state)
{
	struct pair *p;

	(void)pair_setup(state);
	p = *state;
	p->managed = true;
	for (unsigned int i = 0; i < 2; i++) {
		conn_ch[i] = tp_rdma_create_event_channel();
		assert_non_null(conn_ch[i]);
		assert_int_equal(fcntl(conn_ch[i]->fd, F_SETFL, O_NONBLOCK), 0);
	}
	return 0;
}

int
conn_teardown(void **state)
{
	tp_rdma_destroy_event_channel(conn_ch[0]);
	tp_rdma_destroy_event_channel(conn_ch[1]);
	return pair_teardown(state);
}

struct sockaddr *
conn_address(enum pair_net net, unsigned int node, uint16_t port)
{
	static const char *const v4[2] = {"192.0.2.1", "192.0.2.2"}, *const v6[2] = {"2001:db8::1", "2001:db8::2"},
				 *const tagged[2] = {"198.51.100.1", "198.51.100.2"};
	static struct sockaddr_storage sa[8];
	static unsigned int turn;
	struct sockaddr_storage *a = &sa[turn++ % 8];
	struct sockaddr_in6 *a6 = (struct sockaddr_in6 *)a;
	struct sockaddr_in *a4 = (struct sockaddr_in *)a;

	memset(a, 0, sizeof(*a));
	a->ss_family = net == PAIR_V6 ? AF_INET6 : AF_INET;
	a4->sin_port = rte_cpu_to_be_16(port);
	assert_int_equal(inet_pton(a->ss_family,
				   net == PAIR_V6     ? v6[node]
				   : net == PAIR_VLAN ? tagged[node]
						      : v4[node],
				   net == PAIR_V6 ? (void *)&a6->sin6_addr : (void *)&a4->sin_addr),
			 1);
	return (struct sockaddr *)a;
}

/* The next event of a node's channel, which must be this one. */
struct rdma_cm_event *
conn_expect(struct pair *p, unsigned int node, enum rdma_cm_event_type type)
{
	uint64_t until = rte_rdtsc() + 20 * rte_get_tsc_hz();
	struct rdma_cm_event *e;

	while (tp_rdma_get_cm_event(conn_ch[node], &e) != 0) {
		assert_int_equal(errno, EAGAIN);
		if (rte_rdtsc() > until)
			fail_msg("%s did not come", tp_rdma_event_str(type));
		pair_step(p);
	}
	if (e->event != type)
		fail_msg("%s (status %d) instead of %s", tp_rdma_event_str(e->event), e->status,
			 tp_rdma_event_str(type));
	return e;
}

void
conn_expect_status(struct pair *p, unsigned int node, enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *e = conn_expect(p, node, type);

	assert_int_equal(e->status, status);
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
}

void
conn_silence(struct pair *p, unsigned int ms)
{
	struct rdma_cm_event *e;

	pair_run(p, ms);
	for (unsigned int i = 0; i < 2; i++)
		if (tp_rdma_get_cm_event(conn_ch[i], &e) == 0)
			fail_msg("%s", tp_rdma_event_str(e->event));
}

struct rdma_cm_id *
conn_new_id(unsigned int node, enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	assert_int_equal(tp_rdma_create_id(conn_ch[node], &id, &conn_ch[node], ps), 0);
	assert_ptr_equal(id->context, &conn_ch[node]);
	return id;
}

struct rdma_cm_id *
conn_listening(unsigned int node, enum rdma_port_space ps, struct sockaddr *addr, int backlog)
{
	struct rdma_cm_id *id = conn_new_id(node, ps);

	assert_int_equal(tp_rdma_bind_addr(id, addr), 0);
	assert_int_equal(tp_rdma_listen(id, backlog), 0);
	return id;
}

struct rdma_cm_id *
conn_routed(struct pair *p, enum rdma_port_space ps, struct sockaddr *dst)
{
	struct rdma_cm_id *id = conn_new_id(0, ps);

	assert_int_equal(tp_rdma_resolve_addr(id, NULL, dst, 2000), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_ptr_equal(id->verbs, p->n[0].ctx);
	assert_int_equal(tp_rdma_resolve_route(id, 2000), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_int_equal(id->route.num_paths, 1);
	return id;
}

void
conn_with_qp(struct pair *p, unsigned int node, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.qp_type = id->ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC,
		.send_cq = p->n[node].cq,
		.recv_cq = p->n[node].cq,
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1}};

	assert_int_equal(tp_rdma_create_qp(id, p->n[node].pd, &init), 0);
	assert_int_equal(id->qp->state, id->ps == RDMA_PS_UDP ? IBV_QPS_RTS : IBV_QPS_INIT);
}

void
conn_destroy(struct rdma_cm_id *id)
{
	tp_rdma_destroy_qp(id);
	assert_int_equal(tp_rdma_destroy_id(id), 0);
}

/* A request that arrives at node 1; its id. */
struct rdma_cm_id *
conn_request(struct pair *p, struct rdma_cm_id *listener)
{
	struct rdma_cm_event *e = conn_expect(p, 1, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *id = e->id;

	assert_ptr_equal(e->listen_id, listener);
	assert_ptr_not_equal(id, listener);
	assert_ptr_equal(id->verbs, p->n[1].ctx);
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	return id;
}

struct conn_both
conn_connected(struct pair *p, enum pair_net net)
{
	struct rdma_conn_param param = {
		.responder_resources = 2, .initiator_depth = 3, .retry_count = 7, .rnr_retry_count = 7};
	struct conn_both c;

	c.l = conn_listening(1, RDMA_PS_TCP, conn_address(net, 1, CONN_SERVICE), 4);
	c.a = conn_routed(p, RDMA_PS_TCP, conn_address(net, 1, CONN_SERVICE));
	conn_with_qp(p, 0, c.a);
	assert_int_equal(tp_rdma_connect(c.a, &param), 0);
	c.b = conn_request(p, c.l);
	conn_with_qp(p, 1, c.b);
	assert_int_equal(tp_rdma_accept(c.b, &param), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
	conn_expect_status(p, 1, RDMA_CM_EVENT_ESTABLISHED, 0);
	return c;
}

void
conn_disconnected(struct pair *p, struct conn_both *c)
{
	assert_int_equal(tp_rdma_disconnect(c->a), 0);
	conn_expect_status(p, 1, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_int_equal(tp_rdma_disconnect(c->b), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_int_equal(pair_state(c->a->qp), IBV_QPS_ERR);
	assert_int_equal(pair_state(c->b->qp), IBV_QPS_ERR);
	conn_destroy(c->a);
	conn_destroy(c->b);
	conn_destroy(c->l);
}
