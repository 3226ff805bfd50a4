/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Borders of what the network side takes for its own: tags (802.1Q), echo requests (RFC 792, RFC 4443); what its tables keep, and
 * when they are due.
 */
#include <stdlib.h>

#include <rte_ip.h>

#include "net_port.h"

#define US "02:00:00:00:00:aa"
#define PEER "02:00:00:00:00:bb"
#define NONE TP_ROCE_NO_VLAN
#define SEC UINT64_C(1000000000)

static int
open_port(void **state)
{
	assert_int_equal(np_open(TP_ROCE_V2, US), 0);
	assert_int_equal(np_add("192.0.2.1/24", NONE), 0);
	assert_int_equal(np_add("192.0.2.1/24", 42), 0);
	assert_int_equal(np_add("2001:db8::1/64", NONE), 0);
	return 0;
}

static int
close_port(void **state)
{
	np_close();
	return 0;
}

/* --- frames -------------------------------------------------------------------------------------------------- */

static void
tags(void **state)
{
	static const struct {
		uint16_t type, tci, inner; /* inner: behind a tag in the frame */
		uint16_t port_tci;         /* of a tag that the port took off */
		uint8_t next;              /* protocol of IP */
		uint32_t len;
		bool echo, ours;
		uint16_t vlan;
		uint32_t l3;
	} t[] = {
		{0x0806, 0, 0, 0, 0, 60, false, true, NONE, 14},
		{0x0806, 0, 0, 0, 0, 18, false, true, NONE, 14},
		{0x0806, 0, 0, 0, 0, 17, false, false, NONE, 14},
		{0x8100, 0x6fff, 0x0806, 0, 0, 60, false, true, 0xfff, 18},
		{0x8100, 0x0001, 0x0806, 0, 0, 60, false, true, 1, 18},
		{0x8100, 0x0800, 0x0806, 0, 0, 60, false, true, 0x800, 18},
		/* A tag of a priority alone is none. */
		{0x8100, 0x6000, 0x0806, 0, 0, 60, false, true, NONE, 18},
		{0x0806, 0, 0, 0x6abc, 0, 60, false, true, 0xabc, 14},
		/* Behind the tag that the port took off, another one is not ours. */
		{0x8100, 0x0001, 0x0806, 0x6abc, 0, 60, false, false, 0xabc, 14},
		{0x86dd, 0, 0, 0, 58, 54, false, true, NONE, 14},
		{0x86dd, 0, 0, 0, 58, 53, false, false, NONE, 14},
		{0x86dd, 0, 0, 0, 17, 60, false, false, NONE, 14},
		{0x0800, 0, 0, 0, 1, 34, true, true, NONE, 14},
		{0x0800, 0, 0, 0, 1, 33, true, false, NONE, 14},
		{0x0800, 0, 0, 0, 1, 60, false, false, NONE, 14},
		{0x0800, 0, 0, 0, 17, 60, true, false, NONE, 14},
		{0x8100, 0x002a, 0x0800, 0, 1, 38, true, true, 42, 18},
		{0x88cc, 0, 0, 0, 0, 60, true, false, NONE, 14},
	};

	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		uint8_t *d = calloc(1, 64), *exact = malloc(t[i].len);
		struct trn_frame f;

		assert_true(d != NULL && exact != NULL);
		d[12] = (uint8_t)(t[i].type >> 8);
		d[13] = (uint8_t)t[i].type;
		if (t[i].inner != 0) {
			d[14] = (uint8_t)(t[i].tci >> 8);
			d[15] = (uint8_t)t[i].tci;
			d[16] = (uint8_t)(t[i].inner >> 8);
			d[17] = (uint8_t)t[i].inner;
		}
		d[t[i].l3 + (t[i].type == 0x86dd ? 6 : 9)] = t[i].next;
		memcpy(exact, d, t[i].len);
		if (trn_classify(exact, t[i].len, t[i].port_tci, t[i].echo, &f) != t[i].ours)
			fail_msg("row %u: ours is %d", i, !t[i].ours);
		if (t[i].ours) {
			assert_int_equal(f.vlan, t[i].vlan);
			assert_ptr_equal(f.l3, exact + t[i].l3);
			assert_int_equal(f.len, t[i].len - t[i].l3);
			assert_ptr_equal(f.dst, exact);
			assert_ptr_equal(f.src, exact + 6);
		}
		free(exact);
		free(d);
	}
}

