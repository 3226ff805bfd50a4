/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Queue pairs: every transition of every type with every mask, against the tables of 11.2.5.2 as written down here;
 * ranges of attributes, capabilities, what a query gives back.
 */
#include <errno.h>
#include <string.h>

#include "verbs_qp.h"

/* --- the tables ------------------------------------------------------------------------------------------------- */

/*
 * Tables 91 to 98 of the standard, a line for each attribute: which transitions of which types need it (upper case) or
 * may have it (lower case); r, u and d are RC, UC and UD. The states are I, R, S, D, E(SQE).
 */
static const struct {
	int bit;
	const char *in[8]; /* RESET-INIT, INIT-INIT, INIT-RTR, RTR-RTS, RTS-RTS, RTS-SQD, SQD-SQD, SQD-RTS */
	const char *sqe_rts;
} wanted[] = {
	{IBV_QP_CUR_STATE, {"", "", "", "rud", "rud", "", "", "rud"}, "ud"},
	{IBV_QP_EN_SQD_ASYNC_NOTIFY, {"", "", "", "", "", "rud", "", ""}, ""},
	{IBV_QP_ACCESS_FLAGS, {"RU", "ru", "ru", "ru", "ru", "", "ru", "ru"}, "u"},
	{IBV_QP_PKEY_INDEX, {"RUD", "rud", "rud", "", "", "", "rud", ""}, ""},
	{IBV_QP_PORT, {"RUDP", "rud", "", "", "", "", "r", ""}, ""},
	{IBV_QP_QKEY, {"D", "d", "d", "d", "d", "", "d", "d"}, "d"},
	{IBV_QP_AV, {"", "", "RU", "", "", "", "ru", ""}, ""},
	{IBV_QP_PATH_MTU, {"", "", "RU", "", "", "", "", ""}, ""},
	{IBV_QP_TIMEOUT, {"", "", "", "R", "", "", "r", ""}, ""},
	{IBV_QP_RETRY_CNT, {"", "", "", "R", "", "", "r", ""}, ""},
	{IBV_QP_RNR_RETRY, {"", "", "", "R", "", "", "r", ""}, ""},
	{IBV_QP_RQ_PSN, {"", "", "RU", "", "", "", "", ""}, ""},
	{IBV_QP_MAX_QP_RD_ATOMIC, {"", "", "", "R", "", "", "r", ""}, ""},
	{IBV_QP_MIN_RNR_TIMER, {"", "", "R", "r", "r", "", "r", "r"}, ""},
	{IBV_QP_SQ_PSN, {"", "", "", "RUD", "", "", "", ""}, ""},
	{IBV_QP_MAX_DEST_RD_ATOMIC, {"", "", "R", "", "", "", "r", ""}, ""},
	{IBV_QP_PATH_MIG_STATE, {"", "", "", "ru", "ru", "", "ru", "ru"}, ""},
	{IBV_QP_DEST_QPN, {"", "", "RU", "", "", "", "", ""}, ""},
	/* the standard's tables have it, but an Ethernet port has one path only */
	{IBV_QP_ALT_PATH, {"", "", "", "", "", "", "", ""}, ""},
	{IBV_QP_CAP, {"", "", "", "", "", "", "", ""}, ""},
	{IBV_QP_RATE_LIMIT, {"", "", "", "", "", "", "", ""}, ""},
	{1 << 21, {"", "", "", "", "", "", "", ""}, ""},
	{1 << 30, {"", "", "", "", "", "", "", ""}, ""},
};

static const enum ibv_qp_state columns[9][2] = {
	{IBV_QPS_RESET, IBV_QPS_INIT}, {IBV_QPS_INIT, IBV_QPS_INIT}, {IBV_QPS_INIT, IBV_QPS_RTR},
	{IBV_QPS_RTR, IBV_QPS_RTS},    {IBV_QPS_RTS, IBV_QPS_RTS},   {IBV_QPS_RTS, IBV_QPS_SQD},
	{IBV_QPS_SQD, IBV_QPS_SQD},    {IBV_QPS_SQD, IBV_QPS_RTS},   {IBV_QPS_SQE, IBV_QPS_RTS},
};

