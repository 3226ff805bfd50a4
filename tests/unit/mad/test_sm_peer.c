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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_managers),
		cmocka_unit_test(test_equal_managers),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_trap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
