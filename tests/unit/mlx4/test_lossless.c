/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Four senders, one slow receiver, a switch with a small buffer, links of 100 Mb/s, a minute of virtual time. Priority 3
 * is lossless, priority 0 is not. What is expected is computed in the comments.
 */
#include <stdlib.h>

#include "fabric_rig.h"

#define SENDERS 4u
#define RECEIVER SENDERS
#define SECOND UINT64_C(1000000000)
/* The slow application takes 32 frames of priority 3 every 8 ms: 4000 a second, and the ring is refilled by 32. */
#define TAKE 32u
#define TAKE_NS 8000000u
/* A frame of priority 3 in buffers of a card, with its FCS, and in the switch's, without. */
#define CARD_FRAME (FABRIC_LEN + 8)
#define SWITCH_FRAME (FABRIC_LEN + 4)

/* A pause frame takes so long to a sender: a long cable. */
#define CABLE_US 1000u
/* A frame takes 123.36 us of a link. */
#define LINE_NS (FABRIC_LINE * 80u)

/*
 * In a cable's 1 ms after the buffer asked for a pause the line brings 8.1 frames, and the sender has begun one and may
 * begin one more within a step of time. So much headroom is needed when all of them are of priority 3.
 */
#define HEADROOM 11u

/*
 * With threads a receiver that had to wait for a CPU gets all that the switch holds at once: of each sender what it takes
 * before it asks for a pause, 16 to 32 frames, and the headroom. Its own buffer has room for that behind its 60.
 */
#define REAL_FRAMES (60 + SENDERS * (32 + FABRIC_DESC + HEADROOM))
#define SETTLES 240u /* seconds, on a machine where threads seldom get a CPU */

/* "test_mlx4 lossless N" plays N seconds of test_lossless. */
static uint64_t run_ns = 60 * SECOND;

static const struct rte_ether_addr storage = {{0x02, 0xaa, 0, 0, 0, 0x33}};

/* headroom: frames that the switch keeps for a sender after it asked for a pause; without pfc nobody pauses. */
static struct fabric *
build(bool real, bool pfc, unsigned int headroom)
{
	static struct fabric f;
	char text[256];
	uint16_t i;

	f = (struct fabric){.real = real, .step = 100000, .now = real ? mlx4_now_us() * 1000 : SECOND};
	snprintf(text, sizeof(text), "rate0=100,impair0=delay:%u,wire0=switch:sw/rate:100", CABLE_US);
	for (i = 0; i < SENDERS; i++)
		fabric_add(&f, text, 1, 2);
	snprintf(text, sizeof(text), "rate0=100,rxbuf=%u,xoff=%u,xon=%u,wire0=switch:sw/rate:100",
		 (real ? REAL_FRAMES : 80) * CARD_FRAME, 60 * CARD_FRAME, 32 * CARD_FRAME);
	fabric_add(&f, text, 2, 1);
	fabric_switch("sw", 0, real ? "buffer:4000000" : "buffer:500000");
	if (pfc) {
		snprintf(text, sizeof(text), "headroom:%u", headroom * SWITCH_FRAME);
		fabric_switch("sw", 0, text);
		snprintf(text, sizeof(text), "xon:%u", 16 * SWITCH_FRAME);
		fabric_switch("sw", 0, text);
		snprintf(text, sizeof(text), "xoff:%u", 32 * SWITCH_FRAME);
		fabric_switch("sw", 0, text);
		fabric_switch("sw", 0, "lossless:3");
	}
	fabric_start(&f);
	for (i = 0; i <= SENDERS; i++)
		fabric_qos(i, pfc ? "prio-tc=0,0,0,1,0,0,0,0 pfc=3 tc=0-1:ets:50"
				  : "prio-tc=0,0,0,1,0,0,0,0 tc=0-1:ets:50");
	fabric_group(&f, RECEIVER, &storage, pfc ? "queues=1 dropless=forever pfc=on prio=3" : "queues=1 prio=3");
	/* Flows 0 to 3 are of priority 3, 4 to 7 of priority 0. */
	for (i = 0; i < SENDERS; i++) {
		fabric_prio(i, 1, 3);
		fabric_flow(&f, i, 1, RECEIVER, &storage);
	}
	for (i = 0; i < SENDERS; i++)
		fabric_flow(&f, i, 0, RECEIVER, NULL);
	return &f;
}

