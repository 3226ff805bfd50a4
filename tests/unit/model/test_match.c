/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What a rule compares of a frame, field by field and octet by octet [CP 6.3], and what a port counts of what arrives [CP 4.7]. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dp_rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct rig r;
static struct rig_q queue[4];
static uint8_t mbox[256];

static int
up(void **state)
{
	(void)state;
	assert_int_equal(rig_open(&r), 0);
	for (uint32_t i = 0; i < 4; i++)
		rig_qp(&r, &queue[i], 8 + i, 1, 64, true);
	r.m->vxlan_port = 4789;
	tpm_steer_mode(r.m, TPM_STEER_BY_RULES);
	return 0;
}

static int
down(void **state)
{
	(void)state;
	rig_close(&r);
	return 0;
}

/* --- rules --- */

/* Octets of a specification, each: where, what, mask where, and where the frame has it. */
struct field {
	uint8_t spec_at, mask_at, octets, frame_at;
};

static uint8_t
attach(const uint8_t *specs, uint32_t len, uint16_t prio, uint32_t qpn, uint64_t *id)
{
	memset(mbox, 0, sizeof(mbox));
	mbox[0] = (uint8_t)(prio >> 8);
	mbox[1] = (uint8_t)prio;
	mbox[7] = 1;
	prm_set32(mbox, 8, qpn);
	memcpy(mbox + 16, specs, len);
	return tpm_steer_attach(r.m, mbox, 4 + len / 4, id);
}

static uint32_t
hits(const uint8_t *f, uint32_t hlen)
{
	struct tpm_steer_hit h;
	struct tpm_pkt k;

	tpm_parse(f, hlen, hlen, &k);
	tpm_steer_lookup(&r.m->port[0], f, hlen, &k, &h);
	return h.n == 0 ? 0 : h.qpn[0];
}

/* An Ethernet header with a tag, IPv4 and UDP to the port of VXLAN, a VXLAN header and an inner Ethernet header. */
static const uint8_t tagged[100] = {0x02,          0x11, 0x22, 0x33, 0x44, 0x55, 0x02, 0x66, 0x77, 0x88,
				    0x99,          0xaa, 0x81, 0x00, 0x61, 0x23, 0x08, 0x00,
				    /* 18 */ 0x45, 0x00, 0x00, 0x52, 0x00, 0x00, 0x00, 0x00, 0x40, 17,
				    0x00,          0x00, 10,   1,    2,    3,    10,   4,    5,    6,
				    /* 38 */ 0x07, 0xd0, 0x12, 0xb5, 0x00, 0x3e, 0x00, 0x00,
				    /* 46 */ 0x08, 0x00, 0x00, 0x00, 0x12, 0x34, 0x56, 0x00,
				    /* 54 */ 0x02, 0xa1, 0xb2, 0xc3, 0xd4, 0xe5, 0x02, 0x00};

