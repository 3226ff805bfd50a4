/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* What two InfiniBand ports say to each other over a cable: datagrams and connections over LIDs, groups, partitions. */
#include <infiniband/verbs.h>
#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "drivers/mlx4/verbs/verbs.h"
#include "ib_rig.h"

#define LEN 500u
#define AT 1024u
#define PKEY2 0x8123u
#define MLID 0xc005u
#define ENCAP 4u /* of IPoIB (RFC 4391) */
#define WRONG 0xdead

static void
fill(uint8_t *p, uint32_t len, uint8_t seed)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		p[i] = (uint8_t)(seed + 7 * i);
}

/* --- datagrams ------------------------------------------------------------------------------------------------- */

static struct ibv_ah *
ah_to(unsigned int from, unsigned int to, bool grh, uint8_t sl)
{
	struct ibv_ah_attr av;
	struct ibv_ah *ah;

	ir_av(&av, to, grh);
	av.sl = sl;
	ah = tp_roce_create_ah(ir_pd[from], &av);
	assert_non_null(ah);
	return ah;
}

static void
ud_send(struct ir_end *e, struct ibv_ah *ah, uint32_t qpn)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = RTE_BE32(0x01020304)};

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = IR_QKEY;
	ir_send(e, &wr, 0, LEN);
	assert_int_equal(ir_wc(e).opcode, IBV_WC_SEND);
}

static void
test_datagrams(void **state)
{
	struct ir_end a, b;
	struct ibv_ah_attr av;
	struct ibv_ah *ah;
	union ibv_gid gid;
	struct ibv_wc wc;
	unsigned int grh;

	ir_end(&a, 0, IBV_QPT_UD);
	ir_end(&b, 1, IBV_QPT_UD);
	ir_rts(&a, 0, NULL, 0);
	ir_rts(&b, 0, NULL, 0);
	for (grh = 0; grh < 2; grh++) {
		ah = ah_to(0, 1, grh != 0, 5);
		fill(a.mem, LEN, (uint8_t)grh);
		ir_recv(&b, AT, LEN + IR_GRH);
		ud_send(&a, ah, b.qp->qp_num);
		wc = ir_wc(&b);
		assert_int_equal(wc.byte_len, LEN + IR_GRH);
		assert_memory_equal(b.mem + AT + IR_GRH, a.mem, LEN);
		assert_int_equal(wc.src_qp, a.qp->qp_num);
		assert_int_equal(wc.slid, IR_LID(0));
		assert_int_equal(wc.sl, 5);
		assert_int_equal(wc.dlid_path_bits, 0);
		assert_int_equal(wc.pkey_index, 0);
		assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM | (grh != 0 ? IBV_WC_GRH : 0));
		assert_int_equal(wc.imm_data, RTE_BE32(0x01020304));
		/* Back to whom it came from */
		assert_int_equal(
			tp_roce_init_ah_from_wc(ir_ctx[1], 1, &wc, (struct ibv_grh *)(void *)(b.mem + AT), &av), 0);
		assert_int_equal(av.dlid, IR_LID(0));
		assert_int_equal(av.sl, 5);
		assert_int_equal(av.is_global, grh);
		if (grh != 0) {
			const uint8_t *h = b.mem + AT;

			assert_int_equal(h[0] << 24 | h[1] << 16 | h[2] << 8 | h[3], 0x62154321);
			assert_int_equal(h[6], 0x1b);
			assert_int_equal(h[7], 3);
			assert_int_equal(tp_roce_query_gid(ir_ctx[0], 1, 0, &gid), 0);
			assert_memory_equal(&av.grh.dgid, &gid, sizeof(gid));
			assert_int_equal(av.grh.sgid_index, 0);
			assert_int_equal(av.grh.traffic_class, 0x21);
			assert_int_equal(av.grh.flow_label, 0x54321);
		}
		assert_int_equal(tp_roce_destroy_ah(ah), 0);
	}
	/* Another key: it is counted and gone. */
	ah = ah_to(0, 1, false, 0);
	ir_recv(&b, AT, LEN + IR_GRH);
	{
		struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};

		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = b.qp->qp_num;
		wr.wr.ud.remote_qkey = IR_QKEY + 1;
		ir_send(&a, &wr, 0, LEN);
		ir_wc(&a);
	}
	ir_no_wc(&b);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	ir_end_free(&a);
	ir_end_free(&b);
}