static void
run(struct fabric *f, uint64_t ns)
{
	uint64_t end = f->now + ns, taken = f->now / TAKE_NS;

	while (f->now < end) {
		fabric_tick(f);
		fabric_take(f, RECEIVER, 0, UINT32_MAX);
		if (f->now / TAKE_NS != taken)
			fabric_take(f, RECEIVER, 1, TAKE);
		taken = f->now / TAKE_NS;
	}
}

/* Nobody sends any more; what is on its way arrives. */
static void
settle(struct fabric *f)
{
	unsigned int i;

	for (i = 0; i < f->flows; i++)
		f->flow[i].on = false;
	run(f, SECOND);
}

struct sums {
	uint64_t sent[2], got[2], gaps[2]; /* of priorities 3 and 0 */
	uint64_t dropped[2];               /* by the switch */
};

static struct sums
sums(const struct fabric *f)
{
	struct tp_switch_port_stats st;
	struct sums s = {0};
	unsigned int i, why;

	for (i = 0; i < f->flows; i++) {
		s.sent[i / SENDERS] += f->flow[i].sent;
		s.got[i / SENDERS] += f->flow[i].got;
		s.gaps[i / SENDERS] += f->flow[i].out_of;
	}
	for (i = 1; i <= SENDERS; i++) {
		st = fabric_switch_stats("sw", i);
		for (why = 0; why < TP_SWITCH_NUM_DROPS; why++) {
			s.dropped[0] += st.prio[3].drop[why];
			s.dropped[1] += st.prio[0].drop[why];
		}
	}
	return s;
}

static void
assert_near(const char *what, double value, double wanted, double pct)
{
	if (value < wanted * (1 - pct / 100) || value > wanted * (1 + pct / 100))
		fail_msg("%s: %.6g, wanted %.6g +- %g %%", what, value, wanted, pct);
}

/*
 * The receiver's buffer asks for a pause at 60 frames; one more is on the line. The next 32 that are taken leave 29, which
 * is not above XON, 32. So there is one pause every 8 ms, with one frame for XOFF and one for XON. From XON to XOFF 31
 * frames come, behind what is left of one of priority 0, and up to two steps pass until both ends have heard: the pause lasts
 * for 8 ms less 31 * 123.36 us, at least for 8 ms less 32 * 123.36 us + 0.2 ms.
 */
static void
assert_receiver(const struct fabric *f)
{
	struct tp_switch_port_stats st = fabric_switch_stats("sw", RECEIVER + 1);
	struct tp_model_qos q = fabric_card(RECEIVER);
	uint64_t cycles = run_ns / TAKE_NS;

	/* Few are missing: those of the time until the ring was full. */
	assert_in_range(q.tx_pause[3].transitions, cycles - 10, cycles);
	assert_in_range(q.tx_pause[3].frames, 2 * q.tx_pause[3].transitions - 1, 2 * q.tx_pause[3].transitions);
	assert_in_range(q.tx_pause[3].paused_us, (cycles - 10) * (TAKE_NS - 32 * LINE_NS - 2 * f->step) / 1000,
			cycles * (TAKE_NS - 31 * LINE_NS) / 1000);
	/* The switch heard all of them, and did as it was told. */
	assert_int_equal(st.prio[3].rx_pause_frames, q.tx_pause[3].frames);
	assert_near("paused, ns", (double)st.prio[3].rx_pause_ns, (double)q.tx_pause[3].paused_us * 1000, 1);
	assert_int_equal(q.tx_pause[0].frames, 0);
	assert_int_equal(rig_xstat(RECEIVER, "tx_prio3_pause"), q.tx_pause[3].frames);
}

/*
 * What the senders may send while they are not paused is what the receiver takes: every second frame of a link is of
 * priority 3, so one every 246.72 us, and 4000 a second are taken. Of the 8.1 frames after the buffer asked for a pause
 * every second one needs headroom: 4, and one more by how they begin.
 */
static void
assert_senders(void)
{
	uint64_t open_us = 0;
	uint16_t i;

	for (i = 0; i < SENDERS; i++) {
		struct tp_switch_port_stats st = fabric_switch_stats("sw", i + 1u);
		struct tp_model_qos q = fabric_card(i);

		open_us += run_ns / 1000 - q.rx_pause[3].paused_us;
		/* The last one may be on the cable. */
		assert_in_range(st.prio[3].tx_pause_frames - q.rx_pause[3].frames, 0, 1);
		assert_int_equal(q.rx_pause[0].frames, 0);
		assert_in_range(st.prio[3].headroom_peak, 4 * SWITCH_FRAME, 5 * SWITCH_FRAME);
	}
	assert_near("time to send, us", (double)open_us, (double)(run_ns / SECOND * 4000 * 2 * LINE_NS / 1000), 3);
}

