/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Connections in the words of librdmacm between two ports in software, through the public calls. */
#include <errno.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "conn.h"
#include "lib/roce/wire/wire.h"

/* Of packets that do not go to QP1: their UDP source ports, all one. */
static unsigned int
see_sport(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);
	unsigned int at = f[12] == 0x81 ? 18 : 14, v6 = f[at - 2] == 0x86;
	const uint8_t *udp = f + at + (v6 ? 40 : 20);
	int *sport = p->arg;

	if ((f[at - 2] == 0x08 && f[at - 1] == 0) || v6)
		if (udp[2] == 0x12 && udp[3] == 0xb7 && !(udp[13] == 0 && udp[14] == 0 && udp[15] == 1)) {
			assert_true(*sport == 0 || from != 0 || *sport == (udp[0] << 8 | udp[1]));
			*sport = udp[0] << 8 | udp[1];
		}
	return 1;
}

static void
life(void **state)
{
	struct pair *p = *state;

	for (unsigned int net = 0; net < 4; net++) {
		struct conn_both c;
		int sport = 0;

		if (net == PAIR_V1)
			continue;
		c = conn_connected(p, net);
		/* Each end knows the other one's address and port. */
		assert_int_equal(tp_rdma_get_dst_port(c.a), rte_cpu_to_be_16(CONN_SERVICE));
		assert_int_equal(tp_rdma_get_src_port(c.b), rte_cpu_to_be_16(CONN_SERVICE));
		assert_int_equal(tp_rdma_get_src_port(c.a), tp_rdma_get_dst_port(c.b));
		assert_memory_equal(rdma_get_local_addr(c.a), rdma_get_peer_addr(c.b), sizeof(struct sockaddr_in));
		assert_memory_equal(rdma_get_peer_addr(c.a), rdma_get_local_addr(c.b), sizeof(struct sockaddr_in));
		/* Data flows, with the source port of R-2. */
		p->wire = see_sport;
		p->arg = &sport;
		pair_fill(p, 0, 0, 3000, net + 1);
		pair_recv(p, 1, c.b->qp, 1, 4096, 3000);
		pair_send(p, 0, c.a->qp, 2, 0, 3000);
		pair_wait(p, p->n[0].cq, 1, NULL);
		pair_wait(p, p->n[1].cq, 1, NULL);
		pair_same(p, 0, 4096, 3000);
		p->wire = NULL;
		assert_int_equal(sport, (rte_be_to_cpu_16(tp_rdma_get_src_port(c.a)) ^ CONN_SERVICE) | 0xc000);
		assert_int_equal(pair_stat(p, 0, "cm_active"), 1);
		assert_int_equal(pair_stat(p, 1, "cm_active"), 1);
		conn_disconnected(p, &c);
	}
	assert_int_equal(pair_stat(p, 0, "cm_initiated"), 3);
	assert_int_equal(pair_stat(p, 1, "cm_accepted"), 3);
	assert_int_equal(pair_stat(p, 0, "cm_active"), 0);
	assert_int_equal(pair_stat(p, 0, "cm_failed"), 0);
	assert_int_equal(pair_stat(p, 0, "cm_disconnects"), 3);
	assert_int_equal(pair_stat(p, 1, "cm_disconnects"), 3);
}

/* READs in flight: each end takes as many as it offered, or as the other one wants. */
static void
depths(void **state)
{
	struct pair *p = *state;
	struct conn_both c = conn_connected(p, PAIR_V4);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	assert_int_equal(tp_roce_query_qp(c.a->qp, &a, IBV_QP_STATE, &init), 0);
	assert_int_equal(a.qp_state, IBV_QPS_RTS);
	assert_int_equal(a.max_rd_atomic, 2);
	assert_int_equal(a.max_dest_rd_atomic, 2);
	assert_int_equal(a.retry_cnt, 7);
	assert_int_equal(tp_roce_query_qp(c.b->qp, &a, IBV_QP_STATE, &init), 0);
	assert_int_equal(a.max_rd_atomic, 2);
	assert_int_equal(a.max_dest_rd_atomic, 2);
	assert_int_equal(a.path_mtu, IBV_MTU_1024);
	conn_disconnected(p, &c);
}

