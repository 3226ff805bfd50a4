/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * What the card is told about queue pairs and addresses: the mailboxes of each step, and the address vectors of datagrams, at the
 * offsets of the reference [DP 7.2, 7.3, 8.2, 10.1], with values that are none of any default.
 */
#include <stdlib.h>

#include "card_trace.h"
#include "ib_rig.h"
#include "roce_rig.h"
#include "drivers/mlx4/verbs/verbs.h"

#define BOX_DWORDS 66u
#define CTX 2u /* dwords in front of the context: the optional parameters */
#define PATH (CTX + 0x18 / 4)

struct box {
	uint32_t d[BOX_DWORDS];
};

/* The mailbox of the last command of this name for a queue pair. */
static struct box
box_of(struct card_trace *t, const char *command, uint32_t qpn)
{
	struct box b = {{0}};
	const char *p;
	char number[16];

	snprintf(number, sizeof(number), "0x%x", qpn);
	for (p = card_trace_box(t, command, number); *p != '\0'; p = strchr(p, '\n') + 1) {
		unsigned long at;
		unsigned int i;
		char *end;

		at = strtoul(p, &end, 16) / 4;
		for (i = 0; i < 4; i++) {
			unsigned long v = strtoul(end + (i == 0), &end, 16);

			if (at + i < BOX_DWORDS)
				b.d[at + i] = (uint32_t)v;
		}
	}
	return b;
}

static void
check(const struct box *b, unsigned int at, uint32_t mask, uint32_t want, const char *what)
{
	if ((b->d[at] & mask) != want)
		fail_msg("%s: 0x%08x, wanted 0x%08x of 0x%08x", what, b->d[at], want, mask);
}
#define ALL UINT32_MAX

static uint32_t
gid_dword(const union ibv_gid *g, unsigned int i)
{
	return (uint32_t)g->raw[4 * i] << 24 | (uint32_t)g->raw[4 * i + 1] << 16 | (uint32_t)g->raw[4 * i + 2] << 8 |
	       g->raw[4 * i + 3];
}

/* --- connections on Ethernet -------------------------------------------------------------------------------------- */

#define TCLASS 0xb5u
#define FLOW 0x54321u
#define HOPS 37u
#define SL 5u
#define RPSN 0x123456u
#define SPSN 0x654321u

static int
step_init(struct ibv_qp *qp, unsigned int access)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = access};

	return tp_roce_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int
step_rtr(struct ibv_qp *qp, const struct ibv_ah_attr *av, uint8_t depth)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
				.ah_attr = *av,
				.path_mtu = IBV_MTU_512,
				.dest_qp_num = 0xabcdef,
				.rq_psn = RPSN,
				.max_dest_rd_atomic = depth,
				.min_rnr_timer = 21};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	if (qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return tp_roce_modify_qp(qp, &a, mask);
}

static int
step_rts(struct ibv_qp *qp, uint8_t depth)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS,
				.sq_psn = SPSN,
				.timeout = 19,
				.retry_cnt = 5,
				.rnr_retry = 6,
				.max_rd_atomic = depth};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (qp->qp_type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	return tp_roce_modify_qp(qp, &a, mask);
}

