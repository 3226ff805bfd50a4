/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Marked packets, the CNPs that answer them, and CNPs that nobody asked for. */
#include <errno.h>

#include "cnp_rig.h"

#define LINE 10000u /* Mb/s of a port of net_ring */

/* Annex A17.9.3: opcode, neither SE nor MigReq, partition, BECN, the sender's queue pair, no PSN, 16 octets of zeros, an ICRC. */
static void
congested(void **state)
{
	static const uint8_t zeros[16];
	const struct qp_conf c = {.type = IBV_QPT_RC, .net = PAIR_V4, .timeout = 20};
	struct pair *p = *state;
	struct ibv_qp *a, *b;
	const uint8_t *bth = kept + UDP_BTH;

	for (unsigned int n = 0; n < 2; n++)
		assert_int_equal(tp_roce_cc_enable(p->n[n].ctx, 1, true), 0);
	pair_qps(p, &c, &a, &b);
	assert_int_equal(pair_stat(p, 0, "cc_limited_mbps"), 0);
	pair_recv(p, 1, b, 1, 0, 64);
	p->wire = mark;
	kept_len = 0;
	pair_send(p, 0, a, 2, 0, 64);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
	assert_int_equal(pair_stat(p, 1, "cc_marked"), 1);
	assert_int_equal(pair_stat(p, 1, "cc_cnps_sent"), 1);
	assert_int_equal(pair_stat(p, 0, "cc_cnps_handled"), 1);
	assert_int_equal(pair_stat(p, 0, "cc_limited_qps"), 1);
	assert_true(pair_stat(p, 0, "cc_limited_mbps") > 0);
	assert_int_equal(kept_len, UDP_BTH + 12 + 16 + 4);
	assert_int_equal(bth[1], 0);
	assert_int_equal(ib_get16(bth + 2), 0xffff);
	assert_int_equal(bth[4], 0x40);
	assert_int_equal(ib_get24(bth + 5), a->qp_num);
	assert_int_equal(ib_get32(bth + 8), 0);
	assert_memory_equal(bth + 12, zeros, sizeof(zeros));
	/* The same one with an ICRC that is computed here. */
	icrc(kept, kept_len, TROCE_ICRC_IPV4_UDP);
	pair_inject(p, 0, kept, kept_len);
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 0, "cc_cnps_handled"), 2);
	p->wire = NULL;
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

