/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What an IPoIB port is made with, as text: which values there are, what stands for nothing said, what is said back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/ipoib/ethdev/conf.h"

int ipoib_logtype;

#define PORT "port=net_mlx4_model0/1"

static uint64_t
value_of(const struct tp_ipoib_conf *c, const char *name)
{
	const struct {
		const char *name;
		uint64_t is;
	} all[] = {
		{"pkey", c->pkey},
		{"mtu", c->mtu},
		{"connected", c->connected},
		{"refuse-incoming", c->refuse_incoming},
		{"cm-mtu", c->cm_mtu},
		{"guid-mask", c->guid_mask},
		{"age-interval", c->age_interval_ms},
		{"age", c->age},
		{"monitor", c->monitor_ms},
		{"query-runs", c->query_runs},
		{"leave-runs", c->leave_runs},
	};

	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i].name, name) == 0)
			return all[i].is;
	fail_msg("no argument %s", name);
	return 0;
}

/* As include/triplane/tp_ipoib.h has them. */
static const struct {
	const char *name;
	uint64_t min, max, def;
} arg[] = {
	{"pkey", 1, 0xffff, 0xffff},
	{"mtu", 1500, 4092, 0},
	{"connected", 0, 1, 0},
	{"refuse-incoming", 0, 1, 0},
	{"cm-mtu", 1500, 65520, 65520},
	{"guid-mask", 0, 0xff, 0},
	{"age-interval", 10000, 1200000, 60000},
	{"age", 1, 20, 5},
	{"monitor", 1000, 300000, 30000},
	{"query-runs", 1, 10, 3},
	{"leave-runs", 1, 10, 2},
};
#define ARGS (sizeof(arg) / sizeof(arg[0]))

static void
names(void **state)
{
	(void)state;
	assert_string_equal(tp_ipoib_conf_name(0), "port");
	assert_string_equal(tp_ipoib_conf_name(1), "mac");
	for (unsigned int i = 0; i < ARGS; i++)
		assert_string_equal(tp_ipoib_conf_name(2 + i), arg[i].name);
	assert_null(tp_ipoib_conf_name(2 + ARGS));
}

/* Nothing said, and 0 in the structure where it is no value, are the default. */
static void
defaults(void **state)
{
	struct tp_ipoib_conf c;

	(void)state;
	assert_int_equal(ipoib_conf_parse(PORT, &c), 0);
	for (unsigned int i = 0; i < ARGS; i++)
		assert_int_equal(value_of(&c, arg[i].name), arg[i].def);
	assert_false(c.has_mac);
	assert_string_equal(c.device, "net_mlx4_model0/1");
}

/* Both ends of each range, one more and one less, by text, and in the structure that an application fills. */
static void
ranges(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ARGS; i++) {
		const struct {
			uint64_t value;
			bool good;
		} row[] = {
			{arg[i].min, true},
			{arg[i].max, true},
			{arg[i].max + 1, false},
			{arg[i].min - 1, false},
		};

		for (unsigned int k = 0; k < 4; k++) {
			struct tp_ipoib_conf c;
			char text[128];

			if (k == 3 && arg[i].min == 0)
				continue;
			snprintf(text, sizeof(text), PORT ",%s=%llu", arg[i].name, (unsigned long long)row[k].value);
			assert_int_equal(ipoib_conf_parse(text, &c), row[k].good ? 0 : -EINVAL);
			if (row[k].good && strcmp(arg[i].name, "guid-mask") != 0)
				assert_int_equal(value_of(&c, arg[i].name), row[k].value);
		}
	}
}

static void
numbers(void **state)
{
	/* The last but one is 5 in 64 bits. */
	static const char *const bad[] = {"",
					  "x",
					  "5x",
					  "-5",
					  " ",
					  "5 5",
					  "0x",
					  "99999999999999999999",
					  "+-5",
					  "1e1",
					  " 5",
					  "+5",
					  "-18446744073709551611",
					  " -18446744073709551611"};
	struct tp_ipoib_conf c = {.age = 7};

	(void)state;
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(tp_ipoib_conf_set(&c, "age", bad[i]), -EINVAL);
		assert_int_equal(c.age, 7);
		/* One whose numbers begin with 0. */
		assert_int_equal(tp_ipoib_conf_set(&c, "connected", bad[i]), -EINVAL);
	}
	assert_int_equal(tp_ipoib_conf_set(&c, "age", NULL), -EINVAL);
	assert_int_equal(tp_ipoib_conf_set(&c, "age", "0x10"), 0);
	assert_int_equal(c.age, 16);
	assert_int_equal(tp_ipoib_conf_set(&c, "pkey", "0x8005"), 0);
	assert_int_equal(c.pkey, 0x8005);
	assert_int_equal(tp_ipoib_conf_set(&c, "old", "1"), -ENOENT);
	assert_int_equal(tp_ipoib_conf_set(&c, "", "1"), -ENOENT);
}

