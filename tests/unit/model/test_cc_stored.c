/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Congestion control that a port has stored: its mailboxes octet by octet, packets of queue pairs that no command prepared for
 * it, and how long it lasts.
 */
#include "verbs_rig.h"

#define CMD 0x68
#define GET 0
#define SET 4
#define RP 1u
#define NP 2u
#define CLEAR (1u << 31)
#define MOD(port, prio, algorithm) ((uint32_t)(algorithm) << 16 | 1u << (8 + (prio)) | (port))
#define ON (1u << 31 | 3u << 24)
#define AFTER (1u << 23)
#define PRIO 3u

static const struct tp_model_config *
stores(const char *first, const char *second)
{
	static struct tp_model_config cfg;

	tp_model_config_default(&cfg);
	cfg.cc[0] = first;
	cfg.cc[1] = second;
	return &cfg;
}

static uint32_t
get(struct card *c, uint32_t mod, uint32_t off)
{
	assert_int_equal(card_cmd_out(c, CMD, GET, mod), 0);
	return prm_get32(card_out(c), off);
}

/* Each parameter at its place, of its priorities alone; the rest has the defaults. */
static void
test_places(void **state)
{
	static const struct {
		uint32_t algorithm, off, value, other;
	} row[] = {
		{RP, 0x0c, ON | 1u << 27 | 1u << 17, AFTER},
		{RP, 0x14, 131071, 100},
		{RP, 0x18, 32767, 400},
		{RP, 0x1c, 31, 5},
		{RP, 0x20, 27, 0},
		{RP, 0x24, 21, 10},
		{RP, 0x28, 22, 100},
		{RP, 0x2c, 0, 11},
		{RP, 0x30, 100, 50},
		{RP, 0x34, 23, 1},
		{RP, 0x54, 24, 3000},
		{RP, 0x58, 1023, 32},
		{RP, 0x5c, 25, 4},
		{NP, 0x0c, 1u << 31, 0},
		{NP, 0x14, 26, 4},
		{NP, 0x18, 63u << 8 | 5, 7},
	};
	char text[] =
		"prio:0+7/clamp-target-rate:1/clamp-target-rate-after-time-inc:0/time-reset:131071/byte-reset:32767/"
		"threshold:31/max-rate:27/disable-hai-stage:1/ai-rate:21/hai-rate:22/alpha-to-rate-shift:0/"
		"min-dec-fac:100/min-rate:23/"
		"rate-on-first-cnp:24/dce-tcp-g:1023/dce-tcp-rtt:25/cnp-interval:26/cnp-dscp:63/cnp-802p-prio:5/"
		"prio:4/ai-rate:0x42";
	struct card *c = card_new(stores(text, NULL));

	(void)state;
	/* It is a copy that the card has. */
	memset(text, 'x', sizeof(text) - 1);
	card_boot(c, CARD_DMFS);
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		for (unsigned int prio = 0; prio < 8; prio++) {
			uint32_t is = prio == 0 || prio == 7 ? row[i].value : row[i].other;

			if (prio == 4 && row[i].off == 0x0c)
				is = row[i].algorithm == RP ? ON | AFTER : 1u << 31;
			if (prio == 4 && row[i].algorithm == RP && row[i].off == 0x24)
				is = 0x42;
			assert_int_equal(get(c, MOD(1, prio, row[i].algorithm), row[i].off), is);
			assert_int_equal(get(c, MOD(2, prio, row[i].algorithm), row[i].off), row[i].other);
		}
	card_expect_clean(c);
	card_free(c);
}