/* --- echo ---------------------------------------------------------------------------------------------------- */

/* The answer, of a frame with exactly this much behind its Ethernet header; NULL: none. To be freed. */
static uint8_t *
ping(const uint8_t *l3, uint32_t len, uint16_t type, uint16_t vlan)
{
	uint8_t *p = malloc(14 + len);
	struct rte_ether_addr us = np_mac(US), peer = np_mac(PEER);

	assert_non_null(p);
	memcpy(p, "\1\2\3\4\5\6", 6);
	memcpy(p + 6, &peer, 6);
	memcpy(p + 14, l3, len);
	if (!trn_echo(np.dev.net, (struct rte_ether_hdr *)p, p + 14, len, type, vlan)) {
		assert_memory_equal(p + 14, l3, len);
		free(p);
		return NULL;
	}
	assert_memory_equal(p, &peer, 6);
	assert_memory_equal(p + 6, &us, 6);
	return p;
}

/* The Internet checksum of what carries its own is 0 (RFC 1071). */
static uint16_t
sum(const uint8_t *p, uint32_t len)
{
	uint32_t s = 0;

	for (uint32_t i = 0; i + 1 < len; i += 2)
		s += (uint32_t)p[i] << 8 | p[i + 1];
	while (s >> 16 != 0)
		s = (s & 0xffff) + (s >> 16);
	return (uint16_t)~s;
}

static void
echo_v4(void **state)
{
	static const struct {
		uint8_t at, value; /* what is changed of a good one */
		uint32_t len;
		bool answered;
	} t[] = {
		{0, 0x45, 32, true},  {0, 0x45, 28, true},  {0, 0x45, 27, false}, {0, 0x45, 19, false},
		{0, 0x55, 32, false}, {0, 0x44, 32, false}, {0, 0x46, 32, true},  {0, 0x46, 31, false},
		{0, 0x47, 32, false}, {3, 28, 32, true},    {3, 27, 32, false},   {6, 0x40, 32, true},
		{6, 0x20, 32, false}, {6, 0x80, 32, false}, {6, 0x01, 32, false}, {7, 0x01, 32, false},
		{7, 0x40, 32, false}, {9, 17, 32, false},   {12, 0, 32, false},   {12, 127, 32, false},
		{12, 224, 32, false}, {12, 223, 32, true},  {19, 2, 32, false},   {20, 0, 32, false},
		{21, 1, 32, false},
	};

	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		/* An echo request of 192.0.2.9 to 192.0.2.1, of 32 bytes; behind four bytes of options it is one, too. */
		uint8_t p[32] = {0x45, 0, 0,   32, 0, 7, 0, 0, 9, 1, 0, 0, 192, 0,
				 2,    9, 192, 0,  2, 1, 8, 0, 0, 0, 1, 2, 3,   4},
			*q, hlen;

		p[t[i].at] = t[i].value;
		hlen = (uint8_t)((p[0] & 0xf) * 4);
		if (hlen != 20) {
			memset(p + 20, 0, 12);
			p[hlen % 32] = 8;
			p[31] = 1;
		}
		if (hlen < 28) {
			uint16_t c = sum(p + hlen, 32u - hlen);

			p[hlen + 2] = (uint8_t)(c >> 8);
			p[hlen + 3] = (uint8_t)c;
		}
		q = ping(p, t[i].len, RTE_ETHER_TYPE_IPV4, NONE);
		if ((q != NULL) != t[i].answered)
			fail_msg("byte %u is %u, length %u: answered %d", t[i].at, t[i].value, t[i].len, q != NULL);
		if (q == NULL)
			continue;
		assert_memory_equal(q + 14 + 12, p + 16, 4);
		assert_memory_equal(q + 14 + 16, p + 12, 4);
		assert_int_equal(q[14 + 8], 64);
		assert_int_equal(sum(q + 14, hlen), 0);
		assert_int_equal(q[14 + hlen], 0);
		if (t[i].len == 32)
			assert_int_equal(sum(q + 14 + hlen, 32u - hlen), 0);
		free(q);
		/* On this VLAN the address is nobody's. */
		assert_null(ping(p, t[i].len, RTE_ETHER_TYPE_IPV4, 7));
		q = ping(p, t[i].len, RTE_ETHER_TYPE_IPV4, 42);
		assert_non_null(q);
		free(q);
	}
}

