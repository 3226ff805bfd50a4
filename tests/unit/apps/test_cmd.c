/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The registry: what fits runs with its values, what does not is explained in one line, and completion. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps/triplane/cli/cmd.h"

static struct cmd_args seen;
static char seen_text[256];

static int
take(void *app, const struct cmd_args *a)
{
	const char *text = cmd_text(a, "text");

	(void)app;
	seen = *a;
	snprintf(seen_text, sizeof(seen_text), "%s", text == NULL ? "" : text);
	return 0;
}

static int
busy(void *app, const struct cmd_args *a)
{
	(void)app;
	(void)a;
	return -EBUSY;
}

static unsigned int
three_ports(void *app, uint32_t ids[CMD_MAX_LIST])
{
	(void)app;
	ids[0] = 0;
	ids[1] = 1;
	ids[2] = 5;
	return 3;
}

static const char *const colours[] = {"red", "green"};
static const struct cmd_set set = {"colour", colours, 2};
static const struct cmd table[] = {
	{"T", "set burst {n:1..512}", "", take, false},
	{"T", "set colour {c:@colour} [{n:0..9} [last]]", "", take, false},
	{"T", "show port {what:info|stats} {ports:ports}", "", take, true},
	{"T", "mac {port:port} {a:mac}", "", take, false},
	{"T", "key {k:hex}", "", take, false},
	{"T", "ip {addr:ip4}", "", take, false},
	{"T", "cores {l:list}", "", take, false},
	{"T", "say {text:rest}", "", take, false},
	{"T", "fail", "", busy, false},
	{"Paint", "tint {text:rest=@colour}",
	 "Says of what colour, or of which colours, everything is to be from now on, and no other.", take, false},
};

static struct cmd_reg *
make(void)
{
	struct cmd_reg *reg;

	assert_int_equal(cmd_reg_create(NULL, three_ports, &reg), 0);
	assert_int_equal(cmd_reg_set(reg, &set), 0);
	assert_int_equal(cmd_reg_add(reg, table, sizeof(table) / sizeof(table[0])), 0);
	return reg;
}

static void
good_lines(void **state)
{
	struct cmd_reg *reg = make();
	char err[1024];

	(void)state;
	assert_int_equal(cmd_run(reg, "set burst 512", err, sizeof(err)), 0);
	assert_int_equal(cmd_num(&seen, "n", 0), 512);
	assert_int_equal(cmd_run(reg, "  set\tburst 0x10  # comment", err, sizeof(err)), 0);
	assert_int_equal(cmd_num(&seen, "n", 0), 16);
	assert_int_equal(cmd_run(reg, "set colour green", err, sizeof(err)), 0);
	assert_false(cmd_has(&seen, "n"));
	assert_int_equal(cmd_run(reg, "set colour red 3 last", err, sizeof(err)), 0);
	assert_true(cmd_has(&seen, "last"));
	assert_int_equal(cmd_run(reg, "show port stats all json", err, sizeof(err)), 0);
	assert_true(seen.json);
	assert_int_equal(cmd_val(&seen, "ports")->n, 3);
	assert_int_equal(cmd_val(&seen, "ports")->list[2], 5);
	assert_int_equal(cmd_run(reg, "show port stats 0-1,5", err, sizeof(err)), 0);
	assert_int_equal(cmd_val(&seen, "ports")->n, 3);
	assert_int_equal(cmd_run(reg, "mac 5 02:00:00:00:00:01", err, sizeof(err)), 0);
	assert_int_equal(cmd_num(&seen, "port", 0), 5);
	assert_int_equal(cmd_val(&seen, "a")->mac.addr_bytes[5], 1);
	assert_int_equal(cmd_run(reg, "key 00fF", err, sizeof(err)), 0);
	assert_int_equal(cmd_val(&seen, "k")->hex[1], 0xff);
	assert_int_equal(cmd_run(reg, "ip 198.18.0.1", err, sizeof(err)), 0);
	assert_int_equal(cmd_val(&seen, "addr")->ip4, 0xc6120001);
	assert_int_equal(cmd_run(reg, "say two  words", err, sizeof(err)), 0);
	assert_string_equal(seen_text, "two words");
	assert_int_equal(cmd_run(reg, "", err, sizeof(err)), 0);
	assert_int_equal(cmd_run(reg, "# only a comment", err, sizeof(err)), 0);
	assert_int_equal(cmd_run(reg, "fail", err, sizeof(err)), -EBUSY);
	assert_string_equal(err, "");
	cmd_reg_free(reg);
}

