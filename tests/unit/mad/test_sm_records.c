/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Nodes, ports and paths by the octets of their records (IBTA 1.4, 15.2.5), and what narrows a question for them. */
#include "sm_rig.h"

#include <stdlib.h>

#include "lib/mad/sm/sm_priv.h"

#define NODE 112u
#define PORT 72u
#define MANAGER 32u
#define PATH 64u
#define BIT(n) (UINT64_C(1) << (n))
enum { NO_RECORDS = 0x0300, MANY_RECORDS = 0x0400, NO_SUCH = 0x000c };

static struct tp_sm *sm;

static void
records_down(void)
{
	tp_sm_destroy(sm);
	fab_down(&fab);
}

static unsigned int
table(uint16_t attr, uint64_t mask, const uint8_t *want, uint32_t len, uint32_t stride, const uint8_t **got)
{
	const struct sm_reply *a = sm_raw(3, SA_GET_TABLE, attr, 0, mask, want, len);

	assert_int_equal(a->status, 0);
	assert_int_equal((a->len - SA_RECORD_AT) % stride, 0);
	assert_int_equal(ib_get16(a->data + SA_ATTR_OFFSET_AT), stride / 8);
	*got = a->data + SA_RECORD_AT;
	return (a->len - SA_RECORD_AT) / stride;
}

/* A switch with adapters 1 to 3 at its ports 1 to 3; the second port of 2 is at port 4. */
static void
records_up(void)
{
	fab_up(&fab);
	fab_switch(&fab, 0, SWITCH(1), 8);
	for (unsigned int i = 1; i <= 3; i++) {
		fab_adapter(&fab, i, GUID(i), i == 2 ? 2 : 1);
		fab_cable(&fab, i, 1, 0, i);
	}
	fab_cable(&fab, 2, 2, 0, 4);
	sm = sm_manage(1, 4);
	fab_run(&fab, 200);
	assert_whole(1, 3);
}

/* LID, NodeInfo (14.2.5.3) with GUID and number of this port, description. */
static void
node_record(uint8_t want[NODE], unsigned int node, unsigned int port)
{
	const struct fab_node *n = &fab.node[node];

	memset(want, 0, NODE);
	ib_put16(want, fab_lid(&fab, node, port));
	want[4] = want[5] = 1;
	want[6] = node == 0 ? 2 : 1;
	want[7] = (uint8_t)n->ports;
	ib_put64(want + 8, n->guid);
	ib_put64(want + 16, n->guid);
	ib_put64(want + 24, n->guid + port);
	ib_put16(want + 32, 128);
	want[40] = (uint8_t)port;
	memcpy(want + 44, node == 0 ? "switch" : "adapter", 7);
}

static void
test_nodes(void **state)
{
	static const struct {
		unsigned int node, port;
	} is[] = {{1, 1}, {0, 0}, {2, 1}, {2, 2}, {3, 1}};
	uint8_t want[NODE];
	const uint8_t *got;

	(void)state;
	records_up();
	memset(want, 0, sizeof(want));
	assert_int_equal(table(SA_ATTR_NODE, 0, want, NODE, NODE, &got), 5);
	for (unsigned int i = 0; i < 5; i++) {
		unsigned int found = 0;

		assert_int_equal(table(SA_ATTR_NODE, 0, want, NODE, NODE, &got), 5);
		node_record(want, is[i].node, is[i].port);
		for (unsigned int k = 0; k < 5; k++)
			found += memcmp(got + (size_t)NODE * k, want, NODE) == 0;
		assert_int_equal(found, 1);
		/* By LID and by the port's GUID there is one, by the node's as many as it has ports. */
		assert_int_equal(table(SA_ATTR_NODE, BIT(0), want, NODE, NODE, &got), 1);
		assert_memory_equal(got, want, NODE);
		assert_int_equal(table(SA_ATTR_NODE, BIT(8), want, NODE, NODE, &got), 1);
		assert_memory_equal(got, want, NODE);
		assert_int_equal(table(SA_ATTR_NODE, BIT(7), want, NODE, NODE, &got), is[i].node == 2 ? 2 : 1);
		assert_int_equal(sm_raw(3, MAD_GET, SA_ATTR_NODE, 0, BIT(7), want, NODE)->status,
				 is[i].node == 2 ? MANY_RECORDS : 0);
	}
	/* Nobody is what does not agree. */
	want[1] ^= 1;
	want[23] ^= 4;
	want[31] ^= 4;
	assert_int_equal(table(SA_ATTR_NODE, BIT(8), want, NODE, NODE, &got), 0);
	assert_int_equal(table(SA_ATTR_NODE, BIT(7), want, NODE, NODE, &got), 0);
	want[0] = 0x10;
	assert_int_equal(table(SA_ATTR_NODE, BIT(0), want, NODE, NODE, &got), 0);
	assert_int_equal(sm_raw(3, MAD_GET, SA_ATTR_NODE, 0, BIT(0), want, NODE)->status, NO_RECORDS);
	/* What is not looked at narrows nothing. */
	assert_int_equal(table(SA_ATTR_NODE, BIT(1) | BIT(6) | BIT(9), want, NODE, NODE, &got), 5);
	records_down();
}