/* Not of raw packets, which the standard has no table for: they are not stopped, and errors do not leave them in SQE. */
static bool
not_raw(char type, enum ibv_qp_state from, enum ibv_qp_state to)
{
	return type == 'p' && (from == IBV_QPS_SQD || from == IBV_QPS_SQE || to == IBV_QPS_SQD);
}

/* Is the transition legal; its needed and allowed attributes. */
static bool
want(char type, enum ibv_qp_state from, enum ibv_qp_state to, int *needs, int *takes)
{
	*needs = *takes = 0;
	if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
		return true;
	for (unsigned int c = 0; c < 9; c++) {
		if (columns[c][0] != from || columns[c][1] != to || (from == IBV_QPS_SQE && type == 'r') ||
		    not_raw(type, from, to))
			continue;
		for (unsigned int i = 0; i < RTE_DIM(wanted); i++) {
			const char *who = c == 8 ? wanted[i].sqe_rts : wanted[i].in[c];

			if (strchr(who, type - 'a' + 'A') != NULL)
				*needs |= wanted[i].bit;
			if (strchr(who, type) != NULL)
				*takes |= wanted[i].bit;
		}
		return true;
	}
	return false;
}

/* Tries one mask. */
static void
try(struct ibv_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to, int mask, bool ok)
{
	struct ibv_qp_attr attr = good(from, to);
	int rc;

	fake_reset();
	inner(qp)->v.state = from;
	rc = tp_roce_modify_qp(qp, &attr, mask);
	if (ok != (rc == 0) || (!ok && rc != EINVAL))
		fail_msg("type %d from %d to %d with mask 0x%x: %d", qp->qp_type, from, to, mask, rc);
	assert_int_equal(fake.calls, ok);
	assert_int_equal(fake_lines(), !ok);
	assert_int_equal(qp->state, ok ? to : from);
	if (ok) {
		assert_int_equal(fake.mask, mask);
		assert_int_equal(fake.from, from);
		assert_int_equal(fake.to, to);
	}
}

static unsigned int
all_masks(struct ibv_qp *qp, char type, enum ibv_qp_state from, enum ibv_qp_state to)
{
	unsigned int n = 0;
	int needs, takes;

	if (!want(type, from, to, &needs, &takes)) {
		for (unsigned int i = 0; i < RTE_DIM(wanted); i++)
			try(qp, from, to, IBV_QP_STATE | wanted[i].bit, false);
		try(qp, from, to, IBV_QP_STATE, false);
		return 0;
	}
	try(qp, from, to, IBV_QP_STATE | needs, true);
	try(qp, from, to, IBV_QP_STATE | needs | takes, true);
	if (from == to)
		try(qp, from, to, needs | takes, true); /* a mask without a state: it stays */
	for (unsigned int i = 0; i < RTE_DIM(wanted); i++, n++) {
		int bit = wanted[i].bit;

		if ((needs & bit) != 0)
			try(qp, from, to, IBV_QP_STATE | ((needs | takes) & ~bit), false);
		else
			try(qp, from, to, IBV_QP_STATE | needs | bit, (takes & bit) != 0);
	}
	return n;
}

static void
test_transitions(void **state)
{
	static const struct {
		enum ibv_qp_type type;
		char name;
	} types[] = {{IBV_QPT_RC, 'r'}, {IBV_QPT_UC, 'u'}, {IBV_QPT_UD, 'd'}, {IBV_QPT_RAW_PACKET, 'p'}};
	unsigned int legal = 0;

	for (unsigned int t = 0; t < RTE_DIM(types); t++) {
		struct ibv_qp *qp = make(types[t].type);

		for (int from = IBV_QPS_RESET; from <= IBV_QPS_ERR; from++) {
			for (int to = IBV_QPS_RESET; to <= IBV_QPS_UNKNOWN; to++)
				legal += all_masks(qp, types[t].name, (enum ibv_qp_state)from, (enum ibv_qp_state)to);
		}
		assert_int_equal(tp_roce_destroy_qp(qp), 0);
	}
	/* 14 ways to RESET and ERR, and 9 others; RC has no SQE, raw packets have neither SQE nor SQD */
	assert_int_equal(legal, (4 * (14 + 9) - 1 - 4) * RTE_DIM(wanted));
}

