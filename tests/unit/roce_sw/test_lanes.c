/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * A port with several lanes and one with one lane: what is refused, what each lane has for itself, what comes to another
 * lane's queue. One thread polls all of it.
 */
#include <errno.h>

#include <ethdev_driver.h>

#include "lib/roce/wire/wire.h"
#include "pair.h"

#define LANES 4u

static const struct qp_conf rc = {.type = IBV_QPT_RC, .timeout = 31};
static const struct qp_conf ud = {.type = IBV_QPT_UD};

static int
lanes_setup(void **state)
{
	const struct pair_conf conf = {.mtu = 1024, .lanes = {1, LANES}};

	*state = pair_open(&conf);
	return 0;
}

static struct ibv_cq *
cq_of(struct pair *p, unsigned int node, unsigned int lane)
{
	struct ibv_cq *cq = tp_roce_create_cq(p->n[node].ctx, 64, NULL, NULL, (int)lane);

	assert_non_null(cq);
	return cq;
}

static void
free_cqs(struct ibv_cq **cq)
{
	for (unsigned int i = 0; i < LANES; i++)
		assert_int_equal(tp_roce_destroy_cq(cq[i]), 0);
}

/* --- refusals ---------------------------------------------------------------------------------------------------------- */

static void
refused_open(struct pair *p, const struct tp_roce_conf *conf, int err)
{
	errno = 0;
	assert_null(tp_roce_open(p->n[0].port, conf));
	assert_int_equal(errno, err);
}

static void
openings(void **state)
{
	struct pair *p = *state;
	struct ibv_device_attr a;

	assert_int_equal(p->n[1].ctx->num_comp_vectors, LANES);
	assert_int_equal(p->n[0].ctx->num_comp_vectors, 1);
	assert_int_equal(tp_roce_query_device(p->n[1].ctx, &a), 0);
	assert_int_equal(a.max_qp, (1 << 20) - 3 * (int)LANES);
	assert_int_equal(a.max_mw, 0);
	assert_int_equal(a.device_cap_flags & (IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_MGT_EXTENSIONS), 0);
	/* There is no such lane; the one of a port that has one is the port. */
	assert_int_equal(tp_roce_progress_lane(p->n[1].ctx, LANES), 0);
	assert_int_equal(tp_roce_progress_lane(p->n[0].ctx, 1), 0);
	pair_close(p);

	p = pair_open(&(struct pair_conf){.mtu = 1024, .lanes = {LANES, 2}});
	/* Closed, its ethdev stays as it is, with four queues. */
	assert_int_equal(tp_roce_destroy_cq(p->n[0].cq), 0);
	assert_int_equal(tp_roce_dereg_mr(p->n[0].mr), 0);
	assert_int_equal(tp_roce_dealloc_pd(p->n[0].pd), 0);
	assert_int_equal(tp_roce_close_device(p->n[0].ctx), 0);
	refused_open(p, &(struct tp_roce_conf){.provider = "sw", .lanes = 3}, EINVAL);
	refused_open(p, &(struct tp_roce_conf){.provider = "sw", .lanes = 2 * TP_ROCE_LANES}, EINVAL);
	refused_open(p, &(struct tp_roce_conf){.provider = "sw", .lanes = 2 * LANES}, EINVAL);
	refused_open(p, &(struct tp_roce_conf){.provider = "sw", .lanes = LANES, .rx_queue = 1}, EINVAL);
	refused_open(p, &(struct tp_roce_conf){.provider = "sw", .lanes = LANES, .tx_queue = 1}, EINVAL);
	refused_open(p, &(struct tp_roce_conf){.provider = "sw", .lanes = 2, .app_rx = true}, ENOTSUP);
	p->n[0].ctx = tp_roce_open(p->n[0].port, &(struct tp_roce_conf){.provider = "sw", .lanes = 2, .rx_queue = 2});
	assert_non_null(p->n[0].ctx);
	p->n[0].pd = tp_roce_alloc_pd(p->n[0].ctx);
	p->n[0].mr = tp_roce_reg_mr(p->n[0].pd, p->n[0].mem, PAIR_MEM, PAIR_ALL);
	p->n[0].cq = cq_of(p, 0, 1);
	*state = p;
}

static void
create_refused(struct pair *p, struct ibv_cq *scq, struct ibv_cq *rcq, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = scq,
		.recv_cq = rcq,
		.srq = srq,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC};

	if (srq != NULL)
		init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
	errno = 0;
	assert_null(tp_roce_create_qp(p->n[1].pd, &init));
	assert_int_equal(errno, EINVAL);
}

