/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Calls of librdmacm one by one: names, ports and their sharing, what a route says, options, the channel's descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>

#include <rte_ethdev.h>

#include "conn.h"

#define ANY_PORT 0

/* --- names ------------------------------------------------------------------------------------------------------ */

static void
names(void **state)
{
	struct sockaddr_in from = {
		.sin_family = AF_INET, .sin_addr.s_addr = RTE_BE32(0xc0000201), .sin_port = RTE_BE16(9)};
	const struct {
		const char *node;
		int flags, family, ps, qp_type;
		bool from;
		/* wanted */
		const char *src, *dst; /* NULL: none */
		int want_ps, want_qp_type;
	} t[] = {
		{NULL, RAI_PASSIVE, AF_INET, 0, 0, false, "0.0.0.0", NULL, RDMA_PS_TCP, IBV_QPT_RC},
		{NULL, RAI_PASSIVE, AF_INET6, RDMA_PS_UDP, 0, false, "::", NULL, RDMA_PS_UDP, IBV_QPT_UD},
		{"192.0.2.7", RAI_NUMERICHOST, 0, RDMA_PS_UDP, IBV_QPT_UC, false, NULL, "192.0.2.7", RDMA_PS_UDP,
		 IBV_QPT_UC},
		{"192.0.2.7", 0, AF_INET, RDMA_PS_IB, 0, true, "192.0.2.1", "192.0.2.7", RDMA_PS_IB, IBV_QPT_RC},
		{"2001:db8::7", RAI_PASSIVE | RAI_NUMERICHOST, 0, 0, IBV_QPT_UD, true, "2001:db8::7", NULL, RDMA_PS_TCP,
		 IBV_QPT_UD},
	};
	struct rdma_addrinfo *res;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		struct rdma_addrinfo hints = {.ai_flags = t[i].flags,
					      .ai_family = t[i].family,
					      .ai_port_space = t[i].ps,
					      .ai_qp_type = t[i].qp_type};
		const struct sockaddr *got[2];
		socklen_t len[2];

		if (t[i].from) {
			hints.ai_src_addr = (struct sockaddr *)&from;
			hints.ai_src_len = sizeof(from);
		}
		assert_int_equal(tp_rdma_getaddrinfo(t[i].node, "7174", &hints, &res), 0);
		got[0] = res->ai_src_addr;
		got[1] = res->ai_dst_addr;
		len[0] = res->ai_src_len;
		len[1] = res->ai_dst_len;
		for (unsigned int k = 0; k < 2; k++) {
			const char *want = k == 0 ? t[i].src : t[i].dst;
			char text[64];

			assert_int_equal(got[k] != NULL, want != NULL);
			if (want == NULL)
				continue;
			assert_int_equal(getnameinfo(got[k], len[k], text, sizeof(text), NULL, 0, NI_NUMERICHOST), 0);
			assert_string_equal(text, want);
			/* What the caller gave as source is copied as it is. */
			assert_int_equal(((const struct sockaddr_in *)got[k])->sin_port,
					 k == 0 && t[i].dst != NULL ? RTE_BE16(9) : RTE_BE16(7174));
		}
		assert_int_equal(res->ai_flags, t[i].flags);
		assert_int_equal(res->ai_port_space, t[i].want_ps);
		assert_int_equal(res->ai_qp_type, t[i].want_qp_type);
		assert_int_equal(res->ai_family, got[t[i].dst != NULL]->sa_family);
		tp_rdma_freeaddrinfo(res);
	}
	/* A name is looked up, but not of who asked for numbers. */
	assert_int_equal(tp_rdma_getaddrinfo("localhost", "7174", NULL, &res), 0);
	tp_rdma_freeaddrinfo(res);
	assert_int_equal(
		tp_rdma_getaddrinfo("localhost", "7174", &(struct rdma_addrinfo){.ai_flags = RAI_NUMERICHOST}, &res),
		EAI_NONAME);
	tp_rdma_freeaddrinfo(NULL);
}

