/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Neighbours in virtual time; packets in and out are scapy's (net_packets.py). */
#include <stdio.h>
#include <stdlib.h>

#include <rte_ip.h>

#include "net_packets.h"
#include "net_port.h"

#define US "02:00:00:00:00:aa"
#define PEER "02:00:00:00:00:bb"
#define EVIL "02:00:00:00:00:EE"
#define SEC UINT64_C(1000000000)
#define NONE TP_ROCE_NO_VLAN

static uint64_t now;
static struct trn_out sent[256];
static unsigned int num_sent;

static void
keep(void *arg, const struct trn_out *out)
{
	assert_true(num_sent < RTE_DIM(sent));
	sent[num_sent++] = *out;
}

struct wanted {
	const char *name;
	uint64_t value;
	unsigned int found;
};

static void
compare(void *arg, const char *name, uint64_t value)
{
	struct wanted *w = arg;

	if (strcmp(name, w->name) != 0)
		return;
	w->value = value;
	w->found++;
}

/* Of the port, by its name. */
static uint64_t
counter(const char *name)
{
	struct wanted w = {.name = name};

	troce_net_side.stats(&np.dev, compare, &w);
	assert_int_equal(w.found, 1);
	return w.value;
}

/* Time passes up to t, and what is due is sent. */
static unsigned int
run_until(uint64_t t)
{
	struct troce_net *net = np.dev.net;

	num_sent = 0;
	do {
		now = RTE_MIN(RTE_MAX(now, RTE_MIN(net->due, net->neighs.due)), t);
		trn_run(net, now, keep, NULL);
	} while (RTE_MIN(net->due, net->neighs.due) <= t);
	now = t;
	return num_sent;
}

static int
open_port(void **state)
{
	now = SEC;
	assert_int_equal(np_open(TP_ROCE_V2, US), 0);
	assert_int_equal(np_add("192.0.2.1/24", NONE), 0);
	assert_int_equal(np_add("192.0.2.1/24", 42), 0);
	assert_int_equal(np_add("2001:db8::1/64", NONE), 0);
	assert_int_equal(np_add("2001:db8::1/64", 42), 0);
	run_until(now); /* as a kick does */
	run_until(10 * SEC);
	return 0;
}

static int
close_port(void **state)
{
	np_close();
	return 0;
}

static enum trn_verdict
input(const uint8_t *data, unsigned int len, struct trn_out *out)
{
	uint8_t *copy = malloc(len); /* exact: one byte too far is seen */
	enum trn_verdict v = TRN_OTHER;
	struct trn_frame f;

	assert_non_null(copy);
	memcpy(copy, data, len);
	out->len = 0;
	if (trn_classify(copy, len, 0, false, &f))
		v = trn_input(np.dev.net, &f, now, out);
	free(copy);
	return v;
}

static const struct net_packet *
packet(const struct net_packet *list, unsigned int n, const char *name)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	fail_msg("no packet %s", name);
	return NULL;
}
#define PACKET(list, name) packet(list, RTE_DIM(list), name)

static void
hear(const char *name)
{
	const struct net_packet *p = PACKET(heard, name);
	struct trn_out out;

	input(p->data, p->len, &out);
}

static void
assert_sent(unsigned int i, const char *name)
{
	const struct net_packet *p = PACKET(own, name);

	assert_true(i < num_sent);
	assert_int_equal(sent[i].len, RTE_MAX(p->len, 60u));
	assert_memory_equal(sent[i].data, p->data, p->len);
}

/* 0 and the neighbour's MAC is this one; or an errno. */
static int
lookup(const char *addr, uint16_t vlan, const char *want)
{
	union ibv_gid gid = np_gid(addr), src = np_gid(strchr(addr, ':') != NULL ? "2001:db8::1" : "192.0.2.1");
	struct rte_ether_addr mac, m;
	int rc = trn_neigh_lookup(&np.dev.net->neighs, &gid, vlan, &src, &mac);

	if (rc == 0) {
		m = np_mac(want);
		assert_memory_equal(&mac, &m, sizeof(m));
	}
	return rc;
}

