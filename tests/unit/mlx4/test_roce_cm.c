/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Connections between two ports of a card: its QP1, its GIDs, its queue pairs, under the calls of tp_rdma.h. */
#include <fcntl.h>

#include <arpa/inet.h>
#include <rte_byteorder.h>
#include <rte_cycles.h>

#include "roce_rig.h"
#include "tp_rdma.h"

#define SERVICE 7174

static struct rdma_event_channel *ch;

static void
channel_up(void)
{
	ch = tp_rdma_create_event_channel();
	assert_non_null(ch);
	assert_int_equal(fcntl(ch->fd, F_SETFL, O_NONBLOCK), 0);
}

static int
setup(void **state)
{
	channel_up();
	return rr_setup(state);
}

static int
teardown(void **state)
{
	tp_rdma_destroy_event_channel(ch);
	return rr_teardown(state);
}

static struct sockaddr *
address(const char *text, uint16_t port)
{
	static struct sockaddr_storage sa;
	struct sockaddr_in6 *a6 = (struct sockaddr_in6 *)&sa;
	struct sockaddr_in *a4 = (struct sockaddr_in *)&sa;

	memset(&sa, 0, sizeof(sa));
	sa.ss_family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;
	a4->sin_port = rte_cpu_to_be_16(port);
	assert_int_equal(inet_pton(sa.ss_family, text,
				   sa.ss_family == AF_INET6 ? (void *)&a6->sin6_addr : (void *)&a4->sin_addr),
			 1);
	return (struct sockaddr *)&sa;
}

/* The next event, of this type; what it is about. */
static struct rdma_cm_id *
expect(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *e = NULL;
	struct rdma_cm_id *id;

	/* What the card reports by an interrupt comes by another thread. */
	for (unsigned int i = 0; i < 20000 && tp_rdma_get_cm_event(ch, &e) != 0; i++) {
		rr_run();
		rte_delay_us_sleep(i < 100 ? 1 : 1000);
	}
	assert_non_null(e);
	if (e->event != type)
		fail_msg("%s (%d) instead of %s", tp_rdma_event_str(e->event), e->status, tp_rdma_event_str(type));
	id = e->id;
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	return id;
}

static void
take_qp(struct rr_end *e, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1}};

	assert_int_equal(tp_rdma_create_qp(id, rr_pd[e->port], &init), 0);
	e->qp = id->qp;
}

struct both {
	struct rr_end ea, eb;
	struct rdma_cm_id *l, *a, *b;
};