static void
ready_to_receive(struct pair *p, struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = 2,
				.ah_attr = {.is_global = 1, .port_num = 1},
				.max_dest_rd_atomic = 1,
				.min_rnr_timer = 1};

	a.ah_attr.grh.dgid = pair_gid(p, 1, PAIR_V4);
	a.ah_attr.grh.sgid_index = (uint8_t)p->gid[0][PAIR_V4];
	assert_int_equal(tp_roce_modify_qp(qp, &a,
					   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
						   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
}

/* For a queue pair that sends nothing, or for none: counted, and ignored. One that sends is limited. */
static void
nobody_to_limit(void **state)
{
	static const struct {
		enum ibv_qp_state state; /* IBV_QPS_UNKNOWN: there is none */
		bool handled, invalid;
	} t[] = {{IBV_QPS_UNKNOWN, false, true}, {IBV_QPS_RESET, false, true}, {IBV_QPS_INIT, false, true},
		 {IBV_QPS_RTR, false, false},    {IBV_QPS_ERR, false, false},  {IBV_QPS_RTS, true, false}};
	const struct qp_conf c = {.type = IBV_QPT_RC, .net = PAIR_V4, .timeout = 20};
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct pair *p = *state;
	uint8_t f[CNP_LEN];

	assert_int_equal(tp_roce_cc_enable(p->n[0].ctx, 1, true), 0);
	for (unsigned int i = 0; i < RTE_DIM(t); i++) {
		uint64_t handled = pair_stat(p, 0, "cc_cnps_handled"), ignored = pair_stat(p, 0, "cc_cnps_ignored"),
			 cnps = pair_stat(p, 0, "cnps"), invalid = pair_stat(p, 0, "invalid_qp");
		struct ibv_qp *a = pair_qp(p, 0, &c), *b = pair_qp(p, 1, &c);

		if (t[i].state == IBV_QPS_ERR || t[i].state == IBV_QPS_RTS)
			pair_connect(p, a, b, &c);
		if (t[i].state == IBV_QPS_ERR)
			pair_to_error(a);
		else if (t[i].state == IBV_QPS_RTR)
			ready_to_receive(p, a);
		else if (t[i].state == IBV_QPS_RESET)
			assert_int_equal(tp_roce_modify_qp(a, &reset, IBV_QP_STATE), 0);
		/* The same place with other high bits is another queue pair's number. */
		cnp_make(f, t[i].state == IBV_QPS_UNKNOWN ? a->qp_num ^ 0x10000 : a->qp_num, 2);
		hear(p, f, CNP_LEN);
		if (pair_stat(p, 0, "cnps") != cnps + 1 || pair_stat(p, 0, "invalid_qp") != invalid + t[i].invalid ||
		    pair_stat(p, 0, "cc_cnps_handled") != handled + t[i].handled ||
		    pair_stat(p, 0, "cc_cnps_ignored") != ignored + !t[i].handled ||
		    pair_stat(p, 0, "cc_limited_qps") != t[i].handled)
			fail_msg("row %u", i);
		/* One that was spoilt is none. */
		f[UDP_BTH + 12] ^= 1;
		hear(p, f, CNP_LEN);
		assert_int_equal(pair_stat(p, 0, "cnps"), cnps + 1);
		if (t[i].state != IBV_QPS_UNKNOWN)
			assert_int_equal(pair_state(a), t[i].state);
		assert_int_equal(tp_roce_destroy_qp(a), 0);
		assert_int_equal(tp_roce_destroy_qp(b), 0);
	}
}

/* The mark of a CNP is counted, and not answered; the CNP is heard. Of another partition, or from elsewhere, it is not. */
static void
marked_cnp(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .net = PAIR_V4, .timeout = 20};
	struct pair *p = *state;
	struct ibv_qp *a, *b;
	uint8_t f[CNP_LEN];

	assert_int_equal(tp_roce_cc_enable(p->n[0].ctx, 1, true), 0);
	pair_qps(p, &c, &a, &b);
	cnp_make(f, a->qp_num, 3);
	hear(p, f, CNP_LEN);
	assert_int_equal(pair_stat(p, 0, "ecn_marked"), 1);
	assert_int_equal(pair_stat(p, 0, "cc_marked"), 0);
	assert_int_equal(pair_stat(p, 0, "cc_cnps_sent"), 0);
	assert_int_equal(pair_stat(p, 0, "cc_cnps_handled"), 1);
	/* One of another partition is no member's. */
	f[UDP_BTH + 3] ^= 1;
	icrc(f, CNP_LEN, TROCE_ICRC_IPV4_UDP);
	hear(p, f, CNP_LEN);
	assert_int_equal(pair_stat(p, 0, "bad_pkeys"), 1);
	assert_int_equal(pair_stat(p, 0, "cnps"), 1);
	f[UDP_BTH + 3] ^= 1;
	/* One from 192.0.2.3 is not its peer's. */
	f[29] = 3;
	ib_put16(f + 24, 0);
	ib_put16(f + 24, ip_sum(f + 14));
	icrc(f, CNP_LEN, TROCE_ICRC_IPV4_UDP);
	hear(p, f, CNP_LEN);
	assert_int_equal(pair_stat(p, 0, "bad_address"), 1);
	assert_int_equal(pair_stat(p, 0, "cnps"), 1);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* However many come, the queue pair keeps min-rate, nobody answers, and its messages go. */
static void
flood(void **state)
{
	enum { CNPS = 100000, AT_ONCE = 50 };
	const struct qp_conf c = {.type = IBV_QPT_RC, .net = PAIR_V4, .timeout = 20};
	struct pair *p = *state;
	struct ibv_qp *a, *b;
	uint64_t before = roce_frames;
	uint8_t f[CNP_LEN];

	cc_steady(p, 0, 3000, 40);
	pair_qps(p, &c, &a, &b);
	p->wire = count;
	cnp_make(f, a->qp_num, 2);
	for (unsigned int i = 0; i < CNPS / AT_ONCE; i++) {
		for (unsigned int j = 0; j < AT_ONCE; j++)
			pair_inject(p, 0, f, CNP_LEN);
		while (pair_stat(p, 0, "cnps") != (i + 1) * AT_ONCE)
			pair_step(p);
		assert_true(pair_stat(p, 0, "cc_limited_mbps") >= 40);
	}
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 0, "cc_cnps_handled"), CNPS);
	assert_int_equal(pair_stat(p, 0, "cc_cnps_ignored"), 0);
	assert_int_equal(pair_stat(p, 0, "cc_limited_qps"), 1);
	assert_int_equal(pair_stat(p, 0, "cc_limited_mbps"), 40);
	assert_int_equal(roce_frames, before);
	pair_recv(p, 1, b, 1, 0, 64);
	pair_send(p, 0, a, 2, 0, 64);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
	/* The message and its answer are seen. */
	assert_int_equal(roce_frames, before + 2);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* RoCE v1 has no CNPs: a mark is counted, and not answered, and a CNP that comes so is ignored. */
