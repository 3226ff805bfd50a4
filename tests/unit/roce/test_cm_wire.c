/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Messages of connection management against bytes that are written down here by the offsets of the standard's figures; what
 * QP1 answers by itself. That tshark reads them so, too, is tests/system/test_cm_wire.py.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/roce/wire/cm_wire.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Bytes at an offset of the message's data. */
struct piece {
	unsigned int at;
	const char *hex;
};

static void
lay(uint8_t *data, const struct piece *p, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int k = 0; p[i].hex[2 * k] != '\0'; k++) {
			const char two[3] = {p[i].hex[2 * k], p[i].hex[2 * k + 1], '\0'};

			assert_int_equal(data[p[i].at + k], 0);
			data[p[i].at + k] = (uint8_t)strtoul(two, NULL, 16);
		}
}

/* The message becomes exactly these bytes, and they become the message. */
static void
expect(enum cm_msg msg, uint16_t attr, const void *in, const struct piece *p, unsigned int n)
{
	uint8_t mad[MAD_SIZE], want[MAD_SIZE] = {1, 7, 2, 3};
	union cm_any out;

	memcpy(want + 8, "\x11\x22\x33\x44\x55\x66\x77\x88", 8);
	want[16] = (uint8_t)(attr >> 8);
	want[17] = (uint8_t)attr;
	lay(want + 24, p, n);
	memset(mad, 0xa5, sizeof(mad));
	assert_int_equal(cm_put(msg, in, 0x1122334455667788, mad, NULL), 0);
	assert_memory_equal(mad, want, sizeof(mad));
	assert_int_equal(cm_msg_of(mad), msg);
	memset(&out, 0x5a, sizeof(out));
	cm_get(msg, want, &out);
	assert_memory_equal(&out, in, cm_layouts[msg].struct_size);
}
#define EXPECT(msg, attr, in, ...)                                                                                     \
	expect(msg, attr, in, (const struct piece[]){__VA_ARGS__}, LEN(((const struct piece[]){__VA_ARGS__})))

static void
test_req(void **state)
{
	struct cm_req m;

	(void)state;
	memset(&m, 0, sizeof(m)); /* gaps between members too: structs are compared as bytes */
	m.local_id = 0xcafe0001;
	m.vendor_id = 0x0002c9;
	m.service_id = 0x0000000001061c06;
	m.ca_guid = 0x0002c90300112233;
	m.qkey = 0x80010000;
	m.qpn = 0x00abcd;
	m.resp_res = 4;
	m.eecn = 0x010203;
	m.init_depth = 5;
	m.remote_eecn = 0x040506;
	m.remote_timeout = 20;
	m.service = CM_SERVICE_UC;
	m.flow_control = 1;
	m.psn = 0x123456;
	m.local_timeout = 19;
	m.retry = 7;
	m.pkey = 0xffff;
	m.mtu = 3;
	m.rdc = 1;
	m.rnr_retry = 6;
	m.max_retries = 15;
	m.srq = 1;
	m.ext_service = 5;
	m.path = (struct cm_path){.local_lid = 0xffff,
				  .remote_lid = 0xfffe,
				  .flow_label = 0xabcde,
				  .rate = 0x3f,
				  .tclass = 0x6a,
				  .hop_limit = 64,
				  .sl = 9,
				  .subnet_local = 1,
				  .ack_timeout = 17};
	m.path.local_gid[15] = 1;
	m.path.remote_gid[0] = 0xfe;
	m.alt.local_lid = 0x1234;
	m.alt.flow_label = 0x1;
	m.alt.ack_timeout = 31;
	m.private_data[0] = 'p';
	m.private_data[91] = 'q';
	EXPECT(CM_REQ, 0x10, &m, {0, "cafe0001"}, {5, "0002c9"}, {8, "0000000001061c06"}, {16, "0002c90300112233"},
	       {28, "80010000"}, {32, "00abcd04"}, {36, "01020305"}, {40, "040506"}, {43, "a3"}, {44, "123456"},
	       {47, "9f"}, {48, "ffff"}, {50, "3e"}, {51, "fd"}, {52, "fffffffe"}, {71, "01"}, {72, "fe"},
	       {88, "abcde03f"}, {92, "6a40"}, {94, "98"}, {95, "88"}, {96, "1234"}, {132, "00001000"}, {139, "f8"},
	       {140, "70"}, {231, "71"});
}

