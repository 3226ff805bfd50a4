/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Who gets a datagram, identifiers, times and retries, what nobody serves, and directed routes (IBTA 13.4, 13.5, 14.2.2). */
#include "rig_one.h"

#include <errno.h>

static void
request(uint8_t mad[MAD_SIZE], uint8_t mgmt_class, uint8_t method, uint16_t attr, uint32_t tid)
{
	mad_init(mad, mgmt_class, mgmt_class == MAD_CLASS_SA ? 2 : 1, method, attr, tid);
}

static void
a_request_reaches_its_server_and_the_answer_its_asker(void **state)
{
	struct tp_mad_packet to = rig_to(&r, 1);
	struct heard asker, other, server;
	uint8_t mad[MAD_SIZE];

	(void)state;
	rig_agent(&r, 0, VENDOR, 1, 0, 0, &asker);
	rig_agent(&r, 0, VENDOR, 1, 0, 0, &other);
	rig_agent(&r, 1, VENDOR, 1, M(MAD_GET), 0, &server);
	server.echo = true;
	request(mad, VENDOR, MAD_GET, 7, 0x1234);
	ib_put32(mad + MAD_TID_AT, 0xdeadbeef);
	assert_int_equal(tp_mad_send(asker.agent, &to, mad, MAD_SIZE, 100, 3), 0);
	rig_run(&r, 1000 * RIG_MS);
	assert_int_equal(server.num, 1);
	assert_int_equal(server.pkt[0].slid, 0x10);
	assert_int_equal(asker.num, 1);
	assert_int_equal(other.num, 0);
	assert_int_equal(asker.status[0], 0);
	assert_int_equal(asker.pkt[0].data[MAD_METHOD_AT], 0x81);
	/* The low half is the asker's own, the high half names the agent and not what it wrote there. */
	assert_int_equal(ib_get32(asker.data + MAD_TID_AT + 4), 0x1234);
	assert_int_not_equal(ib_get32(asker.data + MAD_TID_AT), 0xdeadbeef);
	assert_int_equal(r.sent, 2);
	heard_free(&asker);
	heard_free(&server);
}

static bool
all(struct rig *rig, const struct tp_mad_packet *pkt)
{
	(void)rig, (void)pkt;
	return true;
}

static void
no_answer_is_a_timeout_after_all_tries(void **state)
{
	struct tp_mad_packet to = rig_to(&r, 1);
	struct tp_mad_stats st;
	struct heard asker;
	uint8_t mad[MAD_SIZE];

	(void)state;
	rig_agent(&r, 0, VENDOR, 1, 0, 0, &asker);
	r.lose = all;
	request(mad, VENDOR, MAD_GET, 7, 5);
	assert_int_equal(tp_mad_send(asker.agent, &to, mad, MAD_SIZE, 100, 3), 0);
	/* The same identifier again while it is under way. */
	assert_int_equal(tp_mad_send(asker.agent, &to, mad, MAD_SIZE, 100, 3), -EINVAL);
	rig_run(&r, 399 * RIG_MS);
	assert_int_equal(asker.num, 0);
	assert_int_equal(r.sent, 4);
	rig_run(&r, 2 * RIG_MS);
	assert_int_equal(asker.num, 1);
	assert_int_equal(asker.status[0], -ETIMEDOUT);
	assert_int_equal(ib_get32(asker.data + MAD_TID_AT + 4), 5);
	assert_int_equal(r.sent, 4);
	tp_mad_stats_get(r.port[0].mad, &st);
	assert_int_equal(st.timeouts, 1);
	assert_int_equal(st.retries, 3);
	/* For ever is long. */
	assert_int_equal(tp_mad_send(asker.agent, &to, mad, MAD_SIZE, TP_MAD_FOREVER, 3), 0);
	rig_run(&r, 100000000 * RIG_MS);
	assert_int_equal(asker.num, 1);
	assert_true(tp_mad_cancel(asker.agent, 5));
	assert_false(tp_mad_cancel(asker.agent, 5));
	heard_free(&asker);
}