/* A command changes it until the next reset; "clear" gives the defaults, which are not what is stored. */
static void
test_lasts(void **state)
{
	struct card *c = card_new(stores(NULL, "prio:3/threshold:9/cnp-dscp:46"));

	(void)state;
	for (unsigned int boot = 0; boot < 2; boot++) {
		uint8_t *in;

		card_boot(c, CARD_DMFS);
		assert_int_equal(get(c, MOD(2, 3, RP), 0x1c), 9);
		assert_int_equal(get(c, MOD(2, 3, RP), 0x0c), ON | AFTER);
		assert_int_equal(get(c, MOD(2, 3, NP), 0x18), 46u << 8 | 7);
		in = card_in(c);
		prm_set32(in, 0, ON);
		prm_set32(in, 4, 1u << 28);
		prm_set32(in, 0x1c, 8);
		assert_int_equal(card_cmd_in(c, CMD, SET, MOD(2, 3, RP)), 0);
		assert_int_equal(get(c, MOD(2, 3, RP), 0x1c), 8);
		assert_int_equal(get(c, MOD(2, 3, RP), 0x0c), AFTER);
		assert_int_equal(get(c, MOD(2, 3, NP), 0x0c), 1u << 31);
		assert_int_equal(card_cmd_in(c, CMD, SET, MOD(2, 3, RP) | CLEAR), 0);
		assert_int_equal(get(c, MOD(2, 3, RP), 0x1c), 5);
		assert_int_equal(get(c, MOD(2, 3, RP), 0x0c), AFTER);
		tp_model_reset(c->m);
	}
	card_expect_clean(c);
	card_free(c);
}

/* A card whose ports store this, with queue pairs of the priority that no command prepared for it. */
static struct vr *
two_ends(void **state, const char *both, struct vr_qp **a, struct vr_qp **b)
{
	struct vr *v;

	vr_up_config(state, CARD_DMFS, stores(both, both));
	v = *state;
	for (unsigned int port = 1; port <= 2; port++)
		vr_port(v, port);
	*a = vr_qp(v, 1, MLX4_QP_ST_RC);
	*b = vr_qp(v, 2, MLX4_QP_ST_RC);
	vr_to(v, *a, 2, (*b)->qpn, VR_GID_V4);
	vr_to(v, *b, 1, (*a)->qpn, VR_GID_V4);
	for (unsigned int i = 0; i < 2; i++) {
		struct vr_qp *q = i == 0 ? *a : *b;

		prm_set(q->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_SCHED_QUEUE, MLX4_SCHED_QUEUE(i + 1, PRIO));
		prm_set(q->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_FORCE_VLAN, 1);
		prm_set(q->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_VLAN_INDEX, 3);
		vr_qp_up(v, q);
	}
	return v;
}

/* Nothing is asked of the card: packets say ECT(0), a marked one is answered, and its sender is limited to what is stored. */
static void
test_packets(void **state)
{
	static const char both[] = "prio:3/rate-on-first-cnp:100/time-reset:131071/byte-reset:0/cnp-dscp:46";
	struct tp_model_cc cc[8];
	struct vr_qp *a, *b;
	struct vr *v = two_ends(state, both, &a, &b);

	assert_int_equal(tp_model_get_cc(v->c->m, 1, cc), 0);
	for (unsigned int i = 0; i < 8; i++)
		assert_true(cc[i].marked == 0 && cc[i].cnps_sent == 0 && cc[i].marks_ignored == 0 &&
			    cc[i].cnps_handled == 0 && cc[i].cnps_ignored == 0 && cc[i].limited_qps == 0 &&
			    cc[i].limited_mbps == 0);
	v->end[0]->mark = 1;
	vr_exchange(v, a, b, 100);
	/* The wire marks what knows ECN, and nothing else. */
	assert_int_equal(vr_tos(v->end[0]->frame[0].data) & 3, 2);
	assert_int_equal(v->end[1]->sent, 2);
	assert_int_equal(vr_tos(v->end[1]->frame[0].data), 46 << 2 | 2);
	assert_int_equal(tp_model_get_cc(v->c->m, 1, cc), 0);
	assert_int_equal(cc[PRIO].cnps_handled, 1);
	assert_int_equal(cc[PRIO].cnps_ignored, 0);
	assert_int_equal(cc[PRIO].limited_qps, 1);
	assert_int_equal(cc[PRIO].limited_mbps, 100);
	assert_int_equal(cc[PRIO].marked + cc[PRIO].cnps_sent, 0);
	assert_int_equal(tp_model_get_cc(v->c->m, 2, cc), 0);
	assert_int_equal(cc[PRIO].marked, 1);
	assert_int_equal(cc[PRIO].cnps_sent, 1);
	assert_int_equal(cc[PRIO].marks_ignored, 0);
	assert_int_equal(cc[PRIO].cnps_handled + cc[PRIO].limited_qps, 0);
	assert_int_equal(cc[0].marked, 0);
	assert_int_equal(tp_model_get_cc(v->c->m, 0, cc), -22);
	assert_int_equal(tp_model_get_cc(v->c->m, 3, cc), -22);
	vr_quiet(v);
}

