/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Groups of queues: words, the judgement against the port and beside the other groups, the Ethertype table. */
#include <errno.h>

#include "words_test.h"

#define BASE "mac=02:00:00:00:00:01 queues=1 "

static const struct want_key wanted[] = {
	{"default", "", "off", "off or on", 0, 0},
	{"mac", "", "none", "none or a unicast address such as 02:00:00:00:00:01", 0, 0},
	{"vlan", "", "any", "any, none or 0..4095", 0, 4095},
	{"rss", "", "none", "none, all or ipv4,tcp4,udp4,ipv6,tcp6,udp6", 0, 0},
	{"flood", "", "on", "off or on", 0, 0},
	{"queues", "", "none", "up to 64 such as 4-7,9 in 0..1023", 0, 1023},
	{"lcore", "", "any", "any or 0..251", 0, 251},
	{"mempool", "", "", "up to 31 printable characters", 0, 0},
	{"lookahead", "octets", "0", "0 or 32..1024", 32, 1024},
	{"prio", "", "0", "0..7", 0, 7},
	{"tc", "", "any", "any or 0..7", 0, 7},
	{"dscp", "", "none", "none or 0..63", 0, 63},
	{"trust", "", "port", "port, pcp or dscp", 0, 0},
	{"pfc", "", "port", "port, off or on", 0, 0},
	{"dropless", "100 us", "off", "off, forever or 0..65535", 0, 65535},
	{"rate", "Mb/s", "0", "0..56000", 0, 56000},
	{"hol-lifetime", "us", "0", "0 or 100..10000000", 100, 10000000},
	{"antispoof-mac", "", "off", "off or on", 0, 0},
	{"antispoof-type", "", "off", "off or on", 0, 0},
	{"ethertypes", "", "default", "default or up to 8 of 0, 0x0600..0xffff", 0, 65535},
};

static const struct good_word good[] = {
	{"", ""},
	{"default=on", "default=on\n"},
	{"mac=02:00:00:00:00:01", "mac=02:00:00:00:00:01\n"},
	{"mac=FE:dc:BA:98:76:54", "mac=fe:dc:ba:98:76:54\n"},
	{"mac=02:00:00:00:00:01 mac=none", ""},
	{"vlan=0", "vlan=0\n"},
	{"vlan=4095", "vlan=4095\n"},
	{"vlan=none", "vlan=none\n"},
	{"vlan=5 vlan=any", ""},
	{"rss=all", "rss=all\n"},
	{"rss=udp6,ipv4", "rss=ipv4,udp6\n"},
	{"rss=ipv4,tcp4,udp4,ipv6,tcp6,udp6", "rss=all\n"},
	{"rss=tcp4 rss=none", ""},
	{"flood=off", "flood=off\n"},
	{"queues=4-7,9", "queues=4-7,9\n"},
	{"queues=9,3,4", "queues=9,3,4\n"},
	{"queues=0-63", "queues=0-63\n"},
	{"queues=1023", "queues=1023\n"},
	{"lcore=0", "lcore=0\n"},
	{"lcore=251", "lcore=251\n"},
	{"mempool=guest_7", "mempool=guest_7\n"},
	{"mempool=guest mempool=", ""},
	{"lookahead=32", "lookahead=32\n"},
	{"lookahead=1024", "lookahead=1024\n"},
	{"prio=7 tc=7 dscp=63", "prio=7\ntc=7\ndscp=63\n"},
	{"tc=0 dscp=0", "tc=0\ndscp=0\n"},
	{"trust=dscp pfc=on", "trust=dscp\npfc=on\n"},
	{"trust=1 pfc=0", "trust=pcp\npfc=off\n"},
	{"dropless=50", "dropless=50\n"},
	{"dropless=65535", "dropless=forever\n"},
	{"dropless=forever dropless=0", ""},
	{"rate=56000 hol-lifetime=100", "rate=56000\nhol-lifetime=100\n"},
	{"antispoof-mac=on antispoof-type=on", "antispoof-mac=on\nantispoof-type=on\n"},
	{"ethertypes=0x0800", "ethertypes=0x0800\n"},
	{"ethertypes=0,0x600,65535", "ethertypes=0x0000,0x0600,0xffff\n"},
	{"ethertypes=0x8906", "ethertypes=0x8906,0x8914\n"},
	{"ethertypes=0x8914,0x0800", "ethertypes=0x8914,0x8906,0x0800\n"},
	{"ethertypes=0x8906,0x8914", "ethertypes=0x8906,0x8914\n"},
	{"ethertypes=0x601,0x602,0x603,0x604,0x605,0x606,0x8906",
	 "ethertypes=0x0601,0x0602,0x0603,0x0604,0x0605,0x0606,0x8906,0x8914\n"},
	{"ethertypes=0x0800 ethertypes=default", ""},
};

