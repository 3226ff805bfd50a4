/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* A port's words: every key with its range, what is printed, what is refused, what random text does. */
#include <errno.h>

#include "lib/dcb/words.h"
#include "words_test.h"

#define LIST "none, all or priorities such as 3,4 in 0..7"

/* From the requirements, not from the code. */
static const struct want_key wanted[] = {
	{"pause", "", "", "off or on", 0, 0},
	{"rx-pause", "", "off", "off or on", 0, 0},
	{"tx-pause", "", "off", "off or on", 0, 0},
	{"pfc", "", "", LIST, 0, 7},
	{"rx-pfc", "", "none", LIST, 0, 7},
	{"tx-pfc", "", "none", LIST, 0, 7},
	{"prio-tc", "", "0,0,0,0,0,0,0,0", "8 classes in 0..7", 0, 7},
	{"tc", "%", "0-7:strict", "TCS:strict or TCS:ets:SHARE, TCS of 0..7, SHARE 0..100", 0, 100},
	{"tc-bw", "%", "", "up to 8 of 0..100 or strict", 0, 100},
	{"tc-rate", "Mb/s", "0-7:0", "TCS:RATE, TCS of 0..7, RATE 0..56000", 0, 56000},
	{"trust", "", "pcp", "pcp or dscp", 0, 0},
	{"tx-dscp", "", "0,1,2,3,4,5,6,7", "8 DSCPs in 0..63", 0, 63},
	{"mark-dscp", "", "off", "off or on", 0, 0},
	{"tx-untag-priority", "", "off", "off or on", 0, 0},
	{"tag-untagged", "", "none", "none, priority, vlan or both", 0, 0},
	{"port-vlan", "", "0", "0..4095", 0, 4095},
	{"rx-untagged-lossless", "", "off", "off or on", 0, 0},
	{"dscp-ets", "", "off", "off or on", 0, 0},
	{"dscp-pfc", "", "off", "off or on", 0, 0},
	{"dscp-gfc", "", "26", "0..63", 0, 63},
	{"untagged-prio", "", "0", "0..7", 0, 7},
	{"rx-stall-timeout", "ms", "0", "0 or 10..60000", 10, 60000},
	{"rx-stall-minor", "ms", "0", "0..59999", 0, 59999},
	{"hol-lifetime", "us", "0", "0 or 100..10000000", 100, 10000000},
	{"stall-count", "drops", "7", "1..255", 1, 255},
	{"rule", "", "none", "none or KIND:PORTS:PRIO[:DSCP] of default|tcp|udp|rdma, *|1..65535, 0..7, 0..63", 0,
	 65535},
};

