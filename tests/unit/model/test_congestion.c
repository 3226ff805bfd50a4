/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Congestion control on the card: CONGESTION_CTRL byte by byte, and what packets of queue pairs say and do with it. The
 * wire marks packets as a switch would.
 */
#include "cc_rig.h"

/* --- the command --- */

static void
test_capability(void **state)
{
	struct tp_model_config cfg;
	struct card *c;

	(void)state;
	for (unsigned int off = 0; off < 2; off++) {
		tp_model_config_default(&cfg);
		cfg.no_congestion = off != 0;
		c = card_new(&cfg);
		card_boot(c, CARD_DMFS);
		assert_int_equal(card_cmd_out(c, MLX4_CMD_QUERY_DEV_CAP, 0, 0), 0);
		assert_int_equal(card_out(c)[0x7b] & 1, off == 0);
		assert_int_equal(card_cmd_out(c, CMD, GET, MOD(1, 1, RP)), off == 0 ? 0 : MLX4_STAT_BAD_OP);
		card_free(c);
	}
}

/* ConnectX-3 has no RoCE v2, and so 802.1Qau alone. */
static void
test_not_pro(void **state)
{
	struct tp_model_config cfg;
	struct card *c;

	(void)state;
	tp_model_config_default(&cfg);
	cfg.device_id = MLX4_PCI_DEV_CX3;
	c = card_new(&cfg);
	card_boot(c, CARD_DMFS);
	assert_int_equal(card_cmd_out(c, CMD, GET, MOD(1, 1, 0)), 0);
	assert_int_equal(card_cmd_out(c, CMD, GET, MOD(1, 1, RP)), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd_out(c, CMD, GET, MOD(1, 1, NP)), MLX4_STAT_BAD_PARAM);
	card_free(c);
}

/* Vendor's defaults; what is set is read back, of the priorities that were named, on that port. */
static void
test_parameters(void **state)
{
	static const struct {
		uint32_t off, value;
	} rp[] = {{0x14, 100}, {0x18, 400}, {0x1c, 5},    {0x24, 10}, {0x28, 100}, {0x2c, 11},
		  {0x30, 50},  {0x34, 1},   {0x54, 3000}, {0x58, 32}, {0x5c, 4}},
	  np[] = {{0x14, 4}, {0x18, 7}};
	struct vr *v = *state;

	for (unsigned int i = 0; i < sizeof(rp) / sizeof(rp[0]); i++)
		assert_int_equal(get(v, MOD(1, 1, RP), rp[i].off), rp[i].value);
	assert_int_equal(get(v, MOD(1, 1, RP), 0x0c), 1u << 23);
	for (unsigned int i = 0; i < sizeof(np) / sizeof(np[0]); i++)
		assert_int_equal(get(v, MOD(2, 0x80, NP), np[i].off), np[i].value);
	set(v, MOD(1, 0x28, RP), 1u << 27, UINT32_MAX, 0x1c, 31, 28);
	for (unsigned int prio = 0; prio < 8; prio++) {
		bool is = prio == 3 || prio == 5;

		assert_int_equal(get(v, MOD(1, 1u << prio, RP), 0x1c), is ? 31 : 5);
		assert_int_equal(get(v, MOD(1, 1u << prio, RP), 0x0c), 1u << 23 | (uint32_t)is << 27);
		assert_int_equal(get(v, MOD(2, 1u << prio, RP), 0x1c), 5);
	}
	/* Both in one dword, each by a bit of its own. */
	set(v, MOD(1, 8, NP), 0, 0, 0x18, 46 << 8 | 5, 26);
	assert_int_equal(get(v, MOD(1, 8, NP), 0x18), 46 << 8 | 7);
	set(v, MOD(1, 8, NP), 0, 0, 0x18, 12 << 8 | 5, 27);
	assert_int_equal(get(v, MOD(1, 8, NP), 0x18), 46 << 8 | 5);
	/* 802.1Qau: as Linux sets all of it. */
	set(v, MOD(1, 1, 0), 0xc0000000, 0x80000000, 0x34, 77, 22);
	assert_int_equal(get(v, MOD(1, 1, 0), 0x34), 77);
	assert_int_equal(get(v, MOD(1, 1, 0), 0x0c), 0x80000000);
	/* The defaults again. */
	memset(card_in(v->c), 0, 0x108);
	assert_int_equal(card_cmd_in(v->c, CMD, SET, MOD(1, 0x20, RP) | CLEAR), 0);
	assert_int_equal(get(v, MOD(1, 0x20, RP), 0x1c), 5);
	assert_int_equal(get(v, MOD(1, 0x08, RP), 0x1c), 31);
	card_expect_clean(v->c);
}