/* What is refused changes nothing. */
static void
names_and_addresses(void **state)
{
	struct tp_ipoib_conf c = {0};
	char name[TP_IPOIB_NAME + 1];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[TP_IPOIB_NAME] = '\0';
	assert_int_equal(tp_ipoib_conf_set(&c, "port", name), -EINVAL);
	assert_int_equal(c.device[0], '\0');
	name[TP_IPOIB_NAME - 1] = '\0';
	assert_int_equal(tp_ipoib_conf_set(&c, "port", name), 0);
	assert_string_equal(c.device, name);
	assert_int_equal(tp_ipoib_conf_set(&c, "mac", "02:00:00:00:00"), -EINVAL);
	assert_false(c.has_mac);
	assert_int_equal(tp_ipoib_conf_set(&c, "mac", "02:00:00:00:00:0a"), 0);
	assert_true(c.has_mac);
	assert_memory_equal(&c.mac, "\x02\0\0\0\0\x0a", 6);
	assert_int_equal(tp_ipoib_conf_set(&c, "mac", "nobody"), -EINVAL);
	assert_memory_equal(&c.mac, "\x02\0\0\0\0\x0a", 6);
}

/* What no single value shows. */
static void
wholes(void **state)
{
	static const struct {
		const char *text;
		int ret;
	} row[] = {
		{PORT ",pkey=0x8000", -EINVAL}, /* bits 0 to 14 are 0 */
		{PORT ",pkey=1", 0},
		{PORT ",pkey=0x4000", 0},
		{"port=net_mlx4_model0", -EINVAL}, /* which of its ports */
		{"pkey=0x8005", -EINVAL},
		{PORT ",mac=01:00:00:00:00:0a", -EINVAL}, /* a group's */
		{PORT ",mac=00:00:00:00:00:00", -EINVAL},
		{PORT ",mac=02:00:00:00:00:0a", 0},
		{PORT ",colour=red", -EINVAL},
		{PORT ",age", -EINVAL},
		{"=", -EINVAL},
	};
	struct tp_ipoib_conf c;

	(void)state;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		assert_int_equal(ipoib_conf_parse(row[i].text, &c), row[i].ret);
	/* A mask needs six of eight bits; one that has not is the default, which says so. */
	assert_int_equal(ipoib_conf_parse(PORT ",guid-mask=0x7e", &c), 0);
	assert_int_equal(c.guid_mask, 0x7e);
	assert_int_equal(ipoib_conf_parse(PORT ",guid-mask=0x7f", &c), 0);
	assert_int_equal(c.guid_mask, 0xe7);
}

/* What is said back makes the same port. */
static void
said_back(void **state)
{
	static const char *const text[] = {
		"",
		",age=7",
		",pkey=32773,mtu=2044,connected=1,refuse-incoming=1,cm-mtu=1500,guid-mask=126,age-interval=10000,age="
		"20,"
		"monitor=1000,query-runs=10,leave-runs=1,mac=02:00:00:00:00:0A",
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		struct tp_ipoib_conf c;
		char all[512], back[IPOIB_CONF_LEN];

		snprintf(all, sizeof(all), PORT "%s", text[i]);
		assert_int_equal(ipoib_conf_parse(all, &c), 0);
		memset(back, 'x', sizeof(back));
		ipoib_conf_text(&c, back);
		assert_string_equal(back, text[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(defaults),
		cmocka_unit_test(ranges),
		cmocka_unit_test(numbers),
		cmocka_unit_test(names_and_addresses),
		cmocka_unit_test(wholes),
		cmocka_unit_test(said_back),
	};

	return cmocka_run_group_tests_name("words of IPoIB ports", tests, NULL, NULL);
}
