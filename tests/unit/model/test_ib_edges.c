/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Edges of what InfiniBand ports and the switch between them say and forward: fields at their full width, each half of a
 * CRC, what a table denies [WF 1, 5, 9; IBTA 7.6, 7.9, 14.2, 18.2].
 */
#include <stdio.h>
#include <unistd.h>

#include <rte_byteorder.h>

#include "frames.h"
#include "ibswitch_rig.h"

/* --- a port ----------------------------------------------------------------------------------------------------------------- */

static uint32_t
receive_errors(struct vr *v, unsigned int port)
{
	ir_mad(v, 4, 1, 0x12, 0)[1] = (uint8_t)port;
	assert_int_equal(ir_mad_ifc(v, port), 0);
	return prm_get32(card_out(v->c), 0x48) >> 16;
}

/* Each bit of the link's CRC counts, and each of the packet's own. */
static void
test_each_bit_of_the_crcs(void **state)
{
	struct vr *v = *state;
	struct tp_model_stats st;
	struct tp_frame_seg seg;
	struct tp_frame f = {.seg = &seg, .nseg = 1};
	struct vr_qp *a, *b;
	uint8_t pkt[256];
	uint16_t crc;

	ir_pair(v, MLX4_QP_ST_UC, &a, &b);
	vr_exchange(v, a, b, 64);
	f.len = seg.len = ir_last(v, 1)->len;
	seg.data = pkt;
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
	for (unsigned int bit = 0; bit < 48; bit++) {
		memcpy(pkt, ir_last(v, 1)->data, f.len);
		pkt[f.len - 6 + bit / 8] ^= (uint8_t)(1u << bit % 8);
		crc = ir_crc16(pkt, f.len - 2);
		if (bit < 32)
			memcpy(pkt + f.len - 2, (uint8_t[]){(uint8_t)crc, (uint8_t)(crc >> 8)}, 2);
		tp_model_port_receive(v->c->m, 2, &f, 1);
		vr_step(v);
		assert_null(vr_poll_cq(v, b));
	}
	assert_int_equal(receive_errors(v, 2), 16);
	/* One that ended in a symbol that says that it is bad, with good CRCs. */
	memcpy(pkt, ir_last(v, 1)->data, f.len);
	f.flags = TP_FRAME_BAD_FCS;
	tp_model_port_receive(v->c->m, 2, &f, 1);
	vr_step(v);
	assert_null(vr_poll_cq(v, b));
	f.flags = 0;
	/* Four octets more than its header says, under a good CRC of the link. */
	memcpy(pkt, ir_last(v, 1)->data, f.len - 2);
	memset(pkt + f.len - 2, 0, 4);
	f.len = seg.len = f.len + 4;
	crc = ir_crc16(pkt, f.len - 2);
	memcpy(pkt + f.len - 2, (uint8_t[]){(uint8_t)crc, (uint8_t)(crc >> 8)}, 2);
	tp_model_port_receive(v->c->m, 2, &f, 1);
	assert_int_equal(receive_errors(v, 2), 18);
	tp_model_get_stats(v->c->m, &st);
	assert_int_equal(st.port[1].roce_bad_icrc, 32);
	card_expect_clean(v->c);
}

/* QP0 has no Q_Key: whatever a packet says there (IBTA 10.2.4). */
static void
test_no_key_of_qp0(void **state)
{
	struct vr *v = *state;
	struct vr_qp *q = ir_special(v, 1, 0), *to = ir_special(v, 2, 0);
	uint8_t *mad = vr_mem(v, q), *w = vr_wqe(v, q);

	mad[0] = mad[1] = mad[2] = 1;
	mad[3] = 0x81;
	mad[0x11] = 0x20; /* an answer about a subnet manager */
	vr_post_recv(v, to, VR_RW_KEY, to->mem, 512);
	ir_post_mad(v, q, IR_LID2, 0);
	prm_set32(w, 40, 0x1234567);
	vr_step(v);
	vr_expect(v, q, VR_SENT | MLX4_OP_SEND, 0);
	assert_int_equal(prm_get32(ir_last(v, 1)->data, 20), 0x1234567);
	vr_expect(v, to, 1, 0);
	assert_memory_equal(vr_mem(v, to) + 40, mad, 256);
	card_expect_clean(v->c);
}