static const struct good_word good[] = {
	{"", ""},
	{"pause=on", "rx-pause=on\ntx-pause=on\n"},
	{"pause=1 tx-pause=0", "rx-pause=on\n"},
	{"rx-pause=on", "rx-pause=on\n"},
	{"pause=on pause=0", ""},
	{"pause=on pause=off", ""},
	{"pfc=3,4", "rx-pfc=3,4\ntx-pfc=3,4\n"},
	{"pfc=all rx-pfc=none", "tx-pfc=all\n"},
	{"pfc=0-7", "rx-pfc=all\ntx-pfc=all\n"},
	{"rx-pfc=1-3 tx-pfc=7,0", "rx-pfc=1-3\ntx-pfc=0,7\n"},
	{"prio-tc=0,0,0,1,0,0,0,7", "prio-tc=0,0,0,1,0,0,0,7\n"},
	{"tc=0:ets:0 tc=7:ets:100", "tc=0:ets:0\ntc=7:ets:100\n"},
	{"tc=0-1:ets:50 tc=1:strict", "tc=0:ets:50\n"},
	{"tc-bw=50,30,20", "tc=0:ets:50\ntc=1:ets:30\ntc=2:ets:20\n"},
	{"tc-bw=1,2,3,4,5,6,7,72 tc-bw=strict",
	 "tc=1:ets:2\ntc=2:ets:3\ntc=3:ets:4\ntc=4:ets:5\ntc=5:ets:6\ntc=6:ets:7\n"
	 "tc=7:ets:72\n"},
	{"tc-rate=1:400", "tc-rate=1:400\n"},
	{"tc-rate=0-2,7:56000 tc-rate=2:0", "tc-rate=0:56000\ntc-rate=1:56000\ntc-rate=7:56000\n"},
	{"trust=dscp", "trust=dscp\n"},
	{"trust=2", "trust=dscp\n"},
	{"trust=dscp trust=1", ""},
	{"tx-dscp=0,8,16,24,32,40,48,63", "tx-dscp=0,8,16,24,32,40,48,63\n"},
	{"tx-dscp=0-7", ""},
	{"mark-dscp=on tx-untag-priority=on", "mark-dscp=on\ntx-untag-priority=on\n"},
	{"tag-untagged=both port-vlan=4095", "tag-untagged=both\nport-vlan=4095\n"},
	{"tag-untagged=3 tag-untagged=1", "tag-untagged=priority\n"},
	{"tag-untagged=vlan port-vlan=0", "tag-untagged=vlan\n"},
	{"rx-untagged-lossless=1 dscp-ets=1 dscp-pfc=1", "rx-untagged-lossless=on\ndscp-ets=on\ndscp-pfc=on\n"},
	{"dscp-gfc=0", "dscp-gfc=0\n"},
	{"dscp-gfc=0x3f", "dscp-gfc=63\n"},
	{"untagged-prio=7", "untagged-prio=7\n"},
	{"rx-stall-timeout=10", "rx-stall-timeout=10\n"},
	{"rx-stall-timeout=60000 rx-stall-minor=59999", "rx-stall-timeout=60000\nrx-stall-minor=59999\n"},
	{"rx-stall-timeout=60000 rx-stall-timeout=0", ""},
	{"hol-lifetime=100 stall-count=1", "hol-lifetime=100\nstall-count=1\n"},
	{"hol-lifetime=10000000 stall-count=255", "hol-lifetime=10000000\nstall-count=255\n"},
	{"rule=udp:4791-4800:3:26", "rule=udp:4791-4800:3:26\n"},
	{"rule=tcp:80:1 rule=tcp:*:2:0 rule=udp:*:7:63 rule=rdma:1-65535:5 rule=default:*:0",
	 "rule=tcp:80:1\nrule=tcp:*:2:0\nrule=udp:*:7:63\nrule=rdma:1-65535:5\nrule=default:*:0\n"},
	{"rule=rdma:*:5", "rule=rdma:1-65535:5\n"},
	{"rule=tcp:80:1 rule=none rule=udp:53:2", "rule=udp:53:2\n"},
};