/* The address path of RC on port 1 + port, for each kind of GID: with a priority, and a tag where there is a VLAN or one. */
static void
check_path(struct card_trace *t, const struct rr_end *e, enum rr_gid gid, const struct ibv_ah_attr *av, uint8_t prio)
{
	const struct box b = box_of(t, "INIT2RTR_QP", e->qp->qp_num);
	const bool v2 = (gid & 1) != 0, tagged = gid >= RR_VLAN_V1 || prio != 0;
	const uint8_t *mac = troce_dev_of(rr_ctx[!e->port])->mac.addr_bytes;
	const struct mlx4_roce *r = mlx4_roce_of(rr_ctx[e->port]);
	const uint16_t vid = gid >= RR_VLAN_V1 ? RR_VLAN : 0;
	uint32_t place = 0, i;

	/* The tables have places 2..127 [DP 7.3]: where the VLAN is, for a tag without a VLAN where 0 is. */
	for (i = 2; tagged && place == 0 && i < 128; i++)
		if (r->vlan[i] == (vid != 0 ? vid : MLX4_VLAN_PRIO_TAG))
			place = i;
	assert_int_equal(place != 0, tagged);
	check(&b, CTX + 0x08 / 4, 0xff0000c0, 2u << 29 | 30u << 24 | (v2 ? 0x80 : 0), "MTU, message size, mode");
	check(&b, CTX + 0x14 / 4, ALL, 0xabcdef, "remote number");
	check(&b, PATH, 0xff000000, tagged ? 0x40000000 : 0, "force C-VLAN");
	check(&b, PATH, 0x0000007f, 0, "partition");
	check(&b, PATH + 1, 0x00ff0000, 0x00800000, "GRH and source address");
	check(&b, PATH + 2, 0x07ff00ff, 0x01000000 | (uint32_t)gid << 16 | HOPS, "link, GID, hops");
	check(&b, PATH + 3, ALL, TCLASS << 20 | FLOW, "class and flow");
	for (i = 0; i < 4; i++)
		check(&b, PATH + 4 + i, ALL, gid_dword(&av->grh.dgid, i), "GID");
	check(&b, PATH + 8, ALL,
	      (0x83u | e->port << 6 | (uint32_t)prio << 3) << 24 | place << 16 | (tagged ? 0x4800 : 0x4000),
	      "queue, VLAN");
	check(&b, PATH + 9, 0xffff, (uint32_t)mac[0] << 8 | mac[1], "address");
	check(&b, PATH + 10, ALL, (uint32_t)mac[2] << 24 | (uint32_t)mac[3] << 16 | (uint32_t)mac[4] << 8 | mac[5],
	      "address");
}

static void
test_path(void **state)
{
	struct ibv_ah_attr av;
	struct card_trace t;
	struct rr_end e;
	unsigned int port, prio;
	enum rr_gid gid;

	for (port = 0; port < 2; port++)
		for (gid = 0; gid < RR_GIDS; gid++)
			for (prio = 0; prio <= SL; prio += SL) {
				rr_end(&e, port);
				rr_qp(&e, IBV_QPT_RC, NULL);
				rr_attr(&av, !port, gid);
				av.sl = (uint8_t)prio;
				av.grh.traffic_class = TCLASS;
				av.grh.flow_label = FLOW;
				av.grh.hop_limit = HOPS;
				card_trace_begin(&t, rig_model(0));
				assert_int_equal(step_init(e.qp, 0), 0);
				assert_int_equal(step_rtr(e.qp, &av, 4), 0);
				card_trace_end(&t);
				check_path(&t, &e, gid, &av, (uint8_t)prio);
				card_trace_free(&t);
				rr_end_free(&e);
			}
}

