/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Several managers of one fabric: who is master, what they say to each other (14.4), traps. */
#include "sm_rig.h"

#include <errno.h>
#include <stdlib.h>

/* --- several managers -------------------------------------------------------------------------------------------------- */

/* A port says in its capabilities that a manager is there (14.2.5.6). */
static void
is_sm(unsigned int node, bool on)
{
	fab.node[node].port[1].info[23] = (uint8_t)(on ? 0x6a : 0x68);
}

static void
test_two_managers(void **state)
{
	struct tp_sm *a, *b, *c;
	uint16_t lid[5];

	(void)state;
	sm_star(4);
	a = sm_manage(1, 5);
	is_sm(1, true);
	fab_run(&fab, 200);
	assert_int_equal(sm_stats(a).role, TP_SM_MASTER);
	assert_whole(1, 4);
	for (unsigned int i = 1; i <= 4; i++)
		lid[i] = fab_lid(&fab, i, 1);
	/* A weaker one stands by, and lets everything be. */
	b = sm_manage(2, 3);
	is_sm(2, true);
	fab_run(&fab, 500);
	assert_int_equal(sm_stats(b).role, TP_SM_STANDBY);
	assert_int_equal(sm_stats(b).master, GUID(1) + 1);
	assert_int_equal(sm_stats(b).master_priority, 5);
	assert_int_equal(sm_stats(b).sweeps + sm_stats(b).up, 0); /* it asks for the master, no more */
	assert_int_equal(sm_stats(a).role, TP_SM_MASTER);
	assert_int_equal(fab.node[4].port[1].registered, 1);
	/* A stronger one is handed over to. */
	c = sm_manage(3, 9);
	is_sm(3, true);
	fab_run(&fab, 1500);
	assert_int_equal(sm_stats(c).role, TP_SM_MASTER);
	assert_int_equal(sm_stats(a).role, TP_SM_STANDBY);
	assert_int_equal(sm_stats(a).master, GUID(3) + 1);
	assert_in_range(sm_stats(c).handovers, 1, 1);
	assert_in_range(sm_stats(a).handovers, 1, 1);
	for (unsigned int i = 1; i <= 4; i++) {
		assert_int_equal(fab_lid(&fab, i, 1), lid[i]);
		assert_int_equal(ib_get16(fab.node[i].port[1].info + 18), lid[3]);
	}
	assert_whole(1, 4);
	/* It ends without a word: the stronger of those who stand by takes over. */
	tp_sm_destroy(c);
	is_sm(3, false);
	fab_run(&fab, 10000);
	assert_int_equal(sm_stats(a).role, TP_SM_MASTER);
	assert_int_equal(sm_stats(b).role, TP_SM_STANDBY);
	assert_int_equal(sm_stats(b).master, GUID(1) + 1);
	for (unsigned int i = 1; i <= 4; i++) {
		assert_int_equal(fab_lid(&fab, i, 1), lid[i]);
		assert_int_equal(ib_get16(fab.node[i].port[1].info + 18), lid[1]);
	}
	tp_sm_destroy(a);
	tp_sm_destroy(b);
	fab_down(&fab);
}

/* Of two with one priority that begin at the same time the lower GUID wins. */
static void
test_equal_managers(void **state)
{
	struct tp_sm *a, *b;

	(void)state;
	sm_star(2);
	is_sm(1, true);
	is_sm(2, true);
	b = sm_manage(2, 4);
	a = sm_manage(1, 4);
	fab_run(&fab, 2000);
	assert_int_equal(sm_stats(a).role, TP_SM_MASTER);
	assert_int_equal(sm_stats(b).role, TP_SM_STANDBY);
	assert_whole(1, 2);
	tp_sm_destroy(a);
	tp_sm_destroy(b);
	fab_down(&fab);
}

struct word {
	unsigned int calls;
	uint16_t status;
	uint8_t state;
};

static void
word_told(void *arg, const struct tp_mad_msg *msg)
{
	struct word *w = arg;

	w->calls++;
	w->status = ib_get16(msg->data + MAD_STATUS_AT) & 0x7fff;
	w->state = msg->data[SMP_DATA_AT + 20] & 0xf;
}

