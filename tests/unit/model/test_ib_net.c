/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/*
 * Packets of InfiniBand ports [DP 10, WF 1, 5]: by LID and GID, partitions, both CRCs, damage, and what the card does to
 * datagrams of IPoIB.
 */
#include "ib_rig.h"

static void
test_connected(void **state)
{
	static const enum mlx4_qp_service kind[] = {MLX4_QP_ST_RC, MLX4_QP_ST_UC};
	static const uint32_t lengths[] = {1, 1024, 1027, 5000};
	struct vr *v = *state;
	struct vr_qp *a, *b;

	for (unsigned int k = 0; k < 2; k++) {
		ir_pair(v, kind[k], &a, &b);
		for (unsigned int i = 0; i < 4; i++) {
			vr_exchange(v, a, b, lengths[i]);
			vr_exchange(v, b, a, lengths[i]);
		}
	}
	for (uint32_t i = 0; i < v->end[0]->sent; i++) {
		const struct vr_frame *f = &v->end[0]->frame[i];

		assert_memory_equal(f->data, "\x00\x02\x00\x20", 4);
		assert_memory_equal(f->data + 6, "\x00\x10", 2);
		ir_check_crcs(f);
	}
	vr_quiet(v);
}

static void
test_rdma_by_grh(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_RC), *b = ir_qp(v, 2, MLX4_QP_ST_RC);
	const uint8_t *h;

	ir_to(a, IR_LID2, b->qpn);
	ir_to(b, IR_LID1, a->qpn);
	ir_to_gid(a, 2);
	ir_to_gid(b, 1);
	vr_qp_up(v, a);
	vr_qp_up(v, b);
	vr_fill(vr_mem(v, a), 3000, 5);
	vr_post_rdma(v, a, MLX4_OP_RDMA_WRITE, a->mem, 3000, VR_RW_KEY, b->mem);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_RDMA_WRITE, 0);
	assert_memory_equal(vr_mem(v, b), vr_mem(v, a), 3000);
	h = v->end[0]->frame[0].data;
	assert_int_equal(h[1] & 3, 3);
	assert_memory_equal(h + 8, "\x62\xb1\x23\x45", 4);
	assert_int_equal((h[12] << 8 | h[13]) + 48u, v->end[0]->frame[0].len - 2);
	assert_int_equal(h[14], 0x1b);
	assert_int_equal(prm_get64(h, 24), IR_GUID + 1);
	assert_int_equal(prm_get64(h, 40), IR_GUID + 2);
	ir_check_crcs(&v->end[0]->frame[0]);
	vr_quiet(v);
}

/* A LID of the port with the bits of a path, and its own. */
static void
test_path_bits_and_own_lid(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b, *c, *d;
	const uint8_t *e;

	ir_set_lid(v, 2, 0x24, 2);
	ir_events(v);
	a = ir_qp(v, 1, MLX4_QP_ST_UD);
	b = ir_qp(v, 2, MLX4_QP_ST_UD);
	vr_qp_up(v, a);
	vr_qp_up(v, b);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 1000);
	ir_post_ud(v, a, 0x27, b->qpn, NULL, 77);
	vr_step(v);
	e = vr_expect(v, b, 1, 0);
	assert_int_equal(prm_get32(e, 8) >> 24, 3);             /* no GRH, path bits 3 */
	assert_int_equal(prm_get32(e, 12), 3u << 28 | IR_LID1); /* SL, source LID */
	assert_int_equal(prm_get32(e, 0x14), 117);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	/* Not one of its LIDs: nobody takes it */
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 1000);
	ir_post_ud(v, a, 0x28, b->qpn, NULL, 77);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 2);
	assert_null(vr_poll_cq(v, b));
	c = ir_qp(v, 1, MLX4_QP_ST_RC);
	d = ir_qp(v, 1, MLX4_QP_ST_RC);
	ir_to(c, IR_LID1, d->qpn);
	ir_to(d, IR_LID1, c->qpn);
	vr_qp_up(v, c);
	vr_qp_up(v, d);
	v->end[0]->taken = v->end[0]->sent = 0;
	vr_exchange(v, c, d, 2000);
	assert_int_equal(v->end[0]->sent, 0);
	vr_quiet(v);
}