/* Software says the bits of the path, as many as the port has (IBTA 7.11.1); the rest of the source LID is the card's. */
static void
test_path_bits_of_management(void **state)
{
	struct vr *v = *state;
	struct vr_qp *q = ir_special(v, 1, 1);

	for (uint8_t lmc = 0; lmc <= 3; lmc++) {
		uint8_t *w = vr_wqe(v, q);

		ir_set_lid(v, 1, IR_LID1, lmc);
		ir_post_mad(v, q, IR_LID2, 1);
		memset(w + 20 + 6, 0xff, 2);
		vr_step(v);
		assert_int_equal(ir_last(v, 1)->data[6], 0);
		assert_int_equal(ir_last(v, 1)->data[7], IR_LID1 | ((1u << lmc) - 1));
		ir_check_crcs(ir_last(v, 1));
	}
	card_expect_clean(v->c);
}

/* A packet that software built: from LRH, BTH and CRC up to a full GRH packet of the port's MTU [DP 3.13]. */
static void
test_sizes_of_management(void **state)
{
	static const struct {
		uint32_t data;
		bool good;
	} row[] = {{296, true}, {300, false}};

	for (unsigned int i = 0; i < 3; i++) {
		struct vr *v;
		struct vr_qp *q;
		uint8_t *w, *d;

		assert_int_equal(ir_up(state), 0);
		v = *state;
		d = ir_port_info(v, 1);
		d[36] = 1 << 4; /* 256 */
		assert_int_equal(ir_mad_ifc(v, 1), 0);
		q = ir_special(v, 1, 1);
		w = vr_wqe(v, q);
		ir_post_mad(v, q, IR_LID2, 1);
		if (i < 2) {
			w[20 + 5] = (uint8_t)((28 + row[i].data + 4) / 4);
			prm_set32(w, 48, row[i].data);
		} else {
			/* Sixteen octets and the CRC. */
			prm_set32(w, 4, 3);
			prm_set32(w, 16, MLX4_DATA_INLINE | 12);
			w[20 + 5] = 4;
			prm_set32(w, 32, MLX4_DATA_INLINE | 4);
		}
		vr_step(v);
		if (i == 0) {
			vr_expect(v, q, VR_SENT | MLX4_OP_SEND, 0);
			assert_int_equal(ir_last(v, 1)->len, 28 + 296 + 6);
			card_expect_clean(v->c);
		} else {
			vr_expect_error(v, q, true, MLX4_SYND_LOCAL_LENGTH, 0);
			assert_int_equal(v->end[0]->sent, 0);
			card_expect(v->c, i == 1 ? "wqe-length" : "wqe-inline-min", 1);
		}
		if (i < 2)
			vr_down(state);
	}
}

/* A flow label has 20 bits; the lane of a service level has four. */
static void
test_full_fields(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD), *b = ir_qp(v, 2, MLX4_QP_ST_UD);
	uint8_t gid[16] = {0xfe, 0x80}, *w, *d;

	vr_qp_up(v, a);
	vr_qp_up(v, b);
	prm_set64(gid, 8, IR_GUID + 2);
	for (uint8_t vl = 0; vl < 15; vl++) {
		d = ir_mad(v, 1, 2, 0x17, 0);
		memset(d, 0, 8);
		d[1] = (uint8_t)(0x50 | vl); /* levels 2 and 3 */
		d[2] = (uint8_t)(vl << 4 | 6);
		assert_int_equal(ir_mad_ifc(v, 1), 0);
		for (uint32_t sl = 2; sl <= 5; sl++) {
			w = vr_wqe(v, a);
			ir_post_ud(v, a, IR_LID2, b->qpn, gid, 30);
			prm_set32(w, 16 + 12, sl << 28 | 0x0ff00000 | 0xfedcb);
			vr_step(v);
			assert_int_equal(ir_last(v, 1)->data[0] >> 4, sl == 2 ? 5 : sl == 5 ? 6 : vl);
			assert_int_equal(ir_last(v, 1)->data[1] >> 4, sl);
			assert_int_equal(prm_get32(ir_last(v, 1)->data, 8), 0x6fffedcb);
		}
	}
	card_expect_clean(v->c);
}

