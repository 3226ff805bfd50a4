/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * All 256 opcodes in every state of a receiver of each type. What is expected is written as the specification says it
 * (IBTA 1.4: table 38 for what exists, 9.7.4.1 for the order of opcodes), not taken from the engine's table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "rig.h"

#define MTU 256u
#define SEND_BUF 0x1000u
#define TARGET 0x2000u

enum state { IDLE, IN_SEND, IN_WRITE, STATES };
enum want { EXECUTE, REFUSE, IGNORE, RESPONSE };

/* Headers behind the BTH, in bytes, by operation; 255: does not exist for RC. */
static const uint8_t rc_headers[32] = {0, 0, 0,  4,  0,  4,   16, 0, 0,   4,   16,  20,  16,  4,   0,   4,
				       4, 4, 12, 28, 28, 255, 4,  4, 255, 255, 255, 255, 255, 255, 255, 255};

static bool
one_of(uint8_t op, const char *list)
{
	for (; *list != '\0'; list += 3) {
		unsigned int v;

		sscanf(list, "%2x", &v);
		if (v == op)
			return true;
		if (list[2] == '\0')
			break;
	}
	return false;
}

static bool
exists(uint8_t opcode, uint8_t base)
{
	uint8_t op = opcode & 0x1f;

	if ((opcode & 0xe0) != base)
		return false;
	if (base == 0x60)
		return op == 4 || op == 5;
	if (base == 0x20)
		return op <= 0x0b;
	return rc_headers[op] != 255;
}

/* First and only packets start a message, middle and last ones continue one of their kind. */
static enum want
expected(uint8_t opcode, uint8_t base, enum state st)
{
	uint8_t op = opcode & 0x1f;

	if (!exists(opcode, base))
		return IGNORE;
	if (one_of(op, "0d 0e 0f 10 11 12"))
		return RESPONSE;
	if (one_of(op, "00 04 05 06 0a 0b 0c 13 14 17"))
		return st == IDLE || base != 0x00 ? EXECUTE : REFUSE;
	if (one_of(op, "01 02 03 16"))
		return st == IN_SEND ? EXECUTE : REFUSE;
	return st == IN_WRITE ? EXECUTE : REFUSE;
}

static uint32_t
headers(uint8_t opcode)
{
	uint8_t op = opcode & 0x1f;

	if ((opcode & 0xe0) == 0x60)
		return op == 5 ? 12 : 8;
	return rc_headers[op] == 255 ? 0 : rc_headers[op];
}

/* A packet that is right in all but its place. */
static uint32_t
build(uint8_t *p, uint8_t opcode, uint32_t psn)
{
	uint8_t op = opcode & 0x1f, *h = p + 12;
	/* First and middle packets are full, the others have 8 bytes. */
	uint32_t len = one_of(op, "00 01 06 07 0d 0e") ? MTU : 8, hl = headers(opcode);

	memset(p, 0, 12 + hl + len);
	ib_bth_put(p, opcode, false, 0, 0xffff, 0x100, true, psn);
	if (one_of(op, "06 0a 0b 0c")) {
		ib_put64(h, rig_addr(TARGET));
		ib_put32(h + 8, RIG_RKEY);
		ib_put32(h + 12, op == 0x06 ? MTU + 8 : 8);
	} else if (one_of(op, "13 14")) {
		ib_put64(h, rig_addr(TARGET));
		ib_put32(h + 8, RIG_RKEY);
	} else if (one_of(op, "16 17")) {
		ib_put32(h, RIG_RKEY);
	}
	if ((opcode & 0xe0) == 0x60)
		ib_put32(h, 0x11111111);
	if (one_of(op, "0c 11 12 13 14"))
		len = 0;
	return 12 + hl + len;
}

/* Brings the receiver into the state. A WRITE under way has room for a middle packet, or for nothing but its last. */
static void
enter(struct rig *r, enum ibv_qp_type type, enum state st, bool middle_next)
{
	struct tre_attr a = rig_attr(type, MTU);
	uint8_t base = type == IBV_QPT_RC ? 0x00 : 0x20, p[1024];
	uint32_t len, psn;

	rig_connect(r, &a);
	psn = r->side[0].qp.epsn;
	for (uint32_t i = 0; i < 4; i++)
		rig_recv(&r->side[0], i, SEND_BUF + i * 0x400, 0x400);
	if (st == IDLE)
		return;
	len = build(p, base | (st == IN_SEND ? 0x00 : 0x06), psn);
	if (st == IN_WRITE && middle_next)
		ib_put32(p + 12 + 12, 2 * MTU + 8);
	rig_inject(&r->side[0], p, len);
}

static void
check(enum ibv_qp_type type, uint8_t base, uint8_t opcode, enum state st)
{
	struct rig r;
	struct rig_side *s = &r.side[0];
	enum want want = expected(opcode, base, st), got;
	uint8_t p[1024], answer[RIG_PACKET];
	uint32_t len, before, bad, n;

	rig_init(&r, 1);
	enter(&r, type, st, (opcode & 0x1f) == 0x07);
	before = s->qp.epsn;
	bad = (uint32_t)s->st.rs_bad_opcode;
	len = build(p, opcode, before);
	rig_inject(s, p, len);
	tre_run(&s->qp, 16, r.now);
	if (s->st.rs_bad_opcode != bad || (opcode == 0x81 && s->st.cnp == 1))
		got = IGNORE;
	else if (s->st.rq_ghost != 0)
		got = RESPONSE;
	else if (type == IBV_QPT_UC)
		got = s->st.rs_uc_discarded != 0 && s->qp.drop_msg ? REFUSE : EXECUTE;
	else if (s->qp.state == IBV_QPS_ERR)
		got = REFUSE;
	else
		got = type == IBV_QPT_UD ? (s->num_got != 0 ? EXECUTE : IGNORE)
					 : (s->qp.epsn != before ? EXECUTE : IGNORE);
	if (got != want)
		fail_msg("type %d, state %d, opcode 0x%02x: %d, wanted %d", type, st, opcode, got, want);
	if (type == IBV_QPT_RC && want == REFUSE) {
		/* The answer before the last may be an ACK of the first packet. */
		do
			assert_true(rig_capture(&s->out, answer, &n));
		while (s->out.n != 0);
		assert_int_equal(answer[0], 0x11);
		assert_int_equal(answer[12], 0x61);
		assert_int_equal(ib_bth_psn(answer), before);
		assert_int_equal(s->st.rs_op_err, 1);
	}
	rig_free(&r);
}

static void
rc(void **state)
{
	for (uint32_t op = 0; op < 256; op++)
		for (enum state st = IDLE; st < STATES; st++)
			check(IBV_QPT_RC, 0x00, (uint8_t)op, st);
}

static void
uc(void **state)
{
	for (uint32_t op = 0; op < 256; op++)
		for (enum state st = IDLE; st < STATES; st++)
			check(IBV_QPT_UC, 0x20, (uint8_t)op, st);
}

static void
ud(void **state)
{
	for (uint32_t op = 0; op < 256; op++)
		check(IBV_QPT_UD, 0x60, (uint8_t)op, IDLE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rc),
		cmocka_unit_test(uc),
		cmocka_unit_test(ud),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