/* A word to the manager of a port, by its LID. Returns the status, and the state that it is in then. */
static struct word
say(unsigned int from, unsigned int to, uint8_t method, uint32_t mod)
{
	struct word w = {0};
	const struct tp_mad_agent_conf conf = {.mgmt_class = 0, .recv = word_told, .arg = &w};
	struct tp_mad_packet addr = {.dlid = fab_lid(&fab, to, 1)};
	struct tp_mad_agent *agent;
	uint8_t mad[MAD_SIZE];

	mad_init(mad, MAD_CLASS_SMP, 1, method, SMP_ATTR_SM_INFO, 77);
	ib_put32(mad + MAD_ATTR_MOD_AT, mod);
	ib_put64(mad + SMP_DATA_AT, GUID(from) + 1);
	assert_int_equal(tp_mad_register(fab_mad(&fab, from, 1), &conf, &agent), 0);
	assert_int_equal(tp_mad_send(agent, &addr, mad, sizeof(mad), 100, 0), 0);
	fab_run(&fab, 20);
	tp_mad_unregister(agent);
	assert_int_equal(w.calls, 1);
	return w;
}

static void
test_words(void **state)
{
	struct tp_sm *a, *b;

	(void)state;
	sm_star(3);
	a = sm_manage(1, 5);
	is_sm(1, true);
	fab_run(&fab, 200);
	b = sm_manage(2, 3);
	is_sm(2, true);
	fab_run(&fab, 300);
	assert_int_equal(say(3, 1, MAD_GET, 0).state, TP_SM_MASTER);
	assert_int_equal(say(3, 2, MAD_GET, 0).state, TP_SM_STANDBY);
	/* Words that do not fit the state (14.4.2), and such as there are not. */
	for (unsigned int word = 3; word <= 7; word++)
		assert_int_equal(say(3, 1, MAD_SET, word).status, MAD_BAD_VALUE);
	assert_int_equal(say(3, 1, MAD_SET, 0).status, MAD_BAD_VALUE);
	assert_int_equal(say(3, 1, MAD_SET, 2).status, MAD_BAD_VALUE);
	assert_int_equal(say(3, 2, MAD_SET, 4).status, MAD_BAD_VALUE);
	assert_int_equal(sm_stats(a).role, TP_SM_MASTER);
	/* Off, and back. */
	assert_int_equal(say(1, 2, MAD_SET, 3).status, 0);
	fab_run(&fab, 300);
	assert_int_equal(sm_stats(b).role, TP_SM_NOT_ACTIVE);
	assert_int_equal(say(1, 2, MAD_SET, 4).status, 0);
	fab_run(&fab, 300);
	assert_int_equal(sm_stats(b).role, TP_SM_STANDBY);
	/* One that looks again finds the same master. */
	assert_int_equal(say(1, 2, MAD_SET, 5).status, 0);
	fab_run(&fab, 300);
	assert_int_equal(sm_stats(b).role, TP_SM_STANDBY);
	assert_int_equal(sm_stats(a).role, TP_SM_MASTER);
	tp_sm_destroy(a);
	tp_sm_destroy(b);
	fab_down(&fab);
}

/* A trap is answered, and the fabric looked at at once. */
static void
test_trap(void **state)
{
	const struct tp_sm_conf conf = {.sweep_ms = TP_SM_SWEEP_MS_MAX};
	const struct tp_mad_agent_conf agent_conf = {.mgmt_class = 0, .recv = word_told, .arg = &(struct word){0}};
	struct tp_mad_packet addr = {0};
	struct tp_mad_agent *agent;
	uint8_t mad[MAD_SIZE];
	struct tp_sm *sm;

	(void)state;
	sm_star(3);
	fab_cut(&fab, 3, 1);
	assert_int_equal(tp_sm_create(fab_mad(&fab, 1, 1), &conf, &sm), 0);
	fab_run(&fab, 200);
	fab_cable(&fab, 3, 1, 0, 3);
	fab_run(&fab, 5000);
	assert_int_equal(fab_state(&fab, 3, 1), 2);
	assert_int_equal(tp_mad_register(fab_mad(&fab, 2, 1), &agent_conf, &agent), 0);
	mad_init(mad, MAD_CLASS_SMP, 1, MAD_TRAP, SMP_ATTR_NOTICE, 5);
	addr.dlid = fab_lid(&fab, 1, 1);
	assert_int_equal(tp_mad_send(agent, &addr, mad, sizeof(mad), 1000, 0), 0);
	fab_run(&fab, 200);
	assert_int_equal(sm_stats(sm).traps, 1);
	assert_int_equal(((struct word *)agent_conf.arg)->calls, 1);
	assert_whole(1, 3);
	tp_mad_unregister(agent);
	tp_sm_destroy(sm);
	fab_down(&fab);
}