/* --- attributes ------------------------------------------------------------------------------------------------- */

/* One attribute in a transition of an RC queue pair that may have it: the last good and the first bad values. */
#define RANGE(bit, field, from, to, ok_low, ok_high, bad, words)                                                       \
	do {                                                                                                           \
		struct ibv_qp_attr a = good(from, to);                                                                 \
		int needs, takes;                                                                                      \
		assert_true(want('r', from, to, &needs, &takes));                                                      \
		a.field = ok_low;                                                                                      \
		inner(qp)->v.state = from;                                                                             \
		assert_int_equal(tp_roce_modify_qp(qp, &a, IBV_QP_STATE | needs | (bit)), 0);                          \
		a.field = ok_high;                                                                                     \
		inner(qp)->v.state = from;                                                                             \
		assert_int_equal(tp_roce_modify_qp(qp, &a, IBV_QP_STATE | needs | (bit)), 0);                          \
		a.field = bad;                                                                                         \
		inner(qp)->v.state = from;                                                                             \
		REFUSED_INT(tp_roce_modify_qp(qp, &a, IBV_QP_STATE | needs | (bit)), EINVAL, words);                   \
	} while (0)

static void
test_ranges(void **state)
{
	struct ibv_qp *qp = make(IBV_QPT_RC);

	RANGE(IBV_QP_PORT, port_num, IBV_QPS_RESET, IBV_QPS_INIT, 1, 1, 2, "port_num 2 is not in 1..1");
	RANGE(IBV_QP_PORT, port_num, IBV_QPS_RESET, IBV_QPS_INIT, 1, 1, 0, "port_num 0 is not in 1..1");
	RANGE(IBV_QP_PKEY_INDEX, pkey_index, IBV_QPS_RESET, IBV_QPS_INIT, 0, 0, 1, "pkey_index 1 is not in 0..0");
	RANGE(IBV_QP_ACCESS_FLAGS, qp_access_flags, IBV_QPS_RESET, IBV_QPS_INIT, 0, 0xf, 0x10, "qp_access_flags 0x10");
	/* the port fits 1024 */
	RANGE(IBV_QP_PATH_MTU, path_mtu, IBV_QPS_INIT, IBV_QPS_RTR, IBV_MTU_256, IBV_MTU_1024, IBV_MTU_2048,
	      "path_mtu 4 is not in 1..3");
	RANGE(IBV_QP_PATH_MTU, path_mtu, IBV_QPS_INIT, IBV_QPS_RTR, IBV_MTU_256, IBV_MTU_1024, 0,
	      "path_mtu 0 is not in 1..3");
	RANGE(IBV_QP_DEST_QPN, dest_qp_num, IBV_QPS_INIT, IBV_QPS_RTR, 0, 0xffffff, 0x1000000,
	      "dest_qp_num 16777216 is not in 0..16777215");
	RANGE(IBV_QP_RQ_PSN, rq_psn, IBV_QPS_INIT, IBV_QPS_RTR, 0, 0xffffff, 0x1000000,
	      "rq_psn 16777216 is not in 0..16777215");
	RANGE(IBV_QP_SQ_PSN, sq_psn, IBV_QPS_RTR, IBV_QPS_RTS, 0, 0xffffff, 0x1000000,
	      "sq_psn 16777216 is not in 0..16777215");
	RANGE(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, IBV_QPS_INIT, IBV_QPS_RTR, 0, FAKE_MAX_RD, FAKE_MAX_RD + 1,
	      "max_dest_rd_atomic 13 is not in 0..12");
	RANGE(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic, IBV_QPS_RTR, IBV_QPS_RTS, 0, FAKE_MAX_INIT_RD,
	      FAKE_MAX_INIT_RD + 1, "max_rd_atomic 11 is not in 0..10");
	RANGE(IBV_QP_MIN_RNR_TIMER, min_rnr_timer, IBV_QPS_INIT, IBV_QPS_RTR, 0, 31, 32,
	      "min_rnr_timer 32 is not in 0..31");
	RANGE(IBV_QP_TIMEOUT, timeout, IBV_QPS_RTR, IBV_QPS_RTS, 0, 31, 32, "timeout 32 is not in 0..31");
	RANGE(IBV_QP_RETRY_CNT, retry_cnt, IBV_QPS_RTR, IBV_QPS_RTS, 0, 7, 8, "retry_cnt 8 is not in 0..7");
	RANGE(IBV_QP_RNR_RETRY, rnr_retry, IBV_QPS_RTR, IBV_QPS_RTS, 0, 7, 8, "rnr_retry 8 is not in 0..7");
	RANGE(IBV_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify, IBV_QPS_RTS, IBV_QPS_SQD, 0, 1, 2,
	      "en_sqd_async_notify 2 is not in 0..1");
	RANGE(IBV_QP_PATH_MIG_STATE, path_mig_state, IBV_QPS_RTS, IBV_QPS_RTS, IBV_MIG_MIGRATED, IBV_MIG_MIGRATED,
	      IBV_MIG_REARM, "path_mig_state 1 is not in 0..0");
	RANGE(IBV_QP_CUR_STATE, cur_qp_state, IBV_QPS_RTS, IBV_QPS_RTS, IBV_QPS_RTS, IBV_QPS_RTS, IBV_QPS_SQE,
	      "is in RTS, not in SQE");
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
}