/* Checksums of IPoIB datagrams by the card, where it is asked for them; DPDK judges. */
static void
test_checksums(void **state)
{
	struct ibv_device_attr d;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct rte_ipv4_hdr *ip;
	struct rte_udp_hdr *udp;
	struct ir_end a, b;
	struct ibv_wc wc;
	unsigned int on;
	uint8_t *got;

	assert_int_equal(tp_roce_query_device(ir_ctx[0], &d), 0);
	assert_int_not_equal(d.device_cap_flags & IBV_DEVICE_UD_IP_CSUM, 0);
	ir_end(&a, 0, IBV_QPT_UD);
	ir_end(&b, 1, IBV_QPT_UD);
	ir_rts(&a, 0, NULL, 0);
	ir_rts(&b, 0, NULL, 0);
	wr.wr.ud.ah = ah_to(0, 1, false, 0);
	wr.wr.ud.remote_qpn = b.qp->qp_num;
	wr.wr.ud.remote_qkey = IR_QKEY;
	fill(a.mem, LEN, 6);
	memcpy(a.mem, "\x08\x00\x00", ENCAP);
	ip = (struct rte_ipv4_hdr *)(void *)(a.mem + ENCAP);
	*ip = (struct rte_ipv4_hdr){.version_ihl = RTE_IPV4_VHL_DEF,
				    .total_length = RTE_BE16(LEN - ENCAP),
				    .time_to_live = 9,
				    .next_proto_id = IPPROTO_UDP,
				    .hdr_checksum = RTE_BE16(WRONG),
				    .src_addr = RTE_BE32(0xc0000201),
				    .dst_addr = RTE_BE32(0xc0000202)};
	udp = (struct rte_udp_hdr *)(ip + 1);
	*udp = (struct rte_udp_hdr){
		.src_port = 1, .dst_port = 2, .dgram_len = RTE_BE16(LEN - ENCAP - 20), .dgram_cksum = RTE_BE16(WRONG)};
	for (on = 0; on < 2; on++) {
		wr.send_flags = on != 0 ? IBV_SEND_IP_CSUM : 0;
		ir_recv(&b, AT, LEN + IR_GRH);
		ir_send(&a, &wr, 0, LEN);
		ir_wc(&a);
		wc = ir_wc(&b);
		assert_int_equal(wc.byte_len, LEN + IR_GRH);
		/* The receiving card's word: both sums are right, or nothing. */
		assert_int_equal(wc.wc_flags, on != 0 ? IBV_WC_IP_CSUM_OK : 0);
		got = b.mem + AT + IR_GRH;
		ip = (struct rte_ipv4_hdr *)(void *)(got + ENCAP);
		udp = (struct rte_udp_hdr *)(ip + 1);
		if (on == 0) {
			assert_memory_equal(got, a.mem, LEN);
			continue;
		}
		assert_int_equal(rte_raw_cksum(ip, sizeof(*ip)), 0xffff);
		assert_int_equal(rte_ipv4_udptcp_cksum_verify(ip, udp), 0);
		/* Nothing but the sums, and not in the sender's memory. */
		ip->hdr_checksum = udp->dgram_cksum = RTE_BE16(WRONG);
		assert_memory_equal(got, a.mem, LEN);
	}
	assert_int_equal(tp_roce_destroy_ah(wr.wr.ud.ah), 0);
	ir_end_free(&a);
	ir_end_free(&b);
}

/* --- large sends: the card cuts, DPDK judges --------------------------------------------------------------------- */

#define MSS 1000u
#define PAYLOAD 4500u
#define SEGMENTS 5u

/* A queue pair that may send large ones, in place of the end's. */
static void
large_qp(struct ir_end *e)
{
	struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_UD,
					   .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER,
					   .send_cq = e->cq,
					   .recv_cq = e->cq,
					   .cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2},
					   .pd = ir_pd[e->port],
					   .max_tso_header = 129};

	assert_int_equal(tp_roce_destroy_qp(e->qp), 0);
	assert_null(tp_roce_create_qp_ex(ir_ctx[e->port], &init));
	assert_int_equal(errno, EINVAL);
	init.max_tso_header = 128;
	init.qp_type = IBV_QPT_RC;
	assert_null(tp_roce_create_qp_ex(ir_ctx[e->port], &init));
	assert_int_equal(errno, EOPNOTSUPP);
	/* Frames are those of Ethernet. */
	init.max_tso_header = 0;
	init.qp_type = IBV_QPT_RAW_PACKET;
	assert_null(tp_roce_create_qp_ex(ir_ctx[e->port], &init));
	assert_int_equal(errno, EOPNOTSUPP);
	init.max_tso_header = 128;
	init.qp_type = IBV_QPT_UD;
	e->qp = tp_roce_create_qp_ex(ir_ctx[e->port], &init);
	assert_non_null(e->qp);
	/* Of a request: 64 octets for the card and the address, 144 for the headers and their length, 16 for each element. */
	assert_int_equal(((struct mlx4_roce_qp *)e->qp)->lg_sq_stride, 8);
}

