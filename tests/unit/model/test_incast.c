/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Four queue pairs of a port of 2 Gb/s meet at a switch's port of 1 Gb/s, in virtual time: what the switch drops, or where it
 * must drop nothing, pauses, with congestion control on the card and without it. The switch is the judge.
 */
#include <inttypes.h>

#include "tp_switch.h"
#include "verbs_rig.h"

#define CMD 0x68
#define PRIO 3u
#define FLOWS 4u
#define WRITES 100u
#define LEN 8192u
#define US UINT64_C(1000)
#define STEP (2 * US)
#define LIMIT 100000u /* steps */

struct result {
	uint64_t drops, pauses, marks, peak, ns;
};

static void
word(struct tp_switch *sw, unsigned int port, const char *text)
{
	char err[TP_SWITCH_TEXT] = "";

	if (tp_switch_word(sw, port, text, err) != 0)
		fail_msg("%s: %s", text, err);
}

static void
set(struct vr *v, unsigned int port, uint32_t algorithm, uint32_t flags, uint32_t off, uint32_t value, unsigned int bit)
{
	uint8_t *in = card_in(v->c);

	memset(in, 0, 0x108);
	prm_set32(in, 0, flags);
	prm_set32(in, 4, off != 0 ? 1u << bit : 0);
	prm_set32(in, 0x0c, flags);
	if (off != 0)
		prm_set32(in, off, value);
	assert_int_equal(card_cmd_in(v->c, CMD, 4, algorithm << 16 | 1u << (8 + PRIO) | port), 0);
}

/* A quarter of the bottleneck with the first CNP, then by the paper's times. */
static void
congestion_control(struct vr *v)
{
	static const struct {
		uint32_t off, value, bit;
	} rp[] = {{0x14, 300, 30}, {0x18, 0, 29},  {0x24, 5, 26},  {0x28, 50, 25},
		  {0x34, 10, 22},  {0x58, 64, 13}, {0x5c, 55, 12}, {0x54, 250, 14}};

	for (unsigned int port = 1; port <= 2; port++) {
		for (unsigned int i = 0; i < sizeof(rp) / sizeof(rp[0]); i++)
			set(v, port, 1, 0, rp[i].off, rp[i].value, rp[i].bit);
		set(v, port, 1, 1u << 31 | 1u << 27 | 3u << 24, 0, 0, 0);
		set(v, port, 2, 1u << 31, 0x14, 50, 30);
	}
}

static void
plug(struct vr *v, bool lossless)
{
	char err[TP_SWITCH_TEXT] = "";
	struct tp_switch *sw;

	assert_int_equal(tp_switch_get("incast", &sw), 0);
	for (unsigned int port = 1; port <= 2; port++) {
		assert_int_equal(tp_model_wire_switch(v->c->m, port, port == 1 ? "incast" : "incast/rate:1000", err),
				 0);
		v->end[port - 1] = NULL;
	}
	word(sw, 0, "buffer:400000");
	word(sw, 0, "ecn:20000+80000+200000");
	word(sw, 0, "ecn-prio:3");
	if (lossless) {
		/* Marks come first. */
		word(sw, 0, "buffer:1000000");
		word(sw, 0, "xoff:200000");
		word(sw, 0, "xon:190000");
		word(sw, 0, "headroom:100000");
		word(sw, 0, "lossless:3");
	}
	tp_switch_put(sw);
}

/* Pause frames of the priority are honoured. */
static void
honour(struct vr *v, unsigned int port)
{
	uint8_t *in = card_in(v->c);

	prm_set(in, MLX4_SPG_V_TX_PAUSE, 1);
	prm_set(in, MLX4_SPG_V_RX_PAUSE, 1);
	prm_set(in, MLX4_SPG_RX_PFC, 1u << PRIO);
	assert_int_equal(card_cmd_in(v->c, MLX4_CMD_SET_PORT, 1, MLX4_SET_PORT_GENERAL << 8 | port), 0);
}

static unsigned int
done(struct vr *v, struct vr_qp *q)
{
	const uint8_t *e;
	unsigned int n = 0;

	for (; (e = vr_poll_cq(v, q)) != NULL; n++)
		if ((e[31] & 0x1f) == 0x1e)
			fail_msg("QP 0x%x: error 0x%02x", q->qpn, e[0x1b]);
	return n;
}

