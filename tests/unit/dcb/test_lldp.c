/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The LLDP agent in virtual time. Frames are written here octet by octet, from IEEE 802.1AB. */
#include <errno.h>

#include "lldp_one.h"

#define SEC 1000u

static int
says(uint8_t id, uint16_t ttl, uint64_t now)
{
	uint8_t f[sizeof(hello)];

	memcpy(f, hello, sizeof(f));
	f[11] = f[22] = f[31] = id;
	f[TTL_AT] = (uint8_t)(ttl >> 8);
	f[TTL_AT + 1] = (uint8_t)ttl;
	return tp_lldp_input(&agent, f, sizeof(f), now);
}

/* A frame with these TLVs behind the mandatory ones. */
static int
says_more(const uint8_t *tlvs, size_t n, uint64_t now)
{
	uint8_t f[sizeof(hello) + 600];

	memcpy(f, hello, sizeof(hello) - 2);
	memcpy(f + sizeof(hello) - 2, tlvs, n);
	return tp_lldp_input(&agent, f, sizeof(hello) - 2 + n, now);
}
#define SAYS(...) says_more((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), 0)

/* How many frames go out in [from, to] when the agent is polled each 100 ms. */
static unsigned int
frames_in(uint64_t from, uint64_t to)
{
	unsigned int n = 0;
	uint64_t t;

	for (t = from; t <= to; t += 100)
		while (tp_lldp_poll(&agent, t, out) > 0)
			n++;
	return n;
}

static void
first_frame(void **state)
{
	static const uint8_t want[] = {
		0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x88, 0xcc, /* Ethernet */
		0x02, 0x07, 0x04, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01,                               /* chassis */
		0x04, 0x07, 0x03, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01,                               /* port */
		0x06, 0x02, 0x00, 0x79,                                                             /* 30 x 4 + 1 */
		0x0e, 0x04, 0x00, 0x80, 0x00, 0x80,                                                 /* station */
		0x00, 0x00,
	};

	(void)state;
	assert_int_equal(tp_lldp_poll(&agent, 5, out), sizeof(want));
	assert_memory_equal(out, want, sizeof(want));
	assert_int_equal(tp_lldp_poll(&agent, 5, out), 0);
	assert_int_equal(tp_lldp_next(&agent), 5 + 30 * SEC);
}

static void
names_are_sent(void **state)
{
	static const uint8_t want[] = {0x08, 0x02, 'p', '0', 0x0a, 0x04, 'h', 'o', 's', 't'};
	struct tp_lldp_conf c;

	(void)state;
	tp_lldp_conf_default(&c, own_mac);
	strcpy(c.port_desc, "p0");
	strcpy(c.sys_name, "host");
	assert_int_equal(tp_lldp_init(&agent, &c, NULL), 0);
	tp_lldp_port_set(&agent, true);
	tp_lldp_admin_set(&agent, TP_LLDP_TX_ONLY);
	assert_int_equal(tp_lldp_poll(&agent, 0, out), 44 + sizeof(want));
	assert_memory_equal(out + 36, want, sizeof(want));
}

static void
times_out_of_range(void **state)
{
	struct tp_lldp_conf c, good;

	(void)state;
	tp_lldp_conf_default(&good, own_mac);
#define REFUSED(member, value)                                                                                         \
	do {                                                                                                           \
		c = good;                                                                                              \
		c.member = value;                                                                                      \
		assert_int_equal(tp_lldp_init(&agent, &c, NULL), -EINVAL);                                             \
	} while (0)
	REFUSED(tx_interval_s, 0);
	REFUSED(tx_interval_s, 3601);
	REFUSED(tx_hold, 0);
	REFUSED(tx_hold, 101);
	REFUSED(fast_interval_s, 0);
	REFUSED(fast_count, 9);
	REFUSED(credit_max, 0);
	REFUSED(credit_max, 11);
	REFUSED(reinit_s, 0);
	REFUSED(reinit_s, 11);
	REFUSED(fast_interval_s, 3601);
	REFUSED(fast_count, 0);
	REFUSED(chassis.len, 0);
	REFUSED(port.len, 0);
#undef REFUSED
	c = good;
	c.tx_interval_s = 3600;
	c.tx_hold = 100;
	assert_int_equal(tp_lldp_init(&agent, &c, NULL), 0);
	tp_lldp_port_set(&agent, true);
	tp_lldp_admin_set(&agent, TP_LLDP_TX_ONLY);
	assert_true(tp_lldp_poll(&agent, 0, out) > 0);
	assert_int_equal(out[TTL_AT] << 8 | out[TTL_AT + 1], 0xffff); /* 360001 s do not fit */
}