static void
objects(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
	const union ibv_gid group = {.raw = {0xff, 0x0e, [15] = 9}};
	struct pair *p = *state;
	struct ibv_srq *srq = tp_roce_create_srq(p->n[1].pd, &init);
	struct qp_conf c = {.type = IBV_QPT_UD, .srq = srq};
	struct ibv_cq *cq[LANES];
	struct ibv_qp *qp;

	assert_non_null(srq);
	for (unsigned int i = 0; i < LANES; i++)
		cq[i] = cq_of(p, 1, i);
	assert_null(tp_roce_create_cq(p->n[1].ctx, 1, NULL, NULL, LANES));
	assert_int_equal(errno, EINVAL);
	create_refused(p, cq[0], cq[1], NULL);
	create_refused(p, cq[3], cq[2], NULL);
	/* A shared receive queue is of the lane of who has it, and of any when nobody has it any more. */
	for (unsigned int i = LANES; i-- > 0;) {
		c.scq = c.rcq = cq[i];
		qp = pair_qp(p, 1, &c);
		assert_int_equal(qp->qp_num % LANES, i);
		create_refused(p, cq[(i + 1) % LANES], cq[(i + 1) % LANES], srq);
		assert_int_equal(tp_roce_attach_mcast(qp, &group, 0), i == 0 ? 0 : EOPNOTSUPP);
		if (i == 0)
			assert_int_equal(tp_roce_detach_mcast(qp, &group, 0), 0);
		assert_int_equal(tp_roce_destroy_qp(qp), 0);
	}
	errno = 0;
	assert_null(tp_roce_alloc_mw(p->n[1].pd, IBV_MW_TYPE_1));
	assert_int_equal(errno, EOPNOTSUPP);
	errno = 0;
	assert_null(tp_roce_alloc_mr(p->n[1].pd, 1));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(tp_roce_destroy_srq(srq), 0);
	free_cqs(cq);
}

/* --- one thread, all lanes ---------------------------------------------------------------------------------------------- */

/* Each kind of request, to and from each lane. The wire's choice of a queue is another lane's more often than not. */
static void
each_lane(void **state)
{
	static const enum ibv_wr_opcode ops[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						 IBV_WR_ATOMIC_FETCH_AND_ADD};
	struct pair *p = *state;
	struct ibv_cq *cq[LANES];

	for (unsigned int i = 0; i < LANES; i++) {
		struct qp_conf c = rc;
		struct ibv_qp *a, *b;

		cq[i] = cq_of(p, 1, i);
		c.scq = c.rcq = cq[i];
		a = pair_qp(p, 0, &rc);
		b = pair_qp(p, 1, &c);
		pair_connect(p, a, b, &rc);
		for (unsigned int k = 0; k < 2 * RTE_DIM(ops); k++) {
			unsigned int node = k % 2;
			enum ibv_wr_opcode op = ops[k / 2];
			uint32_t len = op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : 20000;
			struct ibv_sge sge;
			struct ibv_send_wr wr = pair_wr(p, node, op, &sge, 0, len, 65536);

			pair_fill(p, 0, 0, 131072, 10 * k);
			pair_fill(p, 1, 0, 131072, 10 * k + 1);
			if (op == IBV_WR_SEND)
				pair_recv(p, !node, node == 0 ? b : a, k, 65536, len);
			pair_post(node == 0 ? a : b, &wr);
			pair_wait(p, node == 0 ? p->n[0].cq : cq[i], 1, NULL);
			if (op == IBV_WR_SEND)
				pair_wait(p, node == 0 ? cq[i] : p->n[0].cq, 1, NULL);
			if (op != IBV_WR_ATOMIC_FETCH_AND_ADD)
				pair_same(p, node == 0 ? 0 : 65536, node == 0 ? 65536 : 0, len);
		}
		assert_int_equal(tp_roce_destroy_qp(a), 0);
		assert_int_equal(tp_roce_destroy_qp(b), 0);
	}
	assert_true(pair_stat(p, 1, "lane_passed") > 0);
	assert_int_equal(pair_stat(p, 1, "lane_drops"), 0);
	/* In order, and each once. */
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(pair_stat(p, i, "resp_out_of_order"), 0);
		assert_int_equal(pair_stat(p, i, "resp_duplicates"), 0);
		assert_int_equal(pair_stat(p, i, "req_out_of_order"), 0);
	}
	free_cqs(cq);
}

