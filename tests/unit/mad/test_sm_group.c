/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Groups of the small administrator by the octets of their records (IBTA 1.4, 15.2.5.17): who makes, joins, sees, leaves them. */
#include "sm_rig.h"

#include <stdlib.h>

#include "lib/mad/sm/sm_priv.h"

#define RECORD 52u
#define STRIDE 56u
#define BASIC (TP_SA_MC_MGID | TP_SA_MC_PORT_GID | TP_SA_MC_JOIN_STATE)
#define MAKES (BASIC | TO_MAKE)
/* Statuses of 15.2.2. */
enum { RESOURCES = 0x0100, INVALID = 0x0200, NO_RECORDS = 0x0300, MANY_RECORDS = 0x0400, COMPONENTS = 0x0600 };

static struct tp_sm *sm;

static void
group_up(unsigned int ports)
{
	sm_star(ports);
	sm = sm_manage(1, 0);
	fab_run(&fab, 100);
}

static void
group_down(void)
{
	tp_sm_destroy(sm);
	fab_down(&fab);
}

static void
port_gid(uint8_t *gid, uint64_t guid)
{
	ib_put64(gid, 0xfe80000000000000ull);
	ib_put64(gid + 8, guid);
}

/* A record of adapter `node` in the group that ends with `last`. */
static void
record(uint8_t r[RECORD], unsigned int node, uint8_t last, uint8_t join_state)
{
	memset(r, 0, RECORD);
	memcpy(r, broadcast.raw, 16);
	r[15] = last;
	port_gid(r + 16, GUID(node) + 1);
	ib_put32(r + 32, 0x0b1b);
	ib_put16(r + 40, 0xffff);
	r[48] = join_state;
}

static uint16_t
set(const uint8_t r[RECORD], uint64_t mask)
{
	return sm_raw(2, MAD_SET, SA_ATTR_MEMBER, 0, mask, r, RECORD)->status;
}

static uint16_t
join(unsigned int node, uint8_t last, uint8_t join_state, uint64_t mask)
{
	uint8_t r[RECORD];

	record(r, node, last, join_state);
	return set(r, mask);
}

static uint16_t
leave(unsigned int node, uint8_t last, uint8_t join_state)
{
	uint8_t r[RECORD];

	record(r, node, last, join_state);
	return sm_raw(2, SA_DELETE, SA_ATTR_MEMBER, 0, BASIC, r, RECORD)->status;
}

/* How many records a table has, and where they are. */
static unsigned int
table(uint64_t key, uint64_t mask, const uint8_t r[RECORD], const uint8_t **records)
{
	const struct sm_reply *a = sm_raw(2, SA_GET_TABLE, SA_ATTR_MEMBER, key, mask, r, RECORD);

	assert_int_equal(a->status, 0);
	assert_int_equal((a->len - SA_RECORD_AT) % STRIDE, 0);
	assert_int_equal(ib_get16(a->data + SA_ATTR_OFFSET_AT), STRIDE / 8);
	*records = a->data + SA_RECORD_AT;
	return (a->len - SA_RECORD_AT) / STRIDE;
}

/*
 * The broadcast groups of IPv4 (RFC 4391, 4 and 5): scope 2, the key of the partition with its highest bit in octets 4 and 5,
 * Q_Key 0xb1b, and an MTU of 2048 (code 4), 10 Gb/s (code 3) and a lifetime of 2^18 * 4.096 us, each exactly (2 above them).
 */