static void
intervals(void **state)
{
	(void)state;
	assert_int_equal(frames_in(0, 29900), 1);
	assert_int_equal(frames_in(30000, 89900), 2);
}

/* A new neighbour: at once, and then each second, txFastInit frames in all, before the interval counts again. */
static void
fast_start(void **state)
{
	(void)state;
	assert_int_equal(frames_in(0, 10000), 1);
	assert_int_equal(says(5, 120, 10050), 0);
	assert_int_equal(frames_in(10100, 12900), 3);
	assert_int_equal(frames_in(13000, 13900), 1);
	assert_int_equal(frames_in(14000, 43000), 0);
	assert_int_equal(says(5, 120, 43050), 0);     /* known: no hurry */
	assert_int_equal(frames_in(43100, 43200), 1); /* 30 s after the last */
}

/* txCredit: five frames at most at once, then one a second. */
static void
credit(void **state)
{
	unsigned int i, n = 0;

	(void)state;
	for (i = 0; i < 50; i++) {
		tp_lldp_local_changed(&agent);
		n += tp_lldp_poll(&agent, 100, out) > 0;
	}
	assert_int_equal(n, 5);
	assert_int_equal(tp_lldp_next(&agent), 1100);
	assert_int_equal(frames_in(100, 1000), 0);
	assert_int_equal(frames_in(1100, 1500), 1); /* changes in between go together */
	assert_int_equal(frames_in(1600, 20000), 0);
}

static void
shutdown(void **state)
{
	static const uint8_t want[] = {
		0x02, 0x07, 0x04, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x04, 0x07, 0x03,
		0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x06, 0x02, 0x00, 0x00, 0x00, 0x00,
	};

	(void)state;
	assert_int_equal(frames_in(0, 1000), 1);
	assert_int_equal(says(5, 120, 1000), 0);
	tp_lldp_admin_set(&agent, TP_LLDP_OFF);
	assert_int_equal(tp_lldp_neighbours(&agent), 0);
	assert_int_equal(tp_lldp_poll(&agent, 2000, out), 14 + sizeof(want));
	assert_memory_equal(out + 14, want, sizeof(want));
	assert_int_equal(tp_lldp_poll(&agent, 2000, out), 0);
	tp_lldp_admin_set(&agent, TP_LLDP_RX_TX);
	assert_int_equal(frames_in(2000, 3900), 0); /* reinitDelay */
	assert_int_equal(frames_in(4000, 4000), 1);
	assert_int_equal(agent.stats.tx_frames, 3);
}

/* 9.2.8, TX_TIMER_INITIALIZE: what happened while nothing was sent is no reason to hurry, or to send twice, afterwards. */
static void
begins_anew(void **state)
{
	(void)state;
	tp_lldp_admin_set(&agent, TP_LLDP_RX_ONLY);
	assert_int_equal(frames_in(0, 1000), 0);
	assert_int_equal(says(5, 120, 1000), 0);
	tp_lldp_local_changed(&agent);
	tp_lldp_admin_set(&agent, TP_LLDP_RX_TX);
	assert_int_equal(frames_in(2000, 2000), 1);
	assert_int_equal(agent.credit, agent.conf.credit_max - 1);
	assert_int_equal(frames_in(2100, 31900), 0);
	assert_int_equal(frames_in(32000, 32000), 1);
}

static void
link_down(void **state)
{
	(void)state;
	assert_int_equal(frames_in(0, 1000), 1);
	tp_lldp_port_set(&agent, false);
	assert_int_equal(frames_in(1000, 100000), 0);
	assert_int_equal(tp_lldp_next(&agent), TP_LLDP_NEVER);
	tp_lldp_port_set(&agent, true);
	assert_int_equal(frames_in(100000, 100000), 1);
}

static void
ageing(void **state)
{
	(void)state;
	assert_int_equal(says(5, 3, 1000), 0);
	assert_int_equal(says(6, 10, 1000), 0);
	assert_int_equal(tp_lldp_neighbours(&agent), 2);
	(void)tp_lldp_poll(&agent, 3999, out);
	assert_int_equal(tp_lldp_neighbours(&agent), 2);
	assert_int_equal(says(6, 10, 3999), 0); /* refreshed */
	(void)tp_lldp_poll(&agent, 4000, out);
	assert_int_equal(tp_lldp_neighbours(&agent), 1);
	(void)tp_lldp_poll(&agent, 13998, out);
	assert_int_equal(tp_lldp_neighbours(&agent), 1);
	(void)tp_lldp_poll(&agent, 13999, out);
	assert_int_equal(tp_lldp_neighbours(&agent), 0);
	assert_int_equal(agent.stats.ageouts, 2);
	assert_int_equal(agent.stats.inserts, 2);
}