static void
test_answers(void **state)
{
	struct cm_rep rep;
	struct cm_rej rej;
	struct cm_mra mra;
	struct cm_rtu rtu = {.local_id = 1, .remote_id = 2, .private_data = {3}};

	(void)state;
	memset(&rep, 0, sizeof(rep));
	rep.local_id = 0x11111111;
	rep.remote_id = 0x22222222;
	rep.qkey = 0x33333333;
	rep.qpn = 0x444444;
	rep.vendor_id_h = 0x00;
	rep.vendor_id_m = 0x02;
	rep.vendor_id_l = 0xc9;
	rep.eecn = 0x555555;
	rep.psn = 0x666666;
	rep.resp_res = 7;
	rep.init_depth = 8;
	rep.ack_delay = 9;
	rep.failover = 2;
	rep.flow_control = 1;
	rep.rnr_retry = 7;
	rep.srq = 1;
	rep.ca_guid = 0x0123456789abcdef;
	rep.private_data[195] = 0xff;
	EXPECT(CM_REP, 0x13, &rep, {0, "111111112222222233333333"}, {12, "44444400"}, {16, "55555502"},
	       {20, "666666c9"}, {24, "0708"}, {26, "4d"}, {27, "f0"}, {28, "0123456789abcdef"}, {231, "ff"});

	memset(&rej, 0, sizeof(rej));
	rej.local_id = 5;
	rej.remote_id = 6;
	rej.msg = CM_ABOUT_REP;
	rej.ari_len = 16;
	rej.reason = CM_REJ_GID;
	rej.ari[71] = 0xaa;
	rej.private_data[0] = 0xbb;
	EXPECT(CM_REJ, 0x12, &rej, {0, "0000000500000006"}, {8, "40"}, {9, "20"}, {10, "000c"}, {83, "aa"}, {84, "bb"});

	memset(&mra, 0, sizeof(mra));
	mra.local_id = 5;
	mra.remote_id = 6;
	mra.msg = CM_ABOUT_OTHER;
	mra.timeout = 24;
	mra.private_data[221] = 1;
	EXPECT(CM_MRA, 0x11, &mra, {0, "0000000500000006"}, {8, "80c0"}, {231, "01"});
	EXPECT(CM_RTU, 0x14, &rtu, {0, "000000010000000203"});
}

static void
test_ends(void **state)
{
	struct cm_dreq dreq = {.local_id = 1, .remote_id = 2, .remote_qpn = 0xfffffe, .private_data = {3}};
	struct cm_drep drep = {.local_id = 1, .remote_id = 2};
	struct cm_lap lap;
	struct cm_apr apr = {.local_id = 9, .remote_id = 8, .info_len = 2, .status = CM_APR_UNSUPPORTED, .info = {7}};

	(void)state;
	drep.private_data[223] = 4;
	EXPECT(CM_DREQ, 0x15, &dreq, {0, "0000000100000002fffffe0003"});
	EXPECT(CM_DREP, 0x16, &drep, {0, "0000000100000002"}, {231, "04"});
	memset(&lap, 0, sizeof(lap));
	lap.local_id = 1;
	lap.remote_id = 2;
	lap.remote_qpn = 0x010203;
	lap.timeout = 31;
	lap.alt = (struct cm_path){.local_lid = 0x1111,
				   .remote_lid = 0x2222,
				   .flow_label = 0xfffff,
				   .tclass = 3,
				   .hop_limit = 4,
				   .rate = 5,
				   .sl = 6,
				   .subnet_local = 1,
				   .ack_timeout = 1};
	lap.alt.remote_gid[15] = 0x77;
	lap.private_data[167] = 1;
	EXPECT(CM_LAP, 0x19, &lap, {0, "0000000100000002"}, {12, "010203f8"}, {20, "11112222"}, {55, "77"},
	       {56, "fffff0"}, {59, "0304"}, {61, "05"}, {62, "68"}, {63, "08"}, {231, "01"});
	EXPECT(CM_APR, 0x1a, &apr, {0, "00000009000000080202"}, {12, "07"});
}

static void
test_sidr(void **state)
{
	struct cm_sidr_req req;
	struct cm_sidr_rep rep;

	(void)state;
	memset(&req, 0, sizeof(req));
	req.request_id = 0x01020304;
	req.pkey = 0xffff;
	req.service_id = CM_IP_SERVICE(0x0111, 7174);
	req.private_data[215] = 1;
	EXPECT(CM_SIDR_REQ, 0x17, &req, {0, "01020304ffff"}, {8, "0000000001111c06"}, {231, "01"});
	memset(&rep, 0, sizeof(rep));
	rep.request_id = 0x01020304;
	rep.status = CM_SIDR_NO_QP;
	rep.info_len = 8;
	rep.qpn = 0xfedcba;
	rep.service_id = CM_IP_SERVICE(0x0111, 7174);
	rep.qkey = 0x01234567;
	rep.info[0] = 1;
	rep.private_data[135] = 2;
	EXPECT(CM_SIDR_REP, 0x18, &rep, {0, "010203040308"}, {8, "fedcba00"}, {12, "0000000001111c0601234567"},
	       {24, "01"}, {231, "02"});
}