/* --- ports ------------------------------------------------------------------------------------------------------ */

static void
reuse(struct rdma_cm_id *id, int on)
{
	assert_int_equal(tp_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)), 0);
}

/* Two ids may have one port only when both say so, and no more when the first listens. */
static void
shared_ports(void **state)
{
	static const struct {
		bool reuse[2], listens, other_space, other_address, good;
	} t[] = {
		{{false, false}, false, false, false, false}, {{true, false}, false, false, false, false},
		{{false, true}, false, false, false, false},  {{true, true}, false, false, false, true},
		{{true, true}, true, false, false, false},    {{false, false}, false, true, false, true},
		{{false, false}, false, false, true, true},   {{false, false}, true, false, true, true},
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		struct rdma_cm_id *a = conn_new_id(0, RDMA_PS_TCP),
				  *b = conn_new_id(0, t[i].other_space ? RDMA_PS_IB : RDMA_PS_TCP);
		int rc;

		reuse(a, t[i].reuse[0]);
		reuse(b, t[i].reuse[1]);
		assert_int_equal(tp_rdma_bind_addr(a, conn_address(PAIR_V4, 0, 5000)), 0);
		assert_int_equal(tp_rdma_get_src_port(a), RTE_BE16(5000));
		if (t[i].listens)
			assert_int_equal(tp_rdma_listen(a, 1), 0);
		errno = 0;
		rc = tp_rdma_bind_addr(b, conn_address(t[i].other_address ? PAIR_VLAN : PAIR_V4, 0, 5000));
		assert_int_equal(rc, t[i].good ? 0 : -1);
		assert_int_equal(errno, t[i].good ? 0 : EADDRINUSE);
		assert_int_equal(tp_rdma_destroy_id(a), 0);
		assert_int_equal(tp_rdma_destroy_id(b), 0);
	}
}

static void
options(void **state)
{
	static const struct {
		int level, name, value;
		size_t len;
		int err;
	} t[] = {
		{RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 255, 1, 0},
		{RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, 1, 4, EINVAL},
		{RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, 1, 4, 0},
		{RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, 1, 1, EINVAL},
		{RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, 1, 4, 0},
		{RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, 1, 8, EINVAL},
		{RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, 31, 1, 0},
		{RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, 32, 1, EINVAL},
		{RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT + 1, 1, 1, ENOSYS},
		{RDMA_OPTION_ID, RDMA_OPTION_ID_TOS - 1, 1, 1, ENOSYS},
		{RDMA_OPTION_IB, RDMA_OPTION_ID_TOS, 1, 1, ENOSYS},
	};
	struct rdma_cm_id *id = conn_new_id(0, RDMA_PS_TCP);

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		int value[2] = {t[i].value};

		errno = 0;
		assert_int_equal(tp_rdma_set_option(id, t[i].level, t[i].name, value, t[i].len),
				 t[i].err == 0 ? 0 : -1);
		assert_int_equal(errno, t[i].err);
	}
	assert_int_equal(tp_rdma_destroy_id(id), 0);
}

/* --- routes ----------------------------------------------------------------------------------------------------- */

