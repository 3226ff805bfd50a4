/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Options of tp_pingpong, tp_perf and tp_rping: what fits, and what does not with the line that says why. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "apps/perf/perf.h"
#include "apps/pingpong/pingpong.h"
#include "apps/tp_rping/rping.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_ARGS 32

/* A line split at spaces; the program's name is its first word. */
static int
split(const char *line, char buf[512], char *argv[MAX_ARGS])
{
	char *save = NULL, *w;
	int n = 0;

	snprintf(buf, 512, "%s", line);
	for (w = strtok_r(buf, " ", &save); w != NULL && n < MAX_ARGS - 1; w = strtok_r(NULL, " ", &save))
		argv[n++] = w;
	argv[n] = NULL;
	return n;
}

static int
perf_line(struct perf_conf *c, const char *line, char *err, size_t len)
{
	static char buf[512];
	char *argv[MAX_ARGS];

	err[0] = '\0';
	return perf_parse(c, split(line, buf, argv), argv, err, len);
}

static int
pp_line(struct pp_conf *c, const char *line, char *err, size_t len)
{
	static char buf[512];
	char *argv[MAX_ARGS];

	err[0] = '\0';
	return pp_parse(c, split(line, buf, argv), argv, err, len);
}

static void
perf_good(void **state)
{
	struct perf_conf c;
	char err[512];

	(void)state;
	assert_int_equal(perf_line(&c, "tp_send_bw", err, sizeof(err)), 0);
	assert_int_equal(c.verb, PERF_SEND);
	assert_false(c.lat);
	assert_null(c.host);
	assert_int_equal(c.size, 65536);
	assert_int_equal(c.iters, 1000);
	assert_int_equal(c.tx_depth, 128);
	assert_int_equal(c.rx_depth, 512);
	assert_int_equal(c.cq_mod, 1);
	assert_int_equal(c.tcp_port, 18515);
	assert_int_equal(c.port.vlan, TP_ROCE_NO_VLAN);
	assert_int_equal(c.port.gid_index, RPORT_ANY_GID);

	assert_int_equal(perf_line(&c, "/usr/bin/tp_write_lat -s 64 -n 200 -I 64 -F peer", err, sizeof(err)), 0);
	assert_int_equal(c.verb, PERF_WRITE);
	assert_true(c.lat);
	assert_int_equal(c.size, 64);
	assert_int_equal(c.inl, 64);
	assert_string_equal(c.host, "peer");

	/* options behind the host, joined values, bundled letters, hexadecimal numbers */
	assert_int_equal(perf_line(&c, "tp_perf write_bw peer -abe -Q10 --qp=0x4 -t 64 -c UC", err, sizeof(err)), 0);
	assert_int_equal(c.iters, 5000);
	assert_int_equal(c.all && c.bidir && c.events, 1);
	assert_int_equal(c.cq_mod, 10);
	assert_int_equal(c.qps, 4);
	assert_int_equal(perf_qp_type(&c), IBV_QPT_UC);
	assert_string_equal(c.host, "peer");

	assert_int_equal(
		perf_line(&c, "tp_atomic_bw -A CMP_AND_SWAP -o 4 -D 8 --report_gbits --json", err, sizeof(err)), 0);
	assert_int_equal(c.atomic, 0);
	assert_int_equal(c.size, 8);
	assert_int_equal(c.margin, 2);
	assert_int_equal(c.gbits, 1);

	assert_int_equal(perf_line(&c, "tp_send_bw -c UD -s 1024 -n 4000", err, sizeof(err)), 0);
	assert_int_equal(c.rx_depth, 4000);
	assert_int_equal(c.cq_mod, 100);
	assert_int_equal(perf_line(&c, "tp_send_bw -t 32 -s 64", err, sizeof(err)), 0);
	assert_int_equal(c.cq_mod, 32);
	assert_int_equal(perf_line(&c,
				   "tp_read_lat -d net_memif0 --addr 192.0.2.1/24 --addr 2001:db8::1/64 --mode v1 "
				   "--provider sw -x 3 --vlan 7",
				   err, sizeof(err)),
			 0);
	assert_string_equal(c.port.dev, "net_memif0");
	assert_string_equal(c.port.addr[1], "2001:db8::1/64");
	assert_null(c.port.addr[2]);
	assert_int_equal(c.port.mode, TP_ROCE_V1);
	assert_int_equal(c.port.gid_index, 3);
	assert_int_equal(c.port.vlan, 7);
}