static void
bad_lines(void **state)
{
	static const struct {
		const char *line, *value, *want; /* both must be in the message */
	} bad[] = {
		{"set burst 513", "513", "1..512"},
		{"set burst 0", "'0'", "1..512"},
		{"set burst -1", "-1", "1..512"},
		{"set burst 99999999999999999999999", "99999999999999999999999", "1..512"},
		{"set burst 1x", "1x", "1..512"},
		{"set burst", "set burst", "1..512"},
		{"set colour blue", "blue", "red|green"},
		{"set colour red 10", "10", "0..9"},
		{"set nothing", "nothing", "burst, colour"},
		{"bogus", "bogus", "set"},
		{"show port info 2", "2", "0,1,5"},
		{"show port info 1-", "1-", "0,1,5"},
		{"mac 0-1 02:00:00:00:00:01", "0-1", "0,1,5"},
		{"mac 0 02:00:00:00:00", "02:00:00:00:00", "MAC"},
		{"key abc", "abc", "hex"},
		{"ip 1.2.3", "1.2.3", "IPv4"},
		{"ip 1.2.3.256", "256", "IPv4"},
		{"cores 5-1", "5-1", "numbers"},
		{"cores 0-4000000000", "4000000000", "numbers"},
		{"cores 1,,2", "1,,2", "numbers"},
		{"fail now", "now", "fail"},
	};
	struct cmd_reg *reg = make();
	char err[1024], line[3 * CMD_MAX_LINE];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(cmd_run(reg, bad[i].line, err, sizeof(err)), -EINVAL);
		print_message("%s\n", err);
		assert_non_null(strstr(err, bad[i].value));
		assert_non_null(strstr(err, bad[i].want));
		assert_null(strchr(err, '\n'));
	}
	memset(line, 'a', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	assert_int_equal(cmd_run(reg, line, err, sizeof(err)), -EINVAL);
	for (i = 0; i < CMD_MAX_LINE - 2; i += 2)
		memcpy(line + i, "x ", 3);
	assert_int_equal(cmd_run(reg, line, err, sizeof(err)), -EINVAL);
	cmd_reg_free(reg);
}

static void
completion(void **state)
{
	struct cmd_reg *reg = make();
	char words[16][CMD_WORD_LEN];
	unsigned int typed;

	(void)state;
	assert_int_equal(cmd_complete(reg, "se", words, 16, &typed), 1);
	assert_string_equal(words[0], "set");
	assert_int_equal(cmd_complete(reg, "set ", words, 16, &typed), 2);
	assert_int_equal(cmd_complete(reg, "set colour g", words, 16, &typed), 1);
	assert_string_equal(words[0], "green");
	assert_int_equal(cmd_complete(reg, "set burst ", words, 16, &typed), 1);
	assert_int_equal(typed, 1);
	assert_int_equal(cmd_complete(reg, "nothing ", words, 16, &typed), 0);
	/* Each word of a rest. */
	assert_int_equal(cmd_complete(reg, "tint ", words, 16, &typed), 2);
	assert_int_equal(typed, 0);
	assert_int_equal(cmd_complete(reg, "tint red sky g", words, 16, &typed), 1);
	assert_string_equal(words[0], "green");
	cmd_reg_free(reg);
}

/* Lines of no more than 79 characters; which of the words are in it. */
static void
check_help(struct cmd_reg *reg, const char *topic, const char *in, const char *out)
{
	char *text = NULL, *line, *save = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(cmd_help(reg, topic, f), 0);
	fclose(f);
	if (strstr(text, in) == NULL || strstr(text, out) != NULL)
		fail_msg("help %s: %s", topic, text);
	for (line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
		assert_true(strlen(line) <= 79);
	free(text);
}

static void
help(void **state)
{
	static const struct cmd_topic topics[] = {{"Paint", "what colours there are"}};
	struct cmd_reg *reg = make();

	(void)state;
	cmd_reg_topics(reg, topics, 1);
	check_help(reg, NULL, "  Paint           what colours there are\n", "tint");
	check_help(reg, "paint", "tint <text>", "burst");
	check_help(reg, "pa", "tint <text>", "burst");
	check_help(reg, "set bu", "<n>: 1..512", "colour");
	check_help(reg, "all", "burst", "1..512");
	assert_int_equal(cmd_help(reg, "burst", stdout), -ENOENT);
	cmd_reg_free(reg);
}

static void
bad_tables(void **state)
{
	static const char *const syntax[] = {"a {b}", "a {b:9..1}", "a [b", "a {b:@none}", ""};
	struct cmd_reg *reg = make();
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(syntax) / sizeof(syntax[0]); i++) {
		struct cmd cmd = {"T", syntax[i], "", take, false};

		assert_int_equal(cmd_reg_add(reg, &cmd, 1), -EINVAL);
	}
	cmd_reg_free(reg);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_lines), cmocka_unit_test(bad_lines),  cmocka_unit_test(completion),
		cmocka_unit_test(help),       cmocka_unit_test(bad_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