/* --- what a manager says and does in each of its states ------------------------------------------------------------------ */

static struct tp_sm *
sm_slow(unsigned int node, uint8_t priority, uint64_t key)
{
	const struct tp_sm_conf conf = {.sweep_ms = 5000, .priority = priority, .key = key};
	struct tp_sm *sm;

	assert_int_equal(tp_sm_create(fab_mad(&fab, node, 1), &conf, &sm), 0);
	return sm;
}

static void
whole_told(void *arg, const struct tp_mad_msg *msg)
{
	memcpy(arg, msg->data, MAD_SIZE);
}

/* SMInfo (14.2.5.13): GUID, key, a counter that rises, priority above state; nothing else is in it. */
static void
test_info(void **state)
{
	static const uint8_t rest[MAD_SIZE - SMP_DATA_AT - 21];
	uint8_t mad[MAD_SIZE], got[2][MAD_SIZE] = {0};
	struct tp_mad_packet addr = {0};
	struct tp_sm *sm;

	(void)state;
	sm_star(2);
	sm = sm_slow(1, 11, 0x1122334455667788ull);
	fab_run(&fab, 200);
	addr.dlid = fab_lid(&fab, 1, 1);
	for (unsigned int i = 0; i < 2; i++) {
		const struct tp_mad_agent_conf conf = {.mgmt_class = 0, .recv = whole_told, .arg = got[i]};
		struct tp_mad_agent *agent;

		mad_init(mad, MAD_CLASS_SMP, 1, MAD_GET, SMP_ATTR_SM_INFO, 9);
		memset(mad + SMP_DATA_AT, 0x5a, SMP_DATA_LEN);
		assert_int_equal(tp_mad_register(fab_mad(&fab, 2, 1), &conf, &agent), 0);
		assert_int_equal(tp_mad_send(agent, &addr, mad, sizeof(mad), 100, 0), 0);
		fab_run(&fab, 20);
		tp_mad_unregister(agent);
		assert_int_equal(got[i][MAD_METHOD_AT], MAD_GET | MAD_RESPONSE);
		assert_int_equal(ib_get16(got[i] + MAD_STATUS_AT), 0);
		assert_int_equal(ib_get64(got[i] + SMP_DATA_AT), GUID(1) + 1);
		assert_int_equal(ib_get64(got[i] + SMP_DATA_AT + 8), 0x1122334455667788ull);
		assert_int_equal(got[i][SMP_DATA_AT + 20], 11 << 4 | TP_SM_MASTER);
		assert_memory_equal(got[i] + SMP_DATA_AT + 21, rest, sizeof(rest));
		fab_run(&fab, 6000);
	}
	assert_true(ib_get32(got[1] + SMP_DATA_AT + 16) > ib_get32(got[0] + SMP_DATA_AT + 16));
	tp_sm_destroy(sm);
	fab_down(&fab);
}

/*
 * Each word in each state (14.4.2). A master (1), one that stands by (2), one that was switched off (3); the word comes from
 * a fourth port, on which no manager is.
 */
static void
test_word_table(void **state)
{
	static const struct {
		enum tp_sm_role in;
		uint8_t good; /* bit per word: 1 HANDOVER, 2 ACKNOWLEDGE, 3 DISABLE, 4 STANDBY, 5 DISCOVER */
		enum tp_sm_role out[6];
	} row[] = {
		{TP_SM_MASTER, 1 << 1, {[1] = TP_SM_MASTER}},
		{TP_SM_STANDBY,
		 1 << 1 | 1 << 3 | 1 << 5,
		 {[1] = TP_SM_MASTER, [3] = TP_SM_NOT_ACTIVE, [5] = TP_SM_STANDBY}},
		{TP_SM_NOT_ACTIVE, 1 << 4, {[4] = TP_SM_STANDBY}},
	};

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		for (uint32_t word = 0; word <= 8; word++) {
			bool good = word < 8 && (row[i].good >> word & 1) != 0;
			struct tp_sm *sm[3];
			struct word w;

			sm_star(4);
			for (unsigned int k = 0; k < 3; k++) {
				sm[k] = sm_slow(k + 1, (uint8_t)(9 - k), 0);
				is_sm(k + 1, true);
				fab_run(&fab, 100);
			}
			assert_int_equal(say(4, 3, MAD_SET, 3).status, 0);
			assert_int_equal(sm_stats(sm[i]).role, row[i].in);
			w = say(4, i + 1, MAD_SET, word);
			assert_int_equal(w.status, good ? 0 : MAD_BAD_VALUE);
			assert_int_equal(sm_stats(sm[i]).role, good ? row[i].out[word] : row[i].in);
			assert_int_equal(sm_stats(sm[i]).handovers, good && word == 1);
			for (unsigned int k = 0; k < 3; k++)
				tp_sm_destroy(sm[k]);
			fab_down(&fab);
		}
	}
}