static void
good_bye(void **state)
{
	(void)state;
	assert_int_equal(says(5, 120, 0), 0);
	assert_int_equal(says(6, 0, 0), 0); /* of one that is not known */
	assert_int_equal(tp_lldp_neighbours(&agent), 1);
	assert_int_equal(says(5, 0, 0), 0);
	assert_int_equal(tp_lldp_neighbours(&agent), 0);
	assert_int_equal(agent.stats.deletes, 1);
	assert_int_equal(agent.stats.ageouts, 0);
	assert_int_equal(agent.stats.rx_discarded, 0);
}

static void
too_many(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < TP_LLDP_NEIGHBOURS; i++)
		assert_int_equal(says((uint8_t)(0x10 + i), 120, 0), 0);
	assert_int_equal(says(0x40, 50, 0), -ENOSPC);
	assert_true(agent.too_many);
	assert_int_equal(agent.stats.rx_discarded, 1);
	assert_int_equal(agent.stats.drops, 1);
	assert_int_equal(agent.stats.rx_errors, 0);
	assert_int_equal(says(0x41, 20, 10 * SEC), -ENOSPC); /* ends earlier than the first: the longer time stays */
	(void)tp_lldp_poll(&agent, 50 * SEC - 1, out);
	assert_true(agent.too_many);
	(void)tp_lldp_poll(&agent, 50 * SEC, out);
	assert_false(agent.too_many);
	assert_int_equal(says(0x10, 120, 50 * SEC), 0); /* one that is known has its room */
	assert_int_equal(tp_lldp_neighbours(&agent), TP_LLDP_NEIGHBOURS);
}

/* Frames that the agent must not even count: other Ethertype, other group, reception off. */
static void
not_ours(void **state)
{
	uint8_t f[sizeof(hello)];

	(void)state;
	memcpy(f, hello, sizeof(f));
	f[13] = 0xcd;
	assert_int_equal(tp_lldp_input(&agent, f, sizeof(f), 0), -ENOMSG);
	f[13] = 0xcc;
	f[5] = 0x03; /* nearest non-TPMR bridge */
	assert_int_equal(tp_lldp_input(&agent, f, sizeof(f), 0), -ENOMSG);
	assert_int_equal(tp_lldp_input(&agent, hello, 13, 0), -ENOMSG);
	tp_lldp_admin_set(&agent, TP_LLDP_TX_ONLY);
	assert_int_equal(says(5, 120, 0), -ENOMSG);
	assert_int_equal(agent.stats.rx_frames, 0);
}

/* Each cut of a good frame before the end of its TTL TLV is discarded; what is left out behind it is not missed. */
static void
cut_short(void **state)
{
	size_t len;

	(void)state;
	for (len = 14; len < sizeof(hello) - 2; len++)
		assert_int_equal(tp_lldp_input(&agent, hello, len, 0), -EBADMSG);
	assert_int_equal(agent.stats.rx_discarded, sizeof(hello) - 2 - 14);
	assert_int_equal(agent.stats.rx_errors, agent.stats.rx_discarded);
	assert_int_equal(tp_lldp_input(&agent, hello, sizeof(hello) - 2, 0), 0);
	assert_int_equal(tp_lldp_input(&agent, hello, sizeof(hello) - 1, 0), -EBADMSG); /* half an End TLV */
	assert_int_equal(tp_lldp_input(&agent, hello, sizeof(hello), 0), 0);
}

static void
padding_and_fcs(void **state)
{
	uint8_t f[64] = {0};

	(void)state;
	memcpy(f, hello, sizeof(hello));
	memset(f + 60, 0xee, 4);
	assert_int_equal(tp_lldp_input(&agent, f, sizeof(f), 0), 0);
	assert_int_equal(tp_lldp_input(&agent, hello, sizeof(hello), 0), 0);
	assert_int_equal(tp_lldp_neighbours(&agent), 1);
	assert_int_equal(agent.stats.rx_errors, 0);
}

