/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The switch: where frames go, what it learns and forgets, what it refuses. */
#include "switch_rig.h"

#define AGE_NS (UINT64_C(300) * 1000000000)

static uint64_t
dropped(struct swrig *r, unsigned int i, enum tp_switch_drop why)
{
	uint64_t n = 0;

	for (unsigned int prio = 0; prio < TP_SWITCH_PRIOS; prio++)
		n += swrig_prio(r, i, prio).drop[why];
	return n;
}

/* IEEE 802.1Q 8.6.3, 8.7: unknown goes to all others, known to its port, a host that moved to its new one. */
static void
learning(void **state)
{
	struct swrig *r = *state;
	struct tp_switch_stats st;
	uint8_t mac1[6] = {2, 0, 0, 0, 0, 1};

	swrig_send(r, 0, 2, 1, UNTAGGED, 60);
	assert_int_equal(swrig_recv(r, 0), 0);
	for (unsigned int i = 1; i < RIG_PORTS; i++) {
		assert_int_equal(swrig_recv(r, i), 1);
		assert_int_equal(r->got[0].len, 60);
		assert_memory_equal(r->got[0].seg[0].data, r->buf, 60);
	}
	swrig_send(r, 1, 1, 2, UNTAGGED, 60);
	assert_int_equal(swrig_recv(r, 0), 1);
	assert_int_equal(swrig_recv(r, 2) + swrig_recv(r, 3), 0);
	assert_int_equal(tp_switch_mac_lookup(r->sw, 0, mac1), 1);
	swrig_send(r, 2, 2, 1, UNTAGGED, 60);
	assert_int_equal(tp_switch_mac_lookup(r->sw, 0, mac1), 4);
	assert_int_equal(swrig_recv(r, 1), 1);
	/* To a host behind the same port: nobody needs it. */
	swrig_send(r, 2, 1, 7, UNTAGGED, 60);
	assert_int_equal(swrig_recv(r, 0) + swrig_recv(r, 1) + swrig_recv(r, 2) + swrig_recv(r, 3), 0);
	assert_int_equal(dropped(r, 2, TP_SWITCH_DROP_FILTERED), 1);
	tp_switch_stats_get(r->sw, &st);
	assert_int_equal(st.learnt, 3);
	assert_int_equal(st.moved, 1);
	assert_int_equal(st.macs, 3);
	assert_int_equal(st.flooded, 1);
}

static void
vlans(void **state)
{
	struct swrig *r = *state;

	swrig_frame(r, 99, 1, 0, 10);
	swrig_send_buf(r, 0, 64, 0);
	for (unsigned int i = 1; i < RIG_PORTS; i++)
		swrig_drain(r, i);
	swrig_frame(r, 1, 2, 0, 10);
	swrig_send_buf(r, 1, 64, 0);
	assert_int_equal(swrig_drain(r, 0), 1);
	assert_int_equal(swrig_drain(r, 2) + swrig_drain(r, 3), 0);
	/* The same address in another VLAN is another host. */
	swrig_frame(r, 1, 2, 0, 11);
	swrig_send_buf(r, 1, 64, 0);
	assert_int_equal(swrig_drain(r, 0) + swrig_drain(r, 2) + swrig_drain(r, 3), 3);
}

static void
ageing(void **state)
{
	struct swrig *r = *state;
	uint8_t mac1[6] = {2, 0, 0, 0, 0, 1}, mac2[6] = {2, 0, 0, 0, 0, 2};
	struct tp_switch_stats st;

	swrig_send(r, 0, 99, 1, UNTAGGED, 60);
	r->now += AGE_NS / 2;
	swrig_send(r, 1, 99, 2, UNTAGGED, 60);
	r->now += AGE_NS / 2 - 1;
	tp_switch_step(r->sw, r->now);
	assert_int_equal(tp_switch_mac_lookup(r->sw, 0, mac1), 1);
	r->now += 1;
	tp_switch_step(r->sw, r->now);
	assert_int_equal(tp_switch_mac_lookup(r->sw, 0, mac1), 0);
	assert_int_equal(tp_switch_mac_lookup(r->sw, 0, mac2), 2);
	/* Without anybody asking, too: within an eighth of the time. */
	r->now += AGE_NS / 2 + AGE_NS / 8;
	tp_switch_step(r->sw, r->now);
	tp_switch_stats_get(r->sw, &st);
	assert_int_equal(st.macs, 0);
	assert_int_equal(st.aged, 2);
}