static void
to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR}, rts = {.qp_state = IBV_QPS_RTS};

	assert_int_equal(tp_roce_modify_qp(qp, &rtr, IBV_QP_STATE), 0);
	assert_int_equal(tp_roce_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

static void
datagram(struct pair *p, unsigned int node, struct ibv_qp *qp, struct ibv_ah *ah, uint32_t to)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, node, IBV_WR_SEND, &sge, 0, 100, 0);

	wr.send_flags = 0;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = to;
	wr.wr.ud.remote_qkey = 0x1234;
	pair_post(qp, &wr);
}

/* Lanes send datagrams by one address, to the peer, to each other, and to a group of lane 0, and hear a group of the peer's. */
static void
datagrams(void **state)
{
	const union ibv_gid group = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 239, [15] = 9}};
	struct pair *p = *state;
	union ibv_gid peer = pair_gid(p, 0, PAIR_V4), self = pair_gid(p, 1, PAIR_V4);
	struct ibv_ah *to_peer = pair_ah(p, 1, &peer, PAIR_V4), *to_self = pair_ah(p, 1, &self, PAIR_V4);
	struct ibv_ah *to_group = pair_ah(p, 1, &group, PAIR_V4), *from_peer = pair_ah(p, 0, &group, PAIR_V4);
	struct ibv_qp *a = pair_qp(p, 0, &ud), *b[LANES];
	struct ibv_cq *cq[LANES];
	struct ibv_wc wc;

	to_rts(a);
	for (unsigned int i = 0; i < LANES; i++) {
		struct qp_conf c = ud;

		cq[i] = cq_of(p, 1, i);
		c.scq = c.rcq = cq[i];
		b[i] = pair_qp(p, 1, &c);
		to_rts(b[i]);
	}
	assert_int_equal(tp_roce_attach_mcast(b[0], &group, 0), 0);
	for (unsigned int i = 0; i < LANES; i++) {
		unsigned int next = (i + 1) % LANES;

		pair_recv(p, 0, a, i, 1000, 200);
		datagram(p, 1, b[i], to_peer, a->qp_num);
		pair_wait(p, p->n[0].cq, 1, &wc);
		assert_int_equal(wc.src_qp, b[i]->qp_num);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);

		pair_recv(p, 1, b[next], i, 1000, 200);
		datagram(p, 1, b[i], to_self, b[next]->qp_num);
		pair_wait(p, cq[next], 1, &wc);
		assert_int_equal(wc.src_qp, b[i]->qp_num);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);

		pair_recv(p, 1, b[0], i, 1000, 200);
		datagram(p, 1, b[i], to_group, IB_MCAST_QPN);
		pair_wait(p, cq[0], 1, &wc);
		assert_int_equal(wc.src_qp, b[i]->qp_num);
	}
	pair_recv(p, 1, b[0], 0, 1000, 200);
	datagram(p, 0, a, from_peer, IB_MCAST_QPN);
	pair_wait(p, cq[0], 1, &wc);
	assert_int_equal(wc.src_qp, a->qp_num);
	assert_int_equal(pair_stat(p, 1, "multicast_received"), LANES + 1);
	assert_int_equal(tp_roce_detach_mcast(b[0], &group, 0), 0);
	for (unsigned int i = 0; i < LANES; i++)
		assert_int_equal(tp_roce_destroy_qp(b[i]), 0);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_ah(to_peer), 0);
	assert_int_equal(tp_roce_destroy_ah(to_self), 0);
	assert_int_equal(tp_roce_destroy_ah(to_group), 0);
	assert_int_equal(tp_roce_destroy_ah(from_peer), 0);
	free_cqs(cq);
}

static unsigned int rest_frames;

static void
rest(void *arg, struct rte_mbuf **pkts, uint16_t n)
{
	assert_ptr_equal(arg, &rest_frames);
	rest_frames += n;
	rte_pktmbuf_free_bulk(pkts, n);
}

/* Frames that are for nobody here come to each queue; the application has them from the port's thread. */
static void
others(void **state)
{
	struct pair *p = *state;
	struct troce_dev *dev = troce_dev_of(p->n[1].ctx);
	uint8_t f[64] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};

	dev->conf.rest = rest;
	dev->conf.rest_arg = &rest_frames;
	rest_frames = 0;
	for (unsigned int i = 0; i < LANES; i++) {
		f[35] = (uint8_t)i;
		pair_inject(p, 1, f, sizeof(f));
	}
	pair_run(p, 1);
	assert_int_equal(rest_frames, LANES);
	dev->conf.rest = NULL;
}