/* LID, of a switch that of its port 0, number, PortInfo without the key of management (14.2.4). */
static void
test_ports(void **state)
{
	uint8_t want[PORT] = {0};
	const uint8_t *got;

	(void)state;
	records_up();
	for (unsigned int i = 0; i < 8; i++)
		fab.node[2].port[2].info[i] = (uint8_t)(0xe0 + i);
	fab.node[3].port[1].info[20] |= 0x40;
	fab_run(&fab, 200);
	/* Four of adapters, and of the switch port 0 and eight more. */
	assert_int_equal(table(SA_ATTR_PORT_INFO, 0, want, PORT, PORT, &got), 4 + 9);
	ib_put16(want, fab_lid(&fab, 2, 2));
	assert_int_equal(table(SA_ATTR_PORT_INFO, BIT(0), want, PORT, PORT, &got), 1);
	want[2] = 2;
	memcpy(want + 4, fab.node[2].port[2].info, 64);
	memset(want + 4, 0, 8);
	want[4 + 28] = 2; /* which port answered */
	assert_memory_equal(got, want, PORT);
	ib_put16(want, fab_lid(&fab, 0, 0));
	assert_int_equal(table(SA_ATTR_PORT_INFO, BIT(0), want, PORT, PORT, &got), 9);
	for (unsigned int p = 0; p < 9; p++) {
		assert_int_equal(ib_get16(got + PORT * p), fab_lid(&fab, 0, 0));
		assert_int_equal(got[PORT * p + 2], p);
		assert_int_equal(got[PORT * p + 4 + 32] & 0xf, p <= 4 ? 4 : 1);
	}
	/* By number: the second one of the adapter, and that of the switch. */
	assert_int_equal(table(SA_ATTR_PORT_INFO, BIT(1), want, PORT, PORT, &got), 2);
	assert_int_equal(table(SA_ATTR_PORT_INFO, BIT(0) | BIT(1), want, PORT, PORT, &got), 1);
	/* By capabilities, all of which must be there. */
	ib_put32(want + 4 + 20, 0x02000000);
	assert_int_equal(table(SA_ATTR_PORT_INFO, BIT(7), want, PORT, PORT, &got), 13);
	ib_put32(want + 4 + 20, 0x42000000);
	assert_int_equal(table(SA_ATTR_PORT_INFO, BIT(7), want, PORT, PORT, &got), 1);
	assert_int_equal(ib_get16(got), fab_lid(&fab, 3, 1));
	ib_put32(want + 4 + 20, 0x43000000);
	assert_int_equal(table(SA_ATTR_PORT_INFO, BIT(7), want, PORT, PORT, &got), 0);
	assert_int_equal(table(SA_ATTR_PORT_INFO, BIT(6) | BIT(8) | BIT(2), want, PORT, PORT, &got), 13);
	records_down();
}

static void
test_managers(void **state)
{
	uint8_t want[MANAGER] = {0}, again[MANAGER];
	const uint8_t *got;

	(void)state;
	records_up();
	ib_put16(want, fab_lid(&fab, 1, 1));
	assert_int_equal(table(SA_ATTR_SM_INFO, BIT(0), want, MANAGER, MANAGER, &got), 1);
	memcpy(again, got, MANAGER);
	ib_put64(want + 4, GUID(1) + 1);
	memcpy(want + 20, got + 20, 4); /* how much it has done */
	want[24] = 4 << 4 | TP_SM_MASTER;
	assert_memory_equal(got, want, MANAGER);
	assert_int_equal(table(SA_ATTR_SM_INFO, 0, want, MANAGER, MANAGER, &got), 1);
	assert_true(ib_get32(got + 20) >= ib_get32(again + 20));
	assert_int_not_equal(ib_get32(got + 20), 0);
	ib_put16(want, fab_lid(&fab, 2, 1));
	assert_int_equal(table(SA_ATTR_SM_INFO, BIT(0), want, MANAGER, MANAGER, &got), 0);
	assert_int_equal(table(SA_ATTR_SM_INFO, BIT(1), want, MANAGER, MANAGER, &got), 1);
	records_down();
}