static void
private_data(void **state)
{
	struct rdma_conn_param param = {.private_data = "who", .private_data_len = 4, .retry_count = 7};
	struct pair *p = *state;
	struct rdma_cm_id *l = conn_listening(1, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE), 4), *a, *b;
	uint8_t much[255] = {0};
	struct rdma_cm_event *e;

	a = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
	conn_with_qp(p, 0, a);
	/* One octet too much is refused, and nothing is sent. */
	param.private_data = much;
	param.private_data_len = 57;
	assert_int_equal(tp_rdma_connect(a, &param), -1);
	assert_int_equal(errno, EINVAL);
	param.private_data = "who";
	param.private_data_len = 4;
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	e = conn_expect(p, 1, RDMA_CM_EVENT_CONNECT_REQUEST);
	b = e->id;
	assert_int_equal(e->param.conn.private_data_len, 56);
	assert_string_equal(e->param.conn.private_data, "who");
	assert_int_equal(e->param.conn.qp_num, a->qp->qp_num);
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	conn_with_qp(p, 1, b);
	param.private_data = much;
	param.private_data_len = 197;
	assert_int_equal(tp_rdma_accept(b, &param), -1);
	assert_int_equal(errno, EINVAL);
	param.private_data = "me";
	param.private_data_len = 3;
	assert_int_equal(tp_rdma_accept(b, &param), 0);
	e = conn_expect(p, 0, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(e->param.conn.private_data_len, 196);
	assert_string_equal(e->param.conn.private_data, "me");
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	conn_expect_status(p, 1, RDMA_CM_EVENT_ESTABLISHED, 0);
	conn_destroy(a);
	conn_expect_status(p, 1, RDMA_CM_EVENT_DISCONNECTED, 0);
	conn_destroy(b);
	conn_destroy(l);
}

static void
refused(void **state)
{
	struct rdma_conn_param param = {.retry_count = 7};
	struct pair *p = *state;
	struct rdma_cm_id *l = conn_listening(1, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE), 4), *a, *b;
	struct rdma_cm_event *e;

	a = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
	conn_with_qp(p, 0, a);
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	b = conn_request(p, l);
	assert_int_equal(tp_rdma_reject(b, "x", 149), -1);
	assert_int_equal(tp_rdma_reject(b, "no", 3), 0);
	e = conn_expect(p, 0, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(e->status, 28);
	assert_string_equal(e->param.conn.private_data, "no");
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	assert_int_equal(tp_rdma_destroy_id(b), 0);
	conn_destroy(a);
	/* Nobody listens there: reason 8. */
	a = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE + 1));
	conn_with_qp(p, 0, a);
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 8);
	conn_destroy(a);
	/* The one that listens goes away before it has looked. */
	a = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
	conn_with_qp(p, 0, a);
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	pair_run(p, 10);
	assert_int_equal(tp_rdma_destroy_id(l), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_REJECTED, 28);
	conn_destroy(a);
	assert_int_equal(pair_stat(p, 0, "cm_failed"), 3);
	assert_int_equal(pair_stat(p, 0, "cm_rejected_in"), 3);
	assert_int_equal(pair_stat(p, 1, "cm_rejected_out"), 3);
	assert_int_equal(pair_stat(p, 0, "cm_rejected_out") + pair_stat(p, 1, "cm_rejected_in"), 0);
	assert_int_equal(pair_stat(p, 1, "cm_no_service"), 1);
	conn_silence(p, 10);
}

/* As many requests as the backlog says wait; the others are dropped, and come again. */
static void
backlog(void **state)
{
	struct rdma_conn_param param = {.retry_count = 7};
	struct pair *p = *state;
	struct rdma_cm_id *l = conn_listening(1, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE), 2), *a[3], *b[3];

	for (unsigned int i = 0; i < 3; i++) {
		a[i] = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
		conn_with_qp(p, 0, a[i]);
		assert_int_equal(tp_rdma_connect(a[i], &param), 0);
	}
	b[0] = conn_request(p, l);
	b[1] = conn_request(p, l);
	conn_silence(p, 20);
	assert_int_equal(pair_stat(p, 1, "cm_half_open_drops"), 1);
	assert_int_equal(pair_stat(p, 1, "cm_half_open"), 2);
	for (unsigned int i = 0; i < 2; i++) {
		conn_with_qp(p, 1, b[i]);
		assert_int_equal(tp_rdma_accept(b[i], &param), 0);
		conn_expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
		conn_expect_status(p, 1, RDMA_CM_EVENT_ESTABLISHED, 0);
	}
	/* Two seconds later */
	b[2] = conn_request(p, l);
	for (unsigned int i = 0; i < 3; i++) {
		conn_destroy(a[i]);
		conn_destroy(b[i]);
	}
	tp_rdma_destroy_id(l);
	pair_run(p, 10);
}

