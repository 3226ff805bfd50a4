/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Ids of librdmacm: datagrams, groups, addresses, ports and addresses that go. */
#include <errno.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "conn.h"

/* Services of datagrams: who asks learns queue pair and key, and the two exchange datagrams. */
static void
datagrams(void **state)
{
	struct rdma_conn_param param = {.private_data = "ud", .private_data_len = 3};
	struct pair *p = *state;
	struct rdma_cm_id *l = conn_listening(1, RDMA_PS_UDP, conn_address(PAIR_V4, 1, CONN_SERVICE), 4), *a, *b;
	struct rdma_cm_event *e;
	struct ibv_ah *ah;
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	a = conn_routed(p, RDMA_PS_UDP, conn_address(PAIR_V4, 1, CONN_SERVICE));
	conn_with_qp(p, 0, a);
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	e = conn_expect(p, 1, RDMA_CM_EVENT_CONNECT_REQUEST);
	b = e->id;
	assert_string_equal(e->param.ud.private_data, "ud");
	assert_int_equal(e->param.ud.private_data_len, 180);
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	conn_with_qp(p, 1, b);
	assert_int_equal(tp_rdma_accept(b, &param), 0);
	e = conn_expect(p, 0, RDMA_CM_EVENT_ESTABLISHED);
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
	conn_destroy(a);
	conn_destroy(b);
	/* Refused; and a service that nobody has */
	a = conn_routed(p, RDMA_PS_UDP, conn_address(PAIR_V4, 1, CONN_SERVICE));
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	b = conn_request(p, l);
	assert_int_equal(tp_rdma_reject(b, "\x5a", 1), 0);
	e = conn_expect(p, 0, RDMA_CM_EVENT_UNREACHABLE);
	assert_int_equal(e->status, 2);
	assert_int_equal(e->param.ud.private_data_len, 136);
	assert_memory_equal(e->param.ud.private_data, "\x5a\0", 2);
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	conn_destroy(a);
	conn_destroy(b);
	a = conn_routed(p, RDMA_PS_UDP, conn_address(PAIR_V4, 1, CONN_SERVICE + 1));
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_UNREACHABLE, 1);
	conn_destroy(a);
	conn_destroy(l);
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
		id[i] = conn_new_id(i, RDMA_PS_UDP);
		assert_int_equal(tp_rdma_join_multicast(id[i], (struct sockaddr *)&group, NULL), -1);
		assert_int_equal(tp_rdma_bind_addr(id[i], conn_address(PAIR_V4, i, 0)), 0);
		conn_with_qp(p, i, id[i]);
		assert_int_equal(tp_rdma_join_multicast(id[i], conn_address(PAIR_V4, 0, 0), NULL), -1);
		assert_int_equal(tp_rdma_join_multicast(id[i], (struct sockaddr *)&group, p), 0);
		e = conn_expect(p, i, RDMA_CM_EVENT_MULTICAST_JOIN);
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
	conn_destroy(id[0]);
	conn_destroy(id[1]);
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
	struct rdma_cm_id *id = conn_new_id(0, RDMA_PS_TCP), *l, *l2;

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
	conn_expect_status(p, 0, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	assert_int_equal(tp_rdma_destroy_id(id), 0);
	/* Whoever listens everywhere is found behind one who listens here. */
	l = conn_listening(1, RDMA_PS_TCP, (struct sockaddr *)&any, 0);
	any.sin_port = tp_rdma_get_src_port(l);
	assert_int_not_equal(any.sin_port, 0);
	l2 = conn_new_id(1, RDMA_PS_TCP);
	assert_int_equal(tp_rdma_bind_addr(l2, (struct sockaddr *)&any), -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_int_equal(tp_rdma_destroy_id(l2), 0);
	l2 = conn_new_id(1, RDMA_PS_UDP);
	assert_int_equal(tp_rdma_bind_addr(l2, (struct sockaddr *)&any), 0);
	assert_int_equal(tp_rdma_listen(l2, 1025), -1);
	assert_int_equal(tp_rdma_destroy_id(l2), 0);
	id = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_VLAN, 1, rte_be_to_cpu_16(any.sin_port)));
	conn_with_qp(p, 0, id);
	assert_int_equal(tp_rdma_connect(id, NULL), 0);
	l2 = conn_request(p, l);
	assert_int_equal(tp_rdma_destroy_id(l2), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 28);
	conn_destroy(id);
	/* Of a port that the application names */
	id = conn_new_id(0, RDMA_PS_TCP);
	assert_int_equal(tp_rdma_bind_port(id, p->n[1].ctx), 0);
	assert_ptr_equal(id->verbs, p->n[1].ctx);
	assert_int_equal(id->port_num, 1);
	assert_int_equal(tp_rdma_bind_port(id, p->n[0].ctx), -1);
	assert_int_equal(tp_rdma_bind_addr(id, conn_address(PAIR_V4, 0, 0)), -1);
	assert_int_equal(tp_rdma_bind_addr(id, conn_address(PAIR_V4, 1, 0)), 0);
	assert_int_equal(tp_rdma_destroy_id(id), 0);
	assert_int_equal(tp_rdma_destroy_id(l), 0);
	assert_int_equal(tp_rdma_create_id(conn_ch[0], &id, NULL, RDMA_PS_IPOIB), -1);
}

