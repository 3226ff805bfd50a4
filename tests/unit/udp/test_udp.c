/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* lib/udp against frames that scapy built: what arrives, what is sent, octet for octet, and errors by ICMP. */
#include "harness.h"
#include "tests/unit/eal.h"

static void
test_received(void **state)
{
	struct udp_sock *u;
	struct udp_meta meta;

	(void)state;
	begin(&(struct udp_conf){0});
	u = sock(0, PORT);
	assert_int_equal(udp_readable(u), -1);
	assert_int_equal(get(u, 10, NULL), -EAGAIN);
	assert_true(GIVE(plain));
	assert_int_equal(events[0], 1);
	/* Longer than the room: the rest goes, the length tells. */
	assert_int_equal(get(u, 10, &meta), 10);
	assert_int_equal(meta.len, 100);
	assert_int_equal(meta.from.ip, PEER);
	assert_int_equal(meta.from.port, RTE_BE16(7000));
	assert_int_equal(meta.to.ip, US);
	assert_int_equal(meta.to.port, PORT);
	assert_int_equal(meta.ttl, 61);
	assert_int_equal(meta.tos, 0x48);
	assert_true(meta.us == now);
	assert_true(GIVE(tagged) && GIVE(options) && GIVE(no_sum) && GIVE(padded) && GIVE(empty));
	assert_true(give_pieces(p_plain, sizeof(p_plain), 30));
	expect(u, 100);
	expect(u, 100);
	expect(u, 100);
	expect(u, 3);
	expect(u, 0);
	expect(u, 100);
	/* To be looked at twice */
	assert_true(GIVE(plain));
	assert_int_equal(udp_recv(u, &(struct iovec){buf, 100}, 1, MSG_PEEK, NULL), 100);
	expect(u, 100);
	assert_false(GIVE(tcp) || GIVE(ping) || GIVE(about_tcp));
	assert_int_equal(udp_stats(s)->rx_datagrams, 8);
	end();
}

static void
test_refused(void **state)
{
	const struct udp_stats *st;
	struct udp_sock *u;

	(void)state;
	begin(&(struct udp_conf){0});
	st = udp_stats(s);
	u = sock(0, PORT);
	assert_true(GIVE(bad_sum));
	assert_int_equal(st->rx_checksum, 1);
	assert_true(GIVE(long_len) && GIVE(short_len) && GIVE(bad_ip_sum));
	assert_int_equal(st->rx_malformed, 3);
	assert_true(GIVE(not_ours) && GIVE(group) && GIVE(broadcast));
	assert_int_equal(st->rx_other, 2); /* the broadcast is for everybody */
	expect(u, 50);
	assert_int_equal(udp_readable(u), -1);
	assert_int_equal(nsent, 0);
	end();
}

static void
test_full(void **state)
{
	struct udp_sock *u;
	uint32_t i;

	(void)state;
	/* Of 612 octets each, 6 fit. */
	begin(&(struct udp_conf){.rcvbuf = 4096});
	u = sock(US, PORT);
	for (i = 0; i < 8; i++)
		assert_true(GIVE(plain));
	assert_int_equal(udp_drops(u), 2);
	assert_int_equal(udp_stats(s)->rx_full, 2);
	for (i = 0; i < 6; i++)
		expect(u, 100);
	assert_true(GIVE(plain));
	expect(u, 100);
	end();
}

static void
test_fragments(void **state)
{
	struct udp_sock *u;

	(void)state;
	begin(&(struct udp_conf){.frag_ms = 1000});
	u = sock(0, PORT);
	assert_true(GIVE(part2) && GIVE(part0));
	assert_int_equal(udp_readable(u), -1);
	assert_true(GIVE(part1));
	expect(u, 4000);
	assert_int_equal(udp_stats(s)->rx_joined, 1);
	/* One that never comes: the others are given up. */
	assert_true(GIVE(part0) && GIVE(part2));
	assert_true(udp_deadline(s) > now && udp_deadline(s) <= now + 1001 * MS);
	now = udp_deadline(s);
	udp_run(s, now);
	assert_true(udp_deadline(s) == TCP_NEVER);
	assert_int_equal(udp_stats(s)->rx_frag_dropped, 2);
	assert_true(GIVE(part1));
	assert_int_equal(udp_readable(u), -1);
	end();
}