static void
each_octet_of_a_rule(void **state)
{
	static const struct {
		uint16_t id;
		uint8_t size, vxlan; /* a VXLAN specification stands before it */
		struct field f;
	} row[] = {
		{0xe001, 48, 0, {0x0a, 0x12, 6, 0}},   {0xe001, 48, 0, {0x1a, 0x22, 6, 6}},
		{0xe001, 48, 0, {0x2e, 0x2c, 2, 14}},  {0xe002, 24, 0, {0x08, 0x0c, 4, 34}},
		{0xe002, 24, 0, {0x10, 0x14, 4, 30}},  {0xe006, 24, 0, {0x0a, 0x0e, 2, 40}},
		{0xe006, 24, 0, {0x12, 0x16, 2, 38}},  {0xe008, 16, 0, {0x08, 0x0c, 3, 50}},
		{0xe001, 48, 16, {0x0a, 0x12, 6, 54}},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++)
		for (uint8_t o = 0; o < row[i].f.octets; o++) {
			uint8_t spec[64] = {0}, *s = spec + row[i].vxlan, f[100];
			uint64_t id;

			if (row[i].vxlan != 0) {
				spec[0] = 4;
				spec[2] = 0xe0;
				spec[3] = 0x08;
			}
			s[0] = row[i].size / 4;
			s[2] = (uint8_t)(row[i].id >> 8);
			s[3] = (uint8_t)row[i].id;
			/* One octet is compared, without its lowest bit; the specification has that bit wrong. */
			memcpy(f, tagged, sizeof(f));
			s[row[i].f.spec_at + o] = f[row[i].f.frame_at + o] ^ 1;
			s[row[i].f.mask_at + o] = 0xfe;
			assert_int_equal(attach(spec, row[i].vxlan + row[i].size, 0x1000, 9, &id), 0);
			assert_int_equal(hits(f, 100), 9);
			f[row[i].f.frame_at + o] ^= 1;
			assert_int_equal(hits(f, 100), 9);
			for (unsigned int bit = 1; bit < 8; bit++) {
				f[row[i].f.frame_at + o] ^= (uint8_t)(1u << bit);
				/* The tag's octets aside, no change makes another kind of frame. */
				assert_int_equal(hits(f, 100), 0);
				f[row[i].f.frame_at + o] ^= (uint8_t)(1u << bit);
			}
			assert_int_equal(tpm_steer_detach(r.m, id), 0);
		}
	assert_int_equal(tp_model_violations_total(r.m), 0);
}

/* What kind of frame a specification asks for. */
static void
kinds_that_a_rule_wants(void **state)
{
	static const struct {
		const char *what;
		uint8_t spec[64], len;
		uint8_t at, value; /* an octet of the frame that makes it another kind */
	} row[] = {
		{"a type", {12, 0, 0xe0, 1, [0x29] = 1, [0x2a] = 8}, 48, 17, 6},
		{"IPv4", {6, 0, 0xe0, 2}, 24, 17, 6},
		{"UDP", {6, 0, 0xe0, 6}, 24, 27, 6},
		{"a VXLAN port", {4, 0, 0xe0, 8}, 16, 41, 0xb6},
		{"VXLAN in UDP", {4, 0, 0xe0, 8}, 16, 27, 6},
		{"a tag", {12, 0, 0xe0, 1, [0x2d] = 1, [0x2f] = 1}, 48, 13, 1},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		uint8_t f[100];
		uint64_t id;

		memcpy(f, tagged, sizeof(f));
		assert_int_equal(attach(row[i].spec, row[i].len, 0x1000, 10, &id), 0);
		if (hits(f, 100) != 10)
			fail_msg("%s: not found", row[i].what);
		f[row[i].at] = row[i].value;
		if (hits(f, 100) != 0)
			fail_msg("%s: found", row[i].what);
		assert_int_equal(tpm_steer_detach(r.m, id), 0);
	}
	/* A type that is not asked for is not compared; and what is looked at may end too early. */
	{
		static const uint8_t any[48] = {12, 0, 0xe0, 1, [0x2a] = 9}, ip[24] = {6, 0, 0xe0, 2},
				     vx[16] = {4, 0, 0xe0, 8}, tcp[24] = {6, 0, 0xe0, 4};
		uint64_t id;

		assert_int_equal(attach(any, 48, 0x1000, 11, &id), 0);
		assert_int_equal(hits(tagged, 100), 11);
		assert_int_equal(tpm_steer_detach(r.m, id), 0);
		assert_int_equal(attach(ip, 24, 0x1000, 11, &id), 0);
		assert_int_equal(hits(tagged, 38), 11);
		assert_int_equal(hits(tagged, 37), 0);
		assert_int_equal(tpm_steer_detach(r.m, id), 0);
		assert_int_equal(attach(vx, 16, 0x1000, 11, &id), 0);
		assert_int_equal(hits(tagged, 100), 11);
		assert_int_equal(tpm_steer_detach(r.m, id), 0);
		assert_int_equal(attach(tcp, 24, 0x1000, 11, &id), 0);
		assert_int_equal(hits(tagged, 100), 0);
		assert_int_equal(tpm_steer_detach(r.m, id), 0);
	}
}

