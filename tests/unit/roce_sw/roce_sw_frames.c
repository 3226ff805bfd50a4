/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * roce_sw_frames FILE [LANES]: what two ports say to each other in software over RoCE v1, v2/IPv4 and v2/IPv6, as a capture for
 * other people's dissectors: every service and operation, payloads of all pad lengths, a tag, a NAK. LANES: of the second port.
 */
#include <stdio.h>
#include <stdlib.h>

#include <rte_byteorder.h>

#include "pair.h"

static FILE *capture;

static void
put32(FILE *f, uint32_t v)
{
	v = rte_cpu_to_be_32(v);
	fwrite(&v, sizeof(v), 1, f);
}

/* RoCE frames only: what the neighbours say is another test's. */
static unsigned int
save(struct pair *p, unsigned int from, struct rte_mbuf *m)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, uint8_t *), *etype = f + (f[12] == 0x81 ? 16 : 12);
	bool v1 = etype[0] == 0x89 && etype[1] == 0x15, v6 = etype[0] == 0x86 && etype[1] == 0xdd;
	bool v4 = etype[0] == 0x08 && etype[1] == 0x00;

	if (v1 || (v4 && etype[2 + 9] == 17) || (v6 && etype[2 + 6] == 17)) {
		put32(capture, 0);
		put32(capture, 0);
		put32(capture, m->data_len);
		put32(capture, m->data_len);
		fwrite(f, m->data_len, 1, capture);
	}
	return 1;
}

static void
one(struct pair *p, struct ibv_qp *a, enum ibv_wr_opcode op, uint32_t len)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = pair_wr(p, 0, op, &sge, 0, len, 64);
	struct ibv_wc wc;

	wr.imm_data = rte_cpu_to_be_32(0x01020304);
	wr.send_flags |= IBV_SEND_SOLICITED;
	pair_post(a, &wr);
	pair_wait(p, p->n[0].cq, 1, &wc);
}

static void
connected(struct pair *p, enum ibv_qp_type type, enum pair_net net)
{
	static const uint32_t lengths[] = {0, 1, 2, 3, 4, 3001};
	const struct qp_conf c = {.type = type, .net = net};
	struct ibv_async_event e;
	struct ibv_qp *a, *b;
	struct ibv_wc wc;

	pair_qps(p, &c, &a, &b);
	for (unsigned int i = 0; i < RTE_DIM(lengths); i++) {
		pair_recv(p, 1, b, 0, 0, 4096);
		one(p, a, IBV_WR_SEND, lengths[i]);
		pair_recv(p, 1, b, 0, 0, 4096);
		one(p, a, IBV_WR_SEND_WITH_IMM, lengths[i]);
		one(p, a, IBV_WR_RDMA_WRITE, lengths[i]);
		pair_recv(p, 1, b, 0, 0, 4096);
		one(p, a, IBV_WR_RDMA_WRITE_WITH_IMM, lengths[i]);
		pair_wait(p, p->n[1].cq, 3, NULL);
		if (type == IBV_QPT_RC)
			one(p, a, IBV_WR_RDMA_READ, lengths[i]);
	}
	if (type == IBV_QPT_RC) {
		one(p, a, IBV_WR_ATOMIC_CMP_AND_SWP, 8);
		one(p, a, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
		/* Refused: a NAK. */
		p->n[1].mr->rkey ^= 1;
		one(p, a, IBV_WR_RDMA_WRITE, 8);
		p->n[1].mr->rkey ^= 1;
		while (tp_roce_get_async_event(p->n[1].ctx, &e) == 0)
			tp_roce_ack_async_event(&e);
	}
	while (ibv_poll_cq(p->n[1].cq, 1, &wc) != 0)
		;
	assert_int_equal(tp_roce_destroy_qp(a), 0);
	assert_int_equal(tp_roce_destroy_qp(b), 0);
}

static void
datagrams(struct pair *p, enum pair_net net)
{
	const struct qp_conf c = {.type = IBV_QPT_UD};
	struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR}, rts = {.qp_state = IBV_QPS_RTS};
	union ibv_gid dgid = pair_gid(p, 1, net);
	struct ibv_ah *ah = pair_ah(p, 0, &dgid, net);
	struct ibv_qp *a = pair_qp(p, 0, &c);

	assert_int_equal(tp_roce_modify_qp(a, &rtr, IBV_QP_STATE), 0);
	assert_int_equal(tp_roce_modify_qp(a, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	for (uint32_t len = 1; len <= 1024; len *= 2) {
		struct ibv_sge sge;
		struct ibv_send_wr wr =
			pair_wr(p, 0, (len & 1) != 0 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND, &sge, 0, len, 0);

		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = 77;
		wr.wr.ud.remote_qkey = 0x1234;
		pair_post(a, &wr);
		pair_wait(p, p->n[0].cq, 1, NULL);
	}
	pair_run(p, 1);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	assert_int_equal(tp_roce_destroy_qp(a), 0);
}

int
main(int argc, char **argv)
{
	static const uint8_t head[24] = {0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 4, [18] = 1, [23] = 1}; /* Ethernet */
	const struct pair_conf pc = {.mtu = 1024, .lanes = {1, (uint16_t)(argc == 3 ? atoi(argv[2]) : 1)}};
	struct pair *p;

	if (argc < 2 || argc > 3 || (capture = fopen(argv[1], "wb")) == NULL) {
		fprintf(stderr, "usage: roce_sw_frames FILE [LANES]\n");
		return 2;
	}
	fwrite(head, sizeof(head), 1, capture);
	p = pair_open(&pc);
	p->wire = save;
	for (unsigned int net = 0; net < 4; net++) {
		connected(p, IBV_QPT_RC, net);
		connected(p, IBV_QPT_UC, net);
		datagrams(p, net);
	}
	pair_close(p);
	return fclose(capture) == 0 ? 0 : 1;
}
