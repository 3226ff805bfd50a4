/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 Triplane contributors
 */
/* Sends of QPs that are not raw Ethernet: QP1's packets as RoCE frames with their CRC, verbs QPs without a transport. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dp_pair.h"

#define ETH_HLEN 14u
#define INLINE_FIRST 44u /* behind the control segment, to the end of its block */
#define INLINE_NEXT 60u

/* The sender is no raw Ethernet QP. */
static int
up_verbs(void **state)
{
	int rc = up(state);
	struct fix *f = *state;

	f->tx.qp->eth = false;
	tpm_qp_ops_set(f->tx.qp);
	return rc;
}

/* Appends an inline segment at byte off of the WQE; where the next one begins. */
static uint32_t
add_inline(struct rig_q *q, uint32_t off, const uint8_t *p, uint32_t len)
{
	uint8_t *w = rig_wqe(q);

	memcpy(w + off + 4, p, len);
	prm_set32(w, off, MLX4_DATA_INLINE | len);
	return (off + 4 + len + 15) & ~15u;
}

/* Posts a packet as Linux does: headers inline in two segments at most, the rest by reference, room for the CRC. */
static void
post_packet(struct fix *f, const uint8_t *pkt, uint32_t len, uint32_t flags)
{
	static const uint8_t room[4] = {0xde, 0xad, 0xbe, 0xef};
	uint32_t first = len < INLINE_FIRST ? len : INLINE_FIRST, off = add_inline(&f->tx, 16, pkt, first), next;
	uint8_t *data = rig_alloc(&f->r, 4096);

	next = len - first < INLINE_NEXT - 20 ? len - first : INLINE_NEXT - 20;
	if (next != 0)
		off = add_inline(&f->tx, off, pkt + first, next);
	if (first + next < len) {
		memcpy(data, pkt + first + next, len - first - next);
		rig_data(&f->tx, off / 16, data, len - first - next);
		off += 16;
	}
	off = add_inline(&f->tx, off, room, sizeof(room));
	rig_post(&f->tx, MLX4_OP_SEND, off / 16, flags);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
	tp_model_step(f->r.m, 32);
}

static const struct mlx4_cqe *
sent(struct fix *f)
{
	return rig_poll(f->tx.scq, 64, &f->tx.sci, f->tx.scq_rec);
}

static const uint8_t *
received(struct fix *f, uint32_t *len)
{
	uint32_t i = f->rx.rci & 63;
	const struct mlx4_cqe *c = rig_poll(f->rx.rcq, 64, &f->rx.rci, f->rx.rcq_rec);

	*len = c == NULL ? 0 : rte_be_to_cpu_32(c->byte_cnt);
	return c == NULL ? NULL : f->rx.bufs + (size_t)i * RIG_BUF;
}