/* More than a few, in any order and twice; one that overlaps makes an end of the datagram. */
static void
test_many_fragments(void **state)
{
	const uint32_t n = RTE_DIM(p_many);
	struct udp_sock *u;
	uint32_t i;

	(void)state;
	begin(&(struct udp_conf){.max_fragmented = 4});
	u = sock(0, PORT);
	assert_true(n > 20);
	for (i = 0; i < n; i++) {
		assert_int_equal(udp_readable(u), -1);
		assert_true(give_pieces(p_many[i * 5 % n].p, p_many[i * 5 % n].len, 90));
		if (i == 3)
			assert_true(give_pieces(p_many[i * 5 % n].p, p_many[i * 5 % n].len, 90));
	}
	expect(u, 4000);
	assert_int_equal(udp_stats(s)->rx_joined, 1);
	assert_int_equal(udp_stats(s)->rx_frag_dropped, 1);
	assert_true(GIVE(part0) && GIVE(part1) && GIVE(overlap) && GIVE(part2));
	assert_int_equal(udp_readable(u), -1);
	assert_int_equal(udp_stats(s)->rx_frag_dropped, 1 + 3);
	end();
}

/* Sockets that nobody reads, and one that is read. */
static void
test_scarce(void **state)
{
	struct udp_sock *idle, *u;
	uint32_t i;

	(void)state;
	begin(&(struct udp_conf){.max_queued = 64});
	idle = sock(0, RTE_BE16(5001));
	u = sock(0, PORT);
	for (i = 0; i < 100; i++)
		assert_true(GIVE(other_port));
	assert_int_equal(udp_drops(idle), 36);
	for (i = 0; i < 100; i++) {
		assert_true(GIVE(plain));
		expect(u, 100);
	}
	assert_int_equal(udp_drops(u), 0);
	for (i = 0; i < 40; i++)
		assert_true(GIVE(plain));
	assert_int_equal(udp_drops(u), 8); /* 32 are its own */
	end();
}

static void
test_sent(void **state)
{
	const struct tcp_addr peer = {PEER, RTE_BE16(7000)}, nowhere = {IP4(192, 0, 2, 77), RTE_BE16(1)};
	struct udp_tx tx = {.to = &peer, .ttl = -1, .tos = -1};
	struct tcp_addr local, remote;
	struct udp_sock *u;
	int err;

	(void)state;
	begin(&(struct udp_conf){0});
	u = sock(0, PORT);
	assert_int_equal(put(u, 100, NULL), -EDESTADDRREQ);
	assert_int_equal(put(u, 100, &tx), 100);
	SENT(0, out_plain);
	end();
	begin(&(struct udp_conf){0});
	u = sock(US, PORT);
	tx.ttl = 9;
	tx.tos = 0xb8;
	assert_int_equal(put(u, 100, &tx), 100);
	SENT(0, out_marked);
	end();
	begin(&(struct udp_conf){0});
	u = sock(0, PORT);
	vlan = 7;
	assert_int_equal(udp_connect(u, &peer), 0);
	udp_addrs(u, &local, &remote);
	assert_true(local.ip == US && local.port == PORT && remote.ip == PEER);
	assert_int_equal(put(u, 100, NULL), 100);
	SENT(0, out_tagged);
	assert_int_equal(put(u, 65508, NULL), -EMSGSIZE);
	stopped = true;
	assert_int_equal(put(u, 100, NULL), -ENOBUFS);
	assert_int_equal(udp_stats(s)->tx_blocked, 1);
	end();
	/* Without a port one is chosen, of the range. */
	begin(&(struct udp_conf){.port_min = 40000, .port_max = 40000});
	u = udp_open(s, NULL, &err);
	tx.to = &nowhere;
	assert_int_equal(put(u, 1, &tx), -EHOSTUNREACH);
	tx.to = &peer;
	assert_int_equal(put(u, 1, &tx), 1);
	udp_addrs(u, &local, &remote);
	assert_int_equal(local.port, RTE_BE16(40000));
	u = udp_open(s, NULL, &err);
	assert_int_equal(put(u, 1, &tx), -EADDRNOTAVAIL);
	end();
}