static void
test_general(void **state)
{
	struct vr *v = *state;
	uint8_t *in = card_in(v->c);

	assert_int_equal(card_cmd_out(v->c, CMD, 2, MOD(1, 0, NP)), 0);
	assert_int_equal(prm_get32(card_out(v->c), 0x18), 0x81);
	memset(in, 0, 0x40);
	prm_set32(in, 0, 1u << 30);
	prm_set32(in, 4, 1u << 31);
	prm_set32(in, 0x0c, UINT32_MAX);
	prm_set32(in, 0x10, 1234);
	assert_int_equal(card_cmd_in(v->c, CMD, 5, MOD(1, 0, NP)), 0);
	assert_int_equal(card_cmd_out(v->c, CMD, 2, MOD(1, 0, NP)), 0);
	assert_int_equal(prm_get32(card_out(v->c), 0x0c), 1u << 30);
	assert_int_equal(prm_get32(card_out(v->c), 0x10), 1234);
	assert_int_equal(prm_get32(card_out(v->c), 0x18), 0x81);
	assert_int_equal(card_cmd_in(v->c, CMD, 5, MOD(1, 0, NP) | CLEAR), 0);
	assert_int_equal(card_cmd_out(v->c, CMD, 2, MOD(1, 0, NP)), 0);
	assert_int_equal(prm_get32(card_out(v->c), 0x10), 0);
	card_expect_clean(v->c);
	assert_int_equal(card_cmd_out(v->c, CMD, 2, MOD(1, 0, RP)), MLX4_STAT_BAD_PARAM);
}

static uint8_t
try_set(struct vr *v, uint32_t mod, uint32_t flag_mask, uint32_t value_mask, uint32_t off, uint32_t value)
{
	uint8_t *in = card_in(v->c);

	memset(in, 0, 0x108);
	prm_set32(in, 0, flag_mask);
	prm_set32(in, 4, value_mask);
	prm_set32(in, off, value);
	return (uint8_t)card_cmd_in(v->c, CMD, SET, mod);
}

static void
test_refused(void **state)
{
	struct vr *v = *state;

	/* Ports, priorities, algorithms, operations */
	assert_int_equal(card_cmd_out(v->c, CMD, GET, MOD(0, 1, RP)), MLX4_STAT_BAD_INDEX);
	assert_int_equal(card_cmd_out(v->c, CMD, GET, MOD(3, 1, RP)), MLX4_STAT_BAD_INDEX);
	assert_int_equal(card_cmd_out(v->c, CMD, GET, MOD(1, 0, RP)), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd_out(v->c, CMD, GET, MOD(1, 3, RP)), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd_out(v->c, CMD, GET, MOD(1, 1, 3)), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd_out(v->c, CMD, 3, MOD(1, 1, RP)), MLX4_STAT_BAD_PARAM);
	assert_int_equal(card_cmd_out(v->c, CMD, 7, MOD(1, 1, RP)), MLX4_STAT_BAD_PARAM);
	assert_int_equal(try_set(v, MOD(1, 0, RP), 0, 1u << 28, 0x1c, 5), MLX4_STAT_BAD_PARAM);
	/* Bits of the masks that are no parameter's */
	assert_int_equal(try_set(v, MOD(1, 1, RP), 1u << 30, 0, 0x0c, 0), MLX4_STAT_BAD_PARAM);
	assert_int_equal(try_set(v, MOD(1, 1, RP), 0, 1u << 31, 0x0c, 0), MLX4_STAT_BAD_PARAM);
	assert_int_equal(try_set(v, MOD(1, 1, NP), 0, 1u << 29, 0x0c, 0), MLX4_STAT_BAD_PARAM);
	/* Values out of range, and nothing of such a set is taken */
	assert_int_equal(try_set(v, MOD(1, 1, RP), 1u << 31, 1u << 28, 0x1c, 0), MLX4_STAT_BAD_PARAM);
	assert_int_equal(try_set(v, MOD(1, 1, RP), 1u << 31, 1u << 28, 0x1c, 32), MLX4_STAT_BAD_PARAM);
	assert_int_equal(try_set(v, MOD(1, 1, RP), 1u << 31, 1u << 23, 0x30, 101), MLX4_STAT_BAD_PARAM);
	assert_int_equal(try_set(v, MOD(1, 1, RP), 1u << 31, 1u << 13, 0x58, 1024), MLX4_STAT_BAD_PARAM);
	assert_int_equal(get(v, MOD(1, 1, RP), 0x1c), 5);
	assert_int_equal(get(v, MOD(1, 1, RP), 0x0c), 1u << 23);
}

