/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Messages in segments (IBTA 13.6): their headers, windows, losses, and ends of all kinds. */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>

#define M(method) (1ull << (method))
#define SA_METHODS0 (M(MAD_GET) | M(SA_GET_TABLE))

static struct rig r;
static struct heard asker, server;
static uint32_t retries, timeout_ms; /* of answers */

static int
up(void **state)
{
	(void)state;
	rig_up(&r);
	retries = 3;
	timeout_ms = 500;
	rig_agent(&r, 0, MAD_CLASS_SA, 2, 0, 0, &asker);
	rig_agent(&r, 1, MAD_CLASS_SA, 2, SA_METHODS0, 0, &server);
	return 0;
}

static int
down(void **state)
{
	(void)state;
	heard_free(&asker);
	heard_free(&server);
	rig_down(&r);
	return 0;
}

/* Asks for a table; the server has the question. */
static void
ask(uint32_t tid)
{
	struct tp_mad_packet to = rig_to(&r, 1);
	uint8_t mad[MAD_SIZE];

	mad_init(mad, MAD_CLASS_SA, 2, SA_GET_TABLE, SA_ATTR_NODE, tid);
	assert_int_equal(tp_mad_send(asker.agent, &to, mad, MAD_SIZE, 1000, 0), 0);
	rig_run(&r, RIG_MS);
	assert_int_equal(server.pkt[server.num - 1].data[MAD_METHOD_AT], SA_GET_TABLE);
}

static uint8_t
octet(uint32_t i)
{
	return (uint8_t)(i * 7 + (i >> 8));
}

/* A table of so many octets; -> its message. */
static int
answer(uint32_t octets)
{
	const struct tp_mad_packet *q = &server.pkt[server.num - 1];
	uint32_t len = SA_RECORD_AT + octets;
	uint8_t *msg = calloc(1, len);
	struct tp_mad_packet to;
	int err;

	tp_mad_reply_to(q, &to);
	memcpy(msg, q->data, SA_RECORD_AT);
	msg[MAD_METHOD_AT] |= MAD_RESPONSE;
	msg[RMPP_FLAGS_AT] = RMPP_ACTIVE;
	ib_put16(msg + SA_ATTR_OFFSET_AT, 14);
	for (uint32_t i = 0; i < octets; i++)
		msg[SA_RECORD_AT + i] = octet(i);
	err = tp_mad_send(server.agent, &to, msg, len, timeout_ms, retries);
	free(msg);
	return err;
}

static void
assert_table(uint32_t octets)
{
	assert_int_equal(asker.status[asker.num - 1], 0);
	assert_int_equal(asker.len, SA_RECORD_AT + octets);
	for (uint32_t i = 0; i < octets; i++)
		assert_int_equal(asker.data[SA_RECORD_AT + i], octet(i));
}

/* 450 octets of records: three segments of 200, 200 and 50. Lengths count the header of 20 octets in each (15.2.1). */
static void
segments_are_headed_as_the_standard_says(void **state)
{
	static const struct {
		uint8_t flags;
		uint32_t length;
	} want[] = {{RMPP_ACTIVE | RMPP_FIRST, 450 + 3 * 20}, {RMPP_ACTIVE, 0}, {RMPP_ACTIVE | RMPP_LAST, 70}};
	struct tp_mad_stats st;
	unsigned int n = 0;

	(void)state;
	ask(1);
	assert_int_equal(answer(450), 0);
	rig_run(&r, 10 * RIG_MS);
	assert_table(450);
	for (unsigned int i = 0; i < r.logged; i++) {
		const uint8_t *mad = r.log[i].data;

		if (mad[MAD_METHOD_AT] != (SA_GET_TABLE | MAD_RESPONSE))
			continue;
		assert_int_equal(mad[24], 1);
		assert_int_equal(mad[25], RMPP_DATA);
		assert_int_equal(mad[26] & 7, want[n].flags);
		assert_int_equal(mad[26] >> 3, 0x1f);
		assert_int_equal(ib_get32(mad + 28), n + 1);
		assert_int_equal(ib_get32(mad + 32), want[n].length);
		assert_int_equal(ib_get16(mad + 44), 14);
		/* Behind the end of the last one there is nothing of another segment. */
		for (uint32_t k = 0; k < 200; k++)
			assert_int_equal(mad[SA_RECORD_AT + k], n * 200 + k < 450 ? octet(n * 200 + k) : 0);
		n++;
	}
	assert_int_equal(n, 3);
	tp_mad_stats_get(r.port[1].mad, &st);
	assert_int_equal(st.rmpp_sent, 3);
	/* Nobody answers an answer, and nobody is told so. */
	rig_run(&r, 5000 * RIG_MS);
	assert_int_equal(server.num, 1);
}