/* A captured notification of a ConnectX-4 (scapy's test suite), from the IPv4 header on, without its CRC */
static const uint8_t cnp[] = {0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, 0x0a, 0x00,
			      0x11, 0x01, 0x0a, 0x00, 0x12, 0x01, 0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00,
			      0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
/* A captured UC SEND of 20 bytes with its congestion bits set */
static const uint8_t uc_send[] = {0x45, 0x01, 0x00, 0x40, 0x04, 0x78, 0x40, 0x00, 0x40, 0x11, 0xb4, 0xd5,
				  0xc0, 0xa8, 0x00, 0x07, 0xc0, 0xa8, 0x00, 0x07, 0xc0, 0x00, 0x12, 0xb7,
				  0x00, 0x2c, 0xac, 0xa2, 0x24, 0x60, 0xff, 0xff, 0x00, 0x00, 0x00, 0xd3,
				  0x00, 0xcf, 0x17, 0x10, 0x46, 0x30, 0x81, 0x8b, 0xe2, 0x89, 0x35, 0xd9,
				  0x0e, 0x9a, 0x95, 0x50, 0x54, 0x01, 0xbe, 0x88, 0x5e, 0x50, 0x00, 0x00};
/* RC SEND over IPv6: soft-RoCE's masks */
static const uint8_t ipv6_send[] = {0x66, 0xa1, 0x23, 0x45, 0x00, 0x20, 0x11, 0x40, 0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00,
				    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x20, 0x01, 0x0d, 0xb8,
				    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xc1, 0x23,
				    0x12, 0xb7, 0x00, 0x20, 0x2b, 0xce, 0x04, 0x40, 0xff, 0xff, 0x00, 0x00, 0x01, 0x23,
				    0x80, 0x00, 0x0a, 0xbc, 'I',  'B',  'T',  'A',  'r',  'o',  'c',  'e'};
/* RoCE v1: the same packet behind a GRH */
static const uint8_t grh_send[] = {0x66, 0xa1, 0x23, 0x45, 0x00, 0x18, 0x1b, 0x40, 0xfe, 0x80, 0x00, 0x00,
				   0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0xc9, 0xff, 0xfe, 0x00, 0x00, 0x01,
				   0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0xc9, 0xff,
				   0xfe, 0x00, 0x00, 0x02, 0x04, 0x40, 0xff, 0xff, 0x00, 0x00, 0x01, 0x23,
				   0x80, 0x00, 0x0a, 0xbc, 'I',  'B',  'T',  'A',  'r',  'o',  'c',  'e'};

static uint32_t
frame(uint8_t *out, uint16_t etype, bool tag, const uint8_t *l3, uint32_t len)
{
	uint32_t n = ETH_HLEN;

	memcpy(out, mac2, 6);
	memcpy(out + 6, "\x02\0\0\0\0\x01", 6);
	if (tag) {
		memcpy(out + 12, "\x81\x00\x60\x07", 4);
		n += 4;
	}
	tpm_store16(out + n - 2, etype);
	memcpy(out + n, l3, len);
	return n + len;
}

static void
test_crc_vectors(void **state)
{
	static const struct {
		const uint8_t *l3;
		uint32_t len;
		uint16_t etype;
		uint8_t icrc[4];
	} v[] = {
		{cnp, sizeof(cnp), 0x0800, {0x82, 0xfd, 0x00, 0x2a}},
		{uc_send, sizeof(uc_send), 0x0800, {0x78, 0xf3, 0x53, 0xf3}},
		{ipv6_send, sizeof(ipv6_send), 0x86dd, {0x03, 0xbc, 0x9d, 0x5c}},
		{grh_send, sizeof(grh_send), 0x8915, {0xbf, 0x33, 0x16, 0x8f}},
	};
	struct fix *f = *state;

	f->rx.qp->vlan_keep = true;
	for (unsigned int i = 0; i < 2 * sizeof(v) / sizeof(v[0]); i++) {
		uint8_t pkt[256];
		uint32_t n = frame(pkt, v[i / 2].etype, (i & 1) != 0, v[i / 2].l3, v[i / 2].len), len;
		const uint8_t *got;

		post_packet(f, pkt, n, MLX4_CTRL_CQE);
		got = received(f, &len);
		assert_non_null(got);
		assert_int_equal(len, n + 4);
		assert_memory_equal(got, pkt, n);
		assert_memory_equal(got + n, v[i / 2].icrc, 4);
		assert_int_equal(sent(f)->owner_sr_opcode & 0x7f, MLX4_CQE_IS_SEND | MLX4_OP_SEND);
	}
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

static void
test_crc_supplied(void **state)
{
	struct fix *f = *state;
	uint8_t pkt[256];
	uint32_t n = frame(pkt, 0x8915, false, grh_send, sizeof(grh_send)), len;
	const uint8_t *got;

	post_packet(f, pkt, n, MLX4_CTRL_CQE | 1u << 4);
	got = received(f, &len);
	assert_non_null(got);
	assert_memory_equal(got + n, "\xde\xad\xbe\xef", 4);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

/* The error CQE of the WQE at hand. */
static uint8_t
syndrome(struct fix *f)
{
	const struct mlx4_err_cqe *e = (const struct mlx4_err_cqe *)(const void *)sent(f);

	assert_non_null(e);
	assert_int_equal(e->owner_sr_opcode & 0x7f, MLX4_CQE_IS_SEND | MLX4_CQE_ERROR);
	return e->syndrome;
}

static void
test_not_roce(void **state)
{
	struct fix *f = *state;
	uint8_t pkt[256];

	post_packet(f, pkt, frame(pkt, 0x0806, false, grh_send, sizeof(grh_send)), MLX4_CTRL_CQE);
	assert_int_equal(syndrome(f), MLX4_SYND_LOCAL_QP_OP);
	assert_int_equal(rig_violations(&f->r, "wqe-roce"), 1);
	assert_int_equal(f->tx.qp->state, MLX4_QP_ERR);
}

static void
test_no_room_for_the_crc(void **state)
{
	struct fix *f = *state;
	uint8_t pkt[256];
	uint32_t n = frame(pkt, 0x8915, false, grh_send, sizeof(grh_send));

	add_inline(&f->tx, 64, pkt + INLINE_FIRST, n - INLINE_FIRST);
	add_inline(&f->tx, 16, pkt, INLINE_FIRST);
	rig_post(&f->tx, MLX4_OP_SEND, 7, MLX4_CTRL_CQE);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
	assert_int_equal(syndrome(f), MLX4_SYND_LOCAL_QP_OP);
	assert_int_equal(rig_violations(&f->r, "wqe-inline"), 1);
}

/* A solicited send of one segment looks like a plain Ethernet frame, but must not become one. */
static void
post_verb(struct fix *f, uint8_t service, uint32_t op)
{
	uint8_t *data = rig_alloc(&f->r, 4096);

	frame(data, 0x0800, false, uc_send, sizeof(uc_send));
	f->tx.qp->service = service;
	tpm_qp_ops_set(f->tx.qp);
	rig_data(&f->tx, 1, data, 64);
	rig_post(&f->tx, op, 2, MLX4_CTRL_CQE | MLX4_CTRL_SOLICITED);
	rig_ring(&f->r, &f->tx);
	tp_model_step(f->r.m, 32);
	tp_model_step(f->r.m, 32);
}

static void
test_reliable_send_times_out(void **state)
{
	struct fix *f = *state;
	uint32_t len;

	post_verb(f, MLX4_QP_ST_RC, MLX4_OP_SEND);
	assert_int_equal(syndrome(f), MLX4_SYND_RETRY_EXC);
	assert_null(received(f, &len));
	assert_int_equal(f->tx.qp->state, MLX4_QP_ERR);
	assert_int_equal(f->r.m->port[0].tx_no_transport, 1);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

static void
test_unreliable_send_is_lost(void **state)
{
	static const uint8_t service[] = {MLX4_QP_ST_UC, MLX4_QP_ST_UD};
	struct fix *f = *state;
	uint32_t len;

	for (unsigned int i = 0; i < 2; i++) {
		post_verb(f, service[i], MLX4_OP_SEND);
		assert_int_equal(sent(f)->owner_sr_opcode & 0x7f, MLX4_CQE_IS_SEND | MLX4_OP_SEND);
		assert_null(received(f, &len));
	}
	assert_int_equal(f->r.m->port[0].tx_no_transport, 2);
	assert_int_equal(tp_model_violations_total(f->r.m), 0);
}

static void
test_opcode_of_another_service(void **state)
{
	struct fix *f = *state;

	post_verb(f, MLX4_QP_ST_UC, MLX4_OP_RDMA_READ);
	assert_int_equal(syndrome(f), MLX4_SYND_LOCAL_QP_OP);
	assert_int_equal(rig_violations(&f->r, "wqe-opcode"), 1);
}

/* A rule that names a verbs QP gives it no Ethernet frames. */
static void
test_no_ethernet_for_verbs(void **state)
{
	struct fix *f = *state;
	uint8_t pkt[256];
	uint32_t len;

	f->rx.qp->eth = false;
	tpm_qp_ops_set(f->rx.qp);
	post_packet(f, pkt, frame(pkt, 0x8915, false, grh_send, sizeof(grh_send)), 0);
	assert_null(received(f, &len));
	assert_int_equal(f->r.m->port[1].c.rx_drop, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_crc_vectors, up_verbs, down),
		cmocka_unit_test_setup_teardown(test_crc_supplied, up_verbs, down),
		cmocka_unit_test_setup_teardown(test_not_roce, up_verbs, down),
		cmocka_unit_test_setup_teardown(test_no_room_for_the_crc, up_verbs, down),
		cmocka_unit_test_setup_teardown(test_reliable_send_times_out, up_verbs, down),
		cmocka_unit_test_setup_teardown(test_unreliable_send_is_lost, up_verbs, down),
		cmocka_unit_test_setup_teardown(test_opcode_of_another_service, up_verbs, down),
		cmocka_unit_test_setup_teardown(test_no_ethernet_for_verbs, up_verbs, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
