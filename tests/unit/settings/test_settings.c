/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Rows, values, one setting at a time, lists that are made whole or not at all. */
#include <errno.h>
#include <stdlib.h>

#include "fake.h"

static struct tp_setting_list list;

static void
add(struct fake *f, const char *at, const char *name, const char *value)
{
	const struct tp_setting_at where = fake_at(at);
	char err[TP_SETTING_ERR];

	assert_int_equal(tp_setting_list_add(f->s, &list, &where, name, value, 0, err), 0);
}

static int
apply(struct fake *f, unsigned int *bad, char *err)
{
	return tp_settings_apply(f->s, &list, bad, err);
}

static void
done(void)
{
	tp_setting_list_free(&list);
}

static void
objects_have_texts(void **state)
{
	static const char *const good[] = {"program", "card 0", "port 65535", "rxq 0 3", "txq 1 0", "group 0 web"};
	static const char *const bad[] = {
		"",         "port",      "port x",        "port 65536", "port -1",
		"port 0 1", "rxq 0",     "rxq 0 x",       "group 0",    "group 0 a-name-of-more-than-31-characters",
		"socket 1", "program 0", "port 0 1 2 3 4"};
	char text[TP_SETTING_OBJECT], err[TP_SETTING_ERR];
	struct tp_setting_at at;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(tp_setting_at_parse(good[i], &at, err), 0);
		tp_setting_at_text(&at, text);
		assert_string_equal(text, good[i]);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(tp_setting_at_parse(bad[i], &at, err), -EINVAL);
		assert_non_null(strstr(err, "group N NAME"));
	}
}

/* Every row of numbers, switches and choices: its default, its ends, one beyond each, another type. */
static void
rows_judge(void **state)
{
	static const char *const never[] = {
		"",   " ",  "x", "-1", "+1", " 1", "1 ", "0x", "1.5", "18446744073709551616", "99999999999999999999",
		"ON", "1\n"};
	char value[TP_SETTING_VALUE], err[TP_SETTING_ERR], range[TP_SETTING_RANGE];
	const struct tp_setting *row;
	struct fake *f = *state;
	unsigned int i, k, seen = 0;

	for (i = 0; (row = tp_settings_row(f->s, i)) != NULL; i++) {
		if (row->def[0] != '\0') {
			snprintf(value, sizeof(value), "%s", row->def);
			assert_int_equal(tp_setting_judge(row, value, err), 0);
			assert_true(tp_setting_is_default(row, value));
		}
		if (row->type == TP_SETTING_TEXT)
			continue;
		tp_setting_range(row, range);
		for (k = 0; k < sizeof(never) / sizeof(never[0]); k++) {
			snprintf(value, sizeof(value), "%s", never[k]);
			assert_int_equal(tp_setting_judge(row, value, err), -EINVAL);
			assert_non_null(strstr(err, row->name));
			assert_non_null(strstr(err, range));
		}
		if (row->type != TP_SETTING_NUMBER)
			continue;
		seen++;
		snprintf(value, sizeof(value), "%llu", (unsigned long long)row->min);
		assert_int_equal(tp_setting_judge(row, value, err), 0);
		snprintf(value, sizeof(value), "0x%llx", (unsigned long long)row->max);
		assert_int_equal(tp_setting_judge(row, value, err), 0);
		assert_int_equal(tp_setting_num(value), row->max);
		snprintf(value, sizeof(value), "%llu", (unsigned long long)row->max + 1);
		assert_int_equal(tp_setting_judge(row, value, err), -EINVAL);
		if (row->min == 0)
			continue;
		snprintf(value, sizeof(value), "%llu", (unsigned long long)row->min - 1);
		assert_int_equal(tp_setting_judge(row, value, err), -EINVAL);
	}
	assert_int_equal(seen, 5);
}

static void
ranges_are_told(void **state)
{
	struct fake *f = *state;

	fake_set(f, "port 0", "ring", "255", -EINVAL, "'255'", "256..4096 descriptors");
	fake_set(f, "port 0", "queues", "5", -EINVAL, "'5'", "all, none or 1..4");
	fake_set(f, "port 0", "promisc", "maybe", -EINVAL, "'maybe'", "off or on");
	fake_set(f, "port 0", "mode", "", -EINVAL, "''", "io, mac or macswap");
	fake_set(f, "port 0", "prio-tc", "0,0,0,0,0,0,0,8", -EINVAL, "0,0,0,0,0,0,0,8", "0..7");
	fake_set(f, "program", "name", "a\tb", -EINVAL, "'a?b'", "a text");
	fake_set(f, "program", "name", "", -EINVAL, "''", "a text");
	assert_int_equal(f->sets, 0);
	assert_int_equal(f->events, 0);
}

