/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Congestion control in software by its calls: what a CNP does by each variant, and the way back to what was at first. */
#include <errno.h>
#include <string.h>

#include <rte_mbuf.h>

#include "frame_sums.h"
#include "pair.h"

/* A switch that marks what may be marked (RFC 3168), towards node 1. */
static unsigned int
mark(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	(void)p;
	if (from == 0 && (f[15] & 3) == 2) {
		f[15] |= 3;
		ib_put16(f + 24, 0);
		ib_put16(f + 24, ip_sum(f + 14));
	}
	return 1;
}

/* A message of node 0 that comes marked: node 1 answers by a CNP. */
static void
congest(struct pair *p, struct ibv_qp *a, struct ibv_qp *b)
{
	uint64_t cnps = pair_stat(p, 0, "cnps");

	p->wire = mark;
	pair_recv(p, 1, b, 1, 0, 64);
	pair_send(p, 0, a, 2, 0, 64);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
	p->wire = NULL;
	assert_int_equal(pair_stat(p, 0, "cnps"), cnps + 1);
}

static void
set(struct pair *p, unsigned int node, const char *name, uint64_t value)
{
	assert_int_equal(tp_roce_cc_set(p->n[node].ctx, 1, name, value), 0);
}

static uint64_t
get(struct pair *p, const char *name)
{
	uint64_t v = UINT64_MAX;

	assert_int_equal(tp_roce_cc_get(p->n[0].ctx, 0, name, &v), 0);
	return v;
}

/* What a rate above the line's becomes. */
static uint64_t
line_of(struct pair *p)
{
	uint64_t line;

	set(p, 0, "min-rate", UINT32_MAX);
	line = get(p, "min-rate");
	assert_int_equal(tp_roce_cc_defaults(p->n[0].ctx, 1), 0);
	return line;
}

static const struct qp_conf rc = {.type = IBV_QPT_RC, .net = PAIR_V4, .timeout = 20};

/*
 * The first CNP: the paper halves, the card takes its first rate, and later cards look in a period of their own, which may be 0 or
 * the longest, whether to halve. Nothing raises the rate meanwhile, and alpha stays what it was.
 */
static void
variants(void **state)
{
	enum { LINE, HALF, FIRST };
	static const struct {
		const char *name, *is;
		uint64_t period, byte_reset, g;
		unsigned int rate;
	} row[] = {{"paper", "paper", 0, 156250, 4, HALF},
		   {"vendor-hpcc", "vendor-hpcc", 4294967294, 0, 4, LINE},
		   {"vendor", "vendor-hpcc", 0, 0, 4, HALF},
		   {"card", "card", 32, 400, 32, FIRST}};
	struct pair *p = *state;
	uint64_t line = line_of(p);

	assert_int_equal(tp_roce_cc_enable(p->n[0].ctx, 1, true), 0);
	assert_int_equal(tp_roce_cc_enable(p->n[1].ctx, 1, true), 0);
	set(p, 1, "cnp-interval", 0);
	for (unsigned int i = 0; i < RTE_DIM(row); i++) {
		uint64_t want[] = {[LINE] = line, [HALF] = line / 2, [FIRST] = 3000};
		struct ibv_qp *a, *b;

		assert_int_equal(tp_roce_cc_set_variant(p->n[0].ctx, 1, row[i].name), 0);
		assert_string_equal(tp_roce_cc_variant(p->n[0].ctx, 0), row[i].is);
		assert_string_equal(tp_roce_cc_variant(p->n[0].ctx, 1), "card");
		assert_true(tp_roce_cc_enabled(p->n[0].ctx, 0));
		assert_int_equal(get(p, "byte-reset"), row[i].byte_reset);
		assert_int_equal(get(p, "dce-tcp-g"), row[i].g);
		set(p, 0, "time-reset", 0);
		set(p, 0, "byte-reset", 0);
		set(p, 0, "dce-tcp-rtt", 0);
		set(p, 0, "rate-reduce-monitor-period", row[i].period);
		pair_qps(p, &rc, &a, &b);
		congest(p, a, b);
		assert_int_equal(pair_stat(p, 0, "cc_limited_qps"), 1);
		assert_int_equal(pair_stat(p, 0, "cc_limited_mbps"), want[row[i].rate]);
		/* Defaults are those of the variant. */
		assert_int_equal(tp_roce_cc_defaults(p->n[0].ctx, 1), 0);
		assert_string_equal(tp_roce_cc_variant(p->n[0].ctx, 0), row[i].is);
		assert_int_equal(get(p, "byte-reset"), row[i].byte_reset);
		assert_int_equal(tp_roce_destroy_qp(a), 0);
		assert_int_equal(tp_roce_destroy_qp(b), 0);
	}
	assert_int_equal(tp_roce_cc_set_variant(p->n[0].ctx, 1, "hpcc"), ENOENT);
	assert_string_equal(tp_roce_cc_variant_name(0), "card");
	assert_null(tp_roce_cc_variant_name(3));
	assert_null(tp_roce_cc_variant(p->n[0].ctx, 8));
}

