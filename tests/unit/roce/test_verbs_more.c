/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Completion queues, shared receive queues, address handles, multicast groups, steering rules. */
#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ip.h>

#include "verbs_qp.h"

static void
test_cq(void **state)
{
	struct ibv_modify_cq_attr m = {.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {65535, 7}};
	struct ibv_qp *qp;

	REFUSED_PTR(tp_roce_create_cq(ctx, 0, NULL, NULL, 0), EINVAL,
		    "0 entries of a completion queue are not in 1..500");
	REFUSED_PTR(tp_roce_create_cq(ctx, 501, NULL, NULL, 0), EINVAL, "501 entries");
	REFUSED_PTR(tp_roce_create_cq(ctx, 1, NULL, NULL, 2), EINVAL, "completion vector 2 is not in 0..1");
	REFUSED_PTR(tp_roce_create_cq(ctx, 1, NULL, NULL, -1), EINVAL, "completion vector -1 is not in 0..1");
	fake.fail_op = "create_cq";
	fake.fail_err = ENOSPC;
	assert_null(tp_roce_create_cq(ctx, 1, NULL, NULL, 0));
	assert_int_equal(errno, ENOSPC);

	assert_int_equal(tp_roce_modify_cq(cq, &m), 0);
	assert_int_equal(fake.count, 65535);
	assert_int_equal(fake.period, 7);
	m.attr_mask = 3;
	REFUSED_INT(tp_roce_modify_cq(cq, &m), EINVAL, "mask 0x3 of a completion queue's attributes is not 0x1");

	assert_int_equal(tp_roce_resize_cq(cq, 100), 0);
	assert_int_equal(cq->cqe, 127);
	REFUSED_INT(tp_roce_resize_cq(cq, 0), EINVAL, "0 entries of a completion queue are not in 1..500");
	REFUSED_INT(tp_roce_resize_cq(cq, 501), EINVAL, "501 entries");
	assert_int_equal(cq->cqe, 127);
	fake.fail_op = "resize_cq";
	fake.fail_err = ENOMEM;
	assert_int_equal(tp_roce_resize_cq(cq, 1), ENOMEM);

	qp = make(IBV_QPT_UC);
	REFUSED_INT(tp_roce_destroy_cq(cq), EBUSY, "is in use by 2 queue(s)");
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
}