static void
bounded_table(void **state)
{
	struct swrig *r = *state;
	struct tp_switch_stats st;

	swrig_word(r, 0, "macs:16");
	for (unsigned int i = 0; i < 200; i++)
		swrig_send(r, 0, 99, i, UNTAGGED, 60);
	tp_switch_stats_get(r->sw, &st);
	assert_int_equal(st.macs, 16);
	assert_int_equal(st.learnt, 16);
	assert_int_equal(st.not_learnt, 184);
}

static void
static_entries(void **state)
{
	struct swrig *r = *state;
	uint8_t group[6] = {3, 0, 0, 0, 0, 9}, mac2[6] = {2, 0, 0, 0, 0, 2};
	char err[TP_SWITCH_TEXT];

	assert_int_equal(tp_switch_mac_static(r->sw, 0, group, 0x6), 0);
	swrig_frame(r, 9, 1, UNTAGGED, 0)[0] = 3;
	swrig_send_buf(r, 0, 60, 0);
	assert_int_equal(swrig_drain(r, 1), 1);
	assert_int_equal(swrig_drain(r, 2), 1);
	assert_int_equal(swrig_drain(r, 3), 0);
	/* One that was set neither moves nor ages. */
	assert_int_equal(tp_switch_mac_static(r->sw, 0, mac2, 0x8), 0);
	swrig_send(r, 1, 99, 2, UNTAGGED, 60);
	r->now += 2 * AGE_NS;
	tp_switch_step(r->sw, r->now);
	assert_int_equal(tp_switch_mac_lookup(r->sw, 0, mac2), 0x8);
	/* It stays when its link goes, with others' links too, and goes with its port. */
	tp_switch_port_link(r->port[3], false);
	tp_switch_port_link(r->port[2], false);
	assert_int_equal(tp_switch_mac_lookup(r->sw, 0, mac2), 0x8);
	assert_int_equal(tp_switch_mac_lookup(r->sw, 0, group), 0x6);
	tp_switch_port_remove(r->port[3]);
	assert_int_equal(tp_switch_mac_lookup(r->sw, 0, mac2), 0);
	assert_int_equal(tp_switch_port_add(r->sw, &r->port[3], err), 0);
	assert_int_equal(tp_switch_port_number(r->port[3]), 4);
	assert_int_equal(tp_switch_mac_static(r->sw, 0, mac2, 0x8), 0);
	assert_int_equal(tp_switch_mac_static(r->sw, 0, mac2, 0), 0);
	assert_int_equal(tp_switch_mac_static(r->sw, 0, mac2, 0), -ENOENT);
	assert_int_equal(tp_switch_mac_static(r->sw, 0, mac2, 0x10), -EINVAL);
	assert_int_equal(tp_switch_mac_static(r->sw, 4096, mac2, 1), -EINVAL);
}

static void
refused_frames(void **state)
{
	struct swrig *r = *state;

	swrig_frame(r, 2, 1, UNTAGGED, 0);
	swrig_send_buf(r, 0, 60, TP_FRAME_BAD_FCS);
	swrig_send_buf(r, 0, 13, 0);
	swrig_send_buf(r, 0, 9600, 0);
	swrig_word(r, 1, "max-frame:1518");
	swrig_send_buf(r, 0, 1519, 0);
	r->buf[6] |= 1;
	swrig_send_buf(r, 0, 60, 0);
	assert_int_equal(dropped(r, 0, TP_SWITCH_DROP_BAD_FCS), 1);
	assert_int_equal(dropped(r, 0, TP_SWITCH_DROP_RUNT), 1);
	assert_int_equal(dropped(r, 0, TP_SWITCH_DROP_TOO_LONG), 1);
	assert_int_equal(dropped(r, 0, TP_SWITCH_DROP_SOURCE), 1);
	assert_int_equal(swrig_drain(r, 1), 1);
	assert_int_equal(swrig_drain(r, 2), 1);
}