/* Lower numbers go first; of the same, the first that was attached; those with the same specification share the frame. */
static void
order_of_rules(void **state)
{
	static const uint8_t ip[24] = {6, 0, 0xe0, 2}, udp[24] = {6, 0, 0xe0, 6};
	static const uint8_t mac[48] = {12,   0,    0xe0,          1,    [0x0a] = 0x02, 0x11, 0x22, 0x33,
					0x44, 0x55, [0x12] = 0xff, 0xff, 0xff,          0xff, 0xff, 0xff};
	uint64_t id[4];

	(void)state;
	assert_int_equal(attach(mac, 48, 0x2000, 8, &id[0]), 0);
	assert_int_equal(hits(tagged, 100), 8);
	/* Not above the address unless it has the lower number. */
	assert_int_equal(attach(ip, 24, 0x2000, 9, &id[1]), 0);
	assert_int_equal(hits(tagged, 100), 8);
	assert_int_equal(attach(udp, 24, 0x1fff, 10, &id[2]), 0);
	assert_int_equal(hits(tagged, 100), 10);
	assert_int_equal(attach(ip, 24, 0x1fff, 11, &id[3]), 0);
	assert_int_equal(hits(tagged, 100), 10);
	assert_int_equal(tpm_steer_detach(r.m, id[2]), 0);
	assert_int_equal(hits(tagged, 100), 11);
	assert_int_equal(tpm_steer_detach(r.m, id[3]), 0);
	assert_int_equal(hits(tagged, 100), 8);
	assert_int_equal(tpm_steer_detach(r.m, id[0]), 0);
	assert_int_equal(hits(tagged, 100), 9);
	assert_int_equal(tpm_steer_detach(r.m, id[0]), MLX4_STAT_BAD_PARAM);
	assert_int_equal(r.m->st.rules, 1);
}

static void
rules_that_are_refused(void **state)
{
	static const struct {
		uint8_t spec[4], left; /* octets of the rule behind its control part */
	} row[] = {
		{{12, 0, 0xe0, 1}, 44}, {{11, 0, 0xe0, 1}, 48}, {{13, 0, 0xe0, 1}, 52}, {{6, 0, 0xe0, 2}, 20},
		{{5, 0, 0xe0, 2}, 24},  {{6, 0, 0xe0, 3}, 24},  {{6, 0, 0xe0, 4}, 20},  {{7, 0, 0xe0, 6}, 28},
		{{4, 0, 0xe0, 8}, 12},  {{12, 0, 0xe0, 5}, 44}, {{0, 0, 0xe0, 1}, 48},  {{12, 0, 0xe0, 9}, 48},
	};
	static const uint8_t types[] = {2, 8, 9, 255};
	uint8_t spec[64];
	uint64_t id;

	(void)state;
	for (unsigned int i = 0; i < COUNT(row); i++) {
		memset(spec, 0, sizeof(spec));
		memcpy(spec, row[i].spec, 4);
		assert_int_equal(attach(spec, row[i].left, 0, 8, &id), MLX4_STAT_BAD_PARAM);
	}
	assert_int_equal(tpm_steer_attach(r.m, mbox, 3, &id), MLX4_STAT_BAD_PARAM);
	assert_int_equal(tpm_steer_attach(r.m, mbox, 1025, &id), MLX4_STAT_BAD_PARAM);
	for (unsigned int i = 0; i < COUNT(types); i++) {
		assert_int_equal(attach(spec, 0, 0, 8, &id), 0);
		assert_int_equal(tpm_steer_detach(r.m, id), 0);
		mbox[2] = types[i];
		assert_int_equal(tpm_steer_attach(r.m, mbox, 4, &id), MLX4_STAT_BAD_PARAM);
	}
	for (unsigned int port = 0; port < 4; port++) {
		(void)attach(spec, 0, 0, 8, &id);
		(void)tpm_steer_detach(r.m, id);
		mbox[7] = (uint8_t)port;
		assert_int_equal(tpm_steer_attach(r.m, mbox, 4, &id), port == 1 || port == 2 ? 0 : MLX4_STAT_BAD_PARAM);
	}
	assert_int_equal(attach(spec, 0, 0, 12, &id), MLX4_STAT_BAD_PARAM); /* no such QP */
	assert_int_equal(r.m->st.rules, 2);
}

