/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a peer says of applications as rules of the port, when there is room for some of it only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tp_dcbx.h"

/* A port with so many rules of its own, for the ports of TCP from 100 on. */
static void
own_rules(struct tp_qos_port *q, unsigned int n)
{
	memset(q, 0, sizeof(*q));
	q->num_rules = n;
	for (unsigned int i = 0; i < n; i++)
		q->rule[i] = (struct tp_qos_rule){
			.match = TP_MATCH_TCP_PORT, .lo = (uint16_t)(100 + i), .hi = (uint16_t)(100 + i), .dscp = -1};
}

/* The port's own rules are never pushed out. */
static void
no_room_for_rules(void **state)
{
	const struct tp_dcbx_params p = {.apps = {.n = 3,
						  .app = {{.sel = 2, .prio = 1, .proto = 1},
							  {.sel = 4, .prio = 1, .proto = 2},
							  {.sel = 3, .prio = 1, .proto = 3}}}};
	struct tp_qos_port q;

	(void)state;
	own_rules(&q, TP_QOS_RULES - 2);
	assert_int_equal(tp_dcbx_to_qos(&p, 1u << TP_DCBX_APP, &q), 1);
	assert_int_equal(q.num_rules, TP_QOS_RULES);
	assert_int_equal(q.rule[0].lo, 1);
	assert_int_equal(q.rule[1].lo, 3);
	assert_int_equal(q.rule[2].lo, 100);
	assert_int_equal(q.rule[TP_QOS_RULES - 1].lo, 100 + TP_QOS_RULES - 3);
}

/*
 * A default priority (802.1Q D.2.11.3: selector 1, protocol 0) takes its place before all others, the first one only; what
 * has none is counted, a default that has no room as well.
 */
static void
default_and_room(void **state)
{
	const struct tp_dcbx_params p = {.apps = {.n = 4,
						  .app = {{.sel = 2, .prio = 1, .proto = 80},
							  {.sel = 1, .prio = 5, .proto = 0},
							  {.sel = 1, .prio = 6, .proto = 0},
							  {.sel = 3, .prio = 2, .proto = 53}}}};
	static const struct {
		unsigned int room, none;
	} row[] = {{0, 4}, {1, 2}, {2, 1}, {3, 0}, {4, 0}};
	struct tp_qos_port q;

	(void)state;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		unsigned int own = TP_QOS_RULES - row[i].room, learnt = row[i].room > 3 ? 3 : row[i].room;

		own_rules(&q, own);
		assert_int_equal(tp_dcbx_to_qos(&p, 1u << TP_DCBX_APP, &q), row[i].none);
		assert_int_equal(q.num_rules, own + learnt);
		for (unsigned int k = 0; k < own; k++)
			assert_int_equal(q.rule[(learnt == 0 ? 0 : learnt - 1) + k].lo, 100 + k);
		if (learnt == 0)
			continue;
		assert_int_equal(q.rule[q.num_rules - 1].match, TP_MATCH_DEFAULT);
		assert_int_equal(q.rule[q.num_rules - 1].prio, 5);
		if (learnt > 1)
			assert_int_equal(q.rule[0].lo, 80);
		if (learnt > 2)
			assert_int_equal(q.rule[1].lo, 53);
	}
}

/* Each word alone takes what it names and nothing else; PFC and pause exclude each other, no PFC leaves pause be. */
static void
features_alone(void **state)
{
	const struct tp_dcbx_params p = {.ets = {.prio_tc = {1, 2, 3, 0, 0, 0, 0, 7}, .bw = {10, 90}, .tsa = {2, 2}},
					 .pfc = {.enable = 0x81},
					 .apps = {.n = 1, .app = {{.sel = 3, .prio = 2, .proto = 53}}}};
	const struct tp_dcbx_params none = {.pfc = {.enable = 0}};
	struct tp_qos_port q;

	(void)state;
	for (unsigned int mask = 0; mask < 8; mask++) {
		own_rules(&q, 1);
		q.rx_pause = q.tx_pause = true;
		assert_int_equal(tp_dcbx_to_qos(&p, mask, &q), 0);
		assert_int_equal(q.prio_tc[0], (mask >> TP_DCBX_ETS & 1) != 0 ? 1 : 0);
		assert_int_equal(q.prio_tc[7], (mask >> TP_DCBX_ETS & 1) != 0 ? 7 : 0);
		assert_int_equal(q.tc[1].bw_pct, (mask >> TP_DCBX_ETS & 1) != 0 ? 90 : 0);
		assert_int_equal(q.rx_pfc, (mask >> TP_DCBX_PFC & 1) != 0 ? 0x81 : 0);
		assert_int_equal(q.tx_pfc, (mask >> TP_DCBX_PFC & 1) != 0 ? 0x81 : 0);
		assert_int_equal(q.rx_pause, (mask >> TP_DCBX_PFC & 1) == 0);
		assert_int_equal(q.tx_pause, (mask >> TP_DCBX_PFC & 1) == 0);
		assert_int_equal(q.num_rules, (mask >> TP_DCBX_APP & 1) != 0 ? 2 : 1);
	}
	own_rules(&q, 0);
	q.rx_pause = q.tx_pause = true;
	q.rx_pfc = q.tx_pfc = 0x10;
	assert_int_equal(tp_dcbx_to_qos(&none, 1u << TP_DCBX_PFC, &q), 0);
	assert_int_equal(q.rx_pfc | q.tx_pfc, 0);
	assert_true(q.rx_pause && q.tx_pause);
}

/* Without a word every priority is in class 0, all is strict and nothing is lossless. */
static void
defaults(void **state)
{
	struct tp_dcbx_params p, want;

	(void)state;
	memset(&p, 0xee, sizeof(p));
	tp_dcbx_params_default(&p);
	memset(&want, 0, sizeof(want));
	want.ets.max_tc = want.pfc.cap = 8;
	assert_memory_equal(&p, &want, sizeof(p));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_room_for_rules),
		cmocka_unit_test(default_and_room),
		cmocka_unit_test(features_alone),
		cmocka_unit_test(defaults),
	};

	return cmocka_run_group_tests_name("DCBX's rules", tests, NULL, NULL);
}