/* Each value at its ends, and beside them: what is refused leaves what was. Rates have no end; the line's is what counts. */
static void
test_ranges(void **state)
{
	static const struct {
		uint32_t off, bit, min, max;
	} row[] = {{0x14, 30, 0, 131071},     {0x18, 29, 0, 32767},      {0x1c, 28, 1, 31},   {0x20, 27, 0, UINT32_MAX},
		   {0x24, 26, 1, UINT32_MAX}, {0x28, 25, 1, UINT32_MAX}, {0x2c, 24, 0, 11},   {0x30, 23, 0, 100},
		   {0x34, 22, 0, UINT32_MAX}, {0x54, 14, 0, UINT32_MAX}, {0x58, 13, 0, 1023}, {0x5c, 12, 0, 131071}};
	struct vr *v = *state;

	for (unsigned int i = 0; i <= sizeof(row) / sizeof(row[0]); i++) {
		/* Behind the last one, the time between two CNPs. */
		bool np = i == sizeof(row) / sizeof(row[0]);
		uint32_t mod = MOD(1, 1, np ? NP : RP), off = row[np ? 0 : i].off, mask = 1u << row[np ? 0 : i].bit;
		uint32_t min = row[np ? 0 : i].min, max = row[np ? 0 : i].max;

		if (min != 0)
			assert_int_equal(try_set(v, mod, 0, mask, off, min - 1), MLX4_STAT_BAD_PARAM);
		assert_int_equal(try_set(v, mod, 0, mask, off, min), 0);
		assert_int_equal(get(v, mod, off), min);
		assert_int_equal(try_set(v, mod, 0, mask, off, max), 0);
		assert_int_equal(get(v, mod, off), max);
		if (max == UINT32_MAX)
			continue;
		assert_int_equal(try_set(v, mod, 0, mask, off, max + 1), MLX4_STAT_BAD_PARAM);
		assert_int_equal(try_set(v, mod, 0, mask, off, UINT32_MAX), MLX4_STAT_BAD_PARAM);
		assert_int_equal(get(v, mod, off), max);
	}
}

/* --- packets --- */

static uint8_t
opcode(const struct vr_frame *f)
{
	uint32_t ip = vr_ip(f->data);

	return f->data[ip + (f->data[ip] >> 4 == 4 ? 28 : 48)];
}

/* Frames of an end that are CNPs, or that are not; how many of them have this ECN codepoint. */
static unsigned int
frames(const struct vr_end *e, bool cnps, uint8_t ecn)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < e->sent; i++)
		n += (opcode(&e->frame[i]) == 0x81) == cnps && (vr_tos(e->frame[i].data) & 3) == ecn;
	return n;
}

