/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Marked datagrams, the CNPs that answer them, and CNPs for queue pairs of datagrams. */
#include "cnp_rig.h"

static struct ibv_qp *
datagram_qp(struct pair *p, unsigned int node)
{
	const struct qp_conf c = {.type = IBV_QPT_UD};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR};
	struct ibv_qp *qp = pair_qp(p, node, &c);

	assert_int_equal(tp_roce_modify_qp(qp, &a, IBV_QP_STATE), 0);
	a.qp_state = IBV_QPS_RTS;
	assert_int_equal(tp_roce_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	return qp;
}

/* A datagram of node 0, there when it is done. */
static void
datagram(struct pair *p, struct ibv_qp *from, struct ibv_ah *ah, struct ibv_qp *to)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_SEND, &sge, 0, 64, 0);

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = to->qp_num;
	wr.wr.ud.remote_qkey = 0x1234;
	pair_recv(p, 1, to, 1, 4096, 40 + 64);
	pair_post(from, &wr);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
}

/* RoCE v1 has no CNPs: a mark is counted, and not answered, and a CNP that comes so is ignored. */
static void
marked_v1(void **state)
{
	struct pair *p = *state;
	union ibv_gid dgid = pair_gid(p, 1, PAIR_V1);
	struct ibv_ah *ah = pair_ah(p, 0, &dgid, PAIR_V1);
	struct ibv_qp *a = datagram_qp(p, 0), *b = datagram_qp(p, 1);

	for (unsigned int n = 0; n < 2; n++)
		assert_int_equal(tp_roce_cc_enable(p->n[n].ctx, 1, true), 0);
	p->wire = mark_v1;
	kept_len = 0;
	datagram(p, a, ah, b);
	p->wire = NULL;
	ignore_v1(p, b->qp_num);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

static struct {
	uint8_t addr[4];
	uint32_t qpn;
	unsigned int cnps;
} told[4];

/* Marks, keeps what was marked, and counts CNPs by whom they are for. */
static unsigned int
mark_and_count(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *);

	if (from == 0 && (f[15] & 3) == 2) {
		mark(p, from, m);
		kept_len = m->data_len;
		memcpy(kept, f, kept_len);
	} else if (from == 1 && f[UDP_BTH] == 0x81) {
		for (unsigned int i = 0; i < RTE_DIM(told); i++)
			told[i].cnps +=
				memcmp(f + 30, told[i].addr, 4) == 0 && ib_get24(f + UDP_BTH + 5) == told[i].qpn;
	}
	return 1;
}

/* Two queue pairs at each of two addresses send to one of datagrams: each of the four is told, once in the interval. */
static void
senders(void **state)
{
	static const uint8_t more[4] = {192, 0, 2, 77};
	struct pair *p = *state;
	struct rsw_dev *d = troce_dev_of(p->n[1].ctx)->home;
	union ibv_gid dgid = pair_gid(p, 1, PAIR_V4);
	struct ibv_qp *a[2], *b;
	struct ibv_ah *ah[2];

	/* With time alone a limit would go at what is sent next. */
	cc_steady(p, 0, 3000, 40);
	assert_int_equal(tp_roce_cc_enable(p->n[1].ctx, 1, true), 0);
	/* Longer than any test. */
	d->cc[0].conf.cnp_interval = UINT32_MAX;
	a[0] = datagram_qp(p, 0);
	a[1] = datagram_qp(p, 0);
	b = datagram_qp(p, 1);
	for (unsigned int i = 0; i < 2; i++) {
		ah[i] = pair_ah(p, 0, &dgid, PAIR_V4);
		for (unsigned int k = 0; k < 2; k++) {
			memcpy(told[2 * i + k].addr, pair_gid(p, 0, PAIR_V4).raw + 12, 4);
			told[2 * i + k].qpn = a[k]->qp_num;
			told[2 * i + k].cnps = 0;
		}
		if (i == 0)
			take_address(p, 0, more);
	}
	p->wire = mark_and_count;
	for (unsigned int round = 0; round < 3; round++)
		for (unsigned int i = 0; i < 4; i++) {
			datagram(p, a[i % 2], ah[i / 2], b);
			for (unsigned int k = 0; k < 4; k++)
				assert_int_equal(told[k].cnps, round > 0 || k <= i);
		}
	p->wire = NULL;
	assert_int_equal(pair_stat(p, 1, "cc_marked"), 12);
	assert_int_equal(pair_stat(p, 1, "cc_cnps_sent"), 4);
	assert_int_equal(pair_stat(p, 0, "cc_cnps_handled"), 4);
	assert_int_equal(pair_stat(p, 0, "cc_limited_qps"), 2);
	/* From a fifth one, but for another address than the port's. */
	kept[UDP_BTH + 19]++;
	kept[33] = 99;
	ib_put16(kept + 24, 0);
	ib_put16(kept + 24, ip_sum(kept + 14));
	icrc(kept, kept_len, TROCE_ICRC_IPV4_UDP);
	pair_inject(p, 1, kept, kept_len);
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 1, "cc_marked"), 12);
	assert_int_equal(pair_stat(p, 1, "cc_cnps_sent"), 4);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(tp_roce_destroy_ah(ah[i]), 0);
		assert_int_equal(tp_roce_destroy_qp(a[i]), 0);
	}
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/* One of datagrams that never sent anything: CNPs limit it, however many; what it sends then goes at its least rate. */
static void
idle_datagrams(void **state)
{
	enum { CNPS = 100 };
	struct pair *p = *state;
	union ibv_gid dgid = pair_gid(p, 1, PAIR_V4);
	struct ibv_qp *a, *b;
	struct ibv_ah *ah;
	uint8_t f[CNP_LEN];

	cc_steady(p, 0, 3000, 40);
	a = datagram_qp(p, 0);
	b = datagram_qp(p, 1);
	ah = pair_ah(p, 0, &dgid, PAIR_V4);
	cnp_make(f, a->qp_num, 3);
	for (unsigned int i = 1; i <= CNPS; i++) {
		hear(p, f, CNP_LEN);
		assert_int_equal(pair_stat(p, 0, "cc_cnps_handled"), i);
	}
	assert_int_equal(pair_stat(p, 0, "cc_cnps_ignored"), 0);
	assert_int_equal(pair_stat(p, 0, "cc_cnps_sent"), 0);
	assert_int_equal(pair_stat(p, 0, "cc_limited_qps"), 1);
	assert_int_equal(pair_stat(p, 0, "cc_limited_mbps"), 40);
	datagram(p, a, ah, b);
	datagram(p, a, ah, b);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(pair_stat(p, 0, "cc_limited_qps"), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {T(marked_v1), T(senders), T(idle_datagrams)};

	return cmocka_run_group_tests_name("roce_sw_cnp_datagram", tests, NULL, NULL);
}