/* From RESET to RTS, each step with values that the steps before did not have. */
static void
to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = good(IBV_QPS_RESET, IBV_QPS_INIT);

	assert_int_equal(tp_roce_modify_qp(qp, &a, INIT_RC), 0);
	a.qp_state = IBV_QPS_RTR;
	assert_int_equal(tp_roce_modify_qp(qp, &a, RTR_RC), 0);
	a.qp_state = IBV_QPS_RTS;
	assert_int_equal(tp_roce_modify_qp(qp, &a, RTS_RC), 0);
}

static void
test_query(void **state)
{
	struct ibv_qp *qp = make(IBV_QPT_RC);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a, set = good(IBV_QPS_RESET, IBV_QPS_RESET);

	to_rts(qp);
	assert_int_equal(tp_roce_query_qp(qp, &a, 0, &init), 0);
	assert_int_equal(a.qp_state, IBV_QPS_RTS);
	assert_int_equal(a.cur_qp_state, IBV_QPS_RTS);
	assert_int_equal(a.path_mtu, set.path_mtu);
	assert_int_equal(a.rq_psn, set.rq_psn);
	assert_int_equal(a.sq_psn, 0x777); /* the home knows better */
	assert_int_equal(a.dest_qp_num, set.dest_qp_num);
	assert_int_equal(a.qp_access_flags, set.qp_access_flags);
	assert_memory_equal(&a.ah_attr, &set.ah_attr, sizeof(a.ah_attr));
	assert_int_equal(a.port_num, 1);
	assert_int_equal(a.timeout, set.timeout);
	assert_int_equal(a.retry_cnt, set.retry_cnt);
	assert_int_equal(a.rnr_retry, set.rnr_retry);
	assert_int_equal(a.min_rnr_timer, set.min_rnr_timer);
	assert_int_equal(a.max_rd_atomic, set.max_rd_atomic);
	assert_int_equal(a.max_dest_rd_atomic, set.max_dest_rd_atomic);
	assert_int_equal(a.qkey, 0); /* was in no mask */
	assert_int_equal(a.cap.max_send_wr, 8);
	assert_ptr_equal(init.send_cq, cq);
	assert_ptr_equal(init.qp_context, &pd);
	assert_int_equal(init.qp_type, IBV_QPT_RC);
	assert_int_equal(init.sq_sig_all, 1);
	assert_int_equal(init.cap.max_recv_sge, 3);

	/* the home moved it by itself */
	qp->state = IBV_QPS_ERR;
	assert_int_equal(tp_roce_query_qp(qp, &a, 0, &init), 0);
	assert_int_equal(a.qp_state, IBV_QPS_ERR);

	/* RESET forgets */
	set.qp_state = IBV_QPS_RESET;
	assert_int_equal(tp_roce_modify_qp(qp, &set, IBV_QP_STATE), 0);
	assert_int_equal(tp_roce_query_qp(qp, &a, 0, &init), 0);
	assert_int_equal(a.dest_qp_num, 0);
	assert_int_equal(a.timeout, 0);
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
}

