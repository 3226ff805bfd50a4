/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Where a datagram goes: to whom an answer is sent, what is for this port, who is asked, whose turn it is. */
#include "rig_one.h"

#include <errno.h>
#include <stdlib.h>

/* 13.5.4: back to who sent, with addresses of the global header turned around, from the key that it came with. */
static void
an_answer_goes_where_it_came_from(void **state)
{
	struct tp_mad_packet from = {.qpn = 1,
				     .remote_qpn = 0x1234,
				     .qkey = 77,
				     .dlid = 0x10,
				     .slid = 0x20,
				     .pkey_index = 5,
				     .sl = 6,
				     .path_bits = 3,
				     .has_grh = true,
				     .grh = {.version_tclass_flow = htobe32(0x60123456), .hop_limit = 3}};
	struct tp_mad_packet to;

	(void)state;
	from.grh.sgid.raw[15] = 1;
	from.grh.dgid.raw[15] = 2;
	from.data[200] = 0x5a;
	for (unsigned int i = 0; i < 3; i++) {
		from.qpn = i == 0 ? 1 : 0;
		from.data[MAD_CLASS_AT] = i == 1 ? MAD_CLASS_SMP : MAD_CLASS_SMP_DIRECTED;
		memset(&to, 0xee, sizeof(to));
		tp_mad_reply_to(&from, &to);
		assert_int_equal(to.qpn, from.qpn);
		assert_int_equal(to.remote_qpn, 0x1234);
		/* QP0 has no key, QP1 the well-known one (3.5.3). */
		assert_int_equal(to.qkey, i == 0 ? 0x80010000 : 0);
		assert_int_equal(to.dlid, 0x20);
		assert_int_equal(to.slid, i == 2 ? 0xffff : 0);
		assert_int_equal(to.pkey_index, 5);
		assert_int_equal(to.sl, 6);
		assert_int_equal(to.path_bits, 3);
		assert_true(to.has_grh);
		assert_int_equal(be32toh(to.grh.version_tclass_flow), 0x60123456);
		assert_int_equal(to.grh.hop_limit, 255);
		assert_int_equal(to.grh.sgid.raw[15], 2);
		assert_int_equal(to.grh.dgid.raw[15], 1);
		assert_memory_equal(to.data, from.data, MAD_SIZE);
	}
}

/* Subnet management to a LID of this port, of which LMC says how many there are, needs no wire; all else does. */
static void
own_lids_need_no_wire(void **state)
{
	static const struct {
		uint16_t lid, dlid;
		uint8_t lmc;
		bool here;
	} row[] = {
		{0x10, 0x10, 0, true},  {0x10, 0x11, 0, false}, {0x10, 0x13, 2, true}, {0x10, 0x14, 2, false},
		{0x10, 0x0f, 2, false}, {0, 0, 0, false},       {0x10, 0x17, 3, true},
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct tp_mad_packet to = {.dlid = row[i].dlid};
		uint8_t mad[MAD_SIZE];
		struct heard h;

		r.port[0].state.lid = row[i].lid;
		r.port[0].state.lmc = row[i].lmc;
		rig_agent(&r, 0, MAD_CLASS_SMP, 1, 0, 0, &h);
		mad_init(mad, MAD_CLASS_SMP, 1, MAD_GET, SMP_ATTR_NODE_DESC, 1);
		assert_int_equal(tp_mad_send(h.agent, &to, mad, MAD_SIZE, 100, 0), 0);
		assert_int_equal(r.logged, !row[i].here);
		(void)tp_mad_progress(r.port[0].mad);
		assert_int_equal(r.port[0].fw_calls, row[i].here);
		assert_int_equal(h.num, row[i].here);
		/* By this the firmware knows what is the host's own. */
		if (row[i].here)
			assert_int_equal(r.port[0].fw_in.slid | r.port[0].fw_in.dlid, 0);
		heard_free(&h);
		/* What is no subnet management goes over the wire always. */
		rig_agent(&r, 0, VENDOR, 1, 0, 0, &h);
		mad_init(mad, VENDOR, 1, MAD_SEND, 7, 1);
		assert_int_equal(tp_mad_send(h.agent, &to, mad, MAD_SIZE, 0, 0), 0);
		assert_int_equal(r.logged, 1u + !row[i].here);
		rig_down(&r);
		rig_up(&r);
	}
}