/* From 2 to 3: GIDs, LIDs, reversible, P_Key, 4096 octets (5), 40 Gb/s (7), 2^18; each exactly (2 above them). */
static void
test_paths(void **state)
{
	uint8_t want[PATH] = {0}, ask[PATH] = {0};
	const uint8_t *got;

	(void)state;
	records_up();
	ib_put64(want + 8, 0xfe80000000000000ull);
	ib_put64(want + 16, GUID(3) + 1);
	ib_put64(want + 24, 0xfe80000000000000ull);
	ib_put64(want + 32, GUID(2) + 1);
	ib_put16(want + 40, fab_lid(&fab, 3, 1));
	ib_put16(want + 42, fab_lid(&fab, 2, 1));
	want[49] = 0x80;
	ib_put16(want + 50, 0xffff);
	want[54] = 2 << 6 | 5;
	want[55] = 2 << 6 | 7;
	want[56] = 2 << 6 | 18;
	memcpy(ask, want, PATH);
	/* DGID, SGID, DLID, SLID; a limited key is asked for with its full one. */
	assert_int_equal(table(SA_ATTR_PATH, BIT(2) | BIT(3), ask, PATH, PATH, &got), 1);
	assert_memory_equal(got, want, PATH);
	assert_int_equal(table(SA_ATTR_PATH, BIT(4) | BIT(5), ask, PATH, PATH, &got), 1);
	assert_memory_equal(got, want, PATH);
	ib_put16(ask + 50, 0x7fff);
	assert_int_equal(table(SA_ATTR_PATH, BIT(2) | BIT(3) | BIT(13), ask, PATH, PATH, &got), 1);
	assert_memory_equal(got, want, PATH);
	/* A key that nobody has, and one that nobody looks at. */
	ib_put16(ask + 50, 0x8123);
	assert_int_equal(table(SA_ATTR_PATH, BIT(2) | BIT(3) | BIT(13), ask, PATH, PATH, &got), 0);
	assert_int_equal(table(SA_ATTR_PATH, BIT(2) | BIT(3) | BIT(12), ask, PATH, PATH, &got), 1);
	assert_memory_equal(got, want, PATH);
	/* One end alone: to and from all five. */
	for (unsigned int bit = 2; bit <= 5; bit++)
		assert_int_equal(table(SA_ATTR_PATH, BIT(bit), ask, PATH, PATH, &got), 5);
	assert_int_equal(table(SA_ATTR_PATH, 0, ask, PATH, PATH, &got), 25);
	/* One that is wanted is the first of them. */
	assert_int_equal(sm_raw(3, MAD_GET, SA_ATTR_PATH, 0, BIT(3), ask, PATH)->status, 0);
	assert_int_equal(sm_raw(3, MAD_GET, SA_ATTR_PATH, 0, BIT(3), ask, PATH)->data[SA_RECORD_AT + 56 + 1], 0);
	/* To oneself it takes no time. */
	ib_put16(ask + 40, fab_lid(&fab, 2, 1));
	assert_int_equal(table(SA_ATTR_PATH, BIT(4) | BIT(5), ask, PATH, PATH, &got), 1);
	assert_int_equal(got[56], 2 << 6);
	/* Another prefix, another LID. */
	ask[8] = 0xfd;
	assert_int_equal(table(SA_ATTR_PATH, BIT(2), ask, PATH, PATH, &got), 0);
	ask[24] = 0xfd;
	assert_int_equal(table(SA_ATTR_PATH, BIT(3), ask, PATH, PATH, &got), 0);
	ask[40] = 0x10;
	assert_int_equal(table(SA_ATTR_PATH, BIT(4), ask, PATH, PATH, &got), 0);
	assert_int_equal(sm_raw(3, MAD_GET, SA_ATTR_PATH, 0, BIT(4), ask, PATH)->status, NO_RECORDS);
	records_down();
}