/* 802.1Q table 8-1. LLDP goes to :0e, pause to :01. */
static void
link_local(void **state)
{
	static const uint8_t lldp[14] = {0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 1, 0x88, 0xcc};
	struct swrig *r = *state;

	memset(r->buf, 0, 60);
	memcpy(r->buf, lldp, sizeof(lldp));
	swrig_send_buf(r, 0, 60, 0);
	assert_int_equal(swrig_drain(r, 1) + swrig_drain(r, 2) + swrig_drain(r, 3), 0);
	assert_int_equal(dropped(r, 0, TP_SWITCH_DROP_LINK_LOCAL), 1);
	swrig_word(r, 0, "link-local:flood");
	swrig_send_buf(r, 0, 60, 0);
	assert_int_equal(swrig_drain(r, 1) + swrig_drain(r, 2) + swrig_drain(r, 3), 3);
	/* Pause frames never pass, nor MAC control to any address. */
	swrig_pause(r, 0, 0, 100);
	swrig_pause(r, 0, 0x08, 100);
	memcpy(r->buf, "\x02\x00\x00\x00\x00\x05", 6);
	swrig_send_buf(r, 0, 60, 0);
	assert_int_equal(swrig_drain(r, 1) + swrig_drain(r, 2) + swrig_drain(r, 3), 0);
	assert_int_equal(dropped(r, 0, TP_SWITCH_DROP_LINK_LOCAL), 2);
}

/* A port that loses its link takes what waits there with it, and what was learnt. */
static void
links(void **state)
{
	struct swrig *r = *state;
	struct tp_switch_stats st;

	swrig_teach(r);
	for (unsigned int i = 0; i < 5; i++)
		swrig_send(r, 0, 2, 1, UNTAGGED, 500);
	tp_switch_port_link(r->port[1], false);
	assert_int_equal(dropped(r, 0, TP_SWITCH_DROP_LINK_DOWN), 5);
	tp_switch_stats_get(r->sw, &st);
	assert_int_equal(st.used, 0);
	assert_int_equal(st.macs, 3);
	swrig_send(r, 0, 2, 1, UNTAGGED, 500);
	assert_int_equal(swrig_drain(r, 1), 0);
	tp_switch_port_link(r->port[1], true);
	assert_int_equal(swrig_drain(r, 1), 0);
	swrig_send(r, 0, 2, 1, UNTAGGED, 500);
	assert_int_equal(swrig_drain(r, 1), 1);
}

static void
life(void **state)
{
	struct tp_switch_port *p, *q;
	struct tp_switch *sw;
	char err[TP_SWITCH_TEXT], names[4][TP_SWITCH_NAME];

	assert_int_equal(tp_switch_get("", &sw), -EINVAL);
	assert_int_equal(tp_switch_get("a/b", &sw), -EINVAL);
	assert_int_equal(tp_switch_get("a-name-of-more-than-31-characters", &sw), -EINVAL);
	assert_null(tp_switch_find("brief"));
	assert_int_equal(tp_switch_get("brief", &sw), 0);
	assert_int_equal(tp_switch_port_add(sw, &p, err), 0);
	assert_int_equal(tp_switch_port_add(sw, &q, err), 0);
	tp_switch_put(sw);
	assert_int_equal(tp_switch_list(names, 4), 2);
	assert_string_equal(names[0], "brief");
	assert_string_equal(names[1], "rig");
	memset(names, 'x', sizeof(names));
	assert_int_equal(tp_switch_list(names, 1), 2);
	assert_string_equal(names[0], "brief");
	assert_int_equal(names[1][0], 'x');
	tp_switch_port_remove(p);
	assert_ptr_equal(tp_switch_find("brief"), sw);
	tp_switch_put(sw);
	tp_switch_port_remove(q);
	assert_null(tp_switch_find("brief"));
}