static void
acknowledgements_turn_the_method_around_and_open_windows(void **state)
{
	unsigned int acks = 0;

	(void)state;
	ask(1);
	assert_int_equal(answer(200 * 100), 0);
	rig_run(&r, 10 * RIG_MS);
	assert_table(200 * 100);
	for (unsigned int i = 0; i < r.logged; i++) {
		const uint8_t *mad = r.log[i].data;
		static const uint32_t seg[] = {1, 64, 100}, window[] = {64, 128, 128};

		if (r.log[i].dlid != 0x20 || mad[RMPP_TYPE_AT] != RMPP_ACK)
			continue;
		assert_true(acks < 3);
		assert_int_equal(mad[MAD_METHOD_AT], SA_GET_TABLE);
		assert_int_equal(ib_get32(mad + 28), seg[acks]);
		assert_int_equal(ib_get32(mad + 32), window[acks]);
		acks++;
	}
	assert_int_equal(acks, 3);
}

static void
all_sizes_arrive(void **state)
{
	static const uint32_t size[] = {0, 1, 199, 200, 201, 400, 12800, 12801, 1000000};
	struct tp_mad_stats st;

	(void)state;
	for (unsigned int i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		ask(100 + i);
		assert_int_equal(answer(size[i]), 0);
		rig_run(&r, 10 * RIG_MS);
		assert_int_equal(asker.num, i + 1);
		assert_table(size[i]);
	}
	/* Nothing is under way any more: only what is remembered. */
	rig_run(&r, 100000 * RIG_MS);
	assert_int_equal(tp_mad_deadline(r.port[1].mad), UINT64_MAX);
	assert_int_equal(tp_mad_deadline(r.port[0].mad), UINT64_MAX);
	tp_mad_stats_get(r.port[0].mad, &st);
	assert_int_equal(st.rmpp_received, sizeof(size) / sizeof(size[0]));
	assert_int_equal(st.rmpp_dropped, 0);
}

/* The acknowledgement of the last segment is lost: it comes again and is acknowledged again, and that is all. */
static void
a_whole_message_is_remembered(void **state)
{
	struct tp_mad_packet last = {.qpn = 2};
	struct tp_mad_stats st;

	(void)state;
	ask(1);
	assert_int_equal(answer(450), 0);
	rig_run(&r, 10 * RIG_MS);
	assert_table(450);
	for (unsigned int i = 0; i < r.logged; i++) {
		if (r.log[i].dlid == 0x10 && (r.log[i].data[RMPP_FLAGS_AT] & RMPP_LAST) != 0)
			last = r.log[i];
	}
	last.slid = 0x20;
	last.remote_qpn = 1;
	for (unsigned int i = 0; i < 3; i++) {
		r.logged = 0;
		/* So does one that would come behind it. */
		ib_put32(last.data + RMPP_SEGMENT_AT, i < 2 ? 3 : 4);
		tp_mad_input(r.port[0].mad, &last);
		assert_int_equal(r.logged, 1);
		assert_int_equal(r.log[0].data[RMPP_TYPE_AT], RMPP_ACK);
		assert_int_equal(ib_get32(r.log[0].data + RMPP_SEGMENT_AT), 3);
		assert_int_equal(asker.num, 1);
	}
	tp_mad_stats_get(r.port[0].mad, &st);
	assert_int_equal(st.rmpp_dropped, 0);
	assert_int_equal(st.late, 0);
	assert_int_equal(st.rmpp_received, 1);
	/* Ten seconds on it is forgotten. */
	rig_run(&r, 11000 * RIG_MS);
	tp_mad_input(r.port[0].mad, &last);
	assert_int_equal(r.logged, 1);
	tp_mad_stats_get(r.port[0].mad, &st);
	assert_int_equal(st.late, 1);
	assert_int_equal(st.rmpp_dropped, 0);
}