/* Wrong first three: order, type, lengths. */
static void
mandatory(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} wrong[] = {
		{14, 0x04}, /* port first */
		{14, 0x06}, /* TTL first */
		{15, 0x01}, /* chassis without identity */
		{23, 0x02}, /* chassis twice */
		{24, 0x01}, /* port without identity */
		{32, 0x08}, /* no TTL */
		{33, 0x01}, /* TTL of one octet */
		{14, 0x03}, /* length 263, over the end */
		{32, 0x07}, /* the same of the TTL */
	};
	uint8_t f[sizeof(hello)];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memcpy(f, hello, sizeof(f));
		f[wrong[i].at] = wrong[i].value;
		assert_int_equal(tp_lldp_input(&agent, f, sizeof(f), 0), -EBADMSG);
		assert_int_equal(agent.stats.rx_errors, i + 1);
		assert_int_equal(agent.stats.rx_discarded, i + 1);
	}
	assert_int_equal(tp_lldp_neighbours(&agent), 0);
}

static void
optional(void **state)
{
	const struct tp_lldp_stats *s = &agent.stats;

	(void)state;
	assert_int_equal(SAYS(0x06, 0x02, 0x00, 0x10, 0x00, 0x00), -EBADMSG); /* a second TTL */
	assert_int_equal(s->rx_discarded, 1);
	assert_int_equal(SAYS(0x08, 0x05, 'a', 0x00, 0x00), -EBADMSG); /* over the end */
	assert_int_equal(s->rx_discarded, 2);
	assert_int_equal(SAYS(0x0e, 0x03, 0, 0x80, 0, 0x00, 0x00), 0); /* capabilities of 3 octets */
	assert_int_equal(s->rx_tlvs_discarded, 1);
	assert_int_equal(s->rx_errors, 3);
	assert_int_equal(SAYS(0x0a, 0x01, 'a', 0x0a, 0x01, 'b', 0x00, 0x00), 0); /* two names */
	assert_int_equal(s->rx_tlvs_discarded, 2);
	assert_int_equal(SAYS(0x12, 0x00, 0xfc, 0x01, 7, 0x00, 0x00), 0); /* types 9 and 126 are nobody's */
	assert_int_equal(s->rx_tlvs_unrecognised, 2);
	assert_int_equal(SAYS(0xfe, 0x03, 0x00, 0x80, 0xc2, 0x00, 0x00), 0); /* OUI without subtype */
	assert_int_equal(s->rx_tlvs_discarded, 3);
	assert_int_equal(SAYS(0xfe, 0x04, 0x00, 0x80, 0xc2, 0x01, 0x00, 0x00), 0); /* nobody here knows it */
	assert_int_equal(s->rx_tlvs_unrecognised, 3);
	assert_int_equal(s->rx_errors, 5);
	assert_int_equal(s->rx_discarded, 2);
	assert_int_equal(SAYS(0x10, 0x02, 5, 1, 0x00, 0x00), 0); /* management address of 2 octets */
	assert_int_equal(s->rx_tlvs_discarded, 4);
	assert_int_equal(SAYS(0x00, 0x00, 0xff, 0xff), 0); /* behind the end is nothing */
	assert_int_equal(s->rx_errors, 6);
	assert_int_equal(s->rx_frames, 9);
}

/* A neighbour that says something else keeps its place; what it said last is what is known. */
static void
update(void **state)
{
	struct tp_lldp_tlv tlv;
	char text[300];

	(void)state;
	assert_int_equal(SAYS(0x0a, 0x03, 'o', 'l', 'd', 0x00, 0x00), 0);
	assert_int_equal(SAYS(0x0a, 0x03, 'n', 'e', 'w', 0x00, 0x00), 0);
	assert_int_equal(tp_lldp_neighbours(&agent), 1);
	assert_true(tp_lldp_find(&agent.neighbour[0], TP_LLDP_SYS_NAME, &tlv));
	assert_int_equal(tlv.len, 3);
	assert_memory_equal(tlv.info, "new", 3);
	assert_true(tp_lldp_find(&agent.neighbour[0], TP_LLDP_CHASSIS, &tlv));
	tp_lldp_id_text(TP_LLDP_CHASSIS, &tlv, text, sizeof(text));
	assert_string_equal(text, "02:00:00:00:00:05");
	assert_false(tp_lldp_find(&agent.neighbour[0], TP_LLDP_SYS_DESC, &tlv));
}