/* Depths are logarithms, rounded up; a peer's reads and atomics want some. */
static void
test_connection(void **state)
{
	static const struct {
		unsigned int access;
		uint8_t depth, lg;
		uint32_t rights; /* of dword 0x90, with a depth and without one */
	} t[] = {
		{0, 1, 0, 0},
		{IBV_ACCESS_REMOTE_WRITE, 2, 1, 0x4000},
		{IBV_ACCESS_REMOTE_READ, 3, 2, 0x8000},
		{IBV_ACCESS_REMOTE_ATOMIC, 4, 2, 0x2000},
		{IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC, 16, 4, 0xe000},
		{IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC, 0, 0, 0x4000},
		{IBV_ACCESS_LOCAL_WRITE, 1, 0, 0},
	};
	struct card_trace trace;
	struct ibv_ah_attr av;
	struct rr_end e;
	unsigned int i;
	struct box b;

	rr_attr(&av, 1, RR_IPV4_V2);
	for (i = 0; i < RTE_DIM(t); i++) {
		rr_end(&e, 0);
		rr_qp(&e, IBV_QPT_RC, NULL);
		card_trace_begin(&trace, rig_model(0));
		assert_int_equal(step_init(e.qp, t[i].access), 0);
		assert_int_equal(step_rtr(e.qp, &av, t[i].depth), 0);
		assert_int_equal(step_rts(e.qp, t[i].depth), 0);
		card_trace_end(&trace);
		b = box_of(&trace, "RST2INIT_QP", e.qp->qp_num);
		check(&b, CTX, 0xf00f0000, 0x10000000, "INIT, RC");
		check(&b, CTX + 0x04 / 4, 0xffffff, mlx4_roce_pdn(rr_pd[0]), "domain");
		/* 64 requests of 128 bytes, 32 receives of 32 */
		check(&b, CTX + 0x08 / 4, 0x00ffff00, (5u << 3 | 1) << 16 | (6u << 3 | 3) << 8, "rings");
		check(&b, CTX + 0x10 / 4, 0xffffff, e.qp->qp_num, "number");
		check(&b, CTX + 0x70 / 4, 0x800, 0x800, "fast registration");
		b = box_of(&trace, "INIT2RTR_QP", e.qp->qp_num);
		check(&b, CTX, 0xf0000000, 0x20000000, "RTR");
		check(&b, CTX + 0x90 / 4, 0x00e0e000, (uint32_t)t[i].lg << 21 | t[i].rights, "depth and rights");
		check(&b, CTX + 0x94 / 4, 0x1fffffff, 21u << 24 | RPSN, "timer and number of packets");
		b = box_of(&trace, "RTR2RTS_QP", e.qp->qp_num);
		check(&b, CTX, 0xf0000000, 0x30000000, "RTS");
		check(&b, CTX + 0x70 / 4, 0xf0ffe000, 8u << 28 | (uint32_t)t[i].lg << 21 | 5u << 16 | 6u << 13,
		      "retries");
		check(&b, CTX + 0x78 / 4, 0xffffff, SPSN, "number of packets");
		check(&b, PATH + 2, 0xff000000, 19u << 27 | 1u << 24, "time-out");
		check(&b, CTX + 0x80 / 4, 0xffff0000, (uint32_t)((struct troce_qp *)(void *)e.qp)->path.sport << 16,
		      "source port");
		card_trace_free(&trace);
		rr_end_free(&e);
	}
}