static void
test_broadcast_groups(void **state)
{
	static const uint16_t keys[] = {0x8005, 0x0006}, mgid_key[] = {0xffff, 0x8005, 0x8006};
	const uint8_t *got;
	uint8_t want[STRIDE], none[RECORD] = {0};

	(void)state;
	group_up(2);
	assert_int_equal(tp_sm_partitions(sm, keys, 2), 0);
	fab_run(&fab, 100);
	assert_int_equal(sm_stats(sm).groups, 3);
	assert_int_equal(table(0, 0, none, &got), 3);
	for (unsigned int i = 0; i < 3; i++) {
		memset(want, 0, sizeof(want));
		memcpy(want, broadcast.raw, 16);
		ib_put16(want + 4, mgid_key[i]);
		ib_put32(want + 32, 0x0b1b);
		ib_put16(want + 36, (uint16_t)(0xc000 + i));
		want[38] = 2 << 6 | 4;
		ib_put16(want + 40, mgid_key[i]);
		want[42] = 2 << 6 | 3;
		want[43] = 2 << 6 | 18;
		want[48] = 2 << 4;
		assert_memory_equal(got + (size_t)STRIDE * i, want, STRIDE);
	}
	/* A key is one by its 15 bits, each of which counts (IBTA 10.9.3). */
	for (unsigned int bit = 0; bit < 16; bit++) {
		bool full = bit < 15;

		assert_int_equal(sm_has_pkey(sm, (uint16_t)(0x8005 ^ 1u << bit), &full), bit == 15);
		assert_int_equal(sm_has_pkey(sm, 0x8006, &full), true);
		assert_false(full);
		assert_int_equal(sm_has_pkey(sm, 0x0005, &full), true);
		assert_true(full);
	}
	assert_false(sm_has_pkey(sm, 0, &(bool){false}));
	/* Who may see members sees that there is a group, which has none. */
	assert_int_equal(table(1, 0, none, &got), 3);
	group_down();
}

/* What makes a group is in its record; the rest is of the port that makes it: 4096 octets (5), 40 Gb/s (7), 2^18. */
static void
test_made_as_asked(void **state)
{
	static const struct {
		uint64_t mask;
		uint8_t mtu, rate, lifetime; /* with the selector above the code */
		uint8_t got_mtu, got_rate, got_lifetime;
	} row[] = {
		{0, 2 << 6 | 1, 2 << 6 | 2, 2 << 6 | 3, 5, 7, 18},
		{TP_SA_MC_MTU_SELECTOR | TP_SA_MC_MTU, 2 << 6 | 4, 0, 0, 4, 7, 18},
		{TP_SA_MC_MTU_SELECTOR | TP_SA_MC_MTU, 0 << 6 | 3, 0, 0, 5, 7, 18},
		{TP_SA_MC_MTU_SELECTOR | TP_SA_MC_MTU, 3 << 6 | 3, 0, 0, 5, 7, 18},
		{TP_SA_MC_RATE_SELECTOR | TP_SA_MC_RATE, 0, 2 << 6 | 3, 0, 5, 3, 18},
		{TP_SA_MC_RATE_SELECTOR | TP_SA_MC_RATE, 0, 0 << 6 | 3, 0, 5, 7, 18},
		{TP_SA_MC_LIFETIME_SELECTOR | TP_SA_MC_LIFETIME, 0, 0, 2 << 6 | 15, 5, 7, 15},
		/* A selector without a value, and the other way round. */
		{TP_SA_MC_MTU_SELECTOR, 2 << 6 | 4, 0, 0, 5, 7, 18},
		{TP_SA_MC_RATE_SELECTOR, 0, 2 << 6 | 3, 0, 5, 7, 18},
		{TP_SA_MC_LIFETIME_SELECTOR, 0, 0, 2 << 6 | 15, 5, 7, 18},
		{TP_SA_MC_MTU | TP_SA_MC_RATE, 2 << 6 | 4, 2 << 6 | 3, 0, 4, 3, 18},
	};
	const struct sm_reply *a;

	(void)state;
	group_up(3);
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint8_t r[RECORD], want[RECORD];

		record(r, 3, (uint8_t)(0x40 + i), TP_SA_FULL);
		r[1] = 0x15; /* site-local */
		ib_put32(r + 32, 0x80010203);
		r[38] = row[i].mtu;
		r[39] = 0x2e;
		r[42] = row[i].rate;
		r[43] = row[i].lifetime;
		ib_put32(r + 44, 0x7abcde33);
		a = sm_raw(2, MAD_SET, SA_ATTR_MEMBER, 0, MAKES | row[i].mask, r, RECORD);
		assert_int_equal(a->status, 0);
		assert_int_equal(a->data[MAD_METHOD_AT], MAD_GET | MAD_RESPONSE);
		assert_int_equal(ib_get16(a->data + SA_ATTR_OFFSET_AT), STRIDE / 8);
		memcpy(want, r, RECORD);
		ib_put16(want + 36, (uint16_t)(0xc001 + i));
		want[38] = (uint8_t)(2 << 6 | row[i].got_mtu);
		want[42] = (uint8_t)(2 << 6 | row[i].got_rate);
		want[43] = (uint8_t)(2 << 6 | row[i].got_lifetime);
		want[48] = 5 << 4 | TP_SA_FULL;
		assert_memory_equal(a->data + SA_RECORD_AT, want, RECORD);
	}
	group_down();
}