struct bad {
	const char *line, *value, *want; /* both must be in the message */
};

static void
refused(int rc, const char *line, const char *err, const struct bad *b)
{
	print_message("%s\n", err);
	if (rc != -EINVAL || strstr(err, b->value) == NULL || strstr(err, b->want) == NULL || strchr(err, '\n') != NULL)
		fail_msg("'%s': %d, '%s'; wanted '%s' and '%s'", line, rc, err, b->value, b->want);
}

static void
perf_bad(void **state)
{
	static const struct bad bad[] = {
		{"tp_perf", "''", "write"},
		{"tp_perf bogus_bw", "bogus_bw", "atomic"},
		{"tp_send_bwx", "''", "{bw,lat}"},
		{"tp_send_bw -s 0", "'0'", "1..8388608"},
		{"tp_send_bw -s 8388609", "8388609", "1..8388608"},
		{"tp_send_bw -s 12x", "12x", "1..8388608"},
		{"tp_send_bw -s -1", "'-1'", "1..8388608"},
		{"tp_send_bw --size=", "''", "1..8388608"},
		{"tp_send_bw -s 99999999999999999999", "99999999999999999999", "8388608"},
		{"tp_send_bw -s", "--size", "N"},
		{"tp_send_bw -n 4", "'4'", "5..100000000"},
		{"tp_send_bw -c RD", "RD", "RC, UC, UD"},
		{"tp_send_bw --bogus", "--bogus", "--help"},
		{"tp_send_bw --mtu 300", "300", "256, 512"},
		{"tp_send_bw -m 128", "128", "256..4096"},
		{"tp_send_bw a b", "'b'", "HOST"},
		{"tp_send_bw --self peer", "'peer'", "--self"},
		{"tp_write_bw -c UD", "UD", "send"},
		{"tp_read_bw -c UC", "UC", "write"},
		{"tp_atomic_bw -s 16", "16", "8"},
		{"tp_atomic_lat -a", "--all", "8"},
		{"tp_send_lat -b", "--bidirectional", "latency"},
		{"tp_send_lat -q 2", "2", "one queue pair"},
		{"tp_send_lat -l 2", "2", "one request"},
		{"tp_send_bw -D 5 -a", "--all", "--duration"},
		{"tp_send_bw -D 5 -f 3", "3 s", "5 s"},
		{"tp_send_bw -l 200 -t 100", "200", "100"},
		{"tp_write_bw --use-srq", "--use-srq", "send"},
		{"tp_send_bw --use-srq -q 100 -r 50", "100", "50"},
		{"tp_send_bw -q 0", "'0'", "1..16384"},
		{"tp_send_bw -t 15001", "15001", "1..15000"},
		{"tp_send_bw -I 1025", "1025", "0..1024"},
		{"tp_send_bw -p 65536", "65536", "1..65535"},
		{"tp_send_bw -i 2", "'2'", "1..1"},
		{"tp_send_bw --mode v3", "v3", "v2, v1, v1-mac"},
		{"tp_send_bw --vlan 4095", "4095", "1..4094"},
		{"tp_send_bw --addr a --addr b --addr c --addr d --addr e", "'e'", "4"},
		{"tp_send_bw -x 128", "128", "0..127"},
		{"tp_send_bw -u 32", "32", "0..31"},
		{"tp_send_bw --retry_count 8", "'8'", "0..7"},
		{"tp_send_bw -A ADD", "ADD", "FETCH_AND_ADD"},
		{"tp_send_bw --output=all", "all", "message_rate"},
		{"tp_send_bw -R -c UD", "--rdma_cm", "RC"},
		{"tp_send_bw -D 86401", "86401", "1..86400"},
		{"tp_send_bw -f 43201", "43201", "0..43200"},
		{"tp_read_bw -o 17", "'17'", "1..16"},
		{"tp_send_bw -l 513", "513", "1..512"},
		{"tp_send_bw -Q 1025", "1025", "1..1024"},
		{"tp_send_bw -r 16385", "16385", "1..16384"},
		{"tp_send_bw -S 8", "'8'", "0..7"},
		{"tp_send_bw -w 4000001", "4000001", "0..4000000"},
		{"tp_send_bw -y 4001", "4001", "0..4000"},
		{"tp_send_bw --tclass 256", "256", "0..255"},
		{"tp_send_lat --latency_gap 1000001", "1000001", "0..1000000"},
		{"tp_send_bw --interval 60001", "60001", "10..60000"},
		{"tp_send_bw --udp-port 0", "'0'", "1..65535"},
		{"tp_send_bw --eth-mtu 575", "575", "576..9600"},
		{"tp_send_bw --prio 8", "'8'", "0..7"},
		{"tp_send_bw --dscp 64", "64", "0..63"},
		{"tp_send_bw --hop-limit 256", "256", "1..255"},
		{"tp_send_bw --link-wait 3601", "3601", "0..3600"},
	};
	struct perf_conf c;
	char err[512];
	size_t i;

	(void)state;
	for (i = 0; i < N(bad); i++)
		refused(perf_line(&c, bad[i].line, err, sizeof(err)), bad[i].line, err, &bad[i]);
}