static void
test_datagram_with_grh(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD), *b = ir_qp(v, 2, MLX4_QP_ST_UD);
	uint8_t gid[16] = {0xfe, 0x80};
	const uint8_t *e;

	vr_qp_up(v, a);
	vr_qp_up(v, b);
	prm_set64(gid, 8, IR_GUID + 2);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 1000);
	ir_post_ud(v, a, IR_LID2, b->qpn, gid, 30);
	vr_step(v);
	e = vr_expect(v, b, 1, 0);
	assert_int_equal(prm_get32(e, 8), 1u << 31 | a->qpn);
	assert_int_equal(prm_get32(e, 4), 0);
	assert_memory_equal(vr_mem(v, b) + 24, gid, 16);
	assert_int_equal(ir_last(v, 1)->data[1] >> 4, 3);
	/* To somebody else's GID */
	gid[15]++;
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 1000);
	ir_post_ud(v, a, IR_LID2, b->qpn, gid, 30);
	vr_step(v);
	assert_null(vr_poll_cq(v, b));
	vr_quiet(v);
}

static void
test_pkeys(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD), *b = ir_qp(v, 2, MLX4_QP_ST_UD), *c = ir_qp(v, 2, MLX4_QP_ST_UD);
	uint8_t *d;

	for (unsigned int p = 1; p <= 2; p++) {
		d = ir_mad(v, 1, 2, 0x16, 0);
		memcpy(d, p == 1 ? "\xff\xff\x00\x05\0\0" : "\xff\xff\x00\x05\x80\x05", 6);
		assert_int_equal(ir_mad_ifc(v, p), 0);
	}
	ir_events(v);
	prm_set(a->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_PKEY_INDEX, 1);
	prm_set(b->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_PKEY_INDEX, 1);
	prm_set(c->ctx + MLX4_QPC_PRI_PATH, MLX4_PATH_PKEY_INDEX, 2);
	vr_qp_up(v, a);
	vr_qp_up(v, b);
	vr_qp_up(v, c);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 1000);
	vr_post_recv(v, c, VR_RW_KEY, c->mem, 1000);
	/* Two limited members do not hear each other; a full one hears both. */
	ir_post_ud(v, a, IR_LID2, b->qpn, NULL, 30);
	vr_step(v);
	assert_null(vr_poll_cq(v, b));
	assert_int_equal(ir_get(v, 2, 0x15, 2)[47], 1);
	assert_memory_equal(ir_last(v, 1)->data + 10, "\x00\x05", 2);
	ir_post_ud(v, a, IR_LID2, c->qpn, NULL, 30);
	vr_step(v);
	assert_int_equal(prm_get32(vr_expect(v, c, 1, 0), 4), 2);
	vr_quiet(v);
}

static void
test_qkey_is_counted(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD), *b = ir_qp(v, 2, MLX4_QP_ST_UD);

	prm_set(b->ctx, MLX4_QPC_QKEY, VR_QKEY + 1);
	vr_qp_up(v, a);
	vr_qp_up(v, b);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 1000);
	ir_post_ud(v, a, IR_LID2, b->qpn, NULL, 30);
	vr_step(v);
	assert_null(vr_poll_cq(v, b));
	assert_int_equal(ir_get(v, 2, 0x15, 2)[49], 1);
	vr_quiet(v);
}

static void
test_not_active(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a, *b;

	ir_set_lid(v, 1, IR_LID1, 0);
	ir_set_lid(v, 2, IR_LID2, 0);
	assert_int_equal(ir_set_state(v, 1, 3), 0);
	assert_int_equal(ir_set_state(v, 2, 3), 0);
	ir_pair(v, MLX4_QP_ST_UC, &a, &b);
	vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
	vr_post_send(v, a, a->mem, 8);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	assert_null(vr_poll_cq(v, b));
	assert_int_equal(v->end[0]->sent, 0);
	/* The first packet of an active port makes an armed one active. */
	assert_int_equal(ir_set_state(v, 1, 4), 0);
	vr_post_send(v, a, a->mem, 8);
	vr_step(v);
	vr_expect(v, b, 1, 0);
	assert_int_equal(ir_state(v, 2), 4);
	card_expect_clean(v->c);
}

/* --- offloads of IPoIB --- */

/* An IPv4 packet with TCP: both checksums are right. */
static void
check_ip(const uint8_t *ip, uint32_t len)
{
	uint8_t pseudo[12] = {[9] = 6};

	assert_int_equal(ip[2] << 8 | ip[3], len);
	assert_int_equal(ir_ones(0, ip, 20), 0xffff);
	memcpy(pseudo, ip + 12, 8);
	pseudo[10] = (uint8_t)((len - 20) >> 8);
	pseudo[11] = (uint8_t)(len - 20);
	assert_int_equal(ir_ones(ir_ones(0, pseudo, 12), ip + 20, len - 20), 0xffff);
}