static const struct bad_word bad[] = {
	{"pause=both", -EINVAL, "both", "off or on"},
	{"rx-pause=2", -EINVAL, "'2'", "off or on"},
	{"rx-pause=", -EINVAL, "''", "off or on"},
	{"tx-pause=-1", -EINVAL, "-1", "off or on"},
	{"pfc=8", -EINVAL, "'8'", "0..7"},
	{"rx-pfc=3,,4", -EINVAL, "3,,4", "0..7"},
	{"rx-pfc=4-3", -EINVAL, "4-3", "0..7"},
	{"tx-pfc=", -EINVAL, "''", "0..7"},
	{"tx-pfc=0-8", -EINVAL, "0-8", "0..7"},
	{"tx-pfc=three", -EINVAL, "three", "0..7"},
	{"prio-tc=0,0,0", -EINVAL, "0,0,0", "8 classes in 0..7"},
	{"prio-tc=0,0,0,0,0,0,0,8", -EINVAL, "0,8", "0..7"},
	{"prio-tc=0,0,0,0,0,0,0,0,0", -EINVAL, "0,0,0,0,0,0,0,0,0", "8 classes"},
	{"tc=8:strict", -EINVAL, "8:strict", "0..7"},
	{"tc=0:ets:101", -EINVAL, "101", "0..100"},
	{"tc=0:ets", -EINVAL, "0:ets", "SHARE"},
	{"tc=0:ets:-1", -EINVAL, "-1", "0..100"},
	{"tc=0:strict:5", -EINVAL, "0:strict:5", "TCS:strict"},
	{"tc=0:wrr:5", -EINVAL, "wrr", "strict"},
	{"tc=0", -EINVAL, "'0'", "TCS:strict"},
	{"tc=0:ets:5:6", -EINVAL, "0:ets:5:6", "SHARE"},
	{"tc-bw=101", -EINVAL, "101", "0..100"},
	{"tc-bw=50,,50", -EINVAL, "50,,50", "0..100"},
	{"tc-bw=1,2,3,4,5,6,7,8,9", -EINVAL, "8,9", "up to 8"},
	{"tc-rate=0:56001", -EINVAL, "56001", "0..56000"},
	{"tc-rate=8:100", -EINVAL, "8:100", "0..7"},
	{"tc-rate=100", -EINVAL, "'100'", "TCS:RATE"},
	{"tc-rate=0:fast", -EINVAL, "fast", "0..56000"},
	{"trust=3", -EINVAL, "'3'", "pcp or dscp"},
	{"trust=0", -EINVAL, "'0'", "pcp or dscp"},
	{"trust=DSCP", -EINVAL, "DSCP", "pcp or dscp"},
	{"tx-dscp=0,1,2,3,4,5,6,64", -EINVAL, "64", "0..63"},
	{"tx-dscp=1", -EINVAL, "'1'", "8 DSCPs"},
	{"mark-dscp=yes", -EINVAL, "yes", "off or on"},
	{"tx-untag-priority=2", -EINVAL, "'2'", "off or on"},
	{"tag-untagged=on", -EINVAL, "'on'", "none, priority, vlan or both"},
	{"port-vlan=4096", -EINVAL, "'4096'", "0..4095"},
	{"rx-untagged-lossless=x", -EINVAL, "'x'", "off or on"},
	{"dscp-ets=2", -EINVAL, "'2'", "off or on"},
	{"dscp-pfc=2", -EINVAL, "'2'", "off or on"},
	{"dscp-gfc=64", -EINVAL, "64", "0..63"},
	{"dscp-gfc=-1", -EINVAL, "-1", "0..63"},
	{"rx-stall-timeout=9", -EINVAL, "'9'", "0 or 10..60000 ms"},
	{"rx-stall-timeout=60001", -EINVAL, "60001", "0 or 10..60000 ms"},
	{"rx-stall-timeout=1s", -EINVAL, "1s", "0 or 10..60000 ms"},
	{"rx-stall-minor=60000", -EINVAL, "60000", "0..59999 ms"},
	{"hol-lifetime=99", -EINVAL, "'99'", "0 or 100..10000000 us"},
	{"hol-lifetime=10000001", -EINVAL, "10000001", "0 or 100..10000000 us"},
	{"hol-lifetime=4294967396", -EINVAL, "4294967396", "0 or 100..10000000 us"},
	{"stall-count=0", -EINVAL, "'0'", "1..255"},
	{"stall-count=256", -EINVAL, "256", "1..255"},
	{"rule=udp:0:3", -EINVAL, "udp:0:3", "1..65535"},
	{"rule=udp:65536:3", -EINVAL, "65536", "1..65535"},
	{"rule=udp:9-8:3", -EINVAL, "9-8", "1..65535"},
	{"rule=udp:4791:8", -EINVAL, "4791:8", "0..7"},
	{"rule=udp:4791:3:64", -EINVAL, "3:64", "0..63"},
	{"rule=udp:4791", -EINVAL, "udp:4791", "PRIO"},
	{"rule=default:80:1", -EINVAL, "default:80:1", "default"},
	{"rule=sctp:80:1", -EINVAL, "sctp", "tcp|udp"},
	{"rule=tcp:80:1:2:3", -EINVAL, "1:2:3", "DSCP"},
	{"trusty=dscp", -ENOENT, "trusty", "nearest is trust"},
	{"rx-stall=10", -ENOENT, "rx-stall", "nearest is rx-stall-timeout"},
	{"PFC=3", -ENOENT, "PFC", "nearest is pfc"},
	{"a-key-that-is-much-longer-than-any-key-of-the-table=1", -ENOENT, "a-key-that-is-much", "nearest"},
	{"trust", -EINVAL, "trust", "KEY=VALUE"},
	{"=dscp", -EINVAL, "=dscp", "KEY=VALUE"},
	{"", -EINVAL, "''", "KEY=VALUE"},
};

static void
keys_and_ranges(void **state)
{
	struct tp_qos_key key;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		assert_int_equal(tp_qos_port_key(i, &key), 0);
		assert_key(&key, &wanted[i]);
	}
	assert_int_equal(tp_qos_port_key(i, &key), -ENOENT);
}