static bool
seldom(struct rig *rig, const struct tp_mad_packet *pkt)
{
	static uint32_t seed = 1;

	(void)rig;
	seed = seed * 1103515245 + 12345;
	/* The question is answered once; what carries the answer is lost now and then, acknowledgements too. */
	return mad_rmpp_active(pkt->data) && (seed >> 16) % 10 == 0;
}

static void
losses_are_made_good(void **state)
{
	(void)state;
	/* One try in ten moves nothing. */
	retries = 10;
	for (unsigned int i = 0; i < 20; i++) {
		struct tp_mad_packet to = rig_to(&r, 1);
		uint8_t mad[MAD_SIZE];

		r.lose = NULL;
		mad_init(mad, MAD_CLASS_SA, 2, SA_GET_TABLE, SA_ATTR_NODE, i);
		assert_int_equal(tp_mad_send(asker.agent, &to, mad, MAD_SIZE, 30000, 0), 0);
		rig_run(&r, RIG_MS);
		r.lose = seldom;
		assert_int_equal(answer(200 * 300 + i), 0);
		rig_run(&r, 60000 * RIG_MS);
		assert_int_equal(asker.num, i + 1);
		assert_table(200 * 300 + i);
	}
}

static void
a_receiver_that_is_gone_ends_the_transfer(void **state)
{
	(void)state;
	ask(1);
	r.port[0].state.lid = 0x30;
	assert_int_equal(answer(1000), 0);
	rig_run(&r, 1999 * RIG_MS);
	assert_int_equal(server.num, 1);
	rig_run(&r, 2 * RIG_MS);
	assert_int_equal(server.num, 2);
	assert_int_equal(server.status[1], -ETIMEDOUT);
	/* Four tries of the first segment, and the word that it was the last. */
	assert_int_equal(r.log[r.logged - 1].data[RMPP_TYPE_AT], RMPP_ABORT);
	assert_int_equal(r.log[r.logged - 1].data[RMPP_STATUS_AT], 126);
}

/* Who waits long for an answer does not wait so long for an acknowledgement: two seconds. */
static void
acknowledgements_are_waited_for_two_seconds(void **state)
{
	(void)state;
	ask(1);
	r.port[0].state.lid = 0x30;
	timeout_ms = 60000;
	r.logged = 0;
	assert_int_equal(answer(1000), 0);
	for (unsigned int i = 1; i <= 3; i++) {
		assert_int_equal(r.logged, i);
		rig_run(&r, 1998 * RIG_MS);
		assert_int_equal(r.logged, i);
		rig_run(&r, 2 * RIG_MS);
	}
}

static struct tp_mad_packet
control(const struct tp_mad_packet *data, uint8_t type, uint8_t status, uint32_t seg, uint32_t window)
{
	struct tp_mad_packet p = *data;

	p.slid = 0x10;
	p.dlid = 0x20;
	p.qpn = p.remote_qpn = 1;
	p.data[MAD_METHOD_AT] = SA_GET_TABLE;
	p.data[RMPP_VERSION_AT] = 1;
	p.data[RMPP_TYPE_AT] = type;
	p.data[RMPP_FLAGS_AT] = RMPP_ACTIVE;
	p.data[RMPP_STATUS_AT] = status;
	ib_put32(p.data + 28, seg);
	ib_put32(p.data + 32, window);
	return p;
}