/* A key of a datagram that is not the same backwards; lanes as they are before anybody says otherwise: two levels each. */
static void
test_keys_and_lanes(void **state)
{
	static const uint8_t lanes[8] = {0x01, 0x23, 0x45, 0x67, 0x01, 0x23, 0x45, 0x67};
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD), *b = ir_qp(v, 2, MLX4_QP_ST_UD);
	uint8_t *w = vr_wqe(v, a);

	prm_set(b->ctx, MLX4_QPC_QKEY, 0x12345678);
	vr_qp_up(v, a);
	vr_qp_up(v, b);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 1000);
	ir_post_ud(v, a, IR_LID2, b->qpn, NULL, 30);
	prm_set32(w, 16 + 36, 0x12345678);
	vr_step(v);
	vr_expect(v, b, 1, 0);
	assert_int_equal(ir_get(v, 2, 0x15, 2)[49], 0); /* violations of Q_Keys */
	for (unsigned int p = 1; p <= 2; p++)
		assert_memory_equal(ir_get(v, p, 0x17, 0), lanes, sizeof(lanes));
	vr_quiet(v);
}

/* IP in a datagram of IPoIB (RFC 4391): the completion says what it is and which of its checksums are right. */
static void
test_ipoib_received(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD), *b = ir_qp(v, 2, MLX4_QP_ST_UD);
	const uint32_t len = 4 + sizeof(frame_udp4) - 14;

	vr_qp_up(v, a);
	vr_qp_up(v, b);
	for (unsigned int i = 0; i < 4; i++) {
		bool ip = i != 1, udp = i != 2, encap = i != 3;
		uint8_t *p = vr_mem(v, a);
		const struct mlx4_cqe *e;

		memset(p, 0, 4);
		p[0] = 8;
		p[1] = encap ? 0 : 6; /* ARP */
		memcpy(p + 4, frame_udp4 + 14, len - 4);
		p[4 + 10] ^= ip ? 0 : 1;
		p[len - 1] ^= udp ? 0 : 1;
		vr_post_recv(v, b, VR_RW_KEY, b->mem, 1000);
		ir_post_ud(v, a, IR_LID2, b->qpn, NULL, len);
		vr_step(v);
		e = (const struct mlx4_cqe *)(const void *)vr_expect(v, b, 1, (uint16_t)i);
		assert_int_equal(rte_be_to_cpu_16(e->status),
				 !encap ? 0
				 : ip   ? MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_UDP | MLX4_CQE_ST_IP_OK
					: MLX4_CQE_ST_IPV4 | MLX4_CQE_ST_UDP);
		assert_int_equal(rte_be_to_cpu_16(e->checksum), encap && udp ? MLX4_CQE_CSUM_OK : 0);
	}
	card_expect_clean(v->c);
}