/* The headers in front of the payload: four octets, IP, TCP with options; returns their length. */
static uint16_t
large_header(uint8_t *h, bool v6, uint32_t options)
{
	uint32_t l3 = v6 ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr);
	struct rte_tcp_hdr *tcp = (void *)(h + ENCAP + l3);

	memset(h, 0, 128);
	memcpy(h, v6 ? "\x86\xdd" : "\x08\x00", 2);
	if (v6)
		*(struct rte_ipv6_hdr *)(void *)(h + ENCAP) = (struct rte_ipv6_hdr){.vtc_flow = RTE_BE32(0x60000000),
										    .proto = IPPROTO_TCP,
										    .hop_limits = 9,
										    .src_addr = {0xfd, [15] = 1}};
	else
		*(struct rte_ipv4_hdr *)(void *)(h + ENCAP) = (struct rte_ipv4_hdr){.version_ihl = RTE_IPV4_VHL_DEF,
										    .packet_id = RTE_BE16(700),
										    .time_to_live = 9,
										    .next_proto_id = IPPROTO_TCP,
										    .src_addr = RTE_BE32(0xc0000201),
										    .dst_addr = RTE_BE32(0xc0000202)};
	tcp->sent_seq = RTE_BE32(0xfffffc00);
	tcp->data_off = (uint8_t)((20 + options) << 2);
	tcp->tcp_flags = RTE_TCP_ACK_FLAG | RTE_TCP_PSH_FLAG | RTE_TCP_FIN_FLAG;
	memset(tcp + 1, 1, options); /* no operation */
	return (uint16_t)(ENCAP + l3 + sizeof(*tcp) + options);
}

static void
large_segment(const uint8_t *got, uint32_t len, unsigned int i, bool v6, uint32_t hdr)
{
	const struct rte_ipv4_hdr *ip4 = (const void *)(got + ENCAP);
	const struct rte_ipv6_hdr *ip6 = (const void *)(got + ENCAP);
	const struct rte_tcp_hdr *tcp = (const void *)(got + ENCAP + (v6 ? sizeof(*ip6) : sizeof(*ip4)));
	bool last = i == SEGMENTS - 1;

	assert_int_equal(len, hdr + (last ? PAYLOAD - i * MSS : MSS));
	if (v6) {
		assert_int_equal(rte_be_to_cpu_16(ip6->payload_len), len - ENCAP - sizeof(*ip6));
		assert_int_equal(rte_ipv6_udptcp_cksum_verify(ip6, tcp), 0);
	} else {
		assert_int_equal(rte_be_to_cpu_16(ip4->total_length), len - ENCAP);
		assert_int_equal(rte_be_to_cpu_16(ip4->packet_id), 700 + i);
		assert_int_equal(rte_raw_cksum(ip4, sizeof(*ip4)), 0xffff);
		assert_int_equal(rte_ipv4_udptcp_cksum_verify(ip4, tcp), 0);
	}
	assert_int_equal(rte_be_to_cpu_32(tcp->sent_seq), (uint32_t)(0xfffffc00 + i * MSS));
	assert_int_equal(tcp->tcp_flags & (RTE_TCP_PSH_FLAG | RTE_TCP_FIN_FLAG),
			 last ? RTE_TCP_PSH_FLAG | RTE_TCP_FIN_FLAG : 0);
	assert_int_equal(tcp->tcp_flags & RTE_TCP_ACK_FLAG, RTE_TCP_ACK_FLAG);
}