static void
marked_v1(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .net = PAIR_V1, .timeout = 20};
	struct pair *p = *state;
	struct ibv_qp *a, *b;

	for (unsigned int n = 0; n < 2; n++)
		assert_int_equal(tp_roce_cc_enable(p->n[n].ctx, 1, true), 0);
	pair_qps(p, &c, &a, &b);
	p->wire = mark_v1;
	kept_len = 0;
	pair_recv(p, 1, b, 1, 0, 64);
	pair_send(p, 0, a, 2, 0, 64);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
	p->wire = NULL;
	ignore_v1(p, b->qp_num);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* A CNP of a ConnectX-4 Lx for queue pair 0x118, published with scapy's tests: from the IPv4 header on. */
static const uint8_t captured[] = {0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61,
				   0x0a, 0x00, 0x11, 0x01, 0x0a, 0x00, 0x12, 0x01, 0x00, 0x00, 0x12, 0xb7,
				   0x00, 0x28, 0x00, 0x00, 0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18,
				   0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
				   0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x82, 0xfd, 0x00, 0x2a};

static void
know_peer(struct pair *p, unsigned int node)
{
	union ibv_gid gid = pair_gid(p, !node, PAIR_V4);
	uint8_t mac[6];
	int rc;

	while ((rc = tp_roce_resolve(p->n[node].ctx, (uint32_t)p->gid[node][PAIR_V4], &gid, mac)) == EINPROGRESS)
		pair_step(p);
	assert_int_equal(rc, 0);
}

/* Numbers of queue pairs have some bits by chance. */
static struct ibv_qp *
numbered(struct pair *p, const struct qp_conf *c, uint32_t qpn)
{
	struct rsw_dev *d = troce_dev_of(p->n[0].ctx)->home;

	for (;;) {
		struct ibv_qp *qp;

		d->next_qp = RSW_QPN_INDEX(qpn) - 1;
		qp = pair_qp(p, 0, c);
		if (qp->qp_num == qpn)
			return qp;
		assert_int_equal(RSW_QPN_INDEX(qp->qp_num), RSW_QPN_INDEX(qpn));
		assert_int_equal(tp_roce_destroy_qp(qp), 0);
	}
}

/*
 * The one of a card is heard by a queue pair with its number and addresses; the one that is sent to it is the same, but for
 * IP's identification and the UDP source port, which are the sender's to choose, and the sums over them.
 */