/* Classes that the firmware has nobody for are answered so, classes that there are not are refused (IBTA 13.4.4). */
static void
test_classes(void **state)
{
	struct vr *v = *state;
	unsigned int refused = 0;

	for (unsigned int class = 0; class < 256; class ++) {
		bool known = class == 1 || class == 4 || class == 9 || class == 0x0a || class == 0x21 || class == 0x81;
		int st;

		ir_mad(v, (uint8_t) class, 1, 0x01, 0);
		st = card_cmd(v->c, MLX4_CMD_MAD_IFC, 3, 1, v->c->in, v->c->out);
		assert_int_equal(st, known ? MLX4_STAT_OK : MLX4_STAT_BAD_PKT);
		refused += !known;
		if (class == 9 || class == 0x0a || class == 0x21) {
			assert_int_equal(card_out(v->c)[3], 0x81);
			assert_int_equal(card_out(v->c)[5], 0x0c);
		}
	}
	card_expect(v->c, "cmd-param", refused);
}

/* Of eight GUIDs those that changed are told, one bit each; the first is the card's. */
static void
test_guids_that_change(void **state)
{
	struct vr *v = *state;
	uint8_t *d, was[64];

	for (unsigned int i = 0; i <= 8; i++) {
		const uint8_t *e;

		memcpy(was, ir_get(v, 1, 0x14, 0), 64);
		d = ir_mad(v, 1, 2, 0x14, 0);
		memcpy(d, was, 64);
		for (unsigned int k = 0; k < 8; k++) {
			if (i == 8 || k == i)
				prm_set64(d, 8 * k, 0x1122334455667700ull + 16 * i + k);
		}
		ir_events(v);
		e = card_ptr(v->c, v->c->eq_buf) + (size_t)v->eq_ci * 32;
		assert_int_equal(ir_mad_ifc(v, 1), 0);
		if (i == 0) {
			vr_no_event(v);
			continue;
		}
		assert_int_equal(e[3], 0x14);
		assert_int_equal(prm_get(e, MLX4_EQE_MNG_ENTRIES), i == 8 ? 0xfe : 1u << i);
		for (unsigned int k = 1; k < 8; k++)
			assert_int_equal(prm_get64(ir_get(v, 1, 0x14, 0), 8 * k),
					 i == 8 || k == i ? 0x1122334455667700ull + 16 * i + k : prm_get64(was, 8 * k));
		assert_int_equal(prm_get64(ir_get(v, 1, 0x14, 0), 0), IR_GUID + 1);
	}
	card_expect_clean(v->c);
}

/* FDR10, which no PortInfo has room for, is enabled by the vendor's attribute and counts when the link trains. */
static void
test_fdr10_is_enabled(void **state)
{
	struct tp_model_config cfg;
	struct vr *v;
	uint8_t *d;

	tp_model_config_default(&cfg);
	cfg.port_type[0] = cfg.port_type[1] = TP_PORT_IB;
	cfg.ib_speed[0] = cfg.ib_speed[1] = TP_IB_FDR10;
	vr_up_config(state, CARD_DMFS, &cfg);
	v = *state;
	for (unsigned int on = 1; on < 4; on++) {
		d = ir_mad(v, 1, 2, 0xff90, 1);
		d[3] = 1;
		d[11] = (uint8_t)(on & 1);
		assert_int_equal(ir_mad_ifc(v, 1), 0);
		assert_int_equal(card_out(v->c)[0x40 + 7], 1);
		assert_int_equal(card_out(v->c)[0x40 + 11], on & 1);
		assert_int_equal(ir_set_state(v, 1, 1), 0);
		vr_step(v);
		assert_int_equal(ir_get(v, 1, 0xff90, 1)[15], on & 1);
		assert_int_equal(ir_get(v, 1, 0x15, 1)[35] >> 4, 4); /* what PortInfo says of both */
	}
	/* What is not said to be set is not. */
	d = ir_mad(v, 1, 2, 0xff90, 1);
	d[11] = 0;
	assert_int_equal(ir_mad_ifc(v, 1), 0);
	assert_int_equal(card_out(v->c)[0x40 + 11], 1);
	card_expect_clean(v->c);
}

/* --- the switch ------------------------------------------------------------------------------------------------------------ */