static void
pingpong_good(void **state)
{
	struct pp_conf c;
	char err[512];

	(void)state;
	assert_int_equal(pp_line(&c, "tp_pingpong", err, sizeof(err)), 0);
	assert_int_equal(c.size, 4096);
	assert_int_equal(c.mtu, 1024);
	assert_int_equal(c.rx_depth, 500);
	assert_int_equal(pp_line(&c, "tp_pingpong -C UD host -n 5 -g 1 -ec", err, sizeof(err)), 0);
	assert_int_equal(c.size, 1024);
	assert_int_equal(c.events && c.check, 1);
	assert_int_equal(c.port.gid_index, 1);
	assert_string_equal(c.host, "host");
}

static void
pingpong_bad(void **state)
{
	static const struct bad bad[] = {
		{"tp_pingpong -s 0", "'0'", "1..1073741824"}, {"tp_pingpong -n 0", "'0'", "1..100000000"},
		{"tp_pingpong -m 1000", "1000", "1024"},      {"tp_pingpong -m 8192", "8192", "256..4096"},
		{"tp_pingpong -C XRC", "XRC", "RC, UC, UD"},  {"tp_pingpong -C UD -s 2000", "2000", "1..1024"},
		{"tp_pingpong -r 1", "'1'", "2..16384"},      {"tp_pingpong -l 8", "'8'", "0..7"},
		{"tp_pingpong -I 5000", "5000", "0..4096"},   {"tp_pingpong -u 32", "32", "0..31"},
		{"tp_pingpong -p 0", "'0'", "1..65535"},      {"tp_pingpong -z", "-z", "--help"},
		{"tp_pingpong a b c", "'b'", "HOST"},         {"tp_pingpong --self host", "host", "--self"},
		{"tp_pingpong -n", "--iters", "N"},           {"tp_pingpong --tclass 256", "256", "0..255"},
		{"tp_pingpong -g 128", "128", "0..127"},      {"tp_pingpong -i 0", "'0'", "1..1"},
	};
	struct pp_conf c;
	char err[512];
	size_t i;

	(void)state;
	for (i = 0; i < N(bad); i++)
		refused(pp_line(&c, bad[i].line, err, sizeof(err)), bad[i].line, err, &bad[i]);
}