static void
echo_v6(void **state)
{
	static const struct {
		uint8_t at, value;
		uint32_t len;
		bool answered;
	} t[] = {
		{0, 0x60, 52, true},  {0, 0x60, 48, true}, {0, 0x60, 47, false}, {6, 17, 52, false},
		{8, 0xff, 52, false}, {39, 2, 52, false},  {40, 129, 52, false}, {40, 0, 52, false},
		{41, 1, 52, false},   {23, 9, 52, true},
	};
	union ibv_gid us = np_gid("2001:db8::1"), peer = np_gid("2001:db8::9"), none = np_gid("::");

	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		uint8_t p[52] = {0x60, 0, 0, 0, 0, 12, 58, 9}, *q;

		memcpy(p + 8, &peer, 16);
		memcpy(p + 24, &us, 16);
		p[40] = 128;
		p[42] = 0x12;
		p[t[i].at] = t[i].value;
		q = ping(p, t[i].len, RTE_ETHER_TYPE_IPV6, NONE);
		if ((q != NULL) != t[i].answered)
			fail_msg("byte %u is %u, length %u: answered %d", t[i].at, t[i].value, t[i].len, q != NULL);
		if (q != NULL) {
			assert_memory_equal(q + 14 + 8, p + 24, 16);
			assert_memory_equal(q + 14 + 24, p + 8, 16);
			assert_int_equal(q[14 + 7], 64);
			assert_int_equal(q[14 + 40], 129);
			/* One more in the type is one less in the sum. */
			assert_int_equal(q[14 + 42] << 8 | q[14 + 43], 0x1200 - 0x100);
			free(q);
			assert_null(ping(p, t[i].len, RTE_ETHER_TYPE_IPV6, 42));
			/* With two carries: ~(~0x00ff + ~0x8000 + 0x8100) (RFC 1624) */
			p[42] = 0;
			p[43] = 0xff;
			q = ping(p, t[i].len, RTE_ETHER_TYPE_IPV6, NONE);
			assert_int_equal(q[14 + 42] << 8 | q[14 + 43], 0xfffe);
			free(q);
		}
		memcpy(p + 8, &none, 16);
		assert_null(ping(p, t[i].len, RTE_ETHER_TYPE_IPV6, NONE));
	}
}

/* --- tables -------------------------------------------------------------------------------------------------- */

static unsigned int
entries(const struct trn_addrs *a, const char *addr, uint16_t vlan)
{
	union ibv_gid gid = np_gid(addr);
	unsigned int n = 0;

	for (unsigned int i = 0; i < TP_ROCE_GIDS; i++)
		n += a->table[i].valid && a->table[i].vlan == vlan && trn_gid_equal(&a->table[i].gid, &gid);
	return n;
}

