/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A port's declaration as a whole: conflicts, limits of the port; rates; the rules on frames. */
#include <errno.h>

#include "words_test.h"

struct judged {
	const char *words;
	int ret;
	const char *value, *range;
};

static const struct judged whole[] = {
	{"", 0, "", ""},
	/* D-1: one kind of pause a direction */
	{"pause=on", 0, "", ""},
	{"rx-pause=on tx-pfc=3", 0, "", ""},
	{"tx-pause=on rx-pfc=3", 0, "", ""},
	{"rx-pause=on rx-pfc=3", -EINVAL, "rx-pause", "rx-pfc=none"},
	{"tx-pause=on tx-pfc=all", -EINVAL, "tx-pause", "tx-pfc=none"},
	/* a class is lossless or lossy, once there are classes */
	{"pfc=3", 0, "", ""},
	{"pfc=3 prio-tc=0,0,0,1,0,0,0,0", 0, "", ""},
	{"pfc=3,4 prio-tc=0,0,0,1,1,0,0,0", 0, "", ""},
	{"pfc=3 prio-tc=0,0,0,1,1,0,0,0", -EINVAL, "priority 3", "want also 4"},
	{"pfc=4 prio-tc=0,0,0,1,0,0,0,0", -EINVAL, "priority 4", "class 0 is lossy by priority 0"},
	{"tx-pfc=3 prio-tc=0,0,0,1,1,0,0,0", -EINVAL, "tx-pfc", "want also 4"},
	{"pfc=all prio-tc=0,0,0,1,1,0,0,0", 0, "", ""},
	/* D-3 */
	{"tc=0:ets:100", 0, "", ""},
	{"tc-bw=50,30,20", 0, "", ""},
	{"tc-bw=50,30,20,strict", 0, "", ""},
	{"tc=0:ets:99", -EINVAL, "99 %", "want 100"},
	{"tc-bw=50,51", -EINVAL, "101 %", "want 100"},
	{"tc-bw=100,100,100", -EINVAL, "300 %", "want 100"},
	{"tc=0:ets:0", -EINVAL, " 0 %", "want 100"},
	{"tc=0:ets:0 tc=1:ets:100", 0, "", ""},
	{"tc-rate=0:1", 0, "", ""},
	{"tc-rate=7:40000", 0, "", ""},
	{"tc-rate=7:40001", -EINVAL, "40001", "1..40000 Mb/s, the port's speed"},
	/* D-5 */
	{"trust=dscp dscp-ets=on mark-dscp=on", 0, "", ""},
	{"dscp-pfc=on trust=dscp tx-untag-priority=on rx-untagged-lossless=on", 0, "", ""},
	{"dscp-pfc=on tx-untag-priority=on rx-untagged-lossless=on", -EINVAL, "dscp-pfc: on", "trust=dscp"},
	{"dscp-pfc=on trust=dscp rx-untagged-lossless=on", -EINVAL, "dscp-pfc: on", "tx-untag-priority=on"},
	{"dscp-pfc=on trust=dscp tx-untag-priority=on", -EINVAL, "dscp-pfc: on", "rx-untagged-lossless=on"},
	/* E-5 */
	{"tag-untagged=priority port-vlan=9", 0, "", ""},
	{"tag-untagged=both tx-untag-priority=on", 0, "", ""},
	{"tag-untagged=priority tx-untag-priority=on", -EINVAL, "priority", "none, vlan or both"},
	/* D-7 */
	{"rx-stall-timeout=1000 rx-stall-minor=999", 0, "", ""},
	{"rx-stall-timeout=1000 rx-stall-minor=1000", -EINVAL, "1000", "0..999 ms"},
	{"rx-stall-minor=500", -EINVAL, "500", "0 while rx-stall-timeout is 0"},
	/* D-4 */
	{"rule=tcp:80:1 rule=default:*:2", 0, "", ""},
	{"rule=default:*:2 rule=tcp:80:1", -EINVAL, "rule 0", "the last of 2"},
};