static void
test_large(void **state)
{
	static const struct {
		int how, large;
	} loose[] = {{IP_PMTUDISC_DONT, 65507}, {IP_PMTUDISC_OMIT, 65507}, {IP_PMTUDISC_INTERFACE, -EMSGSIZE}};
	const struct tcp_addr peer = {PEER, RTE_BE16(7000)};
	struct udp_sock *u;

	(void)state;
	begin(&(struct udp_conf){0});
	u = sock(0, PORT);
	assert_int_equal(udp_connect(u, &peer), 0);
	assert_int_equal(put(u, 3000, NULL), 3000);
	assert_int_equal(nsent, 3);
	SENT(0, out_part0);
	SENT(1, out_part1);
	SENT(2, out_part2);
	assert_int_equal(udp_opt_set(u, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO), 0);
	assert_int_equal(put(u, 1473, NULL), -EMSGSIZE);
	assert_int_equal(put(u, 1472, NULL), 1472);
	assert_int_equal(put(u, 65507, NULL), -EMSGSIZE);
	end();
	for (unsigned int i = 0; i < RTE_DIM(loose); i++) {
		begin(&(struct udp_conf){0});
		u = sock(0, PORT);
		assert_int_equal(udp_connect(u, &peer), 0);
		assert_int_equal(udp_opt_set(u, IPPROTO_IP, IP_MTU_DISCOVER, loose[i].how), 0);
		assert_int_equal(put(u, 100, NULL), 100);
		SENT(0, out_free);
		assert_int_equal(put(u, 65507, NULL), loose[i].large);
		assert_int_equal(nsent, loose[i].large < 0 ? 1 : 1 + 45);
		end();
	}
}

static void
test_groups(void **state)
{
	const struct tcp_addr group = {GROUP, RTE_BE16(7000)}, here = {GROUP, PORT};
	struct udp_tx tx = {.to = &group, .ttl = -1, .tos = -1};
	struct udp_sock *u[3];
	uint32_t i;
	int err;

	(void)state;
	begin(&(struct udp_conf){0});
	for (i = 0; i < 3; i++) {
		u[i] = udp_open(s, NULL, &err);
		assert_int_equal(udp_bind(u[i], &(struct tcp_addr){i == 1 ? GROUP : 0, PORT}, true), 0);
	}
	assert_int_equal(udp_join(u[0], PEER, 0), -EINVAL);
	assert_int_equal(udp_join(u[0], GROUP, 0), 0);
	assert_int_equal(udp_join(u[0], GROUP, 0), -EADDRINUSE);
	assert_int_equal(udp_join(u[1], GROUP, PEER), 0);
	assert_int_equal(udp_join(u[2], GROUP, US), 0);
	/* The third hears another source only. */
	assert_true(GIVE(group));
	expect(u[0], 50);
	expect(u[1], 50);
	assert_int_equal(udp_readable(u[2]), -1);
	assert_int_equal(udp_leave(u[0], GROUP, US), -EADDRNOTAVAIL);
	assert_int_equal(udp_leave(u[0], GROUP, 0), 0);
	assert_true(GIVE(group));
	assert_int_equal(udp_readable(u[0]), -1);
	expect(u[1], 50);
	/* A broadcast is for all that are bound to any address. */
	assert_true(GIVE(broadcast));
	expect(u[0], 50);
	expect(u[2], 50);
	assert_int_equal(udp_readable(u[1]), -1);
	/* What is sent leaves with the group's address, and members here hear it. */
	assert_int_equal(put(u[0], 100, &tx), 100);
	SENT(0, out_group);
	tx.to = &here;
	assert_int_equal(put(u[0], 100, &tx), 100);
	assert_int_equal(nsent, 2);
	expect(u[2], 100);
	tx.ttl = 0;
	assert_int_equal(put(u[0], 100, &tx), 100);
	assert_int_equal(nsent, 2);
	expect(u[2], 100);
	assert_int_equal(udp_opt_set(u[0], IPPROTO_IP, IP_MULTICAST_LOOP, 0), 0);
	assert_int_equal(put(u[0], 100, &tx), 100);
	assert_int_equal(udp_readable(u[2]), -1);
	end();
}