/* Off with the card's defaults, of the priorities that are named; names of the driver for Linux are the same parameters. */
static void
restored(void **state)
{
	struct pair *p = *state;
	struct ibv_context *ctx = p->n[0].ctx;
	uint64_t v;

	assert_int_equal(tp_roce_cc_set_variant(ctx, 0xff, "paper"), 0);
	assert_int_equal(tp_roce_cc_enable(ctx, 0xff, true), 0);
	assert_int_equal(tp_roce_cc_set(ctx, 0xff, "rpgTimeReset", 77), 0);
	assert_int_equal(get(p, "time-reset"), 77);
	assert_int_equal(get(p, "rpgTimeReset"), 77);
	assert_int_equal(tp_roce_cc_set(ctx, 0xff, "", 77), ENOENT);
	assert_int_equal(tp_roce_cc_restore(ctx, 0x7f), 0);
	assert_int_equal(get(p, "time-reset"), 100);
	assert_string_equal(tp_roce_cc_variant(ctx, 0), "card");
	assert_false(tp_roce_cc_enabled(ctx, 6));
	assert_true(tp_roce_cc_enabled(ctx, 7));
	assert_int_equal(tp_roce_cc_get(ctx, 7, "time-reset", &v), 0);
	assert_int_equal(v, 77);
}

/* Counters start again, and what is limited stays so. Those of one priority are not told apart. */
static void
cleared(void **state)
{
	static const char *const name[] = {"ecn_marked", "cc_marked", "cc_cnps_sent", "cnps", "cc_cnps_handled"};
	struct pair *p = *state;
	struct ibv_qp *a, *b;

	for (unsigned int n = 0; n < 2; n++)
		assert_int_equal(tp_roce_cc_enable(p->n[n].ctx, 1, true), 0);
	pair_qps(p, &rc, &a, &b);
	for (unsigned int round = 0; round < 2; round++) {
		set(p, 1, "cnp-interval", 0);
		congest(p, a, b);
		for (unsigned int i = 0; i < RTE_DIM(name); i++)
			assert_int_equal(pair_stat(p, i < 3, name[i]), 1);
		for (unsigned int n = 0; n < 2; n++) {
			assert_int_equal(tp_roce_cc_clear(p->n[n].ctx, 1), EINVAL);
			assert_int_equal(pair_stat(p, n, name[n == 0 ? 4 : 1]), 1);
			assert_int_equal(tp_roce_cc_clear(p->n[n].ctx, 0xff), 0);
		}
		for (unsigned int i = 0; i < RTE_DIM(name); i++)
			assert_int_equal(pair_stat(p, i < 3, name[i]), 0);
		assert_int_equal(pair_stat(p, 0, "cc_limited_qps"), 1);
	}
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {T(variants), T(restored), T(cleared)};

	return cmocka_run_group_tests_name("roce_sw_cc", tests, NULL, NULL);
}