static void
directed_in(struct tp_mad_packet *in, uint8_t method, uint8_t hops, uint8_t at, uint16_t status)
{
	*in = (struct tp_mad_packet){.slid = 0xffff, .dlid = 0xffff};
	mad_init(in->data, MAD_CLASS_SMP_DIRECTED, 1, method, SMP_ATTR_NODE_DESC, 4);
	in->data[SMP_HOP_COUNT_AT] = hops;
	in->data[SMP_HOP_POINTER_AT] = at;
	ib_put16(in->data + SMP_DR_SLID_AT, 0xffff);
	ib_put16(in->data + SMP_DR_DLID_AT, 0xffff);
	ib_put16(in->data + MAD_STATUS_AT, status);
}

/* 14.2.2: what may arrive of a directed route. 0x8000 of the status is the direction, which a question does not have back. */
static void
directed_routes_arrive_or_not(void **state)
{
	static const struct {
		uint8_t method, hops, at;
		uint16_t status;
		bool malformed, bad_route;
	} row[] = {
		{MAD_GET, 1, 1, 0, false, false},
		{MAD_GET, 63, 63, 0, false, false},
		{MAD_GET, 64, 64, 0, false, true},
		{MAD_GET, 0, 0, 0, false, true}, /* from the wire, without having gone over it */
		{MAD_GET, 2, 1, 0, false, true},
		{MAD_GET, 1, 2, 0, false, true},
		{MAD_GET, 1, 1, 0x8000, true, false},
		{MAD_GET, 1, 1, 0x4000, false, false},
		{MAD_GET, 1, 1, 0x0080, false, false},
		{MAD_GET | MAD_RESPONSE, 1, 1, 0x8000, false, false},
		{MAD_GET | MAD_RESPONSE, 1, 0, 0x8000, false, false},
		{MAD_GET | MAD_RESPONSE, 2, 2, 0x8000, false, true},
		{MAD_GET | MAD_RESPONSE, 64, 1, 0x8000, false, true},
	};
	struct tp_mad_packet in;
	struct tp_mad_stats st;

	(void)state;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		directed_in(&in, row[i].method, row[i].hops, row[i].at, row[i].status);
		tp_mad_input(r.port[0].mad, &in);
		tp_mad_stats_get(r.port[0].mad, &st);
		assert_int_equal(st.received, 1);
		assert_int_equal(st.malformed, row[i].malformed);
		assert_int_equal(st.bad_route, row[i].bad_route);
		rig_down(&r);
		rig_up(&r);
	}
	/* A part that is routed by LID, before or behind: we are no switch. */
	directed_in(&in, MAD_GET, 1, 1, 0);
	ib_put16(in.data + SMP_DR_DLID_AT, 0x30);
	tp_mad_input(r.port[0].mad, &in);
	directed_in(&in, MAD_GET | MAD_RESPONSE, 1, 1, 0x8000);
	ib_put16(in.data + SMP_DR_SLID_AT, 0x30);
	tp_mad_input(r.port[0].mad, &in);
	tp_mad_stats_get(r.port[0].mad, &st);
	assert_int_equal(st.bad_route, 2);
}

/* What silences a trap is the firmware's, though a program of QP1 has that identifier: QP0 is another. */
static void
identifiers_are_of_a_qp(void **state)
{
	struct tp_mad_packet in = {.slid = 0x20, .dlid = 0x10};
	struct heard h;

	(void)state;
	rig_agent(&r, 0, VENDOR, 1, 0, 0, &h);
	mad_init(in.data, MAD_CLASS_SMP, 1, MAD_TRAP_REPRESS, SMP_ATTR_NOTICE, 9);
	for (uint32_t hi = 0; hi < 4; hi++) {
		ib_put32(in.data + MAD_TID_AT, hi);
		tp_mad_input(r.port[0].mad, &in);
		assert_int_equal(r.port[0].fw_calls, hi + 1);
	}
	assert_int_equal(h.num, 0);
}