static void
names_are_told(void **state)
{
	struct fake *f = *state;

	fake_set(f, "port 0", "rings", "512", -ENOENT, "'rings'", "nearest is ring");
	fake_set(f, "program", "ring", "512", -ENOENT, "'ring' of a program", "");
	fake_set(f, "port 2", "ring", "512", -ENOENT, "port 2", "port 1");
	fake_set(f, "rxq 0 2", "wait", "1", -ENOENT, "rxq 0 2", "rxq 1 1");
	fake_set(f, "group 0 web", "prio", "1", -ENOENT, "group 0 web", "no group");
	fake_set(f, "card 0", "type", "cx3", -EPERM, "type", "argument of the device");
	assert_int_equal(f->sets, 0);
}

static void
a_change_is_told(void **state)
{
	struct fake *f = *state;

	fake_set(f, "port 1", "promisc", "0", 0, NULL, NULL);
	fake_set(f, "port 1", "promisc", "off", 0, NULL, NULL); /* as it is */
	fake_set(f, "rxq 1 1", "wait", "0x32", 0, NULL, NULL);
	fake_set(f, "port 0", "trust", "2", 0, NULL, NULL);
	assert_string_equal(f->port[1].promisc, "off");
	assert_string_equal(f->port[1].wait[1], "50");
	assert_int_equal(f->qos[0].trust, TP_TRUST_DSCP);
	assert_int_equal(f->events, 3);
	assert_string_equal(f->event[0], "port 1: promisc: on -> off");
	assert_string_equal(f->event[1], "rxq 1 1: wait: 0 -> 50");
	assert_string_equal(f->event[2], "port 0: trust: pcp -> dscp");
	/* what needs a stopped port is refused by who has it, and nobody stops it */
	fake_set(f, "port 0", "ring", "1024", -EBUSY, "port 0 is started", "");
	f->fail_set = "mac";
	fake_set(f, "port 0", "mode", "mac", -EIO, "refuses mac", "");
	assert_int_equal(f->stops, 0);
	assert_int_equal(f->events, 3);
}

/* All values of a key are one setting, and lists are not added to. */
static void
declarations_are_settings(void **state)
{
	char value[TP_SETTING_VALUE];
	struct fake *f = *state;
	const struct tp_setting_at at = fake_at("port 0");

	fake_set(f, "port 0", "rule", "tcp:80:3 udp:4791-4800:5:26", 0, NULL, NULL);
	fake_set(f, "port 0", "rule", "udp:53:1", 0, NULL, NULL);
	assert_int_equal(f->qos[0].num_rules, 1);
	assert_int_equal(f->qos[0].rule[0].lo, 53);
	assert_int_equal(tp_settings_get(f->s, tp_settings_find(f->s, TP_SCOPE_PORT, "rule", NULL), &at, value), 0);
	assert_string_equal(value, "udp:53:1");
	fake_set(f, "port 0", "tc", "0:ets:40 1:ets:60", 0, NULL, NULL);
	fake_set(f, "port 0", "tc", "2:ets:100", 0, NULL, NULL);
	assert_int_equal(f->qos[0].tc[0].tsa, TP_TSA_STRICT);
	assert_int_equal(f->qos[0].tc[2].bw_pct, 100);
	/* the whole is judged */
	fake_set(f, "port 0", "tc", "0:ets:40", -EINVAL, "40 %", "100");
	assert_int_equal(f->qos[0].tc[2].bw_pct, 100);
	/* a word that sets others is no setting */
	assert_null(tp_settings_find(f->s, TP_SCOPE_PORT, "pause", NULL));
	assert_non_null(tp_settings_find(f->s, TP_SCOPE_PORT, "rx-pause", NULL));
}

static void
a_list_is_made(void **state)
{
	char err[TP_SETTING_ERR];
	struct fake *f = *state;

	add(f, "rxq 0 3", "wait", "50"); /* a queue that the list makes */
	add(f, "port 0", "dscp-pfc", "on");
	add(f, "port 0", "ring", "1024");
	add(f, "port 0", "queues", "4");
	add(f, "port 1", "ring", "512"); /* as it is */
	add(f, "port 0", "tx-untag-priority", "on");
	add(f, "port 0", "rx-untagged-lossless", "on");
	add(f, "port 0", "trust", "dscp");
	assert_int_equal(apply(f, NULL, err), 0);
	assert_string_equal(f->port[0].ring, "1024");
	assert_string_equal(f->port[0].wait[3], "50");
	/* settings that want each other came together */
	assert_true(f->qos[0].dscp_pfc);
	assert_int_equal(f->qos_sets, 1);
	assert_int_equal(f->stops, 1);
	assert_int_equal(f->goes, 1);
	assert_true(f->running);
	assert_int_equal(f->events, 7);
	assert_int_equal(list.num, 7);
	done();
	/* live ones stop nothing */
	add(f, "port 0", "mode", "mac");
	assert_int_equal(apply(f, NULL, err), 0);
	assert_int_equal(f->stops, 1);
	done();
	assert_int_equal(apply(f, NULL, err), 0);
}