/* A minute: priority 3 loses nothing, and nothing comes twice or out of order, while priority 0 is dropped. */
static void
test_lossless(void **state)
{
	struct fabric *f = build(false, true, HEADROOM);
	struct sums s;

	run(f, run_ns);
	assert_receiver(f);
	assert_senders();
	settle(f);
	s = sums(f);
	assert_int_equal(s.got[0], s.sent[0]);
	assert_int_equal(s.gaps[0], 0);
	assert_int_equal(s.dropped[0], 0);
	/* At the end priority 3 had the lines for itself. */
	assert_in_range(fabric_switch_stats("sw", 1).prio[3].headroom_peak, 8 * SWITCH_FRAME, HEADROOM * SWITCH_FRAME);
	assert_near("frames of priority 3", (double)s.got[0], (double)(run_ns / SECOND * 4000), 2);
	assert_true(s.dropped[1] > s.got[1]);
	assert_int_equal(s.sent[1], s.got[1] + s.dropped[1]);
	assert_int_equal(rig_xstat(RECEIVER, "rx_prio3_packets"), s.got[0]);
	fabric_close(f);
}

/* Three frames of headroom are too few for the four that come, and only that loses. */
static void
test_headroom_short(void **state)
{
	struct fabric *f = build(false, true, 3);
	struct sums s;

	run(f, 2 * SECOND);
	settle(f);
	s = sums(f);
	assert_true(s.dropped[0] > 0);
	assert_int_equal(s.sent[0], s.got[0] + s.dropped[0]);
	fabric_close(f);
}

/* The same without pauses: priority 3 loses in the switch and at the receiver. */
static void
test_lossy(void **state)
{
	struct fabric *f = build(false, false, 0);
	struct rte_eth_stats st;
	struct sums s;
	uint16_t i;

	run(f, 5 * SECOND);
	settle(f);
	s = sums(f);
	assert_true(s.dropped[0] > 0);
	assert_true(s.gaps[0] > 0);
	assert_int_equal(rte_eth_stats_get(RECEIVER, &st), 0);
	assert_true(st.imissed > 0);
	assert_int_equal(s.sent[0] + s.sent[1], s.got[0] + s.got[1] + s.dropped[0] + s.dropped[1] + st.imissed);
	for (i = 0; i <= SENDERS; i++)
		assert_int_equal(fabric_card(i).tx_pause[3].frames + fabric_card(i).rx_pause[3].frames, 0);
	fabric_close(f);
}

/*
 * The same with cards in threads of their own. A thread that had to wait for a CPU catches up: a sender's with all of its
 * ring before it hears of a pause, which is the switch's headroom; the receiver's with all that the switch holds.
 */
static void
test_real_time(void **state)
{
	struct fabric *f = build(true, true, FABRIC_DESC + HEADROOM);
	unsigned int i;
	struct sums s;

	run(f, 3 * SECOND);
	/* The application takes 32 frames each time that it has a CPU, and some thousands may be on their way. */
	for (i = 0; i < SETTLES && (i == 0 || (s.got[0] != s.sent[0] && s.dropped[0] == 0)); i++) {
		settle(f);
		s = sums(f);
	}
	assert_int_equal(s.dropped[0], 0);
	assert_int_equal(s.got[0], s.sent[0]);
	assert_int_equal(s.gaps[0], 0);
	assert_true(s.got[0] > 0);
	assert_true(s.dropped[1] > 0);
	assert_true(fabric_card(RECEIVER).tx_pause[3].frames > 0);
	fabric_close(f);
}

/* "test_mlx4 lossless real" has the one that needs the CPUs for itself. */
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_lossless), cmocka_unit_test(test_headroom_short),
					   cmocka_unit_test(test_lossy)};
	const struct CMUnitTest real[] = {cmocka_unit_test(test_real_time)};

	if (rig_eal("test_lossless", "0") < 0)
		return 1;
	if (argc > 1 && strcmp(argv[1], "real") == 0)
		return cmocka_run_group_tests(real, NULL, NULL);
	if (argc > 1)
		run_ns = strtoull(argv[1], NULL, 0) * SECOND;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
