/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What the tests of single rules share: a rig, and steps packet by packet. */
#ifndef ROCE_STEPS_H
#define ROCE_STEPS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rig.h"

#define PSN0 0xfffff0u /* side 0 begins here */
#define MS 1000000u

static struct rig r;
#define A (&r.side[0])
#define B (&r.side[1])

static inline int
setup(void **state)
{
	rig_init(&r, 7);
	return 0;
}

static inline int
teardown(void **state)
{
	rig_free(&r);
	return 0;
}

static inline void
connect_rc(uint32_t mtu)
{
	struct tre_attr a = rig_attr(IBV_QPT_RC, mtu);

	rig_connect(&r, &a);
}

static inline void
run(struct rig_side *s)
{
	tre_run(&s->qp, 64, r.now);
}

/* Takes the next packet off a wire and looks at it. */
static inline void
expect_packet(struct rig_side *s, uint8_t opcode, uint32_t psn, uint8_t *p)
{
	uint32_t len;

	assert_true(rig_capture(&s->out, p, &len));
	assert_int_equal(p[0], opcode);
	assert_int_equal(ib_bth_psn(p), psn);
	assert_int_equal(len % 4, 0);
}

static inline void
expect_ack(struct rig_side *s, uint8_t syndrome, uint32_t psn, uint32_t msn)
{
	uint8_t p[RIG_PACKET];

	expect_packet(s, 0x11, psn, p);
	assert_int_equal(p[12], syndrome);
	assert_int_equal(ib_get24(p + 13), msn);
}

static inline void
expect_nothing(const struct rig_side *s)
{
	assert_int_equal(s->out.n, 0);
}

/* The oldest packet of a side's wire reaches the other side. */
static inline void
pass(struct rig_side *from, struct rig_side *to)
{
	uint8_t p[RIG_PACKET];
	uint32_t len;

	assert_true(rig_capture(&from->out, p, &len));
	rig_inject(to, p, len);
}

static inline void
lose(struct rig_side *s)
{
	uint8_t p[RIG_PACKET];
	uint32_t len;

	assert_true(rig_capture(&s->out, p, &len));
}

static inline void
expect_done(const struct rig_side *s, uint32_t i, uint64_t id, enum ibv_wc_status status)
{
	assert_true(i < s->num_done);
	assert_int_equal(s->done[i].id, id);
	assert_int_equal(s->done[i].status, status);
}

#endif /* ROCE_STEPS_H */