static int
rping_line(struct rping_conf *c, const char *line, char *err, size_t len)
{
	static char buf[512];
	char *argv[MAX_ARGS];

	err[0] = '\0';
	return rping_parse(c, split(line, buf, argv), argv, err, len);
}

static void
rping_good(void **state)
{
	struct rping_conf c;
	char err[512];

	(void)state;
	assert_int_equal(rping_line(&c, "tp_rping -sPvVd -p 7000 --ib-dev net_memif0", err, sizeof(err)), 0);
	assert_int_equal(c.server && c.persistent && c.verbose && c.validate && c.debug, 1);
	assert_int_equal(c.tcp_port, 7000);
	assert_string_equal(c.port.dev, "net_memif0");
	assert_int_equal(rping_line(&c, "tp_rping -c -a 2001:db8::1 -C 3 -S 26", err, sizeof(err)), 0);
	assert_int_equal(c.tcp_port, 7174);
	assert_int_equal(c.size, 26);
	assert_int_equal(rping_line(&c, "tp_rping --self --self-addr 192.0.2.2/24 -C 1", err, sizeof(err)), 0);
}

static void
rping_bad(void **state)
{
	static const struct bad bad[] = {
		{"tp_rping", "'neither'", "-s or -c"},
		{"tp_rping -s -c -a 192.0.2.1", "'both'", "-s or -c"},
		{"tp_rping -c", "'-a IP'", "server's address"},
		{"tp_rping -c -a host", "'host'", "IPv4 or IPv6"},
		{"tp_rping -c -a 192.0.2.1/24", "192.0.2.1/24", "IPv4 or IPv6"},
		{"tp_rping -c -a 192.0.2.1 -I x", "'x'", "IPv4 or IPv6"},
		{"tp_rping -s -S 25", "'25'", "26..65535"},
		{"tp_rping -s -S 65536", "65536", "26..65535"},
		{"tp_rping -s -p 0", "'0'", "1..65535"},
		{"tp_rping -s -C 0", "'0'", "1..4294967295"},
		{"tp_rping -s peer", "'peer'", "behind the options"},
		{"tp_rping --self --self-addr 192.0.2.2/24", "'-C N'", "pings"},
		{"tp_rping --self -C 1", "--self-addr", "address"},
		{"tp_rping -s -z", "-z", "--help"},
	};
	struct rping_conf c;
	char err[512];
	size_t i;

	(void)state;
	for (i = 0; i < N(bad); i++)
		refused(rping_line(&c, bad[i].line, err, sizeof(err)), bad[i].line, err, &bad[i]);
}

static void
port_addresses(void **state)
{
	static const char *const bad[] = {"",
					  "192.0.2",
					  "192.0.2.1/33",
					  "192.0.2.1/",
					  "192.0.2.1/-1",
					  "192.0.2.1/2x",
					  "2001:db8::/129",
					  "2001:db8::g",
					  "192.0.2.1/24/24",
					  "/24"};
	struct sockaddr_storage a;
	unsigned int prefix;
	size_t i;

	(void)state;
	assert_int_equal(rport_addr_parse("192.0.2.1/24", &a, &prefix), 0);
	assert_int_equal(a.ss_family, AF_INET);
	assert_int_equal(prefix, 24);
	assert_int_equal(rport_addr_parse("192.0.2.1", &a, &prefix), 0);
	assert_int_equal(prefix, 32);
	assert_int_equal(rport_addr_parse("2001:db8::1/64", &a, &prefix), 0);
	assert_int_equal(a.ss_family, AF_INET6);
	assert_int_equal(prefix, 64);
	for (i = 0; i < N(bad); i++)
		assert_int_equal(rport_addr_parse(bad[i], &a, &prefix), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(perf_good),    cmocka_unit_test(perf_bad),       cmocka_unit_test(pingpong_good),
		cmocka_unit_test(pingpong_bad), cmocka_unit_test(port_addresses), cmocka_unit_test(rping_good),
		cmocka_unit_test(rping_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