/* A known manager took over, as it says; since it is master for nobody, the subnet is not left without one. */
static void
test_false_acknowledge(void **state)
{
	struct tp_sm *a, *b;

	(void)state;
	sm_star(2);
	is_sm(1, true);
	is_sm(2, true);
	a = sm_manage(1, 5);
	fab_run(&fab, 50);
	b = sm_manage(2, 3);
	fab_run(&fab, 300);
	assert_int_equal(sm_stats(b).role, TP_SM_STANDBY);
	assert_int_equal(say(2, 1, MAD_SET, 2).status, 0);
	assert_int_equal(sm_stats(a).role, TP_SM_STANDBY);
	assert_int_equal(sm_stats(a).master, GUID(2) + 1);
	assert_int_equal(sm_stats(a).master_priority, 3);
	assert_int_equal(sm_stats(a).handovers, 1);
	fab_run(&fab, 3000);
	assert_int_equal(sm_stats(a).role, TP_SM_MASTER);
	assert_int_equal(sm_stats(b).role, TP_SM_STANDBY);
	assert_int_equal(sm_stats(b).master, GUID(1) + 1);
	tp_sm_destroy(a);
	tp_sm_destroy(b);
	fab_down(&fab);
}

/*
 * A master is believed gone after three polls of 1.5 s (three tries of 500 ms), 100 ms apart, in which it says nothing: 4.8 s
 * at most. One answer in between, and they are counted anew.
 */
static void
test_silent_master(void **state)
{
	struct tp_sm *a, *b;

	(void)state;
	sm_star(2);
	is_sm(1, true);
	is_sm(2, true);
	a = sm_manage(1, 5);
	fab_run(&fab, 50);
	b = sm_manage(2, 3);
	fab_run(&fab, 300);
	for (unsigned int i = 0; i < 2; i++) {
		fab.node[1].deaf = true;
		fab_run(&fab, 3500);
		assert_int_equal(sm_stats(b).role, TP_SM_STANDBY);
		fab.node[1].deaf = false;
		fab_run(&fab, 1000);
		assert_int_equal(sm_stats(b).role, TP_SM_STANDBY);
	}
	fab.node[1].deaf = true;
	fab_run(&fab, 4490);
	assert_int_equal(sm_stats(b).role, TP_SM_STANDBY);
	fab_run(&fab, 400);
	assert_int_equal(sm_stats(b).role, TP_SM_DISCOVERING);
	fab_run(&fab, 3000);
	assert_int_equal(sm_stats(b).role, TP_SM_MASTER);
	/* There are two, and the stronger one stays. */
	fab.node[1].deaf = false;
	fab_run(&fab, 5000);
	assert_int_equal(sm_stats(a).role, TP_SM_MASTER);
	assert_int_equal(sm_stats(b).role, TP_SM_STANDBY);
	assert_int_equal(sm_stats(b).master, GUID(1) + 1);
	tp_sm_destroy(a);
	tp_sm_destroy(b);
	fab_down(&fab);
}