/* The same address on two VLANs is two: one goes, the other stays. */
static void
addresses_by_vlan(void **state)
{
	struct trn_addrs a;
	struct rte_ether_addr us = np_mac(US), other = np_mac("02:00:00:00:00:cc");
	struct trn_addr addr = {.gid = np_gid("fe80::ff:fe00:aa"), .prefix = 64};
	int slot;

	trn_addrs_init(&a, TP_ROCE_V2, &us);
	assert_int_equal(trn_addrs_add(&a, TP_ROCE_V2, &(struct trn_addr){.gid = addr.gid, .prefix = 64, .vlan = NONE}),
			 EEXIST);
	for (addr.vlan = 1; addr.vlan <= 2; addr.vlan++)
		assert_int_equal(trn_addrs_add(&a, TP_ROCE_V2, &addr), 0);
	slot = trn_addrs_find(&a, &addr.gid, 1);
	assert_true(slot > 0);
	trn_addrs_del(&a, (unsigned int)slot);
	assert_int_equal(trn_addrs_find(&a, &addr.gid, 1), -1);
	assert_int_equal(entries(&a, "fe80::ff:fe00:aa", 1), 0);
	assert_int_equal(entries(&a, "fe80::ff:fe00:aa", 2), 2);
	assert_int_equal(entries(&a, "fe80::ff:fe00:aa", NONE), 2);
	/* Another MAC changes its own entries. */
	trn_addrs_set_mac(&a, &other);
	assert_int_equal(entries(&a, "fe80::ff:fe00:aa", 2), 2);
	assert_int_equal(entries(&a, "fe80::ff:fe00:aa", NONE), 0);
	assert_int_equal(entries(&a, "fe80::ff:fe00:cc", NONE), 2);
}

static void
prefixes(void **state)
{
	static const struct {
		const char *a, *b;
		unsigned int same; /* so many first bits are the same */
	} t[] = {
		{"2001:db8::", "2001:db8::", 128},    {"2001:db8::", "a001:db8::", 0},
		{"2001:db8::1", "2001:db8::", 127},   {"2001:db8:8000::", "2001:db8::", 32},
		{"2001:db8:100::", "2001:db8::", 39}, {"10.0.0.0", "10.0.64.0", 96 + 17},
	};

	for (unsigned int i = 0; i < RTE_DIM(t); i++)
		for (unsigned int bits = 0; bits <= 128; bits++) {
			union ibv_gid a = np_gid(t[i].a), b = np_gid(t[i].b);

			assert_int_equal(trn_prefix_match(&a, &b, bits), bits <= t[i].same);
		}
}

static void
send_nothing(void *arg, const struct trn_out *out)
{
}

static void
count(void *arg, const struct trn_out *out)
{
	(*(unsigned int *)arg)++;
}

/* When something is to be done next is the earliest time of all entries, however they came and went. */
static void
next_time(void **state)
{
	struct troce_net *net = np.dev.net;
	union ibv_gid src = np_gid("192.0.2.1");
	struct rte_ether_addr mac = np_mac(PEER), m;
	uint64_t now = SEC;
	uint32_t rng = 7;

	/* The port's own announcements first. */
	for (unsigned int i = 0; i < 10; i++, now += 2 * SEC)
		trn_run(net, now, send_nothing, NULL);
	assert_true(net->due == TRN_NEVER);
	for (unsigned int i = 0; i < 400; i++, now += SEC / 7) {
		union ibv_gid gid = trn_gid_v4(rte_cpu_to_be_32(RTE_IPV4(192u, 0, 2, 2) + (rng >> 20) % 50));
		uint64_t least = TRN_NEVER;
		unsigned int num, done;
		bool looks;

		rng = rng * 1664525 + 1013904223;
		if ((rng >> 16) % 3 == 0)
			trn_neigh_heard(&net->neighs, &gid, NONE, &mac, TRN_HEARD_CREATE | TRN_HEARD_OVERRIDE, now);
		else
			(void)trn_neigh_lookup(&net->neighs, &gid, NONE, &src, &m);
		looks = net->neighs.due <= now;
		num = 0;
		/* How much was done is how much was sent. */
		done = trn_run(net, now, count, &num);
		assert_int_equal(done, num);
		for (unsigned int k = 0; k < TRN_NEIGHS; k++)
			if (net->neighs.e[k].state != TRN_FREE && net->neighs.e[k].due < least)
				least = net->neighs.e[k].due;
		/* Without a look at them it may be earlier: one of them was put off since. */
		assert_true(looks ? net->due == least : net->due <= least);
	}
}