static int
state_of(const char *addr, uint16_t vlan)
{
	const struct trn_neighs *t = &np.dev.net->neighs;
	union ibv_gid gid = np_gid(addr);
	unsigned int i;

	for (i = 0; i < TRN_NEIGHS; i++)
		if (t->e[i].state != TRN_FREE && t->e[i].vlan == vlan && trn_gid_equal(&t->e[i].addr, &gid))
			return t->e[i].state;
	return TRN_FREE;
}

static void
answers(void **state)
{
	struct trn_out out;
	unsigned int i;

	for (i = 0; i < RTE_DIM(pairs); i++) {
		print_message("%s\n", pairs[i].name);
		assert_int_equal(input(pairs[i].in, pairs[i].in_len, &out), TRN_OURS);
		assert_int_equal(out.len, RTE_MAX(pairs[i].out_len, 60u));
		assert_memory_equal(out.data, pairs[i].out, pairs[i].out_len);
	}
	assert_int_equal(counter("net_answers_sent"), RTE_DIM(pairs));
	assert_int_equal(counter("net_malformed"), 0);
	/* Who asked is known; who has no address, or one of no network of ours, is not. */
	assert_int_equal(state_of("192.0.2.2", NONE), TRN_STALE);
	assert_int_equal(state_of("192.0.2.2", 42), TRN_STALE);
	assert_int_equal(state_of("2001:db8::2", NONE), TRN_STALE);
	assert_int_equal(state_of("0.0.0.0", NONE), TRN_FREE);
	assert_int_equal(state_of("198.51.100.9", NONE), TRN_FREE);
	assert_int_equal(state_of("::", NONE), TRN_FREE);
}

static void
silence(void **state)
{
	struct trn_out out;
	unsigned int i;

	for (i = 0; i < RTE_DIM(quiet); i++) {
		print_message("%s\n", quiet[i].name);
		(void)input(quiet[i].data, quiet[i].len, &out);
		assert_int_equal(out.len, 0);
	}
	assert_int_equal(counter("net_malformed"), 0);
	assert_int_equal(counter("net_address_conflicts"), 0);
	assert_int_equal(state_of("192.0.2.2", NONE), TRN_FREE);
	assert_int_equal(state_of("2001:db8::2", NONE), TRN_FREE);
}

static void
hostile(void **state)
{
	struct troce_net *net = np.dev.net;
	struct trn_out out;
	unsigned int i;

	for (i = 0; i < RTE_DIM(malformed); i++) {
		print_message("%s\n", malformed[i].name);
		assert_int_equal(input(malformed[i].data, malformed[i].len, &out), TRN_OTHER);
		assert_int_equal(out.len, 0);
		assert_int_equal(counter("net_malformed"), i + 1);
	}
	for (i = 0; i < TRN_NEIGHS; i++)
		assert_int_equal(net->neighs.e[i].state, TRN_FREE);
	/* Any of the good ones cut anywhere */
	for (i = 0; i < RTE_DIM(pairs); i++) {
		unsigned int len;

		for (len = 0; len + 8 < pairs[i].in_len; len++)
			(void)input(pairs[i].in, len, &out);
	}
}

/* Three questions, a second apart; then no more for three seconds. */
static void
no_answer(void **state)
{
	uint64_t t0 = now;
	unsigned int i;

	assert_int_equal(lookup("192.0.2.2", NONE, NULL), EINPROGRESS);
	for (i = 0; i < 3; i++) {
		assert_int_equal(run_until(t0 + i * SEC), 1);
		assert_sent(0, "ask");
		assert_int_equal(lookup("192.0.2.2", NONE, NULL), EINPROGRESS);
		assert_int_equal(run_until(t0 + i * SEC + SEC - 1), 0);
	}
	assert_int_equal(run_until(t0 + 3 * SEC), 0);
	assert_int_equal(lookup("192.0.2.2", NONE, NULL), EHOSTUNREACH);
	assert_int_equal(run_until(t0 + 6 * SEC - 1), 0);
	assert_int_equal(lookup("192.0.2.2", NONE, NULL), EHOSTUNREACH);
	assert_int_equal(run_until(t0 + 6 * SEC), 0);
	assert_int_equal(lookup("192.0.2.2", NONE, NULL), EINPROGRESS);
	assert_int_equal(run_until(t0 + 6 * SEC), 1);
	assert_int_equal(counter("net_neighbours_failed"), 1);
}