/* Without any one of the components that make a group there is none (o15-0.2.3); with MGID, port and state one is joined. */
static void
test_components(void **state)
{
	(void)state;
	group_up(2);
	for (unsigned int bit = 0; bit < 18; bit++) {
		uint64_t one = UINT64_C(1) << bit;

		if ((MAKES & one) != 0)
			assert_int_equal(join(2, 0x07, TP_SA_FULL, MAKES & ~one), COMPONENTS);
		if ((BASIC & one) != 0)
			assert_int_equal(join(2, 0xff, TP_SA_FULL, BASIC & ~one), COMPONENTS);
	}
	assert_int_equal(sm_stats(sm).groups, 1);
	assert_int_equal(join(2, 0x07, TP_SA_FULL, MAKES), 0);
	assert_int_equal(join(2, 0xff, TP_SA_FULL, BASIC), 0);
	assert_int_equal(sm_stats(sm).groups, 2);
	group_down();
}

/* Who may make a group: a full member, also one that only sends, in a partition that there is, of a multicast GID. */
static void
test_who_makes(void **state)
{
	static const struct {
		uint8_t join_state, first;
		uint16_t pkey, status;
	} row[] = {
		{TP_SA_FULL, 0xff, 0xffff, 0},
		{TP_SA_SEND_ONLY_FULL, 0xff, 0x7fff, 0},
		{TP_SA_FULL | TP_SA_NON, 0xff, 0xffff, 0},
		{TP_SA_NON, 0xff, 0xffff, INVALID},
		{TP_SA_SEND_ONLY, 0xff, 0xffff, INVALID},
		{0, 0xff, 0xffff, INVALID},
		{TP_SA_FULL, 0xfe, 0xffff, INVALID},
		{TP_SA_FULL, 0xff, 0x8005, INVALID},
	};

	(void)state;
	group_up(2);
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint8_t r[RECORD];

		record(r, 2, (uint8_t)(0x10 + i), row[i].join_state);
		r[0] = row[i].first;
		ib_put16(r + 40, row[i].pkey);
		assert_int_equal(set(r, MAKES), row[i].status);
	}
	assert_int_equal(sm_stats(sm).groups, 4);
	/* Nor for a port that is not there, and to no group that there is without a state. */
	assert_int_equal(join(9, 0xff, TP_SA_FULL, BASIC), INVALID);
	assert_int_equal(join(2, 0xff, 0, BASIC), INVALID);
	group_down();
}

/* A group has 2048 octets (4), 10 Gb/s (3), Q_Key 0xb1b, P_Key 0xffff, service level 0. Selectors: more, less, this, most. */
static void
test_what_agrees(void **state)
{
	enum { MTU = TP_SA_MC_MTU_SELECTOR | TP_SA_MC_MTU, RATE = TP_SA_MC_RATE_SELECTOR | TP_SA_MC_RATE };
	static const struct {
		uint64_t mask;
		uint8_t at, value; /* of the record */
		bool good;
	} row[] = {
		{MTU, 38, 0 << 6 | 3, true},
		{MTU, 38, 0 << 6 | 4, false},
		{MTU, 38, 1 << 6 | 5, true},
		{MTU, 38, 1 << 6 | 4, false},
		{MTU, 38, 2 << 6 | 3, false},
		{MTU, 38, 2 << 6 | 4, true},
		{MTU, 38, 2 << 6 | 5, false},
		{MTU, 38, 3 << 6 | 5, true},
		{TP_SA_MC_MTU, 38, 2 << 6 | 5, true},
		{RATE, 42, 0 << 6 | 2, true},
		{RATE, 42, 0 << 6 | 3, false},
		{RATE, 42, 1 << 6 | 7, true},
		{RATE, 42, 1 << 6 | 3, false},
		{RATE, 42, 2 << 6 | 3, true},
		{RATE, 42, 2 << 6 | 7, false},
		{RATE, 42, 3 << 6 | 7, true},
		{TP_SA_MC_RATE, 42, 2 << 6 | 7, true},
		/* 5 and 20 Gb/s are codes 5 and 6, 2.5 Gb/s is 2, 14 Gb/s is 11, 25 Gb/s is 15, 30 Gb/s is 4. */
		{RATE, 42, 0 << 6 | 5, true},
		{RATE, 42, 1 << 6 | 5, false},
		{RATE, 42, 0 << 6 | 6, false},
		{RATE, 42, 1 << 6 | 6, true},
		{RATE, 42, 1 << 6 | 2, false},
		{RATE, 42, 1 << 6 | 11, true},
		{RATE, 42, 0 << 6 | 15, false},
		{RATE, 42, 1 << 6 | 4, true},
		{TP_SA_MC_QKEY, 35, 0x1b, true},
		{TP_SA_MC_QKEY, 35, 0x1c, false},
		{0, 35, 0x1c, true},
		{TP_SA_MC_PKEY, 40, 0x7f, true}, /* a limited member's */
		{TP_SA_MC_PKEY, 41, 0xfe, false},
		{0, 41, 0xfe, true},
		{TP_SA_MC_SL, 44, 0x0f, true}, /* the flow label's */
		{TP_SA_MC_SL, 44, 0x10, false},
		{0, 44, 0x10, true},
	};

	(void)state;
	group_up(2);
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint8_t r[RECORD];
		const uint8_t *got;
		uint16_t status;

		record(r, 2, 0xff, TP_SA_FULL);
		r[row[i].at] = row[i].value;
		status = set(r, BASIC | row[i].mask);
		if (status != (row[i].good ? 0 : INVALID))
			print_message("row %u: status 0x%04x\n", i, status);
		assert_int_equal(status, row[i].good ? 0 : INVALID);
		/* So it is when groups are looked for. */
		assert_int_equal(table(0, TP_SA_MC_MGID | row[i].mask, r, &got), row[i].good);
	}
	group_down();
}