/* Type, IPv4 and TCP headers of a packet with so many bytes of payload. */
static void
ip_headers(uint8_t *p, uint32_t payload)
{
	static const uint8_t h[44] = {0x08, 0,   0, 0, 0x45, 0,   0,    0,    0, 7,    0x40, 0, 64, 6, 0,
				      0,    192, 0, 2, 1,    192, 0,    2,    2, 0x30, 0,    0, 5,  0, 0,
				      1,    0,   0, 0, 0,    0,   0x50, 0x19, 0, 9,    0,    0, 0,  0};

	memcpy(p, h, sizeof(h));
	p[6] = (uint8_t)((payload + 40) >> 8);
	p[7] = (uint8_t)(payload + 40);
}

/* Where the datagram lies in a packet without GRH: behind LRH, BTH and DETH. */
#define DATAGRAM 28u

static void
test_ipoib_checksum(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD);
	uint8_t *w;

	vr_qp_up(v, a);
	ip_headers(vr_mem(v, a), 31);
	vr_fill(vr_mem(v, a) + 44, 31, 9);
	ir_post_ud(v, a, IR_LID2, 5, NULL, 75);
	w = card_ptr(v->c, a->ring);
	prm_set32(w, 8, MLX4_CTRL_CQE | MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_SEND, 0);
	assert_memory_equal(ir_last(v, 1)->data + DATAGRAM, "\x08\0\0\0\x45", 5);
	check_ip(ir_last(v, 1)->data + DATAGRAM + 4, 71);
	assert_int_equal(vr_mem(v, a)[14], 0); /* the program's memory is as it was */
	ir_check_crcs(ir_last(v, 1));
	vr_quiet(v);
}

static void
test_ipoib_large_send(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD);
	uint8_t *w = vr_wqe(v, a);
	uint32_t sent = 0, first;

	prm_set(a->ctx, MLX4_QPC_MTU, 4); /* 2048 */
	vr_qp_up(v, a);
	first = v->end[0]->sent;
	vr_fill(vr_mem(v, a), 5000, 9);
	ir_post_ud(v, a, IR_LID2, 5, NULL, 1);
	a->prod = 0;
	prm_set32(w, 64, 1500u << MLX4_LSO_MSS_SHIFT | 44);
	ip_headers(w + 68, 0);
	prm_set32(w, 112, 5000);
	prm_set32(w, 116, VR_RW_KEY);
	prm_set64(w, 120, a->mem);
	vr_post(v, a, MLX4_OP_LSO, 8, MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM, 0);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_LSO, 0);
	assert_null(vr_poll_cq(v, a));
	assert_int_equal(v->end[0]->sent - first, 4);
	for (uint32_t i = 0; i < 4; i++) {
		const struct vr_frame *f = &v->end[0]->frame[first + i];
		uint32_t len = i < 3 ? 1500 : 500;

		check_ip(f->data + DATAGRAM + 4, len + 40);
		assert_int_equal(f->data[DATAGRAM + 4 + 5], 7 + i);                    /* identification */
		assert_int_equal(prm_get32(f->data, DATAGRAM + 4 + 24), 0x100 + sent); /* sequence */
		assert_int_equal(f->data[DATAGRAM + 4 + 33], i < 3 ? 0x10 : 0x19);     /* FIN and PSH at the end */
		assert_memory_equal(f->data + DATAGRAM + 44, vr_mem(v, a) + sent, len);
		ir_check_crcs(f);
		sent += len;
	}
	vr_quiet(v);
}

