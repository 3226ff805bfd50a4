/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Every operation of every service, over each kind of network: what arrives, and what completions say. */
#include <errno.h>

#include "pair.h"

static void
destroy(struct ibv_qp *a, struct ibv_qp *b)
{
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

static const uint32_t lengths[] = {0, 1, 2, 3, 4, 63, 64, 255, 1023, 1024, 1025, 4097, 70001};

/* SENDs of all lengths from a, with immediate data every other time. */
static void
sends(struct pair *p, struct ibv_qp *a, struct ibv_qp *b)
{
	for (uint32_t i = 0; i < RTE_DIM(lengths); i++) {
		uint32_t len = lengths[i];
		struct ibv_sge sge;
		struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_SEND, &sge, 0, len, 0);
		struct ibv_wc wc;

		pair_fill(p, 0, 0, len, i + 1);
		pair_recv(p, 1, b, i, 100, len + 8);
		wr.wr_id = 1000 + i;
		if ((i & 1) != 0) {
			wr.opcode = IBV_WR_SEND_WITH_IMM;
			wr.imm_data = rte_cpu_to_be_32(0xabc00000 + i);
		}
		pair_post(a, &wr);
		pair_wait(p, p->n[1].cq, 1, &wc);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.opcode, IBV_WC_RECV);
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(wc.byte_len, len);
		assert_int_equal(wc.qp_num, b->qp_num);
		assert_int_equal(wc.src_qp, a->qp_num);
		assert_int_equal(wc.wc_flags, (i & 1) != 0 ? IBV_WC_WITH_IMM : 0);
		if ((i & 1) != 0)
			assert_int_equal(rte_be_to_cpu_32(wc.imm_data), 0xabc00000 + i);
		pair_same(p, 0, 100, len);
		pair_wait(p, p->n[0].cq, 1, &wc);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.opcode, IBV_WC_SEND);
		assert_int_equal(wc.wr_id, 1000 + i);
		assert_int_equal(wc.qp_num, a->qp_num);
	}
}

static void
writes(struct pair *p, struct ibv_qp *a, struct ibv_qp *b)
{
	for (uint32_t i = 0; i < RTE_DIM(lengths); i++) {
		uint32_t len = lengths[i];
		struct ibv_sge sge;
		struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 7, len, 3);
		struct ibv_wc wc;

		pair_fill(p, 0, 7, len, i + 77);
		pair_post(a, &wr);
		pair_wait(p, p->n[0].cq, 1, &wc);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.opcode, IBV_WC_RDMA_WRITE);
		pair_run(p, 1);
		pair_same(p, 7, 3, len);
		pair_fill(p, 0, 7, len, i + 78);
		pair_recv(p, 1, b, 5, 0, 0);
		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr.imm_data = rte_cpu_to_be_32(i);
		pair_post(a, &wr);
		pair_wait(p, p->n[1].cq, 1, &wc);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
		assert_int_equal(wc.wr_id, 5);
		assert_int_equal(wc.byte_len, len);
		assert_int_equal(rte_be_to_cpu_32(wc.imm_data), i);
		pair_same(p, 7, 3, len);
		pair_wait(p, p->n[0].cq, 1, NULL);
	}
}

static void
reads(struct pair *p, struct ibv_qp *a)
{
	for (uint32_t i = 0; i < RTE_DIM(lengths); i++) {
		uint32_t len = lengths[i];
		struct ibv_sge sge;
		struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_RDMA_READ, &sge, 9, len, 5);
		struct ibv_wc wc;

		pair_fill(p, 1, 5, len, i + 99);
		pair_post(a, &wr);
		pair_wait(p, p->n[0].cq, 1, &wc);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.opcode, IBV_WC_RDMA_READ);
		assert_int_equal(wc.byte_len, len);
		pair_same(p, 9, 5, len);
	}
}

static void
atomics(struct pair *p, struct ibv_qp *a)
{
	uint64_t *there = (uint64_t *)(void *)(p->n[1].mem + 64), *here = (uint64_t *)(void *)p->n[0].mem;
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 0, 8, 64);
	struct ibv_wc wc;

	*there = UINT64_MAX - 1;
	wr.wr.atomic.compare_add = 3;
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, &wc);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_FETCH_ADD);
	assert_int_equal(wc.byte_len, 8);
	assert_true(*here == UINT64_MAX - 1);
	assert_int_equal(*there, 1);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.compare_add = 2; /* not what is there */
	wr.wr.atomic.swap = 77;
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, &wc);
	assert_int_equal(wc.opcode, IBV_WC_COMP_SWAP);
	assert_int_equal(*here, 1);
	assert_int_equal(*there, 1);
	wr.wr.atomic.compare_add = 1;
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, NULL);
	assert_int_equal(*here, 1);
	assert_int_equal(*there, 77);
}