/* There is a path while both ends are active, whichever of them asks. */
static void
test_active_ends(void **state)
{
	static const uint8_t states[] = {1, 2, 3, 4};
	uint8_t ask[PATH] = {0};
	const uint8_t *got;

	(void)state;
	records_up();
	/* It does not look again before this is over. */
	sm->conf.sweep_ms = 1000000;
	fab_run(&fab, 200);
	for (unsigned int node = 2; node <= 3; node++) {
		struct sm_node *n = NULL;

		for (unsigned int i = 0; i < sm->num_nodes; i++)
			n = sm->node[i].port_guid[1] == GUID(node) + 1 ? &sm->node[i] : n;
		assert_non_null(n);
		for (unsigned int i = 0; i < sizeof(states); i++) {
			for (unsigned int to = 2; to <= 3; to++) {
				ib_put16(ask + 40, fab_lid(&fab, to, 1));
				ib_put16(ask + 42, fab_lid(&fab, to ^ 1, 1));
				n->port[1].info[SM_PI_STATE] =
					(uint8_t)((n->port[1].info[SM_PI_STATE] & 0xf0) | states[i]);
				assert_int_equal(table(SA_ATTR_PATH, BIT(4) | BIT(5), ask, PATH, PATH, &got),
						 states[i] == 4);
			}
		}
	}
	records_down();
}

/* Lanes (PortInfo has 1, 2, 4, 8 for 1, 4, 8, 12) by the speed of one: 2.5, 5, 10 Gb/s, FDR, EDR; codes of 15.2.5.16. */
static void
test_rates(void **state)
{
	static const struct {
		uint8_t width, speed, ext, rate;
	} row[] = {
		{1, 1, 0, 2},  {1, 2, 0, 5},  {1, 4, 0, 3},  {2, 1, 0, 3},  {2, 2, 0, 6},  {2, 4, 0, 7},  {4, 1, 0, 6},
		{4, 2, 0, 7},  {4, 4, 0, 9},  {8, 1, 0, 4},  {8, 2, 0, 8},  {8, 4, 0, 10}, {1, 4, 1, 11}, {2, 4, 1, 12},
		{4, 4, 1, 13}, {8, 4, 1, 14}, {1, 4, 2, 15}, {2, 4, 2, 16}, {4, 4, 2, 17}, {8, 4, 2, 18}, {1, 0, 0, 2},
	};
	uint8_t ask[PATH] = {0};
	const uint8_t *got;

	(void)state;
	records_up();
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint8_t *info = fab.node[2].port[1].info;

		info[31] = row[i].width;
		info[35] = (uint8_t)(row[i].speed << 4 | 0xf);
		info[62] = (uint8_t)(row[i].ext << 4 | 0xf);
		fab_run(&fab, 200);
		ib_put16(ask + 40, fab_lid(&fab, 2, 1));
		ib_put16(ask + 42, fab_lid(&fab, 2, 1));
		assert_int_equal(table(SA_ATTR_PATH, BIT(4) | BIT(5), ask, PATH, PATH, &got), 1);
		assert_int_equal(got[55], 2 << 6 | row[i].rate);
	}
	records_down();
}

/* A path is as fast as the slower of its ends, in both directions, whichever has more lanes or the higher code. */
static void
test_slower_end(void **state)
{
	static const struct {
		uint8_t width[2], speed[2], ext[2], rate;
	} row[] = {
		{{2, 2}, {4, 1}, {0, 0}, 3},  /* 40 and 10 Gb/s */
		{{2, 8}, {4, 1}, {0, 0}, 4},  /* 40 and 30: 12 slow lanes */
		{{1, 2}, {4, 2}, {1, 0}, 11}, /* 14 and 20: one fast lane */
		{{1, 2}, {4, 1}, {2, 0}, 3},  /* 25 and 10 */
		{{1, 1}, {2, 1}, {0, 0}, 2},  /* 5 and 2.5 */
		{{2, 2}, {4, 4}, {1, 2}, 12}, /* 56 and 100 */
		{{1, 2}, {1, 4}, {0, 0}, 2},  /* 2.5 and 40 */
		{{8, 4}, {4, 4}, {0, 1}, 13}, /* 120 and 112 */
		{{4, 8}, {4, 2}, {0, 0}, 8},  /* 80 and 60 */
		{{8, 8}, {4, 4}, {1, 2}, 14}, /* 168 and 300 */
		{{4, 8}, {4, 4}, {2, 1}, 14}, /* 200 and 168 */
		{{1, 2}, {2, 2}, {0, 0}, 5},  /* 5 and 20 */
		{{4, 8}, {4, 1}, {2, 0}, 4},  /* 200 and 30 */
		{{4, 4}, {4, 4}, {1, 2}, 13}, /* 112 and 200 */
		{{4, 2}, {1, 4}, {0, 1}, 6},  /* 20 and 56 */
	};
	uint8_t ask[PATH] = {0};
	const uint8_t *got;

	(void)state;
	records_up();
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		for (unsigned int swap = 0; swap < 2; swap++) {
			for (unsigned int end = 0; end < 2; end++) {
				uint8_t *info = fab.node[2 + (end ^ swap)].port[1].info;

				info[31] = row[i].width[end];
				info[35] = (uint8_t)(row[i].speed[end] << 4);
				info[62] = (uint8_t)(row[i].ext[end] << 4);
			}
			fab_run(&fab, 200);
			ib_put16(ask + 40, fab_lid(&fab, 2, 1));
			ib_put16(ask + 42, fab_lid(&fab, 3, 1));
			assert_int_equal(table(SA_ATTR_PATH, BIT(4) | BIT(5), ask, PATH, PATH, &got), 1);
			assert_int_equal(got[55], 2 << 6 | row[i].rate);
		}
	}
	/* And its packets are as small as the smaller end's. */
	for (unsigned int i = 2; i <= 3; i++) {
		fab.node[2].port[1].info[36] = (uint8_t)((i == 2 ? 3 : 4) << 4);
		fab.node[3].port[1].info[36] = (uint8_t)((i == 2 ? 4 : 3) << 4);
		fab_run(&fab, 200);
		assert_int_equal(table(SA_ATTR_PATH, BIT(4) | BIT(5), ask, PATH, PATH, &got), 1);
		assert_int_equal(got[54], 2 << 6 | 3);
	}
	records_down();
}