static void
late_answers_and_strangers_are_counted(void **state)
{
	struct tp_mad_packet pkt = {.qpn = 1, .remote_qpn = 1, .slid = 0x20, .dlid = 0x10};
	struct tp_mad_stats st;
	struct heard asker;

	(void)state;
	rig_agent(&r, 0, VENDOR, 1, 0, 0, &asker);
	request(pkt.data, VENDOR, MAD_GET | MAD_RESPONSE, 7, 5);
	tp_mad_input(r.port[0].mad, &pkt); /* of no agent */
	ib_put32(pkt.data + MAD_TID_AT, 1);
	tp_mad_input(r.port[0].mad, &pkt); /* of an agent that asked nothing */
	pkt.data[0] = 2;
	tp_mad_input(r.port[0].mad, &pkt); /* another base version */
	request(pkt.data, MAD_CLASS_SMP, MAD_GET, SMP_ATTR_NODE_DESC, 1);
	tp_mad_input(r.port[0].mad, &pkt); /* subnet management on QP1 */
	pkt.qpn = 0;
	request(pkt.data, VENDOR, MAD_GET, 1, 1);
	tp_mad_input(r.port[0].mad, &pkt); /* and the other way */
	tp_mad_stats_get(r.port[0].mad, &st);
	assert_int_equal(st.late, 2);
	assert_int_equal(st.malformed, 3);
	assert_int_equal(asker.num, 0);
	assert_int_equal(r.sent, 0);
}

static void
what_nobody_serves_is_refused_where_an_answer_is_due(void **state)
{
	struct tp_mad_packet pkt = {.qpn = 1, .remote_qpn = 1, .slid = 0x20, .dlid = 0x10};
	struct tp_mad_stats st;

	(void)state;
	request(pkt.data, VENDOR, MAD_SET, 7, 0x77);
	tp_mad_input(r.port[0].mad, &pkt);
	assert_int_equal(r.logged, 1);
	assert_int_equal(r.log[0].dlid, 0x20);
	assert_int_equal(r.log[0].data[MAD_METHOD_AT], 0x81);
	assert_int_equal(ib_get16(r.log[0].data + MAD_STATUS_AT), 0x000c);
	assert_int_equal(ib_get32(r.log[0].data + MAD_TID_AT + 4), 0x77);
	request(pkt.data, VENDOR, MAD_TRAP, 7, 0x77);
	tp_mad_input(r.port[0].mad, &pkt);
	request(pkt.data, VENDOR, MAD_SEND, 7, 0x77);
	tp_mad_input(r.port[0].mad, &pkt);
	assert_int_equal(r.logged, 1);
	tp_mad_stats_get(r.port[0].mad, &st);
	assert_int_equal(st.unmatched, 3);
}

static void
one_agent_serves_a_method(void **state)
{
	struct tp_mad_agent_conf c = {.qpn = 1, .mgmt_class = VENDOR, .class_version = 1, .methods = {M(MAD_GET), 0}};
	struct tp_mad_agent *a, *got = NULL;
	struct heard h;

	(void)state;
	a = rig_agent(&r, 0, VENDOR, 1, M(MAD_GET) | M(MAD_SET), 0, &h);
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &got), -EINVAL); /* nobody to call */
	c.recv = (void (*)(void *, const struct tp_mad_msg *))abort;
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &got), -EBUSY);
	c.methods[0] = M(MAD_TRAP);
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &got), 0);
	tp_mad_unregister(got);
	c.methods[0] = M(MAD_GET);
	c.class_version = 2;
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &got), 0);
	tp_mad_unregister(got);
	c.class_version = 1;
	tp_mad_unregister(a);
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &got), 0);
	/* Methods from 64 on are others. */
	c.methods[1] = c.methods[0];
	c.methods[0] = 0;
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &a), 0);
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &a), -EBUSY);
	c.methods[1] = M(MAD_GET + 1);
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &a), 0);
	c.mgmt_class = MAD_CLASS_SMP;
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &got), -EINVAL); /* on QP1 */
	/* Vendors of classes 0x30 to 0x4f have a number, no others (13.4.3). */
	c.oui = 0x0002c9;
	for (unsigned int class = 0x2e; class <= 0x52; class ++) {
		c.mgmt_class = (uint8_t) class;
		assert_int_equal(tp_mad_register(r.port[0].mad, &c, &got),
				 class >= 0x30 && class <= 0x4f ? 0 : -EINVAL);
		if (class >= 0x30 && class <= 0x4f)
			tp_mad_unregister(got);
	}
	/* Of three octets; versions of a class run to eight. */
	c.mgmt_class = 0x30;
	c.class_version = 8;
	c.oui = 0xffffff;
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &got), 0);
	tp_mad_unregister(got);
	c.oui = 0x1000000;
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &got), -EINVAL);
	c.oui = 0xffffff;
	c.class_version = 9;
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &got), -EINVAL);
	c = (struct tp_mad_agent_conf){.qpn = 2, .recv = c.recv};
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &got), -EINVAL);
	c = (struct tp_mad_agent_conf){.qpn = 1, .recv = c.recv, .rmpp_version = 2, .mgmt_class = MAD_CLASS_SA};
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &got), -EINVAL);
	c = (struct tp_mad_agent_conf){.qpn = 1, .recv = c.recv, .rmpp_version = 1, .mgmt_class = VENDOR};
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &got), -EINVAL);
}

