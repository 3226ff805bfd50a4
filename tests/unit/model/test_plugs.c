/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Cards plugged into switches by text: which port they get, how it is set, what is said of a wrong word, what passes. */
#include "harness.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/card/model_priv.h"
#include "tp_ibswitch.h"
#include "tp_switch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct tp_model *card[2];
static char err[TP_SWITCH_TEXT];

static void
make(enum tp_port_type type)
{
	struct tp_model_config cfg;

	tp_model_config_default(&cfg);
	cfg.port_type[0] = cfg.port_type[1] = type;
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(tp_model_create(&cfg, &card[i]), 0);
}

static int
up(void **state)
{
	(void)state;
	make(TP_PORT_ETH);
	return 0;
}

static int
down(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++)
		tp_model_destroy(card[i]);
	return 0;
}

static int
plug(unsigned int which, unsigned int port, const char *spec)
{
	memset(err, 'x', sizeof(err));
	return tp_model_wire_switch(card[which], port, spec, err);
}

static void
a_switch_made_by_words(void **state)
{
	struct tp_switch_port_stats st;
	struct tp_switch_config cfg;
	struct tp_switch *sw;

	(void)state;
	assert_null(tp_switch_find("plugs"));
	assert_int_equal(plug(0, 1, "plugs/ports:3/rate:1000/alpha:200"), 0);
	assert_string_equal(err, "");
	assert_int_equal(plug(0, 2, "plugs"), 0);
	assert_int_equal(plug(1, 1, "plugs/age:77"), 0);
	sw = tp_switch_find("plugs");
	assert_non_null(sw);
	tp_switch_config_get(sw, &cfg);
	assert_int_equal(cfg.max_ports, 3);
	assert_int_equal(cfg.alpha_pct, 200);
	assert_int_equal(cfg.mac_age_s, 77);
	/* Port 3 is the last one. */
	assert_int_equal(plug(1, 2, "plugs"), -ENOSPC);
	assert_int_equal(tp_switch_port_stats_get(sw, 3, &st), 0);
	assert_int_equal(tp_switch_port_stats_get(sw, 4, &st), -ENOENT);
	assert_int_equal(tp_switch_port_stats_get(sw, 0, &st), -ENOENT);
	assert_int_equal(tp_switch_port_stats_get(sw, 65, &st), -ENOENT);
	/* Another wire in the place of one: its port is free. */
	assert_int_equal(tp_model_wire_loopback(card[0], 1), 0);
	assert_int_equal(tp_switch_port_stats_get(sw, 1, &st), -ENOENT);
	assert_int_equal(plug(1, 2, "plugs"), 0);
	assert_int_equal(tp_switch_port_stats_get(sw, 1, &st), 0);
	tp_switch_put(sw);
	/* It goes with its last port. */
	assert_int_equal(tp_model_wire_none(card[0], 2), 0);
	assert_int_equal(tp_model_wire_none(card[1], 1), 0);
	sw = tp_switch_find("plugs");
	assert_non_null(sw);
	tp_switch_put(sw);
	assert_int_equal(tp_model_wire_none(card[1], 2), 0);
	assert_null(tp_switch_find("plugs"));
}

static void
words_that_are_refused(void **state)
{
	static const struct {
		unsigned int port;
		const char *spec;
		int rc;
		const char *err;
	} row[] = {
		{1, "", -EINVAL, "switch '': wanted a name of 1..31 letters, digits, '.', '_', '-'"},
		{1, "/", -EINVAL, "switch '': wanted a name of 1..31 letters, digits, '.', '_', '-'"},
		{1, "a b", -EINVAL, "switch 'a b': wanted a name of 1..31 letters, digits, '.', '_', '-'"},
		{1, "0123456789012345678901234567890", 0, ""},
		{1, "01234567890123456789012345678901", -EINVAL,
		 "switch '01234567890123456789012345678901': wanted a name of 1..31 letters, digits, '.', '_', '-'"},
		{1, "p/rate:1000001", -EINVAL, NULL},
		{1, "p/rate:10/trust:x", -EINVAL, "'trust:x': wanted trust:pcp or dscp"},
		{1, "p/colour:red", -ENOENT, NULL},
		{1, "p/rate", -ENOENT, NULL},
		{0, "p", -EINVAL, "port 0: wanted 1..2"},
		{3, "p", -EINVAL, "port 3: wanted 1..2"},
	};

	(void)state;
	assert_int_equal(tp_model_wire_loopback(card[0], 1), 0);
	for (unsigned int i = 0; i < COUNT(row); i++) {
		assert_int_equal(plug(0, row[i].port, row[i].spec), row[i].rc);
		if (row[i].err != NULL)
			assert_string_equal(err, row[i].err);
		else
			assert_non_null(strstr(err, "wanted"));
		/* What is refused leaves the wire that was, and no switch. */
		assert_null(tp_switch_find("p"));
		if (row[i].rc != 0 && row[i].port == 1)
			assert_string_equal(card[0]->port[0].wire->ops->name, i < 4 ? "loopback" : "switch");
	}
}