/* Where the master was another one answers: it is not the one that was stood by for, though it is a master. */
static void
test_other_master(void **state)
{
	struct tp_sm *a, *b, *c;

	(void)state;
	sm_star(2);
	fab_adapter(&fab, 3, GUID(3), 1);
	is_sm(1, true);
	is_sm(2, true);
	is_sm(3, true);
	a = sm_manage(1, 5);
	c = sm_manage(3, 9);
	fab_run(&fab, 200);
	b = sm_manage(2, 3);
	fab_run(&fab, 300);
	assert_int_equal(sm_stats(b).master, GUID(1) + 1);
	assert_int_equal(sm_stats(c).role, TP_SM_MASTER);
	fab_cut(&fab, 1, 1);
	fab_cable(&fab, 3, 1, 0, 1);
	fab_run(&fab, 3000);
	assert_int_equal(sm_stats(b).role, TP_SM_STANDBY);
	assert_int_equal(sm_stats(b).master, GUID(3) + 1);
	assert_int_equal(sm_stats(b).master_priority, 9);
	assert_int_equal(sm_stats(c).role, TP_SM_MASTER);
	tp_sm_destroy(a);
	tp_sm_destroy(b);
	tp_sm_destroy(c);
	fab_down(&fab);
}

/* Two subnets become one: the stronger master stays, though the weaker one has taken over from somebody before. */
static void
test_subnets_meet(void **state)
{
	struct tp_sm *a, *c, *d;

	(void)state;
	sm_star(3);
	fab_adapter(&fab, 4, GUID(4), 1);
	is_sm(1, true);
	is_sm(2, true);
	is_sm(4, true);
	a = sm_manage(1, 5);
	d = sm_manage(4, 12);
	fab_run(&fab, 100);
	c = sm_manage(2, 9);
	fab_run(&fab, 1000);
	assert_int_equal(sm_stats(c).role, TP_SM_MASTER);
	assert_int_equal(sm_stats(c).handovers, 1);
	assert_int_equal(sm_stats(d).role, TP_SM_MASTER);
	fab_cable(&fab, 4, 1, 0, 4);
	fab_run(&fab, 1000);
	assert_int_equal(sm_stats(d).role, TP_SM_MASTER);
	assert_int_equal(sm_stats(c).role, TP_SM_STANDBY);
	assert_int_equal(sm_stats(c).master, GUID(4) + 1);
	assert_int_equal(sm_stats(d).handovers, 0);
	assert_whole(1, 4);
	tp_sm_destroy(a);
	tp_sm_destroy(c);
	tp_sm_destroy(d);
	fab_down(&fab);
}

/* Who is switched off is no reason to stand back, for one that begins and for a master. */
static void
test_off_counts_not(void **state)
{
	struct tp_sm *a, *b;

	(void)state;
	sm_star(3);
	a = sm_manage(1, 5);
	is_sm(1, true);
	fab_run(&fab, 100);
	b = sm_manage(2, 9);
	fab_run(&fab, 50);
	assert_int_equal(say(3, 2, MAD_SET, 3).status, 0);
	is_sm(2, true);
	fab_run(&fab, 1000);
	assert_int_equal(sm_stats(a).role, TP_SM_MASTER);
	assert_int_equal(sm_stats(a).handovers, 0);
	assert_int_equal(sm_stats(b).role, TP_SM_NOT_ACTIVE);
	tp_sm_destroy(a);
	a = sm_manage(1, 5);
	fab_run(&fab, 200);
	assert_int_equal(sm_stats(a).role, TP_SM_MASTER);
	assert_int_equal(sm_stats(b).role, TP_SM_NOT_ACTIVE);
	tp_sm_destroy(a);
	tp_sm_destroy(b);
	fab_down(&fab);
}

/* One that begins stands by for the master, whichever is found first: that, or a stronger one that stands by. */
static void
test_stands_by_for_master(void **state)
{
	(void)state;
	for (unsigned int master = 2; master <= 3; master++) {
		unsigned int other = 5 - master;
		struct tp_sm *sm[3];

		sm_star(4);
		sm[0] = sm_slow(master, 2, 0);
		is_sm(master, true);
		fab_run(&fab, 100);
		sm[1] = sm_slow(other, 9, 0);
		fab_run(&fab, 100);
		assert_int_equal(sm_stats(sm[1]).role, TP_SM_STANDBY);
		is_sm(other, true);
		sm[2] = sm_slow(4, 1, 0);
		fab_run(&fab, 20);
		assert_int_equal(sm_stats(sm[2]).role, TP_SM_STANDBY);
		assert_int_equal(sm_stats(sm[2]).master, GUID(master) + 1);
		for (unsigned int k = 0; k < 3; k++)
			tp_sm_destroy(sm[k]);
		fab_down(&fab);
	}
}