static bool
data_back(struct rig *rig, const struct tp_mad_packet *pkt)
{
	(void)rig;
	return pkt->dlid == 0x10;
}

/* What a peer may say to a sender, and how that ends. */
static void
senders_stand_all_acknowledgements(void **state)
{
	static const struct {
		uint8_t version, type, status;
		uint32_t seg, window;
		int told;        /* 0: it goes on */
		uint8_t aborted; /* the status of our ABORT */
	} cases[] = {
		{1, RMPP_ABORT, 118, 0, 0, -ECONNABORTED, 0}, {1, RMPP_STOP, 1, 0, 0, -ECONNABORTED, 0},
		{1, RMPP_ACK, 0, 2, 64, -ECONNABORTED, 123},  {1, RMPP_ACK, 0, 1, 0, -ECONNABORTED, 122},
		{1, RMPP_ACK, 7, 1, 64, -ECONNABORTED, 124},  {9, RMPP_ACK, 0, 1, 64, -ECONNABORTED, 125},
		{1, 0, 0, 1, 64, -ECONNABORTED, 121},         {1, RMPP_ACK, 0, 0, 1, 0, 0},
		{1, RMPP_ACK, 0, 1, UINT32_MAX, 0, 0},
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tp_mad_packet p;
		unsigned int told, sent;

		r.lose = NULL;
		ask(i);
		told = server.num;
		r.lose = data_back;
		assert_int_equal(answer(2000), 0);
		p = control(&r.log[r.logged - 1], cases[i].type, cases[i].status, cases[i].seg, cases[i].window);
		p.data[RMPP_VERSION_AT] = cases[i].version;
		sent = r.logged;
		/* What names another message, a class that is another or the other direction is about another. */
		for (unsigned int k = 0; k < (p.data[RMPP_TYPE_AT] == RMPP_ACK ? 10u : 9u); k++) {
			unsigned int at = k < 8 ? MAD_TID_AT + k : k == 8 ? MAD_CLASS_AT : MAD_METHOD_AT;
			uint8_t bit = k < 9 ? 1 : MAD_RESPONSE;

			p.data[at] ^= bit;
			tp_mad_input(r.port[1].mad, &p);
			p.data[at] ^= bit;
			assert_int_equal(r.logged, sent);
			assert_int_equal(server.num, told);
		}
		tp_mad_input(r.port[1].mad, &p);
		assert_int_equal(server.num, told + (cases[i].told != 0));
		if (cases[i].told != 0)
			assert_int_equal(server.status[told], cases[i].told);
		if (cases[i].aborted != 0) {
			const struct tp_mad_packet *a = &r.log[sent];

			assert_int_equal(r.logged, sent + 1);
			assert_int_equal(a->data[RMPP_TYPE_AT], RMPP_ABORT);
			assert_int_equal(a->data[RMPP_STATUS_AT], cases[i].aborted);
			assert_int_equal(a->data[RMPP_FLAGS_AT], RMPP_ACTIVE);
			/* It goes to whom the data went, as a word about the same message, and has none of it. */
			assert_int_equal(a->dlid, 0x10);
			assert_int_equal(a->remote_qpn, 1);
			assert_memory_equal(a->data, r.log[sent - 1].data, RMPP_VERSION_AT);
			for (unsigned int k = RMPP_SEGMENT_AT; k < MAD_SIZE; k++)
				assert_int_equal(a->data[k], 0);
		}
		/* Who was told once is told no more. */
		if (cases[i].told != 0) {
			rig_run(&r, 3000 * RIG_MS);
			assert_int_equal(server.num, told + 1);
			assert_int_equal(tp_mad_deadline(r.port[1].mad), UINT64_MAX);
		}
	}
	/* One that was answered with a window has sent everything. */
	assert_int_equal(ib_get32(r.log[r.logged - 1].data + 28), 10);
}