/* The type of service is of packets from the client. */
static struct both
connected_with(const char *server, uint8_t tos)
{
	struct rdma_conn_param param = {
		.retry_count = 7, .rnr_retry_count = 7, .responder_resources = 4, .initiator_depth = 4};
	struct both c = {0};

	rr_end(&c.ea, 0);
	rr_end(&c.eb, 1);
	assert_int_equal(tp_rdma_create_id(ch, &c.l, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(tp_rdma_bind_addr(c.l, address(server, SERVICE)), 0);
	assert_int_equal(tp_rdma_listen(c.l, 1), 0);
	assert_int_equal(tp_rdma_create_id(ch, &c.a, NULL, RDMA_PS_TCP), 0);
	/* Both ports are on that network; the client is to be the first one. */
	assert_int_equal(tp_rdma_bind_port(c.a, rr_ctx[0]), 0);
	assert_int_equal(tp_rdma_set_option(c.a, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)), 0);
	assert_int_equal(tp_rdma_resolve_addr(c.a, NULL, address(server, SERVICE), 2000), 0);
	assert_ptr_equal(expect(RDMA_CM_EVENT_ADDR_RESOLVED), c.a);
	assert_int_equal(tp_rdma_resolve_route(c.a, 2000), 0);
	assert_ptr_equal(expect(RDMA_CM_EVENT_ROUTE_RESOLVED), c.a);
	take_qp(&c.ea, c.a);
	assert_int_equal(tp_rdma_connect(c.a, &param), 0);
	c.b = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_ptr_equal(c.b->verbs, rr_ctx[1]);
	take_qp(&c.eb, c.b);
	assert_int_equal(tp_rdma_accept(c.b, &param), 0);
	assert_ptr_equal(expect(RDMA_CM_EVENT_ESTABLISHED), c.a);
	assert_ptr_equal(expect(RDMA_CM_EVENT_ESTABLISHED), c.b);
	return c;
}

static struct both
connected(const char *server)
{
	return connected_with(server, 0);
}

/* A message, a WRITE and a READ */
static void
exchange(struct both *c)
{
	rr_fill(c->ea.mem, 3000, 7);
	assert_int_equal(rr_recv(&c->eb, 0, 4096), 0);
	assert_int_equal(rr_send(&c->ea, 0, 3000, 0), 0);
	rr_run();
	(void)rr_expect(&c->ea, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	assert_int_equal(rr_expect(&c->eb, IBV_WC_SUCCESS, IBV_WC_RECV, 0).byte_len, 3000);
	assert_memory_equal(c->ea.mem, c->eb.mem, 3000);
	assert_int_equal(rr_rdma(&c->ea, IBV_WR_RDMA_WRITE, 0, 100, &c->eb, 8192), 0);
	rr_run();
	(void)rr_expect(&c->ea, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, 0);
	assert_memory_equal(c->ea.mem, c->eb.mem + 8192, 100);
	assert_int_equal(rr_rdma(&c->eb, IBV_WR_RDMA_READ, 16384, 100, &c->ea, 0), 0);
	rr_run();
	(void)rr_expect(&c->eb, IBV_WC_SUCCESS, IBV_WC_RDMA_READ, 16384);
	assert_memory_equal(c->ea.mem, c->eb.mem + 16384, 100);
}

static void
end(struct both *c)
{
	tp_rdma_destroy_qp(c->a);
	tp_rdma_destroy_qp(c->b);
	c->ea.qp = c->eb.qp = NULL;
	assert_int_equal(tp_rdma_destroy_id(c->a), 0);
	assert_int_equal(tp_rdma_destroy_id(c->b), 0);
	assert_int_equal(tp_rdma_destroy_id(c->l), 0);
	rr_end_free(&c->ea);
	rr_end_free(&c->eb);
}

static void
disconnected(struct both *c)
{
	assert_int_equal(tp_rdma_disconnect(c->a), 0);
	(void)expect(RDMA_CM_EVENT_DISCONNECTED);
	(void)expect(RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(tp_rdma_disconnect(c->b), 0);
	end(c);
}

static void
test_life(void **state)
{
	static const char *const servers[] = {"192.0.2.2", "2001:db8::2", "198.51.100.2"};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(servers); i++) {
		struct both c = connected(servers[i]);

		exchange(&c);
		disconnected(&c);
	}
	assert_int_equal(rr_stat(0, "cm_initiated"), 3);
	assert_int_equal(rr_stat(1, "cm_accepted"), 3);
	assert_int_equal(rr_stat(0, "cm_active"), 0);
}

/* The peer answers in the class that it was asked in, without what networks mark in it (RFC 3168, 6.1.1). */
static void
expect_class(struct both *c, uint8_t tos)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	assert_int_equal(tp_roce_query_qp(c->a->qp, &a, IBV_QP_AV, &init), 0);
	assert_int_equal(a.ah_attr.grh.traffic_class, tos);
	assert_int_equal(tp_roce_query_qp(c->b->qp, &a, IBV_QP_AV, &init), 0);
	assert_int_equal(a.ah_attr.grh.traffic_class, tos & 0xfc);
}

static void
test_class(void **state)
{
	static const char *const servers[] = {"192.0.2.2", "2001:db8::2", "198.51.100.2"};
	static const uint8_t classes[] = {0xb8, 0x6b, 0x02};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(servers); i++) {
		struct both c = connected_with(servers[i], classes[i]);

		expect_class(&c, classes[i]);
		disconnected(&c);
	}
}