/* Packets of RC and UC know ECN while it is on, of RoCE v2 alone; those of datagrams do not. */
static void
test_ect(void **state)
{
	static const struct {
		enum mlx4_qp_service service;
		unsigned int gid;
		bool says;
	} cases[] = {{MLX4_QP_ST_RC, VR_GID_V4, true},
		     {MLX4_QP_ST_RC, VR_GID_V6, true},
		     {MLX4_QP_ST_UC, VR_GID_V4, true},
		     {MLX4_QP_ST_RC, VR_GID_V1, false}};
	struct vr *v = *state;
	struct vr_qp *a, *b;

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t ect = frames(v->end[0], false, DATA_ECN);

		pair(v, cases[i].service, cases[i].gid, &a, &b);
		vr_exchange(v, a, b, 3000);
		assert_int_equal(frames(v->end[0], false, DATA_ECN), ect);
		on(v);
		vr_exchange(v, a, b, 3000);
		assert_int_equal(frames(v->end[0], false, DATA_ECN), ect + (cases[i].says ? 3 : 0));
		for (unsigned int port = 1; port <= 2; port++)
			set(v, MOD(port, 1u << PRIO, RP), 7u << 24, 0, 0, 0, 0);
		vr_exchange(v, a, b, 3000);
		assert_int_equal(frames(v->end[0], false, DATA_ECN), ect + (cases[i].says ? 3 : 0));
		assert_int_equal(card_cmd_none(v->c, MLX4_CMD_2RST_QP, 2, a->qpn), 0);
	}
	vr_quiet(v);
}

/* What the QP's own path says of ECN goes out when nothing is forced. */
static void
test_path(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	a = vr_qp(v, 1, MLX4_QP_ST_RC);
	b = vr_qp(v, 2, MLX4_QP_ST_RC);
	vr_to(v, a, 2, b->qpn, VR_GID_V4);
	vr_to(v, b, 1, a->qpn, VR_GID_V4);
	prm_set(a->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_TCLASS, 0x6a);
	vr_qp_up(v, a);
	vr_qp_up(v, b);
	vr_exchange(v, a, b, 100);
	assert_int_equal(vr_tos(v->end[0]->frame[0].data), 0x6a);
	vr_quiet(v);
}

/* A mark, its answer octet by octet (IBTA A17.9.3), and the queue pair that it limits. */
static void
test_cnp(void **state)
{
	struct vr *v = *state;

	on(v);
	for (unsigned int port = 1; port <= 2; port++)
		set(v, MOD(port, 1u << PRIO, NP), 0, 0, 0x18, 46 << 8, 26);
	for (unsigned int gid = VR_GID_V4; gid <= VR_GID_V6; gid++) {
		struct vr_qp *a, *b;
		const struct vr_frame *f;
		uint32_t ip, at = v->end[1]->sent, cnps = gid - VR_GID_V4 + 1;

		pair(v, MLX4_QP_ST_RC, gid, &a, &b);
		v->end[0]->mark = 1;
		vr_exchange(v, a, b, 100);
		assert_int_equal(v->end[1]->sent, at + 2);
		f = &v->end[1]->frame[at];
		ip = vr_ip(f->data);
		assert_memory_equal(f->data, v->mac[0], 6);
		assert_memory_equal(f->data + 6, v->mac[1], 6);
		assert_int_equal(prm_get32(f->data, 12), 0x8100u << 16 | 7u << 13 | 7);
		assert_int_equal(vr_tos(f->data), 46 << 2 | 2);
		if (gid == VR_GID_V4) {
			assert_int_equal(f->len, 18 + 60);
			assert_memory_equal(f->data + ip + 12, v->gid[1][gid] + 12, 4);
			assert_memory_equal(f->data + ip + 16, v->gid[0][gid] + 12, 4);
			ip += 20;
		} else {
			assert_int_equal(f->len, 18 + 80);
			assert_memory_equal(f->data + ip + 8, v->gid[1][gid], 16);
			assert_memory_equal(f->data + ip + 24, v->gid[0][gid], 16);
			ip += 40;
		}
		assert_int_equal(f->data[ip + 2] << 8 | f->data[ip + 3], 4791);
		assert_int_equal(f->data[ip + 8], 0x81);
		assert_int_equal(prm_get32(f->data + ip + 8, 4), 0x40u << 24 | a->qpn);
		for (unsigned int i = 0; i < 16; i++)
			assert_int_equal(f->data[ip + 20 + i], 0);
		assert_int_equal(counter(v, 2, NP, 0x24), cnps);
		assert_int_equal(counter(v, 2, NP, 0x28), cnps);
		assert_int_equal(counter(v, 1, RP, 0x24), cnps);
		assert_int_equal(counter(v, 1, RP, 0x10), 1);
		assert_int_equal(counter(v, 1, RP, 0x20), 3000);
		assert_int_equal(counter(v, 2, RP, 0x24), 0);
		assert_int_equal(card_cmd_none(v->c, MLX4_CMD_2RST_QP, 2, a->qpn), 0);
		assert_int_equal(counter(v, 1, RP, 0x10), 0);
	}
	vr_quiet(v);
}