/* States add up, and go one by one; with the last one the member goes, and the group with its last full member. */
static void
test_states(void **state)
{
	uint8_t r[RECORD];
	const struct sm_reply *a;

	(void)state;
	group_up(3);
	assert_int_equal(join(2, 0x07, TP_SA_SEND_ONLY_FULL, MAKES), 0);
	assert_int_equal(join(3, 0x07, TP_SA_NON, BASIC), 0);
	record(r, 2, 0x07, TP_SA_NON);
	a = sm_raw(2, MAD_SET, SA_ATTR_MEMBER, 0, BASIC, r, RECORD);
	assert_int_equal(a->status, 0);
	assert_int_equal(a->data[SA_RECORD_AT + 48] & 0xf, TP_SA_SEND_ONLY_FULL | TP_SA_NON);
	/* What one is not, one cannot leave; nor who is no member, nor what is no group. */
	assert_int_equal(leave(2, 0x07, TP_SA_FULL), INVALID);
	assert_int_equal(leave(1, 0x07, TP_SA_FULL), INVALID);
	assert_int_equal(leave(2, 0x08, TP_SA_FULL), INVALID);
	a = sm_raw(2, SA_DELETE, SA_ATTR_MEMBER, 0, BASIC, r, RECORD);
	assert_int_equal(a->status, 0);
	assert_int_equal(a->data[MAD_METHOD_AT], SA_DELETE | MAD_RESPONSE);
	assert_int_equal(a->data[SA_RECORD_AT + 48] & 0xf, TP_SA_NON);
	assert_memory_equal(a->data + SA_RECORD_AT + 16, r + 16, 16);
	assert_int_equal(leave(2, 0x07, TP_SA_NON), INVALID);
	assert_int_equal(sm_stats(sm).groups, 2);
	assert_int_equal(leave(2, 0x07, TP_SA_SEND_ONLY_FULL), 0);
	assert_int_equal(sm_stats(sm).groups, 1);
	assert_int_equal(leave(3, 0x07, TP_SA_NON), INVALID);
	/* The broadcast group stays, for who comes next. */
	assert_int_equal(join(2, 0xff, TP_SA_FULL, BASIC), 0);
	assert_int_equal(leave(2, 0xff, TP_SA_FULL), 0);
	assert_int_equal(sm_stats(sm).groups, 1);
	assert_int_equal(join(2, 0xff, TP_SA_FULL, BASIC), 0);
	/* One that ended leaves its place to the next one. */
	assert_int_equal(join(2, 0x21, TP_SA_FULL, MAKES), 0);
	assert_int_equal(join(2, 0x22, TP_SA_FULL, MAKES), 0);
	assert_int_equal(leave(2, 0x21, TP_SA_FULL), 0);
	record(r, 2, 0x23, TP_SA_FULL);
	a = sm_raw(2, MAD_SET, SA_ATTR_MEMBER, 0, MAKES, r, RECORD);
	assert_int_equal(ib_get16(a->data + SA_RECORD_AT + 36), 0xc001);
	group_down();
}