/* Reachable for 30 s, then asked again by its MAC when someone needs it. */
static void
life(const char *addr, const char *good, const char *ask, const char *probe)
{
	uint64_t t0 = now;

	assert_int_equal(lookup(addr, NONE, NULL), EINPROGRESS);
	assert_int_equal(run_until(now), 1);
	assert_sent(0, ask);
	hear(good);
	assert_int_equal(lookup(addr, NONE, PEER), 0);
	assert_int_equal(run_until(t0 + 30 * SEC - 1), 0);
	assert_int_equal(lookup(addr, NONE, PEER), 0);
	assert_int_equal(state_of(addr, NONE), TRN_REACHABLE);
	assert_int_equal(run_until(t0 + 30 * SEC), 0);
	assert_int_equal(state_of(addr, NONE), TRN_STALE);
	assert_int_equal(lookup(addr, NONE, PEER), 0);
	assert_int_equal(run_until(now), 1);
	assert_sent(0, probe);
	assert_int_equal(state_of(addr, NONE), TRN_PROBE);
	hear(good);
	assert_int_equal(state_of(addr, NONE), TRN_REACHABLE);
	/* It goes away: three questions by its MAC, then everybody is asked. */
	t0 = now + 30 * SEC;
	assert_int_equal(run_until(t0), 0);
	assert_int_equal(lookup(addr, NONE, PEER), 0);
	assert_int_equal(run_until(t0 + 3 * SEC - 1), 3);
	assert_sent(2, probe);
	assert_int_equal(lookup(addr, NONE, PEER), 0);
	assert_int_equal(run_until(t0 + 3 * SEC), 0);
	assert_int_equal(lookup(addr, NONE, NULL), EINPROGRESS);
	assert_int_equal(run_until(now), 1);
	assert_sent(0, ask);
}

static void
life4(void **state)
{
	life("192.0.2.2", "reply", "ask", "ask_unicast");
}

static void
life6(void **state)
{
	life("2001:db8::2", "na_s_o", "ask6", "ask6_unicast");
}

static void
unused_goes(void **state)
{
	hear("request");
	assert_int_equal(run_until(now + 600 * SEC - 1), 0);
	assert_int_equal(state_of("192.0.2.2", NONE), TRN_STALE);
	assert_int_equal(run_until(now + 1), 0);
	assert_int_equal(state_of("192.0.2.2", NONE), TRN_FREE);
}

static void
by_vlan(void **state)
{
	assert_int_equal(lookup("192.0.2.2", 42, NULL), EINPROGRESS);
	assert_int_equal(run_until(now), 1);
	assert_sent(0, "ask_tagged");
	hear("reply");
	assert_int_equal(lookup("192.0.2.2", 42, NULL), EINPROGRESS);
	hear("reply_tagged");
	assert_int_equal(lookup("192.0.2.2", 42, PEER), 0);
	assert_int_equal(lookup("192.0.2.2", NONE, NULL), EINPROGRESS);
}