/*
 * The firmware's algorithm, with its defaults: the first CNP sets 3 Gb/s (card) or halves 40 Gb/s (paper); or 4 us later rate is
 * taken by half of alpha, which fell four times by 1/256 (vendor-hpcc): 40 x (1 - (255/256)^4 / 2) = 20.3107.
 */
static void
test_variants(void **state)
{
	static const struct {
		const char *text;
		uint32_t first, later, byte_reset, g;
	} row[] = {{"variant:card/prio:3", 3000, 3000, 400, 32},
		   {"prio:3/variant:paper", 20000, 20000, 156250, 4},
		   {"variant:paper/prio:3/variant:card", 3000, 3000, 400, 32},
		   {"variant:vendor-hpcc/prio:3", 40000, 20310, 0, 4},
		   {"prio:3/variant:vendor/min-rate:30000", 40000, 30000, 0, 4}};

	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct tp_model_cc cc[8];
		struct vr_qp *a, *b;
		struct vr *v = two_ends(state, row[i].text, &a, &b);

		assert_int_equal(get(v->c, MOD(1, 3, RP), 0x18), row[i].byte_reset);
		assert_int_equal(get(v->c, MOD(1, 3, RP), 0x58), row[i].g);
		assert_int_equal(get(v->c, MOD(1, 3, RP), 0x0c),
				 ON | AFTER | (row[i].byte_reset == 156250 ? 1u << 27 : 0));
		v->end[0]->mark = 1;
		vr_exchange(v, a, b, 100);
		assert_int_equal(tp_model_get_cc(v->c->m, 1, cc), 0);
		assert_int_equal(cc[PRIO].limited_mbps, row[i].first);
		vr_wait(v, 4000);
		assert_int_equal(tp_model_get_cc(v->c->m, 1, cc), 0);
		assert_int_equal(cc[PRIO].limited_mbps, row[i].later);
		/* Its defaults can be said, also those that no other value may be. */
		prm_set32(card_in(v->c), 4, 1u << 29);
		prm_set32(card_in(v->c), 0x18, row[i].byte_reset);
		assert_int_equal(card_cmd_in(v->c, CMD, SET, MOD(1, 3, RP)), 0);
		assert_int_equal(card_cmd_in(v->c, CMD, SET, MOD(1, 3, RP) | CLEAR), 0);
		assert_int_equal(get(v->c, MOD(1, 3, RP), 0x18), row[i].byte_reset);
		vr_quiet(v);
		if (i + 1 < sizeof(row) / sizeof(row[0]))
			vr_down(state);
	}
}