/* --- frames --- */

static void
send_to(struct tp_model *m, uint8_t dst, uint8_t src, unsigned int n)
{
	uint8_t h[60] = {2, 0, 0, 0, 0, dst, 2, 0, 0, 0, 0, src, 0x88, 0xb5};
	struct tp_frame_seg seg = {h, sizeof(h)};
	const struct tp_frame f = {.seg = &seg, .nseg = 1, .len = sizeof(h)};

	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(m->port[0].wire->ops->send(m->port[0].wire, &f, 1), 1);
}

static uint64_t
came(struct tp_model *m)
{
	struct tp_model_stats st;

	/* The ports are not open: what a wire brings is counted there. */
	tp_model_get_stats(m, &st);
	return st.port[0].rx_link_down;
}

static void
frames_through_a_switch(void **state)
{
	static const struct {
		unsigned int budget, got;
	} turn[] = {{3, 3}, {1, 1}, {64, 64}, {200, 132}, {200, 0}};
	uint64_t total = 0;
	const struct tp_wire_ops *ops;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(plug(i, 1, "frames"), 0);
		tp_model_set_time(card[i], 1000000);
	}
	ops = card[1]->port[0].wire->ops;
	assert_string_equal(ops->name, "switch");
	assert_int_equal(ops->media, TP_WIRE_ETH);
	assert_true(ops->link(card[1]->port[0].wire));
	/* Without carrier nothing leaves by the port. */
	send_to(card[0], 2, 1, 5);
	assert_int_equal(ops->poll(card[1]->port[0].wire, card[1], 1, 64), 0);
	for (unsigned int i = 0; i < 2; i++)
		ops->carrier(card[i]->port[0].wire, true);
	send_to(card[0], 2, 1, 200);
	for (unsigned int i = 0; i < COUNT(turn); i++) {
		assert_int_equal(ops->poll(card[1]->port[0].wire, card[1], 1, turn[i].budget), turn[i].got);
		total += turn[i].got;
		assert_int_equal(came(card[1]), total);
	}
	/* The sender's own port gets nothing back. */
	assert_int_equal(ops->poll(card[0]->port[0].wire, card[0], 1, 64), 0);
	ops->carrier(card[1]->port[0].wire, false);
	send_to(card[0], 2, 1, 5);
	ops->carrier(card[1]->port[0].wire, true);
	assert_int_equal(ops->poll(card[1]->port[0].wire, card[1], 1, 64), 0);
}

/* --- counters of a switch --- */

struct list {
	char line[200][64];
	unsigned int n;
};

static void
take(void *arg, unsigned int port, int prio, const char *name, uint64_t value)
{
	struct list *l = arg;

	snprintf(l->line[l->n++], sizeof(l->line[0]), "%u %d %s %llu", port, prio, name, (unsigned long long)value);
}

