/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Raw packet queue pairs of a card: frames that leave and arrive byte for byte, their checksums, their states, and what is refused.
 */
#include "roce_raw.h"

/* --- frames that leave --------------------------------------------------------------------------------------------- */

/* Frames reach the wire as they were posted: of one piece, of two, and of octets in the request. */
static void
test_send(void **state)
{
	const struct rte_ether_addr mac = rig_mac(1);
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = {.wr_id = 7, .sg_list = sge, .num_sge = 2, .opcode = IBV_WR_SEND};
	uint8_t longest[MTU + 22], shortest[60] = {0};
	struct rr_end e;
	unsigned int i;

	raw_end(&e, 0);
	for (i = 0; i < sizeof(longest); i++)
		longest[i] = (uint8_t)(i * 7);
	memcpy(longest, &mac, sizeof(mac));
	memcpy(e.mem, longest, sizeof(longest));
	/* The longest that an MTU of 1500 has room for: a header with two tags */
	assert_int_equal(rr_send(&e, 0, sizeof(longest), 0), 0);
	ethdev_got(1, longest, sizeof(longest));
	rr_expect(&e, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	/* Two pieces that are far from each other */
	memcpy(e.mem + 4096, longest + 5, 1000);
	sge[0] = (struct ibv_sge){.addr = (uintptr_t)e.mem, .length = 5, .lkey = e.mr->lkey};
	sge[1] = (struct ibv_sge){.addr = (uintptr_t)e.mem + 4096, .length = 1000, .lkey = e.mr->lkey};
	assert_int_equal(rr_post(&e, &wr), 0);
	ethdev_got(1, longest, 1005);
	rr_expect(&e, IBV_WC_SUCCESS, IBV_WC_SEND, 7);
	/* A header alone is filled up with zeros to 60 octets [DP 3.4]. */
	memcpy(shortest, longest, 14);
	assert_int_equal(rr_send(&e, 0, 14, 0), 0);
	ethdev_got(1, shortest, 60);
	rr_expect(&e, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	/* Octets in the request: the memory may change at once. */
	for (i = 17; i <= 64; i++) {
		memcpy(e.mem, longest, i);
		assert_int_equal(rr_send(&e, 0, i, IBV_SEND_INLINE), 0);
		memset(e.mem, 0, i);
		memset(shortest, 0, sizeof(shortest));
		memcpy(shortest, longest, RTE_MIN(i, 60u));
		ethdev_got(1, i < 60 ? shortest : longest, RTE_MAX(i, 60u));
		rr_expect(&e, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	}
	rr_no_wc(&e);
	rr_end_free(&e);
}

/* The ring turns round several times; a full one takes no more. */
static void
test_many(void **state)
{
	const struct rte_ether_addr mac = rig_mac(1);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr at;
	struct rr_end e;
	unsigned int i, round;
	struct ibv_wc wc;

	raw_end(&e, 0);
	assert_int_equal(tp_roce_query_qp(e.qp, &at, 0, &init), 0);
	assert_int_equal(at.qp_state, IBV_QPS_RTS);
	for (round = 0; round < 9; round++) {
		for (i = 0; i < init.cap.max_send_wr; i++) {
			memcpy(e.mem + i * LEN, &mac, sizeof(mac));
			e.mem[i * LEN + 12] = 0x88;
			e.mem[i * LEN + 13] = 0xb5;
			assert_int_equal(rr_send(&e, i * LEN, LEN, i % 2 == 0 ? 0 : IBV_SEND_INLINE), 0);
		}
		assert_int_equal(rr_send(&e, 0, LEN, 0), ENOMEM);
		rig_run(0);
		for (i = 0; i < init.cap.max_send_wr; i++) {
			assert_int_equal(ibv_poll_cq(e.cq, 1, &wc), 1);
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			assert_int_equal(wc.wr_id, i * LEN);
		}
		assert_int_equal(rig_drain(1, 0), init.cap.max_send_wr);
	}
	rr_end_free(&e);
}

/* The card puts in the sums that scapy has, where it is asked to. */
static void
test_send_sums(void **state)
{
	const struct rte_ether_addr mac = rig_mac(1);
	uint8_t frame[LEN];
	struct rr_end e;

	raw_end(&e, 0);
	memcpy(frame, udp, LEN);
	memcpy(frame, &mac, sizeof(mac));
	memcpy(e.mem, frame, LEN);
	memset(e.mem + IP_SUM, 0, 2);
	memset(e.mem + UDP_SUM, 0, 2);
	assert_int_equal(rr_send(&e, 0, LEN, IBV_SEND_IP_CSUM), 0);
	ethdev_got(1, frame, LEN);
	assert_int_equal(rr_send(&e, 0, LEN, IBV_SEND_IP_CSUM | IBV_SEND_INLINE), 0);
	ethdev_got(1, frame, LEN);
	memset(frame + IP_SUM, 0, 2);
	memset(frame + UDP_SUM, 0, 2);
	assert_int_equal(rr_send(&e, 0, LEN, 0), 0);
	ethdev_got(1, frame, LEN);
	/* Behind a tag, TCP */
	memcpy(frame, tcp, LEN);
	memcpy(frame, &mac, sizeof(mac));
	memcpy(e.mem, frame, LEN);
	memset(e.mem + IP_SUM + 4, 0, 2);
	memset(e.mem + 54, 0, 2);
	assert_int_equal(rr_send(&e, 0, LEN, IBV_SEND_IP_CSUM), 0);
	ethdev_got(1, frame, LEN);
	rr_end_free(&e);
}

static void
test_send_refused(void **state)
{
	static const enum ibv_wr_opcode none[] = {IBV_WR_RDMA_WRITE,         IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ,
						  IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_LOCAL_INV,     IBV_WR_BIND_MW,
						  IBV_WR_SEND_WITH_INV,      IBV_WR_TSO,           99};
	struct ibv_sge sge[40];
	struct ibv_send_wr wr = {.sg_list = sge, .num_sge = 1};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr at;
	struct rr_end e;
	unsigned int i;

	raw_end(&e, 0);
	assert_int_equal(tp_roce_query_qp(e.qp, &at, 0, &init), 0);
	for (i = 0; i < RTE_DIM(sge); i++)
		sge[i] = (struct ibv_sge){.addr = (uintptr_t)e.mem, .length = LEN, .lkey = e.mr->lkey};
	for (i = 0; i < RTE_DIM(none); i++) {
		wr.opcode = none[i];
		assert_int_equal(rr_post(&e, &wr), EINVAL);
	}
	assert_int_equal(rr_send(&e, 0, 13, 0), EINVAL);
	assert_int_equal(rr_send(&e, 0, 16, IBV_SEND_INLINE), EINVAL);
	assert_int_equal(rr_send(&e, 0, MTU + 23, 0), EINVAL);
	assert_int_equal(rr_send(&e, 0, init.cap.max_inline_data + 1, IBV_SEND_INLINE), EINVAL);
	wr.opcode = IBV_WR_SEND;
	wr.num_sge = (int)init.cap.max_send_sge + 1;
	assert_int_equal(rr_post(&e, &wr), EINVAL);
	/* The MTU that counts is the one of the moment. */
	assert_int_equal(rte_eth_dev_set_mtu(0, 1000), 0);
	assert_int_equal(rr_send(&e, 0, 1023, 0), EINVAL);
	assert_int_equal(rte_eth_dev_set_mtu(0, 2000), 0);
	assert_int_equal(rte_eth_dev_set_mtu(1, 2000), 0);
	assert_int_equal(rr_send(&e, 0, MTU + 23, 0), 0);
	rig_run(0);
	rr_expect(&e, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	rr_no_wc(&e);
	rr_end_free(&e);
}

/* --- frames that come ---------------------------------------------------------------------------------------------- */

/* What a rule names comes whole, with its tag, and to nobody else; sums are judged. */
static void
test_receive(void **state)
{
	uint8_t bad[LEN];
	struct ibv_flow *f;
	struct rr_end e;
	struct rule r = to_mac(udp);

	raw_end(&e, 1);
	wants(&e, 6);
	/* Without a rule nothing comes. */
	ethdev_sends(0, udp, LEN);
	rr_no_wc(&e);
	f = bring(&e, &r);
	ethdev_sends(0, udp, LEN);
	assert_int_equal(got(&e, 0, udp, LEN).wc_flags, IBV_WC_IP_CSUM_OK);
	ethdev_sends(0, tcp, LEN);
	assert_int_equal(got(&e, 1, tcp, LEN).wc_flags, IBV_WC_IP_CSUM_OK);
	memcpy(bad, udp, LEN);
	bad[LEN - 1] ^= 1;
	ethdev_sends(0, bad, LEN);
	assert_int_equal(got(&e, 2, bad, LEN).wc_flags, 0);
	memcpy(bad, udp, LEN);
	bad[IP_SUM] ^= 1;
	ethdev_sends(0, bad, LEN);
	assert_int_equal(got(&e, 3, bad, LEN).wc_flags, 0);
	assert_int_equal(rig_drain(1, 0), 0);
	assert_int_equal(tp_roce_destroy_flow(f), 0);
	ethdev_sends(0, udp, LEN);
	rr_no_wc(&e);
	rr_end_free(&e);
}

/* Frames of one piece go to two elements; one that is too long ends its request, and the next frame comes as ever. */
static void
test_receive_lists(void **state)
{
	struct ibv_sge sge[2];
	struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = sge, .num_sge = 2}, *no;
	struct rule r = to_mac(udp);
	struct ibv_flow *f;
	struct rr_end e;

	raw_end(&e, 1);
	f = bring(&e, &r);
	memset(e.mem, 0xee, RR_MEM);
	sge[0] = (struct ibv_sge){.addr = (uintptr_t)e.mem, .length = 14, .lkey = e.mr->lkey};
	sge[1] = (struct ibv_sge){.addr = (uintptr_t)e.mem + 100, .length = 50, .lkey = e.mr->lkey};
	assert_int_equal(ibv_post_recv(e.qp, &wr, &no), 0);
	wr.wr_id = 2;
	sge[1].length = 49;
	assert_int_equal(ibv_post_recv(e.qp, &wr, &no), 0);
	assert_int_equal(rr_recv(&e, 4096, ROOM), 0);
	ethdev_sends(0, udp, LEN);
	assert_int_equal(rr_expect(&e, IBV_WC_SUCCESS, IBV_WC_RECV, 1).byte_len, LEN);
	assert_memory_equal(e.mem, udp, 14);
	assert_memory_equal(e.mem + 100, udp + 14, 50);
	ethdev_sends(0, udp, LEN);
	rr_expect(&e, IBV_WC_LOC_LEN_ERR, 0, 2);
	assert_int_equal(e.qp->state, IBV_QPS_RTS);
	ethdev_sends(0, udp, LEN);
	rr_expect(&e, IBV_WC_SUCCESS, IBV_WC_RECV, 4096);
	assert_memory_equal(e.mem + 4096, udp, LEN);
	/* Without a request a frame is lost, and no harm done. */
	ethdev_sends(0, udp, LEN);
	assert_int_equal(rr_recv(&e, 0, ROOM), 0);
	rig_run(0);
	rr_no_wc(&e);
	ethdev_sends(0, udp, LEN);
	rr_expect(&e, IBV_WC_SUCCESS, IBV_WC_RECV, 0);
	assert_int_equal(tp_roce_destroy_flow(f), 0);
	rr_end_free(&e);
}

/* --- states -------------------------------------------------------------------------------------------------------- */

static void
no_step(struct rr_end *e, enum ibv_qp_state to, int mask, const char *words)
{
	struct ibv_qp_attr a = {.qp_state = to, .port_num = 1};

	rig_log_begin();
	assert_int_equal(tp_roce_modify_qp(e->qp, &a, IBV_QP_STATE | mask), EINVAL);
	roce_said(words);
}

/* A port and nothing else; what is posted in each state, and what ERR leaves of it. */
static void
test_states(void **state)
{
	struct rule r = to_mac(udp);
	struct ibv_flow *f;
	struct rr_end e;
	unsigned int i;

	rr_end(&e, 1);
	rr_qp(&e, IBV_QPT_RAW_PACKET, NULL);
	assert_int_equal(rr_send(&e, 0, LEN, 0), EINVAL);
	assert_int_equal(rr_recv(&e, 0, ROOM), EINVAL);
	no_step(&e, IBV_QPS_INIT, 0, "from RESET to INIT needs port_num");
	no_step(&e, IBV_QPS_INIT, IBV_QP_PORT | IBV_QP_QKEY, "from RESET to INIT takes no qkey");
	no_step(&e, IBV_QPS_RTR, 0, "cannot go from RESET to RTR");
	ready(&e);
	no_step(&e, IBV_QPS_SQD, 0, "cannot go from RTS to SQD");
	no_step(&e, IBV_QPS_RTS, IBV_QP_AV, "from RTS to RTS takes no ah_attr");
	f = bring(&e, &r);
	wants(&e, 3);
	rr_state(&e, IBV_QPS_ERR);
	memcpy(e.mem, udp, LEN);
	for (i = 0; i < 2; i++)
		assert_int_equal(rr_send(&e, 100 + i, LEN, 0), 0);
	assert_int_equal(rr_recv(&e, 0, ROOM), EINVAL);
	ethdev_sends(0, udp, LEN);
	rig_run(0);
	for (i = 0; i < 3; i++)
		rr_expect(&e, IBV_WC_WR_FLUSH_ERR, 0, i * ROOM);
	for (i = 0; i < 2; i++)
		rr_expect(&e, IBV_WC_WR_FLUSH_ERR, 0, 100 + i);
	rr_no_wc(&e);
	/* Its second life has the rule of the first. */
	rr_state(&e, IBV_QPS_RESET);
	ethdev_sends(0, udp, LEN);
	ready(&e);
	wants(&e, 1);
	ethdev_sends(0, udp, LEN);
	got(&e, 0, udp, LEN);
	rr_no_wc(&e);
	assert_int_equal(tp_roce_destroy_flow(f), 0);
	rr_end_free(&e);
}

/* A key that is not its own puts it into ERR, not into SQE, with what waits behind. */
static void
test_bad_key(void **state)
{
	struct ibv_sge sge[2];
	struct ibv_send_wr next = {.wr_id = 2, .sg_list = &sge[1], .num_sge = 1, .opcode = IBV_WR_SEND},
			   wr = {.wr_id = 1, .sg_list = &sge[0], .num_sge = 1, .opcode = IBV_WR_SEND, .next = &next},
			   *no;
	struct rr_end e, foreign;

	raw_end(&e, 0);
	rr_end(&foreign, 1);
	sge[0] = (struct ibv_sge){.addr = (uintptr_t)foreign.mem, .length = LEN, .lkey = foreign.mr->lkey};
	sge[1] = (struct ibv_sge){.addr = (uintptr_t)e.mem, .length = LEN, .lkey = e.mr->lkey};
	assert_int_equal(ibv_post_send(e.qp, &wr, &no), 0);
	rig_run(0);
	rr_expect(&e, IBV_WC_LOC_PROT_ERR, 0, 1);
	rr_expect(&e, IBV_WC_WR_FLUSH_ERR, 0, 2);
	assert_int_equal(e.qp->state, IBV_QPS_ERR);
	assert_int_equal(rig_drain(1, 0), 0);
	rr_end_free(&e);
	rr_end_free(&foreign);
}

/* The port is closed under queue pair and rule: posts are refused, what waits is flushed, all of it can be destroyed. */
static void
test_closed_port(void **state)
{
	struct rule r = to_mac(udp), again;
	struct ibv_flow *f;
	struct rr_end e;

	raw_end(&e, 0);
	f = bring(&e, &r);
	assert_int_equal(rr_recv(&e, 0, ROOM), 0);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	assert_int_equal(rte_eth_dev_close(0), 0);
	assert_int_equal(rr_send(&e, 0, LEN, 0), EIO);
	rr_expect(&e, IBV_WC_WR_FLUSH_ERR, 0, 0);
	again = r;
	assert_null(tp_roce_create_flow(e.qp, &again.attr));
	assert_int_equal(errno, EIO);
	assert_int_equal(tp_roce_destroy_flow(f), 0);
	rr_end_free(&e);
	assert_int_equal(tp_roce_dealloc_pd(rr_pd[0]), 0);
	assert_int_equal(tp_roce_close_device(rr_ctx[0]), 0);
	rr_ctx[0] = NULL;
}

/* The card has seen what it complains about. */
static int
teardown_bad(void **state)
{
	rr_close_ports();
	rig_unplug(RIG_DEV);
	return 0;
}

static int
teardown_closed(void **state)
{
	assert_int_equal(tp_roce_dealloc_pd(rr_pd[1]), 0);
	assert_int_equal(tp_roce_close_device(rr_ctx[1]), 0);
	rr_ctx[1] = NULL;
	rig_unplug(RIG_DEV);
	return 0;
}

/* --- making -------------------------------------------------------------------------------------------------------- */

/* What the device says of them, and a port without RoCE, which has no other queue pairs. */
static void
test_without_roce(void **state)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC};
	struct ibv_srq_init_attr sa = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_device_attr a;
	struct rr_end e;

	rig_open("");
	rig_start(0, 1, NULL);
	rig_start(1, 1, NULL);
	rr_ctx[0] = tp_roce_open(0, &(struct tp_roce_conf){.mode = TP_ROCE_OFF});
	assert_non_null(rr_ctx[0]);
	rr_pd[0] = tp_roce_alloc_pd(rr_ctx[0]);
	assert_non_null(rr_pd[0]);
	assert_int_equal(tp_roce_query_device(rr_ctx[0], &a), 0);
	assert_int_equal(a.device_cap_flags & (IBV_DEVICE_RAW_IP_CSUM | IBV_DEVICE_MANAGED_FLOW_STEERING),
			 IBV_DEVICE_RAW_IP_CSUM | IBV_DEVICE_MANAGED_FLOW_STEERING);
	assert_int_equal(a.max_raw_ethy_qp, a.max_qp);
	rr_end(&e, 0);
	init.send_cq = init.recv_cq = e.cq;
	rig_log_begin();
	assert_null(tp_roce_create_qp(rr_pd[0], &init));
	assert_int_equal(errno, ENOTSUP);
	roce_said("RoCE is off");
	e.srq = tp_roce_create_srq(rr_pd[0], &sa);
	assert_non_null(e.srq);
	init.qp_type = IBV_QPT_RAW_PACKET;
	init.srq = e.srq;
	rig_log_begin();
	assert_null(tp_roce_create_qp(rr_pd[0], &init));
	assert_int_equal(errno, EINVAL);
	roce_said("a raw packet queue pair has a receive queue of its own");
	assert_int_equal(tp_roce_destroy_srq(e.srq), 0);
	e.srq = NULL;
	rr_qp(&e, IBV_QPT_RAW_PACKET, NULL);
	ready(&e);
	memcpy(e.mem, udp, LEN);
	memcpy(e.mem, &(struct rte_ether_addr){{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}, 6);
	assert_int_equal(rr_send(&e, 0, LEN, 0), 0);
	ethdev_got(1, e.mem, LEN);
	rr_end_free(&e);
	assert_int_equal(tp_roce_dealloc_pd(rr_pd[0]), 0);
	assert_int_equal(tp_roce_close_device(rr_ctx[0]), 0);
	rr_ctx[0] = NULL;
	rig_close();
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_send, rr_setup, rr_teardown),
		cmocka_unit_test_setup_teardown(test_many, rr_setup, rr_teardown),
		cmocka_unit_test_setup_teardown(test_send_sums, rr_setup, rr_teardown),
		cmocka_unit_test_setup_teardown(test_send_refused, rr_setup, rr_teardown),
		cmocka_unit_test_setup_teardown(test_receive, rr_setup, rr_teardown),
		cmocka_unit_test_setup_teardown(test_receive_lists, rr_setup, rr_teardown),
		cmocka_unit_test_setup_teardown(test_states, rr_setup, rr_teardown),
		cmocka_unit_test_setup_teardown(test_bad_key, rr_setup, teardown_bad),
		cmocka_unit_test_setup_teardown(test_closed_port, rr_setup, teardown_closed),
		cmocka_unit_test(test_without_roce),
	};

	if (rig_eal("mlx4_roce_raw", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