static struct result
judge(struct tp_switch *sw)
{
	struct result r = {0};
	struct tp_switch_port_stats port[2];

	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(tp_switch_port_stats_get(sw, i + 1, &port[i]), 0);
		for (unsigned int k = 0; k < TP_SWITCH_NUM_DROPS; k++)
			r.drops += port[i].prio[PRIO].drop[k];
	}
	r.pauses = port[0].prio[PRIO].tx_pause_frames;
	r.marks = port[1].prio[PRIO].ecn_marks;
	r.peak = port[1].prio[PRIO].out_peak;
	return r;
}

static struct result
play(bool lossless, bool cc)
{
	struct vr_qp *a[FLOWS], *b[FLOWS];
	struct tp_model_config cfg;
	unsigned int left = FLOWS * WRITES;
	struct tp_switch *sw;
	struct result r;
	uint64_t from;
	void *state;
	struct vr *v;

	tp_model_config_default(&cfg);
	cfg.rate_mbps[0] = 2000;
	assert_int_equal(vr_up_config(&state, CARD_DMFS, &cfg), 0);
	v = state;
	plug(v, lossless);
	for (unsigned int port = 1; port <= 2; port++) {
		vr_port(v, port);
		honour(v, port);
	}
	if (cc)
		congestion_control(v);
	for (unsigned int i = 0; i < FLOWS; i++) {
		struct vr_qp *q[2] = {a[i] = vr_qp(v, 1, MLX4_QP_ST_RC), b[i] = vr_qp(v, 2, MLX4_QP_ST_RC)};

		for (unsigned int k = 0; k < 2; k++) {
			uint8_t *path = q[k]->ctx + MLX4_QPC_PRI_PATH;

			vr_to(v, q[k], 2 - k, q[1 - k]->qpn, VR_GID_V4);
			prm_set(path, MLX4_PATH_SCHED_QUEUE, MLX4_SCHED_QUEUE(k + 1, PRIO));
			prm_set(path, MLX4_PATH_FORCE_VLAN, 1);
			prm_set(path, MLX4_PATH_VLAN_INDEX, 3);
			prm_set(path, MLX4_PATH_ACK_TIMEOUT, 14); /* 67 ms */
			prm_set(q[k]->ctx, MLX4_QPC_RETRY_COUNT, 7);
			vr_qp_up(v, q[k]);
		}
		vr_fill(vr_mem(v, a[i]), LEN, (uint8_t)i);
		for (unsigned int n = 0; n < WRITES; n++)
			vr_post_rdma(v, a[i], MLX4_OP_RDMA_WRITE, a[i]->mem, LEN, VR_RW_KEY, b[i]->mem);
	}
	sw = tp_switch_find("incast");
	assert_non_null(sw);
	from = v->now;
	for (unsigned int i = 0; i < LIMIT && left != 0; i++) {
		v->now += STEP;
		tp_model_set_time(v->c->m, v->now);
		for (unsigned int k = 0; k < 4; k++)
			tp_model_step(v->c->m, 32);
		for (unsigned int k = 0; k < FLOWS; k++)
			left -= done(v, a[k]);
	}
	assert_int_equal(left, 0);
	for (unsigned int i = 0; i < FLOWS; i++)
		assert_memory_equal(vr_mem(v, a[i]), vr_mem(v, b[i]), LEN);
	r = judge(sw);
	r.ns = v->now - from;
	tp_switch_put(sw);
	card_expect_clean(v->c);
	vr_down(&state);
	return r;
}

static void
tell(const char *what, uint64_t was, uint64_t is, const struct result *without, const struct result *with)
{
	print_message("%s %" PRIu64 " and %" PRIu64 ", longest queue %" PRIu64 " and %" PRIu64 ", %" PRIu64
		      " and %" PRIu64 " us\n",
		      what, was, is, without->peak, with->peak, without->ns / 1000, with->ns / 1000);
	/* And the line is used: 3.3 MB take 28 ms of it. */
	assert_in_range(with->ns, 26000000, 45000000);
}

static void
test_drops(void **state)
{
	struct result without = play(false, false), with = play(false, true);

	(void)state;
	tell("drops", without.drops, with.drops, &without, &with);
	assert_int_equal(without.marks, 0);
	assert_true(without.drops > 1000);
	assert_true(with.marks > 10);
	assert_int_equal(with.drops, 0);
}

static void
test_pauses(void **state)
{
	struct result without = play(true, false), with = play(true, true);

	(void)state;
	tell("pauses", without.pauses, with.pauses, &without, &with);
	assert_int_equal(without.drops + with.drops, 0);
	assert_true(without.pauses >= 20);
	assert_int_equal(with.pauses, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drops),
		cmocka_unit_test(test_pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