/* No two fields of a message share a bit, and none lies outside. */
static void
test_disjoint(void **state)
{
	(void)state;
	for (unsigned int m = 0; m < CM_MSGS; m++) {
		uint8_t used[CM_DATA_LEN * 8] = {0};

		for (unsigned int i = 0; i < cm_layouts[m].num_fields; i++) {
			const struct cm_field *f = &cm_layouts[m].fields[i];

			assert_true(f->bit + f->width <= sizeof(used));
			assert_true(f->at + f->size <= cm_layouts[m].struct_size);
			for (unsigned int b = f->bit; b < f->bit + f->width; b++)
				assert_int_equal(used[b]++, 0);
		}
	}
}

static void
test_too_big(void **state)
{
	struct cm_req m = {.qpn = 0x1000000};
	uint8_t mad[MAD_SIZE];
	const char *field = NULL;

	(void)state;
	assert_int_equal(cm_put(CM_REQ, &m, 1, mad, &field), -ERANGE);
	assert_string_equal(field, "qpn");
	m = (struct cm_req){.retry = 8};
	assert_int_equal(cm_put(CM_REQ, &m, 1, mad, &field), -ERANGE);
	assert_string_equal(field, "retry");
	m = (struct cm_req){.path = {.flow_label = 0x100000}};
	assert_int_equal(cm_put(CM_REQ, &m, 1, mad, &field), -ERANGE);
	assert_string_equal(field, "path.flow_label");
}

/* Annex A11: as the kernel's rdma_cm writes it. */
static void
test_ip_header(void **state)
{
	static const uint8_t want[CM_IP_HDR_LEN] = {0x00, 0x40, 0x1c, 0x06, [16] = 10, 0, 0, 1, [32] = 10, 0, 0, 2};
	struct cm_ip_hdr h = {.version = 4, .port = 7174}, out;
	uint8_t bytes[CM_IP_HDR_LEN];

	(void)state;
	memcpy(h.src + 12, "\x0a\0\0\x01", 4);
	memcpy(h.dst + 12, "\x0a\0\0\x02", 4);
	cm_ip_put(&h, bytes);
	assert_memory_equal(bytes, want, sizeof(want));
	assert_true(cm_ip_get(bytes, &out));
	assert_int_equal(out.version, 4);
	assert_int_equal(out.port, 7174);
	assert_memory_equal(out.src, h.src, 16);
	assert_memory_equal(out.dst, h.dst, 16);
	for (unsigned int v = 0; v < 16; v++) {
		bytes[1] = (uint8_t)(v << 4);
		assert_int_equal(cm_ip_get(bytes, &out), v == 4 || v == 6);
	}
	bytes[1] = 0x40;
	for (unsigned int v = 1; v < 16; v++) {
		bytes[0] = (uint8_t)(v << 4);
		assert_false(cm_ip_get(bytes, &out));
	}
	/* As libibverbs and the kernel number them */
	assert_true(CM_IP_SERVICE(0x0106, 7174) == 0x0000000001061c06ull);
	assert_true(cm_time_ns(20) == 4294967296ull);
}

/* --- what QP1 answers --- */

struct qp1 {
	const char *name;
	uint8_t version, class, class_version, method;
	uint16_t attr;
	uint8_t port;
	enum mad_verdict verdict;
	uint8_t answer;
	uint16_t status;
};