/* The same over IPv6 (RFC 8200): the length of the payload, and the sum with the addresses of 16 octets. */
static void
test_ipoib_large_send_v6(void **state)
{
	static const uint8_t v6[24] = {0x86, 0xdd, 0, 0, 0x60, 0, 0, 0, 0, 0, 6, 64, 0x20, 1, 0x0d, 0xb8},
			     tcp[20] = {0x30, 0, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0x50, 0x10};
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD);
	uint8_t *w = vr_wqe(v, a);

	vr_qp_up(v, a);
	vr_fill(vr_mem(v, a), 1300, 9);
	ir_post_ud(v, a, IR_LID2, 5, NULL, 1);
	a->prod = 0;
	prm_set32(w, 64, 900u << MLX4_LSO_MSS_SHIFT | 64);
	memset(w + 68, 7, 64);
	memcpy(w + 68, v6, 12);
	memcpy(w + 68 + 44, tcp, sizeof(tcp));
	prm_set32(w, 144, 1300);
	prm_set32(w, 148, VR_RW_KEY);
	prm_set64(w, 152, a->mem);
	vr_post(v, a, MLX4_OP_LSO, 10, MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM, 0);
	vr_step(v);
	vr_expect(v, a, VR_SENT | MLX4_OP_LSO, 0);
	for (uint32_t i = 0; i < 2; i++) {
		const uint8_t *d = v->end[0]->frame[v->end[0]->sent - 2 + i].data + DATAGRAM;
		uint32_t len = i == 0 ? 900 : 400, tcp_len = 20 + len;
		uint8_t pseudo[8] = {0, 0, (uint8_t)(tcp_len >> 8), (uint8_t)tcp_len, 0, 0, 0, 6};

		assert_memory_equal(d, v6, 8);
		assert_int_equal(d[8] << 8 | d[9], tcp_len);
		assert_int_equal(prm_get32(d, 48), 0x100 + 900 * i);
		assert_int_equal(ir_ones(ir_ones(ir_ones(0, pseudo, 8), d + 12, 32), d + 44, tcp_len), 0xffff);
		assert_memory_equal(d + 64, vr_mem(v, a) + 900 * i, len);
	}
	vr_quiet(v);
}

/* What has no TCP, no size of segments, no memory or no room in a packet is not sent, and ends in an error. */
static void
test_ipoib_refused(void **state)
{
	static const struct {
		bool large;
		unsigned int at; /* this octet of the header is another one */
		uint8_t octet;
		uint32_t mss, len, key;
		uint8_t syndrome;
	} row[] = {
		{true, 13, 17, 900, 1300, VR_RW_KEY, MLX4_SYND_LOCAL_QP_OP},
		{true, 1, 6, 900, 1300, VR_RW_KEY, MLX4_SYND_LOCAL_QP_OP},
		{true, 4, 0x65, 900, 1300, VR_RW_KEY, MLX4_SYND_LOCAL_QP_OP},
		{true, 0, 8, 0, 1300, VR_RW_KEY, MLX4_SYND_LOCAL_QP_OP},
		{true, 0, 8, 900, 0, VR_RW_KEY, MLX4_SYND_LOCAL_QP_OP},
		{true, 0, 8, 981, 1300, VR_RW_KEY, MLX4_SYND_LOCAL_LENGTH},
		{true, 0, 8, 900, 1300, VR_PD_KEY, MLX4_SYND_LOCAL_PROT},
		{false, 0, 8, 0, 100, VR_PD_KEY, MLX4_SYND_LOCAL_PROT},
		{false, 0, 8, 0, 1025, VR_RW_KEY, MLX4_SYND_LOCAL_LENGTH},
	};

	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct vr *v;
		struct vr_qp *a;
		uint8_t *w;

		assert_int_equal(ir_up(state), 0);
		v = *state;
		a = ir_qp(v, 1, MLX4_QP_ST_UD);
		w = vr_wqe(v, a);
		vr_qp_up(v, a);
		ir_post_ud(v, a, IR_LID2, 5, NULL, row[i].len);
		ip_headers(vr_mem(v, a), 0);
		prm_set32(w, 8, MLX4_CTRL_CQE | MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM);
		prm_set32(w, 68, row[i].key);
		if (row[i].large) {
			a->prod = 0;
			prm_set32(w, 64, row[i].mss << MLX4_LSO_MSS_SHIFT | 44);
			ip_headers(w + 68, 0);
			w[68 + row[i].at] = row[i].octet;
			prm_set32(w, 112, row[i].len);
			prm_set32(w, 116, row[i].key);
			prm_set64(w, 120, a->mem);
			vr_post(v, a, MLX4_OP_LSO, 8, MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM, 0);
		}
		vr_step(v);
		if (v->end[0]->sent != 0)
			fail_msg("row %u: something was sent", i);
		vr_expect_error(v, a, true, row[i].syndrome, 0);
		vr_down(state);
	}
	assert_int_equal(ir_up(state), 0);
}