static void
test_refused(void **state)
{
	static const struct {
		const char *text, *item, *wanted;
	} row[] = {
		{"prio:8", "prio:8", "prio:PRIO+... with PRIO in 0..7"},
		{"prio:", "prio:", "prio:PRIO+... with PRIO in 0..7"},
		{"prio:1+", "prio:1+", "prio:PRIO+... with PRIO in 0..7"},
		{"prio:1,2", "prio:1,2", "prio:PRIO+... with PRIO in 0..7"},
		{"prio:12", "prio:12", "prio:PRIO+... with PRIO in 0..7"},
		{"prio:1+1", "prio:1+1", "each priority once"},
		{"prio:1/prio:0+1", "prio:0+1", "each priority once"},
		{"", "", "prio:PRIO+.../NAME:VALUE/..."},
		{"/", "/", "prio:PRIO+.../NAME:VALUE/..."},
		{"threshold:5", "threshold:5", "prio:PRIO+... in front of it"},
		{"prio:1/threshold:0", "threshold:0", "threshold:N with N in 1..31"},
		{"prio:1/threshold:32", "threshold:32", "threshold:N with N in 1..31"},
		{"prio:1/threshold:", "threshold:", "threshold:N with N in 1..31"},
		{"prio:1/threshold:-5", "threshold:-5", "threshold:N with N in 1..31"},
		{"prio:1/threshold:5x", "threshold:5x", "threshold:N with N in 1..31"},
		{"prio:1/time-reset:131072", "time-reset:131072", "time-reset:N with N in 0..131071 us"},
		{"prio:1/ai-rate:4294967296", "ai-rate:4294967296", "ai-rate:N with N in 1..4294967295 Mb/s"},
		{"prio:1/ai-rate:99999999999999999999", "ai-rate:99999999999999999999",
		 "ai-rate:N with N in 1..4294967295 Mb/s"},
		{"prio:1/initial-alpha:5", "initial-alpha:5",
		 "prio:PRIO+... or NAME:VALUE with a parameter of the card's congestion control"},
		{"prio:1/:5", ":5", "prio:PRIO+... or NAME:VALUE with a parameter of the card's congestion control"},
		{"prio:1/threshold", "threshold",
		 "prio:PRIO+... or NAME:VALUE with a parameter of the card's congestion control"},
		{"prio:1/variant:hpcc", "variant:hpcc", "variant:card, variant:paper or variant:vendor-hpcc"},
		{"variant:", "variant:", "variant:card, variant:paper or variant:vendor-hpcc"},
		{"prio:1/variant", "variant",
		 "prio:PRIO+... or NAME:VALUE with a parameter of the card's congestion control"},
		{"prio:1/threshold:9/variant:paper", "variant:paper", "it in front of values, as it brings its own"},
		{"prio:1/variant:paper/threshold:9/prio:2/variant:card/threshold:9/variant:paper", "variant:paper",
		 "it in front of values, as it brings its own"},
		{"variant:paper/ai-rate:5", "ai-rate:5", "prio:PRIO+... in front of it"},
		{"prio:1/prio", "prio",
		 "prio:PRIO+... or NAME:VALUE with a parameter of the card's congestion control"},
	};
	struct tp_model_config cfg;
	struct tp_model_cc_bad bad;
	struct tp_model *m = NULL;
	char most[1025];

	(void)state;
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		assert_int_equal(tp_model_cc_check(row[i].text, &bad), -22);
		assert_string_equal(bad.item, row[i].item);
		assert_string_equal(bad.wanted, row[i].wanted);
	}
	memset(most, '/', sizeof(most));
	memcpy(most, "prio:0", 6);
	most[1023] = '\0';
	assert_int_equal(tp_model_cc_check(most, &bad), 0);
	most[1023] = '/';
	most[1024] = '\0';
	assert_int_equal(tp_model_cc_check(most, &bad), -22);
	assert_string_equal(bad.wanted, "a shorter list");
	assert_int_equal(tp_model_cc_check("prio:0+1+2+3+4+5+6+7/ai-rate:4294967295", &bad), 0);
	/* A card takes no such word, and none without congestion control of RoCE v2. */
	for (unsigned int i = 0; i < 3; i++) {
		cfg = *stores(NULL, i == 0 ? "prio:8" : "prio:3");
		cfg.no_congestion = i == 1;
		if (i == 2)
			cfg.device_id = MLX4_PCI_DEV_CX3;
		assert_int_equal(tp_model_create(&cfg, &m), -22);
		cfg.cc[1] = "";
		assert_int_equal(tp_model_create(&cfg, &m), 0);
		tp_model_destroy(m);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_lasts),
		cmocka_unit_test_teardown(test_packets, vr_down),
		cmocka_unit_test_teardown(test_variants, vr_down),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
