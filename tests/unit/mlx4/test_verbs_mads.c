/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* The packets of management that a port makes itself: byte by byte on the wire of Ethernet, field by field on InfiniBand. */
#include "ib_rig.h"
#include "roce_rig.h"
#include "drivers/mlx4/verbs/verbs.h"

/* --- management packets of an Ethernet port -------------------------------------------------------------------------- */

/* The far end of port 1's cable: it keeps the last frame. */
struct tap {
	struct tp_wire w;
	uint8_t frame[2048];
	uint32_t len;
	unsigned int num;
};

static unsigned int
tap_send(struct tp_wire *w, const struct tp_frame *f, unsigned int n)
{
	struct tap *t = (struct tap *)w;
	unsigned int i, s;

	for (i = 0; i < n; i++) {
		for (t->len = 0, s = 0; s < f[i].nseg; s++) {
			memcpy(t->frame + t->len, f[i].seg[s].data, f[i].seg[s].len);
			t->len += f[i].seg[s].len;
		}
		t->num++;
	}
	return n;
}

static unsigned int
tap_poll(struct tp_wire *w, struct tp_model *m, unsigned int port, unsigned int budget)
{
	return 0;
}

static bool
tap_link(struct tp_wire *w)
{
	return true;
}

static void
tap_destroy(struct tp_wire *w)
{
}

static const struct tp_wire_ops tap_ops = {.name = "tap",
					   .media = TP_WIRE_ETH,
					   .send = tap_send,
					   .poll = tap_poll,
					   .link = tap_link,
					   .destroy = tap_destroy};
static struct tap tap;

static uint16_t
word(uint32_t at)
{
	return (uint16_t)(tap.frame[at] << 8 | tap.frame[at + 1]);
}

static uint32_t
dword(uint32_t at)
{
	return (uint32_t)word(at) << 16 | word(at + 2);
}

/* BTH and DETH [IBA 9.2, 9.5]: a datagram of UD for queue pair 0x123456, from number 1. */
static uint32_t
check_transport(uint32_t at, const struct troce_mad *mad)
{
	assert_int_equal(dword(at), 0x6440ffff);
	assert_int_equal(dword(at + 4), 0x00123456);
	assert_int_equal(tap.frame[at + 8], 0);
	assert_int_equal(dword(at + 12), 0x80010000);
	assert_int_equal(dword(at + 16), 1);
	assert_memory_equal(tap.frame + at + 20, mad->data, 256);
	assert_int_equal(tap.len, at + 20 + 256 + 4);
	return dword(at + 8) & 0xffffff;
}

static void
send_mad(struct troce_mad *mad)
{
	struct troce_dev *dev = troce_dev_of(rr_ctx[0]);

	tap.num = 0;
	assert_int_equal(dev->prov->mad_send(dev, mad), 0);
	rig_run(0);
	assert_int_equal(tap.num, 1);
}

static void
test_qp1_frames(void **state)
{
	/* A priority without a VLAN is in a tag of VLAN 0, unless the port shall leave such tags out. */
	static const struct {
		unsigned int prio;
		bool untag;
	} marks[] = {{0, false}, {7, false}, {3, true}};
	struct rte_ether_addr mac = {{2, 3, 4, 5, 6, 7}};
	uint32_t psn[2], last[2] = {0};
	struct troce_mad mad;
	unsigned int gid, step;

	tap.w.ops = &tap_ops;
	assert_int_equal(tp_model_wire_attach(rig_model(0), 1, &tap.w), 0);
	rig_run(0);
	for (gid = 0; gid < RR_GIDS; gid++)
		for (step = 0; step < RTE_DIM(marks); step++) {
			const unsigned int prio = marks[step].prio;
			const bool v2 = (gid & 1) != 0, v4 = v2 && (gid == RR_IPV4_V2 || gid == RR_VLAN_V2);
			const bool vlan = gid >= RR_VLAN_V1;
			struct ibv_gid_entry e;
			uint32_t at = 12;

			assert_int_equal(tp_roce_query_gid_ex(rr_ctx[0], 1, gid, &e), 0);
			memset(&mad, 0, sizeof(mad));
			rr_fill(mad.data, sizeof(mad.data), (uint8_t)gid);
			mad.remote_qpn = 0x123456;
			mad.path = (struct troce_path){.dmac = mac,
						       .smac = troce_dev_of(rr_ctx[0])->mac,
						       .sgid = e.gid,
						       .dgid = {.raw = {[10] = 0xff, 0xff, 1, 2, 3, 4}},
						       .type = v2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1,
						       .tclass = 0xb9,
						       .hop_limit = 77,
						       .flow_label = 0x54321,
						       .prio = (uint8_t)prio,
						       .untag = marks[step].untag,
						       .sport = prio != 0 ? 0xd123 : 0,
						       .vlan = vlan ? RR_VLAN : TP_ROCE_NO_VLAN};
			send_mad(&mad);
			assert_memory_equal(tap.frame, mac.addr_bytes, 6);
			assert_memory_equal(tap.frame + 6, mad.path.smac.addr_bytes, 6);
			if (vlan || step == 1) {
				assert_int_equal(dword(at), 0x81000000 | prio << 13 | (vlan ? RR_VLAN : 0));
				at += 4;
			}
			assert_int_equal(word(at), !v2 ? 0x8915 : v4 ? 0x0800 : 0x86dd);
			at += 2;
			if (v4) {
				assert_int_equal(dword(at), 0x45b90000 | (20 + 8 + 12 + 8 + 256 + 4));
				assert_int_equal(dword(at + 4), 0x00004000); /* number 0, whole */
				assert_int_equal(word(at + 8), 77 << 8 | 17);
				assert_int_equal(rte_raw_cksum(tap.frame + at, 20), 0xffff);
				assert_memory_equal(tap.frame + at + 12, e.gid.raw + 12, 4);
				assert_int_equal(dword(at + 16), 0x01020304);
				at += 20;
			} else {
				assert_int_equal(dword(at), 0x6b954321);
				assert_int_equal(word(at + 4), 12 + 8 + 256 + 4 + (v2 ? 8 : 0));
				assert_int_equal(word(at + 6), (v2 ? 17 : 0x1b) << 8 | 77);
				assert_memory_equal(tap.frame + at + 8, e.gid.raw, 16);
				assert_memory_equal(tap.frame + at + 24, mad.path.dgid.raw, 16);
				at += 40;
			}
			if (v2) {
				assert_int_equal(word(at), prio != 0 ? 0xd123 : 0xc000);
				assert_int_equal(word(at + 2), 4791);
				assert_int_equal(word(at + 4), 8 + 12 + 8 + 256 + 4);
				assert_int_equal(word(at + 6), 0);
				at += 8;
			}
			psn[0] = check_transport(at, &mad);
			if (last[1]++ != 0)
				assert_int_equal(psn[0], (last[0] + 1) & 0xffffff);
			last[0] = psn[0];
		}
}