static const struct bad_word bad[] = {
	{"default=maybe", -EINVAL, "maybe", "off or on"},
	{"mac=01:00:00:00:00:01", -EINVAL, "01:00:00:00:00:01", "unicast"},
	{"mac=ff:ff:ff:ff:ff:ff", -EINVAL, "ff:ff:ff:ff:ff:ff", "unicast"},
	{"mac=00:00:00:00:00:00", -EINVAL, "00:00:00:00:00:00", "unicast"},
	{"mac=02:00:00:00:00", -EINVAL, "'02:00:00:00:00'", "unicast"},
	{"mac=02:00:00:00:00:01:02", -EINVAL, "02:00:00:00:00:01:02", "unicast"},
	{"mac=02-00-00-00-00-01", -EINVAL, "02-00-00-00-00-01", "unicast"},
	{"mac=0200.0000.0001", -EINVAL, "0200.0000.0001", "unicast"},
	{"mac=", -EINVAL, "''", "unicast"},
	{"vlan=4096", -EINVAL, "4096", "any, none or 0..4095"},
	{"vlan=-1", -EINVAL, "-1", "0..4095"},
	{"vlan=65535", -EINVAL, "65535", "0..4095"},
	{"vlan=blue", -EINVAL, "blue", "0..4095"},
	{"rss=sctp", -EINVAL, "sctp", "ipv4,tcp4"},
	{"rss=tcp4,", -EINVAL, "tcp4,", "ipv4,tcp4"},
	{"rss=", -EINVAL, "''", "ipv4,tcp4"},
	{"flood=2", -EINVAL, "'2'", "off or on"},
	{"queues=1024", -EINVAL, "1024", "0..1023"},
	{"queues=0-64", -ENOSPC, "0-64", "up to 64"},
	{"queues=1,1", -EINVAL, "queues: 1", "once"},
	{"queues=1-3,2", -EINVAL, "queues: 2", "once"},
	{"queues=a", -EINVAL, "'a'", "0..1023"},
	{"queues=", -EINVAL, "''", "0..1023"},
	{"lcore=252", -EINVAL, "252", "any or 0..251"},
	{"lcore=-1", -EINVAL, "-1", "any or 0..251"},
	{"mempool=0123456789012345678901234567890123456789", -EINVAL, "0123456789", "31"},
	{"mempool=two words", -EINVAL, "two words", "printable"},
	{"lookahead=31", -EINVAL, "31", "0 or 32..1024 octets"},
	{"lookahead=1025", -EINVAL, "1025", "0 or 32..1024 octets"},
	{"prio=8", -EINVAL, "'8'", "0..7"},
	{"prio=high", -EINVAL, "high", "0..7"},
	{"tc=8", -EINVAL, "'8'", "any or 0..7"},
	{"dscp=64", -EINVAL, "64", "none or 0..63"},
	{"dscp=-1", -EINVAL, "-1", "none or 0..63"},
	{"trust=3", -EINVAL, "'3'", "port, pcp or dscp"},
	{"pfc=3", -EINVAL, "'3'", "port, off or on"},
	{"dropless=65536", -EINVAL, "65536", "off, forever or 0..65535 100 us"},
	{"dropless=-1", -EINVAL, "-1", "0..65535"},
	{"dropless=5ms", -EINVAL, "5ms", "0..65535"},
	{"rate=56001", -EINVAL, "56001", "0..56000 Mb/s"},
	{"hol-lifetime=99", -EINVAL, "99", "0 or 100..10000000 us"},
	{"antispoof-mac=3", -EINVAL, "'3'", "off or on"},
	{"antispoof-type=3", -EINVAL, "'3'", "off or on"},
	{"ethertypes=0x05ff", -EINVAL, "0x05ff", "0x0600..0xffff"},
	{"ethertypes=1", -EINVAL, "'1'", "0, 0x0600"},
	{"ethertypes=0x10000", -EINVAL, "0x10000", "0xffff"},
	{"ethertypes=ipv4", -EINVAL, "ipv4", "0xffff"},
	{"ethertypes=", -EINVAL, "''", "default"},
	{"ethertypes=0x601,0x602,0x603,0x604,0x605,0x606,0x607,0x608,0x609", -ENOSPC, "0x601", "at most 8"},
	{"ethertypes=0x601,0x602,0x603,0x604,0x605,0x606,0x607,0x8906", -ENOSPC, "9 entries", "at most 8"},
	{"queue=1", -ENOENT, "queue", "queues"},
	{"priority=1", -ENOENT, "priority", "nearest"},
	{"mac", -EINVAL, "mac", "KEY=VALUE"},
};