/* Who names no class serves nothing, whatever methods it names: as with Linux, it only asks. */
static void
no_class_serves_nothing(void **state)
{
	struct tp_mad_packet in = {.qpn = 1, .remote_qpn = 1, .slid = 0x20, .dlid = 0x10};
	struct tp_mad_agent_conf c = {
		.qpn = 1, .methods = {~0ull, ~0ull}, .recv = (void (*)(void *, const struct tp_mad_msg *))abort};
	struct tp_mad_agent *a[2];
	struct tp_mad_stats st;

	(void)state;
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(tp_mad_register(r.port[0].mad, &c, &a[i]), 0);
	mad_init(in.data, 0, 0, MAD_GET, 7, 0x77);
	tp_mad_input(r.port[0].mad, &in);
	tp_mad_stats_get(r.port[0].mad, &st);
	assert_int_equal(st.unmatched, 1);
	assert_int_equal(r.logged, 1);
	assert_int_equal(ib_get16(r.log[0].data + MAD_STATUS_AT), 0x000c);
}

static struct tp_mad_agent *worker[3];
static unsigned int turns[3];
static bool ends_next;

static void
idle(void *arg, const struct tp_mad_msg *msg)
{
	(void)arg, (void)msg;
}

static void
work(void *arg)
{
	unsigned int i = (unsigned int)(uintptr_t)arg;

	turns[i]++;
	tp_mad_wake(worker[i]);
	if (ends_next && i == 0) {
		tp_mad_unregister(worker[1]);
		worker[1] = NULL;
	}
}

/* Who is awake has one turn, also who wakes itself; a time is due when it has come, and is so once. */
static void
turns_are_one_each(void **state)
{
	struct tp_mad *m = r.port[0].mad;

	(void)state;
	memset(turns, 0, sizeof(turns));
	ends_next = false;
	for (unsigned int i = 0; i < 3; i++) {
		const struct tp_mad_agent_conf c = {.qpn = 1, .recv = idle, .work = work, .arg = (void *)(uintptr_t)i};

		assert_int_equal(tp_mad_register(m, &c, &worker[i]), 0);
	}
	assert_true(tp_mad_deadline(m) == UINT64_MAX);
	tp_mad_wake(worker[0]);
	tp_mad_wake(worker[1]);
	tp_mad_wake(worker[1]);
	assert_int_equal(tp_mad_deadline(m), 0);
	assert_int_equal(tp_mad_progress(m), 2);
	assert_int_equal(turns[0], 1);
	assert_int_equal(turns[1], 1);
	assert_int_equal(turns[2], 0);
	ends_next = true;
	assert_int_equal(tp_mad_progress(m), 2);
	assert_int_equal(turns[0], 2);
	assert_int_equal(turns[1], 1);
	tp_mad_unregister(worker[0]);
	assert_true(tp_mad_deadline(m) == UINT64_MAX);
	tp_mad_wake_at(worker[2], 500);
	assert_int_equal(tp_mad_deadline(m), 500);
	r.now = 499;
	(void)tp_mad_progress(m);
	assert_int_equal(turns[2], 0);
	r.now = 500;
	(void)tp_mad_progress(m);
	assert_int_equal(turns[2], 1);
	tp_mad_unregister(worker[2]);
}

/* What cannot be sent is counted, at once and when it had waited for room. */
static void
lost_ones_are_counted(void **state)
{
	struct tp_mad_packet to = rig_to(&r, 1);
	struct tp_mad_stats st;
	uint8_t mad[MAD_SIZE];
	struct heard h;

	(void)state;
	rig_agent(&r, 0, VENDOR, 1, 0, 0, &h);
	mad_init(mad, VENDOR, 1, MAD_SEND, 7, 1);
	r.port[0].full = true;
	assert_int_equal(tp_mad_send(h.agent, &to, mad, MAD_SIZE, 0, 0), 0);
	r.port[0].full = false;
	r.port[0].dead = true;
	assert_int_equal(tp_mad_progress(r.port[0].mad), 1);
	assert_int_equal(tp_mad_send(h.agent, &to, mad, MAD_SIZE, 0, 0), 0);
	tp_mad_stats_get(r.port[0].mad, &st);
	assert_int_equal(st.send_errors, 2);
	assert_int_equal(st.sent, 0);
	assert_int_equal(st.send_full, 0);
	/* What goes out is no error, whether it had waited or not. */
	r.port[0].dead = false;
	assert_int_equal(tp_mad_send(h.agent, &to, mad, MAD_SIZE, 0, 0), 0);
	r.port[0].full = true;
	assert_int_equal(tp_mad_send(h.agent, &to, mad, MAD_SIZE, 0, 0), 0);
	r.port[0].full = false;
	assert_int_equal(tp_mad_progress(r.port[0].mad), 1);
	tp_mad_stats_get(r.port[0].mad, &st);
	assert_int_equal(st.sent, 2);
	assert_int_equal(st.send_errors, 2);
	assert_int_equal(st.send_full, 0);
}