static const struct qp1 qp1[] = {
	{"CM", 1, 7, 2, 0x03, 0x10, 0, MAD_TO_CM, 0, 0},
	{"CM with a method that it has not", 1, 7, 2, 0x01, 0x10, 0, MAD_MALFORMED, 0, 0},
	{"base version 2", 2, 7, 2, 0x03, 0x10, 0, MAD_MALFORMED, 0, 0},
	{"subnet management on QP1", 1, 1, 1, 0x01, 0x11, 0, MAD_MALFORMED, 0, 0},
	{"directed subnet management", 1, 0x81, 1, 0x01, 0x11, 0, MAD_MALFORMED, 0, 0},
	{"PortCounters", 1, 4, 1, 0x01, 0x12, 1, MAD_ANSWER, 0x81, 0},
	{"PortCounters of all ports", 1, 4, 1, 0x01, 0x12, 0xff, MAD_ANSWER, 0x81, 0},
	{"PortCounters of port 2", 1, 4, 1, 0x01, 0x12, 2, MAD_ANSWER, 0x81, 0x1c},
	{"PortCountersExtended", 1, 4, 1, 0x01, 0x1d, 1, MAD_ANSWER, 0x81, 0},
	{"ClassPortInfo", 1, 4, 1, 0x01, 0x01, 0, MAD_ANSWER, 0x81, 0},
	{"samples", 1, 4, 1, 0x01, 0x10, 1, MAD_ANSWER, 0x81, 0x0c},
	{"counters are not set", 1, 4, 1, 0x02, 0x12, 1, MAD_ANSWER, 0x81, 0x0c},
	{"a method that nobody has", 1, 4, 1, 0x40, 0x12, 1, MAD_ANSWER, 0xc0, 0x08},
	{"class version 2", 1, 4, 2, 0x01, 0x12, 1, MAD_ANSWER, 0x81, 0x04},
	{"an answer", 1, 4, 1, 0x81, 0x12, 1, MAD_DROP, 0, 0},
	{"a subnet administrator's class", 1, 3, 2, 0x01, 0x35, 0, MAD_ANSWER, 0x81, 0x04},
	{"its answer", 1, 3, 2, 0x92, 0x35, 0, MAD_DROP, 0, 0},
	{"a vendor's class", 1, 0x30, 1, 0x01, 1, 0, MAD_ANSWER, 0x81, 0x04},
	{"a trap", 1, 3, 2, 0x05, 2, 0, MAD_DROP, 0, 0},
	{"trap repress", 1, 3, 2, 0x07, 2, 0, MAD_DROP, 0, 0},
	{"Send of a class without service", 1, 6, 1, 0x03, 2, 0, MAD_DROP, 0, 0},
	{"method 0", 1, 6, 1, 0, 2, 0, MAD_DROP, 0, 0},
};

static void
test_qp1(void **state)
{
	const struct mad_port_counters c = {.tx_packets = 5,
					    .tx_bytes = 4000,
					    .rx_packets = 1ull << 33,
					    .rx_bytes = 1ull << 40,
					    .rx_errors = 70000,
					    .tx_discards = 2};

	(void)state;
	for (unsigned int i = 0; i < LEN(qp1); i++) {
		const struct qp1 *q = &qp1[i];
		uint8_t mad[MAD_SIZE] = {q->version, q->class, q->class_version, q->method}, was[MAD_SIZE];

		ib_put64(mad + 8, 0xdeadbeef00000001);
		ib_put16(mad + 16, q->attr);
		mad[65] = q->port;
		memcpy(was, mad, sizeof(was));
		if (mad_receive(mad, &c) != q->verdict)
			fail_msg("%s: another verdict", q->name);
		if (q->verdict != MAD_ANSWER) {
			assert_memory_equal(mad, was, sizeof(was));
			continue;
		}
		if (mad[3] != q->answer || ib_get16(mad + 4) != q->status)
			fail_msg("%s: method 0x%02x status 0x%04x", q->name, mad[3], ib_get16(mad + 4));
		assert_memory_equal(mad + 8, was + 8, 12);
		if (q->status != 0)
			continue;
		/* 16.1.3.5 and 16.1.4.11: counters stop at their end, data count in words */
		if (q->attr == 0x12) {
			assert_int_equal(mad[64 + 1], q->port);
			assert_int_equal(ib_get16(mad + 64 + 8), 0xffff);
			assert_int_equal(ib_get16(mad + 64 + 14), 2);
			assert_int_equal(ib_get32(mad + 64 + 24), 1000);
			assert_int_equal(ib_get32(mad + 64 + 28), 0xffffffff);
			assert_int_equal(ib_get32(mad + 64 + 32), 5);
			assert_int_equal(ib_get32(mad + 64 + 36), 0xffffffff);
		} else if (q->attr == 0x1d) {
			assert_int_equal(mad[64 + 1], q->port);
			assert_true(ib_get64(mad + 64 + 8) == 1000);
			assert_true(ib_get64(mad + 64 + 16) == 1ull << 38);
			assert_true(ib_get64(mad + 64 + 24) == 5);
			assert_true(ib_get64(mad + 64 + 32) == 1ull << 33);
		} else {
			/* 13.4.8.1: versions, capabilities, and how long an answer takes: 4.096 us * 2^18 */
			assert_memory_equal(mad + 64, "\1\1\4\0\0\0\0\22", 8);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_req),       cmocka_unit_test(test_answers),  cmocka_unit_test(test_ends),
		cmocka_unit_test(test_sidr),      cmocka_unit_test(test_disjoint), cmocka_unit_test(test_too_big),
		cmocka_unit_test(test_ip_header), cmocka_unit_test(test_qp1),
	};

	return cmocka_run_group_tests_name("cm_wire", tests, NULL, NULL);
}