static void
conflicts(void **state)
{
	char err[TP_ERR_LEN];
	struct tp_qos_port q;
	unsigned int i;
	int ret;

	(void)state;
	for (i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		tp_qos_port_default(&q);
		port_words(&q, whole[i].words);
		ret = tp_qos_port_check(&q, &full, err);
		if (ret != whole[i].ret)
			print_message("%s: %d %s\n", whole[i].words, ret, err);
		assert_int_equal(ret, whole[i].ret);
		assert_refusal(err, whole[i].value, whole[i].range);
		assert_true((ret == 0) == (err[0] == '\0'));
	}
}

/* What a program can put into the members, past what words allow. */
static void
members_out_of_range(void **state)
{
	char err[TP_ERR_LEN];
	struct tp_qos_port q;

	(void)state;
#define REFUSED(member, v, value, range)                                                                               \
	do {                                                                                                           \
		tp_qos_port_default(&q);                                                                               \
		q.num_rules = 1;                                                                                       \
		q.rule[0] = (struct tp_qos_rule){.match = TP_MATCH_UDP_PORT, .dscp = -1, .lo = 1, .hi = 2};            \
		assert_int_equal(tp_qos_port_check(&q, &full, err), 0);                                                \
		q.member = v;                                                                                          \
		assert_int_equal(tp_qos_port_check(&q, &full, err), -EINVAL);                                          \
		assert_refusal(err, value, range);                                                                     \
	} while (0)
	REFUSED(prio_tc[7], 8, "class 8", "0..7");
	REFUSED(tc[3].tsa, 1, "algorithm 1", "2 (ets)");
	REFUSED(tc[3].bw_pct, 5, "share of 5", "0 or ets");
	REFUSED(tc[3].rate_mbps, 40001, "40001", "40000");
	REFUSED(trust, 0, "trust: 0", "2 (dscp)");
	REFUSED(trust, 3, "trust: 3", "1 (pcp)");
	REFUSED(tx_dscp[7], 64, "64", "0..63");
	REFUSED(dscp_gfc, 64, "64", "0..63");
	REFUSED(untagged_prio, 8, "8", "0..7");
	REFUSED(rx_stall_ms, 9, "9", "0 or 10..60000 ms");
	REFUSED(rx_stall_ms, 60001, "60001", "0 or 10..60000 ms");
	REFUSED(hol_lifetime_us, 99, "99", "0 or 100..10000000 us");
	REFUSED(hol_lifetime_us, 10000001, "10000001", "0 or 100..10000000 us");
	REFUSED(hol_stall_count, 0, "0", "1..255");
	REFUSED(hol_stall_count, 256, "256", "1..255");
	REFUSED(num_rules, 65, "65 rules", "0..64");
	REFUSED(rule[0].match, 6, "match 6", "0..5");
	REFUSED(rule[0].prio, 8, "priority 8", "0..7");
	REFUSED(rule[0].dscp, 64, "DSCP 64", "0..63");
	REFUSED(rule[0].dscp, -2, "DSCP -2", "0..63");
	REFUSED(rule[0].lo, 0, "ports 0-2", "1..65535");
	REFUSED(rule[0].lo, 3, "ports 3-2", "the lower first");
#undef REFUSED
}

static void
what_the_port_lacks(void **state)
{
	static const struct {
		struct tp_qos_limits lim;
		const char *words;
		int ret;
		const char *value, *range;
	} cases[] = {
		{{.max_tc = 8, .ets = true, .dscp = true}, "pfc=3", -ENOTSUP, "0x08", "none"},
		{{.max_tc = 8, .pfc = true, .dscp = true},
		 "tc=0:ets:100",
		 -ENOTSUP,
		 "class 0 has a share",
		 "no scheduler"},
		{{.max_tc = 8, .pfc = true, .dscp = true},
		 "tc-rate=2:100",
		 -ENOTSUP,
		 "class 2 has a rate",
		 "no scheduler"},
		{{.max_tc = 8, .pfc = true, .ets = true}, "trust=dscp", -ENOTSUP, "trust: dscp", "pcp"},
		{{.max_tc = 8, .pfc = true, .ets = true}, "dscp-ets=on", -ENOTSUP, "dscp-ets: on", "off"},
		{{.max_tc = 8, .pfc = true, .ets = true}, "dscp-pfc=on", -ENOTSUP, "dscp-pfc: on", "off"},
		{{.max_tc = 8}, "pause=on mark-dscp=on rule=udp:1:1:1 hol-lifetime=100 rx-stall-timeout=10", 0, "", ""},
		{{.max_tc = 4, .ets = true}, "prio-tc=0,1,2,3,0,1,2,3 tc-bw=25,25,25,25", 0, "", ""},
		{{.max_tc = 4, .ets = true}, "prio-tc=0,1,2,4,0,1,2,3", -EINVAL, "class 4 of priority 3", "0..3"},
		{{.max_tc = 4, .ets = true}, "tc=0:ets:100 tc=4:ets:0", -EINVAL, "class 4", "0..3"},
		{{.max_tc = 4, .ets = true}, "tc-rate=7:100", -EINVAL, "class 7", "0..3"},
		{{.max_tc = 1, .ets = true}, "prio-tc=0,0,0,0,0,0,0,1", -EINVAL, "class 1", "0..0"},
		{{.max_tc = 8, .ets = true}, "tc-rate=0:56000", 0, "", ""},
		{{.max_tc = 8, .ets = true, .speed_mbps = 10000}, "tc-rate=0:10001", -EINVAL, "10001", "10000"},
	};
	char err[TP_ERR_LEN];
	struct tp_qos_port q;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tp_qos_port_default(&q);
		port_words(&q, cases[i].words);
		assert_int_equal(tp_qos_port_check(&q, &cases[i].lim, err), cases[i].ret);
		assert_refusal(err, cases[i].value, cases[i].range);
	}
}

