/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Which frames a raw packet queue pair receives: what its rules compare, whose rule comes first, and what is no rule. */
#include "roce_raw.h"

/* Each field that a rule may name: a frame that agrees, and one that does not. */
static void
test_fields(void **state)
{
	struct rule r[] = {to_mac(udp), rule_of(1),        rule_of(1), rule_of(1), rule_of(2),
			   rule_of(2),  to_port(UDP_PORT), rule_of(3), rule_of(3), rule_of(0)};
	const struct {
		bool udp, tcp;
	} takes[RTE_DIM(r)] = {{true, true},   {true, true},  {false, true}, {false, true}, {true, true},
			       {false, false}, {true, false}, {false, true}, {true, false}, {true, true}};
	struct rr_end e;
	unsigned int i;

	memcpy(r[1].eth.val.src_mac, udp + 6, 6);
	memset(r[1].eth.mask.src_mac, 0xff, 6);
	/* VLAN 100, and whatever priority 5 has */
	r[2].eth.val.vlan_tag = RTE_BE16(100);
	r[2].eth.mask.vlan_tag = RTE_BE16(0xfff);
	r[3].eth.val.vlan_tag = RTE_BE16(0xa000);
	r[3].eth.mask.vlan_tag = RTE_BE16(0xe000);
	r[3].eth.val.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	r[3].eth.mask.ether_type = UINT16_MAX;
	/* 10.0.0.0/24, 10.0.0.3 */
	r[4].ip.val.src_ip = RTE_BE32(0x0a000000);
	r[4].ip.mask.src_ip = RTE_BE32(0xffffff00);
	r[5].ip.val.dst_ip = RTE_BE32(0x0a000003);
	r[5].ip.mask.dst_ip = UINT32_MAX;
	/* A five-tuple each */
	r[7].l4.type = IBV_FLOW_SPEC_TCP;
	for (i = 7; i < 9; i++) {
		r[i].ip.val.src_ip = RTE_BE32(0x0a000001);
		r[i].ip.val.dst_ip = RTE_BE32(0x0a000002);
		r[i].ip.mask.src_ip = r[i].ip.mask.dst_ip = UINT32_MAX;
		r[i].l4.val.src_port = RTE_BE16(1000);
		r[i].l4.val.dst_port = i == 7 ? RTE_BE16(80) : RTE_BE16(UDP_PORT);
		r[i].l4.mask.src_port = r[i].l4.mask.dst_port = UINT16_MAX;
	}
	raw_end(&e, 1);
	for (i = 0; i < RTE_DIM(r); i++) {
		struct ibv_flow *f = bring(&e, &r[i]);
		unsigned int n = 0;

		wants(&e, 2);
		ethdev_sends(0, udp, LEN);
		ethdev_sends(0, tcp, LEN);
		if (takes[i].udp)
			got(&e, n++, udp, LEN);
		if (takes[i].tcp)
			got(&e, n++, tcp, LEN);
		rr_no_wc(&e);
		assert_int_equal(tp_roce_destroy_flow(f), 0);
		rr_state(&e, IBV_QPS_RESET);
		ready(&e);
	}
	rr_end_free(&e);
}

