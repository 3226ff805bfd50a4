/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Connections in the words of librdmacm between two ports in software, through the public calls. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "pair.h"
#include "tp_rdma.h"

#define SERVICE 7174
#define MAX_IDS 64

static struct rdma_event_channel *ch[2]; /* of node 0, node 1 */

static int
setup(void **state)
{
	struct pair *p;

	(void)pair_setup(state);
	p = *state;
	p->managed = true;
	for (unsigned int i = 0; i < 2; i++) {
		ch[i] = tp_rdma_create_event_channel();
		assert_non_null(ch[i]);
		assert_int_equal(fcntl(ch[i]->fd, F_SETFL, O_NONBLOCK), 0);
	}
	return 0;
}

static int
teardown(void **state)
{
	tp_rdma_destroy_event_channel(ch[0]);
	tp_rdma_destroy_event_channel(ch[1]);
	return pair_teardown(state);
}

/* --- helpers --- */

static struct sockaddr *
address(enum pair_net net, unsigned int node, uint16_t port)
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
static struct rdma_cm_event *
expect(struct pair *p, unsigned int node, enum rdma_cm_event_type type)
{
	uint64_t until = rte_rdtsc() + 20 * rte_get_tsc_hz();
	struct rdma_cm_event *e;

	while (tp_rdma_get_cm_event(ch[node], &e) != 0) {
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

static void
expect_status(struct pair *p, unsigned int node, enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *e = expect(p, node, type);

	assert_int_equal(e->status, status);
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
}

static void
silence(struct pair *p, unsigned int ms)
{
	struct rdma_cm_event *e;

	pair_run(p, ms);
	for (unsigned int i = 0; i < 2; i++)
		if (tp_rdma_get_cm_event(ch[i], &e) == 0)
			fail_msg("%s", tp_rdma_event_str(e->event));
}

static struct rdma_cm_id *
new_id(unsigned int node, enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	assert_int_equal(tp_rdma_create_id(ch[node], &id, &ch[node], ps), 0);
	assert_ptr_equal(id->context, &ch[node]);
	return id;
}

static struct rdma_cm_id *
listening(unsigned int node, enum rdma_port_space ps, struct sockaddr *addr, int backlog)
{
	struct rdma_cm_id *id = new_id(node, ps);

	assert_int_equal(tp_rdma_bind_addr(id, addr), 0);
	assert_int_equal(tp_rdma_listen(id, backlog), 0);
	return id;
}

static struct rdma_cm_id *
routed(struct pair *p, enum rdma_port_space ps, struct sockaddr *dst)
{
	struct rdma_cm_id *id = new_id(0, ps);

	assert_int_equal(tp_rdma_resolve_addr(id, NULL, dst, 2000), 0);
	expect_status(p, 0, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_ptr_equal(id->verbs, p->n[0].ctx);
	assert_int_equal(tp_rdma_resolve_route(id, 2000), 0);
	expect_status(p, 0, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_int_equal(id->route.num_paths, 1);
	return id;
}

static void
with_qp(struct pair *p, unsigned int node, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.qp_type = id->ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC,
		.send_cq = p->n[node].cq,
		.recv_cq = p->n[node].cq,
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1}};

	assert_int_equal(tp_rdma_create_qp(id, p->n[node].pd, &init), 0);
	assert_int_equal(id->qp->state, id->ps == RDMA_PS_UDP ? IBV_QPS_RTS : IBV_QPS_INIT);
}

static void
destroy(struct rdma_cm_id *id)
{
	tp_rdma_destroy_qp(id);
	assert_int_equal(tp_rdma_destroy_id(id), 0);
}

/* A request that arrives at node 1; its id. */
static struct rdma_cm_id *
request(struct pair *p, struct rdma_cm_id *listener)
{
	struct rdma_cm_event *e = expect(p, 1, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *id = e->id;

	assert_ptr_equal(e->listen_id, listener);
	assert_ptr_not_equal(id, listener);
	assert_ptr_equal(id->verbs, p->n[1].ctx);
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	return id;
}

struct both {
	struct rdma_cm_id *a, *b, *l;
};

static struct both
connected(struct pair *p, enum pair_net net)
{
	struct rdma_conn_param param = {
		.responder_resources = 2, .initiator_depth = 3, .retry_count = 7, .rnr_retry_count = 7};
	struct both c;

	c.l = listening(1, RDMA_PS_TCP, address(net, 1, SERVICE), 4);
	c.a = routed(p, RDMA_PS_TCP, address(net, 1, SERVICE));
	with_qp(p, 0, c.a);
	assert_int_equal(tp_rdma_connect(c.a, &param), 0);
	c.b = request(p, c.l);
	with_qp(p, 1, c.b);
	assert_int_equal(tp_rdma_accept(c.b, &param), 0);
	expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
	expect_status(p, 1, RDMA_CM_EVENT_ESTABLISHED, 0);
	return c;
}

static void
disconnected(struct pair *p, struct both *c)
{
	assert_int_equal(tp_rdma_disconnect(c->a), 0);
	expect_status(p, 1, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_int_equal(tp_rdma_disconnect(c->b), 0);
	expect_status(p, 0, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_int_equal(pair_state(c->a->qp), IBV_QPS_ERR);
	assert_int_equal(pair_state(c->b->qp), IBV_QPS_ERR);
	destroy(c->a);
	destroy(c->b);
	destroy(c->l);
}

/* --- tests --- */

/* Of packets that do not go to QP1: their UDP source ports, all one. */
static unsigned int
see_sport(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);
	unsigned int at = f[12] == 0x81 ? 18 : 14, v6 = f[at - 2] == 0x86;
	const uint8_t *udp = f + at + (v6 ? 40 : 20);
	int *sport = p->arg;

	if ((f[at - 2] == 0x08 && f[at - 1] == 0) || v6)
		if (udp[2] == 0x12 && udp[3] == 0xb7 && !(udp[13] == 0 && udp[14] == 0 && udp[15] == 1)) {
			assert_true(*sport == 0 || from != 0 || *sport == (udp[0] << 8 | udp[1]));
			*sport = udp[0] << 8 | udp[1];
		}
	return 1;
}

static void
life(void **state)
{
	struct pair *p = *state;

	for (unsigned int net = 0; net < 4; net++) {
		struct both c;
		int sport = 0;

		if (net == PAIR_V1)
			continue;
		c = connected(p, net);
		/* Each end knows the other one's address and port. */
		assert_int_equal(tp_rdma_get_dst_port(c.a), rte_cpu_to_be_16(SERVICE));
		assert_int_equal(tp_rdma_get_src_port(c.b), rte_cpu_to_be_16(SERVICE));
		assert_int_equal(tp_rdma_get_src_port(c.a), tp_rdma_get_dst_port(c.b));
		assert_memory_equal(rdma_get_local_addr(c.a), rdma_get_peer_addr(c.b), sizeof(struct sockaddr_in));
		assert_memory_equal(rdma_get_peer_addr(c.a), rdma_get_local_addr(c.b), sizeof(struct sockaddr_in));
		/* Data flows, with the source port of R-2. */
		p->wire = see_sport;
		p->arg = &sport;
		pair_fill(p, 0, 0, 3000, net + 1);
		pair_recv(p, 1, c.b->qp, 1, 4096, 3000);
		pair_send(p, 0, c.a->qp, 2, 0, 3000);
		pair_wait(p, p->n[0].cq, 1, NULL);
		pair_wait(p, p->n[1].cq, 1, NULL);
		pair_same(p, 0, 4096, 3000);
		p->wire = NULL;
		assert_int_equal(sport, (rte_be_to_cpu_16(tp_rdma_get_src_port(c.a)) ^ SERVICE) | 0xc000);
		assert_int_equal(pair_stat(p, 0, "cm_active"), 1);
		assert_int_equal(pair_stat(p, 1, "cm_active"), 1);
		disconnected(p, &c);
	}
	assert_int_equal(pair_stat(p, 0, "cm_initiated"), 3);
	assert_int_equal(pair_stat(p, 1, "cm_accepted"), 3);
	assert_int_equal(pair_stat(p, 0, "cm_active"), 0);
	assert_int_equal(pair_stat(p, 0, "cm_failed"), 0);
}

/* READs in flight: each end takes as many as it offered, or as the other one wants. */
static void
depths(void **state)
{
	struct pair *p = *state;
	struct both c = connected(p, PAIR_V4);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	assert_int_equal(tp_roce_query_qp(c.a->qp, &a, IBV_QP_STATE, &init), 0);
	assert_int_equal(a.qp_state, IBV_QPS_RTS);
	assert_int_equal(a.max_rd_atomic, 2);
	assert_int_equal(a.max_dest_rd_atomic, 2);
	assert_int_equal(a.retry_cnt, 7);
	assert_int_equal(tp_roce_query_qp(c.b->qp, &a, IBV_QP_STATE, &init), 0);
	assert_int_equal(a.max_rd_atomic, 2);
	assert_int_equal(a.max_dest_rd_atomic, 2);
	assert_int_equal(a.path_mtu, IBV_MTU_1024);
	disconnected(p, &c);
}

static void
private_data(void **state)
{
	struct rdma_conn_param param = {.private_data = "who", .private_data_len = 4, .retry_count = 7};
	struct pair *p = *state;
	struct rdma_cm_id *l = listening(1, RDMA_PS_TCP, address(PAIR_V4, 1, SERVICE), 4), *a, *b;
	uint8_t much[255] = {0};
	struct rdma_cm_event *e;

	a = routed(p, RDMA_PS_TCP, address(PAIR_V4, 1, SERVICE));
	with_qp(p, 0, a);
	/* One octet too much is refused, and nothing is sent. */
	param.private_data = much;
	param.private_data_len = 57;
	assert_int_equal(tp_rdma_connect(a, &param), -1);
	assert_int_equal(errno, EINVAL);
	param.private_data = "who";
	param.private_data_len = 4;
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	e = expect(p, 1, RDMA_CM_EVENT_CONNECT_REQUEST);
	b = e->id;
	assert_int_equal(e->param.conn.private_data_len, 56);
	assert_string_equal(e->param.conn.private_data, "who");
	assert_int_equal(e->param.conn.qp_num, a->qp->qp_num);
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	with_qp(p, 1, b);
	param.private_data = much;
	param.private_data_len = 197;
	assert_int_equal(tp_rdma_accept(b, &param), -1);
	assert_int_equal(errno, EINVAL);
	param.private_data = "me";
	param.private_data_len = 3;
	assert_int_equal(tp_rdma_accept(b, &param), 0);
	e = expect(p, 0, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(e->param.conn.private_data_len, 196);
	assert_string_equal(e->param.conn.private_data, "me");
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	expect_status(p, 1, RDMA_CM_EVENT_ESTABLISHED, 0);
	destroy(a);
	expect_status(p, 1, RDMA_CM_EVENT_DISCONNECTED, 0);
	destroy(b);
	destroy(l);
}

static void
refused(void **state)
{
	struct rdma_conn_param param = {.retry_count = 7};
	struct pair *p = *state;
	struct rdma_cm_id *l = listening(1, RDMA_PS_TCP, address(PAIR_V4, 1, SERVICE), 4), *a, *b;
	struct rdma_cm_event *e;

	a = routed(p, RDMA_PS_TCP, address(PAIR_V4, 1, SERVICE));
	with_qp(p, 0, a);
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	b = request(p, l);
	assert_int_equal(tp_rdma_reject(b, "x", 149), -1);
	assert_int_equal(tp_rdma_reject(b, "no", 3), 0);
	e = expect(p, 0, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(e->status, 28);
	assert_string_equal(e->param.conn.private_data, "no");
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	assert_int_equal(tp_rdma_destroy_id(b), 0);
	destroy(a);
	/* Nobody listens there: reason 8. */
	a = routed(p, RDMA_PS_TCP, address(PAIR_V4, 1, SERVICE + 1));
	with_qp(p, 0, a);
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 8);
	destroy(a);
	/* The one that listens goes away before it has looked. */
	a = routed(p, RDMA_PS_TCP, address(PAIR_V4, 1, SERVICE));
	with_qp(p, 0, a);
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	pair_run(p, 10);
	assert_int_equal(tp_rdma_destroy_id(l), 0);
	expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 28);
	destroy(a);
	assert_int_equal(pair_stat(p, 0, "cm_failed"), 3);
	silence(p, 10);
}

/* As many requests as the backlog says wait; the others are dropped, and come again. */
static void
backlog(void **state)
{
	struct rdma_conn_param param = {.retry_count = 7};
	struct pair *p = *state;
	struct rdma_cm_id *l = listening(1, RDMA_PS_TCP, address(PAIR_V4, 1, SERVICE), 2), *a[3], *b[3];

	for (unsigned int i = 0; i < 3; i++) {
		a[i] = routed(p, RDMA_PS_TCP, address(PAIR_V4, 1, SERVICE));
		with_qp(p, 0, a[i]);
		assert_int_equal(tp_rdma_connect(a[i], &param), 0);
	}
	b[0] = request(p, l);
	b[1] = request(p, l);
	silence(p, 20);
	assert_int_equal(pair_stat(p, 1, "cm_half_open_drops"), 1);
	for (unsigned int i = 0; i < 2; i++) {
		with_qp(p, 1, b[i]);
		assert_int_equal(tp_rdma_accept(b[i], &param), 0);
		expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
		expect_status(p, 1, RDMA_CM_EVENT_ESTABLISHED, 0);
	}
	/* Two seconds later */
	b[2] = request(p, l);
	for (unsigned int i = 0; i < 3; i++) {
		destroy(a[i]);
		destroy(b[i]);
	}
	tp_rdma_destroy_id(l);
	pair_run(p, 10);
}

/* A lost RTU: the passive side repeats its REP, and the RTU comes again. */
static unsigned int
lose_mad(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *bth = rte_pktmbuf_mtod(m, const uint8_t *) + 42;
	const uint8_t *attr = bth + 12 + 8 + 16;
	int *left = p->arg;

	/* QP1's, and the message's attribute id */
	if (rte_pktmbuf_pkt_len(m) < 42 + 280 || bth[0] != 0x64 || attr[1] != left[1] || left[0] == 0)
		return 1;
	(void)from;
	left[0]--;
	return 0;
}

static void
lost(void **state)
{
	static const int attrs[] = {0x10, 0x13, 0x14};
	struct rdma_conn_param param = {.retry_count = 7};
	struct pair *p = *state;

	for (unsigned int i = 0; i < 3; i++) {
		struct rdma_cm_id *l = listening(1, RDMA_PS_TCP, address(PAIR_V4, 1, SERVICE), 2), *a, *b;
		int left[2] = {1, attrs[i]};

		p->wire = lose_mad;
		p->arg = left;
		a = routed(p, RDMA_PS_TCP, address(PAIR_V4, 1, SERVICE));
		with_qp(p, 0, a);
		assert_int_equal(tp_rdma_connect(a, &param), 0);
		b = request(p, l);
		with_qp(p, 1, b);
		assert_int_equal(tp_rdma_accept(b, &param), 0);
		expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
		expect_status(p, 1, RDMA_CM_EVENT_ESTABLISHED, 0);
		assert_int_equal(left[0], 0);
		p->wire = NULL;
		destroy(a);
		expect_status(p, 1, RDMA_CM_EVENT_DISCONNECTED, 0);
		destroy(b);
		destroy(l);
	}
	assert_true(pair_stat(p, 0, "cm_retries") + pair_stat(p, 1, "cm_retries") >= 3);
}

/* Services of datagrams: who asks learns queue pair and key, and the two exchange datagrams. */
static void
datagrams(void **state)
{
	struct rdma_conn_param param = {.private_data = "ud", .private_data_len = 3};
	struct pair *p = *state;
	struct rdma_cm_id *l = listening(1, RDMA_PS_UDP, address(PAIR_V4, 1, SERVICE), 4), *a, *b;
	struct rdma_cm_event *e;
	struct ibv_ah *ah;
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	a = routed(p, RDMA_PS_UDP, address(PAIR_V4, 1, SERVICE));
	with_qp(p, 0, a);
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	e = expect(p, 1, RDMA_CM_EVENT_CONNECT_REQUEST);
	b = e->id;
	assert_string_equal(e->param.ud.private_data, "ud");
	assert_int_equal(e->param.ud.private_data_len, 180);
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	with_qp(p, 1, b);
	assert_int_equal(tp_rdma_accept(b, &param), 0);
	e = expect(p, 0, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(e->param.ud.qp_num, b->qp->qp_num);
	assert_int_equal(e->param.ud.qkey, RDMA_UDP_QKEY);
	assert_string_equal(e->param.ud.private_data, "ud");
	ah = tp_roce_create_ah(p->n[0].pd, &e->param.ud.ah_attr);
	assert_non_null(ah);
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	pair_fill(p, 0, 0, 500, 9);
	pair_recv(p, 1, b->qp, 1, 4096, 540);
	wr = pair_wr(p, 0, IBV_WR_SEND, &sge, 0, 500, 0);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = b->qp->qp_num;
	wr.wr.ud.remote_qkey = RDMA_UDP_QKEY;
	pair_post(a->qp, &wr);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_same(p, 0, 4096 + 40, 500);
	pair_wait(p, p->n[0].cq, 1, NULL);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	destroy(a);
	destroy(b);
	/* Refused; and a service that nobody has */
	a = routed(p, RDMA_PS_UDP, address(PAIR_V4, 1, SERVICE));
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	b = request(p, l);
	assert_int_equal(tp_rdma_reject(b, NULL, 0), 0);
	expect_status(p, 0, RDMA_CM_EVENT_UNREACHABLE, 2);
	destroy(a);
	destroy(b);
	a = routed(p, RDMA_PS_UDP, address(PAIR_V4, 1, SERVICE + 1));
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	expect_status(p, 0, RDMA_CM_EVENT_UNREACHABLE, 1);
	destroy(a);
	destroy(l);
}

static void
groups(void **state)
{
	struct sockaddr_in group = {.sin_family = AF_INET, .sin_addr.s_addr = RTE_BE32(0xe0010203)};
	static const uint8_t mgid[16] = {[10] = 0xff, 0xff, 224, 1, 2, 3};
	struct pair *p = *state;
	struct rdma_cm_id *id[2];
	struct rdma_cm_event *e;
	struct ibv_ah *ah = NULL;
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	for (unsigned int i = 0; i < 2; i++) {
		id[i] = new_id(i, RDMA_PS_UDP);
		assert_int_equal(tp_rdma_join_multicast(id[i], (struct sockaddr *)&group, NULL), -1);
		assert_int_equal(tp_rdma_bind_addr(id[i], address(PAIR_V4, i, 0)), 0);
		with_qp(p, i, id[i]);
		assert_int_equal(tp_rdma_join_multicast(id[i], address(PAIR_V4, 0, 0), NULL), -1);
		assert_int_equal(tp_rdma_join_multicast(id[i], (struct sockaddr *)&group, p), 0);
		e = expect(p, i, RDMA_CM_EVENT_MULTICAST_JOIN);
		assert_int_equal(e->param.ud.qp_num, 0xffffff);
		assert_int_equal(e->param.ud.qkey, RDMA_UDP_QKEY);
		assert_ptr_equal(e->param.ud.private_data, p);
		assert_memory_equal(e->param.ud.ah_attr.grh.dgid.raw, mgid, 16);
		if (i == 0)
			ah = tp_roce_create_ah(p->n[0].pd, &e->param.ud.ah_attr);
		assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	}
	assert_non_null(ah);
	pair_fill(p, 0, 0, 100, 3);
	pair_recv(p, 1, id[1]->qp, 1, 4096, 140);
	wr = pair_wr(p, 0, IBV_WR_SEND, &sge, 0, 100, 0);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = RDMA_UDP_QKEY;
	pair_post(id[0]->qp, &wr);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_same(p, 0, 4096 + 40, 100);
	pair_wait(p, p->n[0].cq, 1, NULL);
	/* Who has left hears nothing. */
	assert_int_equal(tp_rdma_leave_multicast(id[1], (struct sockaddr *)&group), 0);
	assert_int_equal(tp_rdma_leave_multicast(id[1], (struct sockaddr *)&group), -1);
	pair_recv(p, 1, id[1]->qp, 1, 4096, 140);
	pair_post(id[0]->qp, &wr);
	pair_wait(p, p->n[0].cq, 1, NULL);
	pair_run(p, 20);
	assert_int_equal(ibv_poll_cq(p->n[1].cq, 1, &(struct ibv_wc){0}), 0);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	destroy(id[0]);
	destroy(id[1]);
	pair_run(p, 1);
}

static void
addresses(void **state)
{
	struct sockaddr_in any = {.sin_family = AF_INET},
			   off = {.sin_family = AF_INET, .sin_addr.s_addr = RTE_BE32(0x0a090807)};
	struct sockaddr_in nobody = {.sin_family = AF_INET, .sin_addr.s_addr = RTE_BE32(0xc00002c8)};
	struct sockaddr unix_addr = {.sa_family = AF_UNIX};
	struct pair *p = *state;
	struct rdma_cm_id *id = new_id(0, RDMA_PS_TCP), *l, *l2;

	/* Of no port, of another family, of no network of ours, twice */
	assert_int_equal(tp_rdma_bind_addr(id, (struct sockaddr *)&off), -1);
	assert_int_equal(errno, EADDRNOTAVAIL);
	assert_int_equal(tp_rdma_bind_addr(id, &unix_addr), -1);
	assert_int_equal(errno, EAFNOSUPPORT);
	assert_int_equal(tp_rdma_resolve_addr(id, NULL, (struct sockaddr *)&off, 10), -1);
	assert_int_equal(errno, ENODEV);
	assert_int_equal(tp_rdma_resolve_addr(id, NULL, (struct sockaddr *)&nobody, -1), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(tp_rdma_resolve_route(id, 10), -1);
	assert_int_equal(tp_rdma_connect(id, NULL), -1);
	assert_int_equal(tp_rdma_disconnect(id), -1);
	/* On our network, but nobody is there */
	assert_int_equal(tp_rdma_resolve_addr(id, NULL, (struct sockaddr *)&nobody, 50), 0);
	expect_status(p, 0, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	assert_int_equal(tp_rdma_destroy_id(id), 0);
	/* Whoever listens everywhere is found behind one who listens here. */
	l = listening(1, RDMA_PS_TCP, (struct sockaddr *)&any, 0);
	any.sin_port = tp_rdma_get_src_port(l);
	assert_int_not_equal(any.sin_port, 0);
	l2 = new_id(1, RDMA_PS_TCP);
	assert_int_equal(tp_rdma_bind_addr(l2, (struct sockaddr *)&any), -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_int_equal(tp_rdma_destroy_id(l2), 0);
	l2 = new_id(1, RDMA_PS_UDP);
	assert_int_equal(tp_rdma_bind_addr(l2, (struct sockaddr *)&any), 0);
	assert_int_equal(tp_rdma_listen(l2, 1025), -1);
	assert_int_equal(tp_rdma_destroy_id(l2), 0);
	id = routed(p, RDMA_PS_TCP, address(PAIR_VLAN, 1, rte_be_to_cpu_16(any.sin_port)));
	with_qp(p, 0, id);
	assert_int_equal(tp_rdma_connect(id, NULL), 0);
	l2 = request(p, l);
	assert_int_equal(tp_rdma_destroy_id(l2), 0);
	expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 28);
	destroy(id);
	/* Of a port that the application names */
	id = new_id(0, RDMA_PS_TCP);
	assert_int_equal(tp_rdma_bind_port(id, p->n[1].ctx), 0);
	assert_int_equal(tp_rdma_bind_port(id, p->n[0].ctx), -1);
	assert_int_equal(tp_rdma_bind_addr(id, address(PAIR_V4, 0, 0)), -1);
	assert_int_equal(tp_rdma_bind_addr(id, address(PAIR_V4, 1, 0)), 0);
	assert_int_equal(tp_rdma_destroy_id(id), 0);
	assert_int_equal(tp_rdma_destroy_id(l), 0);
	assert_int_equal(tp_rdma_create_id(ch[0], &id, NULL, RDMA_PS_IPOIB), -1);
}

/* The address goes, under a connection. */
static void
address_gone(void **state)
{
	struct pair *p = *state;
	struct both c = connected(p, PAIR_V6);

	assert_int_equal(tp_roce_addr_del(p->n[0].ctx, address(PAIR_V6, 0, 0)), 0);
	expect_status(p, 0, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	silence(p, 20);
	(void)tp_rdma_disconnect(c.a);
	destroy(c.a);
	destroy(c.b);
	destroy(c.l);
}

/* The port is closed, with ids on it. */
static void
port_gone(void **state)
{
	struct pair *p = *state;
	const struct tp_roce_conf conf = {.provider = "sw", .mtu = 1024};
	struct rdma_cm_id *l, *a;

	l = listening(0, RDMA_PS_TCP, address(PAIR_V4, 0, SERVICE), 4);
	a = routed(p, RDMA_PS_TCP, address(PAIR_V4, 1, SERVICE));
	with_qp(p, 0, a);
	/* Not while there are objects. */
	assert_int_equal(tp_roce_close_device(p->n[0].ctx), EBUSY);
	tp_rdma_destroy_qp(a);
	assert_int_equal(tp_roce_destroy_cq(p->n[0].cq), 0);
	assert_int_equal(tp_roce_dereg_mr(p->n[0].mr), 0);
	assert_int_equal(tp_roce_dealloc_pd(p->n[0].pd), 0);
	assert_int_equal(tp_roce_close_device(p->n[0].ctx), 0);
	for (unsigned int i = 0; i < 2; i++) {
		struct rdma_cm_event *e;

		assert_int_equal(tp_rdma_get_cm_event(ch[0], &e), 0);
		assert_int_equal(e->event, RDMA_CM_EVENT_DEVICE_REMOVAL);
		assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	}
	assert_int_equal(tp_rdma_connect(a, NULL), -1);
	assert_int_equal(tp_rdma_listen(l, 4), -1);
	assert_int_equal(tp_rdma_destroy_id(a), 0);
	assert_int_equal(tp_rdma_destroy_id(l), 0);
	p->n[0].ctx = tp_roce_open(p->n[0].port, &conf);
	assert_non_null(p->n[0].ctx);
	p->n[0].pd = tp_roce_alloc_pd(p->n[0].ctx);
	p->n[0].mr = tp_roce_reg_mr(p->n[0].pd, p->n[0].mem, PAIR_MEM, PAIR_ALL);
	p->n[0].cq = tp_roce_create_cq(p->n[0].ctx, 16, NULL, NULL, 0);
}

/* Protection domain and completion queues that the library makes; and none of it is left. */
static void
all_of_its_own(void **state)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	struct pair *p = *state;
	struct rdma_cm_id *a = new_id(0, RDMA_PS_TCP), *b;

	assert_int_equal(tp_rdma_create_qp(a, NULL, &init), -1);
	assert_int_equal(tp_rdma_destroy_id(a), 0);
	a = routed(p, RDMA_PS_TCP, address(PAIR_V4, 1, SERVICE));
	b = routed(p, RDMA_PS_TCP, address(PAIR_V4, 1, SERVICE));
	assert_int_equal(tp_rdma_create_qp(a, NULL, &init), 0);
	init.send_cq = init.recv_cq = NULL;
	assert_int_equal(tp_rdma_create_qp(b, NULL, &init), 0);
	assert_ptr_equal(a->pd, b->pd);
	assert_non_null(a->send_cq);
	assert_non_null(a->recv_cq_channel);
	assert_int_equal(tp_rdma_create_qp(a, NULL, &init), -1);
	assert_int_equal(tp_rdma_destroy_id(a), -1);
	assert_int_equal(errno, EBUSY);
	destroy(a);
	destroy(b);
	pair_run(p, 1);
}

/* A request to the port's own address */
static void
to_itself(void **state)
{
	struct rdma_conn_param param = {.retry_count = 7, .responder_resources = 1, .initiator_depth = 1};
	struct pair *p = *state;
	struct rdma_cm_id *l = listening(0, RDMA_PS_TCP, address(PAIR_V4, 0, SERVICE), 4), *a, *b;
	struct rdma_cm_event *e;

	a = routed(p, RDMA_PS_TCP, address(PAIR_V4, 0, SERVICE));
	with_qp(p, 0, a);
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	e = expect(p, 0, RDMA_CM_EVENT_CONNECT_REQUEST);
	b = e->id;
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	with_qp(p, 0, b);
	assert_int_equal(tp_rdma_accept(b, &param), 0);
	expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
	expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
	pair_fill(p, 0, 0, 100, 77);
	pair_recv(p, 0, b->qp, 1, 4096, 100);
	pair_send(p, 0, a->qp, 2, 0, 100);
	pair_wait(p, p->n[0].cq, 2, NULL);
	assert_memory_equal(p->n[0].mem, p->n[0].mem + 4096, 100);
	assert_int_equal(tp_rdma_disconnect(a), 0);
	expect_status(p, 0, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect_status(p, 0, RDMA_CM_EVENT_DISCONNECTED, 0);
	destroy(a);
	destroy(b);
	destroy(l);
}

static void
names(void **state)
{
	struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE | RAI_NUMERICHOST, .ai_port_space = RDMA_PS_TCP}, *res;
	struct sockaddr_in *a;

	(void)state;
	assert_int_equal(tp_rdma_getaddrinfo("192.0.2.7", "7174", &hints, &res), 0);
	a = (struct sockaddr_in *)res->ai_src_addr;
	assert_int_equal(a->sin_port, RTE_BE16(7174));
	assert_int_equal(a->sin_addr.s_addr, RTE_BE32(0xc0000207));
	assert_null(res->ai_dst_addr);
	assert_int_equal(res->ai_qp_type, IBV_QPT_RC);
	tp_rdma_freeaddrinfo(res);
	assert_int_equal(tp_rdma_getaddrinfo("2001:db8::7", "7174", NULL, &res), 0);
	assert_int_equal(res->ai_dst_addr->sa_family, AF_INET6);
	tp_rdma_freeaddrinfo(res);
	hints.ai_flags = RAI_NUMERICHOST;
	assert_int_not_equal(tp_rdma_getaddrinfo("no number", "7174", &hints, &res), 0);
	assert_string_equal(tp_rdma_event_str(RDMA_CM_EVENT_UNREACHABLE), "RDMA_CM_EVENT_UNREACHABLE");
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(life),         T(depths),
		T(private_data), T(refused),
		T(backlog),      T(lost),
		T(datagrams),    T(groups),
		T(addresses),    T(address_gone),
		T(port_gone),    T(all_of_its_own),
		T(to_itself),    cmocka_unit_test(names),
	};

	return cmocka_run_group_tests_name("rdma", tests, NULL, NULL);
}