static void
test_large_sends(void **state)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_TSO, .send_flags = IBV_SEND_SIGNALED, .num_sge = 2}, *bad;
	struct ibv_sge sge[2];
	uint8_t hdr[128];
	struct ibv_wc wc;
	struct ir_end a, b;
	unsigned int v6, i;

	ir_end(&a, 0, IBV_QPT_UD);
	ir_end(&b, 1, IBV_QPT_UD);
	large_qp(&a);
	ir_rts(&a, 0, NULL, 0);
	ir_rts(&b, 0, NULL, 0);
	fill(a.mem, PAYLOAD, 5);
	sge[0] = (struct ibv_sge){(uintptr_t)a.mem, 700, a.mr->lkey};
	sge[1] = (struct ibv_sge){(uintptr_t)a.mem + 700, PAYLOAD - 700, a.mr->lkey};
	wr.sg_list = sge;
	wr.tso.hdr = hdr;
	wr.tso.mss = MSS;
	wr.wr.ud.ah = ah_to(0, 1, false, 0);
	wr.wr.ud.remote_qpn = b.qp->qp_num;
	wr.wr.ud.remote_qkey = IR_QKEY;
	for (v6 = 0; v6 < 2; v6++) {
		/* With options those of IPv6 take more than one block of the request. */
		wr.tso.hdr_sz = large_header(hdr, v6 != 0, 12);
		for (i = 0; i < SEGMENTS; i++)
			ir_recv(&b, 6000 + i * 2000, 2000);
		assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
		ir_run();
		assert_int_equal(ir_wc(&a).opcode, IBV_WC_TSO);
		for (i = 0; i < SEGMENTS; i++) {
			const uint8_t *got = b.mem + 6000 + i * 2000 + IR_GRH;

			wc = ir_wc(&b);
			large_segment(got, wc.byte_len - IR_GRH, i, v6 != 0, wr.tso.hdr_sz);
			assert_memory_equal(got + wr.tso.hdr_sz, a.mem + i * MSS, wc.byte_len - IR_GRH - wr.tso.hdr_sz);
		}
		ir_no_wc(&b);
	}
	/* What cannot be is refused before anything is written. */
	wr.tso.mss = 0;
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	wr.tso.mss = MSS;
	wr.tso.hdr_sz = 129;
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	wr.tso.hdr_sz = 44;
	assert_int_equal(ibv_post_send(b.qp, &wr, &bad), EINVAL);
	assert_int_equal(tp_roce_destroy_ah(wr.wr.ud.ah), 0);
	ir_end_free(&a);
	ir_end_free(&b);
}

/* To the port's own LID: the card keeps it. */
static void
test_own_lid(void **state)
{
	struct ir_end a, b;
	struct ibv_ah *ah;

	ir_end(&a, 0, IBV_QPT_UD);
	ir_end(&b, 0, IBV_QPT_UD);
	ir_rts(&a, 0, NULL, 0);
	ir_rts(&b, 0, NULL, 0);
	ah = ah_to(0, 0, false, 0);
	fill(a.mem, LEN, 9);
	ir_recv(&b, AT, LEN + IR_GRH);
	ud_send(&a, ah, b.qp->qp_num);
	assert_int_equal(ir_wc(&b).slid, IR_LID(0));
	assert_memory_equal(b.mem + AT + IR_GRH, a.mem, LEN);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	ir_end_free(&a);
	ir_end_free(&b);
}

/* Groups: who is attached hears them, once. */
static void
test_groups(void **state)
{
	static const union ibv_gid mgid = {
		.raw = {0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}};
	struct ibv_ah_attr av = {.port_num = 1, .dlid = MLID, .is_global = 1, .grh = {.dgid = mgid, .hop_limit = 1}};
	struct ir_end a, b;
	struct ibv_ah *ah;
	struct ibv_wc wc;

	ir_end(&a, 0, IBV_QPT_UD);
	ir_end(&b, 1, IBV_QPT_UD);
	ir_rts(&a, 0, NULL, 0);
	ir_rts(&b, 0, NULL, 0);
	ah = tp_roce_create_ah(ir_pd[0], &av);
	assert_non_null(ah);
	ir_recv(&b, AT, LEN + IR_GRH);
	ud_send(&a, ah, 0xffffff);
	ir_no_wc(&b);
	assert_int_equal(tp_roce_attach_mcast(b.qp, &mgid, MLID), 0);
	fill(a.mem, LEN, 3);
	ud_send(&a, ah, 0xffffff);
	wc = ir_wc(&b);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM | IBV_WC_GRH);
	assert_memory_equal(b.mem + AT + IR_GRH, a.mem, LEN);
	assert_memory_equal(b.mem + AT + 24, &mgid, sizeof(mgid));
	ir_no_wc(&b);
	assert_int_equal(tp_roce_detach_mcast(b.qp, &mgid, MLID), 0);
	ir_recv(&b, AT, LEN + IR_GRH);
	ud_send(&a, ah, 0xffffff);
	ir_no_wc(&b);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	ir_end_free(&a);
	ir_end_free(&b);
}

/* --- partitions ------------------------------------------------------------------------------------------------ */