/* Of two queue pairs each receives what its own rule names; where both say the same, priority decides, and equals share. */
static void
test_two(void **state)
{
	const struct rte_ether_addr mac = rig_mac(1);
	uint8_t other[LEN], own[LEN];
	struct rule r = to_mac(udp), s;
	struct ibv_flow *fa, *fb;
	struct rr_end a, b;

	raw_end(&a, 1);
	raw_end(&b, 1);
	memcpy(other, udp, LEN);
	other[5] = 0xbb;
	memcpy(own, udp, LEN);
	memcpy(own, &mac, sizeof(mac));
	s = to_mac(other);
	fa = bring(&a, &r);
	fb = bring(&b, &s);
	wants(&a, 4);
	wants(&b, 4);
	ethdev_sends(0, other, LEN);
	ethdev_sends(0, udp, LEN);
	got(&a, 0, udp, LEN);
	rr_no_wc(&a);
	got(&b, 0, other, LEN);
	rr_no_wc(&b);
	/* The port's own frames are the ethdev's, until a rule names them. */
	ethdev_sends(0, own, LEN);
	ethdev_got(1, own, LEN);
	assert_int_equal(tp_roce_destroy_flow(fb), 0);
	s = to_mac(own);
	s.attr.priority = 4095;
	fb = bring(&b, &s);
	ethdev_sends(0, own, LEN);
	got(&b, 1, own, LEN);
	assert_int_equal(rig_drain(1, 0), 0);
	assert_int_equal(tp_roce_destroy_flow(fa), 0);
	s.attr.priority = 4094;
	fa = bring(&a, &s);
	ethdev_sends(0, own, LEN);
	got(&a, 1, own, LEN);
	rr_no_wc(&b);
	assert_int_equal(tp_roce_destroy_flow(fa), 0);
	s.attr.priority = 4095;
	fa = bring(&a, &s);
	ethdev_sends(0, own, LEN);
	got(&a, 2, own, LEN);
	got(&b, 2, own, LEN);
	/* What one sends to where the port's own rules bring it does not leave the port. */
	memcpy(b.mem, own, LEN);
	assert_int_equal(rr_send(&b, 0, LEN, 0), 0);
	rig_run(0);
	got(&a, 3, own, LEN);
	got(&b, 3, own, LEN);
	rr_expect(&b, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	rr_no_wc(&a);
	rr_no_wc(&b);
	assert_int_equal(rig_drain(0, 0), 0);
	assert_int_equal(tp_roce_destroy_flow(fa), 0);
	assert_int_equal(tp_roce_destroy_flow(fb), 0);
	ethdev_sends(0, own, LEN);
	ethdev_got(1, own, LEN);
	rr_end_free(&a);
	rr_end_free(&b);
}

static void
test_rules_refused(void **state)
{
	struct rule r = to_mac(udp);
	struct ibv_flow *f;
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_tcp_udp l4[4];
	} ports = {.attr = {.size = sizeof(ports), .num_of_specs = 4, .port = 1}};
	struct rr_end e, rc;
	unsigned int i;

	rr_end(&rc, 1);
	rr_qp(&rc, IBV_QPT_RC, NULL);
	rr_init(&rc);
	refused(&rc, &r.attr, EINVAL, "steering rules are those of raw packets (type 8), not type 2");
	rr_end_free(&rc);
	rr_end(&e, 1);
	rr_qp(&e, IBV_QPT_RAW_PACKET, NULL);
	refused(&e, &r.attr, EINVAL, "in RESET: a steering rule wants INIT or a later state");
	rr_state(&e, IBV_QPS_ERR);
	refused(&e, &r.attr, EINVAL,
		"has not been in INIT since RESET, and the card does not know it: a steering rule");
	rr_state(&e, IBV_QPS_RESET);
	ready(&e);
#define BAD(field, value, err, words)                                                                                  \
	do {                                                                                                           \
		struct rule bad = r;                                                                                   \
		bad.field = value;                                                                                     \
		refused(&e, &bad.attr, err, words);                                                                    \
	} while (0)
	BAD(attr.comp_mask, 1, EINVAL, "comp_mask 0x1 of a rule is not 0");
	BAD(attr.type, IBV_FLOW_ATTR_SNIFFER, EOPNOTSUPP, "rule type 3 is not 0 (normal)");
	BAD(attr.flags, IBV_FLOW_ATTR_FLAGS_DONT_TRAP, EOPNOTSUPP, "flags 0x2 of a rule are not 0");
	BAD(attr.port, 2, EINVAL, "port 2 of a rule is not in 1..1");
	BAD(attr.priority, 4096, EINVAL, "priority 4096 of a rule is not in 0..4095");
	BAD(attr.num_of_specs, 2, EINVAL, "ends before specification 1 of 2");
	BAD(attr.size, r.attr.size - 1, EINVAL,
	    "specification 0 of type 0x20 has 40 octets, wanted 40; the rule has 39 left");
	BAD(eth.size, 39, EINVAL, "specification 0 of type 0x20 has 39 octets, wanted 40");
	BAD(eth.type, IBV_FLOW_SPEC_IPV6, EOPNOTSUPP, "specification 0 has type 0x31, none of 0x20 (Ethernet)");
	/* What the card does not compare */
	BAD(eth.mask.ether_type, RTE_BE16(0xff00), ENOTSUP,
	    "eth: octet 0x00 in the mask of type, want all bits or none");
	BAD(eth.val.ether_type, RTE_BE16(0x8100);
	    bad.eth.mask.ether_type = UINT16_MAX, ENOTSUP, "type 0x8100 is a tag's");
	r = rule_of(3);
	BAD(l4.type, IBV_FLOW_SPEC_ETH, EINVAL, "specification 2 of type 0x20 has 16 octets, wanted 40");
	for (i = 0; i < RTE_DIM(ports.l4); i++)
		ports.l4[i] = (struct ibv_flow_spec_tcp_udp){.type = IBV_FLOW_SPEC_TCP, .size = sizeof(ports.l4[i])};
	refused(&e, &ports.attr, EINVAL, "a rule of 4 specifications, wanted 0..3");
	ports.attr.num_of_specs = 2;
	refused(&e, &ports.attr, ENOTSUP,
		"tcp: want eth, vlan, ipv4 or ipv6, tcp or udp, vxlan in that order, each once");
	r.l4.type = IBV_FLOW_SPEC_TCP;
	f = bring(&e, &r);
	rig_log_begin();
	assert_int_equal(tp_roce_destroy_qp(e.qp), EBUSY);
	roce_said("has 1 steering rule(s)");
	assert_int_equal(tp_roce_destroy_flow(f), 0);
	rr_end_free(&e);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fields, rr_setup, rr_teardown),
		cmocka_unit_test_setup_teardown(test_two, rr_setup, rr_teardown),
		cmocka_unit_test_setup_teardown(test_rules_refused, rr_setup, rr_teardown),
	};

	if (rig_eal("mlx4_roce_steer", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