static void
keys_and_ranges(void **state)
{
	struct tp_qos_key key;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		assert_int_equal(tp_group_key(i, &key), 0);
		assert_key(&key, &wanted[i]);
	}
	assert_int_equal(tp_group_key(i, &key), -ENOENT);
}

static void
defaults(void **state)
{
	struct tp_group g;

	(void)state;
	memset(&g, 0xa5, sizeof(g));
	tp_group_default(&g);
	assert_string_equal(g.name, "");
	assert_false(g.is_default || g.antispoof_mac || g.antispoof_type);
	assert_true(g.flood);
	assert_int_equal(g.vlan, TP_VLAN_ANY);
	assert_int_equal(g.rss | g.num_queues | g.lookahead | g.prio | g.trust | g.num_types, 0);
	assert_int_equal(g.lcore, -1);
	assert_int_equal(g.tc, -1);
	assert_int_equal(g.dscp, -1);
	assert_int_equal(g.pfc, -1);
	assert_int_equal(g.delay_drop + g.rate_mbps + g.hol_lifetime_us, 0);
	assert_string_equal(g.mempool, "");
}

static void
taken_and_printed(void **state)
{
	struct tp_group g;
	unsigned int i;
	char *text;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		tp_group_default(&g);
		group_words(&g, good[i].words);
		text = group_text(&g, false);
		assert_string_equal(text, good[i].text);
		free(text);
	}
}

static void
members(void **state)
{
	static const uint8_t mac[6] = {0x02, 0x1a, 0x2b, 0x3c, 0x4d, 0x5e};
	struct tp_group g;

	(void)state;
	tp_group_default(&g);
	group_words(
		&g,
		"mac=02:1a:2b:3c:4d:5e vlan=100 rss=tcp4,udp6 flood=off queues=4-6,9 lcore=3 mempool=p lookahead=128 "
		"prio=3 tc=1 dscp=26 trust=dscp pfc=on dropless=50 rate=1000 hol-lifetime=200 antispoof-mac=on "
		"antispoof-type=on ethertypes=0x0800,0x0806");
	assert_memory_equal(g.mac, mac, 6);
	assert_int_equal(g.vlan, 100);
	assert_int_equal(g.rss, TP_RSS_TCP4 | TP_RSS_UDP6);
	assert_false(g.flood);
	assert_int_equal(g.num_queues, 4);
	assert_int_equal(g.queue[0], 4);
	assert_int_equal(g.queue[2], 6);
	assert_int_equal(g.queue[3], 9);
	assert_int_equal(g.lcore, 3);
	assert_string_equal(g.mempool, "p");
	assert_int_equal(g.lookahead, 128);
	assert_int_equal(g.prio, 3);
	assert_int_equal(g.tc, 1);
	assert_int_equal(g.dscp, 26);
	assert_int_equal(g.trust, TP_TRUST_DSCP);
	assert_int_equal(g.pfc, 1);
	assert_int_equal(g.delay_drop, 50);
	assert_int_equal(g.rate_mbps, 1000);
	assert_int_equal(g.hol_lifetime_us, 200);
	assert_true(g.antispoof_mac && g.antispoof_type);
	assert_int_equal(g.num_types, 2);
	assert_int_equal(g.type[1], 0x0806);
}

static void
refused(void **state)
{
	struct tp_group g, before;
	char err[TP_ERR_LEN];
	unsigned int i;

	(void)state;
	tp_group_default(&g);
	group_words(&g, "mac=02:00:00:00:00:01 queues=1-3 rss=all dropless=7 ethertypes=0x8906");
	before = g;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(tp_group_word(&g, bad[i].word, err), bad[i].ret);
		assert_refusal(err, bad[i].value, bad[i].range);
		assert_memory_equal(&g, &before, sizeof(g));
	}
}