/* A vendor's OUI tells its agent from another vendor's of the same class. */
static void
vendors_are_told_apart_by_oui(void **state)
{
	struct tp_mad_packet pkt = {.qpn = 1, .remote_qpn = 1, .slid = 0x20, .dlid = 0x10};
	struct heard openib;
	struct tp_mad_agent_conf c;

	(void)state;
	rig_agent(&r, 0, 0x32, 1, 0, 0, &openib);
	c = (struct tp_mad_agent_conf){.qpn = 1, .mgmt_class = 0x32, .class_version = 1, .methods = {M(MAD_GET), 0}};
	c.oui = 0x001405;
	c.recv = (void (*)(void *, const struct tp_mad_msg *))abort;
	tp_mad_unregister(openib.agent);
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &openib.agent), 0);
	request(pkt.data, 0x32, MAD_GET, 1, 1);
	ib_put24(pkt.data + 37, 0x0002c9);
	tp_mad_input(r.port[0].mad, &pkt);
	assert_int_equal(r.logged, 1);
	assert_int_equal(ib_get16(r.log[0].data + MAD_STATUS_AT), 0x000c);
	/* In classes beyond those, these octets are data. */
	for (uint8_t class = 0x50; class <= 0x51; class ++) {
		struct heard h;

		rig_agent(&r, 0, class, 1, M(MAD_GET), 0, &h);
		request(pkt.data, class, MAD_GET, 1, 1);
		ib_put24(pkt.data + 37, 0x0002c9);
		tp_mad_input(r.port[0].mad, &pkt);
		assert_int_equal(h.num, 1);
		heard_free(&h);
	}
}

/* Counters are the firmware's, to be read and to be set; what it does not answer is nobody's. */
static void
firmware_counts(void **state)
{
	static const struct {
		uint8_t method;
		unsigned int calls;
	} row[] = {{MAD_GET, 1}, {MAD_SET, 1}, {MAD_TRAP, 0}, {MAD_SEND, 0}};

	(void)state;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct tp_mad_packet pkt = {.qpn = 1, .remote_qpn = 1, .slid = 0x20, .dlid = 0x10};

		r.port[0].fw_calls = 0;
		request(pkt.data, MAD_CLASS_PERF, row[i].method, MAD_ATTR_PORT_COUNTERS, 1);
		tp_mad_input(r.port[0].mad, &pkt);
		assert_int_equal(r.port[0].fw_calls, row[i].calls);
	}
}

static void
firmware_comes_before_agents_and_leaves_them_the_managers_own(void **state)
{
	struct tp_mad_packet pkt = {.qpn = 0, .slid = 0x20, .dlid = 0x10};
	struct heard sm;

	(void)state;
	rig_agent(&r, 0, MAD_CLASS_SMP, 1, M(MAD_GET) | M(MAD_SET) | M(MAD_TRAP), 0, &sm);
	request(pkt.data, MAD_CLASS_SMP, MAD_GET, SMP_ATTR_NODE_DESC, 1);
	tp_mad_input(r.port[0].mad, &pkt);
	assert_int_equal(sm.num, 0);
	assert_int_equal(r.logged, 1);
	assert_memory_equal(r.log[0].data + SMP_DATA_AT, "rig 0", 5);
	request(pkt.data, MAD_CLASS_SMP, MAD_GET, SMP_ATTR_SM_INFO, 2);
	tp_mad_input(r.port[0].mad, &pkt);
	request(pkt.data, MAD_CLASS_SMP, MAD_TRAP, SMP_ATTR_NOTICE, 3);
	tp_mad_input(r.port[0].mad, &pkt);
	assert_int_equal(sm.num, 2);
	assert_int_equal(r.port[0].fw_calls, 1);
	/* The trap is the firmware's own: so is what silences it. */
	request(pkt.data, MAD_CLASS_SMP, MAD_TRAP_REPRESS, SMP_ATTR_NOTICE, 3);
	tp_mad_input(r.port[0].mad, &pkt);
	assert_int_equal(sm.num, 2);
	assert_int_equal(r.port[0].fw_calls, 2);
	heard_free(&sm);
}