static void
counters_of_a_switch(void **state)
{
	static const char *const want[] = {
		"0 -1 ports 2",
		"0 -1 macs 1",
		"0 -1 learnt 1",
		"0 -1 moved 0",
		"0 -1 aged 0",
		"0 -1 not_learnt 0",
		"0 -1 flooded 3",
		"0 -1 buffer_bytes 12582912",
		"0 -1 shared_bytes 12582912",
		"0 -1 used 120",
		"0 -1 used_peak 180",
		"0 -1 shared_used 120",
		"0 -1 shared_peak 180",
		"0 -1 reserve_used 0",
		"0 -1 headroom_used 0",
		"0 -1 queued_frames 2",
		"1 -1 link_up 1",
		"1 -1 rx_control 0",
		"1 -1 tx_control 0",
		"1 0 rx_frames 3",
		"1 0 rx_bytes 180",
		"1 0 in_bytes 120",
		"1 0 in_peak 180",
		"2 -1 link_up 1",
		"2 -1 rx_control 0",
		"2 -1 tx_control 0",
		"2 0 tx_frames 1",
		"2 0 tx_bytes 60",
		"2 0 out_bytes 120",
		"2 0 out_frames 2",
		"2 0 out_peak 180",
	};
	struct list l = {.n = 0};
	struct tp_switch *sw;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(plug(i, 1, "counted"), 0);
		tp_model_set_time(card[i], 1000000);
		card[i]->port[0].wire->ops->carrier(card[i]->port[0].wire, true);
	}
	send_to(card[0], 2, 1, 3);
	/* What was taken leaves the buffer with the next look. */
	assert_int_equal(card[1]->port[0].wire->ops->poll(card[1]->port[0].wire, card[1], 1, 1), 1);
	sw = tp_switch_find("counted");
	tp_switch_each_counter(sw, take, &l);
	for (unsigned int i = 0; i < COUNT(want) && i < l.n; i++)
		assert_string_equal(l.line[i], want[i]);
	assert_int_equal(l.n, COUNT(want));
	tp_switch_put(sw);
}

/* --- InfiniBand's --- */

static int
plug_ib(unsigned int which, unsigned int port, const char *spec)
{
	memset(err, 'x', sizeof(err));
	return tp_model_wire_ibswitch(card[which], port, spec, err);
}

static void
words_of_infiniband(void **state)
{
	static const struct {
		const char *spec;
		int rc;
		const char *err;
	} row[] = {
		{"", -EINVAL, "IB switch '': wanted a name of 1..31 letters, digits, '.', '_', '-'"},
		{"x y", -EINVAL, "IB switch 'x y': wanted a name of 1..31 letters, digits, '.', '_', '-'"},
		{"01234567890123456789012345678901", -EINVAL,
		 "IB switch '01234567890123456789012345678901': wanted a name of 1..31 letters, digits, '.', '_', '-'"},
		{"0123456789012345678901234567890", 0, ""},
		{"a.b_c-d", 0, ""},
		{"s/ports:0", -EINVAL, NULL},
		{"s/ports:-1", -EINVAL, NULL},
		{"s/ports:", -EINVAL, NULL},
		{"s/ports:2x", -EINVAL, NULL},
		{"s/colour:1", -EINVAL, "'colour:1': wanted KEY:VALUE with ports guid credit port capture"},
		{"s/ports", -EINVAL, "'ports': wanted KEY:VALUE with ports guid credit port capture"},
		{"s/guid:0", -EINVAL, "'guid:0': wanted 1..18446744073709551615 in hexadecimal"},
		{"s/guid:g", -EINVAL, "'guid:g': wanted 1..18446744073709551615 in hexadecimal"},
		{"s/guid:10000000000000000", -EINVAL, NULL},
		{"s/credit:4607", -EINVAL, "'credit:4607': wanted 4608..16777216"},
		{"s/credit:4608", 0, ""},
		{"s/credit:16777216", 0, ""},
		{"s/credit:16777217", -EINVAL, "'credit:16777217': wanted 4608..16777216"},
		{"s/ports:4/port:4", 0, ""},
		{"s/ports:4/port:5", -ENOSPC, "IB switch s: port 5, it has 1..4"},
		{"s/port:8", 0, ""},
		{"s/port:9", -ENOSPC, "IB switch s: port 9, it has 1..8"},
		{"s/capture:/no/such/folder/x", -ENOENT, "capture '/no/such/folder/x': No such file or directory"},
	};
	char names[4][TP_IBSWITCH_NAME];

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		assert_int_equal(plug_ib(0, 1, row[i].spec), row[i].rc);
		if (row[i].err != NULL)
			assert_string_equal(err, row[i].err);
		else
			assert_non_null(strstr(err, "wanted"));
		/* A switch that got no port is none. */
		assert_int_equal(tp_ibswitch_list(names, 4), row[i].rc == 0);
		assert_int_equal(tp_model_wire_none(card[0], 1), 0);
		assert_int_equal(tp_ibswitch_list(names, 4), 0);
	}
	assert_int_equal(plug_ib(0, 3, "s"), -EINVAL);
	assert_string_equal(err, "port 3: wanted 1..2");
}