static void
test_partitions(void **state)
{
	struct ir_end a, b;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	__be16 pkey;

	ir_set_pkey(0, 1, PKEY2);
	ir_set_pkey(1, 4, PKEY2);
	ir_run();
	ir_expect_event(0, IBV_EVENT_PKEY_CHANGE);
	ir_expect_event(1, IBV_EVENT_PKEY_CHANGE);
	assert_int_equal(tp_roce_query_pkey(ir_ctx[1], 1, 4, &pkey), 0);
	assert_int_equal(rte_be_to_cpu_16(pkey), PKEY2);
	ir_end(&a, 0, IBV_QPT_UD);
	ir_end(&b, 1, IBV_QPT_UD);
	ir_rts(&a, 1, NULL, 0);
	ir_rts(&b, 4, NULL, 0);
	ah = ah_to(0, 1, false, 0);
	ir_recv(&b, AT, LEN + IR_GRH);
	ud_send(&a, ah, b.qp->qp_num);
	wc = ir_wc(&b);
	assert_int_equal(wc.pkey_index, 4);
	ir_end_free(&a);
	/* Of the default partition: not for this queue pair. */
	ir_end(&a, 0, IBV_QPT_UD);
	ir_rts(&a, 0, NULL, 0);
	ir_recv(&b, AT, LEN + IR_GRH);
	ud_send(&a, ah, b.qp->qp_num);
	ir_no_wc(&b);
	assert_int_equal(tp_roce_destroy_ah(ah), 0);
	ir_end_free(&a);
	ir_end_free(&b);
}

/* --- connections ----------------------------------------------------------------------------------------------- */

static void
connection(enum ibv_qp_type type, bool grh)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct ibv_ah_attr av;
	struct ir_end e[2];
	unsigned int i;

	for (i = 0; i < 2; i++)
		ir_end(&e[i], i, type);
	for (i = 0; i < 2; i++) {
		ir_av(&av, !i, grh);
		av.sl = 3;
		ir_rts(&e[i], 0, &av, e[!i].qp->qp_num);
	}
	/* Several packets each way */
	for (i = 0; i < 2; i++) {
		fill(e[i].mem, 5000, (uint8_t)(i + 1));
		ir_recv(&e[!i], 8192, 8192);
		ir_send(&e[i], &wr, 0, 5000);
		assert_int_equal(ir_wc(&e[i]).opcode, IBV_WC_SEND);
		assert_int_equal(ir_wc(&e[!i]).byte_len, 5000);
		assert_memory_equal(e[!i].mem + 8192, e[i].mem, 5000);
	}
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.wr.rdma.remote_addr = (uintptr_t)e[1].mem + 8192;
	wr.wr.rdma.rkey = e[1].mr->rkey;
	fill(e[0].mem, 3000, 77);
	ir_send(&e[0], &wr, 0, 3000);
	assert_int_equal(ir_wc(&e[0]).opcode, IBV_WC_RDMA_WRITE);
	assert_memory_equal(e[1].mem + 8192, e[0].mem, 3000);
	if (type == IBV_QPT_RC) {
		wr.opcode = IBV_WR_RDMA_READ;
		memset(e[0].mem, 0, 3000);
		ir_send(&e[0], &wr, 0, 3000);
		assert_int_equal(ir_wc(&e[0]).opcode, IBV_WC_RDMA_READ);
		assert_memory_equal(e[1].mem + 8192, e[0].mem, 3000);
	}
	for (i = 0; i < 2; i++)
		ir_end_free(&e[i]);
}

static void
test_connections(void **state)
{
	connection(IBV_QPT_RC, false);
	connection(IBV_QPT_RC, true);
	connection(IBV_QPT_UC, false);
	connection(IBV_QPT_UC, true);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_datagrams, ir_setup_active, ir_teardown),
		cmocka_unit_test_setup_teardown(test_checksums, ir_setup_active, ir_teardown),
		cmocka_unit_test_setup_teardown(test_large_sends, ir_setup_active, ir_teardown),
		cmocka_unit_test_setup_teardown(test_own_lid, ir_setup_active, ir_teardown),
		cmocka_unit_test_setup_teardown(test_groups, ir_setup_active, ir_teardown),
		cmocka_unit_test_setup_teardown(test_partitions, ir_setup_active, ir_teardown),
		cmocka_unit_test_setup_teardown(test_connections, ir_setup_active, ir_teardown),
	};

	if (rig_eal("ut-ib-traffic", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-ib-traffic", tests, NULL, NULL);
}
