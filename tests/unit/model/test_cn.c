/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* 802.1Qau on the card: parameters by CONGESTION_CTRL, messages from the wire, the rate of a priority, CN-TAGs on frames, counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* By path: the tests' rig follows it. */
#include "model/cmd/cmd.h"
#include "model/qos/qos.h"
#include "model/roce/roce_cc.h"

#include "qos_rig.h"

#define MS UINT64_C(1000000)
#define PRIO 5u
#define ENABLE (1u << 31)
#define TAG (1u << 30)

static int
up(void **state)
{
	struct qos_rig *x = calloc(1, sizeof(*x));

	*state = x;
	/* 10 Gb/s. Two queues: one of the priority, one of another. */
	if (x == NULL || qos_up(x, 10000) != 0)
		return -1;
	qos_queue(x, PRIO, 1230, 0);
	qos_queue(x, 0, 1230, 0);
	return 0;
}

static int
down(void **state)
{
	struct qos_rig *x = *state;

	rig_close(&x->r);
	free(x);
	return 0;
}

/* A mailbox in the memory of the rig's queues, of which there is more than they need. */
static uint8_t *
mailbox(struct qos_rig *x)
{
	uint8_t *m = (uint8_t *)(((uintptr_t)x->r.mem + RIG_MEM - MLX4_MAILBOX_SIZE) & ~(uintptr_t)4095);

	memset(m, 0, MLX4_MAILBOX_SIZE);
	return m;
}

static uint8_t
run(struct qos_rig *x, uint32_t in_modifier, uint8_t op_modifier, uint8_t *mbox)
{
	struct tpm_cmd c = {.opcode = 0x68,
			    .in_modifier = in_modifier,
			    .op_modifier = op_modifier,
			    .in_param = (uintptr_t)mbox,
			    .out_param = (uintptr_t)mbox};

	return tpm_cmd_congestion_ctrl(x->r.m, &c);
}

/* As Linux sets it: all of one priority. No stage of time or bytes comes within a test unless it says so. */
static void
set(struct qos_rig *x, uint32_t flags, uint32_t time_reset, uint32_t byte_reset)
{
	static const uint32_t values[] = {1, 0, 0, 5, 0, 5, 50, 7, 50, 10};
	uint8_t *in = mailbox(x);

	prm_set32(in, 0, 0xc0000000);
	prm_set32(in, 4, 0xffc00000);
	prm_set32(in, 0x0c, flags);
	for (unsigned int i = 0; i < 10; i++)
		prm_set32(in, 0x10 + 4 * i, values[i]);
	prm_set32(in, 0x14, time_reset);
	prm_set32(in, 0x18, byte_reset);
	assert_int_equal(run(x, 1 | 1u << (8 + PRIO), 4, in), MLX4_STAT_OK);
}

/* Of a priority alone, as Linux asks. */
static uint32_t
counter(struct qos_rig *x, unsigned int prio, uint32_t off)
{
	uint8_t *out = mailbox(x);

	assert_int_equal(run(x, 1 | 1u << (8 + prio), 1, out), MLX4_STAT_OK);
	return prm_get32(out, off);
}

/* To the port's queue, about a frame of this priority. tagged: VLAN 0, priority 6. */
static void
message(struct qos_rig *x, unsigned int prio, unsigned int fb, bool tagged)
{
	uint8_t b[64] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x81, 0x00, 0xc0, 0x00};
	uint8_t *h = b + (tagged ? 16 : 12);

	memcpy(h, ((const uint8_t[]){0x22, 0xe9, 0, (uint8_t)prio, 0x22, 0xe7, 0, (uint8_t)fb}), 8);
	h[6 + 14] = (uint8_t)(prio << 5);
	qos_arrive(x, 1, b, sizeof(b));
}