static void
identities_as_text(void **state)
{
	static const struct {
		uint8_t type, info[20], len;
		const char *text;
	} c[] = {
		{TP_LLDP_CHASSIS, {4, 2, 0, 0, 0, 0, 0xff}, 7, "02:00:00:00:00:ff"},
		{TP_LLDP_PORT, {3, 2, 0, 0, 0, 0, 0xff}, 7, "02:00:00:00:00:ff"},
		{TP_LLDP_PORT, {5, 'e', 't', 'h', '0'}, 5, "eth0"},
		{TP_LLDP_CHASSIS, {5, 1, 192, 0, 2, 1}, 6, "192.0.2.1"},
		{TP_LLDP_PORT, {4, 2, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}, 18, "2001:db8::7"},
		{TP_LLDP_PORT, {7, 1, 2}, 3, "0102"},
		/* Printable are 0x20 to 0x7e; others make it all digits. */
		{TP_LLDP_PORT, {7, 'a', 0x20, 0x7e}, 4, "a ~"},
		{TP_LLDP_PORT, {7, 'a', 0x7f}, 3, "617f"},
		{TP_LLDP_PORT, {7, 'a', 0x1f}, 3, "611f"},
		/* Lengths that are not of such addresses. */
		{TP_LLDP_CHASSIS, {4, 2, 0, 0, 0, 0}, 6, "0200000000"},
		{TP_LLDP_CHASSIS, {5, 1, 192, 0, 2}, 5, "01c00002"},
		{TP_LLDP_PORT, {7}, 1, ""},
		{TP_LLDP_PORT, {7}, 0, ""},
	};
	struct tp_lldp_tlv tlv;
	char text[300];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		memset(text, 'x', sizeof(text));
		tlv = (struct tp_lldp_tlv){.type = c[i].type, .len = c[i].len, .info = c[i].info};
		tp_lldp_id_text(c[i].type, &tlv, text, sizeof(text));
		assert_string_equal(text, c[i].text);
	}
}

/* Both ends of each time are good. */
static void
times_in_range(void **state)
{
	static const struct {
		uint16_t tx_interval_s;
		uint8_t tx_hold;
		uint16_t fast_interval_s;
		uint8_t fast_count, credit_max, reinit_s;
	} ends[] = {{1, 1, 1, 1, 1, 1}, {3600, 100, 3600, 8, 10, 10}};
	struct tp_lldp_conf c;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		tp_lldp_conf_default(&c, own_mac);
		c.tx_interval_s = ends[i].tx_interval_s;
		c.tx_hold = ends[i].tx_hold;
		c.fast_interval_s = ends[i].fast_interval_s;
		c.fast_count = ends[i].fast_count;
		c.credit_max = ends[i].credit_max;
		c.reinit_s = ends[i].reinit_s;
		assert_int_equal(tp_lldp_init(&agent, &c, NULL), 0);
		assert_int_equal(agent.conf.fast_interval_s, ends[i].fast_interval_s);
	}
	/* 3600 s times 100 are more than a TTL can say. */
	tp_lldp_port_set(&agent, true);
	tp_lldp_admin_set(&agent, TP_LLDP_TX_ONLY);
	assert_true(tp_lldp_poll(&agent, 0, out) > 0);
	assert_int_equal(out[TTL_AT] << 8 | out[TTL_AT + 1], 0xffff);
}

/* Neighbours are known while frames are received, whether any are sent or not. */
static void
reception_off(void **state)
{
	static const enum tp_lldp_admin admin[] = {TP_LLDP_RX_ONLY, TP_LLDP_RX_TX, TP_LLDP_TX_ONLY, TP_LLDP_OFF};

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		fresh(NULL);
		assert_int_equal(says(5, 120, 0), 0);
		tp_lldp_admin_set(&agent, admin[i]);
		assert_int_equal(tp_lldp_neighbours(&agent), i < 2);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(first_frame, fresh),        cmocka_unit_test_setup(names_are_sent, fresh),
		cmocka_unit_test_setup(times_out_of_range, fresh), cmocka_unit_test_setup(intervals, fresh),
		cmocka_unit_test_setup(fast_start, fresh),         cmocka_unit_test_setup(credit, fresh),
		cmocka_unit_test_setup(shutdown, fresh),           cmocka_unit_test_setup(begins_anew, fresh),
		cmocka_unit_test_setup(link_down, fresh),          cmocka_unit_test_setup(ageing, fresh),
		cmocka_unit_test_setup(good_bye, fresh),           cmocka_unit_test_setup(too_many, fresh),
		cmocka_unit_test_setup(not_ours, fresh),           cmocka_unit_test_setup(cut_short, fresh),
		cmocka_unit_test_setup(padding_and_fcs, fresh),    cmocka_unit_test_setup(mandatory, fresh),
		cmocka_unit_test_setup(optional, fresh),           cmocka_unit_test_setup(update, fresh),
		cmocka_unit_test_setup(identities_as_text, fresh), cmocka_unit_test_setup(times_in_range, fresh),
		cmocka_unit_test_setup(reception_off, fresh),
	};

	return cmocka_run_group_tests_name("lldp", tests, NULL, NULL);
}