static void
names(void **state)
{
	static const char *const wrong[] = {"",         "two words", "a/b", "0123456789012345678901234567890_",
					    "\xc3\xa9", "a\n"};
	char err[TP_ERR_LEN];
	struct tp_group g;
	unsigned int i;

	(void)state;
	tp_group_default(&g);
	assert_int_equal(tp_group_name(&g, "web-1_A", err), 0);
	assert_string_equal(g.name, "web-1_A");
	assert_int_equal(tp_group_name(&g, "0123456789012345678901234567890", err), 0);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(tp_group_name(&g, wrong[i], err), -EINVAL);
		assert_refusal(err, "name: '", "1..31 letters");
	}
	assert_string_equal(g.name, "0123456789012345678901234567890");
}

static const struct {
	const char *port, *group;
	int ret;
	const char *value, *range;
} judged[] = {
	{"", BASE, 0, "", ""},
	{"", BASE "vlan=100 rss=all prio=7 dscp=46 dropless=50 rate=40000 antispoof-mac=on", 0, "", ""},
	{"", "default=on queues=0-63 rss=all", 0, "", ""},
	{"", "default=on queues=0 mac=02:00:00:00:00:01", -EINVAL, "02:00:00:00:00:01", "none"},
	{"", "default=on queues=0 vlan=5", -EINVAL, "vlan: 5", "any"},
	{"", "queues=0", -EINVAL, "00:00:00:00:00:00", "default=on"},
	{"", "mac=02:00:00:00:00:01", -EINVAL, "queues: 0", "1..64"},
	{"", "mac=02:00:00:00:00:01 queues=63-64", -EINVAL, "queues: 64", "below 64"},
	{"", BASE "rate=40001", -EINVAL, "40001", "40000 Mb/s"},
	/* class and trust are the port's */
	{"prio-tc=0,0,0,1,0,0,0,0", BASE "prio=3 tc=1", 0, "", ""},
	{"prio-tc=0,0,0,1,0,0,0,0", BASE "prio=3 tc=0", -EINVAL, "tc: 0", "any or 1"},
	{"", BASE "tc=1", -EINVAL, "tc: 1", "any or 0"},
	{"trust=dscp", BASE "trust=dscp", 0, "", ""},
	{"trust=dscp", BASE "trust=pcp", -EINVAL, "trust: pcp", "port or dscp"},
	{"", BASE "trust=dscp", -EINVAL, "trust: dscp", "port or pcp"},
	/* lossless needs flow control on the priority */
	{"pfc=3", BASE "prio=3 pfc=on dropless=50", 0, "", ""},
	{"pfc=3", BASE "prio=4 pfc=on", -EINVAL, "pfc: on", "no PFC on priority 4"},
	{"", BASE "prio=3 pfc=on", -EINVAL, "pfc: on", "no PFC on priority 3"},
	{"pfc=3", BASE "prio=3 pfc=off", -EINVAL, "pfc: off", "port or on"},
	{"pfc=3", BASE "prio=4 pfc=off", 0, "", ""},
	{"pfc=3", BASE "prio=4 dropless=50", -EINVAL, "dropless: 50", "tx-pfc on priority 4"},
	{"tx-pause=on", BASE "prio=4 dropless=65535", 0, "", ""},
	{"", BASE "pfc=off dropless=1", -EINVAL, "dropless: 1", "lossy"},
	{"", "default=on queues=1 antispoof-mac=on", -EINVAL, "antispoof-mac: on", "off"},
};