static void
rc_all(struct pair *p, enum pair_net net)
{
	/* Nothing is lost, so nothing is sent again, if not since this thread was kept from its CPU: for 4 s it may be. */
	const struct qp_conf c = {.type = IBV_QPT_RC, .net = net, .timeout = 20};
	struct ibv_qp *a, *b;

	pair_qps(p, &c, &a, &b);
	sends(p, a, b);
	writes(p, a, b);
	reads(p, a);
	atomics(p, a);
	assert_int_equal(pair_stat(p, 0, "req_resent"), 0);
	assert_int_equal(pair_stat(p, 1, "bad_icrc"), 0);
	destroy(a, b);
}

static void
rc_ipv4(void **state)
{
	rc_all(*state, PAIR_V4);
}

static void
rc_ipv6(void **state)
{
	rc_all(*state, PAIR_V6);
}

static void
rc_v1(void **state)
{
	rc_all(*state, PAIR_V1);
}

static void
rc_vlan(void **state)
{
	rc_all(*state, PAIR_VLAN);
}

static void
uc_all(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_UC};
	struct pair *p = *state;
	struct ibv_qp *a, *b;

	pair_qps(p, &c, &a, &b);
	sends(p, a, b);
	writes(p, a, b);
	destroy(a, b);
}

/* A message that finds no receive request is lost, and counted. */
static void
uc_not_ready(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_UC};
	struct pair *p = *state;
	struct ibv_qp *a, *b;
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_SEND, &sge, 0, 8, 0);

	pair_qps(p, &c, &a, &b);
	pair_post(a, &wr);
	pair_run(p, 1);
	assert_int_equal(pair_stat(p, 1, "resp_uc_dropped"), 1);
	assert_int_equal(pair_stat(p, 1, "uc_discarded"), 1); /* its name before */
	assert_int_equal(pair_stat(p, 1, "uc_discarded"), 1);
	destroy(a, b);
}

/* Lists of several elements, some empty, and inline data of several. */
static void
lists(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .sge = 32, .inl = 1024};
	struct pair *p = *state;
	struct node *n0 = &p->n[0], *n1 = &p->n[1];
	uint8_t want[8192];
	struct ibv_qp *a, *b;

	pair_qps(p, &c, &a, &b);
	for (unsigned int inl = 0; inl < 2; inl++) {
		struct ibv_sge from[32], to[32];
		struct ibv_send_wr *bs, wr = {.opcode = IBV_WR_SEND,
					      .sg_list = from,
					      .num_sge = 32,
					      .send_flags = IBV_SEND_SIGNALED | (inl ? IBV_SEND_INLINE : 0)};
		struct ibv_recv_wr *br, rr = {.sg_list = to, .num_sge = 32};
		uint32_t total = 0, rtotal = 0, at = 0;
		struct ibv_wc wc;

		pair_fill(p, 0, 0, 65536, 5 + inl);
		for (unsigned int i = 0; i < 32; i++) {
			uint32_t len = i % 5 == 0 ? 0 : inl ? 1 + i : 1 + i * 7;

			from[i] = (struct ibv_sge){(uintptr_t)n0->mem + i * 2000, len, inl ? 0 : n0->mr->lkey};
			to[i] = (struct ibv_sge){(uintptr_t)n1->mem + i * 2000, i % 3 == 0 ? 0 : 300, n1->mr->lkey};
			memcpy(want + total, n0->mem + i * 2000, len);
			total += len;
			rtotal += to[i].length;
		}
		assert_true(rtotal >= total);
		assert_int_equal(ibv_post_recv(b, &rr, &br), 0);
		assert_int_equal(ibv_post_send(a, &wr, &bs), 0);
		/* What was inline is the application's again. */
		if (inl)
			memset(n0->mem, 0, 65536);
		pair_wait(p, n1->cq, 1, &wc);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.byte_len, total);
		for (unsigned int i = 0; i < 32 && at < total; i++) {
			uint32_t len = RTE_MIN(to[i].length, total - at);

			assert_memory_equal(n1->mem + i * 2000, want + at, len);
			at += len;
		}
		pair_wait(p, n0->cq, 1, NULL);
	}
	destroy(a, b);
}

/* Unsignaled requests end without a word; the queue's room comes back. */
static void
unsignaled(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC, .send_wr = 8};
	struct pair *p = *state;
	struct ibv_qp *a, *b;
	struct ibv_wc wc;

	pair_qps(p, &c, &a, &b);
	for (unsigned int i = 0; i < 100; i++) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 10, 0);

		wr.send_flags = i == 99 ? IBV_SEND_SIGNALED : 0;
		wr.wr_id = i;
		pair_post(a, &wr);
		for (unsigned int k = 0; k < 4; k++)
			pair_step(p);
	}
	pair_wait(p, p->n[0].cq, 1, &wc);
	assert_int_equal(wc.wr_id, 99);
	assert_int_equal(ibv_poll_cq(p->n[0].cq, 1, &wc), 0);
	destroy(a, b);
}