/* Of the transport's kinds: what goes into a context of UC and of datagrams. */
static void
test_other_types(void **state)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x1a2b3c4d};
	struct card_trace t;
	struct ibv_ah_attr av;
	struct rr_end e;
	struct box b;

	rr_attr(&av, 1, RR_IPV4_V1);
	rr_end(&e, 0);
	rr_qp(&e, IBV_QPT_UC, NULL);
	card_trace_begin(&t, rig_model(0));
	assert_int_equal(step_init(e.qp, IBV_ACCESS_REMOTE_WRITE), 0);
	assert_int_equal(step_rtr(e.qp, &av, 0), 0);
	card_trace_end(&t);
	b = box_of(&t, "INIT2RTR_QP", e.qp->qp_num);
	check(&b, CTX, 0xf00f0000, 0x20010000, "RTR, UC");
	check(&b, CTX + 0x70 / 4, 0x800, 0, "fast registration");
	check(&b, CTX + 0x90 / 4, 0xe000, 0x4000, "rights");
	check(&b, CTX + 0x80 / 4, 0xffff0000, 0, "no source port in version 1");
	card_trace_free(&t);
	rr_end_free(&e);
	rr_end(&e, 0);
	rr_qp(&e, IBV_QPT_UD, NULL);
	card_trace_begin(&t, rig_model(0));
	assert_int_equal(tp_roce_modify_qp(e.qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
	a.qp_state = IBV_QPS_RTR;
	assert_int_equal(tp_roce_modify_qp(e.qp, &a, IBV_QP_STATE), 0);
	a.qp_state = IBV_QPS_RTS;
	a.sq_psn = SPSN;
	assert_int_equal(tp_roce_modify_qp(e.qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	card_trace_end(&t);
	b = box_of(&t, "INIT2RTR_QP", e.qp->qp_num);
	check(&b, CTX, 0xf00f0000, 0x20030000, "RTR, UD");
	check(&b, CTX + 0x08 / 4, 0xff000000, (5u << 5 | 13) << 24, "MTU and message size");
	check(&b, CTX + 0xa8 / 4, ALL, 0x1a2b3c4d, "key");
	check(&b, PATH + 1, 0x00ff0000, 0x00800000, "GRH and source address");
	check(&b, PATH + 8, 0xff000000, 0x83000000, "port");
	b = box_of(&t, "RTR2RTS_QP", e.qp->qp_num);
	check(&b, CTX + 0x78 / 4, 0xffffff, SPSN, "number of packets");
	card_trace_free(&t);
	rr_end_free(&e);
}

/* A bit for what a step is to change beside what it always does [DP 7.4]. */
static void
test_optional(void **state)
{
	static const struct {
		int mask;
		uint32_t opt;
	} t[] = {
		{IBV_QP_ACCESS_FLAGS, 1u << 1 | 1u << 2 | 1u << 3},
		{IBV_QP_PKEY_INDEX, 1u << 4},
		{IBV_QP_MIN_RNR_TIMER, 1u << 6},
		{IBV_QP_AV, 1u << 7 | 1u << 16},
		{IBV_QP_MAX_QP_RD_ATOMIC, 1u << 8},
		{IBV_QP_MAX_DEST_RD_ATOMIC, 1u << 9 | 1u << 1 | 1u << 2},
		{IBV_QP_RETRY_CNT, 1u << 12},
		{IBV_QP_RNR_RETRY, 1u << 13},
		{IBV_QP_TIMEOUT, 1u << 14},
		{IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT, 1u << 12 | 1u << 14},
		{0, 0},
	};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_SQD,
				.timeout = 9,
				.retry_cnt = 3,
				.rnr_retry = 4,
				.max_rd_atomic = 2,
				.max_dest_rd_atomic = 2,
				.min_rnr_timer = 7,
				.qkey = 5};
	struct card_trace trace;
	struct rr_end x, y;
	unsigned int i;
	struct box b;

	rr_pair(&x, &y, IBV_QPT_RC, RR_IPV4_V2);
	rr_attr(&a.ah_attr, 1, RR_IPV4_V2);
	rr_state(&x, IBV_QPS_SQD);
	for (i = 0; i < RTE_DIM(t); i++) {
		card_trace_begin(&trace, rig_model(0));
		assert_int_equal(tp_roce_modify_qp(x.qp, &a, IBV_QP_STATE | t[i].mask), 0);
		card_trace_end(&trace);
		b = box_of(&trace, "SQD2SQD_QP", x.qp->qp_num);
		if (b.d[0] != t[i].opt)
			fail_msg("row %u: 0x%08x", i, b.d[0]);
		card_trace_free(&trace);
	}
	rr_end_free(&x);
	rr_end_free(&y);
	rr_pair(&x, &y, IBV_QPT_UD, RR_IPV4_V2);
	a.qp_state = IBV_QPS_RTS;
	card_trace_begin(&trace, rig_model(0));
	assert_int_equal(tp_roce_modify_qp(x.qp, &a, IBV_QP_STATE | IBV_QP_QKEY), 0);
	card_trace_end(&trace);
	b = box_of(&trace, "RTS2RTS_QP", x.qp->qp_num);
	assert_int_equal(b.d[0], 1u << 5);
	assert_int_equal(b.d[CTX + 0xa8 / 4], 5);
	card_trace_free(&trace);
	rr_end_free(&x);
	rr_end_free(&y);
}

/* A step that the card refuses changes nothing: the next one says what was, with its own part. */
static void
test_refused_step(void **state)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS, .min_rnr_timer = 30, .qp_access_flags = 0};
	struct card_trace t;
	struct rr_end x, y;
	struct box b;

	rr_pair(&x, &y, IBV_QPT_RC, RR_IPV4_V2);
	assert_int_equal(tp_model_fault(rig_model(0), TP_FAULT_STATUS, MLX4_CMD_RTS2RTS_QP, 1, MLX4_STAT_BAD_PARAM), 0);
	assert_int_equal(tp_roce_modify_qp(x.qp, &a, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER), EINVAL);
	assert_int_equal(x.qp->state, IBV_QPS_RTS);
	assert_int_equal(prm_get(((struct mlx4_roce_qp *)(void *)x.qp)->hw.ctx, MLX4_QPC_MIN_RNR_TIMER), 12);
	card_trace_begin(&t, rig_model(0));
	assert_int_equal(tp_roce_modify_qp(x.qp, &a, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS), 0);
	card_trace_end(&t);
	b = box_of(&t, "RTS2RTS_QP", x.qp->qp_num);
	check(&b, CTX + 0x94 / 4, 0x1f000000, 12u << 24, "timer");
	check(&b, CTX + 0x90 / 4, 0xe000, 0, "rights");
	card_trace_free(&t);
	rr_end_free(&x);
	rr_end_free(&y);
}