/* --- what arrives --- */

static void
arrive(const uint8_t *f, uint32_t len, unsigned int pieces, uint16_t flags)
{
	struct tp_frame_seg seg[2] = {{f, pieces == 1 ? len : 13}, {f + 13, len - 13}};
	const struct tp_frame fr = {.seg = seg, .nseg = (uint16_t)pieces, .flags = flags, .len = len};

	assert_int_equal(tp_model_port_receive(r.m, 1, &fr, 1), 1);
}

/* The blocks of a histogram end at 64, 127, 255, 511, 1023, 1518, 1522, 1548 octets with the FCS, then at the MTU. */
static void
sizes_of_frames(void **state)
{
	static const struct {
		uint32_t len; /* with FCS */
		unsigned int block;
	} row[] = {{64, 0},   {65, 1},   {127, 1},  {128, 2},  {255, 2},  {256, 3},  {511, 3},  {512, 4}, {1023, 4},
		   {1024, 5}, {1518, 5}, {1519, 6}, {1522, 6}, {1523, 7}, {1548, 7}, {1549, 8}, {9000, 8}};
	static uint8_t f[9100];
	struct tpm_port *p = &r.m->port[0];

	(void)state;
	p->link = true;
	p->max_frame = 9000;
	for (unsigned int kind = 0; kind < 3; kind++)
		for (unsigned int i = 0; i < COUNT(row); i++) {
			unsigned int slot = kind == 2 ? 5 : 8;

			memset(f, 0, sizeof(f));
			f[0] = 2;
			f[12] = 0x88;
			f[13] = 0xb5;
			if (kind == 2) {
				f[12] = 0x81;
				f[13] = 0;
				f[14] = 0xa0;
			}
			memset(&p->c, 0, sizeof(p->c));
			/* Whole, or in two pieces: the fast path and the one that looks closely count alike. */
			arrive(f, row[i].len - 4, kind == 0 ? 1 : 2, 0);
			for (unsigned int b = 0; b < 10; b++)
				assert_int_equal(p->c.rx_size[b][slot], b == row[i].block);
			assert_int_equal(p->c.rx_frames[slot], 1);
			assert_int_equal(p->c.rx_oct[slot], row[i].len);
			assert_int_equal(p->c.rx_ucast[slot], 1);
			assert_int_equal(p->c.rx_mcast[slot] + p->c.rx_bcast[slot], 0);
			assert_int_equal(p->c.rx_tagged[slot], kind == 2);
		}
	/* One octet more than the port takes. */
	for (unsigned int kind = 0; kind < 3; kind++) {
		memset(&p->c, 0, sizeof(p->c));
		p->rx_too_long = 0;
		arrive(f, 8997, 1, kind == 1 ? TP_FRAME_BAD_FCS : 0);
		assert_int_equal(p->c.rx_too_long, 1);
		assert_int_equal(p->rx_too_long, 1);
		assert_int_equal(p->c.rx_jabber, kind == 1);
		assert_int_equal(p->c.rx_size[9][kind == 2 ? 8 : 5], kind != 1);
		assert_int_equal(p->c.rx_frames[5], 0);
		if (kind == 1)
			f[12] = 0x88;
	}
}