/* At most one in the interval, however many marks; counters start again when they are told to. */
static void
test_spacing(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	on(v);
	set(v, MOD(2, 1u << PRIO, NP), 0, 0, 0x14, 100, 30);
	/* The sender goes on at its rate. */
	set(v, MOD(1, 1u << PRIO, RP), 1u << 31, 0, 0, 0, 0);
	pair(v, MLX4_QP_ST_UC, VR_GID_V4, &a, &b);
	v->end[0]->mark = UINT32_MAX;
	for (unsigned int i = 0; i < 30; i++) {
		vr_exchange(v, a, b, 100);
		vr_wait(v, 10 * US);
	}
	vr_exchange(v, a, b, 100);
	assert_int_equal(frames(v->end[1], true, DATA_ECN), 4);
	assert_int_equal(counter(v, 2, NP, 0x24), 31);
	assert_int_equal(counter(v, 2, NP, 0x28), 4);
	assert_int_equal(counter(v, 2, NP, 0x10), 1);
	vr_wait(v, 100 * US);
	assert_int_equal(counter(v, 2, NP, 0x10), 0);
	/* Not heard, and counted so. */
	assert_int_equal(counter(v, 1, RP, 0x24), 0);
	assert_int_equal(counter(v, 1, RP, 0x0c), 4);
	assert_int_equal(card_cmd_out(v->c, CMD, STATS, MOD(2, 0, NP) | CLEAR), 0);
	assert_int_equal(counter(v, 2, NP, 0x24), 0);
	assert_int_equal(counter(v, 2, NP, 0x28), 0);
	/* Nobody answers. */
	set(v, MOD(2, 1u << PRIO, NP), 1u << 31, 0, 0, 0, 0);
	vr_exchange(v, a, b, 100);
	assert_int_equal(frames(v->end[1], true, DATA_ECN), 4);
	assert_int_equal(counter(v, 2, NP, 0x0c), 1);
	vr_quiet(v);
}

/* The opcode of CNPs is a parameter; a receiver that expects another one hears nothing. */
static void
test_opcode(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;
	uint8_t *in = card_in(v->c);

	on(v);
	memset(in, 0, 0x40);
	prm_set32(in, 4, 1u << 28);
	prm_set32(in, 0x18, 0x8f);
	assert_int_equal(card_cmd_in(v->c, CMD, 5, MOD(1, 0, NP)), 0);
	pair(v, MLX4_QP_ST_RC, VR_GID_V4, &a, &b);
	v->end[0]->mark = 1;
	vr_exchange(v, a, b, 100);
	assert_int_equal(opcode(&v->end[1]->frame[0]), 0x8f);
	assert_int_equal(counter(v, 2, NP, 0x28), 1);
	assert_int_equal(counter(v, 1, RP, 0x24), 0);
}