static void
test_switch_says(void **state)
{
	struct vr *v = *state;
	const uint8_t *d = ask_ok(v, 1, 0, 1, 0x11, 0, NULL);
	uint8_t keys[64] = {0};

	/* NodeInfo (14.2.5.3): versions, and the one GUID of all. */
	assert_int_equal(d[0], 1);
	assert_int_equal(d[1], 1);
	assert_int_equal(prm_get64(d, 4), SWITCH_GUID);
	assert_int_equal(prm_get64(d, 20), SWITCH_GUID);
	/* The pointer of an answer is back at the first hop (14.2.2.4), over one hop and over two. */
	assert_int_equal(ask(v, 1, 0, 1, 0x11, 0, NULL)[6], 1);
	assert_int_equal(ask(v, 2, 3, 1, 0x11, 0, NULL)[6], 1);
	/* An adapter is the end: it passes nothing on, and answers nothing that was to go further. */
	assert_null(ask(v, 3, 3, 1, 0x11, 0, NULL));
	/* The last port is one. */
	for (uint32_t p = 0; p <= 4; p++)
		assert_int_equal(ask_ok(v, 1, 0, 1, 0x15, p, NULL)[28], 1);
	assert_int_equal(ask(v, 1, 0, 1, 0x15, 5, NULL)[5], 0x1c);
	/* Each port has one block of keys. */
	ask_ok(v, 1, 0, 2, 0x16, 4u << 16, keys);
	for (uint32_t block = 1; block < 0x10000; block = block * 2)
		assert_int_equal(ask(v, 1, 0, 1, 0x16, 4u << 16 | block, NULL)[5], 0x1c);
	assert_int_equal(ask(v, 1, 0, 1, 0x16, 5u << 16, NULL)[5], 0x1c);
	card_expect_clean(v->c);
}

/* The last packet in a capture of port 3, which is read on from where it was. */
static unsigned int
captured(FILE *f, uint8_t *packet)
{
	uint32_t record[8]; /* of pcap: time, two lengths; of ERF: 16 octets */
	unsigned int n = 0;

	clearerr(f);
	while (fread(record, sizeof(record), 1, f) == 1) {
		assert_int_equal(fread(packet, record[2] - 16, 1, f), 1);
		n++;
	}
	return n;
}

/* Lanes by where a packet came in and leaves (18.2.4.4.2): 15 denies it. */
static void
test_switch_lanes(void **state)
{
	static const uint8_t map[64] = {0x4b, 0xf3, 0xcf};
	static const uint16_t version[2] = {2, 4};
	char path[] = "/tmp/ibedges-XXXXXX", spec[64];
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD);
	uint8_t head[24], packet[4200];
	FILE *f;

	assert_true(close(mkstemp(path)) == 0);
	snprintf(spec, sizeof(spec), "t/port:3/capture:%s", path);
	tp_model_wire_none(v->c->m, 2);
	plug(v, 2, spec);
	vr_step(v);
	manage(v);
	ask_ok(v, 1, 0, 2, 0x17, 1u << 8 | 3, map);
	vr_qp_up(v, a);
	f = fopen(path, "re");
	unlink(path);
	assert_non_null(f);
	assert_int_equal(fread(head, sizeof(head), 1, f), 1);
	/* The file's head: magic number, version 2.4 (pcap's own format), link type ERF. */
	assert_memory_equal(head + 4, version, sizeof(version));
	(void)captured(f, packet);
	for (uint32_t sl = 0; sl < 6; sl++) {
		uint8_t vl = map[sl / 2] >> (sl % 2 == 0 ? 4 : 0) & 0xf, *w = vr_wqe(v, a);
		uint64_t lost = counter("port3.xmit_discards");

		ir_post_ud(v, a, IR_LID2, 5, NULL, 30);
		prm_set32(w, 16 + 12, sl << 28);
		vr_step(v);
		assert_int_equal(counter("port3.xmit_discards") - lost, vl == 15);
		assert_int_equal(captured(f, packet), vl != 15);
		if (vl != 15)
			assert_int_equal(packet[0] >> 4, vl);
	}
	fclose(f);
	card_expect_clean(v->c);
}