static void
test_broadcast(void **state)
{
	const struct tcp_addr all = {IP4(192, 0, 2, 255), RTE_BE16(7000)};
	const struct udp_tx tx = {.to = &all, .ttl = -1, .tos = -1};
	struct udp_sock *u;

	(void)state;
	begin(&(struct udp_conf){0});
	to_all = true;
	u = sock(0, PORT);
	assert_int_equal(put(u, 100, &tx), -EACCES);
	assert_int_equal(udp_connect(u, &all), -EACCES);
	assert_int_equal(udp_opt_set(u, SOL_SOCKET, SO_BROADCAST, 1), 0);
	assert_int_equal(put(u, 100, &tx), 100);
	end();
}

/* The best of several sockets; of equal ones that share a port always the same for a source. */
static void
test_choice(void **state)
{
	const struct tcp_addr peer = {PEER, RTE_BE16(7000)};
	struct udp_sock *any, *here, *connected, *more[2];
	uint32_t i, first;
	int err;

	(void)state;
	begin(&(struct udp_conf){0});
	any = udp_open(s, NULL, &err);
	here = udp_open(s, NULL, &err);
	connected = udp_open(s, NULL, &err);
	assert_int_equal(udp_bind(any, &(struct tcp_addr){0, PORT}, true), 0);
	assert_int_equal(udp_bind(here, &(struct tcp_addr){US, PORT}, false), -EADDRINUSE);
	assert_int_equal(udp_bind(here, &(struct tcp_addr){US, PORT}, true), 0);
	assert_int_equal(udp_bind(here, &(struct tcp_addr){US, RTE_BE16(1)}, true), -EINVAL);
	assert_int_equal(udp_bind(connected, &(struct tcp_addr){US, PORT}, true), 0);
	assert_int_equal(udp_connect(connected, &peer), 0);
	assert_true(GIVE(plain) && GIVE(other_peer));
	expect(connected, 100);
	expect(here, 100);
	udp_close(connected);
	assert_true(GIVE(plain));
	expect(here, 100);
	udp_close(here);
	assert_true(GIVE(plain));
	expect(any, 100);
	udp_close(any);
	for (i = 0; i < 2; i++) {
		more[i] = udp_open(s, NULL, &err);
		assert_int_equal(udp_bind(more[i], &(struct tcp_addr){0, PORT}, true), 0);
	}
	assert_true(GIVE(plain) && GIVE(plain) && GIVE(plain));
	first = udp_readable(more[0]) >= 0 ? 0 : 1;
	for (i = 0; i < 3; i++)
		expect(more[first], 100);
	assert_int_equal(udp_readable(more[!first]), -1);
	end();
}

static void
test_icmp(void **state)
{
	const struct tcp_addr peer = {PEER, RTE_BE16(7000)};
	struct udp_sock *u;
	uint32_t before;

	(void)state;
	begin(&(struct udp_conf){0});
	u = sock(0, PORT);
	/* One that is not connected is told nothing (RFC 1122 4.1.3.3: it could not know about whom). */
	assert_true(GIVE(port_unreachable));
	assert_int_equal(udp_stats(s)->rx_icmp_ignored, 1);
	assert_int_equal(udp_error(u), 0);
	assert_int_equal(udp_connect(u, &peer), 0);
	assert_true(GIVE(port_unreachable));
	assert_int_equal(events[1], 1);
	assert_int_equal(udp_error(u), ECONNREFUSED);
	assert_int_equal(udp_error(u), 0);
	assert_true(GIVE(host_unreachable));
	assert_int_equal(get(u, 10, NULL), -EHOSTUNREACH);
	assert_true(GIVE(port_unreachable));
	assert_int_equal(put(u, 10, NULL), -ECONNREFUSED);
	assert_true(GIVE(time_exceeded));
	assert_int_equal(udp_error(u), 0);
	/* The path is narrower than the interface: what is longer goes in fragments, or not at all. */
	assert_int_equal(put(u, 1000, NULL), 1000);
	assert_int_equal(nsent, 1);
	assert_true(GIVE(too_large));
	assert_int_equal(udp_error(u), EMSGSIZE);
	assert_int_equal(put(u, 1000, NULL), 1000);
	assert_int_equal(nsent, 3);
	assert_int_equal(udp_opt_set(u, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO), 0);
	assert_int_equal(put(u, 873, NULL), -EMSGSIZE);
	assert_int_equal(put(u, 872, NULL), 872);
	udp_paths_changed(s);
	assert_int_equal(put(u, 1000, NULL), 1000);
	/* Anybody may have said so: name servers do not believe it. */
	assert_int_equal(udp_opt_set(u, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_OMIT), 0);
	before = nsent;
	assert_true(GIVE(too_large));
	assert_int_equal(udp_error(u), EMSGSIZE);
	assert_int_equal(put(u, 1000, NULL), 1000);
	assert_int_equal(nsent, before + 1);
	end();
}