/* Members are told to who has a key or names a port (15.2.5.17.2); others see the groups. */
static void
test_who_sees_members(void **state)
{
	uint8_t r[RECORD], none[RECORD] = {0};
	const uint8_t *got;

	(void)state;
	group_up(3);
	assert_int_equal(join(2, 0x07, TP_SA_FULL, MAKES), 0);
	assert_int_equal(join(3, 0x07, TP_SA_SEND_ONLY, BASIC), 0);
	assert_int_equal(join(3, 0xff, TP_SA_FULL, BASIC), 0);
	/* A key in its last octet, and in its first one. */
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t key = i == 0 ? 1 : UINT64_C(1) << 63;

		assert_int_equal(table(key, 0, none, &got), 3);
		assert_int_equal(ib_get16(got + 36), 0xc000);
		assert_int_equal(ib_get64(got + 24), GUID(3) + 1);
		assert_int_equal(got[48], 2 << 4 | TP_SA_FULL);
		assert_int_equal(ib_get16(got + STRIDE + 36), 0xc001);
		assert_int_equal(ib_get64(got + STRIDE + 24), GUID(2) + 1);
		assert_int_equal(got[STRIDE + 48], 2 << 4 | TP_SA_FULL);
		assert_int_equal(ib_get64(got + STRIDE * 2 + 24), GUID(3) + 1);
		assert_int_equal(got[STRIDE * 2 + 48], 2 << 4 | TP_SA_SEND_ONLY);
	}
	assert_int_equal(table(0, 0, none, &got), 2);
	assert_int_equal(ib_get64(got + 24), 0);
	assert_int_equal(got[48], 2 << 4);
	/* By port: the groups in which it is. */
	record(r, 3, 0, 0);
	assert_int_equal(table(0, TP_SA_MC_PORT_GID, r, &got), 2);
	assert_int_equal(ib_get64(got + 24), GUID(3) + 1);
	assert_int_equal(ib_get64(got + STRIDE + 24), GUID(3) + 1);
	record(r, 2, 0, 0);
	assert_int_equal(table(0, TP_SA_MC_PORT_GID, r, &got), 1);
	assert_int_equal(ib_get16(got + 36), 0xc001);
	record(r, 1, 0, 0);
	assert_int_equal(table(0, TP_SA_MC_PORT_GID, r, &got), 0);
	assert_int_equal(table(5, TP_SA_MC_PORT_GID, r, &got), 0);
	/* By MLID and by MGID, which are of one group. */
	ib_put16(r + 36, 0xc001);
	assert_int_equal(table(0, TP_SA_MC_MLID, r, &got), 1);
	assert_int_equal(got[15], 0x07);
	r[15] = 0xff;
	assert_int_equal(table(0, TP_SA_MC_MLID | TP_SA_MC_MGID, r, &got), 0);
	assert_int_equal(table(0, TP_SA_MC_MGID, r, &got), 1);
	assert_int_equal(ib_get16(got + 36), 0xc000);
	/* A Get is for one record: not for none, and not for several. */
	assert_int_equal(sm_raw(2, MAD_GET, SA_ATTR_MEMBER, 0, TP_SA_MC_MGID, r, RECORD)->status, 0);
	assert_int_equal(sm_raw(2, MAD_GET, SA_ATTR_MEMBER, 0, 0, r, RECORD)->status, MANY_RECORDS);
	r[15] = 0x33;
	assert_int_equal(sm_raw(2, MAD_GET, SA_ATTR_MEMBER, 0, TP_SA_MC_MGID, r, RECORD)->status, NO_RECORDS);
	group_down();
}