/* IEEE 802.3, 30.3.1.1.23 and 24: what a length field may say of the octets behind it, of which there are 46 at least. */
static void
length_fields(void **state)
{
	static const struct {
		uint32_t said, len; /* without FCS */
		bool in, out;
	} row[] = {
		{0, 60, false, false},     {38, 60, false, false},     {46, 60, false, false},
		{47, 60, true, false},     {46, 61, true, false},      {38, 61, true, false},
		{47, 61, false, false},    {100, 114, false, false},   {100, 113, true, false},
		{100, 115, true, false},   {1500, 1514, false, false}, {1500, 1513, true, false},
		{1501, 1515, false, true}, {1501, 60, false, true},    {1535, 60, false, true},
		{1536, 60, false, false},  {1536, 1514, false, false}, {30, 44, false, false},
		{46, 44, false, false},    {47, 44, true, false},
	};
	static uint8_t f[1600];
	struct tpm_port *p = &r.m->port[0];

	(void)state;
	p->link = true;
	p->max_frame = 9000;
	for (unsigned int pieces = 1; pieces <= 2; pieces++)
		for (unsigned int i = 0; i < COUNT(row); i++) {
			memset(f, 0, sizeof(f));
			f[0] = 2;
			f[12] = (uint8_t)(row[i].said >> 8);
			f[13] = (uint8_t)row[i].said;
			memset(&p->c, 0, sizeof(p->c));
			arrive(f, row[i].len, pieces, 0);
			assert_int_equal(p->c.rx_in_range, row[i].in);
			assert_int_equal(p->c.rx_out_range, row[i].out);
			/* It is received like others. */
			assert_int_equal(p->c.rx_frames[8], 1);
		}
	/* Behind a tag; there 46 octets may be 42 and padding. */
	memcpy(f + 12, "\x81\x00\x00\x01\x00\x64", 6);
	memset(&p->c, 0, sizeof(p->c));
	arrive(f, 118, 1, 0);
	arrive(f, 60, 1, 0);
	arrive(f, 119, 1, 0);
	assert_int_equal(p->c.rx_in_range, 2);
	memcpy(f + 16, "\x05\xdd", 2);
	arrive(f, 60, 1, 0);
	assert_int_equal(p->c.rx_out_range, 1);
	memcpy(f + 16, "\x00\x2a", 2);
	arrive(f, 60, 1, 0);
	arrive(f, 64, 1, 0);
	assert_int_equal(p->c.rx_in_range, 2);
}