/* A setting that is live or not by its value: a list stops what its values need and no more, and makes all in one stop. */
static void
a_value_says_what_it_needs(void **state)
{
	char err[TP_SETTING_ERR];
	struct fake *f = *state;
	const struct tp_setting *row = tp_settings_find(f->s, TP_SCOPE_PORT, "frame", NULL);

	assert_string_equal(tp_setting_when_text(row), "live up to 2000");
	row = tp_settings_find(f->s, TP_SCOPE_PORT, "ring", NULL);
	assert_string_equal(tp_setting_when_text(row), tp_setting_when_name(TP_WHEN_STOPPED));
	add(f, "port 0", "frame", "2000");
	add(f, "port 0", "ring", "512"); /* as it is */
	assert_int_equal(apply(f, NULL, err), 0);
	assert_string_equal(f->port[0].mtu, "2000");
	assert_int_equal(f->stops, 0);
	done();
	add(f, "port 0", "frame", "2001");
	assert_int_equal(apply(f, NULL, err), 0);
	assert_string_equal(f->port[0].mtu, "2001");
	assert_int_equal(f->stops, 1);
	done();
	/* with the port stopped for another one: before its start, which is what fails here */
	add(f, "port 0", "frame", "1500");
	add(f, "port 0", "ring", "1024");
	f->sets = 0;
	f->fail_go = 1;
	assert_int_equal(apply(f, NULL, err), -ENOMEM);
	assert_int_equal(f->sets, 4);
	assert_string_equal(f->port[0].mtu, "2001");
	assert_string_equal(f->port[0].ring, "512");
	done();
}

/* A refusal anywhere: all is as before, running, and nothing was told. */
static void
a_list_is_undone(void **state)
{
	static const struct {
		const char *at, *name, *value, *word;
		int ret;
	} last[] = {
		{"port 1", "ring", "2048", "refuses 2048", -EIO},
		{"port 1", "mode", "macswap", "refuses macswap", -EIO},
		{"port 1", "tc", "0:ets:40", "100", -EINVAL},
		{"rxq 1 3", "wait", "1", "rxq 1 3", -ENOENT},
	};
	char err[TP_SETTING_ERR];
	struct fake *f = *state, before;
	unsigned int i, bad;

	for (i = 0; i < sizeof(last) / sizeof(last[0]); i++) {
		before = *f;
		add(f, last[i].at, last[i].name, last[i].value);
		add(f, "program", "burst", "64");
		add(f, "port 0", "ring", "1024");
		add(f, "port 0", "queues", "3");
		add(f, "port 0", "mode", "mac");
		add(f, "port 0", "trust", "dscp");
		f->fail_set = last[i].value;
		assert_int_equal(apply(f, &bad, err), last[i].ret);
		assert_non_null(strstr(err, last[i].word));
		assert_null(strstr(err, "does not hold"));
		assert_string_equal(list.change[bad].row->name, last[i].name);
		assert_memory_equal(f->port, before.port, sizeof(f->port));
		assert_memory_equal(f->burst, before.burst, sizeof(f->burst));
		assert_memory_equal(f->qos, before.qos, sizeof(f->qos));
		assert_true(f->running && f->started);
		assert_int_equal(f->events, 0);
		done();
	}
}

/* Ports that do not start with the new values get their old ones. */
static void
a_start_that_fails(void **state)
{
	char err[TP_SETTING_ERR];
	struct fake *f = *state;
	unsigned int bad = 0;

	add(f, "port 0", "ring", "4096");
	f->fail_go = 1;
	assert_int_equal(apply(f, &bad, err), -ENOMEM);
	assert_int_equal(bad, list.num); /* none of the changes was refused */
	assert_string_equal(err, "the device does not start");
	assert_string_equal(f->port[0].ring, "512");
	assert_true(f->running);
	f->fail_go = 2;
	assert_int_equal(apply(f, NULL, err), -ENOMEM);
	assert_non_null(strstr(err, "does not hold again: the device does not start"));
	assert_string_equal(f->port[0].ring, "512");
	done();
}

static void
tables_do_not_share_names(void **state)
{
	static const struct tp_setting twice = {
		"burst", "", "", "", "", NULL, TP_SCOPE_PROGRAM, TP_SETTING_SWITCH, TP_WHEN_LIVE, 0, 0, .get = NULL};
	static const struct tp_settings_table table = {.row = &twice, .num = 1}, empty;
	struct fake *f = *state;
	unsigned int i;

	assert_int_equal(tp_settings_add(f->s, &table), -EEXIST);
	for (i = 0; i < TP_SETTINGS_TABLES - 2; i++)
		assert_int_equal(tp_settings_add(f->s, &empty), 0);
	assert_int_equal(tp_settings_add(f->s, &empty), -ENOSPC);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)
	static const struct CMUnitTest tests[] = {
		TEST(objects_have_texts),
		TEST(rows_judge),
		TEST(ranges_are_told),
		TEST(names_are_told),
		TEST(a_change_is_told),
		TEST(declarations_are_settings),
		TEST(a_list_is_made),
		TEST(a_list_is_undone),
		TEST(a_value_says_what_it_needs),
		TEST(a_start_that_fails),
		TEST(tables_do_not_share_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