static uint8_t frame[128];
static uint32_t frame_len;

static unsigned int
keep(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);

	if (from != 0 || f[12] != 0x08 || f[13] != 0x00)
		return 1;
	frame_len = m->data_len;
	assert_true(frame_len <= sizeof(frame));
	memcpy(frame, f, frame_len);
	return 0;
}

/* For a queue pair of lane 2 that is gone. */
static void
lost_frame(struct pair *p)
{
	struct ibv_qp *a, *b;

	frame_len = 0;
	pair_qps(p, &rc, &a, &b);
	assert_int_equal(b->qp_num % LANES, 2);
	p->wire = keep;
	pair_send(p, 0, a, 0, 0, 16);
	pair_run(p, 1);
	p->wire = NULL;
	assert_true(frame_len != 0);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

/*
 * A marked packet for a queue pair that is gone comes to each queue. It is looked for where its number says, and counted once. So is
 * one to an address that is nobody's here: by the port's thread, which leaves it.
 */
static void
counted_once(void **state)
{
	struct pair *p = *state;
	uint32_t sum;

	lost_frame(p);
	/* Marked, and the sum of the header with it. */
	sum = (~((uint32_t)frame[24] << 8 | frame[25]) & 0xffff) + 3 - (frame[15] & 3u);
	sum = ~((sum & 0xffff) + (sum >> 16));
	frame[15] |= 3;
	frame[24] = (uint8_t)(sum >> 8);
	frame[25] = (uint8_t)sum;
	for (unsigned int i = 0; i < 2 * LANES; i++) {
		uint64_t lost = pair_stat(p, 1, "invalid_qp"), marked = pair_stat(p, 1, "ecn_marked"),
			 bad = pair_stat(p, 1, "bad_ip_checksum");

		frame[35] = (uint8_t)(frame[35] + 1);
		if (i == LANES) {
			/* Another host, and the same sum. */
			frame[33]++;
			frame[29]--;
		}
		pair_inject(p, 1, frame, frame_len);
		pair_run(p, 1);
		assert_int_equal(pair_stat(p, 1, "bad_ip_checksum"), bad);
		assert_int_equal(pair_stat(p, 1, "invalid_qp"), lost + (i < LANES));
		assert_int_equal(pair_stat(p, 1, "ecn_marked"), marked + 1);
	}
}

/* A lane that nobody polls takes what there is room for; the rest is lost, and counted. */
static void
full(void **state)
{
	enum { ROOM = 1024, MORE = 100 };
	struct pair *p = *state;

	lost_frame(p);
	while ((frame[34] ^ frame[35] ^ frame[36] ^ frame[37]) % LANES != 0)
		frame[35]++;
	for (unsigned int i = 0; i < ROOM + MORE; i++)
		pair_inject(p, 1, frame, frame_len);
	while (tp_roce_progress(p->n[1].ctx) != 0)
		;
	assert_int_equal(pair_stat(p, 1, "lane_drops"), MORE);
	assert_int_equal(pair_stat(p, 1, "invalid_qp"), 0);
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 1, "invalid_qp"), ROOM);
	assert_int_equal(pair_stat(p, 1, "lane_drops"), MORE);
}

/* A device that is gone takes the queue pairs of all lanes with it. */
static void
loss(void **state)
{
	struct pair *p = *state;
	struct ibv_cq *cq[LANES];
	struct ibv_qp *b[LANES];
	struct ibv_wc wc;

	for (unsigned int i = 0; i < LANES; i++) {
		struct qp_conf c = ud;

		cq[i] = cq_of(p, 1, i);
		c.scq = c.rcq = cq[i];
		b[i] = pair_qp(p, 1, &c);
		to_rts(b[i]);
		pair_recv(p, 1, b[i], 7, 0, 100);
	}
	rte_eth_dev_callback_process(&rte_eth_devices[p->n[1].port], RTE_ETH_EVENT_INTR_RESET, NULL);
	pair_event(p, 1, IBV_EVENT_DEVICE_FATAL);
	for (unsigned int i = 0; i < LANES; i++) {
		pair_wait(p, cq[i], 1, &wc);
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wc.wr_id, 7);
		assert_int_equal(tp_roce_destroy_qp(b[i]), 0);
	}
	free_cqs(cq);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, lanes_setup, pair_teardown)
	const struct CMUnitTest tests[] = {T(openings), T(objects),      T(each_lane), T(datagrams),
					   T(others),   T(counted_once), T(full),      T(loss)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