/* What the home refuses changes nothing. */
static void
test_refused_by_home(void **state)
{
	struct ibv_qp *qp = make(IBV_QPT_RC);
	struct ibv_qp_attr a = good(IBV_QPS_INIT, IBV_QPS_RTR), got;
	struct ibv_qp_init_attr init;

	inner(qp)->v.state = IBV_QPS_INIT;
	fake.fail_op = "modify_qp";
	fake.fail_err = EIO;
	assert_int_equal(tp_roce_modify_qp(qp, &a, RTR_RC), EIO);
	assert_int_equal(fake.seen.dest_qp_num, 0xabcdef); /* merged when the home was asked */
	assert_int_equal(qp->state, IBV_QPS_INIT);
	assert_int_equal(tp_roce_query_qp(qp, &got, 0, &init), 0);
	assert_int_equal(got.dest_qp_num, 0);
	assert_int_equal(inner(qp)->path.dmac.addr_bytes[5], 0);
	fake_reset();
	assert_int_equal(tp_roce_modify_qp(qp, &a, RTR_RC), 0);
	assert_int_equal(inner(qp)->path.dmac.addr_bytes[5], 9);

	fake.fail_op = "destroy_qp";
	fake.fail_err = EIO;
	assert_int_equal(tp_roce_destroy_qp(qp), EIO);
	fake_reset();
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
}

static void
test_create(void **state)
{
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_srq *srq = tp_roce_create_srq(pd, &srq_init);
	struct ibv_qp_init_attr a = init_of(IBV_QPT_UD);
	struct ibv_qp *qp;

	/* granted is not less than asked for, and written back */
	qp = tp_roce_create_qp(pd, &a);
	assert_non_null(qp);
	assert_int_equal(a.cap.max_send_wr, 8);
	assert_int_equal(a.cap.max_recv_wr, 6);
	assert_int_equal(qp->state, IBV_QPS_RESET);
	assert_ptr_equal(qp->qp_context, &pd);
	assert_int_equal(tp_roce_destroy_qp(qp), 0);

	/* nothing asked for is a little */
	a.cap = (struct ibv_qp_cap){0};
	qp = tp_roce_create_qp(pd, &a);
	assert_non_null(qp);
	assert_int_equal(a.cap.max_send_wr, 1);
	assert_int_equal(a.cap.max_recv_sge, 1);
	assert_int_equal(tp_roce_destroy_qp(qp), 0);

	/* beside a shared queue, receive capabilities are not looked at */
	a.srq = srq;
	a.cap.max_recv_wr = 1u << 30;
	qp = tp_roce_create_qp(pd, &a);
	assert_non_null(qp);
	assert_int_equal(a.cap.max_recv_wr, 0);
	assert_int_equal(tp_roce_destroy_srq(srq), EBUSY);
	assert_int_equal(tp_roce_destroy_cq(cq), EBUSY);
	assert_int_equal(tp_roce_dealloc_pd(pd), EBUSY);
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
	assert_int_equal(tp_roce_destroy_srq(srq), 0);
	a.srq = NULL;

#define CAP(field, bad, words)                                                                                         \
	do {                                                                                                           \
		a = init_of(IBV_QPT_RC);                                                                               \
		a.cap.field = (bad);                                                                                   \
		REFUSED_PTR(tp_roce_create_qp(pd, &a), EINVAL, words);                                                 \
		a.cap.field = (bad)-1;                                                                                 \
		qp = tp_roce_create_qp(pd, &a);                                                                        \
		assert_non_null(qp);                                                                                   \
		assert_int_equal(tp_roce_destroy_qp(qp), 0);                                                           \
	} while (0)
	CAP(max_send_wr, FAKE_MAX_WR + 1, "max_send_wr 501 is not in 0..500");
	CAP(max_recv_wr, FAKE_MAX_WR + 1, "max_recv_wr 501 is not in 0..500");
	CAP(max_send_sge, FAKE_MAX_SGE + 1, "max_send_sge 9 is not in 0..8");
	CAP(max_recv_sge, FAKE_MAX_SGE + 1, "max_recv_sge 9 is not in 0..8");
	CAP(max_inline_data, FAKE_MAX_INLINE + 1, "max_inline_data 201 is not in 0..200");

	a = init_of(IBV_QPT_XRC_SEND);
	REFUSED_PTR(tp_roce_create_qp(pd, &a), EOPNOTSUPP,
		    "queue pair type 9 is none of 2 (RC), 3 (UC), 4 (UD), 8 (raw packet)");
	a = init_of(IBV_QPT_RC);
	a.send_cq = NULL;
	REFUSED_PTR(tp_roce_create_qp(pd, &a), EINVAL, "needs a send completion queue");
	a = init_of(IBV_QPT_RC);
	a.recv_cq = NULL;
	REFUSED_PTR(tp_roce_create_qp(pd, &a), EINVAL, "needs a receive completion queue");

	a = init_of(IBV_QPT_RC);
	fake_reset();
	fake.fail_op = "create_qp";
	fake.fail_err = ENOSPC;
	assert_null(tp_roce_create_qp(pd, &a));
	assert_int_equal(errno, ENOSPC);
}