static void
test_srq(void **state)
{
	struct ibv_srq_init_attr a = {.srq_context = &pd, .attr = {.max_wr = 5, .max_sge = 0, .srq_limit = 4}};
	struct ibv_srq_attr got, limit = {.srq_limit = 8};
	struct ibv_srq *srq;

	fake.srq_limit = 1;
	srq = tp_roce_create_srq(pd, &a);
	assert_non_null(srq);
	assert_int_equal(fake.srq_limit, 0); /* is not armed by making it (11.2.3.1) */
	assert_int_equal(a.attr.max_wr, 8);  /* as granted */
	assert_int_equal(a.attr.max_sge, 1);
	assert_ptr_equal(srq->srq_context, &pd);
	assert_int_equal(tp_roce_query_srq(srq, &got), 0);
	assert_int_equal(got.max_wr, 8);
	assert_int_equal(got.max_sge, 1);
	assert_int_equal(got.srq_limit, 3); /* the home knows */
	assert_int_equal(tp_roce_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
	limit.srq_limit = 9;
	REFUSED_INT(tp_roce_modify_srq(srq, &limit, IBV_SRQ_LIMIT), EINVAL, "srq_limit 9 is not in 0..8");
	REFUSED_INT(tp_roce_modify_srq(srq, &limit, IBV_SRQ_MAX_WR), EINVAL, "its size stays");
	REFUSED_INT(tp_roce_modify_srq(srq, &limit, 0), EINVAL, "mask 0x0");
	REFUSED_INT(tp_roce_dealloc_pd(pd), EBUSY, "has 1 object(s)");
	assert_int_equal(tp_roce_destroy_srq(srq), 0);

	a.attr.max_wr = 0;
	REFUSED_PTR(tp_roce_create_srq(pd, &a), EINVAL, "max_wr 0 of a shared receive queue is not in 1..500");
	a.attr.max_wr = 501;
	REFUSED_PTR(tp_roce_create_srq(pd, &a), EINVAL, "max_wr 501");
	a.attr = (struct ibv_srq_attr){.max_wr = 1, .max_sge = FAKE_MAX_SGE + 1};
	REFUSED_PTR(tp_roce_create_srq(pd, &a), EINVAL, "max_sge 9 of a shared receive queue is not in 0..8");
}

static void
test_ah(void **state)
{
	struct ibv_ah_attr a = good(0, 0).ah_attr;
	struct ibv_ah *ah = tp_roce_create_ah(pd, &a);

	assert_non_null(ah);
	assert_ptr_equal(ah->pd, pd);
	assert_ptr_equal(ah->context, ctx);
	assert_int_equal(((struct troce_ah *)ah)->path.dmac.addr_bytes[5], 9);
	assert_memory_equal(&((struct troce_ah *)ah)->attr, &a, sizeof(a));
	REFUSED_INT(tp_roce_dealloc_pd(pd), EBUSY, "has 1 object(s)");
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	fake_reset();
	fake.resolve = EHOSTUNREACH;
	assert_null(tp_roce_create_ah(pd, &a));
	assert_int_equal(errno, EHOSTUNREACH);
	fake_reset();
	fake.fail_op = "create_ah";
	fake.fail_err = ENOMEM;
	assert_null(tp_roce_create_ah(pd, &a));
	assert_int_equal(errno, ENOMEM);
}

/* --- of whom a datagram came from --------------------------------------------------------------------------------- */

/* The 40 octets of a packet over IPv4 to 192.0.2.1, its header by RFC 791; the first 20 are garbage. */
static const uint8_t over_ipv4[40] = {
	0x60, 0xee, 0xee, 0xee, 0xee, 0xee, 0x11, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee,
	0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0x45, 0x68, 0x00, 0x54, 0x12, 0x34, 0x40, 0x00,
	0x3f, 0x11, 0x00, 0x00, 192,  0,    2,    77,   192,  0,    2,    1,
};

static void
put_checksum(uint8_t grh[40])
{
	uint32_t sum = 0;

	for (unsigned int i = 20; i < 40; i += 2)
		sum += (uint32_t)grh[i] << 8 | grh[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	grh[30] = (uint8_t)(~sum >> 8);
	grh[31] = (uint8_t)~sum;
}

static void
test_from_wc(void **state)
{
	union {
		struct ibv_grh grh;
		uint8_t raw[40];
	} u;
	struct ibv_wc wc = {.wc_flags = IBV_WC_GRH, .sl = 3};
	struct ibv_ah_attr a;
	struct ibv_ah *ah;

	/* a GRH of RoCE v1, traffic class 0xab, flow label 0x92345, from fe80::99 to fe80::1 */
	memset(&u, 0, sizeof(u));
	u.grh.version_tclass_flow = rte_cpu_to_be_32(0x6ab92345);
	u.grh.next_hdr = 0x1b;
	u.grh.hop_limit = 64;
	memcpy(u.grh.sgid.raw, (const uint8_t[16]){0xfe, 0x80, [15] = 0x99}, 16);
	memcpy(u.grh.dgid.raw, (const uint8_t[16]){0xfe, 0x80, [15] = 1}, 16);
	assert_int_equal(tp_roce_init_ah_from_wc(ctx, 1, &wc, &u.grh, &a), 0);
	assert_int_equal(a.is_global, 1);
	assert_int_equal(a.port_num, 1);
	assert_int_equal(a.sl, 3);
	assert_int_equal(a.grh.sgid_index, 0);
	assert_int_equal(a.grh.traffic_class, 0xab);
	assert_int_equal(a.grh.flow_label, 0x92345);
	assert_int_equal(a.grh.hop_limit, 64);
	assert_memory_equal(&a.grh.dgid, &u.grh.sgid, 16);

	/* the same addresses over UDP are another GID */
	u.grh.next_hdr = 17;
	assert_int_equal(tp_roce_init_ah_from_wc(ctx, 1, &wc, &u.grh, &a), 0);
	assert_int_equal(a.grh.sgid_index, 1);

	u.grh.next_hdr = 6;
	REFUSED_INT(tp_roce_init_ah_from_wc(ctx, 1, &wc, &u.grh, &a), EPROTONOSUPPORT, "next header 6 of a GRH");
	u.grh.next_hdr = 17;
	u.grh.dgid.raw[15] = 2;
	REFUSED_INT(tp_roce_init_ah_from_wc(ctx, 1, &wc, &u.grh, &a), ENODEV, "an address that the port has no longer");
	u.grh.version_tclass_flow = 0;
	REFUSED_INT(tp_roce_init_ah_from_wc(ctx, 1, &wc, &u.grh, &a), EPROTONOSUPPORT, "version 0 of a GRH");

	memcpy(u.raw, over_ipv4, 40);
	put_checksum(u.raw);
	assert_int_equal(tp_roce_init_ah_from_wc(ctx, 1, &wc, &u.grh, &a), 0);
	assert_int_equal(a.grh.sgid_index, 3);
	assert_int_equal(a.grh.traffic_class, 0x68);
	assert_int_equal(a.grh.hop_limit, 0x3f);
	assert_memory_equal(a.grh.dgid.raw, ((const uint8_t[16]){[10] = 0xff, 0xff, 192, 0, 2, 77}), 16);
	ah = tp_roce_create_ah_from_wc(pd, &wc, &u.grh, 1);
	assert_non_null(ah);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);

	REFUSED_INT(tp_roce_init_ah_from_wc(ctx, 2, &wc, &u.grh, &a), EINVAL, "port number 2 is not 1");
	wc.wc_flags = 0;
	REFUSED_INT(tp_roce_init_ah_from_wc(ctx, 1, &wc, &u.grh, &a), EINVAL, "no GRH");
	REFUSED_PTR(tp_roce_create_ah_from_wc(pd, &wc, &u.grh, 1), EINVAL, "no GRH");
}

static void
test_mcast(void **state)
{
	const union ibv_gid v6 = {.raw = {0xff, 0x0e, [15] = 5}}, v4 = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};
	const union ibv_gid host = {.raw = {[10] = 0xff, 0xff, 192, 0, 2, 9}};
	struct ibv_qp *qp = make(IBV_QPT_UD), *rc = make(IBV_QPT_RC);

	fake_reset();
	assert_int_equal(tp_roce_attach_mcast(qp, &v6, 0), 0);
	assert_int_equal(tp_roce_attach_mcast(qp, &v4, 0xc001), 0);
	assert_int_equal(fake.calls, 2);
	assert_int_equal(tp_roce_attach_mcast(qp, &v6, 0), 0); /* again: it is attached */
	assert_int_equal(fake.calls, 2);
	REFUSED_INT(tp_roce_attach_mcast(qp, &host, 0), EINVAL, "is no group's");
	REFUSED_INT(tp_roce_attach_mcast(rc, &v6, 0), EINVAL, "only datagrams (UD)");
	REFUSED_INT(tp_roce_detach_mcast(qp, &host, 0), EINVAL, "is not attached to this group");
	REFUSED_INT(tp_roce_destroy_qp(qp), EBUSY, "is attached to 2 multicast group(s)");
	fake.fail_op = "detach_mcast";
	fake.fail_err = EIO;
	assert_int_equal(tp_roce_detach_mcast(qp, &v6, 0), EIO);
	fake_reset();
	assert_int_equal(tp_roce_detach_mcast(qp, &v6, 0), 0);
	assert_int_equal(tp_roce_detach_mcast(qp, &v4, 0), 0);
	REFUSED_INT(tp_roce_detach_mcast(qp, &v4, 0), EINVAL, "is not attached");
	fake.fail_op = "attach_mcast";
	fake.fail_err = ENOSPC;
	assert_int_equal(tp_roce_attach_mcast(qp, &v4, 0), ENOSPC);
	fake_reset();
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
	assert_int_equal(tp_roce_destroy_qp(rc), 0);
}