/* What a route says; the flow label is Linux's, 31 times one port and the other one. */
static void
route(void **state)
{
	struct pair *p = *state;
	struct rdma_cm_id *id = conn_new_id(0, RDMA_PS_TCP);
	const union ibv_gid src = pair_gid(p, 0, PAIR_V6), dst = pair_gid(p, 1, PAIR_V6);
	const struct ibv_sa_path_rec *r;
	uint8_t tos = 0x68;

	assert_int_equal(tp_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	assert_int_equal(tp_rdma_bind_addr(id, conn_address(PAIR_V6, 0, 60000)), 0);
	assert_int_equal(id->port_num, 1);
	assert_int_equal(tp_rdma_resolve_addr(id, NULL, conn_address(PAIR_V6, 1, 50001), 3600000), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	/* Once */
	assert_int_equal(tp_rdma_resolve_addr(id, NULL, conn_address(PAIR_V6, 1, 50001), 1), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(tp_rdma_get_src_port(id), RTE_BE16(60000));
	assert_int_equal(tp_rdma_get_dst_port(id), RTE_BE16(50001));
	assert_int_equal(tp_rdma_resolve_route(id, 1), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_int_equal(tp_rdma_resolve_route(id, 1), -1);
	assert_int_equal(id->route.num_paths, 1);
	r = id->route.path_rec;
	assert_memory_equal(&r->sgid, &src, 16);
	assert_memory_equal(&r->dgid, &dst, 16);
	/* 60000 * 31 + 50001 = 1910001 = 0x1d24f1, of which 20 bits */
	assert_int_equal(r->flow_label, RTE_BE32(0xd24f1));
	assert_int_equal(r->traffic_class, 0x68);
	assert_int_equal(r->hop_limit, 16);
	assert_int_equal(r->mtu, IBV_MTU_1024);
	assert_int_equal(r->mtu_selector, 2);
	assert_int_equal(r->rate_selector, 2);
	assert_int_equal(r->packet_life_time_selector, 2);
	assert_int_equal(r->packet_life_time, 16);
	assert_int_equal(r->pkey, 0xffff);
	assert_int_equal(r->reversible, 1);
	assert_int_equal(r->numb_path, 1);
	assert_int_equal(tp_rdma_destroy_id(id), 0);
}

/* A source may be named, of the same family, and of the port's addresses. */
static void
sources(void **state)
{
	struct pair *p = *state;
	struct rdma_cm_id *id = conn_new_id(0, RDMA_PS_TCP);

	assert_int_equal(tp_rdma_resolve_addr(id, conn_address(PAIR_V6, 0, 0), conn_address(PAIR_V4, 1, 1), 1), -1);
	assert_int_equal(errno, EAFNOSUPPORT);
	assert_int_equal(tp_rdma_resolve_addr(id, NULL, conn_address(PAIR_V4, 1, 1), 3600001), -1);
	assert_int_equal(errno, EINVAL);
	/* That address is on another network. */
	assert_int_equal(tp_rdma_resolve_addr(id, conn_address(PAIR_VLAN, 0, 0), conn_address(PAIR_V4, 1, 1), 1), -1);
	assert_int_equal(errno, ENODEV);
	assert_int_equal(
		tp_rdma_resolve_addr(id, conn_address(PAIR_VLAN, 0, 4321), conn_address(PAIR_VLAN, 1, 1), 1000), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(tp_rdma_get_src_port(id), RTE_BE16(4321));
	assert_memory_equal(&id->route.addr.src_sin.sin_addr,
			    &((struct sockaddr_in *)conn_address(PAIR_VLAN, 0, 0))->sin_addr, 4);
	assert_int_equal(tp_rdma_destroy_id(id), 0);
}

/* --- events ------------------------------------------------------------------------------------------------------ */

static bool
readable(void)
{
	struct pollfd f = {.fd = conn_ch[0]->fd, .events = POLLIN};

	return poll(&f, 1, 0) == 1;
}

/* The descriptor is readable as long as events wait, and no longer. */
static void
descriptor(void **state)
{
	struct pair *p = *state;
	struct rdma_cm_id *id[2];
	struct rdma_cm_event *e;

	(void)p;
	for (unsigned int turn = 0; turn < 2; turn++) {
		assert_false(readable());
		for (unsigned int i = 0; i < 2; i++) {
			id[i] = conn_new_id(0, RDMA_PS_TCP);
			assert_int_equal(tp_rdma_resolve_addr(id[i], NULL, conn_address(PAIR_V4, 1, 1), 1000), 0);
		}
		for (unsigned int i = 0; i < 2; i++) {
			assert_true(readable());
			assert_int_equal(tp_rdma_get_cm_event(conn_ch[0], &e), 0);
			assert_int_equal(e->event, RDMA_CM_EVENT_ADDR_RESOLVED);
			assert_ptr_equal(e->id, id[i]);
			assert_int_equal(tp_rdma_ack_cm_event(e), 0);
		}
		assert_false(readable());
		assert_int_equal(tp_rdma_get_cm_event(conn_ch[0], &e), -1);
		assert_int_equal(errno, EAGAIN);
		assert_int_equal(tp_rdma_destroy_id(id[0]), 0);
		assert_int_equal(tp_rdma_destroy_id(id[1]), 0);
	}
}

/* Who hears that an address is gone: who is bound to it, once; not who has another, all, or none. */
static void
addresses_gone(void **state)
{
	struct pair *p = *state;
	struct sockaddr_in any = {.sin_family = AF_INET};
	struct rdma_cm_id *id[4];
	struct rdma_cm_event *e;

	for (unsigned int i = 0; i < 4; i++)
		id[i] = conn_new_id(0, RDMA_PS_TCP);
	assert_int_equal(tp_rdma_bind_addr(id[1], (struct sockaddr *)&any), 0);
	assert_int_equal(tp_rdma_bind_addr(id[2], conn_address(PAIR_VLAN, 0, ANY_PORT)), 0);
	assert_int_equal(tp_rdma_bind_addr(id[3], conn_address(PAIR_V4, 0, ANY_PORT)), 0);
	assert_int_equal(tp_roce_addr_del(p->n[0].ctx, conn_address(PAIR_V4, 0, 0)), 0);
	e = conn_expect(p, 0, RDMA_CM_EVENT_ADDR_CHANGE);
	assert_ptr_equal(e->id, id[3]);
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	conn_silence(p, 5);
	assert_int_equal(tp_roce_addr_del(p->n[0].ctx, conn_address(PAIR_VLAN, 0, 0)), 0);
	e = conn_expect(p, 0, RDMA_CM_EVENT_ADDR_CHANGE);
	assert_ptr_equal(e->id, id[2]);
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	conn_silence(p, 5);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(tp_rdma_destroy_id(id[i]), 0);
}

/* A channel that an id has for itself alone goes with it: when the id moves to another channel, or ends. */
static void
own_channel(void **state)
{
	struct rdma_cm_id *id;
	int fd;

	(void)state;
	assert_int_equal(tp_rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
	fd = id->channel->fd;
	assert_true(fcntl(fd, F_GETFD) >= 0);
	assert_int_equal(tp_rdma_migrate_id(id, conn_ch[0]), 0);
	assert_ptr_equal(id->channel, conn_ch[0]);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	/* The other one is its owner's. */
	assert_int_equal(tp_rdma_migrate_id(id, NULL), 0);
	fd = id->channel->fd;
	assert_int_not_equal(fd, conn_ch[0]->fd);
	assert_true(fcntl(conn_ch[0]->fd, F_GETFD) >= 0);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	assert_int_equal(tp_rdma_destroy_id(id), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* A listener that moves takes requests that nobody has fetched along, and the channel that it leaves may go. */
static void
moved_with_requests(void **state)
{
	struct pair *p = *state;
	struct rdma_event_channel *first = tp_rdma_create_event_channel();
	struct rdma_cm_id *l, *b, *a[2];
	struct pollfd fd;

	assert_non_null(first);
	l = conn_listening(1, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE), 4);
	assert_int_equal(tp_rdma_migrate_id(l, first), 0);
	for (unsigned int i = 0; i < 2; i++) {
		a[i] = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
		conn_with_qp(p, 0, a[i]);
		assert_int_equal(tp_rdma_connect(a[i], NULL), 0);
	}
	fd = (struct pollfd){.fd = first->fd, .events = POLLIN};
	while (poll(&fd, 1, 0) == 0)
		pair_step(p);
	/* The second one may still be under way. To where it is is no move. */
	assert_int_equal(tp_rdma_migrate_id(l, first), 0);
	assert_int_equal(tp_rdma_migrate_id(l, conn_ch[1]), 0);
	assert_int_equal(poll(&fd, 1, 0), 0);
	tp_rdma_destroy_event_channel(first);
	for (unsigned int i = 0; i < 2; i++) {
		b = conn_request(p, l);
		assert_ptr_equal(b->channel, conn_ch[1]);
		assert_int_equal(tp_rdma_reject(b, NULL, 0), 0);
		conn_expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 28);
		assert_int_equal(tp_rdma_destroy_id(b), 0);
		conn_destroy(a[i]);
	}
	assert_int_equal(tp_rdma_destroy_id(l), 0);
}

/* --- rules of the ethdev's driver ----------------------------------------------------------------------------------- */

static struct troce_marks rule;
static bool ruled_v2;

static bool
marks(uint16_t port_id, bool v2, uint16_t service, struct troce_marks *out)
{
	if (service != CONN_SERVICE)
		return false;
	ruled_v2 = v2;
	*out = rule;
	return rule.ruled;
}

static unsigned int
serves_none(uint16_t port_id)
{
	return 0;
}

static void
goes_by(struct rdma_cm_id *id, uint8_t sl, uint8_t traffic_class)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(tp_roce_query_qp(id->qp, &attr, IBV_QP_AV, &init), 0);
	assert_int_equal(attr.ah_attr.sl, sl);
	assert_int_equal(attr.ah_attr.grh.traffic_class, traffic_class);
}

/* A driver's rule for a service gives its connections priority and DSCP at both ends; a type of service that was set stays. */
static void
rules(void **state)
{
	static const struct troce_provider prov = {.name = "rules", .serves = serves_none, .marks = marks};
	struct pair *p = *state;
	struct conn_both c;
	uint8_t tos = 0x28;

	rule = (struct troce_marks){.dscp = -1};
	troce_provider_register(&prov);
	c = conn_connected(p, PAIR_V4);
	goes_by(c.a, 0, 0);
	goes_by(c.b, 0, 0);
	conn_disconnected(p, &c);
	rule = (struct troce_marks){.ruled = true, .prio = 5, .dscp = 46};
	c = conn_connected(p, PAIR_V6);
	goes_by(c.a, 5, 46 << 2);
	goes_by(c.b, 5, 46 << 2);
	assert_true(ruled_v2);
	conn_disconnected(p, &c);
	rule.dscp = 0;
	c = conn_connected(p, PAIR_V4);
	goes_by(c.a, 5, 0);
	conn_disconnected(p, &c);
	rule = (struct troce_marks){.ruled = true, .prio = 3, .dscp = -1};
	c = conn_connected(p, PAIR_V4);
	goes_by(c.a, 3, 0);
	conn_disconnected(p, &c);
	/* What the application sets for itself. */
	rule = (struct troce_marks){.ruled = true, .prio = 5, .dscp = 46};
	c.a = conn_new_id(0, RDMA_PS_TCP);
	assert_int_equal(tp_rdma_set_option(c.a, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)), 0);
	c.l = conn_listening(1, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE), 4);
	assert_int_equal(tp_rdma_resolve_addr(c.a, NULL, conn_address(PAIR_V4, 1, CONN_SERVICE), 2000), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(tp_rdma_resolve_route(c.a, 2000), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	conn_with_qp(p, 0, c.a);
	assert_int_equal(tp_rdma_connect(c.a, NULL), 0);
	c.b = conn_request(p, c.l);
	conn_with_qp(p, 1, c.b);
	assert_int_equal(tp_rdma_accept(c.b, NULL), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
	conn_expect_status(p, 1, RDMA_CM_EVENT_ESTABLISHED, 0);
	goes_by(c.a, 5, tos);
	conn_disconnected(p, &c);
	rule = (struct troce_marks){.dscp = -1};
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, conn_setup, conn_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names), T(shared_ports),   T(options), T(route),       T(sources),
		T(descriptor),           T(addresses_gone), T(rules),   T(own_channel), T(moved_with_requests),
	};

	return cmocka_run_group_tests_name("rdma_calls", tests, NULL, NULL);
}