static void
test_limit(void **state)
{
	struct ibv_qp_init_attr a = init_of(IBV_QPT_UD);
	struct ibv_qp *qp[100];

	for (unsigned int i = 0; i < 100; i++)
		qp[i] = make(IBV_QPT_UD);
	REFUSED_PTR(tp_roce_create_qp(pd, &a), ENOMEM, "there are 100 queue pairs already, 100 is the limit");
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(tp_roce_destroy_qp(qp[i]), 0);
}

static void
test_sport(void **state)
{
	struct ibv_qp *qp = make(IBV_QPT_RC);
	struct ibv_qp_attr a = good(IBV_QPS_INIT, IBV_QPS_RTR);

	REFUSED_INT(tp_roce_set_udp_sport(qp, 0xbfff), EINVAL, "UDP source port 49151 is not in 49152..65535");
	inner(qp)->v.state = IBV_QPS_RTS;
	REFUSED_INT(tp_roce_set_udp_sport(qp, 0xc000), EINVAL, "is set before RTR, not in RTS");

	/* that of both numbers, or the one that was set */
	inner(qp)->v.state = IBV_QPS_INIT;
	assert_int_equal(tp_roce_modify_qp(qp, &a, RTR_RC), 0);
	assert_int_equal(fake.path.sport, (uint16_t)(0xc000 | (qp->qp_num ^ 0xabcdef)));
	inner(qp)->v.state = IBV_QPS_INIT;
	assert_int_equal(tp_roce_set_udp_sport(qp, 0xc123), 0);
	assert_int_equal(tp_roce_modify_qp(qp, &a, RTR_RC), 0);
	assert_int_equal(fake.path.sport, 0xc123);
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
}

/* An error that the home tells during a change lasts, but for what is reset. */
static void
test_error_meanwhile(void **state)
{
	struct ibv_qp *qp = make(IBV_QPT_RC);
	struct ibv_qp_attr init = good(IBV_QPS_RESET, IBV_QPS_INIT), rtr = good(IBV_QPS_INIT, IBV_QPS_RTR),
			   reset = {.qp_state = IBV_QPS_RESET};

	assert_int_equal(tp_roce_modify_qp(qp, &init, INIT_RC), 0);
	fake.fails_meanwhile = true;
	assert_int_equal(tp_roce_modify_qp(qp, &rtr, RTR_RC), 0);
	assert_int_equal(qp->state, IBV_QPS_ERR);
	inner(qp)->v.state = IBV_QPS_RTS;
	assert_int_equal(tp_roce_modify_qp(qp, &reset, IBV_QP_STATE), 0);
	assert_int_equal(qp->state, IBV_QPS_RESET);
	fake.fails_meanwhile = false;
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_transitions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ranges, setup, teardown),
		cmocka_unit_test_setup_teardown(test_query, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_by_home, setup, teardown),
		cmocka_unit_test_setup_teardown(test_create, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sport, setup, teardown),
		cmocka_unit_test_setup_teardown(test_error_meanwhile, setup, teardown),
	};

	return fake_eal("--no-telemetry") != 0 ? 1 : cmocka_run_group_tests_name("roce_verbs_qp", tests, NULL, NULL);
}