/* What the card says of a queue pair: its state, the next packets each way, and whether requests are still under way. */
static void
test_query(void **state)
{
	static const enum ibv_qp_state states[] = {IBV_QPS_RTS, IBV_QPS_ERR, IBV_QPS_RESET};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr at;
	struct rr_end x, y;
	unsigned int i;

	rr_end(&x, 0);
	rr_end(&y, 1);
	rr_qp(&x, IBV_QPT_RC, NULL);
	rr_qp(&y, IBV_QPT_RC, NULL);
	assert_int_equal(tp_roce_query_qp(x.qp, &at, 0, &init), 0);
	assert_int_equal(at.qp_state, IBV_QPS_RESET);
	rr_init(&x);
	rr_init(&y);
	assert_int_equal(tp_roce_query_qp(x.qp, &at, 0, &init), 0);
	assert_int_equal(at.qp_state, IBV_QPS_INIT);
	rr_rtr(&x, &y, RR_IPV4_V2);
	rr_rtr(&y, &x, RR_IPV4_V2);
	assert_int_equal(tp_roce_query_qp(x.qp, &at, 0, &init), 0);
	assert_int_equal(at.qp_state, IBV_QPS_RTR);
	assert_int_equal(at.rq_psn, 101);
	rr_rts(&x);
	rr_rts(&y);
	/* Two messages this way, one that way */
	for (i = 0; i < 2; i++) {
		assert_int_equal(rr_recv(&y, 0, 8), 0);
		assert_int_equal(rr_send(&x, 0, 8, 0), 0);
	}
	assert_int_equal(rr_recv(&x, 0, 8), 0);
	assert_int_equal(rr_send(&y, 0, 8, 0), 0);
	rr_run();
	assert_int_equal(tp_roce_query_qp(x.qp, &at, 0, &init), 0);
	assert_int_equal(at.qp_state, IBV_QPS_RTS);
	assert_int_equal(at.sq_psn, 102);
	assert_int_equal(at.rq_psn, 102);
	/* What was posted last is still to be sent, until the card has gone on. */
	assert_int_equal(rr_recv(&y, 0, 8), 0);
	assert_int_equal(rr_send(&x, 0, 8, 0), 0);
	rr_state(&x, IBV_QPS_SQD);
	assert_int_equal(tp_roce_query_qp(x.qp, &at, 0, &init), 0);
	assert_int_equal(at.qp_state, IBV_QPS_SQD);
	assert_int_equal(at.sq_draining, 1);
	rr_run();
	assert_int_equal(tp_roce_query_qp(x.qp, &at, 0, &init), 0);
	assert_int_equal(at.qp_state, IBV_QPS_SQD);
	assert_int_equal(at.sq_draining, 0);
	for (i = 0; i < RTE_DIM(states); i++) {
		rr_state(&x, states[i]);
		rr_run();
		assert_int_equal(tp_roce_query_qp(x.qp, &at, 0, &init), 0);
		assert_int_equal(at.qp_state, states[i]);
		assert_int_equal(at.sq_draining, 0);
	}
	rr_end_free(&x);
	rr_end_free(&y);
}