/* A large send whose second segment is in memory that it may not read: the first one has left. */
static void
test_ipoib_second_segment_refused(void **state)
{
	struct vr *v = *state;
	struct vr_qp *a = ir_qp(v, 1, MLX4_QP_ST_UD);
	uint8_t *w = vr_wqe(v, a);
	uint32_t first;

	vr_qp_up(v, a);
	first = v->end[0]->sent;
	ir_post_ud(v, a, IR_LID2, 5, NULL, 1);
	a->prod = 0;
	prm_set32(w, 64, 900u << MLX4_LSO_MSS_SHIFT | 44);
	ip_headers(w + 68, 0);
	for (unsigned int i = 0; i < 2; i++) {
		prm_set32(w, 112 + 16 * i, 900);
		prm_set32(w, 116 + 16 * i, i == 0 ? VR_RW_KEY : VR_PD_KEY);
		prm_set64(w, 120 + 16 * i, a->mem);
	}
	vr_post(v, a, MLX4_OP_LSO, 9, MLX4_CTRL_IP_CSUM | MLX4_CTRL_L4_CSUM, 0);
	vr_step(v);
	assert_int_equal(v->end[0]->sent - first, 1);
	vr_expect_error(v, a, true, MLX4_SYND_LOCAL_PROT, 0);
	assert_null(vr_poll_cq(v, a));
	assert_int_equal(vr_diag(v, 1, 0x1c), 1); /* protection errors of the requester, not of its queue pair */
	assert_int_equal(vr_diag(v, 1, 0x0c), 0);
	assert_int_equal(vr_state(v, a), MLX4_QP_SQER);
}

/* Room for the CRC behind the data, as iPXE leaves it, makes the packet that room in a segment of its own makes. */
static void
test_crc_in_the_data(void **state)
{
	struct vr *v = *state;
	struct vr_qp *q = ir_special(v, 1, 1);
	struct vr_frame usual;
	uint8_t *w;

	ir_post_mad(v, q, IR_LID2, 1);
	vr_step(v);
	usual = *ir_last(v, 1);
	card_expect_clean(v->c);
	w = vr_wqe(v, q);
	ir_post_mad(v, q, IR_LID2, 1);
	memset(vr_mem(v, q) + 256, 0xa5, 4);
	prm_set32(w, 48, 260);
	prm_set32(w, 4, 4); /* one segment less */
	vr_step(v);
	assert_int_equal(v->end[0]->sent, 2);
	assert_int_equal(ir_last(v, 1)->len, usual.len);
	assert_memory_equal(ir_last(v, 1)->data, usual.data, usual.len);
	ir_check_crcs(ir_last(v, 1));
	card_expect(v->c, "wqe-crc", 1);
}

/* A bit that flips on the way is found by the link's CRC, one that flips inside a switch by the packet's own. */
static void
test_damaged(void **state)
{
	struct vr *v = *state;
	const uint8_t *o = card_out(v->c);
	struct tp_frame_seg seg;
	struct tp_frame f = {.seg = &seg, .nseg = 1};
	struct vr_qp *a, *b;
	uint8_t pkt[256];
	uint16_t crc;

	ir_pair(v, MLX4_QP_ST_UC, &a, &b);
	vr_exchange(v, a, b, 64);
	for (unsigned int i = 0; i < 2; i++) {
		f.len = seg.len = ir_last(v, 1)->len;
		seg.data = pkt;
		memcpy(pkt, ir_last(v, 1)->data, f.len);
		pkt[30] ^= 1;
		crc = ir_crc16(pkt, f.len - 2);
		if (i == 1)
			memcpy(pkt + f.len - 2, (uint8_t[]){(uint8_t)crc, (uint8_t)(crc >> 8)}, 2);
		vr_post_recv(v, b, VR_RW_KEY, b->mem, 64);
		tp_model_port_receive(v->c->m, 2, &f, 1);
		vr_step(v);
		assert_null(vr_poll_cq(v, b));
	}
	ir_mad(v, 4, 1, 0x12, 0)[1] = 2;
	assert_int_equal(ir_mad_ifc(v, 2), 0);
	assert_int_equal(prm_get32(o, 0x48) >> 16, 1); /* receive errors */
	card_expect_clean(v->c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_connected, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_rdma_by_grh, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_path_bits_and_own_lid, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_datagram_with_grh, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_pkeys, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_qkey_is_counted, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_not_active, ir_up_init, vr_down),
		cmocka_unit_test_setup_teardown(test_ipoib_checksum, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_ipoib_large_send, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_ipoib_large_send_v6, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_ipoib_refused, NULL, vr_down),
		cmocka_unit_test_setup_teardown(test_ipoib_second_segment_refused, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_crc_in_the_data, ir_up, vr_down),
		cmocka_unit_test_setup_teardown(test_damaged, ir_up, vr_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