/* A sender that gives up says so, in either way: what came of its message is not kept. */
static void
an_end_by_the_sender_ends_what_came(void **state)
{
	static const struct {
		uint8_t type, status;
	} ends[] = {{RMPP_ABORT, 126}, {RMPP_STOP, 1}};
	struct tp_mad_packet p;
	struct tp_mad_stats st;

	(void)state;
	for (unsigned int i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		r.lose = NULL;
		ask(i + 1);
		assert_int_equal(answer(2000), 0);
		p = r.log[r.logged - 1];
		p.slid = 0x20;
		p.remote_qpn = 1;
		r.lose = data_back;
		rig_run(&r, RIG_MS);
		r.num = 0;
		/* A word to a sender is none to us. */
		p.data[RMPP_TYPE_AT] = RMPP_ACK;
		tp_mad_input(r.port[0].mad, &p);
		p.data[RMPP_TYPE_AT] = ends[i].type;
		p.data[RMPP_STATUS_AT] = ends[i].status;
		tp_mad_input(r.port[0].mad, &p);
		tp_mad_stats_get(r.port[0].mad, &st);
		assert_int_equal(st.rmpp_aborted, i + 1);
		assert_int_equal(st.late, i + 1);
		/* Only the question is left, to its own end. */
		rig_run(&r, 1500 * RIG_MS);
		assert_int_equal(asker.num, i + 1);
		assert_int_equal(asker.status[i], -ETIMEDOUT);
		assert_int_equal(tp_mad_deadline(r.port[0].mad), UINT64_MAX);
	}
}

/* Segments of a stranger: nothing is kept, and what can be said is said. */
static void
receivers_stand_all_segments(void **state)
{
	struct tp_mad_packet p = {.qpn = 1, .remote_qpn = 1, .slid = 0x20, .dlid = 0x10};
	struct tp_mad_stats st;

	(void)state;
	mad_init(p.data, MAD_CLASS_SA, 2, SA_GET_TABLE | MAD_RESPONSE, SA_ATTR_NODE, 1);
	ib_put32(p.data + MAD_TID_AT, 1); /* the first agent's */
	p.data[RMPP_VERSION_AT] = 1;
	p.data[RMPP_TYPE_AT] = RMPP_DATA;
	p.data[RMPP_FLAGS_AT] = RMPP_ACTIVE | RMPP_FIRST;
	ib_put32(p.data + 28, 1);
	tp_mad_input(r.port[0].mad, &p); /* nobody asked */
	assert_int_equal(r.logged, 0);
	ask(1);
	r.logged = 0;
	p.data[RMPP_FLAGS_AT] = RMPP_ACTIVE;
	tp_mad_input(r.port[0].mad, &p); /* the first one that does not say so */
	ib_put32(p.data + 28, 3);
	tp_mad_input(r.port[0].mad, &p); /* a middle without a beginning */
	assert_int_equal(r.logged, 0);
	p.data[RMPP_FLAGS_AT] = RMPP_ACTIVE | RMPP_FIRST | RMPP_LAST;
	ib_put32(p.data + 28, 1);
	ib_put32(p.data + 32, 19); /* less than its header */
	tp_mad_input(r.port[0].mad, &p);
	assert_int_equal(r.logged, 1);
	assert_int_equal(r.log[0].data[RMPP_TYPE_AT], RMPP_ABORT);
	assert_int_equal(r.log[0].data[RMPP_STATUS_AT], 119);
	p.data[RMPP_VERSION_AT] = 2;
	tp_mad_input(r.port[0].mad, &p);
	assert_int_equal(r.log[1].data[RMPP_STATUS_AT], 125);
	assert_int_equal(asker.num, 0);
	tp_mad_stats_get(r.port[0].mad, &st);
	assert_int_equal(st.late, 1);
	assert_int_equal(st.rmpp_dropped, 4);
	/* It has been no answer: the question runs out of time. */
	rig_run(&r, 2000 * RIG_MS);
	assert_int_equal(asker.num, 1);
	assert_int_equal(asker.status[0], -ETIMEDOUT);
}