/* To a queue pair of the same port: packets turn round inside. */
static void
to_itself(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC};
	struct pair *p = *state;
	struct ibv_qp *a = pair_qp(p, 0, &c), *b = pair_qp(p, 0, &c);
	uint64_t frames;
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	pair_connect(p, a, b, &c);
	frames = p->frames[0];
	pair_fill(p, 0, 0, 50000, 3);
	wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 50000, 0);
	wr.wr.rdma.remote_addr = (uintptr_t)p->n[0].mem + 100000;
	wr.wr.rdma.rkey = p->n[0].mr->rkey;
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, NULL);
	assert_memory_equal(p->n[0].mem, p->n[0].mem + 100000, 50000);
	/* Neighbour discovery may say something meanwhile. */
	assert_true(p->frames[0] - frames < 5);
	assert_true(pair_stat(p, 0, "looped") >= 49);
	destroy(a, b);
}

/* A queue pair connected with itself. */
static void
alone(void **state)
{
	const struct qp_conf c = {.type = IBV_QPT_RC};
	struct pair *p = *state;
	struct ibv_qp *a = pair_qp(p, 0, &c);

	pair_connect(p, a, a, &c);
	pair_fill(p, 0, 0, 5000, 9);
	pair_recv(p, 0, a, 1, 8000, 5000);
	pair_send(p, 0, a, 2, 0, 5000);
	pair_wait(p, p->n[0].cq, 2, NULL);
	assert_memory_equal(p->n[0].mem, p->n[0].mem + 8000, 5000);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
}

/* Whole frames are the application's already: there is no queue pair for them. */
static void
no_raw_packets(void **state)
{
	struct pair *p = *state;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.send_cq = p->n[0].cq,
		.recv_cq = p->n[0].cq,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_device_attr a;

	assert_int_equal(tp_roce_query_device(p->n[0].ctx, &a), 0);
	assert_int_equal(a.device_cap_flags & (IBV_DEVICE_RAW_IP_CSUM | IBV_DEVICE_MANAGED_FLOW_STEERING), 0);
	assert_int_equal(a.max_raw_ethy_qp, 0);
	assert_int_equal(a.vendor_id, 0xffffff);
	errno = 0;
	assert_null(tp_roce_create_qp(p->n[0].pd, &init));
	assert_int_equal(errno, EOPNOTSUPP);
}

/* Port 1021, of before the standard. */
static void
old_port(void **state)
{
	const struct pair_conf pc = {.mtu = 4096, .udp_port = 1021};
	const struct qp_conf c = {.type = IBV_QPT_RC};
	struct pair *p = pair_open(&pc);
	struct ibv_qp *a, *b;

	pair_qps(p, &c, &a, &b);
	sends(p, a, b);
	destroy(a, b);
	pair_close(p);
}

/* --- regions that change while the queue pairs stay -------------------------------------------------------------- */

/* How a write of 8 octets to the second page ends. */
static enum ibv_wc_status
outcome(struct pair *p, struct ibv_qp *a, uint32_t rkey)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, 0, IBV_WR_RDMA_WRITE, &sge, 0, 8, 4096);
	struct ibv_wc wc;

	wr.wr.rdma.rkey = rkey;
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, &wc);
	if (wc.status != IBV_WC_SUCCESS)
		pair_event(p, 1, IBV_EVENT_QP_ACCESS_ERR);
	return wc.status;
}

