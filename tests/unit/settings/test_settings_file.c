/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Configuration files: written, read, refused line by line. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake.h"

struct said {
	unsigned int n;
	char line[32][TP_SETTING_ERR + 512];
};

static char path[64];
static struct said said;

static void
write_file(const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void
wrong(void *arg, const char *text)
{
	struct said *s = arg;

	assert_true(s->n < 32);
	snprintf(s->line[s->n++], sizeof(s->line[0]), "%s", text);
}

static int
read_file(struct fake *f, bool whole, struct tp_setting_list *l)
{
	memset(l, 0, sizeof(*l));
	memset(&said, 0, sizeof(said));
	return tp_settings_read(f->s, path, whole, l, wrong, &said);
}

static int
load(struct fake *f, bool whole)
{
	char err[TP_SETTING_ERR];
	struct tp_setting_list l;
	int ret = read_file(f, whole, &l);

	if (ret == 0)
		ret = tp_settings_apply(f->s, &l, NULL, err);
	tp_setting_list_free(&l);
	return ret;
}

static char *
written(struct fake *f)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(tp_settings_write(f->s, out), 0);
	fclose(out);
	return text;
}

static const char defaults[] = "[program]\nname=\n[port 0]\nqueues=2\n[port 1]\nqueues=2\n"
			       "[rxq 0 0]\n[rxq 0 1]\n[rxq 1 0]\n[rxq 1 1]\n";

/* What is written has what differs from the defaults and nothing else; reading it brings it back. */
static void
round_trip(void **state)
{
	char *text, *again;
	struct fake *f = *state, was;

	text = written(f);
	assert_string_equal(text, defaults);
	free(text);
	strcpy(f->name, "a name");
	fake_set(f, "port 1", "mode", "macswap", 0, NULL, NULL);
	fake_set(f, "port 1", "rule", "tcp:80:3 udp:4791-4800:5:26", 0, NULL, NULL);
	fake_set(f, "port 0", "tc", "0:ets:40 1:ets:60", 0, NULL, NULL);
	fake_set(f, "rxq 1 1", "wait", "65535", 0, NULL, NULL);
	strcpy(f->port[0].ring, "4096");
	strcpy(f->port[0].queues, "all");
	strcpy(f->burst, "64");
	text = written(f);
	assert_non_null(strstr(text, "[program]\nburst=64\nname=a name\n[port 0]\nring=4096\ntc=0:ets:40 1:ets:60 "));
	assert_non_null(strstr(text, "[rxq 1 1]\nwait=65535\n"));
	write_file(text, strlen(text));
	was = *f;

	/* others in between, which the file does not name */
	fake_set(f, "port 0", "promisc", "off", 0, NULL, NULL);
	fake_set(f, "port 1", "trust", "dscp", 0, NULL, NULL);
	fake_set(f, "port 1", "rule", "none", 0, NULL, NULL);
	strcpy(f->port[0].queues, "1");
	strcpy(f->burst, "1");
	assert_int_equal(load(f, true), 0);
	assert_int_equal(said.n, 0);
	assert_memory_equal(f->port, was.port, sizeof(was.port));
	assert_memory_equal(f->qos, was.qos, sizeof(was.qos));
	assert_string_equal(f->burst, "64");
	again = written(f);
	assert_string_equal(again, text);
	free(again);
	free(text);
}

/* A section that is not whole leaves alone what it does not name. */
static void
parts(void **state)
{
	static const char text[] = "# a part\n\n  [port 0]  # of one port\n\tring=1024\n";
	struct fake *f = *state;

	fake_set(f, "port 0", "mode", "mac", 0, NULL, NULL);
	write_file(text, strlen(text));
	assert_int_equal(load(f, false), 0);
	assert_string_equal(f->port[0].ring, "1024");
	assert_string_equal(f->port[0].mode, "mac");
	assert_int_equal(load(f, true), 0);
	assert_string_equal(f->port[0].mode, "io");
	assert_string_equal(f->port[1].ring, "512");
}

/* A section of a queue that is made by another section is whole too; one that nobody makes is named. */
static void
queues_to_come(void **state)
{
	static const char made[] = "[port 0]\nqueues=all\n[rxq 0 3]\n", none[] = "[rxq 5 0]\n";
	struct tp_setting_list l;
	struct fake *f = *state;
	char err[TP_SETTING_ERR];

	strcpy(f->port[0].wait[3], "7"); /* left by a queue that was there once */
	write_file(made, strlen(made));
	assert_int_equal(load(f, true), 0);
	assert_string_equal(f->port[0].wait[3], "0");
	write_file(none, strlen(none));
	assert_int_equal(read_file(f, true, &l), 0);
	assert_int_equal(tp_settings_apply(f->s, &l, NULL, err), -ENOENT);
	assert_non_null(strstr(err, "rxq 5 0: not there"));
	tp_setting_list_free(&l);
}