/* --- address vectors ---------------------------------------------------------------------------------------------- */

static uint32_t
dword(const uint8_t *p, unsigned int i)
{
	return (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
}

static void
test_ethernet_vectors(void **state)
{
	const uint8_t *mac = troce_dev_of(rr_ctx[0])->mac.addr_bytes;
	struct ibv_ah_attr av;
	struct ibv_ah *ah;
	const uint8_t *d;
	enum rr_gid gid;
	unsigned int prio, i;

	for (gid = 0; gid < RR_GIDS; gid++)
		for (prio = 0; prio <= SL; prio += SL) {
			const bool vlan = gid >= RR_VLAN_V1;

			rr_attr(&av, 0, gid);
			av.sl = (uint8_t)prio;
			av.grh.traffic_class = TCLASS;
			av.grh.flow_label = FLOW;
			av.grh.hop_limit = HOPS;
			ah = tp_roce_create_ah(rr_pd[1], &av);
			assert_non_null(ah);
			d = ((struct mlx4_roce_ah *)(void *)ah)->dgram;
			assert_int_equal(dword(d, 0),
					 (vlan || prio != 0 ? 1u << 29 : 0) | 2u << 24 | mlx4_roce_pdn(rr_pd[1]));
			assert_int_equal(dword(d, 1), 0x00800000);
			assert_int_equal(dword(d, 2), (uint32_t)gid << 16 | HOPS);
			assert_int_equal(dword(d, 3), prio << 29 | TCLASS << 20 | FLOW);
			for (i = 0; i < 4; i++)
				assert_int_equal(dword(d, 4 + i), gid_dword(&av.grh.dgid, i));
			assert_int_equal(d[40] << 8 | d[41],
					 !vlan && prio == 0 ? 0xffff : prio << 13 | (vlan ? RR_VLAN : 0));
			assert_memory_equal(d + 42, mac, 6);
			assert_int_equal(tp_roce_destroy_ah(ah), 0);
		}
	/* A group's LID says that it is one. */
	rr_attr(&av, 0, RR_IPV4_V2);
	av.grh.dgid = (union ibv_gid){.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};
	ah = tp_roce_create_ah(rr_pd[1], &av);
	assert_non_null(ah);
	d = ((struct mlx4_roce_ah *)(void *)ah)->dgram;
	assert_int_equal(dword(d, 1), 0x0080c000);
	assert_memory_equal(d + 42, "\x01\x00\x5e\x01\x02\x03", 6);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
}

/* A datagram's segment: the vector, then number and key of the request [DP 3.3]. */
static void
test_datagram(void **state)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_IP_CSUM},
			   *bad;
	struct rr_end x, y;
	const uint8_t *w;

	rr_pair(&x, &y, IBV_QPT_UD, RR_IPV4_V2);
	sge = (struct ibv_sge){.addr = (uintptr_t)x.mem, .length = 77, .lkey = x.mr->lkey};
	wr.wr.ud.ah = x.ah;
	wr.wr.ud.remote_qpn = 0x00abcdef;
	wr.wr.ud.remote_qkey = 0x7a6b5c4d;
	assert_int_equal(ibv_post_send(x.qp, &wr, &bad), 0);
	w = ((struct mlx4_roce_qp *)(void *)x.qp)->sq;
	assert_int_equal(dword(w, 0), 0x0a);
	assert_int_equal(dword(w, 1), 5);
	assert_int_equal(dword(w, 2), 0); /* no checksums on Ethernet */
	assert_memory_equal(w + 16, ((struct mlx4_roce_ah *)(void *)x.ah)->dgram, 32);
	assert_int_equal(dword(w, 12), 0x00abcdef);
	assert_int_equal(dword(w, 13), 0x7a6b5c4d);
	assert_memory_equal(w + 56, ((struct mlx4_roce_ah *)(void *)x.ah)->dgram + 40, 8);
	assert_int_equal(dword(w, 16), 77);
	assert_int_equal(dword(w, 17), x.mr->lkey);
	rr_end_free(&x);
	rr_end_free(&y);
}