static void
region_gone(void **state)
{
	static const struct qp_conf conf = {.type = IBV_QPT_RC};
	struct pair *p = *state;
	struct node *n = &p->n[1];
	struct ibv_mr *mr = tp_roce_reg_mr(n->pd, n->mem, 8192, PAIR_ALL);
	uint32_t rkey = mr->rkey;
	struct ibv_qp *a, *b;

	pair_qps(p, &conf, &a, &b);
	assert_int_equal(outcome(p, a, rkey), IBV_WC_SUCCESS);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	/* The place may be somebody else's now; the key is not. */
	mr = tp_roce_reg_mr(n->pd, n->mem, 8192, PAIR_ALL);
	assert_int_equal(outcome(p, a, rkey), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	destroy(a, b);
}

/* It gets other memory and then no rights, under its key. */
static void
region_changed(void **state)
{
	static const struct qp_conf conf = {.type = IBV_QPT_RC};
	struct pair *p = *state;
	struct node *n = &p->n[1];
	struct ibv_mr *mr = tp_roce_reg_mr(n->pd, n->mem, 4096, PAIR_ALL);
	struct ibv_qp *a, *b;

	pair_qps(p, &conf, &a, &b);
	assert_int_equal(tp_roce_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, n->mem + 4096, 100, 0), 0);
	memset(p->n[0].mem, 0x5a, 8);
	memset(n->mem + 4096, 0, 9);
	assert_int_equal(outcome(p, a, mr->rkey), IBV_WC_SUCCESS);
	assert_memory_equal(n->mem + 4096, "ZZZZZZZZ", 9);
	assert_int_equal(tp_roce_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE), 0);
	assert_int_equal(outcome(p, a, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(tp_roce_dereg_mr(mr), 0);
	destroy(a, b);
}

/* Its receiver sees a message's completion and is gone before the port's next turn: the sender has its answer all the same. */
static struct ibv_qp *leaver;
static bool to_error;

static unsigned int
received_and_gone(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	struct rte_mbuf *copy;
	struct ibv_wc wc;

	if (from != 0 || leaver == NULL)
		return 1;
	copy = rte_pktmbuf_copy(m, m->pool, 0, UINT32_MAX);
	assert_non_null(copy);
	assert_int_equal(tp_roce_input(p->n[1].ctx, &copy, 1), 0);
	assert_int_equal(ibv_poll_cq(p->n[1].cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	if (to_error)
		pair_to_error(leaver);
	else
		assert_int_equal(tp_roce_destroy_qp(leaver), 0);
	leaver = NULL;
	return 0;
}

static void
answered_at_the_end(void **state)
{
	struct pair *p = *state;
	const struct qp_conf c = {.type = IBV_QPT_RC, .timeout = 20}; /* a machine may let the test wait */

	/* What the port is shown comes to another lane by that one's turn. */
	if (p->n[1].lanes > 1) {
		printf("skip shown packets: the port has %u lanes\n", p->n[1].lanes);
		skip();
	}
	for (unsigned int i = 0; i < 2; i++) {
		struct ibv_qp *a, *b;
		struct ibv_wc wc;

		pair_qps(p, &c, &a, &b);
		pair_recv(p, 1, b, 1, 0, 64);
		leaver = b;
		to_error = i != 0;
		p->wire = received_and_gone;
		pair_send(p, 0, a, 2, 0, 64);
		pair_wait(p, p->n[0].cq, 1, &wc);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_null(leaver);
		p->wire = NULL;
		assert_int_equal(tp_roce_destroy_qp(a), 0);
		if (to_error)
			assert_int_equal(tp_roce_destroy_qp(b), 0);
	}
	assert_int_equal(pair_stat(p, 0, "req_timeouts"), 0);
}

/* What was not polled stays where the queue gets another size, and must have room there. */
static void
sizes(void **state)
{
	struct pair *p = *state;
	struct ibv_cq *cq = tp_roce_create_cq(p->n[1].ctx, 4, p, NULL, p->n[1].lanes / 2);
	const struct qp_conf plain = {.type = IBV_QPT_RC}, c = {.type = IBV_QPT_RC, .rcq = cq};
	struct ibv_qp *a = pair_qp(p, 0, &plain), *b = pair_qp(p, 1, &c);
	static const int sizes[] = {64, 16, 32, 16};
	uint64_t id = 0, next = 0;
	struct ibv_wc wc[16];

	assert_non_null(cq);
	pair_connect(p, a, b, &c);
	for (unsigned int i = 0; i < 40; i++) {
		assert_int_equal(tp_roce_resize_cq(cq, sizes[i % RTE_DIM(sizes)]), 0);
		assert_int_equal(cq->cqe, sizes[i % RTE_DIM(sizes)]);
		for (unsigned int k = 0; k < 11; k++, id++) {
			pair_recv(p, 1, b, id, 0, 8);
			pair_send(p, 0, a, id, 0, 8);
		}
		pair_wait(p, p->n[0].cq, 11, NULL);
		assert_int_equal(tp_roce_resize_cq(cq, 8), EINVAL);
		assert_int_equal(cq->cqe, sizes[i % RTE_DIM(sizes)]);
		/* Three wait for the next size; the first of the turn before, too. */
		pair_wait(p, cq, (int)(id - next) - 3, wc);
		for (unsigned int k = 0; next != id - 3; k++, next++) {
			assert_int_equal(wc[k].status, IBV_WC_SUCCESS);
			assert_int_equal(wc[k].wr_id, next);
		}
	}
	destroy(a, b);
	assert_int_equal(tp_roce_destroy_cq(cq), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rc_ipv4, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(rc_ipv6, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(rc_v1, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(rc_vlan, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(uc_all, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(uc_not_ready, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(lists, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(unsignaled, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(to_itself, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(alone, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(no_raw_packets, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(region_gone, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(region_changed, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(answered_at_the_end, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(sizes, pair_setup, pair_teardown),
		cmocka_unit_test(old_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