static void
test_unreachable(void **state)
{
	uint32_t i;

	(void)state;
	begin(&(struct udp_conf){0});
	assert_true(GIVE(other_port));
	SENT(0, out_unreachable);
	assert_int_equal(udp_stats(s)->rx_no_port, 1);
	/* Many in a second are answered up to a limit. */
	for (i = 1; i < 1003; i++) {
		assert_true(GIVE(other_port));
		while (nsent > 1)
			rte_pktmbuf_free(sent[--nsent]);
	}
	assert_int_equal(udp_stats(s)->tx_unreachable, 1000);
	assert_int_equal(udp_stats(s)->tx_unreachable_limited, 3);
	now += 1000 * MS;
	assert_true(GIVE(other_port));
	assert_int_equal(udp_stats(s)->tx_unreachable, 1001);
	end();
	begin(&(struct udp_conf){.no_unreachable = true});
	assert_true(GIVE(other_port));
	assert_int_equal(nsent, 0);
	end();
}

static void
test_settings(void **state)
{
	static const struct udp_conf bad[] = {{.rcvbuf = 4095},
					      {.rcvbuf = 16777217},
					      {.max_fragmented = 65537},
					      {.frag_ms = 60001},
					      {.port_min = 2, .port_max = 1}};
	struct udp_sock *u;
	int value, err;
	uint32_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(bad); i++) {
		struct udp_conf conf = bad[i];

		conf.pool = pool;
		assert_null(udp_stack_create(&conf, &ops, NULL, 0, &err));
		assert_int_equal(err, -EINVAL);
	}
	begin(&(struct udp_conf){.max_socks = 1});
	u = udp_open(s, NULL, &err);
	assert_null(udp_open(s, NULL, &err));
	assert_int_equal(err, -ENFILE);
	assert_int_equal(udp_opt_get(u, IPPROTO_IP, IP_TTL, &value), 0);
	assert_int_equal(value, 64);
	assert_int_equal(udp_opt_set(u, IPPROTO_IP, IP_TTL, 0), -EINVAL);
	assert_int_equal(udp_opt_set(u, IPPROTO_IP, IP_TOS, 256), -EINVAL);
	assert_int_equal(udp_opt_set(u, IPPROTO_IP, IP_MTU_DISCOVER, 6), -EINVAL);
	assert_int_equal(udp_opt_set(u, IPPROTO_IP, IP_MULTICAST_LOOP, 2), -EINVAL);
	assert_int_equal(udp_opt_set(u, IPPROTO_IP, 9999, 1), -ENOPROTOOPT);
	assert_int_equal(udp_opt_set(u, SOL_SOCKET, SO_RCVBUF, 5000), 0);
	assert_int_equal(udp_opt_get(u, SOL_SOCKET, SO_RCVBUF, &value), 0);
	assert_int_equal(value, 5000);
	end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_received),       cmocka_unit_test(test_refused),
		cmocka_unit_test(test_full),           cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_many_fragments), cmocka_unit_test(test_scarce),
		cmocka_unit_test(test_sent),           cmocka_unit_test(test_large),
		cmocka_unit_test(test_groups),         cmocka_unit_test(test_broadcast),
		cmocka_unit_test(test_choice),         cmocka_unit_test(test_icmp),
		cmocka_unit_test(test_unreachable),    cmocka_unit_test(test_settings),
	};

	if (unit_eal("udp", "64", "--log-level=error") < 0)
		return 1;
	pool = rte_pktmbuf_pool_create("udp", MBUFS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (pool == NULL)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