/* Each port numbers its requests from 1 on: the answers to two of them may be under way with one identifier. */
static void
answers_of_one_identifier_go_to_several_askers(void **state)
{
	struct tp_mad_packet q, ack;
	unsigned int to_other = 0;

	(void)state;
	r.lose = data_back;
	ask(7);
	assert_int_equal(answer(450), 0);
	q = server.pkt[server.num - 1];
	q.slid = 0x30;
	tp_mad_input(r.port[1].mad, &q);
	assert_int_equal(server.num, 2);
	assert_int_equal(answer(450), 0);
	assert_int_equal(answer(450), -EINVAL); /* that one again */
	r.lose = NULL;
	rig_run(&r, 600 * RIG_MS);
	assert_table(450);
	ack = q;
	ack.data[RMPP_VERSION_AT] = 1;
	ack.data[RMPP_TYPE_AT] = RMPP_ACK;
	ack.data[RMPP_FLAGS_AT] = RMPP_ACTIVE;
	ib_put32(ack.data + RMPP_SEGMENT_AT, 1);
	ib_put32(ack.data + RMPP_LENGTH_AT, 64);
	r.logged = 0;
	tp_mad_input(r.port[1].mad, &ack);
	for (unsigned int i = 0; i < r.logged; i++)
		to_other += r.log[i].dlid == 0x30 && r.log[i].data[RMPP_TYPE_AT] == RMPP_DATA;
	assert_int_equal(to_other, 2);
}

/* Requests of two ports with one identifier are put together apart from each other. */
static void
segments_of_several_askers_do_not_mix(void **state)
{
	struct tp_mad_packet p = {.qpn = 1, .remote_qpn = 1, .dlid = 0x20};

	(void)state;
	r.lose = data_back;
	mad_init(p.data, MAD_CLASS_SA, 2, SA_GET_TABLE, SA_ATTR_NODE, 5);
	p.data[RMPP_VERSION_AT] = 1;
	p.data[RMPP_TYPE_AT] = RMPP_DATA;
	for (uint32_t seg = 1; seg <= 2; seg++) {
		ib_put32(p.data + RMPP_SEGMENT_AT, seg);
		p.data[RMPP_FLAGS_AT] = (uint8_t)(RMPP_ACTIVE | (seg == 1 ? RMPP_FIRST : RMPP_LAST));
		ib_put32(p.data + RMPP_LENGTH_AT, seg == 1 ? 0 : 220);
		for (uint16_t lid = 0x10; lid <= 0x11; lid++) {
			p.slid = lid;
			memset(p.data + SA_RECORD_AT, lid, MAD_SIZE - SA_RECORD_AT);
			tp_mad_input(r.port[1].mad, &p);
		}
	}
	assert_int_equal(server.num, 2);
	assert_int_equal(server.pkt[0].slid, 0x10);
	assert_int_equal(server.pkt[1].slid, 0x11);
	assert_int_equal(server.len, SA_RECORD_AT + 400);
	for (uint32_t i = SA_RECORD_AT; i < server.len; i++)
		assert_int_equal(server.data[i], 0x11);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		T(segments_are_headed_as_the_standard_says),
		T(acknowledgements_turn_the_method_around_and_open_windows),
		T(all_sizes_arrive),
		T(a_whole_message_is_remembered),
		T(losses_are_made_good),
		T(a_receiver_that_is_gone_ends_the_transfer),
		T(acknowledgements_are_waited_for_two_seconds),
		T(senders_stand_all_acknowledgements),
		T(an_end_by_the_sender_ends_what_came),
		T(segments_of_several_askers_do_not_mix),
		T(receivers_stand_all_segments),
		T(answers_of_one_identifier_go_to_several_askers),
	};

	return cmocka_run_group_tests_name("mad rmpp", tests, NULL, NULL);
}