/* IPv4 and IPv6 ids share a port where the latter takes its own family alone. */
static void
families(void **state)
{
	struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = RTE_BE16(3260)};
	struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = RTE_BE16(3260)};
	struct rdma_cm_id *l4 = conn_listening(1, RDMA_PS_TCP, (struct sockaddr *)&any4, 0), *l6;
	int on = 1;

	l6 = conn_new_id(1, RDMA_PS_TCP);
	assert_int_equal(tp_rdma_bind_addr(l6, (struct sockaddr *)&any6), -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_int_equal(tp_rdma_set_option(l6, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof(on)), 0);
	assert_int_equal(tp_rdma_bind_addr(l6, (struct sockaddr *)&any6), 0);
	assert_int_equal(tp_rdma_listen(l6, 0), 0);
	assert_int_equal(tp_rdma_destroy_id(l4), 0);
	assert_int_equal(tp_rdma_destroy_id(l6), 0);
}

/* As Linux has it, 127.0.0.1 and ::1 are any of a port's own addresses: to listen at, and to call. */
static void
loopback(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = RTE_BE32(INADDR_LOOPBACK)};
	struct sockaddr_in6 at6 = {
		.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT, .sin6_port = RTE_BE16(9)};
	const struct sockaddr_in *own = (struct sockaddr_in *)conn_address(PAIR_V4, 0, 0);
	struct pair *p = *state;
	struct rdma_cm_id *l = conn_listening(1, RDMA_PS_TCP, (struct sockaddr *)&at, 0), *id;

	assert_null(l->verbs);
	at.sin_port = tp_rdma_get_src_port(l);
	id = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, rte_be_to_cpu_16(at.sin_port)));
	conn_with_qp(p, 0, id);
	assert_int_equal(tp_rdma_connect(id, NULL), 0);
	assert_int_equal(tp_rdma_destroy_id(conn_request(p, l)), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 28);
	conn_destroy(id);

	id = conn_routed(p, RDMA_PS_TCP, (struct sockaddr *)&at);
	assert_int_equal(id->route.addr.dst_sin.sin_addr.s_addr, own->sin_addr.s_addr);
	assert_int_equal(id->route.addr.src_sin.sin_addr.s_addr, own->sin_addr.s_addr);
	assert_int_equal(tp_rdma_get_dst_port(id), at.sin_port);
	assert_int_equal(tp_rdma_destroy_id(id), 0);
	id = conn_routed(p, RDMA_PS_TCP, (struct sockaddr *)&at6);
	assert_memory_equal(&id->route.addr.dst_sin6.sin6_addr, &id->route.addr.src_sin6.sin6_addr, 16);
	assert_int_equal(id->route.addr.dst_sin6.sin6_addr.s6_addr[0], 0xfe);
	assert_int_equal(tp_rdma_destroy_id(id), 0);
	assert_int_equal(tp_rdma_destroy_id(l), 0);
}

/* The address goes, under a connection. */
static void
address_gone(void **state)
{
	struct pair *p = *state;
	struct conn_both c = conn_connected(p, PAIR_V6);

	assert_int_equal(tp_roce_addr_del(p->n[0].ctx, conn_address(PAIR_V6, 0, 0)), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ADDR_CHANGE, 0);
	conn_silence(p, 20);
	(void)tp_rdma_disconnect(c.a);
	conn_destroy(c.a);
	conn_destroy(c.b);
	conn_destroy(c.l);
}

/* The port is closed, with ids on it. */
static void
port_gone(void **state)
{
	struct pair *p = *state;
	const struct tp_roce_conf conf = {.provider = "sw", .mtu = 1024};
	struct rdma_cm_id *l, *a;

	l = conn_listening(0, RDMA_PS_TCP, conn_address(PAIR_V4, 0, CONN_SERVICE), 4);
	a = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
	conn_with_qp(p, 0, a);
	/* Not while there are objects. */
	assert_int_equal(tp_roce_close_device(p->n[0].ctx), EBUSY);
	tp_rdma_destroy_qp(a);
	assert_int_equal(tp_roce_destroy_cq(p->n[0].cq), 0);
	assert_int_equal(tp_roce_dereg_mr(p->n[0].mr), 0);
	assert_int_equal(tp_roce_dealloc_pd(p->n[0].pd), 0);
	assert_int_equal(tp_roce_close_device(p->n[0].ctx), 0);
	for (unsigned int i = 0; i < 2; i++) {
		struct rdma_cm_event *e;

		assert_int_equal(tp_rdma_get_cm_event(conn_ch[0], &e), 0);
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
	struct rdma_cm_id *a = conn_new_id(0, RDMA_PS_TCP), *b;

	assert_int_equal(tp_rdma_create_qp(a, NULL, &init), -1);
	assert_int_equal(tp_rdma_destroy_id(a), 0);
	a = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
	b = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
	assert_int_equal(tp_rdma_create_qp(a, NULL, &init), 0);
	init.send_cq = init.recv_cq = NULL;
	assert_int_equal(tp_rdma_create_qp(b, NULL, &init), 0);
	assert_ptr_equal(a->pd, b->pd);
	assert_non_null(a->send_cq);
	assert_non_null(a->recv_cq_channel);
	assert_int_equal(tp_rdma_create_qp(a, NULL, &init), -1);
	assert_int_equal(tp_rdma_destroy_id(a), -1);
	assert_int_equal(errno, EBUSY);
	conn_destroy(a);
	conn_destroy(b);
	pair_run(p, 1);
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
#define T(f) cmocka_unit_test_setup_teardown(f, conn_setup, conn_teardown)
	const struct CMUnitTest tests[] = {
		T(datagrams), T(groups),         T(addresses),
		T(loopback),  T(families),       T(address_gone),
		T(port_gone), T(all_of_its_own), cmocka_unit_test(names),
	};

	return cmocka_run_group_tests_name("rdma_more", tests, NULL, NULL);
}