/* A port that is armed becomes active by data, the switch's as well (14.3.5). */
static void
test_switch_port_armed(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;
	uint8_t lft[64];

	memset(lft, 0xff, sizeof(lft));
	lft[IR_LID1] = 1;
	lft[IR_LID2] = 3;
	ask_ok(v, 1, 0, 2, 0x19, 0, lft);
	for (unsigned int p = 1; p <= 2; p++)
		ir_set_lid(v, p, p == 1 ? IR_LID1 : IR_LID2, 0);
	for (uint8_t s = 3; s <= 4; s++) {
		if (s == 3)
			switch_port_state(v, 1, s);
		switch_port_state(v, 3, s);
		for (unsigned int p = 1; p <= 2; p++)
			assert_int_equal(ir_set_state(v, p, s), 0);
	}
	ir_events(v);
	ir_pair(v, MLX4_QP_ST_UC, &a, &b);
	assert_int_equal(ask_ok(v, 1, 0, 1, 0x15, 1, NULL)[32] & 0xf, 3);
	/* Management does not. */
	ask_ok(v, 2, 3, 1, 0x11, 0, NULL);
	assert_int_equal(ask_ok(v, 1, 0, 1, 0x15, 1, NULL)[32] & 0xf, 3);
	vr_exchange(v, a, b, 20);
	assert_int_equal(ask_ok(v, 1, 0, 1, 0x15, 1, NULL)[32] & 0xf, 4);
	card_expect_clean(v->c);
}

/* Partitions where packets come in (10.9.3): a full member's table lets both forms of the key in, a limited one's its own. */
static void
test_switch_partitions(void **state)
{
	static const struct {
		uint16_t table, key;
		bool in;
	} row[] = {{0xffff, 0xffff, true},  {0x8005, 0xffff, false}, {0x8005, 0x8005, true}, {0x8005, 0x0005, true},
		   {0x0005, 0x8005, false}, {0x0005, 0x0005, true},  {0x0000, 0x8005, false}};
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD);
	uint8_t info[64], keys[64];

	manage(v);
	vr_qp_up(v, a);
	memcpy(info, ask_ok(v, 1, 0, 1, 0x15, 1, NULL), 64);
	info[32] &= 0xf0;
	info[33] &= 0x0f;
	info[43] |= 8; /* inbound */
	ask_ok(v, 1, 0, 2, 0x15, 1, info);
	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint64_t denied = counter("port1.rcv_constraint"), out = counter("port3.tx_packets");
		uint8_t *d;

		memset(keys, 0, sizeof(keys));
		prm_set32(keys, 4, row[i].table);
		ask_ok(v, 1, 0, 2, 0x16, 1u << 16, keys);
		d = ir_mad(v, 1, 2, 0x16, 0);
		d[0] = (uint8_t)(row[i].key >> 8);
		d[1] = (uint8_t)row[i].key;
		assert_int_equal(ir_mad_ifc(v, 1), 0);
		ir_post_ud(v, a, IR_LID2, 5, NULL, 30);
		vr_step(v);
		if (counter("port1.rcv_constraint") - denied != !row[i].in ||
		    counter("port3.tx_packets") - out != row[i].in)
			fail_msg("row %u: key 0x%04x at a table of 0x%04x", i, row[i].key, row[i].table);
	}
	card_expect_clean(v->c);
}