static void
directed(uint8_t mad[MAD_SIZE], uint8_t hops, uint8_t port, uint32_t tid)
{
	request(mad, MAD_CLASS_SMP_DIRECTED, MAD_GET, SMP_ATTR_NODE_DESC, tid);
	mad[SMP_HOP_COUNT_AT] = hops;
	ib_put16(mad + SMP_DR_SLID_AT, 0xffff);
	ib_put16(mad + SMP_DR_DLID_AT, 0xffff);
	mad[SMP_INITIAL_PATH_AT + 1] = port;
}

/* 14.2.2: pointer 1 on the way out, hops+1 at the end, back the same way; the return path is what the far end wrote. */
static void
a_directed_route_of_one_hop_goes_there_and_back(void **state)
{
	struct tp_mad_packet to = {.dlid = 0xffff};
	uint8_t mad[MAD_SIZE];
	struct heard h;

	(void)state;
	rig_agent(&r, 0, MAD_CLASS_SMP_DIRECTED, 1, 0, 0, &h);
	directed(mad, 1, 1, 9);
	assert_int_equal(tp_mad_send(h.agent, &to, mad, MAD_SIZE, 100, 0), 0);
	assert_int_equal(r.log[0].data[SMP_HOP_POINTER_AT], 1);
	assert_int_equal(r.log[0].slid, 0xffff);
	rig_run(&r, 10 * RIG_MS);
	assert_int_equal(r.logged, 2);
	assert_int_equal(r.log[1].data[SMP_HOP_POINTER_AT], 1);
	assert_int_equal(r.log[1].data[SMP_RETURN_PATH_AT + 1], 2);
	assert_int_equal(ib_get16(r.log[1].data + MAD_STATUS_AT), 0x8000);
	assert_int_equal(r.log[1].dlid, 0xffff);
	assert_int_equal(h.num, 1);
	assert_int_equal(h.status[0], 0);
	assert_memory_equal(h.data + SMP_DATA_AT, "rig 1", 5);
	assert_int_equal(h.data[SMP_HOP_POINTER_AT], 0);
	heard_free(&h);
}

static void
a_directed_route_of_no_hops_is_this_port(void **state)
{
	struct tp_mad_packet to = {.dlid = 0xffff};
	uint8_t mad[MAD_SIZE];
	struct heard h;

	(void)state;
	rig_agent(&r, 0, MAD_CLASS_SMP_DIRECTED, 1, 0, 0, &h);
	directed(mad, 0, 0, 9);
	assert_int_equal(tp_mad_send(h.agent, &to, mad, MAD_SIZE, 100, 0), 0);
	assert_int_equal(h.num, 0); /* not from within the call */
	rig_run(&r, 10 * RIG_MS);
	assert_int_equal(r.logged, 0);
	assert_int_equal(h.num, 1);
	assert_memory_equal(h.data + SMP_DATA_AT, "rig 0", 5);
	assert_int_equal(ib_get16(h.data + MAD_STATUS_AT), 0x8000);
	/* LID routed to our own LID is this port too. */
	request(mad, MAD_CLASS_SMP, MAD_GET, SMP_ATTR_NODE_DESC, 10);
	to.dlid = 0x10;
	assert_int_equal(tp_mad_send(h.agent, &to, mad, MAD_SIZE, 100, 0), 0);
	rig_run(&r, 10 * RIG_MS);
	assert_int_equal(r.logged, 0);
	assert_int_equal(h.num, 2);
	assert_int_equal(ib_get16(h.data + MAD_STATUS_AT), 0);
	heard_free(&h);
}