/* A lost RTU: the passive side repeats its REP, and the RTU comes again. */
static unsigned int
lose_mad(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *bth = rte_pktmbuf_mtod(m, const uint8_t *) + 42;
	const uint8_t *attr = bth + 12 + 8 + 16;
	int *left = p->arg;

	/* QP1's, and the message's attribute id */
	if (rte_pktmbuf_pkt_len(m) < 42 + 280 || bth[0] != 0x64 || attr[1] != left[1] || left[0] == 0)
		return 1;
	(void)from;
	left[0]--;
	return 0;
}

static void
lost(void **state)
{
	static const int attrs[] = {0x10, 0x13, 0x14};
	struct rdma_conn_param param = {.retry_count = 7};
	struct pair *p = *state;

	for (unsigned int i = 0; i < 3; i++) {
		struct rdma_cm_id *l = conn_listening(1, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE), 2), *a,
				  *b;
		int left[2] = {1, attrs[i]};

		p->wire = lose_mad;
		p->arg = left;
		a = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
		conn_with_qp(p, 0, a);
		assert_int_equal(tp_rdma_connect(a, &param), 0);
		b = conn_request(p, l);
		conn_with_qp(p, 1, b);
		assert_int_equal(tp_rdma_accept(b, &param), 0);
		conn_expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
		conn_expect_status(p, 1, RDMA_CM_EVENT_ESTABLISHED, 0);
		assert_int_equal(left[0], 0);
		p->wire = NULL;
		conn_destroy(a);
		conn_expect_status(p, 1, RDMA_CM_EVENT_DISCONNECTED, 0);
		conn_destroy(b);
		conn_destroy(l);
	}
	assert_true(pair_stat(p, 0, "cm_retries") + pair_stat(p, 1, "cm_retries") >= 3);
}

/* A request to the port's own address */
static void
to_itself(void **state)
{
	struct rdma_conn_param param = {.retry_count = 7, .responder_resources = 1, .initiator_depth = 1};
	struct pair *p = *state;
	struct rdma_cm_id *l = conn_listening(0, RDMA_PS_TCP, conn_address(PAIR_V4, 0, CONN_SERVICE), 4), *a, *b;
	struct rdma_cm_event *e;

	a = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 0, CONN_SERVICE));
	conn_with_qp(p, 0, a);
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	e = conn_expect(p, 0, RDMA_CM_EVENT_CONNECT_REQUEST);
	b = e->id;
	assert_int_equal(tp_rdma_ack_cm_event(e), 0);
	conn_with_qp(p, 0, b);
	assert_int_equal(tp_rdma_accept(b, &param), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
	pair_fill(p, 0, 0, 100, 77);
	pair_recv(p, 0, b->qp, 1, 4096, 100);
	pair_send(p, 0, a->qp, 2, 0, 100);
	pair_wait(p, p->n[0].cq, 2, NULL);
	assert_memory_equal(p->n[0].mem, p->n[0].mem + 4096, 100);
	assert_int_equal(tp_rdma_disconnect(a), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_DISCONNECTED, 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_DISCONNECTED, 0);
	conn_destroy(a);
	conn_destroy(b);
	conn_destroy(l);
}

/* --- end-to-end flow control (9.7.7.2) --- */

#define BTH_AT 42u /* behind Ethernet, IPv4 and UDP */
#define OP_SEND_ONLY 4u
#define OP_ACK 17u

static uint8_t credit_code;  /* of the last ACK from node 1 */
static uint32_t first_psn;   /* of the first send from node 0 */
static uint32_t sends_ahead; /* of the greatest, behind it */

