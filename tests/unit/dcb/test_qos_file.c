/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Configuration files: what reaches the functions, and which line an error names. */
#include <errno.h>
#include <unistd.h>

#include "words_test.h"

static struct {
	unsigned int ports, groups, notices;
	uint16_t port;
	struct tp_qos_port q;
	struct tp_group g[4];
	uint16_t g_port[4];
	char notice[512];
	int refuse; /* what the functions answer */
} got;

static int
take_port(void *arg, uint16_t port, const struct tp_qos_port *q, char err[TP_ERR_LEN])
{
	assert_ptr_equal(arg, &got);
	got.ports++;
	got.port = port;
	got.q = *q;
	if (got.refuse != 0)
		snprintf(err, TP_ERR_LEN, "trust: 'x', want a reason");
	return got.refuse;
}

static int
take_group(void *arg, uint16_t port, const struct tp_group *g, char err[TP_ERR_LEN])
{
	assert_ptr_equal(arg, &got);
	assert_true(got.groups < 4);
	got.g_port[got.groups] = port;
	got.g[got.groups++] = *g;
	err[0] = '\0';
	return got.refuse != 0 ? got.refuse : 3; /* an answer above 0 is a number of queues */
}

static void
take_notice(void *arg, const char *text)
{
	assert_ptr_equal(arg, &got);
	got.notices++;
	snprintf(got.notice, sizeof(got.notice), "%s", text);
}

static const struct tp_qos_file_ops ops = {take_port, take_group, take_notice};
static char path[64];

static int
read_octets(const char *text, size_t len, char *err, size_t err_len)
{
	FILE *f = fopen(path, "w");
	int refuse = got.refuse;

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	fclose(f);
	memset(&got, 0, sizeof(got));
	got.refuse = refuse;
	return tp_qos_file_read(path, &ops, &got, err, err_len);
}

static int
read_text(const char *text, char *err, size_t err_len)
{
	return read_octets(text, strlen(text), err, err_len);
}

static void
sections(void **state)
{
	char err[512];

	(void)state;
	assert_int_equal(read_text("# a converged port\n"
				   "[port 1]\n"
				   "pfc=3        # lossless storage\n"
				   "\tprio-tc=0,0,0,1,0,0,0,0\r\n"
				   "tc=0:ets:40\n"
				   "tc=1:ets:60\n"
				   "\n"
				   "[group 1 web]\n"
				   "mac=02:00:00:00:00:01\n"
				   "queues=4-7\n"
				   "[  group   0x2\tguest-7 ]\n"
				   "dropless=50",
				   err, sizeof(err)),
			 0);
	assert_int_equal(got.ports, 1);
	assert_int_equal(got.port, 1);
	assert_int_equal(got.q.rx_pfc, 8);
	assert_int_equal(got.q.tc[1].bw_pct, 60);
	assert_int_equal(got.groups, 2);
	assert_int_equal(got.g_port[0], 1);
	assert_string_equal(got.g[0].name, "web");
	assert_int_equal(got.g[0].num_queues, 4);
	assert_int_equal(got.g[0].delay_drop, 0);
	assert_int_equal(got.g_port[1], 2);
	assert_string_equal(got.g[1].name, "guest-7");
	assert_int_equal(got.g[1].num_queues, 0);
	assert_int_equal(got.g[1].delay_drop, 50);
	assert_int_equal(read_text("", err, sizeof(err)), 0);
	assert_int_equal(got.ports + got.groups, 0);
	assert_int_equal(read_text("[port 0]", err, sizeof(err)), 0);
	assert_int_equal(got.ports, 1);
	/* What one port has is not the next one's. */
	assert_int_equal(read_text("[port 1]\npfc=3\n[port 2]\ntrust=pcp\n", err, sizeof(err)), 0);
	assert_int_equal(got.ports, 2);
	assert_int_equal(got.port, 2);
	assert_int_equal(got.q.rx_pfc, 0);
}

static const struct {
	const char *text;
	int ret;
	unsigned int line;
	const char *value, *range;
	unsigned int handed; /* sections before the error */
} bad[] = {
	{"trust=pcp\n", -EINVAL, 1, "trust=pcp", "[port N]", 0},
	{"[port 0]\n\ntrust=x\n", -EINVAL, 3, "'x'", "pcp or dscp", 0},
	{"[port 0]\ntrusty=pcp\n", -ENOENT, 2, "trusty", "trust", 0},
	{"[port 0]\n[group 0 a]\nvlan=4096\n", -EINVAL, 3, "4096", "0..4095", 1},
	{"[port 0]\ntrust=pcp dscp-ets=on\n", -EINVAL, 2, "pcp dscp-ets", "pcp or dscp", 0},
	{"[port 65536]\n", -EINVAL, 1, "65536", "0..65535", 0},
	{"[port -1]\n", -EINVAL, 1, "-1", "0..65535", 0},
	{"[port]\n", -EINVAL, 1, "[port]", "[port N]", 0},
	{"[port 0 1]\n", -EINVAL, 1, "[port 0 1]", "[port N]", 0},
	{"[port 0\n", -EINVAL, 1, "[port 0", "[port N]", 0},
	{"[group 0]\n", -EINVAL, 1, "[group 0]", "[group N NAME]", 0},
	{"[group 0 a b]\n", -EINVAL, 1, "a b", "[group N NAME]", 0},
	{"[group 0 a/b]\n", -EINVAL, 1, "a/b", "letters", 0},
	{"[]\n", -EINVAL, 1, "[]", "[port N]", 0},
	{"[\n", -EINVAL, 1, "'['", "[port N]", 0},
	{"[card 0]\n", -EINVAL, 1, "[card 0]", "[port N]", 0},
	{"[port 0]\n[port 1]\n[port 0]\n", -EEXIST, 3, "port 0", "one a port", 2},
};