/* What is heard in which state: appendix C and 7.2.5 of RFC 4861, 7.2.3 for questions. */
static void
table(void **state)
{
	static const struct {
		enum trn_neigh_state from;
		const char *heard;
		enum trn_neigh_state to;
		const char *mac; /* afterwards */
	} rows[] = {
		{TRN_FREE, "na_s_o", TRN_FREE, NULL},
		{TRN_FREE, "ns_peer", TRN_STALE, PEER},
		{TRN_INCOMPLETE, "na_s_bare", TRN_INCOMPLETE, NULL},
		{TRN_INCOMPLETE, "na_s", TRN_REACHABLE, PEER},
		{TRN_INCOMPLETE, "na_none", TRN_STALE, PEER},
		{TRN_INCOMPLETE, "ns_peer", TRN_STALE, PEER},
		{TRN_REACHABLE, "na_s_bare", TRN_REACHABLE, PEER},
		{TRN_REACHABLE, "na_s_evil", TRN_STALE, PEER},
		{TRN_REACHABLE, "na_evil", TRN_STALE, PEER},
		{TRN_REACHABLE, "na_o_evil", TRN_STALE, EVIL},
		{TRN_REACHABLE, "na_s_o_evil", TRN_REACHABLE, EVIL},
		{TRN_REACHABLE, "na_none", TRN_REACHABLE, PEER},
		{TRN_REACHABLE, "ns_peer", TRN_REACHABLE, PEER},
		{TRN_REACHABLE, "ns_evil", TRN_STALE, EVIL},
		{TRN_STALE, "na_s", TRN_REACHABLE, PEER},
		{TRN_STALE, "na_s_bare", TRN_REACHABLE, PEER},
		{TRN_STALE, "na_none", TRN_STALE, PEER},
		{TRN_STALE, "na_s_evil", TRN_STALE, PEER},
		{TRN_STALE, "na_o_evil", TRN_STALE, EVIL},
		{TRN_STALE, "na_s_o_evil", TRN_REACHABLE, EVIL},
		{TRN_STALE, "ns_evil", TRN_STALE, EVIL},
		{TRN_PROBE, "na_s", TRN_REACHABLE, PEER},
		{TRN_PROBE, "na_none", TRN_PROBE, PEER},
		{TRN_PROBE, "na_s_evil", TRN_PROBE, PEER},
		{TRN_PROBE, "na_o_evil", TRN_STALE, EVIL},
		{TRN_PROBE, "ns_peer", TRN_PROBE, PEER},
		{TRN_FAILED, "na_s_bare", TRN_FAILED, NULL},
		{TRN_FAILED, "na_s", TRN_REACHABLE, PEER},
	};
	const char *peer = "2001:db8::2";
	unsigned int i;

	for (i = 0; i < RTE_DIM(rows); i++) {
		print_message("%d %s\n", rows[i].from, rows[i].heard);
		trn_neigh_init(&np.dev.net->neighs);
		if (rows[i].from != TRN_FREE)
			assert_int_equal(lookup(peer, NONE, NULL), EINPROGRESS);
		run_until(now);
		if (rows[i].from == TRN_REACHABLE)
			hear("na_s_o");
		if (rows[i].from == TRN_STALE || rows[i].from == TRN_PROBE)
			hear("na_none");
		if (rows[i].from == TRN_PROBE)
			assert_int_equal(lookup(peer, NONE, PEER), 0);
		if (rows[i].from == TRN_FAILED)
			run_until(now + 3 * SEC);
		assert_int_equal(state_of(peer, NONE), rows[i].from);
		hear(rows[i].heard);
		assert_int_equal(state_of(peer, NONE), rows[i].to);
		if (rows[i].mac != NULL)
			assert_int_equal(lookup(peer, NONE, rows[i].mac), 0);
	}
}

/* RFC 826: who is known and says something is heard, also when it speaks to another; who is not known is not. */
static void
arp_heard(void **state)
{
	hear("gratuitous_evil");
	assert_int_equal(state_of("192.0.2.2", NONE), TRN_FREE);
	assert_int_equal(lookup("192.0.2.2", NONE, NULL), EINPROGRESS);
	hear("reply_bcast");
	assert_int_equal(state_of("192.0.2.2", NONE), TRN_STALE);
	hear("reply");
	assert_int_equal(state_of("192.0.2.2", NONE), TRN_REACHABLE);
	hear("gratuitous_evil");
	assert_int_equal(state_of("192.0.2.2", NONE), TRN_STALE);
	assert_int_equal(lookup("192.0.2.2", NONE, EVIL), 0);
}