static unsigned int
watch_credits(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *bth = rte_pktmbuf_mtod(m, const uint8_t *) + BTH_AT;

	(void)p;
	if (from == 0 && bth[0] == OP_SEND_ONLY) {
		if (first_psn == UINT32_MAX)
			first_psn = ib_get24(bth + 9);
		sends_ahead = RTE_MAX(sends_ahead, (ib_get24(bth + 9) - first_psn) & 0xffffff);
	} else if (from == 1 && bth[0] == OP_ACK && bth[12] >> 5 == 0) {
		credit_code = bth[12] & 0x1f;
	}
	return 1;
}

/* Who learns late of the connection posts late what receives: a peer that repeats a few times only is patient. */
static void
receives_late(void **state)
{
	struct rdma_conn_param param = {.retry_count = 7, .rnr_retry_count = 5};
	struct pair *p = *state;
	struct conn_both c;

	c.l = conn_listening(1, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE), 4);
	c.a = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
	conn_with_qp(p, 0, c.a);
	assert_int_equal(tp_rdma_connect(c.a, &param), 0);
	c.b = conn_request(p, c.l);
	conn_with_qp(p, 1, c.b);
	assert_int_equal(tp_rdma_accept(c.b, &param), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
	conn_expect_status(p, 1, RDMA_CM_EVENT_ESTABLISHED, 0);
	pair_send(p, 1, c.b->qp, 1, 0, 10);
	pair_run(p, 50);
	assert_int_equal(pair_stat(p, 0, "resp_rnr_naks"), 1);
	pair_recv(p, 0, c.a->qp, 1, 4096, 10);
	pair_wait(p, p->n[1].cq, 1, NULL);
	pair_wait(p, p->n[0].cq, 1, NULL);
	conn_disconnected(p, &c);
}

/*
 * One receive request, then none: the ACK of the first message says so, and of the next ones a single one is sent, whose RNR
 * NAK is the backstop. Without flow control the ACK counts nothing (code 31), and all are sent.
 */
static void
flow(struct pair *p, bool active, bool passive)
{
	struct rdma_conn_param param = {.retry_count = 7, .rnr_retry_count = 7, .flow_control = active};
	struct rdma_cm_id *l = conn_listening(1, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE), 4), *a, *b;
	const bool on = active && passive;

	a = conn_routed(p, RDMA_PS_TCP, conn_address(PAIR_V4, 1, CONN_SERVICE));
	conn_with_qp(p, 0, a);
	assert_int_equal(tp_rdma_connect(a, &param), 0);
	b = conn_request(p, l);
	conn_with_qp(p, 1, b);
	param.flow_control = passive;
	assert_int_equal(tp_rdma_accept(b, &param), 0);
	conn_expect_status(p, 0, RDMA_CM_EVENT_ESTABLISHED, 0);
	conn_expect_status(p, 1, RDMA_CM_EVENT_ESTABLISHED, 0);
	p->wire = watch_credits;
	credit_code = 0xff;
	first_psn = UINT32_MAX;
	sends_ahead = 0;
	pair_recv(p, 1, b->qp, 1, 4096, 10);
	pair_send(p, 0, a->qp, 1, 0, 10);
	pair_wait(p, p->n[0].cq, 1, NULL);
	assert_int_equal(credit_code, passive ? 0 : 31);
	for (unsigned int i = 2; i < 6; i++)
		pair_send(p, 0, a->qp, i, 0, 10);
	pair_run(p, 1);
	assert_int_equal(sends_ahead, on ? 1 : 4);
	assert_true(pair_stat(p, 1, "resp_rnr_naks") > 0);
	for (unsigned int i = 2; i < 6; i++)
		pair_recv(p, 1, b->qp, i, 4096, 10);
	pair_wait(p, p->n[0].cq, 4, NULL);
	pair_wait(p, p->n[1].cq, 5, NULL);
	p->wire = NULL;
	conn_destroy(a);
	conn_expect_status(p, 1, RDMA_CM_EVENT_DISCONNECTED, 0);
	conn_destroy(b);
	conn_destroy(l);
}

static void
credits(void **state)
{
	flow(*state, true, true);
}

static void
credits_refused(void **state)
{
	flow(*state, false, true);
	flow(*state, true, false);
	flow(*state, false, false);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, conn_setup, conn_teardown)
	const struct CMUnitTest tests[] = {
		T(life), T(depths),    T(private_data), T(refused),         T(backlog),
		T(lost), T(to_itself), T(credits),      T(credits_refused), T(receives_late),
	};

	return cmocka_run_group_tests_name("rdma", tests, NULL, NULL);
}