static void
ports_of_infiniband(void **state)
{
	char names[2][TP_IBSWITCH_NAME];

	(void)state;
	/* The first free one, or the one that is asked for. */
	assert_int_equal(plug_ib(0, 1, "q/ports:3"), 0);
	assert_int_equal(plug_ib(0, 2, "q/port:3/ports:9"), 0);
	assert_int_equal(plug_ib(1, 1, "q/port:1"), -EEXIST);
	assert_string_equal(err, "IB switch q: port 1 is taken");
	assert_int_equal(plug_ib(1, 1, "q"), 0);
	assert_int_equal(plug_ib(1, 2, "q"), -ENOSPC);
	assert_string_equal(err, "IB switch q: port 4, it has 1..3");
	assert_int_equal(plug_ib(1, 2, "r"), 0);
	assert_int_equal(tp_ibswitch_list(names, 1), 2);
	assert_string_equal(names[0], "r");
	assert_int_equal(tp_ibswitch_list(names, 2), 2);
	assert_string_equal(names[1], "q");
	assert_int_equal(tp_model_wire_none(card[0], 1), 0);
	assert_int_equal(plug_ib(1, 2, "q"), 0);
	assert_int_equal(tp_ibswitch_list(names, 2), 1);
	assert_string_equal(names[0], "q");
}

static void
take_ib(void *arg, const char *name, uint64_t value)
{
	struct list *l = arg;

	snprintf(l->line[l->n++], sizeof(l->line[0]), "%s %llu", name, (unsigned long long)value);
}

static void
counters_of_infiniband(void **state)
{
	static const char *const names[] = {"state",        "tx_packets",     "tx_bytes",      "rx_packets",
					    "rx_bytes",     "rcv_errors",     "relay_errors",  "xmit_discards",
					    "vl15_dropped", "rcv_constraint", "rcv_not_armed", "xmit_constraint",
					    "xmit_wait",    "link_downed"};
	struct list l = {.n = 0};
	char want[64];

	(void)state;
	assert_int_equal(tp_ibswitch_each_counter("t", take_ib, &l), -ENOENT);
	assert_int_equal(l.n, 0);
	assert_int_equal(plug_ib(0, 1, "t/port:2"), 0);
	assert_int_equal(plug_ib(0, 2, "t/port:8"), 0);
	assert_int_equal(tp_ibswitch_each_counter("t", take_ib, &l), 0);
	assert_int_equal(l.n, 2 * COUNT(names));
	for (unsigned int i = 0; i < l.n; i++) {
		snprintf(want, sizeof(want), "port%u.%s %u", i < COUNT(names) ? 2 : 8, names[i % COUNT(names)],
			 i % COUNT(names) == 0 ? 1 : 0);
		assert_string_equal(l.line[i], want);
	}
}

/* --- other wires --- */

static void
ports_that_there_are_not(void **state)
{
	static const unsigned int none[] = {0, 3, 1000};
	struct tp_impair imp = {.drop_ppm = 1};
	struct tp_model_qos q;

	(void)state;
	for (unsigned int i = 0; i < COUNT(none); i++) {
		assert_int_equal(tp_model_wire_loopback(card[0], none[i]), -EINVAL);
		assert_int_equal(tp_model_wire_none(card[0], none[i]), -EINVAL);
		assert_int_equal(tp_model_cable(card[0], none[i], true), -EINVAL);
		assert_int_equal(tp_model_cable_unsupported(card[0], none[i]), -EINVAL);
		assert_int_equal(tp_model_impair(card[0], none[i], &imp), -EINVAL);
		assert_int_equal(tp_model_get_qos(card[0], none[i], &q), -EINVAL);
	}
	for (unsigned int port = 1; port <= 2; port++) {
		assert_int_equal(tp_model_impair(card[0], port, &imp), 0);
		assert_int_equal(tp_model_cable(card[0], port, true), 0);
		assert_int_equal(tp_model_get_qos(card[0], port, &q), 0);
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		T(a_switch_made_by_words), T(words_that_are_refused),   T(frames_through_a_switch),
		T(counters_of_a_switch),   T(words_of_infiniband),      T(ports_of_infiniband),
		T(counters_of_infiniband), T(ports_that_there_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