/* Each wrong line is said, and nothing of the file is in force. */
static void
wrong_lines(void **state)
{
	static const char text[] = "ring=512\n"    /* 1: before a section */
				   "[port 0]\n"    /* 2 */
				   "ring=255\n"    /* 3 */
				   "mode=mac\n"    /* 4: good */
				   "ring=x\n"      /* 5 */
				   "rings=512\n"   /* 6 */
				   "promisc\n"     /* 7 */
				   "mode=io\n"     /* 8: twice */
				   "tc=9:strict\n" /* 9 */
				   "[port 7]\n"    /* 10 */
				   "ring=1\n"      /* of a section that was refused already */
				   "[port 0]\n"    /* 12: twice */
				   "[nonsense\n"   /* 13 */
				   "[card 0]\n"    /* 14 */
				   "type=cx3\n"    /* 15 */
				   "[]\n";         /* 16 */
	static const struct {
		unsigned int line;
		const char *word1, *word2;
	} want[] = {
		{1, "ring=512", "[port 0] first"},
		{3, "'255'", "256..4096 descriptors"},
		{5, "'x'", "256..4096"},
		{6, "'rings'", "nearest is ring"},
		{7, "'promisc'", "NAME=VALUE"},
		{8, "'io'", "line 4"},
		{9, "9:strict", "0..7"},
		{10, "port 7", "port 1"},
		{12, "already", "one of each"},
		{13, "[nonsense", "[port 0]"},
		{15, "type", "argument of the device"},
		{16, "''", "program"},
	};
	struct tp_setting_list l;
	struct fake *f = *state;
	char place[80];
	unsigned int i;

	write_file(text, strlen(text));
	assert_int_equal(read_file(f, true, &l), -EINVAL);
	tp_setting_list_free(&l);
	assert_int_equal(said.n, sizeof(want) / sizeof(want[0]));
	for (i = 0; i < said.n; i++) {
		snprintf(place, sizeof(place), "%s:%u: ", path, want[i].line);
		if (strncmp(said.line[i], place, strlen(place)) != 0 || strstr(said.line[i], want[i].word1) == NULL ||
		    strstr(said.line[i], want[i].word2) == NULL)
			fail_msg("'%s', want %s%s ... %s", said.line[i], place, want[i].word1, want[i].word2);
	}
	assert_int_equal(f->sets, 0);
}

static void
no_text(void **state)
{
	char text[20000];
	struct tp_setting_list l;
	struct fake *f = *state;

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\n';
	write_file(text, sizeof(text));
	assert_int_equal(read_file(f, true, &l), -EINVAL);
	assert_non_null(strstr(said.line[0], "20000 characters"));
	write_file("[port 0]\nring=512\0\n", 19);
	assert_int_equal(read_file(f, true, &l), -EINVAL);
	assert_non_null(strstr(said.line[0], "NUL"));
	tp_setting_list_free(&l);
	unlink(path);
	assert_int_equal(read_file(f, true, &l), -ENOENT);
	assert_non_null(strstr(said.line[0], path));
	assert_int_equal(l.num, 0);
	write_file("", 0);
	assert_int_equal(load(f, true), 0);
}

/* A list that was applied is written with what was before, which a part brings back. */
static void
lists_undo(void **state)
{
	static const char text[] = "[port 0]\nring=1024\nmode=mac\n[port 1]\ntrust=dscp\nring=2048\n";
	char err[TP_SETTING_ERR], *undo = NULL;
	struct tp_setting_list l;
	struct fake *f = *state, was;
	size_t len;
	FILE *out;

	fake_set(f, "port 0", "promisc", "off", 0, NULL, NULL);
	was = *f;
	write_file(text, strlen(text));
	assert_int_equal(read_file(f, false, &l), 0);
	assert_int_equal(tp_settings_apply(f->s, &l, NULL, err), 0);
	out = open_memstream(&undo, &len);
	assert_non_null(out);
	tp_setting_list_write(&l, out);
	fclose(out);
	tp_setting_list_free(&l);
	assert_string_equal(undo, "[port 0]\nring=512 # became 1024\nmode=io # became mac\n[port 1]\nring=512 # became "
				  "2048\ntrust=pcp # became dscp\n");
	write_file(undo, len);
	free(undo);
	assert_int_equal(load(f, false), 0);
	assert_memory_equal(f->port, was.port, sizeof(was.port));
	assert_memory_equal(f->qos, was.qos, sizeof(was.qos));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)
	static const struct CMUnitTest tests[] = {TEST(round_trip),  TEST(parts),   TEST(queues_to_come),
						  TEST(wrong_lines), TEST(no_text), TEST(lists_undo)};
	int ret;

	snprintf(path, sizeof(path), "/tmp/tp-settings-%d", (int)getpid());
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return ret;
}
