/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What others may make a port keep of messages in segments (IBTA 13.6): how many, and how much. */
#include "rig.h"

#define M(method) (1ull << (method))

static struct rig r;
static struct heard server;

static int
up(void **state)
{
	(void)state;
	rig_up(&r);
	rig_agent(&r, 1, MAD_CLASS_SA, 2, M(MAD_GET) | M(SA_GET_TABLE), 0, &server);
	return 0;
}

static int
down(void **state)
{
	(void)state;
	heard_free(&server);
	rig_down(&r);
	return 0;
}

static bool
data_back(struct rig *rig, const struct tp_mad_packet *pkt)
{
	(void)rig;
	return pkt->dlid == 0x10;
}

/* Nobody fills our memory with beginnings: those that stand still longest are not for ever either. */
static void
beginnings_are_bounded(void **state)
{
	struct tp_mad_packet p = {.qpn = 1, .remote_qpn = 1, .slid = 0x10, .dlid = 0x20};
	unsigned int stops = 0;

	(void)state;
	r.lose = data_back;
	mad_init(p.data, MAD_CLASS_SA, 2, SA_GET_TABLE, SA_ATTR_NODE, 0);
	p.data[RMPP_VERSION_AT] = 1;
	p.data[RMPP_TYPE_AT] = RMPP_DATA;
	p.data[RMPP_FLAGS_AT] = RMPP_ACTIVE | RMPP_FIRST;
	ib_put32(p.data + 28, 1);
	for (uint32_t i = 0; i < 200; i++) {
		ib_put32(p.data + MAD_TID_AT + 4, i);
		tp_mad_input(r.port[1].mad, &p);
	}
	for (unsigned int i = 0; i < r.logged; i++)
		stops += r.log[i].data[RMPP_TYPE_AT] == RMPP_STOP && r.log[i].data[RMPP_STATUS_AT] == 1;
	assert_int_equal(stops, 72);
	rig_run(&r, 41000 * RIG_MS);
	assert_int_equal(tp_mad_deadline(r.port[1].mad), UINT64_MAX);
}

/* The first segments of a request, as many as ask for a buffer of 4 MiB. */
static void
long_request(struct tp_mad_packet *p, uint32_t tid)
{
	ib_put32(p->data + MAD_TID_AT + 4, tid);
	for (uint32_t seg = 1; seg <= (2u << 20) / 200 + 1; seg++) {
		p->data[RMPP_FLAGS_AT] = RMPP_ACTIVE | (seg == 1 ? RMPP_FIRST : 0);
		ib_put32(p->data + RMPP_SEGMENT_AT, seg);
		tp_mad_input(r.port[1].mad, p);
	}
}

static unsigned int
stops(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < r.logged; i++)
		n += r.log[i].data[RMPP_TYPE_AT] == RMPP_STOP && r.log[i].data[RMPP_STATUS_AT] == 1;
	return n;
}

/* Long requests fill no more than half of the memory: an answer that is waited for comes in beside them. */
static void
memory_is_bounded(void **state)
{
	struct tp_mad_packet p = {.qpn = 1, .remote_qpn = 1, .slid = 0x10, .dlid = 0x20}, to = rig_to(&r, 0), reply;
	const uint32_t fit = TP_MAD_REASSEMBLY / 2 / TP_MAD_MESSAGE;
	uint8_t mad[MAD_SIZE];

	(void)state;
	r.lose = data_back;
	mad_init(p.data, MAD_CLASS_SA, 2, SA_GET_TABLE, SA_ATTR_NODE, 0);
	p.data[RMPP_VERSION_AT] = 1;
	p.data[RMPP_TYPE_AT] = RMPP_DATA;
	for (uint32_t i = 0; i < fit; i++)
		long_request(&p, i);
	assert_int_equal(stops(), 0);
	long_request(&p, fit);
	assert_int_equal(stops(), 1);
	mad_init(mad, MAD_CLASS_SA, 2, SA_GET_TABLE, SA_ATTR_NODE, 9);
	assert_int_equal(tp_mad_send(server.agent, &to, mad, MAD_SIZE, 100000, 0), 0);
	reply = r.log[r.logged - 1];
	reply.qpn = reply.remote_qpn = 1;
	reply.slid = 0x10;
	reply.dlid = 0x20;
	reply.data[MAD_METHOD_AT] |= MAD_RESPONSE;
	reply.data[RMPP_VERSION_AT] = 1;
	reply.data[RMPP_TYPE_AT] = RMPP_DATA;
	reply.data[RMPP_FLAGS_AT] = RMPP_ACTIVE | RMPP_FIRST | RMPP_LAST;
	ib_put32(reply.data + RMPP_SEGMENT_AT, 1);
	ib_put32(reply.data + RMPP_LENGTH_AT, 20 + 50);
	tp_mad_input(r.port[1].mad, &reply);
	assert_int_equal(server.num, 1);
	assert_int_equal(server.status[0], 0);
	assert_int_equal(server.len, SA_RECORD_AT + 50);
	/* What stood still is gone, and its memory is there for others. */
	rig_run(&r, 41000 * RIG_MS);
	assert_int_equal(tp_mad_deadline(r.port[1].mad), UINT64_MAX);
	long_request(&p, fit);
	assert_int_equal(stops(), 1);
}

/* The first segment and the last one are acknowledged, each once, also where they are the same and where a window ends with one. */
static void
acknowledged_once(void **state)
{
	static const uint32_t row[][2] = {{1, 1}, {2, 2}, {63, 2}, {64, 2}, {65, 3}};
	struct tp_mad_packet p = {.qpn = 1, .remote_qpn = 1, .slid = 0x10, .dlid = 0x20};

	(void)state;
	r.lose = data_back;
	mad_init(p.data, MAD_CLASS_SA, 2, SA_GET_TABLE, SA_ATTR_NODE, 0);
	p.data[RMPP_VERSION_AT] = 1;
	p.data[RMPP_TYPE_AT] = RMPP_DATA;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		unsigned int acks = 0, before = r.logged;

		ib_put32(p.data + MAD_TID_AT + 4, i);
		for (uint32_t seg = 1; seg <= row[i][0]; seg++) {
			p.data[RMPP_FLAGS_AT] = (uint8_t)(RMPP_ACTIVE | (seg == 1 ? RMPP_FIRST : 0) |
							  (seg == row[i][0] ? RMPP_LAST : 0));
			ib_put32(p.data + RMPP_SEGMENT_AT, seg);
			ib_put32(p.data + RMPP_LENGTH_AT, 20 + 50);
			tp_mad_input(r.port[1].mad, &p);
		}
		for (unsigned int k = before; k < r.logged; k++)
			acks += r.log[k].data[RMPP_TYPE_AT] == RMPP_ACK;
		assert_int_equal(acks, row[i][1]);
		assert_int_equal(server.num, i + 1);
		assert_int_equal(server.status[i], 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(beginnings_are_bounded, up, down),
		cmocka_unit_test_setup_teardown(memory_is_bounded, up, down),
		cmocka_unit_test_setup_teardown(acknowledged_once, up, down),
	};

	return cmocka_run_group_tests_name("mad rmpp bounds", tests, NULL, NULL);
}
