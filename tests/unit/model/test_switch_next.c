/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * When a switch says that its ports will give a frame, it remembers what it found out about ports that did not change. A twin that has
 * the same life is set anew, to the same, before each question, and so looks at all: both say the same times and ports, and
 * give the same frames.
 */
#include "switch_rig.h"

#define STEPS 20000u
#define MOST_NS 3000u
#define MANY 64u

struct twins {
	struct tp_switch *sw[2];
	struct tp_switch_port *port[2][RIG_PORTS];
	uint64_t now, seen; /* seen: frames that came */
	uint32_t seed;
	bool down;
};

static uint32_t
any(struct twins *t, uint32_t below)
{
	t->seed = t->seed * 1664525 + 1013904223;
	return (t->seed >> 8) % below;
}

static void
word(struct twins *t, unsigned int port, const char *w)
{
	char err[TP_SWITCH_TEXT] = "";

	for (unsigned int k = 0; k < 2; k++)
		if (tp_switch_word(t->sw[k], port, w, err) != 0)
			fail_msg("%s: %s", w, err);
}

static void
send(struct twins *t, unsigned int i, uint8_t *h, uint32_t len)
{
	struct tp_frame_seg seg = {h, len};
	struct tp_frame f = {.seg = &seg, .nseg = 1, .len = len};

	for (unsigned int k = 0; k < 2; k++)
		tp_switch_port_send(t->port[k][i], t->now, &f, 1);
}

static void
data(struct twins *t)
{
	uint8_t h[1600] = {[0] = 2, [6] = 2, [12] = 0x81, [16] = 0x88, [17] = 0xb5};
	unsigned int from = any(t, RIG_PORTS);

	/* One in five is to nobody who is known, so to all. */
	h[5] = (uint8_t)(1 + any(t, RIG_PORTS + 1));
	h[11] = (uint8_t)(1 + from);
	h[14] = (uint8_t)(any(t, 8) << 5);
	send(t, from, h, 64 + any(t, 1400));
}

/* Priorities 3 and 4 are told to wait, or to go on. */
static void
pause(struct twins *t)
{
	uint8_t h[60] = {1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 1, 1, 0, 0x18};
	uint32_t quanta = any(t, 3) == 0 ? 0 : any(t, 200);

	h[24] = h[26] = (uint8_t)(quanta >> 8);
	h[25] = h[27] = (uint8_t)quanta;
	send(t, any(t, RIG_PORTS), h, sizeof(h));
}

static void
act(struct twins *t)
{
	static const char *const rates[] = {"rate:1000", "rate:10000", "rate:40000", "rate:0"};
	uint32_t what = any(t, 100);

	if (what < 80) {
		data(t);
	} else if (what < 95) {
		pause(t);
	} else if (what < 98) {
		word(t, 1 + any(t, RIG_PORTS), rates[any(t, 4)]);
	} else {
		t->down = !t->down;
		for (unsigned int k = 0; k < 2; k++)
			tp_switch_port_link(t->port[k][RIG_PORTS - 1], !t->down);
	}
}

static uint64_t
ask(struct twins *t, uint64_t *due)
{
	struct tp_switch_config cfg;
	uint64_t all, at, first;
	char err[TP_SWITCH_TEXT];

	first = tp_switch_next(t->sw[0], t->now, due);
	tp_switch_config_get(t->sw[1], &cfg);
	assert_int_equal(tp_switch_config_set(t->sw[1], &cfg, err), 0);
	at = tp_switch_next(t->sw[1], t->now, &all);
	if (at != first || all != *due)
		fail_msg("at %llu: the next at %llu, by ports 0x%llx; the twin says %llu, 0x%llx",
			 (unsigned long long)t->now, (unsigned long long)first, (unsigned long long)*due,
			 (unsigned long long)at, (unsigned long long)all);
	return first;
}

static void
take(struct twins *t, unsigned int i)
{
	struct tp_frame a[MANY], b[MANY];
	unsigned int n = tp_switch_port_recv(t->port[0][i], t->now, a, MANY);

	assert_int_equal(tp_switch_port_recv(t->port[1][i], t->now, b, MANY), n);
	for (unsigned int k = 0; k < n; k++) {
		assert_int_equal(a[k].len, b[k].len);
		/* Pause frames have the address of their switch. */
		assert_memory_equal(a[k].seg[0].data + 12, b[k].seg[0].data + 12, a[k].len - 12);
	}
	t->seen += n;
}

static void
step(struct twins *t)
{
	uint64_t until = t->now + any(t, MOST_NS), due, at;

	while ((at = ask(t, &due)) <= until) {
		assert_true(at >= t->now);
		assert_int_equal(at == t->now, due != 0);
		t->now = at;
		for (unsigned int i = 0; i < RIG_PORTS; i++)
			if ((due >> i & 1) != 0)
				take(t, i);
	}
	t->now = until;
	act(t);
}

static void
against_twin(void **state)
{
	struct twins t = {.now = 1000000, .seed = 1};
	char err[TP_SWITCH_TEXT];

	(void)state;
	for (unsigned int k = 0; k < 2; k++) {
		assert_int_equal(tp_switch_get(k == 0 ? "one" : "twin", &t.sw[k]), 0);
		for (unsigned int i = 0; i < RIG_PORTS; i++) {
			assert_int_equal(tp_switch_port_add(t.sw[k], &t.port[k][i], err), 0);
			tp_switch_port_link(t.port[k][i], true);
		}
	}
	word(&t, 0, "buffer:400000");
	word(&t, 0, "headroom:20000");
	word(&t, 0, "xon:4000");
	word(&t, 0, "xoff:8000");
	word(&t, 0, "lossless:3+4");
	word(&t, 1, "rate:1000");
	word(&t, 2, "rate:10000");
	word(&t, 3, "rate:40000");
	word(&t, 2, "ets:10+20+30+40+0+0+0+0");
	word(&t, 3, "tc-rate:100+0+0+500+0+0+0+0");
	for (unsigned int i = 0; i < STEPS; i++)
		step(&t);
	assert_true(t.seen > STEPS / 4);
	for (unsigned int k = 0; k < 2; k++) {
		for (unsigned int i = 0; i < RIG_PORTS; i++)
			tp_switch_port_remove(t.port[k][i]);
		tp_switch_put(t.sw[k]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(against_twin)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