/* A message of 63 leaves 65/128 of 10 Gb/s, of this priority alone; a further one half of that, and so on. The rest of the link is others'. */
static void
limits(void **state)
{
	struct qos_rig *x = *state;
	uint64_t want = 10000000 - 10000000 * 63 / 128, sent;

	set(x, ENABLE, 0, 0);
	qos_run(x, MS, 10000, 1);
	assert_in_range(x->tap.octets[0], 1210000, 1240000);
	assert_int_equal(counter(x, PRIO, 0x10), 0);
	for (unsigned int i = 0; i < 3; i++) {
		message(x, PRIO, 63, i == 1);
		sent = x->tap.octets[0];
		qos_run(x, 4 * MS, 10000, 1);
		sent = x->tap.octets[0] - sent;
		assert_in_range(sent, want * 4 / 8 * 99 / 100, want * 4 / 8 * 101 / 100 + 1300);
		assert_int_equal(counter(x, PRIO, 0x20), want / 1000);
		want -= want * 63 / 128;
	}
	assert_int_equal(counter(x, PRIO, 0x10), 1);
	assert_int_equal(counter(x, PRIO, 0x24), 3);
	/* The lowest rate and the highest of those that were set: after each message 65/128 of the one before */
	assert_int_equal(counter(x, PRIO, 0x28), 1309);
	assert_int_equal(counter(x, PRIO, 0x2c), 5078);
	assert_int_equal(counter(x, PRIO, 0x0c), 0);
	assert_int_equal(counter(x, PRIO, 4), 1);
	/* The other priority has what is left. */
	x->tap.octets[1] = 0;
	qos_run(x, MS, 10000, 3);
	assert_true(x->tap.octets[1] > 1000000);
	assert_int_equal(counter(x, 0, 0x10), 0);
	/* Switched off, it sends as before. */
	set(x, 0, 0, 0);
	qos_run(x, MS, 10000, 1);
	sent = x->tap.octets[0];
	qos_run(x, MS, 10000, 1);
	assert_true(x->tap.octets[0] - sent > 1200000);
	assert_int_equal(counter(x, PRIO, 0x20), 0);
}

/* By stages of time it comes back, and is let go at the rate of the line: after 40 halves at most. */
static void
comes_back(void **state)
{
	struct qos_rig *x = *state;

	set(x, ENABLE, 100, 0);
	message(x, PRIO, 63, true);
	assert_int_equal(counter(x, PRIO, 0x20), 5078);
	qos_run(x, 100000, 10000, 1);
	assert_int_equal(counter(x, PRIO, 0x20), 7539);
	qos_run(x, 4 * MS, 10000, 1);
	assert_int_equal(counter(x, PRIO, 0x20), 0);
	assert_int_equal(x->r.m->port[0].qos->cn.limited, 0);
	/* Idle, time alone brings it back. */
	message(x, PRIO, 63, true);
	qos_time(x, x->now + 10 * MS);
	assert_int_equal(counter(x, PRIO, 0x20), 0);
	assert_int_equal(counter(x, PRIO, 0x10), 2);
}

/* At the first stage of time a target of more than ten times the rate is an eighth of it, unless the flag of that rule is set. */
static void
far_target(void **state)
{
	struct qos_rig *x = *state;

	for (unsigned int keep = 0; keep < 2; keep++) {
		uint8_t *in;

		set(x, ENABLE, 100, 0);
		in = mailbox(x);
		/* All of the rate goes, down to 10 Mb/s. */
		prm_set32(in, 4, 3u << 23);
		assert_int_equal(run(x, 1 | 1u << (8 + PRIO), 4, in), MLX4_STAT_OK);
		in = mailbox(x);
		prm_set32(in, 0, 1u << 22);
		prm_set32(in, 0x0c, keep << 22);
		assert_int_equal(run(x, 1 | 0xff00, 4, in), MLX4_STAT_OK);
		message(x, PRIO, 63, true);
		assert_int_equal(counter(x, PRIO, 0x20), 10);
		qos_time(x, x->now + 100000);
		/* (10 + 10000 / 8) / 2, or (10 + 10000) / 2 */
		assert_int_equal(counter(x, PRIO, 0x20), keep == 0 ? 630 : 5005);
		set(x, 0, 0, 0);
	}
}

/* Messages of priorities that do not listen, without feedback, cut short or of another version change nothing; off, they are frames as others. */
static void
ignored(void **state)
{
	struct qos_rig *x = *state;
	uint8_t b[64] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x22, 0xe7, 0x10, 63};
	uint64_t frames = x->r.m->st.port[0].rx_frames;

	message(x, PRIO, 63, true);
	assert_int_equal(x->r.m->st.port[0].rx_frames, frames + 1);
	set(x, ENABLE, 0, 0);
	message(x, PRIO, 0, true);
	message(x, PRIO + 1, 63, true);
	b[14 + 14] = PRIO << 5;
	qos_arrive(x, 1, b, sizeof(b));
	b[14] = 0;
	for (uint32_t len = 14; len < 14 + 24; len++)
		qos_arrive(x, 1, b, len);
	assert_int_equal(x->r.m->port[0].qos->cn.limited, 0);
	assert_int_equal(counter(x, PRIO, 0x0c), 1);
	assert_int_equal(counter(x, PRIO + 1, 0x0c), 1);
	/* Of a group, it is a frame as others. */
	b[0] = 3;
	qos_arrive(x, 1, b, sizeof(b));
	assert_int_equal(counter(x, PRIO, 0x24), 0);
	b[0] = 2;
	/* Without a tag it is heard, too. */
	qos_arrive(x, 1, b, sizeof(b));
	assert_int_equal(counter(x, PRIO, 0x24), 1);
}