/* 64 members of a group, and no more; a member may change its states then. All are in the table, and who goes is not. */
static void
test_many_members(void **state)
{
	uint8_t r[RECORD];
	const uint8_t *got;
	unsigned int n = 0;

	(void)state;
	fab_up(&fab);
	for (unsigned int s = 0; s < 4; s++)
		fab_switch(&fab, s, SWITCH(s + 1), FAB_PORTS);
	for (unsigned int s = 0; s < 3; s++)
		fab_cable(&fab, s, 19, s + 1, 20);
	for (unsigned int a = 4; a < 8; a++) {
		fab_adapter(&fab, a, GUID(2 * a), 17);
		for (unsigned int p = 1; p <= 17; p++)
			fab_cable(&fab, a, p, a - 4, p);
	}
	sm = sm_manage(4, 0);
	fab_run(&fab, 200);
	assert_true(sm_stats(sm).up);
	for (unsigned int a = 4; a < 8; a++) {
		for (unsigned int p = 1; p <= 17; p++, n++) {
			record(r, 0, 0x07, TP_SA_FULL);
			port_gid(r + 16, GUID(2 * a) + p);
			assert_int_equal(
				sm_raw(4, MAD_SET, SA_ATTR_MEMBER, 0, n == 0 ? MAKES : BASIC, r, RECORD)->status,
				n < 64 ? 0 : RESOURCES);
		}
	}
	assert_int_equal(n, 68);
	port_gid(r + 16, GUID(14) + 1);
	r[48] = TP_SA_NON;
	assert_int_equal(sm_raw(4, MAD_SET, SA_ATTR_MEMBER, 0, BASIC, r, RECORD)->status, 0);
	assert_int_equal(sm_raw(4, SA_GET_TABLE, SA_ATTR_MEMBER, 1, TP_SA_MC_MGID, r, RECORD)->len,
			 SA_RECORD_AT + 64 * STRIDE);
	/* The first adapter but one, and with it 17 members. */
	fab_cut(&fab, 0, 19);
	fab_run(&fab, 1000);
	assert_int_equal(sm_raw(4, SA_GET_TABLE, SA_ATTR_MEMBER, 1, TP_SA_MC_MGID, r, RECORD)->len,
			 SA_RECORD_AT + 17 * STRIDE);
	got = sm_raw(4, SA_GET_TABLE, SA_ATTR_MEMBER, 1, TP_SA_MC_MGID, r, RECORD)->data + SA_RECORD_AT;
	for (unsigned int i = 0; i < 17; i++)
		assert_in_range(ib_get64(got + STRIDE * i + 24), GUID(8) + 1, GUID(8) + 17);
	group_down();
}

/* Ports that go are members no more, whichever they were in the list; the group stays for who is left. */
static void
test_some_go(void **state)
{
	uint8_t r[RECORD];
	const uint8_t *got;

	(void)state;
	group_up(6);
	for (unsigned int i = 2; i <= 6; i++)
		assert_int_equal(join(i, 0x07, i == 4 ? TP_SA_FULL : TP_SA_FULL | TP_SA_NON, i == 2 ? MAKES : BASIC),
				 0);
	fab_cut(&fab, 3, 1);
	fab_cut(&fab, 5, 1);
	fab_cut(&fab, 6, 1);
	fab_run(&fab, 1000);
	record(r, 2, 0x07, 0);
	assert_int_equal(table(1, TP_SA_MC_MGID, r, &got), 2);
	assert_int_equal(ib_get64(got + 24) + ib_get64(got + STRIDE + 24), GUID(2) + GUID(4) + 2);
	assert_int_equal(sm_stats(sm).groups, 2);
	/* By leaving, too: who is last in the list takes the place. */
	assert_int_equal(leave(2, 0x07, TP_SA_FULL | TP_SA_NON), 0);
	assert_int_equal(table(1, TP_SA_MC_MGID, r, &got), 1);
	assert_int_equal(ib_get64(got + 24), GUID(4) + 1);
	assert_int_equal(got[48], 2 << 4 | TP_SA_FULL);
	/* With the last one the group goes at once, before the manager has looked again: who joins must say what it is to be. */
	fab.node[0].deaf = true;
	assert_int_equal(leave(4, 0x07, TP_SA_FULL), 0);
	assert_int_equal(sm_stats(sm).groups, 1);
	assert_int_equal(join(4, 0x07, TP_SA_FULL, BASIC), COMPONENTS);
	group_down();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_broadcast_groups), cmocka_unit_test(test_made_as_asked),
		cmocka_unit_test(test_components),       cmocka_unit_test(test_who_makes),
		cmocka_unit_test(test_what_agrees),      cmocka_unit_test(test_states),
		cmocka_unit_test(test_who_sees_members), cmocka_unit_test(test_many_members),
		cmocka_unit_test(test_some_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