/* RoCE v1, which is all that a card without the Pro has */
static void
test_v1(void **state)
{
	struct tp_roce_conf conf = {.mode = TP_ROCE_V1};
	struct both c;

	(void)state;
	channel_up();
	rr_open("type=cx3", &conf);
	c = connected_with("192.0.2.2", 0x6f);
	expect_class(&c, 0x6f);
	exchange(&c);
	disconnected(&c);
	rr_close();
	tp_rdma_destroy_event_channel(ch);
}

/* A port of a priority: its datagrams have tags of VLAN 0, which the peer takes for what they are, and answers alike. */
static void
test_priority(void **state)
{
	struct tp_roce_conf conf = {.prio = 5};
	struct both c;

	(void)state;
	channel_up();
	rr_open("", &conf);
	c = connected("192.0.2.2");
	exchange(&c);
	disconnected(&c);
	rr_close();
	tp_rdma_destroy_event_channel(ch);
}

/* A link that is down is no end of a connection; a card that is dead is, for all ids on it. */
static void
test_dead(void **state)
{
	struct both c = connected("192.0.2.2");
	struct rte_eth_link link;
	struct rdma_cm_event *e;

	(void)state;
	assert_int_equal(tp_model_cable(rig_model(0), 1, false), 0);
	rr_run();
	assert_int_equal(tp_rdma_get_cm_event(ch, &e), -1);
	assert_int_equal(tp_model_cable(rig_model(0), 1, true), 0);
	rr_run();
	exchange(&c);
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_CATAS, 0, 1, 0), 0);
	rte_eth_link_get_nowait(0, &link);
	for (unsigned int i = 0; i < 3; i++)
		(void)expect(RDMA_CM_EVENT_DEVICE_REMOVAL);
	assert_int_equal(tp_rdma_get_cm_event(ch, &e), -1);
	end(&c);
	for (uint16_t p = 0; p < 2; p++)
		assert_int_equal(rte_eth_dev_stop(p), 0);
	assert_int_equal(rte_eth_dev_reset(0), 0);
	rr_close_ports();
	for (uint16_t p = 0; p < 2; p++)
		rig_start(p, 1, NULL);
	rr_open_ports(NULL);
	c = connected("192.0.2.2");
	exchange(&c);
	disconnected(&c);
}

/* An end that goes and closes its port at once: the other one hears of it all the same. */
static void
test_last_word(void **state)
{
	struct both c;

	(void)state;
	channel_up();
	rr_open("", NULL);
	c = connected("192.0.2.2");
	tp_rdma_destroy_qp(c.a);
	c.ea.qp = NULL;
	assert_int_equal(tp_rdma_destroy_id(c.a), 0);
	rr_end_free(&c.ea);
	assert_int_equal(tp_roce_dealloc_pd(rr_pd[0]), 0);
	assert_int_equal(tp_model_thread_start(rig_model(0), -1, 1), 0);
	assert_int_equal(tp_roce_close_device(rr_ctx[0]), 0);
	tp_model_thread_stop(rig_model(0));
	rr_ctx[0] = NULL;
	assert_ptr_equal(expect(RDMA_CM_EVENT_DISCONNECTED), c.b);
	tp_rdma_destroy_qp(c.b);
	c.eb.qp = NULL;
	assert_int_equal(tp_rdma_destroy_id(c.b), 0);
	assert_int_equal(tp_rdma_destroy_id(c.l), 0);
	rr_end_free(&c.eb);
	assert_int_equal(tp_roce_dealloc_pd(rr_pd[1]), 0);
	assert_int_equal(tp_roce_close_device(rr_ctx[1]), 0);
	rr_ctx[1] = NULL;
	rig_close();
	tp_rdma_destroy_event_channel(ch);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_life, setup, teardown),
		cmocka_unit_test_setup_teardown(test_class, setup, teardown),
		cmocka_unit_test(test_v1),
		cmocka_unit_test(test_priority),
		cmocka_unit_test(test_last_word),
		cmocka_unit_test_setup_teardown(test_dead, setup, teardown),
	};

	if (rig_eal("mlx4_roce_cm", "0") < 0)
		return 1;
	return cmocka_run_group_tests_name("roce_cm", tests, NULL, NULL);
}