/* What a table sends to port 0 is the switch's, though it has no LID of its own yet. */
static void
test_switch_by_table(void **state)
{
	struct vr *v = *state;
	struct vr_qp *gsi = ir_special(v, 1, 1);
	uint8_t lft[64], *mad = vr_mem(v, gsi);

	manage(v);
	memcpy(lft, ask_ok(v, 1, 0, 1, 0x19, 0, NULL), 64);
	lft[7] = 0;
	ask_ok(v, 1, 0, 2, 0x19, 0, lft);
	mad[0] = mad[2] = mad[3] = 1;
	mad[1] = 4;
	mad[0x11] = 0x12;
	mad[0x41] = 3;
	vr_post_recv(v, gsi, VR_RW_KEY, gsi->mem + 4096, 512);
	ir_post_mad(v, gsi, 7, 1);
	vr_step(v);
	vr_expect(v, gsi, VR_SENT | MLX4_OP_SEND, 0);
	vr_expect(v, gsi, 1, 0);
	assert_int_equal(mad[4096 + 40 + 3], 0x81);
	card_expect_clean(v->c);
}

/* A directed route whose pointer is beyond its end, or that is longer than there are hops, ends here (14.2.2.2). */
static void
test_switch_bad_routes(void **state)
{
	static const struct {
		uint8_t pointer, hops;
		bool back;
	} row[] = {{2, 1, false}, {63, 1, false}, {64, 64, false}, {65, 66, false}, {255, 255, false},
		   {1, 1, true},  {0, 1, true},   {3, 2, true},    {64, 64, true}};
	struct vr *v = *state;
	uint8_t *mad = vr_mem(v, sm);

	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint16_t send = (uint16_t)sm->prod, recv = (uint16_t)sm->rprod;

		memset(mad, 0, 256);
		mad[0] = mad[2] = mad[3] = 1;
		mad[1] = 0x81;
		mad[6] = row[i].pointer;
		mad[7] = row[i].hops;
		mad[4] = row[i].back ? 0x80 : 0;
		mad[0x11] = 0x11;
		memset(mad + 0x20, 0xff, 4);
		memset(mad + 0x81, 1, 63);
		memset(mad + 0xc1, 1, 63);
		vr_post_recv(v, sm, VR_RW_KEY, sm->mem + 4096, 512);
		ir_post_mad(v, sm, 0xffff, 0);
		vr_step(v);
		vr_expect(v, sm, VR_SENT | MLX4_OP_SEND, send);
		assert_null(vr_poll_cq(v, sm));
		sm->rprod = recv;
	}
	assert_int_equal(ask_ok(v, 1, 0, 1, 0x11, 0, NULL)[2], 2);
	/* A port that there is not is counted where the question came in. */
	assert_int_equal(counter("port1.relay_errors"), 0);
	assert_null(ask(v, 2, 9, 1, 0x11, 0, NULL));
	assert_int_equal(counter("port1.relay_errors"), 1);
	card_expect_clean(v->c);
}

static int
none(void **state)
{
	*state = NULL;
	return 0;
}

int
main(void)
{
#define PORT(f) cmocka_unit_test_setup_teardown(f, ir_up, vr_down)
#define OWN(f) cmocka_unit_test_setup_teardown(f, none, vr_down)
#define SWITCH(f) cmocka_unit_test_setup_teardown(f, up, vr_down)
	const struct CMUnitTest tests[] = {
		PORT(test_each_bit_of_the_crcs), PORT(test_path_bits_of_management), OWN(test_sizes_of_management),
		PORT(test_keys_and_lanes),       PORT(test_ipoib_received),          PORT(test_classes),
		PORT(test_full_fields),          PORT(test_guids_that_change),       OWN(test_fdr10_is_enabled),
		SWITCH(test_switch_says),        SWITCH(test_switch_lanes),          SWITCH(test_switch_port_armed),
		SWITCH(test_switch_partitions),  SWITCH(test_switch_by_table),       SWITCH(test_switch_bad_routes),
		PORT(test_no_key_of_qp0),
	};

	return cmocka_run_group_tests_name("ib_edges", tests, NULL, NULL);
}