/* Of several that stand by and are stronger the master hands over to the strongest, at once and to no other. */
static void
test_heir(void **state)
{
	static const struct {
		unsigned int master, heir; /* adapters 1 to 4; heir 0: there is none */
		uint8_t priority[4];
	} row[] = {
		{1, 3, {2, 5, 7, 7}}, {1, 2, {2, 7, 7, 5}}, {1, 2, {2, 7, 5, 7}}, {1, 4, {2, 5, 6, 7}},
		{4, 1, {5, 5, 5, 5}}, {2, 1, {5, 5, 5, 4}}, {1, 0, {5, 5, 5, 4}}, {3, 4, {2, 4, 4, 5}},
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct tp_sm *sm[4];

		sm_star(4);
		sm[row[i].master - 1] = sm_manage(row[i].master, row[i].priority[row[i].master - 1]);
		is_sm(row[i].master, true);
		fab_run(&fab, 100);
		for (unsigned int k = 0; k < 4; k++) {
			if (k + 1 == row[i].master)
				continue;
			sm[k] = sm_manage(k + 1, row[i].priority[k]);
			fab_run(&fab, 50);
			assert_int_equal(sm_stats(sm[k]).role, TP_SM_STANDBY);
		}
		for (unsigned int k = 1; k <= 4; k++)
			is_sm(k, true);
		fab_run(&fab, 1000);
		for (unsigned int k = 1; k <= 4; k++) {
			bool heir = k == row[i].heir, had = k == row[i].master && row[i].heir != 0;

			assert_int_equal(sm_stats(sm[k - 1]).handovers, heir || had);
			assert_int_equal(sm_stats(sm[k - 1]).role,
					 heir || (k == row[i].master && !had) ? TP_SM_MASTER : TP_SM_STANDBY);
			tp_sm_destroy(sm[k - 1]);
		}
		fab_down(&fab);
	}
}

/* More managers than are remembered: eight others, and the master, are in what the administrator says. */
static void
test_many_managers(void **state)
{
	struct tp_sm *sm[11];
	struct tp_sa *sa;
	struct answer a;

	(void)state;
	fab_up(&fab);
	fab_switch(&fab, 0, SWITCH(1), 11);
	for (unsigned int i = 1; i <= 11; i++) {
		fab_adapter(&fab, i, GUID(i), 1);
		fab_cable(&fab, i, 1, 0, i);
		is_sm(i, true);
	}
	for (unsigned int i = 1; i <= 11; i++) {
		sm[i - 1] = sm_manage(i, i == 1 ? 5 : 1);
		fab_run(&fab, 100);
	}
	fab_run(&fab, 500);
	sa = sm_client(2);
	a = sm_ask(sa, SA_GET_TABLE, SA_ATTR_SM_INFO, 0, NULL, 0);
	assert_int_equal(a.status, 0);
	assert_int_equal(a.n, 9);
	for (unsigned int i = 0; i < 9; i++) {
		const uint8_t *rec = a.records + (size_t)a.stride * i;

		assert_int_equal(ib_get16(rec), fab_lid(&fab, i + 1, 1));
		assert_int_equal(ib_get64(rec + 4), GUID(i + 1) + 1);
		assert_int_equal(rec[24], i == 0 ? 5 << 4 | TP_SM_MASTER : 1 << 4 | TP_SM_STANDBY);
		/* Only our own counter is known. */
		assert_int_equal(ib_get32(rec + 20) != 0, i == 0);
	}
	free(a.records);
	tp_sa_destroy(sa);
	for (unsigned int i = 0; i < 11; i++)
		tp_sm_destroy(sm[i]);
	fab_down(&fab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_managers),
		cmocka_unit_test(test_equal_managers),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_trap),
		cmocka_unit_test(test_info),
		cmocka_unit_test(test_word_table),
		cmocka_unit_test(test_false_acknowledge),
		cmocka_unit_test(test_silent_master),
		cmocka_unit_test(test_other_master),
		cmocka_unit_test(test_subnets_meet),
		cmocka_unit_test(test_off_counts_not),
		cmocka_unit_test(test_stands_by_for_master),
		cmocka_unit_test(test_heir),
		cmocka_unit_test(test_many_managers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