/* Datagrams that say ECT themselves are answered to the queue pair that sent them. It is limited where CNPs are heard. */
static void
test_datagrams(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;
	uint32_t sent;

	on(v);
	pair(v, MLX4_QP_ST_UD, VR_GID_V4, &a, &b);
	/* The rig's addresses have priority 0. */
	set(v, MOD(2, 1, NP), 1u << 31, 1u << 31, 0, 0, 0);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 200);
	vr_post_ud(v, a, 2, b->qpn, VR_GID_V4, 7, 100); /* traffic class 0x2b: marked already */
	vr_step(v);
	vr_expect(v, b, 1, 0);
	assert_int_equal(v->end[1]->sent, 1);
	assert_int_equal(opcode(&v->end[1]->frame[0]), 0x81);
	assert_int_equal(prm_get32(v->end[1]->frame[0].data + 18 + 28, 4) & 0xffffff, a->qpn);
	assert_int_equal(counter(v, 1, RP, 0x24), 0);
	assert_int_equal(card_cmd_out(v->c, CMD, STATS, MOD(1, 0, RP)), 0);
	assert_int_equal(prm_get32(card_out(v->c), 0x0c), 1);
	/* Heard, at 1 Mb/s: a datagram of 176 octets takes the line for 1.4 ms. */
	set(v, MOD(1, 1, RP), 1u << 31 | 1u << 26, UINT32_MAX, 0x54, 1, 14);
	set(v, MOD(1, 1, RP), 0, 0, 0x14, 131071, 30);
	set(v, MOD(1, 1, RP), 0, 0, 0x18, 0, 29);
	vr_wait(v, 10 * US);
	/* Its own codepoint gives way to ECT(0), which the wire marks. */
	v->end[0]->mark = 1;
	for (unsigned int i = 0; i < 3; i++)
		vr_post_recv(v, b, VR_RW_KEY, b->mem, 200);
	vr_post_ud(v, a, 2, b->qpn, VR_GID_V4, 7, 100);
	vr_step(v);
	assert_int_equal(card_cmd_out(v->c, CMD, STATS, MOD(1, 0, RP)), 0);
	assert_int_equal(prm_get32(card_out(v->c), 0x24), 1);
	assert_int_equal(prm_get32(card_out(v->c), 0x10), 1);
	assert_int_equal(prm_get32(card_out(v->c), 0x20), 1);
	vr_post_ud(v, a, 2, b->qpn, VR_GID_V4, 7, 100);
	vr_step(v);
	sent = v->end[0]->sent;
	vr_post_ud(v, a, 2, b->qpn, VR_GID_V4, 7, 100);
	vr_wait(v, MS);
	assert_int_equal(v->end[0]->sent, sent);
	vr_wait(v, MS);
	assert_int_equal(v->end[0]->sent, sent + 1);
	vr_quiet(v);
}

/*
 * Two queue pairs send datagrams to one, all of which come marked: each is told at its own pace. That of the second, which begins 50 us
 * later, is not the first one's.
 */
static void
test_senders(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a[2], *b;
	unsigned int told[2] = {0, 0};

	on(v);
	/* The rig's addresses have priority 0. */
	set(v, MOD(2, 1, NP), 1u << 31, 1u << 31, 0x14, 100, 30);
	pair(v, MLX4_QP_ST_UD, VR_GID_V4, &a[0], &b);
	a[1] = vr_qp(v, 1, MLX4_QP_ST_UD);
	vr_qp_up(v, a[1]);
	for (unsigned int i = 0; i < 31; i++) {
		for (unsigned int k = 0; k < (i < 5 ? 1 : 2); k++) {
			vr_post_recv(v, b, VR_RW_KEY, b->mem, 200);
			vr_post_ud(v, a[k], 2, b->qpn, VR_GID_V4, 7, 100);
			vr_step(v);
			assert_non_null(vr_poll_cq(v, b));
			assert_non_null(vr_poll_cq(v, a[k]));
		}
		vr_wait(v, 10 * US);
	}
	for (uint32_t i = 0; i < v->end[1]->sent; i++) {
		const uint8_t *f = v->end[1]->frame[i].data;

		assert_int_equal(opcode(&v->end[1]->frame[i]), 0x81);
		for (unsigned int k = 0; k < 2; k++)
			told[k] += (prm_get32(f + vr_ip(f) + 28, 4) & 0xffffff) == a[k]->qpn;
	}
	assert_int_equal(told[0], 4);
	assert_int_equal(told[1], 3);
	assert_int_equal(card_cmd_out(v->c, CMD, STATS, MOD(2, 0, NP)), 0);
	assert_int_equal(prm_get32(card_out(v->c), 0x24), 31 + 26);
	assert_int_equal(prm_get32(card_out(v->c), 0x28), 7);
	assert_int_equal(prm_get32(card_out(v->c), 0x10), 2);
	assert_int_equal(prm_get32(card_out(v->c), 0x20), 1); /* the highest place */
	vr_wait(v, 100 * US);
	assert_int_equal(card_cmd_out(v->c, CMD, STATS, MOD(2, 0, NP)), 0);
	assert_int_equal(prm_get32(card_out(v->c), 0x10), 0);
	vr_quiet(v);
}

static uint64_t
bytes_sent(const struct vr_end *e)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < e->sent; i++)
		sum += e->frame[i].len + 4;
	return sum;
}