static void
against_the_port(void **state)
{
	char err[TP_ERR_LEN];
	struct tp_qos_limits no_wait = full;
	struct tp_qos_port q;
	struct tp_group g;
	unsigned int i;
	int ret;

	(void)state;
	for (i = 0; i < sizeof(judged) / sizeof(judged[0]); i++) {
		tp_qos_port_default(&q);
		port_words(&q, judged[i].port);
		tp_group_default(&g);
		assert_int_equal(tp_group_name(&g, "g", err), 0);
		group_words(&g, judged[i].group);
		ret = tp_group_check(&g, &q, &full, err);
		if (ret != judged[i].ret)
			print_message("%s: %d %s\n", judged[i].group, ret, err);
		assert_int_equal(ret, judged[i].ret);
		assert_refusal(err, judged[i].value, judged[i].range);
	}
	tp_qos_port_default(&q);
	tp_group_default(&g);
	group_words(&g, BASE "dropless=1");
	assert_int_equal(tp_group_check(&g, &q, &full, err), -EINVAL);
	assert_refusal(err, "name: ''", "1..31");
	assert_int_equal(tp_group_name(&g, "g", err), 0);
	no_wait.delay_drop = false;
	assert_int_equal(tp_group_check(&g, &q, &no_wait, err), -ENOTSUP);
	assert_refusal(err, "dropless: 1", "2.31.5050");
	no_wait.max_tc = 2;
	no_wait.max_rx_queues = 0;
	group_words(&g, "dropless=0");
	assert_int_equal(tp_group_check(&g, &q, &no_wait, err), -EINVAL);
	assert_refusal(err, "queues: 1", "below 0");
}

static void
members_out_of_range(void **state)
{
	char err[TP_ERR_LEN];
	struct tp_qos_port q;
	struct tp_group g;

	(void)state;
	tp_qos_port_default(&q);
#define REFUSED(member, v, value, range)                                                                               \
	do {                                                                                                           \
		tp_group_default(&g);                                                                                  \
		assert_int_equal(tp_group_name(&g, "g", err), 0);                                                      \
		group_words(&g, BASE "queues=1,2");                                                                    \
		assert_int_equal(tp_group_check(&g, &q, &full, err), 0);                                               \
		g.member = v;                                                                                          \
		assert_int_equal(tp_group_check(&g, &q, &full, err), -EINVAL);                                         \
		assert_refusal(err, value, range);                                                                     \
	} while (0)
	REFUSED(name[0], '/', "'/'", "1..31");
	REFUSED(mac[0], 3, "03:00:00:00:00:01", "unicast");
	REFUSED(vlan, 4096, "4096", "any, none or 0..4095");
	REFUSED(vlan, 0xfffd, "65533", "any, none or 0..4095");
	REFUSED(rss, 0x40, "0x40", "0x3f");
	REFUSED(num_queues, 65, "65", "1..64");
	REFUSED(queue[1], 64, "queues: 64", "below 64");
	REFUSED(queue[1], 1, "queues: 1", "once");
	REFUSED(lcore, -2, "lcore: -2", "any or 0..251");
	REFUSED(lcore, 252, "lcore: 252", "any or 0..251");
	REFUSED(lookahead, 31, "31", "0 or 32..1024 octets");
	REFUSED(lookahead, 1025, "1025", "0 or 32..1024 octets");
	REFUSED(prio, 8, "prio: 8", "0..7");
	REFUSED(tc, 8, "tc: 8", "any or 0..7");
	REFUSED(tc, -2, "tc: -2", "any or 0..7");
	REFUSED(dscp, 64, "dscp: 64", "none or 0..63");
	REFUSED(dscp, -2, "dscp: -2", "none or 0..63");
	REFUSED(trust, 3, "trust: 3", "0 (port), 1 (pcp) or 2 (dscp)");
	REFUSED(pfc, 2, "pfc: 2", "1 (on)");
	REFUSED(pfc, -2, "pfc: -2", "-1 (port)");
	REFUSED(delay_drop, 65536, "65536", "0..65535");
	REFUSED(rate_mbps, 40001, "40001", "1..40000");
	REFUSED(hol_lifetime_us, 10000001, "10000001", "0 or 100..10000000 us");
	REFUSED(num_types, 9, "9 entries", "at most 8");
	REFUSED(num_types, 2, "0x0000 is named twice", "once");
	tp_group_default(&g);
	assert_int_equal(tp_group_name(&g, "g", err), 0);
	group_words(&g, BASE);
	g.num_types = 1;
	g.type[0] = 0x05ff;
	assert_int_equal(tp_group_check(&g, &q, &full, err), -EINVAL);
	assert_refusal(err, "0x05ff", "0x0600..0xffff");
	memset(g.mempool, 'x', sizeof(g.mempool));
	assert_int_equal(tp_group_check(&g, &q, &full, err), -EINVAL);
	assert_refusal(err, "mempool", "31");
#undef REFUSED
}

