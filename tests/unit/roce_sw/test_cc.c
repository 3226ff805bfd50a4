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

/* Each queue pair that is limited, the slowest first: n CNPs leave 3 Gb/s x (1 - 1023/2048)^(n - 1) of it. */
static void
limited(void **state)
{
	static const unsigned int cnps[] = {2, 1, 3}, by_rate[] = {2, 0, 1};
	static const uint64_t kbps[] = {1501465, 3000000, 751465};
	struct tp_roce_cc_limited list[4];
	struct ibv_qp *a[3], *b[3];
	struct pair *p = *state;
	unsigned int n = 9;

	assert_int_equal(tp_roce_cc_limited(p->n[0].ctx, list, 4, &n), 0);
	assert_int_equal(n, 0);
	set(p, 0, "initial-alpha", 1023);
	set(p, 0, "dce-tcp-rtt", 0);
	set(p, 0, "rate-reduce-monitor-period", 0);
	set(p, 0, "time-reset", 0);
	set(p, 0, "byte-reset", 0);
	set(p, 1, "cnp-interval", 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(tp_roce_cc_enable(p->n[i].ctx, 1, true), 0);
	for (unsigned int i = 0; i < 3; i++) {
		pair_qps(p, &rc, &a[i], &b[i]);
		for (unsigned int k = 0; k < cnps[i]; k++)
			congest(p, a[i], b[i]);
	}
	/* One that waits. */
	pair_recv(p, 1, b[2], 1, 0, 64);
	pair_send(p, 0, a[2], 2, 0, 64);
	for (unsigned int max = 0; max <= 4; max++) {
		memset(list, 0xff, sizeof(list));
		assert_int_equal(tp_roce_cc_limited(p->n[0].ctx, list, max, &n), 0);
		assert_int_equal(n, 3);
		for (unsigned int i = 0; i < max && i < 3; i++) {
			unsigned int q = by_rate[i];

			assert_int_equal(list[i].qp_num, a[q]->qp_num);
			assert_int_equal(list[i].dest_qp_num, b[q]->qp_num);
			assert_in_range(list[i].kbps, kbps[q] - 3, kbps[q] + 3);
			assert_int_equal(list[i].alpha, 1023);
			assert_int_equal(list[i].prio, 0);
			assert_int_equal(list[i].time_stage + list[i].byte_stage, 0);
			assert_int_equal(list[i].requests, q == 2);
			assert_false(list[i].shared);
		}
		for (unsigned int i = max < 3 ? max : 3; i < 4; i++)
			assert_int_equal(list[i].qp_num, UINT32_MAX);
	}
	pair_wait(p, p->n[0].cq, 1, NULL);
	pair_wait(p, p->n[1].cq, 1, NULL);
	/* The other end hears no CNP. */
	assert_int_equal(tp_roce_cc_limited(p->n[1].ctx, list, 4, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(tp_roce_cc_enable(p->n[0].ctx, 1, false), 0);
	assert_int_equal(tp_roce_cc_limited(p->n[0].ctx, list, 4, &n), 0);
	assert_int_equal(n, 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(tp_roce_destroy_qp(a[i]), 0);
		assert_int_equal(tp_roce_destroy_qp(b[i]), 0);
	}
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {T(variants), T(restored), T(cleared), T(limited)};

	return cmocka_run_group_tests_name("roce_sw_cc", tests, NULL, NULL);
}