/* D-3: steps of 100 Mb/s up to 25.5 Gb/s and of 1 Gb/s above, downwards, but never to nothing. */
static void
rates(void **state)
{
	static const uint32_t steps[][2] = {
		{0, 0},         {1, 100},       {99, 100},      {100, 100},     {199, 100},
		{1000, 1000},   {2550, 2500},   {25499, 25400}, {25500, 25500}, {25501, 25500},
		{25999, 25500}, {26000, 26000}, {26999, 26000}, {56000, 56000},
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		assert_int_equal(tp_qos_rate_round(steps[i][0]), steps[i][1]);
}

static void
frames_by_rules(void **state)
{
	static const struct {
		uint8_t proto;
		uint16_t port;
		uint8_t prio;
		int8_t dscp;
	} frames[] = {
		{17, 4791, 3, 26}, {17, 4800, 3, 26}, {17, 4790, 2, -1}, {17, 4801, 2, -1}, {6, 4791, 1, 46},
		{6, 445, 4, -1},   {6, 0, 1, 46},     {17, 0, 2, -1},    {1, 0, 7, 0},      {132, 4791, 7, 0},
	};
	struct tp_qos_classes classes;
	struct tp_qos_port q;
	unsigned int i;
	uint8_t prio;
	int8_t dscp;

	(void)state;
	tp_qos_port_default(&q);
	port_words(&q, "rule=rdma:4791:6 rule=udp:4791-4800:3:26 rule=tcp:445:4 rule=tcp:*:1:46 rule=udp:*:2 "
		       "rule=default:*:7:0");
	tp_qos_classes_make(&q, &classes);
	for (i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		prio = 0xff;
		dscp = -2;
		assert_true(tp_qos_classify(&classes, frames[i].proto, frames[i].port, &prio, &dscp));
		assert_int_equal(prio, frames[i].prio);
		assert_int_equal(dscp, frames[i].dscp);
	}
	/* All RDMA services: the port of RoCE v2. Fragments behind the first have no port. */
	tp_qos_port_default(&q);
	port_words(&q, "rule=rdma:*:5:26 rule=tcp:1-65535:6");
	tp_qos_classes_make(&q, &classes);
	assert_true(tp_qos_classify(&classes, 17, 4791, &prio, &dscp));
	assert_int_equal(prio, 5);
	assert_int_equal(dscp, 26);
	dscp = 9;
	assert_false(tp_qos_classify(&classes, 17, 4792, &prio, &dscp));
	assert_false(tp_qos_classify(&classes, 6, 0, &prio, &dscp));
	tp_qos_port_default(&q);
	tp_qos_classes_make(&q, &classes);
	assert_false(tp_qos_classify(&classes, 6, 80, &prio, &dscp));
	assert_int_equal(prio, 5);
	assert_int_equal(dscp, 9);
}

/* Services are not in a frame: only a rule of all of them is one of frames, to the port of RoCE v2. */
static void
frames_of_services(void **state)
{
	static const struct {
		uint16_t lo, hi;
		bool all;
	} row[] = {{0, 65535, true}, {1, 65535, true}, {2, 65535, false}, {1, 65534, false}, {0, 4791, false}};
	struct tp_qos_classes classes;
	struct tp_qos_port q;
	unsigned int i;
	uint8_t prio;
	int8_t dscp;

	(void)state;
	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		tp_qos_port_default(&q);
		q.rule[q.num_rules++] = (struct tp_qos_rule){
			.match = TP_MATCH_RDMA, .lo = row[i].lo, .hi = row[i].hi, .prio = 6, .dscp = 40};
		tp_qos_classes_make(&q, &classes);
		assert_int_equal(classes.n, row[i].all);
		assert_int_equal(tp_qos_classify(&classes, 17, 4791, &prio, &dscp), row[i].all);
		assert_false(tp_qos_classify(&classes, 17, 4790, &prio, &dscp));
	}
}