static void
announced(void **state)
{
	uint64_t t0 = now, before = counter("net_announcements_sent");

	assert_int_equal(np_del("192.0.2.1"), 0);
	assert_int_equal(np_add("192.0.2.1/24", NONE), 0);
	assert_int_equal(np_del("2001:db8::1"), 0);
	assert_int_equal(np_add("2001:db8::1/64", NONE), 0);
	assert_int_equal(run_until(t0), 2);
	assert_sent(0, "announce");
	assert_sent(1, "announce6");
	assert_int_equal(run_until(t0 + SEC - 1), 0);
	assert_int_equal(run_until(t0 + SEC), 2);
	assert_int_equal(run_until(t0 + 100 * SEC), 0);
	assert_int_equal(counter("net_announcements_sent") - before, 4);
}

/* The line in the log and the defence come once in ten seconds, whatever is sent; nothing is learnt. */
static void
defended(void **state)
{
	struct trn_out out;
	unsigned int i, round;

	for (i = 0; i < RTE_DIM(conflicts); i++) {
		const struct net_packet *p = &conflicts[i];

		print_message("%s\n", p->name);
		run_until(now + 11 * SEC);
		for (round = 0; round < 5; round++) {
			assert_int_equal(input(p->data, p->len, &out), TRN_OTHER);
			assert_int_equal(out.len, 0);
		}
		np_assert_line(EVIL, i < 3 ? "192.0.2.1" : "2001:db8::1", NULL);
		assert_int_equal(run_until(now), 1);
		assert_sent(0, i < 3 ? "announce" : "announce6");
		assert_int_equal(run_until(now + 9 * SEC), 0);
		assert_int_equal(input(p->data, p->len, &out), TRN_OTHER);
		assert_string_equal(np_log(), "");
		assert_int_equal(counter("net_address_conflicts"), 6 * (i + 1));
	}
	for (i = 0; i < TRN_NEIGHS; i++)
		assert_int_equal(np.dev.net->neighs.e[i].state, TRN_FREE);
}

static void
limited(void **state)
{
	struct trn_out out;
	unsigned int i, got = 0;

	for (i = 0; i < 1000; i++) {
		(void)input(pairs[0].in, pairs[0].in_len, &out);
		got += out.len != 0;
	}
	assert_in_range(got, 200, 202);
	assert_int_equal(counter("net_rate_limited"), 1000 - got);
	for (i = 0, got = 0; i < 1000; i++) {
		now += SEC / 2000;
		(void)input(pairs[0].in, pairs[0].in_len, &out);
		got += out.len != 0;
	}
	assert_in_range(got, 498, 502);
	now += SEC;
	(void)input(pairs[0].in, pairs[0].in_len, &out);
	assert_int_not_equal(out.len, 0);
}

/* A flood of strangers takes the place of strangers, not of those whom someone needs. */
static void
bounded(void **state)
{
	struct trn_neighs *t = &np.dev.net->neighs;
	struct rte_ether_addr mac = np_mac(EVIL);
	union ibv_gid gid;
	unsigned int i;

	assert_int_equal(np_add("10.0.0.1/8", NONE), 0);
	assert_int_equal(lookup("192.0.2.2", NONE, NULL), EINPROGRESS);
	hear("reply");
	assert_int_equal(lookup("192.0.2.3", NONE, NULL), EINPROGRESS);
	for (i = 0; i < 4 * TRN_NEIGHS; i++) {
		gid = trn_gid_v4(rte_cpu_to_be_32(RTE_IPV4(10, 1, 0, 0) + i));
		trn_neigh_heard(t, &gid, NONE, &mac, TRN_HEARD_CREATE, now);
	}
	assert_int_equal(counter("net_neighbours_evicted"), 4 * TRN_NEIGHS - (TRN_NEIGHS - 2));
	assert_int_equal(lookup("192.0.2.2", NONE, PEER), 0);
	assert_int_equal(state_of("192.0.2.3", NONE), TRN_INCOMPLETE);
	/* Questions take the place of all that is not a question; when there are only questions, one has to wait. */
	for (i = 0; i < 2 * TRN_NEIGHS; i++) {
		union ibv_gid src = np_gid("10.0.0.1");

		gid = trn_gid_v4(rte_cpu_to_be_32(RTE_IPV4(10, 2, 0, 0) + i));
		assert_int_equal(trn_neigh_lookup(t, &gid, NONE, &src, &mac), EINPROGRESS);
	}
	assert_int_equal(state_of("192.0.2.3", NONE), TRN_INCOMPLETE);
	assert_int_equal(state_of("10.2.0.0", NONE), TRN_INCOMPLETE);
	assert_int_equal(state_of("10.2.7.255", NONE), TRN_FREE);
	/* Nobody asks in the name of an address that is gone. */
	assert_int_equal(np_del("10.0.0.1"), 0);
	assert_int_equal(run_until(now), 1);
	assert_int_equal(sent[0].data[41], 3);
}