/* What a provider is shown is well formed; its refusal leaves nothing, and a rule keeps its queue pair. */
static void
test_flow(void **state)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
		struct ibv_flow_spec_tcp_udp l4;
	} r = {.attr = {.size = sizeof(r), .num_of_specs = 2, .port = 1, .priority = 4095},
	       .eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof(r.eth)},
	       .l4 = {.type = IBV_FLOW_SPEC_UDP, .size = sizeof(r.l4)}};
	struct ibv_qp *qp = make(IBV_QPT_RAW_PACKET), *ud = make(IBV_QPT_UD);
	struct ibv_flow *f, *g;

	inner(ud)->v.state = IBV_QPS_RTS;
	REFUSED_PTR(tp_roce_create_flow(ud, &r.attr), EINVAL, "are those of raw packets (type 8), not type 4");
	REFUSED_PTR(tp_roce_create_flow(qp, &r.attr), EINVAL, "in RESET: a steering rule wants INIT");
	inner(qp)->v.state = IBV_QPS_INIT;
	r.attr.size--;
	REFUSED_PTR(tp_roce_create_flow(qp, &r.attr), EINVAL,
		    "specification 1 of type 0x41 has 16 octets, wanted 16; the rule has 15 left");
	r.attr.size++;
	fake_reset();
	fake.fail_op = "create_flow";
	fake.fail_err = ENOSPC;
	assert_null(tp_roce_create_flow(qp, &r.attr));
	assert_int_equal(errno, ENOSPC);
	fake_reset();
	f = tp_roce_create_flow(qp, &r.attr);
	g = tp_roce_create_flow(qp, &r.attr);
	assert_true(f != NULL && g != NULL);
	assert_ptr_equal(f->context, ctx);
	assert_int_equal(fake.calls, 2);
	REFUSED_INT(tp_roce_destroy_qp(qp), EBUSY, "has 2 steering rule(s)");
	fake.fail_op = "destroy_flow";
	fake.fail_err = EIO;
	assert_int_equal(tp_roce_destroy_flow(g), EIO);
	fake_reset();
	assert_int_equal(tp_roce_destroy_flow(g), 0);
	REFUSED_INT(tp_roce_destroy_qp(qp), EBUSY, "has 1 steering rule(s)");
	assert_int_equal(tp_roce_destroy_flow(f), 0);
	assert_int_equal(tp_roce_destroy_qp(qp), 0);
	assert_int_equal(tp_roce_destroy_qp(ud), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_cq, setup, teardown),
		cmocka_unit_test_setup_teardown(test_srq, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ah, setup, teardown),
		cmocka_unit_test_setup_teardown(test_from_wc, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mcast, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flow, setup, teardown),
	};

	return fake_eal("--no-telemetry") != 0 ? 1 : cmocka_run_group_tests_name("roce_verbs_more", tests, NULL, NULL);
}