static unsigned int nested;

static void
asks_for_progress(void *arg, const struct tp_mad_msg *msg)
{
	(void)arg, (void)msg;
	nested++;
	(void)tp_mad_progress(r.port[0].mad);
}

/* Who is called may ask for progress himself: what waits for others of this port is then his to hand out, and once. */
static void
progress_within_a_call(void **state)
{
	const struct tp_mad_agent_conf c = {.qpn = 0,
					    .mgmt_class = MAD_CLASS_SMP,
					    .class_version = 1,
					    .methods = {M(MAD_GET), 0},
					    .recv = asks_for_progress};
	struct tp_mad_packet to = {.dlid = 0x10};
	struct tp_mad_agent *a;
	uint8_t mad[MAD_SIZE];
	struct heard h;

	(void)state;
	nested = 0;
	assert_int_equal(tp_mad_register(r.port[0].mad, &c, &a), 0);
	rig_agent(&r, 0, MAD_CLASS_SMP, 1, 0, 0, &h);
	for (uint32_t i = 0; i < 3; i++) {
		mad_init(mad, MAD_CLASS_SMP, 1, MAD_GET, SMP_ATTR_SM_INFO, i);
		assert_int_equal(tp_mad_send(h.agent, &to, mad, MAD_SIZE, 100, 0), 0);
	}
	(void)tp_mad_progress(r.port[0].mad);
	assert_int_equal(nested, 3);
}

static void
nothing(void *home, struct tp_mad_port_state *state)
{
	(void)home, (void)state;
}

/* What the port's home does not say is zero. */
static void
unsaid_is_zero(void **state)
{
	const struct tp_mad_ops ops = {.port = nothing};
	static const struct tp_mad_port_state zero;
	struct tp_mad_port_state got;
	struct tp_mad *m = tp_mad_create(&ops, NULL);

	(void)state;
	memset(&got, 0xff, sizeof(got));
	tp_mad_port_state_get(m, &got);
	assert_memory_equal(&got, &zero, sizeof(got));
	tp_mad_destroy(m);
}

/* 24 octets are a datagram, with nothing behind the header; the rest of it is zero on the wire. */
static void
short_ones_are_filled(void **state)
{
	struct tp_mad_packet to = rig_to(&r, 1);
	uint8_t mad[MAD_SIZE], zero[MAD_SIZE] = {0};
	struct heard h;

	(void)state;
	rig_agent(&r, 0, VENDOR, 1, 0, 0, &h);
	memset(mad, 0xff, sizeof(mad));
	mad_init(mad, VENDOR, 1, MAD_SEND, 7, 1);
	memset(mad + MAD_DATA_AT, 0xff, MAD_SIZE - MAD_DATA_AT);
	assert_int_equal(tp_mad_send(h.agent, &to, mad, 24, 0, 0), 0);
	assert_int_equal(r.logged, 1);
	assert_memory_equal(r.log[0].data + 24, zero, MAD_SIZE - 24);
	assert_int_equal(tp_mad_send(h.agent, &to, mad, 256, 0, 0), 0);
	assert_memory_equal(r.log[1].data + 24, mad + 24, MAD_SIZE - 24);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		T(an_answer_goes_where_it_came_from),
		T(own_lids_need_no_wire),
		T(directed_routes_arrive_or_not),
		T(identifiers_are_of_a_qp),
		T(no_class_serves_nothing),
		T(turns_are_one_each),
		T(lost_ones_are_counted),
		T(progress_within_a_call),
		T(unsaid_is_zero),
		T(short_ones_are_filled),
	};

	return cmocka_run_group_tests_name("mad routes", tests, NULL, NULL);
}