/* --- management packets of an InfiniBand port ------------------------------------------------------------------------ */

static struct tp_mad_packet heard;
static unsigned int num_heard;

static void
hear(void *arg, const struct tp_mad_packet *pkt)
{
	heard = *pkt;
	num_heard++;
}

/* All of a packet's fields at the far end, with a network header and without, each to its own queue pair. */
static void
test_infiniband_packets(void **state)
{
	struct tp_mad_packet p = {
		.qpn = 1, .remote_qpn = 1, .qkey = TP_MAD_QKEY, .dlid = IR_LID(1), .sl = 13, .path_bits = 0};
	unsigned int grh;

	assert_int_equal(tp_mad_port_set_input(ir_ctx[1], hear, NULL), 0);
	rr_fill(p.data, sizeof(p.data), 3);
	p.data[1] = 3;                                    /* a class that the firmware does not answer */
	p.grh.version_tclass_flow = RTE_BE32(0x0b954321); /* the version is not the caller's */
	p.grh.hop_limit = 9;
	assert_int_equal(tp_roce_query_gid(ir_ctx[0], 1, 0, &p.grh.sgid), 0);
	assert_int_equal(tp_roce_query_gid(ir_ctx[1], 1, 0, &p.grh.dgid), 0);
	for (grh = 0; grh < 2; grh++) {
		p.has_grh = grh != 0;
		num_heard = 0;
		assert_int_equal(tp_mad_port_send(ir_ctx[0], &p), 0);
		ir_run();
		assert_int_equal(num_heard, 1);
		assert_int_equal(heard.qpn, 1);
		assert_int_equal(heard.remote_qpn, 1);
		assert_int_equal(heard.qkey, 0x80010000);
		assert_int_equal(heard.slid, IR_LID(0));
		assert_int_equal(heard.dlid, IR_LID(1));
		assert_int_equal(heard.sl, 13);
		assert_int_equal(heard.path_bits, 0);
		assert_int_equal(heard.pkey_index, 0);
		assert_int_equal(heard.has_grh, grh);
		assert_memory_equal(heard.data, p.data, sizeof(p.data));
		if (grh == 0)
			continue;
		assert_int_equal(be32toh(heard.grh.version_tclass_flow), 0x6b954321);
		assert_int_equal(be16toh(heard.grh.paylen), 12 + 8 + 256 + 4);
		assert_int_equal(heard.grh.next_hdr, 0x1b);
		assert_int_equal(heard.grh.hop_limit, 9);
		assert_memory_equal(&heard.grh.sgid, &p.grh.sgid, 16);
		assert_memory_equal(&heard.grh.dgid, &p.grh.dgid, 16);
	}
	/* A card that was given up sends nothing, and is not asked. */
	ir_smp_init(p.data, 1, IR_GET, IR_NODE_INFO, 0);
	mlx4_roce_of(ir_ctx[0])->hca->dead = true;
	assert_int_equal(tp_mad_port_send(ir_ctx[0], &p), EIO);
	assert_int_equal(tp_mad_port_caps(ir_ctx[0], IBV_PORT_SM, 0), EIO);
	assert_int_equal(tp_mad_port_process(ir_ctx[0], &p, &heard), EIO);
	mlx4_roce_of(ir_ctx[0])->hca->dead = false;
	assert_int_equal(tp_mad_port_set_input(ir_ctx[1], NULL, NULL), 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_qp1_frames, rr_setup, rr_teardown),
		cmocka_unit_test_setup_teardown(test_infiniband_packets, ir_setup_active, ir_teardown),
	};

	if (rig_eal("mlx4_verbs_mads", "0") < 0)
		return 1;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("mlx4-verbs-mads", tests, NULL, NULL);
}