/* A limiter's rate, on a port without and with a scheduler; it ends when nobody listens to CNPs any more. */
static void
rate(struct vr *v, bool managed)
{
	struct vr_qp *a, *b;
	unsigned int done = 0;
	uint64_t before, bits;

	if (managed) {
		prm_set32(card_in(v->c), 0, 0x01111111);
		assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SET_PORT, 1, MLX4_SET_PORT_PRIO2TC << 8 | 1), 0);
	}
	on(v);
	/* The first CNP sets it, and it does not rise within the test. */
	set(v, MOD(1, 1u << PRIO, RP), 0, 0, 0x54, 100, 14);
	set(v, MOD(1, 1u << PRIO, RP), 0, 0, 0x14, 131071, 30);
	set(v, MOD(1, 1u << PRIO, RP), 0, 0, 0x18, 0, 29);
	pair(v, MLX4_QP_ST_RC, VR_GID_V4, &a, &b);
	vr_fill(vr_mem(v, a), 8192, 3);
	v->end[0]->mark = 1;
	vr_post_rdma(v, a, MLX4_OP_RDMA_WRITE, a->mem, 8192, VR_RW_KEY, b->mem);
	vr_step(v);
	before = bytes_sent(v->end[0]);
	for (unsigned int i = 0; i < 30; i++)
		vr_post_rdma(v, a, MLX4_OP_RDMA_WRITE, a->mem, 8192, VR_RW_KEY, b->mem);
	for (unsigned int i = 0; i < 2000; i++)
		vr_wait(v, 5 * US);
	bits = (bytes_sent(v->end[0]) - before) * 8;
	/* 10 ms; a wait ends at a whole step. */
	assert_in_range(bits, 930000, 1010000);
	assert_int_equal(counter(v, 1, RP, 0x10), 1);
	assert_int_equal(counter(v, 1, RP, 0x20), 100);
	assert_int_equal(counter(v, 1, RP, 0x28), 100);
	assert_int_equal(counter(v, 1, RP, 0x2c), 100);
	assert_int_equal(counter(v, 1, RP, 0x04), 1); /* lived 10 ms */
	set(v, MOD(1, 1u << PRIO, RP), 1u << 31, 0, 0, 0, 0);
	assert_int_equal(counter(v, 1, RP, 0x10), 0);
	vr_wait(v, 5 * US);
	while (vr_poll_cq(v, a) != NULL)
		done++;
	assert_int_equal(done, 31);
	assert_memory_equal(vr_mem(v, b), vr_mem(v, a), 8192);
	vr_quiet(v);
}

static void
test_rate(void **state)
{
	rate(*state, false);
}

static void
test_rate_managed(void **state)
{
	rate(*state, true);
}

/* It comes back by itself: with steps of 1 ms and of the whole line's rate it is free after the first few. */
static void
test_recovery(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	on(v);
	set(v, MOD(1, 1u << PRIO, RP), 0, 0, 0x14, 1000, 30);
	set(v, MOD(1, 1u << PRIO, RP), 0, 0, 0x24, 40000, 26);
	pair(v, MLX4_QP_ST_RC, VR_GID_V4, &a, &b);
	v->end[0]->mark = 1;
	vr_exchange(v, a, b, 100);
	/* Half the way to where it was, each time. */
	vr_wait(v, MS);
	assert_int_equal(counter(v, 1, RP, 0x20), (3000 + 40000) / 2);
	vr_wait(v, MS);
	assert_int_equal(counter(v, 1, RP, 0x20), (21500 + 40000) / 2);
	for (unsigned int i = 0; i < 40 && counter(v, 1, RP, 0x10) != 0; i++)
		vr_wait(v, MS);
	assert_int_equal(counter(v, 1, RP, 0x10), 0);
	assert_int_equal(counter(v, 1, RP, 0x18), 0);
	vr_quiet(v);
}

#define T(f) cmocka_unit_test_setup_teardown(f, vr_up, vr_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capability),
		cmocka_unit_test(test_not_pro),
		T(test_parameters),
		T(test_general),
		T(test_refused),
		T(test_ranges),
		T(test_ect),
		T(test_path),
		T(test_cnp),
		T(test_spacing),
		T(test_opcode),
		T(test_datagrams),
		T(test_senders),
		T(test_rate),
		T(test_rate_managed),
		T(test_recovery),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