static void
captured_cnp(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .net = PAIR_V4, .timeout = 20};
	uint8_t f[CNP_LEN] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08};
	struct pair *p = *state;
	struct ibv_qp *a, *b;

	assert_int_equal(sizeof(captured), CNP_LEN - 14);
	take_address(p, 0, captured + 16);
	take_address(p, 1, captured + 12);
	know_peer(p, 0);
	know_peer(p, 1);
	cc_steady(p, 0, 1000, 40);
	cc_set(p, 1, "cnp-dscp", 48);
	assert_int_equal(tp_roce_cc_enable(p->n[1].ctx, 1, true), 0);
	a = numbered(p, &c, 0x118);
	b = pair_qp(p, 1, &c);
	pair_connect(p, a, b, &c);
	memcpy(f + 14, captured, sizeof(captured));
	for (unsigned int i = 1; i <= 2; i++) {
		hear(p, f, CNP_LEN);
		assert_int_equal(pair_stat(p, 0, "cc_cnps_handled"), i);
		assert_int_equal(pair_stat(p, 0, "cc_limited_qps"), 1);
		/* By alpha / 2 of it, 1023/1024 and more. */
		assert_in_range(pair_stat(p, 0, "cc_limited_mbps"), i == 1 ? 1000 : 499, i == 1 ? 1000 : 501);
	}
	pair_recv(p, 1, b, 1, 0, 64);
	p->wire = mark;
	kept_len = 0;
	pair_send(p, 0, a, 2, 0, 64);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
	p->wire = NULL;
	assert_int_equal(kept_len, CNP_LEN);
	assert_memory_equal(kept, f, 14);
	assert_memory_equal(kept + 14, captured, 4);
	assert_memory_equal(kept + 14 + 6, captured + 6, 4);
	assert_memory_equal(kept + 14 + 12, captured + 12, 8);
	assert_memory_equal(kept + 14 + 22, captured + 22, sizeof(captured) - 22 - IB_ICRC_LEN);
	/* With the sender's choice the sums are the captured ones, too. */
	memcpy(kept + 14 + 4, captured + 4, 2);
	memcpy(kept + 14 + 20, captured + 20, 2);
	ib_put16(kept + 24, 0);
	ib_put16(kept + 24, ip_sum(kept + 14));
	icrc(kept, kept_len, TROCE_ICRC_IPV4_UDP);
	assert_memory_equal(kept + 14, captured, sizeof(captured));
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* Each parameter at its ends, and beside them: what is refused leaves what was. */
static void
ranges(void **state)
{
	static const struct {
		const char *name;
		uint64_t min, max; /* UINT64_MAX: the line's rate */
	} row[] = {
		{"clamp-target-rate", 0, 1},
		{"clamp-target-rate-after-time-inc", 0, 1},
		{"disable-hai-stage", 0, 1},
		{"max-rate", 0, UINT64_MAX},
		{"time-reset", 0, 131071},
		{"byte-reset", 0, 32767},
		{"threshold", 1, 31},
		{"ai-rate", 1, UINT64_MAX},
		{"hai-rate", 1, UINT64_MAX},
		{"alpha-to-rate-shift", 0, 11},
		{"min-dec-fac", 0, 100},
		{"min-rate", 0, UINT64_MAX},
		{"rate-on-first-cnp", 0, UINT64_MAX},
		{"dce-tcp-g", 0, 1023},
		{"dce-tcp-rtt", 0, 131071},
		{"cnp-interval", 0, 131071},
		{"cnp-dscp", 0, 63},
		{"cnp-802p-prio", 0, 7},
		{"rate-reduce-monitor-period", 0, UINT64_C(4294967294)},
		{"initial-alpha", 0, 1023},
		{"cnp-prio-mode", 0, 1},
	};
	struct pair *p = *state;
	struct ibv_context *ctx = p->n[0].ctx;

	for (unsigned int i = 0; i < RTE_DIM(row); i++) {
		const char *name = row[i].name;
		uint64_t value = 0, most = row[i].max != UINT64_MAX ? row[i].max : UINT32_MAX;

		if (row[i].min != 0)
			assert_int_equal(tp_roce_cc_set(ctx, 1, name, row[i].min - 1), ERANGE);
		assert_int_equal(tp_roce_cc_set(ctx, 1, name, row[i].min), 0);
		assert_int_equal(tp_roce_cc_get(ctx, 0, name, &value), 0);
		assert_int_equal(value, row[i].min);
		assert_int_equal(tp_roce_cc_set(ctx, 1, name, most), 0);
		assert_int_equal(tp_roce_cc_set(ctx, 1, name, most + 1), ERANGE);
		assert_int_equal(tp_roce_cc_set(ctx, 1, name, UINT64_MAX), ERANGE);
		assert_int_equal(tp_roce_cc_get(ctx, 0, name, &value), 0);
		assert_int_equal(value, row[i].max != UINT64_MAX ? most : LINE);
	}
	/* There is no other. */
	assert_non_null(tp_roce_cc_param(RTE_DIM(row) - 1));
	assert_null(tp_roce_cc_param(RTE_DIM(row)));
	assert_int_equal(tp_roce_cc_set(ctx, 1, "cnp", 1), ENOENT);
	assert_int_equal(tp_roce_cc_set(ctx, 1, "", 1), ENOENT);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {T(congested), T(nobody_to_limit), T(marked_cnp), T(flood),
					   T(marked_v1), T(captured_cnp),    T(ranges)};

	return cmocka_run_group_tests_name("roce_sw_cnp", tests, NULL, NULL);
}