static void
beside_others(void **state)
{
	static const struct {
		const char *name, *words;
		int ret;
		const char *value, *range;
	} cases[] = {
		{"c", "mac=02:00:00:00:00:03 queues=5", 0, "", ""},
		{"c", "mac=02:00:00:00:00:01 vlan=7 queues=5", 0, "", ""},
		{"a", "mac=02:00:00:00:00:03 queues=5", -EEXIST, "name: 'a'", "no group"},
		{"c", "mac=02:00:00:00:00:01 queues=5", -EEXIST, "02:00:00:00:00:01", "group 'a'"},
		{"c", "default=on queues=5", -EEXIST, "default: on", "group 'b'"},
		{"c", "mac=02:00:00:00:00:03 queues=5,3", -EBUSY, "queues: 3", "group 'b'"},
	};
	const struct tp_group *all[127];
	struct tp_group a, b, g;
	char err[TP_ERR_LEN];
	unsigned int i;

	(void)state;
	tp_group_default(&a);
	tp_group_default(&b);
	group_words(&a, "mac=02:00:00:00:00:01 queues=1");
	group_words(&b, "default=on queues=2,3");
	strcpy(a.name, "a");
	strcpy(b.name, "b");
	all[0] = &a;
	all[1] = &b;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tp_group_default(&g);
		assert_int_equal(tp_group_name(&g, cases[i].name, err), 0);
		group_words(&g, cases[i].words);
		assert_int_equal(tp_group_check_others(&g, all, 2, &full, err), cases[i].ret);
		assert_refusal(err, cases[i].value, cases[i].range);
	}
	for (i = 0; i < 127; i++)
		all[i] = &a;
	tp_group_default(&g);
	assert_int_equal(tp_group_name(&g, "g", err), 0);
	group_words(&g, "mac=02:00:00:00:00:03 queues=5");
	assert_int_equal(tp_group_check_others(&g, all, 126, &full, err), 0);
	assert_int_equal(tp_group_check_others(&g, all, 127, &full, err), -ENOSPC);
	assert_refusal(err, "number 128", "at most 127");
}

/* IPv4, ARP and IPv6 unless something is listed; FCoE and its initialisation protocol together. */
static void
ethertypes(void **state)
{
	uint16_t type[TP_ANTISPOOF_TYPES];
	struct tp_group g;

	(void)state;
	tp_group_default(&g);
	assert_int_equal(tp_group_types(&g, type), 3);
	assert_int_equal(type[0], 0x0800);
	assert_int_equal(type[1], 0x0806);
	assert_int_equal(type[2], 0x86dd);
	group_words(&g, "ethertypes=0x0800");
	assert_int_equal(tp_group_types(&g, type), 1);
	assert_int_equal(type[0], 0x0800);
	/* a program may set one of the pair only */
	g.num_types = 2;
	g.type[1] = 0x8914;
	assert_int_equal(tp_group_types(&g, type), 3);
	assert_int_equal(type[1], 0x8914);
	assert_int_equal(type[2], 0x8906);
}

static void
round_trip(void **state)
{
	unsigned int seed = 3, i, k, taken = 0;
	char word[256], err[TP_ERR_LEN];
	struct tp_group g, again;
	struct tp_qos_key key;
	char *text;

	(void)state;
	for (i = 0; i < 300; i++) {
		tp_group_default(&g);
		for (k = 0; k < 400; k++) {
			tp_group_key((unsigned int)rand_r(&seed) % 20, &key);
			random_word(&seed, key.name, word, sizeof(word));
			taken += tp_group_word(&g, word, err) == 0;
		}
		tp_group_default(&again);
		text = group_text(&g, i % 2 == 0);
		group_words(&again, text);
		assert_memory_equal(&again, &g, sizeof(g));
		free(text);
	}
	assert_true(taken > 3000);
}

static void
random_text(void **state)
{
	struct tp_group g, before;

	(void)state;
	tp_group_default(&g);
	kind_random(&group_kind, 20, 11, &g, &before, sizeof(before));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_and_ranges),   cmocka_unit_test(defaults),
		cmocka_unit_test(taken_and_printed), cmocka_unit_test(members),
		cmocka_unit_test(refused),           cmocka_unit_test(names),
		cmocka_unit_test(against_the_port),  cmocka_unit_test(members_out_of_range),
		cmocka_unit_test(beside_others),     cmocka_unit_test(ethertypes),
		cmocka_unit_test(round_trip),        cmocka_unit_test(random_text),
	};

	return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