static void
addresses_of_frames(void **state)
{
	static const struct {
		uint8_t dst[6];
		unsigned int kind; /* to one, to a group, to all */
	} row[] = {
		{{0x02, 1, 2, 3, 4, 5}, 0},
		{{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff}, 0},
		{{0x01, 0, 0x5e, 0, 0, 1}, 1},
		{{0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, 1},
		{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 2},
		{{0xff, 0xff, 0xff, 0xfe, 0xff, 0xff}, 1},
		{{0xff, 0xfe, 0xff, 0xff, 0xff, 0xff}, 1},
	};
	struct tpm_port *p = &r.m->port[0];
	uint8_t f[60] = {0};

	(void)state;
	p->link = true;
	for (unsigned int i = 0; i < COUNT(row); i++)
		for (unsigned int tag = 0; tag < 2; tag++) {
			unsigned int slot = tag != 0 ? 3 : 8;

			memcpy(f, row[i].dst, 6);
			memcpy(f + 12, tag != 0 ? "\x81\x00\x60\x01" : "\x88\xb5\0\0", 4);
			memset(&p->c, 0, sizeof(p->c));
			arrive(f, 60, 1, 0);
			assert_int_equal(p->c.rx_ucast[slot], row[i].kind == 0);
			assert_int_equal(p->c.rx_mcast[slot], row[i].kind == 1);
			assert_int_equal(p->c.rx_bcast[slot], row[i].kind == 2);
		}
}

static void
frames_that_are_not_taken(void **state)
{
	struct tpm_port *p = &r.m->port[0];
	uint8_t f[60] = {2, [12] = 0x81, 0, 0x20, 0x45};
	uint64_t id;

	(void)state;
	p->link = true;
	arrive(f, 14, 2, 0);
	assert_int_equal(p->c.rx_short, 0);
	arrive(f, 13, 1, 0);
	assert_int_equal(p->c.rx_short, 1);
	assert_int_equal(p->c.rx_runt, 0);
	arrive(f, 13, 1, TP_FRAME_BAD_FCS);
	assert_int_equal(p->c.rx_short, 1);
	assert_int_equal(p->c.rx_runt, 1);
	memset(&p->c, 0, sizeof(p->c));
	arrive(f, 60, 1, TP_FRAME_BAD_FCS);
	assert_int_equal(p->c.rx_crc, 1);
	assert_int_equal(p->rx_bad_fcs, 1);
	assert_int_equal(p->c.rx_frames[1], 0);
	/* Unless it is told not to mind. */
	p->ignore_fcs = true;
	arrive(f, 60, 1, TP_FRAME_BAD_FCS);
	assert_int_equal(p->c.rx_crc, 1);
	assert_int_equal(p->c.rx_frames[1], 1);
	/* Networks: 0x045 is bit 5 of the third word. */
	p->rx_no_rule = 0;
	arrive(f, 60, 1, 0);
	assert_int_equal(p->rx_no_rule, 1);
	p->vlan_filter_on = true;
	arrive(f, 60, 1, 0);
	assert_int_equal(p->rx_vlan_filtered, 1);
	assert_int_equal(p->rx_no_rule, 1);
	for (unsigned int w = 0; w < 128; w++)
		p->vlan_bitmap[w] = UINT32_MAX;
	p->vlan_bitmap[2] = ~(1u << 5);
	arrive(f, 60, 1, 0);
	assert_int_equal(p->rx_vlan_filtered, 2);
	memset(p->vlan_bitmap, 0, sizeof(p->vlan_bitmap));
	p->vlan_bitmap[2] = 1u << 5;
	arrive(f, 60, 1, 0);
	assert_int_equal(p->rx_vlan_filtered, 2);
	assert_int_equal(p->rx_no_rule, 2);
	/* A frame without a tag belongs to none. */
	f[12] = 0x88;
	arrive(f, 60, 1, 0);
	assert_int_equal(p->rx_vlan_filtered, 2);
	/* A rule for a queue that takes nothing. */
	assert_int_equal(rig_rule(&r, 1, NULL, 8, &id), 0);
	memset(&p->c, 0, sizeof(p->c));
	arrive(f, 60, 1, 0);
	assert_int_equal(p->c.rx_drop, 0);
	queue[0].qp->state = MLX4_QP_RST;
	arrive(f, 60, 1, 0);
	assert_int_equal(p->c.rx_drop, 1);
	/* Without a link nothing arrives, and ports that there are not get nothing. */
	{
		struct tp_frame_seg seg = {f, 60};
		struct tp_frame fr = {.seg = &seg, .nseg = 1, .len = 60};

		p->link = false;
		assert_int_equal(tp_model_port_receive(r.m, 1, &fr, 1), 0);
		assert_int_equal(p->rx_link_down, 1);
		assert_int_equal(tp_model_port_receive(r.m, 0, &fr, 1), 0);
		assert_int_equal(tp_model_port_receive(r.m, 3, &fr, 1), 0);
		fr.nseg = 0;
		p->link = true;
		memset(&p->c, 0, sizeof(p->c));
		(void)tp_model_port_receive(r.m, 1, &fr, 1);
		fr.nseg = TP_FRAME_SEGS + 1;
		(void)tp_model_port_receive(r.m, 1, &fr, 1);
		assert_int_equal(p->c.rx_frames[8], 0);
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		T(each_octet_of_a_rule),      T(kinds_that_a_rule_wants), T(order_of_rules),
		T(rules_that_are_refused),    T(sizes_of_frames),         T(addresses_of_frames),
		T(frames_that_are_not_taken), T(length_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