/* --- InfiniBand --------------------------------------------------------------------------------------------------- */

static void
test_infiniband(void **state)
{
	struct ibv_ah_attr av;
	struct card_trace t;
	struct ibv_ah *ah;
	const uint8_t *d;
	struct ir_end e;
	unsigned int port, grh, i;
	struct box b;

	ir_set_pkey(0, 5, 0x8123);
	ir_set_pkey(1, 5, 0x8123);
	for (port = 0; port < IR_PORTS; port++)
		for (grh = 0; grh < 2; grh++) {
			ir_av(&av, !port, grh != 0);
			av.sl = 11;
			av.src_path_bits = 0x2a;
			av.static_rate = IBV_RATE_5_GBPS; /* the card has only the one below */
			ir_end(&e, port, IBV_QPT_RC);
			card_trace_begin(&t, ir_model());
			ir_rts(&e, 5, &av, 0xabcdef);
			card_trace_end(&t);
			b = box_of(&t, "INIT2RTR_QP", e.qp->qp_num);
			check(&b, PATH, 0x0000007f, 5, "partition");
			check(&b, PATH + 1, 0x00ffffff, grh << 23 | 0x2a << 16 | IR_LID(!port), "GRH, bits, LID");
			check(&b, PATH + 2, 0x0700ff00, 7u << 8, "link and rate");
			check(&b, PATH + 8, 0xff000000, (0x83u | port << 6 | 11 << 2) << 24, "queue");
			for (i = 0; grh != 0 && i < 4; i++)
				check(&b, PATH + 4 + i, ALL, gid_dword(&av.grh.dgid, i), "GID");
			if (grh != 0)
				check(&b, PATH + 3, ALL, 0x21u << 20 | 0x54321, "class and flow");
			card_trace_free(&t);
			ir_end_free(&e);
			ah = tp_roce_create_ah(ir_pd[port], &av);
			assert_non_null(ah);
			d = ((struct mlx4_roce_ah *)(void *)ah)->dgram;
			assert_int_equal(dword(d, 0), (port + 1) << 24 | mlx4_roce_pdn(ir_pd[port]));
			assert_int_equal(dword(d, 1), grh << 23 | 0x2a << 16 | IR_LID(!port));
			assert_int_equal(dword(d, 2), 7u << 8 | (grh != 0 ? 3 : 0));
			assert_int_equal(dword(d, 3), 11u << 28 | (grh != 0 ? 0x21u << 20 | 0x54321 : 0));
			assert_int_equal(tp_roce_destroy_ah(ah), 0);
		}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rr_setup, rr_teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_path),
		TEST(test_connection),
		TEST(test_other_types),
		TEST(test_optional),
		TEST(test_refused_step),
		TEST(test_query),
		TEST(test_ethernet_vectors),
		TEST(test_datagram),
		cmocka_unit_test_setup_teardown(test_infiniband, ir_setup_active, ir_teardown),
	};

	if (rig_eal("mlx4_roce_context", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-roce-context", tests, NULL, NULL);
}