/* What is heard is kept for a time, and the port is due by then. */
static void
heard_is_due(void **state)
{
	/* ARP: 192.0.2.2 at the peer asks who has 192.0.2.1 (RFC 826). */
	static const uint8_t arp[28] = {0,   1, 8, 0, 6, 4, 0, 1, 2, 0, 0,   0, 0, 0xbb,
					192, 0, 2, 2, 0, 0, 0, 0, 0, 0, 192, 0, 2, 1};
	struct troce_net *net = np.dev.net;
	uint8_t frame[60] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 0xbb, 8, 6};
	struct trn_frame f;
	struct trn_out out;
	uint64_t now = SEC;

	for (unsigned int i = 0; i < 10; i++, now += 2 * SEC)
		trn_run(net, now, send_nothing, NULL);
	memcpy(frame + 14, arp, sizeof(arp));
	assert_true(trn_classify(frame, sizeof(frame), 0, false, &f));
	assert_int_equal(trn_input(net, &f, now, &out), TRN_OURS);
	assert_int_equal(out.len, 60);
	assert_true(net->neighs.due != TRN_NEVER);
	assert_true(net->due == net->neighs.due);
	/* Our own frame that comes back says nothing. */
	frame[11] = 0xaa;
	assert_int_equal(trn_input(net, &f, now, &out), TRN_OTHER);
	assert_int_equal(out.len, 0);
}

static struct trn_neigh *
entry(const char *addr)
{
	struct trn_neighs *t = &np.dev.net->neighs;
	union ibv_gid gid = np_gid(addr);

	for (unsigned int i = 0; i < TRN_NEIGHS; i++)
		if (t->e[i].state != TRN_FREE && trn_gid_equal(&t->e[i].addr, &gid))
			return &t->e[i];
	return NULL;
}

/* Room is made by what is worth least, and of that by what was unused for longest. */
static void
who_goes(void **state)
{
	struct trn_neighs *t = &np.dev.net->neighs;
	struct rte_ether_addr mac = np_mac(PEER);
	static const char *const go[] = {"10.1.0.5", "10.1.0.200", "10.1.0.7", "10.1.0.3"};
	union ibv_gid gid;

	t->uses = 1000000;
	for (unsigned int i = 0; i < TRN_NEIGHS; i++) {
		gid = trn_gid_v4(rte_cpu_to_be_32(RTE_IPV4(10, 1, 0, 0) + i));
		trn_neigh_heard(t, &gid, NONE, &mac, TRN_HEARD_CREATE, SEC);
	}
	entry("10.1.0.5")->state = TRN_FAILED;
	entry("10.1.0.200")->state = TRN_FAILED;
	entry("10.1.0.5")->used = 999999;
	entry("10.1.0.7")->used = 500;
	entry("10.1.0.3")->used = 501;
	/* Known to be there, and long unused */
	entry("10.1.0.1")->state = TRN_REACHABLE;
	entry("10.1.0.1")->used = 1;
	for (unsigned int i = 0; i < RTE_DIM(go); i++) {
		assert_non_null(entry(go[i]));
		gid = trn_gid_v4(rte_cpu_to_be_32(RTE_IPV4(10, 3, 0, 0) + i));
		trn_neigh_heard(t, &gid, NONE, &mac, TRN_HEARD_CREATE, SEC);
		if (entry(go[i]) != NULL)
			fail_msg("%s is still there", go[i]);
		assert_int_equal(t->evicted, i + 1);
	}
	assert_non_null(entry("10.1.0.1"));
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, open_port, close_port)
	const struct CMUnitTest tests[] = {
		T(tags),     T(echo_v4),   T(echo_v6),      T(addresses_by_vlan),
		T(prefixes), T(next_time), T(heard_is_due), T(who_goes),
	};

	return cmocka_run_group_tests_name("frames", tests, NULL, NULL);
}