/* A manager on this port is asked by a program on this port, by LID and by a route of no hops, and answers to nobody else. */
static void
agents_of_one_port_reach_each_other(void **state)
{
	struct tp_mad_packet to = {.dlid = 0x10};
	struct heard asker, direct, manager;
	uint8_t mad[MAD_SIZE];

	(void)state;
	rig_agent(&r, 0, MAD_CLASS_SMP, 1, 0, 0, &asker);
	rig_agent(&r, 0, MAD_CLASS_SMP, 1, M(MAD_GET), 0, &manager);
	manager.echo = true;
	request(mad, MAD_CLASS_SMP, MAD_GET, SMP_ATTR_SM_INFO, 5);
	assert_int_equal(tp_mad_send(asker.agent, &to, mad, MAD_SIZE, 100, 0), 0);
	rig_run(&r, 10 * RIG_MS);
	assert_int_equal(manager.num, 1);
	assert_int_equal(manager.pkt[0].slid, 0x10);
	assert_int_equal(asker.num, 1);
	assert_int_equal(asker.status[0], 0);
	tp_mad_unregister(manager.agent);
	heard_free(&manager);
	rig_agent(&r, 0, MAD_CLASS_SMP_DIRECTED, 1, 0, 0, &direct);
	rig_agent(&r, 0, MAD_CLASS_SMP_DIRECTED, 1, M(MAD_GET), 0, &manager);
	directed(mad, 0, 0, 6);
	ib_put16(mad + MAD_ATTR_AT, SMP_ATTR_SM_INFO);
	to.dlid = 0xffff;
	assert_int_equal(tp_mad_send(direct.agent, &to, mad, MAD_SIZE, 100, 0), 0);
	rig_run(&r, 10 * RIG_MS);
	assert_int_equal(manager.num, 1);
	tp_mad_reply_to(&manager.pkt[0], &to);
	to.data[MAD_METHOD_AT] = 0x81;
	to.data[MAD_STATUS_AT] = 0x80;
	assert_int_equal(tp_mad_send(manager.agent, &to, to.data, MAD_SIZE, 0, 0), 0);
	rig_run(&r, 10 * RIG_MS);
	assert_int_equal(direct.num, 1);
	assert_int_equal(direct.status[0], 0);
	assert_int_equal(direct.data[SMP_HOP_POINTER_AT], 0);
	assert_int_equal(r.logged, 0);
	heard_free(&asker);
	heard_free(&direct);
	heard_free(&manager);
}

static void
routes_that_do_not_lead_here_are_dropped(void **state)
{
	struct tp_mad_packet to = {.dlid = 0xffff}, in = {.qpn = 0, .slid = 0xffff, .dlid = 0xffff};
	struct tp_mad_stats st;
	uint8_t mad[MAD_SIZE];
	struct heard h;

	(void)state;
	rig_agent(&r, 0, MAD_CLASS_SMP_DIRECTED, 1, 0, 0, &h);
	directed(mad, 1, 2, 1); /* out of a port that is another's */
	assert_int_equal(tp_mad_send(h.agent, &to, mad, MAD_SIZE, 100, 0), -EINVAL);
	directed(mad, 64, 1, 2);
	assert_int_equal(tp_mad_send(h.agent, &to, mad, MAD_SIZE, 100, 0), -EINVAL);
	directed(mad, 1, 1, 3);
	mad[SMP_HOP_POINTER_AT] = 1;
	assert_int_equal(tp_mad_send(h.agent, &to, mad, MAD_SIZE, 100, 0), -EINVAL);

	directed(in.data, 2, 1, 4); /* two hops, but it came after one: an adapter passes nothing on */
	in.data[SMP_HOP_POINTER_AT] = 1;
	tp_mad_input(r.port[0].mad, &in);
	directed(in.data, 200, 1, 4);
	in.data[SMP_HOP_POINTER_AT] = 200;
	tp_mad_input(r.port[0].mad, &in);
	directed(in.data, 1, 1, 4); /* goes on by LID */
	in.data[SMP_HOP_POINTER_AT] = 1;
	ib_put16(in.data + SMP_DR_DLID_AT, 0x30);
	tp_mad_input(r.port[0].mad, &in);
	directed(in.data, 3, 1, 4); /* comes back, and is not at its end */
	in.data[SMP_HOP_POINTER_AT] = 2;
	in.data[MAD_STATUS_AT] = 0x80;
	in.data[MAD_METHOD_AT] = 0x81;
	tp_mad_input(r.port[0].mad, &in);
	tp_mad_stats_get(r.port[0].mad, &st);
	assert_int_equal(st.bad_route, 4);
	assert_int_equal(r.logged, 0);
	assert_int_equal(h.num, 0);
}

static void
leave(void *arg, const struct tp_mad_msg *msg)
{
	struct tp_mad_agent **a = arg;

	(void)msg;
	tp_mad_unregister(*a);
	*a = NULL;
}