/* D-4, R-8: packets of RoCE by the service of their connection. Worked out by hand: the first that matches. */
static void
services(void **state)
{
	static const struct {
		const char *words;
		bool v2;
		uint16_t service;
		int prio, dscp; /* prio -1: no rule */
	} cases[] = {
		{"", true, 5000, -1, 0},
		{"rule=rdma:5000-5001:6:46", true, 4999, -1, 0},
		{"rule=rdma:5000-5001:6:46", true, 5000, 6, 46},
		{"rule=rdma:5000-5001:6:46", false, 5001, 6, 46},
		{"rule=rdma:5000-5001:6:46", true, 5002, -1, 0},
		{"rule=rdma:5000-5001:6:46", true, 0, -1, 0},
		{"rule=rdma:5000:0 rule=rdma:*:5:26", true, 5000, 0, -1},
		{"rule=rdma:5000:0 rule=rdma:*:5:26", true, 0, 5, 26},
		{"rule=rdma:*:5:26 rule=rdma:5000:0", true, 5000, 5, 26},
		{"rule=udp:4791:3 rule=rdma:5000:6", true, 5000, 3, -1},
		{"rule=udp:4791:3 rule=rdma:5000:6", false, 5000, 6, -1},
		{"rule=udp:4792-5000:3 rule=rdma:5000:6", true, 5000, 6, -1},
		{"rule=udp:*:4:7", true, 0, 4, 7},
		{"rule=udp:*:4:7", false, 0, -1, 0},
		{"rule=tcp:5000:1 rule=tcp:*:2 rule=default:*:7", true, 5000, 7, -1},
		{"rule=tcp:5000:1 rule=tcp:*:2 rule=default:*:7", false, 0, 7, -1},
		{"rule=rdma:5000:6 mark-dscp=on tx-dscp=10,11,12,13,14,15,16,17", true, 5000, 6, 16},
		{"rule=rdma:5000:6 mark-dscp=on dscp-gfc=33 tx-pause=on", true, 5000, 6, 33},
		{"rule=rdma:5000:6:46 mark-dscp=on", true, 5000, 6, 46},
		{"rule=rdma:5000:1:46 dscp-ets=on", true, 5000, 5, 46},
		{"rule=rdma:5000:1 dscp-ets=on", true, 5000, 1, -1},
	};
	struct tp_qos_port q;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t prio = 0x77;
		int8_t dscp = 0x66;
		bool found;

		tp_qos_port_default(&q);
		if (cases[i].words[0] != '\0')
			port_words(&q, cases[i].words);
		found = tp_qos_service(&q, cases[i].v2, cases[i].service, &prio, &dscp);
		if (found != (cases[i].prio >= 0) || prio != (found ? cases[i].prio : 0x77) ||
		    dscp != (found ? cases[i].dscp : 0x66))
			fail_msg("'%s', service %u: %d, priority %u, DSCP %d", cases[i].words, cases[i].service, found,
				 prio, dscp);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conflicts),
		cmocka_unit_test(members_out_of_range),
		cmocka_unit_test(what_the_port_lacks),
		cmocka_unit_test(rates),
		cmocka_unit_test(frames_by_rules),
		cmocka_unit_test(frames_of_services),
		cmocka_unit_test(services),
	};

	return cmocka_run_group_tests_name("qos_check", tests, NULL, NULL);
}