static void
defaults(void **state)
{
	struct tp_qos_port q;
	unsigned int i;

	(void)state;
	memset(&q, 0xa5, sizeof(q));
	tp_qos_port_default(&q);
	assert_false(q.rx_pause || q.tx_pause || q.mark_dscp || q.tx_untag_priority || q.rx_untagged_lossless);
	assert_false(q.dscp_ets || q.dscp_pfc);
	assert_int_equal(q.rx_pfc | q.tx_pfc, 0);
	for (i = 0; i < 8; i++) {
		assert_int_equal(q.prio_tc[i], 0);
		assert_int_equal(q.tx_dscp[i], i);
		assert_int_equal(q.tc[i].tsa, TP_TSA_STRICT);
		assert_int_equal(q.tc[i].bw_pct, 0);
		assert_int_equal(q.tc[i].rate_mbps, 0);
	}
	assert_int_equal(q.trust, TP_TRUST_PCP);
	assert_int_equal(q.dscp_gfc, 26);
	assert_int_equal(q.untagged_prio, 0);
	assert_int_equal(q.rx_stall_ms + q.rx_stall_minor_ms + q.hol_lifetime_us, 0);
	assert_int_equal(q.hol_stall_count, 7);
	assert_int_equal(q.num_rules, 0);
}

static void
taken_and_printed(void **state)
{
	struct tp_qos_port q;
	unsigned int i;
	char *text;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		tp_qos_port_default(&q);
		port_words(&q, good[i].words);
		text = port_text(&q, false);
		assert_string_equal(text, good[i].text);
		free(text);
	}
}

/* The members, for a word of each kind: what is printed could be wrong in the same way as what is taken. */
static void
members(void **state)
{
	struct tp_qos_port q;

	(void)state;
	tp_qos_port_default(&q);
	port_words(
		&q,
		"rx-pause=on rx-pfc=3,4 tx-pfc=0 prio-tc=7,6,5,4,3,2,1,0 tc=2:ets:35 tc-rate=3:2500 trust=dscp "
		"tx-dscp=10,11,12,13,14,15,16,17 dscp-gfc=31 untagged-prio=5 rx-stall-timeout=1000 rx-stall-minor=400 "
		"hol-lifetime=65536 stall-count=200 rule=rdma:300-400:6:46 rule=udp:4791:2 rule=tcp:*:1");
	assert_true(q.rx_pause && !q.tx_pause);
	assert_int_equal(q.rx_pfc, 0x18);
	assert_int_equal(q.tx_pfc, 0x01);
	assert_int_equal(q.prio_tc[0], 7);
	assert_int_equal(q.prio_tc[7], 0);
	assert_int_equal(q.tc[2].tsa, TP_TSA_ETS);
	assert_int_equal(q.tc[2].bw_pct, 35);
	assert_int_equal(q.tc[3].rate_mbps, 2500);
	assert_int_equal(q.trust, TP_TRUST_DSCP);
	assert_int_equal(q.tx_dscp[7], 17);
	assert_int_equal(q.dscp_gfc, 31);
	assert_int_equal(q.untagged_prio, 5);
	assert_int_equal(q.rx_stall_ms, 1000);
	assert_int_equal(q.rx_stall_minor_ms, 400);
	assert_int_equal(q.hol_lifetime_us, 65536);
	assert_int_equal(q.hol_stall_count, 200);
	assert_int_equal(q.num_rules, 3);
	assert_int_equal(q.rule[0].match, TP_MATCH_RDMA);
	assert_int_equal(q.rule[0].lo, 300);
	assert_int_equal(q.rule[0].hi, 400);
	assert_int_equal(q.rule[0].prio, 6);
	assert_int_equal(q.rule[0].dscp, 46);
	assert_int_equal(q.rule[1].match, TP_MATCH_UDP_PORT);
	assert_int_equal(q.rule[1].dscp, -1);
	assert_int_equal(q.rule[2].match, TP_MATCH_TCP);
}

static void
refused(void **state)
{
	struct tp_qos_port q, before;
	char err[TP_ERR_LEN], word[2048];
	unsigned int i;

	(void)state;
	tp_qos_port_default(&q);
	port_words(&q, "trust=dscp prio-tc=0,0,0,1,0,0,0,0 rule=udp:1:1 tc-rate=3:100 hol-lifetime=500");
	before = q;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(tp_qos_port_word(&q, bad[i].word, err), bad[i].ret);
		assert_refusal(err, bad[i].value, bad[i].range);
		assert_memory_equal(&q, &before, sizeof(q));
	}
	memset(word, '1', sizeof(word) - 1);
	memcpy(word, "dscp-gfc=", 9);
	word[sizeof(word) - 1] = '\0';
	assert_int_equal(tp_qos_port_word(&q, word, err), -EINVAL);
	assert_refusal(err, "2038", "511");
}