static void
an_agent_may_leave_while_it_is_called(void **state)
{
	struct tp_mad_packet to = rig_to(&r, 1);
	struct tp_mad_agent *a;
	struct tp_mad_agent_conf c = {.qpn = 1, .mgmt_class = VENDOR, .class_version = 1, .recv = leave, .arg = &a};
	uint8_t mad[MAD_SIZE];

	(void)state;
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &a), 0);
	r.lose = all;
	for (uint32_t i = 0; i < 3; i++) {
		request(mad, VENDOR, MAD_GET, 7, i);
		assert_int_equal(tp_mad_send(a, &to, mad, MAD_SIZE, 100, 0), 0);
	}
	rig_run(&r, 1000 * RIG_MS);
	assert_null(a);
}

static void
what_finds_no_room_goes_later_in_order(void **state)
{
	struct tp_mad_packet to = rig_to(&r, 1);
	struct tp_mad_stats st;
	uint8_t mad[MAD_SIZE];
	struct heard h;

	(void)state;
	rig_agent(&r, 0, VENDOR, 1, 0, 0, &h);
	r.port[0].full = true;
	for (uint32_t i = 0; i < 1025; i++) {
		request(mad, VENDOR, MAD_SEND, 7, i);
		assert_int_equal(tp_mad_send(h.agent, &to, mad, MAD_SIZE, 0, 0), 0);
	}
	rig_run(&r, 10 * RIG_MS);
	assert_int_equal(r.logged, 0);
	r.port[0].full = false;
	rig_run(&r, 10 * RIG_MS);
	assert_int_equal(r.logged, 1024);
	for (uint32_t i = 0; i < 1024; i++)
		assert_int_equal(ib_get32(r.log[i].data + MAD_TID_AT + 4), i);
	tp_mad_stats_get(r.port[0].mad, &st);
	assert_int_equal(st.send_full, 1);
	/* What stays in the port has as much room. */
	to.dlid = 0x10;
	tp_mad_unregister(h.agent);
	rig_agent(&r, 0, MAD_CLASS_SMP, 1, 0, 0, &h);
	for (uint32_t i = 0; i < 1026; i++) {
		request(mad, MAD_CLASS_SMP, MAD_GET, SMP_ATTR_NODE_DESC, i);
		assert_int_equal(tp_mad_send(h.agent, &to, mad, MAD_SIZE, 0, 0), 0);
	}
	tp_mad_stats_get(r.port[0].mad, &st);
	assert_int_equal(st.send_full, 3);
}

static void
lengths_and_classes_are_checked(void **state)
{
	struct tp_mad_packet to = rig_to(&r, 1);
	uint8_t mad[MAD_SIZE * 2] = {0};
	struct heard h;

	(void)state;
	rig_agent(&r, 0, VENDOR, 1, 0, 0, &h);
	request(mad, VENDOR, MAD_GET, 7, 1);
	assert_int_equal(tp_mad_send(h.agent, &to, mad, 23, 100, 0), -EINVAL);
	assert_int_equal(tp_mad_send(h.agent, &to, mad, 257, 100, 0), -EMSGSIZE);
	request(mad, MAD_CLASS_SMP, MAD_GET, 7, 1);
	assert_int_equal(tp_mad_send(h.agent, &to, mad, 256, 100, 0), -EINVAL);
	mad[0] = 3;
	assert_int_equal(tp_mad_send(h.agent, &to, mad, 256, 100, 0), -EINVAL);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		T(a_request_reaches_its_server_and_the_answer_its_asker),
		T(no_answer_is_a_timeout_after_all_tries),
		T(late_answers_and_strangers_are_counted),
		T(what_nobody_serves_is_refused_where_an_answer_is_due),
		T(one_agent_serves_a_method),
		T(vendors_are_told_apart_by_oui),
		T(firmware_counts),
		T(firmware_comes_before_agents_and_leaves_them_the_managers_own),
		T(a_directed_route_of_one_hop_goes_there_and_back),
		T(a_directed_route_of_no_hops_is_this_port),
		T(agents_of_one_port_reach_each_other),
		T(routes_that_do_not_lead_here_are_dropped),
		T(an_agent_may_leave_while_it_is_called),
		T(what_finds_no_room_goes_later_in_order),
		T(lengths_and_classes_are_checked),
	};

	return cmocka_run_group_tests_name("mad agents", tests, NULL, NULL);
}