static uint8_t seen[128];
static uint32_t seen_len;

static unsigned int
keep(struct tp_wire *w, const struct tp_frame *f, unsigned int n)
{
	(void)w;
	seen_len = f[n - 1].len;
	tpm_frame_copy(&f[n - 1], 0, seen, seen_len < sizeof(seen) ? seen_len : sizeof(seen));
	return n;
}

/* Frames of the priority get a tag behind their VLAN, others not; a received tag is gone before the frame is looked at. */
static void
tags(void **state)
{
	static const struct tp_wire_ops ops = {.name = "keep", .send = keep, .link = tap_link};
	static const uint8_t other[64] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5, 7};
	static const uint8_t vlan[64] = {2,    0,    0,    0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0x00, PRIO << 5 | 1,
					 0x23, 0x88, 0xb5, 7, 8};
	struct qos_rig *x = *state;
	struct tp_frame_seg seg[2] = {{vlan, 15}, {vlan + 15, 49}};
	struct tp_frame f = {.seg = seg, .nseg = 2, .len = 64};
	uint8_t back[68];
	uint64_t octets;

	set(x, ENABLE | TAG, 0, 0);
	x->tap.w.ops = &ops;
	tpm_port_send(x->r.m, &x->r.m->port[0], &f, 1);
	assert_int_equal(seen_len, 68);
	assert_memory_equal(seen, vlan, 16);
	assert_memory_equal(seen + 16, ((const uint8_t[]){0x22, 0xe9, 0, PRIO}), 4);
	assert_memory_equal(seen + 20, vlan + 16, 48);
	memcpy(back, seen, sizeof(back));
	seg[0] = (struct tp_frame_seg){other, 64};
	f.nseg = 1;
	tpm_port_send(x->r.m, &x->r.m->port[0], &f, 1);
	assert_int_equal(seen_len, 64);
	assert_memory_equal(seen, other, 64);
	octets = x->r.m->st.port[0].rx_bytes;
	qos_arrive(x, 1, back, sizeof(back));
	assert_int_equal(x->r.m->st.port[0].rx_bytes - octets, 64);
	x->tap.w.ops = &tap_ops;
}

/* Asked for one priority, the first block is its; of all, or several, each has its place, and those of the mask start again. */
static void
blocks(void **state)
{
	struct qos_rig *x = *state;
	uint8_t *out;

	set(x, ENABLE, 0, 0);
	message(x, PRIO, 63, true);
	message(x, PRIO - 2, 63, true);
	message(x, PRIO - 2, 63, true);
	for (unsigned int i = 0; i < 3; i++) {
		static const uint32_t masks[] = {0, 1u << PRIO | 1u << (PRIO - 2), UINT32_C(0xff)};

		out = mailbox(x);
		assert_int_equal(run(x, 1 | masks[i] << 8, 1, out), MLX4_STAT_OK);
		for (unsigned int prio = 0; prio < 8; prio++) {
			assert_int_equal(prm_get32(out, 0x40 * prio + 0x24), prio == PRIO);
			assert_int_equal(prm_get32(out, 0x40 * prio + 0x0c), prio == PRIO - 2 ? 2 : 0);
		}
	}
	out = mailbox(x);
	assert_int_equal(run(x, 1u << 31 | 1 | (1u << PRIO | 1u << 0) << 8, 1, out), MLX4_STAT_OK);
	assert_int_equal(prm_get32(out, 0x40 * PRIO + 0x24), 1);
	assert_int_equal(counter(x, PRIO, 0x24), 0);
	assert_int_equal(counter(x, PRIO - 2, 0x0c), 2);
}

/* What the standard has before anything is set. */
static void
defaults(void **state)
{
	static const uint32_t want[] = {1, 15000, 150000, 5, 0, 5, 50, 7, 50, 10};
	struct qos_rig *x = *state;
	uint8_t *out = mailbox(x);

	assert_int_equal(run(x, 1 | 1u << 8, 0, out), MLX4_STAT_OK);
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(prm_get32(out, 0x10 + 4 * i), want[i]);
	assert_int_equal(prm_get32(out, 0x0c), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(limits, up, down),
		cmocka_unit_test_setup_teardown(comes_back, up, down),
		cmocka_unit_test_setup_teardown(far_target, up, down),
		cmocka_unit_test_setup_teardown(ignored, up, down),
		cmocka_unit_test_setup_teardown(tags, up, down),
		cmocka_unit_test_setup_teardown(blocks, up, down),
		cmocka_unit_test_setup_teardown(defaults, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