/* An illegal default priority falls back, and says so. */
static void
falls_back(void **state)
{
	static const char *const words[] = {"untagged-prio=8", "untagged-prio=-1", "untagged-prio=x", "untagged-prio="};
	struct tp_qos_port q;
	char err[TP_ERR_LEN];
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		tp_qos_port_default(&q);
		port_words(&q, "untagged-prio=5");
		assert_int_equal(tp_qos_port_word(&q, words[i], err), 0);
		assert_int_equal(q.untagged_prio, 0);
		assert_refusal(err, words[i] + strlen("untagged-prio="), "0..7");
		assert_non_null(strstr(err, "default 0"));
	}
}

static void
rules_run_out(void **state)
{
	char err[TP_ERR_LEN], word[32];
	struct tp_qos_port q;
	unsigned int i;

	(void)state;
	tp_qos_port_default(&q);
	for (i = 1; i <= 64; i++) {
		snprintf(word, sizeof(word), "rule=udp:%u:1", i);
		port_words(&q, word);
	}
	assert_int_equal(tp_qos_port_word(&q, "rule=udp:65:1", err), -ENOSPC);
	assert_refusal(err, "65", "at most 64");
	assert_int_equal(q.num_rules, 64);
	assert_int_equal(q.rule[63].lo, 64);
}

/* What is printed is taken again and gives the same, whatever it was. */
static void
round_trip(void **state)
{
	unsigned int seed = 1, i, k, taken = 0;
	char word[256], err[TP_ERR_LEN];
	struct tp_qos_port q, again;
	struct tp_qos_key key;
	char *text, *text2;

	(void)state;
	for (i = 0; i < 300; i++) {
		tp_qos_port_default(&q);
		for (k = 0; k < 400; k++) {
			tp_qos_port_key((unsigned int)rand_r(&seed) % 24, &key);
			random_word(&seed, key.name, word, sizeof(word));
			taken += tp_qos_port_word(&q, word, err) == 0;
		}
		tp_qos_port_default(&again);
		text = port_text(&q, i % 2 == 0);
		port_words(&again, text);
		assert_memory_equal(&again, &q, sizeof(q));
		text2 = port_text(&again, i % 2 == 0);
		assert_string_equal(text2, text);
		free(text);
		free(text2);
	}
	assert_true(taken > 3000);
}

static void
random_text(void **state)
{
	struct tp_qos_port q, before;

	(void)state;
	tp_qos_port_default(&q);
	kind_random(&port_kind, 24, 7, &q, &before, sizeof(before));
}

/* How far apart words are: Levenshtein's distances as textbooks have them, and 0 for how a key begins. */
static void
distances(void **state)
{
	static const struct {
		const char *a, *b;
		unsigned int apart;
	} row[] = {{"kitten", "sitting", 3}, {"sunday", "saturday", 3},
		   {"flaw", "lawn", 2},      {"gumbo", "gambol", 2},
		   {"", "abc", 3},           {"abc", "", 3},
		   {"abc", "xyz", 3},        {"abcd", "bcda", 2},
		   {"book", "back", 2},      {"rx", "rx-pause", 0},
		   {"rx-pause", "rx", 6},    {"prio", "tx-prio", 3}};

	(void)state;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		assert_int_equal(word_distance(row[i].a, row[i].b), row[i].apart);
}

/* A value may be as long as there is room for it and its end. */
static void
long_values(void **state)
{
	char word[600], err[TP_ERR_LEN];
	struct tp_qos_port q;

	(void)state;
	for (unsigned int len = WORDS_VALUE_LEN - 2; len <= WORDS_VALUE_LEN + 1; len++) {
		tp_qos_port_default(&q);
		memset(word, 0, sizeof(word));
		strcpy(word, "rule=");
		memset(word + 5, 'x', len);
		assert_int_equal(tp_qos_port_word(&q, word, err), -EINVAL);
		assert_int_equal(strstr(err, "characters") != NULL, len >= WORDS_VALUE_LEN);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_and_ranges), cmocka_unit_test(defaults),    cmocka_unit_test(taken_and_printed),
		cmocka_unit_test(members),         cmocka_unit_test(refused),     cmocka_unit_test(falls_back),
		cmocka_unit_test(rules_run_out),   cmocka_unit_test(round_trip),  cmocka_unit_test(random_text),
		cmocka_unit_test(distances),       cmocka_unit_test(long_values),
	};

	return cmocka_run_group_tests_name("qos_words", tests, NULL, NULL);
}