/* What there is to ask (15.2.2): by method and attribute, and how a refusal looks. */
static void
test_questions(void **state)
{
	static const struct {
		uint8_t method;
		uint16_t attr, status;
	} row[] = {
		{MAD_GET, MAD_ATTR_CLASS_PORT_INFO, 0},
		{SA_GET_TABLE, MAD_ATTR_CLASS_PORT_INFO, NO_SUCH},
		{MAD_SET, MAD_ATTR_CLASS_PORT_INFO, NO_SUCH},
		{SA_GET_TABLE, SA_ATTR_NODE, 0},
		{MAD_SET, SA_ATTR_NODE, NO_SUCH},
		{SA_DELETE, SA_ATTR_PORT_INFO, NO_SUCH},
		{MAD_SET, SA_ATTR_SM_INFO, NO_SUCH},
		{MAD_GET, SA_ATTR_SM_INFO, 0},
		{MAD_GET, SA_ATTR_PATH, 0},
		{SA_DELETE, SA_ATTR_PATH, NO_SUCH},
		{SA_GET_TABLE, SA_ATTR_MEMBER, 0},
		{MAD_GET, 0x31, NO_SUCH},
		{SA_GET_TABLE, 0x31, NO_SUCH},
	};
	static const uint8_t none[RMPP_DATA_AT - RMPP_VERSION_AT], record[SA_RECORD_LEN] = {0};
	const struct sm_reply *a;
	unsigned int refused = 0;

	(void)state;
	records_up();
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		a = sm_raw(3, row[i].method, row[i].attr, 0, 0, record, sizeof(record));
		assert_int_equal(a->status, row[i].status);
		assert_int_equal(a->data[MAD_METHOD_AT],
				 (row[i].method == MAD_SET ? MAD_GET : row[i].method) | MAD_RESPONSE);
		assert_int_equal(ib_get16(a->data + MAD_ATTR_AT), row[i].attr);
		refused += row[i].status != 0;
		/* In segments are the tables that there are. */
		if (row[i].method != SA_GET_TABLE || row[i].status != 0) {
			assert_int_equal(a->len, MAD_SIZE);
			assert_memory_equal(a->data + RMPP_VERSION_AT, none, sizeof(none));
		}
	}
	assert_int_equal(sm_stats(sm).sa_requests, sizeof(row) / sizeof(row[0]));
	assert_int_equal(sm_stats(sm).sa_refused, refused);
	/* ClassPortInfo: version 1 of datagrams, 2 of this class, answers within 4.096 us * 2^16. */
	a = sm_raw(3, MAD_GET, MAD_ATTR_CLASS_PORT_INFO, 0, 0, record, sizeof(record));
	assert_int_equal(a->data[SA_RECORD_AT], 1);
	assert_int_equal(a->data[SA_RECORD_AT + 1], 2);
	assert_int_equal(ib_get16(a->data + SA_RECORD_AT + 2), 0);
	assert_int_equal(ib_get32(a->data + SA_RECORD_AT + 4), 16);
	assert_int_equal(ib_get64(a->data + SA_RECORD_AT + 8), 0);
	records_down();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes),      cmocka_unit_test(test_ports),       cmocka_unit_test(test_managers),
		cmocka_unit_test(test_paths),      cmocka_unit_test(test_active_ends), cmocka_unit_test(test_rates),
		cmocka_unit_test(test_slower_end), cmocka_unit_test(test_questions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