static void
errors_name_the_line(void **state)
{
	char err[512], where[128];
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(read_text(bad[i].text, err, sizeof(err)), bad[i].ret);
		snprintf(where, sizeof(where), "%s:%u: ", path, bad[i].line);
		assert_int_equal(strncmp(err, where, strlen(where)), 0);
		assert_refusal(err, bad[i].value, bad[i].range);
		assert_int_equal(got.ports + got.groups, bad[i].handed);
	}
}

/* A refusal stops the reading; the line is that of the section. */
static void
refused_sections(void **state)
{
	char err[512], where[128];

	(void)state;
	got.refuse = -EBUSY;
	assert_int_equal(read_text("\n[port 4]\ntrust=pcp\n\n[group 4 a]\n", err, sizeof(err)), -EBUSY);
	snprintf(where, sizeof(where), "%s:2: trust: 'x', want a reason", path);
	assert_string_equal(err, where);
	assert_int_equal(got.groups, 0);
	/* no reason given: the errno's */
	assert_int_equal(read_text("[group 4 a]\n", err, sizeof(err)), -EBUSY);
	snprintf(where, sizeof(where), "%s:1: %s", path, strerror(EBUSY));
	assert_string_equal(err, where);
	got.refuse = 0;
}

static void
notices(void **state)
{
	static const struct tp_qos_file_ops quiet = {take_port, take_group, NULL};
	char err[512], where[128];

	(void)state;
	assert_int_equal(read_text("[port 0]\nuntagged-prio=8\n", err, sizeof(err)), 0);
	assert_int_equal(got.notices, 1);
	snprintf(where, sizeof(where), "%s:2: untagged-prio: '8'", path);
	assert_int_equal(strncmp(got.notice, where, strlen(where)), 0);
	assert_int_equal(tp_qos_file_read(path, &quiet, &got, err, sizeof(err)), 0);
}

static void
files_that_are_none(void **state)
{
	char err[512], text[3000];

	(void)state;
	assert_int_equal(tp_qos_file_read("/nonexistent/file", &ops, &got, err, sizeof(err)), -ENOENT);
	assert_refusal(err, "/nonexistent/file", "No such file");
	assert_int_equal(tp_qos_file_read("/", &ops, &got, err, sizeof(err)), -EIO);
	assert_refusal(err, "/:", "read");
	memset(text, 'a', sizeof(text));
	assert_int_equal(read_octets(text, sizeof(text), err, sizeof(err)), -EINVAL);
	assert_refusal(err, "3000 characters", "1023");
	assert_int_equal(read_octets("[port 0]\ntrust=pcp\0=x\n", 22, err, sizeof(err)), -EINVAL);
	assert_refusal(err, ":2: ", "NUL after 9");
	assert_int_equal(got.ports, 0);
}

static void
random_files(void **state)
{
	static const char *const lines[] = {"[port 0]\n",
					    "[group 0 a]\n",
					    "[",
					    "]",
					    "\n",
					    "# \n",
					    "trust=dscp\n",
					    "mac=",
					    "02:00:00:00:00:01\n",
					    "group 1 ",
					    "port 7",
					    " ",
					    "\t",
					    "=",
					    "pfc=3\n",
					    "untagged-prio=99\n",
					    "\xff\xfe",
					    "queues=1-9\n",
					    "rule=udp:1:1\n"};
	unsigned int seed = 5, i, k;
	char text[2048], err[512];

	(void)state;
	for (i = 0; i < 600; i++) {
		text[0] = '\0';
		for (k = (unsigned int)rand_r(&seed) % 40; k > 0; k--)
			strncat(text, lines[(unsigned int)rand_r(&seed) % (sizeof(lines) / sizeof(lines[0]))],
				sizeof(text) - strlen(text) - 1);
		if (strlen(text) > 0 && i % 2 == 0)
			text[(unsigned int)rand_r(&seed) % strlen(text)] = (char)rand_r(&seed);
		got.refuse = -EPERM; /* the first section is the last */
		if (read_octets(text, strlen(text), err, sizeof(err)) != 0)
			assert_int_equal(strncmp(err, path, strlen(path)), 0);
		assert_null(strchr(err, '\n'));
	}
	got.refuse = 0;
}

static int
make_path(void **state)
{
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/test_qos_file.XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int
remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections), cmocka_unit_test(errors_name_the_line), cmocka_unit_test(refused_sections),
		cmocka_unit_test(notices),  cmocka_unit_test(files_that_are_none),  cmocka_unit_test(random_files),
	};

	return cmocka_run_group_tests_name("qos_file", tests, make_path, remove_path);
}