/* Priority by tag and by DSCP / 8. */
static void
trust(void **state)
{
	struct swrig *r = *state;
	uint8_t *h;

	swrig_teach(r);
	swrig_send(r, 0, 2, 1, 5, 100);
	assert_int_equal(swrig_prio(r, 0, 5).rx_frames, 1);
	swrig_word(r, 1, "trust:dscp");
	h = swrig_frame(r, 2, 1, 5, 0);
	h[16] = 0x08;
	h[17] = 0x00;
	h[18] = 0x45;
	h[19] = 26 << 2;
	swrig_send_buf(r, 0, 100, 0);
	assert_int_equal(swrig_prio(r, 0, 3).rx_frames, 1);
	h = swrig_frame(r, 2, 1, UNTAGGED, 0);
	h[12] = 0x86;
	h[13] = 0xdd;
	h[14] = 0x60 | 46 >> 2;
	h[15] = (46 & 3) << 6;
	swrig_send_buf(r, 0, 100, 0);
	assert_int_equal(swrig_prio(r, 0, 46 / 8).rx_frames, 2);
	swrig_word(r, 1, "untagged:6");
	swrig_send(r, 0, 2, 1, UNTAGGED, 100);
	assert_int_equal(swrig_prio(r, 0, 6).rx_frames, 1);
}

static void
words(void **state)
{
	static const char *const bad[] = {"ports:0",         "ports:65",   "buffer:4095",  "buffer:1073741825",
					  "buffer:-1",       "buffer:9k",  "reserve:",     "alpha:0",
					  "alpha:6401",      "lossless:8", "lossless:3,4", "lossless:3+",
					  "xoff:63",         "xon:65537",  "ecn:1+2",      "ecn:5+4+1",
					  "ecn:1+2+1000001", "age:0",      "macs:1048577", "link-local:maybe"};
	static const char *const bad_port[] = {"rate:1000001",
					       "trust:mac",
					       "flow:on",
					       "untagged:8",
					       "max-frame:59",
					       "max-frame:16001",
					       "tc:0+1+2",
					       "tc:0+0+0+0+0+0+0+8",
					       "ets:101+0+0+0+0+0+0+0",
					       "ets:1+1+1+1+1+1+1+1+1",
					       "tc-rate:1000001+0+0+0+0+0+0+0"};
	struct swrig *r = *state;
	struct tp_switch_config before, after;
	char err[TP_SWITCH_TEXT];

	tp_switch_config_get(r->sw, &before);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err[0] = '\0';
		if (tp_switch_word(r->sw, 0, bad[i], err) != -EINVAL || strstr(err, "wanted") == NULL)
			fail_msg("'%s' was not refused: %s", bad[i], err);
	}
	for (unsigned int i = 0; i < sizeof(bad_port) / sizeof(bad_port[0]); i++) {
		err[0] = '\0';
		if (tp_switch_word(r->sw, 1, bad_port[i], err) != -EINVAL || strstr(err, "wanted") == NULL)
			fail_msg("'%s' was not refused: %s", bad_port[i], err);
	}
	tp_switch_config_get(r->sw, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(tp_switch_word(r->sw, 0, "speed:1", err), -ENOENT);
	assert_int_equal(tp_switch_word(r->sw, 0, "rate", err), -ENOENT);
	assert_int_equal(tp_switch_word(r->sw, 9, "rate:100", err), -ENOENT);
	/* What the ports need must fit: 4 ports, 3 priorities, 256 KiB each of 2 MiB. */
	swrig_word(r, 0, "buffer:2097152");
	assert_int_equal(tp_switch_word(r->sw, 0, "lossless:0+1+2", err), -ENOSPC);
	assert_int_equal(tp_switch_word(r->sw, 0, "ports:3", err), -ENOSPC);
	swrig_word(r, 0, "lossless:4");
	swrig_word(r, 0, "lossless:none");
	swrig_word(r, 2, "tc:0+0+0+1+1+1+2+2");
	swrig_word(r, 2, "ets:50+30+20+0+0+0+0+0");
}

int
main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, swrig_up, swrig_down)
	const struct CMUnitTest tests[] = {T(learning),       T(vlans),          T(ageing),     T(bounded_table),
					   T(static_entries), T(refused_frames), T(link_local), T(links),
					   T(life),           T(trust),          T(words)};

	return cmocka_run_group_tests_name("switch", tests, NULL, NULL);
}