static void
echo(void **state)
{
	uint8_t buf[512];
	struct trn_frame f;
	unsigned int i;

	for (i = 0; i < RTE_DIM(echoes); i++) {
		print_message("%s\n", echoes[i].name);
		assert_true(echoes[i].in_len <= sizeof(buf));
		memcpy(buf, echoes[i].in, echoes[i].in_len);
		assert_true(trn_classify(buf, echoes[i].in_len, 0, true, &f));
		assert_true(
			trn_echo(np.dev.net, (struct rte_ether_hdr *)buf, buf + (f.l3 - buf), f.len, f.type, f.vlan));
		assert_int_equal(echoes[i].in_len, echoes[i].out_len);
		assert_memory_equal(buf, echoes[i].out, echoes[i].out_len);
		/* An answer is not answered. */
		assert_false(
			trn_echo(np.dev.net, (struct rte_ether_hdr *)buf, buf + (f.l3 - buf), f.len, f.type, f.vlan));
	}
}

static bool
refused(const uint8_t *data, unsigned int len, struct trn_out *out)
{
	struct troce_net *net = np.dev.net;
	struct trn_frame f;

	assert_false(trn_classify(data, len, 0, true, &f));
	return trn_is_tcp(&f, net->tcp) && trn_refuse(net, &f, out);
}

/* Connections are refused as the RFC has it, and nothing else is; short frames do no harm. */
static void
refuses(void **state)
{
	struct trn_out out;
	unsigned int i, len;

	for (i = 0; i < RTE_DIM(refusals); i++) {
		print_message("%s\n", refusals[i].name);
		assert_true(refused(refusals[i].in, refusals[i].in_len, &out));
		assert_int_equal(out.len, refusals[i].out_len);
		assert_memory_equal(out.data, refusals[i].out, refusals[i].out_len);
		/* A refusal is not refused. */
		assert_false(refused(out.data, out.len, &out));
	}
	for (i = 0; i < RTE_DIM(left_alone); i++) {
		print_message("%s\n", left_alone[i].name);
		assert_false(refused(left_alone[i].data, left_alone[i].len, &out));
	}
	for (len = 0; len < RTE_ETHER_HDR_LEN + sizeof(struct rte_ipv4_hdr) + 20; len++) {
		uint8_t *cut = malloc(RTE_MAX(len, 1u));

		assert_non_null(cut);
		memcpy(cut, refusals[0].in, len);
		assert_false(refused(cut, len, &out));
		free(cut);
	}
	/* The address goes, and the filter with it. */
	assert_int_not_equal(np.dev.net->tcp, 0);
	assert_int_equal(np_del("192.0.2.1"), 0);
	assert_false(refused(refusals[0].in, refusals[0].in_len, &out));
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, open_port, close_port)
	const struct CMUnitTest tests[] = {
		T(answers), T(silence), T(hostile),   T(no_answer), T(life4),    T(life6),   T(unused_goes), T(by_vlan),
		T(table),   T(echo),    T(arp_heard), T(announced), T(defended), T(limited), T(bounded),     T(refuses),
	};

	return cmocka_run_group_tests_name("neigh", tests, NULL, NULL);
}
